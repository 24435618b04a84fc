"""Instance data checked against the model they are for, and read into arrays.

Data are plain JSON values: a set is a list of labels (strings; 1..n for numbered sets), a tuple set a list of label lists,
a scalar a number, an indexed parameter a nested object by label (numbered labels may be strings, as JSON keys are).
Numbers are read as the decimals they print (orpipe.exact).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from orpipe.algebra import nodes as n
from orpipe.errors import DataError
from orpipe.exact import Exact, fraction
from orpipe.tables import Arrays, Env, Tables

Data = Mapping[str, Any]


def data_hash(data: Data) -> str:
    """16 hex digits; the same for equal data whatever the order of keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False, default=str).encode()).hexdigest()[:16]


def validate(model: n.Model, data: Data) -> Arrays:
    arrays = Arrays()
    for s in model.sets:
        if not s.derived and s.symbol not in data:
            raise DataError(f"data lack set '{s.symbol}' ({s.plural}); give its elements as a list")
        if not s.over:
            arrays.labels[s.symbol] = _labels(s, data[s.symbol])
        elif not s.derived:
            _read_tuples(s, data[s.symbol], arrays)
    known = {s.symbol for s in model.sets if not s.derived} | {p.symbol for p in model.params}
    for key in data:
        if key not in known:
            raise DataError(f"data hold '{key}', which model '{model.name}' does not declare; remove it or declare it")
    # derived sets may use data and parameters may be indexed by derived sets: settle both in rounds
    params = list(model.params)
    for p in [p for p in params if not p.domain or not model.set_by[p.domain].derived]:
        arrays.params[p.symbol] = _read_param(model, p, data, arrays)
    for s in model.sets:
        if s.derived:
            _derive_tuples(model, s, arrays)
    for p in params:
        if p.symbol not in arrays.params:
            arrays.params[p.symbol] = _read_param(model, p, data, arrays)
    return arrays


def _labels(s: n.SetDecl, given: Any) -> list:
    if not isinstance(given, (list, tuple)) or not given:
        raise DataError(f"set '{s.symbol}' ({s.plural}) must be a list with at least one element, not {given!r:.60}")
    if len(set(map(str, given))) != len(given):
        raise DataError(f"set '{s.symbol}' ({s.plural}) lists an element twice; labels must be unique")
    if s.numbered:
        if [str(g) for g in given] != [str(k + 1) for k in range(len(given))]:
            raise DataError(f"set '{s.symbol}' ({s.plural}) is numbered: its elements must be 1..{len(given)} in order")
        return list(range(1, len(given) + 1))
    for g in given:
        if not isinstance(g, str):
            raise DataError(f"set '{s.symbol}' ({s.plural}): label {g!r} is not a string")
    return list(given)


def _positions(labels: list) -> dict[str, int]:
    return {str(label): k for k, label in enumerate(labels)}


def _read_tuples(s: n.SetDecl, given: Any, arrays: Arrays) -> None:
    if not isinstance(given, (list, tuple)) or not given:
        raise DataError(f"set '{s.symbol}' ({s.plural}) must be a list of tuples with at least one element")
    where = [_positions(arrays.labels[k.set]) for k in s.over]
    rows = []
    for item in given:
        if not isinstance(item, (list, tuple)) or len(item) != len(s.over):
            raise DataError(f"set '{s.symbol}' ({s.plural}): {item!r} is not a tuple of {len(s.over)} labels")
        for part, table, index in zip(item, where, s.over, strict=True):
            if str(part) not in table:
                raise DataError(f"set '{s.symbol}' ({s.plural}): '{part}' is not an element of {index.set}")
        rows.append([table[str(part)] for part, table in zip(item, where, strict=True)])
    _store_tuples(s, np.array(rows, dtype=np.int64).reshape(-1, len(s.over)), arrays)
    if arrays.inside[s.symbol].sum() != len(rows):
        raise DataError(f"set '{s.symbol}' ({s.plural}) lists a tuple twice")


def _store_tuples(s: n.SetDecl, rows: np.ndarray, arrays: Arrays) -> None:
    mask = np.zeros([arrays.size(k.set) for k in s.over], dtype=bool)
    mask[tuple(rows.T)] = True
    arrays.tuples[s.symbol], arrays.inside[s.symbol] = rows, mask


def _derive_tuples(model: n.Model, s: n.SetDecl, arrays: Arrays) -> None:
    g = Tables(model, arrays)
    env = g.widen(Env({}, 1), s.over, s.where, f"set {s.symbol}").env
    _store_tuples(s, np.stack([env.at[k.name] for k in s.over], axis=1), arrays)


def _read_param(model: n.Model, p: n.ParamDecl, data: Data, arrays: Arrays) -> Exact:
    if p.symbol not in data:
        raise DataError(f"data lack parameter '{p.symbol}' ({p.name}): {p.meaning}")
    label_lists = [arrays.labels[k.set] for k in p.indices]
    shape = tuple(len(labels) for labels in label_lists)
    mask = arrays.inside[p.domain] if p.domain else None
    flat = _flatten(p, data[p.symbol], label_lists, mask)
    try:
        values = Exact.of(flat) if shape else Exact.scalar(data[p.symbol])
        if shape and values.num.ndim != 1:
            raise ValueError("a list where a number is due")
    except (ValueError, TypeError):
        raise _blame(p, flat if shape else [data[p.symbol]], label_lists) from None
    low = int(values.num.min()) if values.num.size else 0
    if (p.sign == "nonnegative" and low < 0) or (p.sign == "positive" and low <= 0 and mask is None):
        at = _where(label_lists, int(values.num.argmin()))
        raise DataError(f"parameter '{p.symbol}'{at} is {values.fractions()[int(values.num.argmin())]}, but must be {p.sign}")
    if p.integer and values.den != 1 and values.reduced().den != 1:
        raise DataError(f"parameter '{p.symbol}' must hold whole numbers; check the decimals")
    return Exact(values.num.reshape(shape), values.den)


def _where(label_lists: list[list], flat_index: int) -> str:
    if not label_lists:
        return ""
    at = np.unravel_index(flat_index, [len(x) for x in label_lists])
    return "[" + ",".join(str(labels[int(k)]) for labels, k in zip(label_lists, at, strict=True)) + "]"


def _blame(p: n.ParamDecl, flat: list, label_lists: list[list]) -> DataError:
    for k, v in enumerate(flat):
        try:
            fraction(v)
        except (ValueError, TypeError):
            return DataError(f"parameter '{p.symbol}'{_where(label_lists, k)} is {v!r}, not a finite number")
    return DataError(f"parameter '{p.symbol}' does not hold finite numbers")


def _flatten(p: n.ParamDecl, value: Any, label_lists: list[list], mask: np.ndarray | None) -> list:
    """Values in row-major order; 0 outside the domain.  DataError for a missing or unknown label."""
    if not label_lists:
        return [value]

    def dig(level: int, node: Any, path: tuple[int, ...], out: list) -> None:
        labels = label_lists[level]
        if not isinstance(node, Mapping):
            raise DataError(f"parameter '{p.symbol}'{_path(label_lists, path)} must be an object by label, not {node!r:.40}")
        known = 0
        last = level == len(label_lists) - 1
        if last and mask is None:
            try:
                out.extend([node[label] for label in labels])
                known = len(labels)
            except KeyError:
                known = -1
        if known <= 0:
            known = 0
            for k, label in enumerate(labels):
                here = (*path, k)
                wanted = mask is None or bool(mask[here].any())
                key = label if label in node else str(label)
                if key in node:
                    known += 1
                    if not wanted:
                        raise DataError(f"parameter '{p.symbol}' gives a value for {_path(label_lists, here)}, which is not in {p.domain}")
                    if last:
                        out.append(node[key])
                    else:
                        dig(level + 1, node[key], here, out)
                elif wanted:
                    raise DataError(f"parameter '{p.symbol}' lacks a value for {_path(label_lists, here)}")
                else:
                    out.extend([0] * int(np.prod([len(x) for x in label_lists[level + 1:]], dtype=int)))
        if known != len(node):
            extra = next(k for k in node if str(k) not in {str(x) for x in labels})
            raise DataError(f"parameter '{p.symbol}' has an unknown label '{extra}'; known: {', '.join(map(str, labels[:8]))}")

    out: list = []
    dig(0, value, (), out)
    return out


def _path(label_lists: list[list], path: tuple[int, ...]) -> str:
    return "[" + ",".join(str(label_lists[k][i]) for k, i in enumerate(path)) + "]" if path else ""
