"""The two kinds of frames between the judge's processes.

Between processes of ours, over a byte stream, a JSON head and binary parts (`pack`, `Frames`).

From a judged program's process to the pool, over the run's own pipe, records of kind (1 byte), length (4 bytes, little
endian) and payload, read by `Channel`:

    S   the confinement stands        X   it could not be made; why
    C   a captured model              U   why a model could not be taken
    E   the program's exception       D   the program's end was reached

What comes before S is ours.  What comes after may be the program's own writing: it decides nothing but what the program
itself could have brought about, a model it built or a failure.  Statuses, objectives and verdicts do not travel here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_HEAD = struct.Struct("<II")  # length of the JSON head, length of everything after the head
RECORD = struct.Struct("<cI")
# Bytes of payload that a reader takes.  The child cuts X, U and E itself: more is no record of ours.
LIMITS = {b"S": 0, b"D": 0, b"X": 1 << 12, b"U": 1 << 12, b"E": 1 << 19, b"C": 1 << 26}
_MOST_RECORDS, _MOST_BYTES = 100_000, 1 << 31  # of a run: a program that solves without end is not a flood


def pack(head: dict[str, Any], *parts: bytes) -> bytes:
    text = json.dumps({**head, "parts": [len(p) for p in parts]}).encode()
    return b"".join([_HEAD.pack(len(text), sum(map(len, parts))), text, *parts])


@dataclass
class Frames:
    """Cuts a byte stream into frames; `feed` yields (head, parts)."""

    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            n_head, n_rest = _HEAD.unpack_from(self._buffer)
            end = _HEAD.size + n_head + n_rest
            if len(self._buffer) < end:
                return
            head = json.loads(self._buffer[_HEAD.size:_HEAD.size + n_head])
            parts, at = [], _HEAD.size + n_head
            for length in head["parts"]:
                parts.append(bytes(self._buffer[at:at + length]))
                at += length
            del self._buffer[:end]
            yield head, parts


def record(kind: bytes, payload: bytes) -> bytes:
    """One record of a run's pipe, cut to what a reader takes; a model is never cut but told as untakeable."""
    if len(payload) > LIMITS[kind]:
        if kind == b"C":
            kind, payload = b"U", b"the model is too large to be taken (more than 64 MiB)"
        payload = payload[:LIMITS[kind]]
    return RECORD.pack(kind, len(payload)) + payload


@dataclass
class Channel:
    """What a run has said so far.  Holds the last payload of each kind; memory is bounded by LIMITS.

    started: S came, first.  last: b"C" or b"U", whichever the last solve left, or b"".  broken: something came that no
    child of ours says, or more than any program has to say; nothing is read after it.
    """

    started: bool = False
    broken: bool = False
    solves: int = 0
    last: bytes = b""
    payloads: dict[bytes, bytes] = field(default_factory=dict)
    _buffer: bytearray = field(default_factory=bytearray)
    _records: int = 0
    _bytes: int = 0

    def feed(self, data: bytes) -> None:
        """Never raises."""
        if self.broken:
            return
        self._buffer += data
        self._bytes += len(data)
        at = 0
        while len(self._buffer) - at >= RECORD.size:
            kind, length = RECORD.unpack_from(self._buffer, at)
            if length > LIMITS.get(kind, -1) or self._records >= _MOST_RECORDS or self._bytes > _MOST_BYTES:
                self.broken = True
                self._buffer.clear()
                return
            end = at + RECORD.size + length
            if len(self._buffer) < end:
                break
            self._records += 1
            self._take(kind, bytes(memoryview(self._buffer)[at + RECORD.size:end]))
            at = end
        del self._buffer[:at]

    def _take(self, kind: bytes, payload: bytes) -> None:
        if kind == b"S":
            self.started = self.started or b"X" not in self.payloads
        elif kind == b"X":
            if not self.started:
                self.payloads.setdefault(kind, payload)
        elif self.started:
            if kind in b"CU":
                self.solves += 1
                self.last = kind
                self.payloads.pop(b"U" if kind == b"C" else b"C", None)  # the last solve counts, whichever way it went
            self.payloads[kind] = payload

    @property
    def fault(self) -> str:
        """Why the confinement does not stand; "" if it does or nothing was said."""
        return self.payloads.get(b"X", b"").decode(errors="replace")
