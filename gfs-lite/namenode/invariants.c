/* The invariants of namespace.h, checked by walking everything: tests call it
 * after each command.
 */
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"

/* Subtract the entry @e of a directory from the rest of its levels. */
static void take_levels(uint32_t *left, uint32_t count, const struct inode *e)
{
    const struct directory *d = e->is_directory ? e->u.directory : NULL;
    INVARIANT(count > (d ? d->level_count : 0));
    left[0]--;
    for (uint32_t i = 0; d && i < d->level_count; i++)
        left[i + 1] -= d->levels[i];
}

static void check_directory(const struct inode *n)
{
    struct directory sum = {.entries = NULL};
    uint32_t count = n->u.directory->level_count;
    uint32_t *left = mem_zalloc(count + 1, sizeof(*left));
    for (uint32_t i = 0; i < count; i++)
        left[i] = n->u.directory->levels[i];
    INVARIANT(count == 0 || left[count - 1] > 0);
    for (struct inode *e = inode_entries_first(n->u.directory->entries); e;
         e = inode_entries_after(n->u.directory->entries, inode_name(e))) {
        INVARIANT(e->parent == n);
        take_levels(left, count, e);
        sum.entry_count++;
        sum.file_count += !e->is_directory;
        sum.bytes += e->is_directory ? e->u.directory->bytes : inode_bytes(e);
        sum.entry_count += e->is_directory ? e->u.directory->entry_count : 0;
        sum.file_count += e->is_directory ? e->u.directory->file_count : 0;
    }
    for (uint32_t i = 0; i < count; i++)
        INVARIANT(left[i] == 0);
    mem_free(left);
    INVARIANT(sum.entry_count == n->u.directory->entry_count); /* INV-3 */
    INVARIANT(sum.file_count == n->u.directory->file_count);
    INVARIANT(sum.bytes == n->u.directory->bytes);
}

/* Check everything at and below @top, except the inode @except; count it. */
static void check_tree(const struct names *ns,
                       const struct inode *top,
                       const struct inode *except,
                       uint64_t *inodes,
                       uint64_t *refs)
{
    for (const struct inode *n = top; n; n = names_next(top, n)) {
        if (n->is_directory)
            check_directory(n);
        if (n == except)
            continue;
        (*inodes)++;
        INVARIANT(id_map_get(&ns->inodes, n->id) == n);
        for (uint32_t i = 0; !n->is_directory && i < n->chunk_count; i++) {
            const struct chunk *c = inode_chunk(n, i);
            INVARIANT(chunk_map_get(&ns->chunks, c->handle) == c);
            INVARIANT(c->sealed || (i == n->chunk_count - 1 && c->refs == 1 &&
                                    id_map_get(&ns->open_files, n->id)));
            (*refs)++;
        }
    }
}

void names_check(const struct names *ns)
{
    uint64_t inodes = 0;
    uint64_t refs = 0;
    size_t at = 0;
    const struct open_file *o;
    const struct chunk *c;
    check_tree(ns, ns->root, NULL, &inodes, &refs);
    check_tree(ns, ns->doomed, ns->doomed, &inodes, &refs);
    INVARIANT(inodes == ns->inodes.count);
    if (names_is_copying(ns)) {
        INVARIANT(names_is_below(ns->copy.source, ns->root));
        INVARIANT(ns->copy.top->parent == ns->doomed);
        INVARIANT(names_copy_last(ns) == ns->copy.last); /* INV-5 */
    }
    while ((o = id_map_next(&ns->open_files, &at)))
        refs += o->next != NULL;
    at = 0;
    while ((c = id_map_next(&ns->chunks.by_handle, &at)))
        refs -= c->refs; /* INV-1 */
    INVARIANT(refs == 0);
}
