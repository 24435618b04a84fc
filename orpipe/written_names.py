"""Names that a file format cannot carry: written under another name, with a comment line that gives the own one back.

    <mark> column ship_North_Alder = "ship[North, Alder]"
    <mark> upper demand_hi = "demand"           (LP) row demand_hi is the upper side of row demand

Other readers skip the comment and see a plain model; ours restores the names, so that what was written is read back whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from orpipe.errors import ParseError

_LINE = re.compile(r"\s*(?P<what>column|row|upper) (?P<written>\S+) = (?P<own>\".*\")\s*")


def carried(names: Sequence[str], plain: Callable[[str], str], fallback: str, fits: Callable[[str], bool]) -> list[str]:
    """Names that fit, unique; those that fit already keep theirs.  plain(name) is what is tried for another."""
    good = [fits(name) for name in names]
    taken = {name for name, ok in zip(names, good, strict=True) if ok}
    kept: set[str] = set()
    out = []
    for name, ok in zip(names, good, strict=True):
        if not ok or name in kept:
            stem, k = plain(name), 1
            stem = stem if fits(stem) else f"{fallback}_{stem}" if fits(f"{fallback}_{stem}") else fallback
            name = stem
            while name in taken:
                k += 1
                name = f"{stem}_{k}"
            taken.add(name)
        kept.add(name)
        out.append(name)
    return out


def comments(mark: str, what: str, own: Iterable[str], written: Iterable[str]) -> list[str]:
    """One line for each name that was changed."""
    return [f"{mark} {what} {new} = {json.dumps(old, ensure_ascii=False)}" for old, new in zip(own, written, strict=True) if old != new]


@dataclass(slots=True)
class Own:
    """Own names by written name, collected from comments; upper: the row that a row is the upper side of."""

    column: dict[str, str] = field(default_factory=dict)
    row: dict[str, str] = field(default_factory=dict)
    upper: dict[str, str] = field(default_factory=dict)

    def hear(self, comment: str, where: str) -> None:
        """A comment without its mark; other comments are nothing.  Raises ParseError for a name told twice or not readable."""
        found = _LINE.fullmatch(comment)
        if found is None:
            return
        table: dict[str, str] = getattr(self, found["what"])
        try:
            own = json.loads(found["own"])
        except ValueError:
            raise ParseError(f"{where}: the own name of {found['what']} '{found['written']}' is no JSON text") from None
        if table.setdefault(found["written"], own) != own:
            raise ParseError(f"{where}: {found['what']} '{found['written']}' has two own names")

    def columns(self, names: Iterable[str]) -> list[str]:
        return [self.column.get(name, name) for name in names]

    def rows(self, names: Iterable[str]) -> list[str]:
        return [self.row.get(name, name) for name in names]
