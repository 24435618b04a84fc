"""Completions as trainers and services pass them: columns of a batch, or records -> `Answer`s.

A record ("item") has the names below; a batch of columns becomes one record a row.  Labels and data are found under the
names that `orpipe verify` guesses, or under the ones given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orpipe.errors import UsageError
from orpipe.verify.answers import Answer, about_problem, files, texts
from orpipe.verify.attached import shown_files
from orpipe.verify.own import Instances
from orpipe.verify.presets import GUESSES, PRESETS, Fields
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth

Item = dict[str, Any]


@dataclass(frozen=True)
class Skipped:
    """A row that is not judged."""

    reason: str
    failure: Failure = Failure.NONE


_TEXT = ("text", "completion", "response")
KNOWN = frozenset({*GUESSES["label"], *GUESSES["data"], *GUESSES["reference"], "status", "sense", "dialect", "task", "instance_id", "metadata"})


def answer(item: Mapping[str, Any], index: int | str = 0, instances: Instances | None = None) -> Answer:
    """An answer from a record: "text" (a text or a chat), the label under any of the names known to `orpipe verify` or as
    in a row of our own dataset, "data" or "files" (or a "prompt" that shows them), "reference" (LP or MPS text).
    instances: where a row of our dataset finds its instance, which is then the reference.

    Raises UsageError if there is no text; names of more fields: index, sample, benchmark, family, level.
    """
    name = next((n for n in _TEXT if n in item), None)
    if name is None:
        raise UsageError("no 'text': give the completion as a text or as a chat")
    benchmark, family, level = (str(item.get(key) or "") for key in ("benchmark", "family", "level"))
    given, sample = item.get("index", index), item.get("sample", 0)
    instance = instances.behind(item) if instances is not None and _own(item) else {}
    reference = instance.get("mps") or _first(item, "reference")
    return Answer(
        given if isinstance(given, (int, str)) and not isinstance(given, bool) else index, said(item[name]), _label(item),
        sample if isinstance(sample, int) and not isinstance(sample, bool) else 0,
        data=files(_first(item, "data")) or shown_files(_question(item.get("prompt"))),
        reference=reference if isinstance(reference, str) else "", benchmark=benchmark, family=family, level=level,
        instance=instance)


def items(
    prompts: Any, completions: Sequence[Any], columns: Mapping[str, Any], label: str, data: str, algebra: bool = False,
) -> list[Item | Skipped]:
    """One record a completion; none where a row of our own dataset asks for no program (with `algebra`, for words), or cannot be read."""
    n = len(completions)
    wanted = KNOWN | {label, data}
    kept = {name: values for name, values in columns.items() if name in wanted and _is_column(values, n)}
    asked = prompts if _is_column(prompts, n) else [None] * n
    found: list[Item | Skipped] = []
    for k in range(n):
        row = {name: values[k] for name, values in kept.items()}
        if _own(row) and row.get("dialect") == "" and not (algebra and row.get("task") == "formulate"):
            found.append(Skipped("the row asks for no program"))
            continue
        try:
            found.append(_item(row, asked[k], completions[k], label, data))
        except Exception as error:
            found.append(unread(error))
    return found


def _item(row: Mapping[str, Any], prompt: Any, completion: Any, label: str, data: str) -> Item:
    item = dict(row)
    if label:
        item = {name: v for name, v in item.items() if name not in (*GUESSES["label"], "status")} | {"truth": row.get(label)}
    if data:
        item = {name: v for name, v in item.items() if name not in GUESSES["data"]} | {"data": row.get(data)}
    shown = {} if files(_first(item, "data")) else shown_files(_question(prompt))
    return item | {"text": said(completion)} | ({"data": shown} if shown else {})


def unread(error: Exception) -> Skipped:
    return Skipped(f"the row cannot be read ({type(error).__name__}: {error})", Failure.INTERNAL)


def _is_column(values: Any, n: int) -> bool:
    sequence = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    return sequence and not isinstance(values, (str, bytes, Mapping)) and len(values) == n


def said(completion: Any) -> str | None:
    """The text of a completion; of a chat its last assistant message.  A text is taken as it is, whatever it looks like."""
    if isinstance(completion, str):
        return completion
    found = texts(completion)
    return found[-1] if found else None


def _question(prompt: Any) -> str:
    """What the user said in a prompt."""
    if isinstance(prompt, str) or prompt is None:
        return prompt or ""
    if not isinstance(prompt, Sequence):
        return ""
    said = (m.get("content") for m in prompt if isinstance(m, Mapping) and m.get("role", "user") == "user")
    return "\n\n".join(text for content in said for text in texts(content) if text)


def told(value: Any) -> bool:
    return value is not None and not (isinstance(value, (str, Sequence, Mapping)) and not len(value)) and not (
        isinstance(value, float) and value != value)


def _first(row: Mapping[str, Any], what: str) -> Any:
    return next((row[name] for name in GUESSES[what] if told(row.get(name))), None)


def _own(row: Mapping[str, Any]) -> bool:
    """A row of `orpipe generate`: its label is exact, not rounded as printed."""
    return "objective_exact" in row and (told(row["objective_exact"]) or row.get("status") in ("infeasible", "unbounded"))


def _label(row: Mapping[str, Any]) -> Any:
    if _own(row):
        return about_problem(row, Fields(), 0, PRESETS["orpipe"])["label"]
    label = _first(row, "label")
    if isinstance(label, Truth):
        return label
    if isinstance(label, str) and label.lstrip()[:1] == "{":
        try:
            label = json.loads(label)
        except (ValueError, RecursionError):
            return label
    if isinstance(label, Mapping):
        return _label(label) if _own(label) else label
    status = row.get("status")
    return {"status": status, "objective": label} if isinstance(status, str) and status and label is not status else label


def verl_item(solution: Any, truth: Any, info: Any) -> Item:
    """verl's three: the ground truth is the label if there is one; `info` may hold everything else."""
    info = info if isinstance(info, Mapping) else {}
    kept = {name: value for name, value in info.items() if name in KNOWN}
    if told(truth):
        kept = {name: v for name, v in kept.items() if name not in GUESSES["label"] or name == "status"} | {"truth": truth}
    return kept | {"text": said(solution), "prompt": info.get("prompt", info.get("question"))}
