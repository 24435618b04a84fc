"""The warm parent: an interpreter that has imported one library and forks a confined child for each program.

Started by sandbox.Pool in a fresh interpreter; speaks length-prefixed frames over one socket.  A frame is a JSON head
and binary parts (`pack`, `Frames`):

    Pool -> zygote    {"id", "program", "files", "limits"}
    zygote -> Pool    {"ready", "layers", "missing"} once, then for each job
                      {"id", "fault", "end", "status", "seconds", "cpu", "solves"}
                      with the parts stdout, stderr, model, unread, exception

It solves nothing but its library's rehearsal, with one thread: a solver's threads do not survive a fork.
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
import shutil
import signal
import socket
import struct
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from orpipe.verify import capture, isolation, seccomp
from orpipe.verify.child import HIDDEN, RESULT, Child
from orpipe.verify.kernel import libc

_HEAD = struct.Struct("<II")  # length of the JSON head, length of everything after the head
_RESULT_LIMIT = 64 << 20


def pack(head: dict[str, Any], *parts: bytes) -> bytes:
    text = json.dumps({**head, "parts": [len(p) for p in parts]}).encode()
    return b"".join([_HEAD.pack(len(text), sum(map(len, parts))), text, *parts])


@dataclass
class Frames:
    """Cuts a byte stream into frames; `feed` yields (head, parts)."""

    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            n_head, n_rest = _HEAD.unpack_from(self._buffer)
            end = _HEAD.size + n_head + n_rest
            if len(self._buffer) < end:
                return
            head = json.loads(self._buffer[_HEAD.size:_HEAD.size + n_head])
            parts, at = [], _HEAD.size + n_head
            for length in head["parts"]:
                parts.append(bytes(self._buffer[at:at + length]))
                at += length
            del self._buffer[:end]
            yield head, parts


# --------------------------------------------------------------------------------------------------------- the parent


@dataclass
class _Run:
    """One child at work."""

    id: int
    pid: int
    started: float
    limits: dict[str, Any]
    work: str
    pipes: dict[int, str]  # fd -> stdout, stderr or result
    data: dict[str, bytearray] = field(default_factory=lambda: {k: bytearray() for k in ("stdout", "stderr", "result")})
    frames: dict[bytes, bytes] = field(default_factory=dict)  # the last of each kind
    solves: int = 0
    killed: str = ""


class Zygote:
    def __init__(self, control: socket.socket, base: str, layers: set[str], read: tuple[str, ...]) -> None:
        self.control, self.base, self.layers, self.read = control, base, layers, read
        self.selector = selectors.DefaultSelector()
        self.runs: dict[int, _Run] = {}
        self.incoming, self.outgoing = Frames(), bytearray()
        self.vm_size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        self.pid_namespace = isolation.open_pid_namespace() if "pid" in layers else -1
        wake_read, self.wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        self.selector.register(wake_read, selectors.EVENT_READ, "wake")
        control.setblocking(False)
        self.selector.register(control, selectors.EVENT_READ, "control")

    def say(self, head: dict[str, Any], *parts: bytes) -> None:
        self.outgoing += pack(head, *parts)
        self._flush()

    def _flush(self) -> None:
        while self.outgoing:
            try:
                sent = self.control.send(self.outgoing)
            except BlockingIOError:
                break
            del self.outgoing[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.outgoing else 0)
        self.selector.modify(self.control, wanted, "control")

    def serve(self) -> None:
        """Until the Pool closes the socket; then everything still running is killed."""
        try:
            while self._turn():
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            for run in self.runs.values():
                self._kill(run, "closed")

    def _turn(self) -> bool:
        now = time.monotonic()
        deadlines = [run.started + run.limits["seconds"] for run in self.runs.values() if not run.killed]
        wait = max(0.0, min(deadlines) - now) if deadlines else None
        for key, events in self.selector.select(wait):
            if key.data == "control":
                if events & selectors.EVENT_WRITE:
                    self._flush()
                if events & selectors.EVENT_READ:
                    data = self.control.recv(1 << 20)
                    if not data:
                        return False
                    for head, _ in self.incoming.feed(data):
                        self._start(head)
            elif key.data == "wake":
                with contextlib.suppress(BlockingIOError):
                    os.read(key.fd, 4096)
            else:
                self._read(key.data, key.fd)
        now = time.monotonic()
        for run in list(self.runs.values()):
            if not run.killed and now >= run.started + run.limits["seconds"]:
                self._kill(run, "timeout")
        self._reap()
        return True

    def _start(self, job: dict[str, Any]) -> None:
        limits = job["limits"]
        work = self.base
        if "mount" not in self.layers:
            work = os.path.join(self.base, str(job["id"]))
            os.mkdir(work, 0o700)
        box = isolation.Box(
            work, self.read, max(limits["memory"], self.vm_size + limits["memory"] // 2), int(limits["seconds"]) + 2,
            limits["file_size"], limits["disk"], 256 if "user" in self.layers else 0,
        )
        pairs = {name: os.pipe2(os.O_CLOEXEC) for name in ("stdout", "stderr", "result")}
        started = time.monotonic()
        gc.disable()
        pid = isolation.fork_into_pid_namespace(self.pid_namespace) if self.pid_namespace >= 0 else os.fork()
        if pid == 0:
            # What other programs did must not be found by walking up the stack.
            self.runs.clear()
            self.outgoing.clear()
            self.incoming = Frames()
            Child(job, box, self.layers, {name: pair[1] for name, pair in pairs.items()}).live()
        pipes = {}
        for name, (read_end, write_end) in pairs.items():
            os.close(write_end)
            os.set_blocking(read_end, False)
            pipes[read_end] = name
        run = self.runs[pid] = _Run(job["id"], pid, started, limits, work, pipes)
        for fd in pipes:
            self.selector.register(fd, selectors.EVENT_READ, run)

    def _read(self, run: _Run, fd: int) -> int:
        """Take what a pipe holds: the number of bytes, 0 at its end or when it holds nothing now."""
        if fd not in run.pipes:
            return 0
        name = run.pipes[fd]
        try:
            data = os.read(fd, 1 << 18)
        except BlockingIOError:
            return 0
        if not data:
            self._forget(run, fd)
            return 0
        if run.killed:
            return len(data)
        buffer = run.data[name]
        buffer += data
        if name == "result":
            self._results(run, buffer)
        elif len(buffer) > run.limits["output"]:
            del buffer[run.limits["output"]:]
            self._kill(run, "output")
        return len(data)

    def _forget(self, run: _Run, fd: int) -> None:
        self.selector.unregister(fd)
        os.close(fd)
        del run.pipes[fd]

    def _results(self, run: _Run, buffer: bytearray) -> None:
        while len(buffer) >= RESULT.size:
            kind, length = RESULT.unpack_from(buffer)
            if length > _RESULT_LIMIT or kind not in b"SXCUED":
                self._kill(run, "channel")
                return
            end = RESULT.size + length
            if len(buffer) < end:
                return
            if b"S" not in run.frames or kind not in b"SX":
                if kind in b"CU":  # the last solve counts, whichever way it went
                    run.frames.pop(b"U" if kind == b"C" else b"C", None)
                    run.solves += 1
                run.frames[kind] = bytes(buffer[RESULT.size:end])
            del buffer[:end]

    def _kill(self, run: _Run, why: str) -> None:
        run.killed = why
        if run.pid not in self.runs:
            return  # already reaped: the number may be another process's by now
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(run.pid, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            run = self.runs.pop(pid, None)
            if run is not None:
                self._finish(run, status, usage.ru_utime + usage.ru_stime)

    def _finish(self, run: _Run, status: int, cpu: float) -> None:
        seconds = time.monotonic() - run.started
        if "pid" not in self.layers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(run.pid, signal.SIGKILL)  # what it left behind
        for fd in list(run.pipes):
            while self._read(run, fd):
                pass
            if fd in run.pipes:
                self._forget(run, fd)
        if run.work != self.base:
            shutil.rmtree(run.work, onerror=_force)
        frames = run.frames
        fault = ""
        if b"S" not in frames and not run.killed:
            fault = frames.get(b"X", b"the child ended before its confinement stood").decode(errors="replace")
        end = run.killed or ("reached" if b"D" in frames else "")
        self.say(
            {"id": run.id, "fault": fault, "end": end, "status": status, "seconds": seconds, "cpu": cpu,
             "solves": run.solves},
            bytes(run.data["stdout"]), bytes(run.data["stderr"]),
            *(frames.get(kind, b"") for kind in (b"C", b"U", b"E")),
        )


def _force(function: Any, path: str, _: Any) -> None:
    """A program may have locked its own folders: open the way and try again."""
    with contextlib.suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)
        if not os.path.islink(path):
            os.chmod(path, 0o700)
        if function in (os.scandir, os.open, os.lstat):
            shutil.rmtree(path, ignore_errors=True)
        else:
            function(path)


# -------------------------------------------------------------------------------------------------------------- start

def _readable(preload: tuple[str, ...]) -> tuple[str, ...]:
    """What a program may read: the system's libraries, the interpreter and the installed packages; never a working
    copy.
    """
    system = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/random",
              "/dev/zero", "/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo"]
    python = [*sysconfig.get_paths().values(), os.path.join(sys.base_prefix, "lib"), os.path.join(sys.prefix, "lib")]
    installed = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
    here = str(Path(__file__).resolve().parents[2])
    for name in {name.partition(".")[0] for name in preload}:  # a library installed elsewhere, by way of PYTHONPATH
        spec = importlib.util.find_spec(name)
        folders = [str(Path(p).parent) for p in (spec.submodule_search_locations or [])] if spec is not None else []
        installed += [p for p in folders if p != here]
    return tuple(p for p in dict.fromkeys([*system, *python, *installed]) if os.path.exists(p))


def main(fd: int, base: str, name: str, without: tuple[str, ...]) -> NoReturn:
    """Serve one library's programs ("" for none in particular) on the socket `fd`; `base` is an empty folder of ours,
    `without` names layers to leave out.
    """
    user, pid = isolation.become_root_inside(), isolation.become_first_process()
    control = socket.socket(fileno=fd)
    library = capture.discover().get(name)
    preload = library.preload if library is not None else ()
    work = os.path.join(base, "work")
    os.mkdir(work, 0o700)
    read = _readable(preload)
    found = {"user": user, "pid": pid, **isolation.plan(work, read)}
    layers = {layer for layer, reason in found.items() if not reason} - set(without)
    if "seccomp" in layers:
        seccomp.prepare()
    capture.install()
    for hidden in HIDDEN:
        sys.modules.setdefault(hidden, None)  # type: ignore[arg-type]
    missing = []
    for module in preload:
        try:
            importlib.import_module(module)
        except ImportError as error:
            missing.append(f"{module}: {error}")
    if library is not None and not missing:
        trouble = capture.rehearse(library)
        threads = len(os.listdir("/proc/self/task"))
        if trouble or threads > 1:
            missing.append(f"{name}: {trouble or f'{threads} threads are left, which no fork survives'}")
    sys.stdout.flush()  # what is left in a buffer here would be printed by every child
    sys.stderr.flush()
    libc.fflush(ctypes.c_void_p())
    gc.collect()
    gc.freeze()
    try:
        zygote = Zygote(control, work, layers, read)
        zygote.say({"ready": True, "layers": sorted(layers), "missing": missing})
        zygote.serve()
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    shutil.rmtree(base, ignore_errors=True)
    os._exit(code)  # tearing down what was imported takes longer than a run
