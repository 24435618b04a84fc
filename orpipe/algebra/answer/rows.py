"""Statements collected from an answer -> columns, bounds and rows of a Problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from orpipe.algebra.answer.lines import CONS, PARAMS, SETS, Piece
from orpipe.algebra.answer.meaning import Env, Linear, Meaning, World, shown, walk
from orpipe.algebra.answer.statements import Statement
from orpipe.algebra.answer.syntax import Clause, Expr, Number, Operation, Relation, SetExpr, Sum, Symbol
from orpipe.errors import DataError, ParseError, Unsupported
from orpipe.exact import Exact
from orpipe.problem import Problem


@dataclass
class Collected:
    """What the text says, in order."""

    world: World = field(default_factory=World)
    stated: list[tuple[Piece, Statement]] = field(default_factory=list)
    declared: list[tuple[Piece, Symbol, frozenset[str], tuple[Clause, ...]]] = field(default_factory=list)
    mentioned: list[tuple[Symbol, frozenset[str], tuple[Clause, ...]]] = field(default_factory=list)
    worded: list[Piece] = field(default_factory=list)
    all_kinds: set[str] = field(default_factory=set)
    pending: str = ""
    unvalued: set[str] = field(default_factory=set)  # numbers named without their value
    has_data: bool = False

    def start(self, data: Any, model: Any) -> None:
        self.world, self.has_data = World.of(data, model), bool(data)

    def circular(self, text: str) -> None:
        for name in self.world.sets:
            if text.strip().split(" ")[0].strip("$:,") == name:
                self.world.cyclic.add(name)

    def declare(self, symbols: Iterable[Expr], kinds: set[str], piece: Piece, scope: Sequence[Clause] = ()) -> None:
        for s in symbols:
            if not isinstance(s, Symbol):
                raise Unsupported("what is declared is not understood")
            if not (self.world.known(s.name) and not kinds):
                self.declared.append((piece, s, frozenset(kinds), tuple(scope)))

    def mention(self, symbols: Iterable[Symbol], kinds: set[str], scope: Sequence[Clause]) -> None:
        self.mentioned += [(s, frozenset(kinds), tuple(scope)) for s in symbols]

    def add(self, piece: Piece, statement: Statement) -> None:
        self.stated.append((piece, statement))


def build(found: Collected) -> tuple[Problem, list[str]]:
    """Raises ParseError without an objective, Unsupported with the line otherwise."""
    return _Builder(found).problem()


@dataclass
class _Row:
    name: str
    coef: dict[Any, Fraction]
    lower: Fraction | None
    upper: Fraction | None


class _Builder:
    def __init__(self, found: Collected):
        self.found, self.world = found, found.world
        self.meaning = Meaning(found.world)
        self.kinds: dict[str, set[str]] = {}
        self.whole: dict[str, list[tuple[Fraction | None, Fraction | None, str]]] = {}
        self.rows: list[_Row] = []
        self.notes: list[str] = []
        self.bounded: set[Any] = set()
        self.fixed: set[Any] = set()
        self.single: list[tuple[Symbol, str]] = []  # x_1 binary

    # -- what names are
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
        return self.made(*objective[0]), self.notes

    def placed(self, p: Piece, work: Any) -> Any:
        try:
            return work()
        except (Unsupported, DataError) as error:
            raise Unsupported(f"line {p.line}: {error}, in '{' '.join(p.raw.split())[:120]}'") from None

    def statements(self) -> Iterator[tuple[Piece, Statement]]:
        return iter(self.found.stated)

    def scopes(self) -> Iterator[Clause]:
        for _, s in self.statements():
            yield from s.scope
            for e in _exprs(s):
                for node in walk(e):
                    if isinstance(node, Sum):
                        yield from node.scope
            for made in s.sets.values():
                yield from made.scope
        for _, _, _, scope in self.found.declared:
            yield from scope
        for _, _, scope in self.found.mentioned:
            yield from scope

    def sets(self) -> None:
        """Sets that the text defines itself: lists, ranges; comprehensions after them."""
        world = self.world
        later: list[tuple[Piece, str, SetExpr]] = []
        for p, s in self.statements():
            for name, values in s.values.items():
                if name in world.params:
                    raise Unsupported(f"line {p.line}: '{name}' is given in the data and again in the text")
                world.params[name] = {(str(k),): v for k, v in enumerate(values, start=1)}
                world.dims[name] = ((),)
            for name, made in s.sets.items():
                if made.kind == "list":
                    given = world.sets.get(world.known(name))
                    if given is None:
                        world.sets[name] = list(made.labels)
                    elif given != list(made.labels) and sorted(given) != sorted(made.labels):
                        raise Unsupported(f"line {p.line}: the set {name} is not the one of the data, in '{p.raw[:100]}'")
                elif made.kind == "range":
                    later.insert(0, (p, name, made))
                elif made.kind != "name":
                    later.append((p, name, made))
        self.later = later

    def indices(self) -> None:
        """Which set each letter runs over, and what n, m stand for."""
        m, world = self.meaning, self.world
        for c in self.scopes():
            for letter in c.letters:
                if c.kind == "in" and c.set is not None and c.set.kind == "name":
                    name = world.known(c.set.name)
                    if name in world.sets and len(letter) <= 2:
                        m.letters.setdefault(letter, set()).add(name)
                    elif name in world.tuples and len(c.letters) == len(world.bases.get(name, ())):
                        base = world.bases[name][c.letters.index(letter)]
                        if base:
                            m.letters.setdefault(letter, set()).add(base)
        direct = {k: set(v) for k, v in m.letters.items()}
        for _, s in self.statements():
            for e in _exprs(s):
                for node in walk(e):
                    if isinstance(node, Symbol):
                        name, subs = m.resolve(node)
                        dims = world.dims.get(name, ())
                        parts = [t[0].text for t in subs]
                        if len(subs) == 1 and len(dims) > 1:
                            parts = list("".join(t.text for t in subs[0]))
                        if len(parts) == len(dims):
                            for part, fits in zip(parts, dims, strict=True):
                                if part not in direct and fits and len(part) == 1 and part.isalpha() and part not in {x for f in fits for x in world.sets[f]}:
                                    exact = [f for f in fits if len(world.sets[f]) == len(world.sets[fits[0]])]
                                    m.letters.setdefault(part, set()).update(exact if len(exact) > 1 and not (m.letters.get(part, set()) & set(exact)) else [] if len(exact) > 1 else [exact[0]])
        ranges = [c for c in self.scopes() if c.kind == "range"]
        for p, name, made in list(self.later):
            if made.kind == "range":
                self.count(made.high, "", name)
                given = world.sets.get(world.known(name))
                if given is not None:
                    if isinstance(made.high, Number) and made.low == Number(Fraction(1)) and len(given) != made.high.value:
                        raise Unsupported(f"line {p.line}: the set {name} is not the one of the data, in '{p.raw[:100]}'")
                    continue
                low, high = (self.placed(p, lambda e=e: m.whole(e, {})) for e in (made.low, made.high))
                world.sets[name] = [str(k) for k in range(low, high + 1)]
        for c in ranges:
            if c.high is not None:
                self.count(c.high, c.letters[0], "")
        for c in self.scopes():
            if c.kind == "in" and c.set is not None:
                name = world.known(c.set.name) if c.set.kind == "name" else ""
                for letter in c.letters:
                    if name in world.sets:
                        m.letters.setdefault(letter, set()).add(name)
        for c in ranges:
            letter = c.letters[0]
            if not m.letters.get(letter) and c.low is not None and c.high is not None:
                try:
                    m.letters.setdefault(letter, set()).add(f"#{m.whole(c.low, {})}..{m.whole(c.high, {})}")
                except Unsupported:
                    continue
        for p, name, made in self.later:
            if made.kind != "range":
                rows = self.placed(p, lambda made=made: m.members(made, {}, ""))
                known = world.known(name)
                if known:
                    given = world.tuples.get(known) or [(x,) for x in world.sets.get(known, [])]
                    if sorted(given) != sorted(tuple(at.label for at in r) for r in rows):
                        raise Unsupported(f"line {p.line}: the set {name} is not the one of the data, in '{p.raw[:100]}'")
                    continue
                bases = tuple(at.set for at in rows[0]) if rows else ()
                if made.kind in ("minus",) and rows and len(rows[0]) == 1:
                    world.tuples[name], world.bases[name] = [(r[0].label,) for r in rows], bases
                else:
                    world.tuples[name], world.bases[name] = [tuple(at.label for at in r) for r in rows], bases
                for c in self.scopes():
                    if c.kind == "in" and c.set is not None and c.set.name == name and len(c.letters) == len(bases):
                        for letter, base in zip(c.letters, bases, strict=True):
                            if base:
                                m.letters.setdefault(letter, set()).add(base)

    def count(self, high: Expr | None, letter: str, name: str) -> None:
        """n in 1..n: the size of the set that its letter runs over."""
        m = self.meaning
        if not isinstance(high, Symbol) or high.subs or self.world.known(high.name) or high.name in m.sizes:
            return
        found = {name} if name else {s for s in m.letters.get(letter, set()) if not s.startswith("#")}
        found &= set(self.world.sets)
        if len(found) == 1:
            where = next(iter(found))
            m.sizes[high.name], m.ranged[high.name] = Fraction(len(self.world.sets[where])), where

    def names(self) -> None:
        """Which symbols are variables; numbers that the text gives."""
        m, world = self.meaning, self.world
        said: list[tuple[Symbol, frozenset[str]]] = [(s, kinds) for _, s, kinds, _ in self.found.declared]
        for p, s in self.statements():
            for relation in s.relations:
                if (relation.domain or s.kinds) and p.section not in (SETS,):
                    said += [(e, frozenset()) for e in relation.lefts if isinstance(e, Symbol)]
        for symbol, kinds in said:
            self.variable(symbol, kinds)
        for symbol, kinds, _ in self.found.mentioned:
            if kinds and not world.known(symbol.name):
                self.variable(symbol, kinds)
        for p, s in self.statements():
            for relation in list(s.relations):
                if relation.ops == ("=",) and len(relation.lefts) == 1 and isinstance(relation.lefts[0], Symbol) and not s.scope:
                    left = relation.lefts[0]
                    value = _number(relation.rights[0])
                    key = tuple("".join(t.text for t in sub) for sub in left.subs)
                    if value is None or left.name in m.variables or (p.section == CONS and not self.only_data(left.name)) or world.known(left.name):
                        continue
                    if not p.firm and p.section not in (PARAMS, SETS):
                        pass
                    world.params.setdefault(left.name, {})[key] = value
                    world.dims[left.name] = tuple(() for _ in key)
                    s.relations.remove(relation)
        for p, s in self.statements():
            domain = [r for r in s.relations if r.ops and all(isinstance(x, Number) for x in r.rights)]
            for r in domain:
                if p.section in (SETS, PARAMS) or r.ops[0] == "=":
                    continue
                for e in r.lefts:
                    if isinstance(e, Symbol) and not self.known(e) and not self.parameter(e.name):
                        self.variable(e, frozenset())
            for r in s.relations:  # 0 <= x <= u
                if len(r.ops) == 2 and isinstance(r.rights[0], Symbol) and not self.known(r.rights[0]) and not self.parameter(r.rights[0].name):
                    self.variable(r.rights[0], frozenset())
        for _, s in self.statements():
            for e in _exprs(s):
                for node in walk(e):
                    if isinstance(node, Symbol) and not self.known(node) and not self.letter(node.name) and not self.found.has_data and not self.parameter(node.name):
                        self.variable(node, frozenset())

    def only_data(self, name: str) -> bool:
        return any(isinstance(n, Symbol) and n.name == name for _, s in self.statements() if s.sense for e in _exprs(s) for n in walk(e)) is False

    def parameter(self, name: str) -> bool:
        """Is it introduced under parameters or sets?  Then a missing value is a missing value."""
        for p, s in self.statements():
            if p.section in (PARAMS, SETS) and any(isinstance(e, Symbol) and e.name == name for r in s.relations for e in r.lefts):
                return True
        return False

    def letter(self, name: str) -> bool:
        return name in self.meaning.letters and not any(name == s.name for _, s, _, _ in self.found.declared)

    def known(self, s: Symbol) -> bool:
        name, _ = self.meaning.resolve(s)
        return bool(self.world.known(name)) or name in self.meaning.variables or name in self.meaning.sizes or name in ("first", "last")

    def variable(self, s: Symbol, kinds: frozenset[str]) -> None:
        m = self.meaning
        power = "".join(t.text for t in s.power)
        name = s.name + (f"_{power}" if power else "")
        joined = "_".join("".join(t.text for t in sub) for sub in s.subs)
        if s.subs and len(joined) > 1 and joined.isalpha() and len(s.subs) == 1 and s.subs[0][0].text not in m.letters and not all(c in m.letters for c in joined) and self.found.has_data and joined.lower() in (
                "max", "min", "tot", "total", "net", "avg"):
            name, s = f"{name}_{joined}", Symbol(f"{name}_{joined}")
        if self.world.known(name):
            raise Unsupported(f"'{name}' is a name of the data and is declared as a variable")
        m.variables.setdefault(name, None)
        general = all(self.general(t.text) for sub in s.subs for t in sub[:1])
        self.kinds.setdefault(name, set()).update(kinds if general else ())
        if not general:
            self.single += [(s, kind) for kind in sorted(kinds)]

    def general(self, text: str) -> bool:
        """Is a subscript made of index letters?"""
        letters = self.meaning.letters
        return text in letters or all(c in letters for c in text) or text in _LETTERS

    def shapes(self) -> None:
        """Numbers of subscripts, and the sets in each place."""
        m = self.meaning
        seen: dict[str, set[int]] = {}
        symbols = [node for _, s in self.statements() for e in _exprs(s) for node in walk(e) if isinstance(node, Symbol)]
        symbols += [s for _, s, _, _ in self.found.declared]
        for node in symbols:
            name, subs = m.resolve(node)
            if name not in m.variables or not subs:
                continue
            parts = [t[0].text for t in subs]
            if len(subs) == 1 and all(t.kind in ("name", "num") for t in subs[0]):
                flat = "".join(t.text for t in subs[0])
                if len(flat) > 1 and all(c in m.letters or c.isdigit() for c in flat) and any(c in m.letters for c in flat):
                    parts = list(flat)
                elif subs[0][0].kind == "num":
                    continue
            seen.setdefault(name, set()).add(len(parts))
            places = m.places.setdefault(name, [])
            for k, part in enumerate(parts):
                while len(places) <= k:
                    places.append(set())
                places[k] |= {s for s in m.letters.get(part, set()) if not s.startswith("#")}
        for name in m.variables:
            widths = seen.get(name, set())
            if len(widths) == 1:
                m.variables[name] = next(iter(widths))
            elif len(widths) > 1:
                raise Unsupported(f"'{name}' stands with {' and '.join(map(str, sorted(widths)))} subscripts")
            elif not any(m.resolve(x)[0] == name and m.resolve(x)[1] for x in symbols):
                m.variables[name] = 0
        for name, places in m.places.items():
            if any(len(p) > 1 for p in places):  # used over a set and its subset: the largest
                for p in places:
                    big = [x for x in p if x in self.world.sets and all(set(self.world.sets.get(y, ())) <= set(self.world.sets[x]) for y in p)]
                    if len(p) > 1 and big:
                        p.intersection_update(big[:1])

    def check_worded(self, firm: list[tuple[Piece, Statement]]) -> None:
        """A bullet or rule in words needs its formula: in the same item, or right after a colon."""
        formulas = sorted(((p.line, p.bullet) for p, s in firm if s.relations), key=lambda x: x[0])
        lines = sorted(p.line for p in self.found.worded)
        for p in self.found.worded:
            after = next(((line, bullet) for line, bullet in formulas if line >= p.line), None)
            between = after is not None and any(p.line < line <= after[0] for line in lines)
            if after is None or between or (after[1] and after[0] > p.line and not p.raw.rstrip().endswith(":")):
                raise Unsupported(f"line {p.line}: a constraint in words only, in '{p.raw[:120]}'")

    # -- statements
    def objective(self, s: Statement) -> tuple[str, Linear]:
        assert s.goal is not None
        if s.named and (s.named in self.meaning.variables or self.world.known(s.named)) and self.meaning.variables.get(s.named, 1) != 0:
            raise Unsupported(f"the objective's name '{s.named}' means something else")
        return s.sense, {k: v for k, v in self.meaning.linear(s.goal, {}).items() if v or k is None}

    def envs(self, relation: Relation, scope: Sequence[Clause], conditions: bool = True) -> Iterator[Env]:
        bound = {k for c in scope for k in c.letters}
        free: dict[str, None] = {}
        for e in (*relation.lefts, *relation.rights):
            for letter in self.free(e, frozenset()):
                free.setdefault(letter)
        conditioned = {n.name for c in scope for part in c.parts for n in walk(part) if isinstance(n, Symbol) and not n.subs}
        missing = [k for k in free if k not in bound]
        if missing:
            inner = {k for e in (*relation.lefts, *relation.rights) for n in walk(e) if isinstance(n, Sum) for c in n.scope for k in c.letters}
            clash = [k for k in missing if k in inner]
            if clash:
                raise Unsupported(f"the index '{clash[0]}' stands inside and outside the sum that binds it")
            if not (set(missing) & conditioned):
                self.note(f"free indices run over their whole sets: {', '.join(missing)}")
        outer = {k for e in (*relation.lefts, *relation.rights) for n in walk(e) if isinstance(n, Sum) for k in _outer(n, bound)}
        scope = _needed(scope, set(free) | outer)
        unused = [c for c in scope if c.kind == "all" and all(k not in free and k not in self.meaning.letters for k in c.letters)]
        if unused:
            raise Unsupported(f"'for all {', '.join(unused[0].letters)}' is not understood")
        full = [*scope, *(Clause("all", (k,)) for k in missing)]
        yield from self.meaning.expand(full, {}) if full else iter([{}])

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def free(self, e: Expr, bound: frozenset[str]) -> Iterator[str]:
        m = self.meaning
        if isinstance(e, Operation):
            yield from self.free(e.left, bound)
            if e.right is not None:
                yield from self.free(e.right, bound)
        elif isinstance(e, Sum):
            inner = bound | {k for c in e.scope for k in c.letters} | {
                p.name for c in e.scope for p in c.parts if isinstance(p, Symbol) and not p.subs and m.is_letter(p.name) and not m.letters.get(p.name, set()) <= set() and self.loose(e, p.name)}
            for c in e.scope:
                for part in (*c.parts, c.low, c.high):
                    if part is not None:
                        yield from self.free(part, inner)
            yield from self.free(e.body, inner)
        elif isinstance(e, Symbol):
            name, subs = m.resolve(e)
            if not subs and not e.subs:
                if self.letter(name) and name not in bound and not m.known_constant(name) and name not in m.variables:
                    yield name
                return
            width = m.variables.get(name) if name in m.variables else len(self.world.dims.get(name, ()))
            if len(subs) == 1 and width not in (1, 0):
                subs = Meaning.split(subs[0], width, {}) or subs
                if len(subs) == 1 and width is None and all(c in m.letters for c in subs[0][0].text):
                    subs = tuple((type(subs[0][0])("name", c),) for c in subs[0][0].text)
            for sub in subs:
                head = sub[0].text + ("'" if len(sub) > 1 and sub[1].kind == "'" else "")
                if sub[0].kind == "name" and head.rstrip("'") in m.letters and head not in bound and not m.known_constant(head):
                    yield head

    def loose(self, e: Sum, name: str) -> bool:
        """A letter that only a condition of the sum names (j != i) and its body uses: the sum binds it if it binds nothing else."""
        binds = {k for c in e.scope for k in c.letters}
        names = [p.name for c in e.scope for p in c.parts if isinstance(p, Symbol) and not p.subs]
        return not binds and (names[0] == name or all(x in ("<", "<=", ">", ">=") for c in e.scope for x in c.ops))

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
                symbols = tuple(e for r in s.relations for e in (*r.lefts, *r.rights) if isinstance(e, Symbol) and self.meaning.resolve(e)[0] in self.meaning.variables)
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
        family = [e for e in relation.lefts if isinstance(e, Symbol) and not e.subs and (self.meaning.variables.get(self.meaning.resolve(e)[0], 0) != 0)]
        if (family or s.family) and len(relation.ops) == 1:
            value = _number(relation.rights[0])
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
                for a, op, b in zip(chain, relation.ops, chain[1:], strict=False):
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
        self.rows.append(_Row(name, coef, None if op == "<=" else side, None if op == ">=" else side))

    def repeated(self, s: Statement, p: Piece) -> None:
        """A relation in a sentence: what the model states already, or nothing that can be let pass."""
        stated = {_canonical(r) for r in self.rows}
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
                    if _canonical(_Row("", coef, None if op == "<=" else side, None if op == ">=" else side)) in stated:
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
        return (not low or (column.lower is not None and column.lower >= value)) and (not high or (column.upper is not None and column.upper <= value))

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
            if column.outside and key not in self.fixed and not any(key in r.coef and r.lower == r.upper and all(k == key or not self.meaning.columns[k].outside for k in r.coef) and len(r.coef) == 1 for r in self.rows):
                raise Unsupported(f"{column.name} leaves the set of its index and nothing says what it is")

    def made(self, sense: str, goal: Linear) -> Problem:
        columns = list(self.meaning.columns)
        if not columns:
            raise ParseError("the model has no variable")
        index = {key: k for k, key in enumerate(columns)}
        entries = [(i, index[k], v) for i, r in enumerate(self.rows) for k, v in sorted(r.coef.items(), key=lambda kv: index[kv[0]])]
        matrix = sp.csr_array(([float(v) for *_, v in entries], ([i for i, _, _ in entries], [j for _, j, _ in entries])), shape=(len(self.rows), len(columns)))
        matrix.sort_indices()
        cols = [self.meaning.columns[k] for k in columns]
        lows, highs = [r.lower for r in self.rows], [r.upper for r in self.rows]

        def floats(values: list[Fraction | None], none: float) -> np.ndarray:
            return np.array([none if v is None else float(v) for v in values], dtype=float)

        return Problem(
            name="answer", maximize=sense == "maximize", columns=tuple(c.name for c in cols), rows=tuple(r.name for r in self.rows),
            cost_exact=_exact([goal.get(k, Fraction(0)) for k in columns]), offset=goal.get(None, Fraction(0)), matrix=matrix,
            matrix_exact=_exact([v for *_, v in entries]), row_lower_exact=_exact(lows), row_upper_exact=_exact(highs),
            lower_exact=_exact([c.lower for c in cols]), upper_exact=_exact([c.upper for c in cols]),
            row_lower=floats(lows, -np.inf), row_upper=floats(highs, np.inf),
            lower=floats([c.lower for c in cols], -np.inf), upper=floats([c.upper for c in cols], np.inf),
            integer=np.array([c.integer for c in cols], bool), decision=np.ones(len(cols), bool),
        )


_LETTERS = set("ijklmnpqrstuvwcdbfghaeo")


def _exprs(s: Statement) -> Iterator[Expr]:
    if s.goal is not None:
        yield s.goal
    for r in s.relations:
        yield from r.lefts
        yield from r.rights
    for c in s.scope:
        yield from c.parts
    for made in s.sets.values():
        for c in made.scope:
            yield from c.parts


def _domain(r: Relation) -> tuple[Fraction | None, Fraction | None, str]:
    zero, one = Fraction(0), Fraction(1)
    if r.domain == "within":
        return r.labels[0], r.labels[1], "integer"
    return {"binary": (zero, one, "integer"), "integer": (None, None, "integer"), "nonnegative integer": (zero, None, "integer"), "nonnegative": (zero, None, ""),
            "real": (None, None, "")}[r.domain]


def _plain_domain(s: Statement) -> bool:
    """x >= 0 or x in {0,1} inside a sentence states a domain."""
    return bool(s.relations) and all(r.domain or (r.ops == (">=",) and r.rights == (Number(Fraction(0)),) and all(isinstance(e, Symbol) for e in r.lefts)) for r in s.relations)


def _outer(e: Sum, bound: set[str]) -> set[str]:
    """The letters of a sum over pairs that stand for the row's own: j in «i : (i,j) in A», i in «(i,j) in A» for all i."""
    single = {k for c in e.scope if len(c.letters) == 1 or c.kind == "all" for k in c.letters}
    paired = {k for c in e.scope if c.kind in ("in", "notin") and len(c.letters) > 1 for k in c.letters}
    named = {n.name for c in e.scope for part in c.parts for n in walk(part) if isinstance(n, Symbol) and not n.subs}
    if single:
        return (paired | named) - single
    return ((paired & bound) if not paired <= bound else set()) | (named - paired)


def _needed(scope: Sequence[Clause], letters: set[str]) -> list[Clause]:
    """The clauses that a relation over these letters depends on: a scope may serve several relations."""
    def named(c: Clause) -> set[str]:
        return set(c.letters) | {n.name for part in (*c.parts, c.low, c.high) for n in walk(part) if isinstance(n, Symbol) and not n.subs} | {
            t.text for part in c.parts for n in walk(part) if isinstance(n, Symbol) for sub in n.subs for t in sub}

    while True:
        more = {k for c in scope for k in named(c) if named(c) & letters} - letters
        if not more:
            return [c for c in scope if named(c) & letters]
        letters = letters | more


def _number(e: Expr) -> Fraction | None:
    if isinstance(e, Number):
        return e.value
    if isinstance(e, Operation):
        left, right = _number(e.left), _number(e.right) if e.right is not None else None
        if e.op == "neg" and left is not None:
            return -left
        if e.op == "/" and left is not None and right:
            return left / right
    return None


def _canonical(r: _Row) -> tuple[Any, ...]:
    key, first = min(r.coef.items(), key=lambda kv: repr(kv[0]))
    low, high = (None if v is None else v / first for v in (r.lower, r.upper))
    if first < 0:
        low, high = high, low
    return (frozenset((k, v / first) for k, v in r.coef.items()), low, high)


def _exact(values: Sequence[Fraction | None]) -> Exact:
    return Exact.of([Fraction(0) if v is None else v for v in values])
