"""Bounds of 1e9 and more, as programs write for "none", hide no difference in rows, other bounds or the objective."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from orpipe.problem import Problem
from orpipe.verify import compare
from orpipe.verify.verdict import Verdict

INF = np.inf


@dataclass(frozen=True)
class Plan:
    """maximise 3 food + 2 fuel + offset, least <= food <= upper, food + fuel <= side, food - fuel <= 5"""

    upper: float
    side: float = 100.0
    least: float = 0.0
    offset: float = 0.0
    integer: bool = False

    def problem(self, names: tuple[str, str] = ("food", "fuel")) -> Problem:
        return Problem.from_arrays(cost=[3, 2], matrix=np.array([[1.0, 1.0], [1.0, -1.0]]), row_lower=[-INF] * 2, row_upper=[self.side, 5.0],
                                   lower=[self.least, 0.0], upper=[self.upper] * 2, integer=[self.integer] * 2, columns=names, maximize=True,
                                   offset=self.offset)


@pytest.mark.parametrize("upper", [1e7, 1e9, 1e12])
@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("change", [{"side": 101.0}, {"least": 1.0}, {"offset": 1.0}])
def test_a_wide_bound_hides_nothing(upper: float, integer: bool, change: dict[str, float]) -> None:
    plan = Plan(upper, integer=integer)
    other = replace(plan, **change).problem()
    found = compare(plan.problem(), other)
    assert found.verdict is Verdict.NOT_EQUIVALENT and found.witness is not None, found.sentence
    assert compare(plan.problem(), other, names="ignored").verdict not in (Verdict.EQUIVALENT, Verdict.UNDECIDED)


@pytest.mark.parametrize("upper", [1e7, 1e12])
def test_a_small_part_of_a_side_is_not_taken_for_noise(upper: float) -> None:
    found = compare(Plan(upper).problem(), Plan(upper, side=100.01).problem())
    assert found.verdict is Verdict.NOT_EQUIVALENT


@pytest.mark.parametrize("upper", [1e9, 1e12])
def test_the_same_model_stays_the_same(upper: float) -> None:
    plan = Plan(upper)
    found = compare(plan.problem(), plan.problem())
    assert (found.verdict, found.method) == (Verdict.EQUIVALENT, "identical") and "agree_to" not in found.evidence
    assert compare(plan.problem(), plan.problem(("x1", "x2")), names="ignored").verdict is Verdict.EQUIVALENT


def whole(side: float, names: tuple[str, str] = ("units", "boxes")) -> Problem:
    return Problem.from_arrays(cost=[1, 1], matrix=np.array([[1.0, 1.0]]), row_lower=[-INF], row_upper=[side], lower=[0, 0], upper=[1e10, 1e10],
                               integer=[True, True], columns=names, maximize=True)


def test_large_whole_sides_are_not_rounded_past_the_next() -> None:
    """10^9 and 10^9 + 1 agree to the tolerance, and are told to."""
    found = compare(whole(1e9), whole(1e9 + 1))
    assert found.verdict is Verdict.EQUIVALENT and found.evidence["agree_to"] in (1e-9, 1e-6)
    assert "agree_to" not in compare(whole(1e9 + 0.5), whole(1e9)).evidence


def test_counted_from_elsewhere_between_wide_bounds() -> None:
    """x = 7 + x' and x = 1e9 - x' are relabellings as before."""
    a = Plan(1e9).problem()
    moved = Problem.from_arrays(cost=[3, 2], matrix=np.array([[1.0, 1.0], [1.0, -1.0]]), row_lower=[-INF] * 2, row_upper=[107.0, 12.0], lower=[7, 0],
                                upper=[1e9 + 7, 1e9], integer=[False] * 2, columns=("p", "q"), maximize=True, offset=-21)
    found = compare(a, moved, names="ignored")
    assert (found.verdict, found.method) == (Verdict.EQUIVALENT, "isomorphic")
    turned = Problem.from_arrays(cost=[-3, 2], matrix=np.array([[-1.0, 1.0], [-1.0, -1.0]]), row_lower=[-INF] * 2,
                                 row_upper=[100.0 - 1e9, 5.0 - 1e9], lower=[0, 0], upper=[1e9, 1e9], integer=[False] * 2, columns=("p", "q"),
                                 maximize=True, offset=3e9)
    found = compare(a, turned, names="ignored")
    assert (found.verdict, found.method) == (Verdict.EQUIVALENT, "isomorphic")


def test_values_that_differ_late_are_written_so() -> None:
    plan = Plan(1e3, offset=8.5)
    found = compare(plan.problem(), replace(plan, offset=8.500000001).problem())
    assert found.verdict is Verdict.NOT_EQUIVALENT and "8.5 in A and 8.500000001 in B" in found.sentence


@pytest.mark.parametrize("upper", [1e6, 1e10])
def test_a_difference_that_is_small_only_beside_far_points_is_one(upper: float) -> None:
    """-20 <= 100 y - 100 x <= -19 against = -19: at x = 1e10 the excess is a 1e-12 of the terms, at x = 0 it is not."""
    def gap(low: float) -> Problem:
        return Problem.from_arrays(cost=[3, 5], matrix=np.array([[-100.0, 100.0]]), row_lower=[low], row_upper=[-19], lower=[0, -2],
                                   upper=[upper, INF], integer=[True, False], columns=("shifts", "stock"))
    found = compare(gap(-20), gap(-19))
    assert found.verdict in (Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM), found.sentence


def test_so_is_one_of_objectives() -> None:
    def model(cost: tuple[float, float]) -> Problem:
        return Problem.from_arrays(cost=cost, matrix=np.array([[1.0, -1.0]]), row_lower=[0], row_upper=[1], lower=[0, 0], upper=[1e11] * 2,
                                   integer=[False] * 2, columns=("made", "sold"))
    found = compare(model((3, 2)), model((4, 1)))
    assert (found.verdict, found.method) == (Verdict.NOT_EQUIVALENT, "objective"), found.sentence


def test_a_column_of_the_same_name_is_not_counted_from_elsewhere() -> None:
    def model(least: float) -> Problem:
        return Problem.from_arrays(cost=[2, 0], matrix=np.array([[5.0, 0.0]]), row_lower=[-INF], row_upper=[6], lower=[0, least], upper=[9, 1e9],
                                   integer=[True, True], columns=("made", "kept"))
    assert compare(model(1), model(2)).verdict is Verdict.NOT_EQUIVALENT
