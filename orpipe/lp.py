"""Reading LP files, exactly: every number as it is printed, names kept as they are ("x[0]", "Servings[food_0]").

Objective, rows (constants on either side, ranges), Bounds, General, Binary.  What changes the meaning in one reader and
not in another, or stands outside linear models (quadratic terms, indicators, SOS, semi-continuous), is refused: a reading
is right or there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from orpipe.errors import ParseError, Unsupported
from orpipe.mps import INFINITE, Side, assemble, too_large
from orpipe.problem import Problem
from orpipe.written_names import Own

_SECTION = re.compile(
    r"^\s*(?:(?P<min>min(?:imi[sz]e|imum)?)|(?P<max>max(?:imi[sz]e|imum)?)|(?P<rows>subject\s+to|such\s+that|s\.t\.|st\.?)"
    r"|(?P<other>semi-continuous|semis?|sos[12]?|pwlobj|general\s+constraints?|gencons?|lazy\s+constraints?|user\s+cuts?|scenario)"
    r"|(?P<bounds>bounds?)|(?P<general>generals?|gen|integers?|int)|(?P<binary>binar(?:y|ies)|bin)|(?P<end>end))(?=\s|$)",
    re.IGNORECASE)
_TOKEN = re.compile(r"""
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<relation><=|=<|>=|=>|<|>|=)
    | (?P<arrow>->)
    | (?P<sign>[+\-])
    | (?P<colon>:)
    | (?P<name>[A-Za-z_!"\#$%&(),;?@`'{}~|\[\]/][^\s+\-*^<>=:]*)
    | (?P<odd>\S)
""", re.VERBOSE)
_INFINITE = re.compile(r"inf(?:inity)?", re.IGNORECASE)
_RELATIONS = {"<=": "<=", "=<": "<=", "<": "<=", ">=": ">=", "=>": ">=", ">": ">=", "=": "="}
_MIRROR = {"<=": ">=", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


@dataclass(slots=True)
class _Linear:
    """terms by column, and a constant; infinite: +1 or -1 for a bare infinity."""

    terms: dict[int, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    infinite: int = 0


def read_lp(text: str) -> Problem:
    """A Problem from LP text.  Raises ParseError with the line, or Unsupported with the construct's name."""
    return _Reader(text).problem()


class _Reader:
    def __init__(self, text: str) -> None:
        self.columns: dict[str, int] = {}
        self.rows: dict[str, tuple[dict[int, Fraction], list[Side]]] = {}
        self.bounds: dict[int, list[Side]] = {}
        self.given: dict[int, set[int]] = {}
        self.line: dict[int, int] = {}  # where a column was last bounded or declared
        self.own = Own()
        self.integer: set[int] = set()
        self.binary: set[int] = set()
        self.maximize, self.objective = False, _Linear()
        self.tokens: list[_Token] = []
        self.at = 0
        self._sections(text)

    # ------------------------------------------------------------------------------------------------- sections

    def _sections(self, text: str) -> None:
        readers: dict[str, Callable[[], None]] = {
            "rows": self._rows, "bounds": self._bounds, "general": lambda: self._names(self.integer),
            "binary": lambda: self._names(self.binary),
        }
        section = ""
        seen: set[str] = set()
        parts: list[tuple[str, list[_Token]]] = []
        for number, raw in enumerate(text.splitlines(), start=1):
            line, _, comment = raw.partition("\\")
            self.own.hear(comment, f"LP line {number}")
            found = _SECTION.match(line)
            if found:
                section = next(name for name, value in found.groupdict().items() if value)
                if section == "other":
                    raise Unsupported(f"LP line {number}: section '{found[0].strip()}' is outside linear models")
                if section in seen or (section in ("min", "max") and seen):
                    raise _fault(number, f"section '{found[0].strip()}' stands twice")
                seen.add(section)
                parts.append((section, []))
                line = line[found.end():]
                if re.match(r"\s*multi-objectives", line, re.IGNORECASE):
                    raise Unsupported(f"LP line {number}: several objectives")
            if section == "end":
                break
            tokens = [_Token(m.lastgroup or "odd", m[0], number) for m in _TOKEN.finditer(line)]
            if tokens and not section:
                raise _fault(number, "text before the objective; an LP file begins with Minimize or Maximize")
            if tokens:
                parts[-1][1].extend(tokens)
        if section != "end":
            raise ParseError("LP file: it ends without End; is it cut off?")
        if not parts or parts[0][0] not in ("min", "max"):
            raise ParseError("LP file: no objective; it begins with Minimize or Maximize")
        for section, tokens in parts:
            self.tokens, self.at = tokens, 0
            if section in ("min", "max"):
                self.maximize = section == "max"
                self._label()
                self.objective = self._linear()
                if self._peek():
                    raise self._wrong("the objective")
            elif section in readers:
                readers[section]()

    def _rows(self) -> None:
        while self._peek():
            start = self._peek()
            assert start is not None
            name = self._label() or f"R{len(self.rows)}"
            if name in self.rows:
                raise _fault(start.line, f"row '{name}' stands twice")
            left = self._linear()
            relation = self._relation()
            if left.terms:
                right, lower = self._constant(), None
            else:
                right, lower = self._linear(), (left, relation)
                if not right.terms:
                    raise _fault(start.line, f"row '{name}' has no variable")
                left, relation = right, ""
                if self._is("relation"):
                    relation, right = self._relation(), self._constant()
            sides: list[Side] = [None, None]
            if relation:
                self._side(sides, relation, right, left.constant, start.line)
            if lower:
                self._side(sides, _MIRROR[lower[1]], lower[0], left.constant, start.line)
            self.rows[name] = (left.terms, sides)

    @staticmethod
    def _side(sides: list[Side], relation: str, value: _Linear, constant: Fraction, line: int) -> None:
        if value.infinite:
            if relation != (">=" if value.infinite < 0 else "<="):
                raise _fault(line, "an infinite side that no point can reach")
            return
        if abs(value.constant - constant) >= INFINITE:
            raise _fault(line, "a side of 1e20 or more is infinite to some readers and a number to others; write inf")
        if relation in (">=", "="):
            sides[0] = value.constant - constant
        if relation in ("<=", "="):
            sides[1] = value.constant - constant

    def _bounds(self) -> None:
        while (start := self._peek()) is not None:
            first = self._bound_side()
            if isinstance(first, int) and self._is("name") and self.tokens[self.at].text.lower() == "free":
                self.at += 1
                self._bound(first, ">=", _Linear(infinite=-1), start.line)
                self._bound(first, "<=", _Linear(infinite=1), start.line)
                continue
            relation = self._relation()
            second = self._bound_side()
            if isinstance(first, int) and isinstance(second, _Linear):
                self._bound(first, relation, second, start.line)
            elif isinstance(first, _Linear) and isinstance(second, int):
                self._bound(second, _MIRROR[relation], first, start.line)
                if self._is("relation"):
                    relation, third = self._relation(), self._constant()
                    self._bound(second, relation, third, start.line)
            else:
                raise _fault(start.line, "a bound needs one variable and a number")

    def _bound_side(self) -> int | _Linear:
        token = self._peek()
        if token is not None and token.kind == "name" and not _INFINITE.fullmatch(token.text):
            self.at += 1
            return self._column(token)
        return self._constant()

    def _bound(self, j: int, relation: str, value: _Linear, line: int) -> None:
        bounds, self.line[j] = self.bounds.setdefault(j, [Fraction(0), None]), line
        for k, wanted in enumerate((">=", "<=")):
            if relation in (wanted, "="):
                if value.infinite and (value.infinite < 0) is not (k == 0):
                    raise _fault(line, "an infinite bound on the wrong side")
                bounds[k] = None if value.infinite else value.constant
                self.given.setdefault(j, set()).add(k)

    def _names(self, into: set[int]) -> None:
        while (token := self._peek()) is not None:
            if token.kind != "name":
                raise self._wrong("a list of variables")
            self.at += 1
            into.add(self._column(token))
            self.line[self.columns[token.text]] = token.line

    # ----------------------------------------------------------------------------------------------- expressions

    def _linear(self) -> _Linear:
        """Signed terms up to a relation, a label or a term without sign."""
        found, first = _Linear(), True
        while (token := self._peek()) is not None and token.kind in ("number", "name", "sign"):
            if not first and token.kind != "sign":
                break
            if token.kind == "name" and self._is("colon", 1):
                break
            sign = self._sign()
            value: Fraction | None = None
            if self._is("number"):
                value = self._number(self.tokens[self.at])
                self.at += 1
            token = self._peek()
            if token is not None and token.kind == "name" and not self._is("colon", 1):
                if value is None and _INFINITE.fullmatch(token.text) and not found.terms:
                    self.at += 1
                    found.infinite = sign
                    break
                self.at += 1
                j = self._column(token)
                found.terms[j] = found.terms.get(j, Fraction(0)) + sign * (Fraction(1) if value is None else value)
            elif value is not None:
                found.constant += sign * value
            else:
                raise self._wrong("a term")
            first = False
        if (token := self._peek()) is not None and token.text in ("*", "^"):
            raise Unsupported(f"LP line {token.line}: '{token.text}', a term that is not linear")
        return found

    def _number(self, token: _Token) -> Fraction:
        if too_large(token.text):
            raise _fault(token.line, f"'{token.text[:40]}' is too large or too long a number to be meant")
        return Fraction(token.text)

    def _constant(self) -> _Linear:
        sign = self._sign()
        token = self._peek()
        if token is not None and token.kind == "number":
            self.at += 1
            value = self._number(token)
            if value >= INFINITE:
                raise _fault(token.line, f"{token.text} is infinite to some readers and a number to others; write inf")
            return _Linear(constant=sign * value)
        if token is not None and _INFINITE.fullmatch(token.text):
            self.at += 1
            return _Linear(infinite=sign)
        raise self._wrong("a number")

    def _sign(self) -> int:
        sign = 1
        while self._is("sign"):
            sign = -sign if self.tokens[self.at].text == "-" else sign
            self.at += 1
        return sign

    def _relation(self) -> str:
        if not self._is("relation"):
            raise self._wrong("<=, >= or =")
        self.at += 1
        return _RELATIONS[self.tokens[self.at - 1].text]

    def _label(self) -> str:
        if self._is("name") and self._is("colon", 1):
            self.at += 2
            return self.tokens[self.at - 2].text
        return ""

    def _column(self, token: _Token) -> int:
        if token.text.startswith("[") or token.text in ("]", "/"):
            raise Unsupported(f"LP line {token.line}: quadratic terms")
        return self.columns.setdefault(token.text, len(self.columns))

    def _peek(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _is(self, kind: str, ahead: int = 0) -> bool:
        return self.at + ahead < len(self.tokens) and self.tokens[self.at + ahead].kind == kind

    def _wrong(self, expected: str) -> ParseError | Unsupported:
        token = self._peek()
        if token is None:
            line = self.tokens[-1].line if self.tokens else 0
            return _fault(line, f"expected {expected} and the section ends")
        if token.kind == "arrow":
            return Unsupported(f"LP line {token.line}: indicator row")
        return _fault(token.line, f"expected {expected}, found '{token.text}'")

    # ---------------------------------------------------------------------------------------------------- result

    def problem(self) -> Problem:
        bounds = []
        for name, j in self.columns.items():
            low, high = self.bounds.get(j, [Fraction(0), None])
            if j in self.binary:
                if (low is not None and not 0 <= low <= 1) or (high is not None and not 0 <= high <= 1):
                    raise _fault(self.line[j], f"binary variable '{name}' has bounds outside 0 and 1; readers differ on it")
                low, high = (Fraction(0) if low is None else low), (Fraction(1) if high is None else high)
            elif high is not None and high < 0 and 0 not in self.given.get(j, ()):
                raise _fault(self.line[j], f"'{name}' has a negative upper bound and no lower one; readers differ on it")
            bounds.append((low, high))
        self._join()
        rows = list(self.rows.values())
        return assemble(
            name="lp", maximize=self.maximize, columns=self.own.columns(self.columns),
            cost=[self.objective.terms.get(j, Fraction(0)) for j in range(len(self.columns))], offset=self.objective.constant,
            rows=self.own.rows(self.rows), entries=((i, j, v) for i, (terms, _) in enumerate(rows) for j, v in terms.items()),
            row_sides=[(sides[0], sides[1]) for _, sides in rows], bounds=bounds,
            integer=[j in self.integer or j in self.binary for j in range(len(self.columns))],
        )


    def _join(self) -> None:
        """Rows that were written as a lower and an upper side, as our writer's comments say, become one again."""
        for name, lower in self.own.upper.items():
            terms, sides = self.rows.pop(name, ({}, [None, None]))
            if lower not in self.rows or self.rows[lower][0] != terms or sides[1] is None or self.rows[lower][1][1] is not None:
                raise ParseError(f"LP file: a comment calls row '{name}' the upper side of row '{lower}', and it is not")
            self.rows[lower][1][1] = sides[1]


def _fault(line: int, what: str) -> ParseError:
    return ParseError(f"LP line {line}: {what}")
