"""Judging a whole file into a verdict file, resumable, with memory that does not grow with the number of answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orpipe import __version__
from orpipe.verify.answers import Answer, Answers
from orpipe.verify.journal import Journal, read_rows
from orpipe.verify.judge import Judge
from orpipe.verify.report import Tally


def manifest(judge: Judge, answers: Answers, limit: int | None = None) -> dict[str, Any]:
    """What a verdict file is of: anything that may change a verdict.  Not the number of workers, not paths."""
    return {
        "what": "orpipe verdicts", "orpipe": __version__, "input": answers.digest, "fields": answers.fields.named(), "limit": limit,
        "policy": asdict(judge.policy), "limits": asdict(judge.limits), "solve_timeout": judge.solve_timeout,
        "isolation": judge.isolation, "judge": judge.rule, "budget": judge.budget, "probes": judge.probes,
        "redraw": judge.redraw, **({"algebra": True} if judge.algebra else {}),
    }


def judge_file(
    judge: Judge, answers: Answers, out: Path, *, overwrite: bool = False, limit: int | None = None,
    progress: Callable[[bool], None] | None = None, said: Callable[[str], None] | None = None,
) -> Tally:
    """Judge what has no row yet and append it to `out`; the tally is of all rows, old and new.

    Raises UsageError if `out` belongs to another input or to other settings, or for a record that cannot be read; rows
    written until then stay and count when it is run again.
    """
    with Journal(out, manifest(judge, answers, limit), overwrite) as journal:
        if journal.resumed and said is not None:
            said(f"'{out}' has {journal.resumed} rows already; going on behind them")
        rows = judge.judge_many(_left(answers, journal, limit), ordered=False)
        try:
            for row in rows:
                journal.append(row.position, row.line())
                if progress is not None:
                    progress(row.passed)
        finally:
            rows.close()  # type: ignore[attr-defined]
    tally = Tally()
    for record in read_rows(out):
        tally.add(record)
    return tally


def _left(answers: Answers, journal: Journal, limit: int | None) -> Iterator[Answer]:
    return (a for a in itertools.islice(answers, limit) if not journal.done(a.position))
