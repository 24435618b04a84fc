"""Tokens of one formula -> expressions, relations and the scopes they hold for; names are not resolved yet."""

from __future__ import annotations

from fractions import Fraction

from orpipe.algebra.answer.forms import RELATIONS, Clause, Expr, Number, Operation, SetExpr, Size, Sum, Symbol
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


class Parser:
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

    # -- expressions
    def expr(self) -> Expr:
        left = self.term()
        while self.peek() in ("+", "-"):
            op = self.take().kind
            left = Operation(op, left, self.term())
        return left

    def term(self) -> Expr:
        if self.skip("-"):
            return Operation("neg", self.term())
        if self.skip("+"):
            return self.term()
        left = self.factor()
        while True:
            if self.peek() in ("*", "/"):
                op = self.take().kind
                right = self.factor()
                if op == "/" and self.starts_factor():
                    raise self.fail("a factor after a division can be read in two ways,")
                left = Operation(op, left, right)
            elif self.starts_factor():
                left = Operation("*", left, self.factor())
            else:
                return left

    def starts_factor(self) -> bool:
        kind = self.peek()
        if kind == "name":
            return self.text().lower() not in KINDS and self.text() not in ("and", "where", "if", "or", "with", "then")
        if kind == "num":
            return self.at > 0 and self.row[self.at - 1].kind in (")", "]", "}")
        return kind in ("(", "sum", "frac") or (kind == "[" and self.row[self.at - 1].kind in ("num", "}", ")"))

    def factor(self) -> Expr:
        kind = self.peek()
        if kind == "-":
            self.take()
            return Operation("neg", self.factor())
        if kind == "num":
            value: Expr = Number(Fraction(self.take().text))
            if self.peek() == "^":
                raise self.fail("a power is not linear or not understood,")
            if self.peek() == "name" and self.text() == "%":
                raise self.fail("a percentage")
            return value
        if kind == "sum":
            return self.big_sum()
        if kind == "frac":
            self.take()
            self.take("{")
            top = self.expr()
            self.take("}")
            self.take("{")
            bottom = self.expr()
            self.take("}")
            return Operation("/", top, bottom)
        if kind in ("(", "[", "{", "\\{"):
            close = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}[self.take().kind]
            inner = self.expr()
            self.take(close)
            if self.peek() == "^":
                raise Unsupported("a power of a parenthesis is not linear")
            return inner
        if kind == "|":
            self.take()
            name = self.plain_name()
            if self.peek() != "|":
                raise Unsupported("absolute values are not linear; only |S| for the size of a set is read")
            self.take("|")
            return Size(name)
        if kind in ("name", "text", "min", "max"):
            return self.symbol()
        raise self.fail("expected an expression")

    def plain_name(self) -> str:
        token = self.take()
        if token.kind not in ("name", "text"):
            raise Unsupported(f"expected a name, found '{token.text}'")
        if self.peek() == "_" and self.peek(1) in ("name", "num"):
            self.take()
            return f"{token.text}_{self.take().text}"
        return token.text

    def symbol(self) -> Symbol:
        token = self.take()
        name = token.text.replace(" ", "_")
        if token.kind in ("min", "max"):
            raise Unsupported(f"'{token.text}' inside a formula is not linear")
        subs: tuple[tuple[Token, ...], ...] = ()
        power: tuple[Token, ...] = ()
        called = False
        while True:
            if self.peek() == "_" and not subs:
                self.take()
                subs = self.subscript()
            elif self.peek() == "^" and not power:
                self.take()
                power = tuple(self.grouped())
            elif self.peek() == "'":
                self.take()
                name += "'"
            elif self.peek() == "[" and not subs and self.row[self.at].glued:
                subs = self.brackets("[", "]")
            elif self.peek() == "(" and not subs and self.row[self.at].glued and self.is_call():
                subs, called = self.brackets("(", ")"), True
            elif self.peek() == "_" and len(subs) == 1 and self.row[self.at].glued:  # x_i_j
                self.take()
                subs = subs + self.subscript()
            else:
                return Symbol(name, subs, power, called)

    def is_call(self) -> bool:
        k, depth = self.at, 0
        while k < len(self.row):
            kind = self.row[k].kind
            depth += (kind == "(") - (kind == ")")
            if depth > 1 or kind not in ("(", ")", "name", "num", ",", "+", "-", "text"):
                return False
            k += 1
            if not depth:
                inside = self.row[self.at + 1 : k - 1]
                return all(len(t.text) <= 2 or t.kind == "text" or t.text[:1].isupper() for t in inside) and bool(inside)
        return False

    def grouped(self) -> list[Token]:
        if self.peek() == "{":
            self.take()
            depth, start = 1, self.at
            while depth:
                kind = self.take().kind
                depth += (kind == "{") - (kind == "}")
            return self.row[start : self.at - 1]
        return [self.take()]

    def subscript(self) -> tuple[tuple[Token, ...], ...]:
        inside = self.grouped()
        return _split(inside)

    def brackets(self, open_: str, close: str) -> tuple[tuple[Token, ...], ...]:
        self.take(open_)
        start, depth = self.at, 1
        while depth:
            kind = self.take().kind
            depth += (kind == open_) - (kind == close)
        return _split(self.row[start : self.at - 1])

    def big_sum(self) -> Sum:
        self.take("sum")
        scope: list[Clause] = []
        if self.peek() == "_":
            self.take()
            inside = self.grouped()
            high: Expr | None = None
            if self.peek() == "^":
                self.take()
                inner = Parser(list(self.grouped()))
                high = inner.expr()
                if not inner.done:
                    raise inner.fail("the upper limit of a sum is not understood")
            scope = Parser(list(inside)).scope(high)
        elif self.peek() in ("{", "("):
            close = {"{": "}", "(": ")"}[self.take().kind]
            start, depth = self.at, 1
            open_ = self.row[self.at - 1].kind
            while depth:
                kind = self.take().kind
                depth += (kind == open_) - (kind == close)
            inside = self.row[start : self.at - 1]
            if not any(t.kind in ("in", "=") for t in inside):
                raise Unsupported("a sum without its index")
            scope = Parser(list(inside)).scope(None)
        elif self.peek() == "name" and self.text() == "over":
            self.take()
            start = self.at
            while self.text() != "of":
                self.take()
            scope = Parser(self.row[start : self.at]).scope(None)
            self.take()
        else:
            raise self.fail("a sum without its index")
        return Sum(tuple(scope), self.summand())

    def summand(self) -> Expr:
        """What a sum reaches over: a product, up to + or - or a relation."""
        return self.term()

    # -- scopes
    def scope(self, high: Expr | None = None) -> list[Clause]:
        """«i in I, j in J : i != j», «i=1» with `high`, «i, j», «(i,j) in A», up to the end of the tokens."""
        out: list[Clause] = []
        while not self.done:
            if self.skip(",", ";", ":", ";;", "forall", "|") or (
                self.peek() in ("name", "text") and self.text() in ("and", "where", "with", "such that", "such", "that", "s.t.", "for all")
            ):
                if self.row[self.at - 1].kind in (",", ";", ":", ";;", "forall", "|"):
                    continue
                self.take()
                continue
            out.append(self.clause(high))
        if not out:
            raise Unsupported("an empty scope")
        return out

    def clause(self, high: Expr | None) -> Clause:
        mark = self.at
        letters = self.letters()
        if letters and self.peek() in ("in", "notin"):
            return Clause(self.take().kind, letters, self.set_expr())
        if letters and self.peek() == "=" and (high is not None or self.is_range(self.at + 1)):
            self.take()
            low = self.expr()
            if high is None:
                while self.skip(",", "..."):
                    if self.peek() == "num" and self.peek(1) == ",":  # 1, 2, ..., n
                        self.take()
                high = self.expr()
            if len(letters) > 1:
                raise self.fail("a range for several indices")
            return Clause("range", letters, low=low, high=high)
        if letters and self.peek() in ("", ",", ":", ";;", ";", "|", "forall") and not (self.peek() == "" and high is not None):
            return Clause("all", letters)
        self.at = mark
        parts, ops = [self.expr()], []
        if self.peek() in ("in", "notin"):
            raise self.fail("what is in the set is not understood")
        while self.peek() in RELATIONS:
            ops.append(self.take().kind)
            parts.append(self.expr())
        if not ops:
            raise self.fail("a condition is not understood")
        return Clause("compare", parts=tuple(parts), ops=tuple(ops))

    def is_range(self, at: int) -> bool:
        """low, ..., high or low..high ahead, before any other relation."""
        for token in self.row[at : at + 14]:
            if token.kind == "...":
                return True
            if token.kind in RELATIONS or token.kind in ("in", ":", ";;", "forall"):
                return False
        return False

    def letters(self) -> tuple[str, ...]:
        """«i», «i, j», «(i, j)» where `in`, `=` or the end follows; () if it is something else."""
        mark = self.at
        found: list[str] = []
        wrapped = self.skip("(")
        while self.peek() == "name":
            found.append(self.take().text)
            if self.peek() == "'":
                self.take()
                found[-1] += "'"
            if self.peek() == "," and self.peek(1) == "name" and (wrapped or self.continues()):
                self.take()
                continue
            break
        if wrapped and not self.skip(")"):
            self.at = mark
            return ()
        if found and self.peek() in ("", "in", "notin", "=", ",", ":", ";;", ";", "|", "forall"):
            return tuple(found)
        self.at = mark
        return ()

    def continues(self) -> bool:
        """After «i» stands «, j»: is it one list (i, j in I), or does a new clause begin (i in I, j in J)?"""
        k = self.at
        while k + 1 < len(self.row) and self.row[k].kind == "," and self.row[k + 1].kind == "name":
            k += 2
            if k < len(self.row) and self.row[k].kind == "'":
                k += 1
        return k >= len(self.row) or self.row[k].kind in ("in", ":", ";;", "|", ";", "forall", ",", "notin")

    def set_expr(self) -> SetExpr:
        left = self.set_atom()
        while self.peek() in ("setminus", "*") or (self.peek() == "name" and self.text() == "x") or (self.peek() == "-" and self.peek(1) == "\\{"):
            op = self.take().kind
            right = self.set_atom()
            left = (
                SetExpr("minus", parts=(left, right))
                if op in ("setminus", "-")
                else SetExpr("product", parts=(*(left.parts if left.kind == "product" else (left,)), right))
            )
        return left

    def set_atom(self) -> SetExpr:
        if self.peek() in ("\\{", "{", "["):
            opened = self.take().kind
            close = {"\\{": "\\}", "{": "}", "[": "]"}[opened]
            start, depth = self.at, 1
            while depth:
                kind = self.take().kind
                depth += (kind == opened) - (kind == close)
            return _braces(self.row[start : self.at - 1])
        if self.peek() in ("name", "text"):
            name = self.plain_name()
            if self.peek() in ("_", "^", "("):
                raise self.fail(f"the indexed set '{name}'")
            return SetExpr("name", name.replace(" ", "_"))
        raise self.fail("expected a set")


def _split(inside: list[Token]) -> tuple[tuple[Token, ...], ...]:
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


def _braces(inside: list[Token]) -> SetExpr:
    kinds = [t.kind for t in inside]
    if "..." in kinds:
        inner = Parser(inside)
        low = inner.expr()
        while inner.skip(",", "..."):
            if inner.peek() == "num" and inner.peek(1) == ",":
                inner.take()
        high = inner.expr()
        if not inner.done:
            raise inner.fail("a list is not understood")
        return SetExpr("range", low=low, high=high)
    bar = next((k for k, kind in enumerate(kinds) if kind in (":", "|")), None)
    if bar is not None:
        head = Parser(inside[:bar])
        letters = head.letters()
        if not letters:
            raise head.fail("the head of a set is not understood")
        tail = Parser(inside[bar + 1 :]).scope()
        if head.peek() in ("in",):
            head.take()
            return SetExpr("made", letters=letters, scope=(Clause("in", letters, head.set_expr()), *tail))
        return SetExpr("made", letters=letters, scope=tuple(tail))
    parts = _split(inside)
    return SetExpr("list", labels=tuple(" ".join(t.text for t in p) for p in parts))
