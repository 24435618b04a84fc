"""Mistakes with data: wrong column, wrong way round, counted twice or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.part import Part
from orpipe.mutate.places import Spot, addend_spots, addends, is_data, letters, number, other, spots, times
from orpipe.mutate.wholes import at_end
from orpipe.mutate.words import Account, Words


@operator(
    "coefficients-transposed", "The two indices of a table are swapped", "data",
    "A table from a set to itself, such as distances, has rows and columns with the same labels. Read by columns "
    "instead of rows nothing fails, and only an uneven table shows the mistake.")
class CoefficientsTransposed(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in spots(model):
            node = spot.node
            if not isinstance(node, n.ParamRef):
                continue
            sets = [k.set for k in model.param_by[node.param].indices]
            for a in range(len(sets)):
                for b in range(a + 1, len(sets)):
                    if sets[a] == sets[b] and node.refs[a] != node.refs[b]:
                        refs = list(node.refs)
                        refs[a], refs[b] = refs[b], refs[a]
                        swapped = replace(node, refs=tuple(refs))
                        yield spot.part(swapped, self.detail(node, swapped))

    @staticmethod
    def detail(old: n.ParamRef, new: n.ParamRef) -> str:
        return f"{old.param}[{','.join(r.index for r in new.refs)}]"

    def tell(self, w: Words, part: Part) -> Account:
        old = part.old
        indices = w.model.param_by[old.param].indices
        twice = next(k.set for k in indices if sum(x.set == k.set for x in indices) > 1)
        return Account.of(
            f"the {w.host(part)} reads {w.ex(part.new)} where it should read {w.ex(old)}: the indices of "
            f"{w.param(old.param)} are swapped",
            f"both indices run over the {w.plural(twice)}, so nothing fails, but every value is that of the opposite "
            "pair; the result is right only if the table is the same both ways",
            w.repair(part))


@operator(
    "wrong-parameter", "Data are read from the wrong column", "data",
    "Two columns of one table, with the same labels and the same unit, are easily taken for each other: capacity "
    "and demand, buying and selling price, minimum and maximum. Nothing fails, and no unit gives it away.")
class WrongParameter(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in spots(model):
            if not isinstance(spot.node, n.ParamRef):
                continue
            own = model.param_by[spot.node.param]
            for p in model.params:
                alike = [k.set for k in p.indices] == [k.set for k in own.indices] and p.unit == own.unit
                if alike and p.symbol != own.symbol:
                    yield spot.part(replace(spot.node, param=p.symbol), f"{own.symbol} as {p.symbol}")

    def tell(self, w: Words, part: Part) -> Account:
        old, new = part.old, part.new
        indices = w.model.param_by[old.param].indices
        nouns = w.series(w.noun(s) for s in dict.fromkeys(k.set for k in indices)) if indices else ""
        alike = f"both are given by {nouns} in the same unit" if indices else "both are single numbers in the same unit"
        return Account.of(
            f"the {w.host(part)} reads {w.data(new)} where it should read {w.data(old)}",
            f"{alike}, so nothing fails; the model is solved with numbers that belong elsewhere",
            w.repair(part))


@operator(
    "coefficient-inverted", "A rate is inverted", "data",
    "\"3 hours per piece\" and \"3 pieces per hour\" look alike. Which of the two a table holds decides between "
    "multiplying and dividing, and only the units tell.")
class CoefficientInverted(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in spots(model):
            match spot.node:
                case n.Mul(left=n.ParamRef() as p, right=e) | n.Mul(left=e, right=n.ParamRef() as p):
                    if n.has_variables(e) and "/" in model.param_by[p.param].unit:
                        yield spot.part(n.Div(e, p), p.param, p)
                case n.Div(left=e, right=n.ParamRef() as p) if n.has_variables(e):
                    yield spot.part(n.Mul(p, e), p.param, p)

    def tell(self, w: Words, part: Part) -> Account:
        does, due = ("divides", "multiply") if isinstance(part.new, n.Div) else ("multiplies", "divide")
        return Account.of(
            f"the {w.host(part)} {does} by {w.data(part.old)} where it should {due} by it",
            "a rate and its inverse are different numbers in different units; with the inverse, the two sides or "
            "the terms no longer measure the same thing, and what takes much is taken to take little",
            w.repair(part))


class QuantityIgnored(Operator):
    """Data among the terms of a constraint, left out."""

    def spots(self, model: n.Model) -> Iterator[Spot]:
        for row in model.rows:
            for spot in addend_spots(row):
                if spot.place.path and is_data(spot.node):
                    yield spot

    def parts(self, model: n.Model) -> Iterator[Part]:
        for spot in self.spots(model):
            yield spot.part(n.ZERO, "", spot.node, n.ZERO)

    def why(self, w: Words, part: Part) -> str:
        raise NotImplementedError

    def tell(self, w: Words, part: Part) -> Account:
        old = part.old.arg if isinstance(part.old, n.Neg) else part.old
        fault = f"the constraint `{part.name}` leaves out {w.data(old)} and reads {w.formula(part.faulty)}"
        return Account.of(fault, self.why(w, part), w.says(part))


@operator(
    "known-quantity-dropped", "A known quantity is left out of a constraint", "data",
    "A demand, hours already booked, a fixed delivery: what is known enters a balance as a number among variables. Where the variables "
    "seem to tell the whole story, the number is left out and thereby taken as zero.")
class KnownQuantityDropped(QuantityIgnored):
    def why(self, w: Words, part: Part) -> str:
        return ("a quantity that a constraint does not mention is taken as zero, so the variables have to make up for it, or "
                "need not provide for it")


@operator(
    "initial-stock-ignored", "What is there at the start is ignored", "data",
    "What is there already (stock on hand, people on the payroll) is told once, before the plan begins, and belongs to the first period alone. "
    "A plan that starts from nothing makes or buys it once more.")
class InitialStockIgnored(QuantityIgnored):
    special = True

    def spots(self, model: n.Model) -> Iterator[Spot]:
        """In a constraint of the first period, what the data do not give for each period."""
        for spot in super().spots(model):
            row: n.Row = spot.host  # type: ignore[assignment]
            k = at_end(row, "first")
            if k is not None and k.name not in letters(spot.node):
                yield spot

    def why(self, w: Words, part: Part) -> str:
        k = at_end(part.row, "first")
        assert k is not None
        return (f"the first {w.noun(k.set)} then begins with nothing, so the plan has to provide what is there already, or need not "
                "account for it")


@operator(
    "data-doubled", "A known quantity is counted twice", "data",
    "A number that a text gives twice (once in words, once in a table; per half and per whole) is added up as "
    "though two different quantities were meant. The constraint then asks for twice as much, or allows it.")
class DataDoubled(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for spot in addend_spots(row):
                if is_data(spot.node):
                    inner = spot.node.arg if isinstance(spot.node, n.Neg) else spot.node
                    twice = times(number(2), inner)
                    yield spot.part(n.Neg(twice) if inner is not spot.node else twice, "", inner, twice)

    def tell(self, w: Words, part: Part) -> Account:
        demands = part.row.relation == ">=" and part.row.right == part.old
        side = ("a requirement twice as large asks for too much" if demands else
                "a quantity counted twice admits or asks for too much")
        return Account.of(
            f"the constraint `{part.name}` has {w.ex(part.new)} where it should have {w.data(part.old)}, and so counts it "
            "twice",
            f"{side}, and the optimum answers another question than the text asks",
            w.says(part))


@operator(
    "required-once-per-element", "A joint quantity is required once for each element", "data",
    "\"The depots together deliver 5\" has the 5 once. Written inside the sum over the depots, it is added up as "
    "often as there are depots.")
class RequiredOncePerElement(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            for spot in addend_spots(row):
                rest = getattr(row, other(spot.side))
                # a sum that a condition thins out would need its own count
                if not spot.place.path and is_data(spot.node) and isinstance(rest, n.Sum) and rest.where is None:
                    many = spot.node
                    for k in reversed(rest.indices):
                        many = times(n.Card(k.set), many)
                    yield spot.part(many, "", spot.node, many)

    def tell(self, w: Words, part: Part) -> Account:
        sums = next(side for side in (part.row.left, part.row.right) if isinstance(side, n.Sum))
        each = w.series(f"each {w.noun(k.set)}" for k in sums.indices)
        return Account.of(
            f"the constraint `{part.name}` has {w.ex(part.new)} where it should have {w.data(part.old)}: the quantity is "
            f"counted once for {each} instead of once in all",
            "a number written inside a sum is added as often as the sum has terms, so the constraint asks for or allows a "
            "multiple of what is meant",
            w.says(part))


@operator(
    "extra-upper-limit", "A limit that nobody stated is added", "data",
    "It seems natural that no one makes more than is asked for. Where a text does not say so, more may be made for "
    "later or for others, and the invented limit rules that out.")
class ExtraUpperLimit(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.kind == "binary" or v.auxiliary:
                continue
            for p in model.params:
                if p.unit != v.unit or p.domain or v.unit in ("", "1"):
                    continue
                refs = _matching(p, v)
                data = n.ParamRef(p.symbol, refs)
                if v.upper == data or not self.is_asked(model, v.symbol, p.symbol):
                    continue
                x = n.VarRef(v.symbol, tuple(n.Ref(k.name) for k in v.indices))
                if len(refs) == len(p.indices) and (refs or not v.indices):
                    where = n.Member(x.refs, v.domain) if v.domain else None
                    name = f"{v.name}_at_most_{p.name}"
                    because = f"{v.meaning} is at most {p.meaning}"
                    if name not in model.row_by:
                        row = n.Row(name, v.indices, where, x, "<=", data, because)
                        yield Part("row", name, None, row, "", x, data)

    @staticmethod
    def is_asked(model: n.Model, var: str, param: str) -> bool:
        """Is there a constraint that asks for the quantity and lets the variable exceed it?"""
        for row in model.rows:
            for spot in addend_spots(row):
                if isinstance(spot.node, n.ParamRef) and spot.node.param == param:
                    rest = [t for t in (*addends(row.left), *addends(row.right)) if t != spot.node]
                    there = any(isinstance(x, n.VarRef) and x.var == var for t in rest for x in n.walk(t))
                    alone = not n.has_variables(getattr(row, spot.side))
                    needs = alone and row.relation == (">=" if spot.side == "right" else "<=")
                    # an equation bounds its variables already, unless others stand on both sides
                    balance = row.relation == "=" and n.has_variables(row.left) and n.has_variables(row.right)
                    if there and (needs or balance):
                        return True
        return False

    def tell(self, w: Words, part: Part) -> Account:
        x, data = part.old, part.new
        return Account.of(
            f"the constraint `{part.name}` has no sentence in the text: {w.formula(part.faulty)} keeps {w.var(x.var)} from "
            f"exceeding {w.data(data)}",
            "a limit that nobody stated refuses plans that are allowed, so the optimum may be worse than the true "
            "one or no plan may be left",
            f"remove the constraint {w.write(part.faulty)}")


def _matching(p: n.ParamDecl, v: n.VarDecl) -> tuple[n.Ref, ...]:
    """The variable's letters for the parameter's indices, by set; shorter where a set is absent or stands twice."""
    sets = [k.set for k in v.indices]
    return tuple(n.Ref(v.indices[sets.index(k.set)].name) for k in p.indices if sets.count(k.set) == 1)
