"""LaTeX: whole, balanced, everything in it."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings

from orpipe.algebra import nodes as n
from orpipe.algebra.latex import expr_tex, model_tex, name_tex

from .random_models import models
from .test_parse import depots, everything

_A, _X, _2, _M2 = n.ParamRef("a"), n.VarRef("x"), n.Num(Fraction(2)), n.Num(Fraction(-2))
_I = (n.Index("i", "I"),)


def test_a_textbook_model() -> None:
    assert model_tex(depots()) == r"""\begin{align*}
\min\quad & \sum_{i \in I} f_{i} \, y_{i} + \sum_{i \in I,\ j \in J} c_{i,j} \, x_{i,j} \\
\text{s.t.}\quad & \sum_{i \in I} x_{i,j} = d_{j} && \forall\, j \in J \tag{demand} \\
& \sum_{j \in J} x_{i,j} \le q_{i} \, y_{i} && \forall\, i \in I \tag{capacity} \\
& y_{i} \in \{0,1\} && \forall\, i \in I \\
& x_{i,j} \ge 0 && \forall\, i \in I,\ j \in J
\end{align*}
"""


@pytest.mark.parametrize(("expr", "tex"), [
    (n.Mul(_2, _X), r"2 \, x"), (n.Mul(_X, _2), r"x \cdot 2"), (n.Mul(_2, n.Mul(_2, _X)), r"2 \cdot 2 \, x"),
    (n.Mul(_M2, _X), r"\left(-2\right) \, x"), (n.Mul(_X, n.Add((_A, n.ONE))), r"x \, \left(a + 1\right)"),
    (n.Div(n.Add((_X, _A)), _2), r"\frac{x + a}{2}"), (n.Num(Fraction(1, 3)), r"\tfrac{1}{3}"),
    (n.Add((_A, n.Neg(n.Sum(_I, None, _X)))), r"a - \sum_{i \in I} x"), (n.Neg(n.Add((_X, _A))), r"-\left(x + a\right)"),
    (n.Sum(_I, None, n.Sum((n.Index("t", "T"),), n.Edge(n.Ref("t"), ">", "first"), _X)),
     r"\sum_{i \in I} \sum_{t \in T,\ t > \mathrm{first}} x"),
    (n.Mul(n.Sum(_I, None, _A), _X), r"\left(\sum_{i \in I} a\right) \, x"), (n.Card("I"), r"\lvert I \rvert"),
    (n.VarRef("z", (n.Ref("t", -1), n.Ref("d", 2))), "z_{t-1,d+2}"), (n.Add((n.Add((_X, _A)), _2)), r"\left(x + a\right) + 2"),
])
def test_expressions(expr: n.Expr, tex: str) -> None:
    assert expr_tex(expr) == tex


def test_names() -> None:
    assert [name_tex(s) for s in ("x", "makespan", "d_max", "d_max_day")] == [
        "x", r"\mathit{makespan}", r"d^{\mathrm{max}}", r"d^{\mathrm{max~day}}"]


def test_one_of_each_construct() -> None:
    tex = model_tex(everything())
    for piece in (r"\forall\, (i,j) \in A,\ i \ne j", r"(i,j) \notin A", r"b_{i} + 1 \le k", r"y_{i} \le k && \forall\, i \in N",
                  r"z_{t} \ge k,\ z_{t} \in \mathbb{Z}", r"v_{d} \in \{0,1\}", r"0 \le x_{i,j} \le 2 \, c_{i,j} + 1",
                  r"t = \mathrm{first}", r"\sum_{i \in S} \frac{q_{i}}{k}"):
        assert piece in tex
    check(everything(), tex)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(models())
def test_any_model_is_whole_and_balanced(model: n.Model) -> None:
    check(model, model_tex(model))


def check(model: n.Model, tex: str) -> None:
    bare = tex.replace(r"\{", "").replace(r"\}", "")
    depth = 0
    for letter in bare:
        depth += (letter == "{") - (letter == "}")
        assert depth >= 0
    assert depth == 0 and tex.count(r"\left(") == tex.count(r"\right)")
    body = tex.split("\n")[1:-2]
    assert len(body) == 1 + len(model.rows) + len(model.variables)
    assert re.findall(r"\\tag\{(.*?)\}", tex) == [r.name.replace("_", r"\_") for r in model.rows]
    assert all(line.count(" && ") <= 1 for line in body)
