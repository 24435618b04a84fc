"""How good is the equivalence engine?  One corpus judged by it and by three simpler judges: caught, accepted, undecided, wrong, milliseconds.

    orpipe bench verifier                       all families x operators x levels 1-3, labelled pairs, Bench4Opt references
    orpipe bench verifier --sample 12 --levels 1

The truth of a mutant is settled by an independent proof (orpipe.testing.equivalence_truth): the witness of a difference is checked in exact
arithmetic, an equivalence by holding every row of one model against the other.  What it cannot settle in a few seconds is
counted apart.  Names: kept; families renamed; none, and the columns mixed (alone, and with re-draws).
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context

from orpipe.errors import UsageError
from orpipe.families import families
from orpipe.instances import stream
from orpipe.solve import solvers
from orpipe.testing import equivalence_truth as truth
from orpipe.testing.verifier_corpus import SHARED, Cell, Pair, cells, disguised, labelled_pairs, pairs, references
from orpipe.testing.verifier_methods import BASELINES
from orpipe.testing.workers import end_with_parent
from orpipe.verify.equivalence import BUDGET, Comparison, Guard, compare_problems
from orpipe.verify.verdict import Verdict

REGIMES = ("kept", "families", "anonymous", "re-draws")
OURS = {"kept": "orpipe, names kept", "families": "orpipe, names of families changed", "anonymous": "orpipe, no names",
        "re-draws": "orpipe, no names, re-draws"}
_ANSWER = {Verdict.EQUIVALENT: True, Verdict.NOT_EQUIVALENT: False, Verdict.WRONG_OPTIMUM: False}
SAME = "the same: proved row by row"
_LARGE = 4  # budgets for a pair from outside: they have up to some thousand variables
SIZE = 60  # variables up to which milliseconds are told


@dataclass(frozen=True)
class Miss:
    """A pair on which a verdict was wrong, or none was reached."""

    pair: str
    family: str
    operator: str
    wrong: bool
    said: str

    def __str__(self) -> str:
        return f"{self.pair}: {self.said}".rstrip(": ")


@dataclass
class Spent:
    """Milliseconds of one verdict, by the clock and of processor time."""

    wall: float = 0.0
    cpu: float = 0.0


@dataclass
class Score:
    """Of one method.  relabelled: without names, mutants that on these data are the right model under another order of variables.
    by_probes: wrong accepts that rest on probes.  ms and cpu: of pairs up to SIZE variables, by the clock and of processor time."""

    method: str
    caught: int = 0
    different: int = 0
    accepted: int = 0
    harmless: int = 0
    undecided: int = 0
    wrong: int = 0
    relabelled: int = 0
    by_probes: int = 0
    ms: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)

    def count(self, pair: Pair, different: bool, answer: bool | None, spent: Spent, said: str) -> None:
        """answer: equivalent, or None if undecided."""
        if pair.a.n_vars <= SIZE:
            self.ms.append(spent.wall)
            self.cpu.append(spent.cpu)
        if different:
            self.different += 1
            self.caught += answer is False
        else:
            self.harmless += 1
            self.accepted += answer is True
        self.undecided += answer is None
        self.wrong += answer is different
        if answer is None or answer is different:
            self.misses.append(Miss(str(pair), pair.place.partition("/")[0], pair.operator, answer is different, said))

    def add(self, other: Score) -> None:
        for name in ("caught", "different", "accepted", "harmless", "undecided", "wrong", "relabelled", "by_probes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.ms += other.ms
        self.cpu += other.cpu
        self.misses += other.misses


def median_and_p95(values: Sequence[float]) -> tuple[float, float]:
    ranked = sorted(values) or [0.0]
    return statistics.median(ranked), ranked[int(0.95 * (len(ranked) - 1))]


@dataclass
class Tally:
    """scores: by method.  outside: of labelled pairs and references, by (source, method).  truth: how it was settled.  open: pairs without a
    truth, left out.  faults: where our verdict and the independent proof part."""

    scores: dict[str, Score] = field(default_factory=dict)
    outside: dict[str, dict[str, Score]] = field(default_factory=dict)
    truth: Counter[str] = field(default_factory=Counter)
    open: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def score(self, method: str, source: str = "") -> Score:
        book = self.outside.setdefault(source, {}) if source else self.scores
        return book.setdefault(method, Score(method))

    def add(self, other: Tally) -> None:
        for name, score in other.scores.items():
            self.score(name).add(score)
        for source, book in other.outside.items():
            for name, score in book.items():
                self.score(name, source).add(score)
        self.truth += other.truth
        self.open += other.open
        self.faults += other.faults
        self.skipped += other.skipped


# ------------------------------------------------------------------------------------------------------------- judging


@contextmanager
def clocked() -> Iterator[Spent]:
    spent, wall, cpu = Spent(), time.perf_counter(), time.process_time()
    yield spent
    spent.wall, spent.cpu = 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def judge(pair: Pair, tally: Tally, budget: float, regimes: Sequence[str] = REGIMES) -> None:
    """One mutant or reformulation by all methods."""
    found: dict[str, Comparison] = {}
    spent: dict[str, Spent] = {}
    for regime in dict.fromkeys(("kept", *(r for r in regimes if r != "re-draws"), *(("anonymous",) if "re-draws" in regimes else ()))):
        b = disguised(pair.b, regime, stream(1, regime, pair.operator, pair.site))
        with clocked() as spent[regime]:
            found[regime] = compare_problems(pair.a, b, budget=budget)
        if regime == "anonymous" and "re-draws" in regimes:
            found["re-draws"], spent["re-draws"] = found[regime], spent[regime]
            if _ANSWER.get(found[regime].verdict) is not False:
                others = pair.redraws()  # made before the clock starts
                with clocked() as spent["re-draws"]:
                    found["re-draws"] = compare_problems(pair.a, b, budget=budget, redraws=others)
    different = pair.different if pair.different is not None else settle(pair, found["kept"], tally)
    if different is None:
        return
    for regime in regimes:
        _count(pair, tally.score(OURS[regime]), different, found[regime], spent[regime], regime)
    _baselines(pair, different, tally)


def _baselines(pair: Pair, different: bool, tally: Tally, source: str = "") -> None:
    for name, method in BASELINES.items():
        with clocked() as spent:
            answer = method(pair.a, pair.b)
        tally.score(name, source).count(pair, different, answer, spent, "")


def _count(pair: Pair, score: Score, different: bool, result: Comparison, spent: Spent, regime: str) -> None:
    answer = _ANSWER.get(result.verdict)
    if different and answer is True:
        if result.method.startswith("probes"):
            score.by_probes += 1
        elif regime in ("anonymous", "re-draws"):
            score.relabelled += 1
            return
    if not different and pair.kind == "mutant" and result.method == "redraw":
        return  # it changes nothing on these data, and something on others: both are right
    score.count(pair, different, answer, spent, f"{result.verdict} ({result.method}) {result.sentence}")


def settle(pair: Pair, kept: Comparison, tally: Tally) -> bool | None:
    """Is the mutant another model on these data?  By an independent proof; None if that leads nowhere."""
    answer = _ANSWER.get(kept.verdict)
    if answer is False:
        stands = truth.holds(pair.a, pair.b, kept)
        if stands:
            tally.truth["different: witness or optimum checked exactly"] += 1
            return True
        if stands is False:
            tally.faults.append(f"{pair}: {kept.verdict} ({kept.method}), but its evidence does not stand")
    proof = truth.equal(pair.a, pair.b)
    if proof is None and truth.apart(pair.a, pair.b):
        proof = False
    if proof is None:
        tally.truth["open"] += 1
        tally.open.append(f"{pair}: {kept.verdict} ({kept.method})")
        return None
    tally.truth[SAME if proof else "different: proved by rows or tilted objectives"] += 1
    if answer is proof or answer is None:
        return not proof
    tally.faults.append(f"{pair}: {kept.verdict} ({kept.method}); independent proof: {'the same' if proof else 'different'}")
    return not proof


def judge_outside(pair: Pair, tally: Tally, guard: Guard, budget: float) -> None:
    """A labelled pair or a reference against itself; our budget is kept from outside, for these models may be large."""
    assert pair.different is not None
    source = "labelled pairs" if pair.kind == "pair" else "Bench4Opt references"
    result = guard.compare(pair.a, pair.b, budget=budget)
    if pair.kind == "pair" and result.verdict is not Verdict.EQUIVALENT:
        # the labels allow multiples of the objective, which is another contract than ours
        freely = guard.compare(pair.a, pair.b, budget=budget, scale_free=True)
        result = freely if freely.verdict is Verdict.EQUIVALENT else result
    tally.score(OURS["kept"], source).count(pair, pair.different, _ANSWER.get(result.verdict), Spent(1e3 * result.seconds),
                                            f"{result.verdict} ({result.method}) {result.sentence}")
    _baselines(pair, pair.different, tally, source)


def judge_cell(cell: Cell, sample: int | None, seed: int, budget: float, regimes: Sequence[str], part: int = 0, parts: int = 1) -> Tally:
    """part: of so many parts of the cell's pairs."""
    solvers()  # imports the libraries before the first clock starts
    tally = Tally()
    for k, pair in enumerate(pairs(cell, sample, seed)):
        if k % parts == part:
            judge(pair, tally, budget, regimes)
    return tally


def _judge_outside(budget: float) -> Tally:
    tally = Tally()
    models, notes = references()
    tally.skipped += notes
    with Guard() as guard:
        for pair in (*labelled_pairs(), *models):
            judge_outside(pair, tally, guard, _LARGE * budget)
    return tally


def measured(names: Sequence[str], levels: Sequence[int], *, sample: int | None = None, seed: int = 0, workers: int = 1, budget: float = BUDGET,
             regimes: Sequence[str] = REGIMES, outside: bool = True, say: Callable[[str], None] = lambda text: None) -> Tally:
    """The whole bench.  sample: mutants of one instance; None for all.  Raises UsageError for an unknown regime."""
    unknown = [r for r in regimes if r not in REGIMES]
    if unknown:
        raise UsageError(f"no naming '{unknown[0]}'; choose among {', '.join(REGIMES)}")
    tally = Tally()
    if outside:
        for name in ("formulation_pairs", "bench4opt_sample"):
            if not (SHARED / name).is_dir():
                tally.skipped.append(f"{name}: not beside the checkout ({SHARED.parent.name}/{SHARED.name}/{name})")
    # large cells first and in parts, so that no worker is left with one at the end
    todo = [(cell, part) for cell in sorted(cells(names, levels), key=lambda c: -c.level) for part in range(cell.level)]
    total, done, began = sum(1 + c.level for c, _ in todo), 0, time.monotonic()

    def told(cell: Cell, part: int) -> None:
        nonlocal done
        done += 1 + cell.level
        left = (time.monotonic() - began) * (total - done) / done
        say(f"{cell.place} level {cell.level}{f', part {part + 1} of {cell.level}' if cell.level > 1 else ''}; "
            f"{100 * done // total}%, about {left / 60:.1f} min left")

    if workers == 1:
        for cell, part in todo:
            tally.add(judge_cell(cell, sample, seed, budget, regimes, part, cell.level))
            told(cell, part)
    else:
        # the parent keeps its hands free for the pool; a spawned worker inherits no solver state
        parts: dict[tuple[Cell, int], Tally] = {}
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
            waiting = {pool.submit(judge_cell, cell, sample, seed, budget, tuple(regimes), part, cell.level): (cell, part) for cell, part in todo}
            for future in as_completed(waiting):
                parts[waiting[future]] = future.result()
                told(*waiting[future])
        for key in todo:
            tally.add(parts[key])
    if outside:
        say("labelled pairs and references")
        tally.add(_judge_outside(budget))
    return tally


def chosen(text: str) -> list[str]:
    """Family names, comma-separated; all for "".  Raises NotFound with the nearest name."""
    names = [n.strip() for n in text.split(",") if n.strip()]
    return [families[n].name for n in names] or [f.name for f in families]
