"""Walks all objects and frames for sockets, files and methods of the warm parent, and uses them.

Success: the parent, another run or the judge hears of it.
Expect: no model, crash, exception, ok
"""
import gc
import os
import sys

from kit import attempt

frame = sys._getframe()
seen = []
while frame:
    seen += list(frame.f_locals.values())
    frame = frame.f_back
for found in [*gc.get_objects(), *seen]:
    kind = type(found)
    if kind.__module__.startswith("orpipe") or kind.__name__ in ("socket", "epoll"):
        for name in ("say", "serve", "_fork", "_start", "_reap", "_kill", "confine"):
            method = getattr(found, name, None)
            if name in ("say",) and method:
                attempt(method, id=0, end="", status=0, seconds=0.0, cpu=0.0)
            elif name == "_kill" and method:
                for run in getattr(found, "runs", {}).values():
                    attempt(method, run, "x")
        attempt(lambda found=found: found.send(b"x"))
        attempt(lambda found=found: found.sendmsg([b"x"]))
        attempt(lambda found=found: os.write(found.fileno(), b"x"))
