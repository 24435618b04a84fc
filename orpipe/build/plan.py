"""The plan: which slot makes what, settled before anything runs, so that shares are exact and workers do not matter.

A slot is one accepted instance and the products made from it.  Tasks, interfaces, dialects, registers and wordings are
dealt to slots by balanced shuffles keyed by the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from orpipe.config import InterfaceKind, Recipe, Task
from orpipe.families import families
from orpipe.instances import stream

T = TypeVar("T")


@dataclass(frozen=True)
class Order:
    """One product of a slot: an SFT example of a task, or a CPT document (task is then "cpt")."""

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


def plan(recipe: Recipe) -> list[Slot]:
    """Slots of a resolved recipe, in order."""
    tasks = recipe.tasks
    quota = {t: recipe.sft // len(tasks) + (k < recipe.sft % len(tasks)) for k, t in enumerate(tasks)}
    documents = recipe.cpt or 0
    count = max([*quota.values(), documents])
    cells = [(f, level) for level in recipe.levels for f in recipe.families if level <= len(families[f].levels)]
    dealt: dict[str, list[tuple[InterfaceKind, str, int]]] = {}
    for task, number in (*quota.items(), ("cpt", documents)):
        # interface x dialect pairs are dealt together, so that every pair has its even share
        pairs = [(i, d) for i in recipe.interfaces for d in recipe.dialects]
        variants = stream(recipe.seed, "variant", task).permutation(number)
        dealt[task] = [(*pair, int(v)) for pair, v in zip(deal(pairs, number, recipe.seed, task), variants, strict=True)]
    tested, validated = round(recipe.test * count), round(recipe.validation * count)
    order = stream(recipe.seed, "split").permutation(count)
    split = {int(k): "test" if n < tested else "validation" if n < tested + validated else "train" for n, k in enumerate(order)}
    slots = []
    for s in range(count):
        family, level = cells[s % len(cells)]
        orders = tuple(Order(task, *dealt[task][s]) for task in (*tasks, "cpt") if s < len(dealt[task]))
        slots.append(Slot(s, family, level, s // len(cells), split[s], orders))
    return slots
