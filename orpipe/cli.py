"""The command line.  Data on stdout, logs and progress on stderr.  Exit codes: 0 ok, 1 checks failed, 2 misuse, 3 environment."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from orpipe import __version__
from orpipe.errors import OrpipeError, UsageError

app = typer.Typer(
    name="orpipe", no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False,
    help="Solver-verified operations-research training data, derived from one symbolic model per problem family.",
)
out, err = Console(), Console(stderr=True)
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Entry point: every OrpipeError is one line and its exit code."""
    try:
        app(standalone_mode=False)
    except OrpipeError as error:
        err.print(f"orpipe: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except typer.Abort:
        err.print("orpipe: stopped; run the same command again to go on where it was")
        sys.exit(130)
    except KeyboardInterrupt:
        err.print("orpipe: stopped; run the same command again to go on where it was")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        err.print(f"orpipe: {error.strerror or error}: {error.filename or 'file system'}; check the path, its rights and the space left", soft_wrap=True)
        sys.exit(3)
    except Exception as error:
        import click

        if isinstance(error, click.ClickException):
            error.show()
            sys.exit(2)
        raise


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens (stderr).")] = False,
) -> None:
    if version:
        typer.echo(f"orpipe {__version__}")
        raise typer.Exit
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


def _show(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    table = Table(*columns, title=title or None, title_justify="left")
    for row in rows:
        table.add_row(*("" if x is None else str(x) for x in row))
    out.print(table)


def _json(content: Any) -> None:
    typer.echo(json.dumps(asdict(content) if is_dataclass(content) and not isinstance(content, type) else content, indent=2, ensure_ascii=False))


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(x.strip() for x in text.split(",") if x.strip())


def _levels(text: str | None) -> tuple[int, ...] | None:
    """«1,2» or «1-3»."""
    if text is None:
        return None
    try:
        found: list[int] = []
        for part in text.split(","):
            low, dash, high = part.partition("-")
            found += list(range(int(low), int(high) + 1)) if dash else [int(low)]
        return tuple(found)
    except ValueError:
        raise UsageError(f"--levels '{text}' is not a list of numbers; write for example 1,2 or 1-3") from None


@contextmanager
def _bars(**totals: int) -> Iterator[Any]:
    """A function (name, count) that advances named progress bars on stderr."""
    columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=not err.is_terminal) as progress:
        bars = {name: progress.add_task(name, total=total) for name, total in totals.items()}
        yield lambda name, count: progress.update(bars[name], advance=count)


@app.command(epilog="Examples: `orpipe generate --sft 500 --out data/out` · `orpipe generate recipe.yaml --families knapsack,diet --levels 1-2`")
def generate(
    recipe: Annotated[Path | None, typer.Argument(help="YAML recipe; flags override it.")] = None,
    output: Annotated[Path, typer.Option("--out", help="Folder of the dataset.")] = Path("data/out"),
    sft: Annotated[int | None, typer.Option("--sft", help="Number of SFT examples (default 10000).")] = None,
    cpt: Annotated[int | None, typer.Option("--cpt", help="Number of CPT documents (default a quarter of --sft).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every draw (default 0).")] = None,
    workers: Annotated[int, typer.Option(min=1, show_default="one per core", help="Worker processes; the bytes do not depend on it.")] = os.cpu_count() or 1,
    families: Annotated[str | None, typer.Option(help="Comma-separated family names (default all).")] = None,
    levels: Annotated[str | None, typer.Option(help="Levels such as 1,2 or 1-3 (default all).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that stands in --out.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Generate a dataset: instances solved and cross-checked, documents and examples replayed, Parquet written.

    Can be stopped and run again; it goes on where it was. A finished dataset of the same recipe is left as it is."""
    from orpipe.build.plan import plan
    from orpipe.build.run import finished, run
    from orpipe.config import read_recipe

    chosen = read_recipe(recipe, sft=sft, cpt=cpt, seed=seed, families=_names(families), levels=_levels(levels)).resolved()
    if finished(output, chosen) and not overwrite:
        err.print(f"'{output}' already holds this dataset; --overwrite makes it again")
        return
    slots = plan(chosen)
    with _bars(instances=len(slots), sft=chosen.sft, cpt=chosen.cpt or 0, replays=sum(len(s.orders) for s in slots)) as advance:

        def step(made: Any) -> None:
            advance("instances", 1)
            advance("sft", len(made.sft))
            advance("cpt", len(made.cpt))
            advance("replays", len(made.sft) + len(made.cpt))

        summary = run(chosen, output, workers=workers, overwrite=overwrite, progress=step)
    if as_json:
        _json(summary)
    else:
        _show(["what", "count"], [
            ["instances attempted", summary.attempted], ["instances accepted", summary.accepted],
            ["programs replayed", summary.replayed],
            *[[f"rejected, {reason}", count] for reason, count in summary.rejected.items()],
            *[[f"{config} {split}", count] for config, splits in summary.counts.items() for split, count in splits.items()],
        ], title=f"{output}")
        _show(["stage", "seconds (all workers)"], [[k, f"{v:.1f}"] for k, v in summary.seconds.items()] + [
            ["elapsed", f"{summary.wall:.1f}"], ["peak memory of a process, MB", f"{summary.peak_mb:.0f}"]])
    if summary.shortfall:
        raise OrpipeShortfall(f"{summary.shortfall} slots found no acceptable draw; see the config 'rejected', then raise 'attempts' in the recipe")


class OrpipeShortfall(OrpipeError):
    """The dataset was written with fewer rows than asked."""

    exit_code = 1


@app.command(name="families", epilog="Examples: `orpipe families` · `orpipe families knapsack --json`")
def list_families(name: Annotated[str | None, typer.Argument(help="One family.")] = None, as_json: JsonFlag = False) -> None:
    """List problem families: class, kind, levels and sizes."""
    from orpipe.families import families
    from orpipe.instances import draw
    from orpipe.scenarios import scenarios

    rows = []
    for f in [families[name]] if name else list(families):
        sizes = []
        for level in range(1, len(f.levels) + 1):
            p = draw(f.name, level, 0, 0).problem
            sizes.append({"level": level, "variables": p.n_vars, "constraints": p.n_rows, **f.levels[level - 1]})
        rows.append({"name": f.name, "class": f.problem_class, "kind": f.kind, "levels": len(f.levels), "sizes": sizes,
                     "formulations": list(f.formulations), "scenarios": [s.id for s in scenarios(f.name)], "tags": list(f.tags),
                     "summary": f.summary(), "source": f.source()})
    if as_json:
        _json(rows[0] if name else rows)
        return
    _show(["name", "class", "kind", "levels", "variables x constraints by level"], [
        [r["name"], r["class"], r["kind"], r["levels"], ", ".join(f"{s['variables']}x{s['constraints']}" for s in r["sizes"])] for r in rows])
    if name:
        r = rows[0]
        out.print(f"{r['summary']}\nSource: {r['source']}\nScenarios: {', '.join(r['scenarios'])}\nFormulations: {', '.join(r['formulations'])}", highlight=False)


@app.command(epilog="Examples: `orpipe show knapsack` · `orpipe show knapsack --level 2 --as code --dialect pulp`")
def show(
    family: Annotated[str, typer.Argument(help="Family name.")],
    level: Annotated[int, typer.Option(help="Level, from 1.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    index: Annotated[int, typer.Option(help="Number of the draw.")] = 0,
    view: Annotated[str, typer.Option("--as", help="text, tables, files, latex, algebra, code, data or mps.")] = "text",
    dialect: Annotated[str, typer.Option(help="Code library for --as code.")] = "pyomo",
    register: Annotated[str, typer.Option(help="memo, textbook or brief.")] = "memo",
    scenario: Annotated[str, typer.Option(help="Scenario id (default: drawn).")] = "",
    formulation: Annotated[str, typer.Option(help="Formulation (default: drawn).")] = "",
) -> None:
    """Show one instance in one of its representations."""
    from orpipe.algebra.latex import model_tex
    from orpipe.algebra.text import model_text
    from orpipe.build.case import file_blocks
    from orpipe.instances import draw
    from orpipe.mps import write_mps
    from orpipe.render.emit import emit
    from orpipe.render.files import data_json
    from orpipe.render.nl import render_problem

    views = ("text", "tables", "files", "latex", "algebra", "code", "data", "mps")
    if view not in views:
        from orpipe.errors import NotFound

        raise NotFound.among("view", view, views)
    instance = draw(family, level, seed, index, scenario_id=scenario, formulation=formulation)
    match view:
        case "text" | "tables":
            typer.echo(render_problem(instance, register, view).text, nl=False)  # type: ignore[arg-type]
        case "files":
            files = {"data.json": data_json(instance.linear, instance.data)}
            typer.echo(render_problem(instance, register, "json").text + "\n" + file_blocks(files))
        case "latex":
            typer.echo(model_tex(instance.linear), nl=False)
        case "algebra":
            typer.echo(model_text(instance.linear), nl=False)
        case "code":
            typer.echo(emit(instance.linear, instance.data, dialect))
        case "data":
            typer.echo(json.dumps(instance.data, indent=2, ensure_ascii=False))
        case "mps":
            typer.echo(write_mps(instance.problem), nl=False)


@app.command(name="audit", epilog="Example: `orpipe audit data/out`")
def audit_command(
    folder: Annotated[Path, typer.Argument(help="Dataset folder.")],
    workers: Annotated[int, typer.Option(min=1, show_default="one per core", help="Worker processes.")] = os.cpu_count() or 1,
    as_json: JsonFlag = False,
) -> None:
    """Re-check a finished dataset from its files alone; exit 1 on any fault."""
    from orpipe.build.audit import audit

    total: dict[str, int] = {}
    try:
        counts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["counts"]
        total = {config: sum(counts[config].values()) for config in ("instances", "sft", "cpt")}
    except (OSError, ValueError, KeyError):
        total = {"instances": 0, "sft": 0, "cpt": 0}
    with _bars(**total) as advance:
        found = audit(folder, workers=workers, progress=lambda name, _: advance(name, 1))
    if as_json:
        _json({"checks": dict(sorted(found.checks.items())), "faults": [asdict(f) for f in found.faults]})
    else:
        _show(["check", "passed", "faults"], [[name, found.checks[name], sum(f.check == name for f in found.faults)]
                                              for name in sorted(found.checks.keys() | {f.check for f in found.faults})], title=str(folder))
        for f in found.faults[:20]:
            out.print(f"{f.config} {f.id}: {f.check}: {f.detail}", highlight=False, markup=False)
    if found.faults:
        raise typer.Exit(1)


@app.command(name="push", epilog="Examples: `orpipe push data/out me/or-data --dry-run` · `orpipe push data/out me/or-data --public`")
def push_command(
    folder: Annotated[Path, typer.Argument(help="Dataset folder.")],
    repo: Annotated[str, typer.Argument(help="owner/name on the hub.")],
    public: Annotated[bool, typer.Option("--public", help="Make the repository public (default private).")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be uploaded and deleted.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Push a dataset to the Hugging Face hub, read it back and compare. The token is taken from HF_TOKEN or `hf auth login`."""
    from orpipe.build.hub import push

    report = push(folder, repo, private=not public, dry_run=dry_run)
    if as_json:
        _json(report)
        return
    verb = "would upload" if dry_run else "uploaded"
    out.print(f"{report.url}: {verb} {len(report.uploaded)} of {report.files} files, {'would delete' if dry_run else 'deleted'} {len(report.deleted)}", highlight=False)
    _show(["config", "split", "rows here", "rows on the hub"], [[s.config, s.split, s.local, s.remote] for s in report.splits])


@app.command(epilog="Example: `orpipe doctor --json`")
def doctor(as_json: JsonFlag = False) -> None:
    """Show versions, solvers and sandbox layers, what is missing and how to get it; exit 3 if something essential is."""
    from orpipe.doctor import diagnose, essential_missing

    findings = diagnose()
    if as_json:
        _json([asdict(f) for f in findings])
    else:
        _show(["area", "name", "state", "detail", "remedy"], [[f.area, f.name, f.state, f.detail, f.remedy] for f in findings])
    if missing := essential_missing(findings):
        err.print(f"orpipe: missing {', '.join(f.name for f in missing)}; see the remedies above", soft_wrap=True)
        raise typer.Exit(3)


if __name__ == "__main__":
    main()
