"""The data of a program: literals in it, or the lines that read data.json or csv tables into the same dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orpipe.algebra import nodes as n
from orpipe.render import files
from orpipe.render.emit_layout import (
    BLANK,
    STEP,
    WIDTH,
    Broken,
    Doc,
    Line,
    Seq,
    Statement,
    bracket,
    comment,
    joined,
    seq,
)
from orpipe.render.emit_names import identifier
from orpipe.render.emit_writer import Writer, tuple_text, unit_text

Data = Mapping[str, Any]


def imports(source: str) -> list[str]:
    return [] if source == "inline" else [f"import {source}"]


def loaded(source: str) -> str:
    """What a main guard hands to build_model."""
    return "DATA" if source == "inline" else "load_data()"


def preamble(w: Writer, data: Data, source: str, style: str) -> list[Statement]:
    """What stands before the sets and parameters: opening the files, or the one literal of the function style."""
    if source == "inline":
        return [] if style == "script" else _whole_literal(w, data)
    if source == "json":
        reading = [Statement('with open("data.json", encoding="utf-8") as file:')]
        if style == "script":
            return [*reading, Statement("data = json.load(file)", 1), BLANK]
        return [Statement("def load_data():"), Statement(reading[0].doc, 1), Statement("return json.load(file)", 2)]
    read = [Statement("def read_table(path):"), Statement('with open(path, newline="", encoding="utf-8") as file:', 1),
            Statement("return list(csv.DictReader(file))", 2), BLANK, BLANK]
    tables = files.tables(w.model)
    if style == "script":
        return [*read, *(Statement(f"{_table(w, t, style)} = {_reading(t)}") for t in tables), BLANK]
    pairs: list[Doc] = [f'"{t.file.removesuffix(".csv")}": {_reading(t)}' for t in tables]
    items = Seq((joined(Seq((",", Line())), pairs), Broken(",")))
    return [*read, Statement("def load_data():"), Statement(bracket("return {", items, "}"), 1)]


def definitions(w: Writer, data: Data, source: str, style: str) -> list[Statement]:
    """Sets, parameters, look-up tables of positions, derived sets: in the order they need each other.

    Call it when the rest of the program is written: it defines the helpers that the rest asked for."""
    model = w.model
    if source == "csv":
        make: _Source = _Csv(w, style)
    elif source == "json":
        make = _Json(w)
    else:
        make = _Inline(w, data) if style == "script" else _Unpack(w)
    derived = {s.symbol for s in model.sets if s.derived}
    late = [p for p in model.params if p.domain in derived]
    out: list[Statement] = []
    for s in model.sets:
        if not s.derived:
            out += _set_comment(s) + (make.tuples(s) if s.over else make.labels(s))
    out.append(BLANK)
    for p in model.params:
        if p not in late:
            out += [*make.about(p), *make.param(p)]
    conditions = [s for d in model.sets if d.derived for s in [*_set_comment(d), _derived(w, d)]]
    helpers = _helpers(w)
    if helpers:
        out += [BLANK, *helpers]
    if conditions:
        out += [BLANK, *conditions]
    for p in late:
        out += [*make.about(p), *make.param(p)]
    return out[:-1] if out[-1] is BLANK else out


def _set_comment(s: n.SetDecl) -> list[Statement]:
    return [] if identifier(s.plural) == s.name else comment(s.plural)


def _derived(w: Writer, s: n.SetDecl) -> Statement:
    body = w.generator(w.key(s.over), w.loops(s.over, s.where))
    return Statement(bracket(f"{w.names.sets[s.symbol]} = [", body, "]"))


def _helpers(w: Writer) -> list[Statement]:
    order = {s.symbol: k for k, s in enumerate(w.model.sets)}
    out: list[Statement] = []
    for symbol, shift in sorted(w.helpers, key=lambda h: (order[h[0]], h[1] is not None, h[1] or 0)):
        name = w.names.sets[symbol]
        if shift is None:
            element = w.names.element(symbol)
            table = w.names.position(symbol)
            out.append(Statement(f"{table} = {{{element}: k for k, {element} in enumerate({name})}}"))
        elif shift < 0:
            out.append(Statement(f"{w.names.shifted(symbol, shift)} = dict(zip({name}[{-shift}:], {name}))"))
        else:
            out.append(Statement(f"{w.names.shifted(symbol, shift)} = dict(zip({name}, {name}[{shift}:]))"))
    return out


# -- where sets and parameters come from -------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Source:
    w: Writer

    def about(self, p: n.ParamDecl) -> list[Statement]:
        return comment(p.meaning + unit_text(p.unit))

    def labels(self, s: n.SetDecl) -> list[Statement]:
        raise NotImplementedError

    def tuples(self, s: n.SetDecl) -> list[Statement]:
        raise NotImplementedError

    def param(self, p: n.ParamDecl) -> list[Statement]:
        raise NotImplementedError


@dataclass(frozen=True)
class _Inline(_Source):
    data: Data

    def labels(self, s: n.SetDecl) -> list[Statement]:
        return _lines(f"{self.w.names.sets[s.symbol]} = ", _set_literal(self.w.model, self.data, s))

    def tuples(self, s: n.SetDecl) -> list[Statement]:
        return self.labels(s)

    def param(self, p: n.ParamDecl) -> list[Statement]:
        return _lines(f"{self.w.names.params[p.symbol]} = ", _param_literal(self.w.model, self.data, p))


@dataclass(frozen=True)
class _Unpack(_Source):
    """From DATA, where each parameter stands under its meaning already."""

    def about(self, p: n.ParamDecl) -> list[Statement]:
        return []

    def labels(self, s: n.SetDecl) -> list[Statement]:
        return [Statement(f'{self.w.names.sets[s.symbol]} = data["{s.name}"]')]

    def tuples(self, s: n.SetDecl) -> list[Statement]:
        return self.labels(s)

    def param(self, p: n.ParamDecl) -> list[Statement]:
        return [Statement(f'{self.w.names.params[p.symbol]} = data["{p.name}"]')]


@dataclass(frozen=True)
class _Json(_Source):
    def labels(self, s: n.SetDecl) -> list[Statement]:
        return [Statement(f'{self.w.names.sets[s.symbol]} = data["{s.name}"]')]

    def tuples(self, s: n.SetDecl) -> list[Statement]:
        return [_assign(self.w.names.sets[s.symbol], "[", self.key(s.symbol), f'for record in data["{s.name}"]', "]")]

    def key(self, symbol: str) -> str:
        return tuple_text([f'record["{k}"]' for k in files.component_keys(self.w.model, symbol)])

    def param(self, p: n.ParamDecl) -> list[Statement]:
        w, name = self.w, self.w.names.params[p.symbol]
        domain = w.model.set_by[p.domain] if p.domain else None
        if domain is not None and not domain.derived:
            entry = f'{self.key(domain.symbol)}: record["{p.name}"]'
            return [_assign(name, "{", entry, f'for record in data["{domain.name}"]', "}")]
        numbered = [w.model.set_by[k.set].numbered for k in p.indices]
        if len(p.indices) <= 1 and not any(numbered):
            return [Statement(f'{name} = data["{p.name}"]')]
        letters = [w.letter(k) for k in p.indices]
        path = "".join(f"[str({x})]" if whole else f"[{x}]" for x, whole in zip(letters, numbered, strict=True))
        body = w.generator(f'{w.key(p.indices)}: data["{p.name}"]{path}', w.loops(p.indices, w.membership(p)))
        return [Statement(bracket(f"{name} = {{", body, "}"))]


@dataclass(frozen=True)
class _Csv(_Source):
    style: str

    def table(self, wanted: Callable[[files.Table], bool]) -> tuple[files.Table, str]:
        table = next(t for t in files.tables(self.w.model) if wanted(t))
        return table, _table(self.w, table, self.style)

    def key(self, table: files.Table) -> str:
        numbered = [self.w.model.set_by[k.set].numbered for k in table.indices]
        pairs = zip(table.keys, numbered, strict=True)
        return tuple_text([f'int(row["{k}"])' if whole else f'row["{k}"]' for k, whole in pairs])

    def labels(self, s: n.SetDecl) -> list[Statement]:
        table, rows = self.table(lambda t: t.set == s.symbol)
        return [_assign(self.w.names.sets[s.symbol], "[", self.key(table), f"for row in {rows}", "]")]

    def tuples(self, s: n.SetDecl) -> list[Statement]:
        return self.labels(s)

    def param(self, p: n.ParamDecl) -> list[Statement]:
        table, rows = self.table(lambda t: p in t.params)
        name, convert = self.w.names.params[p.symbol], "int" if p.integer else "float"
        if not p.indices:
            return [Statement(f'{name} = {convert}({rows}["{p.name}"])')]
        return [_assign(name, "{", f'{self.key(table)}: {convert}(row["{p.name}"])', f"for row in {rows}", "}")]


def _table(w: Writer, table: files.Table, style: str) -> str:
    """Where the program keeps the rows of a csv file (of the scalars: their values by name)."""
    stem = table.file.removesuffix(".csv")
    if style != "script":
        return f'data["{stem}"]'
    return "scalars" if table.file == files.SCALARS_FILE else w.names.table(stem)


def _reading(table: files.Table) -> str:
    read = f'read_table("{table.file}")'
    return f'{{row["name"]: row["value"] for row in {read}}}' if table.file == files.SCALARS_FILE else read


def _assign(name: str, opening: str, element: str, clause: str, closing: str) -> Statement:
    return Statement(bracket(f"{name} = {opening}", seq(element, Line(), clause), closing))


# -- literals ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Literal:
    """opening, items, closing.  Items come in groups: one line if all fits, else a group a line (or more, filled)."""

    opening: str
    groups: tuple[tuple[str, ...], ...]
    closing: str

    @property
    def flat(self) -> str:
        return self.opening + ", ".join(item for group in self.groups for item in group) + self.closing


def _set_literal(model: n.Model, data: Data, s: n.SetDecl) -> _Literal:
    if s.over:
        items = [_python(at) for at in files.tuples(model, data, s.symbol)]
    elif s.numbered:
        return _Literal(f"range(1, {len(data[s.symbol]) + 1})", (), "")
    else:
        items = [_python((x,)) for x in files.labels(model, data, s.symbol)]
    return _Literal("[", (tuple(items),), "]")


def _param_literal(model: n.Model, data: Data, p: n.ParamDecl) -> _Literal:
    if not p.indices:
        return _Literal(files.number(data[p.symbol]), (), "")
    groups: dict[tuple, list[str]] = {}
    for e in files.entries(model, data, p):
        groups.setdefault(e.labels[:-1], []).append(f"{_python(e.labels)}: {files.number(e.value)}")
    return _Literal("{", tuple(map(tuple, groups.values())), "}")


def _python(labels: Sequence[files.Label]) -> str:
    return tuple_text([str(x) if isinstance(x, int) else _string(x) for x in labels])


def _string(text: str) -> str:
    return f'"{text}"' if text.isprintable() and '"' not in text and "\\" not in text else repr(text)


def _lines(prefix: str, literal: _Literal, suffix: str = "", level: int = 0) -> list[Statement]:
    room = WIDTH - level * len(STEP)
    if not literal.groups or len(prefix) + len(literal.flat) + len(suffix) <= room:
        return [Statement(prefix + literal.flat + suffix, level)]
    body = [Statement(line, level + 1) for group in literal.groups for line in _fill(group, room - len(STEP))]
    return [Statement(prefix + literal.opening, level), *body, Statement(literal.closing + suffix, level)]


def _fill(items: Iterable[str], room: int) -> list[str]:
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + 2 > room:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + item + ","
    return lines


def _whole_literal(w: Writer, data: Data) -> list[Statement]:
    """DATA = {...}, by code name; each parameter under its meaning."""
    out = [Statement("DATA = {")]
    for s in w.model.sets:
        if not s.derived:
            out += _lines(f'"{s.name}": ', _set_literal(w.model, data, s), ",", 1)
    for p in w.model.params:
        out += comment(p.meaning + unit_text(p.unit), 1)
        out += _lines(f'"{p.name}": ', _param_literal(w.model, data, p), ",", 1)
    return [*out, Statement("}")]
