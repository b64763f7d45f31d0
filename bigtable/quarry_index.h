/* Secondary indexes: rows found by the values of their columns.
 * docs/indexes.md has the promise.
 *
 *     struct quarry_index_column by[] = {{"person", SLICE_LIT("mail")}};
 *     struct quarry_index_spec spec = {.table = "people", .name = "mail",
 *                                      .columns = by, .column_count = 1};
 *     quarry_index_create(q, &spec, NULL, NULL, &err)          once
 *     …
 *     struct slice wanted[] = {SLICE_LIT("ann@example.org")};
 *     struct quarry_index_query query = {.index = "mail", .equal = wanted,
 *                                        .equal_count = 1};
 *     quarry_index_scan(people, &query, NULL, &rows, &err)
 *     while (quarry_scanner_next(rows, &row, &err) == 0 && row)
 *         …
 *     quarry_scanner_close(rows)
 *
 * The newest cell of each column is indexed, as reads with versions=1 show it.
 * A row is in the index if it has the first column.
 *
 * From its creation on, an index is kept by every call of quarry.h that changes
 * rows of the table; transactions too. A write that cannot keep it is refused:
 * bulk loads (ERR_UNSUPPORTED), old programs (ERR_CONFLICT), changes of the
 * rules of an indexed family.
 *
 * Threads: any; a scanner is used by one at a time. Calls that reach the store
 * park a fiber or block a thread. Errors: as in quarry.h, and as said here.
 * ERR_EXISTS of a write: a unique index has another row with the value.
 */
#ifndef BIGTABLE_QUARRY_INDEX_H
#define BIGTABLE_QUARRY_INDEX_H

#include "bigtable/quarry.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUARRY_INDEX_COLUMNS_MAX 8

struct quarry_index_column {
    const char *family;
    struct slice qualifier;
};

struct quarry_index_spec {
    const char *table;
    const char *name; /* Letters, digits, '_' and '-': up to 64. */
    const struct quarry_index_column *columns;
    size_t column_count; /* 1 to QUARRY_INDEX_COLUMNS_MAX. */
    bool unique;         /* No two rows that have all columns have the same
                            values in them. */
};

/* How far a build or a check is; false ends it with ERR_CANCELLED. */
typedef bool (*quarry_index_progress)(void *ctx, uint64_t rows);

/* Make an index and fill it, while the table is read and written. If it stops
 * on the way (also by a crash), the index stays "building", and the same call
 * continues. ERR_EXISTS: another of that name, or (unique) two rows have the
 * same values, which are named. @progress may be NULL. */
QUARRY_EXPORT MUST_CHECK int
quarry_index_create(struct quarry *q,
                    const struct quarry_index_spec *spec,
                    quarry_index_progress progress,
                    void *ctx,
                    struct err *err);
/* ERR_NOTFOUND lists those there are. */
QUARRY_EXPORT MUST_CHECK int quarry_index_drop(struct quarry *q,
                                               const char *table,
                                               const char *name,
                                               struct err *err);
/* Make it again from the table's rows, into a new table. Meanwhile it is
 * building: look-ups fail. */
QUARRY_EXPORT MUST_CHECK int
quarry_index_rebuild(struct quarry *q,
                     const char *table,
                     const char *name,
                     quarry_index_progress progress,
                     void *ctx,
                     struct err *err);

struct quarry_index_info {
    const char *table; /* Borrowed from the list, as all. */
    const char *name;
    const struct quarry_index_column *columns;
    size_t column_count;
    bool unique;
    bool ready;
    const char *entries; /* The table of its entries. */
};

struct quarry_index_list {
    const struct quarry_index_info *list; /* By the table's name, and age. */
    size_t count;
};

/* Those of @table; NULL: of all tables. Owned: quarry_index_list_free(). */
QUARRY_EXPORT MUST_CHECK int quarry_index_list(struct quarry *q,
                                               const char *table,
                                               struct quarry_index_list **out,
                                               struct err *err);
QUARRY_EXPORT void quarry_index_list_free(struct quarry_index_list *l);

/* --- looking up ---------------------------------------------------------- */

/* Rows whose first @equal_count columns have these values, and whose next
 * column, if one of the bounds is given, has a value between them. */
struct quarry_index_query {
    const char *index; /* NULL: @column says which; it must be the first. */
    const struct quarry_index_column *column;
    const struct slice *equal;
    size_t equal_count;
    enum quarry_bound lower_kind; /* QUARRY_UNBOUNDED, …CLOSED, …OPEN. */
    struct slice lower;
    enum quarry_bound upper_kind;
    struct slice upper;
    struct slice prefix; /* Instead of bounds: values that begin with it; empty:
                            none. */
};

/* The rows, in the order of their values, then of their keys, as @options (NULL
 * allowed) would show them to quarry_scan(); ranges, keys, progress_rows and
 * explain are not looked at, and a program or `reversed` is ERR_UNSUPPORTED.
 * Each row is looked at again where it is stored: what is returned has the
 * values at that moment. A row that had them all the while is returned once; of
 * one that changes meanwhile it is open. ERR_NOTFOUND: no such index;
 * ERR_UNSUPPORTED: it is being built. */
QUARRY_EXPORT MUST_CHECK int
quarry_index_scan(struct quarry_table *t,
                  const struct quarry_index_query *query,
                  const struct quarry_read_options *options,
                  struct quarry_scanner **out,
                  struct err *err);

/* --- checking ------------------------------------------------------------ */

struct quarry_index_report {
    uint64_t rows;    /* That have the first column. */
    uint64_t entries; /* Of the index. */
    uint64_t missing; /* Rows without their entry: a defect. */
    uint64_t stale;   /* Entries of values that rows have no more: left by
                         writers that died; look-ups skip them. */
    uint64_t twice;   /* Of a unique index: rows with another's value. */
    uint64_t mended;
};

/* Compare table and index in both directions, while both are written; with
 * @mend remove what is stale and add what is missing. */
QUARRY_EXPORT MUST_CHECK int quarry_index_check(struct quarry *q,
                                                const char *table,
                                                const char *name,
                                                bool mend,
                                                struct quarry_index_report *out,
                                                quarry_index_progress progress,
                                                void *ctx,
                                                struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_INDEX_H */
