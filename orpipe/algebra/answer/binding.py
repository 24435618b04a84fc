"""Which indices a relation is free in, and over what they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orpipe.algebra.answer.forms import Clause, Expr, Extreme, Operation, Relation, Sum, Symbol, set_letters, walk
from orpipe.algebra.answer.meaning import Env, Meaning
from orpipe.algebra.answer.names import Collected, Names
from orpipe.errors import Unsupported


class Binding(Names):
    """Names, with the indices of relations bound."""

    def __init__(self, found: Collected):
        super().__init__(found)
        self.notes: list[str] = []

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
            inner = (
                bound
                | {k for c in e.scope for k in c.letters}
                | {
                    p.name
                    for c in e.scope
                    for p in c.parts
                    if isinstance(p, Symbol)
                    and not p.subs
                    and m.is_letter(p.name)
                    and not m.letters.get(p.name, set()) <= set()
                    and self.loose(e, p.name)
                }
            )
            for c in e.scope:
                for part in (*c.parts, c.low, c.high):
                    if part is not None:
                        yield from self.free(part, inner)
                yield from (k for k in set_letters(c) if k in m.letters and k not in inner)
            yield from self.free(e.body, inner)
        elif isinstance(e, Extreme):
            for part in e.parts:
                yield from self.free(part, bound)
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
        return (
            set(c.letters)
            | {n.name for part in (*c.parts, c.low, c.high) for n in walk(part) if isinstance(n, Symbol) and not n.subs}
            | set(set_letters(c))
            | {t.text for part in c.parts for n in walk(part) if isinstance(n, Symbol) for sub in n.subs for t in sub}
            | {k for part in c.parts for n in walk(part) if isinstance(n, Symbol) for sub in n.subs for t in sub for k in t.text}  # r_{jl}
        )

    while True:
        more = {k for c in scope for k in named(c) if named(c) & letters} - letters
        if not more:
            return [c for c in scope if named(c) & letters]
        letters = letters | more
