/* The cells of a Webtable's row, taken apart into captures: everything at one
 * time is one. Borrowed from the row. Inside mapreduce/ingest only. Pure. */
#ifndef MAPREDUCE_INGEST_ROW_CAPTURES_H
#define MAPREDUCE_INGEST_ROW_CAPTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct quarry_cell;
struct quarry_row;

struct capture {
    int64_t time_us;
    bool has_body; /* It has contents:, which may be empty. */
    struct slice body;
    struct slice head; /* http:headers; "" and so on where there is none. */
    struct slice url;
    struct slice content_type;
    struct slice status;
    struct slice title;
    struct slice language;
    struct slice type;
    struct slice source;
    struct slice id;
    struct slice ip;
    struct slice digest;
    struct slice truncated;
    struct slice coding;
    struct slice revisit_of;
    struct slice converted_from;
    struct slice fields;
    struct slice method; /* These three only for methods other than GET. */
    struct slice request_query;
    struct slice request;
    /* Its cells, those of contents:TYPE among them. */
    const struct quarry_cell *const *cells;
    size_t cell_count;
};

struct row_captures {
    struct capture *at; /* Oldest first. */
    size_t count;
    size_t cap;
    const struct quarry_cell **cells; /* Owned array. */
    size_t cell_cap;
};

void row_captures_close(struct row_captures *r); /* Also of a zeroed one. */

/* Group the cells of @row, dropping those of the last one. */
void row_captures_read(struct row_captures *r, const struct quarry_row *row);

/* Is @cell a conversion of the page, in contents:TYPE? contents:main, which is
 * made of the page again whenever it is wanted, is none. */
bool capture_is_text(const struct quarry_cell *cell);

#endif /* MAPREDUCE_INGEST_ROW_CAPTURES_H */
