"""solve: problem text -> short reasoning, model, code, verified optimum and what it means; or, of some, that there is no plan and why."""

from __future__ import annotations

from dataclasses import replace

from orpipe.build.case import Asked, Case, Product, Program, ask, describe, file_blocks, pick, say
from orpipe.build.claims import records
from orpipe.build.clash import clash, clash_record
from orpipe.build.infeasible import OTHER_FACTORS, Tightened, tighten
from orpipe.build.insights import insights
from orpipe.build.plan import Order
from orpipe.build.products import product
from orpipe.build.products.implement import STYLES
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit

SUBTASKS = ("optimum", "infeasible")
_WITHOUT_PLAN = 12  # of so many texts one has no plan, where the family allows it


@product("solve")
def solve(case: Case, order: Order) -> Product:
    # `diagnose` may make a variant of the same case: other factors, so that no two instances have the same data
    if not pick(order.variant, "no plan", _WITHOUT_PLAN) and (tight := tighten(case, order.variant, 12, OTHER_FACTORS)) is not None:
        return impossible(case, order, tight)
    return solved(case, order, ask(case.instance, order))


def impossible(case: Case, order: Order, tight: Tightened) -> Product:
    """A problem that has no plan, which its text does not say: the program ends with that status, and the answer with the conflict."""
    instance = replace(tight.instance, id=f"{case.instance.id}-solve-tight")
    asked, style = ask(instance, order), STYLES[order.variant % 2]
    program = emit(instance.linear, instance.data, order.dialect, source=asked.source, style=style).rstrip()
    context = describe(case) | clash(case, tight) | {
        "problem": asked.text, "files": file_blocks(asked.files), "program": program, "library": dialects()[order.dialect].title,
    }
    claims = records(context["claims"])
    prompt = say("sft/solve", "ask", order.variant, **context)
    answer = say("sft/solve", "none", order.variant, **context)
    return Product("solve", "infeasible", order, instance.id, "infeasible", None, messages=(("user", prompt), ("assistant", answer)),
                   files=asked.files, programs=(Program(program, instance.problem, "infeasible", None, asked.files),),
                   metadata={"register": asked.register, "style": style, "scenario": instance.scenario.id, **clash_record(tight),
                             **({"claims": claims} if claims else {})},
                   extra_instances=((instance, tight.label),))


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
