"""Judging models and programs: the sandbox, capture, verdicts; `compare(a, b)` decides whether two models are the same."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orpipe.verify.equivalence import compare

__all__ = ["compare"]


def __getattr__(name: str) -> Any:  # the sandbox imports this package and needs none of the engine
    if name == "compare":
        from orpipe.verify.equivalence import compare

        return compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
