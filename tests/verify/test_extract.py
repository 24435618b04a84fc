"""Hand-made answers and the program in each: corpus/NN-name.answer, .code (absent: none), expected.json."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path

import pytest

from orpipe.verify.extract import extract

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text(encoding="utf-8"))


def test_the_corpus_is_whole() -> None:
    assert sorted(EXPECTED) == sorted(p.stem for p in CORPUS.glob("*.answer"))
    assert len(EXPECTED) >= 40
    assert {p.stem for p in CORPUS.glob("*.code")} == {name for name, e in EXPECTED.items() if "why" not in e}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_program_of_an_answer_is_found(name: str) -> None:
    expected = EXPECTED[name]
    answer = (CORPUS / f"{name}.answer").read_bytes().decode()
    found = extract(answer, expected.get("files"))
    if "why" in expected:
        assert (found.code, found.how) == ("", "") and expected["why"] in found.why
        return
    assert found.code.rstrip() == (CORPUS / f"{name}.code").read_text(encoding="utf-8").rstrip()
    assert expected["how"] in found.how, found.how
    assert (found.library, found.called, bool(found.syntax)) == (
        expected["library"], expected.get("called", ""), expected.get("syntax", False))
    if not found.syntax:
        ast.parse(found.code)


def test_without_calls_a_program_is_left_as_it_is() -> None:
    name = next(n for n in EXPECTED if n.endswith("function-never-called"))
    found = extract((CORPUS / f"{name}.answer").read_text(), call=False)
    assert not found.called and found.code.rstrip().endswith("prob.solve()")


@pytest.mark.parametrize("text", [
    None, "", "\0", "```python\n\0\n```", "```python\nx = '\ud800'\n```", "(" * 50_000, "```python\n" + "-" * 50_000 + "1\n```",
    "```python\nx = " + "[" * 3000 + "]" * 3000 + "\n```", "```python\nx = " + "+".join(["1"] * 20_000) + "\n```", "[" * 100_000,
    '{"a":' * 20_000, "<python>" * 20_000, "```\n" * 20_000, "`" * 300_000, "import pulp\n" * 20_000, "import pulp\n(" * 2000,
    "```python\nx = " + "9" * 100_000 + "\n```", "<answer>" * 20_000, "\\n" * 100_000, "> " * 100_000, "- " * 100_000 + "```", "x" * 2_100_000,
], ids=lambda text: repr(text)[:20])
def test_hostile_texts_are_read_in_bounded_time(text: str | None) -> None:
    began = time.process_time()
    found = extract(text)
    assert time.process_time() - began < 5
    assert found.code or found.why
