"""solve: problem text -> short reasoning, model, code, verified optimum and what it means."""

from __future__ import annotations

from orpipe.build.case import Asked, Case, Product, ask, describe, file_blocks, say
from orpipe.build.claims import records
from orpipe.build.insights import insights
from orpipe.build.plan import Order
from orpipe.build.products import product
from orpipe.build.products.implement import STYLES
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit


@product("solve")
def solve(case: Case, order: Order) -> Product:
    return solved(case, order, ask(case.instance, order))


def solved(case: Case, order: Order, asked: Asked) -> Product:
    """asked: the problem text; the case may hold another model than the one that was asked for (a rejected answer)."""
    instance = case.instance
    style = STYLES[order.variant % 2]
    program = emit(instance.linear, instance.data, order.dialect, source=asked.source, style=style).rstrip()
    context = describe(case) | {
        "problem": asked.text, "files": file_blocks(asked.files), "program": program, "library": dialects()[order.dialect].title,
        "optimum": case.optimum, "value": case.value, "story": case.story, "insights": insights(case, order.variant),
    }
    claims = records(context["insights"])
    prompt = say("sft/solve", "ask", order.variant, **context)
    answer = say("sft/solve", "answer", order.variant, **context)
    return Product("solve", "optimum", order, instance.id, case.label.status, case.label.objective_exact,
                   messages=(("user", prompt), ("assistant", answer)), files=asked.files,
                   programs=(case.program(program, asked.files),),
                   metadata={"register": asked.register, "style": style, "scenario": instance.scenario.id, **({"claims": claims} if claims else {})})
