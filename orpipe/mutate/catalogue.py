"""The catalogue of mis-modellings: operators on the symbolic linear model, found by walking this package.

One operator is one class that lists the parts it would change and tells each fault in the model's words:

    @operator("row-dropped", "A row is left out", "missing", "A sentence of the text ... (for a learner)")
    class RowDropped(Operator):
        def parts(self, model):
            for row in model.rows:
                yield Part("row", row.name, row, None)

        def tell(self, w, part):
            return Account.of("nothing in the model says that ...", "without it ...", "add the row ...")

The frame keeps a part only if it changes the model and the changed model still grounds on all data of the model
(orpipe.mutate.safety), so `parts` may be generous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from orpipe.algebra.nodes import Model
from orpipe.errors import ModelError, NotFound, OrpipeError
from orpipe.ground import Data, ground
from orpipe.mutate.part import Part, Site
from orpipe.mutate.safety import Survey, sound, survey
from orpipe.mutate.words import Account, Words
from orpipe.problem import Problem
from orpipe.registry import Registry

if TYPE_CHECKING:
    import numpy as np

    from orpipe.mutate.slips import Optimum

GROUPS = ("objective", "domains", "rows", "missing", "linking", "index", "data")


class Operator:
    """A mis-modelling.  id: kebab-case; title: one line; group: one of GROUPS; explanation: for a learner, what goes
    wrong and how a text misleads into it.  special: of a change that a general operator makes as well, this one tells
    it better and claims it.  Operators hold no state."""

    id: str
    title: str
    group: str
    explanation: str
    special: bool = False

    def parts(self, model: Model) -> Iterator[Part]:
        """Candidates, in the order of the model; may include changes that do nothing or would not ground."""
        raise NotImplementedError

    def tell(self, w: Words, part: Part) -> Account:
        """The fault in words.  `w` speaks for the right model."""
        raise NotImplementedError

    # -- the frame
    def applicable(self, model: Model) -> tuple[Part, ...]:
        """The parts that change the model and leave it one that grounds; no two at the same site.

        Raises ModelError for a model whose logical idioms have not been lowered."""
        return self._applicable(model, _linear(model))

    def _applicable(self, model: Model, before: Survey) -> tuple[Part, ...]:
        found: dict[Site, Part] = {}
        for part in self.parts(model):
            into = part.on(model) if part.more else model
            if all(old == new for old, new in part.changes) or not all(sound(before, new, into) for _, new in part.changes):
                continue
            twin, count = part, 2
            while twin.site in found and found[twin.site].changes != part.changes:
                twin, count = replace(part, detail=f"{part.detail} #{count}".strip()), count + 1
            found.setdefault(twin.site, twin)
        return tuple(found.values())

    def sites(self, model: Model) -> tuple[Site, ...]:
        """Where the operator applies."""
        return tuple(p.site for p in self.applicable(model))

    def mutant(self, model: Model, site: Site) -> Mutant:
        """Raises NotFound for a site where the operator does not apply."""
        found = {p.site: p for p in self.applicable(model)}
        if site not in found:
            raise NotFound.among("site", str(site), map(str, found), f"of '{self.id}' in model '{model.name}'")
        return Mutant(self, site, found[site].on(model), found[site])

    def apply(self, model: Model, site: Site) -> Model:
        """The mis-modelled model.  Raises NotFound for a site where the operator does not apply."""
        return self.mutant(model, site).model

    def __repr__(self) -> str:
        return f"<operator {self.id}>"


@dataclass(frozen=True)
class Mutant:
    """A mis-modelled model: grounds with the data of the right one, prints as text, LaTeX and code.

    Whether the mistake shows on given data is for a solver to say; `difference` tells if the matrix changes at all."""

    operator: Operator | InstanceOperator
    site: Site
    model: Model
    part: Part

    def account(self, model: Model, names: bool = False, tex: bool = False) -> Account:
        """The fault, why it matters and the repair; `model` is the right model.  names: algebra in code names; tex: in LaTeX."""
        return self.operator.tell(Words(model, names, tex), self.part)

    def given(self, data: Data) -> Data:
        """What the faulty model is ground with where the right one has `data`: the same, unless the fault lies in the data."""
        return data

    def difference(self, right: Problem, data: Data) -> str | None:
        """How the faulty Problem differs from the right one on these data; None if the fault changes nothing."""
        return right.difference(ground(self.model, self.given(data)))

    def __str__(self) -> str:
        return f"{self.operator.id}: {self.site}"


# -- operators that need the data --------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Slip:
    """A faulty model and the data that go with it."""

    model: Model
    data: Data
    part: Part


class InstanceOperator:
    """A mis-modelling that is one of these data only; id, title, group, explanation and `tell` as of an Operator."""

    id: str
    title: str
    group: str
    explanation: str

    def slips(self, model: Model, data: Data, best: Optimum | None, rng: np.random.Generator | None) -> Iterator[Slip]:
        """Candidates, in the order of the model; may include some that change nothing or do not ground."""
        raise NotImplementedError

    def every(self, model: Model, data: Data) -> Iterator[Slip]:
        """All that `slips` draws from, where that needs no optimum."""
        return self.slips(model, data, None, None)

    def tell(self, w: Words, part: Part) -> Account:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<operator {self.id}>"


# -- registry ----------------------------------------------------------------------------------------------------------
_ALL: Registry[Operator | InstanceOperator] = Registry("mis-modelling operator", "orpipe.mutate")
_O = TypeVar("_O", bound=type[Operator] | type[InstanceOperator])


def operator(id: str, title: str, group: str, explanation: str) -> Callable[[_O], _O]:
    """Registers an Operator or InstanceOperator class.  Raises OrpipeError for an id declared twice or an unknown group."""
    def register(cls: _O) -> _O:
        if group not in GROUPS:
            raise OrpipeError(f"mis-modelling operator '{id}' names no group '{group}'; use one of {', '.join(GROUPS)}")
        cls.id, cls.title, cls.group, cls.explanation = id, title, group, explanation
        _ALL.add(id, cls())
        return cls

    return register


def operators() -> tuple[Operator, ...]:
    """All operators on the symbolic model, by group and id."""
    return tuple(sorted((o for o in _ALL if isinstance(o, Operator)), key=lambda o: (GROUPS.index(o.group), o.id)))


def instance_operators() -> tuple[InstanceOperator, ...]:
    """Those that need the data of an instance (orpipe.mutate.slips), by id."""
    return tuple(o for o in _ALL if isinstance(o, InstanceOperator))


def operator_by_id(id: str) -> Operator | InstanceOperator:
    """Raises NotFound with the nearest id."""
    return _ALL[id]


# -- mutants of a model ------------------------------------------------------------------------------------------------
def mutants(model: Model, rng: np.random.Generator | None = None, limit: int | None = None) -> list[Mutant]:
    """The mis-modelled variants of a linear model; no two are the same model and none is the model itself.

    Order: by operator, then as in the model.  With `limit`, a mixed choice: one variant of each operator before a
    second of any.  With `rng` operators and variants come in random order (the same for the same generator state).
    Raises ModelError for a model whose logical idioms have not been lowered."""
    lists = _by_operator(model)
    if rng is not None:
        turns = [lists[k] for k in rng.permutation(len(lists))]
        lists = tuple(tuple(own[k] for k in rng.permutation(len(own))) for own in turns)
    if limit is None:
        return [m for own in lists for m in own]
    rounds = range(max(map(len, lists), default=0))
    return [own[k] for k in rounds for own in lists if k < len(own)][:limit]


def _linear(model: Model) -> Survey:
    if model.idioms:
        raise ModelError(f"model '{model.name}' still holds the idiom '{model.idioms[0].name}'; mutate lower(model)")
    return survey(model)


@lru_cache(maxsize=256)
def _by_operator(model: Model) -> tuple[tuple[Mutant, ...], ...]:
    before = _linear(model)
    seen: set[object] = set()
    own: dict[str, tuple[Mutant, ...]] = {}
    for op in sorted(operators(), key=lambda o: not o.special):
        fresh = {part.changes: part for part in reversed(op._applicable(model, before)) if part.changes not in seen}
        seen |= set(fresh)
        own[op.id] = tuple(Mutant(op, part.site, part.on(model), part) for part in reversed(fresh.values()))
    return tuple(own[op.id] for op in operators() if own[op.id])
