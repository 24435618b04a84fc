"""The feasible set of one Problem: how far a linear function goes on it, with a proof or a point.

Every answer is checked in rational arithmetic.  That a function stays within a limit is proved by the duals of an exact
LP basis, by a small branch and bound over such bases, or else by two solver families that agree; that it goes beyond is
shown by a point that breaks nothing, exactly.  What is neither is Open, with the reason.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from orpipe import exact_lp
from orpipe.exact_lp import Vertex
from orpipe.exact_rows import at_most, no_point
from orpipe.problem import Problem
from orpipe.roles import asked
from orpipe.solve import VERTEX, Outcome, Result, settle, solver
from orpipe.verify.equivalence.changes import bounded_by_rows
from orpipe.verify.equivalence.question import Question, meant
from orpipe.verify.equivalence.reach import LOOSE, TIGHT, Below, Clock, Point, Reach, Within

if TYPE_CHECKING:
    from orpipe_solvers._hot import AimedLP, Node

_MOST_ENTRIES = 20_000  # of a matrix that is kept in the solver between LPs


class Region:
    """`problem` without its objective.  rules of tolerance: see `maximum`."""

    def __init__(self, problem: Problem, clock: Clock) -> None:
        self.problem, self.clock = bounded_by_rows(exact_lp.without_objective(problem)), clock

    @cached_property
    def relaxed(self) -> Problem:
        return exact_lp.relaxed(self.problem)

    @cached_property
    def whole(self) -> np.ndarray:
        return np.flatnonzero(self.problem.integer)

    def maximum(self, w: np.ndarray, limit: float, tight: float = TIGHT, loose: float = LOOSE, size: float = 0.0) -> Reach:
        """Does w @ x stay at most `limit`?  w (n,).

        It is exceeded where it is by more than `loose` times the size of the terms added (`size` is added to it), and
        kept where it never is by more than the rounding of the limit, or of the terms where that moves nothing.  In between, it is
        kept if it never is by more than `loose` times the terms at that very point.
        """
        w, limit = meant(w), float(meant(np.array([limit]))[0])
        finite = np.isfinite(self.problem.lower), np.isfinite(self.problem.upper)
        ends = np.where(w > 0, np.where(finite[1], self.problem.upper, np.inf), np.where(finite[0], self.problem.lower, -np.inf))
        used = w != 0
        terms = w[used] * ends[used]
        if terms.sum() <= limit + 1e-14 * (abs(limit) + np.abs(terms[np.isfinite(terms)]).sum()):
            return Within("bounds")
        return Question(self, w, limit, tight, loose, size).answer()

    def value(self, w: np.ndarray, point: Point) -> Fraction:
        return sum((Fraction(repr(float(w[j]))) * point[j] for j in np.flatnonzero(w).tolist()), start=Fraction(0))

    # -- solves
    @cached_property
    def hot(self) -> AimedLP | None:
        """For the LPs over the rows as they are: each starts from the basis of the last."""
        from orpipe_solvers._hot import AimedLP  # the solver's library: sandboxed processes, which import this package, do without

        fits = self.problem.n_vars and self.problem.n_nonzeros <= _MOST_ENTRIES and solver(VERTEX[0]).accepts(self.problem) is None
        return AimedLP(self.problem) if fits else None

    def _again(self, problem: Problem) -> Node | None:
        own = self.problem
        same = problem.matrix is own.matrix and problem.row_lower is own.row_lower and problem.row_upper is own.row_upper
        if not same or self.hot is None or (problem.lower > problem.upper).any():
            return None
        self.clock.solves["lp"] += 1
        return self.hot.aimed(problem.cost, problem.maximize, problem.lower, problem.upper, self.clock.left())

    def lp(self, problem: Problem, enough: Fraction | None = None) -> Vertex | Outcome | Below:
        """The exact optimum of an LP, or what the solver says instead; ERROR where no basis is optimal exactly.  enough: of a
        maximum, Below if it is proved to be at most this."""
        node = self._again(problem)
        if node is not None and node.status == "optimal":
            if enough is not None and node.duals is not None and node.objective <= float(enough) + 1e-6 * abs(float(enough)) + 1e-6:
                most = at_most(problem, problem.cost_exact, node.duals)
                if most is not None and most <= enough:
                    return Below()
            basis = self.hot.basis() if self.hot is not None else None
            found = None if basis is None else exact_lp.vertex(problem, basis)
            if found is not None and found.optimal:
                return found
        elif node is not None and node.duals is not None and no_point(problem, node.duals):
            return Outcome.INFEASIBLE
        said = Outcome.ERROR
        for name in VERTEX:
            self.clock.solves["lp"] += 1
            result = solver(name).solve(problem, self.clock.left())
            if result.outcome is not Outcome.OPTIMAL:
                if result.outcome.proof or result.outcome is Outcome.INFEASIBLE_OR_UNBOUNDED:
                    return result.outcome
                said = result.outcome
                continue
            found = None if result.basis is None else exact_lp.vertex(problem, result.basis)
            if found is not None and found.optimal:
                return found
        return said

    def bounded_lp(self, problem: Problem, enough: Fraction) -> Outcome | Below | None:
        """INFEASIBLE, or Below for a maximum of at most `enough`, each by exact multipliers from one run; None if that shows neither."""
        node = self._again(problem)
        if node is None or node.duals is None:
            return Outcome.INFEASIBLE if (problem.lower > problem.upper).any() else None
        if node.status == "optimal":
            most = at_most(problem, problem.cost_exact, node.duals)
            return Below() if most is not None and most <= enough else None
        return Outcome.INFEASIBLE if no_point(problem, node.duals) else None

    def mip(self, problem: Problem, family: int = 0) -> Result | None:
        """By the first solver of the kind's policy, or by the first of another family (family=1); None if none takes it."""
        names = asked(problem)
        names = names[:1] if family == 0 else names[1:]
        for name in names:
            if solver(name).accepts(problem) is None:
                self.clock.solves["mip" if family == 0 else "second"] += 1
                return settle(solver(name), problem, self.clock.left())
        return None

    def repaired(self, problem: Problem, result: Result) -> Vertex | None:
        """Best exact point with the whole columns of `result` rounded; None if there is none."""
        if result.point is None or not np.isfinite(result.point).all():
            return None
        whole = [round(v) if k else 0 for v, k in zip(result.point.tolist(), problem.integer.tolist(), strict=True)]
        found = self.lp(exact_lp.fixed(problem, whole))
        return found if isinstance(found, Vertex) else None

    def feasible_point(self) -> Point | None:
        """Some exact point; None if none was found."""
        if not len(self.whole):
            found = self.lp(self.problem)
            return found.point if isinstance(found, Vertex) else None
        result = self.mip(self.problem)
        repaired = None if result is None or not result.outcome.proof else self.repaired(self.problem, result)
        return None if repaired is None else repaired.point
