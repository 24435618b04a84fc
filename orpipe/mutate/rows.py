"""Mistakes in a constraint: left out, relation, right-hand side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.part import Part
from orpipe.mutate.places import number, with_side
from orpipe.mutate.words import Account, Words


def partners(model: n.Model, row: n.Row) -> list[n.Row]:
    """The other rows that the same logical idiom was written as."""
    return [r for r in model.rows if row.origin and r.origin == row.origin and r.name != row.name]


def is_alternative(row: n.Row) -> bool:
    """One side of an either-or (the names are given by orpipe.algebra.idioms)."""
    return row.name.removeprefix(row.origin).startswith(("_one", "_other"))


@operator(
    "row-dropped", "A constraint is left out", "missing",
    "Every rule of a text needs its constraint. Rules that sound like background, that stand in a table heading, or that "
    "seem to follow from the others are the ones that get lost.")
class RowDropped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if not partners(model, row):
                yield Part("row", row.name, row, None)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` is missing, so nothing in the model says that {w.because(part.row)}",
            "without it the model admits plans that the text rules out, and the optimum takes one of them whenever "
            "that pays",
            f"add the constraint {w.write(part.row)}")


@operator(
    "disjunction-one-order", "Only one side of an either-or is written", "missing",
    "\"Either the first waits for the second or the second for the first\" needs two constraints and a binary that chooses "
    "between them. Written for one side only, the choice of the other side releases both.")
class DisjunctionOneOrder(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if partners(model, row) and is_alternative(row):
                yield Part("row", row.name, row, None)

    def tell(self, w: Words, part: Part) -> Account:
        kept = w.series(f"`{r.name}`" for r in partners(w.model, part.row))
        return Account.of(
            f"the constraint `{part.name}` is missing, and only {kept} is written; it takes both sides of an either-or to say "
            f"that {w.because(part.row)}",
            "the binary chooses which side holds; set to the side that is missing, it releases the other one and "
            "nothing is left to hold",
            f"add the constraint {w.write(part.row)}")


@operator(
    "pair-half-dropped", "One of the constraints that state a rule together is left out", "missing",
    "An absolute value, a minimum lot or a price in steps takes more than one constraint. Each alone looks complete, and "
    "the half that is missing is not noticed until a solution uses the gap.")
class PairHalfDropped(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if partners(model, row) and not is_alternative(row):
                yield Part("row", row.name, row, None)

    def tell(self, w: Words, part: Part) -> Account:
        others = partners(w.model, part.row)
        kept = w.series(f"`{r.name}`" for r in others)
        verb = "is" if len(others) == 1 else "are"
        return Account.of(
            f"the constraint `{part.name}` is missing, and only {kept} {verb} written; it takes {_count(len(others) + 1)} constraints "
            f"to say that {w.because(part.row)}",
            "each of these constraints states a part of the rule, and the optimum may use the part that nothing states",
            f"add the constraint {w.write(part.row)}")


def _count(k: int) -> str:
    return {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}.get(k, str(k))


@operator(
    "relation-reversed", "An inequality points the wrong way", "rows",
    "\"No less than\", \"not beyond\", \"must cover\", \"up to\": phrases that put the limit before the quantity, "
    "or a negation before the comparison, invite the wrong sign. A ceiling becomes a floor, or a floor a ceiling.")
class RelationReversed(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if row.relation != "=":
                wrong: n.Relation = ">=" if row.relation == "<=" else "<="
                yield Part("row", row.name, row, replace(row, relation=wrong))

    def tell(self, w: Words, part: Part) -> Account:
        row, wrong = part.row, part.faulty
        asks = ("asks for at least what it should allow at most" if row.relation == "<=" else
                "allows at most what it should ask for at least")
        why = ("a limit from above that is turned round becomes a requirement: plans within the limit are refused, "
               "and plans beyond it are welcome" if row.relation == "<=" else
               "a requirement that is turned round becomes a limit: what had to be reached may now be missed, and "
               "may not be exceeded")
        return Account.of(
            f"the constraint `{row.name}` has `{wrong.relation}` where it should have `{row.relation}`, so it {asks}; it "
            f"should say that {w.because(row)}",
            why, f"write the constraint as {w.write(row)}")


@operator(
    "equality-relaxed", "An equality is weakened to an inequality", "rows",
    "\"Receives 5 t\" or \"the stock is carried over\" is an exact statement. Read as \"at most\" or \"at least\", "
    "it leaves the optimum free on one side, which it uses as soon as that pays.")
class EqualityRelaxed(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if row.relation == "=":
                relations: tuple[n.Relation, ...] = (">=",) if picks_one(model, row) else ("<=", ">=")
                for relation in relations:
                    yield Part("row", row.name, row, replace(row, relation=relation), relation)

    def tell(self, w: Words, part: Part) -> Account:
        row, wrong = part.row, part.faulty
        side = "less" if wrong.relation == "<=" else "greater"
        return Account.of(
            f"the constraint `{row.name}` has `{wrong.relation}` where it should have `=`: its left side may be {side} than "
            f"its right side, so it no longer says that {w.because(row)}",
            "an equality holds on both sides; where one side is left open, the optimum goes there whenever that "
            "saves or earns something",
            f"write the constraint as {w.write(row)}")


@operator(
    "inequality-as-equality", "A limit or requirement is written as an equality", "rows",
    "\"Has 40 hours\" states what is available and not what must be used; \"needs 5\" may be exceeded where the "
    "text does not forbid it. An equality rules out all plans with slack.")
class InequalityAsEquality(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if row.relation != "=":
                yield Part("row", row.name, row, replace(row, relation="="))

    def tell(self, w: Words, part: Part) -> Account:
        row = part.row
        why = "a limit need not be used up" if row.relation == "<=" else "a requirement may be exceeded"
        return Account.of(
            f"the constraint `{row.name}` has `=` where it should have `{row.relation}`: it makes both sides equal, where "
            f"it is only asked that {w.because(row)}",
            f"{why}; plans with slack are lost, so the optimum may be worse than the true one or no plan may be left",
            f"write the constraint as {w.write(row)}")


def picks_one(model: n.Model, row: n.Row) -> bool:
    """A sum of binaries equal to 1."""
    sides = (row.left, row.right)
    if row.relation != "=" or n.ONE not in sides:
        return False
    chosen = row.right if row.left == n.ONE else row.left
    leaves = [x for x in n.walk(chosen) if isinstance(x, (n.VarRef, n.ParamRef, n.Num, n.Card))]
    return all(isinstance(x, n.VarRef) and model.var_by[x.var].kind == "binary" for x in leaves)


@operator(
    "exactly-one-as-at-most-one", "Exactly one is written as at most one", "rows",
    "\"One worker does each job\" says that the job is done. Written with <=, it only says that no two do it, and "
    "when doing costs something, doing nothing is best.")
class ExactlyOneAsAtMostOne(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if picks_one(model, row):
                yield Part("row", row.name, row, replace(row, relation="<=" if row.right == n.ONE else ">="))

    def tell(self, w: Words, part: Part) -> Account:
        row = part.row
        return Account.of(
            f"the constraint `{row.name}` allows at most one where it should ask for exactly one, so none at all will do, "
            f"and it no longer says that {w.because(row)}",
            "where choosing costs something, choosing nothing is cheapest, and the rest of the model then "
            "has nothing to work on",
            f"write the constraint as {w.write(row)}")


def is_whole(model: n.Model, e: n.Expr) -> bool:
    """Does `e` take whole values only?"""
    for x in n.walk(e):
        match x:
            case n.VarRef(var=v) if model.var_by[v].kind == "continuous":
                return False
            case n.ParamRef(param=p) if not model.param_by[p].integer:
                return False
            case n.Num(value=v) if v.denominator != 1:
                return False
            case n.Div():
                return False
    return True


@operator(
    "off-by-one", "A limit on whole numbers is off by one", "rows",
    "\"Fewer than 5\", \"more than 5\", \"up to and including 5\": with whole numbers strict and weak comparisons "
    "differ by one. Everyday language is careless about which is meant, and the optimum often sits on the edge.")
class OffByOne(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            if row.relation == "=" or not (is_whole(model, row.left) and is_whole(model, row.right)):
                continue
            side = "right" if not n.has_variables(row.right) else "left" if not n.has_variables(row.left) else ""
            if not side:
                continue
            limit = getattr(row, side)
            for step in (1, -1):
                one = n.ONE if step > 0 else n.Neg(n.ONE)
                moved = number(int(limit.value) + step) if isinstance(limit, n.Num) else n.addition(limit, one)
                if moved != n.ZERO:
                    yield Part("row", row.name, row, with_side(row, side, moved), f"{step:+d}", limit, moved)

    def tell(self, w: Words, part: Part) -> Account:
        row, larger = part.row, part.detail.startswith("+")
        upper = (row.relation == "<=") == (not n.has_variables(row.right))
        reads = {
            (True, True): "as if one more were allowed",
            (True, False): "as if the limit itself were not allowed",
            (False, True): "as if the required number itself were not enough",
            (False, False): "as if one fewer were enough",
        }[upper, larger]
        wrong, size = part.new, "large" if larger else "small"
        return Account.of(
            f"the constraint `{row.name}` has {w.ex(wrong)} where it should have {w.ex(part.old)}, one too {size}, {reads}",
            "with whole numbers \"fewer than\" and \"at most\" differ by one, and so do \"more than\" and \"at "
            "least\"; the plans on the edge are just the ones an optimum tends to use",
            w.says(part))

