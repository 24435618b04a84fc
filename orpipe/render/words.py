"""Small pieces of English that templates use: numbers, lists, sentences.  No arithmetic on data happens here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from orpipe.exact import decimal_text, fraction

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def figure(value: Any) -> str:
    """A datum exactly as the model uses it: 12, 0.35, 1250; a fraction that is no finite decimal as 1/3."""
    exact = fraction(value)
    return decimal_text(exact) or f"{exact.numerator}/{exact.denominator}"


def count_word(number: int) -> str:
    return _SMALL[number] if number < len(_SMALL) else str(number)


def listing(items: Sequence[str], last: str = " and ", sep: str = ", ") -> str:
    """a, b and c"""
    items = list(items)
    return items[0] if len(items) == 1 else sep.join(items[:-1]) + last + items[-1] if items else ""


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Upper-case first letter, one closing period."""
    text = " ".join(text.split())
    return upper_first(text) + ("" if text.endswith((".", "?", "!")) else ".")


def article(noun: str) -> str:
    """«a depot», «an order»"""
    return ("an " if noun[:1].lower() in "aeiou" and not noun.lower().startswith(("uni", "use", "one", "eu")) else "a ") + noun


def with_articles(text: str, nouns: Iterable[str]) -> str:
    """Every «a» or «an» directly before one of the nouns made right: the noun comes from a scenario, the article from a template."""
    for noun in nouns:
        word = article(noun).partition(" ")[0]
        text = re.sub(rf"\b([Aa])n?(?= {re.escape(noun)}\b)", rf"\g<1>{word[1:]}", text)
    return text


def approximate(value: Fraction | float) -> str:
    """A decimal that agrees with `value` to a relative 1e-9, exact when the expansion is short."""
    exact = value if isinstance(value, Fraction) else fraction(value)
    text = decimal_text(exact)
    return text if text is not None and len(text) <= 17 else f"{float(exact):.12g}"
