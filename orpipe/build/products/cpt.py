"""CPT documents, each about one verified instance: worked examples, modelling rationales, code walkthroughs, studies of one
mistake, and what-if studies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orpipe.algebra.text import row_label, row_text
from orpipe.build import whatif
from orpipe.build.case import Case, Product, Program, ask, describe, file_blocks, say
from orpipe.build.insights import insights
from orpipe.build.plan import Order
from orpipe.build.products import product
from orpipe.build.products.diagnose import Faulty, faulty, piece_text, told
from orpipe.build.products.implement import STYLES
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit, emit_parts
from orpipe.render.words import listing
from orpipe.solve import Label, label

DOC_TYPES = ("worked-example", "modelling-rationale", "code-walkthrough", "mistake-study", "what-if-study")
_WITH_PROGRAM = ("worked-example", "code-walkthrough")


@product("cpt")
def cpt(case: Case, order: Order) -> Product:
    kind = DOC_TYPES[order.variant % len(DOC_TYPES)]
    asked = ask(case.instance, order)
    faults = some_faults(case, order, {"modelling-rationale": 2, "mistake-study": 1}.get(kind, 0))
    moved = whatif.study(case, order.variant) if kind == "what-if-study" else None
    # a mistake or a datum that changes the outcome is not to be had everywhere: a worked example takes the place
    if (kind == "mistake-study" and not faults) or (kind == "what-if-study" and moved is None):
        kind = "worked-example"
    context = describe(case) | about(case) | {
        "problem": asked.text, "files": file_blocks(asked.files), "optimum": case.optimum, "value": case.value, "story": case.story,
        "insights": insights(case, order.variant, without=("relaxation",) if kind == "modelling-rationale" else ()),
    }
    programs: tuple[Program, ...] = ()
    if kind in _WITH_PROGRAM:
        style = STYLES[order.variant // 3 % 2] if kind == "worked-example" else "script"
        program = emit(case.model, case.instance.data, order.dialect, source=asked.source, style=style).rstrip()
        programs = (case.program(program, asked.files),)
        context |= {"program": program, "library": dialects()[order.dialect].title,
                    "parts": emit_parts(case.model, case.instance.data, order.dialect, source=asked.source)}
    elif kind == "modelling-rationale":
        context |= {"idioms": idioms(case), "pitfalls": [mistake(case, f) for f in faults], "relaxed": relaxed(case)}
    elif kind == "mistake-study":
        context |= mistake(case, faults[0])
    elif moved is not None:
        context |= whatif.told(case, moved)
    text = say("cpt", kind, order.variant, **context)
    return Product("cpt", kind, order, case.instance.id, case.label.status, case.label.objective_exact, text=text, files=asked.files,
                   programs=programs)


def about(case: Case) -> dict[str, Any]:
    """Title, setting and source."""
    family, scenario = case.instance.family, case.instance.scenario
    title = family.heading()
    return {
        "title": title, "problem_title": title if title.endswith("problem") else f"{title} problem", "summary": family.summary(),
        "source": family.source(), "client": scenario.words.get("org", scenario.id.replace("_", " ")),
    }


def some_faults(case: Case, order: Order, count: int) -> list[Faulty]:
    """Mis-modellings that change the outcome here, of different operators."""
    found: dict[str, Faulty] = {}
    if count:
        for fault in faulty(case, order):
            found.setdefault(fault.mutant.operator.id, fault)
            if len(found) == count:
                break
    return list(found.values())


def mistake(case: Case, fault: Faulty) -> dict[str, Any]:
    """A mis-modelling as a story: how it comes about, what it does here, in plain text and in LaTeX."""
    part, operator = fault.mutant.part, fault.mutant.operator
    return told(case, fault) | {
        "mistake": operator.title, "lesson": operator.explanation, "tex": told(case, fault, tex=True),
        "before": None if part.before is None else piece_text(part.before), "after": None if part.after is None else piece_text(part.after),
    }


def idioms(case: Case) -> list[dict[str, Any]]:
    """The logical rules of the model, what each is, and the linear rows that it became."""
    return [{"because": d.because, "kind": _IDIOMS.get(d.kind, d.kind.replace("_", " ")),
             "rows": listing([f"`{row_label(r)}: {row_text(r)}`" for r in case.model.rows if r.origin == d.name])}
            for d in case.instance.model.idioms]


_IDIOMS = {
    "fixed_charge": "a link between an amount and a yes-or-no choice", "implication": "an implication",
    "disjunction": "an either-or between two inequalities", "maximum": "a largest value", "minimum": "a smallest value",
    "absolute": "an absolute value", "piecewise": "a function in pieces", "semicontinuous": "a minimum lot: nothing, or at least so much",
}


def relaxed(case: Case) -> dict[str, Any] | None:
    """The exact optimum of the linear relaxation, for mixed-integer instances, and whether it is the optimum itself."""
    problem = case.instance.problem
    if not problem.integer.any():
        return None
    found = label(replace(problem, integer=np.zeros(problem.n_vars, bool)))
    if not isinstance(found, Label) or found.objective_exact is None or case.label.objective_exact is None:
        return None
    return {"value": case.worth(found.objective_exact), "tight": found.objective_exact == case.label.objective_exact,
            "gap": case.roughly(abs(found.objective_exact - case.label.objective_exact)), "bound": "upper" if problem.maximize else "lower"}
