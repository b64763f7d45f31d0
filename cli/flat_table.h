/* FlatBuffers, written front to back: what metadata of Arrow files is made of
 * (https://flatbuffers.dev/internals). Only what Arrow needs: tables, vectors
 * and strings; references point behind themselves, so an object is written
 * before what it refers to, and a reference is set when its object is there.
 *
 * Places are offsets in the buffer, which holds one message from its first
 * byte.
 *
 * Threads: one.
 */
#ifndef CLI_FLAT_TABLE_H
#define CLI_FLAT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/slice.h"

/* Fields of a table of Arrow: Field has seven. */
#define FLAT_FIELDS_MAX 8

struct flat_table {
    size_t at;                      /* Of the table. */
    size_t fields[FLAT_FIELDS_MAX]; /* Their places; 0: absent. */
};

/* The place of the first object, which flat_point() sets. PRE: @b is empty. */
size_t flat_begin(struct buf *b);

/* A table whose field i has @bytes[i] bytes (0: absent, 1, 2, 4 or 8), all
 * zero. References have 4. PRE: @count <= FLAT_FIELDS_MAX. */
struct flat_table
flat_add_table(struct buf *b, const uint8_t *bytes, size_t count);

/* A vector of @count elements of @bytes each, all zero; an element is at
 * *@first + index * @bytes. Returns the place of the vector. */
size_t
flat_add_vector(struct buf *b, size_t count, size_t bytes, size_t *first);
size_t flat_add_string(struct buf *b, struct slice text);

/* The reference at @from means the object at @to. PRE: @to > @from. */
void flat_point(struct buf *b, size_t from, size_t to);

static inline void flat_set8(struct buf *b, size_t at, uint8_t v)
{
    b->data[at] = (char)v;
}

static inline void flat_set16(struct buf *b, size_t at, uint16_t v)
{
    put_le16(b->data + at, v);
}

static inline void flat_set32(struct buf *b, size_t at, uint32_t v)
{
    put_le32(b->data + at, v);
}

static inline void flat_set64(struct buf *b, size_t at, uint64_t v)
{
    put_le64(b->data + at, v);
}

#endif /* CLI_FLAT_TABLE_H */
