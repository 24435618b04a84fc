"""Small pieces of English that templates use: numbers, lists, sentences.  No arithmetic on data happens here."""

from __future__ import annotations

import math
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


def about(value: Any) -> str:
    """A number for prose: exact up to seven significant digits, else «about» and six of them."""
    exact = fraction(value)
    text = decimal_text(exact)
    if text is not None and len(text.lstrip("-0.").replace(".", "")) <= 7:
        return text
    places = max(0, 5 - math.floor(math.log10(abs(exact))))
    return f"about {decimal_text(Fraction(round(exact, places)))}"


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


_NO_ARTICLE = frozenset((
    "the", "a", "an", "each", "every", "all", "any", "both", "no", "one", "this", "that", "these", "those", "its", "their", "what", "how",
    "whether", "which", "who", "when", "where",
))


def the(phrase: str) -> str:
    """A noun phrase with its article: «the cost of carriage»; «whether ...» and the like stay as they are."""
    first = phrase.split(" ")[0]
    if first.lower() in _NO_ARTICLE:
        return phrase
    return "the " + (phrase if len(first) > 1 and not first[1:].islower() else phrase[:1].lower() + phrase[1:])


def whether(meaning: str) -> str:
    """The choice behind a variable: «whether depot i is open» for «1 if depot i is open, 0 otherwise», else «the ...»."""
    found = re.fullmatch(r"1 if (.+), 0 (?:otherwise|if .+)", meaning)
    return f"whether {found[1]}" if found else the(meaning)


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
