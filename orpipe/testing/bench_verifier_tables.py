"""What `orpipe bench verifier` prints: tables, a JSON record, and the block of README.md."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from orpipe import __version__
from orpipe.errors import UsageError
from orpipe.mutate import operators
from orpipe.mutate.harmless import reformulations
from orpipe.testing.bench_verifier import OURS, SAME, SIZE, Score, Tally, median_and_p95
from orpipe.testing.verifier_methods import BASELINES

START, END = "<!-- verifier: rewritten by `orpipe bench verifier --update-readme` -->", "<!-- /verifier -->"
HEADER = ["method", "mis-modellings caught", "harmless accepted", "undecided", "wrong", "same without names", "ms, median / p95", "CPU ms"]
_OPTIMUM, _ROUNDED = list(BASELINES)[:2]


def cells(s: Score) -> list[str]:
    """One row below HEADER."""
    return [s.method, share(s.caught, s.different), share(s.accepted, s.harmless), f"{s.undecided} ({share(s.undecided, s.different + s.harmless)})",
            str(s.wrong), str(s.relabelled), *("{:.1f} / {:.1f}".format(*median_and_p95(v)) for v in (s.ms, s.cpu))]


def share(part: int, whole: int) -> str:
    """Never rounded up to 100%."""
    if not whole:
        return "-"
    return "100%" if part == whole else f"{min(99.99, 100 * part / whole):.2f}%"


def missed(score: Score) -> str:
    """Where a method went wrong or reached no verdict: operator by operator, the families in brackets with their numbers; "" for nowhere."""
    by: dict[str, Counter[str]] = {}
    for miss in score.misses:
        by.setdefault(miss.operator, Counter())[miss.family] += 1
    ranked = sorted(by.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return "; ".join(f"{operator} {sum(count.values())} ({', '.join(f'{family} {n}' for family, n in sorted(count.items()))})"
                     for operator, count in ranked)


def by_method(tally: Tally) -> list[tuple[str, Score]]:
    """Our own scores on the mutants and reformulations, in order."""
    return [(s.method, s) for s in _ordered(tally.scores) if s.method in OURS.values()]


def tables(tally: Tally) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, header, rows)"""
    out = [("Mutants and harmless reformulations of the families", HEADER, [cells(s) for s in _ordered(tally.scores)])]
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
        kept = {k: v for k, v in asdict(s).items() if k not in ("ms", "cpu", "misses")}
        times = {f"{name}_{what}": round(v, 3) for name, values in (("ms", s.ms), ("cpu_ms", s.cpu))
                 for what, v in zip(("median", "p95"), median_and_p95(values), strict=True)}
        return {**kept, **times, "misses": [asdict(m) for m in s.misses] if s.method not in BASELINES else []}

    return {"scores": [plain(s) for s in _ordered(tally.scores)],
            "outside": {source: [plain(s) for s in _ordered(book)] for source, book in tally.outside.items()},
            "truth": dict(tally.truth), "open": tally.open, "faults": tally.faults, "skipped": tally.skipped}


def readme_block(tally: Tally, names: Sequence[str], levels: Sequence[int], workers: int) -> str:
    """The marked block of README.md, markers included."""
    settled = sum(v for k, v in tally.truth.items() if k != "open")
    harmless = next((s.harmless for s in tally.scores.values() if s.method in BASELINES), 0)
    head = (f"orpipe {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, {workers} workers; {len(names)} families, "
            f"levels {', '.join(map(str, levels))}, {len(operators())} operators, {len(reformulations())} reformulations: {settled} mutants with a "
            f"proved truth ({tally.truth['open']} without are left out), {harmless - tally.truth[SAME]} reformulated models. Milliseconds up to "
            f"{SIZE} variables, by the clock and of processor time.")
    lines = [START, _in_words(tally), "", head, "", f"| {' | '.join(HEADER)} |", "|" + " --- |" * len(HEADER)]
    lines += [f"| {' | '.join(cells(s))} |" for s in _ordered(tally.scores)]
    for method, score in by_method(tally):
        if told_of := missed(score):
            lines += ["", f"Not decided or wrong, {method.removeprefix('orpipe, ')}: {told_of}."]
    for source, book in tally.outside.items():
        told = [f"{s.method}: {s.caught + s.accepted} of {s.different + s.harmless} right, {s.wrong} wrong" for s in _ordered(book)]
        lines += ["", f"{source[:1].upper() + source[1:]}: {'; '.join(told)}."]
    lines += ["", *(f"Skipped: {x}." for x in tally.skipped)] if tally.skipped else []
    return "\n".join([*lines, END])


def _in_words(tally: Tally) -> str:
    """The answer to the question that stands above the block, from its own figures."""
    def passed(name: str) -> str:
        s = tally.scores.get(name)
        return share(s.different - s.caught, s.different) if s is not None else "-"

    def caught(regime: str) -> str:
        s = tally.scores.get(OURS[regime])
        return share(s.caught, s.different) if s is not None else "-"

    return (f"Comparing the optimum lets {passed(_OPTIMUM)} of the proved mis-modellings pass on the data shown, rounding to 5% {passed(_ROUNDED)}. "
            f"Comparing models caught {caught('kept')} where names are kept, {caught('anonymous')} without names, {caught('re-draws')} without "
            "names but with other data.")


def with_block(text: str, block: str) -> str:
    """README text with its marked block replaced.  UsageError if there is not exactly one."""
    found = re.findall(rf"{re.escape(START)}.*?{re.escape(END)}", text, re.S)
    if len(found) != 1:
        raise UsageError(f"README.md holds {len(found)} blocks between '{START}' and '{END}'; put these two lines where the table belongs")
    return text.replace(found[0], block)
