"""The model that each library holds is taken exactly; a program is replayed against its Problem and label."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orpipe.errors import ParseError
from orpipe.problem import Problem
from orpipe.verify.capture import Captured, announced, discover
from orpipe.verify.replay import Script, as_problem, printed, replay, replay_many
from orpipe.verify.sandbox import Limits, Pool

PROGRAMS = Path(__file__).parent / "programs"
INF = np.inf


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(workers=2, limits=Limits(seconds=60)) as made:
        yield made


def text(name: str) -> str:
    return (PROGRAMS / f"{name}.py").read_text()


def plan(split: bool = False, **change: Any) -> Problem:
    """Worked by hand: oak = 5 (2*5 + 0.1*elm <= 11.3), elm = 7; hire = 11 - buy, and hire - elm <= 4.5 leaves buy = 0
    with hire = 11: 15.5 + 14 - 5.5 + 10.25 = 34.25."""
    drift = [0, -1, 1, 0]
    rows = [[1, 1, -1, -1], drift, [2, 0.1, 0, 0]] + ([drift] if split else [])
    arrays: dict[str, Any] = {
        "name": "plan", "maximize": True, "offset": 10.25, "columns": ["make[oak]", "make[elm]", "hire", "buy"],
        "cost": [3.1, 2, -0.5, -1.2], "lower": [0, 0, -INF, 0], "upper": [7, 7, INF, 12.5],
        "integer": [True, True, False, False], "matrix": np.array(rows, float),
        "row_lower": [1, -3, -INF] + ([-INF] if split else []), "row_upper": [1, INF if split else 4.5, 11.3, 4.5][:len(rows)],
    }
    return Problem.from_arrays(**(arrays | change))


CREW = Problem.from_arrays(
    maximize=True, offset=-6, columns=["early", "late", "night", "spare"], cost=[5, 4, 3, 2], lower=[0] * 4,
    upper=[9, 9, 1, 1], integer=[True] * 4,
    matrix=np.array([[2, 3, 0, 0], [1, -1, 0, 0], [1, 1, 4, 0], [0, 0, 1, -1]], float), row_lower=[7, 1, -INF, 0],
    row_upper=[30, 1, 12, INF],
)

SHIP = {
    "depots": ["N", "S"], "shops": ["a", "b"], "stock": {"N": 7.5, "S": 6}, "need": {"a": 4.25, "b": 8},
    "cost": {"N": {"a": 1.1, "b": 3}, "S": {"a": 2, "b": 0.7}},
}


def ship(need_b: float = 8) -> Problem:
    """S serves b with its 6 at 0.7; N serves a (4.25 at 1.1) and the other 2 of b at 3: 4.2 + 4.675 + 6 = 14.875."""
    return Problem.from_arrays(
        columns=["x[N,a]", "x[N,b]", "x[S,a]", "x[S,b]"], cost=[1.1, 3, 2, 0.7], lower=[0] * 4, upper=[INF] * 4,
        integer=[False] * 4, matrix=np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], float),
        row_lower=[-INF, -INF, 4.25, need_b], row_upper=[7.5, 6, INF, INF],
    )


PLANS = ["pyomo_plan", "pulp_plan", "model_builder_plan", "pywraplp_plan", "mathopt_plan", "highspy_plan"]
SHIPS = ["pyomo_ship", "pulp_ship", "model_builder_ship", "highspy_ship"]


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_with_every_kind_of_bound_and_row_is_captured(pool: Pool, name: str) -> None:
    replayed = replay(pool, text(name), {}, plan(split=name.startswith("pulp")), 34.25)
    assert replayed.passed, (replayed.reason, replayed.run)
    library = name.removesuffix("_plan")
    assert replayed.run.n_solves == 1
    assert replayed.run.library == (library if library in ("pyomo", "pulp", "highspy") else "ortools")


def test_cp_sat_rows_and_clauses_are_captured(pool: Pool) -> None:
    # early = late + 1; hours: 5*late + 2 <= 30 gives late = 5, early = 6: with night 6 + 5 + 4 > 12, so late = 3 with
    # night (20 + 12 + 3 + 2 - 6 = 31) or late = 5 without night and spare: 30 + 20 - 6 = 44.
    replayed = replay(pool, text("cp_sat_crew"), {}, CREW, 44)
    assert replayed.passed, (replayed.reason, replayed.run)


@pytest.mark.parametrize("name", SHIPS)
def test_a_program_that_reads_its_data_is_captured_and_its_optimum_read(pool: Pool, name: str) -> None:
    replayed = replay(pool, text(name), {"data.json": json.dumps(SHIP)}, ship(), 14.875)
    assert replayed.passed, (replayed.reason, replayed.run)


@pytest.mark.parametrize("name", SHIPS)
def test_an_infeasible_program_says_so(pool: Pool, name: str) -> None:
    data = SHIP | {"need": {"a": 4.25, "b": 80}}
    replayed = replay(pool, text(name), {"data.json": json.dumps(data)}, ship(80), status="infeasible")
    assert replayed.passed, (replayed.reason, replayed.run)


@pytest.mark.parametrize(("change", "words"), [
    ({"maximize": False}, "objective coefficient of 'make[oak]'"),
    ({"offset": 10}, "constant"),
    ({"lower": [0, 0, 0, 0]}, "lower bound of 'hire'"),
    ({"upper": [7, 6, INF, 12.5]}, "upper bound of 'make[elm]'"),
    ({"integer": [True, False, False, False]}, "integrality of 'make[elm]'"),
    ({"row_upper": [1, 4.5, 11.30001]}, "row"),
    ({"row_lower": [1, -INF, -INF]}, "row 'drift'"),
    ({"columns": ["make[oak]", "make[fir]", "hire", "buy"]}, "make_fir"),
])
def test_each_departure_from_the_problem_is_seen(pool: Pool, change: dict[str, Any], words: str) -> None:
    replayed = replay(pool, text("pyomo_plan"), {}, plan(**change), 34.25)
    assert replayed.stage == "model" and words in replayed.reason


def test_a_wrong_label_a_missing_line_and_a_failing_program_are_told_apart(pool: Pool) -> None:
    silent = text("highspy_plan").replace("optimal_value", "answer")
    fails = text("highspy_plan").replace('print("optimal_value =', 'print(1 / 0, "optimal_value =')
    found = replay_many(pool, [
        Script(text("highspy_plan"), plan(), 34.26), Script(silent, plan(), 34.25), Script(fails, plan(), 34.25),
        Script("print('optimal_value = 34.25')", plan(), 34.25), Script(text("highspy_plan"), plan(), status="infeasible"),
        Script(text("highspy_plan"), plan(), 34.25),
    ])
    assert [f.stage for f in found] == ["printed", "printed", "run", "run", "printed", "passed"]
    assert found[0].reason == "printed the optimum 34.25 instead of 34.26"
    assert found[1].reason == "no result line was printed"
    assert found[2].reason == "exception: ZeroDivisionError: division by zero" and found[2].run.captured is not None
    assert found[3].run.outcome == "no model"
    assert found[4].reason == "printed optimal instead of infeasible"


def test_the_last_solved_state_counts(pool: Pool) -> None:
    run = pool.run("""
import highspy
def build(cap):
    h = highspy.Highs(); h.setOptionValue("output_flag", False)
    x = h.addVariable(lb=0, ub=9, name="x"); h.addConstr(x <= cap, name="cap")
    return h, x
first, x = build(3); other, _ = build(5)
first.maximize(x); first.addConstr(x <= 2.5, name="cut"); first.maximize(x); first.run()
""")
    assert run.outcome == "ok" and run.n_solves == 3 and run.captured is not None
    assert run.captured.rows == ("cap", "cut") and run.captured.row_upper.tolist() == [3, 2.5]


def test_the_model_is_captured_before_an_infeasible_solve_raises(pool: Pool) -> None:
    for solver in ("appsi_highs", "highs"):
        run = pool.run(f"""
import pyomo.environ as pyo
m = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(0, 1)); m.o = pyo.Objective(expr=m.x)
m.c = pyo.Constraint(expr=m.x >= 2)
pyo.SolverFactory("{solver}").solve(m)
""")
        assert run.outcome == "exception" and run.exception in ("RuntimeError", "NoFeasibleSolutionError"), run
        assert run.captured is not None and run.captured.row_lower.tolist() == [2]


def test_names_that_a_library_makes_equal_stay_two_variables(pool: Pool) -> None:
    run = pool.run("""
import pulp
m = pulp.LpProblem("t", pulp.LpMaximize)
a, b = pulp.LpVariable("x+", 0, 4), pulp.LpVariable("x-", 0, 5)
m += a + 2 * b; m += a + b <= 6
m.solve(); print("optimal_value =", pulp.value(m.objective))
""")
    assert run.outcome == "ok" and run.captured is not None and len(set(run.captured.columns)) == 2
    assert run.captured.upper.tolist() == [4, 5] and "optimal_value = 11.0" in run.stdout


def test_pulp_tells_unbounded_from_infeasible(pool: Pool) -> None:
    run = pool.run("""
import pulp
m = pulp.LpProblem("t", pulp.LpMaximize)
a, b = pulp.LpVariable("a", 0, cat="Integer"), pulp.LpVariable("b", 0)
m += a + b; m += a - b <= 3
m.solve(); print("status =", pulp.LpStatus[m.status])
""")
    assert printed(run.stdout).status == "unbounded"


def test_fixed_variables_and_products_with_them(pool: Pool) -> None:
    run = pool.run("""
import pyomo.environ as pyo
m = pyo.ConcreteModel(); m.x = pyo.Var(["a", "b"], bounds=(0, 9)); m.y = pyo.Var(bounds=(0, 8))
m.o = pyo.Objective(expr=m.x["a"] + m.y, sense=pyo.maximize)
m.x["b"].fix(2)
m.c = pyo.Constraint(expr=m.x["a"] + m.x["b"] <= 5)
m.d = pyo.Constraint(expr=m.x["b"] * m.y <= 6)
pyo.SolverFactory("cbc").solve(m); print("optimal_value =", pyo.value(m.o), m.x["b"].fixed)
""")
    assert run.outcome == "ok" and run.captured is not None and "optimal_value = 6.0 True" in run.stdout, run
    model = run.captured.problem()
    assert model.columns == ("x[a]", "x[b]", "y") and model.lower.tolist() == [0, 2, 0] and model.upper.tolist() == [9, 2, 8]
    assert model.matrix.toarray().tolist() == [[1, 1, 0], [0, 0, 2]] and model.row_upper.tolist() == [5, 6]


UNSUPPORTED = {
    "quadratic objective": """
import highspy, numpy as np
h = highspy.Highs(); h.setOptionValue("output_flag", False); h.addVariable(lb=0, ub=1, name="x")
h.passHessian(1, 1, 1, np.array([0, 1], np.int32), np.array([0], np.int32), np.array([2.0])); h.run()
""",
    "'c' is not linear": """
import pyomo.environ as pyo
m = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(0, 1)); m.o = pyo.Objective(expr=m.x); m.c = pyo.Constraint(expr=m.x**2 <= 1)
try: pyo.SolverFactory("gurobi").solve(m)
except Exception: pass
""",
    "special ordered sets": """
import pulp
m = pulp.LpProblem("t"); x = pulp.LpVariable.dicts("x", range(3), 0, 1); m += pulp.lpSum(x.values())
m.sos1["s"] = {x[i]: i for i in range(3)}; m.solve()
""",
    "constraints that are not linear": """
from ortools.linear_solver.python import model_builder
m = model_builder.Model(); x = m.new_num_var(0, 9, "x"); b = m.new_bool_var("b")
m.add(x <= 8); m.add_enforced(x <= 2, b, True); m.maximize(x); model_builder.Solver("scip").solve(m)
""",
    "inverse constraint 'pick' is not linear": """
from ortools.sat.python import cp_model
m = cp_model.CpModel(); x = [m.new_int_var(0, 3, f"x{i}") for i in range(3)]
m.add_inverse(x, x[::-1]).with_name("pick"); m.maximize(sum(x)); cp_model.CpSolver().solve(m)
""",
    "indicator constraints": """
from ortools.math_opt.python import mathopt
m = mathopt.Model(); x = m.add_variable(lb=0, ub=9); b = m.add_binary_variable()
m.add_indicator_constraint(indicator=b, implied_constraint=x <= 2); m.maximize(x); mathopt.solve(m, mathopt.SolverType.GSCIP)
""",
}


@pytest.mark.parametrize("words", UNSUPPORTED)
def test_what_is_not_a_linear_model_is_named_and_never_rounded(pool: Pool, words: str) -> None:
    run = pool.run(UNSUPPORTED[words])
    assert run.outcome == "unsupported" and run.captured is None and words in run.message, run


ENTRIES = {
    "pyomo": """
import pyomo.environ as pyo
from pyomo.contrib.appsi.solvers import Highs
m = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(0, 3)); m.o = pyo.Objective(expr=m.x, sense=pyo.maximize)
Highs().solve(m)
for name in ("appsi_highs", "highs", "gurobi", "ipopt", "no such solver"):
    s = pyo.SolverFactory(name); s.options["anything"] = 1 if "highs" not in name else None; s.options.clear()
    assert s.available()
    s.solve(m, tee=False); assert pyo.value(m.x) == 3
p = pyo.SolverFactory("gurobi_persistent"); p.set_instance(m); p.solve()
""",
    "pulp": """
import pulp
m = pulp.LpProblem("t", pulp.LpMaximize); x = pulp.LpVariable("x", 0, 3); m += x
for s in (None, pulp.PULP_CBC_CMD(msg=0), pulp.GLPK_CMD(), pulp.HiGHS(threads=2), pulp.getSolver("PULP_CBC_CMD", timeLimit=9)):
    assert m.solve(s) == 1 and x.varValue == 3
pulp.GUROBI(msg=False).solve(m); m.sequentialSolve([x, -x])
""",
    "highspy": """
import highspy
h = highspy.Highs(); h.setOptionValue("output_flag", False); x = h.addVariable(lb=0, ub=3, name="x")
h.maximize(x); h.minimize(x); h.run(); h.solve(); h.optimize(); h.joinSolve(h.startSolve())
h.HandleKeyboardInterrupt = True; h.solve()
h.setOptionValue("threads", 2); assert h.run() == highspy.HighsStatus.kOk
""",
    "ortools.pywraplp": """
from ortools.linear_solver import pywraplp
for name in ("SCIP", "GLOP", "CBC", "CPLEX", "GLPK_LP", "nothing"):
    s = pywraplp.Solver.CreateSolver(name); x = s.NumVar(0, 3, "x"); s.Maximize(x)
    assert s.Solve() == 0 and abs(x.solution_value() - 3) < 1e-9
s = pywraplp.Solver("t", pywraplp.Solver.XPRESS_LINEAR_PROGRAMMING); x = s.NumVar(0, 3, "x"); s.Maximize(x); s.Solve()
""",
    "ortools.mathopt": """
from ortools.math_opt.python import mathopt
m = mathopt.Model(); x = m.add_variable(lb=0, ub=3, name="x"); m.maximize(x)
for kind in (mathopt.SolverType.GSCIP, mathopt.SolverType.GUROBI, mathopt.SolverType.GLOP):
    r = mathopt.solve(m, kind, params=mathopt.SolveParameters(threads=1) if kind.name == "GUROBI" else None)
    assert abs(r.objective_value() - 3) < 1e-9
mathopt.IncrementalSolver(m, mathopt.SolverType.GSCIP).solve()
""",
    "ortools.cp_sat": """
from ortools.sat.python import cp_model
m = cp_model.CpModel(); x = m.new_int_var(0, 3, "x"); m.maximize(x)
s = cp_model.CpSolver(); s.solve(m); s.Solve(m); assert s.value(x) == 3
""",
    "ortools.model_builder": """
from ortools.linear_solver.python import model_builder as mb
m = mb.Model(); x = m.new_num_var(0, 3, "x"); m.maximize(x)
for name in ("glop", "highs", "cbc", "gurobi", "scip", "pdlp"):
    s = mb.Solver(name); assert s.solver_is_supported() and s.solve(m) == mb.SolveStatus.OPTIMAL
""",
}
SOLVES = {"pyomo": 7, "pulp": 8, "highspy": 8, "ortools.pywraplp": 7, "ortools.mathopt": 4, "ortools.cp_sat": 2,
          "ortools.model_builder": 6}


@pytest.mark.parametrize("library", ENTRIES)
def test_every_way_to_solve_is_seen_once_and_works(pool: Pool, library: str) -> None:
    assert announced(ENTRIES[library]) == library
    run = pool.run(ENTRIES[library])
    assert run.outcome == "ok" and run.n_solves == SOLVES[library], run
    assert run.captured is not None and run.captured.upper.tolist() == [3]


def test_a_library_imported_late_is_captured_too(pool: Pool) -> None:
    run = pool.run("""
import highspy
def late():
    pulp = __import__("pulp"); m = pulp.LpProblem("t"); x = pulp.LpVariable("x", 1, 3); m += x; m.solve(); return x.varValue
print(late())
""")
    assert (run.outcome, run.library, run.n_solves, run.stdout) == ("ok", "pulp", 1, "1.0\n"), run


def test_numbers_keep_every_digit(pool: Pool) -> None:
    values = [1 / 3, 0.1 + 0.2, 2 / 7 * 1e9, 123456.78901234567]
    for name, program in {"pulp": """
import pulp
m = pulp.LpProblem("t"); x = [pulp.LpVariable(f"x{k}", V[k], 1e12) for k in range(4)]
m += pulp.lpSum(V[k] * x[k] for k in range(4)); m += pulp.lpSum(V[3 - k] * x[k] for k in range(4)) >= V[0]; m.solve()
""", "ortools": """
from ortools.linear_solver import pywraplp
s = pywraplp.Solver.CreateSolver("GLOP"); x = [s.NumVar(V[k], 1e12, f"x{k}") for k in range(4)]
s.Minimize(sum(V[k] * x[k] for k in range(4))); s.Add(sum(V[3 - k] * x[k] for k in range(4)) >= V[0]); s.Solve()
"""}.items():
        run = pool.run(f"V = {values!r}\n{program}")
        assert run.captured is not None and run.library == name, run
        assert run.captured.cost.tolist() == values and run.captured.lower.tolist() == values
        assert run.captured.data.tolist() == values[::-1] and run.captured.row_lower.tolist() == values[:1]


# ----------------------------------------------------------------------------------------------- without running a program


def test_libraries_are_found_by_their_imports() -> None:
    assert set(discover()) == {"pyomo", "pulp", "highspy", "ortools.pywraplp", "ortools.model_builder", "ortools.mathopt",
                               "ortools.cp_sat", "gurobipy", "coptpy", "cvxpy", "scipy", "docplex", "mip"}
    assert announced("import numpy as np\nfrom pyomo.environ import *\nimport pulp") == "pyomo"
    assert announced("# import pulp\nx = 'import highspy'\n") == ""


def captured(**change: Any) -> Captured:
    arrays: dict[str, Any] = {
        "maximize": True, "offset": 0.1, "columns": ["a", "b"], "rows": ["r"], "cost": [1, 2], "lower": [0, -INF],
        "upper": [INF, 4], "integer": [True, False], "row_lower": [-INF], "row_upper": [7], "indptr": [0, 2],
        "indices": [0, 1], "data": [1 / 3, 2],
    }
    return Captured.of("highspy", "highspy", **(arrays | change))


def test_a_model_survives_the_journey_bit_by_bit() -> None:
    model = captured()
    back = Captured.decode(model.encode())
    for part in dataclasses.fields(Captured):
        assert np.array_equal(getattr(back, part.name), getattr(model, part.name)), part.name
    assert captured(columns=["x", "x"], rows=[""]).columns == ("x#0", "x#1")


@pytest.mark.parametrize("change", [
    {"indices": [0, 2]}, {"indices": [-1, 0]}, {"indptr": [0, 3]}, {"indptr": [1, 2]}, {"cost": [1]}, {"offset": INF},
    {"data": [np.nan, 1]}, {"lower": [np.nan, 0]}, {"row_lower": []}, {"integer": [True]},
])
def test_a_forged_model_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParseError, match="cannot be read"):
        Captured.decode(captured(**change).encode())


@pytest.mark.parametrize("raw", [
    b"", b"\0" * 3, struct.pack("<I", 2) + b"{}", struct.pack("<I", 1 << 31) + b"{}", captured().encode()[:-1],
    captured().encode() + b"\0", captured().encode().replace(b'"sizes": [2', b'"sizes": [9'), b"[" * 100_000,
    struct.pack("<I", 100_000) + b"[" * 100_000,
])
def test_bytes_that_are_no_model_are_refused(raw: bytes) -> None:
    with pytest.raises(ParseError, match="cannot be read"):
        Captured.decode(raw)


def test_idle_columns_make_no_difference_and_used_ones_do() -> None:
    model = plan()
    arrays: dict[str, Any] = {
        "maximize": True, "offset": 10.25, "columns": ["ghost", "make_oak", "make_elm", "hire", "buy"], "rows": ["p", "q", "r"],
        "cost": [0, 3.1, 2, -0.5, -1.2], "lower": [0, 0, 0, -INF, 0], "upper": [INF, 7, 7, INF, 12.5],
        "integer": [False, True, True, False, False], "row_lower": [1, -3, -INF], "row_upper": [1, 4.5, 11.3],
        "indptr": [0, 4, 6, 8], "indices": [1, 2, 3, 4, 2, 3, 1, 2], "data": [1, 1, -1, -1, -1, 1, 2, 0.1],
    }
    assert model.difference(as_problem(captured(**arrays), model)) is None
    assert model.difference(as_problem(captured(**(arrays | {"cost": [1, 3.1, 2, -0.5, -1.2]})), model)) is not None
    wider = Problem.from_arrays(
        maximize=True, offset=10.25, columns=[*model.columns, "idle"], cost=np.append(model.cost, 0),
        matrix=np.hstack([model.matrix.toarray(), np.zeros((3, 1))]), row_lower=model.row_lower, row_upper=model.row_upper,
        lower=np.append(model.lower, 2), upper=np.append(model.upper, 3), integer=np.append(model.integer, True))
    assert wider.difference(as_problem(captured(**arrays), wider)) is None
