"""What every attack of this folder starts from: it knows the machine, the judge and its formats as well as their owner."""

import ctypes
import json
import os
import struct

with open("target.json") as file:
    world = json.load(file)
libc = ctypes.CDLL(None, use_errno=True)


def gained(what):
    print("GAINED", what, flush=True)


def attempt(function, *arguments, **more):
    """The function's result, None if it raises."""
    try:
        return function(*arguments, **more)
    except Exception:
        return None


def call(name, *arguments):
    """A system call by name; -1 if it is refused, or unknown on this machine."""
    number = world["numbers"].get(name)
    return libc.syscall(number, *arguments) if number is not None else -1


ends = os.pipe()
os.set_blocking(ends[0], False)
os.set_blocking(ends[1], False)


def readable(address, size):
    """What memory holds there, without the parts that are not mapped."""
    if address <= 0:
        return b""
    count = libc.write(ends[1], ctypes.c_void_p(address), ctypes.c_size_t(size))
    found = os.read(ends[0], size) if count > 0 else b""
    if count == size or size <= 4096:
        return found
    rest = max(count, 0) // 4096 * 4096 + 4096
    return found + (readable(address + rest, size - rest) if rest < size else b"")


def wrong_model():
    """Builds and solves a model whose optimum, 7, is not the right answer."""
    import highspy

    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    x = h.addVariable(lb=0, ub=7, name="x")
    h.addConstr(2 * x <= 15, name="r")
    h.maximize(x)
    return h


def model_record(optimum=7.0, **change):
    """The bytes of a model of one variable and one row, made by hand; further keys go into its head."""
    form = {"cost": "d", "lower": "d", "upper": "d", "integer": "?", "row_lower": "d", "row_upper": "d", "indptr": "q", "indices": "q", "data": "d"}
    arrays = {"cost": [optimum], "lower": [0.0], "upper": [1.0], "integer": [False], "row_lower": [0.0], "row_upper": [1.0], "indptr": [0, 1],
              "indices": [0], "data": [1.0]}
    arrays |= {name: change.pop(name) for name in list(change) if name in arrays}
    names = change.pop("names", "x\0r").encode()
    rows = len(arrays["indptr"]) - 1
    for name in ("row_lower", "row_upper"):
        arrays[name] = (arrays[name] * rows)[:rows]
    head = {"library": "highspy", "interface": "highspy", "maximize": True, "offset": 0.0,
            "sizes": [len(arrays["cost"]), rows, len(arrays["data"]), len(names)]}
    text = change.pop("head", None) or json.dumps(head | change)
    body = b"".join(struct.pack(f"<{len(values)}{form[name]}", *values) for name, values in arrays.items())
    return struct.pack("<I", len(text)) + text.encode() + body + names
