"""The pipeline: exact plans, the same bytes whatever happens on the way, gates, refusals, and what `datasets` loads."""

from __future__ import annotations

import gzip
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from built import RECIPE, SLOTS, dataset, digests, environment, generate, recipe, rows, shared, start
from orpipe.build import gates, run, slot, workers
from orpipe.build.card import card
from orpipe.build.gates import Duplicates, leak, near, numbers, states
from orpipe.build.plan import Slot, cells, pairs, plan
from orpipe.build.schema import CONFIGS
from orpipe.build.slot import Made, make_slot
from orpipe.build.write import DatasetWriter, file_hashes
from orpipe.config import Recipe
from orpipe.errors import EnvironmentError_, OrpipeError, UsageError
from orpipe.families import Rejected, families
from orpipe.instances import draw
from orpipe.verify.replay import Replayed
from orpipe.verify.sandbox import Pool, Run

__all__ = ["dataset", "recipe", "shared"]  # fixtures


# ---- the plan


@pytest.mark.parametrize("settings", [
    {"sft": 10_000},
    {"sft": 503, "cpt": 77, "interfaces": ("text", "files")},
    {"sft": 1},
    {"sft": 7, "cpt": 40, "tasks": ("solve", "diagnose")},
    {"sft": 101, "families": ("tsp", "diet"), "levels": (1, 3), "dialects": ("pulp", "pyomo", "highspy")},
])
def test_counts_are_exact_and_shares_even(settings: dict[str, Any]) -> None:
    recipe = Recipe(**settings).resolved()
    slots = plan(recipe)
    orders = [order for s in slots for order in s.orders]
    by_task = Counter(order.task for order in orders)
    wanted = recipe.cpt or 0
    assert by_task["cpt"] == wanted and sum(by_task.values()) - wanted == recipe.sft
    assert even([by_task[t] for t in recipe.tasks])
    for task in (*recipe.tasks, "cpt"):
        own = [order for order in orders if order.task == task]
        assert even([sum(o.interface == i for o in own) for i in recipe.interfaces])
        assert even([sum(o.dialect == d for o in own) for d in recipe.dialects])
        assert even([sum((o.interface, o.dialect) == p for o in own) for p in pairs(recipe.interfaces, recipe.dialects)])
        assert sorted(o.variant for o in own) == list(range(len(own)))
    assert even([sum(s.family == f for s in slots) for f in recipe.families])
    assert even([sum((s.family, s.level) == c for s in slots) for c in cells(recipe)])
    splits = Counter(s.split for s in slots)
    assert splits["test"] == round(recipe.test * len(slots)) and splits["validation"] == round(recipe.validation * len(slots))
    assert len({(s.family, s.level, s.index) for s in slots}) == len(slots) == sum(splits.values())


def even(counts: list[int]) -> bool:
    return max(counts) - min(counts) <= 1


def test_a_short_run_has_every_level() -> None:
    recipe = Recipe(sft=4 * 15).resolved()
    slots = plan(recipe)
    assert {s.family for s in slots} >= set(recipe.families[:len(slots)])
    assert {s.level for s in slots} == set(recipe.levels)


def test_pairs_hold_each_pair_once_and_every_beginning_is_even() -> None:
    for a in range(1, 7):
        for b in range(1, 7):
            found = pairs(range(a), range(b))
            assert len(set(found)) == len(found) == a * b
            for end in range(1, len(found) + 1):
                assert even([sum(x == i for x, _ in found[:end]) for i in range(a)])
                assert even([sum(y == j for _, y in found[:end]) for j in range(b)])


def test_the_plan_depends_on_the_seed_alone() -> None:
    assert plan(Recipe(sft=50).resolved()) == plan(Recipe(sft=50).resolved()) != plan(Recipe(sft=50, seed=1).resolved())


# ---- one finished dataset


def test_the_dataset_is_what_was_asked_for(dataset: Path) -> None:
    manifest = json.loads((dataset / "manifest.json").read_text())
    sft, cpt, instances = (rows(dataset, config) for config in ("sft", "cpt", "instances"))
    assert Counter(r["task"] for r in sft) == {"formulate": 12, "implement": 12, "solve": 11, "diagnose": 11}
    assert len(cpt) == 13 and manifest["accepted"] == SLOTS
    for config, found in (("sft", sft), ("cpt", cpt), ("instances", instances)):
        assert manifest["counts"][config] == {s: sum(r["split"] == s for r in found) for s in ("train", "validation", "test")}
        assert len({r["id"] for r in found}) == len(found), config
        assert list(pq.read_schema(next((dataset / config).glob("*.parquet"))).names) == CONFIGS[config].names
    home = {r["id"]: r["split"] for r in instances}
    assert all(home[r["instance_id"]] == r["split"] for r in [*sft, *cpt])
    slots = Counter(r["split"] for r in instances if not r["id"].endswith("-tight"))
    assert slots == {"train": SLOTS - 5, "validation": 3, "test": 2}
    for task in ("implement", "solve"):
        own = [r for r in sft if r["task"] == task]
        assert even([sum(r["dialect"] == d for r in own) for d in ("pyomo", "highspy")])
        assert even([sum(r["interface"] == i for r in own) for i in ("text", "tables", "files")])


def test_every_answer_states_the_optimum_and_no_prompt_does(dataset: Path) -> None:
    data = {r["id"]: json.loads(r["data"]) for r in rows(dataset, "instances")}
    for row in rows(dataset, "sft"):
        prompt, answer = (m["content"] for m in row["messages"])
        if row["task"] == "solve" and row["status"] == "optimal":
            assert any(math.isclose(float(v), row["objective"], rel_tol=1e-6) for v in numbers(answer)), row["id"]
        if row["task"] == "implement":
            assert "optimal_value" in answer
        if row["task"] in gates.PROMPTS_WITHOUT_ANSWER and row["status"] == "optimal":
            assert leak(prompt, Fraction(row["objective_exact"]), gates.data_numbers(data[row["instance_id"]])) is None


def test_only_timings_tell_of_the_machine(dataset: Path) -> None:
    manifest = (dataset / "manifest.json").read_text()
    assert "seconds" not in manifest and "workers" not in manifest and os.uname().nodename not in manifest
    timings = json.loads((dataset / "timings.json").read_text())
    assert timings["workers"] == 2 and timings["wall"] > 0 and timings["seconds"]["replay"] > 0
    assert json.loads((dataset / "manifest.json").read_text())["sha256"] == file_hashes(dataset)


def test_one_worker_another_folder_and_hash_seed_give_the_same_bytes(dataset: Path, recipe: Path, tmp_path: Path) -> None:
    generate(recipe, tmp_path / "elsewhere" / "named otherwise", "--workers", 1, PYTHONHASHSEED="2")
    assert digests(tmp_path / "elsewhere" / "named otherwise") == digests(dataset)
    assert not (tmp_path / "elsewhere" / "named otherwise.work").exists()


def test_another_seed_gives_other_bytes_and_the_comparison_would_see_it(dataset: Path, tmp_path: Path) -> None:
    one = next(iter((dataset / "sft").glob("train*")))
    table = pq.read_table(one)
    (tmp_path / "sft").mkdir()
    pq.write_table(table.slice(1), tmp_path / "sft" / one.name)
    assert digests(tmp_path)[f"sft/{one.name}"] != digests(dataset)[f"sft/{one.name}"]


def children(pid: int) -> set[int]:
    """Living processes below `pid`."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(entry.name)] = int(parent)
    found: set[int] = set()
    layer = {pid}
    while layer := {child for child, parent in parents.items() if parent in layer} - found:
        found |= layer
    return found


def wait_for(condition: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_killed_run_goes_on_where_it_was(dataset: Path, recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("generate", recipe, "--out", out, "--workers", 1)
    wait_for(lambda: sorted(out.with_name("out.work").glob("*/chunk-*.gz"))[1:] or process.poll() is not None)
    family = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists(), "a folder that exists is a finished dataset"
    assert family, "the workers were looked for too late"
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family), 20)
    stored = {p.name: p for p in out.with_name("out.work").glob("*/chunk-*.gz")}
    # The first chunk is damaged, as by a lost disk; the second must be taken as it is: a sign in a refusal shows it.
    damaged, kept = stored["chunk-000000.json.gz"], stored["chunk-000001.json.gz"]
    damaged.write_bytes(damaged.read_bytes()[:-20])
    content = json.loads(gzip.decompress(kept.read_bytes()))
    content[0]["rejected"].append({"stage": "gate", "reason": "a sign", "family": "tsp", "level": 1, "seed": 0, "detail": ""})
    kept.write_bytes(gzip.compress(json.dumps(content).encode(), 1, mtime=0))
    process = start("generate", recipe, "--out", out, "--workers", 2, "--json")
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0 and "chunk-000000.json.gz is damaged; made again" in stderr
    said = json.loads(stdout)
    assert said["rejected"] == {"gate: a sign": 1} and said["resumed"] == workers_slots(stored) - run.CHUNK
    mine, theirs = digests(out), digests(dataset)
    marked = {"README.md", "manifest.json", "rejected/train-00000-of-00001.parquet"}
    assert {k: v for k, v in mine.items() if k not in marked} == {k: v for k, v in theirs.items() if k not in marked}
    assert not out.with_name("out.work").exists()


def workers_slots(stored: dict[str, Path]) -> int:
    return sum(min(run.CHUNK, SLOTS - run.CHUNK * int(name[6:12])) for name in stored)


# ---- load_dataset

LOAD = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
from datasets.utils.logging import disable_progress_bar
disable_progress_bar()
print(json.dumps([{c: {s: [d.num_rows, d.column_names] for s, d in load_dataset(f, c).items()} for c in get_dataset_config_names(f)}
                  for f in sys.argv[1:]]))
"""


def test_datasets_loads_every_config_offline(dataset: Path, tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    content = rows(dataset, "sft")
    for row in content:
        del row["split"]
    writer = DatasetWriter(sparse)
    writer.add("sft", "train", content)  # no row in validation, test, cpt and instances
    writer.add("rejected", "train", [{"stage": "solve", "reason": "limit", "family": "tsp", "level": 1, "seed": 4, "detail": ""}])
    counts = writer.close()
    manifest = json.loads((dataset / "manifest.json").read_text()) | {"counts": counts}
    (sparse / "README.md").write_text(card(Recipe.model_validate(manifest["recipe"]), manifest), encoding="utf-8")
    env = environment(HF_HOME=str(tmp_path / "home"), HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
    done = subprocess.run([sys.executable, "-c", LOAD, dataset, sparse], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    whole, thin = json.loads(done.stdout)
    stated = json.loads((dataset / "manifest.json").read_text())["counts"]
    assert {c: {s: n for s, (n, _) in splits.items()} for c, splits in whole.items()} == {
        c: {s: n for s, n in splits.items() if n} for c, splits in stated.items() if sum(splits.values())}
    assert all(columns == CONFIGS[config].names for config, splits in whole.items() for _, columns in splits.values())
    assert thin == {"sft": {"train": [46, CONFIGS["sft"].names]}, "rejected": {"train": [1, CONFIGS["rejected"].names]}}
    assert pq.read_metadata(next((sparse / "cpt").glob("test-*"))).num_rows == 0


def test_datasets_does_not_take_an_earlier_folder_of_the_same_name_for_this_one(dataset: Path, tmp_path: Path) -> None:
    """It caches by the folder's name and what the card says of the configs."""
    other = tmp_path / dataset.name
    shutil.copytree(dataset, other)
    place = next((other / "sft").glob("train-*"))
    pq.write_table(pq.read_table(place).slice(0, 5), place)
    manifest = json.loads((other / "manifest.json").read_text()) | {"sha256": file_hashes(other)}
    (other / "README.md").write_text(card(Recipe.model_validate(manifest["recipe"]), manifest), encoding="utf-8")
    env = environment(HF_HOME=str(tmp_path / "home"), HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
    code = ("import sys\nfrom datasets import load_dataset\n"
            "print([len(load_dataset(f, 'sft', split='train')) for f in sys.argv[1:]], len(load_dataset(sys.argv[1], 'cpt', split='train')))")
    done = subprocess.run([sys.executable, "-c", code, dataset, other], env=env, capture_output=True, text=True, cwd=tmp_path)
    counts = json.loads((dataset / "manifest.json").read_text())["counts"]
    assert done.stdout == f"[{counts['sft']['train']}, 5] {counts['cpt']['train']}\n", done.stderr[-2000:]


# ---- gates

GIVEN = [Fraction(12), Fraction(35, 100)]


@pytest.mark.parametrize(("prompt", "optimum", "told"), [
    ("Ship at least cost; a day costs 120.", "197", False),
    ("The optimum is 197.", "197", True),
    ("the optimal value of the plan = **197** EUR", "197", True),
    ("Its best cost equals 196.9999", "197", True),
    ("Its best cost equals 196.99", "197", False),
    ("What is the optimal value? Carriage costs 12.", "12", False),
    ("Total 40861.5 is a number that no datum has.", "40861.5", True),
    ("Total 40861.5, optimum 3", "40861.6", False),
    ("exactly 197/3 in all", "197/3", False),
    ("The answer is 197/3.", "197/3", True),
    ("minimize sum{i in I} f[i]*y[i] subject to demand[j]: x >= 12", "12", False),
])
def test_leak(prompt: str, optimum: str, told: bool) -> None:
    assert (leak(prompt, Fraction(optimum), GIVEN) is not None) == told


def test_a_long_number_that_is_a_datum_is_no_leak() -> None:
    assert leak("Depot A holds 40861.5 t.", Fraction("40861.5"), gates.data_numbers({"q": {"A": 40861.5}})) is None
    assert set(gates.data_numbers({"I": ["Line 7", "B"], "c": {"A,2": 0.35, "B": "1/3"}, "n": [1, True, None]})) == {
        7, Fraction(35, 100), Fraction(1, 3), 1, 2}


@pytest.mark.parametrize(("answer", "optimum", "said"), [
    ("The least cost is **197 EUR**.", "197", True),
    ("The least cost is 196.9999.", "197", True),
    ("The least cost is 196.99.", "197", False),
    ("```python\noptimum = 197\n```\nDone.", "197", False),
    ("It is 65.6666666667 (exactly 197/3).", "197/3", True),
    ("The profit is -12.5 EUR", "-12.5", True),
    ("The profit is 12.5 EUR", "-12.5", False),
    ("Nothing is lost: 0 EUR", "0", True),
    ("Bay x197 is used", "197", False),
])
def test_states(answer: str, optimum: str, said: bool) -> None:
    assert states(answer, Fraction(optimum)) is said


def test_near_is_relative() -> None:
    assert near(Fraction("1000000.9"), Fraction(10**6)) and not near(Fraction("0.0000011"), Fraction("0.000001"))


def test_duplicates_are_instances_or_texts() -> None:
    held = Duplicates()
    instance = {"structure_hash": "s", "data_hash": "d"}
    example, document = {"messages": [{"role": "user", "content": "a"}]}, {"text": "t"}
    assert held.reason([instance], [example], [document]) is None
    other = instance | {"data_hash": "e"}
    assert held.reason([other, instance], [], []) == "instance repeats an earlier one"
    assert held.reason([other], [{"messages": [{"role": "user", "content": "a"}]}], []) == "messages repeats an earlier one"
    assert held.reason([other], [], [{"text": "t"}]) == "document repeats an earlier one"
    assert held.reason([other], [example | {"messages": []}], []) is None, "what was refused is not held"


# ---- refusals; here slots are made in this process, so that faults can be planted

FEW = Recipe(sft=6, cpt=0, families=("knapsack",), levels=(1,), tasks=("formulate",), attempts=3).resolved()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without workers: formulate alone needs no sandbox."""
    def results(recipe: Recipe, slots: list[Slot], *_: object) -> Iterator[Made]:
        with Pool() as pool:
            for one in slots:
                yield make_slot(recipe, one, pool)

    monkeypatch.setattr(run, "_results", results)


def test_a_repeated_instance_is_drawn_again(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index = plan(FEW)[3].index * FEW.attempts

    def twin(name: str, level: int, seed: int, k: int) -> Any:
        return draw(name, level, seed, 0 if k == index else k)

    monkeypatch.setattr(slot, "draw", twin)
    summary = run.run(FEW, tmp_path / "out")
    refused = rows(tmp_path / "out", "rejected")
    assert [(r["stage"], r["reason"], r["seed"]) for r in refused] == [("duplicate", "instance repeats an earlier one", 0)]
    assert (summary.attempted, summary.accepted, summary.shortfall) == (7, 6, 0)
    assert summary.rejected == {"duplicate: instance repeats an earlier one": 1}
    instances = rows(tmp_path / "out", "instances")
    assert len({r["data_hash"] for r in instances}) == 6 and index + 1 in {r["seed"] for r in instances}


def test_a_slot_without_an_acceptable_draw_is_told_and_the_rest_is_written(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bad = plan(FEW)[2].index

    def refusing(name: str, level: int, seed: int, k: int) -> Any:
        if k // FEW.attempts == bad:
            raise Rejected("cannot be completed")
        return draw(name, level, seed, k)

    monkeypatch.setattr(slot, "draw", refusing)
    summary = run.run(FEW, tmp_path / "out")
    assert (summary.attempted, summary.accepted, summary.shortfall, summary.faults) == (8, 5, 1, 0)
    assert summary.rejected == {"sample: cannot be completed": 3, "slot: no draw left": 1}
    assert len(rows(tmp_path / "out", "sft")) == 5 and len(rows(tmp_path / "out", "rejected")) == 4


def test_an_error_of_ours_costs_a_draw_and_is_counted(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = Counter[str]()
    right = slot.make

    def failing(case: Any, order: Any) -> Any:
        calls["make"] += 1
        if calls["make"] == 2:
            raise KeyError("lost")
        return right(case, order)

    monkeypatch.setattr(slot, "make", failing)
    summary = run.run(FEW, tmp_path / "out")
    assert (summary.faults, summary.shortfall, summary.accepted, summary.attempted) == (1, 0, 6, 7)
    [row] = rows(tmp_path / "out", "rejected")
    assert (row["stage"], row["reason"]) == ("render", "internal error: KeyError")
    assert row["detail"].startswith("KeyError: 'lost' (test_build.py:") and str(Path.cwd()) not in row["detail"]


def test_nothing_but_errors_of_ours_ends_the_run_early(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def failing(*_: object) -> Any:
        raise KeyError("lost")

    monkeypatch.setattr(slot, "make", failing)
    monkeypatch.setattr(run, "_HOPELESS", 5)
    with pytest.raises(OrpipeError, match=r"every one of the first .* draws ended in an error of orpipe; .*KeyError: 'lost'"):
        run.run(FEW, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_the_machine_fails_at_ends_the_run(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(slot, "make", full)
    with pytest.raises(OSError, match="No space left"):
        run.run(FEW, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("settings", "reason"), [
    ({"longest": 300}, "gate: formulate: longer than 300 characters"),
    ({"tasks": ("solve",)}, "gate: solve: answer does not state the optimum"),
])
def test_gates_refuse_and_are_counted(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: dict, reason: str) -> None:
    monkeypatch.setattr(gates, "states", lambda answer, optimum: False)
    summary = run.run(FEW.model_copy(update=settings | {"sft": 1}), tmp_path / "out")
    assert summary.rejected == {reason: 3, "slot: no draw left": 1}


def test_a_prompt_that_tells_is_refused(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    right = slot.make

    def telling(case: Any, order: Any) -> Any:
        product = right(case, order)
        (role, prompt), answer = product.messages
        object.__setattr__(product, "messages", ((role, f"{prompt} The optimum is {case.optimum}."), answer))
        return product

    monkeypatch.setattr(slot, "make", telling)
    assert run.run(FEW, tmp_path / "out").rejected["gate: formulate: prompt tells the optimum"] == 18


def test_the_failing_sandbox_is_tried_again_and_then_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Replayed("sandbox", "no fork", Run("sandbox"))
    fine = Replayed("passed", "", Run("ok"))
    answers = [[fine, broken], [broken], [fine]]
    monkeypatch.setattr(slot, "replay_many", lambda pool, scripts: answers.pop(0))
    assert slot.replayed(None, [None, None]) == [fine, fine]  # type: ignore[arg-type, list-item]
    answers = [[fine, broken], [broken], [broken]]
    with pytest.raises(EnvironmentError_, match="the sandbox does not run programs here: no fork; see 'orpipe doctor'"):
        slot.replayed(None, [None, None])  # type: ignore[arg-type, list-item]


def test_a_worker_that_dies_is_told(tmp_path: Path) -> None:
    chunk = workers.Chunk(0, tuple(plan(FEW)), tmp_path / "chunk")
    with workers.Crew(FEW, 1) as crew:
        crew.add([chunk])
        [process] = crew.links.values()
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(EnvironmentError_, match=r"a worker was ended by SIGKILL \(out of memory\?\); run the same command again"):
            crew.until(0)


def test_what_fails_in_a_worker_comes_back_as_it_was(tmp_path: Path) -> None:
    ticks: list[workers.Step] = []
    with workers.Crew(FEW, 1, ticks.append) as crew:
        crew.add([workers.Chunk(0, tuple(plan(FEW)[:2]), tmp_path / "chunk"), workers.Chunk(1, (), tmp_path / "no" / "chunk")])
        crew.until(0)
        with pytest.raises(FileNotFoundError, match="No such file"):
            crew.until(1)
    content = workers.read_chunk(tmp_path / "chunk")
    assert content is not None and [m.number for m in content] == [0, 1] and [t.sft for t in ticks] == [1, 1]


# ---- the folder


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    with run._claimed(tmp_path / "out"), pytest.raises(UsageError, match="another orpipe is writing"), run._claimed(tmp_path / "out"):
        pass
    with run._claimed(tmp_path / "out") as folder:
        assert folder == tmp_path / "out.work"


def test_only_what_orpipe_wrote_is_replaced(here: None, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    run.guard(out, overwrite=False)
    for content in ('{"name": "a web app"}', "[]", "{"):
        (out / "manifest.json").write_text(content)
        with pytest.raises(UsageError, match="holds files that orpipe did not write"):
            run.run(FEW, out, overwrite=True)
    (out / "manifest.json").unlink()
    run.run(FEW, out)
    with pytest.raises(UsageError, match="already holds a dataset of another recipe or version"):
        run.run(FEW, out)
    other = FEW.model_copy(update={"seed": 1})
    assert run.finished(out, FEW) is not None and run.finished(out, other) is None
    run.run(other, out, overwrite=True)
    assert run.finished(out, other) is not None and run.finished(out, FEW) is None
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file; name a folder"):
        run.guard(tmp_path / "file", overwrite=True)


def test_a_link_to_another_disk_stays_one(here: None, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    run.run(FEW, tmp_path / "out")
    assert (tmp_path / "out").is_symlink() and (tmp_path / "disk" / "manifest.json").is_file()


def test_changed_sources_are_another_dataset(here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert len(run.sources()) == 16
    run.run(FEW, tmp_path / "out")
    monkeypatch.setattr(run, "sources", lambda: "0" * 16)
    assert run.finished(tmp_path / "out", FEW) is None


def test_nothing_of_a_slot_stays_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Past slots are gone when the next one comes; rows wait for their row group only."""
    alive: list[weakref.ref[Made]] = []
    most = 0

    def results(recipe: Recipe, slots: list[Slot], *_: object) -> Iterator[Made]:
        nonlocal most
        for one in slots:
            made = Made(one.number, one.split, accepted=1, attempted=1)
            name = str(one.number)
            made.instances = [dict.fromkeys(CONFIGS["instances"].names) | {"id": name, "structure_hash": "s", "data_hash": name}]
            alive.append(weakref.ref(made))
            yield made
            del made
            most = max(most, sum(ref() is not None for ref in alive[-50:]))

    monkeypatch.setattr(run, "_results", results)
    summary = run.run(FEW.model_copy(update={"sft": 1300}), tmp_path / "out")
    assert most <= 2 and sum(summary.counts["instances"].values()) == 1300
    groups = pq.ParquetFile(tmp_path / "out" / "instances" / "train-00000-of-00001.parquet").metadata
    assert [groups.row_group(k).num_rows for k in range(groups.num_row_groups)] == [500, 500, 170]


def test_the_recipe_file_is_what_the_tests_think(recipe: Path) -> None:
    assert recipe.read_text() == RECIPE and len(plan(Recipe.model_validate(run_recipe()).resolved())) == SLOTS
    assert set(run_recipe()["families"]) <= set(families.names())


def run_recipe() -> dict[str, Any]:
    import yaml

    return yaml.safe_load(RECIPE)
