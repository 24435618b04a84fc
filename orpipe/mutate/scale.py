"""Mistakes with the size of a number: units, percent, a coefficient left out, a table read one place off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.linking import switches
from orpipe.mutate.part import Part
from orpipe.mutate.places import Spot, number, spots, times
from orpipe.mutate.words import Account, Words


def _effect(w: Words, part: Part) -> str:
    """What a number of the wrong size does, to follow "what it should"."""
    if part.kind == "row":
        return ", so the constraint compares amounts that are not in the same unit"
    return " against the other terms of the objective" if len(w.model.objective.terms) > 1 else ", and the optimal value is off with it"


def _references(model: n.Model) -> Iterator[Spot]:
    for spot in spots(model):
        if isinstance(spot.node, n.ParamRef):
            yield spot


def _factor(unit: str) -> int:
    """What the next larger or smaller unit differs by: 60 where time is measured, else 1000."""
    return 60 if re.search(r"\b(hour|minute|second)s?\b", unit) else 1000


@operator(
    "unit-scale-off", "A number is in another unit than the rest", "data",
    "Hours and minutes, kilograms and tonnes, money and thousands of it meet in one constraint. The numbers are added all the same; only "
    "the result is off by a factor of 60 or 1000.")
class UnitScaleOff(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in _references(model):
            unit = model.param_by[spot.node.param].unit  # type: ignore[union-attr]
            if unit not in ("", "1"):
                yield spot.part(times(number(_factor(unit)), spot.node))

    def tell(self, w: Words, part: Part) -> Account:
        size = part.new.left
        return Account.of(
            f"the {w.host(part)} multiplies {w.data(part.old)} by {w.ex(size)}, as though the number were given in another unit",
            f"the number is in the unit of the rest already; converted once more it weighs {size.value} times what it should{_effect(w, part)}",
            w.repair(part))


@operator(
    "percent-as-fraction", "A fraction is read as a percentage", "data",
    "\"A rate of 0.05\" and \"5 percent\" are the same, and 0.05 percent is not. Dividing a fraction by 100 once more makes it a "
    "hundred times too small.")
class PercentAsFraction(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in _references(model):
            p = model.param_by[spot.node.param]  # type: ignore[union-attr]
            if p.unit in ("", "1") and not p.integer:
                yield spot.part(times(number("1/100"), spot.node))

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the {w.host(part)} divides {w.data(part.old)} by 100 where it is a fraction already",
            f"the number then counts a hundredth of what it should{_effect(w, part)}",
            w.repair(part))


@operator(
    "coefficient-missing", "A coefficient is left out", "data",
    "\"The bag holds 10 kg\" limits the weight of the items and not their number. Where the amount needed by each piece stands only in a "
    "table, the pieces themselves are added up.")
class CoefficientMissing(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in spots(model):
            match spot.node:
                case n.Mul(left=n.ParamRef() as p, right=e) | n.Mul(left=e, right=n.ParamRef() as p) if n.has_variables(e):
                    yield spot.part(e, p.param, p, e)

    def tell(self, w: Words, part: Part) -> Account:
        switch = next((s for s in switches(w.model) if part.kind == "row" and s.row == part.row and s.limit == part.old), None)
        if switch:
            room = "leaves room for a single unit, and plans that are allowed are refused" if switch.relaxes else (
                "asks for a single unit, and plans are admitted that the text rules out")
            return Account.of(
                f"the {w.host(part)} leaves out {w.data(part.old)} and has {w.ex(part.new)} on its own",
                f"a switch is 0 or 1; without its coefficient the constraint {room}",
                w.repair(part))
        measure = "the two sides no longer measure the same thing" if part.kind == "row" else (
            f"the term no longer measures {w.the(part.term.meaning)}")
        return Account.of(
            f"the {w.host(part)} leaves out the coefficient {w.data(part.old)} and adds up {w.amount(part.new)} as it stands",
            f"{w.ex(part.old)} is then taken for 1 throughout, whatever the data say, and {measure}",
            w.repair(part))


@operator(
    "keys-misaligned", "A table is read one place off", "data",
    "A list that starts at 0 and periods that start at 1, or a table whose first line is a heading: each number goes to the "
    "neighbour. Nothing is missing, so nothing fails.")
class KeysMisaligned(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in _references(model):
            node: n.ParamRef = spot.node  # type: ignore[assignment]
            for at, (k, r) in enumerate(zip(model.param_by[node.param].indices, node.refs, strict=True)):
                if model.set_by[k.set].ordered and not r.shift:
                    for step in (-1, 1):
                        refs = (*node.refs[:at], n.Ref(r.index, step), *node.refs[at + 1:])
                        yield spot.part(replace(node, refs=refs), f"{node.param} {r.index}{step:+d}", node)

    def tell(self, w: Words, part: Part) -> Account:
        old, new = part.old, part.new
        at = next(k for k, r in enumerate(old.refs) if r != new.refs[k])
        noun = w.noun(w.model.param_by[old.param].indices[at].set)
        side = "before" if new.refs[at].shift < 0 else "after"
        return Account.of(
            f"the {w.host(part)} reads {w.ex(new)} where it should read {w.data(old)}: every {noun} gets the number of the {noun} {side} it",
            "the table is complete, so nothing fails, and the totals may even be right, but the plan is made for numbers that belong elsewhere",
            w.repair(part))
