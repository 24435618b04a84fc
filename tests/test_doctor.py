"""The doctor tells the truth about this machine, and about machines that lack something."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from orpipe import doctor, resources, solve
from orpipe.doctor import Area, Finding, diagnose, essential_missing
from orpipe.errors import EnvironmentError_
from orpipe.verify import isolation


def named(found: list[Finding], area: str, name: str) -> Finding:
    return next(f for f in found if f.area == area and f.name == name)


def requires(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: list(lines))


def test_this_machine_can_generate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    requires(monkeypatch, "numpy>=2.0", "coptpy>=8,<9; extra == 'judge'", "pytest>=8; extra == 'dev'")
    found = diagnose()
    assert essential_missing(found) == []
    assert {f.area for f in found} == set(get_args(Area))
    assert all(f.remedy == "" for f in found if f.state == "ok")
    assert all(f.remedy for f in found if f.state != "ok")
    assert all("\n" not in f.detail + f.remedy and "hf_verysecret" not in f.detail for f in found)
    assert named(found, "hub", "token").state == "ok"
    assert named(found, "solver", "highs").detail.endswith("solves LP and MILP")
    assert len([f for f in found if (f.area, f.name) == ("package", "numpy")]) == 1


def test_without_a_token_only_the_hub_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    found = diagnose()
    assert named(found, "hub", "token").state == "missing"
    assert "hub" not in {f.area for f in essential_missing(found)}


def test_packages_are_compared_with_the_declared_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    requires(
        monkeypatch, "numpy>=2.0", "pyyaml<1", "orpipe-no-such-thing>=3", "colorama; sys_platform == 'win32'",
        "gurobipy<1; extra == 'judge'", "orpipe-no-such-judge; extra == 'judge'", "pytest>=8; extra == 'dev'",
    )
    found = {f.name: f for f in doctor._packages()}
    assert found["numpy"] == Finding("package", "numpy", "ok", metadata.version("numpy"))
    assert (found["pyyaml"].state, found["pyyaml"].remedy) == ("limited", "pip install 'pyyaml<1'")
    assert "tested with <1" in found["pyyaml"].detail
    assert found["orpipe-no-such-thing"].state == "missing"
    assert found["orpipe-no-such-thing"].remedy == "pip install 'orpipe-no-such-thing>=3'"
    assert (found["gurobipy"].area, found["gurobipy"].state) == ("judge", "limited")
    assert found["pytest"].area == "dev"
    assert "colorama" not in found, "its marker does not hold here"
    assert [f.name for f in essential_missing(found.values())] == ["orpipe-no-such-thing"]


@pytest.mark.parametrize("own", ["none", "variable", "file"])
def test_a_licence_of_ones_own_lifts_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str) -> None:
    requires(monkeypatch, "coptpy>=8; extra == 'judge'")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("COPT_LICENSE_DIR", raising=False)
    if own == "variable":
        monkeypatch.setenv("COPT_LICENSE_DIR", str(tmp_path))
    if own == "file":
        (tmp_path / "copt").mkdir()
        (tmp_path / "copt" / "license.dat").touch()
    (found,) = doctor._packages()
    assert found.state == ("limited" if own == "none" else "ok")
    assert ("MIP 2000 x 2000" in found.detail) == (own == "none")


def test_sources_that_are_not_installed_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    (found,) = doctor._packages()
    assert (found.state, found.remedy) == ("limited", "run 'make setup' or 'pip install -e .'")


def test_an_old_python_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    monkeypatch.setattr(platform, "python_version", lambda: "3.9.0")
    old = next(iter(doctor._python()))
    assert (old.state, old.remedy) == ("missing", "install Python 3.11 or newer")


def test_one_solver_family_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    highs = {name: s for name, s in solve.solvers().items() if s.family == "highs"}
    monkeypatch.setattr(solve, "solvers", lambda: highs)
    monkeypatch.setattr(solve, "unavailable", lambda: {"other": "No module named 'other'"})
    found = diagnose()
    assert {f.name for f in essential_missing(found)} == {"families for LP", "families for MILP"}
    assert named(found, "solver", "families for LP").detail == "highs; two are needed to prove a label"
    assert named(found, "solver", "other").state == "limited"


@pytest.mark.parametrize("fault", ["wrong", "raises"])
def test_a_solver_that_fails_its_trial_is_no_witness(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    class Broken(solve.Solver):
        name, family, package = "broken", "broken", "numpy"

        def accepts(self, problem: object) -> None:
            return None

        def run(self, problem: object, *limits: object) -> solve.Answer:
            if fault == "raises":
                raise RuntimeError("no licence")
            return solve.Answer(solve.Outcome.OPTIMAL, objective=2.0)

    monkeypatch.setattr(solve, "solvers", lambda: {"broken": Broken(), "highs": solve.solver("highs")})
    found = list(doctor._solvers())
    broken = named(found, "solver", "broken")
    assert broken.state == "limited" and "solves nothing" in broken.detail
    assert ("RuntimeError: no licence" if fault == "raises" else "optimal 2 instead of 3") in broken.detail
    assert named(found, "solver", "families for LP").detail.startswith("highs;")


def test_a_refused_sandbox_layer_is_missing_but_not_essential(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = isolation.Layer("seccomp", "filter", False, "Operation not permitted")
    layers = (refused, isolation.Layer("pid", "names", True))
    monkeypatch.setattr(isolation, "available_layers", lambda: layers)
    seccomp, pid = doctor._sandbox()
    assert (seccomp.state, seccomp.detail) == ("missing", "filter: Operation not permitted")
    assert pid == Finding("sandbox", "pid", "ok", "names")
    assert essential_missing([seccomp, pid]) == []


def test_other_systems_have_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    (found,) = doctor._sandbox()
    assert found.state == "missing" and "need Linux" in found.detail


def test_little_memory_and_disk_are_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_memory", lambda: 1 << 29)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 28))
    found = list(doctor._machine())
    assert (named(found, "machine", "memory").state, named(found, "machine", "disk").state) == ("limited", "limited")
    assert named(found, "machine", "memory").detail == "0.5 GiB free; a full run may need 2"


@pytest.mark.parametrize(
    ("files", "want"),
    [
        ({"/proc/meminfo": "MemTotal: 9 kB\nMemAvailable:   2048 kB\n"}, 2048 * 1024),
        ({"/proc/meminfo": "MemAvailable: 2048 kB\n", "/sys/fs/cgroup/memory.max": "max\n",
          "/sys/fs/cgroup/memory.current": "5\n"}, 2048 * 1024),
        ({"/proc/meminfo": "MemAvailable: 2048 kB\n", "/sys/fs/cgroup/memory.max": "1000\n",
          "/sys/fs/cgroup/memory.current": "400\n"}, 600),
    ],
)
def test_memory_is_what_kernel_and_container_leave(monkeypatch: pytest.MonkeyPatch, files: dict, want: int) -> None:
    def read(self: Path) -> str:
        if str(self) not in files:
            raise FileNotFoundError(self)
        return files[str(self)]

    monkeypatch.setattr(Path, "read_text", read)
    assert doctor._memory() == want


def _absent(name: str) -> Path:
    raise EnvironmentError_(f"folder '{name}' of orpipe is missing")


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_missing_words_are_essential(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str) -> None:
    share: Callable[[str], Path] = _absent if how == "absent" else lambda name: tmp_path
    monkeypatch.setattr(resources, "share", share)
    found = list(doctor._files())
    assert [f.name for f in essential_missing(found)] == ["templates", "data/reference"]


def test_what_cannot_be_examined_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: 1 / 0)
    (found,) = essential_missing(diagnose())
    assert (found.area, found.state) == ("package", "missing")
    assert found.detail == "cannot be examined: ZeroDivisionError: division by zero"
