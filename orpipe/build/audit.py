"""Auditing a finished dataset from its files alone: nothing that the generator held in memory is trusted.

For each instance: the MPS is parsed and solved by OR-Tools (never the first solver), parsed again by our exact reader, the
stored solution checked in exact arithmetic against it.  For each example and document: every whole program in it is run in the
sandbox, its captured model solved, and the optimum compared with the label (or with the faulty value the metadata state).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from orpipe.build.schema import CONFIGS
from orpipe.build.write import file_hashes
from orpipe.errors import OrpipeError, UsageError
from orpipe.ground import data_hash
from orpipe.mps import read_mps
from orpipe.solve import label
from orpipe.verify.sandbox import Job, Pool, Run
from orpipe_solvers import solve_mps_text

_FENCE = re.compile(r"```python\n(.*?)```", re.S)
_LIBRARIES = re.compile(r"^\s*(?:import|from)\s+(?:pyomo|pulp|ortools|highspy)\b", re.M)
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Fault:
    config: str
    id: str
    check: str
    detail: str


@dataclass
class Audit:
    """checks: how many of each passed; faults: everything that did not."""

    checks: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    def note(self, config: str, id: str, check: str, fault: str | None) -> None:
        if fault is None:
            self.checks[check] += 1
        else:
            self.faults.append(Fault(config, id, check, fault))


def read_rows(folder: Path, config: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(split, row) of a config, file by file."""
    for path in sorted((folder / config).glob("*.parquet")):
        file = pq.ParquetFile(path)
        for batch in file.iter_batches(batch_size=500):
            for row in batch.to_pylist():
                yield path.name.partition("-")[0], row


def audit(folder: Path, *, workers: int = 1, progress: Callable[[str, int], None] | None = None) -> Audit:
    """Re-check a dataset folder.  UsageError if it is none."""
    if not (folder / "manifest.json").is_file():
        raise UsageError(f"'{folder}' is not a dataset of orpipe (no manifest.json); name a folder written by 'orpipe generate'")
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        expected, counts = manifest["sha256"], manifest["counts"]
    except (ValueError, KeyError) as error:
        raise UsageError(f"'{folder}/manifest.json' cannot be read ({error}); the dataset is damaged") from None
    found = Audit()
    hashes = file_hashes(folder)
    for name in sorted(expected.keys() | hashes.keys()):
        found.note("files", name, "file hash", None if expected.get(name) == hashes.get(name) else "differs from the manifest, is missing or is new")
    seen: Counter[tuple[str, str]] = Counter()
    labels: dict[str, dict[str, Any]] = {}
    splits: dict[str, str] = {}
    for k, (split, row) in enumerate(read_rows(folder, "instances")):
        seen["instances", split] += 1
        labels[row["id"]] = {"status": row["status"], "objective": row["objective"]}
        splits[row["id"]] = split
        for check, fault in instance_faults(row):
            found.note("instances", row["id"], check, fault)
        if progress:
            progress("instances", k + 1)
    with Pool(workers=workers) as pool:
        for config in ("sft", "cpt"):
            _programs(folder, config, pool, labels, splits, seen, found, progress, workers)
    seen["rejected", "train"] = sum(1 for _ in read_rows(folder, "rejected"))
    for config in CONFIGS:
        for split, count in counts[config].items():
            fault = None if seen[config, split] == count else f"{seen[config, split]} rows, the manifest says {count}"
            found.note(config, split, "row count", fault)
    return found


def instance_faults(row: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """(check, fault or None) for one row of `instances`."""
    try:
        other = solve_mps_text(row["mps"])
        same = str(other.outcome) == row["status"] and (row["objective"] is None or close(other.objective, row["objective"]))
        yield "mps solved by a second reader and solver", None if same else f"{other} against {row['status']} {row['objective']}"
        problem = read_mps(row["mps"])
    except OrpipeError as error:
        yield "mps readable", str(error)
        return
    sizes = (problem.n_vars, problem.n_rows, problem.n_nonzeros, int(problem.integer.sum()), "max" if problem.maximize else "min")
    stated = (row["n_vars"], row["n_rows"], row["n_nonzeros"], row["n_int"], row["sense"])
    yield "sizes", None if sizes == stated else f"mps has {sizes}, the columns say {stated}"
    yield "data hash", None if data_hash(json.loads(row["data"])) == row["data_hash"] else "does not fit the data"
    if row["status"] == "optimal":
        values = json.loads(row["solution"])
        point = {(f"{name}[{labels}]" if labels else name): Fraction(str(v)) for name, entries in values.items() for labels, v in entries.items()}
        names = {_plain(c): c for c in problem.columns}
        try:
            x = problem.point({names[_plain(k)]: v for k, v in point.items()})
        except KeyError as error:
            yield "solution exact", f"names unknown column {error}"
            return
        broken = problem.violations(x)
        value = problem.objective(x)
        yield "solution exact", f"breaks {broken[0].where} by {broken[0].amount}" if broken else (
            None if value == Fraction(row["objective_exact"]) else f"has objective {value}, label {row['objective_exact']}")


def _plain(name: str) -> str:
    return re.sub(r"\s", "_", name)


def close(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and abs(a - b) <= _TOLERANCE * max(1.0, abs(b))


@dataclass(frozen=True)
class _Expected:
    id: str
    status: str
    objective: float | None


def whole_programs(text: str) -> list[str]:
    """Fenced blocks that import a solver library and print a result."""
    return [code for code in _FENCE.findall(text) if _LIBRARIES.search(code) and "optimal_value" in code]


def _programs(folder: Path, config: str, pool: Pool, labels: dict, splits: dict, seen: Counter, found: Audit,
              progress: Callable[[str, int], None] | None, workers: int) -> None:
    waiting: list[tuple[_Expected, Future[Run]]] = []
    for k, (split, row) in enumerate(read_rows(folder, config)):
        seen[config, split] += 1
        known = labels.get(row["instance_id"])
        found.note(config, row["id"], "instance known", None if known else f"instance {row['instance_id']} is not in the dataset")
        if known is None:
            continue
        found.note(config, row["id"], "split by instance", None if splits[row["instance_id"]] == split else "is in another split than its instance")
        if config == "sft":
            same = known["status"] == row["status"] and known["objective"] == row["objective"]
            found.note(config, row["id"], "label as instance", None if same else "differs from the label of its instance")
        for text, files, expected in _texts(config, row, known):
            for code in whole_programs(text):
                waiting.append((expected, pool.submit(Job(code, files))))
        while len(waiting) > 8 * workers:
            _settle(config, *waiting.pop(0), found)
        if progress:
            progress(config, k + 1)
    for item in waiting:
        _settle(config, *item, found)


def _texts(config: str, row: dict[str, Any], known: dict[str, Any]) -> Iterator[tuple[str, dict[str, str], _Expected]]:
    right = _Expected(row["id"], known["status"], known["objective"])
    if config == "cpt":
        files = {name: body + "\n" for name, body in re.findall(r"\*\*([\w.]+)\*\*\n```(?:json|csv)\n(.*?)\n```", row["text"], re.S)}
        yield row["text"], files, right
        return
    files, meta = json.loads(row["files"]), json.loads(row["metadata"])
    faulty = meta.get("faulty_objective")
    wrong = _Expected(row["id"], meta.get("faulty_status", ""), None if faulty is None else float(Fraction(faulty)))
    for message in row["messages"]:
        yield message["content"], files, right if message["role"] == "assistant" else wrong


def _settle(config: str, expected: _Expected, future: Future[Run], found: Audit) -> None:
    run = future.result()
    found.note(config, expected.id, "program runs and builds the labelled model", _program_fault(run, expected))


def _program_fault(run: Run, expected: _Expected) -> str | None:
    if run.captured is None:
        return f"program ended as {run.outcome}: {run.message or run.exception}"
    result = label(run.captured.problem())
    if not result.accepted:
        return f"its model has no label ({result.reason}: {result.detail})"  # type: ignore[union-attr]
    if result.status != expected.status:  # type: ignore[union-attr]
        return f"its model is {result.status}, the label says {expected.status}"  # type: ignore[union-attr]
    if expected.status == "optimal" and not close(result.objective, expected.objective):  # type: ignore[union-attr]
        return f"its model has optimum {result.objective}, the label says {expected.objective}"  # type: ignore[union-attr]
    return None
