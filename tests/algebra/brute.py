"""A second, deliberately naive reading of models and data: nested loops over labels, Fractions, dictionaries by name."""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from orpipe.algebra import nodes as n

Place = Mapping[str, int]  # index letter -> position


class Undefined(Exception):
    """The data give no meaning: a subscript out of its set or domain, a division by zero, a number beyond floats, a row without
    variables."""


@dataclass
class Linear:
    coef: defaultdict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    const: Fraction = Fraction(0)
    touched: bool = False


@dataclass
class Row:
    coef: dict[str, Fraction]
    relation: str
    side: Fraction


class Brute:
    """rows: by name.  cost, bounds: by column name; a bound of None is infinite."""

    def __init__(self, model: n.Model, data: Mapping[str, Any]):
        self.model, self.data = model, data
        self.sets = {s.symbol: s for s in model.sets}
        self.letters: dict[str, str] = {}
        self.labels = {s.symbol: list(data[s.symbol]) for s in model.sets if not s.over}
        self.tuples = {s.symbol: [tuple(self.labels[k.set].index(part) for part, k in zip(item, s.over, strict=True))
                                  for item in data[s.symbol]] for s in model.sets if s.over and s.where is None}
        for s in model.sets:
            if s.where is not None:
                self.tuples[s.symbol] = [tuple(p[k.name] for k in s.over) for p in self.places({}, s.over, s.where)]
        self.columns = [v.name + self.suffix(v.indices, p) for v in model.variables for p in self.places_of(v)]
        self.bounds = {v.name + self.suffix(v.indices, p): (self.bound(v.lower, p), self.bound(v.upper, p))
                       for v in model.variables for p in self.places_of(v)}
        self.whole = {v.name + self.suffix(v.indices, p): v.kind != "continuous"
                      for v in model.variables for p in self.places_of(v)}
        total = Linear()
        for t in model.objective.terms:
            self.add(t.expr, {}, Fraction(1), total)
        self.cost, self.offset = total.coef, total.const
        self.rows = {r.name + self.suffix(r.forall, p): self.row(r, p)
                     for r in model.rows for p in self.places({}, r.forall, r.where)}
        numbers: list[Fraction] = [*self.cost.values(), *(v for r in self.rows.values() for v in (r.side, *r.coef.values())),
                   *(b for pair in self.bounds.values() for b in pair if b is not None)]
        if any(abs(v) > sys.float_info.max for v in numbers):
            raise Undefined

    def suffix(self, indices: tuple[n.Index, ...], p: Place) -> str:
        return "[" + ",".join(str(self.labels[k.set][p[k.name]]) for k in indices) + "]" if indices else ""

    def places(self, outer: Place, indices: tuple[n.Index, ...], where: n.Cond | None) -> Iterator[Place]:
        self.letters |= {k.name: k.set for k in indices}
        for combination in itertools.product(*(range(len(self.labels[k.set])) for k in indices)):
            p = {**outer, **{k.name: c for k, c in zip(indices, combination, strict=True)}}
            if where is None or self.holds(where, p):
                yield p

    def places_of(self, v: n.VarDecl) -> Iterator[Place]:
        """In the order of columns: of the labels, or of the tuples in the data."""
        everywhere = list(self.places({}, v.indices, None))
        if v.domain is None:
            return iter(everywhere)
        return ({k.name: c for k, c in zip(v.indices, t, strict=True)} for t in self.tuples[v.domain])

    def at(self, ref: n.Ref, p: Place) -> int | None:
        """Position; None beyond the ends."""
        decl, size = self.sets[self.letters[ref.index]], len(self.labels[self.letters[ref.index]])
        k = p[ref.index] + ref.shift
        return k % size if decl.cyclic else k if 0 <= k < size else None

    def holds(self, cond: n.Cond, p: Place) -> bool:
        def compare(a: Any, op: str, b: Any) -> bool:
            return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]

        match cond:
            case n.And(parts=parts):
                return all(self.holds(c, p) for c in parts)
            case n.Compare(left=a, op=op, right=b):
                sizes = [len(self.labels[self.letters[r.index]]) if self.sets[self.letters[r.index]].cyclic else 10**9 for r in (a, b)]
                places = [p[r.index] + r.shift for r in (a, b)]
                x, y = (k % size if size < 10**9 else k for k, size in zip(places, sizes, strict=True))
                return compare(x, op, y)
            case n.Edge(ref=ref, op=op, end=end):
                decl, size = self.sets[self.letters[ref.index]], len(self.labels[self.letters[ref.index]])
                k = p[ref.index] + ref.shift
                return compare(k % size if decl.cyclic else k, op, 0 if end == "first" else size - 1)
            case n.Member(refs=refs, set=s, negated=negated):
                return (tuple(self.at(r, p) for r in refs) in self.tuples[s]) != negated
            case n.DataCompare(left=a, op=op, right=b):
                return compare(self.value(a, p), op, self.value(b, p))
        raise AssertionError(cond)

    def number(self, symbol: str, refs: tuple[n.Ref, ...], p: Place) -> Fraction:
        decl = self.model.param_by[symbol]
        value: Any = self.data[symbol]
        at = tuple(self.at(r, p) for r in refs)
        if None in at or (decl.domain is not None and at not in self.tuples[decl.domain]):
            raise Undefined
        for k, index in zip(at, decl.indices, strict=True):
            value = value[self.labels[index.set][k]]  # type: ignore[index]
        return Fraction(str(value))

    def value(self, e: n.Expr, p: Place) -> Fraction:
        out = Linear()
        self.add(e, p, Fraction(1), out)
        assert not out.touched
        return out.const

    def bound(self, e: n.Expr | None, p: Place) -> Fraction | None:
        return None if e is None else self.value(e, p)

    def add(self, e: n.Expr, p: Place, times: Fraction, out: Linear) -> None:
        """out += times * e"""
        match e:
            case n.Num(value=v):
                out.const += times * v
            case n.Card(set=s):
                out.const += times * len(self.labels.get(s) or self.tuples.get(s) or [])
            case n.ParamRef(param=s, refs=refs):
                out.const += times * self.number(s, refs, p)
            case n.VarRef(var=v, refs=refs):
                decl = self.model.var_by[v]
                at = [self.at(r, p) for r in refs]
                name = None if None in at else decl.name + self.suffix(
                    decl.indices, {k.name: a for k, a in zip(decl.indices, at, strict=True)})  # type: ignore[misc]
                if name is None or name not in self.columns:
                    raise Undefined
                out.coef[name] += times
                out.touched = True
            case n.Add(terms=terms):
                for t in terms:
                    self.add(t, p, times, out)
            case n.Neg(arg=a):
                self.add(a, p, -times, out)
            case n.Mul(left=a, right=b):
                data, rest = (b, a) if n.has_variables(a) else (a, b)
                self.add(rest, p, times * self.value(data, p), out)
            case n.Div(left=a, right=b):
                under = self.value(b, p)
                if under == 0:
                    raise Undefined
                self.add(a, p, times / under, out)
            case n.Sum(indices=indices, where=where, body=body):
                for inner in self.places(p, indices, where):
                    self.add(body, inner, times, out)
            case _:
                raise AssertionError(e)

    def row(self, r: n.Row, p: Place) -> Row:
        out = Linear()
        self.add(r.left, p, Fraction(1), out)
        self.add(r.right, p, Fraction(-1), out)
        if not out.touched:
            raise Undefined
        return Row({c: v for c, v in out.coef.items() if v}, r.relation, -out.const)

    # -- points
    def objective(self, point: Mapping[str, Fraction]) -> Fraction:
        return self.offset + sum((self.cost[c] * point[c] for c in self.cost), start=Fraction(0))

    def broken(self, point: Mapping[str, Fraction]) -> set[tuple[str, str, Fraction]]:
        """(where, rule, amount) of everything a point breaks."""
        out = set()
        for name, row in self.rows.items():
            gap = sum((v * point[c] for c, v in row.coef.items()), start=Fraction(0)) - row.side
            if (row.relation != ">=" and gap > 0) or (row.relation != "<=" and gap < 0):
                out.add((name, "row", abs(gap)))
        for name, (low, high) in self.bounds.items():
            if low is not None and point[name] < low:
                out.add((name, "lower", low - point[name]))
            if high is not None and point[name] > high:
                out.add((name, "upper", point[name] - high))
            off = point[name] - round(point[name])
            if self.whole[name] and off:
                out.add((name, "integer", abs(off)))
        return out
