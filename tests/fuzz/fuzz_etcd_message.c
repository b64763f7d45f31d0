/* Any bytes as an answer of etcd: they are read or refused, and no name of a
 * list is a path. */
#include <stdint.h>
#include <string.h>

#include "base/core/panic.h"
#include "chubby-lite/etcd/etcd_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_list(struct slice in)
{
    struct etcd_header h;
    char **names;
    size_t count;

    if (etcd_get_names(in, SLICE_LIT("/q//"), &h, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        POST(*names[i] && !strchr(names[i], '/'));
    chubby_names_free(names, count);
}

static void read_watch(struct slice in)
{
    struct etcd_notice n;
    struct etcd_event e;
    size_t left = in.len + 1;

    if (etcd_get_notice(in, &n, NULL))
        return;
    while (etcd_next_event(&n, &e)) {
        POST(n.events.len < left);
        left = n.events.len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    struct etcd_header h;
    struct etcd_value v;
    struct slice token;
    uint64_t lease;
    uint64_t ttl_s;
    bool made;

    if (etcd_get_value(in, &h, &v, NULL) == 0 && v.found)
        POST(v.created > 0 && v.version >= 0 && v.value.len <= in.len);
    (void)!etcd_get_outcome(in, &h, &made, NULL);
    if (etcd_get_lease(in, &h, &lease, &ttl_s, NULL) == 0)
        POST(lease > 0 && lease <= INT64_MAX && ttl_s <= INT64_MAX);
    if (etcd_get_token(in, &token, NULL) == 0)
        POST(token.len > 0 && token.len <= in.len);
    read_list(in);
    read_watch(in);
    return 0;
}
