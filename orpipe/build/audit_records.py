"""What auditing notes, and what it keeps of a dataset and its instances."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from orpipe.build.schema import CONFIGS
from orpipe.errors import UsageError

_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Fault:
    """A check that failed, or that could not be decided."""

    config: str
    id: str
    check: str
    detail: str


@dataclass(frozen=True)
class Undecided:
    """Why a check has no result here."""

    why: str


Finding = str | Undecided | None  # what is wrong, why it is not known, or nothing


class Check(NamedTuple):
    name: str
    finding: Finding


@dataclass
class Audit:
    """checks: how many of each passed; faults and undecided: everything that did not."""

    checks: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    undecided: list[Fault] = field(default_factory=list)

    def note(self, config: str, id: str, check: str, finding: Finding) -> None:
        if finding is None:
            self.checks[check] += 1
        elif isinstance(finding, Undecided):
            self.undecided.append(Fault(config, id, check, finding.why))
        else:
            self.faults.append(Fault(config, id, check, finding))


@dataclass(frozen=True)
class Manifest:
    counts: Mapping[str, Mapping[str, int]]
    sha256: Mapping[str, str]
    proof_nodes: int
    disagreements: int | None  # None in folders of before they were counted


def open_manifest(folder: Path) -> Manifest:
    """UsageError if the folder is no dataset."""
    try:
        content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        stated = {"suites": {}} | content["counts"]  # folders of before there were suites
        counts = {config: {str(k): int(v) for k, v in stated[config].items()} for config in CONFIGS}
        told = content.get("disagreements")
        return Manifest(counts, dict(content["sha256"]), int(content["recipe"]["proof_nodes"]), None if told is None else int(told))
    except OSError:
        raise UsageError(f"'{folder}' is not a dataset of orpipe (no manifest.json); name a folder written by 'orpipe generate'") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"'{folder}/manifest.json' is damaged ({error}); generate the dataset again") from None


@dataclass(frozen=True)
class Known:
    """What rows of sft and cpt are compared with; the texts are packed to keep memory small."""

    id: str
    split: str
    status: str
    objective: float | None
    objective_exact: str | None
    packed: bytes

    @classmethod
    def of(cls, row: Mapping[str, Any], split: str) -> Known:
        kept = json.dumps({k: row[k] for k in ("family", "data", "mps", "structure_hash", "solution", "duals")})
        return cls(row["id"], split, row["status"], row["objective"], row["objective_exact"], zlib.compress(kept.encode(), 1))

    @property
    def row(self) -> dict[str, Any]:
        return json.loads(zlib.decompress(self.packed))

    @property
    def optimum(self) -> Fraction | None:
        return None if self.objective_exact is None else Fraction(self.objective_exact)


def close(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and abs(a - b) <= _TOLERANCE * max(1.0, abs(b))
