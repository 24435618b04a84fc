"""Claims about an optimum that the pipeline proved: each sentence is a number from a certified solve, or it is not made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from orpipe.algebra.nodes import Neg, Objective, Row, Term
from orpipe.algebra.units import unit_text
from orpipe.build.case import Case, exact_text, stated_value
from orpipe.exact import Exact
from orpipe.ground import ground
from orpipe.problem import Problem
from orpipe.render.words import approximate, listing
from orpipe.solve import Label, label

_NODES = 20_000


def insights(case: Case, variant: int) -> list[str]:
    """Up to three sentences: the breakdown of the objective always, the others in turn by `variant`."""
    found = [s for s in (breakdown(case),) if s]
    others: list[Callable[[Case, int], str | None]] = [flipped, tightness, relaxation, shadow_price]
    turn = variant % len(others)
    for make in others[turn:] + others[:turn]:
        if len(found) == 3:
            break
        if sentence := make(case, variant):
            found.append(sentence)
    return found


def breakdown(case: Case) -> str | None:
    """What each objective term contributes, when there is more than one."""
    terms = case.model.objective.terms
    if len(terms) < 2 or case.label.point is None:
        return None
    parts = []
    for t in terms:
        expr = t.expr.arg if isinstance(t.expr, Neg) else t.expr
        alone = replace(case.model, objective=Objective("minimize", (Term(t.name, expr, t.meaning),)))
        value = ground(alone, case.instance.data).objective(case.label.point)
        parts.append(f"{t.meaning} {stated_value(value, case.unit)}")
    return f"By terms: {listing(parts)}."


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


def flipped(case: Case, variant: int) -> str | None:
    """One binary decision of the optimum forced the other way, and what that costs."""
    problem, point = case.instance.problem, case.label.point
    if point is None or case.label.objective_exact is None:
        return None
    chosen = [j for j in np.flatnonzero(problem.binary & problem.decision) if point[j] == 1]
    if not chosen:
        return None
    j = int(chosen[variant % len(chosen)])
    other = label(with_bounds(problem, j, Fraction(0), Fraction(0)), nodes=_NODES)
    name = problem.columns[j]
    if not isinstance(other, Label):
        return None
    if other.status == "infeasible":
        return f"`{name}` cannot be 0: with it forced to 0 no plan satisfies every rule."
    if other.status != "optimal" or other.objective_exact is None:
        return None
    gap = abs(other.objective_exact - case.label.objective_exact)
    if gap == 0:
        return f"The plan is not the only one: with `{name}` forced to 0 the optimum is still {stated_value(other.objective_exact, case.unit)}."
    return (f"With `{name}` forced to 0 the best value would be {stated_value(other.objective_exact, case.unit)}, "
            f"worse by {stated_value(gap, case.unit)}.")


def relaxation(case: Case, variant: int) -> str | None:
    """The bound without integrality."""
    problem = case.instance.problem
    if not problem.integer.any() or case.label.objective_exact is None:
        return None
    relaxed = label(replace(problem, integer=np.zeros(problem.n_vars, bool)))
    if not isinstance(relaxed, Label) or relaxed.objective_exact is None:
        return None
    if relaxed.objective_exact == case.label.objective_exact:
        return "The linear relaxation has the same optimal value, so asking for whole numbers costs nothing here."
    word = "an upper" if problem.maximize else "a lower"
    return (f"Without the whole-number requirement the linear relaxation gives {stated_value(relaxed.objective_exact, case.unit)}"
            f", which is only {word} bound.")


def row_family(case: Case, row_name: str) -> Row:
    return case.model.row_by[row_name.partition("[")[0]]


def row_unit(case: Case, row: Row) -> str:
    symbolic = case.instance.family.symbolic(case.instance.formulation)
    text = unit_text(row.left, symbolic if all(v.symbol in symbolic.var_by for v in case.model.variables) else case.model)
    return case.instance.scenario.unit(text)


def tightness(case: Case, variant: int) -> str | None:
    """One inequality row with room, and the exact room; or that all rows of a family are tight."""
    problem, point = case.instance.problem, case.label.point
    if point is None:
        return None
    loose: list[tuple[str, Fraction]] = []
    tight: list[tuple[str, Fraction]] = []
    A = problem.matrix
    for i in range(problem.n_rows):
        low, high = problem.row_lower[i], problem.row_upper[i]
        if low == high:
            continue
        span = slice(A.indptr[i], A.indptr[i + 1])
        activity = sum((Fraction(int(v), problem.matrix_exact.den) * point[int(j)]
                        for v, j in zip(problem.matrix_exact.num[span], A.indices[span], strict=True)), Fraction(0))
        if not any(point[int(j)] for j in A.indices[span]) or not problem.decision[A.indices[span]].all():
            continue  # nothing chosen enters it, or it is about helper variables
        side = problem.row_upper_exact if np.isfinite(high) else problem.row_lower_exact
        room = abs(Fraction(int(side.num[i]), side.den) - activity)
        (loose if room else tight).append((problem.rows[i], room))
    if loose:
        name, room = loose[variant % len(loose)]
        return f"Constraint `{name}` has {approximate(room)} {row_unit(case, row_family(case, name))}".rstrip() + " to spare."
    if tight and len(tight) > 1:
        return "Every inequality that any chosen quantity enters holds with equality at this plan."
    return None


def shadow_price(case: Case, variant: int) -> str | None:
    """An exact optimal dual of an LP."""
    duals = getattr(case.label, "duals", None)
    if duals is None or case.instance.problem.integer.any():
        return None
    rows = [i for i, d in enumerate(duals) if d]
    if not rows:
        return None
    i = rows[variant % len(rows)]
    name = case.instance.problem.rows[i]
    below = row_unit(case, row_family(case, name))
    above = case.unit
    unit = f"{above} per {below}" if below else above
    return (f"An optimal dual value of `{name}` is {exact_text(duals[i])} {unit}".rstrip()
            + ": the rate at which the optimum moves with the right-hand side of that constraint, while the optimal basis stays the same.")
