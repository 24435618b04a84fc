"""Parsed statements + data -> Problem, by plain enumeration in exact arithmetic.

What a name means is looked up, never guessed: an index without a set, a symbol without a value, a subscript outside its
data raise Unsupported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from orpipe.algebra.answer.forms import Clause, Expr, Extreme, Number, Operation, SetExpr, Size, Sum, Symbol, shown, walk
from orpipe.algebra.answer.places import Env, Places
from orpipe.algebra.answer.world import At
from orpipe.errors import Unsupported

Linear = dict[Any, Fraction]  # column -> coefficient; None: the constant


@dataclass
class Meaning(Places):
    """Evaluates expressions."""

    # -- sets and scopes
    def expand(self, scope: Sequence[Clause], env: Env, outer: Env | None = None) -> Iterator[Env]:
        """Every way to bind the letters of a scope."""
        binding = [c for c in scope if c.kind in ("in", "range", "all")]
        late = [c for c in scope if c.kind in ("compare", "notin")]
        mine = {letter for c in binding for letter in c.letters}
        loose = [
            k
            for c in late
            for part in (*c.parts, *(Symbol(x) for x in c.letters if c.kind == "notin"))
            for k in (
                [part.name]
                if isinstance(part, Symbol) and not part.subs and part.name not in mine and part.name not in env and self.is_letter(part.name)
                else []
            )
        ]
        binding += [Clause("all", (k,)) for k in dict.fromkeys(loose)]
        yield from self._bind(binding, late, env, frozenset(env))

    def _bind(self, binding: list[Clause], late: list[Clause], env: Env, outer: frozenset[str]) -> Iterator[Env]:
        if not binding:
            if all(self.holds(c, env) for c in late):
                self.step()
                yield env
            return
        first, rest = binding[0], binding[1:]
        for wide in self._clause(first, env, outer, rest):
            yield from self._bind(rest, late, wide, outer)

    def _clause(self, c: Clause, env: Env, outer: frozenset[str], rest: list[Clause]) -> Iterator[Env]:
        if c.kind == "in" and c.set is not None:
            rows = self.members(c.set, env, c.letters[0])
            width = len(rows[0]) if rows else len(c.letters)
            if width == 1 and len(c.letters) > 1:  # i, j in I
                if any(k in env for k in c.letters):
                    raise Unsupported(f"the index '{c.letters[0]}' is bound twice")
                yield from self._each(c.letters, rows, env)
                return
            if width != len(c.letters):
                raise Unsupported(f"{len(c.letters)} indices run over tuples of {width}")
            if width == 1 and c.letters[0] in env and c.letters[0] in outer and c.set.kind == "name" and c.set.name == env[c.letters[0]].set:
                raise Unsupported(f"the index '{c.letters[0]}' is bound twice")
            for row in rows:
                if all(k not in env or env[k].label == at.label for k, at in zip(c.letters, row, strict=True)):
                    yield {**dict(zip(c.letters, row, strict=True)), **env} if width > 1 else {**env, c.letters[0]: row[0]}
            return
        if c.kind == "range":
            if c.letters[0] in env:
                raise Unsupported(f"the index '{c.letters[0]}' is bound twice")
            assert c.low is not None and c.high is not None
            for at in self.range(c.letters[0], c.low, c.high, env):
                yield {**env, c.letters[0]: at}
            return
        for letter in c.letters:
            if letter in env and letter not in outer:
                continue
            if letter in env:
                raise Unsupported(f"the index '{letter}' is bound twice")
        free = [k for k in c.letters if k not in env and not any(k in other.letters and other.kind == "in" for other in rest)]
        yield from self._free(free, env)

    def _free(self, letters: list[str], env: Env) -> Iterator[Env]:
        if not letters:
            yield env
            return
        for at in self.default(letters[0]):
            yield from self._free(letters[1:], {**env, letters[0]: at})

    def _each(self, letters: Sequence[str], rows: list[tuple[At, ...]], env: Env) -> Iterator[Env]:
        if not letters:
            yield env
            return
        for row in rows:
            yield from self._each(letters[1:], rows, {**env, letters[0]: row[0]})

    def default(self, letter: str) -> list[At]:
        """The elements that a letter runs over everywhere in the text."""
        found = self.letters.get(letter) or self.letters.get(letter.rstrip("'")) or set()
        if len(found) != 1:
            why = f"is used with {' and '.join(sorted(found))}" if found else "has no set"
            raise Unsupported(f"the index '{letter}' {why}; nothing says what it runs over here")
        name = next(iter(found))
        return self.elements(name)

    def elements(self, name: str) -> list[At]:
        if name.startswith("#"):
            low, high = map(int, name[1:].split(".."))
            return [At(str(k), "", k - 1) for k in range(low, high + 1)]
        if name in self.world.tuples and all(len(t) == 1 for t in self.world.tuples[name]):
            return [row[0] for row in self.members(SetExpr("name", name), {}, "")]
        return [At(label, name, k) for k, label in enumerate(self.world.sets[name])]

    def set_name(self, name: str) -> str:
        found = self.world.known(name)
        if found not in self.world.sets and found not in self.world.tuples:
            raise Unsupported(f"the set '{name}' is neither in the data nor given in the text")
        return found

    def members(self, s: SetExpr, env: Env, letter: str) -> list[tuple[At, ...]]:
        world = self.world
        if s.kind == "name":
            name = self.set_name(s.name)
            if name in world.sets:
                return [(At(label, name, k),) for k, label in enumerate(world.sets[name])]
            bases = world.bases.get(name, ())
            return [tuple(self.locate(x, b) for x, b in zip(row, bases, strict=True)) for row in world.tuples[name]]
        if s.kind == "family":
            return self.family(s, env)
        if s.kind == "tuples":
            width = len(s.rows[0])
            if any(len(row) != width for row in s.rows):
                raise Unsupported("a list of tuples of different lengths")
            fits = [world.fitting({row[k] for row in s.rows}) for k in range(width)]
            return [tuple(self.locate(x, f[0]) if f else At(x, "", -1) for x, f in zip(row, fits, strict=True)) for row in s.rows]
        if s.kind == "range":
            assert s.low is not None and s.high is not None
            return [(at,) for at in self.range(letter, s.low, s.high, env)]
        if s.kind == "list":
            seen = [n for n in self.letters.get(letter, set()) if n in world.sets]
            holds = [n for n in (seen or list(world.sets)) if set(s.labels) <= set(world.sets[n])]
            if len(holds) == 1 or (holds and seen):
                return [(self.locate(x, holds[0]),) for x in s.labels]
            if all(x.isdigit() for x in s.labels):
                return [(at,) for x in s.labels for at in self.range(letter, Number(Fraction(x)), Number(Fraction(x)), env)]
            return [(At(x, "", k),) for k, x in enumerate(s.labels)]
        if s.kind == "minus":
            left, right = self.members(s.parts[0], env, letter), self.members(s.parts[1], env, letter)
            gone = {tuple(at.label for at in row) for row in right}
            return [row for row in left if tuple(at.label for at in row) not in gone]
        if s.kind == "product":
            rows: list[tuple[At, ...]] = [()]
            for part in s.parts:
                rows = [(*row, *more) for row in rows for more in self.members(part, env, letter)]
            return rows
        bound = {k: v for k, v in env.items() if k not in s.letters}
        return [tuple(e[k] for k in s.letters) for e in self.expand(s.scope, bound)]

    def family(self, s: SetExpr, env: Env) -> list[tuple[At, ...]]:
        """The members of N_j for this j: as the text defines N, else as the data list it."""
        if s.name in self.families:
            letters, made = self.families[s.name]
            if len(letters) != len(s.subs):
                raise Unsupported(f"the sets '{s.name}' depend on {len(letters)} indices, found {len(s.subs)}")
            inner = {k: self.subscript(sub, (), env, s.name) for k, sub in zip(letters, s.subs, strict=True)}
            return self.members(made, inner, "")
        table = self.world.families.get(self.world.known(s.name))
        if table is None:
            raise Unsupported(f"the sets '{s.name}' that depend on an index are neither in the data nor defined in the text")
        key = tuple(self.subscript(sub, (), env, s.name).label for sub in s.subs)
        if key not in table:
            raise Unsupported(f"the data hold no {s.name}[{','.join(key)}]")
        base = self.world.family_base(self.world.known(s.name))
        return [(self.locate(x, base),) for x in table[key]]

    def locate(self, label: str, base: str) -> At:
        labels = self.world.sets.get(base)
        return At(label, base, labels.index(label)) if labels is not None and label in labels else At(label, "", -1)

    def range(self, letter: str, low: Expr, high: Expr, env: Env) -> list[At]:
        first, last = self.whole(low, env), self.whole(high, env)
        name = self.over(letter, high)
        if not name:
            return [At(str(k), "", k - 1) for k in range(first, last + 1)]
        labels = self.world.sets[name]
        if all(x.lstrip("-").isdigit() for x in labels):
            index = {int(x): k for k, x in enumerate(labels)}
            return [At(str(k), name, index.get(k, k - int(labels[0]))) for k in range(first, last + 1)]
        if last > len(labels) or first < 0:
            raise Unsupported(f"{letter} = {first}..{last} leaves the {len(labels)} elements of {name}")
        if first == 0:
            raise Unsupported(f"{letter} begins at 0 over {name}: what stands at 0 is not known")
        return [At(labels[k - 1], name, k - 1) for k in range(first, last + 1)]

    def over(self, letter: str, high: Expr) -> str:
        """The set that a range of numbers stands for, "" if it stands for itself."""
        if isinstance(high, Operation):
            high = high.left if isinstance(high.right, Number) else high
        if isinstance(high, Size):
            return self.set_name(high.set)
        if isinstance(high, Symbol) and not high.subs:
            known = self.world.known(high.name)
            if known in self.world.sets:
                return known
            if high.name in self.ranged:
                return self.ranged[high.name]
        found = [n for n in self.letters.get(letter, set()) if n in self.world.sets]
        return found[0] if len(found) == 1 else ""

    def whole(self, e: Expr, env: Env) -> int:
        value = self.constant(e, env, index=True)
        if value.denominator != 1:
            raise Unsupported("an index that is no whole number")
        return int(value)

    def holds(self, c: Clause, env: Env) -> bool:
        if c.kind == "notin" and c.set is not None:
            rows = self.members(c.set, {k: v for k, v in env.items() if k not in c.letters}, c.letters[0])
            return tuple(env[k].label for k in c.letters) not in {tuple(at.label for at in row) for row in rows}
        return all(self.compare(a, op, b, env) for a, op, b in zip(c.parts, c.ops, c.parts[1:], strict=False))

    def compare(self, a: Expr, op: str, b: Expr, env: Env) -> bool:
        left, right = self.bare(a, env), self.bare(b, env)
        if left is not None and right is not None:
            if op in ("=", "!="):
                return (left.label == right.label) == (op == "=")
            if left.set != right.set:
                raise Unsupported("two indices of different sets are put in order")
        elif op in ("=", "!=") and (left is None) != (right is None):
            at, other = (left, b) if left is not None else (right, a)
            fresh = isinstance(other, Symbol) and not other.subs and not self.world.known(other.name) and other.name not in ("first", "last")
            if at is not None and fresh and isinstance(other, Symbol) and other.name.replace("_", " ") in self.world.sets.get(at.set, ()):
                return (at.label == other.name.replace("_", " ")) == (op == "=")
        anchor = next((at for at in (left, right) if at is not None), None)
        if anchor is None:
            anchor = next((env[s.name] for e in (a, b) for s in walk(e) if isinstance(s, Symbol) and s.name in env and not s.subs), None)
        x, y = self.constant(a, env, True, anchor), self.constant(b, env, True, anchor)
        return {"<=": x <= y, ">=": x >= y, "<": x < y, ">": x > y, "=": x == y, "!=": x != y}[op]

    @staticmethod
    def bare(e: Expr, env: Env) -> At | None:
        return env.get(e.name) if isinstance(e, Symbol) and not e.subs else None

    # -- expressions
    def constant(self, e: Expr, env: Env, index: bool = False, anchor: At | None = None) -> Fraction:
        found = self.linear(e, env, index, anchor)
        if any(k is not None for k in found):
            raise Unsupported("a variable stands where a number is due")
        return found.get(None, Fraction(0))

    def linear(self, e: Expr, env: Env, index: bool = False, anchor: At | None = None) -> Linear:
        self.step()
        if isinstance(e, Number):
            return {None: e.value}
        if isinstance(e, Size):
            name = self.set_name(e.set)
            return {None: Fraction(len(self.world.sets.get(name) or self.world.tuples[name]))}
        if isinstance(e, Symbol):
            return self.symbol(e, env, index, anchor)
        if isinstance(e, Sum):
            total: Linear = {}
            own = {k for c in e.scope for k in c.letters} | {
                p.name for c in e.scope for p in c.parts if isinstance(p, Symbol) and not p.subs and self.is_letter(p.name)
            }
            if own and own <= set(env):
                raise Unsupported(f"the index '{min(own)}' of a sum is bound outside it")
            for wide in self.expand(e.scope, env):
                _add(total, self.linear(e.body, wide), 1)
            return total
        if isinstance(e, Extreme):
            parts = [self.linear(part, env, index, anchor) for part in e.parts]
            if any(k is not None for part in parts for k in part):
                raise Unsupported(f"the '{e.word}' of expressions with variables, where it is not linear")
            return {None: (min if e.word == "min" else max)(part.get(None, Fraction(0)) for part in parts)}
        left = self.linear(e.left, env, index, anchor)
        if e.op == "neg":
            return {k: -v for k, v in left.items()}
        assert e.right is not None
        right = self.linear(e.right, env, index, anchor)
        if e.op in ("+", "-"):
            out = dict(left)
            _add(out, right, 1 if e.op == "+" else -1)
            return out
        if e.op == "/":
            if any(k is not None for k in right):
                raise Unsupported("a division by a variable is not linear")
            value = right.get(None, Fraction(0))
            if not value:
                raise Unsupported("a division by zero")
            return {k: v / value for k, v in left.items()}
        if any(k is not None and v for k, v in left.items()):
            left, right = right, left
        if any(k is not None and v for k, v in left.items()):
            raise Unsupported("a product of two variables is not linear")
        factor = left.get(None, Fraction(0))
        return {k: v * factor for k, v in right.items()}

    def symbol(self, s: Symbol, env: Env, index: bool, anchor: At | None) -> Linear:
        if index and anchor is not None and s.name in ("first", "last") and not s.subs:
            labels = self.world.sets.get(anchor.set)
            if labels is None:
                raise Unsupported(f"'{s.name}' of what set?")
            k = 0 if s.name == "first" else len(labels) - 1
            return {None: self.ordinal(At(labels[k], anchor.set, k))}
        if not s.subs and not s.power and s.name in env:
            at = env[s.name]
            labels = self.world.sets.get(at.set)
            if not index and not (labels is None or labels == [str(k + 1) for k in range(len(labels))]):
                raise Unsupported(f"the index '{s.name}' stands where a number is due")
            return {None: self.ordinal(at)}
        name, subs = self.resolve(s)
        if name in self.world.params and name not in self.variables:
            table = self.world.params[name]
            width = len(self.world.dims[name])
            if not width:
                if subs:
                    raise Unsupported(f"'{name}' takes no subscript")
                return {None: table[()]}
            key = tuple(at.label for at in self.subscripts(name, subs, width, self.world.dims[name], env))
            if key not in table:
                raise Unsupported(f"the data hold no {name}[{','.join(key)}]")
            return {None: table[key]}
        if name in self.variables:
            count = self.variables[name]
            fits = [tuple(x) for x in self.places.get(name, [])]
            ats = self.subscripts(name, subs, count, fits, env)
            return {self.column(name, ats, env): Fraction(1)}
        if not subs and name in self.sizes:
            return {None: self.sizes[name]}
        if not subs and index and self.world.known(name) in self.world.sets:
            return {None: Fraction(len(self.world.sets[self.world.known(name)]))}
        raise Unsupported(f"'{shown(s)}' is neither in the data nor declared as a variable")


def _add(total: Linear, more: Linear, sign: int) -> None:
    for k, v in more.items():
        total[k] = total.get(k, Fraction(0)) + sign * v
