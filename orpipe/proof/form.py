"""The problem in integers for the prover: minimised, rows scaled to small whole numbers, derived bounds, exact dual bounds.

Everything is computed with what the node LP suggests and proved in integer arithmetic; int64 where it fits, else Python's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from orpipe.exact import Exact
from orpipe.problem import Problem
from orpipe.proof.blocks import interchangeable
from orpipe.proof.lattice import objective_step
from orpipe.proof.replay import Replay
from orpipe.proof.symmetry import zeros

_SAFE = 2**61
_INT_SAFE = 2.0**60  # magnitudes are estimated in floats
_FAR = 1 << 40  # derived bounds beyond this help nobody


@dataclass(frozen=True, eq=False)
class Box:
    """Column bounds (n,): numerators over Form.box_den for proofs, floats (±inf) for the LP."""

    low: np.ndarray
    high: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def child(self, column: int, threshold: int, up: bool, box_den: int) -> Box:
        low, high, lower, upper = self.low, self.high, self.lower, self.upper
        if up:
            low, lower = low.copy(), lower.copy()
            low[column], lower[column] = (threshold + 1) * box_den, threshold + 1
        else:
            high, upper = high.copy(), upper.copy()
            high[column], upper[column] = threshold * box_den, threshold
        return Box(low, high, lower, upper)


@dataclass(frozen=True, eq=False)
class Dual:
    """A lower bound over a box, and the reduced costs (n,) over den that go with it."""

    bound: Fraction
    reduced: np.ndarray
    den: int


class Form:
    """min cost x over rows `num` between row_low and row_high (integers; finite where the floats of `lp` are).

    feasibility: with a zero objective.  arrange: use symmetry.  lp: the same as a Problem for float solvers and exact
    vertices.  scale (m,): problem row i is form row i times scale[i].  bounds, derived, symmetry: as certificates list
    them.  step: objective step in units of form cost, or None.  cutoff: the objective to beat, in the same units.
    place (m,): the replay's row of each form row.  base: rows that are no cuts.
    """

    def __init__(self, problem: Problem, feasibility: bool = False, arrange: bool = True, cutoff: Fraction | None = None) -> None:
        p = problem
        self.problem, self.n, self.m = p, p.n_vars, p.n_rows
        den = math.lcm(p.matrix_exact.den, p.row_lower_exact.den, p.row_upper_exact.den)
        has_low, has_high = np.isfinite(p.row_lower), np.isfinite(p.row_upper)
        num = p.matrix_exact.over(den)
        low, high = np.where(has_low, p.row_lower_exact.over(den), 0), np.where(has_high, p.row_upper_exact.over(den), 0)
        starts = p.matrix.indptr
        row_of = np.repeat(np.arange(self.m), np.diff(starts))
        # the activity of a row of integer columns is a multiple of the divisor of its coefficients: so are its sides
        whole = np.bincount(row_of[~p.integer[p.matrix.indices]], minlength=self.m) == 0
        divisor = np.where(whole, 0, np.gcd(np.abs(low), np.abs(high)))
        filled = np.flatnonzero(np.diff(starts))
        if len(filled):
            divisor[filled] = np.gcd(divisor[filled], np.gcd.reduceat(num, starts[filled]))
        divisor = np.where(divisor == 0, 1, divisor)
        self.row_of, self.column_of = row_of, p.matrix.indices
        self.num = num // divisor[row_of]
        self.row_low, self.row_high = -(-low // divisor), high // divisor
        self.scale = [Fraction(int(g), den) for g in divisor]
        self.has_low, self.has_high = has_low, has_high
        sign = -1 if p.maximize else 1
        cost = p.cost_exact.reduced()
        self.cost_den = cost.den
        self.cost = np.zeros(self.n, np.int64) if feasibility else sign * cost.num
        self.integer = p.integer
        self.bounds: list[list] = []
        self.box_den = math.lcm(p.lower_exact.den, p.upper_exact.den)
        self.replay = Replay(p)
        step = None if feasibility else objective_step(self.replay)
        self.step = None if step is None else step * self.cost_den
        if cutoff is not None:
            value = cutoff / self.cost_den
            self.replay.limit = value if step is None else (math.ceil(value / step) - 1) * step
        self.symmetry = interchangeable(p, self.replay) if arrange and p.integer.any() else None
        if self.symmetry is not None:
            self.replay.arrange(*self.symmetry)
        self.box = self._derived_box()
        self.replay.tighten(self.bounds)
        self.derived: list[list] = []
        self.known, self.place = self.m, np.arange(self.m)
        self.base = self.m
        self._index()

    def _index(self) -> None:
        self.by_column = np.argsort(self.column_of, kind="stable")
        counts = np.bincount(self.column_of, minlength=self.n)
        self.filled = np.flatnonzero(counts)
        self.starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)[self.filled]
        self.magnitude = float(np.abs(self.num.astype(float)).max(initial=0.0))
        # multipliers of problem rows are those of form rows times `factor`, over `factor_den`
        self.factor_den = math.lcm(*(f.numerator for f in self.scale))
        self.factor = [f.denominator * (self.factor_den // f.numerator) for f in self.scale]
        self.__dict__.pop("lp", None)

    def extend(self, recipes: list[list], hidden: bool = False) -> None:
        """Takes over what the checker's replay has already derived from these recipes: rows, unless hidden, and the box."""
        r = self.replay
        self.derived += recipes
        new = range(self.known, len(r.rows))
        self.known = len(r.rows)
        if any(recipe[0] in ("bounds", "probe") for recipe in recipes):
            self._sync()
        if hidden or not new:
            self.__dict__.pop("lp", None)
            return
        entries = [(j, a // r.den) for i in new for j, a in r.rows[i]]
        lows = [Fraction(r.low[i], r.side_den) for i in new]  # type: ignore[arg-type]
        by_row = [low.denominator for low in lows]
        nums = [a // r.den * d for i, d in zip(new, by_row, strict=True) for _, a in r.rows[i]]
        counts = [len(r.rows[i]) for i in new]
        at = np.arange(self.m, self.m + len(new), dtype=self.row_of.dtype)
        self.num = np.concatenate([self.num, _integers(nums)])
        self.column_of = np.concatenate([self.column_of, np.array([j for j, _ in entries], self.column_of.dtype)])
        self.row_of = np.concatenate([self.row_of, np.repeat(at, counts)])
        self.row_low = np.concatenate([self.row_low, _integers([low.numerator for low in lows])])
        self.row_high = np.concatenate([self.row_high, np.zeros(len(new), np.int64)])
        self.has_low = np.concatenate([self.has_low, np.ones(len(new), bool)])
        self.has_high = np.concatenate([self.has_high, np.zeros(len(new), bool)])
        self.scale += [Fraction(1, d) for d in by_row]
        self.place = np.concatenate([self.place, np.array(new)])
        self.m += len(new)
        self._index()

    def _sync(self) -> None:
        r = self.replay
        self.box_den = r.box_den
        floats = [[bare if v is None else v / r.box_den for v in part] for part, bare in ((r.lower, -math.inf), (r.upper, math.inf))]
        low, high = (_integers([0 if v is None else v for v in part]) for part in (r.lower, r.upper))
        self.box = Box(low, high, np.array(floats[0], np.float64), np.array(floats[1], np.float64))

    def shown(self, row: int, upper: bool | None = None) -> bool:
        """Whether a row of the replay (or one of its sides) is still in the form."""
        at = int(np.searchsorted(self.place, row))
        if at >= self.m or self.place[at] != row:
            return False
        return bool(self.has_low[at] or self.has_high[at]) if upper is None else bool(self.has_high[at] if upper else self.has_low[at])

    def hide(self, row: int, upper: bool) -> None:
        """A side of a row of the replay is implied by another row: `settle` takes it out."""
        at = int(np.searchsorted(self.place, row))
        side = self.has_high if upper else self.has_low
        side[at] = False

    def settle(self) -> None:
        """Rows without a side leave the form; those that stay count as its own, before cuts."""
        keep = self.has_low | self.has_high
        at = np.cumsum(keep) - 1
        entries = keep[self.row_of]
        self.num, self.column_of, self.row_of = self.num[entries], self.column_of[entries], at[self.row_of[entries]].astype(self.row_of.dtype)
        for name in ("row_low", "row_high", "has_low", "has_high", "place"):
            setattr(self, name, getattr(self, name)[keep])
        self.scale = [s for s, k in zip(self.scale, keep.tolist(), strict=True) if k]
        self.m = self.base = len(self.scale)
        self._index()

    @cached_property
    def lp(self) -> Problem:
        """Relaxation with the derived box, zero offset."""
        indptr = np.concatenate([[0], np.cumsum(np.bincount(self.row_of, minlength=self.m))]).astype(np.int32)
        matrix = sp.csr_array((self.num.astype(np.float64), self.column_of, indptr), shape=(self.m, self.n))
        side = [np.where(k, v.astype(np.float64), s) for k, v, s in
                ((self.has_low, self.row_low, -np.inf), (self.has_high, self.row_high, np.inf))]
        p = self.problem
        return Problem(
            name=p.name, maximize=False, columns=p.columns,
            rows=tuple(p.rows[i] if i < len(p.rows) else f"_cut{i}" for i in self.place.tolist()), cost_exact=Exact(self.cost), offset=Fraction(0),
            matrix=matrix, matrix_exact=Exact(self.num), row_lower_exact=Exact(self.row_low), row_upper_exact=Exact(self.row_high),
            lower_exact=Exact(self.box.low, self.box_den), upper_exact=Exact(self.box.high, self.box_den),
            row_lower=side[0], row_upper=side[1], lower=self.box.lower, upper=self.box.upper,
            integer=np.zeros(self.n, bool), decision=p.decision,
        )

    # ---- derived bounds

    def _derived_box(self) -> Box:
        """Bounds that single rows imply, a few rounds; every integer column's rounded to whole numbers."""
        p, den = self.problem, self.box_den
        low: list[Fraction | int | None] = [None] * self.n
        high: list[Fraction | int | None] = [None] * self.n
        for out, floats, exact, rounded in ((low, p.lower, p.lower_exact, math.ceil), (high, p.upper, p.upper_exact, math.floor)):
            for j, v in enumerate(exact.num.tolist()):
                if math.isfinite(floats[j]):
                    value = Fraction(v, exact.den) if exact.den != 1 else v
                    out[j] = rounded(value) if self.integer[j] else value
        for j in zeros(self.symmetry[0], len(self.symmetry[1])) if self.symmetry else ():
            high[j] = 0
        columns, nums = self.column_of.tolist(), self.num.tolist()
        starts = p.matrix.indptr.tolist()
        rows = [list(zip(columns[a:b], nums[a:b], strict=True)) for a, b in pairwise(starts)]
        changed = set(range(self.m))
        where: list[list[int]] = [[] for _ in range(self.n)]
        for i, row in enumerate(rows):
            for j, _ in row:
                where[j].append(i)
        for _ in range(4):
            moved: set[int] = set()
            for i in sorted(changed):
                for side in (1, -1):
                    if self.has_high[i] if side == 1 else self.has_low[i]:
                        limit = int(self.row_high[i]) if side == 1 else -int(self.row_low[i])
                        moved |= self._propagate(i, rows[i], side, limit, low, high)
            changed = {i for j in moved for i in where[j]}
            if not changed:
                break
        den = math.lcm(den, *(v.denominator for part in (low, high) for v in part if v is not None))
        self.box_den = den

        def floats_of(part: list, infinite: float) -> np.ndarray:
            return np.array([infinite if v is None else float(v) for v in part], np.float64)

        def nums_of(part: list) -> np.ndarray:
            scaled = [0 if v is None else int(v * den) for v in part]
            return np.array(scaled, np.int64 if all(abs(v) < _SAFE for v in scaled) else object)

        return Box(nums_of(low), nums_of(high), floats_of(low, -np.inf), floats_of(high, np.inf))

    def _propagate(self, i: int, row: list[tuple[int, int]], side: int, limit: int, low: list, high: list) -> set[int]:
        """side * row <= limit: what it leaves for each of its columns.  Continuous columns only get bounds they lacked."""
        total, infinite, at = 0, 0, -1
        for j, a in row:
            end = low[j] if side * a > 0 else high[j]
            if end is None:
                infinite, at = infinite + 1, j
            else:
                total += side * a * end
        if infinite > 1:
            return set()
        moved = set()
        for j, a in row:
            if infinite and j != at:
                continue
            a *= side
            box = high if a > 0 else low
            if not self.integer[j] and box[j] is not None:
                continue
            end = low[j] if a > 0 else high[j]
            value = Fraction(limit - total + (0 if end is None else a * end)) / a
            # outward to a whole number: the box stays over a small denominator
            whole = math.floor(value) if self.integer[j] == (a > 0) else math.ceil(value)
            now = box[j]
            if abs(whole) < _FAR and (now is None or (whole < now if a > 0 else whole > now)):
                box[j] = whole
                self.bounds.append([j, "upper" if a > 0 else "lower", str(whole), i])
                moved.add(j)
        return moved

    # ---- exact dual bounds

    def bound(self, y: np.ndarray, den: int, box: Box, cost: np.ndarray | None = None) -> Fraction | None:
        """The lower bound (in units of cost) that multipliers y / den prove over the box, None if infinite.

        Multipliers that point to a side the row does not have count as zero."""
        found = self.dual(y, den, box, cost)
        return None if found is None else found.bound

    def dual(self, y: np.ndarray, den: int, box: Box, cost: np.ndarray | None = None) -> Dual | None:
        """As `bound`, with the reduced costs."""
        cost = self.cost if cost is None else cost
        y = np.where(((y > 0) & ~self.has_low) | ((y < 0) & ~self.has_high), 0, y)
        wide = float(np.abs(y.astype(float)).max(initial=0.0)) * self.magnitude * max(self.m, 1) \
            + float(np.abs(cost.astype(float)).max(initial=0.0)) * den
        if wide >= _INT_SAFE:
            y = y.astype(object)
        products = self.num * y[self.row_of]
        reduced = cost.astype(object) * den if wide >= _INT_SAFE or products.dtype == object else cost * den
        if len(self.filled):
            reduced = reduced.copy()
            reduced[self.filled] -= np.add.reduceat(products[self.by_column], self.starts)
        plus, minus = (reduced > 0).astype(bool), (reduced < 0).astype(bool)
        if (plus & np.isneginf(box.lower)).any() or (minus & np.isposinf(box.upper)).any():
            return None
        used, moved = np.flatnonzero(y), np.flatnonzero(plus | minus)
        y_used = y[used]
        sides = np.where((y_used > 0).astype(bool), self.row_low[used], self.row_high[used])
        ends = np.where(plus[moved], box.low[moved], box.high[moved])
        bound = Fraction(_dot(y_used, sides), den) + Fraction(_dot(reduced[moved], ends), den * self.box_den)
        return Dual(bound, reduced, den)

    def multipliers(self, y: Sequence[int], den: int, farkas: bool) -> list:
        """[den, [[row, num], ...]] in the problem's own rows and costs."""
        place = self.place.tolist()
        found = [[place[i], v * self.factor[i]] for i, v in enumerate(y) if v and (self.has_low[i] if v > 0 else self.has_high[i])]
        den *= self.factor_den * (1 if farkas else self.cost_den)
        shared = math.gcd(den, *(v for _, v in found))
        return [den // shared, [[i, v // shared] for i, v in found]]


def _integers(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64 if all(abs(v) < _SAFE for v in values) else object)


def _dot(a: np.ndarray, b: np.ndarray) -> int:
    if not len(a):
        return 0
    if a.dtype == object or b.dtype == object or float(np.abs(a.astype(float)).max()) * float(np.abs(b.astype(float)).max()) * len(a) >= _INT_SAFE:
        return sum(int(x) * int(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    return int((a * b).sum())
