"""Preference pairs: a verified answer and a mis-modelled one in the same form, both replayed."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace
from fractions import Fraction

import pytest

from orpipe.build.audit_records import Known
from orpipe.build.audit_texts import preference_checks, present, programs
from orpipe.build.case import Case, Product
from orpipe.build.plan import Order, plan
from orpipe.build.products import make
from orpipe.build.schema import PREFERENCE
from orpipe.build.slot import product_row, replayed
from orpipe.config import Recipe
from orpipe.instances import draw
from orpipe.mutate import operator_by_id
from orpipe.solve import Label, label
from orpipe.verify.replay import Script
from orpipe.verify.sandbox import Pool


def case_of(name: str) -> Case:
    instance = draw(name, 1, 0, 0)
    found = label(instance.problem)
    assert isinstance(found, Label)
    return Case(instance, found)


@pytest.fixture(scope="module")
def made() -> list[tuple[Case, Product]]:
    """One family with plain rows, one with idioms, data in the text and in files."""
    orders = (("knapsack", "text", "pulp"), ("job_shop", "files", "highspy"), ("portfolio_cardinality", "tables", "pyomo"))
    cases = [(case_of(name), Order("preference", interface, dialect, k)) for k, (name, interface, dialect) in enumerate(orders)]  # type: ignore[arg-type]
    return [(case, make(case, order)) for case, order in cases]


def test_both_answers_are_in_one_form_and_only_one_is_right(made: list[tuple[Case, Product]]) -> None:
    for case, product in made:
        (ask, _), (role, chosen), ((wrong_role, rejected),) = *product.messages, product.rejected
        assert (ask, role, wrong_role) == ("user", "assistant", "assistant")
        bare = [re.sub(r"```(\w*)\n.*?```", r"```\1", text, flags=re.DOTALL) for text in (chosen, rejected)]  # comments of code are no headings
        headings = [[line for line in text.splitlines() if line.startswith(("#", "```"))] for text in bare]
        assert headings[0] == headings[1] and chosen != rejected
        right, wrong = product.programs
        assert right.problem.difference(case.instance.problem) is None and wrong.problem.difference(case.instance.problem) is not None
        operator_by_id(product.metadata["operator"])
        assert Fraction(product.metadata["rejected_objective_exact"]) != case.label.objective_exact
        assert product.metadata["reason"].endswith(".") and product.metadata["rejected_status"] == "optimal"


def test_both_programs_build_what_is_claimed(made: list[tuple[Case, Product]]) -> None:
    scripts = [Script(p.text, p.problem, p.objective, p.status, p.files) for _, product in made for p in product.programs]
    with Pool(workers=1) as pool:
        assert [r.reason for r in replayed(pool, scripts) if not r.passed] == []
        # the rejected program is no program of the right model
        right, wrong = made[0][1].programs
        (swapped,) = replayed(pool, [Script(wrong.text, right.problem, right.objective, right.status, wrong.files)])
        assert not swapped.passed


def test_rows_have_the_columns_and_the_audit_sees_through_a_false_one(made: list[tuple[Case, Product]]) -> None:
    case, product = made[0]
    row = product_row(case, product)
    assert set(row) == set(PREFERENCE.names)
    assert [m["role"] for m in (*row["prompt"], *row["chosen"], *row["rejected"])] == ["user", "assistant", "assistant"]
    known = Known(row["instance_id"], "train", row["status"], row["objective"], row["objective_exact"], b"")
    known = replace(known, packed=zlib.compress(b'{"data": "{}"}'))

    def faults(changed: dict[str, object]) -> set[str]:
        return {name for name, finding in preference_checks({**row, **changed}, known) if finding is not None}

    assert faults({}) == set()
    assert faults({"rejected_objective_exact": row["objective_exact"]}) == {"rejected differs"}
    assert faults({"rejected": row["chosen"]}) == {"rejected differs"}
    assert faults({"chosen": row["rejected"]}) == {"optimum stated", "rejected differs"}
    assert faults({"rejected": []}) == {"rejected messages"}
    found = programs("preference", row, known)
    assert [(e.faulty, e.objective) for e in found] == [(False, None), (True, float(Fraction(row["rejected_objective_exact"])))]
    assert present(row, found) is None and present(row, found[:1]) is not None


def test_a_plan_has_pairs_only_where_they_are_asked_for_and_the_rest_stays() -> None:
    base = Recipe(seed=3, sft=8, cpt=2, families=("knapsack", "tsp"), levels=(1,)).resolved()
    plain, more = plan(base), plan(base.model_copy(update={"preference": 2}))
    assert all(o.task != "preference" for slot in plain for o in slot.orders)
    assert sum(o.task == "preference" for slot in more for o in slot.orders) == 2
    assert [tuple(o for o in slot.orders if o.task != "preference") for slot in more] == [slot.orders for slot in plain]
