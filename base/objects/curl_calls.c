/* Finding libcurl and its functions at run time: a process pays for loading
 * the library only when it first talks to a bucket or a web server. */
#ifdef QUARRY_HAVE_S3

#include "base/objects/curl_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define LIBCURL "libcurl.so.4"

static bool find_function(void *handle, const char *name, void *to)
{
    void *at = dlsym(handle, name);
    memcpy(to, &at, sizeof(at));
    return at != NULL;
}

int curl_calls_load(struct curl_calls *out, struct err *err)
{
    bool all = true;
    void *handle = dlopen(LIBCURL, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        err_set(err, ERR_UNSUPPORTED,
                "s3:// and http(s):// are out of reach: %s", dlerror());
        err_hint(err, "install libcurl4");
        return ERR_UNSUPPORTED;
    }
#define CURL_LOAD(name) all &= find_function(handle, #name, &out->name);
    CURL_FUNCTIONS(CURL_LOAD)
    if (!all || out->curl_global_init(CURL_GLOBAL_DEFAULT))
        return err_set(err, ERR_UNSUPPORTED,
                       "s3:// and http(s):// are out of reach: " LIBCURL
                       " is not the library that is expected");
    return 0;
}

#else

/* A file of C has at least one declaration. */
struct curl_calls;

#endif
