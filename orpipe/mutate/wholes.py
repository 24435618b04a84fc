"""Whole rules that get lost, named for what they are: ends of time, tours, pairings, minimum lots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.linking import switches
from orpipe.mutate.part import Part
from orpipe.mutate.places import number, unused, variables, with_side
from orpipe.mutate.rows import is_alternative, picks_one
from orpipe.mutate.words import Account, Words


class RuleMissing(Operator):
    """A whole constraint that is gone: which ones, and what follows.  lost: what stands between "is missing, " and what the
    constraint says."""

    special = True
    lost = "so nothing says"

    def rows(self, model: n.Model) -> Iterator[n.Row]:
        raise NotImplementedError

    def why(self, w: Words, row: n.Row) -> str:
        raise NotImplementedError

    def parts(self, model: n.Model) -> Iterator[Part]:
        yield from (Part("row", row.name, row, None) for row in self.rows(model))

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(f"the constraint `{part.name}` is missing, {self.lost} that {w.because(part.row)}", self.why(w, part.row),
                          f"add the constraint {w.write(part.row)}")


def at_end(row: n.Row, end: str) -> n.Index | None:
    """The index that the row fixes at an end of its set."""
    for c in n.conditions(row.where):
        if isinstance(c, n.Edge) and c.op == "=" and c.end == end:
            return next((k for k in row.forall if k.name == c.ref.index), None)
    return None


class EndMissing(RuleMissing):
    """The constraints that stand at one end of an ordered set alone."""

    end: str

    def rows(self, model: n.Model) -> Iterator[n.Row]:
        return (row for row in model.rows if at_end(row, self.end))

    def follows(self, w: Words, periods: str) -> str:
        """What comes of it; periods: symbol of the ordered set."""
        raise NotImplementedError

    def why(self, w: Words, row: n.Row) -> str:
        k = at_end(row, self.end)
        assert k is not None
        return self.follows(w, k.set)


@operator(
    "first-period-missing", "The rule of the first period is left out", "missing",
    "The first period begins with what is there and needs a constraint of its own. A model that writes only the general rule, from the second "
    "period on, lets the first one begin with anything.")
class FirstPeriodMissing(EndMissing):
    end = "first"

    def follows(self, w: Words, periods: str) -> str:
        return f"the later {w.plural(periods)} build on the first; without a rule of its own that one begins with whatever the others need"


@operator(
    "final-stock-ignored", "What must be left at the end is ignored", "missing",
    "A plan that ends with its last period uses up everything, unless the text asks for something to be left. That sentence often comes "
    "last, and seems to be outside the plan.")
class FinalStockIgnored(EndMissing):
    end = "last"

    def follows(self, w: Words, periods: str) -> str:
        return f"after the last {w.noun(periods)} nothing has a use any more, so an optimum leaves nothing that the model does not ask for"


@operator(
    "subtour-elimination-missing", "Nothing forbids separate rounds", "missing",
    "That a tour is one round seems to follow from leaving and entering each place once. It does not: two or three short rounds do so as "
    "well, and are often cheaper.")
class SubtourEliminationMissing(RuleMissing):
    lost = "so separate rounds are admitted, and nothing says"

    def rows(self, model: n.Model) -> Iterator[n.Row]:
        for row, _ in _round(model):
            if not any(s.row.name == row.name and s.links for s in switches(model)):
                yield row

    def why(self, w: Words, row: n.Row) -> str:
        return ("leaving and entering each place once is also true of several short rounds side by side; the optimum takes them when they are "
                "cheaper than one long round")


def _round(model: n.Model) -> Iterator[tuple[n.Row, set[str]]]:
    """The constraints that make one round of a tour, each with the variables of the tour that its helpers (orders, loads) meet."""
    visits = {v for row in model.rows if picks_one(model, row) for v in variables(row.left, row.right) if _arc(model, v)}
    for row in model.rows if visits else ():
        helpers = {v for v in variables(row.left, row.right) if model.var_by[v].auxiliary}
        tied = visits & variables(*(e for r in model.rows if helpers & variables(r.left, r.right) for e in (r.left, r.right)))
        if helpers and tied:
            yield row, tied


@operator(
    "order-unlinked", "The places in the order know nothing of the tour", "missing",
    "Numbering the places forbids separate rounds only if each step of the tour raises the number. A model that numbers the places, and says "
    "nothing of the way in that constraint, has numbers that mean nothing.")
class OrderUnlinked(Operator):
    special = True

    def parts(self, model: n.Model) -> Iterator[Part]:
        tour = {row.name: tied for row, tied in _round(model)}
        for s in switches(model):
            if not s.alone and not s.relaxes and s.ref.var in tour.get(s.row.name, ()):
                yield s.spot.part(n.ZERO, "", s.ref, s.spot.node)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` leaves out {w.var(part.old.var)} and reads {w.formula(part.faulty)}, so it orders the places without "
            "regard to the way that is taken",
            "any numbers fit then, and separate rounds are admitted as if the constraint were not there",
            w.says(part))


def _arc(model: n.Model, symbol: str) -> bool:
    """A binary variable from a set to itself."""
    v = model.var_by[symbol]
    return v.kind == "binary" and len(v.indices) == 2 and v.indices[0].set == v.indices[1].set


@operator(
    "return-forgotten", "The return to the start is forgotten", "missing",
    "A round trip ends where it began, and a text may leave that to the word \"round\". A model that asks for every place but the first to be "
    "reached describes a path that stays where it ends.")
class ReturnForgotten(Operator):
    special = True

    def parts(self, model: n.Model) -> Iterator[Part]:
        for row in model.rows:
            (v, *others) = sorted(variables(row.left, row.right)) or [""]
            if others or len(row.forall) != 1 or row.where is not None or not picks_one(model, row) or not _arc(model, v):
                continue
            k, head = row.forall[0], next(x for x in n.walk(n.Add((row.left, row.right))) if isinstance(x, n.VarRef)).refs[1]
            if model.set_by[k.set].ordered and head.index == k.name:
                cut = n.Edge(n.Ref(k.name), ">", "first")
                yield Part("row", row.name, row, replace(row, where=cut), "", k, cut)

    def tell(self, w: Words, part: Part) -> Account:
        noun = w.noun(part.old.set)
        return Account.of(
            f"the constraint `{part.name}` is not written for the first {noun}, so the way need not lead back to it, and nothing there says "
            f"that {w.because(part.row)}",
            "the way back costs something as well; without it the model looks for another way, and its value is not that of the round",
            f"write the constraint for every {noun}: {w.write(part.row)}")


@operator(
    "self-loops-allowed", "A place may follow itself", "missing",
    "\"From each place to each\" includes the way from a place to itself, which costs nothing. No table gives it and no text forbids it, "
    "but a model that has it leaves and enters a place without going anywhere.")
class SelfLoopsAllowed(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for v in model.variables:
            if not _arc(model, v.symbol):
                continue
            rows = [r for r in model.rows if picks_one(model, r) and variables(r.left, r.right) == {v.symbol} and len(r.forall) == 1
                    and r.where is None and r.right == n.ONE]
            if len(rows) != 2:
                continue
            k = n.Index(v.indices[0].name, v.indices[0].set)
            symbol = unused(model, "stay")
            loop = n.VarDecl(symbol, symbol, (k,), None, "binary", n.ZERO, n.ONE, "",
                             f"1 if {model.set_by[k.set].noun} {k.name} is followed by itself, 0 otherwise")
            changed = [(r, with_side(r, "left", n.addition(r.left, n.VarRef(symbol, (n.Ref(r.forall[0].name),))))) for r in rows]
            yield Part("row", rows[0].name, *changed[0], v.symbol, v, loop, (changed[1], (None, loop)))

    def tell(self, w: Words, part: Part) -> Account:
        noun = w.noun(part.old.indices[0].set)
        twin = part.more[0][0]
        assert isinstance(twin, n.Row)
        return Account.of(
            f"a {noun} may be followed by itself, by the new variable `{part.new.symbol}`: the constraint `{part.name}` reads "
            f"{w.formula(part.faulty)}, and the constraint `{twin.name}` counts it as well",
            f"a {noun} that follows itself is left and reached at no cost and never visited, so the optimum drops whatever is dear out of the round",
            f"leave out the new variable, and write the constraints as {w.write(part.row)} and {w.write(twin)}")


@operator(
    "pairing-one-sided", "Pairs are checked from one side only", "missing",
    "In a pairing both sides have a rule: every task gets one agent, and every agent takes one task. The second seems to follow from the first, "
    "until one agent is best at everything.")
class PairingOneSided(RuleMissing):
    lost = "so only one of the two sides has its rule, and nothing says"

    def rows(self, model: n.Model) -> Iterator[n.Row]:
        sided = [(row, key) for row in model.rows if (key := self.side(model, row))]
        for row, (v, at) in sided:
            if any(w == v and there != at for _, (w, there) in sided):
                yield row

    def why(self, w: Words, row: n.Row) -> str:
        return "the side without a rule may be used several times or not at all, and the optimum does whatever pays"

    @staticmethod
    def side(model: n.Model, row: n.Row) -> tuple[str, int] | None:
        """(x, place of the fixed index) of a row: sum over the other index of binaries x, = 1 or <= 1."""
        match row.left:
            case n.Sum(indices=(k,), body=n.VarRef(var=v, refs=refs)) if (
                    len(row.forall) == 1 and row.right == n.ONE and row.relation != ">=" and len(refs) == 2 and model.var_by[v].kind == "binary"):
                fixed = [at for at, r in enumerate(refs) if r.index == row.forall[0].name]
                return (v, fixed[0]) if len(fixed) == 1 and {r.index for r in refs} == {k.name, row.forall[0].name} else None
        return None


@operator(
    "semicontinuous-as-continuous", "A least amount is forgotten", "domains",
    "\"If at all, then at least 5\" allows 0 and everything from 5 up, but nothing between. A variable that runs from 0 to its limit looks the "
    "same and admits the small amounts that the text rules out.")
class SemicontinuousAsContinuous(Operator):
    special = True

    def parts(self, model: n.Model) -> Iterator[Part]:
        links = [s for s in switches(model) if s.links]
        for s in switches(model):
            least = s.on and s.alone and not s.relaxes and isinstance(s.rest, n.VarRef) and model.var_by[s.rest.var].kind != "binary"
            if least and not is_alternative(s.row) and any(s.rest.var in variables(t.rest) and t.ref.var == s.ref.var for t in links):  # type: ignore[union-attr]
                yield Part("row", s.row.name, s.row, None, "", s.rest, s.limit)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` is missing, so {w.amount(part.old)} may be anything between 0 and its limit, where it should be 0 or at "
            f"least {w.data(part.new)}",
            "small amounts that nobody can carry out are admitted, and the optimum uses them to fill what is left",
            f"add the constraint {w.write(part.row)}, which says that {w.because(part.row)}")


HUGE = number(10**6)


@operator(
    "big-m-huge", "A limit is replaced by a huge constant", "linking",
    "\"Some large number\" is safe only as a switch. Where the constant is a limit at the same time the limit is lost, and a number as "
    "large as a million also lets a solver treat 0.000001 of a choice as none.")
class BigMHuge(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in switches(model):
            if s.relaxes and s.limit != n.ONE:
                changed = s.with_limit(HUGE)
                yield s.spot.part(n.Neg(changed) if isinstance(s.spot.node, n.Neg) else changed, "", s.limit, HUGE)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the constraint `{part.name}` uses the constant {w.ex(part.new)} where it should use {w.data(part.old)}",
            "the switch still works, but what the true constant limits is no longer limited, and a solver that takes 0.000001 for 0 lets the "
            "amount pass without the choice",
            w.says(part))
