"""Models with other auxiliary columns: is every point of one completed by the other's columns?

    y exists with G y <= q - H x   unless   some u >= 0 has  u G = 0  and  u H x > u q          (Farkas)

With x binary where H has entries, u H x is linear once the products u_i x_j have columns of their own: one integer
program over the points of the first model looks for a point without completion, exactly.  Where that does not fit,
extreme points in chosen and random directions are completed one by one: evidence, not proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe import exact_lp
from orpipe.exact import Exact
from orpipe.exact_lp import Vertex
from orpipe.problem import Problem
from orpipe.solve import Outcome
from orpipe.verify.equivalence.changes import with_bounds, with_column, with_row
from orpipe.verify.equivalence.containment import Containment, extreme
from orpipe.verify.equivalence.forms import Rows, keys, one_sided
from orpipe.verify.equivalence.normalise import Form
from orpipe.verify.equivalence.pairing import Map, carried
from orpipe.verify.equivalence.region import Beyond, Clock, OutOfTime, Point, Region, Within
from orpipe.verify.equivalence.witness import Side, Sides, complete

PROBES = 24
_LEAST_PROBES = 10
_MOST_PRODUCTS = 1500
_MOST_SPREAD = 1e5
_VIOLATION = 1e-6  # of a certificate with unit weight


@dataclass(frozen=True, eq=False)
class Lifted:
    """The rows of a model that use columns outside the map.  H (k, n of the other model), G (k, extras), q (k,)."""

    H: np.ndarray
    G: np.ndarray
    q: np.ndarray
    whole: np.ndarray  # (extras,)


def lifted(form: Form, by: Map, n: int) -> Lifted:
    """by: from this model to the other, with n columns."""
    rows: Rows = one_sided(form, redundant=True)
    extra = np.ones(form.n, bool)
    extra[by.a] = False
    where = np.flatnonzero(extra)
    unit = np.eye(form.n)
    up, down = where[np.isfinite(form.high[where])], where[np.isfinite(form.low[where])]
    P = np.concatenate([rows.P, unit[up], -unit[down]])
    q = np.concatenate([rows.q, form.high[up], -form.low[down]])
    used = (P[:, where] != 0).any(1)
    P, q = P[used], q[used]
    H, q = carried(np.where(extra, 0.0, P), q, by, n)
    return Lifted(H, P[:, where], q, form.whole[where])


def certificates(sides: Sides, inside: Side, form: Form, other: Form, by: Map, clock: Clock) -> Containment:
    """Does every point of the model `inside` (form) have a completion in the other?  by: from the other to `inside`.
    Open where the program does not fit or is not settled."""
    out = Containment()
    rest = lifted(other, by, form.n)
    if not len(rest.q):
        return out
    # in the scale of the other columns: a certificate then weighs them, not a big-M
    scale = np.abs(rest.G).max(1)
    rest = replace(rest, H=rest.H / scale[:, None], G=rest.G / scale[:, None], q=rest.q / scale)
    i, j = np.nonzero(rest.H)
    binary = form.whole & (form.low >= 0) & (form.high <= 1)
    if not binary[j].all():
        out.open("the rows with other columns use amounts")
        return out
    if len(i) > _MOST_PRODUCTS or np.abs(rest.H).max(initial=0.0) > _MOST_SPREAD:
        out.open("the rows with other columns are too many or too uneven")
        return out
    if rest.whole.any() and not _whole_for_free(rest, form):
        out.open("the other columns have to be whole")
        return out
    problem = _program(sides.region(inside).problem, rest, i, j)
    region = Region(sides.region(inside).problem, clock)
    result = region.mip(problem)
    if result is None or result.point is None:
        out.open("no solver takes the search for a point without completion" if result is None else "out of time")
        return out
    if result.objective is not None and result.objective > _VIOLATION:
        mine = region.problem
        found = region.repaired(mine, replace(result, point=result.point[:mine.n_vars]))
        out.witness = None if found is None else sides.excluded(inside, found.point)
        if out.witness is None:
            out.open("a point without completion could not be checked exactly")
        else:
            out.state = "no"
        return out
    second = region.mip(problem, family=1) if result.outcome is Outcome.OPTIMAL else None
    if second is None or second.outcome is not Outcome.OPTIMAL or second.objective is None or second.objective > _VIOLATION:
        out.open("that every point has a completion is not settled")
        return out
    out.proofs.add("agreement")
    return out


def _program(problem: Problem, rest: Lifted, i: np.ndarray, j: np.ndarray) -> Problem:
    """maximise u H x - u q over the points x of `problem` and weights u >= 0, sum u <= 1, u G = 0."""
    n, k, products = problem.n_vars, len(rest.q), len(i)
    values = rest.H[i, j]
    e = np.arange(products)
    positive = values > 0
    up, down = e[positive], e[~positive]

    def entries(rows: np.ndarray, parts: list[tuple[np.ndarray, float]]) -> sp.coo_array:
        count = len(rows)
        columns = np.concatenate([c for c, _ in parts])
        data = np.concatenate([np.full(count, v) for _, v in parts])
        return sp.coo_array((data, (np.tile(np.arange(count), len(parts)), columns)), shape=(count, n + k + products))

    x, u, v = j, n + i, n + k + e
    blocks = [
        sp.hstack([problem.matrix, sp.csr_array((problem.n_rows, k + products))]),
        sp.hstack([sp.csr_array((rest.G.shape[1], n)), sp.csr_array(rest.G.T), sp.csr_array((rest.G.shape[1], products))]),
        sp.coo_array((np.ones(k), (np.zeros(k, int), n + np.arange(k))), shape=(1, n + k + products)),
        entries(up, [(v[up], 1.0), (x[up], -1.0)]),                             # product at most x,
        entries(up, [(v[up], 1.0), (u[up], -1.0)]),                             # at most u;
        entries(down, [(v[down], -1.0), (u[down], 1.0), (x[down], 1.0)]),       # at least u + x - 1
    ]
    extras = rest.G.shape[1]
    zero = np.zeros
    return Problem.from_arrays(
        name="certificate", maximize=True, cost=np.concatenate([zero(n), -rest.q, values]), matrix=sp.vstack(blocks, format="csr"),
        row_lower=np.concatenate([problem.row_lower, zero(extras), np.full(1 + 2 * len(up) + len(down), -np.inf)]),
        row_upper=np.concatenate([problem.row_upper, zero(extras), [1.0], zero(2 * len(up)), np.ones(len(down))]),
        lower=np.concatenate([problem.lower, zero(k + products)]),
        upper=np.concatenate([problem.upper, np.ones(k + products)]),
        integer=np.concatenate([problem.integer, zero(k + products, bool)]))


def _whole_for_free(rest: Lifted, form: Form) -> bool:
    """Are whole values among the completions whenever there is any?  So it is for network matrices with whole sides:
    rows with at most one +1 and one -1, or columns with at most one of each (single entries aside)."""
    if not rest.whole.all():
        return False
    scale = np.abs(rest.G).max(1)
    G, H, q = rest.G / scale[:, None], rest.H / scale[:, None], rest.q / scale
    whole = all(bool((np.abs(m - np.rint(m)) <= 1e-9 * np.maximum(1, np.abs(m))).all()) for m in (G, H, q))
    if not whole or (np.abs(G) > 1 + 1e-9).any() or not form.whole[(H != 0).any(0)].all():
        return False
    plus, minus = G > 0.5, G < -0.5
    if (plus.sum(1) <= 1).all() and (minus.sum(1) <= 1).all():
        return True
    # an equality is two rows here: count each pattern once
    several = np.unique(np.rint(G[(plus | minus).sum(1) > 1]) * np.sign(_first(G[(plus | minus).sum(1) > 1]))[:, None], axis=0)
    return bool(((several > 0).sum(0) <= 1).all() and ((several < 0).sum(0) <= 1).all())


def _first(G: np.ndarray) -> np.ndarray:
    """The first entry of each row."""
    return G[np.arange(len(G)), (G != 0).argmax(1)] if len(G) else np.zeros(0)


# --------------------------------------------------------------------------------------------------------------- probes


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

    for w in _directions(form, lifted(other, by, form.n), by, count):
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


def _directions(form: Form, rest: Lifted, by: Map, count: int) -> Iterator[np.ndarray]:
    """The rows with other columns first (there a difference would be), the objective, single columns, random mixtures."""
    rng = np.random.default_rng(len(by.pairs))
    rows = rest.H[(rest.H != 0).any(1)]
    for k in rng.permutation(len(rows))[:count // 3]:
        yield rows[k]
    shared = by.b
    if form.cost[shared].any():
        for sign in (-1.0, 1.0):
            yield np.where(np.isin(np.arange(form.n), shared), sign * form.cost, 0.0)
    for k in rng.permutation(len(shared))[:count // 4]:
        for sign in (1.0, -1.0):
            w = np.zeros(form.n)
            w[shared[k]] = sign
            yield w
    for k in range(count // 2):
        w = np.zeros(form.n)
        w[shared] = rng.integers(-9, 10, len(shared)) * (rng.random(len(shared)) < (0.3 if k % 2 else 1.0))
        if w.any():
            yield w
