"""Rows and cells as they are read, and changes of a row."""

import datetime
from typing import Iterator, List, NamedTuple, Optional, Tuple, Union

Bytes = Union[bytes, str, bytearray, memoryview]
Time = Union[int, datetime.datetime]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def to_bytes(value: Bytes) -> bytes:
    """`value` as bytes; a str as UTF-8."""
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else bytes(value)


def to_text(value: Union[str, bytes]) -> bytes:
    """A name, which the library takes as text."""
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    raise TypeError("not a name: %r" % (value,))


def to_us(value: Optional[Time]) -> Optional[int]:
    """A time as microseconds since 1970. A datetime without a zone is UTC."""
    if value is None or isinstance(value, int):
        return value
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.timezone.utc)
    return (value - _EPOCH) // datetime.timedelta(microseconds=1)


def split_column(column: Bytes) -> Tuple[bytes, bytes]:
    """ "family:qualifier" as its two parts; the qualifier may be empty."""
    name = to_bytes(column)
    family, colon, qualifier = name.partition(b":")
    if not colon:
        raise ValueError("%r is not a column: family:qualifier" %
                         name.decode(errors="replace"))
    return family, qualifier


class Cell(NamedTuple):
    """One version of one column."""

    family: str
    qualifier: bytes
    timestamp_us: int
    value: bytes
    label: bytes = b""

    @property
    def column(self) -> bytes:
        """ b"family:qualifier" """
        return self.family.encode() + b":" + self.qualifier

    @property
    def time(self) -> datetime.datetime:
        """The timestamp, in UTC."""
        return _EPOCH + datetime.timedelta(microseconds=self.timestamp_us)


class Row:
    """A row as it was read: its key and its cells, newest first in a column."""

    __slots__ = ("key", "_cells")

    def __init__(self, key: bytes, cells: tuple):
        self.key = key
        self._cells = cells

    @property
    def cells(self) -> List[Cell]:
        """All cells, by family, qualifier, and newest first."""
        return [Cell._make(c) for c in self._cells]

    def value(self, column: Bytes,
              default: Optional[bytes] = None) -> Optional[bytes]:
        """The newest value of "family:qualifier"."""
        family, qualifier = split_column(column)
        name = family.decode()
        for c in self._cells:
            if c[1] == qualifier and c[0] == name:
                return c[3]
        return default

    def versions(self, column: Bytes) -> List[Cell]:
        """The cells of "family:qualifier", newest first."""
        family, qualifier = split_column(column)
        name = family.decode()
        return [Cell._make(c) for c in self._cells
                if c[1] == qualifier and c[0] == name]

    def family(self, name: str) -> dict:
        """{qualifier: newest value} of a family."""
        newest: dict = {}
        for c in self._cells:
            if c[0] == name:
                newest.setdefault(c[1], c[3])
        return newest

    def __getitem__(self, column: Bytes) -> bytes:
        value = self.value(column)
        if value is None:
            raise KeyError(column)
        return value

    def __contains__(self, column: Bytes) -> bool:
        return self.value(column) is not None

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Row) and self.key == other.key and
                self._cells == other._cells)

    def __hash__(self) -> int:
        return hash((self.key, self._cells))

    def __repr__(self) -> str:
        return "<Row %r: %d cells>" % (self.key, len(self._cells))


class Mutation:
    """Changes of one row, made together, in their order.

        Mutation().put("anchor:x", "text").delete("contents:")
    """

    def __init__(self) -> None:
        self.changes: list = []

    def put(self, column: Bytes, value: Bytes,
            timestamp: Optional[Time] = None) -> "Mutation":
        """Set a cell; without a timestamp, at the server's time."""
        family, qualifier = split_column(column)
        self.changes.append(("set", family, qualifier, to_us(timestamp),
                             to_bytes(value)))
        return self

    def delete(self, column: Optional[Bytes] = None,
               family: Optional[str] = None, since: Optional[Time] = None,
               until: Optional[Time] = None) -> "Mutation":
        """Delete a column (its cells in [since, until)), a family, or all of
        the row."""
        if column is not None and family is not None:
            raise TypeError("delete a column or a family, not both")
        if column is None and (since is not None or until is not None):
            raise TypeError("a range of time is of a column")
        if column is not None:
            name, qualifier = split_column(column)
            bounds = (0, 0)
            if since is not None or until is not None:
                least, most = to_us(since), to_us(until)
                bounds = (-2**63 + 1 if least is None else least,
                          2**63 - 1 if most is None else most)
                if bounds[0] >= bounds[1]:
                    raise ValueError("no time is from %d to %d" % bounds)
            self.changes.append(("delete_cells", name, qualifier) + bounds)
        elif family is not None:
            self.changes.append(("delete_family", to_text(family)))
        else:
            self.changes.append(("delete_row",))
        return self

    def __len__(self) -> int:
        return len(self.changes)
