"""What the commands share: tables, JSON and progress bars, and how a command ends.

Data on stdout, everything else on stderr.  Exit codes: 0 ok, 1 checks failed, 2 misuse, 3 environment, 130 stopped.
A reader that closes the pipe (`| head -1`) changes neither what a command does nor its exit code.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from time import monotonic
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from orpipe.errors import OrpipeError

_WIDE = 240  # columns of a table that nobody reads on a terminal: no cell is folded
_EVERY = 30.0  # seconds between two lines of progress where there is no terminal
STOPPED = 130


class OrpipeStopped(OrpipeError):
    """Stopped from the keyboard, with work that is kept."""

    exit_code = STOPPED


def say(text: str) -> None:
    """A line on stderr."""
    Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


def put(text: str) -> None:
    """Data on stdout, with one newline at the end."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def put_json(content: Any) -> None:
    plain = asdict(content) if is_dataclass(content) and not isinstance(content, type) else content
    put(json.dumps(plain, indent=2, ensure_ascii=False))


def put_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """A table on stdout; columns of numbers are set right.  Floats show one decimal, None shows nothing."""
    table = Table(title=title or None, title_justify="left")
    for k, name in enumerate(columns):
        cells = [row[k] for row in rows if row[k] is not None]
        numeric = bool(cells) and all(isinstance(x, (int, float)) for x in cells)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*("" if x is None else f"{x:.1f}" if isinstance(x, float) else str(x) for x in row))
    terminal = sys.stdout.isatty()
    console = Console(file=io.StringIO(), width=None if terminal else _WIDE, force_terminal=terminal, highlight=False, markup=False)
    console.print(table)
    put(console.file.getvalue())  # type: ignore[attr-defined]


@contextmanager
def bars(totals: Mapping[str, int | None]) -> Iterator[Callable[[str, int], None]]:
    """A function (name, count) that advances named progress bars on stderr; without a terminal, a line of counts every
    half minute, so that a log shows that the run lives."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        tasks = {name: progress.add_task(name, total=total) for name, total in totals.items()}
        done, told = dict.fromkeys(totals, 0), monotonic()

        def advance(name: str, count: int) -> None:
            nonlocal told
            progress.update(tasks[name], advance=count)
            done[name] += count
            if not console.is_terminal and monotonic() - told >= _EVERY:
                told = monotonic()
                say(", ".join(f"{' '.join(k.split())} {n}" + (f"/{totals[k]}" if totals[k] is not None else "") for k, n in done.items()))

        yield advance


def run(app: typer.Typer, name: str) -> int:
    """Run a command line and return its exit code; what a user can cause or must be told of is one line on stderr."""
    try:
        code = app(prog_name=name, standalone_mode=False)
        if code == STOPPED:
            say(f"{name}: stopped")
        return code if isinstance(code, int) else 0
    except OrpipeError as error:
        return _end(name, str(error), error.exit_code)
    except typer.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        with _impatient():
            return _end(name, "stopped", STOPPED)
    except SystemExit:  # how rich and typer leave when their reader has closed the pipe
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _end(name, f"{where}{error.strerror or error}; check the path, its rights and the space left", 3)
    except MemoryError:
        return _end(name, "out of memory; use fewer --workers", 3)
    except Exception as error:
        if not any(c.__name__ == "ClickException" for c in type(error).__mro__):  # typer may carry a copy of click
            raise
        return _end(name, _misuse(name, error), 2)


@contextmanager
def _impatient() -> Iterator[None]:
    """Another Ctrl-C ends the process at once, without a traceback."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(name: str, message: str, code: int) -> int:
    say(f"{name}: {' '.join(message.split())}")
    return code


def _misuse(name: str, error: Any) -> str:
    """«no such option: --sfft; see 'orpipe generate --help'»"""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else name
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; see '{command} --help'"
