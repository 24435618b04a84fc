"""Pieces of an answer that may be code: fences, tags, fields of JSON, notebook cells, bare text.

Every scan is linear in the text: answers come from models and may be anything.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Block:
    """text: as it stands, dedented.  what: for people ("fence 2 (python)").  complete: its end mark is there."""

    text: str
    what: str
    language: str = ""
    complete: bool = True


# ------------------------------------------------------------------------------------------------------- reasoning

_REASONING = "think|thinking|thought|reasoning|reflection|scratchpad"
_CLOSE = re.compile(rf"</(?:{_REASONING})>|<\|?/?(?:end_of_thought|end_thought)\|?>|◁/think▷|\[/THINK\]", re.IGNORECASE)
_OPEN = re.compile(rf"<(?:{_REASONING})>|<\|begin_of_thought\|>|◁think▷|\[THINK\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer without its reasoning; open: reasoning was begun and never closed, and `text` is what stands before
    and after the mark."""

    text: str
    reasoned: bool = False
    open: bool = False


def spoken(text: str) -> Spoken:
    closes = list(_CLOSE.finditer(text))
    if closes:
        return Spoken(text[closes[-1].end():], reasoned=True)
    begun = _OPEN.search(text)
    if begun:
        return Spoken(text[:begun.start()] + "\n" + text[begun.end():], open=True)
    return Spoken(text)


# --------------------------------------------------------------------------------------------------- fences and tags

_FENCE = re.compile(r"^(?P<lead>[ \t>]*(?:[-*+] |\d+[.)] )?)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_LATE_OPEN = re.compile(r"^(?P<before>.*?)(?P<mark>`{3,})[ \t]*(?P<info>python3?|py|Python)[ \t]*$")
_LATE_CLOSE = re.compile(r"^(?P<code>.*?)(?P<mark>`{3,})[ \t]*$")
_TAG = re.compile(r"<(?P<tag>python|code|py|python_code|code_block|program|solution_code)(?:[ \t][^<>\n]{0,80})?>|\[(?P<square>PYTHON|CODE)\]",
                  re.IGNORECASE)


def fences(text: str) -> list[Block]:
    """Fenced blocks in order.  A fence that is never closed, or in which another one is opened, is incomplete."""
    found: list[Block] = []
    lines: list[str] = []
    mark, language, lead, number = "", "", "", 0

    def end(complete: bool) -> None:
        quoted = lead.lstrip(" \t").startswith(">")
        body = [re.sub(r"^[ \t]*>[ ]?", "", line) for line in lines] if quoted else lines
        what = f"fence {number}" + (f" ({language})" if language else "") + ("" if complete else ", not closed")
        found.append(Block(textwrap.dedent("\n".join(body)), what, language, complete))

    for line in text.split("\n"):
        opened = _FENCE.match(line) or (_LATE_OPEN.match(line) if not mark else None)
        if not mark:
            if opened:
                mark, number, lines = opened["mark"], number + 1, []
                lead = opened.groupdict().get("lead") or ""
                language = (opened["info"].split() or [""])[0].strip("{}.:,").lower()
            continue
        closed = _LATE_CLOSE.match(line)
        if opened and not opened["info"].strip() and opened["mark"][0] == mark[0] and len(opened["mark"]) >= len(mark):
            end(True)
            mark = ""
        elif opened and opened["mark"][0] == mark[0] and opened["info"].strip():
            end(False)
            mark, number, lines = opened["mark"], number + 1, []
            lead = opened.groupdict().get("lead") or ""
            language = (opened["info"].split() or [""])[0].strip("{}.:,").lower()
        elif closed and closed["mark"][0] == mark[0] and closed["code"].strip():
            lines.append(closed["code"])
            end(True)
            mark = ""
        else:
            lines.append(line)
    if mark:
        end(False)
    return found


def tags(text: str) -> list[Block]:
    """<python>…</python> and the like; content that holds fences is left to `fences`."""
    found: list[Block] = []
    open_one: Block | None = None  # the last tag that is never closed
    at, low = 0, text.lower()
    while (begun := _TAG.search(text, at)) is not None:
        name = (begun["tag"] or begun["square"]).lower()
        close = f"</{name}>" if begun["tag"] else f"[/{name}]"
        end = low.find(close, begun.end())
        if end < 0:
            open_one = Block(text[begun.end():], f"{begun[0]} tag, not closed", "python", False)
            at = begun.end()
            continue
        body = text[begun.end():end]
        if "```" not in body:
            found.append(Block(textwrap.dedent(body.strip("\n")), f"{begun[0]} tag", "python"))
        at = end + len(close)
    return found if open_one is None or "```" in open_one.text else [*found, open_one]


def answer_part(text: str) -> str | None:
    """What stands in the last <answer>…</answer> (or <solution>…</solution>), if there is one."""
    low = text.lower()
    for name in ("answer", "solution", "final_answer"):
        begin = low.rfind(f"<{name}>")
        if begin >= 0:
            end = low.find(f"</{name}>", begin)
            return text[begin + len(name) + 2:end if end >= 0 else len(text)]
    return None


# -------------------------------------------------------------------------------------------------------------- JSON

_CODE_KEYS = ("code", "python", "python_code", "program", "solution_code", "script", "source_code", "pyomo_code", "solver_code")
_TEXT_KEYS = ("answer", "response", "output", "completion", "generated_text", "text", "content", "message", "result", "solution")


def inside_json(text: str, depth: int = 4) -> Iterator[Block]:
    """Texts wrapped in JSON: a string, a record with a code or text field, a chat, a notebook."""
    stripped = text.strip()
    if not stripped or stripped[0] not in "{[\"":
        return
    try:
        value = json.loads(stripped, strict=False)
    except (ValueError, RecursionError):
        return
    yield from _wrapped(value, "JSON", depth)


def _wrapped(value: Any, what: str, depth: int) -> Iterator[Block]:
    if depth < 0:
        return
    if isinstance(value, str):
        yield Block(value, what)
    elif isinstance(value, Mapping):
        if isinstance(value.get("cells"), list):
            cells = [c for c in value["cells"] if isinstance(c, Mapping) and c.get("cell_type") == "code"]
            source = ["".join(map(str, c["source"])) if isinstance(c.get("source"), list) else str(c.get("source", "")) for c in cells]
            yield Block("\n\n".join(source), "notebook", "python")
            return
        names = {str(key).lower(): key for key in value}
        for name in (*_CODE_KEYS, *_TEXT_KEYS):
            if name in names and value[names[name]]:
                yield from _wrapped(value[names[name]], f"{what} field '{names[name]}'", depth - 1)
                return
        for name in ("messages", "choices", "conversation", "conversations"):
            if isinstance(value.get(name), list):
                yield from _wrapped(value[name], f"{what} field '{name}'", depth - 1)
                return
    elif isinstance(value, list) and value:
        spoken_by = [v for v in value if isinstance(v, Mapping) and v.get("role", v.get("from")) in ("assistant", "gpt", "model")]
        parts = [v for v in value if isinstance(v, Mapping) and v.get("type") == "text"]
        if parts and not spoken_by:
            yield Block("".join(str(p.get("text", "")) for p in parts), what)
        else:
            yield from _wrapped((spoken_by or value)[-1], what, depth - 1)


# ------------------------------------------------------------------------------------------------------------ repairs

_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[ntr\"'\\/])")


def unescaped(text: str) -> str | None:
    r"""A text whose line ends are written as \n (two characters), decoded once; None for any other text."""
    if text.count("\\n") < 2 or text.strip().count("\n") > text.count("\\n") // 4:
        return None
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "u" else _ESCAPES[m[1]], text)


def tidy(code: str) -> str:
    """Without odd line ends, invisible characters, common indentation and interpreter prompts."""
    code = code.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "").replace("\u200b", "").replace("\u00a0", " ")
    lines = textwrap.dedent(code).strip("\n").split("\n")
    said = [line for line in lines if line.strip()]
    if said and said[0].startswith(">>> "):
        lines = [line[4:] for line in lines if line.startswith((">>>", "..."))]
    return "\n".join(lines)


_MAGIC = re.compile(r"^(\s*)([!%].*|\?{1,2}\w.*|pip3? install .*|In ?\[\d*\]:\s*)$", re.MULTILINE)


def without_magics(code: str) -> str:
    """Notebook magics, shell lines and pip lines as comments; line numbers stay."""
    return _MAGIC.sub(r"\1pass  # \2", code)


def straight_quotes(code: str) -> str:
    return code.translate(str.maketrans("“”‘’", "\"\"''"))
