"""Problem: one grounded LP or MILP, as sparse float arrays for solvers and exact rationals for proof.

    sense  cost @ x + offset  subject to  row_lower <= matrix @ x <= row_upper,  lower <= x <= upper,  x[integer] whole

Infinite bounds are ±inf in the float arrays (their exact entries are then meaningless and never read).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp

from orpipe.exact import Exact

Kind = Literal["LP", "MILP", "IP", "BIP"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken row, bound or integrality at a point; amount > 0, in the unit of the row or column."""

    where: str
    rule: Literal["row", "lower", "upper", "integer"]
    amount: Fraction


@dataclass(frozen=True, eq=False)
class Problem:
    """n columns, m rows, nnz nonzeros.  Arrays are not to be written to.

    matrix: csr_array (m, n), indices sorted in each row, no duplicates, no stored zeros; matrix_exact is aligned with
    matrix.data.  cost/lower/upper/integer/decision: (n,).  row_lower/row_upper: (m,).
    `decision` is False for auxiliary columns (order, slack, epigraph variables).
    """

    name: str
    maximize: bool
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cost_exact: Exact
    offset: Fraction
    matrix: sp.csr_array
    matrix_exact: Exact
    row_lower_exact: Exact
    row_upper_exact: Exact
    lower_exact: Exact
    upper_exact: Exact
    row_lower: np.ndarray
    row_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integer: np.ndarray
    decision: np.ndarray

    @cached_property
    def cost(self) -> np.ndarray:
        return self.cost_exact.float()

    @property
    def n_vars(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_nonzeros(self) -> int:
        return int(self.matrix.nnz)

    @cached_property
    def binary(self) -> np.ndarray:
        return self.integer & (self.lower == 0) & (self.upper == 1)

    @property
    def kind(self) -> Kind:
        if not self.integer.any():
            return "LP"
        if not self.integer.all():
            return "MILP"
        return "BIP" if self.binary.all() else "IP"

    @cached_property
    def column_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.columns)}

    @classmethod
    def from_arrays(
        cls,
        *,
        cost: Sequence[float] | np.ndarray,
        matrix: sp.sparray | sp.spmatrix | np.ndarray,
        row_lower: Sequence[float] | np.ndarray,
        row_upper: Sequence[float] | np.ndarray,
        lower: Sequence[float] | np.ndarray,
        upper: Sequence[float] | np.ndarray,
        integer: Sequence[bool] | np.ndarray,
        columns: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        maximize: bool = False,
        offset: float | Fraction = 0,
        name: str = "problem",
    ) -> Problem:
        """A Problem from float arrays (a captured model, a file), each float read as its printed decimal."""
        A = sp.csr_array(matrix, dtype=np.float64)
        A.sum_duplicates()
        A.eliminate_zeros()
        A.sort_indices()
        m, n = A.shape
        lo, hi = np.asarray(row_lower, float).reshape(m), np.asarray(row_upper, float).reshape(m)
        lb, ub = np.asarray(lower, float).reshape(n), np.asarray(upper, float).reshape(n)

        def finite(a: np.ndarray) -> Exact:
            return Exact.of(np.where(np.isfinite(a), a, 0.0))

        return cls(
            name=name, maximize=maximize,
            columns=tuple(columns) if columns is not None else tuple(f"x{k}" for k in range(n)),
            rows=tuple(rows) if rows is not None else tuple(f"r{k}" for k in range(m)),
            cost_exact=Exact.of(np.asarray(cost, float).reshape(n)),
            offset=Fraction(offset) if isinstance(offset, Fraction) else Fraction(repr(float(offset))),
            matrix=A, matrix_exact=Exact.of(A.data),
            row_lower_exact=finite(lo), row_upper_exact=finite(hi), lower_exact=finite(lb), upper_exact=finite(ub),
            row_lower=lo, row_upper=hi, lower=lb, upper=ub,
            integer=np.asarray(integer, bool).reshape(n), decision=np.ones(n, bool),
        )

    def objective(self, point: Sequence[Fraction]) -> Fraction:
        """Exact objective value, offset included.  `point` holds n exact values, else ValueError."""
        c = self.cost_exact
        if len(point) != self.n_vars:
            raise ValueError(f"a point of problem '{self.name}' has {self.n_vars} values, not {len(point)}")
        return self.offset + sum((v * point[j] for j, v in enumerate(c.num.tolist()) if v and point[j]), start=Fraction(0)) / c.den

    def point(self, values: Mapping[str, Fraction | int]) -> list[Fraction]:
        """A point (n,) from values by column name; absent columns are 0, unknown names raise KeyError."""
        x = [Fraction(0)] * self.n_vars
        for name, value in values.items():
            x[self.column_index[name]] = Fraction(value)
        return x

    def violations(self, point: Sequence[Fraction | int]) -> list[Violation]:
        """Everything `point` (n exact values) breaks, in exact arithmetic; empty means feasible."""
        found: list[Violation] = []
        values = [v if type(v) is Fraction else Fraction(v) for v in point]
        if len(values) != self.n_vars:
            raise ValueError(f"a point of problem '{self.name}' has {self.n_vars} values, not {len(values)}")
        den = math.lcm(*(v.denominator for v in values)) if values else 1
        x = np.array([v.numerator * (den // v.denominator) for v in values], dtype=object)

        def check(names: Sequence[str], have: np.ndarray, have_den: int, bound: Exact, finite: np.ndarray,
                  sign: int, rule: Literal["row", "lower", "upper"]) -> None:
            where = np.flatnonzero(finite)
            gap = (have[where] * bound.den - bound.num[where].astype(object) * have_den) * sign
            broken = (gap < 0).astype(bool)
            for k, gap_k in zip(where[broken].tolist(), gap[broken].tolist(), strict=True):
                found.append(Violation(names[k], rule, Fraction(-gap_k, have_den * bound.den)))

        if self.n_vars:
            check(self.columns, x, den, self.lower_exact, np.isfinite(self.lower), 1, "lower")
            check(self.columns, x, den, self.upper_exact, np.isfinite(self.upper), -1, "upper")
            for k in np.flatnonzero(self.integer).tolist():
                if values[k].denominator != 1:
                    off = values[k] - round(values[k])
                    found.append(Violation(self.columns[k], "integer", abs(off)))
        if self.n_rows:
            A = self.matrix
            products = self.matrix_exact.num.astype(object) * x[A.indices] if A.nnz else np.zeros(0, object)
            activity = np.zeros(self.n_rows, dtype=object)
            filled = np.flatnonzero(np.diff(A.indptr))
            if len(filled):
                activity[filled] = np.add.reduceat(products, A.indptr[filled])
            scale = den * self.matrix_exact.den
            check(self.rows, activity, scale, self.row_lower_exact, np.isfinite(self.row_lower), 1, "row")
            check(self.rows, activity, scale, self.row_upper_exact, np.isfinite(self.row_upper), -1, "row")
        return found

    def difference(self, other: Problem, rtol: float = 1e-12) -> str | None:
        """None if `other` is the same model up to the order of rows and columns and the orientation of rows, else the
        first difference in words.

        Columns are matched by name (brackets, commas and spaces are one separator: libraries rewrite names), rows by
        content.  `rtol` covers the rounding of coefficients that a program computes in floats from exact data.
        max f and min -f are the same model.
        """
        if self.n_vars != other.n_vars:
            return f"{other.n_vars} variables instead of {self.n_vars}"
        mine, theirs = _positions(self.columns), _positions(other.columns)
        if len(mine) != self.n_vars or len(theirs) != other.n_vars:
            return "two variables share a name"
        missing = sorted(mine.keys() - theirs.keys())
        if missing:
            return f"variable '{missing[0]}' is missing (found for example '{sorted(theirs.keys() - mine.keys())[0]}')"
        perm = np.array([theirs[key] for key in mine], dtype=np.int64)

        def differs(a: np.ndarray, b: np.ndarray, what: str, names: Sequence[str]) -> str | None:
            with np.errstate(invalid="ignore"):  # inf - inf
                close = np.abs(a - b) <= rtol * np.maximum(np.abs(a), np.abs(b))
            bad = np.flatnonzero(~((a == b) | (np.isfinite(a) & np.isfinite(b) & close)))
            return f"{what} of '{names[bad[0]]}' is {b[bad[0]]!r} instead of {a[bad[0]]!r}" if len(bad) else None

        flip = -1.0 if self.maximize != other.maximize else 1.0
        constant, other_constant = np.array([[self.offset], [flip * other.offset]], float)
        found = (
            differs(self.cost, flip * other.cost[perm], "objective coefficient", self.columns)
            or differs(self.lower, other.lower[perm], "lower bound", self.columns)
            or differs(self.upper, other.upper[perm], "upper bound", self.columns)
            or differs(self.integer.astype(float), other.integer[perm].astype(float), "integrality", self.columns)
            or differs(constant, other_constant, "constant", ["objective"])
        )
        if found:
            return found
        if self.n_rows != other.n_rows:
            return f"{other.n_rows} rows instead of {self.n_rows}"
        back = np.empty(len(perm), dtype=np.int64)
        back[perm] = np.arange(len(perm))
        ours = _keyed(self, np.arange(self.n_vars))
        for key, row in _keyed(other, back).items():
            if key not in ours:
                return f"row '{other.rows[row[0].index]}' is not in the model"
            if len(ours[key]) != len(row):
                return f"row '{other.rows[row[0].index]}' stands {len(row)} times instead of {len(ours[key])}"
            for a, b in zip(ours[key], row, strict=True):
                if not np.allclose(a.values, b.values, rtol=rtol, atol=0, equal_nan=False):
                    return f"row '{other.rows[b.index]}' has other numbers than '{self.rows[a.index]}'"
        return None


@dataclass(frozen=True, slots=True)
class _Row:
    index: int
    values: np.ndarray  # coefficients by column, then lower and upper side


def _positions(names: Sequence[str]) -> dict[str, int]:
    return {re.sub(r"[\W_]+", "_", name).strip("_").lower(): k for k, name in enumerate(names)}


def _keyed(problem: Problem, renumber: np.ndarray) -> dict[tuple, list[_Row]]:
    """Rows by column pattern and kind of sides, oriented so that the first coefficient is positive, sorted."""
    A = problem.matrix
    table: dict[tuple, list[_Row]] = {}
    for i in range(problem.n_rows):
        span = slice(A.indptr[i], A.indptr[i + 1])
        cols = renumber[A.indices[span]]
        order = np.argsort(cols)
        cols, data = cols[order], A.data[span][order]
        lo, hi = problem.row_lower[i], problem.row_upper[i]
        if data[0] < 0 if len(data) else not np.isfinite(lo):
            data, lo, hi = -data, -hi, -lo
        key = (cols.tobytes(), bool(np.isfinite(lo)), bool(np.isfinite(hi)))
        sides = np.array([lo if np.isfinite(lo) else 0.0, hi if np.isfinite(hi) else 0.0]) + 0.0
        table.setdefault(key, []).append(_Row(i, np.concatenate([data, sides])))
    for rows in table.values():
        rows.sort(key=lambda r: tuple(float(f"{v:.9e}") for v in r.values))
    return table
