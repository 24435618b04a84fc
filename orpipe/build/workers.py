"""Worker processes: they take chunks of slots and leave chunk files.  Nothing but a tick per slot comes back.

A worker ends with its parent, however that ends: a stop from the keyboard reaches the parent alone, which then ends them;
if the parent is killed, each sees it and leaves.  Either way its sandbox is closed and finished chunk files stay.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn

from orpipe.build.plan import Slot
from orpipe.build.slot import Made, make_slot
from orpipe.config import Recipe
from orpipe.errors import EnvironmentError_, OrpipeError
from orpipe.suites import Shelf
from orpipe.verify.sandbox import Limits, Pool

# A net for programs that hang, far above what ours need: the clock of a busy machine must not decide what is kept.
PATIENCE = Limits(seconds=60.0)
_LEAVE_SECONDS = 5.0


@dataclass(frozen=True)
class Chunk:
    """Slots that are made and stored together."""

    number: int
    slots: tuple[Slot, ...]
    path: Path


@dataclass(frozen=True)
class Step:
    """One slot is done: what came out of it (for progress displays only)."""

    accepted: int
    sft: int
    cpt: int
    replayed: int
    refused: int

    @classmethod
    def of(cls, made: Made) -> Step:
        return cls(made.accepted, len(made.sft), len(made.cpt), made.replayed, len(made.rejected))


def write_chunk(path: Path, rows: list[Made]) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(json.dumps([asdict(m) for m in rows]).encode(), 1, mtime=0))
    part.rename(path)


def read_chunk(path: Path) -> list[Made] | None:
    """None if the file is absent or was damaged (then it has to be made again)."""
    try:
        return [Made(**item) for item in json.loads(gzip.decompress(path.read_bytes()))]
    except (FileNotFoundError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, TypeError):
        return None


class Crew:
    """Up to `workers` processes that work through the chunks in order.  Use as a context manager."""

    def __init__(self, recipe: Recipe, workers: int, tick: Callable[[Step], None] | None = None):
        self.recipe, self.workers, self.tick = recipe, workers, tick
        self.waiting: deque[Chunk] = deque()
        self.done: set[int] = set()
        self.links: dict[Connection, BaseProcess] = {}
        self.idle: list[Connection] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, chunks: Iterable[Chunk]) -> None:
        self.waiting.extend(chunks)
        while self.waiting and self.idle:
            self._give(self.idle.pop())
        while self.waiting and len(self.links) < self.workers:
            self._give(self._start())

    def until(self, number: int) -> None:
        """Until this chunk is stored.  Raises what went wrong in a worker; EnvironmentError_ if one was killed."""
        while number not in self.done:
            for link in wait(list(self.links)):
                assert isinstance(link, Connection)
                self._hear(link)

    def _hear(self, link: Connection) -> None:
        try:
            kind, content = link.recv()
        except (EOFError, ConnectionResetError):
            process = self.links.pop(link)
            process.join(_LEAVE_SECONDS)
            code = process.exitcode or 0
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"left with exit code {code}"
            raise EnvironmentError_(f"a worker {how} (out of memory?); run the same command again to go on, with fewer --workers") from None
        if kind == "slot":
            if self.tick:
                self.tick(content)
        elif kind == "chunk":
            self.done.add(content)
            if self.waiting:
                self._give(link)
            else:
                self.idle.append(link)
        else:
            raise content

    def _give(self, link: Connection) -> None:
        with contextlib.suppress(BrokenPipeError):  # it is gone: _hear says so
            link.send(self.waiting.popleft())

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self.recipe), name="orpipe-worker", daemon=True)
        # Ctrl-C goes to every process of the terminal; a worker must neither die nor complain of it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.links[ours] = process
        return ours

    def close(self) -> None:
        """End all workers, at once: what they have not stored is lost."""
        for process in self.links.values():
            process.terminate()
        for link, process in self.links.items():
            process.join(_LEAVE_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
            link.close()
        self.links.clear()
        self.idle.clear()


# -- in the worker -----------------------------------------------------------------------------------------------------
def _work(link: Connection, recipe: Recipe) -> None:
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with Pool(workers=1, limits=PATIENCE) as pool, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            chunk = link.recv()
            try:
                _make(chunk, recipe, pool, link)
            except (BrokenPipeError, ConnectionResetError):
                return
            except (OrpipeError, OSError) as error:
                link.send(("error", error))
                return
            except Exception:
                link.send(("error", RuntimeError(traceback.format_exc())))
                return


def _make(chunk: Chunk, recipe: Recipe, pool: Pool, link: Connection) -> None:
    rows = []
    shelf = Shelf(chunk.path.parent, recipe.seed, recipe.proof_nodes)
    for slot in chunk.slots:
        rows.append(make_slot(recipe, slot, pool, shelf=shelf))
        link.send(("slot", Step.of(rows[-1])))
    write_chunk(chunk.path, rows)
    link.send(("chunk", chunk.number))


def _leave(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the sandbox is being closed
    raise SystemExit(0)


def _leave_with_parent() -> None:
    parent: Any = multiprocessing.parent_process()
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(2 * _LEAVE_SECONDS)
    os._exit(1)
