"""A Problem as a dense float form, and what every comparison may take for granted about it.

    minimise  cost @ x + offset   subject to   lo <= A @ x <= hi,   low <= x <= high,   x[whole] whole

Every column is kept: singleton rows become bounds, empty and free rows go, bounds of whole columns are rounded inwards.
max f is min -f.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from orpipe.errors import Unsupported
from orpipe.exact import Exact
from orpipe.problem import Problem

MOST_ENTRIES = 6_000_000  # of the dense matrix
_WHOLE = 1e-9  # a bound this close (relative, and to _NEAR) to a whole number is that number
_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Form:
    """A (m, n); columns (n,) and rows (m,): positions in the Problem (-1 for a row or column made on the way).

    magnitude: the sum of what went into `offset`, for its tolerance.  empty: the bounds or an empty row contradict.
    """

    A: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    cost: np.ndarray
    offset: float
    magnitude: float
    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    empty: bool = False

    @property
    def n(self) -> int:
        return len(self.cost)

    @property
    def m(self) -> int:
        return len(self.lo)

    @property
    def equal(self) -> np.ndarray:
        """(m,) rows that are equalities."""
        return self.lo == self.hi

    def take_rows(self, kept: np.ndarray) -> Form:
        return replace(self, A=self.A[kept], lo=self.lo[kept], hi=self.hi[kept], rows=self.rows[kept])

    def take_columns(self, kept: np.ndarray) -> Form:
        """`kept`: a mask, or positions in a new order."""
        return replace(self, A=self.A[:, kept], cost=self.cost[kept], low=self.low[kept], high=self.high[kept],
                       whole=self.whole[kept], columns=self.columns[kept])

    def shifted(self, by: np.ndarray) -> Form:
        """In the coordinates t = x - by (n,)."""
        if not by.any():
            return self
        move, added = self.A @ by, self.cost * by
        return replace(self, lo=self.lo - move, hi=self.hi - move, low=self.low - by, high=self.high - by,
                       offset=self.offset + float(added.sum()), magnitude=self.magnitude + float(np.abs(added).sum()))


_FORMS: WeakKeyDictionary[Problem, Form] = WeakKeyDictionary()


def normalise(problem: Problem) -> Form:
    """Kept for as long as the Problem lives.  Raises Unsupported if the dense matrix would be too large."""
    found = _FORMS.get(problem)
    if found is None:
        found = _FORMS[problem] = tidy(_dense(problem))
    return found


def _dense(problem: Problem) -> Form:
    n, m, matrix = problem.n_vars, problem.n_rows, problem.matrix
    if n * m > MOST_ENTRIES:
        raise Unsupported(f"{m} rows by {n} columns are too many to compare (at most {MOST_ENTRIES:,} entries)")
    A = np.zeros((m, n))
    A[np.repeat(np.arange(m), np.diff(matrix.indptr)), matrix.indices] = matrix.data
    sign = -1.0 if problem.maximize else 1.0
    return Form(A, problem.row_lower.copy(), problem.row_upper.copy(), sign * problem.cost, sign * float(problem.offset),
                abs(float(problem.offset)), problem.lower.copy(), problem.upper.copy(), problem.integer.copy(),
                np.arange(n), np.arange(m))


def tidy(form: Form) -> Form:
    """Singleton rows as bounds, empty and free rows out, bounds of whole columns rounded inwards."""
    low, high, kept, empty = form.low.copy(), form.high.copy(), np.ones(form.m, bool), form.empty
    if form.m:
        entries = form.A != 0
        count = entries.sum(1)
        bare = count == 0
        if bare.any():
            scale = 1e-9 * np.maximum(1.0, form.magnitude)
            empty = empty or bool((form.lo[bare] > scale).any() or (form.hi[bare] < -scale).any())
        single = np.flatnonzero(count == 1)
        if len(single):
            where = entries[single].argmax(1)
            a = form.A[single, where]
            ends = np.stack([form.lo[single] / a, form.hi[single] / a])
            np.maximum.at(low, where, ends.min(0))
            np.minimum.at(high, where, ends.max(0))
        kept = (count > 1) & ((form.lo > -np.inf) | (form.hi < np.inf))
    whole = form.whole
    if whole.any():
        low[whole] = np.ceil(low[whole] - _beside_whole(low[whole]))
        high[whole] = np.floor(high[whole] + _beside_whole(high[whole]))
    with np.errstate(invalid="ignore"):
        gap = low - high > 1e-9 * np.maximum(1.0, np.minimum(_size(low), _size(high)))
    # bounds that cross by rounding alone are one point
    meet = (low > high) & ~gap
    high = np.where(meet, low, high)
    out = _rounded(form if kept.all() else form.take_rows(kept))
    return replace(out, low=low, high=high, empty=empty or bool(gap.any()))


def _rounded(form: Form) -> Form:
    """Sides of rows over whole columns with whole multiples as the values that such a sum can take."""
    if not form.whole.any() or not form.m:
        return form
    entries = form.A != 0
    able = np.flatnonzero(~entries[:, ~form.whole].any(1))
    if not len(able):
        return form
    A = np.abs(form.A[able])
    least = np.where(entries[able], A, np.inf).min(1)
    lo, hi = form.lo.copy(), form.hi.copy()
    for by_least in (False, True):
        unit = least if by_least else np.ones(len(able))
        ratio = A / unit[:, None]
        whole = (np.abs(ratio - np.rint(ratio)) <= 1e-12 * np.maximum(1.0, ratio)).all(1) & (ratio.max(1) < 2.0**52)
        if not whole.any():
            continue
        rows, step = able[whole], unit[whole] * np.gcd.reduce(np.rint(ratio[whole]).astype(np.int64), axis=1)
        with np.errstate(invalid="ignore"):
            low, high = lo[rows] / step, hi[rows] / step
        lo[rows] = np.ceil(low - _beside_whole(low)) * step
        hi[rows] = np.floor(high + _beside_whole(high)) * step
        able, A, least = able[~whole], A[~whole], least[~whole]
        if not len(able):
            break
    return replace(form, lo=lo, hi=hi)


def _beside_whole(values: np.ndarray) -> np.ndarray:
    size = _size(values)
    return np.maximum(np.minimum(_WHOLE * np.maximum(1.0, size), _NEAR), 1e-15 * size)


def _size(values: np.ndarray) -> np.ndarray:
    """Absolute values, infinities as 0."""
    return np.abs(np.where(np.isfinite(values), values, 0.0))


_SNAPPED: WeakKeyDictionary[Problem, Problem] = WeakKeyDictionary()
_LONG = 10**12  # denominators of numbers that no data sheet prints


def snapped(problem: Problem) -> Problem:
    """Numbers that carry the rounding of a program's floats (0.30000000000000004) as the numbers meant (3/10).

    Without that, an equality that follows from others in the data contradicts them by 1e-17 in the program's model."""
    parts = ("cost_exact", "matrix_exact", "row_lower_exact", "row_upper_exact", "lower_exact", "upper_exact")
    if all(getattr(problem, part).den <= _LONG for part in parts) and problem.offset.denominator <= _LONG:
        return problem
    found = _SNAPPED.get(problem)
    if found is None:
        known: dict[Fraction, Fraction] = {}
        exact: dict[str, Any] = {part: _snap(getattr(problem, part), known) for part in parts if getattr(problem, part).den > _LONG}
        floats: dict[str, Any] = {
            part.removesuffix("_exact"): np.where(np.isfinite(getattr(problem, part.removesuffix("_exact"))), value.float(),
                                                  getattr(problem, part.removesuffix("_exact")))
            for part, value in exact.items() if part not in ("cost_exact", "matrix_exact")}
        matrix = problem.matrix
        if "matrix_exact" in exact:
            matrix = sp.csr_array((exact["matrix_exact"].float(), matrix.indices, matrix.indptr), shape=matrix.shape)
        found = _SNAPPED[problem] = replace(problem, **exact, **floats, matrix=matrix, offset=_meant(problem.offset))
    return found


def _snap(values: Exact, known: dict[Fraction, Fraction]) -> Exact:
    out = []
    for value in values.fractions():
        if value not in known:
            known[value] = _meant(value)
        out.append(known[value])
    return Exact.of(np.array(out, dtype=object)) if out else values


def _meant(value: Fraction) -> Fraction:
    """The simplest fraction, or else the shortest decimal, within the rounding of a few float operations."""
    if value.denominator <= _LONG:
        return value
    near = value.limit_denominator(10_000)
    if abs(near - value) <= abs(value) / 10**14:
        return near
    return Fraction(f"{float(value):.13g}")
