"""Whether the optimal plan is the only one, which constraints bind it, what a unit more of one is worth: sentences behind which
stands a proof (case.facts), an exact point or a labelled solve; without one there is no sentence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.build.case import Case, pick
from orpipe.build.phrases import counted, row_of
from orpipe.build.units import rate, row_unit
from orpipe.exact import Exact, concatenate
from orpipe.instances import stream
from orpipe.problem import Problem
from orpipe.proof import Facts
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
    said = _changes(case, other)
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


def _changes(case: Case, other: Sequence[Fraction]) -> str:
    """«`ship[North,Alder]` = 3 t/day instead of 5 t/day, and four more decisions changed»"""
    problem, point = case.instance.problem, case.label.point or ()
    moved = [j for j in np.flatnonzero(problem.decision).tolist() if point[j] != other[j]]
    moved.sort(key=lambda j: -abs(point[j] - other[j]))
    said = []
    for j in sorted(moved[:_SHOWN]):
        unit = "" if case.columns[j][0].unit == "1" else case.columns[j][0].unit
        new, old = (counted(about(v), unit, case.instance.scenario) for v in (other[j], point[j]))
        said.append(f"`{problem.columns[j]}` = {new} instead of {old}")
    more = len(moved) - _SHOWN
    if more > 0:
        said.append(f"{more} more decision{'s' if more > 1 else ''} changed")
    return listing(said, last=", and " if more > 0 else " and ")


def binding_rows(case: Case, variant: int) -> str | None:
    """Which inequality constraints the plan attains; those without a nonzero variable say nothing about it and are left out.
    None where auxiliary variables stand in inequalities: their slack is not the plan's."""
    problem, point = case.instance.problem, case.label.point
    if not isinstance(case.facts, Facts) or case.facts.binding is None or point is None:
        return None
    A = problem.matrix
    unequal = np.flatnonzero(problem.row_lower != problem.row_upper)
    if not all(problem.decision[A.indices[A.indptr[i]:A.indptr[i + 1]]].all() for i in unequal):
        return None
    alive = {name for i, name in enumerate(problem.rows) if any(point[j] for j in A.indices[A.indptr[i]:A.indptr[i + 1]].tolist())}
    equal = problem.row_lower == problem.row_upper
    open_ = [name for name, fixed in zip(problem.rows, equal, strict=True) if not fixed and name in alive]
    tight = [name for name in json.loads(case.facts.binding) if name in alive]
    if len(tight) == len(open_):
        return None  # tightness says so
    if not tight:
        return "In this plan every inequality constraint that involves a nonzero variable has slack." if open_ else None
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


def _of(count: int, total: int) -> str:
    return f"{count} of {total}" if count < total else "both" if total == 2 else f"all {total}"


def shadow_price(case: Case, variant: int) -> str | None:
    """An exact optimal dual of an LP, and the optimum with a unit more on that right-hand side, solved anew."""
    duals, problem = case.label.duals, case.instance.problem
    if duals is None or case.label.objective_exact is None or problem.integer.any():
        return None
    rows = [i for i, d in enumerate(duals) if d]
    for k in range(min(_TRIES, len(rows))):
        if sentence := _price(case, duals, rows[(variant + k) % len(rows)], variant):
            return sentence
    return None


def _price(case: Case, duals: Sequence[Fraction], i: int, variant: int) -> str | None:
    """None where no plan exists with the side a unit higher or lower: supply and demand that must balance have no price each."""
    problem, best = case.instance.problem, case.label.objective_exact
    assert best is not None
    name, unit = problem.rows[i], row_unit(case, row_of(case.model, problem.rows[i]))
    price = f"{about(duals[i])} {rate(case.unit, unit, case)}".rstrip()
    for step in (Fraction(1), Fraction(-1)):
        moved = label(_shifted(problem, i, step), nodes=_NODES)
        if not isinstance(moved, Label) or moved.objective_exact is None:
            continue
        one = counted("1", unit, case.instance.scenario)
        more, value = "more" if step > 0 else "less", case.worth(moved.objective_exact)
        change = moved.objective_exact - best
        if change == step * duals[i]:
            # The optimum is convex (concave for a maximum) in the side, and the dual a subgradient: equal at the end, equal between.
            kind = "increase" if step > 0 else "decrease"
            texts = (
                f"The shadow price of `{name}` is {price}: with {one} {more} on its right-hand side the optimum is {value}, and it moves at that "
                f"same rate for every smaller {kind}.",
                f"The right-hand side of `{name}` has a shadow price of {price}: {one} {more} gives the optimum {value}, and the rate is the same "
                f"all the way there.",
            )
            return texts[pick(variant, "price", len(texts))]
        side = "above" if change > step * duals[i] else "below"
        return (f"A dual value of `{name}` is {price}. It is only a bound on what a change does: with {one} {more} on the right-hand side the "
                f"optimum is {value}, {side} the {case.worth(best + step * duals[i])} that this rate would give.")
    return None


def _shifted(problem: Problem, row: int, step: Fraction) -> Problem:
    """The problem with the sides of one row moved."""
    def moved(exact: Exact) -> Exact:
        values = exact.fractions()
        values[row] += step
        return Exact.of(np.array(values, dtype=object))

    low, high = moved(problem.row_lower_exact), moved(problem.row_upper_exact)
    return replace(problem, row_lower_exact=low, row_upper_exact=high, row_lower=np.where(np.isfinite(problem.row_lower), low.float(), -np.inf),
                   row_upper=np.where(np.isfinite(problem.row_upper), high.float(), np.inf))
