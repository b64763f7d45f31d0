/* Table: an open table, and its single reads.
 */
#include <stdlib.h>

#include "bindings/python/src/binding.h"

bool py_table_usable(const struct py_table *t)
{
    if (!t->t) {
        py_raise_code(ERR_CLOSED, "the table is closed");
        return false;
    }
    return py_store_usable(t->store);
}

PyObject *py_table_new(struct py_store *s, const char *name)
{
    PyTypeObject *type = (PyTypeObject *)py_table_type;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct quarry_table *t = NULL;
    struct err err = ERR_INIT;
    struct py_table *self;
    int rc;
    PY_STORE_CALL(s, rc = quarry_table_open(s->q, name, &t, &err));
    if (rc)
        return py_raise(&err);
    self = (struct py_table *)alloc(type, 0);
    if (!self) {
        quarry_table_close(t);
        return NULL;
    }
    self->t = t;
    self->store = s;
    Py_INCREF(s);
    s->table_count++;
    return (PyObject *)self;
}

/* PRE: nothing uses it. */
static void table_release(struct py_table *t)
{
    struct quarry_table *open = t->t;
    t->t = NULL;
    if (open && py_store_usable(t->store)) {
        PY_STORE_CALL(t->store, quarry_table_close(open));
    } else {
        PyErr_Clear();
    }
    if (open)
        t->store->table_count--;
}

static PyObject *table_close(PyObject *self, PyObject *unused)
{
    struct py_table *t = (struct py_table *)self;
    (void)unused;
    if (t->busy || t->stream_count)
        return py_raise_code(ERR_BUSY, t->busy ? "a call of another thread "
                                                 "uses the table"
                                               : "scans of the table are "
                                                 "open: close them first");
    table_release(t);
    Py_RETURN_NONE;
}

static void table_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    struct py_table *t = (struct py_table *)self;
    if (t->store) {
        table_release(t);
        Py_DECREF(t->store);
    }
    release(self);
    Py_DECREF(type);
}

/* get(row, family, qualifier) -> bytes or None */
static PyObject *table_get(PyObject *self, PyObject *args)
{
    struct py_table *t = (struct py_table *)self;
    struct err err = ERR_INIT;
    struct buf value = BUF_INIT;
    const char *row, *family, *qualifier;
    Py_ssize_t row_len, qualifier_len;
    PyObject *out = NULL;
    bool found = false;
    int rc;
    if (!PyArg_ParseTuple(args, "y#yy#", &row, &row_len, &family, &qualifier,
                          &qualifier_len) ||
        !py_table_usable(t))
        return NULL;
    PY_TABLE_CALL(
        t, rc = quarry_get(t->t, slice_make(row, (size_t)row_len), family,
                           slice_make(qualifier, (size_t)qualifier_len), &value,
                           &found, &err));
    if (rc) {
        py_raise(&err);
    } else if (found) {
        out = PyBytes_FromStringAndSize(value.data, (Py_ssize_t)value.len);
    } else {
        Py_INCREF(Py_None);
        out = Py_None;
    }
    free(value.data);
    return out;
}

/* read_row(row, **options) -> row or None */
static PyObject *
table_read_row(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct py_table *t = (struct py_table *)self;
    struct err err = ERR_INIT;
    struct quarry_row *row = NULL;
    struct py_read r = {.keep = NULL};
    PyObject *out = NULL;
    const char *key;
    Py_ssize_t len;
    int rc;
    if (!PyArg_ParseTuple(args, "y#", &key, &len) || !py_table_usable(t) ||
        !py_read_open(&r, kwargs))
        goto out;
    PY_TABLE_CALL(t, rc = quarry_read_row(t->t, slice_make(key, (size_t)len),
                                          &r.options, &row, &err));
    if (rc) {
        py_raise(&err);
    } else if (row) {
        out = py_row(row);
    } else {
        Py_INCREF(Py_None);
        out = Py_None;
    }
    quarry_row_free(row);
out:
    py_read_close(&r);
    return out;
}

/* Rows of read_rows() as a list; absent ones are None. Frees them. */
static PyObject *take_rows(struct quarry_row **rows, size_t count)
{
    PyObject *out = PyList_New(0);
    for (size_t i = 0; i < count; i++) {
        PyObject *row = Py_None;
        if (rows[i])
            row = py_row(rows[i]);
        else
            Py_INCREF(row);
        if (out && (!row || PyList_Append(out, row) < 0))
            Py_CLEAR(out);
        Py_XDECREF(row);
        quarry_row_free(rows[i]);
    }
    return out;
}

/* read_rows(keys=…, **options) -> [row or None] in the order of the keys */
static PyObject *
table_read_rows(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct py_table *t = (struct py_table *)self;
    struct quarry_row **rows = NULL;
    struct err err = ERR_INIT;
    struct py_read r = {.keep = NULL};
    struct slice *keys;
    PyObject *out = NULL;
    size_t count;
    int rc;
    if (!PyArg_ParseTuple(args, "") || !py_table_usable(t) ||
        !py_read_open(&r, kwargs))
        goto out;
    keys = r.keys;
    count = r.options.key_count;
    r.options.keys = NULL;
    r.options.key_count = 0;
    rows = calloc(count + 1, sizeof(*rows));
    if (!rows) {
        PyErr_NoMemory();
        goto out;
    }
    PY_TABLE_CALL(
        t, rc = quarry_read_rows(t->t, keys, count, &r.options, rows, &err));
    out = rc ? py_raise(&err) : take_rows(rows, count);
out:
    free(rows);
    py_read_close(&r);
    return out;
}

/* split_points(parts) -> [key] */
static PyObject *table_split_points(PyObject *self, PyObject *parts)
{
    struct py_table *t = (struct py_table *)self;
    size_t wanted = PyLong_AsSize_t(parts), count = 0;
    struct err err = ERR_INIT;
    struct slice *keys = NULL;
    PyObject *out;
    int rc;
    if (PyErr_Occurred() || !py_table_usable(t))
        return NULL;
    PY_TABLE_CALL(
        t, rc = quarry_table_split_points(t->t, wanted, &keys, &count, &err));
    if (rc)
        return py_raise(&err);
    out = PyList_New(0);
    for (size_t i = 0; out && i < count; i++) {
        PyObject *key = py_bytes(keys[i]);
        if (!key || PyList_Append(out, key) < 0)
            Py_CLEAR(out);
        Py_XDECREF(key);
    }
    free(keys);
    return out;
}

static PyObject *table_scan(PyObject *self, PyObject *args, PyObject *kwargs)
{
    if (!PyArg_ParseTuple(args, "") ||
        !py_table_usable((struct py_table *)self))
        return NULL;
    return py_scanner_new((struct py_table *)self, kwargs);
}

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

static PyMethodDef table_methods[] = {
    {"close", table_close, METH_NOARGS, NULL},
    {"get", table_get, METH_VARARGS, NULL},
    {"read_row", KEYWORDS(table_read_row), METH_VARARGS | METH_KEYWORDS, NULL},
    {"read_rows", KEYWORDS(table_read_rows), METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"scan", KEYWORDS(table_scan), METH_VARARGS | METH_KEYWORDS, NULL},
    {"arrow", KEYWORDS(py_table_arrow), METH_VARARGS | METH_KEYWORDS, NULL},
    {"run", KEYWORDS(py_table_run), METH_VARARGS | METH_KEYWORDS, NULL},
    {"split_points", table_split_points, METH_O, NULL},
    {"apply", py_table_apply, METH_VARARGS, NULL},
    {"apply_batch", py_table_apply_batch, METH_VARARGS, NULL},
    {"check_and_mutate", py_table_check_and_mutate, METH_VARARGS, NULL},
    {"read_modify_write", py_table_read_modify_write, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_dealloc, (void *)table_dealloc},
    {Py_tp_methods, table_methods},
    {0, NULL},
};

PyType_Spec py_table_spec = {
    .name = "quarry._quarry.Table",
    .basicsize = sizeof(struct py_table),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = table_slots,
};
