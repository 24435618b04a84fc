"""Mis-modellings that need the data of an instance: a number copied wrong, an answer written down instead of a model.

    instance_mutants(model, data, Optimum(values, objective))      of one instance
    operator_by_id("data-value-mistyped")                          they stand in the catalogue beside the others

A program that reads its data has none of these faults; one with its data inside may have each.  Hidden data sets say nothing about
them (a typing mistake is one in these data, and a stated answer differs at once), so suites do not count them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from orpipe.algebra import nodes as n
from orpipe.data import Data, with_entry
from orpipe.errors import OrpipeError
from orpipe.exact import decimal_text, fraction
from orpipe.ground import ground
from orpipe.mutate.catalogue import InstanceOperator, Mutant, Slip, instance_operators, operator
from orpipe.mutate.part import Part
from orpipe.mutate.places import unused
from orpipe.mutate.words import Account, Words
from orpipe.problem import Problem
from orpipe.render.files import Entry, entries

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Optimum:
    """values: by name of the column, as in the Problem."""

    values: Mapping[str, Fraction]
    objective: Fraction


@dataclass(frozen=True)
class InstanceMutant(Mutant):
    """data: what `model` is ground with, in place of the instance's."""

    data: Data

    def given(self, data: Data) -> Data:
        return self.data


def instance_mutants(model: n.Model, data: Data, best: Optimum | None = None, rng: np.random.Generator | None = None) -> list[InstanceMutant]:
    """Those whose matrix is another one than that of the (linear) model, by operator.

    best: where the instance has an optimum; without it no answer can be stated.  rng chooses the entries that are mistyped; by default
    the first of each table that can be."""
    right, found = ground(model, data), []
    for op in instance_operators():
        for slip in op.slips(model, data, best, rng):
            try:
                faulty = ground(slip.model, slip.data)
            except OrpipeError:
                continue  # a mistake that the checks on data catch is none
            if right.difference(faulty) is not None:
                found.append(InstanceMutant(op, slip.part.site, slip.model, slip.part, slip.data))
    return found


def mutant_at(model: n.Model, data: Data, op: InstanceOperator, site: str) -> InstanceMutant | None:
    """The mutant that an operator makes at the place so printed, whichever entries are drawn; None if it makes none there."""
    for slip in op.every(model, data):
        if str(slip.part.site) == site:
            return InstanceMutant(op, slip.part.site, slip.model, slip.part, slip.data)
    return None


# -- one number --------------------------------------------------------------------------------------------------------
@operator(
    "data-value-mistyped", "A number is copied wrong", "data",
    "Numbers are copied from a text into a program by hand or by eye: two digits change places, a zero gets lost, the eye slips to the line below. "
    "The program is right but for this, and nothing fails.")
class DataValueMistyped(InstanceOperator):
    def slips(self, model: n.Model, data: Data, best: Optimum | None, rng: np.random.Generator | None) -> Iterator[Slip]:
        for p, how, some in self.groups(model, data):
            yield self.slip(model, data, p, *some[0 if rng is None else int(rng.integers(len(some)))], how)

    def every(self, model: n.Model, data: Data) -> Iterator[Slip]:
        for p, how, some in self.groups(model, data):
            for entry, new in some:
                yield self.slip(model, data, p, entry, new, how)

    @staticmethod
    def groups(model: n.Model, data: Data) -> Iterator[tuple[n.ParamDecl, str, list[tuple[Entry, Fraction]]]]:
        """By parameter and kind of mistake: entries that may be mistyped, with what is then written."""
        for p in model.params:
            known = entries(model, data, p)
            for how, read in (("digits", exchanged), ("zero", without_zero)):
                if some := [(e, new) for e in known if (new := read(fraction(e.value))) is not None]:
                    yield p, how, some
            if beside := [(a, fraction(b.value)) for a, b in pairwise(known) if fraction(a.value) != fraction(b.value)]:
                yield p, "neighbour", beside

    @staticmethod
    def slip(model: n.Model, data: Data, p: n.ParamDecl, entry: Entry, new: Fraction, how: str) -> Slip:
        at = ",".join(map(str, entry.labels))
        value = int(new) if new.denominator == 1 else float(new)
        part = Part("data", p.symbol, None, None, f"{at}: {how}" if at else how, entry, value)
        return Slip(model, with_entry(data, p.symbol, entry.labels, value), part)

    def tell(self, w: Words, part: Part) -> Account:
        entry, how = part.old, part.detail.rpartition(" ")[2]
        at = f"[{','.join(map(str, entry.labels))}]" if entry.labels else ""
        decl = w.model.param_by[part.name]
        place = f"`{decl.name if w.names else decl.symbol}{at}`"
        slipped = {"digits": "two digits have changed places", "zero": "a zero is lost", "neighbour": "this is the number of the entry that follows"}
        told = _figure(entry.value)
        return Account.of(
            f"the value of {place} ({w.fill(decl.meaning)}) is {_figure(part.new)} where the data say {told}: {slipped[how]}",
            "the model is right for any data, but it is solved for numbers that are not those of the problem, and its optimum with them",
            f"write {told} for {place}")


def exchanged(value: Fraction) -> Fraction | None:
    """Two neighbouring digits in each other's place, the first pair that makes a difference and no leading zero; None if there is none."""
    text = decimal_text(abs(value)) or ""
    for k in range(len(text) - 1):
        a, b = text[k], text[k + 1]
        if a.isdigit() and b.isdigit() and a != b and not (b == "0" and k == 0):
            moved = Fraction(text[:k] + b + a + text[k + 2:])
            return -moved if value < 0 else moved
    return None


def without_zero(value: Fraction) -> Fraction | None:
    """120 as 12, 0.05 as 0.5; None where no zero can get lost."""
    if value and value.denominator == 1 and value % 10 == 0:
        return value / 10
    if value and abs(value) < Fraction(1, 10):
        return value * 10
    return None


def _figure(value: Any) -> str:
    return decimal_text(fraction(value)) or str(value)


# -- the answer --------------------------------------------------------------------------------------------------------
@operator(
    "answer-hard-coded", "The answer is written down instead of a model", "data",
    "Once the best plan is known, by a guess, by hand or from another source, a program can state it and look like a model: every variable fixed, "
    "or an objective that is a number. It is right for this instance and for no other.")
class AnswerHardCoded(InstanceOperator):
    def slips(self, model: n.Model, data: Data, best: Optimum | None, rng: np.random.Generator | None) -> Iterator[Slip]:
        if best is not None:
            yield self.plan(model, data, best)
            symbol = unused(model, "stated")
            value = n.ParamDecl(symbol, symbol, (), None, "", "optimal value as stated", "any")
            term = n.Term(symbol, n.ParamRef(symbol), "value stated")
            bare = replace(model, params=(*model.params, value), objective=replace(model.objective, terms=(term,)), rows=())
            yield Slip(bare, {**data, symbol: _plain(best.objective)}, Part("model", "objective", None, None, "value", best.objective))

    @staticmethod
    def plan(model: n.Model, data: Data, best: Optimum) -> Slip:
        """Every variable fixed, by a table of its values; no other rule is left."""
        params, rows, extra = [], [], {}
        for v in model.variables:
            symbol = unused(model, f"stated_{v.name}")
            refs = tuple(n.Ref(k.name) for k in v.indices)
            params.append(n.ParamDecl(symbol, symbol, v.indices, v.domain, v.unit, f"stated value: {v.meaning}", "any"))
            where = n.Member(refs, v.domain) if v.domain else None
            fixed = n.VarRef(v.symbol, refs), "=", n.ParamRef(symbol, refs)
            rows.append(n.Row(f"fix_{v.name}", v.indices, where, *fixed, "the plan is the stated one"))  # type: ignore[arg-type]
            extra[symbol] = _table(v.name, best)
        stated = replace(model, params=(*model.params, *params), rows=tuple(rows))
        return Slip(stated, {**data, **extra}, Part("model", "variables", None, None, "plan", tuple(v.symbol for v in model.variables)))

    def tell(self, w: Words, part: Part) -> Account:
        if part.detail == "plan":
            told = w.series(w.var(symbol) for symbol in part.old)
            fault = f"the model fixes {told} at the values of one plan, and none of the rules of the problem is in it"
        else:
            fault = f"the objective is the number {_figure(part.old)}, and none of the decisions and rules of the problem is in the model"
        return Account.of(
            fault, "the value is right for these data only because it was known beforehand; with any other number in the data the model says "
            "the same, which is then wrong or cannot be carried out",
            f"write the objective from the decisions ({w.series(f'`{t.name}`' for t in w.model.objective.terms)}) and the constraints "
            f"{w.series(f'`{r.name}`' for r in w.model.rows)}, with the data in them")


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _table(name: str, best: Optimum) -> Any:
    """The values of one variable as nested objects by label (labels hold neither commas nor brackets)."""
    if name in best.values:
        return _plain(best.values[name])
    table: dict[str, Any] = {}
    for column, value in best.values.items():
        head, _, rest = column.partition("[")
        if head == name:
            *path, last = rest.rstrip("]").split(",")
            node = table
            for label in path:
                node = node.setdefault(label, {})
            node[last] = _plain(value)
    return table


def optimum_of(problem: Problem, point: tuple[Fraction, ...] | None, objective: Fraction | None) -> Optimum | None:
    """Of a label's point and value; None where there is no optimum."""
    if point is None or objective is None:
        return None
    return Optimum(dict(zip(problem.columns, point, strict=True)), objective)
