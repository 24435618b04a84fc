"""`make bench`: speed, memory and acceptance, measured here and now.

    python -m orpipe.testing.bench                     everything; the 10,000-example run extrapolated from a sample
    python -m orpipe.testing.bench --full              the 10,000-example run itself
    python -m orpipe.testing.bench --update-readme     and the figures of README.md replaced by these

What is measured and how: orpipe/testing/measure.py.  Nothing is written but --out and, when asked, README.md.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from orpipe import __version__, console
from orpipe.config import Recipe
from orpipe.errors import UsageError
from orpipe.families import families
from orpipe.testing import bench_solvers, measure
from orpipe.testing.command import checkout

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

TARGET = 10_000
START, END = "<!-- bench: rewritten by `python -m orpipe.testing.bench --update-readme` -->", "<!-- /bench -->"


@dataclass(frozen=True)
class TenThousand:
    """how: "measured", or what the extrapolation stands on."""

    examples: int
    minutes: float
    how: str


@dataclass(frozen=True)
class Report:
    orpipe: str
    python: str
    machine: str
    cores: int
    workers: int
    quick: bool
    steps: Sequence[measure.Steps]
    instances: measure.Instances
    products: measure.Products
    replays: Mapping[str, float]
    ten_thousand: TenThousand
    corpus: Sequence[bench_solvers.Summary]


def measured(workers: int, *, quick: bool = False, full: bool = False, say: Callable[[str], None] = lambda text: None) -> Report:
    """quick: three families, level 1, few repeats: shows that the bench works, not how fast orpipe is."""
    names = families.names()[:3] if quick else families.names()
    levels = (1,) if quick else tuple(range(1, max(len(f.levels) for f in families) + 1))
    cells = sum(level <= len(families[name].levels) for name in names for level in levels)
    say("steps of one instance")
    steps = measure.steps(3 if quick else 60)
    say("instances")
    instances = measure.instances(workers, names, levels, 1 if quick else 8)
    say("replays")
    replays = measure.replays(workers, names, levels[min(1, len(levels) - 1)], 1 if quick else 3)
    # whole rounds over families and levels, four products of each slot as in a recipe
    sample = 4 * len(names) if quick else TARGET if full else 4 * 4 * cells
    say(f"a run of {sample} examples")
    recipe = Recipe(seed=measure.SEED, sft=sample, families=tuple(names), levels=levels)
    products = measure.products(recipe, workers)
    minutes = products.seconds / 60 if full and not quick else measure.seconds_for(TARGET, products) / 60
    how = "measured" if full and not quick else f"extrapolated from a run of {products.examples} examples"
    say("random problems, all solvers and exact proofs")
    corpus = bench_solvers.measured(4 if quick else 200)  # `python -m orpipe.testing.bench_solvers` draws 2000 of each
    return Report(
        __version__, platform.python_version(), f"{platform.system()} {platform.machine()}", _cores(), workers, quick,
        steps, instances, products, replays, TenThousand(TARGET, minutes, how), corpus,
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tables(report: Report) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, header, rows)"""
    i, p = report.instances, report.products
    return [
        ("One instance, milliseconds (medians)",
         ["instance", "variables x rows", "sample", "ground", "solve", "highspy alone", "ratio", "label", "certificate"],
         [[s.case, f"{s.variables}x{s.rows}", f"{s.sample_ms:.2f}", f"{s.ground_ms:.2f}", f"{s.solve_ms:.2f}", f"{s.bare_ms:.2f}",
           f"{s.solve_ratio:.2f}", f"{s.label_ms:.2f}",
           "none in 1 s" if s.certificate_ms is None else f"{s.certificate_ms:.2f}"] for s in report.steps]),
        (f"Instances on {report.workers} workers: {i.per_second:.1f}/s, {i.accepted} of {i.attempted} accepted ({i.accepted_share:.1%})",
         ["family", "attempted", "accepted", "sample ms", "ground ms", "label ms"],
         [[r.family, str(r.attempted), str(r.accepted), f"{r.sample_ms:.2f}", f"{r.ground_ms:.2f}", f"{r.label_ms:.1f}"] for r in i.families]),
        (f"Replays on {report.workers} workers, programs/s", ["dialect", "per second"], [[k, f"{v:.0f}"] for k, v in report.replays.items()]),
        (f"A run on {report.workers} workers: {p.examples} examples, {p.documents} documents, {p.programs} programs in {p.seconds:.1f} s",
         ["what", "measured"],
         [["examples/s", f"{p.examples_per_second:.1f}"], ["examples and documents/s", f"{p.products_per_second:.1f}"],
          ["programs replayed/s", f"{p.programs_per_second:.1f}"],
          ["draws accepted", f"{p.accepted} of {p.attempted} ({p.accepted_share:.1%})"],
          *[[f"refused, {reason}", str(count)] for reason, count in p.rejected.items()],
          *[[f"mis-modellings shown, {_SHOWN[which]}", f"{share:.1%}"] for which, share in p.discrimination.items()],
          *[[f"seconds in {stage}, all workers", f"{seconds:.1f}"] for stage, seconds in p.stage_seconds.items()],
          ["peak memory, largest process", f"{p.largest_process_mb:.0f} MB"], ["peak memory, all processes", f"{p.all_processes_mb:.0f} MB"],
          [f"{report.ten_thousand.examples} examples", f"{report.ten_thousand.minutes:.1f} min, {report.ten_thousand.how}"]]),
        *((f"Random problems: {title.lower()}", head, rows) for title, head, rows in bench_solvers.tables(report.corpus)),
    ]


_SHOWN = {"headline": "by an instance's own data", "suite": "with its hidden data sets"}


def readme_block(report: Report) -> str:
    """The marked block of README.md, markers included."""
    i, p, ten = report.instances, report.products, report.ten_thousand
    rows = [
        *[(f"{s.case}: sample / ground / solve / label", f"{s.sample_ms:.1f} / {s.ground_ms:.2f} / {s.solve_ms:.1f} / {s.label_ms:.1f} ms")
          for s in report.steps],
        *[(f"{s.case}: exact certificate", f"{s.certificate_ms:.1f} ms") for s in report.steps if s.certificate_ms is not None],
        *[(f"{s.case}: our HiGHS call over highspy alone", f"{s.solve_ratio:.2f} x") for s in report.steps],
        ("instances: sample, ground, solve, cross-check", f"{i.per_second:.1f} /s"),
        ("draws accepted as instances", f"{i.accepted} of {i.attempted} ({i.accepted_share:.1%})"),
        ("draws accepted through all stages, replay included", f"{p.accepted} of {p.attempted} ({p.accepted_share:.1%})"),
        *[(f"mis-modellings shown, {_SHOWN[which]} (mean over instances)", f"{share:.1%}") for which, share in p.discrimination.items()],
        ("SFT examples, each program in them replayed", f"{p.examples_per_second:.1f} /s"),
        ("SFT examples and CPT documents", f"{p.products_per_second:.1f} /s"),
        ("programs replayed: " + ", ".join(report.replays), " / ".join(f"{v:.0f}" for v in report.replays.values()) + " /s"),
        ("peak memory: largest process, all together", f"{p.largest_process_mb:.0f} MB, {p.all_processes_mb:.0f} MB"),
        (f"{ten.examples:,} examples with their documents", f"{ten.minutes:.1f} min ({ten.how})"),
    ]
    head = (f"orpipe {report.orpipe}, Python {report.python}, {report.machine}, {report.cores} cores, {report.workers} workers; "
            f"{len(i.families)} families.")
    return "\n".join([START, head, "", "| what | measured |", "| --- | --- |", *(f"| {what} | {value} |" for what, value in rows), END])


def with_block(text: str, block: str, start: str = START, end: str = END, name: str = "README.md") -> str:
    """The text of `name` with its marked block replaced.  UsageError if there is not exactly one."""
    found = re.findall(rf"{re.escape(start)}.*?{re.escape(end)}", text, re.S)
    if len(found) != 1:
        raise UsageError(f"{name} holds {len(found)} blocks between '{start}' and '{end}'; put these two lines where the table belongs")
    return text.replace(found[0], block)


@app.command(epilog="Examples: `make bench` · `python -m orpipe.testing.bench --quick` · `make bench ARGS=--full`")
def bench(
    workers: Annotated[int, typer.Option(min=1, show_default="one per core", help="Worker processes.")] = os.cpu_count() or 1,
    quick: Annotated[bool, typer.Option("--quick", help="Three families, level 1, few repeats: shows that it works, not how fast.")] = False,
    full: Annotated[bool, typer.Option("--full", help=f"Run all {TARGET} examples instead of extrapolating from a sample.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    output: Annotated[Path | None, typer.Option("--out", help="Write the JSON to this file as well.")] = None,
    update_readme: Annotated[bool, typer.Option("--update-readme", help="Replace the table of README.md by these figures.")] = False,
) -> None:
    """Measure speed, memory and acceptance on this machine."""
    if update_readme and quick:
        raise UsageError("figures of --quick say nothing about speed; leave out --quick, or --update-readme")
    readme = checkout("README.md") if update_readme else None
    if readme is not None:
        with_block(readme.read_text(encoding="utf-8"), "")  # before minutes are spent
    report = measured(workers, quick=quick, full=full, say=lambda text: console.say(f"bench: {text}"))
    content = json.dumps(asdict(report), indent=2, ensure_ascii=False)
    if output is not None:
        output.write_text(content + "\n", encoding="utf-8")
    if readme is not None:
        readme.write_text(with_block(readme.read_text(encoding="utf-8"), readme_block(report)), encoding="utf-8")
    if as_json:
        console.put(content)
        return
    for title, header, rows in tables(report):
        console.put_table(header, rows, title)


if __name__ == "__main__":
    sys.exit(console.run(app, "orpipe.testing.bench"))
