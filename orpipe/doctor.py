"""What this machine has, what it lacks, and how to get it: the facts behind `orpipe doctor`.

Everything is looked at or tried, nothing is taken from a list: versions are read and compared with the declared ranges,
each solver solves a small problem, each sandbox layer is entered once.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from orpipe import __version__, resources
from orpipe.errors import OrpipeError

State = Literal["ok", "missing", "limited"]
Area = Literal["python", "package", "judge", "dev", "solver", "sandbox", "machine", "files", "hub"]

ESSENTIAL: frozenset[Area] = frozenset({"python", "package", "solver", "files"})
PYTHON = (3, 11)
_GIB = 1 << 30
_MEMORY, _DISK = 2 * _GIB, 1 * _GIB  # below these a run of the default size may fail

# The licence that comes with the wheel covers small models only; a licence of one's own is found in these places.
_LICENCES = {
    "gurobipy": ("GRB_LICENSE_FILE", "gurobi.lic", "2000 variables x 2000 rows"),
    "coptpy": ("COPT_LICENSE_DIR", "copt/license.dat", "LP 10000 x 10000, MIP 2000 x 2000"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact.  missing: not there, not usable; limited: usable, with the limit in `detail`.  remedy is "" when ok."""

    area: Area
    name: str
    state: State
    detail: str
    remedy: str = ""


def diagnose() -> list[Finding]:
    """All findings, by area; takes about two seconds.  Never raises: what cannot be examined is a finding too."""
    checks: tuple[tuple[Area, Callable[[], Iterable[Finding]]], ...] = (
        ("python", _python), ("package", _packages), ("solver", _solvers), ("sandbox", _sandbox),
        ("machine", _machine), ("files", _files), ("hub", _hub),
    )
    found: list[Finding] = []
    for area, check in checks:
        try:
            found.extend(check())
        except Exception as error:
            cure = "reinstall with 'make setup' or 'pip install --force-reinstall orpipe'"
            found.append(Finding(area, area, "missing", f"cannot be examined: {type(error).__name__}: {error}", cure))
    return found


def essential_missing(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without whose remedy orpipe cannot generate; the command exits with 3 if there are any."""
    return [f for f in findings if f.state == "missing" and f.area in ESSENTIAL]


def _python() -> Iterator[Finding]:
    have, want = platform.python_version(), ".".join(map(str, PYTHON))
    detail = f"{have} at {sys.executable}"
    if sys.version_info >= PYTHON:
        yield Finding("python", "python", "ok", detail)
    else:
        yield Finding("python", "python", "missing", detail, f"install Python {want} or newer")
    yield Finding("python", "orpipe", "ok", f"{__version__} in {Path(__file__).parent}")


def _packages() -> Iterator[Finding]:
    """Each declared dependency against its range, then the optional ones by extra."""
    try:
        declared = [Requirement(line) for line in metadata.requires("orpipe") or []]
    except metadata.PackageNotFoundError:
        detail = "runs from its sources without being installed; versions are not checked"
        yield Finding("package", "orpipe", "limited", detail, "run 'make setup' or 'pip install -e .'")
        return
    areas: tuple[tuple[Area, str], ...] = (("package", ""), ("judge", "judge"), ("dev", "dev"))
    for area, extra in areas:
        for need in declared:
            if need.marker is None:
                wanted = extra == ""
            else:  # a requirement of the base may have a marker as well
                base = need.marker.evaluate({"extra": ""})
                wanted = base if extra == "" else not base and need.marker.evaluate({"extra": extra})
            if wanted:
                yield _package(area, need)


def _package(area: Area, need: Requirement) -> Finding:
    cure = f"pip install '{need.name}{need.specifier}'"
    try:
        have = metadata.version(need.name)
    except metadata.PackageNotFoundError:
        return Finding(area, need.name, "missing", "not installed", cure)
    if not need.specifier.contains(have, prereleases=True):
        return Finding(area, need.name, "limited", f"{have}, tested with {need.specifier}", cure)
    if need.name in _LICENCES:
        variable, path, size = _LICENCES[need.name]
        if not os.environ.get(variable) and not (Path.home() / path).is_file():
            detail = f"{have} with the licence of the wheel: {size}"
            return Finding(area, need.name, "limited", detail, f"for larger models set {variable} to your licence")
    return Finding(area, need.name, "ok", have)


def _solvers() -> Iterator[Finding]:
    """Each adapter on two one-variable problems with optimum 3; two families must manage each kind."""
    import numpy as np  # late, as in the other checks: a broken installation must still be diagnosed

    from orpipe import solve
    from orpipe.problem import Problem

    problems = {
        kind: Problem.from_arrays(
            cost=[1.0], matrix=np.array([[2.0]]), row_lower=[-np.inf], row_upper=[side], lower=[0.0], upper=[9.0],
            integer=[kind == "MILP"], maximize=True, name="doctor",
        )
        for kind, side in (("LP", 6.0), ("MILP", 7.0))
    }
    families: dict[str, set[str]] = {kind: set() for kind in problems}
    for name, adapter in solve.solvers().items():
        kinds, faults = [], []
        for kind, problem in problems.items():
            try:
                if adapter.accepts(problem) is not None:
                    continue
                result = adapter.solve(problem, time_limit=10.0)
            except Exception as error:
                faults.append(f"{kind}: {type(error).__name__}: {error}")
                continue
            if result.outcome is solve.Outcome.OPTIMAL and solve.agree(result.objective or 0.0, 3.0):
                kinds.append(kind)
                families[kind].add(adapter.family)
            else:
                faults.append(f"{kind}: {result} instead of 3")
        detail = f"{adapter.package} {adapter.version}, solves {' and '.join(kinds) or 'nothing'}"
        cure = f"reinstall it: pip install --force-reinstall {adapter.package}" if faults else ""
        yield Finding("solver", name, "limited" if faults else "ok", "; ".join([detail, *faults]), cure)
    for module, why in solve.unavailable().items():
        detail = f"its library cannot be imported: {why}"
        yield Finding("solver", module, "limited", detail, "pip install 'orpipe[judge]'")
    for kind, names in families.items():
        detail = f"{', '.join(sorted(names)) or 'none'}; two are needed to prove a label"
        enough = len(names) >= 2
        cure = "" if enough else "pip install highspy ortools"
        yield Finding("solver", f"families for {kind}", "ok" if enough else "missing", detail, cure)


def _sandbox() -> Iterator[Finding]:
    if sys.platform != "linux":
        detail = f"namespaces, landlock and seccomp need Linux; this is {platform.system()}"
        yield Finding("sandbox", "layers", "missing", detail, "judge untrusted programs on Linux or in a container")
        return
    from orpipe.verify.isolation import available_layers

    for layer in available_layers():
        if layer.available:
            yield Finding("sandbox", layer.name, "ok", layer.what)
        else:
            cure = "use a kernel or container that allows it; without it, judge only programs that you trust"
            yield Finding("sandbox", layer.name, "missing", f"{layer.what}: {layer.reason}", cure)


def _machine() -> Iterator[Finding]:
    yield Finding("machine", "system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("machine", "cores", "ok", str(cores))
    memory = _memory()
    yield _amount("memory", memory, _MEMORY, "close other programs, or use fewer workers (--workers)")
    here = Path.cwd()
    yield _amount("disk", shutil.disk_usage(here).free, _DISK, f"free some space under {here}, or name another --out")


def _amount(name: str, have: int, least: int, cure: str) -> Finding:
    enough = have >= least
    detail = f"{have / _GIB:.1f} GiB free" + ("" if enough else f"; a full run may need {least / _GIB:.0f}")
    return Finding("machine", name, "ok" if enough else "limited", detail, "" if enough else cure)


def _memory() -> int:
    """Bytes that may be used now: what the kernel calls available, within the container's limit if there is one."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit, used = (Path("/sys/fs/cgroup", f"memory.{what}").read_text().strip() for what in ("max", "current"))
    except OSError:
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - int(used)))


def _files() -> Iterator[Finding]:
    for name in ("templates", "data/reference"):
        cure = "reinstall with 'pip install --force-reinstall orpipe', or restore it with git"
        try:
            folder = resources.share(name)
        except OrpipeError as error:
            yield Finding("files", name, "missing", str(error), cure)
            continue
        count = sum(p.is_file() for p in folder.rglob("*"))
        state: State = "ok" if count else "missing"
        yield Finding("files", name, state, f"{count} files in {folder}", "" if count else cure)


def _hub() -> Iterator[Finding]:
    from huggingface_hub import get_token

    if get_token():
        yield Finding("hub", "token", "ok", "found; its rights are checked when pushing")
    else:
        detail = "none; only 'orpipe push' needs it"
        yield Finding("hub", "token", "missing", detail, "set HF_TOKEN or run 'hf auth login'")
