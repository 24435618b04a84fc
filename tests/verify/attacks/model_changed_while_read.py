"""Changes the model in another thread while it is read.

Success: the judge crashes, or solves something that no moment's model was and that suits the program.
Expect: ok, crash, unsupported, exception, no model
Seconds: 5
"""
import threading
import time

import highspy

from kit import wrong_model

h = highspy.Highs()
h.setOptionValue("output_flag", False)
x = [h.addVariable(lb=0, ub=k + 1, name=f"x{k}") for k in range(200)]


def change():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        h.addRow(0.0, 1.0, 1, [0], [1.0])
        h.changeColBounds(0, 0.0, 1.0)


thread = threading.Thread(target=change)
thread.start()
for _ in range(20):
    h.maximize(sum(x))
thread.join()
wrong_model()
