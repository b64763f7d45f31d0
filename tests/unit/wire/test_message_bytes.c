/* The bytes of flat messages, as written down: another build reads and writes
 * the same. A message without its last byte is corrupt, and a field that a
 * newer writer has appended is skipped.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hex.h"
#include "base/core/macros.h"
#include "bigtable/wire/change_calls.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/heat_calls.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/log_calls.h"
#include "bigtable/wire/metadata.h"
#include "bigtable/wire/policy.h"
#include "bigtable/wire/snapshot_calls.h"
#include "bigtable/wire/survey_calls.h"
#include "chubby-lite/lock_wire.h"
#include "gfs-lite/gfs_wire.h"
#include "tests/lib/check_main.h"

typedef void (*put_fn)(const void *m, struct buf *out);
typedef int (*get_fn)(struct slice bytes, void *m, struct err *err);

/* A message of any type, with its functions. */
struct message_case {
    const char *name;
    put_fn put;
    get_fn get;
    const void *message;
    const char *hex;
};

#define MESSAGE_CALLS(type, what)                                              \
    static void put_##type(const void *m, struct buf *out)                     \
    {                                                                          \
        type##_put(m, out);                                                    \
    }                                                                          \
                                                                               \
    static int get_##type(struct slice bytes, void *m, struct err *err)        \
    {                                                                          \
        return type##_get(bytes, m, err);                                      \
    }

CHANGE_MESSAGES(MESSAGE_CALLS)
CONTROL_MESSAGES(MESSAGE_CALLS)
DATA_MESSAGES(MESSAGE_CALLS)
HEAT_MESSAGES(MESSAGE_CALLS)
LOAD_MESSAGES(MESSAGE_CALLS)
LOG_MESSAGES(MESSAGE_CALLS)
METADATA_MESSAGES(MESSAGE_CALLS)
POLICY_MESSAGES(MESSAGE_CALLS)
SNAPSHOT_MESSAGES(MESSAGE_CALLS)
SURVEY_MESSAGES(MESSAGE_CALLS)
CHUBBY_MESSAGES(MESSAGE_CALLS)
GFS_MESSAGES(MESSAGE_CALLS)

/* The largest of the messages. */
union any_message {
    struct run_request run;
    struct schema_order schema;
    struct gfs_heartbeat heartbeat;
    struct changes_request changes;
    char room[512];
};

#define TEXT(s)                                                                \
    {                                                                          \
        s, sizeof(s) - 1                                                       \
    }
#define CASE(type, hex, ...)                                                   \
    {                                                                          \
        .name = #type, put_##type, get_##type,                                 \
        &(const struct type){__VA_ARGS__}, hex                                 \
    }

static const struct message_case cases[] = {
    CASE(changes_request,
         "9c03ccc9c4057374617274c403656e64c3cf00000574fbde600509cc"
         "cfc403726f77ce00011179ce0001117bcd0137",
         .tablet = 3U,
         .generation = 201U,
         .start = TEXT("start"),
         .end = TEXT("end"),
         .is_place = true,
         .since_us = 6000000000005ULL,
         .low = 9U,
         .high = 207U,
         .row = TEXT("row"),
         .row_sequence = 70009U,
         .bytes_max = 70011U,
         .wait_us = 311U),
    CASE(changes_reply,
         "9703ccc9c403726f77ce00011173cf000000012a05f204cf00000574"
         "fbde6005c3",
         .low = 3U,
         .high = 201U,
         .row = TEXT("row"),
         .row_sequence = 70003U,
         .change_count = 5000000004ULL,
         .watermark_us = 6000000000005ULL,
         .caught_up = true),
    CASE(order_head,
         "92c40973657175656e636572ccc9",
         .sequencer = TEXT("sequencer"),
         .server = 201U),
    CASE(tablet_order,
         "98c40973657175656e636572ccc9cd03eace00011173c4036b6579c4"
         "03726f77c407726f775f656e64c407686f6c64657273",
         .sequencer = TEXT("sequencer"),
         .server = 201U,
         .tablet = 1002U,
         .epoch = 70003U,
         .key = TEXT("key"),
         .row = TEXT("row"),
         .row_end = TEXT("row_end"),
         .holders = TEXT("holders")),
    CASE(schema_order,
         "96c40973657175656e636572ccc9cd03eace00011173c40673636865"
         "6d61c3",
         .sequencer = TEXT("sequencer"),
         .server = 201U,
         .table.id = 1002U,
         .table.generation = 70003U,
         .table.schema = TEXT("schema"),
         .table.dropping = true),
    CASE(status_order,
         "9303ccc9ce00011173",
         .server = 3U,
         .after = 201U,
         .max = 70003U),
    CASE(log_order,
         "94c40973657175656e636572ccc9cd03eac4077365676d656e74",
         .sequencer = TEXT("sequencer"),
         .server = 201U,
         .log = 1002U,
         .segment = TEXT("segment")),
    CASE(table_order,
         "94a46e616d65c406736368656d61c403726f77c407726f775f656e64",
         .name = TEXT("name"),
         .schema = TEXT("schema"),
         .row = TEXT("row"),
         .row_end = TEXT("row_end")),
    CASE(move_order,
         "9403a57461626c65c403726f77a6736572766572",
         .tablet = 3U,
         .table = TEXT("table"),
         .row = TEXT("row"),
         .server = TEXT("server")),
    CASE(move_reply,
         "9403ccc9cd03eace00011173",
         .tablet = 3U,
         .from = 201U,
         .to = 1002U,
         .unserved_us = 70003U),
    CASE(unload_reply, "9103", .closed_us = 3U),
    CASE(timestamps_order, "9107", .count = 7U),
    CASE(timestamps_reply, "9103", .first = 3U),
    CASE(read_request,
         "9703ccc9c4076f7074696f6e73c40466726f6dcf000000012a05f204"
         "cccec3",
         .tablet = 3U,
         .generation = 201U,
         .options = TEXT("options"),
         .from = TEXT("from"),
         .row_limit = 5000000004ULL,
         .bytes_max = 206U,
         .explain = true),
    CASE(read_reply,
         "94c3c4046e657874cd03eac4076578706c61696e",
         .done = true,
         .next = TEXT("next"),
         .row_count = 1002U,
         .explain = TEXT("explain")),
    CASE(each_request, "9107", .count = 7U),
    CASE(apply_request,
         "9402cccacd03eace00011173",
         .durability = 2,
         .count = 202U,
         .origin.session = 1002U,
         .origin.floor = 70003U),
    CASE(check_request,
         "990302c403726f77c40666696c746572c3c309cccfcd03f0",
         .tablet = 3U,
         .durability = 2,
         .row = TEXT("row"),
         .has_filter = true,
         .filter = TEXT("filter"),
         .has_true = true,
         .has_false = true,
         .origin.session = 9U,
         .origin.floor = 207U,
         .sequence = 1008U),
    CASE(check_request,
         "990302c403726f77c0c3c309cccfcd03f0",
         .tablet = 3U,
         .durability = 2,
         .row = TEXT("row"),
         .has_true = true,
         .has_false = true,
         .origin.session = 9U,
         .origin.floor = 207U,
         .sequence = 1008U),
    CASE(check_reply, "91c3", .matched = true),
    CASE(run_request,
         "9d03ccc9c4076f7074696f6e73c406736f75726365c40466726f6dcf"
         "00000574fbde600509cd0133c3c3ce0001117bcf00000574fbde600b"
         "c4036f7574",
         .tablet = 3U,
         .generation = 201U,
         .options = TEXT("options"),
         .source = TEXT("source"),
         .from = TEXT("from"),
         .fuel = 6000000000005ULL,
         .memory_max = 9U,
         .limit_us = 307U,
         .settings.ignore_undefs = true,
         .settings.defer_tables = true,
         .settings.depth_max = 70011U,
         .settings.seed = 6000000000011ULL,
         .settings.has_table_output = true,
         .settings.table_output = TEXT("out")),
    CASE(run_request,
         "9d03ccc9c4076f7074696f6e73c406736f75726365c40466726f6dcf"
         "00000574fbde600509cd0133c3c3ce0001117bcf00000574fbde600b"
         "c0",
         .tablet = 3U,
         .generation = 201U,
         .options = TEXT("options"),
         .source = TEXT("source"),
         .from = TEXT("from"),
         .fuel = 6000000000005ULL,
         .memory_max = 9U,
         .limit_us = 307U,
         .settings.ignore_undefs = true,
         .settings.defer_tables = true,
         .settings.depth_max = 70011U,
         .settings.seed = 6000000000011ULL),
    CASE(run_reply,
         "94c3c4046e657874cd03eace00011173",
         .done = true,
         .next = TEXT("next"),
         .row_count = 1002U,
         .undefined_count = 70003U),
    CASE(cuts_request, "9203ccca", .tablet = 3U, .parts = 202U),
    CASE(heat_request,
         "98a57461626c65c4057374617274c403656e64cd012f0bcccece0001"
         "1177cd0133",
         .table = TEXT("table"),
         .start = TEXT("start"),
         .end = TEXT("end"),
         .from = 303U,
         .step = 11U,
         .times = 206U,
         .what = 70007U,
         .bounds_max = 307U),
    CASE(heat_reply, "9107", .count = 7U),
    CASE(load_request, "9203a26964", .tablet = 3U, .id = TEXT("id")),
    CASE(load_reply, "91c3", .before = true),
    CASE(log_sorted, "91c3", .held = true),
    CASE(log_read,
         "98c40973657175656e636572ccc9cd03eac4077365676d656e74cf00"
         "0000012a05f204c4057374617274c403656e64cccf",
         .sequencer = TEXT("sequencer"),
         .server = 201U,
         .log = 1002U,
         .segment = TEXT("segment"),
         .table = 5000000004ULL,
         .start = TEXT("start"),
         .end = TEXT("end"),
         .skip = 207U),
    CASE(table_record,
         "9403ccc9c406736368656d61c3",
         .id = 3U,
         .generation = 201U,
         .schema = TEXT("schema"),
         .dropping = true),
    CASE(server_record,
         "9203a761646472657373",
         .number = 3U,
         .address = TEXT("address")),
    CASE(cluster_counters, "9203ccc9", .table = 3U, .server = 201U),
    CASE(policy_order, "91c4057461626c65", .table = TEXT("table")),
    CASE(snapshot_order,
         "93a46e616d65a57461626c65cd03ea",
         .name = TEXT("name"),
         .table = TEXT("table"),
         .ttl_us = 1002U),
    CASE(import_order,
         "93a57461626c65a26964c4067265636f7264",
         .table = TEXT("table"),
         .id = TEXT("id"),
         .record = TEXT("record")),
    CASE(survey_request, "9203ccca", .after = 3U, .max = 202U),
    CASE(examine_request, "9103", .tablet = 3U),
    CASE(chubby_query,
         "9303ccc903",
         .session = 3U,
         .handle = 201U,
         .kind = CHUBBY_READ_STAT),
    CASE(chubby_check,
         "91c40973657175656e636572",
         .sequencer = TEXT("sequencer")),
    CASE(chubby_keep_alive,
         "9303ccc9cd03ea",
         .session = 3U,
         .term = 201U,
         .heard = 1002U),
    CASE(chubby_survey,
         "94c40470617468c4056166746572cd03eacd012f",
         .path = TEXT("path"),
         .after = TEXT("after"),
         .session = 1002U,
         .limit = 303U),
    CASE(gfs_query,
         "96c40470617468c4056166746572cd03eace00011173cf000000012a"
         "05f204cf00000574fbde6005",
         .path = TEXT("path"),
         .after = TEXT("after"),
         .file = 1002U,
         .session = 70003U,
         .offset = 5000000004ULL,
         .length = 6000000000005ULL),
    CASE(gfs_recovery,
         "9503ccc9cd03eace000111739201cd012c",
         .file = 3U,
         .epoch = 201U,
         .chunk = 1002U,
         .acknowledged = 70003U,
         .failed = {.numbers = {1, 300}, .count = 2}),
    CASE(gfs_heartbeat,
         "9a03c40761646472657373c4076d616368696e65c4047261636bcf00"
         "0000012a05f204cf00000574fbde600509cd0133c3ce00011179",
         .own_id = 3U,
         .address = TEXT("address"),
         .machine = TEXT("machine"),
         .rack = TEXT("rack"),
         .capacity_bytes = 5000000004ULL,
         .free_bytes = 6000000000005ULL,
         .chunk_count = 9U,
         .load = 307U,
         .full = true,
         .run = 70009U),
};

static struct slice bytes_of(const char *hex, struct buf *out)
{
    size_t count = strlen(hex) / 2;
    char *to = buf_reserve(out, count);
    ck_assert(hex_decode(hex, count, (unsigned char *)to));
    out->len += count;
    return buf_slice(out);
}

/* Each message is written as the bytes beside it; what is read from them is
 * written as the same bytes. */
START_TEST(test_bytes_stay)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct message_case *c = &cases[i];
        struct buf golden = BUF_INIT, b = BUF_INIT;
        union any_message back;
        struct slice want = bytes_of(c->hex, &golden);
        c->put(c->message, &b);
        ck_assert_msg(slice_eq(buf_slice(&b), want), "%s is written otherwise",
                      c->name);
        ck_assert_int_eq(c->get(want, &back, NULL), 0);
        buf_clear(&b);
        c->put(&back, &b);
        ck_assert_msg(slice_eq(buf_slice(&b), want), "%s is read otherwise",
                      c->name);
        buf_close(&b);
        buf_close(&golden);
    }
}

END_TEST

/* Cut short anywhere, a message is corrupt. */
START_TEST(test_short_messages_are_corrupt)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf golden = BUF_INIT;
        union any_message back;
        struct slice whole = bytes_of(cases[i].hex, &golden);
        for (size_t n = 0; n < whole.len; n++)
            ck_assert_int_eq(cases[i].get(slice_sub(whole, 0, n), &back, NULL),
                             ERR_CORRUPT);
        buf_close(&golden);
    }
}

END_TEST

/* A reader skips a field that it does not know. */
START_TEST(test_later_fields_are_skipped)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf golden = BUF_INIT, b = BUF_INIT;
        union any_message back;
        struct slice old = bytes_of(cases[i].hex, &golden);
        buf_append_slice(&b, old);
        b.data[0]++; /* One element more: all arrays have less than 15. */
        buf_append_slice(&b, SLICE_LIT("\xa3new"));
        ck_assert_int_eq(cases[i].get(buf_slice(&b), &back, NULL), 0);
        buf_clear(&b);
        cases[i].put(&back, &b);
        ck_assert(slice_eq(buf_slice(&b), old));
        buf_close(&b);
        buf_close(&golden);
    }
}

END_TEST

TEST_MAIN("message bytes",
          test_bytes_stay,
          test_short_messages_are_corrupt,
          test_later_fields_are_skipped)
