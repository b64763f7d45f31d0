/* Which table files may still be named by the server that wrote them. A server
 * writes a file first, and names it then in a tablet's record, which may take
 * as long as METADATA is away. No I/O, no clock.
 *
 * A file's number says which server wrote it. Of one that was alive when a
 * reading of METADATA began, the files are done with that were decided before
 * it: the reading has met those that are named. One that was dead by then can
 * change those records alone that name it as their server: if the reading met
 * none, all its files are done with. What the older of two readings says holds.
 *
 *     makers_begin(&m, newest)     a reading begins; servers up to @newest have
 *                                  been heard of
 *     makers_alive(&m, server, …)  those that are alive, first
 *     makers_place(&m, server)     a record names it as its server
 *     makers_end(&m)               it was whole; makers_abandon() if not
 *     makers_are_done(&m, number)
 */
#ifndef BIGTABLE_MASTER_MAKERS_H
#define BIGTABLE_MASTER_MAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/hash_map.h"

/* What one reading knows of servers, by number. */
struct makers_reading {
    struct hash_map decided; /* Alive: all files below it are. */
    struct hash_map places;  /* Named as a server by a record; values unused. */
    uint64_t newest;
};

struct makers {
    struct makers_reading readings[3]; /* Older, newer, the one that goes on. */
    unsigned whole;                    /* Readings in a row, up to 2. */
};

void makers_init(struct makers *m);
void makers_close(struct makers *m);

void makers_begin(struct makers *m, uint64_t newest);
/* @decided: struct server_status, of before the reading. */
void makers_alive(struct makers *m, uint64_t server, uint64_t decided);
void makers_place(struct makers *m, uint64_t server);
void makers_end(struct makers *m);
/* The reading broke off: it counts for nothing. */
void makers_abandon(struct makers *m);

/* Will nobody name the table file @number whom two whole readings did not
 * meet naming it? */
bool makers_are_done(const struct makers *m, uint64_t number);

#endif /* BIGTABLE_MASTER_MAKERS_H */
