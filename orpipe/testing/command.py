"""What the developers' commands share: errors as one line with an exit code, and the checkout they work in."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from rich.console import Console

from orpipe.errors import OrpipeError, UsageError

ROOT = Path(__file__).resolve().parents[2]


def main(app: typer.Typer) -> None:
    """Run a command line; every OrpipeError is one line on stderr and its exit code."""
    try:
        app()
    except OrpipeError as error:
        Console(stderr=True).print(f"orpipe: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)


def checkout(name: str) -> Path:
    """A file or folder of the checkout this package is imported from.  UsageError where there is none."""
    path = ROOT / name
    if not path.exists():
        raise UsageError(f"there is no '{name}' beside the package; this command works in a clone of the repository, after 'make setup'")
    return path
