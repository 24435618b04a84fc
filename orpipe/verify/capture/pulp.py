"""pulp: whatever solver object a program passes, the problem is recorded and solved by HiGHS inside the process."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from orpipe.errors import Unsupported
from orpipe.verify.capture import RECORDER, Captured, Rows, hook, library

_OTHERS = {"GUROBI": "gurobipy", "COPT": "coptpy"}  # solver classes and the libraries that pulp imports for them
library("pulp", words=("pulp",), preload=("pulp", "highspy"), aside=tuple(_OTHERS.values()), rehearsal="""
import pulp
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
m = pulp.LpProblem("rehearsal", pulp.LpMinimize)
y = pulp.LpVariable.dicts("y", I, cat="Binary")
x = pulp.LpVariable.dicts("x", (I, J), lowBound=0)
m += pulp.lpSum(7 * y[i] for i in I) + pulp.lpSum(1.5 * x[i][j] for i in I for j in J)
for j in J:
    m += pulp.lpSum(x[i][j] for i in I) == 4, f"demand_{j}"
for i in I:
    m += pulp.lpSum(x[i][j] for j in J) <= 9.5 * y[i], f"capacity_{i}"
m.solve()
print(pulp.LpStatus[m.status], pulp.value(m.objective), [v.varValue for v in m.variables()])
""")


@hook("pulp")
def patch(pulp: ModuleType) -> None:
    class Recording(pulp.HiGHS):  # type: ignore[name-defined,misc]
        """HiGHS in place of a program's solver; keeps its limits, drops its log."""

        def actualSolve(self, lp: Any, **_: Any) -> Any:
            with RECORDER.solving("pulp", lambda: read(lp, self.mip)):
                return super().actualSolve(lp)

        def findSolutionValues(self, lp: Any) -> Any:
            """pulp calls HiGHS's "unbounded or infeasible" infeasible; here a solve without objective decides."""
            answer = super().findSolutionValues(lp)
            h, status = lp.solverModel, lp.solverModel.getModelStatus
            if status().name != "kUnboundedOrInfeasible":
                return answer
            for k in range(h.getNumCol()):
                h.changeColCost(k, 0.0)
            h.run()
            if status().name == "kOptimal":
                return pulp.LpStatusUnbounded, pulp.LpSolutionUnbounded
            return answer

    def stand_in(solver: Any) -> Any:
        if isinstance(solver, Recording):
            return solver
        limit = getattr(solver, "timeLimit", None)
        return Recording(mip=getattr(solver, "mip", True), msg=False, timeLimit=limit)

    for name in _OTHERS:
        if "__init__" not in vars(other := getattr(pulp, name)):  # without its library, which a stand-in does not need either
            other.available, other.close = lambda _: True, lambda _: None
    problem = pulp.LpProblem
    solve, sequential = problem.solve, problem.sequentialSolve

    def solve_here(self: Any, solver: Any = None, **kwargs: Any) -> Any:
        return solve(self, stand_in(solver or self.solver))

    def sequential_here(self: Any, objectives: Any, absoluteTols: Any = None, relativeTols: Any = None,
                        solver: Any = None, debug: bool = False) -> Any:
        return sequential(self, objectives, absoluteTols, relativeTols, stand_in(solver or self.solver), debug)

    problem.solve, problem.sequentialSolve = solve_here, sequential_here


def read(lp: Any, mip: bool = True) -> Captured:
    """mip=False: the relaxation is solved."""
    import pulp

    if lp.sos1 or lp.sos2:
        raise Unsupported("pulp: the model has special ordered sets")
    variables = [v for v in lp.variables() if v is not lp.dummyVar]  # stands in an empty objective while solving
    at = {id(v): k for k, v in enumerate(variables)}
    rows = Rows()
    for name, row in lp._constraints.items():
        terms = [(at[id(v)], a) for v, a in row.items() if id(v) in at]
        lower, upper = row.getLb(), row.getUb()
        rows.add(name, [k for k, _ in terms], [a for _, a in terms],
                 -math.inf if lower is None else lower, math.inf if upper is None else upper)
    objective = lp.objective
    return Captured.of(
        "pulp", "pulp", maximize=lp.sense == pulp.LpMaximize, offset=objective.constant if objective is not None else 0.0,
        columns=[v.name for v in variables],
        cost=[objective.get(v, 0.0) if objective is not None else 0.0 for v in variables],
        lower=[-math.inf if v.lowBound is None else v.lowBound for v in variables],
        upper=[math.inf if v.upBound is None else v.upBound for v in variables],
        integer=[mip and v.cat == pulp.LpInteger for v in variables], **rows.arrays(),
    )
