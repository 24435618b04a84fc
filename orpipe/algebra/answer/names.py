"""What the names in an answer are: sets, index letters, sizes, parameters, variables and their subscripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from orpipe.algebra.answer.domains import number
from orpipe.algebra.answer.forms import Clause, Expr, Number, SetExpr, Sum, Symbol, shown, walk
from orpipe.algebra.answer.lines import CONS, PARAMS, SETS, Piece
from orpipe.algebra.answer.meaning import Meaning
from orpipe.algebra.answer.statements import Statement
from orpipe.algebra.answer.world import World
from orpipe.errors import DataError, Unsupported

_LETTERS = set("ijklmnpqrstuvwcdbfghaeo")


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


class Names:
    """Declarations and usage of one answer, looked through once; `meaning` knows them afterwards."""

    def __init__(self, found: Collected):
        self.found, self.world = found, found.world
        self.meaning = Meaning(found.world)
        self.kinds: dict[str, set[str]] = {}
        self.single: list[tuple[Symbol, str]] = []  # x_1 binary

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
            for e in exprs(s):
                for node in walk(e):
                    if isinstance(node, Sum):
                        yield from node.scope
            for made in (*s.sets.values(), *(made for _, made in s.families.values())):
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
            for name, family in s.families.items():
                if name in self.meaning.families and self.meaning.families[name] != family:
                    raise Unsupported(f"line {p.line}: the sets '{name}' are defined twice")
                self.meaning.families[name] = family
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
        for c in self.scopes():
            if c.kind == "in" and c.set is not None and c.set.kind == "family" and len(c.letters) == 1:
                base = self.family_base(c.set.name)
                if base and not m.letters.get(c.letters[0]):
                    m.letters[c.letters[0]] = {base}
        direct = {k: set(v) for k, v in m.letters.items()}
        for _, s in self.statements():
            for e in exprs(s):
                for node in walk(e):
                    if isinstance(node, Symbol):
                        name, subs = m.resolve(node)
                        dims = world.dims.get(name, ())
                        parts = [t[0].text for t in subs]
                        if len(subs) == 1 and len(dims) > 1:
                            parts = list("".join(t.text for t in subs[0]))
                        if len(parts) == len(dims):
                            for part, fits in zip(parts, dims, strict=True):
                                if (
                                    part not in direct
                                    and fits
                                    and len(part) == 1
                                    and part.isalpha()
                                    and part not in {x for f in fits for x in world.sets[f]}
                                ):
                                    exact = [f for f in fits if len(world.sets[f]) == len(world.sets[fits[0]])]
                                    m.letters.setdefault(part, set()).update(
                                        exact
                                        if len(exact) > 1 and not (m.letters.get(part, set()) & set(exact))
                                        else []
                                        if len(exact) > 1
                                        else [exact[0]]
                                    )
        for c in self.scopes():  # for i = 1, 2, 3
            labels = c.set.labels if c.kind == "in" and c.set is not None and c.set.kind == "list" else ()
            if labels and labels == tuple(str(k + 1) for k in range(len(labels))) and not m.letters.get(c.letters[0]):
                m.letters[c.letters[0]] = {f"#1..{len(labels)}"}
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
                    pairs = world.tuples.get(known) or [(x,) for x in world.sets.get(known, [])]
                    if sorted(pairs) != sorted(tuple(at.label for at in r) for r in rows):
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

    def family_base(self, name: str) -> str:
        """The set that the members of N_j are of, "" if that is not certain."""
        world, family = self.world, self.meaning.families.get(name)
        if family is None:
            return world.family_base(world.known(name)) if world.known(name) in world.families else ""
        made = family[1]
        for c in made.scope if len(made.letters) == 1 else ():
            known = world.known(c.set.name) if c.kind == "in" and c.set is not None and c.set.kind == "name" else ""
            if c.letters == made.letters and known in world.sets:
                return known
            if made.letters[0] in c.letters and len(world.bases.get(known, ())) == len(c.letters):
                return world.bases[known][c.letters.index(made.letters[0])]
        return ""

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
        given: dict[str, dict[tuple[str, ...], Fraction]] = {}
        for p, s in self.statements():
            for relation in list(s.relations):
                if relation.ops == ("=",) and len(relation.lefts) == 1 and isinstance(relation.lefts[0], Symbol) and not s.scope:
                    left = relation.lefts[0]
                    value = number(relation.rights[0])
                    key = tuple("".join(t.text for t in sub) for sub in left.subs)
                    if value is None or left.name in m.variables or (p.section == CONS and not self.only_data(left.name)) or world.known(left.name):
                        continue
                    table = given.setdefault(left.name, {})
                    if table.get(key, value) != value:
                        raise Unsupported(f"line {p.line}: '{shown(left)}' is given twice, in '{p.raw[:100]}'")
                    table[key] = value
                    s.relations.remove(relation)
        for name, table in given.items():
            for key, value in table.items():
                if key and not any("," in k for k in key):  # profit_small = 8, wherever it is called by its whole name
                    whole = "_".join((name, *key))
                    if world.known(whole) in world.params and world.params[world.known(whole)] != {(): value}:
                        raise Unsupported(f"'{whole}' is {value} in the text and something else in the data")
                    world.params.setdefault(whole, {(): value})
                    world.dims.setdefault(whole, ())
            if len({len(key) for key in table}) == 1:
                world.params[name] = table
                world.dims[name] = tuple(() for _ in next(iter(table)))
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
            for e in exprs(s):
                for node in walk(e):
                    if (
                        isinstance(node, Symbol)
                        and not self.known(node)
                        and not self.letter(node.name)
                        and not self.found.has_data
                        and not self.parameter(node.name)
                        and node.name not in self.found.unvalued
                    ):
                        self.variable(node, frozenset())

    def only_data(self, name: str) -> bool:
        return any(isinstance(n, Symbol) and n.name == name for _, s in self.statements() if s.sense for e in exprs(s) for n in walk(e)) is False

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
        if (
            s.subs
            and len(joined) > 1
            and joined.isalpha()
            and len(s.subs) == 1
            and s.subs[0][0].text not in m.letters
            and not all(c in m.letters for c in joined)
            and self.found.has_data
            and joined.lower() in ("max", "min", "tot", "total", "net", "avg")
        ):
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
        symbols = [node for _, s in self.statements() for e in exprs(s) for node in walk(e) if isinstance(node, Symbol)]
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
        for places in m.places.values():
            if any(len(p) > 1 for p in places):  # used over a set and its subset: the largest
                for p in places:
                    big = [x for x in p if x in self.world.sets and all(set(self.world.sets.get(y, ())) <= set(self.world.sets[x]) for y in p)]
                    if len(p) > 1 and big:
                        p.intersection_update(big[:1])


def exprs(s: Statement) -> Iterator[Expr]:
    if s.goal is not None:
        yield s.goal
        yield from s.same
    for r in s.relations:
        yield from r.lefts
        yield from r.rights
    for c in s.scope:
        yield from c.parts
    for made in (*s.sets.values(), *(made for _, made in s.families.values())):
        for c in made.scope:
            yield from c.parts
