"""Isomorphism of two forms, and a hash that isomorphic forms share.

A form is a coloured graph: two linked nodes for each column t (the literals +t and -t), a node for each one-sided row,
an edge from a row to the literal that its entry has the sign of.  Columns are centred first, so that complements and
reflections are relabellings like any other and no rule of orientation is needed.

Both graphs are refined together (colours of neighbours, until nothing splits); where symmetry leaves ties, one column is
set apart on each side and refined again, with backtracking.  Colours propose; a map is accepted only if the matrices agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from orpipe.problem import Problem
from orpipe.verify.equivalence.forms import SAME, Rows, one_sided, slack
from orpipe.verify.equivalence.normalise import Form, normalise

MOST_TRIES = 400  # refinements of one search
_HUGE = 1e300  # stands for infinity among values
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_GOLDEN, _MASK = 0x9E3779B97F4A7C15, 0xFFFFFFFFFFFFFFFF
_FRESH = np.uint64(_GOLDEN)
_SALTS = [np.uint64(k * _GOLDEN & _MASK) for k in range(1, 9)]


@dataclass(frozen=True, eq=False)
class Centred:
    """A form in coordinates t = (x - centre) * scale, and its rows; stated: in x."""

    form: Form
    centre: np.ndarray
    scale: np.ndarray
    rows: Rows
    stated: Form


@dataclass(frozen=True, eq=False)
class Isomorphism:
    """t of column j is sign[j] times t of the other form's column to[j]."""

    to: np.ndarray
    sign: np.ndarray


_CENTRED: WeakKeyDictionary[Form, dict[bool, Centred]] = WeakKeyDictionary()


def centred(form: Form, units: bool = False) -> Centred:
    """units: continuous columns in units of the model's own (see unit_scales)."""
    known = _CENTRED.setdefault(form, {})
    if units not in known:
        known[units] = _centred(form, units)
    return known[units]


def _centred(form: Form, units: bool) -> Centred:
    has_low, has_high = np.isfinite(form.low), np.isfinite(form.high)
    low, high = np.where(has_low, form.low, 0.0), np.where(has_high, form.high, 0.0)
    centre = np.where(has_low & has_high, (low + high) / 2, low + high)
    moved, scale = replace(form.shifted(centre)), np.ones(form.n)  # never `form` itself: it is the key of the cache
    if units:
        scale = unit_scales(moved)
        moved = Form(moved.A / scale, moved.lo, moved.hi, moved.cost / scale, moved.offset, moved.magnitude,
                     moved.low * scale, moved.high * scale, moved.whole, moved.columns, moved.rows, moved.empty)
    return Centred(moved, centre, scale, one_sided(moved), replace(form))


def unit_scales(form: Form) -> np.ndarray:
    """(n,) factors that give continuous columns a unit of the model's own: unit cost, else unit width, else unit size beside
    the columns that have one (or the side) in some row.  Units and the scale of rows do not matter to it.  Centred."""
    cost, width = np.abs(form.cost), np.where(np.isfinite(form.high - form.low), form.high - form.low, 0.0)
    scale = np.where(form.whole, 1.0, np.where(cost > 0, cost, np.where(width > 0, 1 / np.where(width > 0, width, 1.0), 1.0)))
    known = form.whole | (cost > 0) | (width > 0)
    size = np.abs(form.A)
    side = np.maximum(*(np.where(np.isfinite(v), np.abs(v), 0.0) for v in (form.lo, form.hi)))
    while not known.all():
        beside = np.maximum(np.where(known, size / scale, 0.0).max(1, initial=0.0), side)
        held = beside > 0
        if not held.any():
            break
        found = (size[held] / beside[held][:, None]).max(0)
        new = ~known & (found > 0)
        if not new.any():
            break
        scale = np.where(new, found, scale)
        known |= new
    return scale


def isomorphism(a: Centred, b: Centred, hint: np.ndarray | None = None, fixed: np.ndarray | None = None,
                tries: int = MOST_TRIES) -> Isomorphism | None:
    """A relabelling under which both say the same to a relative 1e-9, or None: there is none, or none was found in
    `tries`.  hint (n,): positions in b to try first; fixed (n,): the only ones allowed (-1: none)."""
    if a.form.n != b.form.n or len(a.rows) != len(b.rows) or a.form.empty or b.form.empty or not same_offset(a.form, b.form):
        return None
    graph = Graph.of(a, b, fixed)
    return None if graph is None else next((f for f in graph.search(hint, tries) if agree(a, b, f)), None)


def same_offset(a: Form, b: Form) -> bool:
    return abs(a.offset - b.offset) <= 1e-12 * (a.magnitude + b.magnitude)


def agree(a: Centred, b: Centred, found: Isomorphism, to_relative: float = SAME) -> bool:
    """Cost, bounds, integrality and rows of b, relabelled, are those of a."""
    to, sign, f, g = found.to, found.sign, a.form, b.form
    low, high = np.where(sign > 0, g.low[to], -g.high[to]), np.where(sign > 0, g.high[to], -g.low[to])
    if not ((f.whole == g.whole[to]).all() and close(f.cost, sign * g.cost[to], to_relative)
            and close(f.low, low, to_relative) and close(f.high, high, to_relative)):
        return False
    return same_rows(a.rows, b.rows, b.rows.P[:, to] * sign, to_relative)


def same_rows(rows: Rows, other: Rows, P: np.ndarray, to_relative: float = SAME, noise: np.ndarray | None = None) -> bool:
    """Every row of `rows` stands among `other`, whose matrix reads P in the same columns, and as many.  noise: of other.q."""
    if len(rows) != len(other):
        return False
    if not len(rows):
        return True
    left, right = _sorted(rows.P, rows.q), _sorted(P, other.q)
    p, r, q, s = rows.P[left], P[right], rows.q[left], other.q[right]
    near = np.abs(p - r) <= 10 * to_relative * np.maximum(np.abs(p), np.abs(r)) + 1e-15
    more = 0.0 if noise is None else noise[right]
    return bool(near.all() and (np.abs(q - s) <= 10 * slack(p, q, to_relative) + more).all())


def _sorted(P: np.ndarray, q: np.ndarray) -> np.ndarray:
    """An order of rows that rounding noise does not change, ties aside."""
    coarse = np.round(np.concatenate([P, q[:, None]], axis=1), 6) + 0.0
    return np.lexsort(coarse.T[::-1])


def close(a: np.ndarray, b: np.ndarray, to_relative: float = SAME) -> bool:
    """Equal to a relative 1e-9 (to_relative), or to the rounding noise of the largest."""
    if not (np.isfinite(a) == np.isfinite(b)).all():
        return False
    endless = ~np.isfinite(a)
    if (a[endless] != b[endless]).any():
        return False
    a, b = a[~endless], b[~endless]
    largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    return bool((np.abs(a - b) <= to_relative * np.maximum(np.abs(a), np.abs(b)) + 1e-14 * largest).all())


def classes(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers as class numbers, shared by both: numbers within a relative 1e-9 are one class."""
    values = np.nan_to_num(np.concatenate([a, b]), posinf=_HUGE, neginf=-_HUGE)
    if not len(values):
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    largest = np.abs(ranked[np.abs(ranked) < _HUGE]).max(initial=0.0)
    split = np.diff(ranked) > SAME * np.abs(ranked[1:]) + 1e-14 * largest
    out = np.empty(len(values), np.uint64)
    out[order] = np.concatenate([[0], np.cumsum(split)])
    return out[:len(a)], out[len(a):]


def mix(x: np.ndarray) -> np.ndarray:
    """Scrambles uint64."""
    x = (x ^ (x >> np.uint64(30))) * _A
    x = (x ^ (x >> np.uint64(27))) * _B
    return x ^ (x >> np.uint64(31))


def blend(*parts: np.ndarray) -> np.ndarray:
    out = np.zeros(len(parts[0]), np.uint64)
    for k, part in enumerate(parts):
        out = mix(out + mix(part + _SALTS[k]))
    return out


class _Sums:
    """Sums of edge values at one end of the edges."""

    def __init__(self, ends: np.ndarray, size: int) -> None:
        self.order = np.argsort(ends, kind="stable")
        count = np.bincount(ends, minlength=size)
        self.filled, self.size = np.flatnonzero(count), size
        self.starts = np.concatenate([[0], np.cumsum(count)[:-1]])[self.filled].astype(np.intp)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        out = np.zeros(self.size, np.uint64)
        if len(self.filled):
            out[self.filled] = np.add.reduceat(values[self.order], self.starts)
        return out


@dataclass(frozen=True, eq=False)
class _Colours:
    literals: np.ndarray
    rows: np.ndarray


class Graph:
    """Two graphs side by side: literals +t and -t of a's columns, then of b's; rows of a, then of b."""

    def __init__(self, n: int, k: int, literals: np.ndarray, rows: np.ndarray, edge_literal: np.ndarray, edge_row: np.ndarray,
                 edge_kind: np.ndarray) -> None:
        self.n, self.k = n, k
        self.told = np.ones(n, bool)  # (n,) set by `search`: columns of a that colours alone tell from all others
        self.cut_short = False  # set by `search`: it ended before all relabellings were seen
        self.start = _Colours(literals, rows)
        self.partner = np.concatenate([np.arange(n, 2 * n), np.arange(n)])
        self.partner = np.concatenate([self.partner, self.partner + 2 * n])[:len(literals)]
        self.edge_literal, self.edge_row, self.edge_kind = edge_literal, edge_row, mix(edge_kind + _FRESH)
        self.at_literal, self.at_row = _Sums(edge_literal, len(literals)), _Sums(edge_row, len(rows))

    @classmethod
    def of(cls, a: Centred, b: Centred, fixed: np.ndarray | None = None) -> Graph | None:
        """None if already the counts of numbers differ."""
        f, g = a.form, b.form
        literals = literal_classes(f, g)
        if fixed is not None and (fixed >= 0).any():
            mine, theirs = np.zeros(f.n, np.uint64), np.zeros(g.n, np.uint64)
            at = np.flatnonzero(fixed >= 0)
            mine[at] = theirs[fixed[at]] = at + 1
            literals = blend(literals[0], np.tile(mine, 2)), blend(literals[1], np.tile(theirs, 2))
        rows, other = classes(a.rows.q, b.rows.q)
        return cls.build(a.rows.P, b.rows.P, literals[0], literals[1], rows, other)

    @classmethod
    def build(cls, P: np.ndarray, Q: np.ndarray, literals: np.ndarray, other_literals: np.ndarray, rows: np.ndarray,
              other_rows: np.ndarray) -> Graph | None:
        """literals (2n,) and rows (k,) of either side as class numbers."""
        n, k = P.shape[1], len(rows)
        (i, j), (r, s) = np.nonzero(P), np.nonzero(Q)
        if len(i) != len(r):
            return None
        kinds = classes(np.abs(P[i, j]), np.abs(Q[r, s]))
        for mine, theirs in ((literals, other_literals), (rows, other_rows), kinds):
            if not np.array_equal(np.sort(mine), np.sort(theirs)):
                return None
        edge_literal = np.concatenate([j + n * (P[i, j] < 0), 2 * n + s + n * (Q[r, s] < 0)])
        return cls(n, k, mix(np.concatenate([literals, other_literals]) + _A), mix(np.concatenate([rows, other_rows]) + _B),
                   edge_literal, np.concatenate([i, k + r]), np.concatenate(kinds))

    def refined(self, colours: _Colours) -> _Colours | None:
        """Stable colours; None as soon as the two sides differ."""
        literals, rows, count = colours.literals, colours.rows, 0
        n = 2 * self.n
        while True:
            rows = blend(rows, self.at_row(mix(literals[self.edge_literal] + self.edge_kind)))
            literals = blend(literals, literals[self.partner], self.at_literal(mix(rows[self.edge_row] ^ self.edge_kind)))
            mine, theirs = np.sort(literals[:n]), np.sort(literals[n:])
            if not np.array_equal(mine, theirs):
                return None
            found = int((mine[1:] != mine[:-1]).sum()) + 1
            if found <= count or found == n:
                break
            count = found
        if not np.array_equal(np.sort(rows[:self.k]), np.sort(rows[self.k:])):
            return None
        return _Colours(literals, rows)

    def search(self, hint: np.ndarray | None = None, tries: int = MOST_TRIES) -> Iterator[Isomorphism]:
        """Relabellings that keep the colours, proposals each; ends after `tries` refinements."""
        if not self.n:
            yield Isomorphism(np.zeros(0, int), np.zeros(0))
            return
        first = self.refined(self.start)
        if first is not None:
            mine = first.literals[:2 * self.n]
            _, inverse, count = np.unique(mine, return_inverse=True, return_counts=True)
            self.told = (count[inverse] == 1)[:self.n]
        stack: list[Iterator[_Colours]] = [] if first is None else [iter([first])]
        while stack:
            colours = next(stack[-1], None)
            if colours is None:
                stack.pop()
                continue
            tied = self._tied(colours)
            if tied is None:
                yield self._read(colours)
                continue
            tries -= 1
            if tries < 0:
                self.cut_short = True
                return
            stack.append(self._branches(colours, tied, hint, len(stack)))

    def _tied(self, colours: _Colours) -> int | None:
        """A literal of a in the smallest class with more than one."""
        mine = colours.literals[:2 * self.n]
        _, first, count = np.unique(mine, return_index=True, return_counts=True)
        several = np.flatnonzero(count > 1)
        if not len(several):
            return None
        return int(first[several[count[several].argmin()]])

    def _branches(self, colours: _Colours, tied: int, hint: np.ndarray | None, depth: int) -> Iterator[_Colours]:
        n = 2 * self.n
        others = np.flatnonzero(colours.literals[n:] == colours.literals[tied]).tolist()
        wanted = -1 if hint is None else int(hint[tied % self.n])
        if wanted >= 0:
            wanted += self.n * (tied >= self.n)
            others.sort(key=lambda k: k != wanted)
        apart = np.uint64((depth * _GOLDEN + 0x1234567) & _MASK)
        for k in others:
            literals = colours.literals.copy()
            literals[[tied, n + k]] = apart
            found = self.refined(_Colours(literals, colours.rows))
            if found is not None:
                yield found

    def _read(self, colours: _Colours) -> Isomorphism:
        n = self.n
        mine, theirs = np.argsort(colours.literals[:2 * n]), np.argsort(colours.literals[2 * n:])
        to = np.empty(2 * n, int)
        to[mine] = theirs
        return Isomorphism(to[:n] % n, np.where(to[:n] < n, 1.0, -1.0))


def literal_classes(f: Form, g: Form, common: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(2n,) for either side: +t by (cost, low, high, whole), -t by (-cost, -high, -low, whole).  common: only by those of
    the four that occur equally often on both sides."""
    def both(of: Callable[[Form], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return classes(of(f), of(g))

    parts = [
        both(lambda h: np.concatenate([h.cost, -h.cost])),
        both(lambda h: np.concatenate([h.low, -h.high])),
        both(lambda h: np.concatenate([h.high, -h.low])),
        both(lambda h: np.tile(h.whole, 2).astype(float)),
    ]
    if common:
        parts = [(x, y) for x, y in parts if np.array_equal(np.sort(x), np.sort(y))]
    if not parts:
        return np.zeros(2 * f.n, np.uint64), np.zeros(2 * g.n, np.uint64)
    return blend(*(x for x, _ in parts)), blend(*(y for _, y in parts))


def fingerprint(problem: Problem) -> str:
    """16 hex digits that isomorphic models share (up to numbers on the edge of a ninth digit).  Equal hashes alone prove
    nothing: colours do not tell all models apart."""
    c = centred(normalise(problem))
    n, k = c.form.n, len(c.rows)

    def digits(values: np.ndarray) -> np.ndarray:
        fraction, exponent = np.frexp(np.nan_to_num(values, posinf=_HUGE, neginf=-_HUGE))
        return ((np.rint(fraction * 2.0**29).astype(np.int64) << 12) + exponent).astype(np.uint64)

    ends = [digits(np.concatenate(v)) for v in ((c.form.cost, -c.form.cost), (c.form.low, -c.form.high), (c.form.high, -c.form.low))]
    i, j = np.nonzero(c.rows.P)
    graph = Graph(n, k, blend(*ends, np.tile(c.form.whole, 2).astype(np.uint64)), mix(digits(c.rows.q)),
                  j + n * (c.rows.P[i, j] < 0), i, digits(np.abs(c.rows.P[i, j])))
    literals, rows = graph.start.literals, graph.start.rows
    for _ in range(6):
        rows = blend(rows, graph.at_row(mix(literals[graph.edge_literal] + graph.edge_kind)))
        literals = blend(literals, literals[graph.partner], graph.at_literal(mix(rows[graph.edge_row] ^ graph.edge_kind)))
    whole = np.concatenate([np.sort(literals), np.sort(rows), digits(np.array([c.form.offset]))])
    return hashlib.sha256(whole.tobytes()).hexdigest()[:16]
