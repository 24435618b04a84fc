"""Bounds of linear terms in a captured model: what the columns' bounds say and, where those are infinite, the rows.

Bounds are never too tight: they are rounded away from the feasible set.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from orpipe.verify.capture import Captured

_PASSES = 6  # over the rows, in search of finite bounds
_ENDLESS = 1e20  # CPLEX, Gurobi, COPT and CBC take bounds from here on for none


@dataclass(frozen=True, slots=True)
class Linear:
    """values · columns[indices] + constant."""

    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    constant: float = 0.0

    @classmethod
    def column(cls, k: int) -> Linear:
        return cls((k,), (1.0,))

    def __neg__(self) -> Linear:
        return Linear(self.indices, tuple(-a for a in self.values), -self.constant)

    def __sub__(self, other: Linear) -> Linear:
        minus = -other
        constant = float(exact(self.constant) + exact(minus.constant))
        return Linear(self.indices + minus.indices, self.values + minus.values, constant)


@dataclass(frozen=True, slots=True)
class Span:
    """Least and greatest value, exact where finite."""

    lower: Fraction | float
    upper: Fraction | float

    @property
    def finite(self) -> bool:
        return math.isfinite(self.lower) and math.isfinite(self.upper)


@dataclass(frozen=True, slots=True)
class AtMost:
    """terms, leaving out their constant, <= upper."""

    terms: Linear
    upper: Fraction | float


class Bounds:
    """`lower` and `upper` of the columns, tightened as more is learnt; the model itself is left as it is."""

    def __init__(self, model: Captured) -> None:
        self._model = model
        self.lower: list[float] = model.lower.tolist()
        self.upper: list[float] = model.upper.tolist()

    def add(self, lower: float, upper: float) -> None:
        """One more column."""
        self.lower.append(lower)
        self.upper.append(upper)

    def with_zeros(self, columns: Iterable[int]) -> Bounds:
        """What would hold if these columns were 0."""
        other = copy.copy(self)
        other.lower, other.upper = self.lower[:], self.upper[:]
        for k in columns:
            other.lower[k] = other.upper[k] = 0.0
        other.propagate(())
        return other

    def span(self, terms: Linear) -> Span:
        lower: Fraction | float = exact(terms.constant)
        upper: Fraction | float = lower
        total: dict[int, Fraction] = {}
        for k, a in zip(terms.indices, terms.values, strict=True):
            total[k] = total.get(k, Fraction(0)) + exact(a)
        for k, factor in total.items():
            if factor:
                ends = [_times(factor, self.lower[k]), _times(factor, self.upper[k])]
                lower, upper = lower + min(ends), upper + max(ends)
        return Span(lower, upper)

    def learn(self, terms: Linear, span: Span) -> None:
        """`terms` are known to stay in the span: kept where they are a single column."""
        if len(terms.indices) == 1 and terms.values[0]:
            a = exact(terms.values[0])
            ends = [_times(1 / a, end - exact(terms.constant)) for end in (span.lower, span.upper)]
            self._narrow(terms.indices[0], min(ends), max(ends))

    def propagate(self, groups: Sequence[Sequence[AtMost]]) -> None:
        """Finite bounds for columns without, from the model's rows and from groups of rows of which one holds."""
        alone = [[row] for row in one_sided(self._model)]
        for _ in range(_PASSES):
            changed = False
            for group in (*alone, *groups):
                found = [self._implied(row) for row in group]
                for k in set.intersection(*(set(each) for each in found)):
                    spans = [each[k] for each in found]
                    changed |= self._narrow(k, min(s.lower for s in spans), max(s.upper for s in spans))
            if not changed:
                return

    def _implied(self, row: AtMost) -> dict[int, Span]:
        """What a row says of each column, given the least that the others come to; {} where a column stands twice."""
        pairs = [(k, a) for k, a in zip(row.terms.indices, row.terms.values, strict=True) if a]
        terms = dict(pairs)
        if len(terms) != len(pairs):
            return {}
        least = {k: a * (self.lower[k] if a > 0 else self.upper[k]) for k, a in terms.items()}
        endless = [k for k, end in least.items() if not math.isfinite(end)]
        if len(endless) > 1:
            return {}
        upper, finite = float(row.upper), [end for end in least.values() if math.isfinite(end)]
        slack = 1e-9 * (1 + max(map(abs, (upper, *finite))))  # for the rounding of the sum
        total = sum(finite)
        found = {}
        for k in endless or terms:
            bound = (upper - total + (0.0 if endless else least[k]) + slack) / terms[k]
            found[k] = Span(-math.inf, bound) if terms[k] > 0 else Span(bound, math.inf)
        return found

    def _narrow(self, k: int, lower: Fraction | float, upper: Fraction | float) -> bool:
        """Only infinite bounds are replaced: that is all that is needed."""
        changed = False
        for bounds, bound, away in ((self.lower, lower, down), (self.upper, upper, up)):
            if not math.isfinite(bounds[k]) and math.isfinite(bound):
                bounds[k] = away(bound)
                changed = True
        return changed


def exact(value: float) -> Fraction:
    """The decimal that a finite float prints as: what Captured.problem() takes it for."""
    return Fraction(value) if float(value).is_integer() else Fraction(repr(float(value)))


def sides(values: Iterable[float]) -> np.ndarray:
    """Bounds as a solver gives them, with ±inf in place of its large numbers."""
    found = np.array(list(values), float) + 0.0  # no -0.0
    found[found >= _ENDLESS], found[found <= -_ENDLESS] = np.inf, -np.inf
    return found


def up(bound: Fraction | float) -> float:
    """The next whole number, or infinity."""
    return float(math.ceil(bound)) if math.isfinite(bound) else float(bound)


def down(bound: Fraction | float) -> float:
    return float(math.floor(bound)) if math.isfinite(bound) else float(bound)


def _times(a: Fraction, bound: Fraction | float) -> Fraction | float:
    if not math.isfinite(bound):
        return math.copysign(math.inf, a) * bound
    return a * (bound if isinstance(bound, Fraction) else exact(bound))


def one_sided(model: Captured) -> Iterator[AtMost]:
    """Each row once for each finite side, every column once."""
    for i in range(len(model.rows)):
        part = slice(model.indptr[i], model.indptr[i + 1])
        terms: dict[int, float] = {}
        for k, a in zip(model.indices[part].tolist(), model.data[part].tolist(), strict=True):
            terms[k] = terms.get(k, 0.0) + a
        kept = Linear(tuple(terms), tuple(terms.values()))
        if model.row_upper[i] < math.inf:
            yield AtMost(kept, float(model.row_upper[i]))
        if model.row_lower[i] > -math.inf:
            yield AtMost(-kept, -float(model.row_lower[i]))
