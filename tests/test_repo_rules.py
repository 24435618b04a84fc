"""The walls of the house (docs/architecture.md), held by reading the sources; each rule is also shown to fail."""

from __future__ import annotations

import ast
import fnmatch
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = 450

SOLVER_LIBRARIES = {
    "highspy", "ortools", "pyomo", "pulp", "gurobipy", "coptpy", "pyscipopt", "cvxpy", "mip", "cplex", "docplex",
    "xpress", "mosek", "scipy.optimize",
}
MAY_IMPORT_SOLVERS = ["orpipe/verify/capture/*.py"]  # hooks the libraries inside the sandbox

RUNNERS = {"subprocess", "runpy", "pty", "code", "codeop", "pickle", "marshal", "shelve"}
RUNNER_NAMES = {"exec", "eval", "compile", "__import__"}
RUNNER_OS = re.compile(r"system|popen|fork|forkpty|exec[lv]\w*|spawn\w*|posix_spawnp?")
MAY_RUN = {
    "orpipe/verify/pump.py": "starts the warm parents, our own module in a fresh interpreter",
    "orpipe/verify/zygote.py": "the warm parent: forks a child for each program",
    "orpipe/verify/child.py": "the confined child: runs the program",
    "orpipe/verify/isolation.py": "the walls: forks into namespaces, tries each layer in a fresh interpreter",
    "orpipe/verify/capture/__init__.py": "runs our own rehearsal of a library in the warm parent",
    "orpipe/verify/solving.py": "starts solving processes, our own module in a fresh interpreter",
    "orpipe/testing/bench_verify.py": "the plain runner that the judge is measured against; runs our own programs",
    "orpipe/testing/attacks.py": "plays the attack corpus: keeps a process and files of its own for the attacks to go after",
    "orpipe/build/hub.py": "starts readback.py, our own file, because endpoint and cache are read at import",
}

MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:work|root|tmp|home|Users)/[\w.{]")
REGISTRY = re.compile(r"index[-]url|find[-]links|/simple[/]|pypi[.]org|pythonhosted[.]org|registry[.]npmjs")
LOCK_FILES = ["*.lock", "*.lockb", "*-lock.json", "*-lock.y*ml", "Pipfile.lock"]


# ---- reading


def files(root: Path, pattern: str = "*") -> Iterator[tuple[str, Path]]:
    """Every file that belongs to the project: no hidden folders but .ci, no environment, cache, build or data/out."""
    for folder, inside, names in os.walk(root):
        here = Path(folder)
        inside[:] = sorted(
            d for d in inside
            if (d == ".ci" or not d.startswith(".")) and d not in ("__pycache__", "node_modules", "dist", "_share")
            and not d.endswith(".egg-info") and not (here / d / "pyvenv.cfg").exists()
            and (here / d).relative_to(root).as_posix() not in ("data/out", "build")
        )
        for name in sorted(set(names) - {".git"}):  # a worktree's link
            path = (here / name).relative_to(root).as_posix()
            if fnmatch.fnmatch(path, pattern):
                yield path, here / name


def texts(root: Path) -> Iterator[tuple[str, int, str]]:
    """(path, line number, line) of every file that is UTF-8 text."""
    for path, file in files(root):
        data = file.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            yield path, number, line


def trees(root: Path, *patterns: str) -> Iterator[tuple[str, ast.Module]]:
    for pattern in patterns:
        for path, file in files(root, pattern):
            try:
                yield path, ast.parse(file.read_text("utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue  # reported by sources_parse


def imported(node: ast.AST) -> Iterator[str]:
    """Dotted names that a node imports, by statement or by import_module("...")."""
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        case ast.Call(func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                      args=[ast.Constant(value=str(name)), *_]):
            yield name


def is_or_within(name: str, packages: set[str]) -> bool:
    return any(name == p or name.startswith(p + ".") for p in packages)


# ---- the rules: each gives its violations


def solvers_stay_in_their_room(root: Path) -> list[str]:
    """Only solvers/orpipe_solvers (and the capture hooks) import a solver library."""
    return [
        f"{path}:{node.lineno} imports {name}"  # type: ignore[attr-defined]
        for path, tree in trees(root, "orpipe/*.py")
        if not any(fnmatch.fnmatch(path, p) for p in MAY_IMPORT_SOLVERS)
        for node in ast.walk(tree)
        for name in dict.fromkeys(imported(node))
        if is_or_within(name, SOLVER_LIBRARIES)
    ]


def only_the_sandbox_runs_code(root: Path) -> list[str]:
    """No exec, eval, fork, process or unpickling outside the sandbox and what MAY_RUN gives a reason for."""
    return [
        f"{path}:{line} uses {what}"
        for path, tree in trees(root, "orpipe/*.py", "solvers/*.py") if path not in MAY_RUN
        for line, what in running(tree)
    ]


def running(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for name in dict.fromkeys(imported(node)):
            if is_or_within(name, RUNNERS) or (name.startswith("os.") and RUNNER_OS.fullmatch(name[3:])):
                yield node.lineno, name  # type: ignore[attr-defined]
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in RUNNER_NAMES:
                yield node.lineno, name
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if RUNNER_OS.fullmatch(name):
                yield node.lineno, f"os.{name}"
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in RUNNER_NAMES:
                yield node.lineno, name
            case ast.Attribute(attr="create_subprocess_exec" | "create_subprocess_shell" as name):
                yield node.lineno, name


def no_machine_paths(root: Path) -> list[str]:
    return [f"{path}:{k} {line.strip()[:80]}" for path, k, line in texts(root) if MACHINE_PATH.search(line)]


def no_registry_hosts(root: Path) -> list[str]:
    return [f"{path}:{k} {line.strip()[:80]}" for path, k, line in texts(root) if REGISTRY.search(line)]


def files_stay_readable_in_length(root: Path) -> list[str]:
    found = []
    for pattern in ("orpipe/*.py", "solvers/*.py"):
        for path, file in files(root, pattern):
            lines = len(file.read_text("utf-8").splitlines())
            if lines > MOST_LINES:
                found.append(f"{path}: {lines} lines")
    return found


def modules_say_what_they_are(root: Path) -> list[str]:
    """Every public module has a docstring; an empty __init__.py only marks a package."""
    return [
        path for path, tree in trees(root, "orpipe/*.py", "solvers/*.py")
        if tree.body and ast.get_docstring(tree) is None
        and (path.endswith("__init__.py") or not Path(path).name.startswith("_"))
    ]


def no_lock_files(root: Path) -> list[str]:
    return [path for path, file in files(root) if any(fnmatch.fnmatch(file.name, p) for p in LOCK_FILES)]


def sources_parse(root: Path) -> list[str]:
    found = []
    for path, file in files(root, "*.py"):
        try:
            ast.parse(file.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            found.append(f"{path}: {error}")
    return found


def licence_is_apache(root: Path) -> list[str]:
    text = (root / "LICENSE").read_text("utf-8") if (root / "LICENSE").is_file() else ""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    want = ["Apache License", "Version 2.0, January 2004", "TERMS AND CONDITIONS FOR USE", "END OF TERMS AND"]
    found = [f"LICENSE: no '{phrase}'" for phrase in want if phrase not in text]
    return found + (["pyproject.toml: license"] if project.get("license") != "Apache-2.0" else [])


def constraints_fit_the_project(root: Path) -> list[str]:
    """constraints.txt is name==version only, and every declared dependency is in it at a version that it allows."""
    pins, found = {}, []
    for line in (root / "constraints.txt").read_text("utf-8").splitlines():
        if match := re.fullmatch(r"([A-Za-z0-9][\w.-]*)==([\w.+!]+)", line):
            pins[canonical(match[1])] = Version(match[2])
        else:
            found.append(f"constraints.txt: '{line}' is not name==version")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    for line in [*project["dependencies"], *(n for extra in project["optional-dependencies"].values() for n in extra)]:
        need = Requirement(line)
        pin = pins.get(canonical(need.name))
        if pin is None or not need.specifier.contains(pin, prereleases=True):
            found.append(f"constraints.txt: {need.name} is {pin}, pyproject.toml says {need.specifier}")
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def ci_checks_and_tests(root: Path) -> list[str]:
    """.ci/run stops at the first failure and runs `make check` and `make test`."""
    script = root / ".ci" / "run"
    lines = script.read_text("utf-8").splitlines() if script.is_file() else []
    want = ["#!/usr/bin/env bash", "set -euo pipefail", "make check", "make test"]
    found = [f".ci/run: no '{line}'" for line in want if line not in lines]
    return found + ([".ci/run: not executable"] if lines and not os.access(script, os.X_OK) else [])


Rule = Callable[[Path], list[str]]
RULES: list[Rule] = [
    solvers_stay_in_their_room, only_the_sandbox_runs_code, no_machine_paths, no_registry_hosts,
    files_stay_readable_in_length, modules_say_what_they_are, no_lock_files, sources_parse, licence_is_apache,
    constraints_fit_the_project, ci_checks_and_tests,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_holds(rule: Rule) -> None:
    assert rule(ROOT) == []


def test_each_permission_to_run_code_is_still_used() -> None:
    idle = [path for path in MAY_RUN if not list(running(ast.parse((ROOT / path).read_text("utf-8"))))]
    assert idle == [], "remove them from MAY_RUN"


def test_the_walk_sees_the_project() -> None:
    seen = {path for path, _ in files(ROOT)}
    assert {"Makefile", "pyproject.toml", ".ci/run", "orpipe/errors.py", "tests/test_repo_rules.py"} <= seen
    assert not any(path.startswith((".venv/", ".git/", "data/out/")) for path in seen)


# ---- each rule can fail

GOOD = {
    "LICENSE": (ROOT / "LICENSE").read_text("utf-8"),
    "pyproject.toml": '[project]\nlicense = "Apache-2.0"\ndependencies = ["a>=1,<2"]\n'
                      'optional-dependencies.x = ["B_c"]\n',
    "constraints.txt": "a==1.5\nb-c==2.0\n",
    ".ci/run": (ROOT / ".ci" / "run").read_text("utf-8"),
    "orpipe/__init__.py": "",
    "orpipe/verify/capture/x.py": '"""Hooks."""\nimport pulp\n',
    "orpipe/verify/zygote.py": '"""Runs."""\nimport subprocess\n',
    "orpipe/solve.py": '"""Solves by name."""\nimport re\nre.compile("import pyomo")\nX = "import pulp; eval(1)"\n',
    "solvers/orpipe_solvers/highs.py": '"""Adapter."""\nimport highspy\n',
    "tests/test_x.py": "import subprocess\nimport pulp\n",
    ".venv/pyvenv.cfg": "home = /" + "root/x\n",
    "data/out/readme.lock": "/" + "tmp/x",
}
PLANTED: list[tuple[Rule, str, str, str]] = [
    (solvers_stay_in_their_room, "orpipe/solve.py", "import numpy, highspy as h", "orpipe/solve.py:1 imports highspy"),
    (solvers_stay_in_their_room, "orpipe/a/b.py", "def f():\n    from ortools.sat import x",
     "orpipe/a/b.py:2 imports ortools.sat"),
    (solvers_stay_in_their_room, "orpipe/a.py", "from scipy import optimize", "orpipe/a.py:1 imports scipy.optimize"),
    (solvers_stay_in_their_room, "orpipe/a.py", "import importlib as i\ni.import_module('pulp')",
     "orpipe/a.py:2 imports pulp"),
    (solvers_stay_in_their_room, "orpipe/verify/b.py", "import pyomo.core", "orpipe/verify/b.py:1 imports pyomo.core"),
    (only_the_sandbox_runs_code, "orpipe/a.py", "exec('1')", "orpipe/a.py:1 uses exec"),
    (only_the_sandbox_runs_code, "orpipe/a.py", "def f():\n    return eval('1')", "orpipe/a.py:2 uses eval"),
    (only_the_sandbox_runs_code, "orpipe/a.py", "import builtins\nbuiltins.compile('1')", "orpipe/a.py:2 uses compile"),
    (only_the_sandbox_runs_code, "orpipe/a.py", "from subprocess import run", "orpipe/a.py:1 uses subprocess"),
    (only_the_sandbox_runs_code, "orpipe/a.py", "import os\nos.execvp('x', [])", "orpipe/a.py:2 uses os.execvp"),
    (only_the_sandbox_runs_code, "orpipe/a.py", "from os import fork as f", "orpipe/a.py:1 uses os.fork"),
    (only_the_sandbox_runs_code, "orpipe/a.py", "import asyncio\nasyncio.create_subprocess_exec('x')",
     "orpipe/a.py:2 uses create_subprocess_exec"),
    (only_the_sandbox_runs_code, "solvers/x/a.py", "import pickle", "solvers/x/a.py:1 uses pickle"),
    (no_machine_paths, "docs/a.md", "see /" + "work/main", "docs/a.md:1 see /" + "work/main"),
    (no_machine_paths, "tests/a.py", "x = 1\nopen('/" + "tmp/x')", "tests/a.py:2 open('/" + "tmp/x')"),
    (no_machine_paths, "templates/a.j2", "/" + "home/me", "templates/a.j2:1 /" + "home/me"),
    (no_registry_hosts, "Makefile", "pip install --index" + "-url x", "Makefile:1 pip install --index" + "-url x"),
    (no_registry_hosts, "README.md", "https://pypi" + ".org/p", "README.md:1 https://pypi" + ".org/p"),
    (files_stay_readable_in_length, "orpipe/a.py", "x = 1\n" * 451, "orpipe/a.py: 451 lines"),
    (files_stay_readable_in_length, "solvers/a.py", "x = 1\n" * 500, "solvers/a.py: 500 lines"),
    (modules_say_what_they_are, "orpipe/a.py", "x = 1", "orpipe/a.py"),
    (modules_say_what_they_are, "orpipe/b/__init__.py", "x = 1", "orpipe/b/__init__.py"),
    (no_lock_files, "uv.lock", "", "uv.lock"),
    (no_lock_files, "docs/package-lock.json", "", "docs/package-lock.json"),
    (sources_parse, "tests/a.py", "def", "tests/a.py: invalid syntax (<unknown>, line 1)"),
    (licence_is_apache, "LICENSE", "MIT", "LICENSE: no 'Apache License'"),
    (licence_is_apache, "pyproject.toml", '[project]\nlicense = "MIT"', "pyproject.toml: license"),
    (constraints_fit_the_project, "constraints.txt", "a==2.0\nb-c==1",
     "constraints.txt: a is 2.0, pyproject.toml says <2,>=1"),
    (constraints_fit_the_project, "constraints.txt", "a==1.1", "constraints.txt: B_c is None, pyproject.toml says "),
    (constraints_fit_the_project, "constraints.txt", "a==1\nb.c==1\n-e .",
     "constraints.txt: '-e .' is not name==version"),
    (ci_checks_and_tests, ".ci/run", "make test || true", ".ci/run: no 'make test'"),
]


def plant(root: Path, contents: dict[str, str]) -> Path:
    for path, text in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    (root / ".ci" / "run").chmod(0o755)
    return root


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_accepts_a_good_tree(rule: Rule, tmp_path: Path) -> None:
    assert rule(plant(tmp_path, GOOD)) == []


@pytest.mark.parametrize(("rule", "path", "text", "message"), PLANTED, ids=lambda v: getattr(v, "__name__", None))
def test_a_planted_violation_is_found(rule: Rule, path: str, text: str, message: str, tmp_path: Path) -> None:
    assert message in rule(plant(tmp_path, GOOD | {path: text}))


def test_every_rule_has_a_planted_violation() -> None:
    assert {rule for rule, *_ in PLANTED} == set(RULES)


def test_ci_must_be_executable(tmp_path: Path) -> None:
    root = plant(tmp_path, GOOD)
    (root / ".ci" / "run").chmod(0o644)
    assert ci_checks_and_tests(root) == [".ci/run: not executable"]
