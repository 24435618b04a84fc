"""Cuts at the root: tableau rows in small fractions, from which the checker's own code derives mixed-integer rounding rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from orpipe.proof.form import Form
from orpipe.proof.paths import sums
from orpipe.proof.reading import Fault
from orpipe.proof.strengthen import tightened
from orpipe_solvers._hot import HotLP

ROUNDS = 4
DEEP_ROUNDS = 12  # with sums of rows, which go on giving
_ROWS = 40  # tableau rows looked at in a round
_KEPT, _DEEP_KEPT = 15, 25
_SCALE = 10_000  # coefficients are rounded up to multiples of 1 / _SCALE
_DENOMINATOR = 1000
_WORTH = 1e-7  # a round that lifts the bound by less, relatively, is the last
_LARGEST = 10**9  # a longer cut does the LP more harm than good


def strengthened(form: Form, enough: Callable[[float], bool], deep: bool = False, tight: bool = False) -> HotLP:
    """The root LP after rounds of cuts, which are appended to the form; none is looked for once the bound is enough.
    deep: more rounds, and sums of rows along continuous columns as well.  tight: the form strengthened before."""
    hot = tightened(form, enough) if tight else HotLP(form.lp)
    integer = form.integer
    last = -math.inf
    for _ in range(DEEP_ROUNDS if deep else ROUNDS):
        if not integer.any():
            break
        root = hot.run(form.box.lower, form.box.upper)
        if root.status != "optimal" or root.point is None or enough(root.objective) or root.objective <= last + _WORTH * max(1.0, abs(last)):
            break
        last = root.objective
        recipes = _round(form, hot, root.point, deep)
        if not recipes:
            break
        form.extend(recipes)
        hot = HotLP(form.lp)
    return hot


def _round(form: Form, hot: HotLP, x: np.ndarray, deep: bool) -> list[list]:
    part = x - np.floor(x)
    depth = np.where(form.integer, np.minimum(part, 1 - part), 0.0)
    order = np.argsort(-depth, kind="stable")[:_ROWS]
    wanted = np.zeros(form.n, bool)
    wanted[order[depth[order] > 0.01]] = True
    activity = np.zeros(form.m)
    np.add.at(activity, form.row_of, form.num.astype(float) * x[form.column_of])
    replay, floor = form.replay, len(form.replay.rows)
    tried: list[tuple[float, int, list]] = []
    alike: list[list] = []
    done: set[int] = set()
    kept_state = (replay.side_den, list(replay.low), list(replay.high))
    recipes = [(_recipe(form, x, activity, weights), False) for _, weights in hot.tableau(wanted)]
    if deep:
        recipes += [(_recipe(form, x, activity, weights), False) for weights in sums(form, x, activity, _DEEP_KEPT)]
    for recipe, forced in [*recipes, *_single_rows(form, x, activity)]:
        if recipe is None:
            continue
        try:
            replay.derive(recipe)
        except Fault:
            continue
        row, low = replay.rows[-1], Fraction(replay.low[-1] or 0, replay.side_den)
        a = np.array([v / replay.den for _, v in row])
        gap = float(low) - float(sum(v * x[j] for v, (j, _) in zip(a.tolist(), row, strict=True)))
        norm = math.sqrt(sum(v * v for v in a.tolist()))
        good = norm > 0 and gap / norm > 1e-3 and max(abs(v) for v in a.tolist()) < _LARGEST and abs(low) < _LARGEST**2
        tried.append((-gap / norm if good else 0.0, len(tried), recipe))
        if forced and norm > 0 and recipe[3][0][0] not in done:
            alike.append(recipe)
            done.add(recipe[3][0][0])
    kept = _DEEP_KEPT if deep else _KEPT
    best = [recipe for score, _, recipe in sorted(tried, key=lambda t: t[:2])[:kept] if score < 0]
    best += [recipe for recipe in alike if recipe not in best]
    del replay.rows[floor:], replay.units[floor:]
    replay.side_den, replay.low, replay.high = kept_state
    for recipe in best:
        replay.derive(recipe)
    return best


def _recipe(form: Form, x: np.ndarray, activity: np.ndarray, weights: np.ndarray) -> list | None:
    near = {int(i): Fraction(float(weights[i])).limit_denominator(_DENOMINATOR) for i in np.flatnonzero(np.abs(weights) > 1e-9)}
    near = {i: f for i, f in near.items() if f}
    if not near:
        return None
    y = {i: f * form.factor[i] / form.factor_den for i, f in near.items()}
    den = math.lcm(*(f.denominator for f in y.values()))
    rows_up = [i for i in near if _nearer_high(form.has_low[i], form.has_high[i], form.row_low[i], form.row_high[i], activity[i])]
    columns = sorted({int(j) for i in near for j in form.column_of[form.row_of == i]})
    box = form.box
    up = [j for j in columns if _nearer_high(math.isfinite(box.lower[j]), math.isfinite(box.upper[j]), box.lower[j], box.upper[j], x[j])]
    ends = [form.has_low[i] or form.has_high[i] for i in near] + [math.isfinite(box.lower[j]) or math.isfinite(box.upper[j]) for j in columns]
    if not all(ends):
        return None
    place = form.place.tolist()
    return ["cut", _SCALE, den, [[place[i], f.numerator * (den // f.denominator)] for i, f in sorted(y.items())], up, [place[i] for i in rows_up]]


def _single_rows(form: Form, x: np.ndarray, activity: np.ndarray) -> list[tuple[list, bool]]:
    """Recipes of one tight row each, divided by one of its coefficients or a little more than a part of its side (covers
    of knapsack rows); only those that floats show to be violated, and the same for rows with the same numbers (True):
    the LP would only move to the next bin."""
    box, found = form.box, []
    starts = np.concatenate([[0], np.cumsum(np.bincount(form.row_of, minlength=form.m))])
    equalities = set(np.flatnonzero(form.has_low & form.has_high & (form.row_low == form.row_high).astype(bool)).tolist())
    for i in range(form.base):
        columns = form.column_of[starts[i]:starts[i + 1]]
        if len(columns) < 2 or form.num.dtype == object:
            continue
        at_high = _nearer_high(form.has_low[i], form.has_high[i], form.row_low[i], form.row_high[i], activity[i])
        side = float(form.row_high[i] if at_high else form.row_low[i])
        if abs(activity[i] - side) > 1e-6 * max(1.0, abs(side)) or i in equalities:
            continue
        a = form.num[starts[i]:starts[i + 1]].astype(float)
        low, high, v = box.lower[columns], box.upper[columns], x[columns]
        up = np.isfinite(high) & (~np.isfinite(low) | (high - v < v - low))
        end = np.where(up, high, low)
        if not np.isfinite(end).all() or not ((v > low + 1e-6) & (v < high - 1e-6) & form.integer[columns]).any():
            continue
        z, turned = np.abs(v - end), np.where(up, -a, a)
        right, sign = side - float((a * end).sum()), 1 if at_high else -1
        part = np.unique(np.abs(a[form.integer[columns]]))
        part = part[np.linspace(0, len(part) - 1, min(len(part), 8)).astype(int)] if len(part) else part
        steps = [int(d) for d in part if d > 1] + [int(abs(right) // k) + 1 for k in (2, 3, 4, 5) if abs(right) > k]
        best: tuple[float, int] | None = None
        whole = form.integer[columns]
        for step in steps:
            f = turned * (sign / -step)
            side_part = (right * sign / -step) % 1.0
            if not 0.01 < side_part < 0.99:
                continue
            fractional = f % 1.0
            weights = np.where(whole, np.where(fractional <= side_part, fractional / side_part, (1 - fractional) / (1 - side_part)),
                               np.where(f > 0, f / side_part, -f / (1 - side_part)))
            gap = (1.0 - float((weights * z).sum())) / max(1e-9, math.sqrt(float((weights * weights).sum())))
            if gap > 1e-3 and (best is None or gap > best[0] + 1e-9):
                best = gap, step
        if best is not None:
            y = Fraction(-sign, best[1]) * form.factor[i] / form.factor_den
            found.append((best[0], i, up, ["cut", _SCALE, y.denominator, [[int(form.place[i]), y.numerator]], columns[up].tolist(),
                                               [int(form.place[i])] if at_high else []]))
    found.sort(key=lambda t: -t[0])
    out = [(recipe, False) for *_, recipe in found[:_KEPT]]
    for _, i, up, (_, scale, den, [[_, num]], _, high) in found[:1]:
        numbers = form.num[starts[i]:starts[i + 1]].tolist()
        for k in range(form.base):
            columns = form.column_of[starts[k]:starts[k + 1]]
            if k != i and (form.row_low[k], form.row_high[k]) == (form.row_low[i], form.row_high[i]) \
                    and form.num[starts[k]:starts[k + 1]].tolist() == numbers and np.isfinite(box.upper[columns[up]]).all():
                row = int(form.place[k])
                out.append((["cut", scale, den, [[row, num]], columns[up].tolist(), [row] if high else []], True))
    return out


def _nearer_high(has_low: bool, has_high: bool, low: float, high: float, value: float) -> bool:
    return bool(has_high and (not has_low or float(high) - value < value - float(low)))
