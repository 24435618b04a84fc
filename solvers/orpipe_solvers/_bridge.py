"""What the bridges to PuLP and Pyomo share: the problem in plain pieces, and what a wrapper's claim is worth.

Names never cross a bridge (libraries rewrite them): columns are numbered.  Wrappers are not believed further than they can
be: "infeasible" and "unbounded" are settled by a second solve, and an optimum at the time limit is an incumbent.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import highspy
import numpy as np

from orpipe import exact_lp
from orpipe.problem import Problem
from orpipe.roles import Engine, Setting
from orpipe.solve import Answer, Outcome, Solver, out_of_range
from orpipe_solvers.highs import silent_stdout  # importing it also stops HiGHS' threads before a fork

_TALKERS = {"gurobi", "copt"}  # print their licence


@dataclass(frozen=True, eq=False)
class Row:
    """low <= sum of values * columns <= high; None is no side, and at least one side is given."""

    columns: list[int]
    values: list[float]
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Plain:
    """A problem to minimise cost @ x, without constant; bounds of integer columns are whole, rows that say nothing and columns
    that stand nowhere are left out.  idle (n,): a value for each column of the problem; those in `used` come from the solver."""

    idle: np.ndarray
    used: np.ndarray
    cost: list[float]
    lower: list[float | None]
    upper: list[float | None]
    integer: list[bool]
    rows: list[Row]

    @classmethod
    def of(cls, p: Problem) -> Plain:
        low = np.where(p.integer, np.ceil(p.lower), p.lower)
        high = np.where(p.integer, np.floor(p.upper), p.upper)
        starts, A = p.matrix.indptr.tolist(), p.matrix
        told = np.isfinite(p.row_lower) | np.isfinite(p.row_upper)
        stands = p.cost != 0
        stands[A.indices[np.repeat(told, np.diff(A.indptr))]] = True
        used = np.flatnonzero(stands)
        place = np.cumsum(stands) - 1
        idle = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
        rows = [
            Row(place[A.indices[a:b]].tolist(), A.data[a:b].tolist(), *sides)
            for a, b, *sides in zip(starts[:-1], starts[1:], _sides(p.row_lower), _sides(p.row_upper), strict=True)
            if b > a and sides != [None, None]
        ]
        cost = -p.cost if p.maximize else p.cost
        return cls(idle, used, (cost[used] + 0.0).tolist(), _sides(low[used]), _sides(high[used]), p.integer[used].tolist(), rows)


def _sides(values: np.ndarray) -> list[float | None]:
    return [v if np.isfinite(v) else None for v in values.tolist()]


@dataclass(frozen=True, eq=False)
class Said:
    """What the wrapper says: its claim, the values of the plain problem's columns if it has any, and its own words."""

    outcome: Outcome
    point: np.ndarray | None = None
    message: str = ""


class Bridge(Solver):
    """One engine behind a modelling library.  digits: significant digits of the numbers in the file that the library
    writes for the engine, None if it passes doubles."""

    digits: int | None = None

    def __init__(self, name: str, engine: Engine | None, stem: str) -> None:
        self.name = name
        self.engine = engine
        self.family = engine.name if engine else stem.lower()
        self.witness = engine is not None
        self.settings = dict(engine.options) if engine else {}

    def accepts(self, problem: Problem) -> str | None:
        if self.engine is None and problem.integer.any():
            return "integer columns, and no settings for a zero gap of this engine in data/reference/solvers.yaml"
        if reason := out_of_range(problem, smallest=1e-9, largest=1e15, infinite=1e20):
            return reason
        if self.digits is not None:
            for values in (problem.matrix.data, problem.cost, problem.lower, problem.upper, problem.row_lower, problem.row_upper):
                finite = values[np.isfinite(values)]
                lost = finite[np.array([float(f"{v:.{self.digits - 1}e}") != v for v in finite.tolist()], bool)]
                if lost.size:
                    return f"the number {float(lost[0])!r} has more than the {self.digits} digits that {self.package} writes"
        return None

    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        if (reason := _hopeless(problem)) is not None:
            return Answer(Outcome.INFEASIBLE, message=reason)
        plain = Plain.of(problem)
        if not plain.cost:
            return Answer(Outcome.OPTIMAL, float(problem.offset), plain.idle, "no column matters")
        options: dict[str, Setting] = dict(self.settings)
        if nodes is not None and self.engine is not None and self.engine.nodes:
            options[self.engine.nodes] = nodes
        if self.family == "highs":
            highspy.Highs.resetGlobalScheduler(True)  # one with another number of threads would make every solve fail
        if self.engine is not None and self.engine.whole_seconds:
            time_limit = math.ceil(time_limit)
        began = time.perf_counter()
        try:
            with quiet(self.family):
                said = self.call(plain, time_limit, options)
        except Exception as error:  # whatever a wrapper raises is the wrapper's answer
            return Answer(Outcome.ERROR, message=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
        return _worth(problem, plain, said, late=time.perf_counter() - began >= time_limit)

    @abstractmethod
    def call(self, plain: Plain, time_limit: float, options: dict[str, Setting]) -> Said:
        """Build the model anew, solve it quietly, and report."""


def quiet(family: str) -> AbstractContextManager[None]:
    return silent_stdout() if family in _TALKERS else nullcontext()


def _hopeless(problem: Problem) -> str | None:
    """Why no solver need be asked: sides that exclude each other, or a row without entries that 0 does not satisfy."""
    if name := exact_lp.contradiction(problem):
        return f"the sides of '{name}' exclude each other"
    empty = np.diff(problem.matrix.indptr) == 0
    wrong = np.flatnonzero(empty & ((problem.row_lower > 0) | (problem.row_upper < 0)))
    return f"row '{problem.rows[wrong[0]]}' is empty and 0 does not satisfy it" if wrong.size else None


def _worth(problem: Problem, plain: Plain, said: Said, late: bool) -> Answer:
    outcome, message = said.outcome, said.message
    if outcome in (Outcome.INFEASIBLE, Outcome.UNBOUNDED):
        outcome = Outcome.INFEASIBLE_OR_UNBOUNDED if problem.cost_exact.num.any() or outcome is Outcome.UNBOUNDED else outcome
    if said.outcome is Outcome.INFEASIBLE_OR_UNBOUNDED and late:
        return Answer(Outcome.LIMIT, message=message)  # PuLP's word for "nothing found"
    if outcome is Outcome.OPTIMAL and late and problem.integer.any():
        outcome, message = Outcome.LIMIT_WITH_INCUMBENT, f"said to be optimal, at the time limit; {message}".rstrip("; ")
    if outcome is not Outcome.OPTIMAL and not outcome.limited:
        return Answer(outcome, message=message)
    point = plain.idle.copy()
    if said.point is not None:
        point[plain.used] = said.point
    if outcome.limited:  # some wrappers show the last point of the search, feasible or not, some say nothing of one they have
        outcome = Outcome.LIMIT_WITH_INCUMBENT if said.point is not None and _stands(problem, point) else Outcome.LIMIT
    if outcome is Outcome.LIMIT:
        return Answer(outcome, message=message)
    if said.point is None or not np.isfinite(point).all():
        return Answer(Outcome.ERROR, message=message or "optimal without a point")
    return Answer(outcome, float(problem.cost @ point + float(problem.offset)), point, message)


def _stands(p: Problem, x: np.ndarray) -> bool:
    """Feasible within usual tolerances."""
    if not np.isfinite(x).all() or (np.abs(x - np.rint(x))[p.integer] > 1e-6).any():
        return False
    return all(((v >= low - t) & (v <= high + t)).all() for low, v, high in ((p.lower, x, p.upper), (p.row_lower, p.matrix @ x, p.row_upper))
               for t in (1e-6 * np.maximum(1.0, np.abs(v)),))
