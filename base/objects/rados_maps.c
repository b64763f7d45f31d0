/* Changes and lists of an object's map. A change asks for the values that it
 * counts on in the same operation, so that of two who change one key at a time
 * one is told.
 */
#ifdef QUARRY_HAVE_RADOS

#include <string.h>

#include "base/core/panic.h"
#include "base/objects/rados_client_parts.h"

/* Keys of one answer; servers give 1024 at most. */
#define PAGE_KEYS 1000

/* Keys, values and their lengths, as librados wants them. */
struct key_lists {
    const char **keys;
    const char **values;
    size_t *key_lens;
    size_t *value_lens;
    size_t count;
};

static void key_lists_init(struct key_lists *l, size_t most)
{
    most = MAX_OF(most, (size_t)1);
    l->keys = mem_alloc(most * sizeof(*l->keys));
    l->values = mem_alloc(most * sizeof(*l->values));
    l->key_lens = mem_alloc(most * sizeof(*l->key_lens));
    l->value_lens = mem_alloc(most * sizeof(*l->value_lens));
    l->count = 0;
}

static void key_lists_close(struct key_lists *l)
{
    mem_free(l->keys);
    mem_free(l->values);
    mem_free(l->key_lens);
    mem_free(l->value_lens);
}

static void add_key(struct key_lists *l, const char *key, struct slice value)
{
    l->keys[l->count] = key;
    l->key_lens[l->count] = strlen(key);
    l->values[l->count] = value.data;
    l->value_lens[l->count] = value.len;
    l->count++;
}

/* The comparisons, then the changes, of @op. */
static void fill_change(struct rados_client *c,
                        rados_write_op_t op,
                        const struct rados_change *changes,
                        size_t count,
                        struct key_lists *set,
                        struct key_lists *gone)
{
    for (size_t i = 0; i < count; i++) {
        const struct rados_change *k = &changes[i];
        c->calls.rados_write_op_omap_cmp2(op, k->key, LIBRADOS_CMPXATTR_OP_EQ,
                                          k->was.data ? k->was.data : "",
                                          strlen(k->key), k->was.len, NULL);
        if (k->now.len > 0 && !slice_eq(k->now, k->was))
            add_key(set, k->key, k->now);
        else if (k->now.len == 0 && k->was.len > 0)
            add_key(gone, k->key, SLICE_EMPTY);
    }
    if (set->count > 0)
        c->calls.rados_write_op_omap_set2(op, set->keys, set->values,
                                          set->key_lens, set->value_lens,
                                          set->count);
    if (gone->count > 0)
        c->calls.rados_write_op_omap_rm_keys2(op, gone->keys, gone->key_lens,
                                              gone->count);
}

int rados_map_change(struct rados_client *c,
                     const char *object,
                     const struct rados_change *changes,
                     size_t count,
                     const struct rados_change_options *o,
                     struct err *err)
{
    struct key_lists set;
    struct key_lists gone;
    struct rados_wait wait;
    rados_write_op_t op;
    int rc = rados__connect(c, err);
    PRE(count <= RADOS_CHANGES_MAX);
    if (rc)
        return rc;
    key_lists_init(&set, count);
    key_lists_init(&gone, count);
    op = c->calls.rados_create_write_op();
    if (o->create)
        c->calls.rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, NULL);
    else
        c->calls.rados_write_op_assert_exists(op);
    if (o->version)
        c->calls.rados_write_op_assert_version(op, o->version);
    fill_change(c, op, changes, count, &set, &gone);
    if (o->remove)
        c->calls.rados_write_op_remove(op);
    rados__wait_begin(c, &wait);
    rc = c->calls.rados_aio_write_op_operate(op, c->io, wait.completion, object,
                                             NULL, 0);
    rc = rados__wait_end(&wait, rc, "change", object, NULL, NULL, err);
    c->calls.rados_release_write_op(op);
    key_lists_close(&set);
    key_lists_close(&gone);
    return rc;
}

int rados_map_get(struct rados_client *c,
                  const char *object,
                  const char *const *keys,
                  size_t count,
                  struct buf *values,
                  struct err *err)
{
    struct key_lists l;
    struct rados_wait wait;
    rados_omap_iter_t found = NULL;
    rados_read_op_t op;
    int each = 0;
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    key_lists_init(&l, count);
    for (size_t i = 0; i < count; i++)
        add_key(&l, keys[i], SLICE_EMPTY);
    op = c->calls.rados_create_read_op();
    c->calls.rados_read_op_omap_get_vals_by_keys2(op, l.keys, l.count,
                                                  l.key_lens, &found, &each);
    rados__wait_begin(c, &wait);
    rc = c->calls.rados_aio_read_op_operate(op, c->io, wait.completion, object,
                                            0);
    rc = rados__wait_end(&wait, rc, "read", object, NULL, NULL, err);
    c->calls.rados_release_read_op(op);
    while (rc == 0) {
        char *key = NULL;
        char *value = NULL;
        size_t key_len = 0;
        size_t len = 0;
        if (c->calls.rados_omap_get_next2(found, &key, &value, &key_len,
                                          &len) ||
            !key)
            break;
        for (size_t i = 0; i < count; i++)
            if (key_len == strlen(keys[i]) &&
                memcmp(keys[i], key, key_len) == 0)
                buf_append(&values[i], value, len);
    }
    if (found)
        c->calls.rados_omap_get_end(found);
    key_lists_close(&l);
    return rc;
}

/* One page of a list. */
struct map_page {
    rados_omap_iter_t found;
    unsigned char more;
    int each;
    uint64_t version;
};

static int get_page(struct rados_client *c,
                    const char *object,
                    const char *after,
                    const char *prefix,
                    struct map_page *page,
                    struct err *err)
{
    struct rados_wait wait;
    rados_read_op_t op = c->calls.rados_create_read_op();
    int rc;
    *page = (struct map_page){.found = NULL};
    c->calls.rados_read_op_omap_get_vals2(
        op, after, prefix, PAGE_KEYS, &page->found, &page->more, &page->each);
    rados__wait_begin(c, &wait);
    rc = c->calls.rados_aio_read_op_operate(op, c->io, wait.completion, object,
                                            0);
    rc = rados__wait_end(&wait, rc, "list", object, NULL, &page->version, err);
    c->calls.rados_release_read_op(op);
    return rc;
}

/* Visit the keys of @page; @last becomes the last of them. */
static int visit_page(struct rados_client *c,
                      struct map_page *page,
                      rados_visit_fn visit,
                      void *ctx,
                      struct buf *last,
                      struct err *err)
{
    int rc = 0;
    while (rc == 0) {
        char *key = NULL;
        char *value = NULL;
        size_t key_len = 0;
        size_t len = 0;
        if (c->calls.rados_omap_get_next2(page->found, &key, &value, &key_len,
                                          &len) ||
            !key)
            break;
        buf_clear(last);
        buf_append(last, key, key_len);
        rc = visit(ctx, buf_cstr(last), slice_make(value, len), err);
    }
    return rc;
}

int rados_map_list(struct rados_client *c,
                   const char *object,
                   const char *prefix,
                   rados_visit_fn visit,
                   void *ctx,
                   uint64_t *version,
                   struct err *err)
{
    struct buf last = BUF_INIT;
    uint64_t first = 0;
    bool more = true;
    int rc = rados__connect(c, err);
    while (rc == 0 && more) {
        struct map_page page;
        rc = get_page(c, object, buf_cstr(&last), prefix, &page, err);
        if (rc == 0 && first && page.version != first && version)
            rc = err_set(err, ERR_ABORTED, "%s: %s was changed meanwhile",
                         c->name, object);
        first = page.version;
        if (rc == 0)
            rc = visit_page(c, &page, visit, ctx, &last, err);
        more = page.more;
        if (page.found)
            c->calls.rados_omap_get_end(page.found);
    }
    if (version)
        *version = first;
    buf_close(&last);
    return rc;
}

#else

/* A file of C has at least one declaration. */
struct rados_client;

#endif
