"""One model file, settled: what each solver claims, whether the claims agree and stand in exact arithmetic, and (certified)
what is proved without trusting any solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from orpipe.errors import OrpipeError
from orpipe.exact import decimal_text
from orpipe.model_files import read_model
from orpipe.problem import Problem
from orpipe.proof import Certificate, Refuted, prove, unique
from orpipe.proof.certificate import Kind
from orpipe.solve import POLICY, Label, Outcome, Result, agree, confirm, settle, solver

_NODES = 20_000  # of an exact proof, which the clock usually ends before; uniqueness gets its own default
_UNSETTLED = {"inexact point": "inexact"}


@dataclass(frozen=True)
class Claim:
    """One solver's answer; outcome "unsupported" where it does not accept the problem, "error" where it failed."""

    name: str
    version: str
    outcome: str
    objective: float | None
    seconds: float


@dataclass(frozen=True)
class Settled:
    """outcome: optimal, infeasible or unbounded if solvers of two families agree or an exact proof stands; claimed: by one
    family alone; limit_with_incumbent (objective is the incumbent's), limit, disagreement, inexact (no point stands in exact
    arithmetic), undecided, unsupported, error, unreadable.

    certificate as in the dataset, None where nothing but one solver's word stands behind the outcome.
    """

    file: str
    outcome: str
    objective: float | None = None
    objective_exact: str | None = None
    certificate: Kind | None = None
    unique: str | None = None
    solvers: tuple[Claim, ...] = ()
    message: str = ""

    @property
    def decided(self) -> bool:
        return self.outcome in ("optimal", "infeasible", "unbounded")

    def record(self) -> dict[str, Any]:
        return asdict(self)


def settle_file(path: Path, names: Sequence[str] | None = None, *, certified: bool = False, time_limit: float = 60.0,
                shown: str = "") -> Settled:
    """Never raises for a file that cannot be read or a solver that fails: the message says what happened."""
    file = shown or str(path)
    try:
        problem = read_model(path)
    except OrpipeError as error:
        return Settled(file, "unreadable", message=" ".join(str(error).split()))
    return settle_problem(problem, names, certified=certified, time_limit=time_limit, file=file)


def settle_problem(problem: Problem, names: Sequence[str] | None = None, *, certified: bool = False, time_limit: float = 60.0,
                   nodes: int | None = None, file: str = "") -> Settled:
    """Each named solver is asked; without names those of the policy, until two families have proved something.  time_limit in
    seconds and nodes bound each solver; the exact proof has the same seconds."""
    claims, results, notes = _ask(problem, names, time_limit, nodes)
    proofs: dict[str, Result] = {}
    for result in results:
        if result.outcome.proof:
            proofs.setdefault(result.family, result)
    found = Settled(file, "", solvers=tuple(claims))
    if clash := _clash([r for r in results if r.outcome.proof]):
        told = _who_is_right(problem, clash, results, time_limit) if certified else ""
        return replace(found, outcome="disagreement", message="; ".join([*map(str, clash), *told, *notes]))
    if not proofs:
        return _unproved(found, problem, results, notes)
    pair = (*proofs.values(), *proofs.values())[:2]
    label = confirm(problem, (pair[0], pair[1]), tuple(results), time_limit)
    if not isinstance(label, Label):
        outcome = _UNSETTLED.get(label.reason, label.reason)
        return replace(found, outcome=outcome, message="; ".join([label.detail, *notes]))
    confirmed = len(proofs) > 1
    kind: Kind | None = "exact" if label.proof == "exact" else None
    if kind is None and confirmed:
        kind = "exact-point+agreement" if label.status == "optimal" else "agreement"
    verdict = None
    if certified:
        proof = prove(problem, label, time_limit, _NODES)
        if isinstance(proof, Refuted):
            return replace(found, outcome="disagreement", message="; ".join([f"an exact proof refutes {pair[0]}: {proof.reason}", *notes]))
        if isinstance(proof, Certificate):
            kind = "exact"
        elif kind != "exact":
            notes.append(f"no exact proof: {proof.reason} after {proof.nodes} nodes")
        verdict = unique(problem, label) if label.status == "optimal" else None
    if kind is None:
        return replace(found, outcome="claimed", objective=label.objective,
                       message="; ".join([f"only {pair[0].solver} says {label.status}; name a second solver, or --certify", *notes]))
    return replace(found, outcome=label.status, objective=label.objective, objective_exact=_text(label.objective_exact), certificate=kind,
                   unique=verdict, message="; ".join(notes))


def _ask(problem: Problem, names: Sequence[str] | None, time_limit: float,
         nodes: int | None) -> tuple[list[Claim], list[Result], list[str]]:
    claims: list[Claim] = []
    results: list[Result] = []
    notes: list[str] = []
    for name in names or POLICY[problem.kind]:
        if names is None and len({r.family for r in results if r.outcome.proof}) > 1:
            break
        adapter = solver(name)
        try:
            if reason := adapter.accepts(problem):
                notes.append(f"{name} cannot take it: {reason}")
                if names is not None:
                    claims.append(Claim(name, adapter.version, "unsupported", None, 0.0))
                continue
            result = settle(adapter, problem, time_limit, nodes)
        except OrpipeError as error:
            notes.append(f"{name}: {' '.join(str(error).split())}")
            claims.append(Claim(name, adapter.version, "error", None, 0.0))
            continue
        results.append(result)
        claims.append(Claim(name, result.version, str(result.outcome), result.objective, round(result.seconds, 6)))
        if not result.outcome.proof or result.outcome is Outcome.ERROR:
            notes.append(str(result))
    return claims, results, notes


def _clash(proofs: list[Result]) -> list[Result]:
    """The first two proofs that contradict each other."""
    for k, first in enumerate(proofs):
        for second in proofs[k + 1:]:
            both = first.objective is not None and second.objective is not None
            if first.outcome is not second.outcome or (both and not agree(first.objective or 0.0, second.objective or 0.0)):
                return [first, second]
    return []


def _who_is_right(problem: Problem, clash: list[Result], results: list[Result], time_limit: float) -> list[str]:
    told = []
    for claim in clash:
        label = confirm(problem, (claim, claim), tuple(results), time_limit)
        proof = prove(problem, label, time_limit, _NODES) if isinstance(label, Label) else None
        if isinstance(proof, Certificate):
            told.append(f"an exact proof confirms {claim.solver}")
        elif isinstance(proof, Refuted):
            told.append(f"an exact proof refutes {claim.solver}: {proof.reason}")
    return told


def _unproved(found: Settled, problem: Problem, results: list[Result], notes: list[str]) -> Settled:
    outcomes = {r.outcome for r in results}
    message = "; ".join(notes) or "no solver was asked"
    for outcome in (Outcome.LIMIT_WITH_INCUMBENT, Outcome.LIMIT, Outcome.INFEASIBLE_OR_UNBOUNDED, Outcome.ERROR):
        if outcome in outcomes:
            values = [r.objective for r in results if r.outcome is outcome and r.objective is not None]
            best = (max(values) if problem.maximize else min(values)) if values else None
            name = "undecided" if outcome is Outcome.INFEASIBLE_OR_UNBOUNDED else str(outcome)
            return replace(found, outcome=name, objective=best if outcome is Outcome.LIMIT_WITH_INCUMBENT else None, message=message)
    failed = any(claim.outcome == "error" for claim in found.solvers)
    return replace(found, outcome="error" if failed else "unsupported", message=message)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else decimal_text(value) or str(value)
