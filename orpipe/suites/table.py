"""Suites as rows of the config `suites`, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orpipe.errors import UsageError
from orpipe.exact import decimal_text
from orpipe.suites.suite import DataSet, Suite

CONFIG = "suites"


def suite_rows(suite: Suite) -> list[dict[str, Any]]:
    """One row a data set, in order."""
    return [{
        "structure_hash": suite.structure_hash, "family": suite.family, "formulation": suite.formulation, "index": k,
        "data": json.dumps(one.data, ensure_ascii=False), "status": one.status,
        "objective_exact": None if one.objective_exact is None else decimal_text(one.objective_exact) or str(one.objective_exact),
        "certificate": one.certificate, "kills": json.dumps(one.kills), "survivors": json.dumps(suite.survivors),
    } for k, one in enumerate(suite.sets)]


def suite_of(rows: list[dict[str, Any]]) -> Suite:
    """The suite of its rows.  KeyError, ValueError or TypeError for rows that are none."""
    rows = sorted(rows, key=lambda r: r["index"])
    first = rows[0]
    return Suite(first["structure_hash"], first["family"], first["formulation"], tuple(_data_set(r) for r in rows),
                 tuple(json.loads(first["survivors"])))


def _data_set(row: Mapping[str, Any]) -> DataSet:
    best = row["objective_exact"]
    return DataSet(json.loads(row["data"]), row["status"], None if best is None else Fraction(best), row["certificate"],
                   tuple(json.loads(row["kills"])))


def read_suites(folder: Path) -> dict[str, Suite]:
    """The suites of a dataset folder by structure hash; {} where it has none.  UsageError if the files are damaged."""
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        for path in sorted((folder / CONFIG).glob("*.parquet")):
            for row in pq.read_table(path).to_pylist():
                found.setdefault(row["structure_hash"], []).append(row)
        return {key: suite_of(rows) for key, rows in found.items()}
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise UsageError(f"'{folder / CONFIG}' holds no readable suites ({' '.join(str(error).split())[:120]}); generate the dataset again") from None
