/* Scanner: rows of a scan, a batch at a time.
 */
#include "bindings/python/src/binding.h"

PyObject *py_scanner_new(struct py_table *t, PyObject *kwargs)
{
    PyTypeObject *type = (PyTypeObject *)py_scanner_type;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct quarry_scanner *s = NULL;
    struct err err = ERR_INIT;
    struct py_read r = {.keep = NULL};
    struct py_scanner *self = NULL;
    int rc;
    if (!py_read_open(&r, kwargs))
        goto out;
    PY_TABLE_CALL(t, rc = quarry_scan(t->t, &r.options, &s, &err));
    if (rc) {
        py_raise(&err);
        goto out;
    }
    self = (struct py_scanner *)alloc(type, 0);
    if (!self) {
        quarry_scanner_close(s);
        goto out;
    }
    self->s = s;
    self->table = t;
    Py_INCREF(t);
    t->stream_count++;
out:
    py_read_close(&r);
    return (PyObject *)self;
}

static void scanner_release(struct py_scanner *s)
{
    struct quarry_scanner *open = s->s;
    s->s = NULL;
    if (!open)
        return;
    if (py_table_usable(s->table)) {
        PY_TABLE_CALL(s->table, quarry_scanner_close(open));
    } else {
        PyErr_Clear();
    }
    s->table->stream_count--;
    Py_CLEAR(s->table);
}

/* next(n) -> a list of at most n rows; empty at the end. */
static PyObject *scanner_next(PyObject *self, PyObject *wanted)
{
    struct py_scanner *s = (struct py_scanner *)self;
    size_t max = PyLong_AsSize_t(wanted);
    struct err err = ERR_INIT;
    PyObject *out;
    if (PyErr_Occurred())
        return NULL;
    if (s->busy)
        return py_raise_code(ERR_BUSY, "another thread reads from the scan");
    out = PyList_New(0);
    while (out && s->s && (size_t)PyList_Size(out) < max) {
        const struct quarry_row *row = NULL;
        PyObject *tuple;
        int rc;
        if (!py_table_usable(s->table)) {
            Py_CLEAR(out);
            break;
        }
        s->busy++;
        PY_TABLE_CALL(s->table, rc = quarry_scanner_next(s->s, &row, &err));
        s->busy--;
        if (rc) {
            Py_CLEAR(out);
            py_raise(&err);
            break;
        }
        if (!row) {
            scanner_release(s);
            break;
        }
        tuple = py_row(row);
        if (!tuple || PyList_Append(out, tuple) < 0)
            Py_CLEAR(out);
        Py_XDECREF(tuple);
    }
    return out;
}

static PyObject *scanner_close(PyObject *self, PyObject *unused)
{
    struct py_scanner *s = (struct py_scanner *)self;
    (void)unused;
    if (s->busy)
        return py_raise_code(ERR_BUSY, "another thread reads from the scan");
    scanner_release(s);
    Py_RETURN_NONE;
}

static void scanner_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    scanner_release((struct py_scanner *)self);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef scanner_methods[] = {
    {"next", scanner_next, METH_O, NULL},
    {"close", scanner_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot scanner_slots[] = {
    {Py_tp_dealloc, (void *)scanner_dealloc},
    {Py_tp_methods, scanner_methods},
    {0, NULL},
};

PyType_Spec py_scanner_spec = {
    .name = "quarry._quarry.Scanner",
    .basicsize = sizeof(struct py_scanner),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = scanner_slots,
};
