"""The transportation problem."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Rejected, Size, family
from orpipe.families.draw import Rng, by_label, distance, number, plane, table, tidy


@family("transportation", cls="network", kind="LP", tags=("network", "unbalanced"))
class Transportation(Family):
    """Ship a product from sources of limited supply so that every destination gets what it needs at least cost.

    Source: Dantzig, Linear Programming and Extensions, 1963, ch. 14, after Hitchcock, "The distribution of a product
    from several sources to numerous localities", Journal of Mathematics and Physics 20, 1941.
    """

    # slack: total supply over total demand
    levels = (
        {"sources": 2, "destinations": 3, "slack": 1.35},
        {"sources": 3, "destinations": 5, "slack": 1.25},
        {"sources": 5, "destinations": 9, "slack": 1.15},
        {"sources": 8, "destinations": 14, "slack": 1.06},
    )
    golden = Golden(
        data={
            "I": ["Arden", "Bexley"], "J": ["Milton", "Norwood", "Preston"],
            "s": {"Arden": 250, "Bexley": 200}, "d": {"Milton": 150, "Norwood": 180, "Preston": 120},
            "c": {"Arden": {"Milton": 12, "Norwood": 20, "Preston": 15},
                  "Bexley": {"Milton": 14, "Norwood": 13, "Preston": 18}},
        },
        optimum=5980,
        why="Each destination from its cheaper source costs 150*12 + 180*13 + 120*15 = 5940, but takes 270 from "
            "Arden, which has 250. Any plan costs at least 5940 + 2*(Bexley to Milton) + 3*(Bexley to Preston), "
            "and these two must come to at least 20: 40 more at best. Bexley has just 20 to spare after Norwood's "
            "180, so moving 20 of Milton's attains 5980.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        I, J = m.set("I", "source"), m.set("J", "destination")
        i, j = I.index("i"), J.index("j")
        s = m.param("s", i, name="supply", unit="goods/period", meaning="most that the {I} can supply")
        d = m.param("d", j, name="demand", unit="goods/period", meaning="demand of the {J}")
        c = m.param("c", i, j, name="shipping_cost", unit="money/goods", meaning="cost of shipping from {I} to {J}")
        x = m.var("x", i, j, name="ship", unit="goods/period", meaning="amount shipped from {I} i to {J} j")
        m.minimize(shipping=(sum_(i, j)(c[i, j] * x[i, j]), "cost of all shipments"))
        m.require("supply_limit", sum_(j)(x[i, j]) <= s[i], forall=(i,), tightened_by="s",
                  because="no {I} ships more than it can supply")
        m.require("demand_met", sum_(i)(x[i, j]) >= d[j], forall=(j,), tightened_by="d",
                  because="every {J} receives at least what it needs")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        I, J = names("I", size["sources"]), names("J", size["destinations"])
        for _ in range(60):
            d = [int(rng.integers(45, 181)) for _ in J]
            share = [number(rng, 0.7, 1.4, 2) for _ in I]
            s = [int(tidy(sum(d) * size["slack"] * w / sum(share))) for w in share]
            s[0] += max(0, sum(d) - sum(s))
            here, there = plane(rng, len(I)), plane(rng, len(J))
            c = [[tidy(3 + 0.3 * distance(a, b) * number(rng, 0.75, 1.25, 2), 2) for b in there] for a in here]
            if _contested(s, d, c):
                return {"I": I, "J": J, "s": by_label(I, s), "d": by_label(J, d), "c": table(I, J, c)}
        raise Rejected("every draw could be served from the cheapest sources alone")


def _contested(s: list[int], d: list[int], c: list[list[int | float]]) -> bool:
    """Some source lacks the supply for all destinations to which it is the cheapest."""
    wanted = [0.0] * len(s)
    for j, need in enumerate(d):
        wanted[min(range(len(s)), key=lambda i: c[i][j])] += need
    return any(w > have for w, have in zip(wanted, s, strict=True))
