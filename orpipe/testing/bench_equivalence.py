"""How good is the equivalence engine?  Mutants and harmless reformulations of all families, judged by four methods.

    python -m orpipe.testing.bench_equivalence --levels 1,2 --limit 20

A mutant counts as different unless an independent proof (orpipe.testing.equivalence_truth) says that it is not, and every
EQUIVALENT is checked by that proof.  Names: kept; families renamed; none, and the order of columns mixed.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import typer

from orpipe.console import put_json, put_table, run, say
from orpipe.errors import OrpipeError
from orpipe.families import families
from orpipe.ground import ground
from orpipe.instances import draw, stream
from orpipe.mutate import mutants
from orpipe.mutate.harmless import reformulation_by_id, reformulations
from orpipe.problem import Problem
from orpipe.solve import Outcome, settle, solver
from orpipe.testing import equivalence_truth as truth
from orpipe.verify.equivalence import Comparison, compare_problems
from orpipe.verify.verdict import Verdict

REGIMES = ("kept", "families", "anonymous")
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class Pair:
    """kind: "mutant" or "harmless"; operator: what changed; different: by independent proof, None if not known."""

    family: str
    level: int
    kind: str
    operator: str
    site: str
    a: Problem
    b: Problem


def pairs(names: list[str], levels: list[int], limit: int | None, seed: int) -> Iterator[Pair]:
    """limit: mutants of one instance (one of each operator before a second of any)."""
    for name in names:
        family = families[name]
        for formulation in family.formulations:
            for level in [v for v in levels if v <= len(family.levels)]:
                instance = draw(name, level, seed, 0, formulation=formulation)
                a, rng = instance.problem, stream(seed, "bench", name, formulation, level)
                place = f"{name}/{formulation}" if len(family.formulations) > 1 else name
                for other in family.formulations:
                    if other != formulation:
                        b = draw(name, level, seed, 0, formulation=other, scenario_id=instance.scenario.id).problem
                        yield Pair(place, level, "harmless", "other-formulation", other, a, b)
                for change in reformulations():
                    changed = change.apply(a, rng)
                    if changed is not None:
                        yield Pair(place, level, "harmless", change.id, "", a, changed)
                for mutant in mutants(instance.linear, rng if limit else None, limit):
                    try:
                        b = ground(mutant.model, instance.data)
                    except OrpipeError:
                        continue
                    if a.difference(b) is not None:
                        yield Pair(place, level, "mutant", mutant.operator.id, str(mutant.site), a, b)


def disguised(problem: Problem, regime: str, rng: np.random.Generator) -> Problem:
    """As a stranger's model: no auxiliaries told; names kept, families renamed, or none and columns mixed."""
    told = replace(problem, decision=np.ones(problem.n_vars, bool))
    if regime == "kept":
        return told
    if regime == "families":
        heads: dict[str, str] = {}
        parts = [c.partition("[") for c in problem.columns]
        for head, _, _ in parts:
            heads.setdefault(head, f"v{chr(97 + len(heads) % 26)}{len(heads) // 26 or ''}")
        return replace(told, columns=tuple(heads[h] + b + rest for h, b, rest in parts))
    mixed = reformulation_by_id("columns-permuted").apply(told, rng) or told
    return replace(mixed, columns=tuple(f"x{k}" for k in range(mixed.n_vars)), decision=told.decision)


# -------------------------------------------------------------------------------------------------------------- methods


def optimum(problem: Problem) -> tuple[str, float | None]:
    """(status, objective, minimised) by one solver."""
    found = settle(solver("highs"), problem, 20.0)
    value = found.objective if found.outcome is Outcome.OPTIMAL else None
    return str(found.outcome), None if value is None else -value if problem.maximize else value


def same_objective(a: Problem, b: Problem) -> bool:
    (s, f), (t, g) = optimum(a), optimum(b)
    return s == t and (f is None or g is None or abs(f - g) <= 1e-6 * max(1.0, abs(f)))


def same_rounded(a: Problem, b: Problem) -> bool:
    (s, f), (t, g) = optimum(a), optimum(b)
    return s == t and (f is None or g is None or abs(round(f) - round(g)) <= 0.05 * abs(round(f)))


def same_colours(a: Problem, b: Problem) -> bool:
    """Colour refinement of the models as they stand; the sense is folded into the costs."""
    return _colours(a) == _colours(b)


def _colours(p: Problem, rounds: int = 6) -> tuple[Any, ...]:
    sign = -1.0 if p.maximize else 1.0
    columns = [hash((round(sign * c, 6), float(lo), float(hi), bool(w)))
               for c, lo, hi, w in zip(p.cost, p.lower, p.upper, p.integer, strict=True)]
    rows = [hash((float(lo), float(hi))) for lo, hi in zip(p.row_lower, p.row_upper, strict=True)]
    matrix = p.matrix.tocoo()
    entries = [(int(i), int(j), round(float(v), 6)) for i, j, v in zip(*matrix.coords, matrix.data, strict=True)]
    for _ in range(rounds):
        at_row: list[list[Any]] = [[] for _ in rows]
        at_column: list[list[Any]] = [[] for _ in columns]
        for i, j, v in entries:
            at_row[i].append((v, columns[j]))
        rows = [hash((c, tuple(sorted(near)))) for c, near in zip(rows, at_row, strict=True)]
        for i, j, v in entries:
            at_column[j].append((v, rows[i]))
        columns = [hash((c, tuple(sorted(near)))) for c, near in zip(columns, at_column, strict=True)]
    return tuple(sorted(columns)), tuple(sorted(rows))


BASELINES: dict[str, Callable[[Problem, Problem], bool]] = {
    "objective, relative 1e-6": same_objective,
    "both rounded, then 5%": same_rounded,
    "colour refinement, raw": same_colours,
}


# ----------------------------------------------------------------------------------------------------------------- score


@dataclass
class Score:
    """Of one method.  relabelled: without names, mutants that are the right model under another order of variables."""

    method: str
    caught: int = 0
    different: int = 0
    accepted: int = 0
    harmless: int = 0
    undecided: int = 0
    wrong: int = 0
    relabelled: int = 0
    seconds: list[float] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)

    def count(self, pair: Pair, different: bool, answer: bool | None, seconds: float, said: str) -> None:
        """answer: equivalent, or None if undecided."""
        self.seconds.append(seconds)
        if different:
            self.different += 1
            self.caught += answer is False
        elif pair.kind == "harmless":
            self.harmless += 1
            self.accepted += answer is True
        self.undecided += answer is None
        self.wrong += answer is not None and answer is different
        if answer is None or answer is different:
            self.misses.append(f"{pair.family} L{pair.level} {pair.operator} {pair.site}: {said}")

    def row(self) -> list[Any]:
        ms = sorted(1e3 * s for s in self.seconds) or [0.0]
        share = [100 * part / max(whole, 1) for part, whole in ((self.caught, self.different), (self.accepted, self.harmless))]
        return [self.method, f"{share[0]:.1f}%", f"{share[1]:.1f}%", self.undecided, self.wrong, self.relabelled or None,
                f"{statistics.median(ms):.1f}", f"{ms[int(0.95 * (len(ms) - 1))]:.1f}"]


@dataclass
class Bench:
    regimes: tuple[str, ...] = REGIMES
    scores: dict[str, Score] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def judge(self, pair: Pair, budget: float) -> None:
        a, timer = pair.a, _timer()
        found = {}
        for regime in dict.fromkeys(("kept", *self.regimes)):
            b = disguised(pair.b, regime, stream(1, regime, pair.operator, pair.site))
            found[regime] = compare_problems(a, b, budget=budget)
        different = self._different(pair, found)
        for regime, result in found.items():
            if regime not in self.regimes:
                continue
            score = self.scores.setdefault(regime, Score(f"ours, names {regime}"))
            answer = {Verdict.EQUIVALENT: True, Verdict.NOT_EQUIVALENT: False, Verdict.WRONG_OPTIMUM: False}.get(result.verdict)
            if different and answer is True and regime != "kept" and not result.method.startswith("probes"):
                score.relabelled += 1  # without names it is the same model
                continue
            score.count(pair, different, answer, result.seconds, f"{result.verdict} ({result.method}) {result.sentence}")
        for name, method in BASELINES.items():
            timer()
            answer = method(a, pair.b)
            self.scores.setdefault(name, Score(name)).count(pair, different, answer, timer(), "")

    def _different(self, pair: Pair, found: dict[str, Comparison]) -> bool:
        if pair.kind == "harmless":
            self.kinds["harmless"] += 1
            return False
        kept = found["kept"]
        place = f"{pair.family} L{pair.level} {pair.operator} {pair.site}"
        if kept.verdict is Verdict.EQUIVALENT:
            proof = truth.equal(pair.a, pair.b)
            self.kinds["mutants that change nothing, proved" if proof else "mutants called equivalent, proof missing"
                       if proof is None else "wrong"] += 1
            if proof is not True:
                self.faults.append(f"{place}: EQUIVALENT ({kept.method}); independent proof: {'none' if proof is None else 'different'}")
            return proof is False
        self.kinds["mutants"] += 1
        if kept.verdict in (Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM):
            stands = truth.holds(pair.a, pair.b, kept)
            self.kinds[f"evidence checked: {'stands' if stands else 'open' if stands is None else 'falls'}"] += 1
            if stands is False:
                self.faults.append(f"{place}: {kept.verdict}, but its evidence does not stand")
            return True
        return truth.equal(pair.a, pair.b) is not True


def _timer() -> Callable[[], float]:
    import time

    last = [time.perf_counter()]

    def passed() -> float:
        now = time.perf_counter()
        gap, last[0] = now - last[0], now
        return gap

    return passed


@app.command()
def bench(
    names: Annotated[str, typer.Option("--families", help="Comma-separated family names (default all).")] = "",
    levels: Annotated[str, typer.Option(help="Levels such as 1,2.")] = "1,2",
    limit: Annotated[int, typer.Option(help="Mutants of one instance; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    budget: Annotated[float, typer.Option(help="Seconds of one comparison.")] = 8.0,
    regimes: Annotated[str, typer.Option(help="Which names: kept, families, anonymous.")] = ",".join(REGIMES),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Measure the equivalence engine against three simpler judges: caught, accepted, undecided, wrong, milliseconds."""
    chosen = [n.strip() for n in names.split(",") if n.strip()] or [f.name for f in families]
    found = Bench(tuple(r.strip() for r in regimes.split(",")))
    last = ""
    for pair in pairs(chosen, [int(v) for v in levels.split(",")], limit or None, seed):
        if pair.family != last:
            last = pair.family
            say(f"{pair.family} ...")
        found.judge(pair, budget)
    ours = [s for name, s in found.scores.items() if name in found.regimes]
    if as_json:
        put_json({"scores": [{"row": s.row(), "misses": s.misses if s in ours else []} for s in found.scores.values()],
                  "kinds": dict(found.kinds), "faults": found.faults})
        return
    put_table(["method", "caught", "accepted", "undecided", "wrong", "relabelled", "ms median", "ms p95"],
              [s.row() for s in sorted(found.scores.values(), key=lambda s: s in ours)])
    put_table(["what", "count"], [[k, v] for k, v in sorted(found.kinds.items())])
    for score in ours:
        for miss in score.misses:
            say(f"{score.method}: {miss}")
    for fault in found.faults:
        say(f"fault: {fault}")


if __name__ == "__main__":
    raise SystemExit(run(app, "python -m orpipe.testing.bench_equivalence"))
