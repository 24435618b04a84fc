"""What an infeasible instance is told by: the rows that contradict each other, why, and what the entry at fault would have to be."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.text import row_label, row_text
from orpipe.build.case import Case
from orpipe.build.evidence import why_not
from orpipe.build.infeasible import Tightened
from orpipe.build.phrases import counted, named
from orpipe.render.words import figure


def clash(case: Case, tight: Tightened) -> dict[str, Any]:
    """For templates.  case: the instance before one of its entries was changed."""
    def measured(value: Any) -> str:
        return counted(figure(value), tight.param.unit, case.instance.scenario)

    families: dict[str, list[str]] = {}
    for name in tight.conflict:
        families.setdefault(name.partition("[")[0], []).append(name)
    rows = [{"name": f, "rows": names, "label": row_label(case.model.row_by[f]), "text": row_text(case.model.row_by[f]),
             "because": case.model.row_by[f].because} for f, names in families.items()]
    reason, best = why_not(case, tight.instance.problem, tight.conflict), None if tight.least_label is None else tight.least_label.objective_exact
    return {
        "entry": named(case.model, tight.param.meaning, tight.param.indices, tight.entry, tight.param.domain),
        "given": measured(tight.after), "was": measured(tight.before), "conflict": rows, "n_conflict": len(tight.conflict),
        "least": None if tight.least in (None, tight.before) else measured(tight.least),
        "limit": None if tight.least is None else measured(tight.least),
        "least_optimum": None if best is None else case.worth(best), "raised": tight.after > tight.before,
        "optimum": case.optimum, "value": case.value, "sum": reason, "claims": [reason] if reason else [],
    }


def clash_record(tight: Tightened) -> dict[str, Any]:
    """For the column metadata."""
    return {"conflict": list(tight.conflict), "entry": [tight.param.symbol, *map(str, tight.entry)],
            "least": None if tight.least is None else figure(tight.least)}
