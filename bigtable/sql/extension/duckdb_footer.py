"""Makes a shared library a DuckDB extension: appends the footer in which DuckDB
looks for the platform, the version of its C API and the extension's own.

    python3 duckdb_footer.py LIBRARY OUT EXTENSION-VERSION

The footer is a custom section of WebAssembly by form: a header, eight fields of
32 bytes, the last one first, and room of 256 bytes for a signature, which an
unsigned extension leaves empty."""

import platform
import sys

MAGIC = b"4"
API = b"v1.2.0"
ABI = b"C_STRUCT"
MACHINES = {"x86_64": b"linux_amd64", "aarch64": b"linux_arm64"}
HEADER = b"\x00\x93\x04\x10duckdb_signature\x80\x04"


def footer(version):
    fields = [b"", b"", b"", ABI, version.encode(), API,
              MACHINES[platform.machine()], MAGIC]
    return HEADER + b"".join(f.ljust(32, b"\0") for f in fields) + b"\0" * 256


def main():
    library, out, version = sys.argv[1:]
    with open(library, "rb") as f:
        code = f.read()
    with open(out, "wb") as f:
        f.write(code + footer(version))


main()
