"""What a symbol with its subscripts stands for: an element of the data, a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from orpipe.algebra.answer.forms import SetExpr, Symbol, shown
from orpipe.algebra.answer.tokens import Token
from orpipe.algebra.answer.world import At, Column, World
from orpipe.errors import Unsupported

_MOST_STEPS = 3_000_000

Env = dict[str, At]


@dataclass
class Places:
    """letters: index -> sets seen for it; variables: name -> number of subscripts (None: not known)."""

    world: World
    letters: dict[str, set[str]] = field(default_factory=dict)
    variables: dict[str, int | None] = field(default_factory=dict)
    places: dict[str, list[set[str]]] = field(default_factory=dict)  # variable -> sets seen in each place
    sizes: dict[str, Fraction] = field(default_factory=dict)  # n, m
    ranged: dict[str, str] = field(default_factory=dict)  # n -> the set it counts
    families: dict[str, tuple[tuple[str, ...], SetExpr]] = field(default_factory=dict)  # N -> (j,) and {i in I : ...}
    columns: dict[tuple[str, tuple[str, ...]], Column] = field(default_factory=dict)
    steps: int = 0

    def is_letter(self, name: str) -> bool:
        return len(name.rstrip("'")) == 1 and not self.known_constant(name) and name not in self.variables

    def known_constant(self, name: str) -> bool:
        return bool(self.world.known(name)) or name in self.sizes

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise Unsupported("the model is too large to be written out here")

    def ordinal(self, at: At) -> Fraction:
        """The number that stands for an element: its label where the labels are numbers, else its position from 1."""
        labels = self.world.sets.get(at.set)
        if at.label.lstrip("-").isdigit() and (labels is None or all(x.lstrip("-").isdigit() for x in labels)):
            return Fraction(at.label)
        if at.pos < 0 or labels is None:
            raise Unsupported(f"the order of '{at.label}' is not known")
        return Fraction(at.pos + 1)

    def resolve(self, s: Symbol) -> tuple[str, tuple[tuple[Token, ...], ...]]:
        """The name as it is known, with decorations (C_max, d^{max}, x') folded into it, and the subscripts that are left."""
        power = "".join(t.text for t in s.power)
        if power and power not in ("*",):
            if power.isdigit():
                raise Unsupported(f"the power {shown(s)} is not linear or not understood")
            if any(t.text in (":", "=", "<=") for t in s.power):
                raise Unsupported(f"'{shown(s)}' is not understood")
        base = s.name + (f"_{power}" if power and power != "*" else "")
        joined = "_".join("".join(t.text for t in sub) for sub in s.subs)
        for whole in (f"{base}_{joined}", f"{base}{joined}") if joined else ():
            found = self.world.known(whole)
            if whole in self.variables and not self.variables[whole]:
                return whole, ()
            if found in self.world.params and not self.world.dims[found]:
                return found, ()
        if base in self.variables:
            return base, s.subs
        found = self.world.known(base) or (self.world.known(s.name) if not power else "")
        return found or base, s.subs

    def subscripts(
        self, name: str, subs: tuple[tuple[Token, ...], ...], width: int | None, fits: Sequence[Sequence[str]], env: Env
    ) -> tuple[At, ...]:
        if len(subs) == 1 and width != 1 and not (len(subs[0]) == 1 and subs[0][0].text in env):
            subs = self.split(subs[0], width, env) or subs
        if width is not None and len(subs) != width:
            raise Unsupported(f"'{name}' takes {width} subscripts, found {len(subs)}")
        if name not in self.variables and not subs:
            raise Unsupported(f"'{name}' lacks its subscripts")
        return tuple(self.subscript(sub, fits[k] if k < len(fits) else (), env, name) for k, sub in enumerate(subs))

    @staticmethod
    def split(sub: tuple[Token, ...], width: int | None, env: Env) -> tuple[tuple[Token, ...], ...]:
        """ij -> i, j where that many subscripts are due (or both are bound); () if it is one."""
        if any(t.kind not in ("name", "num") for t in sub):
            return ()
        letters = "".join(t.text for t in sub)
        parts = list(letters)
        bound = all(p in env or p.isdigit() for p in parts) and any(p in env for p in parts)
        if len(parts) == 1 or not (width == len(parts) or (width is None and bound)):
            return ()
        return tuple((Token("num" if p.isdigit() else "name", p),) for p in parts)

    def subscript(self, sub: tuple[Token, ...], fits: Sequence[str], env: Env, name: str) -> At:
        text = " ".join(t.text for t in sub)
        head = sub[0].text + ("'" if len(sub) > 1 and sub[1].kind == "'" else "")
        rest = sub[2:] if head.endswith("'") else sub[1:]
        if head in env and sub[0].kind == "name":
            at = env[head]
            if not rest:
                return at
            by = self.distance(rest, env)
            if by is not None:
                return self.shifted(at, by)
            raise Unsupported(f"the subscript '{text}' of '{name}' is not understood")
        for s in fits:
            labels = self.world.sets.get(s, ())
            for label in (text, text.replace("_", " "), "".join(t.text for t in sub)):
                if label in labels:
                    return At(label, s, labels.index(label))
        if len(sub) == 1 and sub[0].kind == "num":
            number = int(sub[0].text) if sub[0].text.isdigit() else -1
            named = [s for s in fits if s in self.world.sets]
            if len(named) == 1 or (named and name in self.world.params):
                labels = self.world.sets[named[0]]
                if all(x.isdigit() for x in labels):
                    return At(sub[0].text, named[0], number - int(labels[0]))
                if 1 <= number <= len(labels):
                    return At(labels[number - 1], named[0], number - 1)
                raise Unsupported(f"the subscript {text} of '{name}' leaves {named[0]}")
            return At(sub[0].text, "", number - 1)
        if all(t.kind == "name" and t.text.rstrip("'") in self.letters for t in sub) or (len(text) == 1 and text in "ijkltpq"):
            raise Unsupported(f"the index '{text}' of '{name}' is not bound here")
        symbol = text if len(sub) == 1 else ""
        if symbol in self.sizes or self.world.known(symbol) in self.world.sets:  # s_{T}: the last
            where = self.world.known(symbol) or self.ranged.get(symbol, "")
            if where in self.world.sets:
                labels = self.world.sets[where]
                return At(labels[-1], where, len(labels) - 1)
            return At(str(self.sizes[symbol]), "", int(self.sizes[symbol]) - 1)
        if any(t.kind not in ("name", "text", "num") for t in sub) or (fits and any(s in self.world.sets for s in fits)):
            raise Unsupported(f"the subscript '{text}' of '{name}' is not understood")
        return At(text, "", -1)

    @staticmethod
    def distance(rest: Sequence[Token], env: Env) -> int | None:
        """+ 1, - k, - k + 1, where k runs over plain numbers; None for anything else."""
        total = 0
        for sign, step in zip(rest[::2], rest[1::2], strict=False):
            at = env.get(step.text) if step.kind == "name" else None
            value = step.text if step.kind == "num" else at.label if at is not None and at.set == "" else ""
            if sign.kind not in ("+", "-") or not value.lstrip("-").isdigit():
                return None
            total += int(value) * (1 if sign.kind == "+" else -1)
        return total if rest and len(rest) % 2 == 0 else None

    def shifted(self, at: At, by: int) -> At:
        labels = self.world.sets.get(at.set)
        if labels is None:
            return At(str(int(self.ordinal(at)) + by), "", at.pos + by)
        moved = at.pos + by
        if at.set in self.world.cyclic:
            return At(labels[moved % len(labels)], at.set, moved % len(labels))
        if 0 <= moved < len(labels):
            return At(labels[moved], at.set, moved)
        numbers = all(x.lstrip("-").isdigit() for x in labels)
        return At(str(int(at.label) + by) if numbers else f"#{moved + 1}", at.set, moved)

    def column(self, name: str, ats: tuple[At, ...], env: Env) -> tuple[str, tuple[str, ...]]:
        key = (name, tuple(at.label for at in ats))
        if key not in self.columns:
            outside = any(at.set in self.world.sets and at.label not in self.world.sets[at.set] for at in ats)
            self.columns[key] = Column(name + (f"[{','.join(key[1])}]" if key[1] else ""), outside=outside)
        return key
