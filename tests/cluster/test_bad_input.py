"""Bad input against real servers: a peer that sends nonsense, or has no key, is
refused, counted and logged once per peer and minute, and the server serves on; a
server whose disk is damaged says what, and serves no wrong bytes."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import urllib.request

from processes import QUARRY, SECONDS, ClusterTest, free_ports, main
from raw_peer import RawPeer, header

SECRET = b"0123456789abcdef0123456789abcdef"
STATUS = 0x101
UNSUPPORTED = re.compile(rb"unsupported|not supported|unknown|no method")
REFUSED = 'quarry_rpc_refused_connections_total{reason="%s"}'
# Tries of each kind of nonsense: its counter shows all, the log the first.
TRIES = 5


class Server:
    """One process with the roles of a cell."""

    def __init__(self, test, security, conf=""):
        self.test = test
        self.port, console = free_ports(2)
        self.address = "127.0.0.1:%d" % self.port
        self.console = "127.0.0.1:%d" % console
        self.log_path = test.path("log")
        self.conf = test.write("conf", conf)
        self.arguments = [
            QUARRY, "server", "--config", self.conf, "--data", "data",
            "--listen", self.address, "--console", self.console, "--log",
            self.log_path, "--roles", "lock,namenode,chunk", *security]
        self.process = None
        test.addCleanup(self.end)
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.arguments, cwd=self.test.dir, env=self.test.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return self.process.stdout.readline().startswith("ready ")

    def end(self):
        """Stop it in order, if it runs. Returns its errors."""
        if not self.process:
            return ""
        if self.process.poll() is None:
            self.process.terminate()
        _, errors = self.process.communicate(timeout=SECONDS)
        self.process = None
        for sign in ("Sanitizer", "runtime error", "panic at"):
            self.test.assertNotIn(sign, errors)
        return errors

    def fails_to_start(self):
        """It ends with status 1 instead of serving. Returns why."""
        self.test.assertFalse(self.start())
        self.test.assertEqual(self.process.wait(60), 1)
        return self.end()

    def counter(self, name):
        with urllib.request.urlopen("http://%s/vars" % self.console,
                                    timeout=SECONDS) as answer:
            text = answer.read().decode()
        found = re.search(r"(?m)^%s (\d+)$" % re.escape(name), text)
        return int(found.group(1)) if found else 0

    def complaints(self, what):
        with open(self.log_path, errors="replace") as f:
            return re.findall(r" rpc %s peer=127\.0\.0\.1:.*" % what, f.read())


class BadInputTest(ClusterTest):
    def keyed(self, conf=""):
        self.write("key", SECRET + b"\n")
        os.chmod(self.path("key"), 0o600)
        return Server(self, ["--key", "key"], conf)

    def connect(self, server, **said):
        s = RawPeer(("127.0.0.1", server.port), **said)
        self.addCleanup(s.close)
        return s

    def check_refused(self, server, counter, what, do):
        """All of @do()'s tries are counted, the first is logged, and the
        server serves on."""
        before = server.counter(counter)
        for _ in range(TRIES):
            do()
        self.wait_for(lambda: server.counter(counter) - before == TRIES)
        # A new minute may have begun once.
        self.assertIn(len(server.complaints(what)), (1, 2))
        self.check_serves(server)

    def check_serves(self, server):
        s = self.connect(server, key=SECRET)
        self.assertEqual(s.status, 0)
        status, body = s.call(STATUS)
        self.assertEqual(status, 0)
        self.assertIn(b"lock: health=well", body)

    def check_bad_frame(self, frame):
        server = self.keyed()

        def send():
            s = self.connect(server, key=SECRET)
            s.send(frame)
            self.assertTrue(s.is_closed())
        self.check_refused(server, "quarry_rpc_bad_frames_total", "bad frame", send)

    def test_malformed_frames(self):
        """Bytes that are no frame end the connection."""
        self.check_bad_frame(os.urandom(200))

    def test_wrong_checksum(self):
        """So does a header whose checksum is wrong."""
        bad = bytearray(header(method=STATUS))
        bad[17] ^= 1
        self.check_bad_frame(bytes(bad))

    def test_unexpected_kind(self):
        """So does a frame that a client may not send."""
        self.check_bad_frame(header(kind=2))

    def test_oversized_body(self):
        """So does a body beyond the limit, before a byte of it is there."""
        self.check_bad_frame(header(method=STATUS, body_bytes=(16 << 20) + 1))

    def test_oversized_attachment(self):
        """So does an attachment beyond the limit."""
        self.check_bad_frame(header(method=STATUS, body_bytes=1,
                                    attachment_bytes=(256 << 20) + 1))

    def test_malformed_body(self):
        """A call whose body is nonsense is answered with an error; the
        connection continues."""
        server = self.keyed()
        s = self.connect(server, key=SECRET)
        for method in (0x201, 0x301, 0x401):
            status, _ = s.call(method, os.urandom(50))
            self.assertLess(status, 0)
        self.assertEqual(s.call(STATUS)[0], 0)
        self.check_serves(server)

    def test_unknown_methods(self):
        """An unknown method is refused as such; the connection continues."""
        server = self.keyed()

        def ask():
            s = self.connect(server, key=SECRET)
            status, body = s.call(0x7fffffff)
            self.assertLess(status, 0)
            self.assertRegex(body, UNSUPPORTED)
            self.assertEqual(s.call(STATUS)[0], 0)
        self.check_refused(server, "quarry_rpc_unknown_methods_total",
                           "unknown method", ask)

    def check_raw_peer(self, reason, **said):
        server = self.keyed()

        def come():
            s = self.connect(server, **said)
            self.assertIsNone(s.status)  # Not a word.
            self.assertTrue(s.is_closed())
        self.check_refused(server, REFUSED % reason, "refused",
                           come)

    def test_wrong_cluster(self):
        """A member of another cluster is refused, even with the same key."""
        self.check_raw_peer("cluster", key=SECRET, cluster=b"another")

    def test_wrong_version(self):
        """So is a peer that speaks another version."""
        self.check_raw_peer("version", key=SECRET, version=9)

    def test_wrong_key(self):
        """A peer without the key gets a closed connection, and no text."""
        self.check_raw_peer("proof", key=b"f" * 32)

    def test_without_key(self):
        """So does who does not even try."""
        self.check_raw_peer("kind")

    def test_another_protocol(self):
        """A browser is none of ours."""
        server = self.keyed()

        def ask():
            with socket.create_connection(("127.0.0.1", server.port), 60) as s:
                s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"x" * 40)
                try:
                    self.assertEqual(s.recv(1), b"")
                except ConnectionError:
                    pass
        self.check_refused(server, REFUSED % "protocol", "refused",
                           ask)

    # --- certificates

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.dir, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def make_authority(self):
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                     "ca.key", "-out", "ca.crt", "-days", "10", "-subj",
                     "/CN=authority")

    def issue(self, name, days):
        """A certificate of @name: days 0 has expired a second from now."""
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout",
                     name + ".key", "-out", name + ".csr", "-subj",
                     "/CN=" + name)
        os.chmod(self.path(name + ".key"), 0o600)
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt",
                     "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days),
                     "-out", name + ".crt")

    def tls(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.path("ca.crt"))
        context.check_hostname = False
        context.load_cert_chain(self.path(name + ".crt"),
                                self.path(name + ".key"))
        return context

    def test_expired_certificate(self):
        """A peer whose certificate has expired gets nothing; one whose has not
        is served."""
        if not shutil.which("openssl"):
            print("SKIPPED: %s: there is no openssl" % self.id(), flush=True)
            self.skipTest("there is no openssl")
        self.make_authority()
        self.issue("quarry", 10)
        self.issue("member", 10)
        self.issue("expired", 0)
        server = Server(self, ["--certificate", "quarry.crt",
                               "--certificate-key", "quarry.key",
                               "--authority", "ca.crt"])

        def refused():
            return sum(server.counter(REFUSED % reason)
                       for reason in ("proof", "protocol", "kind", "silent"))

        def come():
            try:
                return self.connect(server, tls=self.tls("expired")).status
            except (ssl.SSLError, ConnectionError):
                return None

        def has_expired():
            return come() is None
        self.wait_for(has_expired)
        before = refused()
        for _ in range(TRIES):
            self.assertIsNone(come())
        self.wait_for(lambda: refused() - before == TRIES)
        log = server.complaints("refused")
        self.assertIn(len(log), (1, 2))
        self.assertRegex(log[0], "expired")
        s = self.connect(server, tls=self.tls("member"))
        self.assertEqual((s.status, s.call(STATUS)[0]), (0, 0))

    # --- damaged disks

    def read(self, path):
        with open(path, "rb") as f:
            return f.read()

    def flip(self, path, at):
        with open(path, "r+b") as f:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 0x10]))

    def put(self, server, path, text):
        self.ok("lock", "put", path, text, "-t", server.address, "--key", "key",
                "--timeout", "120s")

    def test_damaged_log(self):
        """A log with a record that is damaged, and good ones behind it, is
        refused by name."""
        server = self.keyed()
        for i in range(8):
            self.put(server, "/f%d" % i, "%04d" % i * 400)
        server.end()
        segment, = [p for p in self.files_below("data/lock")
                    if p.endswith(".seg")]
        self.flip(segment, self.read(segment).index(b"0002" * 50) + 17)
        why = server.fails_to_start()
        self.assertIn("role lock", why)
        self.assertIn(os.path.basename(segment), why)

    def test_damaged_image(self):
        """So is an image of the state."""
        server = self.keyed("[lock]\nsnapshot-log = 8KiB\n")

        def images():
            return [p for p in self.files_below("data/lock")
                    if "snap" in os.path.basename(p)]

        def has_image():
            self.put(server, "/f", "x" * 4000)
            return len(images()) > 0
        self.wait_for(has_image)
        server.end()
        image = sorted(images())[-1]
        self.flip(image, os.path.getsize(image) // 2)
        why = server.fails_to_start()
        self.assertIn("role lock", why)
        self.assertRegex(why, "damaged|checksum|corrupt")

    def test_damaged_names(self):
        """The names of files are kept as well as the locks are."""
        server = self.keyed("[namenode]\nsnapshot-log = 8KiB\n")
        target = ("-t", server.address, "--key", "key")

        def parts(what):
            return sorted(p for p in self.files_below("data/namenode")
                          if what in os.path.basename(p))

        first, made = parts("snap"), []

        def has_image():
            made.append("%04d" % len(made) * 50)
            self.ok("fs", "mkdir", "/" + made[-1], *target)
            return parts("snap") != first
        self.wait_for(has_image)
        for i in range(8):
            self.ok("fs", "mkdir", "/" + "last%d" % i * 40, *target)
        server.end()
        image, = parts("snap")
        segment = parts(".seg")[-1]
        for path, at in ((image, os.path.getsize(image) // 2),
                         (segment, self.read(segment).index(b"last2" * 40))):
            self.flip(path, at)
            why = server.fails_to_start()
            self.flip(path, at)
            self.assertIn("role namenode", why)
            self.assertIn(os.path.basename(path), why)
            self.assertRegex(why, "damaged|checksum|corrupt")
        self.assertTrue(server.start())
        names = self.ok("fs", "ls", "/", *target)
        for name in made:
            self.assertIn(name, names)

    def test_damaged_identity(self):
        """Nor does a connection continue that has no name."""
        server = self.keyed()
        server.end()
        for role, name in (("lock", "member"), ("namenode", "member"),
                           ("chunk", "SERVER")):
            path = self.path(os.path.join("data", role, name))
            for at in range(0, os.path.getsize(path), 7):
                self.flip(path, at)
                why = server.fails_to_start()
                self.flip(path, at)
                self.assertIn("role " + role, why)
                self.assertIn(os.path.join(role, name), why)
        self.assertTrue(server.start())
        self.check_serves(server)

    def test_damaged_chunk(self):
        """The bytes of a damaged chunk are not served, and its server counts
        it; other files are."""
        server = self.keyed()
        bytes_of = {name: os.urandom(300000) for name in ("a", "b")}
        target = ("-t", server.address, "--key", "key")
        for name, text in bytes_of.items():
            self.write(name, text)
            self.ok("fs", "put", name, "/" + name, *target)
        chunk, = [p for p in self.files_below("data/chunk")
                  if bytes_of["a"][:100] in self.read(p)]
        self.flip(chunk, self.read(chunk).index(bytes_of["a"][:100]) + 150000)
        self.env["QUARRY_TIMEOUT"] = "20s"  # It waits for another copy.
        done = self.run_quarry("fs", "cat", "/a", *target)
        self.env["QUARRY_TIMEOUT"] = "%ds" % SECONDS
        self.assertEqual(done.returncode, 1)
        self.assertTrue(bytes_of["a"].startswith(done.stdout))
        self.assertRegex(done.stderr, rb"damaged|checksum|good copy")
        done = self.run_quarry("fs", "cat", "/b", *target)
        self.assertEqual((done.returncode, done.stdout), (0, bytes_of["b"]))

        def is_counted():
            s = self.connect(server, key=SECRET)
            return re.search(rb"chunk: .*damaged=1", s.call(STATUS)[1])
        self.wait_for(is_counted)


if __name__ == "__main__":
    main()
