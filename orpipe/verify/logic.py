"""Logic in a captured model, as rows and binaries: indicators, max, min, abs, and, or, special ordered sets, pieces.

Each construct keeps the feasible set and the objective on the model's own columns; what is added are binaries and rows
that hold for the same points.  Big-M numbers come from the columns' bounds, or from bounds that the rows imply, rounded
away from the feasible set: any valid M gives the same set.  Where no finite bound is known, Unsupported names the
construct.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.bounds import AtMost, Bounds, Linear, Span, down, exact, one_sided, up
from orpipe.verify.capture import Captured, Rows

_INF = math.inf
_CHOICES = 64  # combinations of conditional rows looked at for one bound


@dataclass(frozen=True, slots=True)
class Literal:
    """A binary column, true at 1; at 0 when `positive` is False."""

    column: int
    positive: bool = True

    def __invert__(self) -> Literal:
        return Literal(self.column, not self.positive)


@dataclass(frozen=True, slots=True)
class _Enforced:
    kind: str
    name: str
    when: tuple[Literal, ...]
    row: AtMost


class Logic:
    """A linear model to which logic is added; `captured()` is the whole.  `about` names what the next calls are about:
    rows bear that name, and Unsupported carries it.
    """

    def __init__(self, base: Captured) -> None:
        self.base = base
        self._names: list[str] = []
        self._cost: list[float] = base.cost.tolist()
        self._lower = [*base.lower.tolist()]
        self._upper = [*base.upper.tolist()]
        self._integer = [*base.integer.tolist()]
        self._bounds = Bounds(base)
        self._propagated = False
        self._rows = Rows()
        self._queue: list[_Enforced] = []
        self._products: dict[tuple[int, int], int] = {}
        self._kind, self._name = "construct", ""

    def about(self, kind: str, name: str = "") -> Logic:
        self._kind, self._name = kind, name
        return self

    def unsupported(self, why: str) -> Unsupported:
        named = f"{self._kind} '{self._name}'" if self._name else self._kind
        return Unsupported(f"{self.base.library}: the {named} {why}")

    # ------------------------------------------------------------------------------------------------------ plain parts

    def column(self, suffix: str, lower: float, upper: float, integer: bool = False, cost: float = 0.0) -> int:
        self._names.append(f"{self._name or self._kind}.{suffix}")
        self._cost.append(cost)
        self._lower.append(lower)
        self._upper.append(upper)
        self._integer.append(integer)
        self._bounds.add(lower, upper)
        return len(self._lower) - 1

    def charge(self, terms: Linear, coefficient: float) -> None:
        """Add coefficient * terms (which have no constant) to the objective."""
        for k, a in zip(terms.indices, terms.values, strict=True):
            self._cost[k] = float(exact(self._cost[k]) + exact(coefficient) * exact(a))

    def binary(self, suffix: str) -> Literal:
        return Literal(self.column(suffix, 0, 1, True))

    def literal(self, column: int, positive: bool = True) -> Literal:
        """Raises Unsupported for a column that is not binary."""
        if not self._is_binary(column):
            raise self.unsupported("has a condition that is no binary variable")
        return Literal(column, positive)

    def row(self, terms: Linear, lower: float, upper: float) -> None:
        """lower <= terms <= upper."""
        sides = [float(exact(side) - exact(terms.constant)) if math.isfinite(side) else side
                 for side in (lower, upper)]
        self._rows.add(self._name or self._kind, terms.indices, terms.values, *sides)

    def counted(self, literals: Iterable[Literal], lower: float, upper: float, when: Sequence[Literal] = ()) -> None:
        """lower <= number of true literals <= upper."""
        self.enforced(when, _count(literals), lower, upper)

    # ------------------------------------------------------------------------------------------------------- conditions

    def enforced(self, when: Sequence[Literal], terms: Linear, lower: float, upper: float) -> None:
        """When all of `when` are true, lower <= terms <= upper; without conditions, always."""
        if not when:
            self.row(terms, lower, upper)
            return
        for side, bound in ((terms, upper), (-terms, -lower)):
            if math.isfinite(bound):
                row = AtMost(side, exact(bound) - exact(side.constant))
                self._queue.append(_Enforced(self._kind, self._name, tuple(when), row))

    def equivalent(self, when: Literal, terms: Linear, lower: float, upper: float) -> None:
        """`when` is true exactly if lower <= terms <= upper, one of which is infinite.  Only for terms that are whole
        numbers: elsewhere the opposite would be a strict inequality.
        """
        self.enforced([when], terms, lower, upper)
        self.otherwise([~when], terms, lower, upper)

    def otherwise(self, when: Sequence[Literal], terms: Linear, lower: float, upper: float) -> None:
        """When all of `when` are true, terms (whole numbers) < lower or terms > upper."""
        if not (all(float(a).is_integer() for a in (*terms.values, terms.constant))
                and all(self._integer[k] for k in terms.indices)):
            raise self.unsupported("needs a strict inequality")
        above, below = math.floor(upper) + 1 if math.isfinite(upper) else _INF, (
            math.ceil(lower) - 1 if math.isfinite(lower) else -_INF)
        if math.isfinite(above) and math.isfinite(below):
            side = self.binary("side")
            self.enforced([*when, side], terms, above, _INF)
            self.enforced([*when, ~side], terms, -_INF, below)
        elif math.isfinite(above):
            self.enforced(when, terms, above, _INF)
        else:
            self.enforced(when, terms, -_INF, below)

    def conjunction(self, result: Literal, literals: Sequence[Literal]) -> None:
        """result = 1 exactly if all are true."""
        self.disjunction(~result, [~each for each in literals])

    def disjunction(self, result: Literal, literals: Sequence[Literal]) -> None:
        """result = 1 exactly if one or more are true."""
        for each in literals:
            self.counted([~each, result], 1, _INF)
        self.counted([~result, *literals], 1, _INF)

    # ------------------------------------------------------------------------------------------------------ max and abs

    def maximum(self, result: Linear, arguments: Sequence[Linear]) -> None:
        """result = the greatest argument."""
        for each in arguments:
            self._bounds.learn(each, Span(-_INF, self.span(result).upper))
        spans = [self.span(each) for each in arguments]
        floor, top = max(span.lower for span in spans), max(span.upper for span in spans)
        kept = [(each, span) for each, span in zip(arguments, spans, strict=True) if span.upper >= floor]
        if len(kept) == 1:
            self.row(result - kept[0][0], 0, 0)
        else:
            chosen = [self.binary(f"is{k}") for k in range(len(kept) - (len(kept) == 2))]
            if len(kept) == 2:
                chosen.append(~chosen[0])
            else:
                self.counted(chosen, 1, 1)
            for literal, (each, span) in zip(chosen, kept, strict=True):
                if not math.isfinite(span.lower) or not math.isfinite(top):
                    raise self.unsupported("needs finite bounds")
                self.row(result - each, 0, _INF)
                gap = result - each  # at most top - span.lower if result is the maximum at all
                constant, most = exact(gap.constant), Fraction(top) - Fraction(span.lower)
                if most > 0:
                    self._big_m([literal], AtMost(gap, -constant), most - constant)
                else:
                    self.row(gap, -_INF, 0)
        self._bounds.learn(result, Span(floor, top))

    def minimum(self, result: Linear, arguments: Sequence[Linear]) -> None:
        self.maximum(-result, [-each for each in arguments])

    def absolute(self, result: Linear, argument: Linear) -> None:
        self.maximum(result, [argument, -argument])

    def product(self, j: int, k: int) -> Linear:
        """Column j times column k, one of them binary."""
        if not self._is_binary(j):
            j, k = k, j
        if not self._is_binary(j):
            raise self.unsupported("has a product of two variables of which none is binary")
        if j == k:
            return Linear.column(j)
        pair = (min(j, k), max(j, k))
        if pair not in self._products:
            span = self.finite(Linear.column(k))
            low, high = down(span.lower), up(span.upper)
            new = self.column(f"{j}x{k}", min(low, 0), max(high, 0))
            self.row(Linear((new, j), (1.0, -low)), 0, _INF)  # 0 at 0 ...
            self.row(Linear((new, j), (1.0, -high)), -_INF, 0)
            self.row(Linear((new, k, j), (1.0, -1.0, -high)), -high, _INF)  # ... and column k at 1
            self.row(Linear((new, k, j), (1.0, -1.0, -low)), -_INF, -low)
            self._products[pair] = new
        return Linear.column(self._products[pair])

    def _is_binary(self, k: int) -> bool:
        return self._integer[k] and self._lower[k] >= 0 and self._upper[k] <= 1

    # -------------------------------------------------------------------------------------- sets, domains and functions

    def ordered_set(self, kind: int, columns: Sequence[int]) -> None:
        """At most `kind` (1 or 2) of the columns are not 0, and two only side by side."""
        if len(columns) <= kind:
            return
        if kind == 1:
            own = [k for k in columns if self._integer[k] and (self._lower[k], self._upper[k]) == (0, 1)]
            used = [(k, Literal(k) if k in own else self.binary(f"on{k}")) for k in columns]
            for k, literal in used:
                if k not in own:
                    self._off_unless([literal], k, [j for j in columns if j != k])
            self.counted([literal for _, literal in used], -_INF, 1)
            return
        first = [self.binary(f"at{p}") for p in range(len(columns) - 1)]
        self.counted(first, 1, 1)
        for p, k in enumerate(columns):
            self._off_unless(first[max(p - 1, 0):p + 1], k)

    def _off_unless(self, literals: Sequence[Literal], k: int, others: Sequence[int] = ()) -> None:
        """Column k is 0 unless one of the literals, of which at most one is true, is.  `others` are 0 if it is not."""
        span = self.span(Linear.column(k))
        if not span.finite and others:
            span = self._bounds.with_zeros(others).span(Linear.column(k))
        if not span.finite:
            raise self.unsupported("needs finite bounds")
        count = _count(literals)
        for sign, most in ((1.0, span.upper), (-1.0, -span.lower)):
            scale = -up(max(most, 0))
            self.row(Linear((k, *count.indices), (sign, *(a * scale for a in count.values)), count.constant * scale),
                     -_INF, 0)

    def semicontinuous(self, k: int, lower: float, upper: float) -> None:
        """Column k, whose bounds in the model must include 0, is 0 or within lower..upper."""
        if lower <= 0 <= upper:
            return
        lower = lower if math.isfinite(lower) else float(self.finite(Linear.column(k)).lower)
        upper = upper if math.isfinite(upper) else float(self.finite(Linear.column(k)).upper)
        on = self.binary("on").column
        self.row(Linear((k, on), (1.0, -upper)), -_INF, 0)
        self.row(Linear((k, on), (1.0, -lower)), 0, _INF)

    def within(self, terms: Linear, pieces: Sequence[Span], when: Sequence[Literal] = ()) -> None:
        """`terms` lies in one of the pieces (in ascending order) when all of `when` are true."""
        if len(pieces) == 1:
            self.enforced(when, terms, float(pieces[0].lower), float(pieces[0].upper))
            return
        chosen = [self.binary(f"in{k}") for k in range(len(pieces))]
        self.counted(chosen, 1, 1)
        for literal, piece in zip(chosen, pieces, strict=True):
            self.enforced([*when, literal], terms, float(piece.lower), float(piece.upper))

    def all_different(self, terms: Sequence[Linear], largest: int = 2000) -> None:
        """No two of the terms, whole numbers, are equal: by a binary for each term and value, at most `largest`."""
        spans = [self.finite(each) for each in terms]
        values = [range(math.ceil(s.lower), math.floor(s.upper) + 1) for s in spans]
        if sum(map(len, values)) > largest:
            raise self.unsupported(f"has more than {largest} values")
        takers: dict[int, list[Literal]] = {}
        for p, (each, domain) in enumerate(zip(terms, values, strict=True)):
            is_value = {v: self.binary(f"{p}is{v}") for v in domain}
            self.counted(is_value.values(), 1, 1)
            picked = Linear(tuple(z.column for z in is_value.values()), tuple(float(v) for v in is_value))
            self.row(each - picked, 0, 0)
            for v, literal in is_value.items():
                takers.setdefault(v, []).append(literal)
        for literals in takers.values():
            if len(literals) > 1:
                self.counted(literals, -_INF, 1)

    def piecewise(self, x: int, y: Linear, points: Sequence[tuple[float, float]]) -> None:
        """y = f(x), f going straight from point to point and on beyond both ends (their slopes)."""
        if len(points) < 2 or any(a[0] >= b[0] for a, b in itertools.pairwise(points)):
            raise self.unsupported("jumps or has fewer than two points")
        span = self.finite(Linear.column(x))
        ends = [(exact(a), exact(b)) for a, b in points]
        lower, upper = Fraction(span.lower), Fraction(span.upper)
        inner = [p for p in ends if lower < p[0] < upper]
        kept = [(lower, _at(ends, lower)), *inner, (upper, _at(ends, upper))] if lower < upper else [
            (lower, _at(ends, lower))]
        weights = [self.column(f"w{k}", 0, 1) for k in range(len(kept))]
        self.row(Linear(tuple(weights), (1.0,) * len(kept)), 1, 1)
        for terms, values in ((Linear.column(x), [p[0] for p in kept]), (y, [p[1] for p in kept])):
            self.row(terms - Linear(tuple(weights), tuple(map(float, values))), 0, 0)
        self.ordered_set(2, weights)
        self._bounds.learn(y, Span(min(p[1] for p in kept), max(p[1] for p in kept)))

    # ----------------------------------------------------------------------------------------------------------- bounds

    def span(self, terms: Linear) -> Span:
        """What `terms` can be, from bounds alone; the rows are asked where those are infinite."""
        found = self._bounds.span(terms)
        if not found.finite and not self._propagated:
            self._propagated = True
            self._bounds.propagate(self._groups())
            found = self._bounds.span(terms)
        return found

    def finite(self, terms: Linear) -> Span:
        """Raises Unsupported where a side is infinite."""
        found = self.span(terms)
        if not found.finite:
            raise self.unsupported("needs finite bounds")
        return found

    def _groups(self) -> list[list[AtMost]]:
        """Conditional rows of which at least one holds: those of a literal and its opposite, or of the binaries of
        which a row of the model wants one.
        """
        single: dict[Literal, list[AtMost]] = {}
        for each in self._queue:
            if len(each.when) == 1:
                single.setdefault(each.when[0], []).append(each.row)
        either = [[z, ~z] for z in single if z.positive and ~z in single]
        for row in one_sided(self.base):
            literals = [Literal(k) for k in row.terms.indices]
            if row.upper == -1 and set(row.terms.values) == {-1.0} and all(z in single for z in literals):
                either.append(literals)
        return [list(choice) for literals in either if math.prod(len(single[z]) for z in literals) <= _CHOICES
                for choice in itertools.product(*(single[z] for z in literals))]

    # ------------------------------------------------------------------------------------------------------ the outcome

    def _big_m(self, when: Sequence[Literal], row: AtMost, most: Fraction) -> None:
        """The row holds when all are true; its terms are <= most at any rate, which may be enough."""
        terms, upper = row.terms, Fraction(row.upper)
        if most <= upper:
            return
        # A whole right-hand side: then M is the decimal that is wanted, not a rounded one.
        big = math.ceil(most) - upper
        n_positive = sum(z.positive for z in when)
        self._rows.add(
            self._name or self._kind, (*terms.indices, *(z.column for z in when)),
            (*terms.values, *(float(big) if z.positive else -float(big) for z in when)),
            -_INF, float(upper + n_positive * big))

    def captured(self) -> Captured:
        """Raises Unsupported where a condition needs a bound that is not there."""
        base = self.base
        for each in self._queue:
            self.about(each.kind, each.name)
            most = self.span(Linear(each.row.terms.indices, each.row.terms.values)).upper
            if not math.isfinite(most):
                raise self.unsupported("needs finite bounds")
            self._big_m(each.when, each.row, Fraction(most))
        added = self._rows.arrays()
        starts = np.asarray(added["indptr"], np.int64)[1:] + len(base.indices)
        return Captured.of(
            base.library, base.interface, maximize=base.maximize, offset=base.offset,
            columns=[*base.columns, *self._names], rows=[*base.rows, *added["rows"]],
            cost=self._cost, lower=self._lower, upper=self._upper, integer=self._integer,
            row_lower=np.append(base.row_lower, added["row_lower"]),
            row_upper=np.append(base.row_upper, added["row_upper"]),
            indptr=np.append(base.indptr, starts), indices=np.append(base.indices, added["indices"]),
            data=np.append(base.data, added["data"]),
        )


def _count(literals: Iterable[Literal]) -> Linear:
    kept = list(literals)
    return Linear(tuple(z.column for z in kept), tuple(1.0 if z.positive else -1.0 for z in kept),
                  float(sum(not z.positive for z in kept)))


def _at(points: Sequence[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    p = next((k for k in range(1, len(points) - 1) if x <= points[k][0]), len(points) - 1)
    (a, fa), (b, fb) = points[p - 1], points[p]
    return fa + (fb - fa) * (x - a) / (b - a)
