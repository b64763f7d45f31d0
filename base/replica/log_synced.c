/* The file that says up to where a log is on the disk: see log_synced.h. */
#include "base/replica/log_synced.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/slice.h"
#include "base/runtime/world.h"

#define MAGIC      "QRRAFEND"
#define VERSION    1
#define SLOT_BYTES ((size_t)32)
#define SLOT_STEP  ((size_t)4096)
#define SLOT_COUNT 2
#define NAME       "synced"

STATIC_ASSERT(SLOT_BYTES == 8 + 4 + 4 + 2 * 8, "slot");

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

static uint32_t slot_crc(const char *p)
{
    return crc32c_extend(crc32c(p, 12), p + 16, SLOT_BYTES - 16);
}

/* Take what the slot at @p says if it says more. */
static int
take_slot(const char *p, uint64_t *segment, uint64_t *position, struct err *err)
{
    if (memcmp(p, MAGIC, 8) != 0 || get_le32(p + 12) != slot_crc(p))
        return 0;
    if (get_le32(p + 8) != VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       NAME ": format %u, newest known is %d", get_le32(p + 8),
                       VERSION);
    *segment = MAX_OF(*segment, get_le64(p + 16));
    *position = MAX_OF(*position, get_le64(p + 24));
    return 0;
}

int log_synced_read(struct world *w,
                    const char *directory,
                    uint64_t *segment,
                    uint64_t *position,
                    struct err *err)
{
    struct file *f;
    int rc = open_file(w, directory, FILE_READ, &f, err);
    *segment = *position = 0;
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    for (size_t i = 0; i < SLOT_COUNT && rc == 0; i++) {
        char slot[SLOT_BYTES];
        size_t got = 0;
        rc = file_read_at(f, i * SLOT_STEP, slot, sizeof(slot), &got, err);
        if (rc == 0 && got == sizeof(slot))
            rc = take_slot(slot, segment, position, err);
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

void log_synced_write(struct log_synced *s, uint64_t segment, uint64_t position)
{
    char bytes[SLOT_BYTES];
    struct slice part = slice_make(bytes, sizeof(bytes));
    if (!s->file)
        return;
    s->slot = (s->slot + 1) % SLOT_COUNT;
    memcpy(bytes, MAGIC, 8);
    put_le32(bytes + 8, VERSION);
    put_le64(bytes + 16, segment);
    put_le64(bytes + 24, position);
    put_le32(bytes + 12, slot_crc(bytes));
    if (file_write_at(s->file, s->slot * SLOT_STEP, &part, 1, NULL) != 0) {
        /* The other slot still holds. */
    }
}

int log_synced_sync(struct log_synced *s, struct err *err)
{
    return s->file ? file_sync(s->file, err) : 0;
}
