/* Store: an open directory or cluster.
 */
#include <stddef.h>
#include <unistd.h>

#include "bindings/python/src/binding.h"

bool py_store_usable(const struct py_store *s)
{
    if (s->pid != getpid() && s->q) {
        py_raise_code(ERR_INVALID,
                      "the store was opened by the process before fork(): "
                      "open it again in this one");
        return false;
    }
    if (!s->q) {
        py_raise_code(ERR_CLOSED, "the store is closed");
        return false;
    }
    return true;
}

/* An option of quarry_open() that is a text, or a size. */
static const struct {
    const char *name;
    size_t offset;
} text_options[] =
    {

#define TEXT_OPTION(field)                                                     \
    {                                                                          \
#field, offsetof(struct quarry_options, field)                         \
    }
        TEXT_OPTION(key_file),
        TEXT_OPTION(cluster),
        TEXT_OPTION(principal),
        TEXT_OPTION(certificate_file),
        TEXT_OPTION(certificate_key_file),
        TEXT_OPTION(authority_file),
        TEXT_OPTION(act_as),
        TEXT_OPTION(encryption_key_file),
        TEXT_OPTION(encryption_key_command),
        TEXT_OPTION(encryption_previous_key_file),
        TEXT_OPTION(encryption_previous_key_command),
},
  size_options[] =
      {
          TEXT_OPTION(cache_bytes), TEXT_OPTION(memtable_bytes),
          TEXT_OPTION(split_bytes), TEXT_OPTION(scan_cache_bytes),
          TEXT_OPTION(timeout_us),
},
  flag_options[] = {
      TEXT_OPTION(read_only),
      TEXT_OPTION(must_exist),
      TEXT_OPTION(repair),
#undef TEXT_OPTION
};

static bool
take_store_option(struct quarry_options *out, const char *name, PyObject *value)
{
    char *base = (char *)out;
    for (size_t i = 0; i < sizeof(text_options) / sizeof(*text_options); i++)
        if (strcmp(name, text_options[i].name) == 0) {
            const char *text = py_text(value, name);
            memcpy(base + text_options[i].offset, &text, sizeof(text));
            return text != NULL;
        }
    for (size_t i = 0; i < sizeof(size_options) / sizeof(*size_options); i++)
        if (strcmp(name, size_options[i].name) == 0) {
            uint64_t n = PyLong_AsUnsignedLongLong(value);
            memcpy(base + size_options[i].offset, &n, sizeof(n));
            return !PyErr_Occurred();
        }
    for (size_t i = 0; i < sizeof(flag_options) / sizeof(*flag_options); i++)
        if (strcmp(name, flag_options[i].name) == 0) {
            bool on = PyObject_IsTrue(value) == 1;
            memcpy(base + flag_options[i].offset, &on, sizeof(on));
            return !PyErr_Occurred();
        }
    PyErr_Format(PyExc_TypeError, "no such option of open: %s", name);
    return false;
}

/* Store(target, **options) */
static PyObject *store_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct quarry_options opts = {.cache_bytes = 0};
    struct err err = ERR_INIT;
    struct py_store *self = NULL;
    struct quarry *q = NULL;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    const char *target;
    int rc;
    if (!PyArg_ParseTuple(args, "y", &target))
        return NULL;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        PyObject *name = PyUnicode_AsUTF8String(key);
        bool ok =
            name && (value == Py_None ||
                     take_store_option(&opts, PyBytes_AsString(name), value));
        Py_XDECREF(name);
        if (!ok)
            return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = quarry_open(target, &opts, &q, &err);
    Py_END_ALLOW_THREADS if (rc) return py_raise(&err);
    self = (struct py_store *)alloc(type, 0);
    if (!self) {
        quarry_close(q);
        return NULL;
    }
    self->q = q;
    self->pid = getpid();
    return (PyObject *)self;
}

/* Close what is not in use. */
static void store_release(struct py_store *s)
{
    struct quarry *q = s->q;
    s->q = NULL;
    if (q && s->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS quarry_close(q);
        Py_END_ALLOW_THREADS
    }
}

static PyObject *store_close(PyObject *self, PyObject *unused)
{
    struct py_store *s = (struct py_store *)self;
    (void)unused;
    if (s->busy || s->table_count)
        return py_raise_code(ERR_BUSY, s->busy
                                           ? "a call of another thread uses "
                                             "the store"
                                           : "tables of the store are open: "
                                             "close them first");
    store_release(s);
    Py_RETURN_NONE;
}

static void store_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    /* INV-1: tables hold a reference, so that there are none. */
    store_release((struct py_store *)self);
    release(self);
    Py_DECREF(type);
}

static PyObject *store_flush(PyObject *self, PyObject *unused)
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    int rc;
    (void)unused;
    if (!py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = quarry_flush(s->q, &err));
    if (rc)
        return py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *store_table(PyObject *self, PyObject *name)
{
    const char *text = py_text(name, "the name of a table");
    if (!text || !py_store_usable((struct py_store *)self))
        return NULL;
    return py_table_new((struct py_store *)self, text);
}

static PyObject *store_counters(PyObject *self, PyObject *unused)
{
    struct py_store *s = (struct py_store *)self;
    struct quarry_counter counters[QUARRY_COUNTERS_MAX];
    PyObject *out;
    size_t n;
    (void)unused;
    if (!py_store_usable(s))
        return NULL;
    n = quarry_counters(s->q, counters);
    out = PyDict_New();
    for (size_t i = 0; out && i < n; i++) {
        PyObject *v = PyLong_FromUnsignedLongLong(counters[i].value);
        if (!v || PyDict_SetItemString(out, counters[i].name, v) < 0)
            Py_CLEAR(out);
        Py_XDECREF(v);
    }
    return out;
}

static PyMethodDef store_methods[] = {
    {"close", store_close, METH_NOARGS, NULL},
    {"flush", store_flush, METH_NOARGS, NULL},
    {"table", store_table, METH_O, NULL},
    {"counters", store_counters, METH_NOARGS, NULL},
    {"create", py_store_create, METH_VARARGS, NULL},
    {"drop", py_store_drop, METH_VARARGS, NULL},
    {"alter", py_store_alter, METH_VARARGS, NULL},
    {"list", py_store_list, METH_NOARGS, NULL},
    {"describe", py_store_describe, METH_VARARGS, NULL},
    {"compact", py_store_compact, METH_VARARGS, NULL},
    {"split", py_store_split, METH_VARARGS, NULL},
    {"drop_rows", py_store_drop_rows, METH_VARARGS, NULL},
    {"snapshot", py_store_snapshot, METH_VARARGS, NULL},
    {"clone", py_store_clone, METH_VARARGS, NULL},
    {"snapshots", py_store_snapshots, METH_NOARGS, NULL},
    {"drop_snapshot", py_store_drop_snapshot, METH_VARARGS, NULL},
    {"restore", py_store_restore, METH_VARARGS, NULL},
    {"transaction", py_store_transaction, METH_VARARGS, NULL},
    {"enable_transactions", py_store_enable_transactions, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot store_slots[] = {
    {Py_tp_new, (void *)store_new},
    {Py_tp_dealloc, (void *)store_dealloc},
    {Py_tp_methods, store_methods},
    {0, NULL},
};

PyType_Spec py_store_spec = {
    .name = "quarry._quarry.Store",
    .basicsize = sizeof(struct py_store),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = store_slots,
};
