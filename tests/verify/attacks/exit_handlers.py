"""Forges in exit handlers, in threads that outlive the program and in destructors.

Success: a claim counts.
Expect: ok, no model, crash
"""
import atexit
import os
import struct
import threading
import time

from kit import model_record, world, wrong_model


def forge():
    raw = model_record(optimum=999.0, objective=world["expected"], status="optimal")
    os.write(3, struct.pack("<cI", b"C", len(raw)) + raw)
    print("optimal_value =", world["expected"])


def later():
    while True:
        forge()
        time.sleep(0.001)


atexit.register(forge)
threading.Thread(target=later, daemon=True).start()
wrong_model()
