"""Builds a model as large as it can, again and again.

Success: the judge's memory or time goes with it.
Expect: ok, unsupported, timeout, memory, exception
Seconds: 5
"""
import highspy
import numpy

h = highspy.Highs()
h.setOptionValue("output_flag", False)
h.setOptionValue("time_limit", 0.2)
n = 1_000_000
h.addVars(n, numpy.zeros(n), numpy.ones(n))
h.changeObjectiveSense(highspy.ObjSense.kMaximize)
h.changeColsCost(n, numpy.arange(n, dtype=numpy.int32), numpy.full(n, 1e-300))
while True:
    h.run()
