/* Numbers of SSTables: given out once, and which of them are undecided:
 * their file is being written, or no tablet refers to it yet. A sweep for
 * strays leaves those alone.
 *
 * Threads: any. Nothing parks but for a moment.
 *
 * Invariants
 *     INV-1. A number is given out once; numbers only rise.
 *     INV-2. Undecided numbers were given out: they are below the next one.
 */
#ifndef BIGTABLE_STORE_FILE_NUMBERS_H
#define BIGTABLE_STORE_FILE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/runtime/sync.h"

struct file_numbers {
    struct mutex lock;
    uint64_t next;
    uint64_t *undecided; /* In no order. */
    size_t count;
    size_t cap;
};

void file_numbers_init(struct file_numbers *f, uint64_t first);
void file_numbers_close(struct file_numbers *f);

/* None from now on is below @first. */
void file_numbers_begin_at(struct file_numbers *f, uint64_t first);
/* A number that was never given out, undecided. */
uint64_t file_numbers_take(struct file_numbers *f);
/* The file @number is named, or never will be. */
void file_numbers_decide(struct file_numbers *f, uint64_t number);
/* The number after the last that was given out. */
uint64_t file_numbers_next(struct file_numbers *f);
/* All below are decided. */
uint64_t file_numbers_decided(struct file_numbers *f);

#endif /* BIGTABLE_STORE_FILE_NUMBERS_H */
