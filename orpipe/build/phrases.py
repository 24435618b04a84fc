"""Phrases of a dressed model about one of its entries: «Corby is open» for is_open[Corby], «demand for Teal in week 2»."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from orpipe.algebra.nodes import Index, Model, Row, VarDecl
from orpipe.instances import Instance
from orpipe.render.tables import tuples_of
from orpipe.render.words import the
from orpipe.scenarios import Scenario


def columns(instance: Instance) -> list[tuple[VarDecl, tuple]]:
    """Variable and labels of every column of the Problem, in order."""
    from orpipe.ground import validate

    arrays = validate(instance.linear, instance.data)
    return [(v, key) for v in instance.linear.variables for key in tuples_of(instance.linear, arrays, v.indices, v.domain)]


def named(model: Model, meaning: str, indices: Sequence[Index], key: Sequence[Any], domain: str | None = None) -> str:
    """A meaning with labels for its indices: «depot i» or «the depot» becomes «North», «week t» becomes «week 3»."""
    text = meaning
    if domain and len(key) == 2 and not re.search(rf"\b{indices[0].name}\b", text):
        noun = re.escape(model.set_by[domain].noun)
        text, times = re.subn(rf"\b(the|each|an?) {noun}\b", lambda m: f"{m[0]} from {key[0]} to {key[1]}", text, count=1)
        if times:
            return text
    for k, label in zip(indices, key, strict=True):
        s = model.set_by[k.set]
        noun, name = re.escape(s.noun), f"{s.noun} {label}" if s.numbered else str(label)
        for pattern in (rf"\b(?:an? )?{noun} {k.name}\b", rf"\b(?:the|each|one|an?) {noun}\b(?! \d)", r"\bthe other\b", rf"\b{noun}\b(?! \d)"):
            text, times = re.subn(pattern, name.replace("\\", r"\\"), text, count=1)
            if times:
                break
        else:
            text = f"{text} ({name})"
    return text


def clause(model: Model, v: VarDecl, key: Sequence[Any]) -> str:
    """What a binary at 1 says: «North is open»."""
    found = re.fullmatch(r"1 if (.+), 0 (?:otherwise|if .+)", v.meaning)
    return named(model, found[1] if found else v.meaning, v.indices, key, v.domain)


def amount(model: Model, v: VarDecl, key: Sequence[Any]) -> str:
    """What a quantity is: «the amount that North sends to Alder»."""
    return the(named(model, v.meaning, v.indices, key, v.domain))


def counted(number: str, unit: str, scenario: Scenario) -> str:
    """A number with a unit in the scenario's words: «1 pallet/day» for «pallets/day», «24 pallets/day»;
    the unit "1" is not said."""
    if unit == "1":
        return number
    if number in ("1", "-1") and unit:
        top, *below = unit.split("/")
        single = {many: one for one, many in scenario.units.values()} | {"minutes": "minute", "hours": "hour", "days": "day"}
        unit = "/".join(["*".join(single.get(token, token) for token in top.split("*")), *below])
    return f"{number} {unit}".strip()


def row_of(model: Model, name: str) -> Row:
    """The row a grounded row comes from: cover[Redcliff,Monday] -> cover."""
    return model.row_by[name.partition("[")[0]]
