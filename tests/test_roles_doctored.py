"""A doctored file of solver roles: one clear line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from orpipe import adapters
from orpipe.errors import ParseError
from orpipe.resources import reference
from orpipe.roles import FILE, Roles, read, unfit

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


UNFIT = {
    "unknown first solver": (("ask: [highs, scip]", "ask: [higs, scip]"), "role for MILP: no solver 'higs'; did you mean 'highs'?"),
    "unknown cross-check": (("ask: [highs, glop, scip]", "ask: [highs, glob, scip]"),
                            "role for LP up to 20000: no solver 'glob'; did you mean 'glop'?"),
    "one family": (("ask: [highs, scip]", "ask: [highs, highs_plain]"),
                   "role for MILP: 'highs' and 'highs_plain' are both highs, which is one witness; name a cross-check of another family"),
    "one family over a bridge": (("ask: [highs, scip]", "ask: ['pulp:HiGHS', highs]"), "'pulp:HiGHS' and 'highs' are both highs"),
    "no witness": (("ask: [highs, glop]}", "ask: [highs, pdlp]}"), "role for LP: 'pdlp' is no witness (its optimum holds within a tolerance only)"),
    "no engine": (("ask: [highs, scip]", "ask: [highs, 'pyomo:ipopt']"), "'pyomo:ipopt' is no witness (no engine 'ipopt' has settings)"),
    "unknown bridge": (("ask: [highs, scip]", "ask: [highs, 'pyoma:cbc']"), "no bridge 'pyoma'; did you mean 'pyomo'?"),
    "vertex": (("vertex: [highs, highs_plain]", "vertex: [highs, high_plain]"), "vertex: no solver 'high_plain'; did you mean 'highs_plain'?"),
    "settings": (("  cpsat:\n", "  cp_sat:\n"), "settings: no solver 'cp_sat'; did you mean 'cpsat'?"),
}


def doctored(change: tuple[str, str], folder: Path) -> Roles:
    assert GOOD.count(change[0]) == 1
    (folder / FILE).write_text(GOOD.replace(*change), encoding="utf-8")
    return read(folder / FILE)


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_the_solvers_is_one_line_wherever_a_solver_is_asked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, words = UNFIT[name]
    found = doctored(change, tmp_path)
    monkeypatch.setattr(adapters, "roles", lambda: found)
    found_here = adapters._Adapters()
    for _ in range(2):  # told again, not once
        with pytest.raises(ParseError) as told:
            found_here["highs"]
        assert str(told.value).startswith(f"{FILE}: ") and words in str(told.value) and "\n" not in str(told.value)


def test_other_cross_checks_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = doctored(("ask: [highs, scip]", "ask: [highs, 'pyomo:cbc', highs_plain]"), tmp_path)
    monkeypatch.setattr(adapters, "roles", lambda: found)
    assert adapters._Adapters()["highs"].name == "highs"


def test_a_solver_whose_library_is_missing_is_no_misspelling(tmp_path: Path) -> None:
    found, here = doctored(("up_to: 20000", "up_to: 200"), tmp_path), {"highs": "highs", "highs_plain": "highs", "highs_ipm": "highs"}
    assert unfit(found, here, ("pulp",), whole=False) is None
    assert unfit(found, here, ("pulp",)) == f"{FILE}: role for LP up to 200: no solver 'glop'; known: highs, highs_ipm, highs_plain"
