"""Labels that are proofs: exact certificates, a checker that shares nothing with the solvers, and more truth about optima."""

from orpipe.proof.certificate import Certificate
from orpipe.proof.checker import check
from orpipe.proof.prove import Refuted, Unproved, certify, prove

__all__ = ["Certificate", "Refuted", "Unproved", "certify", "check", "prove"]
