"""Sentences about a fault, from the model's own words.

Declarations say what they mean in noun phrases ("cost of keeping a depot open"), binaries as "1 if depot i is open",
rows in a clause ("only open depots ship, up to capacity").  These helpers put them where any phrase of that kind is
grammatical: after "says that", in parentheses, or behind an article.  Algebra is plain text between backticks, or LaTeX
between dollar signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from orpipe.algebra import nodes as n
from orpipe.algebra.latex import condition_tex, domain_tex, expr_tex, name_tex, ref_tex, row_tex
from orpipe.algebra.text import condition_text, expr_text, ref_text, row_label, row_text, var_text
from orpipe.mutate.part import Part, Piece
from orpipe.mutate.places import is_negative
from orpipe.render.words import the


@dataclass(frozen=True, slots=True)
class Account:
    """A fault told to a learner, each field one or more full sentences.

    fault: which piece is wrong, what it does and what it should do; why: what follows from it; repair: what to write.
    """

    fault: str
    why: str
    repair: str

    @classmethod
    def of(cls, fault: str, why: str, repair: str) -> Account:
        return cls(sentence(fault), sentence(why), sentence(repair))

    def __str__(self) -> str:
        return f"{self.fault} {self.why} {self.repair}"


def sentence(text: str) -> str:
    """First letter raised, one period at the end."""
    text = text.strip()
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _lowered(text: str) -> str:
    """A small first letter, unless the first word is an abbreviation."""
    head = text.split(" ")[0]
    return text if len(head) > 1 and not head[1:].islower() else text[:1].lower() + text[1:]


@dataclass(frozen=True)
class Words:
    """Phrases of one (right) model.  names: algebra in code names (ship[i,j], depots), not in letters (x[i,j], I).
    tex: algebra in LaTeX, in letters."""

    model: n.Model
    names: bool = False
    tex: bool = False

    # -- plain words
    def fill(self, text: str) -> str:
        """`text` without a final period; {I} and {I_s}, where no scenario has filled them, give noun and plural."""
        def noun(match: re.Match[str]) -> str:
            symbol, plural = match[1].removesuffix("_s"), match[1].endswith("_s")
            decl = self.model.set_by.get(symbol) or self.model.set_by.get(match[1])
            return match[1] if decl is None else decl.plural if plural else decl.noun

        return re.sub(r"\{(\w+)\}", noun, text).strip().rstrip(".")

    def the(self, meaning: str) -> str:
        """A meaning as a noun phrase: "the cost of keeping a depot open"."""
        text = self.fill(meaning)
        first = text.split(" ")[0].lower() if text else ""
        if re.match(r"[01]\b", first):
            return f"the indicator that is {text}"
        return the(text)

    def noun(self, symbol: str) -> str:
        return self.model.set_by[symbol].noun

    def plural(self, symbol: str) -> str:
        return self.model.set_by[symbol].plural

    def because(self, row: n.Row) -> str:
        """What the row says, to follow "that"."""
        return _lowered(self.fill(row.because))

    @staticmethod
    def series(phrases: Iterable[str]) -> str:
        """a; a and b; a, b and c"""
        items = list(phrases)
        return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]

    # -- algebra between backticks or dollar signs
    def rename(self, node):
        """The node with code names for symbols, if these are wanted."""
        if not self.names or node is None:
            return node
        m = self.model

        def index(k: n.Index) -> n.Index:
            return n.Index(k.name, m.set_by[k.set].name)

        def change(x):
            match x:
                case n.ParamRef(param=p):
                    return replace(x, param=m.param_by[p].name)
                case n.VarRef(var=v):
                    # a variable that a mutant adds has one name for both
                    return replace(x, var=m.var_by[v].name if v in m.var_by else v)
                case n.Card(set=s) | n.Member(set=s):
                    return replace(x, set=m.set_by[s].name)
                case n.Sum(indices=indices):
                    return replace(x, indices=tuple(map(index, indices)))
            return x

        def deep(x):
            return n.rebuild(x, change)

        match node:
            case n.Row():
                return replace(node, forall=tuple(map(index, node.forall)), where=deep(node.where),
                               left=deep(node.left), right=deep(node.right))
            case n.Term():
                return replace(node, expr=deep(node.expr))
            case n.VarDecl():
                domain = m.set_by[node.domain].name if node.domain else None
                return replace(node, symbol=node.name, indices=tuple(map(index, node.indices)), domain=domain,
                               lower=deep(node.lower), upper=deep(node.upper))
        return deep(node)

    def ex(self, e: n.Expr | n.Cond | n.Index | n.Ref) -> str:
        if isinstance(e, n.Index):
            return f"${e.name}$" if self.tex else f"`{e.name}`"
        if isinstance(e, n.Ref):
            return f"${ref_tex(e)}$" if self.tex else f"`{ref_text(e)}`"
        condition = isinstance(e, (n.Compare, n.Edge, n.Member, n.DataCompare, n.And))
        if self.tex:
            return f"${condition_tex(e) if condition else expr_tex(e)}$"  # type: ignore[arg-type]
        return f"`{(condition_text if condition else expr_text)(self.rename(e))}`"

    def formula(self, row: n.Row) -> str:
        """The row without its name."""
        return f"${row_tex(row)}$" if self.tex else f"`{row_text(self.rename(row))}`"

    def write(self, piece: Piece | None) -> str:
        """The whole piece as it stands in the algebra: name, formula and scope; for a variable its domain."""
        match self.rename(piece) if not isinstance(piece, n.Objective) else piece:
            case n.Row() as r if self.tex:
                return f"`{r.name}`: ${row_tex(r)}$"
            case n.Term(name=name, expr=e) if self.tex:
                return f"`{name}`: ${expr_tex(e)}$"
            case n.VarDecl() as v if self.tex:
                return f"${domain_tex(v).replace(' && ', chr(92) + 'quad ')}$"
            case n.Row() as r:
                return f"`{row_label(r)}: {row_text(r)}`"
            case n.Term(name=name, expr=e):
                return f"`{name}: {expr_text(e)}`"
            case n.VarDecl() as v:
                return f"`{var_text(v, str, str).split(':')[0].removesuffix(' auxiliary')}`"
            case n.Objective(sense=sense):
                return f"`{sense}`"
        raise AssertionError(piece)

    def repair(self, part: Part) -> str:
        """write the constraint as ...; write the term as ..."""
        return f"write the {'constraint' if part.kind == 'row' else 'term'} as {self.write(part.before)}"

    def says(self, part: Part) -> str:
        """The repair, for a constraint with what it says."""
        return self.repair(part) + (f", which says that {self.because(part.row)}" if part.kind == "row" else "")

    # -- pieces with their words
    def host(self, part: Part) -> str:
        """constraint `capacity`; term `opening`"""
        return f"{'constraint' if part.kind == 'row' else 'term'} `{part.name}`"

    def term(self, t: n.Term, last: bool = False) -> str:
        """term `opening`, the cost of keeping depots open,  (without the closing comma at the end of a clause)"""
        meaning = self.the(t.meaning)
        if meaning.removeprefix("the ").replace(" ", "_") == t.name:
            return f"term `{t.name}`"
        return f"term `{t.name}`, {meaning}" + ("" if last else ",")

    def var(self, symbol: str) -> str:
        """`y` (1 if depot i is open)"""
        decl = self.model.var_by[symbol]
        return f"{self._symbol(decl)} ({self.fill(decl.meaning)})"

    def param(self, symbol: str) -> str:
        """`q` (what a depot can dispatch)"""
        decl = self.model.param_by[symbol]
        return f"{self._symbol(decl)} ({self.fill(decl.meaning)})"

    def _symbol(self, decl: n.VarDecl | n.ParamDecl) -> str:
        return f"${name_tex(decl.symbol)}$" if self.tex else f"`{decl.name if self.names else decl.symbol}`"

    def data(self, e: n.Expr) -> str:
        """The expression, with the words of its parameter if it is a single one: `d[j]` (daily need of a customer)."""
        inner = e.arg if isinstance(e, n.Neg) else e
        if isinstance(inner, n.ParamRef):
            return f"{self.ex(e)} ({self.fill(self.model.param_by[inner.param].meaning)})"
        if isinstance(inner, n.Sum) and isinstance(inner.body, n.ParamRef):
            return f"{self.ex(e)} ({self.fill(self.model.param_by[inner.body.param].meaning)}, added up)"
        return self.ex(e)

    def amount(self, e: n.Expr) -> str:
        """The expression, with the words of its variable if it is a single one."""
        if isinstance(e, n.VarRef):
            return f"{self.ex(e)} ({self.fill(self.model.var_by[e.var].meaning)})"
        return self.data(e)

    def goal(self) -> str:
        """What the objective adds up: "the total of the cost of carriage and the cost of opening"."""
        plus = [self.the(t.meaning) for t in self.model.objective.terms if not is_negative(t.expr)]
        less = [self.the(t.meaning) for t in self.model.objective.terms if is_negative(t.expr)]
        if not plus:
            return self.series(less) if len(less) == 1 else f"the total of {self.series(less)}"
        text = plus[0] if len(plus) == 1 else f"the total of {self.series(plus)}"
        return text if not less else f"{text}, less {self.series(less)},"

    def is_cost(self, term: n.Term) -> bool:
        """Does a larger value of the term make the plan worse?"""
        return (self.model.objective.sense == "minimize") != is_negative(term.expr)
