"""Changes the libraries in memory, for the programs that come after it in the same pool.

Success: the next program notices.
"""
import builtins
import json
import math
import sys

import highspy
import numpy

highspy.Highs.maximize = lambda *_, **__: print("GAINED the next solve")
highspy.Highs.getObjectiveValue = lambda *_: 99.0
numpy.asarray = numpy.array = None
json.dumps = json.loads = math.fsum = None
builtins.print = builtins.exec = builtins.compile = lambda *_, **__: None
for name in [n for n in sys.modules if n.startswith(("orpipe", "numpy", "json"))]:
    sys.modules[name] = None
