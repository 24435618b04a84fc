"""The warm parent: an interpreter that has imported one library and forks a confined child for each program.

Started by sandbox.Pool in a fresh interpreter; speaks marshalled messages over one packet socket:

    Pool -> zygote    (id, *limits) with four descriptors, handed on to a child; (id, why) to kill a run
    zygote -> Pool    {"ready", "layers", "missing"} once, then for each job {"id", "fault"} if it could not be started, else
                      {"id", "end", "status", "seconds", "cpu"}

The next child is forked, and in its namespaces, before its program comes.  The zygote solves nothing but its library's
rehearsal, with one thread: a solver's threads do not survive a fork.  It never sees what programs say.
"""

from __future__ import annotations

import _socket
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import marshal
import os
import select
import signal
import sys
import sysconfig
import time
import traceback
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from orpipe.verify import capture, isolation, pages, root, seccomp
from orpipe.verify.child import FDS, HIDDEN, Child, prepare
from orpipe.verify.clearing import remove_tree
from orpipe.verify.frames import Frames, pack  # noqa: F401  pack and Frames are looked for here too
from orpipe.verify.kernel import fork, libc


@dataclass
class _Run:
    """One child: `wire` leads to it as long as it waits for its program."""

    pid: int
    wire: _socket.socket
    work: str
    namespaces: tuple[int, ...] | None
    id: int = -1
    started: float = 0.0
    seconds: float = 0.0
    killed: str = ""


class Zygote:
    def __init__(self, control: _socket.socket, base: str, cell: isolation.Cell) -> None:
        self.control, self.base, self.cell = control, base, cell
        self.poll = select.epoll()
        self.runs: dict[int, _Run] = {}
        self.spare: _Run | None = None
        self.worn: list[int] = []
        self.number = 0
        self.pid_namespace = isolation.open_pid_namespace() if "pid" in cell.layers else -1
        self.namespaces: list[tuple[int, ...]] = []
        self.main = types.ModuleType("__main__")
        self.woken, self.wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        self.poll.register(self.woken, select.EPOLLIN)
        self.poll.register(control.fileno(), select.EPOLLIN)

    def confine(self, workers: int) -> None:
        """What children need of this process, and as much confinement as it bears itself.  No import works afterwards."""
        cell = self.cell
        cell.vm_size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        self.namespaces = cell.namespaces(min(workers, 30) + 2)
        if cell.mounted:
            root.build(cell.read, self.base)
            if "landlock" in cell.layers:
                cell.rules = isolation.landlock_rules(cell.read, root.PLACE)
        if "seccomp" in cell.layers:
            seccomp.prepare(cell.mounted)
        isolation.drop_bounds()
        self.main = prepare(root.WORK, cell.read)

    def say(self, **message: Any) -> None:
        self.control.send(marshal.dumps(message))

    def serve(self) -> None:
        """Until the Pool closes the socket; then everything still running is killed."""
        try:
            while self._turn():
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            for run in (*self.runs.values(), *filter(None, [self.spare])):
                self._kill(run, "closed")
            self._reap(tell=False)

    def _turn(self) -> bool:
        if self.spare is None:
            with contextlib.suppress(OSError):  # told when a program comes and none can be had
                self._fork()
        now = time.monotonic()
        deadlines = [run.started + run.seconds for run in self.runs.values() if not run.killed]
        for fd, _ in self.poll.poll(max(0.0, min(deadlines) - now) if deadlines else -1):
            if fd == self.woken:
                with contextlib.suppress(BlockingIOError):
                    os.read(fd, 4096)
            elif not self._listen():
                return False
        now = time.monotonic()
        for run in self.runs.values():
            if not run.killed and now >= run.started + run.seconds:
                self._kill(run, "timeout")
        self._reap()
        return True

    def _listen(self) -> bool:
        raw, extra, _, _ = self.control.recvmsg(1 << 16, _socket.CMSG_SPACE(FDS.size))
        if not raw:
            return False
        fds = FDS.unpack(extra[0][2]) if extra else ()
        try:
            number, *rest = marshal.loads(raw)
            if fds:
                self._start(number, rest[0], raw, FDS.pack(*fds))
            else:
                for run in self.runs.values():
                    if run.id == number and not run.killed:
                        self._kill(run, rest[0])
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def _start(self, number: int, seconds: float, raw: bytes, fds: bytes) -> None:
        why = "no child could be forked"
        for _ in range(3):
            try:
                run = self.spare or self._fork()
                run.wire.sendmsg([raw], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
            except OSError as error:  # the kernel refuses, or the waiting child was ended from outside
                why = f"no child could be forked ({error})"
                if self.spare is not None:
                    self._kill(self.spare, "lost")
                    self.runs[self.spare.pid], self.spare = self.spare, None
                continue
            run.wire.close()
            run.id, run.started, run.seconds = number, time.monotonic(), seconds
            self.runs[run.pid], self.spare = run, None
            return
        self.say(id=number, fault=why)

    def _fork(self) -> _Run:
        self.number += 1
        work = root.WORK
        if not self.cell.mounted:
            work = os.path.join(self.base, str(self.number))
            os.mkdir(work, 0o700)
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        namespaces = self.namespaces.pop() if self.namespaces else None
        gc.disable()
        try:
            pid = isolation.fork_into_pid_namespace(self.pid_namespace) if self.pid_namespace >= 0 else fork()
        except OSError:
            theirs.close()
            ours.close()
            self._give_back(work, namespaces)
            raise
        if pid == 0:
            pages.copy(self.worn)
            self.runs.clear()
            Child(self.cell, self.main, work, self.number, namespaces).live(theirs.detach())
        theirs.close()
        self.spare = _Run(pid, ours, work, namespaces)
        return self.spare

    def _kill(self, run: _Run, why: str) -> None:
        run.killed = why
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(run.pid, signal.SIGKILL)

    def _reap(self, tell: bool = True) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self.spare is not None and self.spare.pid == pid:
                run, self.spare = self.spare, None
                run.wire.close()
            elif pid in self.runs:
                run = self.runs.pop(pid)
            else:
                continue
            if self.pid_namespace < 0:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)  # what it left behind
            self._give_back(run.work, run.namespaces)
            if tell and run.id >= 0:
                self.say(id=run.id, end=run.killed, status=status, seconds=time.monotonic() - run.started,
                         cpu=usage.ru_utime + usage.ru_stime)

    def _give_back(self, work: str, namespaces: tuple[int, ...] | None) -> None:
        if namespaces is not None:
            self.namespaces.append(namespaces)
        if work == root.WORK:
            return
        try:  # in a process of its own: a program may have left more than is removed in a moment
            pid = os.fork()
        except OSError:
            remove_tree(work)
            return
        if pid == 0:
            try:
                remove_tree(work)
            finally:
                os._exit(0)


# -------------------------------------------------------------------------------------------------------------- start


def _readable(preload: tuple[str, ...]) -> tuple[str, ...]:
    """What a program may read: the system's libraries, the interpreter and the installed packages; never a working
    copy.
    """
    system = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom", "/dev/random",
              "/dev/zero", "/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo"]
    python = [*sysconfig.get_paths().values(), os.path.join(sys.base_prefix, "lib"), os.path.join(sys.prefix, "lib")]
    installed = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
    here = str(Path(__file__).resolve().parents[2])
    for name in {name.partition(".")[0] for name in preload}:  # a library installed elsewhere, by way of PYTHONPATH
        spec = importlib.util.find_spec(name)
        folders = [str(Path(p).parent) for p in (spec.submodule_search_locations or [])] if spec is not None else []
        installed += [p for p in folders if p not in (here, f"{here}/solvers")]
    return tuple(p for p in dict.fromkeys([*system, *python, *installed]) if os.path.exists(p))


def _warm(library: capture.Library | None) -> list[str]:
    """Import and rehearse the library; what stands in the way of its programs."""
    capture.install()
    for hidden in (*HIDDEN, *(library.aside if library is not None else ())):
        sys.modules.setdefault(hidden, None)  # type: ignore[arg-type]
    missing = []
    for module in library.preload if library is not None else ():
        try:
            importlib.import_module(module)
        except ImportError as error:
            missing.append(f"{module}: {error}")
    if library is not None and not missing:
        trouble = capture.rehearse(library)
        threads = len(os.listdir("/proc/self/task"))
        if trouble or threads > 1:
            missing.append(f"{library.name}: {trouble or f'{threads} threads are left, which no fork survives'}")
    return missing


def _lay_out(own: pages.Arenas | None, library: capture.Library | None) -> list[int]:
    """Order the memory for forks (pages.py); the stretches that a program of this library writes all over."""
    gc.collect()
    gc.freeze()
    if own is None or library is None:
        pages.settle(own)
        return []
    pages.fill()
    capture.rehearse(library, 2)  # where children's objects will lie: only what was used can be put into a huge page
    gc.collect()
    gc.freeze()
    pages.settle(own)
    return pages.written(lambda: capture.rehearse(library, 2))


def main(fd: int, base: str, name: str, without: tuple[str, ...], disk: int, workers: int, own: pages.Arenas | None) -> NoReturn:
    """Serve one library's programs ("" for none in particular) on the socket `fd`; `base` is an empty folder of ours,
    `without` names layers to leave out, `disk` is the usual size of a work folder, `workers` how many programs run at a time,
    `own` came from pages.gather.
    """
    user, pid = isolation.become_root_inside(), isolation.become_first_process()
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fd)
    above = os.open(os.path.dirname(base), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with capture.put_off("scipy", "scipy.sparse"):
        library = capture.discover().get(name)
    missing, read = _warm(library), _readable(library.preload if library is not None else ())
    found = {"user": user, "pid": pid, **isolation.plan(base, read)}
    layers = frozenset(layer for layer, reason in found.items() if not reason) - set(without)
    code = 0
    try:
        zygote = Zygote(control, base, isolation.Cell(layers, read, disk))
        zygote.worn = _lay_out(own, None if missing else library)
        sys.stdout.flush()  # what is left in a buffer here would be printed by every child
        sys.stderr.flush()
        libc.fflush(ctypes.c_void_p())
        zygote.confine(workers)
        gc.freeze()  # what that has made
        zygote.say(ready=True, layers=sorted(layers), missing=missing)
        zygote.serve()
    except BaseException:
        traceback.print_exc()
        code = 1
    if "mount" in layers:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.basename(base), dir_fd=above)
    else:
        remove_tree(base)
    os._exit(code)  # tearing down what was imported takes longer than a run
