"""What the random corpus found, kept with its right answer; and the corpus itself, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orpipe.errors import UsageError
from orpipe.exact_lp import fixed, recession, vertex, without_objective
from orpipe.mps import read_mps
from orpipe.problem import Problem
from orpipe.resources import reference
from orpipe.solve import Label, Outcome, Refusal, label, settle, solver
from orpipe.testing import bench_solvers as bench

FOLDER = Path(str(reference())) / "regressions"


def finding(name: str) -> Problem:
    case = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return read_mps((FOLDER / case["file"]).read_text("utf-8"))


UNBOUNDED = "f01_unbounded_called_infeasible"


def test_two_witnesses_that_disagree_make_no_label_of_a_falsehood() -> None:
    found = label(finding(UNBOUNDED))
    assert (isinstance(found, Label) and found.status == "unbounded") or (isinstance(found, Refusal) and found.reason == "disagreement")


@pytest.mark.parametrize("name", ["highs", pytest.param("scip", marks=pytest.mark.xfail(
    strict=True, reason="SCIP of OR-Tools 9.15 calls free integer columns on equality rows infeasible"))])
def test_the_unbounded_one_by_solver(name: str) -> None:
    assert settle(solver(name), finding(UNBOUNDED)).outcome is Outcome.UNBOUNDED


def test_it_is_unbounded_by_hand_of_exact_arithmetic() -> None:
    problem = finding(UNBOUNDED)
    point = solver("highs").solve(without_objective(problem)).point
    assert point is not None
    whole = [round(v) if k else None for v, k in zip(point.tolist(), problem.integer.tolist(), strict=True)]
    rest = fixed(without_objective(problem), [v or 0 for v in whole])
    basis = solver("highs").solve(rest).basis
    assert basis is not None and (at := vertex(rest, basis)) is not None and not problem.violations(at.point)
    ray = recession(problem)
    basis = solver("highs").solve(ray).basis
    assert basis is not None and (along := vertex(ray, basis)) is not None and along.optimal and along.objective > 0


@pytest.mark.parametrize(("name", "wrong", "reason"), [
    ("f02_presolve_called_it_infeasible", "highs", "HiGHS 1.16 presolve calls an LP with wide coefficients infeasible"),
    ("f03_dual_trouble_called_infeasible", "glop", "GLOP calls an LP with wide coefficients infeasible"),
])
def test_an_lp_with_an_exact_optimum_is_never_labelled_otherwise(name: str, wrong: str, reason: str, request: pytest.FixtureRequest) -> None:
    problem = finding(name)
    basis = solver("highs_plain").solve(problem).basis
    assert basis is not None and (exact := vertex(problem, basis)) is not None and exact.optimal
    found = label(problem)
    assert (isinstance(found, Label) and found.objective_exact == exact.objective) or (isinstance(found, Refusal) and found.reason == "disagreement")
    request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    assert settle(solver(wrong), problem).outcome is Outcome.OPTIMAL


def test_two_families_that_overlook_the_same_point_make_no_label() -> None:
    found = label(finding("f04_two_families_overlook_a_point"))
    assert isinstance(found, Refusal) and found.reason == "disagreement" and "a feasible point exists in exact arithmetic" in found.detail
    assert {r.outcome for r in found.results} == {Outcome.INFEASIBLE} and len({r.family for r in found.results}) == 2


# ---- the corpus


def test_problems_of_a_seed_are_the_same_and_the_nasty_ones_are_nasty() -> None:
    assert bench.problem(4, 7, True).difference(bench.problem(4, 7, True)) is None
    assert bench.problem(4, 7, True).difference(bench.problem(5, 7, True)) is not None
    lps = [bench.problem(4, k, False) for k in range(24)]
    assert all(p.kind == "LP" for p in lps) and all(bench.problem(4, k, True).integer.any() for k in range(24))
    outcomes = {settle(solver("highs"), p).outcome for p in lps}
    assert outcomes == {Outcome.OPTIMAL, Outcome.INFEASIBLE, Outcome.UNBOUNDED}
    assert all(settle(solver("highs"), p).outcome is Outcome.OPTIMAL for p in lps[::2])


def test_a_wrong_solver_and_a_wrong_label_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    p = bench.problem(4, 0, False)
    true = bench.trial(p, ["highs", "glop"])
    assert (true.label, true.proof, true.wrong, true.disagreement) == ("optimal", "certificate", [], False)
    real = bench.settle

    def lying(adapter, problem, seconds):  # type: ignore[no-untyped-def]
        found = real(adapter, problem, seconds)
        return replace(found, objective=(found.objective or 0) + 1) if adapter.name == "glop" else found

    monkeypatch.setattr(bench, "settle", lying)
    told = bench.trial(p, ["highs", "glop"])
    assert (told.proof, told.wrong, told.disagreement) == ("certificate", ["glop"], True) and "glop: optimal" in told.detail

    q = bench.problem(4, 0, True)
    good = label(q)
    assert isinstance(good, Label) and good.point is not None
    monkeypatch.setattr(bench, "label", lambda *_: Label("infeasible", None, None, None, "agreement", good.results))
    wrong = bench.trial(q, ["highs"])
    assert wrong.proof == "refuted" and bench.summary("MILP", [true, wrong]).wrong_labels == 1


def test_the_command_counts_and_writes_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "solvers.md").write_text(f"a\n{bench.START}\nold\n{bench.END}\nb\n", "utf-8")
    monkeypatch.setattr(bench, "checkout", lambda name: tmp_path)
    ran = CliRunner().invoke(bench.app, ["--n", "6", "--update-docs", "--json"])
    assert ran.exit_code == 0, ran.output
    lp, milp = json.loads(ran.stdout)
    for s in (lp, milp):
        assert sum(s["labels"].values()) + sum(s["refused"].values()) == 6 and s["wrong_labels"] == 0
        assert sum(s["outcomes"]["highs"].values()) == 6
    assert lp["certified"] == 1.0
    text = (tmp_path / "solvers.md").read_text("utf-8")
    assert text.startswith("a\n<!-- corpus") and text.endswith("/corpus -->\nb\n") and "old" not in text and "| highs | LP | 6 |" in text
    (tmp_path / "solvers.md").write_text("nothing", "utf-8")
    ran = CliRunner().invoke(bench.app, ["--n", "6", "--update-docs"])
    assert isinstance(ran.exception, UsageError)
