"""What EQUIVALENT claims: "the same" only where numbers are, else the tolerance stands in the sentence and the evidence."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from orpipe.instances import draw
from orpipe.problem import Problem
from orpipe.verify import compare
from orpipe.verify.verdict import Verdict


def changed(p: Problem, relative: float, what: str, rows: list[int] | None = None) -> Problem:
    """With one number other by a relative amount; rows: in this order."""
    A, cost, upper = p.matrix.copy(), p.cost.copy(), p.row_upper.copy()
    if what == "coefficient":
        A.data[0] *= 1 + relative
    elif what == "cost":
        cost[0] *= 1 + relative
    elif what == "side":
        upper[np.isfinite(upper) & (upper > p.row_lower)] *= 1 + relative
    order = list(range(p.n_rows)) if rows is None else rows
    return Problem.from_arrays(cost=cost, matrix=A[order], row_lower=p.row_lower[order], row_upper=upper[order], lower=p.lower, upper=p.upper,
                               integer=p.integer, columns=p.columns, maximize=p.maximize, offset=p.offset)


@pytest.mark.parametrize("what", ["coefficient", "cost", "side"])
@pytest.mark.parametrize("family", ["diet", "transportation"])
def test_a_change_below_the_tolerance_is_never_called_exact(family: str, what: str) -> None:
    a = draw(family, 1, 0, 0).problem
    found = compare(a, changed(a, 1e-7, what))
    assert found.verdict is Verdict.EQUIVALENT and found.evidence["agree_to"] == 1e-6
    assert "to a relative 1e-06: some of their numbers differ" in found.sentence and "exactly" not in found.sentence
    assert "tolerance" in found.evidence["proofs"]
    # far beyond it, it is another model, with a witness
    far = compare(a, changed(a, 1e-4, what))
    assert far.verdict is Verdict.NOT_EQUIVALENT and far.witness is not None


def test_the_ninth_digit_is_told_too() -> None:
    a = draw("diet", 1, 0, 0).problem
    near = compare(a, changed(a, 1e-10, "coefficient"))
    assert (near.verdict, near.method, near.evidence["agree_to"]) == (Verdict.EQUIVALENT, "identical", 1e-9)
    assert near.sentence == "the two models say the same, row by row, to a relative 1e-09: some of their numbers differ by less than that"


@pytest.mark.parametrize("relative", [0.0, 1e-15])
def test_the_rounding_of_floats_is_no_difference(relative: float) -> None:
    a = draw("diet", 1, 0, 0).problem
    for b in (changed(a, relative, "coefficient"), changed(a, relative, "cost", list(range(a.n_rows))[::-1])):
        found = compare(a, b)
        assert found.verdict is Verdict.EQUIVALENT and "agree_to" not in found.evidence and "relative" not in found.sentence


def test_a_whole_model_whose_row_differs_by_less_than_the_tolerance() -> None:
    """The branch and bound ends at points between the limits: their excess is shown to be below the tolerance everywhere, or nothing is said."""
    a = draw("facility_location_capacitated", 1, 0, 0).problem
    found = compare(a, changed(a, 1e-7, "coefficient"))
    assert found.verdict in (Verdict.EQUIVALENT, Verdict.SAME_OPTIMUM)
    assert found.verdict is Verdict.SAME_OPTIMUM or found.evidence.get("agree_to") == 1e-6


def test_sandboxed_processes_do_not_load_a_solver_with_the_comparison() -> None:
    said = subprocess.run([sys.executable, "-c", "import sys, orpipe.verify, orpipe.verify.child; print('highspy' in sys.modules)"],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True, timeout=120)
    assert said.stdout.strip() == "False"
