/* A segment of a search index with any bytes changed, behind right checksums:
 * it is refused, or its terms, postings, positions and merged form are in
 * order. Never a fault, a hang or a large allocation. The first byte chooses:
 * the same of a manifest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/sim/sim.h"
#include "gfs-lite/fs.h"
#include "tests/lib/fuzz_damage.h"
#include "web/search/segment/index_manifest.h"
#include "web/search/segment/index_view.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/posting_cursor.h"
#include "web/search/segment/segment_writer.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define DOCUMENTS      300

struct segment_input {
    struct world *world;
    struct slice damage;
};

static void add_document(struct segment_writer *w, uint32_t i)
{
    int64_t times[2] = {(int64_t)i * 10, (int64_t)i * 10 + 4};
    struct segment_document d = {.times_us = times,
                                 .time_count = 1 + i % 2,
                                 .next_us = INT64_MAX,
                                 .rank = (uint8_t)i,
                                 .likeness = i,
                                 .ends = {3, 6, 9, 100 + i}};
    char key[16];
    snprintf(key, sizeof(key), "row%04u", i);
    segment_writer_row(w, slice_str(key), i);
    (void)segment_writer_document(w, &d);
}

static void write_segment(struct fs *fs)
{
    static const uint32_t positions[] = {0, 5, 7, 40};
    struct segment_writer *w;
    if (segment_writer_new(fs, "i/000001.segment", &w, NULL))
        abort();
    for (uint32_t i = 0; i < DOCUMENTS; i++)
        add_document(w, i);
    for (uint32_t t = 0; t < 80; t++) {
        char term[16];
        snprintf(term, sizeof(term), "term%02u", t);
        if (segment_writer_term(w, slice_str(term), NULL))
            abort();
        for (uint32_t i = t; i < DOCUMENTS; i += 1 + t % 7)
            segment_writer_posting(w, i, (uint8_t)(1 + (i + t) % 63), positions,
                                   1 + i % 4);
    }
    if (segment_writer_finish(w, NULL))
        abort();
    segment_writer_free(w);
}

/* Give every page the checksum of its bytes. */
static void repair_pages(struct buf *file)
{
    put_le32(file->data + 32, crc32c(file->data, 32));
    for (size_t at = PAGED_FILE_HEAD_BYTES, n = 0; at + 4 < file->len; n++) {
        size_t len = MIN_OF(PAGED_FILE_PAGE_BYTES, file->len - at) - 4;
        char number[8];
        put_le64(number, n);
        put_le32(file->data + at + len,
                 crc32c_extend(crc32c(number, 8), file->data + at, len));
        at += len + 4;
    }
}

static void walk_postings(const struct segment *s, const struct segment_term *t)
{
    struct posting_cursor *c = mem_alloc(sizeof(*c));
    uint64_t before = 0;
    posting_cursor_open(c, s, t, NULL);
    posting_cursor_seek(c, 0);
    while (c->document != POSTING_END) {
        size_t count;
        PRE(c->document + UINT64_C(1) > before);
        before = c->document + UINT64_C(1);
        (void)posting_cursor_positions(c, &count);
        if (c->document != POSTING_END)
            posting_cursor_next(c);
    }
    posting_cursor_close(c);
    mem_free(c);
}

static void walk_terms(const struct segment *s)
{
    struct segment_terms t;
    bool more = true;
    segment_terms_begin(&t, s, SLICE_EMPTY);
    while (more && segment_terms_next(&t, &more, NULL) == 0)
        if (more)
            walk_postings(s, &t.value);
    segment_terms_close(&t);
}

static void read_segment(struct fs *fs)
{
    struct page_cache *cache = page_cache_new((size_t)1 << 18);
    struct segment *s;
    if (segment_open(fs, "i/000001.segment", cache, &s, NULL) == 0) {
        walk_terms(s);
        (void)segment_row_find(s, SLICE_LIT("row0100"));
        segment_close(s);
    }
    page_cache_free(cache);
}

static void try_segment(void *arg)
{
    const struct segment_input *in = arg;
    struct buf file = BUF_INIT;
    struct fs *fs;
    if (fs_local_open(in->world, "/", &fs, NULL))
        abort();
    write_segment(fs);
    if (fs_read_all(fs, "i/000001.segment", FILE_BYTES_MAX, &file, NULL))
        abort();
    (void)fuzz_damage(in->damage, &file);
    repair_pages(&file);
    if (fs_replace(fs, "i/000001.segment", buf_slice(&file), NULL))
        abort();
    read_segment(fs);
    fs_close(fs);
    buf_close(&file);
}

static void try_manifest(struct slice bytes)
{
    struct index_manifest m;
    struct buf file = BUF_INIT;
    buf_append(&file, INDEX_MANIFEST_MAGIC, 8);
    buf_put_le32(&file, crc32c(bytes.data, bytes.len));
    buf_append_slice(&file, bytes);
    int rc = index_manifest_decode(buf_slice(&file), &m, NULL);
    (void)rc;
    index_manifest_close(&m);
    rc = index_manifest_decode(bytes, &m, NULL);
    index_manifest_close(&m);
    buf_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment_input in = {.damage = SLICE_EMPTY};
    if (size == 0 || size > 4096)
        return 0;
    in.damage = slice_make(data + 1, size - 1);
    if (data[0] & 1) {
        try_manifest(in.damage);
        return 0;
    }
    in.world = sim_world_new(&(struct sim_options){.seed = 1});
    sim_run(in.world, try_segment, &in);
    world_free(in.world);
    return 0;
}
