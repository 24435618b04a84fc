"""Replays a certificate against a Problem in integers and fractions.  With digest.py, lattice.py, symmetry.py and
the certificate's plain form this is all of the checker: no solver, no prover and nothing else of orpipe is imported; arrays are only read.

    check(problem, certificate) -> faults (empty: proved)

Why a valid certificate is a proof.  Write the objective as min c x (signs turned for max).  For any multipliers y on rows,
c x = y (A x) + (c - y A) x, and each product on the right is at least its value at the side of the row, or the bound of the
column, that its sign points to: a lower bound of c x over the box, with c = 0 a contradiction if it is positive.  A branch on
an integer column loses no point, a derived bound or row holds at every feasible point, so leaves that all reach the claimed
objective leave nothing better.  Where the least objective of every node is a multiple of `step`, a bound counts rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from orpipe.proof.certificate import FORMAT, Certificate
from orpipe.proof.digest import digest
from orpipe.proof.lattice import objective_step
from orpipe.proof.symmetry import exchangeable, single, zeros

if TYPE_CHECKING:
    from orpipe.problem import Problem

Bound = int | None  # None: infinite
_UNREAD = {"optimal": ("ray",), "infeasible": ("objective", "point", "ray", "step"),
           "unbounded": ("objective", "step", "symmetry", "bounds", "derived", "tree")}


class Fault(Exception):
    """Why a certificate is no proof."""


def check(problem: Problem, certificate: Certificate) -> list[str]:
    """What is wrong with the proof; empty means that it proves the certificate's outcome for this problem."""
    try:
        if certificate.format != FORMAT:
            return [f"format {certificate.format!r} is not {FORMAT}: write the certificate anew"]
        if certificate.digest != digest(problem):
            return ["the certificate is about another problem: its digest differs"]
        unread = [name for name in _UNREAD.get(certificate.outcome, ()) if getattr(certificate, name) is not None]
        if unread:
            return [f"a certificate of outcome {certificate.outcome} has no {unread[0]}"]
        replay = Replay(problem)
        match certificate.outcome:
            case "optimal":
                _optimal(replay, certificate)
            case "infeasible":
                replay.prove(certificate, None)
            case "unbounded":
                replay.feasible(_point(certificate.point, replay.n))
                replay.improves(_point(certificate.ray, replay.n))
            case other:
                return [f"outcome {other!r} is none of optimal, infeasible, unbounded"]
    except Fault as fault:
        return [str(fault)]
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError) as error:
        return [f"malformed certificate: {type(error).__name__}: {error}"]
    return []


def _optimal(replay: Replay, certificate: Certificate) -> None:
    point = _point(certificate.point, replay.n)
    replay.feasible(point)
    value = sum((c * x for c, x in zip(replay.cost, point, strict=True)), start=Fraction(0))
    claimed = _rational(certificate.objective)
    if replay.sign * value + replay.offset != claimed:
        raise Fault(f"the point's objective is {replay.sign * value + replay.offset}, not {claimed}")
    replay.prove(certificate, value)


def _rational(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise Fault(f"not a rational in text form: {text!r:.60}")
    value = Fraction(text)
    if str(value) != text:
        raise Fault(f"a rational is written in lowest terms, not as {text!r:.60}")
    return value


def _point(texts: Any, n: int) -> list[Fraction]:
    if not isinstance(texts, (list, tuple)) or len(texts) != n:
        raise Fault(f"a point or ray must list {n} values")
    return [_rational(text) for text in texts]


def _whole(value: Any, below: int | None = None) -> int:
    """An integer; with `below`, an index in range."""
    if type(value) is not int or (below is not None and not 0 <= value < below):
        raise Fault(f"not {'an integer' if below is None else f'an index below {below}'}: {value!r:.60}")
    return value


class Replay:
    """The problem as integers: rows over `den`, sides over `side_den`, box over `box_den`."""

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

    # ---- proofs by cases

    def prove(self, certificate: Certificate, target: Fraction | None) -> None:
        """No point is better than `target` (min form, without the offset); None: there is no point at all."""
        step = None
        if certificate.step is not None:
            step, known = _rational(certificate.step), objective_step(self)
            if step <= 0 or known is None or (known / step).denominator != 1:
                raise Fault(f"the objective need not be a multiple of {step}")
        if certificate.symmetry is not None:
            self.arrange(*certificate.symmetry)
        self.tighten(certificate.bounds or [])
        for recipe in certificate.derived or ():
            self.derive(recipe)
        nodes = certificate.tree or []
        open_boxes = [(self.lower, self.upper)]
        for k, node in enumerate(nodes):
            if not open_boxes:
                raise Fault(f"node {k} has no parent")
            lower, upper = open_boxes.pop()
            if node[0] == "branch":
                open_boxes += self._children(node, lower, upper)
            else:
                self._leaf(k, node, lower, upper, target, step)
        if open_boxes:
            raise Fault("the tree leaves cases open")

    def _children(self, node: Sequence[Any], lower: list[Bound], upper: list[Bound]) -> list[tuple[list[Bound], list[Bound]]]:
        _, column, threshold, first = node
        j, t = _whole(column, self.n), _whole(threshold)
        if not self.integer[j]:
            raise Fault(f"a branch on column {j}, which is not integer")
        down, up = list(upper), list(lower)
        down[j] = t * self.box_den if upper[j] is None else min(upper[j], t * self.box_den)  # type: ignore[type-var]
        up[j] = (t + 1) * self.box_den if lower[j] is None else max(lower[j], (t + 1) * self.box_den)  # type: ignore[type-var]
        children = [(lower, down), (up, upper)]
        return children if _whole(first, 2) else children[::-1]

    def _leaf(self, k: int, node: Sequence[Any], lower: list[Bound], upper: list[Bound], target: Fraction | None,
              step: Fraction | None) -> None:
        match node[0]:
            case "bound":
                if target is None:
                    raise Fault(f"node {k} bounds the objective, which does not show infeasibility")
                bound = self._bound(k, node, lower, upper, self.cost)
                if step is not None:
                    bound = -(-bound // step) * step
                if bound < target:
                    raise Fault(f"node {k}: the bound {bound} does not reach {target}")
            case "farkas":
                if self._bound(k, node, lower, upper, [Fraction(0)] * self.n) <= 0:
                    raise Fault(f"node {k}: the multipliers do not exclude it")
            case "empty":
                j = _whole(node[1], self.n)
                low, high = lower[j], upper[j]
                if low is None or high is None or low <= high:
                    raise Fault(f"node {k}: column {j} is not empty")
            case "crossed":
                i = _whole(node[1], len(self.rows))
                low, high = self.low[i], self.high[i]
                if low is None or high is None or low <= high:
                    raise Fault(f"node {k}: the sides of row {i} do not cross")
            case other:
                raise Fault(f"node {k} is of no known kind: {other!r:.40}")

    def _bound(self, k: int, node: Sequence[Any], lower: list[Bound], upper: list[Bound], cost: Sequence[Fraction]) -> Fraction:
        _, den, multipliers = node
        if _whole(den) <= 0:
            raise Fault(f"node {k}: denominator {den}")
        total, products = 0, [0] * self.n
        for row, num in multipliers:
            i, y = _whole(row, len(self.rows)), _whole(num)
            side = self.low[i] if y > 0 else self.high[i]
            if y and side is None:
                raise Fault(f"node {k}: row {i} has no side where its multiplier stands")
            total += y * (side or 0)
            for j, a in self.rows[i]:
                products[j] += y * a
        bound = Fraction(total, den * self.side_den)
        common = math.lcm(*(c.denominator for c in cost)) if cost else 1
        total = 0
        for j, c in enumerate(cost):
            reduced = c.numerator * (common // c.denominator) * den * self.den - products[j] * common
            if reduced:
                end = lower[j] if reduced > 0 else upper[j]
                if end is None:
                    raise Fault(f"node {k}: column {j} has no bound where its reduced cost stands")
                total += reduced * end
        return bound + Fraction(total, common * den * self.den * self.box_den)

    # ---- what holds at every feasible point

    def arrange(self, blocks: Sequence[Sequence[int]], rows: Sequence[int]) -> None:
        """Fixes at zero what the order of interchangeable blocks allows (orpipe.proof.symmetry); rows: one an entry."""
        every = [_whole(j, self.n) for block in blocks for j in block]
        if len(set(every)) != len(every) or len({len(block) for block in blocks}) != 1 or len(rows) > len(blocks[0]):
            raise Fault("the blocks of a symmetry must be disjoint and of one length")
        if not all(exchangeable(self, a, b) for a, b in pairwise(blocks)):
            raise Fault("the blocks cannot be exchanged")
        for k, row in enumerate(rows):
            if not single(self, [block[k] for block in blocks], _whole(row, len(self.rows))):
                raise Fault(f"row {row} does not keep entry {k} to one block")
        for j in zeros(blocks, len(rows)):
            self.upper[j] = 0

    def derive(self, recipe: Sequence[Any]) -> None:
        """Appends the mixed-integer rounding cut of an aggregated row (Gomory 1960).

        ["cut", scale, den, [[row, num], ...], columns, rows]: multiply rows by num / den and add, each row's activity a
        variable between its sides; measure every variable from its lower end (from its upper end if listed in columns or
        rows), so that all are at least 0; coefficients of the cut are rounded up to multiples of 1 / scale.
        """
        kind, scale, den, multipliers, columns_up, rows_up = recipe
        if kind != "cut" or _whole(scale) <= 0 or _whole(den) <= 0:
            raise Fault(f"a derived row of no known kind: {recipe!r:.60}")
        up, rows_at_high = {_whole(j, self.n) for j in columns_up}, {_whole(i, len(self.rows)) for i in rows_up}
        weights = {_whole(i, len(self.rows)): Fraction(_whole(num), den) for i, num in multipliers}
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
        for coefficient, whole, base, columns in terms:
            if whole:
                f = coefficient - math.floor(coefficient)
                weight = math.ceil(scale * (f / part if f <= part else (1 - f) / (1 - part)))
            else:
                weight = math.ceil(scale * (coefficient / part if coefficient > 0 else -coefficient / (1 - part)))
            side -= weight * base
            for j, v in columns.items():
                cut[j] = cut.get(j, Fraction(0)) + weight * v
        self._append(cut, side)

    def _end(self, low: Fraction | None, high: Fraction | None, at_high: bool, what: str) -> Fraction:
        end = high if at_high else low
        if end is None:
            raise Fault(f"a cut measures {what} from a side that it does not have")
        return end

    def _append(self, row: dict[int, Fraction], low: Fraction) -> None:
        """row >= low, scaled to coprime integers; the side rounded up where every column is integer."""
        factor = math.lcm(*(v.denominator for v in row.values()), 1)
        nums = {j: int(v * factor) for j, v in row.items() if v}
        shared = math.gcd(*nums.values()) or 1
        low = low * factor / shared
        whole = all(self.integer[j] for j in nums)
        if whole:
            low = Fraction(math.ceil(low))
        if self.side_den % low.denominator:
            more = low.denominator // math.gcd(low.denominator, self.side_den)
            self.low, self.high = ([None if v is None else v * more for v in part] for part in (self.low, self.high))
            self.side_den *= more
        self.rows.append([(j, v // shared * self.den) for j, v in sorted(nums.items())])
        self.low.append(int(low * self.side_den))
        self.high.append(None)
        self.units.append(Fraction(1) if whole else None)

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
        values = [_rational(value) for _, _, value, _ in steps]
        den = math.lcm(self.box_den, *(v.denominator for v in values))
        self.lower, self.upper = ([None if v is None else v * (den // self.box_den) for v in part] for part in (self.lower, self.upper))
        self.box_den = den
        for j in range(self.n):
            if self.integer[j]:
                self._whole_sides(j)
        for (column, which, _, row), value in zip(steps, values, strict=True):
            j, i = _whole(column, self.n), _whole(row, len(self.rows))
            if which not in ("lower", "upper"):
                raise Fault(f"a derived bound is lower or upper, not {which!r:.40}")
            implied = self._implied(i, j, upper=which == "upper")
            if (implied > value) if which == "upper" else (implied < value):
                raise Fault(f"row {i} implies {which} bound {implied} of column {j}, not {value}")
            if self.integer[j] and value.denominator != 1:
                raise Fault(f"a derived bound of integer column {j} must be whole")  # cuts measure from it
            box, scaled = (self.upper if which == "upper" else self.lower), value.numerator * (den // value.denominator)
            now = box[j]
            box[j] = scaled if now is None else min(now, scaled) if which == "upper" else max(now, scaled)

    def _whole_sides(self, j: int) -> None:
        low, high = self.lower[j], self.upper[j]
        self.lower[j] = None if low is None else -(-low // self.box_den) * self.box_den
        self.upper[j] = None if high is None else high // self.box_den * self.box_den

    def _implied(self, i: int, j: int, upper: bool) -> Fraction:
        """The bound of column j that row i leaves when every other column of the row is at its most generous."""
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
                end = self.lower[q] if least == (a > 0) else self.upper[q]
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
