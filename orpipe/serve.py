"""The judge as a small HTTP service, for trainers on other machines, and its client.

    POST /judge     an answer -> its row (VerdictRow.record); {"answers": [...]} -> {"rows": [...]}
    POST /reward    an answer -> {"reward", "verdict", "failure", "reason"}; {"answers": [...]} -> lists of these
    GET  /health    versions, isolation, workers, queue, limits

An answer is an object as `orpipe.verify.items.answer` reads it: "text", a label ("truth", "answer", "objective", "status", ...),
"data" or "files", "reference".  "options" beside it: judge ("equivalence", the default, compares with
"reference", or with the instance that "instance_id" names; "optimum"), undecided, shaping.  Every error is {"error": one sentence}:
400, 401, 404, 405, 408, 411, 413, 415, 429 (the queue is full), 431, 503 (stopping), the last two with Retry-After.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import json
import logging
import math
import os
import platform
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any

from orpipe import __version__
from orpipe.client import Client, read_token
from orpipe.errors import OrpipeError, UsageError
from orpipe.http1 import MOST_HEAD, Head, Refused, drain, read_body, read_head, response, send
from orpipe.rewards import JUDGES, check_table, worth
from orpipe.verify.answers import Answer
from orpipe.verify.crew import Promise
from orpipe.verify.isolation import FULL, available_layers
from orpipe.verify.items import answer
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.own import Instances
from orpipe.verify.sandbox import Job, Pool, Run

__all__ = ["Bounds", "Client", "LastPool", "Service", "is_loopback", "read_token"]

log = logging.getLogger(__name__)

ROUTES: Mapping[str, str] = {"/judge": "POST", "/reward": "POST", "/health": "GET"}
OPTIONS = ("judge", "shaping", "undecided")


@dataclass(frozen=True)
class Bounds:
    """queue: answers held, waiting or judged; batch: answers in a request; body: bytes of a request; the rest in seconds:
    idle between requests, for a head, for a body, for a client to take its answer, and for what runs when it is stopped.
    """

    queue: int = 256
    batch: int = 256
    body: int = 16 << 20
    connections: int = 256
    idle: float = 75.0
    head: float = 10.0
    read: float = 60.0
    write: float = 30.0
    grace: float = 30.0


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True)
class _Asked:
    answers: tuple[Answer, ...]
    single: bool
    undecided: float | None
    shaping: float


def _read(body: bytes, most: int, instances: Instances | None = None) -> _Asked:
    """Refused for whatever is not as the module's docstring says."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise Refused(400, 'the body is neither an answer nor {"answers": [...]}')
    options = content.get("options") or {}
    single = "answers" not in content
    items = [content] if single else content["answers"]
    if not isinstance(items, list) or not isinstance(options, dict):
        raise Refused(400, "'answers' is a list and 'options' an object")
    if unknown := sorted(options.keys() - set(OPTIONS)):
        raise Refused(400, f"no option '{unknown[0]}' in a request; there are {', '.join(OPTIONS)}; the others are the service's own")
    if len(items) > most:
        raise Refused(413, f"{len(items)} answers in one request; at most {most} are taken")
    undecided, shaping = options.get("undecided"), options.get("shaping", 0.0)
    if not _number(shaping) or not (undecided is None or _number(undecided)):
        raise Refused(400, "the options 'shaping' and 'undecided' are numbers ('undecided' may be null)")
    try:
        check_table(str(options.get("judge", JUDGES[0])), undecided, shaping)
    except OrpipeError as error:
        raise Refused(400, str(error)) from None
    answers = []
    for k, item in enumerate(items):
        where = "" if single else f"answer {k}: "
        if not isinstance(item, dict):
            raise Refused(400, f"{where}not an object")
        try:
            answers.append(replace(answer(item, k, instances), rule=str(options.get("judge", ""))))
        except UsageError as error:
            raise Refused(400, f"{where}{error}") from None
        except Exception as error:
            raise Refused(400, f"{where}it cannot be read ({type(error).__name__})") from None
    return _Asked(tuple(answers), single, undecided, shaping)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class LastPool(Pool):
    """A pool that starts nothing more once it is closed: the judge runs again what was interrupted, and that must end."""

    ended = False

    def submit(self, job: Job) -> Promise[Run]:
        if not self.ended:
            return super().submit(job)
        done: Promise[Run] = Promise()
        done.give(Run("sandbox", "cannot be run here: the service has ended"))
        return done

    def close(self) -> None:
        self.ended = True
        super().close()


class Service:
    """Judges over HTTP until it is stopped.  token: "" lets everybody in who can connect.  instances: reference models of
    answers with an "instance_id"."""

    def __init__(self, judge: Judge, *, token: str = "", bounds: Bounds | None = None, instances: Instances | None = None) -> None:
        self.instances = instances
        self.judge, self.token, self.bounds = judge, token.encode(), bounds or Bounds()
        if self.bounds.queue < 1:
            raise UsageError(f"the queue holds at least one answer, not {self.bounds.queue}")
        self.most = min(self.bounds.batch, self.bounds.queue)
        self.held, self.verdicts, self.seconds = 0, Counter[str](), 1.0
        self.began, self.isolation, self.local = time.monotonic(), "", True
        self._threads = ThreadPoolExecutor(judge.workers + 2, "orpipe-serve")
        self._tasks: set[asyncio.Task[Any]] = set()
        self._idle: set[asyncio.StreamWriter] = set()
        self._futures: set[Future[VerdictRow]] = set()

    # ------------------------------------------------------------------------------------------------------- its life

    async def run(self, host: str, port: int, ready: Callable[[str], None] = lambda url: None) -> None:
        """Serve until SIGTERM, SIGINT or `stop`; a second one ends at once what still runs.  ready: called with the URL.

        Raises UsageError if the address is not to be had, or lets other machines in without a token.
        """
        if not self.token and not is_loopback(host):
            raise UsageError(f"--host {host} lets other machines in; give --token-file with a token that they must send")
        self._loop, self._stop, self._hurry, self._quiet = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.local = is_loopback(host)
        lacking = FULL - {layer.name for layer in await asyncio.to_thread(available_layers) if layer.available}
        self.isolation = f"without {', '.join(sorted(lacking))}" if lacking else "full"
        await asyncio.to_thread(self.judge.warm)
        try:
            server = await asyncio.start_server(self._accept, host, port, limit=MOST_HEAD, backlog=256)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)  # asyncio's own text says the address again
            raise UsageError(f"cannot listen on {host}, port {port} ({why}); choose others with --host and --port") from None
        signals = (signal.SIGTERM, signal.SIGINT)
        with contextlib.suppress(RuntimeError, ValueError):  # only the main thread has signals
            for number in signals:
                self._loop.add_signal_handler(number, self.stop)
        try:
            bound = server.sockets[0].getsockname()
            ready(f"http://{f'[{bound[0]}]' if ':' in bound[0] else bound[0]}:{bound[1]}")
            await self._stop.wait()
            server.close()
            await self._finish()
        finally:
            server.close()
            for number in signals:
                with contextlib.suppress(RuntimeError, ValueError):
                    self._loop.remove_signal_handler(number)
            self._threads.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """Take nothing new, finish what is held; called again: finish nothing.  To be called in the service's thread."""
        (self._hurry if self._stop.is_set() else self._stop).set()

    async def _finish(self) -> None:
        """Wait for open requests, at most the grace; then drop what is left."""
        for writer in list(self._idle):
            writer.close()
        hurry = asyncio.create_task(self._hurry.wait())
        end = time.monotonic() + self.bounds.grace
        while self._tasks and not hurry.done() and (left := end - time.monotonic()) > 0:
            await asyncio.wait([*self._tasks, hurry], timeout=left, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        for future in list(self._futures):
            future.cancel()
        self._quiet.set()  # requests that still wait answer 503
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)

    # ---------------------------------------------------------------------------------------------------- connections

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) > self.bounds.connections:
                await send(writer, response(503, {"error": "too many connections"}, {"Retry-After": "1"}, keep=False), 1.0)
            else:
                while not self._stop.is_set() and await self._one(reader, writer):
                    pass
        except (OSError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()  # gone, or it does not read
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether there may be another."""
        self._idle.add(writer)
        try:
            head = await read_head(reader, self.bounds.idle, self.bounds.head)
        except Refused as refused:
            return await self._refuse(refused, None, reader, writer)
        finally:
            self._idle.discard(writer)
        if head is None:
            return False
        began = time.monotonic()
        try:
            content = await self._answer(head, reader, writer)
        except Refused as refused:
            return await self._refuse(refused, head, reader, writer)
        except _Gone:
            return False
        except Exception:
            log.exception("internal error in %s %s", head.method, head.path)
            return await self._refuse(Refused(500, "internal error; the service's log says more", close=True), head, reader, writer)
        keep = head.keep and not self._stop.is_set()
        await send(writer, response(200, content, keep=keep), self.bounds.write)
        log.info("%s %s 200 in %.3f s", head.method, head.path, time.monotonic() - began)
        return keep

    async def _refuse(self, refused: Refused, head: Head | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        keep = head is not None and head.keep and head.method != "HEAD" and not refused.close and not self._stop.is_set()
        message = " ".join(refused.message.split())[:500]
        log.info("%s %s %d: %s", head.method if head else "-", head.path if head else "-", refused.status, message)
        await send(writer, response(refused.status, {"error": message}, refused.headers, keep=keep), self.bounds.write)
        if not keep and writer.can_write_eof():
            writer.write_eof()
            known = refused.status not in (400, 401, 403, 408, 431)
            await drain(reader, 4 * self.bounds.body if known else 1 << 20, 5.0 if known else 1.0)
        return keep

    # ------------------------------------------------------------------------------------------------------- requests

    async def _answer(self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        unread = head.length > 0  # a body that is not read ends the connection
        self._let_in(head, unread)
        wanted = ROUTES.get(head.path)
        if wanted is None:
            raise Refused(404, f"there is no such path; there are {', '.join(ROUTES)}", close=unread)
        if head.method != wanted:
            raise Refused(405, f"{head.path} takes {wanted}", close=unread, headers={"Allow": wanted})
        if head.length > self.bounds.body:
            raise Refused(413, f"a body of {head.length} bytes; at most {self.bounds.body} are taken", close=True)
        if wanted == "GET":
            await read_body(reader, writer, head, self.bounds.read)
            return json.dumps(self.health())
        if head.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "send the body as Content-Type: application/json", close=unread)
        self._room(1, unread)
        body = await read_body(reader, writer, head, self.bounds.read)
        asked = await asyncio.to_thread(_read, body, self.most, self.instances)
        rows = await self._judged(asked.answers, reader, writer)
        if head.path == "/judge":
            lines = [row.line().strip() for row in rows]
            return lines[0] if asked.single else f'{{"rows": [{", ".join(lines)}]}}'
        rewards = [worth(row.verdict, row.failure, undecided=asked.undecided, shaping=asked.shaping) for row in rows]
        if asked.single:
            return json.dumps({"reward": rewards[0], "verdict": rows[0].verdict, "failure": rows[0].failure, "reason": rows[0].reason})
        return json.dumps({"rewards": rewards, "verdicts": [r.verdict for r in rows], "failures": [r.failure for r in rows],
                           "reasons": [r.reason for r in rows]})

    def _let_in(self, head: Head, unread: bool) -> None:
        if self.token:
            scheme, _, given = head.headers.get("authorization", "").partition(" ")
            if not hmac.compare_digest(given.strip().encode("latin-1"), self.token) or scheme.lower() != "bearer":
                raise Refused(401, "send the service's token as Authorization: Bearer ...", close=unread, headers={"WWW-Authenticate": "Bearer"})
        elif self.local and not is_loopback(re.sub(r":\d+$", "", head.headers.get("host", "localhost"))):
            raise Refused(403, "without a token the service answers to names of this machine's loopback only", close=unread)

    def _room(self, n: int, close: bool = False) -> None:
        """Refused if `n` more answers cannot be held."""
        if self._stop.is_set():
            raise Refused(503, "the service is stopping", close=True, headers={"Retry-After": "10"})
        if self.held + n > self.bounds.queue:
            wait = math.ceil(min(60.0, max(1.0, self.held * self.seconds / self.judge.workers / 2)))
            raise Refused(429, f"the queue holds {self.held} of {self.bounds.queue} answers; {n} more are too many now", close=close,
                          headers={"Retry-After": str(wait)})

    async def _judged(self, answers: Sequence[Answer], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> list[VerdictRow]:
        """Rows in the order of the answers.  Raises _Gone if the client hangs up meanwhile: what has not begun is dropped."""
        self._room(len(answers))
        futures = [asyncio.wrap_future(self._submit(a)) for a in answers]
        waiting = set(futures)
        try:
            while waiting and not self._quiet.is_set():
                _, waiting = await asyncio.wait(waiting, timeout=0.25)
                if reader.at_eof() or reader.exception() is not None or writer.is_closing():
                    raise _Gone
        finally:
            for future in futures:
                future.cancel()
        faults = [f.exception() for f in futures if not f.cancelled()]
        if any(faults):
            raise next(filter(None, faults))
        if len(faults) < len(futures):
            raise Refused(503, "the service stopped before all was judged", close=True, headers={"Retry-After": "10"})
        return [f.result() for f in futures]

    def _submit(self, one: Answer) -> Future[VerdictRow]:
        future = self._threads.submit(self.judge.judge_answer, one)
        self.held += 1
        self._futures.add(future)
        future.add_done_callback(self._done)
        return future

    def _done(self, future: Future[VerdictRow]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._count, future)

    def _count(self, future: Future[VerdictRow]) -> None:
        self.held -= 1
        self._futures.discard(future)
        if not future.cancelled() and future.exception() is None:
            row = future.result()
            self.verdicts[row.verdict] += 1
            self.seconds += 0.05 * (row.seconds - self.seconds)

    def health(self) -> dict[str, Any]:
        judge, bounds = self.judge, self.bounds
        return {
            "status": "stopping" if self._stop.is_set() else "ok", "versions": _versions(), "isolation": self.isolation,
            "workers": judge.workers, "queue": {"held": self.held, "most": bounds.queue}, "judged": dict(self.verdicts),
            "seconds_up": round(time.monotonic() - self.began, 1), "judges": list(JUDGES), "options": list(OPTIONS),
            "limits": {"answers": self.most, "body": bounds.body, "timeout": judge.limits.seconds, "solve_timeout": judge.solve_timeout},
            "tolerance": str(judge.policy),
        }


class _Gone(Exception):
    """The client has hung up."""


@cache
def _versions() -> dict[str, str]:
    found = {"orpipe": __version__, "python": platform.python_version()}
    for name in ("highspy", "ortools", "pulp", "pyomo", "gurobipy", "coptpy", "cvxpy", "scipy"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
