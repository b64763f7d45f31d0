/* Copies of SSTables: those of tables whose locality groups say how many
 * there shall be (replication=N) get as many.
 *
 * New files are made with the number of their group. This is for those that
 * were there before it was changed, and for those of bulk loads and snapshots:
 * while METADATA is read from end to end each file of such a table is noted,
 * and afterwards those that have another number are changed, some thousands
 * after each reading. A table whose groups differ has the most that any says
 * for all of its files, and so has a file of several tables.
 *
 * Threads: the term's loop.
 */
#ifndef BIGTABLE_MASTER_REPLICATION_H
#define BIGTABLE_MASTER_REPLICATION_H

#include "base/core/err.h"
#include "base/core/hash_map.h"
#include "base/core/macros.h"

struct metadata_row;
struct master_term;

struct replication {
    struct hash_map tables; /* By number: copies, of those that say. */
    struct hash_map wanted; /* By file: copies. */
    struct hash_map done;   /* By file: copies it is known to have. */
};

void replication_init(struct replication *p);
void replication_close(struct replication *p);

/* Learn what the tables say. Parks. An error: nothing is noted. */
MUST_CHECK int replication_begin(struct master_term *r, struct err *err);
/* Note the files of @row. */
void replication_note(struct master_term *r, const struct metadata_row *row);
/* The reading is over: change what is to be changed. Parks. */
void replication_end(struct master_term *r);

#endif /* BIGTABLE_MASTER_REPLICATION_H */
