"""Labels as benchmarks write them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orpipe.verify.truth import NO_OPTIMUM, Truth, Value

BENCHMARKS = Path(__file__).resolve().parents[3] / "shared" / "benchmarks"


@pytest.mark.parametrize(("label", "values"), [
    (1160.0, [1160]), (0, [0]), ("0", [0]), (-0.0, [0]), ("-5.25", [-5.25]), ("−5", [-5]), ("+5", [5]), (Fraction(1, 4), [0.25]),
    ("1,200", [1200]), ("$1,200.50", [1200.5]), ("12,345,678 USD", [12345678]), ("1'200", [1200]), ("10 000 units", [10000]),
    ("45 dollars per day", [45]), ("12 m3", [12]), ("5 kg of CO2", [5]), ("about 12.", [12]), ("$5.5$", [5.5]), ("\\$7", [7]),
    ("\\boxed{42}", [42]), ("$\\frac{3}{2}$", [1.5]), ("1/3", [1 / 3]), ("1.2e6", [1.2e6]), ("1.2×10^6", [1.2e6]),
    ("3 \\times 10^{-2}", [0.03]), ("$2.5 million", [2.5e6]), ("4 billion", [4e9]), ("$3k", [3000]), ("3 k", [3]),
    ("Z = 12.50", [12.5]), ("Optimal value: 150 EUR", [150]), ("The maximum profit is $3,450.25 a day.", [3450.25]), ("**99**", [99]),
    ([100, 120], [100, 120]), ("[100, 120]", [100, 120]), ("100 or 120", [100, 120]), ("100; 120", [100, 120]), ("100, 120", [100, 120]),
    ("(3, 4)", [3, 4]), (np.float64(2.5), [2.5]), (np.array([1, 2]), [1, 2]), ("12.5%", [12.5, 0.125]), ("40 percent", [40, 0.4]),
    ({"status": "optimal", "objective": 7}, [7]), ({"objective_value": "1,000"}, [1000]), ({"The least cost": "5.0"}, [5]),
    ('{"optimal_value": 3}', [3]),
])
def test_values(label: Any, values: list[float]) -> None:
    truth = Truth.of(label)
    assert truth.understood and not truth.statuses and not truth.note
    assert [v.number for v in truth.values] == pytest.approx(values, rel=1e-15)


@pytest.mark.parametrize(("label", "statuses"), [
    ("infeasible", {"infeasible"}), ("INFEASIBLE", {"infeasible"}), ("No feasible solution exists.", {"infeasible"}),
    ("unbounded", {"unbounded"}), (math.inf, {"unbounded"}), ("-inf", {"unbounded"}), ("No Best Solution", NO_OPTIMUM),
    ("no optimal solution", NO_OPTIMUM), ("infeasible or unbounded", NO_OPTIMUM), ("No solution", NO_OPTIMUM),
    ({"status": "infeasible", "objective": None}, {"infeasible"}), (["infeasible"], {"infeasible"}),
])
def test_statuses(label: Any, statuses: set[str]) -> None:
    truth = Truth.of(label)
    assert (truth.values, truth.statuses, truth.understood) == ((), statuses, True)


@pytest.mark.parametrize("label", [-99999, -99999.0, "-99999", "-99999.0"])
def test_the_sentinel_is_no_optimum_and_the_number_itself(label: Any) -> None:
    assert (Truth.of(label).values[0].number, Truth.of(label).statuses) == (-99999, NO_OPTIMUM)


def test_other_sentinels_belong_to_their_benchmark() -> None:
    assert Truth.of("-9999").statuses == frozenset() and Truth.of("-9999", (-9999.0,)).statuses == NO_OPTIMUM
    assert Truth.of("-99999", ()).statuses == frozenset()


def test_a_list_may_mix_values_and_a_status() -> None:
    assert str(Truth.of(["infeasible", 5])) == "5 or infeasible"


@pytest.mark.parametrize("label", [None, "", "  ", "null", "N/A", "nan", math.nan, [], "None", {"objective": None, "status": None}, {}])
def test_no_label(label: Any) -> None:
    truth = Truth.of(label)
    assert truth.absent and truth.understood and "no label" in truth.note


@pytest.mark.parametrize(("label", "words"), [
    (True, "neither"), ("12,5", "two ways"), ("1.234,5", "two ways"), ("1.234.567", "two ways"), ("x = 3, y = 4", "2 numbers"),
    ("between 3 and 5", "2 numbers"), ("as cheap as possible", "no number"), ({"a": 1, "b": 2}, "names no objective"), ([1, "x y"], "x y"),
    ("1e400", "out of range"), ("9" * 500, "understood"), (object(), "kind of label"), ("1/0", "understood"),
])
def test_labels_that_are_not_understood_say_so(label: Any, words: str) -> None:
    truth = Truth.of(label)
    assert truth.absent and not truth.understood and words in truth.note


def test_printed_decimals_are_kept() -> None:
    assert [Truth.of(x).values[0].decimals for x in (16.67, "16.670", "$1,200.50", 5.0, "12", 1e-7, "1.5e3")] == [2, 3, 2, None, None, None, None]


def test_a_truth_is_taken_as_it_is() -> None:
    truth = Truth((Value(3.0),), maximize=True)
    assert Truth.of(truth) is truth


@given(st.one_of(st.text(max_size=60), st.text("0123456789.,-+eE$%/ ()[]{}\\^", max_size=40), st.floats(), st.integers(),
                 st.recursive(st.none() | st.text(max_size=5) | st.floats(), lambda inner: st.lists(inner, max_size=3), max_leaves=6)))
def test_any_label_is_read_without_an_exception(label: Any) -> None:
    truth = Truth.of(label)
    assert all(math.isfinite(v.number) for v in truth.values)
    assert truth.absent == (not truth.values and not truth.statuses)
    assert not (truth.absent and not truth.note)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_number_reads_back(number: float) -> None:
    if "e" in repr(number) and abs(number) < 1e-300:
        return
    assert Truth.of(repr(number)).values[0].number == pytest.approx(number, rel=1e-15)


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the public benchmark files are not here")
@pytest.mark.parametrize("name", ["mamo_easylp_fixed", "nl4opt", "optibench", "optmath_bench_166"])
def test_every_label_of_a_public_benchmark_is_understood(name: str) -> None:
    labels = [json.loads(line)["en_answer"] for line in (BENCHMARKS / f"{name}.jsonl").read_text().splitlines()]
    assert [label for label in labels if not Truth.of(label).understood or Truth.of(label).absent] == []
