"""Tries every address family and kind of socket there is: netlink, packet, raw, vsock, kernel crypto, Bluetooth and the rest.

Success: a socket.
"""
import socket

from kit import attempt, call, gained

for family in range(46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, 4, 10):
        for protocol in (0, 1, 6, 15, 255):
            if call("socket", family, kind, protocol) >= 0:
                gained(f"family {family}, kind {kind}, protocol {protocol}")
if attempt(socket.if_nameindex):
    gained("the names of interfaces")
