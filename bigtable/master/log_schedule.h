/* Which server sorts which segment of a dead server's log: a pure decision.
 *
 * Segments are spread over the survivors, so that recovery takes as long as its
 * slowest part, not as long as the sum. A segment whose sort failed goes to
 * another server after a moment: servers that have just started may refuse all
 * of them. A segment that takes far longer than the others is given to a second
 * server too, and the first to finish wins; sorting a segment twice does no
 * harm. */
#ifndef BIGTABLE_MASTER_LOG_SCHEDULE_H
#define BIGTABLE_MASTER_LOG_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Segments a server sorts at once. */
#define LOG_SORTS_PER_SERVER 2
/* Tries of one segment at once. */
#define LOG_SORTS_PER_SEGMENT 2
/* A second server is asked after this time. */
#define LOG_SORT_STRAGGLES_US UINT64_C(15000000)

struct sort_segment {
    bool done;
    uint64_t at[LOG_SORTS_PER_SEGMENT]; /* Servers that sort it now; 0:
                                           none. */
    uint64_t since_us;                  /* When the last one was asked. */
    uint64_t failed; /* Number of the server that failed last; 0: none. */
    uint64_t not_before_us; /* No server is asked before this time. */
};

struct sort_server {
    uint64_t number;
    uint32_t running; /* Segments it sorts now. */
};

/* Indices into the arrays given. */
struct sort_order {
    uint32_t segment;
    uint32_t server;
};

/* At most one order for each segment into @out; returns how many. @servers'
 * running is changed as if they were given. */
size_t log_schedule_choose(struct sort_server *servers,
                           size_t server_count,
                           const struct sort_segment *segments,
                           size_t segment_count,
                           uint64_t now_us,
                           struct sort_order *out);

#endif /* BIGTABLE_MASTER_LOG_SCHEDULE_H */
