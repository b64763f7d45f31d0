"""A client of the RPC protocol (docs/protocols.md) that can misbehave: it says
what it is told to say, byte by byte.

    s = RawPeer(("127.0.0.1", 7400), key=b"…")
    s.call(0x101)                    # (status, body)
    s.send(header(kind=9)); s.is_closed()
"""

import hashlib
import hmac
import os
import socket
import struct

REQUEST, RESPONSE = 1, 2
NONE, KEY, TLS = 0, 1, 2
SECONDS = 120


def _table():
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82f63b78 if n & 1 else 0)
        yield n


TABLE = list(_table())


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >> 8)
    return crc ^ 0xffffffff


def header(kind=REQUEST, method=0, body=b"", body_bytes=None,
           attachment_bytes=0, magic=b"QRPC", version=1, call_id=1):
    """A frame's header, right in what is not given."""
    text = struct.pack("<4sBBHQIiQQQIIIII", magic, version, kind, 0, call_id,
                       method, 0, SECONDS * 1000000, 0, 0,
                       len(body) if body_bytes is None else body_bytes,
                       attachment_bytes, crc32c(body), 0, 0)
    return text + struct.pack("<I", crc32c(text))


def hello(kind, cluster=b"quarry", version=1, principal=b"stranger"):
    return struct.pack("<4sBBBBBBBB", b"QRPH", version, version, kind,
                       len(cluster), len(principal), 0, 0, 0) + \
        os.urandom(32) + cluster + principal


class RawPeer:
    def __init__(self, address, key=None, tls=None, **said):
        """With @key or @tls (an SSLContext) as a member would; @said goes
        into the hello. self.status: of the welcome, None without one."""
        self.stream = socket.create_connection(address, SECONDS)
        self.status = None
        if tls:
            self.stream = tls.wrap_socket(self.stream)
        kind = KEY if key else TLS if tls else NONE
        mine = hello(kind, **said)
        self.send(mine)
        if key:
            challenge = self.receive(40)
            self.send(hmac.new(key, b"quarry rpc client 1\0" + mine + challenge,
                               hashlib.sha256).digest())
        welcome = self.receive(40)
        if len(welcome) == 40:
            self.status = welcome[5]

    def send(self, data):
        try:
            self.stream.sendall(data)
        except OSError:
            pass  # The answer of the other side matters, and that it ends.

    def receive(self, count):
        """@count bytes, or fewer at the end."""
        data = b""
        try:
            while len(data) < count:
                more = self.stream.recv(count - len(data))
                if not more:
                    break
                data += more
        except ConnectionError:
            pass
        return data

    def is_closed(self):
        """The other side ends the connection, and says nothing."""
        return self.receive(1) == b""

    def call(self, method, body=b"\x90"):
        """Call it. Returns (status, body)."""
        self.send(header(method=method, body=body) + body)
        answer = self.receive(72)
        status, = struct.unpack_from("<i", answer, 20)
        body_bytes, attachment_bytes = struct.unpack_from("<II", answer, 48)
        body = self.receive(body_bytes)
        self.receive(attachment_bytes)
        return status, body

    def close(self):
        self.stream.close()
