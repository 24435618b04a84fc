"""Hidden data suites: for each structure a few data sets, chosen so that mis-modellings change the answer on one of them."""

from orpipe.suites.suite import DataSet, Suite

__all__ = ["DataSet", "Suite"]
