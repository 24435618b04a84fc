"""Checks of one example, preference pair or document: what its words must say, and what its programs must build."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from orpipe.build import gates
from orpipe.build.audit_instances import problem_of
from orpipe.build.audit_records import Check, Finding, Known, Undecided, close
from orpipe.solve import Label, label
from orpipe.verify.replay import Script, judge
from orpipe.verify.sandbox import Run

_FENCE = re.compile(r"```python\n(.*?)```", re.S)
_FILE = re.compile(r"\*\*([\w.]+)\*\*\n```(?:json|csv)\n(.*?)\n```", re.S)
_LIBRARIES = re.compile(r"^\s*(?:import|from)\s+(?:pyomo|pulp|ortools|highspy)\b", re.M)


@dataclass(frozen=True)
class Expected:
    """A program found in a text, and what it must do: build the matrix of `known`, or (a faulty one) report what is stated."""

    id: str
    code: str
    files: Mapping[str, str]
    known: Known
    faulty: bool = False
    status: str = ""
    objective: float | None = None


def whole_programs(text: str) -> list[str]:
    """Fenced blocks that import a solver library and print a result."""
    return [code for code in _FENCE.findall(text) if _LIBRARIES.search(code) and "optimal_value" in code]


def sft_checks(row: Mapping[str, Any], known: Known) -> Iterator[Check]:
    """What an example claims besides its programs."""
    label_columns = ("status", "objective", "objective_exact")
    wrong = [f"{c} is {row[c]}, its instance has {getattr(known, c)}" for c in label_columns if row[c] != getattr(known, c)]
    yield Check("label as instance", "; ".join(wrong) or None)
    roles = [m["role"] for m in row["messages"]]
    yield Check("messages", None if roles == ["user", "assistant"] * (len(roles) // 2) and roles else f"roles are {roles}")
    prompt = "\n".join(m["content"] for m in row["messages"] if m["role"] == "user")
    absent = [name for name, text in json.loads(row["files"]).items() if text.rstrip() not in prompt]
    yield Check("files shown", f"the prompt does not show {', '.join(absent)} as attached" if absent else None)
    if known.optimum is None:
        return
    if row["task"] in gates.PROMPTS_WITHOUT_ANSWER:
        yield Check("no answer in the prompt", gates.leak(prompt, known.optimum, gates.data_numbers(json.loads(known.row["data"]))))
    if row["task"] == "solve":
        found = gates.states(row["messages"][-1]["content"], known.optimum)
        yield Check("optimum stated", None if found else f"the answer does not say {known.objective_exact}")


def preference_checks(row: Mapping[str, Any], known: Known) -> Iterator[Check]:
    """The chosen answer is an example as any other; the rejected one must claim another outcome and be another text."""
    chosen, rejected = ([m["content"] for m in row[name]] for name in ("chosen", "rejected"))
    yield from sft_checks({**row, "task": "solve", "messages": [*row["prompt"], *row["chosen"]]}, known)
    value = row["rejected_objective_exact"]
    other = row["rejected_status"] != known.status or not close(None if value is None else float(Fraction(value)), known.objective)
    yield Check("rejected differs", None if other and chosen != rejected else "its outcome or its text is that of the chosen answer")
    yield Check("rejected messages", None if [m["role"] for m in row["rejected"]] == ["assistant"] else "rejected is not one assistant message")


def programs(config: str, row: Mapping[str, Any], known: Known) -> list[Expected]:
    if config == "cpt":
        files = {name: body + "\n" for name, body in _FILE.findall(row["text"])}
        return [Expected(row["id"], code, files, known) for code in whole_programs(row["text"])]
    files, meta = json.loads(row["files"]), json.loads(row["metadata"])
    if config == "preference":
        value = row["rejected_objective_exact"]
        wrong = (True, row["rejected_status"], None if value is None else float(Fraction(value)))
        return [Expected(row["id"], code, files, known, *end) for name, end in (("chosen", ()), ("rejected", wrong))
                for message in row[name] for code in whole_programs(message["content"])]
    value = meta.get("faulty_objective")
    found = []
    for message in row["messages"]:
        for code in whole_programs(message["content"]):
            if message["role"] == "assistant":
                found.append(Expected(row["id"], code, files, known))
            else:
                found.append(Expected(row["id"], code, files, known, True, meta.get("faulty_status", ""),
                                      None if value is None else float(Fraction(value))))
    return found


def present(row: Mapping[str, Any], found: list[Expected]) -> str | None:
    """A dialect is named exactly where the text holds a program in it."""
    right, wrong = [e for e in found if not e.faulty], [e for e in found if e.faulty]
    if bool(row["dialect"]) != bool(right):
        return f"dialect is '{row['dialect']}', and {len(right)} whole programs are found"
    asks = row.get("subtask") == "faulty-program" or "rejected_status" in row
    return None if bool(wrong) == asks else f"{len(wrong)} whole programs are found in the prompt"


def program_finding(run: Run, expected: Expected) -> Finding:
    if run.outcome == "sandbox":
        return Undecided(f"the sandbox failed: {run.message}")
    if not expected.faulty:
        problem = problem_of(expected.known)
        played = judge(Script(expected.code, problem, expected.known.objective, expected.known.status, expected.files), run)
        return None if played.passed else f"{played.stage}: {played.reason}"
    if run.captured is None:
        return f"program ended as {run.outcome}: {run.message or run.exception}"
    result = label(run.captured.problem())
    if not isinstance(result, Label):
        return Undecided(f"its model has no label ({result.reason}: {result.detail})")
    if result.status != expected.status or (expected.status == "optimal" and not close(result.objective, expected.objective)):
        return f"its model is {result.status} {result.objective}, the metadata say {expected.status} {expected.objective}"
    return None
