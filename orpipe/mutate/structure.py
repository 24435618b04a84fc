"""Mistakes with indices: totals for single rows and the reverse, ends of ordered sets, lags, conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from orpipe.algebra import nodes as n
from orpipe.algebra.text import condition_text, expr_text
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.part import Part
from orpipe.mutate.places import (
    bound,
    letters,
    mentions,
    other,
    row_spots,
    spots,
    term_spots,
    times,
    with_side,
    without,
)
from orpipe.mutate.safety import facts
from orpipe.mutate.words import Account, Words


def total(e: n.Expr, k: n.Index) -> n.Expr:
    """The sum of `e` over all k, taken into sums of terms; what does not depend on k is multiplied by |K|."""
    match e:
        case n.Num(value=v) if v == 0:
            return e
        case n.Add(terms=terms):
            return n.addition(*(total(t, k) for t in terms))
        case n.Neg(arg=a):
            return n.Neg(total(a, k))
    if k.name not in letters(e):
        return times(n.Card(k.set), e)
    if isinstance(e, n.Sum):
        return n.Sum(as_in(e.where, (k, *e.indices)), e.where, e.body)
    return n.Sum((k,), None, e)


def as_in(where: n.Cond | None, indices: tuple[n.Index, ...]) -> tuple[n.Index, ...]:
    """The indices in the order of the tuple set that binds them all, if one does."""
    names = {k.name: k for k in indices}
    for c in n.conditions(where):
        if isinstance(c, n.Member) and len(c.refs) == len(names) and {r.index for r in c.refs} == set(names):
            return tuple(names[r.index] for r in c.refs)
    return indices


@operator(
    "aggregated", "A constraint for each element is written as one total", "index",
    "\"The customers need 5, 6 and 4\" is a statement about each of them. Added up into \"15 in all\", the total "
    "may be right while every single figure is wrong.")
class Aggregated(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for k in row.forall:
                # a condition on k could leave nothing to add; a variable without k is the case of sum-for-max
                narrowed = any(mentions(c, k.name) for c in n.conditions(row.where))
                if narrowed or any(k.name not in letters(s) for s in (row.left, row.right) if n.has_variables(s)):
                    continue
                forall = tuple(x for x in row.forall if x != k)
                after = replace(row, forall=forall, left=total(row.left, k), right=total(row.right, k))
                yield Part("row", row.name, row, after, k.name, k)

    def tell(self, w: Words, part: Part) -> Account:
        k = part.old
        return Account.of(
            f"the constraint `{part.name}` is written once for the total over all {w.plural(k.set)} where it should stand "
            f"for each {w.noun(k.set)}: it reads {w.formula(part.faulty)}",
            f"a total says nothing about its parts: too much for one {w.noun(k.set)} can hide behind too little for "
            "another",
            w.says(part))


@operator(
    "per-element", "A limit on a sum is applied to each part of it", "index",
    "\"The machine has 40 hours\" is shared by all that runs on it. Written for each product alone, every one of "
    "them gets the 40 hours; a joint requirement written that way is asked of each one in full.")
class PerElement(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for side, rest in (("left", row.right), ("right", row.left)):
                whole = getattr(row, side)
                if not isinstance(whole, n.Sum):
                    continue
                for k in whole.indices:
                    remaining = tuple(x for x in whole.indices if x != k)
                    own = [c for c in n.conditions(whole.where) if mentions(c, k.name)]
                    tied = any(mentions(c, x.name) for c in own for x in remaining)
                    if tied or k.name in letters(rest) | bound(rest):
                        continue
                    kept = n.conjunction(*(c for c in n.conditions(whole.where) if c not in own))
                    part = n.Sum(remaining, kept, whole.body) if remaining else whole.body
                    where = n.conjunction(row.where, *own, *(() if remaining else n.conditions(kept)))
                    after = replace(with_side(row, side, part), forall=as_in(where, (*row.forall, k)), where=where)
                    yield Part("row", row.name, row, after, k.name, k)

    def tell(self, w: Words, part: Part) -> Account:
        k = part.old
        upper = part.row.relation == "<="
        why = (f"each {w.noun(k.set)} may keep within the limit while together they go far beyond it" if upper else
               f"what all {w.plural(k.set)} should meet together is asked of each {w.noun(k.set)} alone")
        return Account.of(
            f"the constraint `{part.name}` stands for each {w.noun(k.set)} alone where it should hold for the sum over the "
            f"{w.plural(k.set)}: it reads {w.formula(part.faulty)}",
            why, w.says(part))


@operator(
    "sum-for-max", "A sum stands where the largest or smallest is meant", "index",
    "\"The last job ends\", \"the worst case\", \"the busiest day\" speak of an extreme value. It is bounded by "
    "each element on its own; bounded by their sum, it measures something else.")
class SumForMax(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for side, rest in (("left", row.right), ("right", row.left)):
                lone = getattr(row, side)
                if not isinstance(lone, n.VarRef) or row.relation == "=" or not n.has_variables(rest):
                    continue
                for k in row.forall:
                    if k.name in letters(lone) or k.name not in letters(rest):
                        continue
                    own = [c for c in n.conditions(row.where) if mentions(c, k.name)]
                    sums = n.Sum((k,), n.conjunction(*own), rest)
                    where = n.conjunction(*(c for c in n.conditions(row.where) if c not in own))
                    forall = tuple(x for x in row.forall if x != k)
                    after = replace(with_side(row, other(side), sums), forall=forall, where=where)
                    yield Part("row", row.name, row, after, k.name, lone, sums)

    def tell(self, w: Words, part: Part) -> Account:
        lone, sums = part.old, part.new
        k = sums.indices[0]
        return Account.of(
            f"the constraint `{part.name}` compares {w.var(lone.var)} with the sum over all {w.plural(k.set)} where it "
            f"should be compared with each {w.noun(k.set)} on its own: it reads {w.formula(part.faulty)}",
            "the largest or smallest of several values is not their sum; the model measures another quantity and may "
            "prefer another plan",
            w.says(part))


@operator(
    "last-skipped", "The last element of an ordered set is left out", "index",
    "A range that stops one short is the commonest slip in a program, and \"between periods\" in a text suggests "
    "one rule fewer than there are periods. What nothing governs in the last period, the optimum exploits.")
class LastSkipped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        yield from _ends(model, "last")

    def tell(self, w: Words, part: Part) -> Account:
        return _tell_end(w, part, "last")


@operator(
    "first-skipped", "The first element of an ordered set is left out", "index",
    "The first period has no predecessor and is easily left to a rule of its own that is then never written. An "
    "index that starts at 1 where the data start at 0 does the same.")
class FirstSkipped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        yield from _ends(model, "first")

    def tell(self, w: Words, part: Part) -> Account:
        return _tell_end(w, part, "first")


def _ends(model: n.Model, end: Literal["first", "last"]) -> Iterator[Part]:
    def cut(k: n.Index) -> n.Edge:
        return n.Edge(n.Ref(k.name), "<" if end == "last" else ">", end)

    def open_end(k: n.Index, where: n.Cond | None) -> bool:
        given = facts(model, n.conditions(where))
        fixed = any(isinstance(c, n.Edge) and c.op == "=" and c.ref.index == k.name for c in given)
        return model.set_by[k.set].ordered and not fixed and cut(k) not in given

    for t in model.objective.terms:
        for spot in term_spots(t):
            if isinstance(spot.node, n.Sum):
                for k in spot.node.indices:
                    if open_end(k, spot.node.where):
                        where = n.conjunction(spot.node.where, cut(k))
                        yield spot.part(replace(spot.node, where=where), k.name, k, cut(k))
    for row in model.rows:
        for k in row.forall:
            if open_end(k, row.where):
                where = n.conjunction(row.where, cut(k))
                yield Part("row", row.name, row, replace(row, where=where), k.name, k, cut(k))


def _tell_end(w: Words, part: Part, end: str) -> Account:
    k = part.old
    noun = w.noun(k.set)
    if part.kind == "row":
        return Account.of(
            f"the constraint `{part.name}` is not written for the {end} {noun}, so nothing there says that "
            f"{w.because(part.row)}",
            f"a rule that should hold for every {noun} is off in the {end} one, and the optimum may do there what the "
            "rule forbids",
            f"write the constraint for every {noun}: {w.write(part.row)}")
    return Account.of(
        f"the {w.term(part.term)} leaves out the {end} {noun}",
        f"what is chosen for the {end} {noun} does not count in this term, so the optimum may choose badly there, and "
        "its value need not be the true total",
        f"add up over every {noun}: {w.write(part.term)}")


@operator(
    "lag-missing", "A value of the neighbouring period is taken from the same one", "index",
    "\"What is left over\", \"the stock so far\", \"the day before\" point to another period than the one the "
    "sentence is about. With the shift of the index left out, the periods are no longer tied together.")
class LagMissing(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in spots(model):
            node = spot.node
            if isinstance(node, (n.VarRef, n.ParamRef)):
                for at, r in enumerate(node.refs):
                    if r.shift:
                        refs = (*node.refs[:at], n.Ref(r.index), *node.refs[at + 1:])
                        yield spot.part(replace(node, refs=refs), _at(node, at))

    def tell(self, w: Words, part: Part) -> Account:
        old, new = part.old, part.new
        at = next(k for k, r in enumerate(old.refs) if r != new.refs[k])
        decls = w.model.var_by[old.var] if isinstance(old, n.VarRef) else w.model.param_by[old.param]
        told = w.var(old.var) if isinstance(old, n.VarRef) else w.param(old.param)
        noun, shift = w.noun(decls.indices[at].set), old.refs[at].shift
        far = f"the {noun} {abs(shift)} places {'earlier' if shift < 0 else 'later'}"
        due = {-1: f"the {noun} before", 1: f"the next {noun}"}.get(shift, far)
        return Account.of(
            f"the {w.host(part)} has {w.ex(new)} where it should have {w.ex(old)}: {told} is taken from the same "
            f"{noun} instead of {due}",
            f"the shifted index is what carries a value from one {noun} to another; without it nothing is carried over "
            "there",
            w.says(part))


def _at(node: n.VarRef | n.ParamRef, at: int) -> str:
    return expr_text(node) + (f" at {at + 1}" if sum(bool(r.shift) for r in node.refs) > 1 else "")


@operator(
    "sum-condition-dropped", "A sum leaves out its condition", "index",
    "\"From every other site\", \"of the eligible ones\", \"up to that day\" restrict what is added. Without the "
    "condition the sum counts things that have no part in it.")
class SumConditionDropped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in spots(model):
            if isinstance(spot.node, n.Sum):
                for c in n.conditions(spot.node.where):
                    if c in facts(model, (*spot.place.where, *(x for x in n.conditions(spot.node.where) if x != c))):
                        continue
                    wider = replace(spot.node, where=without(spot.node.where, c))
                    yield spot.part(wider, condition_text(c), c, wider)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the sum in the {w.host(part)} leaves out the condition {w.ex(part.old)} and runs over everything",
            "it then counts items that the text excludes, so the total is another one than the text speaks of",
            w.says(part))


@operator(
    "row-condition-dropped", "A constraint is written where it should not stand", "index",
    "\"After the first day\", \"for different sites\" and \"where the two may meet\" limit a rule to some of the "
    "elements. Applied to all of them, it forbids what nobody has forbidden.")
class RowConditionDropped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for c in n.conditions(row.where):
                implied = c in facts(model, tuple(x for x in n.conditions(row.where) if x != c))
                if _always_filled(row) and not implied:
                    yield Part("row", row.name, row, replace(row, where=without(row.where, c)), condition_text(c), c)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` leaves out the condition {w.ex(part.old)} and so stands in places where it "
            "should not",
            "a rule that is imposed where the text does not state it refuses plans that are allowed, so the optimum "
            "may be worse than the true one or no plan may be left",
            w.says(part))


def _always_filled(row: n.Row) -> bool:
    """Does a variable stand outside every sum that a condition may empty?"""
    own = set(n.conditions(row.where))
    return any(isinstance(s.node, n.VarRef) and set(s.place.where) <= own for s in row_spots(row))


@operator(
    "pairs-counted-twice", "Pairs are counted twice, or in one order only", "index",
    "\"Each pair\" is i < j; \"from each to each other\" is i != j. A text that speaks of pairs without saying "
    "whether order matters is read either way, and the sum doubles or halves.")
class PairsCountedTwice(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in spots(model):
            if not isinstance(spot.node, n.Sum):
                continue
            own = {k.name for k in spot.node.indices}
            for c in n.conditions(spot.node.where):
                if isinstance(c, n.Compare) and c.op in ("<", ">", "!=") and {c.left.index, c.right.index} <= own:
                    wrong = replace(c, op="<" if c.op == "!=" else "!=")
                    where = n.conjunction(*(wrong if x == c else x for x in n.conditions(spot.node.where)))
                    yield spot.part(replace(spot.node, where=where), condition_text(c), c, wrong)

    def tell(self, w: Words, part: Part) -> Account:
        effect = "twice, once in either order" if part.new.op == "!=" else "in one order only"
        return Account.of(
            f"the sum in the {w.host(part)} has the condition {w.ex(part.new)} where it should have "
            f"{w.ex(part.old)}, so each pair is counted {effect}",
            "the sum is about twice, or half, of what the text means, and weighs too much or too little against the "
            "rest of the model",
            w.says(part))
