"""Does a mis-modelling change the answer on given data?  The one question of suites and of an instance's own data.

A mutant is killed where its status differs from the right model's, or its optimum by more than the tolerance of judging
(`orpipe.solve.TOLERANCE`).  Cheapest first: the right optimal point, feasible and better in the mutant (exact arithmetic, no
solve); a point that was optimal for an earlier mutant; one solver with a node limit.  What a limit leaves open is no kill.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from orpipe.algebra.nodes import Model
from orpipe.errors import DataError, ModelError, Unsupported
from orpipe.ground import Arrays, Data, ground_arrays, validate
from orpipe.mutate import Mutant
from orpipe.problem import Problem
from orpipe.solve import Label, Outcome, agree, label, settle, solver

SECONDS = 600.0  # a net for solves that hang; the node limit decides

_MOST_POINTS = 12
_FEASIBLE, _WHOLE = 1e-9, 1e-8

Fate = Literal["killed", "alive", "open"]


@dataclass(frozen=True, eq=False)
class Trial:
    """One data set of the right model (linear) with its label; mutants are tried on it.  seen: points that told mutants apart."""

    linear: Model
    data: Data
    problem: Problem
    label: Label
    seen: list[np.ndarray] = field(default_factory=list)

    def fate(self, mutant: Mutant, nodes: int, sure: bool) -> Fate:
        """killed; alive (the same answer); open (the mutant does not ground on these data, or a limit).

        sure: a kill that rests on one solver is confirmed by a label of the mutant."""
        faulty = self.grounded(mutant)
        if faulty is None:
            return "open"
        comparable = self.best is not None and faulty.columns == self.problem.columns and faulty.maximize == self.problem.maximize
        if comparable and self._point_improves(faulty):
            return "killed"
        try:
            found = "killed" if comparable and self._seen_point_improves(faulty) else self._solved(faulty, nodes)
        except Unsupported:
            return "open"
        return "open" if found == "killed" and sure and not self.confirmed(faulty, nodes) else found

    def _solved(self, faulty: Problem, nodes: int) -> Fate:
        """By one solver."""
        result = settle(solver("highs"), faulty, SECONDS, nodes)
        if not result.outcome.proof:
            return "open"
        if result.outcome is Outcome(self.label.status) and (self.best is None or agree(result.objective or 0.0, self.best)):
            return "alive"
        if result.point is not None and faulty.columns == self.problem.columns:  # points of other variables say nothing here
            self.seen.insert(0, result.point)
            del self.seen[_MOST_POINTS:]
        return "killed"

    def grounded(self, mutant: Mutant) -> Problem | None:
        try:
            return ground_arrays(mutant.model, self.arrays)
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
    def arrays(self) -> Arrays:
        return validate(self.linear, self.data)

    @cached_property
    def best(self) -> float | None:
        return None if self.label.objective_exact is None else float(self.label.objective_exact)

    def _point_improves(self, faulty: Problem) -> bool:
        """The optimum of the mutant is at least as good as the right optimal point, which has a better value there."""
        point = self.label.point
        return point is not None and self._better(float(faulty.objective(point)), faulty) and not faulty.violations(point)

    def _seen_point_improves(self, faulty: Problem) -> bool:
        """The same of a point that was optimal for an earlier mutant; in floats, within the tolerances of a solver."""
        for x in self.seen:
            if not self._better(float(faulty.cost @ x) + float(faulty.offset), faulty):
                continue
            whole = np.rint(x[faulty.integer])
            if (np.abs(whole - x[faulty.integer]) > _WHOLE).any():
                continue
            at = faulty.matrix @ x
            if not any((low - v > _FEASIBLE * (1 + np.abs(low))).any() or (v - high > _FEASIBLE * (1 + np.abs(high))).any()
                       for v, low, high in ((at, faulty.row_lower, faulty.row_upper), (x, faulty.lower, faulty.upper))):
                return True
        return False

    def _better(self, value: float, faulty: Problem) -> bool:
        return self.best is not None and not agree(value, self.best) and (value > self.best if faulty.maximize else value < self.best)
