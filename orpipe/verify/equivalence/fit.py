"""How well a proposed map fits, by counting: a reason to try it first, never evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orpipe.verify.equivalence.forms import dominates, one_sided, unit_rows
from orpipe.verify.equivalence.normalise import Form
from orpipe.verify.equivalence.pairing import Map, carried


@dataclass(frozen=True, slots=True)
class Fit:
    """differences: a count; agrees: half of the rows and three quarters of the costs are the same."""

    differences: int
    agrees: bool


def fit_of(by: Map, a: Form, b: Form) -> Fit:
    """How much the models differ under a map: rows, costs, bounds, integrality, and columns left over thrice."""
    out, stated, asked = 0, 0, 0
    for mine, theirs, onto in ((a, b, by), (b, a, by.reversed())):
        rows, others = one_sided(mine), one_sided(theirs, redundant=True)
        free = np.ones(mine.n, bool)
        free[onto.a] = False
        inside = ~(rows.P[:, free] != 0).any(1)
        P, q = carried(rows.raw[inside], rows.limit[inside], onto, theirs.n)
        moved = unit_rows(P, q, np.arange(len(q)))
        same = int(dominates(moved, others).sum())
        out += len(moved) - same + int((~inside).sum())
        stated, asked = stated + same, asked + len(rows)
    cost = b.cost[by.b] * by.scale
    apart = np.abs(a.cost[by.a] - cost) > 1e-9 * np.maximum(np.abs(cost), 1e-12)
    costly = (a.cost[by.a] != 0) | (cost != 0)
    out += int(apart.sum()) + int((a.whole[by.a] != b.whole[by.b]).sum())
    low, high = by.scale * a.low[by.a] + by.shift, by.scale * a.high[by.a] + by.shift
    low, high = np.minimum(low, high), np.maximum(low, high)
    out += int((low != b.low[by.b]).sum()) + int((high != b.high[by.b]).sum())
    agrees = 2 * stated >= asked and 4 * int((apart & costly).sum()) <= int(costly.sum())
    return Fit(out + 3 * (a.n + b.n - 2 * len(by.pairs)), agrees)
