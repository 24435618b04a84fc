"""Solvers: every adapter against the conformance suite, and the rules that make a label."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from orpipe import adapters
from orpipe import solve as solving
from orpipe.errors import NotFound, Unsupported
from orpipe.exact_lp import At, Basis
from orpipe.problem import Problem
from orpipe.solve import POLICY, VERTEX, Answer, Label, Outcome, Refusal, Solver, label, solver, solvers
from orpipe.testing.solver_suite import Case, cases, fault, model


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("name", sorted(solvers()))
def test_conformance(name: str, case: Case, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> None:
    adapter = solver(name)
    if case.name in adapter.deviations:
        request.applymarker(pytest.mark.xfail(strict=True, reason=adapter.deviations[case.name]))
    assert fault(adapter, case) is None
    assert capfd.readouterr() == ("", "")


# Infeasible though the relaxation is not.
BY_AGREEMENT = {"integer_parity", "integer_gap_in_row", "integer_infeasible_unbounded_objective"}


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_label_of_every_case_is_exact(case: Case) -> None:
    found = label(case.problem, case.time_limit, case.nodes)
    if case.outcome is None:
        assert isinstance(found, Refusal) and found.reason == "limit" and found.results
        return
    assert isinstance(found, Label), found
    assert (found.status, found.objective_exact) == (case.outcome, case.objective)
    lp = case.problem.kind == "LP"
    assert len({result.family for result in found.results if result.outcome is case.outcome}) >= 2
    if found.status == "optimal":
        assert found.point is not None and not case.problem.violations(found.point)
        assert case.problem.objective(found.point) == found.objective_exact
        assert found.objective == float(found.objective_exact or 0)
        assert found.proof == ("exact" if lp else "agreement")
    if found.status == "infeasible":
        assert found.proof == ("agreement" if case.name in BY_AGREEMENT else "exact")
    if found.status == "unbounded":
        assert found.point is not None and found.ray is not None and not case.problem.violations(found.point)
        far = [p + 10**6 * d for p, d in zip(found.point, found.ray, strict=True)]
        gain = case.problem.objective(far) - case.problem.objective(found.point)
        assert (gain > 0) == case.problem.maximize and gain
        assert not [v for v in case.problem.violations(far) if v.rule != "integer"]


# ---- the suite notices


class Doctored(Solver):
    """A real adapter whose answers pass through `change`."""

    package = "highspy"

    def __init__(self, change: Callable[[Problem, Answer], Answer], name: str = "highs") -> None:
        self.inner, self.change, self.name = solver(name), change, name
        self.family = self.inner.family

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
        ("fixed_columns", lambda _, a: replace(a, point=a.point + np.array([-1, 1])), "breaks a bound"),
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
    fresh = adapters._Adapters()
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


def test_an_approximate_solver_is_never_a_witness() -> None:
    found = label(cases()[0].problem, policy={"LP": ("highs", "pdlp", "glop")})
    assert isinstance(found, Label) and [r.solver for r in found.results] == ["highs", "glop"]
    found = label(cases()[0].problem, policy={"LP": ("highs", "pdlp")})
    assert isinstance(found, Refusal) and found.reason == "unsupported" and "pdlp: its optimum holds within a tolerance" in found.detail


# ---- cpsat never rounds


def test_cpsat_solves_numbers_beyond_floats_exactly() -> None:
    a = 2**53 + 1  # 9007199254740993: as a float it becomes ...992 and x = 2 would fit
    found = solver("cpsat").solve(model([1], [(None, {0: a}, 2 * a - 1)], [(0, 5)], integer="all", maximize=True))
    assert found.outcome is Outcome.OPTIMAL and found.point is not None and found.point.tolist() == [1.0]


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


def test_one_family_under_two_names_is_one_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    found = label(LP, policy={"LP": ("highs", "highs_plain")})
    assert isinstance(found, Refusal) and found.reason == "unsupported"
    doctor(monkeypatch, glop=claims(Outcome.LIMIT))
    found = label(LP, policy={"LP": ("highs", "highs_plain", "glop")})
    assert isinstance(found, Refusal) and found.reason == "limit" and len(found.results) == 3


def test_a_point_inside_tolerances_only_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Big-M with both solvers taking y = 5e-8 for zero: they agree on 5.00005, but there is no such point."""
    cheat: Callable[[Problem, Answer], Answer] = lambda p, a: (  # noqa: E731
        replace(a, objective=5.00005, point=np.array([5.0, 5e-8])) if p.integer.any() else a)
    doctor(monkeypatch, highs=cheat, scip=cheat)
    refused(BIG_M, "inexact point", "5.00005", 2)


def test_whole_points_are_checked_against_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    heavy: Callable[[Problem, Answer], Answer] = lambda _, a: (  # noqa: E731
        replace(a, objective=23.0, point=np.array([1.0, 1.0, 0.0])))  # weight 11 of 10
    doctor(monkeypatch, highs=heavy, cpsat=heavy)
    refused(KNAPSACK, "inexact point", "highs: optimal 23; cpsat: optimal 23", 2)


def test_the_second_family_starts_from_the_first_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Witness(Doctored):
        start: np.ndarray | None = None

        def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
            Witness.start = start
            return super().run(problem, time_limit, nodes, start)

    second = Witness(lambda _, a: a, "cpsat")
    monkeypatch.setattr(solving, "solver", lambda name: second if name == "cpsat" else solver(name))
    assert label(KNAPSACK).accepted and Witness.start is not None and Witness.start.tolist() == [0, 1, 1]
    # A start that is infeasible or worse misleads nobody.
    for name in ("highs", "cpsat", "scip"):
        for start in ([1.0, 1.0, 1.0], [1.0, 0.0, 0.0]):
            found = solver(name).solve(KNAPSACK, start=np.array(start))
            assert (found.outcome, found.objective) == (Outcome.OPTIMAL, 20.0)


def test_an_optimum_with_an_open_gap_is_a_limit() -> None:
    from orpipe_solvers.highs import Highs

    loose = Highs("loose", {**solver("highs").settings, "mip_abs_gap": 1000.0})
    found = loose.solve(next(case.problem for case in cases() if case.name == "node_limit"))
    assert found.outcome is Outcome.LIMIT_WITH_INCUMBENT and "stopped with bound" in found.message


def test_both_points_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS' point is useless: SCIP's stands.  And of two objectives a hair apart the better exact one is the label."""
    doctor(monkeypatch, highs=lambda p, a: replace(a, point=np.zeros(p.n_vars)) if p.integer.any() else a)
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
        replace(a, outcome=Outcome.UNBOUNDED) if p.upper.max() > 1 and p.cost_exact.num.any() else a)
    doctor(monkeypatch, highs=unbounded, glop=unbounded)
    refused(LP, "inexact point", "no exact improving ray", 2)


def test_lp_optimum_comes_from_another_basis_when_the_first_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    useless = Basis(np.full(2, At.LOWER, np.int8), np.full(3, At.BASIC, np.int8))  # the origin: feasible, not optimal
    doctor(monkeypatch, highs=lambda _, a: replace(a, basis=useless))
    found = label(LP)
    assert isinstance(found, Label) and found.objective_exact == 36 and found.duals == (0, Fraction(3, 2), 1)


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


def test_labels_from_worker_threads_after_other_libraries() -> None:
    """Several threads at once may ask for the first label of a process, and PuLP may have been imported before."""
    done = child("""
import pulp, threading
from orpipe.mps import write_mps
from orpipe.solve import label
from orpipe.testing.solver_suite import cases
from orpipe_solvers import solve_mps_text
some = [case for case in cases() if case.objective is not None][::3]
found = []
def work():
    found.append([label(case.problem).objective_exact for case in some])
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
texts = [solve_mps_text(write_mps(case.problem)).outcome for case in some if case.name != "lp_exact_thirds"]
print(found == [[case.objective for case in some]] * 4, set(map(str, texts)))
""")
    assert (done.stdout, done.stderr, done.returncode) == ("True {'optimal'}\n", "", 0)


# HiGHS with two threads on a model that keeps them busy: its scheduler stays alive afterwards.
THREADED = """
import os
import highspy, numpy as np
from orpipe.solve import solver
from orpipe.testing.solver_suite import cases
problem = {case.name: case.problem for case in cases()}
highs = solver("highs")
def threaded(p):
    h, none = highspy.Highs(), np.zeros(0, np.int32)
    for option, value in (("output_flag", False), ("threads", 2), ("parallel", "on"), ("time_limit", 0.5)):
        h.setOptionValue(option, value)
    A = p.matrix
    h.passModel(p.n_vars, p.n_rows, A.nnz, 0, 2, 0, 1, 0.0, p.cost, p.lower, p.upper, p.row_lower, p.row_upper,
                A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data, none, none, np.zeros(0),
                p.integer.astype(np.int32))
    h.run()
threaded(problem["time_limit"])
"""


def test_solving_while_a_threaded_scheduler_is_alive() -> None:
    done = child(THREADED + "print(highs.solve(problem['gap_trap']).objective)")
    assert (done.stdout, done.returncode) == ("200741.0\n", 0), done.stderr


def test_solving_in_a_child_forked_from_a_threaded_parent() -> None:
    """A child that solves with our one thread, and one that uses threads itself as a candidate program may."""
    done = child(THREADED + """
import signal
for work in (lambda: highs.solve(problem["gap_trap"]), lambda: threaded(problem["time_limit"])):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        work()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert (done.stdout, done.returncode) == ("0\n0\n", 0), done.stderr
