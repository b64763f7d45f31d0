/* The extension module: its types and exceptions.
 */
#include "bindings/python/src/binding.h"

PyObject *py_table_type;
PyObject *py_scanner_type;
PyObject *py_txn_type;

static int add_type(PyObject *module, PyType_Spec *spec, PyObject **out)
{
    PyObject *type = PyType_FromSpec(spec);
    const char *dot = strrchr(spec->name, '.');
    if (!type)
        return -1;
    if (out) {
        Py_INCREF(type);
        *out = type;
    }
    if (PyModule_AddObject(module, dot + 1, type) < 0) {
        Py_DECREF(type);
        return -1;
    }
    return 0;
}

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "quarry._quarry",
    .m_doc = "The C library of Quarry; use the package quarry instead.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__quarry(void); /* Python's loader calls it. */

PyMODINIT_FUNC PyInit__quarry(void)
{
    PyObject *module = PyModule_Create(&module_def);
    if (!module)
        return NULL;
    if (py_errors_init(module) || add_type(module, &py_store_spec, NULL) ||
        add_type(module, &py_table_spec, &py_table_type) ||
        add_type(module, &py_scanner_spec, &py_scanner_type) ||
        add_type(module, &py_txn_spec, &py_txn_type)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
