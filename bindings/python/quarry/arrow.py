"""Scans as Arrow, without any package: what takes the Arrow PyCapsule
interface reads an ArrowScan: pyarrow.table(), polars.DataFrame(),
pandas.DataFrame.from_arrow(), duckdb.sql()."""

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple, Union

from .rows import split_column, to_bytes, to_text

if TYPE_CHECKING:
    from .table import Table

_TYPES = {"binary": 0, "utf8": 1, "int64": 2, "float64": 3}
_KEY, _FAMILY, _QUALIFIER, _TIMESTAMP, _VALUE, _COLUMN, _MAP = range(7)
_TIMESTAMP_TYPE, _MAP_TYPE = 4, 5

Columns = Mapping[str, Union[str, Tuple[str, str]]]


def _type(name: str) -> int:
    if name not in _TYPES:
        raise ValueError("%r is not a type of columns: %s" %
                         (name, ", ".join(_TYPES)))
    return _TYPES[name]


def _wide(columns: Columns, key_type: str) -> tuple:
    """A row a row: the key, and each column as it is asked for."""
    out = [(_KEY, _type(key_type), b"key", b"", b"")]
    for name, what in columns.items():
        column, kind = (what, "binary") if isinstance(what, str) else what
        if ":" not in column:
            out.append((_MAP, _MAP_TYPE, to_text(name), to_text(column), b""))
            continue
        family, qualifier = split_column(column)
        out.append((_COLUMN, _type(kind), to_text(name), family, qualifier))
    return tuple(out)


def _long(key_type: str, value_type: str) -> tuple:
    """A row a cell."""
    return ((_KEY, _type(key_type), b"key", b"", b""),
            (_FAMILY, _type("utf8"), b"family", b"", b""),
            (_QUALIFIER, _type(key_type), b"qualifier", b"", b""),
            (_TIMESTAMP, _TIMESTAMP_TYPE, b"timestamp", b"", b""),
            (_VALUE, _type(value_type), b"value", b"", b""))


class ArrowScan:
    """A scan that Arrow's consumers read. Each reading is a scan of its own.

    Without `columns` it has a row a cell: key, family, qualifier, timestamp,
    value. With columns, {"name": "family:qualifier"} or {"name":
    ("family:qualifier", "int64")}, it has a row a row, with the newest values;
    a family without a qualifier, {"anchors": "anchor"}, is a map; rows that
    have nothing in any of the columns' families are left out. Types:
    "binary" (default), "utf8", and "int64" and "float64" of 8 bytes, big
    endian.
    """

    def __init__(self, table: "Table", options: Dict[str, Any],
                 columns: Optional[Columns], key_type: str, value_type: str):
        self._table = table
        self._options = options
        self._by_cells = columns is None
        if columns is None:
            self._columns = _long(key_type, value_type)
        else:
            self._columns = _wide(columns, key_type)
            self._options = _narrow(options, columns)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table._table.arrow(self._columns, self._by_cells,
                                        **self._options)

    def to_arrow(self) -> Any:
        """As a pyarrow.Table."""
        import pyarrow
        return pyarrow.table(self)

    def to_reader(self) -> Any:
        """As a pyarrow.RecordBatchReader: a batch at a time, for what is
        larger than memory."""
        import pyarrow
        return pyarrow.RecordBatchReader.from_stream(self)

    def to_pandas(self, **options: Any) -> Any:
        """As a pandas.DataFrame, by pyarrow, which takes the options."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> Any:
        """As a polars.DataFrame."""
        import polars
        return polars.DataFrame(self)


def _narrow(options: Dict[str, Any], columns: Columns) -> Dict[str, Any]:
    """Read the families of the columns only, and the newest cell of each."""
    out = dict(options)
    names = {to_bytes(w if isinstance(w, str) else w[0]).partition(b":")[0]
             for w in columns.values()}
    if names:
        out.setdefault("families", tuple(sorted(names)))
    out.setdefault("versions", 1)
    return out
