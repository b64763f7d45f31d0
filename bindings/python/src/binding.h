/* The Python extension module `quarry._quarry`: types and helpers that its
 * files share. Private to bindings/python.
 *
 * The module is a thin layer over quarry.h: it takes and gives tuples, bytes
 * and integers. The package's Python files make the API that users see.
 *
 * Invariants
 *     INV-1. A Store has `table_count` open Tables, a Table `stream_count` open
 *            Scanners and Arrow streams, and each holds a reference to its
 *            parent: quarry.h wants children closed first.
 *     INV-2. `busy` is the number of calls under way without the GIL. An object
 *            is closed only while it is 0.
 *     INV-3. An object belongs to the process that opened it: after a fork
 *            nothing of it is called or freed in the child.
 *
 * Threads: the fields above are changed with the GIL held. Calls that may wait
 * release it.
 */
#ifndef BINDINGS_PYTHON_SRC_BINDING_H
#define BINDINGS_PYTHON_SRC_BINDING_H

/* The stable ABI of Python 3.9: one build serves all later versions. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"

struct py_store {
    PyObject_HEAD struct quarry *q; /* NULL: closed. */
    size_t table_count;
    size_t busy;
    pid_t pid;
};

struct py_table {
    PyObject_HEAD struct quarry_table *t; /* NULL: closed. */
    struct py_store *store;               /* A reference. */
    size_t stream_count;
    size_t busy;
};

struct py_scanner {
    PyObject_HEAD struct quarry_scanner *s; /* NULL: closed, or at its end. */
    struct py_table *table;                 /* A reference while `s` is open. */
    size_t busy;
};

extern PyType_Spec py_store_spec;
extern PyType_Spec py_table_spec;
extern PyType_Spec py_scanner_spec;
extern PyType_Spec py_txn_spec;

/* --- errors -------------------------------------------------------------- */

/* Make the classes of exceptions and add them to @module. 0, or -1 with an
 * exception. */
int py_errors_init(PyObject *module);
/* Raise the class of @err's code, with its text, hint and code. Returns NULL.
 * PRE: the GIL is held. */
PyObject *py_raise(const struct err *err);
/* The same of a binding's own error. */
PyObject *py_raise_code(int code, const char *text);

/* --- arguments ----------------------------------------------------------- */

/* Borrow the bytes of a str (as UTF-8) or bytes-like object. An object that has
 * to be made for that is appended to @keep, a list, and lives as long. False:
 * an exception is set. */
bool py_slice(PyObject *o, PyObject *keep, struct slice *out);
/* Borrow a str as UTF-8; @name is for the message. NULL: an exception is
 * set. */
const char *py_text(PyObject *o, const char *name);
PyObject *py_bytes(struct slice s);

/* quarry_read_options made of keyword arguments. */
struct py_read {
    struct quarry_read_options options;
    struct quarry_range *ranges;
    struct slice *keys;
    const char **families;
    struct quarry_filter *filter;
    PyObject *keep; /* A list: what the slices borrow. */
};

/* Take @kwargs (a dict, may be NULL): ranges, keys, filter, families,
 * column_regex, versions, time_min_us, time_max_us, as_of_us, row_limit,
 * keys_only, reversed, program, program_fuel. False: an exception is set. In
 * both cases py_read_close() is to be called. */
bool py_read_open(struct py_read *r, PyObject *kwargs);
void py_read_close(struct py_read *r);

/* Make the filter that the tuple @o describes: ("chain", (part, …)). NULL: an
 * exception is set. Owned. */
struct quarry_filter *py_filter(PyObject *o);

/* A row as (key, ((family, qualifier, timestamp_us, value, label), …)). */
PyObject *py_row(const struct quarry_row *row);

/* --- objects ------------------------------------------------------------- */

/* Make sure that it is open, and of this process. False: an exception is set.
 */
bool py_store_usable(const struct py_store *s);
bool py_table_usable(const struct py_table *t);

/* Begin and end a call that needs no GIL, on a table. */
#define PY_TABLE_CALL(table, statement)                                        \
    do {                                                                       \
        (table)->busy++;                                                       \
        Py_BEGIN_ALLOW_THREADS statement;                                      \
        Py_END_ALLOW_THREADS(table)->busy--;                                   \
    } while (0)

#define PY_STORE_CALL(store, statement)                                        \
    do {                                                                       \
        (store)->busy++;                                                       \
        Py_BEGIN_ALLOW_THREADS statement;                                      \
        Py_END_ALLOW_THREADS(store)->busy--;                                   \
    } while (0)

/* Methods, by the file that has them. */
PyObject *py_table_new(struct py_store *s, const char *name);
PyObject *py_scanner_new(struct py_table *t, PyObject *kwargs);
PyObject *py_table_arrow(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *py_table_run(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *py_table_apply(PyObject *self, PyObject *args);
PyObject *py_table_apply_batch(PyObject *self, PyObject *args);
PyObject *py_table_check_and_mutate(PyObject *self, PyObject *args);
PyObject *py_table_read_modify_write(PyObject *self, PyObject *args);
PyObject *py_store_create(PyObject *self, PyObject *args);
PyObject *py_store_drop(PyObject *self, PyObject *args);
PyObject *py_store_alter(PyObject *self, PyObject *args);
PyObject *py_store_list(PyObject *self, PyObject *args);
PyObject *py_store_describe(PyObject *self, PyObject *args);
PyObject *py_store_compact(PyObject *self, PyObject *args);
PyObject *py_store_split(PyObject *self, PyObject *args);
PyObject *py_store_drop_rows(PyObject *self, PyObject *args);
PyObject *py_store_snapshot(PyObject *self, PyObject *args);
PyObject *py_store_clone(PyObject *self, PyObject *args);
PyObject *py_store_snapshots(PyObject *self, PyObject *args);
PyObject *py_store_drop_snapshot(PyObject *self, PyObject *args);
PyObject *py_store_restore(PyObject *self, PyObject *args);
PyObject *py_store_transaction(PyObject *self, PyObject *args);
PyObject *py_store_enable_transactions(PyObject *self, PyObject *args);

/* The types, made when the module is. */
extern PyObject *py_table_type;
extern PyObject *py_scanner_type;
extern PyObject *py_txn_type;

#endif /* BINDINGS_PYTHON_SRC_BINDING_H */
