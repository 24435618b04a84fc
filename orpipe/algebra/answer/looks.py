"""What a piece of text looks like: a relation, a formula, rows of a display."""

from __future__ import annotations

import re

_RELATED = re.compile(r"<=|>=|=<|=>|≤|≥|\\leq?\b|\\geq?\b|\\le(?:qslant)?\b|\\ge(?:qslant)?\b|[=<>]|\\in\b|∈")


def related(text: str) -> bool:
    """Is there a sign of a relation or of membership?"""
    return _RELATED.search(text) is not None


def compares(text: str) -> bool:
    """A relation outside all braces."""
    bare = re.sub(r"\\in\b", " ", text)
    while (inner := re.sub(r"\{[^{}]*\}", " ", bare)) != bare:
        bare = inner
    return related(bare)


def mathlike(text: str) -> bool:
    """Does it look like a formula rather than words?"""
    return (
        related(text) or re.search(r"\d\s*\*?\s*[a-zA-Z]|\\sum|∑|Σ|\bsum(?![a-z])|_\{|[+*]|\w\s-\s\w|[a-zA-Z]\w?_\w|[a-zA-Z]\w*\[", text) is not None
    )


def rows_of(text: str, line: int) -> list[tuple[int, str]]:
    """Rows of a display: cut at \\\\ outside braces."""
    out, depth, start, k = [], 0, 0, 0
    while k < len(text):
        if text.startswith("\\\\", k) or (text.startswith("\\newline", k)):
            if depth == 0:
                out.append((line + text.count("\n", 0, start) + (len(text[start:k]) - len(text[start:k].lstrip("\n")) > 0), text[start:k]))
                k += 2 if text.startswith("\\\\", k) else 8
                spaced = re.match(r"\[[\d.]+\s*\w+\]", text[k:])
                k += spaced.end() if spaced else 0
                start = k
                continue
            k += 2
            continue
        if text[k] == "\\":
            k += 2
            continue
        depth += (text[k] == "{") - (text[k] == "}")
        k += 1
    out.append((line + text.count("\n", 0, start) + (text[start:].startswith("\n")), text[start:]))
    return out
