"""Irreducible infeasible subsets, worked by hand: rows and bounds, each needed, and none where there is none."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import pytest

from orpipe.problem import Problem
from orpipe.proof.iis import Subset, fault, iis, irreducible, named, whole
from orpipe.testing.solver_suite import model

# need: x0 + x1 >= 9 with x0 <= 4 and x1 <= 4; the second row and the lower bounds have no part in it
SHORT = model([1, 1], [(9, {0: 1, 1: 1}, None), (None, {0: 1, 1: -1}, 3)], [(0, 4), (0, 4)])
# x0 - x1 >= 1 and x1 - x0 >= 1 need no bound
CIRCLE = model([1, 1], [(1, {0: 1, 1: -1}, None), (1, {0: -1, 1: 1}, None), (0, {0: 1}, 5)], [(0, 9), (0, 9)])
# whole numbers alone exclude 2 x0 + 2 x1 = 3
PARITY = model([0, 0], [(3, {0: 2, 1: 2}, 3)], [(0, 5), (0, 5)], integer="all")


@pytest.mark.parametrize(("problem", "names"), [
    (SHORT, ["r0", "upper bound of x0", "upper bound of x1"]), (CIRCLE, ["r0", "r1"]), (PARITY, ["r0"]),
    (model([1], [(2, {0: -1}, None)], [(0, 9)]), ["r0", "lower bound of x0"]),
])
def test_by_hand(problem: Problem, names: list[str]) -> None:
    found = irreducible(problem)
    assert found is not None and found.names(problem) == names and named(problem, names) == found
    assert json.loads(iis(problem) or "") == names and fault(problem, found) is None


def test_what_is_not_irreducible_is_told() -> None:
    everything = whole(SHORT)
    assert "is needed" in (fault(SHORT, everything) or "")
    assert "not proved infeasible" in (fault(SHORT, Subset((0,), (), (0,))) or "")
    assert irreducible(model([1], [(0, {0: 1}, 5)], [(0, 9)])) is None
    with pytest.raises(KeyError):
        named(SHORT, ["lower bound of x9"])


@pytest.mark.parametrize("seed", range(12))
def test_against_every_subset(seed: int) -> None:
    """Rows over two whole columns in 0..3: the set found is infeasible over a grid, and each row left out lets a point in."""
    rows = [(None, {0: (seed * 7 + 3 * k) % 5 - 2, 1: (seed + 5 * k) % 7 - 3}, (seed * k) % 4 - 2) for k in range(4)]
    problem = model([0, 0], [r for r in rows if any(r[1].values())], [(0, 3), (0, 3)], integer="all")
    grid = [p for p in product(range(4), repeat=2) if not problem.violations([Fraction(v) for v in p])]
    found = irreducible(problem)
    assert (found is None) == bool(grid)
    if found is not None:
        for k in range(len(found)):
            rest = found.without(k).problem(problem)
            assert any(not rest.violations([Fraction(v) for v in p]) for p in product(range(-60, 61), repeat=2)), found.names(problem)[k]
