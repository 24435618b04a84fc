"""Exact arithmetic: vertices, certificates and labels against brute force and naive rational sums."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orpipe import exact_lp
from orpipe.exact_lp import At, Basis
from orpipe.problem import Problem
from orpipe.solve import Label, Outcome, Result, label, solver
from orpipe.testing.solver_suite import Case, cases, model

LPS = [case for case in cases() if case.problem.kind == "LP" and case.outcome is Outcome.OPTIMAL]
TEXTBOOK = cases()[0].problem


def dual_bound(problem: Problem, duals: tuple[Fraction, ...] | None) -> Fraction | None:
    """The bound that row duals prove, computed naively: b y plus each column's reduced cost at its better bound."""
    assert duals is not None and len(duals) == problem.n_rows
    sign = -1 if problem.maximize else 1
    dense = [[Fraction(0)] * problem.n_vars for _ in range(problem.n_rows)]
    entries = problem.matrix_exact.fractions()
    for i in range(problem.n_rows):
        for k in range(problem.matrix.indptr[i], problem.matrix.indptr[i + 1]):
            dense[i][problem.matrix.indices[k]] = entries[k]
    total = problem.offset * sign
    reduced = [c * sign for c in problem.cost_exact.fractions()]
    for i, y in enumerate(duals):
        reduced = [r - y * sign * a for r, a in zip(reduced, dense[i], strict=True)]
    p = problem
    for values, lower, upper, low, high in (
        ([y * sign for y in duals], p.row_lower, p.row_upper, p.row_lower_exact, p.row_upper_exact),
        (reduced, p.lower, p.upper, p.lower_exact, p.upper_exact),
    ):
        for k, value in enumerate(values):
            if value:
                if not np.isfinite((lower if value > 0 else upper)[k]):
                    return None
                total += value * (low if value > 0 else high).fractions()[k]
    return total * sign


@pytest.mark.parametrize("case", LPS, ids=lambda case: case.name)
def test_duals_of_every_lp_prove_its_optimum(case: Case) -> None:
    found = label(case.problem)
    assert isinstance(found, Label) and dual_bound(case.problem, found.duals) == case.objective


def test_vertex_of_a_wrong_basis_is_none_or_not_optimal() -> None:
    def at(columns: list[At], rows: list[At]) -> exact_lp.Vertex | None:
        return exact_lp.vertex(TEXTBOOK, Basis(np.array(columns, np.int8), np.array(rows, np.int8)))

    best = at([At.BASIC, At.BASIC], [At.BASIC, At.UPPER, At.UPPER])
    assert best is not None and best.optimal and best.point == (2, 6) and best.duals == (0, Fraction(3, 2), 1)
    corner = at([At.BASIC, At.LOWER], [At.UPPER, At.BASIC, At.BASIC])
    assert corner is not None and corner.feasible and not corner.optimal and corner.objective == 12
    outside = at([At.BASIC, At.BASIC], [At.UPPER, At.UPPER, At.BASIC])
    assert outside is not None and not outside.feasible and not outside.optimal
    assert at([At.BASIC, At.BASIC], [At.BASIC, At.BASIC, At.UPPER]) is None  # count
    assert at([At.BASIC, At.LOWER], [At.BASIC, At.UPPER, At.BASIC]) is None  # singular: row 1 has no x0
    free = model([1], [(None, {0: 1}, None)])
    assert exact_lp.vertex(free, Basis(np.array([At.BASIC], np.int8), np.array([At.LOWER], np.int8))) is None  # no side


def test_vertex_with_large_and_dense_rationals() -> None:
    """Hilbert-like rows: denominators far beyond 64 bits, still exact."""
    n = 12
    rows = [(None, {j: Fraction(1, i + j + 1) for j in range(n)}, Fraction(1, i + 1)) for i in range(n)]
    problem = model([Fraction(1, j + 2) for j in range(n)], rows, maximize=True)
    found = exact_lp.vertex(problem, Basis(np.full(n, At.BASIC, np.int8), np.full(n, At.UPPER, np.int8)))
    assert found is not None and found.point == (1, *[0] * (n - 1)) and found.objective == Fraction(1, 2)


numbers = st.builds(Fraction, st.integers(-9, 9), st.sampled_from([1, 1, 2, 3, 10]))


@st.composite
def small(draw: st.DrawFn, integer: bool) -> Problem:
    n, m = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    bounds: list[tuple[int | None, int | None]] = []
    for _ in range(n):
        low, high = sorted((draw(st.integers(-3, 3)), draw(st.integers(-3, 3))))
        keep_low, keep_high = integer or draw(st.booleans()), integer or draw(st.booleans())
        bounds.append((low if keep_low else None, high if keep_high else None))
    rows = []
    for _ in range(m):
        least, most = sorted((draw(numbers), draw(numbers)))
        side = draw(st.integers(0, 3))
        rows.append((None if side == 1 else least, {j: draw(numbers) for j in range(n)},
                     {1: most, 2: None, 3: least}.get(side, most)))
    return model([draw(numbers) for _ in range(n)], rows, bounds, integer="all" if integer else "",
                 maximize=draw(st.booleans()), offset=draw(numbers))


@settings(max_examples=120, deadline=None)
@given(small(integer=True))
def test_integer_labels_equal_brute_force(problem: Problem) -> None:
    boxes = [range(int(low), int(high) + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    points = [[Fraction(v) for v in x] for x in itertools.product(*boxes)]
    values = [problem.objective(x) for x in points if not problem.violations(x)]
    found = label(problem)
    assert isinstance(found, Label), found
    if values:
        assert found.objective_exact == (max(values) if problem.maximize else min(values))
    else:
        assert found.status == "infeasible"


@settings(max_examples=150, deadline=None)
@given(small(integer=False))
def test_lp_labels_carry_a_certificate(problem: Problem) -> None:
    found = label(problem)
    assert isinstance(found, Label) and found.proof == "exact", found
    if found.status == "optimal":
        assert found.point is not None and not problem.violations(found.point)
        assert dual_bound(problem, found.duals) == found.objective_exact == problem.objective(found.point)
    elif found.status == "unbounded":
        assert found.point is not None and found.ray is not None
        far = [p + 10**9 * d for p, d in zip(found.point, found.ray, strict=True)]
        assert not problem.violations(found.point) and not problem.violations(far)
        assert problem.maximize == (problem.objective(far) > problem.objective(found.point))
    else:
        assert exact_lp.contradiction(problem) or settled_slack(problem) > 0


def settled_slack(problem: Problem) -> float:
    """The least violation in floats, by another solver than the one whose basis was certified."""
    result: Result = solver("glop").solve(exact_lp.elastic(problem))
    assert result.outcome is Outcome.OPTIMAL and result.objective is not None
    return result.objective


def test_elastic_keeps_exact_numbers_in_the_right_places() -> None:
    problem = model([1, 2], [("1/3", {0: "1/3", 1: "-0.7"}, 4), (None, {1: 5}, 6), (2, {0: 9}, None)])
    wide = exact_lp.elastic(problem)
    dense = np.zeros((3, wide.n_vars), dtype=object)
    rows = np.repeat(np.arange(3), np.diff(wide.matrix.indptr))
    dense[rows, wide.matrix.indices] = wide.matrix_exact.fractions()
    assert dense.tolist() == [
        [Fraction(1, 3), Fraction(-7, 10), 1, 0, -1, 0], [0, 5, 0, 0, 0, -1], [9, 0, 0, 1, 0, 0]]
    assert wide.cost_exact.fractions() == [0, 0, 1, 1, 1, 1]
