"""Expressions, scopes and relations as they are written; names are not resolved yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from orpipe.algebra.answer.tokens import Token

RELATIONS = ("<=", ">=", "=", "<", ">", "!=")


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with its subscripts (each a row of tokens); power: what stands above it."""

    name: str
    subs: tuple[tuple[Token, ...], ...] = ()
    power: tuple[Token, ...] = ()
    called: bool = False  # written name(i,j)
    boxed: bool = False  # written name[i,j]


@dataclass(frozen=True, slots=True)
class Size:
    set: str


@dataclass(frozen=True, slots=True)
class Operation:
    """op: + - * / or neg (left alone)."""

    op: str
    left: Expr
    right: Expr | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a scope.  kind: in, notin (letters in a set), range (one letter from low to high), all (letters alone),
    compare (a chain of comparisons)."""

    kind: str
    letters: tuple[str, ...] = ()
    set: SetExpr | None = None
    low: Expr | None = None
    high: Expr | None = None
    parts: tuple[Expr, ...] = ()
    ops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetExpr:
    """kind: name, family (name with the indices it depends on: subs), range (low..high), list (labels), tuples (rows),
    minus (left without right), product (of parts), made (a comprehension)."""

    kind: str
    name: str = ""
    low: Expr | None = None
    high: Expr | None = None
    parts: tuple[SetExpr, ...] = ()
    labels: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()
    scope: tuple[Clause, ...] = ()
    subs: tuple[tuple[Token, ...], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    scope: tuple[Clause, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Extreme:
    """word: min or max, of the parts."""

    word: str
    parts: tuple[Expr, ...]


Expr = Number | Symbol | Size | Operation | Sum | Extreme


@dataclass(frozen=True, slots=True)
class Relation:
    """A chain a <= b <= c, or several left sides (x, y >= 0), or with `domain`: each left side in a kind of numbers."""

    lefts: tuple[Expr, ...]
    ops: tuple[str, ...] = ()
    rights: tuple[Expr, ...] = ()
    domain: str = ""  # binary, integer, nonnegative integer, positive integer, real, nonnegative
    labels: tuple[Fraction, ...] = ()


def walk(e: Expr | None) -> Iterator[Expr]:
    """An expression and all inside it, the scopes of its sums included."""
    if e is None:
        return
    yield e
    if isinstance(e, Operation):
        yield from walk(e.left)
        yield from walk(e.right)
    elif isinstance(e, Sum):
        for c in e.scope:
            for part in (*c.parts, c.low, c.high):
                yield from walk(part)
        yield from walk(e.body)
    elif isinstance(e, Extreme):
        for part in e.parts:
            yield from walk(part)


def set_letters(c: Clause) -> Iterator[str]:
    """The indices that the set of a clause depends on: j in «i in N_j»."""
    for sub in () if c.set is None else c.set.subs:
        yield from (t.text for t in sub if t.kind == "name")


def shown(s: Symbol) -> str:
    subs = ",".join("".join(t.text for t in sub) for sub in s.subs)
    return s.name + (f"_{{{subs}}}" if subs else "") + (f"^{{{''.join(t.text for t in s.power)}}}" if s.power else "")
