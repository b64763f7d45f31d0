/* The commit log gives back what was appended, knows its unfinished end, and
 * tells damage from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/log/log_format.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static struct err err;
static struct world *world;
static char dir[300];

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct commit_log_options options(void)
{
    return (struct commit_log_options){
        .world = world, .dir = dir, .segment_bytes = 64 << 10};
}

static void setup(void)
{
    world = world_real_new();
    snprintf(dir, sizeof(dir), "%s/log", test_tmpdir());
}

/* The records that reading found: sequence numbers must rise without gaps. */
struct found {
    uint64_t first;
    uint64_t last;
};

static int note(void *ctx,
                uint64_t sequence,
                uint32_t count,
                struct slice payload,
                struct err *e)
{
    struct found *f = ctx;
    char want[32];
    (void)e;
    ck_assert(f->last == 0 || sequence == f->last + 1);
    snprintf(want, sizeof(want), "record %llu", (unsigned long long)sequence);
    ck_assert(slice_starts_with(payload, slice_str(want)));
    for (size_t i = strlen(want); i < payload.len; i++)
        if (payload.data[i] != (char)sequence)
            ck_abort_msg("record %llu: byte %zu is another's",
                         (unsigned long long)sequence, i);
    if (f->first == 0)
        f->first = sequence;
    f->last = sequence + count - 1;
    return 0;
}

static int read_all(struct found *f, struct log_end *end, bool repair)
{
    struct commit_log_options o = options();
    *f = (struct found){0, 0};
    return log_read(&o, repair, note, f, end, &err);
}

static struct commit_log *open_log(void)
{
    struct commit_log_options o = options();
    struct commit_log *l;
    struct log_end end;
    struct found f;
    OK(read_all(&f, &end, false));
    OK(commit_log_open(&o, &end, &l, &err));
    return l;
}

static void
append_as(struct commit_log *l, uint64_t sequence, size_t bytes, bool synced)
{
    char text[32];
    char *payload = malloc(bytes + 1);
    struct slice parts[2];
    struct log_record r = {sequence, sequence, 1, parts, 2};
    memset(payload, (int)sequence, bytes);
    snprintf(text, sizeof(text), "record %llu", (unsigned long long)sequence);
    parts[0] = slice_str(text);
    parts[1] = slice_make(payload, bytes);
    if (synced)
        OK(commit_log_append_synced(l, &r, 1, &err));
    else
        OK(commit_log_append(l, &r, 1, &err));
    if (synced)
        ck_assert_uint_eq(commit_log_synced_sequence(l), sequence);
    free(payload);
}

static void append(struct commit_log *l, uint64_t sequence, size_t bytes)
{
    append_as(l, sequence, bytes, false);
}

static void path_of(char path[400], unsigned number)
{
    snprintf(path, 400, "%s/%08u.log", dir, number);
}

static void flip(unsigned number, long offset)
{
    char path[400];
    FILE *f;
    int c;
    path_of(path, number);
    f = fopen(path, "r+b");
    ck_assert(f != NULL);
    fseek(f, offset, SEEK_SET);
    c = fgetc(f);
    fseek(f, offset, SEEK_SET);
    fputc(c ^ 0x10, f);
    fclose(f);
}

/* --- Tests --------------------------------------------------------------- */

/* Over many segments and reopenings, what is read is what was appended. */
START_TEST(test_read_back)
{
    struct rand_gen r;
    uint64_t sequence = 1;
    struct log_end end;
    struct found f;
    rand_init(&r, test_seed());
    setup();
    for (int round = 0; round < 6; round++) {
        struct commit_log *l = open_log();
        for (int i = 0; i < 60; i++) {
            append(l, sequence++, rand_below(&r, 9000));
            if (rand_one_in(&r, 8))
                OK(commit_log_sync(l, &err));
        }
        if (rand_one_in(&r, 2))
            append(l, sequence++, 600000); /* Larger than a segment. */
        commit_log_close(l);
        OK(read_all(&f, &end, false));
        ck_assert_uint_eq(f.first, 1);
        ck_assert_uint_eq(f.last, sequence - 1);
    }
    world_free(world);
}

END_TEST

/* Records that are synced with their append go past the page cache, others
 * through it: in whatever order they come, what is read is what was appended.
 */
START_TEST(test_both_ways_of_writing)
{
    struct rand_gen r;
    uint64_t sequence = 1;
    struct log_end end;
    struct found f;
    rand_init(&r, test_seed());
    setup();
    for (int round = 0; round < 8; round++) {
        struct commit_log *l = open_log();
        bool synced = false;
        for (int i = 0; i < 40; i++) {
            size_t bytes = rand_below(&r, rand_one_in(&r, 4) ? 20000 : 600);
            if (rand_one_in(&r, 30))
                bytes = 300000; /* Is not put together. */
            if (rand_one_in(&r, 3))
                synced = !synced;
            append_as(l, sequence++, bytes, synced);
            if (rand_one_in(&r, 20))
                OK(commit_log_sync(l, &err));
            if (rand_one_in(&r, 30))
                commit_log_release(l, sequence / 2);
        }
        OK(commit_log_sync(l, &err));
        OK(read_all(&f, &end, false)); /* With what lies behind its end. */
        ck_assert_uint_eq(f.last, sequence - 1);
        commit_log_close(l);
        OK(read_all(&f, &end, false));
        ck_assert_uint_eq(f.last, sequence - 1);
    }
    world_free(world);
}

END_TEST

/* Spares in the directory of the log. */
static size_t count_spares(void)
{
    char **names;
    size_t count;
    size_t spares = 0;
    uint64_t number;
    OK(world_list(world, dir, &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        spares += log_spare_number(names[i], &number);
    world_names_free(names, count);
    return spares;
}

/* A log that is written keeps spares; one that is closed gives their space
 * back, and opens again. */
START_TEST(test_spares_end_with_the_log)
{
    struct commit_log *l;
    uint64_t sequence = 1;
    struct log_end end;
    struct found f;
    setup();
    l = open_log();
    while (sequence < 100)
        append(l, sequence++, 5000);
    OK(commit_log_sync(l, &err));
    commit_log_release(l, sequence - 3);
    ck_assert_uint_gt(count_spares(), 0);
    commit_log_close(l);
    ck_assert_uint_eq(count_spares(), 0);
    OK(read_all(&f, &end, false));
    ck_assert_uint_eq(f.last, sequence - 1);
    commit_log_close(open_log());
    world_free(world);
}

END_TEST

/* Released segments are written again, and their old records never read. */
START_TEST(test_segments_are_recycled)
{
    struct commit_log *l;
    uint64_t sequence = 1;
    struct log_end end;
    struct found f;
    setup();
    l = open_log();
    for (int i = 0; i < 200; i++) {
        append(l, sequence++, 5000);
        if (i % 20 == 19)
            commit_log_release(l, sequence - 3);
        ck_assert_uint_lt(commit_log_bytes(l), 400000);
    }
    commit_log_close(l);
    OK(read_all(&f, &end, false));
    ck_assert_uint_gt(f.first, 150);
    ck_assert_uint_eq(f.last, sequence - 1);
    world_free(world);
}

END_TEST

/* A record that is cut at the end was not finished: the log ends before it, and
 * continues there. */
START_TEST(test_torn_tail)
{
    for (int cut = 1; cut < 200; cut += 7) {
        struct commit_log *l;
        struct log_end end;
        struct found f;
        char path[400];
        setup();
        l = open_log();
        for (uint64_t i = 1; i <= 10; i++)
            append(l, i, 100);
        commit_log_close(l);
        path_of(path, 1);
        ck_assert_int_eq(
            truncate(path, (off_t)(LOG_SEGMENT_HEADER_BYTES +
                                   9 * (LOG_RECORD_HEADER_BYTES + 108)) +
                               cut % 140),
            0);
        OK(read_all(&f, &end, false));
        ck_assert_uint_eq(f.last, 9);
        l = open_log();
        append(l, 10, 50);
        OK(commit_log_sync(l, &err));
        commit_log_close(l);
        OK(read_all(&f, &end, false));
        ck_assert_uint_eq(f.last, 10);
        world_free(world);
    }
}

END_TEST

/* A flipped bit before what was synced is reported with its place, and refused
 * unless repair is asked for; after the last sync it is an unfinished end. */
START_TEST(test_damage_is_told_from_the_end)
{
    const long record = LOG_RECORD_HEADER_BYTES + 108;
    struct commit_log *l;
    struct log_end end;
    struct found f;
    char want[600];
    setup();
    l = open_log();
    for (uint64_t i = 1; i <= 20; i++) {
        append(l, i, 100);
        if (i == 12)
            OK(commit_log_sync(l, &err));
    }
    commit_log_close(l);
    flip(1, (long)LOG_SEGMENT_HEADER_BYTES + 15 * (record + 1) + 50);
    OK(read_all(&f, &end, false));
    ck_assert_uint_le(f.last, 15);
    flip(1, (long)LOG_SEGMENT_HEADER_BYTES + 4 * record + 40);
    ck_assert_int_eq(read_all(&f, &end, false), ERR_CORRUPT);
    snprintf(want, sizeof(want),
             "commit log %s/00000001.log: offset %ld: a record that was safe "
             "on the disk is damaged",
             dir, (long)LOG_SEGMENT_HEADER_BYTES + 4 * record);
    ck_assert_str_eq(err.text, want);
    OK(read_all(&f, &end, true));
    ck_assert_uint_eq(f.last, 4);
    world_free(world);
}

END_TEST

/* A damaged header is reported when what follows had been safe. */
START_TEST(test_damaged_header)
{
    struct commit_log *l;
    struct log_end end;
    struct found f;
    setup();
    l = open_log();
    for (uint64_t i = 1; i <= 5; i++) {
        append(l, i, 10);
        OK(commit_log_sync(l, &err));
    }
    commit_log_close(l);
    flip(1, 20);
    ck_assert_int_eq(read_all(&f, &end, false), ERR_CORRUPT);
    ck_assert(strstr(err.text, "00000001.log: offset 0: bad header"));
    OK(read_all(&f, &end, true));
    world_free(world);
}

END_TEST

/* A log of a newer format is refused, and not touched. */
START_TEST(test_newer_format)
{
    const struct log_segment_header h = {.number = 1};
    char header[LOG_SEGMENT_HEADER_BYTES];
    struct commit_log *l;
    struct log_end end;
    struct found f;
    char path[400];
    FILE *file;
    setup();
    l = open_log();
    append(l, 1, 10);
    commit_log_close(l);
    log_put_segment_header(header, &h);
    put_le32(header + 8, LOG_FORMAT_SEALED + 1);
    put_le32(header + 12, crc32c_extend(crc32c(header, 12), header + 16, 16));
    path_of(path, 1);
    file = fopen(path, "r+b");
    ck_assert(file != NULL);
    ck_assert_uint_eq(fwrite(header, sizeof(header), 1, file), 1);
    fclose(file);
    ck_assert_int_eq(read_all(&f, &end, true), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text,
                     "the log has format 3, and this program knows up to 2");
    world_free(world);
}

END_TEST

/* The bytes of the file of segment @number. */
static size_t read_segment(unsigned number, char *to, size_t room)
{
    char path[400];
    size_t got;
    FILE *f;
    path_of(path, number);
    f = fopen(path, "rb");
    ck_assert(f != NULL);
    got = fread(to, 1, room, f);
    fclose(f);
    return got;
}

static void fill_file(const char *name, int byte, size_t bytes)
{
    char path[400];
    FILE *f;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "wb");
    ck_assert(f != NULL);
    for (size_t i = 0; i < bytes; i++)
        fputc(byte, f);
    fclose(f);
}

/* Whole pages are written, so that nothing of a spare is ever read before it is
 * overwritten: what lies behind the last record is zero up to the page's end,
 * and the spare's own from there on. */
START_TEST(test_whole_pages_are_written)
{
    static char bytes[200000];
    struct rand_gen r;
    struct commit_log *l;
    uint64_t sequence = 1;
    struct log_end end;
    struct found f;
    size_t last = 0;
    rand_init(&r, test_seed());
    setup();
    commit_log_close(open_log());
    fill_file("spare-00000001", 0xee, sizeof(bytes));
    l = open_log();
    while (commit_log_bytes(l) < 40000) {
        size_t written;
        size_t page;
        append(l, sequence++, rand_below(&r, 3000));
        written = LOG_SEGMENT_HEADER_BYTES + (size_t)commit_log_bytes(l);
        page = (written + 4095) / 4096 * 4096;
        ck_assert_uint_eq(read_segment(2, bytes, sizeof(bytes)), sizeof(bytes));
        for (size_t i = written; i < page; i++)
            ck_assert_int_eq(bytes[i], 0);
        ck_assert_int_eq((unsigned char)bytes[page], 0xee);
        ck_assert_uint_gt(written, last);
        last = written;
    }
    commit_log_close(l);
    OK(read_all(&f, &end, false));
    ck_assert_uint_eq(f.last, sequence - 1);
    world_free(world);
}

END_TEST

/* Files with numbers that no segment can have are not part of the log: neither
 * do they hide its segments, nor does the next number overflow. */
START_TEST(test_impossible_numbers_are_no_segments)
{
    struct commit_log *l;
    struct log_end end;
    struct found f;
    uint64_t number;
    ck_assert(!log_segment_number("00000000.log", &number));
    ck_assert(!log_segment_number("18446744073709551615.log", &number));
    ck_assert(!log_spare_number("spare-18446744073709551615", &number));
    setup();
    l = open_log();
    append(l, 1, 100);
    commit_log_close(l);
    fill_file("00000000.log", 0, 100);
    fill_file("18446744073709551615.log", 0, 100);
    fill_file("spare-18446744073709551615", 0, 100);
    OK(read_all(&f, &end, false));
    ck_assert_uint_eq(f.last, 1);
    ck_assert_uint_eq(end.next_segment, 2);
    l = open_log();
    append(l, 2, 100);
    commit_log_close(l);
    OK(read_all(&f, &end, false));
    ck_assert_uint_eq(f.first, 1);
    ck_assert_uint_eq(f.last, 2);
    world_free(world);
}

END_TEST

TEST_MAIN("commit_log",
          test_impossible_numbers_are_no_segments,
          test_whole_pages_are_written,
          test_read_back,
          test_both_ways_of_writing,
          test_spares_end_with_the_log,
          test_segments_are_recycled,
          test_torn_tail,
          test_damage_is_told_from_the_end,
          test_damaged_header,
          test_newer_format)
