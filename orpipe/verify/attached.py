"""Data files shown in the text of a problem: a line that is a file's name, then a fence with its content.

    ### data/demand.csv        **data.json**        `stock.csv`:
    ```csv                     ```json              ```
    ...
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_NAME = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|\d+[.)][ \t]+)?[*_]{0,2}(?:[Ff]ile:?[ \t]+)?[`'\"]?"
    r"(?P<name>\w[\w./-]{0,120}\.(?:json|csv|tsv|txt|ya?ml|dat|xml))[`'\"]?[*_]{0,2}:?[*_]{0,2}[ \t]*$")
_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*$")


def shown_files(text: str) -> dict[str, str]:
    """name -> content; only names that a work folder can have, only fences that are closed."""
    found: dict[str, str] = {}
    lines = text.split("\n")
    name, k = "", 0
    while k < len(lines):
        line = lines[k]
        fence = _FENCE.match(line) if name else None
        if fence:
            end = next((i for i in range(k + 1, len(lines)) if lines[i].strip() == fence["mark"]), None)
            if end is None:
                return found
            found.setdefault(name, "\n".join(lines[k + 1:end]) + "\n")
            name, k = "", end
        elif line.strip():
            named = _NAME.match(line)
            parts = PurePosixPath(named["name"]).parts if named else ()
            name = named["name"] if named and ".." not in parts else ""
        k += 1
    return found
