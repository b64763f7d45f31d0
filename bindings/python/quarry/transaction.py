"""Transactions over rows and tables."""

from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

from .rows import Bytes, Row, split_column, to_bytes

if TYPE_CHECKING:
    from .store import Store
    from .table import Table

# Rows of a scan that are read at once.
_PAGE = 256


class Transaction:
    """Reads of one snapshot, and writes that are made all at once or not at
    all. In a `with` statement it commits at the end, and does nothing after an
    exception:

        with store.transaction() as t:
            n = int(t.get(accounts, "ann", "balance:"))
            t.put(accounts, "ann", {"balance:": str(n - 10)})

    `ConflictError`: another was faster; begin again, or use
    `store.run_transaction()`. Tables take part by
    `store.enable_transactions()`. One thread at a time.
    """

    def __init__(self, store: "Store", serializable: bool = False,
                 read_only: bool = False, timeout: float = 60.0):
        self._txn = store._store.transaction(serializable, read_only,
                                             int(timeout * 1000000))
        self._ended = False

    def __enter__(self) -> "Transaction":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None and not self._ended:
                self.commit()
        finally:
            self._txn.close()

    def commit(self) -> int:
        """Make all writes; their timestamp. The transaction has ended."""
        self._ended = True
        return self._txn.commit()

    def rollback(self) -> None:
        """End it without its writes."""
        self._ended = True
        self._txn.close()

    def get(self, table: "Table", row: Bytes, column: Bytes,
            default: Optional[bytes] = None) -> Optional[bytes]:
        """The value of "family:qualifier"."""
        family, qualifier = split_column(column)
        value = self._txn.get(table._table, to_bytes(row), family, qualifier)
        return default if value is None else value

    def row(self, table: "Table", key: Bytes) -> Optional[Row]:
        """A row with one cell of each column, or None."""
        found = self._txn.read_row(table._table, to_bytes(key))
        return None if found is None else Row(*found)

    def scan(self, table: "Table", start: Bytes = b"",
             end: Bytes = b"") -> Iterator[Row]:
        """Rows of [start, end) in ascending order; an empty end: all."""
        at, stop = to_bytes(start), to_bytes(end)
        while True:
            rows = self._txn.scan(table._table, at, stop, _PAGE)
            for row in rows:
                yield Row(*row)
            if len(rows) < _PAGE:
                return
            at = rows[-1][0] + b"\0"

    def put(self, table: "Table", row: Bytes,
            cells: Mapping[Bytes, Bytes]) -> None:
        """Set cells of a row, {"family:qualifier": value}."""
        for column, value in cells.items():
            family, qualifier = split_column(column)
            self._txn.put(table._table, to_bytes(row), family, qualifier,
                          to_bytes(value))

    def delete(self, table: "Table", row: Bytes,
               column: Optional[Bytes] = None) -> None:
        """Delete a column, or the row."""
        family, qualifier = (b"", b"") if column is None else \
            split_column(column)
        self._txn.delete(table._table, to_bytes(row), family, qualifier)
