"""Uniqueness against every point, and binding rows, duals and kinds of certificate by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from orpipe.instances import draw
from orpipe.proof import Facts, Refuted, binding, facts, unique
from orpipe.solve import Label, label
from orpipe.testing.solver_suite import model

from .small import INFEASIBLE, integer_problem, optimal, ranked

TEXTBOOK = model([3, 5], [(None, {0: 1}, 4), (None, {1: 2}, 12), (None, {0: 3, 1: 2}, 18)], maximize=True)


def labelled(problem) -> Label:  # type: ignore[no-untyped-def]
    found = label(problem)
    assert isinstance(found, Label)
    return found


@pytest.mark.parametrize("seed", range(150))
def test_unique_against_every_point(seed: int) -> None:
    problem = integer_problem(seed)
    best = ranked(problem)
    if not best:
        return
    tied = sum(value == best[0][0] for value, _ in best)
    assert unique(problem, optimal(problem, best[0][1])) == ("unique" if tied == 1 else "not unique")


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_unique_judges_decision_columns_only(seed: int) -> None:
    problem = integer_problem(seed)
    problem = replace(problem, decision=np.array([j % 2 == 0 for j in range(problem.n_vars)]))
    best = ranked(problem)
    if not best:
        return
    plans = {point[::2] for value, point in best if value == best[0][0]}
    found = unique(problem, optimal(problem, best[0][1]))
    assert found == ("unique" if len(plans) == 1 else "not unique") or (found == "unknown" and len(plans) == 1)


def test_unique_of_a_wrong_label_is_unknown() -> None:
    problem = next(p for p in map(integer_problem, range(50)) if len({v for v, _ in ranked(p)}) > 2)
    best = ranked(problem)
    worse = next(t for t in best if t[0] != best[0][0])
    assert unique(problem, optimal(problem, worse[1])) == "unknown"
    assert unique(problem, INFEASIBLE) == "unknown"


@pytest.mark.parametrize(("cost", "rows", "bounds", "verdict", "why"), [
    ([3, 5], [(None, {0: 1}, 4), (None, {1: 2}, 12), (None, {0: 3, 1: 2}, 18)], None, "unique", "all duals of the textbook vertex are positive"),
    ([1, 1], [(None, {0: 1, 1: 1}, 4)], None, "not unique", "a whole edge"),
    ([1, 0], [(None, {0: 1}, 4), (None, {0: 1, 1: 1}, 4)], None, "unique", "a zero reduced cost, but no room at the degenerate vertex"),
    ([1, 0], [(None, {0: 1, 1: 1}, 4), (None, {0: 1}, 3)], None, "not unique", "x1 is free to move up to 1"),
    ([0, 0], [(None, {0: 1, 1: 1}, 0)], None, "unique", "the origin is the only point"),
    ([0, 0], [(1, {0: 1, 1: -1}, 1)], [(None, None), (None, None)], "not unique", "a line of free columns"),
    ([1], [(None, {0: Fraction(1, 3)}, Fraction(1, 7))], None, "unique", "one column"),
    ([0, 0], [], [(2, 2), (0, 0)], "unique", "fixed columns"),
])
def test_unique_lp(cost: list, rows: list, bounds: list | None, verdict: str, why: str) -> None:
    problem = model(cost, rows, bounds, maximize=True)
    assert unique(problem, labelled(problem)) == verdict, why


def test_an_auxiliary_column_that_moves_is_no_other_plan() -> None:
    problem = model([1, 0], [(None, {0: 1, 1: 1}, 4), (None, {0: 1}, 3)], maximize=True)
    assert unique(replace(problem, decision=np.array([True, False])), labelled(problem)) == "unique"
    assert unique(replace(problem, decision=np.array([False, True])), labelled(problem)) == "not unique"


def test_mixed_integer_with_a_free_continuous_part() -> None:
    """x whole, z continuous: z may split between two columns of equal cost."""
    problem = model([5, 1, 1], [(2, {0: 4, 1: 1, 2: 1}, None)], [(0, 3), (0, None), (0, None)], integer=[True, False, False])
    assert unique(problem, labelled(problem)) == "not unique"
    dearer = model([5, 1, 2], [(2, {0: 4, 1: 1, 2: 1}, None)], [(0, 3), (0, None), (0, None)], integer=[True, False, False])
    assert unique(dearer, labelled(dearer)) == "unique"


def test_identical_bins_are_seen_without_a_search() -> None:
    problem = draw("bin_packing", 2, 5, 0).problem
    assert unique(problem, labelled(problem), nodes=1) == "not unique"
    assert unique(problem, labelled(problem), nodes=0) == "unknown"


def test_facts_of_the_textbook_lp() -> None:
    found = facts(TEXTBOOK, labelled(TEXTBOOK), nodes=10)
    assert isinstance(found, Facts) and (found.certificate, found.unique) == ("exact", "unique")
    assert json.loads(found.binding or "") == ["r1", "r2"]
    assert json.loads(found.duals or "") == {"rows": {"r1": "1.5", "r2": 1}, "columns": {}}
    cheap = model([1, 3], [(2, {0: 1, 1: 1}, None), (5, {1: 1}, 5)], [(0, 1), (0, 9)])
    found = facts(cheap, labelled(cheap), nodes=10)
    assert isinstance(found, Facts) and json.loads(found.binding or "") == []  # an equality always binds
    assert json.loads(found.duals or "") == {"rows": {"r1": 3}, "columns": {"x0": 1}}


def test_duals_price_the_optimum() -> None:
    """Row duals and reduced costs give back the objective: sides times duals plus bounds times reduced costs."""
    problem = draw("transportation", 2, 5, 0).problem
    known = labelled(problem)
    found = facts(problem, known, nodes=10)
    assert isinstance(found, Facts) and found.certificate == "exact" and known.point is not None
    priced = json.loads(found.duals or "")
    rows = {name: Fraction(v) for name, v in priced["rows"].items()}
    total = sum((Fraction(v) * known.point[problem.column_index[c]] for c, v in priced["columns"].items()), start=problem.offset)
    bound = binding(problem, known.point)
    for i, name in enumerate(problem.rows):
        if name in rows:
            assert name in bound or problem.row_lower[i] == problem.row_upper[i]
            low = np.isfinite(problem.row_lower[i])
            side = problem.row_lower_exact if low else problem.row_upper_exact
            total += rows[name] * Fraction(int(side.num[i]), side.den)
    assert total == known.objective_exact


def test_kinds_of_certificate() -> None:
    problem = draw("knapsack", 3, 5, 0).problem
    known = labelled(problem)
    for nodes, kind in ((0, "exact-point+agreement"), (5000, "exact")):
        found = facts(problem, known, nodes)
        assert isinstance(found, Facts) and found.certificate == kind and found.duals is None and found.binding is not None
    odd = model([0, 0], [(3, {0: 2, 1: 2}, 3)], [(0, 5), (0, 5)], integer="all")
    for nodes, kind in ((0, "agreement"), (50, "exact")):
        assert facts(odd, INFEASIBLE, nodes) == Facts(kind, None, None, None, '["r0"]')  # type: ignore[arg-type]
    best = ranked(small := integer_problem(1))
    worse = next(t for t in best if t[0] != best[0][0])
    assert isinstance(facts(small, optimal(small, worse[1]), 100), Refuted)
