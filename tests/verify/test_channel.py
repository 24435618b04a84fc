"""What a program may write to its result pipe: whatever it is, the reader neither fails nor waits nor swells."""

from __future__ import annotations

import json
import random
import struct
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from orpipe.errors import ParseError
from orpipe.verify import frames
from orpipe.verify.captured import Captured
from orpipe.verify.frames import RECORD, Channel, record
from orpipe.verify.outcome import Ended, Limits, Run, read_run

LIMITS = Limits()


def model(n: int = 3, m: int = 2, **change: Any) -> Captured:
    nnz = n * m
    arrays: dict[str, Any] = {
        "cost": np.arange(n) / 7, "lower": np.zeros(n), "upper": np.full(n, np.inf), "integer": np.arange(n) % 2 == 0,
        "row_lower": np.full(m, -np.inf), "row_upper": np.ones(m), "indptr": np.arange(m + 1) * n,
        "indices": np.tile(np.arange(n), m), "data": np.linspace(-1, 1, nnz),
    }
    return Captured.of("pulp", "pulp", maximize=True, offset=0.25, columns=[f"x{k}" for k in range(n)],
                       rows=[f"r{k}" for k in range(m)], **arrays | change)


def read(data: bytes, killed: str = "", chunk: int = 1 << 18) -> Run:
    channel = Channel()
    for at in range(0, len(data), chunk):
        channel.feed(data[at:at + chunk])
    if channel.broken:
        killed = killed or "channel"
    return read_run(channel, b"", b"", Ended(killed, 0, 0.1), LIMITS, ())


START, END = record(b"S", b""), record(b"D", b"")


def told(**change: Any) -> bytes:
    return json.dumps({"type": "ValueError", "message": "m", "traceback": "t", "memory": False, "path": "", "own": False} | change).encode()


def test_a_model_comes_back_as_it_was() -> None:
    for sent in (model(), model(0, 0), model(1, 0), model(0, 3), model(200, 30)):
        run = read(START + record(b"C", sent.encode()) + END, chunk=7)
        assert run.outcome == "ok" and run.n_solves == 1 and run.captured is not None
        assert run.captured.columns == sent.columns and run.captured.rows == sent.rows
        for name in ("cost", "lower", "upper", "integer", "row_lower", "row_upper", "indptr", "indices", "data"):
            found = getattr(run.captured, name)
            assert np.array_equal(found, getattr(sent, name)) and found.flags.aligned and found.flags.owndata


def test_what_comes_last_counts_and_what_comes_before_the_start_does_not() -> None:
    one, two = model(1, 1).encode(), model(2, 1).encode()
    run = read(START + record(b"C", one) + record(b"U", b"not linear") + record(b"C", two) + END)
    assert run.outcome == "ok" and run.captured is not None and len(run.captured.columns) == 2 and run.n_solves == 3
    run = read(START + record(b"C", one) + record(b"U", b"not linear") + END)
    assert (run.outcome, run.message, run.captured) == ("unsupported", "not linear", None)
    for before in (record(b"C", one), record(b"E", told()), END, record(b"U", b"")):
        assert (found := read(before + START + END)).outcome == "no model" and found.captured is None and found.exception == ""
    assert read(END).outcome == "sandbox"
    assert read(record(b"X", b"no landlock") + START + END).message == "no landlock"
    assert read(START + record(b"X", b"our fault") + END).outcome == "no model"


def test_a_run_that_never_started_is_our_fault_and_none_after_that() -> None:
    assert read(b"", killed="timeout").outcome == "sandbox"
    assert read(START, killed="timeout").outcome == "timeout"
    assert read(START).outcome == "crash" and read(START, killed="closed").outcome == "sandbox"


@pytest.mark.parametrize("kind", [b"S", b"D", b"X", b"U", b"E", b"C", b"Z", b"\0"])
def test_announcing_too_much_breaks_the_channel_at_once(kind: bytes) -> None:
    channel = Channel()
    channel.feed(START + RECORD.pack(kind, frames.LIMITS.get(kind, 0) + 1))
    channel.feed(b"x" * 1000)
    assert channel.broken and len(channel._buffer) == 0


def test_floods_end() -> None:
    channel, start = Channel(), time.perf_counter()
    for _ in range(200):
        channel.feed(record(b"U", b"") * 1000)
    assert channel.broken and channel._records == frames._MOST_RECORDS and time.perf_counter() - start < 5
    channel = Channel()
    channel._bytes = frames._MOST_BYTES
    channel.feed(START + END)
    assert channel.broken


def test_what_the_child_sends_fits() -> None:
    assert record(b"X", b"x" * 9999) == RECORD.pack(b"X", 4096) + b"x" * 4096
    kind, length = RECORD.unpack_from(record(b"C", bytes((1 << 26) + 1)))
    assert kind == b"U" and length < 100


@pytest.mark.parametrize(("change", "words"), [
    ({"indptr": [0, 2**63 - 1, -(2**63), -1, 6]}, "row starts"), ({"indptr": [0, 7, 6]}, "row starts"),
    ({"indptr": [1, 3, 6]}, "row starts"), ({"indptr": [0, 6, 5]}, "row starts"),
    ({"indices": [0, 1, 2, 0, 1, 3]}, "column numbers"), ({"indices": [0, 1, 2, 0, 1, -1]}, "column numbers"),
    ({"cost": [0, np.nan, 0]}, "not finite"), ({"data": [0, 0, np.inf, 0, 0, 0]}, "not finite"),
    ({"lower": [np.nan] * 3}, "not numbers"), ({"row_upper": [np.nan] * 2}, "not numbers"),
])
def test_a_model_that_contradicts_itself_is_refused(change: dict[str, Any], words: str) -> None:
    rows = len(change.get("indptr", [0, 3, 6])) - 1
    sides = {"row_lower": np.zeros(rows), "row_upper": np.ones(rows)}
    arrays: dict[str, Any] = {"cost": [1, 2, 3], "lower": [0] * 3, "upper": [1] * 3, "integer": [0] * 3, **sides,
                              "indptr": [0, 3, 6], "indices": [0, 1, 2] * 2, "data": np.ones(6)}
    sent = Captured.of("pulp", "pulp", maximize=True, offset=0, columns=list("abc"),
                       rows=[f"r{k}" for k in range(rows)], **arrays | change)
    with pytest.raises(ParseError, match=words):
        Captured.decode(sent.encode())
    assert read(START + record(b"C", sent.encode()) + END).outcome == "crash"


@pytest.mark.parametrize("head", [
    b"[]", b"{}", b"null", b"[" * 4000, b'{"sizes": [1, 1]}', b'{"sizes": [-1, 1, 1, 1]}',
    b'{"sizes": [true, 1, 1, 3]}', b'{"sizes": [1.0, 1, 1, 3]}',
    b'{"sizes": [4611686018427387904, 1, 1, 1]}', b'{"sizes": [' + b"9" * 4000 + b', 1, 1, 1]}', b'{"sizes": "abcd"}', b"\xff\xfe", b"x" * 5000,
    b'{"library": "pulp", "interface": "p", "maximize": 1, "offset": 1e999, "sizes": [0, 0, 0, 0]}',
    b'{"library": "a b", "interface": "p", "maximize": true, "offset": 0, "sizes": [0, 0, 0, 0]}',
    b'{"library": "\\u001b[2J", "interface": "p", "maximize": true, "offset": 0, "sizes": [0, 0, 0, 0]}',
    b'{"library": "pulp", "interface": "p", "maximize": true, "offset": {}, "sizes": [0, 0, 0, 0]}',
])
def test_a_head_that_is_none_is_refused(head: bytes) -> None:
    with pytest.raises(ParseError, match="wrote to its channel"):
        Captured.decode(struct.pack("<I", len(head)) + head + bytes(8))


def test_names_are_text_and_distinct_whatever_was_sent() -> None:
    sent = model(6, 3)
    object.__setattr__(sent, "columns", ("x", "x", "", "x#1", "a\0b", "\ud800"))
    object.__setattr__(sent, "rows", ("r" * 5000, "r" * 4000, "\x1b[2J"))
    found = Captured.decode(sent.encode())
    assert len(set(found.columns)) == 6 and len(set(found.rows)) == 3 and "" not in found.columns
    assert all(name.encode() and len(name) < 1010 for name in (*found.columns, *found.rows))
    told_apart = Captured.of(
        "pulp", "pulp", maximize=True, offset=0, columns=["x", "x", "x#1", "x#1#2"], rows=[], cost=[0] * 4, lower=[0] * 4,
        upper=[1] * 4, integer=[0] * 4, row_lower=[], row_upper=[], indptr=[0], indices=[], data=[])
    assert told_apart.columns == ("x#0", "x#1#", "x#1", "x#1#2")


def test_reading_takes_memory_in_proportion() -> None:
    many = b"\0" * (4 << 20)  # names of nothing
    head = json.dumps({"library": "pulp", "interface": "p", "maximize": True, "offset": 0,
                       "sizes": [0, 0, 0, len(many)]}).encode()
    bombs = [struct.pack("<I", len(head)) + head + bytes(8) + many,
             struct.pack("<I", 4 << 20) + b"[]," * (1 << 20) + b"x" * (1 << 20)]
    tracemalloc.start()
    try:
        for bomb in bombs:
            with pytest.raises(ParseError):
                Captured.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("payload", [
    b"{}", b"[]", b"7", b"[" * 100000, told(type=7), told(message=None), told(traceback=[]), told(path={}), b"\xff", told() + b"x",
    b'{"type": ' + b"9" * 5000 + b"}",
])
def test_an_exception_that_is_none_is_a_crash(payload: bytes) -> None:
    run = read(START + record(b"E", payload) + END)
    assert run.outcome == "crash" and run.exception == "" and "channel" in run.message
    assert read(START + record(b"E", b"") + END).outcome == "no model"


def test_an_exception_is_told_without_what_a_terminal_obeys() -> None:
    run = read(START + record(b"E", told(type="a\n| b |", message="\x1b[2J\ttab\r\n\x9b\ud800", traceback="\x07x")) + END)
    assert (run.outcome, run.exception, run.traceback) == ("exception", "Exception", "\ufffdx")
    assert run.message == "\ufffd[2J\ttab\ufffd\n\ufffd?"
    assert read(START + record(b"E", told(memory="yes")) + END).outcome == "exception"
    assert read(START + record(b"E", told(memory=True)) + END).outcome == "memory"


def test_a_file_that_is_there_and_was_not_seen_is_told_as_forbidden() -> None:
    there = read(START + record(b"E", told(type="FileNotFoundError", path=__file__)) + END)
    absent = read(START + record(b"E", told(type="FileNotFoundError", path="/no/such/file")) + END)
    near = read(START + record(b"E", told(type="FileNotFoundError", path="data.json")) + END)
    assert [run.exception for run in (there, absent, near)] == ["PermissionError", "FileNotFoundError", "FileNotFoundError"]


def test_ten_thousand_mutated_and_random_streams() -> None:
    chance = random.Random(20261130)
    seeds = [START + record(b"C", model().encode()) + END,
             START + record(b"C", model(9, 4).encode()) + record(b"U", b"u" * 50) + END,
             START + record(b"E", told()) + record(b"C", model(1, 1).encode()) + END, START * 3 + END * 3]
    kinds = [bytes([k]) for k in range(256)]
    outcomes: dict[str, int] = {}
    slowest = 0.0
    for k in range(10_000):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            at, way = chance.randrange(len(data)), chance.randrange(8)
            if way == 0:
                data[at] ^= 1 << chance.randrange(8)
            elif way == 1:
                data[at:at + chance.randrange(9)] = chance.randbytes(chance.randrange(9))
            elif way == 2:
                del data[at:at + chance.randrange(40)]
            elif way == 3:
                data[at:at] = data[at:at + chance.randrange(60)]
            elif way == 4:
                data[at:at + 8] = struct.pack("<q", chance.choice((2**63 - 1, -(2**63), -1, 2**32, 0, 1)))
            elif way == 5:
                odd = (float("nan"), float("inf"), -float("inf"), 5e-324, 1.6e308, -0.0)
                data[at:at + 8] = struct.pack("<d", chance.choice(odd))
            elif way == 6:
                length = chance.choice((0, 1, 8, 4096, 1 << 26, 2**32 - 1))
                data[at:at] = RECORD.pack(chance.choice(kinds), length)
            else:
                data[at:at] = record(b"C", model(chance.randrange(4), chance.randrange(4)).encode())
            data = data or bytearray(b"S")
        if k % 10 == 0:
            data = bytearray(START) * (k % 20 == 0) + bytearray(chance.randbytes(chance.randrange(2000)))
        start = time.perf_counter()
        run = read(bytes(data), chance.choice(("", "", "timeout", "output", "closed")), chance.choice((1, 13, 4096)))
        slowest = max(slowest, time.perf_counter() - start)
        outcomes[run.outcome] = outcomes.get(run.outcome, 0) + 1
        assert run.outcome != "sandbox" or not data.startswith(START) or run.message.startswith("the pool was closed")
        if run.captured is not None:
            run.captured._check()
            assert len(set(run.captured.columns)) == len(run.captured.columns)
            if k % 5 == 0:
                with np.errstate(over="ignore"):
                    run.captured.problem()
    assert slowest < 2 and {"ok", "crash", "exception", "sandbox"} <= set(outcomes), outcomes
