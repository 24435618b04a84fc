"""Problem families: one file each, in a folder by problem class; found by walking this package.

A family is a symbolic model, a sampler, levels, a golden instance, and nothing else.  Its words live in
templates/nl/<name>/ and data/reference/scenarios/<name>.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np

from orpipe.algebra.build import Builder
from orpipe.algebra.nodes import Model
from orpipe.registry import Registry

Size = Mapping[str, Any]


class Rejected(Exception):
    """Raised by a sampler that cannot complete a draw; the reason is counted in the report."""


@dataclass(frozen=True)
class Golden:
    """An instance worked by hand: data, optimum (exact number or text such as "197/3"), and the argument why."""

    data: Mapping[str, Any]
    optimum: int | float | str
    why: str


class Names(Protocol):
    """Labels for the elements of a set, in the scenario's vocabulary."""

    def __call__(self, symbol: str, count: int) -> list[str]: ...


class Family:
    """Base of all families.  Subclasses state `levels` (level 1 first; what changes is size and tightness), `golden`,
    `model` and `sample`; families with several formulations name them, with the symbols of the decisions they share."""

    name: ClassVar[str]
    title: ClassVar[str] = ""  # in words, where the name with spaces is not it
    problem_class: ClassVar[str]
    kind: ClassVar[str]  # LP | MILP | IP | BIP
    tags: ClassVar[tuple[str, ...]]
    levels: ClassVar[tuple[Size, ...]]
    golden: ClassVar[Golden]
    formulations: ClassVar[tuple[str, ...]] = ("standard",)
    shared: ClassVar[tuple[str, ...]] = ()
    ties: ClassVar[str] = ""  # why optima are rarely unique, if structure (not data) makes it so

    def model(self, m: Builder, formulation: str) -> None:
        """Declare everything on the builder."""
        raise NotImplementedError

    def sample(self, rng: np.random.Generator, size: Size, names: Names) -> dict[str, Any]:
        """Data of one instance as plain JSON values (exact decimals); feasible by construction, else raises Rejected."""
        raise NotImplementedError

    @classmethod
    def source(cls) -> str:
        """The textbook or paper named in the docstring after «Source:»."""
        return " ".join((cls.__doc__ or "").partition("Source:")[2].split()).rstrip(".")

    @classmethod
    def summary(cls) -> str:
        return " ".join((cls.__doc__ or "").partition("Source:")[0].split())

    @classmethod
    def heading(cls) -> str:
        return cls.title or cls.name.replace("_", " ")

    def symbolic(self, formulation: str = "") -> Model:
        """The checked symbolic model of a formulation (default: the first)."""
        return _symbolic(self, formulation or self.formulations[0])


@lru_cache(maxsize=1024)
def _symbolic(family: Family, formulation: str) -> Model:
    if formulation not in family.formulations:
        from orpipe.errors import NotFound

        raise NotFound.among("formulation", formulation, family.formulations, f"of '{family.name}'")
    builder = Builder(family.name)
    family.model(builder, formulation)
    return builder.build()


families: Registry[Family] = Registry("family", "orpipe.families")


def family(name: str, *, cls: str, kind: str, tags: tuple[str, ...] = ()) -> Callable[[type[Family]], type[Family]]:
    def register(subclass: type[Family]) -> type[Family]:
        subclass.name, subclass.problem_class, subclass.kind, subclass.tags = name, cls, kind, tags
        families.add(name, subclass())
        return subclass

    return register
