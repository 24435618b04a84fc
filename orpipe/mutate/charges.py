"""Mistakes in how the objective measures a plan: a price once for a price each, invented weights, the worst case for the total."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.linking import priced
from orpipe.mutate.part import Part
from orpipe.mutate.places import has_data, is_data, is_negative, letters, mentions, minus, number, rename, term_spots, times, unused
from orpipe.mutate.words import Account, Words


@operator(
    "unit-cost-as-fixed", "A price per unit is charged once", "objective",
    "\"Carriage costs 3\" may mean 3 for each ton or 3 for the trip. A price per unit grows with the amount; tied to the yes-or-no variable "
    "instead, any amount costs the same.")
class UnitCostAsFixed(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s, spot, factor, x in priced(model):
            for own in n.walk(s.rest):
                if isinstance(own, n.VarRef) and own.var == x.var and model.var_by[x.var].kind != "binary":
                    letter = {a.index: b for a, b in zip(own.refs, x.refs, strict=True)}
                    if not any(r.shift for r in own.refs) and {r.index for r in s.ref.refs} <= set(letter):
                        y = rename(s.ref, letter)
                        yield spot.part(n.Mul(factor, y), s.row.name, x, y)

    def tell(self, w: Words, part: Part) -> Account:
        does, alike = ("charged", "cheap") if w.is_cost(part.term) else ("credited", "good")
        return Account.of(
            f"the {w.term(part.term)} is {does} once, through {w.var(part.new.var)}, where it should be {does} for every unit of "
            f"{w.amount(part.old)}",
            f"what is {does} once does not grow with the amount; large amounts become as {alike} as small ones, so the plan is no longer "
            "weighed by what it really uses",
            f"write the term as {w.write(part.term)}")


@operator(
    "weight-invented", "A term of the objective gets an invented weight", "objective",
    "When a text names two aims, weights seem to be called for. Where both are measured in the same money or time they are simply added; a "
    "weight that nobody stated shifts the balance between them.")
class WeightInvented(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        if len(model.objective.terms) > 1:
            half = number("1/2")
            for t in model.objective.terms:
                inner = minus(t.expr) if is_negative(t.expr) else t.expr
                body = replace(inner, body=times(half, inner.body)) if isinstance(inner, n.Sum) else times(half, inner)
                yield Part("objective", t.name, t, replace(t, expr=minus(body) if is_negative(t.expr) else body), "", t.expr, half)

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the objective gives the {w.term(part.term)} the weight {w.ex(part.new)}, which no sentence of the text states",
            "all terms are in the same unit and count in full; with an invented weight one of them counts for less than it is, so the "
            "optimum may be another plan, and its value is not the true total",
            f"write the term without the weight, {w.write(part.term)}")


@operator(
    "max-for-sum", "The largest value stands where the total is meant", "objective",
    "\"The time it takes\" and \"the cost of the routes\" may be a total or the worst single case. A model that keeps down the largest value "
    "does not care for all the others.")
class MaxForSum(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        most = model.objective.sense == "minimize"
        for t in model.objective.terms:
            if not isinstance(t.expr, n.Sum) or is_negative(t.expr) or not n.has_variables(t.expr):
                continue
            for k in t.expr.indices:
                own = [c for c in n.conditions(t.expr.where) if mentions(c, k.name)]
                rest = tuple(x for x in t.expr.indices if x != k)
                inner = n.conjunction(*n.conditions(t.expr.where))
                if rest:
                    body: n.Expr = n.Sum(rest, inner, t.expr.body)
                    where = None
                else:
                    body, where = t.expr.body, n.conjunction(*own)
                if k.name not in letters(body):
                    continue
                symbol = unused(model, "worst")
                v = n.VarDecl(symbol, symbol, (), None, "continuous", None, None, "", "largest value" if most else "smallest value", True)
                ref = n.VarRef(symbol)
                row = n.Row(unused(model, f"{t.name}_extreme"), (k,), where, ref, ">=" if most else "<=", body,
                            "the objective counts the largest value" if most else "the objective counts the smallest value")
                yield Part("objective", t.name, t, replace(t, expr=ref), k.name, k, row, ((None, v), (None, row)))

    def tell(self, w: Words, part: Part) -> Account:
        k, row = part.old, part.new
        least = row.relation == ">="
        size, small = ("largest", "smaller") if least else ("smallest", "larger")
        so = "are free, so the optimum may waste on them what it likes" if least else "count for nothing, so the optimum has no reason to raise them"
        return Account.of(
            f"the {w.term(part.term)} counts only the {size} value that a single {w.noun(k.set)} has in it, by the constraint "
            f"{w.formula(row)}, where it should count the total over all {w.plural(k.set)}",
            f"once the {size} value is as good as it can be, all the {small} ones {so}",
            f"leave out that constraint with its variable, and write the term as {w.write(part.term)}")


@operator(
    "gross-for-net", "The gross figure stands where the net one is meant", "objective",
    "\"Sells at 9\" is not what remains of it. A profit is revenue less cost, a net cost is expense less what comes back; a text that speaks "
    "of \"earnings\" or \"the total cost\" invites to count one side only.")
class GrossForNet(Operator):
    special = True

    def parts(self, model: n.Model) -> Iterator[Part]:
        yield from self.sides(model)
        for t in model.objective.terms:
            for spot in term_spots(t):
                match spot.node:
                    case n.Mul(left=n.Add(terms=terms) as net, right=e) | n.Mul(left=e, right=n.Add(terms=terms) as net) if (
                            is_data(net) and n.has_variables(e)):
                        gross = n.addition(*(x for x in terms if not is_negative(x)))
                        if has_data(gross) and gross != net:
                            yield spot.part(n.Mul(gross, e), "", net, gross)

    @staticmethod
    def sides(model: n.Model) -> Iterator[Part]:
        """All terms that count against the sense of the others, gone at once."""
        less = [t for t in model.objective.terms if is_negative(t.expr)]
        rest = [t for t in model.objective.terms if t not in less and n.has_variables(t.expr)]
        if less and rest:
            yield Part("objective", less[0].name, less[0], None, "all" if len(less) > 1 else "", less, None, tuple((t, None) for t in less[1:]))

    def tell(self, w: Words, part: Part) -> Account:
        if part.after is None:
            names = w.series(f"the {w.term(t, last=True)}" for t in part.old)
            return Account.of(
                f"the objective counts the gross figure and takes nothing off it: it leaves out {names}",
                "without what is taken off, plans look better or worse than they are, and the optimal value is not the net one",
                f"subtract again {w.series(w.write(t) for t in part.old)}" if len(part.old) > 1 else f"add the term {w.write(part.old[0])}")
        return Account.of(
            f"the {w.term(part.term)} counts {w.ex(part.new)} for each unit where it should count {w.ex(part.old)}, the net figure",
            "without what is taken off, each unit looks better or worse than it is, and the optimal value is not the net one",
            w.repair(part))


@operator(
    "constant-dropped", "A constant of the objective is left out", "objective",
    "Rent that is due in any case, revenue that is fixed by contract: what no decision changes looks as if it could be left out. It does not "
    "change the plan, but it is part of the value that is asked for.")
class ConstantDropped(Operator):
    special = True

    def parts(self, model: n.Model) -> Iterator[Part]:
        for t in model.objective.terms:
            if not n.has_variables(t.expr):
                if len(model.objective.terms) > 1:
                    yield Part("objective", t.name, t, None, "", t.expr)
                continue
            for spot in term_spots(t):
                if isinstance(spot.node, n.Add) and n.has_variables(spot.node):
                    kept = n.addition(*(x for x in spot.node.terms if n.has_variables(x)))
                    if kept != spot.node:
                        yield spot.part(kept, "", n.addition(*(x for x in spot.node.terms if not n.has_variables(x))))

    def tell(self, w: Words, part: Part) -> Account:
        return Account.of(
            f"the {w.term(part.term)} leaves out the constant {w.ex(part.old)}" if part.after is not None else
            f"the objective leaves out the {w.term(part.term, last=True)}, since no decision changes it",
            "the best plan may be the same without the constant, but the optimal value is off by it, and every comparison with it is wrong",
            f"add the term {w.write(part.term)} to the objective" if part.after is None else w.repair(part))
