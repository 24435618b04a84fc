"""Models that a program writes to a file and never solves: pyomo, pulp, highspy, pywraplp and model_builder.

They count as long as the program solves nothing.  The other libraries watch their writing beside their solving.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from orpipe.errors import Unsupported
from orpipe.verify.capture import Captured, Rows, hook, written
from orpipe.verify.capture import pyomo as pyomo_models


@hook("pyomo.core.base.block")
def patch_pyomo(module: ModuleType) -> None:
    written(module.BlockData, "write", "pyomo", pyomo_models.read)


@hook("pulp")
def patch_pulp(pulp: ModuleType) -> None:
    for method in ("writeLP", "writeMPS", "to_json", "toJson", "to_dict", "toDict"):
        written(pulp.LpProblem, method, "pulp", read_pulp)


def read_pulp(problem: Any) -> Captured:
    import pulp

    if problem.sos1 or problem.sos2:
        raise Unsupported("pulp: the model has special ordered sets")
    variables = problem.variables()
    at = {id(v): k for k, v in enumerate(variables)}
    rows = Rows()
    for name, row in problem._constraints.items():
        lower, upper = row.getLb(), row.getUb()
        rows.add(name, [at[id(v)] for v in row], list(row.values()),
                 -math.inf if lower is None else lower, math.inf if upper is None else upper)
    objective = problem.objective
    return Captured.of(
        "pulp", "pulp", maximize=problem.sense == pulp.LpMaximize,
        offset=0.0 if objective is None else objective.constant, columns=[v.name for v in variables],
        cost=[0.0 if objective is None else objective.get(v, 0.0) for v in variables],
        lower=[-math.inf if v.lowBound is None else v.lowBound for v in variables],
        upper=[math.inf if v.upBound is None else v.upBound for v in variables],
        integer=[v.cat == pulp.LpInteger for v in variables], **rows.arrays())


@hook("highspy")
def patch_highspy(highspy: ModuleType) -> None:
    binding = highspy.Highs.__mro__[1]
    written(binding, "writeModel", "highspy", lambda h: binding.run.read(h),
            lambda _, filename: str(filename).lower().endswith((".lp", ".mps")) or not filename)


@hook("ortools.linear_solver.pywraplp")
def patch_wrapper(module: ModuleType) -> None:
    for method in ("ExportModelAsLpFormat", "ExportModelAsMpsFormat", "WriteModelToMpsFile", "Write"):
        written(module.Solver, method, "ortools", lambda solver: module.Solver.Solve.read(solver))


@hook("ortools.linear_solver.python.model_builder")
def patch_builder(module: ModuleType) -> None:
    for method in ("export_to_lp_string", "export_to_mps_string", "write_to_mps_file", "export_to_proto_file"):
        written(module.Model, method, "ortools", lambda model: module.Solver.solve.read(None, model))
