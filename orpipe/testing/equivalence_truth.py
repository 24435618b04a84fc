"""Truth for the bench of the equivalence engine, by another road: every row of one model held against the other, columns matched by
name; nothing of the engine takes part.

    equal(a, b)          True, False, or None where this road leads nowhere in time
    apart(a, b)          True where some objective on the shared decisions has different optima, else None
    holds(a, b, found)   does the evidence of a NOT_EQUIVALENT or WRONG_OPTIMUM stand?

Cheap things first: that a row is kept is shown by bounds, by the exact optimum of the relaxation, or by `orpipe.solve.label` (two solver
families); that it is broken by one point, wherever it comes from, checked in exact arithmetic.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import fixed
from orpipe.problem import Problem
from orpipe.roles import asked
from orpipe.solve import VERTEX, Label, Outcome, label, settle, solver
from orpipe.verify.equivalence.changes import OBJECTIVE, with_row
from orpipe.verify.equivalence.evidence import Comparison
from orpipe.verify.equivalence.witness import Witness
from orpipe.verify.verdict import Verdict

Answer = bool | None
Point = Sequence[Fraction]
ONE, _NOISE = Fraction(1), Fraction(1, 10**9)
_MOST_POINTS = 150
_SECONDS = 3.0  # of one solve
_PROOF_SECONDS = 4.0  # of `equal`, and of `apart`


def equal(a: Problem, b: Problem, seconds: float = _PROOF_SECONDS) -> Answer:
    """Same set of decisions (a's), same objective on it.  Both must have the same column names.  None after about `seconds`."""
    until = time.perf_counter() + seconds
    if set(a.columns) != set(b.columns):
        return None
    b = ordered(b, a.columns)
    decisions = np.flatnonzero(a.decision)
    for one, other in ((a, b), (b, a)):
        for w in (one.cost_exact, Exact(-one.cost_exact.num, one.cost_exact.den)):
            point = some_point(one, w, until)
            if point is not None and tells_apart(one, other, point, decisions, until):
                return False
    answer: Answer = True
    for one, other in ((a, b), (b, a)):
        inside = within(one, other, decisions, until)
        if inside is False:
            return False
        if inside is not True:
            answer = None
    if answer is None:
        return enumerated(a, b, decisions, until) if (a.integer & b.integer)[decisions].all() else None
    gap = (b.cost_exact if not b.maximize else -b.cost_exact) + (-a.cost_exact if not a.maximize else a.cost_exact)
    constant = (-b.offset if b.maximize else b.offset) - (-a.offset if a.maximize else a.offset)
    for sign in (1, -1):
        limit = -sign * constant + _NOISE * max(ONE, abs(constant))
        kept, _ = stays(a, Exact(gap.num * sign, gap.den), limit, until)
        if kept is not True:
            return False if kept is False and a.decision.all() else None
    return True


def tells_apart(one: Problem, other: Problem, point: Point, decisions: np.ndarray, until: float) -> bool:
    """Is there no point of `other` with these decisions of a point of `one`, or (all columns being decisions) one of another worth?"""
    if one.violations(point):
        return False
    if len(decisions) == one.n_vars:
        f, g = (-p.objective(point) if p.maximize else p.objective(point) for p in (one, other))
        return _breaks(other, point) or abs(f - g) > _NOISE * max(ONE, abs(f))
    there = label(held(other, {int(j): point[j] for j in decisions}), time_limit=_left(until))
    return isinstance(there, Label) and there.status == "infeasible"


def _breaks(problem: Problem, point: Point) -> bool:
    """By more than the rounding of the numbers that go into it."""
    size = 1 + max((abs(v) for v in point), default=Fraction(0))
    return any(v.amount > _NOISE * size for v in problem.violations(point))


def _left(until: float, most: float = _SECONDS) -> float:
    return max(0.05, min(most, until - time.perf_counter()))


def apart(a: Problem, b: Problem, tries: int = 24, seconds: float = _PROOF_SECONDS) -> bool | None:
    """The models' objectives, tilted by whole weights on a's decisions (none, one decision up or down, a random mix): where the optima differ, no
    point of one can be matched by the other, whatever else their columns are.  b must have columns of the decisions' names."""
    shared = [a.columns[j] for j in np.flatnonzero(a.decision)]
    if set(shared) - set(b.columns):
        return None
    rng = np.random.default_rng(0)
    size = 1 + max((int(abs(v)) for p in (a, b) for v in p.cost), default=0)
    single = [{name: sign * size} for name in rng.permutation(shared)[:tries // 3] for sign in (1, -1)]
    mixed = [dict(zip(shared, (int(v) for v in rng.integers(-size, size + 1, len(shared))), strict=True)) for _ in range(tries // 3)]
    until = time.perf_counter() + seconds
    for weights in ({}, *single, *mixed):
        if time.perf_counter() > until:
            return None
        one = _tilted(a, weights, until)
        two = None if one is None else _tilted(b, weights, until)
        if one is not None and two is not None and one != two and not (
                isinstance(one, Fraction) and isinstance(two, Fraction) and abs(one - two) <= _NOISE * max(ONE, abs(one))):
            return True
    return None


def _tilted(problem: Problem, weights: Mapping[str, int], until: float) -> Fraction | str | None:
    """The exact minimum of the (minimised) objective plus the weights, or the status; None if not known."""
    w = np.zeros(problem.n_vars, dtype=object)
    for name, value in weights.items():
        w[problem.column_index[name]] = value
    cost = (-problem.cost_exact if problem.maximize else problem.cost_exact) + Exact(w)
    offset = -problem.offset if problem.maximize else problem.offset
    found = label(replace(problem, maximize=False, cost_exact=cost, offset=offset), time_limit=_left(until))
    if not isinstance(found, Label):
        return None
    return found.objective_exact if found.objective_exact is not None else found.status


def ordered(problem: Problem, columns: Sequence[str]) -> Problem:
    """With columns in the order given."""
    to = [problem.column_index[name] for name in columns]
    matrix = problem.matrix.tocsc()[:, to].tocsr()
    den = problem.matrix_exact.den
    dense = {(i, j): v for i, j, v in zip(
        np.repeat(np.arange(problem.n_rows), np.diff(problem.matrix.indptr)).tolist(), problem.matrix.indices.tolist(),
        problem.matrix_exact.num.tolist(), strict=True)}
    matrix.sort_indices()
    rows = np.repeat(np.arange(problem.n_rows), np.diff(matrix.indptr)).tolist()
    exact = Exact(np.array([dense[i, to[j]] for i, j in zip(rows, matrix.indices.tolist(), strict=True)], dtype=object), den)
    parts: dict[str, Any] = {name: getattr(problem, name)[to] for name in
             ("cost_exact", "lower_exact", "upper_exact", "lower", "upper", "integer", "decision")}
    return replace(problem, columns=tuple(columns), matrix=matrix, matrix_exact=exact, **parts)


def some_point(problem: Problem, w: Exact, until: float) -> Point | None:
    """A point far in direction w, exact, by one solver; no claim that none is farther."""
    aimed = replace(problem, maximize=True, cost_exact=w, offset=Fraction(0))
    if not problem.integer.any():
        found = _vertex(aimed, until)
        return found.point if isinstance(found, exact_lp.Vertex) else None
    # the last one asked proves integer models in integer arithmetic, and finds points soonest
    for name in reversed(asked(problem)[:2]):
        if time.perf_counter() < until and solver(name).accepts(problem) is None:
            result = settle(solver(name), aimed, _left(until))
            if result.point is None or not np.isfinite(result.point).all():
                continue
            rest = _vertex(fixed(aimed, [round(v) if k else 0 for v, k in zip(result.point.tolist(), problem.integer.tolist(), strict=True)]), until)
            if isinstance(rest, exact_lp.Vertex) and not problem.violations(rest.point):
                return rest.point
    return None


def _vertex(lp: Problem, until: float) -> exact_lp.Vertex | Outcome:
    """The exact optimum of an LP, or what a solver says instead."""
    said = Outcome.ERROR
    for name in VERTEX:
        if solver(name).accepts(lp) is not None:
            continue
        result = solver(name).solve(lp, _left(until))
        said = result.outcome
        found = exact_lp.vertex(lp, result.basis) if result.basis is not None and result.outcome is Outcome.OPTIMAL else None
        if found is not None and found.optimal:
            return found
    return said


def stays(problem: Problem, w: Exact, limit: Fraction, until: float) -> tuple[Answer, Point | None]:
    """Does w @ x stay at most `limit`?  With a point where it does not."""
    values = w.fractions()
    used = [j for j, v in enumerate(values) if v]
    ends = [_end(problem, j, values[j] > 0) for j in used]
    if None not in ends and sum((values[j] * e for j, e in zip(used, ends, strict=True) if e is not None), start=Fraction(0)) <= limit:
        return True, None
    if time.perf_counter() > until:
        return None, None
    aimed = replace(problem, maximize=True, cost_exact=w, offset=Fraction(0))
    relaxed = exact_lp.relaxed(aimed)
    found = _vertex(relaxed, until)
    if isinstance(found, exact_lp.Vertex):
        if found.objective <= limit:
            return True, None
        if not problem.violations(found.point):
            return False, found.point
    endless = found in (Outcome.UNBOUNDED, Outcome.INFEASIBLE_OR_UNBOUNDED)
    point = some_point(with_row(problem, w, None, 2 * abs(limit) + 10**4) if endless else problem, w, until)
    if point is not None and _value(values, point) > limit:
        return False, point
    proof = label(aimed, time_limit=_left(until))
    if not isinstance(proof, Label):
        return None, None
    if proof.status == "infeasible":
        return True, None
    if proof.objective_exact is None or proof.point is None:
        return None, None
    return (True, None) if proof.objective_exact <= limit else (False, proof.point)


def _value(w: Sequence[Fraction], point: Point) -> Fraction:
    return sum((v * x for v, x in zip(w, point, strict=True) if v), start=Fraction(0))


def _end(problem: Problem, j: int, up: bool) -> Fraction | None:
    floats, exact = (problem.upper, problem.upper_exact) if up else (problem.lower, problem.lower_exact)
    return Fraction(int(exact.num[j]), exact.den) if np.isfinite(floats[j]) else None


def demands(p: Problem) -> Iterator[tuple[Exact, Fraction]]:
    """(w, limit): every side of every row and column as w @ x <= limit."""
    num, starts, indices = p.matrix_exact.num, p.matrix.indptr, p.matrix.indices
    for i in range(p.n_rows):
        line = np.zeros(p.n_vars, dtype=object)
        line[indices[starts[i]:starts[i + 1]]] = num[starts[i]:starts[i + 1]]
        for sign, floats, exact in ((1, p.row_upper, p.row_upper_exact), (-1, p.row_lower, p.row_lower_exact)):
            if np.isfinite(floats[i]):
                yield Exact(sign * line, p.matrix_exact.den), sign * Fraction(int(exact.num[i]), exact.den)
    for j in range(p.n_vars):
        for sign, floats, exact in ((1, p.upper, p.upper_exact), (-1, p.lower, p.lower_exact)):
            if np.isfinite(floats[j]):
                unit = np.zeros(p.n_vars, dtype=object)
                unit[j] = sign
                yield Exact(unit), sign * Fraction(int(exact.num[j]), exact.den)


def within(a: Problem, b: Problem, decisions: np.ndarray, until: float = math.inf) -> Answer:
    """Has every point of b its decisions in a?  None where that is not settled by the time `until`."""
    stated = {_key(w, limit) for w, limit in demands(b)}
    answer: Answer = True
    for w, limit in demands(a):
        if _key(w, limit) in stated:
            continue
        kept, point = stays(b, w, limit + _NOISE * max(ONE, abs(limit)), until)
        if point is not None and tells_apart(b, a, point, decisions, until):
            return False
        if kept is not True:
            answer = None
    for j in np.flatnonzero(a.integer & ~b.integer).tolist():
        unit = np.zeros(b.n_vars, dtype=object)
        unit[j] = 1
        ends = [some_point(b, Exact(sign * unit), until) for sign in (1, -1)]
        if ends[0] is None or ends[1] is None:
            return None
        if any(e is not None and e[j].denominator != 1 and tells_apart(b, a, e, decisions, until) for e in ends):
            return False
        half = [(x + y) / 2 for x, y in zip(*ends, strict=True)]  # a point if b is convex
        if not b.violations(half) and half[j].denominator != 1 and tells_apart(b, a, half, decisions, until):
            return False
        if ends[0][j] != ends[1][j] or stays(b, Exact(unit), ends[0][j], until)[0] is not True \
                or stays(b, Exact(-unit), -ends[0][j], until)[0] is not True:
            answer = None
    return answer


def _key(w: Exact, limit: Fraction) -> tuple[object, ...]:
    values = w.fractions()
    size = max((abs(v) for v in values), default=Fraction(1)) or Fraction(1)
    return (*(v / size for v in values), limit / size)


def enumerated(a: Problem, b: Problem, decisions: np.ndarray, until: float = math.inf) -> Answer:
    """All points of whole decisions, one by one: each with its best objective in both models."""
    for one, other in ((a, b), (b, a)):
        found = points(one, decisions, until)
        if found is None:
            return None
        for values, objective in found:
            if time.perf_counter() > until:
                return None
            there = label(held(other, dict(zip(decisions.tolist(), map(Fraction, values), strict=True))), time_limit=_left(until))
            if not isinstance(there, Label):
                return None
            if there.objective_exact is None:
                return False
            f, g = (-v if p.maximize else v for v, p in ((objective, one), (there.objective_exact, other)))
            if abs(f - g) > _NOISE * max(ONE, abs(f)):
                return False
    return True


def points(problem: Problem, decisions: np.ndarray, until: float = math.inf) -> list[tuple[tuple[int, ...], Fraction]] | None:
    """Every assignment of 0-1 decisions with its best objective, each cut off once found; None if too many."""
    if not ((problem.lower[decisions] >= 0) & (problem.upper[decisions] <= 1)).all():
        return None
    out: list[tuple[tuple[int, ...], Fraction]] = []
    while len(out) <= _MOST_POINTS and time.perf_counter() < until:
        found = label(problem, time_limit=_left(until))
        if not isinstance(found, Label):
            return None
        if found.status == "infeasible":
            return out
        if found.point is None or found.objective_exact is None:
            return None
        values = tuple(int(found.point[j]) for j in decisions.tolist())
        out.append((values, found.objective_exact))
        w = np.zeros(problem.n_vars, np.int64)
        w[decisions] = [1 if v else -1 for v in values]
        problem = with_row(problem, Exact(w), None, Fraction(sum(values) - 1), f"cut{len(out)}")
    return None


def held(problem: Problem, values: Mapping[int, Fraction]) -> Problem:
    """With some columns held at values; a value outside the bounds or not whole leaves no point."""
    def fits(j: int, v: Fraction) -> bool:
        least, most = _end(problem, j, False), _end(problem, j, True)
        return (least is None or v >= least) and (most is None or v <= most) and not (problem.integer[j] and v.denominator != 1)

    low, high = problem.lower.copy(), problem.upper.copy()
    exact = Exact.of([values.get(j, Fraction(0)) for j in range(problem.n_vars)])
    mask = np.array([j in values for j in range(problem.n_vars)])
    low[mask] = high[mask] = exact.float()[mask]
    sides: dict[str, Any] = {}
    for name in ("lower", "upper"):
        old = getattr(problem, f"{name}_exact")
        sides[f"{name}_exact"] = Exact(np.where(mask, exact.num.astype(object) * old.den, old.num.astype(object) * exact.den), old.den * exact.den)
    out = replace(problem, lower=low, upper=high, integer=problem.integer & ~mask, **sides)
    return out if all(fits(j, v) for j, v in values.items()) else with_row(out, Exact(np.zeros(problem.n_vars, np.int64)), ONE, None)


def _dearer(mine: Problem, theirs: Problem, w: Witness) -> Answer:
    """A point of one model at an objective (minimised) that the other does not reach with these decisions?"""
    point = mine.point({name: v for name, v in w.point.items() if name != OBJECTIVE})
    f = -mine.objective(point) if mine.maximize else mine.objective(point)
    if mine.violations(point) or f > w.point[OBJECTIVE]:
        return False
    there = label(held(theirs, {theirs.column_index[name]: v for name, v in w.image.items() if name != OBJECTIVE}), time_limit=_SECONDS)
    if not isinstance(there, Label):
        return None
    if there.objective_exact is None:
        return there.status == "infeasible"
    g = -there.objective_exact if theirs.maximize else there.objective_exact
    return g - w.point[OBJECTIVE] > _NOISE * max(ONE, abs(g))


def _past_the_worst(mine: Problem, theirs: Problem, w: Witness) -> Answer:
    """Is the objective at the witness worse than all of the other model's?"""
    point = mine.point(w.point)
    if mine.violations(point):
        return False
    worst = label(replace(theirs, maximize=not theirs.maximize), time_limit=_SECONDS)
    if (w.objective_a is None and w.objective_b is None) or not isinstance(worst, Label) or worst.objective is None:
        return None
    here, there = (-float(mine.objective(point)) if mine.maximize else float(mine.objective(point))), \
        (-worst.objective if theirs.maximize else worst.objective)
    return here > there + 1e-9 * max(1.0, abs(there))


def holds(a: Problem, b: Problem, found: Comparison) -> Answer:
    """For models whose columns keep their names."""
    if found.verdict is Verdict.WRONG_OPTIMUM:
        one, two = label(a, time_limit=_SECONDS), label(b, time_limit=_SECONDS)
        if not isinstance(one, Label) or not isinstance(two, Label):
            return None
        f, g = (None if x.objective is None else (-x.objective if p.maximize else x.objective) for x, p in ((one, a), (two, b)))
        return one.status != two.status or (f is not None and g is not None and abs(f - g) > 1e-9 * max(abs(f), abs(g)))
    w = found.witness
    if w is None:
        return None
    mine, theirs = (a, b) if w.allowed_by == "a" else (b, a)
    if found.method == "range":
        return _past_the_worst(mine, theirs, w)
    if OBJECTIVE in w.point:
        return _dearer(mine, theirs, w)
    if set(w.point) - set(mine.columns):
        return None
    point = mine.point(w.point)
    if mine.violations(point):
        return False
    values = {theirs.column_index[name]: v for name, v in w.image.items()}
    if len(values) == theirs.n_vars:
        image = [values[j] for j in range(theirs.n_vars)]
        apart = (-mine.objective(point) if mine.maximize else mine.objective(point)) - \
            (-theirs.objective(image) if theirs.maximize else theirs.objective(image))
        return bool(theirs.violations(image)) or apart != 0
    if not w.broken and w.objective_a is not None:
        return True if w.objective_a != w.objective_b else None
    there = label(held(theirs, values), time_limit=_SECONDS)
    return there.status == "infeasible" if isinstance(there, Label) else None
