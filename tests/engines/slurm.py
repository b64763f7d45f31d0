"""`quarry slurm` in jobs of a real Slurm, of one host, whose daemons are started
here.

    python3 tests/engines/slurm.py QUARRY [unittest arguments]
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import harness  # noqa: E402

DAEMONS = ("munged", "slurmctld", "slurmd")

# No cgroups: the test needs no rights that a container lacks.
SETTINGS = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge.socket
CredType=cred/munge
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd.log
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=20
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_daemons(at):
    """Munge and Slurm, all below the directory at."""
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        os.mkdir(os.path.join(at, name))
    conf = os.path.join(at, "slurm.conf")
    with open(conf, "w") as f:
        f.write(SETTINGS.format(at=at, host=host, ctld_port=free_port(),
                                slurmd_port=free_port()))
    with open(os.path.join(at, "munge.key"), "wb") as f:
        f.write(os.urandom(128))
    os.chmod(os.path.join(at, "munge.key"), 0o600)
    env = dict(os.environ, SLURM_CONF=conf)
    commands = (
        ["munged", "-F", "--force", "--key-file", at + "/munge.key",
         "--socket", at + "/munge.socket", "--pid-file", at + "/munge.pid",
         "--log-file", at + "/munge.log", "--seed-file", at + "/munge.seed"],
        ["slurmctld", "-D", "-f", conf], ["slurmd", "-D", "-N", host, "-f", conf])
    for command in commands:
        log = open(os.path.join(at, command[0] + ".out"), "wb")
        p = subprocess.Popen(command, env=env, stdout=log, stderr=log,
                             stdin=subprocess.DEVNULL)
        unittest.addModuleCleanup(p.wait)
        unittest.addModuleCleanup(p.terminate)
        time.sleep(0.5)
    return env


def setUpModule():
    global env
    scratch = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(scratch.cleanup)
    os.chmod(scratch.name, 0o755)
    env = start_daemons(scratch.name)
    env["QUARRY_TIMEOUT"] = "120s"
    until = time.time() + 30
    while True:
        done = subprocess.run(["srun", "-n1", "hostname"], env=env,
                              capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            return
        if time.time() > until:
            raise unittest.SkipTest("Slurm does not run here: " + done.stderr)
        time.sleep(1)


class Slurm(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.data = os.path.join(self.dir, "local")
        os.mkdir(self.data)

    def job(self, *words, **more):
        """Run quarry slurm in an allocation."""
        return subprocess.run(
            ["salloc", "-Q", "-n3", "--overcommit", harness.QUARRY, "slurm",
             "-n", "3", "--data", self.data, *words],
            cwd=self.dir, env=dict(env, **more), capture_output=True, text=True,
            timeout=300)

    def left(self):
        return sorted(os.listdir(self.dir)) + sorted(os.listdir(self.data))

    def test_a_script_has_a_cluster(self):
        """The command's cluster serves tables and jobs; its status is that of the
        command, and nothing is left."""
        script = os.path.join(self.dir, "script.sh")
        with open(script, "w") as f:
            f.write("""#!/bin/bash
set -e
q=%s
$q cluster status
$q table create t --family f
$q put t row f:a=1
$q get t row
printf 'a b a\\n' >words
$q fs put words /words
$q job run word_count --input file:/words --output file:/out
$q fs cat '/out/part-*'
exit 7
""" % harness.QUARRY)
        os.chmod(script, 0o755)
        done = self.job(script)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(" up "), 3 + 1, done.stdout)
        self.assertIn("f:a", done.stdout)
        self.assertIn("a\t2", done.stdout)
        self.assertEqual(self.left(), ["local", "script.sh", "words"])

    def test_what_is_kept_is_there_again(self):
        """--keep leaves logs and what was stored."""
        done = self.job("--keep", "--", harness.QUARRY, "table", "create", "t",
                        "--family", "f")
        self.assertEqual(done.returncode, 0, done.stderr)
        shared = [n for n in self.left() if n.startswith("quarry-slurm-")]
        self.assertEqual(len(shared), 1)
        self.assertEqual(
            sorted(os.listdir(os.path.join(self.dir, shared[0]))),
            ["key", "n1", "n2", "n3"])
        self.assertEqual(len(os.listdir(self.data)), 3)

    def test_a_cancelled_job_ends_in_order(self):
        """scancel ends the nodes, which remove what they stored."""
        out = os.path.join(self.dir, "out")
        wrapped = "exec %s slurm -n 3 --data %s -- sleep 600" % (
            harness.QUARRY, self.data)
        number = subprocess.run(
            ["sbatch", "--parsable", "-n3", "--overcommit", "-o", out,
             "--wrap", wrapped], cwd=self.dir, env=env, check=True,
            capture_output=True, text=True).stdout.strip()
        until = time.time() + 60
        stored = []
        while time.time() < until and len(stored) < 3:
            stored = [n for n in os.listdir(self.data) if os.path.exists(
                os.path.join(self.data, n, "LOCK"))]
            time.sleep(0.2)
        self.assertEqual(len(stored), 3, open(out).read())
        time.sleep(3)
        subprocess.run(["scancel", number], env=env, check=True)
        while time.time() < until + 60 and subprocess.run(
                ["squeue", "-h", "-j", number], env=env, capture_output=True,
                text=True).stdout:
            time.sleep(0.2)
        self.assertEqual(os.listdir(self.data), [], open(out).read())

    def test_wrong_use(self):
        """Outside of a job, and in a directory that has a cluster, it says so."""
        outside = {k: v for k, v in env.items() if k != "SLURM_JOB_ID"}
        done = subprocess.run([harness.QUARRY, "slurm", "true"], cwd=self.dir,
                              env=outside, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not inside of a Slurm job", done.stderr)
        self.assertIn("salloc", done.stderr)
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        open(os.path.join(shared, "key"), "w").close()
        done = self.job("--dir", shared, "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is a cluster in", done.stderr)
        done = self.job("--", "/nonexistent/command")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/command", done.stderr)


if __name__ == "__main__":
    harness.main()
