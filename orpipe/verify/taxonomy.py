"""Names of what went wrong, and how the end of a program's run is read.

A failure is a name from `Failure`; it explains a verdict and never changes it.  What is our own fault (a library that
is not installed, a licence, a solver's limit, the sandbox) is UNDECIDED, never the answer's error.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Literal

from orpipe.verify.sandbox import Run


class Failure(StrEnum):
    NONE = ""
    # the answer's text
    NO_CODE = "no code"
    SYNTAX = "syntax"
    # the program
    EXCEPTION = "exception"
    MISSING_KEY = "missing data key"
    MISSING_FILE = "missing file"
    NO_MODEL = "no model built"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT = "too much output"
    CRASH = "crash"
    FORBIDDEN = "forbidden"
    # the program failed after its model was solved; the model was judged all the same
    LATE_EXCEPTION = "exception after the solve"
    LATE_TIMEOUT = "timeout after the solve"
    LATE_MEMORY = "memory after the solve"
    LATE_CRASH = "crash after the solve"
    # the model
    OTHER_OPTIMUM = "other optimum"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    HAS_OPTIMUM = "optimum where there is none"
    SENSE = "wrong sense suspected"
    INTEGRALITY = "integrality suspected"
    CONSTANT = "off by constant"
    # ours
    NO_TRUTH = "no label"
    TRUTH_UNREAD = "label not understood"
    UNSUPPORTED = "unsupported"
    LIBRARY = "library not installed"
    LICENCE = "licence"
    LIMIT = "limit of our solve"
    DISAGREEMENT = "solvers disagree"
    INEXACT = "not exact"
    SANDBOX = "sandbox"
    ISOLATION = "isolation"
    INTERNAL = "internal error"


Blame = Literal["none", "answer", "ours"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run is read.

    blame "none": judge the captured model (`failure` may still tell of something after the solve); "answer": the
    program's own error; "ours": undecided.  exception: the type's name, where an exception ended it.
    """

    blame: Blame
    failure: Failure = Failure.NONE
    reason: str = ""
    exception: str = ""


# Libraries that programs may well import and that need not be installed here: their absence is ours.
ELSEWHERE = frozenset(re.findall(r"\S+", """
    pyscipopt xpress cplex docplex mosek mip cvxpy cvxopt linopy gurobipy coptpy mindoptpy pyoptinterface gekko casadi
    amplpy pyomo pulp ortools highspy scipy numpy pandas matplotlib seaborn plotly networkx sklearn sympy statsmodels
    tabulate prettytable openpyxl xlrd pyarrow geopy requests deap pymoo pygad pyswarm simpy numba torch tensorflow
    jax swiglpk cylp glpk qpsolvers osqp ecos scs clarabel picos gurobipy_pandas optlang minizinc z3 pysat tqdm
"""))
_LICENSED = {  # and the exceptions that tell of a licence
    "gurobipy": {"GurobiError"}, "coptpy": {"CoptError"}, "xpress": {"SolverError", "InterfaceError", "RuntimeError"},
    "cplex": {"CplexSolverError", "CplexError"}, "docplex": {"DOcplexException", "DOcplexLimitsExceeded"}, "mosek": {"Error"},
}
_LICENCE = re.compile(r"licen[cs]e|size[- ]limit|exceed\w* .{0,40}(?:limit|size)|promotional version", re.IGNORECASE)
_DENIED = re.compile(r"operation not permitted|permission denied|function not implemented", re.IGNORECASE)
_MODULE = re.compile(r"No module named '([\w.]+)'")
_LATE = {
    "exception": Failure.LATE_EXCEPTION, "timeout": Failure.LATE_TIMEOUT, "memory": Failure.LATE_MEMORY,
    "crash": Failure.LATE_CRASH,
}
_OWN = {
    "timeout": Failure.TIMEOUT, "memory": Failure.MEMORY, "output": Failure.OUTPUT, "crash": Failure.CRASH,
    "no model": Failure.NO_MODEL,
}


def read_ending(run: Run, library: str = "", files: Collection[str] = (), strict: bool = False) -> Ending:
    """Read the end of a run.  `library`: what the program announced; `files`: the names of the files it was given.

    A program that fails after a captured solve is judged by its model (the solve it saw was ours, and so may be what it
    stumbled over), unless `strict`; forbidden actions and floods of output are errors in any case.
    """
    if run.outcome == "sandbox":
        if "cannot be run here" in run.message:
            return Ending("ours", Failure.LIBRARY, run.message)
        return Ending("ours", Failure.SANDBOX, run.message)
    if run.outcome == "ok":
        return Ending("none")
    if run.outcome == "unsupported":
        return Ending("ours", Failure.UNSUPPORTED, run.message)
    ending = _exception(run, library, files) if run.outcome == "exception" else _stop(run)
    late = _LATE.get(run.outcome)
    if run.unread and late is not None and ending.failure is not Failure.FORBIDDEN and not strict:
        after = ending.reason.removeprefix("the program ")
        return Ending("ours", Failure.UNSUPPORTED, f"{run.unread}; after its solve the program {after}", ending.exception)
    if run.captured is None or late is None or ending.failure is Failure.FORBIDDEN:
        return ending
    if ending.failure is Failure.LICENCE:  # the model was taken before the limit struck
        return Ending("none")
    if strict:
        return ending
    return Ending("none", late, ending.reason, ending.exception)


def _stop(run: Run) -> Ending:
    if "SIGSYS" in run.message or "channel" in run.message:
        return Ending("answer", Failure.FORBIDDEN, f"forbidden action: {run.message}")
    failure = _OWN[run.outcome]
    if failure is Failure.NO_MODEL:
        return Ending("answer", failure, "the program ended without solving or writing a model; what it prints does not count")
    return Ending("answer", failure, f"the program {'was stopped: ' if run.outcome != 'crash' else ''}{run.message}")


def _exception(run: Run, library: str, files: Collection[str]) -> Ending:
    name, message = run.exception, run.message
    text = f"{name}: {_short(message)}" if message else name
    module = _MODULE.search(message) if name in ("ModuleNotFoundError", "ImportError") else None
    if module is not None and _lacking(module[1].partition(".")[0]):
        return Ending("ours", Failure.LIBRARY, f"'{module[1]}' is not installed here; install it and judge again", name)
    if name in _LICENSED.get(library, ()) and not run.own and _LICENCE.search(message):
        return Ending("ours", Failure.LICENCE, f"licence of {library}: {_short(message)}", name)
    if name == "PermissionError" or (name in ("OSError", "BlockingIOError") and _DENIED.search(message)):
        return Ending("answer", Failure.FORBIDDEN, f"forbidden action: {text}", name)
    if name in ("SyntaxError", "IndentationError", "TabError"):
        return Ending("answer", Failure.SYNTAX, f"the program is not Python: {text}", name)
    if name == "KeyError" and files:
        return Ending("answer", Failure.MISSING_KEY, f"the program asks the data for a key that is not there: {_short(message)}", name)
    if name == "FileNotFoundError":
        return Ending("answer", Failure.MISSING_FILE, f"the program asks for a file that was not given: {_short(message)}", name)
    return Ending("answer", Failure.EXCEPTION, f"the program raised {text}", name)


@cache
def _lacking(module: str) -> bool:
    """A known library that is really not here: a program may raise what it likes."""
    return module in ELSEWHERE and importlib.util.find_spec(module) is None


def _short(message: str, limit: int = 200) -> str:
    line = " ".join(message.split())
    return line if len(line) <= limit else line[:limit - 1] + "…"
