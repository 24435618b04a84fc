"""Rows and bounds in integers: what multipliers prove, and what they do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_rows import at_most, feasible, no_point
from orpipe.problem import Problem
from orpipe.solve import Outcome, solver

WIDE = np.inf


def problem(rows: list[list[float]], low: list[float], high: list[float], lower: list[float], upper: list[float]) -> Problem:
    n = len(lower)
    return Problem.from_arrays(cost=[0.0] * n, matrix=np.array(rows, float), row_lower=low, row_upper=high, lower=lower, upper=upper,
                               integer=[False] * n)


def test_multipliers_bound_a_function_exactly() -> None:
    p = problem([[1, 1], [1, 3]], [-WIDE, -WIDE], [4, 6], [0, 0], [WIDE, WIDE])
    w = Exact.of([3.0, 5.0])
    assert at_most(p, w, np.array([2.0, 1.0])) == 14  # the optimum, at (3, 1)
    assert at_most(p, w, np.array([5.0, 0.0])) == 20  # weaker multipliers, weaker bound, still true
    assert at_most(p, w, np.array([0.0, 0.0])) is None  # nothing holds the columns
    assert at_most(p, w, np.array([np.nan, 1.0])) is None
    # a third, as a float: rounded to a third
    assert at_most(p, Exact.of([1.0, 1.0]), np.array([2 / 3, 1 / 3])) == Fraction(14, 3)


def test_a_side_that_is_not_there_proves_nothing() -> None:
    p = problem([[1, 1]], [2], [WIDE], [0, 0], [1, 9])
    assert at_most(p, Exact.of([1.0, 1.0]), np.array([1.0])) == 10  # the multiplier is dropped: only the columns' bounds are left
    assert at_most(p, Exact.of([-1.0, -1.0]), np.array([-1.0])) == -2


def test_no_point_is_proved_whatever_the_sign_of_the_ray() -> None:
    p = problem([[1, 1], [1, 1]], [5, -WIDE], [WIDE, 3], [0, 0], [WIDE, WIDE])
    assert no_point(p, np.array([-1.0, 1.0]))
    assert no_point(p, np.array([0.25, -0.25]))
    assert not no_point(p, np.array([1.0, 1.0]))
    assert not no_point(p, np.zeros(2))
    inside = problem([[1, 1], [1, 1]], [3, -WIDE], [WIDE, 3], [0, 0], [WIDE, WIDE])
    assert not no_point(inside, np.array([-1.0, 1.0]))


@pytest.mark.parametrize("shift", [0, 10**12, 10**25])
def test_feasible_is_exact_however_long_the_numbers(shift: int) -> None:
    p = problem([[1.0, -1.0]], [0.0], [0.1], [-WIDE, -WIDE], [WIDE, WIDE])
    assert feasible(p, [10 * shift + 1, 10 * shift], 10)
    assert not feasible(p, [10 * shift, 10 * shift + 1], 10)
    assert not feasible(p, [100 * shift + 11, 100 * shift], 100)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=1, max_size=4), st.lists(st.integers(-5, 9), min_size=4, max_size=4),
       st.lists(st.integers(-6, 6), min_size=3, max_size=3))
def test_no_multipliers_claim_less_than_the_optimum(rows: list[list[int]], sides: list[int], w: list[int]) -> None:
    p = problem(rows, [-WIDE] * len(rows), [float(v) for v in sides[:len(rows)]], [0.0] * 3, [7.0] * 3)  # type: ignore[arg-type]
    aimed = exact_lp.replace(p, maximize=True, cost_exact=Exact.of(w))
    found = solver("highs").solve(aimed)
    y = np.array([float(v % 5) - 1.5 for v in sides[:len(rows)]])
    if found.outcome is Outcome.INFEASIBLE:
        return
    best = exact_lp.vertex(aimed, found.basis) if found.basis is not None else None
    assert best is not None and best.optimal
    for multipliers in (y, np.array([float(v) for v in best.duals])):
        bound = at_most(p, Exact.of(w), multipliers)
        assert bound is not None and bound >= best.objective
    assert not no_point(p, y)


def test_zeros_beside_a_denominator_beyond_all_size() -> None:
    """All values 0, one side in steps of 1e-30: nothing overflows."""
    problem = Problem.from_arrays(cost=[1, 1], matrix=np.array([[1.0, 1e-10]]), row_lower=[-np.inf], row_upper=[1e-30], lower=[0, 0],
                                  upper=[1, 1], integer=[False, False])
    assert feasible(problem, [0, 0], 1) and feasible(problem, [0, 0], 10**30) and not feasible(problem, [10**20, 0], 10**20)
