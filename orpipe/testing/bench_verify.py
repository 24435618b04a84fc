"""Answers judged per second, library by library, beside a plain runner: a fresh interpreter for each program.

    python -m orpipe.testing.bench_verify                     five libraries
    python -m orpipe.testing.bench_verify --update-readme     and the tables of README.md and docs/judging.md replaced
    python -m orpipe.testing.bench_verify --memory 10000      resident memory while so many answers are judged, in ten steps

The answers are transportation models of 5 x 6, every one with other data, as Markdown with one fence; one label in four is
wrong, so that the proof of another optimum is part of the figure.  The judge is warm when the clock starts (starting it is measured
apart).  The plain runner does less: no isolation, no capture, no solve of its own; it runs the same programs and takes the
number they print.  "CPU ms" is processor time an answer, of the judge and all its processes: the figure that other work on
the machine moves least.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from orpipe import __version__, console
from orpipe.errors import UsageError
from orpipe.problem import Problem
from orpipe.solve import settle, solver
from orpipe.testing.bench import with_block
from orpipe.testing.command import checkout
from orpipe.verify.answers import Answer
from orpipe.verify.judge import Judge
from orpipe.verify.verdict import Verdict

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

START, END = "<!-- bench-verify: rewritten by `python -m orpipe.testing.bench_verify --update-readme` -->", "<!-- /bench-verify -->"
_PAGES = ("README.md", "docs/judging.md")
_SOURCES, _SINKS = 5, 6
_DATA = """
    supply = {supply}
    demand = {demand}
    cost = {cost}
    I, J = range(len(supply)), range(len(demand))
"""
PROGRAMS = {
    "pyomo": """
        import pyomo.environ as pyo
        DATA
        m = pyo.ConcreteModel()
        m.x = pyo.Var(I, J, within=pyo.NonNegativeReals)
        m.cost = pyo.Objective(expr=sum(cost[i][j] * m.x[i, j] for i in I for j in J), sense=pyo.minimize)
        m.supply = pyo.Constraint(I, rule=lambda m, i: sum(m.x[i, j] for j in J) <= supply[i])
        m.demand = pyo.Constraint(J, rule=lambda m, j: sum(m.x[i, j] for i in I) >= demand[j])
        pyo.SolverFactory("appsi_highs").solve(m)
        print("optimum", pyo.value(m.cost))
    """,
    "pulp": """
        import pulp
        DATA
        m = pulp.LpProblem("transport", pulp.LpMinimize)
        x = pulp.LpVariable.dicts("x", (I, J), lowBound=0)
        m += pulp.lpSum(cost[i][j] * x[i][j] for i in I for j in J)
        for i in I:
            m += pulp.lpSum(x[i][j] for j in J) <= supply[i], f"supply_{i}"
        for j in J:
            m += pulp.lpSum(x[i][j] for i in I) >= demand[j], f"demand_{j}"
        m.solve(pulp.PULP_CBC_CMD(msg=False))
        print("optimum", pulp.value(m.objective))
    """,
    "ortools": """
        from ortools.linear_solver import pywraplp
        DATA
        s = pywraplp.Solver.CreateSolver("GLOP")
        x = {(i, j): s.NumVar(0, s.infinity(), f"x_{i}_{j}") for i in I for j in J}
        for i in I:
            s.Add(sum(x[i, j] for j in J) <= supply[i])
        for j in J:
            s.Add(sum(x[i, j] for i in I) >= demand[j])
        s.Minimize(sum(cost[i][j] * x[i, j] for i in I for j in J))
        s.Solve()
        print("optimum", s.Objective().Value())
    """,
    "gurobipy": """
        import gurobipy as gp
        from gurobipy import GRB
        DATA
        m = gp.Model()
        m.Params.OutputFlag = 0
        x = m.addVars(I, J, name="x")
        m.setObjective(gp.quicksum(cost[i][j] * x[i, j] for i in I for j in J), GRB.MINIMIZE)
        m.addConstrs((x.sum(i, "*") <= supply[i] for i in I), name="supply")
        m.addConstrs((x.sum("*", j) >= demand[j] for j in J), name="demand")
        m.optimize()
        print("optimum", m.ObjVal)
    """,
    "coptpy": """
        import coptpy as cp
        from coptpy import COPT
        DATA
        m = cp.Envr().createModel("transport")
        m.setParam(COPT.Param.Logging, 0)
        x = m.addVars(I, J, nameprefix="x")
        m.setObjective(cp.quicksum(cost[i][j] * x[i, j] for i in I for j in J), sense=COPT.MINIMIZE)
        m.addConstrs((x.sum(i, "*") <= supply[i] for i in I), nameprefix="supply")
        m.addConstrs((x.sum("*", j) >= demand[j] for j in J), nameprefix="demand")
        m.solve()
        print("optimum", m.objval)
    """,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """library: of the answers.  judge, plain: answers a second; times: judge over plain; cpu_ms: processor time an answer;
    start: seconds until the judge was warm."""

    library: str
    answers: int
    workers: int
    judge: float
    plain: float
    times: float
    cpu_ms: float
    start: float
    isolation: str


@dataclass(frozen=True, slots=True)
class Step:
    """After so many answers: resident MB of the judge's process, and of all its processes together."""

    answers: int
    judge_mb: float
    all_mb: float


def tree() -> list[int]:
    """This process and all below it."""
    found = [os.getpid()]
    for pid in found:  # grows while it is read
        with contextlib.suppress(OSError):  # a run that has just ended
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, task.read_text().split())
    return found


def cpu_seconds() -> float:
    """Processor time of this process and of those below it, with what they have waited for."""
    ticks = 0
    for pid in tree():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended: counted with the process that waited for it
        ticks += sum(map(int, fields[11:13] if pid == os.getpid() else fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0  # a run that has just ended


def memory(count: int, workers: int) -> Iterator[Step]:
    """Judge `count` programs in all libraries, a tenth of them between two steps.  A judge, and the processes that serve it,
    hold what they need after the first step and nothing more with the number of answers."""
    made = [programs(library, 40) for library in PROGRAMS]
    answers = (Answer(k, f"```python\n{text}```", optimum) for k in range(count) for text, optimum in [made[k % len(made)][k // len(made) % 40]])
    with Judge(workers) as judge:
        for done, row in enumerate(judge.judge_many(answers, ordered=False), start=1):
            if not row.passed:
                raise UsageError(f"bench: an answer was judged {row.verdict} ({row.reason})")
            if done % max(1, count // 10) == 0:
                # Pages that forks share are counted in each: an upper bound, as flat as the truth.
                yield Step(done, round(_resident_mb(os.getpid()), 1), round(sum(map(_resident_mb, tree())), 1))


def programs(library: str, count: int) -> list[tuple[str, float]]:
    """`count` programs with their optima, all with different data; the same on every call."""
    rng = np.random.default_rng(np.random.SeedSequence([20, 26]))
    found = []
    for _ in range(count):
        demand = rng.integers(5, 30, _SINKS)
        supply = rng.integers(1, 9, _SOURCES) + int(np.ceil(demand.sum() / _SOURCES))
        cost = rng.integers(10, 200, (_SOURCES, _SINKS)) / 10
        rows = np.zeros((_SOURCES + _SINKS, _SOURCES * _SINKS))
        for i in range(_SOURCES):
            rows[i, i * _SINKS:(i + 1) * _SINKS] = 1
        for j in range(_SINKS):
            rows[_SOURCES + j, j::_SINKS] = 1
        problem = Problem.from_arrays(
            cost=cost.ravel(), matrix=rows, row_lower=[-np.inf] * _SOURCES + demand.tolist(),
            row_upper=supply.tolist() + [np.inf] * _SINKS, lower=[0] * rows.shape[1], upper=[np.inf] * rows.shape[1],
            integer=[False] * rows.shape[1])
        optimum = settle(solver("highs"), problem).objective
        assert optimum is not None
        data = textwrap.dedent(_DATA).strip().format(supply=supply.tolist(), demand=demand.tolist(), cost=cost.tolist())
        found.append((textwrap.dedent(PROGRAMS[library]).strip().replace("DATA", data) + "\n", optimum))
    return found


def measure(library: str, count: int, plain_count: int, workers: int) -> Figure:
    """One library; raises UsageError if a verdict is not what it must be: a fast wrong judge is no judge."""
    made = programs(library, count)
    began = time.perf_counter()
    with Judge(workers) as judge:
        judge.warm(library)
        first = judge.judge(made[0][0], made[0][1])
        start = time.perf_counter() - began
        if not first.passed:
            raise UsageError(f"bench: an answer in {library} was judged {first.verdict} ({first.reason}); see 'orpipe doctor'")
        answers = [Answer(k, f"The model:\n\n```python\n{text}```\n", optimum + (k % 4 == 3)) for k, (text, optimum) in enumerate(made)]
        spent, began = cpu_seconds(), time.perf_counter()
        rows = list(judge.judge_many(answers, ordered=False))
        seconds, spent = time.perf_counter() - began, cpu_seconds() - spent
    wrong = [r for r in rows if r.verdict is not (Verdict.WRONG_OPTIMUM if int(r.index) % 4 == 3 else Verdict.SAME_OPTIMUM)]
    if wrong:
        raise UsageError(f"bench: {len(wrong)} of {count} answers in {library} were misjudged, e.g. {wrong[0].verdict} ({wrong[0].reason})")
    plain = plain_runner([text for text, _ in made[:plain_count]], [optimum for _, optimum in made[:plain_count]], workers)
    return Figure(library, count, workers, round(count / seconds, 1), round(plain, 1), round(count / seconds / plain, 1),
                  round(1000 * spent / count, 1), round(start, 2),
                  rows[0].isolation)


def plain_runner(texts: Sequence[str], optima: Sequence[float], workers: int) -> float:
    """Programs a second, each in an interpreter of its own, at most `workers` at a time."""
    def one(text: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "answer.py")
            path.write_text(text)
            done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, cwd=folder, check=False)
        found = re.findall(r"^optimum (\S+)$", done.stdout, re.MULTILINE)
        return float(found[-1]) if found else float("nan")

    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as threads:
        printed = list(threads.map(one, texts))
    seconds = time.perf_counter() - began
    for value, optimum in zip(printed, optima, strict=True):
        if not abs(value - optimum) <= 1e-6 * max(1.0, abs(optimum)):
            raise UsageError(f"bench: the plain runner read {value} instead of {optimum}")
    return len(texts) / seconds


def block(figures: Sequence[Figure]) -> str:
    """The marked block of README.md and docs/judging.md, markers included."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    first = figures[0]
    head = (f"orpipe {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, {cores} cores, "
            f"{first.workers} workers, isolation {first.isolation}; {first.answers} answers a library.")
    rows = [f"| {f.library} | {f.judge:.0f} | {f.plain:.1f} | {f.times:.1f} x | {f.cpu_ms:.1f} |" for f in figures]
    return "\n".join([START, head, "", "| answers in | judged /s | plain runner /s | judge over plain | CPU ms an answer |",
                      "| --- | --- | --- | --- | --- |", *rows, END])


@app.command(epilog="Examples: `make bench` · `python -m orpipe.testing.bench_verify --libraries pulp` · "
                    "`python -m orpipe.testing.bench_verify --memory 10000`")
def bench_verify(
    count: Annotated[int, typer.Option(min=8, help="Answers a library.")] = 300,
    plain: Annotated[int, typer.Option(min=2, help="Programs for the plain runner, a library.")] = 16,
    workers: Annotated[int, typer.Option(min=1, show_default="one per core", help="Programs run at a time.")] = os.cpu_count() or 1,
    libraries: Annotated[str, typer.Option(help="Comma-separated.")] = ",".join(PROGRAMS),
    quick: Annotated[bool, typer.Option("--quick", help="8 answers a library: shows that it works, not how fast.")] = False,
    memory_of: Annotated[int, typer.Option("--memory", min=0, help="Judge so many answers and print resident memory instead.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    update_readme: Annotated[bool, typer.Option("--update-readme", help="Replace the tables of README.md and docs/judging.md.")] = False,
) -> None:
    """Measure answers judged per second beside a plain runner, or memory."""
    if memory_of:
        heads = ["answers", "judge, MB", "all processes, MB"]
        steps = []
        for step in memory(memory_of, workers):  # minutes: told as it goes
            console.say(f"bench: {step.answers} answers, judge {step.judge_mb} MB, all processes {step.all_mb} MB")
            steps.append(step)
        if as_json:
            console.put(json.dumps([asdict(s) for s in steps], indent=2))
        else:
            console.put_table(heads, [[s.answers, s.judge_mb, s.all_mb] for s in steps])
        return
    if update_readme and (quick or set(libraries.split(",")) != set(PROGRAMS)):
        raise UsageError("the tables show all libraries at full count; leave out --quick and --libraries, or --update-readme")
    pages = [checkout(name) for name in _PAGES] if update_readme else []
    for page in pages:
        with_block(page.read_text(encoding="utf-8"), "", START, END, page.name)  # before minutes are spent
    count, plain = (8, 2) if quick else (count, plain)
    figures = []
    for library in libraries.split(","):
        if library not in PROGRAMS:
            raise UsageError(f"no programs in '{library}'; there are {', '.join(PROGRAMS)}")
        figures.append(measure(library, count, plain, workers))
    for page in pages:
        page.write_text(with_block(page.read_text(encoding="utf-8"), block(figures), START, END, page.name), encoding="utf-8")
    if as_json:
        console.put(json.dumps([asdict(f) for f in figures], indent=2))
    else:
        console.put_table(["library", "answers", "workers", "judged/s", "plain runner/s", "times", "CPU ms", "start, s", "isolation"],
                          [[f.library, f.answers, f.workers, f.judge, f.plain, f.times, f.cpu_ms, f.start, f.isolation] for f in figures])


if __name__ == "__main__":
    sys.exit(console.run(app, "orpipe.testing.bench_verify"))
