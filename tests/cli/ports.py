"""Ports for servers of a test, one a line: `ports.py [COUNT]`.

They are below those the host gives to clients, so that a server that is started
again finds its own free.
"""

import random
import socket
import sys

FIRST = 10000


def free_ports(count):
    """@count ports that nobody has now."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        end = max(int(f.read().split()[0]), FIRST + 1000)
    held = []
    while len(held) < count:
        s = socket.socket()
        try:
            s.bind(("127.0.0.1", random.randrange(FIRST, end)))
            held.append(s)
        except OSError:
            s.close()
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1]) if len(sys.argv) > 1 else 1), sep="\n")
