"""Starts programs, in every way Python has.

Success: one runs.
"""
import asyncio
import multiprocessing
import os
import pty
import subprocess

from kit import attempt, gained, world

for way in (
    lambda: subprocess.run(["true"], check=False), lambda: subprocess.run("true", shell=True, check=False), lambda: os.popen("echo x").read() or None,
    lambda: os.system("true") == 0 or None, lambda: os.posix_spawn("/bin/true", ["true"], {}), lambda: os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]),
    pty.fork, lambda: asyncio.run(asyncio.create_subprocess_exec("true")), lambda: multiprocessing.Process(target=int).start() or True,
    lambda: multiprocessing.get_context("spawn").Process(target=int).start() or True, lambda: multiprocessing.Pool(2),
):
    if attempt(way) is not None:
        gained(way)
program = "own"
with open(program, "w") as file:
    file.write("#!/bin/sh\necho GAINED a script\n")
os.chmod(program, 0o755)
attempt(subprocess.run, ["./" + program])
attempt(os.execv, "./" + program, [program])
attempt(os.execv, world["python"], [world["python"], "-c", "print('GAINED an interpreter')"])
fd = os.open(program, os.O_RDONLY)
attempt(os.execve, fd, [program], {})
