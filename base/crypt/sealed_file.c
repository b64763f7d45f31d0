/* A file that is encrypted in pieces of 64 KiB. A write inside a piece reads
 * it, changes it and seals it again as a whole; one piece is kept in memory
 * for that, which suits sequential writers. */
#include "base/crypt/sealed_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/crypt/sealer.h"
#include "base/runtime/world.h"

#define SEALED_FILE_MAGIC   "QRYSEALF"
#define SEALED_FILE_PURPOSE "quarry file of pieces"
#define SEALED_HEAD_BYTES   ((size_t)16)
#define STORED_PIECE_BYTES  (SEALED_PIECE_BYTES + UNIT_BYTES_MORE)

struct sealed_file {
    struct file *file;
    bool is_sealed;
    struct keyring *ring;       /* Shared. */
    struct unit_sealer *sealer; /* NULL until the first write. */
    struct unit_opener *opener;
    char *plain;  /* A piece, */
    char *stored; /* and its form in the file. */
};

/* --- opening ------------------------------------------------------------- */

static int write_file_head(struct sealed_file *f, struct err *err)
{
    char head[SEALED_HEAD_BYTES];
    struct slice part = slice_make(head, sizeof(head));

    memcpy(head, SEALED_FILE_MAGIC, 8);
    put_le32(head + 8, (uint32_t)SEALED_PIECE_BYTES);
    put_le32(head + 12, crc32c(head, 12));
    return file_write_at(f->file, 0, &part, 1, err);
}

/* Detect whether the file is sealed; an empty one becomes so if there are
 * keys. */
static int look_at_head(struct sealed_file *f, bool writes, struct err *err)
{
    char head[SEALED_HEAD_BYTES];
    size_t got = 0;
    int rc = file_read_at(f->file, 0, head, sizeof(head), &got, err);

    if (rc)
        return rc;
    if (got == 0 && f->ring && writes) {
        f->is_sealed = true;
        return write_file_head(f, err);
    }
    if (got < sizeof(head) || memcmp(head, SEALED_FILE_MAGIC, 8) != 0)
        return 0;
    f->is_sealed = true;
    if (get_le32(head + 12) != crc32c(head, 12) ||
        get_le32(head + 8) != SEALED_PIECE_BYTES)
        return err_set(err, ERR_CORRUPT, "offset 0: bad header");
    if (f->ring)
        return 0;
    err_set(err, ERR_DENIED, "it is encrypted, and there is no key for it");
    err_hint(err, "name the master key: [encryption] key-file or key-command");
    return ERR_DENIED;
}

int sealed_file_open(struct world *w,
                     const char *path,
                     unsigned flags,
                     struct keyring *k,
                     struct sealed_file **out,
                     struct err *err)
{
    struct sealed_file *f = mem_zalloc(1, sizeof(*f));
    bool writes = (flags & FILE_WRITE) != 0;
    int rc = file_open(w, path, flags | FILE_READ, &f->file, err);

    *out = NULL;
    f->ring = keyring_ref(k);
    if (rc == 0)
        rc = look_at_head(f, writes, err);
    if (rc) {
        sealed_file_close(f);
        return rc;
    }
    if (f->is_sealed) {
        f->opener = unit_opener_new(k, SEALED_FILE_PURPOSE);
        f->plain = mem_alloc(SEALED_PIECE_BYTES);
        f->stored = mem_alloc(STORED_PIECE_BYTES);
    }
    *out = f;
    return 0;
}

void sealed_file_close(struct sealed_file *f)
{
    if (!f)
        return;
    file_close(f->file);
    unit_sealer_free(f->sealer);
    unit_opener_free(f->opener);
    keyring_unref(f->ring);
    mem_free(f->plain);
    mem_free(f->stored);
    mem_free(f);
}

int sealed_file_sync(struct sealed_file *f, struct err *err)
{
    return file_sync(f->file, err);
}

/* --- pieces -------------------------------------------------------------- */

static uint64_t place_of(uint64_t piece)
{
    return SEALED_HEAD_BYTES + piece * STORED_PIECE_BYTES;
}

static struct slice piece_aad(uint64_t piece, char aad[8])
{
    put_le64(aad, piece);
    return slice_make(aad, 8);
}

/* Load the piece into `plain`; *@bytes is its length, 0 past the end. */
static int read_piece(struct sealed_file *f,
                      uint64_t piece,
                      size_t *bytes,
                      struct err *err)
{
    size_t got = 0;
    char aad[8];
    int rc = file_read_at(f->file, place_of(piece), f->stored,
                          STORED_PIECE_BYTES, &got, err);

    *bytes = 0;
    if (rc || got == 0)
        return rc;
    if (got > UNIT_BYTES_MORE)
        rc = unit_open(f->opener, piece_aad(piece, aad),
                       slice_make(f->stored, got), f->plain, err);
    else
        rc = err_set(err, ERR_CORRUPT, "cut short");
    if (rc)
        err_wrap(err, "offset %" PRIu64, place_of(piece));
    else
        *bytes = got - UNIT_BYTES_MORE;
    return rc;
}

static int write_piece(struct sealed_file *f,
                       uint64_t piece,
                       size_t bytes,
                       struct err *err)
{
    struct slice part = slice_make(f->stored, bytes + UNIT_BYTES_MORE);
    char aad[8];

    PRE(bytes > 0 && bytes <= SEALED_PIECE_BYTES);
    unit_seal(f->sealer, piece_aad(piece, aad), slice_make(f->plain, bytes),
              f->stored);
    return file_write_at(f->file, place_of(piece), &part, 1, err);
}

/* --- reading and writing ------------------------------------------------- */

int sealed_file_size(struct sealed_file *f, uint64_t *bytes, struct err *err)
{
    uint64_t rest;
    int rc = file_size(f->file, bytes, err);

    if (rc || !f->is_sealed)
        return rc;
    *bytes -= MIN_OF(*bytes, SEALED_HEAD_BYTES);
    rest = *bytes % STORED_PIECE_BYTES;
    *bytes = *bytes / STORED_PIECE_BYTES * SEALED_PIECE_BYTES;
    if (rest > UNIT_BYTES_MORE)
        *bytes += rest - UNIT_BYTES_MORE;
    return 0;
}

int sealed_file_read_at(struct sealed_file *f,
                        uint64_t offset,
                        void *dst,
                        size_t len,
                        size_t *got,
                        struct err *err)
{
    char *to = dst;
    int rc = 0;

    if (!f->is_sealed)
        return file_read_at(f->file, offset, dst, len, got, err);
    *got = 0;
    while (rc == 0 && *got < len) {
        size_t at = (size_t)(offset % SEALED_PIECE_BYTES);
        size_t bytes;
        size_t n;
        rc = read_piece(f, offset / SEALED_PIECE_BYTES, &bytes, err);
        if (rc || bytes <= at)
            break;
        n = MIN_OF(bytes - at, len - *got);
        memcpy(to + *got, f->plain + at, n);
        *got += n;
        offset += n;
    }
    return rc;
}

int sealed_file_write_at(struct sealed_file *f,
                         uint64_t offset,
                         struct slice bytes,
                         struct err *err)
{
    int rc = 0;

    if (!f->is_sealed)
        return file_write_at(f->file, offset, &bytes, 1, err);
    if (!f->sealer)
        rc = unit_sealer_new(f->ring, SEALED_FILE_PURPOSE, &f->sealer, err);
    while (rc == 0 && bytes.len) {
        uint64_t piece = offset / SEALED_PIECE_BYTES;
        size_t at = (size_t)(offset % SEALED_PIECE_BYTES);
        size_t n = MIN_OF(SEALED_PIECE_BYTES - at, bytes.len);
        size_t had = 0;
        if (n < SEALED_PIECE_BYTES)
            rc = read_piece(f, piece, &had, err);
        if (rc == 0 && had < at)
            rc = err_set(err, ERR_CORRUPT,
                         "bytes before %" PRIu64 " are missing", offset);
        if (rc)
            break;
        memcpy(f->plain + at, bytes.data, n);
        rc = write_piece(f, piece, MAX_OF(had, at + n), err);
        bytes = slice_sub(bytes, n, bytes.len);
        offset += n;
    }
    return rc;
}
