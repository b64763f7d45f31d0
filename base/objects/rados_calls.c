/* Finding librados and its functions at run time: a process pays for loading
 * the library only when it first opens a pool. */
#ifdef QUARRY_HAVE_RADOS

#include "base/objects/rados_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define LIBRADOS "librados.so.2"

static bool find_call(void *handle, const char *name, void *to)
{
    void *at = dlsym(handle, name);
    memcpy(to, &at, sizeof(at));
    return at != NULL;
}

int rados_calls_load(struct rados_calls *out, struct err *err)
{
    bool all = true;
    void *handle = dlopen(LIBRADOS, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        err_set(err, ERR_UNSUPPORTED, "rados:// is out of reach: %s",
                dlerror());
        err_hint(err, "install librados2");
        return ERR_UNSUPPORTED;
    }
#define RADOS_LOAD(name) all &= find_call(handle, #name, &out->name);
    RADOS_FUNCTIONS(RADOS_LOAD)
    if (!all)
        return err_set(err, ERR_UNSUPPORTED,
                       "rados:// is out of reach: " LIBRADOS
                       " is not the library that is expected");
    return 0;
}

#else

/* A file of C has at least one declaration. */
struct rados_calls;

#endif
