"""Instance data as Markdown tables: one table a shape, units in the headers, every number as the model uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orpipe.algebra.nodes import Index, Model, ParamDecl, SetDecl
from orpipe.ground import Arrays, validate
from orpipe.render.words import figure, upper_first

Table = tuple[str, list[str], list[list[str]]]


def with_unit(text: str, unit: str) -> str:
    return f"{text} ({unit})" if unit else text


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(" --- " for _ in header) + "|"]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def component_names(model: Model, indices: Sequence[Index]) -> list[str]:
    """Column titles of index components: the noun; «from town»/«to town» when a pair runs twice over one set."""
    sets = [k.set for k in indices]
    nouns = [model.set_by[s].noun for s in sets]
    if len(sets) == 2 and sets[0] == sets[1]:
        return [f"from {nouns[0]}", f"to {nouns[1]}"]
    return [noun if sets.count(s) == 1 else f"{noun} {k.name}" for noun, s, k in zip(nouns, sets, indices, strict=True)]


def lookup(value: Any, labels: Sequence[Any]) -> Any:
    for label in labels:
        value = value[label] if label in value else value[str(label)]
    return value


def tuples_of(model: Model, arrays: Arrays, indices: Sequence[Index], domain: str | None) -> list[tuple]:
    """The label tuples over which something indexed like this has a value, in grounding order."""
    if domain:
        lists = [arrays.labels[k.set] for k in model.set_by[domain].over]
        return [tuple(labels[p] for labels, p in zip(lists, row, strict=True)) for row in arrays.tuples[domain].tolist()]
    out: list[tuple] = [()]
    for k in indices:
        out = [(*head, label) for head in out for label in arrays.labels[k.set]]
    return out


def data_tables(model: Model, data: Mapping[str, Any]) -> list[Table]:
    """(title, header, rows) for all data of a dressed model: scalars first, then by shape in order of declaration."""
    arrays = validate(model, data)
    groups: dict[tuple, list[ParamDecl]] = {}
    for p in model.params:
        groups.setdefault((tuple(k.set for k in p.indices), p.domain), []).append(p)
    tables: list[Table] = []
    shown: set[str] = set()
    for (sets, domain), params in sorted(groups.items(), key=lambda g: bool(g[0][0])):
        first = params[0]
        shown.update(sets)
        if domain:
            shown.add(domain)
        if not sets:
            body = [[upper_first(with_unit(p.meaning, p.unit)), figure(data[p.symbol])] for p in params]
            tables.append(("General data", ["Quantity", "Value"], body))
        elif domain is None and len(sets) == 2:
            rows, cols = (arrays.labels[s] for s in sets)
            names = component_names(model, first.indices)
            for p in params:
                body = [[str(r), *(figure(lookup(data[p.symbol], (r, c))) for c in cols)] for r in rows]
                tables.append((upper_first(with_unit(p.meaning, p.unit)), [f"{upper_first(names[0])} \\ {names[1]}", *map(str, cols)], body))
        else:
            keys = tuples_of(model, arrays, first.indices, domain)
            header = [upper_first(x) for x in component_names(model, first.indices)] + [upper_first(with_unit(p.meaning, p.unit)) for p in params]
            body = [[*map(str, key), *(figure(lookup(data[p.symbol], key)) for p in params)] for key in keys]
            title = model.set_by[domain].plural if domain else model.set_by[sets[0]].plural if len(sets) == 1 else params[0].meaning
            tables.append((upper_first(title), header, body))
    for s in model.sets:
        if s.symbol not in shown and not s.derived:
            tables.append(_bare(model, s, arrays))
    return tables


def _bare(model: Model, s: SetDecl, arrays: Arrays) -> Table:
    """A set that carries no numbers of its own; pairs are gathered by their first component."""
    if len(s.over) == 2:
        first, second = (model.set_by[k.set] for k in s.over)
        gathered: dict[str, list[str]] = {}
        for a, b in tuples_of(model, arrays, s.over, s.symbol):
            gathered.setdefault(str(a), []).append(str(b))
        return upper_first(s.plural), [upper_first(first.noun), upper_first(second.plural)], [[a, ", ".join(bs)] for a, bs in gathered.items()]
    if s.over:
        return (upper_first(s.plural), [upper_first(x) for x in component_names(model, s.over)],
                [[str(x) for x in key] for key in tuples_of(model, arrays, s.over, s.symbol)])
    return upper_first(s.plural), [upper_first(s.noun)], [[str(x)] for x in arrays.labels[s.symbol]]


def tables_text(model: Model, data: Mapping[str, Any]) -> str:
    return "\n\n".join(f"**{title}**\n\n{markdown(header, rows)}" for title, header, rows in data_tables(model, data))
