"""One-sided rows in unit scale, and the smaller forms that isomorphism is tried on.

Everything is P @ x <= q with unit maximum: an equality is two rows; split, negated, scaled, doubled and dominated rows
come out the same, and rows that only one of two models has are found by their keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from orpipe.verify.equivalence.normalise import Form, tidy

SAME = 1e-9  # numbers this close (relative) are the same number
ROUNDING = 1e-12  # numbers this close differ by the rounding of floats alone
_NOISE = 1e-13  # of a subtraction between numbers of size 1


@dataclass(frozen=True, eq=False)
class Rows:
    """P (k, n) with unit maximum, q (k,); raw and limit: the same before scaling.  origin (k,): row of the Problem, or
    -1.  key -> position in `at`."""

    P: np.ndarray
    q: np.ndarray
    raw: np.ndarray
    limit: np.ndarray
    origin: np.ndarray
    at: dict[bytes, int]

    def __len__(self) -> int:
        return len(self.q)


_ROWS: WeakKeyDictionary[Form, dict[bool, Rows]] = WeakKeyDictionary()


def one_sided(form: Form, redundant: bool = False) -> Rows:
    """The rows of a form, of parallel ones the tightest.  redundant: also those that the bounds imply."""
    known = _ROWS.setdefault(form, {})
    if redundant not in known:
        known[redundant] = _one_sided(form, redundant)
    return known[redundant]


def _one_sided(form: Form, redundant: bool) -> Rows:
    up, down = form.hi < np.inf, form.lo > -np.inf
    P = np.concatenate([form.A[up], -form.A[down]])
    q = np.concatenate([form.hi[up], -form.lo[down]])
    return unit_rows(P, q, np.concatenate([form.rows[up], form.rows[down]]), None if redundant else form)


def unit_rows(P: np.ndarray, q: np.ndarray, origin: np.ndarray, within: Form | None = None) -> Rows:
    """Rows P @ x <= q scaled to unit maximum, the tightest of parallel ones; without those that the bounds of `within`
    imply."""
    if not len(q):
        return Rows(P, q, P, q, origin, {})
    scale = np.abs(P).max(1)
    kept = scale > 0
    raw, limit, origin, scale = P[kept], q[kept], origin[kept], scale[kept]
    P, q = raw / scale[:, None], limit / scale
    if within is not None and len(q):
        most, size = activity(P, within.low, within.high)
        kept = ~(most <= q + 1e-12 * (size + np.abs(q)))
        P, q, raw, limit, origin = P[kept], q[kept], raw[kept], limit[kept], origin[kept]
    at: dict[bytes, int] = {}
    for i, key in enumerate(keys(P)):
        other = at.get(key)
        if other is None or q[i] < q[other]:
            at[key] = i
    if len(at) < len(q):
        kept = np.fromiter(at.values(), int, len(at))
        P, q, raw, limit, origin = P[kept], q[kept], raw[kept], limit[kept], origin[kept]
    return Rows(P, q, raw, limit, origin, {key: i for i, key in enumerate(at)})


def keys(P: np.ndarray) -> Iterator[bytes]:
    """One for each row: its entries to ten significant digits."""
    fraction, exponent = np.frexp(P)
    digits = np.rint(fraction * 2.0**33).astype(np.int64)
    # 0.99999.. and 1.0 have other exponents
    top = np.abs(digits) == 2**33
    digits, exponent = np.where(top, digits // 2, digits), np.where(top, exponent + 1, exponent)
    packed = (digits << 12) + exponent
    return (row.tobytes() for row in packed)


def slack(P: np.ndarray, q: np.ndarray, to_relative: float = SAME) -> np.ndarray:
    """By how much two right-hand sides of unit rows may differ and still be the same (k,)."""
    least = np.where(P != 0, np.abs(P), np.inf).min(1) if P.size else np.zeros(len(q))
    return to_relative * np.maximum(np.abs(q), np.minimum(least, 1.0)) + _NOISE


def activity(P: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most that each row comes to within the bounds (inf if endless), and the size of the terms added."""
    with np.errstate(invalid="ignore"):
        terms = np.where(P > 0, P * high, np.where(P < 0, P * low, 0.0))
    return terms.sum(1), np.where(np.isfinite(terms), np.abs(terms), 0.0).sum(1)


def dominates(rows: Rows, other: Rows, to_relative: float = SAME) -> np.ndarray:
    """(len(rows),) rows that `other` holds as tight or tighter.  Both over the same columns."""
    found = np.zeros(len(rows), bool)
    if len(rows) and len(other):
        limit = rows.q + slack(rows.P, rows.q, to_relative)
        for key, i in rows.at.items():
            k = other.at.get(key)
            found[i] = k is not None and other.q[k] <= limit[i]
    return found


# ------------------------------------------------------------------------------------------------------- smaller forms


def reduced(form: Form, removable: np.ndarray, merged: bool = False) -> Form:
    """Without fixed, slack and epigraph columns among `removable` (n,), in turn until none is left; merged: parallel ones
    of these as one, and those that stand nowhere out.

    The set of the other columns, and the least objective over it, stay the same.
    """
    for _ in range(12):
        before = form.n
        for step in (_fixed, _slack, _epigraph):
            gone = step(form, removable)
            if gone is not None:
                form, kept = gone
                removable = removable[kept]
                form = tidy(form)
        if merged:
            form, kept = merged_parallel(form, removable)
            used = (form.A != 0).any(0) | (form.cost != 0) | ~removable[kept]
            removable = removable[kept][used]
            form = tidy(form.take_columns(used))
        if form.n == before:
            break
    return form


_Step = tuple[Form, np.ndarray]


def _fixed(form: Form, removable: np.ndarray) -> _Step | None:
    fixed = removable & (form.low == form.high)
    if not fixed.any() or fixed.all():
        return None
    by = np.where(fixed, form.low, 0.0)
    moved = form.shifted(by)
    return moved.take_columns(~fixed), ~fixed


def _slack(form: Form, removable: np.ndarray) -> _Step | None:
    """A continuous column without cost in a single row: the row as far as the column lets it go."""
    if not form.m:
        return None
    entries = form.A != 0
    wanted = np.flatnonzero(removable & (entries.sum(0) == 1) & ~form.whole & (form.cost == 0))
    if not len(wanted):
        return None
    lo, hi, gone = form.lo.copy(), form.hi.copy(), np.zeros(form.n, bool)
    for j in wanted.tolist():
        r = int(entries[:, j].argmax())
        others = entries[r] & ~gone
        if others.sum() < 2:
            continue
        a = form.A[r, j]
        ends = sorted((a * form.low[j], a * form.high[j]))
        lo[r], hi[r], gone[j] = lo[r] - ends[1], hi[r] - ends[0], True
    if not gone.any():
        return None
    return replace(form, lo=lo, hi=hi).take_columns(~gone), ~gone


def _epigraph(form: Form, removable: np.ndarray) -> _Step | None:
    """minimise z with z free below and one row z >= expression: minimise the expression."""
    costly = form.cost != 0
    if costly.sum() != 1 or not form.m:
        return None
    j = int(costly.argmax())
    where = np.flatnonzero(form.A[:, j])
    if not removable[j] or form.whole[j] or len(where) != 1 or form.n < 2:
        return None
    r, c = int(where[0]), form.cost[j]
    a = form.A[r, j]
    side = form.lo[r] if a * c > 0 else form.hi[r]
    free = form.low[j] if c > 0 else form.high[j]
    other = form.high[j] if c > 0 else form.low[j]
    if np.isfinite(free) or np.isfinite(other) or not np.isfinite(side):
        return None
    cost = -c * form.A[r] / a
    cost[j] = 0.0
    added = c * side / a
    kept_rows, kept = np.ones(form.m, bool), np.ones(form.n, bool)
    kept_rows[r], kept[j] = False, False
    out = replace(form, cost=cost, offset=form.offset + added, magnitude=form.magnitude + abs(added))
    return out.take_rows(kept_rows).take_columns(kept), kept


def merged_parallel(form: Form, among: np.ndarray) -> _Step:
    """Columns parallel in all rows and the objective as one: continuous ones, or whole ones whose steps leave no gap."""
    whole_column = np.concatenate([form.A, form.cost[None, :]])
    used = among & (whole_column != 0).any(0)
    groups: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(used).tolist():
        column = whole_column[:, j]
        groups.setdefault(next(keys((column / column[np.flatnonzero(column)[0]])[None, :])), []).append(j)
    low, high, gone = form.low.copy(), form.high.copy(), np.zeros(form.n, bool)
    for group in groups.values():
        if len(group) < 2:
            continue
        first = int(np.flatnonzero(whole_column[:, group[0]])[0])
        size = {j: whole_column[first, j] for j in group}
        if not form.whole[group].any():
            head, *rest = sorted(group, key=lambda j: -abs(size[j]))
            for j in rest:
                ends = sorted((size[j] / size[head] * form.low[j], size[j] / size[head] * form.high[j]))
                low[head], high[head], gone[j] = low[head] + ends[0], high[head] + ends[1], True
        elif form.whole[group].all() and (form.low[group] == 0).all():
            head, *rest = sorted(group, key=lambda j: abs(size[j]))
            reach, steps = form.high[head], [size[j] / size[head] for j in rest]
            for j, step in zip(rest, steps, strict=True):
                if step < 0 or abs(step - round(step)) > SAME or round(step) > reach + 1:
                    break
                reach += round(step) * form.high[j]
            else:
                high[head] = reach
                gone[rest] = True
    return replace(form, low=low, high=high).take_columns(~gone), ~gone
