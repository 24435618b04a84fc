"""Branch and bound whose every closed node is closed by exact multipliers.  Floats decide where to look, never what is true.

Multipliers are tried cheapest first: rounded to 2**-20 (integer arithmetic; settles nearly all), then the nearest fractions of
small denominator, then those of the exact basis.  Branching by pseudo-costs.  Node limits, not clocks, decide: the same
problem gives the same tree on any machine; `seconds` is a net.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import Basis, Vertex
from orpipe.problem import Problem
from orpipe.proof.cuts import strengthened
from orpipe.proof.form import Box, Form
from orpipe.solve import VERTEX, Outcome, solver
from orpipe_solvers._hot import HotLP, Node

_BITS = 20
_DENOMINATORS = (60, 2000)
_WHOLE = 1e-7  # floats this near to a whole number are read as it
State = Literal["closed", "limit", "stuck", "stopped"]


def basic(problem: Problem, basis: Basis | None = None) -> Vertex | None:
    """The exact optimum of an LP, from `basis` if that is optimal, else from a solver's; None if neither holds."""
    found = exact_lp.vertex(problem, basis) if basis is not None else None
    if found is not None and found.optimal:
        return found
    for name in VERTEX:
        adapter = solver(name)
        if adapter.accepts(problem):
            continue
        result = adapter.solve(problem, time_limit=math.inf)
        if result.outcome is Outcome.OPTIMAL and result.basis is not None:
            found = exact_lp.vertex(problem, result.basis)
            if found is not None and found.optimal:
                return found
    return None


@dataclass
class Search:
    """cutoff: nodes whose objective (form units) is no less than it are closed; None: only empty nodes are.  strict: only
    nodes above the cutoff.  deep: cuts from sums of rows too.  tight: the form strengthened first.  whole(vertex, box) is
    asked at points of integer value that are not closed by their bound; it says whether to go on."""

    form: Form
    cutoff: Fraction | None
    strict: bool = False
    nodes: int = 2000
    cuts: bool = True
    deep: bool = False
    tight: bool = False
    deadline: float = math.inf
    whole: Callable[[Vertex, Box], bool] = lambda vertex, box: False
    settled: Callable[[Box], bool] = lambda box: False
    tree: list[list] = field(default_factory=list)

    def run(self) -> State:
        """closed: `tree` is a proof.  stuck: a node resists exact arithmetic.  stopped: `whole` said so."""
        form = self.form
        if self._crossed():
            return "closed"
        self.hot = strengthened(form, self._reaches, self.deep, self.tight) if self.cuts else HotLP(form.lp)
        if self.tight and self._crossed():
            return "closed"
        gains, counts = np.ones((form.n, 2)), np.zeros((form.n, 2))
        todo: list[tuple[Box, tuple[int, int, float, float] | None]] = [(form.box, None)]
        while todo:
            if len(self.tree) >= self.nodes or time.perf_counter() > self.deadline:
                return "limit"
            box, parent = todo.pop()
            if self.settled(box):
                self.tree.append(["settled"])
                continue
            node = self.hot.run(box.lower, box.upper)
            if node.status != "optimal":
                if node.status == "infeasible" and self._excluded(node, box):
                    continue
                choice = self._widest(box)
            else:
                if parent is not None:
                    column, side, distance, before = parent
                    gains[column, side] += max(0.0, node.objective - before) / distance
                    counts[column, side] += 1
                if self._reaches(node.objective) and self._bounded(node, box):
                    continue
                choice = self._fractional(node, gains, counts)
                if choice is None:
                    state = self._at_whole_point(node, box)
                    if state != "open":
                        if state == "closed":
                            continue
                        return state
                    box = self._pinned(node, box)
                    if self.settled(box):
                        self.tree.append(["settled"])
                        continue
                    choice = self._widest(box, node.point)
            if choice is None:
                return "stuck"
            column, threshold, value = choice
            part = min(max(value - threshold, 0.01), 0.99)
            self.tree.append(["branch", column, threshold, 1])
            z = node.objective
            todo.append((box.child(column, threshold, False, form.box_den), (column, 0, part, z)))
            todo.append((box.child(column, threshold, True, form.box_den), (column, 1, 1 - part, z)))
        return "closed"

    # ---- closing a node

    def _crossed(self) -> bool:
        """A column or row whose own sides exclude each other (or the 0 of a row without entries) is the whole proof."""
        f = self.form
        finite = np.isfinite(f.box.lower) & np.isfinite(f.box.upper)
        empty = np.flatnonzero(finite & (f.box.low > f.box.high).astype(bool))
        crossed = np.flatnonzero(f.has_low & f.has_high & (f.row_low > f.row_high).astype(bool))
        if len(empty):
            self.tree.append(["empty", int(empty[0])])
        elif len(crossed):
            self.tree.append(["crossed", int(f.place[crossed[0]])])
        else:
            filled = np.bincount(f.row_of, minlength=f.m) > 0
            wrong = np.flatnonzero(~filled & ((f.has_low & (f.row_low > 0)) | (f.has_high & (f.row_high < 0))).astype(bool))
            for i in wrong[:1].tolist():
                self.tree.append(["farkas", 1, [[int(f.place[i]), 1 if f.has_low[i] and f.row_low[i] > 0 else -1]]])
        return bool(self.tree)

    def _closes(self, bound: Fraction | None) -> bool:
        if bound is None or self.cutoff is None:
            return False
        if self.form.step is not None:
            bound = math.ceil(bound / self.form.step) * self.form.step
        return bound > self.cutoff if self.strict else bound >= self.cutoff

    def _reaches(self, objective: float) -> bool:
        """Worth trying the exact bound."""
        if self.cutoff is None:
            return False
        target, step = float(self.cutoff), self.form.step
        if step is None:
            return objective >= target - 1e-7 * max(1.0, abs(target))
        return objective > (target if self.strict else target - float(step)) + 1e-7 * float(step)

    def _bounded(self, node: Node, box: Box) -> bool:
        assert node.duals is not None
        for y, den in self._candidates(node.duals, lambda: self._basis_duals(box)):
            if self._closes(self.form.bound(y, den, box)):
                self.tree.append(["bound", *self.form.multipliers(y.tolist(), den, farkas=False)])
                return True
        return False

    def _excluded(self, node: Node, box: Box) -> bool:
        zero = np.zeros(self.form.n, np.int64)
        ray = node.duals
        if ray is not None and len(ray) and np.abs(ray).max() > 0:
            ray = ray / np.abs(ray).max()
        rays = [] if ray is None else [ray, -ray]
        tried = ((y, den) for r in rays for y, den in self._candidates(r, lambda: None))
        for y, den in tried:
            if (self.form.bound(y, den, box, zero) or 0) > 0:
                self.tree.append(["farkas", *self.form.multipliers(y.tolist(), den, farkas=True)])
                return True
        found = basic(exact_lp.elastic(self._boxed(box)))
        if found is None or found.objective <= 0:
            return False
        y, den = _common(found.duals)
        if (self.form.bound(y, den, box, zero) or 0) > 0:
            self.tree.append(["farkas", *self.form.multipliers(y.tolist(), den, farkas=True)])
            return True
        return False

    def _candidates(self, floats: np.ndarray, last: Callable[[], tuple[Fraction, ...] | None]):
        if np.isfinite(floats).all() and np.abs(floats).max(initial=0.0) < 2.0**40:
            yield np.rint(floats * 2.0**_BITS).astype(np.int64), 2**_BITS
            for limit in _DENOMINATORS:
                near = [Fraction(v).limit_denominator(limit) if abs(v) > 1e-9 else Fraction(0) for v in floats.tolist()]
                if math.lcm(*(f.denominator for f in near)) < 10**12:
                    yield _common(near)
        if exact := last():
            yield _common(exact)

    def _boxed(self, box: Box) -> Problem:
        den = self.form.box_den
        return replace(self.form.lp, lower=box.lower, upper=box.upper, lower_exact=Exact(box.low, den), upper_exact=Exact(box.high, den))

    def _basis_duals(self, box: Box) -> tuple[Fraction, ...] | None:
        basis = self.hot.basis()
        found = None if basis is None else exact_lp.vertex(self._boxed(box), basis)
        return None if found is None else found.duals

    def _pinned(self, node: Node, box: Box) -> Box:
        """strict: integer columns that reduced costs keep at their end in every point within the cutoff, fixed there.
        The tree does not record it."""
        assert node.duals is not None
        form = self.form
        if not self.strict or self.cutoff is None or np.abs(node.duals).max(initial=0.0) > 2.0**40:
            return box
        dual = form.dual(np.rint(node.duals * 2.0**_BITS).astype(np.int64), 2**_BITS, box)
        if dual is None:
            return box
        room = (self.cutoff - dual.bound) * dual.den
        for j in np.flatnonzero(form.integer & (box.lower < box.upper)).tolist():
            d = int(dual.reduced[j])
            if abs(d) > room:
                box = box.child(j, int(box.lower[j]) if d > 0 else int(box.upper[j]) - 1, d < 0, form.box_den)
        return box

    # ---- branching

    def _fractional(self, node: Node, gains: np.ndarray, counts: np.ndarray) -> tuple[int, int, float] | None:
        assert node.point is not None
        x = node.point
        part = x - np.floor(x)
        columns = np.flatnonzero(self.form.integer & (np.minimum(part, 1 - part) > _WHOLE))
        if not len(columns):
            return None
        mean = gains[columns] / np.maximum(1.0, counts[columns])
        f = part[columns]
        score = np.maximum(mean[:, 0] * f, 1e-6) * np.maximum(mean[:, 1] * (1 - f), 1e-6)
        j = int(columns[int(np.argmax(score))])
        return j, math.floor(x[j]), float(x[j])

    def _widest(self, box: Box, point: np.ndarray | None = None) -> tuple[int, int, float] | None:
        """Some integer column that is not fixed yet: split at the point, else in the middle."""
        for j in np.flatnonzero(self.form.integer & (box.lower < box.upper)).tolist():
            low, high = box.lower[j], box.upper[j]
            if point is not None:
                value = round(float(point[j]))
                threshold = value if value < high else value - 1
                return j, threshold, float(value)
            if math.isfinite(low) and math.isfinite(high):
                middle = math.floor((low + high) / 2)
                return j, middle, middle + 0.5
        return None

    def _at_whole_point(self, node: Node, box: Box) -> State | Literal["open"]:
        """A node whose LP point looks whole and whose bound does not close it: a better point, a tie, or rounding."""
        form = self.form
        assert node.point is not None
        held = exact_lp.fixed(replace(self._boxed(box), integer=form.integer),
                              [round(v) if k else 0 for v, k in zip(node.point.tolist(), form.integer.tolist(), strict=True)])
        found = basic(held)
        if found is not None and (self.cutoff is None or found.objective < self.cutoff or (self.strict and found.objective == self.cutoff)) \
                and not self.whole(found, box):
            return "stopped"
        return "open"


def _common(values: tuple[Fraction, ...] | list[Fraction]) -> tuple[np.ndarray, int]:
    den = math.lcm(*(v.denominator for v in values)) if values else 1
    nums = [v.numerator * (den // v.denominator) for v in values]
    return np.array(nums, np.int64 if all(abs(v) < 2**61 for v in nums) else object), den
