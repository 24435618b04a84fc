"""GLOP, OR-Tools' simplex: linear programs only."""

from __future__ import annotations

from orpipe.problem import Problem
from orpipe.roles import settings
from orpipe.solve import Outcome
from orpipe_solvers._ortools import BuilderSolver


class Glop(BuilderSolver):
    name = "glop"
    family = "glop"
    separator = ": "
    smallest = 1e-14
    infinite = 1e30
    settings = settings("glop")

    def accepts(self, problem: Problem) -> str | None:
        return "integer columns" if problem.integer.any() else super().accepts(problem)

    def outcome(self, said: Outcome, message: str) -> Outcome:
        # It reports dual infeasibility (max b; a - b + c = 0, all >= 1) as INFEASIBLE too.
        return Outcome.INFEASIBLE_OR_UNBOUNDED if said is Outcome.INFEASIBLE else said


SOLVERS = (Glop(),)
