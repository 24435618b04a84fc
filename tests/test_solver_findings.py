"""What the random corpus found, kept with its right answer; and the corpus itself, in small."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import orpipe.solve as solve_module
from orpipe.errors import UsageError
from orpipe.exact_lp import fixed, recession, vertex, without_objective
from orpipe.model_files import read_model
from orpipe.mps import read_mps
from orpipe.problem import Problem
from orpipe.proof.search import basic
from orpipe.resources import reference
from orpipe.solve import Label, Outcome, Refusal, Result, label, settle, solver
from orpipe.testing import bench_solvers as bench
from orpipe.testing.solver_suite import model
from orpipe.unbounded import escape

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


# ---- both witnesses wrong together, and points that no solver finds


def knapsack() -> Problem:
    """Weights 5, 4, 3 into 7, values 9, 7, 4: the two light ones fill it and are worth 11; the heavy one, worth 9, fits alone."""
    return model([9, 7, 4], [(None, {0: 5, 1: 4, 2: 3}, 7)], [(0, 1)] * 3, integer="all", maximize=True)


@pytest.mark.parametrize("claimed", [(0, 1, 0), (1, 0, 0), (0, 0, 1)])
def test_two_families_that_agree_on_a_worse_point_make_no_label(claimed: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    problem = knapsack()
    point = np.array(claimed, float)
    value = float(problem.objective([Fraction(v) for v in claimed]))

    def doctored(adapter, problem, time_limit=60.0, nodes=None, start=None):  # type: ignore[no-untyped-def]
        return Result(solver=adapter.name, family=adapter.family, version="0", outcome=Outcome.OPTIMAL, objective=value, point=point,
                      seconds=0.0, message="", settings={})

    monkeypatch.setattr(solve_module, "settle", doctored)
    found = label(problem)
    assert isinstance(found, Refusal) and found.reason == "disagreement" and "a point of objective 11 is better" in found.detail
    assert len({r.family for r in found.results}) == 2


def test_the_look_keeps_silent_about_the_true_optimum_and_about_what_it_does_not_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(found := label(knapsack()), Label) and found.objective_exact == 11
    monkeypatch.setattr(solve_module, "_LOOK_OPTIMAL", 0)
    assert isinstance(found := label(knapsack()), Label) and found.objective_exact == 11
    monkeypatch.setattr(solve_module, "_LOOK_COLUMNS", 2)
    monkeypatch.setattr(solve_module, "_LOOK_OPTIMAL", 60)
    assert isinstance(found := label(knapsack()), Label) and found.objective_exact == 11


def test_whole_points_far_along_a_ray() -> None:
    """3 x = 5 y + 1, x + y <= 100 z, all whole and at least 7: x = 7, y = 4 solves the equality, 5 and 3 lead on."""
    problem = model([-1, 0, 0], [(1, {0: 3, 1: -5}, 1), (None, {0: 1, 1: 1, 2: -100}, 0)], [(7, None)] * 3, integer="all")
    found = escape(problem, basic)
    assert found is not None
    point, ray = found
    assert not problem.violations(point) and 3 * ray[0] == 5 * ray[1] and ray[0] > 0
    even = model([-1, 0], [(1, {0: 2, 1: -4}, 1)], [(0, None)] * 2, integer="all")
    assert escape(even, basic) is None  # a ray, but 2 x - 4 y is never odd
    assert escape(model([1, 0], [(1, {0: 2, 1: -4}, 1)], [(0, None)] * 2, integer="all"), basic) is None  # no ray that improves


def test_a_continuous_column_is_settled_after_the_whole_ones() -> None:
    problem = model([-1, 0, 1], [(0, {0: 7, 1: -9}, 0), (2, {2: 4, 0: 1}, None), (None, {2: 1, 0: -1}, 0)], [(3, None), (0, None), (1, None)],
                    integer=[True, True, False])
    found = escape(problem, basic)
    assert found is not None and not problem.violations(found[0])


def test_the_proof_of_unboundedness_replaces_the_second_solve() -> None:
    problem = read_model(FOLDER / "f12_whole_points_far_along_a_ray.lp")
    began = time.process_time()
    found = label(problem)
    assert isinstance(found, Label) and (found.status, found.proof) == ("unbounded", "exact") and found.point is not None
    assert not problem.violations(found.point) and time.process_time() - began < 20
