"""An answer (Markdown, LaTeX, plain text) cut into formulas and prose, each with its line and the section it stands in."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from orpipe.algebra.answer.looks import compares, mathlike, related, rows_of

CONS, VARS, SETS, PARAMS, GOAL, RESULT, NONE = "constraints", "variables", "sets", "parameters", "objective", "solution", ""
_TITLES = (
    (
        CONS,
        r"(?:the\s+)?(?:subject\s+to|such\s+that|s\.\s?t\.?|(?:(?:main|model|structural|all|linear|other|additional)\s+)?constraints?(?:\s+set)?|bounds?|(?:variable\s+)?domains?|(?:the\s+)?domains?\s+of\s+the\s+variables"
        r"|non-?negativity(?:\s+and\s+integrality)?|integrality|variable\s+(?:bounds|types)|under\s+the\s+constraints?|under)",
    ),
    (
        VARS,
        r"(?:the\s+)?(?:decision\s+|auxiliary\s+|helper\s+)?variables?(?:\s+(?:and\s+domains?|definitions?))?|to\s+be\s+chosen|decisions?|unknowns?",
    ),
    (
        SETS,
        r"(?:index\s+)?sets?(?:\s+and\s+ind(?:ices|exes))?|indices(?:\s+and\s+sets?)?|sets?,?\s+indices(?:\s+and\s+parameters?)?|sets?\s+and\s+(?:parameters?|data)|notation",
    ),
    (PARAMS, r"(?:the\s+)?(?:input\s+)?(?:parameters?|data)(?:\s+and\s+(?:sets|data))?|given|and\s+the\s+data|known\s+data|constants?|coefficients?"),
    (GOAL, r"(?:the\s+)?(?:objective(?:\s+function)?|goal)(?:\s*\((?:to\s+be\s+)?(?P<sense>maximi[sz]e|minimi[sz]e|max|min)[^)]*\))?"),
)
_MODEL = re.compile(
    r"(?:(?:the|full|complete|final|compact|mathematical|milp|ilp|mip|lp|integer|linear|optimi[sz]ation|programming|mixed-integer|formal)\s+)*(?:model|formulation|program(?:me)?|problem)(?:\s+(?:formulation|statement))?",
    re.I,
)
_RESULT = re.compile(
    r"(?:(?:the|an?|optimal|final|best|computed|resulting|optimum)\s+)*"
    r"(?:solutions?|results?|plan|answer|optimum|values?(?:\s+of\s+the\s+variables)?)",
    re.I,
)
_GOAL = re.compile(
    r"^(?:the\s+)?(?:objective(?:\s+function)?\s*(?:is\s+to\s+|:\s*|-\s*)?|we\s+(?:want\s+to|wish\s+to)?\s*|goal\s*:\s*)?(maximi[sz]e|minimi[sz]e|maximum|minimum|max|min)\b\.?",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:>\s*)*(?:[-*+•–]\s+|(?:\(?(?:\d{1,2}|[a-h]|[ivx]{1,4}|[CcRr]\d{1,2})[.)]\s+))?")
_BEGIN = re.compile(
    r"\\(?:begin|end)\s*\{(align|aligned|alignat|alignedat|equation|gather|gathered|split|array|cases|eqnarray|flalign|multline|optimize|math|displaymath|itemize|enumerate|mini|maxi)\*?\}(?:\[[^\]]*\])?(?:\{[^{}]*\})?"
)
_SUCH = re.compile(
    r"\\(?:text|mathrm|operatorname|textrm|mbox|textbf|mathbf)\s*\{\s*(?:s\.?\s?t\.?|subject\s+to|such\s+that|subj\.?\s+to)\s*[:.,]?\s*\}\s*:?|\\st\b|\bs\.t\.(?=[\s:])|(?<![\w\\{])(?:subject\s+to|such\s+that|s\.\s?t\.)\s*:?",
    re.I,
)
_CASES = re.compile(r"=\s*\\begin\{cases\}\s*1\s*,?\s*(?:&|\\text).*?\\\\\s*0\s*,?\s*(?:&|\\text).*?\\end\{cases\}", re.S)
_DISPLAY = re.compile(
    r"\$\$(?P<a>.*?)\$\$|\\\[(?P<b>.*?)\\\]|\\begin\{(?P<env>align|equation|gather|eqnarray|flalign|multline|alignat|displaymath)(?P<star>\*?)\}(?P<c>.*?)\\end\{(?P=env)(?P=star)\}",
    re.S,
)
_INLINE = re.compile(r"\$(?P<a>[^$\n]+)\$|\\\((?P<b>.+?)\\\)|`(?P<c>[^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Piece:
    """One formula, or a line of prose (formula "").  firm: it stands as a formula, not inside a sentence.  item: the number
    of the bullet or paragraph it belongs to."""

    line: int
    formula: str
    before: str
    after: str
    section: str
    firm: bool
    raw: str
    goal: str = ""  # minimize or maximize, where this line announces the objective
    mode: str = "plain"  # display, inline or plain
    bullet: bool = False


def pieces(text: str) -> list[Piece]:
    """In order.  Fenced blocks of program code are left out; other fenced blocks are read as lines of formulas."""
    text = re.sub(r"<think>.*?</think>", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    text = re.sub(r"(?m)(?<!\\)%.*$", lambda m: "" if "\\begin{" in text and not re.search(r"\d\s*$", text[: m.start()][-3:]) else m[0], text)
    text = re.sub(
        r"^[ \t]*```[ \t]*(?:python|py|json|yaml|bash|gams|ampl|julia|cpp|java|c)\b.*?^[ \t]*```",
        lambda m: "\n" * m[0].count("\n"),
        text,
        flags=re.S | re.M,
    )
    text = text.translate(_LOWERED)
    text = re.sub(r"(?m)^[ \t]*</?[A-Za-z][\w-]*>[ \t]*$", "", text)
    reader = _Lines()
    at = 0
    line = 1
    for found in _DISPLAY.finditer(text):
        reader.lines(text[at : found.start()], line)
        line += text.count("\n", at, found.start())
        reader.display(found["a"] or found["b"] or found["c"] or "", line)
        line += found[0].count("\n")
        at = found.end()
    reader.lines(text[at:], line)
    return reader.out


class _Lines:
    def __init__(self) -> None:
        self.out: list[Piece] = []
        self.section, self.goal, self.fence, self.title = NONE, "", False, ""

    # -- displayed formulas
    def display(self, text: str, line: int) -> None:
        line += len(text) - len(text.lstrip("\n"))
        text = text.strip("\n")
        boxed = re.match(r"\s*\\boxed\s*(?=\{)", text)
        if boxed and text[boxed.end() :].rstrip().endswith("}"):
            text = " " + text[boxed.end() + 1 :].rstrip()[:-1]
        text = _CASES.sub(lambda m: r"\\in\{0,1\}".replace("\\\\", "\\") + "\n" * m[0].count("\n"), text)
        text = _BEGIN.sub(lambda m: "" if m[0].startswith("\\begin") or m[1] not in ("cases", "aligned", "array", "gathered", "split") else " ", text)
        held: list[Piece] = []
        for number, row in rows_of(text, line):
            parts = _SUCH.split(row)
            for k, part in enumerate(parts):
                if k:
                    self.section, self.goal = CONS, ""
                bare = part.strip().strip("&").strip()
                plain = re.sub(r"\\(?:quad|qquad|,|;|!|:| )|[\s&.,{}]|\\(?:text|mathbf|textbf|mathrm|underline)\b", "", bare)
                if not plain or re.fullmatch(r"(?:maximi[sz]e|minimi[sz]e)?:?", plain, re.I):
                    if plain:
                        self.goal = _sense(plain)
                        self.section = GOAL
                    continue
                joins = bool(held) and re.match(r"(?:\\quad|\\qquad|[\s&{}]|\\[,;!])*(?:[+]|-|\\le|\\ge|<|>|=|\\cdot|\\times)", bare) is not None
                if (
                    joins
                    and (re.match(r"(?:\\quad|\\qquad|[\s&{}]|\\[,;!])*(?:[+]|\\le|\\ge|<|>|=)", bare) or not compares(held[-1].formula))
                    and not (compares(held[-1].formula) and compares(bare))
                ):
                    held[-1] = replace(held[-1], formula=f"{held[-1].formula} {bare}", raw=f"{held[-1].raw} {bare}")
                else:
                    held.append(Piece(number, bare, self.title, "", self.section, True, bare, self.goal, "display"))
                    self.goal = ""
        self.out += held
        self.title = ""

    # -- lines of text
    def lines(self, text: str, start: int) -> None:
        for number, raw in enumerate(text.split("\n"), start=start):
            self.line(raw, number)

    def line(self, raw: str, number: int) -> None:
        if raw.strip().startswith("```") or raw.strip().startswith("~~~"):
            self.fence = not self.fence
            return
        bare = re.sub(r"^\s*#+\s*", "", raw) if not self.fence else re.sub(r"(?:^|\s)(?:#|//).*$", "", raw)
        heading = bare != raw and not self.fence
        if not bare.strip() or re.fullmatch(r"[\s|:=*_-]+", bare) or re.match(r"\s*\\(?:documentclass|usepackage|begin|end|maketitle)\b", bare):
            return
        bullet = _BULLET.match(bare)
        body = bare[bullet.end() if bullet and not self.fence else 0 :].strip() or bare.strip()
        body = re.sub(r"^\\(?:item|section\*?|subsection\*?|paragraph\*?)\b\s*", "", body)
        body = re.sub(r"^\{(.*)\}$", r"\1", body)
        body = re.sub(r"\*\*(.+?)\*\*|(?<!\w)__(.+?)__(?!\w)", lambda m: m[1] or m[2], body)
        body = re.sub(r"(?<![\w$*])\*([A-Za-z][^*$]*[A-Za-z.:?)])\*(?![\w*])", r"\1", body).strip()
        body = re.sub(r"(?<![\w$*])\*([A-Za-z])\*(?=\[)", r"\1", body)
        body = re.sub(r"^\\textbf\{([^{}]*)\}", r"\1", body)
        if self.titled(body, heading, number):
            return
        if body.startswith("|") and body.endswith("|") and body.count("|") > 2:
            self.table(body, number)
            return
        self.sentence(body, number, bool(bullet and bullet[0].strip()) and not self.fence, heading)

    def titled(self, body: str, heading: bool, number: int) -> bool:
        """A title alone on its line, or before a colon and the rest."""
        title = re.sub(r"^(?:step\s+)?\d+[.):]?\s*", "", body.rstrip().rstrip(":").strip(), flags=re.I)
        for section, form in _TITLES:
            found = re.fullmatch(form + (r"(?:\s*\([^)]*\))?" if section != GOAL else ""), title, re.I)
            if found:
                self.section, self.goal, self.title = section, _sense(found.groupdict().get("sense") or ""), ""
                return True
            if heading and re.search(r"\b(?:" + form + r")\b", title, re.I) and not related(title):
                self.section, self.goal, self.title = section, "", ""
                if section == GOAL and re.search(r"maximi|minimi", title, re.I):
                    self.goal = _sense(title)
                return True
        if _MODEL.fullmatch(title):
            self.section, self.title = NONE, ""
            return True
        if _RESULT.fullmatch(title):
            self.section, self.title = RESULT, ""
            return True
        if heading:
            self.section = NONE
        for section, form in _TITLES:
            found = re.match(r"(?:" + form + r")\s*:\s*(?=\S)", body, re.I)
            if found and section != NONE and not (section == CONS and re.match(r"under\b", body, re.I)):
                self.section = section
                self.goal = _sense(found.groupdict().get("sense") or "")
                self.line(body[found.end() :], number)
                return True
        found = re.match(r"(?:subject\s+to|such\s+that|s\.\s?t\.)\s*:?\s+(?=\S)", body, re.I)
        if found:
            self.section, self.goal = CONS, ""
            self.line(body[found.end() :], number)
            return True
        return False

    def table(self, body: str, number: int) -> None:
        cells = [c.strip() for c in re.split(r"(?<!\\)\|(?!\w\|)", body.strip("|"))]
        shown = [c.strip("$` ") for c in cells]
        if len(cells) > 1 and re.fullmatch(r"(?:\\le|\\ge|<=|>=|≤|≥|\\in).*", shown[-1].strip()) and self.section == VARS:
            self.sentence(f"${shown[0]} {shown[-1]}$: " + "; ".join(cells[1:-1]), number, False, False)
        elif (
            len(cells) > 1
            and (_INLINE.fullmatch(cells[0]) or re.fullmatch(r"[a-zA-Z]\w{0,12}(?:_\w+|_\{[^}]*\}|\[[^\]]*\])?", cells[0]))
            and not any(related(re.sub(r"[$`]|\\[()]", "", _KIND_CELL.sub(" ", c))) for c in cells[1:])
        ):
            self.out.append(Piece(number, shown[0], "", "; ".join(cells[1:]), self.section, False, body, mode="inline"))
        else:
            for cell in cells:
                if cell:
                    self.sentence(cell, number, False, False)

    def sentence(self, body: str, number: int, bullet: bool, heading: bool) -> None:
        whole = _SENTENCE.match(body)
        if whole is not None:  # ... is: maximize $a$ subject to $b$, with $c$
            self.sentence(whole["g"], number, False, False)
            self.section, self.goal = CONS, ""
            self.sentence(whole["r"], number, False, False)
            return
        goal = _GOAL.match(body)
        if goal and not self.goal and not _limit(goal[1], body[goal.end() :], self.section):
            self.goal, self.section = _sense(goal[1]), GOAL
            body = body[goal.end() :].strip()
            body = re.sub(r"^(?:the\s+)?(?:total\s+|overall\s+)?[A-Za-z][A-Za-z ()-]*:\s*", "", body) if ":" in body else body
            body = body.lstrip(": ")
            if not body:
                return
        segments, at = [], 0
        for found in _INLINE.finditer(body):
            segments.append((False, body[at : found.start()]))
            segments.append((True, found["a"] or found["b"] or found["c"]))
            at = found.end()
        segments.append((False, body[at:]))
        if len(segments) > 1:
            self.mixed(segments, number, bullet, body)
        else:
            self.plain(body, number, bullet)

    def mixed(self, segments: list[tuple[bool, str]], number: int, bullet: bool, raw: str) -> None:
        """Formulas between words: joined where only «for all», «and» or a comma stands between."""
        joined: list[tuple[bool, str]] = []
        for k, (math, text) in enumerate(segments):
            link = _link(text) if not math and 0 < k < len(segments) - 1 else None
            if link is not None and joined and joined[-1][0] and not text.strip().endswith("."):
                joined[-1] = (True, joined[-1][1] + link)
                continue
            if math and k >= 2 and joined and joined[-1][0]:
                joined[-1] = (True, joined[-1][1] + text)
            else:
                joined.append((math, text))
        formulas = [k for k, (math, _) in enumerate(joined) if math]
        for k in formulas:
            before, after = (joined[k - 1][1] if k else ""), (joined[k + 1][1] if k + 1 < len(joined) else "")
            label = k <= 1 and (not before.strip() or before.rstrip().endswith((":", "]", ".")) or len(before.split()) <= 3)
            tail = re.sub(r"\(.*?\)", "", after).strip(" .,;:")
            firm = (
                label
                and (len(tail.split()) <= 6 or after.lstrip().startswith((":", "(", ",", ";", ".", "—", "–", "-")) or _kindly(after))
                and (self.section in (CONS, GOAL) or len(formulas) == 1 or k == formulas[0])
            )
            self.out.append(Piece(number, joined[k][1], before, after, self.section, firm or bool(self.goal), raw, self.goal, "inline", bullet))
            if self.goal:
                self.goal = ""

    def plain(self, body: str, number: int, bullet: bool) -> None:
        formula, before = body, ""
        named = re.match(r"\((?P<l>[A-Za-z]+(?:[ -][A-Za-z]+)+)\)\s+(?=\S)", body) or re.match(r"\((?P<l>[A-Za-z]{3,})\)\s{2,}(?=\S)", body)
        if named and self.section == CONS and related(body[named.end() :]):  # (School Lane)  y_2 + y_3 >= 1
            before, formula = named["l"], body[named.end() :]
            body = formula
        if self.fence or self.section != NONE or related(body):
            label = re.match(r"^(?P<l>[A-Za-z][^:=<>≤≥∑∈\\]{0,80}?(?:\([^)]*\))?|\w+\[[\w,]*\]|\(?\w{1,4}\)?)\s*:\s+(?=\S)", body)
            if (
                label
                and not re.match(r"(?:for\s+all|for\s+each|for\s+every)\b", label["l"], re.I)
                and not (self.section in (VARS, SETS, PARAMS, NONE) and re.fullmatch(r"[A-Za-z]\w{0,3}(?:\[[\w,]*\]|_\{?\w+\}?)?", label["l"]))
            ):
                before, formula = label["l"], body[label.end() :]
        comment = re.search(
            r"(?:\s+(?:--|—|//|#|←|–)\s+.*|\s+\([$€£%][^()<>=]*\)|\s+\[[A-Za-z][a-z]{2,}(?: [a-z]+)*\]"
            r"|\s+\((?=[^()]*[a-z]{3})(?!.*\b(?:integer|binary)\b)[^()<>=≤≥]*\))\s*\.?$",
            formula,
        )
        after = ""
        if comment and not re.match(r".*\bsum\b", comment[0]):
            formula, after = formula[: comment.start()], comment[0]
        self.out.append(
            Piece(
                number,
                formula.strip().rstrip("."),
                before,
                after,
                self.section,
                self.fence or self.section in (CONS, GOAL) or bool(before),
                body,
                self.goal,
                "plain",
                bullet,
            )
        )
        if self.goal and (mathlike(formula)):
            self.goal = ""


_LOWERED = {ord(c): f"_{k}" for k, c in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_SENTENCE = re.compile(
    r"^(?P<w>[^$\\]*?)\b(?P<g>(?:maximi[sz]e|minimi[sz]e)\s+(?:\$[^$]+\$|\\\(.+?\\\)))\s*,?\s*(?:subject\s+to|s\.\s?t\.|such\s+that)"
    r"\s*:?\s+(?P<r>.*)$",
    re.I,
)
_KIND_CELL = re.compile(r"\$?(?:≥|>=|\\geq?)\s*0\b\$?|\$?(?:∈|\\in|\bin)?\s*\\?\{0,\s*1\\?\}\$?|=\s*[01]\b")


def _limit(word: str, rest: str, section: str) -> bool:
    """«Minimum contents: ... >= l» names a limit, not an objective."""
    noun = word.lower() in ("minimum", "maximum") or (section == CONS and word.lower() in ("min", "max"))
    if noun and section == CONS and re.match(r"\s+[A-Za-z ]*[:(]", rest):
        return True
    return noun and ":" in rest and re.search(r"<=|>=|[≤≥]|\\[lg]eq?\b|\\[lg]eqslant", rest) is not None and _SUCH.search(rest) is None


def _sense(word: str) -> str:
    return "" if not word else "maximize" if "max" in word.lower() else "minimize"


def _link(text: str) -> str | None:
    bare = text.strip().strip(".").lower()
    if bare in ("", ",", ";", "&"):
        return " , " if bare else "  "
    if re.fullmatch(r",?;?\s*(?:for\s+all|for\s+each|for\s+every|∀|for|for\s+any)", bare):
        return r" \quad \forall "
    if re.fullmatch(r",?\s*(?:and|or|with|where)(?:\s+for\s+(?:all|each))?", bare) and bare.strip(", ") in ("and",):
        return r" , "
    if re.fullmatch(r",?\s*and\s+(?:all|each|every)?", bare):
        return r" , "
    if re.fullmatch(r"\(?,?\s*(?:with|where|such\s+that|if)", bare) and bare.strip(", (") in ("with", "such that"):
        return r" \quad "
    return None


def _kindly(after: str) -> bool:
    return re.match(r"\W*(?:and\s+|are\s+|is\s+|must\s+be\s+|be\s+|all\s+)*(?:non-?negative|binary|integer|continuous)", after, re.I) is not None


def about(p: Piece, names: set[str]) -> bool:
    """Words on a row of the model, called by its name: «`supply`: no plant ships more than it has»."""
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", p.raw) for name in names)
