/* Bytes as pair blocks, record files, compressed text, spills, tasks and
 * reports: none makes a reader crash, hang or take memory that the bytes do not
 * pay for.
 */
#define _GNU_SOURCE

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/output/table_changes.h"
#include "mapreduce/records/byte_source.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/pair_block.h"
#include "mapreduce/records/record_reader.h"
#include "mapreduce/records/record_writer.h"
#include "mapreduce/shuffle/spill.h"
#include "mapreduce/task/task_spec.h"

/* Sizes in a block's header stay small enough for many tries. */
#define RAW_BYTES_MAX ((uint32_t)1 << 20)

static void walk(struct buf *raw, uint32_t entries)
{
    struct pair_cursor c;
    bool more = true;
    pair_cursor_init(&c);
    pair_cursor_start(&c, buf_slice(raw), entries);
    while (pair_cursor_next(&c, &more, NULL) == 0 && more) {
        volatile char sink = c.key.len ? c.key.data[c.key.len - 1] : 0;
        sink = c.value.len ? c.value.data[c.value.len - 1] : sink;
        (void)sink;
    }
    pair_cursor_close(&c);
}

/* A block whose checksum is right, so that what is behind it is reached. */
static void fuzz_block(struct slice in)
{
    struct block_codec codec;
    struct buf block = BUF_INIT;
    struct buf raw = BUF_INIT;
    struct pair_block_header h;
    if (in.len < BLOCK_HEADER_BYTES)
        return;
    buf_append_slice(&block, in);
    put_le32(block.data, (uint32_t)(in.len - BLOCK_HEADER_BYTES));
    put_le32(block.data + 4, get_le32(block.data + 4) % RAW_BYTES_MAX);
    put_le32(block.data + 12, crc32c_extend(crc32c(block.data, 12),
                                            block.data + BLOCK_HEADER_BYTES,
                                            in.len - BLOCK_HEADER_BYTES));
    block_codec_init(&codec, 0);
    if (pair_block_header_decode(block.data, &h, NULL) == 0 &&
        pair_block_open(block.data, &h, &codec, &raw, NULL) == 0)
        walk(&raw, h.entry_count);
    block_codec_close(&codec);
    buf_close(&block);
    buf_close(&raw);
}

/* The bytes as a file, with the checksum of its footer put right. */
static int make_file(struct slice in, size_t footer, size_t crc_at)
{
    struct buf b = BUF_INIT;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    buf_append_slice(&b, in);
    if (in.len >= footer) {
        char *f = b.data + in.len - footer;
        uint64_t index = get_le64(f);
        if (index <= in.len - footer)
            put_le32(f + crc_at,
                     crc32c(b.data + index, in.len - footer - index + 12));
    }
    if (write(fd, b.data, b.len) != (ssize_t)b.len)
        abort();
    buf_close(&b);
    return fd;
}

/* All records, behind damage too: each time some bytes further. */
static void read_on(struct record_reader *r)
{
    struct slice key;
    struct slice value;
    bool more = true;
    while (more) {
        uint64_t records;
        uint64_t bytes = 0;
        if (record_reader_next(r, &key, &value, &more, NULL) == 0)
            continue;
        if (record_reader_resync(r, &records, &bytes, NULL))
            break;
        if (bytes == 0)
            abort();
        more = true;
    }
}

static void fuzz_record_file(struct world *w, struct slice in)
{
    int fd = make_file(in, RECORD_FILE_FOOTER_BYTES, 12);
    char path[64];
    struct record_reader r;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (record_reader_open(&r, &(struct job_files){.world = w}, path, NULL) ==
        0)
        read_on(&r);
    record_reader_close(&r);
    if (record_reader_salvage(&r, &(struct job_files){.world = w}, path,
                              NULL) == 0)
        read_on(&r);
    record_reader_close(&r);
    close(fd);
}

/* Packed text, read on behind every damage. */
static void
fuzz_packed(struct world *w, struct slice in, enum byte_compression how)
{
    char path[64];
    char plain[4096];
    struct byte_source *s;
    size_t got = 1;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (write(fd, in.data, in.len) != (ssize_t)in.len)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (byte_source_open(&(struct job_files){.world = w}, path, how, 0, &s,
                         NULL))
        abort();
    for (int i = 0; got > 0 && i < 20000; i++) {
        uint64_t bytes;
        if (byte_source_read(s, plain, sizeof(plain), &got, NULL) == 0)
            continue;
        if (byte_source_resync(s, &bytes, NULL))
            break;
        got = 1;
    }
    byte_source_close(s);
    close(fd);
}

static void fuzz_spill(struct world *w, struct slice in)
{
    int fd = make_file(in, SPILL_FOOTER_BYTES, 12);
    char path[64];
    struct spill_segment *segments = NULL;
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (spill_index_read(w, path, &segments, &count, NULL) == 0)
        mem_free(segments);
    close(fd);
}

static void fuzz_messages(struct slice in)
{
    struct buf sealed = BUF_INIT;
    struct task_spec spec;
    struct task_report report;
    struct table_change change;
    buf_append_slice(&sealed, in);
    buf_put_le32(&sealed, crc32c(in.data, in.len));
    (void)!task_spec_decode(&spec, buf_slice(&sealed), NULL);
    task_spec_close(&spec);
    (void)!task_report_decode(&report, buf_slice(&sealed), NULL);
    task_report_close(&report);
    (void)!table_change_decode(in, &change, NULL);
    buf_close(&sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world *w;
    struct slice in;
    if (size == 0)
        return 0;
    if (!w)
        w = world_real_new();
    in = slice_make(data + 1, size - 1);
    switch (data[0] % 8) {
    case 0: fuzz_block(in); break;
    case 1: fuzz_record_file(w, in); break;
    case 2: fuzz_spill(w, in); break;
    case 3: fuzz_messages(in); break;
    case 4:
    case 5: fuzz_packed(w, in, BYTES_GZIP); break;
    default: fuzz_packed(w, in, BYTES_ZSTD); break;
    }
    return 0;
}
