"""Instances of a dataset of ours, looked up by id: reference models for answers to it."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orpipe.errors import UsageError

COLUMNS = ("id", "family", "level", "status", "objective_exact", "data", "mps", "structure_hash")
_HELD = 4  # row groups


@dataclass(eq=False)
class Instances:
    """The config 'instances' of a dataset folder; holds the ids and a few row groups, whatever the size of the dataset.  Thread-safe."""

    folder: Path
    places: Mapping[str, tuple[Path, int, int]]  # id -> file, row group, row in it
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _groups: OrderedDict[tuple[Path, int], list[dict[str, Any]]] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, folder: Path | None) -> Instances | None:
        """Of a folder that `orpipe generate` wrote; None for anything else.  Raises UsageError for a file that is torn."""
        if folder is None or not (folder / "manifest.json").is_file() or not (folder / "instances").is_dir():
            return None
        places: dict[str, tuple[Path, int, int]] = {}
        for path in sorted((folder / "instances").glob("*.parquet")):
            try:
                with pq.ParquetFile(path) as file:
                    for group in range(file.num_row_groups):
                        ids = file.read_row_group(group, columns=["id"])["id"].to_pylist()
                        places |= {name: (path, group, row) for row, name in enumerate(ids)}
            except pa.ArrowException as error:
                raise UsageError(f"'{path}' is not readable as Parquet ({str(error).partition(chr(10))[0]})") from None
        return cls(folder, places)

    def find(self, identity: str) -> Mapping[str, Any]:
        """The instance's row (COLUMNS); empty if there is none."""
        place = self.places.get(identity)
        if place is None:
            return {}
        path, group, row = place
        with self._lock:
            held = self._groups.get((path, group))
            if held is None:
                with pq.ParquetFile(path) as file:
                    held = self._groups[path, group] = file.read_row_group(group, columns=list(COLUMNS)).to_pylist()
                if len(self._groups) > _HELD:
                    self._groups.popitem(last=False)
        return held[row]

    def behind(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The instance that a row of 'sft' asks for, with its scenario and task; empty where the row asks for another model (its status or
        optimum differs, or it is about a changed one)."""
        found = self.find(str(record.get("instance_id") or ""))
        if not found or found["status"] != record.get("status") or found["objective_exact"] != record.get("objective_exact"):
            return {}
        try:
            said = json.loads(record.get("metadata") or "{}")
        except (TypeError, ValueError):
            said = {}
        more = {"scenario": str(said.get("scenario") or ""), "formulation": str(said.get("formulation") or "")}
        return {**found, **more, "task": str(record.get("task") or "")}
