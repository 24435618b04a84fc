"""From a label to a certificate: an exact proof that the checker has replayed, a better answer that refutes the label, or
no proof within the limits."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from orpipe import exact_lp
from orpipe.exact_lp import Vertex
from orpipe.problem import Problem
from orpipe.proof.certificate import Certificate
from orpipe.proof.checker import check
from orpipe.proof.digest import digest
from orpipe.proof.form import Box, Form
from orpipe.proof.search import Search, State, basic
from orpipe.solve import Label

NODES = 2000


@dataclass(frozen=True)
class _Stage:
    nodes: int
    tight: bool
    deep: bool


# A proof that takes more nodes is begun again with more effort at the root, which most do not need: the form strengthened, then deeper
# cuts (for mixed-integer problems).  The last stage takes what nodes are left.
_STAGES = (_Stage(20, False, False), _Stage(200, True, False), _Stage(200, True, True))


@dataclass(frozen=True, eq=False)
class Refuted:
    """The label is wrong: `point` is feasible in exact arithmetic and better than the label says is possible; without a
    point, the label's own point does not stand."""

    reason: str
    point: tuple[Fraction, ...] | None = None


@dataclass(frozen=True)
class Unproved:
    """limit: nodes or seconds ran out.  stuck: a node resists exact arithmetic (reason says which step)."""

    reason: str
    nodes: int = 0


def certify(problem: Problem, label: Label, seconds: float = 1.0, nodes: int = NODES) -> Certificate | None:
    """The certificate of a label, or None (`prove` says why).  seconds bounds the search by the clock, nodes by work: for
    results that must not depend on the machine give seconds=math.inf."""
    found = prove(problem, label, seconds, nodes)
    return found if isinstance(found, Certificate) else None


def prove(problem: Problem, label: Label, seconds: float = 1.0, nodes: int = NODES) -> Certificate | Refuted | Unproved:
    """As `certify`, with the reason where there is no certificate."""
    known = label.certificate
    if known is not None and known.outcome == label.status and known.nodes <= nodes and not check(problem, known) \
            and (label.objective_exact is None or known.objective == str(label.objective_exact)):
        return known
    deadline = time.perf_counter() + seconds
    match label.status:
        case "optimal":
            found = _optimal(problem, label, deadline, nodes)
        case "infeasible":
            found = _infeasible(problem, deadline, nodes)
        case "unbounded":
            found = Certificate(digest(problem), "unbounded", point=_texts(label.point), ray=_texts(label.ray))
    if isinstance(found, Certificate) and (faults := check(problem, found)):
        return Refuted(f"the label's ray or point does not stand: {faults[0]}") if found.outcome == "unbounded" else Unproved(faults[0])
    return found


def _optimal(problem: Problem, label: Label, deadline: float, nodes: int) -> Certificate | Refuted | Unproved:
    point = label.point
    if point is None or label.objective_exact is None:
        return Refuted("an optimum without a point")
    if problem.violations(point) or problem.objective(point) != label.objective_exact:
        return Refuted("the label's point is not feasible at its objective")
    sign = -1 if problem.maximize else 1
    claim = Certificate(digest(problem), "optimal", str(label.objective_exact), _texts(point))
    if problem.kind == "LP":
        duals = label.duals
        if duals is None:
            vertex = basic(problem)
            if vertex is None:
                return Unproved("no basis is optimal in exact arithmetic")
            if vertex.objective != label.objective_exact:
                return Refuted(f"the optimum is {vertex.objective}, not {label.objective_exact}", vertex.point)
            duals = vertex.duals
        return replace(claim, tree=[["bound", *_leaf([sign * y for y in duals])]])
    if nodes <= 0:
        return Unproved("limit")
    cutoff = sign * (label.objective_exact - problem.offset) * problem.cost_exact.reduced().den
    found = _searched(problem, cutoff, deadline, nodes)
    if found.better is not None:
        value = problem.objective(found.better.point)
        return Refuted(f"a point of objective {value} is better than {label.objective_exact}", found.better.point)
    if found.state != "closed":
        return Unproved(found.state, found.nodes)
    form = found.form
    step = None if form.step is None else str(form.step / form.cost_den)
    return replace(claim, tree=found.tree, symmetry=form.symmetry, bounds=form.bounds, derived=form.derived, step=step)


def _infeasible(problem: Problem, deadline: float, nodes: int) -> Certificate | Refuted | Unproved:
    if nodes <= 0:
        return Unproved("limit")
    found = _searched(problem, None, deadline, nodes)
    if found.better is not None:
        return Refuted("a feasible point exists", found.better.point)
    state = found.state
    if state != "closed" and problem.kind == "LP":
        # the search works on rows scaled to whole numbers, which solvers may not take; the rows as they are may do
        vertex = basic(exact_lp.elastic(problem))
        if vertex is not None and vertex.objective > 0:
            return Certificate(digest(problem), "infeasible", tree=[["farkas", *_leaf(vertex.duals)]])
    if state != "closed":
        return Unproved(state, found.nodes)
    form = found.form
    return Certificate(digest(problem), "infeasible", symmetry=form.symmetry, bounds=form.bounds, derived=form.derived, tree=found.tree)


@dataclass(frozen=True, eq=False)
class _Searched:
    """better: a point that the search came upon, which refutes the label.  nodes: of all stages."""

    state: State
    form: Form
    tree: list[list]
    better: Vertex | None
    nodes: int


def _searched(problem: Problem, cutoff: Fraction | None, deadline: float, nodes: int) -> _Searched:
    """A proof that nothing is better than the cutoff (None: that there is nothing), stage by stage."""
    better: list[Vertex] = []

    def whole(vertex: Vertex, box: Box) -> bool:
        better.append(vertex)
        return False

    pure = bool(problem.integer.all())
    stages = _STAGES[:1] if problem.kind == "LP" else _STAGES[:2] if pure else _STAGES
    spent = 0
    for stage in stages:
        form = Form(problem, feasibility=cutoff is None, cutoff=cutoff)
        most = nodes - spent if stage is stages[-1] else min(stage.nodes, nodes - spent)
        search = Search(form, cutoff, nodes=most, tight=stage.tight, deep=stage.deep, deadline=deadline, whole=whole)
        state = search.run()
        spent += len(search.tree)
        if state in ("closed", "stopped") or spent >= nodes or time.perf_counter() > deadline:
            break
    return _Searched(state, form, search.tree, better[0] if better else None, spent)


def _texts(point: Sequence[Fraction] | None) -> list[str] | None:
    return None if point is None else [str(v) for v in point]


def _leaf(y: Sequence[Fraction]) -> list:
    den = math.lcm(*(v.denominator for v in y)) if y else 1
    return [den, [[i, v.numerator * (den // v.denominator)] for i, v in enumerate(y) if v]]
