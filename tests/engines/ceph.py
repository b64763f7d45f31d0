"""Ceph on this machine: a monitor, a manager, one OSD that keeps its objects in
memory, and on demand the gateway that speaks S3.

    ceph = Ceph(directory)
    ceph.start()
    ceph.pool("quarry")
    … os.environ | ceph.env …
    ceph.end()

`python3 tests/engines/ceph.py DIRECTORY [gateway]` keeps one until it is
interrupted, and prints the variables that lead to it.
"""

import hashlib
import hmac
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from lock_services import free_ports

KEYS = ("AKIDTEST", "a-secret")
PROGRAMS = ("ceph", "ceph-authtool", "ceph-mgr", "ceph-mon", "ceph-osd",
            "monmaptool")

CONF = """[global]
fsid = 5f3c1b52-6f0f-4e51-9d0a-3a0d2f1f9c11
mon host = [v2:127.0.0.1:{0},v1:127.0.0.1:{1}]
ms bind ipv4 = true
ms bind ipv6 = false
public network = 127.0.0.0/8
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = {at}/keyring
run dir = {at}
admin socket = {at}/$name.asok
log file = {at}/$name.log
pid file =
mon data = {at}/mon
osd data = {at}/osd
mgr data = {at}/mgr
rgw data = {at}/rgw
crash dir = {at}/crash
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
auth allow insecure global id reclaim = false
osd objectstore = memstore
memstore device bytes = 4294967296
mgr initial modules =
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{2}
rgw crypt require ssl = false
"""


class Ceph:
    """Everything of it is below @at."""

    def __init__(self, at):
        self.at = os.path.abspath(at)
        self.processes = {}
        ports = free_ports(3)
        self.gateway = "http://127.0.0.1:%d" % ports[2]
        for name in ("mon", "osd", "mgr", "rgw", "crash"):
            os.makedirs(os.path.join(self.at, name), exist_ok=True)
        self.conf = os.path.join(self.at, "ceph.conf")
        with open(self.conf, "w") as f:
            f.write(CONF.format(*ports, at=self.at))
        self.env = {"CEPH_CONF": self.conf}
        keyring = os.path.join(self.at, "keyring")
        self.run("ceph-authtool", "--create-keyring", keyring)
        for name, caps in (
                ("mon.", ("mon", "allow *")),
                ("client.admin", ("mon", "allow *", "osd", "allow *", "mgr",
                                  "allow *")),
                ("osd.0", ("mon", "allow profile osd", "osd", "allow *", "mgr",
                           "allow profile osd")),
                ("mgr.x", ("mon", "allow profile mgr", "osd", "allow *")),
                ("client.rgw", ("mon", "allow rw", "osd", "allow rwx"))):
            words = [w for i in range(0, len(caps), 2)
                     for w in ("--cap",) + caps[i:i + 2]]
            self.run("ceph-authtool", keyring, "--gen-key", "-n", name, *words)
        monmap = os.path.join(self.at, "monmap")
        self.run("monmaptool", "--create", "--fsid",
                 "5f3c1b52-6f0f-4e51-9d0a-3a0d2f1f9c11", "--addv", "a",
                 "[v2:127.0.0.1:%d,v1:127.0.0.1:%d]" % tuple(ports[:2]),
                 monmap)
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap,
                 "--keyring", keyring)

    def run(self, *words):
        done = subprocess.run(
            [words[0], "-c", self.conf] + list(words[1:])
            if words[0] not in ("ceph-authtool", "monmaptool") else words,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        if done.returncode:
            raise RuntimeError("%s: %s" % (" ".join(words),
                                           done.stdout.decode()[-2000:]))
        return done.stdout.decode()

    def launch(self, name, *words):
        log = open(os.path.join(self.at, name + ".out"), "a")
        with log:
            self.processes[name] = subprocess.Popen(
                [words[0], "-c", self.conf, "-f", "--setuser", "root",
                 "--setgroup", "root"] + list(words[1:]),
                stdout=log, stderr=log)

    def start(self):
        self.launch("mon", "ceph-mon", "-i", "a")
        self.run("ceph", "--connect-timeout", "60", "osd", "create")
        self.run("ceph-osd", "-i", "0", "--mkfs")
        self.run("ceph", "osd", "crush", "add", "0", "1.0", "root=default",
                 "host=h")
        self.launch("osd", "ceph-osd", "-i", "0")
        self.launch("mgr", "ceph-mgr", "-i", "x")
        self.wait(lambda: "1 up" in self.run("ceph", "osd", "stat"),
                  "the OSD does not start")

    @staticmethod
    def wait(there, otherwise):
        deadline = time.monotonic() + 120
        while not there():
            if time.monotonic() > deadline:
                raise TimeoutError(otherwise)
            time.sleep(0.3)

    def pool(self, name):
        self.run("ceph", "osd", "pool", "create", name, "8")
        self.run("ceph", "osd", "pool", "application", "enable", name,
                 "quarry")

    def answers(self):
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                self.gateway).close()
        except urllib.error.HTTPError:
            pass
        except OSError:
            return False
        return True

    def start_gateway(self):
        """S3 at self.gateway, for the user with KEYS."""
        self.launch("rgw", "radosgw", "-n", "client.rgw")
        self.wait(self.answers, "radosgw does not start")
        self.run("radosgw-admin", "user", "create", "--uid", "quarry",
                 "--display-name", "quarry", "--access-key", KEYS[0],
                 "--secret-key", KEYS[1])

    def bucket(self, name):
        """A bucket of the user, by a request that is signed as AWS says."""
        host = self.gateway.split("//")[1]
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope = now[:8] + "/us-east-1/s3/aws4_request"
        empty = hashlib.sha256(b"").hexdigest()
        signed = "host;x-amz-content-sha256;x-amz-date"
        asked = "\n".join([
            "PUT", "/" + name, "", "host:" + host,
            "x-amz-content-sha256:" + empty, "x-amz-date:" + now, "", signed,
            empty])
        key = ("AWS4" + KEYS[1]).encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope,
                          hashlib.sha256(asked.encode()).hexdigest()])
        request = urllib.request.Request(
            self.gateway + "/" + name, method="PUT", headers={
                "x-amz-content-sha256": empty, "x-amz-date": now,
                "Authorization": "AWS4-HMAC-SHA256 Credential=%s/%s, "
                "SignedHeaders=%s, Signature=%s" % (
                    KEYS[0], scope, signed,
                    hmac.digest(key, text.encode(), "sha256").hex())})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request).close()

    def signal(self, name, number):
        self.processes[name].send_signal(number)

    def end(self):
        for p in self.processes.values():
            p.send_signal(signal.SIGKILL)
        for p in self.processes.values():
            p.wait()
        self.processes = {}


if __name__ == "__main__":
    here = Ceph(sys.argv[1])
    try:
        here.start()
        here.pool("quarry")
        print("CEPH_CONF=" + here.conf, flush=True)
        if "gateway" in sys.argv[2:]:
            here.start_gateway()
            print("AWS_ENDPOINT_URL=%s AWS_ACCESS_KEY_ID=%s "
                  "AWS_SECRET_ACCESS_KEY=%s" % ((here.gateway,) + KEYS),
                  flush=True)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        pass
    finally:
        here.end()
