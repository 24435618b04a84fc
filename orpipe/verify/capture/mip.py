"""mip (python-mip): CBC holds the model, which is read at optimize() and answered by HiGHS.

The CBC of the wheel (2.935) crashes on special ordered sets; Gurobi and HiGHS, asked for by name, are not to be had.
"""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import Any

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.bounds import sides
from orpipe.verify.capture import Captured, Rows, hook, library, recorded, written
from orpipe.verify.capture._highs import answer
from orpipe.verify.logic import Logic

library("mip", words=("mip",), preload=("mip", "mip.cbc", "highspy"), rehearsal="""
from mip import BINARY, MINIMIZE, Model, OptimizationStatus, xsum
m = Model("rehearsal", sense=MINIMIZE)
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
y = {i: m.add_var(var_type=BINARY, name=f"y[{i}]") for i in I}
x = {(i, j): m.add_var(name=f"x[{i},{j}]") for i in I for j in J}
m.objective = xsum(7 * y[i] for i in I) + xsum(1.5 * v for v in x.values())
for j in J:
    m += xsum(x[i, j] for i in I) == 4, f"demand[{j}]"
for i in I:
    m.add_constr(xsum(x[i, j] for j in J) <= 9.5 * y[i], f"capacity[{i}]")
if m.optimize() == OptimizationStatus.OPTIMAL:
    print("optimal_value =", m.objective_value, [v.x for v in m.vars])
""")

_STATUS = {"optimal": "OPTIMAL", "infeasible": "INFEASIBLE", "unbounded": "UNBOUNDED", "limit": "NO_SOLUTION_FOUND"}


@hook("mip")
def patch(mip: ModuleType) -> None:
    model = mip.Model
    start, add_set = model.__init__, model.add_sos

    @functools.wraps(start)
    def start_here(self: Any, name: str = "", sense: str = mip.MINIMIZE, solver_name: str = "",
                   solver: Any = None) -> None:
        self._orpipe_sets = []
        start(self, name, sense, "CBC", solver)

    @functools.wraps(add_set)
    def add_set_here(self: Any, sos: Any, sos_type: int) -> None:
        self._orpipe_sets.append((sos_type, list(sos)))  # CBC keeps them to itself

    model.__init__, model.add_sos = start_here, add_set_here
    # Lazy constraints cannot be read back; as ordinary ones they say the same.
    model.add_lazy_constr = lambda self, expr: self.add_constr(expr)
    recorded(model, "optimize", "mip", read)
    written(model, "write", "mip", read, lambda _, file_path: str(file_path).lower().endswith((".lp", ".mps")))


@hook("mip.cbc")
def patch_cbc(module: ModuleType) -> None:
    """The solver's results, in the private fields where CBC's would stand."""
    solver = module.SolverCbc
    optimize = solver.optimize

    def optimize_here(self: Any, relax: bool = False, lp_preprocess: bool = False) -> Any:
        try:
            captured = read(self.model, relax=relax)
        except Unsupported:
            return optimize(self, relax, lp_preprocess)
        found = answer(captured, self.get_max_seconds())
        results: dict[str, Any] = {"obj_val": None, "obj_bound": None, "num_solutions": 0}
        if found.values is None:
            nothing = module.EmptyVarSol(self.model)
            results |= {"x": nothing, "rc": nothing, "pi": module.EmptyRowSol(self.model)}
            results["slack"] = results["pi"]
        else:
            n, m = self.num_cols(), self.num_rows()
            right = np.where(np.isfinite(captured.row_upper), captured.row_upper, captured.row_lower)
            slack = np.abs(right - found.activity)
            reduced, duals = (np.full(size, np.nan) if each is None else each
                              for each, size in ((found.reduced_costs, n), (found.duals, m)))
            results |= {"obj_val": found.objective, "obj_bound": found.objective, "num_solutions": 1,
                        "x": found.values[:n].tolist(), "rc": reduced[:n].tolist(), "pi": duals[:m].tolist(),
                        "slack": slack[:m].tolist()}
        for name, value in results.items():
            setattr(self, f"_SolverCbc__{name}", value)
        return module.OptimizationStatus[_STATUS[found.status]]

    solver.optimize = optimize_here
    solver.get_objective_value_i = lambda self, i: self.get_objective_value()
    solver.var_get_xi = lambda self, var, i: self.var_get_x(var)


def read(model: Any, *limits: Any, relax: bool = False, **_: Any) -> Captured:
    """Raises Unsupported for constraints that are made while the model is solved."""
    relax = bool(limits[5]) if len(limits) > 5 else relax
    if model.lazy_constrs_generator is not None:
        raise Unsupported("mip: a generator adds lazy constraints while the model is solved")
    columns = list(model.vars)
    rows = Rows()
    for row in model.constrs:
        terms = row.expr
        side = -terms.const
        rows.add(row.name, [v.idx for v in terms.expr], list(terms.expr.values()),
                 -math.inf if terms.sense == "<" else side, math.inf if terms.sense == ">" else side)
    objective = model.objective
    cost = np.zeros(len(columns))
    for v, a in objective.expr.items():
        cost[v.idx] += a
    kinds = [v.var_type for v in columns]
    lower, upper = (sides(getattr(v, end) for v in columns) for end in ("lb", "ub"))
    base = Captured.of(
        "mip", "mip", maximize=str(model.sense).upper() == "MAX", offset=float(objective.const),
        columns=[v.name for v in columns], cost=cost, lower=lower, upper=upper,
        integer=[kind in "BI" and not relax for kind in kinds], **rows.arrays())
    if not model._orpipe_sets:
        return base
    logic = Logic(base)
    for kind, members in model._orpipe_sets:
        order = sorted(members, key=lambda each: each[1])
        logic.about(f"special ordered set of type {kind}").ordered_set(kind, [v.idx for v, _ in order])
    return logic.captured()
