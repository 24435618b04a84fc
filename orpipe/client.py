"""Client of `orpipe serve`: judges over HTTP, and is a reward function for TRL.

    client = Client("http://10.0.0.5:8000", token)
    client.health(); client.judge([{"text": ..., "truth": 30}]); GRPOTrainer(..., reward_funcs=client)

Needs only the standard library beside orpipe.rewards; holds no connection, so threads, forks and pickles are safe.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from orpipe.errors import EnvironmentError_, UsageError
from orpipe.rewards import RewardFunction, Worth, check_table
from orpipe.verify.against import Rule
from orpipe.verify.crew import side_by_side
from orpipe.verify.items import Item

log = logging.getLogger(__name__)

_AGAIN = (408, 429, 503)  # worth another try


def read_token(path: str | Path) -> str:
    """The token in a file; UsageError if there is none that will do."""
    try:
        token = Path(path).read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(f"token file '{path}' cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        token = ""
    if len(token) < 16 or not all("!" <= c <= "~" for c in token):
        raise UsageError(f"token file '{path}' must hold one word of at least 16 printable ASCII characters")
    return token


class _TooLarge(UsageError):
    pass


@dataclass(frozen=True)
class Client(RewardFunction):
    """url: of the service; timeout: seconds to wait for one response; patience: seconds to go on while the service is full
    or cannot be reached; rule: "optimum" or "equivalence"; batch: answers in a request; parallel: requests at a time."""

    url: str = "http://127.0.0.1:8000"
    token: str = field(default="", repr=False)
    timeout: float = field(default=900.0, kw_only=True)
    patience: float = field(default=300.0, kw_only=True)
    rule: Rule = field(default="optimum", kw_only=True)
    batch: int = field(default=32, kw_only=True)
    parallel: int = field(default=4, kw_only=True)

    def __post_init__(self) -> None:
        check_table(self.rule, self.undecided, self.shaping)
        try:
            parts = urlsplit(self.url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            good = False
        if not good:
            raise UsageError(f"'{self.url}' is no address of a service; write for example http://127.0.0.1:8000")
        if self.batch < 1 or self.parallel < 1:
            raise UsageError("batch and parallel are at least 1")

    def health(self, patience: float = 5.0) -> dict[str, Any]:
        """Raises EnvironmentError_ if the service cannot be reached, here within `patience` seconds and one response's wait of
        as many; UsageError for a wrong token.  So do all below."""
        quick = replace(self, patience=min(self.patience, patience), timeout=min(self.timeout, max(patience, 1.0)))
        return quick._ask("GET", "/health", None)

    def judge(self, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Rows (VerdictRow.record) in the order of the answers; see orpipe.serve for what an answer is."""
        return [row for found in self._batches("/judge", answers, {"judge": self.rule}) for row in found["rows"]]

    def rewards(self, answers: Sequence[Mapping[str, Any]]) -> list[float | None]:
        return [w.reward for w in self.judged([dict(a) for a in answers])]

    def judged(self, items: Sequence[Item]) -> list[Worth]:
        options = {"undecided": self.undecided, "shaping": self.shaping, "judge": self.rule}
        return [Worth(*one) for found in self._batches("/reward", items, options)
                for one in zip(found["rewards"], found["verdicts"], found["failures"], found["reasons"], strict=True)]

    def _batches(self, path: str, answers: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> list[dict[str, Any]]:
        parts = [answers[k:k + self.batch] for k in range(0, len(answers), self.batch)]

        def ask(part: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
            try:
                return [self._ask("POST", path, {"answers": part, "options": options})]
            except _TooLarge:
                if len(part) == 1:
                    raise
                half = len(part) // 2
                return ask(part[:half]) + ask(part[half:])

        if len(parts) < 2:
            return [found for part in parts for found in ask(part)]
        return [found for several in side_by_side(ask, parts, self.parallel) for found in several]

    def _ask(self, method: str, path: str, content: Mapping[str, Any] | None) -> dict[str, Any]:
        body = None if content is None else json.dumps(content, default=_plain).encode()
        end, pause = time.monotonic() + self.patience, 0.2
        while True:
            try:
                status, wait, found = self._exchange(method, path, body)
            except (OSError, http.client.HTTPException, ValueError) as error:
                why, wait = f"{type(error).__name__}: {error}", pause
            else:
                if status == 200:
                    return found
                why = str(found.get("error", f"status {status}"))
                if status not in _AGAIN:
                    raise (_TooLarge if status == 413 else UsageError)(f"{self.url}{path} refuses ({status}): {why}")
                wait = max(wait, pause)
            wait *= 1 + random.random() / 4  # clients that were refused together do not come back together
            if time.monotonic() + wait > end:
                raise EnvironmentError_(f"{self.url}{path} cannot be used ({why}); is 'orpipe serve' running there?")
            log.info("%s%s: %s; again in %.1f s", self.url, path, why, wait)
            time.sleep(wait)
            pause = min(2 * pause, 10.0)

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, float, dict[str, Any]]:
        """Status, Retry-After and content of one response."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname, parts.port, timeout=self.timeout)
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused half sent: the answer says why
                connection.request(method, parts.path.rstrip("/") + path, body, headers)
            answer = connection.getresponse()
            found = json.loads(answer.read())
            wait = answer.headers.get("Retry-After", "0")
            return answer.status, float(wait) if wait.isdigit() else 0.0, found if isinstance(found, dict) else {}
        finally:
            connection.close()


def _plain(value: Any) -> Any:
    """numpy scalars and arrays as JSON can hold them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
