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
table for each combination of sets that parameters share (depots_bakeries.csv: depot, bakery, carriage); one table a
tuple set.
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


@dataclass(frozen=True, slots=True)
class FileDescription:
    """One key of data.json (nested ones written arcs[].cost) or one column of a csv file (one name in scalars.csv).

    symbol: the set or parameter it belongs to.  meaning and unit as the model has them; unit "1" or "" is a plain
    number.  rows: what a row of the csv file is."""

    file: str
    key: str
    symbol: str
    shape: str
    meaning: str
    unit: str = ""
    rows: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a parameter and the labels of its indices."""

    labels: tuple[Label, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Table:
    """A csv file: key columns, then one column a parameter.  `set` is the set whose elements its rows list, "" for a
    long table or the scalars."""

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
    return [tuple(int(x) if whole else str(x) for x, whole in zip(item, numbered, strict=True))
            for item in data[symbol]]


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
        return repr(float(value) if isinstance(value, float) else int(value))  # numpy scalars print otherwise
    exact = fraction(value)
    return str(exact.numerator) if exact.denominator == 1 else decimal_text(exact) or repr(float(exact))


# -- layout ------------------------------------------------------------------------------------------------------------
def on_domain(model: n.Model, symbol: str) -> tuple[n.ParamDecl, ...]:
    return tuple(p for p in model.params if p.domain == symbol)


def component_keys(model: n.Model, symbol: str) -> tuple[str, ...]:
    """Keys of the components of a tuple in records and tables: the nouns of their sets; from and to for a pair over one
    set.  Unique, and unlike the parameters on the tuple set."""
    return _keys(model, model.set_by[symbol].over, {p.name for p in on_domain(model, symbol)})


def _keys(model: n.Model, indices: tuple[n.Index, ...], taken: set[str]) -> tuple[str, ...]:
    sets = [k.set for k in indices]
    keys: list[str] = []
    for at, k in enumerate(indices):
        noun = identifier(model.set_by[k.set].noun)
        key = noun if sets.count(k.set) == 1 else ("from", "to")[at] if len(sets) == 2 else f"{noun}_{k.name}"
        keys.append(unused(key, {*taken, *keys}))
    return tuple(keys)


def tables(model: n.Model) -> tuple[Table, ...]:
    """The csv files of a model in order: scalars, sets, tuple sets, long tables."""
    out: list[Table] = []
    names = {SCALARS_FILE}

    def add(name: str, symbol: str, keys: tuple[str, ...], indices: tuple[n.Index, ...],
            params: tuple[n.ParamDecl, ...]) -> None:
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
        taken = {p.name for p in group}
        keys = component_keys(model, domain.symbol) if domain else _keys(model, group[0].indices, taken)
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
    rows = (f"{deeper}{_quoted(str(k))}: {_object(v, deeper)}" for k, v in node.items())
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


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


def schema_text(model: n.Model, data: Data, kind: Literal["json", "csv"]) -> str:
    """The schema as Markdown lists, one a file.  `data` stands for likeness with tables_text and is not read: no value
    may show."""
    files: dict[str, list[FileDescription]] = {}
    for d in schema(model, kind):
        files.setdefault(d.file, []).append(d)
    blocks = []
    for file, found in files.items():
        head = f"`{file}` holds one object with these keys:" if kind == "json" else f"`{file}`, {found[0].rows}:"
        blocks.append("\n".join([head, "", *(_bullet(d, kind) for d in found)]))
    return "\n\n".join(blocks)


def _bullet(d: FileDescription, kind: str) -> str:
    """Shapes that the column or the record make plain are left out."""
    plain = d.shape in ("number", "name") and (kind == "csv" or "[]" in d.key)
    return f"- `{d.key}`: {d.meaning}{'' if d.unit in ('', '1') else f' ({d.unit})'}{'' if plain else f'; {d.shape}'}"


def _json_schema(model: n.Model) -> Iterator[FileDescription]:
    def told(key: str, symbol: str, shape: str, meaning: str, unit: str = "") -> FileDescription:
        return FileDescription(JSON_FILE, key, symbol, shape, meaning, unit)

    for s in model.sets:
        if s.derived:
            continue
        if not s.over:
            order = ", in order" if s.ordered and not s.numbered else ""
            shape = f"list of {s.noun} numbers 1, 2, ..." if s.numbered else f"list of {s.noun} names"
            yield told(s.name, s.symbol, shape + order, f"the {s.plural}")
            continue
        yield told(s.name, s.symbol, f"list of objects, one per {s.noun}, with the keys that follow", f"the {s.plural}")
        for key, index in zip(component_keys(model, s.symbol), s.over, strict=True):
            yield told(f"{s.name}[].{key}", s.symbol, _label_kind(model, index), _component(model, key, index))
        for p in on_domain(model, s.symbol):
            yield told(f"{s.name}[].{p.name}", p.symbol, _kind(p), p.meaning, p.unit)
    for p in model.params:
        if p.domain and not model.set_by[p.domain].derived:
            continue
        nouns = [model.set_by[k.set].noun for k in p.indices]
        shape = _kind(p)
        if nouns:
            shape = "".join(f"for each {noun} " for noun in nouns[:-1]) + f"an object with one {shape} per {nouns[-1]}"
            shape = ("object: " if nouns[1:] else "") + shape.removeprefix("an " if not nouns[1:] else "")
        if p.domain:
            shape += f", only for each {model.set_by[p.domain].noun}"
        yield told(p.name, p.symbol, shape, p.meaning, p.unit)


def _table_schema(model: n.Model, table: Table) -> Iterator[FileDescription]:
    if table.file == SCALARS_FILE:
        rows = "with the columns name and value, has the rows"
        for p in table.params:
            yield FileDescription(table.file, p.name, p.symbol, _kind(p), p.meaning, p.unit, rows)
        return
    domain = table.set or table.params[0].domain
    nouns = [model.set_by[domain].noun] if domain else [model.set_by[k.set].noun for k in table.indices]
    rows = f"one row per {' and '.join(nouns)}, has the columns"
    for key, index in zip(table.keys, table.indices, strict=True):
        s = model.set_by[index.set]
        shape = _label_kind(model, index) + (", in order" if s.ordered and table.set == s.symbol else "")
        yield FileDescription(table.file, key, domain or s.symbol, shape, _component(model, key, index), "", rows)
    for p in table.params:
        yield FileDescription(table.file, p.name, p.symbol, _kind(p), p.meaning, p.unit, rows)


def _component(model: n.Model, key: str, index: n.Index) -> str:
    noun = model.set_by[index.set].noun
    return f"{key.rstrip('_')} which {noun}" if key.rstrip("_") in ("from", "to") else f"the {noun}"


def _label_kind(model: n.Model, index: n.Index) -> str:
    return "number 1, 2, ..." if model.set_by[index.set].numbered else "name"


def _kind(p: n.ParamDecl) -> str:
    return "whole number" if p.integer else "number"
