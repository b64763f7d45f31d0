"""Reads an Arrow C stream with ctypes alone, checking what the specification
wants of it: a second reader beside pyarrow, which need not be installed."""

import ctypes
import struct


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
    ("private_data", ctypes.c_void_p)]
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", ctypes.c_void_p)]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream),
                                    ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream),
                                  ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p,
                                        ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))),
    ("private_data", ctypes.c_void_p)]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _offsets(array, buffer):
    size = 4 * (array.length + 1)
    return struct.unpack("<%di" % (array.length + 1),
                         ctypes.string_at(array.buffers[buffer], size))


def _spans(array):
    offsets = _offsets(array, 1)
    assert offsets[0] == 0 and list(offsets) == sorted(offsets)
    data = (ctypes.string_at(array.buffers[2], offsets[-1])
            if offsets[-1] else b"")
    return [data[a:b] for a, b in zip(offsets, offsets[1:])]


def _values(form, array):
    if form in (b"z", b"u"):
        spans = _spans(array)
        return [s.decode() for s in spans] if form == b"u" else spans
    if form == b"+m":
        offsets = _offsets(array, 1)
        entries = array.children[0].contents
        keys = _spans(entries.children[0].contents)
        values = _spans(entries.children[1].contents)
        assert len(keys) == entries.length == offsets[-1]
        return [dict(zip(keys[a:b], values[a:b]))
                for a, b in zip(offsets, offsets[1:])]
    code = {b"l": "q", b"g": "d", b"tsu:UTC": "q"}[form]
    return list(struct.unpack("<%d%s" % (array.length, code),
                              ctypes.string_at(array.buffers[1],
                                               8 * array.length)))


def _column(form, array):
    values = _values(form, array)
    valid = array.buffers[0]
    if not valid:
        assert array.null_count == 0
        return values
    bits = ctypes.string_at(valid, (array.length + 7) // 8)
    out = [v if bits[i // 8] >> i % 8 & 1 else None
           for i, v in enumerate(values)]
    assert out.count(None) == array.null_count
    return out


def read(scan):
    """(names, formats, [{name: value}], batches) of an ArrowScan."""
    capsule = scan.__arrow_c_stream__()
    stream = ctypes.cast(_pointer(capsule, b"arrow_array_stream"),
                         ctypes.POINTER(Stream))
    schema = Schema()
    assert stream.contents.get_schema(stream, ctypes.byref(schema)) == 0
    assert schema.format == b"+s"
    children = [schema.children[i].contents for i in range(schema.n_children)]
    names = [c.name.decode() for c in children]
    formats = [c.format for c in children]
    schema.release(ctypes.byref(schema))
    rows, batches = [], 0
    while True:
        array = Array()
        if stream.contents.get_next(stream, ctypes.byref(array)):
            raise ValueError(
                stream.contents.get_last_error(stream).decode())
        if not array.release:
            break
        batches += 1
        columns = [_column(f, array.children[i].contents)
                   for i, f in enumerate(formats)]
        assert all(len(c) == array.length for c in columns)
        rows += [dict(zip(names, r)) for r in zip(*columns)]
        array.release(ctypes.byref(array))
    del capsule
    return names, formats, rows, batches
