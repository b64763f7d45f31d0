/* libcurl, loaded at run time: linked, it would double the time in which every
 * command starts. Included by object_request.c alone.
 */
#ifndef BASE_OBJECTS_CURL_CALLS_H
#define BASE_OBJECTS_CURL_CALLS_H

#include <curl/curl.h>

#include "base/core/err.h"
#include "base/core/macros.h"

/* Macros that check types, around the functions. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* Everything that is used of it. */
#define CURL_FUNCTIONS(F)                                                      \
    F(curl_global_init)                                                        \
    F(curl_easy_init)                                                          \
    F(curl_easy_setopt)                                                        \
    F(curl_easy_getinfo)                                                       \
    F(curl_easy_perform)                                                       \
    F(curl_easy_reset)                                                         \
    F(curl_easy_strerror)                                                      \
    F(curl_easy_cleanup)                                                       \
    F(curl_getdate)                                                            \
    F(curl_slist_append)                                                       \
    F(curl_slist_free_all)

#define CURL_FIELD(name) __typeof__(name) *name;

struct curl_calls {
    CURL_FUNCTIONS(CURL_FIELD)
};

/* Load it for the rest of the process: libcurl's threads may outlive their
 * requests. Any thread; the first call decides. Errors: ERR_UNSUPPORTED. */
MUST_CHECK int curl_calls_load(struct curl_calls *out, struct err *err);

#endif /* BASE_OBJECTS_CURL_CALLS_H */
