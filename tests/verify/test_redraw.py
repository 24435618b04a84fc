"""Programs on other data: files rendered in the instance's names, literals re-bound, and what may be concluded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from orpipe.build.schema import INSTANCES, SFT
from orpipe.ground import ground
from orpipe.instances import Instance, draw, stream
from orpipe.mps import write_mps
from orpipe.render.files import data_csv, data_json
from orpipe.scenarios import Labels
from orpipe.solve import Label, label
from orpipe.suites import DataSet, Suite
from orpipe.testing import bench_rebind
from orpipe.verify.answers import Answer, open_answers
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.rebind import Binding, bind
from orpipe.verify.redraw import Hidden, Outcome, Task, redraw, turned
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Judgement, Verdict

LOAD = """
import json, pulp
d = json.load(open("data.json"))
value, need, capacity = d["value"], d["need"], d["capacity"]
"""
INLINE = """
import pulp
value = {"C1": 4688, "C2": 5284, "C3": 1695, "C4": 1123, "C5": 1004}
need = [309, 351, 110, 80, 112]
need = dict(zip(value, need))
capacity = 500
"""
MODEL = """
m = pulp.LpProblem("load", pulp.LpMaximize)
take = pulp.LpVariable.dicts("take", list(value), cat="Binary")
m += pulp.lpSum(value[i] * take[i] for i in value)
m += pulp.lpSum(need[i] * take[i] for i in value) <= capacity
m.solve()
"""
# the optimum found by other means, in a model of one variable
ALONE = """
m = pulp.LpProblem("load", pulp.LpMaximize)
total = pulp.LpVariable("total", 0, best)
m += 1 * total
m.solve()
"""
SEARCH = """
from itertools import combinations
best = max(sum(value[i] for i in some) for k in range(len(value) + 1) for some in combinations(value, k)
           if sum(need[i] for i in some) <= capacity)
"""
GREEDY = """
best, left = 0, capacity
for i in sorted(value, key=lambda i: -value[i] / need[i]):
    if need[i] <= left:
        best, left = best + value[i], left - need[i]
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1, timeout=60, redraw=3) as made:
        made.warm("pulp")
        yield made


@cache
def knapsack() -> Instance:
    found = draw("knapsack", 1, 0, 0)
    assert found.data["W"] == 500 and found.data["w"]["C1"] == 309  # the literals above
    return found


@cache
def row_of(instance: Instance) -> dict[str, Any]:
    found = label(instance.problem)
    assert isinstance(found, Label) and found.objective_exact is not None
    return {"id": instance.id, "family": instance.family.name, "level": instance.level, "status": "optimal",
            "objective_exact": str(found.objective_exact), "data": json.dumps(instance.data), "mps": write_mps(instance.problem),
            "structure_hash": instance.structure_hash, "scenario": instance.scenario.id, "formulation": instance.formulation}


def answer(code: str, files: dict[str, str] | None = None) -> Answer:
    about = row_of(knapsack())
    return Answer("k", f"```python\n{code}```", about["objective_exact"], data=files or {}, reference=about["mps"], instance=about)


def in_files(code: str) -> Answer:
    return answer(code, {"data.json": data_json(knapsack().linear, knapsack().data)})


def suite(count: int = 4) -> Suite:
    """Smaller instances than the headline's, with labels of their own."""
    instance, sets = knapsack(), []
    for k in range(count):
        rng = stream(5, "test", k)
        data = instance.family.sample(rng, {**instance.family.levels[0]}, Labels(instance.scenario, instance.model, rng))
        data = {"I": [f"box {x}" for x in data["I"]][:3], "W": data["W"], **{s: {f"box {x}": v for x, v in data[s].items()} for s in "vw"}}
        data = {**data, **{s: {x: data[s][x] for x in data["I"]} for s in "vw"}, "W": 120 + k}
        found = label(ground(instance.linear, data))
        assert isinstance(found, Label) and found.objective_exact is not None
        sets.append(DataSet(data, "optimal", Fraction(found.objective_exact), "agreement"))
    return Suite(instance.structure_hash, "knapsack", "standard", tuple(sets))


def test_a_program_that_reads_its_data_agrees_on_hidden_data_and_that_is_no_proof(judge: Judge) -> None:
    row = judge.judge_answer(in_files(LOAD + MODEL))
    assert (row.verdict, row.redraw) == (Verdict.EQUIVALENT, "redraw(3)") and row.method != "redraw"
    assert row.evidence["redraw"] == {"agreed": 3, "how": "files"}
    alone = judge.judge_answer(in_files(LOAD + SEARCH + ALONE))
    assert (alone.verdict, alone.redraw) == (Verdict.SAME_OPTIMUM, "redraw(3)")


@pytest.mark.parametrize("code", [LOAD.replace('d["capacity"]', "500") + MODEL, LOAD + INLINE.replace("import pulp", "") + MODEL])
def test_numbers_written_into_a_program_that_should_read_them_are_found(judge: Judge, code: str) -> None:
    row = judge.judge_answer(in_files(code))
    assert (row.verdict, row.method, row.optimum) == (Verdict.NOT_EQUIVALENT, "redraw", "SAME_OPTIMUM"), row
    assert row.redraw.startswith("differs: data set 1: ") and set(row.evidence["redraw"]["data"]) == {"I", "W", "v", "w"}
    assert row.reason.startswith("on other data (its files re-drawn) the optimum is ")


def test_a_suite_is_used_where_there_is_one_and_only_for_programs_that_read_data() -> None:
    made = suite()
    with Judge(workers=1, timeout=60, suites={made.structure_hash: made}) as other:
        assert other.judge_answer(in_files(LOAD + MODEL)).redraw == "redraw(3)"
        fixed = other.judge_answer(in_files(LOAD.replace('d["capacity"]', "500") + MODEL))
        assert fixed.verdict is Verdict.NOT_EQUIVALENT and fixed.evidence["redraw"]["data"]["W"] == 120
        assert other.judge_answer(answer(INLINE + MODEL)).redraw == ""
        crash = other.judge_answer(in_files(LOAD + "assert len(value) == 5\n" + MODEL))  # on other sizes: nothing of its model
        assert crash.verdict is Verdict.EQUIVALENT, crash
        assert crash.redraw == "failed on 3 of 3: AssertionError; with its own labels and sizes it agrees on 4 of 4"
        ours = in_files(LOAD + MODEL)
        foreign = replace(ours, data={"data.json": ours.data["data.json"].replace('500', '500, "more": 1')})
        assert other.judge_answer(foreign).redraw == "not bound: its data files are not as we write them"


@pytest.mark.parametrize(("code", "verdict", "failure", "said"), [
    # the plan written down by name: no hidden data have these names
    (LOAD + "best = value['C1'] + value['C3'] + value['C4']\n" + ALONE, Verdict.NOT_EQUIVALENT, "", "differs: data set "),
    (LOAD + "assert capacity == 500\n" + MODEL, Verdict.ERROR, "exception",
     "failed on 3 of 3: AssertionError; with its own labels and sizes on 4 of 4"),
    (LOAD + "known = {309: 1}[need['C1']]\n" + MODEL, Verdict.ERROR, "missing data key",
     "failed on 3 of 3: KeyError; with its own labels and sizes on 4 of 4"),
    (LOAD + "order = [value[i] for i in ('C1', 'C2')]\n" + SEARCH + ALONE, Verdict.SAME_OPTIMUM, "",
     "failed on 3 of 3: KeyError; with its own labels and sizes it agrees on 4 of 4"),
])
def test_a_program_that_fails_on_other_labels_is_tried_with_its_own(code: str, verdict: Verdict, failure: str, said: str) -> None:
    made = suite()
    with Judge(workers=1, timeout=60, suites={made.structure_hash: made}) as other:
        row = other.judge_answer(in_files(code))
    assert (row.verdict, row.failure) == (verdict, failure) and row.redraw.startswith(said), row
    if verdict is Verdict.ERROR:
        assert row.method == "redraw" and row.reason.startswith("with other numbers in its files (labels and sizes as they are) the program ")


def test_a_failure_is_the_answers_only_where_there_is_an_optimum_and_it_fails_each_time() -> None:
    """In words of the judge: a program may refuse data that have no plan, be slow, or fail now and then."""
    raised = Judgement(Verdict.ERROR, "the program raised ValueError", Failure.EXCEPTION, evidence={"exception": "ValueError"})
    slow, same = Judgement(Verdict.ERROR, "too slow", Failure.TIMEOUT), Judgement(Verdict.SAME_OPTIMUM, "")
    wrong = Judgement(Verdict.WRONG_OPTIMUM, "the optimum is 3, not 4")
    one = Hidden(knapsack().data, Truth.optimum(7))

    def told(first: list[Judgement], own: list[tuple[Judgement, Truth]], how: str = "files") -> Outcome:
        answers = iter([*first, *(j for j, truth in own if truth.values)])
        truths = {str(k): truth for k, (_, truth) in enumerate(own)}
        task = Task("", how, knapsack().linear, [one] * len(first), ["data.json"],
                    own=lambda: [Hidden(knapsack().data, text=str(k)) for k in range(len(own))])
        return redraw(task, lambda code, files, truth: next(answers), truths.__getitem__)

    plan, none = Truth.optimum(1), Truth.status("infeasible")
    assert told([raised, same], [(raised, plan), (raised, plan)]).failed is raised
    assert told([raised, same], [(raised, plan), (raised, none)]).failed is None
    assert told([raised, same], [(raised, plan), (slow, plan)]).said == (
        "redraw(1); failed on 1 of 2: ValueError; with its own labels and sizes it agrees on 0 of 2")
    assert told([raised], [(raised, plan), (wrong, plan)]).said == "differs: data set 2: the optimum is 3, not 4"
    assert told([raised], []).said == "failed on 1 of 1: ValueError"
    assert told([slow, same], [(raised, plan)] * 3).said == "redraw(1); open: data set 1: too slow"


def test_csv_files_are_rendered_as_well(judge: Judge) -> None:
    files = data_csv(knapsack().linear, knapsack().data)
    code = """
import csv, pulp
rows = list(csv.DictReader(open("consignments.csv")))
value = {r["consignment"]: float(r["value"]) for r in rows}
need = {r["consignment"]: float(r["need"]) for r in rows}
capacity = float(next(csv.DictReader(open("scalars.csv")))["value"])
""" + MODEL
    row = judge.judge_answer(answer(code, files))
    assert (row.verdict, row.redraw) == (Verdict.EQUIVALENT, "redraw(3)"), row
    assert judge.judge_answer(answer(code.replace('float(next(csv.DictReader(open("scalars.csv")))["value"])', "500"), files)).method == "redraw"


def test_literals_are_re_bound_where_equivalence_is_open(judge: Judge) -> None:
    assert judge.judge_answer(answer(INLINE + MODEL)).redraw == "not needed: equivalent, and its data stand in it"
    row = judge.judge_answer(answer(INLINE + SEARCH + ALONE))
    assert (row.verdict, row.redraw, row.evidence["redraw"]["how"]) == (Verdict.SAME_OPTIMUM, "redraw(3)", "literals")
    lucky = judge.judge_answer(answer(INLINE + GREEDY + ALONE))
    assert (lucky.optimum, lucky.verdict, lucky.method) == ("SAME_OPTIMUM", Verdict.NOT_EQUIVALENT, "redraw"), lucky
    byhand = judge.judge_answer(answer(INLINE + SEARCH + ALONE.replace("0, best", "0, min(best, 7506)")))
    assert (byhand.verdict, byhand.redraw) == (Verdict.SAME_OPTIMUM, "not bound: the number 7506 in line 12 is none of its data")


def bound(code: str, instance: Instance) -> Binding | str:
    return bind(code, instance.linear, instance.data)


def test_what_is_bound_and_what_is_not() -> None:
    found = bound(INLINE + MODEL, knapsack())
    assert isinstance(found, Binding) and sorted(found.places) == ["W", "v", "w"] and found.program(knapsack().data) == INLINE + MODEL
    for data in found.redraws(stream(1, "x"), 3):
        code, env = found.program(data), dict[str, Any]()
        exec(code.partition("\nm =")[0], env)  # our own text
        assert (env["value"], env["need"], env["capacity"]) == (data["v"], data["w"], data["W"]) and data["I"] == knapsack().data["I"]
    twice = bound(INLINE + "limit = 500\n" + MODEL, knapsack())
    assert isinstance(twice, Binding) and sorted(twice.places) == ["v", "w"]  # what is told twice keeps its value
    assert all(data["W"] == 500 for data in twice.redraws(stream(1, "x"), 3))
    assert bound(INLINE.replace("309", "308") + MODEL, knapsack()) == "the number 308 in line 4 is none of its data"
    assert bound(INLINE + "big = 1e4\n" + MODEL, knapsack()) == "the number 10000 in line 7 is none of its data"
    assert bound(INLINE + "more = 351\n" + MODEL, knapsack()) == "the number 351 in line 7 may be a datum or not"
    assert bound("import pulp\n", knapsack()) == "none of its literals is the data of one parameter and of no other"


@pytest.mark.parametrize("name", ["diet", "staff_scheduling"])
def test_our_programs_of_every_dialect_are_bound_as_if_written_anew(name: str) -> None:
    """Tables of one entry are told by their labels; numbers that count places in an index are no data."""
    done = CliRunner().invoke(bench_rebind.app, ["--families", name, "--draws", "1", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    one, total = (dict(zip(said["header"], row, strict=True)) for row in said["rows"])
    assert one | {"family": "all"} == total and one["programs"] == 40 and said["reasons"] == {}
    assert one["re-bound"] == one["parameters"] == one["as written anew"] == "100.0%"


def test_a_table_of_one_entry_is_bound_by_its_label() -> None:
    instance = draw("diet", 1, 0, 0)
    (label_,) = instance.data["l"]
    same = next(f for f, v in instance.data["c"].items() if v == instance.data["l"][label_])  # a price of the same number
    prices = "price = " + json.dumps(instance.data["c"])
    found = bound(f"{prices}\nleast = {{'{label_}': {instance.data['c'][same]}}}", instance)
    assert isinstance(found, Binding) and sorted(found.places) == ["c", "l"]
    assert bound(f"{prices}\nleast = {{'{same}': {instance.data['c'][same]}}}", instance) == "the number 21.3 in line 2 may be a datum or not"
    assert bound(f"{prices}\nleast = price['{same}'] + 21.3", instance) == "the number 21.3 in line 2 may be a datum or not"


def test_places_in_an_index_are_no_data_and_other_numbers_there_may_be() -> None:
    code = INLINE + "names = list(value)\nnext_ = [names[(k + 80) % len(names)] for k in range(5)]\n"
    assert isinstance(bound(code + MODEL, knapsack()), Binding)
    assert bound(code.replace("(k + 80)", "int(k + 80.5)") + MODEL, knapsack()) == "the number 80.5 in line 8 is none of its data"
    assert bound(code.replace("range(5)", "range(351)") + MODEL, knapsack()) == "the number 351 in line 8 may be a datum or not"


def test_a_program_that_reads_its_data_where_there_are_files_and_else_holds_them(judge: Judge) -> None:
    indented = INLINE.replace("import pulp\n", "").strip().replace("\n", "\n    ")
    load = LOAD.strip().partition("\n")[2].replace("\n", "\n    ")
    code = f"import pulp, json\ntry:\n    {load}\nexcept FileNotFoundError:\n    {indented}\n"
    rows = [judge.judge_answer(made(code + SEARCH + ALONE)) for made in (in_files, answer)]
    assert [(r.verdict, r.redraw, r.evidence["redraw"]["how"]) for r in rows] == [
        (Verdict.SAME_OPTIMUM, "redraw(3)", "files"), (Verdict.SAME_OPTIMUM, "redraw(3)", "literals")]
    stale = [judge.judge_answer(made(code + SEARCH.replace("<= capacity", "<= 500") + ALONE)) for made in (in_files, answer)]
    assert [(r.verdict, r.redraw.partition(":")[0]) for r in stale] == [(Verdict.NOT_EQUIVALENT, "differs"), (Verdict.SAME_OPTIMUM, "redraw(3)")]


TABLES = {
    "nested lists": "c = [[24.42, 12.68, 16.61], [14.62, 15.85, 10.57]]",
    "by columns": "c = [[24.42, 14.62], [12.68, 15.85], [16.61, 10.57]]",
    "nested objects in another order": "c = {'Hadley': {'Preston': 10.57, 'Yarrow': 14.62, 'Kingsbridge': 15.85}, "
                                       "'Kelso': {'Yarrow': 24.42, 'Kingsbridge': 12.68, 'Preston': 16.61}}",
    "pairs": "c = {('Kelso', 'Yarrow'): 24.42, ('Kelso', 'Kingsbridge'): 12.68, ('Kelso', 'Preston'): 16.61, ('Hadley', 'Yarrow'): 14.62, "
             "('Hadley', 'Kingsbridge'): 15.85, ('Hadley', 'Preston'): 10.57}",
    "records": "c = [('Kelso', 'Yarrow', 24.42), ('Kelso', 'Kingsbridge', 12.68), ('Kelso', 'Preston', 16.61), ('Hadley', 'Yarrow', 14.62), "
               "('Hadley', 'Preston', 10.57), ('Hadley', 'Kingsbridge', 15.85)]",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_in_many_shapes(name: str) -> None:
    found = bound(TABLES[name], draw("transportation", 1, 0, 0))
    assert isinstance(found, Binding) and list(found.places) == ["c"]
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    data = next(found.redraws(stream(2, "x"), 1))
    exec(TABLES[name], before)
    exec(found.program(data), after)
    old, new = draw("transportation", 1, 0, 0).data["c"], data["c"]
    renamed = {v: new[i][j] for i, some in old.items() for j, v in some.items()}
    assert json.dumps(_mapped(before["c"], renamed)) == json.dumps(_mapped(after["c"], {}))


def _mapped(value: Any, renamed: dict[float, float]) -> Any:
    if isinstance(value, dict):
        return {str(k): _mapped(v, renamed) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(v, renamed) for v in value]
    return renamed.get(value, value)


def test_senses_have_to_agree() -> None:
    truth = Truth.optimum(7, maximize=True)
    assert turned(truth, True) is truth
    assert [v.number for v in turned(truth, False).values] == [-7] and turned(truth, False).maximize is False


def test_answers_to_our_dataset_find_their_instance(tmp_path: Path, judge: Judge) -> None:
    about = row_of(knapsack())
    (tmp_path / "manifest.json").write_text("{}")
    question = [{"role": "user", "content": "pack"}, {"role": "assistant", "content": f"```python\n{INLINE + MODEL}```"}]
    row = {"id": "q", "messages": question, "task": "solve", "dialect": "pulp", "instance_id": about["id"], "family": "knapsack", "level": 1,
           "status": "optimal", "objective_exact": about["objective_exact"], "files": "{}", "metadata": '{"scenario": "cargo"}'}
    changed = {**row, "id": "other", "objective_exact": "7507"}  # asks for a changed model: no reference
    for config, schema, rows in (("instances", INSTANCES, [about]), ("sft", SFT, [row, changed])):
        (tmp_path / config).mkdir()
        table = pa.Table.from_pylist([{name: r.get(name) for name in schema.names} for r in rows], schema=schema)
        pq.write_table(table, tmp_path / config / "train-00000-of-00001.parquet")
    own = list(judge.judge_many(open_answers(tmp_path)))
    assert [(r.verdict, r.method) for r in own] == [(Verdict.EQUIVALENT, "identical"), (Verdict.WRONG_OPTIMUM, "optimum")]
    theirs = tmp_path / "outputs.jsonl"
    lucky = (INLINE + MODEL).replace("m.solve()", "m += take['C2'] <= 0\nm.solve()")
    theirs.write_text("".join(json.dumps({"id": "q", "response": f"```python\n{code}```"}) + "\n" for code in (INLINE + MODEL, lucky)))
    found: list[VerdictRow] = list(judge.judge_many(open_answers(theirs, labels=tmp_path)))
    assert [(r.verdict, r.optimum) for r in found] == [(Verdict.EQUIVALENT, "SAME_OPTIMUM"), (Verdict.NOT_EQUIVALENT, "SAME_OPTIMUM")]
    assert found[1].reason.startswith("the reference allows what the answer forbids: ") and found[1].evidence["witness"]["broken"]
