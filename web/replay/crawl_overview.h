/* A Webtable at a glance: its hosts, and its captures by key and time. The
 * pages of hosts and keys show it.
 *
 * It is made by one scan, of a column or two and of keys; a table too large
 * for it is read up to OVERVIEW_CAPTURES_MAX captures, and says so.
 *
 * Memory: 16 bytes a capture, and the names of hosts.
 *
 * Invariants
 *     INV-1. Hosts ascend by their reversed name, and their rows are
 *            [first_row, first_row + pages) of the table's rows of pages.
 *     INV-2. The captures' rows never descend.
 */
#ifndef WEB_REPLAY_CRAWL_OVERVIEW_H
#define WEB_REPLAY_CRAWL_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct archive_policy;
struct quarry_table;

#define OVERVIEW_CAPTURES_MAX ((size_t)4 << 20)

struct overview_host {
    struct slice name; /* "www.cnn.com", in the overview's arena. */
    uint64_t first_row;
    uint64_t pages; /* Rows that have a capture. */
    uint64_t captures;
    uint64_t bytes;   /* Of their bodies, as far as known. */
    int64_t first_us; /* Of its captures. */
    int64_t last_us;
};

struct overview_capture {
    int64_t time_us;
    uint64_t row; /* Counted from 0. */
};

struct crawl_overview {
    struct overview_host *hosts; /* Owned arrays. */
    size_t host_count;
    size_t host_cap;
    struct overview_capture *captures;
    size_t capture_count;
    size_t capture_cap;
    uint64_t pages;
    uint64_t bytes;
    int64_t first_us; /* With no capture, 0, as the next. */
    int64_t last_us;
    bool is_partial; /* The table has more. */
    struct arena arena;
};

/* Read @table. Captures that @policy (may be NULL) keeps back are not counted.
 * @out is closed in any case. Parks. Errors: those of reading. */
MUST_CHECK int crawl_overview_read(struct quarry_table *table,
                                   const struct archive_policy *policy,
                                   struct crawl_overview *out,
                                   struct err *err);
void crawl_overview_close(struct crawl_overview *o);

/* The captures in cells of a plot: those of row r and time t are counted in
 * counts[y * columns + x], where y = r * rows / pages, and x the same of times.
 * @counts has rows * columns of them. Returns the largest. */
uint32_t crawl_overview_plot(const struct crawl_overview *o,
                             size_t columns,
                             size_t rows,
                             uint32_t *counts);

#endif /* WEB_REPLAY_CRAWL_OVERVIEW_H */
