"""Claims about an optimum that the pipeline proved: each sentence is a number from a certified solve, or it is not made."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction

import numpy as np

from orpipe.algebra.nodes import Neg, Objective, Term
from orpipe.build.case import Case, pick
from orpipe.build.claims import Claim
from orpipe.build.effects import unavoidable
from orpipe.build.phrases import clause, counted, row_of
from orpipe.build.plans import binding_rows, shadow_price, uniqueness
from orpipe.build.units import row_unit
from orpipe.exact import Exact
from orpipe.ground import ground
from orpipe.problem import Problem
from orpipe.proof import Facts
from orpipe.render.words import about, listing, the
from orpipe.solve import Label, label

_NODES = 20_000


def insights(case: Case, variant: int, without: Collection[str] = ()) -> list[str | Claim]:
    """Up to four sentences: the breakdown of the objective and whether the plan is the only one always, the others in turn by
    `variant`; `without` names functions whose claim the text makes elsewhere."""
    found: list[str | Claim] = [s for s in (breakdown(case, variant), uniqueness(case, variant)) if s]
    others: list[Callable[[Case, int], str | Claim | None]] = [flipped, tightness, relaxation, shadow_price, binding_rows]
    turn = variant % len(others)
    for make in others[turn:] + others[:turn]:
        if len(found) == 4:
            break
        if make.__name__ not in without and (sentence := make(case, variant)):
            found.append(sentence)
    return found


def _one_of(variant: int, key: str, *texts: str) -> str:
    return texts[pick(variant, key, len(texts))]


def breakdown(case: Case, variant: int) -> str | None:
    """What each objective term contributes, when there is more than one."""
    terms = case.model.objective.terms
    if len(terms) < 2 or case.label.point is None:
        return None
    found = []
    for t in terms:
        expr = t.expr.arg if isinstance(t.expr, Neg) else t.expr
        alone = replace(case.model, objective=Objective("minimize", (Term(t.name, expr, t.meaning),)))
        found.append((the(t.meaning), case.worth(ground(alone, case.instance.data).objective(case.label.point))))
    return _one_of(
        variant, "breakdown",
        f"Term by term, {listing([f'{meaning} comes to {value}' for meaning, value in found])}.",
        f"The objective splits into {listing([f'{value} for {meaning}' for meaning, value in found])}.",
        f"In this value, {listing([f'{meaning} is {value}' for meaning, value in found])}.",
    )


def with_bounds(problem: Problem, column: int, low: Fraction, high: Fraction) -> Problem:
    """The problem with other finite bounds on one column."""
    def changed(exact: Exact, value: Fraction) -> Exact:
        values = exact.fractions()
        values[column] = value
        return Exact.of(np.array(values, dtype=object))

    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[column], upper[column] = float(low), float(high)
    return replace(problem, lower=lower, upper=upper, lower_exact=changed(problem.lower_exact, low),
                   upper_exact=changed(problem.upper_exact, high))


def flipped(case: Case, variant: int) -> str | Claim | None:
    """One binary decision of the optimum forced the other way, and what that costs."""
    problem, point = case.instance.problem, case.label.point
    if point is None or case.label.objective_exact is None:
        return None
    chosen = [j for j in np.flatnonzero(problem.binary & problem.decision) if point[j] == 1]
    if not chosen:
        return None
    j = int(chosen[variant % len(chosen)])
    without = with_bounds(problem, j, Fraction(0), Fraction(0))
    other = label(without, nodes=_NODES)
    if not isinstance(other, Label):
        return None
    name, said = f"`{problem.columns[j]}`", clause(case.model, *case.columns[j])
    if other.status == "infeasible":
        if claim := unavoidable(case, without, said):
            return claim
        return _one_of(
            variant, "flip",
            f"There is no way round {name} = 1: with it forced to 0, no plan satisfies every rule.",
            f"That {said} is unavoidable: with {name} forced to 0, the model is infeasible.",
            f"Ruling out that {said} ({name} = 0) leaves no feasible plan.",
        )
    if other.status != "optimal" or other.objective_exact is None:
        return None
    gap = abs(other.objective_exact - case.label.objective_exact)
    value, gap_text = case.worth(other.objective_exact), case.roughly(gap)
    if gap == 0 and isinstance(case.facts, Facts) and case.facts.unique == "not unique":
        return None  # uniqueness says so
    if gap == 0:
        return _one_of(
            variant, "flip",
            f"The plan is not the only optimal one: with {name} forced to 0 the optimum is still {value}.",
            f"There are other optimal plans: ruling out that {said} ({name} = 0) does not change the optimal value.",
            f"That {said} is not essential; another plan with {name} = 0 also reaches {value}.",
        )
    return _one_of(
        variant, "flip",
        f"With {name} forced to 0 the best value would be {value}, worse by {gap_text}.",
        f"If it were ruled out that {said} ({name} = 0), the optimum would be {value}, which is {gap_text} worse.",
        f"That {said} is worth {gap_text}: with {name} = 0 the optimum would be {value}.",
    )


def relaxation(case: Case, variant: int) -> str | None:
    """The bound without integrality."""
    problem = case.instance.problem
    if not problem.integer.any() or case.label.objective_exact is None:
        return None
    relaxed = label(replace(problem, integer=np.zeros(problem.n_vars, bool)))
    if not isinstance(relaxed, Label) or relaxed.objective_exact is None:
        return None
    if relaxed.objective_exact == case.label.objective_exact:
        return _one_of(
            variant, "relaxation",
            "The linear relaxation has the same optimal value, so the whole-number requirements cost nothing here.",
            "Dropping the whole-number requirements would not improve this value: the linear relaxation has the same optimum.",
            "On these data the relaxation is tight: without whole-number requirements the optimal value is the same.",
        )
    word, value = "an upper" if problem.maximize else "a lower", case.worth(relaxed.objective_exact)
    return _one_of(
        variant, "relaxation",
        f"Without the whole-number requirements the linear relaxation gives {value}, which is only {word} bound.",
        f"The linear relaxation has the optimum {value}, {word} bound that no plan reaches which keeps the whole-number requirements.",
        f"As {word} bound, the linear relaxation gives {value}; the difference is what the whole-number requirements cost.",
    )


def tightness(case: Case, variant: int) -> str | None:
    """One inequality row with room, and the exact room; or that all rows of a family are tight."""
    problem, point = case.instance.problem, case.label.point
    if point is None:
        return None
    loose: list[tuple[str, Fraction]] = []
    tight, slack = 0, False
    A = problem.matrix
    for i in range(problem.n_rows):
        low, high = problem.row_lower[i], problem.row_upper[i]
        if low == high:
            continue
        span = slice(A.indptr[i], A.indptr[i + 1])
        activity = sum((Fraction(int(v), problem.matrix_exact.den) * point[int(j)]
                        for v, j in zip(problem.matrix_exact.num[span], A.indices[span], strict=True)), Fraction(0))
        if not any(point[int(j)] for j in A.indices[span]):
            continue  # nothing chosen enters it
        side = problem.row_upper_exact if np.isfinite(high) else problem.row_lower_exact
        room = abs(Fraction(int(side.num[i]), side.den) - activity)
        tight, slack = tight + (not room), slack or bool(room)
        if room and problem.decision[A.indices[span]].all():
            loose.append((problem.rows[i], room))
    if loose:
        name, room = loose[variant % len(loose)]
        unit = row_unit(case, row_of(case.model, name))
        text = counted(about(room), unit, case.instance.scenario)
        return _one_of(
            variant, "tightness",
            f"Constraint `{name}` has {text} to spare.",
            f"There is room at `{name}`: its slack is {text}.",
            f"`{name}` is not binding; its slack is {text}.",
        )
    if tight > 1 and not slack:
        return _one_of(
            variant, "tightness",
            "Every inequality constraint with a nonzero variable in it is binding in this plan.",
            "There is no slack: each inequality constraint that involves a nonzero variable holds with equality.",
        )
    return None
