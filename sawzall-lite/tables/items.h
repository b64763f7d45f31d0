/* A set of data, each with 8 bytes of payload: the values that top, set and
 * the distinct samples keep. Open addressing; an item is one counted
 * allocation, so adding to an item that exists touches no allocator. Private
 * to tables/.
 *
 * Invariant INV-1: count is the number of items in slots, and at least a
 * quarter of the slots are free, so every search ends.
 */
#ifndef SAWZALL_LITE_TABLES_ITEMS_H
#define SAWZALL_LITE_TABLES_ITEMS_H

#include "sawzall-lite/tables/impl.h"

struct saw_item {
    uint64_t hash;

    union {
        int64_t i;
        uint64_t u;
        double f;
        struct saw_blob *blob;
    } v;

    size_t len;
    char bytes[];
};

struct saw_items {
    struct saw_item **slots; /* Power of two of them; NULL is free. */
    size_t slot_count;
    size_t count;
};

static inline struct slice saw_item_slice(const struct saw_item *i)
{
    return slice_make(i->bytes, i->len);
}

/* The item of @datum, or NULL. @hash is saw_items_hash() of it. */
struct saw_item *
saw_items_find(const struct saw_items *s, struct slice datum, uint64_t hash);
/* Add one that is absent; payload zero. Never NULL. */
struct saw_item *saw_items_add(struct saw_table *t,
                               struct saw_items *s,
                               struct slice datum,
                               uint64_t hash);
/* Drop the items for which @keep is false; the caller frees their payload. */
void saw_items_filter(struct saw_table *t,
                      struct saw_items *s,
                      bool (*keep)(void *ctx, struct saw_item *i),
                      void *ctx);
/* Free all items; the caller frees their payload. */
void saw_items_close(struct saw_table *t, struct saw_items *s);
/* All items in an array that the caller frees with mem_free(), sorted if
 * @compare is given: it sees pointers to struct saw_item *. */
struct saw_item **saw_items_list(const struct saw_items *s,
                                 int (*compare)(const void *, const void *));
/* By datum, ascending: for saw_items_list(). */
int saw_item_by_datum(const void *a, const void *b);
/* The hash that the functions above take. */
uint64_t saw_items_hash(struct slice datum);

#endif /* SAWZALL_LITE_TABLES_ITEMS_H */
