/* How many users each SSTable has: tablets that list it (a split shares),
 * old tablets that are still read, pins. The last one to let go deletes it.
 *
 * Threads: any; a mutex inside.
 */
#ifndef BIGTABLE_STORE_FILE_REFS_H
#define BIGTABLE_STORE_FILE_REFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/runtime/sync.h"

struct file_ref {
    uint64_t number;
    uint32_t count;
};

struct file_refs {
    struct mutex lock;
    struct file_ref *refs; /* By number. Owned. */
    size_t count;
    size_t cap;
};

void file_refs_init(struct file_refs *r);
void file_refs_close(struct file_refs *r);
void file_refs_add(struct file_refs *r, uint64_t number);
/* True when that was the last use. PRE: it was added. */
bool file_refs_drop(struct file_refs *r, uint64_t number);

#endif /* BIGTABLE_STORE_FILE_REFS_H */
