"""What a replayed program printed, and how a run is compared with its label; with no program run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from orpipe.problem import Problem
from orpipe.verify.capture import Captured
from orpipe.verify.replay import Script, judge, printed
from orpipe.verify.sandbox import Run

PROBLEM = Problem.from_arrays(cost=[1], matrix=np.array([[1.0]]), row_lower=[2], row_upper=[np.inf], lower=[0], upper=[9],
                              integer=[True], columns=["x"])
MODEL = Captured.of("pulp", "pulp", maximize=False, offset=0, columns=["x"], rows=["r"], cost=[1], lower=[0], upper=[9],
                    integer=[True], row_lower=[2], row_upper=[np.inf], indptr=[0, 1], indices=[0], data=[1])


@pytest.mark.parametrize(("output", "status", "value"), [
    ("optimal_value = 197.0\n", "optimal", 197.0), ("x\noptimal_value = 1\noptimal_value = 2.5e3", "optimal", 2500.0),
    ("status = SolveStatus.INFEASIBLE\n", "infeasible", None), ("status = Unbounded", "unbounded", None),
    ("status = infeasibleOrUnbounded", "infeasibleorunbounded", None), ("the optimal_value = 3", "", None), ("", "", None),
])
def test_the_last_result_line_is_read(output: str, status: str, value: float | None) -> None:
    found = printed(output)
    assert (found.status, found.value) == (status, value)


@pytest.mark.parametrize(("outcome", "output", "label", "status", "stage"), [
    ("ok", "optimal_value = 2.0", 2, "optimal", "passed"), ("ok", "optimal_value = 2.000001", 2, "optimal", "passed"),
    ("ok", "optimal_value = 2.000003", 2, "optimal", "printed"), ("ok", "optimal_value = nan", 2, "optimal", "printed"),
    ("ok", "optimal_value = 1e-10", 0, "optimal", "passed"), ("ok", "optimal_value = 1e-8", 0, "optimal", "printed"),
    ("ok", "optimal_value = 0.3333333333333333", Fraction(1, 3), "optimal", "passed"),
    ("ok", "optimal_value = two", 2, "optimal", "printed"), ("ok", "optimal_value = 2", None, "optimal", "printed"),
    ("ok", "status = infeasible", None, "infeasible", "passed"), ("ok", "status = unbounded", None, "infeasible", "printed"),
    ("ok", "status = InfeasibleOrUnbounded", None, "unbounded", "passed"), ("ok", "status = optimal", 2, "optimal", "printed"),
    ("sandbox", "", 2, "optimal", "sandbox"), ("timeout", "optimal_value = 2", 2, "optimal", "run"),
    ("no model", "optimal_value = 2", 2, "optimal", "run"),
])
def test_a_run_is_judged_by_its_model_then_by_its_last_line(
        outcome: Any, output: str, label: Any, status: str, stage: str) -> None:
    run = Run(outcome, stdout=output + "\n", captured=MODEL)
    assert judge(Script("", PROBLEM, label, status), run).stage == stage
