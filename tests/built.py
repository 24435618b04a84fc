"""A small dataset made by the command line, once for all tests that look at one; never changed by them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[1]
RECIPE = """
name: small
seed: 3
sft: 46
cpt: 13
families: [knapsack, tsp, transportation]
levels: [1, 2]
dialects: [pyomo, highspy]
validation: 0.2
test: 0.15
"""
SLOTS = 13


def environment(**more: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'solvers'}", "COLUMNS": "200"} | more


def start(*arguments: object, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([sys.executable, "-m", "orpipe.cli", *map(str, arguments)], text=True, env=env or environment(), **options)


def generate(recipe: Path, out: Path, *flags: object, **more: str) -> dict[str, Any]:
    """What `orpipe generate --json` prints; it must end well and say nothing else but, on a slow machine, how far it is."""
    process = start("generate", recipe, "--out", out, "--json", *flags, env=environment(**more))
    stdout, stderr = process.communicate(timeout=300)
    said = [line for line in stderr.splitlines() if not line.startswith("solve instances ")]
    assert (process.returncode, said) == (0, []), stderr
    return json.loads(stdout)


def digests(folder: Path) -> dict[str, str]:
    """sha256 of every file but timings.json."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "timings.json")
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def rows(folder: Path, config: str) -> list[dict[str, Any]]:
    """Rows of all splits, each with its split under the key "split"."""
    found = []
    for path in sorted((folder / config).glob("*.parquet")):
        found += [row | {"split": path.name.partition("-")[0]} for row in pq.read_table(path).to_pylist()]
    return found


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of a test run have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(scope="session")
def recipe(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "small.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def dataset(shared: Path, recipe: Path) -> Path:
    """RECIPE on two workers; what `generate` said stands beside it in said.json."""
    folder = shared / "small"
    with (shared / "small.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            (shared / "said.json").write_text(json.dumps(generate(recipe, folder, "--workers", 2, PYTHONHASHSEED="1")), encoding="utf-8")
    return folder
