"""Model + data -> Problem.  Vectorised: a sum widens a table of index positions (orpipe.tables), never loops over it.

The format of data is told in orpipe.data.  All arithmetic on data is exact (orpipe.exact).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.algebra import nodes as n
from orpipe.algebra.idioms import lower
from orpipe.data import Data, data_hash, validate
from orpipe.errors import DataError, ModelError
from orpipe.exact import Exact, concatenate
from orpipe.problem import Problem
from orpipe.tables import Arrays, Env, Tables, fold

__all__ = ["Arrays", "Data", "data_hash", "ground", "structure_hash", "validate"]
_INF = float("inf")


def ground(model: n.Model, data: Data, reformulations: Mapping[str, str] | None = None) -> Problem:
    """The Problem of a model on one data set.

    Raises DataError (one line: which parameter, which label, what is wrong) for data that do not fit the model.
    Columns are named "ship[North,Alder]", rows "demand[Alder]"."""
    linear = lower(model, reformulations) if model.idioms or reformulations else model
    return _Grounder(linear, validate(linear, data)).problem()


def structure_hash(model: n.Model, reformulations: Mapping[str, str] | None = None) -> str:
    """16 hex digits of the symbolic linear model without its words, name and code identifiers."""
    linear = lower(model, reformulations)
    bare = (
        [(s.symbol, s.ordered, s.cyclic, s.over, s.where) for s in linear.sets],
        [(p.symbol, p.indices, p.domain, p.sign, p.integer) for p in linear.params],
        [(v.symbol, v.indices, v.domain, v.kind, v.lower, v.upper, v.auxiliary) for v in linear.variables],
        (linear.objective.sense, [(t.name, t.expr) for t in linear.objective.terms]),
        [(r.name, r.forall, r.where, r.left, r.relation, r.right) for r in linear.rows],
    )
    return hashlib.sha256(repr(bare).encode()).hexdigest()[:16]


@dataclass(slots=True)
class _Block:
    row: np.ndarray | None  # None: one entry for each row of the table, in order
    col: np.ndarray
    coef: Exact  # same length, or a scalar


@dataclass(slots=True)
class _Linear:
    blocks: list[_Block]
    const: Exact | None  # (rows,) or scalar; None is zero


class _Grounder(Tables):
    # linear expressions
    def linear(self, e: n.Expr, env: Env) -> _Linear:
        match e:
            case n.VarRef(var=v, refs=refs):
                return _Linear([_Block(None, self.columns_at(v, refs, env), Exact.scalar(1))], None)
            case n.Add(terms=terms):
                parts = [self.linear(t, env) for t in terms]
                const: Exact | None = None
                for p in parts:
                    const = p.const if const is None else const if p.const is None else const + p.const
                return _Linear([b for p in parts for b in p.blocks], const)
            case n.Neg(arg=a):
                inner = self.linear(a, env)
                return _Linear([_Block(b.row, b.col, -b.coef) for b in inner.blocks], None if inner.const is None else -inner.const)
            case n.Mul(left=a, right=b) if n.has_variables(a) or n.has_variables(b):
                data, rest = (a, b) if not n.has_variables(a) else (b, a)
                return self.scaled(self.linear(rest, env), self.value(data, env))
            case n.Div(left=a, right=b) if n.has_variables(a):
                return self.scaled(self.linear(a, env), self.value(n.Div(n.ONE, b), env))
            case n.Sum(indices=indices, where=where, body=body) if n.has_variables(body):
                wide = self.widen(env, indices, where, "sum")
                inner = self.linear(body, wide.env)
                blocks = [_Block(wide.parent if b.row is None else wide.parent[b.row], b.col, b.coef) for b in inner.blocks]
                const = None if inner.const is None else fold(inner.const, wide.parent, wide.env.rows, env.rows)
                return _Linear(blocks, const)
        return _Linear([], self.value(e, env))

    def scaled(self, inner: _Linear, by: Exact) -> _Linear:
        blocks = [_Block(b.row, b.col, b.coef * (by if by.num.ndim == 0 or b.row is None else by[b.row])) for b in inner.blocks]
        return _Linear(blocks, None if inner.const is None else inner.const * by)

    def columns_at(self, var: str, refs: tuple[n.Ref, ...], env: Env) -> np.ndarray:
        start, lookup = self.columns[var]
        if not refs:
            return np.full(env.rows, start)
        cols = lookup[tuple(self.place(r, env) for r in refs)]
        if cols.size and cols.min() < 0:
            raise ModelError(f"model '{self.model.name}', {self.row_name}: '{var}' is used outside its domain {self.model.var_by[var].domain}")
        return cols + start

    def label_columns(self, indices: tuple[n.Index, ...], env: Env) -> list[str]:
        texts = [[str(x) for x in self.arrays.labels[k.set]] for k in indices]
        columns = [[t[p] for p in env.at[k.name].tolist()] for t, k in zip(texts, indices, strict=True)]
        return [",".join(parts) for parts in zip(*columns, strict=True)]

    def problem(self) -> Problem:
        model, arrays = self.model, self.arrays
        names: list[str] = []
        self.columns: dict[str, tuple[int, np.ndarray]] = {}
        lows: list[Exact] = []
        highs: list[Exact] = []
        low_inf: list[np.ndarray] = []
        high_inf: list[np.ndarray] = []
        integer: list[np.ndarray] = []
        decision: list[np.ndarray] = []
        for v in model.variables:
            self.row_name = f"variable {v.symbol}"
            member = None if v.domain is None else n.Member(tuple(n.Ref(k.name) for k in v.indices), v.domain)
            env = self.widen(Env({}, 1), v.indices, member, "variable").env
            lookup = np.full([arrays.size(k.set) for k in v.indices], -1, dtype=np.int64)
            if v.indices:
                lookup[tuple(env.at[k.name] for k in v.indices)] = np.arange(env.rows)
            self.columns[v.symbol] = (len(names), lookup)
            names += [f"{v.name}[{text}]" for text in self.label_columns(v.indices, env)] if v.indices else [v.name]
            zeros = np.zeros(env.rows, np.int64)
            for bound, store, infinite in ((v.lower, lows, low_inf), (v.upper, highs, high_inf)):
                value = Exact.scalar(0) if bound is None else self.value(bound, env)
                store.append(Exact(value.num + zeros, value.den))
                infinite.append(np.full(env.rows, bound is None))
            integer.append(np.full(env.rows, v.kind != "continuous"))
            decision.append(np.full(env.rows, not v.auxiliary))
        self.row_name = "objective"
        once = Env({}, 1)
        terms = [self.linear(t.expr, once) for t in model.objective.terms]
        size = len(names)
        cost = _scatter([b for t in terms for b in t.blocks], size)
        constants = [Fraction(int(t.const.num.reshape(-1)[0]), t.const.den) for t in terms if t.const is not None]

        row_names: list[str] = []
        rows: list[np.ndarray] = []
        cols: list[np.ndarray] = []
        coefs: list[Exact] = []
        sides: list[Exact] = []
        relations: list[tuple[str, int]] = []
        for r in model.rows:
            self.row_name = f"row {r.name}"
            env = self.widen(Env({}, 1), r.forall, r.where, "row").env
            if env.rows == 0:
                continue
            left, right = self.linear(r.left, env), self.linear(r.right, env)
            touched = np.zeros(env.rows, bool)
            for block in (*left.blocks, *(_Block(b.row, b.col, -b.coef) for b in right.blocks)):
                local = np.arange(env.rows) if block.row is None else block.row
                touched[local] = True
                rows.append(local + len(row_names))
                cols.append(block.col)
                coefs.append(Exact(np.broadcast_to(block.coef.num, local.shape), block.coef.den))
            labels = self.label_columns(r.forall, env) if r.forall else [""]
            if not touched.all():
                label = labels[int(np.flatnonzero(~touched)[0])]
                raise DataError(f"model '{model.name}', {self.row_name}[{label}]: no variable stands in it with these data")
            side = (right.const or Exact.scalar(0)) - (left.const or Exact.scalar(0))
            sides.append(Exact(side.num + np.zeros(env.rows, np.int64), side.den))
            relations.append((r.relation, env.rows))
            row_names += [f"{r.name}[{text}]" for text in labels] if r.forall else [r.name]

        m = len(row_names)
        matrix, exact = _csr(rows, cols, coefs, m, size)
        rhs = concatenate(sides).reduced() if sides else Exact(np.zeros(0, np.int64))
        has_low = np.concatenate([np.full(k, rel != "<=") for rel, k in relations]) if relations else np.zeros(0, bool)
        has_high = np.concatenate([np.full(k, rel != ">=") for rel, k in relations]) if relations else np.zeros(0, bool)
        value = rhs.float()
        lo, hi = concatenate(lows).reduced(), concatenate(highs).reduced()
        return Problem(
            name=model.name, maximize=model.objective.sense == "maximize", columns=tuple(names), rows=tuple(row_names),
            cost_exact=cost, offset=sum(constants, start=Fraction(0)), matrix=matrix, matrix_exact=exact,
            row_lower_exact=rhs, row_upper_exact=rhs, lower_exact=lo, upper_exact=hi,
            row_lower=np.where(has_low, value, -_INF), row_upper=np.where(has_high, value, _INF),
            lower=np.where(np.concatenate(low_inf), -_INF, lo.float()), upper=np.where(np.concatenate(high_inf), _INF, hi.float()),
            integer=np.concatenate(integer), decision=np.concatenate(decision),
        )


def _scatter(blocks: list[_Block], size: int) -> Exact:
    """Objective coefficients (size,) from blocks."""
    if not blocks:
        return Exact(np.zeros(size, np.int64))
    coef = concatenate([Exact(np.broadcast_to(b.coef.num, b.col.shape), b.coef.den) for b in blocks])
    return fold(coef, np.concatenate([b.col for b in blocks]), len(coef.num), size).reduced()


def _csr(rows: list, cols: list, coefs: list[Exact], m: int, size: int) -> tuple[sp.csr_array, Exact]:
    """CSR with sorted indices, duplicates added exactly, zeros dropped; and the exact coefficients aligned with its data."""
    if not rows:
        return sp.csr_array((m, size)), Exact(np.zeros(0, np.int64))
    row, col, coef = np.concatenate(rows), np.concatenate(cols), concatenate(coefs).reduced()
    key = row * size + col
    order = np.argsort(key, kind="stable")
    key, num = key[order], coef.num[order]
    heads = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    repeats = len(key) - len(heads) + 1
    if num.dtype != object and int(np.abs(num).max()) * repeats >= 2**62:
        num = num.astype(object)
    num, key = np.add.reduceat(num, heads), key[heads]
    keep = (num != 0).astype(bool)
    num, key = num[keep], key[keep]
    exact = Exact(num, coef.den)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(key // size, minlength=m))])
    matrix = sp.csr_array((exact.float(), (key % size).astype(np.int32), indptr.astype(np.int32)), shape=(m, size))
    return matrix, exact
