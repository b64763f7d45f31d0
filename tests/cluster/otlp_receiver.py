"""A receiver of OpenTelemetry's traces: HTTP or HTTPS, and enough of protocol buffers to
read ExportTraceServiceRequest. Its answers can be set."""

import gzip
import http.server
import ssl
import struct
import threading


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of a message: integers, or bytes. Raises on a malformed one."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == 5:
            value, at = struct.unpack_from("<I", data, at)[0], at + 4
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("cut field %d" % number)
        else:
            raise ValueError("wire type %d" % wire)
        yield number, value


def all_of(data, number):
    return [v for n, v in fields(data) if n == number]


def one_of(data, number, otherwise=b""):
    found = all_of(data, number)
    return found[-1] if found else otherwise


def attributes(data, number):
    out = {}
    for pair in all_of(data, number):
        ((kind, value),) = fields(one_of(pair, 2))
        out[one_of(pair, 1).decode()] = value.decode() if kind == 1 else value
    return out


def span(data):
    status = one_of(data, 15)
    return {"trace": one_of(data, 1).hex(), "id": one_of(data, 2).hex(),
            "parent": one_of(data, 4).hex(), "name": one_of(data, 5).decode(),
            "kind": one_of(data, 6, 0), "start": one_of(data, 7, 0),
            "end": one_of(data, 8, 0), "flags": one_of(data, 16, 0),
            "state": one_of(data, 3).decode(), "attributes": attributes(data, 9),
            "status": one_of(status, 3, 0), "message": one_of(status, 2).decode()}


def spans(request):
    """Of each resource: its attributes and its spans."""
    out = []
    for part in all_of(request, 1):
        resource = attributes(one_of(part, 1), 1)
        out += [(resource, span(s)) for scope in all_of(part, 2)
                for s in all_of(scope, 2)]
    return out


class Receiver:
    def __init__(self, certificate=None, key=None, answers=()):
        """@answers: (status, headers, body) of the first requests; then 200."""
        self.answers = list(answers)
        self.requests = []  # (path, headers, time)
        self.spans = []  # Of requests that were answered with 200.
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers, answer = receiver.take(self, body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.server.socket = context.wrap_socket(self.server.socket,
                                                     server_side=True)
            self.scheme = "https"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def url(self, host="127.0.0.1"):
        return "%s://%s:%d" % (self.scheme, host, self.server.server_port)

    def take(self, handler, body):
        if handler.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with self.lock:
            self.requests.append((handler.path, dict(handler.headers)))
            if self.answers:
                answer = self.answers.pop(0)
            else:
                answer = (200, {}, b"")
            if answer[0] == 200:
                self.spans += spans(body)
        return answer

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
