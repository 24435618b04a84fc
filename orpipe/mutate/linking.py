"""Mistakes where a yes-or-no variable switches a constraint: linking, big-M, conditional rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.part import Part
from orpipe.mutate.places import (
    Place,
    Spot,
    addend_spots,
    bound,
    fresh,
    is_data,
    letters,
    number,
    other,
    parameters,
    row_spots,
    term_spots,
    times,
    variables,
)
from orpipe.mutate.words import Account, Words


@dataclass(frozen=True, slots=True)
class Switch:
    """A term limit*y or limit*(1 - y) of a constraint, y binary.

    on: False for 1 - y.  alone: it is the whole side.  relaxes: a larger value makes the row easier to satisfy.
    rest: the other side of the row.
    """

    row: n.Row
    spot: Spot
    limit: n.Expr
    ref: n.VarRef  # y
    on: bool
    alone: bool
    relaxes: bool

    @property
    def rest(self) -> n.Expr:
        return getattr(self.row, other(self.spot.side))

    @property
    def links(self) -> bool:
        """amount <= limit*y, nothing without the switch; its letters are plain and different, all from forall."""
        plain = len({r.index for r in self.ref.refs if not r.shift}) == len(self.ref.refs)
        return self.on and self.alone and self.relaxes and plain

    def with_limit(self, limit: n.Expr) -> n.Expr:
        return _product(limit, self.ref if self.on else _off(self.ref))


def _off(y: n.VarRef) -> n.Expr:
    return n.Add((n.ONE, n.Neg(y)))


def _product(limit: n.Expr, switch: n.Expr) -> n.Expr:
    return switch if limit == n.ONE else n.Mul(limit, switch)


def switches(model: n.Model) -> Iterator[Switch]:
    """Switched terms of the inequalities, in the order of the model."""
    def binary(e: n.Expr) -> bool:
        return isinstance(e, n.VarRef) and model.var_by[e.var].kind == "binary"

    for row in model.rows:
        # among other terms, a binary switches only if there is something else than binaries to switch
        mixed = any(model.var_by[v].kind != "binary" for v in variables(row.left, row.right))
        for spot in addend_spots(row) if row.relation != "=" else ():
            node, positive = (spot.node.arg, False) if isinstance(spot.node, n.Neg) else (spot.node, True)
            whole = not spot.place.path
            limit, factor = (node.left, node.right) if isinstance(node, n.Mul) else (n.ONE, node)
            if n.has_variables(limit):
                limit, factor = factor, limit
            if n.has_variables(limit) or not (n.has_variables(getattr(row, other(spot.side))) if whole else mixed):
                continue
            relaxes = ((spot.side == "right") == (row.relation == "<=")) == positive
            if isinstance(factor, n.VarRef) and binary(factor):
                yield Switch(row, spot, limit, factor, True, whole and positive, relaxes)
            elif isinstance(factor, n.Add):
                match factor.terms:
                    case (n.Num(value=1), n.Neg(arg=n.VarRef() as y)) if binary(y):
                        yield Switch(row, spot, limit, y, False, whole and positive, relaxes)


def priced(model: n.Model) -> Iterator[tuple[Switch, Spot, n.Expr, n.VarRef]]:
    """For each switch that ties an amount, each variable with its price in the objective: (switch, the product there, price, variable)."""
    for s in switches(model):
        for t in model.objective.terms if s.links else ():
            for spot in term_spots(t):
                match spot.node:
                    case n.Mul(left=factor, right=n.VarRef() as x) | n.Mul(left=n.VarRef() as x, right=factor) if is_data(factor):
                        yield s, spot, factor, x


def _signed(s: Switch, e: n.Expr) -> n.Expr:
    return n.Neg(e) if isinstance(s.spot.node, n.Neg) else e


@operator(
    "linking-missing", "The limit does not depend on the switch", "linking",
    "\"A closed site ships nothing\" is so obvious that a text may not say it. Without the yes-or-no variable in "
    "the limit, the effect can be had without the choice, and its cost is never paid.")
class LinkingMissing(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in switches(model):
            if s.on and s.alone and s.relaxes:
                yield s.spot.part(s.limit, "", s.ref, s.limit)

    def tell(self, w: Words, part: Part) -> Account:
        y, limit = part.old, part.new
        return Account.of(
            f"the constraint `{part.name}` leaves out {w.var(y.var)}, so the limit {w.data(limit)} stands whether {w.ex(y)} "
            "is 1 or 0",
            "nothing then makes the choice a condition of its effect: it can be left at 0, at no cost, and the effect "
            "be had all the same",
            w.says(part))


@operator(
    "condition-unconditional", "A conditional rule is applied always", "linking",
    "\"If the line runs, it makes at least 10\" and \"when both are chosen, the second waits\" hold in one case "
    "only. Written without the switch, the rule binds in the other case too.")
class ConditionUnconditional(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in switches(model):
            if s.alone and s.on and not s.relaxes:
                yield s.spot.part(s.limit, "", s.ref, s.limit)
            elif not s.alone and s.relaxes:
                yield s.spot.part(n.ZERO, "", s.ref, s.spot.node)

    def tell(self, w: Words, part: Part) -> Account:
        y = part.old
        return Account.of(
            f"the constraint `{part.name}` reads {w.formula(part.faulty)} and holds whether {w.var(y.var)} is 1 or 0, where "
            "it should hold in only one of the two cases",
            "a rule that is imposed in both cases refuses plans that are allowed, so the optimum may be worse than "
            "the true one or no plan may be left",
            w.says(part))


@operator(
    "switch-term-dropped", "A constraint takes no account of a yes-or-no choice", "linking",
    "A rule that gets tighter with a choice (an order that follows from a route, a set-up that takes time) has a "
    "term in the binary. Left out, the constraint still looks sensible but no longer knows of the choice.")
class SwitchTermDropped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in switches(model):
            if not s.alone and not s.relaxes:
                yield s.spot.part(n.ZERO, "", s.ref, s.spot.node)
        for row in model.rows:
            if row.relation != "=":
                yield from self.summed(model, row)

    @staticmethod
    def summed(model: n.Model, row: n.Row) -> Iterator[Part]:
        """Among the terms of a sum, beside amounts: set-up times in a limit on time."""
        heavier = "left" if row.relation == "<=" else "right"
        for spot in row_spots(row):
            match getattr(row, heavier), spot.node:
                case n.Sum(body=n.Add(terms=terms) as body), n.VarRef(var=v) if (
                        spot.side == heavier and model.var_by[v].kind == "binary" and len(spot.place.path) > 1 and spot.place.path[0] == 0):
                    own = terms[spot.place.path[1]]
                    rest = tuple(t for t in terms if t is not own)
                    if variables(own) == {v} and not isinstance(own, n.Neg) and any(
                            model.var_by[x].kind != "binary" for x in variables(*rest)):
                        inner = replace(spot, place=Place((0,), body, (), ()))
                        yield inner.part(n.addition(*rest), v, spot.node, own)

    def tell(self, w: Words, part: Part) -> Account:
        y = part.old
        return Account.of(
            f"the constraint `{part.name}` takes no account of {w.var(y.var)}: it reads {w.formula(part.faulty)}",
            "the constraint was to bind harder when the choice is made; without its term the choice has no consequence "
            "there, and plans are admitted that the text rules out",
            w.says(part))


@operator(
    "big-m-too-small", "The constant of a switched constraint is too small", "linking",
    "The constant that lifts a limit must be at least what the quantity may reach. A number that only looks large "
    "enough, or one taken from a typical case, cuts off plans that are allowed.")
class BigMTooSmall(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in switches(model):
            if s.relaxes and is_data(s.limit):
                half = times(number("1/2"), s.limit)
                yield s.spot.part(_signed(s, s.with_limit(half)), "", s.limit, half)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` uses {w.ex(part.new)} where it should use {w.data(part.old)}, and so allows only "
            "half as much",
            "a switched limit that is too small cuts off plans that are allowed, which shows as an optimum worse "
            "than the true one or as a model without a plan",
            w.says(part))


@operator(
    "implication-reversed", "The switch works the wrong way round", "linking",
    "\"Unless\", \"only if\" and \"otherwise\" turn a condition round. With y and 1 - y exchanged, the rule holds "
    "in the case in which it should be lifted.")
class ImplicationReversed(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in switches(model):
            turned = _product(s.limit, _off(s.ref) if s.on else s.ref)
            yield s.spot.part(_signed(s, turned), "", s.ref if s.on else _off(s.ref), _off(s.ref) if s.on else s.ref)

    def tell(self, w: Words, part: Part) -> Account:
        (y,) = {x for x in n.walk(part.old) if isinstance(x, n.VarRef)}
        return Account.of(
            f"the constraint `{part.name}` has {w.ex(part.new)} where it should have {w.ex(part.old)}: what should hold "
            f"when {w.var(y.var)} is 1 holds when it is 0, and the other way round",
            "the rule binds in the case in which it should be lifted and is lifted where it should bind, so wrong "
            "plans are admitted and right ones refused",
            w.says(part))


@operator(
    "if-then-converse", "An if-then rule is read backwards", "linking",
    "\"Whoever takes A needs B\" says nothing about those who have B. \"Only if\", \"requires\" and \"presupposes\" put the condition "
    "behind its consequence, and the rule is easily written the other way round.")
class IfThenConverse(Operator):
    special = True

    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if row.relation != "=" and all(isinstance(x, n.VarRef) and model.var_by[x.var].kind == "binary" for x in (row.left, row.right)):
                wrong: n.Relation = ">=" if row.relation == "<=" else "<="
                yield Part("row", row.name, row, replace(row, relation=wrong), "", *self.pair(row))

    @staticmethod
    def pair(row: n.Row) -> tuple[n.Expr, n.Expr]:
        """(a, b) of: if a, then b."""
        return (row.left, row.right) if row.relation == "<=" else (row.right, row.left)

    def tell(self, w: Words, part: Part) -> Account:
        a, b = part.old, part.new
        return Account.of(
            f"the constraint `{part.name}` reads {w.formula(part.faulty)}, by which {w.ex(a)} must be 1 where {w.ex(b)} is, and {w.ex(a)} alone is "
            f"free; it should say that {w.ex(b)} must be 1 where {w.ex(a)} is",
            "an if-then rule holds in one direction: what it asks for may be there without its condition, and not the other way round",
            w.says(part))


@operator(
    "limit-as-total", "A real limit is replaced by a large total", "linking",
    "A switched constraint often has two tasks at once: no effect without the choice, and a limit of its own. Taking the "
    "total of everything as the constant keeps the first and loses the second.")
class LimitAsTotal(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in switches(model):
            if not (s.on and s.alone and s.relaxes and isinstance(s.limit, n.ParamRef)):
                continue
            unit, near = model.param_by[s.limit.param].unit, self.beside(model, s)
            for p in model.params:
                if p.indices and p.unit == unit and p.symbol in near:
                    total = total_of(p, {k.name for k in s.row.forall} | letters(s.rest) | bound(s.rest))
                    yield s.spot.part(s.with_limit(total), p.symbol, s.limit, total)

    @staticmethod
    def beside(model: n.Model, s: Switch) -> set[str]:
        """Parameters that stand with the limited variables in other rows, but not in this one."""
        amount = variables(s.rest)
        shared = [r for r in model.rows if amount & variables(r.left, r.right)]
        return {p for r in shared for p in parameters(r.left, r.right)} - parameters(s.row.left, s.row.right)

    def tell(self, w: Words, part: Part) -> Account:
        total = part.new
        whose = w.series(w.plural(k.set) for k in total.indices)
        return Account.of(
            f"the constraint `{part.name}` uses {w.ex(total)}, the total of {w.param(total.body.param)} over all {whose}, "
            f"where it should use {w.data(part.old)}",
            "such a total may well keep the switch working, but it is not the limit that is meant: once the switch is "
            "on, as much as the whole total may go through it",
            w.says(part))


def total_of(p: n.ParamDecl, taken: set[str]) -> n.Sum:
    """The sum of a parameter over all its indices, in letters that are not taken."""
    moved = fresh(p.indices, taken)
    indices = tuple(replace(k, name=moved[k.name].index) if k.name in moved else k for k in p.indices)
    refs = tuple(n.Ref(k.name) for k in indices)
    return n.Sum(indices, n.Member(refs, p.domain) if p.domain else None, n.ParamRef(p.symbol, refs))
