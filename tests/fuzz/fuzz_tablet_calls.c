/* Records of tablets and requests about them, from hostile bytes: the first
 * byte chooses the reader. A message that parses is written and parsed again,
 * to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/log_calls.h"
#include "bigtable/wire/policy.h"
#include "bigtable/wire/snapshot_calls.h"
#include "tests/lib/fuzz_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static void read_holders(struct slice in)
{
    struct cursor c = cursor_make(in);
    struct log_holder h;
    struct buf again = BUF_INIT;
    while (log_holder_next(&c, &h))
        log_holder_put(&h, &again);
    buf_close(&again);
}

static void read_states(unsigned kind, struct slice in)
{
    struct arena a;
    struct server_status s;
    struct buf again = BUF_INIT;
    arena_init(&a);
    if (kind == 0 && server_status_get(in, &a, &s, NULL) == 0)
        server_status_put(&s, &again);
    buf_close(&again);
    arena_close(&a);
}

static void ignore_file(void *ctx, uint64_t number)
{
    (void)ctx;
    (void)number;
}

/* A snapshot's file, whose checksum is made to fit, and a list of snapshots. */
static void read_snapshot(struct slice in)
{
    struct snapshot_summary s;
    struct snapshot_record r;
    struct snapshot_list l;
    struct buf file = BUF_INIT;
    struct arena a;
    arena_init(&a);
    buf_append_str(&file, "QRYSNAP1");
    buf_put_le32(&file, crc32c(in.data, in.len));
    buf_append_slice(&file, in);
    if (snapshot_record_get(buf_slice(&file), &a, &r, NULL) == 0 &&
        snapshot_summarize(&r, &s, NULL) == 0 &&
        snapshot_each_file(&r, ignore_file, NULL, NULL) != 0)
        abort();
    if (snapshot_list_get(in, &a, &l, NULL) == 0)
        for (size_t i = 0; i < l.count; i++)
            snapshot_summary_put(&l.list[i], &file);
    buf_close(&file);
    arena_close(&a);
}

/* A ticket, and a list of files, whose names lead nowhere else. */
static void read_load(struct slice in)
{
    struct load_ticket t;
    struct load_list l;
    struct buf again = BUF_INIT;
    char path[LOAD_PATH_BYTES];
    struct arena a;
    arena_init(&a);
    if (load_ticket_get(in, &a, &t, NULL) == 0) {
        load_ticket_put(&t, &again);
        load_path(t.id, SLICE_EMPTY, path);
    }
    if (load_list_get(in, &a, &l, NULL) == 0)
        for (size_t i = 0; i < l.count; i++) {
            load_file_put(&l.files[i], &again);
            load_path(SLICE_LIT("x"), l.files[i].name, path);
            if (strchr(path + strlen("load/x/"), '/'))
                abort();
        }
    buf_close(&again);
    arena_close(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    if (size == 0)
        return 0;
    in = slice_sub(in, 1, size);
    switch (data[0] % 31) {
    case 0: FUZZ_AGAIN(tablet_bounds, in); break;
    case 1: FUZZ_AGAIN(tablet_location, in); break;
    case 2: FUZZ_AGAIN(tablet_state, in); break;
    case 3: FUZZ_AGAIN(tablet_record, in); break;
    case 4: FUZZ_AGAIN(table_record, in); break;
    case 5: FUZZ_AGAIN(server_record, in); break;
    case 6: FUZZ_AGAIN(cluster_counters, in); break;
    case 7: FUZZ_AGAIN(tablet_order, in); break;
    case 8: FUZZ_AGAIN(schema_order, in); break;
    case 9: FUZZ_AGAIN(status_order, in); break;
    case 10: FUZZ_AGAIN(log_order, in); break;
    case 11: FUZZ_AGAIN(table_order, in); break;
    case 12: FUZZ_AGAIN(move_order, in); break;
    case 13: read_key(in); break;
    case 14: read_states(0, in); break;
    case 15: read_states(1, in); break;
    case 16: FUZZ_AGAIN(table_policy, in); break;
    case 17: FUZZ_AGAIN(policy_order, in); break;
    case 18: FUZZ_AGAIN(policy_change, in); break;
    case 19: FUZZ_AGAIN(move_reply, in); break;
    case 20: FUZZ_AGAIN(unload_reply, in); break;
    case 21: FUZZ_AGAIN(snapshot_order, in); break;
    case 22: FUZZ_AGAIN(snapshot_tablet, in); break;
    case 23: FUZZ_AGAIN(load_request, in); break;
    case 24: FUZZ_AGAIN(load_reply, in); break;
    case 25: read_snapshot(in); break;
    case 26: FUZZ_AGAIN(log_read, in); break;
    case 27: FUZZ_AGAIN(log_sorted, in); break;
    case 28: read_holders(in); break;
    case 30: FUZZ_AGAIN(lend_reply, in); break;
    default: read_load(in); break;
    }
    return 0;
}
