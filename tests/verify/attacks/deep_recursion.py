"""Recurses until a stack ends, Python's and C's.

Success: more than this process ends.
Expect: crash, exception, memory, timeout
Seconds: 3
"""
import sys
import threading

sys.setrecursionlimit(10**9)


def deeper(value):
    return [deeper([value]) for _ in "x"]


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")


nested = []
for _ in range(10**6):
    nested = [nested]
threading.stack_size(1 << 28)
thread = threading.Thread(target=lambda: repr(nested))
thread.start()
thread.join()
deeper(Deep())
