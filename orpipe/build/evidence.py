"""What a faulty model or infeasible data come to on the instance at hand: exact statements about points and sums of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product as combinations

import numpy as np

from orpipe.algebra.nodes import Add, has_variables
from orpipe.build.case import Case, pick
from orpipe.build.claims import Claim
from orpipe.build.infeasible import subset
from orpipe.build.phrases import amount, clause, counted, row_of
from orpipe.build.units import in_row, row_unit
from orpipe.exact import Exact
from orpipe.problem import Problem, Violation
from orpipe.render.words import about, count_word, listing
from orpipe.solve import Label, label

_NODES = 20_000
_MOST = 6  # equations in a conflict of which both directions are tried


def consequence(case: Case, problem: Problem, found: Label, which: str = "faulty model") -> Claim | None:
    """What the optimal plan of a faulty model does in the right one, or what the faulty one refuses; None if nothing short
    and exact can be said.  which: how the text calls the faulty model."""
    right, best = case.instance.problem, case.label.objective_exact
    if best is None or case.label.point is None or problem.columns != right.columns:
        return None
    if found.status == "unbounded" and found.ray is not None:
        j = next((j for j, d in enumerate(found.ray) if d and right.decision[j]), None)
        if j is None:
            return None
        name = right.columns[j]
        text = f"Nothing in the {which} keeps `{name}` from running off without limit, and the objective improves with it."
        return Claim("growth", text, (name,), more={"step": {right.columns[k]: str(d) for k, d in enumerate(found.ray) if d}})
    refused = next(iter(problem.violations(case.label.point)), None)
    at = () if refused is None else (refused.where,)
    if found.point is None or found.objective_exact is None:
        text = "" if refused is None else f"The {which} refuses even the plan that is really optimal: that plan breaks {_place(refused)}."
        return None if refused is None else Claim("refused", text, at)
    plan, values = f"The plan with the value {case.worth(found.objective_exact)}", {"reported": found.objective_exact}
    broken = right.violations(found.point)
    if broken:
        first = _shown(case, broken)
        more = len({v.where for v in broken} - {first.where})
        also = "" if not more else " There is one further violation." if more == 1 else f" There are {more} further violations."
        told, numbers = _breach(case, first, found.point)
        return Claim("breach", f"{plan} cannot be carried out: {told}.{also}", (first.where,), values | numbers | {"further": Fraction(more)})
    true = right.objective(found.point)
    gap = abs(true - best)
    values |= {"true": true, "gap": gap}
    if not gap:
        text = f"{plan} happens to be an optimal one all the same; only the value is wrong."
        return Claim("worth", text, (), values) if found.objective_exact != best else None
    if true == found.objective_exact:
        why = f"; the {which} refuses the best plan, which breaks {_place(refused)} there" if refused is not None else ""
        return Claim("worth", f"{plan} is allowed but not the best: it is {case.roughly(gap)} worse than the optimum{why}.", at, values)
    return Claim("worth", f"{plan} can be carried out, but its true value is {case.worth(true)}, {case.roughly(gap)} worse than the optimum.",
                 (), values)


def _shown(case: Case, broken: Sequence[Violation]) -> Violation:
    """A row between decisions, if one is broken."""
    return next((v for v in broken if v.rule == "row" and _is_decision(case, v.where)), broken[0])


def symptom(case: Case, problem: Problem, found: Label, variant: int = 0) -> Claim | None:
    """How somebody who knows the operation, but not the model, would notice the fault: in words, or by `variant` with the figures."""
    right, best = case.instance.problem, case.label.objective_exact
    if best is None or problem.columns != right.columns:
        return None
    if found.status == "infeasible":
        return Claim("plan exists", "at least one plan satisfies every rule of the description")
    if found.status == "unbounded":
        return Claim("bounded", "the description leaves no way to gain without limit")
    if found.status != "optimal" or found.point is None or found.objective_exact is None:
        return None
    for v in right.violations(found.point):
        if v.rule == "row" and _is_decision(case, v.where):
            said, figures = f"its plan does not respect the rule that {row_of(case.model, v.where).because}", _figures(case, v, found.point, variant)
            return Claim("breach", said if figures is None else said + figures.text, (v.where,), {} if figures is None else figures.values)
        if v.rule == "integer" and right.decision[right.column_index[v.where]]:
            return Claim("breach", "its plan has fractions where only whole numbers make sense", (v.where,))
    if not right.violations(found.point) and right.objective(found.point) == best:
        return Claim("worth", "its plan comes to another value when the value is worked out by hand")
    better = (found.objective_exact > best) if right.maximize else (found.objective_exact < best)
    return Claim("better", "no plan can be that good in practice") if better else Claim("worse", "a better plan is known")


def _figures(case: Case, v: Violation, point: Sequence[Fraction], variant: int) -> Claim | None:
    """« (for South it comes to 15 t/day, and at most 10 t/day is allowed)»: no name that would tell which row of a model it is."""
    if pick(variant, "figures", 2) or not _plain(case, v.where):
        return None
    _, values = _breach(case, v, point)
    have, limit, due = values["have"], values["limit"], _due(case.instance.problem, v, values["have"])
    labels = v.where.partition("[")[2].removesuffix("]").replace(",", ", ")
    need = {"exactly": "is right", "at least": "is needed", "at most": "is allowed"}[due]
    text = f" ({f'for {labels}, ' if labels else ''}it comes to {_told(case, v.where, have)}, where {due} {_told(case, v.where, limit)} {need})"
    return Claim("breach", text, (v.where,), values)


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


def _breach(case: Case, v: Violation, point: Sequence[Fraction]) -> tuple[str, dict[str, Fraction]]:
    """«`capacity[South]` comes to 15 t/day on its left side, where at most 10 t/day is allowed», and the numbers in it."""
    problem = case.instance.problem
    if v.rule != "row":
        j = problem.column_index[v.where]
        decl, key = case.columns[j]
        said = counted(about(point[j]), decl.unit, case.instance.scenario)
        meaning = f"whether {clause(case.model, decl, key)}" if decl.kind == "binary" else amount(case.model, decl, key)
        what = f"`{v.where}` ({meaning})"
        if v.rule == "integer":
            text = f"{what} is given the value {said}, which is not {'0 or 1' if decl.kind == 'binary' else 'a whole number'}"
            return text, {"have": point[j]}
        side = problem.lower_exact if v.rule == "lower" else problem.upper_exact
        limit = Fraction(int(side.num[j]), side.den)
        bound = counted(about(limit), decl.unit, case.instance.scenario)
        return f"{what} is {said}, where it must be {'at least' if v.rule == 'lower' else 'at most'} {bound}", {"have": point[j], "limit": limit}
    i = problem.rows.index(v.where)
    row = row_of(case.model, v.where)
    if not _plain(case, v.where):
        unit = row_unit(case, row)
        return f"`{v.where}` is violated by {counted(about(v.amount), unit, case.instance.scenario)}", {"amount": v.amount}
    have = _activity(problem, i, point)
    due = _due(problem, v, have)
    low, high = _side(problem, i, 0), _side(problem, i, 1)
    edge = low if low is not None and (due == "at least" or high is None) else high
    assert edge is not None
    text = f"the left side of `{v.where}` comes to {_told(case, v.where, have)}, where it must be {due} {_told(case, v.where, edge)}"
    return text, {"have": have, "limit": edge}


def _due(problem: Problem, v: Violation, have: Fraction) -> str:
    i = problem.rows.index(v.where)
    low, high = _side(problem, i, 0), _side(problem, i, 1)
    return "exactly" if low == high else "at least" if low is not None and have < low else "at most"


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


def why_not(case: Case, problem: Problem, conflict: Sequence[str]) -> Claim | None:
    """A conflict in numbers: by adding up its rows where that is enough, else by how far one of them is missed."""
    return adds_up(case, problem, conflict) or falls_short(case, problem, conflict)


def adds_up(case: Case, problem: Problem, conflict: Sequence[str]) -> Claim | None:
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
        more = {"signs": {problem.rows[i]: s for i, s in sign.items()}}
        if limits and len(limits) < len(rows) and not most:
            need = "asks" if len(rows) - len(limits) == 1 else "ask"
            give = "allows" if len(limits) == 1 else "allow"
            text = (f"Added up, {_these(problem, rows, sign, 1)} {need} for {in_row(case, conflict[0], asked)}, "
                    f"while {_these(problem, rows, sign, -1)} {give} only {in_row(case, conflict[0], allowed)}.")
            return Claim("adds up", text, tuple(conflict), {"asked": asked, "allowed": allowed}, more)
        if not limits:
            need = "In all they ask" if len(rows) > 1 else "It asks"
            text = (f"{need} for {in_row(case, conflict[0], asked)}, while the bounds of the variables allow at most "
                    f"{in_row(case, conflict[0], most)}.")
            return Claim("adds up", text, tuple(conflict), {"asked": asked, "most": most}, more)
        return None
    return None


def falls_short(case: Case, problem: Problem, conflict: Sequence[str]) -> Claim | None:
    """How far the other rows of a conflict keep one of them from holding: the best that row can reach while they hold."""
    rows = [problem.rows.index(name) for name in conflict]
    base = case.instance.problem
    moved = [i for i in rows if base.rows == problem.rows and any(_side(base, i, s) != _side(problem, i, s) for s in (0, 1))]
    plain = [i for i in rows if _plain(case, problem.rows[i])]
    row = next((i for i in plain if i in moved), None)
    row = row if row is not None else next(iter([*plain, *moved, *rows]))
    others = subset(problem, [i for i in rows if i != row])
    cost = [Fraction(0)] * problem.n_vars
    for j, a in _entries(problem, row):
        cost[j] = a
    for which, maximize in ((0, True), (1, False)):
        due = _side(problem, row, which)
        if due is None:
            continue
        reach = label(replace(others, cost_exact=Exact.of(np.array(cost, dtype=object)), offset=Fraction(0), maximize=maximize), nodes=_NODES)
        best = reach.objective_exact if isinstance(reach, Label) else None
        if best is None or not (best < due if maximize else best > due):
            continue
        name = problem.rows[row]
        rest = "the bounds and domains of the variables" if len(rows) == 1 else "the other constraints" if len(rows) > 2 else "the other constraint"
        gap = _told(case, name, abs(due - best))
        verb = "allow" if rest.endswith("s") else "allows"
        at, more = (name, *(n for n in conflict if n != name)), {"maximize": maximize}
        if row in plain:
            limit, need = ("at most", "at least") if maximize else ("at least", "at most")
            need = "exactly" if _side(problem, row, 0) == _side(problem, row, 1) else need
            if len(rows) == 1:
                text = f"Its left side can be {limit} {_told(case, name, best)}, and has to be {need} {_told(case, name, due)}."
                return Claim("falls short", text, at, {"best": best, "due": due}, more)
            text = (f"Within the bounds and domains of the variables, {rest} {verb} {limit} {_told(case, name, best)} on the left side of `{name}`, "
                    f"which has to be {need} {_told(case, name, due)}.")
            return Claim("falls short", text, at, {"best": best, "due": due}, more)
        text = f"As long as {rest} hold{'' if rest.endswith('s') else 's'}, `{name}` is missed by {gap} or more."
        return Claim("falls short", text, at, {"gap": abs(due - best)}, more)
    return None


def _plain(case: Case, name: str) -> bool:
    """Variables on the left side only, and nothing but variables there."""
    row = row_of(case.model, name)
    terms = row.left.terms if isinstance(row.left, Add) else (row.left,)
    return not has_variables(row.right) and all(map(has_variables, terms))


def _bound(problem: Problem, i: int, which: int) -> Fraction:
    value = _side(problem, i, which)
    assert value is not None
    return value


def _these(problem: Problem, rows: Sequence[int], sign: dict[int, int], wanted: int) -> str:
    found = [problem.rows[i] for i in rows if sign[i] == wanted]
    if len(found) == 1:
        return f"`{found[0]}`"
    families = list(dict.fromkeys(name.partition("[")[0] for name in found))
    if any(problem.rows[i].partition("[")[0] in families for i in rows if sign[i] != wanted):
        return listing([f"`{name}`" for name in found])  # the name of the constraint would not tell them from the others
    return f"the {count_word(len(found))} constraints " + " and ".join(f"`{f}`" for f in families)


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

