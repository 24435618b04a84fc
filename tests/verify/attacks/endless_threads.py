"""Ends its main part and leaves threads, exit handlers and destructors that never end.

Success: it runs longer than it may.
Expect: timeout
Seconds: 1
"""
import atexit
import threading


class Undying:
    def __del__(self):
        while True:
            pass


def spin():
    while True:
        pass


held = Undying()
atexit.register(spin)
threading.Thread(target=spin).start()
