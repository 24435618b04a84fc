"""The service over loopback: what it answers, what it refuses, and how it bears full queues, bad clients and its own end."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orpipe import rewards
from orpipe.commands.serve import serve
from orpipe.errors import EnvironmentError_, NotFound, UsageError
from orpipe.serve import Bounds, Client, Service, _read, is_loopback, read_token
from orpipe.verify.answers import Answer
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.own import Instances
from orpipe.verify.verdict import Verdict
from tests.built import environment
from tests.verify.test_rewards import BREAD, DATA, FROM_DATA, fenced

TOKEN = "a-token-of-enough-letters"
QUICK = Bounds(idle=2.0, head=0.4, read=0.6, write=0.6, grace=3.0)


class Timer(Judge):
    """Sleeps for as many seconds as the answer says; right if it says at most the label."""

    def __init__(self, workers: int = 2) -> None:
        super().__init__(workers)
        self.begun: list[str | None] = []

    def warm(self, *libraries: str) -> None:
        pass

    def judge_answer(self, answer: Answer) -> VerdictRow:
        self.begun.append(answer.text)
        if answer.text == "broken":
            raise KeyError("a secret of the house")
        seconds = float(answer.text or 0)
        time.sleep(seconds)
        verdict = Verdict.SAME_OPTIMUM if seconds <= (answer.label or 0) else Verdict.WRONG_OPTIMUM
        return VerdictRow(answer.index, answer.sample, verdict, "x" * (1 << 20 if answer.text == "0.0" else 1), seconds=seconds)


class Running:
    """A service in a thread of its own."""

    def __init__(self, judge: Judge, **settings: Any) -> None:
        self.service, self.url, self.failed = Service(judge, **settings), "", None
        ready = threading.Event()

        def told(url: str) -> None:
            self.url = url
            ready.set()

        self.thread = threading.Thread(target=lambda: asyncio.run(self.service.run("127.0.0.1", 0, told)))
        self.thread.start()
        assert ready.wait(60)
        self.port = int(self.url.rpartition(":")[2])

    def stop(self) -> float:
        """Seconds it took."""
        began = time.monotonic()
        with contextlib.suppress(RuntimeError):
            self.service._loop.call_soon_threadsafe(self.service.stop)
        self.thread.join(30)
        assert not self.thread.is_alive()
        return time.monotonic() - began

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, Any], dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        found = json.loads(answer.read())
        connection.close()
        return answer.status, found, dict(answer.headers)

    def raw(self, data: bytes) -> bytes:
        """What comes back until the service closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as sock:
            sock.sendall(data)
            return read_all(sock)


def read_all(sock: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while data := sock.recv(1 << 16):
            found += data
    return found


@pytest.fixture(scope="module")
def real() -> Iterator[Running]:
    with Judge(2, timeout=60) as judge:
        running = Running(judge)
        yield running
        running.stop()


@pytest.fixture(scope="module")
def quick() -> Iterator[Running]:
    running = Running(Timer(), bounds=QUICK)
    yield running
    running.stop()


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    made: list[Running] = []

    def go(workers: int = 2, **settings: Any) -> Running:
        made.append(Running(Timer(workers), **({"bounds": QUICK} | settings)))
        return made[-1]

    yield go
    for running in made:
        running.stop()


def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


# ---- the real judge behind it


def test_judge_and_reward_of_one_and_of_many(real: Running) -> None:
    status, row, headers = real.ask("POST", "/judge", {"text": fenced(BREAD), "truth": 30, "index": "b", "sample": 2, "family": "diet"})
    assert status == 200 and headers["Content-Type"] == "application/json"
    assert list(row) == list(VerdictRow("", 0, Verdict.ERROR, "").record())
    assert (row["verdict"], row["objective"], row["index"], row["sample"], row["family"], row["n_vars"]) == ("SAME_OPTIMUM", 30, "b", 2, "diet", 2)
    answers = [{"text": fenced(BREAD), "answer": "31 EUR"},
               {"text": [{"role": "assistant", "content": fenced(FROM_DATA)}], "data": DATA, "truth": 30},
               {"text": "no code", "truth": 30}, {"text": fenced(BREAD)}, {"text": None, "status": "infeasible"}]
    status, found, _ = real.ask("POST", "/judge", {"answers": answers})
    verdicts = ["WRONG_OPTIMUM", "SAME_OPTIMUM", "ERROR", "UNDECIDED", "ERROR"]
    assert status == 200 and [r["verdict"] for r in found["rows"]] == verdicts and [r["index"] for r in found["rows"]] == [0, 1, 2, 3, 4]
    status, found, _ = real.ask("POST", "/reward", {"answers": answers})
    assert (status, found["rewards"], found["verdicts"]) == (200, [0.0, 1.0, 0.0, None, 0.0], verdicts)
    status, found, _ = real.ask("POST", "/reward", {"answers": answers, "options": {"undecided": -1, "shaping": 0.5, "judge": "optimum"}})
    assert (status, found["rewards"]) == (200, [0.5, 1.0, 0.0, -1, 0.0])
    status, found, _ = real.ask("POST", "/reward", answers[0])
    assert (status, found["reward"], found["verdict"], found["failure"]) == (200, 0.0, "WRONG_OPTIMUM", "other optimum")
    assert real.ask("POST", "/judge", {"answers": []})[1] == {"rows": []}


def test_the_client_is_the_same_reward_function_as_the_local_one(real: Running) -> None:
    local = rewards.optimum_reward(workers=2, timeout=60)
    client = pickle.loads(pickle.dumps(Client(real.url, batch=2, shaping=0.1)))
    shown = "**data.json**\n```json\n" + json.dumps(DATA) + "\n```\n"
    completions = [fenced(BREAD), [{"role": "assistant", "content": fenced(BREAD)}], fenced(FROM_DATA), "none", fenced(BREAD), fenced(BREAD)]
    columns = {"status": ["optimal"] * 4 + ["infeasible", "optimal"], "objective_exact": ["30", "31", "30", "30", None, None],
               "dialect": ["pulp"] * 6, "trainer_state": object()}
    extra: dict[str, list[Any]] = {}
    found = client(["p", "p", shown, "p", "p", "p"], completions, log_extra=lambda k, v: extra.update({k: v}), **columns)
    assert found == [1.0, 0.1, 1.0, 0.0, 0.1, None]
    assert replace(local, shaping=0.1)(["p", "p", shown, "p", "p", "p"], completions, **columns) == found
    assert extra["optimum_verdict"][:2] == ["SAME_OPTIMUM", "WRONG_OPTIMUM"] and client.__name__ == "optimum"
    assert rewards.compute_scores(["x"] * 2, [fenced(BREAD)] * 2, ["30", "31"], url=real.url) == [1.0, 0.0]
    assert rewards.compute_score_dict("x", fenced(BREAD), "31", url=real.url, shaping=0.2)["score"] == 0.2
    assert client.rewards([{"text": fenced(BREAD), "truth": 30}]) == [1.0] and client.judge([{"text": "none"}])[0]["failure"] == "no code"
    rewards.close()


def test_health(real: Running) -> None:
    found = Client(real.url).health()
    assert found["status"] == "ok" and found["workers"] == 2 and found["queue"] == {"held": 0, "most": 256}
    assert {"orpipe", "python", "highspy"} <= found["versions"].keys()
    assert found["isolation"] == "full" or found["isolation"].startswith("without ")
    assert found["limits"] == {"answers": 256, "body": 16 << 20, "timeout": 60, "solve_timeout": 60}


def test_p2_threads_are_judged_side_by_side_and_alike(real: Running) -> None:
    client = Client(real.url)
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda label: client(["p"], [fenced(BREAD)], answer=[label]), [30, 31, "infeasible", None] * 6))
    assert found == [[1.0], [0.0], [0.0], [None]] * 6


# ---- what it refuses


@pytest.mark.parametrize(("body", "words"), [
    (b"", "not JSON"), (b"{", "not JSON"), (b"\xff\xfe", "not JSON"), (b"[" * 100_000, "not JSON"), (b"9" * 5000, "not JSON"), (b"[]", "neither"),
    (b"3", "neither"), (b"{}", "no 'text'"), (b'{"answers": 3}', "a list"), (b'{"answers": [{"text": "x"}, 3]}', "answer 1: not an object"),
    (b'{"answers": [{"truth": 3}]}', "answer 0: no 'text'"), (b'{"text": "0", "options": []}', None), (b'{"text": "0", "options": [1]}', "an object"),
    (b'{"text": "0", "options": {"tolerance": 1}}', "no option 'tolerance'"), (b'{"text": "0", "options": {"shaping": 2}}', "less than 1"),
    (b'{"text": "0", "options": {"shaping": "a"}}', "numbers"), (b'{"text": "0", "options": {"undecided": true}}', "numbers"),
    (b'{"text": "0", "options": {"undecided": NaN}}', "a number or None"),
    (b'{"text": "0", "options": {"judge": "equivalent"}}', "no judge 'equivalent'; did you mean 'equivalence'?"),
    (b'{"text": ' + b"[" * 900 + b"]" * 900 + b"}", "cannot be read (RecursionError)"),
])
def test_bad_bodies(quick: Running, body: bytes, words: str | None) -> None:
    status, found, _ = quick.ask("POST", "/judge", body)
    if words is None:
        assert status == 200
        return
    assert status == 400 and list(found) == ["error"] and words in found["error"]
    assert "\n" not in found["error"] and "Traceback" not in found["error"] and len(found["error"]) <= 500


def test_wrong_paths_methods_and_types(quick: Running) -> None:
    status, found, _ = quick.ask("GET", "/")
    assert status == 404 and "/judge, /reward, /health" in found["error"]
    assert quick.ask("GET", "/judge")[0] == 405 and quick.ask("POST", "/health", {})[2]["Allow"] == "GET"
    assert quick.raw(b"HEAD /nothing?x=/judge HTTP/1.1\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 404 ")
    assert quick.ask("POST", "/judge", {"text": "0"}, Content_Type="text/plain")[0] == 415
    assert quick.ask("POST", "/judge?x=1", {"text": "0", "truth": 1}, Content_Type="Application/JSON; charset=utf-8")[0] == 200


@pytest.mark.parametrize(("sent", "status"), [
    (b"hello\r\n\r\n", 400), (b"GET /health\r\n\r\n", 400), (b"GET /health HTTP/2.0\r\n\r\n", 400), (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
    (b"GET /health HTTP/1.1\r\nno colon\r\n\r\n", 400), (b"GET /health HTTP/1.1\r\n folded: x\r\n\r\n", 400),
    (b"POST /judge HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400), (b"POST /judge HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
    (b"POST /judge HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411), (b"GET /health HTTP/1.1\r\nX: " + b"x" * 40_000, 431),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400), (b"GET /health HTTP/1.0\r\n\r\n", 200),
    (b"POST /judge HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{}", 408), (b"GET /health HTTP/1.1\r\n", 408),
])
def test_what_is_no_request(quick: Running, sent: bytes, status: int) -> None:
    found = quick.raw(sent)
    assert found.startswith(b"HTTP/1.1 %d " % status) and found.count(b"HTTP/1.1 ") == 1 and b"Connection: close" in found
    assert json.loads(found.partition(b"\r\n\r\n")[2])


def test_connections_are_kept_and_requests_may_be_sent_ahead(quick: Running) -> None:
    body = b'{"text": "0", "truth": 1}'
    one = b"POST /reward HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    found = quick.raw(one + b"\r\n" + one + one.replace(b"Content-Type", b"Connection: close\r\nContent-Type"))
    assert found.count(b"HTTP/1.1 200 OK") == 3 and found.count(b'"reward": 1.0') == 3 and found.count(b"Connection: close") == 1


def test_bodies_and_batches_that_are_too_large(start: Callable[..., Running]) -> None:
    running = start(bounds=replace(QUICK, body=4000, batch=8, queue=4))
    status, found, _ = running.ask("POST", "/judge", {"text": "x" * 5000})
    assert status == 413 and "at most 4000" in found["error"]
    status, found, _ = running.ask("POST", "/judge", {"answers": [{"text": "0"}] * 5})
    assert status == 413 and "at most 4" in found["error"]  # more than the queue can ever hold
    client = Client(running.url, batch=32)
    assert [row["index"] for row in client.judge([{"text": "0", "index": k} for k in range(11)])] == list(range(11))
    assert client.rewards([{"text": "0" * 900, "truth": 1}] * 6) == [1.0] * 6
    with pytest.raises(UsageError, match="413"):
        client.judge([{"text": "0" * 5000}])
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as sock:  # told before it sends
        sock.sendall(b"POST /judge HTTP/1.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 9999\r\n\r\n")
        assert read_all(sock).startswith(b"HTTP/1.1 413 ")
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as sock:
        sock.sendall(b"POST /judge HTTP/1.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n")
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b'{"text": "0"}')
        assert sock.recv(4000).startswith(b"HTTP/1.1 200 ")


def test_a_large_refused_body_sees_the_refusal(quick: Running) -> None:
    with pytest.raises(UsageError, match="413"):
        Client(quick.url, patience=1).judge([{"text": "x" * (20 << 20)}])


def test_tokens(start: Callable[..., Running], tmp_path: Path) -> None:
    running = start(token=TOKEN)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"},
                    {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": "Bearer \xe4"}):
        for method, path, body in (("GET", "/health", None), ("POST", "/judge", {"text": "0"}), ("GET", "/nothing", None)):
            status, found, answered = running.ask(method, path, body, **headers)
            assert status == 401 and answered["WWW-Authenticate"] == "Bearer" and TOKEN not in str(found)
    assert running.ask("POST", "/judge", {"text": "0"}, Authorization=f"Bearer {TOKEN}")[0] == 200
    assert running.ask("GET", "/health", Authorization=f"bearer {TOKEN}", Host="judge.example")[0] == 200
    with pytest.raises(UsageError, match="token"):
        Client(running.url, "wrong").health()
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    client = Client(running.url, read_token(path))
    assert client(["p"], ["0"], answer=[1]) == [1.0] and TOKEN not in repr(client)
    assert rewards.compute_score("x", "0", 1, url=running.url, token_file=str(path)) == 1.0
    for bad in ("", "short", "two words of a long token", "ä" * 20):
        path.write_text(bad)
        with pytest.raises(UsageError, match="at least 16"):
            read_token(path)


def test_without_a_token_only_loopback_is_served(quick: Running) -> None:
    assert [is_loopback(h) for h in ("127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]")] == [True] * 5
    assert [is_loopback(h) for h in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")] == [False] * 5
    with pytest.raises(UsageError, match="give --token-file"):
        asyncio.run(Service(Timer()).run("0.0.0.0", 0))
    assert quick.ask("GET", "/health", Host="rebound.example:80")[0] == 403  # a page in a browser here, under another name
    assert quick.ask("GET", "/health", Host="localhost:9")[0] == 200


def test_our_own_faults_are_told_without_their_insides(quick: Running, caplog: pytest.LogCaptureFixture) -> None:
    status, found, _ = quick.ask("POST", "/judge", {"answers": [{"text": "0"}, {"text": "broken"}]})
    assert status == 500 and found == {"error": "internal error; the service's log says more"}
    assert "a secret of the house" in caplog.text
    assert quick.ask("GET", "/health")[1]["queue"]["held"] == 0


# ---- many, slow and vanishing clients


def test_requests_run_side_by_side(start: Callable[..., Running]) -> None:
    running = start(workers=4)
    began = time.monotonic()
    with ThreadPoolExecutor(4) as threads:
        assert [s for s, _, _ in threads.map(lambda k: running.ask("POST", "/judge", {"text": "0.8"}), range(4))] == [200] * 4
        assert time.monotonic() - began < 2.4
    began = time.monotonic()
    assert len(Client(running.url).judge([{"text": "0.5"}] * 4)) == 4 and time.monotonic() - began < 1.9


def test_a_full_queue_refuses_and_clients_come_back(start: Callable[..., Running]) -> None:
    running = start(workers=1, bounds=replace(QUICK, queue=3))
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(running.ask, "POST", "/judge", {"answers": [{"text": "0.6"}] * 3})
        until(lambda: running.service.held == 3)
        status, found, headers = running.ask("POST", "/judge", {"text": "0"})
        assert status == 429 and "holds 3 of 3" in found["error"] and 1 <= int(headers["Retry-After"]) <= 60
        assert running.ask("GET", "/health")[1]["queue"] == {"held": 3, "most": 3}
        clients = [threads.submit(Client(running.url), ["p"], ["0.1"], answer=[1]) for _ in range(5)]
        assert first.result()[0] == 200 and [c.result() for c in clients] == [[1.0]] * 5
    assert running.service.held == 0


def test_slow_and_silent_clients_are_ended_and_hold_nobody_up(start: Callable[..., Running]) -> None:
    running = start()
    parts = [b"", b"G", b"GET /health HTTP/1.1\r\nA: b\r\n", b"POST /judge HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"]
    socks = [socket.create_connection(("127.0.0.1", running.port), timeout=10) for _ in parts]
    for sock, part in zip(socks, parts, strict=True):
        sock.sendall(part)
    began = time.monotonic()
    assert running.ask("GET", "/health")[0] == 200
    assert all(read_all(sock).startswith(b"HTTP/1.1 408 ") for sock in socks[1:])
    assert read_all(socks[0]) == b"" and time.monotonic() - began >= QUICK.idle  # silent: closed without a word
    for sock in socks:
        sock.close()
    until(lambda: not running.service._tasks)


def test_connections_are_bounded(start: Callable[..., Running]) -> None:
    running = start(bounds=replace(QUICK, connections=2))
    held = [socket.create_connection(("127.0.0.1", running.port), timeout=10) for _ in range(2)]
    until(lambda: len(running.service._tasks) == 2)
    status, found, headers = running.ask("GET", "/health")
    assert (status, headers["Retry-After"]) == (503, "1") and found == {"error": "too many connections"}
    for sock in held:
        sock.close()
    until(lambda: not running.service._tasks)
    assert running.ask("GET", "/health")[0] == 200


def test_a_client_that_does_not_read_is_dropped(start: Callable[..., Running]) -> None:
    running = start()
    body = json.dumps({"answers": [{"text": "0.0"}] * 24}).encode()  # 24 MiB of reasons
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", running.port))
        sock.sendall(b"POST /judge HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: len(running.service.judge.begun) == 24)  # type: ignore[attr-defined]
        until(lambda: not running.service._tasks)
    assert running.ask("GET", "/health")[0] == 200


def test_what_a_vanished_client_wanted_is_not_begun(start: Callable[..., Running]) -> None:
    running = start(workers=1)
    body = json.dumps({"answers": [{"text": "0.5"}] * 40}).encode()
    with socket.create_connection(("127.0.0.1", running.port)) as sock:
        sock.sendall(b"POST /judge HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: running.service.held == 40)
    until(lambda: running.service.held == 0, 3.0)
    assert len(running.service.judge.begun) < 10  # type: ignore[attr-defined]


# ---- its end


def test_a_stop_finishes_what_is_held_and_takes_nothing_new(start: Callable[..., Running]) -> None:
    running = start(workers=1)
    idle = socket.create_connection(("127.0.0.1", running.port), timeout=10)
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(running.ask, "POST", "/judge", {"answers": [{"text": "0.5", "truth": 1}] * 2})
        until(lambda: running.service.held == 2)
        assert running.stop() < 2.5
        status, found, headers = held.result()
    assert status == 200 and len(found["rows"]) == 2 and headers["Connection"] == "close"
    assert read_all(idle) == b""
    idle.close()
    with pytest.raises(ConnectionRefusedError):
        running.ask("GET", "/health")


def test_a_stop_is_bounded(start: Callable[..., Running]) -> None:
    running = start(workers=1, bounds=replace(QUICK, grace=0.5))
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(running.ask, "POST", "/judge", {"answers": [{"text": "1.5"}] * 9})
        until(lambda: running.service.held == 9)
        assert running.stop() < 3.0
        status, found, headers = held.result()
    assert status == 503 and "stopped before all was judged" in found["error"] and headers["Retry-After"] == "10"


def test_a_second_stop_ends_at_once(start: Callable[..., Running]) -> None:
    running = start(workers=1, bounds=replace(QUICK, grace=60.0))
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(running.ask, "POST", "/judge", {"answers": [{"text": "1.5"}] * 9})
        until(lambda: running.service.held == 9)
        running.service._loop.call_soon_threadsafe(running.service.stop)
        assert running.stop() < 3.0
        assert held.result()[0] == 503


COMMAND = [sys.executable, "-m", "orpipe.cli", "serve", "--port", "0", "--workers", "1"]


def test_the_command_stops_on_a_signal_and_at_once_on_a_second() -> None:
    """The first process may finish what it runs, the second is pressed."""
    flags = {signal.SIGTERM: "2", signal.SIGINT: "90"}
    started = {number: subprocess.Popen([*COMMAND, "--timeout", seconds], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True) for number, seconds in flags.items()}
    for number, process in started.items():
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"orpipe: serving on (http://127\.0\.0\.1:\d+) with 1 worker, isolation .+; Ctrl-C stops\n", line)
        assert found, line
        client = Client(found[1], patience=1)
        assert client.health()["limits"]["timeout"] == float(flags[number])
        with ThreadPoolExecutor(1) as threads:
            held = threads.submit(client.judge, [{"text": "import pulp\nwhile True: pass", "truth": 1}])
            until(lambda client=client: client.health()["queue"]["held"] == 1)
            process.send_signal(number)
            if number == signal.SIGTERM:
                assert held.result()[0]["failure"] == "timeout"
            else:
                time.sleep(0.2)
                process.send_signal(number)
                assert isinstance(held.exception(), EnvironmentError_)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, "", "orpipe: stopped\n")


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "--host", "0.0.0.0"], env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and "give --token-file" in done.stderr
    words = r"cannot listen on 127\.0\.0\.1, port \d+ \(Address already in use\);"
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match=words):
        serve(port=taken.getsockname()[1])
    with pytest.raises(UsageError, match="cannot be read"):
        serve(token_file=tmp_path / "none")


# ---- the client alone


def test_health_does_not_wait_out_a_clients_patience() -> None:
    began = time.monotonic()
    with pytest.raises(EnvironmentError_, match="is 'orpipe serve' running there"):
        Client("http://127.0.0.1:9").health(0.5)
    assert time.monotonic() - began < 5


def test_a_client_without_a_service(caplog: pytest.LogCaptureFixture) -> None:
    rewards._said.clear()
    client = Client("http://127.0.0.1:9", patience=0.3)
    with pytest.raises(EnvironmentError_, match="is 'orpipe serve' running there"):
        client.health()
    assert client(["p"] * 3, ["x"] * 3, answer=[1, 1, 1]) == [None] * 3 and "could not judge a batch" in caplog.text
    assert rewards.compute_score("x", "x", 1, url="http://127.0.0.1:9", patience=0.3) == 0.0
    for url in ("", "127.0.0.1:8000", "ftp://x", "http://", "http://x:abc"):
        with pytest.raises(UsageError, match="no address of a service"):
            Client(url)
    with pytest.raises(UsageError, match="at least 1"):
        Client("http://127.0.0.1:9", batch=0)
    with pytest.raises(NotFound, match="no judge"):
        rewards.compute_score("x", "x", 1, url="http://127.0.0.1:9", judge="equivalent")


def test_a_request_chooses_its_judge_and_names_an_instance() -> None:
    instance = {"id": "k-1", "family": "knapsack", "status": "optimal", "objective_exact": "7", "data": "{}", "mps": "ROWS", "structure_hash": "h"}

    class Known(Instances):
        def find(self, identity: str) -> Mapping[str, Any]:
            return instance if identity == "k-1" else {}

    known = Known(Path("."), {})
    own = {"text": "x", "instance_id": "k-1", "status": "optimal", "objective_exact": "7", "metadata": '{"scenario": "cargo"}'}
    body = {"answers": [own, {**own, "objective_exact": "8"}, {"text": "x", "truth": 7, "reference": "LP"}], "options": {"judge": "optimum"}}
    first, changed, foreign = _read(json.dumps(body).encode(), 8, known).answers
    assert (first.rule, first.reference, first.instance["scenario"]) == ("optimum", "ROWS", "cargo")
    assert (changed.reference, changed.instance, foreign.reference, foreign.instance) == ("", {}, "LP", {})
    assert _read(json.dumps({"answers": [own]}).encode(), 8).answers[0].rule == ""
    assert _read(json.dumps({"answers": [own]}).encode(), 8).answers[0].reference == ""
