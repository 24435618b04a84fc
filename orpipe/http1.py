"""As much of HTTP/1.1 as a small service needs, over asyncio streams: strict about what it reads, bounded in size and time.

Requests have a body of known length or none; connections are kept alive.  What is refused is a `Refused`, with a status
and one sentence for the client.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

MOST_HEAD = 16 << 10

_LINE = re.compile(r"([A-Z]{1,16}) (/[\x21-\x7e]*|\*) HTTP/1\.([01])")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")


class Refused(Exception):
    """A request that gets an error.  close: the connection cannot be used after it."""

    def __init__(self, status: int, message: str, *, close: bool = False, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.close, self.headers = status, message, close, dict(headers or {})


@dataclass(frozen=True)
class Head:
    """headers: names in lower case; length: of the body; keep: whether the client wants to go on with the connection."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int = 0
    keep: bool = True


async def read_head(reader: asyncio.StreamReader, idle_seconds: float, seconds: float) -> Head | None:
    """The next request's head; None if the client closes, or sends nothing for `idle_seconds`.

    Raises Refused for what is no request and where the head is not whole `seconds` after its first byte.
    """
    try:
        async with asyncio.timeout(idle_seconds):
            first = await reader.readexactly(1)
            while first in (b"\r", b"\n"):
                first = await reader.readexactly(1)
    except (TimeoutError, asyncio.IncompleteReadError):
        return None
    try:
        async with asyncio.timeout(seconds):
            rest = await reader.readuntil(b"\r\n\r\n")
    except TimeoutError:
        raise Refused(408, f"the request's head did not arrive within {seconds:g} s", close=True) from None
    except asyncio.LimitOverrunError:
        raise Refused(431, f"the request's head is longer than {MOST_HEAD} bytes", close=True) from None
    except asyncio.IncompleteReadError:
        return None
    return _parse((first + rest).decode("latin-1"))


def _parse(text: str) -> Head:
    lines = text.split("\r\n")[:-2]
    line = _LINE.fullmatch(lines[0])
    if line is None:
        raise Refused(400, "the request line is not one of HTTP/1.1", close=True)
    headers: dict[str, str] = {}
    for raw in lines[1:]:
        found = _FIELD.fullmatch(raw)
        name = found[1].lower() if found else ""
        if found is None or (name in headers and name in ("content-length", "host", "authorization")):
            raise Refused(400, "a header line is not one of HTTP/1.1", close=True)
        headers[name] = f"{headers[name]}, {found[2]}" if name in headers else found[2]
    if "transfer-encoding" in headers:
        raise Refused(411, "send the body with a Content-Length, not in chunks", close=True)
    size = headers.get("content-length", "0")
    if not re.fullmatch(r"[0-9]{1,15}", size):
        raise Refused(400, "Content-Length is not a number of bytes", close=True)
    asked = {part.strip().lower() for part in headers.get("connection", "").split(",")}
    keep = "close" not in asked and (line[3] == "1" or "keep-alive" in asked)
    return Head(line[1], line[2].partition("?")[0], headers, int(size), keep)


async def read_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: Head, seconds: float) -> bytes:
    """The body, if it arrives within `seconds`; a client that waits for a go-ahead gets it."""
    if head.length and "100-continue" in head.headers.get("expect", "").lower():
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        async with asyncio.timeout(seconds):
            return await reader.readexactly(head.length)
    except TimeoutError:
        raise Refused(408, f"the request's body did not arrive within {seconds:g} s", close=True) from None
    except asyncio.IncompleteReadError:
        raise Refused(400, "the request's body is shorter than its Content-Length", close=True) from None


def response(status: int, body: str | Mapping[str, Any], headers: Mapping[str, str] | None = None, *, keep: bool = True) -> bytes:
    """body: JSON, as text or to be made so."""
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Content-Type: application/json",
             f"Content-Length: {len(content)}", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
             f"Connection: {'keep-alive' if keep else 'close'}",
             *(f"{name}: {value}" for name, value in (headers or {}).items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content


async def send(writer: asyncio.StreamWriter, data: bytes, seconds: float) -> None:
    """TimeoutError for a client that does not read."""
    writer.write(data)
    async with asyncio.timeout(seconds):
        await writer.drain()


async def drain(reader: asyncio.StreamReader, most: int, seconds: float) -> None:
    """Read and drop what a refused client still sends, so that it sees the answer and not a reset."""
    try:
        async with asyncio.timeout(seconds):
            while most > 0 and (data := await reader.read(1 << 16)):
                most -= len(data)
    except (TimeoutError, OSError):
        pass
