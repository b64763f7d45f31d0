/* Adding SSTables that were written elsewhere to a table: bulk loads.
 *
 * All entries of such a file are cells numbered 0. Each is given one number,
 * fresh when the file is added (lsm/version.h), so that it counts as written
 * then: writers are kept out while what they wrote gets into SSTables and
 * the new files above them.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_STORE_ADD_FILES_H
#define BIGTABLE_STORE_ADD_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct fs;
struct schema;
struct store;
struct table_part;

struct new_file {
    const char *path; /* Where it is now, below the file system's root. */
    uint32_t group;   /* Id. */
    uint64_t bytes;
    uint64_t entries;
    struct slice first_key; /* Encoded. */
    struct slice last_key;
    /* Of a file that a store wrote, as struct lsm_table has them: its entries
     * are of all kinds, and numbered. Zeros: it is a load's. */
    uint64_t sequence_min;
    uint64_t sequence_max;
    /* Filled in by add_files(): */
    uint64_t number;
    uint32_t run; /* From 0: higher ones are above lower ones. */
};

/* How a file gets its number, and back: *@ctx is the caller's. Both park. */
struct file_mover {
    int (*place)(void *ctx, const struct new_file *f, struct err *err);
    void (*take_back)(void *ctx, const struct new_file *f);
    void *ctx;
};

struct add_counts {
    uint64_t tablets; /* That took files, */
    uint64_t before;  /* and that had taken the load before. */
    uint64_t files;   /* Placed. */
};

/* Read @f from end to end: is it an SSTable as described, with cells numbered
 * 0 of families of its group alone, or else entries with numbers in its bounds,
 * also of families that are no more? Parks. Errors: ERR_CORRUPT, with file,
 * place and reason; ERR_ABORTED: a family that is no more; ERR_NOTFOUND. */
MUST_CHECK int check_new_file(struct fs *fs,
                              const struct new_file *f,
                              const struct schema *schema,
                              struct err *err);

/* Add @files, the load number @load, to all tablets of @t whose rows they have,
 * at once; tablets that have taken it are left alone. Later ones in the array
 * are above earlier ones. In a tablet server a file may reach over the tablet.
 * Without files it only counts the tablets that have taken the load. Parks. On
 * error nothing is added here; in a tablet server, after an error of the
 * registry, who opens a tablet next may find the files. */
MUST_CHECK int add_files(struct store *s,
                         struct table_part *t,
                         uint64_t load,
                         struct new_file *files,
                         size_t count,
                         const struct file_mover *mover,
                         struct add_counts *counts,
                         struct err *err);

#endif /* BIGTABLE_STORE_ADD_FILES_H */
