"""What `orpipe bench verifier` judges: mutants and harmless reformulations of all families, labelled pairs and references from outside.

    for cell in cells(["knapsack"], [1, 2]):
        for pair in pairs(cell): ...            # mutants and reformulations of one instance
    for pair in outside(): ...                  # ../shared beside the checkout, where it is

A mutant's label is not trusted: `different` is known only for harmless reformulations and labelled pairs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import numpy as np

from orpipe.errors import OrpipeError, Unsupported
from orpipe.families import families
from orpipe.ground import Data, ground
from orpipe.instances import Instance, draw, stream
from orpipe.lp import read_lp
from orpipe.mps import read_mps
from orpipe.mutate import instance_mutants, instance_operators, mutants
from orpipe.mutate.harmless import reformulation_by_id, reformulations
from orpipe.mutate.places import parameters
from orpipe.mutate.slips import optimum_of
from orpipe.problem import Problem
from orpipe.solve import Label, Outcome, label
from orpipe.testing.command import ROOT
from orpipe.testing.verifier_methods import optimum
from orpipe.verify.equivalence.redraw import Redraw

SHARED = ROOT.parent / "shared" / "benchmarks"
Kind = Literal["mutant", "harmless", "pair", "reference"]
_REDRAWS = 4
_STRESS = (0.3, 0.6, 1.5, 3)
_FARTHEST, _STEPS = 30.0, 6
_UNEVEN = (0.2, 1)


def _none() -> list[Redraw]:
    return []


@dataclass(frozen=True)
class Pair:
    """a: the reference.  place: family (and formulation), or file.  operator: what changed.  different: where it is known
    beforehand.  redraws: both models on other data, made when asked for."""

    place: str
    level: int
    kind: Kind
    operator: str
    site: str
    a: Problem
    b: Problem
    different: bool | None = None
    redraws: Callable[[], list[Redraw]] = field(default=_none, compare=False)

    def __str__(self) -> str:
        return " ".join(x for x in (self.place, f"L{self.level}" if self.level else "", self.operator, self.site) if x)


@dataclass(frozen=True)
class Cell:
    """One family in one formulation at one level: one instance, all its variants."""

    name: str
    formulation: str
    level: int

    @property
    def place(self) -> str:
        return f"{self.name}/{self.formulation}" if len(families[self.name].formulations) > 1 else self.name


def cells(names: Sequence[str], levels: Sequence[int]) -> list[Cell]:
    return [Cell(name, formulation, level) for name in names for formulation in families[name].formulations
            for level in levels if level <= len(families[name].levels)]


def pairs(cell: Cell, limit: int | None = None, seed: int = 0) -> Iterator[Pair]:
    """limit: mutants of the instance (one of each operator before a second of any)."""
    instance = draw(cell.name, cell.level, seed, 0, formulation=cell.formulation)
    a, rng = instance.problem, stream(seed, "bench", cell.name, cell.formulation, cell.level)
    others = Others(instance)
    for formulation in families[cell.name].formulations:
        if formulation != cell.formulation:
            twin = draw(cell.name, cell.level, seed, 0, formulation=formulation, scenario_id=instance.scenario.id)
            yield Pair(cell.place, cell.level, "harmless", "other-formulation", formulation, a, twin.problem, False,
                       lambda model=twin.linear: others.of(lambda data, _: ground(model, data)))  # type: ignore[misc]
    for change in reformulations():
        changed = change.apply(a, rng)
        if changed is not None:
            yield Pair(cell.place, cell.level, "harmless", change.id, "", a, changed, False,
                       lambda change=change: others.of(lambda _, right: change.apply(right, stream(seed, "redraw", change.id))))  # type: ignore[misc]
    for mutant in mutants(instance.linear, rng if limit else None, limit):
        try:
            b = ground(mutant.model, instance.data)
        except OrpipeError:
            continue
        if a.difference(b) is not None:
            yield Pair(cell.place, cell.level, "mutant", mutant.operator.id, str(mutant.site), a, b, None,
                       lambda model=mutant.model: others.of(lambda data, _: ground(model, data)))  # type: ignore[misc]
    yield from _slips(cell, instance, others, rng if limit else None)


def _slips(cell: Cell, instance: Instance, others: Others, rng: np.random.Generator | None) -> Iterator[Pair]:
    """Mistakes in the data, and answers instead of models (the same on other data); with rng one of each operator."""
    found = label(instance.problem)
    best = optimum_of(instance.problem, found.point, found.objective_exact) if isinstance(found, Label) else None
    slips = instance_mutants(instance.linear, instance.data, best, rng)
    if rng is not None:
        own = [[m for m in slips if m.operator == op] for op in instance_operators()]
        slips = [some[int(rng.integers(len(some)))] for some in own if some]
    for m in slips:
        yield Pair(cell.place, cell.level, "mutant", m.operator.id, str(m.site), instance.problem, ground(m.model, m.data), None,
                   _none if m.part.kind == "data" else
                   lambda m=m: others.of(lambda data, _: ground(m.model, {**m.data, **data})))  # type: ignore[misc]


class Others:
    """Other data for one instance: a few draws, and stress.  Prices a thousandfold; each limit smaller and larger, and on both sides of the
    edge where the last plan is lost (what weakens a row has a plan beyond it); each table uneven, every other number a fifth."""

    def __init__(self, instance: Instance):
        self.instance = instance
        self._made: list[tuple[Data, Problem]] | None = None

    def of(self, candidate: Callable[[Data, Problem], Problem | None]) -> list[Redraw]:
        """Candidate and reference on each; without those that the candidate cannot be made for."""
        found = []
        for data, right in self.made():
            try:
                other = candidate(data, right)
            except OrpipeError:
                continue
            if other is not None:
                found.append(Redraw(other, right))
        return found

    def made(self) -> list[tuple[Data, Problem]]:
        if self._made is None:
            self._made = []
            for data in self._data():
                try:
                    self._made.append((data, ground(self.instance.linear, data)))
                except OrpipeError:
                    continue  # stress may break what the data have to satisfy
        return self._made

    def _data(self) -> Iterator[Data]:
        own = self.instance
        for k in range(1, 1 + _REDRAWS):
            yield draw(own.family.name, own.level, own.seed, k, formulation=own.formulation, scenario_id=own.scenario.id).data
        by = own.linear.param_by
        prices = {p for t in own.linear.objective.terms for p in parameters(t.expr)}
        if prices:
            yield scaled(own.data, dict.fromkeys(prices, (1000,)))
        limits = {r.tightened_by for r in own.linear.rows} | {p.symbol for p in by.values() if not p.indices}
        for symbol in (p for p in by if p in limits):
            whole = by[symbol].integer
            for factor in _STRESS:
                yield scaled(own.data, {symbol: (factor,)}, whole)
            for end in (1 / _FARTHEST, _FARTHEST):
                for factor in self._edge(symbol, end):
                    yield scaled(own.data, {symbol: (factor,)}, whole)
        for p in by.values():
            if p.indices:
                yield scaled(own.data, {p.symbol: _UNEVEN}, p.integer)

    def _edge(self, symbol: str, end: float) -> tuple[float, ...]:
        """Two factors near each other, with a plan at the first and none at the second; empty where the end has one."""
        own = self.instance

        def possible(factor: float) -> bool:
            try:
                problem = ground(own.linear, scaled(own.data, {symbol: (factor,)}, own.linear.param_by[symbol].integer))
            except OrpipeError:
                return True
            return optimum(problem)[0] != Outcome.INFEASIBLE

        if possible(end):
            return ()
        inside, outside_ = 1.0, end
        for _ in range(_STEPS):
            middle = (inside * outside_) ** 0.5
            inside, outside_ = (middle, outside_) if possible(middle) else (inside, middle)
        return (inside, outside_)


def scaled(data: Data, factors: Mapping[str, Sequence[float]], whole: bool = False) -> Data:
    """The data with some parameters multiplied, their numbers by the factors in turn (rounded to a few decimals, or to whole numbers)."""
    def times(value: Any, by: Iterator[float]) -> Any:
        if isinstance(value, Mapping):
            return {k: times(v, by) for k, v in value.items()}
        number = float(value) * next(by)
        return round(number) if whole else round(number, 6)

    return {k: times(v, cycle(factors[k])) if k in factors else v for k, v in data.items()}


def disguised(problem: Problem, regime: str, rng: np.random.Generator) -> Problem:
    """As a stranger's model: no auxiliaries told; names kept, families renamed, or none and columns mixed."""
    told = replace(problem, decision=np.ones(problem.n_vars, bool))
    if regime == "kept":
        return told
    if regime == "families":
        heads: dict[str, str] = {}
        parts = [c.partition("[") for c in problem.columns]
        for head, _, _ in parts:
            heads.setdefault(head, f"v{chr(97 + len(heads) % 26)}{len(heads) // 26 or ''}")
        return replace(told, columns=tuple(heads[h] + b + rest for h, b, rest in parts))
    mixed = reformulation_by_id("columns-permuted").apply(told, rng) or told
    return replace(mixed, columns=tuple(f"x{k}" for k in range(mixed.n_vars)), decision=told.decision)


# --------------------------------------------------------------------------------------------------------------- outside


def labelled_pairs(folder: Path = SHARED / "formulation_pairs") -> list[Pair]:
    """Pairs of formulations labelled by people; empty where the files are not there.  Their labels allow a positive multiple of the objective."""
    if not (folder / "pairs.json").is_file():
        return []

    def load(name: str) -> Problem:
        return read_mps(gzip.decompress((folder / name).read_bytes()).decode())

    return [Pair(f"{p['a'].partition('.')[0]} {p['b'].partition('.')[0]}", 0, "pair", "", "", load(p["a"]), load(p["b"]), not p["equivalent"])
            for p in json.loads((folder / "pairs.json").read_text(encoding="utf-8"))]


def references(folder: Path = SHARED / "bench4opt_sample") -> tuple[list[Pair], list[str]]:
    """The reference models of Bench4Opt, each against itself, and notes on those that are not linear; empty where the files are not there."""
    found, notes = [], []
    for path in sorted(folder.glob("*.lp"), key=lambda p: int(p.stem)) if folder.is_dir() else ():
        try:
            model = read_lp(path.read_text(encoding="utf-8"))
        except Unsupported as error:
            notes.append(f"bench4opt {path.stem}: not a linear model, UNDECIDED by every comparison ({error})")
            continue
        found.append(Pair(f"bench4opt {path.stem}", 0, "reference", "", "", model, model, False))
    return found, notes
