"""Are two models the same?  `compare(a, b)` decides it with evidence: see engine.py for the steps."""

from orpipe.verify.equivalence.canonical import fingerprint
from orpipe.verify.equivalence.engine import BUDGET, Naming, compare_problems
from orpipe.verify.equivalence.entry import compare
from orpipe.verify.equivalence.evidence import Comparison, Matched
from orpipe.verify.equivalence.guard import Guard
from orpipe.verify.equivalence.redraw import Redraw
from orpipe.verify.equivalence.witness import Witness

__all__ = ["BUDGET", "Comparison", "Guard", "Matched", "Naming", "Redraw", "Witness", "compare", "compare_problems", "fingerprint"]
