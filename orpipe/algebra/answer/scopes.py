"""Scopes and sets as they are written: «i in I, j in J : i != j», «{(i,j) in A : i < j}»."""

from __future__ import annotations

from orpipe.algebra.answer.cursor import Cursor, split_at_commas
from orpipe.algebra.answer.forms import RELATIONS, Clause, Expr, SetExpr
from orpipe.algebra.answer.tokens import Token
from orpipe.errors import Unsupported

_ENDS = ("", ",", ":", ";;", ";", "|", "forall")  # what may follow the letters of a clause


class Scopes(Cursor):
    """What binds indices."""

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
        if len(letters) == 1 and self.peek() == "=" and high is None and (listed := self.listed(self.at + 1)):
            self.at += 2 * len(listed)
            return Clause("in", letters, SetExpr("list", labels=tuple(listed)))
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
        if letters and (self.peek() == "name" or self.peek() in _ENDS) and not (self.peek() == "" and high is not None):
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

    def listed(self, at: int) -> list[str]:
        """1, 2, 3 ahead: at least two whole numbers, and nothing goes on from the last; [] if not."""
        found: list[str] = []
        while at < len(self.row) and self.row[at].kind == "num" and self.row[at].text.isdigit():
            found.append(self.row[at].text)
            if at + 2 < len(self.row) and self.row[at + 1].kind == "," and self.row[at + 2].kind == "num":
                at += 2
                continue
            at += 1
            break
        ends = at >= len(self.row) or self.row[at].kind in (";;", ";", ")", ".", ":", "forall", "text") or (
            self.row[at].kind == "," and (at + 1 >= len(self.row) or self.row[at + 1].kind in ("name", "text", "forall")))
        return found if len(found) > 1 and ends else []

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
        if found and ((self.peek() == "name" and self.text() in ("with", "where", "such")) or self.peek() in ("in", "notin", "=", *_ENDS)):
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
            return self.braces(self.row[start : self.at - 1])
        if self.peek() in ("name", "text"):
            found = self.symbol()
            power = "".join(t.text for t in found.power)
            words = [len(t.text) > 1 for sub in found.subs for t in sub]
            if found.subs and not found.called and not found.boxed and not power and all(words):  # CONTAINER_KINDS
                return SetExpr("name", "_".join((found.name, *(t.text for sub in found.subs for t in sub))))
            name = found.name.replace(" ", "_") + (f"^{power}" if power else "")
            return SetExpr("family", name, subs=found.subs) if found.subs else SetExpr("name", name)
        raise self.fail("expected a set")

    def braces(self, inside: list[Token]) -> SetExpr:
        kinds = [t.kind for t in inside]
        if "..." in kinds:
            inner = self.other(inside)
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
            head = self.other(list(inside[:bar]))
            letters = head.letters()
            if not letters:
                raise head.fail("the head of a set is not understood")
            tail = self.other(inside[bar + 1 :]).scope()
            if head.peek() in ("in",):
                head.take()
                return SetExpr("made", letters=letters, scope=(Clause("in", letters, head.set_expr()), *tail))
            return SetExpr("made", letters=letters, scope=tuple(tail))
        parts = split_at_commas(inside)
        if all(p[0].kind == "(" and p[-1].kind == ")" for p in parts):
            rows = tuple(tuple(" ".join(t.text for t in q) for q in split_at_commas(list(p[1:-1]))) for p in parts)
            return SetExpr("tuples", rows=rows)
        return SetExpr("list", labels=tuple(" ".join(t.text for t in p) for p in parts))
