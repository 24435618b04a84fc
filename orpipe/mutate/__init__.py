"""Mis-modellings: what a faulty formulation of a problem looks like, as operators on its symbolic model."""

from orpipe.mutate.catalogue import (
    GROUPS,
    InstanceOperator,
    Mutant,
    Operator,
    instance_operators,
    mutants,
    operator,
    operator_by_id,
    operators,
)
from orpipe.mutate.part import Part, Site
from orpipe.mutate.slips import InstanceMutant, Optimum, instance_mutants, mutant_at
from orpipe.mutate.words import Account

__all__ = [
    "GROUPS",
    "Account",
    "InstanceMutant",
    "InstanceOperator",
    "Mutant",
    "Operator",
    "Optimum",
    "Part",
    "Site",
    "instance_mutants",
    "instance_operators",
    "mutant_at",
    "mutants",
    "operator",
    "operator_by_id",
    "operators",
]
