"""Labels that are proofs: exact certificates, a checker that shares nothing with the solvers, and more truth about optima."""

from orpipe.proof.certificate import Certificate
from orpipe.proof.checker import check
from orpipe.proof.facts import Facts, binding, facts
from orpipe.proof.prove import Refuted, Unproved, certify, prove
from orpipe.proof.unique import unique

__all__ = ["Certificate", "Facts", "Refuted", "Unproved", "binding", "certify", "check", "facts", "prove", "unique"]
