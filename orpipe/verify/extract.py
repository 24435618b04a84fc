"""The program in what a model wrote.

Read in this order: JSON wrappers and escaped line ends are undone; reasoning is cut off up to its closing mark; where an
<answer> part holds code, only that is looked at.  Then the last complete fence or tag that builds a model counts (it
imports a modelling library and solves or writes); one that does not parse counts only if none does.  A fence that uses
names from earlier ones is joined with them.  Text without fences and tags is taken as code from its first import on.

A program that only defines its functions is completed with the one call it lacks, where that call is plain (no
arguments, or arguments that data.json names), since it is the model that is judged; `call=False` leaves it as it is.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orpipe.verify import blocks
from orpipe.verify.blocks import Block
from orpipe.verify.source import Source, recognise, uncalled

LONGEST = 2_000_000  # characters of an answer that are read at all
_OTHER_LANGUAGES = frozenset(re.findall(r"\S+", """
    text txt plaintext plain output console bash sh shell zsh powershell json yaml yml toml xml html css latex tex math
    markdown md csv sql mermaid diff ampl mod dat lingo lng gams gms minizinc mzn julia jl matlab octave r c cpp c++ java
    javascript js typescript ts rust go lp mps zimpl opl none
"""))


@dataclass(frozen=True, slots=True)
class Extracted:
    """code: "" if there is none, and then `why`.  how: where it was found, in words.  called: the call that was added.
    syntax: "" or why the code does not parse."""

    code: str
    how: str = ""
    library: str = ""
    called: str = ""
    why: str = ""
    syntax: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    source: Source
    what: str
    complete: bool

    @property
    def worth(self) -> tuple[int, bool]:
        return self.source.rank, self.complete


def extract(text: str | None, files: Mapping[str, str] | None = None, call: bool = True) -> Extracted:
    """The program in an answer; `files`: the data files it will be given, by name.  Never raises."""
    if not text or not text.strip():
        return Extracted("", why="the answer is empty")
    if len(text) > LONGEST:
        return Extracted("", why=f"the answer has more than {LONGEST} characters")
    try:
        found = _find(text.replace("\r\n", "\n"), "", 3)
    except _NoCode as nothing:
        return Extracted("", why=str(nothing))
    except RecursionError:
        return Extracted("", why="the answer is nested too deeply to be read")
    code, how, added = found.source.code, found.what, ""
    if call and found.source.rank >= 2:
        added = uncalled(found.source, _keys(files), "data.json" in (files or {}))
        if added:
            code, how = f"{code}\n\n{added}\n", f"{how}; {added.partition('(')[0]}() was never called: call added"
    return Extracted(code, how, recognise(code), added, syntax=found.source.error)


class _NoCode(Exception):
    """Why there is none."""


def _keys(files: Mapping[str, str] | None) -> frozenset[str]:
    try:
        data = json.loads((files or {}).get("data.json", "{}"))
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(map(str, data)) if isinstance(data, dict) else frozenset()


def _find(text: str, prefix: str, depth: int) -> _Candidate:
    """The best candidate; raises _NoCode."""
    if depth > 0:
        for block in blocks.inside_json(text):
            if block.language:
                return _candidate(block)
            return _find(block.text, f"{prefix}{block.what}, ", depth - 1)
        plain = blocks.unescaped(text)
        if plain is not None:
            with contextlib.suppress(_NoCode):
                return _find(plain, f"{prefix}escaped line ends, ", 0)
    said = blocks.spoken(text)
    part = blocks.answer_part(said.text)
    found = _choose(part) if part is not None else None
    if found is not None and found.source.rank >= 0:
        return replace(found, what=f"{prefix}answer part, {found.what}")
    found = _choose(said.text)
    if depth > 0 and (found is None or found.source.rank < 1):
        for block in blocks.fences(said.text):
            if block.language == "json" and any(blocks.inside_json(block.text)):
                return _find(block.text, f"{prefix}{block.what}, ", depth - 1)
    if found is None or found.source.rank < 0:
        raise _NoCode(_why_not(said))
    mark = "after the reasoning, " if said.reasoned else "reasoning not closed, " if said.open else ""
    return replace(found, what=f"{prefix}{mark}{found.what}")


def _why_not(said: blocks.Spoken) -> str:
    languages = sorted({b.language for b in blocks.fences(said.text) if b.language in _OTHER_LANGUAGES})
    if languages:
        return f"the answer has no Python code, only {', '.join(languages)}"
    return "the answer has no code after its reasoning" if said.reasoned else "the answer has no code"


def _choose(text: str) -> _Candidate | None:
    marked = [b for b in (*blocks.fences(text), *blocks.tags(text)) if b.language not in _OTHER_LANGUAGES]
    candidates = [_candidate(block) for block in marked]
    best = _best(candidates)
    if best is not None and best.source.rank >= 0:
        return _joined(candidates, best)
    return _bare(text)


def _best(candidates: Sequence[_Candidate]) -> _Candidate | None:
    """The last of those that are worth most."""
    best: _Candidate | None = None
    for candidate in candidates:
        if best is None or candidate.worth >= best.worth:
            best = candidate
    return best


def _candidate(block: Block) -> _Candidate:
    source = Source.read(blocks.tidy(block.text))
    for repair in (blocks.without_magics, html.unescape, blocks.straight_quotes):
        if source.error and (repaired := repair(source.code)) != source.code:
            better = Source.read(repaired)
            source = source if better.error and repair is not blocks.without_magics else better
    return _Candidate(source, block.what, block.complete)


def _joined(candidates: list[_Candidate], best: _Candidate) -> _Candidate:
    """`best`, preceded by earlier blocks if it needs their names; or all of them if only together they build a model."""
    parsed = [c for c in candidates if c.source.rank >= 1]
    if best not in parsed or len(parsed) < 2:
        return best
    before = parsed[:parsed.index(best)]
    if best.source.rank == 3:
        if not best.source.missing & set().union(*(c.source.bound for c in before)):
            return best
        parsed = [*before, best]
    whole = Source.read("\n\n".join(c.source.code for c in parsed))
    if whole.rank < max(3, best.source.rank):
        return best
    return _Candidate(whole, f"{len(parsed)} fences joined, up to {parsed[-1].what}", all(c.complete for c in parsed))


def _bare(text: str) -> _Candidate | None:
    """The whole text as code, or the stretch from its first import line to the last line that parses."""
    whole = _candidate(Block(text, "bare text"))
    if not whole.source.error:
        return whole if whole.source.rank >= 1 else None
    lines = whole.source.code.split("\n")
    first = next((k for k, line in enumerate(lines) if line.startswith(("import ", "from ")) and " " in line.strip()), None)
    if first is None:
        return None
    rest = "\n".join(lines[first:])
    found = best = Source.read(rest)
    for _ in range(30):
        if not found.error:
            break
        line = _line(found.error)
        kept = "\n".join(found.code.split("\n")[:line - 1]).rstrip() if line > 1 else ""
        if not kept:
            break
        found = Source.read(kept)
    if not found.error and found.rank >= 2 and (found.rank == 3 or not solves_text(rest)):
        end = first + len(found.code.split("\n"))
        return _Candidate(found, f"bare text, lines {first + 1} to {end}", True)
    return _Candidate(best, f"bare text from line {first + 1}", True) if recognise(rest) else None


def _line(error: str) -> int:
    head, _, number = error.rpartition("(line ")
    return int(number.rstrip(")")) if head and number.rstrip(")").isdigit() else 0


def solves_text(code: str) -> bool:
    return any(f".{name}(" in code for name in ("solve", "Solve", "optimize", "run", "write"))
