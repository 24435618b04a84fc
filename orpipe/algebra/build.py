"""Writing a model as in a textbook.

    m = Builder("depots")
    I, J = m.set("I", "depot"), m.set("J", "customer");  i, j = I.index("i"), J.index("j")
    q = m.param("q", i, name="capacity", unit="goods/day", meaning="what a {I} can dispatch")
    x = m.var("x", i, j, name="ship", unit="goods/day", meaning="amount sent from {I} i to {J} j")
    m.require("capacity", sum_(j)(x[i, j]) <= q[i]*y[i], forall=(i,), because="...", tightened_by="q")
    m.minimize(shipping=(sum_(i, j)(c[i, j]*x[i, j]), "cost of carriage"))

Words may name a set in braces: {I} becomes its noun in the scenario at hand ("depot"), {I_s} the plural.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from orpipe.algebra import nodes as n
from orpipe.errors import ModelError
from orpipe.exact import fraction


@dataclass(frozen=True, eq=False)
class Ix:
    """An index handle: i, t - 1, i != j, t > first."""

    index: n.Index
    shift: int = 0

    @property
    def ref(self) -> n.Ref:
        return n.Ref(self.index.name, self.shift)

    def __add__(self, k: int) -> Ix:
        return Ix(self.index, self.shift + k)

    def __sub__(self, k: int) -> Ix:
        return Ix(self.index, self.shift - k)

    def _compare(self, op: Any, other: Any) -> n.Cond:
        if isinstance(other, _End):
            return n.Edge(self.ref, op, other.which)
        if not isinstance(other, Ix):
            raise ModelError(f"index {self.index.name} is compared with {other!r}; compare it with an index, first or last")
        return n.Compare(self.ref, op, other.ref)

    def __eq__(self, other: object) -> n.Cond:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> n.Cond:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> n.Cond:
        return self._compare("<", other)

    def __gt__(self, other: Any) -> n.Cond:
        return self._compare(">", other)

    def __le__(self, other: Any) -> n.Cond:
        return self._compare("<=", other)

    def __ge__(self, other: Any) -> n.Cond:
        return self._compare(">=", other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class _End:
    which: Literal["first", "last"]


first, last = _End("first"), _End("last")


@dataclass(frozen=True, eq=False)
class Ex:
    """An expression handle with arithmetic; comparisons give relations (rows) or, between data, conditions."""

    node: n.Expr

    def __add__(self, other: Any) -> Ex:
        return Ex(n.addition(self.node, expr(other)))

    def __radd__(self, other: Any) -> Ex:
        return Ex(n.addition(expr(other), self.node))

    def __sub__(self, other: Any) -> Ex:
        return Ex(n.addition(self.node, n.Neg(expr(other))))

    def __rsub__(self, other: Any) -> Ex:
        return Ex(n.addition(expr(other), n.Neg(self.node)))

    def __neg__(self) -> Ex:
        return Ex(n.Neg(self.node))

    def __mul__(self, other: Any) -> Ex:
        return Ex(n.Mul(self.node, expr(other)))

    def __rmul__(self, other: Any) -> Ex:
        return Ex(n.Mul(expr(other), self.node))

    def __truediv__(self, other: Any) -> Ex:
        return Ex(n.Div(self.node, expr(other)))

    def __rtruediv__(self, other: Any) -> Ex:
        return Ex(n.Div(expr(other), self.node))

    def __le__(self, other: Any) -> n.Inequality:
        return n.Inequality(self.node, "<=", expr(other))

    def __ge__(self, other: Any) -> n.Inequality:
        return n.Inequality(self.node, ">=", expr(other))

    def __eq__(self, other: object) -> n.Inequality:  # type: ignore[override]
        return n.Inequality(self.node, "=", expr(other))

    def __lt__(self, other: Any) -> n.DataCompare:
        return n.DataCompare(self.node, "<", expr(other))

    def __gt__(self, other: Any) -> n.DataCompare:
        return n.DataCompare(self.node, ">", expr(other))

    def __ne__(self, other: object) -> n.DataCompare:  # type: ignore[override]
        return n.DataCompare(self.node, "!=", expr(other))

    __hash__ = None  # type: ignore[assignment]


def expr(value: Any) -> n.Expr:
    if isinstance(value, Ex):
        return value.node
    if isinstance(value, Indexed):
        return value[()].node
    if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) and value == value and abs(value) != float("inf"):
        return n.Num(fraction(value))
    raise ModelError(f"{value!r} is not an expression; use parameters, variables and numbers")


def given(relation: n.Inequality | n.DataCompare) -> n.DataCompare:
    """A relation between data, used as a condition: where=given(r[j, k] == r[j, l] + 1), where=given(c[i, j] > 0)."""
    return relation if isinstance(relation, n.DataCompare) else n.DataCompare(relation.left, relation.relation, relation.right)


def sum_(*indices: Ix, where: n.Cond | tuple[n.Cond, ...] | None = None) -> Callable[[Any], Ex]:
    """sum_(i, j, where=A[i, j])(c[i, j]*x[i, j])"""
    return lambda body: Ex(n.Sum(tuple(k.index for k in indices), _cond(where), expr(body)))


def card(handle: SetHandle) -> Ex:
    """|S| as a number."""
    return Ex(n.Card(handle.symbol))


def _cond(where: n.Cond | tuple[n.Cond, ...] | None) -> n.Cond | None:
    return n.conjunction(*where) if isinstance(where, tuple) else where


def _refs(key: Any) -> tuple[n.Ref, ...]:
    return tuple(k.ref for k in (key if isinstance(key, tuple) else (key,)))


@dataclass(frozen=True)
class SetHandle:
    symbol: str

    def index(self, letter: str) -> Ix:
        return Ix(n.Index(letter, self.symbol))

    def __getitem__(self, key: Any) -> n.Member:
        """(i, j) in A, as a condition."""
        return n.Member(_refs(key), self.symbol)

    def without(self, *key: Ix) -> n.Member:
        return n.Member(_refs(key), self.symbol, negated=True)


@dataclass(frozen=True, eq=False)
class Indexed:
    """A declared parameter or variable: c[i, j]; a scalar may be used without brackets."""

    symbol: str
    make: Callable[[str, tuple[n.Ref, ...]], n.Expr]

    def __getitem__(self, key: Any) -> Ex:
        return Ex(self.make(self.symbol, _refs(key) if not isinstance(key, tuple) or len(key) else ()))

    def _scalar(self) -> Ex:
        return self[()]

    def __add__(self, o: Any) -> Ex: return self._scalar() + o
    def __radd__(self, o: Any) -> Ex: return o + self._scalar()
    def __sub__(self, o: Any) -> Ex: return self._scalar() - o
    def __rsub__(self, o: Any) -> Ex: return o - self._scalar()
    def __mul__(self, o: Any) -> Ex: return self._scalar() * o
    def __rmul__(self, o: Any) -> Ex: return o * self._scalar()
    def __truediv__(self, o: Any) -> Ex: return self._scalar() / o
    def __rtruediv__(self, o: Any) -> Ex: return o / self._scalar()
    def __neg__(self) -> Ex: return -self._scalar()
    def __le__(self, o: Any) -> n.Inequality: return self._scalar() <= o
    def __ge__(self, o: Any) -> n.Inequality: return self._scalar() >= o
    def __eq__(self, o: object) -> n.Inequality: return self._scalar() == o  # type: ignore[override]
    def __lt__(self, o: Any) -> n.DataCompare: return self._scalar() < o
    def __gt__(self, o: Any) -> n.DataCompare: return self._scalar() > o
    def __ne__(self, o: object) -> n.DataCompare: return self._scalar() != o  # type: ignore[override]
    __hash__ = None  # type: ignore[assignment]


class Builder:
    """Collects declarations; `build()` checks the static contract and returns the frozen Model."""

    def __init__(self, name: str, base: n.Model | None = None):
        self.name = name
        self._sets: list[n.SetDecl] = list(base.sets) if base else []
        self._params: list[n.ParamDecl] = list(base.params) if base else []
        self._vars: list[n.VarDecl] = list(base.variables) if base else []
        self._rows: list[n.Row] = list(base.rows) if base else []
        self._idioms: list[n.Idiom] = list(base.idioms) if base else []
        self._objective: n.Objective | None = base.objective if base else None

    # -- declarations
    def set(self, symbol: str, noun: str, *, plural: str = "", name: str = "", ordered: bool = False,
            cyclic: bool = False, numbered: bool = False) -> SetHandle:
        """A set of labels.  noun: one element in words.  name: identifier in code (default: plural of the noun)."""
        plural = plural or noun + "s"
        self._sets.append(n.SetDecl(symbol, name or plural.replace(" ", "_"), noun, plural,
                                    ordered or cyclic or numbered, cyclic, numbered))
        return SetHandle(symbol)

    def tuples(self, symbol: str, *indices: Ix, noun: str, plural: str = "", name: str = "",
               where: n.Cond | tuple[n.Cond, ...] | None = None) -> SetHandle:
        """A set of tuples from data (arcs, eligible pairs), or with `where` all tuples that satisfy it."""
        plural = plural or noun + "s"
        self._sets.append(n.SetDecl(symbol, name or plural.replace(" ", "_"), noun, plural,
                                    over=tuple(k.index for k in indices), where=_cond(where)))
        return SetHandle(symbol)

    def param(self, symbol: str, *indices: Ix, meaning: str, unit: str = "1", name: str = "", domain: SetHandle | None = None,
              sign: Literal["nonnegative", "positive", "any"] = "nonnegative", integer: bool = False) -> Indexed:
        self._params.append(n.ParamDecl(symbol, name or symbol, tuple(k.index for k in indices),
                                        domain.symbol if domain else None, unit, meaning, sign, integer))
        return Indexed(symbol, n.ParamRef)

    def var(self, symbol: str, *indices: Ix, meaning: str, unit: str = "1", name: str = "", domain: SetHandle | None = None,
            kind: n.VarKind = "continuous", lower: Any = 0, upper: Any = None, auxiliary: bool = False) -> Indexed:
        """lower=None means minus infinity; bounds may be expressions of data in the variable's own indices."""
        if kind == "binary":
            lower, upper = 0, 1
        self._vars.append(n.VarDecl(
            symbol, name or symbol, tuple(k.index for k in indices), domain.symbol if domain else None, kind,
            None if lower is None else expr(lower), None if upper is None else expr(upper), unit, meaning, auxiliary))
        return Indexed(symbol, n.VarRef)

    def minimize(self, **terms: tuple[Any, str]) -> None:
        self._objective = _objective("minimize", terms)

    def maximize(self, **terms: tuple[Any, str]) -> None:
        """Named terms: maximize(revenue=(expr, "meaning"), cost=(-expr, "meaning"))."""
        self._objective = _objective("maximize", terms)

    def require(self, name: str, relation: n.Inequality, *, because: str, forall: tuple[Ix, ...] = (),
                where: n.Cond | tuple[n.Cond, ...] | None = None, tightened_by: str = "") -> None:
        if not isinstance(relation, n.Inequality):
            raise ModelError(f"model '{self.name}', row {name}: {relation!r:.60} is no relation with <=, >= or ==")
        self._rows.append(n.Row(name, tuple(k.index for k in forall), _cond(where), relation.left, relation.relation,
                                relation.right, because, tightened_by))

    # -- logical idioms; reformulations in orpipe.algebra.idioms
    def _idiom(self, name: str, kind: str, default: str, because: str, forall: tuple[Ix, ...],
               where: n.Cond | tuple[n.Cond, ...] | None, tightened_by: str, **parts: Any) -> None:
        def plain(v: Any) -> Any:
            return v.index if isinstance(v, Ix) else v if isinstance(v, (n.Inequality, str, n.Index)) else expr(v)

        self._idioms.append(n.Idiom(name, kind, tuple(k.index for k in forall), _cond(where),
                                    tuple((role, plain(v)) for role, v in parts.items() if v is not None),
                                    because, default, tightened_by))

    def fixed_charge(self, name: str, amount: Any, switch: Any, limit: Any, *, because: str, forall: tuple[Ix, ...] = (),
                     where: Any = None, tightened_by: str = "") -> None:
        """amount > 0 only if switch = 1, and at most `limit` then.  Reformulation: link (amount <= limit*switch)."""
        self._idiom(name, "fixed_charge", "link", because, forall, where, tightened_by, amount=amount, switch=switch, limit=limit)

    def implies(self, name: str, switch: Any, relation: n.Inequality, big_m: Any, *, because: str,
                forall: tuple[Ix, ...] = (), where: Any = None, tightened_by: str = "") -> None:
        """switch = 1 implies `relation` (<= or >=).  big_m: data expression bounding its violation when switch = 0."""
        self._idiom(name, "implication", "big_m", because, forall, where, tightened_by, switch=switch, relation=relation, big_m=big_m)

    def either_or(self, name: str, one: n.Inequality, other: n.Inequality, big_m: Any, *, symbol: str, meaning: str,
                  because: str, forall: tuple[Ix, ...] = (), where: Any = None, domain: SetHandle | None = None,
                  code_name: str = "", tightened_by: str = "") -> None:
        """At least one of two inequalities holds; `symbol` names the auxiliary binary (1: the first one holds).

        `domain` is the tuple set of the auxiliary (needed when `where` restricts it)."""
        self._idiom(name, "disjunction", "big_m", because, forall, where, tightened_by, one=one, other=other, big_m=big_m,
                    symbol=symbol, meaning=meaning, code_name=code_name or symbol, domain=domain.symbol if domain else "")

    def maximum(self, name: str, result: Any, of: Any, *, over: tuple[Ix, ...], because: str, forall: tuple[Ix, ...] = (),
                where: Any = None, tightened_by: str = "") -> None:
        """result >= of, for all `over`: the epigraph of a maximum that the objective presses down."""
        self._idiom(name, "maximum", "epigraph", because, (*forall, *over), where, tightened_by, result=result, of=of)

    def minimum(self, name: str, result: Any, of: Any, *, over: tuple[Ix, ...], because: str, forall: tuple[Ix, ...] = (),
                where: Any = None, tightened_by: str = "") -> None:
        """result <= of, for all `over`: the hypograph of a minimum that the objective presses up."""
        self._idiom(name, "minimum", "hypograph", because, (*forall, *over), where, tightened_by, result=result, of=of)

    def absolute(self, name: str, result: Any, of: Any, *, because: str, forall: tuple[Ix, ...] = (), where: Any = None,
                 big_m: Any = None, tightened_by: str = "") -> None:
        """result = |of|, pressed down by the objective (two_rows), or exactly with a sign binary (signed; needs big_m, at
        least twice the largest |of|)."""
        self._idiom(name, "absolute", "two_rows", because, forall, where, tightened_by, result=result, of=of, big_m=big_m)

    def piecewise(self, name: str, amount: Any, cost: Any, segment: Ix, width: Indexed, slope: Indexed, *, because: str,
                  symbol: str, unit: str, forall: tuple[Ix, ...] = (), code_name: str = "", tightened_by: str = "") -> None:
        """cost is piecewise linear in amount: segments of width[.., k] priced slope[.., k], filled in order.

        `symbol` names the auxiliary amounts per segment.  Reformulations: convex (slopes rise when minimised, no binaries),
        incremental (binaries make each segment full before the next opens)."""
        ix = (*forall, segment)
        self._idiom(name, "piecewise", "convex", because, forall, None, tightened_by, amount=amount, cost=cost,
                    segment=segment, width=width[ix], slope=slope[ix], symbol=symbol, unit=unit, code_name=code_name or symbol)

    def semicontinuous(self, name: str, amount: Any, low: Any, high: Any, *, symbol: str, meaning: str, because: str,
                       forall: tuple[Ix, ...] = (), code_name: str = "", tightened_by: str = "") -> None:
        """amount = 0 or low <= amount <= high; `symbol` names the auxiliary switch.  Reformulation: switch."""
        self._idiom(name, "semicontinuous", "switch", because, forall, None, tightened_by, amount=amount, low=low, high=high,
                    symbol=symbol, meaning=meaning, code_name=code_name or symbol)

    # -- finishing
    def handle(self, symbol: str) -> Indexed:
        """The handle of something declared earlier (for pieces that extend a model)."""
        if any(v.symbol == symbol for v in self._vars):
            return Indexed(symbol, n.VarRef)
        if any(p.symbol == symbol for p in self._params):
            return Indexed(symbol, n.ParamRef)
        raise ModelError(f"model '{self.name}' declares no '{symbol}'")

    def build(self, check: bool = True) -> n.Model:
        if self._objective is None:
            raise ModelError(f"model '{self.name}' has no objective; call minimize or maximize")
        model = n.Model(self.name, tuple(self._sets), tuple(self._params), tuple(self._vars), self._objective,
                        tuple(self._rows), tuple(self._idioms))
        if check:
            from orpipe.algebra.contract import check_model

            check_model(model)
        return model


def _objective(sense: n.Sense, terms: dict[str, tuple[Any, str]]) -> n.Objective:
    return n.Objective(sense, tuple(n.Term(name, expr(e), meaning) for name, (e, meaning) in terms.items()))


def extend(model: n.Model, piece: Callable[[Builder, n.Model], None], suffix: str) -> n.Model:
    """The model with a piece added that was written without knowing it: its own sets, parameters, rows, words.

    The piece reads the host's declarations (`model.variables`, ...) to find what it attaches to, and declares through the
    builder; the result passes the static contract as a whole."""
    builder = Builder(f"{model.name}+{suffix}", base=model)
    piece(builder, model)
    return builder.build()
