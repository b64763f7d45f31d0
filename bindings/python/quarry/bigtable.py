"""A private server of the public Bigtable API, for tests of programs that are
written for Cloud Bigtable: what the emulator is used for, but what was written
is there after a restart if it has a directory.

    with quarry.bigtable.serve() as server:
        os.environ["BIGTABLE_EMULATOR_HOST"] = server.address

or, for any program,

    python -m quarry.bigtable go test ./...
    python -m quarry.bigtable --data ./bt          until Ctrl-C
"""

import argparse
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, List, Optional

from .program import find_program

# A port may be taken between its choice and its use.
_TRIES = 5


def _free_ports(count: int) -> List[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for s in held:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in held]
    finally:
        for s in held:
            s.close()


class Server:
    """A running server. `address` is what BIGTABLE_EMULATOR_HOST wants."""

    def __init__(self, data: Optional[str] = None, timeout: float = 30.0,
                 log: Optional[IO[Any]] = None):
        self._temporary = data is None
        self.data = data or tempfile.mkdtemp(prefix="quarry-bigtable-")
        self._log = log
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self.address = ""
        try:
            self._start(timeout)
        except BaseException:
            self.close()
            raise

    def _start(self, timeout: float) -> None:
        for left in reversed(range(_TRIES)):
            node, api = _free_ports(2)
            self.address = "127.0.0.1:%d" % api
            errors = tempfile.TemporaryFile()
            self._process = subprocess.Popen(
                [find_program(), "server", "--data", self.data, "--roles",
                 "gateway", "--listen", "127.0.0.1:%d" % node,
                 "--bigtable-api", self.address],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=self._log or errors)
            if self._is_ready(timeout):
                return
            self._end()
            errors.seek(0)
            text = errors.read().decode(errors="replace")
            if not left or "in use" not in text:
                raise RuntimeError("the server did not start: %s" %
                                   (text.strip() or "see its log"))

    def _is_ready(self, timeout: float) -> bool:
        """Wait for its line "ready NAME ADDRESS ROLES"."""
        assert self._process and self._process.stdout
        end = time.monotonic() + timeout
        line = b""
        while not line.endswith(b"\n"):
            left = max(0.0, end - time.monotonic())
            if not select.select([self._process.stdout], [], [], left)[0]:
                return False
            more = os.read(self._process.stdout.fileno(), 4096)
            if not more:
                return False
            line += more
        return line.startswith(b"ready ")

    def _end(self) -> None:
        if not self._process:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._process = None

    def close(self) -> None:
        """Stop it; remove what it stored if it had no directory given."""
        self._end()
        if self._temporary:
            shutil.rmtree(self.data, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def serve(data: Optional[str] = None, timeout: float = 30.0) -> Server:
    """Start a server over `data`, a directory; None: a temporary one."""
    return Server(data, timeout)


def main(argv: Optional[List[str]] = None) -> int:
    """Run a command with a server, or a server until Ctrl-C."""
    p = argparse.ArgumentParser(
        prog="python -m quarry.bigtable",
        description="A private server of the Bigtable API.")
    p.add_argument("--data", help="its directory (a temporary one)")
    p.add_argument("command", nargs=argparse.REMAINDER,
                   help="run it with BIGTABLE_EMULATOR_HOST set, then stop")
    args = p.parse_args(argv)
    with Server(args.data, log=sys.stderr) as server:
        if args.command:
            environment = dict(os.environ,
                               BIGTABLE_EMULATOR_HOST=server.address)
            return subprocess.call(args.command, env=environment)
        print("export BIGTABLE_EMULATOR_HOST=%s" % server.address, flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
