"""What a Pool runs on: one thread that hands jobs to warm parents and reads what the programs' processes say.

It trusts nothing of the latter: they are read through Channel, and what they made of themselves is read by read_run.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import marshal
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from orpipe.verify.capture import announced
from orpipe.verify.clearing import remove_tree
from orpipe.verify.crew import Promise
from orpipe.verify.frames import Channel
from orpipe.verify.outcome import Ended, Job, Limits, Run, read_run

log = logging.getLogger(__name__)

_limits = attrgetter(*(f.name for f in fields(Limits)))
_START_SECONDS, _GRACE_SECONDS = 120.0, 30.0
_READ = 1 << 18
_END_SECONDS = 30.0  # waited for the thread to end; it is a daemon
_DRAIN = 64  # reads from a pipe whose process has ended: more than it can hold


@dataclass(eq=False, slots=True)
class _Task:
    """A job and, once it runs, its pipes: descriptor -> stdout, stderr or results."""

    job: Job
    limits: Limits
    promise: Promise[Run]
    library: str
    number: int = -1
    sent: float = 0.0
    killed: str = ""
    pipes: dict[int, str] = field(default_factory=dict)
    said: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})
    channel: Channel = field(default_factory=Channel)


class _Parent:
    """A warm parent as its owner sees it."""

    def __init__(self, library: str, without: tuple[str, ...], disk: int, workers: int) -> None:
        self.library = library
        self.base = tempfile.mkdtemp(prefix="orpipe-sandbox-")
        self.tasks: dict[int, _Task] = {}
        self.dying: set[int] = set()  # answered already, not yet waited for
        self.started, self.ready_at = time.monotonic(), 0.0
        self.layers: tuple[str, ...] = ()
        self.missing = ""
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(_START_SECONDS)  # a parent that does not read counts as lost
        root = str(Path(__file__).resolve().parents[2])
        path = [root, *(p for p in sys.path if p and os.path.isabs(p) and p != root)]
        arguments = (theirs.fileno(), self.base, library, without, disk, workers)
        code = (f"import sys; sys.path[:] = {path!r}; from orpipe.verify.pages import gather; own = gather(); "
                f"from orpipe.verify.zygote import main; main(*{arguments!r}, own)")
        env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1",
                "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            with theirs:
                self.process = subprocess.Popen(
                    [sys.executable, "-s", "-c", code], env=env, cwd=self.base, pass_fds=[theirs.fileno()],
                    start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        except OSError:
            self.socket.close()
            self.log.close()
            remove_tree(self.base)
            raise

    def overdue(self, now: float) -> bool:
        """The parent itself hangs: the programs' own clocks are its business."""
        if not self.ready_at:
            return now - self.started > _START_SECONDS
        return any(now - max(t.sent, self.ready_at) > t.limits.seconds + _GRACE_SECONDS for t in self.tasks.values())

    def hand(self, task: _Task) -> None:
        """Give it a job: program, files and pipes as descriptors.  Raises OSError."""
        job = os.memfd_create("orpipe-job", os.MFD_CLOEXEC)
        theirs = [job]
        try:
            with open(job, "wb", closefd=False) as file:
                marshal.dump((task.job.program, dict(task.job.files)), file)
            for name in ("stdout", "stderr", "results"):
                read_end, write_end = os.pipe2(os.O_CLOEXEC)
                task.pipes[read_end] = name
                theirs.append(write_end)
                os.set_blocking(read_end, False)
            task.sent = time.monotonic()
            message = marshal.dumps((task.number, *_limits(task.limits)))
            socket.send_fds(self.socket, [message], theirs)
        finally:
            for fd in theirs:
                os.close(fd)

    def kill(self, number: int, why: str) -> None:
        with contextlib.suppress(OSError):  # lost: noticed when it is read from
            self.socket.send(marshal.dumps((number, why)))

    def end(self) -> str:
        """Stop it and clear up; the last line of its log."""
        self.socket.close()
        try:
            self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        with self.log:
            self.log.seek(0)
            lines = self.log.read().decode(errors="replace").strip().splitlines()
        remove_tree(self.base)
        return lines[-1] if lines else f"exit code {self.process.returncode}"


class Pump:
    """Holds no reference to its Pool.  disk: the usual size of a work folder.  Once closed it takes no more jobs."""

    def __init__(self, workers: int, without: tuple[str, ...], disk: int) -> None:
        self.workers, self.without, self.disk, self.pid, self.closed = workers, without, disk, os.getpid(), False
        self._gate = threading.Lock()
        self._running, self._over, self._ident = _thread.allocate_lock(), False, 0
        self._queue: deque[_Task] = deque()
        self._parents: dict[str, _Parent] = {}
        self._numbers = iter(range(1 << 62))
        self._selector = selectors.DefaultSelector()
        self._ear, self._mouth = socket.socketpair()
        self._ear.setblocking(False)
        self._mouth.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ, None)

    def submit(self, job: Job, limits: Limits) -> Promise[Run]:
        library = job.library if job.library is not None else announced(job.program)
        task = _Task(job, limits, Promise(), library)
        with self._gate:
            if self.closed:
                task.promise.give(Run("sandbox", "the pool was closed before the program started"))
            else:
                if not self._running.locked():  # twice if the first time was interrupted: one of the two leaves at once
                    _thread.start_new_thread(self._live, ())
                self._queue.append(task)
                self._wake()
        return task.promise

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it is awake; closed: it ends
            self._mouth.send(b".")

    def close(self) -> None:
        """End all, and wait for that, but not for ever.  May be interrupted anywhere and called again, by any thread."""
        if self.pid != os.getpid():
            return
        self.closed = True
        self._wake()
        with self._gate:
            if not self._running.locked():  # it never lived
                for each in (self._mouth, self._ear, self._selector):
                    each.close()
                return
        if self._ident == _thread.get_ident():  # a collected Pool may be finalised anywhere
            return
        end = time.monotonic() + _END_SECONDS
        while not self._over and time.monotonic() < end:
            time.sleep(0.002)

    def _live(self) -> None:
        if self._running.acquire(blocking=False):
            self._ident = _thread.get_ident()
            try:
                self._loop()
            except Exception:
                log.exception("the sandbox's thread failed; please report it")
            finally:
                try:
                    self._end()
                finally:
                    self._over = True

    def _loop(self) -> None:
        while not self.closed:
            self._dispatch()
            busy = any(p.tasks or not p.ready_at for p in self._parents.values())
            for key, _ in self._selector.select(5.0 if busy else None):
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        self._ear.recv(4096)
                elif isinstance(key.data, _Parent):
                    self._hear(key.data)
                elif key.fd in key.data.pipes:
                    self._read(key.data, key.fd)
                    self._finish_early(key.data)
            now = time.monotonic()
            for parent in [p for p in self._parents.values() if p.overdue(now)]:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(parent.process.pid, signal.SIGKILL)
                self._lose(parent, "hung and was stopped")

    def _end(self) -> None:
        """Nobody waits for an answer after this, whatever goes wrong in it."""
        with self._gate:
            self.closed = True
            self._mouth.close()
        tasks = [task for parent in self._parents.values() for task in parent.tasks.values()]
        try:
            for parent in self._parents.values():
                with contextlib.suppress(OSError):
                    parent.socket.shutdown(socket.SHUT_RDWR)  # all begin to end before the first is waited for
            for parent in list(self._parents.values()):
                self._lose(parent, "was closed")
            self._selector.close()
            self._ear.close()
        finally:
            for task in (*tasks, *self._queue):
                task.promise.give(Run("sandbox", "the pool was closed before the program started"))
            self._queue.clear()

    def _dispatch(self) -> None:
        running = sum(len(p.tasks) for p in self._parents.values())
        dying = sum(len(p.dying) for p in self._parents.values())
        while self._queue and running < self.workers and running + dying < 2 * self.workers + 1:
            task = self._queue.popleft()
            task.number = next(self._numbers)
            parent = self._parents.get(task.library)
            try:
                if parent is None:
                    parent = self._parents[task.library] = _Parent(task.library, self.without, self.disk, self.workers)
                    self._selector.register(parent.socket, selectors.EVENT_READ, parent)
                parent.hand(task)
            except OSError as error:
                self._forget(task)
                task.promise.give(Run("sandbox", f"the program cannot be handed to a warm parent: {error}; run it again"))
                if parent is not None:
                    self._lose(parent, f"cannot be reached ({error})")
            except Exception as error:  # a job that is none: a file that is no text
                self._forget(task)
                task.promise.give(Run("sandbox", f"the program cannot be handed over ({type(error).__name__}: {error})"))
            else:
                parent.tasks[task.number] = task
                for fd in task.pipes:
                    self._selector.register(fd, selectors.EVENT_READ, task)
                running += 1

    def _read(self, task: _Task, fd: int) -> bool:
        """Take what a pipe holds; False at its end or when it holds nothing now."""
        name = task.pipes[fd]
        try:
            data = os.read(fd, _READ)
        except BlockingIOError:
            return False
        if not data:
            self._drop(task, fd)
            return False
        if task.killed:
            return True
        if name == "results":
            task.channel.feed(data)
            if task.channel.broken:
                self._kill(task, "channel")
        else:
            said = task.said[name]
            said += data
            if len(said) > task.limits.output:
                del said[task.limits.output:]
                self._kill(task, "output")
        return True

    def _finish_early(self, task: _Task) -> None:
        """When all is said: that its namespaces take a while to go need not be waited for."""
        if task.pipes or b"D" not in task.channel.payloads or task.killed:
            return
        parent = self._parents[task.library]
        parent.kill(task.number, "done")
        parent.dying.add(task.number)
        self._finish(task, Ended("", None, time.monotonic() - task.sent))

    def _kill(self, task: _Task, why: str) -> None:
        task.killed = why
        self._parents[task.library].kill(task.number, why)

    def _drop(self, task: _Task, fd: int) -> None:
        with contextlib.suppress(KeyError):  # not registered yet
            self._selector.unregister(fd)
        os.close(fd)
        del task.pipes[fd]

    def _forget(self, task: _Task) -> None:
        for fd in list(task.pipes):
            self._drop(task, fd)

    def _hear(self, parent: _Parent) -> None:
        try:
            raw = parent.socket.recv(1 << 16)
        except OSError:
            raw = b""
        if not raw:
            self._lose(parent, "ended")
            return
        message: dict[str, Any] = marshal.loads(raw)
        if message.get("ready"):
            parent.ready_at = time.monotonic()
            parent.layers, parent.missing = tuple(message["layers"]), "; ".join(message["missing"])
            return
        parent.dying.discard(message["id"])
        task = parent.tasks.get(message["id"])
        if task is None:
            return
        if "fault" in message:
            self._forget(task)
            del parent.tasks[task.number]
            task.promise.give(Run("sandbox", f"{message['fault']}; run the program again", layers=parent.layers))
            return
        for fd in list(task.pipes):
            for _ in range(_DRAIN):
                if not self._read(task, fd):
                    break
            if fd in task.pipes:  # held open by what it left behind, where nothing forbids that
                self._drop(task, fd)
        killed = task.killed or message["end"]
        self._finish(task, Ended(killed, message["status"], message["seconds"], message["cpu"]))

    def _finish(self, task: _Task, ended: Ended) -> None:
        self._forget(task)
        parent = self._parents[task.library]
        del parent.tasks[task.number]
        try:
            run = read_run(task.channel, bytes(task.said["stdout"]), bytes(task.said["stderr"]), ended, task.limits,
                           parent.layers, parent.missing)
        except Exception as error:  # one program must not end the others
            run = Run("sandbox", f"its result cannot be read ({type(error).__name__}: {error}); please report it")
        task.promise.give(run)

    def _lose(self, parent: _Parent, how: str) -> None:
        if self._parents.get(parent.library) is parent:
            del self._parents[parent.library]
        with contextlib.suppress(KeyError):
            self._selector.unregister(parent.socket)
        last = parent.end()
        for task in parent.tasks.values():
            self._forget(task)
            task.promise.give(Run("sandbox", f"the warm parent for '{task.library}' {how}: {last}; run the program again"))
        parent.tasks.clear()

