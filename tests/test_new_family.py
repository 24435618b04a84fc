"""The starter family passes, as written, the tests that every family passes; bad names are refused in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAME = "crew_rostering"


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A module of the copy, in a fresh interpreter that sees the copy first."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    env = kept | {"PYTHONPATH": os.pathsep.join([str(tree), str(tree / "solvers")]), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=tree, env=env, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clone")
    for name in ("orpipe", "solvers", "templates", "data/reference"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests").mkdir()
    for name in ("pyproject.toml", "tests/test_families.py", "tests/conftest.py"):
        shutil.copy(ROOT / name, root / name)
    return root


@pytest.fixture(scope="module")
def written(tree: Path) -> list[str]:
    made = run(tree, "-m", "orpipe.testing.new_family", NAME, "--class", "rosters")
    assert made.returncode == 0, made.stderr
    return re.findall(r"^wrote (\S+)$", made.stdout, re.M)


def test_it_writes_a_whole_family(tree: Path, written: list[str]) -> None:
    words = [f"templates/nl/{NAME}/{part}.j2" for part in ("answer", "brief", "facts", "memo", "textbook")]
    assert written == ["orpipe/families/rosters/__init__.py", f"orpipe/families/rosters/{NAME}.py",
                       f"data/reference/scenarios/{NAME}.yaml", *words]
    source = (tree / written[1]).read_text("utf-8")
    assert '@family("crew_rostering", cls="rosters", kind="LP"' in source and "class CrewRostering(Family)" in source
    left = [path for path in written for token in ("family_name", "problem_class", "FamilyName", "Family title", "TODO")
            if token in (tree / path).read_text("utf-8")]
    assert left == []


@pytest.mark.slow
def test_it_passes_the_conformance_suite_as_written(tree: Path, written: list[str]) -> None:
    ran = run(tree, "-m", "pytest", "tests/test_families.py", "-k", NAME, "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed and int(passed[1]) >= 17, ran.stdout  # eight checks, four of them by level, five dialects, five templates


def test_it_is_found_and_shown(tree: Path, written: list[str]) -> None:
    shown = run(tree, "-m", "orpipe.cli", "show", NAME, "--as", "algebra")
    assert shown.returncode == 0 and "capacity[k]: sum{a in A} r[a,k]*x[a] <= b[k]" in shown.stdout, shown.stderr


@pytest.mark.slow
def test_its_code_is_clean(tree: Path, written: list[str]) -> None:
    checked = run(tree, "-m", "ruff", "check", "--no-cache", written[1])
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (["Crew Rostering"], "'Crew Rostering' cannot name a family"), (["class"], "'class' cannot name a family"),
    (["2opt"], "'2opt' cannot name a family"), (["crew__roster"], "cannot name a family"), ([""], "'' cannot name a family"),
    (["../crew"], "cannot name a family"), (["knapsack"], "family 'knapsack' exists already, in class packing"),
    (["crew_plan", "--class", "Rosters"], "'Rosters' cannot name a class"),
    (["crew_plan", "--class", "draw"], "class 'draw' would hide orpipe/families/draw.py"),
    ([NAME, "--class", "rosters"], f"family '{NAME}' exists already, in class rosters"),
])
def test_refused_in_one_line(tree: Path, written: list[str], arguments: list[str], said: str) -> None:
    before = sorted(tree.rglob("*"))
    ran = run(tree, "-m", "orpipe.testing.new_family", *arguments)
    assert ran.returncode == 2 and ran.stdout == ""
    assert said in ran.stderr and ran.stderr.startswith("orpipe.testing.new_family: ") and ran.stderr.count("\n") == 1
    assert sorted(tree.rglob("*")) == before


def test_nothing_is_written_over_and_nothing_by_half(tree: Path) -> None:
    kept = tree / "data/reference/scenarios/half_done.yaml"
    kept.write_text("mine", "utf-8")
    ran = run(tree, "-m", "orpipe.testing.new_family", "half_done")
    assert ran.returncode == 2 and "'data/reference/scenarios/half_done.yaml' exists already" in ran.stderr
    assert kept.read_text("utf-8") == "mine" and not (tree / "orpipe/families/production/half_done.py").exists()
    assert not (tree / "templates/nl/half_done").exists()
    kept.unlink()
