"""Replaying the code that goes into a document: the model it builds must be the Problem, the optimum it prints the
label.

Our own programs print, last, `optimal_value = 197.0`, or `status = infeasible` where there is no optimum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
import scipy.sparse as sp

from orpipe.problem import Problem
from orpipe.verify.capture import Captured
from orpipe.verify.sandbox import Job, Limits, Pool, Run

Stage = Literal["passed", "sandbox", "run", "model", "printed"]
_RTOL, _ATOL = 1e-6, 1e-9
_UNDECIDED = ("infeasibleorunbounded", "unboundedorinfeasible")


@dataclass(frozen=True, slots=True)
class Script:
    """A program with the files beside it, the Problem it must build, and what it must report."""

    program: str
    problem: Problem
    objective: float | Fraction | None = None
    status: str = "optimal"
    files: Mapping[str, str] = field(default_factory=dict)
    limits: Limits | None = None


@dataclass(frozen=True, eq=False)
class Replayed:
    """stage: where it failed, or "passed".  "sandbox" is our own fault and says nothing about the program."""

    stage: Stage
    reason: str
    run: Run

    @property
    def passed(self) -> bool:
        return self.stage == "passed"


@dataclass(frozen=True, slots=True)
class Printed:
    """The last result line of an output; value for an optimum, status otherwise, neither when there is no such line."""

    status: str = ""
    value: float | None = None


def replay(pool: Pool, program: str, files: Mapping[str, str], problem: Problem,
           objective: float | Fraction | None = None, *, status: str = "optimal") -> Replayed:
    """Run one program and compare it with its Problem and label.  `objective` is needed for status "optimal" only."""
    return replay_many(pool, [Script(program, problem, objective, status, files)])[0]


def replay_many(pool: Pool, scripts: Iterable[Script]) -> list[Replayed]:
    """In the order of the scripts."""
    kept = list(scripts)
    runs = pool.run_many(Job(s.program, s.files, s.limits) for s in kept)
    return [judge(script, run) for script, run in zip(kept, runs, strict=True)]


def judge(script: Script, run: Run) -> Replayed:
    """Compare a finished run with what was to come."""
    if run.outcome == "sandbox":
        return Replayed("sandbox", run.message, run)
    if run.outcome != "ok" or run.captured is None:
        what = f"{run.exception}: {run.message}" if run.exception else run.message
        return Replayed("run", f"{run.outcome}: {what}", run)
    difference = script.problem.difference(as_problem(run.captured, script.problem))
    if difference is not None:
        return Replayed("model", difference, run)
    reason = _misprint(script, printed(run.stdout))
    return Replayed("printed", reason, run) if reason else Replayed("passed", "", run)


def printed(stdout: str) -> Printed:
    lines = re.findall(r"^[ \t]*(optimal_value|status)[ \t]*=[ \t]*(\S.*?)[ \t]*$", stdout, re.MULTILINE)
    if not lines:
        return Printed()
    name, text = lines[-1]
    if name == "status":
        return Printed(status=re.sub(r"[^a-z]", "", text.rpartition(".")[2].lower()))
    try:
        return Printed(status="optimal", value=float(text))
    except ValueError:
        return Printed(status=f"an optimal value that is no number ({text})")


def _misprint(script: Script, found: Printed) -> str:
    """"" or how the printed result differs from the label."""
    if not found.status:
        return "no result line was printed"
    if script.status != "optimal":
        either = ("infeasible", "unbounded") if found.status in _UNDECIDED else (found.status,)
        return "" if script.status in either else f"printed {found.status} instead of {script.status}"
    if found.value is None or script.objective is None:
        return f"printed {found.status} instead of an optimal value"
    label = float(script.objective)
    if not abs(found.value - label) <= _RTOL * abs(label) + _ATOL:
        return f"printed the optimum {found.value!r} instead of {label!r}"
    return ""


def as_problem(captured: Captured, like: Problem) -> Problem:
    """The captured model, with columns that occur nowhere taken out or put in as `like` has them.

    Some libraries drop a variable that no row and no objective term uses, some keep it; it changes nothing.
    """
    found = captured.problem(like.name)
    have, want = {_key(c) for c in found.columns}, {_key(c) for c in like.columns}
    if have == want:
        return found
    keep = np.array([_key(c) in want for c in found.columns], bool) | ~captured.idle
    used = np.asarray(like.cost != 0)
    used[like.matrix.indices] = True
    add = [k for k, c in enumerate(like.columns) if not used[k] and _key(c) not in have]
    empty = sp.csr_array((found.n_rows, len(add)))
    return Problem.from_arrays(
        name=found.name, maximize=found.maximize, offset=found.offset,
        columns=[c for c, kept in zip(found.columns, keep, strict=True) if kept] + [like.columns[k] for k in add],
        rows=found.rows, cost=np.append(found.cost[keep], like.cost[add]),
        matrix=sp.hstack([found.matrix[:, np.flatnonzero(keep)], empty], format="csr"),
        row_lower=found.row_lower, row_upper=found.row_upper, lower=np.append(found.lower[keep], like.lower[add]),
        upper=np.append(found.upper[keep], like.upper[add]), integer=np.append(found.integer[keep], like.integer[add]),
    )


def _key(name: str) -> str:
    """Names as Problem.difference matches them."""
    return re.sub(r"[\W_]+", "_", name).strip("_").lower()
