"""Judging models and programs: the sandbox, capture, verdicts; `compare(a, b)` decides whether two models are the same,
`algebra_answer(text, data)` reads the model that an answer's algebra states."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orpipe.algebra.answer import algebra_answer
    from orpipe.verify.equivalence import compare

__all__ = ["algebra_answer", "compare"]


def __getattr__(name: str) -> Any:  # the sandbox imports this package and needs none of the engine
    if name == "compare":
        from orpipe.verify.equivalence import compare

        return compare
    if name == "algebra_answer":
        from orpipe.algebra.answer import algebra_answer

        return algebra_answer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
