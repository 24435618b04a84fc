"""The plain-text form: printed, parsed back, equal; errors that name the line."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, card, first, last, sum_
from orpipe.algebra.build import given as where_data
from orpipe.algebra.idioms import lower
from orpipe.algebra.parse import parse_model, rename_like
from orpipe.algebra.text import expr_text, model_text
from orpipe.errors import DataError, ModelError, ParseError
from orpipe.ground import ground, structure_hash

from .random_models import PARAMS, SETS, SHAPES, datasets, models

ROUNDS = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
DEPOTS = """\
sets
  I: depots
  J: bakeries
parameters
  f[i in I] >= 0: cost of keeping the depot open [money/day]
  q[i in I] >= 0: most that the depot can dispatch [goods/day]
  d[j in J] >= 0: demand of the bakery [goods/day]
  c[i in I, j in J] >= 0: cost of carriage [money/goods]
variables
  y[i in I] binary: 1 if depot i is open
  x[i in I, j in J] >= 0: amount that depot i sends to bakery j [goods/day]
minimize
  opening: sum{i in I} f[i]*y[i]
  carriage: sum{i in I, j in J} c[i,j]*x[i,j]
subject to
  demand[j]: sum{i in I} x[i,j] = d[j]  for all j in J
  capacity[i]: sum{j in J} x[i,j] <= q[i]*y[i]  for all i in I
"""


def depots() -> n.Model:
    m = Builder("depots")
    I, J = m.set("I", "depot"), m.set("J", "bakery", plural="bakeries")
    i, j = I.index("i"), J.index("j")
    f = m.param("f", i, name="opening_cost", unit="money/day", meaning="cost of keeping the depot open")
    q = m.param("q", i, name="capacity", unit="goods/day", meaning="most that the depot can dispatch")
    d = m.param("d", j, name="demand", unit="goods/day", meaning="demand of the bakery")
    c = m.param("c", i, j, name="carriage", unit="money/goods", meaning="cost of carriage")
    y = m.var("y", i, kind="binary", name="is_open", meaning="1 if depot i is open")
    x = m.var("x", i, j, name="ship", unit="goods/day", meaning="amount that depot i sends to bakery j")
    m.minimize(opening=(sum_(i)(f[i] * y[i]), "opening"), carriage=(sum_(i, j)(c[i, j] * x[i, j]), "carriage"))
    m.require("demand", sum_(i)(x[i, j]) == d[j], forall=(j,), because="each gets its demand", tightened_by="d")
    m.fixed_charge("capacity", sum_(j)(x[i, j]), y[i], q[i], forall=(i,), because="only open depots ship")
    return lower(m.build())


GOLDEN: dict[str, Any] = {
    "I": ["North", "South"], "J": ["Alder", "Birch", "Cedar"], "f": {"North": 120, "South": 90},
    "q": {"North": 16, "South": 10}, "d": {"Alder": 5, "Birch": 6, "Cedar": 4},
    "c": {"North": {"Alder": 3, "Birch": 7, "Cedar": 5}, "South": {"Alder": 6, "Birch": 2, "Cedar": 4}},
}


def test_print_and_parse_a_textbook_model() -> None:
    model = depots()
    assert model_text(model) == DEPOTS
    parsed = parse_model(DEPOTS, name="depots")
    assert model_text(parsed) == DEPOTS
    assert structure_hash(parsed) == structure_hash(model)
    assert parsed.var_by["x"].name == "x" and parsed.param_by["c"].unit == "money/goods"
    assert rename_like(parsed, model) == model
    assert ground(parsed, GOLDEN).columns[-1] == "x[South,Cedar]"
    assert ground(rename_like(parsed, model), GOLDEN).difference(ground(model, GOLDEN)) is None


def test_words_of_a_scenario_do_not_disturb() -> None:
    model = depots()
    said = model_text(model, words=lambda s: f"{s}: 50% [of all], #1; sum{{x}} >= 0",
                      unit=lambda u: u.replace("money", "€").replace("goods", "t"))
    parsed = parse_model(said)
    assert structure_hash(parsed) == structure_hash(model)
    assert parsed.param_by["f"].unit == "€/day"
    assert parsed.param_by["f"].meaning == "cost of keeping the depot open: 50% [of all], #1; sum{x} >= 0"
    assert parsed.set_by["J"].plural == "bakeries: 50% [of all], #1; sum{x} >= 0"
    assert parsed.var_by["y"].unit == "1" and rename_like(parsed, model) == model


def test_meaning_that_ends_like_a_unit() -> None:
    model = depots()
    odd = replace(model, variables=(replace(model.variables[0], meaning="open [see below]"), model.variables[1]))
    parsed = parse_model(model_text(odd))
    assert (parsed.variables[0].meaning, parsed.variables[0].unit) == ("open [see below]", "1")


# -- any model ---------------------------------------------------------------------------------------------------------
@ROUNDS
@given(models(), datasets())
def test_round_trip_of_any_model(model: n.Model, data: dict[str, Any]) -> None:
    text = model_text(model)
    parsed = parse_model(text)
    assert model_text(parsed) == text
    assert rename_like(parsed, model) == model
    assert structure_hash(parsed) == structure_hash(model)
    try:
        problem = ground(model, data)
    except (DataError, ModelError):
        assume(False)
    assert ground(parsed, data).difference(problem) is None


def everything() -> n.Model:
    """One of each declaration, condition and idiom row."""
    m = Builder("everything")
    N, T, D = m.set("N", "town"), m.set("T", "period", numbered=True), m.set("D", "day", cyclic=True)
    W, O = m.set("W", "week", numbered=True, cyclic=True), m.set("O", "stage", ordered=True)
    i, j, t, d, w, o = N.index("i"), N.index("j"), T.index("t"), D.index("d"), W.index("w"), O.index("o")
    A = m.tuples("A", i, j, noun="arc")
    S = m.tuples("S", i, noun="source")
    P = m.tuples("P", i, j, noun="ordered pair", where=(A[i, j], i != j))
    c = m.param("c", i, j, meaning="cost", domain=A, sign="positive")
    b = m.param("b", i, meaning="balance", sign="any", integer=True)
    L = m.param("L", t, meaning="limit")
    k = m.param("k", meaning="a number")
    x = m.var("x", i, j, meaning="flow", domain=A, upper=2 * c[i, j] + 1)
    y = m.var("y", i, meaning="potential", lower=None, upper=k)
    z = m.var("z", t, meaning="stock", lower=k, kind="integer")
    v = m.var("v", d, meaning="staff", kind="binary", auxiliary=True)
    u = m.var("u", meaning="peak", auxiliary=True)
    s = m.var("s", w, meaning="load")
    r = m.var("r", o, meaning="rate")
    q = m.var("q", i, meaning="supply", domain=S)
    m.minimize(flow=(sum_(i, j, where=A[i, j])(c[i, j] * x[i, j]), "flow"), peak=(u / 3 + card(N), "peak"))
    m.require("balance", sum_(j, where=A[i, j])(x[i, j]) - sum_(j, where=A[j, i])(x[j, i]) == b[i], forall=(i,), because="b")
    m.require("stock", z[t] == z[t - 1] - L[t] * (1 - k), forall=(t,), where=t > first, because="s")
    m.require("start", z[t] >= Fraction(1, 3), forall=(t,), where=t == first, because="s")
    m.require("stop", z[t] <= 2.5, forall=(t,), where=t == last, because="s")
    m.require("cover", v[d] + v[d - 1] + v[d + 2] >= 1, forall=(d,), because="c")
    m.require("order", y[i] - y[j] + card(N) * x[i, j] <= card(N) - 1, forall=(i, j), where=(A[i, j], i != j), because="o")
    m.require("pairs", x[i, j] + x[j, i] <= u, forall=(i, j), where=(P[i, j], A[j, i], i < j), because="o")
    m.require("absent", y[i] <= u, forall=(i, j), where=A.without(i, j), because="a")
    m.require("where", y[i] <= k * u, forall=(i,), where=(where_data(b[i] + 1 <= k), S[i]), because="w")
    m.require("supply", sum_(i, where=S[i])(q[i] / k) <= u, because="s")
    m.require("rates", s[w] + r[o] <= 1 / k, forall=(w, o), because="r")
    return m.build()


def test_one_of_each_construct() -> None:
    model = everything()
    text = model_text(model)
    assert rename_like(parse_model(text), model) == model
    assert parse_model(text.replace(" i in S", " (i) in S").replace("{i in S", "{(i) in S")) == parse_model(text)
    for line in (
        "  W: weeks, numbered, cyclic", "  A subset of N x N: arcs", "  S subset of N: sources",
        "  P = {(i,j) in A : i != j}: ordered pairs", "  c[(i,j) in A] > 0: cost", "  b[i in N] integer: balance",
        "  x[(i,j) in A] >= 0, <= 2*c[i,j] + 1: flow", "  y[i in N] free, <= k: potential", "  z[t in T] integer >= k: stock",
        "  v[d in D] binary auxiliary: staff", "  u >= 0 auxiliary: peak", "  peak: u/3 + |N|",
        "  balance[i]: sum{j in N : (i,j) in A} x[i,j] - sum{j in N : (j,i) in A} x[j,i] = b[i]  for all i in N",
        "  stock[t]: z[t] = z[t-1] - L[t]*(1 - k)  for all t in T : t > first",
        "  start[t]: z[t] >= 1/3  for all t in T : t = first",
        "  order[i,j]: y[i] - y[j] + |N|*x[i,j] <= |N| - 1  for all (i,j) in A : i != j",
        "  absent[i,j]: y[i] <= u  for all i in N, j in N : (i,j) not in A",
        "  where[i]: y[i] <= k*u  for all i in N : b[i] + 1 <= k, i in S",
        "  supply: sum{i in S} q[i]/k <= u",
    ):
        assert line in text.splitlines()


# -- expressions -------------------------------------------------------------------------------------------------------
_A, _X = n.ParamRef("pa"), n.VarRef("vx")
_2, _3, _M2, _THIRD, _HALF = (n.Num(Fraction(v)) for v in ("2", "3", "-2", "1/3", "0.5"))


@pytest.mark.parametrize(("expr", "text"), [
    (n.Mul(_M2, _X), "(-2)*vx"),
    (n.Neg(n.Mul(_2, _X)), "-2*vx"),
    (n.Mul(n.Neg(_2), _X), "(-(2))*vx"),
    (_M2, "-2"),
    (n.Neg(_2), "-(2)"),
    (n.Neg(_M2), "-(-2)"),
    (n.Neg(n.Neg(_X)), "-(-vx)"),
    (n.Add((_X, n.Neg(_2))), "vx - 2"),
    (n.Add((_X, _M2)), "vx + -2"),
    (n.Add((_X, n.Neg(_M2))), "vx - (-2)"),
    (n.Add((n.Neg(_X), _A)), "-vx + pa"),
    (n.Neg(n.Add((_X, _A))), "-(vx + pa)"),
    (n.Add((n.Add((_X, _A)), _2)), "(vx + pa) + 2"),
    (n.Add((_X, n.Add((_A, _2)))), "vx + (pa + 2)"),
    (_THIRD, "1/3"),
    (n.Div(n.ONE, _3), "(1)/3"),
    (n.Mul(_THIRD, _X), "(1/3)*vx"),
    (n.Div(n.Mul(n.ONE, _X), _3), "1*vx/3"),
    (n.Neg(_THIRD), "-(1/3)"),
    (n.Num(Fraction(-1, 3)), "-1/3"),
    (n.Neg(n.Div(n.ONE, _3)), "-(1)/3"),
    (n.Div(_HALF, _3), "0.5/3"),
    (n.Div(_M2, _3), "(-2)/3"),
    (n.Mul(n.Div(_X, _A), _2), "vx/pa*2"),
    (n.Div(_X, n.Mul(_A, _2)), "vx/(pa*2)"),
    (n.Mul(_A, n.Mul(_2, _X)), "pa*(2*vx)"),
    (n.Mul(n.Mul(_A, _2), _X), "pa*2*vx"),
    (n.Div(n.Div(_X, _A), _2), "vx/pa/2"),
    (n.Sum((n.Index("i", "I"),), None, n.Neg(_X)), "sum{i in I} (-vx)"),
    (n.Sum((n.Index("i", "I"),), None, n.Add((_X, _A))), "sum{i in I} (vx + pa)"),
    (n.Sum((n.Index("i", "I"),), None, n.Sum((n.Index("j", "I"),), None, _X)), "sum{i in I} sum{j in I} vx"),
    (n.Mul(n.Sum((n.Index("i", "I"),), None, _A), _X), "(sum{i in I} pa)*vx"),
    (n.Add((n.Sum((n.Index("i", "I"),), None, _X), _A)), "sum{i in I} vx + pa"),
    (n.Add((_A, n.Neg(n.Sum((n.Index("i", "I"),), None, _X)))), "pa - sum{i in I} vx"),
])
def test_expressions_print_distinctly_and_parse_back(expr: n.Expr, text: str) -> None:
    assert expr_text(expr) == text
    assert read(text) == expr


def read(text: str) -> n.Expr:
    declared = n.Model("m", SETS, PARAMS, tuple(n.VarDecl(s, s, ix, domain, "continuous", n.ZERO, None, "1", "v")
                                                 for s, ix, domain in SHAPES),
                       n.Objective("minimize", (n.Term("t", n.VarRef("vx"), ""),)), ())
    return parse_model(model_text(declared).replace("t: vx", f"t: {text}")).objective.terms[0].expr


@pytest.mark.parametrize(("liberal", "strict"), [
    ("2 vx", "2*vx"), ("2vx", "2*vx"), ("pa vx", "pa*vx"), ("0.5 pa (vx + 1)", "0.5*pa*(vx + 1)"), ("2|I|", "2*|I|"),
    ("sum{i∈I,j ∈ I:i≠j} pb[i]*vy[ j ]", "sum{i in I, j in I : i != j} pb[i]*vy[j]"),
    ("∑_{i in I} vy[i]", "sum{i in I} vy[i]"), ("sum_{i in I} vy[i]", "sum{i in I} vy[i]"),
    ("sum {i in I, j in I, i < j} vy[i]", "sum{i in I, j in I : i < j} vy[i]"),
    ("sum{i in I, j in I, (i,j) in A} vw[i,j]", "sum{(i,j) in A} vw[i,j]"),
    ("sum{i in I, j in I, (i,j) ∉ A} vy[i]", "sum{i in I, j in I : (i,j) not in A} vy[i]"),
    ("sum{d in C} vd[d + 1]", "sum{d in C} vd[d+1]"), ("3 sum{i in I} vy[i]", "3*(sum{i in I} vy[i])"),
    ("pa * sum{i in I} vy[i] + 1", "pa*(sum{i in I} vy[i]) + 1"), ("+vx - -2", "vx - (-2)"), ("1.5e2 vx", "150*vx"),
])
def test_liberal_spellings(liberal: str, strict: str) -> None:
    assert expr_text(read(liberal)) == strict


def test_liberal_layout() -> None:
    text = """
# a comment
Sets:
    I:   depots
    J: bakeries

Parameters
  f[i ∈ I] ≥ 0: cost of keeping the depot open [money/day]
  q[i in I] >= 0: most that the depot can dispatch [goods/day]
  d[j in J]>=0: demand of the bakery [goods/day]
  c[i in I,j in J] >= 0: cost of carriage [money/goods]
Variables
  y[i in I] in {0,1}: 1 if depot i is open
  x[i in I, j in J] ≥ 0: amount that depot i sends to bakery j [goods/day]
Minimise
  opening: ∑{i in I} f[i] y[i]   # the first term
  carriage:
     sum{i in I, j in J}
        c[i,j]*x[i,j]
s.t.
  demand: sum{i in I} x[i,j] = d[j]  ∀ j ∈ J
  capacity[i]: sum{j in J} x[i,j]
     ≤ q[i]*y[i]
     forall i in I
"""
    assert parse_model(text) == parse_model(DEPOTS)
    one = parse_model(DEPOTS.replace("  opening: ", "  ").replace("  carriage: ", "  + "))
    assert [t.name for t in one.objective.terms] == ["objective"]
    assert ground(one, GOLDEN).difference(ground(parse_model(DEPOTS), GOLDEN)) is None


# -- errors ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("old", "new", "message"), [
    ("= d[j]  for", "= d[j  for", "line 16: expected an operator or ',' or ']', found 'for all'"),
    ("= d[j]  for", "= d[i]  for", "line 16: expected a bound index (j) in the subscripts of 'd'"),
    ("= d[j]  for", "= d  for", "line 16: 'd' takes 1 indices, found 0"),
    ("= d[j]  for", "= f[j]  for", "line 16: index j of 'f' runs over J, but I is due"),
    ("= d[j]  for", "= j  for", "line 16: index j stands where a number is due"),
    ("= d[j]  for", "for", "line 16: expected an operator or '<=' or '=' or '>=', found 'for all'"),
    ("= d[j]  for", "= D[j]  for", "line 16: unknown name 'D'; declare it under 'parameters' or 'variables'"),
    ("= d[j]  for", "= d[j]/2 y[i]  for", "line 16: a factor after a division can be read in two ways"),
    ("demand[j]:", "demand[i]:", "line 16: expected 'demand[j]' to match what follows 'for all', found 'demand[i]'"),
    ("for all j in J", "for all j in K", "line 16: unknown set 'K'; declare it under 'sets'"),
    ("for all j in J", "for all j in J : j in I", "line 16: expected a set of tuples in a condition, found 'I'"),
    ("for all j in J", "for all j in J : d[j] = first", "line 16: expected an index and =, < or > before 'first'"),
    ("for all j in J", "for all d[j] > 0", "line 16: expected a bound index"),
    ("sum{i in I} x[i,j] =", "sum{i in } x[i,j] =", "line 16: expected a name, found '}'"),
    ("f[i]*y[i]", "f[i]*", "line 13: expected an expression, found the end of the line"),
    ("f[i]*y[i]", "f[i]*$", "line 13: expected an expression, found '$'"),
    ("f[i]*y[i]", "f[i]*|K|", "line 13: unknown set 'K'"),
    ("binary:", "bin:", "line 10: expected '>' or '>=' or 'binary' or 'free' or 'in' or 'integer', found 'bin'"),
    ("binary:", "in {0,2}:", "line 10: expected '{0,1}', found '{0,2}'"),
    (">= 0: cost of keeping", ">= 1: cost of keeping", "line 5: expected '>= 0', found '>= 1'"),
    ("f[i in I]", "f[i != I]", "line 5: expected indices such as 'i in I, j in J' or '(i,j) in A'"),
    ("c[i in I, j in J]", "c[i in I, i in I]", "line 8: expected"),
    (">= 0: most that", ">= 0 most that", "line 6: expected ':' and its meaning after 'q[i in I] >= 0 most that"),
    ("q[i in I]", "f[i in I]", "line 6: 'f' is declared twice"),
    ("sets\n", "", "line 1: expected a section (sets, parameters"),
    ("minimize\n", "", "line 12: expected '>=' or 'binary' or 'free'"),
    ("subject to\n", "maximize\n", "expected one section 'minimize' or 'maximize', found both"),
    ("J: bakeries", "J subset of K: bakeries", "line 3: unknown set 'K'"),
    ("J: bakeries", "J = {i in I}: bakeries", "line 3: expected a condition on the tuples of 'J', after a colon"),
])
def test_errors_name_the_line(old: str, new: str, message: str) -> None:
    assert DEPOTS.count(old) == 1
    with pytest.raises(ParseError) as caught:
        parse_model(DEPOTS.replace(old, new))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_nothing_to_minimise() -> None:
    with pytest.raises(ParseError, match="expected one section 'minimize' or 'maximize', found none"):
        parse_model("sets\n  I: items\n")
