"""Models with other auxiliary columns: is every point of one completed by the other's columns?

    y exists with G y <= q - H x   unless   some u >= 0 has  u G = 0  and  u H x > u q          (Farkas)

With x binary where H has entries, u H x is linear once the products u_i x_j have columns of their own: one integer
program over the points of the first model looks for a point without completion, exactly.  Few points can be tried one
by one.  Where neither fits there are probes (probes.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.problem import Problem
from orpipe.solve import Outcome
from orpipe.verify.equivalence.containment import Containment
from orpipe.verify.equivalence.forms import Rows, one_sided
from orpipe.verify.equivalence.normalise import Form
from orpipe.verify.equivalence.pairing import Map, carried
from orpipe.verify.equivalence.reach import Clock
from orpipe.verify.equivalence.region import Region
from orpipe.verify.equivalence.witness import Side, Sides, complete, worth_apart

_MOST_PRODUCTS = 1500
_MOST_POINTS = 1024
_MOST_PARTS = 20_000  # of points, while they are listed
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


def few_points(form: Form, columns: np.ndarray) -> list[tuple[int, ...]] | None:
    """Every assignment of whole columns that no row over them alone excludes; None if there are too many.

    Column by column, without what a row excludes whatever follows: the permutations of an assignment are few, its 0-1 vectors are not."""
    low, high = form.low[columns], form.high[columns]
    if not (form.whole[columns] & np.isfinite(low) & np.isfinite(high)).all() or (high - low >= _MOST_POINTS).any():
        return None
    rows = one_sided(form, redundant=True)
    alone = ~(rows.P[:, np.setdiff1d(np.arange(form.n), columns)] != 0).any(1)
    P, q = rows.P[alone][:, columns], rows.q[alone] + 1e-6
    least = np.minimum(P * low, P * high)
    rest = least.sum(1) - np.cumsum(least, axis=1).T  # (column, row): the least that the columns after it add
    points, activity = np.zeros((1, 0)), np.zeros((1, len(q)))
    for k in range(len(columns)):
        values = np.arange(low[k], high[k] + 1)
        if len(points) * len(values) > _MOST_PARTS:
            return None
        activity = (activity[:, None, :] + values[None, :, None] * P[None, None, :, k]).reshape(len(points) * len(values), len(q))
        points = np.column_stack([np.repeat(points, len(values), axis=0), np.tile(values, len(points))])
        kept = (activity + rest[k] <= q).all(1)
        points, activity = points[kept], activity[kept]
    return None if len(points) > _MOST_POINTS else [tuple(v) for v in points.astype(int).tolist()]


def point_by_point(sides: Sides, form_a: Form, form_b: Form, by: Map, valued: bool) -> Containment:
    """Does every assignment of the matched columns, all whole and few, have completions in both models or in neither, and
    (valued) the same best objective?"""
    out = Containment()
    if not by.unscaled:
        out.open("the points to complete are too many to try")
        return out
    here, there = few_points(form_a, by.a), few_points(form_b, by.b)
    if here is None or there is None:
        out.open("the points to complete are too many to try")
        return out
    back = by.reversed()
    held_a = {tuple(map(Fraction, v)) for v in here}
    for values in there:
        point = dict(zip(by.b.tolist(), map(Fraction, values), strict=True))
        image = {p.b: p.scale * point[p.a] + p.shift for p in back.pairs}
        held_a.add(tuple(image[j] for j in by.a.tolist()))
    for assigned in sorted(held_a):
        held = dict(zip(by.a.tolist(), assigned, strict=True))
        image = {p.b: p.scale * held[p.a] + p.shift for p in by.pairs}
        one, two = complete(sides.in_a, sides.a, held, best=valued), complete(sides.in_b, sides.b, image, best=valued)
        if (one.answer, two.answer) == ("no", "no"):
            continue
        for side, mine, theirs in (("a", one, two), ("b", two, one)):
            if mine.answer == "yes" and mine.point is not None and theirs.answer == "no":
                out.witness = sides.excluded(side, mine.point)  # type: ignore[arg-type]
        if one.answer == two.answer == "yes" and valued and one.point is not None and two.point is not None:
            if one.objective is None or two.objective is None:
                out.open("whether a point has a completion is not known")
                return out
            f, g = (-v if p.maximize else v for v, p in ((one.objective, sides.a), (two.objective, sides.b)))
            if worth_apart(f, g):
                out.witness = sides.valued_apart(one.point, abs(f - g) / 2)
        elif (one.answer, two.answer) != ("yes", "yes") and out.witness is None:
            out.open("whether a point has a completion is not known")
            return out
        if out.witness is not None:
            out.state = "no"
            return out
    out.proofs.add("exact")
    return out
