"""What a faulty model or infeasible data come to on the instance at hand: exact statements about points and sums of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product as combinations
from typing import Any

import numpy as np

from orpipe.algebra.nodes import Add, has_variables
from orpipe.build.case import Case
from orpipe.build.insights import in_row, row_unit
from orpipe.build.phrases import amount, clause, counted, row_of
from orpipe.problem import Problem, Violation
from orpipe.render.words import about
from orpipe.solve import Label

_MOST = 6  # equations in a conflict of which both directions are tried


def consequence(case: Case, problem: Problem, found: Label) -> str | None:
    """What the optimal plan of a faulty model does in the right one, or what the faulty one refuses; None if nothing short
    and exact can be said."""
    right, best = case.instance.problem, case.label.objective_exact
    if best is None or case.label.point is None or problem.columns != right.columns:
        return None
    if found.status == "unbounded" and found.ray is not None:
        j = next((j for j, d in enumerate(found.ray) if d and right.decision[j]), None)
        if j is None:
            return None
        return f"Nothing in the faulty model keeps `{right.columns[j]}` from running off without limit, and the objective improves with it."
    refused = next(iter(problem.violations(case.label.point)), None)
    if found.point is None or found.objective_exact is None:
        return None if refused is None else f"It refuses even the plan that is really optimal, which breaks {_place(refused)} of the faulty model."
    broken = right.violations(found.point)
    if broken:
        first = next((v for v in broken if v.rule == "row" and _is_decision(case, v.where)), broken[0])
        more = len({v.where for v in broken} - {first.where})
        also = "" if not more else " One other rule is broken as well." if more == 1 else f" {more} more entries of the model are broken as well."
        return f"Its plan cannot be carried out: {_breach(case, first, found.point)}.{also}"
    true = right.objective(found.point)
    gap = abs(true - best)
    if not gap:
        return "Its plan happens to be an optimal one; only the reported value is wrong." if found.objective_exact != best else None
    if true == found.objective_exact:
        why = f"; the true optimum is refused because it breaks {_place(refused)} of the faulty model" if refused is not None else ""
        return f"Its plan is allowed but not the best: it is {case.worth(gap)} worse than the optimum{why}."
    return f"Its plan can be carried out, but the true value of that plan is {case.worth(true)}, {case.worth(gap)} worse than the optimum."


def symptom(case: Case, problem: Problem, found: Label) -> str | None:
    """How somebody who knows the operation, but not the model, would notice the fault."""
    right, best = case.instance.problem, case.label.objective_exact
    if best is None or found.status != "optimal" or found.point is None or found.objective_exact is None or problem.columns != right.columns:
        return None
    for v in right.violations(found.point):
        if v.rule == "row" and _is_decision(case, v.where):
            return f"its plan does not respect the rule that {row_of(case.model, v.where).because}"
        if v.rule == "integer" and right.decision[right.column_index[v.where]]:
            return "its plan has fractions where only whole numbers make sense"
    better = (found.objective_exact > best) if right.maximize else (found.objective_exact < best)
    return "that is better than anything that can be done in practice" if better else "a better plan is known"


def _is_decision(case: Case, row: str) -> bool:
    """Does the row hold between decisions, helper variables left out?"""
    problem = case.instance.problem
    i = problem.rows.index(row)
    A = problem.matrix
    return bool(problem.decision[A.indices[A.indptr[i]:A.indptr[i + 1]]].all())


def _place(v: Violation) -> str:
    if v.rule == "integer":
        return f"the whole-number requirement on `{v.where}`"
    return f"`{v.where}`" if v.rule == "row" else f"the {v.rule} bound of `{v.where}`"


def _breach(case: Case, v: Violation, point: Sequence[Fraction]) -> str:
    """«`capacity[South]` comes to 15 t/day on its left side, where at most 10 t/day is allowed»"""
    problem = case.instance.problem
    if v.rule != "row":
        j = problem.column_index[v.where]
        decl, key = case.columns[j]
        said = counted(about(point[j]), decl.unit, case.instance.scenario)
        what = f"whether {clause(case.model, decl, key)} (`{v.where}`)" if decl.kind == "binary" else f"{amount(case.model, decl, key)} (`{v.where}`)"
        if v.rule == "integer":
            return f"{what} is given the value {said}, which is not {'0 or 1' if decl.kind == 'binary' else 'a whole number'}"
        side = problem.lower_exact if v.rule == "lower" else problem.upper_exact
        bound = counted(about(Fraction(int(side.num[j]), side.den)), decl.unit, case.instance.scenario)
        return f"{what} is {said}, where {'at least' if v.rule == 'lower' else 'at most'} {bound} is possible"
    i = problem.rows.index(v.where)
    row = row_of(case.model, v.where)
    terms = row.left.terms if isinstance(row.left, Add) else (row.left,)
    if has_variables(row.right) or not all(map(has_variables, terms)):
        unit = row_unit(case, row)
        return f"`{v.where}` is violated by {counted(about(v.amount), unit, case.instance.scenario)}"
    have = _activity(problem, i, point)
    low, high = _side(problem, i, 0), _side(problem, i, 1)
    due = "exactly" if low == high else "at least" if low is not None and have < low else "at most"
    limit = low if low is not None and (due == "at least" or high is None) else high
    assert limit is not None
    return f"the left side of `{v.where}` comes to {_told(case, v.where, have)}, where {due} {_told(case, v.where, limit)} {'is allowed' if due == 'at most' else 'is required'}"


def _told(case: Case, row: str, value: Fraction) -> str:
    return counted(about(value), row_unit(case, row_of(case.model, row)), case.instance.scenario)


def _activity(problem: Problem, i: int, point: Sequence[Fraction]) -> Fraction:
    return sum((a * point[j] for j, a in _entries(problem, i)), Fraction(0))


def _entries(problem: Problem, i: int) -> Iterator[tuple[int, Fraction]]:
    A = problem.matrix
    span = slice(A.indptr[i], A.indptr[i + 1])
    for j, v in zip(A.indices[span], problem.matrix_exact.num[span], strict=True):
        yield int(j), Fraction(int(v), problem.matrix_exact.den)


def _side(problem: Problem, i: int, which: int) -> Fraction | None:
    floats, exact = ((problem.row_lower, problem.row_lower_exact), (problem.row_upper, problem.row_upper_exact))[which]
    return Fraction(int(exact.num[i]), exact.den) if np.isfinite(floats[i]) else None


def adds_up(case: Case, problem: Problem, conflict: Sequence[str]) -> str | None:
    """Why rows contradict each other, where adding them up is enough to see it: what some of them ask for in all exceeds
    what the others, or the bounds of the variables, allow.  None where it takes more than a plain sum."""
    rows = [problem.rows.index(name) for name in conflict]
    units = {row_unit(case, row_of(case.model, name)) for name in conflict}
    if len(units) != 1:
        return None
    equations = [i for i in rows if _side(problem, i, 0) == _side(problem, i, 1)]
    if len(equations) > _MOST:
        return None
    for signs in combinations((1, -1), repeat=len(equations)):
        turned = dict(zip(equations, signs, strict=True))
        sign = {i: turned.get(i, 1 if _side(problem, i, 0) is not None else -1) for i in rows}
        asked = sum((_bound(problem, i, 0) for i in rows if sign[i] > 0), Fraction(0))
        allowed = sum((_bound(problem, i, 1) for i in rows if sign[i] < 0), Fraction(0))
        most = _most(problem, sign)
        if most is None or most >= asked - allowed:
            continue
        limits = [i for i in rows if sign[i] < 0]
        if limits and len(limits) < len(rows) and not most:
            need = "asks" if len(rows) - len(limits) == 1 else "ask"
            give = "allows" if len(limits) == 1 else "allow"
            return (f"Added up, {_these(problem, rows, sign, 1)} {need} for {in_row(case, conflict[0], asked)}, "
                    f"while {_these(problem, rows, sign, -1)} {give} only {in_row(case, conflict[0], allowed)}.")
        if not limits:
            need = "In all they ask" if len(rows) > 1 else "It asks"
            return (f"{need} for {in_row(case, conflict[0], asked)}, while the bounds of the variables allow at most "
                    f"{in_row(case, conflict[0], most)}.")
        return None
    return None


def _bound(problem: Problem, i: int, which: int) -> Fraction:
    value = _side(problem, i, which)
    assert value is not None
    return value


def _these(problem: Problem, rows: Sequence[int], sign: dict[int, int], wanted: int) -> str:
    found = [problem.rows[i] for i in rows if sign[i] == wanted]
    if len(found) == 1:
        return f"`{found[0]}`"
    families = list(dict.fromkeys(name.partition("[")[0] for name in found))
    return f"the {len(found)} constraints " + " and ".join(f"`{f}`" for f in families)


def _most(problem: Problem, sign: dict[int, int]) -> Fraction | None:
    """Largest value of the signed sum of the rows within the bounds of the variables; None if there is none."""
    total: dict[int, Fraction] = {}
    for i, s in sign.items():
        for j, a in _entries(problem, i):
            total[j] = total.get(j, Fraction(0)) + s * a
    value = Fraction(0)
    for j, a in total.items():
        if not a:
            continue
        floats, exact = (problem.upper, problem.upper_exact) if a > 0 else (problem.lower, problem.lower_exact)
        if not np.isfinite(floats[j]):
            return None
        value += a * Fraction(int(exact.num[j]), exact.den)
    return value


def told(found: Label, case: Case) -> dict[str, Any]:
    """How a faulty outcome is spoken of: `report` «248 EUR/day» or «no feasible plan», `outcome` «an optimal value of 248 EUR/day»."""
    if found.objective_exact is not None:
        value = case.worth(found.objective_exact)
        return {"report": value, "outcome": f"an optimal value of {value}", "optimal": True}
    return {"report": found.status, "outcome": f"the status {found.status}", "optimal": False}
