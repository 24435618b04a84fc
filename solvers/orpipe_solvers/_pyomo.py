"""`pyomo:NAME`: any linear or mixed-integer solver that Pyomo reaches, such as pyomo:cbc, pyomo:glpk or pyomo:gurobi."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.opt import SolverFactory
from pyomo.opt import TerminationCondition as End
from pyomo.opt.solver import SystemCallSolver
from pyomo.solvers.plugins.solvers.direct_or_persistent_solver import DirectOrPersistentSolver

from orpipe.errors import EnvironmentError_, NotFound
from orpipe.roles import Setting, engine
from orpipe.solve import Outcome, installed_version
from orpipe_solvers._bridge import Bridge, Plain, Said, quiet

_OUTCOMES = {
    End.optimal: Outcome.OPTIMAL,
    End.globallyOptimal: Outcome.OPTIMAL,
    End.infeasible: Outcome.INFEASIBLE,
    End.unbounded: Outcome.UNBOUNDED,
    End.infeasibleOrUnbounded: Outcome.INFEASIBLE_OR_UNBOUNDED,
    End.maxTimeLimit: Outcome.LIMIT_WITH_INCUMBENT,
    End.maxIterations: Outcome.LIMIT_WITH_INCUMBENT,
    End.maxEvaluations: Outcome.LIMIT_WITH_INCUMBENT,
    End.feasible: Outcome.LIMIT_WITH_INCUMBENT,
    End.resourceInterrupt: Outcome.LIMIT_WITH_INCUMBENT,
    End.userInterrupt: Outcome.LIMIT_WITH_INCUMBENT,
    End.intermediateNonInteger: Outcome.LIMIT,
    End.noSolution: Outcome.LIMIT,
}
_PATH = threading.Lock()
_MORE: dict[str, dict[str, Setting]] = {"glpk": {"nopresol": ""}}  # GLPK's presolver finds infeasible in words that Pyomo does not know
_DEVIATIONS = {
    "glpk": {
        "big_m": "GLPK 5.0 takes a binary of 5e-8 for zero, whatever its tolerance",
        "integer_infeasible_unbounded_objective": "Pyomo has no word for what GLPK says of an integer program with an unbounded relaxation",
        "integer_unbounded": "Pyomo has no word for what GLPK says of an integer program with an unbounded relaxation",
    },
}


@contextmanager
def _quiet() -> Iterator[None]:
    """No log on stderr, and executables beside the interpreter are found: a virtual environment need not be activated."""
    with _PATH:
        before = os.environ.get("PATH", "")
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
        try:
            with LoggingIntercept(io.StringIO(), "pyomo", logging.CRITICAL):
                yield
        finally:
            os.environ["PATH"] = before


class Pyomo(Bridge):
    package = "pyomo"

    def __init__(self, name: str) -> None:
        self.stem = name
        self._kept = threading.local()
        super().__init__(f"pyomo:{name}", engine(name), name)
        self.deviations = _DEVIATIONS.get(name, {})
        self.settings = {**self.settings, **_MORE.get(name, {})}

    @cached_property
    def _release(self) -> str:
        with _quiet():
            found = SolverFactory(self.stem).version()
        return ".".join(map(str, found)) if found else "unknown"

    @property
    def version(self) -> str:
        return f"{self._release} (pyomo {installed_version('pyomo')})"

    def _solver(self) -> Any:
        """A program's is kept, one a thread: a new one would ask it for its version at every solve."""
        kept = getattr(self._kept, "solver", None)
        if kept is None:
            kept = SolverFactory(self.stem)
            if isinstance(kept, SystemCallSolver):
                self._kept.solver = kept
        kept.options.clear()
        return kept

    def call(self, plain: Plain, time_limit: float, options: dict[str, Setting]) -> Said:
        model: Any = pyo.ConcreteModel()
        n = len(plain.cost)
        model.x = pyo.Var(range(n), bounds=lambda _, j: (plain.lower[j], plain.upper[j]))
        for j in range(n):
            if plain.integer[j]:
                model.x[j].domain = pyo.Integers
        x = [model.x[j] for j in range(n)]
        model.cost = pyo.Objective(expr=LinearExpression(constant=0, linear_coefs=plain.cost, linear_vars=x))
        model.rows = pyo.ConstraintList()
        for row in plain.rows:
            body = LinearExpression(constant=0, linear_coefs=row.values, linear_vars=[x[j] for j in row.columns])
            model.rows.add((body, row.low) if row.low == row.high else (row.low, body, row.high))
        with _quiet():
            solver = self._solver()
            if self.engine is not None and self.engine.seconds and _deaf(solver):
                options = options | {self.engine.seconds: time_limit}
            for key, value in options.items():
                solver.options[key] = value
            # Loading is ours: by default some of these raise where there is no point, others warn.
            results = solver.solve(model, load_solutions=False, tee=False, timelimit=time_limit)
            end = results.solver.termination_condition
            outcome = _OUTCOMES.get(end, Outcome.ERROR)
            if outcome not in (Outcome.OPTIMAL, Outcome.LIMIT_WITH_INCUMBENT):
                return Said(outcome, message=str(end))
            try:
                model.solutions.load_from(results)
            except ValueError:  # nothing to load
                return Said(outcome, message=str(end))
        values = [v.value for v in x]
        missing = any(v is None for v in values)
        return Said(outcome, None if missing else np.array(values, float), "" if outcome is Outcome.OPTIMAL else str(end))


def _deaf(solver: Any) -> bool:
    """Whether it ignores the time limit that it is given, and minds only the engine's own parameter."""
    return isinstance(solver, DirectOrPersistentSolver) or type(solver).__name__ == "GUROBISHELL"


def bridge(name: str) -> Pyomo:
    """Raises NotFound for a name that Pyomo does not know, EnvironmentError_ for a solver that is not installed."""
    known = {str(k) for k in SolverFactory} | {"cbc", "glpk", "gurobi", "highs"}
    with _quiet():
        stem = name if name in known else name.lower()
        if stem not in known:
            raise NotFound.among("solver of Pyomo", name, (k for k in known if not k.startswith("_")))
        try:
            found = engine(stem)
            with quiet(found.name if found else stem):
                there = bool(SolverFactory(stem).available(exception_flag=False))
        except Exception:  # a plugin that cannot even look is not installed
            there = False
    if not there:
        raise EnvironmentError_(f"pyomo:{name} is not installed here; install it so that its program stands in PATH or its package can be imported")
    return Pyomo(stem)
