"""Infeasible variants of an instance: one data entry pushed too far, the rows that then contradict each other, and the
least change of that entry that makes a plan possible again.  Every claim is a labelled solve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from orpipe.algebra.nodes import ParamDecl
from orpipe.build.case import Case
from orpipe.data import validate, with_entry
from orpipe.disagreements import about
from orpipe.errors import DataError
from orpipe.exact import Exact, decimal_text, fraction
from orpipe.exact_lp import elastic, relaxed
from orpipe.families.draw import tidy
from orpipe.instances import Instance
from orpipe.problem import Problem
from orpipe.proof.iis import LARGEST, subset
from orpipe.proof.search import basic
from orpipe.render.tables import lookup, tuples_of
from orpipe.solve import Label, Outcome, confirm, label, settle, solver

_FACTORS = (Fraction(3, 2), Fraction(5, 2), Fraction(1, 2), Fraction(6), Fraction(1, 5), Fraction(20))
TIGHT = "-tight"  # ends the id of a variant
OTHER_FACTORS = (Fraction(7, 4), Fraction(3), Fraction(2, 5), Fraction(8), Fraction(1, 8), Fraction(25))
_NODES = 20_000


@dataclass(frozen=True, eq=False)
class Tightened:
    """instance: the variant, proved infeasible.  entry: labels of the changed datum.  conflict: row names of an irreducible
    set (with bounds and integrality).  least: the nearest value of the entry at which a plan exists, with its label, or None
    where the entry does not stand alone on a right-hand side."""

    instance: Instance
    label: Label
    param: ParamDecl
    entry: tuple
    before: Any
    after: Any
    conflict: tuple[str, ...]
    least: Any | None
    least_label: Label | None


def tighten(case: Case, variant: int, tries: int = 24, factors: Sequence[Fraction] = _FACTORS) -> Tightened | None:
    """A variant that is infeasible by one entry, which is multiplied by one of `factors`, or None if no entry tried does it."""
    for k, (param, entry, value) in enumerate(_candidates(case, variant, factors)):
        if k == tries:
            return None
        before = lookup(case.instance.data[param.symbol], entry) if entry else case.instance.data[param.symbol]
        data = with_entry(case.instance.data, param.symbol, entry, value)
        instance = replace(case.instance, id=case.instance.id + TIGHT, data=data)
        try:
            problem = instance.problem
        except DataError:
            continue
        if settle(solver("highs"), problem, nodes=_NODES).outcome is not Outcome.INFEASIBLE:
            continue
        with about(f"with {param.symbol}{list(entry) or ''} = {value}"):
            proved = label(problem, nodes=_NODES)
        if not isinstance(proved, Label) or proved.status != "infeasible":
            continue
        conflict = irreducible(problem)
        if conflict is None:
            continue
        least, least_label = _least(case, instance, param, entry, before, value)
        return Tightened(instance, proved, param, entry, before, value, conflict, least, least_label)
    return None


def _candidates(case: Case, variant: int, factors: Sequence[Fraction]) -> Iterator[tuple[ParamDecl, tuple, Any]]:
    model, data = case.model, case.instance.data
    arrays = validate(model, data)
    symbols = list(dict.fromkeys(r.tightened_by for r in model.rows if r.tightened_by in model.param_by))
    symbols = symbols[variant % len(symbols):] + symbols[:variant % len(symbols)] if symbols else []
    for factor in factors:
        for symbol in symbols:
            param = model.param_by[symbol]
            keys = tuples_of(model, arrays, param.indices, param.domain) if param.indices else [()]
            entry = keys[variant // 5 % len(keys)]
            value = lookup(data[symbol], entry) if entry else data[symbol]
            exact = fraction(value)
            digits = len((decimal_text(exact) or "").partition(".")[2])
            moved = tidy(exact * factor, digits)
            if exact > 0 and fraction(moved) != exact and not (param.sign == "positive" and moved <= 0):
                yield param, entry, moved


def irreducible(problem: Problem, quick: bool = False) -> tuple[str, ...] | None:
    """Row names that cannot hold together (with bounds and integrality), none of which can be left out; certified by
    a label: the set is infeasible; and by exact points of each set with one row less.  None if a limit got in the way, or if the set is
    too large to be told.  quick: None also where only integrality excludes all plans, which takes long to show."""
    keep = _farkas(problem)
    if not keep and quick:
        return None
    keep = keep or list(range(problem.n_rows))
    blank = replace(problem, cost_exact=Exact(np.zeros(problem.n_vars, np.int64)), offset=Fraction(0))
    step = max(1, len(keep) // 4)
    while step:
        k = 0
        while k < len(keep):
            rest = keep[:k] + keep[k + step:]
            outcome = settle(solver("highs"), subset(blank, rest), nodes=_NODES).outcome
            if outcome is Outcome.INFEASIBLE:
                keep = rest
            elif outcome is Outcome.OPTIMAL:
                k += step
            else:
                return None
        step //= 2
    if len(keep) > LARGEST:
        return None
    proved = label(subset(blank, keep), nodes=_NODES)
    if not isinstance(proved, Label) or proved.status != "infeasible" or not keep:
        return None
    for k in range(len(keep)):
        less = subset(blank, keep[:k] + keep[k + 1:])
        claim = settle(solver("highs"), less, nodes=_NODES)
        point = confirm(less, (claim, claim), (claim,)) if claim.outcome is Outcome.OPTIMAL else None
        if not isinstance(point, Label) or point.point is None or less.violations(point.point):
            return None
    return tuple(problem.rows[i] for i in keep)


def _farkas(problem: Problem) -> list[int]:
    """Rows with a multiplier in a proof that the relaxation is infeasible, which makes the search short; [] if there is none."""
    found = basic(elastic(relaxed(problem)))
    return [i for i, y in enumerate(found.duals) if y] if found is not None and found.objective else []


def _least(case: Case, tight: Instance, param: ParamDecl, entry: tuple, before: Any, after: Any) -> tuple[Any | None, Label | None]:
    """Minimal move of the entry back towards its old value: one extra column t in [0, 1] on the sides that it moves."""
    old, new = case.instance.problem, tight.problem
    same = (old.matrix.shape == new.matrix.shape and (old.matrix.indices == new.matrix.indices).all() and (old.matrix.data == new.matrix.data).all()
            and (old.lower == new.lower).all() and (old.upper == new.upper).all())
    if not same:
        return None, None
    shift = [Fraction(int(a), old.row_upper_exact.den) - Fraction(int(b), new.row_upper_exact.den)
             for a, b in zip(old.row_upper_exact.num, new.row_upper_exact.num, strict=True)]
    A = sp.csr_array(new.matrix)
    column = sp.csr_array(np.array([[-float(s)] for s in shift]))
    stretched = Problem.from_arrays(
        cost=np.concatenate([np.zeros(new.n_vars), [1.0]]), matrix=sp.hstack([A, column], format="csr"),
        row_lower=new.row_lower, row_upper=new.row_upper, lower=np.append(new.lower, 0.0), upper=np.append(new.upper, 1.0),
        integer=np.append(new.integer, False),
    )
    found = label(stretched, nodes=_NODES)
    if not isinstance(found, Label) or found.objective_exact is None:
        return None, None
    value = fraction(after) + found.objective_exact * (fraction(before) - fraction(after))
    text = decimal_text(value)
    if text is None or (param.integer and value.denominator != 1) or len(text) > 12:
        return None, None
    least = int(text) if value.denominator == 1 else float(text)
    repaired = replace(tight, data=with_entry(tight.data, param.symbol, entry, least))
    proved = label(repaired.problem, nodes=_NODES)
    return (least, proved) if isinstance(proved, Label) and proved.status == "optimal" else (None, None)
