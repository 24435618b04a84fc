"""Mis-modellings: what a faulty formulation of a problem looks like, as operators on its symbolic model."""

from orpipe.mutate.catalogue import GROUPS, Mutant, Operator, mutants, operator, operator_by_id, operators
from orpipe.mutate.part import Part, Site
from orpipe.mutate.words import Account

__all__ = [
    "GROUPS", "Account", "Mutant", "Operator", "Part", "Site", "mutants", "operator", "operator_by_id", "operators",
]
