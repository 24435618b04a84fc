"""A sentence about an instance with the exact facts behind it: what the audit works out again from the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from orpipe.exact import decimal_text


@dataclass(frozen=True)
class Claim:
    """kind: what is claimed (orpipe.build.audit_claims has a check for each).  text: the sentence, or a part of one.  at: the
    rows or columns that it is about, by name.  values: the numbers in it, exact, in the units of the text.  more: what the
    check needs and the text does not say."""

    kind: str
    text: str
    at: tuple[str, ...] = ()
    values: Mapping[str, Fraction | None] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def record(self) -> dict[str, Any]:
        """For the column metadata: exact numbers as text."""
        values = {k: None if v is None else decimal_text(v) or f"{v.numerator}/{v.denominator}" for k, v in self.values.items()}
        return {"claim": self.kind, "text": self.text, "at": list(self.at), "values": values, **({"more": dict(self.more)} if self.more else {})}


def records(found: Iterable[Any]) -> list[dict[str, Any]]:
    """Of those that are claims; sentences without facts are left out."""
    return [c.record() for c in found if isinstance(c, Claim)]
