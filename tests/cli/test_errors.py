"""Every error names the thing, the place and what to do; exit 1 for what
failed, 2 for what was used wrongly; and nothing stored is lost."""

import glob
import json
import os
import re
import signal
import socket
import subprocess
import threading

import harness
from harness import CliTest, main


class Usage(CliTest):
    def test_misspelt_command(self):
        self.assertEqual(
            self.fails(2, "scam", "t"),
            "quarry: scam: no such command (did you mean: quarry scan?)")
        self.assertEqual(
            self.fails(2, "table", "crate", "t"), "quarry: table crate: no "
            "such command (did you mean: quarry table create?)")
        self.assertIn("which of its commands", self.fails(2, "table"))

    def test_misspelt_option(self):
        self.table()
        self.assertEqual(
            self.fails(2, "scan", "t", "--limt", "3"),
            "quarry: scan: unknown option --limt (did you mean --limit?)")

    def test_wrong_values(self):
        self.table()
        self.assertIn("'x' is no whole number from",
                      self.fails(2, "scan", "t", "--limit", "x"))
        self.assertIn("--limit needs a value: N",
                      self.fails(2, "scan", "t", "--limit"))
        self.assertIn("is no time", self.fails(2, "scan", "t", "--since",
                                               "yesterday"))
        self.assertIn("none of text, json, csv",
                      self.fails(2, "scan", "t", "--format", "xml"))
        self.assertIn("takes no value",
                      self.fails(2, "scan", "t", "--keys-only=1"))
        self.assertIn("expects TABLE ROW", self.fails(2, "get", "t"))
        self.assertIn("unexpected argument 'x'",
                      self.fails(2, "table", "describe", "t", "x"))
        self.assertIn("has no value", self.fails(2, "put", "t", "r", "f:q"))
        self.assertIn("is no column", self.fails(2, "put", "t", "r", ":q=1"))
        self.assertIn("'f=1' has no qualifier: write FAMILY:QUALIFIER=VALUE, "
                      "or f:=VALUE for the empty qualifier",
                      self.fails(2, "put", "t", "r", "f=1"))
        for command in (("incr", "t", "r", "f"), ("add", "t", "r", "f", "1"),
                        ("check-and-put", "t", "r", "--if", "f=1", "f:q=2")):
            self.assertIn("'f' has no qualifier: write FAMILY:QUALIFIER, or f: "
                          "for the empty qualifier", self.fails(2, *command))

    def test_options_before_a_command(self):
        self.assertEqual(self.fails(2, "-t"),
                         "quarry: --target needs a value: TARGET "
                         "(see: quarry help)")

    def test_every_command_has_help(self):
        """--help works everywhere, and shows a usage and an example."""
        overview = self.ok("help")
        self.assertIn("Exit status: 0 done, 1 failed, 2 used", overview)
        names = re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)(?:  |$)", overview, re.M)
        self.assertGreater(len(names), 25)
        self.assertIn("import access-log", names)
        for name in names:
            text = self.ok(*name.split(), "--help")
            self.assertIn("Usage: quarry " + name, text)
            self.assertIn("Example:\n  quarry", text)
            self.assertIn("--target", text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
        self.assertIn("table create", self.ok("table", "--help"))


class BadInput(CliTest):
    def test_no_store(self):
        message = self.fails(1, "table", "list")
        self.assertIn("make a table first", message)
        self.assertFalse(os.path.exists(self.path("quarry-data")))

    def test_bad_target(self):
        self.assertIn("file:DIR", self.fails(1, "-t", "ftp:x", "table", "list"))
        self.assertIn("a directory is file:./x",
                      self.fails(1, "-t", "./x", "table", "list"))

    def test_unknown_table(self):
        self.table("webtable")
        self.assertIn("did you mean webtable?", self.fails(1, "scan", "webtabel"))

    def test_unknown_family(self):
        """The message lists the families there are; nothing was written."""
        self.table("t", "alpha", "beta")
        message = self.fails(1, "put", "t", "r", "alpha:a=1", "gamma:q=1")
        self.assertIn("gamma", message)
        self.assertIn("alpha", message)
        self.assertIn("beta", message)
        self.assertEqual(self.json("count", "t"), [{"rows": 0, "cells": 0}])
        self.assertIn("gamma", self.fails(1, "scan", "t", "--family", "gamma"))

    def test_guesses_are_of_the_same_kind(self):
        """A family or a file is missing: no table is offered."""
        self.table("t", "alpha")
        for words in (["load", "t", "u"], ["table", "alter", "t",
                                           "--drop-family", "s"]):
            self.assertNotIn("did you mean", self.fails(1, *words))

    def test_bad_load(self):
        """A cell that is refused is named by file and line; no cell is loaded.
        """
        self.table("t")
        for lines, what in (("b\tf:q\t1\tx\na\tf:q\t1\tx\n", "must ascend"),
                            ("a\tf:q\t1\tx\nb\tz:q\t1\tx\n", "family z"),
                            ("a\tf:q\t1\tx\nb\tf:q\t%s\tx\n" % ("9" * 20),
                             "time is no number")):
            self.write("rows", lines)
            message = self.fails(1, "load", "t", "rows")
            self.assertIn("rows: line 2: ", message)
            self.assertIn(what, message)
        self.assertEqual(self.json("count", "t"), [{"rows": 0, "cells": 0}])

    def test_bytes_in_messages(self):
        """A name of any bytes does nothing to a terminal."""
        self.table()
        done = self.run_quarry("get", "t", b"\xff\x1b[2J\xc2\x9bm\xc3\xa9")
        self.assertEqual(done.returncode, 1)
        self.assertIn(rb"no row \xff\x1b[2J\xc2\x9bm" + "é ".encode(),
                      done.stderr)

    def test_output_that_is_there(self):
        """A job says how to write over what another one made."""
        self.write("text", "a\n")
        run = ("job", "run", "word_count", "--input", "file:text", "--output",
               "file:out")
        self.ok(*run)
        self.assertIn("--overwrite", self.fails(1, *run))
        self.ok(*run, "--overwrite")

    def test_misspelt_setting(self):
        """No directory is made for a server whose own is misspelt."""
        self.write("conf", "[server]\nname = n1\ndate = here\n")
        self.assertEqual(self.fails(1, "server", "--config", "conf"),
                         "quarry: conf:3: unknown key date in section "
                         "[server] (did you mean data?)")
        self.assertNotIn("quarry-server", os.listdir(self.dir))

    def test_bad_regex(self):
        self.table()
        for option in ("--column", "--row-regex", "--value"):
            message = self.fails(1, "scan", "t", option, "a(b")
            self.assertIn("a(b", message)

    def test_row_key_too_long(self):
        """65,537 bytes of row key are refused with the limit; 65,536 are not.
        """
        self.table()
        message = self.fails(1, "put", "t", "k" * 65537, "f:q=1")
        self.assertRegex(message, r"65,?536|64 KiB")
        self.ok("put", "t", "k" * 65536, "f:q=1")
        self.assertEqual(self.json("count", "t"), [{"rows": 1, "cells": 1}])

    def test_empty_row(self):
        self.table()
        self.fails(1, "put", "t", "", "f:q=1")

    def test_table_exists(self):
        self.table()
        self.assertIn("t", self.fails(1, "table", "create", "t", "--family",
                                      "f"))

    def test_bad_schema(self):
        message = self.fails(1, "table", "create", "t", "--family",
                             "f,version=3")
        self.assertIn("version", message)
        self.assertIn("versions", message)

    def test_row_not_there(self):
        self.table()
        self.assertIn("no row r", self.fails(1, "get", "t", "r"))

    def test_store_in_use(self):
        """A second process is told who has the store, and harms nothing."""
        self.table()
        with subprocess.Popen([harness.QUARRY, "shell"], cwd=self.dir,
                              env=self.env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as shell:
            shell.stdin.write(b"count t --format csv\n")
            shell.stdin.flush()
            self.assertEqual(shell.stdout.readline(), b"rows,cells\n")
            message = self.fails(1, "put", "t", "r", "f:q=1")
            self.assertIn(str(shell.pid), message)
            self.assertIn("end that process", message)
            self.assertIn(str(shell.pid), self.fails(1, "check"))
            shell.stdin.write(b"put t r f:q=1\n")
            shell.stdin.close()
            self.assertEqual(shell.wait(), 0)
        self.assertEqual(self.json("count", "t"), [{"rows": 1, "cells": 1}])

    def test_newer_format(self):
        """A manifest of a later version is refused by name, and left alone."""
        self.table()
        path = sorted(glob.glob(self.path("quarry-data/manifest-*")))[-1]
        with open(path, "r+b") as f:
            head = bytearray(f.read(16))
            head[8] = 99
            head[12:16] = crc32c(bytes(head[:12])).to_bytes(4, "little")
            f.seek(0)
            f.write(head)
        before = read(path)
        message = self.fails(1, "table", "list")
        self.assertIn("99", message)
        self.assertIn("newer", message)
        self.assertEqual(read(path), before)

    def test_corrupt_block(self):
        """A read over a damaged block names file and place; rows elsewhere can
        still be read."""
        self.table()
        for letter in "abcd":
            self.ok("put", "t", letter, "f:q=" + letter * 60000)
        self.ok("table", "compact", "t")
        sst, = glob.glob(self.path("quarry-data/tables/*.sst"))
        with open(sst, "r+b") as f:
            f.seek(64)
            f.write(b"\xff\xff\xff\xff")
        message = self.fails(1, "scan", "t")
        self.assertIn(os.path.basename(sst), message)
        self.assertRegex(message, r"block at \d+: ")
        self.assertIn("(quarry check tells", message)
        # Files that tables share are read once.
        self.ok("table", "clone", "t", "u")
        done = self.run_quarry("check", "quarry-data")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.decode().count(os.path.basename(sst)), 2)
        self.assertIn(b"1 of its files", done.stderr)

    def test_corrupt_snapshot(self):
        """The files of a snapshot alone, and its record, are checked too."""
        self.embedded_only("a store that is a directory")
        self.table()
        self.ok("put", "t", "r", "f:q=1")
        self.ok("table", "snapshot", "t", "monday")
        self.ok("delete", "t", "r")
        self.ok("table", "compact", "t")
        states = {row["file"]: row for row in self.json("check")}
        self.assertEqual(states["tables/000001.sst"]["entries"], 1)
        self.assertEqual({row["state"] for row in states.values()}, {"ok"})
        for name in ("tables/000001.sst", "snapshots/monday.snap"):
            with open(self.path("quarry-data/" + name), "r+b") as f:
                f.seek(20)
                was = f.read(2)
                f.seek(20)
                f.write(bytes(byte ^ 0xff for byte in was))
            done = self.run_quarry("check", "--format", "json")
            self.assertEqual(done.returncode, 1)
            states = {row["file"]: row["state"] for row in map(
                json.loads, done.stdout.splitlines())}
            self.assertNotEqual(states[name], "ok")

    def test_full_disk(self):
        """When the disk is full the command says so and what to do, and what
        was there before is still there. A file-size limit stands for the disk.
        """
        self.table()
        self.ok("put", "t", "small", "f:q=1")
        self.write("big", os.urandom(3 << 20))
        done = subprocess.run(
            ["sh", "-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "-",
             harness.QUARRY, "put", "t", "r", "--file", "f:q=big"],
            cwd=self.dir, env=self.env, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"quarry: ", done.stderr)
        self.assertEqual(self.ok("scan", "t", "--keys-only"), "small\n")

    def test_saw_loops_for_ever(self):
        """Fuel ends a program that would not, and names the line."""
        message = self.fails(1, "saw", "--fuel", "100000", "-e",
                             "while (true) ;")
        self.assertRegex(message, ":1:8: .*instructions")

    def test_saw_loops_in_the_engine(self):
        """In the engine fuel needs no asking."""
        self.table()
        self.ok("put", "t", "r", "f:q=1")
        message = self.fails(1, "scan", "t", "--saw-text",
                             "r: Row = input; while (true) ; emit keep <- r;")
        self.assertRegex(message, "program:1:.*instructions")

    def test_interrupted_import(self):
        """An import that is killed half-way can be run again, and the result is
        what one undisturbed run gives."""
        command = ("import", "csv", "in.csv", "--into", "t")

        def killed(count):
            """As it writes its first SSTable; False: it was too fast."""
            lines = "".join("k%07d,%d\n" % (i, i) for i in range(count))
            self.write("in.csv", "key,n\n" + lines)
            self.table("t", "data")
            run = self.start(*command)
            while (not self.files_below("quarry-data/tables") and
                   run.poll() is None):
                pass
            run.kill()
            return run.wait() == -signal.SIGKILL
        count = 200000
        while not killed(count):
            self.ok("table", "drop", "t")
            count *= 4
        self.ok(*command)
        self.assertEqual(self.json("count", "t"),
                         [{"rows": count, "cells": count}])

    def test_interrupted_bench(self):
        """The scratch store goes, also when the measuring is ended early."""
        for wait in ("quarry-data.bench", "quarry-data.bench/tables"):
            run = self.start("bench", "--rows", "100000000")
            self.wait_for(lambda: os.path.exists(self.path(wait)))
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(), -signal.SIGINT)
            self.assertEqual(os.listdir(self.dir), ["lsan"])

    def test_closed_pipe(self):
        """A reader that has seen enough ends the scan, without noise."""
        self.table()
        for i in range(3):
            self.ok("put", "t", "r%d" % i, "f:q=" + "x" * 100000)
        done = subprocess.run("'%s' scan t | head -c 10" % harness.QUARRY,
                              shell=True, cwd=self.dir, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(len(done.stdout), 10)

    def test_output_that_cannot_be_written(self):
        """A full device is an error, not a silent loss."""
        self.table()
        self.ok("put", "t", "r", "f:q=" + "x" * 100000)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.QUARRY, "scan", "t"], cwd=self.dir,
                                  env=self.env, stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)

    def test_import_of_no_file(self):
        """The file that is not there is named once."""
        said = self.fails(1, "import", "csv", "nofile.csv", "--into", "t")
        self.assertEqual(said.count("nofile.csv"), 1, said)

    def test_export_is_whole_or_absent(self):
        """An export that fails leaves no file of its name."""
        self.table()
        self.ok("put", "t", "r", "f:q=1")
        self.ok("export", "t", "-o", "out.jsonl")
        self.assertEqual(os.listdir(self.dir).count("out.jsonl"), 1)
        self.assertEqual(self.ok("export", "t", "-o", "-"),
                         read(self.path("out.jsonl")).decode())
        self.fails(1, "export", "t", "-o", "no/such/dir/out")
        self.assertNotIn("out.jsonl.partial", os.listdir(self.dir))


class NoCluster(CliTest):
    """No server answers, or another program does: the error names the cluster
    and what to look at."""

    COMMANDS = (["lock", "ls", "/"], ["fs", "ls"], ["job", "list"],
                ["member", "ls"])

    def setUp(self):
        super().setUp()
        self.env["QUARRY_TIMEOUT"] = "1s"
        self.socket = socket.socket()
        self.addCleanup(self.socket.close)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]

    def test_nobody_answers(self):
        for command in self.COMMANDS:
            message = self.fails(1, "-t", self.address, *command)
            self.assertIn("nobody answers at " + self.address, message)
            self.assertIn("see: quarry cluster status", message)

    def test_a_stranger_answers(self):
        def answer():
            while True:
                try:
                    taken.append(self.socket.accept()[0])
                    taken[-1].sendall(b"HTTP/1.0 400 Bad Request\r\n" * 9)
                except OSError:
                    return
        taken = []
        self.socket.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.socket.shutdown, socket.SHUT_RDWR)
        message = self.fails(1, "-t", self.address, "fs", "ls")
        self.assertIn(self.address + " speaks another protocol (is a server "
                      "of Quarry at that address?)", message)

    def test_no_place_for_one(self):
        """A store's directory gets no nodes; a cluster is not checked so."""
        self.embedded_only("a store that is a directory")
        self.table()
        before = self.files_below("quarry-data")
        self.assertEqual(
            self.fails(1, "cluster", "start", "--data", "quarry-data"),
            "quarry: there is a store in quarry-data (name another directory "
            "by --data)")
        self.assertEqual(self.files_below("quarry-data"), before)
        self.assertIn("the target 127.0.0.1:1 is a cluster", self.fails(
            2, "check", "-t", "127.0.0.1:1"))

    def test_no_port(self):
        for target in ("127.0.0.1:0", "127.0.0.1:65536"):
            for command in self.COMMANDS + (["table", "list"],):
                message = self.fails(1, "-t", target, *command)
                self.assertIn(target + " has no port", message)
                self.assertIn("from 1 to 65535", message)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


class Version(CliTest):
    def test_version(self):
        """The version is told in every way that is usual."""
        said = self.ok("version")
        self.assertRegex(said, r"^quarry [0-9.]+\n$")
        for word in ("--version", "-V"):
            self.assertEqual(self.ok(word), said)


if __name__ == "__main__":
    main()
