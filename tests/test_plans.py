"""Sentences about an optimum are what an exact recomputation says."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from orpipe.build.case import Case
from orpipe.build.plans import another, binding_rows, shadow_price, uniqueness
from orpipe.exact import fraction
from orpipe.families import Rejected, families
from orpipe.instances import draw
from orpipe.problem import Problem
from orpipe.proof import Facts
from orpipe.proof.ranging import Range, price_range, shifted
from orpipe.render.words import about
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
def test_a_shadow_price_is_what_new_solves_say(family: str, variant: int) -> None:
    """At both ends of the range that is told the optimum has moved at the price, and just beyond it has not."""
    case = case_of(family, 2)
    told = shadow_price(case, variant)
    if family == "min_cost_flow":
        assert told is None  # supplies and demands balance: no single one may move
        return
    assert told is not None and told.kind == "price" and case.label.duals is not None
    values, best, problem = told.values, case.label.objective_exact, case.instance.problem
    i, price, step = problem.rows.index(told.at[0]), values["price"], values["step"]
    assert best is not None and price == case.label.duals[i] and step is not None and case.worth(best + price * step) in told.text
    mixed = told.at[0].partition("[")[0] in ("first_balance", "balance") or (family, told.at[0][:8]) == ("production_planning", "capacity")
    assert "right-hand side" in told.text and (", all variables taken to the left," in told.text) is mixed
    for sign, end in ((1, values["up"]), (-1, values["down"])):
        assert end is not None and (end == 0 or about(end) in told.text)
        at = label(shifted(problem, i, sign * end))
        assert isinstance(at, Label) and at.objective_exact == best + sign * price * end
        beyond = end + Fraction(1, 1000)
        off = label(shifted(problem, i, sign * beyond))
        assert isinstance(off, Label) and off.objective_exact != best + sign * price * beyond


def test_a_price_without_a_range_is_called_a_bound() -> None:
    """Where the optimum bends at the given side, the dual is no rate in either direction; made by hand: min x + y, two rows that
    meet in a corner of which the dual in between is taken."""
    problem = Problem.from_arrays(cost=[1, 3], matrix=[[1, 1], [0, 1]], row_lower=[4, 0], row_upper=[np.inf, np.inf], lower=[0, 0], upper=[4, 9],
                                  integer=[False, False])
    found = label(problem)
    assert isinstance(found, Label) and found.objective_exact == 4
    between = replace(found, duals=(Fraction(2), Fraction(0)))  # any price from 1 to 3 is an optimal dual
    assert price_range(problem, between, 0) == Range(Fraction(0), Fraction(0))
    assert price_range(problem, replace(found, duals=(Fraction(1), Fraction(0))), 0) == Range(Fraction(4), Fraction(0))
    assert price_range(problem, replace(found, duals=(Fraction(3), Fraction(0))), 0) == Range(Fraction(0), Fraction(9))


def test_a_price_may_hold_for_ever_and_degenerate_vertices_get_the_whole_range() -> None:
    """min 2x, x >= b: the optimum is 2b for all b >= 0; a second row that only touches the vertex hides nothing of it."""
    problem = Problem.from_arrays(cost=[2], matrix=[[1], [1]], row_lower=[5, -np.inf], row_upper=[np.inf, np.inf], lower=[0], upper=[np.inf],
                                  integer=[False])
    found = label(problem)
    assert isinstance(found, Label) and price_range(problem, found, 0) == Range(Fraction(5), None)
    touching = Problem.from_arrays(cost=[1, 1], matrix=[[1, 1], [1, 0]], row_lower=[6, 0], row_upper=[np.inf, 6], lower=[0, 0], upper=[9, 9],
                                   integer=[False, False])
    found = label(touching)
    assert isinstance(found, Label) and price_range(touching, found, 0) == Range(Fraction(6), Fraction(9))
    whole = replace(problem, integer=np.array([True]))
    assert price_range(whole, found, 0) is None


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
