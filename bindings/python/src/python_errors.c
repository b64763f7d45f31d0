/* Exceptions: one class for each code of base/core/err.h, below quarry.Error.
 *
 * Classes of Python's own are a second base where they mean the same, so that
 * `except KeyError` or `except PermissionError` do what one expects.
 */
#include <stdio.h>

#include "bindings/python/src/binding.h"

#define ERROR_CODES_MAX 32

struct error_class {
    int code;
    const char *name;
    PyObject **also; /* A second base; NULL: none. */
    const char *about;
};

static PyObject *error_base;
static PyObject *error_by_code[ERROR_CODES_MAX];

static PyObject *make_class(const struct error_class *c)
{
    char name[64];
    PyObject *bases, *made;
    snprintf(name, sizeof(name), "quarry.%s", c->name);
    bases = c->also ? PyTuple_Pack(2, error_base, *c->also)
                    : PyTuple_Pack(1, error_base);
    if (!bases)
        return NULL;
    made = PyErr_NewExceptionWithDoc(name, c->about, bases, NULL);
    Py_DECREF(bases);
    return made;
}

int py_errors_init(PyObject *module)
{
    /* Not static: the addresses of Python's classes are known at run time. */
    const struct error_class classes[] = {
        {ERR_IO, "IoError", &PyExc_OSError, "The disk or the network failed."},
        {ERR_NOMEM, "NoMemoryError", &PyExc_MemoryError, "No memory is left."},
        {ERR_CORRUPT, "CorruptError", NULL,
         "A file is damaged, cut short or missing."},
        {ERR_NOTFOUND, "NotFoundError", &PyExc_LookupError,
         "There is no such table, family, snapshot or directory."},
        {ERR_EXISTS, "ExistsError", NULL, "It exists already."},
        {ERR_INVALID, "InvalidError", &PyExc_ValueError,
         "An argument is not valid."},
        {ERR_BUSY, "BusyError", NULL, "Another process or call uses it."},
        {ERR_FULL, "FullError", &PyExc_OSError, "No space is left."},
        {ERR_TOOBIG, "TooBigError", &PyExc_ValueError,
         "A key, a value or a request is too big."},
        {ERR_CANCELLED, "CancelledError", NULL, "The call was cancelled."},
        {ERR_DEADLINE, "DeadlineError", &PyExc_TimeoutError,
         "The call was not answered in time."},
        {ERR_DENIED, "DeniedError", &PyExc_PermissionError,
         "The caller has not the right."},
        {ERR_UNSUPPORTED, "UnsupportedError", NULL,
         "The target does not do this."},
        {ERR_EXHAUSTED, "ExhaustedError", NULL,
         "A quota, a rate or a limit is used up."},
        {ERR_UNAVAILABLE, "UnavailableError", &PyExc_ConnectionError,
         "No server answers."},
        {ERR_CLOSED, "ClosedError", NULL, "It is closed."},
        {ERR_ABORTED, "AbortedError", NULL, "It was given up."},
        {ERR_UNKNOWN_OUTCOME, "UnknownOutcomeError", NULL,
         "The change is not visible now, and may be after the next open."},
        {ERR_CONFLICT, "ConflictError", NULL,
         "Another transaction was faster: begin again."},
        {ERR_TOO_OLD, "TooOldError", NULL,
         "The transaction is older than what the table keeps."},
    };
    error_base = PyErr_NewExceptionWithDoc(
        "quarry.Error", "A call of Quarry failed. `code` names the kind.", NULL,
        NULL);
    if (!error_base || PyModule_AddObject(module, "Error", error_base) < 0)
        return -1;
    Py_INCREF(error_base);
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        const struct error_class *c = &classes[i];
        PyObject *made = make_class(c);
        if (!made || PyModule_AddObject(module, c->name, made) < 0)
            return -1;
        Py_INCREF(made);
        error_by_code[-c->code] = made;
    }
    return 0;
}

static PyObject *raise_text(int code, const char *text)
{
    bool known = code < 0 && code > -ERROR_CODES_MAX && error_by_code[-code];
    PyObject *type = known ? error_by_code[-code] : error_base;
    PyObject *message =
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *name = PyUnicode_FromString(err_name(code));
    PyObject *e = NULL;
    if (message && name)
        e = PyObject_CallFunctionObjArgs(type, message, NULL);
    if (e && PyObject_SetAttrString(e, "code", name) == 0)
        PyErr_SetObject(type, e);
    Py_XDECREF(e);
    Py_XDECREF(name);
    Py_XDECREF(message);
    return NULL;
}

PyObject *py_raise(const struct err *err)
{
    char text[ERR_TEXT_BYTES + ERR_HINT_BYTES + 8];
    if (err->hint[0])
        snprintf(text, sizeof(text), "%s (%s)", err->text, err->hint);
    else
        snprintf(text, sizeof(text), "%s", err->text);
    return raise_text(err->code, text);
}

PyObject *py_raise_code(int code, const char *text)
{
    return raise_text(code, text);
}
