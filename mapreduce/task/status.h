/* A page shared between an attempt and the job master: how far the attempt is,
 * and which record it is at, readable after the record killed it.
 *
 * The attempt alone writes it, one relaxed store per field: the reader needs a
 * recent view while the attempt runs, and an exact one only once it is dead.
 */
#ifndef MAPREDUCE_TASK_STATUS_H
#define MAPREDUCE_TASK_STATUS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/core/slice.h"

#define STATUS_NOTE_BYTES 160

enum status_stage {
    STATUS_IDLE,
    STATUS_SETUP,  /* In the runtime or the job's setup(). */
    STATUS_RECORD, /* In map() or reduce() of the record named below. */
    STATUS_FINISH, /* In map_end(), reduce_end(), or the runtime. */
};

struct task_status {
    atomic_uint stage;
    atomic_uint reducing;  /* The record is a group. */
    atomic_ullong records; /* Done, of map and reduce. */
    atomic_ullong bytes;   /* Of the split. */
    atomic_ullong values;  /* Given to reduce(). */
    atomic_ullong total;   /* Bytes of the split or values of the partition. */
    atomic_ullong number;  /* Of the record in its split or partition. */
    atomic_ullong offset;  /* Of the record in its file. */
    atomic_uint note_bytes;
    char note[STATUS_NOTE_BYTES]; /* Its key, or what mr_note() said. */
};

#define STATUS_SET(s, field, value)                                            \
    atomic_store_explicit(&(s)->field, (value), memory_order_relaxed)
#define STATUS_GET(s, field)                                                   \
    atomic_load_explicit(&(s)->field, memory_order_relaxed)

/* Copy the start of @text into the note. The length is 0 meanwhile, so that a
 * reader never takes a mixture for the note. */
static inline void status_note(struct task_status *s, struct slice text)
{
    size_t n = text.len < STATUS_NOTE_BYTES ? text.len : STATUS_NOTE_BYTES;
    STATUS_SET(s, note_bytes, 0);
    if (n > 0)
        memcpy(s->note, text.data, n);
    STATUS_SET(s, note_bytes, (unsigned)n);
}

#endif /* MAPREDUCE_TASK_STATUS_H */
