"""Where to look for cuts that single rows do not give: sums of rows along continuous columns (Marchand and Wolsey 2001).

A balance row is added to the next one so that the stock between them disappears; production that stands at its variable
limit (x <= M y) is replaced by that limit.  What is returned are multipliers of rows; the checker's own code makes the cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orpipe.proof.form import Form

_LENGTH = 6  # rows in a sum, limits not counted
_DIVISORS = 6
_INSIDE = 1e-6
_DEEP = 1e-3


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a form as floats, by row and by column."""

    entries: list[dict[int, float]]
    by_column: list[list[int]]

    @classmethod
    def of(cls, form: Form) -> _Rows:
        entries: list[dict[int, float]] = [{} for _ in range(form.m)]
        by_column: list[list[int]] = [[] for _ in range(form.n)]
        for i, j, a in zip(form.row_of.tolist(), form.column_of.tolist(), form.num.tolist(), strict=True):
            entries[i][j] = float(a)
            by_column[j].append(i)
        return cls(entries, by_column)


def sums(form: Form, x: np.ndarray, activity: np.ndarray, most: int) -> list[np.ndarray]:
    """Multipliers (m,) of rows, divided so that rounding the sum cuts `x` off, as far as floats can tell; the `most` deepest."""
    if form.integer.all():
        return []
    judged = [(_depth(form, x, activity, weights, total), k, weights) for k, (weights, total) in enumerate(_candidates(form, x, activity))]
    found = []
    for depth, _, weights in sorted(judged, key=lambda t: (-t[0], t[1]))[:most]:
        if depth > _DEEP:
            y = np.zeros(form.m)
            y[list(weights)] = list(weights.values())
            found.append(y)
    return found


def _candidates(form: Form, x: np.ndarray, activity: np.ndarray) -> Iterator[tuple[dict[int, float], dict[int, float]]]:
    rows = _Rows.of(form)
    own = form.base
    slack = np.minimum(np.where(form.has_low, activity - form.row_low.astype(float), np.inf),
                       np.where(form.has_high, form.row_high.astype(float) - activity, np.inf))
    limits = _limits(form, rows, slack, own)
    lower, upper = form.box.lower, form.box.upper
    inside = ~form.integer & (x > lower + _INSIDE) & (x < upper - _INSIDE)
    for start in range(own):
        if slack[start] > _INSIDE or start in limits.values() or form.integer[list(rows.entries[start])].all():
            continue
        weights, total = {start: 1.0}, dict(rows.entries[start])
        for _ in range(_LENGTH):
            yield from _divided(form, x, slack, weights, total, rows, limits)
            step = _next(rows, inside, slack, weights, total, limits, own)
            if step is None:
                break
            row, factor = step
            _add(weights, total, row, factor, rows)


def _limits(form: Form, rows: _Rows, slack: np.ndarray, own: int) -> dict[int, int]:
    """For continuous columns that stand at a limit of the form x <= M y: the row."""
    found: dict[int, int] = {}
    for i in range(own):
        if len(rows.entries[i]) == 2 and slack[i] <= _INSIDE * max(1.0, *map(abs, rows.entries[i].values())):
            loose = [j for j in rows.entries[i] if not form.integer[j]]
            if len(loose) == 1:
                found.setdefault(loose[0], i)
    return found


def _next(rows: _Rows, inside: np.ndarray, slack: np.ndarray, weights: dict[int, float], total: dict[int, float],
          limits: dict[int, int], own: int) -> tuple[int, float] | None:
    """The next row, and its factor, that takes out a continuous column strictly between its bounds."""
    for j, a in total.items():
        if not inside[j] or j in limits or abs(a) < 1e-9:
            continue
        for i in rows.by_column[j]:
            if i < own and i not in weights and slack[i] <= _INSIDE and len(rows.entries[i]) > 2:
                return i, -a / rows.entries[i][j]
    return None


def _add(weights: dict[int, float], total: dict[int, float], row: int, factor: float, rows: _Rows) -> None:
    weights[row] = weights.get(row, 0.0) + factor
    for j, a in rows.entries[row].items():
        value = total.get(j, 0.0) + factor * a
        if abs(value) < 1e-9:
            total.pop(j, None)
        else:
            total[j] = value


def _divided(form: Form, x: np.ndarray, slack: np.ndarray, weights: dict[int, float], total: dict[int, float],
             rows: _Rows, limits: dict[int, int]) -> Iterator[tuple[dict[int, float], dict[int, float]]]:
    weights, total = dict(weights), dict(total)
    for j in [j for j in total if j in limits and limits[j] not in weights]:
        _add(weights, total, limits[j], -total[j] / rows.entries[limits[j]][j], rows)
    part = x - np.floor(x)
    sizes = {round(abs(a), 6) for j, a in total.items() if form.integer[j] and _INSIDE < part[j] < 1 - _INSIDE}
    for divisor in sorted(sizes, reverse=True)[:_DIVISORS]:
        for sign in (1.0, -1.0):
            if divisor > 1e-6:
                f = sign / divisor
                yield {i: w * f for i, w in weights.items()}, {j: a * f for j, a in total.items()}


def _depth(form: Form, x: np.ndarray, activity: np.ndarray, weights: dict[int, float], total: dict[int, float]) -> float:
    """How far `x` is beyond the rounded sum (distance), in floats and with the ends that cuts.py chooses."""
    right, used, norm = 0.0, 0.0, 0.0
    terms: list[tuple[float, bool, float]] = []
    for j, a in total.items():
        low, high = float(form.box.lower[j]), float(form.box.upper[j])
        at_high = math.isfinite(high) and (not math.isfinite(low) or high - x[j] < x[j] - low)
        end = high if at_high else low
        if not math.isfinite(end):
            return 0.0
        right -= a * end
        if low != high:
            terms.append((-a if at_high else a, bool(form.integer[j]), abs(float(x[j]) - end)))
    for i, y in weights.items():
        low = float(form.row_low[i]) if form.has_low[i] else -math.inf
        high = float(form.row_high[i]) if form.has_high[i] else math.inf
        at_high = math.isfinite(high) and (not math.isfinite(low) or high - activity[i] < activity[i] - low)
        end = high if at_high else low
        right += y * end
        if low != high:
            terms.append((y if at_high else -y, False, abs(float(activity[i]) - end)))
    part = right - math.floor(right)
    if not 0.005 < part < 0.995:
        return 0.0
    for a, whole, z in terms:
        if whole:
            f = a - math.floor(a)
            weight = f / part if f <= part else (1 - f) / (1 - part)
        else:
            weight = a / part if a > 0 else -a / (1 - part)
        used += weight * z
        norm += weight * weight
    return (1.0 - used) / math.sqrt(norm) if norm else 0.0
