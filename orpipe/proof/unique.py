"""Is the optimum the only one?  Judged on decision columns: an order, slack or epigraph variable that moves is no other plan.

LP: nonzero reduced costs and row duals of a vertex settle most; else the cone of moves that keep the optimum is asked, exactly.
MILP: identical labels exchanged, then the prover's search for any other point as good, its bounds exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import At, Basis, Vertex
from orpipe.problem import Problem
from orpipe.proof.blocks import interchangeable
from orpipe.proof.form import Box, Form
from orpipe.proof.replay import Replay
from orpipe.proof.search import Search, basic
from orpipe.solve import VERTEX, Label, Outcome, solver

NODES = 600
_CONES = 40  # LPs asked, one a decision column and direction, where only auxiliary columns move so far

Verdict = Literal["unique", "not unique", "unknown"]


def unique(problem: Problem, label: Label, nodes: int = NODES) -> Verdict:
    """Whether any other optimum differs from label.point in a decision column.  Both answers are proved exactly, given
    that the label is right; nodes bounds the search, and "unknown" is also the answer for labels that are no optimum."""
    if label.status != "optimal" or label.point is None or label.objective_exact is None:
        return "unknown"
    if not problem.decision.any() or not problem.n_vars:
        return "unique"
    if problem.kind == "LP":
        return _lp_unique(problem, label)
    if nodes <= 0:
        return "unknown"
    if _exchange(problem, label.point):
        return "not unique"
    return _milp_unique(problem, label, nodes)


# ---- linear programmes


def _lp_unique(problem: Problem, label: Label | None) -> Verdict:
    bases = [r.basis for r in label.results if r.basis is not None] if label is not None else []
    for basis in bases:
        vertex = exact_lp.vertex(problem, basis)
        if vertex is not None and vertex.optimal:
            return _at_vertex(problem, vertex, basis)
    for name in VERTEX:
        if solver(name).accepts(problem):
            continue
        result = solver(name).solve(problem, time_limit=math.inf)
        if result.outcome is Outcome.OPTIMAL and result.basis is not None:
            vertex = exact_lp.vertex(problem, result.basis)
            if vertex is not None and vertex.optimal:
                return _at_vertex(problem, vertex, result.basis)
    return "unknown"


def _at_vertex(problem: Problem, vertex: Vertex, basis: Basis) -> Verdict:
    p = problem
    reduced = reduced_costs(p, vertex.duals)
    fixed_column = (p.lower == p.upper) & _equal(p.lower_exact, p.upper_exact)
    fixed_row = (p.row_lower == p.row_upper) & _equal(p.row_lower_exact, p.row_upper_exact)
    flat = [j for j in range(p.n_vars) if basis.columns[j] != At.BASIC and not fixed_column[j] and not reduced[j]]
    slack = [i for i in range(p.n_rows) if basis.rows[i] != At.BASIC and not fixed_row[i] and not vertex.duals[i]]
    if not flat and not slack:
        return "unique"
    cone = _cone(p, vertex, reduced)
    free = [j for j in flat if cone.lower[j] < 0 < cone.upper[j]]  # held at no side: the basis is no vertex
    moves = [basic(question) for question in (cone, *(_towards(cone, j, sign) for j in free for sign in (1, -1)))]
    if any(move is None for move in moves):
        return "unknown"
    real = [move for move in moves if move is not None and move.objective]
    if not real:
        return "unique"  # nothing leaves its side, and a vertex is where its sides meet
    if any(d and k for move in real for d, k in zip(move.point, p.decision, strict=True)):
        return "not unique"
    return _decisions_stay(p, cone)


def _decisions_stay(problem: Problem, cone: Problem) -> Verdict:
    free = [j for j in np.flatnonzero(problem.decision).tolist() if cone.lower[j] < cone.upper[j]]
    if len(free) > _CONES:
        return "unknown"
    for j in free:
        for sign in (1, -1):
            move = basic(_towards(cone, j, sign))
            if move is None:
                return "unknown"
            if move.objective:
                return "not unique"
    return "unique"


def _towards(cone: Problem, column: int, sign: int) -> Problem:
    cost = np.zeros(cone.n_vars, np.int64)
    cost[column] = sign
    return replace(cone, cost_exact=Exact(cost))


def _cone(problem: Problem, vertex: Vertex, reduced: Sequence[Fraction]) -> Problem:
    """Moves d in [-1, 1] that keep every side and the objective, and the sum of how far they leave sides, to be maximised."""
    p, x = problem, vertex.point
    n, m = p.n_vars, p.n_rows
    low, high, cost = np.full(n, -1), np.full(n, 1), [Fraction(0)] * n
    lower, upper = p.lower_exact.fractions(), p.upper_exact.fractions()
    for j in range(n):
        at_low, at_high = bool(np.isfinite(p.lower[j])) and x[j] == lower[j], bool(np.isfinite(p.upper[j])) and x[j] == upper[j]
        if at_low or reduced[j]:
            low[j] = 0
        if at_high or reduced[j]:
            high[j] = 0
        cost[j] += at_low - at_high
    row_low, row_high = np.full(m, -np.inf), np.full(m, np.inf)
    entries = p.matrix_exact.fractions()
    sides = p.row_lower_exact.fractions(), p.row_upper_exact.fractions()
    for i in range(m):
        span = range(p.matrix.indptr[i], p.matrix.indptr[i + 1])
        activity = sum((entries[k] * x[p.matrix.indices[k]] for k in span), start=Fraction(0))
        at_low = bool(np.isfinite(p.row_lower[i])) and activity == sides[0][i]
        at_high = bool(np.isfinite(p.row_upper[i])) and activity == sides[1][i]
        if at_low or vertex.duals[i]:
            row_low[i] = 0
        if at_high or vertex.duals[i]:
            row_high[i] = 0
        for k in span if at_low != at_high and not vertex.duals[i] else ():
            cost[p.matrix.indices[k]] += entries[k] * (1 if at_low else -1)
    common = math.lcm(*(c.denominator for c in cost))
    nums = np.array([int(c * common) for c in cost], dtype=object)
    zero = Exact(np.zeros(m, np.int64))
    return replace(
        p, maximize=True, offset=Fraction(0), integer=np.zeros(n, bool), cost_exact=Exact(nums, common),
        row_lower=row_low, row_upper=row_high, row_lower_exact=zero, row_upper_exact=zero,
        lower=low.astype(float), upper=high.astype(float), lower_exact=Exact(low), upper_exact=Exact(high),
    )


def reduced_costs(problem: Problem, duals: Sequence[Fraction]) -> list[Fraction]:
    """cost - duals times matrix (n,), exact."""
    reduced = problem.cost_exact.fractions()
    entries, starts = problem.matrix_exact.fractions(), problem.matrix.indptr
    for i, y in enumerate(duals):
        if y:
            for k in range(starts[i], starts[i + 1]):
                reduced[problem.matrix.indices[k]] -= y * entries[k]
    return reduced


def _equal(a: Exact, b: Exact) -> np.ndarray:
    den = math.lcm(a.den, b.den)
    return (a.over(den) == b.over(den)).astype(bool)


# ---- integer programmes


def _exchange(problem: Problem, point: Sequence[Fraction]) -> bool:
    """Exchanging two identical labels gives another plan."""
    found = interchangeable(problem, Replay(problem))
    blocks = found[0] if found else []
    return any(point[a] != point[b] and (problem.decision[a] or problem.decision[b])
               for first, second in pairwise(blocks) for a, b in zip(first, second, strict=True))


def _milp_unique(problem: Problem, label: Label, nodes: int) -> Verdict:
    point, decision, integer = label.point, problem.decision, problem.integer
    assert point is not None and label.objective_exact is not None
    if not integer.all():
        here = _lp_unique(exact_lp.fixed(problem, [int(v) if k else 0 for v, k in zip(point, integer, strict=True)]), None)
        if here != "unique":
            return here
    form = Form(problem, arrange=False)
    cutoff = (-1 if problem.maximize else 1) * (label.objective_exact - problem.offset) * form.cost_den
    pinned = np.flatnonzero(decision if integer[decision].all() else integer)
    values = np.array([float(point[j]) for j in pinned])
    other: list[Vertex] = []

    def settled(box: Box) -> bool:
        return bool((box.lower[pinned] == values).all() and (box.upper[pinned] == values).all())

    def whole(vertex: Vertex, box: Box) -> bool:
        if vertex.objective == cutoff and all(a == b for a, b, k in zip(vertex.point, point, decision, strict=True) if k):
            return True
        other.append(vertex)
        return False

    state = Search(form, cutoff, strict=True, nodes=nodes, whole=whole, settled=settled).run()
    if other:  # a better point would mean that the label is wrong, which is not this question
        return "not unique" if other[0].objective == cutoff and not problem.violations(other[0].point) else "unknown"
    return "unique" if state == "closed" else "unknown"
