"""The optima of two models: one solver first, two families and exact arithmetic where a verdict would turn on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orpipe import exact_lp
from orpipe.problem import Problem
from orpipe.roles import asked
from orpipe.solve import Label, Outcome, label, settle, solver
from orpipe.verify.equivalence.evidence import number
from orpipe.verify.equivalence.reach import Clock, OutOfTime
from orpipe.verify.verdict import Policy

_TOLERANCE = Policy()


@dataclass(frozen=True)
class Value:
    """status "" means not known, and why.  objective in the model's own sense; minimised with the sign of a minimum.  proved:
    by exact arithmetic or two solver families."""

    status: str
    objective: float | None = None
    minimised: float | None = None
    proved: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Optima:
    a: Value
    b: Value

    @property
    def reason(self) -> str:
        """Why nothing can be said, or ""."""
        return self.a.reason or self.b.reason

    @property
    def same_status(self) -> str:
        return self.a.status if self.a.status == self.b.status else ""

    @property
    def same_value(self) -> bool:
        if self.a.minimised is None or self.b.minimised is None:
            return self.a.minimised is None and self.b.minimised is None
        return _TOLERANCE.close(self.a.minimised, self.b.minimised)

    def sentence(self, names: Mapping[str, str]) -> str:
        if not self.same_status:
            return f"{names['a']} {self._told(self.a)}, {names['b']} {self._told(self.b)}"
        if self.same_status != "optimal":
            return f"both are {self.same_status}; that alone says nothing of their rows"
        assert self.a.objective is not None and self.b.objective is not None
        if not self.same_value:
            return f"the optimum of {names['a']} is {number(self.a.objective)}, that of {names['b']} is {number(self.b.objective)}"
        return f"both have the optimum {number(self.a.objective)}"

    def _told(self, value: Value) -> str:
        return f"has the optimum {number(value.objective)}" if value.objective is not None else f"is {value.status}"

    def record(self) -> dict[str, Any]:
        return {"status_a": self.a.status, "status_b": self.b.status, "optimum_a": self.a.objective, "optimum_b": self.b.objective,
                "optima_proved": self.a.proved and self.b.proved}


def both(a: Problem, b: Problem, clock: Clock) -> Optima:
    """Where one solver finds a difference, both are proved before it is believed."""
    found = Optima(_timed(_first, a, clock.share(0.5)), _timed(_first, b, clock))
    if found.reason or (found.same_status and found.same_value):
        return found
    return Optima(found.a if found.a.proved else _timed(_proved, a, clock), found.b if found.b.proved else _timed(_proved, b, clock))


def _timed(solve: Callable[[Problem, Clock], Value], problem: Problem, clock: Clock) -> Value:
    try:
        return solve(problem, clock)
    except OutOfTime:
        return Value("", reason="the optimum is not known in time")


def _first(problem: Problem, clock: Clock) -> Value:
    for name in asked(problem):
        if solver(name).accepts(problem) is None:
            break
    else:
        return Value("", reason="no solver takes the problem")
    clock.solves["optimum"] += 1
    result = settle(solver(name), problem, clock.left(60.0))
    if not result.outcome.proof:
        return Value("", reason=f"{result.solver} ended with {result.outcome}")
    if result.outcome is not Outcome.OPTIMAL or result.objective is None:
        return Value(str(result.outcome))
    if problem.kind == "LP" and result.basis is not None:
        vertex = exact_lp.vertex(problem, result.basis)
        if vertex is not None and vertex.optimal:
            return _value(problem, float(vertex.objective), proved=True)
    return _value(problem, result.objective)


def _proved(problem: Problem, clock: Clock) -> Value:
    clock.solves["optimum proved"] += 1
    found = label(problem, time_limit=clock.left(60.0))
    if not isinstance(found, Label):
        return Value("", reason=f"the optimum is not certain ({found.reason})")
    if found.objective is None:
        return Value(found.status, proved=True)
    return _value(problem, found.objective, proved=True)


def _value(problem: Problem, objective: float, proved: bool = False) -> Value:
    assert np.isfinite(objective)
    return Value("optimal", objective, -objective if problem.maximize else objective, proved)
