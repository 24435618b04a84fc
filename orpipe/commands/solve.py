"""`orpipe solve`: model files, solved and cross-checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orpipe.console import OrpipeStopped, put, put_json, put_table, say
from orpipe.errors import UsageError

if TYPE_CHECKING:
    from orpipe.settle_file import Settled

EPILOG = ("Examples: `orpipe solve model.lp` · `orpipe solve models/ --solvers highs,scip --certify`"
          " · `orpipe solve a.mps.gz --json --out found.json`")


def solve(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|DIR...", help="LP and MPS files (.gz too), or folders of them.", show_default=False)],
    solvers: Annotated[str | None, typer.Option(help="Comma-separated solvers, each asked (default: by kind, until two families agree).")] = None,
    certify: Annotated[bool, typer.Option("--certify", help="Prove the outcome in exact arithmetic, and whether the optimum is unique.")] = False,
    time_limit: Annotated[float, typer.Option(min=0.001, help="Seconds a solver may take for a file, and an exact proof.")] = 60.0,
    out: Annotated[Path | None, typer.Option(help="Write the JSON to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Solve model files: outcome, objective, kind of proof, seconds per solver.

    An outcome stands only where two solver families agree or an exact proof was made. Exit 0 if every file has one, else 1; what was wrong with
    a file is its message, and the others go on. Ctrl-C ends at once and keeps what is done."""
    from orpipe.model_files import model_files
    from orpipe.settle_apart import Apart
    from orpipe.settle_file import Settled

    names = None if solvers is None else list(dict.fromkeys(x.strip() for x in solvers.split(",") if x.strip()))
    if names is not None and not names:
        raise UsageError("--solvers names none; write for example --solvers highs,scip")
    todo: dict[Path, Settled | None] = {}
    for path in paths:
        try:
            todo |= {file: None for file in model_files(path) if file not in todo}
        except (UsageError, OSError) as error:
            todo[path] = Settled(str(path), "unreadable", message=str(error))
    found: list[Settled] = []
    stopped = False
    with _kept(out) as keep:
        try:
            with Apart(names, certified=certify, time_limit=time_limit) as apart:
                for file, known in todo.items():
                    found.append(known or apart.settle(file))
        except KeyboardInterrupt:
            stopped = True
        if found or not stopped:
            keep(json.dumps([s.record() for s in found], indent=2, ensure_ascii=False) + "\n")
    if as_json:
        put_json([s.record() for s in found])
    elif found:
        _show(found, certify)
    if stopped:
        raise OrpipeStopped(f"stopped; {len(found)} of {len(todo)} files are done" + (f" and kept in '{out}'" if out and found else ""))
    if not all(s.decided for s in found):
        raise typer.Exit(1)


@contextmanager
def _kept(out: Path | None) -> Iterator[Callable[[str], object]]:
    """What writes the file `out`, known to be writable before anything is solved; it replaces an old one only when written
    whole.  The folder is made.  UsageError or OSError where it cannot be."""
    if out is None:
        yield lambda text: None
        return
    if out.is_dir():
        raise UsageError(f"--out '{out}' is a folder; name a file in it")
    if out.exists() and not out.is_file():  # a pipe or a terminal
        yield lambda text: out.write_text(text, encoding="utf-8")
        return
    if not out.parent.is_dir():
        out.parent.mkdir(parents=True)
        say(f"folder '{out.parent}' is made for the findings")
    real = out.resolve()  # a link stays one
    part = real.with_name(f"{real.name}.part")
    part.touch()
    try:
        yield lambda text: part.write_text(text, encoding="utf-8") and part.replace(real)
    finally:
        part.unlink(missing_ok=True)


def _show(found: list[Settled], certified: bool) -> None:
    names = list(dict.fromkeys(c.name for s in found for c in s.solvers))
    rows = []
    for s in found:
        claims = {c.name: c for c in s.solvers}
        cells = [None if (c := claims.get(n)) is None else c.outcome if not c.seconds else f"{c.seconds:.3f}" if c.outcome == s.outcome
                 else f"{c.outcome} {c.seconds:.3f}" for n in names]
        exact = s.objective_exact if s.objective_exact and len(s.objective_exact) <= 16 else None if s.objective is None else f"{s.objective:.12g}"
        rows.append([s.file, s.outcome, exact, s.certificate, *([s.unique] if certified else []), *cells])
    put_table(["file", "outcome", "objective", "certificate", *(["unique"] if certified else []), *(f"{n}, s" for n in names)], rows)
    for s in found:
        if s.message:
            put(f"{s.file}: {s.message}")
