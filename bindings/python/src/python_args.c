/* From Python's objects to the library's arguments, and rows back.
 */
#include <stdlib.h>

#include "bindings/python/src/binding.h"

bool py_slice(PyObject *o, PyObject *keep, struct slice *out)
{
    Py_ssize_t len;
    char *data;
    if (PyUnicode_Check(o)) {
        PyObject *bytes = PyUnicode_AsUTF8String(o);
        if (!bytes)
            return false;
        if (PyList_Append(keep, bytes) < 0) {
            Py_DECREF(bytes);
            return false;
        }
        Py_DECREF(bytes); /* The list has it. */
        o = bytes;
    } else if (!PyBytes_Check(o)) {
        PyObject *bytes = PyBytes_FromObject(o);
        if (!bytes || PyList_Append(keep, bytes) < 0) {
            Py_XDECREF(bytes);
            return false;
        }
        Py_DECREF(bytes);
        o = bytes;
    }
    if (PyBytes_AsStringAndSize(o, &data, &len) < 0)
        return false;
    *out = slice_make(data, (size_t)len);
    return true;
}

const char *py_text(PyObject *o, const char *name)
{
    Py_ssize_t len;
    const char *text = NULL;
    /* The limited API of 3.9 has no borrowed UTF-8 of a str: bytes have. */
    if (PyBytes_Check(o))
        text = PyBytes_AsString(o);
    if (!text) {
        PyErr_Format(PyExc_TypeError, "%s must be bytes of text", name);
        return NULL;
    }
    len = PyBytes_Size(o);
    if (strlen(text) != (size_t)len) {
        PyErr_Format(PyExc_ValueError, "%s contains a NUL", name);
        return NULL;
    }
    return text;
}

PyObject *py_bytes(struct slice s)
{
    return PyBytes_FromStringAndSize(s.data, (Py_ssize_t)s.len);
}

/* --- options of reads ---------------------------------------------------- */

static bool take_ranges(struct py_read *r, PyObject *o)
{
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0)
        return false;
    r->ranges = calloc((size_t)n + 1, sizeof(*r->ranges));
    for (Py_ssize_t i = 0; r->ranges && i < n; i++) {
        PyObject *pair = PySequence_GetItem(o, i);
        bool ok =
            pair && PyTuple_Check(pair) && PyTuple_Size(pair) == 2 &&
            PyList_Append(r->keep, pair) == 0 &&
            py_slice(PyTuple_GetItem(pair, 0), r->keep, &r->ranges[i].start) &&
            py_slice(PyTuple_GetItem(pair, 1), r->keep, &r->ranges[i].end);
        Py_XDECREF(pair);
        if (!ok) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError,
                                "a range is a tuple of two keys");
            return false;
        }
    }
    r->options.ranges = r->ranges;
    r->options.range_count = (size_t)n;
    return r->ranges != NULL;
}

static bool take_keys(struct py_read *r, PyObject *o)
{
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0)
        return false;
    r->keys = calloc((size_t)n + 1, sizeof(*r->keys));
    for (Py_ssize_t i = 0; r->keys && i < n; i++) {
        PyObject *key = PySequence_GetItem(o, i);
        bool ok = key && PyList_Append(r->keep, key) == 0 &&
                  py_slice(key, r->keep, &r->keys[i]);
        Py_XDECREF(key);
        if (!ok)
            return false;
    }
    r->options.keys = r->keys;
    r->options.key_count = (size_t)n;
    return r->keys != NULL;
}

static bool take_families(struct py_read *r, PyObject *o)
{
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0)
        return false;
    r->families = calloc((size_t)n + 1, sizeof(*r->families));
    for (Py_ssize_t i = 0; r->families && i < n; i++) {
        PyObject *name = PySequence_GetItem(o, i);
        if (name && PyList_Append(r->keep, name) == 0)
            r->families[i] = py_text(name, "a family");
        Py_XDECREF(name);
        if (!r->families[i])
            return false;
    }
    r->options.families = r->families;
    r->options.family_count = (size_t)n;
    return r->families != NULL;
}

static bool take_filter(struct py_read *r, PyObject *o)
{
    r->filter = py_filter(o);
    r->options.filter = r->filter;
    return r->filter != NULL;
}

static bool take_number(PyObject *o, int64_t min, int64_t max, int64_t *out)
{
    long long n = PyLong_AsLongLong(o);
    if (n == -1 && PyErr_Occurred())
        return false;
    if (n < min || n > max) {
        PyErr_Format(PyExc_ValueError, "%lld is not between %lld and %lld", n,
                     (long long)min, (long long)max);
        return false;
    }
    *out = n;
    return true;
}

/* One option by its name. */
static bool take_option(struct py_read *r, const char *name, PyObject *o)
{
    struct quarry_read_options *q = &r->options;
    int64_t n = 0;
    if (strcmp(name, "ranges") == 0)
        return take_ranges(r, o);
    if (strcmp(name, "keys") == 0)
        return take_keys(r, o);
    if (strcmp(name, "families") == 0)
        return take_families(r, o);
    if (strcmp(name, "filter") == 0)
        return take_filter(r, o);
    if (strcmp(name, "column_regex") == 0)
        return (q->column_regex = py_text(o, name)) != NULL;
    if (strcmp(name, "program") == 0) {
        q->program = py_text(o, name);
        q->program_len = q->program ? strlen(q->program) : 0;
        return q->program != NULL;
    }
    if (strcmp(name, "keys_only") == 0) {
        q->keys_only = PyObject_IsTrue(o) == 1;
        return !PyErr_Occurred();
    }
    if (strcmp(name, "reversed") == 0) {
        q->reversed = PyObject_IsTrue(o) == 1;
        return !PyErr_Occurred();
    }
    if (strcmp(name, "time_min_us") == 0)
        return take_number(o, INT64_MIN, INT64_MAX, &q->time_min_us);
    if (strcmp(name, "as_of_us") == 0)
        return take_number(o, INT64_MIN, INT64_MAX, &q->as_of_us);
    if (strcmp(name, "time_max_us") == 0)
        return take_number(o, INT64_MIN, INT64_MAX, &q->time_max_us);
    if (!take_number(o, 0, INT64_MAX, &n))
        return false;
    if (strcmp(name, "row_limit") == 0)
        q->row_limit = (uint64_t)n;
    else if (strcmp(name, "program_fuel") == 0)
        q->program_fuel = (uint64_t)n;
    else if (strcmp(name, "versions") == 0 && n <= UINT32_MAX)
        q->versions = (uint32_t)n;
    else {
        PyErr_Format(PyExc_TypeError, "no such option of a read: %s", name);
        return false;
    }
    return true;
}

bool py_read_open(struct py_read *r, PyObject *kwargs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    memset(r, 0, sizeof(*r));
    r->keep = PyList_New(0);
    if (!r->keep)
        return false;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        PyObject *name = PyUnicode_AsUTF8String(key);
        bool ok = name && (value == Py_None ||
                           take_option(r, PyBytes_AsString(name), value));
        Py_XDECREF(name);
        if (!ok) {
            if (!PyErr_Occurred())
                PyErr_NoMemory();
            return false;
        }
    }
    return true;
}

void py_read_close(struct py_read *r)
{
    free(r->ranges);
    free(r->keys);
    free(r->families);
    quarry_filter_free(r->filter);
    Py_XDECREF(r->keep);
}

/* --- rows ---------------------------------------------------------------- */

/* Put @o, which is taken, into @tuple. */
static bool put_item(PyObject *tuple, Py_ssize_t i, PyObject *o)
{
    return o && PyTuple_SetItem(tuple, i, o) == 0;
}

/* @family: the last one that was made of @name, so that the cells of a family
 * share it; replaced where the cell is of another. */
static PyObject *
family_text(const struct quarry_cell *c, struct slice *name, PyObject **family)
{
    if (!*family || !slice_eq(*name, c->family)) {
        Py_XDECREF(*family);
        *family = PyUnicode_FromStringAndSize(c->family.data,
                                              (Py_ssize_t)c->family.len);
        *name = c->family;
    }
    Py_XINCREF(*family);
    return *family;
}

static PyObject *
cell_tuple(const struct quarry_cell *c, struct slice *name, PyObject **family)
{
    PyObject *out = PyTuple_New(5);
    if (out && put_item(out, 0, family_text(c, name, family)) &&
        put_item(out, 1, py_bytes(c->qualifier)) &&
        put_item(out, 2, PyLong_FromLongLong(c->timestamp_us)) &&
        put_item(out, 3, py_bytes(c->value)) &&
        put_item(out, 4, py_bytes(c->label)))
        return out;
    Py_XDECREF(out);
    return NULL;
}

PyObject *py_row(const struct quarry_row *row)
{
    PyObject *key = py_bytes(row->key);
    PyObject *cells = PyTuple_New((Py_ssize_t)row->cell_count);
    PyObject *out = NULL, *family = NULL;
    struct slice name = SLICE_EMPTY;
    for (size_t i = 0; cells && i < row->cell_count; i++)
        if (!put_item(cells, (Py_ssize_t)i,
                      cell_tuple(&row->cells[i], &name, &family)))
            goto out;
    if (key && cells)
        out = PyTuple_Pack(2, key, cells);
out:
    Py_XDECREF(family);
    Py_XDECREF(key);
    Py_XDECREF(cells);
    return out;
}
