"""Proposals of maps from names: equal names, and families of names with matching labels.

ship[North,Alder], ship_North_Alder, x_1_2, x(1,2) and y12 are a family and labels; positions where all labels of a family
agree belong to the family.  Libraries rewrite separators and case, so names are compared without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np

from orpipe.verify.equivalence.forms import one_sided
from orpipe.verify.equivalence.normalise import Form
from orpipe.verify.equivalence.pairing import Map

_LEAST_SCORE = 0.25
_ALIKE = 1.9  # all columns of two families have the same costs and rows
_MOST_FAMILIES = 60
Labels = tuple[str, ...]
Places = tuple[str | int, ...]


def plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name).strip("_").lower()


@dataclass(frozen=True, eq=False)
class Names:
    """names (n,) of a model's columns.  told: whether they say anything (not just x0, x1, x2 ...)."""

    columns: tuple[str, ...]
    by_name: Mapping[str, int]
    told: bool

    @classmethod
    @lru_cache(maxsize=128)
    def of(cls, columns: tuple[str, ...]) -> Names:
        by_name: dict[str, int] = {}
        for k, name in enumerate(columns):
            key = plain(name)
            by_name[name if key in by_name else key] = k
        numbered = [re.fullmatch(r"\s*([A-Za-z]*)[\W_]*\d+[\W_]*", name) for name in columns]
        heads = {found[1].lower() if found else None for found in numbered}
        return cls(columns, by_name, len(columns) == 1 or len(heads) > 1 or None in heads)

    @cached_property
    def families(self) -> Mapping[str, Mapping[Labels, int]]:
        return _families(self.columns)


def equal_names(a: Names, b: Names) -> list[tuple[int, int]]:
    return [(k, b.by_name[name]) for name, k in a.by_name.items() if name in b.by_name]


def _tokens(name: str) -> list[str]:
    bracket = re.fullmatch(r"\s*([^\[\](){}]+?)\s*[\[({](.*)[\])}]\s*", name)
    if bracket:
        return [plain(bracket[1]), *(plain(part) or part for part in bracket[2].split(","))]
    parts = [p for p in re.split(r"[\W_]+", name.lower()) if p]
    out: list[str] = []
    for k, part in enumerate(parts):
        found = re.fullmatch(r"([a-z]+)(\d+)", part)
        out += [found[1], found[2]] if found and k == 0 else [part]
    numbers = 0
    while numbers < len(out) - 1 and out[-1 - numbers].isdigit():
        numbers += 1
    if numbers:  # labels are the numbers at the end, the rest is the family
        return ["_".join(out[:-numbers]), *out[-numbers:]]
    return out or [name]


def _families(names: Sequence[str]) -> dict[str, dict[Labels, int]]:
    groups: dict[tuple[str, int], list[tuple[list[str], int]]] = {}
    for k, name in enumerate(names):
        tokens = _tokens(name)
        groups.setdefault((tokens[0], len(tokens)), []).append((tokens, k))
    out: dict[str, dict[Labels, int]] = {}
    for (head, size), members in groups.items():
        varying = [p for p in range(1, size) if len({tokens[p] for tokens, _ in members}) > 1]
        labels = {tuple(tokens[p] for p in varying): k for tokens, k in members}
        if len(labels) == len(members):
            out[f"{head}/{size}"] = labels
        else:  # the same name twice
            out |= {f"{head}/{size}#{k}": {(): k} for _, k in members}
    return out


def index_maps(a: Names, b: Names, form_a: Form, form_b: Form, needed: np.ndarray) -> Iterator[Map]:
    """Families matched with families, labels with labels: as they are, counted from another number, or by order.
    Trusted, source "labels": where every family with a needed column (n_a,) has the very labels of its counterpart, and no further
    family could be meant as well (n as n_0 where there is n_1, too)."""
    left, right = list(a.families), list(b.families)
    if max(len(left), len(right)) > _MOST_FAMILIES:
        return
    marks_a, marks_b = signatures(form_a), signatures(form_b)
    scored: list[tuple[float, int, int, list[tuple[int, int]], bool]] = []
    for i, x in enumerate(left):
        for k, y in enumerate(right):
            best = _family_pairs(a.families[x], b.families[y], marks_a, marks_b)
            if best is not None:
                bonus = 0.3 * _same_head(x, y)
                scored.append((best[0] + bonus, i, k, best[1], best[2]))
    scored.sort(key=lambda s: (-s[0], s[1], s[2]))
    for skipped in range(min(2, len(scored))):
        used_a: set[int] = set()
        used_b: set[int] = set()
        pairs: list[tuple[int, int]] = []
        same, doubtful = True, []
        for score, i, k, found, raw in scored[skipped:] + scored[:skipped]:
            if score > _LEAST_SCORE and i not in used_a and k not in used_b:
                used_a.add(i)
                used_b.add(k)
                pairs += found
                if needed[[u for u, _ in found]].any():
                    same = same and raw
                    if score < _ALIKE and not _same_head(left[i], right[k]):
                        doubtful.append(right[k])
        others = {frozenset(b.families[y]) for k, y in enumerate(right) if k not in used_b}
        same = same and not any(frozenset(b.families[y]) in others for y in doubtful)
        if pairs:
            yield Map.plain(pairs, "labels" if same else "order of labels", trusted=same)


def _same_head(x: str, y: str) -> bool:
    return x.split("/")[0] == y.split("/")[0]


def _family_pairs(x: Mapping[Labels, int], y: Mapping[Labels, int], marks_a: list[_Mark], marks_b: list[_Mark],
                  ) -> tuple[float, list[tuple[int, int]], bool] | None:
    """(score, pairs, labels are the same texts) of the best way to match the labels of two families."""
    arity = len(next(iter(x)))
    if arity != len(next(iter(y))):
        return None
    best: tuple[float, list[tuple[int, int]], bool] | None = None
    for mode in (_as_they_are, _from_zero, _by_order, _by_appearance):
        mine, theirs = mode(x), mode(y)
        if not mine or not theirs:
            continue
        for turned in permutations(range(arity)) if arity <= 3 else [tuple(range(arity))]:
            pairs = [(u, theirs[key]) for labels, u in mine.items() if (key := tuple(labels[p] for p in turned)) in theirs]
            if not pairs:
                continue
            score = sum(_likeness(marks_a[u], marks_b[v]) for u, v in pairs) / max(len(mine), len(theirs))
            raw = mode is _as_they_are and turned == tuple(range(arity)) and len(pairs) == len(x) == len(y) > 1
            if best is None or score > best[0] + 1e-9:
                best = (score, pairs, raw)
        if best is not None and mode is _as_they_are and len(best[1]) == len(x) == len(y) and best[0] > 1.9:
            break
    return best


def _as_they_are(family: Mapping[Labels, int]) -> dict[Places, int]:
    return {tuple(labels): k for labels, k in family.items()}


def _from_zero(family: Mapping[Labels, int]) -> dict[Places, int]:
    if not all(label.isdigit() for labels in family for label in labels):
        return {}
    least = [min(int(labels[p]) for labels in family) for p in range(len(next(iter(family))))]
    return {tuple(int(v) - o for v, o in zip(labels, least, strict=True)): k for labels, k in family.items()}


def _by_order(family: Mapping[Labels, int]) -> dict[Places, int]:
    ranks = [
        {v: r for r, v in enumerate(sorted({labels[p] for labels in family}, key=lambda s: (not s.isdigit(), int(s) if s.isdigit() else 0, s)))}
        for p in range(len(next(iter(family))))
    ]
    return {tuple(r[v] for r, v in zip(ranks, labels, strict=True)): k for labels, k in family.items()}


def _by_appearance(family: Mapping[Labels, int]) -> dict[Places, int]:
    ranks: list[dict[str, int]] = [{} for _ in next(iter(family))]
    for labels in family:
        for rank, label in zip(ranks, labels, strict=True):
            rank.setdefault(label, len(rank))
    return {tuple(r[v] for r, v in zip(ranks, labels, strict=True)): k for labels, k in family.items()}


# ---------------------------------------------------------------------------------------------------------------- roles


@dataclass(frozen=True, slots=True)
class _Mark:
    """What a column looks like from its rows."""

    cost: float
    whole: bool
    rows: int


def signatures(form: Form) -> list[_Mark]:
    rows = one_sided(form)
    size = (rows.P != 0).sum(1)
    marks = [hash((round(float(q), 7), int(s))) for q, s in zip(rows.q, size, strict=True)]
    out = []
    for j in range(form.n):
        held = np.flatnonzero(rows.P[:, j]).tolist()
        entries = tuple(sorted((round(float(rows.P[i, j]), 7), marks[i]) for i in held))
        out.append(_Mark(round(float(form.cost[j]), 7), bool(form.whole[j]), hash(entries)))
    return out


def _likeness(a: _Mark, b: _Mark) -> float:
    return 0.2 + 1.0 * (a == b) + 0.5 * (a.cost == b.cost) + 0.3 * (a.whole == b.whole)
