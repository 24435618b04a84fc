"""The proof copy made tighter before it is searched: bounds that the objective to beat implies, sides of integer columns that are
empty, big M and coefficients shrunk to what bounds leave, variable bounds that rows imply only together with a switch.

What to derive is looked for here, in integers over the form's box; whether it holds is for orpipe.proof.splits to say.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from orpipe.proof.form import Form
from orpipe.proof.reading import Fault
from orpipe.proof.splits import Box, most
from orpipe_solvers._hot import HotLP

WORK = 80_000  # row entries looked at for all sides together
_ROOT_WORK = 60_000
_ROUNDS = 4  # of variable bounds that the relaxation violates
_KEPT = 150
_LISTED = 60  # columns of a row whose sums are listed; of more some fill nearly any side
_WORTH = Fraction(1, 10)  # a bound of a continuous column moves by a tenth of its range or stays
_FAR = 1 << 40
_CLEAR = 1e-6

Bounds = list[int | None]
Step = tuple[int, bool, int, int]  # column, upper, value over box_den, row


@dataclass
class _Side:
    lower: Bounds
    upper: Bounds
    steps: list[Step]
    empty: bool


@dataclass
class _Split:
    """Both sides of one integer column, and the variable bounds that they differ in: (column, sign, below, above)."""

    column: int
    threshold: int
    low: _Side
    high: _Side
    limits: list[tuple[int, int, Fraction, Fraction]]


@dataclass
class Strengthening:
    """Works on `form` and its replay.  done: the form's box is empty, so nothing is better."""

    form: Form
    left: int = WORK
    done: bool = False
    splits: list[_Split] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replay = self.form.replay
        self._read()

    def _read(self) -> None:
        r = self.replay
        self.rows: list[list[tuple[int, int]]] = []
        self.sides: list[tuple[int | None, int | None]] = []  # times box_den
        self.where: list[list[int]] = [[] for _ in range(r.n)]
        self._grown()

    def _grown(self) -> None:
        """Rows that the replay has gained, each over its own den: entries times den against sides times box_den."""
        r = self.replay
        for i in range(len(self.rows), len(r.rows)):
            factor, low, high = r.side_den // r.den, r.low[i], r.high[i]
            shared = math.gcd(*(a * factor for _, a in r.rows[i]), (low or 0) * r.box_den, (high or 0) * r.box_den) or 1
            entries = [(j, a * factor // shared) for j, a in r.rows[i]]
            self.rows.append(entries)
            self.sides.append((None if low is None else low * r.box_den // shared, None if high is None else high * r.box_den // shared))
            for j, _ in entries:
                self.where[j].append(i)

    # ---- propagation

    def propagate(self, lower: Bounds, upper: Bounds, rows: Iterable[int], work: int) -> tuple[list[Step], bool, int]:
        """Tightens the box in place; the steps taken, whether it is empty, and the work done."""
        integer, bd = self.replay.integer, self.replay.box_den
        todo, waiting = deque(rows), set(rows)
        steps: list[Step] = []
        spent = 0
        while todo and spent < work:
            i = todo.popleft()
            waiting.discard(i)
            entries = self.rows[i]
            spent += len(entries)
            for sign, limit in ((-1, self.sides[i][0]), (1, self.sides[i][1])):
                if limit is None:
                    continue
                limit *= sign
                total, missing, at = 0, 0, -1
                for j, a in entries:
                    end = lower[j] if sign * a > 0 else upper[j]
                    if end is None:
                        missing, at = missing + 1, j
                        if missing > 1:
                            break
                    else:
                        total += sign * a * end
                if missing > 1:
                    continue
                room = limit - total
                for j, a in entries:
                    if missing and j != at:
                        continue
                    a *= sign
                    up = a > 0
                    end, now = (lower[j], upper[j]) if up else (upper[j], lower[j])
                    if end is not None and now is not None and room >= abs(a) * abs(now - end):
                        continue
                    num = room if missing else room + a * end  # type: ignore[operator]
                    if integer[j]:
                        value = num // a // bd * bd if up else -(-num // a // bd) * bd
                    else:  # outward to the grid of the box
                        value = -(-num // a) if up else num // a
                    if abs(value) > _FAR * bd or (now is not None and (value >= now if up else value <= now)):
                        continue
                    if not integer[j] and now is not None and end is not None and room >= 0 and abs(now - value) < abs(now - end) * _WORTH:
                        continue
                    steps.append((j, up, value, i))
                    if up:
                        upper[j] = value
                    else:
                        lower[j] = value
                    low, high = lower[j], upper[j]
                    if low is not None and high is not None and low > high:
                        return steps, True, spent
                    for k in self.where[j]:
                        if k not in waiting and k != i:
                            waiting.add(k)
                            todo.append(k)
        return steps, False, spent

    def written(self, steps: Iterable[Step]) -> list[list]:
        bd = self.replay.box_den
        return [[j, "upper" if up else "lower", str(Fraction(value, bd)), row] for j, up, value, row in steps]

    def needed(self, steps: list[Step], columns: Iterable[int] | None) -> list[Step]:
        """The steps behind the bounds of these columns (None: behind the last step)."""
        if columns is None:
            wanted = {(steps[-1][0], up) for up in (True, False)} if steps else set()
        else:
            wanted = {(j, up) for j in columns for up in (True, False)}
        kept = []
        for step in reversed(steps):
            j, up, _, row = step
            if (j, up) in wanted:
                kept.append(step)
                own = next(a for q, a in self.rows[row] if q == j)
                least = up == (own > 0)
                wanted |= {(q, least != (a > 0)) for q, a in self.rows[row] if q != j}
        return kept[::-1]

    # ---- at the root

    def apply(self, recipes: Sequence[list], hidden: bool = False) -> bool:
        """False if the checker's code does not follow; then nothing has changed."""
        derived = []
        r = self.replay
        for recipe in recipes:
            before = r.box_den, list(r.lower), list(r.upper)
            try:
                r.derive(recipe)
            except Fault:
                r.box_den, r.lower, r.upper = before
                continue
            derived.append(recipe)
        if derived:
            self.form.extend(derived, hidden)
            self._grown()
        return len(derived) == len(recipes)

    def bounds(self, rows: Iterable[int]) -> None:
        lower, upper = list(self.replay.lower), list(self.replay.upper)
        steps, empty, _ = self.propagate(lower, upper, list(rows), _ROOT_WORK)
        if steps:
            self.apply([["bounds", self.written(steps)]])
        self.done |= empty

    def objective(self) -> None:
        """What a better point may cost, as a row that only bounds are derived from."""
        if self.replay.limit is not None and self.apply([["cutoff", 1, []]], hidden=True):
            self.bounds(range(len(self.rows)))

    def order(self) -> None:
        if self.form.symmetry is None:
            return
        blocks, counted = self.form.symmetry[0], len(self.form.symmetry[1])
        for position in range(counted, len(blocks[0])):
            if self.apply([["order", position]]):
                break

    def columns(self) -> None:
        """Every integer column's sides in turn: empty ones excluded, rows with a big M or a loose coefficient replaced."""
        r = self.replay
        for j in np.flatnonzero(self.form.integer).tolist():
            low, high = r.lower[j], r.upper[j]
            if low is None or high is None or low >= high:
                continue
            for t in sorted({low // r.box_den, high // r.box_den - 1}):
                if self.left <= 0 or self.done:
                    return
                self._column(j, t)

    def _column(self, j: int, t: int) -> None:
        r = self.replay
        found = []
        for up in (False, True):
            lower, upper = list(r.lower), list(r.upper)
            r.cut_box(lower, upper, j, t, up)
            if lower[j] > upper[j]:  # type: ignore[operator]
                return  # the column has been fixed meanwhile
            steps, empty, spent = self.propagate(lower, upper, list(self.where[j]), self.left)
            self.left -= spent
            if empty:
                if self.apply([["probe", j, t, int(up), self.written(self.needed(steps, None))]]):
                    self.bounds(self.where[j])
                return
            found.append(_Side(lower, upper, steps, empty))
        low, high = found
        self._rows(j, t, low, high)
        limits = []
        if r.upper[j] - r.lower[j] == r.box_den:  # type: ignore[operator]
            for q in {step[0] for side in found for step in side.steps} - {j}:
                for sign, at_low, at_high, now in ((1, low.upper[q], high.upper[q], r.upper[q]), (-1, low.lower[q], high.lower[q], r.lower[q])):
                    if at_low is not None and at_high is not None and (now is None or at_low != now or at_high != now):
                        limits.append((q, sign, Fraction(sign * at_low, r.box_den), Fraction(sign * at_high, r.box_den)))
        if limits:
            self.splits.append(_Split(j, t, low, high, limits))

    def _rows(self, j: int, t: int, low: _Side, high: _Side) -> None:
        """Rows with this column whose part without it is bounded more tightly than the row says."""
        r, form = self.replay, self.form
        rows: list[list] = []
        replaced: list[tuple[int, bool]] = []
        boxes: tuple[Box, Box] = (low.lower, low.upper), (high.lower, high.upper)
        for i in self.where[j]:
            if not form.shown(i) or len(r.rows[i]) < 2 or (r.low[i] is not None and r.low[i] == r.high[i]):
                continue
            own = next(a for q, a in r.rows[i] if q == j)
            for sign, end in ((1, r.high[i]), (-1, r.low[i])):
                if end is None or not form.shown(i, sign > 0):
                    continue
                shared = math.gcd(*(a for q, a in r.rows[i] if q != j))
                entries = [(q, sign * a // shared) for q, a in r.rows[i] if q != j]
                self.left -= len(entries)
                side = Fraction(sign * end * r.den, r.side_den)
                own_sides = [(side - sign * own * (t + k)) / shared for k in (0, 1)]
                if not self._promising(entries, boxes, own_sides):
                    continue
                try:
                    below, above = (most(r, entries, i, j, box) for box in boxes)
                except Fault:
                    continue
                if below is None or above is None:
                    continue
                loose = own_sides[0] - below, own_sides[1] - above
                near = Fraction(_CLEAR) * max(Fraction(1), abs(below), abs(above))
                if min(loose) >= 0 and max(loose) > near and self._better(j, t, loose, above - below):
                    rows.append([[list(e) for e in entries], i])
                    replaced.append((i, sign > 0))
        if rows:
            columns = {q for listed, _ in rows for q, _ in listed} | {j}
            steps = [self.written(self.needed(side.steps, columns)) for side in (low, high)]
            if self.apply([["split", j, t, *steps, rows]]):
                for i, upper in replaced:
                    form.hide(i, upper)

    def _better(self, j: int, t: int, loose: tuple[Fraction, Fraction], slope: Fraction) -> bool:
        """The row through both sides holds beyond them, and leaves no more than the old one there."""
        r = self.replay
        lowest, highest = r.lower[j] == t * r.box_den, r.upper[j] == (t + 1) * r.box_den
        return (lowest or (slope <= 0 and loose[0] >= loose[1])) and (highest or (slope >= 0 and loose[1] >= loose[0]))

    def _promising(self, entries: list[tuple[int, int]], boxes: tuple[Box, Box], sides: list[Fraction]) -> bool:
        """Bounds leave less than the row does, or (whole columns of several sizes) its side may not be attained."""
        integer, bd = self.replay.integer, self.replay.box_den
        if len(entries) <= _LISTED and len({abs(a) for _, a in entries}) > 1 and all(integer[q] for q, _ in entries):
            self.left -= 4 * len(entries)
            return True
        for (lower, upper), side in zip(boxes, sides, strict=True):
            total = 0
            for q, a in entries:
                end = upper[q] if a > 0 else lower[q]
                if end is None:
                    break
                total += a * end
            else:
                if total < side * bd:
                    return True
        return False

    # ---- against a point of the relaxation

    def violated(self, x: np.ndarray) -> bool:
        """Appends the variable bounds that `x` breaks; False if there are none."""
        found: list[tuple[float, _Split, int]] = []
        for split in self.splits:
            part = float(x[split.column]) - split.threshold
            for k, (q, sign, low, high) in enumerate(split.limits):
                below, above = float(low), float(high)
                room = below + (above - below) * part - sign * float(x[q])
                if room < -1e-5 * max(1.0, abs(below), abs(above)):
                    found.append((room / max(1.0, abs(above - below)), split, k))
        found.sort(key=lambda f: (f[0], f[1].column, f[2]))
        chosen: dict[int, tuple[_Split, list[int]]] = {}
        for _, split, k in found[:_KEPT]:
            chosen.setdefault(id(split), (split, []))[1].append(k)
        recipes = []
        for split, ks in chosen.values():
            listed = [split.limits[k] for k in ks]
            split.limits = [limit for k, limit in enumerate(split.limits) if k not in ks]
            columns = {q for q, *_ in listed}
            steps = [self.written(self.needed(side.steps, columns)) for side in (split.low, split.high)]
            recipes.append(["split", split.column, split.threshold, *steps, [[[[q, sign]], None] for q, sign, *_ in listed]])
        before = self.form.m
        self.apply(recipes)
        return self.form.m > before


def tightened(form: Form, enough: Callable[[float], bool]) -> HotLP:
    """The root LP of the strengthened form, with the variable bounds that it would break."""
    found = Strengthening(form)
    found.objective()
    if not found.done:
        found.order()
        found.columns()
    form.settle()
    hot = HotLP(form.lp)
    for _ in range(_ROUNDS if found.splits and not found.done else 0):
        root = hot.run(form.box.lower, form.box.upper)
        if root.status != "optimal" or root.point is None or enough(root.objective) or not found.violated(root.point):
            break
        hot = HotLP(form.lp)
    form.base = form.m
    return hot
