"""A verdict file that can be left at any point and taken up again.

Rows are appended as whole lines and synced to the disk in batches.  Beside `verdicts.jsonl` stands
`verdicts.jsonl.manifest.json`, which says of which input and settings the rows are; anything else is refused.  On opening,
a torn end is cut off and the positions that have their row are known, so that nothing is judged twice, lost or doubled.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orpipe.errors import UsageError

_SYNC_SECONDS, _SYNC_ROWS = 1.0, 200
Row = dict[str, Any]


class Journal:
    """Use as a context manager.  done(position): has this answer its row; `append` adds one."""

    def __init__(self, path: Path, manifest: Mapping[str, Any], overwrite: bool = False) -> None:
        """Raises UsageError in one line if `path` holds something else, or is being written by another run."""
        self.path, self.beside = path, path.with_name(path.name + ".manifest.json")
        self._done = bytearray()
        self._unsynced, self._synced_at = 0, time.monotonic()
        if path.is_dir():
            raise UsageError(f"'{path}' is a folder; name a file with --out")
        if path.exists() and not path.is_file():
            raise UsageError(f"'{path}' is no plain file, and what was judged is read again to go on from there; name a file with --out")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise UsageError(f"'{path}' is being written by another run; wait for it or name another --out") from None
        try:
            if overwrite:
                os.ftruncate(self._fd, 0)
                self.beside.unlink(missing_ok=True)
            self._claim(manifest)
            self.resumed = self._recover()
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            self._sync()
            os.close(self._fd)
            self._fd = -1

    def done(self, position: int) -> bool:
        return position >> 3 < len(self._done) and bool(self._done[position >> 3] >> (position & 7) & 1)

    def append(self, position: int, line: str) -> None:
        """One row, a whole line; doubling a position is a programming error (ValueError)."""
        if self.done(position):
            raise ValueError(f"answer {position} has its row already")
        view = memoryview(line.encode())
        while view:
            view = view[os.write(self._fd, view):]
        self._mark(position)
        self._unsynced += 1
        if self._unsynced >= _SYNC_ROWS or time.monotonic() - self._synced_at >= _SYNC_SECONDS:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._fd)
        self._unsynced, self._synced_at = 0, time.monotonic()

    def _mark(self, position: int) -> None:
        byte = position >> 3
        if byte >= len(self._done):
            self._done.extend(bytes(byte + 1 - len(self._done)))
        self._done[byte] |= 1 << (position & 7)

    def _claim(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest for an empty file; compare it for one that has rows."""
        wanted = json.loads(json.dumps(manifest))
        try:
            found = json.loads(self.beside.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = None
        except ValueError:
            raise UsageError(f"'{self.beside}' cannot be read; name another --out, or --overwrite") from None
        if found is None:
            if os.fstat(self._fd).st_size:
                raise UsageError(f"'{self.path}' holds something that is no verdict file of ours; name another --out, or --overwrite")
            draft = self.beside.with_name(self.beside.name + ".new")
            with draft.open("w", encoding="utf-8") as file:
                json.dump(wanted, file, indent=1, sort_keys=True)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.beside)
            return
        other = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
        if other:
            was = {key: found.get(key) for key in other if key != "input"}
            detail = "another input" if "input" in other else ", ".join(f"{k} was {v}" for k, v in was.items())
            raise UsageError(f"'{self.path}' belongs to other settings ({detail}); name another --out, or --overwrite")

    def _recover(self) -> int:
        """Mark what is there, up to the first line that is torn; the number of rows kept."""
        kept, count = 0, 0
        with open(self._fd, "rb", closefd=False) as file:
            file.seek(0)
            for line in file:
                row = _row(line)
                if row is None or self.done(row["position"]):
                    break
                self._mark(row["position"])
                kept += len(line)
                count += 1
        if kept < os.fstat(self._fd).st_size:
            os.ftruncate(self._fd, kept)
            os.fsync(self._fd)
        return count


def _row(line: bytes) -> Row | None:
    """A whole row, or None."""
    if not line.endswith(b"\n"):
        return None
    with contextlib.suppress(ValueError):
        row = json.loads(line)
        if isinstance(row, dict) and isinstance(row.get("position"), int) and row["position"] >= 0 and "verdict" in row:
            return row
    return None


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a verdict file, one at a time; a torn end is passed over."""
    with path.open("rb") as file:
        for line in file:
            row = _row(line)
            if row is None:
                return
            yield row
