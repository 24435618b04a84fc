"""Algebra as an answer through `orpipe verify`, `orpipe compare`, the rewards, and against the programs of recorded answers."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orpipe import console, rewards
from orpipe.algebra.latex import model_tex
from orpipe.algebra.text import model_text
from orpipe.build.schema import INSTANCES, SFT
from orpipe.cli import app
from orpipe.instances import draw
from orpipe.lp_write import write_lp
from orpipe.mps import write_mps
from orpipe.rewards import optimum_reward
from orpipe.solve import Label, label
from orpipe.testing.bench_algebra_outputs import literals, outputs, weighed, without_program
from orpipe.verify.answers import open_answers
from orpipe.verify.journal import read_rows
from orpipe.verify.judge import Judge
from orpipe.verify.run import judge_file

SHARED = Path(__file__).resolve().parents[3] / "shared" / "outputs"


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in this process: its exit code and what it said on stderr."""
    def run(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["orpipe", *map(str, arguments)])
        code = console.run(app, "orpipe")
        return code, capsys.readouterr().err

    return run


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three instances with two formulate rows each and one that asks for words, laid out as `orpipe generate` does."""
    folder = tmp_path_factory.mktemp("dataset")
    instances, examples = [], []
    for name in ("knapsack", "transportation", "lot_sizing_capacitated"):
        made = draw(name, 1, 0, 0)
        found = label(made.problem)
        assert isinstance(found, Label)
        best = {"status": "optimal", "objective": float(found.objective or 0), "objective_exact": str(found.objective)}
        instances.append({"id": name, "family": name, "level": 1, "data": json.dumps(dict(made.data)), "mps": write_mps(made.problem),
                          "structure_hash": made.structure_hash, **best})
        told = {"algebra": f"```text\n{model_text(made.linear)}```\n", "latex": model_tex(made.linear)}
        for subtask, text in {**told, "words": "A plan is sought."}.items():
            examples.append({"id": f"{name}-{subtask}", "task": "explain" if subtask == "words" else "formulate", "subtask": subtask, "dialect": "",
                             "messages": [{"role": "user", "content": "Model this."}, {"role": "assistant", "content": text}],
                             "instance_id": name, "family": name, "level": 1, "files": "{}", "metadata": "{}", "interface": "text", **best})
    for config, schema, content in (("instances", INSTANCES, instances), ("sft", SFT, examples)):
        (folder / config).mkdir()
        full = [{column: row.get(column) for column in schema.names} for row in content]
        pq.write_table(pa.Table.from_pylist(full, schema=schema), folder / config / "train-00000.parquet")
    (folder / "manifest.json").write_text("{}")
    return folder


def asked(folder: Path) -> list[dict[str, Any]]:
    """The formulate rows of a dataset."""
    return [row for row in pq.read_table(folder / "sft").to_pylist() if row["task"] == "formulate"]


def turned(text: str) -> str:
    """The same answer with its objective turned round."""
    for a, b in (("\\min", "\\max"), ("minimize", "maximize"), ("Minimize", "Maximize")):
        if a in text:
            return text.replace(a, b, 1)
    return next(text.replace(b, a, 1) for a, b in (("\\min", "\\max"), ("minimize", "maximize"), ("Minimize", "Maximize")) if b in text)


def test_verify_judges_formulations_of_our_own_dataset(dataset: Path, tmp_path: Path, command: Command) -> None:
    found = asked(dataset)
    assert len(found) == 6
    records = []
    for row in found:
        right = row["messages"][-1]["content"]
        kept = {k: v for k, v in row.items() if k not in ("messages",)}
        ruled = right + "\n\nAt most one of them may be chosen, in addition.\n"
        records += [kept | {"response": text} for text in (right, turned(right), ruled, "42")]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    code, err = command("verify", path, "--labels", dataset, "--algebra", "--workers", 1, "--out", tmp_path / "v.jsonl")
    assert code == 0, err
    verdicts = [r["verdict"] for r in read_rows(tmp_path / "v.jsonl")]
    assert len(verdicts) == len(records)
    assert Counter(verdicts)["EQUIVALENT"] == len(found)
    assert Counter(verdicts)["UNDECIDED"] == len(found)
    assert Counter(verdicts)["ERROR"] == len(found)  # neither a program nor a formulation
    assert Counter(verdicts)["NOT_EQUIVALENT"] + Counter(verdicts)["WRONG_OPTIMUM"] == len(found)


def test_a_dataset_folder_is_judged_by_its_own_formulations(dataset: Path, tmp_path: Path) -> None:
    answers = open_answers(dataset, algebra=True)
    assert any("judged by it" in line for line in answers.said)
    assert answers.digest != open_answers(dataset).digest
    mine = [a for a in answers if a.instance.get("task") == "formulate"]
    assert mine and not [a for a in open_answers(dataset) if a.instance.get("task") == "formulate"]
    with Judge(1, algebra=True) as judge:
        assert {row.verdict for row in judge.judge_many(mine)} == {"EQUIVALENT"}
        judge_file(judge, answers, tmp_path / "v.jsonl", limit=1)
    assert json.loads((tmp_path / "v.jsonl.manifest.json").read_text())["algebra"] is True


def test_foreign_formulations_are_judged_by_a_reference_column(tmp_path: Path, command: Command) -> None:
    made = draw("knapsack", 1, 0, 0)
    right = model_tex(made.linear)
    texts = [right, right.replace(r"\le W", r"\le W - 100"), right.replace("v_{i}", "z_{i}"), right + "\nC1 must be chosen, and also C2.\n"]
    path = tmp_path / "a.jsonl"
    common = {"reference": write_mps(made.problem), "data": {"data.json": json.dumps(dict(made.data))}}
    path.write_text("".join(json.dumps({"index": k, "response": text, **common}) + "\n" for k, text in enumerate(texts)))
    for flag, expected in (("--algebra", ["EQUIVALENT", "WRONG_OPTIMUM", "UNDECIDED", "UNDECIDED"]), ("--strict", ["ERROR"] * 4)):
        code, err = command("verify", path, flag, "--workers", 1, "--overwrite", "--out", tmp_path / "v.jsonl")
        found = {r["index"]: r for r in read_rows(tmp_path / "v.jsonl")}
        assert code == 0, err
        assert [found[k]["verdict"] for k in range(4)] == expected, found
    code, err = command("verify", path, "--algebra", "--workers", 1, "--out", tmp_path / "v.jsonl")
    assert code == 2 and "overwrite" in err  # verdicts of other settings are not gone on with


def test_compare_reads_formulations(tmp_path: Path, command: Command) -> None:
    made = draw("set_covering", 1, 0, 0)
    (tmp_path / "reference.lp").write_text(write_lp(made.problem))
    (tmp_path / "data.json").write_text(json.dumps(dict(made.data)))
    answer = ("Let $N_j = \\{i \\in I : (i,j) \\in A\\}$.\n$$\\min \\sum_{i \\in I} f_i y_i$$\n"
              "$$\\sum_{i \\in N_j} y_i \\ge %d \\quad \\forall j \\in J$$\n$$y_i \\in \\{0,1\\} \\quad \\forall i \\in I$$\n")
    for text, code in ((answer % 1, 0), (answer % 2, 1), (answer.replace("= \\{i \\in I : (i,j) \\in A\\}", "") % 1, 4)):
        (tmp_path / "answer.md").write_text(text)
        found = command("compare", tmp_path / "reference.lp", tmp_path / "answer.md", "--data", tmp_path / "data.json", "--names", "hints")
        assert found[0] == code, found


def test_rewards_of_formulations(dataset: Path) -> None:
    found = asked(dataset)[:3]
    columns = {k: [row[k] for row in found for _ in range(3)] for k in found[0] if k not in ("messages",)}
    rights = [row["messages"][-1]["content"] for row in found]
    completions = [text for right in rights for text in (right, turned(right), right + "\n- must be even\n")]
    try:
        with_algebra = optimum_reward(workers=1, dataset=str(dataset), algebra=True)
        assert with_algebra(["p"] * 9, completions, **columns) == [1.0, 0.0, None] * 3
        assert optimum_reward(workers=1, dataset=str(dataset))(["p"] * 9, completions, **columns) == [None] * 9
    finally:
        rewards.close()


# ---- recorded answers


def test_the_program_and_its_tables_are_set_apart() -> None:
    text = "<think>x <= 3</think>\nMinimize Cost[a] * x[a]\n```python\ncost = {('a', 'b'): 3, ('a', 'c'): 4}\nn = 2\nnames = []\n```\nDone."
    assert without_program(text).strip() == "Minimize Cost[a] * x[a]"
    assert literals("cost = {('a', 'b'): 3, ('a', 'c'): 4}\nn = 2\nnames = []", "Cost and n and names") == {"Cost": {"a": {"b": 3, "c": 4}}, "n": 2}


# Where text and program do say different things: the programs have whole numbers, the texts do not.
WITHOUT_WHOLE_NUMBERS = {"nl4opt_8b_coptpy/15", "nl4opt_8b_coptpy/60", "nl4opt_8b_coptpy/66", "nl4opt_8b_coptpy/156", "nl4opt_8b_coptpy/198",
                         "nl4opt_8b_coptpy/231"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared output files are not here")
@pytest.mark.parametrize("name, library, least, of", [("nl4opt_8b_coptpy", "coptpy", 79, 80), ("gurobipy_answers", "gurobipy", 17, 27)])
def test_recorded_formulations_say_what_their_own_programs_build(name: str, library: str, least: int, of: int) -> None:
    pytest.importorskip(library)
    found = [weighed(o) for o in outputs(SHARED / f"{name}.jsonl")]
    assert len(found) == of
    assert sum(r.parsed for r in found) >= least
    differ = {r.output.name for r in found if r.verdict == "NOT_EQUIVALENT"}
    assert differ == {n for n in WITHOUT_WHOLE_NUMBERS if n.startswith(name)}
    for r in found:
        if r.output.name in WITHOUT_WHOLE_NUMBERS:
            assert r.output.problem.integer.all() and "integer" not in r.output.prose.lower()
        assert r.parsed or r.why
