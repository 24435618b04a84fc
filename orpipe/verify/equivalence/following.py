"""Completions by a rule: each further column as a fixed affine function of the shared ones, which all rows are then shown to keep.

    z_ij = y_i        a link opened wherever its depot is
    P_t = p_t + r_t   what a row of one model bounds where a row of the other, the same but for these, bounds that sum

A rule is a proposal; what proves that every point has a completion is that the rows, with the rules put in, hold on the other model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orpipe.problem import Problem
from orpipe.verify.equivalence.containment import Containment, extreme
from orpipe.verify.equivalence.forms import one_sided
from orpipe.verify.equivalence.lifting import Lifted, lifted
from orpipe.verify.equivalence.normalise import Form
from orpipe.verify.equivalence.pairing import Map
from orpipe.verify.equivalence.question import meant
from orpipe.verify.equivalence.reach import Clock, Point, Within
from orpipe.verify.equivalence.region import Region

_SAMPLES = 10
_SAMPLING = 0.1  # of the time that is left
_MOST_TERMS = 3  # of a rule read off two rows
_NOISE = 1e-7


@dataclass(frozen=True, eq=False)
class Rule:
    """One further column is w @ x + constant.  w (n,): over the columns of the model whose points are completed."""

    w: np.ndarray
    constant: float = 0.0

    def at(self, points: np.ndarray) -> np.ndarray:
        return points @ self.w + self.constant


def following(problem: Problem, form: Form, other: Form, by: Map, clock: Clock) -> Containment:
    """Does every point of `problem` (form) have a completion in the other model by one rule a column?  by: from the other to it.
    Never "no": rules that fail show nothing."""
    out = Containment()
    rest, region = lifted(other, by, form.n), Region(problem, clock)
    points = np.array([[float(v) for v in p] for p in _samples(region, form)])
    rules: list[Rule] = []
    for e in range(rest.G.shape[1]) if len(points) else ():
        # rows with no other further column: what is left of the choice is judged by all rows
        own = (rest.G[:, e] != 0) & ((rest.G != 0).sum(1) == 1)
        H, g, q = rest.H[own], rest.G[own, e], rest.q[own]
        room = q - points @ H.T + _NOISE * np.maximum(1.0, np.abs(q))
        rule = next((r for r in _candidates(rest, e, form) if (np.outer(r.at(points), g) <= room).all()), None)
        if rule is None:
            break
        rules.append(rule)
    if len(rules) < rest.G.shape[1] or not rules:
        out.open("no rule for the other columns was found")
        return out
    W, constants = np.array([r.w for r in rules]), np.array([r.constant for r in rules])
    P, q = rest.H + rest.G @ W, rest.q - rest.G @ constants
    unit = np.where(rest.G != 0, np.abs(rest.G), np.inf).min(1)  # rows in the numbers of the models, which are short
    P[np.abs(P) <= 1e-12 * (np.abs(rest.H) + np.abs(rest.G) @ np.abs(W))] = 0.0  # what cancels leaves rounding noise
    seen: set[tuple[bytes, float]] = set()
    for w, limit in zip(P / unit[:, None], (q / unit).tolist(), strict=True):
        if (mark := (w.tobytes(), limit)) in seen:
            continue
        seen.add(mark)
        reach = region.maximum(w, limit)
        if not isinstance(reach, Within) or reach.proof == "empty":
            out.open("no rule for the other columns was found")
            return out
        out.proofs.add(reach.proof)
    return out


def _samples(region: Region, form: Form) -> Iterator[Point]:
    """Some; fewer where they take long."""
    rng, until = np.random.default_rng(form.n), region.clock.share(_SAMPLING)
    for k in range(_SAMPLES):
        w = -form.cost if not k else rng.integers(-9, 10, form.n).astype(float)
        if w.any() and (point := extreme(region, region.problem, w)) is not None:
            yield point
        if until.spent:
            return


def _candidates(rest: Lifted, e: int, form: Form) -> Iterator[Rule]:
    """For a whole column its least value, the whole columns of rows that it stands in, its largest; for an amount sums that a row of
    the other model bounds in its place, whole columns, its bounds."""
    held = rest.G[:, e] != 0
    alone = np.flatnonzero(held & ((rest.G != 0).sum(1) == 1))
    bounds = sorted({rest.q[i] / rest.G[i, e] for i in alone.tolist() if not rest.H[i].any()})
    least = [Rule(np.zeros(form.n), round(v) if rest.whole[e] else v) for v in bounds]
    near = np.flatnonzero((rest.H[held] != 0).any(0) & form.whole)
    if rest.whole[e]:
        yield from least[:1]
    else:
        yield from _sums(rest, e, alone, form)
    for j in near.tolist():
        yield Rule(np.eye(1, form.n, j)[0])
    yield from least


def _sums(rest: Lifted, e: int, alone: np.ndarray, form: Form) -> Iterator[Rule]:
    rows = one_sided(form, redundant=True)
    for i in alone.tolist():
        g, used = rest.G[i, e], rest.H[i] != 0
        if g < 0 or not used.any():
            continue
        w, limit = rest.H[i] / g, rest.q[i] / g
        noise = 1e-9 * np.abs(w).max()
        same = np.abs(rows.raw[:, used] - w[used]) <= noise
        for other in rows.raw[same.any(1) & (np.abs(rows.limit - limit) <= noise)]:
            terms = np.where(np.abs(other - w) <= noise, 0.0, other - w)
            if 0 < np.count_nonzero(terms) <= _MOST_TERMS:
                yield Rule(meant(terms))
