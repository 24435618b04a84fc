"""Logical idioms and their named reformulations: symbolic model with idioms -> symbolic linear model.

A reformulation is a function (idiom) -> Pieces, registered by idiom kind and name.  Everything downstream (matrix,
algebra, code) sees the lowered model only, so the choice is made once, when grounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from orpipe.algebra.nodes import (
    ONE,
    ZERO,
    Add,
    Edge,
    Expr,
    Idiom,
    Index,
    Inequality,
    Model,
    Mul,
    Neg,
    ParamRef,
    Ref,
    Row,
    Sum,
    VarDecl,
    VarRef,
    addition,
    conjunction,
)
from orpipe.errors import NotFound


@dataclass(frozen=True, slots=True)
class Pieces:
    rows: tuple[Row, ...]
    variables: tuple[VarDecl, ...] = ()


Reformulation = Callable[[Idiom], Pieces]
_REGISTRY: dict[str, dict[str, Reformulation]] = {}
_NEEDS: dict[tuple[str, str], str] = {}


def reformulation(kind: str, name: str, needs: str = "") -> Callable[[Reformulation], Reformulation]:
    """Registers a reformulation; `needs` names an optional part of the idiom that it cannot do without."""
    def register(function: Reformulation) -> Reformulation:
        _REGISTRY.setdefault(kind, {})[name] = function
        _NEEDS[kind, name] = needs
        return function

    return register


def reformulations(kind: str) -> tuple[str, ...]:
    return tuple(_REGISTRY[kind])


def available(idiom: Idiom) -> tuple[str, ...]:
    """The reformulations for which the idiom declares all parts."""
    return tuple(name for name in _REGISTRY[idiom.kind] if _NEEDS[idiom.kind, name] in ("", *dict(idiom.parts)))


def lower(model: Model, choices: Mapping[str, str] | None = None) -> Model:
    """The linear model: each idiom replaced by the reformulation chosen for its name or kind (else its default).

    Raises NotFound for a choice that names no idiom of the model or no reformulation of it."""
    return _lower(model, tuple(sorted((choices or {}).items())))


@lru_cache(maxsize=512)
def _lower(model: Model, choices: tuple[tuple[str, str], ...]) -> Model:
    chosen = dict(choices)
    for key in chosen:
        if key not in {i.name for i in model.idioms} | {i.kind for i in model.idioms}:
            raise NotFound.among("idiom", key, [i.name for i in model.idioms])
    rows, variables = list(model.rows), list(model.variables)
    for idiom in model.idioms:
        name = chosen.get(idiom.name) or chosen.get(idiom.kind) or idiom.default
        if name not in _REGISTRY[idiom.kind]:
            raise NotFound.among("reformulation", name, _REGISTRY[idiom.kind], f"of {idiom.kind}")
        if name not in available(idiom):
            raise NotFound(f"idiom '{idiom.name}' declares no {_NEEDS[idiom.kind, name]}, which its reformulation '{name}' "
                           f"needs; use {' or '.join(available(idiom))}")
        pieces = _REGISTRY[idiom.kind][name](idiom)
        rows += [replace(r, origin=idiom.name) for r in pieces.rows]
        variables += pieces.variables
    return replace(model, rows=tuple(rows), variables=tuple(variables), idioms=())


def _row(idiom: Idiom, left: Expr, relation: str, right: Expr, suffix: str = "", **changes) -> Row:
    row = Row(idiom.name + suffix, idiom.forall, idiom.where, left, relation, right, idiom.because, idiom.tightened_by)  # type: ignore[arg-type]
    return replace(row, **changes) if changes else row


def _switch(idiom: Idiom, symbol: str, name: str, meaning: str, domain: str | None = None) -> VarDecl:
    return VarDecl(symbol, name, idiom.forall, domain, "binary", ZERO, ONE, "1", meaning, auxiliary=True)


def _minus(expr: Expr) -> Expr:
    return Neg(expr) if not isinstance(expr, Neg) else expr.arg


def _relaxed(relation: Inequality, slack: Expr) -> list[tuple[str, Expr, str, Expr]]:
    """The relation with `slack` >= 0 added to its weak side(s): (suffix, left, relation, right)."""
    up = ("", relation.left, "<=", addition(relation.right, slack))
    down = ("", relation.left, ">=", addition(relation.right, Neg(slack)))
    if relation.relation == "=":
        return [("_upper", *up[1:]), ("_lower", *down[1:])]
    return [up if relation.relation == "<=" else down]


@reformulation("fixed_charge", "link")
def _link(d: Idiom) -> Pieces:
    return Pieces((_row(d, d.part("amount"), "<=", Mul(d.part("limit"), d.part("switch"))),))


@reformulation("implication", "big_m")
def _implication(d: Idiom) -> Pieces:
    slack = Mul(d.part("big_m"), Add((ONE, Neg(d.part("switch")))))
    return Pieces(tuple(_row(d, a, rel, b, s) for s, a, rel, b in _relaxed(d.part("relation"), slack)))


@reformulation("disjunction", "big_m")
def _disjunction(d: Idiom) -> Pieces:
    switch = VarRef(d.part("symbol"), tuple(Ref(k.name) for k in d.forall))
    big_m, rows = d.part("big_m"), []
    for role, weight in (("one", Add((ONE, Neg(switch)))), ("other", switch)):
        relation = d.part(role)
        rows += [_row(d, a, rel, b, f"_{role}{s}") for s, a, rel, b in _relaxed(relation, Mul(big_m, weight))]
    decl = _switch(d, d.part("symbol"), d.part("code_name"), d.part("meaning"), d.part("domain") or None)
    return Pieces(tuple(rows), (decl,))


@reformulation("maximum", "epigraph")
def _epigraph(d: Idiom) -> Pieces:
    return Pieces((_row(d, d.part("result"), ">=", d.part("of")),))


@reformulation("minimum", "hypograph")
def _hypograph(d: Idiom) -> Pieces:
    return Pieces((_row(d, d.part("result"), "<=", d.part("of")),))


@reformulation("absolute", "two_rows")
def _absolute(d: Idiom) -> Pieces:
    return Pieces((_row(d, d.part("result"), ">=", d.part("of"), "_above"),
                   _row(d, d.part("result"), ">=", _minus(d.part("of")), "_below")))


@reformulation("absolute", "signed", needs="big_m")
def _absolute_signed(d: Idiom) -> Pieces:
    symbol = f"sign_{d.name}"
    sign, big_m = VarRef(symbol, tuple(Ref(k.name) for k in d.forall)), d.part("big_m")
    of, result = d.part("of"), d.part("result")
    rows = (
        *_absolute(d).rows,
        _row(d, result, "<=", addition(of, Mul(big_m, Add((ONE, Neg(sign))))), "_if_positive"),
        _row(d, result, "<=", addition(_minus(of), Mul(big_m, sign)), "_if_negative"),
    )
    return Pieces(rows, (_switch(d, symbol, symbol, "1 if the deviation is positive"),))


def _segments(d: Idiom) -> tuple[VarDecl, VarRef, Index, tuple[Row, ...]]:
    segment: Index = d.part("segment")
    z = VarRef(d.part("symbol"), tuple(Ref(k.name) for k in (*d.forall, segment)))
    decl = VarDecl(z.var, d.part("code_name"), (*d.forall, segment), None, "continuous", ZERO, d.part("width"),
                   d.part("unit"), "amount in price segment " + segment.name, auxiliary=True)
    rows = (
        _row(d, d.part("amount"), "=", Sum((segment,), None, z), "_amount"),
        _row(d, d.part("cost"), "=", Sum((segment,), None, Mul(d.part("slope"), z)), "_cost"),
    )
    return decl, z, segment, rows


@reformulation("piecewise", "convex")
def _convex(d: Idiom) -> Pieces:
    decl, _, _, rows = _segments(d)
    return Pieces(rows, (decl,))


@reformulation("piecewise", "incremental")
def _incremental(d: Idiom) -> Pieces:
    decl, z, segment, rows = _segments(d)
    used = VarRef(f"{z.var}_used", z.refs)
    width: ParamRef = d.part("width")

    def before(ref: Ref) -> Ref:
        return Ref(ref.index, -1) if ref.index == segment.name else ref

    def shifted(e: VarRef | ParamRef) -> Expr:
        return replace(e, refs=tuple(map(before, e.refs)))

    forall = (*d.forall, segment)
    later = conjunction(d.where, Edge(Ref(segment.name), ">", "first"))
    extra = (
        _row(d, z, "<=", Mul(width, used), "_open", forall=forall),
        _row(d, shifted(z), ">=", Mul(shifted(width), used), "_full", forall=forall, where=later),
    )
    switch = VarDecl(used.var, f"{decl.name}_used", decl.indices, None, "binary", ZERO, ONE, "1",
                     f"1 if price segment {segment.name} is used", auxiliary=True)
    return Pieces(rows + extra, (decl, switch))


@reformulation("semicontinuous", "switch")
def _semicontinuous(d: Idiom) -> Pieces:
    switch = VarRef(d.part("symbol"), tuple(Ref(k.name) for k in d.forall))
    return Pieces((_row(d, d.part("amount"), "<=", Mul(d.part("high"), switch), "_at_most"),
                   _row(d, d.part("amount"), ">=", Mul(d.part("low"), switch), "_at_least")),
                  (_switch(d, switch.var, d.part("code_name"), d.part("meaning")),))
