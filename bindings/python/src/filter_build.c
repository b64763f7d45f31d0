/* Filters: from nested tuples to quarry_filter.
 *
 * quarry/filters.py makes the tuples: the kind's name first, then its
 * arguments, texts as bytes.
 */
#include <stdlib.h>

#include "bindings/python/src/binding.h"

/* As deep as the public API allows. */
#define FILTER_DEPTH_MAX 32

static struct quarry_filter *filter_at_depth(PyObject *o, int depth);

/* Kinds with one argument of bytes. */
static const struct {
    const char *name;
    struct quarry_filter *(*make)(struct slice s);
} bytes_kinds[] = {
    {"row_regex", quarry_filter_row_regex},
    {"family_regex", quarry_filter_family_regex},
    {"qualifier_regex", quarry_filter_qualifier_regex},
    {"value_regex", quarry_filter_value_regex},
    {"value_bitmask", quarry_filter_value_bitmask},
};

/* Kinds with one number. */
static const struct {
    const char *name;
    struct quarry_filter *(*make)(int32_t n);
} number_kinds[] = {
    {"cells_per_row_offset", quarry_filter_cells_per_row_offset},
    {"cells_per_row_limit", quarry_filter_cells_per_row_limit},
    {"cells_per_column_limit", quarry_filter_cells_per_column_limit},
};

/* Kinds without arguments. */
static const struct {
    const char *name;
    struct quarry_filter *(*make)(void);
} plain_kinds[] = {
    {"pass_all", quarry_filter_pass_all},
    {"block_all", quarry_filter_block_all},
    {"strip_value", quarry_filter_strip_value},
    {"sink", quarry_filter_sink},
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* The bound and bytes of "yy#" pairs: None is unbounded. */
static bool
take_bound(PyObject *o, int open, enum quarry_bound *kind, struct slice *out)
{
    char *data;
    Py_ssize_t len;
    *kind = QUARRY_UNBOUNDED;
    *out = SLICE_EMPTY;
    if (o == Py_None)
        return true;
    if (PyBytes_AsStringAndSize(o, &data, &len) < 0)
        return false;
    *kind = open ? QUARRY_OPEN : QUARRY_CLOSED;
    *out = slice_make(data, (size_t)len);
    return true;
}

/* ("column_range", family, start, start_open, end, end_open), and
 * ("value_range", …) without the family. */
static struct quarry_filter *range_filter(PyObject *o, bool columns)
{
    const char *kind_name, *family = NULL;
    PyObject *from, *to;
    int from_open, to_open;
    enum quarry_bound from_kind, to_kind;
    struct slice start, end;
    bool parsed = columns ? PyArg_ParseTuple(o, "syOpOp", &kind_name, &family,
                                             &from, &from_open, &to, &to_open)
                          : PyArg_ParseTuple(o, "sOpOp", &kind_name, &from,
                                             &from_open, &to, &to_open);
    if (!parsed || !take_bound(from, from_open, &from_kind, &start) ||
        !take_bound(to, to_open, &to_kind, &end))
        return NULL;
    return columns ? quarry_filter_column_range(family, from_kind, start,
                                                to_kind, end)
                   : quarry_filter_value_range(from_kind, start, to_kind, end);
}

/* ("chain", part, …) and ("interleave", part, …). */
static struct quarry_filter *combined_filter(
    PyObject *o,
    int depth,
    struct quarry_filter *(*combine)(struct quarry_filter **parts, size_t n))
{
    Py_ssize_t n = PyTuple_Size(o) - 1;
    struct quarry_filter *out = NULL;
    struct quarry_filter **parts = calloc((size_t)n + 1, sizeof(*parts));
    Py_ssize_t made = 0;
    for (; parts && made < n; made++) {
        parts[made] = filter_at_depth(PyTuple_GetItem(o, made + 1), depth + 1);
        if (!parts[made])
            goto out;
    }
    if (!parts) {
        PyErr_NoMemory();
        goto out;
    }
    out = combine(parts, (size_t)n);
    made = 0; /* They are its own now. */
out:
    for (Py_ssize_t i = 0; i < made; i++)
        quarry_filter_free(parts[i]);
    free(parts);
    return out;
}

/* ("condition", predicate, if_true or None, if_false or None). */
static struct quarry_filter *condition_filter(PyObject *o, int depth)
{
    struct quarry_filter *parts[3] = {NULL, NULL, NULL};
    if (PyTuple_Size(o) != 4) {
        PyErr_SetString(PyExc_TypeError, "a condition has three parts");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < 3; i++) {
        PyObject *part = PyTuple_GetItem(o, i + 1);
        if (part == Py_None && i > 0)
            continue;
        parts[i] = filter_at_depth(part, depth + 1);
        if (!parts[i]) {
            quarry_filter_free(parts[0]);
            quarry_filter_free(parts[1]);
            return NULL;
        }
    }
    return quarry_filter_condition(parts[0], parts[1], parts[2]);
}

static struct quarry_filter *special_filter(PyObject *o, const char *kind)
{
    const char *name, *label;
    long long min, max;
    double probability;
    if (strcmp(kind, "timestamp_range") == 0)
        return PyArg_ParseTuple(o, "sLL", &name, &min, &max)
                   ? quarry_filter_timestamp_range(min, max)
                   : NULL;
    if (strcmp(kind, "row_sample") == 0)
        return PyArg_ParseTuple(o, "sd", &name, &probability)
                   ? quarry_filter_row_sample(probability)
                   : NULL;
    if (strcmp(kind, "label") == 0)
        return PyArg_ParseTuple(o, "sy", &name, &label)
                   ? quarry_filter_label(label)
                   : NULL;
    if (strcmp(kind, "column_range") == 0 || strcmp(kind, "value_range") == 0)
        return range_filter(o, kind[0] == 'c');
    PyErr_Format(PyExc_ValueError, "no such filter: %s", kind);
    return NULL;
}

static struct quarry_filter *
kind_filter(PyObject *o, const char *kind, int depth)
{
    const char *name, *data;
    Py_ssize_t len;
    int n;
    for (size_t i = 0; i < COUNT(plain_kinds); i++)
        if (strcmp(kind, plain_kinds[i].name) == 0)
            return plain_kinds[i].make();
    for (size_t i = 0; i < COUNT(bytes_kinds); i++)
        if (strcmp(kind, bytes_kinds[i].name) == 0)
            return PyArg_ParseTuple(o, "sy#", &name, &data, &len)
                       ? bytes_kinds[i].make(slice_make(data, (size_t)len))
                       : NULL;
    for (size_t i = 0; i < COUNT(number_kinds); i++)
        if (strcmp(kind, number_kinds[i].name) == 0)
            return PyArg_ParseTuple(o, "si", &name, &n)
                       ? number_kinds[i].make(n)
                       : NULL;
    if (strcmp(kind, "chain") == 0)
        return combined_filter(o, depth, quarry_filter_chain);
    if (strcmp(kind, "interleave") == 0)
        return combined_filter(o, depth, quarry_filter_interleave);
    if (strcmp(kind, "condition") == 0)
        return condition_filter(o, depth);
    return special_filter(o, kind);
}

static struct quarry_filter *filter_at_depth(PyObject *o, int depth)
{
    struct quarry_filter *out = NULL;
    PyObject *kind;
    if (depth > FILTER_DEPTH_MAX) {
        PyErr_Format(PyExc_ValueError, "a filter is at most %d levels deep",
                     FILTER_DEPTH_MAX);
        return NULL;
    }
    if (!PyTuple_Check(o) || PyTuple_Size(o) < 1) {
        PyErr_SetString(PyExc_TypeError, "not a filter");
        return NULL;
    }
    kind = PyUnicode_AsUTF8String(PyTuple_GetItem(o, 0));
    if (!kind)
        return NULL;
    out = kind_filter(o, PyBytes_AsString(kind), depth);
    Py_DECREF(kind);
    return out;
}

struct quarry_filter *py_filter(PyObject *o)
{
    return filter_at_depth(o, 1);
}
