"""What verdicts add up to: pass@1 and pass@k with confidence intervals, by benchmark, family, level, library and failure.

pass@1 is the mean over problems of the share of right answers, pass@k the mean of the unbiased estimator
1 - C(n-c, k) / C(n, k) over the problems with n >= k samples.  Undecided answers count neither for nor against: they are
left out of n, and their number stands beside; `if_undecided_wrong` is pass@1 with all of them wrong.

Where answers were compared with a reference model, the same pass@k stands beside under the rule of the optimum alone, and with
nothing but what was proved equivalent.

Intervals are 95%: Wilson's where every problem has one decided answer and k = 1, else the percentile bootstrap over
problems (2000 re-draws, seeded).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orpipe.verify.verdict import Verdict

_Z = 1.959963984540054
_DRAWS = 2000
DIMENSIONS = ("benchmark", "family", "level", "library")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `problems` problems, with its 95% interval; method: "wilson", "bootstrap" or "none"."""

    value: float
    low: float
    high: float
    problems: int
    method: str

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}% [{100 * self.low:.1f}, {100 * self.high:.1f}]"

    def record(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "problems": self.problems, "interval": self.method}


@dataclass(slots=True)
class _Problem:
    """Counts of one problem: answers, decided, right, and right by each published rule."""

    answers: int = 0
    decided: int = 0
    right: int = 0
    by_optimum: int = 0
    optimum_decided: int = 0
    proved: int = 0
    rules: Counter[str] = field(default_factory=Counter)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of the chance that one of k samples is right, from c right ones among n >= k."""
    if n - c < k:
        return 1.0
    return 1.0 - math.prod((n - c - i) / (n - i) for i in range(k))


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = right / n, _Z * _Z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def bootstrap(values: Counter[float], seed: int) -> tuple[float, float]:
    """Percentile interval of the mean of values with multiplicities, over re-drawn problems."""
    n = sum(values.values())
    if n < 2:
        return 0.0, 1.0
    kinds, counts = np.array(list(values)), np.array(list(values.values()))
    draws = np.random.default_rng(np.random.SeedSequence([seed, n])).multinomial(n, counts / n, size=_DRAWS)
    low, high = np.percentile(draws @ kinds / n, [2.5, 97.5])
    return float(low), float(high)


def estimate(cases: Iterable[tuple[int, int]], k: int, seed: int = 0) -> Estimate | None:
    """pass@k over problems given as (decided answers, right ones); None if no problem has k decided answers."""
    values: Counter[float] = Counter()
    single, right = True, 0
    for n, c in sorted(cases):
        if n >= k:
            values[pass_at_k(n, c, k)] += 1
            single, right = single and n == 1, right + c
    problems = sum(values.values())
    if not problems:
        return None
    mean = sum(v * m for v, m in values.items()) / problems
    if single and k == 1:
        return Estimate(mean, *wilson(right, problems), problems, "wilson")
    return Estimate(mean, *bootstrap(values, seed), problems, "bootstrap")


@dataclass(frozen=True)
class Slice:
    """All answers, or those of one benchmark, family, level or library.  passes: pass@k by k; judges: the same by the
    optimum alone and by proofs of equivalence alone; rules: pass@1 under published rules.  tiers: answers by what their
    verdict rests on."""

    name: str
    answers: int
    problems: int
    undecided: int
    verdicts: Mapping[str, int]
    failures: Mapping[str, int]
    passes: Mapping[int, Estimate]
    if_undecided_wrong: float | None
    rules: Mapping[str, Estimate]
    judges: Mapping[str, Mapping[int, Estimate]] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)
    redraws: Mapping[str, int] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        return {
            "answers": self.answers, "problems": self.problems, "undecided": self.undecided, "verdicts": dict(self.verdicts),
            "failures": dict(self.failures), "pass": {str(k): e.record() for k, e in self.passes.items()},
            "pass_1_if_undecided_wrong": self.if_undecided_wrong, "published_rules": {k: e.record() for k, e in self.rules.items()},
            "judges": {name: {str(k): e.record() for k, e in found.items()} for name, found in self.judges.items()},
            "tiers": dict(self.tiers), "redraws": dict(self.redraws),
        }


class Tally:
    """Adds up verdict records (VerdictRow.record(), or lines read back), one at a time; holds counts only."""

    def __init__(self) -> None:
        self._slices: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
        self.isolation: Counter[str] = Counter()
        self.labels_unread: dict[str, str] = {}
        self.seconds = 0.0

    def add(self, row: Mapping[str, Any]) -> None:
        for dimension in ("", *DIMENSIONS):
            name = str(row.get(dimension) or "") if dimension else ""
            self._slices[dimension, name].add(row)
        if row.get("isolation"):
            self.isolation[str(row["isolation"])] += 1
        if row.get("failure") == "label not understood" and len(self.labels_unread) < 20:
            self.labels_unread.setdefault(str(row.get("label"))[:80], str(row.get("index")))
        self.seconds += float(row.get("seconds") or 0.0)

    def report(self, ks: Sequence[int] = (), seed: int = 0, settings: Mapping[str, Any] | None = None) -> Report:
        """ks: which pass@k besides pass@1; by default 5, 10, 50, 100 as far as the samples reach."""
        total = self._slices["", ""]
        most = max((p.decided for p in total.problems.values()), default=1)
        chosen = sorted({1, *(ks or (k for k in (5, 10, 50, 100) if k <= most))})
        by = {
            dimension: [s.slice(name or "(none)", chosen, seed) for (d, name), s in sorted(self._slices.items()) if d == dimension]
            for dimension in DIMENSIONS
        }
        # A breakdown into one unnamed part says nothing.
        by = {dimension: parts for dimension, parts in by.items() if [p.name for p in parts] not in ([], ["(none)"])}
        return Report(total.slice("all", chosen, seed), by, dict(self.isolation.most_common()), dict(settings or {}),
                      dict(self.labels_unread), self.seconds)


class _Sum:
    def __init__(self) -> None:
        self.problems: dict[tuple[str, str], _Problem] = defaultdict(_Problem)
        self.verdicts: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.tiers: Counter[str] = Counter()
        self.redraws: Counter[str] = Counter()
        self.compared = False

    def add(self, row: Mapping[str, Any]) -> None:
        verdict = Verdict(row["verdict"])
        problem = self.problems[str(row.get("benchmark") or ""), str(row["index"])]
        problem.answers += 1
        self.verdicts[verdict] += 1
        self._count_proofs(row, verdict, problem)
        failure = str(row.get("failure") or "")
        if failure:
            kind = row.get("exception")
            self.failures[f"{failure}: {kind}" if kind and failure.startswith("exception") else failure] += 1
        if verdict.decided:
            problem.decided += 1
            problem.right += verdict.passed
            problem.rules.update(rule for rule, passed in (row.get("rules") or {}).items() if passed)
            for rule in row.get("rules") or {}:
                problem.rules[rule] += 0

    def _count_proofs(self, row: Mapping[str, Any], verdict: Verdict, problem: _Problem) -> None:
        optimum = Verdict(row.get("optimum") or verdict)
        problem.optimum_decided += optimum.decided
        problem.by_optimum += optimum.passed
        problem.proved += verdict is Verdict.EQUIVALENT
        self.compared = self.compared or verdict in (Verdict.EQUIVALENT, Verdict.NOT_EQUIVALENT) or "compared" in (row.get("evidence") or {})
        if row.get("method"):
            self.tiers[f"{verdict}: {row['method']}"] += 1
        if row.get("redraw"):
            self.redraws[str(row["redraw"]).partition(":")[0].partition(" on ")[0]] += 1  # «failed on 2 of 3: KeyError»

    def slice(self, name: str, ks: Sequence[int], seed: int) -> Slice:
        problems = list(self.problems.values())
        answers, decided = (sum(getattr(p, what) for p in problems) for what in ("answers", "decided"))
        passes = {k: e for k in ks if (e := estimate(((p.decided, p.right) for p in problems), k, seed)) is not None}
        rules = sorted({rule for p in problems for rule in p.rules})
        found = {rule: estimate(((p.decided, p.rules[rule]) for p in problems), 1, seed) for rule in rules}
        pessimistic = [p.right / p.answers for p in problems]
        return Slice(
            name, answers, len(problems), answers - decided, {str(k): v for k, v in self.verdicts.most_common()},
            dict(self.failures.most_common()), passes, sum(pessimistic) / len(pessimistic) if pessimistic else None,
            {rule: e for rule, e in found.items() if e is not None}, self._judges(problems, ks, seed), dict(self.tiers.most_common()),
            dict(self.redraws.most_common()),
        )

    def _judges(self, problems: Sequence[_Problem], ks: Sequence[int], seed: int) -> dict[str, dict[int, Estimate]]:
        if not self.compared:
            return {}
        cases = {"the optimum alone": [(p.optimum_decided, p.by_optimum) for p in problems],
                 "equivalence": [(p.decided, p.right) for p in problems],
                 "proved equivalent only": [(p.decided, p.proved) for p in problems]}
        return {name: {k: e for k in ks if (e := estimate(some, k, seed)) is not None} for name, some in cases.items()}


@dataclass(frozen=True)
class Report:
    """Everything that is said about a verdict file; `record` for JSON, `markdown` for people, see also the command."""

    total: Slice
    by: Mapping[str, Sequence[Slice]]
    isolation: Mapping[str, int]
    settings: Mapping[str, Any]
    labels_unread: Mapping[str, str]
    seconds: float

    def record(self) -> dict[str, Any]:
        return {
            "settings": dict(self.settings), "isolation": dict(self.isolation), "seconds_of_work": round(self.seconds, 3),
            "labels_not_understood": dict(self.labels_unread), **self.total.record(),
            "by": {dimension: {part.name: part.record() for part in parts} for dimension, parts in self.by.items()},
        }

    def summary(self) -> list[tuple[str, str]]:
        """The headline, as pairs of words and figures."""
        t = self.total
        lines = [("answers", f"{t.answers}, to {t.problems} different problem{'s' * (t.problems != 1)}"), ("undecided", str(t.undecided))]
        lines += [(f"pass@{k}", f"{e} over {e.problems} problems ({e.method})") for k, e in t.passes.items()]
        if t.undecided and t.if_undecided_wrong is not None and t.passes:
            lines.append(("pass@1, undecided as wrong", f"{100 * t.if_undecided_wrong:.1f}%"))
        lines += [(f"pass@{k} by {name}", str(e)) for name, found in t.judges.items() for k, e in found.items()]
        lines += [(f"pass@1 by the rule {rule.replace('_', ' ')}", str(e)) for rule, e in t.rules.items()]
        lines += [(name, str(value)) for name, value in self.settings.items()]
        lines += [("isolation", ", ".join(f"{name} for {count} programs run" for name, count in self.isolation.items()) or "nothing was run")]
        return lines

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """(title, columns, rows) of every table but the headline."""
        t = self.total
        found = [("verdicts", ["verdict", "answers"], [[k, str(v)] for k, v in t.verdicts.items()])]
        if t.judges:
            found.append(("what verdicts rest on", ["verdict: by", "answers"], [[k, str(v)] for k, v in t.tiers.items()]))
        if t.redraws:
            found.append(("hidden data", ["outcome", "answers"], [[k, str(v)] for k, v in t.redraws.items()]))
        if t.failures:
            found.append(("failures", ["failure", "answers"], [[k, str(v)] for k, v in t.failures.items()]))
        ks = list(t.passes)
        for dimension, parts in self.by.items():
            columns = [dimension, "problems", "answers", "undecided", *(f"pass@{k}" for k in ks)]
            rows = [[p.name, str(p.problems), str(p.answers), str(p.undecided), *(str(p.passes.get(k, "")) for k in ks)] for p in parts]
            found.append((f"by {dimension}", columns, rows))
        if self.labels_unread:
            found.append(("labels not understood", ["label", "index"], [list(x) for x in self.labels_unread.items()]))
        return found

    def markdown(self) -> str:
        lines = ["# Verdicts", ""]
        lines += ["| | |", "|---|---|", *(f"| {a} | {_cell(b)} |" for a, b in self.summary()), ""]
        for title, columns, rows in self.tables():
            lines += [f"## {title[0].upper()}{title[1:]}", "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
            lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
            lines.append("")
        return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
