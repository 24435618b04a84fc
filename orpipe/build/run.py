"""A whole run: plan -> slots on workers -> merge in order -> files.  Can be killed at any point and run again.

Finished chunks of slots are kept beside the output folder (<out>.work/<recipe>/) until the dataset is complete; the output
folder itself appears in one move, so a folder with a manifest is always a finished dataset.
"""

from __future__ import annotations

import atexit
import gzip
import hashlib
import json
import logging
import multiprocessing
import resource
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from orpipe import __version__
from orpipe.build.card import card
from orpipe.build.plan import Slot, plan
from orpipe.build.slot import Made, make_slot
from orpipe.build.write import DatasetWriter, file_hashes, write_json
from orpipe.config import Recipe
from orpipe.errors import UsageError
from orpipe.verify.sandbox import Pool

log = logging.getLogger(__name__)
CHUNK = 10
PACKAGES = ("highspy", "ortools", "pyomo", "pulp", "numpy", "scipy", "pyarrow", "jinja2")


@dataclass
class Summary:
    """What a run did.  seconds: by stage, added over workers; wall: elapsed; peak_mb: largest resident memory of one process."""

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


Progress = Callable[[Made], None]


def recipe_hash(recipe: Recipe) -> str:
    """16 hex digits of a resolved recipe and the generator's version."""
    text = json.dumps([__version__, recipe.model_dump(mode="json")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(recipe: Recipe, out: Path, *, workers: int = 1, overwrite: bool = False, progress: Progress | None = None) -> Summary:
    """Generate the dataset of a recipe into `out`.  Raises UsageError if `out` holds something else (unless overwrite)."""
    recipe = recipe.resolved()
    _guard(out, recipe, overwrite)
    start = time.perf_counter()
    slots = plan(recipe)
    work = out.parent / f"{out.name}.work" / recipe_hash(recipe)
    work.mkdir(parents=True, exist_ok=True)
    target = work / "dataset"
    shutil.rmtree(target, ignore_errors=True)
    writer, summary, gate = DatasetWriter(target), Summary(workers=workers), _Gate()
    redo = _Redo(recipe)
    for slot, made in zip(slots, _results(recipe, slots, work, workers, summary), strict=True):
        made = gate.admit(made, slot, redo)
        for config in ("instances", "sft", "cpt", "rejected"):
            writer.add(config, made.split, getattr(made, config))
        _tally(summary, made)
        summary.shortfall += not made.accepted
        if progress:
            progress(made)
    redo.close()
    summary.counts = writer.close()
    hashes = file_hashes(target)
    manifest = {
        "name": recipe.name, "generator": __version__, "recipe": recipe.model_dump(mode="json"), "recipe_hash": recipe_hash(recipe),
        "versions": {"orpipe": __version__, **{p: version(p) for p in PACKAGES}}, "counts": summary.counts, "attempted": summary.attempted,
        "accepted": summary.accepted, "rejected": summary.rejected, "replayed": summary.replayed, "sha256": hashes,
    }
    write_json(target / "manifest.json", manifest)
    (target / "README.md").write_text(card(recipe, manifest), encoding="utf-8")
    summary.wall = time.perf_counter() - start
    summary.peak_mb = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    write_json(target / "timings.json", asdict(summary))
    if out.exists():
        shutil.rmtree(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    target.rename(out)
    shutil.rmtree(work.parent, ignore_errors=True)
    return summary


def finished(out: Path, recipe: Recipe) -> bool:
    """Does `out` hold the finished dataset of exactly this recipe and version?"""
    try:
        return json.loads((out / "manifest.json").read_text())["recipe_hash"] == recipe_hash(recipe.resolved())
    except (OSError, ValueError, KeyError):
        return False


def _guard(out: Path, recipe: Recipe, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"'{out}' is a file; name a folder with --out")
    if out.exists() and any(out.iterdir()) and not overwrite:
        what = "another dataset" if (out / "manifest.json").exists() else "other files"
        raise UsageError(f"'{out}' already holds {what}; choose another --out, or --overwrite to replace it")
    if out.exists() and any(out.iterdir()) and not (out / "manifest.json").exists():
        raise UsageError(f"'{out}' holds files that orpipe did not write; empty it yourself or choose another --out")


# -- workers -----------------------------------------------------------------------------------------------------------
_pool: Pool | None = None


def _start_worker() -> None:
    global _pool
    _pool = Pool(workers=1)
    atexit.register(_pool.close)


def _chunk(recipe: Recipe, slots: list[Slot]) -> list[dict[str, Any]]:
    assert _pool is not None, "worker was not initialised"
    return [asdict(make_slot(recipe, slot, _pool)) for slot in slots]


def _results(recipe: Recipe, slots: list[Slot], work: Path, workers: int, summary: Summary) -> Iterator[Made]:
    """Results in slot order; finished chunks are read from disk, others made by worker processes and stored."""
    chunks = [slots[k:k + CHUNK] for k in range(0, len(slots), CHUNK)]
    stored = {k: path for k in range(len(chunks)) if (path := work / f"chunk-{k:06d}.json.gz").exists()}
    summary.resumed = sum(len(chunks[k]) for k in stored)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker) as executor:
        ahead: dict[int, Future] = {}
        upcoming = iter([k for k in range(len(chunks)) if k not in stored])

        def submit() -> None:
            if (k := next(upcoming, None)) is not None:
                ahead[k] = executor.submit(_chunk, recipe, chunks[k])

        try:
            for _ in range(4 * workers):
                submit()
            for k in range(len(chunks)):
                if k in stored:
                    content = json.loads(gzip.decompress(stored[k].read_bytes()))
                else:
                    content = ahead.pop(k).result()
                    submit()
                    part = work / f"chunk-{k:06d}.part"
                    part.write_bytes(gzip.compress(json.dumps(content).encode(), 1, mtime=0))
                    part.rename(work / f"chunk-{k:06d}.json.gz")
                for item in content:
                    yield Made(**item)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


class _Redo:
    """Makes a slot again in this process, from a later draw; started only when needed."""

    def __init__(self, recipe: Recipe):
        self.recipe, self.pool = recipe, None

    def __call__(self, slot: Slot, first: int) -> Made:
        self.pool = self.pool or Pool(workers=1)
        return make_slot(self.recipe, slot, self.pool, first)

    def close(self) -> None:
        if self.pool:
            self.pool.close()


class _Gate:
    """Refuses instances whose data repeat an earlier slot's, in slot order, and has the slot made again."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def admit(self, made: Made, slot: Slot, redo: Callable[[Slot, int], Made]) -> Made:
        rejected: list[dict[str, Any]] = []
        while made.instances and (key := (made.instances[0]["structure_hash"], made.instances[0]["data_hash"])) in self.seen:
            first = made.instances[0]
            rejected += [*made.rejected, {"stage": "gate", "reason": "duplicate instance", "family": slot.family, "level": slot.level,
                                          "seed": first["seed"], "detail": f"same data as an earlier instance ({first['data_hash']})"}]
            attempted, seconds = made.attempted, made.seconds
            made = redo(slot, made.attempt + 1)
            made.attempted += attempted
            for stage, s in seconds.items():
                made.seconds[stage] = made.seconds.get(stage, 0.0) + s
        if made.instances:
            self.seen.add(key)
        made.rejected = rejected + made.rejected
        return made


def _tally(summary: Summary, made: Made) -> None:
    summary.attempted += made.attempted
    summary.accepted += made.accepted
    summary.replayed += made.replayed
    reasons = Counter(summary.rejected)
    reasons.update(f"{r['stage']}: {r['reason']}" for r in made.rejected)
    summary.rejected = dict(sorted(reasons.items()))
    for stage, s in made.seconds.items():
        summary.seconds[stage] = summary.seconds.get(stage, 0.0) + s
