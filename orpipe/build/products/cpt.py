"""CPT documents: worked examples, modelling rationales and code walkthroughs, each about one verified instance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orpipe.algebra.idioms import reformulations
from orpipe.build.case import Case, Product, ask, describe, file_blocks, say, stated_value
from orpipe.build.insights import insights
from orpipe.build.plan import Order
from orpipe.build.products import product
from orpipe.build.products.diagnose import faulty
from orpipe.build.products.implement import STYLES
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit, emit_parts
from orpipe.solve import Label, label

DOC_TYPES = ("worked-example", "modelling-rationale", "code-walkthrough")


@product("cpt")
def cpt(case: Case, order: Order) -> Product:
    kind = DOC_TYPES[order.variant % len(DOC_TYPES)]
    asked = ask(case.instance, order)
    style = STYLES[order.variant // 3 % 2] if kind == "worked-example" else "script"
    program = emit(case.model, case.instance.data, order.dialect, source=asked.source, style=style).rstrip()
    context = describe(case) | {
        "problem": asked.text, "files": file_blocks(asked.files), "program": program, "library": dialects()[order.dialect].title,
        "parts": emit_parts(case.model, case.instance.data, order.dialect, source=asked.source),
        "optimum": case.optimum, "story": case.story, "insights": insights(case, order.variant),
        "title": case.instance.family.heading(), "scenario": case.instance.scenario.id.replace("-", " ").replace("_", " "),
        "summary": case.instance.family.summary(), "source": case.instance.family.source(),
        "idioms": [{"name": d.name, "kind": d.kind.replace("_", " "), "because": d.because,
                    "choices": [r.replace("_", " ") for r in reformulations(d.kind)]} for d in case.instance.model.idioms],
        "pitfalls": pitfalls(case, order) if kind == "modelling-rationale" else [],
        "relaxed": relaxed(case) if kind == "modelling-rationale" else None,
    }
    text = say("cpt", kind, order.variant // 6, **context)
    programs = (case.program(program, asked.files),) if kind != "modelling-rationale" else ()
    return Product("cpt", kind, order, case.instance.id, case.label.status, case.label.objective_exact, text=text, files=asked.files,
                   programs=programs)


def pitfalls(case: Case, order: Order) -> list[dict[str, str]]:
    """Two mis-modellings that change the outcome here, each with what it would report."""
    told = []
    seen = set()
    for fault in faulty(case, order):
        if fault.mutant.operator.id in seen:
            continue
        seen.add(fault.mutant.operator.id)
        account = fault.mutant.account(case.model)
        told.append({"title": fault.mutant.operator.title, "fault": account.fault, "why": account.why, "report": fault.report(case)})
        if len(told) == 2:
            break
    return told


def relaxed(case: Case) -> str | None:
    """The exact optimum of the linear relaxation, for mixed-integer instances."""
    problem = case.instance.problem
    if not problem.integer.any():
        return None
    found = label(replace(problem, integer=np.zeros(problem.n_vars, bool)))
    if not isinstance(found, Label) or found.objective_exact is None:
        return None
    return stated_value(found.objective_exact, case.unit)
