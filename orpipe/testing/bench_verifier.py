"""How good is the equivalence engine?  One corpus judged by it and by three simpler judges: caught, accepted, undecided, wrong, milliseconds.

    orpipe bench verifier                       all families x operators x levels 1-3, labelled pairs, Bench4Opt references
    orpipe bench verifier --sample 12 --levels 1

The truth of a mutant is settled by an independent proof (orpipe.testing.equivalence_truth): the witness of a difference is checked in exact
arithmetic, an equivalence by maximising every row of one model over the other with two solver families.  What it cannot settle is
counted apart.  Names: kept; families renamed; none, and the columns mixed (alone, and with re-draws).
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from typing import Any

from orpipe import __version__
from orpipe.errors import UsageError
from orpipe.families import families
from orpipe.instances import stream
from orpipe.mutate import operators
from orpipe.mutate.harmless import reformulations
from orpipe.testing import equivalence_truth as truth
from orpipe.testing.verifier_corpus import SHARED, Cell, Pair, cells, disguised, labelled_pairs, pairs, references
from orpipe.testing.verifier_methods import BASELINES
from orpipe.verify.equivalence import BUDGET, Comparison, Guard, compare_problems
from orpipe.verify.verdict import Verdict

REGIMES = ("kept", "families", "anonymous", "re-draws")
OURS = {"kept": "orpipe, names kept", "families": "orpipe, names of families changed", "anonymous": "orpipe, no names",
        "re-draws": "orpipe, no names, re-draws"}
START, END = "<!-- verifier: rewritten by `orpipe bench verifier --update-readme` -->", "<!-- /verifier -->"
_ANSWER = {Verdict.EQUIVALENT: True, Verdict.NOT_EQUIVALENT: False, Verdict.WRONG_OPTIMUM: False}
_SAME = "the same: proved row by row"
SIZE = 60  # variables up to which milliseconds are told


@dataclass
class Score:
    """Of one method.  relabelled: without names, mutants that on these data are the right model under another order of variables.
    by_probes: wrong accepts that rest on probes.  ms: of pairs up to SIZE variables."""

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
    misses: list[str] = field(default_factory=list)

    def count(self, pair: Pair, different: bool, answer: bool | None, seconds: float, said: str) -> None:
        """answer: equivalent, or None if undecided."""
        if pair.a.n_vars <= SIZE:
            self.ms.append(1e3 * seconds)
        if different:
            self.different += 1
            self.caught += answer is False
        else:
            self.harmless += 1
            self.accepted += answer is True
        self.undecided += answer is None
        self.wrong += answer is different
        if answer is None or answer is different:
            self.misses.append(f"{pair}: {said}".rstrip(": "))

    def add(self, other: Score) -> None:
        for name in ("caught", "different", "accepted", "harmless", "undecided", "wrong", "relabelled", "by_probes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.ms += other.ms
        self.misses += other.misses

    @property
    def median(self) -> float:
        return statistics.median(self.ms or [0.0])

    @property
    def p95(self) -> float:
        return sorted(self.ms or [0.0])[int(0.95 * (max(len(self.ms), 1) - 1))]

    def cells(self) -> list[str]:
        return [self.method, _share(self.caught, self.different), _share(self.accepted, self.harmless),
                f"{self.undecided} ({_share(self.undecided, self.different + self.harmless)})", str(self.wrong), str(self.relabelled),
                f"{self.median:.1f} / {self.p95:.1f}"]


HEADER = ["method", "mis-modellings caught", "harmless accepted", "undecided", "wrong", "same without names", "ms, median / p95"]


def _share(part: int, whole: int) -> str:
    """Never rounded up to 100%."""
    if not whole:
        return "-"
    return "100%" if part == whole else f"{min(99.99, 100 * part / whole):.2f}%"


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


def judge(pair: Pair, tally: Tally, budget: float, regimes: Sequence[str] = REGIMES) -> None:
    """One mutant or reformulation by all methods."""
    found: dict[str, Comparison] = {}
    for regime in dict.fromkeys(("kept", *(r for r in regimes if r != "re-draws"), *(("anonymous",) if "re-draws" in regimes else ()))):
        b = disguised(pair.b, regime, stream(1, regime, pair.operator, pair.site))
        found[regime] = compare_problems(pair.a, b, budget=budget)
        if regime == "anonymous" and "re-draws" in regimes:
            first = found[regime]
            found["re-draws"] = first if _ANSWER.get(first.verdict) is False else \
                compare_problems(pair.a, b, budget=budget, redraws=pair.redraws())
    different = pair.different if pair.different is not None else settle(pair, found["kept"], tally)
    if different is None:
        return
    for regime in regimes:
        _count(pair, tally.score(OURS[regime]), different, found[regime], regime)
    for name, method in BASELINES.items():
        began = time.perf_counter()
        answer = method(pair.a, pair.b)
        tally.score(name).count(pair, different, answer, time.perf_counter() - began, "")


def _count(pair: Pair, score: Score, different: bool, result: Comparison, regime: str) -> None:
    answer = _ANSWER.get(result.verdict)
    if different and answer is True:
        if result.method.startswith("probes"):
            score.by_probes += 1
        elif regime in ("anonymous", "re-draws"):
            score.relabelled += 1
            return
    if not different and pair.kind == "mutant" and result.method == "redraw":
        return  # it changes nothing on these data, and something on others: both are right
    score.count(pair, different, answer, result.seconds, f"{result.verdict} ({result.method}) {result.sentence}")


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
    tally.truth[_SAME if proof else "different: proved by rows or tilted objectives"] += 1
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
    tally.score(OURS["kept"], source).count(pair, pair.different, _ANSWER.get(result.verdict), result.seconds,
                                            f"{result.verdict} ({result.method}) {result.sentence}")
    for name, method in BASELINES.items():
        began = time.perf_counter()
        answer = method(pair.a, pair.b)
        tally.score(name, source).count(pair, pair.different, answer, time.perf_counter() - began, "")


def judge_cell(cell: Cell, sample: int | None, seed: int, budget: float, regimes: Sequence[str]) -> Tally:
    tally = Tally()
    for pair in pairs(cell, sample, seed):
        judge(pair, tally, budget, regimes)
    return tally


def _judge_outside(budget: float) -> Tally:
    tally = Tally()
    models, notes = references()
    tally.skipped += notes
    with Guard() as guard:
        for pair in (*labelled_pairs(), *models):
            judge_outside(pair, tally, guard, budget)
    return tally


def measured(names: Sequence[str], levels: Sequence[int], *, sample: int | None = None, seed: int = 0, workers: int = 1, budget: float = BUDGET,
             regimes: Sequence[str] = REGIMES, outside: bool = True, say: Callable[[str], None] = lambda text: None) -> Tally:
    """The whole bench.  sample: mutants of one instance; None for all.  Raises UsageError for an unknown regime."""
    unknown = [r for r in regimes if r not in REGIMES]
    if unknown:
        raise UsageError(f"no naming '{unknown[0]}'; choose among {', '.join(REGIMES)}")
    tally = Tally()
    # large cells first, so that no worker is left with one at the end
    todo = sorted(cells(names, levels), key=lambda c: -c.level)
    if outside:
        for name in ("formulation_pairs", "bench4opt_sample"):
            if not (SHARED / name).is_dir():
                tally.skipped.append(f"{name}: not beside the checkout ({SHARED.parent.name}/{SHARED.name}/{name})")
    if workers == 1:
        for cell in todo:
            tally.add(judge_cell(cell, sample, seed, budget, regimes))
            say(f"{cell.place} level {cell.level}")
    else:
        # the parent keeps its hands free for the pool; a spawned worker inherits no solver state
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            waiting = [(cell, pool.submit(judge_cell, cell, sample, seed, budget, tuple(regimes))) for cell in todo]
            for cell, future in waiting:
                tally.add(future.result())
                say(f"{cell.place} level {cell.level}")
    if outside:
        say("labelled pairs and references")
        tally.add(_judge_outside(budget))
    return tally


# ------------------------------------------------------------------------------------------------------------- printing


def tables(tally: Tally) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, header, rows)"""
    out = [("Mutants and harmless reformulations of the families", HEADER, [s.cells() for s in _ordered(tally.scores)])]
    for source, book in tally.outside.items():
        rows = [[s.method, f"{s.caught} of {s.different}" if s.different else "-", f"{s.accepted} of {s.harmless}", str(s.undecided), str(s.wrong)]
                for s in _ordered(book)]
        out.append((source[:1].upper() + source[1:], ["method", "different, caught", "the same, accepted", "undecided", "wrong"], rows))
    out.append(("How the truth of the mutants was settled", ["what", "count"], [[k, str(v)] for k, v in sorted(tally.truth.items())]))
    return out


def _ordered(book: dict[str, Score]) -> list[Score]:
    order = [*BASELINES, *OURS.values()]
    return sorted(book.values(), key=lambda s: order.index(s.method))


def record(tally: Tally) -> dict[str, Any]:
    """Plain JSON values; misses of ours only."""
    def plain(s: Score) -> dict[str, Any]:
        kept = {k: v for k, v in asdict(s).items() if k not in ("ms", "misses")}
        return {**kept, "ms_median": round(s.median, 3), "ms_p95": round(s.p95, 3), "misses": s.misses if s.method not in BASELINES else []}

    return {"scores": [plain(s) for s in _ordered(tally.scores)],
            "outside": {source: [plain(s) for s in _ordered(book)] for source, book in tally.outside.items()},
            "truth": dict(tally.truth), "open": tally.open, "faults": tally.faults, "skipped": tally.skipped}


def readme_block(tally: Tally, names: Sequence[str], levels: Sequence[int], workers: int) -> str:
    """The marked block of README.md, markers included."""
    settled = sum(v for k, v in tally.truth.items() if k != "open")
    harmless = next((s.harmless for s in tally.scores.values() if s.method in BASELINES), 0)
    head = (f"orpipe {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, {workers} workers; {len(names)} families, "
            f"levels {', '.join(map(str, levels))}, {len(operators())} operators, {len(reformulations())} reformulations: {settled} mutants with a "
            f"proved truth ({tally.truth['open']} without are left out), {harmless - tally.truth[_SAME]} reformulated models. Milliseconds up to "
            f"{SIZE} variables.")
    lines = [START, head, "", f"| {' | '.join(HEADER)} |", "|" + " --- |" * len(HEADER)]
    lines += [f"| {' | '.join(s.cells())} |" for s in _ordered(tally.scores)]
    for source, book in tally.outside.items():
        told = [f"{s.method}: {s.caught + s.accepted} of {s.different + s.harmless} right, {s.wrong} wrong" for s in _ordered(book)]
        lines += ["", f"{source[:1].upper() + source[1:]}: {'; '.join(told)}."]
    lines += ["", *(f"Skipped: {x}." for x in tally.skipped)] if tally.skipped else []
    return "\n".join([*lines, END])


def with_block(text: str, block: str) -> str:
    """README text with its marked block replaced.  UsageError if there is not exactly one."""
    found = re.findall(rf"{re.escape(START)}.*?{re.escape(END)}", text, re.S)
    if len(found) != 1:
        raise UsageError(f"README.md holds {len(found)} blocks between '{START}' and '{END}'; put these two lines where the table belongs")
    return text.replace(found[0], block)


def chosen(text: str) -> list[str]:
    """Family names, comma-separated; all for "".  Raises NotFound with the nearest name."""
    names = [n.strip() for n in text.split(",") if n.strip()]
    return [families[n].name for n in names] or [f.name for f in families]
