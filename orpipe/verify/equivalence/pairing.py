"""A map between the columns of two models: x_b = scale * x_a + shift, column by column, with exact numbers.

A map is a proposal.  What it is worth is said by containment (or by comparing the matrices), never by where it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from orpipe.verify.equivalence.canonical import Centred, Isomorphism, centred
from orpipe.verify.equivalence.normalise import Form

ONE, NONE = Fraction(1), Fraction(0)


@dataclass(frozen=True, slots=True)
class Pair:
    """Column `a` of the first model and column `b` of the second."""

    a: int
    b: int
    scale: Fraction = ONE
    shift: Fraction = NONE

    @property
    def plain(self) -> bool:
        return (self.scale is ONE or self.scale == 1) and (self.shift is NONE or self.shift == 0)


@dataclass(frozen=True)
class Map:
    """source: how it was found.  trusted: the models' own names say so, hence it may refute as well."""

    pairs: tuple[Pair, ...]
    source: str
    trusted: bool = False

    @classmethod
    def plain(cls, pairs: Iterable[tuple[int, int]], source: str, trusted: bool = False) -> Map:
        return cls(tuple(Pair(a, b) for a, b in sorted(pairs)), source, trusted)

    @cached_property
    def key(self) -> tuple[tuple[int, int, Fraction, Fraction], ...]:
        return tuple((p.a, p.b, p.scale, p.shift) for p in self.pairs)

    def without(self, keep: Sequence[bool]) -> Map:
        """Only the pairs flagged in `keep` (by position in `pairs`)."""
        return replace(self, pairs=tuple(p for p, k in zip(self.pairs, keep, strict=True) if k))

    @cached_property
    def a(self) -> np.ndarray:
        return np.array([p.a for p in self.pairs], int)

    @cached_property
    def b(self) -> np.ndarray:
        return np.array([p.b for p in self.pairs], int)

    @cached_property
    def scale(self) -> np.ndarray:
        return np.array([float(p.scale) for p in self.pairs])

    @cached_property
    def shift(self) -> np.ndarray:
        return np.array([float(p.shift) for p in self.pairs])

    @property
    def unscaled(self) -> bool:
        """Up to sign: no change of units."""
        return all(abs(p.scale) == 1 for p in self.pairs)

    def reversed(self) -> Map:
        turned = (Pair(p.b, p.a) if p.plain else Pair(p.b, p.a, 1 / p.scale, -p.shift / p.scale) for p in self.pairs)
        return replace(self, pairs=tuple(sorted(turned, key=lambda p: p.a)))

    def image(self, point: Sequence[Fraction]) -> dict[int, Fraction]:
        """Values of b's columns at a point of a."""
        return {p.b: point[p.a] if p.plain else p.scale * point[p.a] + p.shift for p in self.pairs}


def carried(P: np.ndarray, q: np.ndarray, by: Map, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows P @ x <= q over a's columns as rows over b's n columns.  Columns outside the map must have no entries."""
    out = np.zeros((len(q), n))
    if not len(by.pairs):
        return out, q
    part = P[:, by.a] / by.scale
    out[:, by.b] = part
    moved = np.where(part != 0, part * by.shift, 0.0)
    return out, q + moved.sum(1)


def of_isomorphism(found: Isomorphism, a: Centred, b: Centred, source: str) -> Map:
    """As a map of the Problems' columns."""
    pairs = []
    for j in range(a.form.n):
        k = int(found.to[j])
        scale = _exact(found.sign[j] * a.scale[j] / b.scale[k])
        shift = _exact(float(b.centre[k])) - scale * _exact(float(a.centre[j]))
        pairs.append(Pair(int(a.form.columns[j]), int(b.form.columns[k]), scale, shift))
    return Map(tuple(sorted(pairs, key=lambda p: p.a)), source)


def _exact(value: float) -> Fraction:
    """The simple fraction that a float stands for."""
    simple = Fraction(value).limit_denominator(10**6)
    return simple if abs(float(simple) - value) <= 1e-12 * abs(value) else Fraction(repr(float(value)))


def fitted(by: Map, a: Form, b: Form, units: bool) -> Map:
    """`by` with the complement, scale and shift that costs and bounds suggest for each pair; normalised forms, all columns.
    units: and in b's units, as far as costs, bounds and rows tell them."""
    pairs = []
    ratio = centred(a, units=True).scale[by.a] / centred(b, units=True).scale[by.b] if units and by.pairs else np.ones(len(by.pairs))
    for p, unit in zip(by.pairs, ratio.tolist(), strict=True):
        i, j = p.a, p.b
        scale = 1.0
        if a.whole[i] or b.whole[j]:
            if a.cost[i] * b.cost[j] < 0 and abs(a.cost[i] + b.cost[j]) <= 1e-9 * abs(a.cost[i]) and np.isfinite(a.high[i]):
                scale = -1.0
        elif units and abs(unit - 1) > 1e-9:
            scale = unit
        exact = _exact(scale)
        shift = NONE
        ends = ((a.low[i], b.low[j]), (a.high[i], b.high[j])) if scale > 0 else ((a.high[i], b.low[j]), (a.low[i], b.high[j]))
        for mine, theirs in ends:
            if np.isfinite(mine) and np.isfinite(theirs):
                shift = _exact(float(theirs)) - exact * _exact(float(mine))
                break
        pairs.append(Pair(i, j, exact, shift))
    return Map(tuple(pairs), by.source + ("" if tuple(pairs) == by.pairs else ", fitted"), by.trusted)
