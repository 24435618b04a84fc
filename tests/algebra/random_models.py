"""Random small linear models and data for them (hypothesis strategies): every node of the language turns up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from orpipe.algebra import nodes as n

Draw = Callable[..., Any]
LETTERS = "ijklmnopq"
SETS = (
    n.SetDecl("I", "I", "site", "sites"),
    n.SetDecl("T", "T", "period", "periods", ordered=True, numbered=True),
    n.SetDecl("C", "C", "day", "days", ordered=True, cyclic=True),
    n.SetDecl("A", "A", "arc", "arcs", over=(n.Index("i", "I"), n.Index("j", "I"))),
    n.SetDecl("P", "P", "pair", "pairs", over=(n.Index("i", "I"), n.Index("j", "I")),
              where=n.Compare(n.Ref("i"), "!=", n.Ref("j"))),
)
_I, _J, _T, _C = n.Index("i", "I"), n.Index("j", "I"), n.Index("t", "T"), n.Index("d", "C")
PARAMS = (
    n.ParamDecl("pa", "pa", (), None, "1", "a scalar", "any"),
    n.ParamDecl("pb", "pb", (_I,), None, "goods", "by site", "any"),
    n.ParamDecl("pc", "pc", (_I, _T), None, "1", "by site and period [a note]", "nonnegative"),
    n.ParamDecl("pe", "pe", (_I, _J), "A", "money/goods", "by arc: any", "any"),
    n.ParamDecl("pg", "pg", (_C,), None, "1", "by day", "positive", integer=True),
)
SHAPES: tuple[tuple[str, tuple[n.Index, ...], str | None], ...] = (
    ("vx", (), None), ("vy", (_I,), None), ("vz", (_I, _T), None), ("vw", (_I, _J), "A"), ("vd", (_C,), None),
)
NUMBERS = st.one_of(
    st.integers(-9, 9).map(Fraction), st.sampled_from([Fraction(1, 3), Fraction(-2, 7), Fraction(1, 8)]),
    st.decimals(-99, 99, places=2, allow_nan=False).map(Fraction),
)


@dataclass(frozen=True)
class Scope:
    """Letters bound here, by set, and the pairs of letters known to be an arc."""

    letters: tuple[tuple[str, str], ...] = ()
    arcs: tuple[tuple[str, str], ...] = ()

    def of(self, symbol: str) -> list[str]:
        return [k for k, s in self.letters if s == symbol]

    def fresh(self, count: int) -> list[str]:
        return [k for k in LETTERS if k not in dict(self.letters)][:count]


class Models:
    def __init__(self, draw: Draw, shifts: bool):
        self.draw, self.shifts = draw, shifts

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == 1

    def ref(self, letter: str, symbol: str) -> n.Ref:
        odds = {"C": 2, "T": 8}.get(symbol, 0) if self.shifts else 0
        return n.Ref(letter, self.pick([-2, -1, 1]) if odds and self.chance(odds) else 0)

    def refs(self, scope: Scope, indices: tuple[n.Index, ...], domain: str | None) -> tuple[n.Ref, ...] | None:
        """Subscripts out of the scope, or None if it lacks the sets."""
        if domain == "A":
            return tuple(n.Ref(k) for k in self.pick(scope.arcs)) if scope.arcs else None
        if not all(scope.of(k.set) for k in indices):
            return None
        return tuple(self.ref(self.pick(scope.of(k.set)), k.set) for k in indices)

    def bind(self, outer: Scope) -> tuple[tuple[n.Index, ...], n.Cond | None, Scope]:
        """Fresh indices, a condition on them, and the scope within."""
        count = self.draw(st.integers(1, 2))
        letters = outer.fresh(2)
        conditions: list[n.Cond] = []
        if self.chance(3):
            indices = tuple(n.Index(k, "I") for k in letters)
            tuples = self.pick(["A", "A", "P"])
            flip = self.chance(3)
            conditions.append(n.Member(tuple(n.Ref(k) for k in (letters[::-1] if flip else letters)), tuples))
            arcs = ((*outer.arcs, tuple(letters[::-1] if flip else letters)) if tuples == "A" else outer.arcs)
        else:
            indices = tuple(n.Index(k, self.pick("IITC")) for k in letters[:count])
            arcs = outer.arcs
        scope = Scope((*outer.letters, *((k.name, k.set) for k in indices)), arcs)  # type: ignore[arg-type]
        for _ in range(self.draw(st.integers(0, 2)) if self.chance(2) else 0):
            conditions.append(self.condition(scope))
        if len(conditions) > 1 and self.chance(4):
            conditions = conditions[::-1]
        return indices, n.conjunction(*conditions), scope

    def condition(self, scope: Scope) -> n.Cond:
        letter, symbol = self.pick(scope.letters)
        kind = self.pick(["edge", "compare", "member", "data"])
        if kind == "edge" and symbol in "TC":
            return n.Edge(self.ref(letter, symbol), self.pick(["=", "<", ">"]), self.pick(["first", "last"]))
        if kind == "member" and symbol == "I":
            return n.Member((n.Ref(letter), n.Ref(self.pick(scope.of("I")))), self.pick("AP"), negated=self.chance(2))
        if kind == "compare":
            other = self.pick(scope.of(symbol))
            return n.Compare(self.ref(letter, symbol), self.pick(["=", "!=", "<", "<=", ">", ">="]), self.ref(other, symbol))
        plain = Models(self.draw, shifts=False)  # a condition must have a value wherever it is asked
        left, right = (plain.data(Scope(scope.letters), 1, divide=False) for _ in range(2))
        return n.DataCompare(left, self.pick(["=", "!=", "<", "<=", ">", ">="]), right)

    def data(self, scope: Scope, depth: int, divide: bool = True) -> n.Expr:
        kind = self.pick(["number", "param", "card"] + ["add", "mul", "neg", "sum", *(["div"] * divide)] * (depth > 0))
        match kind:
            case "number":
                return n.Num(self.draw(NUMBERS))
            case "card":
                return n.Card(self.pick([s.symbol for s in SETS]))
            case "add":
                return n.Add(tuple(self.data(scope, depth - 1, divide) for _ in range(self.draw(st.integers(2, 3)))))
            case "mul":
                return n.Mul(self.data(scope, depth - 1, divide), self.data(scope, depth - 1, divide))
            case "neg":
                return n.Neg(self.data(scope, depth - 1, divide))
            case "div":
                return n.Div(self.data(scope, depth - 1), self.data(scope, depth - 1))
            case "sum":
                indices, where, inner = self.bind(scope)
                return n.Sum(indices, where, self.data(inner, depth - 1, divide))
        p = self.pick(PARAMS)
        refs = self.refs(scope, p.indices, p.domain)
        return n.ParamRef("pa") if refs is None else n.ParamRef(p.symbol, refs)

    def linear(self, scope: Scope, depth: int) -> n.Expr:
        kind = self.pick(["var"] + ["add", "scale", "sum", "neg", "div"] * (depth > 0))
        match kind:
            case "add":
                parts = [self.linear(scope, depth - 1), self.pick([self.linear, self.data])(scope, depth - 1)]
                return n.Add(tuple(parts[::-1] if self.chance(2) else parts))
            case "scale":
                data, rest = self.data(scope, depth - 1), self.linear(scope, depth - 1)
                return n.Mul(rest, data) if self.chance(3) else n.Mul(data, rest)
            case "neg":
                return n.Neg(self.linear(scope, depth - 1))
            case "div":
                return n.Div(self.linear(scope, depth - 1), self.data(scope, depth - 1))
            case "sum":
                indices, where, inner = self.bind(scope)
                return n.Sum(indices, where, self.linear(inner, depth - 1))
        symbol, indices, domain = self.pick(SHAPES)
        refs = self.refs(scope, indices, domain)
        return n.VarRef("vx") if refs is None else n.VarRef(symbol, refs)

    def variable(self, symbol: str, indices: tuple[n.Index, ...], domain: str | None) -> n.VarDecl:
        kind = self.pick(["continuous", "integer", "binary"])
        if kind == "binary":
            return n.VarDecl(symbol, symbol, indices, domain, kind, n.ZERO, n.ONE, "1", "yes or no", self.chance(2))
        scope = Scope(tuple((k.name, k.set) for k in indices), (("i", "j"),) if domain else ())
        plain = Models(self.draw, shifts=False)
        low = self.pick([n.ZERO, None, plain.data(scope, 1)])
        high = self.pick([None, plain.data(scope, 1)])
        return n.VarDecl(symbol, symbol, indices, domain, kind, low, high, "goods/day", "how much, at most", self.chance(3))

    def model(self) -> n.Model:
        rows = []
        for k in range(self.draw(st.integers(1, 3))):
            forall, where, scope = ((), None, Scope()) if self.chance(4) else self.bind(Scope())
            left, right = self.linear(scope, 2), self.pick([self.data, self.linear])(scope, 2)
            if self.chance(4):
                left, right = right, left
            rows.append(n.Row(f"row{k}", forall, where, left, self.pick(["<=", ">=", "="]), right, "for some reason"))
        terms = tuple(n.Term(f"term{k}", self.pick([self.linear, self.linear, self.data])(Scope(), 2), "a cost")
                      for k in range(self.draw(st.integers(1, 2))))
        return n.Model("random", SETS, PARAMS, tuple(self.variable(*shape) for shape in SHAPES),
                       n.Objective(self.pick(["minimize", "maximize"]), terms), tuple(rows))


@st.composite
def models(draw: Draw, shifts: bool = True) -> n.Model:
    return Models(draw, shifts).model()


VALUES = st.one_of(
    st.integers(-5, 5), st.decimals(-99, 99, places=3, allow_nan=False).map(float), st.sampled_from([0, 1, 0.1, 12.5]),
    st.integers(-(10**24), 10**24), st.floats(-1e9, 1e9, allow_nan=False), st.sampled_from([2**63, -(2**63), 2**62 - 1, 1e22, 1e-9]),
)


@st.composite
def datasets(draw: Draw) -> dict[str, Any]:
    """Data for any of the models."""
    I = ["North", "South West", "Île"][:draw(st.integers(1, 3))]
    T = list(range(1, draw(st.integers(1, 3)) + 1))
    C = ["Mon", "Tue", "Wed"][:draw(st.integers(1, 3))]
    pairs = [[i, j] for i in I for j in I]
    A = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=len(pairs), unique_by=tuple))
    pe: dict[str, dict[str, Any]] = {}
    for i, j in A:
        pe.setdefault(i, {})[j] = draw(VALUES)
    return {
        "I": I, "T": T, "C": C, "A": A, "pa": draw(VALUES), "pb": {i: draw(VALUES) for i in I},
        "pc": {i: {(str(t) if len(T) > 1 else t): abs(draw(VALUES)) for t in T} for i in I},
        "pe": pe, "pg": {d: draw(st.one_of(st.integers(1, 9), st.integers(1, 2**70))) for d in C},
    }
