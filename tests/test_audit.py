"""The audit passes what was generated and finds every fault that is planted in the files, whoever signed them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from built import dataset, recipe, rows, shared
from orpipe import console
from orpipe.build import audit as audit_module
from orpipe.build import audit_instances
from orpipe.build.audit import audit
from orpipe.build.audit_records import Audit
from orpipe.build.audit_texts import whole_programs
from orpipe.build.schema import CONFIGS
from orpipe.build.write import file_hashes, write_json
from orpipe.cli import app
from orpipe.errors import UsageError
from orpipe.ground import data_hash
from orpipe.mps import read_mps
from orpipe.problem import Problem
from orpipe.solve import solver
from orpipe.verify.crew import Promise
from orpipe.verify.sandbox import Pool, Run

__all__ = ["dataset", "recipe", "shared"]  # fixtures

Rows = list[dict[str, Any]]
Edit = Callable[[dict[str, Any]], None]


def save(folder: Path, config: str, content: Rows) -> None:
    """Rows (with their split) as the files of a config."""
    shutil.rmtree(folder / config, ignore_errors=True)
    (folder / config).mkdir(parents=True)
    for split in ("train", "validation", "test") if config != "rejected" else ("train",):
        own = [{k: v for k, v in row.items() if k != "split"} for row in content if row["split"] == split]
        pq.write_table(pa.Table.from_pylist(own, schema=CONFIGS[config]), folder / config / f"{split}-00000-of-00001.parquet")


def sign(folder: Path) -> None:
    """Hashes and counts of the manifest, as a careful forger would set them."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sha256"] = file_hashes(folder)
    for config in CONFIGS:
        for path in (folder / config).glob("*.parquet"):
            manifest["counts"][config][path.name.partition("-")[0]] = pq.read_metadata(path).num_rows
    write_json(folder / "manifest.json", manifest)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(workers=2) as running:
        yield running


@pytest.fixture(scope="module")
def good(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few slots of the dataset, so that an audit is quick: all tasks, an infeasible variant, a faulty program."""
    folder = tmp_path_factory.mktemp("few") / "data"
    shutil.copytree(dataset, folder)
    sft = rows(dataset, "sft")
    wanted = {next(r["instance_id"] for r in sft if r["subtask"] == subtask).removesuffix("-tight")
              for subtask in ("faulty-program", "infeasible-data", "unfounded-doubt")}
    for config, key in (("sft", "instance_id"), ("cpt", "instance_id"), ("instances", "id")):
        save(folder, config, [r for r in rows(dataset, config) if r[key].removesuffix("-tight") in wanted])
    sign(folder)
    return folder


@pytest.fixture
def copy(good: Path, tmp_path: Path) -> Path:
    return shutil.copytree(good, tmp_path / "data")


def checks(found: Audit) -> set[str]:
    return {fault.check for fault in found.faults}


def test_a_good_dataset_passes_every_check(good: Path, pool: Pool) -> None:
    ticks: list[str] = []
    found = audit(good, pool=pool, progress=ticks.append)
    assert found.faults == [] and found.undecided == []
    assert {name for name, passed in found.checks.items() if passed} == {
        "file hash", "row count", "disagreements counted", "unique id", "one split", "mps solved by a second reader and solver", "sizes", "data hash",
        "data ground to the mps", "objective exact", "solution exact", "instance known", "split by instance", "label as instance", "messages",
        "files shown", "no answer in the prompt", "optimum stated", "program present", "program builds the model and prints the label",
        "faulty program reports what is stated", "faulty model is what is stated", "claim in the text",
        "claim holds", "facts fit the status", "certificate", "binding", "unique", "duals", "iis",
        "discrimination", "discrimination tried again", "suite of a known structure", "suite formulation", "suite label",
        "suite certificate", "suite kill", "suite order", "suite kills once", "suite survivors",
    }
    assert len(ticks) == sum(len(rows(good, config)) for config in ("instances", "sft", "cpt"))


def test_the_command_says_so(good: Path, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["orpipe", "audit", str(good), "--workers", "2"])
    assert console.run(app, "orpipe") == 0
    said = capsys.readouterr()
    assert "solution exact" in said.out and "fault:" not in said.out and said.err == ""
    edit(copy, "instances", optimal, lambda row: row.update(objective_exact="1"))
    monkeypatch.setattr("sys.argv", ["orpipe", "audit", str(copy), "--json"])
    assert console.run(app, "orpipe") == 1
    found = json.loads(capsys.readouterr().out)
    assert {"solution exact", "objective exact", "label as instance"} <= {f["check"] for f in found["faults"]}
    assert {f["check"] for f in found["undecided"]} == {"discrimination tried again"}  # of a row that contradicts itself


# ---- planting


def edit(folder: Path, config: str, which: Callable[[dict[str, Any]], bool], change: Edit, signed: bool = True) -> str:
    """Change the first row that fits; its id."""
    content = rows(folder, config)
    row = next(r for r in content if which(r))
    before = json.dumps(row)
    change(row)
    assert json.dumps(row) != before, "nothing was planted"
    save(folder, config, content)
    if signed:
        sign(folder)
    return str(row["id"])


def optimal(row: dict[str, Any]) -> bool:
    return row["status"] == "optimal"


def task(*names: str, **columns: str) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row["task"] in names and all(row[k] == v for k, v in columns.items())


def swap(column: str, pattern: str, replacement: Any) -> Edit:
    def change(row: dict[str, Any]) -> None:
        row[column] = re.sub(pattern, replacement, row[column], count=1, flags=re.M)

    return change


def in_answer(pattern: str, replacement: Any, message: int = 1) -> Edit:
    def change(row: dict[str, Any]) -> None:
        content = row["messages"][message]["content"]
        row["messages"][message]["content"] = re.sub(pattern, replacement, content, count=1, flags=re.M)

    return change


def bigger(match: re.Match[str]) -> str:
    """The last number of a match, more by a thousandth of it and a half: an optimum that depends on it may stay the same."""
    head, number = match[0][:match.start(1) - match.start(0)], Fraction(match[1])
    return head + str(float(number + abs(number) / 1000 + Fraction(1, 2)))


def right_instead(row: dict[str, Any]) -> None:
    """The program of the answer in the place of the one in question."""
    question, answer = (m["content"] for m in row["messages"])
    row["messages"][0]["content"] = question.replace(whole_programs(question)[0], whole_programs(answer)[0])


def everything(row: dict[str, Any]) -> None:
    value = Fraction(row["objective_exact"]) + 1
    row.update(objective=float(value), objective_exact=str(value))


def slack(row: dict[str, Any]) -> None:
    """A right-hand side that no optimum feels."""
    row["mps"] = re.sub(r"^( +RHS +\S+ +)(\S+)$", lambda m: f"{m[1]}{int(Fraction(m[2])) + 10**6}", row["mps"], count=1, flags=re.M)


def other_solution(row: dict[str, Any]) -> None:
    values = json.loads(row["solution"])
    entries = next(v for v in values.values() if v)
    entries[next(iter(entries))] = 7
    row["solution"] = json.dumps(values)


def other_data(row: dict[str, Any]) -> None:
    """A datum changed together with its hash."""
    data = json.loads(row["data"])
    node = next(v for v in data.values() if isinstance(v, dict))
    while isinstance(node[key := next(iter(node))], dict):
        node = node[key]
    node[key] += 1
    row.update(data=json.dumps(data), data_hash=data_hash(data))


def other_dual(row: dict[str, Any]) -> None:
    """All prices and costs doubled: they fit each other, and no longer the objective's costs."""
    duals = json.loads(row["duals"])
    row["duals"] = json.dumps(duals | {"rows": {k: f"{2 * Fraction(v)}" for k, v in duals["rows"].items()}})


def other_subset(change: Callable[[list[str], Problem], list[str]]) -> Edit:
    return lambda row: row.update(iis=json.dumps(change(json.loads(row["iis"]), read_mps(row["mps"]))))


def claims(row: dict[str, Any]) -> bool:
    return row["task"] == "diagnose" and any("reported" in c["values"] for c in json.loads(row["metadata"]).get("claims", ()))


def without_claim(row: dict[str, Any]) -> None:
    text = json.loads(row["metadata"])["claims"][0]["text"]
    for message in row["messages"]:
        message["content"] = message["content"].replace(text, "All is well.")


def other_fact(row: dict[str, Any]) -> None:
    meta = json.loads(row["metadata"])
    values = next(c["values"] for c in meta["claims"] if "reported" in c["values"])
    values["reported"] = str(Fraction(values["reported"]) + 1)
    row["metadata"] = json.dumps(meta)


FAULTS: list[tuple[str, str, Callable[[dict[str, Any]], bool], Edit, set[str]]] = [
    ("label of an instance", "instances", optimal, everything,
     {"mps solved by a second reader and solver", "solution exact", "label as instance", "program builds the model and prints the label"}),
    ("status of an instance", "instances", lambda r: r["status"] == "infeasible", lambda r: r.update(status="unbounded"),
     {"mps solved by a second reader and solver", "label as instance"}),
    ("label of an example", "sft", task("implement"), everything, {"label as instance"}),
    ("coefficient in an mps", "instances", optimal, swap("mps", r"^ +(?!RHS|MARKER)\w\S* +obj +(\S+)", bigger), {"data ground to the mps"}),
    ("right-hand side in an mps", "instances", optimal, slack, {"data ground to the mps"}),
    ("mps that is none", "instances", optimal, lambda r: r.update(mps="NAME x\nROWS\n"), {"readable"}),
    ("program in a message", "sft", task("implement", interface="text"), in_answer(r"\d+(?=[,\]}\n])", "987"),
     {"program builds the model and prints the label"}),
    ("program that prints a number of its own", "sft", task("solve"), in_answer(r'print\("optimal_value =", .*$', 'print("optimal_value =", 3.25)'),
     {"program builds the model and prints the label"}),
    ("program that does not end well", "sft", task("implement"), in_answer(r"```python\n", "```python\nraise SystemExit\n"),
     {"program builds the model and prints the label"}),
    ("program hidden from the audit", "sft", task("implement"), in_answer(r"```python", "```text"), {"program present"}),
    ("faulty program that is right", "sft", task("diagnose", subtask="faulty-program"), right_instead,
     {"faulty program reports what is stated"}),
    ("what a faulty program reports", "sft", task("diagnose", subtask="faulty-program"),
     lambda r: r.update(metadata=json.dumps(json.loads(r["metadata"]) | {"faulty_objective": "1/7", "faulty_status": "optimal"})),
     {"faulty program reports what is stated"}),
    ("sentence about a faulty model", "sft", claims, without_claim, {"claim in the text"}),
    ("fact behind a sentence", "sft", claims, other_fact, {"claim holds"}),
    ("plan of a faulty model", "sft", lambda r: "faulty_plan" in r["metadata"],
     lambda r: r.update(metadata=json.dumps(json.loads(r["metadata"]) | {"faulty_plan": {}})), {"faulty model is what is stated"}),
    ("status of a faulty model", "sft", lambda r: "faulty_plan" in r["metadata"],
     lambda r: r.update(metadata=json.dumps(json.loads(r["metadata"]) | {"faulty_status": "unbounded"})), {"faulty model is what is stated"}),
    ("conflict of infeasible data", "sft", lambda r: '"conflict"' in r["metadata"],
     lambda r: r.update(metadata=json.dumps(json.loads(r["metadata"]) | {"conflict": []})), {"claim holds"}),
    ("solution", "instances", optimal, other_solution, {"solution exact"}),
    ("solution of an unknown column", "instances", optimal, lambda r: r.update(solution='{"x": {"nowhere": 1}}'), {"solution exact"}),
    ("data", "instances", optimal, other_data, {"data ground to the mps"}),
    ("data without their hash", "instances", optimal, lambda r: r.update(data_hash="0"), {"data hash"}),
    ("binding row", "instances", lambda r: r["status"] == "optimal" and r["binding"] != "[]", lambda r: r.update(binding="[]"), {"binding"}),
    ("kind of proof", "instances", optimal, lambda r: r.update(certificate="agreement"), {"certificate"}),
    ("uniqueness", "instances", lambda r: r["unique"] == "unique", lambda r: r.update(unique="not unique"), {"unique"}),
    ("uniqueness of none", "instances", lambda r: r["status"] == "infeasible", lambda r: r.update(unique="unique"), {"facts fit the status"}),
    ("dual", "instances", lambda r: r["duals"], other_dual, {"duals"}),
    ("reduced cost", "instances", lambda r: r["duals"],
     lambda r: r.update(duals=json.dumps(json.loads(r["duals"]) | {"columns": {"x": 1}})), {"duals"}),
    ("member too many", "instances", lambda r: r["iis"], other_subset(lambda names, p: [*names, next(n for n in p.rows if n not in names)]), {"iis"}),
    ("member too few", "instances", lambda r: r["iis"], other_subset(lambda names, _: names[1:]), {"iis"}),
    ("member unknown", "instances", lambda r: r["iis"], other_subset(lambda names, _: [*names, "lower bound of nothing"]), {"iis"}),
    ("headline share", "instances", optimal, lambda r: r.update(discrimination_headline=r["discrimination_headline"] - 0.01), {
        "discrimination tried again"}),
    ("structure", "instances", optimal, lambda r: r.update(structure_hash="0"), {"data ground to the mps", "discrimination"}),
    ("sizes", "instances", optimal, lambda r: r.update(n_rows=r["n_rows"] + 1), {"sizes"}),
    ("stated optimum", "sft", task("solve", status="optimal"),
     lambda r: r["messages"][1].update(content=r["messages"][1]["content"].replace(str(r["objective_exact"]), "31.4159")), {"optimum stated"}),
    ("prompt that tells", "sft", task("solve", status="optimal"),
     lambda r: r["messages"][0].update(content=f"{r['messages'][0]['content']} The optimum is {r['objective_exact']}."), {"no answer in the prompt"}),
    ("file that the prompt lacks", "sft", task("formulate", "solve"), lambda r: r.update(files='{"more.json": "{}"}'), {"files shown"}),
    ("roles", "sft", task("formulate"), lambda r: r["messages"].reverse(), {"messages"}),
    ("instance of an example", "sft", task("formulate"), lambda r: r.update(instance_id="nobody"), {"instance known"}),
    ("split of an example", "sft", task("formulate"), lambda r: r.update(split="test" if r["split"] != "test" else "train"), {"split by instance"}),
    ("instance moved", "instances", optimal, lambda r: r.update(split="test" if r["split"] != "test" else "train"), {"split by instance"}),
    ("metadata that are none", "sft", task("implement"), lambda r: r.update(metadata="{"), {"readable"}),
]


@pytest.mark.parametrize(("config", "which", "change", "expected"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_found(copy: Path, pool: Pool, config: str, which: Any, change: Edit, expected: set[str]) -> None:
    id = edit(copy, config, which, change)
    found = audit(copy, pool=pool)
    assert expected <= checks(found), found.faults
    assert any(fault.id.startswith(id) for fault in found.faults) and "file hash" not in checks(found)


def test_the_same_instance_in_two_splits(copy: Path, pool: Pool) -> None:
    content = rows(copy, "instances")
    first = content[0]
    other = "test" if first["split"] != "test" else "train"
    save(copy, "instances", [*content, first | {"split": other}])
    sign(copy)
    assert {"unique id", "one split"} <= checks(audit(copy, pool=pool))
    save(copy, "instances", [*content, first | {"split": other, "id": "renamed"}])
    sign(copy)
    assert checks(audit(copy, pool=pool)) == {"one split"}


@pytest.mark.parametrize("config", list(CONFIGS))
def test_a_row_too_few_or_too_many(copy: Path, pool: Pool, config: str) -> None:
    if not rows(copy, config):
        save(copy, config, [dict.fromkeys(CONFIGS[config].names) | {"split": "train"}])
    else:
        save(copy, config, rows(copy, config)[1:])
    assert {"row count", "file hash"} <= checks(audit(copy, pool=pool))


def test_a_file_that_changed_came_or_went(copy: Path, pool: Pool) -> None:
    one, *_ = sorted((copy / "cpt").glob("train*"))
    pq.write_table(pq.read_table(one), one, compression="none")
    [fault] = audit(copy, pool=pool).faults
    assert (fault.id, fault.check, fault.detail) == (f"cpt/{one.name}", "file hash", "differs from the manifest")
    shutil.copy(one, copy / "extra.parquet")
    one.unlink()
    faults = {(f.id, f.detail) for f in audit(copy, pool=pool).faults if f.check == "file hash"}
    assert faults == {(f"cpt/{one.name}", "is missing"), ("extra.parquet", "is not in the manifest")}


def test_a_damaged_parquet_is_a_fault_and_the_rest_is_still_checked(copy: Path, pool: Pool) -> None:
    one, *_ = sorted((copy / "sft").glob("train*"))
    one.write_bytes(one.read_bytes()[:200])
    found = audit(copy, pool=pool)
    assert {(f.id, f.check) for f in found.faults} >= {(f"sft/{one.name}", "readable"), (f"sft/{one.name}", "file hash"), ("train", "row count")}
    assert found.checks["solution exact"] > 0


def test_a_missing_column_is_a_fault(copy: Path, pool: Pool) -> None:
    one, *_ = sorted((copy / "instances").glob("train*"))
    pq.write_table(pq.read_table(one).drop_columns(["mps"]), one)
    sign(copy)
    assert "readable" in checks(audit(copy, pool=pool))


# ---- what cannot be decided is neither passed nor a fault


def test_limits_and_a_failing_sandbox_are_undecided(
    copy: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    def hasty(text: str) -> Any:
        return solver("highs").solve(read_mps(text), time_limit=0.0)

    def nowhere(self: Pool, job: Any) -> Promise[Run]:
        promise: Promise[Run] = Promise()
        promise.give(Run("sandbox", "no fork"))
        return promise

    monkeypatch.setattr(audit_instances, "solve_mps_text", hasty)
    monkeypatch.setattr(Pool, "submit", nowhere)
    found = audit(copy, pool=pool)
    assert {u.check for u in found.undecided} >= {"mps solved by a second reader and solver", "program builds the model and prints the label"}
    assert "the sandbox failed: no fork" in {u.detail for u in found.undecided}
    assert not any(f.check in {u.check for u in found.undecided} for f in found.faults)
    monkeypatch.setattr(audit_module, "audit", lambda *_, **__: Audit(undecided=found.undecided))
    monkeypatch.setattr("sys.argv", ["orpipe", "audit", str(copy)])
    assert console.run(app, "orpipe") == 3
    assert "undecided: instances" in capsys.readouterr().out


# ---- no dataset


@pytest.mark.parametrize("manifest", [None, "{", "[]", '{"counts": {}}', json.dumps({"counts": dict.fromkeys(CONFIGS, 1), "sha256": {}})])
def test_what_is_no_dataset(tmp_path: Path, manifest: str | None) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(UsageError, match="no manifest.json" if manifest is None else "is damaged"):
        audit(tmp_path)
