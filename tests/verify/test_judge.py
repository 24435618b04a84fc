"""The judge, end to end in the real sandbox: cases P1 to P8, suspicions, references, threads and forks."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orpipe.errors import EnvironmentError_, UsageError
from orpipe.exact_lp import At, Basis
from orpipe.problem import Problem
from orpipe.solve import settle, solver
from orpipe.verify import judge as judge_module
from orpipe.verify.answers import Answer, open_answers
from orpipe.verify.isolation import Layer
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.resolve import reference, resolve, without_giants
from orpipe.verify.sandbox import Pool, Run
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Policy, Verdict

SHARED = Path(__file__).resolve().parents[3] / "shared"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
INF = np.inf

# max 3 rye + 2 oat, rye + 2 oat <= 10, oat <= 4: all flour to rye, 30
BREAD = """
import pulp
m = pulp.LpProblem("bread", pulp.LpMaximize)
rye = pulp.LpVariable("rye", lowBound=0)
oat = pulp.LpVariable("oat", lowBound=0, upBound=4)
m += 3 * rye + 2 * oat
m += rye + 2 * oat <= 10, "flour"
m.solve()
"""
GUARDED = "import pulp\n\ndef main():\n" + "".join(f"    {line}\n" for line in BREAD.replace("import pulp", "").replace("m ", "prob ")
                                                     .replace("m.", "prob.").strip().split("\n")) + '\nif __name__ == "__main__":\n    main()\n'
assert "prob.solve()" in GUARDED


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=2, timeout=60) as made:
        yield made


def fenced(code: str) -> str:
    return f"The model.\n\n```python\n{code.strip()}\n```\n"


# ---- the cases


def test_p1_endless_programs_time_out_and_the_next_is_judged() -> None:
    with Judge(workers=4, timeout=3) as judge:
        judge.warm("pulp")
        answers = [*(Answer(k, "while True: pass", 30) for k in range(5)), Answer(5, fenced(BREAD), 30)]
        rows = list(judge.judge_many(answers))
    assert [(r.verdict, r.failure) for r in rows[:5]] == [(Verdict.ERROR, Failure.TIMEOUT)] * 5
    assert rows[5].verdict is Verdict.SAME_OPTIMUM


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12 warns of forks beside threads
def test_p2_threads_and_forked_processes_get_the_same_verdicts(judge: Judge) -> None:
    labels = [30, 31, "infeasible", None]
    expected = [judge.judge(fenced(BREAD), label).verdict for label in labels]
    assert expected == [Verdict.SAME_OPTIMUM, Verdict.WRONG_OPTIMUM, Verdict.WRONG_OPTIMUM, Verdict.UNDECIDED]
    found: dict[int, list[Verdict]] = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: [judge.judge(fenced(BREAD), label).verdict for label in labels]}))
               for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), expected)

    def child(pipe: Any) -> None:
        pipe.send([str(judge.judge(fenced(BREAD), label).verdict) for label in labels])
        judge.close()
        os._exit(0)

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
    process.start()
    assert ours.poll(100) and ours.recv() == [str(v) for v in expected]
    process.join()
    assert judge.judge(fenced(BREAD), 30).verdict is Verdict.SAME_OPTIMUM


@pytest.mark.parametrize("program", ["print(30)", "import pulp\nprint('optimal_value = 30')", "x = 30\nprint('Optimal', x)",
                                     "import pulp\nm = pulp.LpProblem()\nm += pulp.LpVariable('x', 30)\nprint(30)"])
def test_p3_a_printed_number_is_no_model(judge: Judge, program: str) -> None:
    row = judge.judge(fenced(program), 30)
    assert (row.verdict, row.failure, row.objective) == (Verdict.ERROR, Failure.NO_MODEL, None)


def test_p4_a_guarded_function_is_judged_as_any_other(judge: Judge) -> None:
    row = judge.judge(fenced(GUARDED), 30)
    assert (row.verdict, row.objective, row.n_vars, row.n_rows, row.library) == (Verdict.SAME_OPTIMUM, 30, 2, 1, "pulp")


def test_p5_the_last_solved_state_is_judged_and_said(judge: Judge) -> None:
    cuts = BREAD + "m += rye <= 9\nm.solve()\nm += rye <= 8, 'cut'\nm.solve()\n"  # 24 + 2*1 = 26
    row = judge.judge(fenced(cuts), 26)
    assert row.verdict is Verdict.SAME_OPTIMUM and row.solves == 3 and "the last of 3 solves was judged" in row.reason
    several = BREAD.replace("m.solve()", "n = pulp.LpProblem('n', pulp.LpMinimize)\nx = pulp.LpVariable('x', 7)\nn += x\nn.solve()")
    row = judge.judge(fenced(several), 7)
    assert row.verdict is Verdict.SAME_OPTIMUM and row.solves == 1 and "solves" not in row.reason


@pytest.mark.parametrize("answer", [
    fenced(BREAD), f"<python>{BREAD}</python>", BREAD, fenced("import pulp") + fenced(BREAD), json.dumps({"code": BREAD}),
    f"<think>{fenced(BREAD.replace('3 *', '4 *'))}</think>{fenced(BREAD)}", BREAD.replace("\n", "\\n"),
])
def test_p6_code_is_found(judge: Judge, answer: str) -> None:
    row = judge.judge(answer, 30)
    assert row.verdict is Verdict.SAME_OPTIMUM and row.extraction


def test_p7_data_files_and_models_that_are_only_written(judge: Judge) -> None:
    program = "import json\ncap = json.load(open('data.json'))['flour']\n" + BREAD.replace("10", "cap")
    for data in ({"data.json": '{"flour": 20}'}, {"flour": 20}, '{"flour": 20}'):
        assert judge.judge(fenced(program), 60, data).verdict is Verdict.SAME_OPTIMUM
    row = judge.judge(fenced(program), 60, {"meal": 20})
    assert (row.verdict, row.failure, row.exception) == (Verdict.ERROR, Failure.MISSING_KEY, "KeyError")
    row = judge.judge(fenced(program), 60)
    assert (row.verdict, row.failure) == (Verdict.ERROR, Failure.MISSING_FILE)
    row = judge.judge(fenced(BREAD.replace("m.solve()", "m.writeLP('model.lp')")), 30)
    assert (row.verdict, row.objective) == (Verdict.SAME_OPTIMUM, 30)


@pytest.mark.parametrize(("change", "label", "status"), [
    (("3 * rye + 2 * oat", "0 * rye - oat"), 0, "optimal"), (("<= 10", "<= -1"), "infeasible", "infeasible"),
    (("<= 10", ">= 10"), "unbounded", "unbounded"), (("<= 10", "<= -1"), "No Best Solution", "infeasible"), (("<= 10", ">= 10"), -99999, "unbounded"),
])
def test_p8_zero_infeasible_and_unbounded_are_ordinary(judge: Judge, change: tuple[str, str], label: Any, status: str) -> None:
    row = judge.judge(fenced(BREAD.replace(*change)), label)
    assert (row.verdict, row.status) == (Verdict.SAME_OPTIMUM, status), row
    assert judge.judge(fenced(BREAD.replace(*change)), 30).verdict is Verdict.WRONG_OPTIMUM


# ---- failures, told apart


@pytest.mark.parametrize(("answer", "failure", "words"), [
    (None, Failure.NO_CODE, "empty"), ("The optimum is 30.", Failure.NO_CODE, "no code"),
    (fenced(BREAD.replace("3 * rye", "3 rye")), Failure.SYNTAX, "line 5"),
    (fenced(BREAD.replace("m.solve()", "undefined")), Failure.EXCEPTION, "NameError"),
    (fenced("import pulp\nopen('/etc/passwd').read()\n"), Failure.FORBIDDEN, "forbidden"),
    (fenced("import pulp\nimport os\nos._exit(0)\n"), Failure.CRASH, "exit code 0"),
    (fenced("import pulp\nprint('x' * 2_000_000)\n"), Failure.OUTPUT, "printed more"),
])
def test_failures_of_the_answer(judge: Judge, answer: str | None, failure: Failure, words: str) -> None:
    row = judge.judge(answer, 30)
    assert (row.verdict, row.failure) == (Verdict.ERROR, failure), row
    assert words in row.reason and not any(row.rules.values()) and row.objective is None


def test_what_is_missing_here_is_no_fault_of_the_answer(judge: Judge) -> None:
    row = judge.judge(fenced("import xpress\nm = xpress.problem()\nm.solve()"), 30)
    assert (row.verdict, row.failure, row.rules) == (Verdict.UNDECIDED, Failure.LIBRARY, {})


def test_a_program_that_fails_after_its_solve_is_judged_by_its_model_unless_strict(judge: Judge) -> None:
    late = fenced(BREAD + "print(rye.solution)\n")
    row = judge.judge(late, 30)
    assert (row.verdict, row.failure, row.exception) == (Verdict.SAME_OPTIMUM, Failure.LATE_EXCEPTION, "AttributeError")
    assert "after its solve" in row.reason
    with Judge(strict=True, timeout=60) as strict:
        row = strict.judge(late, 30)
        assert (row.verdict, row.failure) == (Verdict.ERROR, Failure.EXCEPTION)
        assert strict.judge(fenced(BREAD), 30).verdict is Verdict.SAME_OPTIMUM


@pytest.mark.parametrize(("change", "label", "failure"), [
    (("LpMaximize", "LpMinimize"), 30, Failure.SENSE), (("3 * rye + 2 * oat", "3 * rye + 2 * oat + 5"), 30, Failure.CONSTANT),
    (("<= 10", "<= 10.5"), 30, Failure.INTEGRALITY),  # 31.5 with fractions, 30 with whole loaves
    (("<= 10", "<= 8"), 30, Failure.OTHER_OPTIMUM), (("<= 10", "<= -1"), 30, Failure.INFEASIBLE), (("<= 10", ">= 10"), 30, Failure.UNBOUNDED),
    (("3 * rye", "0 * rye"), "infeasible", Failure.HAS_OPTIMUM),
])
def test_suspicions(judge: Judge, change: tuple[str, str], label: Any, failure: Failure) -> None:
    program = BREAD.replace(*change)
    row = judge.judge(fenced(program), label)
    assert (row.verdict, row.failure) == (Verdict.WRONG_OPTIMUM, failure), row


# ---- references, order, rows


def test_a_reference_model_is_a_truth(judge: Judge) -> None:
    lp = "Maximize\n 3 r[1] + 2 o\nSubject To\n r[1] + 2 o <= 10\nBounds\n o <= 4\nEnd\n"
    row = judge.judge(fenced(BREAD), reference=lp)
    assert (row.verdict, row.truth, row.method, row.optimum) == (Verdict.EQUIVALENT, "30", "isomorphic", "SAME_OPTIMUM")
    mirrored = BREAD.replace("LpMaximize", "LpMinimize").replace("3 * rye + 2 * oat", "-3 * rye - 2 * oat")
    assert judge.judge(fenced(mirrored), reference=lp).verdict is Verdict.EQUIVALENT
    row = judge.judge(fenced(BREAD), reference=lp.replace("r[1] +", "[ r[1] ^2 ] +", 1))
    assert row.verdict is Verdict.UNDECIDED and "quadratic" in row.reason
    dropped = judge.judge(fenced(BREAD), reference=lp.replace("2 o\nSubject", "2 o + 7\nSubject"))
    assert (dropped.verdict, dropped.failure) == (Verdict.WRONG_OPTIMUM, Failure.CONSTANT)
    with Judge(timeout=60, rule="optimum") as other:
        row = other.judge(fenced(BREAD), reference=lp)
        assert (row.verdict, row.method) == (Verdict.SAME_OPTIMUM, "optimum")


BLEND = """
import json
import pyomo.environ as pyo
d = json.load(open("data.json"))
I, N = range(len(d["costs"])), range(len(d["nutritional_requirements"]))
m = pyo.ConcreteModel()
m.use = pyo.Var(I, within=pyo.NonNegativeReals, bounds=lambda m, i: (0, d["available_amounts"][i]))
m.cost = pyo.Objective(expr=sum(d["costs"][i] * m.use[i] for i in I))
m.nutrient = pyo.Constraint(N, rule=lambda m, n:
    sum(d["nutritional_content"][i][n] * m.use[i] for i in I) >= d["nutritional_requirements"][n])
m.impact = pyo.Constraint(expr=sum(d["environmental_impact"][i] * m.use[i] for i in I) <= d["max_environmental_impact"])
pyo.SolverFactory("gurobi").solve(m)
"""


@pytest.mark.skipif(not SHARED.is_dir(), reason="the Bench4Opt sample is not here")
def test_answers_to_bench4opt_are_judged_by_its_reference_models(judge: Judge, tmp_path: Path) -> None:
    """Problem 8 is a blend; the reference of 0 is infeasible, that of 32 quadratic."""
    least = BLEND.replace(">= d[\"nutri", ">= 0.9 * d[\"nutri")
    outputs = [{"index": 8, "response": [fenced(BLEND), fenced(least), fenced(BREAD)]}, {"index": "0", "response": fenced(BREAD)},
               {"index": 32, "response": fenced(BREAD)}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in outputs))
    rows = list(judge.judge_many(open_answers(path, preset="bench4opt", labels=SHARED / "benchmarks" / "bench4opt_sample")))
    assert [(r.index, r.sample, r.verdict) for r in rows] == [
        (8, 0, Verdict.EQUIVALENT), (8, 1, Verdict.WRONG_OPTIMUM), (8, 2, Verdict.WRONG_OPTIMUM), ("0", 0, Verdict.WRONG_OPTIMUM),
        (32, 0, Verdict.UNDECIDED)]
    assert rows[0].truth.startswith("175.3190") and rows[3].truth == "infeasible" and "quadratic" in rows[4].reason
    assert rows[0].benchmark == "bench4opt" and rows[0].library == "pyomo"


def test_rows_come_in_order_or_as_they_end_and_few_are_held(judge: Judge) -> None:
    slow = "import time\ntime.sleep(1)\n" + BREAD
    taken: list[int] = []

    def source() -> Iterator[Answer]:
        for k in range(12):
            taken.append(k)
            yield Answer(k, fenced(slow if k == 0 else BREAD), 30, position=k)

    rows = judge.judge_many(source())
    assert next(rows).index == 0 and len(taken) <= 9
    assert [r.index for r in rows] == list(range(1, 12))
    taken.clear()
    ended = [r.index for r in judge.judge_many(source(), ordered=False)]
    assert sorted(ended) == list(range(12)) and ended[0] != 0 and set(taken) == set(ended)


def test_closing_the_iterator_stops_reading(judge: Judge) -> None:
    rows = judge.judge_many(Answer(k, fenced(BREAD), 30) for k in range(10_000))
    assert next(rows).passed
    rows.close()  # type: ignore[attr-defined]
    assert judge.judge(fenced(BREAD), 30).passed


def test_a_row_says_everything_in_json(judge: Judge) -> None:
    answer = Answer("p7", fenced(BREAD), "30 EUR", 3, 11, "q", {}, "bench", "diet", "2")
    row = judge.judge_answer(answer)
    record = json.loads(row.line())
    assert row.line().count("\n") == 1
    assert {k: record[k] for k in ("index", "sample", "verdict", "failure", "objective", "status", "label", "truth", "library", "n_vars", "n_int",
                                   "n_rows", "solves", "isolation", "benchmark", "family", "level", "position", "extraction")} == {
        "index": "p7", "sample": 3, "verdict": "SAME_OPTIMUM", "failure": "", "objective": 30.0, "status": "optimal", "label": "30 EUR",
        "truth": "30", "library": "pulp", "n_vars": 2, "n_int": 0, "n_rows": 1, "solves": 1, "isolation": row.isolation, "benchmark": "bench",
        "family": "diet", "level": "2", "position": 11, "extraction": "fence 1 (python)"}
    assert record["seconds"] >= record["run_seconds"] > 0 and record["solve_seconds"] > 0
    assert {"orpipe", "highspy", "ortools", "pulp"} <= record["versions"].keys() and "1e-06" in record["tolerance"]
    assert record["rules"] == {"relative_1e-6": True, "rounded_5%": True} and record["evidence"]["checked"] == "label"


def test_labels_that_json_cannot_hold_are_written_as_text(judge: Judge) -> None:
    for label in (float("nan"), {1, 2}, np.float64(30), Fraction(30)):
        row = judge.judge("no code", label)
        assert isinstance(json.loads(row.line())["label"], (str, float, int))


def test_wrong_verdicts_rest_on_a_proof_or_on_two_families(judge: Judge) -> None:
    row = judge.judge(fenced(BREAD), 29)
    assert row.verdict is Verdict.WRONG_OPTIMUM
    assert row.evidence["checked"] == "exact" or (row.evidence["checked"] == "two families" and len(row.evidence["solvers"]) >= 2)


def test_a_basis_that_proves_nothing_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is wrong about an LP, its basis with it, is found out: two families decide."""
    problem = knapsack(integer=[False] * 3)
    result = settle(solver("highs"), problem)
    assert result.basis is not None
    poor = replace(result, objective=0.0, point=np.zeros(3), basis=Basis(np.full(3, At.LOWER, np.int8), np.zeros(1, np.int8)))
    monkeypatch.setattr("orpipe.verify.resolve._solve", lambda *_: poor)
    found = resolve(problem, Truth.of(9), Policy())
    assert found.objective == pytest.approx(32 / 3) and len(found.solvers) >= 2
    lying = replace(result, objective=10.0)
    monkeypatch.setattr("orpipe.verify.resolve._solve", lambda *_: lying)
    assert len(resolve(problem, Truth.of(9), Policy()).solvers) >= 2, "its basis is right, what it claims is not"


# ---- our own faults


def test_a_solving_process_that_dies_is_replaced(judge: Judge) -> None:
    assert judge.judge(fenced(BREAD), 30).passed
    for process in list(judge._ready().solvers._all):
        os.kill(process.process.pid, signal.SIGKILL)
    assert judge.judge(fenced(BREAD), 30).passed


def test_a_solve_without_end_is_stopped_from_outside_and_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    with Judge(timeout=30, solve_timeout=0.2) as judge:
        assert judge.judge(fenced(BREAD), 30).passed
        (process,) = judge._ready().solvers._all
        os.kill(process.process.pid, signal.SIGSTOP)  # hangs, as a solver may that does not look at its clock
        monkeypatch.setattr(judge._ready().solvers, "seconds", -1.4)  # 6 * -1.4 + 10: two seconds of patience
        row = judge.judge(fenced(BREAD), 30)
        assert (row.verdict, row.failure) == (Verdict.UNDECIDED, Failure.LIMIT)
        monkeypatch.undo()
        assert judge.judge(fenced(BREAD), 30).passed


def test_a_lost_sandbox_is_tried_again_and_then_undecided(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = Pool.submit, Counter[str]()

    def lossy(self: Pool, job: Any) -> Any:
        calls[job.program[:9]] += 1
        promise = real(self, job)
        if calls[job.program[:9]] <= lost:
            promise.result()
            promise._result = Run("sandbox", "the warm parent was lost")
        return promise

    monkeypatch.setattr(Pool, "submit", lossy)
    lost = 2
    assert judge.judge(fenced("# twice\n" + BREAD), 30).passed
    lost = 9
    row = judge.judge(fenced("# always\n" + BREAD), 30)
    assert (row.verdict, row.failure) == (Verdict.UNDECIDED, Failure.SANDBOX) and max(calls.values()) == 3


def test_an_internal_error_is_undecided(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "decide", lambda *_: 1 / 0)
    row = judge.judge(fenced(BREAD), 30)
    assert (row.verdict, row.failure) == (Verdict.UNDECIDED, Failure.INTERNAL) and "ZeroDivisionError" in row.reason


def test_full_isolation_is_demanded_before_and_checked_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "available_layers", lambda: (Layer("seccomp", "filter", False, "no kernel support"),))
    with pytest.raises(EnvironmentError_, match=r"seccomp \(no kernel support\)"):
        Judge(isolation="full")
    monkeypatch.setattr(judge_module, "available_layers", lambda: ())
    with Pool(without=["seccomp"]) as weak:
        with Judge(pool=weak, timeout=60) as best:
            assert "without" in (row := best.judge(fenced(BREAD), 30)).isolation and "seccomp" in row.isolation and row.passed
        with Judge(pool=weak, timeout=60, isolation="full") as full:
            row = full.judge(fenced(BREAD), 30)
            assert (row.verdict, row.failure) == (Verdict.UNDECIDED, Failure.ISOLATION)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"workers": 0}, "at least one worker"), ({"timeout": 0}, "timeout"), ({"solve_timeout": -1}, "solve timeout"),
    ({"tolerance": 2}, "relative"), ({"isolation": "some"}, "'best' or 'full'"),
])
def test_misuse_of_a_judge_is_one_line(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Judge(**arguments)


# ---- our own solve


def knapsack(**change: Any) -> Problem:
    arrays: dict[str, Any] = {"cost": [5, 4, 3], "matrix": np.array([[2.0, 3, 1]]), "row_lower": [-INF], "row_upper": [5], "lower": [0] * 3,
                              "upper": [1] * 3, "integer": [True] * 3, "maximize": True}
    return Problem.from_arrays(**(arrays | change))


def test_one_solver_and_the_label_or_an_exact_proof_or_two_families() -> None:
    """5 + 4 fill the sack: 9; relaxed, 5 + 3 + 4 * 2/3 = 10 2/3."""
    agreed = resolve(knapsack(), Truth.of(9), Policy())
    assert (agreed.objective, agreed.checked, len(agreed.solvers)) == (9, "label", 1)
    wrong = resolve(knapsack(), Truth.of(10), Policy())
    assert (wrong.objective, wrong.checked) == (9, "two families") and len(wrong.solvers) >= 2
    relaxed = resolve(knapsack(integer=[False] * 3), Truth.of(9), Policy())
    assert relaxed.hint is Failure.INTEGRALITY and relaxed.objective == pytest.approx(32 / 3)
    assert relaxed.checked == "exact" and len(relaxed.solvers) == 1, "an LP's basis is its own proof"
    assert resolve(knapsack(), Truth.of(32 / 3), Policy()).hint is Failure.INTEGRALITY
    assert resolve(knapsack(maximize=False), Truth.of(9), Policy()).hint is Failure.SENSE


def test_an_optimum_that_lives_on_tolerances_is_not_taken_from_one_solver() -> None:
    """x <= 1e9 * y with y = 1e-9 within a solver's integrality tolerance: free of charge only for a float."""
    problem = Problem.from_arrays(cost=[0, 7e3], matrix=np.array([[1, -1e9], [1.0, 0]]), row_lower=[-INF, 1], row_upper=[0, INF], lower=[0, 0],
                                  upper=[INF, 1], integer=[False, True])
    for claimed in (0, 7e-6, 7000):
        found = resolve(problem, Truth.of(claimed), Policy())
        assert found.status != "optimal" or found.objective == pytest.approx(7000)


def test_bounds_of_1e20_are_none() -> None:
    problem = knapsack(upper=[1e30, 1, 1], row_lower=[-1e25])
    assert without_giants(problem).upper[0] == INF and without_giants(problem).row_lower[0] == -INF
    assert resolve(knapsack(upper=[1e30, 1, 1], integer=[False] * 3), Truth.of(14), Policy()).objective == pytest.approx(13)  # 2 of 5, 1 of 3
    plain = knapsack()
    assert without_giants(plain) is plain


def test_a_reference_gives_value_sense_and_constant() -> None:
    truth = reference(knapsack(offset=2.5))
    assert ([v.number for v in truth.values], truth.maximize, truth.offset) == ([11.5], True, 2.5)
    assert reference(knapsack(row_upper=[-1])).statuses == {"infeasible"}


def test_limits_are_undecided() -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 100, (4, 30)).astype(float)  # market split
    half = np.floor(rows.sum(axis=1) / 2)
    slack = np.hstack([rows, np.eye(4), -np.eye(4)])
    problem = Problem.from_arrays(cost=[0] * 30 + [1] * 8, matrix=slack, row_lower=half, row_upper=half, lower=[0] * 38,
                                  upper=[1] * 30 + [INF] * 8, integer=[True] * 30 + [False] * 8)
    began = time.perf_counter()
    found = resolve(problem, Truth.of(123), Policy(), seconds=0.5)
    assert (found.status, found.failure) == ("", Failure.LIMIT) and time.perf_counter() - began < 20


def test_rows_are_plain_values() -> None:
    row = VerdictRow("a", 0, Verdict.SAME_OPTIMUM, "", objective=float("inf"))
    assert row.record()["objective"] == "inf" and row.passed


def submitted_at_once(judge: Judge, channel: Any) -> None:
    gate, machines = threading.Barrier(12), []

    def call() -> None:
        gate.wait()
        machine = judge._ready()
        machines.append((id(machine), machine.submit(judge._pool, judge_module.Job("")) is not None, id(judge._pool._pump)))

    threads = [threading.Thread(target=call) for _ in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    channel.send(len(set(machines)) == 1 and machines[0][1])
    judge.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_many_threads_that_call_first_after_a_fork_share_one_machine_and_one_pool() -> None:
    with Judge() as judge:
        assert judge.judge(fenced(BREAD), 30).passed
        judge._lock.acquire()  # as a thread of the parent may hold them at that moment
        judge._pool._lock.acquire()
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=submitted_at_once, args=(judge, theirs))
        process.start()
        judge._lock.release()
        judge._pool._lock.release()
        assert ours.poll(60) and ours.recv() is True
        process.join(30)
        assert process.exitcode == 0


def test_an_answer_under_way_does_not_open_a_closed_pool_again() -> None:
    judge = Judge()
    began = judge._ready()
    judge.close()
    row = judge._row(began, Answer(0, fenced(BREAD), 30))
    assert (row.verdict, row.failure) == (Verdict.UNDECIDED, Failure.SANDBOX) and "closed" in row.reason
    assert judge._pool._pump is None


@pytest.mark.parametrize(("program", "failure"), [
    ("import gurobipy as gp\nraise gp.GurobiError(10009, 'licence expired')", Failure.EXCEPTION),
    ("import gurobipy as gp\nclass GurobiError(Exception): pass\ndef f(): raise GurobiError('size-limited license')\nf()", Failure.EXCEPTION),
    ("import gurobipy as gp\nm = gp.Model()\nm.addVars(3000)\ngp.Model.optimize.__wrapped__(m)", Failure.LICENCE),
    ("import gurobipy as gp\nm = gp.Model()\nm.addVars(3000)\ntry: gp.Model.optimize.__wrapped__(m)\n"
     "except gp.GurobiError as e: raise gp.GurobiError(e.errno, f'failed: {e}')", Failure.LICENCE),
    ("import coptpy as cp\nraise cp.CoptError(4, '(LICENSE) of mine')", Failure.EXCEPTION),
])
def test_a_licence_error_is_ours_only_where_the_library_complains(judge: Judge, program: str, failure: Failure) -> None:
    pytest.importorskip(program.split()[1])
    row = judge.judge(fenced(program + "\nm.optimize()"), 1)
    assert row.failure is failure, row.reason
    assert row.verdict is (Verdict.ERROR if failure is Failure.EXCEPTION else Verdict.UNDECIDED)


def test_what_could_not_be_captured_is_told_even_if_the_program_fails_afterwards(judge: Judge) -> None:
    program = "import highspy, pyomo.environ as pyo\nm = pyo.ConcreteModel()\nm.x = pyo.Var(bounds=(1, 2))\n" \
              "m.c = pyo.Objective(expr=pyo.exp(m.x))\ntry: pyo.SolverFactory('ipopt').solve(m)\nexcept Exception: pass\nprint([][3])"
    row = judge.judge(fenced(program), 1)
    assert (row.verdict, row.failure, row.exception) == (Verdict.UNDECIDED, Failure.UNSUPPORTED, "IndexError")
    assert "not linear" in row.reason and "IndexError" in row.reason
    with Judge(timeout=60, strict=True, pool=judge._pool) as strict:
        row = strict.judge(fenced(program), 1)
    assert (row.verdict, row.failure) == (Verdict.ERROR, Failure.EXCEPTION)
