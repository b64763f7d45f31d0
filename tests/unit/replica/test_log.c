/* A log gives back what it acknowledged: after any loss of power, through
 * segments, truncations and compactions; and it refuses what was damaged. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/replica/replica_log.h"
#include "base/replica/replica_log_format.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

/* --- Fixture: a model beside the log ------------------------------------- */

enum {
    BATCH_MAX = 4,
    LAST_MAX = 2000,
    STAGES_MAX = BATCH_MAX * 8 + 1
};

/* The expected state of a log. An entry's bytes follow from index and term. */
struct model {
    uint64_t term;
    uint64_t vote;
    uint64_t base;
    uint64_t base_term;
    uint64_t last;
    uint64_t terms[LAST_MAX];
};

static struct world *world;
static struct replica_log_options opts;
static struct rand_gen gen;

static struct raft_bytes *bytes_of(uint64_t index, uint64_t term)
{
    char text[200];
    size_t len = (size_t)((index * 37 + term * 11) % sizeof(text));
    memset(text, (int)(index + term), sizeof(text));
    return raft_bytes_new(slice_make(text, len));
}

/* A random operation that a core could ask for. */
static void draw_op(const struct model *m,
                    struct replica_log_op *op,
                    struct raft_entry *entries)
{
    uint64_t kind = rand_below(&gen, 12);
    memset(op, 0, sizeof(*op));
    op->term = m->term;
    if (kind == 0) {
        op->kind = REPLICA_LOG_META;
        op->term += rand_below(&gen, 2);
        op->vote = rand_below(&gen, 4);
    } else if (kind == 1) {
        op->kind = REPLICA_LOG_COMPACT;
        op->index = m->base + rand_below(&gen, m->last - m->base + 1);
    } else if (kind == 2 && rand_one_in(&gen, 4)) {
        op->kind = REPLICA_LOG_RESET;
        op->index = m->last + 1 + rand_below(&gen, 5);
    } else {
        op->kind = REPLICA_LOG_APPEND;
        op->index = m->last + 1;
        if (rand_one_in(&gen, 5) && m->last > m->base)
            op->index = m->base + 1 + rand_below(&gen, m->last - m->base);
        op->entry_count = 1 + rand_below(&gen, 8);
        op->entries = entries;
        for (size_t i = 0; i < op->entry_count; i++)
            entries[i] =
                (struct raft_entry){m->term, RAFT_ENTRY_COMMAND,
                                    bytes_of(op->index + i, m->term), 0};
    }
}

/* Record after record of @op, onto @stages, which begin with what is before
 * it; returns how many were added. */
static size_t add_stages(struct model *stages, const struct replica_log_op *op)
{
    struct model *m = &stages[1];
    *m = stages[0];
    switch (op->kind) {
    case REPLICA_LOG_META:
        m->term = op->term;
        m->vote = op->vote;
        return 1;
    case REPLICA_LOG_COMPACT:
        if (op->index > m->base)
            m->base_term = m->terms[op->index];
        m->base = op->index;
        return 1;
    case REPLICA_LOG_RESET:
        m->base = m->last = op->index;
        m->base_term = op->term;
        return 1;
    case REPLICA_LOG_APPEND: break;
    }
    for (size_t i = 0; i < op->entry_count; i++) {
        m = &stages[1 + i];
        *m = stages[i];
        m->last = op->index + i;
        ck_assert_uint_lt(m->last, LAST_MAX);
        m->terms[m->last] = op->entries[i].term;
    }
    return op->entry_count;
}

/* The log may still hold what was compacted, never less. */
static bool says(const struct replica_log_state *s, const struct model *m)
{
    const struct raft_log *l = &s->entries;
    if (s->term != m->term || s->vote != m->vote ||
        raft_log_last(l) != m->last || l->base_index > m->base)
        return false;
    if (raft_log_term(l, m->base) != m->base_term)
        return false;
    for (uint64_t i = m->base + 1; i <= m->last; i++) {
        const struct raft_entry *e = raft_log_get(l, i);
        struct raft_bytes *want = bytes_of(i, m->terms[i]);
        bool same =
            e && e->term == m->terms[i] &&
            slice_eq(raft_bytes_slice(e->bytes), raft_bytes_slice(want));
        raft_bytes_unref(want);
        if (!same)
            return false;
    }
    return true;
}

/* --- Power --------------------------------------------------------------- */

struct run {
    struct model stages[STAGES_MAX]; /* Acknowledged; with each record more. */
    size_t stage_count;
    bool failed;
};

/* After it, stages[0] is what is acknowledged. */
static int write_batch(struct replica_log *l, struct run *r)
{
    struct replica_log_op ops[BATCH_MAX];
    struct raft_entry entries[BATCH_MAX][8];
    size_t ends[BATCH_MAX + 1] = {0}; /* Stages after each operation. */
    size_t count = 1 + rand_below(&gen, BATCH_MAX);
    size_t done = 0;
    int rc = 0;
    r->stage_count = 1;
    for (size_t i = 0; i < count; i++) {
        struct model *before = &r->stages[r->stage_count - 1];
        draw_op(before, &ops[i], entries[i]);
        r->stage_count += add_stages(before, &ops[i]);
        ends[i + 1] = r->stage_count - 1;
    }
    while (done < count && (rc == 0 || rc == ERR_FULL)) {
        size_t more;
        rc = replica_log_write(l, ops + done, count - done, &more, NULL);
        done += more;
        ck_assert(rc != 0 || done == count);
        if (rc == ERR_FULL)
            sim_set_disk_bytes(world, 0);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ops[i].entry_count; k++)
            raft_bytes_unref(entries[i][k].bytes);
    memmove(&r->stages[0], &r->stages[ends[done]],
            (r->stage_count - ends[done]) * sizeof(r->stages[0]));
    r->stage_count -= ends[done];
    return rc;
}

static void run_until_power_goes(void *arg)
{
    struct run *r = arg;
    struct replica_log_state state;
    struct replica_log *l;
    int rc = replica_log_open(&opts, &l, &state, NULL);
    if (rc) {
        r->failed = true;
        return;
    }
    raft_log_close(&state.entries);
    for (int i = 0; i < 60 && rc == 0; i++) {
        rc = write_batch(l, r);
        if (rand_one_in(&gen, 6))
            replica_log_mark(l);
        if (rand_one_in(&gen, 3) && replica_log_wants_spare(l) &&
            replica_log_make_spare(l, NULL) == 0)
            replica_log_use_spare(l);
    }
    replica_log_close(l);
}

static void make_log(void *arg)
{
    (void)arg;
    ck_assert_int_eq(world_mkdir(world, "/log", NULL), 0);
    ck_assert_int_eq(world_sync_dir(world, "/", NULL), 0);
    ck_assert_int_eq(replica_log_create(&opts, 1, 1, NULL), 0);
}

static void open_and_compare(void *arg)
{
    struct run *r = arg;
    struct replica_log_state state;
    struct replica_log *l;
    struct err err = ERR_INIT;
    size_t i = 0;
    ck_assert_msg(replica_log_open(&opts, &l, &state, &err) == 0, "%s",
                  err.text);
    while (i < r->stage_count && !says(&state, &r->stages[i]))
        i++;
    ck_assert_msg(i < r->stage_count,
                  "the log says term %" PRIu64 " last %" PRIu64
                  ", acknowledged were term %" PRIu64 " last %" PRIu64,
                  state.term, raft_log_last(&state.entries), r->stages[0].term,
                  r->stages[0].last);
    r->stages[0] = r->stages[i];
    r->stage_count = 1;
    raft_log_close(&state.entries);
    replica_log_close(l);
}

static void start_world(uint64_t seed)
{
    world = sim_world_new(&(struct sim_options){.seed = seed});
    /* Segments within a block, and of several. */
    opts =
        (struct replica_log_options){.world = world,
                                     .directory = "/log",
                                     .segment_bytes = seed % 2 ? 3000 : 17000};
    rand_init(&gen, seed);
    sim_run(world, make_log, NULL);
}

static struct run run_state;

START_TEST(test_nothing_acknowledged_is_lost_with_the_power)
{
    uint64_t first = test_seed();
    for (uint64_t seed = first; seed < first + 60; seed++) {
        struct run *r = &run_state;
        memset(r, 0, sizeof(*r));
        r->stages[0] =
            (struct model){.term = 1, .base = 1, .base_term = 1, .last = 1};
        r->stage_count = 1;
        start_world(seed);
        for (int life = 0; life < 5; life++) {
            sim_power_off_at_op(world, 1 + rand_below(&gen, 150));
            sim_run(world, run_until_power_goes, r);
            sim_power_off(world);
            sim_power_on(world);
            sim_run(world, open_and_compare, r);
        }
        world_free(world);
    }
}

END_TEST

/* --- Errors -------------------------------------------------------------- */

static void fill_the_disk(void *arg)
{
    struct run *r = arg;
    struct replica_log_state state;
    struct replica_log *l;
    ck_assert_int_eq(replica_log_open(&opts, &l, &state, NULL), 0);
    raft_log_close(&state.entries);
    for (int i = 0; i < 200; i++) {
        uint64_t room = rand_below(&gen, 600);
        sim_set_disk_bytes(
            world, rand_one_in(&gen, 4) ? sim_disk_bytes(world) + room : 0);
        ck_assert_int_eq(write_batch(l, r), 0);
    }
    replica_log_close(l);
}

START_TEST(test_a_full_disk_is_only_waited_for)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct run *r = &run_state;
        memset(r, 0, sizeof(*r));
        r->stages[0] =
            (struct model){.term = 1, .base = 1, .base_term = 1, .last = 1};
        r->stage_count = 1;
        start_world(seed);
        sim_run(world, fill_the_disk, r);
        sim_run(world, open_and_compare, r);
        world_free(world);
    }
}

END_TEST

/* --- Damage -------------------------------------------------------------- */

/* 40 entries in some segments, closed in order: everything is vouched for. */
static void write_forty(void *arg)
{
    size_t done;
    struct replica_log_state state;
    struct replica_log *l;
    (void)arg;
    ck_assert_int_eq(replica_log_open(&opts, &l, &state, NULL), 0);
    raft_log_close(&state.entries);
    for (uint64_t i = 2; i <= 41; i++) {
        struct raft_entry e = {1, RAFT_ENTRY_COMMAND, bytes_of(i, 1), 0};
        struct replica_log_op op = {.kind = REPLICA_LOG_APPEND,
                                    .index = i,
                                    .entries = &e,
                                    .entry_count = 1};
        ck_assert_int_eq(replica_log_write(l, &op, 1, &done, NULL), 0);
        raft_bytes_unref(e.bytes);
    }
    replica_log_close(l);
}

static unsigned refused;

static void expect_whole_or_refused(void *arg)
{
    struct replica_log_state state;
    struct err err = ERR_INIT;
    const char *name = arg;
    int rc = replica_log_read(&opts, &state, &err);
    if (rc) {
        ck_assert_int_eq(rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED, 1);
        ck_assert_msg(strstr(err.text, name) != NULL, "%s", err.text);
        refused++;
        return;
    }
    ck_assert_uint_eq(raft_log_last(&state.entries), 41);
    for (uint64_t i = 2; i <= 41; i++) {
        struct raft_bytes *want = bytes_of(i, 1);
        ck_assert(
            slice_eq(raft_bytes_slice(raft_log_get(&state.entries, i)->bytes),
                     raft_bytes_slice(want)));
        raft_bytes_unref(want);
    }
    raft_log_close(&state.entries);
}

START_TEST(test_a_flipped_bit_is_found_or_harmless)
{
    char **names;
    size_t count;
    start_world(1);
    sim_run(world, write_forty, NULL);
    ck_assert_int_eq(world_list(world, "/log", &names, &count, NULL), 0);
    ck_assert_uint_gt(count, 1);
    refused = 0;
    for (size_t i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/log/%s", names[i]);
        for (uint64_t at = 0; at < 3000; at += 1 + at / 80 % 4) {
            unsigned bit = (unsigned)(at % 8);
            if (sim_flip_bit(world, path, at, bit, NULL) != 0)
                break;
            sim_run(world, expect_whole_or_refused, path);
            ck_assert_int_eq(sim_flip_bit(world, path, at, bit, NULL), 0);
        }
    }
    /* All but padding, zeros and what is not used. */
    ck_assert_uint_gt(refused, 1000);
    world_names_free(names, count);
    world_free(world);
}

END_TEST

static void read_missing(void *arg)
{
    struct replica_log_state state;
    struct err err = ERR_INIT;
    (void)arg;
    ck_assert_int_eq(replica_log_read(&opts, &state, &err), ERR_CORRUPT);
}

/* --- Directed ------------------------------------------------------------ */

static void
append(struct replica_log *l, uint64_t index, uint64_t term, size_t count)
{
    struct raft_entry e[16];
    struct replica_log_op op = {.kind = REPLICA_LOG_APPEND,
                                .index = index,
                                .entries = e,
                                .entry_count = count};
    size_t done;
    for (size_t i = 0; i < count; i++)
        e[i] = (struct raft_entry){term, RAFT_ENTRY_COMMAND,
                                   bytes_of(index + i, term), 0};
    ck_assert_int_eq(replica_log_write(l, &op, 1, &done, NULL), 0);
    for (size_t i = 0; i < count; i++)
        raft_bytes_unref(e[i].bytes);
}

static void truncate_and_compact(void *arg)
{
    struct replica_log_state state;
    struct replica_log *l;
    size_t done;
    struct replica_log_op compact = {.kind = REPLICA_LOG_COMPACT, .index = 6};
    (void)arg;
    ck_assert_int_eq(replica_log_open(&opts, &l, &state, NULL), 0);
    raft_log_close(&state.entries);
    append(l, 2, 1, 8);
    append(l, 7, 2, 1);
    ck_assert_int_eq(replica_log_write(l, &compact, 1, &done, NULL), 0);
    replica_log_close(l);
    ck_assert_int_eq(replica_log_open(&opts, &l, &state, NULL), 0);
    ck_assert_uint_eq(raft_log_last(&state.entries), 7);
    ck_assert_uint_eq(raft_log_term(&state.entries, 7), 2);
    raft_log_close(&state.entries);
    append(l, 8, 2, 2);
    replica_log_close(l);
    ck_assert_int_eq(replica_log_read(&opts, &state, NULL), 0);
    ck_assert_uint_eq(raft_log_last(&state.entries), 9);
    ck_assert_uint_eq(raft_log_term(&state.entries, 9), 2);
    raft_log_close(&state.entries);
}

START_TEST(test_a_truncation_before_a_compaction_stays)
{
    for (uint64_t bytes = 200; bytes < 3000; bytes += 200) {
        start_world(bytes);
        opts.segment_bytes = bytes;
        sim_run(world, truncate_and_compact, NULL);
        world_free(world);
    }
}

END_TEST

/* --- Records of several commands ----------------------------------------- */

/* The file of the log's only segment is a header of @version and a record of
 * @kind with @payload. */
static void
write_segment(uint32_t version, enum log_kind kind, struct slice payload)
{
    const struct log_header h = {
        .number = 1, .term = 1, .index = 1, .index_term = 1};
    const struct log_record r = {
        .kind = kind, .index = 2, .term = 1, .payload = payload};
    struct buf b = BUF_INIT;
    struct slice all;
    struct file *f;
    log_header_put(&h, &b);
    put_le32(b.data + 8, version);
    log_record_put(1, &r, &b);
    all = buf_slice(&b);
    ck_assert_int_eq(file_open(world, "/log/0000000001.seg",
                               FILE_WRITE | FILE_TRUNCATE, &f, NULL),
                     0);
    ck_assert_int_eq(file_write_at(f, 0, &all, 1, NULL), 0);
    file_close(f);
    buf_close(&b);
}

static void put_commands(struct buf *out)
{
    log_commands_put(SLICE_LIT("one"), out);
    log_commands_put(SLICE_EMPTY, out);
    log_commands_put(SLICE_LIT("three"), out);
}

static void read_commands(void *arg)
{
    struct replica_log_state state;
    struct buf b = BUF_INIT;
    (void)arg;
    put_commands(&b);
    write_segment(LOG_VERSION, LOG_COMMANDS, buf_slice(&b));
    ck_assert_int_eq(replica_log_read(&opts, &state, NULL), 0);
    ck_assert_uint_eq(raft_log_last(&state.entries), 4);
    ck_assert(slice_eq_str(
        raft_bytes_slice(raft_log_get(&state.entries, 4)->bytes), "three"));
    raft_log_close(&state.entries);
    /* Cut anywhere but between two of them. */
    for (size_t len = 1; len < b.len; len++) {
        int want = len == 7 || len == 11 ? 0 : ERR_CORRUPT;
        write_segment(LOG_VERSION, LOG_COMMANDS, slice_make(b.data, len));
        ck_assert_int_eq(replica_log_read(&opts, &state, NULL), want);
        if (want == 0)
            raft_log_close(&state.entries);
    }
    buf_close(&b);
}

/* A record of several commands is as many entries; one whose lengths do not add
 * up is refused, whatever its checksum says. */
START_TEST(test_commands_of_one_record)
{
    start_world(4);
    sim_run(world, read_commands, NULL);
    world_free(world);
}

END_TEST

static void write_many(void *arg)
{
    struct replica_log_state state;
    struct replica_log *l;
    struct raft_entry e[16];
    struct replica_log_op op = {.kind = REPLICA_LOG_APPEND,
                                .index = 2,
                                .entries = e,
                                .entry_count = ARRAY_LEN(e)};
    size_t done;
    (void)arg;
    ck_assert_int_eq(replica_log_open(&opts, &l, &state, NULL), 0);
    raft_log_close(&state.entries);
    for (size_t i = 0; i < ARRAY_LEN(e); i++)
        e[i] = (struct raft_entry){
            1, RAFT_ENTRY_COMMAND,
            raft_bytes_new(SLICE_LIT("sixteen bytes...")), 0};
    ck_assert_int_eq(replica_log_write(l, &op, 1, &done, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(e); i++)
        raft_bytes_unref(e[i].bytes);
    replica_log_close(l);
    ck_assert_int_eq(replica_log_read(&opts, &state, NULL), 0);
    ck_assert_uint_eq(raft_log_last(&state.entries), 1 + ARRAY_LEN(e));
    raft_log_close(&state.entries);
}

static bool find_commands(void)
{
    static char bytes[4096];
    struct log_record r;
    struct file *f;
    size_t got;
    ck_assert_int_eq(
        file_open(world, "/log/0000000001.seg", FILE_READ, &f, NULL), 0);
    ck_assert_int_eq(file_read_at(f, 0, bytes, sizeof(bytes), &got, NULL), 0);
    file_close(f);
    return log_record_get(
               slice_make(bytes + LOG_HEADER_BYTES, got - LOG_HEADER_BYTES), 1,
               0, &r) &&
           r.kind == LOG_COMMANDS &&
           r.payload.len == 16 * log_commands_bytes(16);
}

static void expect_commands(void *arg)
{
    bool *found = arg;
    *found = find_commands();
}

/* Small commands that are written together share a record, whose header is
 * greater than they are. */
START_TEST(test_small_commands_share_a_record)
{
    bool found = false;
    start_world(4);
    sim_run(world, write_many, NULL);
    sim_run(world, expect_commands, &found);
    ck_assert(found);
    world_free(world);
}

END_TEST

static void go_on_with_old(void *arg)
{
    struct replica_log_state state;
    struct replica_log *l;
    struct file *f;
    (void)arg;
    write_segment(1, LOG_COMMAND, SLICE_LIT("old"));
    ck_assert_int_eq(replica_log_open(&opts, &l, &state, NULL), 0);
    ck_assert_uint_eq(raft_log_last(&state.entries), 2);
    raft_log_close(&state.entries);
    replica_log_close(l);
    ck_assert_int_eq(
        file_open(world, "/log/0000000002.seg", FILE_READ, &f, NULL), 0);
    file_close(f);
    ck_assert_int_eq(replica_log_read(&opts, &state, NULL), 0);
    ck_assert_uint_eq(raft_log_last(&state.entries), 2);
    raft_log_close(&state.entries);
    write_segment(LOG_VERSION_SEALED + 1, LOG_COMMAND, SLICE_LIT("new"));
    ck_assert_int_eq(replica_log_read(&opts, &state, NULL), ERR_UNSUPPORTED);
}

/* A log of an older version is read and continues in a new segment, so that an
 * older program refuses it cleanly; a newer version is refused. */
START_TEST(test_versions)
{
    start_world(5);
    sim_run(world, go_on_with_old, NULL);
    world_free(world);
}

END_TEST

static void stop_making(void *arg)
{
    struct replica_log_state state;
    struct replica_log *l;
    struct run *r = mem_zalloc(1, sizeof(*r));
    uint64_t begun;
    (void)arg;
    ck_assert_int_eq(replica_log_open(&opts, &l, &state, NULL), 0);
    raft_log_close(&state.entries);
    while (!replica_log_wants_spare(l))
        ck_assert_int_eq(write_batch(l, r), 0);
    replica_log_stop_spare(l);
    begun = world_mono_ns(world);
    ck_assert_int_eq(replica_log_make_spare(l, NULL), ERR_CANCELLED);
    ck_assert_uint_lt(world_mono_ns(world) - begun, 20000000);
    ck_assert(replica_log_wants_spare(l));
    replica_log_close(l);
    mem_free(r);
}

/* Closing a log does not wait until a spare segment is full. */
START_TEST(test_a_spare_that_nobody_wants_is_left)
{
    start_world(2);
    sim_run(world, stop_making, NULL);
    world_free(world);
}

END_TEST

START_TEST(test_a_directory_without_segments_is_refused)
{
    start_world(3);
    ck_assert_int_eq(world_remove(world, "/log/0000000001.seg", NULL), 0);
    sim_run(world, read_missing, NULL);
    world_free(world);
}

END_TEST

TEST_MAIN("log",
          test_nothing_acknowledged_is_lost_with_the_power,
          test_a_full_disk_is_only_waited_for,
          test_a_flipped_bit_is_found_or_harmless,
          test_a_truncation_before_a_compaction_stays,
          test_commands_of_one_record,
          test_small_commands_share_a_record,
          test_versions,
          test_a_spare_that_nobody_wants_is_left,
          test_a_directory_without_segments_is_refused)
