"""The parts of the documentation that are made, not written: docs/cli.md and the example in README.md.

    python -m orpipe.testing.docs            writes them
    python -m orpipe.testing.docs --check    exit 1 if they are not what would be written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from orpipe import console
from orpipe.algebra.text import model_text
from orpipe.build.case import Case
from orpipe.cli import app as orpipe_app
from orpipe.errors import UsageError
from orpipe.instances import draw
from orpipe.render.emit import emit_parts
from orpipe.render.nl import render_problem
from orpipe.solve import Label, label
from orpipe.testing.bench import app as bench_app
from orpipe.testing.bench_solvers import app as solvers_app
from orpipe.testing.bench_verify import app as bench_verify_app
from orpipe.testing.command import checkout
from orpipe.testing.new_family import app as new_family_app
from orpipe.testing.solver_coverage import app as coverage_app

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

EXAMPLE = "facility_location_capacitated", 1, 0, 27  # family, level, seed, index
START, END = "<!-- example: rewritten by `python -m orpipe.testing.docs` -->", "<!-- /example -->"
_CLI_HEAD = """# Commands

Made from the help texts by `python -m orpipe.testing.docs`; `tests/test_docs.py` compares.

Data go to stdout, logs and progress to stderr. Exit codes: 0 ok, 1 checks failed or fewer rows than asked for, 2 misuse, 3 something the
machine lacks, 130 stopped. An error is one line that says the cause and the next step.
"""


def cli_text() -> str:
    """docs/cli.md"""
    parts = [_CLI_HEAD]
    group: Any = get_command(orpipe_app)
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None) or {"": command}  # a group, such as bench
        parts += [_command(c, f"orpipe {name} {n}".rstrip()) for n, c in inner.items()]
    parts.append("# Commands for developers\n\nThey work in a clone, after `make setup`; `make help` lists the targets.\n")
    developers = {"bench": bench_app, "bench_verify": bench_verify_app, "new_family": new_family_app, "docs": app}
    developers = {"bench": bench_app, "bench_solvers": solvers_app, "solver_coverage": coverage_app, "new_family": new_family_app, "docs": app}
    parts += [_command(get_command(a), f"python -m orpipe.testing.{name}") for name, a in developers.items()]
    return "\n".join(parts)


def _command(command: Any, name: str) -> str:
    context = command.context_class(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    rows = [(record[0], _cell(record[1], p.name)) for p in command.params if p.name != "help" and (record := p.get_help_record(context))]
    lines = [f"## {name}", "", f"    {usage}", "", *command.help.splitlines(), ""]
    if rows:
        lines += ["| argument or option | |", "| --- | --- |"]
        lines += [f"| `{head}` | {text} |" for head, text in rows] + [""]
    if command.epilog:
        lines += [command.epilog, ""]
    return "\n".join(lines)


def _cell(text: str, name: str) -> str:
    """Help of one option, its default at the end in brackets; of workers not the number of cores of this machine."""
    words, _, extra = " ".join(text.split()).partition("[default: ") if "[default: " in text else (text.removesuffix("[required]"), "", "")
    default = "one per core" if name == "workers" else extra.removesuffix("]").partition(";")[0].strip("()")
    note = f"default {default}" if default else "required" if text.endswith("[required]") else ""
    return " ".join(f"{words} {f'({note})' if note else ''}".split()).replace("|", "\\|")


def example_block() -> str:
    """The marked block of README.md, markers included: one instance in four representations, all from the pipeline."""
    name, level, seed, index = EXAMPLE
    instance = draw(name, level, seed, index)
    found = label(instance.problem)
    if not isinstance(found, Label):
        raise UsageError(f"the example {instance.id} has no label ({found.reason}); choose another draw in orpipe/testing/docs.py")
    case = Case(instance, found)
    flags = f"{name} --level {level} --seed {seed} --index {index}"
    proof = ", ".join(f"{r.solver} {r.outcome} {r.objective:.10g}" for r in found.results if r.objective is not None)
    text = "\n".join(f"> {line}".rstrip() for line in render_problem(instance, "memo", "text").text.strip().splitlines())
    return "\n".join([
        START, f"`orpipe show {flags}` prints the problem as a planner's memo:", "", text, "",
        "with `--as algebra`", "", "```text", model_text(instance.linear).rstrip(), "```", "",
        "with `--as code --dialect pulp` (the part that builds the model; data stand before it, solving and printing after)", "",
        "```python", emit_parts(instance.linear, instance.data, "pulp").model.rstrip(), "```", "",
        f"Its label is **{case.optimum}** ({proof}; the plan is feasible and has this value in exact arithmetic), and a `solve` example",
        f"says about it: {case.story}",
        END,
    ])


def with_example(text: str, block: str) -> str:
    """README text with its marked block replaced.  UsageError if there is not exactly one."""
    found = re.findall(rf"{re.escape(START)}.*?{re.escape(END)}", text, re.S)
    if len(found) != 1:
        raise UsageError(f"README.md holds {len(found)} blocks between '{START}' and '{END}'; put these two lines where the example belongs")
    return text.replace(found[0], block)


def made() -> Mapping[Path, str]:
    """Every made file with the text it should have."""
    readme = checkout("README.md")
    return {checkout("docs") / "cli.md": cli_text(), readme: with_example(readme.read_text(encoding="utf-8"), example_block())}


@app.command(epilog="Examples: `python -m orpipe.testing.docs` · `python -m orpipe.testing.docs --check`")
def docs(check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file is out of date.")] = False) -> None:
    """Write docs/cli.md from the help texts, and the example of README.md."""
    stale = [path for path, text in made().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            console.say(f"{path.name} is out of date; run 'python -m orpipe.testing.docs'")
        else:
            path.write_text(made()[path], encoding="utf-8")
            console.put(f"wrote {path.name}")
    if check and stale:
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(console.run(app, "orpipe.testing.docs"))
