"""Instance data checked against the model they are for, and read into arrays.

Data are plain JSON values: a set is a list of labels (strings; 1..n for numbered sets), a tuple set a list of label
lists, a scalar a number, an indexed parameter a nested object by label (numbered labels may be strings, as JSON keys
are).  Numbers are read as the decimals they print (orpipe.exact).
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from orpipe.algebra import nodes as n
from orpipe.errors import DataError
from orpipe.exact import Exact
from orpipe.tables import ROOT, Arrays, Tables

Data = Mapping[str, Any]
_LABEL = re.compile(r"[^\s,\[\]]([^,\[\]\n]*[^\s,\[\]])?")


def data_hash(data: Data) -> str:
    """16 hex digits; the same for equal data whatever the order of keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False, default=str).encode()).hexdigest()[:16]


def validate(model: n.Model, data: Data) -> Arrays:
    """The data as arrays.  Raises DataError, one line: which set or parameter, which label, what is wrong."""
    if not isinstance(data, Mapping):
        raise DataError(f"data of model '{model.name}' must be an object by symbol, not {data!r:.40}")
    arrays = Arrays()
    for s in model.sets:
        if s.derived:
            if s.symbol in data:
                raise DataError(f"data hold set '{s.symbol}' ({s.plural}), which follows from a condition; remove it")
            continue
        if s.symbol not in data:
            raise DataError(f"data lack set '{s.symbol}' ({s.plural}); give its elements as a list")
        if s.over:
            _store(s, _tuples(s, data[s.symbol], arrays), arrays)
        else:
            arrays.labels[s.symbol] = _labels(s, data[s.symbol])
    for key in data:
        if key not in model.set_by and key not in model.param_by:
            raise DataError(f"data hold '{key}', which model '{model.name}' does not declare; remove it or declare it")
    # sets by condition may stand on parameters and parameters on sets by condition: in order of declaration of the sets
    waiting = _params(model, model.params, data, arrays)
    tables = Tables(model, arrays)
    for s in model.sets:
        if s.derived:
            tables.place_name = f"set {s.symbol}"
            env = tables.widen(ROOT, s.over, s.where)
            _store(s, np.stack([env.at[k.name] for k in s.over], axis=1), arrays)
            waiting = _params(model, waiting, data, arrays)
    return arrays


def with_entry(data: Data, symbol: str, entry: tuple, value: Any) -> dict[str, Any]:
    """A copy of the data with one entry of a parameter replaced."""
    out = dict(data)
    if not entry:
        out[symbol] = value
        return out
    out[symbol] = copy.deepcopy(data[symbol])
    node = out[symbol]
    for part in entry[:-1]:
        node = node[part] if part in node else node[str(part)]
    node[entry[-1] if entry[-1] in node else str(entry[-1])] = value
    return out


# -- sets --------------------------------------------------------------------------------------------------------------
def _labels(s: n.SetDecl, given: Any) -> list:
    title = f"set '{s.symbol}' ({s.plural})"
    if not isinstance(given, (list, tuple)) or not given:
        raise DataError(f"{title} must be a list with at least one element, not {given!r:.60}")
    if s.numbered:
        if [str(g) for g in given] != [str(k + 1) for k in range(len(given))]:
            raise DataError(f"{title} is numbered: its elements must be 1..{len(given)} in order")
        return list(range(1, len(given) + 1))
    for g in given:
        if not isinstance(g, str):
            raise DataError(f"{title}: label {g!r} is not a string")
        if not _LABEL.fullmatch(g):
            raise DataError(f"{title}: label {g!r} must be one line without commas, square brackets and outer spaces")
    if len(set(given)) != len(given):
        twice = next(g for k, g in enumerate(given) if g in given[:k])
        raise DataError(f"{title} lists '{twice}' twice; labels must be unique")
    return list(given)


def _tuples(s: n.SetDecl, given: Any, arrays: Arrays) -> np.ndarray:
    title = f"set '{s.symbol}' ({s.plural})"
    if not isinstance(given, (list, tuple)) or not given:
        raise DataError(f"{title} must be a list of tuples with at least one element, not {given!r:.60}")
    where = [{str(label): k for k, label in enumerate(arrays.labels[index.set])} for index in s.over]
    rows = []
    for item in given:
        if not isinstance(item, (list, tuple)) or len(item) != len(s.over):
            raise DataError(f"{title}: {item!r} is not a tuple of {len(s.over)} labels")
        for part, table, index in zip(item, where, s.over, strict=True):
            if str(part) not in table:
                raise DataError(f"{title}: '{part}' is not an element of {index.set}")
        rows.append([table[str(part)] for part, table in zip(item, where, strict=True)])
    if len(set(map(tuple, rows))) != len(rows):
        twice = next(given[k] for k, row in enumerate(rows) if row in rows[:k])
        raise DataError(f"{title} lists ({', '.join(map(str, twice))}) twice; tuples must be unique")
    return np.array(rows, dtype=np.int64)


def _store(s: n.SetDecl, rows: np.ndarray, arrays: Arrays) -> None:
    mask = np.zeros([arrays.size(k.set) for k in s.over], dtype=bool)
    mask[tuple(rows.T)] = True
    arrays.tuples[s.symbol], arrays.inside[s.symbol] = rows, mask


# -- parameters --------------------------------------------------------------------------------------------------------
def _params(model: n.Model, params: tuple[n.ParamDecl, ...], data: Data, arrays: Arrays) -> tuple[n.ParamDecl, ...]:
    """Reads the parameters whose domain is known; returns those that must wait."""
    for p in params:
        if p.domain is None or p.domain in arrays.inside:
            if p.symbol not in data:
                raise DataError(f"data lack parameter '{p.symbol}' ({p.name}): {p.meaning}")
            arrays.params[p.symbol] = _Param(p, arrays).read(data[p.symbol])
    return tuple(p for p in params if p.symbol not in arrays.params)


class _Param:
    """Reads the values of one parameter."""

    def __init__(self, decl: n.ParamDecl, arrays: Arrays):
        self.decl = decl
        self.labels = [arrays.labels[k.set] for k in decl.indices]
        self.inside = arrays.inside[decl.domain] if decl.domain else None

    def fail(self, at: tuple[int, ...], message: str) -> DataError:
        label = ",".join(str(labels[k]) for labels, k in zip(self.labels, at, strict=False))
        return DataError(f"parameter '{self.decl.symbol}'{f'[{label}]' if label else ''} {message}")

    def read(self, given: Any) -> Exact:
        """Exact array over the product of the index sets; 0 outside the domain."""
        p, shape = self.decl, tuple(map(len, self.labels))
        flat: list = [] if shape else [given]
        if shape:
            self.collect(given, (), flat)
        try:
            values = Exact.of(flat)
        except ValueError:
            values = None
        if values is None or values.num.ndim != 1:
            k = next(k for k, v in enumerate(flat) if not _finite(v))
            raise self.fail(self.position(k), f"is {flat[k]!r:.40}, not a finite number")
        low = values.num.min()
        if p.sign != "any" and low <= 0 and (low < 0 or p.sign == "positive"):
            bad = (values.num < 0) | ((values.num == 0) & (p.sign == "positive"))
            if self.inside is not None:
                bad = bad & self.inside.ravel()
            if bad.any():
                self.blame(bad, values, f"must be {p.sign}")
        if p.integer:
            values = values.reduced()
            if values.den != 1:
                self.blame(np.array([v.denominator != 1 for v in values.fractions()]), values, "must be a whole number")
        return Exact(values.num.reshape(shape), values.den)

    def blame(self, bad: np.ndarray, values: Exact, rule: str) -> None:
        k = int(np.flatnonzero(bad)[0])
        raise self.fail(self.position(k), f"is {values.fractions()[k]}, but {rule}")

    def position(self, flat: int) -> tuple[int, ...]:
        return tuple(int(k) for k in np.unravel_index(flat, [len(x) for x in self.labels])) if self.labels else ()

    def collect(self, node: Any, at: tuple[int, ...], out: list) -> None:
        """Appends the values below `node` in row-major order."""
        labels, last = self.labels[len(at)], len(at) + 1 == len(self.labels)
        if not isinstance(node, Mapping):
            raise self.fail(at, f"must be an object by label, not {node!r:.40}")
        if last and self.inside is None and len(node) == len(labels):
            try:
                out += [node[label] for label in labels]
                return
            except KeyError:
                pass  # numbered labels as text, or a wrong label: find out below
        known = 0
        for k, label in enumerate(labels):
            here = (*at, k)
            wanted = self.inside is None or bool(self.inside[here].any())
            key = label if label in node else str(label)
            if key in node:
                known += 1
                if not wanted:
                    raise self.fail(here, f"has a value, but is not in {self.decl.domain}; remove it")
                if last:
                    out.append(node[key])
                else:
                    self.collect(node[key], here, out)
            elif wanted:
                raise self.fail(here, "has no value")
            else:
                out += [0] * int(np.prod([len(x) for x in self.labels[len(here):]], dtype=int))
        if known != len(node):
            names = {str(label) for label in labels}
            extra = next((k for k in node if str(k) not in names), None)
            raise self.fail(at, f"has the unknown label '{extra}'; known: {', '.join(map(str, labels[:8]))}"
                            if extra is not None else "gives a label twice, as a number and as text")


def _finite(value: Any) -> bool:
    try:
        return Exact.of([value]).num.ndim == 1
    except ValueError:
        return False
