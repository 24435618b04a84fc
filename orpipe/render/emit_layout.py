"""Laying out Python: a small document algebra that breaks lines only where Python allows it, and only when it must.

A statement is a Doc at an indentation level; a program section is a list of them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 110
STEP = "    "


@dataclass(frozen=True, slots=True)
class Seq:
    parts: tuple[Doc, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """`flat` while its group fits on the line, else a newline."""

    flat: str = " "


@dataclass(frozen=True, slots=True)
class Nest:
    doc: Doc


@dataclass(frozen=True, slots=True)
class Group:
    """Its lines break all together or not at all."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Broken:
    """Text that appears only when its group is broken: the parentheses around a long right-hand side, a last comma."""

    text: str


Doc: TypeAlias = "str | Seq | Line | Nest | Group | Broken"


@dataclass(frozen=True, slots=True)
class Statement:
    doc: Doc
    level: int = 0


def seq(*parts: Doc) -> Doc:
    return parts[0] if len(parts) == 1 else Seq(parts)


def joined(separator: Doc, parts: Sequence[Doc]) -> Doc:
    out: list[Doc] = []
    for k, part in enumerate(parts):
        out += [separator, part] if k else [part]
    return Seq(tuple(out))


def bracket(opening: str, body: Doc, closing: str) -> Doc:
    """opening, then body on lines of its own if it does not fit."""
    return Group(Seq((opening, Nest(Seq((Line(""), body))), Line(""), closing)))


def call(function: str, *arguments: Doc) -> Doc:
    if not arguments:
        return function + "()"
    return bracket(function + "(", Seq((joined(Seq((",", Line())), [Group(a) for a in arguments]), Broken(","))), ")")


def loose(body: Doc) -> Doc:
    """A right-hand side in parentheses if it needs several lines."""
    return Group(Seq((Broken("("), Nest(Seq((Line(""), body))), Line(""), Broken(")"))))


def indented(statements: Iterable[Statement], by: int = 1) -> list[Statement]:
    return [Statement(s.doc, s.level + by) for s in statements]


def comment(text: str, level: int = 0) -> list[Statement]:
    """A comment over as many lines as it takes; nothing for an empty text."""
    width = WIDTH - 2 - level * len(STEP)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [Statement("# " + line, level) for line in lines]


BLANK = Statement("")


def code(statements: Iterable[Statement]) -> str:
    """The text of a section, without a newline at its end."""
    return "\n".join(render(s.doc, s.level) for s in statements)


def render(doc: Doc, level: int = 0) -> str:
    out: list[str] = [STEP * level]
    column = len(out[0])
    stack: list[tuple[int, bool, Doc]] = [(level, False, doc)]  # indentation, flat, doc
    while stack:
        depth, flat, here = stack.pop()
        match here:
            case str(text):
                out.append(text)
                column += len(text)
            case Seq(parts=parts):
                stack += [(depth, flat, part) for part in reversed(parts)]
            case Nest(doc=inner):
                stack.append((depth + 1, flat, inner))
            case Group(doc=inner):
                stack.append((depth, flat or _fits(WIDTH - column, (depth, True, inner), stack), inner))
            case Broken(text=text) if not flat:
                out.append(text)
                column += len(text)
            case Line(flat=text) if flat:
                out.append(text)
                column += len(text)
            case Line():
                out.append("\n" + STEP * depth)
                column = depth * len(STEP)
    return "\n".join(line.rstrip() for line in "".join(out).split("\n"))


def _fits(room: int, first: tuple[int, bool, Doc], rest: list[tuple[int, bool, Doc]]) -> bool:
    """Does `first`, set flat, and what follows it up to the next possible line end stay within `room` characters?"""
    stack, following = [first], len(rest)
    while room >= 0:
        if not stack:
            if not following:
                return True
            following -= 1
            stack.append(rest[following])
        depth, flat, here = stack.pop()
        match here:
            case str(text):
                room -= len(text)
            case Seq(parts=parts):
                stack += [(depth, flat, part) for part in reversed(parts)]
            case Nest(doc=inner) | Group(doc=inner):
                stack.append((depth, flat, inner))
            case Line(flat=text):
                if not flat:
                    return True
                room -= len(text)
            case Broken(text=text) if not flat:
                room -= len(text)
    return False
