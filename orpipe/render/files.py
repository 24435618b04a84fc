"""Instance data as attached files, and their description without any value.

data.json, keyed by code names of sets and parameters:

    {
      "depots": ["North", "South"],                         a set: its labels (numbers for numbered sets)
      "horizon": 6,                                         a scalar
      "capacity": {"North": 16, "South": 10},               a parameter: nested objects by label
      "carriage": {
        "North": {"Alder": 3, "Birch": 7},
        "South": {"Alder": 6, "Birch": 2}
      },
      "arcs": [                                             a tuple set with every parameter that lives on it
        {"from": "A", "to": "B", "cost": 3, "limit": 9}
      ]
    }

Sets derived by a condition are not stored; a parameter on such a set is nested objects of the labels it has.

csv: scalars.csv (name, value); one table a set (its labels in order, then the parameters indexed by it alone); one long
table for each combination of sets that parameters share (depots_bakeries.csv: depot, bakery, carriage); one a tuple set.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orpipe.algebra import nodes as n
from orpipe.errors import NotFound
from orpipe.exact import decimal_text, fraction
from orpipe.render.emit_names import identifier, unused

Data = Mapping[str, Any]
Label = str | int
JSON_FILE, SCALARS_FILE = "data.json", "scalars.csv"
_DIRECTED = frozenset("arc edge link lane road leg route pipe pipeline line connection flight track street corridor move transfer".split())


@dataclass(frozen=True, slots=True)
class FileDescription:
    """One key of data.json (nested ones written arcs[].cost) or one column of a csv file (one name in scalars.csv).

    symbol: the set or parameter it belongs to.  meaning and unit as the model has them; unit "1" is a plain number."""

    file: str
    key: str
    symbol: str
    shape: str
    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a parameter and the labels of its indices."""

    labels: tuple[Label, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Table:
    """A csv file: key columns, then one column a parameter.  `set` is the set whose elements its rows list, "" for a long
    table or the scalars."""

    file: str
    set: str
    keys: tuple[str, ...]
    indices: tuple[n.Index, ...]
    params: tuple[n.ParamDecl, ...]


# -- reading an instance -----------------------------------------------------------------------------------------------
def labels(model: n.Model, data: Data, symbol: str) -> list[Label]:
    return list(range(1, len(data[symbol]) + 1)) if model.set_by[symbol].numbered else [str(x) for x in data[symbol]]


def tuples(model: n.Model, data: Data, symbol: str) -> list[tuple[Label, ...]]:
    numbered = [model.set_by[k.set].numbered for k in model.set_by[symbol].over]
    return [tuple(int(x) if whole else str(x) for x, whole in zip(item, numbered, strict=True)) for item in data[symbol]]


def entries(model: n.Model, data: Data, p: n.ParamDecl) -> list[Entry]:
    """Values in the order of the tuple set, else of the sets; only those the domain has."""
    if p.domain and not model.set_by[p.domain].derived:
        return [Entry(at, _dig(data[p.symbol], at)) for at in tuples(model, data, p.domain)]

    def walk(node: Any, at: tuple[Label, ...]) -> Iterator[Entry]:
        if len(at) == len(p.indices):
            yield Entry(at, node)
            return
        for label in labels(model, data, p.indices[len(at)].set):
            key = label if label in node else str(label)
            if key in node:
                yield from walk(node[key], (*at, label))

    return list(walk(data[p.symbol], ()))


def _dig(node: Any, at: tuple[Label, ...]) -> Any:
    for label in at:
        node = node[label] if label in node else node[str(label)]
    return node


def number(value: Any) -> str:
    """A literal that Python, JSON and csv readers turn into the same number: whole numbers without a point, else the
    shortest decimal."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    exact = fraction(value)
    return str(exact.numerator) if exact.denominator == 1 else decimal_text(exact) or repr(float(exact))


# -- layout ------------------------------------------------------------------------------------------------------------
def on_domain(model: n.Model, symbol: str) -> tuple[n.ParamDecl, ...]:
    return tuple(p for p in model.params if p.domain == symbol)


def component_keys(model: n.Model, symbol: str) -> tuple[str, ...]:
    """Keys of the components of a tuple in records and tables: nouns of their sets; from/to for arcs; first_/second_
    for other tuples of one set.  Unique, and unlike the parameters on the tuple set."""
    s = model.set_by[symbol]
    return _keys(model, s.over, {p.name for p in on_domain(model, symbol)}, bool(_DIRECTED & set(s.noun.lower().split())))


def _keys(model: n.Model, indices: tuple[n.Index, ...], taken: set[str], directed: bool = False) -> tuple[str, ...]:
    nouns = [identifier(model.set_by[k.set].noun) for k in indices]
    if directed and len(nouns) == 2 and nouns[0] == nouns[1]:
        nouns = ["from", "to"]
    keys: list[str] = []
    for k, noun in enumerate(nouns):
        rank = ("first", "second", "third", "fourth")[nouns[:k].count(noun)] if nouns.count(noun) > 1 and nouns[:k].count(noun) < 4 else ""
        keys.append(unused(f"{rank}_{noun}" if rank else noun, {*taken, *keys}))
    return tuple(keys)


def tables(model: n.Model) -> tuple[Table, ...]:
    """The csv files of a model in order: scalars, sets, tuple sets, long tables."""
    out: list[Table] = []
    names = {SCALARS_FILE}

    def add(name: str, symbol: str, keys: tuple[str, ...], indices: tuple[n.Index, ...], params: tuple[n.ParamDecl, ...]) -> None:
        file = unused(name, {f.removesuffix(".csv") for f in names}) + ".csv"
        names.add(file)
        out.append(Table(file, symbol, keys, indices, params))

    scalars = tuple(p for p in model.params if not p.indices)
    if scalars:
        out.append(Table(SCALARS_FILE, "", (), (), scalars))
    long: dict[tuple[str, ...], list[n.ParamDecl]] = {}
    for p in model.params:
        if p.domain and model.set_by[p.domain].derived:
            long.setdefault((p.domain,), []).append(p)
        elif not p.domain and len(p.indices) > 1:
            long.setdefault(tuple(k.set for k in p.indices), []).append(p)
    for s in model.sets:
        if not s.over:
            index = (n.Index("", s.symbol),)
            params = tuple(p for p in model.params if not p.domain and [k.set for k in p.indices] == [s.symbol])
            add(s.name, s.symbol, _keys(model, index, {p.name for p in params}), index, params)
    for s in model.sets:
        if s.over and not s.derived:
            add(s.name, s.symbol, component_keys(model, s.symbol), s.over, on_domain(model, s.symbol))
    for symbols, group in long.items():
        domain = model.set_by[symbols[0]] if group[0].domain else None
        keys = component_keys(model, domain.symbol) if domain else _keys(model, group[0].indices, {p.name for p in group})
        add("_".join(model.set_by[x].name for x in symbols), "", keys, group[0].indices, tuple(group))
    return tuple(out)


# -- writing -----------------------------------------------------------------------------------------------------------
def data_json(model: n.Model, data: Data) -> str:
    """The text of data.json, ending in a newline; one line a set, an object or a row of a table."""
    parts: list[str] = []
    for s in model.sets:
        if not s.over:
            parts.append(f"{_quoted(s.name)}: [{', '.join(_quoted(x) for x in labels(model, data, s.symbol))}]")
        elif not s.derived:
            keys = component_keys(model, s.symbol)
            values = {p.name: [e.value for e in entries(model, data, p)] for p in on_domain(model, s.symbol)}
            records = [", ".join([*(f"{_quoted(k)}: {_quoted(x)}" for k, x in zip(keys, at, strict=True)),
                                  *(f"{_quoted(name)}: {number(column[row])}" for name, column in values.items())])
                       for row, at in enumerate(tuples(model, data, s.symbol))]
            parts.append(f"{_quoted(s.name)}: [\n    " + ",\n    ".join(f"{{{r}}}" for r in records) + "\n  ]")
    for p in model.params:
        if p.domain and not model.set_by[p.domain].derived:
            continue
        nested: dict[Label, Any] = {}
        for e in entries(model, data, p):
            node = nested
            for label in e.labels[:-1]:
                node = node.setdefault(label, {})
            if e.labels:
                node[e.labels[-1]] = e.value
        parts.append(f"{_quoted(p.name)}: {_object(nested, '  ') if p.indices else number(data[p.symbol])}")
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


def _quoted(label: Label) -> str:
    return json.dumps(label, ensure_ascii=False)


def _object(node: Any, indent: str) -> str:
    if not isinstance(node, dict):
        return number(node)
    if not any(isinstance(v, dict) for v in node.values()):
        return "{" + ", ".join(f"{_quoted(str(k))}: {number(v)}" for k, v in node.items()) + "}"
    deeper = indent + "  "
    return "{\n" + ",\n".join(f"{deeper}{_quoted(str(k))}: {_object(v, deeper)}" for k, v in node.items()) + f"\n{indent}}}"


def data_csv(model: n.Model, data: Data) -> dict[str, str]:
    """File name -> text, header first, lines ending in a newline."""
    out: dict[str, str] = {}
    for table in tables(model):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if table.file == SCALARS_FILE:
            writer.writerow(["name", "value"])
            writer.writerows([p.name, number(data[p.symbol])] for p in table.params)
        else:
            writer.writerow([*table.keys, *(p.name for p in table.params)])
            columns = [[(e.labels, e.value) for e in entries(model, data, p)] for p in table.params]
            if not table.set:
                rows = [at for at, _ in columns[0]]
            elif model.set_by[table.set].over:
                rows = tuples(model, data, table.set)
            else:
                rows = [(x,) for x in labels(model, data, table.set)]
            values = [dict(c) for c in columns]
            writer.writerows([*at, *(number(v[at]) for v in values)] for at in rows)
        out[table.file] = text.getvalue()
    return out


# -- describing --------------------------------------------------------------------------------------------------------
def schema(model: n.Model, kind: Literal["json", "csv"]) -> list[FileDescription]:
    """What stands where, from the model alone.  Raises NotFound for an unknown kind."""
    if kind == "json":
        return list(_json_schema(model))
    if kind == "csv":
        return [d for table in tables(model) for d in _table_schema(model, table)]
    raise NotFound.among("kind of data file", kind, ("json", "csv"))


def _json_schema(model: n.Model) -> Iterator[FileDescription]:
    for s in model.sets:
        if s.derived:
            continue
        if not s.over:
            shape = f"list of the numbers 1, 2, ... up to the last {s.noun}" if s.numbered else f"list of {s.noun} names"
            yield FileDescription(JSON_FILE, s.name, s.symbol, shape + (", in order" if s.ordered and not s.numbered else ""), f"the {s.plural}")
            continue
        yield FileDescription(JSON_FILE, s.name, s.symbol, f"list of objects, one per {s.noun}", f"the {s.plural}")
        for key, index in zip(component_keys(model, s.symbol), s.over, strict=True):
            yield _component(model, s, JSON_FILE, f"{s.name}[].{key}", key, index, f"in each object of {s.name}")
        for p in on_domain(model, s.symbol):
            yield FileDescription(JSON_FILE, f"{s.name}[].{p.name}", p.symbol, f"{_kind(p)} in each object of {s.name}", p.meaning, p.unit)
    for p in model.params:
        if p.domain and not model.set_by[p.domain].derived:
            continue
        nouns = [model.set_by[k.set].noun for k in p.indices]
        if not nouns:
            shape = _kind(p)
        elif len(nouns) == 1:
            shape = f"object with one {_kind(p)} per {nouns[0]}"
        else:
            of = ", ".join(f"per {x}" for x in nouns[:-1])
            shape = f"nested object: {of}, an object with one {_kind(p)} per {nouns[-1]}"
        if p.domain:
            shape += f" (only for each {model.set_by[p.domain].noun})"
        yield FileDescription(JSON_FILE, p.name, p.symbol, shape, p.meaning, p.unit)


def _table_schema(model: n.Model, table: Table) -> Iterator[FileDescription]:
    if table.file == SCALARS_FILE:
        for p in table.params:
            yield FileDescription(table.file, p.name, p.symbol, f"{_kind(p)} in column value, on the row with this name", p.meaning, p.unit)
        return
    s = model.set_by[table.set] if table.set else model.set_by[table.params[0].domain] if table.params[0].domain else None
    per = s.noun if s else " and ".join(model.set_by[k.set].noun for k in table.indices)
    for key, index in zip(table.keys, table.indices, strict=True):
        if s is not None and not s.over:
            shape = "1, 2, ... in order" if s.numbered else "name, in order" if s.ordered else "name"
            yield FileDescription(table.file, key, s.symbol, f"{shape}, one row per {per}", f"the {s.plural}")
        elif s is not None:
            yield _component(model, s, table.file, key, key, index, f"one row per {per}")
        else:
            yield FileDescription(table.file, key, index.set, f"name, one row per {per}", f"the {model.set_by[index.set].noun}")
    for p in table.params:
        yield FileDescription(table.file, p.name, p.symbol, f"{_kind(p)}, one row per {per}", p.meaning, p.unit)


def _component(model: n.Model, s: n.SetDecl, file: str, key: str, short: str, index: n.Index, where: str) -> FileDescription:
    part = model.set_by[index.set]
    meaning = {"from": f"the {part.noun} it starts from", "to": f"the {part.noun} it leads to"}.get(short, f"the {part.noun} ({short})")
    return FileDescription(file, key, s.symbol, f"{'number' if part.numbered else 'name'} of a {part.noun}, {where}",
                           meaning if short != identifier(part.noun) else f"the {part.noun}")


def _kind(p: n.ParamDecl) -> str:
    return "whole number" if p.integer else "number"
