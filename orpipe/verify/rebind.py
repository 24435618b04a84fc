"""Programs with their data inside: literals that are the instance's data are found and replaced by other numbers.

A parameter is bound where its values, all of them, stand in one literal list, table or record column of the program in an order
that its labels allow, and nowhere else; a single number where it stands once.  What is not bound keeps its value in every
re-draw, so that the program stays right about it.  A program is left alone where a bound number also stands outside its table, or
where it holds a number that the data do not explain (a big-M worked out by hand would be wrong on other data).
"""

from __future__ import annotations

import ast
import copy
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from orpipe.algebra.nodes import Model, ParamDecl
from orpipe.data import validate
from orpipe.errors import OrpipeError
from orpipe.exact import fraction
from orpipe.render.files import Entry, entries, number

_PLAIN = {Fraction(0), Fraction(1), Fraction(-1)}  # say nothing about where they come from
_SMALL = {Fraction(1, 10**k) for k in range(3, 13)}  # tolerances
_SETTINGS = frozenset({"threads", "timeLimit", "gapRel", "msg", "mip_rel_gap", "time_limit", "TimeLimit", "MIPGap", "OutputFlag", "Threads"})
_TRIES = 20
Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A number in the text: its place, its value, and the labels around it (keys of dicts, texts of the same record)."""

    start: int
    end: int
    value: Fraction
    path: tuple[str | int, ...]


@dataclass(frozen=True, eq=False)
class Binding:
    """places: parameter -> the places of its entries in the text, one list of places an entry."""

    code: str
    model: Model
    data: Mapping[str, Any]
    places: Mapping[str, Sequence[tuple[Entry, Sequence[Leaf]]]]

    def program(self, data: Mapping[str, Any]) -> str:
        """The program with other numbers in the places that are bound."""
        changes: list[tuple[int, int, str]] = []
        for symbol, bound in self.places.items():
            new = {e.labels: e.value for e in entries(self.model, data, self.model.param_by[symbol])}
            changes += [(leaf.start, leaf.end, number(new[entry.labels])) for entry, leaves in bound for leaf in leaves]
        raw = self.code.encode()
        for start, end, text in sorted(changes, reverse=True):
            raw = raw[:start] + text.encode() + raw[end:]
        return raw.decode()

    def redraws(self, rng: np.random.Generator, count: int) -> Iterator[dict[str, Any]]:
        """Up to `count` data sets that the model's checks accept, of the same sets and labels."""
        found = 0
        for _ in range(_TRIES):
            data = copy.deepcopy(dict(self.data))
            for symbol in self.places:
                param = self.model.param_by[symbol]
                known = entries(self.model, self.data, param)
                for entry, value in zip(known, _values(param, known, rng), strict=True):
                    _put(data, symbol, entry.labels, value)
            try:
                validate(self.model, data)
            except OrpipeError:
                continue
            if data != self.data:
                yield data
                found += 1
            if found == count:
                return


def _values(param: ParamDecl, known: Sequence[Entry], rng: np.random.Generator) -> list[Any]:
    """Other values of the same kind: places and size change a little, zeros, signs, order of sorted lists and digits stay."""
    old = [fraction(e.value) for e in known]
    digits = max(len(str(float(v)).partition(".")[2].rstrip("0")) if v.denominator != 1 else 0 for v in old)
    share = all(0 <= v <= 1 for v in old) and any(v.denominator != 1 for v in old)
    new = []
    for v in old:
        moved = v if share else v * Fraction(int(rng.integers(80, 126)), 100)
        scaled = Fraction(round(moved * 10**digits), 10**digits)
        new.append(v if v == 0 or scaled * v <= 0 else scaled)
    if _symmetric(known):
        return [e.value for e in known]
    climbing, falling = (all(f(a, b) for a, b in pairwise(old)) for f in (lambda a, b: a <= b, lambda a, b: a >= b))
    if len(new) > 1 and (climbing or falling):
        new = sorted(new, reverse=falling and not climbing)
    else:
        some = [k for k, v in enumerate(old) if v != 0]
        values = [new[k] for k in some]
        for k, place in zip(some, rng.permutation(len(some)), strict=True):
            new[k] = values[int(place)]
    return [int(v) if v.denominator == 1 else float(v) for v in new]


def _symmetric(known: Sequence[Entry]) -> bool:
    """A table over one set twice that is its own mirror: programs may read half of it."""
    if not known or len(known[0].labels) != 2:
        return False
    at = {e.labels: e.value for e in known}
    return all(at.get(labels[::-1]) == value for labels, value in at.items())


def _put(data: dict[str, Any], symbol: str, labels: Sequence[str | int], value: Any) -> None:
    if not labels:
        data[symbol] = value
        return
    node = data[symbol]
    for label in labels[:-1]:
        node = node[label] if label in node else node[str(label)]
    node[labels[-1] if labels[-1] in node else str(labels[-1])] = value


# ------------------------------------------------------------------------------------------------------------- binding


def bind(code: str, model: Model, data: Mapping[str, Any]) -> Binding | str:
    """The binding, or in one clause why there is none."""
    try:
        tree = ast.parse(code)
        tables, loose = _Reader(code).read(tree)
    except (SyntaxError, ValueError, RecursionError):
        return "its literals cannot be read"
    places: dict[str, list[tuple[Entry, list[Leaf]]]] = {}
    wanted = {p.symbol: entries(model, data, p) for p in model.params}
    explained: set[int] = set()
    columns = [column for table in tables for column in _columns(table)]
    for symbol, known in wanted.items():
        if len(known) < 2:
            continue
        hits = [(c, order) for c in columns if (order := _order(c, known)) is not None]
        rivals = [other for other, theirs in wanted.items() if other != symbol and len(theirs) == len(known)
                  and Counter(fraction(e.value) for e in theirs) == Counter(fraction(e.value) for e in known)]
        explained |= {leaf.start for c, _ in hits for leaf in c}
        if hits and not rivals:
            places[symbol] = [(e, _once(c[order[k]] for c, order in hits)) for k, e in enumerate(known)]
    taken = {leaf.start for bound in places.values() for _, leaves in bound for leaf in leaves}
    rest = [leaf for leaf in _once([*loose, *(x for t in tables for x in t)]) if leaf.start not in taken | explained]
    counted = Counter(leaf.value for leaf in rest)
    for symbol, known in wanted.items():
        value = fraction(known[0].value) if len(known) == 1 else None
        if value is not None and (named := _named(rest, known[0], value)) is not None:
            places[symbol] = [(known[0], [named])]
            taken.add(named.start)
            rest = [leaf for leaf in rest if leaf is not named]
            counted[value] -= 1
            continue
        alike = sum(fraction(e.value) == value for others in wanted.values() for e in others)
        if value is not None and value not in _PLAIN and counted[value] == 1 and alike == 1:
            places[symbol] = [(known[0], [leaf for leaf in rest if leaf.value == value])]
            taken |= {leaf.start for leaf in rest if leaf.value == value}
    if not places:
        return "none of its literals is the data of one parameter and of no other"
    rest = [leaf for leaf in rest if leaf.start not in taken]
    fixed = {fraction(e.value) for symbol, known in wanted.items() if symbol not in places for e in known}
    sizes = {Fraction(k) for s in model.sets if not s.derived for k in range(len(data[s.symbol]) + 2)}  # range(1, n + 1)
    bound = {fraction(e.value) for some in places.values() for e, _ in some}
    for leaf in rest:
        line = code.encode()[:leaf.start].count(b"\n") + 1
        if abs(leaf.value) in _PLAIN or leaf.value in sizes - bound or leaf.value in _SMALL:
            continue
        if leaf.value in bound:
            return f"the number {float(leaf.value):g} in line {line} may be a datum or not"
        if leaf.value not in fixed:
            return f"the number {float(leaf.value):g} in line {line} is none of its data"
    return Binding(code, model, data, places)


def _named(rest: Iterable[Leaf], entry: Entry, value: Fraction) -> Leaf | None:
    """The one number of a table of one entry that stands under its label: {"calcium": 21.3}."""
    label = tuple(map(_word, entry.labels))

    def stands_under(leaf: Leaf) -> bool:
        return tuple(_word(x) for x in leaf.path if isinstance(x, str))[-len(label):] == label

    found = [leaf for leaf in rest if label and leaf.value == value and stands_under(leaf)]
    return found[0] if len(found) == 1 else None


def _once(leaves: Iterable[Leaf]) -> list[Leaf]:
    """Each place once: tables stand in tables."""
    return list({leaf.start: leaf for leaf in leaves}.values())


def _columns(table: Sequence[Leaf]) -> Iterator[Sequence[Leaf]]:
    """The table as a whole, and each of its columns where it holds records."""
    yield table
    groups: dict[str | int, list[Leaf]] = {}
    for leaf in table:
        if leaf.path:
            groups.setdefault(leaf.path[-1], []).append(leaf)
    if len(groups) > 1 and len({len(g) for g in groups.values()}) == 1:
        yield from ([replace(leaf, path=leaf.path[:-1]) for leaf in group] for group in groups.values())


def _order(column: Sequence[Leaf], known: Sequence[Entry]) -> list[int] | None:
    """For each entry the place of its number in the column: by labels where the column has them, else by order, by rows or
    by columns if only one of the two fits.  None where nothing or more than one order fits."""
    if len(column) != len(known):
        return None
    values = [fraction(e.value) for e in known]
    labels = [tuple(map(_word, e.labels)) for e in known]
    keys = [tuple(_word(x) for x in leaf.path if isinstance(x, str)) for leaf in column]
    wide = len(labels[0])
    if all(len(k) >= wide for k in keys):
        by = {k[-wide:]: at for at, k in enumerate(keys)}
        if len(by) == len(keys) and all(label in by for label in labels):
            order = [by[label] for label in labels]
            return order if all(column[at].value == v for at, v in zip(order, values, strict=True)) else None
    orders = [list(range(len(known)))]
    if wide == 2:
        firsts, seconds = ({label[k]: None for label in labels} for k in (0, 1))
        if len(firsts) * len(seconds) == len(labels):
            place = {(a, b): k for k, (a, b) in enumerate((a, b) for b in seconds for a in firsts)}
            orders.append([place[label[0], label[1]] for label in labels])
    fits = [order for order in orders if all(column[at].value == v for at, v in zip(order, values, strict=True))]
    if len(fits) == 2 and len(set(values)) > 1:
        return fits[0] if fits[0] == fits[1] else None
    return fits[0] if fits else None


def _word(label: str | int) -> str:
    return str(label).strip().lower()


class _Reader:
    """Numbers of a program: those in literal tables, and loose ones."""

    def __init__(self, code: str) -> None:
        self.lines = [0]
        for line in code.encode().split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)

    def read(self, tree: ast.AST) -> tuple[list[list[Leaf]], list[Leaf]]:
        tables: list[list[Leaf]] = []
        loose: list[Leaf] = []

        def walk(node: ast.AST) -> None:
            if isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.Set)) and _literal(node):
                self._tables(node, tables, loose)
                return
            if (leaf := self._leaf(node, ())) is not None:
                loose.append(leaf)
                return
            if isinstance(node, ast.keyword) and node.arg in _SETTINGS:
                return
            if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
                walk(node.value)
                for part in ast.walk(node.slice):  # whole numbers count places: days[(k - 2) % len(days)]
                    if (leaf := self._leaf(part, ())) is not None and leaf.value.denominator != 1:
                        loose.append(leaf)
                return
            if isinstance(node, ast.Assign) and any(isinstance(x, ast.Constant) and x.value in _SETTINGS for x in ast.walk(node.targets[0])):
                return
            for child in ast.iter_child_nodes(node):
                walk(child)

        walk(tree)
        return tables, loose

    def _tables(self, node: ast.AST, tables: list[list[Leaf]], loose: list[Leaf]) -> None:
        """A literal is a table, and so is every literal in it; numbers that stand beside tables in a dict are loose as well."""
        found = list(self._leaves(node, ()))
        if len(found) > 1:
            tables.append(found)
        inner = list(node.values) if isinstance(node, ast.Dict) else list(node.elts) if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []
        nested = [x for x in inner if isinstance(x, (ast.List, ast.Tuple, ast.Dict, ast.Set))]
        for item in nested:
            self._tables(item, tables, loose)
        if len(found) == 1 or (nested and isinstance(node, ast.Dict)):
            loose += [leaf for item in (inner if nested else [node]) for leaf in self._single(item, found)]

    def _single(self, node: ast.AST, found: Sequence[Leaf]) -> list[Leaf]:
        leaf = self._leaf(node, ())
        return [leaf] if leaf is not None else list(found) if len(found) == 1 else []

    def _leaves(self, node: ast.AST, path: tuple[str | int, ...]) -> Iterator[Leaf]:
        if (leaf := self._leaf(node, path)) is not None:
            yield leaf
        elif isinstance(node, ast.Dict):
            words = [w for item in node.values for w in _said(item)]
            for key, value in zip(node.keys, node.values, strict=True):
                yield from self._leaves(value, (*path, *words, *_texts(key)))
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            words = [w for item in node.elts for w in _said(item)]
            for k, item in enumerate(node.elts):
                yield from self._leaves(item, (*path, *words, k))

    def _leaf(self, node: ast.AST, path: tuple[str | int, ...]) -> Leaf | None:
        inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)) else node
        if not isinstance(inner, ast.Constant) or isinstance(inner.value, bool) or not isinstance(inner.value, (int, float)):
            return None
        if isinstance(inner.value, float) and not np.isfinite(inner.value):
            return None
        value = fraction(inner.value) * (-1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1)
        assert isinstance(node, ast.expr) and node.end_lineno is not None and node.end_col_offset is not None
        return Leaf(self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset, value, path)


def _said(item: ast.AST) -> tuple[str, ...]:
    """A text that stands beside numbers in a record."""
    return (item.value,) if isinstance(item, ast.Constant) and isinstance(item.value, str) else ()


def _texts(key: ast.AST | None) -> tuple[str, ...]:
    """The labels of a key: a text, a number, or a tuple of these."""
    if isinstance(key, ast.Constant) and isinstance(key.value, (str, int)):
        return (str(key.value),)
    if isinstance(key, ast.Tuple):
        return tuple(text for item in key.elts for text in _texts(item))
    return ()


def _literal(node: ast.AST) -> bool:
    try:
        json.dumps(str(ast.literal_eval(node)))  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True
