"""Where the developers' commands work: in the checkout that the package is imported from."""

from __future__ import annotations

from pathlib import Path

from orpipe.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


def checkout(name: str) -> Path:
    """A file or folder of the checkout.  UsageError where there is none."""
    path = ROOT / name
    if not path.exists():
        raise UsageError(f"there is no '{name}' beside the package; this command works in a clone of the repository, after 'make setup'")
    return path
