"""Truth for the bench of the equivalence engine, by another road: every row of one model maximised over the other by
`orpipe.solve.label` (two solver families, exact points), columns matched by name; nothing of the engine takes part.

    equal(a, b)          True, False, or None where this road leads nowhere
    apart(a, b)          True where some objective on the shared decisions has different optima, else None
    holds(a, b, found)   does the evidence of a NOT_EQUIVALENT or WRONG_OPTIMUM stand?
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from orpipe.exact import Exact
from orpipe.exact_lp import fixed
from orpipe.problem import Problem
from orpipe.solve import Label, label
from orpipe.verify.equivalence.changes import with_row
from orpipe.verify.equivalence.evidence import Comparison
from orpipe.verify.verdict import Verdict

Answer = bool | None
ONE, _NOISE = Fraction(1), Fraction(1, 10**9)
_MOST_POINTS = 150
_SECONDS = 20.0
_PROOF_SECONDS = 60.0


def equal(a: Problem, b: Problem, seconds: float = _PROOF_SECONDS) -> Answer:
    """Same set of decisions (a's), same objective on it.  Both must have the same column names.  None after about `seconds`."""
    until = time.perf_counter() + seconds
    if set(a.columns) != set(b.columns):
        return None
    b = ordered(b, a.columns)
    decisions = np.flatnonzero(a.decision)
    answer: Answer = True
    for one, other in ((a, b), (b, a)):
        inside = within(one, other, until)
        if inside is False and a.decision.all():
            return False
        if inside is not True:
            answer = None
    if answer is None:
        return enumerated(a, b, decisions) if (a.integer & b.integer)[decisions].all() else None
    gap = (b.cost_exact if not b.maximize else -b.cost_exact) + (-a.cost_exact if not a.maximize else a.cost_exact)
    constant = (-b.offset if b.maximize else b.offset) - (-a.offset if a.maximize else a.offset)
    for sign in (1, -1):
        most = maximum(a, Exact(gap.num * sign, gap.den))
        if most is None or most is False:
            return None if most is None else False
        if most + sign * constant > _NOISE * max(ONE, abs(constant)):
            return False if a.decision.all() else None
    return answer


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
        one, two = _tilted(a, weights), _tilted(b, weights)
        if one is not None and two is not None and one != two and not (
                isinstance(one, Fraction) and isinstance(two, Fraction) and abs(one - two) <= _NOISE * max(ONE, abs(one))):
            return True
    return None


def _tilted(problem: Problem, weights: Mapping[str, int]) -> Fraction | str | None:
    """The exact minimum of the (minimised) objective plus the weights, or the status; None if not known."""
    w = np.zeros(problem.n_vars, dtype=object)
    for name, value in weights.items():
        w[problem.column_index[name]] = value
    cost = (-problem.cost_exact if problem.maximize else problem.cost_exact) + Exact(w)
    offset = -problem.offset if problem.maximize else problem.offset
    found = label(replace(problem, maximize=False, cost_exact=cost, offset=offset), time_limit=_SECONDS)
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


def maximum(problem: Problem, w: Exact) -> Fraction | Literal[False] | None:
    """The exact maximum of w; False if endless, None if not known; very small if there is no point."""
    if not w.num.any():
        return Fraction(0)
    found = label(replace(problem, maximize=True, cost_exact=w, offset=Fraction(0)), time_limit=_SECONDS)
    if not isinstance(found, Label):
        return None
    if found.status == "infeasible":
        return Fraction(-10**30)
    return False if found.objective_exact is None else found.objective_exact


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


def within(a: Problem, b: Problem, until: float = math.inf) -> Answer:
    """Is every point of b one of a?  None once the clock is past `until`."""
    stated = {_key(w, limit) for w, limit in demands(b)}
    for w, limit in demands(a):
        if _key(w, limit) in stated:
            continue
        most = maximum(b, w) if time.perf_counter() < until else None
        if most is None:
            return None
        if most is False or most > limit + _NOISE * max(ONE, abs(limit)):
            return False
    for j in np.flatnonzero(a.integer & ~b.integer).tolist():
        unit = np.zeros(b.n_vars, dtype=object)
        unit[j] = 1
        ends = [maximum(b, Exact(sign * unit)) for sign in (1, -1)]
        if None in ends or False in ends:
            return None
        if ends[0] != -ends[1]:  # type: ignore[operator]
            return None if b.integer.any() else False
        if ends[0].denominator != 1:  # type: ignore[union-attr]
            return False
    return True


def _key(w: Exact, limit: Fraction) -> tuple[object, ...]:
    values = w.fractions()
    size = max((abs(v) for v in values), default=Fraction(1)) or Fraction(1)
    return (*(v / size for v in values), limit / size)


def enumerated(a: Problem, b: Problem, decisions: np.ndarray) -> Answer:
    """All points of whole decisions, one by one: each with its best objective in both models."""
    for one, other in ((a, b), (b, a)):
        found = points(one, decisions)
        if found is None:
            return None
        for values, objective in found:
            there = label(_held(other, dict(zip(decisions.tolist(), values, strict=True))), time_limit=_SECONDS)
            if not isinstance(there, Label):
                return None
            if there.objective_exact is None:
                return False
            f, g = (-v if p.maximize else v for v, p in ((objective, one), (there.objective_exact, other)))
            if abs(f - g) > _NOISE * max(ONE, abs(f)):
                return False
    return True


def points(problem: Problem, decisions: np.ndarray) -> list[tuple[tuple[int, ...], Fraction]] | None:
    """Every assignment of 0-1 decisions with its best objective, each cut off once found; None if too many."""
    if not ((problem.lower[decisions] >= 0) & (problem.upper[decisions] <= 1)).all():
        return None
    out: list[tuple[tuple[int, ...], Fraction]] = []
    while len(out) <= _MOST_POINTS:
        found = label(problem, time_limit=_SECONDS)
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


def _held(problem: Problem, values: Mapping[int, int]) -> Problem:
    mask = np.zeros(problem.n_vars, bool)
    mask[list(values)] = True
    held = fixed(replace(problem, integer=mask), [values.get(j, 0) for j in range(problem.n_vars)])
    return replace(held, integer=problem.integer & ~mask)


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
    low, high = theirs.lower.copy(), theirs.upper.copy()
    for j, v in values.items():
        if v < theirs.lower[j] or v > theirs.upper[j] or (theirs.integer[j] and v.denominator != 1):
            return True
        low[j] = high[j] = float(v)
    exact = Exact.of([values.get(j, Fraction(0)) for j in range(theirs.n_vars)])
    held = [np.array([j in values for j in range(theirs.n_vars)])] * 2
    sides: dict[str, Any] = {}
    for name, mask in zip(("lower", "upper"), held, strict=True):
        old = getattr(theirs, f"{name}_exact")
        den = old.den * exact.den
        sides[f"{name}_exact"] = Exact(np.where(mask, exact.num.astype(object) * old.den, old.num.astype(object) * exact.den), den)
    there = label(replace(theirs, lower=low, upper=high, **sides), time_limit=_SECONDS)
    return there.status == "infeasible" if isinstance(there, Label) else None


