"""Contradictions met on the way: where solvers disagree, whoever listens hears of it.

    with overheard("tried on X") as clashes:    every label refused as a disagreement in here; the innermost listener alone hears
    with about("with Y"):                       what the problems labelled in here are; inner words follow outer ones
    tell(problem, detail, results)              two proofs, or a proof and an exact argument, contradict each other

A label that is merely tried (of a mutant, a variant, a hidden data set) is passed over when it is refused; a disagreement
must not be: `orpipe.build.quarantine` keeps what was heard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orpipe.problem import Problem
    from orpipe.solve import Result


@dataclass(frozen=True, eq=False)
class Disagreement:
    """about: what the problem is.  detail: who claims what.  results: every answer that was given."""

    problem: Problem
    about: str
    detail: str
    results: tuple[Result, ...]


_HEARD: ContextVar[list[Disagreement] | None] = ContextVar("heard", default=None)
_ABOUT: ContextVar[str] = ContextVar("about", default="")


@contextmanager
def overheard(what: str) -> Iterator[list[Disagreement]]:
    """what: the first words about every problem in here; nothing of an outer listener's is added."""
    heard: list[Disagreement] = []
    tokens = _HEARD.set(heard), _ABOUT.set(what)
    try:
        yield heard
    finally:
        _HEARD.reset(tokens[0])
        _ABOUT.reset(tokens[1])


@contextmanager
def about(what: str) -> Iterator[None]:
    token = _ABOUT.set(f"{_ABOUT.get()} {what}")
    try:
        yield
    finally:
        _ABOUT.reset(token)


def tell(problem: Problem, detail: str, results: tuple[Result, ...]) -> None:
    """Nothing where nobody listens."""
    if (heard := _HEARD.get()) is not None:
        heard.append(Disagreement(problem, _ABOUT.get(), detail, results))
