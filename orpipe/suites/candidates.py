"""Candidate data sets of a structure: natural draws of small and medium size, and draws with tightened or stressed numbers.

Stress multiplies a whole parameter or single entries by 0.1 to 5 and keeps what samplers promise by construction: the sign
of every number, whole numbers where the model declares them, the equality of a symmetric table's halves.  Numbers keep their
decimals, or get one more (a model that takes them for whole ones must show).  Which parameters tighten a row or a bound is read
off the symbolic model: what the row declares (`tightened_by`) and the data that stand in it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from orpipe.algebra import nodes as n
from orpipe.exact import decimal_text, fraction
from orpipe.families import Family, Rejected
from orpipe.families.draw import tidy
from orpipe.instances import stream
from orpipe.scenarios import Labels, scenarios

_FACTORS = tuple(Fraction(k, 20) for k in (2, 4, 7, 10, 13, 16, 18, 22, 25, 30, 40, 60, 80, 100))
_LEVELS = (0, 1, 0, 1, 1, 0)
PER_ROUND = 6
_SINGLE = 6  # parameters moved on their own
_DRAWS = 8  # tries of a sampler that may refuse

Data = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Candidate:
    """how: natural, or the parameters that were moved and by what («k x 7/10»)."""

    data: Data
    level: int
    how: str


def natural(family: Family, formulation: str, seed: int, level: int, *key: str | int) -> Candidate | None:
    """A draw of the family's sampler on its own stream; None if the sampler refuses again and again."""
    known = scenarios(family.name)
    symbolic = family.symbolic(formulation)
    for attempt in range(_DRAWS):
        rng = stream(seed, "suite", family.name, formulation, level, *key, attempt)
        try:
            data = family.sample(rng, family.levels[level - 1], Labels(known[int(rng.integers(len(known)))], symbolic, rng))
        except Rejected:
            continue
        return Candidate(data, level, "natural")
    return None


def candidates(family: Family, formulation: str, linear: n.Model, seed: int, turn: int, aims: tuple[str, ...]) -> Iterator[Candidate]:
    """The candidates of one turn.  aims: parameters that touch the mutants still alive; turn 0 is natural, one draw a level."""
    for k in range(2 if not turn else PER_ROUND):
        level = min(k + 1 if not turn else _LEVELS[(turn + k) % len(_LEVELS)] + 1, len(family.levels))
        drawn = natural(family, formulation, seed, level, turn, k)
        if drawn is None:
            continue
        if not turn or (k == 0 and turn % 2):
            yield drawn
        else:
            yield _stressed(linear, drawn, stream(seed, "suite-stress", family.name, formulation, turn, k), aims)


def shaped(family: Family, formulation: str, linear: n.Model, seed: int) -> Iterator[Candidate]:
    """Draws of both sizes in two shapes that ordinary data seldom have.  fine: every number that need not be whole a little moved, with
    one decimal more (no ties, no plan that is whole by luck); the same with one factor for all, which leaves balances in balance.  dear:
    prices a thousandfold (a penalty that somebody invented is paid).  Then small draws with one parameter far off, each in turn."""
    prices = tuple(dict.fromkeys(_params(tuple(t.expr for t in linear.objective.terms))))
    for level in (1, min(2, len(family.levels))):
        drawn = natural(family, formulation, seed, level, "shaped")
        if drawn is None:
            continue
        rng = stream(seed, "suite-shaped", family.name, formulation, level)
        data = dict(drawn.data)
        for p in linear.params:
            if not p.integer and p.symbol in data:
                data[p.symbol] = _jittered(p, data[p.symbol], rng)
        yield Candidate(data, level, "fine")
        dear = {s: _moved(linear.param_by[s], drawn.data[s], _Scale(Fraction(1000), 0), 1, rng) for s in prices if s in drawn.data}
        yield Candidate({**drawn.data, **dear}, level, "dear")
        if level == 1:
            yield from _one_by_one(linear, drawn, rng)


def _one_by_one(linear: n.Model, drawn: Candidate, rng: np.random.Generator) -> Iterator[Candidate]:
    known = [p for p in linear.params if p.symbol in drawn.data]
    even = {p.symbol: _moved(p, drawn.data[p.symbol], _Scale(Fraction(11, 10), 1), 1, rng) for p in known}
    yield Candidate({**drawn.data, **even}, drawn.level, "fine, all x 11/10")
    for k in rng.permutation(len(known))[:_SINGLE].tolist():
        factor = (Fraction(2, 5), Fraction(5, 2))[int(rng.integers(2))]
        data = {**drawn.data, known[k].symbol: _moved(known[k], drawn.data[known[k].symbol], _Scale(factor, 0), 1, rng)}
        yield Candidate(data, drawn.level, f"{known[k].symbol} x {factor}")


def aims_of(linear: n.Model, kind: str, name: str) -> tuple[str, ...]:
    """Parameters that tighten the row, term or variable at a mutant's site: declared, or standing in it."""
    if kind == "row":
        row = next((r for r in linear.rows if r.name == name), None)
        if row is None:
            return ()
        declared = (row.tightened_by,) if row.tightened_by in linear.param_by else ()
        inside = tuple(_params((row.left, row.right)))
        neighbours = () if declared or inside else _around(linear, row)
        return tuple(dict.fromkeys((*declared, *inside, *neighbours)))
    if kind == "objective":
        terms = [t for t in linear.objective.terms if t.name == name] or list(linear.objective.terms)
        return tuple(dict.fromkeys(_params(tuple(t.expr for t in terms))))
    touching = [r for r in linear.rows if name in _variables((r.left, r.right))]
    own = next((v for v in linear.variables if v.symbol == name), None)
    bounds = () if own is None else (own.lower, own.upper)
    costs = [t for t in linear.objective.terms if name in _variables((t.expr,))]
    sides: tuple[Any, ...] = (*bounds, *(s for r in touching for s in (r.left, r.right)), *(t.expr for t in costs))
    return tuple(dict.fromkeys(_params(sides)))


def _around(linear: n.Model, row: n.Row) -> tuple[str, ...]:
    """Parameters of the rows and terms that share a variable with a row of no data."""
    mine = _variables((row.left, row.right))
    near = [s for r in linear.rows if mine & _variables((r.left, r.right)) for s in (r.left, r.right)]
    near += [t.expr for t in linear.objective.terms if mine & _variables((t.expr,))]
    return tuple(dict.fromkeys(_params(tuple(near))))


def _walk(node: Any) -> Iterator[Any]:
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from _walk(part)
    elif is_dataclass(node):
        for f in fields(node):
            yield from _walk(getattr(node, f.name))


def _params(parts: tuple[Any, ...]) -> Iterator[str]:
    return (x.param for x in _walk(parts) if isinstance(x, n.ParamRef))


def _variables(parts: tuple[Any, ...]) -> set[str]:
    return {x.var for x in _walk(parts) if isinstance(x, n.VarRef)}


# -- stress ------------------------------------------------------------------------------------------------------------
def _stressed(linear: n.Model, drawn: Candidate, rng: np.random.Generator, aims: tuple[str, ...]) -> Candidate:
    """One to three parameters moved; the first is one of `aims` three times out of four."""
    known = [p.symbol for p in linear.params if p.symbol in drawn.data]
    aimed = [a for a in aims if a in known]
    data, told = dict(drawn.data), []
    for k in range(int(rng.integers(1, 4)) if known else 0):
        pool = aimed if aimed and (k == 0 or rng.random() < 0.5) and rng.random() < 0.9 else known
        symbol = pool[int(rng.integers(len(pool)))]
        factor = _FACTORS[int(rng.integers(len(_FACTORS)))]
        share = (1.0, 0.5, 0.0)[int(rng.integers(3))]
        finer = int(rng.random() < 0.3)
        data[symbol] = _moved(linear.param_by[symbol], data[symbol], _Scale(factor, finer), share, rng)
        told.append(f"{symbol}{'' if share == 1 else '[some]' if share else '[one]'} x {factor}")
    return Candidate(data, drawn.level, ", ".join(told) or "natural")


@dataclass(frozen=True, slots=True)
class _Scale:
    """finer: decimals added."""

    factor: Fraction
    finer: int

    def of(self, param: n.ParamDecl, value: Any) -> int | float:
        """Nothing that is not zero becomes zero."""
        exact = fraction(value)
        digits = 0 if param.integer else len((decimal_text(exact) or "").partition(".")[2]) + self.finer
        least = Fraction(1, 10**digits)
        moved = round(exact * self.factor / least) * least
        if exact and not moved:
            moved = least if exact > 0 else -least
        return tidy(moved, digits)


def _moved(param: n.ParamDecl, value: Any, scale: _Scale, share: float, rng: np.random.Generator) -> Any:
    """share: 1 all entries, 0 a single one, else each with this chance."""
    if not isinstance(value, Mapping):
        return scale.of(param, value)
    out = copy.deepcopy(value)
    places = list(_leaves(out))
    symmetric = len(param.indices) == 2 and param.indices[0].set == param.indices[1].set and _symmetric(out)
    chosen = np.ones(len(places), bool) if share == 1 else rng.random(len(places)) < share if share else np.zeros(len(places), bool)
    if not chosen.any():
        chosen[int(rng.integers(len(places)))] = True
    picked = {path for path, here in zip(places, chosen.tolist(), strict=True) if here}
    if symmetric:
        picked |= {(b, a) for a, b in picked}
    for path in places:
        if path in picked:
            node: Any = out
            for part in path[:-1]:
                node = node[part]
            node[path[-1]] = scale.of(param, node[path[-1]])
    return out


def _jittered(param: n.ParamDecl, value: Any, rng: np.random.Generator) -> Any:
    """Each entry by a factor of its own, 0.85 to 1.15; the halves of a symmetric table alike."""
    if not isinstance(value, Mapping):
        return _Scale(Fraction(int(rng.integers(850, 1151)), 1000), 1).of(param, value)
    out = copy.deepcopy(value)
    symmetric = len(param.indices) == 2 and param.indices[0].set == param.indices[1].set and _symmetric(out)
    factors: dict[tuple, Fraction] = {}
    for path in _leaves(value):
        factors[path] = factor = Fraction(int(rng.integers(850, 1151)), 1000)
        if symmetric:
            factor = factors.get(path[::-1], factor)
        node: Any = out
        for part in path[:-1]:
            node = node[part]
        node[path[-1]] = _Scale(factor, 1).of(param, node[path[-1]])
    return out


def _leaves(node: Any, path: tuple = ()) -> Iterator[tuple]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key)


def _symmetric(table: Any) -> bool:
    return all(table.get(b, {}).get(a, v) == v for a, line in table.items() for b, v in line.items())

