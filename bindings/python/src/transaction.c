/* Transaction: one of quarry_txn.h. It holds the tables that were used in it,
 * which stay open as long as it is.
 */
#include <stdlib.h>

#include "bigtable/quarry_txn.h"
#include "bindings/python/src/binding.h"

struct py_txn {
    PyObject_HEAD struct quarry_txn *t; /* NULL: closed. */
    struct py_store *store;             /* A reference. */
    PyObject *tables;                   /* A list: those that were used. */
    size_t busy;
};

#define PY_TXN_CALL(txn, statement)                                            \
    do {                                                                       \
        (txn)->busy++;                                                         \
        Py_BEGIN_ALLOW_THREADS statement;                                      \
        Py_END_ALLOW_THREADS(txn)->busy--;                                     \
    } while (0)

/* transaction(serializable, read_only, timeout_us) -> Transaction */
PyObject *py_store_transaction(PyObject *self, PyObject *args)
{
    PyTypeObject *type = (PyTypeObject *)py_txn_type;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct py_store *s = (struct py_store *)self;
    struct quarry_txn_options opts = {.serializable = false};
    unsigned long long timeout_us;
    int serializable, read_only;
    struct quarry_txn *t = NULL;
    struct err err = ERR_INIT;
    struct py_txn *out;
    int rc;
    if (!PyArg_ParseTuple(args, "ppK", &serializable, &read_only,
                          &timeout_us) ||
        !py_store_usable(s))
        return NULL;
    opts.serializable = serializable;
    opts.read_only = read_only;
    opts.timeout_us = timeout_us;
    PY_STORE_CALL(s, rc = quarry_txn_begin(s->q, &opts, &t, &err));
    if (rc)
        return py_raise(&err);
    out = (struct py_txn *)alloc(type, 0);
    if (!out) {
        quarry_txn_close(t);
        return NULL;
    }
    out->t = t;
    out->tables = PyList_New(0);
    out->store = s;
    Py_INCREF(s);
    s->table_count++; /* It keeps the store open as a table does: INV-1. */
    return (PyObject *)out;
}

static bool txn_is_usable(const struct py_txn *x)
{
    if (!x->t) {
        py_raise_code(ERR_CLOSED, "the transaction is closed");
        return false;
    }
    if (x->busy) {
        py_raise_code(ERR_BUSY, "another thread uses the transaction");
        return false;
    }
    return py_store_usable(x->store);
}

/* Check the table @o, and keep it open. NULL: an exception is set. */
static struct py_table *txn_table(struct py_txn *x, PyObject *o)
{
    struct py_table *t = (struct py_table *)o;
    int known;
    if (!txn_is_usable(x))
        return NULL;
    if (!PyObject_TypeCheck(o, (PyTypeObject *)py_table_type)) {
        PyErr_SetString(PyExc_TypeError, "a table is needed");
        return NULL;
    }
    if (!py_table_usable(t))
        return NULL;
    if (t->store != x->store) {
        py_raise_code(ERR_INVALID, "the table is of another store");
        return NULL;
    }
    known = PySequence_Contains(x->tables, o);
    if (known < 0 || (known == 0 && PyList_Append(x->tables, o) < 0))
        return NULL;
    if (known == 0)
        t->stream_count++;
    return t;
}

static void txn_release(struct py_txn *x)
{
    struct quarry_txn *open = x->t;
    x->t = NULL;
    if (!open)
        return;
    if (py_store_usable(x->store)) {
        PY_STORE_CALL(x->store, quarry_txn_close(open));
    } else {
        PyErr_Clear();
    }
    for (Py_ssize_t i = 0; i < PyList_Size(x->tables); i++)
        ((struct py_table *)PyList_GetItem(x->tables, i))->stream_count--;
    x->store->table_count--;
}

static PyObject *txn_close(PyObject *self, PyObject *unused)
{
    struct py_txn *x = (struct py_txn *)self;
    (void)unused;
    if (x->busy)
        return py_raise_code(ERR_BUSY, "another thread uses the transaction");
    txn_release(x);
    Py_RETURN_NONE;
}

static void txn_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    struct py_txn *x = (struct py_txn *)self;
    if (x->store) {
        txn_release(x);
        Py_DECREF(x->store);
    }
    Py_XDECREF(x->tables);
    release(self);
    Py_DECREF(type);
}

/* commit() -> timestamp */
static PyObject *txn_commit(PyObject *self, PyObject *unused)
{
    struct py_txn *x = (struct py_txn *)self;
    struct err err = ERR_INIT;
    int64_t committed = 0;
    int rc;
    (void)unused;
    if (!txn_is_usable(x))
        return NULL;
    PY_TXN_CALL(x, rc = quarry_txn_commit(x->t, &committed, &err));
    return rc ? py_raise(&err) : PyLong_FromLongLong(committed);
}

/* get(table, row, family, qualifier) -> bytes or None */
static PyObject *txn_get(PyObject *self, PyObject *args)
{
    struct py_txn *x = (struct py_txn *)self;
    const char *row, *family, *qualifier;
    Py_ssize_t row_len, qualifier_len;
    struct err err = ERR_INIT;
    struct buf value = BUF_INIT;
    struct py_table *t;
    PyObject *out = NULL;
    PyObject *table;
    bool found = false;
    int rc;
    if (!PyArg_ParseTuple(args, "Oy#yy#", &table, &row, &row_len, &family,
                          &qualifier, &qualifier_len) ||
        !(t = txn_table(x, table)))
        return NULL;
    PY_TXN_CALL(x, rc = quarry_txn_get(
                       x->t, t->t, slice_make(row, (size_t)row_len), family,
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

/* read_row(table, row) -> row or None */
static PyObject *txn_read_row(PyObject *self, PyObject *args)
{
    struct py_txn *x = (struct py_txn *)self;
    struct quarry_row *row = NULL;
    struct err err = ERR_INIT;
    struct py_table *t;
    PyObject *table;
    PyObject *out;
    const char *key;
    Py_ssize_t len;
    int rc;
    if (!PyArg_ParseTuple(args, "Oy#", &table, &key, &len) ||
        !(t = txn_table(x, table)))
        return NULL;
    PY_TXN_CALL(x, rc = quarry_txn_read_row(
                       x->t, t->t, slice_make(key, (size_t)len), &row, &err));
    if (rc)
        return py_raise(&err);
    if (!row)
        Py_RETURN_NONE;
    out = py_row(row);
    quarry_row_free(row);
    return out;
}

/* Copies of up to @limit rows. */
static int read_some(struct py_txn *x,
                     struct py_table *t,
                     struct slice start,
                     struct slice end,
                     unsigned limit,
                     PyObject *out,
                     struct err *err)
{
    struct quarry_txn_scanner *s = NULL;
    const struct quarry_row *row = NULL;
    bool python = true; /* No exception was set. */
    int rc;
    PY_TXN_CALL(x, rc = quarry_txn_scan(x->t, t->t, start, end, &s, err));
    for (unsigned i = 0; rc == 0 && i < limit && python; i++) {
        PyObject *one;
        PY_TXN_CALL(x, rc = quarry_txn_scanner_next(s, &row, err));
        if (rc || !row)
            break;
        one = py_row(row);
        python = one && PyList_Append(out, one) == 0;
        Py_XDECREF(one);
    }
    PY_TXN_CALL(x, quarry_txn_scanner_close(s));
    return rc;
}

/* scan(table, start, end, limit) -> [row], the first ones */
static PyObject *txn_scan(PyObject *self, PyObject *args)
{
    struct py_txn *x = (struct py_txn *)self;
    const char *start, *end;
    Py_ssize_t start_len, end_len;
    struct err err = ERR_INIT;
    struct py_table *t;
    unsigned limit;
    PyObject *table;
    PyObject *out;
    int rc;
    if (!PyArg_ParseTuple(args, "Oy#y#I", &table, &start, &start_len, &end,
                          &end_len, &limit) ||
        !(t = txn_table(x, table)))
        return NULL;
    out = PyList_New(0);
    if (!out)
        return NULL;
    rc = read_some(x, t, slice_make(start, (size_t)start_len),
                   slice_make(end, (size_t)end_len), limit, out, &err);
    if (rc == 0 && !PyErr_Occurred())
        return out;
    Py_DECREF(out);
    return rc ? py_raise(&err) : NULL;
}

/* put(table, row, family, qualifier, value) */
static PyObject *txn_put(PyObject *self, PyObject *args)
{
    struct py_txn *x = (struct py_txn *)self;
    const char *row, *family, *qualifier, *value;
    Py_ssize_t row_len, qualifier_len, value_len;
    struct err err = ERR_INIT;
    struct py_table *t;
    PyObject *table;
    int rc;
    if (!PyArg_ParseTuple(args, "Oy#yy#y#", &table, &row, &row_len, &family,
                          &qualifier, &qualifier_len, &value, &value_len) ||
        !(t = txn_table(x, table)))
        return NULL;
    PY_TXN_CALL(x, rc = quarry_txn_put(
                       x->t, t->t, slice_make(row, (size_t)row_len), family,
                       slice_make(qualifier, (size_t)qualifier_len),
                       slice_make(value, (size_t)value_len), &err));
    if (rc)
        return py_raise(&err);
    Py_RETURN_NONE;
}

/* delete(table, row, family, qualifier); an empty family: the row */
static PyObject *txn_delete(PyObject *self, PyObject *args)
{
    struct py_txn *x = (struct py_txn *)self;
    const char *row, *family, *qualifier;
    Py_ssize_t row_len, qualifier_len;
    struct err err = ERR_INIT;
    struct py_table *t;
    PyObject *table;
    int rc;
    if (!PyArg_ParseTuple(args, "Oy#yy#", &table, &row, &row_len, &family,
                          &qualifier, &qualifier_len) ||
        !(t = txn_table(x, table)))
        return NULL;
    PY_TXN_CALL(x, rc = quarry_txn_delete(
                       x->t, t->t, slice_make(row, (size_t)row_len),
                       *family ? family : NULL,
                       slice_make(qualifier, (size_t)qualifier_len), &err));
    if (rc)
        return py_raise(&err);
    Py_RETURN_NONE;
}

static PyMethodDef txn_methods[] = {
    {"close", txn_close, METH_NOARGS, NULL},
    {"commit", txn_commit, METH_NOARGS, NULL},
    {"get", txn_get, METH_VARARGS, NULL},
    {"read_row", txn_read_row, METH_VARARGS, NULL},
    {"scan", txn_scan, METH_VARARGS, NULL},
    {"put", txn_put, METH_VARARGS, NULL},
    {"delete", txn_delete, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot txn_slots[] = {
    {Py_tp_dealloc, (void *)txn_dealloc},
    {Py_tp_methods, txn_methods},
    {0, NULL},
};

PyType_Spec py_txn_spec = {
    .name = "quarry._quarry.Transaction",
    .basicsize = sizeof(struct py_txn),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = txn_slots,
};

/* enable_transactions(table) */
PyObject *py_store_enable_transactions(PyObject *self, PyObject *args)
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    const char *name;
    int rc;
    if (!PyArg_ParseTuple(args, "y", &name) || !py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = quarry_table_enable_transactions(s->q, name, &err));
    if (rc)
        return py_raise(&err);
    Py_RETURN_NONE;
}
