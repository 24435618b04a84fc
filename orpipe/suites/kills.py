"""Does a mis-modelling change the answer on given data?  The one question of suites and of an instance's own data.

A mutant is killed where its status differs from the right model's, or its optimum by more than the tolerance of judging
(`orpipe.solve.TOLERANCE`).  Cheapest first: the same matrix; the right optimal point, feasible and better in the mutant
(exact arithmetic, no solve); one solver with a node limit.  What a limit leaves open is no kill.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from orpipe.algebra.nodes import Model
from orpipe.errors import DataError, ModelError, Unsupported
from orpipe.ground import Data, ground
from orpipe.mutate import Mutant
from orpipe.problem import Problem
from orpipe.solve import Label, Outcome, agree, label, settle, solver

SECONDS = 600.0  # a net for solves that hang; the node limit decides

Fate = Literal["killed", "same", "alive", "open"]


@dataclass(frozen=True, eq=False)
class Trial:
    """One data set of the right model (linear) with its label; mutants are tried on it."""

    linear: Model
    data: Data
    problem: Problem
    label: Label

    def fate(self, mutant: Mutant, nodes: int, sure: bool) -> Fate:
        """killed; same (the mutant grounds to the same matrix); alive (same answer); open (no data for it, or a limit).

        sure: a kill that rests on one solver is confirmed by a label of the mutant."""
        faulty = self.grounded(mutant)
        if faulty is None:
            return "open"
        if self._identical(faulty):
            return "same"
        if self._point_improves(faulty):
            return "killed"
        try:
            result = settle(solver("highs"), faulty, SECONDS, nodes)
        except Unsupported:
            return "open"
        if not result.outcome.proof:
            return "open"
        if result.outcome is Outcome(self.label.status) and (self.best is None or agree(result.objective or 0.0, self.best)):
            return "alive"
        return "killed" if not sure or self.confirmed(faulty, nodes) else "open"

    def grounded(self, mutant: Mutant) -> Problem | None:
        try:
            return ground(mutant.model, self.data)
        except (DataError, ModelError):
            return None

    def confirmed(self, faulty: Problem, nodes: int) -> bool:
        """The mutant's own label (two solver families, exact point) differs."""
        found = label(faulty, SECONDS, nodes)
        return isinstance(found, Label) and self.differs(found)

    def differs(self, found: Label) -> bool:
        """Another status, or an optimum beyond the tolerance."""
        return found.status != self.label.status or not self._agrees(found.objective_exact)

    def _agrees(self, value: Fraction | None) -> bool:
        best = self.label.objective_exact
        return value == best if value is None or best is None else agree(float(value), float(best))

    @cached_property
    def best(self) -> float | None:
        return None if self.label.objective_exact is None else float(self.label.objective_exact)

    def _identical(self, faulty: Problem) -> bool:
        p = self.problem
        return (p.columns == faulty.columns and p.n_rows == faulty.n_rows and p.difference(faulty, rtol=0.0) is None)

    def _point_improves(self, faulty: Problem) -> bool:
        """The optimum of the mutant is at least as good as this feasible point, which is better than the right optimum."""
        point, best = self.label.point, self.best
        if point is None or best is None or faulty.columns != self.problem.columns or faulty.maximize != self.problem.maximize:
            return False
        value = faulty.objective(point)
        better = value > self.label.objective_exact if faulty.maximize else value < self.label.objective_exact  # type: ignore[operator]
        return better and not agree(float(value), best) and not faulty.violations(point)
