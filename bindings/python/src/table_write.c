/* Table: changes of rows.
 *
 * A change is a tuple: ("set", family, qualifier, timestamp_us or None, value),
 * ("delete_cells", family, qualifier, min_us, max_us), ("delete_family",
 * family) or ("delete_row",); a mutation is (row, (change, …)). Names and
 * values are bytes.
 */
#include <stdlib.h>

#include "bindings/python/src/binding.h"

static bool add_set(struct quarry_mutation *m, PyObject *change)
{
    const char *kind, *family, *qualifier, *value;
    Py_ssize_t qualifier_len, value_len;
    int64_t at_us = QUARRY_NOW;
    PyObject *at;
    if (!PyArg_ParseTuple(change, "syy#Oy#", &kind, &family, &qualifier,
                          &qualifier_len, &at, &value, &value_len))
        return false;
    if (at != Py_None)
        at_us = PyLong_AsLongLong(at);
    if (PyErr_Occurred())
        return false;
    quarry_mutation_set(m, family, slice_make(qualifier, (size_t)qualifier_len),
                        at_us, slice_make(value, (size_t)value_len));
    return true;
}

static bool add_delete_cells(struct quarry_mutation *m, PyObject *change)
{
    const char *kind, *family, *qualifier;
    Py_ssize_t qualifier_len;
    long long min_us, max_us;
    if (!PyArg_ParseTuple(change, "syy#LL", &kind, &family, &qualifier,
                          &qualifier_len, &min_us, &max_us))
        return false;
    quarry_mutation_delete_cells(m, family,
                                 slice_make(qualifier, (size_t)qualifier_len),
                                 min_us, max_us);
    return true;
}

static bool add_change(struct quarry_mutation *m, PyObject *change)
{
    const char *kind, *family;
    PyObject *name;
    bool ok = false;
    if (!PyTuple_Check(change) || PyTuple_Size(change) < 1) {
        PyErr_SetString(PyExc_TypeError, "a change is a tuple");
        return false;
    }
    name = PyUnicode_AsUTF8String(PyTuple_GetItem(change, 0));
    if (!name)
        return false;
    kind = PyBytes_AsString(name);
    if (strcmp(kind, "set") == 0) {
        ok = add_set(m, change);
    } else if (strcmp(kind, "delete_cells") == 0) {
        ok = add_delete_cells(m, change);
    } else if (strcmp(kind, "delete_family") == 0) {
        const char *again;
        ok = PyArg_ParseTuple(change, "sy", &again, &family);
        if (ok)
            quarry_mutation_delete_family(m, family);
    } else if (strcmp(kind, "delete_row") == 0) {
        ok = true;
        quarry_mutation_delete_row(m);
    } else {
        PyErr_Format(PyExc_ValueError, "no such change: %s", kind);
    }
    Py_DECREF(name);
    return ok;
}

/* *@out is owned; NULL and true where @changes is None. */
static bool
take_mutation(PyObject *row, PyObject *changes, struct quarry_mutation **out)
{
    char *data;
    Py_ssize_t len;
    *out = NULL;
    if (changes == Py_None)
        return true;
    if (PyBytes_AsStringAndSize(row, &data, &len) < 0)
        return false;
    if (!PyTuple_Check(changes) && !PyList_Check(changes)) {
        PyErr_SetString(PyExc_TypeError, "changes are a tuple or a list");
        return false;
    }
    *out = quarry_mutation_new(slice_make(data, (size_t)len));
    for (Py_ssize_t i = 0, n = PySequence_Size(changes); i < n; i++) {
        PyObject *change = PySequence_GetItem(changes, i);
        bool ok = change && add_change(*out, change);
        Py_XDECREF(change);
        if (!ok) {
            quarry_mutation_free(*out);
            *out = NULL;
            return false;
        }
    }
    return true;
}

static bool take_durability(int n, struct quarry_write_options *out)
{
    if (n < QUARRY_SYNCED || n > QUARRY_DEFERRED) {
        PyErr_SetString(PyExc_ValueError, "no such durability");
        return false;
    }
    out->durability = (enum quarry_durability)n;
    return true;
}

/* apply(row, changes, durability) */
PyObject *py_table_apply(PyObject *self, PyObject *args)
{
    struct py_table *t = (struct py_table *)self;
    struct quarry_write_options opts;
    struct quarry_mutation *m = NULL;
    struct err err = ERR_INIT;
    PyObject *row, *changes;
    int durability, rc;
    if (!PyArg_ParseTuple(args, "OOi", &row, &changes, &durability) ||
        !py_table_usable(t) || !take_durability(durability, &opts) ||
        !take_mutation(row, changes, &m))
        return NULL;
    if (!m)
        Py_RETURN_NONE;
    PY_TABLE_CALL(t, rc = quarry_apply(t->t, m, &opts, &err));
    quarry_mutation_free(m);
    if (rc)
        return py_raise(&err);
    Py_RETURN_NONE;
}

static void free_mutations(struct quarry_mutation **list, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; list && i < count; i++)
        quarry_mutation_free(list[i]);
    free(list);
}

/* Add to the exception that is set which rows failed: `failed`, a list of
 * (index, code). */
static void add_failed(const int *codes, size_t count)
{
    PyObject *type, *value, *trace, *failed = PyList_New(0);
    bool ok = failed != NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    for (size_t i = 0; ok && i < count; i++) {
        PyObject *one =
            codes[i] ? Py_BuildValue("(ns)", (Py_ssize_t)i, err_name(codes[i]))
                     : NULL;
        if (codes[i])
            ok = one && PyList_Append(failed, one) == 0;
        Py_XDECREF(one);
    }
    if (ok && value)
        PyObject_SetAttrString(value, "failed", failed);
    Py_XDECREF(failed);
    PyErr_Restore(type, value, trace);
}

/* apply_batch([(row, (change, …))], durability): what fails does not keep other
 * rows from being changed. */
PyObject *py_table_apply_batch(PyObject *self, PyObject *args)
{
    struct py_table *t = (struct py_table *)self;
    struct quarry_write_options opts;
    struct quarry_mutation **list = NULL;
    struct err err = ERR_INIT;
    PyObject *rows, *out = NULL;
    Py_ssize_t count, made = 0;
    int durability, rc, *codes = NULL;
    if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &rows, &durability) ||
        !py_table_usable(t) || !take_durability(durability, &opts))
        return NULL;
    count = PyList_Size(rows);
    list = calloc((size_t)count + 1, sizeof(struct quarry_mutation *));
    codes = calloc((size_t)count + 1, sizeof(*codes));
    if (!list || !codes) {
        PyErr_NoMemory();
        goto out;
    }
    for (; made < count; made++) {
        PyObject *row, *changes;
        if (!PyArg_ParseTuple(PyList_GetItem(rows, made), "OO!", &row,
                              &PyTuple_Type, &changes) ||
            !take_mutation(row, changes, &list[made]))
            goto out;
    }
    PY_TABLE_CALL(t, rc = quarry_apply_each(t->t, list, (size_t)count, &opts,
                                            codes, &err));
    if (rc) {
        py_raise(&err);
        add_failed(codes, (size_t)count);
        goto out;
    }
    Py_INCREF(Py_None);
    out = Py_None;
out:
    free_mutations(list, made);
    free(codes);
    return out;
}

/* check_and_mutate(row, filter or None, changes or None, changes or None,
 * durability) -> bool */
PyObject *py_table_check_and_mutate(PyObject *self, PyObject *args)
{
    struct py_table *t = (struct py_table *)self;
    struct quarry_mutation *then = NULL, *otherwise = NULL;
    struct quarry_filter *predicate = NULL;
    struct quarry_write_options opts;
    struct err err = ERR_INIT;
    PyObject *row, *filter, *if_true, *if_false, *out = NULL;
    bool matched = false;
    char *data;
    Py_ssize_t len;
    int durability, rc;
    if (!PyArg_ParseTuple(args, "OOOOi", &row, &filter, &if_true, &if_false,
                          &durability) ||
        PyBytes_AsStringAndSize(row, &data, &len) < 0 || !py_table_usable(t) ||
        !take_durability(durability, &opts))
        return NULL;
    if (filter != Py_None && !(predicate = py_filter(filter)))
        goto out;
    if (!take_mutation(row, if_true, &then) ||
        !take_mutation(row, if_false, &otherwise))
        goto out;
    PY_TABLE_CALL(t, rc = quarry_check_and_mutate(
                         t->t, slice_make(data, (size_t)len), predicate, then,
                         otherwise, &opts, &matched, &err));
    out = rc ? py_raise(&err) : PyBool_FromLong(matched);
out:
    quarry_filter_free(predicate);
    quarry_mutation_free(then);
    quarry_mutation_free(otherwise);
    return out;
}

/* (family, qualifier, bytes or int): append, or increment. */
static bool take_rule(PyObject *o, struct quarry_rmw_rule *out)
{
    const char *qualifier;
    Py_ssize_t len;
    PyObject *by;
    if (!PyArg_ParseTuple(o, "yy#O", &out->family, &qualifier, &len, &by))
        return false;
    out->qualifier = slice_make(qualifier, (size_t)len);
    if (PyLong_Check(by)) {
        out->kind = QUARRY_RMW_INCREMENT;
        out->increment = PyLong_AsLongLong(by);
        return !PyErr_Occurred();
    } else {
        char *data;
        Py_ssize_t bytes;
        if (PyBytes_AsStringAndSize(by, &data, &bytes) < 0)
            return false;
        out->kind = QUARRY_RMW_APPEND;
        out->append = slice_make(data, (size_t)bytes);
        return true;
    }
}

/* read_modify_write(row, (rule, …), durability) -> row */
PyObject *py_table_read_modify_write(PyObject *self, PyObject *args)
{
    struct py_table *t = (struct py_table *)self;
    struct quarry_rmw_rule *rules = NULL;
    struct quarry_write_options opts;
    struct quarry_row *changed = NULL;
    struct err err = ERR_INIT;
    PyObject *list, *out = NULL;
    const char *row;
    Py_ssize_t len, count;
    int durability, rc;
    if (!PyArg_ParseTuple(args, "y#O!i", &row, &len, &PyTuple_Type, &list,
                          &durability) ||
        !py_table_usable(t) || !take_durability(durability, &opts))
        return NULL;
    count = PyTuple_Size(list);
    rules = calloc((size_t)count + 1, sizeof(*rules));
    if (!rules)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++)
        if (!take_rule(PyTuple_GetItem(list, i), &rules[i]))
            goto out;
    PY_TABLE_CALL(t, rc = quarry_read_modify_write(
                         t->t, slice_make(row, (size_t)len), rules,
                         (size_t)count, &opts, &changed, &err));
    if (rc) {
        py_raise(&err);
    } else if (changed) {
        out = py_row(changed);
    } else {
        Py_INCREF(Py_None);
        out = Py_None;
    }
    quarry_row_free(changed);
out:
    free(rules);
    return out;
}
