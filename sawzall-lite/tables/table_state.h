/* The inside of a table, for saw_table.c and table_results.c alone.
 *
 * Invariants
 *   INV-1. `slots` is NULL or has a power of two of slot_count slots, at least
 * a quarter of them free; count entries are in it. A table without index
 *          columns has no slots and at most one entry.
 *   INV-2. owned_bytes and arena.reserved_bytes are this table's share of
 *          budget->bytes.
 *   INV-3. Entries never move: a state's address is valid until clear().
 */
#ifndef SAWZALL_LITE_TABLES_TABLE_STATE_H
#define SAWZALL_LITE_TABLES_TABLE_STATE_H

#include "sawzall-lite/tables/impl.h"

struct saw_entry {
    struct saw_entry *older; /* All entries of the table. */
    size_t key_len;
    uint64_t state[]; /* ops->state_bytes, then the key. */
};

struct saw_slot_ref {
    uint64_t hash;
    struct saw_entry *entry; /* NULL: free. */
};

struct saw_table {
    struct saw_table_decl decl;
    const struct saw_kind_ops *ops;
    struct saw_table_budget *budget;
    struct saw_table_budget own_budget;
    size_t owned_bytes; /* By saw_table__resize. */
    struct arena arena; /* Entries. */
    struct saw_entry *newest;
    struct saw_entry *last; /* Of the last emit: the next is mostly alike. */
    struct saw_slot_ref *slots; /* Power of two; NULL while unindexed. */
    size_t slot_count;
    size_t count; /* Entries. */
    struct buf scratch;
};

struct saw_sorted {
    struct slice key;
    void *state;
};

struct saw_walk {
    struct saw_lines lines; /* First: the kinds see only this. */
    struct saw_table *table;
    struct slice key;                 /* Key of the next lines. */
    bool had_line;                    /* Set by sinks that want `none`. */
    void (*none)(struct saw_walk *w); /* A key without lines; may be NULL. */
    struct buf text;
    void *ctx;
};

/* Give the results of every key, ascending, to walk->lines. */
void saw_table__walk(struct saw_table *t, struct saw_walk *walk);

#endif /* SAWZALL_LITE_TABLES_TABLE_STATE_H */
