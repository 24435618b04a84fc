"""Writing LP files, exactly, in the part of the format that readers agree on.

Every column stands in the objective, in order; every row has a label; a row with two sides becomes two rows (HiGHS and others
read no ranges) that a comment line joins again; bounds other than [0, inf) are told on both sides; names that some reader would
not take (brackets, blanks, signs, keywords, non-ASCII) are changed and given back by comment lines (orpipe.written_names).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from orpipe.errors import Unsupported
from orpipe.exact import decimal_text
from orpipe.mps import INFINITE, Side, optional
from orpipe.problem import Problem
from orpipe.written_names import carried, comments

_LINE = 200
_FITS = re.compile(r"(?![eE](\d|$))[A-Za-z_][A-Za-z0-9_.]{0,199}")
_WORDS = re.compile(r"mini?(mi[sz]e|mum)?|maxi?(mi[sz]e|mum)?|subject|such|that|to|st|s\.t\.|bounds?|generals?|gen|integers?|int"
                    r"|binar(y|ies)|bin|end|free|inf(inity)?|semis?|sos\d?|pwlobj|gencons?|lazy|user|scenario", re.IGNORECASE)


def write_lp(problem: Problem) -> str:
    """`problem` as LP text.  A row with a number that is no finite decimal is multiplied by the common denominator of its
    numbers, which keeps the problem; the objective never is.  Raises Unsupported, naming the row or column, where only
    rounding would do, for a finite side of 1e20 or more, crossed sides, and a row in a problem without columns."""
    columns, rows = (carried(names, _plain, fallback, _fits) for names, fallback in ((problem.columns, "x"), (problem.rows, "r")))
    objective = "obj"
    while objective in rows:
        objective += "_"
    head = [*comments("\\", "column", problem.columns, columns), *comments("\\", "row", problem.rows, rows)]
    lines = ["Maximize" if problem.maximize else "Minimize"]
    costs = [_decimal(v, f"objective coefficient of {name}") for v, name in zip(problem.cost_exact.fractions(), problem.columns, strict=True)]
    constant = _decimal(problem.offset, "objective constant")
    lines += _wrapped(f" {objective}:", [*_terms(costs, columns), *([_signed(constant)] if constant != "0" or not columns else [])])
    lines.append("Subject To")
    low, high = optional(problem.row_lower, problem.row_lower_exact), optional(problem.row_upper, problem.row_upper_exact)
    entries, starts, indices = problem.matrix_exact.fractions(), problem.matrix.indptr.tolist(), problem.matrix.indices.tolist()
    taken = {*rows, objective}
    for i, (name, a, b) in enumerate(zip(rows, low, high, strict=True)):
        span = range(starts[i], starts[i + 1])
        upper = ""
        if a is not None and b is not None and a != b:
            upper = f"{name[:180]}_hi"
            while upper in taken:
                upper += "_"
            taken.add(upper)
            head.append(f"\\ upper {upper} = {json.dumps(name)}")
        lines += _row(name, upper, f"row '{problem.rows[i]}'", [entries[k] for k in span], [columns[indices[k]] for k in span], a, b, columns)
    low, high = optional(problem.lower, problem.lower_exact), optional(problem.upper, problem.upper_exact)
    binary = problem.binary.tolist()
    bounds = [_bound(name, f"bound of {own}", a, b)
              for name, own, a, b, skip in zip(columns, problem.columns, low, high, binary, strict=True) if not skip and (a != 0 or b is not None)]
    lines += ["Bounds", *bounds] if bounds else []
    for title, wanted in (("General", problem.integer & ~problem.binary), ("Binary", problem.binary)):
        if wanted.any():
            lines += [title, *_wrapped("", [name for name, k in zip(columns, wanted.tolist(), strict=True) if k])]
    return "\n".join([*head, *lines, "End", ""])


def _row(name: str, upper: str, what: str, values: Sequence[Fraction], names: Sequence[str], low: Side, high: Side,
         columns: Sequence[str]) -> list[str]:
    if low is not None and high is not None and low > high:
        raise Unsupported(f"{what} has its lower side above its upper side; LP readers differ on that")
    if not columns:
        raise Unsupported(f"{what} stands in a problem without columns; LP cannot say that")
    sides = [side for side in (low, high) if side is not None]
    if any(decimal_text(v) is None for v in (*values, *sides)):
        factor = math.lcm(*(v.denominator for v in (*values, *sides)))
        values, low, high = [v * factor for v in values], None if low is None else low * factor, None if high is None else high * factor
    terms = _terms([_decimal(v, what) for v in values], names) or [f"+ 0 {columns[0]}"]
    a, b = (None if side is None else _side(side, what) for side in (low, high))
    if upper:
        return [*_wrapped(f" {name}:", [*terms, f">= {a}"]), *_wrapped(f" {upper}:", [*terms, f"<= {b}"])]
    return _wrapped(f" {name}:", [*terms, f"= {a}" if a is not None and b is not None else f"<= {b}" if b is not None else f">= {a or '-inf'}"])


def _bound(name: str, what: str, low: Side, high: Side) -> str:
    if low is None and high is None:
        return f" {name} free"
    if low is not None and high is not None and low > high:
        raise Unsupported(f"{what}: the lower one is above the upper one; LP readers differ on that")
    if low == high and low is not None:
        return f" {name} = {_side(low, what)}"
    return f" {'-inf' if low is None else _side(low, what)} <= {name}" + ("" if high is None else f" <= {_side(high, what)}")


def _terms(values: Iterable[str], names: Iterable[str]) -> list[str]:
    return [f"{_signed(value)} {name}" for value, name in zip(values, names, strict=True)]


def _signed(text: str) -> str:
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


def _side(value: Fraction, what: str) -> str:
    if abs(value) >= INFINITE:
        raise Unsupported(f"{what} is {float(value):g}, which is infinite to some LP readers")
    return _decimal(value, what)


def _decimal(value: Fraction, what: str) -> str:
    text = decimal_text(value)
    if text is None:
        raise Unsupported(f"{what} is {value}, no finite decimal; LP would have to round it")
    return text


def _wrapped(head: str, parts: Sequence[str]) -> list[str]:
    lines = [head]
    for part in parts:
        if len(lines[-1]) + len(part) >= _LINE:
            lines.append("  ")
        lines[-1] += f" {part}"
    return lines


def _fits(name: str) -> bool:
    return bool(_FITS.fullmatch(name)) and not _WORDS.fullmatch(name)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "_", name).strip("_")[:180]
