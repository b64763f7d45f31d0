/* Which SSTables the server that wrote them may still name. A server writes a
 * file first, and then names it in a tablet's record, which may take as long as
 * METADATA is away. No I/O, no clock.
 *
 * The number of a file tells which server wrote it. Of a server that was alive
 * when a reading of METADATA began, the files that were decided before it are
 * settled: the reading has found those that are named. A server that was dead
 * by then can change only records that name it as their server: if the reading
 * found none, all its files are settled. The older of two readings counts.
 *
 *     pending_outputs_begin(&m, newest)       a reading begins; @newest is the
 *                                             greatest number of a server
 *     pending_outputs_alive(&m, server, …)    each server that is alive, first
 *     pending_outputs_place(&m, server)       a record names it as its server
 *     pending_outputs_end(&m)                 it was whole;
 *                                             pending_outputs_abandon() if not
 *     pending_outputs_are_settled(&m, number)
 *
 * Invariants, kept by pending_outputs.c
 *     INV-1. `whole` counts the readings that are kept, at most 2. */
#ifndef BIGTABLE_MASTER_PENDING_OUTPUTS_H
#define BIGTABLE_MASTER_PENDING_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/hash_map.h"

/* Servers as one reading found them, by number. */
struct pending_outputs_reading {
    struct hash_map decided; /* Of those alive: files with lower numbers are
                              * decided. */
    struct hash_map places;  /* Servers that a record names; values unused. */
    uint64_t newest;
};

struct pending_outputs {
    struct pending_outputs_reading
        readings[3]; /* The older, the newer, the one in progress. */
    unsigned whole;  /* Consecutive whole readings, up to 2. */
};

/* No reading is in progress. */
void pending_outputs_init(struct pending_outputs *m);
/* Frees the readings. */
void pending_outputs_close(struct pending_outputs *m);

/* A reading begins; servers up to @newest are known. */
void pending_outputs_begin(struct pending_outputs *m, uint64_t newest);
/* @server is alive. @decided: of its struct server_status before the reading.
 */
void pending_outputs_alive(struct pending_outputs *m,
                           uint64_t server,
                           uint64_t decided);
/* A record names @server. */
void pending_outputs_place(struct pending_outputs *m, uint64_t server);
/* The reading was whole. */
void pending_outputs_end(struct pending_outputs *m);
/* The reading broke off: it counts for nothing. */
void pending_outputs_abandon(struct pending_outputs *m);

/* Is it certain that nobody will name the SSTable @number, which two whole
 * readings did not find? */
bool pending_outputs_are_settled(const struct pending_outputs *m,
                                 uint64_t number);

#endif /* BIGTABLE_MASTER_PENDING_OUTPUTS_H */
