"""Rewards for training: what a completion is worth, read off the judge's verdict.

TRL     GRPOTrainer(..., reward_funcs=optimum_reward(workers=8))      or `reward`, the same with the defaults
verl    custom_reward_function.path=pkg://orpipe.rewards, .name=compute_score; `compute_scores` for the batch manager

    verdict                            reward
    EQUIVALENT, SAME_OPTIMUM           1
    WRONG_OPTIMUM, NOT_EQUIVALENT      0, with shaping s: s
    ERROR                              0, with shaping s: s / 2 if there was a program of Python and it did nothing forbidden
    UNDECIDED                          `undecided`: None for TRL (the completion is left out of the update), 0.0 for verl

Wrong settings raise when a reward is made.  Judging never raises: what goes wrong on our side is UNDECIDED and logged once
a kind.  A reward may be called from any thread, from forked and spawned processes, and be pickled.  Judges, and the
processes they keep, are shared by all rewards of a process with the same settings.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from orpipe.errors import NotFound, UsageError
from orpipe.verify.answers import Answer, about_problem, files, texts
from orpipe.verify.attached import shown_files
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.presets import GUESSES, PRESETS, Fields
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Verdict

__all__ = ["REWARDS", "JudgeSettings", "OptimumReward", "Worth", "close", "compute_score", "compute_score_dict", "compute_scores",
           "optimum_reward", "reward", "worth"]

log = logging.getLogger(__name__)

JUDGES = ("optimum",)
REWARDS: Mapping[Verdict, float] = {
    Verdict.EQUIVALENT: 1.0, Verdict.SAME_OPTIMUM: 1.0, Verdict.WRONG_OPTIMUM: 0.0, Verdict.NOT_EQUIVALENT: 0.0, Verdict.ERROR: 0.0,
}
_BUILT = (Verdict.WRONG_OPTIMUM, Verdict.NOT_EQUIVALENT)
_NO_EFFORT = (Failure.NO_CODE, Failure.SYNTAX, Failure.FORBIDDEN)

Item = dict[str, Any]  # one completion as rewards and `orpipe serve` take it; see `answer`


@dataclass(frozen=True)
class Worth:
    """What one completion got, and why.  reward None: it is to be left out."""

    reward: float | None
    verdict: str
    failure: str = ""
    reason: str = ""


def worth(verdict: Verdict, failure: Failure = Failure.NONE, *, undecided: float | None = None, shaping: float = 0.0) -> float | None:
    """The table above."""
    if verdict is Verdict.UNDECIDED:
        return undecided
    if verdict in _BUILT:
        return shaping
    if verdict is Verdict.ERROR and failure not in _NO_EFFORT:
        return shaping / 2
    return REWARDS[verdict]


def check_table(judge: str, undecided: float | None, shaping: float) -> None:
    """NotFound or UsageError for what `worth` cannot use."""
    if judge not in JUDGES:
        raise NotFound.among("judge", judge, JUDGES)
    if not 0 <= shaping < 1:
        raise UsageError(f"shaping is what a wrong model is worth, at least 0 and less than 1, not {shaping:g}; try 0.1")
    if undecided is not None and not -1e9 <= undecided <= 1e9:
        raise UsageError(f"the reward of UNDECIDED is a number or None, not {undecided}")


# -------------------------------------------------------------------------------------------------------------- judges


@dataclass(frozen=True)
class JudgeSettings:
    """As of `Judge`."""

    workers: int = 0
    timeout: float = 20.0
    tolerance: float = 1e-6
    strict: bool = False
    isolation: Literal["best", "full"] = "best"

    def judge(self) -> Judge:
        return Judge(self.workers or os.cpu_count() or 1, timeout=self.timeout, tolerance=self.tolerance, strict=self.strict,
                     isolation=self.isolation)


_lock = threading.Lock()
_judges: dict[JudgeSettings, Judge] = {}
_inherited: set[JudgeSettings] = set()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _inherited.update(_judges)


os.register_at_fork(after_in_child=_after_fork)


def _judge(settings: JudgeSettings) -> Judge:
    with _lock:
        found = _judges.get(settings)
        if found is None:
            found = _judges[settings] = settings.judge()
        return found


def _rows(settings: JudgeSettings, answers: Sequence[Answer]) -> list[VerdictRow]:
    judge = _judge(settings)
    found: list[VerdictRow] = []
    if settings in _inherited:
        with _lock:  # in a forked process the helpers start anew: one answer alone, before threads meet in the judge
            if settings in _inherited and answers:
                found.append(judge.judge_answer(answers[0]))
                _inherited.discard(settings)
    return found + list(judge.judge_many(answers[len(found):]))


def close() -> None:
    """End the helper processes of this process's rewards; they start again when a reward is called."""
    with _lock:
        judges = list(_judges.values())
    for judge in judges:
        judge.close()


# -------------------------------------------------------------------------------------------- columns -> items -> answers

_TEXT = ("text", "completion", "response")
_KNOWN = frozenset({*GUESSES["label"], *GUESSES["data"], *GUESSES["reference"], "status", "sense", "dialect"})


def answer(item: Mapping[str, Any], index: int | str = 0) -> Answer:
    """An answer from a record: "text" (a text or a chat), the label under any of the names known to `orpipe verify` or as
    in a row of our own dataset, "data" or "files" (or a "prompt" that shows them), "reference" (LP or MPS text).

    Raises UsageError if there is no text; names of more fields: index, sample, benchmark, family, level.
    """
    name = next((n for n in _TEXT if n in item), None)
    if name is None:
        raise UsageError("no 'text': give the completion as a text or as a chat")
    benchmark, family, level = (str(item.get(key) or "") for key in ("benchmark", "family", "level"))
    given, sample = item.get("index", index), item.get("sample", 0)
    reference = _first(item, "reference")
    return Answer(
        given if isinstance(given, (int, str)) and not isinstance(given, bool) else index, _last(item[name]), _label(item),
        sample if isinstance(sample, int) and not isinstance(sample, bool) else 0,
        data=files(_first(item, "data")) or shown_files(_asked(item.get("prompt"))),
        reference=reference if isinstance(reference, str) else "", benchmark=benchmark, family=family, level=level)


def _items(prompts: Any, completions: Sequence[Any], columns: Mapping[str, Any], label: str, data: str) -> list[Item | None]:
    """One record a completion; None where a row of our own dataset asks for no program."""
    n = len(completions)
    wanted = _KNOWN | {label, data}
    kept = {name: values for name, values in columns.items() if name in wanted and _is_column(values, n)}
    asked = prompts if _is_column(prompts, n) else [None] * n
    found: list[Item | None] = []
    for k in range(n):
        row = {name: values[k] for name, values in kept.items()}
        if _own(row) and row.get("dialect") == "":
            found.append(None)
            continue
        item = dict(row)
        if label:
            item = {name: v for name, v in row.items() if name not in (*GUESSES["label"], "status")} | {"truth": row.get(label)}
        if data:
            item = {name: v for name, v in item.items() if name not in GUESSES["data"]} | {"data": row.get(data)}
        shown = {} if files(_first(item, "data")) else shown_files(_asked(asked[k]))
        found.append(item | {"text": _last(completions[k])} | ({"data": shown} if shown else {}))
    return found


def _is_column(values: Any, n: int) -> bool:
    return hasattr(values, "__len__") and hasattr(values, "__getitem__") and not isinstance(values, (str, bytes, Mapping)) and len(values) == n


def _last(completion: Any) -> str | None:
    """The text of a completion; of a chat its last assistant message.  A text is taken as it is, whatever it looks like."""
    if isinstance(completion, str):
        return completion
    found = texts(completion)
    return found[-1] if found else None


def _asked(prompt: Any) -> str:
    """What the user said in a prompt."""
    if isinstance(prompt, str) or prompt is None:
        return prompt or ""
    if not isinstance(prompt, Sequence):
        return ""
    said = (m.get("content") for m in prompt if isinstance(m, Mapping) and m.get("role", "user") == "user")
    return "\n\n".join(text for content in said for text in texts(content) if text)


def _told(value: Any) -> bool:
    return value is not None and not (isinstance(value, (str, Sequence, Mapping)) and not len(value)) and not (
        isinstance(value, float) and value != value)


def _first(row: Mapping[str, Any], what: str) -> Any:
    return next((row[name] for name in GUESSES[what] if _told(row.get(name))), None)


def _own(row: Mapping[str, Any]) -> bool:
    """A row of `orpipe generate`: its label is exact, not rounded as printed."""
    return "objective_exact" in row and (_told(row["objective_exact"]) or row.get("status") in ("infeasible", "unbounded"))


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


# ----------------------------------------------------------------------------------------------------- reward functions


@dataclass(frozen=True)
class RewardFunction(ABC):
    """TRL's reward function over some judge.  name: how trainers log it; label, data: columns, where their names are not
    among the known ones; undecided, shaping: see the module."""

    name: str = field(default="optimum", kw_only=True)
    undecided: float | None = field(default=None, kw_only=True)
    shaping: float = field(default=0.0, kw_only=True)
    label: str = field(default="", kw_only=True)
    data: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_table("optimum", self.undecided, self.shaping)

    @property
    def __name__(self) -> str:
        return self.name

    @abstractmethod
    def judged(self, items: Sequence[Item]) -> list[Worth]:
        """One for each item, in their order.  May raise."""

    def __call__(self, prompts: Any = None, completions: Any = None, **columns: Any) -> list[float | None]:
        """One reward a completion, in their order; never raises.

        completions: texts or chats; columns: as long as these.  TRL's `log_extra` and `log_metric`, if given, are told the
        verdicts and the share of the undecided.
        """
        try:
            found = self.worths(prompts, completions, columns)
            self._tell(found, columns)
        except Exception as error:
            _say_once(f"{self.name}: {type(error).__name__}", f"reward '{self.name}' could not judge a batch: {type(error).__name__}: {error}")
            return [self.undecided] * (len(completions) if hasattr(completions, "__len__") else 0)
        return [w.reward for w in found]

    def worths(self, prompts: Any, completions: Any, columns: Mapping[str, Any]) -> list[Worth]:
        items = _items(prompts, list(completions if completions is not None else ()), columns, self.label, self.data)
        asked = [item for item in items if item is not None]
        judged = iter(self.judged(asked) if asked else ())
        no_program = Worth(self.undecided, Verdict.UNDECIDED, reason="the row asks for no program")
        return [no_program if item is None else next(judged) for item in items]

    def _tell(self, found: Sequence[Worth], columns: Mapping[str, Any]) -> None:
        undecided = Counter(w.failure for w in found if w.verdict == Verdict.UNDECIDED)
        for failure, count in undecided.items():
            reason = next(w.reason for w in found if w.verdict == Verdict.UNDECIDED and w.failure == failure)
            hint = ""
            if failure == Failure.NO_TRUTH:
                hint = f"; columns given: {', '.join(k for k in columns if not callable(columns[k])) or 'none'}; name the label's with label=..."
            if failure:
                _say_once(f"{self.name}: {failure}", f"reward '{self.name}': {count} of {len(found)} completions undecided: {reason}{hint}")
        if callable(columns.get("log_extra")):
            columns["log_extra"](f"{self.name}_verdict", [str(w.verdict) for w in found])
            columns["log_extra"](f"{self.name}_reason", [w.reason for w in found])
        if callable(columns.get("log_metric")) and found:
            columns["log_metric"](f"{self.name}_undecided", undecided.total() / len(found))


_said: set[str] = set()


def _say_once(key: str, message: str) -> None:
    if key not in _said:
        _said.add(key)
        log.warning("%s", message)


@dataclass(frozen=True)
class OptimumReward(RewardFunction):
    """Judged on this machine, by the optimum."""

    settings: JudgeSettings = JudgeSettings()

    def judged(self, items: Sequence[Item]) -> list[Worth]:
        answers, unread = [], {}
        for k, item in enumerate(items):
            try:
                answers.append(answer(item, k))
            except Exception as error:  # of this row alone
                unread[k] = Worth(self.undecided, Verdict.UNDECIDED, Failure.INTERNAL, f"the row cannot be read ({type(error).__name__}: {error})")
        rows = iter(_rows(self.settings, answers))
        return [unread.get(k) or self._worth(next(rows)) for k in range(len(items))]

    def _worth(self, row: VerdictRow) -> Worth:
        return Worth(worth(row.verdict, row.failure, undecided=self.undecided, shaping=self.shaping), row.verdict, row.failure, row.reason)


def optimum_reward(
    *, workers: int | None = None, timeout: float = 20.0, tolerance: float = 1e-6, strict: bool = False, shaping: float = 0.0,
    undecided: float | None = None, isolation: Literal["best", "full"] = "best", judge: str = "optimum", name: str = "optimum",
    label: str = "", data: str = "",
) -> OptimumReward:
    """A reward function for TRL.  workers: programs run at a time (default: one a core); timeout: seconds that a program
    may run; the rest as of `Judge` and `RewardFunction`.

    Raises UsageError, NotFound (no such `judge`) or EnvironmentError_ (isolation="full" is not to be had).
    """
    if workers is not None and workers < 1:
        raise UsageError(f"a reward needs at least one worker, not {workers}")
    check_table(judge, undecided, shaping)
    settings = JudgeSettings(workers or 0, timeout, tolerance, strict, isolation)
    _judge(settings)
    return OptimumReward(settings, name=name, undecided=undecided, shaping=shaping, label=label, data=data)


reward = OptimumReward()


# ----------------------------------------------------------------------------------------------------------------- verl


def compute_scores(
    data_sources: Sequence[Any], solution_strs: Sequence[Any], ground_truths: Sequence[Any], extra_infos: Sequence[Any] | None = None,
    *, undecided: float = 0.0, url: str = "", token_file: str = "", **settings: Any,
) -> list[float]:
    """verl's signature for its batch reward manager; settings (`reward_kwargs`) as of `optimum_reward`, or `url` and
    `token_file` of an `orpipe serve`.  Wrong settings raise; nothing else does."""
    found = _scored(solution_strs, ground_truths, extra_infos, undecided=undecided, url=url, token_file=token_file, **settings)
    return [w.reward if w.reward is not None else undecided for w in found]


def compute_score(
    data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, *, undecided: float = 0.0, **settings: Any,
) -> float:
    """verl's signature, one completion a call; verl makes the calls from many threads.

    ground_truth: the label; where it is None, one in `extra_info`.  extra_info: may hold data or files, status, a prompt
    that shows the files.  Settings as of `compute_scores`.
    """
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], undecided=undecided, **settings)[0]


def compute_score_dict(
    data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, *, undecided: float = 0.0, **settings: Any,
) -> dict[str, Any]:
    """As `compute_score`, with the verdict: {"score", "acc", "verdict", "failure", "reason"}; acc is 1.0 if it passed."""
    found = _scored([solution_str], [ground_truth], [extra_info], undecided=undecided, **settings)[0]
    return {"score": undecided if found.reward is None else found.reward, "acc": float(Verdict(found.verdict).passed),
            "verdict": str(found.verdict), "failure": str(found.failure), "reason": found.reason}


# what verl may pass beside the settings
_VERL = ("reward_router_address", "reward_model_tokenizer", "sandbox_fusion_url", "concurrent_semaphore", "memory_limit_mb")


def _scored(
    solutions: Sequence[Any], truths: Sequence[Any], infos: Sequence[Any] | None, *, undecided: float, url: str = "", token_file: str = "",
    **settings: Any,
) -> list[Worth]:
    settings = {name: value for name, value in settings.items() if name not in _VERL}
    function = _made((("undecided", undecided), ("url", url), ("token_file", token_file), *sorted(settings.items())))
    found = None
    try:
        infos = infos if infos is not None and len(infos) == len(solutions) else [None] * len(solutions)
        items = []
        for solution, truth, info in zip(solutions, truths, infos, strict=True):
            info = info if isinstance(info, Mapping) else {}
            item = {k: v for k, v in info.items() if k in _KNOWN and (k not in GUESSES["label"] or k == "status")} if _told(truth) else dict(info)
            items.append(item | {"text": _last(solution), "prompt": info.get("prompt", info.get("question"))}
                         | ({"truth": truth} if _told(truth) else {}))
        found = function.judged(items)
        function._tell(found, {})
    except Exception as error:
        _say_once(f"verl: {type(error).__name__}", f"compute_score could not judge: {type(error).__name__}: {error}")
    return found or [Worth(undecided, Verdict.UNDECIDED, Failure.INTERNAL, "could not be judged; see the log")] * len(solutions)


_functions: dict[tuple[tuple[str, Any], ...], RewardFunction] = {}


def _made(settings: tuple[tuple[str, Any], ...]) -> RewardFunction:
    found = _functions.get(settings)
    if found is None:
        given = dict(settings)
        url, token_file = given.pop("url"), given.pop("token_file")
        if url:
            from orpipe.client import Client, read_token

            found = Client(url, read_token(token_file) if token_file else "", **given)
        else:
            try:
                found = optimum_reward(**given)
            except TypeError as error:
                raise UsageError(f"{str(error).partition(' ')[2]}; see orpipe.rewards.optimum_reward for the settings") from None
        _functions[settings] = found
    return found
