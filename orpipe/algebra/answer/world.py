"""The data of a problem by symbol, as an answer's formulas look them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from orpipe.errors import DataError


@dataclass(frozen=True, slots=True)
class At:
    """An element of a set: its label, the set ("" for plain numbers) and its position from 0."""

    label: str
    set: str
    pos: int


@dataclass(slots=True)
class Column:
    """One variable.  outside: made by a subscript that leaves its set, so that a row must fix it."""

    name: str
    lower: Fraction | None = None
    upper: Fraction | None = None
    integer: bool = False
    outside: bool = False


@dataclass
class World:
    """The data by symbol, and what the text declares."""

    sets: dict[str, list[str]] = field(default_factory=dict)
    tuples: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    bases: dict[str, tuple[str, ...]] = field(default_factory=dict)  # tuple set -> the sets of its places
    params: dict[str, dict[tuple[str, ...], Fraction]] = field(default_factory=dict)
    dims: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)  # parameter -> for each place the sets that fit
    families: dict[str, dict[tuple[str, ...], list[str]]] = field(default_factory=dict)  # N[j]: labels
    cyclic: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any] | None, model: Any = None) -> World:
        """Raises DataError for values that are no set, number or table of numbers."""
        world = cls()
        given = dict(data or {})
        for name, value in given.items():
            if isinstance(value, (list, tuple)) and value and not any(isinstance(v, (list, tuple, Mapping)) for v in value):
                world.sets[name] = [str(v) for v in value]
            elif isinstance(value, (list, tuple)) and all(isinstance(v, (list, tuple)) for v in value):
                world.tuples[name] = [tuple(map(str, v)) for v in value]
        for name, value in list(given.items()):
            if isinstance(value, (list, tuple)) and value and all(isinstance(v, Mapping) for v in value):
                world._objects(name, value)
            elif isinstance(value, Mapping) and value and (lists := _lists(value, ())) is not None:
                world.families[name] = lists
        for name, value in given.items():
            if name not in world.sets and name not in world.tuples and name not in world.families:
                if name in world.params:
                    raise DataError(f"'{name}' is in the data twice")
                table: dict[tuple[str, ...], Fraction] = {}
                _flatten(value, (), table, name)
                world.params[name] = table
        if model is not None:
            world._told(model, given)
        for name, rows in world.tuples.items():
            if name not in world.bases:
                width = len(rows[0]) if rows else 0
                fits = [world.fitting({r[k] for r in rows}) for k in range(width)]
                world.bases[name] = tuple(f[0] if f else "" for f in fits)
        for name, table in world.params.items():
            width = len(next(iter(table), ()))
            if any(len(key) != width for key in table):
                raise DataError(f"the table '{name}' is of uneven depth")
            world.dims[name] = tuple(world.fitting({key[k] for key in table}) for k in range(width))
        return world

    def _objects(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """[{"from": "A", "to": "B", "cost": 3}, ...]: a tuple set of the fields whose values are labels of one set; a field of
        numbers beside them is a table over the tuples, under its own name.  Raises DataError for anything else."""
        fields = list(rows[0])
        if any(list(row) != fields for row in rows):
            raise DataError(f"the objects of '{name}' have different fields")
        places = [f for f in fields if self.fitting({str(row[f]) for row in rows})]
        if not places:
            raise DataError(f"no field of the objects of '{name}' holds the labels of a set")
        keys = [tuple(str(row[f]) for f in places) for row in rows]
        if len(set(keys)) != len(keys):
            raise DataError(f"two objects of '{name}' are of the same {', '.join(places)}")
        self.tuples[name] = keys
        for f in fields:
            if f not in places:
                table: dict[tuple[str, ...], Fraction] = {}
                for key, row in zip(keys, rows, strict=True):
                    _flatten(row[f], key, table, f)
                if f in self.params:
                    raise DataError(f"the field '{f}' of '{name}' is also something else in the data")
                self.params[f] = table

    def family_base(self, name: str) -> str:
        """The one set that the members of a family of sets are of, "" if that is not certain."""
        found = self.fitting({x for members in self.families[name].values() for x in members})
        return found[0] if found else ""

    def fitting(self, labels: set[str]) -> tuple[str, ...]:
        """The sets that hold all these labels, those with no others first."""
        found = [s for s, own in self.sets.items() if labels <= set(own)]
        return tuple(sorted(found, key=lambda s: len(self.sets[s])))

    def _told(self, model: Any, data: Mapping[str, Any]) -> None:
        from orpipe.data import validate

        if any(s.derived for s in model.sets) and {s.symbol for s in model.sets if not s.derived} <= set(data):
            arrays = validate(model, data)
            for s in model.sets:
                if s.derived:
                    labels = [arrays.labels[k.set] for k in s.over]
                    self.tuples[s.symbol] = [
                        tuple(str(own[p]) for own, p in zip(labels, row, strict=True)) for row in arrays.tuples[s.symbol].tolist()
                    ]
        for s in model.sets:
            self.aliases.setdefault(s.name, s.symbol)
            if s.cyclic:
                self.cyclic.add(s.symbol)
            if s.over and s.symbol in self.tuples:
                self.bases[s.symbol] = tuple(k.set for k in s.over)
        for p in model.params:
            self.aliases.setdefault(p.name, p.symbol)

    def known(self, name: str) -> str:
        """The name as the data know it, or ""."""
        for found in (name, self.aliases.get(name, "")):
            if found in self.sets or found in self.tuples or found in self.params or found in self.families:
                return found
        return ""


def _lists(value: Any, key: tuple[str, ...]) -> dict[tuple[str, ...], list[str]] | None:
    """{"j1": ["a", "b"], ...} by key; None where a leaf is no list of labels."""
    if isinstance(value, (list, tuple)):
        return None if any(isinstance(v, (list, tuple, Mapping)) for v in value) or not key else {key: [str(v) for v in value]}
    if not isinstance(value, Mapping):
        return None
    out: dict[tuple[str, ...], list[str]] = {}
    for label, inner in value.items():
        found = _lists(inner, (*key, str(label)))
        if found is None:
            return None
        out |= found
    return out


def _flatten(value: Any, key: tuple[str, ...], out: dict[tuple[str, ...], Fraction], name: str) -> None:
    if isinstance(value, Mapping):
        for label, inner in value.items():
            _flatten(inner, (*key, str(label)), out, name)
    elif isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise DataError(f"data '{name}' hold {value!r:.40}, which is no number")
    else:
        try:
            out[key] = Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            raise DataError(f"data '{name}' hold {value!r:.40}, which is no number") from None
