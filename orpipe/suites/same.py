"""Arguments that a mutant has the right model's answer, without a solve: enough to call it alive, never to kill it.

    restricted   the mutant has every row, bound and integrality of the right model, and the right optimal point
    dual         the right optimal point is the mutant's too, as the right duals prove the same bound there (linear programs)
    conflict     rows that contradict each other stand unchanged in the mutant
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from orpipe.problem import Problem
from orpipe.solve import Label, agree

_NEAR = 1e-9


def content(problem: Problem) -> bytes:
    """The numbers of a problem, with rows and columns as they come; equal for problems that differ in names alone."""
    parts = (problem.cost, problem.lower, problem.upper, problem.row_lower, problem.row_upper, problem.integer,
             problem.matrix.indptr, problem.matrix.indices, problem.matrix.data)
    return f"{problem.n_vars} {problem.n_rows} {problem.n_nonzeros} {problem.offset} ".encode() + b"".join(p.tobytes() for p in parts)


def feasible(problem: Problem, x: np.ndarray, tolerance: float) -> bool:
    """Rows and bounds, in floats."""
    return not any((low - v > tolerance * (1 + np.abs(low))).any() or (v - high > tolerance * (1 + np.abs(high))).any()
                   for v, low, high in ((x, problem.lower, problem.upper), (problem.matrix @ x, problem.row_lower, problem.row_upper)))


class Right:
    """The right model on one data set, with its label."""

    def __init__(self, problem: Problem, label: Label, conflict: Sequence[str] = ()):
        self.problem, self.label = problem, label
        names = {name: i for i, name in enumerate(problem.rows)}
        self.conflict = [names[name] for name in conflict if name in names]  # the others are bounds, which all must stand

    @cached_property
    def content(self) -> bytes:
        return content(self.problem)

    @cached_property
    def point(self) -> np.ndarray:
        """The right optimal point, of an optimum."""
        assert self.label.point is not None
        return np.array([float(v) for v in self.label.point])

    @cached_property
    def duals(self) -> np.ndarray | None:
        return None if self.label.duals is None else np.array([float(v) for v in self.label.duals])

    def value(self, faulty: Problem) -> float:
        """Of the right optimal point there."""
        return float(faulty.cost @ self.point) + float(faulty.offset)

    def answers(self, faulty: Problem) -> bool:
        """faulty: of the same columns and sense.  False says nothing."""
        if self.label.status == "infeasible":
            return self._restricted(faulty) or (bool(self.conflict) and self._still_in_conflict(faulty))
        if self.label.objective is None or not agree(self.value(faulty), self.label.objective):
            return False
        part = self.point[faulty.integer]
        if (part != np.rint(part)).any() or not feasible(faulty, self.point, _NEAR):
            return False
        return self._bounded_by_duals(faulty) or self._restricted(faulty)

    def _restricted(self, faulty: Problem) -> bool:
        p, f, m, size = self.problem, faulty, self.problem.n_rows, self.problem.n_nonzeros
        return bool(f.rows[:m] == p.rows and (f.cost == p.cost).all() and f.offset == p.offset
                and (f.lower >= p.lower).all() and (f.upper <= p.upper).all() and not (p.integer & ~f.integer).any()
                and (f.row_lower[:m] >= p.row_lower).all() and (f.row_upper[:m] <= p.row_upper).all()
                and np.array_equal(f.matrix.indptr[:m + 1], p.matrix.indptr)
                and np.array_equal(f.matrix.indices[:size], p.matrix.indices) and np.array_equal(f.matrix.data[:size], p.matrix.data))

    def _bounded_by_duals(self, faulty: Problem) -> bool:
        if self.duals is None or self.label.objective is None or len(set(faulty.rows)) != faulty.n_rows:
            return False
        own = dict(zip(self.problem.rows, self.duals.tolist(), strict=True))
        sign = -1.0 if faulty.maximize else 1.0
        y = sign * np.array([own.get(name, 0.0) for name in faulty.rows])
        reduced = sign * faulty.cost - faulty.matrix.T @ y
        reduced[np.abs(reduced) <= _NEAR] = 0.0
        bound = _least(y, faulty.row_lower, faulty.row_upper) + _least(reduced, faulty.lower, faulty.upper)
        return bool(np.isfinite(bound)) and agree(sign * bound + float(faulty.offset), self.label.objective)

    def _still_in_conflict(self, faulty: Problem) -> bool:
        p, f = self.problem, faulty
        if (f.lower < p.lower).any() or (f.upper > p.upper).any() or (p.integer & ~f.integer).any():
            return False
        names = {name: i for i, name in enumerate(f.rows)}
        for i in self.conflict:
            k = names.get(p.rows[i])
            if k is None or f.row_lower[k] < p.row_lower[i] or f.row_upper[k] > p.row_upper[i]:
                return False
            mine, theirs = slice(*p.matrix.indptr[i:i + 2]), slice(*f.matrix.indptr[k:k + 2])
            if not (np.array_equal(p.matrix.indices[mine], f.matrix.indices[theirs]) and np.array_equal(p.matrix.data[mine], f.matrix.data[theirs])):
                return False
        return True


def _least(weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Of weights @ v, low <= v <= high."""
    return float(np.where(weights > 0, weights, 0.0) @ np.where(weights > 0, low, 0.0)
                 + np.where(weights < 0, weights, 0.0) @ np.where(weights < 0, high, 0.0))
