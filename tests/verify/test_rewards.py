"""Rewards: verdicts as numbers, in the calls that TRL and verl document, from threads, forks and fresh processes."""

from __future__ import annotations

import json
import logging
import math
import multiprocessing
import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from orpipe import rewards
from orpipe.build.schema import SFT
from orpipe.errors import NotFound, UsageError
from orpipe.rewards import (
    REWARDS,
    OptimumReward,
    compute_score,
    compute_score_dict,
    compute_scores,
    equivalence_reward,
    optimum_reward,
    reward,
    worth,
)
from orpipe.verify.taxonomy import Failure
from orpipe.verify.verdict import Verdict

# max 3 rye + 2 oat, rye + 2 oat <= 10, oat <= 4: all flour to rye, 30
BREAD = """
import pulp
m = pulp.LpProblem("bread", pulp.LpMaximize)
rye = pulp.LpVariable("rye", lowBound=0)
oat = pulp.LpVariable("oat", lowBound=0, upBound=4)
m += 3 * rye + 2 * oat
m += rye + 2 * oat <= 10, "flour"
m.solve()
"""
# the same from data.json
DATA = {"price": 3, "flour": 10}
FROM_DATA = (BREAD.replace("import pulp", "import json, pulp\nd = json.load(open('data.json'))")
             .replace("3 *", "d['price'] *").replace("10", "d['flour']"))
VERL = {"workers": 2, "timeout": 60}


def fenced(code: str) -> str:
    return f"The model.\n\n```python\n{code.strip()}\n```\n"


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


@pytest.fixture(scope="module")
def bread() -> Iterator[OptimumReward]:
    yield optimum_reward(**VERL)
    rewards.close()


# ---- verdict -> reward


def test_the_table() -> None:
    assert {v: worth(v) for v in Verdict} == {**REWARDS, Verdict.UNDECIDED: None}
    assert {v for v, r in REWARDS.items() if r == 1.0} == {v for v in Verdict if v.passed}
    assert worth(Verdict.UNDECIDED, undecided=0.25) == 0.25
    expected = {Failure.NO_CODE: 0, Failure.SYNTAX: 0, Failure.FORBIDDEN: 0, Failure.EXCEPTION: 0.1, Failure.NO_MODEL: 0.1}
    assert {f: worth(Verdict.ERROR, f, shaping=0.2) for f in expected} == expected
    assert worth(Verdict.WRONG_OPTIMUM, shaping=0.2) == worth(Verdict.NOT_EQUIVALENT, shaping=0.2) == 0.2
    assert worth(Verdict.SAME_OPTIMUM, shaping=0.2) == 1.0


@pytest.mark.parametrize(("settings", "words"), [
    ({"workers": 0}, "at least one worker"), ({"shaping": 1.0}, "less than 1"), ({"shaping": -0.1}, "at least 0"),
    ({"shaping": math.nan}, "not nan"), ({"undecided": math.nan}, "a number or None"), ({"tolerance": 2}, "relative"),
    ({"timeout": 0}, "positive"), ({"isolation": "some"}, "'best' or 'full'"),
])
def test_wrong_settings_are_told_when_the_reward_is_made(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        optimum_reward(**settings)


def test_another_judge_is_refused_by_name() -> None:
    with pytest.raises(NotFound) as told:
        optimum_reward(judge="equivalent")
    assert str(told.value) == "no judge 'equivalent'; did you mean 'equivalence'?"


# ---- TRL


def test_the_call_that_trl_documents(bread: OptimumReward) -> None:
    extra: dict[str, list[Any]] = {}
    metrics: dict[str, float] = {}
    texts = [fenced(BREAD), fenced(BREAD), fenced("print(30)"), "30"]
    for completions in (texts, [chat(t) for t in texts], [[{"role": "assistant", "content": [{"type": "text", "text": t}]}] for t in texts]):
        found = bread(prompts=["How much?"] * 4, completions=completions, completion_ids=[[1], [2], [3], [4]], answer=[30, "31 EUR", 30, 30],
                      trainer_state=object(), log_extra=lambda k, v: extra.update({k: v}), log_metric=lambda k, v: metrics.update({k: v}))
        assert found == [1.0, 0.0, 0.0, 0.0] and all(isinstance(r, float) for r in found)
        assert extra["optimum_verdict"] == ["SAME_OPTIMUM", "WRONG_OPTIMUM", "ERROR", "ERROR"]
        assert "the label is 31" in extra["optimum_reason"][1] and len(extra["optimum_reason"]) == 4
        assert metrics == {"optimum_undecided": 0.0}
    assert bread(["p"], [fenced(BREAD)], answer=[30]) == [1.0]
    assert bread.__name__ == "optimum" and optimum_reward(name="bread").__name__ == "bread" and reward.__name__ == "optimum"


@pytest.mark.parametrize("columns", [
    {"answer": [30, 31]}, {"label": ["30", "31"]}, {"objective": [30.0, 31.0]}, {"ground_truth": [[29, 30], [29, 31]]},
    {"answer": np.array([30.0, 31.0])}, {"solution": [30, 31]}, {"answer": [None, None], "objective": [30, 31]},
    {"status": ["optimal", "infeasible"], "objective": [30.0, None]}, {"status": ["optimal", "infeasible"], "objective": [30.0, 30.0]},
    {"answer": ['{"status": "optimal", "objective": 30}', '{"status": "unbounded"}']},
    {"objective_exact": ["30", "31"], "status": ["optimal", "optimal"]},
    {"objective_exact": ["30", None], "status": ["optimal", "infeasible"], "objective": [30.0, None]},
])
def test_label_columns(bread: OptimumReward, columns: dict[str, Any]) -> None:
    function = OptimumReward(bread.settings, label="solution") if "solution" in columns else bread
    assert function(["p", "p"], [fenced(BREAD)] * 2, **columns) == [1.0, 0.0]


def test_a_named_label_column_is_the_only_one(bread: OptimumReward) -> None:
    function = OptimumReward(bread.settings, label="mine", data="instance")
    columns = {"mine": [30, None], "answer": [7, 30], "status": ["infeasible"] * 2, "data": [{"price": 1, "flour": 1}] * 2, "instance": [DATA] * 2}
    assert function(["p", "p"], [fenced(FROM_DATA)] * 2, **columns) == [1.0, None]


def test_data_come_from_columns_or_from_the_prompt(bread: OptimumReward) -> None:
    shown = "How much?\n\n**data.json**\n```json\n" + json.dumps(DATA) + "\n```\n"
    for columns in ({"data": [DATA]}, {"data": [json.dumps(DATA)]}, {"files": [{"data.json": json.dumps(DATA)}]},
                    {"files": [json.dumps({"data.json": json.dumps(DATA)})]}):
        assert bread(["p"], [fenced(FROM_DATA)], answer=[30], **columns) == [1.0]
    for prompt in (shown, [{"role": "system", "content": "s"}, {"role": "user", "content": shown}]):
        assert bread([prompt], [fenced(FROM_DATA)], answer=[30], files=["{}"]) == [1.0]
    assert bread(["no data"], [fenced(FROM_DATA)], answer=[30]) == [0.0]


def test_rows_of_our_own_dataset(bread: OptimumReward) -> None:
    row = {"id": "a", "task": "solve", "subtask": "optimum", "interface": "files", "dialect": "pulp", "instance_id": "a", "family": "diet",
           "problem_class": "blending", "level": 1, "status": "optimal", "objective": 0.35, "objective_exact": "0.35",
           "files": json.dumps({"data.json": json.dumps({"price": 0.035, "flour": 10})}), "metadata": "{}"}
    assert row.keys() | {"messages"} == set(SFT.names)
    program = fenced(FROM_DATA.replace("2 * oat\n", "0.01 * oat\n"))
    off = row | {"objective_exact": "0.3510", "objective": 0.351}
    near = row | {"objective_exact": "0.3502", "objective": 0.3502}  # an exact label is not rounded: 0.35 is not 0.3502
    infeasible = row | {"status": "infeasible", "objective": None, "objective_exact": None}
    algebra = row | {"dialect": ""}
    rows = [row, off, near, infeasible, algebra]
    columns = {key: [r[key] for r in rows] for key in row}
    assert bread([[{"role": "user", "content": "..."}]] * 5, [chat(program)] * 5, **columns) == [1.0, 0.0, 0.0, 0.0, None]


def test_undecided_is_left_out_and_logged_once(bread: OptimumReward, caplog: pytest.LogCaptureFixture) -> None:
    rewards._said.clear()
    metrics: dict[str, float] = {}
    with caplog.at_level(logging.WARNING, "orpipe.rewards"):
        for _ in range(2):
            assert bread(["p"] * 2, [fenced(BREAD)] * 2, answer=[30, "many"], log_metric=lambda k, v: metrics.update({k: v})) == [1.0, None]
        assert bread(["p"], [fenced(BREAD)], price=[30]) == [None]
    assert metrics == {"optimum_undecided": 0.5}
    assert len(caplog.messages) == 2 and "'many'" in caplog.messages[0]
    assert "columns given: price; name the label's with label=" in caplog.messages[1]
    assert OptimumReward(bread.settings, undecided=0.1)(["p"], [fenced(BREAD)], answer=["many"]) == [0.1]


def test_shaping(bread: OptimumReward) -> None:
    function = OptimumReward(bread.settings, shaping=0.2)
    completions = [fenced(BREAD), fenced(BREAD), fenced("print(30)"), fenced("import pulp\npulp.nothing"), "no code", fenced("def")]
    assert function(["p"] * 6, completions, answer=[30, 31, 30, 30, 30, 30]) == [1.0, 0.2, 0.1, 0.1, 0.0, 0.0]


# ---- never raising


DEEP = '[{"role": "assistant", "content": ' + "[" * 900 + "]" * 900 + "}]"


def test_what_cannot_be_read_costs_its_own_row_only(bread: OptimumReward) -> None:
    nested: Any = "x"
    for _ in range(3000):
        nested = [nested]
    completions = [fenced(BREAD), None, "", 7, nested, DEEP, "[{" * 5000, chat(fenced(BREAD)), {"content": fenced(BREAD)}, "\ud800 \0"]
    found = bread(["p"] * 10, completions, answer=[30] * 10)
    assert found == [1.0, 0.0, 0.0, 0.0, None, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert bread(["p"] * 2, [fenced(BREAD)] * 2, answer=[30, 30], data=[{"a": object()}, {}]) == [None, 1.0]


@pytest.mark.parametrize("columns", [
    {"answer": [30]}, {"answer": 30}, {"answer": "30"}, {"answer": None}, {"answer": [object(), {1, 2}]}, {"answer": [True, b"30"]}, {},
    {"answer": [30, 30], "log_extra": lambda k, v: 1 / 0},
])
def test_columns_that_do_not_fit(bread: OptimumReward, columns: dict[str, Any]) -> None:
    assert bread(["p", "p"], [fenced(BREAD)] * 2, **columns) == [None, None]


def test_no_completions_and_a_broken_judge(bread: OptimumReward, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    assert bread([], []) == [] and bread() == [] and bread(prompts=None, completions=None) == []

    def broken(*_: Any) -> Any:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(rewards, "_rows", broken)
    assert bread(["p"] * 2, [BREAD] * 2, answer=[30, 30]) == [None, None]
    assert "can't start new thread" in caplog.text
    assert compute_score("or", BREAD, 30, **VERL) == 0.0 and compute_scores([1], [BREAD], [30], undecided=0.5, **VERL) == [0.5]


# ---- from anywhere


LABELS = [30, 31, "infeasible", None]
EXPECTED = [1.0, 0.0, 0.0, None]


def judged(function: OptimumReward) -> list[float | None]:
    return function(["p"] * 4, [fenced(BREAD)] * 4, answer=LABELS)


def test_p2_threads_give_the_same_rewards_as_the_main_thread(bread: OptimumReward) -> None:
    assert judged(bread) == judged(bread) == EXPECTED
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: judged(bread)})) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(6), EXPECTED)


def test_p2_a_forked_process_gives_the_same_rewards(bread: OptimumReward) -> None:
    assert judged(bread) == EXPECTED

    def child(pipe: Any) -> None:
        found: dict[int, Any] = {}
        threads = [threading.Thread(target=lambda k=k: found.update({k: judged(bread)})) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send([found, compute_score("or", fenced(BREAD), "30", **VERL)])
        rewards.close()
        os._exit(0)

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
    process.start()
    assert ours.poll(100) and ours.recv() == [dict.fromkeys(range(4), EXPECTED), 1.0]
    process.join()
    assert judged(bread) == EXPECTED


def test_a_reward_is_pickled_by_its_settings(bread: OptimumReward) -> None:
    again = pickle.loads(pickle.dumps(bread))
    assert again == bread and again.__name__ == "optimum" and hash(again) == hash(bread)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(bread, (), {"prompts": ["p"], "completions": [fenced(BREAD)], "answer": [30]}) == [1.0]
        assert pool.apply(compute_score, ("or", fenced(BREAD), "31"), VERL) == 0.0


def test_p1_endless_programs_cost_their_time_and_nothing_else() -> None:
    function = optimum_reward(workers=4, timeout=2, name="short")
    rewards._judge(function.settings).warm("pulp")
    completions = [*["while True: pass"] * 5, fenced(BREAD)]
    extra: dict[str, list[str]] = {}
    found = function(["p"] * 6, completions, answer=[30] * 6, log_extra=lambda k, v: extra.update({k: v}))
    assert found[:5] == [0.0] * 5 and all("not finished after 2 s" in r for r in extra["short_reason"][:5])
    assert found[5] == 1.0
    rewards._judge(function.settings).close()


@pytest.mark.parametrize(("program", "label", "expected"), [
    (BREAD.replace("<= 10", "<= 0"), 0, 1.0), (BREAD.replace("<= 10", "<= -1"), "infeasible", 1.0),
    (BREAD.replace("<= 10", ">= -1"), "unbounded", 1.0), (BREAD, 0, 0.0),
    (BREAD.replace("m.solve()", "m += rye <= 9\nm.solve()\nm += rye <= 8, 'cut'\nm.solve()"), 26, 1.0),
    (BREAD.replace("m.solve()", "m.writeLP('model.lp')"), 30, 1.0),
])
def test_p5_p7_p8_ordinary_truths(bread: OptimumReward, program: str, label: Any, expected: float) -> None:
    assert bread(["p"], [fenced(program)], answer=[label]) == [expected]


# ---- verl


def test_the_calls_that_verl_documents() -> None:
    score = compute_score(data_source="or", solution_str=fenced(BREAD), ground_truth="30", extra_info={"index": 3, "answer": "no label"}, **VERL)
    assert score == 1.0 and isinstance(score, float)
    assert compute_score("or", fenced(BREAD), "31", **VERL) == 0.0
    assert compute_score("or", fenced(BREAD), "30", None, reward_router_address=None, **VERL) == 1.0
    found = compute_score_dict("or", fenced(BREAD), 31, {}, **VERL)
    assert found == {"score": 0.0, "acc": 0.0, "verdict": "WRONG_OPTIMUM", "failure": "other optimum", "reason": "the optimum is 30; the label is 31"}
    assert all(type(v) in (str, float) for v in found.values())
    solutions = [fenced(BREAD), fenced(BREAD), "30"]
    for infos in ([{}, None, {}], None, np.array([{}, {}, {}], dtype=object)):
        found = compute_scores(data_sources=["or"] * 3, solution_strs=solutions, ground_truths=[30, 31, 30], extra_infos=infos, **VERL)
        assert found == [1.0, 0.0, 0.0]


def test_verl_data_statuses_and_labels_beside_the_ground_truth() -> None:
    assert compute_score("or", fenced(FROM_DATA), "30", {"files": json.dumps({"data.json": json.dumps(DATA)})}, **VERL) == 1.0
    shown = "**data.json**\n```json\n" + json.dumps(DATA) + "\n```\n"
    assert compute_score("or", fenced(FROM_DATA), "30", {"question": shown}, **VERL) == 1.0
    assert compute_score("or", fenced(BREAD), 30, {"status": "infeasible"}, **VERL) == 0.0
    assert compute_score("or", fenced(BREAD), None, {"objective_exact": "30", "status": "optimal"}, **VERL) == 1.0
    exact = json.dumps({"status": "optimal", "objective_exact": "30.01"})
    near = fenced(BREAD.replace("<= 10", "<= 10.004"))  # 30.012
    assert [compute_score("or", near, truth, **VERL) for truth in ("30.01", exact)] == [1.0, 0.0]
    assert compute_score("or", fenced(BREAD), None, **VERL) == 0.0 and compute_score("or", fenced(BREAD), None, undecided=0.5, **VERL) == 0.5
    for strange in (object(), [], {}, b"\xff", float("nan")):
        assert compute_score(strange, strange, strange, strange, **VERL) == 0.0


def test_verl_settings_that_do_not_exist_are_told() -> None:
    with pytest.raises(UsageError, match=r"wrong reward settings: .*time_out"):
        compute_score("or", BREAD, 30, time_out=3)
    with pytest.raises(NotFound, match="no judge"):
        compute_score("or", BREAD, 30, judge="equivalent")
    with pytest.raises(UsageError, match="token file"):
        compute_score("or", BREAD, 30, url="http://127.0.0.1:1", token_file="/nonexistent/token")


LP = "Maximize\n 3 rye + 2 oat\nSubject To\n flour: rye + 2 oat <= 10\nBounds\n oat <= 4\nEnd\n"
LUCKY = BREAD.replace("m.solve()", "m += oat <= 3\nm.solve()")  # the same optimum, all flour to rye


def test_equivalence_refutes_what_the_optimum_accepts() -> None:
    completions, columns = [fenced(BREAD), fenced(LUCKY)], {"answer": [30, 30], "reference": [LP, LP]}
    assert optimum_reward(**VERL)(completions=completions, **columns) == [1.0, 1.0]
    strict = equivalence_reward(**VERL)
    assert strict(completions=completions, **columns) == [1.0, 0.0] and strict.__name__ == "equivalence"
    assert strict(completions=completions, answer=[30, 30]) == [1.0, 1.0]  # without a reference the optimum decides
    found = compute_score_dict("or", fenced(LUCKY), 30, {"reference": LP}, judge="equivalence", **VERL)
    assert (found["score"], found["verdict"]) == (0.0, "NOT_EQUIVALENT") and "the reference allows what the answer forbids" in found["reason"]
    with pytest.raises(UsageError, match="no folder written by"):
        equivalence_reward(dataset="nowhere", **VERL)
