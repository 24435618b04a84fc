"""Suites while a dataset is made: each is built once, by the process that needs it first, and stored beside the chunks.

A process that needs a suite which another one is building waits for it; a file that was damaged is made again.  What is
built depends on family, formulation and seed alone, so it does not matter who builds it.
"""

from __future__ import annotations

import fcntl
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from orpipe.families import Family, families
from orpipe.ground import structure_hash
from orpipe.suites.build import build_suite
from orpipe.suites.suite import Suite
from orpipe.suites.table import suite_of, suite_rows


class Shelf:
    """folder: None keeps suites in memory alone."""

    def __init__(self, folder: Path | None, seed: int, proof_nodes: int):
        self.folder, self.seed, self.proof_nodes = folder, seed, proof_nodes
        self._held: dict[str, Suite] = {}

    def suite(self, family: Family, formulation: str) -> Suite:
        """Built if need be.  OSError where the folder cannot be written."""
        key = structure_hash(family.symbolic(formulation))
        if key not in self._held:
            self._held[key] = self._fetch(family, formulation, key)
        return self._held[key]

    def of_structure(self, name: str, key: str) -> Suite:
        """By family name and structure hash.  KeyError for a hash that is none of the family's."""
        family = families[name]
        by_hash = {structure_hash(family.symbolic(f)): f for f in family.formulations}
        return self.suite(family, by_hash[key])

    def _fetch(self, family: Family, formulation: str, key: str) -> Suite:
        if self.folder is None:
            return _built(family.name, formulation, self.seed, self.proof_nodes)
        path = self.folder / f"suite-{key}.json"
        if (found := _read(path)) is not None:
            return found
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = _read(path)
            if found is None:
                found = _built(family.name, formulation, self.seed, self.proof_nodes)
                part = path.with_suffix(".part")
                part.write_text(_written(found), encoding="utf-8")
                part.rename(path)
        return found


@lru_cache(maxsize=256)
def _built(family: str, formulation: str, seed: int, proof_nodes: int) -> Suite:
    return build_suite(families[family], formulation, seed, proof_nodes=proof_nodes)


def _written(suite: Suite) -> str:
    """Unlike rows alone, also a suite without data sets, and what was met on the way."""
    return json.dumps({"names": [suite.structure_hash, suite.family, suite.formulation], "rows": suite_rows(suite),
                       "survivors": suite.survivors, "disagreements": suite.disagreements})


def _read(path: Path) -> Suite | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        key, family, formulation = content["names"]
        bare = Suite(key, family, formulation, (), tuple(content["survivors"]), tuple(content["disagreements"]))
        return replace(bare, sets=suite_of(content["rows"]).sets) if content["rows"] else bare
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
