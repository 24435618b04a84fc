"""Whether the optimal plan is the only one, which constraints bind it, what a unit more of one is worth: sentences behind which
stands a proof (case.facts), an exact point or a labelled solve; without one there is no sentence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.algebra.nodes import VarRef, walk
from orpipe.build.case import Case, pick
from orpipe.build.claims import Claim
from orpipe.build.phrases import counted, row_of
from orpipe.build.units import rate, row_unit
from orpipe.exact import Exact, concatenate
from orpipe.instances import stream
from orpipe.problem import Problem
from orpipe.proof import Facts
from orpipe.proof.ranging import Range, price_range, shifted
from orpipe.render.words import about, listing
from orpipe.solve import Label, label

_NODES = 20_000
_SHOWN = 3  # changed decisions that a sentence names
_TRIES = 3  # rows asked for a price
_LISTED = 4  # binding constraints that are named one by one


def uniqueness(case: Case, variant: int) -> str | None:
    """The only optimal plan, or another one."""
    verdict = case.facts.unique if isinstance(case.facts, Facts) else None
    if verdict == "unique":
        texts = (
            "This is the only optimal plan: every other one is worse.",
            "No other plan reaches this value; the optimal plan is unique.",
            "The optimal plan is unique, so any correct solver must report these decisions.",
        )
        return texts[pick(variant, "unique", len(texts))]
    other = another(case) if verdict == "not unique" else None
    if other is None:
        return None
    said = change_text(case, other)
    texts = (
        f"Other plans are just as good; one of them has {said}.",
        f"The optimal plan is not unique: the same value is reached with {said}.",
        f"A solver may report another plan of the same value, for example one with {said}.",
    )
    return texts[pick(variant, "not unique", len(texts))]


def another(case: Case) -> tuple[Fraction, ...] | None:
    """An optimal point that differs in a decision, exact; None if two probes find none."""
    problem, point, best = case.instance.problem, case.label.point, case.label.objective_exact
    if point is None or best is None:
        return None
    face = _with_row(problem, best - problem.offset)
    for probe in range(2):
        weights = stream(0, "another plan", case.instance.id, probe).integers(1, 10, problem.n_vars)
        away = np.where([bool(v) for v in point], -weights, weights) * problem.decision
        found = label(replace(face, cost_exact=Exact(away.astype(np.int64)), offset=Fraction(0), maximize=True), nodes=_NODES)
        other = found.point if isinstance(found, Label) else None
        if other is None or problem.violations(other) or problem.objective(other) != best:
            continue
        if any(a != b for a, b, k in zip(point, other, problem.decision, strict=True) if k):
            return other
    return None


def _with_row(problem: Problem, value: Fraction) -> Problem:
    """The problem with its objective held at a value."""
    used = np.flatnonzero(problem.cost_exact.num)
    costs = sp.csr_array((problem.cost[used], used.astype(np.int32), np.array([0, len(used)], np.int32)), shape=(1, problem.n_vars))
    side = Exact.scalar(value)
    fixed = float(value)
    return replace(
        problem, rows=(*problem.rows, "_optimum"), matrix=sp.csr_array(sp.vstack([problem.matrix, costs], format="csr")),
        matrix_exact=concatenate([problem.matrix_exact, problem.cost_exact[used]]),
        row_lower=np.append(problem.row_lower, fixed), row_upper=np.append(problem.row_upper, fixed),
        row_lower_exact=concatenate([problem.row_lower_exact, side]), row_upper_exact=concatenate([problem.row_upper_exact, side]),
    )


@dataclass(frozen=True)
class Moved:
    """Decisions that differ between two plans: positions of those with the largest difference, in order, and how many more there are."""

    shown: list[int]
    more: int


def moved_columns(case: Case, other: Sequence[Fraction]) -> Moved:
    point = case.label.point or ()
    moved = [j for j in np.flatnonzero(case.instance.problem.decision).tolist() if point[j] != other[j]]
    moved.sort(key=lambda j: -abs(point[j] - other[j]))
    return Moved(sorted(moved[:_SHOWN]), max(0, len(moved) - _SHOWN))


def change_text(case: Case, other: Sequence[Fraction]) -> str:
    """«`ship[North,Alder]` = 3 t/day instead of 5 t/day, and 4 more decisions changed»"""
    problem, point, moved = case.instance.problem, case.label.point or (), moved_columns(case, other)
    said = []
    for j in moved.shown:
        unit = "" if case.columns[j][0].unit == "1" else case.columns[j][0].unit
        new, old = (counted(about(v), unit, case.instance.scenario) for v in (other[j], point[j]))
        said.append(f"`{problem.columns[j]}` = {new} instead of {old}")
    if moved.more:
        said.append(f"{moved.more} more decision{'s' if moved.more > 1 else ''} changed")
    return listing(said, last=", and " if moved.more else " and ")


def binding_rows(case: Case, variant: int) -> str | None:
    """Which inequality constraints the plan attains; those without a nonzero variable say nothing about it and are left out.
    None where auxiliary variables stand in inequalities: their slack is not the plan's."""
    point = case.label.point
    if not isinstance(case.facts, Facts) or case.facts.binding is None or point is None:
        return None
    found = attained(case.instance.problem, point, json.loads(case.facts.binding))
    if found is None or len(found.tight) == len(found.all):
        return None  # tightness says so
    tight, open_ = found.tight, found.all
    if not tight:
        return "In this plan every inequality constraint that involves a nonzero variable has slack." if len(open_) > 1 else None
    if len(tight) <= _LISTED:
        names = listing([f"`{name}`" for name in tight])
        verb = "constraint is" if len(tight) == 1 else "constraints are"
        texts = (
            f"In this plan the binding inequality {verb} {names}; the others that involve a nonzero variable have slack.",
            f"Of the inequality constraints that involve a nonzero variable, {names} {'is' if len(tight) == 1 else 'are'} binding here.",
        )
        return texts[pick(variant, "binding", len(texts))]
    families, everywhere = Counter(n.partition("[")[0] for n in tight), Counter(n.partition("[")[0] for n in open_)
    if len(everywhere) == 1:
        return f"{len(tight)} of the {len(open_)} `{next(iter(families))}` constraints that involve a nonzero variable are binding in this plan."
    parts = [f"`{f}`" if everywhere[f] == 1 else f"{_of(count, everywhere[f])} of `{f}`" for f, count in families.items()]
    return f"{len(tight)} of the {len(open_)} inequality constraints that involve a nonzero variable are binding in this plan: {listing(parts)}."


@dataclass(frozen=True)
class Attained:
    """Inequality rows with a nonzero variable at a point, and those of them without slack; names, in order."""

    all: list[str]
    tight: list[str]


def attained(problem: Problem, point: Sequence[Fraction], tight: Sequence[str]) -> Attained | None:
    """tight: names of the binding rows.  None where auxiliary variables stand in inequalities: their slack is not the plan's."""
    A = problem.matrix
    unequal = np.flatnonzero(problem.row_lower != problem.row_upper)
    spans = {int(i): A.indices[A.indptr[i]:A.indptr[i + 1]] for i in unequal}
    if not all(problem.decision[span].all() for span in spans.values()):
        return None
    alive = [problem.rows[i] for i, span in spans.items() if any(point[j] for j in span.tolist())]
    return Attained(alive, [name for name in tight if name in set(alive)])


def _of(count: int, total: int) -> str:
    return f"{count} of {total}" if count < total else "both" if total == 2 else f"all {total}"


def shadow_price(case: Case, variant: int) -> Claim | None:
    """An exact optimal dual of an LP and the right-hand sides for which it is the rate; where that is none, what a unit more does."""
    duals, problem = case.label.duals, case.instance.problem
    if duals is None or case.label.objective_exact is None or problem.integer.any():
        return None
    rows = [i for i, d in enumerate(duals) if d]
    for k in range(min(_TRIES, len(rows))):
        if sentence := _price(case, duals, rows[(variant + k) % len(rows)], variant):
            return sentence
    return None


def _price(case: Case, duals: Sequence[Fraction], i: int, variant: int) -> Claim | None:
    """None where no plan exists with the side a unit higher or lower: supply and demand that must balance have no price each."""
    problem, best = case.instance.problem, case.label.objective_exact
    assert best is not None
    reach = price_range(problem, case.label, i)
    if reach is None:
        return None
    if reach.up != 0 or reach.down != 0:
        return _priced(case, duals[i], i, reach, variant)
    name, unit = problem.rows[i], row_unit(case, row_of(case.model, problem.rows[i]))
    for step in (Fraction(1), Fraction(-1)):
        moved = label(shifted(problem, i, step), nodes=_NODES)
        if not isinstance(moved, Label) or moved.objective_exact is None:
            continue
        bound = best + step * duals[i]
        one = counted("1", unit, case.instance.scenario)
        more, value = "more" if step > 0 else "less", case.worth(moved.objective_exact)
        side = "above" if moved.objective_exact > bound else "below"
        text = (f"A dual value of `{name}` is {_rate(case, duals[i], unit)}. It is only a bound on what a change does: with {one} {more} on the "
                f"right-hand side the optimum is {value}, {side} the {case.worth(bound)} that this rate would give.")
        return Claim("dual bound", text, (name,), {"price": duals[i], "step": step, "optimum": moved.objective_exact, "bound": bound})
    return None


def _rate(case: Case, price: Fraction, unit: str) -> str:
    return f"{about(price)} {rate(case.unit, unit, case)}".rstrip()


def _priced(case: Case, price: Fraction, i: int, reach: Range, variant: int) -> Claim:
    """The interval, and the optimum at its upper end (its lower one, or a unit on, where there is no upper one)."""
    name, best = case.instance.problem.rows[i], case.label.objective_exact
    assert best is not None
    row = row_of(case.model, name)
    unit, scenario = row_unit(case, row), case.instance.scenario
    # where the printed row has variables on its right, say which right-hand side is meant
    aside = ", all variables taken to the left," if any(isinstance(n, VarRef) for n in walk(row.right)) else ""
    moves = [(sign, end) for sign, end in ((1, reach.up), (-1, reach.down)) if end != 0]
    said = [f"{'raised' if sign > 0 else 'lowered'} by {'any amount' if end is None else f'up to {counted(about(end), unit, scenario)}'}"
            for sign, end in moves]
    held = listing(said, " or ")
    only = "" if len(moves) == 2 else f" (but not {'lowered' if moves[0][0] > 0 else 'raised'}: that way the rate is another one, or no plan is left)"
    sign, end = moves[0]
    size = Fraction(1) if end is None or (end > 1 and about(end).startswith("about")) else end
    at, word = best + price * sign * size, "more" if sign > 0 else "less"
    value, step, per = case.worth(at), counted(about(size), unit, scenario), _rate(case, price, unit)
    way = "in the same direction" if price > 0 else "in the opposite direction"
    texts = (
        f"The shadow price of `{name}` is {per}, and it is the exact rate as long as the right-hand side{aside} is {held}{only}: "
        f"with {step} {word}, the optimum is {value}.",
        f"If the right-hand side of `{name}`{aside} is {held}{only}, the optimum moves by {_rate(case, abs(price), unit)} {way}; "
        f"{step} {word} would make it {value}.",
        f"At the margin, a change of the right-hand side of `{name}`{aside} moves the optimum by {per} (its shadow price), and that rate stays exact "
        f"when it is {held}{only}. "
        f"With {step} {word}, for example, the optimum is {value}.",
    )
    return Claim("price", texts[pick(variant, "price", len(texts))], (name,),
                 {"price": price, "up": reach.up, "down": reach.down, "step": sign * size, "optimum": at})
