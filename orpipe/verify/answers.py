"""Answers from files: JSONL, JSON, Parquet, Arrow, or a folder of them; one answer or several samples a problem.

`open_answers(path, ...)` looks at the first records, settles which field holds what (and says what it guessed), and then
reads in one pass with bounded memory.  Labels may come from another file or folder, joined by index, by the text of the
question or by position.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orpipe.errors import UsageError
from orpipe.verify import presets
from orpipe.verify.attached import shown_files
from orpipe.verify.own import Instances
from orpipe.verify.presets import Fields, Preset
from orpipe.verify.records import Records, open_records
from orpipe.verify.truth import SENTINELS, Truth

if TYPE_CHECKING:
    from orpipe.suites.suite import Suite

_FIRST = 50
_ROW = ("instance_id", "status", "objective_exact", "metadata", "task")  # by which a row of our dataset finds its instance


@dataclass(frozen=True)
class Answer:
    """One answer to one problem.  index, sample: its key in every report; position: its place in the input.

    label: as the file has it; data: file name -> text; reference: text of a reference model (LP or MPS), "" if none.
    instance: of an instance of ours its row of the config 'instances' and its scenario.  rule: "equivalence" or "optimum", "" for the
    judge's own.
    """

    index: int | str
    text: str | None
    label: Any = None
    sample: int = 0
    position: int = 0
    problem: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    benchmark: str = ""
    family: str = ""
    level: str = ""
    reference: str = ""
    instance: Mapping[str, Any] = field(default_factory=dict)
    rule: str = ""


@dataclass(frozen=True)
class Answers:
    """A file of answers, ready to be read (again and again).  said: what was guessed, one line each."""

    records: Records
    fields: Fields
    preset: Preset | None
    labels: Labels | None
    benchmark: str
    said: tuple[str, ...]
    instances: Instances | None = None
    algebra: bool = False  # rows of ours that ask for algebra are answers too

    @property
    def digest(self) -> str:
        """Of everything that decides which answers there are: files, fields, labels."""
        parts = [self.records.digest, repr(self.fields), self.preset.name if self.preset else "", self.benchmark]
        parts += [self.labels.digest] if self.labels else []
        parts += ["algebra"] if self.algebra else []
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def suites(self) -> Mapping[str, Suite]:
        """Hidden data by structure hash, where the dataset of the references has any."""
        import orpipe.suites

        read = getattr(orpipe.suites, "read_suites", None)
        return read(self.instances.folder) if read is not None and self.instances is not None else {}

    def __iter__(self) -> Iterator[Answer]:
        """Raises UsageError with the line for a record that cannot be read."""
        samples: Counter[int | str] = Counter()
        position = 0
        for number, record in enumerate(self.records):
            if self._without_program(record):
                continue
            about = self._about(number, record)
            for text in texts(record.get(self.fields.response)):
                index = about["index"]
                sample = samples[index]
                samples[index] += 1
                given = record.get(self.fields.sample) if self.fields.sample else None
                if isinstance(given, int) and not isinstance(given, bool) and given >= sample:
                    sample = given
                    samples[index] = given + 1
                yield Answer(text=text, sample=sample, position=position, **about)
                position += 1

    def _without_program(self, record: Mapping[str, Any]) -> bool:
        """A row of our own dataset that asks for algebra (unless that is judged) or for words."""
        ours = self.preset is not None and self.preset.name == "orpipe" and record.get("dialect") == ""
        return ours and not (self.algebra and record.get("task") == "formulate")

    def _about(self, number: int, record: Mapping[str, Any]) -> dict[str, Any]:
        f = self.fields
        about = about_problem(record, f, number, self.preset)
        if self.labels is not None:
            known = self.labels.find(record, about["index"] if f.index else None, number)
            about |= {k: v for k, v in known.items() if k != "index" and (k in ("label", "reference", "row") or not about[k])}
        about["benchmark"] = about["benchmark"] or self.benchmark
        about["problem"] = about["problem"] or ""
        about["data"] = about["data"] or shown_files(about["problem"])
        row = about.pop("row")
        instance = self.instances.behind(row) if self.instances is not None and row else {}
        if instance and not about["reference"]:
            about |= {"instance": instance, "reference": instance["mps"]}
        return about


def open_answers(
    path: Path, *, preset: str = "", given: Mapping[str, str] | None = None, labels: Path | None = None, benchmark: str = "",
    split: str = "", config: str = "", algebra: bool = False,
) -> Answers:
    """algebra: rows of our own dataset that ask for a formulation are kept.

    Raises UsageError or NotFound in one line: no such file, unreadable, a field that is not there."""
    chosen = presets.preset(preset) if preset else None
    records = open_records(path, split, config)
    first = records.first(_FIRST)
    if not first:
        if split or config:
            chosen_part = " and ".join(f"{kind} '{name}'" for kind, name in (("config", config), ("split", split)) if name)
            raise UsageError(f"{chosen_part} of '{path}' is empty; name another, or make a larger dataset")
        raise UsageError(f"'{path}' holds no records; name a file of answers")
    ours = presets.recognise(first)
    if chosen is None and ours is not None:
        chosen = ours
    given = dict(given or {})
    fields = presets.choose(first, given, chosen)
    said = [f"{name}: field '{key}'" for name, key in fields.named().items() if not given.get(name)]
    if not preset and chosen is not None:
        said.insert(0, f"layout: {chosen.name}")
    if chosen is not None and chosen.name == "orpipe":
        said.append("rows without a dialect ask for algebra or words, not for a program; "
                    + ("those that ask for algebra are judged by it, the others left out" if algebra else "they are left out"))
    joined = None
    if labels is not None:
        joined = Labels.read(labels, chosen, fields, first)
        said.append(f"labels: {len(joined.problems)} problems of '{labels}', joined by {joined.by}")
        fields = Fields(**{**fields.named(), "label": given.get("label", ""), "reference": given.get("reference", "")})
        said = [line for line in said if not line.startswith(("label:", "reference:"))]
    elif not fields.label and not fields.reference:
        said.append("label: no field found; every verdict will be UNDECIDED (name one with --label-field, or a file with --labels)")
    if not fields.data and fields.question and any(shown_files(_message(r.get(fields.question)) or "") for r in first):
        said.append(f"data: files shown in field '{fields.question}'")
    instances = Instances.of(labels if joined is not None else path)
    if instances is not None:
        said.append(f"references: {len(instances.places)} instances of '{instances.folder}'")
    return Answers(records, fields, chosen, joined, benchmark or (preset if chosen else ""), tuple(said), instances, algebra)


# --------------------------------------------------------------------------------------------------- parts of a record


def about_problem(record: Mapping[str, Any], f: Fields, number: int, chosen: Preset | None) -> dict[str, Any]:
    """What a record says about its problem, in Answer's terms."""
    index = record.get(f.index) if f.index else None
    sentinels = chosen.sentinels if chosen else SENTINELS
    label = _own_label(record) if chosen and chosen.name == "orpipe" else record.get(f.label) if f.label else None
    reference = record.get(f.reference) if f.reference else ""
    return {
        "index": index if isinstance(index, (int, str)) and not isinstance(index, bool) and index != "" else number,
        "label": label if sentinels == SENTINELS or isinstance(label, Truth) else Truth.of(label, sentinels),
        "problem": _message(record.get(f.question)) if f.question else "",
        "data": files(record.get(f.data)) if f.data else {},
        "benchmark": str(record.get(f.benchmark) or "") if f.benchmark else "",
        "family": str(record.get(f.family) or "") if f.family else "",
        "level": "" if not f.level or record.get(f.level) is None else str(record[f.level]),
        "reference": reference if isinstance(reference, str) else "",
        "row": {name: record.get(name) for name in _ROW} if record.get("instance_id") else {},
    }


def _own_label(record: Mapping[str, Any]) -> Truth:
    if record.get("status") in ("infeasible", "unbounded"):
        return Truth.status(str(record["status"]))
    sense = {"minimize": False, "min": False, "maximize": True, "max": True}.get(str(record.get("sense") or "").lower())
    found = Truth.of(record.get("objective_exact") or record.get("objective"))
    return Truth(tuple(type(v)(v.number) for v in found.values), found.statuses, found.understood, found.note, found.raw, sense)


def texts(value: Any) -> list[str | None]:
    """The samples in a response field: a text, a list of texts, a chat, a list of chats, records with a text in them."""
    if isinstance(value, str):
        chat = _parsed(value) if value[:2] in ("[{", "[[") else None
        return texts(chat) if isinstance(chat, list) and chat and _is_chat(chat) else [value]
    if isinstance(value, Mapping):
        return [_message(value)]
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        if _is_chat(value):
            return [_message(value)]
        return [_message(item) for item in value] or [None]
    return [None if value is None else str(value)]


def _is_chat(value: Sequence[Any]) -> bool:
    return bool(value) and all(isinstance(v, Mapping) and ("role" in v or "from" in v) for v in value)


def _message(value: Any) -> str | None:
    """The text of a message or of the last assistant message of a chat."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for key in ("content", "text", "response", "completion", "output", "generated_text", "message", "value", "code"):
            if value.get(key):
                return _message(value[key])
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence):
        if _is_chat(value):
            said = [v for v in value if v.get("role", v.get("from")) in ("assistant", "gpt", "model", "ai")]
            return _message(said[-1]) if said else None
        return "".join(part for v in value if (part := _message(v)))
    return str(value)


def files(value: Any) -> dict[str, str]:
    """Data files by name.  A record whose values are all texts and whose keys look like file names is that; any other
    record or list is the content of data.json, and so is a text."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        parsed = _parsed(value)
        if isinstance(parsed, Mapping) and parsed and _named_like_files(parsed):
            return {str(k): str(v) for k, v in parsed.items()}
        return {} if parsed in ({}, []) else {"data.json": value}
    if isinstance(value, Mapping) and _named_like_files(value):
        return {str(k): v for k, v in value.items() if v is not None}
    if isinstance(value, (Mapping, list, tuple)):
        return {"data.json": json.dumps(value, ensure_ascii=False)} if value else {}
    return {"data.json": json.dumps(value)}


def _named_like_files(value: Mapping[Any, Any]) -> bool:
    kept = {k: v for k, v in value.items() if v is not None}
    return bool(kept) and all(isinstance(k, str) and "." in k and isinstance(v, str) for k, v in kept.items())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# ------------------------------------------------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Labels:
    """Problems of a benchmark, for joining.  by: "index", "question" or "position"."""

    problems: Mapping[Any, Mapping[str, Any]]
    by: str
    question: str
    digest: str

    @classmethod
    def read(cls, path: Path, chosen: Preset | None, fields: Fields, first: Sequence[Mapping[str, Any]]) -> Labels:
        """The problems of a file or folder, keyed as the answers allow."""
        records = open_records(path, "", "")
        sample = records.first(_FIRST)
        theirs = presets.choose(sample, {}, presets.recognise(sample) or chosen, want=())
        if not theirs.label and not theirs.reference:
            raise UsageError(f"'{path}' has no field that is known to hold labels; its fields: {', '.join(sample[0] if sample else ())}")
        by = "position"
        if fields.question and theirs.question:
            by = "question"
        if fields.index:
            by = "index"
        problems: dict[Any, Mapping[str, Any]] = {}
        for number, record in enumerate(records):
            about = about_problem(record, theirs, number, presets.recognise([record]) or chosen)
            key = _key(about["problem"]) if by == "question" else str(about["index"]) if by == "index" else number
            problems.setdefault(key, about)
        if by == "index" and fields.question and theirs.question:
            asked = {_key(p["problem"]): p for p in problems.values()}
            if _told_by_question(first, fields, problems, asked):
                by, problems = "question", asked
        return cls(problems, by, fields.question, records.digest)

    def find(self, record: Mapping[str, Any], index: int | str | None, number: int) -> Mapping[str, Any]:
        if self.by == "question":
            return self.problems.get(_key(_message(record.get(self.question))), {})
        return self.problems.get(str(index) if self.by == "index" else number, {})


def _told_by_question(
    first: Sequence[Mapping[str, Any]], fields: Fields, by_index: Mapping[str, Mapping[str, Any]], by_question: Mapping[str, Mapping[str, Any]],
) -> bool:
    """Whether the index of the answers is none of the labels' file: no index is known there, or more of the questions stand elsewhere in it
    than under their index (the same problems in another order, say, where the index of a file without one is the line's number)."""
    found = [(by_index.get(str(record.get(fields.index))), _message(record.get(fields.question))) for record in first]
    if not any(there is not None for there, _ in found):
        return True
    asked = [(there, _key(text)) for there, text in found if text]
    return sum(key in by_question for _, key in asked) > sum(there is not None and _key(there["problem"]) == key for there, key in asked)


def _key(question: str | None) -> str:
    return hashlib.sha256(" ".join((question or "").split()).encode()).hexdigest()
