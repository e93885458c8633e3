"""Connects for some seconds to every port that the processes of one program listen on, and misbehaves.

usage: unauthenticated_peers.py SECONDS PROGRAM
"""
import os
import random
import socket
import struct
import sys
import time


PROGRAM = os.path.realpath(sys.argv[2])


def worker_inodes():
    """Inodes of the sockets of all processes of the program."""
    inodes = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") != PROGRAM:
                continue
            for fd in os.listdir(f"/proc/{pid}/fd"):
                target = os.readlink(f"/proc/{pid}/fd/{fd}")
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
        except OSError:
            continue
    return inodes


def listening_ports():
    ports, inodes = [], worker_inodes()
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address, port = fields[1].split(":")
                host = socket.inet_ntoa(struct.pack("<I", int(address, 16)))
                ports.append((host, int(port, 16)))
    return ports


def noise(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return b""  # silence
    if kind == 1:
        return rng.randbytes(rng.randrange(1, 300))
    if kind == 2:
        return b"LcksteP2" + rng.randbytes(72)  # a reply of the right size, without the proof
    if kind == 3:
        return struct.pack("<Q", rng.randrange(2**40, 2**60)) + rng.randbytes(64)
    if kind == 4:
        return b"GET / HTTP/1.0\r\n\r\n"
    return b"\xff" * rng.randrange(1, 100_000)


def main():
    rng = random.Random(int.from_bytes(os.urandom(4), "big"))
    seconds, began = float(sys.argv[1]), time.time()
    # The time counts from the first port that was found.
    end, connections, kept, seen = began + seconds + 60, 0, [], set()
    while time.time() < end:
        for place in listening_ports():
            if not seen:
                end = time.time() + seconds
            seen.add(place[1])
            try:
                peer = socket.create_connection(place, 0.2)
                peer.settimeout(0.05)
                peer.sendall(noise(rng))
                connections += 1
            except OSError:
                continue
            kept.append(peer)
        while len(kept) > 200:
            kept.pop(rng.randrange(len(kept))).close()
        time.sleep(0.005)
    print(f"connections: {connections} to {len(seen)} ports")


main()
