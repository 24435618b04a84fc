"""The table solver x conformance case: which adapters answer which cases, and whether any coverage was lost.

    python -m orpipe.testing.solver_coverage                 adapters and the bridges named in the coverage file
    python -m orpipe.testing.solver_coverage pyomo:glpk      others too
    python -m orpipe.testing.solver_coverage --update        tests/solver_coverage.yaml rewritten

A cell is `pass`, `refused` (the adapter says that it cannot take the case), `known` (a declared deviation), `fail`, or
`fixed` (a declared deviation that is none any more).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
import yaml

from orpipe import console
from orpipe.errors import EnvironmentError_, ParseError
from orpipe.solve import Solver, solver, solvers
from orpipe.testing.command import checkout
from orpipe.testing.solver_suite import Case, cases, fault

Cell = Literal["pass", "refused", "known", "fail", "fixed"]
Column = Mapping[str, Cell]
FILE = "tests/solver_coverage.yaml"
_HEAD = """# Conformance cases that each solver must answer rightly; rewritten by `python -m orpipe.testing.solver_coverage --update`.
# A case that is not listed for a solver is refused by it, or a deviation that its adapter declares with the reason.
# A name with a colon is a bridge: where its solver is not installed, the tests skip it visibly.
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def cell(adapter: Solver, case: Case) -> Cell:
    known = case.name in adapter.deviations
    if adapter.accepts(case.problem):
        return "fail" if fault(adapter, case) else "refused"
    if fault(adapter, case):
        return "known" if known else "fail"
    return "fixed" if known else "pass"


def column(adapter: Solver, among: Iterable[Case] | None = None) -> Column:
    return {case.name: cell(adapter, case) for case in among or cases()}


def wanted(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Case names by solver, from the coverage file.  Raises ParseError for a case or a shape that does not exist."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    names = {case.name for case in cases()}
    if not isinstance(content, dict):
        raise ParseError(f"{path.name}: no table of solvers; write it with 'python -m orpipe.testing.solver_coverage --update'")
    found: dict[str, tuple[str, ...]] = {}
    for name, entry in content.items():
        listed = entry if isinstance(entry, list) else None
        if isinstance(entry, dict) and entry.keys() == {"all_but"}:
            listed = [case.name for case in cases() if case.name not in entry["all_but"]]
        unknown = sorted(set(listed or entry.get("all_but", [])) - names) if listed is not None else ["?"]
        if listed is None or unknown:
            raise ParseError(f"{path.name}: {name}: no case '{unknown[0]}'; give a list of cases, or all_but: [cases]")
        found[name] = tuple(listed)
    return found


def lost(required: Sequence[str], found: Column) -> list[str]:
    """Cells that had to pass and do not, and deviations that are none any more."""
    return [f"{name}: {found[name]}" for name in found if (name in required and found[name] != "pass") or found[name] in ("fail", "fixed")]


def written(columns: Mapping[str, Column]) -> str:
    lines = [_HEAD]
    for name, cells in columns.items():
        good = [case for case, state in cells.items() if state == "pass"]
        bad = [case for case in cells if case not in good]
        key = f'"{name}"' if ":" in name else name
        lines.append(f"{key}: {{all_but: [{', '.join(bad)}]}}\n" if len(bad) < len(good) else f"{key}: [{', '.join(good)}]\n")
    return "".join(lines)


@app.command(epilog="Examples: `python -m orpipe.testing.solver_coverage` · `python -m orpipe.testing.solver_coverage pyomo:glpk --json`")
def coverage(
    more: Annotated[list[str] | None, typer.Argument(help="Further solvers, such as pyomo:glpk or pulp:GUROBI.")] = None,
    update: Annotated[bool, typer.Option("--update", help=f"Rewrite {FILE} from what passes now; bridges not installed stay as they were.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Run the conformance suite on every solver and print the table; exit 1 if coverage was lost."""
    path = checkout(FILE) if not update else checkout("tests") / Path(FILE).name
    required = wanted(path) if path.exists() else {}
    columns: dict[str, Column] = {}
    absent: dict[str, str] = {}
    for name in dict.fromkeys([*solvers(), *required, *(more or [])]):
        console.say(f"conformance: {name}")
        try:
            columns[name] = column(solver(name))
        except EnvironmentError_ as error:
            absent[name] = str(error)
    gone = {name: found for name in columns if (found := lost(required.get(name, ()), columns[name]))}
    if update:
        kept = {name: {case.name: "pass" if case.name in required[name] else "refused" for case in cases()} for name in absent if name in required}
        path.write_text(written({**columns, **kept}), encoding="utf-8")  # type: ignore[dict-item]
    if as_json:
        console.put_json({"solvers": columns, "not_installed": absent, "lost": gone})
    else:
        head = ["case", *columns, *absent]
        console.put_table(head, [[case.name, *(c[case.name] for c in columns.values()), *("not installed" for _ in absent)] for case in cases()])
    for name, cells in gone.items():
        console.say(f"{name}: {'; '.join(cells)}")
    if gone and not update:
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(console.run(app, "orpipe.testing.solver_coverage"))
