/* The entries of one directory of a server's, gathered in the server's order
 * and given out by name: shared by the file systems of objects.h.
 *
 *     struct remote_listing l = REMOTE_LISTING_INIT;
 *     … remote_listing_add(&l, name, &info, err) …
 *     remote_listing_names(&l, &names, &count)
 *     remote_listing_close(&l)
 *
 * Threads: one at a time.
 */
#ifndef GFS_LITE_OBJECTS_REMOTE_LISTING_H
#define GFS_LITE_OBJECTS_REMOTE_LISTING_H

#include "gfs-lite/fs.h"

/* Names of one directory at most, and files that are removed at once. */
#define REMOTE_NAMES_MAX 4000000

struct remote_entry {
    char *name; /* Owned. */
    struct fs_info info;
};

struct remote_listing {
    struct remote_entry *entries; /* Owned. */
    size_t count;
    size_t cap;
};

#define REMOTE_LISTING_INIT ((struct remote_listing){NULL, 0, 0})

/* Add one. Errors: ERR_TOOBIG. */
MUST_CHECK int remote_listing_add(struct remote_listing *l,
                                  struct slice name,
                                  const struct fs_info *info,
                                  struct err *err);
/* All names in order, each once, as fs_list() gives them; @l keeps none. */
void remote_listing_names(struct remote_listing *l,
                          char ***names,
                          size_t *count);
/* As fs_each(). */
MUST_CHECK int remote_listing_each(struct remote_listing *l,
                                   fs_each_fn visit,
                                   void *ctx,
                                   struct err *err);
void remote_listing_close(struct remote_listing *l);

#endif /* GFS_LITE_OBJECTS_REMOTE_LISTING_H */
