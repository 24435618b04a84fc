"""Gates between what was made and what is kept: each names the reason to refuse, or None.

A prompt must not tell what the answer is to find, an answer must state it, no text may be longer than the recipe allows,
and nothing may stand in the dataset twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from orpipe.build.case import Case, Product
from orpipe.exact import fraction

_NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:/[1-9]\d*)?(?![\w/]|\.\d)"
_TOKEN = re.compile(_NUMBER)
_CODE = re.compile(r"```.*?```", re.S)
_STATED = re.compile(
    r"\b(?:optim\w+|objective|best|answer|result|solution)\b[^.;\n]{0,60}?(?:\bis|=|:|\bof|\bequals?|\bgives)[\s*`]*(?P<value>" + _NUMBER + ")",
    re.I,
)
_DISTINCT = 4  # significant digits from which a number that is no datum can only be the optimum
_TOLERANCE = Fraction(1, 10**6)
# SCIP branches for ever on an integer model that is unbounded, and no limit of time may decide what is kept.
_NEVER_ENDS = {("ortools", "unbounded")}
PROMPTS_WITHOUT_ANSWER = ("formulate", "implement", "solve", "preference")


def numbers(text: str) -> Iterator[Fraction]:
    """Numbers that stand in a text: 12, -0.35, 1e-3, 197/3."""
    for token in _TOKEN.findall(text):
        whole, _, below = token.partition("/")
        yield Fraction(whole) / (int(below) if below else 1)


def near(value: Fraction, optimum: Fraction) -> bool:
    """Equal to a relative 1e-6."""
    return abs(value - optimum) <= _TOLERANCE * abs(optimum)


def states(answer: str, optimum: Fraction) -> bool:
    """Does the prose of an answer (code left out) hold the optimum, to a relative 1e-6?"""
    return any(near(value, optimum) for value in numbers(_CODE.sub(" ", answer)))


def leak(prompt: str, optimum: Fraction, given: Iterable[Fraction]) -> str | None:
    """How the prompt tells the optimum: as a stated result, or as a number of four digits or more that is no datum."""
    for match in _STATED.finditer(prompt):
        if any(near(value, optimum) for value in numbers(match["value"])):
            return f"the prompt states the optimum: «{match[0]}»"
    digits = str(abs(optimum.numerator)).strip("0")
    if len(digits) >= _DISTINCT and optimum not in set(given) and any(near(value, optimum) for value in numbers(prompt)):
        return f"the prompt holds the optimum {optimum}, which is no datum"
    return None


def data_numbers(data: Any) -> Iterator[Fraction]:
    """Every number in the data of an instance, and every number inside its labels."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from numbers(str(key))
            yield from data_numbers(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from data_numbers(value)
    elif isinstance(data, str):
        yield from numbers(data)
    elif data is not None and not isinstance(data, bool):
        yield fraction(data)


def refusal(case: Case, product: Product, longest: int) -> str | None:
    """The first gate that a product does not pass: length, a program without end, a leak, an answer without the optimum."""
    size = len(product.text) + sum(len(content) for _, content in (*product.messages, *product.rejected))
    if size > longest:
        return f"longer than {longest} characters"
    if any((product.order.dialect, p.status) in _NEVER_ENDS and p.problem.integer.any() for p in product.programs):
        return "program would not end"
    optimum = case.label.objective_exact
    if optimum is None or product.status == "infeasible":
        return None
    if product.task in PROMPTS_WITHOUT_ANSWER:
        prompt = "\n".join(content for role, content in product.messages if role == "user")
        if leak(prompt, optimum, data_numbers(case.instance.data)):
            return "prompt tells the optimum"
    if product.task in ("solve", "preference") and not states(product.messages[-1][1], optimum):
        return "answer does not state the optimum"
    return None


class Duplicates:
    """What a dataset holds already, as 16-byte digests: instances by structure and data, examples and documents by text."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()

    def reason(self, instances: list[dict[str, Any]], sft: list[dict[str, Any]], cpt: list[dict[str, Any]]) -> str | None:
        """The first kind of row that repeats an earlier one, or None; then all rows count as held."""
        keys = {
            "instance": [_digest("instance", row["structure_hash"], row["data_hash"]) for row in instances],
            "messages": [_digest("sft", json.dumps(row["messages"])) for row in sft],
            "document": [_digest("cpt", row["text"]) for row in cpt],
        }
        for kind, found in keys.items():
            if not self.seen.isdisjoint(found) or len(set(found)) < len(found):
                return f"{kind} repeats an earlier one"
        self.seen.update(*keys.values())
        return None


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()[:16]
