"""One instance of a family: (seed, family, level, index) -> scenario, formulation, data, dressed model, Problem.

The random stream is keyed by those four and by nothing else (numpy SeedSequence), so an instance is the same whatever
else a run makes, in whatever order, on however many workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orpipe.algebra.idioms import lower
from orpipe.algebra.nodes import Model
from orpipe.errors import UsageError
from orpipe.families import Family, families
from orpipe.ground import data_hash, ground, structure_hash
from orpipe.problem import Problem
from orpipe.scenarios import Labels, Scenario, dress, scenario, scenarios


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """The random generator of a key; keys of different text never share a stream."""
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    words = [int.from_bytes(digest[k:k + 4], "little") for k in range(0, 16, 4)]
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


@dataclass(frozen=True, eq=False)
class Instance:
    """model: dressed in the scenario's words, idioms kept.  data: plain JSON values."""

    id: str
    family: Family
    level: int
    seed: int
    index: int
    scenario: Scenario
    formulation: str
    data: Mapping[str, Any]
    model: Model

    @cached_property
    def linear(self) -> Model:
        return lower(self.model)

    @cached_property
    def problem(self) -> Problem:
        return ground(self.linear, self.data)

    @cached_property
    def structure_hash(self) -> str:
        return structure_hash(self.family.symbolic(self.formulation))

    @cached_property
    def data_hash(self) -> str:
        return data_hash(self.data)


def draw(name: str, level: int, seed: int, index: int, *, scenario_id: str = "", formulation: str = "") -> Instance:
    """Sample one instance.  Raises families.Rejected if the draw cannot be completed, NotFound/UsageError for wrong names."""
    family = families[name]
    if not 1 <= level <= len(family.levels):
        raise UsageError(f"family '{name}' has levels 1 to {len(family.levels)}, not {level}")
    rng = stream(seed, name, level, index)
    known = scenarios(name)
    picked = known[int(rng.integers(len(known)))]
    chosen = scenario(name, scenario_id) if scenario_id else picked
    drawn = family.formulations[int(rng.integers(len(family.formulations)))]
    formulation = formulation or drawn
    symbolic = family.symbolic(formulation)
    data = family.sample(rng, family.levels[level - 1], Labels(chosen, symbolic, rng))
    return Instance(f"{name}-L{level}-s{seed}-{index:05d}", family, level, seed, index, chosen, formulation, data, dress(symbolic, chosen))


def golden(name: str, formulation: str = "") -> Instance:
    """The family's hand-worked instance, in its first scenario's words."""
    family = families[name]
    formulation = formulation or family.formulations[0]
    first = scenarios(name)[0]
    return Instance(f"{name}-golden", family, 1, 0, 0, first, formulation, family.golden.data, dress(family.symbolic(formulation), first))
