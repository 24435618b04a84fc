"""How many programs with their data inside can be run on other data?  Our own inline programs, by family, in every dialect and style.

    python -m orpipe.testing.bench_rebind --draws 3

re-bound: literals were matched and at least one other data set passes the model's checks.  parameters: share of the parameters that
the literals of a re-bound program were matched with.  as written anew: the re-bound program is, as a syntax tree, the one that is
written for the other data.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated

import typer

from orpipe.console import put_json, put_table, run, say
from orpipe.families import Family, families
from orpipe.instances import draw, stream
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit
from orpipe.verify.rebind import bind

STYLES = ("script", "function")
HEADER = ["family", "programs", "re-bound", "parameters", "as written anew"]
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@dataclass
class Bound:
    """Counts of one family; bound and params: parameters matched and there, of the programs that were re-bound."""

    name: str
    programs: int = 0
    rebound: int = 0
    bound: int = 0
    params: int = 0
    anew: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def row(self) -> list[object]:
        return [self.name, self.programs, _share(self.rebound, self.programs), _share(self.bound, self.params), _share(self.anew, self.rebound)]

    def add(self, other: Bound) -> None:
        for name in ("programs", "rebound", "bound", "params", "anew"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def _share(some: int, of: int) -> str:
    return f"{some / of:.1%}" if of else ""


def measure(family: Family, draws: int, seed: int) -> Bound:
    found = Bound(family.name)
    for formulation in family.formulations:
        for level in range(1, len(family.levels) + 1):
            for index in range(draws):
                instance = draw(family.name, level, seed, index, formulation=formulation)
                for dialect in dialects():
                    for style in STYLES:
                        code = emit(instance.linear, instance.data, dialect, source="inline", style=style)
                        found.programs += 1
                        binding = bind(code, instance.linear, instance.data)
                        if isinstance(binding, str):
                            found.reasons[f"{dialect}: {binding}"] += 1
                            continue
                        other = next(iter(binding.redraws(stream(seed, "bench-rebind", instance.id), 1)), None)
                        if other is None:
                            found.reasons[f"{dialect}: no other numbers are valid"] += 1
                            continue
                        found.rebound += 1
                        found.bound += len(binding.places)
                        found.params += len(instance.linear.params)
                        fresh = emit(instance.linear, other, dialect, source="inline", style=style)
                        found.anew += ast.dump(ast.parse(binding.program(other))) == ast.dump(ast.parse(fresh))
    return found


@app.command()
def main(
    names: Annotated[str, typer.Option("--families", help="Comma-separated family names (default all).")] = "",
    draws: Annotated[int, typer.Option(min=1, help="Instances drawn a formulation and level.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure how many of our programs with inline data can be re-bound to other data, by family."""
    chosen = [families[n.strip()] for n in names.split(",") if n.strip()] or list(families)
    done = [measure(family, draws, seed) for family in chosen]
    total = Bound("all")
    for one in done:
        total.add(one)
    rows = [m.row() for m in (*done, total)]
    if as_json:
        put_json({"header": HEADER, "rows": rows, "reasons": {m.name: dict(m.reasons) for m in done if m.reasons}})
        return
    put_table(HEADER, rows)
    for m in done:
        for reason, count in m.reasons.most_common(5):
            say(f"{m.name}, {count} programs: {reason}")


if __name__ == "__main__":
    raise SystemExit(run(app, "python -m orpipe.testing.bench_rebind"))
