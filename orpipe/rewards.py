"""Rewards for training: what a completion is worth, read off the judge's verdict.

TRL     GRPOTrainer(..., reward_funcs=optimum_reward(workers=8))      or `reward`, the same with the defaults
        equivalence_reward(dataset="data/out"): a completion to an instance of ours is compared with its model
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

import logging
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from orpipe.errors import NotFound, UsageError
from orpipe.verify.against import RULES, Rule
from orpipe.verify.answers import Answer
from orpipe.verify.items import Item, Skipped, answer, items, unread, verl_item
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.own import Instances
from orpipe.verify.taxonomy import Failure
from orpipe.verify.verdict import Verdict

__all__ = [
    "REWARDS", "JudgeSettings", "OptimumReward", "Worth", "close", "compute_score", "compute_score_dict", "compute_scores",
    "equivalence_reward", "optimum_reward", "reward", "worth",
]

log = logging.getLogger(__name__)

JUDGES: tuple[Rule, ...] = RULES
REWARDS: Mapping[Verdict, float] = {
    Verdict.EQUIVALENT: 1.0, Verdict.SAME_OPTIMUM: 1.0,
    Verdict.WRONG_OPTIMUM: 0.0, Verdict.NOT_EQUIVALENT: 0.0, Verdict.ERROR: 0.0,
}
_BUILT = (Verdict.WRONG_OPTIMUM, Verdict.NOT_EQUIVALENT)
_NO_EFFORT = (Failure.NO_CODE, Failure.SYNTAX, Failure.FORBIDDEN)


@dataclass(frozen=True)
class Worth:
    """What one completion got, and why.  reward None: it is to be left out."""

    reward: float | None
    verdict: str
    failure: str = ""
    reason: str = ""


def worth(
    verdict: Verdict, failure: Failure = Failure.NONE, *, undecided: float | None = None, shaping: float = 0.0,
) -> float | None:
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
    rule: Rule = "optimum"
    budget: float = 5.0
    algebra: bool = False

    def judge(self) -> Judge:
        return Judge(self.workers or os.cpu_count() or 1, timeout=self.timeout, tolerance=self.tolerance, strict=self.strict,
                     isolation=self.isolation, rule=self.rule, budget=self.budget, algebra=self.algebra)


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


@cache
def _instances(folder: str) -> Instances | None:
    return Instances.of(Path(folder))


def close() -> None:
    """End the helper processes of this process's rewards; they start again when a reward is called."""
    with _lock:
        judges = list(_judges.values())
    for judge in judges:
        judge.close()


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

    @property
    def algebra(self) -> bool:
        """Are completions to rows that ask for a formulation judged?"""
        return False

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
            kind = type(error).__name__
            _say_once(f"{self.name}: {kind}", f"reward '{self.name}' could not judge a batch: {kind}: {error}")
            return [self.undecided] * (len(completions) if hasattr(completions, "__len__") else 0)
        return [w.reward for w in found]

    def worths(self, prompts: Any, completions: Any, columns: Mapping[str, Any]) -> list[Worth]:
        rows = items(prompts, list(completions if completions is not None else ()), columns, self.label, self.data, self.algebra)
        asked = [row for row in rows if not isinstance(row, Skipped)]
        judged = iter(self.judged(asked) if asked else ())
        return [self._skipped(row) if isinstance(row, Skipped) else next(judged) for row in rows]

    def _skipped(self, row: Skipped) -> Worth:
        return Worth(self.undecided, Verdict.UNDECIDED, row.failure, row.reason)

    def _tell(self, found: Sequence[Worth], columns: Mapping[str, Any]) -> None:
        asked = [w for w in found if w.verdict != Verdict.UNDECIDED or w.failure]  # not of rows that ask for no program
        undecided: dict[str, list[Worth]] = {}
        for w in asked:
            if w.verdict == Verdict.UNDECIDED:
                undecided.setdefault(w.failure, []).append(w)
        for failure, some in undecided.items():
            why = some[0].reason
            if failure == Failure.NO_TRUTH:
                names = ", ".join(k for k in columns if not callable(columns[k]))
                why += f"; columns given: {names or 'none'}; name the label's with label=..."
            _say_once(f"{self.name}: {failure}", f"reward '{self.name}': {len(some)} of {len(found)} completions undecided: {why}")
        if callable(columns.get("log_extra")):
            columns["log_extra"](f"{self.name}_verdict", [str(w.verdict) for w in found])
            columns["log_extra"](f"{self.name}_reason", [w.reason for w in found])
        if callable(columns.get("log_metric")) and asked:
            columns["log_metric"](f"{self.name}_undecided", sum(map(len, undecided.values())) / len(asked))


_said: set[str] = set()


def _say_once(key: str, message: str) -> None:
    if key not in _said:
        _said.add(key)
        log.warning("%s", message)


@dataclass(frozen=True)
class OptimumReward(RewardFunction):
    """Judged on this machine.  dataset: folder of ours whose instances are the reference models of rows with an `instance_id`."""

    settings: JudgeSettings = JudgeSettings()
    dataset: str = ""

    @property
    def algebra(self) -> bool:
        return self.settings.algebra

    def judged(self, items: Sequence[Item]) -> list[Worth]:
        answers: list[Answer] = []
        skipped: dict[int, Worth] = {}
        known = _instances(self.dataset) if self.dataset else None
        for k, item in enumerate(items):
            try:
                answers.append(answer(item, k, known))
            except Exception as error:  # of this row alone
                skipped[k] = self._skipped(unread(error))
        rows = iter(_rows(self.settings, answers))
        return [skipped.get(k) or self._worth(next(rows)) for k in range(len(items))]

    def _worth(self, row: VerdictRow) -> Worth:
        value = worth(row.verdict, row.failure, undecided=self.undecided, shaping=self.shaping)
        return Worth(value, row.verdict, row.failure, row.reason)


def optimum_reward(
    *, workers: int | None = None, timeout: float = 20.0, tolerance: float = 1e-6, strict: bool = False,
    shaping: float = 0.0, undecided: float | None = None, isolation: Literal["best", "full"] = "best",
    judge: Rule = "optimum", name: str = "", label: str = "", data: str = "", budget: float = 5.0, dataset: str = "", algebra: bool = False,
) -> OptimumReward:
    """A reward function for TRL.  workers: programs run at a time (default: one a core); timeout: seconds that a program
    may run; the rest as of `Judge` and `RewardFunction`.

    judge "equivalence": where a completion has a reference model (a column `reference`; or, for rows of `dataset`, a folder of
    ours, their instance's), the two are compared within `budget` seconds, and only what nothing refutes passes.

    algebra: a completion without a program is judged by the formulation it writes, where it has a reference model; rows of
    `dataset` that ask for a formulation are then judged too, and get None without.

    Raises UsageError, NotFound (no such `judge`) or EnvironmentError_ (isolation="full" is not to be had).
    """
    if workers is not None and workers < 1:
        raise UsageError(f"a reward needs at least one worker, not {workers}")
    check_table(judge, undecided, shaping)
    settings = JudgeSettings(workers or 0, timeout, tolerance, strict, isolation, judge, budget, algebra)
    _judge(settings)
    if dataset and _instances(dataset) is None:
        raise UsageError(f"'{dataset}' is no folder written by 'orpipe generate'; without one give reference models in a column 'reference'")
    return OptimumReward(settings, dataset, name=name or judge, undecided=undecided, shaping=shaping, label=label, data=data)


def equivalence_reward(**settings: Any) -> OptimumReward:
    """As `optimum_reward` with judge="equivalence"."""
    return optimum_reward(**{"judge": "equivalence", **settings})


reward = OptimumReward()


# ----------------------------------------------------------------------------------------------------------------- verl


def compute_scores(
    data_sources: Sequence[Any], solution_strs: Sequence[Any], ground_truths: Sequence[Any],
    extra_infos: Sequence[Any] | None = None, *, undecided: float = 0.0, **settings: Any,
) -> list[float]:
    """verl's signature for its batch reward manager; settings (`reward_kwargs`) as of `optimum_reward`, or `url` and
    `token_file` of an `orpipe serve` with settings as of `Client`.  Wrong settings raise; nothing else does."""
    found = _scored(solution_strs, ground_truths, extra_infos, undecided, settings)
    return [w.reward if w.reward is not None else undecided for w in found]


def compute_score(
    data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, *, undecided: float = 0.0,
    **settings: Any,
) -> float:
    """verl's signature, one completion a call; verl makes the calls from many threads.

    ground_truth: the label; where it is None, one in `extra_info`.  extra_info: may hold data or files, status, a prompt
    that shows the files.  Settings as of `compute_scores`.
    """
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], undecided=undecided, **settings)[0]


def compute_score_dict(
    data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, *, undecided: float = 0.0,
    **settings: Any,
) -> dict[str, Any]:
    """As `compute_score`, with the verdict: {"score", "acc", "verdict", "failure", "reason"}; acc is 1.0 if it passed."""
    found = _scored([solution_str], [ground_truth], [extra_info], undecided, settings)[0]
    return {"score": undecided if found.reward is None else found.reward, "acc": float(Verdict(found.verdict).passed),
            "verdict": str(found.verdict), "failure": str(found.failure), "reason": found.reason}


# what verl may pass beside the settings
_VERL = ("reward_router_address", "reward_model_tokenizer", "sandbox_fusion_url", "concurrent_semaphore", "memory_limit_mb")


def _scored(
    solutions: Sequence[Any], truths: Sequence[Any], infos: Sequence[Any] | None, undecided: float, settings: Mapping[str, Any],
) -> list[Worth]:
    function = _made(undecided, tuple(sorted((k, v) for k, v in settings.items() if k not in _VERL)))
    try:
        infos = infos if infos is not None and len(infos) == len(solutions) else [None] * len(solutions)
        found = function.judged([verl_item(*three) for three in zip(solutions, truths, infos, strict=True)])
        function._tell(found, {})
        return found
    except Exception as error:
        kind = type(error).__name__
        _say_once(f"verl: {kind}", f"compute_score could not judge: {kind}: {error}")
        return [Worth(undecided, Verdict.UNDECIDED, Failure.INTERNAL, "could not be judged; see the log")] * len(solutions)


@cache
def _made(undecided: float, settings: tuple[tuple[str, Any], ...]) -> RewardFunction:
    given: dict[str, Any] = {"undecided": undecided, **dict(settings)}
    url, token_file = given.pop("url", ""), given.pop("token_file", "")
    try:
        if not url:
            return optimum_reward(**given)
        from orpipe.client import Client, read_token

        rule = given.pop("judge", JUDGES[-1])
        check_table(rule, undecided, given.get("shaping", 0.0))
        return Client(url, read_token(token_file) if token_file else "", rule=rule, **given)
    except TypeError as error:
        raise UsageError(f"wrong reward settings: {error}") from None
