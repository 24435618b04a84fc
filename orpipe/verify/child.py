"""The forked process that runs one program: confine, run as __main__, report.

The result pipe, descriptor 3, carries frames of kind (1 byte), length (4 bytes), payload:

    S   the confinement stands        X   it could not be made; why
    C   a captured model              U   why a model could not be taken
    E   the program's exception       D   the program's end was reached

What comes before S is ours.  What comes after may be the program's own writing: it decides nothing but what the program
itself could have brought about, a model it built or a failure.
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
import struct
import sys
import tempfile
import threading
import traceback
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from orpipe.verify import capture, isolation
from orpipe.verify.kernel import libc

RESULT = struct.Struct("<cI")  # kind, length of the payload
PROGRAM = "program.py"
# pandas takes pyarrow along where it is found; no program needs it, and its thread and size would weigh on every fork.
HIDDEN = ("pyarrow",)
_TEXT_LIMIT = 20_000


@dataclass
class Child:
    """One run, in the process that fork() made for it.  fds: the write ends of stdout, stderr and result."""

    job: dict[str, Any]
    box: isolation.Box
    layers: set[str]
    fds: dict[str, int]

    def live(self) -> NoReturn:
        code = 70
        try:
            code = self._live()
        except BaseException:
            # Told by the absence of S or D; what must not happen is the parent's loop going on in this process.
            traceback.print_exc()
        finally:
            os._exit(code)

    def _live(self) -> int:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        self._take_descriptors()
        try:
            isolation.enter(self.layers, self.box)
            os.chdir(self.box.work)
            self._write_files()
            self._clean_interpreter()
            isolation.lock(self.layers, self.box)
        except BaseException as error:
            self._send(b"X", f"confinement failed ({type(error).__name__}: {error})".encode())
            return 70
        capture.RECORDER.sink = self._send
        self._send(b"S", b"")
        self._program()
        self._send(b"D", b"")
        return 0

    def _take_descriptors(self) -> None:
        """0 reads nothing, 1 and 2 are the output pipes, 3 is the result pipe, and there are no others."""
        spare = max(self.fds.values()) + 10
        moved = [os.dup2(self.fds[name], spare + k) for k, name in enumerate(("stdout", "stderr", "result"))]
        for target, fd in zip((1, 2, 3), moved, strict=True):
            os.dup2(fd, target)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.closerange(4, 4096)
        for name, fd, mode, buffering in (("stdin", 0, "r", -1), ("stdout", 1, "w", -1), ("stderr", 2, "w", 1)):
            stream = open(fd, mode, buffering, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)

    def _write_files(self) -> None:
        for name, text in {**self.job["files"], PROGRAM: self.job["program"]}.items():
            path = Path(self.box.work, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogatepass")

    def _clean_interpreter(self) -> None:
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        os.environ.clear()
        work = self.box.work
        os.environ.update(kept, HOME=work, TMPDIR=work, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        tempfile.tempdir = None  # found anew, from TMPDIR
        sys.argv = [PROGRAM]
        sys.path[:] = [work, *(p for p in sys.path if any(p == r or p.startswith(r + "/") for r in self.box.read))]
        for name in HIDDEN:
            if sys.modules.get(name, 0) is None:
                del sys.modules[name]
        atexit._clear()
        gc.enable()

    def _send(self, kind: bytes, payload: bytes) -> None:
        view = memoryview(RESULT.pack(kind, len(payload)) + payload)
        while view:
            view = view[os.write(3, view):]

    def _program(self) -> None:
        """Run the text as __main__ and report its exception, if any."""
        text = self.job["program"]
        path = os.path.join(self.box.work, PROGRAM)
        main = types.ModuleType("__main__")
        main.__dict__.update(__file__=path, __builtins__=__builtins__)
        sys.modules["__main__"] = main
        linecache.cache[PROGRAM] = (len(text), None, text.splitlines(keepends=True), PROGRAM)
        try:
            exec(compile(text, PROGRAM, "exec"), main.__dict__)
            for thread in threading.enumerate():
                if thread is not threading.main_thread() and not thread.daemon:
                    thread.join()
        except SystemExit as error:
            if error.code not in (None, 0):
                self._report(error)
        except BaseException as error:
            self._report(error)
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        libc.fflush(ctypes.c_void_p())

    def _report(self, error: BaseException) -> None:
        """Send type, message and traceback, the latter from the program's first frame on."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != PROGRAM:
            trace = trace.tb_next
        try:
            message = str(error)
            lines = traceback.format_exception(type(error), error, trace)
        except BaseException as second:
            message, lines = f"its message cannot be made ({type(second).__name__})", []
        self._send(b"E", json.dumps({
            "type": type(error).__name__, "message": message[:_TEXT_LIMIT],
            "traceback": "".join(lines)[-_TEXT_LIMIT:], "memory": isinstance(error, MemoryError),
        }).encode())
