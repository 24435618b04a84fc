"""How far a shadow price holds: the right-hand sides of one row over which the optimum of an LP moves at exactly that rate.

The optimum z is convex (minimising) or concave in the side of a row, and an optimal dual y bounds it: z(t) is no better than
z(0) + y t.  So the sides where the rate is exact form one interval, and its ends are optima of an LP with the move t as a column
and the objective tied to z(0) + y t.  No basis has a say in it: degenerate vertices and ties get the whole interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.exact import Exact, concatenate
from orpipe.exact_lp import Basis, vertex
from orpipe.problem import Problem
from orpipe.proof.search import basic
from orpipe.solve import Label


@dataclass(frozen=True)
class Range:
    """How much lower and higher the side may be, >= 0 and in its unit; None: as far as one likes."""

    down: Fraction | None
    up: Fraction | None


def price_range(problem: Problem, label: Label, row: int) -> Range | None:
    """The largest interval of moves of the row's finite sides over which its dual in label.duals is the exact rate.  None for
    integer programs, ranged rows, labels without duals, and where an end is not proved."""
    low, high = bool(np.isfinite(problem.row_lower[row])), bool(np.isfinite(problem.row_upper[row]))
    if problem.integer.any() or label.duals is None or label.objective_exact is None:
        return None
    if low and high and problem.row_lower[row] != problem.row_upper[row]:
        return None
    ends: list[Fraction | None] = []
    free = _without_end(problem, label, row)
    for sign, endless in zip((-1, 1), free, strict=True):
        if endless:
            ends.append(None)
            continue
        found = basic(_moves(problem, label.objective_exact - problem.offset, label.duals[row], row, sign))
        if found is None:
            return None
        ends.append(abs(found.objective))
    return Range(*ends)


def _moves(problem: Problem, best: Fraction, price: Fraction, row: int, sign: int) -> Problem:
    """max sign * t, where the sides of `row` move by t and the objective by price * t."""
    p, n = problem, problem.n_vars
    entries = p.matrix_exact.fractions()
    spans = [range(p.matrix.indptr[i], p.matrix.indptr[i + 1]) for i in range(p.n_rows)]
    data: list[Fraction] = []
    indices: list[int] = []
    starts = [0]
    costs = p.cost_exact.fractions()
    for i, span in enumerate(spans):
        data += [entries[k] for k in span]
        indices += p.matrix.indices[span.start:span.stop].tolist()
        if i == row:
            data.append(Fraction(-1))
            indices.append(n)
        starts.append(len(indices))
    used = [j for j, c in enumerate(costs) if c]
    data += [costs[j] for j in used] + ([-price] if price else [])
    indices += used + ([n] if price else [])
    starts.append(len(indices))
    exact, side = Exact.of(np.array(data, dtype=object)), Exact.scalar(best)
    low, high = (0, 1) if sign > 0 else (-1, 0)
    infinite = np.inf * sign
    return replace(
        p, maximize=True, offset=Fraction(0), columns=(*p.columns, "_move"), rows=(*p.rows, "_rate"),
        cost_exact=Exact(np.append(np.zeros(n, np.int64), sign)), integer=np.zeros(n + 1, bool), decision=np.append(p.decision, False),
        matrix=sp.csr_array((exact.float(), np.array(indices, np.int32), np.array(starts, np.int32)), shape=(p.n_rows + 1, n + 1)),
        matrix_exact=exact,
        row_lower=np.append(p.row_lower, float(best)), row_upper=np.append(p.row_upper, float(best)),
        row_lower_exact=concatenate([p.row_lower_exact, side]), row_upper_exact=concatenate([p.row_upper_exact, side]),
        lower=np.append(p.lower, min(0.0, infinite)), upper=np.append(p.upper, max(0.0, infinite)),
        lower_exact=concatenate([p.lower_exact, Exact.scalar(low)]), upper_exact=concatenate([p.upper_exact, Exact.scalar(high)]),
    )


def shifted(problem: Problem, row: int, step: Fraction) -> Problem:
    """The problem with the sides of one row moved."""
    def moved(exact: Exact) -> Exact:
        values = exact.fractions()
        values[row] += step
        return Exact.of(np.array(values, dtype=object))

    low, high = moved(problem.row_lower_exact), moved(problem.row_upper_exact)
    return replace(problem, row_lower_exact=low, row_upper_exact=high, row_lower=np.where(np.isfinite(problem.row_lower), low.float(), -np.inf),
                   row_upper=np.where(np.isfinite(problem.row_upper), high.float(), np.inf))


def _without_end(problem: Problem, label: Label, row: int) -> tuple[bool, bool]:
    """Whether an optimal basis stays feasible however far the side goes down, up."""
    for result in label.results:
        basis: Basis | None = result.basis
        here = vertex(problem, basis) if basis is not None else None
        if basis is None or here is None or not here.optimal or here.duals != label.duals:
            continue
        there = vertex(shifted(problem, row, Fraction(1)), basis)
        if there is None:
            continue
        step = [b - a for a, b in zip(here.point, there.point, strict=True)]
        entries, A = problem.matrix_exact.fractions(), problem.matrix
        activity = [sum((entries[k] * step[A.indices[k]] for k in range(A.indptr[i], A.indptr[i + 1])), start=Fraction(0))
                    for i in range(problem.n_rows)]
        activity[row] -= 1
        down, up = (not _hits(sign, step, problem.lower, problem.upper) and not _hits(sign, activity, problem.row_lower, problem.row_upper)
                    for sign in (-1, 1))
        return down, up
    return False, False


def _hits(sign: int, step: Sequence[Fraction], lower: np.ndarray, upper: np.ndarray) -> bool:
    """Does a move by sign * step, repeated, run into a bound?"""
    return any((sign * d < 0 and np.isfinite(lo)) or (sign * d > 0 and np.isfinite(hi)) for d, lo, hi in zip(step, lower, upper, strict=True))
