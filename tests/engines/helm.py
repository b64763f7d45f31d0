"""The Helm chart: it renders, its objects are what Kubernetes takes, and what it
renders runs: each pod is a network namespace with an address that changes when
the pod is restarted, as a user that is not root's.

    python3 tests/engines/helm.py QUARRY HELM KUBERNETES_VALIDATE [unittest arguments]

KUBERNETES_VALIDATE is the program of that name (PyPI), with the schemas of
Kubernetes; `-` leaves these checks out.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HELM = sys.argv.pop(2)
VALIDATE = sys.argv.pop(2)
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import harness  # noqa: E402
import yaml  # noqa: E402

CHART = os.path.join(ROOT, "packaging", "helm", "quarry")
# Of the image.
USER = "970"
KUBERNETES = ("1.25", "1.29", "1.34")


def render(*settings, check=True):
    words = [w for s in settings for w in ("--set", s)]
    return subprocess.run(
        [HELM, "template", "q", CHART, "--namespace", "test",
         "--kube-version", KUBERNETES[1] + ".0", *words],
        capture_output=True, text=True, check=check)


def objects(*settings):
    return [o for o in yaml.safe_load_all(render(*settings).stdout) if o]


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Chart(unittest.TestCase):
    def test_lint(self):
        """helm finds nothing wrong."""
        subprocess.run([HELM, "lint", "--strict", CHART], check=True,
                       capture_output=True)

    def test_objects_are_kubernetes(self):
        """Every object is one that versions of Kubernetes take, also with all
        that can be switched on."""
        if VALIDATE == "-":
            self.skipTest("kubernetes-validate is not here")
        everything = ("nodes.replicas=5", "persistence.enabled=false",
                      "api.enabled=true", "api.tokensSecret=t",
                      "api.certificateSecret=c", "console.tokensSecret=ct",
                      "security.certificateSecret=tls",
                      "image.pullSecrets[0].name=s", "nodeSelector.disk=ssd",
                      "podAnnotations.a=b", "tolerations[0].operator=Exists")
        for settings in ((), everything, ("persistence.storageClass=fast",)):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
                f.write(render(*settings).stdout)
                f.flush()
                for version in KUBERNETES:
                    done = subprocess.run(
                        [VALIDATE, "-k", version, "--strict", f.name],
                        capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0,
                                     done.stdout + done.stderr)
                    self.assertNotIn("WARN", done.stdout + done.stderr)

    def test_mistakes_are_refused(self):
        """Values that cannot work are refused before anything is made."""
        for setting, word in (("cell.replicas=2", "1, 3 or 5"),
                              ("api.enabled=true", "api.tokensSecret")):
            done = render(setting, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stderr)

    def test_service_monitor(self):
        """A ServiceMonitor selects the console's service alone."""
        found = objects("metrics.serviceMonitor.enabled=true")
        monitor = [o for o in found if o["kind"] == "ServiceMonitor"][0]
        want = monitor["spec"]["selector"]["matchLabels"].items()
        self.assertEqual(
            [o["metadata"]["name"] for o in found if o["kind"] == "Service" and
             want <= o["metadata"]["labels"].items()], ["q-quarry-console"])


class Pod:
    """A pod of a stateful set, in a namespace of the network."""

    def __init__(self, cluster, group, index):
        self.cluster, self.index = cluster, index
        self.set = cluster.sets[group]
        self.name = "%s-%d" % (self.set["metadata"]["name"], index)
        self.ns = "%s-%s" % (cluster.bridge, self.name)
        self.dir = os.path.join(cluster.dir, self.name)
        for name in ("var", "tmp"):
            os.makedirs(os.path.join(self.dir, name))
            os.chown(os.path.join(self.dir, name), int(USER), int(USER))
        self.process = None
        ip("netns", "add", self.ns)
        cluster.test.addCleanup(ip, "netns", "del", self.ns)
        link = "%s%s%d" % (cluster.bridge, group[0], index)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0",
           "netns", self.ns)
        cluster.test.addCleanup(subprocess.run, ["ip", "link", "del", link],
                                capture_output=True)
        ip("link", "set", link, "master", cluster.bridge, "up")
        ip("-n", self.ns, "link", "set", "lo", "up")
        ip("-n", self.ns, "link", "set", "eth0", "up")
        os.makedirs("/etc/netns/" + self.ns)
        cluster.test.addCleanup(shutil.rmtree, "/etc/netns/" + self.ns)
        self.address = None

    def start(self):
        """With an address that no pod had before."""
        if self.address:
            ip("-n", self.ns, "addr", "flush", "dev", "eth0")
        self.address = self.cluster.new_address()
        ip("-n", self.ns, "addr", "add", self.address + "/24", "dev", "eth0")
        self.cluster.write_hosts()
        container = self.set["spec"]["template"]["spec"]["containers"][0]
        words = [w.replace("$(POD_NAME)", self.name)
                 .replace("$(NODE_NAME)", "node%d" % self.index)
                 for w in container["args"]]
        log = open(os.path.join(self.dir, "log"), "ab")
        mounts = "".join(
            "mount --bind %s %s\n" % pair for pair in (
                (os.path.join(self.cluster.dir, "config"), "/etc/quarry"),
                (os.path.join(self.cluster.dir, "security"),
                 "/run/secrets/quarry"),
                (os.path.join(self.dir, "var"), "/var/lib/quarry"),
                (os.path.join(self.dir, "tmp"), "/tmp")))
        # The program and its libraries are found before /tmp is another.
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.ns, "unshare", "--mount", "sh", "-ec",
             "mkdir -p /etc/quarry /run/secrets/quarry /var/lib/quarry\n" +
             mounts + "exec setpriv --reuid %s --regid %s --clear-groups "
             "--no-new-privs -- \"$@\"" % (USER, USER), "pod",
             self.cluster.program, *words], stdout=log, stderr=log,
            stdin=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        self.process.wait(self.set["spec"]["template"]["spec"]
                          ["terminationGracePeriodSeconds"])

    def is_healthy(self):
        """As the kubelet asks."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.ns, "curl", "-s", "-o", "/dev/null",
             "-m", "3", "-w", "%{http_code}",
             "http://%s:7480/health" % self.address],
            capture_output=True, text=True)
        return done.stdout == "200"


class Cluster:
    """The objects that the chart renders, run."""

    def __init__(self, test, *settings):
        self.test, self.pods, self.last = test, [], 1
        self.dir = tempfile.mkdtemp(dir="/var/tmp")
        test.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        os.chmod(self.dir, 0o755)
        self.program = os.path.join(self.dir, "quarry")
        shutil.copy(harness.QUARRY, self.program)
        self.bridge = "qh%d" % (os.getpid() % 10000)
        ip("link", "add", self.bridge, "type", "bridge")
        test.addCleanup(ip, "link", "del", self.bridge)
        ip("link", "set", self.bridge, "up")
        found = objects(*settings)
        self.sets = {o["metadata"]["labels"]["app.kubernetes.io/component"]: o
                     for o in found if o["kind"] == "StatefulSet"}
        self.domain = "q-quarry.test.svc.cluster.local"
        self.write_volumes(found)
        for group, o in self.sets.items():
            for i in range(o["spec"]["replicas"]):
                self.pods.append(Pod(self, group, i))
        test.addCleanup(self.kill)

    def write_volumes(self, found):
        for name in ("config", "security"):
            os.mkdir(os.path.join(self.dir, name))
        config = [o for o in found if o["kind"] == "ConfigMap"][0]
        with open(os.path.join(self.dir, "config", "server.conf"), "w") as f:
            f.write(config["data"]["server.conf"])
        # As the kubelet mounts a secret for an fsGroup.
        key = os.path.join(self.dir, "security", "key")
        with open(key, "w") as f:
            f.write("0123456789abcdef0123456789abcdef")
        os.chown(key, 0, int(USER))
        os.chmod(key, 0o440)

    def new_address(self):
        self.last += 1
        return "10.231.77.%d" % self.last

    def write_hosts(self):
        """The names of pods, as the headless service gives them."""
        text = "127.0.0.1 localhost\n" + "".join(
            "%s %s.%s\n" % (p.address, p.name, self.domain)
            for p in self.pods if p.address)
        for p in self.pods:
            path = "/etc/netns/%s/hosts" % p.ns
            with open(path, "w") as f:
                f.write(text)

    def kill(self):
        for p in self.pods:
            if p.process:
                p.process.kill()
                p.process.wait()

    def quarry(self, *words, timeout=120):
        """In the first pod that runs."""
        p = [p for p in self.pods if p.process and p.process.poll() is None][-1]
        return subprocess.run(
            ["ip", "netns", "exec", p.ns, self.program, *words, "-t",
             ",".join("q-quarry-cell-%d.%s:7400" % (i, self.domain)
                      for i in range(3)), "--key",
             os.path.join(self.dir, "key")],
            capture_output=True, text=True, timeout=timeout,
            env=dict(os.environ, QUARRY_TIMEOUT="60s"))


@unittest.skipUnless(os.geteuid() == 0, "namespaces of networks need root")
class Pods(unittest.TestCase):
    def await_true(self, what, seconds=120):
        until = time.time() + seconds
        while not what():
            self.assertLess(time.time(), until, "in time")
            time.sleep(0.5)

    def ok(self, *words):
        done = self.cluster.quarry(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_pods_change_their_addresses(self):
        """A cluster is founded by names, becomes healthy as the kubelet sees it,
        and serves all rows after every pod was replaced, each with another
        address."""
        self.cluster = c = Cluster(self, "nodes.replicas=1")
        shutil.copy(os.path.join(c.dir, "security", "key"),
                    os.path.join(c.dir, "key"))
        os.chmod(os.path.join(c.dir, "key"), 0o600)
        for p in c.pods:
            p.start()
        self.await_true(lambda: all(p.is_healthy() for p in c.pods))
        self.ok("table", "create", "t", "--family", "f")
        for n, p in enumerate(c.pods):
            self.ok("put", "t", "row%d" % n, "f:a=%d" % n)
            p.stop()
            p.start()
            self.await_true(lambda: all(p.is_healthy() for p in c.pods))
        self.assertIn("row%d" % n, self.ok("scan", "t", "--keys-only"))
        self.assertIn(" %d\n" % len(c.pods), self.ok("count", "t"))
        self.assertEqual(self.ok("member", "ls").count("10.231.77."), 0)


if __name__ == "__main__":
    harness.main()
