"""`orpipe compare`: are two models the same?"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from orpipe.console import put, put_json

if TYPE_CHECKING:
    from orpipe.verify.equivalence import Comparison

EPILOG = ("Examples: `orpipe compare reference.mps answer.lp` · `orpipe compare data/out:knapsack-L1-s0-00000 answer.py --data data.json`"
          " · `orpipe compare model.txt other.mps --data data.json --names ignored`")
UNDECIDED = 4
_SHOWN = 12


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The reference: .mps, .lp, .py, algebra (.txt, .md, .tex) or FOLDER:ID.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The other model.", show_default=False)],
    data: Annotated[Path | None, typer.Option(help="Data for programs (a JSON file, or a folder put beside them) and for algebra.")] = None,
    budget: Annotated[float, typer.Option(min=0.1, help="Seconds; what is reached by then is the verdict.")] = 10.0,
    names: Annotated[Literal["trusted", "hints", "ignored"], typer.Option(help="Do equal names of variables mean the same quantity?")] = "trusted",
    scale_free: Annotated[bool, typer.Option("--scale-free", help="B's objective may be a positive multiple of A's plus a constant.")] = False,
    probes: Annotated[bool, typer.Option("--probes", help="Accept what many probes could not tell apart, without a proof.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds (wall clock) that a program may run.")] = 20.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Decide whether two models are the same: the same decisions allowed, at the same objective.

    Prints the verdict, its evidence and one plain sentence. Exit 0 equivalent, 1 not (a program that does not run is not: its verdict reads
    ERROR, also in --json), 2 misuse, 4 undecided (also where only the optimum agrees). Seconds include running programs."""
    from orpipe.errors import Unsupported
    from orpipe.verify.equivalence import Comparison
    from orpipe.verify.equivalence import compare as judge
    from orpipe.verify.subjects import read
    from orpipe.verify.verdict import Verdict

    began = time.perf_counter()
    left, right = read(a, data, timeout), read(b, data, timeout)
    fault = next((f"{name}: {x.fault}" for name, x in ((a, left), (b, right)) if x.fault), "")
    if fault or left.problem is None or right.problem is None:
        found = Comparison(Verdict.ERROR, "", fault)
    else:
        guarded = not isinstance(left.problem, Unsupported) and not isinstance(right.problem, Unsupported)
        found = judge(left.problem, right.problem, budget=budget, names=names, scale_free=scale_free, accept_probes=probes, guarded=guarded)
    found = replace(found, seconds=time.perf_counter() - began)
    if as_json:
        put_json({"a": a, "b": b, **found.record()})
    else:
        put("\n".join(_told(found, a, b)))
    if found.verdict is Verdict.EQUIVALENT:
        return
    raise typer.Exit(1 if found.decided or found.verdict is Verdict.ERROR else UNDECIDED)


def _told(found: Comparison, a: str, b: str) -> list[str]:
    from orpipe.verify.equivalence.evidence import number

    sentence = found.sentence[:1].upper() + found.sentence[1:]
    lines = [f"{found.verdict}" + (f"  by {found.method}" if found.method else ""), f"{sentence}.", f"  A: {a}", f"  B: {b}"]
    if found.map:
        same = sum(str(m) == m.a for m in found.map)
        others = [str(m) for m in found.map if str(m) != m.a]
        lines.append(f"  variables matched: {len(found.map)}" + (f", {same} by name" if same else "")
                     + (": " + "; ".join(others[:_SHOWN]) + (" ..." if len(others) > _SHOWN else "") if others else ""))
    if found.witness is not None:
        point = ", ".join(f"{k} = {number(v)}" for k, v in found.witness.point.items() if v) or "all variables at 0"
        lines.append(f"  point of {found.witness.allowed_by.upper()}: {point}")
        lines += [f"  breaks in the other: {v.where} ({v.rule}) by {number(v.amount)}" for v in found.witness.broken[:_SHOWN]]
    if found.direction:
        lines.append("  direction: " + ", ".join(f"{v:g} {k}" for k, v in found.direction.items()))
    lines += [f"  {name}: {_plain(value)}" for name, value in found.evidence.items() if value not in ("", [], {})]
    lines.append(f"  seconds: {found.seconds:.3f}")
    return lines


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
