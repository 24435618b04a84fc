"""Bridges to PuLP and Pyomo: conformance, what is never believed, and names.  And the coverage table and the roles."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orpipe import roles
from orpipe.errors import EnvironmentError_, NotFound, ParseError
from orpipe.exact_lp import without_objective
from orpipe.problem import Problem
from orpipe.resources import reference
from orpipe.solve import Answer, Label, Outcome, Solver, label, settle, solver, solvers
from orpipe.testing import solver_coverage as table
from orpipe.testing.solver_suite import Case, cases, model
from orpipe_solvers._bridge import Plain, Said
from orpipe_solvers._pulp import Pulp

FILE = Path(__file__).with_name("solver_coverage.yaml")
REQUIRED = table.wanted(FILE)
BY_NAME = {case.name: case for case in cases()}


def reached(name: str) -> Solver:
    try:
        return solver(name)
    except EnvironmentError_ as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", sorted(set(REQUIRED) | set(solvers())))
def test_coverage_is_not_lost(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    adapter = reached(name)
    found = table.column(adapter)
    assert len(found) == len(BY_NAME) and table.lost(REQUIRED[name], found) == []
    assert capfd.readouterr() == ("", "")


BRIDGES = ("pulp:CBC", "pulp:HiGHS", "pyomo:highs")


@pytest.mark.parametrize("name", BRIDGES)
def test_a_time_limited_incumbent_is_a_limit_whatever_the_wrapper_says(name: str) -> None:
    found = reached(name).solve(BY_NAME["time_limit"].problem, time_limit=0.5)
    assert found.outcome is Outcome.LIMIT_WITH_INCUMBENT and found.point is not None and found.objective is not None


@pytest.mark.parametrize("name", [*BRIDGES, "pyomo:appsi_highs"])
def test_no_exception_on_an_infeasible_model(name: str) -> None:
    assert settle(reached(name), BY_NAME["infeasible_behind_presolve"].problem).outcome is Outcome.INFEASIBLE


def test_an_optimum_claimed_at_the_time_limit_is_an_incumbent(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = reached("pulp:HiGHS")
    monkeypatch.setattr("orpipe_solvers._bridge.time.perf_counter", iter(range(0, 100, 30)).__next__)
    found = bridge.run(BY_NAME["knapsack"].problem, 20.0, None, None)
    assert found.outcome is Outcome.LIMIT_WITH_INCUMBENT and found.objective == 20 and "at the time limit" in found.message


def test_a_wrapper_that_raises_is_an_error_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = reached("pulp:HiGHS")

    def broken(*_: object) -> None:
        raise RuntimeError("licence\nexpired")

    monkeypatch.setattr(type(bridge), "call", broken)
    found = bridge.run(BY_NAME["knapsack"].problem, 20.0, None, None)
    assert (found.outcome, found.message) == (Outcome.ERROR, "RuntimeError: licence expired")


def test_glpk_is_given_whole_seconds_and_nothing_found_in_time_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """glpsol refuses "--tmlim 0.3", and PuLP calls what it has not decided Undefined."""
    bridge, given = Pulp("GLPK_CMD", "GLPK"), []

    def call(self: Pulp, plain: Plain, time_limit: float, options: object) -> Said:
        given.append(time_limit)
        return Said(Outcome.INFEASIBLE_OR_UNBOUNDED, message="Undefined")

    monkeypatch.setattr(Pulp, "call", call)
    problem = without_objective(BY_NAME["knapsack"].problem)
    assert bridge.solve(problem, time_limit=0.3).outcome is Outcome.INFEASIBLE and given == [1] and isinstance(given[0], int)
    monkeypatch.setattr("orpipe_solvers._bridge.time.perf_counter", iter(range(0, 100, 30)).__next__)
    assert bridge.run(problem, 20.0, None, None).outcome is Outcome.LIMIT and given == [1, 20]


def test_direct_solvers_of_pyomo_mind_the_time_limit() -> None:
    began = time.monotonic()
    found = reached("pyomo:gurobi_direct").solve(BY_NAME["time_limit_no_incumbent"].problem, time_limit=0.3)
    assert found.outcome.limited and time.monotonic() - began < 20  # minutes without


def test_names_never_cross_a_bridge() -> None:
    odd = ("x+", "x-", "x[0 , é]")
    for name in BRIDGES:
        base = model([1, 2, 4], [(3, {0: 1, 1: 1}, None), (2, {1: 1, 2: 1}, None)], [(0, 2), (0, 1), (0, 9)])
        problem = Problem.from_arrays(cost=base.cost, matrix=base.matrix, row_lower=base.row_lower, row_upper=base.row_upper, lower=base.lower,
                                      upper=base.upper, integer=base.integer, columns=odd, rows=["a b", "a_b"])
        found = reached(name).solve(problem)
        assert found.outcome is Outcome.OPTIMAL and found.point is not None and found.point.tolist() == [2, 1, 1]


def test_numbers_that_a_text_would_round_are_refused() -> None:
    third = model([1], [(None, {0: "0.3333333333333333"}, 1)])
    assert "more than the 12 digits that pulp writes" in (reached("pulp:CBC").accepts(third) or "")
    assert reached("pulp:HiGHS").accepts(third) is None


def test_a_column_that_stands_nowhere_keeps_a_value_inside_its_bounds() -> None:
    problem = without_objective(model([1, 1], [(1, {1: 1}, None)], [(3, 7), (0, 5)]))
    for name in BRIDGES:
        found = reached(name).solve(problem)
        assert found.outcome is Outcome.OPTIMAL and found.point is not None and 3 <= found.point[0] <= 7


def test_unknown_and_absent_solvers_are_told_apart() -> None:
    with pytest.raises(NotFound, match="no bridge 'pulpp'; did you mean 'pulp'"):
        solver("pulpp:CBC")
    with pytest.raises(NotFound, match="no solver of PuLP 'CBD'"):
        solver("pulp:CBD")
    with pytest.raises(NotFound, match="no solver of Pyomo 'gurobii'; did you mean 'gurobi'"):
        solver("pyomo:gurobii")
    for absent in ("pyomo:baron", "pulp:CHOCO_CMD"):
        with pytest.raises(EnvironmentError_, match=f"{absent} is not installed here; install it"):
            solver(absent)


def test_bridges_share_the_family_of_their_engine() -> None:
    assert reached("pulp:HiGHS").family == reached("pyomo:highs").family == solver("highs").family
    assert reached("pulp:CBC").family == "cbc" and reached("pulp:CBC").witness
    found = label(BY_NAME["knapsack"].problem, policy={"BIP": ("highs", "pulp:HiGHS", "pulp:CBC")})
    assert isinstance(found, Label) and [r.solver for r in found.results] == ["highs", "pulp:HiGHS", "pulp:CBC"]


def test_an_engine_without_known_settings_takes_no_integers_and_is_no_witness() -> None:
    from orpipe_solvers._pulp import Pulp

    stranger = Pulp("CHOCO_CMD", "CHOCO_CMD")
    assert not stranger.witness and "zero gap" in (stranger.accepts(BY_NAME["knapsack"].problem) or "")


def test_pulp_first_then_everything_else_in_one_process() -> None:
    code = """
from orpipe.solve import solver
from orpipe.testing.solver_suite import cases
p = {c.name: c.problem for c in cases()}["knapsack"]
names = ["pulp:HiGHS", "pulp:CBC", "scip", "cpsat", "highs", "pyomo:highs"]
print([solver(n).solve(p).objective for n in names])
import os, signal
child = os.fork()
if child == 0:
    signal.alarm(20)
    solver("pulp:HiGHS").solve(p)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False,
                          env={"PYTHONPATH": ":".join(sys.path)})
    assert (done.stdout, done.returncode) == (f"{[20.0] * 6}\n0\n", 0), done.stderr


# ---- the table


class Stubborn(Solver):
    name, family, package = "stubborn", "stubborn", "highspy"

    def accepts(self, problem: Problem) -> str | None:
        return "integer columns" if problem.integer.any() else None

    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        return Answer(Outcome.INFEASIBLE)


def test_the_table_notices_what_is_lost() -> None:
    some: list[Case] = [BY_NAME[k] for k in ("lp_textbook", "infeasible_rows", "knapsack", "unbounded_ray")]
    adapter = Stubborn()
    adapter.deviations = {"unbounded_ray": "says infeasible", "infeasible_rows": "none any more"}
    found = table.column(adapter, some)
    assert found == {"lp_textbook": "fail", "infeasible_rows": "fixed", "knapsack": "refused", "unbounded_ray": "known"}
    assert table.lost(["knapsack"], found) == ["lp_textbook: fail", "infeasible_rows: fixed", "knapsack: refused"]


def test_the_table_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "cases", lambda: (BY_NAME["lp_textbook"], BY_NAME["big_m"]))
    monkeypatch.setattr(table, "solvers", lambda: {"glop": solver("glop")})
    monkeypatch.setattr(table, "wanted", lambda path: {"glop": ("lp_textbook",), "pyomo:baron": ("big_m",)})
    ran = CliRunner().invoke(table.app, [])
    assert ran.exit_code == 0 and "not installed" in ran.output and "refused" in ran.output
    monkeypatch.setattr(table, "wanted", lambda path: {"glop": ("big_m",)})
    ran = CliRunner().invoke(table.app, [])
    assert ran.exit_code == 1 and "glop: big_m: refused" in ran.output


def test_the_coverage_file_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "coverage.yaml"
    path.write_text(table.written({n: {c: "pass" if c in REQUIRED[n] else "refused" for c in BY_NAME} for n in REQUIRED}), "utf-8")
    assert table.wanted(path) == REQUIRED and path.read_text("utf-8") == FILE.read_text("utf-8")
    path.write_text("highs: [lp_textbok]\n", "utf-8")
    with pytest.raises(ParseError, match="highs: no case 'lp_textbok'"):
        table.wanted(path)


# ---- roles


def test_roles_know_kind_and_size() -> None:
    lp = BY_NAME["lp_textbook"].problem
    assert roles.asked(lp) == ("highs", "glop", "scip")
    wide = model([1] * 20001, [])
    assert roles.asked(wide) == ("highs", "glop")
    known = set(solvers())
    assert all(name in known for role in roles.roles().roles for name in role.ask) and set(roles.roles().vertex) <= known
    assert solver("scip").settings["limits/gap"] == 0 and set(roles.roles().settings) <= known


@pytest.mark.parametrize(("change", "words"), [
    (("kind: MILP, ask", "kind: MLP, ask"), "roles.2.kind: no kind 'MLP'; did you mean 'MILP'?"),
    (("{kind: MILP, ask", "{kinds: MILP, ask"), "roles.2: 'kind' is missing"),
    (("up_to: 20000", "upto: 20000"), "roles.0: no setting 'upto'; did you mean 'up_to'?"),
    (("nodes: maxNodes", "node: maxNodes"), "engines.0: no setting 'node'; did you mean 'nodes'?"),
    (("settings:\n", "setings:\n"), "'settings' is missing"),
    (("{kind: BIP, ask", "{kind: BIP, up_to: 9, ask"), "no role for BIP of any size"),
    (("{kind: LP, ask", "{kind: LP, up_to: 5, ask"), "no role for LP of any size"),
    (("ask: [highs, scip]", "ask: [highs]"), "roles.2.ask: Tuple should have at least 2 items"),
    (("vertex: [", "vertexes: ["), "'vertex' is missing"),
    (("roles:", "roles: ["), "solvers.yaml: while parsing"),
])
def test_a_wrong_roles_file_is_one_clear_line(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    text = (reference() / roles.FILE).read_text("utf-8")
    assert text.count(change[0]) == 1
    (tmp_path / roles.FILE).write_text(text.replace(*change), "utf-8")
    with pytest.raises(ParseError) as caught:
        roles.read(tmp_path / roles.FILE)
    assert words in str(caught.value) and "\n" not in str(caught.value)
