"""Who solves what, and with which settings: data/reference/solvers.yaml, read and checked.

    asked(problem)        names of the solvers for a problem, first solver first, by its kind and size
    settings(name)        the settings of one adapter
    unfit(...)            what of it does not fit the solvers there are, asked when the adapters are loaded
    engine(name)          the engine behind a bridge's solver, such as cbc behind PULP_CBC_CMD
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orpipe.errors import NotFound, ParseError
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
    """A solver that PuLP or Pyomo runs: other parts of names that mean it, its node limit, its time limit and its options."""

    name: str
    also: tuple[str, ...] = ()
    nodes: str | None = None
    seconds: str | None = None
    whole_seconds: bool = False
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
        raise ParseError(f"{path.name}: {_told(error)}") from None
    except OSError as error:
        raise ParseError(f"{path.name}: cannot be read ({error.strerror}); install orpipe again") from None
    except UnicodeDecodeError:
        raise ParseError(f"{path.name}: not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise ParseError(f"{path.name}: {' '.join(str(error).split())}") from None


def _told(error: ValidationError) -> str:
    """The first complaint in one line; a misspelt key or kind with «did you mean»."""
    first = error.errors()[0]
    *place, last = first["loc"] or ("",)
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        owners: dict[str, type[_Strict]] = {"roles": Role, "engines": Engine}
        owner = owners.get(str(place[0]), Roles) if place else Roles
        return f"{'.'.join(map(str, place))}: {NotFound.among('setting', str(last), owner.model_fields)}".removeprefix(": ")
    if first["type"] == "literal_error":
        return f"{where}: {NotFound.among('kind', str(first['input']), KINDS)}"
    if first["type"] == "missing":
        return f"{'.'.join(map(str, place)) or 'the file'}: '{last}' is missing"
    return f"{where}: {first['msg']}" if where and not first["msg"].startswith("Value error, ") else first["msg"].removeprefix("Value error, ")


def unfit(found: Roles, families: Mapping[str, str | None], bridges: Collection[str], *, whole: bool = True) -> str | None:
    """The first thing in the file that does not fit the solvers there are, in one line; None if it fits.

    families: by adapter name, None for one whose optimum is no proof.  whole: False where some library is missing; a name
    that has settings may then be its adapter's."""
    known = {**({} if whole else dict.fromkeys(found.settings, "")), **families}
    for role in found.roles:
        where = f"{FILE}: role for {role.kind}{f' up to {role.up_to}' if role.up_to else ''}"
        asked = []
        for name in role.ask:
            library, colon, stem = name.partition(":")
            if colon and library not in bridges:
                return f"{where}: {NotFound.among('bridge', library, bridges)}"
            if not colon and name not in known:
                return f"{where}: {NotFound.among('solver', name, known)}"
            behind = next((e.name for e in found.engines if any(part in stem.lower() for part in (e.name, *e.also))), None)
            if (family := behind if colon else known[name]) is None:
                why = f"no engine '{stem}' has settings" if colon else "its optimum holds within a tolerance only"
                return f"{where}: '{name}' is no witness ({why}); name another"
            asked.append(family)
        if asked[0] and asked[0] == asked[1]:
            return f"{where}: '{role.ask[0]}' and '{role.ask[1]}' are both {asked[0]}, which is one witness; name a cross-check of another family"
    for part, names in (("vertex", found.vertex), ("settings", found.settings)):
        if stranger := next((name for name in names if name not in known), None):
            return f"{FILE}: {part}: {NotFound.among('solver', stranger, known)}"
    return None


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
