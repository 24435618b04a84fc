"""Data as arrays, and data expressions evaluated on tables of index positions.

An index environment (`Env`) is a table with one column of positions for each bound index; a sum or a `forall` widens it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orpipe.algebra import nodes as n
from orpipe.errors import DataError, ModelError
from orpipe.exact import Exact


@dataclass(slots=True)
class Arrays:
    """Validated data: labels and positions by set, exact dense arrays by parameter."""

    labels: dict[str, list] = field(default_factory=dict)
    tuples: dict[str, np.ndarray] = field(default_factory=dict)  # (k, d) positions
    inside: dict[str, np.ndarray] = field(default_factory=dict)  # boolean mask over the product
    params: dict[str, Exact] = field(default_factory=dict)

    def size(self, symbol: str) -> int:
        return len(self.labels[symbol]) if symbol in self.labels else len(self.tuples[symbol])


@dataclass(slots=True)
class Env:
    at: dict[str, np.ndarray]  # index letter -> positions, each (rows,)
    rows: int
    sets: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Wide:
    env: Env
    parent: np.ndarray  # row of the narrower table


class Tables:
    def __init__(self, model: n.Model, arrays: Arrays):
        self.model, self.arrays = model, arrays
        self.row_name = ""

    # tables of index positions
    def widen(self, env: Env, indices: tuple[n.Index, ...], where: n.Cond | None, what: str) -> Wide:
        parts = list(n.conditions(where))
        fresh = {k.name for k in indices}
        names = tuple(k.name for k in indices)
        start = None
        for part in parts:
            if isinstance(part, n.Member) and not part.negated and part.set in self.arrays.tuples and \
                    {r.index for r in part.refs} == fresh and len(part.refs) == len(names) and not any(r.shift for r in part.refs):
                start = part
                break
        if start is not None:
            parts.remove(start)
            table = self.arrays.tuples[start.set]
            count = len(table)
            columns = {r.index: table[:, k] for k, r in enumerate(start.refs)}
        else:
            sizes = [self.arrays.size(k.set) for k in indices]
            count = int(np.prod(sizes, dtype=np.int64))
            grids = np.unravel_index(np.arange(count), sizes) if sizes else ()
            columns = dict(zip(names, grids, strict=True))
        parent = np.repeat(np.arange(env.rows), count)
        at = {k: np.repeat(v, count) for k, v in env.at.items()}
        for name in names:
            at[name] = np.tile(columns[name], env.rows)
        wide = Env(at, env.rows * count, env.sets | {k.name: k.set for k in indices})
        for part in parts:
            keep = self.holds(part, wide)
            if not keep.all():
                wide = Env({k: v[keep] for k, v in wide.at.items()}, int(keep.sum()), wide.sets)
                parent = parent[keep]
        return Wide(wide, parent)

    def place(self, ref: n.Ref, env: Env, strict: bool = True) -> np.ndarray:
        pos = env.at[ref.index]
        if not ref.shift:
            return pos
        decl = self.model.set_by[env.sets[ref.index]]
        size = self.arrays.size(decl.symbol)
        moved = pos + ref.shift
        if decl.cyclic:
            return moved % size
        if strict and moved.size and (moved.min() < 0 or moved.max() >= size):
            raise ModelError(
                f"model '{self.model.name}', {self.row_name}: {ref.index}{ref.shift:+d} leaves the set {decl.symbol}; add a condition "
                f"such as {ref.index} {'> first' if ref.shift < 0 else '< last'}")
        return moved

    def holds(self, cond: n.Cond, env: Env) -> np.ndarray:
        match cond:
            case n.Compare(left=a, op=op, right=b):
                return compare(op, self.place(a, env, False), self.place(b, env, False))
            case n.Edge(ref=ref, op=op, end=end):
                edge = 0 if end == "first" else self.arrays.size(env.sets[ref.index]) - 1
                return compare(op, self.place(ref, env, False), np.int64(edge))
            case n.Member(refs=refs, set=symbol, negated=negated):
                mask = self.arrays.inside[symbol]
                at = [self.place(r, env, False) for r in refs]
                ok = np.ones(env.rows, bool)
                for a, size in zip(at, mask.shape, strict=True):
                    ok &= (a >= 0) & (a < size)
                result = np.zeros(env.rows, bool)
                result[ok] = mask[tuple(a[ok] for a in at)]
                return ~result if negated else result
            case n.DataCompare(left=a, op=op, right=b):
                gap = self.value(a, env) - self.value(b, env)
                return np.broadcast_to(compare(op, gap.num, 0), (env.rows,)).astype(bool)
            case n.And(parts=parts):
                return np.logical_and.reduce([self.holds(p, env) for p in parts])
        raise AssertionError(cond)

    # data expressions: Exact of shape (rows,) or ()
    def value(self, e: n.Expr, env: Env) -> Exact:
        match e:
            case n.Num(value=v):
                return Exact.scalar(v)
            case n.Card(set=s):
                return Exact.scalar(self.arrays.size(s))
            case n.ParamRef(param=p, refs=refs):
                data = self.arrays.params[p]
                return data[tuple(self.place(r, env) for r in refs)] if refs else data
            case n.Add(terms=terms):
                total = self.value(terms[0], env)
                for t in terms[1:]:
                    total = total + self.value(t, env)
                return total
            case n.Neg(arg=a):
                return -self.value(a, env)
            case n.Mul(left=a, right=b):
                return self.value(a, env) * self.value(b, env)
            case n.Div(left=a, right=b):
                try:
                    return self.value(a, env) * self.value(b, env).reciprocal()
                except ZeroDivisionError:
                    raise DataError(f"model '{self.model.name}', {self.row_name}: the data divide by zero") from None
            case n.Sum(indices=indices, where=where, body=body):
                wide = self.widen(env, indices, where, "sum")
                inner = self.value(body, wide.env)
                return fold(inner, wide.parent, wide.env.rows, env.rows)
        raise ModelError(f"model '{self.model.name}', {self.row_name}: a variable stands where data are due")


def compare(op: str, a: Any, b: Any) -> np.ndarray:
    match op:
        case "=":
            return np.asarray(a == b)
        case "!=":
            return np.asarray(a != b)
        case "<":
            return np.asarray(a < b)
        case "<=":
            return np.asarray(a <= b)
        case ">":
            return np.asarray(a > b)
    return np.asarray(a >= b)


def fold(value: Exact, parent: np.ndarray, wide: int, rows: int) -> Exact:
    """Sum the entries of a widened table back onto its rows."""
    num = np.broadcast_to(value.num, (wide,))
    if num.dtype != object and num.size and int(np.abs(num).max()) * max(wide, 1) >= 2**62:
        num = num.astype(object)
    out = np.zeros(rows, dtype=num.dtype)
    np.add.at(out, parent, num)
    return Exact(out, value.den)
