"""The symbolic language as pure data: frozen, hashable, comparable.  Built by orpipe.algebra.build, read by everyone.

Names refer to declarations of the model (`set`, `param`, `var` fields hold symbols), so that a mutated or extended model
is an ordinary `dataclasses.replace`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

Relation = Literal["<=", ">=", "="]
VarKind = Literal["continuous", "integer", "binary"]
Sense = Literal["minimize", "maximize"]


# -- indices and conditions --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Index:
    """An index letter running over a set: i in I."""

    name: str
    set: str


@dataclass(frozen=True, slots=True)
class Ref:
    """An index at its place in a subscript, possibly shifted along an ordered set: t-1.  Cyclic sets wrap around."""

    index: str
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Compare:
    """Two indices over one set, compared by position: i != j, i < j."""

    left: Ref
    op: Literal["=", "!=", "<", "<=", ">", ">="]
    right: Ref


@dataclass(frozen=True, slots=True)
class Edge:
    """An index against an end of its ordered set: t = first, t > first, t < last, t = last."""

    ref: Ref
    op: Literal["=", ">", "<"]
    end: Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class Member:
    """(i, j) in A, or not in A."""

    refs: tuple[Ref, ...]
    set: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class DataCompare:
    """Two expressions of data only, compared by value: r[j,k] = r[j,l] + 1."""

    left: Expr
    op: Literal["=", "!=", "<", "<=", ">", ">="]
    right: Expr


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Cond, ...]


Cond = Compare | Edge | Member | DataCompare | And


# -- expressions -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Num:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Card:
    """|S|, the number of elements of a set."""

    set: str


@dataclass(frozen=True, slots=True)
class ParamRef:
    param: str
    refs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class VarRef:
    var: str
    refs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Add:
    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Neg:
    arg: Expr


@dataclass(frozen=True, slots=True)
class Mul:
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Div:
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Sum:
    indices: tuple[Index, ...]
    where: Cond | None
    body: Expr


Expr = Num | Card | ParamRef | VarRef | Add | Neg | Mul | Div | Sum
ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))


# -- declarations ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class SetDecl:
    """A set of labels; or, with `over`, a set of tuples (from data, or all tuples satisfying `where`).

    symbol: letter in the algebra (I).  name: identifier in code and files (depots).  noun/plural: words (depot, depots).
    ordered: positions have meaning, t-1 is allowed.  cyclic: the last is followed by the first.
    numbered: labels are the integers 1..n (periods, positions), else strings.
    over: for tuple sets, the index letters of the components, for example (i, j).
    """

    symbol: str
    name: str
    noun: str
    plural: str
    ordered: bool = False
    cyclic: bool = False
    numbered: bool = False
    over: tuple[Index, ...] = ()
    where: Cond | None = None

    @property
    def derived(self) -> bool:
        return self.where is not None


@dataclass(frozen=True, slots=True)
class ParamDecl:
    """Data.  domain: a tuple set that says for which index tuples a value exists (None: for all)."""

    symbol: str
    name: str
    indices: tuple[Index, ...]
    domain: str | None
    unit: str
    meaning: str
    sign: Literal["nonnegative", "positive", "any"] = "nonnegative"
    integer: bool = False


@dataclass(frozen=True, slots=True)
class VarDecl:
    """A decision, or an auxiliary (order, slack, epigraph, linearisation).  Bounds may use the variable's indices.

    lower None is minus infinity, upper None plus infinity.  A binary variable has bounds 0 and 1.
    """

    symbol: str
    name: str
    indices: tuple[Index, ...]
    domain: str | None
    kind: VarKind
    lower: Expr | None
    upper: Expr | None
    unit: str
    meaning: str
    auxiliary: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """A named term of the objective."""

    name: str
    expr: Expr
    meaning: str


@dataclass(frozen=True, slots=True)
class Objective:
    sense: Sense
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A family of constraints, one for each tuple of `forall` that satisfies `where`.

    tightened_by: symbol of the parameter whose entries make this row bind harder, or of the tuple set whose pairs do by
    being taken away ("" if there is none).
    origin: the idiom this row was made from, "" for a row written as such.
    """

    name: str
    forall: tuple[Index, ...]
    where: Cond | None
    left: Expr
    relation: Relation
    right: Expr
    because: str
    tightened_by: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Inequality:
    """A relation inside a logical idiom."""

    left: Expr
    relation: Relation
    right: Expr


@dataclass(frozen=True, slots=True)
class Idiom:
    """A logical construct kept as itself until a named reformulation is chosen (orpipe.algebra.idioms).

    kind names the idiom, parts its expressions and relations by role; forall/where as in Row.
    """

    name: str
    kind: str
    forall: tuple[Index, ...]
    where: Cond | None
    parts: tuple[tuple[str, Expr | Inequality | Index | str], ...]
    because: str
    default: str
    tightened_by: str = ""

    def part(self, role: str):
        return dict(self.parts)[role]


@dataclass(frozen=True)
class Model:
    """A symbolic LP/MILP.  Order of declarations is the order of every rendering."""

    name: str
    sets: tuple[SetDecl, ...]
    params: tuple[ParamDecl, ...]
    variables: tuple[VarDecl, ...]
    objective: Objective
    rows: tuple[Row, ...]
    idioms: tuple[Idiom, ...] = field(default=())

    @cached_property
    def set_by(self) -> dict[str, SetDecl]:
        return {s.symbol: s for s in self.sets}

    @cached_property
    def param_by(self) -> dict[str, ParamDecl]:
        return {p.symbol: p for p in self.params}

    @cached_property
    def var_by(self) -> dict[str, VarDecl]:
        return {v.symbol: v for v in self.variables}

    @cached_property
    def row_by(self) -> dict[str, Row]:
        return {r.name: r for r in self.rows}


# -- walking -----------------------------------------------------------------------------------------------------------
def children(node: Expr | Cond | None) -> tuple[Expr | Cond, ...]:
    match node:
        case Add(terms=parts) | And(parts=parts):
            return tuple(parts)
        case Neg(arg=arg):
            return (arg,)
        case Mul(left=a, right=b) | Div(left=a, right=b) | DataCompare(left=a, right=b):
            return (a, b)
        case Sum(where=where, body=body):
            return (body,) if where is None else (where, body)
    return ()


def walk(node: Expr | Cond | None) -> Iterator[Expr | Cond]:
    if node is None:
        return
    yield node
    for child in children(node):
        yield from walk(child)


def has_variables(expr: Expr) -> bool:
    return any(isinstance(n, VarRef) for n in walk(expr))


def rebuild(node, change):
    """A copy of an expression or condition with `change` applied bottom-up to every node."""
    match node:
        case None:
            return None
        case Add(terms=terms):
            node = Add(tuple(rebuild(t, change) for t in terms))
        case And(parts=parts):
            node = And(tuple(rebuild(p, change) for p in parts))
        case Neg(arg=arg):
            node = Neg(rebuild(arg, change))
        case Mul(left=a, right=b):
            node = Mul(rebuild(a, change), rebuild(b, change))
        case Div(left=a, right=b):
            node = Div(rebuild(a, change), rebuild(b, change))
        case DataCompare(left=a, op=op, right=b):
            node = DataCompare(rebuild(a, change), op, rebuild(b, change))
        case Sum(indices=indices, where=where, body=body):
            node = Sum(indices, rebuild(where, change), rebuild(body, change))
    return change(node)


def addition(*terms: Expr) -> Expr:
    """Flattened sum without zeros."""
    flat: list[Expr] = []
    for t in terms:
        flat.extend(t.terms if isinstance(t, Add) else () if t == ZERO else (t,))
    return ZERO if not flat else flat[0] if len(flat) == 1 else Add(tuple(flat))


def conjunction(*conds: Cond | None) -> Cond | None:
    flat: list[Cond] = []
    for c in conds:
        flat.extend(c.parts if isinstance(c, And) else () if c is None else (c,))
    return None if not flat else flat[0] if len(flat) == 1 else And(tuple(flat))


def conditions(cond: Cond | None) -> tuple[Cond, ...]:
    return () if cond is None else cond.parts if isinstance(cond, And) else (cond,)
