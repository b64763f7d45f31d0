"""A table: reading, writing, scans, and programs beside the data."""

import struct
import weakref
from typing import (TYPE_CHECKING, Any, Dict, Iterable, Iterator, List,
                    Mapping, NamedTuple, Optional, Sequence, Tuple, Union)

from .arrow import ArrowScan, Columns
from .rows import (Bytes, Cell, Mutation, Row, Time, split_column, to_bytes,
                   to_text, to_us)

if TYPE_CHECKING:
    from .filters import Filter
    from .store import Store

_DURABILITY = {"synced": 0, "logged": 1, "deferred": 2}

# Rows that a scan takes from the library at a time: few at first, for those who
# want few.
_FIRST_ROWS, _MOST_ROWS = 16, 1024


class SawTable(NamedTuple):
    """A table of results of a Sawzall program."""

    name: str
    columns: Tuple[str, ...]
    rows: List[tuple]

    def to_dict(self) -> dict:
        """{key or keys: value}, of a table with one value column."""
        return {r[0] if len(r) == 2 else r[:-1]: r[-1] for r in self.rows}


def _durability(name: str) -> int:
    if name not in _DURABILITY:
        raise ValueError("%r is no durability: %s" %
                         (name, ", ".join(_DURABILITY)))
    return _DURABILITY[name]


def _read_options(start: Optional[Bytes] = None, end: Optional[Bytes] = None,
                  prefix: Optional[Bytes] = None,
                  ranges: Optional[Sequence[Tuple[Bytes, Bytes]]] = None,
                  keys: Optional[Iterable[Bytes]] = None,
                  filter: Optional["Filter"] = None,
                  families: Optional[Sequence[str]] = None,
                  column_regex: Optional[str] = None, versions: int = 0,
                  since: Optional[Time] = None, until: Optional[Time] = None,
                  limit: int = 0, keys_only: bool = False,
                  program: Optional[str] = None,
                  program_fuel: int = 0,
                  as_of: Optional[Time] = None,
                  reversed: bool = False) -> Dict[str, Any]:
    """Options of reads as the extension module takes them."""
    from .store import prefix_end
    wanted = [(to_bytes(a), to_bytes(b)) for a, b in ranges or ()]
    if prefix is not None:
        wanted.append((to_bytes(prefix), prefix_end(to_bytes(prefix))))
    if start is not None or end is not None:
        wanted.append((to_bytes(start or b""), to_bytes(end or b"")))
    if isinstance(families, (str, bytes)):
        raise TypeError("families is a list of names")
    out: Dict[str, Any] = {
        "filter": filter, "versions": versions, "keys_only": keys_only,
        "time_min_us": to_us(since) or 0, "time_max_us": to_us(until) or 0,
        "row_limit": limit, "program_fuel": program_fuel}
    if as_of is not None:
        out["as_of_us"] = to_us(as_of)
    if reversed:
        out["reversed"] = True
    if wanted:
        out["ranges"] = tuple(wanted)
    if keys is not None:
        out["keys"] = tuple(to_bytes(k) for k in keys)
    if families is not None:
        out["families"] = tuple(to_text(f) for f in families)
    if column_regex is not None:
        out["column_regex"] = to_text(column_regex)
    if program is not None:
        out["program"] = to_text(program)
    return out


class Scan:
    """Rows of a scan, in the order of their keys: an iterator."""

    def __init__(self, table: "Table", options: Dict[str, Any]):
        self._scanner: Any = None
        if options.get("keys") != ():
            self._scanner = table._table.scan(**options)
        self._rows: List[tuple] = []
        self._at = 0
        self._wanted = _FIRST_ROWS
        table._scans.add(self)

    def __iter__(self) -> "Scan":
        return self

    def __next__(self) -> Row:
        if self._at == len(self._rows):
            if self._scanner is None:
                raise StopIteration
            self._rows = self._scanner.next(self._wanted)
            self._at = 0
            self._wanted = min(2 * self._wanted, _MOST_ROWS)
            if not self._rows:
                self.close()
                raise StopIteration
        self._at += 1
        return Row(*self._rows[self._at - 1])

    def __enter__(self) -> "Scan":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the scan."""
        scanner, self._scanner = self._scanner, None
        self._rows, self._at = [], 0
        if scanner is not None:
            scanner.close()


class Table:
    """An open table."""

    def __init__(self, store: "Store", table: Any, name: str):
        self.store = store
        self.name = name
        self._table = table
        self._scans: "weakref.WeakSet[Scan]" = weakref.WeakSet()

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Table %s of %s>" % (self.name, self.store.target)

    def close(self) -> None:
        """Close the table, and scans of it."""
        for scan in list(self._scans):
            scan.close()
        self._table.close()

    # --- reading ---------------------------------------------------------

    def get(self, row: Bytes, column: Bytes,
            default: Optional[bytes] = None) -> Optional[bytes]:
        """The newest value of "family:qualifier"."""
        family, qualifier = split_column(column)
        value = self._table.get(to_bytes(row), family, qualifier)
        return default if value is None else value

    def row(self, key: Bytes, **options: Any) -> Optional[Row]:
        """One row, or None. Options: `filter`, `families`, `column_regex`,
        `versions`, `since`, `until`, `as_of`."""
        found = self._table.read_row(to_bytes(key), **_read_options(**options))
        return None if found is None else Row(*found)

    def rows(self, keys: Iterable[Bytes],
             **options: Any) -> List[Optional[Row]]:
        """Many rows in the order of the keys, with None for those that there
        are not. On a cluster a call goes to each server, not one a row."""
        found = self._table.read_rows(**_read_options(keys=keys, **options))
        return [None if r is None else Row(*r) for r in found]

    def scan(self, **options: Any) -> Scan:
        """Rows in ascending order, with `reversed` in descending order. Which: `start` and `end` (exclusive),
        `prefix`, `ranges`, `keys`; all without any. Parts of them: `filter`
        (quarry.filters), `families`, `column_regex`, `versions`, `since`,
        `until`, `keys_only`, `program` (a Sawzall program that runs beside the
        data); `limit` rows at most. `as_of`: as the table was at that time,
        exactly if it keeps its changes since."""
        return Scan(self, _read_options(**options))

    def scan_arrow(self, columns: Optional[Columns] = None,
                   key_type: str = "binary", value_type: str = "binary",
                   **options: Any) -> ArrowScan:
        """The same as Arrow: see ArrowScan."""
        return ArrowScan(self, _read_options(**options), columns, key_type,
                         value_type)

    def __iter__(self) -> Iterator[Row]:
        return self.scan()

    def split_points(self, parts: int) -> List[bytes]:
        """Row keys that cut the table into about `parts` equal pieces."""
        return self._table.split_points(parts)

    def saw(self, program: str, name: str = "program",
            **options: Any) -> Dict[str, SawTable]:
        """Run a Sawzall program over rows, in parallel beside the data: its
        tables, by name. Options are those of scan()."""
        tables, _ = self._table.run(to_text(program), to_text(name),
                                    **_read_options(**options))
        return {t[0]: SawTable(*t) for t in tables}

    # --- writing ---------------------------------------------------------

    def put(self, row: Bytes, cells: Mapping[Bytes, Bytes],
            timestamp: Optional[Time] = None,
            durability: str = "synced") -> None:
        """Set cells of a row, {"family:qualifier": value}, together."""
        m = Mutation()
        for column, value in cells.items():
            m.put(column, value, timestamp)
        self.apply(row, m, durability)

    def delete(self, row: Bytes, column: Optional[Bytes] = None,
               family: Optional[str] = None, since: Optional[Time] = None,
               until: Optional[Time] = None,
               durability: str = "synced") -> None:
        """Delete a column (its cells in [since, until)), a family, or the
        row."""
        self.apply(row, Mutation().delete(column, family, since, until),
                   durability)

    def apply(self, row: Bytes, mutation: Mutation,
              durability: str = "synced") -> None:
        """Make all changes of a row, or none."""
        self._table.apply(to_bytes(row), tuple(mutation.changes),
                          _durability(durability))

    def batch(self, size: int = 1000,
              durability: str = "synced") -> "Batch":
        """Changes of many rows, sent together:

            with table.batch() as b:
                b.put("row", {"family:qualifier": "value"})
        """
        return Batch(self, size, durability)

    def check_and_mutate(self, row: Bytes, predicate: Optional["Filter"],
                         then: Optional[Mutation] = None,
                         otherwise: Optional[Mutation] = None,
                         durability: str = "synced") -> bool:
        """If `predicate` leaves a cell of the row (None: if the row exists)
        apply `then`, else `otherwise`, atomically. True: it did."""
        return self._table.check_and_mutate(
            to_bytes(row), predicate,
            None if then is None else tuple(then.changes),
            None if otherwise is None else tuple(otherwise.changes),
            _durability(durability))

    def increment(self, row: Bytes, column: Bytes, by: int = 1,
                  durability: str = "synced") -> int:
        """Add to a counter, a value of 8 bytes, big endian; its new value."""
        cell = self._modify(row, column, int(by), durability)
        return struct.unpack(">q", cell.value)[0]

    def append(self, row: Bytes, column: Bytes, value: Bytes,
               durability: str = "synced") -> bytes:
        """Append to the newest value of a column; its new value."""
        return self._modify(row, column, to_bytes(value), durability).value

    def _modify(self, row: Bytes, column: Bytes, by: Union[int, bytes],
                durability: str) -> Cell:
        rule = split_column(column) + (by,)
        changed = self._table.read_modify_write(to_bytes(row), (rule,),
                                                _durability(durability))
        return Cell._make(changed[1][0])


class Batch:
    """Changes of rows that are sent `size` rows at a time, and at the end of
    the `with` statement. A row that fails does not keep others from being
    changed; the exception's `failed` lists (index, code) within the rows that
    were sent with it."""

    def __init__(self, table: Table, size: int, durability: str):
        if size < 1:
            raise ValueError("a batch has rows")
        self._table = table
        self._size = size
        self._durability = _durability(durability)
        self._rows: list = []

    def apply(self, row: Bytes, mutation: Mutation) -> None:
        """Changes of one row."""
        self._rows.append((to_bytes(row), tuple(mutation.changes)))
        if len(self._rows) >= self._size:
            self.send()

    def put(self, row: Bytes, cells: Mapping[Bytes, Bytes],
            timestamp: Optional[Time] = None) -> None:
        """Set cells of a row."""
        m = Mutation()
        for column, value in cells.items():
            m.put(column, value, timestamp)
        self.apply(row, m)

    def delete(self, row: Bytes, column: Optional[Bytes] = None,
               family: Optional[str] = None, since: Optional[Time] = None,
               until: Optional[Time] = None) -> None:
        """Delete a column, a family, or the row."""
        self.apply(row, Mutation().delete(column, family, since, until))

    def send(self) -> None:
        """Send what is there."""
        rows, self._rows = self._rows, []
        if rows:
            self._table._table.apply_batch(rows, self._durability)

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.send()
