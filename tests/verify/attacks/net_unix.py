"""Connects to local sockets by path and by abstract name.

Success: a listener of the judge's hears of it.
"""
import socket

from kit import attempt, gained, world

for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    for name in (world["unix"], "\0" + world["abstract"], "/run/docker.sock", "/run/systemd/journal/socket", "/dev/log"):
        if attempt(lambda: socket.socket(socket.AF_UNIX, kind).connect(name) or True) is not None:
            gained(repr(name))
    if attempt(socket.socketpair, socket.AF_UNIX, kind) is not None:
        gained("a pair of sockets")
