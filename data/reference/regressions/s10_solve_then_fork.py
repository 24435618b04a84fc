"""Labels a model, forks, and labels it again in the child."""

import os
import sys

from orpipe.lp import read_lp
from orpipe.solve import label

PROBLEM = read_lp("Minimize\n x\nSubject To\n x >= 2.5\nGeneral\n x\nEnd\n")


def told(who: str) -> None:
    found = label(PROBLEM)
    print(who, getattr(found, "status", found), getattr(found, "objective_exact", ""), flush=True)


told("parent")
child = os.fork()
if child == 0:
    told("child")
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
