"""Part of the checker: numbers of which every node's least objective is a multiple.  Imports nothing of orpipe.

With integer columns given, the rest is a polyhedron whose matrix, after scaling rows, is totally unimodular (at most two
entries +-1 a column, or a row, and a 2-colouring: Heller and Tompkins 1956), so that its least objective is attained where
every continuous column is a multiple of 1 / K, K the common denominator of the sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orpipe.proof.replay import Replay


def objective_step(r: Replay) -> Fraction | None:
    """A positive number of which the least objective (without offset) of every node of a branching on integer columns is
    a multiple, read off a Replay of the problem's own rows; None if none is evident or the objective is zero."""
    step = _gcd([c for j, c in enumerate(r.cost) if r.integer[j]])
    if not any(c and not r.integer[j] for j, c in enumerate(r.cost)):
        return step
    dens, entries = [1], []
    for i in range(r.m):
        row = r.rows[i]
        loose = [(j, a) for j, a in row if not r.integer[j]]
        if not loose:
            continue
        unit = abs(loose[0][1])
        if any(abs(a) != unit for _, a in loose) or len({j for j, _ in loose}) != len(loose):
            return None
        dens += [Fraction(a, unit).denominator for j, a in row if r.integer[j]]
        dens += [Fraction(s * r.den, unit * r.side_den).denominator for s in (r.low[i], r.high[i]) if s is not None]
        if len(loose) > 1:  # a row with one entry is a bound
            entries += [(i, j, a > 0) for j, a in loose]
    dens += [Fraction(s, r.box_den).denominator for j in range(r.n) if not r.integer[j] for s in (r.lower[j], r.upper[j]) if s is not None]
    if not (_colourable(entries) or _colourable([(j, i, positive) for i, j, positive in entries])):
        return None
    scale = math.lcm(*dens)
    return _gcd([step or Fraction(0), *(c / scale for j, c in enumerate(r.cost) if not r.integer[j])])


def _gcd(values: Sequence[Fraction]) -> Fraction | None:
    den = math.lcm(*(v.denominator for v in values)) if values else 1
    num = math.gcd(*(v.numerator * (den // v.denominator) for v in values))
    return Fraction(num, den) if num else None


def _colourable(entries: Sequence[tuple[int, int, bool]]) -> bool:
    """(line, other, positive): each `other` meets at most two lines, which can be coloured so that two entries of one sign
    have different colours and two of opposite signs the same."""
    meets: dict[int, list[tuple[int, bool]]] = {}
    for line, other, positive in entries:
        meets.setdefault(other, []).append((line, positive))
    edges: dict[int, list[tuple[int, bool]]] = {}
    for found in meets.values():
        if len(found) > 2:
            return False
        if len(found) == 2:
            (a, p), (b, q) = found
            edges.setdefault(a, []).append((b, p == q))
            edges.setdefault(b, []).append((a, p == q))
    colour: dict[int, bool] = {}
    for start in edges:
        if start in colour:
            continue
        colour[start] = False
        todo = [start]
        while todo:
            a = todo.pop()
            for b, differ in edges[a]:
                want = colour[a] != differ
                if b not in colour:
                    colour[b] = want
                    todo.append(b)
                elif colour[b] != want:
                    return False
    return True
