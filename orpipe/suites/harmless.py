"""Proofs that two models of the same columns and objective have the same optimum although one admits more points.

Three arguments, each about the matrices at hand and complete there; none needs a solve:

    slack     rows are `=` in one model and inequalities in the other, and whatever exceeds the side can be taken away at no
              cost and without harm to any other row (demand met exactly or at least, at nonnegative costs)
    caps      one model limits columns that it never pays to raise beyond that limit (ship no more than the demand)
    vertices  one model asks for whole values, and the matrix is totally unimodular with whole sides and bounds, so that the
              other has a whole optimum too (Heller and Tompkins, 1956)

They settle mutants that no data can kill, which otherwise would count as survivors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orpipe.problem import Problem


def same_optimum(a: Problem, b: Problem) -> bool:
    """True if proved; False says nothing."""
    if a.columns != b.columns or a.maximize != b.maximize or a.offset != b.offset or (a.cost != b.cost).any():
        return False
    return any(_Pair(wide, tight).proved() for wide, tight in ((a, b), (b, a)))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Every point of `tight` is one of `wide`; is every point of `wide` matched by one of `tight` that is no worse?"""

    wide: Problem
    tight: Problem

    def proved(self) -> bool:
        w, t = self.wide, self.tight
        place = {name: i for i, name in enumerate(t.rows)}
        if len(place) != t.n_rows or any(name not in place for name in w.rows) or (w.lower != t.lower).any() or (w.upper < t.upper).any():
            return False
        A, B = w.matrix.toarray(), t.matrix.toarray()
        order = np.array([place[name] for name in w.rows], dtype=int)
        if A.shape[0] and (B[order] != A).any():
            return False
        low, high = t.row_lower[order], t.row_upper[order]
        extra = sorted(set(range(t.n_rows)) - set(order.tolist()))
        changed = np.flatnonzero((low != w.row_lower) | (high != w.row_upper))
        whole, bounds = bool((w.integer != t.integer).any()), bool((w.upper != t.upper).any())
        if len(changed):
            return not extra and not whole and not bounds and self._slack(A, changed, low, high)
        if whole:
            return not extra and not bounds and self._vertices(A)
        return (bool(extra) or bounds) and self._caps(A, B, extra)

    @property
    def cost(self) -> np.ndarray:
        return -self.wide.cost if self.wide.maximize else self.wide.cost

    def _slack(self, A: np.ndarray, changed: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
        """All changed rows go from >= (or all from <=) to =."""
        w = self.wide
        if (low[changed] != high[changed]).any():
            return False
        if (w.row_lower[changed] == low[changed]).all() and np.isinf(w.row_upper[changed]).all():
            sign = -1.0  # what exceeds the side is taken away
        elif (w.row_upper[changed] == high[changed]).all() and np.isinf(w.row_lower[changed]).all():
            sign = 1.0
        else:
            return False
        if (np.count_nonzero(A[changed], axis=0) > 1).any():
            return False
        rest = np.ones(w.n_rows, bool)
        rest[changed] = False
        for i in changed:
            columns = np.flatnonzero(A[i])
            step = sign * np.sign(A[i, columns])
            end = np.where(step < 0, w.lower[columns], w.upper[columns])
            if not np.isfinite(end).all() or sign * (A[i, columns] @ end - low[i]) < 0:
                return False
            if (self.cost[columns] * step > 0).any() or self._harms(A[rest][:, columns] * step, rest):
                return False
            kinds = w.integer[columns]
            by_ones = kinds.all() and (np.abs(A[i, columns]) == 1).all() and _is_whole(np.append(end, low[i]))
            if kinds.any() and not by_ones:
                return False
        return True

    def _harms(self, moves: np.ndarray, rows: np.ndarray) -> bool:
        """Does a move (rows, columns) bring some row towards a finite side?"""
        w = self.wide
        up, down = np.isfinite(w.row_upper[rows]), np.isfinite(w.row_lower[rows])
        return bool(((moves > 0) & up[:, None]).any() or ((moves < 0) & down[:, None]).any())

    def _caps(self, A: np.ndarray, B: np.ndarray, extra: list[int]) -> bool:
        """Upper bounds, and extra rows that are upper bounds of one column."""
        w, t = self.wide, self.tight
        cap = t.upper.copy()
        for i in extra:
            columns = np.flatnonzero(B[i])
            if len(columns) != 1 or B[i, columns[0]] <= 0 or np.isfinite(t.row_lower[i]):
                return False
            cap[columns[0]] = min(cap[columns[0]], t.row_upper[i] / B[i, columns[0]])
        capped = np.flatnonzero(cap < w.upper)
        if (cap < w.lower).any() or (self.cost[capped] < 0).any() or not _is_whole(cap[capped][w.integer[capped]]):
            return False
        least, most = _activities(A, w.lower, w.upper)
        for j in capped.tolist():
            a = A[:, j]
            for i in np.flatnonzero(a).tolist():
                if a[i] > 0 and np.isfinite(w.row_lower[i]) and not least(i, j) + a[i] * cap[j] >= w.row_lower[i]:
                    return False
                if a[i] < 0 and np.isfinite(w.row_upper[i]) and not most(i, j) + a[i] * cap[j] <= w.row_upper[i]:
                    return False
        return True

    def _vertices(self, A: np.ndarray) -> bool:
        w = self.wide
        if not np.isfinite(w.lower).all() or (w.integer & ~self.tight.integer).any():
            return False
        sides = np.concatenate([w.row_lower, w.row_upper, w.lower, w.upper])
        return _is_whole(sides[np.isfinite(sides)]) and not w.integer.any() and _network(A)


def _is_whole(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all())


_Without = Callable[[int, int], float]


def _activities(A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[_Without, _Without]:
    """Functions of (row, column): least and greatest activity of a row without a column, within bounds."""
    def end(i: int, j: int, low: np.ndarray, high: np.ndarray) -> float:
        others = [k for k in np.flatnonzero(A[i]).tolist() if k != j]
        return float(sum(A[i, k] * (low[k] if A[i, k] > 0 else high[k]) for k in others))

    return (lambda i, j: end(i, j, lower, upper)), (lambda i, j: end(i, j, upper, lower))


def _network(A: np.ndarray) -> bool:
    """Entries 0 and ±1, at most two in a column, and the rows in two classes: equal signs apart, opposite signs together."""
    if not np.isin(A, (-1.0, 0.0, 1.0)).all() or (np.count_nonzero(A, axis=0) > 2).any():
        return False
    links: dict[int, list[tuple[int, bool]]] = {}
    for column in A.T:
        rows = np.flatnonzero(column)
        if len(rows) == 2:
            i, k = int(rows[0]), int(rows[1])
            apart = bool(column[i] == column[k])
            links.setdefault(i, []).append((k, apart))
            links.setdefault(k, []).append((i, apart))
    colour: dict[int, bool] = {}
    for start in links:
        todo = [start] if start not in colour else []
        colour.setdefault(start, False)
        while todo:
            i = todo.pop()
            for k, apart in links[i]:
                if k not in colour:
                    colour[k] = colour[i] ^ apart
                    todo.append(k)
                elif colour[k] != colour[i] ^ apart:
                    return False
    return True
