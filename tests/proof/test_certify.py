"""Certificates of right labels are made and stand; wrong labels never get one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from orpipe.families import families
from orpipe.instances import draw
from orpipe.mps import assemble
from orpipe.problem import Problem
from orpipe.proof import Certificate, Refuted, Unproved, certify, check, prove
from orpipe.proof.certificate import FORMAT
from orpipe.proof.form import Form
from orpipe.solve import Label, label
from orpipe.testing.solver_suite import Case, cases, model

from .small import INFEASIBLE, integer_problem, optimal, ranked

CASES = [case for case in cases() if case.outcome is not None]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_labelled_conformance_case_is_certified(case: Case) -> None:
    found = label(case.problem)
    if not isinstance(found, Label):
        pytest.skip(f"no label: {found.reason}")
    certificate = prove(case.problem, found, seconds=math.inf)
    assert isinstance(certificate, Certificate), certificate
    assert certificate.outcome == case.outcome and check(case.problem, certificate) == []
    assert case.objective is None or certificate.objective == str(case.objective)


@pytest.mark.parametrize("name", families.names())
def test_every_family_is_certified(name: str) -> None:
    problem = draw(name, 2, 5, 0).problem
    found = label(problem)
    assert isinstance(found, Label)
    assert isinstance(prove(problem, found, seconds=math.inf), Certificate)


@pytest.mark.parametrize("seed", range(120))
def test_against_every_point(seed: int) -> None:
    """The best point is certified, the next best refuted by a better one, infeasibility claimed only where it is true."""
    problem = integer_problem(seed)
    best = ranked(problem)
    if not best:
        certificate = certify(problem, INFEASIBLE, seconds=math.inf)
        assert certificate is not None and check(problem, certificate) == []
        return
    value, point = best[0]
    certificate = certify(problem, optimal(problem, point), seconds=math.inf)
    assert certificate is not None and certificate.objective == str(value) and check(problem, certificate) == []
    worse = next((t for t in best if t[0] != value), None)
    if worse is not None:
        refuted = prove(problem, optimal(problem, worse[1]), seconds=math.inf)
        assert isinstance(refuted, Refuted) and refuted.point is not None
        assert not problem.violations(refuted.point) and certify(problem, optimal(problem, worse[1]), seconds=math.inf) is None
        moved = problem.objective(refuted.point) - worse[0]
        assert moved > 0 if problem.maximize else moved < 0
    refuted = prove(problem, INFEASIBLE, seconds=math.inf)
    assert isinstance(refuted, Refuted) and refuted.point is not None and not problem.violations(refuted.point)


def test_a_point_that_does_not_stand_is_refuted() -> None:
    problem = integer_problem(0)
    value, point = ranked(problem)[0]
    outside = (point[0] + 100, *point[1:])
    assert isinstance(prove(problem, optimal(problem, outside)), Refuted)
    assert isinstance(prove(problem, replace(optimal(problem, point), objective_exact=value + Fraction(1, 10**9))), Refuted)


def test_an_lp_without_duals_is_solved_for_them_and_a_worse_vertex_refuted() -> None:
    problem = model([3, 5], [(None, {0: 1}, 4), (None, {1: 2}, 12), (None, {0: 3, 1: 2}, 18)], maximize=True)
    assert certify(problem, optimal(problem, (Fraction(2), Fraction(6)))) is not None
    refuted = prove(problem, optimal(problem, (Fraction(2), Fraction(6) - Fraction(1, 10**12))))
    assert isinstance(refuted, Refuted) and refuted.point == (2, 6)


def test_unbounded_needs_a_feasible_point_and_an_improving_ray() -> None:
    problem = model([-1, 0], [(0, {0: -1, 1: 2}, None)], integer=[True, False])
    right = Label("unbounded", None, None, (Fraction(2), Fraction(1)), "exact", (), ray=(Fraction(1), Fraction(1, 2)))
    certificate = certify(problem, right)
    assert certificate is not None and check(problem, certificate) == []
    for point, ray in (((Fraction(1, 2), Fraction(1)), right.ray), ((Fraction(4), Fraction(1)), right.ray),
                       (right.point, (Fraction(0), Fraction(1))), (right.point, (Fraction(1), Fraction(0)))):
        assert isinstance(prove(problem, replace(right, point=point, ray=ray)), Refuted)


def test_limits() -> None:
    problem = draw("knapsack", 4, 5, 0).problem
    found = label(problem)
    assert isinstance(found, Label)
    for seconds, nodes in ((math.inf, 2), (math.inf, 0), (0.0, 10**6)):
        stopped = prove(problem, found, seconds, nodes)
        assert isinstance(stopped, Unproved) and stopped.reason == "limit" and stopped.nodes <= nodes


@pytest.mark.parametrize("name", ["bin_packing", "lot_sizing_capacitated", "job_shop"])
def test_the_same_bytes_twice_and_as_json(name: str) -> None:
    problem = draw(name, 1, 9, 1).problem
    found = label(problem)
    assert isinstance(found, Label)
    first, second = certify(problem, found, math.inf), certify(problem, found, math.inf)
    assert first is not None and second is not None and first.to_json() == second.to_json()
    back = Certificate.from_json(first.to_json())
    assert check(problem, back) == [] and back.to_json() == first.to_json() and back.nodes == first.nodes > 0
    assert json.loads(first.to_json())["format"] == FORMAT
    for text in ("[]", '{"outcome": "optimal"}', '{"digest": "", "outcome": "optimal", "more": 1}', "{"):
        with pytest.raises(ValueError):
            Certificate.from_json(text)


def long_decimals(scale: int = 1) -> Problem:
    """Sixteen decimals and five digits before them: whole numbers beyond 64 bits once a row is scaled.  Both rows ask the same
    weighted sum for at least 100000 and at most 90000."""
    weights = [Fraction(k * 10**19 + 7, 10**16) * scale for k in (1234, 56, 789)]
    sides: list[tuple[Fraction | None, Fraction | None]] = [(Fraction(10**8) * scale, None), (None, Fraction(9 * 10**7) * scale)]
    return assemble(name="long", maximize=False, columns=["x", "y", "z"], cost=[Fraction(0)] * 3, offset=Fraction(0), rows=["need", "limit"],
                    entries=[(i, j, w) for i in range(2) for j, w in enumerate(weights)], row_sides=sides,
                    bounds=[(Fraction(0), Fraction(50))] * 3, integer=[False] * 3)


def test_numbers_beyond_64_bits_are_proved_too() -> None:
    problem = long_decimals()
    found = label(problem)
    assert isinstance(found, Label) and (found.status, found.proof) == ("infeasible", "exact")
    assert isinstance(prove(problem, found, seconds=math.inf), Certificate)


def test_no_multipliers_over_numbers_beyond_64_bits() -> None:
    """Multipliers that round to zero prove the bound zero, and are no error."""
    form = Form(long_decimals())
    assert form.num.dtype == object
    assert form.bound(np.zeros(form.m, np.int64), 1, form.box, np.zeros(form.n, np.int64)) == 0
