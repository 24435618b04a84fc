"""Threads that wait for others, made for callers that may be interrupted at any point (Ctrl-C in the main thread).

Futures, Events, Conditions and executors of the standard library are Python code around a lock: an exception that a signal
handler raises in there leaves the lock taken, and threads that need it wait for ever, as does an interpreter that joins them
when it ends.  Here a caller only ever waits in one call of C, holds nothing that a thread needs, and no thread is joined.
"""

from __future__ import annotations

import _thread
import logging
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from orpipe.errors import EnvironmentError_

S = TypeVar("S")
T = TypeVar("T")
log = logging.getLogger(__name__)


class Promise(Generic[T]):
    """A result that one thread gives and any thread waits for.  Who is interrupted while waiting may wait again."""

    __slots__ = ("_lock", "_result", "given")

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        self._result: T
        self.given = False

    def give(self, result: T) -> None:
        """Of several the first counts."""
        if not self.given:
            self._result, self.given = result, True
            self._lock.release()

    def result(self) -> T:
        if not self.given:
            with self._lock:
                pass
        return self._result


class Crew:
    """`size` daemon threads that do what they are given, in its order.  Tasks do not raise."""

    def __init__(self, size: int) -> None:
        self.size, self.started, self.closed = size, 0, False
        self._gate = _thread.allocate_lock()
        self._queue: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

    def give(self, task: Callable[[], object]) -> bool:
        """False once closed: it will not be done.  Raises EnvironmentError_ if not one thread can be started."""
        with self._gate:
            if self.closed:
                return False
            try:
                while self.started < self.size:
                    _thread.start_new_thread(_work, (self._queue,))
                    self.started += 1
            except RuntimeError as error:
                if not self.started:
                    raise EnvironmentError_(f"no thread can be started ({error}); the limit of processes is reached") from None
            self._queue.put(task)
            return True

    def close(self) -> None:
        """Take nothing more; what was taken is still done.  Waits for nothing, and may be called again."""
        with self._gate:
            self.closed = True
            self._queue.put(None)


def side_by_side(call: Callable[[S], T], items: Sequence[S], size: int) -> list[T]:
    """[call(item) for item in items], at most `size` at a time.  Raises the first exception; what has not begun is then dropped."""
    crew = Crew(min(size, len(items)))
    done: SimpleQueue[tuple[int, T | None, Exception | None]] = SimpleQueue()

    def task(k: int) -> None:
        if not crew.closed:
            try:
                done.put((k, call(items[k]), None))
            except Exception as error:
                done.put((k, None, error))

    found: dict[int, Any] = {}
    try:
        for k in range(len(items)):
            crew.give(partial(task, k))
        while len(found) < len(items):
            k, result, error = done.get()
            if error is not None:
                raise error
            found[k] = result
    finally:
        crew.close()
    return [found[k] for k in range(len(items))]


def _work(queue: SimpleQueue[Callable[[], object] | None]) -> None:
    while (task := queue.get()) is not None:
        try:
            task()
        except Exception:  # the thread serves others, too
            log.exception("a task of a crew raised")
        del task  # or it would keep alive what it refers to until the next one comes
    queue.put(None)  # for the next thread
