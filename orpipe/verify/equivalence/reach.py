"""What is asked of a feasible set and answered: within a limit (proved), beyond it (a point), or open; and the clock that runs meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

Point = tuple[Fraction, ...]
# excess, relative to the terms added: within below the first (values are exact, coefficients carry the rounding of floats),
# beyond above the second
TIGHT, LOOSE = 1e-11, 1e-6
_SOLVE_SECONDS = 5.0


class OutOfTime(Exception):
    """The budget of a comparison is spent."""


@dataclass
class Clock:
    """Seconds of a comparison, and what they went into.  solves: counts by kind."""

    budget: float
    began: float = field(default_factory=time.perf_counter)
    solves: Counter[str] = field(default_factory=Counter)
    ends: float = 0.0

    def __post_init__(self) -> None:
        self.ends = self.began + self.budget

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    @property
    def spent(self) -> bool:
        return time.perf_counter() >= self.ends

    def left(self, most: float = _SOLVE_SECONDS) -> float:
        """Seconds that the next solve may take.  Raises OutOfTime when there are none."""
        rest = self.ends - time.perf_counter()
        if rest <= 0:
            raise OutOfTime
        return min(rest, most)

    def share(self, part: float) -> Clock:
        """A clock that ends after `part` of what is left, counting into the same sums."""
        found = Clock(self.budget, self.began, self.solves)
        now = time.perf_counter()
        found.ends = now + max(0.0, self.ends - now) * part
        return found


@dataclass(frozen=True, slots=True)
class Within:
    """The limit holds.  proof: "bounds" and "exact" rest on arithmetic alone, "agreement" on two solver families;
    "tolerance": it is exceeded, by less than LOOSE of the terms added, which arithmetic alone shows; "empty": there is no point at
    all (in the relaxation)."""

    proof: Literal["bounds", "exact", "agreement", "tolerance", "empty"]


@dataclass(frozen=True, slots=True)
class Beyond:
    """A point of the set, exact, where the function has `value`, above the limit."""

    point: Point
    value: Fraction


@dataclass(frozen=True, slots=True)
class Open:
    reason: str


Reach = Within | Beyond | Open


class Below:
    """A maximum is at most what was asked, by exact multipliers; where it lies was not looked for."""
