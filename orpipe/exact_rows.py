"""The rows and bounds of a Problem in integer arithmetic.

    activity(matrix, num, x)     a matrix-vector product that never overflows
    feasible(problem, X, D)      does the point X / D keep all of them?
    at_most(problem, w, y)       what multipliers y prove about w @ x: it does not exceed
                                 (w - y A) @ x + y @ (A x), each part as large as column bounds and row sides let it be
    no_point(problem, ray)       do multipliers prove that nothing keeps them all?

Where multipliers come from does not matter.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.exact import Exact
from orpipe.problem import Problem

_SAFE = 2**62
_STEPS = (1, 720720)  # multipliers are whole, or have small denominators, or are rounded to the second's steps
_CLOSE = 1e-9
_LARGEST = 2.0**50


def peak(num: np.ndarray) -> int:
    return int(np.abs(num).max()) if num.size else 0


def activity(matrix: sp.csr_array, num: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Integer matrix-vector product, never overflowing (m,)."""
    m = matrix.shape[0]
    if not matrix.nnz:
        return np.zeros(m, dtype=np.int64)
    if num.dtype == object or x.dtype == object or peak(num) * peak(x) * matrix.shape[1] >= _SAFE:
        num, x = num.astype(object), x.astype(object)
    out = np.zeros(m, dtype=num.dtype)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    out[filled] = np.add.reduceat(num * x[matrix.indices], matrix.indptr[filled])
    return out


def feasible(problem: Problem, X: list[int], D: int) -> bool:
    """Does X / D break no row and no column bound?"""
    A, x = problem.matrix_exact, np.array(X, dtype=object)
    if max(map(abs, X), default=0) < _SAFE:
        x = x.astype(np.int64)
    for have, over, low, high, has_low, has_high in (
        (x, D, problem.lower_exact, problem.upper_exact, problem.lower, problem.upper),
        (activity(problem.matrix, A.num, x), A.den * D, problem.row_lower_exact, problem.row_upper_exact, problem.row_lower, problem.row_upper),
    ):
        for sign, bound, floats in ((1, low, has_low), (-1, high, has_high)):
            finite = np.isfinite(floats)
            if finite.any() and (sign * _compared(have[finite], bound.num[finite], over, bound.den) < 0).any():
                return False
    return True


def _compared(a: np.ndarray, b: np.ndarray, a_den: int, b_den: int) -> np.ndarray:
    """Integers with the signs of a / a_den - b / b_den."""
    if a.dtype == object or b.dtype == object or max(peak(a) * b_den, peak(b) * a_den, b_den, a_den) >= _SAFE:
        a, b = a.astype(object), b.astype(object)
    return a * b_den - b * a_den


def at_most(problem: Problem, w: Exact, multipliers: np.ndarray) -> Fraction | None:
    """A number that w @ x does not exceed on the relaxation, by multipliers (m,) rounded to short fractions; None if they prove none."""
    y = _short(multipliers)
    if y is None:
        return None
    A, indptr = problem.matrix_exact, problem.matrix.indptr
    unit = math.lcm(w.den, A.den * y.den)
    Y = np.where(np.where(y.num > 0, np.isfinite(problem.row_upper), np.isfinite(problem.row_lower)), y.num, 0).astype(object)
    over = np.zeros(problem.n_vars, dtype=object)
    np.add.at(over, problem.matrix.indices, A.num.astype(object) * np.repeat(Y, np.diff(indptr)))
    R = w.num.astype(object) * (unit // w.den) - over * (unit // (A.den * y.den))
    columns = _side(R, problem.lower, problem.upper, problem.lower_exact, problem.upper_exact)
    rows = _side(Y, problem.row_lower, problem.row_upper, problem.row_lower_exact, problem.row_upper_exact)
    return None if columns is None or rows is None else columns / unit + rows / y.den


def no_point(problem: Problem, ray: np.ndarray) -> bool:
    """Do multipliers, or their negatives, prove that the relaxation has no point?"""
    peak = np.abs(ray).max(initial=0.0)
    if not 0 < peak < np.inf:
        return False
    nothing = Exact(np.zeros(problem.n_vars, np.int64))
    for sign in (1.0, -1.0):
        most = at_most(problem, nothing, sign * ray / peak)
        if most is not None and most < 0:
            return True
    return False


def _short(values: np.ndarray) -> Exact | None:
    if not np.isfinite(values).all() or np.abs(values).max(initial=0.0) * _STEPS[-1] > _LARGEST:
        return None
    for step in _STEPS:
        scaled = values * step
        whole = np.rint(scaled)
        if step == _STEPS[-1] or (np.abs(scaled - whole) <= _CLOSE * np.maximum(1.0, np.abs(scaled))).all():
            return Exact(whole.astype(np.int64), step)
    return None


def _side(factor: np.ndarray, low: np.ndarray, high: np.ndarray, low_exact: Exact, high_exact: Exact) -> Fraction | None:
    """The sum of factor times the side that makes it largest; None where that side is endless."""
    up, down = (factor > 0).astype(bool), (factor < 0).astype(bool)
    if not (np.isfinite(high[up]).all() and np.isfinite(low[down]).all()):
        return None
    total = Fraction(0)
    for where, exact in ((up, high_exact), (down, low_exact)):
        if where.any():
            total += Fraction(int((factor[where] * exact.num[where].astype(object)).sum()), exact.den)
    return total
