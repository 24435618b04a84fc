"""`orpipe solve`: model files, solved and cross-checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orpipe.console import put, put_json, put_table
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
    a file is its message, and the others go on."""
    from orpipe.model_files import model_files
    from orpipe.settle_file import Settled, settle_file
    from orpipe.solve import solver

    names = None if solvers is None else list(dict.fromkeys(x.strip() for x in solvers.split(",") if x.strip()))
    if names is not None and not names:
        raise UsageError("--solvers names none; write for example --solvers highs,scip")
    for name in names or ():
        solver(name)
    found: list[Settled] = []
    seen: set[Path] = set()
    for path in paths:
        try:
            files = model_files(path)
        except (UsageError, OSError) as error:
            found.append(Settled(str(path), "unreadable", message=str(error)))
            continue
        for file in files:
            if file not in seen:
                found.append(settle_file(file, names, certified=certify, time_limit=time_limit))
                seen.add(file)
    records = [s.record() for s in found]
    if out is not None:
        out.write_text(json.dumps(records, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if as_json:
        put_json(records)
    else:
        _show(found, certify)
    if not all(s.decided for s in found):
        raise typer.Exit(1)


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
