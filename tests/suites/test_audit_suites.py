"""The audit of suites: what was made passes, whatever is doctored is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from orpipe.build.audit_headline import EVERY, recounted, sampled
from orpipe.build.audit_records import Undecided
from orpipe.build.audit_suites import Open, Stated, instance_finding, row_checks, stated, suite_checks
from orpipe.build.case import Case
from orpipe.build.infeasible import tighten
from orpipe.build.slot import instance_row
from orpipe.config import Recipe
from orpipe.families import families
from orpipe.instances import draw
from orpipe.proof import Facts, facts
from orpipe.solve import Label, label
from orpipe.suites import Suite, build_suite, discrimination, suite_rows

Row = dict[str, Any]


@pytest.fixture(scope="module")
def made() -> list[Row]:
    return suite_rows(build_suite(families["transportation"], "standard", 0))


def faults(rows: list[Row]) -> set[str]:
    told = [t for row in rows for t in row_checks(row)] + list(suite_checks(rows))
    assert not [t for t in told if isinstance(t.finding, Open)]
    return {t.check for t in told if t.finding is not None}


def test_a_suite_as_made_passes(made: list[Row]) -> None:
    assert faults(made) == set()
    checks = [t.check for row in made for t in row_checks(row)]
    assert {"suite label", "suite certificate", "suite kill"} <= set(checks)


def data(row: Row, change: Callable[[dict[str, Any]], None]) -> Row:
    content = json.loads(row["data"])
    change(content)
    return row | {"data": json.dumps(content)}


def halve(content: dict[str, Any]) -> None:
    symbol = "c" if "c" in content else next(k for k, v in content.items() if isinstance(v, dict))
    content[symbol] = {k: {a: v / 2 for a, v in line.items()} for k, line in content[symbol].items()}


@pytest.mark.parametrize(("doctored", "check"), [
    (lambda r: r | {"objective_exact": "1"}, "suite label"),
    (lambda r: r | {"status": "infeasible", "objective_exact": None}, "suite label"),
    (lambda r: data(r, halve), "suite label"),
    (lambda r: r | {"kills": json.dumps(["inequality-as-equality: row demand_met"])}, "suite kill"),
    (lambda r: r | {"structure_hash": "0" * 16}, "suite of a known structure"),
    (lambda r: r | {"index": 7}, "suite order"),
    (lambda r: r | {"survivors": '["x"]'}, "suite survivors"),
])
def test_a_doctored_row_is_found(made: list[Row], doctored: Callable[[Row], Row], check: str) -> None:
    assert check in faults([doctored(made[0]), *made[1:]])


def test_a_mutant_killed_twice_or_surviving_is_found(made: list[Row]) -> None:
    assert "suite kills once" in faults([*made[:-1], made[-1] | {"kills": made[0]["kills"]}])
    killed = json.loads(made[0]["kills"])[:1]
    assert "suite survivors" in faults([row | {"survivors": json.dumps(killed)} for row in made])


def test_an_unknown_mutant_is_left_open(made: list[Row]) -> None:
    told = list(row_checks(made[0] | {"kills": '["no-such-operator: row x"]'}))
    assert [t.finding for t in told if t.check == "suite kill"] == [Open("this version of orpipe has no mutant 'no-such-operator: row x'")]


def test_shares_of_instances_follow_from_the_suite(made: list[Row]) -> None:
    found = stated(made)
    assert found == Stated(sum(len(json.loads(r["kills"])) for r in made), frozenset())
    suites = {"h": Stated(10, frozenset({"a", "b"}))}
    good = {"structure_hash": "h", "discrimination_headline": 0.5, "discrimination_suite": 0.9, "survivors": '["a"]'}
    assert instance_finding(good, suites) is None
    empty = {"structure_hash": "h", "discrimination_headline": None, "discrimination_suite": None, "survivors": None}
    assert instance_finding(empty, {}) is None
    for wrong, words in [({"survivors": '["c"]'}, "survivors are"), ({"discrimination_suite": 1.0}, "discrimination_suite is"),
                         ({"discrimination_headline": 0.95}, "discrimination_headline is"), ({"discrimination_headline": 0.05}, "not between"),
                         ({"survivors": None}, "survivors are"), ({"structure_hash": "g"}, "there is no suite")]:
        assert words in str(instance_finding(good | wrong, suites)), wrong


@pytest.fixture(scope="module")
def instances() -> list[tuple[Row, Suite]]:
    """Rows as a run writes them: linear and integer programs, and one that is infeasible."""
    recipe, found = Recipe(families=["knapsack", "diet"]), []
    for name in ("knapsack", "diet"):
        suite = build_suite(families[name], "standard", 0)
        drawn = draw(name, 1, 0, 8000)
        right = label(drawn.problem)
        assert isinstance(right, Label)
        pairs = [(drawn, right)]
        if name == "diet" and (tight := tighten(Case(drawn, right, 500), 0)) is not None:
            pairs.append((tight.instance, tight.label))
        for instance, proved in pairs:
            more = facts(instance.problem, proved, 500)
            assert isinstance(more, Facts)
            found.append((instance_row(instance, proved, more, discrimination(instance, proved, suite, iis=more.iis), recipe), suite))
    return found


def test_the_headline_is_tried_again_and_must_be_the_same(instances: list[tuple[Row, Suite]]) -> None:
    assert [row["status"] for row, _ in instances] == ["optimal", "optimal", "infeasible"]
    for row, suite in instances:
        assert recounted(row, suite) is None
        different = sum(len(one.kills) for one in suite.sets) + len(suite.survivors)
        for step in (-1, 1, 0.5):
            told = recounted(row | {"discrimination_headline": row["discrimination_headline"] + step / different}, suite)
            assert isinstance(told, str) and "tried again" in told
        assert "of no mutant" not in str(recounted(row | {"discrimination_headline": None}, suite))
        assert isinstance(recounted(row | {"survivors": '["x"]'}, suite), str)


def test_what_cannot_be_tried_again_is_undecided(instances: list[tuple[Row, Suite]]) -> None:
    row, suite = instances[1]
    for changed, words in (({"generator_version": "0.0.1"}, "version 0.0.1"), ({"structure_hash": "0" * 16}, "not known"),
                           ({"solution": "{}", "objective_exact": "1"}, "its solution")):
        told = recounted(row | changed, suite)
        assert isinstance(told, Undecided) and words in told.why


def test_a_fixed_sample_is_tried_again() -> None:
    met: set[str] = set()
    rows = [{"id": f"x-{k}", "structure_hash": "ab"[k % 2]} for k in range(2000)]
    chosen = [row["id"] for row in rows if sampled(row, met)]
    assert chosen[:2] == ["x-0", "x-1"] and 2000 / EVERY * 0.7 < len(chosen) < 2000 / EVERY * 1.4
    assert chosen == [row["id"] for row in rows if sampled(row, met) or row["id"] in ("x-0", "x-1")]
