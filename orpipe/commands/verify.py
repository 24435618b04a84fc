"""`orpipe verify`: judge a file of answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from orpipe import __version__
from orpipe.console import put_json, put_table, say
from orpipe.errors import UsageError

EPILOG = ("Examples: `orpipe verify outputs.jsonl --out verdicts.jsonl` · `orpipe verify outputs.jsonl --preset nl4opt --labels nl4opt.jsonl`"
          " · `orpipe verify data/out --out own.jsonl --split test`")


def verify(
    file: Annotated[Path, typer.Argument(help="Answers: .jsonl, .json, .parquet, .arrow or a dataset folder.", show_default=False)],
    output: Annotated[Path, typer.Option("--out", help="Verdicts, one JSON line an answer; taken up where it was left.")] = Path("verdicts.jsonl"),
    workers: Annotated[int, typer.Option(min=1, help="Programs run at a time.")] = os.cpu_count() or 1,
    timeout: Annotated[float, typer.Option(help="Seconds (wall clock) that a program may run.")] = 20.0,
    solve_timeout: Annotated[float | None, typer.Option(help="Seconds of our own solve of its model (default: as --timeout).")] = None,
    memory: Annotated[int, typer.Option(min=256, help="MiB of address space that a program may use.")] = 2048,
    tolerance: Annotated[float, typer.Option(help="Relative tolerance of the optimum.")] = 1e-6,
    strict: Annotated[bool, typer.Option("--strict", help="Labels exactly as printed; programs must end well and call their own functions.")] = False,
    algebra: Annotated[bool, typer.Option("--algebra", help="Judge answers without a program by their formulation, where a reference is.")] = False,
    judge: Annotated[Literal["equivalence", "optimum"], typer.Option(
        help="equivalence: compare with the reference model where there is one; optimum: never.")] = "equivalence",
    budget: Annotated[float, typer.Option(help="Seconds of one comparison with a reference model.")] = 5.0,
    probes: Annotated[bool, typer.Option("--probes", help="Accept as equivalent what many probes could not tell apart.")] = False,
    redraw: Annotated[int | None, typer.Option(min=0, help="Hidden data sets on which a program that passed is run again (default: 3 "
                                               "for programs that read data files, where the dataset has suites).")] = None,
    require_isolation: Annotated[Literal["full", "best"], typer.Option(help="full: refuse to run with less than every layer.")] = "best",
    preset: Annotated[str, typer.Option(help="Public layout: nl4opt, mamo, industryor, optmath, optibench, bench4opt, orpipe.")] = "",
    labels: Annotated[Path | None, typer.Option(help="File or folder with the labels, joined by index, question or position.")] = None,
    benchmark: Annotated[str, typer.Option(help="Name of the benchmark, for the report.")] = "",
    split: Annotated[str, typer.Option(help="Split of a dataset folder.")] = "",
    config: Annotated[str, typer.Option(help="Config of a dataset folder.")] = "",
    response_field: Annotated[str, typer.Option(help="Field with the model's output.")] = "",
    question_field: Annotated[str, typer.Option(help="Field with the problem text.")] = "",
    label_field: Annotated[str, typer.Option(help="Field with the right answer.")] = "",
    data_field: Annotated[str, typer.Option(help="Field with data.json or the data files.")] = "",
    index_field: Annotated[str, typer.Option(help="Field that names the problem.")] = "",
    sample_field: Annotated[str, typer.Option(help="Field that numbers the samples of a problem.")] = "",
    reference_field: Annotated[str, typer.Option(help="Field with a reference model (LP or MPS text).")] = "",
    family_field: Annotated[str, typer.Option(help="Field with the problem's family.")] = "",
    level_field: Annotated[str, typer.Option(help="Field with the problem's level.")] = "",
    k: Annotated[str, typer.Option("--k", help="Which pass@k, such as 1,8,64 (default: as the samples allow).")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Also write the report to this .md or .json file.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first answers.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start --out anew, whatever it holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of tables.")] = False,
) -> None:
    """Judge what models wrote: run each program confined, capture the model it builds, solve that ourselves.

    Prints pass@1 and pass@k with intervals, and the failures. Can be stopped and run again; exit 0 when every answer was judged."""
    from orpipe.verify.answers import open_answers
    from orpipe.verify.judge import Judge, Limits
    from orpipe.verify.run import judge_file

    given = {"response": response_field, "question": question_field, "label": label_field, "data": data_field, "index": index_field,
             "sample": sample_field, "reference": reference_field, "family": family_field, "level": level_field}
    ks = _ks(k)
    if report is not None and report.suffix not in (".md", ".json"):
        raise UsageError(f"--report '{report}' must end in .md or .json")
    answers = open_answers(file, preset=preset, given=given, labels=labels, benchmark=benchmark, split=split, config=config,
                           algebra=algebra)
    for line in answers.said:
        say(line)
    if not output.parent.is_dir():
        say(f"folder '{output.parent}' is made for the verdicts")
    with (
        Judge(workers, timeout=timeout, tolerance=tolerance, strict=strict, isolation=require_isolation, solve_timeout=solve_timeout,
              limits=Limits(memory=memory << 20), rule=judge, budget=budget, probes=probes, redraw=redraw, suites=answers.suites(),
              algebra=algebra) as referee,
        _progress() as advance,
    ):
        tally = judge_file(referee, answers, output, overwrite=overwrite, limit=limit, progress=advance, said=say)
    settings = {"judge": judge, "tolerance": str(referee.policy), "timeout": f"{timeout:g} s", "orpipe": __version__, "verdicts": str(output)}
    found = tally.report(ks, seed, settings)
    if report is not None:
        import json

        text = found.markdown() if report.suffix == ".md" else json.dumps(found.record(), indent=2, ensure_ascii=False) + "\n"
        report.write_text(text, encoding="utf-8")
    if as_json:
        put_json(found.record())
        return
    put_table(["what", "figure"], found.summary(), title=str(file))
    for title, columns, rows in found.tables():
        put_table(columns, rows, title=title)


def _ks(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = (0,)
    if any(value < 1 for value in found):
        raise UsageError(f"--k '{text}' is not a list of positive numbers; write for example 1,8,64")
    return found


def _progress() -> Any:
    """A context whose value is called with the verdict of each row: a live line on stderr, if that is a terminal."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    @contextmanager
    def line() -> Any:
        console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.completed:.0f} judged"), TextColumn("{task.fields[passed]} right"),
                   TextColumn("{task.fields[speed]:.0f}/s"), TimeElapsedColumn())
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            task = progress.add_task("verify", total=None, passed=0, speed=0.0)
            passed = 0

            def advance(right: bool) -> None:
                nonlocal passed
                passed += right
                progress.update(task, advance=1, passed=passed, speed=progress.tasks[0].speed or 0.0)

            yield advance

    return line()
