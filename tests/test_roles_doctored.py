"""A doctored file of solver roles: one clear line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from orpipe.errors import ParseError
from orpipe.resources import reference
from orpipe.roles import FILE, read

GOOD = (reference() / FILE).read_text(encoding="utf-8")
DOCTORED = {
    "empty": (b"", "must be a mapping"),
    "a list": (b"[1]", "must be a mapping"),
    "bytes": (b"\xff\xfe\x00", "not UTF-8"),
    "tab": (b"a:\n\t- b", "line 2"),
    "one witness": (GOOD.replace("ask: [highs, scip]", "ask: [highs]").encode(), "at least 2"),
    "twice": (GOOD.replace("ask: [highs, scip]", "ask: [highs, highs]").encode(), "asks a solver twice"),
}


@pytest.mark.parametrize("name", DOCTORED)
def test_a_doctored_file_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    content, part = DOCTORED[name]
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(ParseError, match=part) as told:
        read(tmp_path / FILE)
    assert "\n" not in str(told.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="cannot be read"):
        read(tmp_path / FILE)
