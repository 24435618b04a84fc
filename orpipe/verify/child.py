"""The forked process that runs one program: enter its namespaces, wait for the program, confine, run it, report.

It is forked before its program is there.  The program, its files and its pipes come by descriptor straight from the
pool, so that the warm parent, whose memory every later child inherits, never holds them.  Descriptor 3 is the run's own
pipe for results (frames.py).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import linecache
import os
import signal
import socket
import sys
import tempfile
import threading
import traceback
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from orpipe.verify import capture, isolation, root
from orpipe.verify.frames import record
from orpipe.verify.kernel import libc

PROGRAM = "program.py"
# pandas takes pyarrow along where it is found; no program needs it, and its thread and size would weigh on every fork.
HIDDEN = ("pyarrow",)
_TEXT_LIMIT = 20_000
_CLOSE_RANGE = 436


@dataclass
class Child:
    """One run, in the process that fork() made for it.

    work: its folder; read: what it may read; disk: bytes of the folder that is mounted at once; vm_size: address space of
    the parent; rules: landlock rule set or -1; number: tells runs apart.
    """

    layers: frozenset[str]
    work: str
    read: tuple[str, ...]
    disk: int
    vm_size: int
    rules: int
    number: int

    def live(self, wire: socket.socket) -> NoReturn:
        """wire: where the job comes from, a message with four descriptors: program and files, stdout, stderr, results."""
        code = 70
        try:
            code = self._live(wire)
        except BaseException:
            # Told by the absence of S or D; what must not happen is the parent's loop going on in this process.
            traceback.print_exc()
        finally:
            os._exit(code)

    def _live(self, wire: socket.socket) -> int:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        self._keep(wire.detach())
        error = ""
        try:
            isolation.enter(self.layers, self.disk)
        except BaseException as failure:
            error = f"{type(failure).__name__}: {failure}"
        with socket.socket(fileno=3) as mine:
            message, fds, _, _ = socket.recv_fds(mine, 1 << 16, 4)
        if len(fds) != 4:
            return 0  # no program is to come
        job, *pipes = fds
        for target, fd in zip((1, 2, 3), pipes, strict=True):
            os.dup2(fd, target)
        try:
            if error:
                raise OSError(error)
            limits = json.loads(message)["limits"]
            given = json.loads(_content(job))
            _close_from(5)
            self._streams()
            box = isolation.Box(
                self.work, self.read, max(limits["memory"], self.vm_size + limits["memory"] // 2),
                int(limits["seconds"]) + 2, limits["file_size"], limits["disk"],
                isolation.THREADS if "threads" in self.layers else 0, self.number, self.rules, "mount" in self.layers,
            )
            if "mount" in self.layers and box.disk != self.disk:
                root.mount_work(box.disk, again=True)
            os.chdir(self.work)
            for name, text in {**given["files"], PROGRAM: given["program"]}.items():
                _write(Path(self.work, name), text)
            self._clean_interpreter()
            isolation.lock(self.layers, box)
        except BaseException as failure:
            _send(b"X", f"confinement failed ({type(failure).__name__}: {failure})".encode(errors="replace"))
            return 70
        capture.RECORDER.sink = _send
        _send(b"S", b"")
        self._program(given["program"])
        _send(b"D", b"")
        return 0

    def _keep(self, wire: int) -> None:
        """Leave 0 (nothing to read), 1, 2, the wire as 3 and the rules as 4."""
        high = 64
        os.dup2(wire, high)
        if self.rules >= 0:
            os.dup2(self.rules, 4)
            self.rules = 4
        os.dup2(high, 3)
        _close_from(5 if self.rules >= 0 else 4)

    def _streams(self) -> None:
        for name, fd, mode, buffering in (("stdin", 0, "r", -1), ("stdout", 1, "w", -1), ("stderr", 2, "w", 1)):
            stream = open(fd, mode, buffering, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)

    def _clean_interpreter(self) -> None:
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        os.environ.clear()
        work = self.work
        os.environ.update(kept, HOME=work, TMPDIR=work, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        tempfile.tempdir = None  # found anew, from TMPDIR
        sys.argv = [PROGRAM]
        sys.path[:] = [work, *(p for p in sys.path if any(p == r or p.startswith(r + "/") for r in self.read))]
        for name in HIDDEN:
            if sys.modules.get(name, 0) is None:
                del sys.modules[name]
        atexit._clear()
        gc.enable()

    def _program(self, text: str) -> None:
        """Run the text as __main__ and report its exception, if any."""
        main = types.ModuleType("__main__")
        main.__dict__.update(__file__=os.path.join(self.work, PROGRAM), __builtins__=__builtins__)
        sys.modules["__main__"] = main
        linecache.cache[PROGRAM] = (len(text), None, text.splitlines(keepends=True), PROGRAM)
        try:
            exec(compile(text, PROGRAM, "exec"), main.__dict__)
            for thread in threading.enumerate():
                if thread is not threading.main_thread() and not thread.daemon:
                    thread.join()
        except SystemExit as error:
            if error.code not in (None, 0):
                _report(error)
        except BaseException as error:
            _report(error)
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        libc.fflush(ctypes.c_void_p())


def _close_from(fd: int) -> None:
    if libc.syscall(_CLOSE_RANGE, ctypes.c_uint(fd), ctypes.c_uint(0xFFFFFFFF), ctypes.c_uint(0)) < 0:
        os.closerange(fd, 4096)


def _content(fd: int) -> bytes:
    size, parts, at = os.fstat(fd).st_size, [], 0
    while at < size:
        parts.append(os.pread(fd, size - at, at))
        at += len(parts[-1])
    return b"".join(parts)


def _write(path: Path, text: str) -> None:
    if path.parent != Path("."):
        path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(text)


def _send(kind: bytes, payload: bytes) -> None:
    view = memoryview(record(kind, payload))
    while view:
        view = view[os.write(3, view):]


def _report(error: BaseException) -> None:
    """Send type, message and traceback, the latter from the program's first frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != PROGRAM:
        trace = trace.tb_next
    try:
        message = str(error)
        lines = traceback.format_exception(type(error), error, trace)
    except BaseException as second:
        message, lines = f"its message cannot be made ({type(second).__name__})", []
    path: Any = error.filename if isinstance(error, FileNotFoundError) else ""
    _send(b"E", json.dumps({
        "type": str(type(error).__name__)[:200], "message": message[:_TEXT_LIMIT],
        "traceback": "".join(lines)[-_TEXT_LIMIT:], "memory": isinstance(error, MemoryError),
        "path": path[:1000] if isinstance(path, str) else "",
    }).encode())
