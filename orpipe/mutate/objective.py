"""Mistakes in the objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.linking import Switch, priced
from orpipe.mutate.part import Part
from orpipe.mutate.places import addends, fresh, is_negative, letters, minus, relabel, rename
from orpipe.mutate.words import Account, Words


@operator(
    "sense-flipped", "The objective is maximized where it should be minimized, or the reverse", "objective",
    "A text that names a quantity (\"the total cost of the plan\") without a plain verb, or that asks for the "
    "\"best\" value, leaves the direction to be inferred. Taken the wrong way, the solver returns the worst plan, "
    "or none because the objective runs away without limit.")
class SenseFlipped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        flipped: n.Sense = "maximize" if model.objective.sense == "minimize" else "minimize"
        yield Part("objective", "objective", model.objective, replace(model.objective, sense=flipped))

    def tell(self, w: Words, part: Part) -> Account:
        right = w.model.objective.sense
        wrong, size, due = ("maximize", "large", "small") if right == "minimize" else ("minimize", "small", "large")
        return Account.of(
            f"the objective is to `{wrong}` where it should `{right}`: it makes {w.goal()} as {size} as possible, "
            f"when it should be as {due} as possible",
            "the constraints only say which plans are possible, and the sense says which of them is best; the wrong sense "
            "picks the worst plan, or none if the objective then grows without limit",
            f"write `{right}` in place of `{wrong}`; the terms of the objective stay as they are")


@operator(
    "term-dropped", "A term of the objective is left out", "objective",
    "Costs and gains are often told in different paragraphs, or one of them looks like background (\"opening a site "
    "also takes a fee\"). A term that is left out makes its choice look free, or its gain worthless.")
class TermDropped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        if len(model.objective.terms) > 1:
            for t in model.objective.terms:
                yield Part("objective", t.name, t, None)

    def tell(self, w: Words, part: Part) -> Account:
        t = part.term
        why = ("what costs nothing in the objective is used as if it were free, so the optimum may be another plan, "
               "and its value is not the true total" if w.is_cost(t) else
               "a gain that the objective does not count is no reason to act, so the optimum may pass it by, and its "
               "value is not the true total")
        return Account.of(f"the objective leaves out the {w.term(t, last=True)}", why,
                          f"add the term {w.write(t)} to the objective")


@operator(
    "term-sign-flipped", "A term of the objective has the wrong sign", "objective",
    "Where gains and costs meet in one objective, each needs the sign that goes with the sense. Adding a cost to a "
    "profit (gross for net), or subtracting a fee from a cost, rewards what should be avoided.")
class TermSignFlipped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        if len(model.objective.terms) > 1:
            for t in model.objective.terms:
                yield Part("objective", t.name, t, replace(t, expr=minus(t.expr)))

    def tell(self, w: Words, part: Part) -> Account:
        t = part.term
        does, due = ("adds", "subtract") if is_negative(t.expr) else ("subtracts", "add")
        counted, truly = ("a gain", "a cost") if w.is_cost(t) else ("a cost", "a gain")
        drawn = "drawn towards what it should avoid" if w.is_cost(t) else "drawn away from what it should seek"
        return Account.of(
            f"the objective {does} the {w.term(t)} where it should {due} it, and so counts {truly} as {counted}",
            f"the same plans are possible as before, but the optimum is {drawn}",
            f"write the term with its right sign, {w.write(t)}")


@operator(
    "fixed-cost-per-unit", "A fixed cost is charged per unit", "objective",
    "\"Running a line costs 200\" is easily read as a price per unit. A fixed cost is paid in full with the first "
    "unit and does not grow after it, so it belongs to the yes-or-no variable and not to the amount.")
class FixedCostPerUnit(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s, spot, factor, y in priced(model):
            if y.var == s.ref.var:
                amount = self.amount(s, y, spot.place.scope, getattr(spot.host, spot.side))
                yield spot.part(n.Mul(factor, amount), s.row.name, y, amount)

    @staticmethod
    def amount(s: Switch, y: n.VarRef, scope: tuple[n.Index, ...], expr: n.Expr) -> n.Expr:
        """What the linking row limits, for the switch `y` of the objective; summed over indices `y` does not have."""
        letter = {own.index: use for own, use in zip(s.ref.refs, y.refs, strict=True)}
        rest = n.addition(*(t for t in addends(s.rest) if n.has_variables(t)))
        inner = tuple(k for x in n.walk(rest) if isinstance(x, n.Sum) for k in x.indices)
        extra = tuple(k for k in s.row.forall if k.name not in letter)
        moved = letter | fresh((*extra, *inner), letters(expr) | {k.name for k in scope})
        amount = rename(rest, moved)
        if extra:
            amount = n.Sum(relabel(extra, moved), rename(s.row.where, moved), amount)
        return amount

    def tell(self, w: Words, part: Part) -> Account:
        t, y = part.term, part.old
        return Account.of(
            f"the {w.term(t)} is charged for every unit of {w.amount(part.new)} where it should be charged once, "
            f"through {w.var(y.var)}",
            "a fixed cost is due in full with the first unit and does not grow after it; spread over units it makes "
            "small amounts cheap and large amounts dear, so the choice of what to use is weighed wrongly",
            f"write the term as {w.write(t)}; the constraint `{part.detail.split(' ')[0]}` already ties {w.ex(y)} to the "
            "amount")
