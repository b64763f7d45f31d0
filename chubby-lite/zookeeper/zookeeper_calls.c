/* Finding ZooKeeper's C library and its functions. It is loaded when a cell of
 * ZooKeeper is first named, so that the binary runs on machines without it.
 */
#ifdef QUARRY_HAVE_ZOOKEEPER

#include "chubby-lite/zookeeper/zookeeper_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* The one with threads. */
#define LIBZOOKEEPER "libzookeeper_mt.so.2"

static bool find_symbol(void *handle, const char *name, void *to)
{
    void *at = dlsym(handle, name);
    memcpy(to, &at, sizeof(at));
    return at != NULL;
}

int zookeeper_calls_load(struct zookeeper_calls *out, struct err *err)
{
    bool all = true;
    void *handle = dlopen(LIBZOOKEEPER, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        err_set(err, ERR_UNSUPPORTED, "ZooKeeper is out of reach: %s",
                dlerror());
        err_hint(err, "install libzookeeper-mt2");
        return ERR_UNSUPPORTED;
    }
#define ZOOKEEPER_LOAD(name) all &= find_symbol(handle, #name, &out->name);
    ZOOKEEPER_FUNCTIONS(ZOOKEEPER_LOAD)
    if (!all)
        return err_set(err, ERR_UNSUPPORTED,
                       "ZooKeeper is out of reach: " LIBZOOKEEPER
                       " is not the library that is expected");
    return 0;
}

#else

/* A file of C has at least one declaration. */
struct zookeeper_calls;

#endif
