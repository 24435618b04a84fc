"""Models as LaTeX: aligned objective and rows, names in roman, sums with their conditions below."""

from __future__ import annotations

import re

from orpipe.algebra import nodes as n
from orpipe.algebra.text import number_text

_RELATION = {"<=": r"\le", ">=": r"\ge", "=": "=", "!=": r"\ne", "<": "<", ">": ">"}


def name_tex(name: str) -> str:
    """x, d_max -> d^{\\mathrm{max}}, makespan -> \\mathit{makespan}"""
    head, _, tail = name.partition("_")
    text = head if len(head) == 1 else rf"\mathit{{{head}}}"
    return text + (rf"^{{\mathrm{{{tail.replace('_', '~')}}}}}" if tail else "")


def ref_tex(ref: n.Ref) -> str:
    return ref.index if not ref.shift else f"{ref.index}{ref.shift:+d}"


def condition_tex(cond: n.Cond) -> str:
    match cond:
        case n.Compare(left=a, op=op, right=b):
            return f"{ref_tex(a)} {_RELATION[op]} {ref_tex(b)}"
        case n.Edge(ref=ref, op=op, end=end):
            return rf"{ref_tex(ref)} {_RELATION[op]} \mathrm{{{end}}}"
        case n.Member(refs=refs, set=s, negated=negated):
            inner = ",".join(ref_tex(r) for r in refs)
            return (inner if len(refs) == 1 else f"({inner})") + (r" \notin " if negated else r" \in ") + name_tex(s)
        case n.DataCompare(left=a, op=op, right=b):
            return f"{expr_tex(a)} {_RELATION[op]} {expr_tex(b)}"
        case n.And(parts=parts):
            return r",\ ".join(condition_tex(p) for p in parts)
    raise AssertionError(cond)


def scope_tex(indices: tuple[n.Index, ...], where: n.Cond | None) -> str:
    parts = list(n.conditions(where))
    refs = tuple(n.Ref(k.name) for k in indices)
    tuples = next((p for p in parts if isinstance(p, n.Member) and p == n.Member(refs, p.set)), None)
    if tuples is not None:
        parts.remove(tuples)
        head = condition_tex(tuples)
    else:
        head = r",\ ".join(rf"{k.name} \in {name_tex(k.set)}" for k in indices)
    return head + "".join(r",\ " + condition_tex(p) for p in parts)


def set_tex(s: n.SetDecl) -> str:
    """What a set is, without its words: «I», «E \\subseteq I \\times J», «D = \\{(i,j) : i \\in I, ...\\}»."""
    head = name_tex(s.symbol)
    if s.over and s.where is None:
        return head + r" \subseteq " + r" \times ".join(name_tex(k.set) for k in s.over)
    if s.over:
        inner = ",".join(k.name for k in s.over)
        return rf"{head} = \{{{inner if len(s.over) == 1 else f'({inner})'} : {scope_tex(s.over, s.where)}\}}"
    return head


def expr_tex(e: n.Expr, level: int = 0) -> str:
    def wrap(text: str, needed: bool) -> str:
        return rf"\left({text}\right)" if needed else text

    match e:
        case n.Num(value=v):
            text = number_text(v)
            if "/" in text:
                text = rf"\tfrac{{{v.numerator}}}{{{v.denominator}}}"
            return wrap(text, bool(level) and v < 0)
        case n.Card(set=s):
            return rf"\lvert {name_tex(s)} \rvert"
        case n.ParamRef(param=name, refs=refs) | n.VarRef(var=name, refs=refs):
            return name_tex(name) + (f"_{{{','.join(ref_tex(r) for r in refs)}}}" if refs else "")
        case n.Neg(arg=a):
            return wrap("-" + _operand(a), bool(level))
        case n.Add(terms=terms):
            text = expr_tex(terms[0], isinstance(terms[0], n.Add))
            for t in terms[1:]:
                text += f" - {_operand(t.arg)}" if isinstance(t, n.Neg) else f" + {expr_tex(t, isinstance(t, n.Add))}"
            return wrap(text, bool(level))
        case n.Mul(left=a, right=b):
            dot = r" \cdot " if _starts_with_digit(b) else r" \, "
            return expr_tex(a, 1) + dot + expr_tex(b, 1)
        case n.Div(left=a, right=b):
            return rf"\frac{{{expr_tex(a)}}}{{{expr_tex(b)}}}"
        case n.Sum(indices=indices, where=where, body=body):
            return wrap(rf"\sum_{{{scope_tex(indices, where)}}} {_operand(body)}", bool(level))
    raise AssertionError(e)


def _operand(e: n.Expr) -> str:
    """What a minus or a sum reaches over: a product or a further sum."""
    return expr_tex(e, not isinstance(e, n.Sum))


def _starts_with_digit(e: n.Expr) -> bool:
    return _starts_with_digit(e.left) if isinstance(e, n.Mul) else isinstance(e, n.Num) and e.value >= 0


def domain_tex(v: n.VarDecl) -> str:
    head = name_tex(v.symbol) + (f"_{{{','.join(k.name for k in v.indices)}}}" if v.indices else "")
    if v.kind == "binary":
        body = rf"{head} \in \{{0,1\}}"
    else:
        low = "" if v.lower is None else expr_tex(v.lower)
        high = "" if v.upper is None else expr_tex(v.upper)
        after = rf" \le {high}" if high else rf" \ge {low}" if low else r" \in \mathbb{R}"
        body = (rf"{low} \le " if high and low else "") + head + after
        if v.kind == "integer":
            body += r",\ " + head + r" \in \mathbb{Z}"
    member = n.Member(tuple(n.Ref(k.name) for k in v.indices), v.domain) if v.domain else None
    return body + (rf" && \forall\, {scope_tex(v.indices, member)}" if v.indices else "")


def row_tex(r: n.Row, align: str = "") -> str:
    """One row; `align` goes before its scope."""
    gap = align or r"\quad"
    scope = rf"{gap} \forall\, {scope_tex(r.forall, r.where)}" if r.forall else align
    return f"{expr_tex(r.left)} {_RELATION[r.relation]} {expr_tex(r.right)}{scope}"


def model_tex(model: n.Model) -> str:
    """An align* environment: objective, rows with \\forall and row names as tags, domains."""
    sense = r"\min" if model.objective.sense == "minimize" else r"\max"
    total = n.addition(*(t.expr for t in model.objective.terms))
    lines = [rf"{sense}\quad & {expr_tex(total)}"]
    for k, r in enumerate(model.rows):
        lead = r"\text{s.t.}\quad & " if k == 0 else "& "
        tag = re.sub(r"_", r"\\_", r.name)
        lines.append(rf"{lead}{row_tex(r, ' &&')} \tag{{{tag}}}")
    lines += ["& " + domain_tex(v) for v in model.variables]
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"
