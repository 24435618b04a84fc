"""Model + data -> Problem.  Vectorised: a sum widens a table of index positions (orpipe.tables), it never loops.

The format of data is told in orpipe.data.  All arithmetic on data is exact (orpipe.exact).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.algebra import nodes as n
from orpipe.algebra.idioms import lower
from orpipe.data import Data, data_hash, validate
from orpipe.errors import DataError
from orpipe.exact import Exact, concatenate
from orpipe.problem import Problem
from orpipe.tables import ROOT, ZERO, Arrays, Block, Env, Linear, Tables, fold

__all__ = ["Arrays", "Data", "data_hash", "ground", "ground_arrays", "structure_hash", "validate"]


def ground(model: n.Model, data: Data, reformulations: Mapping[str, str] | None = None) -> Problem:
    """The Problem of a model on one data set.

    Raises DataError (one line: which parameter, which label, what is wrong) for data that do not fit the model, and
    ModelError where a subscript leaves its set or domain.  Columns are named "ship[North,Alder]", rows "demand[Alder]".
    """
    linear = lower(model, reformulations) if model.idioms or reformulations else model
    return ground_arrays(linear, validate(linear, data))


def ground_arrays(linear: n.Model, arrays: Arrays) -> Problem:
    """As `ground`, from data that were validated for a linear model of the same sets and parameters."""
    try:
        problem = _Grounder(linear, arrays).problem()
        _ = problem.cost  # made here, so that it is known to be finite
        return problem
    except OverflowError:
        raise DataError(f"model '{linear.name}': the data give a number beyond the range of floats; check their units") from None


def structure_hash(model: n.Model, reformulations: Mapping[str, str] | None = None) -> str:
    """16 hex digits of the symbolic linear model without its words, name and code identifiers."""
    linear = lower(model, reformulations)
    bare = (
        # the letters of a set of tuples from data mean nothing
        [(s.symbol, s.ordered, s.cyclic, s.over if s.derived else [k.set for k in s.over], s.where)
         for s in linear.sets],
        [(p.symbol, p.indices, p.domain, p.sign, p.integer) for p in linear.params],
        [(v.symbol, v.indices, v.domain, v.kind, v.lower, v.upper, v.auxiliary) for v in linear.variables],
        (linear.objective.sense, [(t.name, t.expr) for t in linear.objective.terms]),
        [(r.name, r.forall, r.where, r.left, r.relation, r.right) for r in linear.rows],
    )
    return hashlib.sha256(repr(bare).encode()).hexdigest()[:16]


class _Grounder(Tables):
    def __init__(self, model: n.Model, arrays: Arrays):
        super().__init__(model, arrays)
        self.columns: dict[str, tuple[int, np.ndarray]] = {}  # variable -> first column, offset by position (-1: none)

    def columns_at(self, var: str, refs: tuple[n.Ref, ...], env: Env) -> np.ndarray:
        start, offset = self.columns[var]
        if not refs:
            return np.full(env.rows, start)
        found = offset[tuple(self.place(r, env) for r in refs)]
        domain = self.model.var_by[var].domain
        if domain is not None and found.size and found.min() < 0:
            raise self.fail(f"'{var}' is used outside its domain {domain}; add a condition such as "
                            f"({','.join(r.index for r in refs)}) in {domain}")
        return found + start

    def names(self, head: str, indices: tuple[n.Index, ...], env: Env) -> list[str]:
        """head[North,Alder] for each row of the table."""
        texts = [[str(x) for x in self.arrays.labels[k.set]] for k in indices]
        if env.whole:
            return [f"{head}[{','.join(parts)}]" for parts in itertools.product(*texts)]
        columns = [[t[p] for p in env.at[k.name].tolist()] for t, k in zip(texts, indices, strict=True)]
        return [f"{head}[{','.join(parts)}]" for parts in zip(*columns, strict=True)] if indices else [head]

    def problem(self) -> Problem:
        model = self.model
        columns: list[str] = []
        bounds: list[tuple[Exact, Exact]] = []
        counts: list[int] = []
        for v in model.variables:
            env = self.declare(v, columns)
            counts.append(env.rows)
            bounds.append((_spread(self.bound(v.lower, env), env.rows), _spread(self.bound(v.upper, env), env.rows)))
        size = len(columns)

        self.place_name = "objective"
        terms = [self.linear(t.expr, ROOT) for t in model.objective.terms]
        offset = sum((t.const.fractions()[0] for t in terms if t.const is not None), start=Fraction(0))

        rows: list[str] = []
        blocks: list[Block] = []
        sides: list[Exact] = []
        relations: list[str] = []
        for r in model.rows:
            self.place_name = f"row {r.name}"
            env = self.widen(ROOT, r.forall, r.where) if r.forall else ROOT
            if env.rows:
                names = self.names(r.name, r.forall, env)
                left, right = self.linear(r.left, env), self.linear(r.right, env)
                blocks += self.entries(left, right, names, len(rows))
                sides.append(_spread((right.const or ZERO) - (left.const or ZERO), env.rows))
                relations += [r.relation] * env.rows
                rows += names

        matrix, exact = _csr(blocks, len(rows), size)
        rhs = concatenate(sides).reduced()
        value, relation = rhs.float(), np.array(relations, dtype="U2")
        low, high = (concatenate(b).reduced() for b in zip(*bounds, strict=True))

        def each(flags: list[bool]) -> np.ndarray:
            return np.repeat(np.array(flags, dtype=bool), counts)

        return Problem(
            name=model.name, maximize=model.objective.sense == "maximize", columns=tuple(columns), rows=tuple(rows),
            cost_exact=_scatter([b for t in terms for b in t.blocks], size), offset=offset,
            matrix=matrix, matrix_exact=exact, row_lower_exact=rhs, row_upper_exact=rhs, lower_exact=low, upper_exact=high,
            row_lower=np.where(relation == "<=", -np.inf, value), row_upper=np.where(relation == ">=", np.inf, value),
            lower=np.where(each([v.lower is None for v in model.variables]), -np.inf, low.float()),
            upper=np.where(each([v.upper is None for v in model.variables]), np.inf, high.float()),
            integer=each([v.kind != "continuous" for v in model.variables]),
            decision=each([not v.auxiliary for v in model.variables]),
        )

    def declare(self, v: n.VarDecl, columns: list[str]) -> Env:
        """Appends the columns of a variable; the table of its indices."""
        self.place_name = f"variable {v.symbol}"
        member = None if v.domain is None else n.Member(tuple(n.Ref(k.name) for k in v.indices), v.domain)
        env = self.widen(ROOT, v.indices, member) if v.indices else ROOT
        shape = [self.arrays.size(k.set) for k in v.indices]
        if env.whole or not shape:
            offset = np.arange(env.rows).reshape(shape)
        else:
            offset = np.full(shape, -1, dtype=np.int64)
            offset[tuple(env.at[k.name] for k in v.indices)] = np.arange(env.rows)
        self.columns[v.symbol] = (len(columns), offset)
        columns += self.names(v.name, v.indices, env)
        return env

    def bound(self, bound: n.Expr | None, env: Env) -> Exact:
        return ZERO if bound is None else self.value(bound, env)

    def entries(self, left: Linear, right: Linear, names: list[str], start: int) -> list[Block]:
        """Blocks of left - right, rows counted from `start`, coefficients spelt out."""
        touched = np.zeros(len(names), bool)
        out = []
        for sign, side in ((1, left), (-1, right)):
            for b in side.blocks:
                local = np.arange(len(names)) if b.row is None else b.row
                touched[local] = True
                coef = Exact.scalar(sign) if b.coef is None else b.coef if sign > 0 else -b.coef
                out.append(Block(local + start, b.col, _spread(coef, len(local))))
        if not touched.all():
            name = names[int(np.flatnonzero(~touched)[0])]
            raise DataError(f"model '{self.model.name}', row {name}: no variable stands in it with these data")
        return out


def _spread(value: Exact, size: int) -> Exact:
    """A scalar as an array (size,)."""
    return value if value.num.ndim else Exact(np.broadcast_to(value.num, (size,)), value.den)


def _scatter(blocks: list[Block], size: int) -> Exact:
    """Objective coefficients (size,)."""
    if not blocks:
        return Exact(np.zeros(size, np.int64))
    coef = concatenate([_spread(b.coef or Exact.scalar(1), len(b.col)) for b in blocks])
    return fold(coef, np.concatenate([b.col for b in blocks]), size).reduced()


def _csr(blocks: list[Block], m: int, size: int) -> tuple[sp.csr_array, Exact]:
    """Sorted indices, duplicates added exactly, zeros dropped; and the exact coefficients aligned with the data."""
    if not blocks:
        return sp.csr_array((m, size)), Exact(np.zeros(0, np.int64))
    coef = concatenate([b.coef for b in blocks if b.coef is not None]).reduced()
    row = np.concatenate([b.row for b in blocks if b.row is not None])
    col = np.concatenate([b.col for b in blocks])
    key = row * size + col
    order = np.argsort(key, kind="stable")
    key, num = key[order], coef.num[order]
    fresh = key[1:] != key[:-1]
    if not fresh.all():
        heads = np.concatenate([[0], np.flatnonzero(fresh) + 1])
        if num.dtype != object and coef.peak() * (len(key) - len(heads) + 1) >= 2**62:
            num = num.astype(object)
        num, key = np.add.reduceat(num, heads), key[heads]
    keep = (num != 0).astype(bool)
    if not keep.all():
        num, key = num[keep], key[keep]
    exact = Exact(num, coef.den)
    indptr = np.zeros(m + 1, np.int32)
    np.cumsum(np.bincount(key // size, minlength=m), out=indptr[1:])
    return sp.csr_array((exact.float(), (key % size).astype(np.int32), indptr), shape=(m, size)), exact
