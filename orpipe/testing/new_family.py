"""`make new-family NAME=...`: a small, complete family to change into one's own.

    python -m orpipe.testing.new_family crew_rostering --class scheduling

writes the family's file, its scenarios and its five templates (from orpipe/testing/skeleton/).  As written it passes the
conformance suite (orpipe.testing.family_suite); comments say what each part is for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from keyword import iskeyword, issoftkeyword
from pathlib import Path
from typing import Annotated

import typer

from orpipe import console
from orpipe.errors import UsageError
from orpipe.families import families
from orpipe.testing.command import checkout

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

_SKELETON = Path(__file__).parent / "skeleton"
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def checked(name: str, problem_class: str) -> None:
    """UsageError, one line, for a name that cannot be used or is taken."""
    for what, text in (("family", name), ("class", problem_class)):
        if not _NAME.fullmatch(text) or iskeyword(text) or issoftkeyword(text) or len(text) > 60:
            raise UsageError(f"'{text}' cannot name a {what}; use lower-case words joined by underscores, such as crew_rostering")
    if name in families.names():
        raise UsageError(f"family '{name}' exists already, in class {families[name].problem_class}; choose another name")
    if (checkout("orpipe/families") / f"{problem_class}.py").exists():
        raise UsageError(f"class '{problem_class}' would hide orpipe/families/{problem_class}.py; choose another --class")


def contents(name: str, problem_class: str) -> Mapping[str, str]:
    """Path in the checkout -> text of every file of the new family."""
    words = name.replace("_", " ")
    names = {"family_name": name, "problem_class": problem_class, "FamilyName": words.title().replace(" ", ""),
             "Family title": words.capitalize()}

    def filled(path: Path) -> str:
        return re.sub("|".join(names), lambda found: names[found[0]], path.read_text(encoding="utf-8"))

    return {
        f"orpipe/families/{problem_class}/{name}.py": filled(_SKELETON / "family.py"),
        f"data/reference/scenarios/{name}.yaml": filled(_SKELETON / "scenarios.yaml"),
        **{f"templates/nl/{name}/{path.name}": filled(path) for path in sorted((_SKELETON / "words").glob("*.j2"))},
    }


def write_family(name: str, problem_class: str) -> list[str]:
    """Writes all files of the family, or none: UsageError if one exists.  Returns their paths in the checkout."""
    checked(name, problem_class)
    files = dict(contents(name, problem_class))
    marker = f"orpipe/families/{problem_class}/__init__.py"
    root = checkout("templates/nl").parents[1]
    if not (root / marker).exists():
        files = {marker: "", **files}
    if taken := [path for path in files if (root / path).exists()]:
        raise UsageError(f"'{taken[0]}' exists already; remove it or choose another name")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return list(files)


@app.command(epilog="Examples: `make new-family NAME=crew_rostering ARGS='--class scheduling'` · `python -m orpipe.testing.new_family blending_plan`")
def new_family(
    name: Annotated[str, typer.Argument(help="Name of the family: lower-case words joined by underscores.")],
    problem_class: Annotated[str, typer.Option("--class", help="Problem class, which is its folder in orpipe/families.")] = "production",
) -> None:
    """Write a small, complete problem family to start from."""
    for path in write_family(name, problem_class):
        console.put(f"wrote {path}")
    console.put(f"try it:  .venv/bin/orpipe show {name}   and   make test ARGS='-k {name}'   (docs/adding-a-family.md)")


if __name__ == "__main__":
    sys.exit(console.run(app, "orpipe.testing.new_family"))
