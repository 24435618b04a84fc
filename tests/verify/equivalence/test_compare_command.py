"""`orpipe compare`: files, programs, algebra, instances; exit codes; what is printed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orpipe.algebra.text import model_text
from orpipe.cli import app
from orpipe.console import run
from orpipe.instances import draw
from orpipe.mps import write_mps
from orpipe.render.emit import emit
from orpipe.render.files import data_json

INSTANCE = draw("facility_location_capacitated", 1, 0, 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    i = INSTANCE
    (tmp_path / "model.mps").write_text(write_mps(i.problem))
    (tmp_path / "model.mps.gz").write_bytes(gzip.compress(write_mps(i.problem).encode()))
    (tmp_path / "model.txt").write_text(model_text(i.linear))
    (tmp_path / "data.json").write_text(json.dumps(i.data))
    (tmp_path / "program.py").write_text(emit(i.linear, i.data, "highspy"))
    (tmp_path / "loose.mps").write_text(write_mps(i.problem).replace(" L  capacity", " G  capacity"))
    (tmp_path / "square.lp").write_text("Minimize\n obj: [ x ^2 ]/2\nSubject To\n c: x >= 1\nEnd\n")
    row = {"id": i.id, "family": i.family.name, "mps": write_mps(i.problem), "data": json.dumps(i.data), "structure_hash": i.structure_hash}
    (tmp_path / "set" / "instances").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "set" / "instances" / "train-00000.parquet")
    return tmp_path


def compare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["orpipe", "compare", *arguments])
    code = run(app, "orpipe")
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.parametrize("other", ["model.mps.gz", "model.txt", "program.py", f"set:{INSTANCE.id}"])
def test_one_model_in_every_form(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path, other: str) -> None:
    code, out, _ = compare(capsys, monkeypatch, folder, "model.mps", other, "--data", "data.json", "--json")
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "EQUIVALENT")
    assert len(found["map"]) == INSTANCE.problem.n_vars


def test_a_difference_is_told_in_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    code, out, _ = compare(capsys, monkeypatch, folder, "model.mps", "loose.mps")
    assert code == 1
    verdict, sentence, *rest = out.splitlines()
    assert verdict == "NOT_EQUIVALENT  by point"
    assert sentence.startswith("B allows what A forbids: row capacity[")
    assert any(line.startswith("  point of B: ship[") for line in rest)
    assert any(line.startswith("  breaks in the other: capacity[") for line in rest)
    assert any(line.startswith("  direction: ") and "ship[" in line for line in rest)
    assert any(line.startswith("  variables matched: 8, 8 by name") for line in rest)


def test_what_cannot_be_compared_is_undecided(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    code, out, _ = compare(capsys, monkeypatch, folder, "model.mps", "square.lp")
    assert code == 4
    assert out.startswith("UNDECIDED\n")
    assert "quadratic" in out


def test_a_program_that_prints_the_number_is_no_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "claims.py").write_text("import highspy\nprint('optimal_value = 438.61')\n")
    code, out, _ = compare(capsys, monkeypatch, folder, "model.mps", "claims.py", "--json")
    assert code == 1
    assert json.loads(out)["verdict"] == "ERROR"
    (folder / "fails.py").write_text("import time\ntime.sleep(0.7)\nraise ValueError('no')\n")
    code, out, _ = compare(capsys, monkeypatch, folder, "model.mps", "fails.py", "--json")
    assert code == 1 and json.loads(out)["verdict"] == "ERROR" and json.loads(out)["seconds"] > 0.7


@pytest.mark.parametrize(("arguments", "words"), [
    (("model.mps", "nothing.lp"), "neither a file nor FOLDER:ID of a dataset's instance; name a .mps, .lp, .py"),
    (("model.mps", "data.json"), "Models end in .mps"),
    (("model.mps", "set:other"), "no instance 'other' in 'set'"),
    (("model.mps", "model.mps", "--budget", "0"), "--budget"),
])
def test_misuse_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path, arguments: tuple[str, ...],
                            words: str) -> None:
    code, out, err = compare(capsys, monkeypatch, folder, *arguments)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert words in err


def test_algebra_without_its_numbers_is_undecided_and_says_what_is_missing(
        capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    code, out, _ = compare(capsys, monkeypatch, folder, "model.mps", "model.txt")
    assert code == 4 and out.startswith("UNDECIDED") and "the data lack" in out and "--data FILE.json" in out


def test_data_go_beside_a_program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "data.json").write_text(data_json(INSTANCE.linear, INSTANCE.data))
    (folder / "reads.py").write_text(emit(INSTANCE.linear, INSTANCE.data, "highspy", source="json"))
    code, out, _ = compare(capsys, monkeypatch, folder, f"set:{INSTANCE.id}", "reads.py", "--data", "files")
    assert (code, out.splitlines()[0]) == (0, "EQUIVALENT  by identical")
