"""Answer files of every format and public layout; what is guessed is said, what cannot be read is one line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orpipe.errors import NotFound, UsageError
from orpipe.verify.answers import Answer, files, open_answers
from orpipe.verify.attached import shown_files
from orpipe.verify.truth import NO_OPTIMUM, Truth

SHARED = Path(__file__).resolve().parents[3] / "shared"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared benchmark and output files are not here")
CODE = "```python\nimport pulp\n```"


def write(path: Path, records: Sequence[Any]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(records)), path, row_group_size=2)
    elif path.suffix == ".json":
        path.write_text(json.dumps(records))
    else:
        text = "".join(json.dumps(r) + "\n" for r in records)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def read(path: Path, **options: Any) -> list[Answer]:
    return list(open_answers(path, **options))


RECORDS = [{"id": f"p{k}", "question": f"question {k}", "response": f"{CODE} {k}", "answer": 10 * k} for k in range(5)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "a.jsonl.gz", "a.ndjson"])
def test_every_format_gives_the_same_answers(tmp_path: Path, name: str) -> None:
    found = read(write(tmp_path / name, RECORDS))
    assert [(a.index, a.sample, a.position, a.text, a.label, a.problem) for a in found] == [
        (f"p{k}", 0, k, f"{CODE} {k}", 10 * k, f"question {k}") for k in range(5)]


@pytest.mark.parametrize("content", [
    {"meta": 1, "results": RECORDS}, {key: [r[key] for r in RECORDS] for key in RECORDS[0]}, {r["id"]: r for r in RECORDS},
], ids=["list inside", "columns", "by index"])
def test_json_of_other_shapes(tmp_path: Path, content: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert [(a.index, a.label) for a in read(tmp_path / "a.json")] == [(f"p{k}", 10 * k) for k in range(5)]


def test_a_long_json_list_is_read_piece_by_piece(tmp_path: Path) -> None:
    records = [{"index": k, "response": "x" * 3000 + str(k), "label": -k} for k in range(2000)]  # several pieces of 1 MiB
    (tmp_path / "a.json").write_text(json.dumps(records, indent=1))
    found = read(tmp_path / "a.json")
    assert [a.label for a in found] == [-k for k in range(2000)] and found[-1].text == "x" * 3000 + "1999"


def test_folders_splits_and_saved_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(RECORDS).save_to_disk(tmp_path / "saved")
    assert [a.index for a in read(tmp_path / "saved")] == [f"p{k}" for k in range(5)]
    both = tmp_path / "both"
    both.mkdir()
    write(both / "train-00000-of-00001.parquet", RECORDS[:2])
    write(both / "test-00000-of-00001.parquet", RECORDS[2:])
    assert [a.index for a in read(both, split="test")] == ["p2", "p3", "p4"]
    with pytest.raises(UsageError, match="nothing of split 'dev'; there is: test, train"):
        read(both, split="dev")


@pytest.mark.parametrize(("response", "texts"), [
    ("a", ["a"]), (["a", "b"], ["a", "b"]), ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], ["a"]),
    ([[{"role": "assistant", "content": "a"}], [{"role": "assistant", "content": "b"}]], ["a", "b"]), ([{"text": "a"}, {"text": "b"}], ["a", "b"]),
    ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, ["ab"]), (None, [None]),
    ('[{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]', ["a"]), ([], [None]),
])
def test_one_answer_or_samples_or_a_chat(tmp_path: Path, response: Any, texts: list[str | None]) -> None:
    path = write(tmp_path / "a.jsonl", [{"response": "x"}, {"response": response}])
    found = read(path)[1:]
    assert [a.text for a in found] == texts
    assert [(a.index, a.sample) for a in found] == [(1, k) for k in range(len(texts))]


def test_samples_in_records_of_their_own_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"index": i, "response": f"{i}{k}"} for k in range(3) for i in ("a", "b")])
    assert [(a.index, a.sample, a.text) for a in read(path)] == [
        ("a", 0, "a0"), ("b", 0, "b0"), ("a", 1, "a1"), ("b", 1, "b1"), ("a", 2, "a2"), ("b", 2, "b2")]
    named = write(tmp_path / "b.jsonl", [{"index": 7, "sample": s, "response": "x"} for s in (4, 5, 5, 9)])
    assert [a.sample for a in read(named)] == [4, 5, 6, 9]  # a number that stands twice would double a key


@pytest.mark.parametrize(("record", "said"), [
    ({"completion": CODE, "truth": 3}, ["response: field 'completion'", "label: field 'truth'"]),
    ({"en_question": "q", "answer": CODE, "en_answer": 3}, ["response: field 'answer'", "label: field 'en_answer'"]),
    ({"prompt": "q", "output": CODE, "label": 3}, ["response: field 'output'", "label: field 'label'"]),
    ({"Question": "q", "Answer": 3, "my_model": CODE}, ["response: field 'my_model'", "label: field 'Answer'"]),
    ({"question": "q", "answer": CODE}, ["response: field 'answer'"]),
])
def test_fields_are_guessed_and_said(tmp_path: Path, record: dict[str, Any], said: list[str]) -> None:
    answers = open_answers(write(tmp_path / "a.jsonl", [record]))
    assert set(said) <= set(answers.said)
    (answer,) = answers
    assert (answer.text, answer.label) == (CODE, 3 if len(said) == 2 else None)
    assert len(said) == 2 or any("UNDECIDED" in line for line in answers.said)


def test_given_fields_win(tmp_path: Path) -> None:
    record = {"response": "no", "mine": CODE, "answer": 1, "best": 2, "n": "k", "d": {"cost": [1]}, "ref": "Minimize"}
    path = write(tmp_path / "a.jsonl", [record])
    (a,) = read(path, given={"response": "mine", "label": "best", "index": "n", "data": "d", "reference": "ref"}, benchmark="b")
    assert (a.text, a.label, a.index, a.data, a.benchmark, a.reference) == (CODE, 2, "k", {"data.json": '{"cost": [1]}'}, "b", "Minimize")


@pytest.mark.parametrize(("value", "found"), [
    (None, {}), ("", {}), ("{}", {}), ({}, {}), ('{"a": 1}', {"data.json": '{"a": 1}'}), ({"a": 1}, {"data.json": '{"a": 1}'}),
    ({"data.json": "{}", "cost.csv": "1"}, {"data.json": "{}", "cost.csv": "1"}), ('{"cost.csv": "1"}', {"cost.csv": "1"}),
    ({"data.json": "{}", "cost.csv": None}, {"data.json": "{}"}), ([1, 2], {"data.json": "[1, 2]"}), ("a,b\n1,2", {"data.json": "a,b\n1,2"}),
])
def test_data_files(value: Any, found: dict[str, str]) -> None:
    assert files(value) == found


def test_files_shown_in_the_problem_are_given(tmp_path: Path) -> None:
    text = "Read the files.\n\n### data/need.csv\n```csv\nshop,t\na,4\n```\n\n**data.json**\n\n```json\n{\"cap\": 3}\n```\n\n```\nx = 1\n```\n" \
           "1. `../up.csv`:\n```\nno\n```\nFile: open.json\n```json\n{"
    assert shown_files(text) == {"data/need.csv": "shop,t\na,4\n", "data.json": '{"cap": 3}\n'}
    answers = open_answers(write(tmp_path / "a.jsonl", [{"question": text, "response": CODE, "label": 1}]))
    assert "data: files shown in field 'question'" in answers.said and next(iter(answers)).data == shown_files(text)


# ---- labels from elsewhere


def test_labels_are_joined_by_index_question_or_position(tmp_path: Path) -> None:
    labels = write(tmp_path / "labels.jsonl", [{"id": f"p{k}", "question": f"q {k}", "answer": k} for k in range(4)])
    plain = write(tmp_path / "plain.jsonl", [{"question": f"q {k}", "answer": k} for k in range(4)])
    for record, file, by in (({"id": "p2"}, labels, "index"), ({"id": 2}, plain, "index"), ({"question": "q  2"}, labels, "question"),
                             ({"id": "other", "question": "q 2"}, labels, "question")):
        answers = open_answers(write(tmp_path / "a.jsonl", [record | {"response": CODE}]), labels=file)
        assert any(f"joined by {by}" in line for line in answers.said), answers.said
        assert [a.label for a in answers] == [2]
    answers = open_answers(write(tmp_path / "a.jsonl", [{"response": CODE}] * 3), labels=labels)
    assert [a.label for a in answers] == [0, 1, 2] and [a.index for a in answers] == [0, 1, 2]
    nothing = open_answers(write(tmp_path / "a.jsonl", [{"id": "p9", "response": CODE}, {"id": "p1", "response": CODE}]), labels=labels)
    assert [a.label for a in nothing] == [None, 1]
    with pytest.raises(UsageError, match="hold labels"):
        open_answers(tmp_path / "a.jsonl", labels=write(tmp_path / "no.jsonl", [{"q": 1}]))


def test_an_index_under_which_other_questions_stand_joins_nothing(tmp_path: Path) -> None:
    """The same problems in another order: a number there is a place, and the question tells which problem it is."""
    turned = write(tmp_path / "turned.jsonl", [{"question": f"q {k}", "answer": k} for k in reversed(range(4))])
    records = [{"id": k, "question": f"q {k}", "response": CODE} for k in range(4)]
    answers = open_answers(write(tmp_path / "a.jsonl", records), labels=turned)
    assert any("joined by question" in line for line in answers.said), answers.said
    assert [a.label for a in answers] == [0, 1, 2, 3] and [a.index for a in answers] == [0, 1, 2, 3]
    reworded = [record | {"question": f"Solve this: {record['question']}"} for record in records]  # a prompt around it says nothing
    told = open_answers(write(tmp_path / "b.jsonl", reworded), labels=turned)
    assert any("joined by index" in line for line in told.said) and [a.label for a in told] == [3, 2, 1, 0]


@needs_shared
@pytest.mark.parametrize(("name", "file", "count"), [
    ("nl4opt", "nl4opt.jsonl", 245), ("mamo", "mamo_easylp_fixed.jsonl", 642), ("optibench", "optibench.jsonl", 605),
    ("optmath", "optmath_bench_166.jsonl", 166),
])
def test_public_layouts_hold_their_labels_and_questions(tmp_path: Path, name: str, file: str, count: int) -> None:
    """A benchmark's own file with a response a row, and answers of their own joined with it."""
    source = [json.loads(line) for line in (SHARED / "benchmarks" / file).read_text().splitlines()]
    joined = write(tmp_path / "full.jsonl", [r | {"response": CODE} for r in source])
    alone = write(tmp_path / "alone.jsonl", [{"question": r["en_question"], "response": CODE} for r in source])
    for answers in (open_answers(joined, preset=name), open_answers(alone, preset=name, labels=SHARED / "benchmarks" / file)):
        found = list(answers)
        assert len(found) == count and all(a.problem and a.benchmark == name for a in found)
        assert not any(Truth.of(a.label).absent for a in found)
    assert [Truth.of(a.label).statuses for a in found if str(a.label) == "No Best Solution"] == [NO_OPTIMUM] * (17 if name == "nl4opt" else 0)


@needs_shared
def test_mamo_writes_no_optimum_as_another_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"en_question": "q", "en_answer": "-9999", "response": CODE}])
    assert Truth.of(read(path, preset="mamo")[0].label).statuses == NO_OPTIMUM
    assert Truth.of(read(path, preset="nl4opt")[0].label).statuses == frozenset()


@needs_shared
def test_bench4opt_is_a_folder_of_problems_data_and_reference_models(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"index": k, "response": CODE} for k in (48, 8)])
    found = read(path, preset="bench4opt", labels=SHARED / "benchmarks" / "bench4opt_sample")
    assert [a.index for a in found] == [48, 8] and all(a.label is None and "Subject To" in a.reference for a in found)
    assert all(json.loads(a.data["data.json"]) and a.problem.startswith("**Problem Statement") for a in found)


def test_other_layouts_by_their_fields(tmp_path: Path) -> None:
    record = {"en_question": "q", "en_answer": "7", "difficulty": "Hard", "id": 3, "q2mc_en_math_model_coptpy_code": CODE}
    (a,) = read(write(tmp_path / "a.jsonl", [record]), preset="IndustryOR")
    assert (a.text, a.label, a.level, a.index, a.benchmark) == (CODE, "7", "Hard", 3, "IndustryOR")
    record = {"question": "q", "results": {"The maximum profit": "12"}, "type": "linear-table", "response": CODE}
    (a,) = read(write(tmp_path / "a.jsonl", [record]), preset="optibench")
    assert (Truth.of(a.label).values[0].number, a.family) == (12, "linear-table")


def test_our_own_dataset_is_recognised(tmp_path: Path) -> None:
    def row(k: int, dialect: str, status: str, exact: str | None) -> dict[str, Any]:
        return {"id": f"i{k}", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": CODE}], "task": "solve",
                "dialect": dialect, "family": "diet", "level": 2, "status": status, "objective": 0.333, "objective_exact": exact,
                "files": '{"data.json": "{}"}'}

    path = write(tmp_path / "a.parquet", [row(0, "pulp", "optimal", "1/3"), row(1, "", "optimal", "2"), row(2, "pulp", "infeasible", None)])
    answers = open_answers(path)
    first, second = answers
    assert answers.said[0] == "layout: orpipe" and any("left out" in line for line in answers.said)
    assert (first.index, first.text, first.family, first.level, first.data) == ("i0", CODE, "diet", "2", {"data.json": "{}"})
    assert [v.number for v in first.label.values] == [1 / 3] and second.label.statuses == {"infeasible"} and second.index == "i2"


# ---- what goes wrong is one line


@pytest.mark.parametrize(("make", "options", "words"), [
    (lambda d: d / "none.jsonl", {}, "does not exist"), (lambda d: write(d / "a.jsonl", []), {}, "no records"),
    (lambda d: write(d / "a.txt", RECORDS), {}, "no known format"), (lambda d: d, {}, "holds no .parquet"),
    (lambda d: write(d / "a.jsonl", [{"q": 1}]), {}, "--response-field, one of: q"),
    (lambda d: write(d / "a.jsonl", RECORDS), {"given": {"response": "respnse"}}, "did you mean 'response'"),
    (lambda d: write(d / "a.jsonl", RECORDS), {"preset": "nl4op"}, "did you mean 'nl4opt'"),
    (lambda d: write(d / "a.jsonl", RECORDS), {"split": "test"}, "name the folder"),
    (lambda d: write(d / "a.jsonl", [*RECORDS, 5]), {}, "record 6 is no record"),
])
def test_misuse_is_one_line(tmp_path: Path, make: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises((UsageError, NotFound)) as caught:
        read(make(tmp_path), **options)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_an_empty_split_is_named(tmp_path: Path) -> None:
    for name, records in (("train", RECORDS), ("validation", [])):
        (tmp_path / f"{name}-00000.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    with pytest.raises(UsageError, match=r"split 'validation' of '.*' is empty; name another"):
        read(tmp_path, split="validation")


def test_broken_files_name_the_place(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(RECORDS[0]) + "\n{\"response\": \n")
    with pytest.raises(UsageError, match=r"line 2 is not JSON \(Expecting value at character \d+\); mend"):
        read(tmp_path / "a.jsonl")
    (tmp_path / "a.json").write_text(json.dumps(RECORDS)[:-20])
    with pytest.raises(UsageError, match="after record 4"):
        read(tmp_path / "a.json")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError, match="Parquet"):
        read(tmp_path / "a.parquet")


def test_the_digest_tells_inputs_and_fields_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"response": CODE, "label": 1, "other": 2}])
    first = open_answers(path).digest
    assert open_answers(path).digest == first
    assert open_answers(path, given={"label": "other"}).digest != first
    write(path, [{"response": CODE, "label": 1, "other": 3}])
    assert open_answers(path).digest != first
