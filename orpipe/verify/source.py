"""Reading an answer's code without running it: does it parse, does it build a model, what is it that nobody calls.
"""

from __future__ import annotations

import ast
import builtins
import re
import threading
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from orpipe.verify.capture import announced, discover

# Libraries that are recognised though their models may not be captured (yet).
OTHERS = ("gurobipy", "coptpy", "cvxpy", "scipy", "docplex", "mip", "pyscipopt", "xpress", "cplex", "mosek", "linopy",
          "pyoptinterface", "gekko", "casadi", "amplpy", "cvxopt", "mindoptpy", "highspy", "ortools", "pulp", "pyomo")
SOLVING = frozenset({
    "solve", "Solve", "optimize", "solveLP", "run", "linprog", "milp", "maximize", "minimize", "write", "writeLP", "writeMPS",
    "writeModel", "write_lp", "export_as_lp", "writeProblem", "toLp", "write_model_to_file", "ExportModelAsLpFormat", "minimise",
    "maximise", "writeMps", "writeLp", "to_file", "export_model", "SolveWithSolutionCallback", "sequentialSolve", "startSolve",
    "quadprog", "solve_model", "solveModel", "export", "optimise",
})
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([\w.]+)", re.MULTILINE)
_PYTHON_LINE = re.compile(r"^[ \t]*(?:import \w|from [\w.]+ import |def \w+\(|for \w.* in .*:$|\w[\w.\[\]]* = |print\()", re.MULTILINE)
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Source:
    """A text taken for Python.  error: "" or why it does not parse, with the line."""

    code: str
    error: str
    tree: ast.Module | None

    @classmethod
    def read(cls, code: str) -> Source:
        try:
            # Invalid escapes in an answer are no business of our caller's warning filters, which are process-wide.
            with _LOCK, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return cls(code, "", ast.parse(code))
        except SyntaxError as error:
            return cls(code, f"{error.msg} (line {error.lineno})", None)
        except (ValueError, MemoryError, RecursionError, OverflowError) as error:
            return cls(code, f"it cannot be parsed ({type(error).__name__})", None)

    @cached_property
    def library(self) -> str:
        return recognise(self.code)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree)) if self.tree is not None else []

    @cached_property
    def rank(self) -> int:
        """3 builds a model and solves or writes it, 2 imports a library for it, 1 is Python, 0 might be, -1 is not."""
        if self.tree is None:
            return 0 if _PYTHON_LINE.search(self.code) else -1
        if self.library:
            return 3 if solves(_backwards(self.tree)) else 2  # the call stands near the end
        silent = (ast.Expr, ast.AnnAssign, ast.Pass)  # what words may parse as: "Optimum: 30", "x <= 12"
        return 1 if any(isinstance(n, ast.Call) or (isinstance(n, ast.stmt) and not isinstance(n, silent)) for n in self.nodes) else -1

    @cached_property
    def bound(self) -> set[str]:
        """Every name that is given a value somewhere in it."""
        names: set[str] = set()
        for node in self.nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    names.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                    names.add(name)
                case ast.arg(arg=name):
                    names.add(name)
                case ast.alias(name=name, asname=other):
                    names.add(other or name.partition(".")[0])
                case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    names.add(name)
        return names

    @cached_property
    def missing(self) -> set[str]:
        """Names that it uses and never binds; empty where a star import may bind anything."""
        if "*" in self.bound:
            return set()
        used = {node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        return used - self.bound - set(dir(builtins)) - {"__file__", "__name__"}


@cache
def _captured() -> frozenset[str]:
    return frozenset(discover())


def recognise(code: str) -> str:
    """The library that the import lines announce; "" for none.  Captured libraries come first."""
    found = announced(code).partition(".")[0]  # a library may have several warm parents: "ortools.cp_sat"
    if found:
        return found
    names = [name.partition(".")[0] for name in _IMPORT.findall(code)]
    known = set(OTHERS) | _captured()
    # scipy alone is no modelling library: half the programs import scipy.stats or numpy's friends
    return next((n for n in names if n in known and (n != "scipy" or "optimize" in code)), "")


def solves(nodes: Iterable[ast.AST]) -> bool:
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in SOLVING:
                return True
    return False


def _backwards(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, later ones first; at a third of what ast.walk takes."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                todo.append(part)
            elif part.__class__ is list:
                todo += [each for each in part if isinstance(each, ast.AST)]


# ------------------------------------------------------------------------------------------ functions nobody calls

_USUAL = ("main", "solve", "run", "solve_problem", "solve_model", "optimize", "solution")


def uncalled(source: Source, keys: Collection[str], has_data: bool) -> str:
    """The call that a program forgets: it defines functions of which one solves, and nothing at its top level, or
    called from there, does.  "" if there is nothing to add.

    keys: the names at the top of data.json, which may serve as arguments; with has_data a single argument is the data.
    """
    if source.tree is None:
        return ""
    functions: dict[str, ast.FunctionDef] = {n.name: n for n in source.tree.body if isinstance(n, ast.FunctionDef)}
    if not functions:
        return ""
    top = [n for n in source.tree.body if not isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    top += [n for n in source.tree.body if isinstance(n, ast.ClassDef)]
    inside = {name: list(ast.walk(node)) for name, node in functions.items()}
    calls = {name: _names(nodes) & functions.keys() - {name} for name, nodes in inside.items()}
    outside = [node for statement in top for node in ast.walk(statement)]
    reached = _closure(_names(outside) & functions.keys(), calls)
    if solves(outside) or any(solves(inside[name]) for name in reached):
        return ""
    able = [name for name in functions if any(solves(inside[n]) for n in _closure({name}, calls))]
    roots = [name for name in able if not any(name in calls[other] for other in functions if other != name)] or able
    roots.sort(key=lambda name: _USUAL.index(name) if name in _USUAL else len(_USUAL) - list(functions).index(name) / 1e6)
    for name in roots:
        arguments = _arguments(functions[name], keys, has_data)
        if arguments is not None:
            return f"{name}({arguments})"
    return ""


def _arguments(function: ast.FunctionDef, keys: Collection[str], has_data: bool) -> str | None:
    a = function.args
    positional = [arg.arg for arg in (*a.posonlyargs, *a.args)]
    needed = positional[:len(positional) - len(a.defaults)]
    needed += [arg.arg for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True) if default is None]
    if not needed:
        return ""
    if a.posonlyargs or not has_data:
        return None
    load = '__import__("json").load(open("data.json"))'
    if all(name in keys for name in needed):
        return f"**{{k: v for k, v in {load}.items() if k in {needed!r}}}"
    return load if len(needed) == 1 and not a.kwonlyargs else None


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _closure(start: set[str], calls: Mapping[str, set[str]]) -> set[str]:
    found, todo = set(), list(start)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(calls.get(name, ()))
    return found
