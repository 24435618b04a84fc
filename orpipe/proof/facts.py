"""What the dataset says about each labelled instance beyond its outcome: kind of proof, uniqueness, binding rows, duals."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from orpipe.exact import decimal_text
from orpipe.problem import Problem
from orpipe.proof.certificate import Certificate, Kind
from orpipe.proof.iis import iis
from orpipe.proof.prove import Refuted, prove
from orpipe.proof.unique import Verdict, reduced_costs, unique
from orpipe.solve import Label


@dataclass(frozen=True)
class Facts:
    """certificate: exact (a certificate that the checker accepted), exact-point+agreement (an exact point, its bound by two
    solvers), agreement (two solvers).  unique, binding: None unless optimal.  duals: JSON, None unless an LP's optimum.  iis:
    JSON, None unless infeasible (and where no irreducible set was proved)."""

    certificate: Kind
    unique: Verdict | None
    binding: str | None
    duals: str | None
    iis: str | None = None


def facts(problem: Problem, label: Label, nodes: int, seconds: float = math.inf) -> Facts | Refuted:
    """Everything within `nodes` nodes a proof, a third of that for uniqueness; 0 proves nothing beyond what needs no search.
    Refuted if the proof found that the label is wrong."""
    found = prove(problem, label, seconds, nodes)
    if isinstance(found, Refuted):
        return found
    exact = isinstance(found, Certificate)
    if label.status != "optimal" or label.point is None:
        return Facts("exact" if exact else "agreement", None, None, None, iis(problem) if label.status == "infeasible" else None)
    kind: Kind = "exact" if exact else "exact-point+agreement"
    verdict = unique(problem, label, nodes // 3)
    return Facts(kind, verdict, json.dumps(binding(problem, label.point), ensure_ascii=False), _duals(problem, label))


def binding(problem: Problem, point: Sequence[Fraction]) -> list[str]:
    """Names of the inequality rows without slack at an exact point; equality rows always bind and are not listed."""
    p = problem
    entries, starts, indices = p.matrix_exact.fractions(), p.matrix.indptr, p.matrix.indices
    low, high = p.row_lower_exact.fractions(), p.row_upper_exact.fractions()
    found = []
    for i, name in enumerate(p.rows):
        has_low, has_high = bool(np.isfinite(p.row_lower[i])), bool(np.isfinite(p.row_upper[i]))
        if has_low and has_high and low[i] == high[i]:
            continue
        activity = sum((entries[k] * point[indices[k]] for k in range(starts[i], starts[i + 1])), start=Fraction(0))
        if (has_low and activity == low[i]) or (has_high and activity == high[i]):
            found.append(name)
    return found


def _duals(problem: Problem, label: Label) -> str | None:
    """{"rows": {name: dual}, "columns": {name: reduced cost}}, nonzero entries, whole numbers or exact text."""
    if label.duals is None:
        return None
    reduced = reduced_costs(problem, label.duals)
    parts = {"rows": zip(problem.rows, label.duals, strict=True), "columns": zip(problem.columns, reduced, strict=True)}
    return json.dumps({part: {name: _number(v) for name, v in pairs if v} for part, pairs in parts.items()}, ensure_ascii=False)


def _number(value: Fraction) -> int | str:
    return int(value) if value.denominator == 1 else decimal_text(value) or str(value)
