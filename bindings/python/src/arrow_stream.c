/* Table.arrow(): a scan as an Arrow C stream, in a capsule.
 *
 * pyarrow, polars, pandas and DuckDB take the capsule by the protocol
 * __arrow_c_stream__ (the Arrow PyCapsule interface). They call the stream with
 * or without the GIL, from any one thread: only its release touches Python.
 */
#include <stdlib.h>
#include <unistd.h>

#include "bindings/python/src/arrow.h"
#include "bindings/python/src/binding.h"

/* A batch ends with whichever comes first. */
#define BATCH_ROWS_MAX ((size_t)65536)
#define BATCH_BYTES    ((size_t)4 << 20)

#define CAPSULE_NAME "arrow_array_stream"

/* A stream reports a failure as an errno. */
#define ARROW_EIO 5

struct scan_stream {
    struct py_table *table; /* A reference; see INV-1 of binding.h. */
    struct quarry_scanner *scanner;
    struct arrow_column *columns; /* Owned, with its texts. */
    size_t column_count;
    bool by_cells;
    bool at_end;
    struct err err;
};

/* --- the stream ---------------------------------------------------------- */

static int stream_schema(struct ArrowArrayStream *stream,
                         struct ArrowSchema *out)
{
    struct scan_stream *s = stream->private_data;
    int rc = arrow_struct_schema(out, "+s", "", 0, s->column_count, &s->err);
    for (size_t i = 0; rc == 0 && i < s->column_count; i++) {
        rc = arrow_column_schema(&s->columns[i], out->children[i], &s->err);
        if (rc)
            out->release(out);
    }
    return rc ? ARROW_EIO : 0;
}

/* Read rows until a batch is full. *@length counts rows of the batch. */
static int fill_batch(struct scan_stream *s, size_t *length)
{
    size_t bytes = 0;
    while (*length < BATCH_ROWS_MAX && bytes < BATCH_BYTES) {
        const struct quarry_row *row;
        int rc = quarry_scanner_next(s->scanner, &row, &s->err);
        if (rc)
            return rc;
        s->at_end = !row;
        if (!row)
            return 0;
        bytes = 0;
        for (size_t i = 0; i < s->column_count; i++) {
            rc = arrow_column_add(&s->columns[i], row, s->by_cells, &s->err);
            if (rc)
                return rc;
            bytes += arrow_column_bytes(&s->columns[i]);
        }
        *length += s->by_cells ? row->cell_count : 1;
    }
    return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct scan_stream *s = stream->private_data;
    size_t length = 0;
    int rc = 0;
    *out = (struct ArrowArray){.length = 0};
    if (s->table->store->pid != getpid())
        rc = err_set(&s->err, ERR_INVALID,
                     "the scan was opened by the process before fork()");
    if (rc == 0 && !s->at_end)
        rc = fill_batch(s, &length);
    if (rc || length == 0)
        return rc ? ARROW_EIO : 0;
    rc = arrow_struct_array(out, s->column_count, length, &s->err);
    for (size_t i = 0; rc == 0 && i < s->column_count; i++) {
        rc = arrow_column_take(&s->columns[i], out->children[i], &s->err);
        if (rc)
            out->release(out);
    }
    return rc ? ARROW_EIO : 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    const struct scan_stream *s = stream->private_data;
    return s->err.code ? s->err.text : NULL;
}

/* PRE: the GIL is held. */
static void scan_stream_free(struct scan_stream *s)
{
    if (s->scanner && py_table_usable(s->table)) {
        PY_TABLE_CALL(s->table, quarry_scanner_close(s->scanner));
    } else {
        PyErr_Clear();
    }
    if (s->scanner)
        s->table->stream_count--;
    Py_XDECREF(s->table);
    for (size_t i = 0; i < s->column_count; i++)
        arrow_column_close(&s->columns[i]);
    free(s->columns);
    free(s);
}

static void stream_release(struct ArrowArrayStream *stream)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    scan_stream_free(stream->private_data);
    PyGILState_Release(gil);
    stream->release = NULL;
}

static void capsule_free(PyObject *capsule)
{
    struct ArrowArrayStream *stream =
        PyCapsule_GetPointer(capsule, CAPSULE_NAME);
    if (stream && stream->release)
        stream->release(stream);
    free(stream);
}

/* --- its making ---------------------------------------------------------- */

static char *copy_bytes(const char *data, size_t len)
{
    char *out = malloc(len + 1);
    if (out) {
        memcpy(out, data, len);
        out[len] = '\0';
    }
    return out;
}

/* (source, type, name, family, qualifier): numbers of the enums, bytes. */
static bool take_column(PyObject *o, struct arrow_column *out)
{
    const char *name, *family, *qualifier;
    Py_ssize_t len;
    int source, type;
    if (!PyArg_ParseTuple(o, "iiyyy#", &source, &type, &name, &family,
                          &qualifier, &len))
        return false;
    if (source < ARROW_ROW_KEY || source > ARROW_FAMILY ||
        type < ARROW_BINARY || type > ARROW_MAP ||
        (source == ARROW_FAMILY) != (type == ARROW_MAP) ||
        (source == ARROW_CELL_TIMESTAMP) != (type == ARROW_TIMESTAMP)) {
        PyErr_SetString(PyExc_ValueError, "no such column");
        return false;
    }
    *out = (struct arrow_column){
        .source = (enum arrow_source)source,
        .type = (enum arrow_type)type,
        .name = copy_bytes(name, strlen(name)),
        .family = copy_bytes(family, strlen(family)),
        .family_len = strlen(family),
        .qualifier = copy_bytes(qualifier, (size_t)len),
        .qualifier_len = (size_t)len,
    };
    if (!out->name || !out->family || !out->qualifier) {
        PyErr_NoMemory();
        return false;
    }
    return true;
}

/* Columns of cells and of rows do not mix; a key is in both. */
static bool arrow_stream_fits(const struct arrow_column *c, bool by_cells)
{
    bool of_cells =
        c->source >= ARROW_CELL_FAMILY && c->source <= ARROW_CELL_VALUE;
    bool is_text = c->type == ARROW_BINARY || c->type == ARROW_UTF8;
    if (c->source == ARROW_ROW_KEY)
        return is_text;
    return of_cells == by_cells &&
           (!of_cells || is_text || c->type == ARROW_TIMESTAMP);
}

static bool take_columns(struct scan_stream *s, PyObject *columns)
{
    Py_ssize_t n = PyTuple_Size(columns);
    s->columns = calloc((size_t)n + 1, sizeof(*s->columns));
    if (!s->columns) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        struct arrow_column *c = &s->columns[i];
        bool ok = take_column(PyTuple_GetItem(columns, i), c);
        s->column_count++;
        if (ok && !arrow_stream_fits(c, s->by_cells)) {
            PyErr_SetString(PyExc_ValueError, "no such column");
            ok = false;
        }
        if (!ok)
            return false;
    }
    return true;
}

static PyObject *stream_capsule(struct scan_stream *s)
{
    struct ArrowArrayStream *stream = malloc(sizeof(*stream));
    PyObject *out;
    if (!stream)
        return PyErr_NoMemory();
    *stream = (struct ArrowArrayStream){
        .get_schema = stream_schema,
        .get_next = stream_next,
        .get_last_error = stream_error,
        .release = stream_release,
        .private_data = s,
    };
    out = PyCapsule_New(stream, CAPSULE_NAME, capsule_free);
    if (!out)
        free(stream);
    return out;
}

/* arrow((column, …), by_cells, **options of a read) -> capsule */
PyObject *py_table_arrow(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct py_table *t = (struct py_table *)self;
    struct scan_stream *s = NULL;
    struct err err = ERR_INIT;
    struct py_read r = {.keep = NULL};
    PyObject *columns, *out = NULL;
    int by_cells, rc;
    if (!PyArg_ParseTuple(args, "O!p", &PyTuple_Type, &columns, &by_cells) ||
        !py_table_usable(t) || !py_read_open(&r, kwargs))
        goto out;
    s = calloc(1, sizeof(*s));
    if (!s) {
        PyErr_NoMemory();
        goto out;
    }
    s->by_cells = by_cells;
    s->table = t;
    Py_INCREF(t);
    if (!take_columns(s, columns))
        goto out;
    PY_TABLE_CALL(t, rc = quarry_scan(t->t, &r.options, &s->scanner, &err));
    if (rc) {
        py_raise(&err);
        goto out;
    }
    t->stream_count++;
    out = stream_capsule(s);
out:
    if (s && !out) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        scan_stream_free(s);
        PyErr_Restore(type, value, trace);
    }
    py_read_close(&r);
    return out;
}
