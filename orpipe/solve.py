"""Solving: what a solver may claim, who claims it, and when claims become a label.  Imports no vendor.

    solvers()           adapters found in the package orpipe_solvers, by name; unavailable() says what is missing
    settle(...)         one solver's answer, with "infeasible or unbounded" decided by that solver
    label(problem)      Label (two solver families prove the same, checked in exact arithmetic) or Refusal (why not)

A time limit, a disagreement or a point that is not feasible in exact arithmetic never yields a label.
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from orpipe import disagreements, exact_lp
from orpipe.adapters import solver
from orpipe.adapters import solvers as solvers
from orpipe.adapters import unavailable as unavailable
from orpipe.errors import Unsupported
from orpipe.exact_lp import Basis
from orpipe.problem import Kind, Problem
from orpipe.roles import KINDS, asked, roles
from orpipe.unbounded import escape, reached

if TYPE_CHECKING:
    from orpipe.proof.certificate import Certificate

POLICY: Mapping[Kind, tuple[str, ...]] = {kind: next(r.ask for r in roles().roles if r.kind == kind) for kind in KINDS}
"""The solvers that are asked for small problems of a kind; `asked(problem)` knows the size too."""
VERTEX = roles().vertex  # asked in turn for a basis that is optimal in exact arithmetic
TOLERANCE = 1e-6  # two objectives agree within TOLERANCE * max(1, |objective|)
_SAME = 1e-9  # objectives further apart than this (scaled alike) may belong to different optima: look at both points
_LOOK = 200  # nodes of the exact search behind a claim of infeasibility
_LOOK_OPTIMAL, _LOOK_COLUMNS = 20, 30  # the same behind an optimum of that many columns at most
_AGAIN = 10.0  # seconds of the second solve after "infeasible or unbounded"


class Outcome(StrEnum):
    """What a solver claims.  Only the first three are proofs."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible_or_unbounded"
    LIMIT_WITH_INCUMBENT = "limit_with_incumbent"
    LIMIT = "limit"
    ERROR = "error"

    @property
    def proof(self) -> bool:
        return self in (Outcome.OPTIMAL, Outcome.INFEASIBLE, Outcome.UNBOUNDED)

    @property
    def limited(self) -> bool:
        return self in (Outcome.LIMIT, Outcome.LIMIT_WITH_INCUMBENT)


@dataclass(frozen=True, eq=False)
class Answer:
    """What an adapter's `run` returns: the claim, in the problem's own sense and with its offset; point is (n,)."""

    outcome: Outcome
    objective: float | None = None
    point: np.ndarray | None = None
    message: str = ""
    basis: Basis | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """One claim by one solver.  objective and point are None unless there is an incumbent; seconds is wall time."""

    solver: str
    family: str
    version: str
    outcome: Outcome
    objective: float | None
    point: np.ndarray | None
    seconds: float
    message: str = ""
    settings: Mapping[str, float | int | str] = field(default_factory=dict)
    basis: Basis | None = None

    def record(self) -> dict[str, str | float | None]:
        """For data files: name, version, status, objective.  No duration: the same recipe gives the same bytes."""
        return {"name": self.solver, "version": self.version, "status": str(self.outcome), "objective": self.objective}

    def __str__(self) -> str:
        value = "" if self.objective is None else f" {self.objective:.10g}"
        return f"{self.solver}: {self.outcome}{value}" + (f" ({self.message})" if self.message else "")


class Solver(ABC):
    """An adapter: one file in orpipe_solvers, listed there in SOLVERS.  It states what it accepts and how it runs.

    Two names of one `family` share an engine: they never count as two witnesses.  `package` is the distribution whose
    version is recorded.  `deviations` maps names of conformance cases (orpipe.testing.solver_suite) to the reason why
    the library answers them wrongly: known, and expected to fail.  `witness` is False where "optimal" means only within a
    tolerance: such a solver is never part of a label.
    """

    name: str
    family: str
    package: str
    settings: Mapping[str, float | int | str] = {}
    deviations: Mapping[str, str] = {}
    witness: bool = True

    @abstractmethod
    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot be given `problem` exactly."""

    @abstractmethod
    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        """Solve an accepted problem, gap 0, one thread, nothing on stdout."""

    @property
    def version(self) -> str:
        return _version(self.package)

    def solve(self, problem: Problem, time_limit: float = 60.0, nodes: int | None = None,
              start: np.ndarray | None = None) -> Result:
        """One solve.  time_limit in seconds; nodes bounds the search (branch-and-bound nodes, conflicts for CP-SAT)
        independently of the machine's speed; start (n,) is a point to begin from, which the solver checks itself and
        may ignore.  Raises Unsupported if `accepts` gives a reason."""
        if reason := self.accepts(problem):
            raise Unsupported(f"{self.name} cannot take this problem: {reason}; ask another solver")
        began = time.perf_counter()
        answer = self.run(problem, time_limit, nodes, start)
        outcome = answer.outcome
        if outcome is Outcome.INFEASIBLE_OR_UNBOUNDED and not problem.cost_exact.num.any():
            outcome = Outcome.INFEASIBLE  # a zero objective cannot be unbounded
        limits: dict[str, float] = {"time_limit": time_limit} | ({} if nodes is None else {"nodes": nodes})
        return Result(
            solver=self.name, family=self.family, version=self.version, outcome=outcome,
            objective=answer.objective, point=answer.point, seconds=time.perf_counter() - began,
            message=answer.message, settings={**self.settings, **limits}, basis=answer.basis,
        )


@cache
def _version(package: str) -> str:
    return installed_version(package)


def out_of_range(problem: Problem, *, smallest: float, largest: float, infinite: float) -> str | None:
    """For `accepts`: matrix entries outside [smallest, largest], or finite bounds and costs that count as infinite."""
    entries = np.abs(problem.matrix.data)
    if entries.size and (entries.min() < smallest or entries.max() > largest):
        return f"matrix entries between {entries.min():g} and {entries.max():g}; it needs {smallest:g} to {largest:g}"
    for what, values in (("bound", problem.lower), ("bound", problem.upper), ("row side", problem.row_lower),
                         ("row side", problem.row_upper), ("cost", problem.cost)):
        found = values[np.isfinite(values) & (np.abs(values) >= infinite)]
        if found.size:
            return f"{what} {found[0]:g} counts as infinite ({infinite:g})"
    return None


def tuned(adapter: Solver, settings: Mapping[str, float | int | str]) -> Solver:
    """The adapter with further settings, in its library's names."""
    own = copy.copy(adapter)
    own.settings = {**adapter.settings, **settings}
    return own


def settle(adapter: Solver, problem: Problem, time_limit: float = 60.0, nodes: int | None = None,
           start: np.ndarray | None = None) -> Result:
    """adapter.solve, and where the answer is "infeasible or unbounded" the exact proof that it is unbounded, else a second
    solve (ten seconds at most) with the objective set to zero: infeasible again means infeasible, a feasible point means unbounded,
    anything else leaves it undecided."""
    return resolved(adapter, problem, adapter.solve(problem, time_limit, nodes, start), time_limit, nodes)


def resolved(adapter: Solver, problem: Problem, result: Result, time_limit: float = 60.0, nodes: int | None = None) -> Result:
    """`settle` of a result that is already there."""
    if result.outcome is not Outcome.INFEASIBLE_OR_UNBOUNDED:
        return result
    if problem.integer.any() and escape(problem, lambda p: _vertex_of(p, time_limit)) is not None:
        return replace(result, outcome=Outcome.UNBOUNDED, message="infeasible or unbounded; a point and a ray stand in exact arithmetic")
    again = adapter.solve(exact_lp.without_objective(problem), min(time_limit, _AGAIN), nodes)
    meaning = {Outcome.INFEASIBLE: Outcome.INFEASIBLE, Outcome.OPTIMAL: Outcome.UNBOUNDED}
    return replace(result, outcome=meaning.get(again.outcome, result.outcome), seconds=result.seconds + again.seconds,
                   message=f"infeasible or unbounded; with a zero objective {again.outcome}"
                   + (f": {again.message}" if again.outcome is Outcome.ERROR and again.message else ""))


Status = Literal["optimal", "infeasible", "unbounded"]
Reason = Literal["disagreement", "limit", "inexact point", "undecided", "unsupported", "error"]


@dataclass(frozen=True, eq=False)
class Label:
    """An outcome proved by two solver families, results[-2:] at least among them.

    optimal: point is feasible in exact arithmetic, objective_exact its objective, objective the nearest float.
    unbounded: point is feasible and ray improves for ever, both exact; objectives are None.
    proof: "exact" if rational arithmetic alone proves the outcome (LP optimum by primal and dual signs, Farkas for an
    infeasible relaxation, a ray for unboundedness), "agreement" if the bound rests on the two solvers: then an exact search of few
    nodes has found nothing better (small optima) or nothing feasible.
    duals (m,): exact row duals at an LP optimum, in objective units per unit of the row's side, else None.
    certificate: where that search has finished, its proof; orpipe.proof.prove does not search again.
    """

    accepted: ClassVar[bool] = True
    status: Status
    objective: float | None
    objective_exact: Fraction | None
    point: tuple[Fraction, ...] | None
    proof: Literal["exact", "agreement"]
    results: tuple[Result, ...]
    ray: tuple[Fraction, ...] | None = None
    duals: tuple[Fraction, ...] | None = None
    certificate: Certificate | None = None


@dataclass(frozen=True, eq=False)
class Refusal:
    """No label, and why; every result is kept.

    disagreement: two proofs contradict each other, or exact arithmetic contradicts them.  limit: a proof is missing
    because of a time or node limit.  inexact point: no reported point is feasible (LP: optimal) in exact arithmetic at
    the reported objective.  undecided: "infeasible or unbounded" could not be resolved.  unsupported: fewer than two
    families accept the problem.  error: a solver failed.
    """

    accepted: ClassVar[bool] = False
    reason: Reason
    detail: str
    results: tuple[Result, ...]


def label(problem: Problem, time_limit: float = 60.0, nodes: int | None = None,
          policy: Mapping[Kind, tuple[str, ...]] | None = None) -> Label | Refusal:
    """Ask the solvers of `policy`, by default those of data/reference/solvers.yaml (each with this time_limit in seconds, and
    node limit), until two families have proved an outcome, then check it exactly.  Raises NotFound for an unknown solver
    name; a bad problem is a Refusal.  A disagreement is told (orpipe.disagreements)."""
    names = asked(problem) if policy is None else policy[problem.kind]
    results: list[Result] = []
    proofs: dict[str, Result] = {}
    notes: list[str] = []
    start: np.ndarray | None = None
    for k, name in enumerate(names):
        if len(proofs) == 2 or len(proofs.keys() | {solver(other).family for other in names[k:]}) < 2:
            break
        reason = solver(name).accepts(problem) if solver(name).witness else "its optimum holds within a tolerance only"
        if reason:
            notes.append(f"{name}: {reason}")
            continue
        # The second family need not find the point again: it has to prove that none is better.
        result = settle(solver(name), problem, time_limit, nodes, start)
        results.append(result)
        if start is None and result.point is not None and problem.integer.any():
            start = np.where(problem.integer, np.rint(result.point), result.point)
        if result.outcome.proof:
            proofs.setdefault(result.family, result)
    if len(proofs) < 2:
        return Refusal(_why(results), "; ".join([*map(str, results), *notes]), tuple(results))
    found = _Check(problem, tuple(results), tuple(proofs.values()), time_limit, nodes).verdict()
    if isinstance(found, Refusal) and found.reason == "disagreement":
        disagreements.tell(problem, found.detail, found.results)
    return found


def confirm(problem: Problem, claims: tuple[Result, Result], results: tuple[Result, ...], time_limit: float = 60.0,
            nodes: int | None = None) -> Label | Refusal:
    """Two proofs compared and checked exactly.  The same claim twice asks only whether it stands in exact arithmetic."""
    return _Check(problem, results, claims, time_limit, nodes).verdict()


def _why(results: list[Result]) -> Reason:
    outcomes = {result.outcome for result in results}
    if any(outcome.limited for outcome in outcomes):
        return "limit"
    if Outcome.INFEASIBLE_OR_UNBOUNDED in outcomes:
        return "undecided"
    return "error" if Outcome.ERROR in outcomes else "unsupported"


def agree(a: float, b: float, tolerance: float = TOLERANCE) -> bool:
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


@dataclass(frozen=True, eq=False)
class _Check:
    """Two proofs by two families, to be confirmed in exact arithmetic."""

    problem: Problem
    results: tuple[Result, ...]
    proofs: tuple[Result, ...]
    time_limit: float
    nodes: int | None

    def verdict(self) -> Label | Refusal:
        first, second = self.proofs
        if first.outcome is not second.outcome:
            return self._refuse("disagreement", self._said())
        if first.outcome is Outcome.OPTIMAL:
            return self._optimal()
        return self._infeasible() if first.outcome is Outcome.INFEASIBLE else self._unbounded()

    def _said(self) -> str:
        return "; ".join(map(str, self.proofs))

    def _refuse(self, reason: Reason, detail: str) -> Refusal:
        return Refusal(reason, detail, self.results)

    def _optimal(self) -> Label | Refusal:
        first, second = (result.objective for result in self.proofs)
        if first is None or second is None or not agree(first, second):
            return self._refuse("disagreement", self._said())
        best: exact_lp.Vertex | None = None
        for result in self.proofs:
            found = self._vertex(self.problem, result)
            if found is None or not all(agree(float(found.objective), claim) for claim in (first, second)):
                continue
            better = best is None or (found.objective > best.objective) == self.problem.maximize
            best = found if better else best
            if agree(first, second, _SAME):
                break
        if best is None:
            return self._refuse("inexact point", f"no reported point stands in exact arithmetic: {self._said()}")
        lp = self.problem.kind == "LP"
        claim = Label("optimal", float(best.objective), best.objective, best.point, "exact" if lp else "agreement",
                      self.results, duals=best.duals if lp else None)
        return claim if lp or self.problem.n_vars > _LOOK_COLUMNS else self._searched(claim, _LOOK_OPTIMAL)

    def _infeasible(self) -> Label | Refusal:
        broken = self._least_violation()
        if broken == 0 and self.problem.kind == "LP":
            return self._refuse("disagreement", f"a feasible point exists in exact arithmetic: {self._said()}")
        claim = Label("infeasible", None, None, None, "exact" if broken else "agreement", self.results)
        return claim if broken else self._searched(claim, _LOOK)

    def _searched(self, claim: Label, nodes: int) -> Label | Refusal:
        """Two families have overlooked the same whole point (wide coefficients on equality rows), so the exact search has a
        look too, and keeps silent where it does not finish; by nodes, not by the clock, as labels must not depend on the machine."""
        from orpipe.proof import Certificate as Proof
        from orpipe.proof import Refuted, prove  # it builds on this module

        found = prove(self.problem, claim, math.inf, nodes)
        if isinstance(found, Refuted):
            return self._refuse("disagreement", f"{found.reason} in exact arithmetic: {self._said()}")
        return replace(claim, certificate=found) if isinstance(found, Proof) else claim

    def _unbounded(self) -> Label | Refusal:
        ray = _vertex_of(exact_lp.recession(self.problem), self.time_limit)
        if ray is None or ray.objective == 0:
            return self._refuse("inexact point", f"no exact improving ray: {self._said()}")
        still = exact_lp.without_objective(self.problem)
        for make in (lambda: self._found(still), lambda: self._escaped(ray.point)):
            if (point := make()) is not None:
                return Label("unbounded", None, None, point, "exact", self.results, ray=ray.point)
        return self._refuse("inexact point", f"no exact feasible point: {self._said()}")

    def _found(self, still: Problem) -> tuple[Fraction, ...] | None:
        """A feasible point that a solver finds."""
        found = solver(VERTEX[0]).solve(still, min(self.time_limit, _AGAIN), self.nodes)
        point = self._vertex(still, found) if found.outcome is Outcome.OPTIMAL else None
        return None if point is None else point.point

    def _escaped(self, ray: tuple[Fraction, ...]) -> tuple[Fraction, ...] | None:
        return reached(self.problem, ray, lambda p: _vertex_of(p, self.time_limit))

    def _least_violation(self) -> Fraction | None:
        """A positive number if the relaxation is infeasible for certain, 0 if it is feasible, None if not known."""
        if exact_lp.contradiction(self.problem):
            return Fraction(1)
        found = self._basic(exact_lp.elastic(self.problem))
        return None if found is None else found.objective

    def _vertex(self, problem: Problem, result: Result) -> exact_lp.Vertex | None:
        """An exactly feasible point, best for an LP, else best for the integers of `result`; None if there is none."""
        if problem.kind == "LP":
            return self._basic(problem, result.basis)
        if result.point is None or not np.isfinite(result.point).all():
            return None
        whole = [round(v) if k else 0 for v, k in zip(result.point.tolist(), problem.integer.tolist(), strict=True)]
        if problem.integer.all():
            point = tuple(Fraction(v) for v in whole)
            found = exact_lp.Vertex(point, problem.objective(point), (), True, False)
        else:
            rest = self._basic(exact_lp.fixed(problem, whole))
            if rest is None:
                return None
            found = rest
        return None if problem.violations(found.point) else found

    def _basic(self, problem: Problem, basis: Basis | None = None) -> exact_lp.Vertex | None:
        """The exact optimum of an LP, from `basis` if that is optimal, else from the bases of the VERTEX solvers."""
        found = exact_lp.vertex(problem, basis) if basis is not None else None
        return found if found is not None and found.optimal else _vertex_of(problem, self.time_limit)


def _vertex_of(problem: Problem, time_limit: float) -> exact_lp.Vertex | None:
    for name in VERTEX:
        adapter = solver(name)
        if adapter.accepts(problem):
            continue
        result = adapter.solve(problem, time_limit)
        if result.outcome is not Outcome.OPTIMAL or result.basis is None:
            continue
        found = exact_lp.vertex(problem, result.basis)
        if found is not None and found.optimal:
            return found
    return None
