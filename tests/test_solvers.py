"""Solvers: every adapter against the conformance suite, the rules that make a label, and the exact arithmetic behind them."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orpipe import exact_lp
from orpipe import solve as solving
from orpipe.errors import NotFound, Unsupported
from orpipe.exact_lp import At, Basis
from orpipe.problem import Problem
from orpipe.solve import POLICY, VERTEX, Answer, Label, Outcome, Refusal, Result, Solver, label, solver, solvers
from orpipe.testing.solver_suite import Case, cases, fault, model


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("name", sorted(solvers()))
def test_conformance(name: str, case: Case, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> None:
    adapter = solver(name)
    if case.name in adapter.deviations:
        request.applymarker(pytest.mark.xfail(strict=True, reason=adapter.deviations[case.name]))
    assert fault(adapter, case) is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_label_of_every_case_is_exact(case: Case) -> None:
    found = label(case.problem, case.time_limit, case.nodes)
    if case.outcome is None:
        assert isinstance(found, Refusal) and found.reason == "limit" and found.results
        return
    assert isinstance(found, Label), found
    assert (found.status, found.objective_exact) == (case.outcome, case.objective)
    assert len({result.family for result in found.results if result.outcome is case.outcome}) >= 2
    lp = case.problem.kind == "LP"
    if found.status == "optimal":
        assert found.point is not None and not case.problem.violations(found.point)
        assert case.problem.objective(found.point) == found.objective_exact and found.objective == float(found.objective_exact)
        assert found.proof == ("exact" if lp else "agreement")
        assert not lp or dual_bound(case.problem, found.duals) == found.objective_exact
    if found.status == "unbounded":
        assert found.point is not None and not case.problem.violations(found.point)
        far = [p + 10**6 * d for p, d in zip(found.point, found.ray, strict=True)]
        gain = case.problem.objective(far) - case.problem.objective(found.point)
        assert (gain > 0) == case.problem.maximize and gain
        assert not [v for v in case.problem.violations(far) if v.rule != "integer"]


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
    terms = []
    for i, y in enumerate(duals):
        terms.append((y * sign, i, problem.row_lower, problem.row_upper, problem.row_lower_exact, problem.row_upper_exact))
        reduced = [r - y * sign * a for r, a in zip(reduced, dense[i], strict=True)]
    terms += [(r, j, problem.lower, problem.upper, problem.lower_exact, problem.upper_exact) for j, r in enumerate(reduced)]
    for value, k, low, high, low_exact, high_exact in terms:
        if value:
            if not np.isfinite((low if value > 0 else high)[k]):
                return None
            total += value * (low_exact if value > 0 else high_exact).fractions()[k]
    return total * sign


# ---- the suite notices


class Doctored(Solver):
    """A real adapter whose answers pass through `change`."""

    package = "highspy"

    def __init__(self, change: Callable[[Problem, Answer], Answer], name: str = "highs", family: str | None = None) -> None:
        self.inner, self.change, self.name = solver(name), change, name
        self.family = family or self.inner.family

    def accepts(self, problem: Problem) -> str | None:
        return self.inner.accepts(problem)

    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        return self.change(problem, self.inner.run(problem, time_limit, nodes, start))


def claims(outcome: Outcome) -> Callable[[Problem, Answer], Answer]:
    return lambda _, answer: replace(answer, outcome=outcome)


def writes(problem: Problem, answer: Answer) -> Answer:
    problem.cost[:] = 0
    return answer


@pytest.mark.parametrize(
    ("case", "change", "words"),
    [
        ("infeasible_rows", claims(Outcome.UNBOUNDED), "claims highs: unbounded; right is infeasible"),
        ("unbounded_ray", claims(Outcome.INFEASIBLE), "claims highs: infeasible; right is unbounded"),
        ("lp_textbook", claims(Outcome.LIMIT_WITH_INCUMBENT), "answers highs: limit_with_incumbent"),
        ("lp_textbook", lambda _, a: replace(a, objective=35.9), "objective 35.9"),
        ("lp_textbook", lambda _, a: replace(a, objective=None, point=None), "without an objective"),
        ("lp_textbook", lambda _, a: replace(a, point=a.point + 1), "breaks a row"),
        ("knapsack", lambda _, a: replace(a, point=a.point * 0.5), "breaks an integrality"),
        ("fixed_columns", lambda _, a: replace(a, point=a.point + [-1, 1]), "breaks a bound"),
        ("time_limit", claims(Outcome.OPTIMAL), "where the search was cut short"),
        ("lp_minimize_offset", writes, "writes to the arrays"),
    ],
)
def test_suite_reports_a_wrong_adapter(case: str, change: Callable[[Problem, Answer], Answer], words: str) -> None:
    found = next(c for c in cases() if c.name == case)
    message = fault(Doctored(change), replace(found, problem=replace(found.problem)))
    assert message is not None and words in message


def test_suite_reports_an_adapter_that_solves_what_it_refuses() -> None:
    class Fickle(Doctored):
        asked = 0

        def accepts(self, problem: Problem) -> str | None:
            self.asked += 1
            return "not today" if self.asked == 1 else None

    assert fault(Fickle(lambda _, a: a), cases()[0]) == "solves what it refuses (not today)"


# ---- registry and policy


def test_every_policy_reaches_two_families_that_exist() -> None:
    for kind, names in POLICY.items():
        assert len({solver(name).family for name in names}) >= 2, kind
    assert all(name in solvers() for name in VERTEX)
    assert solver("highs").family == solver("highs_plain").family


def test_unknown_solver_is_named_with_a_hint() -> None:
    with pytest.raises(NotFound, match="did you mean 'glop'"):
        solver("glob")
    with pytest.raises(NotFound, match="no solver 'gurobi'"):
        label(cases()[0].problem, policy={"LP": ("highs", "gurobi")})


def test_missing_library_is_reported_and_the_rest_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "orpipe_solvers.ortools_cpsat", raising=False)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    fresh = solving._Adapters()
    assert set(fresh.names()) == solvers().keys() - {"cpsat"}
    assert "ortools.sat.python" in fresh.missing["ortools_cpsat"]


def test_refused_problem_raises_with_the_reason() -> None:
    with pytest.raises(Unsupported, match="glop cannot take this problem: integer columns"):
        solver("glop").solve(model([1], [], integer="all"))
    with pytest.raises(Unsupported, match="counts as infinite"):
        solver("highs").solve(model([1], [(10**20, {0: 1}, None)]))
    with pytest.raises(Unsupported, match="matrix entries"):
        solver("scip").solve(model([1], [(1, {0: "0.0000000001"}, None)]))


def test_record_has_no_clock() -> None:
    result = solver("highs").solve(cases()[0].problem)
    assert json.loads(json.dumps(result.record())) == {
        "name": "highs", "version": solver("highs").version, "status": "optimal", "objective": 36.0}
    assert result.seconds > 0 and result.settings["mip_rel_gap"] == 0.0 and result.settings["time_limit"] == 60.0


# ---- cpsat never rounds


def test_cpsat_solves_numbers_beyond_floats_exactly() -> None:
    a = 2**53 + 1  # 9007199254740993: as a float it becomes ...992 and x = 2 would fit
    found = solver("cpsat").solve(model([1], [(None, {0: a}, 2 * a - 1)], [(0, 5)], integer="all", maximize=True))
    assert found.outcome is Outcome.OPTIMAL and found.point.tolist() == [1.0]


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (model([1], [], [(0, 1)]), "continuous columns"),
        (model([1], [], integer="all"), "unbounded columns"),
        (model([1], [(None, {0: 10**12}, None)], [(0, 10**9)], integer="all"), "once scaled to integers"),
    ],
)
def test_cpsat_refuses_what_it_would_round(problem: Problem, words: str) -> None:
    assert words in (solver("cpsat").accepts(problem) or "")


# ---- labels


def doctor(monkeypatch: pytest.MonkeyPatch, **changes: Callable[[Problem, Answer], Answer]) -> None:
    real = solving.solver
    doctored = {name: Doctored(change, name) for name, change in changes.items()}
    monkeypatch.setattr(solving, "solver", lambda name: doctored.get(name) or real(name))


def refused(problem: Problem, reason: str, words: str, results: int) -> Refusal:
    found = label(problem)
    assert isinstance(found, Refusal) and not found.accepted, found
    assert (found.reason, len(found.results)) == (reason, results) and words in found.detail, found.detail
    return found


LP = cases()[0].problem
KNAPSACK = next(case.problem for case in cases() if case.name == "knapsack")
BIG_M = next(case.problem for case in cases() if case.name == "big_m")


def test_two_outcomes_are_a_disagreement_and_both_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    doctor(monkeypatch, cpsat=claims(Outcome.INFEASIBLE))
    found = refused(KNAPSACK, "disagreement", "highs: optimal 20; cpsat: infeasible", 2)
    assert [result.objective for result in found.results] == [20.0, 20.0]


def test_two_objectives_are_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    doctor(monkeypatch, cpsat=lambda _, a: replace(a, objective=20.001))
    refused(KNAPSACK, "disagreement", "cpsat: optimal 20.001", 2)


def test_a_limit_falls_back_to_the_next_family_or_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    doctor(monkeypatch, cpsat=claims(Outcome.LIMIT))
    found = label(KNAPSACK)
    assert isinstance(found, Label) and [r.solver for r in found.results] == ["highs", "cpsat", "scip"]
    doctor(monkeypatch, cpsat=claims(Outcome.LIMIT), scip=claims(Outcome.LIMIT_WITH_INCUMBENT))
    refused(KNAPSACK, "limit", "limit_with_incumbent", 3)
    # Where the other families can no longer make two, they are not asked.
    doctor(monkeypatch, highs=claims(Outcome.LIMIT_WITH_INCUMBENT))
    refused(BIG_M, "limit", "highs: limit_with_incumbent", 1)


def test_unresolved_and_failed_answers_are_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = claims(Outcome.INFEASIBLE_OR_UNBOUNDED)
    doctor(monkeypatch, glop=lambda p, a: undecided(p, a) if p.cost_exact.num.any() else claims(Outcome.LIMIT)(p, a),
           scip=claims(Outcome.ERROR))
    refused(LP, "undecided", "with a zero objective limit", 3)
    doctor(monkeypatch, glop=claims(Outcome.ERROR), scip=claims(Outcome.ERROR))
    refused(LP, "error", "glop: error", 3)


def test_numbers_beyond_the_solvers_are_unsupported() -> None:
    refused(model([1], [(10**20, {0: 1}, None)]), "unsupported", "highs: row side 1e+20", 1)


def test_one_family_under_two_names_is_one_witness() -> None:
    found = label(LP, policy={"LP": ("highs", "highs_plain")})
    assert isinstance(found, Refusal) and found.reason == "unsupported"


def test_a_point_inside_tolerances_only_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Big-M with both solvers taking y = 5e-8 for zero: they agree on 5.00005, and exact arithmetic has no such point."""
    cheat: Callable[[Problem, Answer], Answer] = lambda p, a: (  # noqa: E731
        replace(a, objective=5.00005, point=np.array([5.0, 5e-8])) if p.integer.any() else a)
    doctor(monkeypatch, highs=cheat, scip=cheat)
    refused(BIG_M, "inexact point", "5.00005", 2)


def test_both_points_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS' point is useless: SCIP's stands.  And of two objectives a hair apart the better exact one is the label."""
    doctor(monkeypatch, highs=lambda p, a: replace(a, point=a.point * 0) if p.integer.any() else a)
    found = label(BIG_M)
    assert isinstance(found, Label) and found.objective_exact == 1005 and found.point == (5, 1)
    near = model(["1", "1.0000001"], [(1, {0: 1, 1: 1}, 1)], [(0, 1)] * 2, integer="all")
    doctor(monkeypatch, highs=lambda _, a: replace(a, objective=1.0000001, point=np.array([0.0, 1.0])))
    found = label(near)
    assert isinstance(found, Label) and found.objective_exact == 1 and found.point == (1, 0)


def test_two_wrong_proofs_meet_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Callable[[Problem, Answer], Answer] = lambda p, a: (  # noqa: E731
        replace(a, outcome=Outcome.INFEASIBLE) if p.name == "case" and p.n_vars == 2 else a)
    doctor(monkeypatch, highs=wrong, glop=wrong)
    refused(LP, "disagreement", "a feasible point exists in exact arithmetic", 2)
    unbounded: Callable[[Problem, Answer], Answer] = lambda p, a: (  # noqa: E731
        replace(a, outcome=Outcome.UNBOUNDED) if p.cost_exact.num.any() and p.lower.min() > -1 and p.upper.max() > 1 else a)
    doctor(monkeypatch, highs=unbounded, glop=unbounded)
    refused(LP, "inexact point", "no exact improving ray", 2)


def test_lp_optimum_comes_from_another_basis_when_the_first_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    useless = Basis(np.full(2, At.LOWER, np.int8), np.full(3, At.BASIC, np.int8))  # the origin: feasible, not optimal
    doctor(monkeypatch, highs=lambda _, a: replace(a, basis=useless))
    found = label(LP)
    assert isinstance(found, Label) and found.objective_exact == 36 and found.duals == (0, Fraction(3, 2), 1)


# ---- exact arithmetic


def test_vertex_of_a_wrong_basis_is_none_or_not_optimal() -> None:
    def at(columns: list[At], rows: list[At]) -> exact_lp.Vertex | None:
        return exact_lp.vertex(LP, Basis(np.array(columns, np.int8), np.array(rows, np.int8)))

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
    bounds = [sorted((draw(st.integers(-3, 3)), draw(st.integers(-3, 3)))) for _ in range(n)]
    if not integer:
        bounds = [[low if draw(st.booleans()) else None, high if draw(st.booleans()) else None] for low, high in bounds]
    rows = []
    for _ in range(m):
        low, high = sorted((draw(numbers), draw(numbers)))
        side = draw(st.integers(0, 3))
        rows.append((None if side == 1 else low, {j: draw(numbers) for j in range(n)},
                     {1: high, 2: None, 3: low}.get(side, high)))
    return model([draw(numbers) for _ in range(n)], rows, [(low, high) for low, high in bounds],
                 integer="all" if integer else "", maximize=draw(st.booleans()), offset=draw(numbers))


@settings(max_examples=120, deadline=None)
@given(small(integer=True))
def test_integer_labels_equal_brute_force(problem: Problem) -> None:
    boxes = [range(int(low), int(high) + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    values = [problem.objective([Fraction(v) for v in x]) for x in itertools.product(*boxes) if not problem.violations(x)]
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


# ---- processes


def child(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={"PYTHONPATH": ":".join(sys.path)}, check=False)


def test_first_solve_of_a_process_prints_nothing() -> None:
    done = child("""
from orpipe.solve import label
from orpipe.testing.solver_suite import cases
found = {case.name: label(case.problem) for case in cases()[:30:7]}
print("data only", all(value.accepted for value in found.values()))
""")
    assert (done.stdout, done.stderr, done.returncode) == ("data only True\n", "", 0)


THREADED = """
import os, sys
import highspy, numpy as np
from orpipe.solve import label, solvers
from orpipe.testing.solver_suite import cases
solvers()
case = next(c for c in cases() if c.name == "gap_trap")
p = case.problem
h = highspy.Highs()
h.setOptionValue("output_flag", False); h.setOptionValue("threads", 2); h.setOptionValue("parallel", "on")
none = np.zeros(0, np.int32)
h.passModel(p.n_vars, p.n_rows, p.matrix.nnz, 0, 2, 0, 1, 0.0, p.cost, p.lower, p.upper, p.row_lower, p.row_upper,
            p.matrix.indptr.astype(np.int32), p.matrix.indices.astype(np.int32), p.matrix.data, none, none, np.zeros(0),
            p.integer.astype(np.int32))
h.run()
"""


def test_solving_while_a_threaded_scheduler_is_alive() -> None:
    done = child(THREADED + "print(label(p).objective_exact)")
    assert (done.stdout, done.returncode) == ("200741\n", 0), done.stderr


def test_solving_in_a_child_forked_from_a_threaded_parent() -> None:
    done = child(THREADED + """
child = os.fork()
if child == 0:
    os._exit(0 if label(p).objective_exact == 200741 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), label(p).objective_exact)
""")
    assert (done.stdout, done.returncode) == ("0 200741\n", 0), done.stderr
