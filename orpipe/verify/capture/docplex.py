"""docplex: there is no CPLEX in the process; the model is read at solve() and answered by HiGHS.

docplex itself rewrites max, min, abs, and, or, != and if-then as rows, indicators, equivalences and ordered sets
when they are used: they are read as these.  What cannot be read cannot be answered: solve() raises then.
"""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import Any

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.bounds import Linear, exact, sides
from orpipe.verify.capture import RECORDER, Captured, Rows, hook, library, written
from orpipe.verify.capture._highs import answer
from orpipe.verify.logic import Logic

library("docplex", words=("docplex",), preload=("docplex.mp.model", "docplex.mp.sdetails", "highspy"), rehearsal="""
from docplex.mp.model import Model
m = Model(name="rehearsal")
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
y, x = m.binary_var_dict(I, name="y"), m.continuous_var_matrix(I, J, name="x")
m.minimize(m.sum(7 * y[i] for i in I) + m.sum(1.5 * x[i, j] for i in I for j in J))
m.add_constraints((m.sum(x[i, j] for i in I) == 4, f"demand_{j}") for j in J)
for i in I:
    m.add_constraint(m.sum(x[i, j] for j in J) <= 9.5 * y[i], f"capacity_{i}")
s = m.solve()
if s:
    print("optimal_value =", s.objective_value, [v.solution_value for v in x.values()], m.solve_details.status)
""")

# docplex's name of a status, then CPLEX's code and words for an LP and with integers
_STATUS: dict[str, tuple[str, int, str, int, str]] = {
    "optimal": ("OPTIMAL_SOLUTION", 1, "optimal", 101, "integer optimal solution"),
    "infeasible": ("INFEASIBLE_SOLUTION", 3, "infeasible", 103, "integer infeasible"),
    "unbounded": ("UNBOUNDED_SOLUTION", 2, "unbounded", 118, "integer unbounded"),
    "limit": ("UNKNOWN", 11, "time limit exceeded", 108, "time limit exceeded, no integer solution"),
}


@hook("docplex.mp.model")
def patch(module: ModuleType) -> None:
    def solve_here(self: Any, **kwargs: Any) -> Any:
        """In place of a solve by CPLEX."""
        found: list[Captured] = []
        reasons: list[str] = []

        def read_here() -> Captured:
            try:
                found.append(read(self))
            except Unsupported as error:
                reasons.append(str(error))
                raise
            return found[0]

        with RECORDER.solving("docplex", read_here):
            if not found:
                self.fatal("Cannot solve model: no CPLEX runtime or licence here, and {0}",
                           reasons[0] if reasons else "the model could not be read")
            return leave(self, found[0], float(kwargs.get("time_limit") or math.inf))

    functools.update_wrapper(solve_here, module.Model.solve)
    module.Model.solve = solve_here
    for method in ("export_as_lp", "export_to_stream", "export_as_mps", "export_as_sav", "dump_as_lp"):
        written(module.Model, method, "docplex", read)


@hook("docplex.cp.model")
def patch_cp(module: ModuleType) -> None:
    solve = module.CpoModel.solve

    @functools.wraps(solve)
    def solve_here(self: Any, *args: Any, **kwargs: Any) -> Any:
        def refuse() -> Captured:
            raise Unsupported("docplex: a constraint programming model (docplex.cp)")

        with RECORDER.solving("docplex", refuse):
            return solve(self, *args, **kwargs)

    module.CpoModel.solve = solve_here


def leave(model: Any, captured: Captured, seconds: float) -> Any:
    """Solve by HiGHS and leave solution and details where docplex keeps them; the solution or None."""
    from docplex.mp.sdetails import SolveDetails
    from docplex.mp.solution import SolveSolution
    from docplex.util.status import JobSolveStatus

    found = answer(captured, seconds)
    whole = bool(captured.integer.any())
    name, *codes = _STATUS[found.status]
    code, words = codes[2:] if whole else codes[:2]
    details = SolveDetails(time=found.seconds, status_code=code, status_string=words, ncolumns=len(captured.columns),
                           problem_type="MILP" if whole else "LP", miprelgap=0.0, nonzeros=len(captured.data))
    status = JobSolveStatus[name]
    solution = None
    if found.values is not None:
        by_variable = {v: float(a) for v, a in zip(model.iter_variables(), found.values, strict=False) if a}
        solution = SolveSolution.make_engine_solution(
            model, by_variable, found.objective, None, "cplex_local", details, status)
    model._solve_details, model._last_solve_status = details, status
    model._set_solution(solution)
    return solution


def read(model: Any) -> Captured:
    """Raises Unsupported for what no rows and binaries can say."""
    if model.has_multi_objective():
        raise Unsupported("docplex: the model has several objectives")
    _resolve(model)
    columns = list(model.iter_variables())
    kinds = [v.vartype.cplex_typecode for v in columns]
    lower, upper = (sides([getattr(v, end) for v in columns]) for end in ("lb", "ub"))
    parted = [k for k, kind in enumerate(kinds) if kind in "SN"]
    spans = [(float(lower[k]), float(upper[k])) for k in parted]
    lower[parted], upper[parted] = np.minimum(lower[parted], 0), np.maximum(upper[parted], 0)
    at = {v: k for k, v in enumerate(columns)}
    rows, conditions, quadratic, pieces = Rows(), [], [], []
    for each in (*model.iter_constraints(), *model._lazy_constraints):
        kind = type(each).__name__
        if kind in ("LinearConstraint", "NotEqualConstraint"):
            terms, ends = _row(each, at)
            rows.add(each.name or "", terms.indices, terms.values, *ends)
        elif kind == "RangeConstraint":
            terms = _linear(each.expr, at)
            rows.add(each.name or "", terms.indices, terms.values, *(
                float(exact(side) - exact(terms.constant)) for side in (each.lb, each.ub)))
        elif hasattr(each, "binary_var"):
            conditions.append(each)
        elif kind == "QuadraticConstraint":
            quadratic.append(each)
        elif kind == "PwlConstraint":
            pieces.append(each)
        else:
            raise Unsupported(f"docplex: the model has a {kind}")
    objective = model.objective_expr
    cost = np.zeros(len(columns))
    for v, a in objective.iter_terms():
        cost[at[v]] += a
    products = list(objective.iter_quads()) if objective.is_quad_expr() else []
    base = Captured.of(
        "docplex", "docplex", maximize=model.is_maximized(), offset=float(objective.get_constant()),
        columns=[v.name or "" for v in columns], cost=cost, lower=lower, upper=upper,
        integer=[kind in "BIN" for kind in kinds], **rows.arrays())
    ordered = list(model.iter_sos())
    if not (parted or conditions or quadratic or pieces or products or ordered):
        return base
    logic = Logic(base)
    for each in conditions:
        _condition(logic, each, at)
    for k, span in zip(parted, spans, strict=True):
        logic.about("semi-continuous variable", base.columns[k]).semicontinuous(k, *span)
    for each in pieces:
        logic.about("piecewise-linear constraint", each.name or "")
        xs, ys, before, after = each.pwl_func._cplex_breaks()
        points = [(float(exact(xs[0]) - 1), float(exact(ys[0]) - exact(before))), *zip(xs, ys, strict=True),
                  (float(exact(xs[-1]) + 1), float(exact(ys[-1]) + exact(after)))]
        logic.piecewise(at[each.expr], Linear.column(at[each.y]), points)
    for each in ordered:
        kind = each.sos_type.value
        logic.about(f"special ordered set of type {kind}").ordered_set(kind, [at[v] for v in each.iter_variables()])
    logic.about("quadratic objective")
    for pair, a in products:
        logic.charge(logic.product(at[pair[0]], at[pair[1]]), a)
    for each in quadratic:
        _quadratic(logic, each, at)
    return logic.captured()


def _resolve(model: Any) -> None:
    """max, or and the like get their variables and rows when they are first looked at."""
    size = -1
    while size != model.number_of_variables + model.number_of_constraints:
        size = model.number_of_variables + model.number_of_constraints
        for each in (*model.iter_constraints(), *model._lazy_constraints):
            list(each.iter_variables())
        list(model.objective_expr.iter_variables())


def _condition(logic: Logic, each: Any, at: dict[Any, int]) -> None:
    kind = "equivalence" if type(each).__name__ == "EquivalenceConstraint" else "indicator constraint"
    logic.about(kind, each.name or "")
    literal = logic.literal(at[each.binary_var], bool(each.active_value))
    terms, ends = _row(each.linear_constraint, at)
    logic.enforced([literal], terms, *ends)
    if kind == "equivalence":
        logic.otherwise([~literal], terms, *ends)


def _quadratic(logic: Logic, each: Any, at: dict[Any, int]) -> None:
    logic.about("quadratic constraint", each.name or "")
    indices, values = [], []
    for v, a in each.iter_net_linear_coefs():
        indices.append(at[v])
        values.append(a)
    for pair, a in each.iter_net_quads():
        indices.append(logic.product(at[pair[0]], at[pair[1]]).indices[0])
        values.append(a)
    logic.row(Linear(tuple(indices), tuple(values)), *_within(each))


def _row(each: Any, at: dict[Any, int]) -> tuple[Linear, tuple[float, float]]:
    terms = list(each.iter_net_linear_coefs())
    return Linear(tuple(at[v] for v, _ in terms), tuple(float(a) for _, a in terms)), _within(each)


def _within(each: Any) -> tuple[float, float]:
    side, sense = float(each.cplex_num_rhs()), each.cplex_code
    return (-math.inf if sense == "L" else side), (math.inf if sense == "G" else side)


def _linear(expression: Any, at: dict[Any, int]) -> Linear:
    terms = list(expression.iter_terms())
    return Linear(tuple(at[v] for v, _ in terms), tuple(float(a) for _, a in terms), float(expression.get_constant()))
