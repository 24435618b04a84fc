"""Our own solve of a captured model, and what would explain a wrong optimum.

One solver is asked first (the next one of orpipe.roles.asked where it finds no proof in time).  Where it agrees with the
label, solver and label are two witnesses and that settles it; where it does not, or stands too close to the tolerance, or
its point does not bear rounding, a proof decides: for an LP the basis found, checked in exact arithmetic, primal and dual, which no
second solver could add to; else orpipe.solve.label, two solver families and exact arithmetic.  So every WRONG_OPTIMUM rests on such a
proof or on two families, and a doubt is UNDECIDED.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orpipe import exact_lp, roles
from orpipe.errors import OrpipeError, Unsupported
from orpipe.problem import Problem
from orpipe.solve import Label, Outcome, Refusal, Result, agree, label, settle, solver
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Policy, Solved, agreement

_INFINITE = 1e20  # every library reads a bound of this size as none
_FEASIBLE = 1e-6  # violation of a row or bound, relative to max(1, its side)
_HINT_SECONDS = 0.5
_FAILURES: Mapping[str, Failure] = {
    "limit": Failure.LIMIT, "disagreement": Failure.DISAGREEMENT, "inexact point": Failure.INEXACT,
    "undecided": Failure.LIMIT, "unsupported": Failure.UNSUPPORTED, "error": Failure.INTERNAL,
}


def resolve(problem: Problem, truth: Truth, policy: Policy, seconds: float = 20.0) -> Solved:
    """Status and objective of `problem`, as sure as the verdict on it needs.  seconds: time limit of each solve, of which
    there are at most five long ones."""
    began = time.perf_counter()
    problem = without_giants(problem)
    names = roles.asked(problem)
    result = _solve(problem, names, seconds)
    if result is not None and result.outcome.limited:
        found = Solved("", problem.maximize, failure=Failure.LIMIT, solvers=(_named(result),),
                       detail=f"our solve found no proof within {seconds:g} s ({result})")
    else:
        agreed = _agreed(problem, result, truth, policy)
        if agreed is not None:
            found = agreed
        else:
            rest = names[names.index(result.solver):] if result is not None else names  # those before it were too slow
            found = _exactly(problem, result) or _proved(problem, rest, seconds)
            if found.status:
                found = replace(found, hint=_hint(problem, found, result, truth, policy, min(_HINT_SECONDS, seconds)))
    return replace(found, seconds=time.perf_counter() - began)


def without_giants(problem: Problem) -> Problem:
    """Sides and bounds of 1e20 and more, on the side where they say nothing, as infinite."""
    low, high = np.asarray([-_INFINITE]), np.asarray([_INFINITE])
    sides: dict[str, Any] = {
        "lower": np.where(problem.lower <= low, -np.inf, problem.lower),
        "upper": np.where(problem.upper >= high, np.inf, problem.upper),
        "row_lower": np.where(problem.row_lower <= low, -np.inf, problem.row_lower),
        "row_upper": np.where(problem.row_upper >= high, np.inf, problem.row_upper),
    }
    if all(np.array_equal(values, getattr(problem, name)) for name, values in sides.items()):
        return problem
    return replace(problem, **sides)


def reference(problem: Problem, seconds: float = 20.0) -> Truth:
    """The truth that a reference model stands for; without value, and with a note, where it cannot be proved."""
    found = label(without_giants(problem), time_limit=seconds)
    if isinstance(found, Refusal):
        return Truth(note=f"the reference model could not be solved for certain ({found.reason})")
    if found.status != "optimal" or found.objective is None:
        return replace(Truth.status(found.status), maximize=problem.maximize)
    return Truth.optimum(found.objective, problem.maximize, float(problem.offset))


# ------------------------------------------------------------------------------------------------------------- solves


@dataclass(frozen=True, slots=True)
class _Point:
    """A reported point with its integers rounded: does it stand, and what is it worth."""

    stands: bool
    objective: float
    size: float


def _point(problem: Problem, point: np.ndarray | None, claimed: float | None, policy: Policy) -> _Point:
    if point is None or claimed is None or not np.isfinite(point).all():
        return _Point(False, 0.0, 1.0)
    x = np.where(problem.integer, np.rint(point), point)
    terms = problem.cost * x
    objective, size = float(terms.sum() + problem.offset), float(np.abs(terms).sum() + abs(problem.offset))
    near = bool((np.abs(x - point) <= _FEASIBLE).all()) and policy.close(objective, claimed, size)
    activity = problem.matrix @ x if problem.n_rows else np.zeros(0)
    sides = ((x, problem.lower, problem.upper), (activity, problem.row_lower, problem.row_upper))
    return _Point(near and all(_within(*s) for s in sides), objective, size)


def _within(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):
        under = (low - value) > _FEASIBLE * np.maximum(1.0, np.abs(low))
        over = (value - high) > _FEASIBLE * np.maximum(1.0, np.abs(high))
    return not bool((under & np.isfinite(low)).any() or (over & np.isfinite(high)).any())


def _solve(problem: Problem, names: Sequence[str], seconds: float) -> Result | None:
    """The first of these solvers that does not run into its limit, else the first that did; None if none can take it."""
    slow: Result | None = None
    for name in names:
        try:
            result = settle(solver(name), problem, seconds)
        except Unsupported:
            continue
        if not result.outcome.limited:
            return result
        slow = slow or result
    return slow


def _agreed(problem: Problem, result: Result | None, truth: Truth, policy: Policy) -> Solved | None:
    """One solver's answer, where it agrees with the label, or where there is none to turn on it."""
    if result is None or not result.outcome.proof:
        return None
    common: dict[str, Any] = {"maximize": problem.maximize, "offset": float(problem.offset), "solvers": (_named(result),)}
    checked = "one solver" if truth.absent else "label"
    if result.outcome is not Outcome.OPTIMAL:
        agrees = str(result.outcome) in truth.statuses or truth.absent
        return Solved(str(result.outcome), checked=checked, **common) if agrees else None
    point = _point(problem, result.point, result.objective, policy)
    if not point.stands:
        return None
    sure = replace(policy, tolerance=policy.tolerance / 2)
    if truth.absent or agreement(point.objective, problem.maximize, point.size, truth, sure):
        return Solved("optimal", objective=point.objective, size=point.size, checked=checked, **common)
    return None


def _exactly(problem: Problem, result: Result | None) -> Solved | None:
    """An LP's optimum by the basis that was found, if rational arithmetic shows it to be optimal and to be what was claimed."""
    if result is None or result.outcome is not Outcome.OPTIMAL or result.basis is None or result.objective is None or problem.integer.any():
        return None
    found = exact_lp.vertex(problem, result.basis)
    if found is None or not found.optimal or not agree(float(found.objective), result.objective):
        return None
    x = np.array([float(v) for v in found.point])
    size = float(np.abs(problem.cost * x).sum() + abs(problem.offset))
    return Solved("optimal", problem.maximize, float(found.objective), float(problem.offset), size, "exact", (_named(result),))


def _proved(problem: Problem, names: Sequence[str], seconds: float) -> Solved:
    """Two families and exact arithmetic."""
    try:
        found = label(problem, time_limit=seconds, policy={problem.kind: tuple(names)})
    except OrpipeError as error:
        found = Refusal("error", str(error), ())
    asked = tuple(dict.fromkeys(map(_named, found.results)))
    if isinstance(found, Refusal):
        failure = Failure.LIMIT if len(names) < len(roles.asked(problem)) else _FAILURES[found.reason]
        return Solved("", problem.maximize, failure=failure, solvers=asked,
                      detail=f"our solvers do not settle the model ({found.reason}): {found.detail}")
    size = 1.0
    if found.point is not None and found.status == "optimal":
        size = float(np.abs(problem.cost * np.array([float(v) for v in found.point])).sum() + abs(problem.offset))
    checked = "exact" if isinstance(found, Label) and found.proof == "exact" else "two families"
    return Solved(found.status, problem.maximize, found.objective, float(problem.offset), size, checked, asked)


def _named(result: Result) -> str:
    return f"{result.solver} {result.version}"


# ------------------------------------------------------------------------------------------------------- explanations


def _hint(problem: Problem, found: Solved, first: Result | None, truth: Truth, policy: Policy, seconds: float) -> Failure:
    """What turns the model's optimum into the label: a constant, the other sense, other integrality; NONE otherwise.
    first: the solve that agreed with no label."""
    if not truth.values:
        return Failure.NONE
    if found.objective is not None:
        if agreement(found.objective, problem.maximize, found.size, truth, policy):
            return Failure.NONE
        constants = {-found.offset, (truth.offset or 0.0) - found.offset} - {0.0}
        if any(agreement(found.objective + c, problem.maximize, found.size, truth, policy) for c in constants):
            return Failure.CONSTANT
    integer = problem.integer
    variants = [(Failure.SENSE, replace(problem, maximize=not problem.maximize))]
    if integer.any():
        variants.append((Failure.INTEGRALITY, replace(problem, integer=np.zeros_like(integer))))
    if not integer.all():
        whole = replace(problem, integer=np.ones_like(integer))
        best = first.point if first is not None and first.outcome is Outcome.OPTIMAL else None
        if not _point(whole, best, found.objective, policy).stands:  # else the optimum is whole already, and no other
            variants.append((Failure.INTEGRALITY, whole))
    for failure, variant in variants:
        result = _solve(variant, roles.asked(variant)[:1], seconds)
        if result is None or result.outcome is not Outcome.OPTIMAL:
            continue
        point = _point(variant, result.point, result.objective, policy)
        wanted = replace(truth, maximize=variant.maximize) if failure is Failure.SENSE else truth  # no mirror on top
        if point.stands and agreement(point.objective, variant.maximize, point.size, wanted, policy):
            return failure
    return Failure.NONE
