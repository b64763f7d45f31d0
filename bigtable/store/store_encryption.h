/* Which of a store's files are encrypted, and with which data keys.
 *
 * Read off the files' own headers and footers: no key is needed.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_STORE_STORE_ENCRYPTION_H
#define BIGTABLE_STORE_STORE_ENCRYPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;

/* Files of a kind. */
struct encryption_count {
    uint64_t files;
    uint64_t bytes;
};

struct encryption_status {
    struct encryption_count plain;  /* Not encrypted. */
    struct encryption_count sealed; /* Encrypted, */
    struct encryption_count old;    /* of these with a key other than @key. */
};

/* Add the SSTables in the directory @dir of @fs to @out; @key is the data
 * key in use. ERR_NOTFOUND where there is no such directory counts as none. */
MUST_CHECK int encryption_count_tables(struct fs *fs,
                                       const char *dir,
                                       uint64_t key,
                                       struct encryption_status *out,
                                       struct err *err);
/* The same for segments of a commit log; which key they have is not looked at.
 */
MUST_CHECK int encryption_count_logs(struct fs *fs,
                                     const char *dir,
                                     struct encryption_status *out,
                                     struct err *err);

#endif /* BIGTABLE_STORE_STORE_ENCRYPTION_H */
