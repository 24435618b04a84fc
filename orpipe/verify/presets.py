"""Where an answer file keeps what: names of fields, guessed or given, and the layouts of public benchmarks.

A benchmark's own file has problems and labels; a file of answers is that file with a field more, or a file of its own that
`--labels` joins with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from orpipe.errors import NotFound, UsageError
from orpipe.verify.truth import SENTINELS


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of fields; "" where there is none."""

    response: str = ""
    question: str = ""
    label: str = ""
    data: str = ""
    index: str = ""
    sample: str = ""
    benchmark: str = ""
    family: str = ""
    level: str = ""
    reference: str = ""

    def named(self) -> dict[str, str]:
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name)}


@dataclass(frozen=True, slots=True)
class Preset:
    """A public layout: for each field the names it may have, first match wins; sentinels: numbers for "no optimum"."""

    name: str
    what: str
    names: Mapping[str, tuple[str, ...]]
    sentinels: tuple[float, ...] = SENTINELS


GUESSES: Mapping[str, tuple[str, ...]] = {
    "response": (
        "response", "responses", "completion", "completions", "output", "outputs", "generation", "generations", "model_output",
        "model_response", "generated_text", "generated_code", "prediction", "predictions", "pred", "samples", "candidate",
        "candidates", "code", "solution_code", "program", "messages", "conversations", "text",
    ),
    "question": (
        "question", "en_question", "problem", "prompt", "description", "problem_description", "problem_statement", "instruction",
        "input", "query", "nl", "story",
    ),
    "label": (
        "label", "en_answer", "answer", "truth", "ground_truth", "groundtruth", "gold", "gt", "target", "expected", "expected_output",
        "reference_answer", "optimal_value", "optimum", "objective_exact", "objective", "objective_value", "optimal_objective", "obj",
        "final_answer", "solution_value", "results", "status",
    ),
    "data": ("data", "files", "data_json", "data.json", "attachments", "parameters", "input_data"),
    "index": ("index", "id", "problem_id", "question_id", "task_id", "instance_id", "problem_index", "idx", "qid", "uid"),
    "sample": ("sample", "sample_id", "sample_index", "sample_idx", "completion_id", "completion_index", "attempt", "rollout", "trial"),
    "benchmark": ("benchmark", "dataset", "dataset_name", "data_source", "source"),
    "family": ("family", "problem_class", "problem_type", "type", "category", "class"),
    "level": ("level", "difficulty"),
    "reference": ("reference", "reference_lp", "lp", "reference_mps", "mps"),
}

_ORLM = ("en_math_model_coptpy_code", "q2mc_en_math_model_coptpy_code", "response", "completion", "output", "generation")


def _layout(name: str, what: str, *, sentinels: tuple[float, ...] = SENTINELS, **names: tuple[str, ...]) -> Preset:
    return Preset(name, what, {"response": _ORLM, **names}, sentinels)


PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in (
    _layout("nl4opt", "en_question, en_answer; «No Best Solution»", question=("en_question",), label=("en_answer",)),
    _layout("mamo", "en_question or Question, en_answer or Answer; -9999 and -99999 mean no optimum",
            question=("en_question", "Question"), label=("en_answer", "Answer"), sentinels=(-99999.0, -9999.0)),
    _layout("industryor", "en_question, en_answer, difficulty", question=("en_question",), label=("en_answer",), level=("difficulty",)),
    _layout("optmath", "en_question, en_answer (OptMATH-Bench)", question=("en_question", "question"), label=("en_answer", "answer")),
    _layout("optibench", "en_question, en_answer, or question, results, type", question=("en_question", "question"),
            label=("en_answer", "results", "answer"), family=("type",)),
    Preset("bench4opt", "a folder of N.txt (problem), N.json (data) and N.lp (reference model), for --labels",
           {"question": ("question", "problem"), "data": ("data",), "reference": ("reference", "lp"), "label": ("label",)}),
    Preset("orpipe", "a dataset of `orpipe generate`: messages, status, objective_exact, files", {
        "response": ("response", "completion", "output", "generation", "messages"), "question": ("question", "prompt"),
        "index": ("id",), "data": ("files",), "family": ("family",), "level": ("level",), "label": ("objective_exact",)}),
)}


def preset(name: str) -> Preset:
    """NotFound with "did you mean" for an unknown name."""
    key = re.sub(r"[-_ ]|bench$", "", name.lower())
    for known in PRESETS.values():
        if re.sub(r"[-_ ]|bench$", "", known.name) == key:
            return known
    raise NotFound.among("preset", name, PRESETS)


def recognise(records: Sequence[Mapping[str, Any]]) -> Preset | None:
    """Our own dataset by its columns; the other layouts look alike and need no more than the guesses."""
    keys = set().union(*(r.keys() for r in records)) if records else set()
    return PRESETS["orpipe"] if {"objective_exact", "messages", "status", "files"} <= keys else None


def choose(records: Sequence[Mapping[str, Any]], given: Mapping[str, str], chosen: Preset | None, *,
           want: Iterable[str] = ("response",)) -> Fields:
    """Names of fields for these first records: given, else the preset's, else guessed.

    UsageError for a given name that no record has, and where a field of `want` cannot be found.
    """
    keys = list(dict.fromkeys(key for record in records for key in record))
    by_lower = {key.lower(): key for key in reversed(keys)}
    found = Fields()
    for name in (f.name for f in fields(Fields)):
        if given.get(name):
            if given[name] not in keys:
                raise NotFound.among("field", given[name], keys)
            found = replace(found, **{name: given[name]})
            continue
        candidates = (*(chosen.names.get(name, ()) if chosen else ()), *GUESSES[name])
        taken = set(found.named().values()) | {v for v in given.values() if v}
        for candidate in candidates:
            key = candidate if candidate in keys else by_lower.get(candidate.lower())
            if key and key not in taken and any(_told(record.get(key)) for record in records):
                found = replace(found, **{name: key})
                break
    if not given.get("response"):
        found = _programs(found, records, keys, bool(given.get("label")))
    missing = [name for name in want if not getattr(found, name)]
    if missing:
        raise UsageError(f"no field of the file is known to hold the {missing[0]}; name it with --{missing[0]}-field, "
                         f"one of: {', '.join(keys) or 'none, the file is empty'}")
    return found


def _programs(found: Fields, records: Sequence[Mapping[str, Any]], keys: Sequence[str], label_given: bool) -> Fields:
    """A field that mostly holds programs is the response where none is named so, "answer" before others; it is never a
    label that was only guessed."""
    def programs(key: str) -> bool:
        values = [record[key] for record in records if _told(record.get(key))]
        return 2 * sum(isinstance(v, str) and ("import " in v or "```" in v) for v in values) > len(values)

    if found.label and not label_given and programs(found.label):
        others = [k for k in GUESSES["label"] if k in keys and k not in found.named().values() and not programs(k)]
        response = found.response or found.label
        return replace(found, response=response, label=next((k for k in others if any(_told(r.get(k)) for r in records)), ""))
    if found.response:
        return found
    able = [key for key in keys if key not in found.named().values() and programs(key)]
    return replace(found, response=("answer" if "answer" in able else able[0]) if able else "")


def _told(value: Any) -> bool:
    return value is not None and value != "" and value != [] and value != {}
