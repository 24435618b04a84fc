"""The measurements behind `python -m orpipe.testing.bench`: each returns plain figures and leaves no file behind.

Times are wall-clock medians over repeats.  A ratio is taken in one run, its two sides in turn, so that a busy machine
slows both.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import median
from threading import BrokenBarrierError
from typing import Any

from orpipe.algebra.idioms import lower
from orpipe.build.run import CHUNK, run
from orpipe.config import Recipe
from orpipe.errors import OrpipeError
from orpipe.families import Rejected, Size, families
from orpipe.ground import ground
from orpipe.instances import draw, stream
from orpipe.proof import certify
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit
from orpipe.scenarios import Labels, scenarios
from orpipe.solve import Label, agree, label, solver
from orpipe.verify.replay import Script, replay_many
from orpipe.verify.sandbox import Pool

SEED = 20_261  # draws of the bench: other ones than those of a recipe
CASES: tuple[tuple[str, str, Size], ...] = (
    ("transportation 30x30", "transportation", {"sources": 30, "destinations": 30, "slack": 1.15}),
    ("facility location 5x20", "facility_location_capacitated", {"depots": 5, "customers": 20, "slack": 1.35}),
    ("knapsack 50", "knapsack", {"items": 50, "share": 0.4, "spread": 0.2}),
)


class BenchFault(OrpipeError):
    """What was to be measured does not work; a figure would mean nothing."""

    exit_code = 1


def once(action: Callable[[], Any]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def in_turn(*actions: Callable[[], Any], repeats: int) -> list[float]:
    """Median milliseconds of each action; the actions take turns, after one unmeasured turn."""
    times = [[once(action) for action in actions] for _ in range(repeats + 1)][1:]
    return [median(column) for column in zip(*times, strict=True)]


# -- (a) one instance, step by step ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steps:
    """Milliseconds a step.  solve: our HiGHS adapter; bare: highspy alone; solve_ratio: the former over the latter;
    label: both solver families and the exact check; certificate: the exact proof, made and replayed (None if not within 1 s)."""

    case: str
    variables: int
    rows: int
    sample_ms: float
    ground_ms: float
    solve_ms: float
    bare_ms: float
    solve_ratio: float
    label_ms: float
    certificate_ms: float | None


def steps(repeats: int) -> list[Steps]:
    return [_steps(title, name, size, repeats) for title, name, size in CASES]


def _steps(title: str, name: str, size: Size, repeats: int) -> Steps:
    family, first = families[name], scenarios(name)[0]
    model = family.symbolic()
    linear, highs, bare = lower(model), solver("highs"), import_module("orpipe_solvers._bare").highs_objective

    def sample() -> dict[str, Any]:
        rng = stream(SEED, "bench", name)
        return dict(family.sample(rng, size, Labels(first, model, rng)))

    data = sample()
    problem = ground(linear, data)
    found = highs.solve(problem)
    if found.objective is None or not agree(found.objective, bare(problem)):
        raise BenchFault(f"{title}: our adapter says {found}, highspy alone {bare(problem):.10g}; see tests/test_solvers.py")
    (sample_ms,) = in_turn(sample, repeats=repeats)
    (ground_ms,) = in_turn(lambda: ground(linear, data), repeats=repeats)
    ours, theirs = in_turn(lambda: highs.solve(problem), lambda: bare(problem), repeats=repeats)
    (label_ms,) = in_turn(lambda: label(problem), repeats=max(1, repeats // 4))
    kept = label(problem)
    if not isinstance(kept, Label):
        raise BenchFault(f"{title}: no label ({kept.reason}: {kept.detail})")
    proved = certify(problem, kept) is not None
    certificate_ms = in_turn(lambda: certify(problem, kept), repeats=max(1, repeats // 10))[0] if proved else None
    return Steps(title, problem.n_vars, problem.n_rows, sample_ms, ground_ms, ours, theirs, ours / theirs, label_ms, certificate_ms)


# -- (b) instances: sample, ground, solve, cross-check ------------------------------------------------------------------


@dataclass(frozen=True)
class Attempt:
    """One draw: accepted, or "" replaced by the reason; milliseconds by step (0 for a step not reached)."""

    family: str
    level: int
    refused: str
    sample_ms: float
    ground_ms: float
    label_ms: float


@dataclass(frozen=True)
class FamilyRow:
    """Medians over the levels and draws of one family."""

    family: str
    attempted: int
    accepted: int
    sample_ms: float
    ground_ms: float
    label_ms: float


@dataclass(frozen=True)
class Instances:
    """accepted_share and per_second: over all families and levels in equal shares; per_second counts accepted ones."""

    attempted: int
    accepted: int
    accepted_share: float
    seconds: float
    per_second: float
    refused: Mapping[str, int]
    families: Sequence[FamilyRow]


def attempt(name: str, level: int, index: int) -> Attempt:
    """Draw, ground and label one instance, as a slot of a run does."""
    times: dict[str, float] = {}

    def timed(step: str, action: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        try:
            return action()
        finally:
            times[step] = (time.perf_counter() - start) * 1000

    try:
        instance = timed("sample", lambda: draw(name, level, SEED, index))
    except Rejected as reason:
        return Attempt(name, level, f"sample: {reason}", times["sample"], 0.0, 0.0)
    problem = timed("ground", lambda: instance.problem)
    found = timed("label", lambda: label(problem, nodes=Recipe().nodes))
    refused = f"solve: {found.reason}" if not isinstance(found, Label) else "" if found.status == "optimal" else f"solve: {found.status}"
    return Attempt(name, level, refused, times["sample"], times["ground"], times["label"])


def instances(workers: int, names: Sequence[str], levels: Sequence[int], draws: int) -> Instances:
    """`draws` attempts for each family and level, on worker processes that are warm before the clock starts."""
    cells = [(f, level, k) for k in range(draws) for level in levels for f in names if level <= len(families[f].levels)]
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(workers + 1)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_warm, initargs=(ready, tuple(names))) as executor:
        holding = [executor.submit(abs, 0) for _ in range(workers)]
        try:
            ready.wait(300)
        except BrokenBarrierError:
            raise BenchFault("a worker process did not start within five minutes; use fewer workers (--workers)") from None
        for future in holding:
            future.result()
        start = time.perf_counter()
        done = list(executor.map(attempt, *zip(*cells, strict=True), chunksize=2))
        seconds = time.perf_counter() - start
    kept = [a for a in done if not a.refused]
    reasons = [a.refused for a in done if a.refused]
    return Instances(
        len(done), len(kept), len(kept) / len(done), seconds, len(kept) / seconds, {r: reasons.count(r) for r in sorted(set(reasons))},
        [_family_row(name, [a for a in done if a.family == name]) for name in names],
    )


def _warm(ready: Any, names: tuple[str, ...]) -> None:
    """Imports, models and solvers of a worker; then all start together."""
    for name in names:
        attempt(name, 1, 1_000_000)
    ready.wait(300)


def _family_row(name: str, done: Sequence[Attempt]) -> FamilyRow:
    return FamilyRow(name, len(done), sum(not a.refused for a in done), *(
        median(times) if (times := [getattr(a, step) for a in done if not a.refused]) else 0.0 for step in ("sample_ms", "ground_ms", "label_ms")))


# -- (c), (d), (f), (g) a whole run -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Products:
    """A run of the pipeline into a folder that is removed again.

    The rates leave out the first quarter of the slots (warming_seconds: workers and warm parents start) and the closing
    of the files (closing_seconds), unless the run is too short for that.  accepted_share: draws that went through every
    stage, replay included.  discrimination: mean share of the mis-modellings that show on an instance's own data ("headline") and with
    its suite ("suite").  largest_process_mb: resident memory of the largest process; all_processes_mb: proportional
    memory of all processes together, sampled twice a second (0 where the system does not tell)."""

    examples: int
    documents: int
    programs: int
    attempted: int
    accepted: int
    accepted_share: float
    rejected: Mapping[str, int]
    seconds: float
    warming_seconds: float
    closing_seconds: float
    examples_per_second: float
    products_per_second: float
    programs_per_second: float
    stage_seconds: Mapping[str, float]
    largest_process_mb: float
    all_processes_mb: float
    discrimination: Mapping[str, float] = field(default_factory=dict)


def products(recipe: Recipe, workers: int) -> Products:
    """Raises BenchFault if the run keeps fewer products than the recipe asks for."""
    marks: list[float] = []
    with tempfile.TemporaryDirectory(prefix="orpipe-bench-") as folder, memory() as seen:
        start = time.perf_counter()
        did = run(recipe, Path(folder) / "out", workers=workers, progress=lambda made: marks.append(time.perf_counter() - start))
        seconds = time.perf_counter() - start
    if did.shortfall:
        raise BenchFault(f"{did.shortfall} slots found no acceptable draw ({did.rejected}); run 'orpipe generate' to see the rows")
    warm = len(marks) // 4 if len(marks) >= 8 * CHUNK else 0
    steady = marks[-1] - marks[warm - 1] if warm else seconds
    rate = (len(marks) - warm) / steady / len(marks)  # of the whole run, a second
    examples, documents = (sum(did.counts[config].values()) for config in ("sft", "cpt"))
    return Products(
        examples, documents, did.replayed, did.attempted, did.accepted, did.accepted / did.attempted, did.rejected, seconds,
        marks[warm - 1] if warm else 0.0, seconds - marks[-1] if warm else 0.0,
        examples * rate, (examples + documents) * rate, did.replayed * rate, did.seconds, did.peak_mb, max(seen),
        did.discrimination,
    )


def seconds_for(examples: int, measured: Products) -> float:
    """What a run of `examples` would take at the measured rate: an extrapolation."""
    warming = measured.examples / 4 if measured.warming_seconds else 0.0
    return measured.warming_seconds + max(0.0, examples - warming) / measured.examples_per_second + measured.closing_seconds


@contextmanager
def memory() -> Iterator[list[float]]:
    """Megabytes of this process and all below it, twice a second; the list is filled while the block runs."""
    seen, stop = [0.0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.5):
            seen.append(tree_mb(os.getpid()))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def tree_mb(root: int) -> float:
    """Proportional set size of a process and its descendants: pages that forks share count once.  0 where there is no /proc."""
    if not sys.platform.startswith("linux"):
        return 0.0
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue  # it ended meanwhile
    ours, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours, grown = ours | more, bool(more)
    return sum(map(_pss_mb, ours))


def _pss_mb(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass  # it ended meanwhile, or is confined
    return 0.0


# -- (e) replays by dialect ---------------------------------------------------------------------------------------------


def replays(workers: int, names: Sequence[str], level: int, repeats: int) -> dict[str, float]:
    """Programs a second by dialect, one program a family, captured and compared; the warm parents run already.

    Raises BenchFault if a program fails."""
    found: dict[str, float] = {}
    made = []
    for name in names:
        instance = next(i for i in _draws(name, level) if i is not None)
        answer = label(instance.problem)
        if not isinstance(answer, Label):
            raise BenchFault(f"{instance.id} has no label ({answer.reason}: {answer.detail}); see tests/test_families.py")
        made.append((instance, answer.objective))
    for dialect in dialects():
        scripts = [Script(emit(i.linear, i.data, dialect), i.problem, value) for i, value in made]
        with Pool(workers=workers) as pool:
            times = []
            for _ in range(repeats + 1):
                start = time.perf_counter()
                played = replay_many(pool, scripts)
                times.append(time.perf_counter() - start)
                if failed := next((p for p in played if not p.passed), None):
                    raise BenchFault(f"{dialect}: a program failed ({failed.stage}: {failed.reason}); see tests/test_families.py")
        found[dialect] = len(scripts) / median(times[1:])
    return found


def _draws(name: str, level: int) -> Iterator[Any]:
    for index in range(50):
        try:
            yield draw(name, level, SEED, index)
        except Rejected:
            yield None
    raise BenchFault(f"50 draws of {name} level {level} were rejected; see its sampler")
