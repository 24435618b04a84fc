"""One question to a Region: how far does a linear function go on it?  Answered by an exact LP, a short exact branch and bound, or solvers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import Vertex
from orpipe.problem import Problem
from orpipe.solve import Outcome, settle, solver
from orpipe.verify.equivalence.changes import Bound, with_bounds, with_row
from orpipe.verify.equivalence.reach import Below, Beyond, Open, Point, Reach, Within

if TYPE_CHECKING:
    from orpipe.verify.equivalence.region import Region

_REPORTED = 1e-9  # of what a solver reports
_FEW = 4  # fractional columns: the exact branch and bound is then worth a try before a solver of integer programs,
_FIRST_NODES = 12  # this far,
_NODES = 24  # and this far before a second solver family is asked
_MOST_NODES = 400


@dataclass(frozen=True, eq=False)
class Question:
    region: Region
    w: np.ndarray
    limit: float
    tight: float
    loose: float
    size: float
    softened: bool = False

    @cached_property
    def cost(self) -> Exact:
        return Exact.of(self.w)

    @cached_property
    def exact_limit(self) -> Fraction:
        return Fraction(repr(float(self.limit)))

    @cached_property
    def least(self) -> float:
        used = self.w[self.w != 0]
        return float(np.abs(used).min()) if len(used) else 0.0

    def terms(self, point: Point) -> float:
        used = np.flatnonzero(self.w).tolist()
        return sum(abs(self.w[j] * float(point[j])) for j in used) + abs(self.limit) + self.size

    def place(self, found: Vertex) -> Literal["within", "between", "beyond"]:
        """Of a maximiser.  Beside terms of 1e10 an excess of 1 is little, but it may be all that smaller points exceed as well."""
        excess = float(found.objective - self.exact_limit)
        size = self.terms(found.point)
        rounding = min(self.tight * size, _REPORTED * max(self.least, abs(self.limit)))
        if excess <= max(rounding, self.tight * (abs(self.limit) + self.size + self.least)):
            return "within"
        return "beyond" if self.softened or excess > self.loose * size + self.tight * self.least else "between"

    def aimed(self, problem: Problem) -> Problem:
        return replace(problem, maximize=True, cost_exact=self.cost)

    def capped(self, problem: Problem, by: float) -> Problem:
        return with_row(problem, self.cost, None, self.exact_limit + Fraction(by) * max(Fraction(1), abs(self.exact_limit)))

    def answer(self) -> Reach:
        region = self.region
        if self.cut_off():
            return Within("exact")
        problem = self.aimed(region.relaxed)
        found = region.lp(problem, self.exact_limit)
        if isinstance(found, Below):
            return Within("exact")
        if found in (Outcome.UNBOUNDED, Outcome.INFEASIBLE_OR_UNBOUNDED):
            return self.endless()
        if found is Outcome.INFEASIBLE:
            return Within("empty")
        if not isinstance(found, Vertex):
            return self.agreed(problem) if not len(region.whole) else Open(f"an LP ended with {found}")
        place = self.place(found)
        if place == "within":
            return Within("exact")
        if all(found.point[j].denominator == 1 for j in region.whole.tolist()):
            return self.settled(found, place)
        return self.over_whole_points(replace(problem, integer=region.problem.integer), found)

    def cut_off(self) -> bool:
        """Is there no point beyond the limit by the relaxation alone, within the bounds that whole columns must then keep?  (A row over
        switches, say, that only few settings break.)  One LP, proved by exact multipliers; False says nothing."""
        bounds = beyond_bounds(self.region.problem, self.cost, self.exact_limit)
        if not bounds:
            return False
        found = self.region.bounded_lp(with_bounds(self.aimed(self.region.relaxed), bounds), self.exact_limit)
        return found is Outcome.INFEASIBLE or isinstance(found, Below)

    def endless(self) -> Reach:
        """The relaxation has no maximum: a point just above the limit will do, and any point if all are far above it."""
        region = self.region
        for by in (1.0, 1e3, 1e6):
            problem = self.capped(self.aimed(region.problem), by)
            if len(region.whole):
                result = region.mip(problem)
                found = None if result is None or result.point is None else region.repaired(problem, result)
            else:
                vertex = region.lp(problem)
                found = vertex if isinstance(vertex, Vertex) else None
            if found is not None and self.place(found) == "beyond":
                return Beyond(found.point, found.objective)
        point = region.feasible_point()
        if point is not None:
            value = region.value(self.w, point)
            if float(value - self.exact_limit) > self.loose * self.terms(point) + self.tight * self.least:
                return Beyond(point, value)
        return Open("a function without maximum, and no point above its limit was found")

    def settled(self, found: Vertex, place: str) -> Reach:
        if place == "beyond":
            return Beyond(found.point, found.objective)
        return self.between()

    def between(self) -> Reach:
        """Is the excess, wherever it is largest against the terms at the point, below `loose` of them?"""
        low, high = self.region.problem.lower, self.region.problem.upper
        used = self.w != 0
        sign = np.where(low >= 0, 1.0, np.where(high <= 0, -1.0, 0.0))
        if (sign[used] == 0).any():
            return Open("a row differs by less than the tolerance, and the size of its terms is not known")
        softened = np.where(used, self.w - self.loose * np.abs(self.w) * sign, 0.0)
        found = replace(self, w=softened, limit=self.limit + self.loose * abs(self.limit), loose=self.tight, softened=True).answer()
        return Within("tolerance") if found == Within("exact") or found == Within("bounds") else found

    def over_whole_points(self, problem: Problem, root: Vertex) -> Reach:
        region = self.region
        if (beyond := self.rounded(problem, root)) is not None:
            return beyond
        split = sum(root.point[j].denominator != 1 for j in region.whole.tolist())
        proved = self.branch(problem, _FIRST_NODES, root) if split <= _FEW else Open("")
        if not isinstance(proved, Open):
            return proved
        result = region.mip(problem)
        if result is not None and result.outcome is Outcome.INFEASIBLE:
            return self.second(problem, Outcome.INFEASIBLE)
        doubt = result is None or result.outcome is not Outcome.OPTIMAL
        if result is not None and result.point is not None:
            found = region.repaired(problem, result)
            place = "within" if found is None else self.place(found)
            if found is not None and place == "beyond":
                return Beyond(found.point, found.objective)
            # what the solver reached and its rounded point do not share is its integrality tolerance (a huge big-M)
            reported = -np.inf if result.objective is None else result.objective
            doubt = doubt or place != "within" or found is None or \
                reported > float(self.exact_limit) + _REPORTED * (self.terms(found.point) + self.least)
        proved = self.branch(problem, _MOST_NODES if doubt else _NODES, root)
        if not isinstance(proved, Open):
            return proved
        return Open("the integer program is not settled exactly") if doubt else self.second(problem, Outcome.OPTIMAL)

    def rounded(self, problem: Problem, root: Vertex) -> Beyond | None:
        """A point beyond with the whole columns of the relaxation's vertex rounded, to the nearest and upwards: cheaper than any search."""
        region, tried = self.region, set()
        most = np.where(np.isfinite(problem.upper), np.floor(np.where(np.isfinite(problem.upper), problem.upper, 0.0)), np.inf)
        for up in (False, True):
            values = [min(math.ceil(v) if up else round(v), most[j]) if k else 0
                      for j, (v, k) in enumerate(zip(root.point, problem.integer.tolist(), strict=True))]
            if tuple(values) in tried:
                continue
            tried.add(tuple(values))
            found = region.lp(exact_lp.fixed(problem, [int(v) for v in values]), self.exact_limit)
            if isinstance(found, Vertex) and self.place(found) == "beyond":
                return Beyond(found.point, found.objective)
        return None

    def second(self, problem: Problem, said: Outcome) -> Reach:
        """Another solver family has to say the same."""
        result = self.region.mip(problem, family=1)
        if result is None:
            return Open("no second solver takes the problem")
        if said is Outcome.INFEASIBLE or result.outcome is Outcome.INFEASIBLE:
            same = said is result.outcome
            return Within("empty") if same else Open("solvers disagree")
        if result.outcome is not Outcome.OPTIMAL or result.objective is None or result.point is None:
            return Open(f"{result.solver} ended with {result.outcome}")
        size = float(np.abs(self.w * result.point).sum()) + abs(self.limit) + self.size
        if result.objective <= float(self.exact_limit) + 1e-7 * (size + self.least):
            return Within("agreement")
        found = self.region.repaired(problem, result)
        if found is not None and self.place(found) == "beyond":
            return Beyond(found.point, found.objective)
        return Open("solvers disagree")

    def agreed(self, problem: Problem) -> Reach:
        """An LP for which no basis is optimal in exact arithmetic: two families, or nothing."""
        claims = []
        for name in ("highs", "glop", "scip"):
            if solver(name).accepts(problem) is None:
                self.region.clock.solves["lp"] += 1
                result = settle(solver(name), problem, self.region.clock.left())
                if result.outcome is Outcome.OPTIMAL and result.objective is not None and result.point is not None:
                    size = float(np.abs(self.w * result.point).sum()) + abs(self.limit) + self.size
                    claims.append((result.family, (result.objective - float(self.exact_limit)) / (size + self.least)))
        if len({family for family, _ in claims}) > 1 and all(excess <= 1e-8 for _, excess in claims):
            return Within("agreement")
        return Open("no exact basis was found")

    def branch(self, problem: Problem, nodes: int, root: Vertex) -> Reach:
        """Depth-first branch and bound; every node is an exact LP optimum, or cut off by exact multipliers.  root: the first."""
        lp = replace(problem, integer=np.zeros(problem.n_vars, bool))
        stack = [lp]
        whole = self.region.whole.tolist()
        between = False
        found: Vertex | Outcome | Below = root
        while stack:
            nodes -= 1
            if nodes < 0:
                return Open("too many branches")
            node = stack.pop()
            if node is not lp:
                found = self.region.lp(node, self.exact_limit)
            if found is Outcome.INFEASIBLE or isinstance(found, Below):
                continue
            if not isinstance(found, Vertex):
                return Open(f"an LP ended with {found}")
            place = self.place(found)
            if place == "within":
                continue
            split = max(whole, key=lambda j: min(found.point[j] % 1, -found.point[j] % 1))
            value = found.point[split]
            if value.denominator == 1:
                if place == "beyond":
                    return Beyond(found.point, found.objective)
                between = True
                continue
            floor = value.numerator // value.denominator
            down, up = with_bounds(node, {split: (None, Fraction(floor))}), with_bounds(node, {split: (Fraction(floor + 1), None)})
            stack += [down, up] if value % 1 > Fraction(1, 2) else [up, down]
        return self.between() if between else Within("exact")


def beyond_bounds(problem: Problem, w: Exact, limit: Fraction) -> dict[int, Bound]:
    """Bounds that whole columns keep at every point with w @ x > limit, where tighter than their own; {} if nothing follows.

    Each other column is taken at its best: x_j > (limit - best of the others) / w_j for w_j > 0, < for w_j < 0."""
    used = np.flatnonzero(w.num).tolist()
    if not problem.integer[used].any():
        return {}
    at_best = np.where(w.num[used] > 0, problem.upper[used], problem.lower[used])
    if not np.isfinite(at_best).all():
        return {}
    low, high = problem.lower_exact, problem.upper_exact
    weights = [Fraction(int(w.num[j]), w.den) for j in used]
    best = [v * (Fraction(int(high.num[j]), high.den) if v > 0 else Fraction(int(low.num[j]), low.den)) for j, v in zip(used, weights, strict=True)]
    room = sum(best, start=Fraction(0)) - limit
    out: dict[int, Bound] = {}
    for j, v, most in zip(used, weights, best, strict=True):
        if not problem.integer[j]:
            continue
        end = (most - room) / v  # not reached
        if v > 0 and (least := math.floor(end) + 1) > problem.lower[j]:
            out[j] = (Fraction(least), None)
        elif v < 0 and (top := math.ceil(end) - 1) < problem.upper[j]:
            out[j] = (None, Fraction(top))
    return out


def meant(values: np.ndarray) -> np.ndarray:
    """To 14 significant digits: without the rounding of a few operations, which would leave no exact basis optimal."""
    return np.array([float(f"{v:.14g}") if v else 0.0 for v in values.tolist()])
