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
    levels = (
        {"places": 4, "skew": 6, "closed": 1}, {"places": 5, "skew": 9, "closed": 4}, {"places": 7, "skew": 12, "closed": 10},
        {"places": 8, "skew": 15, "closed": 16},
    )
    formulations = ("ordering", "flow")
    shared = ("x",)
    golden = Golden(
        data={
            "N": ["Home", "Mill", "Port", "Quay"],
            "A": [["Home", "Mill"], ["Home", "Port"], ["Home", "Quay"], ["Mill", "Home"], ["Mill", "Port"], ["Mill", "Quay"],
                  ["Port", "Home"], ["Port", "Mill"], ["Port", "Quay"], ["Quay", "Home"], ["Quay", "Mill"], ["Quay", "Port"]],
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
        A = m.tuples("A", i, j, noun="leg")
        c = m.param("c", i, j, domain=A, name="travel_time", unit="minute", meaning="time from one {N} to the other")
        x = m.var("x", i, j, domain=A, kind="binary", name="goes", meaning="1 if the trip goes from {N} i directly to {N} j, 0 otherwise")
        m.minimize(travel=(sum_(i, j, where=A[i, j])(c[i, j] * x[i, j]), "total time of the round trip"))
        m.require("leave", sum_(j, where=A[i, j])(x[i, j]) == 1, forall=(i,), tightened_by="A",
                  because="every {N} is left exactly once")
        m.require("arrive", sum_(i, where=A[i, j])(x[i, j]) == 1, forall=(j,), tightened_by="A",
                  because="every {N} is reached exactly once")
        if formulation == "ordering":
            L = m.tuples("L", i, noun="later place", where=i > first)
            u = m.var("u", i, domain=L, name="position", lower=1, upper=card(N) - 1, auxiliary=True,
                      meaning="position of {N} i in the round trip after the start")
            m.require("no_subtours", u[i] - u[j] + card(N) * x[i, j] <= card(N) - 1, forall=(i, j),
                      where=(A[i, j], i > first, j > first), tightened_by="A",
                      because="the trip is one round through all {N_s}, so positions rise along it until it is back at the start")
        else:
            g = m.var("g", i, j, domain=A, name="load", auxiliary=True, meaning="number of {N_s} still to be visited, carried from {N} i to {N} j")
            m.require("carry", g[i, j] <= (card(N) - 1) * x[i, j], forall=(i, j), where=A[i, j],
                      because="only legs of the trip carry the count of {N_s} still to be visited")
            m.require("no_subtours", sum_(i, where=A[i, j])(g[i, j]) - sum_(i, where=A[j, i])(g[j, i]) == 1, forall=(j,),
                      where=j > first, tightened_by="A",
                      because="the trip is one round through all {N_s}, so each one after the start uses up one of the count")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        N = names("N", size["places"])
        spots = plane(rng, len(N), 60)
        # some legs do not exist; those of one round trip drawn at random always do
        n = len(N)
        trip = [0, *(int(k) + 1 for k in rng.permutation(n - 1))]
        kept = {(trip[k], trip[(k + 1) % n]) for k in range(n)}
        others = [(a, b) for a in range(n) for b in range(n) if a != b and (a, b) not in kept]
        closed = {others[int(k)] for k in rng.permutation(len(others))[: size["closed"]]}
        legs = [(a, b) for a in range(n) for b in range(n) if a != b and (a, b) not in closed]
        c: dict[str, dict[str, int]] = {}
        for a, b in legs:
            c.setdefault(N[a], {})[N[b]] = 5 + distance(spots[a], spots[b]) + int(rng.integers(0, size["skew"] + 1))
        return {"N": N, "A": [[N[a], N[b]] for a, b in legs], "c": c}
