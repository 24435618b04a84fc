"""Differences that stand under every map, where none is certain.

    worse   where every column of a is a decision, each of its points has its own objective, and an equivalent b has a completion of the
            same objective: b's worst objective is at least as bad as a's; where there are as many columns, the other way round as well
    only    a has costs and one single point; b has none and leaves every one of its columns open: whichever of them is matched, it takes
            values that a does not allow
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from orpipe.problem import Problem
from orpipe.verify.equivalence.containment import best_point, extreme
from orpipe.verify.equivalence.evidence import nonzero, number, point_text
from orpipe.verify.equivalence.normalise import Form, normalise
from orpipe.verify.equivalence.reach import Clock, Point, Within
from orpipe.verify.equivalence.region import Region
from orpipe.verify.equivalence.witness import Side, Witness, named

_CLEARLY = 1e-4  # of the values; below it nothing is concluded
_MOST_COLUMNS = 40  # that are looked at one by one


@dataclass(frozen=True)
class Shown:
    """witness: a point of a, with its own objective where that is the difference.  proof: as in Within."""

    sentence: str
    witness: Witness
    proof: str


def shown(a: Problem, b: Problem, clock: Clock, label: Mapping[str, str]) -> Shown | None:
    """A difference under every map, or None.  label: the names of the two models, by "a" and "b"."""
    ways: tuple[tuple[Side, Side, Problem, Problem], ...] = (("a", "b", a, b), ("b", "a", b, a))
    for side, other, one, two in ways:
        if (side == "a" or a.n_vars == b.n_vars) and (found := worse(one, two, clock)) is not None:
            value = one.objective(found[0])
            said = f"at an objective of {number(value)}; every point of {label[other]} has a better one"
            return _shown(one, side, label, found, value, said)
    if (single := only(a, b, clock)) is not None:
        said = f"and nothing else; {label['b']} has no objective and leaves every variable open"
        return _shown(a, "a", label, (single, "exact"), None, said)
    return None


def _shown(of: Problem, side: Side, label: Mapping[str, str], found: tuple[Point, str], value: Fraction | None, said: str) -> Shown:
    values = named(of, dict(enumerate(found[0])))
    worth = {f"objective_{side}": value}
    return Shown(f"{label[side]} allows {point_text(nonzero(values))} {said}", Witness(side, values, {}, (), **worth), found[1])


def worse(a: Problem, b: Problem, clock: Clock) -> tuple[Point, str] | None:
    """A point of a whose objective is clearly worse than that of any point of b, and how that is proved; None if none is found, or a's
    columns may stand for what b need not state."""
    if not _decisions_only(a, b):
        return None
    inside = Region(a, clock)
    point = _worst_point(inside, a)
    if point is None or a.violations(point):
        return None
    value = a.objective(point)
    sign = -1.0 if b.maximize else 1.0
    level = float(-value if a.maximize else value)  # both minimised
    limit = level - _CLEARLY * max(1.0, abs(level))
    reach = Region(b, clock).maximum(sign * b.cost, limit - sign * float(b.offset))
    if not isinstance(reach, Within) or reach.proof in ("tolerance", "empty"):
        return None
    return point, reach.proof


def only(a: Problem, b: Problem, clock: Clock) -> Point | None:
    """The only point of a model a with an objective, where b has none and can move each of its columns; None if not so, or not shown."""
    undeclared = a.decision.all() and b.decision.all() and b.n_vars >= a.n_vars
    if not undeclared or not a.cost.any() or b.cost.any() or b.n_vars > _MOST_COLUMNS:
        return None
    inside = Region(a, clock)
    point = best_point(inside, a)
    if point is None or a.violations(point):
        return None
    unit = np.eye(max(a.n_vars, b.n_vars))
    for j, value in enumerate(point):
        for sign in (1.0, -1.0):
            reach = inside.maximum(sign * unit[j, :a.n_vars], sign * float(value))
            if not isinstance(reach, Within) or reach.proof in ("tolerance", "empty"):
                return None
    region = Region(b, clock)
    for j in range(b.n_vars):
        ends = [extreme(region, region.problem, sign * unit[j, :b.n_vars]) for sign in (1.0, -1.0)]
        if any(end is None or b.violations(end) for end in ends) or ends[0][j] == ends[1][j]:  # type: ignore[index]
            return None
    return point


def _decisions_only(a: Problem, b: Problem) -> bool:
    """Are all columns of a decisions, whatever the map (see Roles.of)?  Neither model declares auxiliaries, b has no fewer columns, and
    no amount of a looks like an upper estimate of a cost (max of others, lateness): free to grow worse."""
    return bool(a.decision.all() and b.decision.all() and b.n_vars >= a.n_vars and not _estimates(normalise(a)).any())


def _estimates(form: Form) -> np.ndarray:
    """(n,) costed amounts that no row keeps from growing worse."""
    worsening = np.sign(form.cost) * form.A
    held = ((worsening > 0) & np.isfinite(form.hi)[:, None]) | ((worsening < 0) & np.isfinite(form.lo)[:, None])
    return (form.cost != 0) & ~form.whole & ~held.any(0)


def _worst_point(region: Region, a: Problem) -> Point | None:
    turned = replace(region.problem, maximize=not a.maximize, cost_exact=a.cost_exact)
    return best_point(region, turned) or extreme(region, region.problem, a.cost if not a.maximize else -a.cost)
