"""Models that a program writes to a file and never solves: pyomo, pulp, highspy, pywraplp and model_builder.

They count as long as the program solves nothing.  The other libraries watch their writing beside their solving.
"""

from __future__ import annotations

from types import ModuleType

from orpipe.verify.capture import hook, written
from orpipe.verify.capture import pulp as pulp_models
from orpipe.verify.capture import pyomo as pyomo_models


@hook("pyomo.core.base.block")
def patch_pyomo(module: ModuleType) -> None:
    written(module.BlockData, "write", "pyomo", pyomo_models.read)


@hook("pulp")
def patch_pulp(pulp: ModuleType) -> None:
    for method in ("writeLP", "writeMPS", "to_json", "toJson", "to_dict", "toDict"):
        written(pulp.LpProblem, method, "pulp", pulp_models.read)


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
