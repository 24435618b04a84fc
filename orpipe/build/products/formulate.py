"""formulate: problem text -> algebra, as plain text that parses back or as LaTeX."""

from __future__ import annotations

from orpipe.build.case import Case, Product, ask, describe, file_blocks, say
from orpipe.build.plan import Order
from orpipe.build.products import product

SUBTASKS = ("algebra", "latex")


@product("formulate")
def formulate(case: Case, order: Order) -> Product:
    asked = ask(case.instance, order)
    subtask = SUBTASKS[order.variant // 6 % 2]
    prompt = say("sft/formulate", "ask", order.variant, problem=asked.text, files=file_blocks(asked.files), form=subtask)
    answer = say("sft/formulate", f"answer_{subtask}", order.variant, **describe(case))
    return Product("formulate", subtask, order, case.instance.id, case.label.status, case.label.objective_exact,
                   messages=(("user", prompt), ("assistant", answer)), files=asked.files,
                   metadata={"register": asked.register, "scenario": case.instance.scenario.id})
