"""Does a mis-modelling change the answer on given data?  The one question of suites and of an instance's own data.

A mutant is killed where its status differs from the right model's, or its optimum by more than the tolerance of judging
(`orpipe.solve.TOLERANCE`).  Cheapest first: the same matrix as the right model or as an earlier mutant; the right optimal point,
feasible and better in the mutant (exact arithmetic, no solve); a point that was optimal for an earlier mutant; an argument that
the answer is the same (`orpipe.suites.same`); one solver with a node limit, first on the relaxation.  What a limit leaves open is
no kill.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from orpipe.algebra.nodes import Model
from orpipe.disagreements import about
from orpipe.errors import DataError, ModelError, Unsupported
from orpipe.ground import Data, Variants, validate
from orpipe.mutate import Mutant
from orpipe.problem import Problem
from orpipe.solve import TOLERANCE, Label, Outcome, Result, agree, label, settle, solver, tuned
from orpipe.suites.same import Right, content, feasible

SECONDS = 600.0  # a net for solves that hang; the node limit decides

_MOST_POINTS = 12
_FEASIBLE, _WHOLE = 1e-9, 1e-8

# The searches are many and small: what pays in a long one does not here (measured: half of the time of them all).
_EARLY: dict[str, float | int | str] = {"mip_heuristic_effort": 0.0, "mip_allow_restart": False, "mip_allow_cut_separation_at_nodes": False}
_ROOM = 10  # times the tolerance, so that a search that stops early leaves no doubt

Fate = Literal["killed", "alive", "open"]


@dataclass(frozen=True, eq=False)
class Trial:
    """One data set of the right model (linear) with its label; mutants are tried on it.  conflict: names of rows that cannot
    hold together, of an infeasible model.  seen: points that told mutants apart."""

    linear: Model
    data: Data
    problem: Problem
    label: Label
    conflict: tuple[str, ...] = ()
    seen: list[np.ndarray] = field(default_factory=list)
    told: dict[bytes, Fate] = field(default_factory=dict)

    def fate(self, mutant: Mutant, nodes: int, sure: bool) -> Fate:
        """killed; alive (the same answer); open (the mutant does not ground on these data, or a limit).

        sure: a kill that rests on one solver is confirmed by a label of the mutant."""
        with about(f"with {mutant}"):
            return self._fate_of(self.grounded(mutant), nodes, sure)

    def _fate_of(self, faulty: Problem | None, nodes: int, sure: bool) -> Fate:
        if faulty is None:
            return "open"
        if faulty.columns != self.problem.columns or faulty.maximize != self.problem.maximize:
            return self._judged(faulty, nodes, sure)
        key = b"%d %d " % (nodes, sure) + content(faulty)
        if key not in self.told:
            self.told[key] = self._compared(faulty, nodes, sure)
        return self.told[key]

    def _compared(self, faulty: Problem, nodes: int, sure: bool) -> Fate:
        """With the right model, of the same columns and sense."""
        if content(faulty) == self.right.content:
            return "alive"
        if self._point_improves(faulty):
            return "killed"
        if self._seen_point_tells(faulty):
            return "open" if sure and not self.confirmed(faulty, nodes) else "killed"
        return "alive" if self.right.answers(faulty) else self._judged(faulty, nodes, sure)

    def _judged(self, faulty: Problem, nodes: int, sure: bool) -> Fate:
        try:
            found = self._solved(faulty, nodes)
        except Unsupported:
            return "open"
        return "open" if found == "killed" and sure and not self.confirmed(faulty, nodes) else found

    def _solved(self, faulty: Problem, nodes: int) -> Fate:
        """By one solver."""
        if faulty.integer.any() and self.best is not None:
            loose = settle(solver("highs"), replace(faulty, integer=np.zeros(faulty.n_vars, bool)), SECONDS)
            if loose.outcome is Outcome.INFEASIBLE or (loose.outcome is Outcome.OPTIMAL and self._worse(loose.objective or 0.0, faulty)):
                return "killed"  # as is the mutant, or no better
            if loose.outcome is Outcome.OPTIMAL and loose.point is not None and self._whole(loose.point, faulty):
                return self._fate(loose, faulty)
            if loose.outcome is Outcome.OPTIMAL and faulty.columns == self.problem.columns:
                return self._fate(settle(tuned(solver("highs"), _EARLY | self._goal(faulty)), faulty, SECONDS, nodes), faulty)
        return self._fate(settle(solver("highs"), faulty, SECONDS, nodes), faulty)

    def _goal(self, faulty: Problem) -> dict[str, float | int | str]:
        """The search may stop at a point that is better than the right optimum, and at once where none is as good."""
        assert self.best is not None
        sign, room = -1.0 if faulty.maximize else 1.0, _ROOM * TOLERANCE * max(1.0, abs(self.best))
        bound: dict[str, float | int | str] = {} if faulty.maximize or faulty.offset else {"objective_bound": self.best + room}
        return {"objective_target": self.best - sign * room} | bound

    def _fate(self, result: Result, faulty: Problem) -> Fate:
        if not result.outcome.proof:
            if result.point is None or not self._tells(result.point, faulty):
                return "open"
        elif result.outcome is Outcome(self.label.status) and (self.best is None or agree(result.objective or 0.0, self.best)):
            return "alive"
        if result.point is not None and faulty.columns == self.problem.columns:  # points of other variables say nothing here
            self.seen.insert(0, result.point)
            del self.seen[_MOST_POINTS:]
        return "killed"

    def grounded(self, mutant: Mutant) -> Problem | None:
        try:
            return self.variants.ground(mutant.model)
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
    def variants(self) -> Variants:
        return Variants(self.linear, validate(self.linear, self.data))

    @cached_property
    def right(self) -> Right:
        return Right(self.problem, self.label, self.conflict)

    @cached_property
    def best(self) -> float | None:
        return None if self.label.objective_exact is None else float(self.label.objective_exact)

    def _point_improves(self, faulty: Problem) -> bool:
        """The optimum of the mutant is at least as good as the right optimal point, which has a better value there."""
        point = self.label.point
        return point is not None and self._better(self.right.value(faulty), faulty) and not faulty.violations(point)

    def _seen_point_tells(self, faulty: Problem) -> bool:
        """The same of a point that was optimal for an earlier mutant (any will do where the right model has none); in floats,
        within the tolerances of a solver."""
        return any(self._tells(x, faulty) for x in self.seen)

    def _tells(self, x: np.ndarray, faulty: Problem) -> bool:
        return ((self.label.status == "infeasible" or self._better(float(faulty.cost @ x) + float(faulty.offset), faulty))
                and self._whole(x, faulty) and feasible(faulty, x, _FEASIBLE))

    def _whole(self, x: np.ndarray, faulty: Problem) -> bool:
        part = x[faulty.integer]
        return bool((np.abs(np.rint(part) - part) <= _WHOLE).all())

    def _better(self, value: float, faulty: Problem) -> bool:
        return self.best is not None and not agree(value, self.best) and (value > self.best if faulty.maximize else value < self.best)

    def _worse(self, value: float, faulty: Problem) -> bool:
        return self.best is not None and not agree(value, self.best) and not self._better(value, faulty)
