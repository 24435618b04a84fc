"""What a model demands of some of its columns once the others are eliminated.

Others are eliminated by the equality that defines them, then (continuous ones) by Fourier and Motzkin: a row that bounds
one from above and a row that bounds it from below add up to a row without it.  What is left over makes the demands
incomplete: they all hold, but are not all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from orpipe.verify.equivalence.forms import Rows, merged_parallel, one_sided, unit_rows
from orpipe.verify.equivalence.normalise import Form, tidy

_GROWTH = 120  # rows that one elimination may add
_MOST_ROWS = 600
_MOST_SUBSTITUTIONS = 40


@dataclass(frozen=True, eq=False)
class Demands:
    """rows: over all columns of the model, without entries outside `kept`.  low, high, whole: of the kept columns.

    complete: together they describe exactly the projection.  cost, offset: the objective over the kept columns;
    valued: no other column has a cost.
    """

    rows: Rows
    kept: np.ndarray
    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray
    cost: np.ndarray
    offset: float
    magnitude: float
    complete: bool
    valued: bool


def demands(form: Form, kept: np.ndarray, auxiliary: np.ndarray, whole: np.ndarray) -> Demands:
    """`form` holds all columns of its Problem.  kept (n,): columns to speak of.  auxiliary (n,): columns of which only
    existence matters; others that are not kept may go by their defining equality alone, which loses nothing.
    whole (n,): columns that are whole at the points to be judged, if not in the form."""
    n = form.n
    idle = ~(form.A != 0).any(0) & (form.cost == 0)
    out = _Elimination(form, kept, auxiliary | idle, whole)
    out.by_merging()
    out.by_equalities()
    costly = bool((out.form.cost[~kept[out.form.columns]] != 0).any())
    rows = out.by_pairs() if not costly else None
    if rows is None:
        rows = one_sided(out.form, redundant=True)
    columns = out.form.columns
    over = kept[columns]
    P, raw = np.zeros((len(rows), n)), np.zeros((len(rows), n))
    P[:, columns], raw[:, columns] = rows.P, rows.raw
    inside = ~(rows.P[:, ~over] != 0).any(1) if (~over).any() else np.ones(len(rows), bool)
    low, high, cost = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
    low[columns], high[columns], cost[columns] = out.form.low, out.form.high, out.form.cost
    used = unit_rows(raw[inside], rows.limit[inside], rows.origin[inside])
    return Demands(used, kept, low, high, form.whole, np.where(kept, cost, 0.0), out.form.offset, out.form.magnitude,
                   complete=bool(inside.all()) and not out.contradictory(), valued=not (cost[~kept] != 0).any())


class _Elimination:
    def __init__(self, form: Form, kept: np.ndarray, auxiliary: np.ndarray, whole: np.ndarray) -> None:
        self.form, self.kept, self.auxiliary, self.whole = form, kept, auxiliary, whole

    def contradictory(self) -> bool:
        """A row without entries that cannot hold: the rows with entries do not tell that there is no point."""
        bare = ~(self.form.A != 0).any(1)
        noise = 1e-9 * max(1.0, self.form.magnitude)
        return bool((self.form.lo[bare] > noise).any() or (self.form.hi[bare] < -noise).any())

    def by_merging(self) -> None:
        """Parallel auxiliaries (the digits of a whole number, say) as one."""
        self.form, _ = merged_parallel(self.form, self.auxiliary & ~self.kept)

    def by_equalities(self) -> None:
        """x_j = b + e @ x wherever an equality says so; its bounds become a row."""
        again = True
        while again:
            again = False
            form = self.form
            others = np.flatnonzero(~self.kept[form.columns])
            for j in others.tolist():
                if form.low[j] == form.high[j]:
                    by = np.zeros(form.n)
                    by[j] = form.low[j]
                    self.form = form.shifted(by).take_columns(np.arange(form.n) != j)
                    again = True
                    break
                rows = np.flatnonzero((form.A[:, j] != 0) & form.equal)
                if len(rows) and not self.auxiliary[form.columns[j]]:
                    # a decision has to follow from decisions: its value must not be forgotten with an auxiliary's
                    loose = self.auxiliary[form.columns] & ~self.kept[form.columns]
                    rows = rows[~(form.A[rows][:, loose] != 0).any(1)]
                if form.whole[j] and len(rows):
                    judged = replace(form, whole=form.whole | self.whole[form.columns])
                    rows = rows[[implied_whole(judged, int(r), j) for r in rows]]
                if len(rows):
                    spread = (form.A[rows][:, others] != 0).sum(1)
                    self.form = substituted(form, j, int(rows[spread.argmin()]))
                    again = True
                    break

    def by_pairs(self) -> Rows | None:
        """All other columns gone by Fourier and Motzkin, or None if that would take too many rows."""
        form = tidy(self.form)
        if form.empty:
            return None
        columns = np.flatnonzero(~self.kept[form.columns])
        if not len(columns):
            return None
        if form.whole[columns].any() or not self.auxiliary[form.columns[columns]].all():
            return None
        rows = one_sided(form, redundant=True)
        free = replace(form, low=np.where(self.kept[form.columns], form.low, -np.inf),
                       high=np.where(self.kept[form.columns], form.high, np.inf))
        P, q, origin = rows.raw, rows.limit, rows.origin
        unit = np.eye(form.n)
        has_high, has_low = columns[np.isfinite(form.high[columns])], columns[np.isfinite(form.low[columns])]
        P = np.concatenate([P, unit[has_high], -unit[has_low]])
        q = np.concatenate([q, form.high[has_high], -form.low[has_low]])
        origin = np.concatenate([origin, np.full(len(has_high) + len(has_low), -1)])
        todo = columns.tolist()
        while todo:
            above, below = (P[:, todo] > 0).sum(0), (P[:, todo] < 0).sum(0)
            cost = above * below - above - below
            k = int(cost.argmin())
            if cost[k] > _GROWTH or len(q) + cost[k] > _MOST_ROWS:
                return None
            j = todo.pop(k)
            up, down, rest = P[:, j] > 0, P[:, j] < 0, P[:, j] == 0
            U, D = P[up] / P[up, j][:, None], P[down] / -P[down, j][:, None]
            u, d = q[up] / P[up, j], q[down] / -P[down, j]
            new = (U[:, None, :] + D[None, :, :]).reshape(-1, P.shape[1])
            size = (np.abs(U)[:, None, :] + np.abs(D)[None, :, :]).reshape(-1, P.shape[1])
            new[np.abs(new) <= 1e-12 * size] = 0.0  # what cancels leaves rounding noise
            new[:, j] = 0.0
            limit = (u[:, None] + d[None, :]).reshape(-1)
            if (limit[~(new != 0).any(1)] < -1e-9).any():
                return None
            made = unit_rows(np.concatenate([P[rest], new]), np.concatenate([q[rest], limit]),
                             np.concatenate([origin[rest], np.full(len(limit), -1)]), free)
            P, q, origin = made.raw, made.limit, made.origin
        self.form = form
        return unit_rows(P, q, origin)


def substituted(form: Form, j: int, r: int) -> Form:
    """Without column j, which the equality r defines; r turns into the bounds of j."""
    pivot = form.A[r, j]
    e, b = -form.A[r] / pivot, form.lo[r] / pivot
    e[j] = 0.0
    factor = form.A[:, j].copy()
    factor[r] = 0.0
    touched = factor != 0
    A, lo, hi = form.A.copy(), form.lo.copy(), form.hi.copy()
    before = np.abs(A[touched]) + np.abs(np.outer(factor[touched], e))
    sums = A[touched] + np.outer(factor[touched], e)
    sums[np.abs(sums) <= 1e-12 * before] = 0.0  # what cancels leaves rounding noise
    A[touched] = sums
    lo[touched] -= factor[touched] * b
    hi[touched] -= factor[touched] * b
    A[r], lo[r], hi[r] = e, form.low[j] - b, form.high[j] - b
    A[:, j] = 0.0
    cost, c = form.cost.copy(), form.cost[j]
    cost = np.where(np.abs(cost + c * e) <= 1e-12 * (np.abs(cost) + np.abs(c * e)), 0.0, cost + c * e)
    out = replace(form, A=A, lo=lo, hi=hi, cost=cost, offset=form.offset + c * b, magnitude=form.magnitude + abs(c * b))
    return out.take_columns(np.arange(form.n) != j)


def implied_whole(form: Form, r: int, j: int) -> bool:
    """Does equality r make column j whole?  All other columns in it are, with whole multiples."""
    entries = np.flatnonzero(form.A[r])
    ratio = form.A[r, entries] / form.A[r, j]
    side = form.lo[r] / form.A[r, j]
    others = entries[entries != j]
    return bool(form.whole[others].all() and (np.abs(ratio - np.rint(ratio)) <= 1e-12 * np.maximum(1, np.abs(ratio))).all()
                and abs(side - round(side)) <= 1e-9)


def substitutions(form: Form, removable: np.ndarray) -> Iterator[Form]:
    """The form with one removable column (n,) put in through an equality, for every such pair up to a number."""
    tried = 0
    for r in np.flatnonzero(form.equal).tolist():
        for j in np.flatnonzero(form.A[r]).tolist():
            if not removable[j] or (form.whole[j] and not implied_whole(form, r, j)):
                continue
            tried += 1
            if tried > _MOST_SUBSTITUTIONS:
                return
            thinner = tidy(substituted(form, j, r))
            if not thinner.empty:
                yield thinner
