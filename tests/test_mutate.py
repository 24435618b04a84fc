"""orpipe.mutate: each operator on small models between which every one of them finds something to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mutate_models import EXAMPLES, Example
from orpipe.algebra.build import Builder
from orpipe.algebra.idioms import lower
from orpipe.algebra.latex import model_tex
from orpipe.algebra.nodes import Model, Objective, Row, Term, VarDecl
from orpipe.algebra.text import expr_text, model_text, row_text, var_text
from orpipe.errors import ModelError, NotFound, OrpipeError
from orpipe.families import families
from orpipe.ground import ground
from orpipe.mutate import (
    GROUPS,
    Account,
    Mutant,
    Operator,
    Part,
    Site,
    mutants,
    operator,
    operator_by_id,
    operators,
)
from orpipe.mutate.words import Words


@cache
def example(name: str) -> Example:
    return EXAMPLES[name]()


@cache
def variants(name: str) -> tuple[Mutant, ...]:
    return tuple(mutants(example(name).model))


# Mutants that leave the matrix of these data alone: `calm` stands for one day only, neither the first nor the last.
UNCHANGED = {("rota", "first-skipped: row calm (d)"), ("rota", "last-skipped: row calm (d)")}

# One changed piece of each operator, as it prints.  "-" is a piece that is gone.
CHANGES = [
    ("depots", "sense-flipped", "objective", "maximize"),
    ("depots", "term-dropped", "opening", "-"),
    ("jobs", "term-sign-flipped", "saved", "saved: sum{j in J, k in J : j < k} b[j,k]*z[j,k]"),
    ("lots", "term-sign-flipped", "making", "making: sum{t in T} p[t]*x[t]"),
    ("depots", "fixed-cost-per-unit", "opening", "opening: sum{i in I} f[i]*(sum{j in J} x[i,j])"),
    ("lots", "fixed-cost-per-unit", "setting", "setting: -sum{t in T} f[t]*x[t]"),
    ("tour", "coefficients-transposed", "length", "length: sum{(i,j) in P} c[j,i]*x[i,j]"),
    ("depots", "integer-as-continuous", "y", "y[i in I] >= 0, <= 1"),
    ("depots", "continuous-as-integer", "x", "x[i in I, j in J] integer >= 0"),
    ("depots", "binary-as-integer", "y", "y[i in I] integer >= 0"),
    ("knapsack", "upper-bound-missing", "x", "x[i in I] integer >= 0"),
    ("network", "lower-bound-missing", "x", "x[(i,j) in A] free, <= u[i,j]"),
    ("lots", "hidden-lower-bound", "v", "v[t in T] >= 0"),
    ("depots", "row-dropped", "supply", "-"),
    ("shop", "disjunction-one-order", "order_other", "-"),
    ("lots", "pair-half-dropped", "swing_above", "-"),
    ("depots", "relation-reversed", "pair", "x[i,j] >= d[j]*y[i]  for all i in I, j in J"),
    ("depots", "equality-relaxed", "meet", "sum{i in I} x[i,j] <= d[j]  for all j in J"),
    ("depots", "inequality-as-equality", "pair", "x[i,j] = d[j]*y[i]  for all i in I, j in J"),
    ("jobs", "exactly-one-as-at-most-one", "done", "sum{w in W} x[w,j] <= 1  for all j in J"),
    ("knapsack", "off-by-one", "weight_limit", "sum{i in I} w[i]*x[i] <= C + 1"),
    ("rota", "off-by-one", "staffed", "x[d] + x[d-1] >= r[d] + 1  for all d in D"),
    ("jobs", "off-by-one", "few", "sum{j in J, k in J : j != k} z[j,k] <= 3"),
    ("depots", "linking-missing", "supply", "sum{j in J} x[i,j] + r[i] <= q[i]  for all i in I"),
    ("lots", "condition-unconditional", "lot", "x[t] >= l  for all t in T"),
    ("shop", "condition-unconditional", "order_one", "s[j] + n[j]/a[j] <= s[k]  for all (j,k) in Q"),
    ("blend", "switch-term-dropped", "supply", "sum{k in K} x[i,k] <= q[i]  for all i in I"),
    ("tour", "order-unlinked", "subtour",
     "u[i] - u[j] <= |N| - 1  for all i in N, j in N : i > first, j > first, (i,j) in P"),
    ("shop", "big-m-too-small", "order_one", "s[j] + n[j]/a[j] <= s[k] + 0.5*H*(1 - y[j,k])  for all (j,k) in Q"),
    ("shop", "implication-reversed", "order_other", "s[k] + n[k]/a[k] <= s[j] + H*(1 - y[j,k])  for all (j,k) in Q"),
    ("shop", "implication-reversed", "on_time", "s[j] <= H - o + H*late[j]  for all j in J"),
    ("depots", "limit-as-total", "supply", "sum{j in J} x[i,j] + r[i] <= (sum{j2 in J} d[j2])*y[i]  for all i in I"),
    ("jobs", "aggregated", "done", "sum{j in J, w in W} x[w,j] = |J|"),
    ("depots", "aggregated", "supply", "sum{i in I, j in J} x[i,j] + sum{i in I} r[i] <= sum{i in I} q[i]*y[i]"),
    ("knapsack", "per-element", "weight_limit", "w[i]*x[i] <= C  for all i in I"),
    ("tour", "per-element", "enter", "x[i,j] = 1  for all (i,j) in P"),
    ("shop", "sum-for-max", "last", "C >= sum{j in J} (s[j] + b[j]/a[j] - w[j])"),
    ("lots", "last-skipped", "making", "making: -sum{t in T : t < last} p[t]*x[t]"),
    ("lots", "last-skipped", "balance", "s[t-1] + x[t] = d[t] + s[t]  for all t in T : t > first, t < last"),
    ("lots", "first-skipped", "steady", "z[t] <= g  for all t in T : t > first"),
    ("lots", "lag-missing", "balance", "s[t] + x[t] = d[t] + s[t]  for all t in T : t > first"),
    ("jobs", "sum-condition-dropped", "few", "sum{j in J, k in J} z[j,k] <= 2"),
    ("lots", "row-condition-dropped", "start", "s0 + x[t] = d[t] + s[t]  for all t in T"),
    ("jobs", "pairs-counted-twice", "saved", "saved: -sum{j in J, k in J : j != k} b[j,k]*z[j,k]"),
    ("lots", "initial-stock-ignored", "start", "x[t] = d[t] + s[t]  for all t in T : t = first"),
    ("lots", "known-quantity-dropped", "start", "s0 + x[t] = s[t]  for all t in T : t = first"),
    ("lots", "known-quantity-dropped", "together", "sum{t in T} x[t] >= sum{t in T} d[t]"),
    ("blend", "share-of-global-total", "least", "x[i,k] >= a[i]*(sum{j in I, k2 in K} x[j,k2])  for all i in I, k in K"),
    ("blend", "share-of-own-total", "market", "sum{i in I} x[i,k] <= g[k]*(sum{i in I} x[i,k])  for all k in K"),
    ("blend", "gross-for-net", "profit", "profit: sum{i in I, k in K} p[k]*x[i,k]"),
    ("jobs", "gross-for-net", "saved", "-"),
    ("blend", "constant-dropped", "rent", "-"),
    ("blend", "constant-dropped", "idle", "idle: -sum{i in I} f[i]*(-y[i])"),
    ("blend", "if-then-converse", "clean", "z[i] >= y[i]  for all i in I"),
    ("knapsack", "upper-bound-too-small", "x", "x[i in I] integer >= 0, <= 0.5*a[i]"),
    ("depots", "data-doubled", "meet", "sum{i in I} x[i,j] = 2*d[j]  for all j in J"),
    ("depots", "required-once-per-element", "meet", "sum{i in I} x[i,j] = |I|*d[j]  for all j in J"),
    ("network", "wrong-parameter", "cost", "cost: sum{(i,j) in A} (k[i,j] + k[i,j])*x[i,j]"),
    ("shop", "coefficient-inverted", "last", "C >= s[j] + a[j]*b[j] - w[j]  for all j in J"),
    ("lots", "extra-upper-limit", "make_at_most_demand", "x[t] <= d[t]  for all t in T"),
    ("depots", "max-for-sum", "shipping", "shipping: worst"),
    ("depots", "unit-cost-as-fixed", "shipping", "shipping: sum{i in I, j in J} c[i,j]*y[i]"),
    ("lots", "weight-invented", "making", "making: -sum{t in T} 0.5*p[t]*x[t]"),
    ("shop", "semicontinuous-as-continuous", "overtime_lot_at_least", "-"),
    ("lots", "conservation-incomplete", "balance", "s[t-1] = d[t] + s[t]  for all t in T : t > first"),
    ("depots", "row-term-dropped", "supply", "r[i] <= q[i]*y[i]  for all i in I"),
    ("lots", "row-term-sign-flipped", "balance", "-s[t-1] + x[t] = d[t] + s[t]  for all t in T : t > first"),
    ("network", "row-term-sign-flipped", "conserve", "sum{j in N : (i,j) in A} x[i,j] + sum{j in N : (j,i) in A} x[j,i] = b[i]  for all i in N"),
    ("jobs", "limit-as-penalty", "load", "sum{j in J} x[w,j] <= n[w] + excess[w]  for all w in W"),
    ("rota", "limit-as-penalty", "staffed", "x[d] + x[d-1] >= r[d] - shortfall[d]  for all d in D"),
    ("fund", "ratio-multiplied-backwards", "risk", "sum{k in S} d[k] <= R/|S|"),
    ("fund", "average-as-total", "risk", "sum{k in S} d[k] <= R"),
    ("lots", "first-period-missing", "start", "-"),
    ("lots", "final-stock-ignored", "ending", "-"),
    ("tour", "subtour-elimination-missing", "subtour", "-"),
    ("tour", "return-forgotten", "enter", "sum{i in N : (i,j) in P} x[i,j] = 1  for all j in N : j > first"),
    ("tour", "self-loops-allowed", "leave", "sum{j in N : (i,j) in P} x[i,j] + stay[i] = 1  for all i in N"),
    ("tour", "pairing-one-sided", "enter", "-"),
    ("lots", "big-m-huge", "link", "x[t] <= 1000000*y[t]  for all t in T"),
    ("lots", "lag-reversed", "balance", "s[t+1] + x[t] = d[t] + s[t]  for all t in T : t < last"),
    ("rota", "lag-reversed", "staffed", "x[d] + x[d+1] >= r[d]  for all d in D"),
    ("knapsack", "coefficient-missing", "weight_limit", "sum{i in I} x[i] <= C"),
    ("knapsack", "unit-scale-off", "weight_limit", "sum{i in I} w[i]*x[i] <= 1000*C"),
    ("shop", "unit-scale-off", "on_time", "s[j] <= 60*H - o + H*(1 - late[j])  for all j in J"),
    ("fund", "percent-as-fraction", "gain", "gain: sum{i in I} 0.01*g[i]*x[i]"),
    ("lots", "keys-misaligned", "balance", "s[t-1] + x[t] = d[t-1] + s[t]  for all t in T : t > first"),
]


def printed(part: Part) -> str:
    match part.after:
        case None:
            return "-"
        case Row() as r:
            return row_text(r)
        case Term(name=name, expr=e):
            return f"{name}: {expr_text(e)}"
        case VarDecl() as v:
            return var_text(v, str, str).split(":")[0]
        case Objective(sense=sense):
            return sense


@pytest.mark.parametrize(("name", "operator_id", "where", "text"), CHANGES)
def test_an_operator_writes_the_mistake_it_is_named_after(name: str, operator_id: str, where: str, text: str) -> None:
    model, op = example(name).model, operator_by_id(operator_id)
    parts = [p for p in op.applicable(model) if p.name == where]
    assert text in map(printed, parts)
    part = next(p for p in parts if printed(p) == text)
    faulty = op.apply(model, part.site)
    assert part.site in op.sites(model)
    assert faulty == part.on(model) != model


def test_every_operator_is_tried_above_and_fires_somewhere() -> None:
    known = {o.id for o in operators()}
    assert {c[1] for c in CHANGES} == known
    assert {m.operator.id for name in EXAMPLES for m in variants(name)} == known
    assert len(known) >= 50


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_mutant_grounds_prints_and_differs(name: str) -> None:
    model, data = example(name).model, example(name).data
    right, text = ground(model, data), model_text(model)
    assert right.difference(right) is None
    unchanged = set()
    for m in variants(name):
        if m.difference(right, data) is None:
            unchanged.add((name, str(m)))
        assert model_text(m.model) != text
        assert model_tex(m.model) != model_tex(model)
    assert unchanged == {u for u in UNCHANGED if u[0] == name}
    assert model_text(model) == text == model_text(EXAMPLES[name]().model)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_site_is_a_no_op_and_no_two_mutants_are_the_same(name: str) -> None:
    model = example(name).model
    seen = [m.model for m in variants(name)]
    assert model not in seen
    assert len(set(seen)) == len(seen)
    for op in operators():
        sites = op.sites(model)
        assert len(set(sites)) == len(sites)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("names", [False, True])
def test_accounts_are_clean_sentences(name: str, names: bool) -> None:
    model = example(name).model
    for m in variants(name):
        account = m.account(model, names=names)
        for text in (account.fault, account.why, account.repair):
            prose = re.sub(r"`[^`]*`", "X", text)
            assert re.match(r"[A-Z]", prose), text
            assert re.search(r"[^.,;: ]\.$", prose), text
            assert not re.search(r"[{}_]|\bNone\b|  |\.\.| ,|,,|\(\)|\bthe the\b", prose), text
            assert prose.count("(") == prose.count(")"), text
        if m.part.before is not None and not isinstance(m.part.before, Objective):
            assert Words(model, names).write(m.part.before) in account.repair


def test_an_account_in_letters_and_in_code_names() -> None:
    model = example("depots").model
    op = operator_by_id("linking-missing")
    m = op.mutant(model, op.sites(model)[0])
    assert m.account(model) == Account(
        "The constraint `supply` leaves out `y` (1 if depot i is open), so the limit `q[i]` (most that a depot can dispatch) "
        "stands whether `y[i]` is 1 or 0.",
        "Nothing then makes the choice a condition of its effect: it can be left at 0, at no cost, and the effect be "
        "had all the same.",
        "Write the constraint as `supply[i]: sum{j in J} x[i,j] + r[i] <= q[i]*y[i]  for all i in I`, which says that only "
        "open depots dispatch, up to their capacity.")
    repair = m.account(model, names=True).repair
    assert "`supply[i]: sum{j in bakeries} ship[i,j] + reserve[i] <= capacity[i]*open[i]  for all i in dep" in repair


def test_the_order_is_fixed_and_a_limit_mixes_operators() -> None:
    model = example("lots").model
    everything = list(variants("lots"))
    assert mutants(model) == everything
    few = mutants(model, limit=12)
    assert len(few) == 12
    assert len({m.operator.id for m in few}) == 12
    drawn = mutants(model, np.random.default_rng(5), limit=12)
    assert drawn == mutants(model, np.random.default_rng(5), limit=12)
    assert drawn != few
    assert len({m.operator.id for m in drawn}) == 12
    assert set(map(str, mutants(model, np.random.default_rng(5)))) == set(map(str, everything))


def test_dropped_conditions_never_leave_a_set_or_a_domain() -> None:
    conditions = operator_by_id("row-condition-dropped")
    assert "row balance (t > first)" not in map(str, conditions.sites(example("lots").model))
    assert "row subtour ((i,j) in P)" not in map(str, conditions.sites(example("tour").model))
    assert operator_by_id("sum-condition-dropped").sites(example("network").model) == ()
    # the costs of sparse arcs exist one way only; those of all ordered pairs both ways
    assert operator_by_id("coefficients-transposed").sites(example("network").model) == ()


def test_the_families_give_nearly_every_operator_something_to_do() -> None:
    """The others need a free quantity, pairs of one set, a table from a set to itself that is not sparse, gains beside costs, a constant,
    a share of a total, or a rule between choices."""
    used = {m.operator.id for f in families for formulation in f.formulations for m in mutants(lower(f.symbolic(formulation)))}
    assert {o.id for o in operators()} - used <= {
        "hidden-lower-bound", "pairs-counted-twice", "coefficients-transposed", "gross-for-net", "constant-dropped", "share-of-global-total",
        "share-of-own-total", "if-then-converse"}


def test_a_mistake_in_several_pieces_changes_them_all() -> None:
    """A penalty is a relaxed row, a variable and a term; the smallest value takes its variable and its row with it."""
    model = example("knapsack").model
    (penalty,) = [m for m in variants("knapsack") if m.operator.id == "limit-as-penalty"]
    assert row_text(penalty.model.row_by["weight_limit"]) == "sum{i in I} w[i]*x[i] <= C + excess"
    assert expr_text(penalty.model.objective.terms[-1].expr) == "-10*excess"
    assert penalty.model.variables[:-1] == model.variables and penalty.model.variables[-1].auxiliary
    least = next(m for m in variants("knapsack") if m.operator.id == "max-for-sum").model
    assert row_text(least.rows[-1]) == "worst <= v[i]*x[i]  for all i in I"
    assert least.var_by["worst"].lower is None
    loops = next(m for m in variants("tour") if m.operator.id == "self-loops-allowed").model
    assert all("stay" in row_text(loops.row_by[name]) for name in ("leave", "enter"))


def test_a_special_operator_claims_its_change_before_the_general_one() -> None:
    told = {m.part.name: m.operator.id for m in variants("lots") if m.part.after is None and isinstance(m.part.before, Row)}
    assert told["start"] == "first-period-missing" and told["lot"] == "semicontinuous-as-continuous" and told["beyond"] == "row-dropped"
    assert "row start" in map(str, operator_by_id("row-dropped").sites(example("lots").model))


class Careless(Operator):
    """Proposes nothing at all, a free index, a shift out of the set, a row without variables, and one sound change."""

    id = "careless"

    def parts(self, model: Model) -> Iterator[Part]:
        steady, balance = model.row_by["steady"], model.row_by["balance"]
        for row, changes in ((steady, {}), (steady, {"forall": ()}), (balance, {"where": None}),
                             (steady, {"left": steady.right}), (steady, {"relation": "="})):
            yield Part("row", row.name, row, replace(row, **changes), str(len(changes)))


def test_the_frame_refuses_what_changes_nothing_or_does_not_ground() -> None:
    model = example("lots").model
    (part,) = Careless().applicable(model)
    assert part.faulty == replace(model.row_by["steady"], relation="=")


# Data with as few elements as the right model allows: where a sum or a row could run empty.
SMALLEST: dict[str, dict[str, Any]] = {
    "depots": {"I": ["N"], "J": ["A"], "f": {"N": 1}, "q": {"N": 16}, "r": {"N": 1}, "d": {"A": 5}, "c": {"N": {"A": 3}}},
    "lots": {"T": [1], "p": {"1": 2}, "e": 9, "h": 0.5, "f": {"1": 10}, "d": {"1": 4}, "s0": 2, "k": {"1": 12}, "u": 9,
             "l": 3, "g": 7},
    "fund": {"I": ["bond"], "S": ["good"], "g": {"bond": 0.02}, "B": 100, "R": 3, "e": {"bond": {"good": 0.01}}},
    "jobs": {"W": ["Ann"], "J": ["a", "b"], "n": {"Ann": 2}, "c": {"Ann": {"a": 3, "b": 5}},
             "b": {"a": {"a": 0, "b": 1}, "b": {"a": 1, "b": 0}}},
    "tour": {"N": ["A", "B"], "c": {"A": {"B": 1}, "B": {"A": 2}}},
    "rota": {"D": ["Mon"], "r": {"Mon": 2}, "c": {"Mon": 10}},
}


@pytest.mark.parametrize("name", SMALLEST)
def test_mutants_ground_on_the_smallest_data(name: str) -> None:
    right = ground(example(name).model, SMALLEST[name])
    found = [m.difference(right, SMALLEST[name]) for m in variants(name)]
    assert sum(d is not None for d in found) > len(found) // 2


def test_wrong_names_duplicates_and_idioms_are_refused() -> None:
    with pytest.raises(NotFound, match="did you mean 'row-dropped'"):
        operator_by_id("row-droped")
    with pytest.raises(NotFound, match=r"no site '.*' of 'row-dropped'"):
        operator_by_id("row-dropped").apply(example("depots").model, Site("row", "none"))
    with pytest.raises(OrpipeError, match="two units claim"):
        operator("row-dropped", "again", "rows", "x")(type("Again", (Operator,), {}))
    with pytest.raises(OrpipeError, match="names no group 'odd'"):
        operator("odd", "odd", "odd", "x")(type("Odd", (Operator,), {}))
    m = Builder("raw")
    x, y = m.var("x", meaning="amount"), m.var("y", kind="binary", meaning="1 if used")
    m.maximize(gain=(x - y, "gain"))
    m.fixed_charge("link", x, y, 5, because="nothing is made unless used")
    with pytest.raises(ModelError, match="still holds the idiom 'link'"):
        mutants(m.build())


def test_the_catalogue_is_written_for_learners() -> None:
    for op in operators():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", op.id)
        assert op.group in GROUPS
        assert op.title[0].isupper() and not op.title.endswith(".")
        assert op.explanation.endswith(".") and op.explanation.count(".") >= 2, op.id


@pytest.mark.parametrize("name", families.names())
def test_all_mutants_of_the_families_ground(name: str) -> None:
    family = families[name]
    for formulation in family.formulations:
        model = lower(family.symbolic(formulation))
        right = ground(model, family.golden.data)
        found = mutants(model)
        changed = [m for m in found if m.difference(right, family.golden.data) is not None]
        assert len({m.operator.id for m in changed}) >= 5
