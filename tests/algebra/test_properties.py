"""Grounding against brute force (tests.algebra.brute) on random models and data."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, sum_
from orpipe.errors import DataError, ModelError
from orpipe.exact import Exact
from orpipe.ground import ground
from orpipe.problem import Problem

from .brute import Brute, Undefined
from .random_models import VALUES, datasets, models

ROUNDS = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def exactly(values: Exact) -> list[Fraction]:
    return values.fractions()


@ROUNDS
@given(models(), datasets())
def test_arrays_are_what_loops_give(model: n.Model, data: dict[str, Any]) -> None:
    try:
        brute = Brute(model, keyed_by_labels(data))
    except Undefined:
        brute = None
    try:
        problem = ground(model, data)
    except (DataError, ModelError):
        assert brute is None
        return
    assert brute is not None
    assert list(problem.columns) == brute.columns
    assert set(problem.rows) == set(brute.rows) and len(problem.rows) == len(brute.rows)
    assert problem.maximize == (model.objective.sense == "maximize")
    assert problem.offset == brute.offset
    assert exactly(problem.cost_exact) == [brute.cost[c] for c in brute.columns]
    assert problem.cost.tolist() == [float(brute.cost[c]) for c in brute.columns]
    numbers = exactly(problem.matrix_exact)
    A = problem.matrix
    for k, name in enumerate(problem.rows):
        span = range(A.indptr[k], A.indptr[k + 1])
        row = brute.rows[name]
        assert {problem.columns[A.indices[p]]: numbers[p] for p in span} == row.coef
        assert [float(numbers[p]) for p in span] == A.data[span.start:span.stop].tolist()
        assert list(A.indices[span.start:span.stop]) == sorted(set(A.indices[span.start:span.stop].tolist()))
        side = Fraction(int(problem.row_lower_exact.num[k]), problem.row_lower_exact.den)
        assert side == row.side and problem.row_upper_exact.num[k] == problem.row_lower_exact.num[k]
        assert problem.row_lower[k] == (float(side) if row.relation != "<=" else -np.inf)
        assert problem.row_upper[k] == (float(side) if row.relation != ">=" else np.inf)
    lows, highs = exactly(problem.lower_exact), exactly(problem.upper_exact)
    for k, name in enumerate(problem.columns):
        low, high = brute.bounds[name]
        assert problem.lower[k] == (-np.inf if low is None else float(low)) and low in (None, lows[k])
        assert problem.upper[k] == (np.inf if high is None else float(high)) and high in (None, highs[k])
        assert problem.integer[k] == brute.whole[name]
    auxiliary = {v.symbol for v in model.variables if v.auxiliary}
    assert problem.decision.tolist() == [c.split("[")[0] not in auxiliary for c in problem.columns]


@ROUNDS
@given(models(), datasets(), st.data())
def test_points_are_judged_as_loops_judge_them(model: n.Model, data: dict[str, Any], more: Any) -> None:
    try:
        brute = Brute(model, keyed_by_labels(data))
    except Undefined:
        assume(False)
    problem = ground(model, data)
    values = st.fractions(-5, 5, max_denominator=6) | st.integers(-3, 3).map(Fraction) | st.integers(-(2**70), 2**70).map(Fraction)
    point = {c: more.draw(values) for c in problem.columns}
    x = problem.point(point)
    assert problem.objective(x) == brute.objective(point)
    found = {(v.where, v.rule, v.amount) for v in problem.violations(x)}
    assert found == brute.broken(point)


def keyed_by_labels(data: dict[str, Any]) -> dict[str, Any]:
    """Numbered labels as numbers; the generator writes some as text, as JSON would."""
    return data | {"pc": {i: {int(t): v for t, v in row.items()} for i, row in data["pc"].items()}}


# -- numbers -----------------------------------------------------------------------------------------------------------
@ROUNDS
@given(st.lists(VALUES, max_size=5), st.lists(VALUES, min_size=5, max_size=5), VALUES)
def test_exact_arithmetic(a: list[Any], b: list[Any], c: Any) -> None:
    fa, fb, fc = [Fraction(str(v)) for v in a], [Fraction(str(v)) for v in b[:len(a)]], Fraction(str(c))
    x, y, z = Exact.of(a), Exact.of(b[:len(a)]), Exact.scalar(c)
    assert exactly(x) == fa
    assert exactly(x + y) == [p + q for p, q in zip(fa, fb, strict=True)]
    assert exactly(x - z) == [p - fc for p in fa]
    assert exactly(z * x * y) == [fc * p * q for p, q in zip(fa, fb, strict=True)]
    assert exactly(-(z + z * z)) == [-(fc + fc * fc)]
    assert exactly((x * y).reduced()) == [p * q for p, q in zip(fa, fb, strict=True)]
    assert (x * y).float().tolist() == [float(p * q) for p, q in zip(fa, fb, strict=True)]
    assert x.float().tolist() == [float(v) for v in fa]
    if 0 not in fa:
        assert exactly(x.reciprocal()) == [1 / p for p in fa]


# -- optima ------------------------------------------------------------------------------------------------------------
@st.composite
def integer_problems(draw: Any) -> tuple[n.Model, dict[str, Any]]:
    m = Builder("tiny")
    I, K = m.set("I", "item"), m.set("K", "limit")
    i, k = I.index("i"), K.index("k")
    c, a, b = (m.param(s, *ix, meaning=s, sign="any") for s, ix in (("c", (i,)), ("a", (k, i)), ("b", (k,))))
    u = m.param("u", meaning="most", integer=True)
    x = m.var("x", i, kind="integer", lower=-1, upper=u, meaning="count")
    (m.minimize if draw(st.booleans()) else m.maximize)(value=(sum_(i)(c[i] * x[i]) + u / 3, "value"))
    relation = draw(st.sampled_from([lambda p, q: p <= q, lambda p, q: p >= q]))
    m.require("limit", relation(sum_(i)(a[k, i] * x[i]), b[k]), forall=(k,), because="limits")
    items, limits = ["p", "q", "r"], ["L1", "L2"][:draw(st.integers(1, 2))]
    number = st.integers(-4, 4) | st.sampled_from([0.5, -1.5, 2.25])
    return m.build(check=False), {
        "I": items, "K": limits, "u": draw(st.integers(0, 3)), "c": {p: draw(number) for p in items},
        "a": {q: {p: draw(number) for p in items} for q in limits}, "b": {q: draw(number) for q in limits},
    }


@settings(ROUNDS, max_examples=60)
@given(integer_problems())
def test_optimum_is_the_best_of_all_points(case: tuple[n.Model, dict[str, Any]]) -> None:
    problem = ground(*case)
    ranges = [range(int(lo), int(hi) + 1) for lo, hi in zip(problem.lower, problem.upper, strict=True)]
    values = [problem.objective([*map(Fraction, p)]) for p in itertools.product(*ranges) if not problem.violations(p)]
    best = (max if problem.maximize else min)(values, default=None)
    solved = highs_optimum(problem)
    assert (solved is None) == (best is None)
    if best is not None and solved is not None:
        assert abs(solved - float(best)) <= 1e-6 * max(1, abs(float(best)))


def highs_optimum(p: Problem) -> float | None:
    """None if infeasible."""
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0)):
        solver.setOptionValue(option, value)
    none, i = np.zeros(0, np.int32), np.int32
    A = p.matrix
    solver.passModel(p.n_vars, p.n_rows, p.n_nonzeros, 0, 2, 0, -1 if p.maximize else 1, float(p.offset), p.cost, p.lower, p.upper,
                     p.row_lower, p.row_upper, A.indptr.astype(i), A.indices.astype(i), A.data, none, none, np.zeros(0),
                     p.integer.astype(i))
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    assert status == highspy.HighsModelStatus.kOptimal
    return solver.getInfo().objective_function_value
