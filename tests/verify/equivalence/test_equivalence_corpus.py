"""Families, their mutants and harmless reformulations, and labelled pairs from outside."""

from __future__ import annotations

import gzip
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from orpipe.errors import NotFound, OrpipeError
from orpipe.families import families
from orpipe.ground import ground
from orpipe.instances import draw
from orpipe.mps import read_mps, write_mps
from orpipe.mutate import mutants
from orpipe.mutate.harmless import Sheet, reformulation, reformulation_by_id, reformulations
from orpipe.problem import Problem
from orpipe.testing import equivalence_truth as truth
from orpipe.testing.verifier_corpus import SHARED, disguised
from orpipe.verify import compare
from orpipe.verify.equivalence.lifting import few_points
from orpipe.verify.equivalence.normalise import normalise
from orpipe.verify.equivalence.roles import thinned_map
from orpipe.verify.verdict import Verdict

PAIRS = SHARED / "formulation_pairs"
FORMULATIONS = [(f.name, v) for f in families for v in f.formulations]
WRONG = (Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM)


def test_there_are_enough_reformulations_and_all_apply_somewhere() -> None:
    assert len(reformulations()) >= 30
    problems = [draw(name, 1, 0, 0, formulation=v).problem for name, v in FORMULATIONS]
    rng = np.random.default_rng(0)
    idle = [r.id for r in reformulations() if all(r.apply(p, rng) is None for p in problems)]
    assert set(idle) <= {"binary-expansion", "links-joined"}  # no family has the pattern at this level; see below


def test_a_sheet_keeps_a_problem() -> None:
    for name, formulation in FORMULATIONS:
        p = draw(name, 2, 0, 0, formulation=formulation).problem
        q = Sheet.of(p).problem()
        assert p.difference(q, rtol=0) is None
        assert (p.decision == q.decision).all()
        assert write_mps(p) == write_mps(q)


def test_the_registry_refuses_doubles_and_unknown_names() -> None:
    with pytest.raises(OrpipeError, match="rows-scaled"):
        reformulation("rows-scaled", "again", "again")(lambda sheet, rng: False)
    with pytest.raises(NotFound, match="rows-scaled"):
        reformulation_by_id("row-scaled")


@pytest.mark.parametrize(("name", "formulation"), FORMULATIONS)
def test_reformulations_are_accepted_whatever_the_names(name: str, formulation: str) -> None:
    a = draw(name, 1, 1, 0, formulation=formulation).problem
    for change in reformulations():
        b = change.apply(a, np.random.default_rng(7))
        if b is None:
            continue
        for regime in ("kept", "families"):
            found = compare(a, disguised(b, regime, np.random.default_rng(3)))
            assert found.verdict is Verdict.EQUIVALENT, f"{change.id}, names {regime}: {found}"
        anonymous = compare(a, disguised(b, "anonymous", np.random.default_rng(3)))
        assert anonymous.verdict in (Verdict.EQUIVALENT, Verdict.SAME_OPTIMUM), f"{change.id}: {anonymous}"


@pytest.mark.parametrize(("name", "formulation"), FORMULATIONS)
def test_mutants_are_caught_or_proved_to_change_nothing(name: str, formulation: str) -> None:
    """Truth by another road: rows maximised by two solver families, evidence checked in exact arithmetic."""
    instance = draw(name, 1, 2, 0, formulation=formulation)
    a = instance.problem
    for mutant in mutants(instance.linear, np.random.default_rng(5), 18):
        try:
            b = ground(mutant.model, instance.data)
        except OrpipeError:
            continue
        found = compare(a, replace(b, decision=np.ones(b.n_vars, bool)))
        if found.verdict is Verdict.EQUIVALENT:
            assert not found.method.startswith("probes")
            assert truth.equal(a, b) is not False, f"{mutant}: {found}"
        else:
            assert found.verdict in WRONG, f"{mutant}: {found}"
            assert truth.holds(a, b, found) is not False, f"{mutant}: {found}"


@pytest.mark.parametrize("level", [1, 2])
def test_two_formulations_of_the_tour_allow_the_same_tours(level: int) -> None:
    ordering, flow = (draw("tsp", level, 4, 0, formulation=v, scenario_id="").problem for v in ("ordering", "flow"))
    for a, b in ((ordering, flow), (flow, ordering)):
        found = compare(a, b, budget=30.0)
        assert found.verdict is Verdict.EQUIVALENT, found
        assert found.method in ("containment", "projection")
        assert {m.a for m in found.map} >= {c for c, d in zip(a.columns, a.decision, strict=True) if d}


def test_a_tour_without_its_subtour_rows_is_refuted_by_a_subtour() -> None:
    a = draw("tsp", 2, 4, 0, formulation="ordering").problem
    instance = draw("tsp", 2, 4, 0, formulation="flow")
    loose = next(m for m in mutants(instance.linear) if str(m) == "subtour-elimination-missing: row no_subtours")
    found = compare(a, ground(loose.model, instance.data))
    assert found.verdict in WRONG
    if found.witness is not None:
        assert found.witness.allowed_by == "b"


def test_whole_numbers_by_digits_and_joined_links() -> None:
    """The two reformulations that no family shows at level 1."""
    staff = Sheet.of(draw("cutting_stock", 1, 0, 0).problem)
    for c in staff.columns:
        c.high = c.high or 13  # type: ignore[assignment]
    bounded = staff.problem()
    digits = reformulation_by_id("binary-expansion").apply(bounded, np.random.default_rng(0))
    assert digits is not None
    assert compare(bounded, digits).verdict is Verdict.EQUIVALENT
    mps = ("NAME links\nROWS\n N obj\n L a\n L b\n G need\nCOLUMNS\n M 'MARKER' 'INTORG'\n z obj 5\n z a -1\n z b -1\n x obj 1\n x a 1\n x need 1\n"
           " y obj 2\n y b 1\n y need 1\n M 'MARKER' 'INTEND'\nRHS\n RHS need 1\nBOUNDS\n BV BND x\n BV BND y\n BV BND z\nENDATA\n")
    links = read_mps(mps)
    joined = reformulation_by_id("links-joined").apply(links, np.random.default_rng(0))
    assert joined is not None
    assert (links.n_rows, joined.n_rows) == (3, 2)
    assert compare(links, joined).verdict is Verdict.EQUIVALENT


def test_an_unmatched_decision_is_never_guessed_away() -> None:
    """The reference asks for how much to store; an answer without stock is only accepted if production settles it."""
    a = draw("lot_sizing_capacitated", 1, 0, 0).problem
    rng = np.random.default_rng(1)
    without = reformulation_by_id("variable-substituted").apply(a, rng)
    assert without is not None
    assert compare(a, without).verdict is Verdict.EQUIVALENT
    sheet = Sheet.of(a)
    j = next(k for k, c in enumerate(sheet.columns) if not c.whole)
    sheet.columns[j].name, sheet.columns[j].cost = "something_else", sheet.columns[j].cost + 1
    assert compare(a, sheet.problem()).verdict is not Verdict.EQUIVALENT


def load(name: str) -> Problem:
    return read_mps(gzip.decompress((PAIRS / name).read_bytes()).decode())


SMALL = ("p1_", "p3_", "p5_")


@pytest.mark.skipif(not PAIRS.is_dir(), reason=f"labelled pairs are not beside the repository ({PAIRS.name})")
def test_labelled_pairs_are_never_contradicted() -> None:
    entries = [p for p in json.loads((PAIRS / "pairs.json").read_text()) if p["a"].startswith(SMALL)]
    assert len(entries) == 27
    decided = 0
    for p in entries:
        a, b = load(p["a"]), load(p["b"])
        for one, other in ((a, b), (b, a)):
            # the label allows objectives that are multiples of each other
            found = compare(one, other, scale_free=p["b"].endswith("_g.mps.gz"))
            if found.decided:
                decided += 1
                assert (found.verdict is Verdict.EQUIVALENT) is p["equivalent"], f"{p['a']} {p['b']}: {found}"
    assert decided >= 42


def test_points_are_listed_whole_and_without_those_that_rows_exclude() -> None:
    for name in ("knapsack", "bin_packing", "facility_location_capacitated", "tsp"):
        form = normalise(draw(name, 1, 0, 0).problem)
        columns = np.flatnonzero(form.whole & np.isfinite(form.high))[:9]
        alone = ~(form.A[:, np.setdiff1d(np.arange(form.n), columns)] != 0).any(1)
        every = itertools.product(*(range(int(form.low[j]), int(form.high[j]) + 1) for j in columns))
        values = [(v, form.A[alone][:, columns] @ np.array(v)) for v in every]
        assert few_points(form, columns) == [v for v, sums in values if ((form.lo[alone] <= sums) & (sums <= form.hi[alone])).all()]
    assert few_points(form, np.arange(form.n)) is None  # amounts among them


@pytest.mark.parametrize("level", [1, 2])
def test_a_huge_big_m_on_a_flow_changes_no_tour(level: int) -> None:
    """The loads may circulate, the tours may not: every tour is completed in both models."""
    instance = draw("tsp", level, 0, 0, formulation="flow")
    huge = next(m for m in mutants(instance.linear) if m.operator.id == "big-m-huge")
    b = replace(ground(huge.model, instance.data), decision=np.ones(instance.problem.n_vars, bool))
    found = compare(instance.problem, b, budget=60.0)
    assert found.verdict is Verdict.EQUIVALENT and found.method in ("containment", "projection"), str(found)


@pytest.mark.parametrize("family", ["diet", "transportation", "lot_sizing_capacitated"])
def test_a_limit_that_became_a_penalty_is_seen_without_names(family: str) -> None:
    """Without its further column the mutant is the reference, in one way only: that pins the map, and under it a point refutes."""
    instance = draw(family, 1, 0, 0)
    seen = 0
    for mutant in (m for m in mutants(instance.linear) if m.operator.id == "limit-as-penalty"):
        b = disguised(ground(mutant.model, instance.data), "anonymous", np.random.default_rng(1))
        found = compare(instance.problem, b, budget=60.0)
        assert found.verdict is not Verdict.EQUIVALENT or truth.equal(instance.problem, ground(mutant.model, instance.data)) is not False
        seen += found.verdict in WRONG
    assert seen


def test_a_further_column_pins_no_map_where_the_rest_is_symmetric() -> None:
    """Two interchangeable columns: which is which is a choice, and a choice refutes nothing."""
    def model(cost: list[float], matrix: list[list[float]], high: list[float]) -> Problem:
        n = len(cost)
        return Problem.from_arrays(cost=cost, matrix=np.array(matrix), row_lower=[2.0, *[-np.inf] * (len(high) - 1)], row_upper=high, lower=[0.0] * n,
                                   upper=[9.0] * n, integer=[False] * n)

    a = normalise(model([1, 1], [[1, 1]], [np.inf]))
    b = normalise(model([7, 1, 1], [[0, 1, 1], [1, 1, 2]], [np.inf, 50.0]))
    found = thinned_map(a, b, np.ones(2, bool))
    assert found is None or not found.trusted
    apart = normalise(model([1, 2], [[1, 1]], [np.inf]))
    wider = normalise(model([7, 2, 1], [[1, 1, 1]], [np.inf]))
    pinned = thinned_map(apart, wider, np.ones(2, bool))
    assert pinned is not None and pinned.trusted and [(p.a, p.b) for p in pinned.pairs] == [(0, 2), (1, 1)]
    # the further column cannot be at 0, or there is none
    assert thinned_map(apart, replace(wider, low=wider.low + 1.0), np.ones(2, bool)) is None and thinned_map(a, a, np.ones(2, bool)) is None


@pytest.mark.parametrize("operator", ["equality-relaxed", "binary-as-integer"])
def test_alike_bins_leave_the_map_certain_up_to_their_order(operator: str) -> None:
    """Any order of the bins is as good as another, so what one of them refutes is refuted; data that agree on the optimum do not hide it."""
    instance = draw("bin_packing", 1, 0, 0)
    mutant = next(m for m in mutants(instance.linear) if m.operator.id == operator)
    b = disguised(ground(mutant.model, instance.data), "anonymous", np.random.default_rng(2))
    found = compare(instance.problem, b, budget=60.0)
    assert found.verdict is Verdict.NOT_EQUIVALENT and found.witness is not None, str(found)
    for change in reformulations():  # harmless ones are never refuted
        changed = change.apply(instance.problem, np.random.default_rng(4))
        if changed is not None:
            harmless = compare(instance.problem, disguised(changed, "anonymous", np.random.default_rng(5)), budget=60.0)
            assert harmless.verdict in (Verdict.EQUIVALENT, Verdict.SAME_OPTIMUM), f"{change.id}: {harmless}"
