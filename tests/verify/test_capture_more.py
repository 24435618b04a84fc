"""gurobipy, coptpy, cvxpy, scipy, docplex and python-mip: the model that each holds is taken exactly.

Libraries that are not installed are skipped, by name.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orpipe.problem import Problem
from orpipe.solve import Label, label
from orpipe.verify.capture import announced, discover
from orpipe.verify.replay import printed, replay
from orpipe.verify.sandbox import Limits, Pool, Run

PROGRAMS = Path(__file__).parents[1] / "programs"
INF = np.inf
LIBRARIES = ("gurobipy", "coptpy", "cvxpy", "scipy", "docplex", "mip")


def needs(*names: str) -> list[Any]:
    """Parameters that are skipped where their library is not installed."""
    return [pytest.param(name, marks=pytest.mark.skipif(
        importlib.util.find_spec(name.partition("_")[0]) is None, reason=f"{name} is not installed")) for name in names]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(workers=2, limits=Limits(seconds=60)) as made:
        yield made


def captured(run: Run) -> Problem:
    assert run.outcome == "ok" and run.captured is not None, run
    return run.captured.problem()


def optimum(problem: Problem) -> float:
    found = label(problem)
    assert isinstance(found, Label) and found.objective is not None, found
    return found.objective


# ------------------------------------------------------------------------------------------------- plain linear models


def plan(library: str) -> Problem:
    """Worked by hand: oak = 5 (2*5 + 0.1*elm <= 11.3), elm = 7; hire = 11 - buy, and hire - elm <= 4.5 leaves buy = 0
    with hire = 11: 15.5 + 14 - 5.5 + 10.25 = 34.25.
    """
    drift = [0, -1, 1, 0]
    split = library in ("cvxpy", "mip")
    rows = [[1, 1, -1, -1], drift, [2, 0.1, 0, 0]] + ([drift] if split else [])
    plain = library == "scipy"  # without names and constant
    return Problem.from_arrays(
        maximize=True, offset=0 if plain else 10.25,
        columns=[f"x[{k}]" for k in range(4)] if plain else ["make[oak]", "make[elm]", "hire", "buy"],
        cost=[3.1, 2, -0.5, -1.2], lower=[0, 1, -INF, 0], upper=[7, 7, INF, 12.5], integer=[True, True, False, False],
        matrix=np.array(rows, float), row_lower=[1, -3, -INF] + ([-INF] if split else []),
        row_upper=[1, INF if split else 4.5, 11.3, 4.5][:len(rows)])


SHIP = {
    "depots": ["N", "S"], "shops": ["a", "b"], "stock": {"N": 7.5, "S": 6}, "need": {"a": 4.25, "b": 8},
    "cost": {"N": {"a": 1.1, "b": 3}, "S": {"a": 2, "b": 0.7}},
}


def ship(library: str, need_b: float = 8) -> Problem:
    """S serves b with its 6 at 0.7; N serves a (4.25 at 1.1) and the other 2 of b at 3: 4.2 + 4.675 + 6 = 14.875."""
    names = {"scipy": [f"x[{k}]" for k in range(4)], "cvxpy": ["x[0,0]", "x[0,1]", "x[1,0]", "x[1,1]"]}
    return Problem.from_arrays(
        columns=names.get(library, ["x[N,a]", "x[N,b]", "x[S,a]", "x[S,b]"]), cost=[1.1, 3, 2, 0.7], lower=[0] * 4,
        upper=[INF] * 4, integer=[False] * 4,
        matrix=np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], float),
        row_lower=[-INF, -INF, 4.25, need_b], row_upper=[7.5, 6, INF, INF])


def text(name: str) -> str:
    return (PROGRAMS / f"{name}.py").read_text()


@pytest.mark.parametrize("library", needs(*LIBRARIES))
def test_a_plan_with_every_kind_of_bound_and_row_is_captured(pool: Pool, library: str) -> None:
    value = 24 if library == "scipy" else 34.25
    replayed = replay(pool, text(f"{library}_plan"), {}, plan(library), value)
    assert replayed.passed, (replayed.reason, replayed.run)
    assert (replayed.run.n_solves, replayed.run.library) == (1, library)


@pytest.mark.parametrize("library", needs(*LIBRARIES))
def test_a_program_that_reads_its_data_is_captured_and_its_optimum_read(pool: Pool, library: str) -> None:
    replayed = replay(pool, text(f"{library}_ship"), {"data.json": json.dumps(SHIP)}, ship(library), 14.875)
    assert replayed.passed, (replayed.reason, replayed.run)


@pytest.mark.parametrize("library", needs(*LIBRARIES))
def test_an_infeasible_program_says_so(pool: Pool, library: str) -> None:
    data = SHIP | {"need": {"a": 4.25, "b": 80}}
    program = text(f"{library}_ship")
    replayed = replay(pool, program, {"data.json": json.dumps(data)}, ship(library, 80), status="infeasible")
    assert replayed.passed, (replayed.reason, replayed.run)


@pytest.mark.parametrize("library", needs(*LIBRARIES))
def test_a_library_has_its_warm_parent_and_digits_are_kept(pool: Pool, library: str) -> None:
    assert library in discover() and announced(text(f"{library}_plan")) == library
    values = [1 / 3, 0.1 + 0.2, 2 / 7 * 1e9, 123456.78901234567]
    build = {
        "gurobipy": "import gurobipy as gp; m = gp.Model(); x = m.addMVar(4, lb=V); m.setObjective(np.array(V) @ x)\n"
                    "m.addConstr(np.array(V[::-1]) @ x >= V[0]); m.optimize()",
        "coptpy": "import coptpy as cp; m = cp.Envr().createModel(); x = [m.addVar(lb=a, obj=a) for a in V]\n"
                  "m.addConstr(cp.quicksum(a * v for a, v in zip(V[::-1], x)) >= V[0]); m.solve()",
        "cvxpy": "import cvxpy as cp; x = cp.Variable(4, bounds=[np.array(V), np.full(4, np.inf)])\n"
                 "cp.Problem(cp.Minimize(np.array(V) @ x), [-np.array(V[::-1]) @ x <= -V[0]]).solve()",
        "scipy": "from scipy.optimize import linprog\n"
                 "linprog(V, A_ub=[[-a for a in V[::-1]]], b_ub=[-V[0]], bounds=[(a, None) for a in V])",
        "docplex": "from docplex.mp.model import Model; m = Model(); x = m.continuous_var_list(4, lb=V)\n"
                   "m.minimize(m.scal_prod(x, V)); m.add_constraint(m.scal_prod(x, V[::-1]) >= V[0]); m.solve()",
        "mip": "import mip; m = mip.Model(); x = [m.add_var(lb=a, obj=a) for a in V]\n"
               "m += mip.xsum(a * v for a, v in zip(V[::-1], x)) >= V[0]; m.optimize()",
    }
    problem = captured(pool.run(f"import numpy as np\nV = {values!r}\n{build[library]}"))
    assert problem.cost.tolist() == values and problem.lower.tolist() == values
    assert abs(problem.matrix.toarray()[0]).tolist() == values[::-1]
    assert {abs(problem.row_lower[0]), abs(problem.row_upper[0])} == {values[0], INF}


# ------------------------------------------------------------------------------------------- solves and written models

ENTRIES = {
    "gurobipy": (5, """
import gurobipy as gp
m = gp.Model(); x = m.addVar(ub=9, name="x"); m.setObjective(x, -1); m.addConstr(x <= 8, "first"); m.optimize()
env = gp.Env(empty=True); env.setParam("CloudAccessID", "abc"); env.setParam("OutputFlag", 0); env.start()
other = gp.Model(env=env); y = other.addVar(vtype="I"); other.setObjective(y, -1); other.addConstr(2 * y <= 5)
other.optimize(); assert other.ObjVal == 2; relaxed = other.relax(); relaxed.optimize(); assert relaxed.ObjVal == 2.5
m.optimizeAsync(); m.sync(); m.addConstr(x <= 3, "cut"); m.optimize(); assert x.X == 3
"""),
    "coptpy": (3, """
import coptpy as cp
config = cp.EnvrConfig(); config.set(cp.COPT.CLIENT_FLOATING, "somewhere"); env = cp.Envr(config)
m = env.createModel(); x = m.addVar(ub=9, vtype=cp.COPT.INTEGER, name="x"); m.addConstr(x <= 7.5, name="first")
m.setObjective(x, cp.COPT.MAXIMIZE); m.solveLP(); assert m.objval == 7.5; m.solve(); assert m.objval == 7
m.addLazyConstr(x <= 3, name="cut"); m.solve(); assert m.objval == 3
"""),
    "cvxpy": (5, """
import cvxpy as cp
x = cp.Variable(bounds=[0, 9], name="x"); rows = [x <= 8]
for solver in (None, cp.SCS, "MOSEK", cp.GUROBI): cp.Problem(cp.Maximize(x), rows).solve(solver, verbose=False)
rows.append(x <= 3); p = cp.Problem(cp.Maximize(x), rows); assert p.solve(max_iters=3) == 3 == p.value
"""),
    "scipy": (4, """
import scipy.optimize, numpy as np
from scipy.optimize import linear_sum_assignment, linprog as lp
assert linear_sum_assignment([[1, 2], [3, 9]])[1].tolist() == [1, 0]
scipy.optimize.linprog([-1], bounds=(0, 9)); scipy.optimize.milp([-1], bounds=(0, 9))
assert lp([-1], A_ub=np.ones((2, 1)), b_ub=[8, 3], bounds=[(0, 9)], method="highs-ds").fun == -3
"""),
    "docplex": (2, """
from docplex.mp.model import Model
m = Model(); x = m.continuous_var(ub=9, name="x"); m.maximize(x); m.add_constraint(x <= 8, "first")
m.parameters.timelimit = 9; assert m.solve(log_output=False).get_value(x) == 8
m.add_constraint(x <= 3, "cut"); s = m.solve(time_limit=20); assert s[x] == x.solution_value == m.objective_value == 3
assert "optimal" in m.solve_details.status and m.solve_details.status_code == 1
"""),
    "mip": (4, """
import mip
for name in ("CBC", "GUROBI", "HIGHS"):
    m = mip.Model(sense=mip.MAXIMIZE, solver_name=name); x = m.add_var("x", ub=9); m.objective = x
    m += x <= 8; assert m.optimize(max_seconds=5).name == "OPTIMAL" and x.x == 8 == m.objective_bound
m.add_lazy_constr(x <= 3); m.optimize(); assert m.objective_value == 3 == float(x) and m.num_solutions == 1
assert (m.constrs[1].pi, m.constrs[0].slack, x.rc, m.objective_values) == (1, 5, 0, [3])
"""),
}


@pytest.mark.parametrize("library", needs(*ENTRIES))
def test_the_last_of_several_solves_counts(pool: Pool, library: str) -> None:
    n_solves, program = ENTRIES[library]
    run = pool.run(program)
    problem = captured(run)
    assert run.n_solves == n_solves and run.library == library
    assert problem.n_rows == 2 and abs(optimum(problem)) == 3


WRITTEN = {
    "gurobipy": 'import gurobipy as gp\nm = gp.Model(); x = m.addVar(ub=3, name="x"); m.setObjective(x, -1)\n'
                'm.addConstr(x <= 2, "cap"); m.write("model.{0}")',
    "coptpy": 'import coptpy as cp\nm = cp.Envr().createModel(); x = m.addVar(ub=3, name="x")\n'
              'm.addConstr(x <= 2, name="cap"); m.setObjective(x, cp.COPT.MAXIMIZE); m.write("model.{0}")',
    "docplex": 'from docplex.mp.model import Model\nm = Model("model"); x = m.continuous_var(ub=3, name="x")\n'
               'm.maximize(x); m.add_constraint(x <= 2, "cap"); m.export_as_{0}("model.{0}")',
    "mip": 'import mip\nm = mip.Model(sense="MAX"); x = m.add_var("x", ub=3); m.objective = x; m += x <= 2, "cap"\n'
           'm.write("model.{0}")',
    "pyomo": 'import pyomo.environ as pyo\nm = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(0, 3))\n'
             'm.o = pyo.Objective(expr=m.x, sense=pyo.maximize); m.cap = pyo.Constraint(expr=m.x <= 2)\n'
             'm.write("model.{0}")',
    "pulp": 'import pulp\nm = pulp.LpProblem("m", pulp.LpMaximize); x = pulp.LpVariable("x", 0, 3); m += x\n'
            'm += x <= 2, "cap"; getattr(m, "write" + "{0}".upper())("model.{0}")',
    "highspy": 'import highspy\nh = highspy.Highs(); x = h.addVariable(0, 3, name="x")\n'
               'h.addConstr(x <= 2, name="cap"); h.setObjective(x, highspy.ObjSense.kMaximize)\n'
               'h.writeModel("model.{0}")',
    "pywraplp": 'from ortools.linear_solver import pywraplp\ns = pywraplp.Solver.CreateSolver("GLOP")\n'
                'x = s.NumVar(0, 3, "x"); s.Add(x <= 2, "cap"); s.Maximize(x)\nopen("model.{0}", "w").write('
                's.ExportModelAsLpFormat(False) if "{0}" == "lp" else s.ExportModelAsMpsFormat(True, False))',
    "model_builder": 'from ortools.linear_solver.python import model_builder\nm = model_builder.Model()\n'
                     'x = m.new_num_var(0, 3, "x"); m.add(x <= 2, name="cap"); m.maximize(x)\n'
                     'open("model.{0}", "w").write(m.export_to_{0}_string())',
}


@pytest.mark.parametrize("kind", ["lp", "mps"])
@pytest.mark.parametrize("library", [
    *needs("gurobipy", "coptpy", "docplex", "mip"), "pyomo", "pulp", "highspy", "pywraplp", "model_builder"])
def test_a_model_that_is_written_and_never_solved_is_taken(pool: Pool, library: str, kind: str) -> None:
    program = WRITTEN[library].format(kind) + "\nimport glob, os\nassert os.path.getsize(glob.glob('model.*')[0]) > 30"
    if (library, kind) == ("docplex", "mps"):  # docplex needs CPLEX for it: the program fails, the model is there
        run = pool.run(program)
        assert (run.outcome, run.exception) == ("exception", "DOcplexException") and run.captured is not None
        problem = run.captured.problem()
    else:
        problem = captured(pool.run(program))
    expected = Problem.from_arrays(maximize=True, columns=["x"], cost=[1], matrix=np.array([[1.0]]), row_lower=[-INF],
                                   row_upper=[2], lower=[0], upper=[3], integer=[False])
    assert expected.difference(problem) is None


@pytest.mark.parametrize("library", needs("gurobipy"))
def test_what_is_solved_counts_more_than_what_is_written(pool: Pool, library: str) -> None:
    start = "import gurobipy as gp\nm = gp.Model(); x = m.addVar(ub=3, name='x'); m.setObjective(x, -1)\n"
    for program in ("m.write('a.lp'); x.UB = 5; m.optimize()", "x.UB = 5; m.optimize(); x.UB = 4; m.write('a.lp')",
                    "x.UB = 5; m.optimize(); m.write('a.sol')"):
        assert captured(pool.run(start + program)).upper.tolist() == [5]
    assert pool.run(start + "m.write('a.prm')").outcome == "no model"


# ------------------------------------------------------------------------------------------- beyond linear constraints

LOGIC = {
    "gurobipy_general": """
import gurobipy as gp; from gurobipy import GRB
m = gp.Model(); x = m.addVars(3, lb=-2, ub=9, name="x"); b = m.addVars(3, vtype="B", name="b")
big, small, size, f = (m.addVar(lb=-GRB.INFINITY, name=n) for n in ("big", "small", "size", "f"))
m.addGenConstrMax(big, [x[0], x[1]], 2.5); m.addGenConstrMin(small, [x[1], x[2]]); m.addGenConstrAbs(size, x[0])
m.addGenConstrAnd(b[0], [b[1], b[2]]); m.addGenConstrOr(b[2], [b[0], b[1]])
m.addGenConstrPWL(x[2], f, [0, 2, 4], [1, 5, 3]); m.addGenConstrIndicator(b[2], False, x[2] == 1.5)
m.addConstr((b[1] == 1) >> (x[0] + 2 * x[1] <= 3)); m.setObjective(3 * b[0] - big + 2 * small - size + f + x[0], -1)
m.optimize(); print("optimal_value =", m.ObjVal)
""",
    "gurobipy_sets": """
import gurobipy as gp; from gurobipy import GRB
m = gp.Model(); x = m.addVars(4, ub=[3, 4, 5, 6], name="x")
s, n = m.addVar(lb=2, ub=6, vtype="S"), m.addVar(lb=2, ub=6, vtype="N")
m.addSOS(GRB.SOS_TYPE2, [x[k] for k in range(4)], [4, 1, 3, 2]); m.addSOS(GRB.SOS_TYPE1, [s, x[0]])
m.setPWLObj(x[1], [0, 1, 4], [0, 3, 4]); norm = m.addVar(); m.addGenConstrNorm(norm, [x[2], x[3]], 1.0); m.update()
for k, cost in enumerate([2, 0, 1.5, 1]): x[k].Obj = x[k].Obj + cost
s.Obj, n.Obj, norm.Obj = 0.4, -1, -0.2; m.addConstr(n >= 1.5); m.ModelSense = GRB.MAXIMIZE
m.optimize(); print("optimal_value =", m.ObjVal)
""",
    "gurobipy_products": """
import gurobipy as gp
m = gp.Model(); x = m.addVar(lb=-3, ub=7, name="x"); b = m.addVars(3, vtype="B", name="b")
m.addConstr(b[0] * x + 2 * b[1] * b[2] <= 4); m.addConstr(b.sum() >= 2)
m.setObjective(b[0] * x + 3 * b[1] * b[2] - 2 * b[1] * b[1] + 1, -1); m.optimize(); print("optimal_value =", m.ObjVal)
""",
    "coptpy_general": """
import coptpy as cp; from coptpy import COPT
m = cp.Envr().createModel(); x = [m.addVar(-2, 9, name=f"x{k}") for k in range(3)]
b = [m.addVar(vtype=COPT.BINARY, name=f"b{k}") for k in range(3)]; n = m.addVar(ub=6, vtype=COPT.INTEGER)
big, small, size, f = (m.addVar(lb=-COPT.INFINITY) for _ in range(4))
m.addGenConstrMax(big, x[:2], 2.5); m.addGenConstrMin(small, x[1:]); m.addGenConstrAbs(size, x[0])
m.addGenConstrAnd(b[0], b[1:]); m.addGenConstrOr(b[2], b[:2]); m.addGenConstrPWL(x[2], f, [0, 2, 4], [1, 5, 3])
m.addConstr((b[1] == 1) >> (x[0] + 2 * x[1] <= 3)); m.addGenConstrIndicator(b[2], False, x[2] == 1.5)
m.addGenConstrIndicator(b[0], True, n <= 2, COPT.INDICATOR_IFANDONLYIF); m.addQConstr(b[0] * x[1] + n <= 5)
m.addSOS(COPT.SOS_TYPE1, [x[0], n], [1, 2]); m.setObjective(
    3 * b[0] - big + 2 * small - size + f + x[0] + n + 2 * b[1] * b[2], COPT.MAXIMIZE)
m.solve(); print("optimal_value =", m.objval)
""",
    "docplex_logic": """
from docplex.mp.model import Model
m = Model(); x = m.continuous_var_list(2, lb=-2, ub=9, name="x"); n = m.integer_var(0, 6, name="n")
b = m.binary_var_list(3); s = m.semicontinuous_var(lb=2, ub=6); m.add_indicator(b[0], x[0] + 2 * x[1] <= 3)
m.add_equivalence(b[1], n >= 4); m.add(b[0] * x[0] <= 1)
m.add_if_then(b[0] == 1, b[2] == 1); m.add(m.max(x[0], x[1], 2.5) <= 6); m.add((n == 2) | (n == 5))
m.add(m.abs(x[0] - n) <= 4); f = m.piecewise(0, [(0, 1), (2, 5)], -1); m.add_sos1([s, b[2]]); m.add(n != 2)
m.maximize(x[0] + x[1] + f(x[0]) - m.abs(x[1] - 3) + s + 4 * b[0] + m.logical_and(b[0], b[1]) + 2 * b[1] * b[2])
m.solve(); print("optimal_value =", m.objective_value)
""",
    "mip_sets": """
import mip
m = mip.Model(sense=mip.MAXIMIZE); x = [m.add_var(ub=u) for u in (3, 4, 5, 6)]; m.objective = mip.xsum(x)
m.add_sos([(x[k], w) for k, w in enumerate([4, 1, 3, 2])], 2); m += x[1] + x[3] <= 8
m.optimize(); print("optimal_value =", m.objective_value)
""",
    "scipy_parted": """
from scipy.optimize import linprog, milp
r = milp([1, 1.5, -1], constraints=([[1, 1, -1]], 1.5, 9), bounds=([2, 3, 0], [6, 6, 2]), integrality=[2, 3, 0])
print("optimal_value =", r.fun)
""",
    "cvxpy_convex": """
import cvxpy as cp
x = cp.Variable(2, integer=True); y = cp.Variable(nonneg=True)
cost = cp.abs(x[0] - 2.4) + cp.max(x) + 0.5 * cp.norm1(x) - y
p = cp.Problem(cp.Minimize(cost), [x >= 0.5, y <= cp.sum(x), cp.norm_inf(x) <= 4]); p.solve()
print("optimal_value =", p.value)
""",
}


@pytest.mark.parametrize("name", needs(*LOGIC))
def test_logic_that_rows_can_say_has_the_optimum_that_the_library_finds(pool: Pool, name: str) -> None:
    run = pool.run(LOGIC[name])
    value = printed(run.stdout).value
    assert value is not None and optimum(captured(run)) == pytest.approx(value, rel=1e-7, abs=1e-7), run


def test_logic_of_docplex_has_the_optimum_worked_by_hand(pool: Pool) -> None:
    """Here HiGHS answers in place of CPLEX, so the optimum is no second opinion.

    n = 5 (2 is excluded), so b1 = 1 and x0 >= 1.  With b0 = 1: b2 = 1, s = 0, x0 <= 1 and x1 <= 1, and x0 = x1 = 1
    gives 1 + 1 + f(1) - 2 + 0 + 4 + 1 + 2 = 10.  With b0 = b2 = 0: s = 6, x0 + f(x0) is 7 from x0 = 2 on, x1 - |x1 - 3|
    is 3 from x1 = 3 on: 16.
    """
    if importlib.util.find_spec("docplex") is None:
        pytest.skip("docplex is not installed")
    assert optimum(captured(pool.run(LOGIC["docplex_logic"]))) == pytest.approx(16)


UNSUPPORTED = {
    "gurobipy_several objectives": "m.setObjectiveN(x, 0); m.setObjectiveN(y, 1)",
    "gurobipy_POW constraint 'p' is not linear": "m.addGenConstrPow(x, y, 2, name='p')",
    "gurobipy_quadratic objective has a product": "m.setObjective(x * y)",
    "gurobipy_quadratic constraint 'q' has a product": "m.addConstr(x * x <= 3, 'q')",
    "gurobipy_NORM constraint 'n' of order 2": "m.addGenConstrNorm(x, [y], 2.0, 'n')",
    "gurobipy_INDICATOR constraint 'i' needs finite bounds": "m.addGenConstrIndicator(b, True, w <= 1, name='i')",
    "gurobipy_MAX constraint 'm' needs finite bounds": "m.addGenConstrMax(m.addVar(), [w, y], name='m')",
    "gurobipy_PWL constraint 'j' jumps": "m.addGenConstrPWL(x, y, [0, 1, 1, 2], [0, 1, 2, 3], 'j')",
    "gurobipy_special ordered set of type 1 needs": "m.addSOS(1, [w, x])",
    "gurobipy_lazy constraints": "m.Params.LazyConstraints = 1; CALLBACK = lambda model, where: None",
    "coptpy_nonlinear constraints": "m.addNlConstr(cp.nl.exp(x) <= 3)",
    "coptpy_quadratic objective": "m.setObjective(x * y)",
    "coptpy_several objectives": "m.setObjectiveN(0, x)",
    "coptpy_second-order cones": "m.addCone([x, y], cp.COPT.CONE_QUAD)",
    "coptpy_indicator constraint 'i' needs finite bounds": "m.addGenConstrIndicator(b, True, w <= 1, name='i')",
    "coptpy_strict inequality":
        "m.addGenConstrIndicator(b, True, x <= 1, type=cp.COPT.INDICATOR_IFANDONLYIF, name='i')",
    "cvxpy_quadratic objective": "cp.Problem(cp.Minimize(cp.square(x) + y)).solve()",
    "cvxpy_not linear": "cp.Problem(cp.Minimize(x + y), [cp.norm(cp.hstack([x, y])) <= 1]).solve()",
    "cvxpy_solved as gp": "z = cp.Variable(pos=True); cp.Problem(cp.Minimize(z), [z >= 2]).solve(gp=True)",
    "cvxpy_mixed-integer quadratic": "cp.Problem(cp.Minimize(cp.square(x)), [y >= cp.Variable(integer=True)]).solve()",
    "scipy_minimize() is not given": "o.minimize(lambda v: v[0] ** 2, [1.0])",
    "docplex_several objectives": "m.minimize_static_lex([x, y])",
    "docplex_quadratic objective": "m.minimize(x * y)",
    "docplex_indicator constraint 'i' needs finite bounds": "m.add_indicator(b, w <= 1, name='i')",
    "mip_generator": "m.lazy_constrs_generator = Cuts()",
}
START = {
    "gurobipy": ("import gurobipy as gp\nm = gp.Model(); x, y = m.addVar(ub=9), m.addVar(ub=9)\n"
                 "w = m.addVar(name='w'); b = m.addVar(vtype='B'); CALLBACK = None; m.setObjective(x)",
                 "m.optimize(CALLBACK)"),
    "coptpy": ("import coptpy as cp\nm = cp.Envr().createModel(); x, y = m.addVar(ub=9), m.addVar(ub=9)\n"
               "w = m.addVar(); b = m.addVar(vtype='B')", "try: m.solve()\nexcept cp.CoptError: pass"),
    "cvxpy": ("import cvxpy as cp\nx, y = cp.Variable(bounds=[0, 9]), cp.Variable(bounds=[0, 9])", ""),
    "scipy": ("from scipy import optimize as o", ""),
    "docplex": ("from docplex.mp.model import Model\nm = Model(); x, y = m.continuous_var_list(2, ub=9)\n"
                "w = m.continuous_var(name='w'); b = m.binary_var()",
                "try: m.solve()\nexcept Exception as error: assert 'licence' in str(error)"),
    "mip": ("import mip\nm = mip.Model(); x = m.add_var(ub=9); m.verbose = 0; m.objective = x\n"
            "class Cuts(mip.ConstrsGenerator):\n    def generate_constrs(self, *_): pass", "m.optimize()"),
}


@pytest.mark.parametrize("case", needs(*UNSUPPORTED))
def test_what_no_rows_can_say_is_named(pool: Pool, case: str) -> None:
    library, _, words = case.partition("_")
    before, after = START[library]
    run = pool.run(f"{before}\n{UNSUPPORTED[case]}\n{after}")
    assert run.outcome == "unsupported" and words in run.message and run.captured is None, run


@pytest.mark.parametrize("library", needs("gurobipy", "coptpy"))
def test_a_model_beyond_the_bundled_licence_is_captured_before_the_solve_raises(pool: Pool, library: str) -> None:
    run = pool.run({
        "gurobipy": "import gurobipy as gp\nm = gp.Model(); x = m.addVars(2500, ub=2); m.setObjective(x.sum(), -1)\n"
                    "m.optimize()",
        "coptpy": "import coptpy as cp\nm = cp.Envr().createModel(); x = m.addVars(2500, ub=2, vtype='I')\n"
                  "m.setObjective(x.sum(), cp.COPT.MAXIMIZE); m.solve()",
    }[library])
    assert run.outcome == "exception" and run.captured is not None and "licen" in run.message.lower(), run
    assert run.exception in ("GurobiError", "CoptError") and run.captured.upper.sum() == 5000
