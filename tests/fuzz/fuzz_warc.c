/* Any bytes read as an archive: the reader ends, hands out only bytes it has,
 * and with the same bytes in small pieces does the same. */
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "mapreduce/warc/archive_reader.h"

struct input {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t piece;
};

static int
read_some(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct input *in = ctx;
    size_t n = in->size - in->at;
    (void)err;
    if (n > len)
        n = len;
    if (in->piece && n > in->piece)
        n = in->piece;
    memcpy(dst, in->data + in->at, n);
    in->at += n;
    *got = n;
    return 0;
}

static void on_damage(void *ctx, uint64_t offset, const char *reason, bool lost)
{
    const struct input *in = ctx;
    (void)lost;
    if (offset > in->size || reason[0] == '\0')
        abort();
}

/* A reader with the buffers of the inputs before, which do not move, or with
 * none. A fresh one is the caller's. */
static struct warc_reader *
start(struct input *in, uint64_t block_max, bool fresh)
{
    static struct warc_reader *reader;
    struct warc_reader_options opts = {
        .read = read_some,
        .ctx = in,
        .on_damage = on_damage,
        .block_bytes_max = block_max,
    };
    if (fresh)
        return warc_reader_new(&opts);
    if (reader)
        warc_reader_reset(reader, &opts);
    else
        reader = warc_reader_new(&opts);
    return reader;
}

/* A hash of all records; touches every byte handed out. */
static uint64_t read_all(struct input *in, uint64_t block_max)
{
    bool fresh = in->piece > 0;
    struct warc_reader *r = start(in, block_max, fresh);
    const struct warc_record *rec;
    uint64_t h = 0;
    size_t count = 0;
    while (warc_reader_next(r, &rec, NULL) == 0 && rec) {
        char piece[64];
        size_t got = 0;
        if (++count > in->size + 1)
            abort(); /* More records than bytes. */
        h = hash64(rec->uri.data, rec->uri.len, h);
        h = hash64(rec->block.data, rec->block.len, h);
        for (size_t i = 0; i < rec->header_count; i++)
            h = hash64(rec->headers[i].value.data, rec->headers[i].value.len,
                       h);
        if (!rec->whole && count % 2)
            while (warc_reader_read(r, piece, sizeof(piece), &got, NULL) == 0 &&
                   got)
                h = hash64(piece, got, h);
    }
    if (fresh)
        warc_reader_free(r);
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input whole = {data, size, 0, 0};
    struct input pieces = {data, size, 0, 7};
    struct input bounded = {data, size, 0, 0};
    if (size > 1 << 20)
        return 0;
    if (read_all(&whole, 0) != read_all(&pieces, 0))
        abort();
    read_all(&bounded, 100);
    return 0;
}
