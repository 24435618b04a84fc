"""Is the set of one model inside what the other demands?  Row by row, bound by bound, column by column for integrality.

A demand that both models state in the same form needs no solve.  Each of the others is maximised over the region: kept
(with a proof), broken (with an exact point), or open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from orpipe.exact import Exact
from orpipe.exact_lp import Vertex, fixed
from orpipe.problem import Problem
from orpipe.verify.equivalence.canonical import close
from orpipe.verify.equivalence.changes import with_row
from orpipe.verify.equivalence.forms import ROUNDING, SAME, Rows, dominates, unit_rows
from orpipe.verify.equivalence.normalise import Form
from orpipe.verify.equivalence.pairing import Map, carried
from orpipe.verify.equivalence.project import Demands, implied_whole
from orpipe.verify.equivalence.reach import LOOSE, Beyond, Open, Point, Reach, Within
from orpipe.verify.equivalence.region import Region
from orpipe.verify.equivalence.witness import Side, Sides, Witness

State = Literal["yes", "no", "open"]


@dataclass(frozen=True, eq=False)
class Demand:
    """w @ x <= limit over the columns of the region.  row: of the Problem that demands it, -1 for none; column: the
    column whose bound it is, -1 for a row."""

    w: np.ndarray
    limit: float
    row: int = -1
    column: int = -1


@dataclass
class Containment:
    """state "no" comes with a witness.  freed: a demand is broken, but other values of the free columns mend it."""

    state: State = "yes"
    witness: Witness | None = None
    reason: str = ""
    freed: bool = False
    empty: bool = False
    proofs: set[str] = field(default_factory=set)

    def open(self, reason: str) -> None:
        if self.state == "yes":
            self.state, self.reason = "open", reason


def differing(asked: Demands, by: Map, form: Form, rows: Rows, to_relative: float = SAME) -> Iterator[Demand]:
    """The demands of one model that the other (its form and one-sided rows, all of them) does not state itself, to a relative
    1e-9.  by: from the model that demands to the other."""
    n = form.n
    P, q = carried(asked.rows.raw, asked.rows.limit, by, n)
    same = unit_rows(P, q, np.arange(len(q)))
    for k in np.flatnonzero(~dominates(same, rows, to_relative)).tolist():
        source = int(same.origin[k])
        yield Demand(P[source], float(q[source]), int(asked.rows.origin[source]))
    for p in by.pairs:
        scale, shift = float(p.scale), float(p.shift)
        ends = [scale * asked.low[p.a] + shift, scale * asked.high[p.a] + shift]
        low, high = sorted(ends)
        for sign, mine, theirs in ((1.0, high, form.high[p.b]), (-1.0, -low, -form.low[p.b])):
            if np.isfinite(mine) and theirs > mine + to_relative * max(abs(mine), 1e-3):
                w = np.zeros(n)
                w[p.b] = sign
                yield Demand(w, float(mine), column=p.a)


def contained(sides: Sides, inside: Side, asked: Demands, by: Map, form: Form, rows: Rows) -> Containment:
    """Is the model `inside` (form, rows, region) within what the other asks?  by: from the one that asks to `inside`."""
    out, region = Containment(), sides.region(inside)
    demands = list(differing(asked, by, form, rows))
    if sum(1 for _ in differing(asked, by, form, rows, ROUNDING)) > len(demands):
        out.proofs.add("tolerance")
    for demand in demands:
        reach = region.maximum(demand.w, demand.limit)
        if isinstance(reach, Beyond):
            out.witness = sides.excluded(inside, reach.point)
            if out.witness is not None:
                out.state = "no"
                return out
            out.freed = True
            out.open("a demand on auxiliary columns differs")
        elif isinstance(reach, Open):
            out.open(reach.reason)
        elif reach.proof == "empty":
            out.empty = True
            return out
        else:
            out.proofs.add(reach.proof)
    for p in by.pairs:
        if not asked.whole[p.a]:
            continue
        if abs(p.scale) != 1 or p.shift.denominator != 1:
            out.open("a whole column is matched with other steps")
        elif not form.whole[p.b]:
            point = fractional(region, form, p.b)
            if isinstance(point, Open):
                out.open(point.reason)
            elif isinstance(point, Within):
                out.proofs.add(point.proof)
            else:
                out.witness = sides.excluded(inside, point.point)
                if out.witness is not None:
                    out.state = "no"
                    return out
                out.freed = True
                out.open("an auxiliary column is whole in one model only")
    return out


def fractional(region: Region, form: Form, j: int) -> Reach:
    """A point where continuous column j is not whole (Beyond), a proof that there is none, or Open."""
    if any(implied_whole(form, int(r), j) for r in np.flatnonzero((form.A[:, j] != 0) & form.equal)):
        return Within("exact")
    w = np.zeros(form.n)
    w[j] = 1.0
    problem = region.problem
    seen: list[Point] = []
    for sign in (1.0, -1.0):
        point = extreme(region, problem, sign * w)
        if point is None:
            continue
        if point[j].denominator != 1:
            return Beyond(point, point[j])
        seen.append(point)
    if len(seen) == 2 and seen[0][j] == seen[1][j]:
        ends = [region.maximum(sign * w, sign * float(seen[0][j])) for sign in (1.0, -1.0)]
        if all(isinstance(r, Within) for r in ends):
            return Within("exact")
    whole = region.whole.tolist()
    for point in seen if whole else seen[:1]:
        slice_ = fixed(problem, [int(point[k]) if k in set(whole) else 0 for k in range(problem.n_vars)]) if whole else problem
        ends_ = [extreme(region, slice_, sign * w) for sign in (1.0, -1.0)]
        other = next((e for e in ends_ if e is not None and e[j] != point[j]), None)
        if other is None:
            continue
        if other[j].denominator != 1:
            return Beyond(other, other[j])
        # on the segment between two points of a convex set: half a unit away
        part = Fraction(1, 2) / abs(other[j] - point[j])
        middle = tuple(p + part * (o - p) for p, o in zip(point, other, strict=True))
        return Beyond(middle, middle[j])
    return Open("whether a column is whole by implication is not known")


def extreme(region: Region, problem: Problem, w: np.ndarray) -> Point | None:
    """A point of `problem` far in direction w (the region's rows may be endless: then a capped one)."""
    cost = Exact.of(w)
    aimed = replace(problem, maximize=True, cost_exact=cost)
    return best_point(region, aimed) or best_point(region, with_row(aimed, cost, None, Fraction(10**6)))


def best_point(region: Region, problem: Problem) -> Point | None:
    """A point that is best for the objective of `problem`, as far as a solver knows; None where it finds none."""
    if not problem.integer.any():
        found = region.lp(problem)
        return found.point if isinstance(found, Vertex) else None
    result = region.mip(problem)
    repaired = None if result is None or result.point is None else region.repaired(problem, result)
    return None if repaired is None else repaired.point


# ------------------------------------------------------------------------------------------------------------ objective


@dataclass
class Objectives:
    """state "no" comes with a witness; factor and constant: g = factor * f + constant (of minimised objectives)."""

    state: State = "yes"
    witness: Witness | None = None
    reason: str = ""
    factor: Fraction = Fraction(1)
    constant: Fraction = Fraction(0)
    proofs: set[str] = field(default_factory=set)


def objectives(sides: Sides, a: Demands, b: Demands, by: Map, scale_free: bool = False) -> Objectives:
    """Is the objective of b that of a on the common set?  Both sets have been shown to be the same, all cost on mapped
    columns."""
    out = Objectives()
    other = np.zeros(len(a.cost))
    other[by.a] = b.cost[by.b] * by.scale
    constant = b.offset + float((b.cost[by.b] * by.shift).sum())
    magnitude = a.magnitude + b.magnitude + float(np.abs(b.cost[by.b] * by.shift).sum())
    factor = _factor(a.cost, other) if scale_free else 1.0
    gap, rest = other - factor * a.cost, constant - factor * a.offset
    same = np.abs(gap) <= LOOSE * np.maximum(np.abs(other), np.abs(factor * a.cost))
    if (abs(rest) <= 1e-12 * magnitude or scale_free) and (same.all() or close(other, factor * a.cost)):
        out.factor, out.constant = Fraction(repr(float(factor))), Fraction(repr(float(rest))) if scale_free else Fraction(0)
        if (np.abs(gap) > SAME * np.maximum(np.abs(other), np.abs(factor * a.cost))).any() and not close(other, factor * a.cost):
            out.proofs.add("tolerance")
        return out
    gap = np.where(np.abs(gap) <= SAME * np.maximum(np.abs(other), np.abs(factor * a.cost)), 0.0, gap)
    if scale_free:
        return _affine(sides, gap, rest, factor, magnitude, out)
    for sign in (1.0, -1.0):
        reach = sides.in_a.maximum(sign * gap, -sign * rest, SAME, SAME, 1e-4 * magnitude)
        if isinstance(reach, Beyond):
            excess = reach.value - Fraction(repr(float(-sign * rest)))
            out.witness = sides.valued_apart(reach.point, excess / 2)
            if out.witness is not None:
                out.state = "no"
                return out
            out.state, out.reason = "open", "the objectives differ, but perhaps not in their best values"
            return out
        if isinstance(reach, Open):
            out.state, out.reason = "open", reach.reason
            return out
        out.proofs.add(reach.proof)
    return out


def _factor(cost: np.ndarray, other: np.ndarray) -> float:
    """The positive ratio that most columns share, 1 if there is none."""
    used = (cost != 0) & (other != 0)
    ratios = other[used] / cost[used]
    ratios = ratios[ratios > 0]
    return float(np.sort(ratios)[len(ratios) // 2]) if len(ratios) else 1.0


def _affine(sides: Sides, gap: np.ndarray, rest: float, factor: float, magnitude: float, out: Objectives) -> Objectives:
    """g - factor * f has to be constant on the set."""
    point = sides.in_a.feasible_point()
    if point is None:
        out.state, out.reason = "open", "no point to compare objectives at"
        return out
    level = float(sides.in_a.value(gap, point))
    for sign in (1.0, -1.0):
        reach = sides.in_a.maximum(sign * gap, sign * level, SAME, SAME, 1e-4 * magnitude)
        if isinstance(reach, Within):
            out.proofs.add(reach.proof)
            continue
        out.state = "open"
        out.reason = "the objectives are not proportional in their coefficients" if isinstance(reach, Beyond) else reach.reason
        return out
    out.factor, out.constant = Fraction(repr(factor)), Fraction(repr(rest + level))
    return out

