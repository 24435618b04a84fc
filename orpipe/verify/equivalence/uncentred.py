"""Does an isomorphism of centred forms also hold in the coordinates that the models are written in?

Between the bounds 0 and 1e9 the centre is 5e8, and beside it a side of 100 and one of 101 are the same to a relative 1e-9.
"""

from __future__ import annotations

import numpy as np

from orpipe.verify.equivalence.canonical import Centred, Isomorphism, same_rows
from orpipe.verify.equivalence.forms import ROUNDING, SAME, one_sided, unit_rows

_NOISE = 1e-13


def holds(a: Centred, b: Centred, found: Isomorphism, to_relative: float = SAME, plain: bool = False) -> bool:
    """Bounds, rows and constant of b, in a's coordinates, are those of a.  `found` has been checked on the centred forms.
    plain: the columns are the same quantities, counted from the same point."""
    f, g, to = a.stated, b.stated, found.to
    ratio = found.sign * a.scale / b.scale[to]  # column to[j] of b is ratio * column j of a + shift
    shift, noise = (np.zeros(f.n), np.zeros(f.n)) if plain else _shift(a, b, to, ratio)
    low, high = np.where(ratio > 0, f.low, f.high) * ratio + shift, np.where(ratio > 0, f.high, f.low) * ratio + shift
    if not (_near(low, g.low[to], noise, to_relative) and _near(high, g.high[to], noise, to_relative)):
        return False
    added = g.cost[to] * shift
    size = f.magnitude + g.magnitude + float(np.abs(added).sum())
    if abs(g.offset + float(added.sum()) - f.offset) > ROUNDING * size + float(np.abs(g.cost[to]) @ noise):
        return False
    rows, other = one_sided(f), one_sided(g)
    P, q = other.P[:, to] * ratio, other.q - other.P[:, to] @ shift
    turned = unit_rows(P, q, np.arange(len(q)))
    return same_rows(rows, turned, turned.P, to_relative, np.abs(turned.P) @ (noise / np.abs(ratio)))


def _shift(a: Centred, b: Centred, to: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) from the ends that are nearest to 0, and what rounding may have added."""
    f, g, up = a.stated, b.stated, ratio > 0
    shift, noise, known = np.zeros(f.n), np.zeros(f.n), np.zeros(f.n, bool)
    size = np.minimum(*(np.where(np.isfinite(v), np.abs(v), np.inf) for v in (f.low, f.high)))
    for mine, theirs in ((f.low, np.where(up, g.low[to], g.high[to])), (f.high, np.where(up, g.high[to], g.low[to]))):
        use = ~known & np.isfinite(mine) & np.isfinite(theirs) & (np.abs(mine) == size)
        with np.errstate(invalid="ignore"):
            found, terms = theirs - ratio * mine, np.abs(theirs) + np.abs(ratio * mine)
        found = np.where(np.abs(found) <= ROUNDING * terms, 0.0, found)
        shift, known = np.where(use, found, shift), known | use
        noise = np.where(use & (found != 0), _NOISE * terms, noise)
    return shift, noise


def _near(one: np.ndarray, two: np.ndarray, noise: np.ndarray, to_relative: float) -> bool:
    finite = np.isfinite(one)
    if (finite != np.isfinite(two)).any() or (one[~finite] != two[~finite]).any():
        return False
    one, two = one[finite], two[finite]
    return bool((np.abs(one - two) <= to_relative * np.maximum(np.abs(one), np.abs(two)) + noise[finite] + _NOISE).all())
