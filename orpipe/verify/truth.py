"""Labels as benchmarks write them, read into accepted values and statuses.

    1160.0, "1,200 USD", "$5.5$", "1/3", "1.2e6"      one value
    [100, 120], "100 or 120"                          any of them
    "12.5%"                                           12.5 or 0.125
    "infeasible", "unbounded"                         a status
    "No Best Solution", -99999                        no optimum: infeasible or unbounded (the number itself as well)
    {"status": "optimal", "objective": 7}             a record
    null, "", "N/A"                                   no label

A text that is none of these is not understood; it is reported, and answers to it stay undecided.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

Statuses = frozenset[str]
NO_OPTIMUM: Statuses = frozenset({"infeasible", "unbounded"})
SENTINELS = (-99999.0,)
_LONGEST, _MOST = 2000, 1000  # characters of a text, entries of a list or record: beyond them it is no label


@dataclass(frozen=True, slots=True)
class Value:
    """An accepted optimum; decimals: digits after the point as the label printed it, None if that tells nothing."""

    number: float
    decimals: int | None = None

    def __str__(self) -> str:
        return f"{self.number:.10g}"


@dataclass(frozen=True)
class Truth:
    """What counts as right: any of `values`, any of `statuses`.  maximize: the sense, where the label's model is known;
    offset: that model's objective constant.  note: why there is no truth.
    """

    values: tuple[Value, ...] = ()
    statuses: Statuses = frozenset()
    understood: bool = True
    note: str = ""
    raw: Any = None
    maximize: bool | None = None
    offset: float | None = None

    @property
    def absent(self) -> bool:
        return not self.values and not self.statuses

    def __str__(self) -> str:
        return " or ".join([*map(str, self.values), *sorted(self.statuses)]) or "none"

    @classmethod
    def of(cls, label: Any, sentinels: Collection[float] = SENTINELS) -> Truth:
        """Read a label; a Truth is taken as it is.  `sentinels`: numbers that stand for "no optimum".  Never raises."""
        if isinstance(label, Truth):
            return label
        try:
            found = _read(label)
        except (ValueError, OverflowError, InvalidOperation, RecursionError, ZeroDivisionError) as error:
            found = _unread(str(error)[:200] or "it cannot be read")
        except Exception as error:  # an object that does as it likes
            found = _unread(f"it cannot be read ({type(error).__name__})")
        if any(value.number in sentinels for value in found.values):
            found = replace(found, statuses=found.statuses | NO_OPTIMUM)
        return replace(found, raw=label)

    @classmethod
    def optimum(cls, objective: float, maximize: bool | None = None, offset: float | None = None) -> Truth:
        return cls((Value(float(objective)),), raw=float(objective), maximize=maximize, offset=offset)

    @classmethod
    def status(cls, *names: str) -> Truth:
        return cls(statuses=frozenset(names), raw=" or ".join(names))


def _unread(why: str) -> Truth:
    return Truth(understood=False, note=f"the label was not understood: {why}")


_ABSENT = Truth(note="there is no label to compare with")
_NOTHING = {"", "none", "null", "nan", "na", "n/a", "-", "unknown", "?"}
_KEYS = ("objective_exact", "objective", "objective_value", "optimal_value", "optimum", "value", "answer", "obj")


def _read(label: Any) -> Truth:
    if label is None:
        return _ABSENT
    if hasattr(label, "item") and callable(label.item) and not isinstance(label, (str, bytes)):  # a numpy scalar
        label = label.item() if getattr(label, "size", 1) == 1 else label.tolist()
    if isinstance(label, bool):
        return _unread(f"{label} is neither a number nor a status")
    if isinstance(label, (int, float, Fraction, Decimal)):
        return _number(label)
    if isinstance(label, str):
        return _text(label) if len(label) <= _LONGEST else _unread(f"it has {len(label)} characters")
    if isinstance(label, (Mapping, Sequence)) and len(label) > _MOST:
        return _unread(f"it has {len(label)} entries")
    if isinstance(label, Mapping):
        return _record(label)
    if isinstance(label, Sequence) and not isinstance(label, bytes):
        return _any_of([_read(item) for item in label])
    return _unread(f"{type(label).__name__} is not a kind of label")


def _number(label: int | float | Fraction | Decimal) -> Truth:
    number = float(label)
    if math.isnan(number):
        return _ABSENT
    if math.isinf(number):
        return Truth(statuses=frozenset({"unbounded"}))
    return Truth((Value(number + 0.0, _decimals(repr(label)) if isinstance(label, float) else None),))


def _decimals(text: str) -> int | None:
    """Digits after the point of a plain decimal; None for an exponent or a whole number."""
    found = re.fullmatch(r"[+-]?\d*\.(\d+)", text)
    return len(found[1]) if found and found[1].strip("0") else None


def _any_of(parts: Sequence[Truth]) -> Truth:
    bad = next((p for p in parts if not p.understood), None)
    if bad is not None:
        return bad
    values = tuple(dict.fromkeys(v for p in parts for v in p.values))
    statuses = frozenset().union(*(p.statuses for p in parts)) if parts else frozenset()
    return Truth(values, statuses) if values or statuses else _ABSENT


def _record(label: Mapping[Any, Any]) -> Truth:
    names = {re.sub(r"[\W_]+", "_", str(key)).strip("_").lower(): value for key, value in label.items() if value is not None}
    if not names:
        return _ABSENT
    status = _status(str(names.get("status") or ""))
    if status:
        return Truth(statuses=status)
    for key in _KEYS:
        if key in names:
            return _read(names[key])
    if len(names) == 1:
        return _read(next(iter(names.values())))
    return _unread(f"a record with the keys {', '.join(map(str, label))[:80]} names no objective")


# ----------------------------------------------------------------------------------------------------------- texts

_INFEASIBLE = re.compile(r"infeasib|no feasible|not feasible|impossible|inconsistent|contradict", re.IGNORECASE)
_UNBOUNDED = re.compile(r"unbounded|not bounded|no (?:finite|bound)|infinite(?:ly)?\b|^[+-]?(?:inf|infinity|∞)$", re.IGNORECASE)
_NO_OPTIMUM = re.compile(r"no (?:best|optimal|optimum|valid)?\s*(?:solution|optimum|answer)|not? solvable|unsolvable|does not exist",
                         re.IGNORECASE)
_BARE = re.compile(r"[\d.,]")
_DIGITS = r"(?:\d{1,3}(?:[,'\u00a0\u202f_]\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)"
_TEN = r"(?:\s*(?:×|x|\*|\\times|\\cdot)\s*10\s*(?:\^|\*\*)\s*\{?([+-]?\d+)\}?|[eE]([+-]?\d+))?"
_PLAIN = re.compile(rf"(?<![\w.^_/])([+-]?\s?{_DIGITS}){_TEN}(?![\d^])")
_FRACTION = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)")
_SCALES = {"thousand": 10**3, "k": 10**3, "million": 10**6, "m": 10**6, "mn": 10**6, "billion": 10**9, "bn": 10**9}


def _status(text: str) -> Statuses:
    found = set()
    if _INFEASIBLE.search(text):
        found.add("infeasible")
    if _UNBOUNDED.search(text):
        found.add("unbounded")
    if not found and _NO_OPTIMUM.search(text):
        return NO_OPTIMUM
    return frozenset(found)


def _text(label: str) -> Truth:
    text = _plain(label)
    if text.lower() in _NOTHING:
        return _ABSENT
    if text[:1] in "[{(" and text[-1:] in "]})":
        found = _literal(text)
        if found is not None:
            return _read(found)
    status = _status(text)
    if status and not _BARE.search(text):
        return Truth(statuses=status)
    parts = [p for p in re.split(r"\s+or\s+|\s*[;|]\s*|,\s+(?=[+\-$€£]?[\d.])", text) if p.strip()]
    if len(parts) > 1:
        return _any_of([_text(part) for part in parts])
    return _quantity(text, label)


def _plain(label: str) -> str:
    """Without LaTeX dress, a leading "optimal value:" or "Z =", and a full stop at the end."""
    text = label.strip().replace("−", "-").replace("\\,", "").replace("\\%", "%").replace("\\$", "$").replace("{,}", ",")
    text = re.sub(r"\\(?:d|t)?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", text)
    for _ in range(3):
        text = re.sub(r"\\(?:boxed|text|mathrm|mathbf|textbf)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"^\$(?=.*\$$)|(?<=.)\$$|\*\*|^\\[(\[]|\\[)\]]$", "", text).strip()
    text = re.sub(r"^[A-Za-z][A-Za-z _*]{0,40}(?::|=|≈|\bis\b)\s*(?=\S)", "", text)
    return re.sub(r"^(?:≈|~|=|about|approximately|approx\.?)\s*", "", text).rstrip(". ").strip("\"'` ")


def _literal(text: str) -> Any:
    for candidate in (text, text.replace("'", '"'), re.sub(r"^[({](.*)[)}]$", r"[\1]", text, flags=re.DOTALL)):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return None


def _quantity(text: str, label: str) -> Truth:
    shown = " ".join(label.split())[:60]
    whole = _FRACTION.fullmatch(text)
    if whole:
        return Truth((Value(float(Fraction(whole[1]) / Fraction(whole[2]))),))
    if re.search(r"(?<!\d)\d+,\d{1,2}(?!\d)|\d,\d{4,}|\.\d+[.,]\d", text):
        return _unread(f"'{shown}' has points and commas that may be read in two ways")
    if re.fullmatch(r"\D*\d{1,3}(?: \d{3})+(?:\.\d+)?\D*", text):
        text = re.sub(r"(?<=\d) (?=\d{3})", "", text)
    numbers = list(_PLAIN.finditer(text))
    if len(numbers) != 1:
        what = "no number and no known status" if not numbers else f"{len(numbers)} numbers"
        return _unread(f"'{shown}' has {what}")
    found = numbers[0]
    digits = re.sub(r"[,'\u00a0\u202f_\s]", "", found[1])
    exact = Fraction(Decimal(digits))
    power = found[2] or found[3]
    if power:
        if abs(int(power)) > 308:
            return _unread(f"'{shown}' is out of range")
        exact *= Fraction(10) ** int(power)
    decimals = None if power else _decimals(digits)
    rest = text[found.end():].strip().lower()
    scale = re.match(r"(thousand|million|billion|mn|bn|k|m)\b(?![\^²³/])", rest)
    if scale and (scale[1] not in ("k", "m") or re.match(r"[$€£]", text)):
        exact, decimals = exact * _SCALES[scale[1]], None
    if re.match(r"(?:%|percent\b|per cent\b)", rest):
        return Truth((Value(float(exact), decimals), Value(float(exact / 100), None if decimals is None else decimals + 2)))
    return Truth((Value(float(exact), decimals),))
