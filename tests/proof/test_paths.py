"""Cuts from sums of rows: deeper than those of single rows on lot sizing, and every one of them holds at the optimum."""

from __future__ import annotations

from fractions import Fraction

from orpipe.instances import draw
from orpipe.proof import Certificate, check, prove
from orpipe.proof.cuts import strengthened
from orpipe.proof.form import Form
from orpipe.solve import Label, label


def test_sums_of_rows_lift_the_bound_of_lot_sizing_and_keep_its_optimum() -> None:
    problem = draw("lot_sizing_capacitated", 4, 5, 0).problem
    found = label(problem)
    assert isinstance(found, Label) and found.point is not None and found.objective_exact is not None
    bounds = {}
    for deep in (False, True):
        form = Form(problem)
        hot = strengthened(form, lambda objective: False, deep)
        bounds[deep] = hot.run(form.box.lower, form.box.upper).objective / form.cost_den + float(problem.offset)
        rows = form.replay.rows[problem.n_rows:]
        for row, low in zip(rows, form.replay.low[problem.n_rows:], strict=True):
            assert low is not None
            activity = sum((Fraction(a, form.replay.den) * found.point[j] for j, a in row), Fraction(0))
            assert activity >= Fraction(low, form.replay.side_den)
    gap = {deep: float(found.objective_exact) - bound for deep, bound in bounds.items()}
    assert 0 <= gap[True] < 0.9 * gap[False]


def test_a_proof_that_runs_out_of_nodes_begins_again_with_deeper_cuts() -> None:
    problem = draw("lot_sizing_capacitated", 4, 5, 0).problem
    found = label(problem)
    assert isinstance(found, Label)
    proof = prove(problem, found, seconds=float("inf"), nodes=6000)
    assert isinstance(proof, Certificate)
    assert check(problem, proof) == []
    assert not isinstance(prove(problem, found, seconds=float("inf"), nodes=20), Certificate)
