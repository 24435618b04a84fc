"""Formulations in recorded model answers against the model that the answer's own program builds.

    python -m orpipe.testing.bench_algebra_outputs ../shared/outputs/*.jsonl

The program is run in the sandbox and its model captured; the text without the program is read as algebra.  The two were
written by the same hand, yet nothing that reads one sees the other: the program is an independent truth on the reading.
Where text and program do say different things (whole numbers in one, not in the other), NOT_EQUIVALENT is right.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from orpipe.algebra.answer import algebra_answer, holds_formulation
from orpipe.console import put, put_table, run
from orpipe.errors import DataError, ParseError, Unsupported
from orpipe.problem import Problem
from orpipe.verify.equivalence import compare
from orpipe.verify.extract import extract
from orpipe.verify.sandbox import Limits, Pool
from orpipe.verify.verdict import Verdict

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class Output:
    """prose: the answer without its program.  data: what the program's literal tables give, by the names of the prose.
    problem: the model that the program builds."""

    name: str
    prose: str
    data: Mapping[str, Any]
    problem: Problem


@dataclass(frozen=True)
class Weighed:
    """verdict: EQUIVALENT, NOT_EQUIVALENT or UNDECIDED; parsed: the prose was read; why: what was not, or the comparison."""

    output: Output
    verdict: str
    parsed: bool
    why: str


def outputs(path: Path) -> Iterator[Output]:
    """The answers of a JSONL that hold a formulation in words and a program whose model can be captured."""
    with Pool(limits=Limits(seconds=20.0)) as pool:
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            text = record["response"] if isinstance(record["response"], str) else ""
            code = extract(text).code
            prose = without_program(text)
            if not code or not holds_formulation(prose):
                continue
            captured = pool.run(code, {}).captured
            if captured is None:
                continue
            try:
                problem = captured.problem()
            except Unsupported:
                continue
            yield Output(f"{path.stem}/{record['index']}", prose, literals(code, prose), problem)


def without_program(text: str) -> str:
    """An answer up to its program: what was thought before it, its fences and its tags are left out."""
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.S)
    text = re.sub(r"(?s)<(python|code)>.*?(?:</\1>|\Z)", "", text)
    return re.split(r"(?m)^[ \t]*```[ \t]*(?:python|py)\b|^(?:import|from) \w+", text)[0]


def literals(code: str, prose: str) -> dict[str, Any]:
    """Numbers, lists and tables that a program assigns, under the names that the prose has for them (case and _ apart)."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                value = ast.literal_eval(node.value)
            except (ValueError, TypeError):
                continue
            if isinstance(value, (int, float, list, tuple, dict)) and not isinstance(value, bool) and value not in ([], {}, ()):
                found[node.targets[0].id.replace("_", "").lower()] = _table(value)
    out: dict[str, Any] = {}
    for name in dict.fromkeys(re.findall(r"[A-Za-z]\w*", prose.replace("\\_", "_"))):
        plain = name.replace("_", "").lower()
        if name.endswith("_"):
            continue
        if plain in found and found[plain] is not None and plain not in {k.replace("_", "").lower() for k in out}:
            out[name] = found[plain]
    return out


def _table(value: Any) -> Any:
    """{(a, b): 3} -> {a: {b: 3}}; None for what is no set, number or table."""
    if isinstance(value, dict):
        out: dict[str, Any] = {}
        for key, inner in value.items():
            keys = key if isinstance(key, tuple) else (key,)
            at = out
            for k in keys[:-1]:
                at = at.setdefault(str(k), {})
            at[str(keys[-1])] = _table(inner)
        return out
    if isinstance(value, (list, tuple)):
        return [list(v) if isinstance(v, tuple) else v for v in value]
    return value


def weighed(output: Output) -> Weighed:
    """Names are hints: what the prose calls x may be called x_1 in the program."""
    try:
        problem = algebra_answer(output.prose, output.data)
    except (Unsupported, ParseError, DataError) as error:
        return Weighed(output, "UNDECIDED", False, str(error))
    found = compare(output.problem, problem, names="hints", budget=5.0)
    verdict = "EQUIVALENT" if found.verdict is Verdict.EQUIVALENT else "NOT_EQUIVALENT" if found.decided else "UNDECIDED"
    return Weighed(output, verdict, True, found.sentence)


@app.command()
def bench(
    files: Annotated[list[Path], typer.Argument(help="JSONL with 'index' and 'response'.")],
    show: Annotated[bool, typer.Option(help="List what was not read, and what differs.")] = True,
) -> None:
    """Print how many formulations are read, and how many of them say what their own program builds."""
    table = []
    for path in files:
        results = [weighed(o) for o in outputs(path)]
        count = Counter(r.verdict for r in results if r.parsed)
        read = sum(r.parsed for r in results)
        table.append([path.stem, str(len(results)), str(read), *(str(count[v]) for v in ("EQUIVALENT", "NOT_EQUIVALENT", "UNDECIDED"))])
        if show:
            put("\n".join(f"{r.output.name}: {r.verdict if r.parsed else 'not read'}; {r.why}" for r in results if r.verdict != "EQUIVALENT"))
    put_table(["answers", "with a formulation", "read", "as their program", "not", "undecided"], table)


if __name__ == "__main__":
    raise SystemExit(run(app, "python -m orpipe.testing.bench_algebra_outputs"))
