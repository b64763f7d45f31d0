/* Store: tables and snapshots as a whole.
 */
#include <stdlib.h>

#include "bindings/python/src/binding.h"

/* (name, options) pairs as specs of families and groups, which are alike. */
struct name_options {
    const char *name;
    const char *options;
};

/* Take a sequence of pairs of bytes. *@out is owned: free(). */
static bool take_pairs(PyObject *o, struct name_options **out, size_t *count)
{
    Py_ssize_t n = PyTuple_Check(o) ? PyTuple_Size(o) : -1;
    if (n < 0) {
        PyErr_SetString(PyExc_TypeError, "not a tuple of pairs");
        return false;
    }
    *out = calloc((size_t)n + 1, sizeof(**out));
    for (Py_ssize_t i = 0; *out && i < n; i++)
        if (!PyArg_ParseTuple(PyTuple_GetItem(o, i), "yy", &(*out)[i].name,
                              &(*out)[i].options))
            return false;
    *count = (size_t)n;
    return *out != NULL;
}

PyObject *py_store_create(PyObject *self, PyObject *args)
{
    struct py_store *s = (struct py_store *)self;
    struct name_options *families = NULL, *groups = NULL;
    struct quarry_family_spec *family_specs = NULL;
    struct quarry_group_spec *group_specs = NULL;
    size_t family_count = 0, group_count = 0;
    struct err err = ERR_INIT;
    PyObject *family_pairs, *group_pairs, *out = NULL;
    const char *name;
    int rc;
    if (!PyArg_ParseTuple(args, "yOO", &name, &family_pairs, &group_pairs) ||
        !py_store_usable(s) ||
        !take_pairs(family_pairs, &families, &family_count) ||
        !take_pairs(group_pairs, &groups, &group_count))
        goto out;
    family_specs = calloc(family_count + 1, sizeof(*family_specs));
    group_specs = calloc(group_count + 1, sizeof(*group_specs));
    if (!family_specs || !group_specs)
        goto out;
    for (size_t i = 0; i < family_count; i++)
        family_specs[i] =
            (struct quarry_family_spec){families[i].name, families[i].options};
    for (size_t i = 0; i < group_count; i++)
        group_specs[i] =
            (struct quarry_group_spec){groups[i].name, groups[i].options};
    PY_STORE_CALL(s, rc = quarry_table_create(s->q, name, family_specs,
                                              family_count, group_specs,
                                              group_count, &err));
    if (rc) {
        py_raise(&err);
        goto out;
    }
    Py_INCREF(Py_None);
    out = Py_None;
out:
    free(families);
    free(groups);
    free(family_specs);
    free(group_specs);
    if (!out && !PyErr_Occurred())
        PyErr_NoMemory();
    return out;
}

PyObject *py_store_alter(PyObject *self, PyObject *args)
{
    struct py_store *s = (struct py_store *)self;
    struct quarry_alter *changes = NULL;
    struct err err = ERR_INIT;
    PyObject *list, *out = NULL;
    const char *name;
    Py_ssize_t n;
    int rc;
    if (!PyArg_ParseTuple(args, "yO!", &name, &PyTuple_Type, &list) ||
        !py_store_usable(s))
        return NULL;
    n = PyTuple_Size(list);
    changes = calloc((size_t)n + 1, sizeof(*changes));
    for (Py_ssize_t i = 0; changes && i < n; i++) {
        int kind;
        if (!PyArg_ParseTuple(PyTuple_GetItem(list, i), "iyy", &kind,
                              &changes[i].name, &changes[i].options))
            goto out;
        changes[i].kind = (enum quarry_alter_kind)kind;
    }
    if (!changes) {
        PyErr_NoMemory();
        goto out;
    }
    PY_STORE_CALL(
        s, rc = quarry_table_alter(s->q, name, changes, (size_t)n, &err));
    if (rc) {
        py_raise(&err);
        goto out;
    }
    Py_INCREF(Py_None);
    out = Py_None;
out:
    free(changes);
    return out;
}

PyObject *py_store_list(PyObject *self, PyObject *unused)
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    char **names = NULL;
    size_t count = 0;
    PyObject *out;
    int rc;
    (void)unused;
    if (!py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = quarry_table_list(s->q, &names, &count, &err));
    if (rc)
        return py_raise(&err);
    out = PyList_New(0);
    for (size_t i = 0; out && i < count; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyList_Append(out, name) < 0)
            Py_CLEAR(out);
        Py_XDECREF(name);
    }
    quarry_names_free(names, count);
    return out;
}

/* --- a table's description ----------------------------------------------- */

/* Append @item, which is taken, to @list. */
static bool append_taken(PyObject *list, PyObject *item)
{
    bool ok = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return ok;
}

static PyObject *family_dict(const struct quarry_family_info *f)
{
    return Py_BuildValue("{s:s,s:s,s:s,s:K,s:K}", "name", f->name, "group",
                         f->group, "gc", f->gc, "stored_bytes",
                         (unsigned long long)f->stored_bytes, "memory_bytes",
                         (unsigned long long)f->memory_bytes);
}

static PyObject *group_dict(const struct quarry_group_info *g)
{
    return Py_BuildValue("{s:s,s:s,s:K,s:K,s:K,s:K}", "name", g->name,
                         "options", g->options, "files",
                         (unsigned long long)g->table_file_count, "bytes",
                         (unsigned long long)g->table_bytes, "memtable_bytes",
                         (unsigned long long)g->memtable_bytes, "entries",
                         (unsigned long long)g->entry_count);
}

static PyObject *tablet_dict(const struct quarry_tablet_info *t)
{
    PyObject *start = py_bytes(t->start), *end = py_bytes(t->end), *out = NULL;
    if (start && end)
        out = Py_BuildValue("{s:O,s:O,s:K,s:d,s:d,s:d}", "start", start, "end",
                            end, "bytes", (unsigned long long)t->bytes,
                            "reads_per_s", t->reads_per_s, "writes_per_s",
                            t->writes_per_s, "bytes_per_s", t->bytes_per_s);
    Py_XDECREF(start);
    Py_XDECREF(end);
    return out;
}

static PyObject *info_dict(const struct quarry_table_info *info)
{
    PyObject *families = PyList_New(0), *groups = PyList_New(0);
    PyObject *tablets = PyList_New(0), *out = NULL;
    bool ok = families && groups && tablets;
    for (size_t i = 0; ok && i < info->family_count; i++)
        ok = append_taken(families, family_dict(&info->families[i]));
    for (size_t i = 0; ok && i < info->group_count; i++)
        ok = append_taken(groups, group_dict(&info->groups[i]));
    for (size_t i = 0; ok && i < info->tablet_count; i++)
        ok = append_taken(tablets, tablet_dict(&info->tablets[i]));
    if (ok)
        out = Py_BuildValue("{s:s,s:O,s:O,s:O}", "name", info->name, "families",
                            families, "groups", groups, "tablets", tablets);
    Py_XDECREF(families);
    Py_XDECREF(groups);
    Py_XDECREF(tablets);
    return out;
}

PyObject *py_store_describe(PyObject *self, PyObject *args)
{
    struct py_store *s = (struct py_store *)self;
    struct quarry_table_info *info = NULL;
    struct err err = ERR_INIT;
    const char *name;
    PyObject *out;
    int rc;
    if (!PyArg_ParseTuple(args, "y", &name) || !py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = quarry_table_describe(s->q, name, &info, &err));
    if (rc)
        return py_raise(&err);
    out = info_dict(info);
    quarry_table_info_free(info);
    return out;
}

/* --- orders -------------------------------------------------------------- */

/* The outcome @rc of an order, as Python's. */
static PyObject *order_done(int rc, const struct err *err)
{
    if (rc)
        return py_raise(err);
    Py_RETURN_NONE;
}

/* Give an order about one name. */
static PyObject *
order_named(PyObject *self,
            PyObject *args,
            int (*order)(struct quarry *q, const char *name, struct err *err))
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    const char *name;
    int rc;
    if (!PyArg_ParseTuple(args, "y", &name) || !py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = order(s->q, name, &err));
    return order_done(rc, &err);
}

/* Give an order about a name, and another for its result. */
static PyObject *order_copy(PyObject *self,
                            PyObject *args,
                            int (*order)(struct quarry *q,
                                         const char *from,
                                         const char *to,
                                         struct err *err))
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    const char *from, *to;
    int rc;
    if (!PyArg_ParseTuple(args, "yy", &from, &to) || !py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = order(s->q, from, to, &err));
    return order_done(rc, &err);
}

PyObject *py_store_drop(PyObject *self, PyObject *args)
{
    return order_named(self, args, quarry_table_drop);
}

PyObject *py_store_compact(PyObject *self, PyObject *args)
{
    return order_named(self, args, quarry_table_compact);
}

PyObject *py_store_drop_snapshot(PyObject *self, PyObject *args)
{
    return order_named(self, args, quarry_snapshot_drop);
}

PyObject *py_store_clone(PyObject *self, PyObject *args)
{
    return order_copy(self, args, quarry_table_clone);
}

PyObject *py_store_restore(PyObject *self, PyObject *args)
{
    return order_copy(self, args, quarry_snapshot_restore);
}

PyObject *py_store_split(PyObject *self, PyObject *args)
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    const char *name, *row;
    Py_ssize_t len;
    int rc;
    if (!PyArg_ParseTuple(args, "yy#", &name, &row, &len) ||
        !py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = quarry_table_split(
                         s->q, name, slice_make(row, (size_t)len), &err));
    return order_done(rc, &err);
}

PyObject *py_store_drop_rows(PyObject *self, PyObject *args)
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    const char *name, *start, *end;
    Py_ssize_t start_len, end_len;
    int rc;
    if (!PyArg_ParseTuple(args, "yy#y#", &name, &start, &start_len, &end,
                          &end_len) ||
        !py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = quarry_table_drop_rows(
                         s->q, name, slice_make(start, (size_t)start_len),
                         slice_make(end, (size_t)end_len), &err));
    return order_done(rc, &err);
}

/* --- snapshots ----------------------------------------------------------- */

PyObject *py_store_snapshot(PyObject *self, PyObject *args)
{
    struct py_store *s = (struct py_store *)self;
    struct err err = ERR_INIT;
    const char *table, *name;
    unsigned long long ttl_us;
    int rc;
    if (!PyArg_ParseTuple(args, "yyK", &table, &name, &ttl_us) ||
        !py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s,
                  rc = quarry_table_snapshot(s->q, table, name, ttl_us, &err));
    return order_done(rc, &err);
}

PyObject *py_store_snapshots(PyObject *self, PyObject *unused)
{
    struct py_store *s = (struct py_store *)self;
    struct quarry_snapshots *list = NULL;
    struct err err = ERR_INIT;
    PyObject *out;
    bool ok;
    int rc;
    (void)unused;
    if (!py_store_usable(s))
        return NULL;
    PY_STORE_CALL(s, rc = quarry_snapshot_list(s->q, &list, &err));
    if (rc)
        return py_raise(&err);
    out = PyList_New(0);
    ok = out != NULL;
    for (size_t i = 0; ok && i < list->count; i++) {
        const struct quarry_snapshot *p = &list->list[i];
        ok = append_taken(
            out, Py_BuildValue("{s:s,s:s,s:K,s:K,s:K,s:K}", "name", p->name,
                               "table", p->table, "created_us",
                               (unsigned long long)p->created_us, "expires_us",
                               (unsigned long long)p->expires_us, "tablets",
                               (unsigned long long)p->tablet_count, "bytes",
                               (unsigned long long)p->bytes));
    }
    quarry_snapshots_free(list);
    if (!ok)
        Py_CLEAR(out);
    return out;
}
