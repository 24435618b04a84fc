"""The warm parent: an interpreter that has imported one library and forks a confined child for each program.

Started by sandbox.Pool in a fresh interpreter; speaks JSON messages over one packet socket:

    Pool -> zygote    {"id", "limits"} with four descriptors, handed on to a child; {"kill", "why"}
    zygote -> Pool    {"ready", "layers", "missing"} once, then for each job {"id", "fault"} if it could not be started, else
                      {"id", "end", "status", "seconds", "cpu"}

The next child is forked, and in its namespaces, before its program comes.  The zygote solves nothing but its library's
rehearsal, with one thread: a solver's threads do not survive a fork.  It never sees what programs say.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import selectors
import signal
import socket
import sys
import sysconfig
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from orpipe.verify import capture, isolation, root, seccomp
from orpipe.verify.child import HIDDEN, Child
from orpipe.verify.clearing import remove_tree
from orpipe.verify.frames import Frames, pack  # noqa: F401  pack and Frames are looked for here too
from orpipe.verify.kernel import libc


@dataclass
class _Run:
    """One child: `wire` leads to it as long as it waits for its program."""

    pid: int
    wire: socket.socket
    work: str
    id: int = -1
    started: float = 0.0
    seconds: float = 0.0
    killed: str = ""


class Zygote:
    def __init__(self, control: socket.socket, base: str, layers: frozenset[str], read: tuple[str, ...], disk: int) -> None:
        self.control, self.base, self.layers, self.read, self.disk = control, base, layers, read, disk
        self.selector = selectors.DefaultSelector()
        self.runs: dict[int, _Run] = {}
        self.spare: _Run | None = None
        self.number = 0
        self.vm_size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        self.pid_namespace = isolation.open_pid_namespace() if "pid" in layers else -1
        self.rules = -1
        wake_read, self.wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        self.selector.register(wake_read, selectors.EVENT_READ, "wake")
        self.selector.register(control, selectors.EVENT_READ, "control")

    def confine(self) -> None:
        """What children need of this process, and as much confinement as it bears itself.  No import works afterwards."""
        if "mount" in self.layers:
            root.build(self.read, self.base)
            if "landlock" in self.layers:
                self.rules = isolation.landlock_rules(self.read, root.PLACE)
        if "seccomp" in self.layers:
            seccomp.prepare("mount" in self.layers)
        isolation.drop_bounds()

    def say(self, **message: Any) -> None:
        self.control.send(json.dumps(message).encode())

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
        for key, _ in self.selector.select(max(0.0, min(deadlines) - now) if deadlines else None):
            if key.data == "wake":
                with contextlib.suppress(BlockingIOError):
                    os.read(key.fd, 4096)
            elif not self._listen():
                return False
        now = time.monotonic()
        for run in self.runs.values():
            if not run.killed and now >= run.started + run.seconds:
                self._kill(run, "timeout")
        self._reap()
        return True

    def _listen(self) -> bool:
        raw, fds, _, _ = socket.recv_fds(self.control, 1 << 16, 8)
        if not raw:
            return False
        try:
            message = json.loads(raw)
            if "kill" in message:
                for run in self.runs.values():
                    if run.id == message["kill"] and not run.killed:
                        self._kill(run, message["why"])
            else:
                self._start(message, raw, fds)
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def _start(self, message: dict[str, Any], raw: bytes, fds: list[int]) -> None:
        why = "no child could be forked"
        for _ in range(3):
            try:
                run = self.spare or self._fork()
                socket.send_fds(run.wire, [raw], fds)
            except OSError as error:  # the kernel refuses, or the waiting child was ended from outside
                why = f"no child could be forked ({error})"
                if self.spare is not None:
                    self._kill(self.spare, "lost")
                    self.runs[self.spare.pid], self.spare = self.spare, None
                continue
            run.wire.close()
            run.id, run.started, run.seconds = message["id"], time.monotonic(), message["limits"]["seconds"]
            self.runs[run.pid], self.spare = run, None
            return
        self.say(id=message["id"], fault=why)

    def _fork(self) -> _Run:
        self.number += 1
        work = root.WORK
        if "mount" not in self.layers:
            work = os.path.join(self.base, str(self.number))
            os.mkdir(work, 0o700)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gc.disable()
        try:
            pid = isolation.fork_into_pid_namespace(self.pid_namespace) if self.pid_namespace >= 0 else os.fork()
        except OSError:
            theirs.close()
            ours.close()
            if work != root.WORK:
                os.rmdir(work)
            raise
        if pid == 0:
            self.runs.clear()
            Child(self.layers, work, self.read, self.disk, self.vm_size, self.rules, self.number).live(theirs)
        theirs.close()
        self.spare = _Run(pid, ours, work)
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
            if "pid" not in self.layers:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)  # what it left behind
            if run.work != root.WORK:
                self._clear(run.work)
            if tell and run.id >= 0:
                self.say(id=run.id, end=run.killed, status=status, seconds=time.monotonic() - run.started,
                         cpu=usage.ru_utime + usage.ru_stime)

    def _clear(self, work: str) -> None:
        """In a process of its own: a program may have left more than is removed in a moment."""
        try:
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
        installed += [p for p in folders if p != here]
    return tuple(p for p in dict.fromkeys([*system, *python, *installed]) if os.path.exists(p))


def _warm(library: capture.Library | None) -> list[str]:
    """Import and rehearse the library; what stands in the way of its programs."""
    capture.install()
    for hidden in HIDDEN:
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


def main(fd: int, base: str, name: str, without: tuple[str, ...], disk: int) -> NoReturn:
    """Serve one library's programs ("" for none in particular) on the socket `fd`; `base` is an empty folder of ours,
    `without` names layers to leave out, `disk` is the usual size of a work folder.
    """
    user, pid = isolation.become_root_inside(), isolation.become_first_process()
    control = socket.socket(fileno=fd)
    above = os.open(os.path.dirname(base), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with capture.put_off("scipy", "scipy.sparse"):
        library = capture.discover().get(name)
    missing, read = _warm(library), _readable(library.preload if library is not None else ())
    found = {"user": user, "pid": pid, **isolation.plan(base, read)}
    layers = frozenset(layer for layer, reason in found.items() if not reason) - set(without)
    sys.stdout.flush()  # what is left in a buffer here would be printed by every child
    sys.stderr.flush()
    libc.fflush(ctypes.c_void_p())
    code = 0
    try:
        zygote = Zygote(control, base, layers, read, disk)
        zygote.confine()
        gc.collect()
        gc.freeze()
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
