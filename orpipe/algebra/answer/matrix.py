"""Columns and rows of exact coefficients -> a Problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from orpipe.algebra.answer.meaning import Linear
from orpipe.algebra.answer.world import Column
from orpipe.errors import ParseError
from orpipe.exact import Exact
from orpipe.problem import Problem


@dataclass
class Row:
    name: str
    coef: dict[Any, Fraction]
    lower: Fraction | None
    upper: Fraction | None


def assembled(sense: str, goal: Linear, known: Mapping[Any, Column], rows: Sequence[Row]) -> Problem:
    """Raises ParseError for a model without a variable."""
    columns = list(known)
    if not columns:
        raise ParseError("the model has no variable")
    index = {key: k for k, key in enumerate(columns)}
    entries = [(i, index[k], v) for i, r in enumerate(rows) for k, v in sorted(r.coef.items(), key=lambda kv: index[kv[0]])]
    matrix = sp.csr_array(
        ([float(v) for *_, v in entries], ([i for i, _, _ in entries], [j for _, j, _ in entries])), shape=(len(rows), len(columns))
    )
    matrix.sort_indices()
    cols = [known[k] for k in columns]
    lows, highs = [r.lower for r in rows], [r.upper for r in rows]

    def floats(values: list[Fraction | None], none: float) -> np.ndarray:
        return np.array([none if v is None else float(v) for v in values], dtype=float)

    return Problem(
        name="answer",
        maximize=sense == "maximize",
        columns=tuple(c.name for c in cols),
        rows=tuple(r.name for r in rows),
        cost_exact=_exact([goal.get(k, Fraction(0)) for k in columns]),
        offset=goal.get(None, Fraction(0)),
        matrix=matrix,
        matrix_exact=_exact([v for *_, v in entries]),
        row_lower_exact=_exact(lows),
        row_upper_exact=_exact(highs),
        lower_exact=_exact([c.lower for c in cols]),
        upper_exact=_exact([c.upper for c in cols]),
        row_lower=floats(lows, -np.inf),
        row_upper=floats(highs, np.inf),
        lower=floats([c.lower for c in cols], -np.inf),
        upper=floats([c.upper for c in cols], np.inf),
        integer=np.array([c.integer for c in cols], bool),
        decision=np.ones(len(cols), bool),
    )


def canonical(r: Row) -> tuple[Any, ...]:
    """The same for rows that say the same."""
    _, first = min(r.coef.items(), key=lambda kv: repr(kv[0]))
    low, high = (None if v is None else v / first for v in (r.lower, r.upper))
    if first < 0:
        low, high = high, low
    return (frozenset((k, v / first) for k, v in r.coef.items()), low, high)


def _exact(values: Sequence[Fraction | None]) -> Exact:
    return Exact.of([Fraction(0) if v is None else v for v in values])
