"""Replays a certificate against a Problem in integers and fractions.  With replay.py, splits.py, symmetry.py,
lattice.py, reading.py, digest.py and the certificate's plain form this is all of the checker: no solver, no prover and nothing else of orpipe
is imported; arrays are only read.

    check(problem, certificate) -> faults (empty: proved)

Why a valid certificate is a proof.  Write the objective as min c x (signs turned for max).  For any multipliers y on rows,
c x = y (A x) + (c - y A) x, and each product on the right is at least its value at the side of the row, or the bound of the
column, that its sign points to: a lower bound of c x over the box, with c = 0 a contradiction if it is positive.  A branch on
an integer column loses no point, a derived bound or row holds at every feasible point, so leaves that all reach the claimed
objective leave nothing better.  Where the least objective of every node is a multiple of `step`, a bound counts rounded up.

A derived step may also use that only better points are in question (Replay.limit: the target, or the last multiple of
`step` below it).  Suppose a point were better.  With its integer columns held, the continuous ones can be chosen so that the objective is a
multiple of `step` (or as low as one likes); that point is still better and costs at most the limit, so every step and every leaf holds for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from orpipe.proof.certificate import FORMAT, Certificate
from orpipe.proof.digest import digest
from orpipe.proof.lattice import objective_step
from orpipe.proof.reading import Fault, rational, vector, whole
from orpipe.proof.replay import Bound, Replay

if TYPE_CHECKING:
    from orpipe.problem import Problem

Box = tuple[list[Bound], list[Bound]]
_UNREAD = {"optimal": ("ray",), "infeasible": ("objective", "point", "ray", "step"),
           "unbounded": ("objective", "step", "symmetry", "bounds", "derived", "tree")}


def check(problem: Problem, certificate: Certificate) -> list[str]:
    """What is wrong with the proof; empty means that it proves the certificate's outcome for this problem."""
    try:
        if certificate.format != FORMAT:
            return [f"format {certificate.format!r} is not {FORMAT}: write the certificate anew"]
        if certificate.digest != digest(problem):
            return ["the certificate is about another problem: its digest differs"]
        unread = [name for name in _UNREAD.get(certificate.outcome, ()) if getattr(certificate, name) is not None]
        if unread:
            return [f"a certificate of outcome {certificate.outcome} has no {unread[0]}"]
        replay = Replay(problem)
        match certificate.outcome:
            case "optimal":
                _optimal(replay, certificate)
            case "infeasible":
                _prove(replay, certificate, None)
            case "unbounded":
                replay.feasible(vector(certificate.point, replay.n))
                replay.improves(vector(certificate.ray, replay.n))
            case other:
                return [f"outcome {other!r} is none of optimal, infeasible, unbounded"]
    except Fault as fault:
        return [str(fault)]
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError) as error:
        return [f"malformed certificate: {type(error).__name__}: {error}"]
    return []


def _optimal(replay: Replay, certificate: Certificate) -> None:
    point = vector(certificate.point, replay.n)
    replay.feasible(point)
    value = sum((c * x for c, x in zip(replay.cost, point, strict=True)), start=Fraction(0))
    claimed = rational(certificate.objective)
    if replay.sign * value + replay.offset != claimed:
        raise Fault(f"the point's objective is {replay.sign * value + replay.offset}, not {claimed}")
    _prove(replay, certificate, value)


def _prove(r: Replay, certificate: Certificate, target: Fraction | None) -> None:
    """No point is better than `target` (min form, without the offset); None: there is no point at all."""
    step = None
    if certificate.step is not None:
        step, known = rational(certificate.step), objective_step(r)
        if step <= 0 or known is None or (known / step).denominator != 1:
            raise Fault(f"the objective need not be a multiple of {step}")
    if target is not None:  # what a better point costs at most
        r.limit = target if step is None else (math.ceil(target / step) - 1) * step
    if certificate.symmetry is not None:
        r.arrange(*certificate.symmetry)
    r.tighten(certificate.bounds or [])
    for recipe in certificate.derived or ():
        r.derive(recipe)
    nodes = certificate.tree or []
    open_boxes: list[Box] = [(r.lower, r.upper)]
    for k, node in enumerate(nodes):
        if not open_boxes:
            raise Fault(f"node {k} has no parent")
        lower, upper = open_boxes.pop()
        if node[0] == "branch":
            open_boxes += _children(r, node, lower, upper)
        else:
            _leaf(r, k, node, lower, upper, target, step)
    if open_boxes:
        raise Fault("the tree leaves cases open")


def _children(r: Replay, node: Sequence[Any], lower: list[Bound], upper: list[Bound]) -> list[Box]:
    _, column, threshold, first = node
    j, t = whole(column, r.n), whole(threshold)
    if not r.integer[j]:
        raise Fault(f"a branch on column {j}, which is not integer")
    down, up = list(upper), list(lower)
    r.cut_box(lower, down, j, t, False)
    r.cut_box(up, upper, j, t, True)
    children = [(lower, down), (up, upper)]
    return children if whole(first, 2) else children[::-1]


def _leaf(r: Replay, k: int, node: Sequence[Any], lower: list[Bound], upper: list[Bound], target: Fraction | None,
          step: Fraction | None) -> None:
    match node[0]:
        case "bound":
            if target is None:
                raise Fault(f"node {k} bounds the objective, which does not show infeasibility")
            bound = _bound(r, k, node, lower, upper, r.cost)
            if step is not None:
                bound = -(-bound // step) * step
            if bound < target:
                raise Fault(f"node {k}: the bound {bound} does not reach {target}")
        case "farkas":
            if _bound(r, k, node, lower, upper, [Fraction(0)] * r.n) <= 0:
                raise Fault(f"node {k}: the multipliers do not exclude it")
        case "empty":
            j = whole(node[1], r.n)
            low, high = lower[j], upper[j]
            if low is None or high is None or low <= high:
                raise Fault(f"node {k}: column {j} is not empty")
        case "crossed":
            i = whole(node[1], len(r.rows))
            low, high = r.low[i], r.high[i]
            if low is None or high is None or low <= high:
                raise Fault(f"node {k}: the sides of row {i} do not cross")
        case other:
            raise Fault(f"node {k} is of no known kind: {other!r:.40}")


def _bound(r: Replay, k: int, node: Sequence[Any], lower: list[Bound], upper: list[Bound], cost: Sequence[Fraction]) -> Fraction:
    _, den, multipliers = node
    if whole(den) <= 0:
        raise Fault(f"node {k}: denominator {den}")
    total, products = 0, [0] * r.n
    for row, num in multipliers:
        i, y = whole(row, len(r.rows)), whole(num)
        side = r.low[i] if y > 0 else r.high[i]
        if y and side is None:
            raise Fault(f"node {k}: row {i} has no side where its multiplier stands")
        total += y * (side or 0)
        for j, a in r.rows[i]:
            products[j] += y * a
    bound = Fraction(total, den * r.side_den)
    common = math.lcm(*(c.denominator for c in cost)) if cost else 1
    total = 0
    for j, c in enumerate(cost):
        reduced = c.numerator * (common // c.denominator) * den * r.den - products[j] * common
        if reduced:
            end = lower[j] if reduced > 0 else upper[j]
            if end is None:
                raise Fault(f"node {k}: column {j} has no bound where its reduced cost stands")
            total += reduced * end
    return bound + Fraction(total, common * den * r.den * r.box_den)

