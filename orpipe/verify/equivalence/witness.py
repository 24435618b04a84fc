"""Witnesses: a point that one model allows and the other does not, or values differently, checked in exact arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from orpipe import exact_lp
from orpipe.exact_lp import Vertex
from orpipe.problem import Problem, Violation
from orpipe.solve import Outcome
from orpipe.verify.equivalence.changes import Bound, with_bounds
from orpipe.verify.equivalence.pairing import Map
from orpipe.verify.equivalence.reach import LOOSE, Point
from orpipe.verify.equivalence.region import Region

SIGNIFICANT = 1e-9  # a violation, relative to the terms of its row
Side = Literal["a", "b"]


@dataclass(frozen=True)
class Witness:
    """A full point of the model `allowed_by`, by column names, and what its image breaks in the other model; or, where
    nothing is broken, the objective of both there (each the best over the columns that the point does not fix)."""

    allowed_by: Side
    point: Mapping[str, Fraction]
    image: Mapping[str, Fraction]
    broken: tuple[Violation, ...] = ()
    objective_a: Fraction | None = None
    objective_b: Fraction | None = None


@dataclass(frozen=True)
class Completion:
    """Can values for some columns be completed to a point?  "yes" with the point (best for the objective if that was
    asked), "no" with what is broken, "open" if it is not known."""

    answer: Literal["yes", "no", "open"]
    point: Point | None = None
    broken: tuple[Violation, ...] = ()
    objective: Fraction | None = None


def complete(region: Region, problem: Problem, fixed: Mapping[int, Fraction], best: bool = False) -> Completion:
    """`region` is that of `problem`.  best: among completions the best for the objective."""
    broken = _outside(problem, fixed)
    if broken:
        return Completion("no", broken=broken)
    if len(fixed) == problem.n_vars:
        point = tuple(fixed[j] for j in range(problem.n_vars))
        broken = tuple(v for v in problem.violations(point) if significant(problem, point, v))
        return Completion("no", broken=broken) if broken else Completion("yes", point, objective=problem.objective(point))
    bounds: dict[int, Bound] = {j: (v, v) for j, v in fixed.items()}
    held = with_bounds(problem if best else region.problem, bounds)
    lp = exact_lp.relaxed(held)
    found = region.lp(lp)
    free = [j for j in np.flatnonzero(problem.integer).tolist() if j not in fixed]
    if found in (Outcome.INFEASIBLE, Outcome.INFEASIBLE_OR_UNBOUNDED):
        return _refuted(region, lp)
    if isinstance(found, Vertex) and all(found.point[j].denominator == 1 for j in free):
        return Completion("yes", found.point, objective=problem.objective(found.point))
    if not free or found is Outcome.UNBOUNDED:
        return Completion("open")
    result = region.mip(held)
    if result is not None and result.outcome is Outcome.INFEASIBLE:
        other = region.mip(held, family=1)
        return Completion("no" if other is not None and other.outcome is Outcome.INFEASIBLE else "open")
    repaired = None if result is None or result.outcome is not Outcome.OPTIMAL else region.repaired(held, result)
    return Completion("open") if repaired is None else \
        Completion("yes", repaired.point, objective=problem.objective(repaired.point))


def _outside(problem: Problem, fixed: Mapping[int, Fraction]) -> tuple[Violation, ...]:
    """Bounds and integrality that the values break by themselves."""
    found = []
    low, high = problem.lower_exact, problem.upper_exact
    has_low, has_high, whole = np.isfinite(problem.lower).tolist(), np.isfinite(problem.upper).tolist(), problem.integer.tolist()
    lows, highs = low.num.tolist(), high.num.tolist()
    for j, value in fixed.items():
        up, down = value.numerator, value.denominator
        below, above = has_low[j] and up * low.den < lows[j] * down, has_high[j] and up * high.den > highs[j] * down
        if not (below or above or (whole[j] and down != 1)):
            continue
        name, noise = problem.columns[j], Fraction(1, 10**9) * max(abs(value), Fraction(1, 10**3))
        if below and (gap := Fraction(lows[j], low.den) - value) > noise:
            found.append(Violation(name, "lower", gap))
        if above and (gap := value - Fraction(highs[j], high.den)) > noise:
            found.append(Violation(name, "upper", gap))
        if whole[j] and (off := abs(value - round(value))) > noise:
            found.append(Violation(name, "integer", off))
    return tuple(found)


def significant(problem: Problem, point: Sequence[Fraction], violation: Violation) -> bool:
    """Larger than the rounding of the numbers that go into it."""
    if violation.rule == "row":
        i = problem.rows.index(violation.where)
        span = slice(problem.matrix.indptr[i], problem.matrix.indptr[i + 1])
        size = sum(abs(a * float(point[j])) for a, j in zip(problem.matrix.data[span], problem.matrix.indices[span], strict=True))
        return float(violation.amount) > SIGNIFICANT * size
    return float(violation.amount) > SIGNIFICANT * max(abs(float(point[problem.column_index[violation.where]])), 1e-3)


def _refuted(region: Region, lp: Problem) -> Completion:
    """An LP said to be infeasible: the rows that must be broken, from the exact optimum of its elastic form."""
    crossed = exact_lp.contradiction(lp)
    if crossed:
        return Completion("no", broken=(Violation(crossed, "row", Fraction(1)),))
    found = region.lp(exact_lp.elastic(lp))
    if not isinstance(found, Vertex) or found.objective <= 0:
        return Completion("open")
    point = found.point[:lp.n_vars]
    broken = tuple(v for v in lp.violations(point) if significant(lp, point, v))
    return Completion("no", broken=broken) if broken else Completion("yes")


@dataclass(frozen=True, eq=False)
class Sides:
    """Two Problems with their regions and a map between their columns; what the witnesses are checked against.

    by: all matched columns.  decisions: the part of it that a witness fixes; other columns of the judged model are free.
    """

    a: Problem
    b: Problem
    in_a: Region
    in_b: Region
    decisions: Map

    def region(self, side: Side) -> Region:
        return self.in_a if side == "a" else self.in_b

    def excluded(self, allowed_by: Side, point: Point) -> Witness | None:
        """A witness if the other model has no point with the same decisions.  `point` is checked first."""
        mine, theirs = (self.a, self.b) if allowed_by == "a" else (self.b, self.a)
        by = self.decisions if allowed_by == "a" else self.decisions.reversed()
        if mine.violations(point):
            return None
        image = by.image(point)
        found = complete(self.region("b" if allowed_by == "a" else "a"), theirs, image)
        if found.answer != "no":
            return None
        return Witness(allowed_by, named(mine, dict(enumerate(point))), named(theirs, image), found.broken)

    def valued_apart(self, point: Point, by: Fraction | None = None) -> Witness | None:
        """A witness if, for the decisions of this point of a, the best objectives (minimised) differ by at least `by`, or else by
        more than they agree to."""
        if self.a.violations(point):
            return None
        image = self.decisions.image(point)
        fixed = {p.a: point[p.a] for p in self.decisions.pairs}
        mine, theirs = complete(self.in_a, self.a, fixed, best=True), complete(self.in_b, self.b, image, best=True)
        if mine.objective is None or theirs.objective is None:
            return None
        f, g = (-v if p.maximize else v for v, p in ((mine.objective, self.a), (theirs.objective, self.b)))
        if abs(f - g) < by if by is not None else not worth_apart(f, g):
            return None
        return Witness("a", named(self.a, dict(enumerate(point))), named(self.b, image), (), mine.objective, theirs.objective)

    def valued_at(self, side: Side, point: Point) -> Witness | None:
        """valued_apart for the decisions of a point of either model."""
        if side == "b":
            image = self.decisions.reversed().image(point)
            there = complete(self.in_a, self.a, image).point
            if there is None:
                return None
            point = there
        return self.valued_apart(point)


def worth_apart(f: Fraction, g: Fraction) -> bool:
    """Do two objectives differ by more than they are expected to agree to?"""
    return abs(f - g) > LOOSE * max(abs(f), abs(g), Fraction(1, 10**6))


def named(problem: Problem, values: Mapping[int, Fraction]) -> dict[str, Fraction]:
    return {problem.columns[j]: v for j, v in sorted(values.items())}
