"""`quarry lock` against a cell of real processes: files and locks outlive the
servers that hold them, and a lock's holder is one at a time."""

import json
import os
import re
import signal
import subprocess
import threading
import time

from processes import CELL, QUARRY, SECONDS, ClusterTest, main

TARGET = "cluster:quarry-cluster"


class LockTest(ClusterTest):
    def lock(self, *args):
        return self.ok("lock", args[0], "-t", TARGET, *args[1:])

    def test_one_server(self):
        """A cell of one server. The holders that die or hang do so
        at first: their leases take long to run out."""
        self.loopback(1, CELL)
        with self.subTest("files"):
            self.check_files()
        dead = self.start_holder_that_dies()
        silent = self.start_silent_holders()
        for check in (self.check_hold, self.check_watch,
                      self.check_status_of_the_command):
            with self.subTest(check.__name__):
                check()
        with self.subTest("holders are seen"):
            self.check_holders()
        with self.subTest("holder dies"):
            self.check_holder_that_died(*dead)
        with self.subTest("silent holders"):
            self.check_silent_holders(*silent)

    def check_files(self):
        """Files and directories are made, listed, read and removed; mistakes
        are named."""
        self.lock("put", "/greeting", "hello")
        self.lock("mkdir", "/jobs")
        self.lock("put", "/jobs/one", "1")
        self.assertEqual(self.lock("cat", "/greeting"), "hello")
        names = [row["name"] for row in
                 self.json("lock", "ls", "-t", TARGET)]
        self.assertEqual(names, ["acl/", "greeting", "jobs/"])
        self.assertIn("1 children",
                      self.fails(1, "lock", "rm", "/jobs", "-t", TARGET))
        self.lock("rm", "/jobs/one")
        self.lock("rm", "/jobs")
        self.assertIn("open /jobs: no such node",
                      self.fails(1, "lock", "cat", "/jobs", "-t", TARGET))
        self.assertIn("is no cluster",
                      self.fails(2, "lock", "ls", "-t", "file:x"))
        self.wait_for(lambda: "refused" in self.fails(
            1, "lock", "ls", "-t", "127.0.0.1:1", "--timeout", "3s"))

    def test_not_every_node(self):
        """Of the nodes that a target names some need have no lock service and
        no namenode: others are asked. Where none has, that is said."""
        c = self.loopback(2)
        nodes = [row["address"] for row in
                 sorted(c.status(), key=lambda row: row["node"])]
        first, second = dict.fromkeys(nodes)
        key = ("--key", "quarry-cluster/key", "-t")
        self.ok("lock", "put", "/f", "1", *key, second + "," + first)
        self.ok("fs", "mkdir", "/d", *key, second + "," + first)
        c.pause("n1")
        late = [subprocess.Popen(
            [QUARRY, *words, *key, first + "," + second], cwd=self.dir,
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for words in (["lock", "cat", "/f"], ["fs", "ls", "/"])]
        time.sleep(6)  # Longer than one is waited for.
        c.resume("n1")
        for process in late:
            said, _ = process.communicate(timeout=SECONDS)
            self.assertEqual(process.returncode, 0, said)
        c.kill("n1")
        self.env["QUARRY_TIMEOUT"] = "3s"
        for words in (["lock", "cat", "/f"], ["fs", "ls", "/"]):
            self.assertIn("unknown method", self.fails(1, *words, *key, second))
            self.wait_for(lambda w=words: "refused" in self.fails(
                1, *w, *key, second + "," + first))

    def check_hold(self):
        """A command runs under its lock, with the sequencer; its failure is
        ours; who does not wait is told who holds it."""
        out = self.lock("hold", "/l", "--", "sh", "-c",
                        "echo $QUARRY_SEQUENCER")
        self.assertRegex(out, r"^x:1:\d+:/l\n$")
        inner = [QUARRY, "lock", "hold", "/l", "--no-wait", "-t", TARGET,
                 "--", "true"]
        done = self.run_quarry("lock", "hold", "/l", "-t", TARGET, "--",
                               *inner)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, 1, message)
        self.assertIn("the lock is held by session", message)
        self.assertIn("exit status 1", message)

    def check_holders(self):
        """The holder of a lock is seen, with its session, while it holds it."""
        looks = (("holders", "lock holders --format json"),
                 ("sessions", "lock sessions --format json"),
                 ("document", "monitor locks limit=1000"))
        self.lock("hold", "/seen", "--", "sh", "-c", " && ".join(
            "%s %s -t %s >%s.json" % (QUARRY, what, TARGET, name)
            for name, what in looks))
        text = {}
        for name, _ in looks:
            with open(self.path(name + ".json")) as f:
                text[name] = f.read()
        holders, sessions = ([json.loads(line) for line in
                              text[name].splitlines()]
                             for name in ("holders", "sessions"))
        document = json.loads(text["document"])
        mine, = (h for h in holders if h["name"] == "seen")
        self.assertEqual(mine["mode"], "exclusive")
        session, = (s for s in sessions if s["session"] == mine["session"])
        self.assertEqual(session["locks"], "/seen")
        self.assertTrue(0 < session["lease_seconds"] <= 12, session)
        entry, = (e for e in document["entries"] if e["name"] == "seen")
        self.assertEqual((entry["kind"], entry["mode"]), ("file", "exclusive"))
        self.assertEqual([h["session"] for h in entry["holders"]],
                         [mine["session"]])
        seen, = (s for s in document["sessions"]
                 if s["id"] == mine["session"])
        self.assertEqual(seen["locks"], ["/seen"])
        self.assertGreater(seen["lease_left_us"], 0)
        self.assertEqual(document["sessions_total"],
                         len(document["sessions"]))
        names = [row["name"] for row in
                 self.json("lock", "holders", "-t", TARGET)]
        self.assertNotIn("seen", names)

    def check_watch(self):
        """Events of a file are printed, until it is deleted."""
        self.lock("put", "/f", "1")
        watch = subprocess.Popen(
            [QUARRY, "lock", "watch", "/f", "-t", TARGET], cwd=self.dir,
            env=self.env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        lines = []
        reader = threading.Thread(
            target=lambda: lines.extend(iter(watch.stdout.readline, "")))
        reader.start()

        def told():
            self.lock("put", "/f", "2")
            return any("/f written" in line for line in lines)
        self.wait_for(told)
        self.lock("rm", "/f")
        reader.join(SECONDS)
        self.assertIn("/f deleted", lines[-1])
        self.assertEqual(watch.wait(SECONDS), 0)
        watch.stdout.close()

    def test_leaders_die(self):
        """Files are what was last acknowledged, and a counter under a lock
        never loses an increment, while leaders are killed."""
        c = self.loopback(3, CELL)
        self.lock("put", "/count", "0")
        step = ("n=$(%s lock cat /count -t %s --timeout 120s) && "
                "%s lock put /count $((n + 1)) -t %s --timeout 120s"
                % (QUARRY, TARGET, QUARRY, TARGET))
        workers = []
        rounds = 4

        def work():
            for _ in range(rounds):
                self.ok("lock", "hold", "/guard", "-t", TARGET,
                        "--timeout", "120s", "--", "sh", "-c", step)
        for _ in range(3):
            workers.append(threading.Thread(target=work))
            workers[-1].start()
        for _ in range(3):
            time.sleep(1)
            old = c.leader("lock")
            c.kill(old)
            c.leader("lock", other_than=[old])
            c.start(old)
        for worker in workers:
            worker.join()
        self.assertEqual(self.lock("cat", "/count"), str(3 * rounds))

    def start_holder_that_dies(self):
        """Its sequencer, and who waits for its lock."""
        holder = subprocess.Popen(
            [QUARRY, "lock", "hold", "/dead", "-t", TARGET], cwd=self.dir,
            env=self.env, stdout=subprocess.PIPE, text=True)
        first = holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
        return first, self.start_next_holder("dead", "echo $QUARRY_SEQUENCER")

    def check_holder_that_died(self, first, following):
        """The lock of a holder that was killed is had by the next, later than
        its lease could have lasted, and with a newer sequencer."""
        out, _ = following.communicate(timeout=SECONDS)
        self.assertEqual(following.returncode, 0)
        generation = [int(re.match(r"x:(\d+):", s).group(1))
                      for s in (first, out)]
        self.assertEqual(generation[1], generation[0] + 1)

    def hold_forever(self, name):
        """A holder whose command, and what that started, write the time into
        files, ten times a second."""
        tick = "while :; do date +%s.%N >{0}/" + name + "-$1; sleep 0.1; done"
        script = ("trap '' TERM; (set -- child; {t}) & set -- parent; {t}"
                  .format(t=tick.format(self.dir)))
        holder = subprocess.Popen(
            [QUARRY, "lock", "hold", "/" + name, "-t", TARGET, "--", "sh", "-c",
             script], cwd=self.dir, env=self.env, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: holder.poll() is None and holder.kill())
        for part in ("child", "parent"):
            self.wait_for(lambda p=part: self.last_tick(name, p) > 0)
        return holder

    def last_tick(self, name, part):
        """When it last wrote."""
        try:
            with open(os.path.join(self.dir, f"{name}-{part}")) as f:
                return float(f.read().strip() or 0)
        except FileNotFoundError:
            return 0

    def start_next_holder(self, name, script="date +%s.%N"):
        """It says when it has the lock, or what @script does."""
        process = subprocess.Popen(
            [QUARRY, "lock", "hold", "/" + name, "-t", TARGET, "--timeout",
             "%ds" % SECONDS, "--", "sh", "-c", script], cwd=self.dir,
            env=self.env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def expect_over(self, name, since):
        """Command and child have ended, and did before @since."""
        for part in ("child", "parent"):
            self.assertLess(self.last_tick(name, part), since)
        time.sleep(1)
        for part in ("child", "parent"):
            self.assertLess(self.last_tick(name, part), since)

    def start_silent_holders(self):
        """One was killed, the other hangs: it, and who waits for their locks.
        """
        killed = self.hold_forever("killed")
        stopped = self.hold_forever("stopped")
        killed.send_signal(signal.SIGKILL)
        stopped.send_signal(signal.SIGSTOP)
        killed.communicate(timeout=SECONDS)
        return stopped, [(name, self.start_next_holder(name))
                         for name in ("killed", "stopped")]

    def check_silent_holders(self, stopped, following):
        """The command of a holder that was killed, or hangs, ends with all it
        started, also what ignores SIGTERM, before another has the lock. One
        that continues then says that the lock may be lost, and fails."""
        for name, process in following:
            out, _ = process.communicate(timeout=SECONDS)
            self.assertEqual(process.returncode, 0)
            self.expect_over(name, float(out))
        stopped.send_signal(signal.SIGCONT)
        _, said = stopped.communicate(timeout=SECONDS)
        self.assertEqual(stopped.returncode, 1)
        self.assertIn("the lock may be lost", said)

    def test_lost_lock(self):
        """So does the command of a holder who does not reach the cell, and the
        holder says so soon."""
        c = self.loopback(1, CELL)
        holder = self.hold_forever("lost")
        c.kill("n1")
        _, said = holder.communicate(timeout=SECONDS)
        self.assertEqual(holder.returncode, 1)
        self.assertIn("the lock may be lost", said)
        self.expect_over("lost", time.time())

    def check_status_of_the_command(self):
        """The command's outcome comes through: its status, its signal, its
        absence, and the terminal's Ctrl-C is its own."""
        hold = ("lock", "hold", "/l", "-t", TARGET, "--")
        self.assertEqual(self.ok(*hold, "echo", "out").strip(), "out")
        self.assertIn("exit status 3", self.fails(1, *hold, "sh", "-c",
                                                  "exit 3"))
        self.assertIn("ended by signal 15",
                      self.fails(1, *hold, "sh", "-c", "kill $$"))
        self.assertIn("No such file", self.fails(1, *hold, "./absent"))
        holder = subprocess.Popen(
            [QUARRY, *hold, "sh", "-c", "trap 'exit 0' INT; echo; "
             "while :; do sleep 0.1; done"], cwd=self.dir, env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        holder.stdout.readline()
        os.killpg(holder.pid, signal.SIGINT)
        holder.communicate(timeout=SECONDS)
        self.assertEqual(holder.returncode, 0)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    main()
