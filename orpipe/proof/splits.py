"""Part of the checker: what a derived row may rest on besides rounding.  All of it is recomputed here, nothing believed.

    cutoff    a point better than the claim costs at most Replay.limit; less what row multipliers prove of that cost, the
              reduced costs fit into the rest
    probe     one side of an integer column is empty, so the other side holds
    split     a x <= u on one side of an integer column y and a x <= v on the other: both are the row
              a x <= u + (v - u) (y - threshold).  With a row of the problem for u or v this is coefficient tightening (Savelsbergh,
              ORSA Journal on Computing 6(4), 1994): a big M shrinks to what the bounds of that side leave
    order     interchangeable blocks (symmetry.py), each with a switch without which its counted entries are zero, stand in
              the order of their switches

A side holds its own bounds: those of the root and steps that single rows imply one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from orpipe.proof.reading import Fault, whole

if TYPE_CHECKING:
    from orpipe.proof.replay import Replay

Box = tuple[list[int | None], list[int | None]]
_SPAN = 1 << 17  # activities of a row of integer columns are listed up to this many


def side(r: Replay, j: int, threshold: int, up: bool, steps: Sequence[Sequence[Any]]) -> Box | None:
    """Bounds over box_den where column j is at most the threshold (up: at least the next number); None if nothing is left."""
    if not r.integer[j]:
        raise Fault(f"a split on column {j}, which is not integer")
    lower, upper = list(r.lower), list(r.upper)
    r.cut_box(lower, upper, j, threshold, up)
    for step in steps:
        r.imply(step, lower, upper)
    empty = any(low is not None and high is not None and low > high for low, high in zip(lower, upper, strict=True))
    return None if empty else (lower, upper)


def probe(r: Replay, recipe: Sequence[Any]) -> None:
    """["probe", column, threshold, up, steps]"""
    _, column, threshold, up, steps = recipe
    j, t, above = whole(column, r.n), whole(threshold), bool(whole(up, 2))
    if side(r, j, t, above, steps) is not None:
        raise Fault(f"a probe of column {j} leaves points")
    r.cut_box(r.lower, r.upper, j, t, not above)


def split(r: Replay, recipe: Sequence[Any]) -> None:
    """["split", column, threshold, steps below, steps above, [[[[column, num], ...], row or null], ...]]; the row is a positive or
    negative multiple of the entries, and the column split on."""
    _, column, threshold, below, above, rows = recipe
    j, t = whole(column, r.n), whole(threshold)
    low_side, high_side = side(r, j, t, False, below), side(r, j, t, True, above)
    if low_side is None or high_side is None:
        raise Fault(f"a side of the split on column {j} is empty: that is a probe")
    found = []
    for listed, row in rows:
        entries = [(whole(q, r.n), whole(a)) for q, a in listed]
        if len({q for q, _ in entries} | {j}) != len(entries) + 1 or not all(a for _, a in entries):
            raise Fault(f"a split row lists a column twice, or {j}, or a zero")
        i = None if row is None else whole(row, len(r.rows))
        u, v = most(r, entries, i, j, low_side), most(r, entries, i, j, high_side)
        if u is None or v is None:
            raise Fault(f"a side of the split on column {j} does not bound the row")
        if (v > u and r.lower[j] != t * r.box_den) or (v < u and r.upper[j] != (t + 1) * r.box_den):
            raise Fault(f"beyond the sides of column {j} the split row need not hold")
        found.append(({**{q: Fraction(-a) for q, a in entries}, j: v - u}, (v - u) * t - u))
    for terms, low in found:
        r.append(terms, low)


def most(r: Replay, entries: Sequence[tuple[int, int]], row: int | None, j: int, box: Box) -> Fraction | None:
    """An upper bound of the entries' activity over the box (the least that is evident), None if there is none."""
    lower, upper = box
    least = total = 0
    finite, bounded = True, True
    for q, a in entries:
        high, low = (upper[q], lower[q]) if a > 0 else (lower[q], upper[q])
        if high is None:
            bounded = False
        else:
            total += a * high
        if low is None:
            finite = False
        else:
            least += a * low
    bound = Fraction(total, r.box_den) if bounded else None
    if row is not None:
        left = _rest(r, entries, row, j, box)
        bound = left if bound is None or (left is not None and left < bound) else bound
    if bound is None or not (finite and bounded) or total - least > _SPAN * r.box_den or not all(r.integer[q] for q, _ in entries):
        return bound
    return _reached(r, entries, least // r.box_den, bound, box)


def _rest(r: Replay, entries: Sequence[tuple[int, int]], row: int, j: int, box: Box) -> Fraction | None:
    """What the row leaves for the entries when its part in column j is at its most generous."""
    own = {q: a for q, a in r.rows[row] if q != j}
    weight = sum(a for q, a in r.rows[row] if q == j)
    if len(own) != len(entries) or not entries:
        raise Fault(f"row {row} is not about these columns")
    first, unit = entries[0]
    factor = Fraction(own.get(first, 0), unit)
    if not factor or any(own.get(q, 0) != factor * a for q, a in entries):
        raise Fault(f"row {row} is no multiple of these entries")
    end = r.high[row] if factor > 0 else r.low[row]
    lower, upper = box
    at = lower[j] if (weight > 0) == (factor > 0) else upper[j]
    if end is None or (weight and at is None):
        return None
    return (Fraction(end * r.den, r.side_den) - Fraction(weight * (at or 0), r.box_den)) / factor


def _reached(r: Replay, entries: Sequence[tuple[int, int]], least: int, bound: Fraction, box: Box) -> Fraction:
    """The largest activity of whole columns that the bound allows: all sums as the bits of one number."""
    lower, upper = box
    width = bound.numerator // bound.denominator - least
    if width < 0:
        raise Fault("a row has no activity within its bound: that is a probe")
    mask, sums = (1 << width + 1) - 1, 1
    for q, a in entries:
        low, high = lower[q], upper[q]
        assert low is not None and high is not None  # asked before
        room, step = (high - low) // r.box_den, 1
        while room > 0:
            take = min(step, room)
            sums |= sums << abs(a) * take & mask
            room, step = room - take, step * 2
    return Fraction(least + sums.bit_length() - 1)


def cutoff(r: Replay, recipe: Sequence[Any]) -> None:
    """["cutoff", den, [[row, num], ...]]"""
    _, den, multipliers = recipe
    if r.limit is None:
        raise Fault("a cutoff without an objective to beat")
    if whole(den) <= 0:
        raise Fault(f"a cutoff over denominator {den}")
    left, reduced = r.limit, list(r.cost)
    for row, num in multipliers:
        i, y = whole(row, len(r.rows)), Fraction(whole(num), den)
        end = r.low[i] if y > 0 else r.high[i]
        if y and end is None:
            raise Fault(f"a cutoff: row {i} has no side where its multiplier stands")
        left -= y * Fraction(end or 0, r.side_den)
        for q, a in r.rows[i]:
            reduced[q] -= y * Fraction(a, r.den)
    r.append({q: -d for q, d in enumerate(reduced) if d}, -left)


def order(r: Replay, recipe: Sequence[Any]) -> None:
    """["order", position]: of the switch in each block.  A block with one of the counted entries has its switch on, the others
    come last and may be arranged by their switches."""
    _, position = recipe
    if r.arranged is None or r.ordered:
        raise Fault("an order needs a symmetry, and there is one only")
    blocks, counted = r.arranged
    p = whole(position, len(blocks[0]))
    if p < counted:
        raise Fault("a switch is none of the counted entries")
    for block in blocks:
        y = block[p]
        low, high = r.lower[y], r.upper[y]
        if not r.integer[y] or low is None or low < 0 or high is None or high > r.box_den:
            raise Fault(f"column {y} is no switch")
        off = list(r.upper)
        off[y] = 0
        near = [i for i, row in enumerate(r.rows) if any(q == y for q, _ in row)]
        for x in block[:counted]:
            if r.upper[x] != 0 and not any(_shut(r, i, x, off) for i in near):
                raise Fault(f"column {x} may be positive while column {y} is zero")
    for first, second in pairwise(blocks):
        r.append({first[p]: Fraction(1), second[p]: Fraction(-1)}, Fraction(0))
    r.ordered = True


def _shut(r: Replay, i: int, x: int, upper: list[int | None]) -> bool:
    if not any(q == x for q, _ in r.rows[i]):
        return False
    try:
        return r.implied(i, x, True, r.lower, upper) <= 0
    except Fault:
        return False
