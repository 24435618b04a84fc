"""More data sets than the known mutants need, so that others are killed too: those that kill again what few have killed.

Three data sets that kill every mutant they were chosen for miss more of those they never saw than six in which each is killed
several times, by different data (`python -m orpipe.testing.bench_suites`, held out: 96% and 98%).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from orpipe.mutate import Mutant
from orpipe.suites.kills import Trial

TIMES = 4


def spread(kept: Sequence[Trial], tried: Sequence[Trial], pool: Sequence[Mutant], least: int, most: int, nodes: int) -> Iterator[Trial]:
    """From `tried`, in the order of what they add, until there are `most` in all or nothing is added (but `least`).  Mutants that nothing
    has killed come first; the others count the more the fewer have killed them, and no more after TIMES."""
    times = Counter(str(m) for t in kept for m in pool if t.fate(m, nodes, sure=False) == "killed")
    left = {id(t): frozenset(str(m) for m in pool if t.fate(m, nodes, sure=False) == "killed") for t in tried}
    rest, count = list(tried), len(kept)
    while rest and count < most:
        gains = [(sum(not times[key] for key in left[id(t)]), sum(max(0, TIMES - times[key]) for key in left[id(t)])) for t in rest]
        best = gains.index(max(gains))
        if not any(gains[best]) and count >= least:
            return
        taken = rest.pop(best)
        times.update(left[id(taken)])
        count += 1
        yield taken
