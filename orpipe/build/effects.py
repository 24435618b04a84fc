"""What a faulty model comes to, beyond one point of it: why it has no plan, what grows in it without end, how a shadow price or the
binding constraints explain its optimum, whether that optimum is the only one.  Each claim is exact and worked out for one text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from orpipe.algebra.nodes import Model, Row
from orpipe.algebra.units import unit_text
from orpipe.build.case import Case, pick
from orpipe.build.claims import Claim
from orpipe.build.evidence import why_not
from orpipe.build.infeasible import irreducible
from orpipe.build.phrases import amount, clause, counted, row_of
from orpipe.build.plans import another, attained, change_text, moved_columns
from orpipe.build.units import rate, row_unit
from orpipe.exact import Exact, concatenate
from orpipe.exact_lp import recession
from orpipe.problem import Problem
from orpipe.proof import binding, unique
from orpipe.proof.ranging import price_range
from orpipe.proof.search import basic
from orpipe.render.words import about, count_word, listing, upper_first
from orpipe.solve import Label

_TIES = 60  # nodes asked for another optimum of a faulty model
_SMALL = 40  # variables of an integer program that is asked
_MEMBERS = 5  # rows and bounds of a conflict that one sentence can hold
_ROWS = 120  # larger faulty models are not searched for a conflict
_GROWING = 4  # decisions of a ray that a sentence names: one more on a road and one less, at two places, are four
_LISTED = 3  # binding constraints that a sentence names


def extra(case: Case, model: Model, problem: Problem, found: Label, variant: int, which: str) -> Claim | None:
    """One more truth about the optimum of a faulty model: what a shadow price explains, else by `variant` what binds or whether it is
    the only one; None where that cannot be had cheaply."""
    if case.label.point is None:
        return None
    if claim := explained(case, problem, found):
        return claim
    if pick(variant, "effects", 2):
        return held(problem, found, which)
    if problem.integer.any() and problem.n_vars > _SMALL:
        return None
    return ties(Case(replace(case.instance, model=model), found), problem, found, variant, which)


# ---- no plan, and no end


def conflict(case: Case, model: Model, problem: Problem, found: Label, which: str) -> list[Claim]:
    """Which of its rows contradict each other within the bounds of the variables, in the words of the problem, none of which can be
    left out; and in numbers, where their units still agree."""
    if found.status != "infeasible" or problem.n_rows > _ROWS:
        return []
    names = irreducible(problem, quick=True)
    if names is None or len(names) > _MEMBERS:
        return []
    families = by_family(names)
    parts = []
    for family, own in families.items():
        right = family in case.model.row_by and model.row_by[family] == case.model.row_by[family]
        parts.append(listing([f"`{name}`" for name in own])
                     + (f" ({model.row_by[family].because})" if right else f" (which {'is' if len(own) == 1 else 'are'} at fault)"))
    limits = "the bounds and domains of the variables" if problem.integer.any() else "the bounds of the variables"
    if len(names) == 1:
        text = f"Within {limits}, one constraint of the {which} cannot hold: {parts[0]}."
    else:
        one = "either of them, and the other" if len(names) == 2 else "any one of them, and the others"
        text = (f"Within {limits}, these {count_word(len(names))} constraints of the {which} cannot hold together: "
                f"{grouped(parts)}. Leave out {one} can be met.")
    reason = why_not(Case(replace(case.instance, model=model), found), problem, names) if _same_units(case.model, model, list(families)) else None
    return [Claim("conflict", text, names), *([reason] if reason else [])]


def by_family(names: Sequence[str]) -> dict[str, list[str]]:
    """Rows by the constraint that they come from, in order."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition("[")[0], []).append(name)
    return found


def unavoidable(case: Case, problem: Problem, said: str) -> Claim | None:
    """Why a choice that was ruled out is needed: the rows that then contradict each other, in the words of the problem.  problem: the
    right one with that column fixed at 0."""
    names = irreducible(problem, quick=True) if problem.n_rows <= _ROWS else None
    if names is None or len(names) > _MEMBERS:
        return None
    parts = [f"{listing([f'`{n}`' for n in own])} ({case.model.row_by[family].because})" for family, own in by_family(names).items()]
    column = next(name for j, name in enumerate(problem.columns) if problem.upper[j] != case.instance.problem.upper[j])
    text = f"It is unavoidable that {said}: with `{column}` forced to 0, {grouped(parts)} cannot hold{' together' if len(names) > 1 else ''}."
    return Claim("unavoidable", text, (column, *names), {"forced": Fraction(0)})


def grouped(parts: Sequence[str]) -> str:
    """Lists in a list: «`a` and `b` (...); and `c` (...)»"""
    return listing(parts, "; and " if len(parts) > 2 or any("` and `" in p for p in parts) else " and ", "; ")


def _same_units(right: Model, wrong: Model, families: Sequence[str]) -> bool:
    """Are both sides of these rows in the units of the right model?"""
    def units(row: Row, model: Model) -> set[str]:
        return {unit_text(side, model) for side in (row.left, row.right)} - {"1"}

    return all(f in right.row_by and units(wrong.row_by[f], wrong) == units(right.row_by[f], right) for f in families)


def growth(case: Case, problem: Problem, found: Label, which: str) -> Claim | None:
    """What can grow without end in an unbounded model, and what each step gains."""
    step = _step(problem, found)
    if step is None:
        return None
    gain = abs(problem.objective(step) - problem.offset)
    moving = [j for j, d in enumerate(step) if d and problem.decision[j]]
    if not moving or len(moving) > _GROWING or problem.columns != case.instance.problem.columns:
        return None
    names = tuple(problem.columns[j] for j in moving)
    values = {f"step{k}": step[j] for k, j in enumerate(moving)} | {"gain": gain}
    more = {"step": {problem.columns[j]: str(d) for j, d in enumerate(step) if d}}
    gains = f"{'adds' if problem.maximize else 'takes'} {case.roughly(gain)} {'to' if problem.maximize else 'off'} the objective"
    decls = [case.columns[j] for j in moving]
    sizes = [counted(about(abs(step[j])), "" if d.unit == "1" else d.unit, case.instance.scenario) for j, (d, _) in zip(moving, decls, strict=True)]
    if len(moving) == 1:
        decl, key = decls[0]
        meaning = clause(case.model, decl, key) if decl.kind == "binary" else amount(case.model, decl, key)
        each = f"each {'further ' if sizes[0].startswith('1 ') else ''}{sizes[0].removeprefix('1 ')}" if sizes[0] != "1" else "each further unit"
        way = "grow" if step[moving[0]] > 0 else "fall"
        text = f"Nothing in the {which} stops `{names[0]}` ({meaning}): it can {way} without end, and {each} {gains}."
        return Claim("growth", text, names, values, more)
    steps = [f"`{name}` {'up' if step[j] > 0 else 'down'} by {size}" for j, name, size in zip(moving, names, sizes, strict=True)]
    text = f"In the {which}, {listing(steps)} can be repeated together without end, and each time this {gains}."
    return Claim("growth", text, names, values, more)


def _step(problem: Problem, found: Label) -> list[Fraction] | None:
    """An exact improving direction, scaled to small numbers: one decision alone where that is one, else an extreme ray, as few move in it."""
    if found.status != "unbounded":
        return None
    cost = problem.cost_exact.fractions()
    sign = 1 if problem.maximize else -1
    for j in np.flatnonzero(problem.decision).tolist():
        if cost[j]:
            alone = [Fraction(0)] * problem.n_vars
            alone[j] = Fraction(1 if sign * cost[j] > 0 else -1)
            if is_ray(problem, alone):
                return alone
    vertex = basic(_normed(recession(problem)))
    if vertex is None or not vertex.objective:
        return None
    n = problem.n_vars
    ray = [a - b for a, b in zip(vertex.point[:n], vertex.point[n:], strict=True)]
    moving = [j for j, d in enumerate(ray) if d]
    if problem.integer[moving].any():
        common = math.lcm(*(ray[j].denominator for j in moving))
        scale = Fraction(common, math.gcd(*(int(ray[j] * common) for j in moving)))
    else:
        scale = 1 / min(abs(ray[j]) for j in moving)
    scaled = [d * scale for d in ray]
    return scaled if is_ray(problem, scaled) else None


def _normed(cone: Problem) -> Problem:
    """The same directions as differences of two nonnegative parts whose sum is at most 1: its vertices are extreme rays."""
    n, m = cone.n_vars, cone.n_rows
    A = cone.matrix
    matrix = sp.csr_array(sp.vstack([sp.hstack([A, -A]), np.ones((1, 2 * n))], format="csr"))
    matrix.sort_indices()
    entries, spans = cone.matrix_exact.fractions(), [(A.indptr[i], A.indptr[i + 1]) for i in range(m)]
    exact = [v for a, b in spans for v in (*entries[a:b], *(-e for e in entries[a:b]))] + [Fraction(1)] * (2 * n)
    zero, one = np.zeros(2 * n, np.int64), np.concatenate([cone.upper > 0, cone.lower < 0]).astype(np.int64)
    costs = cone.cost_exact.fractions()
    return replace(
        cone, columns=tuple(f"{sign}{name}" for sign in "+-" for name in cone.columns), rows=(*cone.rows, "_norm"),
        cost_exact=Exact.of(np.array([*costs, *(-c for c in costs)], dtype=object)),
        matrix=matrix, matrix_exact=Exact.of(np.array(exact, dtype=object)),
        row_lower=np.append(cone.row_lower, -np.inf), row_upper=np.append(cone.row_upper, 1.0),
        row_lower_exact=concatenate([cone.row_lower_exact, Exact.scalar(0)]), row_upper_exact=concatenate([cone.row_upper_exact, Exact.scalar(1)]),
        lower=zero.astype(float), upper=one.astype(float), lower_exact=Exact(zero), upper_exact=Exact(one),
        integer=np.zeros(2 * n, bool), decision=np.tile(cone.decision, 2),
    )


def is_ray(problem: Problem, step: Sequence[Fraction]) -> bool:
    """Does `step`, repeated from any point, keep every row and bound and improve the objective?  Whole steps on integer columns."""
    p = problem
    entries, A = p.matrix_exact.fractions(), p.matrix
    activity = [sum((entries[k] * step[A.indices[k]] for k in range(A.indptr[i], A.indptr[i + 1])), start=Fraction(0)) for i in range(p.n_rows)]
    for moves, lower, upper in ((step, p.lower, p.upper), (activity, p.row_lower, p.row_upper)):
        if any((d < 0 and np.isfinite(lo)) or (d > 0 and np.isfinite(hi)) for d, lo, hi in zip(moves, lower, upper, strict=True)):
            return False
    gain = p.objective(step) - p.offset
    whole = all(d.denominator == 1 for d, k in zip(step, p.integer, strict=True) if k)
    return whole and (gain > 0 if p.maximize else gain < 0)


# ---- an optimum


def explained(case: Case, problem: Problem, found: Label) -> Claim | None:
    """Of an LP that differs from the right one in right-hand sides only: the shadow price behind the change of the optimum, with the
    range that it holds for where the change is another.  Said if one row with a shadow price differs."""
    right, duals, best = case.instance.problem, case.label.duals, case.label.objective_exact
    if duals is None or best is None or found.objective_exact is None or not _alike(right, problem):
        return None
    sides = [(right.row_upper_exact if np.isfinite(right.row_upper[i]) else right.row_lower_exact,
              problem.row_upper_exact if np.isfinite(right.row_upper[i]) else problem.row_lower_exact) for i in range(right.n_rows)]
    moved = {i: _entry(b, i) - _entry(a, i) for i, (a, b) in enumerate(sides) if _entry(a, i) != _entry(b, i)}
    priced = [i for i in moved if duals[i]]
    if len(priced) != 1:
        return None
    i = priced[0]
    name, unit, shift, price = right.rows[i], row_unit(case, row_of(case.model, right.rows[i])), moved[i], duals[i]
    change, due = found.objective_exact - best, price * shift
    per = f"{about(price)} {rate(case.unit, unit, case)}".rstrip()
    by = counted(about(abs(shift)), unit, case.instance.scenario)
    only = "" if len(moved) == 1 else ", the only one of the changed constraints with a shadow price,"
    way = "higher" if shift > 0 else "lower"
    values = {"price": price, "shift": shift, "change": change}
    head = f"The fault makes the right-hand side of `{name}`{only} {by} {way}. In the right model its shadow price is {per}"
    if change == due:
        text = f"{head}, and that accounts for the whole difference between the two optima, {case.roughly(abs(change))}."
        return Claim("explained", text, (name,), values)
    reach = price_range(right, case.label, i)
    end = None if reach is None else reach.up if shift > 0 else reach.down
    if end is None or end >= abs(shift):
        return None
    held_ = f"for only {counted(about(end), unit, case.instance.scenario)}" if end else "in the other direction only"
    text = (f"{head}. That rate holds {held_}, so it is not enough to multiply: it would give a difference of {case.roughly(abs(due))}, and the "
            f"optima differ by {case.roughly(abs(change))}.")
    return Claim("explained", text, (name,), values | {"due": due, "reach": end})


def _alike(a: Problem, b: Problem) -> bool:
    """The same but for the right-hand sides."""
    if a.columns != b.columns or a.rows != b.rows or a.maximize != b.maximize or a.offset != b.offset or a.integer.any() or b.integer.any():
        return False
    same = ((a.matrix.indptr, b.matrix.indptr), (a.matrix.indices, b.matrix.indices), (np.isfinite(a.row_lower), np.isfinite(b.row_lower)),
            (np.isfinite(a.row_upper), np.isfinite(b.row_upper)), (a.lower, b.lower), (a.upper, b.upper))
    ranged = np.isfinite(a.row_lower) & np.isfinite(a.row_upper)
    equal = (a.row_lower[ranged] == a.row_upper[ranged]).all() and (b.row_lower[ranged] == b.row_upper[ranged]).all()
    return bool(equal) and all(x.shape == y.shape and (x == y).all() for x, y in same) and all(
        x.fractions() == y.fractions() for x, y in ((a.matrix_exact, b.matrix_exact), (a.cost_exact, b.cost_exact)))


def held(problem: Problem, found: Label, which: str) -> Claim | None:
    """The few inequality constraints of the faulty model that bind in its plan."""
    if found.point is None:
        return None
    here = attained(problem, found.point, binding(problem, found.point))
    if here is None or not here.all or len(here.tight) > _LISTED or len(here.tight) == len(here.all):
        return None
    if not here.tight and problem.integer.any():
        return None  # whole numbers seldom fill a limit: it teaches nothing
    values = {"others": Fraction(len(here.all) - len(here.tight))}
    if not here.tight:
        return Claim("held", f"No inequality constraint of the {which} that involves a nonzero variable is binding in that plan.", (), values)
    names = listing([f"`{n}`" for n in here.tight])
    verb = "is" if len(here.tight) == 1 else "are"
    return Claim("held", f"Of the inequality constraints of the {which} that involve a nonzero variable, only {names} {verb} binding in that plan.",
                 tuple(here.tight), values)


def shared(case: Case, problem: Problem) -> Claim | None:
    """That the right plan is optimal in a faulty model of the same optimum too."""
    point = case.label.point
    if point is None or problem.violations(point) or problem.objective(point) != case.label.objective_exact:
        return None
    return Claim("shared", "The plan that is really optimal is an optimal plan of the faulty model too, so a solver may report either of them.")


def ties(wrong: Case, problem: Problem, found: Label, variant: int, which: str) -> Claim | None:
    """Whether a solver may report another plan of the faulty model at the same value."""
    verdict = unique(problem, found, _TIES)
    if verdict == "unique":
        texts = (f"The {which} has no other optimal plan, so every correct solver reports this one.",
                 f"That plan is the only optimal one of the {which}: another solver would not have given a different one.")
        return Claim("only", texts[pick(variant, "only", len(texts))])
    other = another(wrong) if verdict == "not unique" else None
    if other is None:
        return None
    moved = moved_columns(wrong, other)
    point = wrong.label.point or ()
    values = {f"{key}{k}": side[j] for k, j in enumerate(moved.shown) for key, side in (("new", other), ("old", point))}
    text = (f"{upper_first(f'the {which}')} has other plans of the same value, for example with {change_text(wrong, other)}; "
            f"so the plan that a solver reports may vary, but not its value.")
    return Claim("ties", text, tuple(problem.columns[j] for j in moved.shown), values | {"further": Fraction(moved.more)})


def _entry(exact: Exact, i: int) -> Fraction:
    return Fraction(int(exact.num[i]), exact.den)
