"""Who solves what, and with which settings: data/reference/solvers.yaml, read and checked.

    asked(problem)        names of the solvers for a problem, first solver first, by its kind and size
    settings(name)        the settings of one adapter
    engine(name)          the engine behind a bridge's solver, such as cbc behind PULP_CBC_CMD
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orpipe.errors import ParseError
from orpipe.problem import Kind, Problem
from orpipe.resources import reference

FILE = "solvers.yaml"
KINDS: tuple[Kind, ...] = ("LP", "MILP", "IP", "BIP")
Setting = bool | int | float | str


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Role(_Strict):
    """The solvers asked for problems of a kind with at most `up_to` columns."""

    kind: Literal["LP", "MILP", "IP", "BIP"]
    up_to: int | None = Field(None, ge=1)
    ask: tuple[str, ...] = Field(min_length=2)


class Engine(_Strict):
    """A solver that PuLP or Pyomo runs: other parts of names that mean it, its node limit and its options."""

    name: str
    also: tuple[str, ...] = ()
    nodes: str | None = None
    options: Mapping[str, Setting] = {}


class Roles(_Strict):
    roles: tuple[Role, ...]
    vertex: tuple[str, ...] = Field(min_length=1)
    settings: Mapping[str, Mapping[str, Setting]]
    engines: tuple[Engine, ...] = ()

    @model_validator(mode="after")
    def _every_kind_of_any_size(self) -> Roles:
        for role in self.roles:
            if len(set(role.ask)) != len(role.ask):
                raise ValueError(f"a role for {role.kind} asks a solver twice, which is no second witness")
        for kind in KINDS:
            rules = [role.up_to for role in self.roles if role.kind == kind]
            if not rules or rules[-1] is not None:
                raise ValueError(f"no role for {kind} of any size; add one without 'up_to'")
            sizes = [size or 0 for size in rules[:-1]]  # 0: no limit
            if 0 in sizes or sizes != sorted(sizes):
                raise ValueError(f"a role for {kind} is never reached; order them by 'up_to', the one without last")
        return self


def read(path: Path) -> Roles:
    """Raises ParseError, in one line, for a file that is not what it should be."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping):
            raise ParseError(f"{path.name}: must be a mapping with 'roles', 'vertex' and 'settings'")
        return Roles.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ParseError(f"{path.name}: {f'{where}: ' if where else ''}{first['msg'].removeprefix('Value error, ')}") from None
    except OSError as error:
        raise ParseError(f"{path.name}: cannot be read ({error.strerror}); install orpipe again") from None
    except UnicodeDecodeError:
        raise ParseError(f"{path.name}: not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise ParseError(f"{path.name}: {' '.join(str(error).split())}") from None


@cache
def roles() -> Roles:
    return read(reference() / FILE)


def asked(problem: Problem) -> tuple[str, ...]:
    return next(r.ask for r in roles().roles if r.kind == problem.kind and (r.up_to is None or problem.n_vars <= r.up_to))


def settings(name: str) -> Mapping[str, Setting]:
    """Empty for an adapter that the file does not name."""
    return roles().settings.get(name, {})


def engine(name: str) -> Engine | None:
    """Whose name, or one of whose other names, is part of `name` (in any case); None for a stranger."""
    return next((e for e in roles().engines if any(part in name.lower() for part in (e.name, *e.also))), None)
