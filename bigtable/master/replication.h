/* Copies of SSTables: files of a table whose locality groups set replication=N
 * get that number of copies.
 *
 * New files are made with the number of their group. This module changes files
 * that were there before the setting changed, and those of bulk loads and
 * snapshots: while METADATA is read from end to end each file of such a table
 * is noted, and afterwards some thousands of those with another number are
 * changed. If the groups of a table differ, the greatest number counts for all
 * of its files, and for files that several tables share.
 *
 * Threads: the term's loop. */
#ifndef BIGTABLE_MASTER_REPLICATION_H
#define BIGTABLE_MASTER_REPLICATION_H

#include "base/core/err.h"
#include "base/core/hash_map.h"
#include "base/core/macros.h"

struct metadata_row;
struct master_term;

struct replication {
    struct hash_map tables; /* By number: copies, of tables with the setting. */
    struct hash_map wanted; /* By file: copies. */
    struct hash_map done;   /* By file: copies it is known to have. */
};

/* Nothing is noted. */
void replication_init(struct replication *p);
/* Frees the notes. */
void replication_close(struct replication *p);

/* Read the settings of the tables; a reading of METADATA begins. Parks. After
 * an error nothing is noted. */
MUST_CHECK int replication_begin(struct master_term *r, struct err *err);
/* Note the files of @row. */
void replication_note(struct master_term *r, const struct metadata_row *row);
/* The reading is complete: change the copies of some of the noted files. Parks.
 */
void replication_end(struct master_term *r);

#endif /* BIGTABLE_MASTER_REPLICATION_H */
