"""Statements collected from an answer -> columns, bounds and rows of a Problem."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from orpipe.algebra.answer.binding import Binding
from orpipe.algebra.answer.domains import number
from orpipe.algebra.answer.forms import Clause, Expr, Extreme, Number, Relation, Symbol, shown, walk
from orpipe.algebra.answer.lines import CONS, Piece, about
from orpipe.algebra.answer.matrix import Row, assembled, canonical
from orpipe.algebra.answer.meaning import Linear
from orpipe.algebra.answer.names import Collected
from orpipe.algebra.answer.statements import Statement
from orpipe.algebra.answer.world import Column
from orpipe.errors import ParseError, Unsupported
from orpipe.problem import Problem


def build(found: Collected) -> tuple[Problem, list[str]]:
    """Raises ParseError without an objective, Unsupported with the line otherwise."""
    return _Builder(found).problem()


class _Builder(Binding):
    def __init__(self, found: Collected):
        super().__init__(found)
        self.whole: dict[str, list[tuple[Fraction | None, Fraction | None, str]]] = {}
        self.rows: list[Row] = []
        self.bounded: set[Any] = set()
        self.fixed: set[Any] = set()

    def problem(self) -> tuple[Problem, list[str]]:
        self.sets()
        self.indices()
        self.names()
        self.shapes()
        firm = [(p, s) for p, s in self.found.stated if p.firm or p.mode == "display" or _plain_domain(s) or s.sense]
        soft = [(p, s) for p, s in self.found.stated if (p, s) not in firm]
        goals = [(p, s) for p, s in firm if s.sense]
        if not goals:
            raise ParseError("no objective was found: a line such as 'Minimize ...' or '\\min ...' is missing")
        if self.found.worded and any(p.section == CONS and p.firm and s.relations for p, s in firm):
            self.check_worded(firm)
        for p, s in firm:
            if not s.sense:
                self.placed(p, lambda s=s, p=p: self.statement(s, p))
        for p, symbol, _, scope in self.found.declared:
            if scope and symbol.subs:
                self.placed(p, lambda symbol=symbol, scope=scope: self.columns_of(symbol, scope))
        objective = [self.placed(p, lambda s=s: self.objective(s)) for p, s in goals]
        if any(o != objective[0] for o in objective[1:]):
            raise Unsupported(f"line {goals[1][0].line}: a second objective, in '{goals[1][0].raw[:100]}'")
        self.families()
        self.outside()
        for p, s in soft:
            self.placed(p, lambda s=s, p=p: self.repeated(s, p))
        sense, goal = objective[0]
        return assembled(sense, goal, self.meaning.columns, self.rows), self.notes

    def check_worded(self, firm: list[tuple[Piece, Statement]]) -> None:
        """A bullet or rule in words needs its formula: in the same item, or right after a colon.  A domain is one only of words on domains."""
        formulas = sorted(((p.line, p.bullet, _plain_domain(s)) for p, s in firm if s.relations), key=lambda x: x[0])
        lines = sorted(p.line for p in self.found.worded)
        names = {name for p, s in firm if s.relations for name in _row_names(p)}
        for p in self.found.worded:
            if about(p, names):  # words on a row of this name
                continue
            kind = re.search(r"negativ|integ|binary|whole|domain|0.{0,5}1|either|positive", p.raw, re.I)
            after = next(((line, bullet) for line, bullet, plain in formulas if line >= p.line and (kind or not plain)), None)
            between = after is not None and any(p.line < line <= after[0] for line in lines)
            if after is None or between or (after[1] and after[0] > p.line and not p.raw.rstrip().endswith(":")):
                raise Unsupported(f"line {p.line}: a constraint in words only, in '{p.raw[:120]}'")

    # -- statements
    def objective(self, s: Statement) -> tuple[str, Linear]:
        assert s.goal is not None
        if s.named and (s.named in self.meaning.variables or self.world.known(s.named)) and self.meaning.variables.get(s.named, 1) != 0:
            raise Unsupported(f"the objective's name '{s.named}' means something else")
        goal = s.goal
        if isinstance(goal, Extreme) and self.varies(goal) and (goal.word == "min") == (s.sense == "maximize"):
            return s.sense, {self.least(goal): Fraction(1)}
        found = self.meaning.linear(goal, {})
        if any(_nonzero(self.meaning.linear(e, {})) != _nonzero(found) for e in s.same):
            raise Unsupported("an objective with two right sides that differ")
        return s.sense, {k: v for k, v in found.items() if v or k is None}

    def least(self, e: Extreme) -> tuple[str, tuple[str, ...]]:
        """A column that is at most (min) or at least (max) each part: where the objective pulls it there, it is the extreme itself."""
        key = (f"{e.word} of {len(e.parts)}", ())
        self.meaning.columns[key] = Column(key[0])
        self.bounded.add(key)
        for part in e.parts:
            diff = {key: Fraction(1), None: Fraction(0)}
            for k, v in self.meaning.linear(part, {}).items():
                diff[k] = diff.get(k, Fraction(0)) - v
            self.keep(f"{e.word}_{len(self.rows)}", (diff, "<=" if e.word == "min" else ">="))
        return key

    def varies(self, e: Expr) -> bool:
        return any(isinstance(n, Symbol) and self.meaning.resolve(n)[0] in self.meaning.variables for n in walk(e))

    def apart(self, a: Expr, op: str, b: Expr) -> list[tuple[Expr, Expr]]:
        """a <= min{b, c} says a <= b and a <= c; so does max{a, b} <= c of its parts."""
        if isinstance(b, Extreme) and self.varies(b) and op == ("<=" if b.word == "min" else ">="):
            return [(a, part) for part in b.parts]
        if isinstance(a, Extreme) and self.varies(a) and op == (">=" if a.word == "min" else "<="):
            return [(part, b) for part in a.parts]
        return [(a, b)]

    def statement(self, s: Statement, p: Piece) -> None:
        last: Relation | None = None
        for relation in s.relations:
            last = relation
            if relation.domain:
                self.domain(relation, s)
            else:
                self.relation(relation, s, p)
        if s.kinds and last is not None:
            for kind in s.kinds:
                symbols = tuple(
                    e
                    for r in s.relations
                    for e in (*r.lefts, *r.rights)
                    if isinstance(e, Symbol) and self.meaning.resolve(e)[0] in self.meaning.variables
                )
                if not symbols or any(not isinstance(e, (Symbol, Number)) for r in s.relations for e in r.lefts):
                    raise Unsupported(f"'{kind}' said of a constraint")
                self.domain(Relation(symbols, domain=kind), s)

    def domain(self, relation: Relation, s: Statement) -> None:
        low, high, kind = _domain(relation)
        for left in relation.lefts:
            if not isinstance(left, Symbol):
                raise Unsupported("a domain of something that is no variable")
            name, subs = self.meaning.resolve(left)
            if name not in self.meaning.variables:
                if self.world.known(name):
                    continue  # said of data
                raise Unsupported(f"'{shown(left)}' is not a variable")
            if s.family or (not subs and self.meaning.variables[name] != 0):
                self.whole.setdefault(name, []).append((low, high, kind))
                continue
            for env in self.envs(Relation((left,)), s.scope):
                found = self.meaning.linear(left, env)
                for key in found:
                    self.bound(key, low, high, kind)

    def bound(self, key: Any, low: Fraction | None, high: Fraction | None, kind: str) -> None:
        column = self.meaning.columns[key]
        self.bounded.add(key)
        if low is not None:
            column.lower = low if column.lower is None else max(column.lower, low)
        if high is not None:
            column.upper = high if column.upper is None else min(column.upper, high)
        column.integer = column.integer or kind == "integer"

    def columns_of(self, symbol: Symbol, scope: Sequence[Clause]) -> None:
        for env in self.envs(Relation((symbol,)), scope):
            self.meaning.linear(symbol, env)

    def relation(self, relation: Relation, s: Statement, p: Piece) -> None:
        family = [
            e for e in relation.lefts if isinstance(e, Symbol) and not e.subs and (self.meaning.variables.get(self.meaning.resolve(e)[0], 0) != 0)
        ]
        if (family or s.family) and len(relation.ops) == 1:
            value = number(relation.rights[0])
            if value is None or relation.ops[0] not in ("<=", ">=") or not all(isinstance(e, Symbol) for e in relation.lefts):
                raise Unsupported("a variable without its subscripts")
            for e in relation.lefts:
                assert isinstance(e, Symbol)
                name = self.meaning.resolve(e)[0]
                low, high = (value, None) if relation.ops[0] == ">=" else (None, value)
                if name in self.meaning.variables:
                    self.whole.setdefault(name, []).append((low, high, ""))
            if len(family) == len(relation.lefts) or s.family:
                return
        for name, row in self.grounded(relation, s, p):
            self.keep(name, row)

    def grounded(self, relation: Relation, s: Statement, p: Piece) -> Iterator[tuple[str, tuple[Linear, str]]]:
        count = 0
        for env in self.envs(relation, s.scope):
            for left in relation.lefts:
                chain: Sequence[Expr] = (left, *relation.rights)
                for a, op, b in ((x, o, y) for u, o, v in zip(chain, relation.ops, chain[1:], strict=False) for x, y in self.apart(u, o, v)):
                    diff = dict(self.meaning.linear(a, env))
                    for k, v in self.meaning.linear(b, env).items():
                        diff[k] = diff.get(k, Fraction(0)) - v
                    count += 1
                    yield f"line{p.line}_{count}", (diff, op)

    def keep(self, name: str, row: tuple[Linear, str]) -> None:
        diff, op = row
        side = -diff.get(None, Fraction(0))
        coef = {k: v for k, v in diff.items() if k is not None and v}
        if not coef:
            true = {"<=": side >= 0, ">=": side <= 0, "=": side == 0, "<": side > 0, ">": side < 0, "!=": side != 0}[op]
            if not true:
                raise Unsupported(f"without a variable it says 0 {op} {side}, which is false for these data")
            return
        if op in ("<", ">", "!="):
            raise Unsupported(f"a strict relation ({op}) between variables")
        if len(coef) == 1:
            ((key, c),) = coef.items()
            value = side / c
            if op == "=":
                self.bound(key, value, value, "")
                self.fixed.add(key)
            else:
                lower = (op == ">=") == (c > 0)
                self.bound(key, value if lower else None, None if lower else value, "")
            return
        self.rows.append(Row(name, coef, None if op == "<=" else side, None if op == ">=" else side))

    def repeated(self, s: Statement, p: Piece) -> None:
        """A relation in a sentence: what the model states already, or nothing that can be let pass."""
        stated = {canonical(r) for r in self.rows}
        for relation in s.relations:
            if relation.domain:
                raise Unsupported("a domain inside a sentence")
            before = len(self.meaning.columns)
            for _, (diff, op) in self.grounded(relation, s, p):
                side = -diff.get(None, Fraction(0))
                coef = {k: v for k, v in diff.items() if k is not None and v}
                if not coef:
                    if {"<=": side >= 0, ">=": side <= 0, "=": side == 0, "<": side > 0, ">": side < 0, "!=": side != 0}[op]:
                        continue
                elif op in ("<=", ">=", "="):
                    if canonical(Row("", coef, None if op == "<=" else side, None if op == ">=" else side)) in stated:
                        continue
                    if len(coef) == 1 and self.implied(coef, op, side):
                        continue
                raise Unsupported("a relation inside a sentence, which may be a constraint and is not stated elsewhere")
            if len(self.meaning.columns) != before:
                raise Unsupported("a relation inside a sentence about variables that stand nowhere else")

    def implied(self, coef: dict[Any, Fraction], op: str, side: Fraction) -> bool:
        ((key, c),) = coef.items()
        column, value = self.meaning.columns[key], side / c
        low, high = op != "<=", op != ">="
        if c < 0 and op != "=":
            low, high = high, low
        return (not low or (column.lower is not None and column.lower >= value)) and (
            not high or (column.upper is not None and column.upper <= value)
        )

    def families(self) -> None:
        """Kinds that are said in words, of whole families or of one column."""
        for symbol, kind in self.single:
            self.domain(Relation((symbol,), domain=kind), Statement())
        for key, _ in list(self.meaning.columns.items()):
            name = key[0]
            said = set(self.kinds.get(name, set())) | self.found.all_kinds
            for kind in said:
                low, high, whole = _domain(Relation((), domain=kind))
                self.bound(key, low, high, whole)
            for low, high, whole in self.whole.get(name, []):
                self.bound(key, low, high, whole)
        unbounded = sorted({k[0] for k in self.meaning.columns if k not in self.bounded})
        if unbounded:
            self.note(f"no domain is stated, so continuous and without bounds: {', '.join(unbounded)}")

    def outside(self) -> None:
        for key, column in self.meaning.columns.items():
            if (
                column.outside
                and key not in self.fixed
                and not any(
                    key in r.coef and r.lower == r.upper and all(k == key or not self.meaning.columns[k].outside for k in r.coef) and len(r.coef) == 1
                    for r in self.rows
                )
            ):
                raise Unsupported(f"{column.name} leaves the set of its index and nothing says what it is")


def _nonzero(found: Linear) -> Linear:
    return {k: v for k, v in found.items() if v}


def _row_names(p: Piece) -> Iterator[str]:
    """What a row is called: its label, or its \\tag; numbers in parentheses."""
    tags = [tag.replace("\\_", "_").strip() for tag in re.findall(r"\\tag\*?\{(?:\\text\w*\{)?([^{}]*)", p.raw)]
    for name in (*tags, p.before.strip("`*:. []()")):
        if re.fullmatch(r"\d+", name):
            yield f"({name})"
        elif re.fullmatch(r"[A-Za-z]\w{2,}", name):
            yield name


def _domain(r: Relation) -> tuple[Fraction | None, Fraction | None, str]:
    zero, one = Fraction(0), Fraction(1)
    if r.domain == "within":
        return r.labels[0], r.labels[1], "integer"
    return {
        "binary": (zero, one, "integer"),
        "integer": (None, None, "integer"),
        "nonnegative integer": (zero, None, "integer"),
        "nonnegative": (zero, None, ""),
        "real": (None, None, ""),
    }[r.domain]


def _plain_domain(s: Statement) -> bool:
    """x >= 0 or x in {0,1} inside a sentence states a domain."""
    return bool(s.relations) and all(
        r.domain or (r.ops == (">=",) and r.rights == (Number(Fraction(0)),) and all(isinstance(e, Symbol) for e in r.lefts)) for r in s.relations
    )


