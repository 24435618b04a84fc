"""Capacitated facility location."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, drawn_table, number, numbers, tidy


@family("facility_location_capacitated", cls="location", kind="MILP", tags=("fixed-charge", "linking"))
class CapacitatedFacilityLocation(Family):
    """Open depots and ship goods so that every customer is served at least daily cost.

    Source: Cornuejols, Nemhauser and Wolsey, "The uncapacitated facility location problem", in Discrete Location Theory,
    1990, with the capacities of Daskin, Network and Discrete Location, 2nd ed., 2013, ch. 7.
    """

    title = "capacitated facility location"
    levels = (
        {"depots": 2, "customers": 3, "slack": 1.8},
        {"depots": 3, "customers": 6, "slack": 1.6},
        {"depots": 5, "customers": 9, "slack": 1.35},
        {"depots": 7, "customers": 14, "slack": 1.25},
    )
    golden = Golden(
        data={
            "I": ["North", "South"], "J": ["Alder", "Birch", "Cedar"],
            "f": {"North": 120, "South": 90}, "q": {"North": 16, "South": 10}, "d": {"Alder": 5, "Birch": 6, "Cedar": 4},
            "c": {"North": {"Alder": 3, "Birch": 7, "Cedar": 5}, "South": {"Alder": 6, "Birch": 2, "Cedar": 4}},
        },
        optimum=197,
        why="15 t are due. South alone can send 10, so North must open: 120. North alone costs 15 + 42 + 20 = 77 for carriage, "
            "197 in all; opening South too costs 90 more and saves at most (7 - 2)*6 + (5 - 4)*4 = 34.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        I, J = m.set("I", "depot"), m.set("J", "customer")
        i, j = I.index("i"), J.index("j")
        f = m.param("f", i, name="opening_cost", unit="money/day", meaning="cost of keeping the {I} open")
        q = m.param("q", i, name="capacity", unit="goods/day", meaning="most that the {I} can dispatch")
        d = m.param("d", j, name="demand", unit="goods/day", meaning="demand of the {J}")
        c = m.param("c", i, j, name="carriage_cost", unit="money/goods", meaning="cost of carriage from {I} to {J}")
        y = m.var("y", i, kind="binary", name="is_open", meaning="1 if {I} i is open, 0 if it is closed")
        x = m.var("x", i, j, name="ship", unit="goods/day", meaning="amount that {I} i sends to {J} j")
        m.minimize(
            opening=(sum_(i)(f[i] * y[i]), "cost of keeping {I_s} open"),
            carriage=(sum_(i, j)(c[i, j] * x[i, j]), "cost of carriage"),
        )
        m.require("demand", sum_(i)(x[i, j]) == d[j], forall=(j,), tightened_by="d",
                  because="each {J} receives exactly its demand")
        m.fixed_charge("capacity", sum_(j)(x[i, j]), y[i], q[i], forall=(i,), tightened_by="q",
                       because="a {I} that is open dispatches at most its capacity, and a closed one dispatches nothing")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        I, J = names("I", size["depots"]), names("J", size["customers"])
        d = numbers(rng, 3, 20, len(J))
        total = sum(d)
        share = [number(rng, 0.6, 1.4, 2) for _ in I]
        q = [max(3, int(tidy(total * size["slack"] * s / sum(share)))) for s in share]
        while sum(q) < total * size["slack"]:
            q[int(rng.integers(len(q)))] += 1
        f = [number(rng, 6 * cap, 11 * cap) for cap in q]
        return {"I": I, "J": J, "f": by_label(I, f), "q": by_label(I, q), "d": by_label(J, d),
                "c": drawn_table(rng, I, J, 1.5, 12, 2)}
