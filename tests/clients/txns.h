/* A client that runs transactions on lists: each reads some and appends to
 * some, in tables "a" and "b" of a target, and notes in a history what it did
 * and saw (tests/lib/append_history.h).
 *
 * A list is a cell of its row: its values as text with blanks between. Lists
 * are left for new ones when they are long.
 *
 * Threads: one client by one thread; the lock of the history is the caller's.
 */
#ifndef TESTS_CLIENTS_TXNS_H
#define TESTS_CLIENTS_TXNS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/rand.h"

struct append_history;
struct quarry;
struct quarry_table;

#define TXN_TABLES 2

struct txn_client {
    struct quarry *quarry;
    struct quarry_table *tables[TXN_TABLES];
    struct append_history *history;
    struct rand_gen *rand;
    uint64_t lists;    /* At once. */
    bool fixed_lists;  /* None is left for a new one. */
    uint64_t *appends; /* All clients' together, for values and new lists. */
    bool serializable;
    bool dies;         /* Faults leave transactions as they are: unavailable is
                          unknown. */
    uint64_t lease_us; /* 0: the default. */
    uint64_t timeout_us; /* 0: the default. */
    uint64_t value_step; /* Values are value_first + n * value_step; 0: n. */
    uint64_t value_first;
    FILE *log; /* Each event as a line; NULL: none. */
    void (*lock)(void *ctx);
    void (*unlock)(void *ctx);
    int64_t (*clock)(void *ctx); /* Rises with each call; under the lock. */
    void *ctx;
    uint64_t commits;
    uint64_t conflicts;
};

/* Make the tables. */
MUST_CHECK int txn_tables_create(struct quarry *q, struct err *err);
MUST_CHECK int txn_client_open(struct txn_client *c, struct err *err);
void txn_client_close(struct txn_client *c);
/* Read every list, each in a transaction: PRE: fixed_lists. */
int txn_client_read_all(struct txn_client *c, struct err *err);
/* One transaction. 0 or its error, which is in the history as well. */
int txn_client_step(struct txn_client *c, struct err *err);

#endif /* TESTS_CLIENTS_TXNS_H */
