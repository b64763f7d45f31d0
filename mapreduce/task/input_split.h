/* A split: the piece of one input that a map task reads.
 *
 * A byte range of a text file, some blocks of a record file, a whole compressed
 * file, or a range of rows. Plain data: it travels in task
 * specs to the machine where the task runs, and is written into the job's
 * journal. Cutting inputs into splits and reading them is input/.
 *
 * Invariants
 *     INV-1. begin <= end; rows use first_row and end_row instead.
 *     INV-2. machines has no NULL before a name, and no name twice.
 *
 * Any thread, one at a time. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_INPUT_SPLIT_H
#define MAPREDUCE_TASK_INPUT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "mapreduce/records/byte_source.h"

struct cursor;

#define INPUT_MACHINES_MAX 3

struct input_split {
    unsigned input;                    /* Index of the SPEC. */
    enum byte_compression compression; /* Text only. */
    bool unindexed;                    /* A record file that lost its index. */
    char *path;                        /* File or table. Owned. */
    char *snapshot; /* The table that holds what `path` was when the job began;
                       NULL: `path` itself is read. Owned. */
    uint64_t begin; /* Bytes [begin, end) of the file. */
    uint64_t end;
    struct buf first_row; /* Rows [first_row, end_row) of the table. */
    struct buf end_row;
    uint64_t bytes; /* About how much there is to read. */
    /* Machines that have it, best first; NULL after the last. Owned. */
    char *machines[INPUT_MACHINES_MAX];
};

struct input_splits {
    struct input_split *at; /* Owned. */
    size_t count;
    size_t cap;
};

/* An empty list. */
void input_splits_init(struct input_splits *s);
/* Close the splits and release the array; the list is empty again. */
void input_splits_close(struct input_splits *s);
/* A new split at the end, zeroed but for its input and a copy of @path. Valid
 * until the next one is added. */
struct input_split *
input_splits_add(struct input_splits *s, unsigned input, const char *path);

/* Append the bytes of @s to @out. */
void input_split_encode(const struct input_split *s, struct buf *out);
/* Read what input_split_encode() wrote. Sets in->bad when malformed; close @s
 * in any case. */
void input_split_decode(struct input_split *s, struct cursor *in);
void input_split_close(struct input_split *s);
/* Add a machine that has the split; ignored once all places are taken, and when
 * it is in the list already. */
void input_split_place(struct input_split *s, const char *machine);
/* "logs/a.txt, bytes 0 to 67108864" appended to @out, for messages. */
void input_split_describe(const struct input_split *s, struct buf *out);

#endif /* MAPREDUCE_TASK_INPUT_SPLIT_H */
