"""A proxy of HTTP that breaks some of the calls that go through it.

    with FaultProxy(("127.0.0.1", port), seed=1, rate=0.3) as proxy:
        … talk to 127.0.0.1:proxy.port …
        print(proxy.counts)

A request is done whole or not at all, as by a network that fails: what the
client cannot know is which. The kinds:

    delay      up to 0.3 s pass before the server has the request
    refuse     the proxy answers 500, 503 or 429; the server never receives it
    lose       the server has half of the request, or has done it; no answer
    cut        the answer ends after any of its bytes, in its headers too
    truncate   half of the answer's body, with a length that fits it
    lengthen   a length that is too great, and as many bytes more
    short      a length that is too small, with the whole body behind it
    twice      the answer comes twice

Lengths of answers to HEAD are left alone: nobody could tell. `rewrite` maps
"HOST:PORT" of a redirection to that of the proxy to be asked instead.
"""

import random
import socket
import struct
import threading
import time

KINDS = ("delay", "refuse", "lose", "cut", "truncate", "lengthen", "short",
         "twice")


class Broken(Exception):
    pass


def read_head(stream):
    lines = []
    while True:
        line = stream.readline(65536)
        if not line:
            raise Broken()
        lines.append(line)
        if line in (b"\r\n", b"\n"):
            return lines


def header(lines, name):
    for line in lines[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return None


def exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise Broken()
    return data


def read_chunks(stream):
    data = b""
    while True:
        size = int(stream.readline(100).split(b";")[0] or b"0", 16)
        data += exactly(stream, size)
        if stream.readline(100) not in (b"\r\n", b"\n"):
            raise Broken()
        if size == 0:
            return data


def with_length(lines, length):
    kept = [line for line in lines[1:-1] if line.split(b":")[0].lower() not in
            (b"content-length", b"transfer-encoding")]
    return b"".join(lines[:1] + kept +
                    [b"Content-Length: %d\r\n" % length] + lines[-1:])


class FaultProxy:
    def __init__(self, server, seed=1, rate=0.3, kinds=KINDS, rewrite=None):
        self.server, self.rate, self.kinds = server, rate, kinds
        self.rewrite = dict(rewrite or {})
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.counts = {}
        self.requests = 0

    def __enter__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *args):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,),
                             daemon=True).start()

    def choose(self):
        """A kind or None, and a number in [0, 1) for its details."""
        with self.lock:
            self.requests += 1
            kind = None
            if self.random.random() < self.rate:
                kind = self.random.choice(self.kinds)
                self.counts[kind] = self.counts.get(kind, 0) + 1
            return kind, self.random.random()

    def serve(self, client):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        upstream = socket.create_connection(self.server)
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        requests, answers = client.makefile("rb"), upstream.makefile("rb")
        try:
            while self.exchange(client, requests, upstream, answers):
                pass
        except (Broken, OSError, ValueError):
            pass
        finally:
            for each in (requests, answers, client, upstream):
                each.close()

    def exchange(self, client, requests, upstream, answers):
        head = read_head(requests)
        body = exactly(requests, int(header(head, b"content-length") or 0))
        method = head[0].split()[0]
        kind, detail = self.choose()
        if kind == "delay":
            time.sleep(0.3 * detail)
        if kind == "refuse":
            text = ("500 Internal Server Error", "503 Slow Down",
                    "429 Too Many Requests")[int(3 * detail)]
            client.sendall(("HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" %
                            text).encode())
            return True
        request = b"".join(head) + body
        if kind == "lose" and detail < 0.5:
            # Never all of it: the server could not tell.
            upstream.sendall(request[:int(2 * detail * len(request))])
            self.reset(client)
            raise Broken()
        upstream.sendall(request)
        head, body = self.answer(answers, method)
        self.pass_on(client, method, kind, detail, head, body)
        return (header(head, b"connection") or b"").lower() != b"close"

    def answer(self, stream, method):
        head = read_head(stream)
        while head[0].split()[1] == b"100":
            head = read_head(stream)
        status = head[0].split()[1]
        place = header(head, b"location")
        if place:
            for there, here in self.rewrite.items():
                moved = place.replace(there.encode(), here.encode(), 1)
                head = [line.replace(place, moved) for line in head]
                place = moved
        if method == b"HEAD" or status in (b"204", b"304"):
            return head, None
        if (header(head, b"transfer-encoding") or b"").lower() == b"chunked":
            body = read_chunks(stream)
            return [with_length(head, len(body))], body
        length = header(head, b"content-length")
        body = stream.read() if length is None else exactly(stream, int(length))
        return head, body

    def pass_on(self, client, method, kind, detail, head, body):
        whole = b"".join(head) + (body or b"")
        if kind == "lose":
            self.reset(client)
            raise Broken()
        if kind == "cut":
            client.sendall(whole[:int(detail * len(whole))])
            if detail < 0.5:
                self.reset(client)
            raise Broken()
        lines = b"".join(head).splitlines(keepends=True)
        if kind == "truncate" and body:
            half = body[:int(detail * len(body))]
            client.sendall(with_length(lines, len(half)) + half)
            return
        if kind == "lengthen" and body is not None:
            more = bytes(1 + int(100 * detail))
            client.sendall(with_length(lines, len(body) + len(more)) + body +
                           more)
            return
        if kind == "short" and body:
            client.sendall(with_length(lines, int(detail * len(body))) + body)
            return
        client.sendall(2 * whole if kind == "twice" else whole)

    @staticmethod
    def reset(client):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          struct.pack("ii", 1, 0))
