"""The plan: which slot makes what, settled before anything runs, so that shares are exact and workers do not matter.

A slot is one accepted instance and the products made from it.  Tasks, interfaces, dialects, registers and wordings are
dealt to slots by balanced shuffles keyed by the seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from orpipe.config import InterfaceKind, Recipe, Task
from orpipe.families import families
from orpipe.instances import stream

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Order:
    """One product of a slot: an SFT example of a task, a CPT document (task "cpt") or a preference pair (task "preference")."""

    task: Task | str
    interface: InterfaceKind
    dialect: str
    variant: int  # picks register, wording, subtask and program style


@dataclass(frozen=True)
class Slot:
    number: int
    family: str
    level: int
    index: int  # draw indices index*attempts ... are tried in turn
    split: str
    orders: tuple[Order, ...]


def deal(values: Sequence[T], count: int, seed: int, *key: str | int) -> list[T]:
    """`count` values in equal shares (the first values get one more if it does not divide), shuffled."""
    cards = [values[k % len(values)] for k in range(count)]
    return [cards[int(k)] for k in stream(seed, "deal", *key).permutation(count)]


def pairs(first: Sequence[T], second: Sequence[U]) -> list[tuple[T, U]]:
    """All pairs, diagonally: in every beginning of the list each value of either side stands equally often, give or take one."""
    block = math.lcm(len(first), len(second))
    return [(first[k % len(first)], second[(k + k // block) % len(second)]) for k in range(len(first) * len(second))]


def cells(recipe: Recipe) -> list[tuple[str, int]]:
    """(family, level) of a resolved recipe, such that a short run has every family and mixed levels."""
    levels = {f: [level for level in recipe.levels if level <= len(families[f].levels)] for f in recipe.families}
    rounds = max(len(found) for found in levels.values())
    return [(f, own[(r + k) % len(own)]) for r in range(rounds) for k, (f, own) in enumerate(levels.items()) if r < len(own)]


def plan(recipe: Recipe) -> list[Slot]:
    """Slots of a resolved recipe, in order."""
    tasks = recipe.tasks
    quota = {t: recipe.sft // len(tasks) + (k < recipe.sft % len(tasks)) for k, t in enumerate(tasks)}
    documents = recipe.cpt or 0
    count = max([*quota.values(), documents, recipe.preference])
    places = cells(recipe)
    dealt: dict[str, list[tuple[InterfaceKind, str, int]]] = {}
    for task, number in (*quota.items(), ("cpt", documents), ("preference", recipe.preference)):
        # interfaces and dialects are dealt in pairs, so that every pair has its even share
        both = pairs(recipe.interfaces, recipe.dialects)
        variants = stream(recipe.seed, "variant", task).permutation(number)
        dealt[task] = [(*pair, int(v)) for pair, v in zip(deal(both, number, recipe.seed, task), variants, strict=True)]
    tested, validated = round(recipe.test * count), round(recipe.validation * count)
    order = stream(recipe.seed, "split").permutation(count)
    split = {int(k): "test" if n < tested else "validation" if n < tested + validated else "train" for n, k in enumerate(order)}
    slots = []
    for s in range(count):
        family, level = places[s % len(places)]
        orders = tuple(Order(task, *dealt[task][s]) for task in (*tasks, "cpt", "preference") if s < len(dealt[task]))
        slots.append(Slot(s, family, level, s // len(places), split[s], orders))
    return slots
