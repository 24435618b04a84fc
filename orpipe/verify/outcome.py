"""A program to run, and what became of it, read from what its process said and how it ended."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orpipe.errors import ParseError
from orpipe.verify.captured import Captured
from orpipe.verify.frames import Channel

Outcome = Literal["ok", "no model", "unsupported", "exception", "timeout", "memory", "output", "crash", "sandbox"]

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: wall clock; the rest in bytes.  memory: address space; disk: work folder; output: stdout and stderr
    each.
    """

    seconds: float = 20.0
    memory: int = 2048 * _MIB
    file_size: int = 16 * _MIB
    disk: int = 64 * _MIB
    output: int = _MIB


@dataclass(frozen=True, slots=True)
class Job:
    """A program and the text files beside it.  `library`: which warm parent; by default what its imports announce."""

    program: str
    files: Mapping[str, str] = field(default_factory=dict)
    limits: Limits | None = None
    library: str | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """What became of a program.

    ok            it ended and the last model it solved is captured
    no model      it ended without solving anything
    unsupported   it ended; its last model is not a linear one that we can take exactly (message says why)
    exception, timeout, memory, output (printed too much), crash       as they say; `captured` may be there still
    sandbox       our own fault; says nothing about the program

    unread: why the last solved model could not be taken, whatever the outcome.  own: the exception comes from a `raise` of
    the program's, not from a library.
    """

    outcome: Outcome
    message: str = ""
    exception: str = ""
    traceback: str = ""
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    captured: Captured | None = None
    n_solves: int = 0
    layers: tuple[str, ...] = ()
    unread: str = ""
    own: bool = False

    @property
    def library(self) -> str:
        return self.captured.library if self.captured is not None else ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run's process ended: why it was killed, or ""; its wait status, None if it has said all and closed its pipes;
    seconds of wall clock and of processor time.
    """

    killed: str
    status: int | None
    seconds: float
    cpu: float = 0.0


def read_run(channel: Channel, stdout: bytes, stderr: bytes, ended: Ended, limits: Limits, layers: tuple[str, ...],
             missing: str = "") -> Run:
    """missing: why this library's programs cannot be run here.  Never raises, whatever the program wrote."""
    common: dict[str, Any] = {
        "stdout": stdout.decode("utf-8", errors="replace"), "stderr": stderr.decode("utf-8", errors="replace"),
        "seconds": ended.seconds, "n_solves": channel.solves, "layers": layers,
    }
    if missing:
        return Run("sandbox", f"cannot be run here: {missing}; install it (orpipe doctor says how)", **common)
    if not channel.started and ended.killed != "channel":
        why = channel.fault or f"the child ended before its confinement stood (after {ended.seconds:.1f} s)"
        return Run("sandbox", "the pool was closed while the program ran" if ended.killed == "closed" else why, **common)
    model, unread = channel.payloads.get(b"C", b""), channel.payloads.get(b"U", b"")
    said = channel.payloads.get(b"E", b"")
    report: dict[str, Any] = {}
    try:
        common["captured"] = Captured.decode(model) if channel.last == b"C" else None
        common["unread"] = _clean(unread.decode(errors="replace")) if channel.last == b"U" else ""
        if said:
            report = _report(said)
            common |= {"exception": report["type"], "traceback": report["traceback"], "own": report["own"]}
    except (ParseError, ValueError) as fault:
        return Run("crash", str(fault), **common)
    message = report.get("message", "")
    at_once: dict[str, tuple[Outcome, str]] = {
        "timeout": ("timeout", f"not finished after {limits.seconds:g} s"),
        "output": ("output", f"printed more than {limits.output} bytes"),
        "channel": ("crash", "wrote to the result channel"),
        "closed": ("sandbox", "the pool was closed while the program ran"),
    }
    outcome: Outcome
    if ended.killed in at_once:
        outcome, message = at_once[ended.killed]
    elif ended.status is not None and os.WIFSIGNALED(ended.status):
        outcome, message = _signalled(os.WTERMSIG(ended.status), ended.cpu, common["stderr"], limits)
    elif said:
        outcome = "memory" if report["memory"] else "exception"
    elif b"D" not in channel.payloads:
        code = os.waitstatus_to_exitcode(ended.status) if ended.status is not None else 0
        outcome, message = "crash", f"left with exit code {code} before its end"
    elif channel.last == b"C":
        outcome = "ok"
    elif channel.last == b"U":
        outcome, message = "unsupported", common["unread"]
    else:
        outcome, message = "no model", "ended without solving a model"
    return Run(outcome, message, **common)


_NO_MEMORY = re.compile(r"bad_alloc|MemoryError|Cannot allocate memory|[Oo]ut of memory|failed to map segment")
_CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def _report(said: bytes) -> dict[str, Any]:
    """The exception as the program's process told it.  Raises ValueError for what no child of ours says."""
    try:
        found = json.loads(said)
        kind, message, traceback, path = (found[key] for key in ("type", "message", "traceback", "path"))
        memory, own = found["memory"] is True, found["own"] is True
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("the exception cannot be read; the program wrote to its channel") from None
    if not all(isinstance(text, str) for text in (kind, message, traceback, path)):
        raise ValueError("the exception cannot be read; the program wrote to its channel")
    if kind == "FileNotFoundError" and os.path.isabs(path) and "\0" not in path and os.path.lexists(path):
        # It is there, outside of all that a program sees.
        kind, message = "PermissionError", f"[Errno 13] Permission denied: {path!r}"
    if kind == "OSError" and message.startswith("[Errno 30]"):  # read-only: which wall a program runs into first is chance
        kind = "PermissionError"
    kind = kind if kind.isidentifier() and len(kind) <= 200 else "Exception"
    return {"type": kind, "message": _clean(message), "traceback": _clean(traceback), "memory": memory, "own": own}


def _clean(text: str) -> str:
    """Without characters that a terminal obeys, or that no file can hold."""
    return text.translate(_CONTROL).encode("utf-8", errors="replace").decode()


def _signalled(number: int, cpu: float, stderr: str, limits: Limits) -> tuple[Outcome, str]:
    name = signal.Signals(number).name
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu >= int(limits.seconds) + 2):
        return "timeout", f"used {cpu:.0f} s of processor time"
    if number == signal.SIGKILL or _NO_MEMORY.search(stderr):
        return "memory", f"ended by {name} for lack of memory"
    return "crash", f"ended by {name}"
