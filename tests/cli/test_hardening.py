"""The binary is built so that a mistake in it is harder to use: what the linker
and the compiler were told is in it."""

import os
import platform
import shutil
import subprocess
import unittest

from harness import QUARRY, CliTest, main


@unittest.skipUnless(shutil.which("readelf"), "there is no readelf (binutils)")
class HardeningTest(CliTest):
    def readelf(self, *args):
        return subprocess.run(
            ["readelf", "-W", *args, QUARRY], check=True, capture_output=True,
            text=True, env=dict(os.environ, LC_ALL="C")).stdout

    def is_plain(self):
        """Neither sanitized nor without optimisation."""
        symbols = self.readelf("--dyn-syms")
        return ("__asan_init" not in symbols and "__tsan_init" not in symbols
                and "__gcov" not in symbols)

    def test_linked(self):
        """Anywhere in memory (but with AddressSanitizer, which starts sooner at
        a fixed address), all names resolved at the start, tables of addresses
        read-only, no stack that can be executed."""
        if "__asan_init" not in self.readelf("--dyn-syms"):
            self.assertRegex(self.readelf("-h"), r"Type:\s+DYN")
        self.assertRegex(self.readelf("-d"), r"FLAGS.*\b(BIND_NOW|NOW)\b")
        segments = self.readelf("-l")
        self.assertIn("GNU_RELRO", segments)
        stack, = [s for s in segments.splitlines() if "GNU_STACK" in s]
        self.assertRegex(stack, r" RW +0x")
        self.assertNotRegex(segments, r"LOAD .* RWE ")

    def test_compiled(self):
        """Functions that know the size of their buffers, canaries on stacks,
        and marks where indirect jumps may end."""
        symbols = self.readelf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        if not self.is_plain():
            self.skipTest("a build with sanitizers")
        for name in ("__memcpy_chk", "__snprintf_chk", "__vsnprintf_chk"):
            self.assertIn(name, symbols)
        if platform.machine() == "x86_64":
            with open(QUARRY, "rb") as f:
                self.assertGreater(f.read().count(b"\xf3\x0f\x1e\xfa"), 1000)


if __name__ == "__main__":
    main()
