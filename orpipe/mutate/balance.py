"""Mistakes with the terms of a constraint: one left out, one on the wrong side, a limit that may be bought off, a ratio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.linking import switches
from orpipe.mutate.part import Part
from orpipe.mutate.places import Spot, addend_spots, minus, number, other, times, unused, with_side
from orpipe.mutate.words import Account, Words

PENALTY = number(10)


def _bare(e: n.Expr) -> n.Expr:
    return e.arg if isinstance(e, n.Neg) else e


def _among_others(row: n.Row) -> Iterator[Spot]:
    """Terms with variables that share their side with other terms, where others with variables stay."""
    found = [s for s in addend_spots(row) if n.has_variables(s.node)]
    if len(found) > 1:
        yield from (s for s in found if s.place.path)


def _dispensable(row: n.Row) -> Iterator[Spot]:
    """Those without which a variable stays in the row on all data."""
    found = list(_among_others(row))
    whole = [s for s in addend_spots(row) if n.has_variables(s.node)]
    yield from (spot for spot in found if any(o != spot and not _thinned(o.node) for o in whole))


def _thinned(e: n.Expr) -> bool:
    """May a condition leave nothing of the term?"""
    return isinstance(inner := _bare(e), n.Sum) and inner.where is not None


@operator(
    "conservation-incomplete", "A flow is left out of a balance", "rows",
    "A balance counts all that comes in and all that goes out. A text tells them in different sentences, and the one told "
    "elsewhere (what is carried over, what is sent on) is forgotten; what is not in the balance comes from or goes to nowhere.")
class ConservationIncomplete(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for spot in _dispensable(row) if row.relation == "=" else ():
                yield spot.part(n.ZERO, "", spot.node, n.ZERO)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` leaves {w.amount(_bare(part.old))} out of the balance and reads {w.formula(part.faulty)}",
            "what a balance does not count appears from nothing or disappears without a trace, so the plans that the model admits are not "
            "those that can be carried out",
            w.says(part))


@operator(
    "row-term-dropped", "A quantity is left out of a limit or requirement", "rows",
    "Several things share a limit or meet a requirement together: regular time and overtime, making and setting up. The one that a text "
    "mentions last, or in another place, is not counted.")
class RowTermDropped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        switched = {(s.row.name, s.spot.side, s.spot.place.path) for s in switches(model)}
        for row in model.rows:
            for spot in _dispensable(row) if row.relation != "=" else ():
                if (row.name, spot.side, spot.place.path) not in switched:
                    yield spot.part(n.ZERO, "", spot.node, n.ZERO)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` does not count {w.amount(_bare(part.old))} and reads {w.formula(part.faulty)}",
            "what a constraint does not count costs it nothing and helps it in nothing, so the plans that it admits are not those "
            "of the text",
            w.says(part))


@operator(
    "row-term-sign-flipped", "A quantity enters a constraint with the wrong sign", "rows",
    "What comes in and what goes out, what helps and what uses up, stand on different sides. \"After\", \"less\" and \"from\" tell "
    "which side is meant, and are easily read the other way round.")
class RowTermSignFlipped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for spot in _among_others(row):
                yield spot.part(minus(spot.node), "", spot.node)

    def tell(self, w: Words, part: Part) -> Account:
        does, due = ("adds", "subtract") if isinstance(part.old, n.Neg) else ("subtracts", "add")
        side = "left" if part.row.left != part.faulty.left else "right"
        return Account.of(
            f"the constraint `{part.name}` {does} {w.amount(_bare(part.old))} on its {side} side where it should {due} it: it reads "
            f"{w.formula(part.faulty)}",
            "what should make that side larger makes it smaller, or the other way round, so wrong plans are admitted and right ones refused",
            w.says(part))


@operator(
    "limit-as-penalty", "A limit may be broken at a price", "rows",
    "\"Should not exceed\" and \"if at all possible\" sound as if a limit could be bought off. A limit that the text states as a rule "
    "is a constraint; written as a penalty with an invented price, it is broken whenever that pays.")
class LimitAsPenalty(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if row.relation == "=" or row.origin:
                continue
            symbol = unused(model, "excess" if row.relation == "<=" else "shortfall")
            refs = tuple(n.Ref(k.name) for k in row.forall)
            over = n.VarRef(symbol, refs)
            what = "exceeded" if row.relation == "<=" else "missed"
            v = n.VarDecl(symbol, symbol, row.forall, None, "continuous", n.ZERO, None, "",
                          f"amount by which the limit {row.name} is {what}", True)
            paid: n.Expr = times(PENALTY, over)
            paid = n.Sum(row.forall, row.where, paid) if row.forall else paid
            term = n.Term(f"penalty_{row.name}", minus(paid) if model.objective.sense == "maximize" else paid,
                          f"penalty for a limit that is {what}")
            after = with_side(row, "right", n.addition(row.right, over if row.relation == "<=" else n.Neg(over)))
            yield Part("row", row.name, row, after, "", over, term, ((None, v), (None, term)))

    def tell(self, w: Words, part: Part) -> Account:
        what = "exceeded" if part.row.relation == "<=" else "missed"
        return Account.of(
            f"the constraint `{part.name}` may be {what} at a price of {w.ex(PENALTY)} a unit, by the new variable {w.ex(part.old)}: it reads "
            f"{w.formula(part.faulty)}, where it should hold in any case",
            "the price is invented, and plans that break the limit are admitted; where breaking it gains more than the price, the "
            "optimum does",
            f"leave out the new variable and its penalty, and {w.says(part)}")


@operator(
    "ratio-multiplied-backwards", "A ratio is cross-multiplied the wrong way", "rows",
    "\"At most R on average\" is a quotient. To be rid of it both sides are multiplied by the divisor; divided once more instead, or "
    "with the sides mixed up, the limit is smaller or larger than the one that is meant.")
class RatioMultipliedBackwards(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for side in ("left", "right"):
                whole, rest = getattr(row, side), getattr(row, other(side))
                if isinstance(whole, n.Div) and rest != n.ZERO:
                    after = with_side(with_side(row, side, whole.left), other(side), n.Div(rest, whole.right))
                    yield Part("row", row.name, row, after, side, whole, n.Div(rest, whole.right))

    def tell(self, w: Words, part: Part) -> Account:
        by = w.data(part.old.right)
        return Account.of(
            f"the constraint `{part.name}` divides the wrong side by {by}: it reads {w.formula(part.faulty)}",
            "a quotient is cleared by multiplying the other side with its divisor; dividing that side as well moves the limit "
            "by the square of the divisor",
            w.says(part))


@operator(
    "average-as-total", "An average is taken for a total", "rows",
    "\"On average\", \"per head\" and \"a day\" divide a total by a number of cases. Without the division the limit is asked of the "
    "total, which is so many times larger.")
class AverageAsTotal(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for side in ("left", "right"):
                whole = getattr(row, side)
                if isinstance(whole, n.Div) and isinstance(whole.right, n.Card):
                    yield Part("row", row.name, row, with_side(row, side, whole.left), side, whole, whole.left)

    def tell(self, w: Words, part: Part) -> Account:
        k = part.old.right
        over = part.row.relation == ("<=" if part.detail == "left" else ">=")
        this = "the two cannot be equal" if part.row.relation == "=" else f"the constraint is far too {'strict' if over else 'lax'}"
        return Account.of(
            f"the constraint `{part.name}` leaves out the division by {w.ex(k)}, the number of {w.plural(k.set)}, and so compares a total "
            f"where it should compare an average: it reads {w.formula(part.faulty)}",
            f"the total grows with the number of {w.plural(k.set)} and the limit does not, so {this}",
            w.says(part))


@operator(
    "lag-reversed", "The neighbouring period is taken on the wrong side", "index",
    "\"Carried over\" comes from the period before, \"in advance\" points to the one after. With t+1 for t-1 time runs backwards, and "
    "nothing fails as long as the index stays within its set.")
class LagReversed(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for k in row.forall:
                refs = [x for side in (row.left, row.right) for x in n.walk(side) if isinstance(x, (n.VarRef, n.ParamRef))]
                shifts = {r.shift for x in refs for r in x.refs if r.index == k.name and r.shift}
                if not shifts:
                    continue

                def turn(x, k=k):
                    if isinstance(x, (n.VarRef, n.ParamRef)):
                        return replace(x, refs=tuple(n.Ref(r.index, -r.shift) if r.index == k.name else r for r in x.refs))
                    return x

                where = n.conjunction(*(self.mirrored(c, k) for c in n.conditions(row.where)))
                after = replace(row, where=where, left=n.rebuild(row.left, turn), right=n.rebuild(row.right, turn))
                yield Part("row", row.name, row, after, k.name, k, min(shifts))

    @staticmethod
    def mirrored(c: n.Cond, k: n.Index) -> n.Cond:
        """t > first as t < last, so that the shift stays inside."""
        match c:
            case n.Edge(ref=n.Ref(index=i, shift=0), op=">", end="first") if i == k.name:
                return n.Edge(c.ref, "<", "last")
            case n.Edge(ref=n.Ref(index=i, shift=0), op="<", end="last") if i == k.name:
                return n.Edge(c.ref, ">", "first")
        return c

    def tell(self, w: Words, part: Part) -> Account:
        noun = w.noun(part.old.set)
        takes, due = ("after", "before") if part.new < 0 else ("before", "after")
        return Account.of(
            f"the constraint `{part.name}` takes from the {noun} {takes} what it should take from the {noun} {due}: it reads "
            f"{w.formula(part.faulty)}",
            f"what one {noun} leaves to another goes the wrong way round, so plans are admitted that use something before it is there",
            w.says(part))
