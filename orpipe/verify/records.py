"""Records of a file or folder, one at a time: JSONL, JSON, Parquet, Arrow (a saved Hugging Face dataset), Bench4Opt."""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from orpipe.errors import UsageError

Record = Mapping[str, Any]
_CHUNK = 1 << 20
_BATCH = 64


@dataclass(frozen=True)
class Records:
    """Files of one format, read in order; may be iterated again and again.

    read(path) yields the records of a file; also: more files that belong to a record (for the digest).
    """

    paths: tuple[Path, ...]
    read: Callable[[Path], Iterator[Record]]
    also: tuple[Path, ...] = ()

    def __iter__(self) -> Iterator[Record]:
        for path in self.paths:
            yield from self.read(path)

    def first(self, count: int) -> list[Record]:
        return list(itertools.islice(self, count))

    @cached_property
    def digest(self) -> str:
        found = hashlib.sha256()
        for path in (*self.paths, *self.also):
            found.update(path.name.encode() + b"\0")
            with path.open("rb") as file:
                while block := file.read(_CHUNK):
                    found.update(block)
        return found.hexdigest()


def open_records(path: Path, split: str, config: str) -> Records:
    """UsageError in one line: no such file, a format that is not known, nothing of that split or config."""
    if path.is_dir():
        return _folder(path, split, config)
    if not path.is_file():
        raise UsageError(f"'{path}' does not exist; name a file or folder of answers")
    if split or config:
        raise UsageError("--split and --config choose files of a folder; name the folder")
    return Records((path,), _reader(path))


def _reader(path: Path) -> Callable[[Path], Iterator[Record]]:
    name = path.name.removesuffix(".gz")
    for ending, reader in ((".jsonl", _jsonl), (".ndjson", _jsonl), (".json", _json), (".parquet", _parquet), (".arrow", _arrow)):
        if name.endswith(ending):
            return reader
    raise UsageError(f"'{path}' is of no known format; use .jsonl, .json, .parquet, .arrow or a dataset folder")


def _folder(path: Path, split: str, config: str) -> Records:
    lps = sorted(path.glob("*.lp"), key=_natural)
    if lps and all(p.with_suffix(".txt").is_file() for p in lps):
        return Records(tuple(lps), _bench4opt, tuple(p.with_suffix(e) for p in lps for e in (".txt", ".json") if p.with_suffix(e).is_file()))
    found: list[Path] = []
    for endings in ((".parquet",), (".arrow",), (".jsonl", ".jsonl.gz", ".ndjson"), (".json",)):
        found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(endings) and not p.name.startswith(("cache-", "."))
                       and p.name not in ("manifest.json", "timings.json", "dataset_info.json", "state.json", "dataset_dict.json"))
        if found:
            break
    if not found:
        raise UsageError(f"folder '{path}' holds no .parquet, .arrow, .jsonl or .json file")
    if not config and (path / "manifest.json").is_file() and (path / "sft").is_dir():
        config = "sft"  # a dataset of ours: what holds answers
    for what, name in (("config", config), ("split", split)):
        if name:
            kept = [p for p in found if name in _parts(p.relative_to(path))]
            if not kept:
                known = sorted(set().union(*(_parts(p.relative_to(path)) for p in found)))
                raise UsageError(f"folder '{path}' has nothing of {what} '{name}'; there is: {', '.join(known)[:200]}")
            found = kept
    tops = {p.relative_to(path).parts[0] for p in found if len(p.relative_to(path).parts) > 1}
    if len(tops) > 1 and not config and not split:
        raise UsageError(f"folder '{path}' holds several datasets; choose one with --config or --split: {', '.join(sorted(tops))}")
    return Records(tuple(found), _reader(found[0]))


def _parts(path: Path) -> set[str]:
    """Folder names, and what a shard's name begins with ("test" of "test-00000-of-00001.parquet")."""
    return {*path.parts[:-1], path.name.partition(".")[0].partition("-0")[0]}


def _natural(path: Path) -> tuple[int, str]:
    return (int(path.stem), "") if path.stem.isdigit() else (1 << 60, path.stem)


# ------------------------------------------------------------------------------------------------------------- formats


def _open(path: Path) -> IO[str]:
    raw: Any = gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb")  # noqa: SIM115 - closed by the wrapper
    return io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="\n")


def _jsonl(path: Path) -> Iterator[Record]:
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = f"{error.msg} at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else error
                raise UsageError(f"'{path}' line {number} is not JSON ({why}); mend or remove it") from None
            yield _record(record, path, number)


def _json(path: Path) -> Iterator[Record]:
    """A list of records, a record with such a list, or one column each ({"question": [...], ...})."""
    with _open(path) as file:
        head = file.read(_CHUNK)
        if head.lstrip()[:1] == "[":
            yield from _json_list(path, file, head)
            return
        text = head + file.read()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if "\n{" in text.strip():
            yield from _jsonl(path)
            return
        raise UsageError(f"'{path}' is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise UsageError(f"'{path}' holds neither a list of records nor a record")
    lists = [v for v in value.values() if isinstance(v, list) and v and all(isinstance(x, dict) for x in v)]
    columns = value and all(isinstance(v, list) for v in value.values()) and len({len(v) for v in value.values()}) == 1
    if len(lists) == 1:
        yield from lists[0]
    elif columns and not lists:
        yield from (dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True))
    elif value and all(isinstance(v, dict) for v in value.values()):
        yield from ({"index": key, **v} for key, v in value.items())
    else:
        yield value


def _json_list(path: Path, file: IO[str], text: str) -> Iterator[Record]:
    """The items of a long list without the list in memory."""
    decoder, at, number, ended = json.JSONDecoder(), text.index("[") + 1, 0, False
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at < len(text) and text[at] == "]":
            return
        try:
            value, end = decoder.raw_decode(text, at)
            whole = ended or end < len(text)  # a number at the very end may go on
        except (ValueError, RecursionError) as error:
            whole = False
            if ended:
                raise UsageError(f"'{path}' is not JSON after record {number} ({error}); is it cut off?") from None
        if whole:
            number += 1
            yield _record(value, path, number)
            at = end
            if at > _CHUNK:
                text, at = text[at:], 0
        else:
            more = file.read(max(_CHUNK, len(text) - at))  # doubling: a long record is not decoded over and over
            text, at, ended = text[at:] + more, 0, not more


def _parquet(path: Path) -> Iterator[Record]:
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise UsageError(f"'{path}' is not readable as Parquet ({str(error).partition(chr(10))[0]})") from None


def _arrow(path: Path) -> Iterator[Record]:
    try:
        with pa.OSFile(str(path), "rb") as source:
            try:
                batches: Any = pa.ipc.open_stream(source)
            except pa.ArrowInvalid:
                source.seek(0)
                file = pa.ipc.open_file(source)
                batches = (file.get_batch(k) for k in range(file.num_record_batches))
            for batch in batches:
                for start in range(0, batch.num_rows, _BATCH):
                    yield from batch.slice(start, _BATCH).to_pylist()
    except pa.ArrowException as error:
        raise UsageError(f"'{path}' is not readable as Arrow ({str(error).partition(chr(10))[0]})") from None


def _bench4opt(path: Path) -> Iterator[Record]:
    data = path.with_suffix(".json")
    yield {
        "index": path.stem, "question": path.with_suffix(".txt").read_text(encoding="utf-8"), "reference": path.read_text(encoding="utf-8"),
        "data": {"data.json": data.read_text(encoding="utf-8")} if data.is_file() else {},
    }


def _record(value: Any, path: Path, number: int) -> Record:
    if isinstance(value, str):
        return {"response": value}
    if not isinstance(value, dict):
        raise UsageError(f"'{path}' record {number} is no record but {type(value).__name__}")
    return value

