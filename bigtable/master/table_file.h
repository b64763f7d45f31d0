/* The record of a table: a file of the lock service, read with its generation
 * and replaced on condition.
 *
 * One loop. Everything parks. */
#ifndef BIGTABLE_MASTER_TABLE_FILE_H
#define BIGTABLE_MASTER_TABLE_FILE_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/metadata.h"

struct master_term;

#define TABLE_PATH_BYTES                                                       \
    (sizeof(BIGTABLE_LOCK_TABLES) + TABLE_NAME_BYTES_MAX + 2)

/* A record, with the bytes that it borrows. */
struct table_file {
    char path[TABLE_PATH_BYTES];
    struct buf bytes;
    uint64_t generation; /* Of the file. */
    struct table_record record;
};

/* Read the record of table @name, also when it is being dropped. To be closed
 * in any case. Errors: ERR_NOTFOUND: there is none. */
MUST_CHECK int table_file_read(struct master_term *r,
                               struct slice name,
                               struct table_file *f,
                               struct err *err);
/* As table_file_read(), but a table that is being dropped does not exist. */
MUST_CHECK int table_file_find(struct master_term *r,
                               struct slice name,
                               struct table_file *f,
                               struct err *err);
/* Replace the record by @rec, which may borrow from @f. Errors: ERR_ABORTED: it
 * was written meanwhile. */
MUST_CHECK int table_file_write(struct master_term *r,
                                const struct table_file *f,
                                const struct table_record *rec,
                                struct err *err);
/* Frees the bytes. */
void table_file_close(struct table_file *f);

#endif /* BIGTABLE_MASTER_TABLE_FILE_H */
