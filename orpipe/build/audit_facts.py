"""Auditing the columns certificate, unique, binding, duals and iis: each derived again from the row alone.

The label's exact point, objective and duals are read from the row; proofs are made anew and replayed by the checker.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from orpipe.exact import fraction
from orpipe.problem import Problem
from orpipe.proof import Certificate, Refuted, binding, prove, unique
from orpipe.proof.iis import fault as not_irreducible
from orpipe.proof.iis import named
from orpipe.proof.unique import reduced_costs
from orpipe.solve import Label

Found = tuple[str, str | None, bool]  # name of the check, what is wrong, whether that is only not known


def fact_checks(row: Mapping[str, Any], problem: Problem, point: Sequence[Fraction] | None, nodes: int) -> Iterator[Found]:
    """problem: what the data ground to, under the names of the MPS.  point: the row's solution, None unless optimal and exactly
    feasible at the stated objective.  nodes bounds each proof."""
    status: Literal["optimal", "infeasible"] = row["status"]
    optimal = status == "optimal"
    absent = [c for c in ("unique", "binding") if (row[c] is not None) is not optimal]
    absent += [c for c, may in (("duals", optimal and problem.kind == "LP"), ("iis", not optimal)) if row[c] is not None and not may]
    yield "facts fit the status", f"{', '.join(absent)} of an instance that is {status}" if absent else None, False
    if optimal and point is None:
        return  # told by the check of the solution
    duals = None
    if row["duals"] is not None:
        duals = stated_duals(problem, json.loads(row["duals"]))
        yield "duals", _dual_fault(problem, json.loads(row["duals"]), duals, point or ()), False
    exact = None if point is None else problem.objective(point)
    label = Label(status, None if exact is None else float(exact), exact, None if point is None else tuple(point), "agreement", (), duals=duals)
    yield ("certificate", *_certificate(row["certificate"], problem, label, nodes))
    if optimal:
        wanted = binding(problem, label.point or ())
        yield "binding", None if json.loads(row["binding"]) == wanted else f"{row['binding']}, the solution has {json.dumps(wanted)}", False
        yield ("unique", *_unique(row["unique"], problem, label, nodes))
    elif row["iis"] is not None:
        try:
            missing = not_irreducible(problem, named(problem, json.loads(row["iis"])))
        except KeyError as name:
            missing = f"names {name}, which the problem lacks"
        yield "iis", missing, False


def _certificate(stated: str, problem: Problem, label: Label, nodes: int) -> tuple[str | None, bool]:
    weaker = "exact-point+agreement" if label.status == "optimal" else "agreement"
    if stated not in ("exact", weaker):
        return f"'{stated}' for an instance that is {label.status}", False
    found = prove(problem, label, float("inf"), nodes)
    if isinstance(found, Refuted):
        return f"the label is wrong: {found.reason}", False
    if stated == "exact" and not isinstance(found, Certificate):
        return f"no certificate within {nodes} nodes ({found.reason})", True
    return None, False


def _unique(stated: str, problem: Problem, label: Label, nodes: int) -> tuple[str | None, bool]:
    found = unique(problem, label, nodes // 3)
    if found == stated or stated == "unknown":
        return None, False
    return f"'{stated}', and it is {found}", found == "unknown"


def stated_duals(problem: Problem, stated: Mapping[str, Mapping[str, Any]]) -> tuple[Fraction, ...]:
    """The row duals of the column `duals`, in the order of the rows."""
    index = {name: i for i, name in enumerate(problem.rows)}
    found = [Fraction(0)] * problem.n_rows
    for name, value in stated["rows"].items():
        found[index[name]] = fraction(value)
    return tuple(found)


def _dual_fault(problem: Problem, stated: Mapping[str, Mapping[str, Any]], duals: Sequence[Fraction], point: Sequence[Fraction]) -> str | None:
    """Reduced costs follow from the row duals, and every price stands on a side that the point attains: an optimal dual solution."""
    p = problem
    reduced = reduced_costs(p, duals)
    wanted = {name: v for name, v in zip(p.columns, reduced, strict=True) if v}
    if {name: fraction(v) for name, v in stated["columns"].items()} != wanted:
        return "the reduced costs are not what the row duals leave of the costs"
    sign = -1 if p.maximize else 1
    entries = p.matrix_exact.fractions()
    activity = [sum((entries[k] * point[p.matrix.indices[k]] for k in range(p.matrix.indptr[i], p.matrix.indptr[i + 1])), start=Fraction(0))
                for i in range(p.n_rows)]
    for names, prices, values, sides in (
        (p.rows, duals, activity, ((p.row_lower, p.row_lower_exact), (p.row_upper, p.row_upper_exact))),
        (p.columns, reduced, list(point), ((p.lower, p.lower_exact), (p.upper, p.upper_exact))),
    ):
        bounds = [(floats, exact.fractions()) for floats, exact in sides]
        for k, price in enumerate(prices):
            floats, exact = bounds[0 if sign * price > 0 else 1]
            if price and not (np.isfinite(floats[k]) and exact[k] == values[k]):
                return f"the price of '{names[k]}' stands on a side that the solution does not attain"
    return None
