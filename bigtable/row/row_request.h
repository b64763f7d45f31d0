/* Requests on rows as a caller states them: which rows and cells to read, and
 * how to change a row by what it holds. The client, the wire and the engine
 * share these types. Part of the public C library: quarry.h includes it.
 *
 * Ownership: slices and strings are borrowed until the call returns, unless a
 * function says otherwise.
 */
#ifndef BIGTABLE_ROW_ROW_REQUEST_H
#define BIGTABLE_ROW_ROW_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <atomic>
#endif

#include "base/core/slice.h"

struct quarry_explain;
struct quarry_filter;

/* Set by one thread and read by others. */
#ifdef __cplusplus
typedef std::atomic<bool> quarry_flag;
#else
typedef _Atomic(bool) quarry_flag;
#endif

struct quarry_range {
    struct slice start; /* Inclusive; empty: from the first row. */
    struct slice end;   /* Exclusive; empty: to the last. */
};

struct quarry_read_options {
    /* Rows: ranges (overlapping ones give a row once) and single keys. With
     * neither, all rows. Borrowed until the call returns (scan: copied). */
    const struct quarry_range *ranges;
    size_t range_count;
    const struct slice *keys;
    size_t key_count;

    const struct quarry_filter *filter; /* Copied; may be NULL. */
    /* Shorthands, applied before the filter; NULL or 0 for none. */
    const char *const *families; /* Only these families; ERR_NOTFOUND. */
    size_t family_count;
    const char *column_regex; /* RE2 over "family:qualifier". */
    uint32_t versions;        /* Newest N per column. */
    int64_t time_min_us;      /* Timestamps in [min, max); max 0: no bound */
    int64_t time_max_us;
    uint64_t row_limit; /* 0: none. */
    /* Not 0: as the table was at that time, in µs. Of a table that keeps its
     * changes this is exact, and ERR_EXHAUSTED before the time that it keeps
     * them from; of another it means the cells up to that time among those that
     * are kept: what was deleted, overwritten or collected since is missing
     * (docs/time-travel.md). */
    int64_t as_of_us;
    bool keys_only; /* Values are empty. */
    /* A Sawzall program executed beside the data, row by row: rows for which it
     * emits to `keep` are returned, as it emitted them. See docs/language.md.
     * NULL for none. */
    const char *program;
    size_t program_len;
    /* @program's instructions a row; 0: 10 million; at most 1 billion. */
    uint64_t program_fuel;
    bool read_ahead_off; /* For scans that will stop soon. */
    /* quarry_scan: rows in descending order, the last ones first. They are of
     * one moment only within what is read at once, up to 8 MiB, unless as_of_us
     * is given. */
    bool reversed;
    /* quarry_scan: after this many consecutive rows with nothing to return,
     * hand out one without cells, which shows the progress of the scan; 0:
     * never. A target may ignore it. */
    uint32_t progress_rows;
    /* quarry_run_program: rows in order, one after the other, on the run given:
     * for runs that print while they go. */
    bool ordered;
    /* quarry_run_program: stop with ERR_CANCELLED when it becomes true. NULL:
     * never. Borrowed until the call returns. */
    const quarry_flag *cancel;
    /* quarry_scan: record here what the scan does (quarry_explain_new()); its
     * scans add up, and must have the same filter and program. Complete when
     * the scanner is closed. Borrowed until then. NULL: nothing is measured. */
    struct quarry_explain *explain;
};

enum quarry_rmw_kind {
    QUARRY_RMW_APPEND,
    QUARRY_RMW_INCREMENT
};

struct quarry_rmw_rule {
    enum quarry_rmw_kind kind;
    const char *family;
    struct slice qualifier;
    struct slice append; /* QUARRY_RMW_APPEND. */
    int64_t increment;   /* QUARRY_RMW_INCREMENT: of an 8-byte big-endian cell;
                            none counts as 0, overflow wraps. */
};

#endif /* BIGTABLE_ROW_ROW_REQUEST_H */
