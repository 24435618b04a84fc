"""Harmless reformulations: changes of a Problem that leave it the same model, for judging judges.

    @reformulation("equality-split", "An equality as two inequalities", "A row = b says the same as <= b and >= b.")
    def equality_split(sheet, rng): ...                      # changes the sheet; returns False where there is nothing to do

`reformulations()` lists them; `reformulation_by_id(id).apply(problem, rng)` gives the changed Problem or None.  All arithmetic
is exact.  A variable that comes to mean something else gets another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from orpipe.mps import Side, assemble
from orpipe.problem import Problem
from orpipe.registry import Registry

if TYPE_CHECKING:
    Rng = np.random.Generator


@dataclass
class Column:
    name: str
    low: Side = Fraction(0)
    high: Side = None
    cost: Fraction = Fraction(0)
    whole: bool = False
    decision: bool = True

    @property
    def binary(self) -> bool:
        return self.whole and self.low == 0 and self.high == 1


@dataclass
class Line:
    """low <= sum of entries <= high; entries by column position."""

    name: str
    entries: dict[int, Fraction]
    low: Side = None
    high: Side = None

    @property
    def equal(self) -> bool:
        return self.low is not None and self.low == self.high

    @property
    def one_sided(self) -> bool:
        return (self.low is None) is not (self.high is None)

    def scaled(self, by: Fraction) -> Line:
        ends = [None if v is None else v * by for v in ((self.low, self.high) if by > 0 else (self.high, self.low))]
        return Line(self.name, {j: v * by for j, v in self.entries.items()}, ends[0], ends[1])


@dataclass
class Sheet:
    """A Problem that can be written on."""

    name: str
    maximize: bool
    offset: Fraction
    columns: list[Column]
    rows: list[Line] = field(default_factory=list)

    @classmethod
    def of(cls, p: Problem) -> Sheet:
        def side(exact: list[Fraction], floats: np.ndarray) -> list[Side]:
            return [v if known else None for v, known in zip(exact, np.isfinite(floats).tolist(), strict=True)]

        columns = [
            Column(*parts) for parts in zip(
                p.columns, side(p.lower_exact.fractions(), p.lower), side(p.upper_exact.fractions(), p.upper),
                p.cost_exact.fractions(), p.integer.tolist(), p.decision.tolist(), strict=True)]
        values, starts, indices = p.matrix_exact.fractions(), p.matrix.indptr.tolist(), p.matrix.indices.tolist()
        rows = [
            Line(name, dict(zip(indices[starts[i]:starts[i + 1]], values[starts[i]:starts[i + 1]], strict=True)), low, high)
            for i, (name, low, high) in enumerate(zip(
                p.rows, side(p.row_lower_exact.fractions(), p.row_lower), side(p.row_upper_exact.fractions(), p.row_upper),
                strict=True))]
        return cls(p.name, p.maximize, p.offset, columns, rows)

    def problem(self) -> Problem:
        made = assemble(
            name=self.name, maximize=self.maximize, columns=[c.name for c in self.columns], cost=[c.cost for c in self.columns],
            offset=self.offset, rows=[r.name for r in self.rows],
            entries=((i, j, v) for i, r in enumerate(self.rows) for j, v in r.entries.items()),
            row_sides=[(r.low, r.high) for r in self.rows], bounds=[(c.low, c.high) for c in self.columns],
            integer=[c.whole for c in self.columns])
        return replace(made, decision=np.array([c.decision for c in self.columns], bool))

    # -- what reformulations have in common
    def add_column(self, column: Column) -> int:
        column.name = self.fresh(column.name, [c.name for c in self.columns])
        self.columns.append(column)
        return len(self.columns) - 1

    def add_row(self, name: str, entries: dict[int, Fraction], low: Side = None, high: Side = None) -> None:
        self.rows.append(Line(self.fresh(name, [r.name for r in self.rows]), entries, low, high))

    @staticmethod
    def fresh(name: str, taken: list[str]) -> str:
        out, k = name, 1
        while out in taken:
            k += 1
            out = f"{name}_{k}"
        return out

    def replace_column(self, j: int, scale: Fraction, shift: Fraction, name: str) -> None:
        """x_j = scale * x' + shift, x' in its place under another name."""
        c = self.columns[j]
        for r in self.rows:
            if j in r.entries:
                moved = r.entries[j] * shift
                r.low, r.high = (None if v is None else v - moved for v in (r.low, r.high))
                r.entries[j] *= scale
        self.offset += c.cost * shift
        ends = [None if v is None else (v - shift) / scale for v in (c.low, c.high)]
        low, high = ends if scale > 0 else ends[::-1]
        self.columns[j] = Column(self.fresh(name, [c.name for c in self.columns]), low, high, c.cost * scale, c.whole, c.decision)

    def drop_column(self, j: int) -> None:
        """The column must stand nowhere."""
        del self.columns[j]
        for r in self.rows:
            r.entries = {k - (k > j): v for k, v in r.entries.items()}

    def substitute(self, j: int, line: Line) -> None:
        """Column j out by the equality `line`, which turns into j's bounds."""
        column, a = self.columns[j], line.entries.pop(j)
        rest, constant = {k: -v / a for k, v in line.entries.items()}, (line.low or Fraction(0)) / a
        for other in self.rows:
            factor = other.entries.pop(j, Fraction(0))
            if factor:
                add(other.entries, rest, factor)
                other.low, other.high = (None if v is None else v - factor * constant for v in (other.low, other.high))
        for k, v in rest.items():
            self.columns[k].cost += column.cost * v
        self.offset += column.cost * constant
        line.entries = rest
        line.low, line.high = (None if v is None else v - constant for v in (column.low, column.high))
        if line.low is None and line.high is None:
            self.rows.remove(line)
        self.drop_column(j)

    def inequalities(self) -> Iterator[Line]:
        return (r for r in self.rows if r.one_sided and len(r.entries) > 1)

    def equalities(self) -> Iterator[Line]:
        return (r for r in self.rows if r.equal and len(r.entries) > 1)


def add(entries: dict[int, Fraction], others: dict[int, Fraction], factor: Fraction = Fraction(1)) -> None:
    """entries += factor * others; zeros go."""
    for k, v in others.items():
        total = entries.get(k, Fraction(0)) + factor * v
        if total:
            entries[k] = total
        else:
            entries.pop(k, None)


# ------------------------------------------------------------------------------------------------------------ registry

Change = Callable[[Sheet, "Rng"], bool]


@dataclass(frozen=True)
class Reformulation:
    """id: kebab-case; title: one line; explanation: why it changes nothing."""

    id: str
    title: str
    explanation: str
    change: Change

    def apply(self, problem: Problem, rng: Rng) -> Problem | None:
        """The reformulated Problem; None if there is nothing to do."""
        sheet = Sheet.of(problem)
        return sheet.problem() if self.change(sheet, rng) else None


_REFORMULATIONS: Registry[Reformulation] = Registry("harmless reformulation", "orpipe.mutate")


def reformulation(id: str, title: str, explanation: str) -> Callable[[Change], Change]:
    """Registers a function that changes a sheet and returns whether it did."""
    def register(change: Change) -> Change:
        _REFORMULATIONS.add(id, Reformulation(id, title, explanation, change))
        return change

    return register


def reformulations() -> tuple[Reformulation, ...]:
    """All, by id."""
    return tuple(_REFORMULATIONS)


def reformulation_by_id(id: str) -> Reformulation:
    """Raises NotFound with the nearest id."""
    return _REFORMULATIONS[id]
