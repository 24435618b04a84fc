"""Inputs that broke comparable tools, kept in data/reference/regressions with their right answers; found there, none listed here.

A model file is settled as `orpipe solve --certify` does; a program runs in the sandbox and the model it built is settled; a
process is a script of ours that must end in time with the words expected.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orpipe.model_files import read_model
from orpipe.problem import Problem
from orpipe.resources import reference
from orpipe.settle_file import settle_problem
from orpipe.solve import Refusal, label
from orpipe.verify.sandbox import Limits, Pool

FOLDER = Path(str(reference())) / "regressions"
CASES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
ROOT = Path(__file__).resolve().parents[1]


def of(kind: str) -> list[str]:
    return [name for name, case in CASES.items() if case["kind"] == kind]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(workers=1, limits=Limits(seconds=60)) as made:
        yield made


def test_every_case_is_whole() -> None:
    assert {case["case"] for case in CASES.values()} >= {f"S{k}" for k in range(1, 12)}
    files = {case["file"] for case in CASES.values()}
    assert files == {p.name for p in FOLDER.iterdir() if p.suffix != ".json"}
    for name, case in CASES.items():
        assert case["kind"] in ("model", "program", "process") and case["expect"] and len(case["about"]) > 30, name


def right(problem: Problem, case: dict[str, Any]) -> None:
    found = settle_problem(problem, certified=True, time_limit=20.0, nodes=case.get("nodes")).record()
    for key, wanted in case["expect"].items():
        assert found[key] in wanted if isinstance(wanted, list) else found[key] == wanted, (key, found)


@pytest.mark.parametrize("name", of("model"))
def test_a_model_file(name: str) -> None:
    case = CASES[name]
    problem = read_model(FOLDER / case["file"])
    assert "columns" not in case or list(problem.columns) == case["columns"]
    right(problem, case)
    if case.get("nodes"):
        refused = label(problem, nodes=case["nodes"])
        assert isinstance(refused, Refusal) and refused.reason == "limit"


@pytest.mark.parametrize("name", of("program"))
def test_a_program(name: str, pool: Pool) -> None:
    case = CASES[name]
    run = pool.run((FOLDER / case["file"]).read_text(encoding="utf-8"))
    assert run.captured is not None, run
    problem = run.captured.problem()
    assert "variables" not in case or problem.n_vars == case["variables"]
    right(problem, case)


@pytest.mark.parametrize("name", of("process"))
def test_a_process(name: str) -> None:
    case = CASES[name]
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'solvers'}"}
    done = subprocess.run([sys.executable, FOLDER / case["file"]], env=env, capture_output=True, text=True, timeout=case["expect"]["seconds"])
    assert (done.returncode, done.stdout) == (0, case["expect"]["stdout"]), done.stderr
