/* Records of tablets and calls about them, from hostile bytes: the first byte
 * chooses the reader. A message that is read is written and read again, to the
 * same bytes. Messages that are lists of fields come from the tables in
 * bigtable/wire, so that a new one is covered by its line there. */
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
#include "bigtable/wire/survey_calls.h"
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

static void read_status(struct slice in)
{
    struct arena a;
    struct server_status s;
    struct buf again = BUF_INIT;
    arena_init(&a);
    if (server_status_get(in, &a, &s, NULL) == 0)
        server_status_put(&s, &again);
    buf_close(&again);
    arena_close(&a);
}

/* The answers that show tablets to people. */
static void read_survey(struct slice in)
{
    struct arena a;
    struct survey s;
    struct examination e;
    struct buf again = BUF_INIT;
    arena_init(&a);
    if (survey_get(in, &a, &s, NULL) == 0)
        survey_put(&s, &again);
    if (examination_get(in, &a, &e, NULL) == 0)
        examination_put(&e, &again);
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

/* One reader for each message of the tables, and those written by hand. */
#define FUZZ_READER(type, what) FUZZ_##type,
#define FUZZ_CASE(type, what)                                                  \
    case FUZZ_##type:                                                          \
        FUZZ_AGAIN(type, in);                                                  \
        break;

#define FUZZ_MESSAGES(MESSAGE)                                                 \
    METADATA_MESSAGES(MESSAGE)                                                 \
    CONTROL_MESSAGES(MESSAGE)                                                  \
    LOG_MESSAGES(MESSAGE)                                                      \
    LOAD_MESSAGES(MESSAGE)                                                     \
    POLICY_MESSAGES(MESSAGE)                                                   \
    SNAPSHOT_MESSAGES(MESSAGE)                                                 \
    SURVEY_MESSAGES(MESSAGE)

enum fuzz_reader {
    FUZZ_BOUNDS,
    FUZZ_LOCATION,
    FUZZ_STATE,
    FUZZ_RECORD,
    FUZZ_KEY,
    FUZZ_STATUS,
    FUZZ_POLICY,
    FUZZ_POLICY_CHANGE,
    FUZZ_SNAPSHOT,
    FUZZ_SNAPSHOT_TABLET,
    FUZZ_HOLDERS,
    FUZZ_LEND,
    FUZZ_LOAD,
    FUZZ_SURVEY,
    FUZZ_MESSAGES(FUZZ_READER) FUZZ_COUNT
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    if (size == 0)
        return 0;
    in = slice_sub(in, 1, size);
    switch ((enum fuzz_reader)(data[0] % FUZZ_COUNT)) {
    case FUZZ_BOUNDS: FUZZ_AGAIN(tablet_bounds, in); break;
    case FUZZ_LOCATION: FUZZ_AGAIN(tablet_location, in); break;
    case FUZZ_STATE: FUZZ_AGAIN(tablet_state, in); break;
    case FUZZ_RECORD: FUZZ_AGAIN(tablet_record, in); break;
    case FUZZ_KEY: read_key(in); break;
    case FUZZ_STATUS: read_status(in); break;
    case FUZZ_POLICY: FUZZ_AGAIN(table_policy, in); break;
    case FUZZ_POLICY_CHANGE: FUZZ_AGAIN(policy_change, in); break;
    case FUZZ_SNAPSHOT: read_snapshot(in); break;
    case FUZZ_SNAPSHOT_TABLET: FUZZ_AGAIN(snapshot_tablet, in); break;
    case FUZZ_HOLDERS: read_holders(in); break;
    case FUZZ_SURVEY: read_survey(in); break;
    case FUZZ_LEND: FUZZ_AGAIN(lend_reply, in); break;
    case FUZZ_LOAD:
        read_load(in);
        break;
        FUZZ_MESSAGES(FUZZ_CASE)
    case FUZZ_COUNT: break;
    }
    return 0;
}
