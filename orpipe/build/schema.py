"""Columns of the Parquet files.  Later versions add columns, never rename them."""

from __future__ import annotations

import pyarrow as pa

_S, _I, _F = pa.string(), pa.int64(), pa.float64()

INSTANCES = pa.schema([
    ("id", _S), ("family", _S), ("problem_class", _S), ("kind", _S), ("level", _I), ("seed", _I), ("n_vars", _I), ("n_int", _I),
    ("n_bin", _I), ("n_rows", _I), ("n_nonzeros", _I), ("sense", _S), ("status", _S), ("objective", _F), ("objective_exact", _S),
    ("solution", _S), ("data", _S), ("mps", _S), ("structure_hash", _S), ("data_hash", _S), ("solvers", _S), ("source", _S),
    ("license", _S), ("language", _S), ("generator_version", _S), ("certificate", _S), ("unique", _S), ("binding", _S), ("duals", _S),
    ("iis", _S),
    ("discrimination_headline", _F), ("discrimination_suite", _F), ("survivors", _S),
])
CPT = pa.schema([
    ("id", _S), ("text", _S), ("doc_type", _S), ("instance_id", _S), ("family", _S), ("problem_class", _S), ("level", _I),
    ("dialect", _S), ("interface", _S),
])
SFT = pa.schema([
    ("id", _S), ("messages", pa.list_(pa.struct([("role", _S), ("content", _S)]))), ("task", _S), ("subtask", _S),
    ("interface", _S), ("dialect", _S), ("instance_id", _S), ("family", _S), ("problem_class", _S), ("level", _I), ("status", _S),
    ("objective", _F), ("objective_exact", _S), ("files", _S), ("metadata", _S),
])
_CHAT = pa.list_(pa.struct([("role", _S), ("content", _S)]))
PREFERENCE = pa.schema([
    ("id", _S), ("prompt", _CHAT), ("chosen", _CHAT), ("rejected", _CHAT), ("operator", _S), ("reason", _S), ("rejected_status", _S),
    ("rejected_objective_exact", _S), ("interface", _S), ("dialect", _S), ("instance_id", _S), ("family", _S), ("problem_class", _S),
    ("level", _I), ("status", _S), ("objective", _F), ("objective_exact", _S), ("files", _S), ("metadata", _S),
])
REJECTED = pa.schema([("stage", _S), ("reason", _S), ("family", _S), ("level", _I), ("seed", _I), ("detail", _S)])
SUITES = pa.schema([
    ("structure_hash", _S), ("family", _S), ("formulation", _S), ("index", _I), ("data", _S), ("status", _S), ("objective_exact", _S),
    ("certificate", _S), ("kills", _S), ("survivors", _S),
])

CONFIGS: dict[str, pa.Schema] = {
    "sft": SFT, "cpt": CPT, "preference": PREFERENCE, "instances": INSTANCES, "rejected": REJECTED, "suites": SUITES,
}
SPLITS = ("train", "validation", "test")
SPLITS_OF: dict[str, tuple[str, ...]] = {"rejected": ("train",), "suites": ("test",)}  # of the others: SPLITS
