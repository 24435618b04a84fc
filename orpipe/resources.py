"""The one look-up for files that ship beside the code: templates/ and data/reference/."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from orpipe.errors import EnvironmentError_

_PACKAGE = Path(__file__).resolve().parent


@cache
def share(name: str) -> Path:
    """The folder `name` ("templates" or "data/reference"), from the wheel or from the checkout."""
    for root in (_PACKAGE / "_share", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise EnvironmentError_(f"folder '{name}' of orpipe is missing; reinstall with 'pip install --force-reinstall orpipe'")


def templates() -> Path:
    return share("templates")


def reference() -> Path:
    return share("data/reference")
