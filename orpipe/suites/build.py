"""Choosing the hidden data sets of a structure: turn by turn the candidate that kills most of the mutants still alive.

Pure in (family, formulation, seed) and the versions of orpipe and its solvers: every limit counts work, none the clock
(the equivalence engine's budget alone is in seconds, a thousand times what these sizes take).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orpipe.algebra.idioms import lower
from orpipe.algebra.nodes import Model
from orpipe.build import quarantine
from orpipe.disagreements import overheard, tell
from orpipe.errors import DataError, ModelError
from orpipe.families import Family
from orpipe.ground import ground, structure_hash
from orpipe.mutate import Mutant, mutants
from orpipe.proof import Certificate, Refuted, prove
from orpipe.solve import Label, label
from orpipe.suites.candidates import Candidate, aims_of, candidates, natural, shaped
from orpipe.suites.harmless import same_optimum
from orpipe.suites.kills import SECONDS, Trial
from orpipe.suites.spread import spread
from orpipe.suites.suite import DataSet, Suite
from orpipe.verify.equivalence import compare_problems
from orpipe.verify.verdict import Verdict

LEAST, SPREAD, MOST = 3, 6, 8  # SPREAD: with data sets that kill what one data set alone has killed
_TURNS, _IDLE = 30, 8  # turns in all, and turns in a row that kill nothing
_PATIENT = 3  # from this turn on, data that make the right model infeasible or unbounded may be kept too
_NODES = 3000
_BUDGET = 20.0


@dataclass(frozen=True, eq=False)
class Kept:
    """A data set that was chosen, as it is tried on."""

    trial: Trial
    certificate: str
    kills: tuple[str, ...]

    def data_set(self) -> DataSet:
        return DataSet(self.trial.data, self.trial.label.status, self.trial.label.objective_exact, self.certificate, self.kills)


def build_suite(family: Family, formulation: str, seed: int, *, proof_nodes: int = 2000, pool: Sequence[Mutant] | None = None) -> Suite:
    """The suite of one structure, 3 to 8 data sets (fewer only where samplers or solvers refuse).  pool: the mutants to kill,
    by default all of the model's; the same operator and site always mean the same mutant."""
    with overheard(f"a data set of {family.name} ({formulation})") as clashes:
        found = _chosen(family, formulation, seed, proof_nodes, pool)
    return replace(found, disagreements=tuple(quarantine.details(f"suite-{found.structure_hash}", clashes)))


def _chosen(family: Family, formulation: str, seed: int, proof_nodes: int, pool: Sequence[Mutant] | None) -> Suite:
    symbolic = family.symbolic(formulation)
    linear = lower(symbolic)
    known = mutants(linear) if pool is None else list(pool)
    alive = {str(m): m for m in known}
    kept: list[Kept] = []
    idle = 0
    for turn in range(_TURNS):
        if not alive or len(kept) == MOST or idle == _IDLE:
            break
        aims = tuple(dict.fromkeys(a for m in alive.values() for a in aims_of(linear, m.site.kind, m.site.name)))
        tried = [t for c in candidates(family, formulation, linear, seed, turn, aims) if (t := _trial(linear, c)) is not None]
        tried = [t for t in tried if turn >= _PATIENT or t.label.status == "optimal"]
        killed = [tuple(key for key, m in alive.items() if t.fate(m, _NODES, sure=True) == "killed") for t in tried]
        for k in sorted(range(len(tried)), key=lambda k: -len(killed[k])):
            fresh = tuple(key for key in killed[k] if key in alive)
            if not fresh or len(kept) == MOST:
                break
            if (proof := _certificate(tried[k], proof_nodes)) is None:
                continue
            kept.append(Kept(tried[k], proof, fresh))
            alive = {key: m for key, m in alive.items() if key not in fresh}
            idle = -1
            if turn:  # the first, natural ones may both stay
                break
        idle += 1
    more = [natural(family, formulation, seed, level, "more") for level in (1, min(2, len(family.levels)))]
    wanted = (*shaped(family, formulation, linear, seed), *more) if len(kept) < SPREAD else ()
    extra = [t for c in wanted if c is not None and (t := _trial(linear, c)) is not None]
    chosen = max(LEAST, len(kept))  # proofs of equivalence are asked for on these; on the others the same answer is enough
    proofs = {id(t): proof for t in extra if (proof := _certificate(t, proof_nodes)) is not None}
    for trial in spread([k.trial for k in kept], [t for t in extra if id(t) in proofs], known, LEAST, SPREAD, _NODES):
        fresh = tuple(key for key, m in alive.items() if trial.fate(m, _NODES, sure=True) == "killed")
        kept.append(Kept(trial, proofs[id(trial)], fresh))
        alive = {key: m for key, m in alive.items() if key not in fresh}
    trials = [k.trial for k in kept[:chosen] if k.trial.label.status == "optimal"]
    survivors = tuple(key for key, m in alive.items() if not _harmless(trials, m))
    return Suite(structure_hash(symbolic), family.name, formulation, tuple(k.data_set() for k in kept), survivors)


def _trial(linear: Model, candidate: Candidate) -> Trial | None:
    """None where the data do not fit the model or get no label."""
    try:
        problem = ground(linear, candidate.data)
    except (DataError, ModelError):
        return None
    found = label(problem, SECONDS, _NODES)
    return Trial(linear, candidate.data, problem, found) if isinstance(found, Label) else None


def _certificate(trial: Trial, nodes: int) -> str | None:
    """The kind of proof, as in the column `certificate`; None if it refutes the label, or leaves a bare «infeasible» to solvers."""
    found = prove(trial.problem, trial.label, float("inf"), nodes)
    if isinstance(found, Certificate):
        return "exact"
    if isinstance(found, Refuted):
        tell(trial.problem, f"an exact proof refutes the label: {found.reason}", trial.label.results)
        return None
    if trial.label.status != "optimal":
        return None
    return "exact-point+agreement"


def _harmless(trials: Sequence[Trial], mutant: Mutant) -> bool:
    """On every data set the matrix is the same, or an argument proves the same optimum, or the engine proves equivalence."""
    for trial in trials:
        faulty = trial.grounded(mutant)
        if faulty is None:
            return False
        if trial.problem.difference(faulty, rtol=0.0) is None or same_optimum(trial.problem, faulty):
            continue
        if compare_problems(trial.problem, faulty, budget=_BUDGET).verdict is not Verdict.EQUIVALENT:
            return False
    return bool(trials)
