"""A caller of gRPC for tests that have no library for it: one message, its
status, and the bytes of the reply."""

import socket
import ssl
import struct

HEADERS, DATA, SETTINGS, GOAWAY = 1, 0, 4, 7
# "grpc-status" in the Huffman code of HPACK. Values of so few digits are not
# coded, and nothing is kept in a table, as the table's size is set to 0.
STATUS = b"\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f"


def frame(kind, flags, stream, payload=b""):
    return (struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) +
            struct.pack(">I", stream) + payload)


def literal(name, value):
    value = value.encode()
    assert len(name) < 127
    size = bytes([len(value)]) if len(value) < 127 else b"\x7f"
    if len(value) >= 127:
        rest = len(value) - 127
        while rest >= 128:
            size += bytes([rest & 127 | 128])
            rest >>= 7
        size += bytes([rest])
    return b"\0" + bytes([len(name)]) + name.encode() + size + value


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    """A field of bytes, or of an integer."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


class Refused(Exception):
    """The connection ended without an answer."""


class Caller:
    def __init__(self, address, tls=None, token=None, seconds=60):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), seconds)
        self.token = token
        self.data = b""
        self.stream = -1
        try:
            if tls:
                self.socket = tls.wrap_socket(self.socket,
                                              server_hostname=host)
            self.socket.sendall(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0)))
        except (OSError, ssl.SSLError) as e:
            self.close()
            raise Refused(str(e))

    def close(self):
        self.socket.close()

    def receive(self):
        while True:
            size = int.from_bytes(self.data[:3], "big")
            if len(self.data) >= 9 + size:
                found = self.data[:9 + size]
                self.data = self.data[9 + size:]
                return (found[3], found[4],
                        int.from_bytes(found[5:9], "big"), found[9:])
            try:
                more = self.socket.recv(65536)
            except OSError as e:
                raise Refused(str(e))
            if not more:
                raise Refused("the end")
            self.data += more

    def call(self, method, message, headers=()):
        """(the status, the reply's bytes)"""
        self.stream += 2
        head = b"".join(literal(k, v) for k, v in (
            (":method", "POST"), (":scheme", "http"), (":path", method),
            (":authority", "test"), ("content-type", "application/grpc"),
            ("te", "trailers")))
        if self.token:
            head += literal("authorization", "Bearer " + self.token)
        for name, value in headers:
            head += literal(name, value)
        body = b"\0" + struct.pack(">I", len(message)) + message
        try:
            self.socket.sendall(frame(HEADERS, 4, self.stream, head) +
                                frame(DATA, 1, self.stream, body))
        except OSError as e:
            raise Refused(str(e))
        reply = b""
        while True:
            kind, flags, stream, payload = self.receive()
            if kind == SETTINGS and not flags & 1:
                self.socket.sendall(frame(SETTINGS, 1, 0))
            if stream != self.stream:
                continue
            if kind == DATA:
                reply += payload
            at = payload.find(STATUS) if kind == HEADERS else -1
            if at >= 0:
                at += len(STATUS)
                return int(payload[at + 1:at + 1 + payload[at]]), reply


def tls_context(authority, certificate=None, key=None):
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    if certificate:
        context.load_cert_chain(certificate, key)
    return context
