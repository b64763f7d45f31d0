"""quarry replay beside pywb on one web archive: the same captures, and pages a
second.

    python3 tests/bench/replay.py QUARRY ARCHIVE.warc.gz [SECONDS]

pywb is looked for in $PYWB, a directory with its programs (a venv's bin: pip
install pywb), else in $PATH. Each capture that pywb's index names is asked of
both, as it was (id_); status, date and body are compared. Then both serve the
archive's pages of HTML (mp_, rewritten) to one client over one connection, in
turns; rates are by elapsed time and by the server's processor time.
"""

import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")
ROUNDS = 3


def program(name):
    path = os.path.join(os.environ["PYWB"], name) if "PYWB" in os.environ \
        else shutil.which(name)
    if not path or not os.path.exists(path):
        sys.exit("SKIPPED: there is no %s here (pip install pywb; $PYWB is the "
                 "directory of its programs)" % name)
    return path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """One of both; `prefix` is what its addresses begin with."""

    def __init__(self, name, prefix, port, process):
        self.name, self.prefix = name, prefix
        self.port, self.process = port, process
        self.connection = None
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("%s does not listen" % name)

    def get(self, path):
        """(status, date of the capture, body); redirects to another date of the
        same URL are followed."""
        for _ in range(3):
            status, headers, body = self.ask(self.prefix + path)
            to = headers.get("Location", "")
            if status not in (302, 307) or "Memento-Datetime" in headers or \
                    not to.startswith(self.prefix):
                break
            path = to[len(self.prefix):]
        return status, headers.get("Memento-Datetime"), body

    def ask(self, path):
        for attempt in range(2):
            if not self.connection:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=60)
            try:
                self.connection.request("GET", path)
                answer = self.connection.getresponse()
                return answer.status, answer.headers, answer.read()
            except (http.client.HTTPException, OSError):
                self.connection.close()
                self.connection = None
                if attempt:
                    raise
        return None

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            parts = f.read().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / TICKS

    def stop(self):
        self.process.terminate()
        self.process.wait()


def start_pywb(directory, archive):
    collection = os.path.join(directory, "collections", "w")
    for name in ("archive", "indexes"):
        os.makedirs(os.path.join(collection, name))
    shutil.copyfile(archive, os.path.join(collection, "archive",
                                          os.path.basename(archive)))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([program("wb-manager"), "reindex", "w"], cwd=directory,
                   check=True, **quiet)
    port = free_port()
    server = Server("pywb", "/w/", port, subprocess.Popen(
        [program("wayback"), "-b", "127.0.0.1", "-p", str(port)],
        cwd=directory, **quiet))
    with open(os.path.join(collection, "indexes", "index.cdxj")) as f:
        index = [line.split(" ", 2)[1:] for line in f]
    return server, [(date, json.loads(rest)) for date, rest in index]


def start_quarry(quarry, directory, archive):
    target = "file:" + os.path.join(directory, "table")
    subprocess.run([quarry, "import", "warc", archive, "--into", "web", "-t",
                    target, "-q"], check=True, stdout=subprocess.DEVNULL)
    port = free_port()
    return Server("quarry", "/web/", port, subprocess.Popen(
        [quarry, "replay", "web", "-q", "-t", target, "--listen",
         "127.0.0.1:%d" % port], stdout=subprocess.DEVNULL))


def compare(index, ours, theirs):
    """Print how many captures both answer alike, and those they do not."""
    counts = {"the same": 0}
    for date, line in index:
        path = "%sid_/%s" % (date, line["url"])
        a, b = ours.get(path), theirs.get(path)
        what = "the same"
        if a[1] is None and b[1] is None and min(a[0], b[0]) >= 400:
            what = "in neither (a revisit whose original is elsewhere)"
            counts[what] = counts.get(what, 0) + 1
            continue
        if a[:2] != b[:2]:
            what = "another status or date"
        elif hashlib.sha1(a[2]).digest() != hashlib.sha1(b[2]).digest():
            what = "another body"
        counts[what] = counts.get(what, 0) + 1
        if what != "the same":
            print("  %s: %s: quarry %s %s %d bytes, pywb %s %s %d bytes" % (
                what, path, *a[:2], len(a[2]), *b[:2], len(b[2])))
    print("captures: %d: %s" % (len(index), ", ".join(
        "%d %s" % (n, what) for what, n in counts.items())))


def measure(server, paths, seconds):
    """(pages a second, pages a second of processor time)"""
    cpu, begin, pages = server.cpu(), time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        for path in paths:
            server.ask(server.prefix + path)
        pages += len(paths)
    return (pages / (time.monotonic() - begin),
            pages / max(server.cpu() - cpu, 1 / TICKS))


def main():
    quarry, archive = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5
    directory = tempfile.mkdtemp(prefix="quarry-replay-")
    servers = []
    try:
        theirs, index = start_pywb(directory, archive)
        servers.append(theirs)
        ours = start_quarry(quarry, directory, archive)
        servers.append(ours)
        compare(index, ours, theirs)
        pages = ["%smp_/%s" % (date, line["url"]) for date, line in index
                 if line.get("mime") == "text/html" and
                 line.get("status") == "200"]
        best = {}
        for server in servers * ROUNDS:
            rates = measure(server, pages, seconds)
            best.setdefault(server.name, []).append(rates)
        for server in servers:
            wall, cpu = (max(r[i] for r in best[server.name]) for i in (0, 1))
            print("%-7s %d pages: %8.1f pages/s, %8.1f pages/s of CPU" % (
                server.name, len(pages), wall, cpu))
        for i, of in enumerate(("time", "CPU")):
            rates = [max(r[i] for r in best[server.name])
                     for server in (ours, theirs)]
            print("pages of %s by %s\t%.1f\t%.1f\t%.1f\tpages/s" % (
                os.path.basename(archive), of, *rates, rates[0] / rates[1]))
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
