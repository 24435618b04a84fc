"""orpipe.mutate.slips: numbers copied wrong and answers written down, on instances of every family and formulation."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from mutate_models import EXAMPLES
from orpipe.build.case import Case
from orpipe.build.plan import Order
from orpipe.build.products import diagnose
from orpipe.build.slot import replayed
from orpipe.families import families
from orpipe.ground import ground
from orpipe.instances import draw, golden
from orpipe.mutate import GROUPS, InstanceMutant, Optimum, instance_mutants, instance_operators, operator_by_id, operators
from orpipe.mutate.slips import exchanged, optimum_of, without_zero
from orpipe.solve import Label, label
from orpipe.verify.replay import Script
from orpipe.verify.sandbox import Pool

CELLS = [(f.name, formulation) for f in families for formulation in f.formulations]


def slips(name: str, formulation: str) -> tuple[Label, list[InstanceMutant]]:
    instance = golden(name, formulation)
    found = label(instance.problem)
    assert isinstance(found, Label)
    return found, instance_mutants(instance.linear, instance.data, optimum_of(instance.problem, found.point, found.objective_exact))


@pytest.mark.parametrize(("name", "formulation"), CELLS)
def test_every_family_has_both_faults_and_each_changes_the_matrix(name: str, formulation: str) -> None:
    instance = golden(name, formulation)
    found, made = slips(name, formulation)
    assert {m.operator.id for m in made} == {"answer-hard-coded", "data-value-mistyped"} == {o.id for o in instance_operators()}
    assert len({str(m) for m in made}) == len(made)
    for m in made:
        faulty = ground(m.model, m.given(instance.data))
        assert instance.problem.difference(faulty) is not None and m.difference(instance.problem, instance.data) is not None
        if m.part.kind == "data":
            assert m.model == instance.linear
            assert [s for s in instance.data if instance.data[s] != m.data[s]] == [m.part.name]
        else:
            answer = label(faulty)
            assert isinstance(answer, Label) and answer.objective == pytest.approx(float(found.objective_exact or 0))
    for names in (False, True):
        for m in made:
            account = m.account(instance.linear, names=names)
            for text in (account.fault, account.why, account.repair):
                text = re.sub(r"`[^`]*`", "X", text)
                assert re.match(r"[A-Z].*[^.,;: ]\.$", text) and not re.search(r"[{}_]|\bNone\b|  |\.\.| ,|\bthe the\b", text), text


def test_one_entry_is_mistyped_and_told() -> None:
    example = EXAMPLES["lots"]()
    by = {str(m.site): m for m in instance_mutants(example.model, example.data)}
    assert by["data k (1: digits)"].data["k"] == {"1": 21, "2": 12, "3": 14}
    assert by["data f (1: zero)"].data["f"] == {"1": 1, "2": 20, "3": 15}
    assert by["data d (1: neighbour)"].data["d"] == {"1": 6, "2": 6, "3": 8}
    assert example.data["k"]["1"] == 12
    account = by["data k (1: digits)"].account(example.model, names=True)
    assert account.fault == ("The value of `capacity[1]` (most that can be made in a week) is 21 where the data say 12: two digits have "
                             "changed places.")
    assert account.repair == "Write 12 for `capacity[1]`."
    assert not any(m.operator.id == "answer-hard-coded" for m in by.values())  # no optimum was given


@pytest.mark.parametrize(("value", "swapped", "shorter"), [
    ("37", "73", None), ("10", None, "1"), ("120", "210", "12"), ("100", None, "10"), ("4.25", "4.52", None), ("0.05", "0.50", "0.5"),
    ("-37", "-73", None), ("33", None, None), ("0", None, None), ("7", None, None), ("1.5", None, None), ("101", "110", None)])
def test_what_happens_to_a_number(value: str, swapped: str | None, shorter: str | None) -> None:
    assert exchanged(Fraction(value)) == (None if swapped is None else Fraction(swapped))
    assert without_zero(Fraction(value)) == (None if shorter is None else Fraction(shorter))


def test_a_stated_answer_says_the_same_on_other_data() -> None:
    instance, other = draw("knapsack", 1, 0, 0), draw("knapsack", 1, 0, 1)
    found = label(instance.problem)
    assert isinstance(found, Label) and found.objective_exact is not None
    stated = [m for m in instance_mutants(instance.linear, instance.data, optimum_of(instance.problem, found.point, found.objective_exact))
              if m.part.name == "objective"]
    data = {**other.data, **{k: v for k, v in stated[0].data.items() if k not in other.data}}
    answer, right = label(ground(stated[0].model, data)), label(other.problem)
    assert isinstance(answer, Label) and isinstance(right, Label)
    assert answer.objective_exact == found.objective_exact != right.objective_exact


def test_the_entries_are_drawn_and_mistakes_that_checks_catch_are_left_out() -> None:
    instance = draw("transportation", 2, 0, 0)
    drawn = [str(m) for m in instance_mutants(instance.linear, instance.data, None, np.random.default_rng(3))]
    assert drawn == [str(m) for m in instance_mutants(instance.linear, instance.data, None, np.random.default_rng(3))]
    assert drawn != [str(m) for m in instance_mutants(instance.linear, instance.data)]
    # fund: the first loss is 0 and its neighbour 0.01; an optimum that names no column is no plan
    example = EXAMPLES["fund"]()
    made = instance_mutants(example.model, example.data, Optimum({}, Fraction(1)))
    assert [m.part.detail for m in made if m.operator.id == "answer-hard-coded"] == ["value"]


def test_they_stand_in_the_catalogue() -> None:
    for op in instance_operators():
        assert operator_by_id(op.id) is op and op not in operators() and op.group in GROUPS
        assert op.title[0].isupper() and not op.title.endswith(".") and op.explanation.endswith(".") and op.explanation.count(".") >= 2


def test_a_mistyped_number_is_diagnosed_where_the_data_stand_in_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = draw("knapsack", 1, 0, 0)
    found = label(instance.problem)
    assert isinstance(found, Label)
    case, order = Case(instance, found), Order("diagnose", "text", "pulp", 0)
    monkeypatch.setattr(diagnose, "mutants", lambda model: [])
    assert list(diagnose.faulty(case, order)) == []
    product = diagnose.faulty_program(case, order)
    assert product.metadata["operator"] == "data-value-mistyped"
    wrong, right = product.programs
    with Pool(workers=1) as pool:
        scripts = [Script(p.text, p.problem, p.objective, p.status, p.files) for p in (wrong, right)]
        assert [r.reason for r in replayed(pool, scripts) if not r.passed] == []
