"""The feasible set of one Problem: how far a linear function goes on it, with a proof or a point.

Every answer is checked in rational arithmetic.  That a function stays within a limit is proved by the duals of an exact
LP basis, by a small branch and bound over such bases, or else by two solver families that agree; that it goes beyond is
shown by a point that breaks nothing, exactly.  What is neither is Open, with the reason.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import Vertex
from orpipe.problem import Problem
from orpipe.roles import asked
from orpipe.solve import VERTEX, Outcome, Result, settle, solver
from orpipe.verify.equivalence.changes import with_bounds, with_row

Point = tuple[Fraction, ...]
# excess, relative to the terms added: within below the first (values are exact, coefficients carry the rounding of floats),
# beyond above the second
TIGHT, LOOSE = 1e-11, 1e-6
_REPORTED = 1e-9  # of what a solver reports
_NODES = 24  # of the exact branch and bound before a second solver family is asked
_MOST_NODES = 400
_SOLVE_SECONDS = 5.0


class OutOfTime(Exception):
    """The budget of a comparison is spent."""


@dataclass
class Clock:
    """Seconds of a comparison, and what they went into.  solves: counts by kind."""

    budget: float
    began: float = field(default_factory=time.perf_counter)
    solves: Counter[str] = field(default_factory=Counter)
    ends: float = 0.0

    def __post_init__(self) -> None:
        self.ends = self.began + self.budget

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def left(self, most: float = _SOLVE_SECONDS) -> float:
        """Seconds that the next solve may take.  Raises OutOfTime when there are none."""
        rest = self.ends - time.perf_counter()
        if rest <= 0:
            raise OutOfTime
        return min(rest, most)

    def share(self, part: float) -> Clock:
        """A clock that ends after `part` of what is left, counting into the same sums."""
        found = Clock(self.budget, self.began, self.solves)
        now = time.perf_counter()
        found.ends = now + max(0.0, self.ends - now) * part
        return found


@dataclass(frozen=True, slots=True)
class Within:
    """The limit holds.  proof: "bounds" and "exact" rest on arithmetic alone, "agreement" on two solver families;
    "empty": there is no point at all (in the relaxation)."""

    proof: Literal["bounds", "exact", "agreement", "empty"]


@dataclass(frozen=True, slots=True)
class Beyond:
    """A point of the set, exact, where the function has `value`, above the limit."""

    point: Point
    value: Fraction


@dataclass(frozen=True, slots=True)
class Open:
    reason: str


Reach = Within | Beyond | Open


class Region:
    """`problem` without its objective.  rules of tolerance: see `maximum`."""

    def __init__(self, problem: Problem, clock: Clock) -> None:
        self.problem, self.clock = exact_lp.without_objective(problem), clock

    @cached_property
    def relaxed(self) -> Problem:
        return exact_lp.relaxed(self.problem)

    @cached_property
    def whole(self) -> np.ndarray:
        return np.flatnonzero(self.problem.integer)

    def maximum(self, w: np.ndarray, limit: float, tight: float = TIGHT, loose: float = LOOSE, size: float = 0.0) -> Reach:
        """Does w @ x stay at most `limit`?  w (n,).

        It is exceeded where it is by more than `loose` times the size of the terms added (`size` is added to it), and
        kept where it never is by more than `tight` times that.  In between, it is kept if it never is by more than
        `loose` times the terms at that very point.
        """
        w, limit = meant(w), float(meant(np.array([limit]))[0])
        finite = np.isfinite(self.problem.lower), np.isfinite(self.problem.upper)
        ends = np.where(w > 0, np.where(finite[1], self.problem.upper, np.inf), np.where(finite[0], self.problem.lower, -np.inf))
        used = w != 0
        terms = w[used] * ends[used]
        if terms.sum() <= limit + 1e-12 * (abs(limit) + np.abs(terms[np.isfinite(terms)]).sum()):
            return Within("bounds")
        return _Question(self, w, limit, tight, loose, size).answer()

    def value(self, w: np.ndarray, point: Point) -> Fraction:
        return sum((Fraction(repr(float(w[j]))) * point[j] for j in np.flatnonzero(w).tolist()), start=Fraction(0))

    # -- solves
    def lp(self, problem: Problem) -> Vertex | Outcome:
        """The exact optimum of an LP, or what the solver says instead; ERROR where no basis is optimal exactly."""
        said = Outcome.ERROR
        for name in VERTEX:
            self.clock.solves["lp"] += 1
            result = solver(name).solve(problem, self.clock.left())
            if result.outcome is not Outcome.OPTIMAL:
                if result.outcome.proof or result.outcome is Outcome.INFEASIBLE_OR_UNBOUNDED:
                    return result.outcome
                said = result.outcome
                continue
            found = None if result.basis is None else exact_lp.vertex(problem, result.basis)
            if found is not None and found.optimal:
                return found
        return said

    def mip(self, problem: Problem, family: int = 0) -> Result | None:
        """By the first solver of the kind's policy, or by the first of another family (family=1); None if none takes it."""
        names = asked(problem)
        names = names[:1] if family == 0 else names[1:]
        for name in names:
            if solver(name).accepts(problem) is None:
                self.clock.solves["mip" if family == 0 else "second"] += 1
                return settle(solver(name), problem, self.clock.left())
        return None

    def repaired(self, problem: Problem, result: Result) -> Vertex | None:
        """Best exact point with the whole columns of `result` rounded; None if there is none."""
        if result.point is None or not np.isfinite(result.point).all():
            return None
        whole = [round(v) if k else 0 for v, k in zip(result.point.tolist(), problem.integer.tolist(), strict=True)]
        found = self.lp(exact_lp.fixed(problem, whole))
        return found if isinstance(found, Vertex) else None

    def feasible_point(self) -> Point | None:
        """Some exact point; None if none was found."""
        if not len(self.whole):
            found = self.lp(self.problem)
            return found.point if isinstance(found, Vertex) else None
        result = self.mip(self.problem)
        repaired = None if result is None or not result.outcome.proof else self.repaired(self.problem, result)
        return None if repaired is None else repaired.point


@dataclass(frozen=True, eq=False)
class _Question:
    region: Region
    w: np.ndarray
    limit: float
    tight: float
    loose: float
    size: float

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
        excess = float(found.objective - self.exact_limit)
        size = self.terms(found.point)
        if excess <= self.tight * (size + self.least):
            return "within"
        return "beyond" if excess > self.loose * size + self.tight * self.least else "between"

    def aimed(self, problem: Problem) -> Problem:
        return replace(problem, maximize=True, cost_exact=self.cost)

    def capped(self, problem: Problem, by: float) -> Problem:
        return with_row(problem, self.cost, None, self.exact_limit + Fraction(by) * max(Fraction(1), abs(self.exact_limit)))

    def answer(self) -> Reach:
        region = self.region
        problem = self.aimed(region.relaxed)
        found = region.lp(problem)
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
        return self.over_whole_points(replace(problem, integer=region.problem.integer))

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
        return replace(self, w=softened, limit=self.limit + self.loose * abs(self.limit), loose=self.tight).answer()

    def over_whole_points(self, problem: Problem) -> Reach:
        region = self.region
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
        proved = self.branch(problem, _MOST_NODES if doubt else _NODES)
        if not isinstance(proved, Open):
            return proved
        return Open("the integer program is not settled exactly") if doubt else self.second(problem, Outcome.OPTIMAL)

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

    def branch(self, problem: Problem, nodes: int) -> Reach:
        """Depth-first branch and bound; every node is an exact LP optimum."""
        lp = replace(problem, integer=np.zeros(problem.n_vars, bool))
        stack = [lp]
        whole = self.region.whole.tolist()
        between = False
        while stack:
            nodes -= 1
            if nodes < 0:
                return Open("too many branches")
            node = stack.pop()
            found = self.region.lp(node)
            if found is Outcome.INFEASIBLE:
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
        return Open("a row differs by less than the tolerance") if between else Within("exact")


def meant(values: np.ndarray) -> np.ndarray:
    """To 14 significant digits: without the rounding of a few operations, which would leave no exact basis optimal."""
    return np.array([float(f"{v:.14g}") if v else 0.0 for v in values.tolist()])
