/* Entries are kept as they come and put in order once, when they are asked for:
 * servers have orders of their own. */
#include "gfs-lite/objects/remote_listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"

int remote_listing_add(struct remote_listing *l,
                       struct slice name,
                       const struct fs_info *info,
                       struct err *err)
{
    if (l->count == REMOTE_NAMES_MAX)
        return err_set(err, ERR_TOOBIG, "over %d names", REMOTE_NAMES_MAX);
    if (l->count == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->entries = mem_realloc(l->entries, l->cap * sizeof(*l->entries));
    }
    l->entries[l->count++] =
        (struct remote_entry){mem_strndup(name.data, name.len), *info};
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct remote_entry *)a)->name,
                  ((const struct remote_entry *)b)->name);
}

static void sort_entries(struct remote_listing *l)
{
    if (l->count > 1)
        qsort(l->entries, l->count, sizeof(*l->entries), compare_entries);
}

void remote_listing_names(struct remote_listing *l,
                          char ***names,
                          size_t *count)
{
    size_t kept = 0;
    sort_entries(l);
    *names = mem_alloc(MAX_OF(l->count, (size_t)1) * sizeof(char *));
    for (size_t i = 0; i < l->count; i++) {
        /* A file and a directory of a bucket may have one name. */
        if (kept > 0 && strcmp((*names)[kept - 1], l->entries[i].name) == 0)
            continue;
        (*names)[kept++] = l->entries[i].name;
        l->entries[i].name = NULL;
    }
    *count = kept;
}

int remote_listing_each(struct remote_listing *l,
                        fs_each_fn visit,
                        void *ctx,
                        struct err *err)
{
    int rc = 0;
    sort_entries(l);
    for (size_t i = 0; i < l->count && rc == 0; i++)
        rc = visit(ctx, l->entries[i].name, &l->entries[i].info, err);
    return rc;
}

void remote_listing_close(struct remote_listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        mem_free(l->entries[i].name);
    mem_free(l->entries);
    *l = REMOTE_LISTING_INIT;
}
