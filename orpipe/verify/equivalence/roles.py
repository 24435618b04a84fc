"""Proposals of maps without names: isomorphism of the parts that agree, and assignment of columns that look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from orpipe.verify.equivalence.canonical import Centred, Graph, Isomorphism, agree, centred, classes, literal_classes
from orpipe.verify.equivalence.forms import Rows, one_sided
from orpipe.verify.equivalence.normalise import Form, tidy
from orpipe.verify.equivalence.pairing import Map, of_isomorphism

_MOST_ATTEMPTS = 14
_MOST_COLUMNS = 250  # of an assignment
_HASHES = 8
_GRID = 4096.0  # finer than the noise that breaks ties
_MOST_SYMMETRIES = 800  # refinements


def part_maps(f: Form, g: Form, needed: np.ndarray) -> Iterator[Map]:
    """Forms with equally many columns, as they are and centred.  needed (n,): columns of f that a trusted map has to tell
    apart by the parts that agree, without choice."""
    if f.n != g.n:
        return
    for a, b in ((_as_it_is(f), _as_it_is(g)), (centred(f), centred(g))):
        yield from _part_maps(a, b, needed)


def thinned_map(f: Form, g: Form, needed: np.ndarray) -> Map | None:
    """Of a wider form g, with its further columns (of costs that f does not know, a penalty say) at 0: f again, under another order.

    needed (n,): columns of f that a trusted map has to tell apart, without choice.  None if it is not f."""
    cost, other_cost = classes(f.cost, g.cost)
    extra = ~np.isin(other_cost, cost)
    if not 0 < extra.sum() == g.n - f.n or (g.low[extra] > 0).any() or (g.high[extra] < 0).any():
        return None
    a, b = centred(f), centred(tidy(g.take_columns(~extra)))
    graph = Graph.of(a, b) if len(a.rows) == len(b.rows) and not b.form.empty else None
    found = None if graph is None else next((s for s in graph.search(tries=60) if agree(a, b, s)), None)
    if graph is None or found is None:
        return None
    return replace(of_isomorphism(found, a, b, "parts"), trusted=bool(graph.told[needed].all()))


def _as_it_is(form: Form) -> Centred:
    return Centred(form, np.zeros(form.n), np.ones(form.n), one_sided(form), form)


def _part_maps(a: Centred, b: Centred, needed: np.ndarray) -> Iterator[Map]:
    """Marks of columns (cost, bounds, integrality) that differ as a whole are not looked at; other kinds of columns whose
    counts differ become one kind; kinds of rows whose counts differ are left out, and where one kind of row has one too
    many, each of its rows is left out in turn."""
    if not len(a.rows) or not len(b.rows):
        return
    literals, other = _blurred(*literal_classes(a.form, b.form, common=True))
    left, right = _row_kinds(a, b, literals, other)
    mine, theirs = Counter(left), Counter(right)
    odd = {kind for kind in mine.keys() | theirs.keys() if mine[kind] != theirs[kind]}
    q = classes(a.rows.q, b.rows.q)

    def attempt(kept: list[int], kept_other: list[int]) -> Map | None:
        if len(kept) != len(kept_other):
            return None
        graph = Graph.build(a.rows.P[kept], b.rows.P[kept_other], literals, other, q[0][kept], q[1][kept_other])
        found = None if graph is None else next(graph.search(tries=60), None)
        if found is None or graph is None:
            return None
        trusted = bool(graph.told[needed].all()) or _up_to_symmetry(graph, found, b)
        return replace(of_isomorphism(found, a, b, "parts"), trusted=trusted)

    same = [i for i, kind in enumerate(left) if kind not in odd]
    same_other = [i for i, kind in enumerate(right) if kind not in odd]
    single = [kind for kind in odd if abs(mine[kind] - theirs[kind]) == 1 and max(mine[kind], theirs[kind]) > 1]
    if len(single) == 1:
        all_mine = [i for i, kind in enumerate(left) if kind == single[0]]
        all_theirs = [i for i, kind in enumerate(right) if kind == single[0]]
        longer = all_mine if len(all_mine) > len(all_theirs) else all_theirs
        for dropped in longer[:_MOST_ATTEMPTS]:
            found = attempt(sorted(same + [i for i in all_mine if longer is not all_mine or i != dropped]),
                            sorted(same_other + [i for i in all_theirs if longer is not all_theirs or i != dropped]))
            if found is not None:
                yield found
                return
    found = attempt(same, same_other)
    if found is not None:
        yield found


def _up_to_symmetry(graph: Graph, first: Isomorphism, b: Centred) -> bool:
    """Is every relabelling of the parts the first one followed by a symmetry of all of b (its bins, say, in another order)?  What one of
    them refutes, all do."""
    n = b.form.n
    for other in graph.search(tries=_MOST_SYMMETRIES):
        to, sign = np.empty(n, int), np.empty(n)
        to[first.to], sign[first.to] = other.to, first.sign * other.sign
        if not agree(b, b, Isomorphism(to, sign)):
            return False
    return not graph.cut_short


def _blurred(literals: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mine, theirs = Counter(literals.tolist()), Counter(other.tolist())
    odd = np.array([kind for kind in mine.keys() | theirs.keys() if mine[kind] != theirs[kind]], np.uint64)
    return tuple(np.where(np.isin(v, odd), np.uint64(1), v) for v in (literals, other))  # type: ignore[return-value]


def _row_kinds(a: Centred, b: Centred, literals: np.ndarray, other: np.ndarray) -> tuple[list[int], list[int]]:
    (i, j), (r, s) = np.nonzero(a.rows.P), np.nonzero(b.rows.P)
    sizes = classes(np.abs(a.rows.P[i, j]), np.abs(b.rows.P[r, s]))
    sides = classes(a.rows.q, b.rows.q)

    def kinds(rows: Rows, at: np.ndarray, column: np.ndarray, size: np.ndarray, literal: np.ndarray, side: np.ndarray) -> list[int]:
        entries: list[list[tuple[int, int]]] = [[] for _ in range(len(rows))]
        place = np.where(rows.P[at, column] > 0, column, column + rows.P.shape[1])
        for row, entry in zip(at.tolist(), zip(size.tolist(), literal[place].tolist(), strict=True), strict=True):
            entries[row].append(entry)
        return [hash((int(v), tuple(sorted(e)))) for v, e in zip(side, entries, strict=True)]

    return kinds(a.rows, i, j, sizes[0], literals, sides[0]), kinds(b.rows, r, s, sizes[1], other, sides[1])


def assignment_map(a: Centred, b: Centred, seed: int, rounds: int = 6) -> Map | None:
    """Columns and rows matched in turn, each by how well their entries agree under the other's matching so far."""
    n, m = a.form.n, b.form.n
    if not len(a.rows) or not len(b.rows) or max(n, m) > _MOST_COLUMNS or max(len(a.rows), len(b.rows)) > 2 * _MOST_COLUMNS:
        return None
    rng = np.random.default_rng(seed)
    P, Q = a.rows.P, b.rows.P
    (i, j), (r, s) = np.nonzero(P), np.nonzero(Q)
    kinds, other_kinds = (k.astype(int) for k in classes(P[i, j], Q[r, s]))
    cost, other_cost = classes(a.form.cost, b.form.cost)
    with np.errstate(invalid="ignore"):
        width, other_width = classes(a.form.high - a.form.low, b.form.high - b.form.low)
    base = 3.0 * (cost[:, None] == other_cost) + 1.5 * (a.form.whole[:, None] == b.form.whole) + 0.5 * (width[:, None] == other_width)
    base = base + 4.0 * _alike(P, Q, i, j, r, s, kinds, other_kinds, a.rows, b.rows)
    marks = rng.choice([-1.0, 1.0], size=(_HASHES, max(kinds.max(), other_kinds.max()) + 1))
    S, T = np.zeros((_HASHES, *P.shape)), np.zeros((_HASHES, *Q.shape))
    S[:, i, j], T[:, r, s] = marks[:, kinds], marks[:, other_kinds]
    q, other_q = classes(a.rows.q, b.rows.q)
    length, other_length = (P != 0).sum(1), (Q != 0).sum(1)
    sides = 0.5 * (q[:, None] == other_q)
    best, chosen = -1.0, None
    value = base + 1e-3 * rng.random(base.shape)
    for _ in range(rounds):
        left, right = _matched(value)
        rows = 2 * np.einsum("hrk,hsk->rs", S[:, :, left], T[:, :, right]) / _HASHES
        rows = rows / np.maximum(1, length[:, None] + other_length) + sides
        up, down = _matched(rows)
        good = rows[up, down]
        total = float(np.minimum(good, 1.5).sum())
        if total <= best + 1e-9:
            break
        best, chosen = total, list(zip(left.tolist(), right.tolist(), strict=True))
        weight = np.maximum(0.05, good) ** 2
        value = np.einsum("hki,hkj->ij", S[:, up] * weight[None, :, None], T[:, down]) / _HASHES
        value = base + 2.0 * value + 1e-3 * rng.random(base.shape)
    if chosen is None:
        return None
    return Map.plain([(int(a.form.columns[u]), int(b.form.columns[v])) for u, v in chosen], "assignment")


def _alike(P: np.ndarray, Q: np.ndarray, i: np.ndarray, j: np.ndarray, r: np.ndarray, s: np.ndarray, kinds: np.ndarray,
           other_kinds: np.ndarray, rows: Rows, others: Rows) -> np.ndarray:
    """Cosines between columns by the kinds of their entries and the rows these stand in."""
    place: dict[tuple[float, ...], int] = {}

    def counts(M: np.ndarray, at: np.ndarray, column: np.ndarray, kind: np.ndarray, of: Rows) -> list[tuple[int, int]]:
        size = (M != 0).sum(1)
        out = []
        for row, k, c in zip(at.tolist(), kind.tolist(), column.tolist(), strict=True):
            for mark in ((float(k),), (float(k), round(float(of.q[row]), 6), float(size[row]))):
                out.append((c, place.setdefault(mark, len(place))))
        return out

    def table(entries: list[tuple[int, int]], size: int) -> np.ndarray:
        X = np.zeros((size, max(len(place), 1)))
        for c, k in entries:
            X[c, k] += 1
        return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)

    mine, theirs = counts(P, i, j, kinds, rows), counts(Q, r, s, other_kinds, others)
    return table(mine, P.shape[1]) @ table(theirs, Q.shape[1]).T


def _matched(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the heaviest full matching, on a grid of whole numbers: the solver's prices move by the least difference of two
    sums, which in fractions may be their last bit, and then it goes on for hours."""
    weight = np.round((value - value.min()) * _GRID) + 1.0  # zeros would count as missing
    left, right = min_weight_full_bipartite_matching(sp.csr_array(weight), maximize=True)
    return np.asarray(left), np.asarray(right)
