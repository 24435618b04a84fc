"""Writing a finished dataset: Parquet by config and split, manifest, card, timings.  Rows come in slot order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orpipe.build.schema import CONFIGS, SPLITS, SPLITS_OF

_SHARD_ROWS = 20_000
_GROUP_ROWS = 500


class TableWriter:
    """One config and split: rows in, row groups of fixed size out, one shard per 20,000 rows."""

    def __init__(self, folder: Path, split: str, schema: pa.Schema):
        self.folder, self.split, self.schema = folder, split, schema
        self.rows: list[dict[str, Any]] = []
        self.count = 0
        self.shards: list[Path] = []
        self.writer: pq.ParquetWriter | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self.rows.append(row)
            self.count += 1
            if len(self.rows) == _GROUP_ROWS:
                self._flush()

    def _flush(self) -> None:
        if self.writer is None:
            path = self.folder / f"{self.split}-{len(self.shards):05d}.part"
            self.shards.append(path)
            self.writer = pq.ParquetWriter(path, self.schema, compression="zstd")
        self.writer.write_table(pa.Table.from_pylist(self.rows, schema=self.schema))
        self.rows = []
        if self.count % _SHARD_ROWS == 0:
            self.writer.close()
            self.writer = None

    def close(self) -> list[Path]:
        """Final file names, such as sft/train-00000-of-00001.parquet.  An empty split has one empty shard."""
        if self.rows or not self.shards:
            self._flush()
        if self.writer is not None:
            self.writer.close()
        total = len(self.shards)
        return [p.rename(p.with_name(f"{self.split}-{k:05d}-of-{total:05d}.parquet")) for k, p in enumerate(self.shards)]


class DatasetWriter:
    """All configs.  `rejected` has the single split train and `suites` the single split test (they belong to no split)."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.tables = {
            (config, split): TableWriter(folder / config, split, schema)
            for config, schema in CONFIGS.items() for split in SPLITS_OF.get(config, SPLITS)
        }

    def add(self, config: str, split: str, rows: Iterable[dict[str, Any]]) -> None:
        self.tables[config, SPLITS_OF[config][0] if config in SPLITS_OF else split].add(rows)

    def close(self) -> dict[str, dict[str, int]]:
        """Counts by config and split."""
        counts: dict[str, dict[str, int]] = {}
        for (config, split), table in self.tables.items():
            counts.setdefault(config, {})[split] = table.count
            if table.count or config != "suites":
                table.close()
            else:  # a run without suites has no such config
                table.folder.rmdir()
        return counts


def file_hashes(folder: Path) -> dict[str, str]:
    """sha256 by relative path of every Parquet file and every quarantined problem."""
    return {p.relative_to(folder).as_posix(): file_hash(p) for p in sorted([*folder.rglob("*.parquet"), *folder.glob("quarantine/*")])}


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
