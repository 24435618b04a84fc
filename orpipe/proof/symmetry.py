"""Part of the checker: blocks of columns that can change places, and what may be assumed about their order.

If exchanging neighbouring blocks leaves the problem as it is, the blocks of any solution can be arranged in the order in
which the first entries appear: each of the entries 0, 1, ... stands in at most one block (its row says so), so entry i is
needed in blocks 0..i only.  The objective is the same, so a proof may fix the others at zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orpipe.proof.replay import Replay


def exchangeable(r: Replay, first: Sequence[int], second: Sequence[int]) -> bool:
    """Swapping first[k] and second[k] for all k maps the problem onto itself: costs, bounds, integrality, rows as a bag."""
    to = dict(zip(first, second, strict=True)) | dict(zip(second, first, strict=True))
    for a, b in zip(first, second, strict=True):
        if (r.cost[a], r.lower[a], r.upper[a], r.integer[a]) != (r.cost[b], r.lower[b], r.upper[b], r.integer[b]):
            return False
    touched = [i for i, row in enumerate(r.rows) if any(j in to for j, _ in row)]

    def bag(swap: bool) -> Counter:
        return Counter((tuple(sorted((to.get(j, j) if swap else j, a) for j, a in r.rows[i])), r.low[i], r.high[i]) for i in touched)

    return bag(False) == bag(True)


def zeros(blocks: Sequence[Sequence[int]], entries: int) -> list[int]:
    """Columns that may be fixed at zero."""
    return [block[i] for b, block in enumerate(blocks) for i in range(min(b, entries))]


def single(r: Replay, columns: Sequence[int], row: int) -> bool:
    """The row lets at most one of these integer, nonnegative columns be positive."""
    entries, high = r.rows[row], r.high[row]
    if sorted(j for j, _ in entries) != sorted(columns) or high is None:
        return False
    weight = entries[0][1]
    return weight > 0 and all(a == weight and r.integer[j] and r.lower[j] is not None and r.lower[j] >= 0 for j, a in entries) \
        and high * r.den < 2 * weight * r.side_den
