"""The verdict on a model that has a reference: what the comparison of the two says, else what the optimum says.

    comparison                       optimum right     optimum wrong       optimum unknown
    EQUIVALENT                       EQUIVALENT        UNDECIDED (1)       EQUIVALENT
    NOT_EQUIVALENT (witness)         NOT_EQUIVALENT    NOT_EQUIVALENT      NOT_EQUIVALENT
    WRONG_OPTIMUM                    WRONG_OPTIMUM (2) WRONG_OPTIMUM       WRONG_OPTIMUM
    SAME_OPTIMUM, UNDECIDED          SAME_OPTIMUM      WRONG_OPTIMUM       UNDECIDED

(1) label and reference contradict each other.  (2) a maximum that equals a minimum, say; within a looser `tolerance` than
1e-6 it stays SAME_OPTIMUM, and where the label is not the reference's own optimum the two contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Judgement, Policy, Solved, Verdict, agreement

Rule = Literal["equivalence", "optimum"]
RULES: tuple[Rule, ...] = ("equivalence", "optimum")
LABELS = ("the reference", "the answer")
_MOST = 40  # entries of a map or a point that a row holds


@dataclass(frozen=True)
class Reference:
    """A reference model.  text: LP or MPS; about: of an instance of ours its family, structure_hash and data (JSON text),
    from which the declared auxiliaries are read; empty for any other."""

    text: str
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Purse:
    """Seconds for a comparison and the re-draws after it: of work, not of waiting for a turn."""

    budget: float
    spent: float = 0.0

    @property
    def left(self) -> float:
        return max(0.0, self.budget - self.spent)


def about(instance: Mapping[str, Any]) -> dict[str, str]:
    """What the auxiliaries of an instance of ours are read from."""
    return {name: str(instance.get(name) or "") for name in ("family", "structure_hash", "data")} if instance else {}


def weigh(optimum: Judgement, compared: Mapping[str, Any], solved: Solved, truth: Truth, policy: Policy) -> Judgement:
    """The table above.  compared: Comparison.record() with the answer as b, or {"fault": why there is none}."""
    if "fault" in compared:
        return replace(optimum, evidence={**optimum.evidence, "open": str(compared["fault"])})
    verdict, sentence = Verdict(compared["verdict"]), str(compared["sentence"])
    evidence = {**optimum.evidence, **_evidence(compared)}
    if verdict is Verdict.EQUIVALENT:
        if optimum.verdict is Verdict.WRONG_OPTIMUM:
            return Judgement(Verdict.UNDECIDED, f"the model is the reference's ({compared['method']}), but {optimum.reason}: label and "
                             "reference contradict each other", Failure.DISAGREEMENT, compared["method"], evidence)
        return Judgement(verdict, f"equivalent ({compared['method']}): {sentence}", Failure.NONE, compared["method"], evidence)
    if verdict is Verdict.NOT_EQUIVALENT:
        return Judgement(verdict, sentence, optimum.failure if optimum.verdict is Verdict.WRONG_OPTIMUM else Failure.NONE,
                         compared["method"], evidence)
    if verdict is Verdict.WRONG_OPTIMUM and optimum.verdict is not Verdict.WRONG_OPTIMUM:
        if optimum.verdict is Verdict.SAME_OPTIMUM and _within(compared, solved, policy):
            return replace(optimum, evidence=evidence)
        if optimum.verdict is Verdict.SAME_OPTIMUM and not _labelled(compared, truth, policy):
            return Judgement(Verdict.UNDECIDED, f"{optimum.reason}, but {sentence}: label and reference contradict each other",
                             Failure.DISAGREEMENT, "optimum", evidence)
        return Judgement(verdict, sentence, _failure(compared), "optimum", evidence)
    return replace(optimum, evidence=evidence)


def _evidence(compared: Mapping[str, Any]) -> dict[str, Any]:
    """Of a comparison what a row keeps: tier, map, witness, direction, what stayed open."""
    inner = compared["evidence"]
    found: dict[str, Any] = {"compared": compared["verdict"], "compare_seconds": compared["seconds"], "names": inner.get("names", "")}
    if compared["verdict"] == Verdict.EQUIVALENT:
        found["tier"] = compared["method"]
    if compared["map"]:
        told = [m for m in compared["map"] if (m["scale"], m["shift"]) != ("1", "0") or _bare(m["a"]) != _bare(m["b"])]
        found["map"] = {m["a"]: m["b"] if (m["scale"], m["shift"]) == ("1", "0") else [m["b"], m["scale"], m["shift"]] for m in told[:_MOST]}
        found["map_from"] = inner.get("map_from", "")
        found["matched"] = len(compared["map"])
    if compared["witness"] is not None:
        found["witness"] = {name: _cut(value) for name, value in compared["witness"].items()}
    if compared["direction"]:
        found["direction"] = dict(list(compared["direction"].items())[:_MOST])
    open_ = inner.get("open") or inner.get("unsupported") or (compared["sentence"] if compared["verdict"] == Verdict.UNDECIDED else "")
    return found | ({"open": open_} if open_ else {})


def _cut(value: Any) -> Any:
    return dict(list(value.items())[:_MOST]) if isinstance(value, dict) else value[:_MOST] if isinstance(value, list) else value


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _within(compared: Mapping[str, Any], solved: Solved, policy: Policy) -> bool:
    """Both optima in one sense, by the judge's own tolerance."""
    a, b = compared["evidence"].get("optimum_a"), compared["evidence"].get("optimum_b")
    if a is None or b is None or policy.tolerance <= Policy().tolerance:
        return False
    senses = compared.get("senses", (solved.maximize, solved.maximize))
    return policy.close(-a if senses[0] else a, -b if senses[1] else b, solved.size)


def _labelled(compared: Mapping[str, Any], truth: Truth, policy: Policy) -> bool:
    """Is the label what the reference itself gives?"""
    a, status = compared["evidence"].get("optimum_a"), compared["evidence"].get("status_a")
    if a is None:
        return status in truth.statuses
    return agreement(a, bool(compared.get("senses", (False,))[0]), 1.0, truth, policy) is not None


def _failure(compared: Mapping[str, Any]) -> Failure:
    status = compared["evidence"].get("status_b")
    return {"infeasible": Failure.INFEASIBLE, "unbounded": Failure.UNBOUNDED}.get(str(status), Failure.OTHER_OPTIMUM)
