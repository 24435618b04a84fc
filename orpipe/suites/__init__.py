"""Hidden data suites: for each structure a few data sets, chosen so that mis-modellings change the answer on one of them.

    build_suite(family, formulation, seed)    choose, solve and certify the data sets of one structure
    read_suites(folder)                       the suites of a finished dataset, by structure hash
"""

from orpipe.suites.build import build_suite
from orpipe.suites.headline import Discrimination, discrimination
from orpipe.suites.shelf import Shelf
from orpipe.suites.suite import DataSet, Suite
from orpipe.suites.table import read_suites, suite_rows

__all__ = ["DataSet", "Discrimination", "Shelf", "Suite", "build_suite", "discrimination", "read_suites", "suite_rows"]
