/* Inodes and the treaps of their names. Insertion splits and removal merges by
 * hashed numbers, so that no sequence of names makes a tree deep and every
 * member of a cell builds the same one.
 */
#include "gfs-lite/namenode/inode.h"

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "gfs-lite/namenode/chunk_map.h"

struct inode *
inode_new(uint64_t id, struct slice name, bool is_directory, uint64_t time_us)
{
    size_t bytes = offsetof(struct inode, first_name) + name.len;
    struct inode *n = mem_zalloc(1, MAX_OF(sizeof(*n), bytes));
    STATIC_ASSERT(GFS_NAME_BYTES_MAX <= UINT8_MAX, "name_bytes");
    PRE(name.len <= GFS_NAME_BYTES_MAX);
    n->id = id;
    n->modified_us = time_us;
    n->is_directory = is_directory;
    n->mode = is_directory ? GFS_MODE_DIRECTORY : GFS_MODE_FILE;
    n->name_bytes = (uint8_t)name.len;
    n->name = n->first_name;
    if (name.len)
        memcpy(n->name, name.data, name.len);
    if (is_directory)
        n->u.directory = mem_zalloc(1, sizeof(*n->u.directory));
    return n;
}

void inode_free(struct inode *n)
{
    PRE(!n->is_directory || !n->u.directory->entries);
    PRE(n->is_directory || n->chunk_count == 0);
    if (n->is_directory) {
        mem_free(n->u.directory->levels);
        mem_free(n->u.directory);
    }
    if (n->name != n->first_name)
        mem_free(n->name);
    mem_free(n);
}

void inode_rename(struct inode *n, struct slice name)
{
    PRE(!n->parent);
    PRE(name.len <= GFS_NAME_BYTES_MAX);
    char *copy;
    if (slice_eq(name, inode_name(n)))
        return;
    copy = mem_strndup(name.data, name.len);
    if (n->name != n->first_name)
        mem_free(n->name);
    n->name = copy;
    n->name_bytes = (uint8_t)name.len;
}

/* --- a file's chunks ----------------------------------------------------- */

struct chunk *inode_chunk(const struct inode *n, uint32_t index)
{
    PRE(!n->is_directory);
    PRE(index < n->chunk_count);
    return n->chunk_count == 1 ? n->u.chunk : n->u.chunks[index];
}

struct chunk *inode_last_chunk(const struct inode *n)
{
    return n->chunk_count ? inode_chunk(n, n->chunk_count - 1) : NULL;
}

/* An array has room for the next power of two of its count. */
static bool is_array_full(uint32_t count)
{
    return (count & (count - 1)) == 0;
}

void inode_add_chunk(struct inode *n, struct chunk *c)
{
    const struct chunk *last = inode_last_chunk(n);
    PRE(c);
    PRE(!n->is_directory);
    PRE(!last || last->sealed); /* INV-2 */
    if (n->chunk_count == 0) {
        n->u.chunk = c;
    } else if (n->chunk_count == 1) {
        struct chunk *first = n->u.chunk;
        n->u.chunks = mem_alloc(2 * sizeof(*n->u.chunks));
        n->u.chunks[0] = first;
        n->u.chunks[1] = c;
    } else {
        if (is_array_full(n->chunk_count))
            n->u.chunks = mem_realloc(n->u.chunks, (size_t)n->chunk_count * 2 *
                                                       sizeof(struct chunk *));
        n->u.chunks[n->chunk_count] = c;
    }
    INVARIANT(n->chunk_count < UINT32_MAX);
    n->chunk_count++;
}

void inode_drop_chunk(struct inode *n)
{
    PRE(!n->is_directory);
    PRE(n->chunk_count > 0);
    if (n->chunk_count == 2) {
        struct chunk **array = n->u.chunks;
        n->u.chunk = array[0];
        mem_free(array);
    }
    /* A longer array keeps its room; inode_add_chunk() may allocate it again.
     */
    n->chunk_count--;
}

uint64_t inode_bytes(const struct inode *n)
{
    PRE(!n->is_directory);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n->chunk_count; i++) {
        const struct chunk *c = inode_chunk(n, i);
        bytes += c->sealed ? c->length : 0;
    }
    return bytes;
}

/* --- a directory's entries ----------------------------------------------- */

static uint64_t inode_rank(const struct inode *n)
{
    return hash_mix(n->id);
}

struct inode *inode_entries_find(struct inode *root, struct slice name)
{
    ASSERT_SLOW(name.len > 0);
    while (root) {
        int c = slice_cmp(name, inode_name(root));
        if (c == 0)
            return root;
        root = c < 0 ? root->left : root->right;
    }
    return NULL;
}

struct inode *inode_entries_after(struct inode *root, struct slice name)
{
    struct inode *best = NULL;
    while (root)
        if (slice_cmp(inode_name(root), name) > 0) {
            best = root;
            root = root->left;
        } else {
            root = root->right;
        }
    return best;
}

struct inode *inode_entries_first(struct inode *root)
{
    while (root && root->left)
        root = root->left;
    return root;
}

/* Cut the treap @t into names below @name and names above it. */
static void inode_split(struct inode *t,
                        struct slice name,
                        struct inode **below,
                        struct inode **above)
{
    while (t)
        if (slice_cmp(inode_name(t), name) < 0) {
            *below = t;
            below = &t->right;
            t = t->right;
        } else {
            *above = t;
            above = &t->left;
            t = t->left;
        }
    *below = NULL;
    *above = NULL;
}

void inode_entries_add(struct inode **root, struct inode *n)
{
    struct inode **at = root;
    struct inode *under;
    while (*at && inode_rank(*at) >= inode_rank(n)) {
        int c = slice_cmp(inode_name(n), inode_name(*at));
        PRE(c != 0);
        at = c < 0 ? &(*at)->left : &(*at)->right;
    }
    under = *at;
    *at = n;
    INVARIANT(!under || inode_rank(under) < inode_rank(n)); /* INV-1 */
    inode_split(under, inode_name(n), &n->left, &n->right);
}

void inode_entries_remove(struct inode **root, struct inode *n)
{
    struct inode **at = root;
    struct inode *l = n->left;
    struct inode *r = n->right;
    while (*at != n) {
        PRE(*at);
        at = slice_cmp(inode_name(n), inode_name(*at)) < 0 ? &(*at)->left
                                                           : &(*at)->right;
    }
    while (l && r)
        if (inode_rank(l) > inode_rank(r)) {
            *at = l;
            at = &l->right;
            l = l->right;
        } else {
            *at = r;
            at = &r->left;
            r = r->left;
        }
    INVARIANT(!l || !r);
    *at = l ? l : r;
    n->left = NULL;
    n->right = NULL;
}

void inode_put_path(const struct inode *n, struct buf *out)
{
    const struct inode *up[GFS_DEPTH_MAX + 1];
    size_t depth = 0;
    for (; n->parent && depth <= GFS_DEPTH_MAX; n = n->parent)
        up[depth++] = n;
    INVARIANT(depth <= GFS_DEPTH_MAX + 1);
    while (depth > 0) {
        depth--;
        buf_append_slice(out, inode_name(up[depth]));
        if (depth > 0)
            buf_append_byte(out, '/');
    }
}

void inode_wrap_error(const struct inode *n, struct err *err)
{
    struct buf path = BUF_INIT;
    inode_put_path(n, &path);
    err_wrap(err, "/%s", buf_cstr(&path));
    buf_close(&path);
}
