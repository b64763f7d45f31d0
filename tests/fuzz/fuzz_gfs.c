/* Messages, commands, images and reports of the file system from hostile bytes:
 * the first byte chooses the reader. */
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "gfs-lite/chunk_format.h"
#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/namenode/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_image(struct slice in)
{
    struct catalog c;
    struct buf again = BUF_INIT;
    catalog_init(&c);
    if (catalog_load(&c, in, NULL) == 0) {
        names_check(&c.names);
        catalog_save(&c, &again);
    }
    buf_close(&again);
    catalog_close(&c);
}

/* Commands as the log has them, one after the other: each as long as the byte
 * before it says. */
static void run_commands(struct slice in)
{
    struct catalog c;
    struct buf reply = BUF_INIT;
    uint64_t index = 0;
    catalog_init(&c);
    while (in.len > 1) {
        size_t len = (unsigned char)in.data[0];
        buf_clear(&reply);
        catalog_apply(&c, ++index, slice_sub(in, 1, 1 + len), &reply);
        in = slice_sub(in, 1 + len, in.len);
    }
    names_check(&c.names);
    buf_close(&reply);
    catalog_close(&c);
}

static void read_report(struct slice in)
{
    struct gfs_replica r;
    bool bad;
    while (gfs_replica_get(&in, &r, &bad))
        ;
}

static void read_sectors(struct slice in)
{
    struct chunk_identity id;
    struct chunk_tail tail;
    if (in.len < CHUNK_SECTOR_BYTES)
        return;
    (void)!chunk_identity_get(in.data, &id, NULL);
    (void)chunk_tail_get(in.data, &tail);
}

static void read_message(unsigned kind, struct slice in, struct arena *a)
{
    union {
        struct gfs_command command;
        struct gfs_result result;
        struct gfs_query query;
        struct gfs_stat stat;
        struct gfs_listing listing;
        struct gfs_layout layout;
        struct gfs_recovery recovery;
        struct gfs_heartbeat heartbeat;
        struct gfs_orders orders;
        struct gfs_status status;
        struct gfs_findings findings;
        struct chunk_call call;
        struct chunk_answer answer;
    } m;

    switch (kind % 13) {
    case 0: (void)!gfs_command_get(in, &m.command, NULL); break;
    case 1: (void)!gfs_result_get(in, &m.result, NULL); break;
    case 2: (void)!gfs_query_get(in, &m.query, NULL); break;
    case 3: (void)!gfs_stat_get(in, &m.stat, NULL); break;
    case 4: (void)!gfs_listing_get(in, a, &m.listing, NULL); break;
    case 5: (void)!gfs_layout_get(in, a, &m.layout, NULL); break;
    case 6: (void)!gfs_recovery_get(in, &m.recovery, NULL); break;
    case 7: (void)!gfs_heartbeat_get(in, &m.heartbeat, NULL); break;
    case 8: (void)!gfs_orders_get(in, a, &m.orders, NULL); break;
    case 9: (void)!gfs_status_get(in, a, &m.status, NULL); break;
    case 10: (void)!gfs_findings_get(in, a, &m.findings, NULL); break;
    case 11: (void)!chunk_call_get(in, &m.call, NULL); break;
    default: (void)!chunk_answer_get(in, &m.answer, NULL); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    struct arena a;
    if (size == 0)
        return 0;
    in = slice_sub(in, 1, size);
    arena_init(&a);
    switch (data[0]) {
    case 'i': read_image(in); break;
    case 'c': run_commands(in); break;
    case 'r': read_report(in); break;
    case 's': read_sectors(in); break;
    default: read_message(data[0], in, &a); break;
    }
    arena_close(&a);
    return 0;
}
