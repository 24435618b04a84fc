"""Random LPs and small MILPs, half of them nasty: what each solver says, where they disagree, and whether labels are true.

    python -m orpipe.testing.bench_solvers                       2,000 of each (about five minutes)
    python -m orpipe.testing.bench_solvers --n 100 --json
    python -m orpipe.testing.bench_solvers --update-docs         and the table of docs/solvers.md replaced

A label is wrong if the exact prover finds a better point (or a feasible one where it says infeasible); a solver is wrong if it
contradicts a certified label.  Problem k of a seed is the same on every machine; the time limits are not.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from orpipe import console
from orpipe.errors import EnvironmentError_, UsageError
from orpipe.instances import stream
from orpipe.mps import write_mps
from orpipe.problem import Problem
from orpipe.proof import Certificate, Refuted, prove
from orpipe.solve import Label, Outcome, Result, agree, label, settle, solver
from orpipe.testing.command import checkout
from orpipe.testing.solver_suite import Number, model

SEED = 4
SECONDS = 5.0  # of each solver
NASTY = ("degenerate", "wide", "equalities", "free", "infeasible", "unbounded")
# Every k-th problem only: PDLP takes long to its tolerance, CBC is a process a solve.
EVERY: Mapping[str, int] = {"highs": 1, "highs_ipm": 1, "glop": 1, "scip": 1, "cpsat": 1, "pdlp": 7, "pulp:CBC": 7}
START, END = "<!-- corpus: rewritten by `python -m orpipe.testing.bench_solvers --update-docs` -->", "<!-- /corpus -->"

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def problem(seed: int, k: int, integers: bool) -> Problem:
    """Problem k of a seed: plain for even k, else nasty in one or two ways in turn.  Data are decimals of few digits."""
    rng = stream(seed, "corpus", "milp" if integers else "lp", k)
    ways = {NASTY[k // 2 % 6]} | ({NASTY[int(rng.integers(6))]} if rng.random() < 0.3 else set()) if k % 2 else set()
    n, m = int(rng.integers(3, 11 if integers else 21)), int(rng.integers(2, 8 if integers else 16))

    def number(low: int, high: int) -> Fraction:
        value = Fraction(int(rng.integers(low, high + 1)), int(rng.choice([1, 1, 10])))
        return value * Fraction(10) ** int(rng.integers(-3, 5)) if "wide" in ways else value

    inside = [Fraction(int(v)) for v in rng.integers(0, 6, n)]  # feasible unless made otherwise
    rows: list[tuple[Number, Mapping[int, Number], Number]] = []
    for _ in range(m):
        chosen = rng.choice(n, int(rng.integers(1, min(n, 6) + 1)), replace=False).tolist()
        row: dict[int, Number] = {j: number(1, 20) * (-1 if rng.random() < 0.25 else 1) for j in chosen}
        at = sum((Fraction(v or 0) * inside[j] for j, v in row.items()), start=Fraction(0))
        room = Fraction(0) if "degenerate" in ways and rng.random() < 0.7 else abs(number(0, 30))
        kind = rng.random()
        if ("equalities" in ways and kind < 0.6) or kind < 0.1:
            rows.append((at, row, at))
        elif kind < 0.45:
            rows.append((at - room, row, None))
        elif kind < 0.9:
            rows.append((None, row, at + room))
        else:
            rows.append((at - room, row, at + room + 1))
    if "degenerate" in ways:
        rows += [rows[int(i)] for i in rng.integers(0, m, 2)]
    bounds: list[tuple[Number, Number]] = [(0, int(rng.integers(5, 15))) for _ in range(n)]
    if ways & {"free", "unbounded"}:
        bounds = [(None, None) if rng.random() < 0.5 else (0, None) if rng.random() < 0.5 else b for b in bounds]
    cost: list[Number] = [number(1, 25) * (-1 if rng.random() < 0.4 else 1) for _ in range(n)]
    flags = [bool(v) for v in rng.random(n) < 0.7] if integers else [False] * n
    if "infeasible" in ways:
        low, old, high = rows[int(rng.integers(len(rows)))]
        side, gap = (low if low is not None else high), abs(number(1, 5)) / (2 if integers else 1)
        rows.append((None, old, Fraction(side or 0) - gap) if low is not None else (Fraction(side or 0) + gap, old, None))
    if "unbounded" in ways:  # a column that only helps, wherever its rows let it
        cost[0], bounds[0] = -abs(Fraction(cost[0] or 1)), (0, None)
        rows = [(low, {**row, 0: -abs(Fraction(row[0] or 1))} if 0 in row and low is None else row, high) for low, row, high in rows]
    if integers and not any(flags):
        flags[0] = True
    return model(cost, rows, bounds, integer=flags, maximize=bool(rng.random() < 0.5), offset=number(0, 9),
                 name=f"{'milp' if integers else 'lp'}_{seed}_{k}")


@dataclass(frozen=True)
class Trial:
    """claims: "outcome" by solver, of those asked; label: status or the refusal's reason; proof: certificate, refuted or unproved."""

    name: str
    label: str
    proof: str
    claims: Mapping[str, str]
    wrong: Sequence[str]
    disagreement: bool
    proof_ms: float
    detail: str


def contradict(a: Result, b: Result) -> bool:
    """Two claims of proofs that cannot both be true."""
    if not (a.outcome.proof and b.outcome.proof):
        return False
    if a.outcome is not b.outcome:
        return True
    return a.outcome is Outcome.OPTIMAL and a.objective is not None and b.objective is not None and not agree(a.objective, b.objective)


def trial(p: Problem, names: Iterable[str]) -> Trial:
    results: dict[str, Result] = {}
    for name in names:
        adapter = solver(name)
        if adapter.accepts(p) is None:
            results[name] = settle(adapter, p, SECONDS)
    found = label(p, SECONDS)
    proof, took = "none", 0.0
    wrong: list[str] = []
    if isinstance(found, Label):
        began = time.perf_counter()
        proved = prove(p, found, 1.0)
        took = (time.perf_counter() - began) * 1000
        proof = "certificate" if isinstance(proved, Certificate) else "refuted" if isinstance(proved, Refuted) else "unproved"
        if proof == "certificate":
            wrong = [name for name, r in results.items() if r.outcome.proof and (
                r.outcome != found.status or (found.objective is not None and r.objective is not None and not agree(r.objective, found.objective)))]
    witnesses = [r for r in results.values() if solver(r.solver).witness]
    apart = any(contradict(a, b) for i, a in enumerate(witnesses) for b in witnesses[:i])
    return Trial(p.name, found.status if isinstance(found, Label) else found.reason, proof, {n: str(r.outcome) for n, r in results.items()}, wrong,
                 apart, took, "; ".join(map(str, results.values())) if apart or proof == "refuted" or not isinstance(found, Label) else "")


@dataclass(frozen=True)
class Summary:
    """Of one kind.  outcomes and wrong are by solver; certified is a share of the labels; times in milliseconds."""

    kind: str
    problems: int
    labels: Mapping[str, int]
    refused: Mapping[str, int]
    certified: float
    wrong_labels: int
    disagreements: int
    proof_ms_median: float
    proof_ms_p90: float
    outcomes: Mapping[str, Mapping[str, int]]
    wrong: Mapping[str, int]
    odd: Sequence[str]


def summary(kind: str, trials: Sequence[Trial]) -> Summary:
    labelled = [t for t in trials if t.proof != "none"]
    times = sorted(t.proof_ms for t in labelled) or [0.0]
    names = [n for n in EVERY if any(n in t.claims for t in trials)]
    return Summary(
        kind, len(trials), dict(Counter(t.label for t in labelled)), dict(Counter(t.label for t in trials if t.proof == "none")),
        sum(t.proof == "certificate" for t in labelled) / max(1, len(labelled)), sum(t.proof == "refuted" for t in labelled),
        sum(t.disagreement for t in trials), median(times), times[math.ceil(0.9 * len(times)) - 1],
        {n: dict(Counter(t.claims[n] for t in trials if n in t.claims)) for n in names}, {n: sum(n in t.wrong for t in trials) for n in names},
        [f"{t.name}: {t.label}, {t.proof}: {t.detail}" for t in trials if t.detail],
    )


def measured(n: int, seed: int = SEED, keep: Path | None = None) -> list[Summary]:
    """Both kinds.  keep: a folder for the MPS of every problem that is odd."""
    there = {}
    for name, every in EVERY.items():
        try:
            solver(name)
            there[name] = every
        except EnvironmentError_ as error:
            console.say(f"left out: {error}")
    found = []
    with console.bars({"LP": n, "MILP": n}) as advance:
        for kind, integers in (("LP", False), ("MILP", True)):
            trials = []
            for k in range(n):
                p = problem(seed, k, integers)
                # By halves of k, so that plain and nasty problems are both met.
                trials.append(trial(p, [name for name, every in there.items() if k // 2 % every == 0]))
                if keep is not None and trials[-1].detail:
                    (keep / f"{p.name}.mps").write_text(write_mps(p), encoding="utf-8")
                advance(kind, 1)
            found.append(summary(kind, trials))
    return found


def tables(found: Sequence[Summary]) -> list[tuple[str, list[str], list[list[Any]]]]:
    kinds = [f"{s.problems} {s.kind}s" for s in found]
    def counts(c: Mapping[str, int]) -> str:
        return ", ".join(f"{v} {k}" for k, v in sorted(c.items(), key=lambda item: -item[1])) or "0"

    rows = [
        ["labels", *(counts(s.labels) for s in found)],
        ["no label", *(counts(s.refused) for s in found)],
        ["labels with an exact certificate", *(f"{s.certified:.2%}" for s in found)],
        ["labels that the exact proof refutes", *(str(s.wrong_labels) for s in found)],
        ["problems on which two witnesses disagree", *(str(s.disagreements) for s in found)],
        ["a certificate, median / p90", *(f"{s.proof_ms_median:.1f} / {s.proof_ms_p90:.1f} ms" for s in found)],
    ]
    by_solver = [[name, s.kind, sum(c.values()), counts(c), s.wrong[name]] for s in found for name, c in s.outcomes.items()]
    return [("Labels", ["what", *kinds], rows), ("Solvers", ["solver", "kind", "asked", "outcomes", "wrong against a certificate"], by_solver)]


def block(found: Sequence[Summary], seed: int) -> str:
    """The marked block of docs/solvers.md, markers included."""
    lines = [START, f"Seed {seed}; half of the problems plain, half nasty ({', '.join(NASTY)}); {SECONDS:g} s a solver, 1 s a certificate.", ""]
    for _, head, rows in tables(found):
        lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]
    return "\n".join([*lines[:-1], END])


def with_block(text: str, new: str) -> str:
    """UsageError if the text has not exactly one marked block."""
    old = re.findall(rf"{re.escape(START)}.*?{re.escape(END)}", text, re.S)
    if len(old) != 1:
        raise UsageError(f"docs/solvers.md holds {len(old)} blocks between '{START}' and '{END}'; put these two lines where the table belongs")
    return text.replace(old[0], new)


@app.command(epilog="Examples: `python -m orpipe.testing.bench_solvers --n 100` · `python -m orpipe.testing.bench_solvers --update-docs`")
def bench(
    n: Annotated[int, typer.Option("--n", min=1, help="Problems of each kind.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the corpus.")] = SEED,
    keep: Annotated[Path | None, typer.Option("--keep", help="Folder for the MPS files of problems without label or with a disagreement.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    update_docs: Annotated[bool, typer.Option("--update-docs", help="Replace the table of docs/solvers.md.")] = False,
) -> None:
    """Hold solvers and labels against exact proofs on a random corpus; exit 1 if a label is wrong."""
    page = checkout("docs") / "solvers.md" if update_docs else None
    if page is not None:
        with_block(page.read_text(encoding="utf-8"), "")  # before minutes are spent
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    found = measured(n, seed, keep)
    if page is not None:
        page.write_text(with_block(page.read_text(encoding="utf-8"), block(found, seed)), encoding="utf-8")
    if as_json:
        console.put_json([asdict(s) for s in found])
    else:
        for title, head, rows in tables(found):
            console.put_table(head, rows, title)
        for line in [line for s in found for line in s.odd]:
            console.say(line)
    if any(s.wrong_labels for s in found):
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(console.run(app, "orpipe.testing.bench_solvers"))
