/* Does ever more than one tablet server serve a row? Looks into all of them,
 * twenty times a second, while a storm rages.
 *
 * A server serves what it has loaded for as long as it is sure of its session:
 * that is when it answers.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TABLES_WATCH_H
#define TESTS_SIM_TABLES_WATCH_H

#include "base/core/slice.h"
#include "tests/sim/tables_cell.h"

/* A tablet that a server serves. */
struct tables_served {
    const struct tables_server *server;
    uint64_t number; /* Of the server. */
    uint64_t id;
    uint64_t table;
    uint64_t epoch;
    bool is_root;
    struct slice start; /* Borrowed until somebody parks, as @end. */
    struct slice end;
};

/* All that are served now. *@count of them; owned. Does not park. */
struct tables_served *tables_served_now(const struct tables_cell *t,
                                        size_t *count);

struct tables_watch;

/* Begin to look; fails the storm when two serve a row. On the director. Owned.
 */
struct tables_watch *tables_watch_new(struct tables_cell *t);
/* Looks so far that saw a tablet, and the tablets that were seen to come to
 * another server. */
uint64_t tables_watch_moves(const struct tables_watch *w);
/* Parks. */
void tables_watch_free(struct tables_watch *w);

#endif /* TESTS_SIM_TABLES_WATCH_H */
