"""What-if studies: one datum of an instance moved in steps, each variant labelled.  Every figure of the table is a proved optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from orpipe.algebra.nodes import ParamDecl
from orpipe.build.case import Case, pick
from orpipe.build.phrases import counted, named
from orpipe.data import validate, with_entry
from orpipe.errors import DataError
from orpipe.exact import decimal_text, fraction
from orpipe.families.draw import tidy
from orpipe.render.tables import lookup, tuples_of
from orpipe.render.words import figure, listing
from orpipe.solve import Label, label

_FACTORS = (Fraction(7, 10), Fraction(17, 20), Fraction(1), Fraction(23, 20), Fraction(13, 10))
_NODES = 20_000
_TRIES = 6


@dataclass(frozen=True, eq=False)
class Step:
    """One value of the datum and its label; same: the base plan is still feasible and optimal."""

    value: Any
    label: Label
    same: bool


@dataclass(frozen=True, eq=False)
class Study:
    param: ParamDecl
    entry: tuple
    base: int  # position of the unchanged value in steps
    steps: tuple[Step, ...]


def study(case: Case, variant: int) -> Study | None:
    """A datum whose moves change the optimum, or None if none tried does."""
    for count, (param, entry) in enumerate(_entries(case, variant)):
        if count == _TRIES:
            return None
        steps = _steps(case, param, entry)
        if steps and len({(s.label.status, s.label.objective_exact) for s in steps}) > 1:
            return Study(param, entry, next(k for k, s in enumerate(steps) if s.value == _value(case, param, entry)), steps)
    return None


def _value(case: Case, param: ParamDecl, entry: tuple) -> Any:
    return lookup(case.instance.data[param.symbol], entry) if entry else case.instance.data[param.symbol]


def _entries(case: Case, variant: int) -> Iterator[tuple[ParamDecl, tuple]]:
    """Positive data, in an order drawn by `variant`."""
    arrays = validate(case.model, case.instance.data)
    params = list(case.model.params)
    turn = pick(variant, "what-if", len(params)) if params else 0
    for param in params[turn:] + params[:turn]:
        keys = tuples_of(case.model, arrays, param.indices, param.domain) if param.indices else [()]
        entry = keys[pick(variant, param.symbol, len(keys))]
        if fraction(_value(case, param, entry)) > 0:
            yield param, entry


def _steps(case: Case, param: ParamDecl, entry: tuple) -> tuple[Step, ...]:
    """() unless every variant has a label and all values differ."""
    exact = fraction(_value(case, param, entry))
    digits = 0 if param.integer else len((decimal_text(exact) or "").partition(".")[2])
    values = [tidy(exact * f, digits) for f in _FACTORS]
    if len(set(values)) < len(values) or (param.sign == "positive" and min(values) <= 0):
        return ()
    steps = []
    for value in values:
        instance = replace(case.instance, data=with_entry(case.instance.data, param.symbol, entry, value))
        try:
            problem = instance.problem
        except DataError:
            return ()
        found = label(problem, nodes=_NODES)
        if not isinstance(found, Label) or found.status not in ("optimal", "infeasible"):
            return ()
        point = case.label.point
        kept = point is not None and problem.n_vars == len(point) and not problem.violations(point)
        same = kept and point is not None and problem.objective(point) == found.objective_exact
        steps.append(Step(value, found, same))
    return tuple(steps)


def told(case: Case, found: Study) -> dict[str, Any]:
    """The study in words: entry, unit, base value, table rows, and sentences about them."""
    def measured(value: Any) -> str:
        return counted(figure(value), found.param.unit, case.instance.scenario)

    base = found.steps[found.base]
    assert base.label.objective_exact is not None
    rows = []
    for step in found.steps:
        value = step.label.objective_exact
        change = None if value is None or step is base else value - base.label.objective_exact
        moved = "" if change is None else "none" if not change else f"{'+' if change > 0 else '-'}{case.roughly(abs(change))}"
        rows.append({"value": measured(step.value), "optimum": "no feasible plan" if value is None else case.worth(value),
                     "change": "" if value is None else "base case" if step is base else moved, "same": "yes" if step.same else "no"})
    return {"entry": named(case.model, found.param.meaning, found.param.indices, found.entry, found.param.domain), "was": measured(base.value),
            "study_rows": rows, "remarks": list(_remarks(case, found, measured))}


def _remarks(case: Case, found: Study, measured: Any) -> Iterator[str]:
    base, steps = found.steps[found.base], found.steps
    lost = [s for s in steps if s.label.objective_exact is None]
    if lost:
        yield f"With {listing([measured(s.value) for s in lost], ' or ')} no plan satisfies every rule."
    kept = [s for s in steps if s.same and s is not base]
    if kept:
        yield (f"The plan of the base case stays optimal with {listing([measured(s.value) for s in kept])}"
               f"{'' if len(kept) + len(lost) == len(steps) - 1 else ', but not in the other cases'}.")
    elif len(lost) < len(steps) - 1:
        yield "In none of the other cases is the plan of the base case still optimal."
    values = [(s, s.label.objective_exact) for s in steps if s.label.objective_exact is not None]
    gaps = [(a, b, abs(y - x)) for (a, x), (b, y) in pairwise(values)]
    flat = [(a, b) for a, b, gap in gaps if not gap]
    if flat and len(flat) < len(gaps):
        a, b = flat[0]
        yield f"Going from {measured(a.value)} to {measured(b.value)} changes nothing in the optimal value."
    if len({gap for _, _, gap in gaps}) > 1:
        a, b, gap = max(gaps, key=lambda g: g[2])
        yield f"The largest difference between neighbouring cases, {case.roughly(gap)}, lies between {measured(a.value)} and {measured(b.value)}."
