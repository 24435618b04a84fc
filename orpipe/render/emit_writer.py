"""The shared part of all dialects: expressions, loops and conditions of a linear model as Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orpipe.algebra import nodes as n
from orpipe.algebra.text import number_text
from orpipe.problem import Problem
from orpipe.render.emit_layout import Doc, Group, Line, Seq, bracket, joined, seq
from orpipe.render.emit_names import Names

if TYPE_CHECKING:
    from orpipe.render.dialects import Dialect

_TOLERANCE = "1e-9"
Binding = Mapping[str, str]  # index letter -> symbol of its set


@dataclass(frozen=True, slots=True)
class Facts:
    """What the wording of a program takes from the instance.

    whole: parameters with whole numbers only.  unused: variables of which some column stands in no row and not in the
    objective."""

    whole: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Loops:
    """for <target> in <iterable> ..., then the conditions.  letters: index letters in the order they are bound."""

    over: tuple[tuple[str, str], ...]
    conditions: tuple[Doc, ...]
    letters: tuple[str, ...]

    @property
    def condition(self) -> Doc:
        return joined(Seq((Line(), "and ")), self.conditions)


def facts(model: n.Model, data: Mapping[str, Any], problem: Problem | None = None) -> Facts:
    whole = frozenset(p.symbol for p in model.params if p.symbol in data and _whole(data[p.symbol]))
    if problem is None:
        return Facts(whole)
    used = (problem.cost_exact.num != 0).astype(bool)
    used[np.unique(problem.matrix.indices)] = True
    idle = {problem.columns[k].split("[")[0] for k in np.flatnonzero(~used)}
    return Facts(whole, frozenset(v.symbol for v in model.variables if v.name in idle))


def _whole(value: Any) -> bool:
    return all(_whole(x) for x in value.values()) if isinstance(value, Mapping) else value == int(value)



class Writer:
    """Writes the expressions, loops and conditions of one linear model in one dialect.

    `helpers` collects what the code written so far needs beside sets and parameters: (set, None) its label -> position
    table, (set, k) its label -> label k places on."""

    def __init__(self, model: n.Model, dialect: Dialect, facts: Facts = Facts()):
        self.model, self.dialect, self.facts = model, dialect, facts
        self.names = Names(model, dialect.aliases, dialect.on_model, dialect.attributes)
        self.helpers: set[tuple[str, int | None]] = set()
        self.integer = any(v.kind != "continuous" for v in model.variables)

    # -- indices
    def binding(self, indices: tuple[n.Index, ...], outer: Binding | None = None) -> dict[str, str]:
        return dict(outer or {}) | {k.name: k.set for k in indices}

    def letter(self, index: n.Index) -> str:
        return self.names.letters[index.name]

    def key(self, indices: tuple[n.Index, ...]) -> str:
        """i, or (i, j) as the key of a dictionary."""
        return tuple_text([self.letter(k) for k in indices])

    def label(self, name: str, indices: tuple[n.Index, ...], after: str = "") -> str:
        """The name of a row or column as a string expression: f"ship[{i},{j}]"."""
        inner = ",".join("{" + self.letter(k) + "}" for k in indices)
        return f'f"{name}[{inner}]{after}"' if indices else f'"{name}{after}"'

    def membership(self, d: n.VarDecl | n.ParamDecl) -> n.Cond | None:
        return None if d.domain is None else n.Member(tuple(n.Ref(k.name) for k in d.indices), d.domain)

    def is_binary(self, v: n.VarDecl) -> bool:
        return v.kind == "binary" and v.lower == n.ZERO and v.upper == n.ONE

    def loops(self, indices: tuple[n.Index, ...], where: n.Cond | None, at: Binding | None = None) -> Loops:
        """A tuple set that binds only fresh indices is looped over itself; other conditions follow the loops."""
        at = self.binding(indices, at)
        fresh = {k.name for k in indices}
        heads: dict[str, n.Member] = {}
        rest: list[n.Cond] = []
        for part in n.conditions(where):
            letters = [r.index for r in part.refs] if isinstance(part, n.Member) else []
            if isinstance(part, n.Member) and not part.negated and not any(r.shift for r in part.refs) \
                    and len(set(letters)) == len(letters) and set(letters) <= fresh - heads.keys():
                heads |= dict.fromkeys(letters, part)
            else:
                rest.append(part)
        over: list[tuple[str, str]] = []
        bound: list[str] = []
        for k in indices:
            if k.name in bound:
                continue
            head = heads.get(k.name)
            letters = [k.name] if head is None else [r.index for r in head.refs]
            target = ", ".join(self.names.letters[x] for x in letters)
            over.append((target, self.names.sets[k.set if head is None else head.set]))
            bound += letters
        tests = tuple(self.condition(c, at) for c in rest)
        return Loops(tuple(over), tests, tuple(self.names.letters[x] for x in bound))

    def generator(self, body: Doc, loops: Loops) -> Doc:
        """body for i in I for j in J if ..."""
        clauses = [f"for {target} in {iterable}" for target, iterable in loops.over]
        conditions = [seq("if ", loops.condition)] if loops.conditions else []
        return joined(Line(), [body, *clauses, *conditions])

    def place(self, ref: n.Ref, at: Binding, strict: bool = True) -> str:
        """The label at an index, perhaps shifted.  Not strict: no error off the end of the set."""
        letter, s = self.names.letters[ref.index], self.model.set_by[at[ref.index]]
        if not ref.shift:
            return letter
        name = self.names.sets[s.symbol]
        if s.numbered and s.cyclic:
            return f"{plus(letter, ref.shift - 1, inside=True)} % len({name}) + 1"
        if s.numbered:
            return plus(letter, ref.shift)
        if s.cyclic:
            return f"{name}[{self.position(ref, at)}]"
        self.helpers.add((s.symbol, ref.shift))
        table = self.names.shifted(s.symbol, ref.shift)
        return f"{table}[{letter}]" if strict else f"{table}.get({letter})"

    def position(self, ref: n.Ref, at: Binding) -> str:
        """A number that orders the elements of the set as their positions do."""
        letter, s = self.names.letters[ref.index], self.model.set_by[at[ref.index]]
        if s.numbered:
            return self.place(ref, at)
        self.helpers.add((s.symbol, None))
        here = f"{self.names.position(s.symbol)}[{letter}]"
        if not s.cyclic or not ref.shift:
            return plus(here, ref.shift)
        return f"{plus(here, ref.shift, inside=True)} % len({self.names.sets[s.symbol]})"

    def subscript(self, refs: tuple[n.Ref, ...], at: Binding) -> str:
        return "[" + ", ".join(self.place(r, at) for r in refs) + "]" if refs else ""

    # -- conditions
    def condition(self, cond: n.Cond, at: Binding) -> Doc:
        match cond:
            case n.Compare(left=a, op=op, right=b):
                labels = op in ("=", "!=") and not (a.shift or b.shift)
                left, right = (self.place(r, at) if labels else self.position(r, at) for r in (a, b))
                return f"{left} {_OPERATOR.get(op, op)} {right}"
            case n.Edge():
                return self.edge(cond, at)
            case n.Member(refs=refs, set=s, negated=negated):
                key = tuple_text([self.place(r, at, strict=False) for r in refs])
                return f"{key} {'not in' if negated else 'in'} {self.names.sets[s]}"
            case n.DataCompare(left=a, op=op, right=b):
                if (self.exact(a) and self.exact(b)) or (printed(a) and printed(b)):
                    return seq(self.expr(a, at), f" {_OPERATOR.get(op, op)} ", self.expr(b, at))
                gap = self.expr(n.Add((a, n.Neg(b))), at)  # floats: 0.1 + 0.2 is not 0.3
                if op in ("=", "!="):
                    return seq("abs(", gap, f") {'<=' if op == '=' else '>'} {_TOLERANCE}")
                return seq(gap, f" {op} {'' if op in ('<=', '>') else '-'}{_TOLERANCE}")
            case n.And(parts=parts):
                return joined(Seq((Line(), "and ")), [self.condition(p, at) for p in parts])
        raise AssertionError(cond)

    def edge(self, edge: n.Edge, at: Binding) -> str:
        s = self.model.set_by[at[edge.ref.index]]
        name, beyond = self.names.sets[s.symbol], (edge.end, edge.op) in (("first", "<"), ("last", ">"))
        if s.numbered:
            end = "1" if edge.end == "first" else f"{name}[-1]"
            return f"{self.place(edge.ref, at)} {_OPERATOR.get(edge.op, edge.op)} {end}"
        if edge.ref.shift or beyond:
            end = "0" if edge.end == "first" else f"len({name}) - 1"
            return f"{self.position(edge.ref, at)} {_OPERATOR.get(edge.op, edge.op)} {end}"
        end = "0" if edge.end == "first" else "-1"
        return f"{self.place(edge.ref, at)} {'==' if edge.op == '=' else '!='} {name}[{end}]"

    def exact(self, e: n.Expr) -> bool:
        """Whole numbers throughout, so that floats compute it exactly?"""
        match e:
            case n.Num(value=v):
                return v.denominator == 1
            case n.ParamRef(param=p):
                return p in self.facts.whole or self.model.param_by[p].integer
            case n.Div() | n.VarRef():
                return False
        return all(self.exact(c) for c in n.children(e) if isinstance(c, _EXPRESSIONS))

    # -- expressions
    def expr(self, e: n.Expr, at: Binding, level: int = 0) -> Doc:
        """level: 0 inside a sum of terms, 1 inside a product, 2 as a divisor."""
        match e:
            case n.Num(value=v):
                text = number_text(v).replace("/", " / ")
                return f"({text})" if level and (v < 0 or "/" in text) else text
            case n.Card(set=s):
                return f"len({self.names.sets[s]})"
            case n.ParamRef(param=p, refs=refs):
                return self.names.params[p] + self.subscript(refs, at)
            case n.VarRef(var=v, refs=refs):
                return self.names.variables[v] + self.subscript(refs, at)
            case n.Neg(arg=a):
                minus = seq("-", self.expr(a, at, 1))
                return seq("(", minus, ")") if level else minus
            case n.Add(terms=terms):
                parts = [self.expr(terms[0], at)]
                for term in terms[1:]:
                    positive = _without_minus(term)
                    signed = ("+ ", self.expr(term, at)) if positive is None else ("- ", self.expr(positive, at, 1))
                    parts += [Line(), *signed]
                return bracket("(", Seq(tuple(parts)), ")") if level else Seq(tuple(parts))
            case n.Mul(left=n.Num(value=v), right=b) if v < 0:
                return self.expr(n.Neg(n.Mul(n.Num(-v), b)), at, level)
            case n.Mul(left=n.Neg(arg=a), right=b):
                return self.expr(n.Neg(n.Mul(a, b)), at, level)
            case n.Mul(left=a, right=b):
                product = seq(self.expr(a, at, 1), " * ", self.expr(b, at, 2 if isinstance(b, n.Div) else 1))
                return seq("(", product, ")") if level > 1 else product
            case n.Div(left=a, right=b):
                quotient = seq(self.expr(a, at, 1), " / ", self.expr(b, at, 2))
                return seq("(", quotient, ")") if level > 1 else quotient
            case n.Sum(indices=indices, where=where, body=body):
                inner = self.binding(indices, at)
                function = self.dialect.summation if n.has_variables(body) else "sum"
                summands = self.generator(self.expr(body, inner), self.loops(indices, where, inner))
                return bracket(function + "(", summands, ")")
        raise AssertionError(e)

    def relation(self, r: n.Row, at: Binding) -> Doc:
        operator = _OPERATOR.get(r.relation, r.relation)
        return seq(Group(self.expr(r.left, at)), Line(), f"{operator} ", Group(self.expr(r.right, at)))

    def total(self, objective: n.Objective) -> Doc:
        """opening + shipping; a term whose expression is negative as a whole is subtracted."""
        parts: list[Doc] = []
        for k, t in enumerate(objective.terms):
            negative = isinstance(t.expr, n.Neg)
            parts += ["-" if negative else ""] if not k else [Line(), "- " if negative else "+ "]
            parts.append(self.names.terms[t.name])
        return Seq(tuple(parts))


_OPERATOR = {"=": "=="}
_EXPRESSIONS = (n.Num, n.Card, n.ParamRef, n.VarRef, n.Add, n.Neg, n.Mul, n.Div, n.Sum)


def tuple_text(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else "(" + ", ".join(parts) + ")"


def plus(text: str, shift: int, inside: bool = False) -> str:
    if not shift:
        return text
    text = f"{text} {'+' if shift > 0 else '-'} {abs(shift)}"
    return f"({text})" if inside else text


def printed(e: n.Expr) -> bool:
    """A number as it stands in the data: floats keep the order and equality of such decimals."""
    return isinstance(e, (n.Num, n.Card, n.ParamRef))


def _without_minus(term: n.Expr) -> n.Expr | None:
    """What follows the minus sign of a term, or None if it has none."""
    match term:
        case n.Neg(arg=arg):
            return arg
        case n.Num(value=v) if v < 0:
            return n.Num(-v)
        case n.Mul(left=n.Num(value=v), right=b) if v < 0:
            return n.Mul(n.Num(-v), b)
    return None


def unit_text(unit: str) -> str:
    """« [EUR/t]», or nothing for a plain number."""
    return "" if unit in ("", "1") else f" [{unit}]"
