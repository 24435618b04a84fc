"""Domains of variables, and bounds that stand around a list of them."""

from __future__ import annotations

from fractions import Fraction

from orpipe.algebra.answer.forms import Expr, Number, Operation, Relation, Symbol
from orpipe.algebra.answer.syntax import Parser


def middles(parser: Parser, op: str, first: Symbol) -> tuple[list[Symbol], Expr] | None:
    """0 <= a, b, c <= 12, from behind a: the three, and 12.  None where the list is something else."""
    mark, found = parser.at, [first]
    while parser.skip(","):
        if parser.peek() not in ("name", "text"):
            break
        found.append(parser.symbol())
    if len(found) > 1 and parser.peek() == op:
        parser.take()
        return found, parser.expr()
    parser.at = mark
    return None


def number(e: Expr | None) -> Fraction | None:
    """The value of an expression of numbers alone."""
    if isinstance(e, Number):
        return e.value
    if isinstance(e, Operation):
        left, right = number(e.left), number(e.right) if e.right is not None else None
        if e.op == "neg" and left is not None:
            return -left
        if e.op == "/" and left is not None and right:
            return left / right
    return None


def domain(parser: Parser, lefts: list[Expr]) -> Relation:
    """What stands behind «in»: kinds of numbers, a list of whole numbers, an interval."""
    if parser.peek() == "set":
        letter = parser.take().text
        signs: list[str] = []
        while parser.peek() in ("_", "^"):
            above = parser.take().kind == "^"
            inside = "".join(t.text for t in parser.grouped())
            if not (above and (inside.isalnum() or "|" in inside) and not inside.startswith("+")):
                signs.append(inside)
        if not signs and parser.peek() == ">=" and parser.text(1) == "0":  # Z>=0
            parser.at += 2
            signs.append(">=0")
        sign = "".join(signs)
        if sign not in ("", "+", ">=0", "0", "0+", "+0", "*", ">0", "++") or (sign == "0" and letter != "N") or sign in ("*", ">0", "++"):
            raise parser.fail(f"the domain {letter}{sign}")
        if letter == "B":
            return Relation(tuple(lefts), domain="binary")
        if letter == "N":
            return Relation(tuple(lefts), domain="nonnegative integer")
        word = "integer" if letter == "Z" else "real"
        return Relation(tuple(lefts), domain=("nonnegative" if word == "real" else "nonnegative integer") if sign else word)
    if parser.peek() in ("\\{", "{"):
        parser.take()
        found: list[Fraction] = []
        dots = False
        while parser.peek() not in ("\\}", "}"):
            if parser.skip(","):
                continue
            if parser.skip("..."):
                dots = True
                continue
            factor = -1 if parser.skip("-") else 1
            found.append(factor * Fraction(parser.take("num").text))
        parser.take()
        if parser.peek() in ("^", "_"):
            parser.take()
            parser.grouped()
        whole = sorted(found)
        if not found or any(v.denominator != 1 for v in found) or (not dots and whole != [whole[0] + k for k in range(len(whole))]):
            raise parser.fail("a variable with a list of values")
        return Relation(tuple(lefts), domain="within", labels=(whole[0], whole[-1]))
    if parser.peek() in ("[", "("):
        closed = parser.take().kind == "["
        low = parser.expr()
        parser.take(",")
        if parser.peek() == "inf" or (parser.peek() == "+" and parser.peek(1) == "inf"):
            parser.skip("+")
            parser.take()
            if not parser.skip(")") and not parser.skip("]"):
                raise parser.fail("an interval is not understood")
            if not closed:
                raise parser.fail("an open interval")
            return Relation(tuple(lefts), (">=",), (low,))
        high = parser.expr()
        if not parser.skip("]") or not closed:
            raise parser.fail("an open interval")
        if len(lefts) != 1:
            raise parser.fail("an interval for several variables")
        return Relation((low,), ("<=", "<="), (lefts[0], high))
    raise parser.fail("the domain of a variable is not understood")
