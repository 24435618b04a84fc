"""From a whole answer to its Problem: pieces -> statements -> declarations, domains and rows, grounded with the data.

A formula that states a relation is read, or the answer is refused with its line: nothing that might be a constraint is
left out.  A relation inside a sentence must repeat what the model states, else it is refused too.  Where no domain is
given, a variable has no bound and is continuous; where «for all» is missing, a free index runs over its whole set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orpipe.algebra.answer.asides import check_asides
from orpipe.algebra.answer.declared import check_words, declaration
from orpipe.algebra.answer.forms import Number
from orpipe.algebra.answer.lines import CONS, GOAL, NONE, PARAMS, RESULT, SETS, VARS, Piece, about, pieces
from orpipe.algebra.answer.looks import mathlike, related
from orpipe.algebra.answer.names import Collected
from orpipe.algebra.answer.rows import build
from orpipe.algebra.answer.statements import Statement, cut, read
from orpipe.algebra.answer.tokens import Token, tokens
from orpipe.algebra.answer.words import (
    AIM,
    BETWEEN,
    BINARY,
    BOUNDED,
    DECLARED,
    EVERY,
    LABEL,
    LIMITED,
    MEANS,
    MODULO,
    MORE,
    OF_A_KIND,
    OF_KIND,
    PLAIN_LET,
    RULE,
    TAIL,
    UNSURE,
    VALUE,
    VALUED,
    explains,
    kinds_in,
    of_the_model,
)
from orpipe.errors import DataError, ModelError, ParseError, Unsupported
from orpipe.problem import Problem


@dataclass(frozen=True)
class Reading:
    """problem; grammar: read as the exact plain-text grammar; notes: conventions that were applied."""

    problem: Problem
    grammar: bool = False
    notes: tuple[str, ...] = ()


def algebra_answer(text: str, data: Mapping[str, Any] | None = None, model: Any = None) -> Problem:
    """The Problem that an answer's algebra states for these data.

    data: sets, tuple sets and parameters by symbol (orpipe.data); None where all numbers stand in the text.  model: the
    symbolic model the data are for; it adds code names for symbols, and which sets are cyclic, never any constraint.
    Raises ParseError (no formulation, or one that contradicts itself) or Unsupported, with the line and what stands there.
    """
    return read_answer(text, data, model).problem


def holds_formulation(text: str) -> bool:
    """Does a text hold an objective and a relation, as far as can be told without reading them?"""
    found = pieces(text)
    return any(p.goal or p.section == GOAL or re.search(r"\\(?:min|max)\b", p.formula) for p in found) and any(
        p.formula and related(p.formula) for p in found
    )


def read_answer(text: str, data: Mapping[str, Any] | None = None, model: Any = None) -> Reading:
    """As algebra_answer, with the conventions that were applied."""
    exact = _grammar(text, data)
    return exact if exact is not None else _Reader(text, data, model).reading()


def _grammar(text: str, data: Mapping[str, Any] | None) -> Reading | None:
    """A text, or its one fenced block, in the exact grammar of orpipe.algebra.text; None if it is something else."""
    from orpipe.algebra.parse import parse_model
    from orpipe.ground import ground

    blocks = re.findall(r"^[ \t]*```[ \t]*(?:text)?[ \t]*\n(.*?)^[ \t]*```", text, re.S | re.M)
    for block in [text, *blocks]:
        if re.search(r"^\s*variables\s*:?\s*$", block, re.M) is None:
            continue
        try:
            found = parse_model(block)
        except ParseError:
            continue
        rest = text.replace(block, "\n", 1)
        for piece in pieces(rest):
            known = "".join(block.split())
            new = [said for said in re.split(r"\s,\s", piece.formula) if related(said) and "".join(said.split()) not in known]
            if new and (piece.firm or piece.bullet or piece.mode != "plain"):
                raise Unsupported(f"beside the model stands '{new[0][:80]}', which may be a constraint of it")
        told = {row.name for row in found.rows} | {idiom.name for idiom in found.idioms}
        for piece in pieces(text.partition(block)[2]):
            if RULE.search(piece.raw) and not about(piece, told) and not related(piece.raw):
                raise Unsupported(f"after the model stands '{piece.raw[:80]}', which may be a constraint of it")
        names = {s.symbol for s in found.sets if s.where is None} | {p.symbol for p in found.params}
        if not names <= set(data or {}):
            raise Unsupported(f"the data lack {', '.join(sorted(names - set(data or {})))}")
        try:
            return Reading(ground(found, {k: v for k, v in (data or {}).items() if k in names}), True)
        except (DataError, ModelError) as error:
            raise Unsupported(f"the model does not fit the data: {error}") from None
    return None


@dataclass
class _Reader:
    text: str
    data: Mapping[str, Any] | None
    model: Any
    found: Collected = field(default_factory=Collected)
    follows: bool = False  # the last thing read is a row of the model, which words may explain

    def reading(self) -> Reading:
        self.found.start(self.data, self.model)
        told = pieces(self.text)
        for piece in told:
            try:
                self.piece(piece)
            except Unsupported as error:
                raise _placed(error, piece) from None
        problem, notes = build(self.found)
        check_asides(told, self.text, self.data, bool(problem.integer.all()))
        return Reading(problem, False, tuple(notes))

    def piece(self, p: Piece) -> None:
        cyclic = re.search(r"\bcyclic\b|from the start again|wraps? around|circular", p.raw if p.mode == "plain" else p.after, re.I)
        if cyclic and (p.mode == "inline" or p.section in (SETS, NONE)):
            self.found.circular(p.formula or p.raw)
        if p.mode == "plain" and self.plain(p):
            return
        if not p.formula:
            return
        for k, row in enumerate(cut(tokens(p.formula))):
            if k:
                p = replace(p, goal="")
            if p.goal and not self._goal_follows(p, row):
                return
            statement = self._read(p, row)
            if statement is not None:
                self._place(p, statement)

    def _goal_follows(self, p: Piece, row: list[Token]) -> bool:
        """Words such as «total cost» after «minimize» are no formula yet: the next one is the objective."""
        if p.mode == "display" or mathlike(p.formula) or len(row) == 1 or (p.mode == "inline" and not p.before.strip()):
            return True
        self.found.pending = p.goal
        return False

    def _read(self, p: Piece, row: list[Token]) -> Statement | None:
        related = any(t.kind in ("<=", ">=", "=", "<", ">", "!=", "in") for t in row)
        goal = p.goal
        explicit = row[0].kind in ("min", "max") and p.mode != "plain"
        if (
            self.found.pending
            and not goal
            and not explicit
            and (p.mode == "display" or (p.section == GOAL and (mathlike(p.formula) or p.mode == "inline")))
        ):
            goal = self.found.pending
        try:
            out = read(row, goal)
        except Unsupported:
            if (
                not related
                and not goal
                and not explicit
                and p.mode != "display"
                and not (p.mode == "plain" and p.section in (CONS, GOAL) and mathlike(p.formula))
            ):
                return None  # words
            raise
        if out.sense:
            self.found.pending = ""
        elif p.section == GOAL and p.firm and len(out.relations) == 1 and out.relations[0].ops == ("=",) and p.mode != "plain":
            raise Unsupported("an objective that is neither minimized nor maximized")
        return out

    def _place(self, p: Piece, s: Statement) -> None:
        words = f"{p.before} {p.after} {' '.join(s.words)}"
        if s.relations and any(LIMITED.search(x) for x in (p.after.split(". ")[0], *s.words)):
            raise Unsupported("words that may limit where this holds")
        if s.relations and LABEL.search(re.split(r"\.\s", p.before)[-1]):
            raise Unsupported("words that may limit where this holds")
        if s.relations and p.section == CONS and p.firm and related(p.before):
            raise Unsupported("a label that may limit where this holds")
        if p.section == RESULT and s.relations and all(r.ops == ("=",) and isinstance(r.rights[0], Number) for r in s.relations):
            raise Unsupported("a value in a solution, which is no part of the model for certain")
        if s.symbols and not s.relations and not s.sense:
            if not self._mention(p, s, words) and p.mode == "inline" and p.section == CONS and RULE.search(p.raw) and not related(p.raw):
                self.found.worded.append(p)
            return
        if p.mode == "display" and not (s.symbols or s.relations or s.sense) and RULE.search(words):
            self.found.worded.append(p)
        if s.relations and (found := MODULO.search(words)) is not None:
            self._turns_round(found["n"])
        if s.relations and (s.words[-1:] == ["if"] or re.match(r"\W*(?:if|when)\b", p.after, re.I)):
            relation = s.relations[0]
            one = len(s.relations) == 1 and relation.ops == ("=",) and getattr(relation.rights[0], "value", None) == 1
            if one and p.section != CONS and re.search(r"otherwise|else|0 if", p.after + p.raw, re.I):
                self.found.declare(relation.lefts, {"binary"}, p)
                return
            if s.words[-1:] == ["if"] or p.firm:
                raise Unsupported("a condition in words")
        if re.search(r"\b(?:if|unless|whenever|when)\b", p.before, re.I) and s.relations and not p.firm:
            raise Unsupported("a condition in words")
        if p.mode == "inline" and s.relations:
            after = p.after.split(".")[0]
            if (
                re.match(
                    r"\W*(?:and\s+|are\s+|is\s+|must\s+be\s+|be\s+|all\s+|an\s+|a\s+)*(?:non-?negative\s+)?(?:integer|binary|continuous)", after, re.I
                )
                or p.section == VARS
            ):
                s.kinds += sorted(kinds_in(after))
        self.found.add(p, s)
        self.follows = bool(s.relations)

    def _mention(self, p: Piece, s: Statement, words: str) -> bool:
        """Symbols named in words: a declaration (True), a parameter's meaning, or just talk."""
        kinds = set(s.kinds) | kinds_in(p.after)
        self._aimed(p, p.after)
        if p.section != VARS and not kinds and VALUE.search(AIM.sub("", p.after.split(".")[0])):
            self.found.unvalued |= {x.name for x in s.symbols}  # a number that the text does not give
            return False
        plainly = OF_KIND.match(p.after) is not None  # x_{gd} are non-negative integers.
        declares = p.section == VARS or bool(s.kinds) or (plainly and p.section in (NONE, CONS))
        declares = declares or (p.section == NONE and DECLARED.search(p.before) is not None)
        if p.section == CONS and (s.kinds or kinds) and not p.before.strip().endswith("for"):
            declares = declares or bool(s.kinds) or re.match(r"\W*(?:are\s+|is\s+|must be\s+)?(?:non-?neg|integer|binary)", p.after, re.I) is not None
        if p.section in (SETS, PARAMS):
            declares = False
            self._named_set(p.formula, p.after)
        if declares and (MEANS.match(p.after) or p.section == VARS or kinds):
            if UNSURE.search(p.after):
                raise Unsupported("a domain that is not stated plainly")
            if p.section == VARS:
                check_words(p.after)
            self.found.declare(
                s.symbols, kinds if (p.section == VARS or DECLARED.search(p.before) or s.kinds or plainly or p.section == CONS) else set(), p, s.scope
            )
            return True
        if p.section == NONE and p.mode == "inline" and MEANS.match(p.after):
            self.found.mention(s.symbols, kinds & {"binary"}, s.scope)
        return False

    def _turns_round(self, count: str) -> None:
        """«indices modulo 7», «modulo |D|»: the one set of that many elements has no end."""
        sets = self.found.world.sets
        found = [count] if count in sets else [name for name, own in sets.items() if str(len(own)) == count]
        if len(found) != 1:
            raise Unsupported(f"'modulo {count}': of what set?")
        self.found.world.cyclic.add(found[0])

    def _named_set(self, name: str, words: str) -> None:
        """«T: set of terminals» where the data call it terminals; «P: products = {tables, chairs}»."""
        name = name.strip().strip("{}")
        if re.fullmatch(r"[A-Za-z]\w*", name) is None or self.found.world.known(name):
            return
        listed = re.search(r"=\s*(\\?\{[^{}]*\})\W*$", words)
        if listed is not None:
            inside = listed[1].replace("\\", "").strip("{}")
            self.found.world.sets[name] = [x.strip() for x in inside.split(",")]
            return
        meant = re.match(r"\W*(?:the\s+)?(?:index\s+)?set\s+of\s+(?:all\s+|the\s+|candidate\s+)*(\w+)", words, re.I)
        found = [s for s in self.found.world.sets if meant is not None and s.lower() == meant[1].lower()]
        if len(found) == 1:
            self.found.world.aliases.setdefault(name, found[0])

    def _in_words(self, p: Piece, text: str) -> bool:
        """«x_i is the share of i, 0 <= x_i <= 1»; «capacity = 15 boxes» under parameters; «A and B must be between 0 and 12»."""
        tail = BOUNDED.match(text.rstrip("."))
        let = PLAIN_LET.match(tail["w"]) if tail is not None and p.section in (VARS, NONE) else None
        if let and tail and not re.search(r"[A-Za-z]{3,}", re.sub(r"\\[a-z]+|_\{?\w+\}?", "", tail["r"])):
            check_words(let["w"])
            self.found.declare(read(tokens(let["n"])).symbols, kinds_in(let["w"]), p)
            self.found.add(replace(p, firm=True), read(tokens(tail["r"])))
            return True
        valued = VALUED.match(text) if p.section == PARAMS else None
        if valued is not None:
            self.found.add(p, read(tokens(f"{valued['n']} = {valued['v']}")))
            return True
        between = BETWEEN.match(p.raw) if p.section in (CONS, VARS, NONE) else None
        if between is not None:
            for name in re.sub(r",?\s+and\s+", ", ", between["n"]).split(","):
                self.found.add(replace(p, firm=True), read(tokens(f"{between['low']} <= {name} <= {between['high']}")))
            self.follows = True
        return between is not None

    def _aimed(self, p: Piece, words: str) -> None:
        """«x_f, so as to minimise the cost»: the next displayed formula is the objective."""
        aim = AIM.search(words) if p.section in (NONE, VARS, GOAL) else None
        if aim is not None:
            self.found.pending = "maximize" if aim[1].lower().startswith("max") else "minimize"

    def plain(self, p: Piece) -> bool:
        """Lines without marks of mathematics; True if there is nothing more to read in one."""
        text = p.formula
        if p.section == CONS and TAIL.match(p.raw):
            raise Unsupported("words that may limit where this holds")
        every = EVERY.match(p.raw.split(":", 1)[-1].strip() if ":" in p.raw and not related(p.raw.split(":")[0]) else p.raw)
        if every and not re.search(r"[<>=≤≥]\s*(?!0\b)\S|[<≤]", every["rest"]):
            kinds = kinds_in(every["rest"])
            if kinds and p.section in (CONS, VARS, NONE) and len(every["rest"].split()) <= 8:
                self.found.all_kinds |= kinds
                return True
        if self._in_words(p, text):
            return True
        if not p.goal and (re.match(r"let\b", p.raw, re.I) or (p.section == VARS and re.search(r",\s+[A-Za-z]\w*\s*=", p.raw))):
            parts = [PLAIN_LET.match(x.strip()) for x in re.split(r"(?:,|;|\band)\s+(?=[A-Za-z]\w{0,12}\s*(?:=|be\b))", p.raw.rstrip("."))]
            if all(parts):
                for part in parts:
                    assert part is not None
                    if not kinds_in(part["w"]) and VALUE.search(part["w"]):
                        self.found.unvalued.add(re.split(r"[\[_]", part["n"])[0])
                        continue
                    self.found.declare(read(tokens(part["n"])).symbols, kinds_in(part["w"]), p)
                return True
        let = PLAIN_LET.match(text if not p.before else p.raw)
        if let and p.section not in (CONS, GOAL) and not p.goal and (len(re.findall(r"[A-Za-z]{3,}", let["w"])) >= 2 or BINARY.search(let["w"])):
            if p.section == PARAMS and "=" in text:
                self.found.unvalued.add(re.split(r"[\[{]", let["n"])[0])  # a value that is not a plain number
            if p.section in (VARS, NONE):
                known = self.found.world.known(re.split(r"[\[_]", let["n"])[0])
                if p.section != VARS and not kinds_in(let["w"]) and VALUE.search(let["w"]):
                    self.found.unvalued.add(re.split(r"[\[_]", let["n"])[0])
                elif not known and (p.section == VARS or re.match(r"let\b", text, re.I) or "=" in text or kinds_in(let["w"])):
                    s = read(tokens(let["n"]))
                    check_words(let["w"])
                    self.found.declare(s.symbols, kinds_in(let["w"]), p)
            return True
        said = declaration(p.raw) if p.section == VARS else None
        if said is not None:
            self.found.declare(read(tokens(said.head)).symbols, set(said.kinds), p)
            for relation in said.relations:
                self.found.add(replace(p, firm=True), read(tokens(relation)))
            return True
        if p.section == SETS and (named := re.match(r"^([A-Za-z]\w*)\s*:\s*(.+)$", p.raw)) is not None:
            self._named_set(named[1], named[2])
        text = re.sub(r"^(?:both|all of|where|and|with|here)\s+", "", text, flags=re.I)
        if related(text) or p.goal:
            return False
        if p.section == VARS and re.fullmatch(r"[A-Za-z]\w{0,3}(?:\s*,\s*[A-Za-z]\w{0,3})*", text):
            return False
        if (
            re.match(
                r"^[A-Za-z][\w,\s\[\]{}]{0,40}?\s+(?:(?:is|are|all|must be|be)\s+)*(?:non-?negative\s+)?(?:binary|integers?|continuous|free)\b", text
            )
            and p.section in (CONS, VARS, NONE)
            and (
                re.match(
                    r"^(?:[A-Za-z]\w{0,2}(?:_\{?\w+\}?|\[[\w,]+\])?(?:\s*,\s*|\s+and\s+|\s+))+(?:is|are|all|must|be|binary|integers?|continuous|free|non)",
                    text,
                )
            )
        ):
            kinds = kinds_in(text)
            names = re.split(r"\b(?:is|are|all|must|be|binary|integers?|continuous|free|non-?negative)\b", text)[0]
            self.found.declare(read(tokens(names.replace(" and ", ", "))).symbols, kinds, p)
            return True
        self._aimed(p, p.raw)
        if OF_A_KIND.search(text) and p.section in (CONS, VARS, NONE):
            raise Unsupported("a domain in words that is not understood")
        if (self.follows and explains(p.raw)) or of_the_model(p.raw):
            return True
        self.follows = False
        if (p.section == CONS and (p.bullet or (p.firm and RULE.search(text)))) or (RULE.search(text) and MORE.search(text)):
            self.found.worded.append(p)
            return True
        return not (p.section == GOAL and mathlike(text) and re.search(r"\\?sum|∑|\d\s*\*?\s*[a-z]", text))


def _placed(error: Unsupported, p: Piece) -> Unsupported:
    return Unsupported(f"line {p.line}: {error}, in '{' '.join(p.raw.split())[:120]}'")
