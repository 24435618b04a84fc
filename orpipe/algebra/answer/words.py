"""The words around formulas: what declares, what limits, what states a rule, what only explains."""

from __future__ import annotations

import re

from orpipe.errors import Unsupported

DECLARED = re.compile(r"\b(?:let|define|denote|introduce|variables?|decision|decide|choose)\b", re.I)
MEANS = re.compile(r"^\W*(?:be\b|denotes?\b|=|:|is\b|are\b|represents?\b|indicates?\b|—|-|–|the\b|for\b)", re.I)
BINARY = re.compile(
    r"\bbinary\b|\b1\s*,?\s+if\b|\bequals?\s+\$?(?:1|one)\b|\b0[-/]1\b|\b1 when\b"
    r"|\bindicator\b|\bis one if\b|\\?\{\s*0\s*,\s*1\s*\\?\}|takes (?:the )?value 1",
    re.I,
)
INTEGER = re.compile(r"(?<!non-)(?<!non )\bintegers?\b|\bwhole number|\bintegral\b", re.I)
UNSURE = re.compile(r"(?:need not|not necessarily|not|may|or) (?:be )?(?:an? )?(?:integer|binary|whole|integral)|relax", re.I)
POSITIVE = re.compile(r"\bnon-?\s?negative\b|(?:≥|>=|\\geq?)\s*0", re.I)
VALUE = re.compile(
    r"\b(?:large|big|constant|parameter|given|known|capacity|price|cost|weight|profit|coefficient|available|budget|demand|supply|limit|value)\b", re.I
)
LIMITED = re.compile(
    r"^\W*for\s+(?!all\b|each\b|every\b|any\b)|\b(?:except|unless|only\s+(?:if|for|when|in|on)|even|odd|other than|"
    r"apart from|whenever|if and only|exclud(?:ed|ing)|(?:all|each|every|any)(?: \w+){1,2} but|"
    r"optional(?:ly)?|(?:not|no longer) (?:needed|required|necessary)|unnecessary|"
    r"removed|dropped|omitted|ignored|waived|relaxed)\b|~~",
    re.I,
)
LABEL = re.compile(
    r"^\W*(?:for|at|in)\s+(?!least\b|most\b|total\b|.*\b(?:all|each|every|any)\b)[^.]*:\s*$|"
    r"\b(?:either|only|onwards?|(?:first|second|third|last|final)\s+\w+\s+on|optional(?:ly)?|instead of|removed?|drop(?:ped)?|omit(?:ted)?"
    r"|ignored?)\b|~~",
    re.I,
)
TAIL = re.compile(
    r"^\W*(?:and\s+|but\s+)?(?:except|unless|excluding|only|not|apart from|other than|provided|as long as|if|when|whenever)\b", re.I
)
RULE = re.compile(
    r"\b(?:at most|at least|exactly|no (?:more|less|fewer) than|cannot|can ?not|can't|must|may not|never|not both|not all|only if"
    r"|mutually exclusive|ha(?:s|ve) to|needs? to|forbidden|(?:not|only) allowed|prohibited|whole numbers?|integral"
    r"|limited to|required to|requires?|restricted to"
    r"|except|dropped|drop the|relax(?:es|ed)?|removed?|ignored?|omit(?:s|ted)?|waived?|neglected|penali[sz]ed?|penalty)\b",
    re.I,
)
MORE = re.compile(r"\b(?:in addition|additional(?:ly)?|also|further(?:more)?|moreover|besides|extra)\b", re.I)
EVERY = re.compile(
    r"^(?:\W|and\b|where\b|with\b)*(?:non-?negativity|integrality)?\W*(?:all|every|the)\s+(?:decision\s+)?(?:variables?|quantities|x(?:_\{?\w+\}?)?)\s*"
    r"(?:are|is|must be|be|should be)?\s*(?P<rest>.*)$",
    re.I,
)
PLAIN_LET = re.compile(
    r"^(?:let\s+|where\s+|-\s*)?(?P<n>[A-Za-z]\w{0,12}(?:\[[\w,\s]+\]|_\{[^}]*\})?)\s*"
    r"(?:=|:|be\b|denotes?\b|is\b|represents?\b)\s*(?:the\s+)?(?P<w>[A-Za-z0-9][^=<>≤≥]*)$",
    re.I,
)
VALUED = re.compile(
    r"^(?P<n>[A-Za-z]\w*(?:_\{[^{}]*\})?)\s*=\s*(?P<v>-?\d+(?:,\d{3})*(?:\.\d+)?)\s+"
    r"(?!(?:thousand|million|billion|dozens?|hundred|percent|pct|times|each|k|m)\b)\(?[A-Za-z$€£][A-Za-z $€£/()-]*$"
)
BOUNDED = re.compile(
    r"^(?P<w>[^<>=≤≥]*[a-z]{3}[^<>=≤≥]*),\s*(?:with\s+|where\s+)?(?P<r>[^\s,<>=≤≥][^,;:]*(?:<=|>=|[≤≥])[^,;:]*)$"
)
BETWEEN = re.compile(
    r"^\W*(?:(?:each|all) of\s+|both\s+)?(?P<n>[A-Za-z]\w{0,3}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)[A-Za-z]\w{0,3})*)\s+"
    r"(?:must|should|has to|have to)?\s*(?:be|is|are|lies?)\s+"
    r"between\s+(?P<low>-?\d+(?:\.\d+)?)\s+and\s+(?P<high>-?\d+(?:\.\d+)?)(?:\s*\(?inclusive\)?)?\W*$",
    re.I,
)
MODULO = re.compile(r"\bmod(?:ulo)?\b\W*(?P<n>\d+|[A-Za-z]\w*)", re.I)
OF_A_KIND = re.compile(
    r"\b(?:are|is|be|as)\s+(?:all\s+|both\s+)?(?:an?\s+)?(?:non-?\s?negative\s+)?(?:binary|integers?|integral|whole)\b(?![- ]program)", re.I
)
OF_KIND = re.compile(r"^\W*(?:are|is|must be)\s+(?:all\s+)?(?:an?\s+)?(?:non-?\s?negative|binary|integers?|whole)\b", re.I)
AIM = re.compile(r"\b(?:so as to|in order to|and|we|to|is to)\s+(minimi[sz]e|maximi[sz]e)\s+the\s+[A-Za-z -]+[:,]?\s*$", re.I)
_EXPLAINS = re.compile(
    r"^\W*(?:(?:this|these|that|it|the above)\s+(?:last\s+)?(?:constraints?|inequalit(?:y|ies)|equations?|conditions?"
    r"|expressions?|formulas?|restrictions?|limits?)?\s*"
    r"(?:ensures?|guarantees?|means?|states?|says?|represents?|reflects?|enforces?|limits?|restricts?"
    r"|prevents?|keeps?|makes? sure|indicates?|captures?|models?)"
    r"|ensur(?:es?|ing)|guarantee(?:s|ing)?|meaning)\b",
    re.I,
)
_OF_MODEL = re.compile(
    r"^\W*(?:(?:using|through|with|by (?:using|solving)|based on|in|solving|to solve)\s+(?:this|the (?:above|proposed|resulting))\s+"
    r"(?:[\w-]+\s+){0,4}(?:model|formulation|program(?:me)?|approach|method)\b"
    r"|(?:this|the (?:above|complete|resulting|full|proposed)|our)\s+(?:[\w-]+\s+){0,4}(?:model|formulation|program(?:me)?|approach)\s+"
    r"(?:is|can|could|will|may|should|ensures?|captures?|provides?|aims?|allows?|helps?|seeks?|minimi[sz]es|maximi[sz]es|guarantees?"
    r"|represents?|has|contains|includes|considers|takes)\b)",
    re.I,
)
_OF_ITS_OWN = re.compile(
    r"\b(?:must|cannot|can ?not|can't|either|both|never|only|forbidden|prohibited|except|unless|however|but|instead|relax(?:ed)?|dropped"
    r"|ignored?|omitted|needs? to|ha(?:s|ve) to|may not|not allowed|assum\w+)\b",
    re.I,
)


_OF_ONE_ROW = re.compile(r"^\W*(?:this|the above)\s+(?:last\s+)?(?:constraint|inequality|equation|condition|restriction)\b", re.I)
_NOT_OF_ONE_ROW = re.compile(
    r"\b(?:cannot|can ?not|can't|both|either .* or|never|only (?:if|when|one)|except|unless|however|instead|relax(?:ed)?|dropped"
    r"|ignored?|omitted|assum\w+)\b",
    re.I,
)


def explains(words: str) -> bool:
    """«This ensures that no more than 12 trips are made»: said of the formula before it, it states nothing of its own."""
    own = _NOT_OF_ONE_ROW if _OF_ONE_ROW.match(words) else _OF_ITS_OWN
    return _EXPLAINS.match(words) is not None and not own.search(re.sub(r"\bbut at (?:the )?most\b", " ", words)) and not MORE.search(words)


def of_the_model(words: str) -> bool:
    """«This model can be solved with ...», «Using this model, we find the number of trips that meets all requirements»."""
    told = re.sub(r"\bneeds? to (?!be\b)", " ", words)  # the servings that the patient needs to take
    return _OF_MODEL.match(words) is not None and not _OF_ITS_OWN.search(told) and not MORE.search(words)


def kinds_in(words: str) -> set[str]:
    """binary, integer, nonnegative: what the words say of a variable.  Raises Unsupported where they do not say it plainly."""
    out = set()
    if UNSURE.search(words):
        raise Unsupported("a domain that is not stated plainly")
    if BINARY.search(words):
        out.add("binary")
    if INTEGER.search(words):
        out.add("integer")
    if POSITIVE.search(words):
        out.add("nonnegative")
    return out
