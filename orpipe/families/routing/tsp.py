"""Asymmetric travelling salesman problem, in two formulations."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, card, first, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, distance, plane


@family("tsp", cls="routing", kind="MILP", tags=("tour", "subtour-elimination", "two-formulations"))
class TravellingSalesman(Family):
    """Find the round trip of least total time that visits every place exactly once and returns to its start.

    Source: Miller, Tucker and Zemlin, "Integer programming formulation of traveling salesman problems", Journal of the ACM 7,
    1960 (ordering variables); Gavish and Graves, "The travelling salesman problem and related problems", MIT working paper
    OR 078-78, 1978 (single-commodity flow).
    """

    title = "travelling salesman problem"
    levels = ({"places": 4, "skew": 6}, {"places": 5, "skew": 9}, {"places": 7, "skew": 12}, {"places": 8, "skew": 15})
    formulations = ("ordering", "flow")
    shared = ("x",)
    golden = Golden(
        data={
            "N": ["Home", "Mill", "Port", "Quay"],
            "c": {
                "Home": {"Mill": 10, "Port": 25, "Quay": 30},
                "Mill": {"Home": 12, "Port": 8, "Quay": 26},
                "Port": {"Home": 24, "Mill": 9, "Quay": 7},
                "Quay": {"Home": 11, "Mill": 28, "Port": 6},
            },
        },
        optimum=36,
        why="Four places have six round trips from Home: Mill-Port-Quay 10+8+7+11 = 36, Mill-Quay-Port 10+26+6+24 = 66, "
            "Port-Mill-Quay 25+9+26+11 = 71, Port-Quay-Mill 25+7+28+12 = 72, Quay-Mill-Port 30+28+8+24 = 90, Quay-Port-Mill "
            "30+6+9+12 = 57. Without a rule against subtours Home-Mill-Home and Port-Quay-Port would cost 22+13 = 35.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        N = m.set("N", "place", ordered=True)
        i, j = N.index("i"), N.index("j")
        A = m.tuples("A", i, j, noun="leg", where=i != j)
        c = m.param("c", i, j, domain=A, name="travel_time", unit="minute", meaning="time from one {N} to the other")
        x = m.var("x", i, j, domain=A, kind="binary", name="goes", meaning="1 if the trip goes from {N} i directly to {N} j, 0 otherwise")
        m.minimize(travel=(sum_(i, j, where=A[i, j])(c[i, j] * x[i, j]), "total time of the round trip"))
        m.require("leave", sum_(j, where=A[i, j])(x[i, j]) == 1, forall=(i,), because="every {N} is left exactly once")
        m.require("arrive", sum_(i, where=A[i, j])(x[i, j]) == 1, forall=(j,), because="every {N} is reached exactly once")
        if formulation == "ordering":
            L = m.tuples("L", i, noun="later place", where=i > first)
            u = m.var("u", i, domain=L, name="position", lower=1, upper=card(N) - 1, auxiliary=True,
                      meaning="position of {N} i in the round trip after the start")
            m.require("no_subtours", u[i] - u[j] + card(N) * x[i, j] <= card(N) - 1, forall=(i, j),
                      where=(A[i, j], i > first, j > first),
                      because="the trip is one round through all {N_s}, so positions rise along it until it is back at the start")
        else:
            g = m.var("g", i, j, domain=A, name="load", auxiliary=True, meaning="number of {N_s} still to be visited, carried from {N} i to {N} j")
            m.require("carry", g[i, j] <= (card(N) - 1) * x[i, j], forall=(i, j), where=A[i, j],
                      because="only legs of the trip carry the count of {N_s} still to be visited")
            m.require("no_subtours", sum_(i, where=A[i, j])(g[i, j]) - sum_(i, where=A[j, i])(g[j, i]) == 1, forall=(j,),
                      where=j > first, because="the trip is one round through all {N_s}, so each one after the start uses up one of the count")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        N = names("N", size["places"])
        spots = plane(rng, len(N), 60)
        c = {a: {b: 5 + distance(p, q) + int(rng.integers(0, size["skew"] + 1)) for b, q in zip(N, spots, strict=True) if a != b}
             for a, p in zip(N, spots, strict=True)}
        return {"N": N, "c": c}
