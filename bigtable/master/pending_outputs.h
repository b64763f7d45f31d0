/* Which SSTables may still be named by the server that wrote them. A server
 * writes a file first, and names it then in a tablet's record, which may take
 * as long as METADATA is away. No I/O, no clock.
 *
 * A file's number says which server wrote it. Of one that was alive when a
 * reading of METADATA began, the files are done with that were decided before
 * it: the reading has met those that are named. One that was dead by then can
 * change those records alone that name it as their server: if the reading met
 * none, all its files are done with. What the older of two readings says holds.
 *
 *     pending_outputs_begin(&m, newest)     a reading begins; servers up to
 * @newest have been heard of pending_outputs_alive(&m, server, …)  those that
 * are alive, first pending_outputs_place(&m, server)     a record names it as
 * its server pending_outputs_end(&m)               it was whole;
 * pending_outputs_abandon() if not pending_outputs_are_settled(&m, number)
 */
#ifndef BIGTABLE_MASTER_PENDING_OUTPUTS_H
#define BIGTABLE_MASTER_PENDING_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/hash_map.h"

/* What one reading knows of servers, by number. */
struct pending_outputs_reading {
    struct hash_map decided; /* Alive: all files below it are. */
    struct hash_map places;  /* Named as a server by a record; values unused. */
    uint64_t newest;
};

struct pending_outputs {
    struct pending_outputs_reading
        readings[3]; /* Older, newer, the one that goes on. */
    unsigned whole;  /* Readings in a row, up to 2. */
};

void pending_outputs_init(struct pending_outputs *m);
void pending_outputs_close(struct pending_outputs *m);

void pending_outputs_begin(struct pending_outputs *m, uint64_t newest);
/* @decided: struct server_status, of before the reading. */
void pending_outputs_alive(struct pending_outputs *m,
                           uint64_t server,
                           uint64_t decided);
void pending_outputs_place(struct pending_outputs *m, uint64_t server);
void pending_outputs_end(struct pending_outputs *m);
/* The reading broke off: it counts for nothing. */
void pending_outputs_abandon(struct pending_outputs *m);

/* Will nobody name the SSTable @number whom two whole readings did not
 * meet naming it? */
bool pending_outputs_are_settled(const struct pending_outputs *m,
                                 uint64_t number);

#endif /* BIGTABLE_MASTER_PENDING_OUTPUTS_H */
