"""Every attack of the corpus is contained, and honest programs beside and after it are judged right by the same pool."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orpipe.testing.attacks import HONEST, Attack, Range, Trial, attacks, main, shooting_range
from orpipe.verify.isolation import available_layers, isolation_level
from orpipe.verify.judge import VerdictRow
from orpipe.verify.outcome import Run
from orpipe.verify.verdict import Verdict

LEVEL = isolation_level(layer.name for layer in available_layers() if layer.available)
CORPUS = attacks()
full = pytest.mark.skipif(LEVEL != "full", reason="this machine's isolation is partial: see 'orpipe doctor'")


@pytest.fixture(scope="module")
def place() -> Iterator[Range]:
    before = _orphans()
    with shooting_range() as made:
        yield made
    assert not [name for name in os.listdir("/dev/shm") if "orpipe" in name]
    assert not made.base.exists() and _orphans() <= before


def _orphans() -> set[str]:
    """Warm parents whose pool is gone."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line, parent = (entry / "cmdline").read_bytes(), (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if b"orpipe.verify.zygote" in line and parent == "1":
                found.add(entry.name)
    return found


def test_the_corpus_is_large_and_says_what_would_be_success() -> None:
    assert len(CORPUS) >= 64 and all(attack.title and attack.success and "sandbox" not in attack.expect for attack in CORPUS)


@full
@pytest.mark.parametrize("attack", CORPUS, ids=lambda attack: attack.name)
def test_contained(place: Range, attack: Attack) -> None:
    trial = place.trial(attack)
    assert trial.breaches == ()


@full
def test_the_range_notices_what_it_should(place: Range) -> None:
    """An attack that is let through is seen: by what it says, by its outcome, by its verdict, and from outside."""
    idle = replace(next(a for a in CORPUS if a.name == "print_optimum"), text="print('GAINED a thing')\n", expect=("ok",))
    seen = place.trial(idle)
    assert any("GAINED a thing" in breach for breach in seen.breaches)
    assert any("ended as 'no model'" in breach for breach in seen.breaches)
    right = place.trial(replace(idle, text=HONEST))
    assert right.run.outcome == "ok" and [b for b in right.breaches if b.startswith("judged")] and len(right.breaches) == 1
    before = place._state()
    (place.base / "outside" / "kept").write_text("changed")
    assert place._state() != before
    (place.base / "outside" / "kept").write_text("as it was")


@full
def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["print_optimum", "fork_bomb"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("isolation full") and lines[-1].startswith("2/2 contained") and len(lines) == 5


@full
@pytest.mark.parametrize("misjudged", ["beside", "after"])
def test_a_misjudged_neighbour_fails_the_command_as_an_escape_does(
    misjudged: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    real, calls = Range._honest, []

    def honest(self: Range) -> bool:
        calls.append(1)
        return real(self) and len(calls) != ("beside", "after").index(misjudged) + 1

    monkeypatch.setattr(Range, "_honest", honest)
    assert main(["print_optimum"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("0/1 contained") and f"{misjudged != 'beside':d}/1, the next one in {misjudged != 'after':d}/1" in last
    trial = Trial(CORPUS[0], Run("ok", ""), VerdictRow(0, 0, Verdict.ERROR, ""), 0.0, (), misjudged != "beside", misjudged != "after")
    assert trial.contained and not trial.well


def test_an_attack_that_is_not_there_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["print_optimun"])
    assert "did you mean 'print_optimum'" in capsys.readouterr().err
