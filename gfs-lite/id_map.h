/* A map from numbers to structs that begin with theirs: a pointer a slot, open
 * addressing; only the table that a growing map leaves has tombstones.
 *
 * Tables here hold millions of small structs; a slot that repeats key and hash
 * would cost more than they do. It grows a few slots at a time, so that no
 * single insert stalls the loop; id_map_reserve() moves all at once. One
 * thread.
 *
 * Private to gfs-lite.
 *
 *     INV-1. Of the two tables that exist while it grows, an item is in one;
 *            the first `moved` slots of the old one have none.
 *     INV-2. count items in both; at most three quarters of `cap`.
 */
#ifndef GFS_LITE_ID_MAP_H
#define GFS_LITE_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Points to a struct whose first member is its uint64_t number. */
typedef uint64_t id_map_item;

struct id_map {
    id_map_item **slots; /* Owned; NULL: empty. */
    size_t count;
    size_t cap;        /* 0 or a power of two. */
    id_map_item **old; /* Owned; NULL: the map does not grow now. */
    size_t old_cap;    /* 0: likewise. */
    size_t moved;      /* Slots of the old table that are empty by now. */
};

void id_map_close(struct id_map *m); /* The structs are the caller's. */
/* Free the structs, each one allocation, with mem_free(), and close. */
void id_map_close_all(struct id_map *m);
/* Make room for @count more. Required before a map is filled in the order in
 * which another was walked: that order fills the slots from one end. */
void id_map_reserve(struct id_map *m, size_t count);
/* Borrowed, or NULL. */
void *id_map_get(const struct id_map *m, uint64_t id);
/* PRE: its number is not in the map. */
void id_map_put(struct id_map *m, void *item);
/* PRE: it is there. */
void id_map_remove(struct id_map *m, uint64_t id);
/* Walk in no order: start with *at = 0; NULL at the end. While nothing is put
 * or removed, each item comes once. */
void *id_map_next(const struct id_map *m, size_t *at);

/* A walk between whose steps the map may change. It begins with all zeros. */
struct id_map_walk {
    size_t cap;
    size_t at; /* Slots below it are still to be looked at. */
    size_t old_at;
    bool again;
};

/* The next item. Every item that is in the map from the beginning to the end of
 * the walk is returned at least once, some again. NULL at the end. */
void *id_map_walk(const struct id_map *m, struct id_map_walk *w);

#endif /* GFS_LITE_ID_MAP_H */
