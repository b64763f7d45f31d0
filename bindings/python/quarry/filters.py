"""Filters of reads: those of google.bigtable.v2.RowFilter, by its semantics.

    from quarry import filters as f
    table.scan(filter=f.chain(f.family("anchor"), f.latest(1),
                              f.value_regex("(?i).*news.*")))

Regular expressions are RE2 over bytes and match the whole. `a & b` is a chain,
`a | b` an interleaving.
"""

from typing import Optional

from .rows import Bytes, Time, to_bytes, to_text, to_us


class Filter(tuple):
    """A filter, as the extension module takes it."""

    def __and__(self, other: "Filter") -> "Filter":
        return chain(self, other)

    def __or__(self, other: "Filter") -> "Filter":
        return interleave(self, other)

    def __repr__(self) -> str:
        return "%s(%s)" % (self[0], ", ".join(repr(a) for a in self[1:]))


def pass_all() -> Filter:
    """Everything."""
    return Filter(("pass_all",))


def block_all() -> Filter:
    """Nothing."""
    return Filter(("block_all",))


def row_regex(pattern: Bytes) -> Filter:
    """Rows whose key matches."""
    return Filter(("row_regex", to_bytes(pattern)))


def family_regex(pattern: Bytes) -> Filter:
    """Cells whose family matches."""
    return Filter(("family_regex", to_bytes(pattern)))


def family(name: str) -> Filter:
    """Cells of one family."""
    return family_regex(_quote(to_bytes(name)))


def qualifier_regex(pattern: Bytes) -> Filter:
    """Cells whose qualifier matches."""
    return Filter(("qualifier_regex", to_bytes(pattern)))


def value_regex(pattern: Bytes) -> Filter:
    """Cells whose value matches."""
    return Filter(("value_regex", to_bytes(pattern)))


def value_bitmask(mask: Bytes) -> Filter:
    """Cells whose value is as long as the mask and has all of its bits."""
    return Filter(("value_bitmask", to_bytes(mask)))


def column_range(family: str, start: Optional[Bytes] = None,
                 end: Optional[Bytes] = None, start_open: bool = False,
                 end_open: bool = True) -> Filter:
    """Columns of a family from `start` to `end`; None: no bound."""
    return Filter(("column_range", to_text(family), _bound(start),
                   start_open, _bound(end), end_open))


def value_range(start: Optional[Bytes] = None, end: Optional[Bytes] = None,
                start_open: bool = False, end_open: bool = True) -> Filter:
    """Cells whose value is from `start` to `end`; None: no bound."""
    return Filter(("value_range", _bound(start), start_open, _bound(end),
                   end_open))


def time_range(since: Optional[Time] = None,
               until: Optional[Time] = None) -> Filter:
    """Cells with timestamps in [since, until)."""
    return Filter(("timestamp_range", to_us(since) or 0, to_us(until) or 0))


def latest(n: int = 1) -> Filter:
    """The newest `n` cells of each column."""
    return Filter(("cells_per_column_limit", n))


def cells_per_row(limit: int) -> Filter:
    """The first `limit` cells of each row."""
    return Filter(("cells_per_row_limit", limit))


def skip_cells(count: int) -> Filter:
    """All but the first `count` cells of each row."""
    return Filter(("cells_per_row_offset", count))


def strip_value() -> Filter:
    """Cells without their values."""
    return Filter(("strip_value",))


def row_sample(probability: float) -> Filter:
    """Each row with this probability."""
    return Filter(("row_sample", float(probability)))


def label(name: str) -> Filter:
    """Cells with a label."""
    return Filter(("label", to_text(name)))


def sink() -> Filter:
    """Cells go to the result at once, past the filters that follow."""
    return Filter(("sink",))


def chain(*parts: Filter) -> Filter:
    """One filter after the other."""
    return Filter(("chain",) + parts)


def interleave(*parts: Filter) -> Filter:
    """The cells of all of them."""
    return Filter(("interleave",) + parts)


def condition(predicate: Filter, then: Optional[Filter] = None,
              otherwise: Optional[Filter] = None) -> Filter:
    """`then` for rows of which the predicate leaves a cell, else `otherwise`;
    None: nothing of the row."""
    return Filter(("condition", predicate, then, otherwise))


def _bound(value: Optional[Bytes]) -> Optional[bytes]:
    return None if value is None else to_bytes(value)


def _quote(name: bytes) -> bytes:
    """`name` as a regular expression that matches it alone."""
    return b"".join(bytes((c,)) if bytes((c,)).isalnum() or c == 0x5f
                    else b"\\x%02x" % c for c in name)
