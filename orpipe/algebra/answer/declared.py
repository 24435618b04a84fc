"""A line that declares variables in plain text: «flow[t,d] >= 0, integer: tonnes sent from t to d (flow <= 40)».

All that such a line says is read: kinds, bounds before the colon, bounds in parentheses or as «lower bound 20».  A number in
its words that may be a limit and is not read makes the answer unreadable, for it would be lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orpipe.algebra.answer.looks import related
from orpipe.algebra.answer.words import kinds_in
from orpipe.errors import Unsupported

_NAME = r"[A-Za-z]\w*(?:_\{[^{}]*\}|\[[^\]]*\])*"
_LINE = re.compile(
    rf"^(?P<n>{_NAME}(?:\s*,\s*{_NAME})*)\s*(?:\((?P<k>[^()]*)\))?\s*"
    r"(?P<d>(?:>=|≥|<=|≤|in\b|∈|\\in\b|binary\b|integer\b|continuous\b)(?:[^:(]|:=|\([^)]*\))*?)?\s*(?::(?!=)|\s[—–-]\s|\((?=[a-z]))\s*(?P<w>.+)$"
)
_BOUND = re.compile(r"\b(?P<side>lower|upper) (?:bound|limit)\s*(?:=|:|of|is)?\s*(?P<value>-?\d+(?:\.\d+)?)(?![\w.]*\d)", re.I)
_INSIDE = re.compile(r"\((?P<r>[^()]*(?:<=|>=|[≤≥])[^()]*)\)")
_LIMIT = re.compile(
    r"\b(?:at least|at most|minimum|maximum|min|max|up to|no (?:more|less|fewer) than|not (?:exceed|more|less)|more than|less than|fewer than"
    r"|exactly|between|bound(?:ed)?|limit(?:ed)?|restricted|multiples? of)\b[^.;]{0,24}?\d",
    re.I,
)
_HARMLESS = re.compile(r"(?:≥|>=|\\geq?)\s*0(?![.\d])|=\s*[01]\b(?=\s*,?\s*(?:if|when|otherwise|else|$))|(?:∈|\\in|\bin)\s*\\?\{0,\s*1\\?\}")


@dataclass(frozen=True)
class Declared:
    """head: the names as written; relations: what the line says of them, as formulas; kinds: in words."""

    head: str
    relations: tuple[str, ...]
    kinds: frozenset[str]


def declaration(text: str) -> Declared | None:
    """None if the line is something else.  Raises Unsupported where it says more than is understood."""
    found = _LINE.match(text)
    if found is None:
        return None
    head = re.sub(r"\[[^\]]* in [^\]]*\]", lambda m: "[" + ",".join(re.findall(r"(\w+)\s+in", m[0])) + "]", found["n"])
    relations = [f"{head} {found['d']}"] if found["d"] and related(f"{found['d']}".replace("in ", "∈ ")) else []
    for part in (found["k"] or "").split(","):
        if related(part):
            relations.append(f"{head} {part.strip()}")
        elif part.strip() and not kinds_in(part) and not re.fullmatch(r"\s*(?:continuous|real|free)\s*", part):
            return None
    words, more = said_of(head, found["w"])
    return Declared(head, (*relations, *more), frozenset(kinds_in(f"{words} {found['d'] or ''} {found['k'] or ''}")))


def said_of(head: str, words: str) -> tuple[str, list[str]]:
    """The words of a declaration without the bounds in them, and the bounds as formulas on `head`."""
    relations = []
    for found in _INSIDE.finditer(words):
        inside = found["r"].strip()
        relations += [f"{head} {inside}" if re.match(r"<|>|[≤≥]", inside) else inside]
    words = _INSIDE.sub(" ", words)
    relations += [f"{head} {'>=' if b['side'].lower() == 'lower' else '<='} {b['value']}" for b in _BOUND.finditer(words)]
    words = _BOUND.sub(" ", words)
    check_words(words)
    return words, relations


def check_words(words: str) -> None:
    """Raises Unsupported where the words of a declaration may limit the variable."""
    bare = _HARMLESS.sub(" ", re.sub(r"\$[^$]*\$|\\\(.*?\\\)|`[^`]*`", " ", re.sub(r"^\s*=\s+(?=[A-Za-z])", " ", words)))
    if related(bare):
        raise Unsupported("a relation in the words of a declaration")
    if not re.search(r"\b1\s*,?\s+if\b|otherwise", words) and _LIMIT.search(bare):
        raise Unsupported("a limit in the words of a declaration")
