"""`orpipe bench`: measure parts of orpipe here and now."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from orpipe.console import put_json, put_table, say
from orpipe.errors import UsageError

app = typer.Typer(help="Measure parts of orpipe here and now.", no_args_is_help=True, rich_markup_mode=None,
                  epilog="Example: `orpipe bench verifier`")
EPILOG = ("Examples: `orpipe bench verifier` · `orpipe bench verifier --levels 1 --sample 12` · "
          "`orpipe bench verifier --families knapsack,tsp --json` · `orpipe bench verifier --update-readme`")


@app.callback()
def bench() -> None:
    """Measure parts of orpipe here and now."""


@app.command(name="verifier", epilog=EPILOG)
def verifier(
    names: Annotated[str, typer.Option("--families", help="Comma-separated family names (default: all).")] = "",
    levels: Annotated[str, typer.Option(help="Levels, comma-separated.")] = "1,2,3",
    sample: Annotated[int, typer.Option(min=0, help="Mutants of one instance, of mixed operators; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    budget: Annotated[float, typer.Option(min=0.1, help="Seconds of one comparison; four times that for models from outside.")] = 8.0,
    naming: Annotated[str, typer.Option(help="What the judge sees of names: kept, families, anonymous, re-draws (anonymous, with other data).")]
    = "kept,families,anonymous,re-draws",
    workers: Annotated[int, typer.Option(min=1, help="Worker processes; milliseconds are those of a busy machine with more than one a core.")]
    = os.cpu_count() or 1,
    outside: Annotated[bool, typer.Option("--outside/--no-outside", help="Labelled pairs and references in ../shared, where they are.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    update_readme: Annotated[bool, typer.Option("--update-readme", help="Replace the table of README.md by these figures.")] = False,
) -> None:
    """Judge mutants, harmless reformulations and labelled pairs by the equivalence engine and by three simpler methods.

    Exit 1 if a verdict of ours is contradicted by the independent proof."""
    from orpipe.testing import bench_verifier as own
    from orpipe.testing import bench_verifier_tables as shown
    from orpipe.testing.command import checkout

    if update_readme and (names or sample or not outside):
        raise UsageError("the table is of the whole corpus; leave out --families, --sample and --no-outside, or --update-readme")
    try:
        numbers = [int(v) for v in levels.split(",")]
    except ValueError:
        raise UsageError(f"--levels takes numbers such as 1,2,3, not '{levels}'") from None
    readme = checkout("README.md") if update_readme else None
    if readme is not None:
        shown.with_block(readme.read_text(encoding="utf-8"), "")  # before minutes are spent
    chosen = own.chosen(names)
    tally = own.measured(chosen, numbers, sample=sample or None, seed=seed, workers=workers, budget=budget, outside=outside,
                         regimes=[r.strip() for r in naming.split(",") if r.strip()], say=lambda text: say(f"bench: {text}"))
    if readme is not None:
        readme.write_text(shown.with_block(readme.read_text(encoding="utf-8"), shown.readme_block(tally, chosen, numbers, workers)), encoding="utf-8")
    if as_json:
        put_json(shown.record(tally))
    else:
        for title, header, rows in shown.tables(tally):
            put_table(header, rows, title)
        for text in tally.skipped:
            say(f"skipped: {text}")
        for method, score in shown.by_method(tally):
            say(f"{method}: not decided or wrong: {shown.missed(score) or 'nowhere'}")
            for miss in score.misses:
                say(f"    {miss}")
        for book in tally.outside.values():
            for miss in (m for s in book.values() if s.method in own.OURS.values() for m in s.misses):
                say(f"outside: {miss}")
        for text in tally.open:
            say(f"truth open: {text}")
        for text in tally.faults:
            say(f"fault: {text}")
    if tally.faults:
        raise typer.Exit(1)
