/* What is written down about tablets and asked about them, from hostile bytes:
 * the first byte chooses the reader. What reads well is written and read again,
 * to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* get, put, get, put: what was put twice is equal. */
#define AGAIN(type, in)                                                        \
    do {                                                                       \
        static struct type m;                                                  \
        struct buf one = BUF_INIT, two = BUF_INIT;                             \
        if (type##_get(in, &m, NULL) == 0) {                                   \
            type##_put(&m, &one);                                              \
            if (type##_get(buf_slice(&one), &m, NULL) != 0)                    \
                abort();                                                       \
            type##_put(&m, &two);                                              \
            if (!slice_eq(buf_slice(&one), buf_slice(&two)))                   \
                abort();                                                       \
        }                                                                      \
        buf_close(&one);                                                       \
        buf_close(&two);                                                       \
    } while (0)

static void read_key(struct slice in)
{
    uint64_t table;
    struct slice end;
    struct buf again = BUF_INIT;
    if (metadata_key_read(in, &table, &end, NULL) == 0) {
        metadata_key(table, end, &again);
        if (!slice_eq(in, buf_slice(&again)))
            abort();
    }
    buf_close(&again);
}

static void read_states(unsigned kind, struct slice in)
{
    struct arena a;
    struct server_status s;
    struct master_status m;
    struct buf again = BUF_INIT;
    arena_init(&a);
    if (kind == 0 && server_status_get(in, &a, &s, NULL) == 0)
        server_status_put(&s, &again);
    else if (kind == 1 && master_status_get(in, &a, &m, NULL) == 0)
        master_status_put(&m, &again);
    buf_close(&again);
    arena_close(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    if (size == 0)
        return 0;
    in = slice_sub(in, 1, size);
    switch (data[0] % 19) {
    case 0: AGAIN(tablet_bounds, in); break;
    case 1: AGAIN(tablet_location, in); break;
    case 2: AGAIN(tablet_state, in); break;
    case 3: AGAIN(tablet_record, in); break;
    case 4: AGAIN(table_record, in); break;
    case 5: AGAIN(server_record, in); break;
    case 6: AGAIN(cluster_counters, in); break;
    case 7: AGAIN(tablet_order, in); break;
    case 8: AGAIN(schema_order, in); break;
    case 9: AGAIN(status_order, in); break;
    case 10: AGAIN(log_order, in); break;
    case 11: AGAIN(table_order, in); break;
    case 12: AGAIN(move_order, in); break;
    case 13: read_key(in); break;
    case 14: read_states(0, in); break;
    case 15: read_states(1, in); break;
    case 16: AGAIN(table_policy, in); break;
    case 17: AGAIN(policy_order, in); break;
    default: AGAIN(policy_change, in); break;
    }
    return 0;
}
