/* Children are a sorted array: directories are small, and listing them in order
 * is the same on every server.
 */
#include "chubby-lite/node.h"

#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "chubby-lite/lock_path.h"

static struct node *node_new(struct slice name, bool is_directory)
{
    struct node *n = mem_zalloc(1, sizeof(*n));
    size_t i;

    PRE(slice_find_byte(name, '/') == name.len);
    n->name = mem_strndup(name.data, name.len);
    n->is_directory = is_directory;
    for (i = 0; i < ACL_KINDS; i++)
        n->acl[i] = mem_strdup("");
    LIST_INIT(&n->handles);
    return n;
}

static void node_free(struct node *n)
{
    size_t i;

    PRE(LIST_EMPTY(&n->handles));
    for (i = 0; i < ACL_KINDS; i++)
        mem_free(n->acl[i]);
    buf_close(&n->contents);
    mem_free(n->children);
    mem_free(n->name);
    mem_free(n);
}

struct node *node_root_new(void)
{
    return node_new(SLICE_EMPTY, true);
}

void node_free_tree(struct node *n)
{
    size_t i;

    PRE(n->is_directory || n->child_count == 0); /* INV-2 */
    /* As deep as a path may be: CHUBBY_DEPTH_MAX. */
    for (i = 0; i < n->child_count; i++) {
        INVARIANT(n->children[i]->parent == n);
        node_free_tree(n->children[i]);
    }
    node_free(n);
}

/* Where @name is, or would be, among the children. */
static size_t child_index(const struct node *n, struct slice name)
{
    size_t begin = 0;
    size_t end = n->child_count;

    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (slice_cmp(slice_str(n->children[middle]->name), name) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    POST(begin <= n->child_count);
    return begin;
}

struct node *node_child(const struct node *directory, struct slice name)
{
    size_t i = child_index(directory, name);

    PRE(directory->is_directory || directory->child_count == 0); /* INV-2 */
    if (i < directory->child_count &&
        slice_eq(slice_str(directory->children[i]->name), name))
        return directory->children[i];
    return NULL;
}

struct node *node_find(struct node *root, struct slice path)
{
    struct slice rest = slice_sub(path, 1, path.len);
    struct slice name;
    struct node *n = root;

    PRE(path.len > 0);
    PRE(path.data[0] == '/');
    while (n && path_next(&rest, &name))
        n = node_child(n, name);
    return n;
}

struct node *
node_add(struct node *directory, struct slice name, bool is_directory)
{
    size_t i = child_index(directory, name);
    struct node *n = node_new(name, is_directory);
    size_t kind;

    PRE(directory->is_directory);
    PRE(!node_child(directory, name));
    if (directory->child_count == directory->child_cap) {
        directory->child_cap = directory->child_cap * 2 + 4;
        directory->children = mem_realloc(
            directory->children, directory->child_cap * sizeof(struct node *));
    }
    memmove(directory->children + i + 1, directory->children + i,
            (directory->child_count - i) * sizeof(struct node *));
    INVARIANT(i == 0 || slice_cmp(slice_str(directory->children[i - 1]->name),
                                  name) < 0); /* INV-1 */
    INVARIANT(directory->child_count < directory->child_cap);
    directory->children[i] = n;
    directory->child_count++;
    INVARIANT(i + 1 == directory->child_count ||
              slice_cmp(name, slice_str(directory->children[i + 1]->name)) <
                  0); /* INV-1 */
    n->parent = directory;
    for (kind = 0; kind < ACL_KINDS; kind++)
        node_set_acl(n, (enum acl_kind)kind, slice_str(directory->acl[kind]));
    return n;
}

void node_remove(struct node *n)
{
    struct node *above = n->parent;
    size_t i = child_index(above, slice_str(n->name));

    PRE(n->child_count == 0);
    PRE(i < above->child_count);
    PRE(above->children[i] == n); /* INV-1 */
    above->child_count--;
    memmove(above->children + i, above->children + i + 1,
            (above->child_count - i) * sizeof(struct node *));
    node_free(n);
}

void node_set_acl(struct node *n, enum acl_kind kind, struct slice name)
{
    char *copy = mem_strndup(name.data, name.len);

    PRE(kind < ACL_KINDS);
    mem_free(n->acl[kind]);
    n->acl[kind] = copy;
}

void node_check(const struct node *n)
{
    INVARIANT(n->is_directory || n->child_count == 0);              /* 2 */
    INVARIANT((n->mode == CHUBBY_FREE) == (n->holder_count == 0));  /* 3 */
    INVARIANT(n->mode != CHUBBY_EXCLUSIVE || n->holder_count == 1); /* 4 */
}

void node_stat(const struct node *n, struct chubby_stat *out)
{
    *out = (struct chubby_stat){
        .instance = n->instance,
        .content_generation = n->content_generation,
        .lock_generation = n->lock_generation,
        .acl_generation = n->acl_generation,
        .contents_bytes = n->contents.len,
        .child_count = (uint32_t)n->child_count,
        .checksum = crc32c(n->contents.data, n->contents.len),
        .is_directory = n->is_directory,
        .is_ephemeral = n->is_ephemeral,
    };
}

void node_put_path(const struct node *n, struct buf *out)
{
    const struct node *names[CHUBBY_DEPTH_MAX];
    size_t depth = 0;

    for (; n->parent; n = n->parent) {
        INVARIANT(depth < CHUBBY_DEPTH_MAX);
        names[depth++] = n;
    }
    if (depth == 0)
        buf_append_byte(out, '/');
    while (depth > 0)
        buf_printf(out, "/%s", names[--depth]->name);
}
