/* A change of a row with indexed columns, as index_write.c makes it: private
 * to the folder.
 */
#ifndef BIGTABLE_INDEX_INDEX_CHANGE_H
#define BIGTABLE_INDEX_INDEX_CHANGE_H

#include "bigtable/index/index.h"
#include "bigtable/quarry.h"

/* Tries of a change whose row others write all the time. */
#define INDEX_TRY_US_MAX  ((uint64_t)60000000)
#define INDEX_BACK_OFF_US ((uint64_t)200)

enum {
    BRANCH_FALSE,
    BRANCH_TRUE,
    BRANCHES
};

/* The change that a caller asks for. */
struct index_change {
    struct quarry_table *table;
    struct slice row;
    bool checks;                        /* Both branches; else the first. */
    const struct quarry_filter *filter; /* If `checks`; NULL: a row's being. */
    const struct quarry_mutation *branches[BRANCHES]; /* NULL: nothing. */
    bool all; /* All entries are written, whatever changes. */
    const struct index_expected *expected; /* Beside the mark. */
    size_t expected_count;
    enum quarry_durability durability;
};

/* Make @c, by the steps of index.h. *@made: the branch. ERR_ABORTED: the row is
 * not as `expected` says; read it again. Parks. */
MUST_CHECK int
index_change_make(struct index_change *c, int *made, struct err *err);
/* QUARRY_SYNCED unless @opts says otherwise. */
enum quarry_durability
index_durability_asked(const struct quarry_write_options *opts);

#endif /* BIGTABLE_INDEX_INDEX_CHANGE_H */
