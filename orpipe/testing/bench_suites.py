"""How well do hidden data suites tell mis-modellings apart?  One row a structure, and a held-out check.

    python -m orpipe.testing.bench_suites --draws 2

killed, harmless (proved), survivors: the mutants of the structure.  headline and suite: means over drawn instances of all
levels of the columns `discrimination_*`.  held out: the suite is built against one half of the operators (both halves in
turn) and tried on the truly different mutants of the other half; beside it as many natural draws of the same sizes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import typer

from orpipe.algebra.idioms import lower
from orpipe.console import put_json, put_table, run, say
from orpipe.families import Family, families
from orpipe.ground import ground, structure_hash
from orpipe.instances import draw, stream
from orpipe.mutate import Mutant, mutants, operators
from orpipe.solve import Label, label
from orpipe.suites import build_suite, discrimination
from orpipe.suites.candidates import Data, natural
from orpipe.suites.kills import Trial

_NODES = 3000
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@dataclass
class Measured:
    """Of one structure.  seconds and headline_ms are CPU time; held_out, natural: shares of held-out mutants killed."""

    name: str
    mutants: int = 0
    sets: int = 0
    killed: int = 0
    survivors: tuple[str, ...] = ()
    seconds: float = 0.0
    headline: list[float] = field(default_factory=list)
    suite: list[float] = field(default_factory=list)
    headline_ms: float = 0.0
    held_out: list[bool] = field(default_factory=list)
    natural: list[bool] = field(default_factory=list)
    kills: list[int] = field(default_factory=list)  # by data set, in order

    def first(self, count: int) -> float:
        """Share of the different mutants that the first data sets kill."""
        return sum(self.kills[:count]) / max(1, sum(self.kills) + len(self.survivors))

    def row(self) -> list[object]:
        harmless = self.mutants - self.killed - len(self.survivors)
        return [self.name, self.mutants, self.killed, harmless, len(self.survivors), self.sets, round(self.seconds, 1), _share(self.headline),
                _share(self.suite), round(self.headline_ms, 1), _share(self.held_out), _share(self.natural)]


COUNTS = (1, 2, 3, 5, 8)
HEADER = ["structure", "mutants", "killed", "harmless", "survivors", "data sets", "CPU s", "headline", "suite", "headline ms", "held out", "natural"]


def _share(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.1%}" if values else ""


def measure(family: Family, formulation: str, seed: int, draws: int, held_out: bool) -> Measured:
    name = family.name if len(family.formulations) == 1 else f"{family.name}/{formulation}"
    linear = lower(family.symbolic(formulation))
    pool = mutants(linear)
    began = time.process_time()
    suite = build_suite(family, formulation, seed)
    killed = {key for one in suite.sets for key in one.kills}
    found = Measured(name, len(pool), len(suite.sets), len(killed), suite.survivors, time.process_time() - began,
                     kills=[len(one.kills) for one in suite.sets])
    spent, count = 0.0, 0
    for level in range(1, len(family.levels) + 1):
        for index in range(draws):
            instance = draw(family.name, level, seed, index, formulation=formulation)
            labelled = label(instance.problem, nodes=50_000)
            if not isinstance(labelled, Label):
                continue
            began = time.process_time()
            told = discrimination(instance, labelled, suite)
            spent, count = spent + time.process_time() - began, count + 1
            if told.headline is not None and told.suite is not None:
                found.headline.append(told.headline)
                found.suite.append(told.suite)
    found.headline_ms = 1000 * spent / max(1, count)
    if held_out:
        _held_out(family, formulation, seed, [m for m in pool if str(m) in killed], found)
    return found


def _held_out(family: Family, formulation: str, seed: int, pool: list[Mutant], found: Measured) -> None:
    ids = [o.id for o in operators()]
    order = [ids[int(k)] for k in stream(seed, "halves", family.name, formulation).permutation(len(ids))]
    for half in (set(order[::2]), set(order[1::2])):
        seen, other = [m for m in pool if m.operator.id in half], [m for m in pool if m.operator.id not in half]
        suite = build_suite(family, formulation, seed, pool=seen)
        drawn = [natural(family, formulation, seed, min(1 + k % 2, len(family.levels)), "bench", k) for k in range(len(suite.sets))]
        found.held_out += _killed(family, formulation, [one.data for one in suite.sets], other)
        found.natural += _killed(family, formulation, [one.data for one in drawn if one is not None], other)


def _killed(family: Family, formulation: str, data: list[Data], pool: list[Mutant]) -> list[bool]:
    linear = lower(family.symbolic(formulation))
    trials = []
    for one in data:
        problem = ground(linear, one)
        labelled = label(problem, nodes=_NODES)
        if isinstance(labelled, Label):
            trials.append(Trial(linear, one, problem, labelled))
    return [any(t.fate(m, _NODES, sure=False) == "killed" for t in trials) for m in pool]


@app.command()
def main(
    names: Annotated[str, typer.Option("--families", help="Comma-separated family names (default all).")] = "",
    draws: Annotated[int, typer.Option(min=1, help="Instances drawn a structure and level.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of suites and draws.")] = 0,
    held_out: Annotated[bool, typer.Option("--held-out/--no-held-out", help="Also build on half of the operators and try the others.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure hidden data suites: kills, survivors, data sets, CPU seconds, shares on instances, held-out operators."""
    chosen = [families[n.strip()] for n in names.split(",") if n.strip()] or list(families)
    done: dict[str, Measured] = {}
    for family in chosen:
        for formulation in family.formulations:
            key = structure_hash(family.symbolic(formulation))
            if key not in done:
                done[key] = measure(family, formulation, seed, draws, held_out)
                say(f"{done[key].name} ...")
    rows = [m.row() for m in done.values()]
    total = Measured("all", *(sum(getattr(m, f) for m in done.values()) for f in ("mutants", "sets", "killed")))
    for m in done.values():
        for part in ("headline", "suite", "held_out", "natural"):
            getattr(total, part).extend(getattr(m, part))
        total.survivors, total.seconds, total.headline_ms = (
            total.survivors + m.survivors, total.seconds + m.seconds, total.headline_ms + m.headline_ms / len(done))
    for k in range(max(len(m.kills) for m in done.values())):
        total.kills.append(sum(m.kills[k] for m in done.values() if k < len(m.kills)))
    by_count = {k: total.first(k) for k in COUNTS}
    if as_json:
        put_json({"header": HEADER, "rows": [*rows, total.row()], "first": by_count,
                  "survivors": {m.name: m.survivors for m in done.values() if m.survivors}})
        return
    put_table(HEADER, [*rows, total.row()])
    say("killed by the first data sets of a suite: " + ", ".join(f"{k}: {share:.1%}" for k, share in by_count.items()))
    for m in done.values():
        for key in m.survivors:
            say(f"survivor in {m.name}: {key}")


if __name__ == "__main__":
    raise SystemExit(run(app, "python -m orpipe.testing.bench_suites"))
