"""Suites: the same each time, every kill a kill, survivors honest, and what an instance's own data tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orpipe.algebra.idioms import lower
from orpipe.build.case import Case
from orpipe.build.infeasible import tighten
from orpipe.build.schema import CONFIGS
from orpipe.data import validate
from orpipe.errors import UsageError
from orpipe.exact import fraction
from orpipe.families import families
from orpipe.ground import Variants, ground, ground_arrays, structure_hash
from orpipe.instances import draw
from orpipe.mutate import mutants
from orpipe.mutate.places import parameters
from orpipe.proof.iis import iis
from orpipe.render.files import entries
from orpipe.solve import Label, label
from orpipe.suites import Shelf, Suite, build_suite, discrimination, read_suites, shelf, suite_rows
from orpipe.suites.candidates import candidates, shaped
from orpipe.suites.kills import Trial
from orpipe.suites.same import content
from orpipe.suites.spread import spread

SMALL = ("knapsack", "transportation", "min_cost_flow", "production_planning")


@pytest.fixture(scope="module")
def suites() -> dict[str, Suite]:
    return {name: build_suite(families[name], families[name].formulations[0], 0) for name in SMALL}


def key(suite: Suite) -> list[dict[str, object]]:
    return suite_rows(suite)


@pytest.mark.parametrize("name", SMALL)
def test_each_data_set_has_its_label_and_its_kills(suites: dict[str, Suite], name: str) -> None:
    suite, linear = suites[name], lower(families[name].symbolic())
    assert suite.structure_hash == structure_hash(families[name].symbolic()) and 3 <= len(suite.sets) <= 8
    by_key = {str(m): m for m in mutants(linear)}
    dead: set[str] = set()
    for one in suite.sets:
        found = label(ground(linear, one.data))
        assert isinstance(found, Label) and (found.status, found.objective_exact) == (one.status, one.objective_exact)
        assert one.certificate == "exact" and not dead & set(one.kills)
        dead |= set(one.kills)
        for mutant in one.kills:
            faulty = label(ground(by_key[mutant].model, one.data))
            assert isinstance(faulty, Label)
            assert (faulty.status, faulty.objective_exact) != (one.status, one.objective_exact), mutant
    assert not dead & set(suite.survivors) and dead | set(suite.survivors) <= by_key.keys()
    assert len(dead) / (len(dead) + len(suite.survivors)) >= 0.95


def test_a_suite_depends_on_family_formulation_and_seed_alone(suites: dict[str, Suite]) -> None:
    family = families["min_cost_flow"]
    assert key(build_suite(family, "standard", 0)) == key(suites["min_cost_flow"]) != key(build_suite(family, "standard", 1))


def test_more_data_sets_kill_again_what_few_have_killed() -> None:
    class Fake:
        def __init__(self, *kills: str):
            self.kills = kills

        def fate(self, m: str, nodes: int, sure: bool) -> str:
            return "killed" if m in self.kills else "alive"

    kept, often, rare, none = Fake("a", "b", "c"), Fake("a", "b"), Fake("d"), Fake()

    def chosen(least: int, most: int, pool: str = "abcd") -> list[Fake]:
        return list(spread([kept], [none, rare, often], pool, least, most, 0))  # type: ignore[arg-type]

    assert chosen(1, 6) == [rare, often] == chosen(3, 3)  # nothing has killed d so far
    assert chosen(4, 6) == [rare, often, none] and chosen(1, 2) == [rare] and chosen(1, 1) == []
    assert chosen(1, 6, "d") == [rare]


@pytest.mark.parametrize("name", ["min_cost_flow", "portfolio_cardinality", "tsp"])
def test_shapes_of_data_that_ordinary_draws_seldom_have(name: str) -> None:
    family = families[name]
    linear = lower(family.symbolic())
    found = list(shaped(family, family.formulations[0], linear, 5))
    assert [c.how for c in found[:3]] == ["fine", "dear", "fine, all x 11/10"] and [c.how for c in found[-2:]] == ["fine", "dear"]
    assert {(c.how, c.level) for c in found[-2:]} == {("fine", 2), ("dear", 2)}
    prices = {p for t in linear.objective.terms for p in parameters(t.expr)}
    for one in found:
        validate(linear, one.data)
    fine, dear, even = (c.data for c in found[:3])

    def numbers(data: Mapping[str, Any], symbol: str) -> list[Fraction]:
        return [fraction(e.value) for e in entries(linear, data, linear.param_by[symbol])]

    for p in linear.params:
        plain = [v / (1000 if p.symbol in prices else 1) for v in numbers(dear, p.symbol)]
        if p.integer:
            assert numbers(fine, p.symbol) == plain
        else:
            assert all(abs(a - b) <= abs(b) * Fraction(1, 4) for a, b in zip(numbers(fine, p.symbol), plain, strict=True))
            assert numbers(even, p.symbol) == [v * Fraction(11, 10) for v in plain]
    if name == "min_cost_flow":
        assert sum(numbers(even, "b")) == 0
    assert any(v.denominator > 1 for p in linear.params for v in numbers(fine, p.symbol))


def test_what_is_proved_harmless_is_no_survivor() -> None:
    family = families["transportation"]
    pool = {str(m): m for m in mutants(lower(family.symbolic()))}
    suite = build_suite(family, "standard", 0, pool=[pool["inequality-as-equality: row demand_met"]])
    assert len(suite.sets) == 3 and suite.survivors == () and all(one.kills == () for one in suite.sets)


def test_survivors_are_told(suites: dict[str, Suite], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as blind:
        blind.setattr(Trial, "fate", lambda *_, **__: "alive")
        suite = build_suite(families["knapsack"], "standard", 0)
    killed = {k for one in suites["knapsack"].sets for k in one.kills}
    assert set(suite.survivors) == killed and all(one.kills == () for one in suite.sets)


@pytest.mark.parametrize("name", ["lot_sizing_capacitated", "tsp", "staff_scheduling"])
def test_stressed_data_fit_the_model_and_keep_signs(name: str) -> None:
    family = families[name]
    linear = lower(family.symbolic())
    aims = tuple(p.symbol for p in linear.params)
    found = [c for turn in range(4) for c in candidates(family, family.formulations[0], linear, 5, turn, aims)]
    assert len({json.dumps(c.data, sort_keys=True) for c in found}) == len(found) > 12
    assert sum(c.how != "natural" for c in found) > 12
    for one in found:
        arrays = validate(linear, one.data)
        for param in linear.params:
            if param.sign == "positive":
                assert all(v > 0 for v in arrays.params[param.symbol].fractions())


def test_shares_count_what_the_data_and_the_suite_kill(suites: dict[str, Suite]) -> None:
    instance, suite = draw("knapsack", 1, 0, 0), suites["knapsack"]
    found = label(instance.problem)
    assert isinstance(found, Label)
    told = discrimination(instance, found, suite)
    by_key = {str(m): m for m in mutants(lower(instance.family.symbolic()))}
    killed = [k for one in suite.sets for k in one.kills]
    answers = {k: label(ground(by_key[k].model, instance.data)) for k in killed}
    own = [k for k, a in answers.items() if isinstance(a, Label) and (a.status, a.objective_exact) != (found.status, found.objective_exact)]
    assert told.headline == pytest.approx(len(own) / len(killed)) and 0 < told.headline < 1
    assert told.suite == 1 and told.survivors == ()
    none = discrimination(instance, found, Suite("x", "knapsack", "standard", (), ("no such mutant",)))
    assert (none.headline, none.suite, none.survivors) == (None, None, ())
    left = discrimination(instance, found, Suite("x", "knapsack", "standard", (), tuple(killed)))
    assert left.headline == left.suite == told.headline and set(left.survivors) == set(killed) - set(own)


@pytest.mark.parametrize("name", ["assignment", "transportation", "lot_sizing_capacitated"])
def test_mutants_of_other_columns_leave_no_point_for_the_rest(name: str) -> None:
    instance = draw(name, 1, 0, 1)
    found, linear = label(instance.problem), lower(instance.family.symbolic(instance.formulation))
    assert isinstance(found, Label)
    trial = Trial(linear, instance.data, instance.problem, found)
    pool = mutants(linear)
    wider = [m for m in pool if (p := trial.grounded(m)) is not None and p.columns != trial.problem.columns]
    fates = [trial.fate(m, 60, sure=False) for m in (*wider, *pool)]
    assert wider and {len(x) for x in trial.seen} == {trial.problem.n_vars}
    assert fates.count("killed") > len(pool) // 2


@pytest.mark.parametrize(("name", "level"), [("diet", 1), ("facility_location_capacitated", 1), ("cutting_stock", 2), ("knapsack", 2), ("tsp", 1)])
def test_fates_are_those_that_labels_tell(name: str, level: int) -> None:
    """Arguments without a solve, relaxations, early stops and cut-offs change no verdict."""
    instance = draw(name, level, 0, 8800)
    found, linear = label(instance.problem), lower(instance.family.symbolic(instance.formulation))
    assert isinstance(found, Label)
    trial, pool = Trial(linear, instance.data, instance.problem, found), mutants(linear)
    fates = {str(m): trial.fate(m, 3000, sure=False) for m in pool}
    for m in pool:
        faulty = trial.grounded(m)
        told = None if faulty is None else label(faulty)
        if isinstance(told, Label) and fates[str(m)] != "open":
            assert fates[str(m)] == ("killed" if trial.differs(told) else "alive"), m
    assert list(fates.values()).count("open") <= 1


def test_a_conflict_that_stands_leaves_an_infeasible_model_infeasible() -> None:
    drawn = draw("diet", 1, 0, 8000)
    right = label(drawn.problem)
    assert isinstance(right, Label)
    tight = tighten(Case(drawn, right, 500), 0)
    assert tight is not None
    linear, data, problem, found = lower(drawn.family.symbolic(drawn.formulation)), tight.instance.data, tight.instance.problem, tight.label
    conflict = tuple(json.loads(iis(problem) or "[]"))
    told, plain = (Trial(linear, data, problem, found, rows) for rows in (conflict, ()))
    assert conflict and [told.fate(m, 60, sure=False) for m in mutants(linear)] == [plain.fate(m, 60, sure=False) for m in mutants(linear)]
    assert sum(told.right.answers(p) for m in mutants(linear) if (p := told.grounded(m)) is not None and p.columns == problem.columns) > 5


def test_variants_ground_as_models_do_alone() -> None:
    for name in ("lot_sizing_capacitated", "job_shop", "tsp", "transportation"):
        instance = draw(name, 1, 0, 3)
        linear = lower(instance.family.symbolic(instance.formulation))
        arrays = validate(linear, instance.data)
        variants = Variants(linear, arrays)
        for m in mutants(linear):
            shared, alone = variants.ground(m.model), ground_arrays(m.model, arrays)
            assert (shared.columns, shared.rows) == (alone.columns, alone.rows) and content(shared) == content(alone), m
            assert shared.matrix_exact.den == alone.matrix_exact.den and (shared.matrix_exact.num == alone.matrix_exact.num).all()


def test_a_shelf_builds_once_and_mends_what_was_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = shelf._built
    monkeypatch.setattr(shelf, "_built", lambda *a: calls.append(a) or real(*a))
    family = families["knapsack"]
    first = Shelf(tmp_path, 0, 500).suite(family, "standard")
    again = Shelf(tmp_path, 0, 500).of_structure("knapsack", first.structure_hash)
    assert key(again) == key(first) and len(calls) == 1
    stored = tmp_path / f"suite-{first.structure_hash}.json"
    stored.write_text(stored.read_text()[:-9])
    assert key(Shelf(tmp_path, 0, 500).suite(family, "standard")) == key(first) and len(calls) == 2
    with pytest.raises(KeyError):
        Shelf(tmp_path, 0, 500).of_structure("knapsack", "0" * 16)


def test_suites_are_read_back_from_a_folder(suites: dict[str, Suite], tmp_path: Path) -> None:
    assert read_suites(tmp_path) == {}
    rows = [row for suite in suites.values() for row in suite_rows(suite)]
    (tmp_path / "suites").mkdir()
    path = tmp_path / "suites" / "test-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(rows[::-1], schema=CONFIGS["suites"]), path)
    found = read_suites(tmp_path)
    assert {k: key(s) for k, s in found.items()} == {s.structure_hash: key(s) for s in suites.values()}
    best = found[suites["knapsack"].structure_hash].sets[0].objective_exact
    assert isinstance(best, Fraction)
    path.write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="holds no readable suites"):
        read_suites(tmp_path)


def test_points_of_mutants_with_other_variables_are_not_tried_on_others() -> None:
    instance = draw("assignment", 1, 0, 0)
    found = label(instance.problem)
    assert isinstance(found, Label)
    trial = Trial(lower(instance.family.symbolic()), instance.data, instance.problem, found)
    made = mutants(trial.linear)
    other = {str(m) for m in made if (p := trial.grounded(m)) is not None and p.columns != trial.problem.columns}
    assert other and {trial.fate(m, 100_000, sure=False) for m in made} <= {"killed", "alive", "open"}
    assert trial.seen and all(len(x) == trial.problem.n_vars for x in trial.seen)
