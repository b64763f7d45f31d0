"""A strict server of S3 for tests, in memory: it checks the signature and the
hash of the body of every request, and does what tests ask it to do wrong.

    with FakeS3() as s3:
        env.update(s3.env())
        s3.fail("reset", method="PUT", times=2)
        … run the program …
        s3.objects["bucket"]["key"].body

A fault is "500", "503", "BadDigest" (answers), "reset" (the connection breaks
before the request is executed), "lost" (after it), "cut" (half the body is
sent), "short" (half the body with a length that fits), "delay" (a fifth of a
second).
"""

import hashlib
import hmac
import http.server
import socket
import struct
import threading
import time
import urllib.parse
import uuid
from xml.sax.saxutils import escape

ACCESS = "AKIDTEST"
SECRET = "a/secret+of=tests"
PAGE = 1000


class Object:
    def __init__(self, body, token=""):
        self.body = body
        self.token = token
        self.etag = '"%s"' % hashlib.md5(body).hexdigest()
        self.modified = time.time()


class Upload:
    def __init__(self, bucket, key, token):
        self.bucket, self.key, self.token = bucket, key, token
        self.parts = {}


def signing_key(date, region):
    key = ("AWS4" + SECRET).encode()
    for part in (date, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def quote(text, safe=""):
    return urllib.parse.quote(text, safe="-_.~" + safe)


class Refused(Exception):
    def __init__(self, status, code, message="", extra=""):
        super().__init__(code)
        self.extra = extra
        self.status, self.code, self.message = status, code, message or code


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20

    def log_message(self, *args):
        pass

    def do_any(self):
        s3 = self.server.s3
        self.fault = None
        self.close_connection = False
        parts = urllib.parse.urlsplit(self.path)
        self.raw_path, self.raw_query = parts.path, parts.query
        self.query = dict(urllib.parse.parse_qsl(parts.query,
                                                 keep_blank_values=True))
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        _, self.bucket, self.key = (urllib.parse.unquote(self.raw_path) +
                                    "/").split("/", 2)
        self.key = self.key[:-1]
        self.fault = s3.take_fault(self)
        with s3.lock:
            s3.requests.append((self.command, self.key, self.raw_query))
        try:
            if self.fault == "reset":
                self.break_off()
                return
            if self.fault == "delay":
                time.sleep(0.2)
            if self.fault == "500":
                raise Refused(500, "InternalError")
            if self.fault == "503":
                raise Refused(503, "SlowDown")
            if self.fault == "BadDigest":
                raise Refused(400, "BadDigest")
            self.check_signature()
            with s3.lock:
                self.execute(s3)
        except Refused as why:
            self.answer(why.status, "<?xml version=\"1.0\"?><Error><Code>%s"
                        "</Code><Message>%s</Message>%s<RequestId>R%d"
                        "</RequestId></Error>" % (why.code, escape(why.message),
                                                  why.extra,
                                                  len(s3.requests)))

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do_any

    def break_off(self):
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        self.connection.close()
        self.rfile = self.wfile = open("/dev/null", "w+b")

    def answer(self, status, body=b"", **headers):
        if self.fault == "lost":
            self.break_off()
            return
        if isinstance(body, str):
            body = body.encode()
        if self.fault == "short":
            body = body[:len(body) // 2]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("x-amz-bucket-region", self.server.s3.region)
        self.send_header("x-amz-request-id", "R%d" %
                         len(self.server.s3.requests))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.fault == "cut":
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            self.break_off()
            return
        self.wfile.write(body)

    # --- signatures ---------------------------------------------------------

    def check_signature(self):
        given = self.headers.get("Authorization", "")
        if not given.startswith("AWS4-HMAC-SHA256 "):
            raise Refused(403, "AccessDenied", "the request is not signed")
        fields = dict(part.strip().split("=", 1)
                      for part in given.split(" ", 1)[1].split(","))
        access, date, region, service, _ = fields["Credential"].split("/")
        stamp = self.headers["x-amz-date"]
        if access != ACCESS:
            raise Refused(403, "InvalidAccessKeyId")
        if service != "s3" or stamp[:8] != date:
            raise Refused(400, "AuthorizationHeaderMalformed")
        if region != self.server.s3.region:
            raise Refused(400, "AuthorizationHeaderMalformed",
                          "wrong region", "<Region>%s</Region>" %
                          self.server.s3.region)
        now = time.strptime(stamp, "%Y%m%dT%H%M%SZ")
        if abs(time.mktime(now) - time.mktime(time.gmtime())) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        names = fields["SignedHeaders"].split(";")
        must = ["host"] + [name.lower() for name in self.headers
                           if name.lower().startswith("x-amz-")]
        if names != sorted(names) or set(must) - set(names):
            raise Refused(403, "AccessDenied", "headers are not signed")
        digest = hashlib.sha256(self.body).hexdigest()
        if self.headers["x-amz-content-sha256"] != digest:
            raise Refused(400, "XAmzContentSHA256Mismatch")
        path = quote(urllib.parse.unquote(self.raw_path), "/")
        query = "&".join(sorted(
            "%s=%s" % (quote(k), quote(v)) for k, v in self.query.items()))
        canonical = "\n".join(
            [self.command, path, query] +
            ["%s:%s" % (n, self.headers[n].strip()) for n in names] +
            ["", ";".join(names), digest])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp,
                          "%s/%s/s3/aws4_request" % (date, region),
                          hashlib.sha256(canonical.encode()).hexdigest()])
        want = hmac.new(signing_key(date, region), text.encode(),
                        hashlib.sha256).hexdigest()
        if fields["Signature"] != want:
            raise Refused(403, "SignatureDoesNotMatch")

    # --- requests -----------------------------------------------------------

    def execute(self, s3):
        bucket = s3.objects.get(self.bucket)
        if bucket is None:
            raise Refused(404, "NoSuchBucket")
        if not self.key:
            self.list(bucket)
        elif self.command in ("GET", "HEAD"):
            self.get(bucket)
        elif "uploads" in self.query or "uploadId" in self.query:
            self.multipart(s3, bucket)
        elif self.command == "PUT":
            self.put(bucket)
        elif self.command == "DELETE":
            bucket.pop(self.key, None)
            self.answer(204)
        else:
            raise Refused(405, "MethodNotAllowed")

    def check_conditions(self, bucket):
        if self.headers.get("If-None-Match") == "*" and self.key in bucket:
            raise Refused(412, "PreconditionFailed")
        match = self.headers.get("If-Match")
        if match and (self.key not in bucket or
                      bucket[self.key].etag != match):
            raise Refused(412, "PreconditionFailed")

    def put(self, bucket):
        self.check_conditions(bucket)
        source = self.headers.get("x-amz-copy-source")
        token = self.headers.get("x-amz-meta-quarry-put", "")
        if source:
            _, _, key = urllib.parse.unquote(source).split("/", 2)
            if key not in bucket:
                raise Refused(404, "NoSuchKey")
            bucket[self.key] = Object(bucket[key].body, token)
            self.answer(200, "<CopyObjectResult><ETag>%s</ETag>"
                        "</CopyObjectResult>" % escape(bucket[self.key].etag))
            return
        bucket[self.key] = Object(self.body, token)
        self.answer(200, ETag=bucket[self.key].etag)

    def get(self, bucket):
        if self.key not in bucket:
            raise Refused(404, "NoSuchKey")
        self.check_conditions(bucket)
        found = bucket[self.key]
        size = len(found.body)
        common = {"ETag": found.etag, "Accept_Ranges": "bytes",
                  "Last_Modified": self.date_time_string(int(found.modified)),
                  "x_amz_meta_quarry_put": found.token}
        wanted = self.headers.get("Range")
        if self.command == "HEAD" or not wanted:
            self.answer(200, b"" if self.command == "HEAD" else found.body,
                        Content_Length=size, **common)
            return
        begin, end = (int(n) for n in wanted[len("bytes="):].split("-"))
        if begin >= size:
            raise Refused(416, "InvalidRange")
        end = min(end, size - 1)
        self.answer(206, found.body[begin:end + 1], Content_Range="bytes %d-%d/"
                    "%d" % (begin, end, size), **common)

    def list(self, bucket):
        if self.query.get("list-type") != "2":
            raise Refused(400, "InvalidArgument")
        prefix = self.query.get("prefix", "")
        delimiter = self.query.get("delimiter")
        most = min(int(self.query.get("max-keys", PAGE)), self.server.s3.page)
        after = self.query.get("continuation-token", "")
        entries = []
        for key in sorted(bucket, key=str.encode):
            if not key.startswith(prefix):
                continue
            name, is_prefix = key, False
            if delimiter and delimiter in key[len(prefix):]:
                at = key.index(delimiter, len(prefix))
                name, is_prefix = key[:at + 1], True
            if name.encode() > after.encode() and (name, is_prefix) not in \
                    entries[-1:]:
                entries.append((name, is_prefix))
        more = len(entries) > most
        entries = entries[:most]
        text = ["<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3."
                "amazonaws.com/doc/2006-03-01/\">",
                "<EncodingType>url</EncodingType>",
                "<IsTruncated>%s</IsTruncated>" % str(more).lower()]
        if more:
            text.append("<NextContinuationToken>%s</NextContinuationToken>" %
                        escape(entries[-1][0]))
        for name, is_prefix in entries:
            shown = escape(urllib.parse.quote_plus(name, safe="/"))
            if is_prefix:
                text.append("<CommonPrefixes><Prefix>%s</Prefix>"
                            "</CommonPrefixes>" % shown)
                continue
            found = bucket[name]
            text.append("<Contents><Key>%s</Key><Size>%d</Size><LastModified>"
                        "%s</LastModified></Contents>" % (
                            shown, len(found.body),
                            time.strftime("%Y-%m-%dT%H:%M:%S.000Z",
                                          time.gmtime(found.modified))))
        self.answer(200, "".join(text) + "</ListBucketResult>")

    def multipart(self, s3, bucket):
        if "uploads" in self.query:
            name = uuid.uuid4().hex + "/+"
            s3.uploads[name] = Upload(
                self.bucket, self.key,
                self.headers.get("x-amz-meta-quarry-put", ""))
            self.answer(200, "<InitiateMultipartUploadResult><UploadId>%s"
                        "</UploadId></InitiateMultipartUploadResult>" % name)
            return
        upload = s3.uploads.get(self.query["uploadId"])
        if not upload or upload.key != self.key:
            raise Refused(404, "NoSuchUpload")
        if self.command == "PUT":
            part = Object(self.body)
            upload.parts[int(self.query["partNumber"])] = part
            self.answer(200, ETag=part.etag)
        elif self.command == "DELETE":
            del s3.uploads[self.query["uploadId"]]
            self.answer(204)
        else:
            self.complete(s3, bucket, upload)

    def complete(self, s3, bucket, upload):
        self.check_conditions(bucket)
        numbers = sorted(upload.parts)
        if numbers != list(range(1, len(numbers) + 1)):
            raise Refused(400, "InvalidPart")
        for number in numbers:
            part = upload.parts[number]
            want = "<Part><PartNumber>%d</PartNumber><ETag>&#34;%s&#34;" \
                "</ETag></Part>" % (number, part.etag.strip('"'))
            if want.encode() not in self.body:
                raise Refused(400, "InvalidPart")
            if number < len(numbers) and len(part.body) < 5 << 20:
                raise Refused(400, "EntityTooSmall")
        bucket[self.key] = Object(
            b"".join(upload.parts[n].body for n in numbers), upload.token)
        del s3.uploads[self.query["uploadId"]]
        self.answer(200, "<CompleteMultipartUploadResult><ETag>%s</ETag>"
                    "</CompleteMultipartUploadResult>" %
                    escape(bucket[self.key].etag))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # Connections break on purpose.


class FakeS3:
    """Buckets by name, each a dict of objects by key."""

    def __init__(self, region="us-east-1"):
        self.lock = threading.RLock()
        self.objects = {"bucket": {}}
        self.uploads = {}
        self.requests = []
        self.faults = []
        self.page = PAGE
        self.region = region

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.s3 = self
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       kwargs={"poll_interval": 0.05})
        self.thread.start()
        return self

    def __exit__(self, *args):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def env(self):
        return {"AWS_ENDPOINT_URL": "http://127.0.0.1:%d" %
                self.server.server_address[1],
                "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_REGION": "us-east-1", "no_proxy": "127.0.0.1"}

    def fail(self, kind, method=None, has="", times=1):
        """Let the next @times requests of @method whose path and query have
        @has fail so."""
        with self.lock:
            self.faults.append([kind, method, has, times])

    def take_fault(self, request):
        with self.lock:
            for fault in self.faults:
                kind, method, has, times = fault
                if times > 0 and method in (None, request.command) and \
                        has in request.path:
                    fault[3] -= 1
                    return kind
        return None

    def left(self):
        """Faults that no request has met."""
        return [fault for fault in self.faults if fault[3] > 0]
