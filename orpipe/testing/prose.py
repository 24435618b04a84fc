"""Mechanical copy editing of what users read: slips of language, Markdown and LaTeX that a program can see.

`flaws` looks at a whole prompt, answer or document; `prose` is what is left of it without code, algebra and tables.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
_MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.S)
_CODE = re.compile(r"`[^`\n]*`")
_HEAD = re.compile(r"^(?:#+ .*|\*\*[^*]+\*\*:?)$")
_SLIPS = (
    (r"(?<!\w)(\w+) \1(?!\w)", "a word twice"),
    (r"\b[Aa]n? an?\b|\b[Tt]he (?:a|an|the)\b|\b[Aa]n? the\b", "two articles"),
    (r"\b[Aa] (?!uni|use|one|eu|EUR)[aeiou]\w", "«a» before a vowel"),
    (r"\b[Aa]n (?!hour|honest|MILP|LP|EUR)[^\WaeiouAEIOU\d]\w", "«an» before a consonant"),
    (r"/(day|week|month|night|hour) (?:a|per|each) \1\b", "a period twice"),
    (r" [,;:.?](?=\s|$)", "a space before a stop"),
    (r"(?<!\.)\.\.(?!\.)|,,|;;|::|,\.|;\.", "two stops"),
    (r"[{}]", "a brace in prose"),
    (r"\bNone\b(?! of)|\bnan\b|\bTrue\b|\bFalse\b", "a Python value in prose"),
    (r"\d[eE][+-]\d", "exponent notation"),
    (r"(?<![.\d])\d{13,}|(?<![\d])\d+\.\d{15,}", "more digits than are certain"),
    (r"\((?:\w)\) (?:in|\\in)\b", "a tuple of one"),
    (r"(?<=[a-z)])[.?!] [a-z](?![.)])", "a small letter after a full stop"),
    (r"\(\)|\[\]|\*\*\*\*", "empty brackets or bold"),
    (r"(?<![\w.,/=-])1 (?:pallet|tonne|hour|minute|second|day|week|night|point|roll|beam|bolt|reel|bar|panel|cent|portion|ration|nurse|guard|clerk"
     r"|constraint|variable)s\b", "one with a plural"),
)


def prose(text: str) -> str:
    """The text with fences and tables left out, and inline code and formulas as «X»."""
    text = re.sub(r" \(exactly [^)]*\)", "", _FENCE.sub("", text))
    text = _CODE.sub("X", _MATH.sub("X", text))
    return "\n".join(line.lstrip("# ") if line.startswith("#") else line for line in text.splitlines() if not line.startswith(("|", "    ")))


def flaws(text: str) -> list[str]:
    """What is wrong with a text, each with the place; [] if nothing is seen."""
    return [*_language(text), *_markdown(text), *_formulas(text)]


def _language(text: str) -> Iterator[str]:
    plain = prose(text)
    for pattern, name in _SLIPS:
        for found in re.finditer(pattern, plain):
            if name == "a word twice" and (found[1] in ("that", "had", "X") or found[1].isdigit()):
                continue
            yield f"{name}: «{plain[max(0, found.start() - 40):found.end() + 25]!r}»"
    for line in plain.splitlines():
        if re.search(r"\S {2,}\S", line):
            yield f"two spaces: {line[:80]!r}"
        if re.match(r" [^ ]", line):
            yield f"a line begins with a space: {line[:60]!r}"


def _markdown(text: str) -> Iterator[str]:
    if text.count("```") % 2 or text.count("```") != len(re.findall(r"^```", text, re.M)):
        yield "code fences do not pair"
    for language, body in _FENCE.findall(text):
        if not body.strip():
            yield f"an empty fence ({language})"
        if language == "python":
            try:
                ast.parse(body)
            except SyntaxError as error:
                yield f"a program does not compile: {error}"
    bare = _FENCE.sub("X", text)
    if re.search(r"^(?:- |\d+\. ).*\n\n+- ", bare, re.M):
        yield "a blank line inside a list"
    if "\n\n\n" in bare:
        yield "more than one blank line"
    lines = bare.splitlines()
    for k, line in enumerate(lines):
        rest = next((x for x in lines[k + 1:] if x), "")
        if _HEAD.match(line) and (not rest or (rest.startswith("#") and line.startswith("**")) or _level(rest) in range(1, _level(line) + 1)):
            yield f"a heading with nothing under it: {line!r}"
        if line.startswith("|") and k and not lines[k - 1].startswith("|") and lines[k - 1]:
            yield f"no blank line before a table: {lines[k - 1][:60]!r}"
        if line.startswith("|") and k + 1 < len(lines) and lines[k + 1] and not lines[k + 1].startswith("|"):
            yield f"no blank line after a table: {lines[k + 1][:60]!r}"
        if line.startswith("|") and k and lines[k - 1].startswith("|") and line.count("|") != lines[k - 1].count("|"):
            yield f"a ragged table: {line[:60]!r}"


def _level(line: str) -> int:
    """2 for «## Model», 0 for what is no # heading."""
    return len(line) - len(line.lstrip("#")) if line.startswith("#") else 0


def _formulas(text: str) -> Iterator[str]:
    bare = _CODE.sub("", _FENCE.sub("", text))
    if bare.count("$") % 2:
        yield "dollar signs do not pair"
    for formula in _MATH.findall(bare):
        if formula.count("{") != formula.count("}") or formula.count(r"\left") != formula.count(r"\right"):
            yield f"a formula is not balanced: {formula[:60]!r}"
        if formula.startswith("$$") and formula.count(r"\begin") != formula.count(r"\end"):
            yield "an environment is not closed"
        if re.search(r"\(\w\) \\(?:not)?in\b", formula):
            yield f"a tuple of one: {formula[:80]!r}"
