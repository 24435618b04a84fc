"""Part of the checker: reading the values of a certificate, which may be anything."""

from __future__ import annotations

from fractions import Fraction
from typing import Any


class Fault(Exception):
    """Why a certificate is no proof."""


def rational(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise Fault(f"not a rational in text form: {text!r:.60}")
    value = Fraction(text)
    if str(value) != text:
        raise Fault(f"a rational is written in lowest terms, not as {text!r:.60}")
    return value


def vector(texts: Any, n: int) -> list[Fraction]:
    if not isinstance(texts, (list, tuple)) or len(texts) != n:
        raise Fault(f"a point or ray must list {n} values")
    return [rational(text) for text in texts]


def whole(value: Any, below: int | None = None) -> int:
    """An integer; with `below`, an index in range."""
    if type(value) is not int or (below is not None and not 0 <= value < below):
        raise Fault(f"not {'an integer' if below is None else f'an index below {below}'}: {value!r:.60}")
    return value
