"""What a judgement may say, and when two optima count as the same.

    EQUIVALENT, NOT_EQUIVALENT    proved against a reference model (evidence says how)
    SAME_OPTIMUM                  the optimum, or the status, agrees with the label; nothing stronger was shown
    WRONG_OPTIMUM                 our solve of the model gives another optimum or another status
    UNDECIDED                     our limits: time, unsupported construct, licence, no label
    ERROR                         the answer's own failure

`decide` turns our solve of a model (`Solved`) and a label (`Truth`) into a `Judgement`.  Judgements by equivalence use
the same record with another `method` and their own `evidence`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from orpipe.errors import UsageError
from orpipe.solve import Status
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth, Value

__all__ = ["Failure", "Judgement", "Policy", "Solved", "Verdict", "agreement", "decide", "published"]


class Verdict(StrEnum):
    EQUIVALENT = "EQUIVALENT"
    NOT_EQUIVALENT = "NOT_EQUIVALENT"
    SAME_OPTIMUM = "SAME_OPTIMUM"
    WRONG_OPTIMUM = "WRONG_OPTIMUM"
    UNDECIDED = "UNDECIDED"
    ERROR = "ERROR"

    @property
    def passed(self) -> bool:
        return self in (Verdict.EQUIVALENT, Verdict.SAME_OPTIMUM)

    @property
    def decided(self) -> bool:
        """Whether it says anything about the answer: UNDECIDED never counts for or against one."""
        return self is not Verdict.UNDECIDED


_FLOOR = 1e-9  # an absolute difference below this is the noise of floats


@dataclass(frozen=True, slots=True)
class Policy:
    """When an optimum v is the label t: |v - t| <= max(tolerance * s, 1e-9), where s is the largest of |v|, |t| and the
    size of the objective's terms at the optimum (at most 1).

    Unless strict, a label printed with two or more decimals also stands for every number that rounds to it, and a
    program that fails after its solve is judged by its model.
    """

    tolerance: float = 1e-6
    strict: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.tolerance < 1):
            raise UsageError(f"the tolerance is relative, at least 0 and less than 1, not {self.tolerance:g}; try 1e-6")

    def close(self, value: float, wanted: float, size: float = 1.0) -> bool:
        if not (math.isfinite(value) and math.isfinite(wanted)):
            return value == wanted
        return abs(value - wanted) <= max(self.tolerance * max(abs(value), abs(wanted), min(1.0, size)), _FLOOR)

    def rounds_to(self, value: float, wanted: Value) -> bool:
        if self.strict or wanted.decimals is None or wanted.decimals < 2:
            return False
        return abs(value - wanted.number) <= 0.5 * 10.0 ** -wanted.decimals * (1 + 1e-9)

    def __str__(self) -> str:
        rest = "strict" if self.strict else "labels with decimals also as rounded"
        return f"relative {self.tolerance:g}, {rest}"


@dataclass(frozen=True)
class Solved:
    """Our solve of one model.  status "" means undecided: `failure` and `detail` say why.

    size: sum of the absolute terms of the objective at the optimum, constant included.  checked: what the status rests
    on ("label": one solver and the label; "two families"; "exact"; "one solver": nothing turned on it).
    """

    status: Status | str
    maximize: bool = False
    objective: float | None = None
    offset: float = 0.0
    size: float = 1.0
    checked: str = ""
    solvers: tuple[str, ...] = ()
    failure: Failure = Failure.NONE
    detail: str = ""
    hint: Failure = Failure.NONE
    seconds: float = 0.0


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    reason: str
    failure: Failure = Failure.NONE
    method: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Agreement:
    """One accepted value that an optimum agrees with.  mirrored: max f read as min -f; rounded: only as printed."""

    wanted: Value
    mirrored: bool = False
    rounded: bool = False


def agreement(objective: float, maximize: bool, size: float, truth: Truth, policy: Policy) -> Agreement | None:
    """The first accepted value that the optimum of a model agrees with.

    max f and min -f are the same model, so an optimum of the opposite sign counts as well, except where the label's
    own sense is known to be the model's.
    """
    signs = (1.0,) if truth.maximize == maximize else (1.0, -1.0)
    for rounded in (False, True):
        for sign in signs:
            for wanted in truth.values:
                value = sign * objective
                if policy.rounds_to(value, wanted) if rounded else policy.close(value, wanted.number, size):
                    return Agreement(wanted, sign < 0, rounded)
    return None


def decide(solved: Solved, truth: Truth, policy: Policy) -> Judgement:
    """The verdict of the optimum alone."""
    if not solved.status:
        return Judgement(Verdict.UNDECIDED, solved.detail, solved.failure, "optimum")
    if truth.absent:
        failure = Failure.NO_TRUTH if truth.understood else Failure.TRUTH_UNREAD
        return Judgement(Verdict.UNDECIDED, f"{_outcome(solved)}; {truth.note}", failure, "optimum")
    evidence = {"checked": solved.checked, "solvers": list(solved.solvers)}
    same, wrong = Verdict.SAME_OPTIMUM, Verdict.WRONG_OPTIMUM
    if solved.status != "optimal":
        if solved.status in truth.statuses:
            return Judgement(same, f"the model is {solved.status}, as labelled", method="optimum", evidence=evidence)
        failure = Failure.INFEASIBLE if solved.status == "infeasible" else Failure.UNBOUNDED
        reason = f"the model is {solved.status}; the label is {truth}"
        return Judgement(wrong, reason + _hinted(solved), solved.hint or failure, "optimum", evidence)
    assert solved.objective is not None
    found = agreement(solved.objective, solved.maximize, solved.size, truth, policy)
    if found is not None:
        reason = f"the optimum {solved.objective:.10g} agrees with the label {found.wanted}"
        if found.mirrored:
            reason += ", max f read as min -f"
        if found.rounded:
            reason += f" to its {found.wanted.decimals} decimals"
        return Judgement(same, reason, method="optimum", evidence=evidence)
    reason = f"the optimum is {solved.objective:.10g}; the label is {truth}"
    failure = Failure.OTHER_OPTIMUM if truth.values else Failure.HAS_OPTIMUM
    return Judgement(wrong, reason + _hinted(solved), solved.hint or failure, "optimum", evidence)


def _outcome(solved: Solved) -> str:
    return f"the optimum is {solved.objective:.10g}" if solved.objective is not None else f"the model is {solved.status}"


def _hinted(solved: Solved) -> str:
    words = {
        Failure.SENSE: "the other sense gives the label",
        Failure.INTEGRALITY: "it is the label with the integrality changed",
        Failure.CONSTANT: "the difference is the objective's constant",
    }
    return f"; {words[solved.hint]}" if solved.hint in words else ""


def published(solved: Solved, truth: Truth) -> Mapping[str, bool]:
    """The same answer under two rules found in papers, both on the objective alone: relative difference at most 1e-6;
    both rounded to integers, then a relative difference of at most 5%.  A status that agrees passes both."""
    if solved.status != "optimal" or solved.objective is None:
        same = bool(solved.status) and solved.status in truth.statuses
        return {"relative_1e-6": same, "rounded_5%": same}
    signs = (1.0,) if truth.maximize == solved.maximize else (1.0, -1.0)
    pairs = [(sign * solved.objective, wanted.number) for wanted in truth.values for sign in signs]
    return {
        "relative_1e-6": any(abs(v - t) <= 1e-6 * (abs(t) or 1.0) for v, t in pairs),
        "rounded_5%": any(abs(round(v) - round(t)) <= 0.05 * abs(round(t)) for v, t in pairs),
    }
