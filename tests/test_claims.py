"""Claims about faulty models and optima: the audit confirms what is made and sees every doctored fact and sentence."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orpipe.build.audit_claim_kinds import CHECKS
from orpipe.build.audit_claims import claim_checks
from orpipe.build.audit_records import Known
from orpipe.build.case import Case, Unmade
from orpipe.build.effects import explained, growth, is_ray
from orpipe.build.infeasible import tighten
from orpipe.build.phrases import counted
from orpipe.build.plan import Order
from orpipe.build.products import make
from orpipe.build.products.diagnose import Faulty, faulty, infeasible_data, right_value, told
from orpipe.build.products.solve import impossible
from orpipe.build.slot import instance_row, product_row
from orpipe.config import Recipe
from orpipe.families import families
from orpipe.ground import ground
from orpipe.instances import draw
from orpipe.mutate import mutants
from orpipe.problem import Problem
from orpipe.proof import Facts, facts
from orpipe.proof.ranging import shifted
from orpipe.solve import Label, label

Row = dict[str, Any]
HERE = Path(__file__).parent


@cache
def case_of(name: str, index: int = 0) -> Case:
    instance = draw(name, 1 + index % 2, 3, index)
    found = label(instance.problem, nodes=100_000)
    assert isinstance(found, Label) and found.status == "optimal"
    return Case(instance, found, proof_nodes=200)


def rows_of(case: Case, product: Any) -> tuple[Row, Known]:
    """The row of an example and what the audit knows of its instance, as they stand in a dataset."""
    instance, found = product.extra_instances[0] if product.extra_instances else (case.instance, case.label)
    known = facts(instance.problem, found, 0)
    assert isinstance(known, Facts)
    return product_row(case, product), Known.of(instance_row(instance, found, known, None, RECIPE), "train")


RECIPE = Recipe()


@cache
def examples() -> list[tuple[Row, Known]]:
    """Of every family `solve` and the kinds of `diagnose`, and right values from wrong models where those are common."""
    made = []
    for place, name in enumerate(families.names()):
        case = case_of(name, place)
        for variant in (place % 4, 4 + (place + 1) % 4):
            made.append(rows_of(case, make(case, Order("diagnose", "text", "pulp", variant))))
        made.append(rows_of(case, make(case, Order("solve", "text", "pulp", place))))
    for name in ("bin_packing", "portfolio_cardinality"):
        for index in range(4):
            try:
                made.append(rows_of(case_of(name, index), right_value(case_of(name, index), Order("diagnose", "text", "", index))))
            except Unmade:
                continue
    for name in ("diet", "transportation", "cutting_stock"):
        tight = tighten(case_of(name), 1)
        assert tight is not None
        made.append(rows_of(case_of(name), impossible(case_of(name), Order("solve", "text", "pulp", 0), tight)))
    return made


def test_every_wording_of_infeasible_data_names_its_conflict() -> None:
    made = 0
    for variant in range(12):
        with contextlib.suppress(Unmade):
            product = infeasible_data(case_of("cutting_stock", 1), Order("diagnose", "text", "", variant))
            assert findings(*rows_of(case_of("cutting_stock", 1), product)) == []
            made += 1
    assert made > 4


def claims_of(row: Row) -> list[Row]:
    return json.loads(row["metadata"]).get("claims", [])


def findings(row: Row, known: Known) -> list[str]:
    return [str(finding) for _, finding in claim_checks(row, known) if finding is not None]


def test_what_is_made_holds() -> None:
    kinds = set()
    for row, known in examples():
        assert findings(row, known) == [], row["id"]
        kinds |= {c["claim"] for c in claims_of(row)}
    assert {"breach", "worth", "conflict", "price", "only", "held", "shared"} <= kinds <= set(CHECKS)


def doctored(row: Row) -> Iterator[tuple[str, Row]]:
    """Each claim with a fact moved, a number in the sentence moved (in the text too), its sentence out of the text."""
    meta = json.loads(row["metadata"])
    for k, claim in enumerate(meta.get("claims", [])):
        for key, value in claim["values"].items():
            if value is not None and key not in ("step", "others"):
                other = deepcopy(meta)
                other["claims"][k]["values"][key] = str(Fraction(value) + Fraction(1, 3))
                yield f"{claim['claim']} {key}", row | {"metadata": json.dumps(other)}
        bare = re.sub(r"`[^`]*`", lambda m: "`" * len(m[0]), claim["text"])
        number = next(iter(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?", bare)), None)
        lied = "never " + claim["text"] if number is None else claim["text"][:number.start()] + "7654.25" + claim["text"][number.end():]
        messages = [m | {"content": m["content"].replace(claim["text"], lied)} for m in row["messages"]]
        silent = [m | {"content": m["content"].replace(claim["text"], "")} for m in row["messages"]]
        yield f"{claim['claim']} out of the text", row | {"messages": silent}
        if number is not None:
            other = deepcopy(meta)
            other["claims"][k]["text"] = lied
            yield f"{claim['claim']} number", row | {"messages": messages, "metadata": json.dumps(other)}


def test_every_doctored_claim_is_seen() -> None:
    seen = set()
    for row, known in examples():
        for what, lie in doctored(row):
            assert findings(lie, known), f"{row['id']}: {what}"
            seen.add(what)
    assert {"breach reported", "breach number", "price up", "price price", "worth gap", "conflict out of the text"} <= seen


def test_another_place_another_fault_and_another_plan_are_seen() -> None:
    places = 0
    for row, known in examples():
        meta = json.loads(row["metadata"])
        for k, claim in enumerate(meta.get("claims", [])):
            if claim["claim"] in ("breach", "conflict", "growth", "refused") and claim["at"]:
                other = deepcopy(meta)
                other["claims"][k]["at"] = ["nowhere", *claim["at"][1:]]
                assert findings(row | {"metadata": json.dumps(other)}, known), f"{row['id']}: {claim['claim']}"
                places += 1
        if "faulty_plan" in meta:
            other = meta | {"faulty_plan": dict(list(meta["faulty_plan"].items())[1:])}
            value = Fraction(meta["faulty_objective"])
            assert not meta["faulty_plan"] or findings(row | {"metadata": json.dumps(other)}, known) or value == 0, row["id"]
        if "operator" in meta:
            assert findings(row | {"metadata": json.dumps(meta | {"site": "row nowhere"})}, known)
    assert places > 5


def test_a_shadow_price_explains_a_wrong_right_hand_side() -> None:
    """Demand counted twice in the golden transportation instance and its like: the change of the optimum is price times change, or the
    claim says that the price does not reach so far."""
    found = []
    for name in ("transportation", "production_planning"):
        for index in range(2):
            case = case_of(name, index)
            found += [(case, f, c) for f in faulty(case, Order("diagnose", "text", "", index), tries=25)
                      for c in told(case, f, variant=0)["claims"] if c.kind == "explained"]
    assert found
    for case, fault, c in found:
        change = fault.label.objective_exact - case.label.objective_exact
        assert c.values["change"] == change and ("due" in c.values) == (c.values["price"] * c.values["shift"] != change)
    case = case_of("transportation")
    i = next(k for k, d in enumerate(case.label.duals or ()) if d)
    near, far = (label(p) for p in (shifted(case.instance.problem, i, Fraction(1, 2)), shifted(case.instance.problem, i, Fraction(-1, 2))))
    for moved, half in ((near, Fraction(1, 2)), (far, Fraction(-1, 2))):
        claim = explained(case, shifted(case.instance.problem, i, half), moved)
        assert claim is not None and "whole difference" in claim.text and claim.values["shift"] == half


def test_growth_is_a_ray_and_its_gain_is_exact() -> None:
    seen = []
    for name in ("cutting_stock", "facility_location_capacitated", "transportation"):
        case = case_of(name, 1)
        for mutant in mutants(case.model):
            if mutant.operator.id not in ("lower-bound-missing", "term-sign-flipped", "sense-flipped"):
                continue
            problem = ground(mutant.model, case.instance.data)
            found = label(problem)
            claim = growth(case, problem, found, "faulty model") if isinstance(found, Label) and found.status == "unbounded" else None
            if claim is not None:
                step = problem.point({k: Fraction(v) for k, v in claim.more["step"].items()})
                assert is_ray(problem, step) and abs(problem.objective(step) - problem.offset) == claim.values["gain"]
                assert not is_ray(problem, [-d for d in step]) and not is_ray(case.instance.problem, step)
                seen.append(claim)
    assert len(seen) >= 2
    p = Problem.from_arrays(cost=[1, 1], matrix=[[1, -1]], row_lower=[0], row_upper=[0], lower=[0, 0], upper=[np.inf, np.inf],
                            integer=[False, True], maximize=True)
    assert is_ray(p, [Fraction(1), Fraction(1)]) and not is_ray(p, [Fraction(1), Fraction(0)])
    assert not is_ray(p, [Fraction(1, 2), Fraction(1, 2)])


def test_the_same_number_from_a_wrong_model() -> None:
    case = case_of("bin_packing", 1)
    product = right_value(case, Order("diagnose", "text", "", 1))
    meta = product.metadata
    assert product.subtask == "right-value" and Fraction(meta["faulty_objective"]) == case.label.objective_exact
    plan = case.instance.problem.point({k: Fraction(v) for k, v in meta["faulty_plan"].items()})
    assert case.instance.problem.violations(plan)


@pytest.mark.parametrize("name", ["knapsack"])
def test_without_a_variant_a_fault_tells_its_plan_only(name: str) -> None:
    case = case_of(name)
    fault = next(f for f in faulty(case, Order("diagnose", "text", "", 0)) if f.label.status == "optimal")
    assert isinstance(fault, Faulty) and len(fault.claims(case, None, "faulty model")) <= 1


def test_a_number_without_unit_is_said_without_one() -> None:
    """«is given the value about 0.966667 1», of a yes-or-no choice, was found by the audit of a run."""
    scenario = case_of(families.names()[0]).instance.scenario
    assert counted("0.966667", "1", scenario) == "0.966667" and counted("1", "1", scenario) == "1" and counted("3", "", scenario) == "3"
    assert counted("2", "minutes", scenario) == "2 minutes"
