"""A whole point of a MILP that a ray leads away from: with an improving ray it proves unboundedness, where solvers search in vain.

    reached(problem, ray, basic)    a feasible point, exact, or None
    escape(problem, basic)          that and an improving ray

Rows and bounds that the ray leaves behind are met far enough along it, so a start need only meet those that it does not move:
equality rows of integer columns, solved over the integers (Hermite normal form; Schrijver, Theory of Linear and Integer Programming,
ch. 4), and what inequalities stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import Vertex
from orpipe.problem import Problem

_COLUMNS, _ROWS = 200, 60  # of what is solved over the integers
_DIGITS = 4000  # numbers longer than this end the attempt
Row = dict[int, Fraction]
Basic = Callable[[Problem], Vertex | None]


def escape(problem: Problem, basic: Basic) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None:
    """A feasible point and an improving ray, both exact, found without asking any solver for a whole point; None if that fails."""
    ray = basic(exact_lp.recession(problem))
    if ray is None or ray.objective == 0:
        return None
    point = reached(problem, ray.point, basic)
    return None if point is None else (point, ray.point)


def reached(problem: Problem, ray: Sequence[Fraction], basic: Basic) -> tuple[Fraction, ...] | None:
    """A point of the problem that is feasible exactly.  ray (n,): a direction that keeps every row and bound.  basic: the exact
    optimum of an LP.  None if the few attempts made here fail, which proves nothing."""
    still = exact_lp.without_objective(problem)
    inside = basic(exact_lp.relaxed(still))
    if inside is None or problem.n_vars > _COLUMNS:
        return None
    whole = problem.integer.tolist()
    scale = math.lcm(*(d.denominator for d in ray))
    along = [d * scale for d in ray]
    rows = _rows(problem)
    lows, highs = _sides(problem.row_lower, problem.row_lower_exact), _sides(problem.row_upper, problem.row_upper_exact)
    equal = [i for i, row in enumerate(rows) if lows[i] is not None and lows[i] == highs[i] and all(whole[j] for j in row)]
    columns = [j for j, k in enumerate(whole) if k]
    solved = _solve([rows[i] for i in equal], [lows[i] or Fraction(0) for i in equal], columns, inside.point) if len(equal) <= _ROWS else None
    if solved is None:
        return None
    start = [solved.get(j, v) for j, v in enumerate(inside.point)]
    steps = [0]
    column_lows, column_highs = _sides(problem.lower, problem.lower_exact), _sides(problem.upper, problem.upper_exact)
    for value, move, low, high in (
        *((start[j], along[j], column_lows[j], column_highs[j]) for j in range(problem.n_vars)),
        *((_dot(row, start), _dot(row, along), low, high) for row, low, high in zip(rows, lows, highs, strict=True)),
    ):
        for short in ((low - value) if low is not None else Fraction(0), (value - high) if high is not None else Fraction(0)):
            if short > 0 and move:
                steps.append(math.ceil(short / abs(move)))
    for far in (max(steps), 2 * max(steps) + 1):
        point = tuple(v + far * d for v, d in zip(start, along, strict=True))
        if not problem.violations(point):
            return point
        if not problem.integer.all():
            found = basic(exact_lp.fixed(still, [math.floor(v) for v in point]))
            if found is not None and not problem.violations(found.point):
                return found.point
    return None


def _rows(problem: Problem) -> list[Row]:
    entries, starts = problem.matrix_exact.fractions(), problem.matrix.indptr.tolist()
    indices = problem.matrix.indices.tolist()
    return [dict(zip(indices[a:b], entries[a:b], strict=True)) for a, b in pairwise(starts)]


def _sides(floats: np.ndarray, exact: Exact) -> list[Fraction | None]:
    return [v if k else None for v, k in zip(exact.fractions(), np.isfinite(floats).tolist(), strict=True)]


def _dot(row: Row, x: Sequence[Fraction]) -> Fraction:
    return sum((a * x[j] for j, a in row.items()), start=Fraction(0))


def _solve(rows: Sequence[Row], right: Sequence[Fraction], columns: Sequence[int], near: Sequence[Fraction]) -> dict[int, Fraction] | None:
    """Whole values of the columns that fulfil the rows, about where `near` is; None if there are none (or they are endless)."""
    lines: list[list[int]] = []
    sides: list[int] = []
    for row, side in zip(rows, right, strict=True):
        den = math.lcm(side.denominator, *(a.denominator for a in row.values()))
        lines.append([int(row.get(j, 0) * den) for j in columns])
        sides.append(int(side * den))
    # basis: as many vectors as columns, by whole steps of one another; images: what they do in every row
    basis = [[int(i == j) for j in range(len(columns))] for i in range(len(columns))]
    images = [[line[j] for line in lines] for j in range(len(columns))]
    at = [0] * len(columns)
    used = 0
    for i, wanted in enumerate(sides):
        while True:
            live = [k for k in range(used, len(basis)) if images[k][i]]
            if len(live) < 2:
                break
            least = min(live, key=lambda k: abs(images[k][i]))
            for k in live:
                if k != least:
                    times = images[k][i] // images[least][i]
                    basis[k] = [a - times * b for a, b in zip(basis[k], basis[least], strict=True)]
                    images[k] = [a - times * b for a, b in zip(images[k], images[least], strict=True)]
            if max(abs(v) for v in basis[least]).bit_length() > _DIGITS:
                return None
        missing = wanted - sum(a * v for a, v in zip(lines[i], at, strict=True))
        if not live:
            if missing:
                return None
            continue
        k = live[0]
        times, rest = divmod(missing, images[k][i])
        if rest:
            return None
        at = [v + times * b for v, b in zip(at, basis[k], strict=True)]
        basis[used], basis[k], images[used], images[k] = basis[k], basis[used], images[k], images[used]
        used += 1
    for vector in basis[used:]:  # towards the relaxation's point, one free direction after the other
        size = sum(b * b for b in vector)
        times = round(Fraction(sum(b * (near[j] - v) for b, j, v in zip(vector, columns, at, strict=True)), size))
        at = [v + times * b for v, b in zip(at, vector, strict=True)]
    return {j: Fraction(v) for j, v in zip(columns, at, strict=True)}
