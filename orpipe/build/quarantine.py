"""Disagreements, kept: two solvers that contradict each other, or a solver that an exact proof contradicts.

The row of `rejected` holds both results and the command that shows it again; the problem lies beside the dataset's tables as
an exact MPS file.  Nothing of it is ever a label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orpipe.errors import OrpipeError, Unsupported
from orpipe.mps import read_mps, write_mps
from orpipe.problem import Problem
from orpipe.solve import Result

FOLDER = "quarantine"
REASON = "disagreement"


def detail(id: str, problem: Problem, what: str, results: Iterable[Result]) -> str:
    """JSON for the row of `rejected`: detail, results, problem (path in the dataset folder), reproduce (one command, to be run
    there), and mps, the text, until `lay_down` has written it.  Without the last three if MPS cannot say the problem exactly."""
    found = list(results)
    told: dict[str, Any] = {"detail": what, "results": [r.record() for r in found]}
    try:
        text = write_mps(problem)
    except Unsupported as reason:
        return json.dumps(told | {"no_mps": str(reason)})
    path = f"{FOLDER}/{id}.mps"
    return json.dumps(told | {"problem": path, "reproduce": command(path, [r.solver for r in found]), "mps": text})


def command(path: str, solvers: Iterable[str]) -> str:
    return f"orpipe solve {path} --solvers {','.join(dict.fromkeys(solvers))} --certify"


def lay_down(folder: Path, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `rejected` as they are kept: the MPS texts of disagreements stand in files of `folder`."""
    kept = []
    for row in rows:
        kept.append(dict(row))
        if row["reason"] != REASON:
            continue
        told = json.loads(row["detail"])
        if (text := told.pop("mps", None)) is not None:
            path = folder / told["problem"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            kept[-1]["detail"] = json.dumps(told)
    return kept


def count(rejected: Mapping[str, int]) -> int:
    """Disagreements among refusals counted by "stage: reason"."""
    return sum(number for reason, number in rejected.items() if reason.partition(": ")[2] == REASON)


def fault(folder: Path, row: Mapping[str, Any]) -> str | None:
    """What a kept disagreement lacks: both results, its problem, the command that shows it."""
    told = json.loads(row["detail"])
    if not told.get("results"):
        return "no solver's result is kept"
    if told.get("no_mps"):
        return None
    path = told.get("problem", "")
    if path.partition("/")[0] != FOLDER or Path(path).name != path.partition("/")[2]:
        return f"its problem '{path}' is no file of {FOLDER}/"
    try:
        read_mps((folder / path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, OrpipeError) as error:
        return f"its problem cannot be read: {' '.join(str(error).split())}"
    wanted = command(path, [r["name"] for r in told["results"]])
    return None if told.get("reproduce") == wanted else f"its command is not '{wanted}'"
