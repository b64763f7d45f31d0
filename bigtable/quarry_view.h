/* Materialized views: the results of a Sawzall program over all rows of a
 * table, kept up to date while the table changes. docs/views.md has the
 * promise.
 *
 *     struct quarry_view_spec spec = {.name = "hits", .table = "logs",
 *                                     .program = slice_str(text)};
 *     quarry_view_create(q, &spec, &err)             once
 *     …
 *     quarry_view_read(q, "hits", 0, &rows, &err)
 *     saw_run_print(quarry_view_rows_run(rows), &text)
 *     quarry_view_rows_close(rows)
 *
 * A view is a follower of its table (bigtable/follow/follow.h): a process that
 * hosts followers maintains it, a `quarry server` for example. Its state is in
 * a table of its own, ".view.NAME".
 *
 * Threads: any; a struct quarry_view_rows is one thread's at a time. Everything
 * parks a fiber or blocks a thread.
 *
 * Errors, beside those of quarry.h:
 *   ERR_NOTFOUND   there is no such view
 *   ERR_CONFLICT   it was changed again and again while it was read
 */
#ifndef BIGTABLE_QUARRY_VIEW_H
#define BIGTABLE_QUARRY_VIEW_H

#include "bigtable/quarry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quarry_view_rows;
struct quarry_view_scan;
struct saw_run;

/* --- rows of views ------------------------------------------------------- */

enum quarry_view_type {
    QUARRY_VIEW_TEXT, /* UTF-8. */
    QUARRY_VIEW_BYTES,
    QUARRY_VIEW_INT,
    QUARRY_VIEW_FLOAT,
    QUARRY_VIEW_BOOL,
    QUARRY_VIEW_TIME, /* An int: µs since 1970. */
};

/* How a column of a view's rows is made of the tables of its program, whose
 * groups are the keys of the first one. */
enum quarry_view_source {
    QUARRY_VIEW_KEY,     /* A column of the index, */
    QUARRY_VIEW_COUNT,   /* a value, 0 where there is none, */
    QUARRY_VIEW_VALUE,   /* or NULL there, or where `count` is 0, */
    QUARRY_VIEW_AVERAGE, /* or a value divided by `count`. */
};

/* A field of the elements of a table; 0 if they are no tuples. */
struct quarry_view_place {
    const char *kind; /* "sum", "maximum" or "minimum"; NULL: no place. */
    unsigned table;   /* In the order of their declarations. */
    unsigned field;
};

/* Every table has the same index; a column of it is { null: bool, v: T }. */
struct quarry_view_item {
    const char *name;
    enum quarry_view_type type;
    enum quarry_view_source source;
    unsigned key; /* Of a key: the number of its column in the index. */
    struct quarry_view_place value;
    struct quarry_view_place count;
};

#define QUARRY_VIEW_ITEMS_MAX 64

/* --- making -------------------------------------------------------------- */

struct quarry_view_spec {
    const char *name;     /* [a-z0-9_.-]{1,64} */
    const char *table;    /* Keeps its changes. With @sql: NULL, or the same. */
    struct slice program; /* Sawzall: r: Row = input; … */
    /* Instead of @program: SELECT … FROM … GROUP BY …. NULL: none. */
    const char *sql;
    /* With @program, of a view that was translated from another language: how
     * its rows are made, */
    const struct quarry_view_item *items;
    size_t item_count;
    const char *text;     /* what it was translated from, */
    const char *resource; /* and whose it is. NULL: a user's. */
};

/* Make a view. It is built, and maintained from then on, by a process that
 * hosts followers. Errors: ERR_EXISTS; ERR_INVALID: the name, or a program that
 * does not compile or cannot be maintained (the text says why); ERR_NOTFOUND:
 * the table; ERR_UNSUPPORTED: it keeps no changes, or of the SQL what views do
 * not do. */
QUARRY_EXPORT MUST_CHECK int
quarry_view_create(struct quarry *q,
                   const struct quarry_view_spec *spec,
                   struct err *err);
QUARRY_EXPORT MUST_CHECK int
quarry_view_drop(struct quarry *q, const char *name, struct err *err);

enum quarry_view_state {
    QUARRY_VIEW_BUILDING, /* Not all rows are in it yet. */
    QUARRY_VIEW_READY,
};

struct quarry_view_info {
    const char *name;
    const char *table;
    const char *program;  /* Of a view by SQL: what it was translated to. */
    const char *sql;      /* "": it is not by SQL. */
    const char *resource; /* Of the spec; "". */
    enum quarry_view_state state;
    bool paused;
    bool running;        /* A process maintains it now. */
    int64_t caught_us;   /* Commits up to this time are in it; 0: unknown. */
    uint64_t rows;       /* Of the table, that it has a contribution of; */
    uint64_t failed;     /* the number of these that the program failed on. */
    const char *failure; /* Why, of the last of these; "". */
    uint64_t groups;     /* Keys of all tables of the program. */
    uint64_t builds;     /* Times that it was built. */
    const char *error;   /* Why nobody can maintain it; "". */
    void *owner;         /* Of the texts. */
};

/* One, or all by name. Owned: quarry_view_infos_free(). */
QUARRY_EXPORT MUST_CHECK int quarry_view_describe(struct quarry *q,
                                                  const char *name,
                                                  struct quarry_view_info **out,
                                                  struct err *err);
QUARRY_EXPORT MUST_CHECK int quarry_view_list(struct quarry *q,
                                              struct quarry_view_info **out,
                                              size_t *count,
                                              struct err *err);
/* NULL is allowed. */
QUARRY_EXPORT void quarry_view_infos_free(struct quarry_view_info *list,
                                          size_t count);

/* Go through all rows of the table again: after bulk loads and dropped ranges
 * of rows, which are not told as changes. Reads meanwhile are right but for
 * these. */
QUARRY_EXPORT MUST_CHECK int
quarry_view_refresh(struct quarry *q, const char *name, struct err *err);

/* The results as of one moment, which may be behind the table's. @bytes_max: of
 * memory, 0: 512 MiB. *@out is owned: quarry_view_rows_close(). ERR_BUSY: the
 * view is still being built for the first time; ERR_EXHAUSTED: they need more
 * memory. */
QUARRY_EXPORT MUST_CHECK int quarry_view_read(struct quarry *q,
                                              const char *name,
                                              uint64_t bytes_max,
                                              struct quarry_view_rows **out,
                                              struct err *err);
/* The run of sawzall-lite/sawzall.h whose tables are the results; borrowed. */
QUARRY_EXPORT struct saw_run *
quarry_view_rows_run(struct quarry_view_rows *rows);

/* Of a view by SQL, the same as rows of its SELECT, in the order of their keys.
 */
struct quarry_view_cell {
    struct slice text;
    bool null;
};

/* Names of the columns, borrowed; their number is returned: 0 of a view that is
 * not by SQL. */
QUARRY_EXPORT size_t
quarry_view_rows_columns(const struct quarry_view_rows *rows,
                         const char *const **names);
QUARRY_EXPORT size_t
quarry_view_rows_count(const struct quarry_view_rows *rows);
/* Row @index, a cell for each column; borrowed until the next call. */
QUARRY_EXPORT const struct quarry_view_cell *
quarry_view_rows_at(struct quarry_view_rows *rows, size_t index);

QUARRY_EXPORT void quarry_view_rows_close(struct quarry_view_rows *rows);

/* --- rows, one after the other ------------------------------------------- */

struct quarry_view_column {
    const char *name;
    enum quarry_view_type type;
    bool is_key;
};

struct quarry_view_value {
    bool null;
    int64_t integer;    /* Of INT, BOOL and TIME, */
    double real;        /* FLOAT, */
    struct slice bytes; /* TEXT and BYTES. */
};

struct quarry_view_scan_options {
    /* Of a view by a program: whose results; NULL: those of its only table. */
    const char *table;
    /* Fail with ERR_BUSY unless a process maintains the view, and no rows are
     * gone through again. */
    bool maintained;
    const char *resource; /* ERR_NOTFOUND unless it is this one's; NULL: any. */
    bool source_rights;   /* ERR_DENIED unless all of the table may be read. */
};

/* Read the rows of a view in the order of their keys, all as of one moment,
 * without holding more of them than one group's. A view by a program has a row
 * for each line of the results of one of its tables, which @name may end with,
 * behind a dot: "hits.by_day". @opts may be NULL.
 * *@out is owned: quarry_view_scan_close(); it reads for ten minutes at most
 * (ERR_TOO_OLD). Errors: ERR_BUSY: it is still being built; ERR_INVALID: which
 * table is not said, or there is none of that name. */
QUARRY_EXPORT MUST_CHECK int
quarry_view_scan_open(struct quarry *q,
                      const char *name,
                      const struct quarry_view_scan_options *opts,
                      struct quarry_view_scan **out,
                      struct err *err);
/* The columns, borrowed; their number is returned. */
QUARRY_EXPORT size_t
quarry_view_scan_columns(const struct quarry_view_scan *s,
                         const struct quarry_view_column **columns);
/* About how many rows it has. */
QUARRY_EXPORT uint64_t quarry_view_scan_size(const struct quarry_view_scan *s);
/* Continue with the first row whose first @count keys are not before @keys, of
 * which the last may be the beginning of a text. Of views that have items.
 * ERR_INVALID: of another. */
QUARRY_EXPORT MUST_CHECK int
quarry_view_scan_seek(struct quarry_view_scan *s,
                      const struct quarry_view_value *keys,
                      size_t count,
                      struct err *err);
/* End before the first row whose first @count keys are not before @keys, or
 * with @inclusive behind all whose keys these are. The same otherwise; none is
 * dropped that must come, and others may come. */
QUARRY_EXPORT MUST_CHECK int
quarry_view_scan_until(struct quarry_view_scan *s,
                       const struct quarry_view_value *keys,
                       size_t count,
                       bool inclusive,
                       struct err *err);
/* *@values, one for each column, are borrowed until the next call; NULL at the
 * end. */
QUARRY_EXPORT MUST_CHECK int
quarry_view_scan_next(struct quarry_view_scan *s,
                      const struct quarry_view_value **values,
                      struct err *err);
/* The same in the form of a table's row: each column is a cell of the family
 * "default", in text; NULLs are none. Its key is the texts of the keys, with
 * tabs between; of a view without keys, a number. */
QUARRY_EXPORT MUST_CHECK int
quarry_view_scan_next_row(struct quarry_view_scan *s,
                          const struct quarry_row **row,
                          struct err *err);
QUARRY_EXPORT void
quarry_view_scan_close(struct quarry_view_scan *s); /* NULL is allowed. */

/* Append @v as people read it: numbers in decimal, BYTES as they are. PRE: it
 * is not NULL. */
QUARRY_EXPORT void quarry_view_value_put(const struct quarry_view_value *v,
                                         enum quarry_view_type type,
                                         struct buf *out);

struct quarry_view_check {
    uint64_t rows;         /* Compared with what the view has of them. */
    uint64_t wrong_rows;   /* Their contribution is not the program's; */
    uint64_t pending_rows; /* or was not yet: the view is behind. */
    uint64_t groups;       /* Compared with the contributions. */
    uint64_t wrong_groups;
    char example[256]; /* One that is wrong, or "". */
};

/* Compare the view with its table: the contribution of each row with what the
 * program makes of the row, and the groups with the contributions, merged
 * again. Rows that differ are looked at again for @wait_us, while the view
 * catches up. Estimates (quantile, top and unique beyond what they keep
 * exactly) are not compared. ERR_BUSY: it is being built. */
QUARRY_EXPORT MUST_CHECK int quarry_view_check(struct quarry *q,
                                               const char *name,
                                               uint64_t wait_us,
                                               struct quarry_view_check *out,
                                               struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_VIEW_H */
