"""A Problem with one thing changed, exactly: bounds of some columns, one more row, one more column, the objective as a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from orpipe.exact import Exact, concatenate
from orpipe.problem import Problem

Bound = tuple[Fraction | None, Fraction | None]


def with_bounds(problem: Problem, bounds: Mapping[int, Bound]) -> Problem:
    """With the lower and upper bounds given for some columns in place of theirs (None: theirs)."""
    changed: dict[str, Any] = {}
    for side, name in enumerate(("lower", "upper")):
        given = {j: pair[side] for j, pair in bounds.items() if pair[side] is not None}
        if not given:
            continue
        exact, floats = getattr(problem, f"{name}_exact"), getattr(problem, name).copy()
        values = Exact.of([given[j] for j in given])
        den = int(np.lcm(exact.den, values.den)) if max(exact.den, values.den) < 2**31 else exact.den * values.den
        num = exact.over(den).astype(object) if values.num.dtype == object or den >= 2**31 else exact.over(den).copy()
        where = np.fromiter(given, int, len(given))
        num[where] = values.over(den)
        floats[where] = values.float()
        changed |= {f"{name}_exact": Exact(num, den), name: floats}
    return replace(problem, **changed)


def bounded_by_rows(problem: Problem) -> Problem:
    """With what rows of one entry say as bounds, too, where these are tighter; the rows stay."""
    single = np.flatnonzero(np.diff(problem.matrix.indptr) == 1)
    low: dict[int, Fraction] = {}
    high: dict[int, Fraction] = {}
    for i in single.tolist():
        at = int(problem.matrix.indptr[i])
        j, a = int(problem.matrix.indices[at]), Fraction(int(problem.matrix_exact.num[at]), problem.matrix_exact.den)
        if not a:
            continue
        for exact, floats, upper in ((problem.row_lower_exact, problem.row_lower, a < 0), (problem.row_upper_exact, problem.row_upper, a > 0)):
            if not np.isfinite(floats[i]):
                continue
            end = Fraction(int(exact.num[i]), exact.den) / a
            if upper and end < min(high.get(j, end + 1), _bound(problem.upper_exact, problem.upper, j, end + 1)):
                high[j] = end
            elif not upper and end > max(low.get(j, end - 1), _bound(problem.lower_exact, problem.lower, j, end - 1)):
                low[j] = end
    return with_bounds(problem, {j: (low.get(j), high.get(j)) for j in low.keys() | high.keys()}) if low or high else problem


def _bound(exact: Exact, floats: np.ndarray, j: int, none: Fraction) -> Fraction:
    return Fraction(int(exact.num[j]), exact.den) if np.isfinite(floats[j]) else none


def with_row(problem: Problem, w: Exact, low: Fraction | None, high: Fraction | None, name: str = "_row") -> Problem:
    """With one more row low <= w @ x <= high."""
    entries = np.flatnonzero(w.num)
    row = sp.csr_array((w.float()[entries], entries.astype(np.int32), np.array([0, len(entries)])), shape=(1, problem.n_vars))
    matrix = sp.csr_array(sp.vstack([problem.matrix, row], format="csr"))

    def side(exact: Exact, floats: np.ndarray, value: Fraction | None, none: float) -> tuple[Exact, np.ndarray]:
        return (concatenate([exact, Exact.of([value or Fraction(0)])]),
                np.append(floats, none if value is None else float(value)))

    low_exact, lows = side(problem.row_lower_exact, problem.row_lower, low, -np.inf)
    high_exact, highs = side(problem.row_upper_exact, problem.row_upper, high, np.inf)
    return replace(
        problem, rows=(*problem.rows, name), matrix=matrix, matrix_exact=concatenate([problem.matrix_exact, w[entries]]),
        row_lower_exact=low_exact, row_lower=lows, row_upper_exact=high_exact, row_upper=highs)


def with_column(problem: Problem, name: str) -> Problem:
    """With one more column, free, continuous, standing nowhere yet."""
    matrix = sp.csr_array((problem.matrix.data, problem.matrix.indices, problem.matrix.indptr),
                          shape=(problem.n_rows, problem.n_vars + 1))
    zero = Exact.of([0])
    return replace(
        problem, columns=(*problem.columns, name), matrix=matrix, cost_exact=concatenate([problem.cost_exact, zero]),
        lower_exact=concatenate([problem.lower_exact, zero]), upper_exact=concatenate([problem.upper_exact, zero]),
        lower=np.append(problem.lower, -np.inf), upper=np.append(problem.upper, np.inf),
        integer=np.append(problem.integer, False), decision=np.append(problem.decision, True))


OBJECTIVE = "objective value"  # the column, and the row that defines it


def with_objective_column(problem: Problem, name: str = OBJECTIVE) -> Problem:
    """minimise t with one more column t at least the objective (of max f: of min -f)."""
    sign = -1 if problem.maximize else 1
    wider = with_column(problem, name)
    cost = Exact(sign * wider.cost_exact.num, wider.cost_exact.den)
    n = problem.n_vars
    unit = np.zeros(n + 1, np.int64)
    unit[n] = 1
    below = with_row(wider, cost + Exact(-unit), None, Fraction(-sign) * problem.offset, name)
    return replace(below, maximize=False, offset=Fraction(0), cost_exact=Exact(unit))
