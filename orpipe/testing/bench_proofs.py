"""python -m orpipe.testing.bench_proofs: which share of integer programs is proved exactly, by size, and what a proof costs.

Instances of every family at its own levels, and beyond them (level 4 enlarged by its distance from level 3, once, twice, ...)
for sizes up to 250 variables.  Seconds are processor seconds of the proof alone, the label given.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from orpipe.algebra.idioms import lower
from orpipe.errors import OrpipeError
from orpipe.families import Family, Rejected, families
from orpipe.ground import ground
from orpipe.instances import draw, stream
from orpipe.problem import Problem
from orpipe.proof import Certificate, prove
from orpipe.scenarios import Labels, scenarios
from orpipe.solve import Label, label

SIZES = (100, 250)


@dataclass(frozen=True)
class Proof:
    """One attempt.  level: 1 to 4, or 5 and more beyond the family's own; size: 100 or 250, the class of variables."""

    family: str
    level: int
    variables: int
    size: int
    proved: bool
    nodes: int
    seconds: float


def enlarged(family: Family, step: int) -> dict[str, float]:
    before, last = family.levels[-2], family.levels[-1]
    return {k: v + step * max(1, v - before[k]) if isinstance(v, int) and v > before[k] else v for k, v in last.items()}


def problems(family: Family, number: int, beyond: int) -> Iterator[tuple[int, Problem]]:
    """`number` draws at each level and at `beyond` enlarged ones; draws that the family refuses are left out."""
    for level in range(1, len(family.levels) + beyond + 1):
        for k in range(number):
            try:
                if level <= len(family.levels):
                    yield level, draw(family.name, level, 77, k).problem
                    continue
                rng = stream(77, family.name, level, k)
                model = family.symbolic(family.formulations[int(rng.integers(len(family.formulations)))])
                data = family.sample(rng, enlarged(family, level - len(family.levels)), Labels(scenarios(family.name)[0], model, rng))
                yield level, ground(lower(model), data)
            except (OrpipeError, Rejected, ValueError):
                continue


def measure(number: int, beyond: int, seconds: float, nodes: int) -> list[Proof]:
    found = []
    for family in families:
        for level, problem in problems(family, number, beyond):
            if problem.kind == "LP" or problem.n_vars > SIZES[-1]:
                continue
            known = label(problem, time_limit=20)
            if not isinstance(known, Label):
                continue
            began = time.process_time()
            proof = prove(problem, known, seconds, nodes)
            spent = time.process_time() - began
            size = next(s for s in SIZES if problem.n_vars <= s)
            found.append(Proof(family.name, level, problem.n_vars, size, isinstance(proof, Certificate), getattr(proof, "nodes", 0), spent))
    return found


def table(proofs: list[Proof]) -> str:
    lines = ["| integer programs | proved exactly | median ms | 90th percentile ms | not proved |", "| --- | --- | --- | --- | --- |"]
    for size in SIZES:
        for what, these in (("levels 1-4", [p for p in proofs if p.size == size and p.level <= 4]),
                            ("beyond the levels", [p for p in proofs if p.size == size and p.level > 4])):
            if these:
                ms = sorted(1000 * p.seconds for p in these)
                missed = ", ".join(sorted({p.family for p in these if not p.proved})) or "none"
                done = sum(p.proved for p in these)
                lines.append(f"| {what}, {'up to' if size == SIZES[0] else 'over 100, up to'} {size} variables | {done} of {len(these)} "
                             f"({100 * done / len(these):.1f}%) | {statistics.median(ms):.0f} | {ms[math.ceil(0.9 * len(ms)) - 1]:.0f} | {missed} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m orpipe.testing.bench_proofs", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--number", type=int, default=8, help="draws of each family and level (default 8)")
    parser.add_argument("--beyond", type=int, default=2, help="levels beyond the family's own (default 2)")
    parser.add_argument("--seconds", type=float, default=5.0, help="time limit of a proof (default 5)")
    parser.add_argument("--nodes", type=int, default=10**9, help="node limit of a proof (default: none)")
    parser.add_argument("--json", action="store_true", help="every attempt as JSON")
    asked = parser.parse_args()
    proofs = measure(asked.number, asked.beyond, asked.seconds, asked.nodes)
    print(json.dumps([asdict(p) for p in proofs]) if asked.json else table(proofs))


if __name__ == "__main__":
    main()
