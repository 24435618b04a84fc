"""Places inside expressions, and the small rewriting steps that operators share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from orpipe.algebra import nodes as n
from orpipe.mutate.part import Kind, Part


@dataclass(frozen=True, slots=True)
class Place:
    """A node inside an expression: child numbers from the root, the indices bound and the conditions in force there."""

    path: tuple[int, ...]
    node: n.Expr
    scope: tuple[n.Index, ...]
    where: tuple[n.Cond, ...]


def arguments(e: n.Expr) -> tuple[n.Expr, ...]:
    """Sub-expressions in order, without conditions."""
    match e:
        case n.Add(terms=terms):
            return terms
        case n.Neg(arg=a):
            return (a,)
        case n.Mul(left=a, right=b) | n.Div(left=a, right=b):
            return (a, b)
        case n.Sum(body=body):
            return (body,)
    return ()


def places(e: n.Expr, scope: tuple[n.Index, ...] = (), where: tuple[n.Cond, ...] = (),
           path: tuple[int, ...] = ()) -> Iterator[Place]:
    """Every node of `e`, outermost first."""
    yield Place(path, e, scope, where)
    if isinstance(e, n.Sum):
        scope, where = (*scope, *e.indices), (*where, *n.conditions(e.where))
    for k, child in enumerate(arguments(e)):
        yield from places(child, scope, where, (*path, k))


def put(e: n.Expr, path: tuple[int, ...], new: n.Expr) -> n.Expr:
    """`e` with the node at `path` replaced; sums of terms stay flat, zeros drop out of them."""
    if not path:
        return new
    args = list(arguments(e))
    args[path[0]] = put(args[path[0]], path[1:], new)
    match e:
        case n.Add():
            return n.addition(*args)
        case n.Neg():
            return n.ZERO if args[0] == n.ZERO else n.Neg(args[0])
        case n.Mul():
            return n.Mul(args[0], args[1])
        case n.Div():
            return n.Div(args[0], args[1])
        case n.Sum():
            return replace(e, body=args[0])
    raise AssertionError(e)


# -- places in a model -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Spot:
    """A place in one side of a row or in an objective term."""

    host: n.Row | n.Term
    side: str  # left, right; expr in a term
    place: Place

    @property
    def node(self) -> n.Expr:
        return self.place.node

    def part(self, new: n.Expr, detail: str = "", old: Any = None, to: Any = None) -> Part:
        """The change of this node into `new`; old and to default to the two nodes."""
        changed = put(getattr(self.host, self.side), self.place.path, new)
        kind: Kind = "row" if isinstance(self.host, n.Row) else "objective"
        return Part(kind, self.host.name, self.host, with_side(self.host, self.side, changed), detail, old or self.node,
                    to or new)


def with_side(host: n.Row | n.Term, side: str, e: n.Expr) -> Any:
    """The row or term with one side replaced."""
    changed: dict[str, Any] = {side: e}
    return replace(host, **changed)


def row_spots(row: n.Row) -> Iterator[Spot]:
    for side in ("left", "right"):
        for place in places(getattr(row, side), row.forall, n.conditions(row.where)):
            yield Spot(row, side, place)


def term_spots(term: n.Term) -> Iterator[Spot]:
    for place in places(term.expr):
        yield Spot(term, "expr", place)


def spots(model: n.Model) -> Iterator[Spot]:
    """Every node of the objective and of the rows, in the order of the model."""
    for term in model.objective.terms:
        yield from term_spots(term)
    for row in model.rows:
        yield from row_spots(row)


def addend_spots(row: n.Row) -> Iterator[Spot]:
    """The terms of both sides: nodes outside any sum, product or sign."""
    for spot in row_spots(row):
        alone = not spot.place.path and not isinstance(spot.node, n.Add)
        among = len(spot.place.path) == 1 and isinstance(getattr(row, spot.side), n.Add)
        if alone or among:
            yield spot


def other(side: str) -> str:
    return "right" if side == "left" else "left"


# -- small tools -------------------------------------------------------------------------------------------------------
def addends(e: n.Expr) -> tuple[n.Expr, ...]:
    return e.terms if isinstance(e, n.Add) else (e,)


def minus(e: n.Expr) -> n.Expr:
    """-e, with signs taken off rather than piled up."""
    match e:
        case n.Neg(arg=a):
            return a
        case n.Add(terms=terms):
            return n.addition(*map(minus, terms))
        case n.Sum(body=n.Neg(arg=a)):
            return replace(e, body=a)
        case n.Num(value=v):
            return n.Num(-v)
    return n.Neg(e)


def is_negative(e: n.Expr) -> bool:
    """Does `e` print with a minus in front (every term of it)?"""
    match e:
        case n.Neg():
            return True
        case n.Add(terms=terms):
            return all(map(is_negative, terms))
        case n.Sum(body=body):
            return is_negative(body)
        case n.Num(value=v):
            return v < 0
    return False


def times(factor: n.Expr, e: n.Expr) -> n.Expr:
    """factor * e, factors grouped from the left as they are read; 1 * e is e."""
    if n.ONE in (factor, e):
        return e if factor == n.ONE else factor
    match e:
        case n.Mul(left=a, right=b):
            return n.Mul(times(factor, a), b)
        case n.Div(left=a, right=b):
            return n.Div(times(factor, a), b)
    return n.Mul(factor, e)


def number(value: int | str) -> n.Num:
    return n.Num(Fraction(value))


def has_data(e: n.Expr) -> bool:
    return any(isinstance(x, n.ParamRef) for x in n.walk(e))


def is_data(e: n.Expr) -> bool:
    """Data only, with at least one parameter in it."""
    return has_data(e) and not n.has_variables(e)


def variables(*es: n.Expr) -> set[str]:
    return {x.var for e in es for x in n.walk(e) if isinstance(x, n.VarRef)}


def parameters(*es: n.Expr) -> set[str]:
    return {x.param for e in es for x in n.walk(e) if isinstance(x, n.ParamRef)}


def letters(node: n.Expr | n.Cond | None) -> set[str]:
    """Index letters used in references, bound or free."""
    found: set[str] = set()
    for x in n.walk(node):
        match x:
            case n.ParamRef(refs=refs) | n.VarRef(refs=refs) | n.Member(refs=refs):
                found |= {r.index for r in refs}
            case n.Compare(left=a, right=b):
                found |= {a.index, b.index}
            case n.Edge(ref=r):
                found.add(r.index)
    return found


def bound(*es: n.Expr) -> set[str]:
    """Index letters bound by sums."""
    return {k.name for e in es for x in n.walk(e) if isinstance(x, n.Sum) for k in x.indices}


def rename(node, letter: Mapping[str, n.Ref]):
    """References moved to other letters; a shift is added to the one already there."""
    def move(r: n.Ref) -> n.Ref:
        to = letter.get(r.index)
        return r if to is None else n.Ref(to.index, to.shift + r.shift)

    def change(x):
        match x:
            case n.ParamRef(refs=refs) | n.VarRef(refs=refs) | n.Member(refs=refs):
                return replace(x, refs=tuple(map(move, refs)))
            case n.Compare(left=a, right=b):
                return replace(x, left=move(a), right=move(b))
            case n.Edge(ref=r):
                return replace(x, ref=move(r))
            case n.Sum(indices=indices):
                return replace(x, indices=relabel(indices, letter))
        return x

    return n.rebuild(node, change)


def relabel(indices: tuple[n.Index, ...], letter: Mapping[str, n.Ref]) -> tuple[n.Index, ...]:
    return tuple(n.Index(letter[k.name].index, k.set) if k.name in letter else k for k in indices)


def fresh(indices: Iterable[n.Index], taken: Collection[str]) -> dict[str, n.Ref]:
    """For each index whose letter is taken another one (i -> i2), as a renaming."""
    used, out = set(taken), {}
    for k in indices:
        name, count = k.name, 2
        while name in used:
            name, count = f"{k.name}{count}", count + 1
        used.add(name)
        if name != k.name:
            out[k.name] = n.Ref(name)
    return out


def mentions(cond: n.Cond, letter: str) -> bool:
    return letter in letters(cond)


def without(where: n.Cond | None, cond: n.Cond) -> n.Cond | None:
    return n.conjunction(*(c for c in n.conditions(where) if c != cond))


def unused(model: n.Model, name: str) -> str:
    """`name`, or name2, name3, ... where it is taken by a declaration, row or term of the model."""
    taken = {*model.set_by, *model.param_by, *model.var_by, *model.row_by, *(t.name for t in model.objective.terms)}
    taken |= {s.name for s in model.sets} | {p.name for p in model.params} | {v.name for v in model.variables}
    trial, count = name, 2
    while trial in taken:
        trial, count = f"{name}{count}", count + 1
    return trial
