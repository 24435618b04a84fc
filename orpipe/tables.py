"""Data as arrays, and expressions evaluated on tables of index positions.

An index environment (`Env`) is a table with one column of positions for each bound index; a sum or `forall` widens it.
An expression evaluates to `Linear`: blocks of coefficients and a constant, an entry for each row of the table.
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
    """at: index letter -> positions, each (rows,).  parent: for each row, the row of the table this one widens.
    whole: all tuples of the sets, in order."""

    at: dict[str, np.ndarray]
    rows: int
    sets: dict[str, str]
    parent: np.ndarray
    whole: bool = False


@dataclass(slots=True)
class Block:
    """Coefficients of one place of a variable: entry k adds coef[k] in row[k], column col[k]."""

    row: np.ndarray | None  # None: one entry for each row of the table, in order
    col: np.ndarray
    coef: Exact | None  # (entries,) or scalar; None is one


@dataclass(slots=True)
class Linear:
    blocks: list[Block]
    const: Exact | None  # (rows,) or scalar; None is zero


ROOT = Env({}, 1, {}, np.zeros(1, np.int64))
ZERO, ONE, MINUS = Exact.scalar(0), Exact.scalar(1), Exact.scalar(-1)


class Tables:
    """Evaluates expressions of one model on one data set.  `place_name` tells errors where they are."""

    def __init__(self, model: n.Model, arrays: Arrays):
        self.model, self.arrays = model, arrays
        self.place_name = ""
        self._grids: dict[tuple[str, ...], list[np.ndarray]] = {}

    def fail(self, message: str) -> ModelError:
        return ModelError(f"model '{self.model.name}', {self.place_name}: {message}")

    # -- tables of index positions
    def widen(self, env: Env, indices: tuple[n.Index, ...], where: n.Cond | None) -> Env:
        """The table of all combinations of a row of `env` with a tuple of `indices` that satisfy `where`."""
        parts = list(n.conditions(where))
        start = next((p for p in parts if isinstance(p, n.Member) and _binds(p, indices)), None)
        if start is not None:
            parts.remove(start)
            table = self.arrays.tuples[start.set]
            count = len(table)
            fresh = {r.index: table[:, k] for k, r in enumerate(start.refs)}
        else:
            grid = self._grid(tuple(k.set for k in indices))
            count = len(grid[0])
            fresh = {k.name: column for k, column in zip(indices, grid, strict=True)}
        sets = env.sets | {k.name: k.set for k in indices}
        if env is ROOT:
            wide = Env(fresh, count, sets, np.zeros(count, np.int64), start is None)
        else:
            parent = np.repeat(np.arange(env.rows), count)
            at = {k: v[parent] for k, v in env.at.items()} | {k: np.tile(v, env.rows) for k, v in fresh.items()}
            wide = Env(at, env.rows * count, sets, parent)
        for part in parts if wide.rows else ():
            keep = self.holds(part, wide)
            if not keep.all():
                at = {k: v[keep] for k, v in wide.at.items()}
                wide = Env(at, int(keep.sum()), sets, wide.parent[keep])
        return wide

    def _grid(self, sets: tuple[str, ...]) -> list[np.ndarray]:
        if sets not in self._grids:
            sizes = [self.arrays.size(s) for s in sets]
            self._grids[sets] = [g.ravel() for g in np.indices(sizes)]
        return self._grids[sets]

    def place(self, ref: n.Ref, env: Env, strict: bool = True) -> np.ndarray:
        """Positions of t-1; cyclic sets wrap.  Strict: leaving the set raises ModelError."""
        at = env.at[ref.index]
        if not ref.shift:
            return at
        decl = self.model.set_by[env.sets[ref.index]]
        size = self.arrays.size(decl.symbol)
        moved = at + ref.shift
        if decl.cyclic:
            return moved % size
        if strict and moved.size and (moved.min() < 0 or moved.max() >= size):
            raise self.fail(f"{ref.index}{ref.shift:+d} leaves the set {decl.symbol}; add a condition such as "
                            f"{ref.index} {'> first' if ref.shift < 0 else '< last'}")
        return moved

    def holds(self, cond: n.Cond, env: Env) -> np.ndarray:
        match cond:
            case n.Compare(left=a, op=op, right=b):
                return _compare(op, self.place(a, env, False), self.place(b, env, False))
            case n.Edge(ref=ref, op=op, end=end):
                edge = 0 if end == "first" else self.arrays.size(env.sets[ref.index]) - 1
                return _compare(op, self.place(ref, env, False), np.int64(edge))
            case n.Member(refs=refs, set=symbol, negated=negated):
                mask = self.arrays.inside[symbol]
                at = [self.place(r, env, False) for r in refs]
                known = np.logical_and.reduce([(p >= 0) & (p < size) for p, size in zip(at, mask.shape, strict=True)])
                result = np.zeros(env.rows, bool)
                result[known] = mask[tuple(p[known] for p in at)]
                return ~result if negated else result
            case n.DataCompare(left=left, op=op, right=right):
                gap = self.value(left, env) - self.value(right, env)
                return np.broadcast_to(_compare(op, gap.num, 0), (env.rows,)).astype(bool)
            case n.And(parts=parts):
                return np.logical_and.reduce([self.holds(p, env) for p in parts])
        raise AssertionError(cond)

    # -- expressions
    def value(self, e: n.Expr, env: Env) -> Exact:
        """An expression of data only: (rows,) or scalar."""
        found = self.linear(e, env)
        if found.blocks:
            raise self.fail("a variable stands where data are due")
        return found.const or ZERO

    def linear(self, e: n.Expr, env: Env) -> Linear:
        match e:
            case n.VarRef(var=v, refs=refs):
                return Linear([Block(None, self.columns_at(v, refs, env), None)], None)
            case n.ParamRef(param=p, refs=refs):
                return Linear([], self.param(p, refs, env))
            case n.Num(value=v):
                return Linear([], Exact.scalar(v))
            case n.Card(set=s):
                return Linear([], Exact.scalar(self.arrays.size(s)))
            case n.Add(terms=terms):
                parts = [self.linear(t, env) for t in terms]
                consts = [p.const for p in parts if p.const is not None]
                total = consts[0] if consts else None
                for c in consts[1:]:
                    total = total + c  # type: ignore[operator]
                return Linear([b for p in parts for b in p.blocks], total)
            case n.Neg(arg=a):
                return _scaled(self.linear(a, env), MINUS)
            case n.Mul(left=a, right=b):
                left, right = self.linear(a, env), self.linear(b, env)
                if left.blocks and right.blocks:
                    raise self.fail("multiplies variables")
                return _scaled(right, left.const) if right.blocks else _scaled(left, right.const)
            case n.Div(left=a, right=b):
                try:
                    return _scaled(self.linear(a, env), self.value(b, env).reciprocal())
                except ZeroDivisionError:
                    raise DataError(f"model '{self.model.name}', {self.place_name}: the data divide by zero") from None
            case n.Sum(indices=indices, where=where, body=body):
                wide = self.widen(env, indices, where)
                if not wide.rows:  # nothing is asked of the body, not even that it divides by no zero
                    return Linear([], None)
                inner = self.linear(body, wide)
                for block in inner.blocks:
                    block.row = wide.parent if block.row is None else wide.parent[block.row]
                const = None if inner.const is None else fold(inner.const, wide.parent, env.rows)
                return Linear(inner.blocks, const)
        raise AssertionError(e)

    def param(self, symbol: str, refs: tuple[n.Ref, ...], env: Env) -> Exact:
        data = self.arrays.params[symbol]
        if not refs:
            return data
        at = tuple(self.place(r, env) for r in refs)
        domain = self.model.param_by[symbol].domain
        if domain is not None and not self.arrays.inside[domain][at].all():
            raise self.fail(f"'{symbol}' is used outside its domain {domain}; add a condition such as "
                            f"({','.join(r.index for r in refs)}) in {domain}")
        return data[at]

    def columns_at(self, var: str, refs: tuple[n.Ref, ...], env: Env) -> np.ndarray:
        """Column numbers of a variable, (rows,)."""
        raise self.fail("a variable stands where data are due")


def _scaled(inner: Linear, by: Exact | None) -> Linear:
    if by is None:
        by = ZERO
    for b in inner.blocks:
        factor = by if by.num.ndim == 0 or b.row is None else by[b.row]
        b.coef = factor if b.coef is None else b.coef * factor
    return Linear(inner.blocks, None if inner.const is None else inner.const * by)


def _binds(cond: n.Member, indices: tuple[n.Index, ...]) -> bool:
    """Is this (i, j) in A for exactly the fresh indices, in some order?"""
    exactly = len(cond.refs) == len(indices) and {r.index for r in cond.refs} == {k.name for k in indices}
    return exactly and not cond.negated and not any(r.shift for r in cond.refs)


def _compare(op: str, a: Any, b: Any) -> np.ndarray:
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


def fold(value: Exact, target: np.ndarray, size: int) -> Exact:
    """Entries added up by target: (size,).  A scalar stands for every entry."""
    num = np.broadcast_to(value.num, target.shape)
    if num.dtype != object and value.peak() * max(len(target), 1) >= 2**62:
        num = num.astype(object)
    out = np.zeros(size, dtype=num.dtype)
    np.add.at(out, target, num)
    return Exact(out, value.den)
