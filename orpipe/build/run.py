"""A whole run: plan -> slots on workers -> merge in order -> files.  Can be killed at any point and run again.

Finished chunks of slots are kept beside the output folder (<out>.work/<recipe and sources>/) until the dataset is complete;
the output folder itself appears in one move, so a folder with a manifest is always a finished dataset.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import logging
import os
import resource
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orpipe
from orpipe import __version__
from orpipe.build import quarantine
from orpipe.build.card import card
from orpipe.build.gates import Duplicates
from orpipe.build.infeasible import TIGHT
from orpipe.build.plan import Slot, plan
from orpipe.build.slot import Made, make_slot
from orpipe.build.workers import PATIENCE, Chunk, Crew, Step, read_chunk
from orpipe.build.write import DatasetWriter, file_hashes, write_json
from orpipe.config import Recipe
from orpipe.errors import OrpipeError, UsageError
from orpipe.resources import reference, templates
from orpipe.suites import Shelf, suite_rows
from orpipe.verify.sandbox import Pool

log = logging.getLogger(__name__)
CHUNK = 4
_HOPELESS = 40  # faults of ours before the first accepted draw: a run does not go on for hours to say so
PACKAGES = ("highspy", "ortools", "pyomo", "pulp", "numpy", "scipy", "pyarrow", "jinja2")


@dataclass
class Summary:
    """What a run did.  seconds: by stage, added over workers (and over earlier runs that this one went on with); wall: elapsed;
    peak_mb: largest resident memory of one process; resumed: slots taken from an earlier run; shortfall: slots without an
    acceptable draw; faults: draws that ended in an error of ours; tight: instances that are infeasible variants of others;
    discrimination: means over instances (see docs/dataset.md), empty without suites."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    attempted: int = 0
    accepted: int = 0
    replayed: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    wall: float = 0.0
    workers: int = 1
    peak_mb: float = 0.0
    resumed: int = 0
    shortfall: int = 0
    faults: int = 0
    tight: int = 0
    discrimination: dict[str, float] = field(default_factory=dict)


Progress = Callable[[Step], None]


def recipe_hash(recipe: Recipe) -> str:
    """16 hex digits of a resolved recipe and the generator's version."""
    text = json.dumps([__version__, recipe.model_dump(mode="json")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def versions() -> dict[str, str]:
    return {"orpipe": __version__, **{p: version(p) for p in PACKAGES}}


@cache
def sources() -> str:
    """16 hex digits of everything of ours that decides a byte: modules, templates, reference data."""
    solvers = importlib.import_module("orpipe_solvers")
    packages = {"orpipe": Path(orpipe.__file__).parent, "solvers": Path(str(solvers.__file__)).parent}
    roots = {**packages, "templates": templates(), "reference": reference()}
    found = hashlib.sha256()
    for name, root in roots.items():
        for path in sorted(p for p in root.rglob("*") if p.is_file() and p.suffix != ".pyc"):
            inside = path.relative_to(root).as_posix()
            if not inside.startswith("_share/"):
                found.update(f"{name}/{inside}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def run(recipe: Recipe, out: Path, *, workers: int = 1, overwrite: bool = False, progress: Progress | None = None) -> Summary:
    """Generate the dataset of a recipe into `out`; `progress` hears of every slot.  Raises UsageError if `out` holds something
    else (unless overwrite) or another process writes it, EnvironmentError_ or OSError if the machine fails: run again."""
    recipe = recipe.resolved()
    guard(out, overwrite)
    start = time.perf_counter()
    slots = plan(recipe)
    place = out.resolve()
    with _claimed(place) as claimed:
        work = claimed / hashlib.sha256(json.dumps([recipe_hash(recipe), versions(), sources(), CHUNK]).encode()).hexdigest()[:16]
        work.mkdir(exist_ok=True)
        target = work / "dataset"
        shutil.rmtree(target, ignore_errors=True)
        summary = _write(recipe, slots, work, target, workers, progress)
        summary.wall = time.perf_counter() - start
        summary.peak_mb = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
        write_json(target / "timings.json", asdict(summary))
        if place.exists():
            shutil.rmtree(place)
        target.rename(place)
        shutil.rmtree(claimed, ignore_errors=True)
    return summary


def _write(recipe: Recipe, slots: list[Slot], work: Path, target: Path, workers: int, progress: Progress | None) -> Summary:
    writer, summary, gate = DatasetWriter(target), Summary(workers=workers), _Gate()
    shelf = Shelf(work, recipe.seed, recipe.proof_nodes)
    redo, structures, shares = _Redo(recipe, shelf), set[tuple[str, str]](), _Shares()
    try:
        for slot, made in zip(slots, _results(recipe, slots, work, workers, summary, progress), strict=True):
            made = gate.admit(made, slot, redo)
            for config in ("instances", "sft", "cpt", "preference", "rejected"):
                rows = getattr(made, config)
                writer.add(config, made.split, rows if config != "rejected" else quarantine.lay_down(target, rows))
            structures.update((row["family"], row["structure_hash"]) for row in made.instances if row["survivors"] is not None)
            shares.add(made.instances)
            summary.tight += sum(row["id"].endswith(TIGHT) for row in made.instances)
            _tally(summary, made)
            if summary.faults >= _HOPELESS and not summary.accepted:
                last = next(row for row in reversed(made.rejected) if row["reason"].startswith("internal error"))
                raise OrpipeError(f"every one of the first {summary.faults} draws ended in an error of orpipe; nothing is written. The last: "
                                  f"{last['family']}, level {last['level']}, seed {last['seed']}, {last['stage']}: {last['detail']}; "
                                  "please report it")
        for family, key in sorted(structures):
            suite = shelf.of_structure(family, key)
            writer.add("suites", "test", suite_rows(suite))
            met = [{"stage": quarantine.SUITES, "reason": quarantine.REASON, "family": family, "level": 0, "seed": recipe.seed, "detail": told}
                   for told in suite.disagreements]
            writer.add("rejected", "train", quarantine.lay_down(target, met))
            _count(summary, met)
    finally:
        redo.close()
    summary.counts = writer.close()
    summary.discrimination = shares.means()
    manifest = {
        "name": recipe.name, "generator": __version__, "recipe": recipe.model_dump(mode="json"), "recipe_hash": recipe_hash(recipe),
        "sources": sources(), "versions": versions(), "counts": summary.counts, "attempted": summary.attempted,
        "accepted": summary.accepted, "rejected": summary.rejected,
        "disagreements": quarantine.count(summary.rejected), "replayed": summary.replayed,
        "discrimination": summary.discrimination, "sha256": file_hashes(target),
    }
    write_json(target / "manifest.json", manifest)
    (target / "README.md").write_text(card(recipe, manifest), encoding="utf-8")
    return summary


def finished(out: Path, recipe: Recipe) -> Summary | None:
    """What was done for `out`, if that is the finished dataset of exactly this recipe, made by these sources and versions."""
    try:
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        same = (manifest["recipe_hash"], manifest["sources"], manifest["versions"]) == (recipe_hash(recipe.resolved()), sources(), versions())
        return Summary(**json.loads((out / "timings.json").read_text(encoding="utf-8"))) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def guard(out: Path, overwrite: bool) -> None:
    """UsageError if a dataset must not be written to `out`.  Only what orpipe wrote is ever replaced."""
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir():
        raise UsageError(f"'{out}' is a file; name a folder with --out")
    if not any(out.iterdir()):
        return
    try:
        ours = "recipe_hash" in json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        ours = False
    if not ours:
        raise UsageError(f"'{out}' holds files that orpipe did not write; empty it yourself or choose another --out")
    if not overwrite:
        raise UsageError(f"'{out}' already holds a dataset of another recipe or version; choose another --out, or --overwrite to replace it")


@contextmanager
def _claimed(place: Path) -> Iterator[Path]:
    """The work folder of an output folder, for one process at a time: the lock goes with the process that holds it."""
    claimed = place.with_name(f"{place.name}.work")
    claimed.mkdir(parents=True, exist_ok=True)
    with (claimed / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another orpipe is writing '{place}'; wait for it or choose another --out") from None
        yield claimed


def _results(recipe: Recipe, slots: list[Slot], work: Path, workers: int, summary: Summary, progress: Progress | None) -> Iterator[Made]:
    """In slot order; finished chunks are read from disk, the others made and stored by workers first."""
    chunks = [Chunk(k, tuple(slots[first:first + CHUNK]), work / f"chunk-{k:06d}.json.gz") for k, first in enumerate(range(0, len(slots), CHUNK))]
    stored = {chunk.number for chunk in chunks if chunk.path.exists()}
    with Crew(recipe, workers, progress) as crew:
        crew.add(chunk for chunk in chunks if chunk.number not in stored)
        for chunk in chunks:
            fresh = chunk.number not in stored
            if fresh:
                crew.until(chunk.number)
            content = read_chunk(chunk.path)
            if content is None:
                log.warning("%s is damaged; made again", chunk.path.name)
                fresh = True
                crew.done.discard(chunk.number)
                crew.add([chunk])
                crew.until(chunk.number)
                content = read_chunk(chunk.path)
                if content is None:
                    raise OSError(5, "a file that was just written cannot be read back", os.fspath(chunk.path))
            if not fresh:
                summary.resumed += len(content)
                for made in content:
                    if progress:
                        progress(Step.of(made))
            yield from content


class _Shares:
    """Means of the columns about discrimination, over instances."""

    def __init__(self) -> None:
        self.sums: dict[str, tuple[float, int]] = {}

    def add(self, instances: list[dict[str, Any]]) -> None:
        for row in instances:
            for which in ("headline", "suite"):
                if (share := row[f"discrimination_{which}"]) is not None:
                    total, count = self.sums.get(which, (0.0, 0))
                    self.sums[which] = (total + share, count + 1)

    def means(self) -> dict[str, float]:
        return {which: round(total / count, 6) for which, (total, count) in self.sums.items()}


class _Redo:
    """Makes a slot again in this process, from a later draw; started only when needed."""

    def __init__(self, recipe: Recipe, shelf: Shelf):
        self.recipe, self.shelf = recipe, shelf
        self.pool: Pool | None = None

    def __call__(self, slot: Slot, first: int) -> Made:
        self.pool = self.pool or Pool(workers=1, limits=PATIENCE)
        return make_slot(self.recipe, slot, self.pool, first, self.shelf)

    def close(self) -> None:
        if self.pool:
            self.pool.close()


class _Gate:
    """Refuses slots that repeat an earlier slot's instance or text, in slot order, and has them made again."""

    def __init__(self) -> None:
        self.held = Duplicates()

    def admit(self, made: Made, slot: Slot, redo: Callable[[Slot, int], Made]) -> Made:
        while made.instances and (reason := self.held.reason(made.instances, made.sft, made.cpt)):
            first, earlier = made.instances[0], made
            refused = {"stage": "duplicate", "reason": reason, "family": slot.family, "level": slot.level, "seed": first["seed"],
                       "detail": f"{first['id']}, data {first['data_hash']}"}
            made = redo(slot, earlier.attempt + 1)
            made.rejected = [*earlier.rejected, refused, *made.rejected]
            made.attempted += earlier.attempted
            made.replayed += earlier.replayed
            made.faults += earlier.faults
            for stage, seconds in earlier.seconds.items():
                made.seconds[stage] = made.seconds.get(stage, 0.0) + seconds
        return made


def _count(summary: Summary, rejected: list[dict[str, Any]]) -> None:
    reasons = Counter(summary.rejected)
    reasons.update(f"{r['stage']}: {r['reason']}" for r in rejected)
    summary.rejected = dict(sorted(reasons.items()))


def _tally(summary: Summary, made: Made) -> None:
    summary.attempted += made.attempted
    summary.accepted += made.accepted
    summary.replayed += made.replayed
    summary.faults += made.faults
    summary.shortfall += not made.accepted
    _count(summary, made.rejected)
    for stage, seconds in made.seconds.items():
        summary.seconds[stage] = summary.seconds.get(stage, 0.0) + seconds
