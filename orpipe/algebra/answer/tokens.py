"""Formulas as language models write them (LaTeX, Markdown, plain text) cut into tokens, each with its place.

What only dresses a formula is dropped: spacing, fonts, alignment marks, \\left and \\right, tags and labels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from orpipe.errors import Unsupported

_COMMANDS = {
    "le": "<=",
    "leq": "<=",
    "leqslant": "<=",
    "ge": ">=",
    "geq": ">=",
    "geqslant": ">=",
    "ne": "!=",
    "neq": "!=",
    "lt": "<",
    "gt": ">",
    "in": "in",
    "notin": "notin",
    "forall": "forall",
    "sum": "sum",
    "cdot": "*",
    "times": "*",
    "ast": "*",
    "setminus": "setminus",
    "backslash": "setminus",
    "ldots": "...",
    "dots": "...",
    "cdots": "...",
    "dotsc": "...",
    "mid": ":",
    "colon": ":",
    "subseteq": "subset",
    "subset": "subset",
    "quad": ";;",
    "qquad": ";;",
    "lvert": "|",
    "rvert": "|",
    "vert": "|",
    "infty": "inf",
    "frac": "frac",
    "tfrac": "frac",
    "dfrac": "frac",
    "min": "min",
    "max": "max",
    "minimize": "min",
    "maximize": "max",
    "minimise": "min",
    "maximise": "max",
    "lbrace": "{",
    "rbrace": "}",
    "land": ",",
    "wedge": ",",
    "div": "/",
    "ell": "@ell",
    "lfloor": "floor",
    "lceil": "ceil",
}
_GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "varepsilon",
    "zeta",
    "eta",
    "theta",
    "lambda",
    "mu",
    "nu",
    "xi",
    "pi",
    "rho",
    "sigma",
    "tau",
    "phi",
    "varphi",
    "chi",
    "psi",
    "omega",
    "kappa",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Xi",
    "Pi",
    "Sigma",
    "Phi",
    "Psi",
    "Omega",
]
_FONTS = (
    "text",
    "mathrm",
    "mathit",
    "mathbf",
    "mathsf",
    "mathtt",
    "textbf",
    "textit",
    "textrm",
    "operatorname",
    "operatorname*",
    "mathcal",
    "mbox",
    "texttt",
    "boldsymbol",
    "bm",
    "textsf",
    "emph",
    "underline",
)
_DROPPED = (
    "displaystyle",
    "limits",
    "nolimits",
    "left",
    "right",
    "big",
    "Big",
    "bigl",
    "bigr",
    "Bigl",
    "Bigr",
    "biggl",
    "biggr",
    "bigg",
    "Bigg",
    "nonumber",
    "notag",
    "hfill",
    "textstyle",
    "smallskip",
    "medskip",
    "noindent",
    "hline",
    "hspace*",
    "mathstrut",
    "ensuremath",
    "phantom",
)
_UNICODE = {
    "≤": "<=",
    "⩽": "<=",
    "≥": ">=",
    "⩾": ">=",
    "≠": "!=",
    "∈": " in ",
    "∉": " notin ",
    "∀": " forall ",
    "∑": " sum",
    "Σ": " sum",
    "·": "*",
    "×": "*",
    "∗": "*",
    "−": "-",
    "–": "-",
    "…": "...",
    "⋯": "...",
    "∖": " setminus ",
    "⊆": " subset ",
    "⊂": " subset ",
    "∞": " inf ",
    "ℝ": "@R",
    "ℤ": "@Z",
    "ℕ": "@N",
    "⋅": "*",
    "\N{NO-BREAK SPACE}": " ",
    "∣": "|",
    "₊": "_+",
    **{c: f"_{k}" for k, c in enumerate("₀₁₂₃₄₅₆₇₈₉")},
    "ᵢ": "_i",
    "ⱼ": "_j",
    "ₖ": "_k",
    "ₜ": "_t",
    "ₙ": "_n",
    "ₚ": "_p",
    "⁺": "^+",
    "₋": "_-",
    "ₘ": "_m",
    "ₛ": "_s",
    "ₗ": "_l",
    "ₐ": "_a",
    "ₑ": "_e",
    "ₕ": "_h",
    "ᵣ": "_r",
    "ᵤ": "_u",
    "ᵥ": "_v",
    ":=": "=",
    "≔": "=",
    "∧": ",",
    "′": "'",
    "½": "0.5",
    "²": "^2",
    "³": "^3",
}
_PLAIN = re.compile(
    r"(?P<num>\d+(?:,\d{3})+(?!\d)(?=\s|$|[)*])|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+(?!\w))?)|(?P<dots>\.\.\.?)|(?P<op><=|=<|>=|=>|!=|<>|==|\|\||[-+*/=<>()\[\]{},;:|^_'])"
    r"|(?P<name>[^\W\d_][^\W_]*)|(?P<cmd>\\(?:[a-zA-Z]+\*?|.))|(?P<set>@[RZN])|(?P<space>\s+)|(?P<drop>[&~$`.!])|(?P<other>.)"
)
_WORDS = {
    "sum": "sum",
    "Sum": "sum",
    "SUM": "sum",
    "in": "in",
    "notin": "notin",
    "forall": "forall",
    "setminus": "setminus",
    "subset": "subset",
    "inf": "inf",
}
_FOR_ALL = re.compile(
    r"\b(?:for\s+all|for\s+each|for\s+every|for\s+any|forall|For\s+all|For\s+each|For\s+every)\b\s*:?|(?<![A-Za-z])for(?=\s+\(?[a-zA-Z](?:\s*,\s*[a-zA-Z])*\)?\s*(?:=|in\b|∈|\\in\b))"
)
_NOUNS = re.compile(
    r"\b(?:(?:for\s+)?(?:each|every)|for\s+all)\s+(?P<ones>(?:(?:(?!and\b|for\b|the\b)[a-z-]{3,}\s+){1,2}[a-z]\b(?!\s*(?!in\b)[a-z]))"
    r"(?:\s*(?:,|and)\s*(?:(?:each|every|all)\s+)?(?:(?:(?!and\b|for\b|the\b)[a-z-]{3,}\s+){0,2}[a-z]\b(?![a-z(])))*)",
    re.I,
)  # for each plant p and each week t
_LONGEST, _HIGHEST = 400, 308  # digits and power of ten of a number


@dataclass(frozen=True, slots=True)
class Token:
    """kind: num, name, text (words in \\text), set (R, Z, N) or the operator itself.  glued: no space before it."""

    kind: str
    text: str
    glued: bool = False


def group(text: str, start: int) -> int:
    """The end (exclusive) of the braces that open at `start`; Unsupported where they do not close."""
    depth = 0
    k = start
    while k < len(text):
        if text[k] == "\\":
            k += 2
            continue
        depth += (text[k] == "{") - (text[k] == "}")
        k += 1
        if not depth:
            return k
    raise Unsupported(f"braces do not close in '{text[start : start + 60]}'")


def _unwrapped(text: str) -> str:
    """\\underset{x}{\\min} is \\min, \\underbrace{f}_{cost} is f."""
    while (found := re.search(r"\\(underset|underbrace|overbrace|boxed)\s*(?=\{)", text)) is not None:
        first = group(text, found.end())
        inside, rest = text[found.end() + 1 : first - 1], text[first:]
        if found[1] == "underset":
            opened = re.match(r"\s*\{", rest)
            if opened is None:
                end = re.match(r"\s*(?:\\[A-Za-z]+\*?)", rest)
                if end is None:
                    raise Unsupported("\\underset is not understood")
                inside, rest = end[0], rest[end.end() :]
            else:
                end_of = group(rest, opened.end() - 1)
                inside, rest = rest[opened.end() : end_of - 1], rest[end_of:]
        elif found[1] != "boxed" and (mark := re.match(r"\s*[_^]\s*\{", rest)) is not None:
            rest = rest[group(rest, mark.end() - 1) :]
        text = f"{text[: found.start()]} {inside} {rest}"
    return text


def tokens(text: str) -> list[Token]:
    """The tokens of one formula.  Raises Unsupported for a command or sign that is not known."""
    for sign, meaning in _UNICODE.items():
        text = text.replace(sign, meaning)
    text = _unwrapped(text)
    text = _NOUNS.sub(lambda m: " \\forall " + ", ".join(re.findall(r"\b[a-z]\b", m["ones"])) + " ", text)
    text = _FOR_ALL.sub(r" \\forall ", text)
    text = re.sub(r"\\(?:,|:|;|!| |>)|~", lambda m: " " if m[0] != r"\," else "\x00", text)
    text = re.sub(r"(?<=\d)(?:\x00|\{,\})(?=\d{3}(?!\d))", "", text).replace("\x00", " ")
    text = re.sub(r"\\(?:tag\*?|label|hspace\*?|vspace\*?|phantom|color)\s*\{(?:[^{}]|\\.|\{[^{}]*\})*\}", " ", text)
    text = re.sub(r"\*\*|__(?=\w)", " ", text) if "**" in text else text
    out: list[Token] = []
    at, glued = 0, False
    while at < len(text):
        found = _PLAIN.match(text, at)
        assert found is not None
        piece, kind, at = found[0], found.lastgroup, found.end()
        if kind == "space" or kind == "drop":
            glued = False
            continue
        if kind == "num":
            power = piece.lower().partition("e")[2]
            if len(piece) > _LONGEST or abs(int(power or 0)) > _HIGHEST:
                raise Unsupported(f"the number {piece[:40]} is too large to be meant")
            out.append(Token("num", piece.replace(",", ""), glued))
        elif kind == "dots":
            out.append(Token("...", piece))
        elif kind == "op":
            out.append(Token({"=<": "<=", "=>": ">=", "<>": "!=", "==": "=", "||": "|"}.get(piece, piece), piece, glued))
        elif kind == "name":
            out.append(Token(_WORDS[piece], piece, glued) if piece in _WORDS else Token("name", piece, glued))
        elif kind == "set":
            out.append(Token("set", piece[1]))
        elif piece == "%":
            _percent(text, out)
        elif kind == "cmd":
            at = _command(piece[1:], text, at, out)
        else:
            raise Unsupported(f"'{piece}' in '{text.strip()[:80]}' is not understood")
        glued = True
    return out


def _percent(text: str, out: list[Token]) -> None:
    if not out or out[-1].kind != "num":
        raise Unsupported(f"'%' in '{text.strip()[:80]}' is not understood")
    out[-1] = Token("num", str(Fraction(out[-1].text) / 100), out[-1].glued)


def _command(name: str, text: str, at: int, out: list[Token]) -> int:
    """Appends what a command means; the place after it."""
    if name in _COMMANDS:
        word = _COMMANDS[name]
        out.append(Token("name", "l") if word == "@ell" else Token(word, word))
    elif name in _GREEK:
        out.append(Token("name", name.removeprefix("var")))
    elif name in "{}":
        out.append(Token("\\" + name, name))
    elif name == "|":
        out.append(Token("|", "|"))
    elif name == "_":
        out.append(Token("_", "_"))
    elif name == "%":
        _percent(text, out)
    elif name in "$#&":
        pass
    elif name in ("mathbb", "mathds", "Bbb"):
        found = re.compile(r"\s*\{?\s*([RZNBQ])\s*\}?").match(text, at)
        if found is None or found[1] == "Q":
            raise Unsupported(f"\\{name} in '{text.strip()[:80]}' is not understood")
        out.append(Token("set", found[1]))
        return found.end()
    elif name in _FONTS:
        found = re.compile(r"\s*\{").match(text, at)
        if found is None:
            return at
        end = group(text, found.end() - 1)
        inside = text[found.end() : end - 1]
        phrase = re.sub(r"\\[ ,;:]|~|\\_", lambda m: "_" if m[0] == r"\_" else " ", inside)
        if (
            name in ("mathcal", "mathbf", "boldsymbol", "bm", "mathrm", "mathit", "operatorname", "operatorname*", "mathsf") and "\\" in phrase
        ) or "$" in phrase:
            out.extend(tokens(phrase))
        else:
            before, forall, after = phrase.partition("\\forall")
            if before.strip() or not forall:
                out.append(Token("text", " ".join(before.split()), text[at - len(name) - 2 : at - len(name) - 1].strip() != ""))
            if forall:
                out.append(Token("forall", "forall"))
                out.extend(tokens(after))
        return end
    elif name == "substack":
        found = re.compile(r"\s*\{").match(text, at)
        if found is None:
            raise Unsupported("\\substack without braces")
        end = group(text, found.end() - 1)
        out.extend(tokens(text[found.end() : end - 1].replace("\\\\", ",")))
        return end
    elif name == "\\":
        out.append(Token(";;", "\\\\"))
    elif name not in _DROPPED:
        raise Unsupported(f"\\{name} in '{text.strip()[:80]}' is not understood")
    return at
