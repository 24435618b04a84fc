"""OR-Tools: model_builder, pywraplp and MathOpt (CP-SAT: cp_sat.py), each a library of its own for the warm parents, as
their imports weigh.

Solvers that are not in the wheel, and the bundled HiGHS (it crashes beside highspy), give way to SCIP or GLOP.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from types import ModuleType
from typing import Any

from orpipe.errors import Unsupported
from orpipe.verify.capture import Captured, Rows, hook, library, recorded

_WRAPPER, _BUILDER = "ortools.linear_solver.pywraplp", "ortools.linear_solver.python.model_builder"
_MATHOPT = "ortools.math_opt.python.mathopt"
_PROTO = "ortools.linear_solver.linear_solver_pb2"
library("ortools.pywraplp", words=("pywraplp",), preload=(_WRAPPER, _PROTO), rehearsal="""
from ortools.linear_solver import pywraplp
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
for name in ("SCIP", "GLOP"):
    s = pywraplp.Solver.CreateSolver(name)
    y = {i: s.IntVar(0, 1, f"y[{i}]") if name == "SCIP" else s.NumVar(0, 1, f"y[{i}]") for i in I}
    x = {(i, j): s.NumVar(0, s.infinity(), f"x[{i},{j}]") for i in I for j in J}
    for j in J:
        s.Add(sum(x[i, j] for i in I) == 4, f"demand[{j}]")
    for i in I:
        s.Add(sum(x[i, j] for j in J) <= 9.5 * y[i], f"capacity[{i}]")
    s.Minimize(sum(7 * y[i] for i in I) + sum(1.5 * x[i, j] for i in I for j in J))
    if s.Solve() == pywraplp.Solver.OPTIMAL:
        print("optimal_value =", s.Objective().Value(), [v.solution_value() for v in x.values()])
""")
library("ortools.model_builder", words=("model_builder", "ModelBuilder"), preload=(_BUILDER, _PROTO), rehearsal="""
from ortools.linear_solver.python import model_builder
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
for name in ("scip", "glop"):
    m = model_builder.Model()
    y = {i: m.new_var(0, 1, name == "scip", f"y[{i}]") for i in I}
    x = {(i, j): m.new_num_var(0, float("inf"), f"x[{i},{j}]") for i in I for j in J}
    for j in J:
        m.add(sum(x[i, j] for i in I) == 4, name=f"demand[{j}]")
    for i in I:
        m.add(sum(x[i, j] for j in J) <= 9.5 * y[i], name=f"capacity[{i}]")
    m.minimize(sum(7 * y[i] for i in I) + sum(1.5 * x[i, j] for i in I for j in J))
    s = model_builder.Solver(name)
    if s.solve(m) == model_builder.SolveStatus.OPTIMAL:
        print("optimal_value =", s.objective_value, [s.value(v) for v in x.values()])
""")
library("ortools.mathopt", words=("mathopt",), preload=(_MATHOPT,), rehearsal="""
from ortools.math_opt.python import mathopt
m = mathopt.Model(name="rehearsal")
y = {i: m.add_binary_variable(name=f"y[{i}]") for i in "abc"}
x = {(i, j): m.add_variable(lb=0, name=f"x[{i},{j}]") for i in "abc" for j in "pqrs"}
for j in "pqrs":
    m.add_linear_constraint(sum(x[i, j] for i in "abc") == 4, name=f"demand[{j}]")
for i in "abc":
    m.add_linear_constraint(sum(x[i, j] for j in "pqrs") <= 9.5 * y[i], name=f"capacity[{i}]")
m.minimize(sum(7 * v for v in y.values()) + sum(1.5 * v for v in x.values()))
result = mathopt.solve(m, mathopt.SolverType.GSCIP)
print("optimal_value =", result.objective_value(), [result.variable_values(v) for v in x.values()])
""")

_BUILT_IN = frozenset({"glop", "pdlp", "scip", "sat", "cp_sat", "cp-sat"})


# ------------------------------------------------------------------------------------------------------- model_builder


@hook(_BUILDER)
def patch_builder(module: ModuleType) -> None:
    start = module.Solver.__init__

    def start_here(self: Any, solver_name: str) -> None:
        start(self, solver_name if str(solver_name).lower() in _BUILT_IN else "scip")

    module.Solver.__init__ = start_here
    recorded(module.Solver, "solve", "ortools", lambda _, model, *__, **___: read_builder(model.helper))


def read_builder(helper: Any) -> Captured:
    """By way of a binary file: the helper counts conditional rows among the others but cannot name them without a
    crash.
    """
    from ortools.linear_solver import linear_solver_pb2  # type: ignore[attr-defined]

    fd, path = tempfile.mkstemp(suffix=".pb")
    try:
        if not helper.write_model_to_proto_file(path):
            raise OSError("the model could not be written to the work folder")
        with open(fd, "rb") as file:
            return read_proto(linear_solver_pb2.MPModelProto.FromString(file.read()), "model_builder")
    finally:
        os.unlink(path)


# ------------------------------------------------------------------------------------------------------------ pywraplp


@hook(_WRAPPER)
def patch_wrapper(module: ModuleType) -> None:
    solver, parameters = module.Solver, module.MPSolverParameters
    kept = {solver.GLOP_LINEAR_PROGRAMMING, solver.PDLP_LINEAR_PROGRAMMING, solver.CLP_LINEAR_PROGRAMMING,
            solver.SCIP_MIXED_INTEGER_PROGRAMMING, solver.CBC_MIXED_INTEGER_PROGRAMMING, solver.SAT_INTEGER_PROGRAMMING,
            solver.BOP_INTEGER_PROGRAMMING}
    linear = {getattr(solver, name) for name in dir(solver) if name.endswith("_LINEAR_PROGRAMMING")}
    create, start, solve = solver.CreateSolver, solver.__init__, solver.Solve

    def create_here(solver_id: str) -> Any:
        wanted = str(solver_id).upper()
        made = create(wanted) if wanted.split("_")[0] in {"GLOP", "PDLP", "CLP", "SCIP", "CBC", "SAT", "BOP"} else None
        linear_only = wanted.endswith(("_LP", "LINEAR_PROGRAMMING"))
        return made if made is not None else create("GLOP" if linear_only else "SCIP")

    def start_here(self: Any, name: str, problem_type: int) -> None:
        if problem_type not in kept:
            glop = problem_type in linear
            problem_type = solver.GLOP_LINEAR_PROGRAMMING if glop else solver.SCIP_MIXED_INTEGER_PROGRAMMING
        start(self, name, problem_type)

    def read(self: Any, *_: Any, **__: Any) -> Captured:
        from ortools.linear_solver import linear_solver_pb2  # type: ignore[attr-defined]

        proto = linear_solver_pb2.MPModelProto()
        self.ExportModelToProto(proto)
        return read_proto(proto, "pywraplp")

    def solve_here(self: Any, params: Any = None) -> Any:
        params = params or parameters()
        params.SetDoubleParam(parameters.RELATIVE_MIP_GAP, 0.0)  # its default, 1e-4, stops short of the optimum
        return solve(self, params)

    solver.CreateSolver, solver.__init__, solver.Solve = staticmethod(create_here), start_here, solve_here
    recorded(solver, "Solve", "ortools", read)


def read_proto(proto: Any, interface: str) -> Captured:
    rows = Rows()
    for row in proto.constraint:
        rows.add(row.name, row.var_index, row.coefficient, row.lower_bound, row.upper_bound)
    if proto.general_constraint:
        raise Unsupported("ortools: the model has constraints that are not linear")
    if proto.quadratic_objective.coefficient:
        raise Unsupported("ortools: the model has a quadratic objective")
    columns = proto.variable
    return Captured.of(
        "ortools", interface, maximize=proto.maximize, offset=proto.objective_offset, columns=[v.name for v in columns],
        cost=[v.objective_coefficient for v in columns], lower=[v.lower_bound for v in columns],
        upper=[v.upper_bound for v in columns], integer=[v.is_integer for v in columns], **rows.arrays(),
    )


# ------------------------------------------------------------------------------------------------------------- MathOpt


@hook("ortools.math_opt.python.solve")
def patch_mathopt(module: ModuleType) -> None:
    solve, start = module.solve, module.IncrementalSolver.__init__

    def built_in(solver_type: Any) -> Any:
        return solver_type if solver_type.name.lower() in _BUILT_IN | {"gscip"} else type(solver_type).GSCIP

    def solve_here(opt_model: Any, solver_type: Any, *, params: Any = None, **kwargs: Any) -> Any:
        chosen = built_in(solver_type)
        if params is not None and chosen is not solver_type:  # parameters of another solver may be refused by this one
            limit = params.time_limit
            params = dataclasses.replace(type(params)(), time_limit=limit)
        return solve(opt_model, chosen, **({} if params is None else {"params": params}), **kwargs)

    def start_here(self: Any, opt_model: Any, solver_type: Any, **kwargs: Any) -> None:
        start(self, opt_model, built_in(solver_type), **kwargs)
        self._orpipe_model = opt_model

    vars(module)["solve"], module.IncrementalSolver.__init__ = solve_here, start_here
    recorded(module, "solve", "ortools", lambda model, *_, **__: read_mathopt(model.export_model()))
    recorded(module.IncrementalSolver, "solve", "ortools",
             lambda self, **_: read_mathopt(self._orpipe_model.export_model()))


def read_mathopt(proto: Any) -> Captured:
    for kind in ("quadratic_constraints", "second_order_cone_constraints", "sos1_constraints", "sos2_constraints",
                 "indicator_constraints", "auxiliary_objectives"):
        if len(getattr(proto, kind)):
            raise Unsupported(f"ortools: the model has {kind.replace('_', ' ')}")
    if len(proto.objective.quadratic_coefficients.coefficients):
        raise Unsupported("ortools: the model has a quadratic objective")
    ids = list(proto.variables.ids)
    at = {name: k for k, name in enumerate(ids)}
    cost = [0.0] * len(ids)
    target = proto.objective.linear_coefficients
    for column, value in zip(target.ids, target.values, strict=True):
        cost[at[column]] = value
    terms: dict[int, list[tuple[int, float]]] = {row: [] for row in proto.linear_constraints.ids}
    matrix = proto.linear_constraint_matrix
    for row, column, value in zip(matrix.row_ids, matrix.column_ids, matrix.coefficients, strict=True):
        terms[row].append((at[column], value))
    names = list(proto.linear_constraints.names) or [""] * len(terms)
    rows = Rows()
    sides = zip(proto.linear_constraints.lower_bounds, proto.linear_constraints.upper_bounds, strict=True)
    for name, found, (lower, upper) in zip(names, terms.values(), sides, strict=True):
        rows.add(name, [k for k, _ in found], [a for _, a in found], lower, upper)
    return Captured.of(
        "ortools", "mathopt", maximize=proto.objective.maximize, offset=proto.objective.offset,
        columns=list(proto.variables.names) or [""] * len(ids), cost=cost, lower=list(proto.variables.lower_bounds),
        upper=list(proto.variables.upper_bounds), integer=list(proto.variables.integers), **rows.arrays(),
    )
