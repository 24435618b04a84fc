"""Arguments for the same optimum: they hold where they should, and a condition less undoes each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orpipe.problem import Problem
from orpipe.solve import Label, label
from orpipe.suites.harmless import same_optimum

INF = np.inf


def model(**changes: object) -> Problem:
    """Two sources with stock 5 and 7 (rows 0, 1), two places that need 4 and 6 (rows 2, 3)."""
    given: dict[str, object] = {
        "cost": [3, 5, 4, 2], "matrix": np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]),
        "row_lower": [-INF, -INF, 4, 6], "row_upper": [5, 7, INF, INF], "lower": [0] * 4, "upper": [INF] * 4, "integer": [False] * 4,
    }
    return Problem.from_arrays(**(given | changes))  # type: ignore[arg-type]


EXACTLY = {"row_upper": [5, 7, 4, 6]}


def same_answer(a: Problem, b: Problem) -> bool:
    first, second = label(a), label(b)
    assert isinstance(first, Label) and isinstance(second, Label)
    return (first.status, first.objective_exact) == (second.status, second.objective_exact)


@pytest.mark.parametrize(("both", "other"), [
    ({}, EXACTLY),
    ({"integer": [True] * 4}, EXACTLY),
    ({}, {"upper": [4, 6, 4, 6]}),
    ({"integer": [True] * 4}, {"upper": [4, 6, 4, 6]}),
    ({}, {"integer": [True] * 4}),
])
def test_proved(both: dict, other: dict) -> None:
    a, b = model(**both), model(**(both | other))
    assert same_optimum(a, b) and same_optimum(b, a) and same_answer(a, b)


@pytest.mark.parametrize(("both", "other"), [
    ({"cost": [-3, 5, 4, 2]}, EXACTLY),  # it pays to bring more
    ({"maximize": True}, EXACTLY),
    ({"lower": [4.5, 0, 0, 0]}, EXACTLY),  # nothing can be taken away
    ({"row_lower": [3, 6.5, 4, 6]}, EXACTLY),  # sources must get rid of something
    ({}, {"upper": [3, 6, 4, 6]}),  # less than the need
    ({"cost": [-3, 5, 4, 2]}, {"upper": [4, 6, 4, 6]}),
    ({"row_lower": [-INF, -INF, 4.5, 6]}, {"integer": [True] * 4}),
    ({"matrix": np.array([[1, 1, 0, 0], [0, 0, 1, 1], [2, 0, 1, 0], [0, 1, 0, 1]])}, {"integer": [True] * 4}),
    ({}, {"cost": [3, 5, 4, 1]}),
])
def test_not_proved(both: dict, other: dict) -> None:
    a, b = model(**both), model(**(both | other))
    assert not same_optimum(a, b) and not same_optimum(b, a)


def test_extra_rows_count_as_caps_only_where_they_bound_one_column() -> None:
    a = model()
    rows = np.vstack([a.matrix.toarray(), [[2, 0, 0, 0]]])
    wide = {"matrix": rows, "row_lower": [*a.row_lower, -INF], "rows": [*a.rows, "more"]}
    capped, tighter = model(**wide, row_upper=[*a.row_upper, 8]), model(**wide, row_upper=[*a.row_upper, 7])
    assert same_optimum(a, capped) and same_answer(a, capped) and not same_optimum(a, tighter)
    rows[-1, 1] = 1
    assert not same_optimum(a, model(**(wide | {"matrix": rows}), row_upper=[*a.row_upper, 99]))


def test_odd_cycles_are_no_network() -> None:
    """max x + y + z with x + y, y + z, x + z <= 1 is 3/2, in whole numbers 1."""
    odd: dict[str, object] = {"cost": [1] * 3, "matrix": np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]), "row_lower": [-INF] * 3,
                              "row_upper": [1] * 3, "lower": [0] * 3, "upper": [INF] * 3, "maximize": True}
    a = Problem.from_arrays(**odd, integer=[False] * 3)  # type: ignore[arg-type]
    b = Problem.from_arrays(**odd, integer=[True] * 3)  # type: ignore[arg-type]
    assert not same_optimum(a, b) and not same_answer(a, b)
    two = replace(a, name="other")
    assert not same_optimum(two, b)
