"""PDLP, OR-Tools' first-order method: linear programs only, and never a witness.

Its "optimal" holds within a relative tolerance, at no vertex: good for a second look at an objective, no proof of it.
"""

from __future__ import annotations

from orpipe.problem import Problem
from orpipe.roles import settings
from orpipe_solvers._ortools import BuilderSolver


class Pdlp(BuilderSolver):
    name = "pdlp"
    family = "pdlp"
    witness = False
    separator = ": "
    smallest = 1e-9
    infinite = 1e20
    settings = settings("pdlp")
    deviations = dict.fromkeys(("unbounded_ray", "unbounded_free", "unbounded_no_rows"),
                               "OR-Tools reports PDLP's dual infeasibility as not solved")

    def accepts(self, problem: Problem) -> str | None:
        if not problem.n_vars:
            return "no columns"
        return "integer columns" if problem.integer.any() else super().accepts(problem)


SOLVERS = (Pdlp(),)
