"""Data that do not fit their model: one clear line each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, sum_
from orpipe.errors import DataError
from orpipe.ground import ground

from .test_ground import ARCS, arcs


def wide() -> n.Model:
    m = Builder("wide")
    I, T = m.set("I", "depot"), m.set("T", "period", numbered=True)
    i, t = I.index("i"), T.index("t")
    A = m.tuples("A", i, t, noun="window")
    s = m.param("s", meaning="scale", sign="positive")
    k = m.param("k", i, meaning="count", integer=True)
    c = m.param("c", i, t, meaning="cost")
    w = m.param("w", i, t, domain=A, meaning="weight", sign="positive")
    x = m.var("x", i, t, meaning="x")
    m.minimize(cost=(sum_(i, t)(c[i, t] * x[i, t]), "cost"))
    m.require("least", sum_(t, where=A[i, t])(w[i, t] * x[i, t]) >= s * k[i], forall=(i,), because="least")
    return m.build()


WIDE: dict[str, Any] = {
    "I": ["North", "South"], "T": [1, 2], "A": [["North", 1], ["South", "2"]], "s": 2, "k": {"North": 1, "South": 2.0},
    "c": {"North": {"1": 0, "2": 1.5}, "South": {1: 0, 2: 3}}, "w": {"North": {"1": 1}, "South": {"2": 2}},
}


def test_the_data_fit() -> None:
    p = ground(wide(), WIDE)
    assert p.rows == ("least[North]", "least[South]") and p.row_lower.tolist() == [2, 4]


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        *way, last_key, value = path
        for key in way:
            data = data[key]
        data[last_key] = value
    return change


def drop(*path: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]
    return change


@pytest.mark.parametrize(("change", "message"), [
    (drop("I"), "data lack set 'I' (depots); give its elements as a list"),
    (drop("A"), "data lack set 'A' (windows)"),
    (drop("s"), "data lack parameter 's' (s): scale"),
    (put("z", 1), "data hold 'z', which model 'wide' does not declare; remove it or declare it"),
    (put("I", []), "set 'I' (depots) must be a list with at least one element, not []"),
    (put("I", "North"), "set 'I' (depots) must be a list with at least one element, not 'North'"),
    (put("I", {"North": 1}), "set 'I' (depots) must be a list"),
    (put("I", ["North", "North"]), "set 'I' (depots) lists 'North' twice; labels must be unique"),
    (put("I", ["North", 2]), "set 'I' (depots): label 2 is not a string"),
    (put("I", ["North", "South, west"]), "label 'South, west' must be one line without commas"),
    (put("I", ["North", "a]"]), "label 'a]' must be one line without commas"),
    (put("I", ["North", " South"]), "label ' South' must be one line"),
    (put("I", ["North", ""]), "label '' must be one line"),
    (put("T", [2, 1]), "set 'T' (periods) is numbered: its elements must be 1..2 in order"),
    (put("T", ["one", "two"]), "set 'T' (periods) is numbered"),
    (put("A", [["North", 1], ["South", 3]]), "set 'A' (windows): '3' is not an element of T"),
    (put("A", [["North", 1], ["South"]]), "set 'A' (windows): ['South'] is not a tuple of 2 labels"),
    (put("A", [["North", 1], ["North", "1"]]), "set 'A' (windows) lists (North, 1) twice; tuples must be unique"),
    (put("A", []), "set 'A' (windows) must be a list of tuples with at least one element"),
    (put("A", ["North"]), "set 'A' (windows): 'North' is not a tuple of 2 labels"),
    (put("s", "2"), "parameter 's' is '2', not a finite number"),
    (put("s", [2]), "parameter 's' is [2], not a finite number"),
    (put("s", {"North": 2}), "parameter 's' is {'North': 2}, not a finite number"),
    (put("s", None), "parameter 's' is None, not a finite number"),
    (put("s", True), "parameter 's' is True, not a finite number"),
    (put("s", 0), "parameter 's' is 0, but must be positive"),
    (put("s", float("nan")), "parameter 's' is nan, not a finite number"),
    (put("k", "South", float("inf")), "parameter 'k'[South] is inf, not a finite number"),
    (put("k", "South", 2.5), "parameter 'k'[South] is 5/2, but must be a whole number"),
    (put("k", "South", 1e-30), "parameter 'k'[South] is 1/1000000000000000000000000000000, but must be a whole number"),
    (put("k", "South", -1), "parameter 'k'[South] is -1, but must be nonnegative"),
    (put("k", "South", True), "parameter 'k'[South] is True, not a finite number"),
    (put("k", "South", "2"), "parameter 'k'[South] is '2', not a finite number"),
    (drop("k", "South"), "parameter 'k'[South] has no value"),
    (put("k", "East", 1), "parameter 'k' has the unknown label 'East'; known: North, South"),
    (put("k", 3), "parameter 'k' must be an object by label, not 3"),
    (put("k", [1, 2]), "parameter 'k' must be an object by label, not [1, 2]"),
    (put("c", "North", {"1": 0}), "parameter 'c'[North,2] has no value"),
    (put("c", "North", 4), "parameter 'c'[North] must be an object by label, not 4"),
    (put("c", "North", "3", 4), "parameter 'c'[North] has the unknown label '3'; known: 1, 2"),
    (put("c", "North", 1, 4), "parameter 'c'[North] gives a label twice, as a number and as text"),
    (put("c", "North", "2", [1]), "parameter 'c'[North,2] is [1], not a finite number"),
    (put("c", "North", "2", -0.5), "parameter 'c'[North,2] is -1/2, but must be nonnegative"),
    (drop("w", "South"), "parameter 'w'[South] has no value"),
    (put("w", "South", {}), "parameter 'w'[South,2] has no value"),
    (put("w", "South", "1", 2), "parameter 'w'[South,1] has a value, but is not in A; remove it"),
    (put("w", "South", "2", 0), "parameter 'w'[South,2] is 0, but must be positive"),
    (put("w", "South", "2", "x"), "parameter 'w'[South,2] is 'x', not a finite number"),
])
def test_data_that_do_not_fit_are_refused_in_one_line(change: Callable[[dict[str, Any]], None], message: str) -> None:
    data = copy.deepcopy(WIDE)
    change(data)
    with pytest.raises(DataError) as caught:
        ground(wide(), data)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_all_nested_lists_are_blamed_where_they_stand() -> None:
    with pytest.raises(DataError, match=r"parameter 'k'\[North\] is \[1\], not a finite number"):
        ground(wide(), WIDE | {"k": {"North": [1], "South": [2]}})


def test_a_derived_set_takes_no_data() -> None:
    with pytest.raises(DataError, match=r"data hold set 'L' .long arcs., which follows from a condition; remove it"):
        ground(arcs(), ARCS | {"L": [["a", "c"]]})
    with pytest.raises(DataError, match=r"parameter 'toll'\[b\] has a value, but is not in L; remove it"):
        ground(arcs(), ARCS | {"toll": {"a": {"c": 1}, "c": {"b": 0.25}, "b": {"a": 1}}})
    with pytest.raises(DataError, match="data of model 'arcs' must be an object by symbol, not "):
        ground(arcs(), [1])  # type: ignore[arg-type]
