"""The plain-text form of a linear model.  orpipe.algebra.parse reads it back: distinct models print as distinct texts.

    sets
      I: depots
      T: periods, numbered
      A subset of N x N: arcs
      P = {i in N, j in N : i != j}: ordered pairs
    parameters
      f[i in I] >= 0: opening cost [money/day]
      c[(i,j) in A] >= 0: cost of arc [money/goods]
    variables
      y[i in I] binary: 1 if depot i is open
      x[i in I, j in J] >= 0: amount shipped [goods/day]
    minimize
      opening: sum{i in I} f[i]*y[i]
      shipping: sum{i in I, j in J} c[i,j]*x[i,j]
    subject to
      demand[j]: sum{i in I} x[i,j] = d[j]  for all j in J
"""

from __future__ import annotations

from collections.abc import Callable

from orpipe.algebra import nodes as n
from orpipe.exact import decimal_text

Words = Callable[[str], str]
# words of the grammar, which no symbol may be
RESERVED = frozenset(("sum", "in", "not", "for", "all", "forall", "first", "last"))
RESERVED |= {"integer", "binary", "free", "auxiliary"}


def ref_text(ref: n.Ref) -> str:
    return ref.index if not ref.shift else f"{ref.index}{'+' if ref.shift > 0 else '-'}{abs(ref.shift)}"


def refs_text(refs: tuple[n.Ref, ...]) -> str:
    return "[" + ",".join(ref_text(r) for r in refs) + "]" if refs else ""


def condition_text(cond: n.Cond) -> str:
    match cond:
        case n.Compare(left=a, op=op, right=b):
            return f"{ref_text(a)} {op} {ref_text(b)}"
        case n.Edge(ref=ref, op=op, end=end):
            return f"{ref_text(ref)} {op} {end}"
        case n.Member(refs=refs, set=s, negated=negated):
            inner = ",".join(ref_text(r) for r in refs)
            return f"{inner if len(refs) == 1 else f'({inner})'} {'not in' if negated else 'in'} {s}"
        case n.DataCompare(left=a, op=op, right=b):
            return f"{expr_text(a)} {op} {expr_text(b)}"
        case n.And(parts=parts):
            return ", ".join(condition_text(p) for p in parts)
    raise AssertionError(cond)


def number_text(value) -> str:
    return decimal_text(value) or f"{value.numerator}/{value.denominator}"


def scope_text(indices: tuple[n.Index, ...], where: n.Cond | None, colon: str = " : ") -> str:
    """«i in I, j in J : i != j»; a first condition that binds exactly the indices reads «(i,j) in A»."""
    parts = list(n.conditions(where))
    if parts and parts[0] == n.Member(tuple(n.Ref(k.name) for k in indices), getattr(parts[0], "set", "")):
        head = condition_text(parts.pop(0))
    else:
        head = ", ".join(f"{k.name} in {k.set}" for k in indices)
    return head + (colon + ", ".join(condition_text(p) for p in parts) if parts else "")


def expr_text(e: n.Expr, level: int = 0) -> str:
    """level: 0 inside a sum of terms, 1 inside a product, 2 as an atom."""
    match e:
        case n.Num(value=v):
            text = number_text(v)
            return f"({text})" if level and (v < 0 or "/" in text) else text
        case n.Card(set=s):
            return f"|{s}|"
        case n.ParamRef(param=name, refs=refs) | n.VarRef(var=name, refs=refs):
            return name + refs_text(refs)
        case n.Neg(arg=a):
            # -3 is the number, -(3) its negation
            text = f"-({number_text(a.value)})" if isinstance(a, n.Num) else "-" + _operand(a)
            return f"({text})" if level else text
        case n.Add(terms=terms):
            text = expr_text(terms[0], isinstance(terms[0], n.Add))
            for t in terms[1:]:
                text += f" - {_operand(t.arg)}" if isinstance(t, n.Neg) else f" + {expr_text(t, isinstance(t, n.Add))}"
            return f"({text})" if level else text
        case n.Mul(left=a, right=b):
            text = f"{expr_text(a, 1)}*{expr_text(b, 2 if isinstance(b, (n.Mul, n.Div)) else 1)}"
            return f"({text})" if level > 1 else text
        case n.Div(left=a, right=b):
            # 1/3 is the number, (1)/3 a division
            over = f"({expr_text(a)})" if _whole(a) and _whole(b) else expr_text(a, 1)
            text = f"{over}/{expr_text(b, 2)}"
            return f"({text})" if level > 1 else text
        case n.Sum(indices=indices, where=where, body=body):
            text = f"sum{{{scope_text(indices, where)}}} {_operand(body)}"
            return f"({text})" if level else text
    raise AssertionError(e)


def _operand(e: n.Expr) -> str:
    """What a minus or a sum reaches over: a product or a further sum."""
    return expr_text(e, not isinstance(e, n.Sum))


def _whole(e: n.Expr) -> bool:
    return isinstance(e, n.Num) and e.value >= 0 and e.value.denominator == 1


def row_text(r: n.Row) -> str:
    """«sum{i in I} x[i,j] = d[j]  for all j in J»"""
    text = f"{expr_text(r.left)} {r.relation} {expr_text(r.right)}"
    return text + (f"  for all {scope_text(r.forall, r.where)}" if r.forall else "")


def row_label(r: n.Row) -> str:
    return r.name + ("[" + ",".join(k.name for k in r.forall) + "]" if r.forall else "")


def signature(symbol: str, indices: tuple[n.Index, ...], domain: str | None) -> str:
    if not indices:
        return symbol
    if domain:
        return f"{symbol}[{condition_text(n.Member(tuple(n.Ref(k.name) for k in indices), domain))}]"
    return f"{symbol}[{', '.join(f'{k.name} in {k.set}' for k in indices)}]"


def set_text(s: n.SetDecl, words: Words) -> str:
    plain = s.ordered and not s.numbered and not s.cyclic
    flags = "".join(f", {f}" for f, on in (("numbered", s.numbered), ("cyclic", s.cyclic), ("ordered", plain)) if on)
    if not s.over:
        return f"{s.symbol}: {words(s.plural)}{flags}"
    if s.where is None:
        return f"{s.symbol} subset of {' x '.join(k.set for k in s.over)}: {words(s.plural)}"
    return f"{s.symbol} = {{{scope_text(s.over, s.where)}}}: {words(s.plural)}"


def param_text(p: n.ParamDecl, words: Words, unit: Words) -> str:
    sign = {"nonnegative": " >= 0", "positive": " > 0", "any": ""}[p.sign]
    whole = " integer" if p.integer else ""
    return f"{signature(p.symbol, p.indices, p.domain)}{sign}{whole}: {_meaning(words(p.meaning), p.unit, unit)}"


def var_text(v: n.VarDecl, words: Words, unit: Words) -> str:
    head = signature(v.symbol, v.indices, v.domain)
    if v.kind == "binary":
        domain = " binary"
    else:
        domain = " integer" if v.kind == "integer" else ""
        domain += " free" if v.lower is None else f" >= {expr_text(v.lower)}"
        domain += "" if v.upper is None else f", <= {expr_text(v.upper)}"
    return f"{head}{domain}{' auxiliary' if v.auxiliary else ''}: {_meaning(words(v.meaning), v.unit, unit)}"


def _meaning(text: str, unit: str, name: Words) -> str:
    shown = "" if unit in ("", "1") else name(unit)
    if shown in ("", "1"):
        return f"{text} [1]" if text.endswith("]") else text
    return f"{text} [{shown}]"


def model_text(model: n.Model, words: Words = str, unit: Words = str) -> str:
    """The whole linear model; `words` and `unit` put the scenario's vocabulary into meanings and units."""
    lines = ["sets", *(f"  {set_text(s, words)}" for s in model.sets)]
    if model.params:
        lines += ["parameters", *(f"  {param_text(p, words, unit)}" for p in model.params)]
    lines += ["variables", *(f"  {var_text(v, words, unit)}" for v in model.variables)]
    lines += [model.objective.sense, *(f"  {t.name}: {expr_text(t.expr)}" for t in model.objective.terms)]
    lines += ["subject to", *(f"  {row_label(r)}: {row_text(r)}" for r in model.rows)]
    return "\n".join(lines) + "\n"
