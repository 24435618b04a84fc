"""Model + data -> Problem.  Vectorised: a sum widens a table of index positions (orpipe.tables), it never loops.

The format of data is told in orpipe.data.  All arithmetic on data is exact (orpipe.exact).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    return _finite(_Grounder(linear, arrays))


class Variants:
    """Models that share most parts with a linear one (its mutants) on the same data: equal to `ground_arrays` of each, but
    the parts that are the very objects of the first model are evaluated once."""

    def __init__(self, linear: n.Model, arrays: Arrays):
        self._first = _Grounder(linear, arrays)
        self.problem = _finite(self._first)

    def ground(self, model: n.Model) -> Problem:
        """Raises as `ground_arrays` does."""
        first = self._first
        alike = model.sets == first.model.sets and model.params == first.model.params
        return _finite(_Grounder(model, first.arrays, first if alike else None))


def _finite(grounder: _Grounder) -> Problem:
    try:
        problem = grounder.problem()
        _ = problem.cost  # made here, so that it is known to be finite
        return problem
    except OverflowError:
        raise DataError(f"model '{grounder.model.name}': the data give a number beyond the range of floats; check their units") from None


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


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Of one variable.  offset: by position, -1 outside the domain."""

    names: list[str]
    offset: np.ndarray
    lower: Exact
    upper: Exact


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Of one symbolic row, counted from 0.  block: coefficients of left - right."""

    names: list[str]
    block: Block
    side: Exact


class _Grounder(Tables):
    """first: has grounded a model of the same sets and parameters on the same data; what it made of a piece that is its own
    too (the same object, so the id tells while the model lives) is taken over."""

    def __init__(self, model: n.Model, arrays: Arrays, first: _Grounder | None = None):
        super().__init__(model, arrays)
        self.columns: dict[str, tuple[int, np.ndarray]] = {}  # variable -> first column, offset by position (-1: none)
        self.first = first
        self.made_columns: dict[int, _Columns] = {}
        self.made_terms: dict[int, Linear] = {}
        self.made_rows: dict[int, _Rows | None] = {}
        if first is not None:
            self._grids = first._grids

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
        declared: list[_Columns] = []
        for v in model.variables:
            mine = self.first.made_columns.get(id(v)) if self.first is not None else None
            mine = self.made_columns[id(v)] = self.declare(v) if mine is None else mine
            self.columns[v.symbol] = (len(columns), mine.offset)
            columns += mine.names
            declared.append(mine)
        size, counts = len(columns), [len(c.names) for c in declared]
        if self.first is not None and not all(self._same_columns(*x) for x in self.first.columns.items()):
            self.first = None  # what was made of rows and terms holds positions of columns

        self.place_name = "objective"
        terms = [self.term(t) for t in model.objective.terms]
        offset = sum((t.const.fractions()[0] for t in terms if t.const is not None), start=Fraction(0))

        rows: list[str] = []
        blocks: list[Block] = []
        sides: list[Exact] = []
        relations: list[str] = []
        for r in model.rows:
            if (part := self.row(r)) is not None:
                assert part.block.row is not None
                blocks.append(replace(part.block, row=part.block.row + len(rows)))
                sides.append(part.side)
                relations += [r.relation] * len(part.names)
                rows += part.names

        matrix, exact = _csr(blocks, len(rows), size)
        rhs = concatenate(sides).reduced()
        value, relation = rhs.float(), np.array(relations, dtype="U2")
        low, high = (concatenate([getattr(c, end) for c in declared]).reduced() for end in ("lower", "upper"))

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

    def _same_columns(self, symbol: str, before: tuple[int, np.ndarray]) -> bool:
        start, offset = self.columns.get(symbol, (-1, before[1]))
        return start == before[0] and (offset is before[1] or np.array_equal(offset, before[1]))

    def term(self, t: n.Term) -> Linear:
        made = self.first.made_terms.get(id(t)) if self.first is not None else None
        self.made_terms[id(t)] = made = self.linear(t.expr, ROOT) if made is None else made
        return made

    def row(self, r: n.Row) -> _Rows | None:
        """None: no tuple of the index sets meets the condition."""
        if self.first is not None and id(r) in self.first.made_rows:
            return self.first.made_rows[id(r)]
        self.place_name = f"row {r.name}"
        env = self.widen(ROOT, r.forall, r.where) if r.forall else ROOT
        made = None
        if env.rows:
            names = self.names(r.name, r.forall, env)
            left, right = self.linear(r.left, env), self.linear(r.right, env)
            block = self.entries(left, right, names)
            made = _Rows(names, block, _spread((right.const or ZERO) - (left.const or ZERO), env.rows))
        self.made_rows[id(r)] = made
        return made

    def declare(self, v: n.VarDecl) -> _Columns:
        self.place_name = f"variable {v.symbol}"
        member = None if v.domain is None else n.Member(tuple(n.Ref(k.name) for k in v.indices), v.domain)
        env = self.widen(ROOT, v.indices, member) if v.indices else ROOT
        shape = [self.arrays.size(k.set) for k in v.indices]
        if env.whole or not shape:
            offset = np.arange(env.rows).reshape(shape)
        else:
            offset = np.full(shape, -1, dtype=np.int64)
            offset[tuple(env.at[k.name] for k in v.indices)] = np.arange(env.rows)
        low, high = (_spread(self.bound(b, env), env.rows) for b in (v.lower, v.upper))
        return _Columns(self.names(v.name, v.indices, env), offset, low, high)

    def bound(self, bound: n.Expr | None, env: Env) -> Exact:
        return ZERO if bound is None else self.value(bound, env)

    def entries(self, left: Linear, right: Linear, names: list[str]) -> Block:
        """The coefficients of left - right, rows counted from 0, spelt out."""
        touched = np.zeros(len(names), bool)
        rows, columns, coefs = [], [], []
        for sign, side in ((1, left), (-1, right)):
            for b in side.blocks:
                local = np.arange(len(names)) if b.row is None else b.row
                touched[local] = True
                coef = Exact.scalar(sign) if b.coef is None else b.coef if sign > 0 else -b.coef
                rows.append(local)
                columns.append(b.col)
                coefs.append(_spread(coef, len(local)))
        if not touched.all():
            name = names[int(np.flatnonzero(~touched)[0])]
            raise DataError(f"model '{self.model.name}', row {name}: no variable stands in it with these data")
        return Block(np.concatenate(rows), np.concatenate(columns), concatenate(coefs))


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
