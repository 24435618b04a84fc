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


def test_what_floats_leave_where_terms_cancel_is_no_coefficient() -> None:
    """0.1 + 0.2 - 0.3 is 5.6e-17 in a program and nothing in the model; a small coefficient of its own stays."""
    shared = {"maximize": False, "offset": 0, "columns": ["x", "y"], "rows": ["r"], "lower": [0, 0], "upper": [9, 9], "integer": [False, False],
              "row_lower": [1e-18], "row_upper": [np.inf], "indptr": [0, 3], "indices": [0, 1, 1]}
    left = Captured.of("pulp", "pulp", cost=[1, -3.5e-18], data=[0.04, 0.3, 5.6e-17 - 0.3], **shared).problem()
    assert left.matrix.toarray().tolist() == [[0.04, 0]] and left.cost.tolist() == [1, 0] and left.row_lower.tolist() == [0]
    assert left.n_nonzeros == 1 and left.matrix_exact.fractions() == [Fraction(1, 25)]
    kept = Captured.of("pulp", "pulp", cost=[1, 1e-11], data=[1e-9, 0.3, 1e-9 - 0.3], **shared).problem()
    assert kept.n_nonzeros == 2 and kept.cost.tolist() == [1, 1e-11]
    tiny = Captured.of("pulp", "pulp", cost=[1e-20, 1e-20], data=[1e-20, 1e-20, 0], **shared).problem()
    assert tiny.n_nonzeros == 2 and tiny.cost.tolist() == [1e-20, 1e-20]
