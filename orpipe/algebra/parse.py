"""The plain-text form of a model read back: parse_model(model_text(m)) is m without its code names and sentences.

A text has sections (sets, parameters, variables, minimize or maximize, subject to), one line an entry, in the form of
orpipe.algebra.text.  Read too: blank lines, `#` comments, rows and terms over several lines, ≤ ≥ ≠ ∈ ∑ ∀, `forall`,
`sum_{..}`, conditions after a comma instead of a colon, and products without `*` where nothing is divided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from orpipe.algebra import nodes as n
from orpipe.algebra.entries import SENSES, Entry, entries, formula
from orpipe.errors import ParseError

Tree = Any  # of lark
Scope = Mapping[str, str]  # index letter -> set symbol
_FLAG = re.compile(r"\s*,\s*(numbered|cyclic|ordered)$")
_UNIT = re.compile(r"\s*\[([^\[\]]*)\]$")
_OPS: dict[str, Any] = {"LE": "<=", "GE": ">=", "EQ": "=", "NE": "!=", "LT": "<", "GT": ">"}


def parse_model(text: str, name: str = "parsed") -> n.Model:
    """The linear model that a text states.  Code names are the symbols; rows and terms have no sentences.

    Raises ParseError with the number of the line, what was expected there and what stands there."""
    return _Reader(name, list(entries(text))).model()


def rename_like(parsed: n.Model, model: n.Model) -> n.Model:
    """`parsed` with the code names and words of `model` wherever symbols and row names agree."""
    def like(own: Any, other: Any, *fields: str) -> Any:
        return own if other is None else replace(own, **{f: getattr(other, f) for f in fields})

    def set_like(s: n.SetDecl) -> n.SetDecl:
        other = model.set_by.get(s.symbol)
        # the letters of a set of tuples from data are not printed
        letters = other is not None and s.where is None and [k.set for k in s.over] == [k.set for k in other.over]
        return like(s, other, "name", "noun", "plural", *(["over"] if letters else []))

    terms = {t.name: t for t in model.objective.terms}
    return n.Model(
        model.name,
        tuple(set_like(s) for s in parsed.sets),
        tuple(like(p, model.param_by.get(p.symbol), "name", "meaning", "unit") for p in parsed.params),
        tuple(like(v, model.var_by.get(v.symbol), "name", "meaning", "unit") for v in parsed.variables),
        n.Objective(parsed.objective.sense,
                    tuple(like(t, terms.get(t.name), "meaning") for t in parsed.objective.terms)),
        tuple(like(r, model.row_by.get(r.name), "because", "tightened_by", "origin") for r in parsed.rows),
    )


@dataclass(frozen=True, slots=True)
class _Bound:
    """Indices that a scope binds and its conditions; domain: the tuple set that binds them, if one does."""

    indices: tuple[n.Index, ...] = ()
    where: n.Cond | None = None
    domain: str | None = None

    def within(self, outer: Scope) -> dict[str, str]:
        return {**outer, **{k.name: k.set for k in self.indices}}


class _Formulas:
    """Trees of the grammar -> expressions, conditions and scopes over what has been declared so far."""

    def __init__(self) -> None:
        self.sets: dict[str, n.SetDecl] = {}
        self.params: dict[str, n.ParamDecl] = {}
        self.variables: dict[str, n.VarDecl] = {}
        self.line = 0

    def fail(self, message: str) -> ParseError:
        return ParseError(f"line {self.line}: {message}")

    def known_set(self, symbol: str) -> str:
        if symbol not in self.sets:
            raise self.fail(f"unknown set '{symbol}'; declare it under 'sets'")
        return symbol

    # -- scopes and conditions
    def scope(self, tree: Tree, outer: Scope) -> _Bound:
        head, tail = tree.children
        bound = self.items(head.children, outer)
        if not bound.indices:
            raise self.fail("expected an index such as 'i in I'")
        inner = bound.within(outer)
        conditions = [self.condition(c, inner) for c in tail.children] if tail is not None else []
        return replace(bound, where=n.conjunction(bound.where, *conditions))

    def items(self, trees: list[Tree], outer: Scope, only_indices: bool = False) -> _Bound:
        """«i in I, j in J, i != j» or «(i,j) in A, i != j»: first what binds new letters, then conditions."""
        indices: list[n.Index] = []
        conditions: list[n.Cond] = []
        domain = None
        for tree in trees:
            scope = {**outer, **{k.name: k.set for k in indices}}
            letters = self.new_letters(tree, scope) if not conditions else []
            if not letters:
                if only_indices:
                    raise self.fail("expected indices such as 'i in I, j in J' or '(i,j) in A'")
                conditions.append(self.condition(tree, scope))
                continue
            symbol = self.known_set(str(tree.children[1]))
            over = self.sets[symbol].over
            if len(letters) != max(len(over), 1) or len(set(letters)) < len(letters):
                raise self.fail(f"expected {max(len(over), 1)} different indices before 'in {symbol}'")
            if over:
                domain = symbol
                conditions.append(n.Member(tuple(n.Ref(k) for k in letters), symbol))
            sets = [k.set for k in over] or [symbol]
            indices += [n.Index(letter, s) for letter, s in zip(letters, sets, strict=True)]
        return _Bound(tuple(indices), n.conjunction(*conditions), domain)

    def new_letters(self, tree: Tree, scope: Scope) -> list[str]:
        """The letters that «i in I» or «(i,j) in A» binds; [] if it is a condition on letters bound before."""
        if tree.data != "member":
            return []
        parts = _components(tree.children[0])
        letters = [str(p.children[0]) for p in parts if p.data == "name" and p.children[1] is None]
        return letters if len(letters) == len(parts) and not any(k in scope for k in letters) else []

    def condition(self, tree: Tree, scope: Scope) -> n.Cond:
        if tree.data in ("member", "no_member"):
            symbol = self.known_set(str(tree.children[1]))
            if not self.sets[symbol].over:
                raise self.fail(f"expected a set of tuples in a condition, found '{symbol}'")
            refs = self.refs(_components(tree.children[0]), self.sets[symbol].over, scope, symbol)
            return n.Member(refs, symbol, negated=tree.data == "no_member")
        left, op, right = tree.children
        a = self.ref(left, scope)
        if tree.data == "edge":
            if a is None or op.type not in ("EQ", "LT", "GT"):
                raise self.fail(f"expected an index and =, < or > before '{right}'")
            return n.Edge(a, _OPS[op.type], str(right))  # type: ignore[arg-type]
        b = self.ref(right, scope)
        if a is not None and b is not None:
            return n.Compare(a, _OPS[op.type], b)
        return n.DataCompare(self.expr(left, scope), _OPS[op.type], self.expr(right, scope))

    def ref(self, tree: Tree, scope: Scope) -> n.Ref | None:
        """«t» or «t - 1» for a bound letter t, else None."""
        shift = 0
        if tree.data in ("add", "sub") and _whole(tree.children[1]):
            shift = int(tree.children[1].children[0]) * (1 if tree.data == "add" else -1)
            tree = tree.children[0]
        if tree.data == "name" and tree.children[1] is None and str(tree.children[0]) in scope:
            return n.Ref(str(tree.children[0]), shift)
        return None

    def refs(self, trees: list[Tree], expected: tuple[n.Index, ...], scope: Scope, what: str) -> tuple[n.Ref, ...]:
        if len(trees) != len(expected):
            raise self.fail(f"'{what}' takes {len(expected)} indices, found {len(trees)}")
        out = []
        for tree, index in zip(trees, expected, strict=True):
            ref = self.ref(tree, scope)
            if ref is None:
                bound = ", ".join(scope) or "there is none"
                raise self.fail(f"expected a bound index ({bound}) in the subscripts of '{what}'")
            if scope[ref.index] != index.set:
                raise self.fail(f"index {ref.index} of '{what}' runs over {scope[ref.index]}, but {index.set} is due")
            out.append(ref)
        return tuple(out)

    # -- expressions
    def expr(self, tree: Tree, scope: Scope) -> n.Expr:
        kids = tree.children
        value = _literal(tree)
        if value is not None:
            return n.Num(value)
        match tree.data:
            case "add" | "sub":
                left, right = self.expr(kids[0], scope), self.expr(kids[1], scope)
                # a sum in parentheses stays a term of its own
                head = left.terms if isinstance(left, n.Add) and kids[0].data in ("add", "sub") else (left,)
                return n.Add((*head, right if tree.data == "add" else n.Neg(right)))
            case "neg":
                return n.Neg(self.expr(kids[0], scope))
            case "mul" | "beside":
                if tree.data == "beside" and kids[0].data == "div":
                    raise self.fail("a factor after a division can be read in two ways; write '*' or parentheses")
                return n.Mul(self.expr(kids[0], scope), self.expr(kids[1], scope))
            case "div":
                return n.Div(self.expr(kids[0], scope), self.expr(kids[1], scope))
            case "paren":
                return self.expr(kids[0], scope)
            case "card":
                return n.Card(self.known_set(str(kids[0])))
            case "big_sum":
                bound = self.scope(kids[0], scope)
                return n.Sum(bound.indices, bound.where, self.expr(kids[1], bound.within(scope)))
        return self.name(str(kids[0]), [k for k in kids[1:] if k is not None], scope)

    def name(self, symbol: str, subscripts: list[Tree], scope: Scope) -> n.Expr:
        if symbol in self.params:
            return n.ParamRef(symbol, self.refs(subscripts, self.params[symbol].indices, scope, symbol))
        if symbol in self.variables:
            return n.VarRef(symbol, self.refs(subscripts, self.variables[symbol].indices, scope, symbol))
        if symbol in scope:
            raise self.fail(f"index {symbol} stands where a number is due")
        raise self.fail(f"unknown name '{symbol}'; declare it under 'parameters' or 'variables'")


class _Reader(_Formulas):
    """Entries -> declarations, terms and rows."""

    def __init__(self, name: str, found: list[Entry]):
        super().__init__()
        self.model_name, self.entries = name, found

    def section(self, start: str, *names: str) -> Iterator[tuple[Entry, Tree]]:
        for e in self.entries:
            if e.section in names:
                self.line = e.line
                yield e, formula(e.line, start, e.head if start.endswith("head") else e.body)

    def model(self) -> n.Model:
        for e, tree in self.section("set_head", "sets"):
            self.set_head(e, tree)
        for e, tree in self.section("param_head", "parameters"):
            self.param(e, tree)
        for _, tree in self.section("set_head", "sets"):  # once more: conditions of sets may use parameters
            if tree.data == "derived":
                self.derive(str(tree.children[0]), tree.children[1])
        for e, tree in self.section("var_head", "variables"):
            self.variable(e, tree)
        senses = {e.section for e in self.entries if e.section in SENSES}
        if len(senses) != 1:
            raise ParseError(f"expected one section 'minimize' or 'maximize', found {'both' if senses else 'none'}")
        terms = tuple(n.Term(self.label(e)[0], self.expr(tree.children[0], {}), "")
                      for e, tree in self.section("term", *senses))
        objective = n.Objective(senses.pop(), terms)  # type: ignore[arg-type]
        rows = tuple(self.row(e, tree) for e, tree in self.section("row", "subject to"))
        return n.Model(self.model_name, tuple(self.sets.values()), tuple(self.params.values()),
                       tuple(self.variables.values()), objective, rows)

    def new(self, symbol: Any) -> str:
        if str(symbol) in self.sets or str(symbol) in self.params or str(symbol) in self.variables:
            raise self.fail(f"'{symbol}' is declared twice")
        return str(symbol)

    def set_head(self, e: Entry, tree: Tree) -> None:
        symbol, words, flags = self.new(tree.children[0]), e.body, set()
        over: tuple[n.Index, ...] = ()
        if tree.data == "within":
            sets = [self.known_set(str(s)) for s in tree.children[1:]]
            over = tuple(n.Index(f"{s.lower()}{k}", s) for k, s in enumerate(sets, start=1))
        elif tree.data == "derived":
            items = tree.children[1].children[0].children
            over = self.items([k for k in items if k.data == "member"], {}).indices
        else:
            while found := _FLAG.search(words):
                flags.add(found[1])
                words = words[:found.start()]
        self.sets[symbol] = n.SetDecl(symbol, symbol, words, words, bool(flags), "cyclic" in flags, "numbered" in flags,
                                      over)

    def derive(self, symbol: str, scope: Tree) -> None:
        where = self.scope(scope, {}).where
        if where is None:
            raise self.fail(f"expected a condition on the tuples of '{symbol}', after a colon")
        self.sets[symbol] = replace(self.sets[symbol], where=where)

    def param(self, e: Entry, tree: Tree) -> None:
        signature, op, zero, integer = tree.children
        symbol, bound = self.signature(signature)
        if op is not None and Fraction(zero) != 0:
            raise self.fail(f"expected '{op} 0', found '{op} {zero}'; a parameter states its sign only")
        meaning, unit = _words(e)
        sign: Any = "any" if op is None else "nonnegative" if op.type == "GE" else "positive"
        self.params[symbol] = n.ParamDecl(symbol, symbol, bound.indices, bound.domain, unit, meaning, sign,
                                          integer=integer is not None)

    def variable(self, e: Entry, tree: Tree) -> None:
        symbol, bound = self.signature(tree.children[0])
        meaning, unit = _words(e)
        kind: n.VarKind = "binary"
        low: n.Expr | None = n.ZERO
        high: n.Expr | None = n.ONE
        if tree.data == "binary_pair" and [Fraction(c) for c in tree.children[1:3]] != [0, 1]:
            raise self.fail(f"expected '{{0,1}}', found '{{{tree.children[1]},{tree.children[2]}}}'")
        if tree.data == "bounded":
            _, integer, lower, _, upper, _ = tree.children
            kind = "continuous" if integer is None else "integer"
            scope = bound.within({})
            low = None if lower.data == "free" else self.expr(lower.children[1], scope)
            high = None if upper is None else self.expr(upper, scope)
        self.variables[symbol] = n.VarDecl(symbol, symbol, bound.indices, bound.domain, kind, low, high, unit, meaning,
                                           auxiliary=tree.children[-1] is not None)

    def signature(self, tree: Tree) -> tuple[str, _Bound]:
        symbol, items = tree.children
        return self.new(symbol), _Bound() if items is None else self.items(items.children, {}, only_indices=True)

    def label(self, e: Entry) -> tuple[str, list[str]]:
        name, *letters = formula(e.line, "label", e.head).children
        return str(name), [str(k) for k in letters if k is not None]

    def row(self, e: Entry, tree: Tree) -> n.Row:
        name, letters = self.label(e)
        left, op, right, scope = tree.children
        bound = _Bound() if scope is None else self.scope(scope, {})
        names = [k.name for k in bound.indices]
        if letters and letters != names:
            due = f"{name}[{','.join(names)}]" if names else name
            raise self.fail(f"expected '{due}' to match what follows 'for all', found '{e.head}'")
        inner = bound.within({})
        sides = [self.expr(side, inner) for side in (left, right)]
        return n.Row(name, bound.indices, bound.where, sides[0], _OPS[op.type], sides[1], "")


def _words(e: Entry) -> tuple[str, str]:
    """Meaning and unit of a declaration."""
    found = _UNIT.search(e.body)
    return (e.body[:found.start()], found[1]) if found else (e.body, "1")


def _components(tree: Tree) -> list[Tree]:
    return tree.children if tree.data in ("refs", "paren") else [tree]


def _whole(tree: Tree) -> bool:
    return tree.data == "number" and str(tree.children[0]).isdigit()


def _literal(tree: Tree) -> Fraction | None:
    """The value of «3», «0.5», «-3» or, of two whole numbers, «1/3»."""
    if tree.data == "number":
        return Fraction(str(tree.children[0]))
    if tree.data == "div" and all(_whole(k) for k in tree.children) and int(tree.children[1].children[0]):
        return Fraction(int(tree.children[0].children[0]), int(tree.children[1].children[0]))
    if tree.data == "neg" and tree.children[0].data != "neg":
        value = _literal(tree.children[0])
        return None if value is None else -value
    return None
