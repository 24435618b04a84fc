"""The one tree of errors.  Each message says the cause and the next step; a type exists only where a caller catches it.

    OrpipeError                 anything a user can cause or must be told of; the CLI prints it as one line
    ├── ModelError              a family or model breaks the static contract (names the model and the row)
    ├── DataError               instance data do not fit the model (names the parameter and the label)
    ├── Unsupported             a dialect, format or adapter cannot express a construct exactly
    ├── ParseError              text (algebra, MPS, recipe) cannot be read; carries the line
    ├── NotFound                an unknown name; the message says "did you mean"
    ├── UsageError              a wrong flag, recipe or path
    └── EnvironmentError_       something the machine lacks (solver, kernel feature, disk)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OrpipeError(Exception):
    exit_code = 2


class ModelError(OrpipeError):
    pass


class DataError(OrpipeError):
    pass


class Unsupported(OrpipeError):
    pass


class ParseError(OrpipeError):
    pass


class NotFound(OrpipeError):
    @classmethod
    def among(cls, kind: str, name: str, known: Iterable[str], where: str = "") -> NotFound:
        """«no family 'knapsak'; did you mean 'knapsack'?», or the list of what there is.  where: as in «of 'diet'»."""
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(names)
        return cls(f"no {kind} '{name}'{where and ' '}{where}; {hint}")


class UsageError(OrpipeError):
    pass


class EnvironmentError_(OrpipeError):
    exit_code = 3
