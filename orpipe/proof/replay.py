"""Part of the checker: a problem in integers, and what is derived from it step by step, each step judged here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from orpipe.proof.reading import Fault, rational, whole
from orpipe.proof.splits import cutoff, order, probe, split
from orpipe.proof.symmetry import exchangeable, single, zeros

if TYPE_CHECKING:
    from orpipe.problem import Problem

Bound = int | None  # None: infinite


class Replay:
    """The problem as integers: rows over `den`, sides over `side_den`, box over `box_den`.  limit: what the points that a
    proof of an optimum excludes cost at most (min form, without the offset); None: any."""

    def __init__(self, problem: Problem) -> None:
        self.n, self.m = len(problem.columns), len(problem.rows)
        self.sign = -1 if problem.maximize else 1
        self.offset = Fraction(problem.offset)
        self.cost = [self.sign * Fraction(int(v), problem.cost_exact.den) for v in problem.cost_exact.num]
        self.integer = [bool(v) for v in problem.integer]
        self.den = int(problem.matrix_exact.den)
        nums, cols = [int(v) for v in problem.matrix_exact.num], problem.matrix.indices.tolist()
        starts = problem.matrix.indptr.tolist()
        self.rows = [list(zip(cols[a:b], nums[a:b], strict=True)) for a, b in pairwise(starts)]
        self.side_den = math.lcm(problem.row_lower_exact.den, problem.row_upper_exact.den, self.den)
        self.low = _ints(problem.row_lower, problem.row_lower_exact, self.side_den)
        self.high = _ints(problem.row_upper, problem.row_upper_exact, self.side_den)
        self.box_den = math.lcm(problem.lower_exact.den, problem.upper_exact.den)
        self.lower = _ints(problem.lower, problem.lower_exact, self.box_den)
        self.upper = _ints(problem.upper, problem.upper_exact, self.box_den)
        self.limit: Fraction | None = None
        self.arranged: tuple[Sequence[Sequence[int]], int] | None = None
        self.ordered = False
        self._round_rows()

    # ---- points and rays

    def feasible(self, point: Sequence[Fraction]) -> None:
        for j, x in enumerate(point):
            if _outside(x * self.box_den, self.lower[j], self.upper[j]):
                raise Fault(f"the point breaks a bound of column {j}")
            if self.integer[j] and x.denominator != 1:
                raise Fault(f"the point is fractional in integer column {j}")
        for i, row in enumerate(self.rows):
            activity = sum((a * point[j] for j, a in row), start=Fraction(0))
            if _outside(activity * self.side_den / self.den, self.low[i], self.high[i]):
                raise Fault(f"the point breaks row {i}")

    def improves(self, ray: Sequence[Fraction]) -> None:
        """Data are rational, so a whole multiple of a rational ray keeps integer columns integer."""
        for j, d in enumerate(ray):
            if (d < 0 and self.lower[j] is not None) or (d > 0 and self.upper[j] is not None):
                raise Fault(f"the ray leaves a bound of column {j}")
        for i, row in enumerate(self.rows):
            move = sum((a * ray[j] for j, a in row), start=Fraction(0))
            if (move < 0 and self.low[i] is not None) or (move > 0 and self.high[i] is not None):
                raise Fault(f"the ray leaves row {i}")
        if sum((c * d for c, d in zip(self.cost, ray, strict=True)), start=Fraction(0)) >= 0:
            raise Fault("the ray does not improve the objective")

    # ---- what holds at every feasible point

    def arrange(self, blocks: Sequence[Sequence[int]], rows: Sequence[int]) -> None:
        """Fixes at zero what the order of interchangeable blocks allows (orpipe.proof.symmetry); rows: one an entry."""
        every = [whole(j, self.n) for block in blocks for j in block]
        if len(set(every)) != len(every) or len({len(block) for block in blocks}) != 1 or len(rows) > len(blocks[0]):
            raise Fault("the blocks of a symmetry must be disjoint and of one length")
        if not all(exchangeable(self, a, b) for a, b in pairwise(blocks)):
            raise Fault("the blocks cannot be exchanged")
        for k, row in enumerate(rows):
            if not single(self, [block[k] for block in blocks], whole(row, len(self.rows))):
                raise Fault(f"row {row} does not keep entry {k} to one block")
        for j in zeros(blocks, len(rows)):
            self.upper[j] = 0
        self.arranged = blocks, len(rows)

    def derive(self, recipe: Sequence[Any]) -> None:
        """One step that certificates list as `derived`: rows appended, or the box tightened."""
        match recipe[0]:
            case "cut":
                self._cut(recipe)
            case "bounds":
                _, steps = recipe
                self.tighten(steps)
            case "cutoff":
                cutoff(self, recipe)
            case "probe":
                probe(self, recipe)
            case "split":
                split(self, recipe)
            case "order":
                order(self, recipe)
            case _:
                raise Fault(f"a derived row of no known kind: {recipe!r:.60}")

    def _cut(self, recipe: Sequence[Any]) -> None:
        """Appends the mixed-integer rounding cut of an aggregated row (Gomory 1960).

        ["cut", scale, den, [[row, num], ...], columns, rows]: multiply rows by num / den and add, each row's activity a
        variable between its sides; measure every variable from its lower end (from its upper end if listed in columns or
        rows), so that all are at least 0; coefficients of the cut are rounded up to multiples of 1 / scale.
        """
        _, scale, den, multipliers, columns_up, rows_up = recipe
        if whole(scale) <= 0 or whole(den) <= 0:
            raise Fault(f"a cut over a scale or denominator that is not positive: {recipe!r:.60}")
        up, rows_at_high = {whole(j, self.n) for j in columns_up}, {whole(i, len(self.rows)) for i in rows_up}
        weights = {whole(i, len(self.rows)): Fraction(whole(num), den) for i, num in multipliers}
        total: dict[int, Fraction] = {}
        for i, y in weights.items():
            for j, a in self.rows[i]:
                total[j] = total.get(j, Fraction(0)) + y * a / self.den
        right = Fraction(0)
        terms: list[tuple[Fraction, bool, Fraction, dict[int, Fraction]]] = []  # coefficient, whole, and z = base + sum of columns
        for j, weight_j in total.items():
            low, high = _over(self.lower[j], self.box_den), _over(self.upper[j], self.box_den)
            end = self._end(low, high, j in up, f"column {j}")
            right -= weight_j * end
            if low != high:
                s = Fraction(-1 if j in up else 1)
                terms.append((weight_j * s, self.integer[j], -s * end, {j: s}))
        for i, y in weights.items():
            low, high = _over(self.low[i], self.side_den), _over(self.high[i], self.side_den)
            end = self._end(low, high, i in rows_at_high, f"row {i}")
            right += y * end
            if low != high:
                unit = self.units[i]
                s = (-1 if i in rows_at_high else 1) / (unit or Fraction(1))
                terms.append((-y / s, unit is not None, -s * end, {j: s * a / self.den for j, a in self.rows[i]}))
        part = right - math.floor(right)
        if not part:
            raise Fault("a cut from a whole right-hand side")
        cut: dict[int, Fraction] = {}
        side = Fraction(scale)
        for coefficient, integer, base, columns in terms:
            if integer:
                f = coefficient - math.floor(coefficient)
                weight = math.ceil(scale * (f / part if f <= part else (1 - f) / (1 - part)))
            else:
                weight = math.ceil(scale * (coefficient / part if coefficient > 0 else -coefficient / (1 - part)))
            side -= weight * base
            for j, v in columns.items():
                cut[j] = cut.get(j, Fraction(0)) + weight * v
        self.append(cut, side)

    def _end(self, low: Fraction | None, high: Fraction | None, at_high: bool, what: str) -> Fraction:
        end = high if at_high else low
        if end is None:
            raise Fault(f"a cut measures {what} from a side that it does not have")
        return end

    def append(self, row: dict[int, Fraction], low: Fraction) -> None:
        """row >= low, scaled to coprime integers; the side rounded up where every column is integer."""
        factor = math.lcm(*(v.denominator for v in row.values()), 1)
        nums = {j: int(v * factor) for j, v in row.items() if v}
        shared = math.gcd(*nums.values()) or 1
        low = low * factor / shared
        integer = all(self.integer[j] for j in nums)
        if integer:
            low = Fraction(math.ceil(low))
        if self.side_den % low.denominator:
            more = low.denominator // math.gcd(low.denominator, self.side_den)
            self.low, self.high = ([None if v is None else v * more for v in part] for part in (self.low, self.high))
            self.side_den *= more
        self.rows.append([(j, v // shared * self.den) for j, v in sorted(nums.items())])
        self.low.append(int(low * self.side_den))
        self.high.append(None)
        self.units.append(Fraction(1) if integer else None)

    def _round_rows(self) -> None:
        """The activity of a row of integer columns is a multiple of its unit: so are its sides."""
        self.units: list[Fraction | None] = []
        for i, row in enumerate(self.rows):
            if not row or not all(self.integer[j] for j, _ in row):
                self.units.append(None)
                continue
            unit = Fraction(math.gcd(*(a for _, a in row)), self.den)
            self.units.append(unit)
            low, high, grain = self.low[i], self.high[i], int(unit * self.side_den)
            self.low[i] = None if low is None else -(-low // grain) * grain
            self.high[i] = None if high is None else high // grain * grain

    def tighten(self, steps: Sequence[Sequence[Any]]) -> None:
        values = [rational(value) for _, _, value, _ in steps]
        den = math.lcm(self.box_den, *(v.denominator for v in values))
        self.lower, self.upper = ([None if v is None else v * (den // self.box_den) for v in part] for part in (self.lower, self.upper))
        self.box_den = den
        for j in range(self.n):
            if self.integer[j]:
                self._whole_sides(j)
        for step in steps:
            self.imply(step, self.lower, self.upper)

    def imply(self, step: Sequence[Any], lower: list[Bound], upper: list[Bound]) -> None:
        """[column, "lower" | "upper", value, row]: the bound that the row and the other bounds of this box imply is taken into it."""
        column, which, text, row = step
        j, i, value = whole(column, self.n), whole(row, len(self.rows)), rational(text)
        if which not in ("lower", "upper"):
            raise Fault(f"a derived bound is lower or upper, not {which!r:.40}")
        implied = self.implied(i, j, which == "upper", lower, upper)
        if (implied > value) if which == "upper" else (implied < value):
            raise Fault(f"row {i} implies {which} bound {implied} of column {j}, not {value}")
        if self.integer[j] and value.denominator != 1:
            raise Fault(f"a derived bound of integer column {j} must be whole")  # cuts measure from it
        if self.box_den % value.denominator:
            raise Fault(f"a derived bound {value} is finer than the box")
        box, scaled = (upper if which == "upper" else lower), value.numerator * (self.box_den // value.denominator)
        now = box[j]
        box[j] = scaled if now is None else min(now, scaled) if which == "upper" else max(now, scaled)

    def cut_box(self, lower: list[Bound], upper: list[Bound], j: int, threshold: int, up: bool) -> None:
        """Column j at most the threshold, or (up) at least the next number."""
        if up:
            low, value = lower[j], (threshold + 1) * self.box_den
            lower[j] = value if low is None else max(low, value)
        else:
            high, value = upper[j], threshold * self.box_den
            upper[j] = value if high is None else min(high, value)

    def _whole_sides(self, j: int) -> None:
        low, high = self.lower[j], self.upper[j]
        self.lower[j] = None if low is None else -(-low // self.box_den) * self.box_den
        self.upper[j] = None if high is None else high // self.box_den * self.box_den

    def implied(self, i: int, j: int, upper: bool, lows: list[Bound], highs: list[Bound]) -> Fraction:
        """The bound of column j that row i leaves when every other column of the row is at its most generous in this box."""
        own, rest = 0, 0
        entries = self.rows[i]
        for q, a in entries:
            if q == j:
                own += a
        if not own:
            raise Fault(f"column {j} is not in row {i}")
        least = upper == (own > 0)  # the others are at their least activity, against the row's upper side
        for q, a in entries:
            if q != j:
                end = lows[q] if least == (a > 0) else highs[q]
                if end is None:
                    raise Fault(f"row {i} bounds nothing: column {q} has no bound")
                rest += a * end
        side = self.high[i] if least else self.low[i]
        if side is None:
            raise Fault(f"row {i} has no side that bounds column {j}")
        value = (Fraction(side * self.den, self.side_den) - Fraction(rest, self.box_den)) / own
        if self.integer[j]:
            return Fraction(math.floor(value) if upper else math.ceil(value))
        return value


def _over(value: Bound, den: int) -> Fraction | None:
    return None if value is None else Fraction(value, den)


def _outside(value: Fraction, low: Bound, high: Bound) -> bool:
    return (low is not None and value < low) or (high is not None and value > high)


def _ints(floats: Any, exact: Any, den: int) -> list[Bound]:
    factor = den // exact.den
    return [int(v) * factor if math.isfinite(f) else None for f, v in zip(floats.tolist(), exact.num, strict=True)]
