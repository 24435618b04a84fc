"""Cutting stock with given patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Rejected, Size, family
from orpipe.families.draw import Rng, by_label, number, table, tidy


def sizes(labels: Sequence[str]) -> list[int]:
    """Sizes that the labels name («42 cm», «1.7 m»), in tenths of their unit; none if a label names none."""
    heads = [re.match(r"\d+(\.\d)?(?= )", label) for label in labels]
    return [round(float(found[0]) * 10) for found in heads if found] if all(heads) else []


@family("cutting_stock", cls="packing", kind="IP", tags=("patterns", "covering"))
class CuttingStock(Family):
    """Choose how often to cut each pattern so that all orders are filled at least cost.

    Source: Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9, 1961.
    """

    levels = (
        {"widths": 2, "patterns": 3, "demand": 20, "stock": 1.15},
        {"widths": 3, "patterns": 6, "demand": 40, "stock": 1.08},
        {"widths": 4, "patterns": 10, "demand": 60, "stock": 1.04},
        {"widths": 6, "patterns": 20, "demand": 90, "stock": 1.02},
    )
    golden = Golden(
        data={
            "W": ["narrow", "wide"], "P": ["A", "B", "C"], "d": {"narrow": 11, "wide": 6},
            "a": {"narrow": {"A": 4, "B": 2, "C": 0}, "wide": {"A": 0, "B": 1, "C": 2}},
            "c": {"A": 50, "B": 53, "C": 51}, "S": 8,
        },
        optimum=303,
        why="With b rolls of B, C must give 6 - b wide and A must give 11 - 2b narrow. b=0: 3 A + 3 C = 150 + 153 = 303; b=1: 3 A + 3 C + "
            "53 = 356; b=2: 2 A + 2 C + 106 = 308; b=3: 2 A + 2 C + 159 = 361; b=4: A + C + 212 = 313; b=5 and A + C: 366; b=6: 318. "
            "Six rolls of the eight in stock are cut; in halves of rolls 2.75 A + 3 C would cost 290.5.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        W, P = m.set("W", "width"), m.set("P", "pattern")
        w, p = W.index("w"), P.index("p")
        a = m.param("a", w, p, name="pieces", unit="piece/roll", integer=True, meaning="pieces of the {W} cut from one {unit_roll} by the {P}")
        d = m.param("d", w, name="ordered", unit="piece", integer=True, meaning="pieces of the {W} ordered")
        c = m.param("c", p, name="roll_cost", unit="money/roll", meaning="cost of cutting one {unit_roll} by the {P}")
        S = m.param("S", name="stock", unit="roll", integer=True, meaning="{rolls} in stock")
        x = m.var("x", p, kind="integer", name="cuts", unit="roll", meaning="number of {rolls} cut by {P} p")
        m.minimize(cutting=(sum_(p)(c[p] * x[p]), "cost of the {rolls} cut"))
        m.require("orders", sum_(p)(a[w, p] * x[p]) >= d[w], forall=(w,), tightened_by="d",
                  because="at least the ordered pieces of each {W} are cut, and surplus pieces are scrapped")
        m.require("stock", sum_(p)(x[p]) <= S, tightened_by="S", because="no more {rolls} are cut than there are in stock")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        W, P = names("W", size["widths"]), names("P", size["patterns"])
        widths = sizes(W) or [int(x) for x in rng.choice(range(12, 48), len(W), replace=False)]
        length = int(max(widths) * rng.uniform(2.1, 3.2))
        patterns: list[tuple[int, ...]] = []
        for _ in range(400):
            left, counts = length, [0] * len(W)
            for k in rng.permutation(len(W)):
                most = left // widths[k]
                counts[k] = int(rng.integers(0, most + 1)) if rng.random() < 0.6 else most
                left -= counts[k] * widths[k]
            if sum(counts) and tuple(counts) not in patterns and left < 0.4 * length:
                patterns.append(tuple(counts))
            if len(patterns) == len(P):
                break
        covered = len(patterns) == len(P) and all(any(q[k] for q in patterns) for k in range(len(W)))
        if not covered:
            raise Rejected("patterns do not cut every width")
        d = [number(rng, size["demand"] // 3, size["demand"]) for _ in W]
        # rolls that certainly suffice: always the pattern that fills most of what is still open
        need, left_open = 0, list(d)
        while any(left_open):
            best = max(patterns, key=lambda q: sum(min(g, o) * w for g, o, w in zip(q, left_open, widths, strict=True)))
            left_open = [max(0, o - g) for g, o in zip(best, left_open, strict=True)]
            need += 1
        # the stock is paid for; what a pattern costs is its cuts, so that the cheapest plan may want more rolls than there are
        rate = number(rng, 6, 15, 1)
        c = [tidy(rate * (1 + sum(q) * float(rng.uniform(0.7, 1.3))), 2) for q in patterns]
        return {"W": W, "P": P, "d": by_label(W, d), "c": by_label(P, c), "S": -(-int(need * size["stock"] * 100) // 100),
                "a": table(W, P, [[q[k] for q in patterns] for k in range(len(W))])}
