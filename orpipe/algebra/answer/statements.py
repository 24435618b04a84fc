"""One formula's tokens -> a statement: an objective, relations with the scope they hold for, domains, definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from orpipe.algebra.answer.cursor import KINDS
from orpipe.algebra.answer.domains import domain, middles, number
from orpipe.algebra.answer.forms import RELATIONS, Clause, Expr, Relation, SetExpr, Symbol
from orpipe.algebra.answer.syntax import Parser
from orpipe.algebra.answer.tokens import Token

_SENSES = {
    "min": "minimize",
    "minimize": "minimize",
    "minimise": "minimize",
    "minimum": "minimize",
    "max": "maximize",
    "maximize": "maximize",
    "maximise": "maximize",
    "maximum": "maximize",
}
_SEPARATORS = (",", ";", ";;", ":", ".")
_FILLERS = (
    "and",
    "are",
    "is",
    "be",
    "must",
    "where",
    "with",
    "all",
    "for",
    "a",
    "an",
    "variable",
    "variables",
    "both",
    "also",
    "the",
    "each",
    "then",
    "to",
)


@dataclass(slots=True)
class Statement:
    """sense and goal: of an objective; defined: name -> set; values: name -> list of numbers."""

    sense: str = ""
    goal: Expr | None = None
    named: str = ""  # Z in «min Z = ...»
    relations: list[Relation] = field(default_factory=list)
    scope: list[Clause] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)  # named without a relation
    kinds: list[str] = field(default_factory=list)  # binary, integer, ... said of the symbols
    sets: dict[str, SetExpr] = field(default_factory=dict)
    families: dict[str, tuple[tuple[str, ...], SetExpr]] = field(default_factory=dict)  # N_j = {...}
    values: dict[str, list[Fraction]] = field(default_factory=dict)
    same: list[Expr] = field(default_factory=list)  # the objective said again: (3+2)x = 5x
    words: list[str] = field(default_factory=list)
    family: bool = False  # x_1, ..., x_n: the whole family


def read(row: list[Token], goal: str = "") -> Statement:
    """Raises Unsupported: what is not understood."""
    out = Statement()
    parser = Parser(row)
    while parser.skip(*_SEPARATORS):
        pass
    first = parser.text().strip().lower().rstrip(":.")
    if parser.peek() in ("min", "max") or (
        parser.peek() in ("text", "name") and first in _SENSES and parser.peek(1) not in ("_", "=", "<=", ">=", "[")
    ):
        out.sense = _SENSES[first]
        parser.take()
        if parser.peek() == "_":  # min over x
            parser.take()
            parser.grouped()
        while parser.skip(":", ";;", ",", "."):
            pass
    elif goal:
        out.sense = goal
    if out.sense:
        return _objective(parser, out)
    if _definition(parser, out):
        return out
    while not parser.done:
        if parser.skip(*_SEPARATORS):
            continue
        if parser.peek() == "forall":
            _scope(parser, out)
            continue
        if parser.peek() in ("text", "name") and _words(parser, out):
            continue
        if parser.peek() == "(" and _wrapped_scope(parser, out):
            continue
        if _is_clause(parser, out):
            out.scope.append(parser.clause(None))
            continue
        _relation(parser, out)
    return out


def _objective(parser: Parser, out: Statement) -> Statement:
    mark = parser.at
    if parser.peek() in ("name", "text"):
        symbol = parser.symbol()
        named = [symbol.name]
        while parser.peek() == "name" and len(parser.text()) > 2 and not symbol.subs and not symbol.power:  # total profit = ...
            named.append(parser.take().text)
        if parser.skip("="):
            out.named = "_".join(named)
        else:
            parser.at = mark
    out.goal = parser.expr()
    while parser.skip("="):  # min Z = a = b: whether it is the same is seen with the data
        out.same.append(parser.expr())
    while parser.skip(*_SEPARATORS):
        pass
    if parser.peek() == "text" or (parser.peek() == "(" and all(t.kind in ("name", "text", "(", ")") for t in parser.row[parser.at :])):
        out.words += [t.text for t in parser.row[parser.at :]]
        parser.at = len(parser.row)
    if not parser.done:
        raise parser.fail("the objective goes on with something that is not understood")
    return out


def _definition(parser: Parser, out: Statement) -> bool:
    """I = {1,...,n}; I = {A, B}; A = {(i,j) : ...}; E subset of I x J; c = [3, 5, 7]."""
    row = parser.row[parser.at :]
    kinds = [t.kind for t in row]
    if len(row) > 2 and kinds[0] in ("name", "text") and "subset" in kinds[1:6] and not any(k in RELATIONS for k in kinds[: kinds.index("subset")]):
        if kinds[1] == "subset":
            out.sets[row[0].text] = SetExpr("name", row[0].text)
        if any(k in RELATIONS for k in kinds):
            raise parser.fail("a subset and more")
        return True
    mark = parser.at
    if len(row) > 3 and kinds[0] in ("name", "text") and any(k == "=" and n in ("\\{", "{") for k, n in pairwise(kinds)):
        symbol = parser.symbol()
        if parser.peek() != "=" or parser.peek(1) not in ("\\{", "{"):
            parser.at = mark
            return False
        inner = Parser(parser.row[parser.at + 1 :])
        made = inner.set_expr()
        power = "".join(t.text for t in symbol.power)
        heads = [sub[0] for sub in symbol.subs]
        if not symbol.subs and not power:
            out.sets[symbol.name] = made
        elif not power and not symbol.called and not symbol.boxed and all(len(t.text) > 1 for t in heads):  # CONTAINER_KINDS
            out.sets["_".join((symbol.name, *(t.text for t in heads)))] = made
        elif symbol.subs and all(len(sub) == 1 and sub[0].kind == "name" for sub in symbol.subs):
            family = symbol.name + (f"^{power}" if power else "")
            if out.families.setdefault(family, (tuple(t.text for t in heads), made)) != (tuple(t.text for t in heads), made):
                raise inner.fail(f"the sets '{family}' are defined twice")
        else:
            raise inner.fail("what is defined is not understood")
        rest = inner.row[inner.at :]
        if any(k.kind == "=" and n.kind in ("\\{", "{") for k, n in pairwise(rest)):
            while inner.skip(*_SEPARATORS) or (inner.peek() == "name" and inner.text() == "and"):
                inner.at += inner.peek() == "name" and inner.text() == "and"
            more = Parser(inner.row[inner.at :])
            return _definition(more, out)
        out.words += [t.text for t in rest]
        if any(t.kind in RELATIONS or t.kind == "in" for t in inner.row[inner.at :]):
            raise inner.fail("a set goes on with something that is not understood")
        return True
    if len(row) > 4 and kinds[0] == "name" and kinds[1] == "=" and kinds[2] in ("[", "(") and kinds[3] in ("num", "-") and "," in kinds:
        inner = Parser(row[3:])
        found: list[Fraction] = []
        while inner.peek() not in ("]", ")"):
            sign = -1 if inner.skip("-") else 1
            found.append(sign * Fraction(inner.take("num").text))
            inner.skip(",")
        inner.take()
        if not inner.done:
            return False
        out.values[row[0].text] = found
        return True
    return False


def _scope(parser: Parser, out: Statement) -> None:
    """From «for all» to the end, or to a next relation between variables."""
    parser.take("forall")
    while not parser.done:
        if parser.skip(",", ";;", ";", ":", "forall", "|", "."):
            continue
        if parser.peek() in ("text", "name") and (
            parser.text().lower() in ("and", "with", "where", "such", "that", "such that", "such that:") or parser.text().lower() in KINDS
        ):
            word = parser.take().text.lower()
            if word in KINDS:
                out.kinds.append(KINDS[word])
            continue
        if parser.peek() == "text" and parser.peek(1) not in ("in", "=", "<", ">"):
            _words(parser, out)
            continue
        if out.scope and not (out.relations or out.symbols) and _formula_ahead(parser):  # for each p in P, sum ... >= 2
            return
        if parser.peek() == "(" and parser.peek(1) == "text":
            depth = 0
            while not parser.done:
                kind = parser.take().kind
                depth += (kind == "(") - (kind == ")")
                if not depth:
                    break
            continue
        out.scope.append(parser.clause(None))


def cut(row: list[Token]) -> list[list[Token]]:
    """«a <= b for all i \\quad c <= d for all j»: each with its own scope.  Cut at a wide space behind a scope, before a formula."""
    out: list[list[Token]] = [[]]
    related = scoped = False
    for k, token in enumerate(row):
        if token.kind in RELATIONS and not scoped:
            related = True
        elif token.kind == "forall":
            scoped = True
        elif token.kind == ";;" and related and scoped:
            ahead = row[k + 1 :]
            letters = {t.text for j, t in enumerate(row[:k]) if t.kind == "name" and any(x.kind in ("_", "forall") for x in row[max(0, j - 4) : j])}
            bare = len(ahead) > 2 and ahead[0].kind == "name" and ahead[1].kind in RELATIONS and ahead[0].text not in letters
            if bare or (ahead and ahead[0].kind in ("name", "text", "sum", "num", "frac") and _formula_ahead(Parser(ahead))):
                out.append([])
                related = scoped = False
                continue
        out[-1].append(token)
    return [part for part in out if part]


def _formula_ahead(parser: Parser) -> bool:
    """After «for all i in I,»: does the formula itself begin, rather than one more clause?"""
    for k in range(len(parser.row) - parser.at):
        kind = parser.peek(k)
        if kind in ("_", "[", "sum", "*", "frac", "num"):
            return True
        letters = kind in RELATIONS and k == 1 and parser.peek(2) == "name" and parser.peek(3) in ("", ",", ";;")  # i != j
        if letters or kind in ("in", "notin", "...", ";;", ","):
            return False
    return False


def _words(parser: Parser, out: Statement) -> bool:
    """Words of kind («and integer»), fillers, a comment in \\text; False if a formula begins here."""
    token = parser.row[parser.at]
    words = token.text.lower().replace("non negative", "nonnegative").strip(" .,;:()")
    if words in KINDS:
        parser.take()
        out.kinds.append(KINDS[words])
        return True
    if token.kind == "name":
        if words in _FILLERS and len(words) > 1 and parser.peek(1) not in ("_", "[", *RELATIONS):
            parser.take()
            return True
        if words in ("if", "when", "otherwise", "or", "unless"):
            raise parser.fail("a condition in words")
        return False
    if words in _FILLERS or words == "":
        parser.take()
        return True
    parts = words.replace(",", " ").split()
    if parts and all(p in KINDS or p in _FILLERS for p in parts):
        parser.take()
        out.kinds += [KINDS[p] for p in parts if p in KINDS]
        return True
    if parts and parts[0] in ("if", "when", "either", "or", "otherwise", "unless"):
        if out.relations and parts[0] in ("if", "when"):
            out.words.append("if")
            parser.at = len(parser.row)
            return True
        raise parser.fail("a condition in words")
    if len(parts) > 1 or (out.relations and parser.peek(1) in ("", ";;", ",")):
        if parser.peek(1) in ("", ";;", ",", ")", "."):
            parser.take()
            out.words.append(words)
            return True
        raise parser.fail("words inside a formula")
    return False


def _wrapped_scope(parser: Parser, out: Statement) -> bool:
    """«(i in I)», «(capacity)», «(1)» after a relation."""
    if not out.relations and not out.symbols:
        return False
    k, depth = parser.at, 0
    while k < len(parser.row):
        depth += (parser.row[k].kind == "(") - (parser.row[k].kind == ")")
        k += 1
        if not depth:
            break
    inside = parser.row[parser.at + 1 : k - 1]
    if k < len(parser.row) and parser.row[k].kind in ("in", *RELATIONS):
        return False
    if inside and inside[0].kind == "forall":
        out.scope += Parser(inside).scope()
    elif any(t.kind in ("in", *RELATIONS) for t in inside):
        inner = Parser(inside)
        if not _is_clause(inner, out):
            return False
        out.scope += inner.scope()
    elif k < len(parser.row) and parser.row[k].kind not in (*_SEPARATORS, "forall"):
        return False
    parser.at = k
    return True


def _is_clause(parser: Parser, out: Statement) -> bool:
    """«i in I», «i = 1,...,n» outside «for all»: an index, not a variable with a domain."""
    mark = parser.at
    letters = parser.letters()
    kind, following, text = parser.peek(), parser.peek(1), parser.text(1)
    at = parser.at
    parser.at = mark
    if not letters:
        return False
    if kind in ("in", "notin"):
        if following == "set" or following == "[":
            return False
        if following in ("\\{", "{"):
            inside = parser.row[at + 2 :]
            digits = (
                [t for t in inside[: inside.index(next(t for t in inside if t.kind in ("\\}", "}")))] if t.kind != ","]
                if any(t.kind in ("\\}", "}") for t in inside)
                else []
            )
            return not all(t.kind in ("num", "...", "-") for t in digits) or bool(
                out.relations and len(letters[0]) == 1 and [t.text for t in digits] != ["0", "1"]
            )
        return bool(text)
    ranged = parser.is_range(at + 1) or (len(letters) == 1 and bool(parser.listed(at + 1)))
    return kind == "=" and ranged and (bool(out.relations or out.symbols) or len(letters[0]) == 1)


def _relation(parser: Parser, out: Statement) -> None:
    lefts = [parser.expr()]
    dots = False
    while parser.peek() in (",", "...") or (parser.peek() == "name" and parser.text() == "and"):
        mark = parser.at
        while parser.peek() in (",", "...") or (parser.peek() == "name" and parser.text() == "and"):
            dots |= parser.peek() == "..."
            parser.take()
        if (
            parser.done
            or parser.peek() in ("forall", ";;", "text")
            or (parser.peek() in ("name",) and parser.text().lower() in KINDS)
            or _is_clause(parser, out)
        ):
            parser.at = mark
            break
        lefts.append(parser.expr())
    kind = parser.peek()
    if kind in RELATIONS:
        ops, rights = [], []
        while parser.peek() in RELATIONS:
            ops.append(parser.take().kind)
            rights.append(parser.expr())
        if len(lefts) > 1 and len(ops) > 1:
            raise parser.fail("a chain of bounds on several left sides")
        if len(ops) == 1 and number(lefts[0]) is not None and isinstance(rights[0], Symbol) and parser.peek() == ",":
            bounded = middles(parser, ops[0], rights[0])
            if bounded is not None:
                out.relations += [Relation((lefts[0],), (ops[0], ops[0]), (middle, bounded[1])) for middle in bounded[0]]
                return
        out.relations.append(Relation(tuple(lefts), tuple(ops), tuple(rights)))
        out.family |= dots
    elif kind == "in":
        parser.take()
        out.relations.append(domain(parser, lefts))
        out.family |= dots
    elif kind == "notin":
        raise parser.fail("'not in' outside a scope")
    else:
        if not all(isinstance(e, Symbol) for e in lefts):
            if any(t.kind in (*RELATIONS, "in") for t in parser.row):
                raise parser.fail("a relation is not understood")
            out.words.append("expression")
            while not parser.done and parser.peek() not in RELATIONS:
                parser.take()
            return
        if parser.peek() not in ("", *_SEPARATORS, "forall", "name", "text", "("):
            raise parser.fail("a formula is not understood")
        if parser.peek() == "(" and not any(t.kind in RELATIONS for t in parser.row[parser.at :]):
            parser.at = len(parser.row)
        out.symbols += [e for e in lefts if isinstance(e, Symbol)]
        out.family |= dots
