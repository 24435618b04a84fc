"""The plain-text form of a model cut into sections and entries, and one entry's formula as a tree of grammar.lark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from orpipe.errors import ParseError

DECLARATIONS = ("sets", "parameters", "variables")
SENSES = ("minimize", "maximize")
_TITLES = {
    "sets": r"sets?", "parameters": r"parameters?", "variables": r"variables?", "minimize": r"minimi[sz]e",
    "maximize": r"maximi[sz]e", "subject to": r"subject\s+to|such\s+that|s\.\s?t\.|constraints?",
}
_ENTRY = re.compile(r"\s*[^\W\d]\w*\s*(\[[\w\s,]*\])?\s*:")
_OPERAND = {"NAME", "NUMBER", "LPAR", "VBAR", "_SUM", "MINUS", "PLUS"}
_OPERATOR = {"STAR", "SLASH", "PLUS", "MINUS"}
_COMPARISON = {"LE", "GE", "EQ", "NE", "LT", "GT"}
_SHOWN = {
    "NAME": "a name", "NUMBER": "a number", "END": "'first' or 'last'", "$END": "the end of the line",
    "LE": "'<='", "GE": "'>='", "EQ": "'='", "NE": "'!='", "LT": "'<'", "GT": "'>'", "EQUAL": "'='",
    "_SUM": "'sum{'", "_FORALL": "'for all'", "_NOT_IN": "'not in'", "_WITHIN": "'in'", "_CROSS": "'x'",
    "COLON": "':'", "COMMA": "','", "VBAR": "'|'", "MINUS": "'-'", "PLUS": "'+'", "STAR": "'*'", "SLASH": "'/'",
    "LSQB": "'['", "RSQB": "']'", "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One declaration, term or row: head before its first colon outside brackets, body after it."""

    line: int
    section: str
    head: str
    body: str


def entries(text: str) -> Iterator[Entry]:
    """Raises ParseError for a line outside every section or without its colon."""
    section, held = "", None
    for line, raw in enumerate(text.splitlines(), start=1):
        bare = raw.strip()
        if not bare or bare.startswith("#"):
            continue
        title = next((s for s, form in _TITLES.items() if re.fullmatch(rf"({form})\s*:?", bare, re.IGNORECASE)), "")
        if title:
            section = title
        elif not section:
            raise ParseError(f"line {line}: expected a section ({', '.join(_TITLES)}), found '{bare:.40}'")
        elif section in DECLARATIONS:  # a meaning may hold '#'
            yield _split(line, section, bare)
        else:
            bare = bare.split("#")[0].rstrip()
            starts = _ENTRY.match(bare) is not None
            if held is not None and held.section == section and not starts:
                held = replace(held, body=f"{held.body} {bare}")
                continue
            if held is not None:
                yield held
            nameless = section in SENSES and not starts
            held = Entry(line, section, "objective", bare) if nameless else _split(line, section, bare)
    if held is not None:
        yield held


def _split(line: int, section: str, text: str) -> Entry:
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in "]})")
        if letter == ":" and depth == 0:
            return Entry(line, section, text[:k].strip(), text[k + 1:].strip())
    due = "its meaning" if section in DECLARATIONS else "its formula"
    raise ParseError(f"line {line}: expected ':' and {due} after '{text:.60}', found the end of the line")


@cache
def _grammar() -> Lark:
    return Lark.open("grammar.lark", rel_to=__file__, parser="lalr", maybe_placeholders=True,
                     start=["set_head", "param_head", "var_head", "label", "term", "row"])


def formula(line: int, start: str, text: str) -> Any:
    """The lark Tree of a formula.  Raises ParseError: line, what was expected, what was found."""
    try:
        return _grammar().parse(text, start=start)
    except UnexpectedInput as error:
        found = "the end of the line"
        if isinstance(error, UnexpectedCharacters):
            found = f"'{text[error.pos_in_stream:].split()[0]:.20}'"
        elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
            found = f"'{error.token}'"
        expected = getattr(error, "allowed", None) or getattr(error, "expected", None) or ()
        raise ParseError(f"line {line}: expected {_wanted(set(expected))}, found {found} in '{text:.80}'") from None


def _wanted(names: set[str]) -> str:
    shown: list[str] = []
    if {"STAR", "SLASH"} <= names or ({"PLUS", "MINUS"} <= names and "NUMBER" not in names):
        # after an operand; that a factor may follow as well goes without saying
        shown, names = ["an operator"], names - _OPERATOR - _OPERAND
    if {"NAME", "NUMBER"} <= names:
        shown, names = [*shown, "an expression"], names - _OPERAND
    if names >= {"LE", "NE"}:
        shown, names = [*shown, "a comparison"], names - _COMPARISON
    return " or ".join(shown + sorted(_SHOWN.get(k, f"'{k.lower()}'") for k in names))
