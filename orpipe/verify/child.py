"""The forked process that runs one program: enter its namespaces, wait for the program, confine, run it, report.

It is forked before its program is there.  The program, its files and its pipes come by descriptor straight from the
pool, so that the warm parent, whose memory every later child inherits, never holds them.  Descriptor 3 is the run's own
pipe for results (frames.py).

Half of the time that a small program takes goes into copying pages that are touched for the first time after a fork.  So
what can be done before it is done there (`prepare`), and what is left goes by C functions.
"""

from __future__ import annotations

import _signal
import _socket
import atexit
import contextlib
import gc
import json
import linecache
import marshal
import opcode
import os
import struct
import sys
import tempfile
import threading
import traceback
import types
from typing import Any, NoReturn

from orpipe.verify import capture, isolation, root
from orpipe.verify.frames import record
from orpipe.verify.kernel import libc
from orpipe.verify.outcome import Limits

PROGRAM = "program.py"
# pandas takes pyarrow along where it is found; no program needs it, and its thread and size would weigh on every fork.
HIDDEN = ("pyarrow",)
FDS = struct.Struct("4i")  # program and files, stdout, stderr, results
_TEXT_LIMIT = 20_000
_CLOSE_RANGE = 436
_RAISE = opcode.opmap["RAISE_VARARGS"]
_WIRE, _RULES = 3, 4
_COLLECT = (20_000, 20, 20)  # Python's own 700 has a program that builds a model look through its objects dozens of times for nothing


def prepare(work: str, read: tuple[str, ...]) -> types.ModuleType:
    """Clear this interpreter for programs that are run in children of it; the module that a program is to be.

    Afterwards this process can import nothing of ours.
    """
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    os.environ.clear()
    os.environ.update(kept, HOME=work, TMPDIR=work, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    tempfile.tempdir = None  # found anew, from TMPDIR
    sys.argv = [PROGRAM]
    sys.path[:] = [work, *(p for p in sys.path if any(p == r or p.startswith(r + "/") for r in read))]
    for name in [name for name, module in sys.modules.items() if module is None]:
        del sys.modules[name]
    atexit._clear()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=os.path.join(work, PROGRAM), __builtins__=__builtins__)
    return main


class Child:
    """One run, in the process that fork() made for it.

    cell: how it is confined; main: its module; work: its folder; number: tells runs apart; namespaces: descriptors of
    those it joins, None for new ones.
    """

    def __init__(self, cell: isolation.Cell, main: types.ModuleType, work: str, number: int,
                 namespaces: tuple[int, ...] | None) -> None:
        self.cell, self.main, self.work, self.number, self.namespaces = cell, main, work, number, namespaces

    def live(self, wire: int) -> NoReturn:
        """wire: a socket where the job comes from, one message with four descriptors."""
        code = 70
        try:
            code = self._live(wire)
        except BaseException:
            # Told by the absence of S or D; what must not happen is the parent's loop going on in this process.
            traceback.print_exc()
        finally:
            os._exit(code)

    def _live(self, wire: int) -> int:
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        os.setsid()
        cell, error = self.cell, ""
        try:
            cell.enter(self.namespaces)
        except BaseException as failure:
            error = f"{type(failure).__name__}: {failure}"
        rules = self._keep(wire)
        waiting = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, _WIRE)
        message, extra, _, _ = waiting.recvmsg(1 << 16, _socket.CMSG_SPACE(FDS.size))
        waiting.detach()
        if not extra:
            return 0  # no program is to come
        job, out, err, results = FDS.unpack(extra[0][2])
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.dup2(results, _WIRE)
        try:
            if error:
                raise OSError(error)
            limits = Limits(*marshal.loads(message)[1:])
            program, files = marshal.loads(_content(job))
            _close_from(_RULES + 1 if rules >= 0 else _RULES)
            if cell.mounted and limits.disk != cell.disk:
                root.mount_work(limits.disk, again=True)
            os.chdir(self.work)
            for name in files:
                _write(name, files[name])
            _write(PROGRAM, program)
            if not cell.mounted:
                self._elsewhere()
            cell.lock(self.work, self.number, rules, limits.seconds, limits.memory, limits.file_size)
        except BaseException as failure:
            _send(b"X", f"confinement failed ({type(failure).__name__}: {failure})".encode(errors="replace"))
            return 70
        gc.set_threshold(*_COLLECT)
        gc.enable()
        capture.RECORDER.sink = _send
        _send(b"S", b"")
        self._program(program)
        _send(b"D", b"")
        return 0

    def _keep(self, wire: int) -> int:
        """Leave 0 (nothing to read), 1, 2, the wire and the rules; the rules' new place, or -1."""
        rules = self.cell.rules
        high = 64
        os.dup2(wire, high)
        if rules >= 0:
            os.dup2(rules, _RULES)
        os.dup2(high, _WIRE)
        _close_from(_RULES + 1 if rules >= 0 else _RULES)
        return _RULES if rules >= 0 else -1

    def _elsewhere(self) -> None:
        """The work folder is not where `prepare` was told it would be."""
        os.environ["HOME"] = os.environ["TMPDIR"] = sys.path[0] = self.work
        self.main.__dict__["__file__"] = os.path.join(self.work, PROGRAM)

    def _program(self, text: str) -> None:
        """Run the text as __main__ and report its exception, if any."""
        main = sys.modules["__main__"] = self.main
        linecache.cache[PROGRAM] = (len(text), None, text.splitlines(True), PROGRAM)
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
        libc.fflush(None)


def _close_from(fd: int) -> None:
    if libc.syscall(_CLOSE_RANGE, fd, -1, 0) < 0:
        os.closerange(fd, 4096)


def _content(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    found = os.pread(fd, size, 0)
    while len(found) < size:
        found += os.pread(fd, size - len(found), len(found))
    return found


def _write(name: str, text: str) -> None:
    if "/" in name:
        os.makedirs(os.path.dirname(name), exist_ok=True)
    data = memoryview(text.encode("utf-8", "surrogatepass"))
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    while data:
        data = data[os.write(fd, data):]
    os.close(fd)


def _send(kind: bytes, payload: bytes) -> None:
    view = memoryview(record(kind, payload))
    while view:
        view = view[os.write(_WIRE, view):]


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
        "path": path[:1000] if isinstance(path, str) else "", "own": _own(error),
    }).encode())


def _own(error: BaseException) -> bool:
    """Whether a `raise` outside the installed packages made it and what it stands on: no library complained."""
    link: BaseException | None = error
    for _ in range(10):
        if link is None or not isinstance(link, type(error)):
            break
        trace = link.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is not None:
            code = trace.tb_frame.f_code
            raised = 0 <= trace.tb_lasti < len(code.co_code) and code.co_code[trace.tb_lasti] == _RAISE
            if not raised or any(code.co_filename.startswith(p + "/") for p in sys.path[1:]):
                return False
        link = link.__cause__ or link.__context__
    return True
