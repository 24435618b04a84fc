"""What a mutation touches: one row, objective term, variable or bound of the symbolic model, before and after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from orpipe.algebra.nodes import Model, Objective, Row, Term, VarDecl

Kind = Literal["row", "objective", "variable", "bound", "data", "model"]
Piece = Row | Term | Objective | VarDecl


@dataclass(frozen=True, slots=True)
class Site:
    """Where an operator applies.

    name: of the row or objective term, "objective" for its sense, symbol of the variable or parameter.  detail tells sites of one
    operator in one place apart ("i != j", "<=", "d as q"); "" where there is only one.
    """

    kind: Kind
    name: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Part:
    """The right and the faulty form of one piece of the model.

    kind "row": Rows; "objective": Terms, or Objectives when the sense changes; "variable" and "bound": VarDecls.
    "data" and "model" (orpipe.mutate.slips) have no pieces of the model: before and after are None, old and new tell all.
    before is None for something added, after None for something dropped.  old and new are the smallest nodes that
    differ, where the operator can name them (a factor, a condition, the index summed over); else None.
    more: (before, after) of further pieces that change with it (a new variable and the row that defines it).
    """

    kind: Kind
    name: str
    before: Piece | None
    after: Piece | None
    detail: str = ""
    old: Any = None
    new: Any = None
    more: tuple[tuple[Piece | None, Piece | None], ...] = ()

    @property
    def changes(self) -> tuple[tuple[Piece | None, Piece | None], ...]:
        """(before, after) of all pieces, the main one first."""
        return ((self.before, self.after), *self.more)

    @property
    def site(self) -> Site:
        return Site(self.kind, self.name, self.detail)

    @property
    def row(self) -> Row:
        """The right row; for a row that was added, that one."""
        return cast(Row, self.before or self.after)

    @property
    def faulty(self) -> Row:
        """The row as it stands in the mutant."""
        return cast(Row, self.after)

    @property
    def variable(self) -> VarDecl:
        return cast(VarDecl, self.before)

    @property
    def term(self) -> Term:
        return cast(Term, self.before)

    def on(self, model: Model) -> Model:
        """The model with the faulty form in place of the right one; added pieces come last of their kind."""
        for before, after in self.changes:
            model = _changed(model, before, after)
        return model


def _changed(model: Model, before: Piece | None, after: Piece | None) -> Model:
    match before or after:
        case Row():
            return replace(model, rows=_swap(model.rows, before, after))
        case Term():
            terms = _swap(model.objective.terms, before, after)
            return replace(model, objective=replace(model.objective, terms=terms))
        case VarDecl():
            return replace(model, variables=_swap(model.variables, before, after))
    return replace(model, objective=cast(Objective, after))


def _swap(pieces: tuple, before: Piece | None, after: Piece | None) -> tuple:
    if before is None:
        return (*pieces, after)
    return tuple(kept for p in pieces if (kept := after if p == before else p) is not None)
