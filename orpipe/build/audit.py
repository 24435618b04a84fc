"""Auditing a finished dataset from its files alone: nothing that the generator held in memory is trusted.

For each instance: the MPS is read and solved by OR-Tools (never the first solver) and read again by our exact reader; the
data are grounded anew and must give the same matrix; the stored solution is checked in exact arithmetic, and so is what the
row says about it (audit_facts).  For each example
and document: every whole program in it is run in the sandbox and must build that matrix and print the label (a faulty
program: what the metadata say it reports), and the text must say what it is there to say.  Across rows: ids, splits, counts
and file hashes.

A check passes, finds a fault, or is undecided (a solver's limit, a sandbox that fails): never passed by default.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orpipe.build import audit_suites, quarantine
from orpipe.build.audit_claims import claim_checks
from orpipe.build.audit_instances import instance_checks
from orpipe.build.audit_records import Audit, Check, Known, Undecided, open_manifest
from orpipe.build.audit_texts import Expected, preference_checks, present, program_finding, programs, sft_checks
from orpipe.build.schema import CONFIGS, SPLITS
from orpipe.build.write import file_hashes
from orpipe.errors import OrpipeError
from orpipe.verify.crew import Promise
from orpipe.verify.sandbox import Job, Limits, Pool, Run

_PATIENCE = Limits(seconds=60.0)
_BAD_ROW = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, IndexError, OrpipeError)


def _told(made: Callable[[], Iterator[audit_suites.Told]]) -> Iterator[Check]:
    for check, finding in made():
        yield Check(check, Undecided(finding.why) if isinstance(finding, audit_suites.Open) else finding)


# -- the walk ----------------------------------------------------------------------------------------------------------
class _Walk:
    def __init__(self, folder: Path, proof_nodes: int, progress: Callable[[str], None] | None):
        self.folder, self.proof_nodes, self.progress, self.found = folder, proof_nodes, progress, Audit()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.known: dict[str, Known] = {}
        self.homes: dict[str, str] = {}  # data hash -> split
        self.stated: dict[str, audit_suites.Stated] = {}  # by structure hash

    def rows(self, config: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(split, row) of a config, file by file; unreadable files and repeated ids are faults."""
        ids: set[str] = set()
        for path in sorted((self.folder / config).glob("*.parquet")):
            split = path.name.partition("-")[0]
            try:
                with pq.ParquetFile(path) as file:
                    for batch in file.iter_batches(batch_size=200):
                        for row in batch.to_pylist():
                            self.counts[config, split] += 1
                            if "id" in CONFIGS[config].names:
                                self.found.note(config, str(row.get("id")), "unique id", "stands twice" if row.get("id") in ids else None)
                                ids.add(row.get("id"))
                            yield split, row
                            if self.progress and config not in ("rejected", "suites"):
                                self.progress(config)
            except (pa.ArrowException, OSError) as error:
                self.found.note("files", f"{config}/{path.name}", "readable", " ".join(str(error).split())[:200])

    def checks(self, config: str, id: str, made: Callable[[], Iterator[Check]]) -> None:
        """A row that cannot even be read is a fault of that row."""
        try:
            for name, finding in made():
                self.found.note(config, id, name, finding)
        except _BAD_ROW as error:
            self.found.note(config, id, "readable", f"{type(error).__name__}: {error}")

    def suites(self) -> None:
        by_structure: dict[str, list[dict[str, Any]]] = {}
        for _, row in self.rows("suites"):
            self.checks("suites", f"{row.get('structure_hash')}/{row.get('index')}", partial(_told, partial(audit_suites.row_checks, row)))
            by_structure.setdefault(str(row.get("structure_hash")), []).append(row)
        for key, rows in by_structure.items():
            self.checks("suites", key, partial(_told, partial(audit_suites.suite_checks, rows)))
            with contextlib.suppress(*_BAD_ROW):
                self.stated[key] = audit_suites.stated(rows)

    def instances(self) -> None:
        for split, row in self.rows("instances"):
            self.checks("instances", str(row.get("id")), partial(self._shares, row))
            self.checks("instances", str(row.get("id")), partial(instance_checks, row, self.proof_nodes))
            self.checks("instances", str(row.get("id")), partial(self._remember, row, split))

    def _shares(self, row: Mapping[str, Any]) -> Iterator[Check]:
        yield Check("discrimination", audit_suites.instance_finding(row, self.stated))

    def _remember(self, row: Mapping[str, Any], split: str) -> Iterator[Check]:
        self.known[row["id"]] = Known.of(row, split)
        home = self.homes.setdefault(row["data_hash"], split)
        yield Check("one split", None if home == split else f"the same data stand in '{home}' and in '{split}'")

    def quarantined(self, stated: int | None) -> None:
        """Disagreements are whole, as many as the manifest says, and every file of the quarantine belongs to one."""
        named: set[str] = set()
        seen = 0
        for _, row in self.rows("rejected"):
            if row.get("reason") == quarantine.REASON:
                self.checks("rejected", f"{row['family']} L{row['level']} {row['seed']}", partial(self._disagreement, row))
                named.add(quarantine.kept_as(row))
                seen += 1
        if stated is not None:
            self.found.note("files", "manifest.json", "disagreements counted",
                            None if seen == stated else f"{seen} in 'rejected', the manifest says {stated}")
        for path in sorted((self.folder / quarantine.FOLDER).glob("*")):
            if path.name not in named:
                self.found.note("files", f"{quarantine.FOLDER}/{path.name}", "disagreement quarantined", "no row of rejected names it")

    def _disagreement(self, row: Mapping[str, Any]) -> Iterator[Check]:
        yield Check("disagreement quarantined", quarantine.fault(self.folder, row))

    def texts(self, config: str, pool: Pool, ahead: int) -> None:
        waiting: deque[tuple[Expected, Promise[Run]]] = deque()
        for split, row in self.rows(config):
            self.checks(config, str(row.get("id")), partial(self._text, config, row, split))
            try:
                known = self.known[row["instance_id"]]
                waiting.extend((e, pool.submit(Job(e.code, e.files))) for e in programs(config, row, known))
            except _BAD_ROW:
                continue  # told by _text
            while len(waiting) > ahead:
                self._settle(config, pool, *waiting.popleft())
        while waiting:
            self._settle(config, pool, *waiting.popleft())

    def _text(self, config: str, row: Mapping[str, Any], split: str) -> Iterator[Check]:
        known = self.known.get(row["instance_id"])
        yield Check("instance known", None if known else f"instance {row['instance_id']} is not in the dataset")
        if known is None:
            return
        yield Check("split by instance", None if known.split == split else f"its instance is in '{known.split}', not '{split}'")
        if config == "sft":
            yield from sft_checks(row, known)
        elif config == "preference":
            yield from preference_checks(row, known)
        if config in ("sft", "preference"):
            yield from claim_checks(row, known)
        yield Check("program present", present(row, programs(config, row, known)))

    def _settle(self, config: str, pool: Pool, expected: Expected, promise: Promise[Run]) -> None:
        run = promise.result()
        if run.outcome == "sandbox":
            run = pool.run(expected.code, expected.files)
        name = "faulty program reports what is stated" if expected.faulty else "program builds the model and prints the label"
        self.checks(config, expected.id, lambda: iter([Check(name, program_finding(run, expected))]))


def audit(folder: Path, *, workers: int = 1, pool: Pool | None = None, progress: Callable[[str], None] | None = None) -> Audit:
    """Re-check a dataset folder; `progress` hears the config of every row.  Programs run in `pool`, by default one of
    `workers`.  UsageError if the folder is no dataset."""
    manifest = open_manifest(folder)
    walk = _Walk(folder, manifest.proof_nodes, progress)
    found, hashes = walk.found, file_hashes(folder)
    for name in sorted(manifest.sha256.keys() | hashes.keys()):
        what = "is missing" if name not in hashes else "is not in the manifest" if name not in manifest.sha256 else "differs from the manifest"
        found.note("files", name, "file hash", None if manifest.sha256.get(name) == hashes.get(name) else what)
    walk.suites()
    walk.instances()
    with contextlib.nullcontext(pool) if pool else Pool(workers=workers, limits=_PATIENCE) as running:
        for config in ("sft", "cpt", "preference"):
            walk.texts(config, running, ahead=8 * running.workers)
    walk.quarantined(manifest.disagreements)
    for config in CONFIGS:
        for split in dict.fromkeys([*SPLITS, *manifest.counts[config], *(s for c, s in walk.counts if c == config)]):
            stated, seen = manifest.counts[config].get(split, 0), walk.counts[config, split]
            found.note(config, split, "row count", None if seen == stated else f"{seen} rows, the manifest says {stated}")
    return found
