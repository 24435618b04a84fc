"""Disagreements, kept: two solvers that contradict each other, or a solver that an exact proof contradicts.

The row of `rejected` holds both results and the command that shows it again; the problem lies beside the dataset's tables as
an exact MPS file.  Nothing of it is ever a label.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orpipe.disagreements import Disagreement
from orpipe.errors import OrpipeError, Unsupported
from orpipe.mps import read_mps, write_mps
from orpipe.problem import Problem
from orpipe.proof.digest import digest
from orpipe.solve import Result

FOLDER = "quarantine"
REASON = "disagreement"
DERIVED = "derived"  # stage of what was met on a mutant or a variant of an instance: it refuses no draw
SUITES = "suites"  # the same, of hidden data sets


def detail(id: str, problem: Problem, what: str, results: Iterable[Result]) -> str:
    """JSON for the row of `rejected`: detail (what, and every result), results, problem (path in the dataset folder), sha256 of
    that file, reproduce (one command, to be run there), and mps, the text, until `lay_down` has written it.  Without the last
    four if MPS cannot say the problem exactly."""
    found = list(results)
    if missing := [str(r) for r in found if str(r) not in what]:
        what = f"{what}; {'; '.join(missing)}"
    told: dict[str, Any] = {"detail": what, "results": [r.record() for r in found]}
    try:
        text = write_mps(problem)
    except Unsupported as reason:
        return json.dumps(told | {"no_mps": str(reason)})
    path = f"{FOLDER}/{id}.mps"
    return json.dumps(told | {"problem": path, "sha256": _hash(text), "reproduce": command(path, [r.solver for r in found]), "mps": text})


def details(id: str, clashes: Iterable[Disagreement]) -> list[str]:
    """Details of what was heard (orpipe.disagreements), each problem once, called `id`-1, `id`-2, ..."""
    found: dict[str, str] = {}
    for clash in clashes:
        if (key := digest(clash.problem)) not in found:
            found[key] = detail(f"{id}-{len(found) + 1}", clash.problem, f"{clash.about}: {clash.detail}", clash.results)
    return list(found.values())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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


def kept_as(row: Mapping[str, Any]) -> str:
    """Name of the file that a row's problem lies in; "" if it names none."""
    try:
        return Path(json.loads(row["detail"]).get("problem", "")).name
    except (ValueError, TypeError, AttributeError):
        return ""


def fault(folder: Path, row: Mapping[str, Any]) -> str | None:
    """What a kept disagreement lacks: results as they were told, its problem as it was written, the command that shows it."""
    told = json.loads(row["detail"])
    results = told.get("results")
    if not results:
        return "no solver's result is kept"
    if changed := next((r for r in results if _claim(r) not in told["detail"]), None):
        return f"its detail tells of no result '{_claim(changed)}'"
    if told.get("no_mps"):
        return None
    path = told.get("problem", "")
    if path.partition("/")[0] != FOLDER or Path(path).name != path.partition("/")[2]:
        return f"its problem '{path}' is no file of {FOLDER}/"
    try:
        text = (folder / path).read_text(encoding="utf-8")
        read_mps(text)
    except (OSError, UnicodeDecodeError, OrpipeError) as error:
        return f"its problem cannot be read: {' '.join(str(error).split())}"
    if _hash(text) != told.get("sha256"):
        return f"its problem '{path}' is not the one that was solved"
    wanted = command(path, [r["name"] for r in results])
    return None if told.get("reproduce") == wanted else f"its command is not '{wanted}'"


def _claim(record: Mapping[str, Any]) -> str:
    """A record of `results` as `str(Result)` begins."""
    value = record["objective"]
    return f"{record['name']}: {record['status']}" + ("" if value is None else f" {value:.10g}")
