"""A store: a directory, or a cluster."""

import builtins
import os
import random
import re
import time
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from . import _quarry
from .rows import Bytes, to_bytes, to_text
from .table import Table
from .transaction import Transaction

_ALTER = {"add_family": 0, "update_family": 1, "drop_family": 2,
          "add_group": 3, "update_group": 4, "set_replication": 5}


def open(target: Union[str, "os.PathLike[str]"], **options: Any) -> "Store":
    """Open a store.

    `target` is "file:DIR" (or a path) for a directory, which one process
    writes at a time and any number read; "host:port,…" for a cluster; or
    "cluster:DIR" for one that `quarry cluster` started on this machine.

    Options are those of `struct quarry_options`: `read_only`, `must_exist`,
    `cache_bytes`, `memtable_bytes`, `split_bytes`, `encryption_key_file` of
    directories; `key_file`, `principal`, `certificate_file`,
    `certificate_key_file`, `authority_file`, `act_as`, `timeout_us` of
    clusters.
    """
    return Store(target, **options)


def _resolve(target: str, options: Dict[str, Any]) -> str:
    """A target as the library takes it: paths and cluster:DIR are not."""
    if target.startswith("cluster:"):
        directory = target[len("cluster:"):]
        if "certificate_file" not in options:
            options.setdefault("key_file", os.path.join(directory, "key"))
        return ",".join(_listen_addresses(directory))
    if os.sep in target or target.startswith((".", "~")):
        if not target.startswith("file:"):
            return "file:" + os.path.expanduser(target)
    return target


def _listen_addresses(directory: str) -> List[str]:
    """Where the nodes of a cluster on this machine listen: n1/server.conf …"""
    out: List[str] = []
    while True:
        path = os.path.join(directory, "n%d" % (len(out) + 1), "server.conf")
        try:
            with builtins.open(path, encoding="utf-8") as f:
                text = f.read()
        except FileNotFoundError:
            break
        found = (re.search(r"^address\s*=\s*(\S+)\s*$", text, re.M) or
                 re.search(r"^listen\s*=\s*(\S+)\s*$", text, re.M))
        if not found:
            raise _quarry.InvalidError("%s: no key listen" % path)
        out.append(found.group(1))
    if not out:
        raise _quarry.NotFoundError(
            "there is no cluster at %s (quarry cluster start --data %s)" %
            (directory, directory))
    return out


class Store:
    """An open store. Use it in a `with` statement, or close it."""

    def __init__(self, target: Union[str, "os.PathLike[str]"],
                 **options: Any):
        name = os.fspath(target)
        address = _resolve(name, options)
        self.target = name
        self._store = _quarry.Store(
            address.encode(),
            **{k: v.encode() if isinstance(v, str) else
               os.fsencode(v) if isinstance(v, os.PathLike) else v
               for k, v in options.items()})
        self._tables: "weakref.WeakSet[Table]" = weakref.WeakSet()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Store %s>" % self.target

    def close(self) -> None:
        """Close the store, and tables and scans of it."""
        for table in list(self._tables):
            table.close()
        self._store.close()

    def flush(self) -> None:
        """Everything applied so far is in table files when this returns."""
        self._store.flush()

    # --- tables ----------------------------------------------------------

    def tables(self) -> List[str]:
        """The names of all tables."""
        return self._store.list()

    def __contains__(self, name: str) -> bool:
        return name in self.tables()

    def table(self, name: str) -> Table:
        """Open a table."""
        table = Table(self, self._store.table(to_text(name)), name)
        self._tables.add(table)
        return table

    __getitem__ = table

    def create_table(self, name: str,
                     families: Union[Mapping[str, str], List[str]],
                     groups: Optional[Mapping[str, str]] = None) -> Table:
        """Create a table and open it.

        `families` gives each family its options: "versions=3,ttl=7d",
        "gc=RULE", "group=NAME"; `groups` each locality group:
        "compression=zstd,block=64KiB".
        """
        if not isinstance(families, Mapping):
            families = {f: "" for f in families}
        self._store.create(to_text(name), _pairs(families),
                           _pairs(groups or {}))
        return self.table(name)

    def enable_transactions(self, name: str) -> None:
        """Let a table take part in transactions, for good."""
        self._store.enable_transactions(to_text(name))

    def transaction(self, serializable: bool = False, read_only: bool = False,
                    timeout: float = 60.0) -> Transaction:
        """Begin a transaction; `timeout` in seconds, at most 600."""
        return Transaction(self, serializable, read_only, timeout)

    def run_transaction(self, function: Callable[[Transaction], Any],
                        serializable: bool = False,
                        timeout: float = 60.0) -> Any:
        """Call `function` with a transaction and commit; again after conflicts,
        until `timeout` seconds are over. Its result."""
        end = time.monotonic() + timeout
        pause = 0.0005
        while True:
            left = max(end - time.monotonic(), 0.001)
            try:
                with self.transaction(serializable, timeout=left) as t:
                    result = function(t)
                return result
            except _quarry.ConflictError:
                if time.monotonic() > end:
                    raise
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 2, 0.1)

    def drop_table(self, name: str) -> None:
        """Drop a table and all of its rows."""
        self._store.drop(to_text(name))

    def alter_table(self, name: str, *changes: tuple) -> None:
        """Change a table's schema, all changes or none: ("add_family", name,
        options), ("update_family", …), ("drop_family", name), ("add_group",
        …), ("update_group", …), ("set_replication", n)."""
        self._store.alter(to_text(name), tuple(
            (_ALTER[c[0]], to_text(str(c[1])),
             to_text(c[2] if len(c) > 2 else "")) for c in changes))

    def describe(self, name: str) -> Dict[str, Any]:
        """Families, locality groups and tablets of a table."""
        return self._store.describe(to_text(name))

    def compact(self, name: str) -> None:
        """Rewrite a table without what was deleted."""
        self._store.compact(to_text(name))

    def split(self, name: str, row: Bytes) -> None:
        """Cut the tablet that holds `row` there."""
        self._store.split(to_text(name), to_bytes(row))

    def drop_rows(self, name: str, start: Bytes = b"", end: Bytes = b"",
                  prefix: Optional[Bytes] = None) -> None:
        """Delete the rows in [start, end), or those with a prefix."""
        first, last = to_bytes(start), to_bytes(end)
        if prefix is not None:
            if first or last:
                raise TypeError("rows of a range or of a prefix, not both")
            first, last = to_bytes(prefix), prefix_end(to_bytes(prefix))
        self._store.drop_rows(to_text(name), first, last)

    # --- snapshots -------------------------------------------------------

    def snapshot(self, table: str, name: str, ttl_us: int = 0) -> None:
        """Keep the present state of a table as snapshot `name`."""
        self._store.snapshot(to_text(table), to_text(name), ttl_us)

    def snapshots(self) -> List[Dict[str, Any]]:
        """All snapshots."""
        return self._store.snapshots()

    def drop_snapshot(self, name: str) -> None:
        """Drop a snapshot."""
        self._store.drop_snapshot(to_text(name))

    def restore(self, snapshot: str, table: str) -> Table:
        """Make a new table of a snapshot, which stays."""
        self._store.restore(to_text(snapshot), to_text(table))
        return self.table(table)

    def clone(self, table: str, to: str) -> Table:
        """Make a new table of what another is now."""
        self._store.clone(to_text(table), to_text(to))
        return self.table(to)

    def counters(self) -> Dict[str, int]:
        """Counters of the store's work since it was opened."""
        return self._store.counters()


def _pairs(options: Mapping[str, str]) -> tuple:
    return tuple((to_text(k), to_text(v)) for k, v in options.items())


def prefix_end(prefix: bytes) -> bytes:
    """The first key after all that begin with `prefix`; empty: none."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes((cut[-1] + 1,)) if cut else b""
