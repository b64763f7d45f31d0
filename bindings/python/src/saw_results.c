/* Sawzall programs over a table, and their results as Python's objects.
 */
#include "bindings/python/src/binding.h"
#include "sawzall-lite/sawzall.h"

/* A list of (name, columns, rows) under construction. */
struct results {
    PyObject *tables;
    PyObject *rows; /* Of the table that has begun. Borrowed from `tables`. */
    bool failed;    /* An exception is set. */
};

static PyObject *column_names(const char *const *columns, size_t count)
{
    PyObject *out = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; out && i < count; i++) {
        PyObject *name = PyUnicode_FromString(columns[i]);
        if (!name || PyTuple_SetItem(out, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(out);
    }
    return out;
}

static void begin_table(void *ctx,
                        const char *name,
                        const char *const *columns,
                        size_t column_count)
{
    struct results *r = ctx;
    PyObject *names = column_names(columns, column_count);
    PyObject *rows = PyList_New(0), *table = NULL;
    r->rows = NULL;
    if (names && rows)
        table = Py_BuildValue("(sOO)", name, names, rows);
    if (table && PyList_Append(r->tables, table) == 0)
        r->rows = rows;
    else
        r->failed = true;
    Py_XDECREF(table);
    Py_XDECREF(rows); /* The table has it. */
    Py_XDECREF(names);
}

/* A number's text as an int where it is one, else a float. */
static PyObject *saw_results_number(PyObject *text)
{
    PyObject *out = PyNumber_Long(text);
    if (!out) {
        PyErr_Clear();
        out = PyFloat_FromString(text);
    }
    if (!out) {
        PyErr_Clear();
        Py_INCREF(text);
        out = text;
    }
    return out;
}

static PyObject *result_value(struct slice s, bool numeric)
{
    PyObject *text =
        PyUnicode_DecodeUTF8(s.data, (Py_ssize_t)s.len, "surrogateescape");
    PyObject *out;
    if (!text || !numeric)
        return text;
    out = saw_results_number(text);
    Py_DECREF(text);
    return out;
}

static bool add_line(void *ctx,
                     const struct slice *values,
                     const bool *numeric,
                     size_t count)
{
    struct results *r = ctx;
    PyObject *line;
    if (r->failed)
        return false;
    line = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; line && i < count; i++) {
        PyObject *v = result_value(values[i], numeric[i]);
        if (!v || PyTuple_SetItem(line, (Py_ssize_t)i, v) < 0)
            Py_CLEAR(line);
    }
    r->failed = !line || PyList_Append(r->rows, line) < 0;
    Py_XDECREF(line);
    return !r->failed;
}

static PyObject *take_results(struct saw_run *run)
{
    struct results r = {.tables = PyList_New(0)};
    const struct saw_result_sink sink = {&r, begin_table, add_line};
    if (!r.tables)
        return NULL;
    saw_run_results(run, &sink);
    if (r.failed)
        Py_CLEAR(r.tables);
    return r.tables;
}

static struct saw_program *saw_results_compile(const char *source,
                                               const char *name)
{
    const struct saw_compile_options opts = {.restricted = true};
    struct saw_program *out = NULL;
    struct buf diagnostics = BUF_INIT;
    if (saw_compile(&opts, slice_str(source), name, &out, &diagnostics)) {
        buf_append_byte(&diagnostics, '\0');
        py_raise_code(ERR_INVALID, diagnostics.data);
    }
    buf_close(&diagnostics);
    return out;
}

/* run(source, name, **options of a read) -> ([(table, columns, rows)], rows
 * seen) */
PyObject *py_table_run(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct py_table *t = (struct py_table *)self;
    const struct saw_run_options run_options = {.depth_max = 0};
    struct saw_program *program = NULL;
    struct saw_run *run = NULL;
    struct err err = ERR_INIT;
    struct py_read r = {.keep = NULL};
    PyObject *tables = NULL, *out = NULL;
    const char *source, *name;
    uint64_t rows = 0;
    int rc;
    if (!PyArg_ParseTuple(args, "yy", &source, &name) || !py_table_usable(t) ||
        !py_read_open(&r, kwargs) ||
        !(program = saw_results_compile(source, name)))
        goto out;
    rc = saw_run_new(program, &run_options, &run, &err);
    if (rc == 0)
        PY_TABLE_CALL(
            t, rc = quarry_run_program(t->t, &r.options, run, &rows, &err));
    if (rc) {
        py_raise(&err);
        goto out;
    }
    tables = take_results(run);
    if (tables)
        out = Py_BuildValue("(OK)", tables, (unsigned long long)rows);
out:
    Py_XDECREF(tables);
    saw_run_free(run);
    saw_program_free(program);
    py_read_close(&r);
    return out;
}
