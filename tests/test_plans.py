"""Sentences about an optimum are what an exact recomputation says."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from orpipe.build.case import Case
from orpipe.build.plans import another, binding_rows, shadow_price, uniqueness
from orpipe.exact import Exact, fraction
from orpipe.families import Rejected, families
from orpipe.instances import draw
from orpipe.proof import Facts
from orpipe.solve import Label, label

LPS = ("transportation", "diet", "production_planning", "min_cost_flow")


def case_of(family: str, level: int = 1, index: int = 0) -> Case:
    for k in range(index, index + 40):
        try:
            instance = draw(family, level, 11, k)
            break
        except Rejected:
            continue
    found = label(instance.problem, nodes=50_000)
    assert isinstance(found, Label)
    return Case(instance, found, proof_nodes=300)


@pytest.mark.parametrize("family", sorted(families.names()))
def test_another_plan_is_as_good_and_different(family: str) -> None:
    case = case_of(family)
    problem, point = case.instance.problem, case.label.point
    assert isinstance(case.facts, Facts) and point is not None
    told = uniqueness(case, 0)
    if case.facts.unique == "unique":
        assert told and "only optimal plan" in told and another(case) is None
        return
    other = another(case)
    if case.facts.unique == "not unique" and other is not None:
        assert not problem.violations(other) and problem.objective(other) == case.label.objective_exact
        name, new, old = re.search(r"`([^`]+)` = (?:about )?(-?[\d.]+).*? instead of (?:about )?(-?[\d.]+)", told or "").groups()  # type: ignore[union-attr]
        j = problem.column_index[name]
        assert (fraction(new), fraction(old)) == (other[j], point[j]) or "about" in (told or "")
    else:
        assert told is None


def test_ties_are_found_on_a_family_that_has_them() -> None:
    assert any(another(case_of(family, 1)) is not None for family in ("bin_packing", "job_shop"))


@pytest.mark.parametrize("family", LPS)
@pytest.mark.parametrize("variant", range(3))
def test_a_shadow_price_is_what_a_new_solve_says(family: str, variant: int) -> None:
    """The optimum stated for one unit more is that of the problem with one unit more; the price fits it or is called a bound."""
    case = case_of(family, 2)
    told = shadow_price(case, variant)
    if family == "min_cost_flow":
        assert told is None  # supplies and demands balance: no single one may move
        return
    assert told is not None
    name = re.search(r"`([^`]+)`", told)[1]  # type: ignore[index]
    i = case.instance.problem.rows.index(name)
    step = 1 if " more " in told else -1
    p = case.instance.problem
    values = [p.row_lower_exact.fractions(), p.row_upper_exact.fractions()]
    for side in values:
        side[i] += step
    low = p.row_lower.copy()
    high = p.row_upper.copy()
    low[i] += step
    high[i] += step
    moved = label(replace(p, row_lower_exact=Exact.of(values[0]), row_upper_exact=Exact.of(values[1]), row_lower=low, row_upper=high))
    assert isinstance(moved, Label) and moved.objective_exact is not None and case.label.objective_exact is not None
    assert case.worth(moved.objective_exact) in told
    rate = case.label.duals[i] * step  # type: ignore[index]
    assert ("same" in told) == (moved.objective_exact - case.label.objective_exact == rate)


def test_binding_constraints_are_those_without_slack() -> None:
    case = case_of("transportation", 1)
    told = binding_rows(case, 0)
    names = re.findall(r"`([^`]+)`", told or "")
    problem, point = case.instance.problem, case.label.point
    assert names and point is not None
    for name in names:
        i = problem.rows.index(name)
        span = slice(problem.matrix.indptr[i], problem.matrix.indptr[i + 1])
        activity = sum((Fraction(int(v), problem.matrix_exact.den) * point[j]
                        for v, j in zip(problem.matrix_exact.num[span], problem.matrix.indices[span], strict=True)), start=Fraction(0))
        assert activity in (problem.row_lower_exact.fractions()[i], problem.row_upper_exact.fractions()[i])
