"""Tables of rows, columns and timed cells, in a directory or on a cluster.

    import quarry

    with quarry.open("file:./quarry-data") as db:
        db.create_table("webtable", {"contents": "versions=3", "anchor": ""})
        pages = db.table("webtable")
        pages.put("com.cnn.www", {"anchor:com.c-span.www": "CNN"})
        for row in pages.scan(prefix="com.cnn"):
            print(row.key, row.value("anchor:com.c-span.www"))
        frame = pages.scan_arrow().to_pandas()

Keys, qualifiers and values are bytes; a str is taken as UTF-8. A column is
"family:qualifier". Times are microseconds since 1970, or datetime objects.

Every method may be called from any thread; calls that reach the store release
the interpreter's lock. Failures are exceptions below `quarry.Error`, whose
`code` names the kind.
"""

from typing import TYPE_CHECKING, Any

from ._quarry import (  # noqa: F401
    AbortedError, BusyError, CancelledError, ClosedError, ConflictError,
    CorruptError,
    DeadlineError, DeniedError, Error, ExhaustedError, ExistsError, FullError,
    InvalidError, IoError, NoMemoryError, NotFoundError, TooBigError,
    TooOldError,
    UnavailableError, UnknownOutcomeError, UnsupportedError)
from . import filters, jobs  # noqa: F401
from .arrow import ArrowScan  # noqa: F401
from .rows import Cell, Mutation, Row  # noqa: F401
from .store import Store, open  # noqa: F401
from .table import Batch, SawTable, Scan, Table  # noqa: F401
from .transaction import Transaction  # noqa: F401

if TYPE_CHECKING:
    from . import bigtable  # noqa: F401

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """quarry.bigtable, imported when it is first used: `python -m
    quarry.bigtable` runs it, and warns of a module that is there already."""
    if name == "bigtable":
        import importlib
        return importlib.import_module("quarry.bigtable")
    raise AttributeError("module 'quarry' has no attribute %r" % name)
