/* Damage in record files and compressed text costs what it hit and no more: the
 * rest is read, and each place is told with file, offset and reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <zstd.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "mapreduce/input/input.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/record_reader.h"
#include "mapreduce/records/record_writer.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

#define RECORDS 4000
#define BLOCKS  64

static struct world *world;
static char path[300];

static void setup(void)
{
    world = world_real_new();
    snprintf(path, sizeof(path), "%s/in", test_tmpdir());
}

static void store(struct slice s)
{
    FILE *f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(s.data, 1, s.len, f), s.len);
    fclose(f);
}

static void load(struct buf *out)
{
    FILE *f = fopen(path, "rb");
    out->len = fread(buf_reserve(out, 4 << 20), 1, 4 << 20, f);
    fclose(f);
}

/* --- Helpers ------------------------------------------------------------- */

/* Which of the numbered records came, and what was said. */
struct outcome {
    bool seen[RECORDS];
    uint64_t count;
    uint64_t places;
    uint64_t records;
    struct buf texts;
};

/* The record or line of a number: some of them long. */
static void make_value(uint64_t i, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%llu:", (unsigned long long)i);
    for (uint64_t k = 0; k < 20 + i * 2654435761u % 300; k++)
        buf_append_byte(out, (char)('a' + (i * 31 + k * k) % 26));
}

/* Read all splits; every record is one that was written, none comes twice or
 * out of order. Wrong lines are allowed where @trust is false: those of a
 * member that failed its checksum behind them. */
static void read_all(enum mr_spec_kind kind, bool trust, struct outcome *o)
{
    struct mr_spec spec = {.kind = kind, .path = path};
    struct input_context ctx = {.files = {.world = world},
                                .specs = &spec,
                                .split_bytes = 200000,
                                .worker_count = 2};
    struct input_splits splits;
    struct buf want = BUF_INIT;
    int64_t last = -1;
    memset(o, 0, sizeof(*o));
    input_splits_init(&splits);
    ck_assert_int_eq(input_plan(&ctx, 0, &splits, NULL), 0);
    for (size_t i = 0; i < splits.count; i++) {
        struct input_reader *in;
        struct mr_record rec = {.input = 0};
        bool more = true;
        ck_assert_int_eq(input_open(&ctx, &splits.at[i], &in, NULL), 0);
        while (in->next(in, &rec, &more, NULL) == 0 && more) {
            uint64_t n = strtoull(rec.value.data, NULL, 10);
            if (n < RECORDS)
                make_value(n, &want);
            if (n >= RECORDS || !slice_eq(rec.value, buf_slice(&want))) {
                ck_assert(!trust);
                continue;
            }
            ck_assert(!trust || (int64_t)n > last);
            last = (int64_t)n;
            o->seen[n] = true;
            o->count++;
        }
        ck_assert(!more);
        o->places += in->damage.places;
        o->records += in->damage.records;
        buf_append_slice(&o->texts, buf_slice(&in->damage.texts));
        input_reader_close(in);
    }
    input_splits_close(&splits);
    buf_close(&want);
}

static void write_records(void)
{
    struct record_writer out;
    struct buf value = BUF_INIT;
    ck_assert_int_eq(record_writer_open(&out,
                                        &(struct job_files){.world = world},
                                        path, 1, NULL),
                     0);
    for (uint64_t i = 0; i < RECORDS; i++) {
        make_value(i, &value);
        record_writer_add(&out, SLICE_LIT("key"), buf_slice(&value));
    }
    ck_assert_int_eq(record_writer_finish(&out, false, NULL), 0);
    record_writer_close(&out);
    buf_close(&value);
}

/* Where the blocks of the file begin and which records they start with. */
struct layout {
    uint64_t at[BLOCKS];
    uint64_t first[BLOCKS];
    size_t count;
};

static void lay_out(struct layout *l)
{
    struct record_reader r;
    uint64_t bytes;
    uint64_t records;
    size_t cursor = 0;
    l->count = 0;
    l->at[0] = 8;
    l->first[0] = 0;
    ck_assert_int_eq(
        record_reader_open(&r, &(struct job_files){.world = world}, path, NULL),
        0);
    while (record_reader_block(&r, &cursor, &bytes, &records)) {
        l->count++;
        ck_assert_uint_lt(l->count, BLOCKS);
        l->at[l->count] = l->at[l->count - 1] + bytes;
        l->first[l->count] = l->first[l->count - 1] + records;
    }
    ck_assert_uint_gt(l->count, 4);
    record_reader_close(&r);
}

/* Records of blocks that do not touch [begin, end) must have come. */
static void check_blocks(const struct layout *l,
                         const struct outcome *o,
                         size_t begin,
                         size_t end)
{
    for (size_t b = 0; b < l->count; b++) {
        bool hit = begin < l->at[b + 1] && end > l->at[b];
        for (uint64_t i = l->first[b]; i < l->first[b + 1]; i++)
            ck_assert_msg(o->seen[i] == !hit, "record %llu of block %zu",
                          (unsigned long long)i, b);
    }
}

/* --- Tests --------------------------------------------------------------- */

/* Bytes of one block or several changed: all other blocks are read, the lost
 * records are counted, the place is named. */
START_TEST(test_damaged_blocks)
{
    struct rand_gen r;
    struct layout l;
    struct buf good = BUF_INIT;
    struct outcome *o = mem_alloc(sizeof(*o));
    setup();
    rand_init(&r, test_seed());
    write_records();
    load(&good);
    lay_out(&l);
    for (int i = 0; i < 30; i++) {
        struct buf bad = BUF_INIT;
        size_t end = l.at[l.count];
        size_t from = 8 + rand_below(&r, end - 8);
        size_t n = 1 + (i % 2 ? rand_below(&r, 100) : 0);
        if (i % 3 == 0) /* A header. */
            from = l.at[rand_below(&r, l.count)] + rand_below(&r, 16);
        n = MIN_OF(n, end - from);
        buf_append_slice(&bad, buf_slice(&good));
        for (size_t k = 0; k < n; k++)
            bad.data[from + k] ^= (char)(1 + rand_below(&r, 255));
        store(buf_slice(&bad));
        read_all(MR_SPEC_RECORDS, true, o);
        check_blocks(&l, o, from, from + n);
        ck_assert_uint_eq(o->count + o->records, RECORDS);
        ck_assert_uint_ge(o->places, 1);
        ck_assert_ptr_nonnull(strstr(buf_cstr(&o->texts), path));
        ck_assert_ptr_nonnull(strstr(buf_cstr(&o->texts), "block at offset"));
        buf_close(&o->texts);
        buf_close(&bad);
    }
    mem_free(o);
    buf_close(&good);
    world_free(world);
}

END_TEST

/* A file cut anywhere, or with a damaged index, and damaged elsewhere too: the
 * blocks that are whole are found and read. */
START_TEST(test_lost_index)
{
    struct rand_gen r;
    struct layout l;
    struct buf good = BUF_INIT;
    struct outcome *o = mem_alloc(sizeof(*o));
    setup();
    rand_init(&r, test_seed());
    write_records();
    load(&good);
    lay_out(&l);
    for (int i = 0; i < 20; i++) {
        struct buf bad = BUF_INIT;
        size_t end = l.at[l.count];
        size_t begin = end;
        buf_append_slice(&bad, buf_slice(&good));
        if (i % 2) {
            bad.len = begin = 8 + rand_below(&r, end - 8);
        } else {
            size_t at = end + rand_below(&r, good.len - end);
            bad.data[at] ^= (char)(1 + rand_below(&r, 255));
        }
        store(buf_slice(&bad));
        read_all(MR_SPEC_RECORDS, true, o);
        check_blocks(&l, o, begin, good.len);
        ck_assert_uint_ge(o->places, 1);
        buf_close(&o->texts);
        if (begin > l.at[2]) {
            /* And a block before it. */
            bad.data[l.at[1] + rand_below(&r, 16)] ^= 64;
            store(buf_slice(&bad));
            read_all(MR_SPEC_RECORDS, true, o);
            ck_assert(o->seen[0] && !o->seen[l.first[1]]);
            ck_assert(begin < l.at[3] || o->seen[l.first[2]]);
            ck_assert_uint_ge(o->places, 2);
            buf_close(&o->texts);
        }
        buf_close(&bad);
    }
    mem_free(o);
    buf_close(&good);
    world_free(world);
}

END_TEST

/* Bytes that all look like headers of blocks take no time in proportion to
 * more than the file. */
START_TEST(test_hostile_record_file)
{
    struct buf bad = BUF_INIT;
    struct outcome *o = mem_alloc(sizeof(*o));
    static const unsigned char header[16] = {0, 0, 0x3f, 0, 0, 0, 0x3f, 0, 1};
    setup();
    write_records();
    load(&bad);
    bad.len = 8;
    for (int i = 0; i < 300000; i++)
        buf_append(&bad, header, sizeof(header));
    store(buf_slice(&bad));
    read_all(MR_SPEC_RECORDS, true, o);
    ck_assert_uint_eq(o->count, 0);
    ck_assert_uint_ge(o->places, 1);
    buf_close(&o->texts);
    buf_close(&bad);
    mem_free(o);
    world_free(world);
}

END_TEST

static void pack(bool zstd, struct slice s, struct buf *out)
{
    if (zstd) {
        ZSTD_CCtx *z = ZSTD_createCCtx();
        size_t n = ZSTD_compressBound(s.len);
        ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
        n = ZSTD_compress2(z, buf_reserve(out, n), n, s.data, s.len);
        ck_assert(!ZSTD_isError(n));
        out->len += n;
        ZSTD_freeCCtx(z);
    } else {
        z_stream z = {0};
        ck_assert_int_eq(
            deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
        z.next_in = (Bytef *)(uintptr_t)s.data;
        z.avail_in = (uInt)s.len;
        z.avail_out = (uInt)deflateBound(&z, s.len) + 64;
        z.next_out = (Bytef *)buf_reserve(out, z.avail_out);
        ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
        out->len += z.total_out;
        deflateEnd(&z);
    }
}

#define MEMBERS 40

/* RECORDS lines in MEMBERS members; @at gets where each begins. */
static void pack_lines(bool zstd, struct buf *out, size_t at[MEMBERS + 1])
{
    struct buf text = BUF_INIT;
    struct buf value = BUF_INIT;
    for (uint64_t m = 0; m < MEMBERS; m++) {
        at[m] = out->len;
        buf_clear(&text);
        for (uint64_t i = 0; i < RECORDS / MEMBERS; i++) {
            make_value(m * (RECORDS / MEMBERS) + i, &value);
            buf_append_slice(&text, buf_slice(&value));
            buf_append_byte(&text, '\n');
        }
        pack(zstd, buf_slice(&text), out);
    }
    at[MEMBERS] = out->len;
    buf_close(&text);
    buf_close(&value);
}

/* Where a member of compressed text is damaged, the others give all their
 * lines, but for the first after the damage, and each lost place is reported.
 */
START_TEST(test_damaged_members)
{
    struct rand_gen r;
    struct outcome *o = mem_alloc(sizeof(*o));
    struct buf good[2] = {BUF_INIT, BUF_INIT};
    size_t starts[2][MEMBERS + 1];
    setup();
    rand_init(&r, test_seed());
    pack_lines(false, &good[0], starts[0]);
    pack_lines(true, &good[1], starts[1]);
    for (int i = 0; i < 60; i++) {
        struct buf file = BUF_INIT;
        const size_t *at = starts[i % 2];
        size_t hit = rand_below(&r, MEMBERS);
        uint64_t each = RECORDS / MEMBERS;
        bool cut = i % 3 == 0;
        buf_append_slice(&file, buf_slice(&good[i % 2]));
        /* Not the first bytes of all: they tell the compression. */
        hit += hit == 0;
        if (cut)
            file.len = at[hit] + 1 + rand_below(&r, at[hit + 1] - at[hit] - 1);
        else
            file.data[at[hit] + rand_below(&r, at[hit + 1] - at[hit])] ^= 16;
        store(buf_slice(&file));
        read_all(MR_SPEC_FILE, false, o);
        for (uint64_t k = 0; k < RECORDS; k++) {
            uint64_t m = k / each;
            bool behind = m > hit && cut;
            if (m == hit || behind)
                continue;
            ck_assert_msg(o->seen[k] || k % each == 0,
                          "%s %d: line %llu of member %llu, damage in %zu",
                          i % 2 ? "zstd" : "gzip", i, (unsigned long long)k,
                          (unsigned long long)m, hit);
        }
        /* A flag of a gzip header that nobody reads hurts nothing. */
        if (o->count < RECORDS)
            ck_assert_ptr_nonnull(strstr(buf_cstr(&o->texts), path));
        ck_assert(o->count == RECORDS || o->places >= 1);
        buf_close(&o->texts);
        buf_close(&file);
    }
    buf_close(&good[0]);
    buf_close(&good[1]);
    mem_free(o);
    world_free(world);
}

END_TEST

/* --- jobs ---------------------------------------------------------------- */

static int
count_map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    (void)r;
    mr_emit_count(t, SLICE_LIT("all"), 1);
    return 0;
}

static int sum_reduce(struct mr_task *t,
                      struct slice key,
                      struct mr_values *v,
                      struct err *err)
{
    (void)err;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    return 0;
}

static const struct mr_job count_job = {
    .abi_version = MR_ABI_VERSION,
    .name = "count",
    .map = count_map,
    .reduce = sum_reduce,
    .combine = mr_combine_sum,
};

static int run_job(const struct mr_options *more,
                   struct mr_report **report,
                   struct err *err)
{
    char in[320];
    char out[320];
    const char *inputs[] = {in};
    const char *outputs[] = {out};
    struct mr_options o = *more;
    snprintf(in, sizeof(in), "records:%s", path);
    snprintf(out, sizeof(out), "file:%s.out", path);
    o.program.job = &count_job;
    o.inputs = inputs;
    o.input_count = 1;
    o.outputs = outputs;
    o.output_count = 1;
    o.overwrite = true;
    o.split_bytes = 100000;
    return mr_run(&o, report, err);
}

/* A job over a record file with two bad blocks: it skips them, counts their
 * records and notes file, offset and reason; with a limit of one, or when it
 * may skip nothing, it fails with the same words. */
START_TEST(test_jobs_skip_up_to_the_limit)
{
    struct layout l;
    struct buf bad = BUF_INIT;
    struct mr_report *report;
    struct mr_options o = {.workers = 2};
    struct err err = ERR_INIT;
    setup();
    setenv("TMPDIR", test_tmpdir(), 1);
    write_records();
    lay_out(&l);
    load(&bad);
    bad.data[l.at[1] + 30] ^= 1;
    bad.data[l.at[3] + 30] ^= 1;
    store(buf_slice(&bad));
    ck_assert_msg(run_job(&o, &report, &err) == 0, "%s", err.text);
    ck_assert_int_eq(mr_report_counter(report, "map.damaged_places"), 2);
    ck_assert_int_eq(
        mr_report_counter(report, "map.records_skipped"),
        (int64_t)(l.first[2] - l.first[1] + l.first[4] - l.first[3]));
    ck_assert_int_eq(mr_report_counter(report, "map.records") +
                         mr_report_counter(report, "map.records_skipped"),
                     RECORDS);
    ck_assert_uint_eq(report->note_count, 2);
    ck_assert_ptr_nonnull(strstr(report->notes[0], path));
    ck_assert_ptr_nonnull(strstr(report->notes[0], "checksum"));
    mr_report_free(report);
    for (int i = 0; i < 2; i++) {
        o.skips_max = 1;
        o.skip_none = i;
        ck_assert_int_eq(run_job(&o, &report, &err), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(err.text, path));
        ck_assert_ptr_nonnull(strstr(err.text, "block at offset"));
        mr_report_free(report);
    }
    buf_close(&bad);
    world_free(world);
}

END_TEST

TEST_MAIN("damaged_input",
          test_damaged_blocks,
          test_lost_index,
          test_hostile_record_file,
          test_damaged_members,
          test_jobs_skip_up_to_the_limit)
