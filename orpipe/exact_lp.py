"""Exact vertices of LPs: a float solver names the basis, everything after that is integer and rational arithmetic.

    vertex(problem, basis)            the point and the duals of a basis, checked exactly (primal and dual)
    fixed(problem, values)            the LP left when the integer columns are given
    without_objective(problem)        the feasibility question
    contradiction(problem)            a column or row whose own sides exclude each other
    elastic(problem)                  an LP whose exact optimum is positive exactly if the rows are infeasible (Farkas)
    recession(problem)                an LP whose exact optimum improves on 0 exactly if an improving ray exists

Integrality is ignored here except by `fixed`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.exact import Exact, concatenate
from orpipe.exact_rows import activity, feasible, peak
from orpipe.problem import Problem

_SAFE = 2**62
_ZERO = Fraction(0)
Rational = int | Fraction


class At(IntEnum):
    """Where a column or row stands in a basis."""

    BASIC = 0
    LOWER = 1
    UPPER = 2
    FREE = 3


@dataclass(frozen=True, eq=False)
class Basis:
    """columns (n,) and rows (m,): an `At` for each, int8.  A row is basic when it is not held at one of its sides."""

    columns: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Vertex:
    """The exact basic solution of one basis.

    feasible: the point breaks no row and no column bound.  optimal: feasible, and the duals have the right signs, so
    that no point of the LP is better.  duals (m,): change of the optimum per unit of each row's side, at an optimum.
    """

    point: tuple[Fraction, ...]
    objective: Fraction
    duals: tuple[Fraction, ...]
    feasible: bool
    optimal: bool


def vertex(problem: Problem, basis: Basis) -> Vertex | None:
    """The vertex of `basis`, or None if the statuses describe no basis (wrong count, singular, held at no side)."""
    matrix, A = problem.matrix, problem.matrix_exact
    columns = _held(basis.columns, problem.lower, problem.upper, problem.lower_exact, problem.upper_exact)
    rows = _held(basis.rows, problem.row_lower, problem.row_upper, problem.row_lower_exact, problem.row_upper_exact)
    basic, tight = np.flatnonzero(basis.columns == At.BASIC), np.flatnonzero(basis.rows != At.BASIC)
    if len(basic) != len(tight) or rows.adrift.any():
        return None
    row_of = np.repeat(np.arange(problem.n_rows), np.diff(matrix.indptr))

    # A x = side on the tight rows, nonbasic columns moved to the right: integers throughout, x = X * den / A.den.
    given = columns.value
    moved = Exact(activity(matrix, A.num, given.num), A.den * given.den)
    den = math.lcm(moved.den, rows.value.den)
    right = rows.value.over(den)[tight].astype(object) - moved.over(den)[tight].astype(object)
    place = np.full(problem.n_vars, -1)
    place[basic] = np.arange(len(basic))
    line = np.full(problem.n_rows, -1)
    line[tight] = np.arange(len(tight))
    inside = np.flatnonzero((place[matrix.indices] >= 0) & (line[row_of] >= 0))
    table: list[dict[int, int]] = [{} for _ in tight]
    for i, j, v in zip(line[row_of[inside]].tolist(), place[matrix.indices[inside]].tolist(), A.num[inside].tolist(),
                       strict=True):
        table[i][j] = v
    factors = _factor(table)
    if factors is None:
        return None

    # all entries as integers X over one denominator D
    solved = factors.solve(right.tolist())
    common = math.lcm(*(v.denominator for v in solved)) if solved else 1
    D = den * common
    X = [v * (D // given.den) for v in given.num.tolist()]
    for j, scaled in zip(basic.tolist(), solved, strict=True):
        X[j] = int(scaled * common) * A.den
    kept = feasible(problem, X, D)

    cost = problem.cost_exact
    y = factors.solve_transposed(cost.num[basic].tolist())
    common = math.lcm(*(v.denominator for v in y)) if y else 1
    Y = np.zeros(problem.n_rows, dtype=object)
    Y[tight] = [int(v * common) for v in y]
    reduced = cost.num.astype(object) * common - _activity_transposed(problem, row_of, Y)
    sign = -1 if problem.maximize else 1
    optimal = kept and _signs(sign * reduced, basis.columns, columns) and _signs(sign * Y, basis.rows, rows)
    value = sum(c * X[j] for j, c in enumerate(cost.num.tolist()) if c)
    down = cost.den * common
    return Vertex(tuple(Fraction(v, D) if v else _ZERO for v in X), problem.offset + Fraction(value, cost.den * D),
                  tuple(Fraction(v * A.den, down) if v else _ZERO for v in Y.tolist()), kept, optimal)


@dataclass(frozen=True, eq=False)
class _Held:
    """Values of nonbasic entries (0 for basic and free ones) and where they are held; adrift: nonbasic, at no side."""

    value: Exact
    low: np.ndarray
    high: np.ndarray
    equal: np.ndarray
    adrift: np.ndarray


def _held(status: np.ndarray, lower: np.ndarray, upper: np.ndarray, low: Exact, high: Exact) -> _Held:
    has_low, has_high = np.isfinite(lower), np.isfinite(upper)
    nonbasic = status != At.BASIC
    at_high = nonbasic & has_high & ((status == At.UPPER) | ~has_low)
    at_low = nonbasic & has_low & ~at_high
    den = math.lcm(low.den, high.den)
    a, b = low.over(den), high.over(den)
    value = np.where(at_low, a, np.where(at_high, b, 0))
    equal = has_low & has_high & (a == b).astype(bool)
    return _Held(Exact(value, den), at_low, at_high, equal, nonbasic & ~at_low & ~at_high)


def _signs(reduced: np.ndarray, status: np.ndarray, held: _Held) -> bool:
    """No held entry would improve the objective (to be minimised) by leaving its side."""
    positive, negative = (reduced > 0).astype(bool), (reduced < 0).astype(bool)
    wrong = (held.low & negative) | (held.high & positive) | (held.adrift & (positive | negative))
    return not (wrong & ~held.equal & (status != At.BASIC)).any()


def _activity_transposed(problem: Problem, row_of: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A.num transposed times integers y, as Python integers or int64 (n,)."""
    matrix, num = problem.matrix, problem.matrix_exact.num
    if peak(y) * peak(num) * max(problem.n_rows, 1) < _SAFE:
        y = y.astype(np.int64)
    products = num * y[row_of]
    by_column = np.argsort(matrix.indices, kind="stable")
    counts = np.bincount(matrix.indices, minlength=problem.n_vars)
    out = np.zeros(problem.n_vars, dtype=products.dtype)
    filled = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    if len(filled):
        out[filled] = np.add.reduceat(products[by_column], starts[filled])
    return out


@dataclass(frozen=True, eq=False)
class _Factors:
    """Row operations that turned a square integer matrix into a permuted triangular one, and that matrix."""

    rows: list[dict[int, int]]
    pivots: list[tuple[int, int]]
    operations: list[tuple[int, int, int, int, int]]  # row k := (a * row k - b * row i) / d, as (k, i, a, b, d)

    def solve(self, right: list[int]) -> list[Rational]:
        """x with M x = right."""
        b: list[Rational] = list(right)
        for k, i, a, f, d in self.operations:
            value = a * b[k] - f * b[i]
            b[k] = value if d == 1 else _over(value, d)
        x: list[Rational] = [0] * len(b)
        for i, j in reversed(self.pivots):
            row, rest = self.rows[i], b[i]
            for q, v in row.items():
                if q != j and x[q]:
                    rest -= v * x[q]
            x[j] = _over(rest, row[j])
        return x

    def solve_transposed(self, right: list[int]) -> list[Rational]:
        """y with y M = right."""
        c: list[Rational] = list(right)
        w: list[Rational] = [0] * len(c)
        for i, j in self.pivots:
            if not c[j]:
                continue
            row = self.rows[i]
            w[i] = value = _over(c[j], row[j])
            for q, v in row.items():
                if q != j:
                    c[q] -= value * v
        for k, i, a, f, d in reversed(self.operations):
            if w[k]:
                value = w[k] if d == 1 else _over(w[k], d)
                w[i] -= f * value
                w[k] = a * value
        return w


def _over(value: Rational, divisor: int) -> Rational:
    if isinstance(value, int):
        quotient, rest = divmod(value, divisor)
        return quotient if not rest else Fraction(value, divisor)
    return value / divisor


def _factor(rows: list[dict[int, int]]) -> _Factors | None:
    """Sparse elimination over the integers; `rows` are consumed.  None if singular.

    Column singletons first (no arithmetic), then the shortest row, in it the shortest column, units before others.
    """
    size = len(rows)
    where: list[set[int]] = [set() for _ in range(size)]
    for i, row in enumerate(rows):
        for j in row:
            where[j].add(i)
    single = [j for j in range(size) if len(where[j]) == 1]
    short = [(len(row), i) for i, row in enumerate(rows)]
    heapq.heapify(short)
    live = [True] * size
    open_column = [True] * size
    pivots: list[tuple[int, int]] = []
    operations: list[tuple[int, int, int, int, int]] = []
    while len(pivots) < size:
        i = j = -1
        while single and j < 0:
            q = single.pop()
            if open_column[q] and len(where[q]) == 1:
                (i,), j = where[q], q
        while j < 0:
            if not short:
                return None
            length, i = heapq.heappop(short)
            if not live[i] or length != len(rows[i]):
                continue
            row = rows[i]
            if not row:
                return None
            j = min(row, key=lambda q: (len(where[q]), abs(row[q]) != 1))  # type: ignore[index]
        row, pivot = rows[i], rows[i][j]
        live[i] = open_column[j] = False
        pivots.append((i, j))
        for q in row:
            where[q].discard(i)
            if len(where[q]) == 1:
                single.append(q)
        for k in where[j]:
            other = rows[k]
            entry = other.pop(j)
            shared = math.gcd(pivot, entry)
            a, f = pivot // shared, entry // shared
            if a < 0:
                a, f = -a, -f
            if a != 1:
                for q in other:
                    other[q] *= a
            for q, v in row.items():
                if q == j:
                    continue
                value = other.get(q, 0) - f * v
                if value:
                    other[q] = value
                    where[q].add(k)
                else:
                    del other[q]
                    where[q].discard(k)
                    if len(where[q]) == 1:
                        single.append(q)
            d = math.gcd(*other.values()) if a != 1 and other else 1
            if d > 1:
                for q in other:
                    other[q] //= d
            operations.append((k, i, a, f, d))
            heapq.heappush(short, (len(other), k))
        where[j].clear()
    return _Factors(rows, pivots, operations)


def fixed(problem: Problem, values: Sequence[int]) -> Problem:
    """The LP left when each integer column is fixed at its entry of `values` (n,); other entries are not read."""
    whole = Exact.of(np.array([int(v) for v in values], dtype=object))

    def pinned(bound: Exact) -> Exact:
        return Exact(np.where(problem.integer, whole.over(bound.den), bound.num), bound.den)

    as_float = whole.float()
    return replace(
        problem, integer=np.zeros(problem.n_vars, bool),
        lower_exact=pinned(problem.lower_exact), upper_exact=pinned(problem.upper_exact),
        lower=np.where(problem.integer, as_float, problem.lower),
        upper=np.where(problem.integer, as_float, problem.upper),
    )


def relaxed(problem: Problem) -> Problem:
    """The LP relaxation."""
    return replace(problem, integer=np.zeros(problem.n_vars, bool)) if problem.integer.any() else problem


def without_objective(problem: Problem) -> Problem:
    """The same rows, bounds and integrality with a zero objective."""
    return replace(problem, cost_exact=Exact(np.zeros(problem.n_vars, np.int64)), offset=Fraction(0))


def contradiction(problem: Problem) -> str | None:
    """The first column or row whose own sides exclude each other (integer column: no whole number between), or None."""
    p = problem
    for names, finite, low, high in (
        (p.columns, np.isfinite(p.lower) & np.isfinite(p.upper), p.lower_exact, p.upper_exact),
        (p.rows, np.isfinite(p.row_lower) & np.isfinite(p.row_upper), p.row_lower_exact, p.row_upper_exact),
    ):
        crossed = low.num.astype(object) * high.den > high.num.astype(object) * low.den
        if low is p.lower_exact:
            crossed = crossed | (p.integer & (-(-low.num // low.den) > high.num // high.den))
        found = np.flatnonzero(finite & crossed.astype(bool))
        if len(found):
            return names[found[0]]
    return None


def elastic(problem: Problem) -> Problem:
    """The LP that minimises how much the rows are broken, column bounds kept: cost 1 per unit on either side.

    Its exact optimum is positive exactly if the relaxation of `problem` is infeasible (given consistent bounds).
    """
    n, m = problem.n_vars, problem.n_rows
    short, over = np.flatnonzero(np.isfinite(problem.row_lower)), np.flatnonzero(np.isfinite(problem.row_upper))
    extra = len(short) + len(over)
    slack = sp.csr_array(
        (np.concatenate([np.ones(len(short)), -np.ones(len(over))]), (np.concatenate([short, over]), np.arange(extra))),
        shape=(m, extra),
    )
    # Both parts are laid out row by row, so exact entries can be merged in the order of the stacked matrix.
    matrix = sp.csr_array(sp.hstack([problem.matrix, slack], format="csr"))
    matrix.sort_indices()
    den = problem.matrix_exact.den
    num = np.zeros(matrix.nnz, dtype=problem.matrix_exact.num.dtype if den < _SAFE else object)
    old = matrix.indices < n
    num[old] = problem.matrix_exact.num
    num[~old] = np.array([den if v > 0 else -den for v in matrix.data[~old].tolist()], dtype=num.dtype)
    zeros, ones = Exact(np.zeros(extra, np.int64)), Exact(np.ones(extra, np.int64))
    return Problem(
        name=problem.name, maximize=False, columns=problem.columns + tuple(f"_slack{k}" for k in range(extra)),
        rows=problem.rows, cost_exact=concatenate([Exact(np.zeros(n, np.int64)), ones]), offset=Fraction(0),
        matrix=matrix, matrix_exact=Exact(num, den),
        row_lower_exact=problem.row_lower_exact, row_upper_exact=problem.row_upper_exact,
        lower_exact=concatenate([problem.lower_exact, zeros]), upper_exact=concatenate([problem.upper_exact, zeros]),
        row_lower=problem.row_lower, row_upper=problem.row_upper,
        lower=np.concatenate([problem.lower, np.zeros(extra)]),
        upper=np.concatenate([problem.upper, np.full(extra, np.inf)]),
        integer=np.zeros(n + extra, bool), decision=np.concatenate([problem.decision, np.zeros(extra, bool)]),
    )


def recession(problem: Problem) -> Problem:
    """The LP over directions d, -1 <= d <= 1, that keep every row and bound for ever, with the objective of `problem`.

    Its exact optimum is better than 0 exactly if the relaxation has an improving ray.  As data are rational, that and a
    feasible point prove unboundedness, integer columns included.
    """
    def side(finite: np.ndarray) -> tuple[np.ndarray, Exact]:
        return np.where(finite, 0.0, np.inf), Exact(np.zeros(len(finite), np.int64))

    row_lower, row_zero = side(np.isfinite(problem.row_lower))
    row_upper, _ = side(np.isfinite(problem.row_upper))
    low, high = np.where(np.isfinite(problem.lower), 0, -1), np.where(np.isfinite(problem.upper), 0, 1)
    return replace(
        problem, offset=Fraction(0), integer=np.zeros(problem.n_vars, bool),
        row_lower=-row_lower, row_upper=row_upper, row_lower_exact=row_zero, row_upper_exact=row_zero,
        lower=low.astype(float), upper=high.astype(float), lower_exact=Exact(low), upper_exact=Exact(high),
    )
