"""Manual pages, scripts that complete commands in shells, run by the shells that
are here, and the service: all that packages install beside the program."""

import os
import re
import shutil
import subprocess

from harness import QUARRY, ROOT, CliTest, main
from ports import free_ports


class ManualPages(CliTest):
    def test_every_command_has_a_page(self):
        os.mkdir(self.path("man"))
        self.ok("help", "--man-pages", "man")
        names = set(os.listdir(self.path("man")))
        self.assertIn("quarry.1", names)
        overview = self.ok("help")
        for command in re.findall(r"^  ([a-z][a-z-]*(?: [a-z-]+)?)(?:  +|$)",
                                  overview, re.M):
            name = "quarry-%s.1" % command.replace(" ", "-")
            self.assertIn(name, names)
        self.assertEqual(self.ok("help", "--man", "table", "create"),
                         self.read("man/quarry-table-create.1"))

    def test_pages_are_roff(self):
        """groff has no warning, and shows options and examples as they are."""
        if not shutil.which("groff"):
            print("SKIPPED: groff is not installed", flush=True)
            self.skipTest("groff is not installed")
        os.mkdir(self.path("man"))
        self.ok("help", "--man-pages", "man")
        for name in sorted(os.listdir(self.path("man"))):
            done = subprocess.run(
                ["groff", "-K", "utf8", "-man", "-Tutf8", "-P-cbou", "-ww",
                 self.path("man/" + name)], capture_output=True, check=True)
            self.assertEqual(done.stderr.decode(), "", name)
            if name == "quarry-table-create.1":
                text = done.stdout.decode()
                self.assertIn("--family", text)
                self.assertIn("quarry table create webtable", text)

    def test_wrong_use(self):
        self.assertIn("no such command",
                      self.fails(2, "help", "--man", "nosuch"))
        self.assertIn("No such file",
                      self.fails(1, "help", "--man-pages", "nosuch"))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()


class Completion(CliTest):
    def offers(self, line):
        return self.ok("completion", "--line", line).splitlines()

    def test_offers(self):
        self.table()
        self.assertEqual(self.offers("tab"), ["table "])
        self.assertIn("create ", self.offers("table "))
        self.assertEqual(self.offers("table create --fam"), ["--family "])
        self.assertEqual(self.offers("scan t"), ["t "])
        self.assertEqual(self.offers("get t row f"), ["f:"])
        self.assertEqual(self.offers("nosuch command "), [])

    def test_wrong_use(self):
        self.assertIn("which shell", self.fails(2, "completion"))
        self.assertIn("none of bash, zsh, fish",
                      self.fails(2, "completion", "tcsh"))

    def shell(self, program, *args):
        """Run @program with quarry in its path; None where it is not here."""
        if not shutil.which(program):
            print("SKIPPED: %s is not installed" % program, flush=True)
            return None
        env = dict(self.env)
        env["PATH"] = os.path.dirname(QUARRY) + ":" + env["PATH"]
        return subprocess.run([program, *args], cwd=self.dir, env=env,
                              capture_output=True, text=True,
                              check=True).stdout

    def bash(self, line):
        return self.shell(
            "bash", "-c", "source <(quarry completion bash)\n"
            "COMP_LINE=$1 COMP_POINT=${#1}\n_quarry\n"
            "printf '%s\\n' \"${COMPREPLY[@]}\"", "bash", line).splitlines()

    def test_bash(self):
        self.table()
        self.assertEqual(self.bash("quarry table cr"), ["create "])
        self.assertEqual(self.bash("quarry scan t"), ["t "])
        self.assertEqual(self.bash("quarry -t file:nosuch scan t"), [""])
        self.assertEqual(
            self.bash("quarry -t file:quarry-data scan t"), ["t "])

    def test_fish(self):
        self.table()
        out = self.shell("fish", "-c", "quarry completion fish | source\n"
                         "complete -C 'quarry table cr'\n"
                         "complete -C 'quarry scan t'")
        if out is not None:
            self.assertEqual(out.split(), ["create", "t"])

    def test_zsh(self):
        script = self.ok("completion", "zsh")
        with open(self.path("_quarry"), "w", encoding="utf-8") as f:
            f.write(script)
        if self.shell("zsh", "-n", "_quarry") is None:
            self.skipTest("zsh is not installed")


class Service(CliTest):
    def test_exposure(self):
        """systemd's own judgement of what the service could do."""
        if not shutil.which("systemd-analyze"):
            print("SKIPPED: systemd-analyze is not installed", flush=True)
            self.skipTest("systemd-analyze is not installed")
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true",
             "--threshold=25", os.path.join(
                 ROOT, "packaging/systemd/quarry.service")],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-200:] + done.stderr)

    def test_settings(self):
        """The configuration that is installed is one of a server."""
        self.embedded_only("it starts a server of its own")
        with open(os.path.join(ROOT, "packaging/server.conf"),
                  encoding="utf-8") as f:
            text = f.read()
        text = text.replace("/var/lib/quarry", self.path("data")) \
            .replace("7400", str(free_ports(1)[0]))
        self.write("server.conf", text)
        server = subprocess.Popen(
            [QUARRY, "server", "--config", self.path("server.conf")],
            env=self.env, cwd=self.dir, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL)
        self.assertRegex(server.stdout.readline(), r"^ready ")
        server.terminate()
        server.communicate()
        self.assertEqual(server.returncode, 0)


if __name__ == "__main__":
    main()
