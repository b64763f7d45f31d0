/* Counters of a server's methods, as operators see them. */
#ifndef TESTS_LIB_SERVER_COUNTER_H
#define TESTS_LIB_SERVER_COUNTER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/rpc/rpc.h"

/* The value in the line of @name ("rpc.method.chunk.read.calls"); 0 if there is
 * none. */
static inline uint64_t server_counter(const struct rpc_server *s,
                                      const char *name)
{
    struct buf text = BUF_INIT;
    const char *line;
    uint64_t value = 0;
    rpc_server_print(s, &text);
    line = strstr(buf_cstr(&text), name);
    if (line && line[strlen(name)] == ' ')
        value = strtoull(line + strlen(name), NULL, 10);
    buf_close(&text);
    return value;
}

#endif /* TESTS_LIB_SERVER_COUNTER_H */
