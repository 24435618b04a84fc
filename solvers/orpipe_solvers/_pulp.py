"""`pulp:NAME`: any solver that PuLP reaches, such as pulp:CBC (which PuLP brings along), pulp:HiGHS or pulp:GLPK.

OR-Tools' bundled HiGHS is never used in this process: after PuLP is imported it crashes.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pulp

from orpipe.errors import EnvironmentError_, NotFound
from orpipe.roles import Setting, engine
from orpipe.solve import Outcome, installed_version
from orpipe_solvers._bridge import Bridge, Plain, Said, quiet

# Short names, each with what PuLP calls it, in the order in which they are tried.
_SHORT = {
    "cbc": ("PULP_CBC_CMD", "COIN_CMD"),
    "glpk": ("GLPK_CMD",),
    "highs": ("HiGHS", "HiGHS_CMD"),
    "gurobi": ("GUROBI", "GUROBI_CMD"),
    "cplex": ("CPLEX_PY", "CPLEX_CMD"),
    "scip": ("SCIP_PY", "SCIP_CMD"),
    "xpress": ("XPRESS_PY", "XPRESS"),
    "copt": ("COPT", "COPT_CMD"),
    "mosek": ("MOSEK",),
}
_PACKAGES = {"HiGHS": "highspy", "GUROBI": "gurobipy", "COPT": "coptpy", "MOSEK": "mosek", "SCIP_PY": "pyscipopt"}
_CLAIMS = {
    (pulp.LpStatusOptimal, pulp.LpSolutionOptimal): Outcome.OPTIMAL,
    (pulp.LpStatusOptimal, pulp.LpSolutionIntegerFeasible): Outcome.LIMIT_WITH_INCUMBENT,  # a time limit is "Optimal" to PuLP
    (pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible): Outcome.LIMIT_WITH_INCUMBENT,
}
_OUTCOMES = {
    pulp.LpStatusInfeasible: Outcome.INFEASIBLE,
    pulp.LpStatusUnbounded: Outcome.UNBOUNDED,
    pulp.LpStatusNotSolved: Outcome.LIMIT,
    pulp.LpStatusUndefined: Outcome.INFEASIBLE_OR_UNBOUNDED,
}
_DEVIATIONS = {
    "PULP_CBC_CMD": {
        "big_m": "CBC 2.10 takes a binary of 5e-8 for zero, whatever its tolerance",
        "integer_infeasible_unbounded_objective": "CBC 2.10 branches for ever on an unbounded line without whole points",
    },
    "GLPK_CMD": {
        "big_m": "GLPK 5.0 takes a binary of 5e-8 for zero, whatever its tolerance",
        "integer_infeasible_unbounded_objective": "GLPK 5.0 branches for ever on an unbounded line without whole points",
        "no_rows": "GLPK cannot read what PuLP writes of a problem without rows",
        "unbounded_no_rows": "GLPK cannot read what PuLP writes of a problem without rows",
    },
}


class Pulp(Bridge):
    package = "pulp"

    def __init__(self, stem: str, name: str) -> None:
        self.stem = stem
        super().__init__(f"pulp:{name}", engine(stem), stem)
        self.deviations = _DEVIATIONS.get(stem, {})
        self.digits = None if stem in _PACKAGES else 12

    @property
    def version(self) -> str:
        package = _PACKAGES.get(self.stem)
        own = installed_version(package) + " " if package else "bundled " if self.stem == "PULP_CBC_CMD" else ""
        return f"{own}(pulp {installed_version('pulp')})"

    def call(self, plain: Plain, time_limit: float, options: dict[str, Setting]) -> Said:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PuLP 3.3 about the names of PuLP 4
            return self._call(plain, time_limit, options)

    def _call(self, plain: Plain, time_limit: float, options: dict[str, Setting]) -> Said:
        problem = pulp.LpProblem("p", pulp.LpMinimize)
        kinds = ("Continuous", "Integer")
        x = [pulp.LpVariable(f"x{j}", low, high, kinds[whole])
             for j, (low, high, whole) in enumerate(zip(plain.lower, plain.upper, plain.integer, strict=True))]
        problem += pulp.LpAffineExpression({x[j]: c for j, c in enumerate(plain.cost) if c})
        problem.addVariables(x)
        for row in plain.rows:
            body = pulp.LpAffineExpression({x[j]: v for j, v in zip(row.columns, row.values, strict=True)})
            if row.low is not None and row.low == row.high:
                problem += body == row.low
                continue
            if row.low is not None:
                problem += body >= row.low
            if row.high is not None:
                problem += body <= row.high
        try:
            problem.solve(self._engine(time_limit, options))
        except KeyError as error:  # PuLP has no word for some of HiGHS' limits
            if "Limit" not in str(error):
                raise
            return Said(Outcome.LIMIT, message=str(error))
        status, solution = problem.status, problem.sol_status
        outcome = _CLAIMS.get((status, solution)) or _OUTCOMES.get(status, Outcome.ERROR)
        values = [v.varValue for v in x]
        missing = any(v is None for v in values)
        return Said(outcome, None if missing else np.array(values, float), "" if outcome is Outcome.OPTIMAL else pulp.LpStatus[status])

    def _engine(self, time_limit: float, options: dict[str, Setting]) -> Any:
        kind = type(pulp.getSolver(self.stem, msg=False))
        takes = inspect.signature(kind.__init__).parameters
        given: dict[str, Any] = {"msg": False, "timeLimit": max(time_limit, 0.01)}
        if self.stem == "GLPK_CMD":  # its options are flags of glpsol
            given["options"] = [part for key, value in options.items() for part in (f"--{key}", str(value))]
        elif any(p.kind is p.VAR_KEYWORD for p in takes.values()):
            # PuLP's own arguments come before the engine's: gapRel would overwrite a gap given by its engine's name.
            given |= {key: value for key, value in options.items() if key not in takes} | ({"threads": 1} if "threads" in takes else {})
        elif "options" in takes:
            given["options"] = [f"{key} {value}" for key, value in options.items()]
        if "gapRel" in takes:
            given["gapRel"] = 0.0
        return kind(**given)


def bridge(name: str) -> Pulp:
    """Raises NotFound for a name that PuLP does not know, EnvironmentError_ for a solver that is not installed."""
    known = {k.name.lower(): k.name for k in pulp.apis._all_solvers}  # listSolvers() makes one of each, and some print
    stems = _SHORT.get(name.lower()) or ((known[name.lower()],) if name.lower() in known else ())
    if not stems:
        raise NotFound.among("solver of PuLP", name, [*_SHORT, *known.values()])
    for stem in stems:
        try:
            found = engine(stem)
            with quiet(found.name if found else stem), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                there = bool(pulp.getSolver(stem, msg=False).available())
        except Exception:  # a plugin that cannot even look is not installed
            there = False
        if there:
            return Pulp(stem, name)
    raise EnvironmentError_(f"pulp:{name} is not installed here; install it so that its program stands in PATH or its package can be imported")
