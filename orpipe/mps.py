"""Exact MPS: numbers are written as finite decimals and read as the decimals they print, never through a float.

Free format with an OBJSENSE section, integer markers, RANGES, and the objective constant as minus the right-hand side
of the objective row, as HiGHS and OR-Tools read it.  Where readers differ (bounds of integer columns, a negative upper
bound without a lower one, sides of 1e20 and more) the writer is explicit or refuses, and the reader refuses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.errors import ParseError, Unsupported
from orpipe.exact import Exact, decimal_text
from orpipe.problem import Problem
from orpipe.written_names import Own, carried, comments

Side = Fraction | None  # None: no bound on this side
INFINITE = 10**20  # from here on a side or bound is infinite to HiGHS, SCIP and CPLEX and a number to others
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


def assemble(
    *,
    name: str,
    maximize: bool,
    columns: Sequence[str],
    cost: Sequence[Fraction],
    offset: Fraction,
    rows: Sequence[str],
    entries: Iterable[tuple[int, int, Fraction]],
    row_sides: Sequence[tuple[Side, Side]],
    bounds: Sequence[tuple[Side, Side]],
    integer: Sequence[bool],
) -> Problem:
    """A Problem from exact numbers; entries are (row, column, value), one each; zeros are dropped."""
    kept = sorted(e for e in entries if e[2])
    matrix_exact = Exact.of([value for _, _, value in kept])
    i = np.array([row for row, _, _ in kept], dtype=np.int32)
    j = np.array([column for _, column, _ in kept], dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(rows)))]).astype(np.int32)

    def sides(values: Sequence[Side], infinite: float) -> tuple[np.ndarray, Exact]:
        exact = Exact.of([Fraction(0) if v is None else v for v in values])
        return np.where([v is None for v in values], infinite, exact.float()).astype(float).reshape(len(values)), exact

    row_lower, row_lower_exact = sides([low for low, _ in row_sides], -np.inf)
    row_upper, row_upper_exact = sides([high for _, high in row_sides], np.inf)
    lower, lower_exact = sides([low for low, _ in bounds], -np.inf)
    upper, upper_exact = sides([high for _, high in bounds], np.inf)
    return Problem(
        name=name, maximize=maximize, columns=tuple(columns), rows=tuple(rows), cost_exact=Exact.of(list(cost)),
        offset=offset, matrix=sp.csr_array((matrix_exact.float(), j, indptr), shape=(len(rows), len(columns))),
        matrix_exact=matrix_exact, row_lower_exact=row_lower_exact, row_upper_exact=row_upper_exact,
        lower_exact=lower_exact, upper_exact=upper_exact, row_lower=row_lower, row_upper=row_upper, lower=lower,
        upper=upper, integer=np.array(integer, bool).reshape(len(columns)), decision=np.ones(len(columns), bool),
    )


def write_mps(problem: Problem) -> str:
    """`problem` as free-format MPS, exactly.

    Names keep their characters except blanks, which become '_' (made unique; a comment line gives the own name back).  A row
    with a number that is no finite decimal is multiplied by the common denominator of its numbers.  Raises Unsupported where only rounding would do
    (objective, constant or column bound that is no finite decimal), for a finite side of 1e20 or more and for a row whose lower
    side exceeds its upper.
    """
    columns, rows = carried(problem.columns, _plain, "x", _fits), carried(problem.rows, _plain, "r", _fits)
    objective = "obj"
    while objective in rows:
        objective += "_"
    A, m = problem.matrix, problem.n_rows
    den, num = problem.matrix_exact.den, problem.matrix_exact.num.tolist()
    starts, indices = A.indptr.tolist(), A.indices.tolist()
    low = optional(problem.row_lower, problem.row_lower_exact)
    high = optional(problem.row_upper, problem.row_upper_exact)
    head, right, ranges = [f" N  {objective}"], [], []
    by_column: list[list[str]] = [[] for _ in columns]
    written: dict[int, str | None] = {}
    for j, value in enumerate(problem.cost_exact.fractions()):
        if value:
            by_column[j].append(f"{objective} {_decimal(value, f'objective coefficient of {problem.columns[j]}')}")
    if problem.offset:
        right.append(f"    RHS  {objective}  {_decimal(-problem.offset, 'objective constant')}")
    for i in range(m):
        a, b, row = low[i], high[i], rows[i]
        span = range(starts[i], starts[i + 1])
        for k in span:
            if num[k] not in written:
                written[num[k]] = decimal_text(Fraction(num[k], den))
        texts = [written[num[k]] for k in span]
        if None in texts or any(side is not None and decimal_text(side) is None for side in (a, b)):
            values = [Fraction(num[k], den) for k in span]
            factor = math.lcm(*(v.denominator for v in [*values, a or Fraction(0), b or Fraction(0)]))
            texts = [decimal_text(v * factor) for v in values]
            a, b = None if a is None else a * factor, None if b is None else b * factor
        for k, text in zip(span, texts, strict=True):
            by_column[indices[k]].append(f"{row} {text}")
        if a is not None and b is not None and a > b:
            raise Unsupported(f"row '{problem.rows[i]}' has its lower side above its upper side; MPS cannot say that")
        width = None if a is None or b is None else b - a
        if any(side is not None and abs(side) >= INFINITE for side in (a, b, width)):
            raise Unsupported(f"row '{problem.rows[i]}' has a side of 1e20 or more, which is infinite to some MPS readers")
        head.append(f" {_row_type(a, b)}  {row}")
        side = b if a is None else a
        if side:
            right.append(f"    RHS  {row}  {decimal_text(side)}")
        if width:
            ranges.append(f"    RNG  {row}  {decimal_text(width)}")

    body: list[str] = []
    bounds: list[str] = []
    inside = False
    low, high = optional(problem.lower, problem.lower_exact), optional(problem.upper, problem.upper_exact)
    for j, (name, whole) in enumerate(zip(columns, problem.integer.tolist(), strict=True)):
        if whole != inside:
            body.append(f"    MARKER  'MARKER'  '{'INTORG' if whole else 'INTEND'}'")
            inside = whole
        body += [f"    {name}  {entry}" for entry in by_column[j] or [f"{objective} 0"]]
        for kind, side in _bound_lines(low[j], high[j], whole):
            if side is not None and abs(side) >= INFINITE:
                raise Unsupported(f"bound of {problem.columns[j]} is {float(side):g}, which is infinite to some MPS readers")
            number = "" if side is None else f"  {_decimal(side, f'bound of {problem.columns[j]}')}"
            bounds.append(f" {kind} BND  {name}{number}")
    if inside:
        body.append("    MARKER  'MARKER'  'INTEND'")
    sense = ["OBJSENSE", "    MAX"] if problem.maximize else []
    title = re.sub(r"\s+", "_", problem.name.strip()) or "problem"
    names = [*comments("*", "column", problem.columns, columns), *comments("*", "row", problem.rows, rows)]
    return "\n".join([*names, f"NAME {title}", *sense, "ROWS", *head, "COLUMNS", *body, "RHS", *right,
                      *(["RANGES", *ranges] if ranges else []), "BOUNDS", *bounds, "ENDATA", ""])


def optional(floats: np.ndarray, exact: Exact) -> list[Side]:
    return [v if known else None for v, known in zip(exact.fractions(), np.isfinite(floats).tolist(), strict=True)]


def _row_type(low: Side, high: Side) -> str:
    if low is None:
        return "N" if high is None else "L"
    return "E" if low == high else "G"


def _bound_lines(low: Side, high: Side, whole: bool) -> list[tuple[str, Side]]:
    """Nothing for a continuous column in [0, inf); both sides in words for everything else."""
    if low is not None and low == high:
        return [("FX", low)]
    if low is None and high is None:
        return [("FR", None)]
    if not whole and low == 0 and high is None:
        return []
    return [("MI", None) if low is None else ("LO", low), ("PL", None) if high is None else ("UP", high)]


def _decimal(value: Fraction, what: str) -> str:
    text = decimal_text(value)
    if text is None:
        raise Unsupported(f"{what} is {value}, no finite decimal; MPS would have to round it")
    return text


def _fits(name: str) -> bool:
    """'$' and '*' start a comment for some readers."""
    return bool(name) and not re.search(r"\s", name) and name[0] not in "*$"


def _plain(name: str) -> str:
    return re.sub(r"\s", "_", name).lstrip("*$")


@dataclass(slots=True)
class _Column:
    whole: bool
    low: Side = Fraction(0)
    high: Side = None
    low_given: bool = False
    high_given: bool = False
    line: int = 0


@dataclass(slots=True)
class _Reading:
    """What the sections have said so far."""

    name: str = "problem"
    maximize: bool = False
    objective: str | None = None
    rows: dict[str, int] = field(default_factory=dict)  # without the objective
    types: list[str] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    kinds: list[_Column] = field(default_factory=list)
    cost: dict[int, Fraction] = field(default_factory=dict)
    entries: dict[tuple[int, int], Fraction] = field(default_factory=dict)
    right: dict[int, Fraction] = field(default_factory=dict)
    ranges: dict[int, Fraction] = field(default_factory=dict)
    sided: dict[int, int] = field(default_factory=dict)  # the last line about a row's sides
    offset: Fraction = Fraction(0)
    marked: bool = False
    current: str | None = None  # the column whose entries are being listed
    opened: set[str] = field(default_factory=set)
    sets: dict[str, str] = field(default_factory=dict)
    own: Own = field(default_factory=Own)


def read_mps(text: str) -> Problem:
    """A Problem from free-format MPS, every number exactly as printed.  The first N row is the objective, further N
    rows are rows without sides.  Raises ParseError with the line number for anything unknown, ambiguous or repeated."""
    state = _Reading()
    section = ""
    number = 0
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if line.startswith("*"):
            state.own.hear(line[1:], f"MPS line {number}")
            continue
        if not words:
            continue
        if not line[0].isspace():
            section = _open(state, words, number)
            if section == "ENDATA":
                break
        elif section in _SECTIONS:
            _SECTIONS[section](state, words, number)
        else:
            raise _fault(number, f"data in section '{section or 'none'}'")
    if section != "ENDATA":
        raise _fault(number, "the text ends without ENDATA")
    return _finish(state, number)


_LONGEST, _LARGEST = 4000, 4000  # digits as written, power of ten


def _fault(line: int, what: str) -> ParseError:
    return ParseError(f"MPS line {line}: {what}")


def _open(state: _Reading, words: list[str], line: int) -> str:
    section = words[0]
    if section in state.opened:
        raise _fault(line, f"section {section} stands twice")
    state.opened.add(section)
    if section == "NAME":
        state.name = " ".join(words[1:]) or "problem"
    elif section == "OBJSENSE" and len(words) == 2:
        _sense(state, words[1:], line)
    elif section != "ENDATA" and (section not in _SECTIONS or len(words) > 1):
        raise _fault(line, f"unknown section '{' '.join(words)}'")
    return section


def _sense(state: _Reading, words: list[str], line: int) -> None:
    senses = {"MAX": True, "MAXIMIZE": True, "MIN": False, "MINIMIZE": False}
    if len(words) != 1 or words[0].upper() not in senses:
        raise _fault(line, f"unknown objective sense '{' '.join(words)}'; MAX or MIN")
    state.maximize = senses[words[0].upper()]


def _row(state: _Reading, words: list[str], line: int) -> None:
    if len(words) != 2 or words[0] not in ("N", "E", "L", "G"):
        raise _fault(line, f"expected a row type (N, E, L, G) and a name, found '{' '.join(words)}'")
    kind, name = words
    if name == state.objective or name in state.rows:
        raise _fault(line, f"row '{name}' stands twice")
    if kind == "N" and state.objective is None:
        state.objective = name
    else:
        state.rows[name] = len(state.types)
        state.types.append(kind)


def _column(state: _Reading, words: list[str], line: int) -> None:
    if len(words) == 3 and words[1] == "'MARKER'":
        wanted = {"'INTORG'": True, "'INTEND'": False}.get(words[2])
        if wanted is None or wanted is state.marked:
            raise _fault(line, f"marker {words[2]} out of place")
        state.marked, state.current = wanted, None
        return
    if len(words) not in (3, 5):
        raise _fault(line, "expected a column and one or two pairs of row and number")
    name = words[0]
    if name != state.current:
        if name in state.columns:
            raise _fault(line, f"column '{name}' stands in two places")
        state.columns[name] = len(state.kinds)
        state.kinds.append(_Column(state.marked, line=line))
        state.current = name
    j = state.columns[name]
    for row, value in _pairs(words[1:], line):
        if row == state.objective:
            if j in state.cost:
                raise _fault(line, f"two objective coefficients for column '{name}'")
            state.cost[j] = value
        else:
            key = (_known(state.rows, "row", row, line), j)
            if key in state.entries:
                raise _fault(line, f"two entries in row '{row}', column '{name}'")
            state.entries[key] = value


def _pairs(words: list[str], line: int) -> list[tuple[str, Fraction]]:
    return [(words[k], _value(words[k + 1], line)) for k in range(0, len(words), 2)]


def _value(word: str, line: int) -> Fraction:
    if not _NUMBER.fullmatch(word):
        raise _fault(line, f"'{word}' is no number")
    if too_large(word):
        raise _fault(line, f"'{word[:40]}' is too large or too long a number to be meant")
    return Fraction(word)


def too_large(word: str) -> bool:
    """Is a number, as written, beyond what floats come near to?  To read 1e999999999 exactly takes hours."""
    exponent = word.lower().partition("e")[2]
    return len(word) > _LONGEST or len(exponent) > 6 or abs(int(exponent or 0)) > _LARGEST


def _known(table: Mapping[str, int], what: str, name: str, line: int) -> int:
    if name not in table:
        raise _fault(line, f"unknown {what} '{name}'")
    return table[name]


def _named(state: _Reading, section: str, words: list[str], line: int) -> list[tuple[str, Fraction]]:
    """The pairs of an RHS or RANGES line, whose set name may be left out but must not change."""
    if len(words) % 2:
        if state.sets.setdefault(section, words[0]) != words[0]:
            raise _fault(line, f"a second {section} set '{words[0]}'")
        words = words[1:]
    if len(words) not in (2, 4):
        raise _fault(line, f"expected one or two pairs of row and number in {section}")
    return _pairs(words, line)


def _right(state: _Reading, words: list[str], line: int) -> None:
    for row, value in _named(state, "RHS", words, line):
        if row == state.objective:
            if state.offset:
                raise _fault(line, "two objective constants")
            state.offset = -value
            continue
        i = _known(state.rows, "row", row, line)
        if i in state.right or state.types[i] == "N":
            raise _fault(line, f"right-hand side of row '{row}' stands twice or means nothing")
        state.right[i], state.sided[i] = _finite(value, f"right-hand side of row '{row}'", line), line


def _range(state: _Reading, words: list[str], line: int) -> None:
    for row, value in _named(state, "RANGES", words, line):
        i = _known(state.rows, "row", row, line)
        if i in state.ranges or state.types[i] == "N":
            raise _fault(line, f"range of row '{row}' stands twice or means nothing")
        state.ranges[i], state.sided[i] = _finite(value, f"range of row '{row}'", line), line


def _finite(value: Fraction, what: str, line: int) -> Fraction:
    if abs(value) >= INFINITE:
        raise _fault(line, f"{what}: it is infinite to some readers and a number to others; leave the side out")
    return value


def _bound(state: _Reading, words: list[str], line: int) -> None:
    kind = words[0]
    bare = kind in ("FR", "MI", "PL", "BV")
    if not bare and kind not in ("LO", "UP", "FX", "LI", "UI"):
        raise _fault(line, f"unknown bound type '{kind}'")
    rest = words[1:]
    if len(rest) == (2 if bare else 3):
        if state.sets.setdefault("BOUNDS", rest[0]) != rest[0]:
            raise _fault(line, f"a second BOUNDS set '{rest[0]}'")
        rest = rest[1:]
    if len(rest) != (1 if bare else 2):
        raise _fault(line, f"expected {kind}, a set name, a column" + ("" if bare else " and a number"))
    column = state.kinds[_known(state.columns, "column", rest[0], line)]
    value: Side = None
    if not bare and not _INFINITE.fullmatch(rest[1]):
        value = _value(rest[1], line)
        if abs(value) >= INFINITE:
            raise _fault(line, f"bound {kind} at {rest[1]}, which is infinite to some readers and a number to others; write MI, PL or inf")
    elif not bare and (kind in ("FX", "LI", "UI") or (rest[1][0] == "-") is not (kind == "LO")):
        raise _fault(line, f"bound {kind} at {rest[1]}")
    column.whole = column.whole or kind in ("BV", "LI", "UI")
    column.line = line
    if kind in ("LO", "LI", "MI", "FX", "FR", "BV"):
        if column.low_given:
            raise _fault(line, f"two lower bounds for column '{rest[0]}'")
        column.low, column.low_given = Fraction(0) if kind == "BV" else value, True
    if kind in ("UP", "UI", "PL", "FX", "FR", "BV"):
        if column.high_given:
            raise _fault(line, f"two upper bounds for column '{rest[0]}'")
        column.high, column.high_given = Fraction(1) if kind == "BV" else value, True


_SECTIONS = {"OBJSENSE": _sense, "ROWS": _row, "COLUMNS": _column, "RHS": _right, "RANGES": _range, "BOUNDS": _bound}


def _finish(state: _Reading, line: int) -> Problem:
    if state.objective is None:
        raise _fault(line, "no objective: the first N row names it")
    if state.marked:
        raise _fault(line, "integer marker left open")
    for name, j in state.columns.items():
        column = state.kinds[j]
        if column.whole and not column.high_given:
            raise _fault(column.line, f"integer column '{name}' has no upper bound; write UP or PL")
        if column.high is not None and column.high < 0 and not column.low_given:
            raise _fault(column.line, f"'{name}' has a negative upper bound but no lower one; write LO or MI")
    return assemble(
        name=state.name, maximize=state.maximize, columns=state.own.columns(state.columns),
        cost=[state.cost.get(j, Fraction(0)) for j in range(len(state.kinds))], offset=state.offset,
        rows=state.own.rows(state.rows), entries=((i, j, value) for (i, j), value in state.entries.items()),
        row_sides=[_both(state, i, kind) for i, kind in enumerate(state.types)],
        bounds=[(column.low, column.high) for column in state.kinds], integer=[column.whole for column in state.kinds],
    )


def _both(state: _Reading, i: int, kind: str) -> tuple[Side, Side]:
    sides = _sides(kind, state.right.get(i, Fraction(0)), state.ranges.get(i))
    for side in sides:
        _finite(side or Fraction(0), "side and range together", state.sided.get(i, 0))
    return sides


def _sides(kind: str, right: Fraction, width: Fraction | None) -> tuple[Side, Side]:
    if kind == "N":
        return None, None
    if width is None:
        return (None if kind == "L" else right), (None if kind == "G" else right)
    if kind == "L" or (kind == "E" and width < 0):
        return right - abs(width), right
    return right, right + abs(width)
