"""Probes for models with other columns: extreme points of one completed in the other, one by one.  Evidence, not proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import Vertex
from orpipe.verify.equivalence.changes import OBJECTIVE, with_bounds, with_column, with_row
from orpipe.verify.equivalence.containment import Containment, extreme
from orpipe.verify.equivalence.forms import keys
from orpipe.verify.equivalence.lifting import Lifted, lifted
from orpipe.verify.equivalence.normalise import Form
from orpipe.verify.equivalence.pairing import Map, carried
from orpipe.verify.equivalence.reach import Beyond, Clock, OutOfTime, Point, Within
from orpipe.verify.equivalence.region import Region
from orpipe.verify.equivalence.witness import Side, Sides, complete

PROBES = 48
_LEAST_PROBES = 16


@dataclass
class Probes:
    """Points of one model completed in the other, and cuts of the other kept by all of the one: `done` counts both.
    `containment.state` is "no" if a point had no completion."""

    containment: Containment
    done: int = 0

    @property
    def enough(self) -> bool:
        return self.containment.state != "no" and self.done >= _LEAST_PROBES


def probes(sides: Sides, inside: Side, form: Form, other: Form, by: Map, clock: Clock, count: int = PROBES) -> Probes:
    """Complete `count` extreme points of the model `inside` in the other; from each completed one go on to where the
    other ends, and ask whether `inside` goes beyond that.  by: from the other to `inside`."""
    out = Probes(Containment())
    region = Region(sides.region(inside).problem, clock)
    judged: Side = "b" if inside == "a" else "a"
    theirs = sides.b if judged == "b" else sides.a
    onto = sides.decisions if inside == "a" else sides.decisions.reversed()
    completed: dict[tuple[tuple[int, Fraction], ...], None] = {}
    cuts: set[bytes] = set()

    def refuted(point: Point) -> bool:
        out.containment.witness = sides.excluded(inside, point)
        if out.containment.witness is not None:
            out.containment.state = "no"
        return out.containment.witness is not None

    aim = form.n - 1 if region.problem.columns[-1] == OBJECTIVE else None
    for w in _directions(form, lifted(other, by, form.n), by, count, aim):
        try:
            point = extreme(region, region.problem, w)
        except OutOfTime:  # of its share: what was done counts
            break
        if point is None:
            continue
        image = onto.image(point)
        key = tuple(sorted(image.items()))
        if key in completed:
            continue
        found = complete(sides.region(judged), theirs, image)
        if found.answer == "no" and refuted(point):
            return out
        if found.answer != "yes":
            continue
        completed[key] = None
        out.done += 1
        cut = _cut(sides.region(judged), list(completed), key)
        if cut is None:
            continue
        normal, limit = carried(cut.normal[None, :], np.array([cut.limit]), by, form.n)
        mark = next(keys(normal / np.abs(normal).max()))
        if mark in cuts:
            continue
        cuts.add(mark)
        try:
            reach = region.maximum(normal[0], float(limit[0]))
        except OutOfTime:
            break
        if isinstance(reach, Beyond) and refuted(reach.point):
            return out
        out.done += isinstance(reach, Within)
    return out


@dataclass(frozen=True, eq=False)
class _Cut:
    """normal @ x <= limit on everything that can be completed."""

    normal: np.ndarray
    limit: float


def _cut(region: Region, completed: Sequence[tuple[tuple[int, Fraction], ...]], towards: tuple[tuple[int, Fraction], ...]) -> _Cut | None:
    """From the middle of the points completed so far towards one of them and past it, to the end of what the relaxation
    can complete: the duals there are a cut.  None if it does not end, or the middle is that point."""
    columns = [j for j, _ in towards]
    middle = [sum((dict(p)[j] for p in completed), start=Fraction(0)) / len(completed) for j in columns]
    middle = [v.limit_denominator(1000) for v in middle]
    step = [v - m for (_, v), m in zip(towards, middle, strict=True)]
    if not any(step):
        return None
    problem = with_column(exact_lp.relaxed(region.problem), "_t")
    n = problem.n_vars
    for j, origin, direction in zip(columns, middle, step, strict=True):
        w = np.zeros(n, dtype=object)
        w[:] = Fraction(0)
        w[j], w[n - 1] = Fraction(1), -direction
        problem = with_row(problem, Exact.of(w), origin, origin)
    aim = np.zeros(n, np.int64)
    aim[n - 1] = 1
    problem = with_bounds(replace(problem, maximize=True, cost_exact=Exact(aim)), {n - 1: (Fraction(0), Fraction(10))})
    found = region.lp(problem)
    if not isinstance(found, Vertex) or found.objective >= 10:
        return None
    duals = found.duals[-len(columns):]
    normal = np.zeros(region.problem.n_vars)
    normal[columns] = [float(v) for v in duals]
    if sum((v * d for v, d in zip(duals, step, strict=True)), start=Fraction(0)) < 0:
        normal = -normal
    end = [m + found.objective * d for m, d in zip(middle, step, strict=True)]
    limit = sum((Fraction(repr(float(normal[j]))) * v for j, v in zip(columns, end, strict=True)), start=Fraction(0))
    return _Cut(normal, float(limit)) if normal.any() else None


def _directions(form: Form, rest: Lifted, by: Map, count: int, aim: int | None) -> Iterator[np.ndarray]:
    """The rows with other columns first (there a difference would be), the objective, single columns, corners, random
    mixtures.  aim: the column that stands for the objective, to be kept small in every direction."""
    rng = np.random.default_rng(len(by.pairs))
    rows = rest.H[(rest.H != 0).any(1)]
    shared = by.b[by.b != aim] if aim is not None else by.b

    def directed(w: np.ndarray) -> np.ndarray:
        if aim is not None:
            w = w.copy()
            w[aim] = -1e-3 * max(1.0, float(np.abs(w).max()))
        return w

    for k in rng.permutation(len(rows))[:count // 3]:
        yield directed(rows[k])
    cost = np.where(np.isin(np.arange(form.n), shared), form.cost, 0.0)
    if cost.any():
        yield directed(-cost)
        yield directed(cost)
    for k in rng.permutation(len(shared))[:count // 8]:
        for sign in (1.0, -1.0):
            w = np.zeros(form.n)
            w[shared[k]] = sign
            yield directed(w)
    for k in range(count // 2):
        w = np.zeros(form.n)
        if k % 2:
            w[shared] = rng.choice([-1.0, 1.0], len(shared))
        else:
            w[shared] = rng.integers(-9, 10, len(shared)) * (rng.random(len(shared)) < (0.3 if k % 4 else 1.0))
        if w.any():
            yield directed(w)
