/* The secondary indexes of a table, as its schema names them, and the check
 * that keeps them right: a change of an indexed column is taken only from a
 * writer that says it has kept every index of the present set
 * (docs/indexes.md).
 *
 * Such a writer also sets the row's mark, the cell INDEX_MARK of the hidden
 * family INDEX_FAMILY: a number that rises with each change of an indexed
 * column, and the version of the set that the writer kept.
 *
 * Life: a set is immutable and shared by reference count; a change of the
 * indexes makes a new one. Threads: any.
 *
 * Invariants
 *     INV-1  The version rises with each change of a table's set, and is kept
 *            when the last index is dropped.
 *     INV-2  Names and numbers differ inside a set; an index has at least one
 *            key column.
 */
#ifndef BIGTABLE_ROW_INDEX_SET_H
#define BIGTABLE_ROW_INDEX_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cursor;
struct quarry_mutation;
struct schema;

#define INDEX_FAMILY         ".index"
#define INDEX_GROUP          ".index"
#define INDEX_FAMILY_OPTIONS "versions=1,ttl=30d,group=" INDEX_GROUP
#define INDEX_MARK           "mark"
/* number:be64 version:be32 */
#define INDEX_MARK_BYTES 12

#define INDEX_NAME_BYTES_MAX 64
#define INDEX_COUNT_MAX      32
#define INDEX_COLUMNS_MAX    8

struct index_column {
    const char *family; /* Owned, as the qualifier's bytes. */
    struct slice qualifier;
};

enum index_state {
    INDEX_BUILDING = 1, /* Writers keep it; it has not all rows yet. */
    INDEX_READY = 2,
};

struct index_def {
    char name[INDEX_NAME_BYTES_MAX + 1];
    uint32_t number; /* Of its table: index_table_name(). */
    bool unique;
    enum index_state state;
    struct index_column *columns; /* Owned. */
    size_t column_count;
};

struct index_set {
    atomic_uint references;
    uint32_t version;
    struct index_def *defs; /* Owned. */
    size_t count;
};

struct index_set *index_set_ref(struct index_set *s); /* NULL is allowed. */
void index_set_unref(struct index_set *s);            /* NULL is allowed. */
/* NULL when there is none. Borrowed. */
const struct index_def *index_set_find(const struct index_set *s,
                                       const char *name);
bool index_column_eq(const struct index_column *a,
                     const struct index_column *b);
/* ".index.NAME.NUMBER" into @out, of TABLE_NAME_BYTES_MAX + 1 bytes. */
#define INDEX_TABLE_PREFIX ".index."
void index_table_name(const struct index_def *d, char *out);

/* Binary form, as schemas and changes of them keep it. Decoding bounds
 * everything and sets c->bad on malformed input. */
void index_def_encode(const struct index_def *d, struct buf *out);
void index_def_decode(struct cursor *c, struct index_def *out);
void index_def_close(struct index_def *d);
void index_set_encode(const struct index_set *s, struct buf *out);
/* *@out: one reference, the caller's; NULL when c->bad. */
void index_set_decode(struct cursor *c, struct index_set **out);

/* May @m be applied to a table with @s? ERR_CONFLICT: it changes an indexed
 * column and does not say that it keeps @s. */
MUST_CHECK int index_set_guard(const struct index_set *s,
                               const struct quarry_mutation *m,
                               struct err *err);
/* Does @m change a column of @d? */
bool index_def_is_touched(const struct index_def *d,
                          const struct quarry_mutation *m);
/* Has one of the indexes a column of @family? Its name, borrowed; or NULL. */
const char *index_set_of_family(const struct index_set *s, const char *family);

/* --- changes of a schema: schema.h says what they are -------------------- */

/* Add the index of @encoded, hexadecimal digits of its binary form, as
 * building; the table gets INDEX_FAMILY with its first. ERR_EXISTS,
 * ERR_NOTFOUND (a family), ERR_INVALID, ERR_TOOBIG. */
MUST_CHECK int schema_add_index(struct schema *s,
                                const char *name,
                                const char *encoded,
                                struct err *err);
/* The index @name, of table number @number, has all rows. ERR_NOTFOUND. */
MUST_CHECK int schema_ready_index(struct schema *s,
                                  const char *name,
                                  const char *number,
                                  struct err *err);
MUST_CHECK int
schema_drop_index(struct schema *s, const char *name, struct err *err);
/* A copy of the table, under another name: it has no indexes. */
void schema_forget_indexes(struct schema *s);

#endif /* BIGTABLE_ROW_INDEX_SET_H */
