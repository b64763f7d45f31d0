/* Direct writes need aligned memory, offsets and lengths; `blocks` has all
 * three. It holds what the last write ended with, because the next one begins
 * within the same block.
 */
#include "base/replica/log_file.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"

static uint64_t round_down(uint64_t offset)
{
    return offset / FILE_DIRECT_ALIGN * FILE_DIRECT_ALIGN;
}

static size_t round_up(size_t bytes)
{
    PRE(bytes <= SIZE_MAX - FILE_DIRECT_ALIGN);
    return (bytes + FILE_DIRECT_ALIGN - 1) / FILE_DIRECT_ALIGN *
           FILE_DIRECT_ALIGN;
}

/* Aligned, within *@memory, which is to be freed; NULL: no memory. */
static char *alloc_blocks(size_t bytes, char **memory)
{
    uintptr_t at;
    PRE(bytes % FILE_DIRECT_ALIGN == 0);
    *memory = mem_try_alloc(bytes + FILE_DIRECT_ALIGN);
    if (!*memory)
        return NULL;
    at = (uintptr_t)*memory % FILE_DIRECT_ALIGN;
    return *memory + (at ? FILE_DIRECT_ALIGN - at : 0);
}

/* Room for @bytes; the present ones stay. */
static int log_file_reserve(struct log_file *f, size_t bytes, struct err *err)
{
    size_t cap = round_up(MAX_OF(bytes, f->cap + f->cap / 2));
    char *memory;
    char *blocks;
    if (bytes <= f->cap)
        return 0;
    blocks = alloc_blocks(cap, &memory);
    if (!blocks)
        return err_set(err, ERR_NOMEM, "no memory for %zu bytes", cap);
    if (f->cap)
        memcpy(blocks, f->blocks, f->cap);
    mem_free(f->memory);
    f->memory = memory;
    f->blocks = blocks;
    f->cap = cap;
    POST(f->cap >= bytes && (uintptr_t)f->blocks % FILE_DIRECT_ALIGN == 0);
    return 0;
}

/* --- life ---------------------------------------------------------------- */

static int open_file(struct log_file *f,
                     struct world *w,
                     const char *path,
                     unsigned flags,
                     struct err *err)
{
    int rc = log_file_reserve(f, FILE_DIRECT_ALIGN, err);
    f->begin = 0;
    f->bytes = 0;
    if (rc)
        return rc;
    memset(f->blocks, 0, FILE_DIRECT_ALIGN);
    INVARIANT(f->cap >= FILE_DIRECT_ALIGN);
    return file_open(w, path, FILE_READ | FILE_WRITE | FILE_DIRECT | flags,
                     &f->file, err);
}

int log_file_create(struct log_file *f,
                    struct world *w,
                    const char *path,
                    uint64_t size,
                    struct err *err)
{
    int rc = open_file(f, w, path, FILE_CREATE | FILE_TRUNCATE, err);
    PRE(path[0]);
    if (rc == 0 && size)
        rc = file_truncate(f->file, size, err);
    if (rc)
        log_file_close(f);
    POST(rc == 0 || !f->file);
    return rc;
}

/* Read [@begin, @end), @len bytes with zeros behind the end of the file. */
static int read_blocks(struct log_file *f,
                       uint64_t begin,
                       size_t len,
                       char *blocks,
                       size_t wanted,
                       struct err *err)
{
    size_t got = 0;
    int rc = file_read_at(f->file, begin, blocks, len, &got, err);
    PRE(begin % FILE_DIRECT_ALIGN == 0);
    PRE(len % FILE_DIRECT_ALIGN == 0);
    PRE(wanted <= len);
    if (rc == 0 && got < wanted)
        rc = err_set(err, ERR_IO, "cut short while it was read");
    if (rc == 0)
        memset(blocks + got, 0, len - got);
    return rc;
}

/* Write the blocks that [@begin, @end) lies in again. */
static int log_file_rewrite(struct log_file *f,
                            uint64_t begin,
                            uint64_t end,
                            struct err *err)
{
    uint64_t first = round_down(begin);
    size_t len = round_up((size_t)(end - first));
    char *memory;
    char *blocks = alloc_blocks(len, &memory);
    struct slice part = slice_make(blocks, len);
    int rc;
    PRE(begin < end);
    if (!blocks)
        return err_set(err, ERR_NOMEM, "no memory for %zu bytes", len);
    rc = read_blocks(f, first, len, blocks, (size_t)(end - first), err);
    if (rc == 0)
        rc = file_write_at(f->file, first, &part, 1, err);
    if (rc == 0)
        f->bytes = MAX_OF(f->bytes, first + len);
    mem_free(memory);
    return rc;
}

/* Keep the block that @offset lies in. */
static int continue_at(struct log_file *f, uint64_t offset, struct err *err)
{
    PRE(f->cap >= FILE_DIRECT_ALIGN);
    f->begin = round_down(offset);
    return read_blocks(f, f->begin, FILE_DIRECT_ALIGN, f->blocks,
                       (size_t)(offset - f->begin), err);
}

int log_file_open(struct log_file *f,
                  struct world *w,
                  const char *path,
                  uint64_t begin,
                  uint64_t offset,
                  uint64_t size,
                  struct err *err)
{
    uint64_t has;
    int rc = open_file(f, w, path, 0, err);
    PRE(begin <= offset);
    if (rc)
        return rc;
    rc = file_size(f->file, &has, err);
    if (rc == 0 && has < size)
        rc = file_truncate(f->file, size, err);
    /* A hole may follow: zeros are written there before records are. */
    f->bytes = round_down(offset);
    if (rc == 0)
        rc = log_file_rewrite(f, 0, 1, err);
    if (rc == 0 && begin < offset)
        rc = log_file_rewrite(f, begin, offset, err);
    if (rc == 0)
        rc = continue_at(f, offset, err);
    if (rc)
        log_file_close(f);
    return rc;
}

void log_file_close(struct log_file *f)
{
    file_close(f->file);
    mem_free(f->memory);
    *f = (struct log_file){0};
}

/* --- writing ------------------------------------------------------------- */

/* The block that @offset lies in becomes the first that is kept. */
static void log_file_shift(struct log_file *f, uint64_t offset)
{
    uint64_t begin = round_down(offset);
    /* At a block's begin nothing before it is needed. */
    if (offset > begin) {
        PRE(begin >= f->begin && begin - f->begin < f->cap);
        memmove(f->blocks, f->blocks + (begin - f->begin), FILE_DIRECT_ALIGN);
    }
    f->begin = begin;
    POST(f->begin % FILE_DIRECT_ALIGN == 0);
}

int log_file_write(struct log_file *f,
                   uint64_t offset,
                   struct slice bytes,
                   size_t zeros,
                   struct err *err)
{
    size_t skip = (size_t)(offset - round_down(offset));
    size_t len = round_up(skip + bytes.len + zeros);
    struct slice part;
    int rc = log_file_reserve(f, len, err);
    PRE(f->file);
    if (rc)
        return rc;
    log_file_shift(f, offset);
    memcpy(f->blocks + skip, bytes.data, bytes.len);
    memset(f->blocks + skip + bytes.len, 0, len - skip - bytes.len);
    part = slice_make(f->blocks, len);
    rc = file_write_at(f->file, f->begin, &part, 1, err);
    if (rc == 0)
        f->bytes = MAX_OF(f->bytes, f->begin + len);
    return rc;
}

int log_file_sync(struct log_file *f, struct err *err)
{
    PRE(f->file);
    return file_sync(f->file, err);
}
