/* The manifest of a backup: the tables, and the files that they consist of.
 *
 *     file   = "QRYBKUP1" sha-256 of the rest (32 bytes), body
 *     body   = MessagePack: [name, created µs, source, KEYS or empty, tables,
 *              files, archives]
 *     tables = [[name, record]…]        record: wire/snapshot_record.h
 *     files  = [[number, bytes, modified µs, tail, sha-256]…]
 *     archives = [[ID, number]…], one a table: the file of its archive
 *              (backup_archive.h) that was the next when the backup began; ID
 * 0: none. Older programs neither write nor read it.
 *
 * Numbers are those in the records. `modified` and `tail`, a hash of the file's
 * last 64 KiB, tell a later backup that a file of the store is the same one
 * without reading it.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_BACKUP_BACKUP_MANIFEST_H
#define BIGTABLE_BACKUP_BACKUP_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/crypt/sha256.h"

struct arena;
struct buf;

#define BACKUP_MAGIC "QRYBKUP1"
/* A manifest: 100,000 tablets of hundreds of files. */
#define BACKUP_MANIFEST_BYTES_MAX ((size_t)1 << 30)
#define BACKUP_TABLES_MAX         ((size_t)65536)
#define BACKUP_SOURCE_BYTES_MAX   ((size_t)4096)

struct backup_file {
    uint64_t number; /* Of the source. */
    uint64_t bytes;
    uint64_t modified_us;
    uint64_t tail;
    unsigned char digest[SHA256_BYTES];
};

struct backup_table {
    struct slice name;
    struct slice record;
    uint64_t archive_id; /* 0: none. */
    uint64_t archive_number;
};

struct backup_manifest {
    struct slice name;
    uint64_t created_us;
    struct slice source; /* For people. */
    struct slice keys;   /* The source's KEYS; empty: it is not encrypted. */
    struct backup_table *tables;
    size_t table_count;
    struct backup_file *files; /* By number. */
    size_t file_count;
};

/* The whole file, appended. */
void backup_manifest_put(const struct backup_manifest *m, struct buf *out);
/* Decode a file; @m borrows from @in, and its arrays are in @a. ERR_CORRUPT,
 * also when a record cannot be read or names a file that is not listed. */
MUST_CHECK int backup_manifest_get(struct slice in,
                                   struct arena *a,
                                   struct backup_manifest *m,
                                   struct err *err);
/* The file @number; NULL: there is none. */
const struct backup_file *backup_manifest_file(const struct backup_manifest *m,
                                               uint64_t number);
/* As a table's name, but not with a '.' first. ERR_INVALID. */
MUST_CHECK int backup_check_name(struct slice name, struct err *err);

#endif /* BIGTABLE_BACKUP_BACKUP_MANIFEST_H */
