"""The command line.  Data on stdout, logs and progress on stderr.  Exit codes: 0 ok, 1 checks failed, 2 misuse, 3 environment."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orpipe import __version__, console
from orpipe.commands.bench import app as bench_app
from orpipe.commands.compare import EPILOG as COMPARE_EPILOG
from orpipe.commands.compare import compare
from orpipe.commands.serve import EPILOG as SERVE_EPILOG
from orpipe.commands.serve import serve
from orpipe.commands.solve import EPILOG as SOLVE_EPILOG
from orpipe.commands.solve import solve
from orpipe.commands.verify import EPILOG as VERIFY_EPILOG
from orpipe.commands.verify import verify
from orpipe.console import OrpipeStopped, bars, put, put_json, put_table, say
from orpipe.errors import EnvironmentError_, NotFound, OrpipeError, UsageError

if TYPE_CHECKING:
    from orpipe.build.run import Summary
    from orpipe.build.workers import Step
    from orpipe.families import Family
    from orpipe.instances import Instance

app = typer.Typer(
    name="orpipe", add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False,
    help="Solver-verified operations-research training data, derived from one symbolic model per problem family.",
)
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
VIEWS = ("text", "tables", "files", "latex", "algebra", "code", "data", "mps")


def main() -> None:
    """Entry point: everything a user can cause is one line on stderr and an exit code."""
    sys.exit(console.run(app, "orpipe"))


@app.callback(invoke_without_command=True, epilog="Example: `orpipe generate --sft 500 --out data/out`")
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens (stderr).")] = False,
) -> None:
    if version:
        put(f"orpipe {__version__}")
        raise typer.Exit
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if context.invoked_subcommand is None:
        put(context.get_help())


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(x.strip() for x in text.split(",") if x.strip())


def _levels(text: str | None) -> tuple[int, ...] | None:
    """«1,2» or «1-3»."""
    if text is None:
        return None
    found: list[int] = []
    try:
        for part in text.split(","):
            low, dash, high = part.partition("-")
            numbers = range(int(low), int(high if dash else low) + 1)
            if not numbers:
                raise ValueError
            found += numbers
    except ValueError:
        raise UsageError(f"--levels '{text}' is not a list of levels; write for example 1,2 or 1-3") from None
    return tuple(found)


@app.command(epilog="Examples: `orpipe generate --sft 500 --out data/out` · `orpipe generate recipe.yaml --families knapsack,diet --levels 1-2`")
def generate(
    recipe: Annotated[Path | None, typer.Argument(help="YAML recipe; flags override it.")] = None,
    output: Annotated[Path, typer.Option("--out", help="Folder of the dataset.")] = Path("data/out"),
    sft: Annotated[int | None, typer.Option("--sft", help="Number of SFT examples (default 10000).")] = None,
    cpt: Annotated[int | None, typer.Option("--cpt", help="Number of CPT documents (default a quarter of --sft).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every draw (default 0).")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes; the bytes do not depend on it.")] = os.cpu_count() or 1,
    families: Annotated[str | None, typer.Option(help="Comma-separated family names (default all).")] = None,
    levels: Annotated[str | None, typer.Option(help="Levels such as 1,2 or 1-3 (default all).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that stands in --out.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Generate a dataset: instances solved and cross-checked, documents and examples replayed, Parquet written.

    Can be stopped and run again; it goes on where it was. A finished dataset of the same recipe is left as it is."""
    from orpipe.build.run import finished, run
    from orpipe.config import read_recipe

    chosen = read_recipe(recipe, sft=sft, cpt=cpt, seed=seed, families=_names(families), levels=_levels(levels)).resolved()
    summary = None if overwrite else finished(output, chosen)
    if summary is not None:
        say(f"orpipe: '{output}' already holds this dataset; --overwrite makes it again")
    else:
        totals = {"solve   instances": _slots(chosen), "render  examples": chosen.sft, "render  documents": chosen.cpt, "replay  programs": None}
        with bars(totals) as advance:

            def step(done: Step) -> None:
                for name, count in zip(totals, (1, done.sft, done.cpt, done.replayed), strict=True):
                    advance(name, count)

            try:
                summary = run(chosen, output, workers=workers, overwrite=overwrite, progress=step)
            except KeyboardInterrupt:
                raise OrpipeStopped("stopped; run the same command again to go on where it was") from None
    if as_json:
        put_json(summary)
    else:
        _report(summary, str(output))
    if summary.shortfall or summary.faults:
        told = [f"{summary.shortfall} slots found no acceptable draw" if summary.shortfall else "",
                f"{summary.faults} draws ended in an error of orpipe" if summary.faults else ""]
        raise OrpipeShortfall(f"{' and '.join(filter(None, told))}; see the config 'rejected' of '{output}'")


def _slots(recipe: Any) -> int:
    from orpipe.build.plan import plan

    return len(plan(recipe))


def _report(summary: Summary, title: str) -> None:
    """Draws through the stages, refusals by reason, rows by split."""
    from orpipe.build import quarantine

    refused: dict[str, int] = {}
    for reason, count in summary.rejected.items():
        stage = reason.partition(":")[0]
        refused[stage] = refused.get(stage, 0) + count
    left, rows = summary.attempted, []
    stages = ["sample", "ground", "solve", "proof", "render", "gate", "replay", "suite", "rows", "duplicate"]
    for stage in stages:
        lost = refused.get(stage, 0)
        rows.append([stage, left, left - lost, lost, summary.seconds.get(stage)])
        left -= lost
    put_table(["stage", "attempted", "accepted", "rejected", "seconds (all workers)"], rows, title=title)
    if summary.rejected:
        put_table(["rejected", "reason", "count"], [[*reason.split(": ", 1), count] for reason, count in summary.rejected.items()])
    put_table(["config", "train", "validation", "test"], [[config, *map(splits.get, ("train", "validation", "test"))]
                                                         for config, splits in summary.counts.items()])
    if n := summary.tight:
        told = ("", "is an infeasible variant", "adds") if n == 1 else ("s", "are infeasible variants", "add")
        put(f"{n} instance{told[0]}, with an id that ends in -tight, {told[1]} of another, made for the tasks 'diagnose' and 'solve', "
            f"and {told[2]} to the count of instances.")
    if count := quarantine.count(summary.rejected):
        put(f"{count} disagreement{'s' if count > 1 else ''}: problems and commands in quarantine/ and in the config 'rejected'")
    if summary.discrimination:
        put("mis-modellings that change an answer: " + ", ".join(
            f"{share:.1%} {'with the suites' if which == 'suite' else 'on the data shown'}" for which, share in summary.discrimination.items())
            + " (mean over instances)")
    resumed = f", {summary.resumed} of {summary.accepted} slots from an earlier run" if summary.resumed else ""
    put(f"{summary.accepted} of {summary.attempted} draws accepted, {summary.replayed} programs replayed, {summary.wall:.0f} s with "
        f"{summary.workers} workers, at most {summary.peak_mb:.0f} MB a process{resumed}")


class OrpipeShortfall(OrpipeError):
    """The dataset was written with fewer rows than asked, or draws were lost to faults of orpipe."""

    exit_code = 1


def _first(family: Family, level: int) -> Instance:
    """The first instance that the sampler completes."""
    from orpipe.families import Rejected
    from orpipe.instances import draw

    for index in range(100):
        try:
            return draw(family.name, level, 0, index)
        except Rejected:
            continue
    raise UsageError(f"family '{family.name}', level {level}: the sampler refuses 100 draws; see 'orpipe show {family.name} --level {level}'")


@app.command(name="families", epilog="Examples: `orpipe families` · `orpipe families knapsack --json`")
def list_families(name: Annotated[str | None, typer.Argument(help="One family.")] = None, as_json: JsonFlag = False) -> None:
    """List problem families: class, kind, levels and sizes; with a name, all about one."""
    from orpipe.families import families
    from orpipe.scenarios import scenarios

    rows: list[dict[str, Any]] = []
    for f in [families[name]] if name else list(families):
        problems = [_first(f, level).problem for level in range(1, len(f.levels) + 1)]
        sizes = [{"level": k + 1, "variables": p.n_vars, "constraints": p.n_rows, **f.levels[k]} for k, p in enumerate(problems)]
        rows.append({"name": f.name, "class": f.problem_class, "kind": f.kind, "levels": len(f.levels), "sizes": sizes,
                     "formulations": list(f.formulations), "scenarios": [s.id for s in scenarios(f.name)], "tags": list(f.tags),
                     "summary": f.summary(), "source": f.source()})
    if as_json:
        put_json(rows[0] if name else rows)
        return
    put_table(["name", "class", "kind", "levels", "variables x constraints by level"], [
        [r["name"], r["class"], r["kind"], r["levels"], ", ".join(f"{s['variables']}x{s['constraints']}" for s in r["sizes"])] for r in rows])
    if name:
        r = rows[0]
        heads = list(dict.fromkeys(key for s in r["sizes"] for key in s))
        put_table(heads, [[s.get(key) for key in heads] for s in r["sizes"]])
        put(f"{r['summary']}\nSource: {r['source']}\nScenarios: {', '.join(r['scenarios'])}\nFormulations: {', '.join(r['formulations'])}")


@app.command(epilog="Examples: `orpipe show knapsack` · `orpipe show knapsack --level 2 --as code --dialect pulp`")
def show(
    family: Annotated[str, typer.Argument(help="Family name.")],
    level: Annotated[int, typer.Option(help="Level, from 1.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    index: Annotated[int, typer.Option(min=0, help="Number of the draw.")] = 0,
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
    from orpipe.families import Rejected
    from orpipe.instances import draw
    from orpipe.mps import write_mps
    from orpipe.render.dialects import dialects
    from orpipe.render.emit import emit
    from orpipe.render.files import data_json
    from orpipe.render.nl import REGISTERS, render_problem

    for kind, given, known in (("view", view, VIEWS), ("dialect", dialect, dialects()), ("register", register, REGISTERS)):
        if given not in known:
            raise NotFound.among(kind, given, known)
    try:
        instance = draw(family, level, seed, index, scenario_id=scenario, formulation=formulation)
    except Rejected as refused:
        raise UsageError(f"the sampler of '{family}' refuses this draw ({refused}); try another --index") from None
    match view:
        case "text" | "tables":
            put(render_problem(instance, register, view).text)  # type: ignore[arg-type]
        case "files":
            files = {"data.json": data_json(instance.linear, instance.data)}
            put(render_problem(instance, register, "json").text + "\n" + file_blocks(files))
        case "latex":
            put(model_tex(instance.linear))
        case "algebra":
            put(model_text(instance.linear))
        case "code":
            put(emit(instance.linear, instance.data, dialect))
        case "data":
            put(json.dumps(instance.data, indent=2, ensure_ascii=False))
        case "mps":
            put(write_mps(instance.problem))


@app.command(name="audit", epilog="Examples: `orpipe audit data/out` · `orpipe audit data/out --json`")
def audit_command(
    folder: Annotated[Path, typer.Argument(help="Dataset folder.")],
    workers: Annotated[int, typer.Option(min=1, help="Programs that run at a time.")] = os.cpu_count() or 1,
    as_json: JsonFlag = False,
) -> None:
    """Re-check a finished dataset from its files alone; exit 1 on any fault, 3 if something could not be decided here."""
    from orpipe.build.audit import audit
    from orpipe.build.audit_records import open_manifest

    counts = open_manifest(folder).counts
    totals = {f"check  {config}": sum(counts[config].values()) for config in ("instances", "sft", "cpt", "preference")}
    with bars(totals) as advance:
        found = audit(folder, workers=workers, progress=lambda config: advance(f"check  {config}", 1))
    if as_json:
        put_json({"checks": dict(sorted(found.checks.items())), "faults": [asdict(f) for f in found.faults],
                  "undecided": [asdict(f) for f in found.undecided]})
    else:
        names = sorted(found.checks.keys() | {f.check for f in [*found.faults, *found.undecided]})
        put_table(["check", "passed", "faults", "undecided"], [
            [name, found.checks[name], sum(f.check == name for f in found.faults), sum(f.check == name for f in found.undecided)]
            for name in names], title=str(folder))
        for kind, notes in (("fault", found.faults), ("undecided", found.undecided)):
            for f in notes[:20]:
                put(f"{kind}: {f.config} {f.id}: {f.check}: {f.detail}")
            if len(notes) > 20:
                put(f"and {len(notes) - 20} more; --json lists all")
    if found.faults or found.undecided:
        raise typer.Exit(1 if found.faults else 3)


@app.command(name="push", epilog="Examples: `orpipe push data/out me/or-data --dry-run` · `orpipe push data/out me/or-data --public`")
def push_command(
    folder: Annotated[Path, typer.Argument(help="Dataset folder.")],
    repo: Annotated[str, typer.Argument(help="owner/name on the hub.")],
    public: Annotated[bool, typer.Option("--public", help="Make the repository public (default private).")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be uploaded and deleted.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Push a dataset to the Hugging Face hub, read it back and compare (--dry-run asks the hub what it holds, too).

    The token is taken from HF_TOKEN or `hf auth login`."""
    from orpipe.build.hub import push

    report = push(folder, repo, private=not public, dry_run=dry_run)
    if as_json:
        put_json(report)
        return
    would = "would be " if dry_run else ""
    put(f"{report.url}: {len(report.uploaded)} of {report.files} files {would}uploaded, {len(report.deleted)} {would}deleted")
    put_table(["config", "split", "rows here", "rows on the hub"], [[s.config, s.split, s.local, s.remote] for s in report.splits])


@app.command(epilog="Example: `orpipe doctor --json`")
def doctor(as_json: JsonFlag = False) -> None:
    """Show versions, solvers and sandbox layers, what is missing and how to get it; exit 3 if something essential is."""
    from orpipe.doctor import diagnose, essential_missing

    findings = diagnose()
    if as_json:
        put_json([asdict(f) for f in findings])
    else:
        put_table(["area", "name", "state", "detail", "remedy"], [[f.area, f.name, f.state, f.detail, f.remedy] for f in findings])
    if missing := essential_missing(findings):
        raise EnvironmentError_(f"missing {', '.join(f.name for f in missing)}; see the remedies above")


app.command(name="verify", epilog=VERIFY_EPILOG)(verify)
app.command(name="solve", epilog=SOLVE_EPILOG)(solve)
app.command(name="compare", epilog=COMPARE_EPILOG)(compare)
app.command(name="serve", epilog=SERVE_EPILOG)(serve)
app.add_typer(bench_app, name="bench")


if __name__ == "__main__":
    main()
