"""Sentences beside the formulas that may change what these say: corrections, second aims, other units, soft limits, and rules
with a number that no formula and no datum has.  An explanation repeats the numbers of its row; a rule of its own brings one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from orpipe.algebra.answer.lines import PARAMS, RESULT, SETS, Piece
from orpipe.algebra.answer.looks import related
from orpipe.algebra.answer.words import BETWEEN, explains
from orpipe.errors import Unsupported

_LIMIT = r"(?:limits?|constraints?|conditions?|restrictions?|inequalit(?:y|ies)|rows?|bounds?|rules?)"
_CHANGES = re.compile(
    r"\b(?:correction|errat(?:um|a)|typo|actually)\b"
    r"|\b(?:replace|change)\b[^.]*\b(?:by|with|to)\b\s*\$?\d"
    r"|\b(?:should|ought to)\s+(?:be|read)\b\s*\$?\d"
    r"|\b(?:becomes?|rises?\s+to|drops?\s+to|falls?\s+to|changes?\s+to|doubles?|halves)\b[^.]*\d"
    r"|\d[^.]*\binstead\b|\bread\s+\S{1,3}\s+as\b|\bstrict\s+inequalit|\bstrictly\s+(?:positive|negative|less|greater|more|fewer)\b"
    rf"|\b{_LIMIT}\s+(?:is|are)\s+soft\b|\bsoft\s+{_LIMIT}\b|\b(?:may|can|could)\s+(?:also\s+)?be\s+(?:exceeded|violated|broken|missed|ignored)\b"
    r"|\bcan\s+be\s+(?:bought|hired|rented)\b"
    rf"|\b(?:one|either|any)\s+of\s+the\s+(?:\w+\s+)?{_LIMIT}\s+(?:suffices|is\s+enough|needs?|has|holds)\b"
    r"|\b(?:second|secondary|further|another|additional)\s+(?:objective|goal|aim|criterion)\b|\bsecondly,?\s+(?:minimi|maximi)"
    r"|\b(?:also|additionally|then|furthermore)\s+(?:to\s+)?(?:minimi[sz]e|maximi[sz]e)\b|\bamong\s+(?:the|all)\s+(?:\w+\s+)?optim"
    r"|\bties?\s+(?:is|are|broken)\b|\blexicographic"
    r"|\b(?:are|is|be|quantities|values|units|sold|made|measured|given|bought|come[s]?)\s+(?:all\s+)?(?:in|by\s+the)\s+"
    r"(?:tens|hundreds|thousands|millions|dozens?|scores?|pairs|packs|batches|lots|multiples)\b"
    r"|\bmultiples?\s+of\s+\$?\d|\b(?<!not )(?<!cannot )(?<!can't )(?:is|are|be)\s+(?:an?\s+)?(?:even|odd|fractional|strictly)\b(?!\s+if)"
    r"|\bfraction(?:s|al)\b[^.]*\b(?:fine|allowed|okay|ok|possible)\b"
    r"|\brounding\s+is\b|\b(?:is|are)\s+(?:positive|nonpositive|non-positive|negative)\b(?!\s+if)|\bpositive\s+integers?\b"
    r"|\bfixed\s+(?:at|to)\s+\$?\d|\bfixed\s+costs?\s+of\s+\$?\d|\bset\s+\w+\s+to\s+\d|\bnon-?positive\b|\b(?:existing|prior|previous|standing)\s+orders?\b"
    r"|\balready\b|\b(?:start|begin)s?\s+with\s+\$?\d|\boutnumber|\bexcludes?\b|\b(?:here|where)\s+\d+\s+is\b|\bis\s+\d+\s+here\b"
    r"|\bmakes?\s+up\s+\d|\bper\s+\w+\s+there\s+are\s+\d|\bgoes\s+with\s+an?\b|†|\[\^\w+\]:|≠|!=",
    re.I,
)
_RULES = re.compile(
    r"\b(?:at\s+most|at\s+least|exactly|no\s+(?:more|less|fewer)\s+than|more\s+than|less\s+than|fewer\s+than|cannot|can\s?not|can't|must|may\s+not|never|only"
    r"|up\s+to|max(?:imum)?\.?|min(?:imum)?\.?|limited|restricted|requires?|needs?|wants?|demands?|promised|order(?:ed|s)?|holds?|room|fit"
    r"|budget|available|stock|horizon|capacity|reserved?|costs?\s+\d|sold|discount|set-?up|assume|each|every|first|take)\b",
    re.I,
)
_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "dozen": 12,
          "twice": 2, "double": 2, "half": 2, "third": 3, "hundred": 100, "thousand": 1000}
_CONTINUOUS = re.compile(r"(?<!not )\b(?:is|are|be|as)\s+(?:all\s+)?continuous\b", re.I)
_RELATION = re.compile(r"(?<![\w$])[A-Za-z]\w{0,3}\s*(?:<=|>=|[<>=≤≥])\s*\w")
_PLACES = re.compile(r"\b(?:table|section|step|figure|eq(?:uation)?|part|line|item|constraint|row)s?\.?\s*\(?\d+\)?", re.I)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:\s?%|(?!\w))|\b(?:" + "|".join(_WORDS) + r")\b", re.I)
_MATH = re.compile(r"\$\$.*?\$\$|\\\[.*?\\\]|\\\(.*?\\\)|\$[^$\n]+\$|`[^`\n]+`|\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.S)


def check_asides(pieces: list[Piece], text: str, data: Mapping[str, Any] | None, whole: bool) -> None:
    """Raises Unsupported where the words of an answer may say more than its formulas do.  whole: all variables are."""
    known: set[Fraction] | None = None
    for p in pieces:
        if p.section == RESULT:
            continue
        if p.mode == "inline" and (beside := _RELATION.search(_MATH.sub(" ", p.after))):
            raise Unsupported(f"beside the formula stands '{beside[0]}', which may be a part of it")
        for sentence in _sentences(p):
            what = " ".join(sentence.split())[:80]
            if _CHANGES.search(sentence) or (whole and _CONTINUOUS.search(sentence)):
                raise Unsupported(f"beside the formulas stands '{what}', which may change them")
            if p.section in (PARAMS, SETS) or explains(sentence) or not _RULES.search(sentence):
                continue
            if BETWEEN.match(sentence):  # read as a row
                continue
            if known is None:
                known = _numbers_of(pieces, text) | set(_values(data))
            new = [n for n in _NUMBER.findall(_PLACES.sub(" ", re.sub(r"^\W*\d+[.)]\s", "", sentence))) if not known & _ways(n)]
            if new:
                raise Unsupported(f"beside the formulas stands '{what}', with a number that is in none of them")


def _sentences(p: Piece) -> list[str]:
    if p.mode == "display":
        return []
    parts = [p.raw] if not related(p.raw) or (p.mode == "plain" and not p.formula) else [p.before, p.after]
    return [s for part in parts for s in re.split(r"(?<=[.;!?])\s+(?=[A-Z†(\[])", _MATH.sub(" ", part)) if s.strip() and not related(s)]


def _numbers_of(pieces: list[Piece], text: str) -> set[Fraction]:
    """Of all formulas, and small ones that sentences count with."""
    found = {Fraction(0), Fraction(1), Fraction(100)}
    shown = [m[0] for m in _MATH.finditer(text)] + [p.formula for p in pieces if related(p.formula) or p.goal or p.mode != "plain"]
    for part in shown:
        found |= {Fraction(n.replace(",", "")) for n in re.findall(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?", part)}
    return found


def _values(data: Any) -> list[Fraction]:
    if isinstance(data, Mapping):
        return [v for value in data.values() for v in _values(value)] + [v for key in data for v in _values(key)] + [Fraction(len(data))]
    if isinstance(data, list | tuple):
        return [v for value in data for v in _values(value)] + [Fraction(len(data))]
    try:
        return [Fraction(str(data))]
    except (ValueError, ZeroDivisionError):
        return []


def _ways(word: str) -> set[Fraction]:
    """How a formula may write the number: 40% as 0.4, 0.6, 1.4 or 2.5."""
    if word.lower() in _WORDS:
        return {Fraction(_WORDS[word.lower()])} | ({Fraction(1, 2)} if word.lower() == "half" else set())
    value = Fraction(word.rstrip("% ").replace(",", ""))
    if not word.endswith("%") or not value:
        return {value}
    part = value / 100
    return {value, part, 1 - part, 1 + part, 1 / part}
