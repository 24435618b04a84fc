"""implement: algebra and data -> code in a named library; the program is replayed."""

from __future__ import annotations

from orpipe.build.case import Case, Product, attached, describe, file_blocks, file_kind, say
from orpipe.build.plan import Order
from orpipe.build.products import product
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit
from orpipe.render.files import schema_text
from orpipe.render.tables import tables_text

STYLES = ("script", "function")
SUBTASKS = ("from-algebra", "from-latex")


@product("implement")
def implement(case: Case, order: Order) -> Product:
    instance = case.instance
    subtask = SUBTASKS[order.variant // 2 % 2]
    files: dict[str, str] = {}
    if order.interface == "files":
        kind = file_kind(order)
        files = attached(instance, kind)
        data = schema_text(instance.linear, instance.data, kind)  # type: ignore[arg-type]
    elif order.interface == "tables":
        data = tables_text(instance.linear, instance.data)
    else:
        data = f"```text\n{plain_data(case)}\n```"
    style = STYLES[order.variant % 2]
    program = emit(instance.linear, instance.data, order.dialect, source=file_kind(order) if files else "inline", style=style).rstrip()
    prompt = say("sft/implement", "ask", order.variant, data=data, files=file_blocks(files), form=subtask, style=style,
                 library=dialects()[order.dialect].title, **describe(case))
    answer = say("sft/implement", "answer", order.variant, program=program, library=dialects()[order.dialect].title,
                 from_file=bool(files), **describe(case))
    return Product("implement", subtask, order, instance.id, case.label.status, case.label.objective_exact,
                   messages=(("user", prompt), ("assistant", answer)), files=files, programs=(case.program(program, files),),
                   metadata={"style": style, "scenario": instance.scenario.id})


def plain_data(case: Case) -> str:
    """Sets and parameters of the algebra with their values, as lines of text under the model's symbols."""
    from orpipe.ground import validate
    from orpipe.render.tables import lookup, tuples_of
    from orpipe.render.words import figure

    instance, lines = case.instance, []
    arrays = validate(instance.linear, instance.data)
    for s in instance.linear.sets:
        if s.derived:
            continue
        if s.over:
            keys = tuples_of(instance.linear, arrays, s.over, s.symbol)
            items = [str(key[0]) if len(key) == 1 else "(" + ", ".join(map(str, key)) + ")" for key in keys]
        else:
            items = [str(x) for x in arrays.labels[s.symbol]]
        lines.append(f"{s.symbol} = {{{', '.join(items)}}}")
    for p in instance.linear.params:
        if not p.indices:
            lines.append(f"{p.symbol} = {figure(instance.data[p.symbol])}")
            continue
        keys = tuples_of(instance.linear, arrays, p.indices, p.domain)
        entries = [f"{p.symbol}[{','.join(map(str, key))}] = {figure(lookup(instance.data[p.symbol], key))}" for key in keys]
        lines.append(", ".join(entries))
    return "\n".join(lines)
