/* Two slots a page apart, written in turn, so that a torn write damages one and
 * leaves the other. See log_synced.h for what they promise.
 */
#include "base/replica/log_synced.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"

#define MAGIC          "QRRAFEND"
#define MAGIC_BYTES    ((size_t)8)
#define VERSION        2
#define SLOT_BYTES     ((size_t)40)
#define SLOT_BYTES_OLD ((size_t)32) /* Of version 1. */
#define NAME           "synced"

STATIC_ASSERT(SLOT_BYTES == 8 + 4 + 4 + 3 * 8, "slot");
STATIC_ASSERT(LOG_SYNCED_BYTES == LOG_SYNCED_STEP + SLOT_BYTES, "file");

static int open_file(struct world *w,
                     const char *directory,
                     unsigned flags,
                     struct file **out,
                     struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    buf_printf(&path, "%s/" NAME, directory);
    rc = file_open(w, buf_cstr(&path), flags, out, err);
    buf_close(&path);
    return rc;
}

static uint32_t slot_crc(const char *p, size_t len)
{
    PRE(len > 16);
    return crc32c_extend(crc32c(p, 12), p + 16, len - 16);
}

bool log_synced_is_one(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(MAGIC));
}

static bool is_whole(struct slice bytes, size_t len)
{
    return bytes.len >= len &&
           get_le32(bytes.data + 12) == slot_crc(bytes.data, len);
}

/* Both are true: keep the greater numbers. */
static void merge_reach(struct log_reach *r, const struct log_reach *more)
{
    if (more->segment > r->segment)
        r->bytes = more->bytes;
    else if (more->segment == r->segment)
        r->bytes = MAX_OF(r->bytes, more->bytes);
    r->segment = MAX_OF(r->segment, more->segment);
    r->position = MAX_OF(r->position, more->position);
    POST(r->segment >= more->segment);
}

int log_synced_take(struct slice bytes, struct log_reach *out, struct err *err)
{
    const char *p = bytes.data;
    struct log_reach r = {0};
    uint32_t version;
    if (bytes.len < SLOT_BYTES_OLD || !log_synced_is_one(bytes))
        return 0;
    version = get_le32(p + MAGIC_BYTES);
    if (!is_whole(bytes, version == 1 ? SLOT_BYTES_OLD : SLOT_BYTES))
        return 0;
    if (version == 0 || version > VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       NAME ": format %u, newest known is %d", version,
                       VERSION);
    r.segment = get_le64(p + 16);
    r.position = get_le64(p + 24);
    r.bytes = version == 1 ? 0 : get_le64(p + 32);
    merge_reach(out, &r);
    return 0;
}

int log_synced_read(struct world *w,
                    const char *directory,
                    struct log_reach *out,
                    struct err *err)
{
    struct file *f;
    int rc = open_file(w, directory, FILE_READ, &f, err);
    *out = (struct log_reach){0};
    PRE(directory[0]);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    for (size_t i = 0; i < LOG_SYNCED_SLOTS && rc == 0; i++) {
        char slot[SLOT_BYTES];
        size_t got = 0;
        rc =
            file_read_at(f, i * LOG_SYNCED_STEP, slot, sizeof(slot), &got, err);
        if (rc == 0)
            rc = log_synced_take(slice_make(slot, got), out, err);
    }
    file_close(f);
    if (rc)
        err_wrap(err, "%s", directory);
    return rc;
}

int log_synced_open(struct log_synced *s,
                    struct world *w,
                    const char *directory,
                    struct err *err)
{
    *s = (struct log_synced){0};
    return open_file(w, directory, FILE_READ | FILE_WRITE | FILE_CREATE,
                     &s->file, err);
}

void log_synced_close(struct log_synced *s)
{
    file_close(s->file);
    *s = (struct log_synced){0};
}

static int
write_slot(struct log_synced *s, const struct log_reach *r, struct err *err)
{
    char bytes[SLOT_BYTES];
    struct slice part = slice_make(bytes, sizeof(bytes));
    PRE(s->file);
    s->slot = (s->slot + 1) % LOG_SYNCED_SLOTS;
    memcpy(bytes, MAGIC, MAGIC_BYTES);
    put_le32(bytes + 8, VERSION);
    put_le64(bytes + 16, r->segment);
    put_le64(bytes + 24, r->position);
    put_le64(bytes + 32, r->bytes);
    put_le32(bytes + 12, slot_crc(bytes, sizeof(bytes)));
    return file_write_at(s->file, s->slot * LOG_SYNCED_STEP, &part, 1, err);
}

void log_synced_write(struct log_synced *s, const struct log_reach *r)
{
    /* If it fails, the other slot is still true. */
    if (s->file)
        (void)!write_slot(s, r, NULL);
}

int log_synced_begin(struct log_synced *s,
                     const struct log_reach *r,
                     struct err *err)
{
    int rc;
    PRE(r->segment > 0);
    if (!s->file)
        return 0;
    rc = write_slot(s, r, err);
    return rc ? rc : file_sync(s->file, err);
}
