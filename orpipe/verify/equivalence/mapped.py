"""Two models under one proposed map: equivalent with proofs, different with a witness, or open.

The contract: the same feasible set on the shared decisions, and the same objective on it.  Decisions are the reference's;
its auxiliary columns, and what else the other model has, only need to exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from orpipe.problem import Problem
from orpipe.verify.equivalence.changes import OBJECTIVE, with_objective_column
from orpipe.verify.equivalence.containment import Containment, best_point, contained, objectives
from orpipe.verify.equivalence.following import following
from orpipe.verify.equivalence.forms import one_sided
from orpipe.verify.equivalence.lifting import certificates, point_by_point
from orpipe.verify.equivalence.loosening import loosened
from orpipe.verify.equivalence.normalise import Form, normalise
from orpipe.verify.equivalence.pairing import Map, Pair
from orpipe.verify.equivalence.probes import Probes, probes
from orpipe.verify.equivalence.project import Demands, demands
from orpipe.verify.equivalence.reach import Clock, OutOfTime
from orpipe.verify.equivalence.region import Region
from orpipe.verify.equivalence.witness import Side, Sides, Witness

State = Literal["equal", "different", "open"]


@dataclass(frozen=True)
class Finding:
    """method: "containment", "projection" or "probes"; what: where a difference lies; count: of probes."""

    state: State
    method: str = ""
    what: Literal["", "set", "objective"] = ""
    witness: Witness | None = None
    reason: str = ""
    proofs: frozenset[str] = frozenset()
    count: int = 0
    empty: bool = False
    factor: float = 1.0
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Roles:
    """Which columns a map has to match: decision_a (n_a,), free_a and free_b: columns of which only existence matters."""

    decision_a: np.ndarray
    free_a: np.ndarray
    free_b: np.ndarray

    @classmethod
    def of(cls, a: Problem, b: Problem, by: Map) -> Roles:
        """Only our own models declare auxiliaries.  a is the reference, unless b alone declares; where neither does and
        all of b is matched, b's columns are the decisions."""
        told_a, told_b = not a.decision.all(), not b.decision.all()
        decision = np.ones(a.n_vars, bool)
        matched_a, matched_b = np.zeros(a.n_vars, bool), np.zeros(b.n_vars, bool)
        matched_a[by.a], matched_b[by.b] = True, True
        if told_a:
            return cls(a.decision.copy(), ~a.decision, np.ones(b.n_vars, bool))
        if told_b:
            decision = np.zeros(a.n_vars, bool)
            decision[by.a] = b.decision[by.b]
            return cls(decision, np.ones(a.n_vars, bool), ~b.decision)
        if matched_a.all() or not matched_b.all():
            return cls(decision, np.zeros(a.n_vars, bool), np.ones(b.n_vars, bool))
        return cls(matched_a, ~matched_a, np.zeros(b.n_vars, bool))


def unaccounted(a: Problem, b: Problem, by: Map) -> str:
    """A decision of the reference without counterpart while the other model still has columns that could be it, or "".

    It may follow from the others in both models, and yet not in the same way."""
    roles = Roles.of(a, b, by)
    sides = ((a, by.a, ~roles.free_a, b, by.b), (b, by.b, ~roles.free_b, a, by.a))
    for problem, matched, decisions, other, taken in sides:
        open_ = decisions.copy()
        open_[matched] = False
        form = normalise(other)
        spare = ((form.A != 0).any(0) | (form.cost != 0)) & (form.low != form.high)
        spare[taken] = False
        if open_.any() and spare.any():
            return problem.columns[int(open_.argmax())]
    return ""


@dataclass
class Mapped:
    """The comparison of two Problems under one map.  `problem_*` keep their columns at the map's positions."""

    a: Problem
    b: Problem
    by: Map
    clock: Clock
    scale_free: bool = False
    roles: Roles = field(init=False)

    def __post_init__(self) -> None:
        self.roles = Roles.of(self.a, self.b, self.by)
        self.form_a, self.form_b = normalise(self.a), normalise(self.b)
        decisions = self.by.without([bool(self.roles.decision_a[p.a]) for p in self.by.pairs])
        self.sides = Sides(self.a, self.b, Region(self.a, self.clock), Region(self.b, self.clock), decisions)
        self.back = self.by.reversed()

    def judge(self) -> Finding:
        """First with every matched column, then, if only auxiliary columns stand in the way, with decisions alone."""
        found = self._judge()
        plain = len(self.sides.decisions.pairs) == len(self.by.pairs)
        if found.state == "open" and not plain and self.sides.decisions.pairs:
            if (proved := self._loosened()) is not None:
                return proved
            narrow = replace(self, by=self.sides.decisions)
            return narrow._judge()
        return found

    def _loosened(self) -> Finding | None:
        """Equal once each model is without the row sides that its auxiliaries meet for free; None if not so, or not proved."""
        own = self.roles.free_b.copy()
        own[self.sides.decisions.b] = False
        a, b = loosened(self.a, ~self.roles.decision_a), loosened(self.b, own)
        if a is self.a and b is self.b:
            return None
        found = replace(self, a=a, b=b)._judge()
        return replace(found, method="projection") if found.state == "equal" and found.method != "probes" else None

    def _judge(self) -> Finding:
        asked_a = self._demands(self.form_a, self.by, self.roles.free_a, self.form_b)
        asked_b = self._demands(self.form_b, self.back, self.roles.free_b, self.form_a)
        if not (asked_a.valued and asked_b.valued):
            return self._by_points(asked_a, asked_b) or self._with_objective_columns()
        rows_a, rows_b = one_sided(self.form_a, redundant=True), one_sided(self.form_b, redundant=True)
        left = unaccounted(self.a, self.b, self.by)
        first = contained(self.sides, "b", asked_a, self.by, self.form_b, rows_b)
        if first.state == "no":
            return Finding("different", what="set", witness=first.witness)
        second = contained(self.sides, "a", asked_b, self.back, self.form_a, rows_a)
        if second.state == "no":
            return Finding("different", what="set", witness=second.witness)
        if first.empty or second.empty:
            return Finding("open", reason="one of the models has no feasible point", empty=True)
        method, count, proofs = "containment", 0, first.proofs | second.proofs
        if not (asked_a.complete and asked_b.complete):
            lifted = self._lifted(asked_a, asked_b, first, second)
            if lifted.state != "equal":
                return lifted
            method, count, proofs = lifted.method, lifted.count, proofs | lifted.proofs
        for state in (first, second):
            if state.state == "open":
                return Finding("open", reason=state.reason)
        if left:
            return Finding("open", reason=f"decision '{left}' has no counterpart")
        value = objectives(self.sides, asked_a, asked_b, self.by, self.scale_free)
        if value.state == "no":
            return Finding("different", what="objective", witness=value.witness)
        if value.state == "open":
            return Finding("open", reason=value.reason)
        return Finding("equal", method, proofs=frozenset(proofs | value.proofs), count=count, factor=float(value.factor),
                       constant=float(value.constant))

    def _demands(self, form: Form, by: Map, free: np.ndarray, other: Form) -> Demands:
        kept, whole = np.zeros(form.n, bool), np.zeros(form.n, bool)
        kept[by.a] = True
        for p in by.pairs:
            whole[p.a] = other.whole[p.b] and abs(p.scale) == 1 and p.shift.denominator == 1
        return demands(form, kept, free, whole)

    def _by_points(self, asked_a: Demands, asked_b: Demands) -> Finding | None:
        """The verdict by trying every assignment of the matched columns, where that can be done."""
        if self.scale_free or self._missing(asked_a, asked_b) or unaccounted(self.a, self.b, self.by):
            return None
        found = self._points(valued=True)
        if found.state == "no":
            assert found.witness is not None
            return Finding("different", what="set" if found.witness.objective_a is None else "objective", witness=found.witness)
        return Finding("equal", "projection", proofs=frozenset(found.proofs)) if found.state == "yes" else None

    def _points(self, valued: bool) -> Containment:
        """By at most half of the time that is left."""
        half = self.clock.share(0.5)
        sides = Sides(self.a, self.b, Region(self.a, half), Region(self.b, half), self.sides.decisions)
        try:
            return point_by_point(sides, self.form_a, self.form_b, self.by, valued)
        except OutOfTime:
            self.clock.left()
            return Containment("open", reason="the points to complete are too many to try in time")

    def _by_rules(self, inside: Side, form: Form, other: Form, by: Map, before: Containment) -> Containment:
        """By at most a third of the time that is left; `before` where no rule does."""
        try:
            found = following(self.sides.region(inside).problem, form, other, by, self.clock.share(0.34))
        except OutOfTime:
            self.clock.left()
            return before
        return found if found.state == "yes" else before

    def _missing(self, asked_a: Demands, asked_b: Demands) -> str:
        """A decision without counterpart that was not eliminated, or ""."""
        for asked, free, problem in ((asked_a, self.roles.free_a, self.a), (asked_b, self.roles.free_b, self.b)):
            missing = np.flatnonzero(~asked.kept & ~free)
            if len(missing) and not asked.complete:
                return problem.columns[missing[0]]
        return ""

    def _with_objective_columns(self) -> Finding:
        """Some column outside the map has a cost: compare the sets {decisions, t : t at least the objective}."""
        if self.scale_free:
            return Finding("open", reason="columns without counterpart have costs, and the scale of the objective is free")
        if (found := self._extremes()) is not None:
            return found
        a, b = with_objective_column(self.a), with_objective_column(self.b)
        by = replace(self.by, pairs=(*self.by.pairs, Pair(a.n_vars - 1, b.n_vars - 1)))
        wider = Mapped(a, b, by, self.clock)
        roles = self.roles
        wider.roles = Roles(np.append(roles.decision_a, True), np.append(roles.free_a, False), np.append(roles.free_b, False))
        decisions = by.without([bool(wider.roles.decision_a[p.a]) for p in by.pairs])
        wider.sides = replace(wider.sides, decisions=decisions)
        return wider._judge()

    def _extremes(self) -> Finding | None:
        """The best and the worst point of either model, held against the other: where decisions differ, it often shows there."""
        sides = self.sides
        pair: tuple[tuple[Side, Problem], ...] = (("a", sides.a), ("b", sides.b))
        for turned in (False, True):
            for side, mine in pair:
                point = best_point(sides.region(side), replace(mine, maximize=mine.maximize != turned))
                if point is None:
                    continue
                if (witness := sides.excluded(side, point)) is not None:
                    return Finding("different", what="set", witness=witness)
                if (witness := sides.valued_at(side, point)) is not None:
                    return Finding("different", what="objective", witness=witness)
        return None

    def _lifted(self, asked_a: Demands, asked_b: Demands, first: Containment, second: Containment) -> Finding:
        """Completions in the models whose other columns could not be eliminated."""
        if missing := self._missing(asked_a, asked_b):
            return Finding("open", reason=f"decision '{missing}' has no counterpart")
        if not self.scale_free and self.a.columns[-1] != OBJECTIVE and (shown := self._extremes()) is not None:
            return shown
        method, count, proofs, stuck = "projection", 0, set(), ""
        tasks: list[tuple[bool, Side, Form, Form, Map]] = [
            (asked_b.complete, "a", self.form_a, self.form_b, self.back),
            (asked_a.complete, "b", self.form_b, self.form_a, self.by)]
        for complete, inside, form, other, by in tasks:
            if complete:
                continue
            # the certificate's program is worth a fixed share of the budget, probes the rest
            try:
                found = certificates(self.sides, inside, form, other, by, self.clock.share(0.4))
            except OutOfTime:
                self.clock.left()
                found = Containment("open", reason="out of time")
            if found.state == "open":
                found = self._points(valued=False)
            if found.state == "open":
                found = self._by_rules(inside, form, other, by, found)
            if found.state == "no":
                return Finding("different", what="set", witness=found.witness)
            if found.state == "yes":
                proofs |= found.proofs
                continue
            tried: Probes = probes(self.sides, inside, form, other, by, self.clock.share(0.5))
            if tried.containment.state == "no":
                return Finding("different", what="set", witness=tried.containment.witness)
            if not tried.enough:  # the other direction may still refute
                stuck = stuck or f"{found.reason}; {tried.done} probes are too few"
            method, count = "probes", count + tried.done
        if stuck:
            return Finding("open", reason=stuck)
        return Finding("equal", method, proofs=frozenset(proofs), count=count)


