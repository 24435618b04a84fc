"""The comparison of two models, cheapest step first, within a budget; what is reached is kept.

    the same by names -> isomorphic -> in other units -> one column substituted -> parallel columns merged (structure)
    -> the map that names give, by containment -> both optima -> other maps, by containment -> the strongest that is left

Where the names of the reference's decisions all stand in the other model and say something, they are the map: a
relabelling that only works under other names does not make models equivalent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from orpipe.errors import OrpipeError, Unsupported
from orpipe.problem import Problem
from orpipe.verify.equivalence import optimum, uncentred
from orpipe.verify.equivalence.canonical import Centred, Isomorphism, agree, centred, close, isomorphism, same_offset
from orpipe.verify.equivalence.evidence import Comparison, difference_sentence, direction, matched, sameness_sentence
from orpipe.verify.equivalence.fit import fit_of
from orpipe.verify.equivalence.forms import ROUNDING, SAME, reduced
from orpipe.verify.equivalence.mapped import Finding, Mapped, Roles, unaccounted
from orpipe.verify.equivalence.names import Names, equal_names, index_maps
from orpipe.verify.equivalence.normalise import Form, normalise, snapped
from orpipe.verify.equivalence.pairing import Map, fitted, of_isomorphism
from orpipe.verify.equivalence.project import substitutions
from orpipe.verify.equivalence.ranges import shown
from orpipe.verify.equivalence.reach import LOOSE, Clock, OutOfTime
from orpipe.verify.equivalence.redraw import Redraw, redrawn
from orpipe.verify.equivalence.roles import assignment_map, part_maps, thinned_map
from orpipe.verify.verdict import Verdict

Naming = Literal["trusted", "hints", "ignored"]
BUDGET = 8.0
_LOG = logging.getLogger(__name__)
_MOST_MAPS = 5


def compare_problems(
    a: Problem, b: Problem, *, budget: float = BUDGET, names: Naming = "trusted", scale_free: bool = False, accept_probes: bool = False,
    labels: tuple[str, str] = ("A", "B"), report: Callable[[Comparison], None] | None = None, redraws: Sequence[Redraw] = (),
) -> Comparison:
    """Is b the same model as the reference a?

    budget: seconds.  names: "trusted" (equal names mean the same quantity), "hints" (they propose), "ignored".
    scale_free: b's objective may be a positive multiple of a's plus a constant.  accept_probes: probes that find no
    difference make EQUIVALENT; by default they are told, and prove nothing.  report: called with every verdict that
    is reached on the way.  redraws: both models on other data; asked where nothing is decided, or where an equivalence rests on no
    names (interchangeable variables may be exchanged in this data only).  One that differs in status or optimum is NOT_EQUIVALENT by
    "redraw"; agreement proves nothing.  Never raises for what a model says; our own faults are UNDECIDED.
    """
    engine = _Engine(snapped(a), snapped(b), Clock(budget), names, scale_free, accept_probes,
                     {"a": labels[0], "b": labels[1]}, report)
    found = engine.run()
    if redraws and not scale_free and (not found.decided or (found.verdict is Verdict.EQUIVALENT and engine.strict is None)):
        found = redrawn(found, redraws, engine.clock, labels)
    return found


@dataclass
class _Engine:
    a: Problem
    b: Problem
    clock: Clock
    naming: Naming
    scale_free: bool
    accept_probes: bool
    label: Mapping[str, str]
    report: Callable[[Comparison], None] | None = None
    best: Comparison | None = None
    optima: optimum.Optima | None = None
    reason: str = "nothing was decided"

    def run(self) -> Comparison:
        try:
            found = self._steps()
        except OutOfTime:
            found = self._left_over(f"the budget of {self.clock.budget:g} s is spent")
        except OrpipeError as error:
            found = self._left_over(str(error))
        except (MemoryError, RecursionError) as error:
            found = self._left_over(f"our comparison ran out of {'memory' if isinstance(error, MemoryError) else 'stack'}")
        except Exception as error:  # our fault is never the judged model's
            _LOG.warning("comparison failed", exc_info=True)
            found = self._left_over(f"our comparison failed ({type(error).__name__}: {error})")
        return replace(found, seconds=self.clock.elapsed)

    # -- the steps
    def _steps(self) -> Comparison:
        try:
            self.form_a, self.form_b = normalise(self.a), normalise(self.b)
        except Unsupported:  # too large for all but this
            if self._word_for_word():
                return self._equivalent("identical", Map.plain(equal_names(*self.names), "names"))
            raise
        if not (self.form_a.empty or self.form_b.empty):
            found = self._structure()
            if found is not None:
                return found
            if self.strict is not None:
                try:
                    found = self._under(self.strict, self.clock.share(0.6))
                except OutOfTime:  # of its share; the optima may still be told
                    self.reason = "the budget did not suffice to compare all rows"
                if found is not None:
                    return found
        elif self._word_for_word():
            return self._equivalent("identical", Map.plain(equal_names(*self.names), "names"))
        else:
            self.reason = "the bounds of a model contradict each other"
        self.optima = optimum.both(self.a, self.b, self.clock.share(0.4))
        found = self._optimum(self.optima)
        if found is not None:
            return found
        if self.strict is None and not (self.form_a.empty or self.form_b.empty):
            return self._search() or self._ranges() or self._left_over(self.reason)
        return self._left_over(self.reason)

    def _ranges(self) -> Comparison | None:  # holds under every map
        if self.scale_free or self.optima is None or self.optima.same_status != "optimal":
            return None
        if (found := shown(self.a, self.b, self.clock, self.label)) is None:
            return None
        return replace(self._done(Verdict.NOT_EQUIVALENT, "range", found.sentence, None, {"proofs": [found.proof]}), witness=found.witness)

    def _word_for_word(self) -> bool:
        return self.naming != "ignored" and self.a.difference(self.b, rtol=SAME) is None

    @cached_property
    def names(self) -> tuple[Names, Names]:
        return Names.of(self.a.columns), Names.of(self.b.columns)

    @cached_property
    def by_names(self) -> Map | None:
        """Columns of equal names, if names count at all."""
        if self.naming == "ignored":
            return None
        pairs = equal_names(*self.names)
        found = Map.plain(pairs, "names") if pairs else None
        if found is None or not all(n.told for n in self.names):
            return found
        return replace(found, trusted=self._covers(found))

    @cached_property
    def kept(self) -> Map | None:
        """The columns that names settle: no map may say otherwise."""
        by = self.by_names
        return by if by is not None and self.naming == "trusted" and all(n.told for n in self.names) else None

    @cached_property
    def strict(self) -> Map | None:
        """The map, where names settle every decision of the reference."""
        return self.kept if self.kept is not None and self.kept.trusted else None

    def _covers(self, by: Map) -> bool:
        """Every decision of the reference is matched."""
        return bool(np.isin(np.flatnonzero(Roles.of(self.a, self.b, by).decision_a), by.a).all())

    # -- structure
    def _structure(self) -> Comparison | None:
        a, b = self.form_a, self.form_b
        plain_a, plain_b = centred(a), centred(b)
        if self.strict is not None:
            found = self._identical(plain_a, plain_b, self.strict)
            if found is not None:
                return found
            if len(self.strict.pairs) == a.n == b.n:
                return None
        for method, left, right in self._smaller_forms(plain_a, plain_b):
            hint = self._positions(self.by_names, left.form, right.form)
            fixed = self._positions(self.kept, left.form, right.form)
            same = isomorphism(left, right, hint, fixed)
            if same is None or not uncentred.holds(left, right, same):
                continue
            by = of_isomorphism(same, left, right, method)
            if self._consistent(by) and not unaccounted(self.a, self.b, by):
                return self._equivalent(method, by, near=not (agree(left, right, same, ROUNDING) and uncentred.holds(left, right, same, ROUNDING)))
        return None

    def _identical(self, a: Centred, b: Centred, by: Map) -> Comparison | None:
        if len(by.pairs) != a.form.n or a.form.n != b.form.n or not same_offset(a.form, b.form) or len(a.rows) != len(b.rows):
            return None
        to = np.empty(a.form.n, int)
        to[by.a] = by.b
        found = Isomorphism(to, np.ones(len(to)))
        if not close(a.centre, b.centre[to]) or not agree(a, b, found) or not uncentred.holds(a, b, found, plain=True):
            return None
        return self._equivalent("identical", by, near=not (
            close(a.centre, b.centre[to], ROUNDING) and agree(a, b, found, ROUNDING) and uncentred.holds(a, b, found, ROUNDING, plain=True)))

    def _smaller_forms(self, plain_a: Centred, plain_b: Centred) -> Iterator[tuple[str, Centred, Centred]]:
        a, b = self.form_a, self.form_b
        if a.n == b.n:
            yield "isomorphic", plain_a, plain_b
        gone_a, gone_b = self._removable()
        small_a, small_b = reduced(a, gone_a), reduced(b, gone_b)
        if (small_a.n, small_b.n) != (a.n, b.n) and small_a.n == small_b.n:
            yield "isomorphic", centred(small_a), centred(small_b)
        if self.strict is not None:
            return
        if small_a.n == small_b.n:
            yield "unit-scaled", centred(small_a, units=True), centred(small_b, units=True)
        if abs(small_a.n - small_b.n) == 1:
            wider, gone, other = (small_a, gone_a, small_b) if small_a.n > small_b.n else (small_b, gone_b, small_a)
            still = centred(other)
            for form in substitutions(wider, gone[wider.columns]):
                thinner = reduced(form, gone[form.columns])
                if thinner.n == other.n:
                    pair = (centred(thinner), still)
                    yield "substituted", *(pair if wider is small_a else pair[::-1])
        if a.n != b.n:
            merged_a, merged_b = reduced(a, gone_a, merged=True), reduced(b, gone_b, merged=True)
            if merged_a.n == merged_b.n:
                yield "aggregated", centred(merged_a), centred(merged_b)

    def _removable(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns that a smaller form may do without: all but decisions with a counterpart of the same name."""
        gone_a, gone_b = np.ones(self.form_a.n, bool), np.ones(self.form_b.n, bool)
        if self.kept is not None:
            decisions = Roles.of(self.a, self.b, self.kept).decision_a[self.kept.a]
            gone_a[self.kept.a[decisions]] = False
            gone_b[self.kept.b[decisions]] = False
        return gone_a, gone_b

    def _positions(self, by: Map | None, a: Form, b: Form) -> np.ndarray | None:
        """Where a map sends the columns of a smaller form, in the positions of the other (-1: nowhere)."""
        if by is None:
            return None
        place = {int(c): k for k, c in enumerate(b.columns)}
        to = {p.a: p.b for p in by.pairs}
        return np.array([place.get(to.get(int(c), -1), -1) for c in a.columns], int)

    def _consistent(self, by: Map) -> bool:
        """Does a map leave every column that names settle where it is, unshifted and unscaled?"""
        wanted = {} if self.kept is None else {p.a: p.b for p in self.kept.pairs}
        return all(p.a not in wanted or (wanted[p.a] == p.b and p.plain) for p in by.pairs)

    # -- maps
    def _under(self, by: Map, clock: Clock | None = None) -> Comparison | None:
        """The verdict under one map; None (and the reason) if it stays open."""
        finding = Mapped(self.a, self.b, by, clock or self.clock, self.scale_free).judge()
        if finding.method == "probes" and not self.accept_probes:
            self.reason = f"{finding.count} extreme points of one could all be completed in the other, which is no proof"
            return None
        if finding.state == "equal":
            method = f"probes({finding.count})" if finding.method == "probes" else finding.method
            return self._equivalent(method, by, finding)
        if finding.state == "different":
            return self._different(by, finding)
        self.reason = finding.reason
        return None

    def _search(self) -> Comparison | None:
        """Maps that names, labels, parts or looks propose.  Any may prove equivalence; only trusted ones refute."""
        queue = sorted(self._proposals(), key=lambda found: found[0])
        refuted: Comparison | None = None
        least = queue[0][0] if queue else 0
        self.reason = "no map between the variables was found"
        for quality, by in queue[:_MOST_MAPS]:
            if refuted is not None and quality > 3 * least + 10:
                break
            found = self._under(by)
            if found is None:
                continue
            if found.verdict is Verdict.EQUIVALENT:
                return found
            if refuted is None and by.trusted:
                refuted = found
                self._keep(found)
            else:
                self.reason = "they differ under the maps that were tried, but no map is certain"
        return refuted

    def _proposals(self) -> Iterator[tuple[int, Map]]:
        seen = set()
        best = 10**9

        def offered(by: Map) -> tuple[int, Map] | None:
            nonlocal best
            if by.key in seen or not self._consistent(by):
                return None
            seen.add(by.key)
            fit = fit_of(by, self.form_a, self.form_b)
            best = min(best, fit.differences)
            return fit.differences, replace(by, trusted=by.trusted and (fit.agrees or by.source == "labels"))

        for by in self._raw_maps():
            scaled = self._settled(fitted(by, self.form_a, self.form_b, True))
            if not scaled.unscaled and self._differences(scaled) < self._differences(by):
                by = replace(by, trusted=False)  # perhaps amounts in other units
            for turned in (by, self._settled(fitted(by, self.form_a, self.form_b, False)), scaled):
                if found := offered(turned):
                    yield found
        if best > 2:
            thinned = thinned_map(self.form_a, self.form_b, self.a.decision)
            for by in [] if thinned is None else [thinned]:
                if found := offered(by):
                    yield found
            for by in part_maps(self.form_a, self.form_b, self.a.decision):
                if found := offered(by):
                    yield found
        for seed in range(3):
            if best <= 6:
                return
            self.clock.left()
            guess = assignment_map(centred(self.form_a), centred(self.form_b), seed)
            if guess is not None and (found := offered(guess)):
                yield found[0] + 2, found[1]

    def _differences(self, by: Map) -> int:
        return fit_of(by, self.form_a, self.form_b).differences

    def _raw_maps(self) -> Iterator[Map]:
        """From names: equal ones, then labels; those of at least half of the columns."""
        if self.naming == "ignored":
            return
        found = [] if self.by_names is None else [self.by_names]
        for by in index_maps(*self.names, self.form_a, self.form_b, self.a.decision):
            by = self._settled(by)
            # a column without bounds may be counted from anywhere
            endless = np.isinf(self.form_a.low[by.a]) & np.isinf(self.form_a.high[by.a]) & (self.form_a.cost[by.a] != 0)
            trusted = self._covers(by) and not endless.any() and (by.trusted or self._told_apart(by))
            found.append(replace(by, trusted=trusted))
        yield from (by for by in found if 2 * len(by.pairs) >= min(self.form_a.n, self.form_b.n))

    def _settled(self, by: Map) -> Map:
        """With the columns that names settle at their place."""
        if self.kept is None:
            return by
        a, b = {p.a for p in self.kept.pairs}, {p.b for p in self.kept.pairs}
        others = [p for p in by.pairs if p.a not in a and p.b not in b]
        return replace(by, pairs=tuple(sorted([*self.kept.pairs, *others], key=lambda p: p.a)))

    def _told_apart(self, by: Map) -> bool:
        """Do costs tell most matched columns from each other?"""
        mine = self.form_a.cost[by.a]
        return len(np.unique(mine)) > max(2, len(mine) // 3)

    # -- outcomes
    def _equivalent(self, method: str, by: Map, finding: Finding | None = None, near: bool = False) -> Comparison:
        """near: the numbers are the same to a relative 1e-9, not to the rounding of floats."""
        evidence: dict[str, Any] = {"map_from": by.source}
        agree_to = SAME if near else None
        count = 0
        if finding is not None:
            evidence["proofs"] = sorted(finding.proofs)
            agree_to = LOOSE if "tolerance" in finding.proofs else agree_to
            count = finding.count if finding.method == "probes" else 0
        sentence = sameness_sentence(method, count, agree_to)
        if agree_to is not None:
            evidence["agree_to"] = agree_to
        if finding is not None and (finding.factor != 1 or finding.constant):
            evidence |= {"objective_factor": finding.factor, "objective_constant": finding.constant}
            sentence += f" (objective of {self.label['b']} = {finding.factor:g} times that of {self.label['a']} + {finding.constant:g})"
        return self._done(Verdict.EQUIVALENT, method, sentence, by, evidence)

    def _different(self, by: Map, finding: Finding) -> Comparison:
        assert finding.witness is not None
        method = "point" if finding.what == "set" else "objective"
        sentence = difference_sentence(self.a, self.b, finding.witness, self.label)
        found = self._done(Verdict.NOT_EQUIVALENT, method, sentence, by, {"map_from": by.source})
        judge = self.b if finding.witness.allowed_by == "a" else self.a
        return replace(found, witness=finding.witness, direction=direction(judge, finding.witness))

    def _optimum(self, found: optimum.Optima) -> Comparison | None:
        """WRONG_OPTIMUM if the optima or statuses differ for certain; otherwise keeps what is known."""
        if found.reason:
            self._keep(self._done(Verdict.UNDECIDED, "", found.reason, None, {}))
            return None
        if not found.same_status or (not self.scale_free and not found.same_value):
            return self._done(Verdict.WRONG_OPTIMUM, "optimum" if found.same_status else "status", found.sentence(self.label), None, {})
        self._keep(self._done(Verdict.SAME_OPTIMUM, "optimum" if found.same_status == "optimal" else "status",
                              found.sentence(self.label), None, {}))
        return None

    def _done(self, verdict: Verdict, method: str, sentence: str, by: Map | None, evidence: Mapping[str, Any]) -> Comparison:
        evidence = {**evidence, "names": self.naming, "solves": dict(self.clock.solves)}
        if self.scale_free:
            evidence["scale_free"] = True
        if self.optima is not None:
            evidence |= self.optima.record()
        return Comparison(verdict, method, sentence, () if by is None else matched(by, self.a, self.b), evidence=evidence)

    def _keep(self, found: Comparison) -> None:
        self.best = found
        if self.report is not None:
            self.report(replace(found, seconds=self.clock.elapsed))

    def _left_over(self, reason: str) -> Comparison:
        """The strongest verdict reached, with what stood in the way of a stronger one."""
        if self.best is None:
            return self._done(Verdict.UNDECIDED, "", reason, None, {})
        if self.best.verdict is Verdict.NOT_EQUIVALENT:
            return self.best
        sentence = self.best.sentence if reason in self.best.sentence else f"{self.best.sentence}; not settled further: {reason}"
        return replace(self.best, sentence=sentence, evidence={**self.best.evidence, "open": reason, "solves": dict(self.clock.solves)})
