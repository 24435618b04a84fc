"""Sends datagrams.

Success: one is sent.
"""
import socket

from kit import attempt, gained, world

for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "255.255.255.255"), (socket.AF_INET6, "::1")):
    if attempt(lambda: socket.socket(family, socket.SOCK_DGRAM).sendto(b"GAINED", (host, world["udp"]))) is not None:
        gained(host)
