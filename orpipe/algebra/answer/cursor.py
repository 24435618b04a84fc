"""A row of tokens with a place in it."""

from __future__ import annotations

from typing import Self

from orpipe.algebra.answer.forms import Expr, Symbol
from orpipe.algebra.answer.tokens import Token
from orpipe.errors import Unsupported

KINDS = {
    "binary": "binary",
    "boolean": "binary",
    "integer": "integer",
    "integers": "integer",
    "int": "integer",
    "integral": "integer",
    "continuous": "real",
    "free": "real",
    "unrestricted": "real",
    "real": "real",
    "nonnegative": "nonnegative",
    "non-negative": "nonnegative",
    "bin": "binary",
    "urs": "real",
}


class Cursor:
    """Reads one row of tokens from the left."""

    def __init__(self, row: list[Token]):
        self.row, self.at = row, 0

    # -- tokens
    def peek(self, k: int = 0) -> str:
        return self.row[self.at + k].kind if self.at + k < len(self.row) else ""

    def text(self, k: int = 0) -> str:
        return self.row[self.at + k].text if self.at + k < len(self.row) else ""

    def take(self, kind: str = "") -> Token:
        if self.at >= len(self.row) or (kind and self.row[self.at].kind != kind):
            raise self.fail(f"expected '{kind or 'more'}'")
        self.at += 1
        return self.row[self.at - 1]

    def skip(self, *kinds: str) -> bool:
        if self.peek() in kinds:
            self.at += 1
            return True
        return False

    def fail(self, why: str) -> Unsupported:
        rest = " ".join(t.text for t in self.row[self.at : self.at + 6])
        return Unsupported(f"{why} {f'before {rest!r}' if rest else 'at the end'}")

    @property
    def done(self) -> bool:
        return self.at >= len(self.row)

    def plain_name(self) -> str:
        token = self.take()
        if token.kind not in ("name", "text"):
            raise Unsupported(f"expected a name, found '{token.text}'")
        if self.peek() == "_" and self.peek(1) in ("name", "num"):
            self.take()
            return f"{token.text}_{self.take().text}"
        return token.text

    def other(self, row: list[Token]) -> Self:
        """A reader of the same kind for a part."""
        return type(self)(row)

    def expr(self) -> Expr:
        raise NotImplementedError

    def symbol(self) -> Symbol:
        raise NotImplementedError

    def closed(self, opens: str, closes: str) -> list[Token]:
        """After an opening sign: what stands inside; the place is behind the closing one."""
        start, depth = self.at, 1
        while depth:
            kind = self.take().kind
            depth += (kind == opens) - (kind == closes)
        return self.row[start : self.at - 1]


def split_at_commas(inside: list[Token]) -> tuple[tuple[Token, ...], ...]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in inside:
        depth += (token.kind in ("{", "(", "[")) - (token.kind in ("}", ")", "]"))
        if token.kind == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    if any(not p for p in parts):
        raise Unsupported("an empty subscript")
    return tuple(tuple(p) for p in parts)
