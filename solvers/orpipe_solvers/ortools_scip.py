"""SCIP in the OR-Tools build (its LPs are solved by GLOP): linear and mixed-integer programs.

SCIP tells errors on stderr, however quiet it is asked to be; they are taken at the source and become the answer's message.
"""

from __future__ import annotations

import ctypes
import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import ortools

from orpipe.problem import Problem
from orpipe.roles import settings
from orpipe.solve import Answer, Outcome
from orpipe_solvers._ortools import BuilderSolver

_heard = threading.local()  # SCIP speaks in the thread that solves


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
def _hear(_: object, __: object, piece: bytes) -> None:
    if (pieces := getattr(_heard, "pieces", None)) is not None:
        pieces.append(piece.decode("utf-8", "replace"))


def _listen() -> bool:
    """Whether errors now come here: not where SCIP is no library of its own, as on other systems than Linux."""
    found = [ctypes.CDLL(str(path)) for path in (Path(ortools.__file__).parent / ".libs").glob("libscip.so*")]
    for library in found:
        library.SCIPmessageSetErrorPrinting(_hear, None)
    return bool(found)


class Scip(BuilderSolver):
    name = "scip"
    family = "scip"
    separator = " = "
    smallest = 1e-9  # its epsilon: smaller numbers are zeros
    infinite = 1e20
    node_parameter = "limits/totalnodes"
    settings = settings("scip")

    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        _heard.pieces = []
        answer = super().run(problem, time_limit, nodes, start)
        told, _heard.pieces = _errors("".join(_heard.pieces)), None
        return replace(answer, message="; ".join(filter(None, [answer.message, told]))) if told else answer

    def outcome(self, said: Outcome, message: str) -> Outcome:
        # "The model may actually be unbounded: SCIP returned SCIP_STATUS_INFORUNBD" comes with status INFEASIBLE.
        return Outcome.INFEASIBLE_OR_UNBOUNDED if said is Outcome.INFEASIBLE and "INFORUNBD" in message else said


def _errors(text: str) -> str:
    """«(node 1) unresolved numerical troubles in LP 2 cannot be dealt with»: without places in SCIP's code and who called whom."""
    lines = (re.sub(r"^\[[^]]*\] ERROR: ", "", line).strip() for line in text.splitlines())
    return "; ".join(dict.fromkeys(line for line in lines if line and not line.endswith("in function call")))[:300]


_listen()
SOLVERS = (Scip(),)
