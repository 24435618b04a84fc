"""Mistakes in the declaration of variables: kind and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.part import Part
from orpipe.mutate.places import is_data, number, times
from orpipe.mutate.words import Account, Words


def _declare(w: Words, v: n.VarDecl) -> str:
    return f"declare it as {w.write(v)}"


@operator(
    "integer-as-continuous", "A whole-number variable is declared continuous", "domains",
    "A text seldom says \"whole\": it speaks of trucks, shifts or choices and takes it for granted. Declared "
    "continuous, the model may send half a truck or open a third of a site.")
class IntegerAsContinuous(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.kind != "continuous":
                yield Part("variable", v.symbol, v, replace(v, kind="continuous"))

    def tell(self, w: Words, part: Part) -> Account:
        v = part.variable
        due, why = (
            ("binary",
             "a yes-or-no choice cannot be made in part; with fractions the model pays for a share of a choice and has "
             "a share of its effect, so its optimum is only a bound on the true one")
            if v.kind == "binary" else
            ("integer",
             "only whole numbers can be carried out; the optimum with fractions is only a bound, and rounding it may "
             "break a constraint or miss the best plan"))
        return Account.of(f"the variable {w.var(v.symbol)} is continuous where it should be {due}, so it may take "
                          "fractions", why, _declare(w, v))


@operator(
    "continuous-as-integer", "A divisible quantity is declared integer", "domains",
    "When all the numbers of a text happen to be whole, the quantities look whole as well. Goods that may be split, "
    "hours or money are not; asking for whole numbers rules out plans that are allowed.")
class ContinuousAsInteger(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.kind == "continuous" and not v.auxiliary:
                yield Part("variable", v.symbol, v, replace(v, kind="integer"))

    def tell(self, w: Words, part: Part) -> Account:
        v = part.variable
        return Account.of(
            f"the variable {w.var(v.symbol)} is integer where it should be continuous, so fractions are ruled out",
            "fractions are allowed here; without them the best plan may be lost, or every plan, and the model is "
            "harder to solve",
            _declare(w, v))


@operator(
    "binary-as-integer", "A yes-or-no variable may exceed 1", "domains",
    "A choice that is either made or not is written as a whole number, and its limit 1 is forgotten because the "
    "text does not state it: nobody says that a site is opened at most once. The model then opens it twice.")
class BinaryAsInteger(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.kind == "binary":
                yield Part("variable", v.symbol, v, replace(v, kind="integer", lower=n.ZERO, upper=None))

    def tell(self, w: Words, part: Part) -> Account:
        v = part.variable
        return Account.of(
            f"the variable {w.var(v.symbol)} is a whole number without the limit 1, where it should be binary",
            "the constraints count on 0 or 1; a value of 2 makes one choice count twice, with twice the gain or twice the "
            "capacity",
            _declare(w, v))


@operator(
    "upper-bound-missing", "An upper bound is left out", "domains",
    "A limit that concerns a single quantity (\"at most 40 a day\") is often tucked into a table or a subordinate "
    "clause, and since it needs no constraint of its own it is the first to be lost. The quantity then grows past it.")
class UpperBoundMissing(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.kind != "binary" and v.upper is not None:
                yield Part("bound", v.symbol, v, replace(v, upper=None), "upper", v.upper)

    def tell(self, w: Words, part: Part) -> Account:
        v = part.variable
        return Account.of(
            f"the variable {w.var(v.symbol)} has no upper bound where it should be at most {w.data(part.old)}",
            "without the bound plans beyond the limit are admitted, and the optimum takes one of them whenever that "
            "pays",
            _declare(w, v))


@operator(
    "upper-bound-too-small", "An upper bound is too small", "domains",
    "\"At most 40 in two shifts\", \"40 in all, on both lines\": a limit that is split, or taken for one of two, is only half of what is "
    "allowed. The plans above it are lost, and nothing shows it but a worse optimum.")
class UpperBoundTooSmall(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.kind != "binary" and v.upper is not None and is_data(v.upper):
                half = times(number("1/2"), v.upper)
                yield Part("bound", v.symbol, v, replace(v, upper=half), "upper", v.upper, half)

    def tell(self, w: Words, part: Part) -> Account:
        v = part.variable
        return Account.of(
            f"the variable {w.var(v.symbol)} is at most {w.ex(part.new)} where it should be at most {w.data(part.old)}",
            "plans between the two limits are lost, so the optimum may be worse than the true one or no plan may be left",
            _declare(w, v))


@operator(
    "lower-bound-missing", "A variable is left free", "domains",
    "That an amount is not negative is never said in a text, because no reader would think otherwise. A library or "
    "a file format that takes variables as free unless told does think otherwise.")
class LowerBoundMissing(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.kind != "binary" and v.lower is not None:
                yield Part("bound", v.symbol, v, replace(v, lower=None), "lower", v.lower)

    def tell(self, w: Words, part: Part) -> Account:
        v = part.variable
        why = ("a negative value has no meaning here; the model may gain by undoing what cannot be undone, and its "
               "objective may run away without limit" if v.lower == n.ZERO else
               "without the bound plans below the least value are admitted, and the optimum takes one of them "
               "whenever that pays")
        return Account.of(
            f"the variable {w.var(v.symbol)} is free where it should be at least "
            f"{w.data(part.old)}", why, _declare(w, v))


@operator(
    "hidden-lower-bound", "A quantity that may be negative is kept at or above 0", "domains",
    "Most libraries give every variable the lower bound 0 unless told otherwise. A balance, a deviation or a net "
    "position may be negative, and the silent bound rules that out.")
class HiddenLowerBound(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if v.lower is None:
                yield Part("bound", v.symbol, v, replace(v, lower=n.ZERO), "lower", None, n.ZERO)

    def tell(self, w: Words, part: Part) -> Account:
        v = part.variable
        return Account.of(
            f"the variable {w.var(v.symbol)} is kept at 0 or above where it may be negative",
            "plans in which the quantity is negative are lost, so the optimum may be worse than the true one or no "
            "plan may be left",
            _declare(w, v))
