"""Rewards and the service with judge "equivalence" and what should never be sent: never raising, the same each time, in bounded time."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from orpipe import rewards
from orpipe.errors import ParseError
from orpipe.lp import read_lp
from orpipe.mps import read_mps
from orpipe.rewards import OptimumReward, equivalence_reward
from orpipe.serve import Bounds
from orpipe.verify.judge import Judge
from orpipe.verify.row import plain
from orpipe.verify.truth import Truth
from tests.verify.test_serve import Running, until

LP = "maximize\n obj: 3 x + 2 y\nsubject to\n c: x + y <= 4\nbounds\n x <= 3\nend\n"
OTHER = "minimize\n obj: a\nsubject to\n c: a >= 11\nend\n"
PROGRAM = """```python
import pulp
m = pulp.LpProblem("a", pulp.LpMaximize)
x, y = pulp.LpVariable("x", 0, 3), pulp.LpVariable("y", 0)
m += 3 * x + 2 * y
m += x + y <= 4, "c"
m.solve()
```"""
_ROWS = 180_000
HUGE = "maximize\n obj: x0\n" + "".join(f" + {k} x{k}\n" for k in range(1, _ROWS)) + "subject to\n" + "".join(
    f" c{k}: x{k} + x{k + 1} <= {k}\n" for k in range(_ROWS)) + "end\n"


class Evil:
    def __str__(self) -> str:
        raise ValueError("no")

    __repr__ = __str__

    def __len__(self) -> int:
        raise ValueError("no")


@pytest.fixture(scope="module")
def reward() -> Iterator[OptimumReward]:
    yield equivalence_reward(workers=2, timeout=20, budget=1.0)
    rewards.close()


# what stands in the columns, and what a right program then gets
HOSTILE: list[tuple[str, dict[str, Any], float | None]] = [
    ("nothing wrong", {"reference": LP, "answer": 11}, 1.0),
    ("no label", {"reference": LP}, 1.0),
    ("NaN", {"reference": LP, "answer": math.nan}, 1.0),
    ("a label against its reference", {"reference": LP, "answer": 12}, None),
    ("an infinite label against its reference", {"reference": LP, "answer": math.inf}, None),
    ("a label of many digits", {"reference": LP, "answer": "9" * 500_000}, 1.0),
    ("a label of many entries", {"reference": LP, "answer": [1] * 100_000}, 1.0),
    ("an integer beyond floats", {"reference": LP, "answer": 10**400}, 1.0),
    ("deep lists as a label", {"reference": LP, "answer": "[" * 50_000 + "]" * 50_000}, 1.0),
    ("a label that cannot be shown", {"reference": LP, "answer": Evil()}, 1.0),
    ("deep data", {"reference": LP, "answer": 11, "data": "[" * 50_000}, 1.0),
    ("a number as reference", {"reference": 3, "answer": 11}, 1.0),
    ("bytes as reference", {"reference": LP.encode(), "answer": 11}, 1.0),
    ("a list as reference", {"reference": [LP], "answer": 11}, 1.0),
    ("no reference", {"reference": None, "answer": 11}, 1.0),
    ("no model as reference", {"reference": "garbage", "answer": 11}, 1.0),
    ("no model as reference, and no label", {"reference": "garbage"}, None),
    ("half a character as reference", {"reference": "\ud800" + LP, "answer": 11}, 1.0),
    ("a number too large for any machine", {"reference": LP.replace("3 x", "1e999999999 x"), "answer": 11}, 1.0),
    ("another family's reference", {"reference": OTHER, "answer": 11}, 0.0),
    ("a quadratic reference", {"reference": OTHER.replace("obj: a", "obj: [ a ^ 2 ] / 2"), "answer": 11}, 1.0),
    ("an instance nobody knows", {"instance_id": "x", "objective_exact": "11", "status": "optimal", "dialect": "pulp"}, 1.0),
]


def one(reward: OptimumReward, columns: dict[str, Any]) -> float | None:
    """From a column of one row; a list as a value is a row's, too."""
    (found,) = reward(None, [PROGRAM], **{name: [value] for name, value in columns.items()})
    return found


@pytest.mark.parametrize(("columns", "expected"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_hostile_columns_cost_no_exception_and_little_time(reward: OptimumReward, columns: dict[str, Any], expected: float | None) -> None:
    one(reward, HOSTILE[0][1])  # helpers are up
    began = time.monotonic()
    assert [one(reward, columns) for _ in range(2)] == [expected] * 2
    assert time.monotonic() - began < 20


def test_hostile_completions_cost_their_own_row_only(reward: OptimumReward) -> None:
    said = [Evil(), None, 3, b"x", [{"role": "assistant"}], {"x": 1}, "x" * 3_000_000, "\ud800", PROGRAM]
    expected = [None, *[0.0] * 7, 1.0]
    for _ in range(2):
        assert reward(None, said, reference=[LP] * len(said), answer=[11] * len(said)) == expected
    assert reward(None, [PROGRAM], reference=Evil(), answer=[11]) == [1.0]  # no column of this batch


def test_a_reference_of_ten_megabytes_takes_its_budget_and_no_more(reward: OptimumReward) -> None:
    assert len(HUGE) > 6 << 20
    one(reward, HOSTILE[0][1])
    began = time.monotonic()
    assert reward(None, [PROGRAM] * 3, reference=[HUGE, LP, HUGE], answer=[11] * 3) == [1.0] * 3
    assert time.monotonic() - began < 40
    assert one(reward, HOSTILE[0][1]) == 1.0


def mixed(reward: OptimumReward) -> list[float | None]:
    cases = [case for case in HOSTILE if {"reference", "answer"} == case[1].keys()]
    columns = {name: [case[1][name] for case in cases] for name in ("reference", "answer")}
    found = reward(None, [PROGRAM] * len(cases), **columns)
    assert found == [case[2] for case in cases]
    return found


def test_threads_and_forks_get_the_same(reward: OptimumReward) -> None:
    expected = mixed(reward)
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(mixed, [reward] * 3)) == [expected] * 3

    def child(pipe: Any) -> None:
        pipe.send(mixed(reward))
        rewards.close()
        os._exit(0)

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
    process.start()
    assert ours.poll(100) and ours.recv() == expected
    process.join(30)
    assert process.exitcode == 0 and mixed(reward) == expected


def test_a_reward_that_is_closed_while_others_wait_answers_them_and_goes_on(reward: OptimumReward) -> None:
    found: list[list[float | None]] = []
    columns: dict[str, Any] = {"reference": [HUGE] * 4, "answer": [11] * 4}
    thread = threading.Thread(target=lambda: found.append(reward(None, [PROGRAM] * 4, **columns)))
    thread.start()
    time.sleep(0.7)
    rewards.close()
    thread.join(30)
    assert not thread.is_alive() and len(found[0]) == 4 and set(found[0]) <= {None, 1.0}
    assert one(reward, HOSTILE[0][1]) == 1.0


def test_labels_that_cannot_be_read_are_said_to_be() -> None:
    for label in ("9" * 500_000, [1] * 100_000, dict.fromkeys(range(5000), 1), Evil(), [Evil()]):
        truth = Truth.of(label)
        assert truth.absent and not truth.understood and len(truth.note) < 300
    assert plain(Evil()) == "a Evil that cannot be shown" and plain({1, 2}) == "{1, 2}"


@pytest.mark.parametrize("number", ["1e999999999", "-1e-999999999", "7" * 5000, "1e4001"])
def test_numbers_too_large_to_be_meant_are_refused_with_their_line(number: str) -> None:
    with pytest.raises(ParseError, match=r"LP line 2: .* too large or too long a number to be meant"):
        read_lp(LP.replace("3 x", f"{number} x"))
    with pytest.raises(ParseError, match=r"LP line 6: .* too large or too long"):
        read_lp(LP.replace("x <= 3", f"x <= {number}"))
    with pytest.raises(ParseError, match=r"MPS line 5: .* too large or too long"):
        read_mps(f"NAME a\nROWS\n N obj\nCOLUMNS\n x obj {number}\nENDATA\n")
    assert read_lp(LP.replace("3 x", "1e300 x")).n_vars == 2


# ---- the service


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with Judge(2, timeout=20, budget=1.0) as judge:
        running = Running(judge)
        yield running
        running.stop()


def test_the_service_takes_the_same_and_answers_every_one(service: Running) -> None:
    for name, columns, expected in HOSTILE:
        try:
            body = json.dumps({"text": PROGRAM, **columns})
        except (TypeError, ValueError):
            continue  # cannot be sent
        began = time.monotonic()
        status, found, _ = service.ask("POST", "/reward", body.encode())
        assert status == 200 and found["reward"] == expected, (name, found)
        assert time.monotonic() - began < 15, name


@pytest.mark.parametrize("body", [
    b'{"text": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    b'{"answers": [{"text": "x", "reference": {"a": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}}]}",
    b'{"text": "x", "truth": ' + b"9" * 5000 + b"}",
    b'{"text": 1e400, "sample": 1e400, "index": NaN}',
])
def test_bodies_at_the_edge_of_json_are_answered(service: Running, body: bytes) -> None:
    began = time.monotonic()
    status, found, _ = service.ask("POST", "/judge", body)
    assert status in (200, 400) and (status == 200 or found["error"]) and time.monotonic() - began < 15
    assert service.ask("GET", "/health")[1]["status"] == "ok"


def test_a_service_that_is_stopped_in_the_midst_of_a_comparison_answers_and_ends() -> None:
    bounds = replace(Bounds(), grace=1.0)
    with Judge(1, timeout=20, budget=60.0) as judge:
        judge.warm("pulp")
        running = Running(judge, bounds=bounds)
        with ThreadPoolExecutor(1) as threads:
            held = threads.submit(running.ask, "POST", "/judge", {"text": PROGRAM, "truth": 11, "reference": HUGE})
            until(lambda: running.service.held == 1)
            time.sleep(0.5)
            assert running.stop() < 10
            status, found, _ = held.result(20)
        assert status == 503 and "stopped before all was judged" in found["error"]
        began = time.monotonic()
    assert time.monotonic() - began < 10  # closing the judge ends the comparison
