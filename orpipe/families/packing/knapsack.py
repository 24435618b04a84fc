"""0/1 knapsack."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, number, numbers


@family("knapsack", cls="packing", kind="BIP", tags=("knapsack", "selection"))
class Knapsack(Family):
    """Choose the items of greatest total value that fit into a limited capacity.

    Source: Martello and Toth, Knapsack Problems: Algorithms and Computer Implementations, Wiley, 1990, ch. 2.
    """

    levels = (
        {"items": 5, "share": 0.5, "spread": 0.4},
        {"items": 12, "share": 0.45, "spread": 0.3},
        {"items": 30, "share": 0.4, "spread": 0.2},
        {"items": 70, "share": 0.35, "spread": 0.12},
    )
    golden = Golden(
        data={
            "I": ["C1", "C2", "C3", "C4", "C5"], "W": 190,
            "v": {"C1": 1200, "C2": 850, "C3": 780, "C4": 1010, "C5": 250},
            "w": {"C1": 120, "C2": 90, "C3": 80, "C4": 110, "C5": 30},
        },
        optimum=1790,
        why="With C1 only C5 still fits: 1450. Without it no three fit (the lightest three take 200), and of the "
            "pairs C2 with C4 takes 200, C3 with C4 takes 190 for 1790, C2 with C3 170 for 1630, pairs with C5 are "
            "worth at most 1260. Value per weight would pick C1 first.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        I = m.set("I", "item")
        i = I.index("i")
        v = m.param("v", i, name="value", unit="money", meaning="{value} of the {I}")
        w = m.param("w", i, name="need", unit="resource", meaning="{need} of the {I}")
        W = m.param("W", name="capacity", unit="resource", meaning="limit on the total {need}")
        x = m.var("x", i, kind="binary", name="take", meaning="1 if {I} i is chosen, 0 otherwise")
        m.maximize(value=(sum_(i)(v[i] * x[i]), "total {value} of the {I_s} chosen"))
        m.require("capacity", sum_(i)(w[i] * x[i]) <= W, tightened_by="W",
                  because="the total {need} of the {I_s} chosen stays within the limit")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        I = names("I", size["items"])
        w = numbers(rng, 40, 400, len(I))
        # value follows weight within `spread`: the closer, the less a ranking by ratio decides
        rate = number(rng, 6, 12, 2)
        v = [round(weight * rate * number(rng, 1 - size["spread"], 1 + size["spread"], 4)) for weight in w]
        W = max(max(w), round(sum(w) * size["share"] * number(rng, 0.85, 1.15, 2)))
        return {"I": I, "W": W, "v": by_label(I, v), "w": by_label(I, w)}
