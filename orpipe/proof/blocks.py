"""Finds interchangeable labels (identical bins, machines, vehicles) for a proof; orpipe.proof.symmetry judges them."""

from __future__ import annotations

from collections import defaultdict

from orpipe.problem import Problem
from orpipe.proof.replay import Replay
from orpipe.proof.symmetry import exchangeable, single, zeros

Key = tuple[str, ...]


def interchangeable(problem: Problem, replay: Replay) -> list | None:
    """[blocks, rows] as a certificate's `symmetry` lists them, with the most zeros; None if no labels can be exchanged
    or it would fix nothing.  Labels are read from names such as "put[P1,Van 2]"."""
    placed: dict[str, dict[Key, int]] = defaultdict(dict)
    for j, name in enumerate(problem.columns):
        head, bracket, rest = name.partition("[")
        labels = rest.rstrip("]").split(",") if bracket else []
        for k, label in enumerate(labels):
            placed[label][head, *labels[:k], "*", *labels[k + 1:]] = j
    alike: dict[frozenset[Key], list[str]] = defaultdict(list)
    for label, where in placed.items():
        alike[frozenset(where)].append(label)
    best: list | None = None
    for keys, labels in alike.items():
        for group in _classes(replay, sorted(keys), [placed[label] for label in labels]):
            if len(group) < 2:
                continue
            found = _ordered(replay, sorted(keys), group)
            if found[1] and (best is None or len(zeros(found[0], len(found[1]))) > len(zeros(best[0], len(best[1])))):
                best = found
    return best


def _classes(replay: Replay, keys: list[Key], blocks: list[dict[Key, int]]) -> list[list[dict[Key, int]]]:
    classes: list[list[dict[Key, int]]] = []
    for block in blocks:
        mine = [block[key] for key in keys]
        for group in classes:
            first = [group[0][key] for key in keys]
            if not set(first) & set(mine) and exchangeable(replay, first, mine):
                group.append(block)
                break
        else:
            if len(classes) >= 3:  # labels that all differ are told apart soon
                return []
            classes.append([block])
    return classes


def _ordered(replay: Replay, keys: list[Key], group: list[dict[Key, int]]) -> list:
    """Entries that stand in one block only come first, the heaviest foremost."""
    rows_of: dict[int, list[int]] = defaultdict(list)
    weight: dict[int, int] = defaultdict(int)
    for i, entries in enumerate(replay.rows):
        for j, a in entries:
            rows_of[j].append(i)
            weight[j] = max(weight[j], abs(a))
    once: list[tuple[int, Key, int]] = []
    for key in keys:
        columns = [block[key] for block in group]
        row = next((i for i in rows_of[columns[0]] if single(replay, columns, i)), None)
        if row is not None:
            once.append((-weight[columns[0]], key, row))
    once.sort()
    order = [key for _, key, _ in once] + sorted(set(keys) - {key for _, key, _ in once})
    return [[[block[key] for key in order] for block in group], [row for *_, row in once]]
