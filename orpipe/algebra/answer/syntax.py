"""Tokens of one formula -> expressions, relations and the scopes they hold for; names are not resolved yet."""

from __future__ import annotations

from fractions import Fraction

from orpipe.algebra.answer.cursor import KINDS, split_at_commas
from orpipe.algebra.answer.forms import Clause, Expr, Extreme, Number, Operation, Size, Sum, Symbol
from orpipe.algebra.answer.scopes import Scopes
from orpipe.algebra.answer.tokens import Token
from orpipe.errors import Unsupported

_NO_FACTORS = ("and", "where", "if", "or", "with", "then", "are", "is", "be", "must")


class Parser(Scopes):
    """Reads one row of tokens from the left."""

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
            return self.text().lower() not in KINDS and self.text() not in _NO_FACTORS
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
        if kind in ("min", "max"):
            return self.extreme()
        if kind in ("name", "text"):
            return self.symbol()
        raise self.fail("expected an expression")

    def extreme(self) -> Extreme:
        """min{a, b}, \\max(a, b): of at least two."""
        word = self.take().kind
        opened = self.peek()
        if opened not in ("(", "[", "{", "\\{"):
            raise self.fail(f"'{word}' inside a formula")
        close = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}[self.take().kind]
        parts = [self.expr()]
        while self.skip(",", ";"):
            parts.append(self.expr())
        self.take(close)
        if len(parts) < 2:
            raise self.fail(f"a '{word}' of one thing")
        return Extreme(word, tuple(parts))

    def symbol(self) -> Symbol:
        token = self.take()
        name = token.text.replace(" ", "_")
        subs: tuple[tuple[Token, ...], ...] = ()
        power: tuple[Token, ...] = ()
        called = worded = boxed = False
        while True:
            if self.peek() == "_" and not subs:
                self.take()
                worded = self.peek() in ("name", "num")
                subs = self.subscript()
            elif self.peek() == "^" and not power:
                self.take()
                power = tuple(self.grouped())
            elif self.peek() == "'":
                self.take()
                name += "'"
            elif self.peek() == "[" and (not subs or worded) and self.row[self.at].glued:
                if subs:  # total_ship[t]
                    name, worded = "_".join((name, *(t.text for sub in subs for t in sub))), False
                subs, boxed = self.brackets("[", "]"), True
            elif self.peek() == "[" and boxed and self.row[self.at].glued:  # flow[t][d]
                subs = subs + self.brackets("[", "]")
            elif self.peek() == "(" and not subs and self.row[self.at].glued and self.is_call():
                subs, called = self.brackets("(", ")"), True
            elif self.peek() == "_" and subs and not boxed and not called and self.row[self.at].glued:  # x_i_j
                self.take()
                subs = subs + self.subscript()
            else:
                return Symbol(name, subs, power, called, boxed)

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
        return split_at_commas(inside)

    def brackets(self, open_: str, close: str) -> tuple[tuple[Token, ...], ...]:
        self.take(open_)
        start, depth = self.at, 1
        while depth:
            kind = self.take().kind
            depth += (kind == open_) - (kind == close)
        return split_at_commas(self.row[start : self.at - 1])

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
            every = next((k for k, t in enumerate(inside) if t.kind == "forall"), None)
            if every:  # sum(c[i]*x[i] for i in I)
                body = self.other(list(inside[:every]))
                summed = body.expr()
                if not body.done:
                    raise body.fail("a sum is not understood")
                return Sum(tuple(self.other(list(inside[every:])).scope()), summed)
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
