"""A job's history says what its code ran in on the workers: a cage, one without
namespaces where the worker's administrator allows that, or none."""

import ctypes
import ctypes.util

from processes import main
from test_access import CertifiedTest

CLONE_NEWUSER = 0x10000000
SCMP_CMP_MASKED_EQ = 7
SCMP_ACT_ALLOW = 0x7fff0000
SCMP_ACT_EPERM = 0x00050001


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int),
                ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def forbid_namespaces():
    """From now on this process is as on a kernel that gives no namespaces."""
    lib = ctypes.CDLL(ctypes.util.find_library("seccomp") or "libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint,
        ctypes.POINTER(Compare)]
    lib.seccomp_load.argtypes = [ctypes.c_void_p]
    new_user = Compare(0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
    rules = lib.seccomp_init(SCMP_ACT_ALLOW)
    for name, count in ((b"clone", 1), (b"unshare", 0)):
        number = lib.seccomp_syscall_resolve_name(name)
        assert lib.seccomp_rule_add_array(rules, SCMP_ACT_EPERM, number, count,
                                          ctypes.byref(new_user)) == 0
    assert lib.seccomp_load(rules) == 0


class Cages(CertifiedTest):
    more_roles = ",jobs,worker"
    more_conf = "[worker]\nslots = 2\nno-sandbox = yes\n"

    def setUp(self):
        super().setUp()
        self.become("ann")
        # Jobs wait for it.
        self.wait_for(lambda: self.run_quarry("job", "list").returncode == 0)
        self.write("lines.txt", "a\nb\n")
        self.ok("fs", "put", "lines.txt", "/lines.txt")

    def job(self, out, *args):
        return self.run_quarry("job", "run", *args, "-i", "file:/lines.txt",
                               "-o", "file:/" + out)

    def ran_in(self):
        """Counters of the last job's sandboxes, and its notes."""
        counters = {r["counter"]: int(r["value"])
                    for r in self.json("job", "counters", "last")}
        return ({k: v for k, v in counters.items() if k.startswith("sandbox.")},
                self.ok("job", "status", "last"))


class StrongTest(Cages):
    def test_cage(self):
        """Of commands each attempt is counted, of what is built in none."""
        done = self.job("out-1", "--mapper", "cat")
        if b"refuses namespaces" in done.stderr:
            self.skip("this kernel gives no namespaces")
        self.assertEqual(done.returncode, 0, done.stderr)
        counters, said = self.ran_in()
        self.assertEqual(list(counters), ["sandbox.cage"])
        self.assertNotIn("without", said)

        done = self.job("out-2", "--mapper", "cat", "--no-sandbox")
        self.assertEqual(done.returncode, 0, done.stderr)
        counters, said = self.ran_in()
        self.assertEqual(list(counters), ["sandbox.none"])
        self.assertIn("without a sandbox (--no-sandbox)", said)

        self.write("count.szl", "o: table sum of int;\nemit o <- 1;\n")
        done = self.job("out-3", "count.szl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ran_in()[0], {})


class WeakTest(Cages):
    more_conf = ("[worker]\nslots = 2\nweak-sandbox = yes\nno-sandbox = no\n")
    before_server = staticmethod(forbid_namespaces)

    def test_weak(self):
        """A worker that makes do without namespaces is named, also if the
        attempts fail."""
        done = self.job("out-1", "--mapper", "cat")
        self.assertEqual(done.returncode, 0, done.stderr)
        counters, said = self.ran_in()
        self.assertEqual(list(counters), ["sandbox.weak"])
        self.assertIn("ran without namespaces on n1 (weak-sandbox there)", said)

        done = self.job("out-2", "--mapper", "exit 7")
        self.assertEqual(done.returncode, 1)
        counters, said = self.ran_in()
        self.assertEqual(list(counters), ["sandbox.weak"])
        self.assertIn("ran without namespaces on n1 (weak-sandbox there)", said)


if __name__ == "__main__":
    main()
