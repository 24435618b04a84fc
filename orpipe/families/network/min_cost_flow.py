"""Minimum-cost flow on a sparse directed network."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Rejected, Size, family
from orpipe.families.draw import Rng, by_label, distance, number, plane, tidy

Arc = tuple[int, int]


@family("min_cost_flow", cls="network", kind="LP", tags=("network", "sparse", "balance"))
class MinCostFlow(Family):
    """Route what enters a network at some nodes to the nodes that need it, within arc capacities, at least cost.

    Source: Ahuja, Magnanti and Orlin, Network Flows: Theory, Algorithms, and Applications, 1993, ch. 1.2 and 9.
    """

    # spare: a capacity exceeds the flow of a hidden feasible plan by up to this share
    title = "minimum-cost flow"
    levels = (
        {"nodes": 4, "arcs": 6, "sources": 1, "sinks": 1, "spare": 0.8},
        {"nodes": 7, "arcs": 14, "sources": 2, "sinks": 2, "spare": 0.6},
        {"nodes": 12, "arcs": 30, "sources": 3, "sinks": 4, "spare": 0.45},
        {"nodes": 20, "arcs": 68, "sources": 4, "sinks": 7, "spare": 0.3},
    )
    golden = Golden(
        data={
            "N": ["Ashford", "Brookfield", "Carrick", "Dunmore"],
            "A": [["Ashford", "Brookfield"], ["Ashford", "Carrick"], ["Brookfield", "Carrick"],
                  ["Brookfield", "Dunmore"], ["Carrick", "Dunmore"]],
            "b": {"Ashford": 50, "Brookfield": 0, "Carrick": -10, "Dunmore": -40},
            "c": {"Ashford": {"Brookfield": 4, "Carrick": 7}, "Brookfield": {"Carrick": 1, "Dunmore": 5},
                  "Carrick": {"Dunmore": 3}},
            "u": {"Ashford": {"Brookfield": 30, "Carrick": 40}, "Brookfield": {"Carrick": 15, "Dunmore": 20},
                  "Carrick": {"Dunmore": 25}},
        },
        optimum=425,
        why="Let a go from Brookfield to Carrick and p from Brookfield to Dunmore. The balances then fix "
            "Ashford-Brookfield at a + p, Ashford-Carrick at 50 - a - p and Carrick-Dunmore at 40 - p, and the "
            "cost is 470 - 2a - p. Capacities give a <= 15 and a + p <= 30, so 2a + p <= 45, attained at a = p = "
            "15, where Carrick-Dunmore carries just its 25: 425.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        N = m.set("N", "node")
        i, j = N.index("i"), N.index("j")
        A = m.tuples("A", i, j, noun="arc")
        b = m.param("b", i, name="net_supply", unit="goods/period", sign="any",
                    meaning="net supply of the {N} (negative where {goods} is needed)")
        c = m.param("c", i, j, name="unit_cost", unit="money/goods", domain=A,
                    meaning="cost of sending {goods} along the {A}")
        u = m.param("u", i, j, name="arc_capacity", unit="goods/period", domain=A,
                    meaning="most that the {A} can carry")
        x = m.var("x", i, j, name="flow", unit="goods/period", domain=A, upper=u[i, j],
                  meaning="amount sent along the {A} from {N} i to {N} j")
        m.minimize(transport=(sum_(i, j, where=A[i, j])(c[i, j] * x[i, j]), "cost of everything sent along the {A_s}"))
        m.require("balance", sum_(j, where=A[i, j])(x[i, j]) - sum_(j, where=A[j, i])(x[j, i]) == b[i], forall=(i,),
                  tightened_by="b", because="at each {N}, what is sent out less what arrives equals its net supply")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        n = size["nodes"]
        for _ in range(40):
            points = sorted(plane(rng, n))  # west to east: sources first, sinks last
            gap = {(p, q): distance(points[p], points[q]) for p in range(n) for q in range(n) if p != q}
            arcs = _network(rng, size, gap)
            sent = _plan(rng, size, arcs, gap)
            used = [a for a in arcs if sent[a]]
            if len(used) < len(arcs) and len(used) >= n - 1:
                break
        else:
            raise Rejected("no draw gave a network with both used and unused arcs")
        net = [0] * n
        for (p, q), amount in sent.items():
            net[p] += amount
            net[q] -= amount
        most = {a: int(tidy(v + v * size["spare"] * number(rng, 0, 1, 2)) if v else rng.integers(12, 40))
                for a, v in sent.items()}
        cost = {a: tidy(1.5 + 0.2 * gap[a] * number(rng, 0.6, 1.4, 2), 2) for a in arcs}

        place = [int(k) for k in rng.permutation(n)]  # which label each point gets: the order of labels tells nothing
        N = names("N", n)
        listed = sorted(arcs, key=lambda a: (place[a[0]], place[a[1]]))
        at = {p: N[place[p]] for p in range(n)}
        return {
            "N": N, "A": [[at[p], at[q]] for p, q in listed],
            "b": by_label(N, [net[place.index(k)] for k in range(n)]),
            "c": _nested(listed, at, cost), "u": _nested(listed, at, most),
        }


def _nested(arcs: list[Arc], at: dict[int, str], values: dict[Arc, Any]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for p, q in arcs:
        out.setdefault(at[p], {})[at[q]] = values[p, q]
    return out


def _network(rng: Rng, size: Size, gap: dict[Arc, int]) -> list[Arc]:
    """Short arcs, mostly eastward: every node but the first has one from the west, every node but the last one to the
    east, so that the first source reaches everything and everything reaches the last sink."""
    n, arcs = size["nodes"], dict[Arc, None]()
    drawn = _distorted(rng, gap, gap, 0.8, 1.25)
    for q in range(1, n):
        arcs[min(((p, q) for p in range(q)), key=drawn.__getitem__)] = None
    for p in range(n - 1):
        arcs[min(((p, q) for q in range(p + 1, n)), key=drawn.__getitem__)] = None
    inner = range(size["sources"], n - size["sinks"])
    for a in sorted(drawn, key=drawn.__getitem__):
        p, q = a
        if len(arcs) < size["arcs"] and (p < q or (q < p and p in inner and q in inner and rng.random() < 0.4)):
            arcs[a] = None
    return list(arcs)


def _distorted(rng: Rng, arcs: Iterable[Arc], gap: dict[Arc, int], low: float, high: float) -> dict[Arc, float]:
    return {a: gap[a] * w for a, w in zip(arcs, rng.uniform(low, high, len(gap)).tolist(), strict=False)}


def _plan(rng: Rng, size: Size, arcs: list[Arc], gap: dict[Arc, int]) -> dict[Arc, int]:
    """A feasible plan: whole amounts along paths, short in distorted lengths, from every source and to every sink."""
    n, sources = size["nodes"], size["sources"]
    sent = dict.fromkeys(arcs, 0)
    errands: list[tuple[list[int], int]] = [([p], n - 1) for p in range(sources)]
    errands += [(rng.permutation(sources).tolist(), q) for q in range(n - size["sinks"], n) for _ in range(2)]
    for starts, end in errands:
        amount = int(rng.integers(8, 25))
        lengths = _distorted(rng, arcs, gap, 0.4, 2.5)
        path = next(path for p in starts if (path := _path(n, lengths, p, end)))
        for a in pairwise(path):
            sent[a] += amount
    return sent


def _path(n: int, lengths: dict[Arc, float], start: int, end: int) -> list[int]:
    """Nodes of a shortest path, [] if there is none."""
    onward: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (p, q), d in lengths.items():
        onward[p].append((q, d))
    best, came, heap = {start: 0.0}, {start: start}, [(0.0, start)]
    while heap:
        length, p = heapq.heappop(heap)
        if p == end:
            path = [end]
            while path[-1] != start:
                path.append(came[path[-1]])
            return path[::-1]
        for q, d in onward[p]:
            if length + d < best.get(q, float("inf")):
                best[q], came[q] = length + d, p
                heapq.heappush(heap, (length + d, q))
    return []
