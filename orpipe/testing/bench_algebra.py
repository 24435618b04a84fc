"""How much of model-written algebra is read, and is the verdict right?  A corpus of answers, and a dataset's own answers.

    python -m orpipe.testing.bench_algebra                      the corpus
    python -m orpipe.testing.bench_algebra --dataset data/out   the formulate answers of a dataset, by family

A corpus file names a reference ("reference: family NAME", or "reference: lp" with its text) before the answers for it, each
headed "=== name | verdict".  A line "first pass: N of M read" before them says what the reader made of the file's answers
before it had been changed for any of them: the figure to compare with the share of today.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from orpipe.algebra.answer import algebra_answer
from orpipe.console import put, put_table, run
from orpipe.errors import ParseError, Unsupported
from orpipe.instances import draw
from orpipe.lp import read_lp
from orpipe.problem import Problem
from orpipe.verify.equivalence import compare
from orpipe.verify.verdict import Verdict

CORPUS = Path(__file__).parents[2] / "tests" / "verify" / "corpus_algebra"
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class Entry:
    """An answer, the reference it is for, and the verdict it deserves: EQUIVALENT, NOT_EQUIVALENT or UNDECIDED."""

    name: str
    text: str
    expected: str
    reference: Problem
    data: Mapping[str, Any] | None
    first: str = ""

    @property
    def batch(self) -> str:
        """The file it stands in."""
        return self.name.partition("/")[0]


@dataclass(frozen=True)
class Judged:
    """parsed: a model was read.  why: what was not understood, or the comparison's sentence."""

    entry: Entry
    verdict: str
    parsed: bool
    why: str

    @property
    def wrong(self) -> bool:
        """Another verdict than the true one; UNDECIDED is never wrong, but an answer that must be refused may not be judged."""
        return self.verdict not in (self.entry.expected, "UNDECIDED")


def corpus(folder: Path = CORPUS) -> Iterator[Entry]:
    for path in sorted(folder.glob("*.md")):
        told, *parts = re.split(r"(?m)^reference: ", path.read_text(encoding="utf-8"))
        first = re.search(r"first pass: (\d+ of \d+) read", told)
        for part in parts:
            head, *answers = re.split(r"(?m)^=== ", part)
            kind, _, rest = head.partition("\n")
            if kind.startswith("family "):
                instance = draw(kind.removeprefix("family ").strip(), 1, 0, 0)
                reference, data = instance.problem, instance.data
            else:
                reference, data = read_lp(rest), None
            for answer in answers:
                title, _, text = answer.partition("\n")
                name, expected = (t.strip() for t in title.split("|"))
                yield Entry(f"{path.stem}/{name}", text, expected, reference, data, first[1] if first else "")


def judged(entry: Entry) -> Judged:
    try:
        problem = algebra_answer(entry.text, entry.data)
    except (Unsupported, ParseError) as error:
        return Judged(entry, "UNDECIDED", False, str(error))
    found = compare(entry.reference, problem, names="hints", budget=5.0)
    verdict = str(found.verdict) if found.verdict in (Verdict.EQUIVALENT, Verdict.UNDECIDED) else "NOT_EQUIVALENT" if found.decided else "UNDECIDED"
    return Judged(entry, verdict, True, found.sentence)


def own_answers(folder: Path) -> Iterator[tuple[str, Entry]]:
    """The formulate answers of a dataset: «family, subtask» and the answer against its instance."""
    import pyarrow.parquet as pq

    from orpipe.mps import read_mps
    from orpipe.verify.subjects import with_auxiliaries

    rows = {r["id"]: r for path in sorted((folder / "instances").glob("*.parquet")) for r in pq.read_table(path).to_pylist()}
    for path in sorted((folder / "sft").glob("*.parquet")):
        for r in pq.read_table(path).to_pylist():
            if r["task"] == "formulate":
                instance = rows[r["instance_id"]]
                reference = with_auxiliaries(read_mps(instance["mps"]), instance)
                yield (
                    f"{instance['family']}, {r['subtask']}",
                    Entry(r["instance_id"], r["messages"][-1]["content"], "EQUIVALENT", reference, json.loads(instance["data"])),
                )


@app.command()
def bench(
    dataset: Annotated[Path | None, typer.Option(help="A folder of 'orpipe generate': its own formulate answers.")] = None,
    folder: Annotated[Path, typer.Option(help="The corpus.")] = CORPUS,
) -> None:
    """Print the share that is read and the verdicts; exit 1 if one is wrong."""
    if dataset is not None:
        total, right, misses = Counter[str](), Counter[str](), []
        for key, entry in own_answers(dataset):
            found = judged(entry)
            total[key] += 1
            right[key] += found.verdict == "EQUIVALENT"
            if found.verdict != "EQUIVALENT":
                misses.append(f"{entry.name} ({key}): {found.verdict}, {found.why}")
        put_table(["answers", "equivalent", "of"], [[k, str(right[k]), str(total[k])] for k in sorted(total)])
        put("\n".join([f"{sum(right.values())} of {sum(total.values())} equivalent", *misses]))
        raise typer.Exit(int(bool(misses)))
    results = [judged(e) for e in corpus(folder)]
    table = []
    for expected in ("EQUIVALENT", "NOT_EQUIVALENT", "UNDECIDED"):
        part = [r for r in results if r.entry.expected == expected]
        table.append(
            [
                expected,
                str(len(part)),
                str(sum(r.parsed for r in part)),
                str(sum(r.verdict == expected for r in part)),
                str(sum(r.wrong for r in part)),
            ]
        )
    put_table(["deserved", "answers", "read", "given", "wrong"], table)
    put_table(["batch", "answers", "full", "read of these", "wrong", "first pass"], batches(results))
    put("\n".join(f"{r.entry.name}: {r.verdict} for {r.entry.expected}; {r.why}" for r in results if r.verdict != r.entry.expected))
    put(shares(results))
    raise typer.Exit(int(any(r.wrong for r in results)))


def batches(results: list[Judged]) -> list[list[str]]:
    """By file: answers, those that state a linear model in full, how many of them are read, wrong verdicts, the first pass."""
    table = []
    for batch in dict.fromkeys(r.entry.batch for r in results):
        part = [r for r in results if r.entry.batch == batch]
        due = [r for r in part if r.entry.expected != "UNDECIDED"]
        table.append([batch, str(len(part)), str(len(due)), str(sum(r.parsed for r in due)), str(sum(r.wrong for r in part)), part[0].entry.first])
    return table


def shares(results: list[Judged]) -> str:
    """«70 of 73 ...»: of the answers that can be read, how many are."""
    due = [r for r in results if r.entry.expected != "UNDECIDED"]
    return (
        f"read: {sum(r.parsed for r in due)} of {len(due)} answers that state a linear model in full ({len(results)} in all); "
        f"wrong verdicts: {sum(r.wrong for r in results)}"
    )


if __name__ == "__main__":
    raise SystemExit(run(app, "python -m orpipe.testing.bench_algebra"))
