"""Replaces os.write, so that every record is changed on its way.

Success: a changed record counts as more than a model.
Expect: crash, ok, no model
"""
import os
import struct

from kit import model_record, world, wrong_model

write = os.write


def changed(fd, data):
    if fd == 3:
        raw = model_record(optimum=999.0, objective=world["expected"], status="optimal")
        write(3, struct.pack("<cI", b"C", len(raw)) + raw)
        return len(data)
    return write(fd, data)


os.write = changed
wrong_model()
