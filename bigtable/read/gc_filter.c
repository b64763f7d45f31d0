/* Garbage collection during compactions: the row, its families and its cells
 * are judged in the order of their keys, with the rules that a read applies.
 */
#include "bigtable/read/gc_filter.h"

#include "base/core/panic.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/visibility.h"
#include "bigtable/tablet/table_part.h"

struct gc_filter {
    struct lsm_filter base;
    struct table_part_view *view; /* Keeps the schema. */
    struct visibility visibility;
    bool to_bottom;
};

static void filter_begin(void *ctx, bool to_bottom)
{
    struct gc_filter *f = ctx;
    PRE(f->view);
    f->to_bottom = to_bottom;
    visibility_restart(&f->visibility);
}

static bool filter_keep(void *ctx, struct slice key, struct slice value)
{
    struct gc_filter *f = ctx;
    switch (visibility_feed(&f->visibility, key, value)) {
    case FATE_SHOWN: return true;
    case FATE_TOMBSTONE: return !f->to_bottom;
    case FATE_HIDDEN:
    case FATE_REDUNDANT:
    case FATE_COLLECTED:
    case FATE_FOREIGN: return false;
    case FATE_MALFORMED: return true; /* Not ours to destroy. */
    }
    return true;
}

static void filter_end(void *ctx)
{
    (void)ctx;
}

struct lsm_filter *gc_filter_new(struct table_part *t, int64_t now_us)
{
    struct table_part_view *view = table_part_get_view(t);
    struct gc_filter *f;
    if (!view)
        return NULL;
    f = mem_zalloc(1, sizeof(*f));
    f->base = (struct lsm_filter){f, filter_begin, filter_keep, filter_end};
    f->view = view;
    visibility_init(&f->visibility, view->schema, now_us);
    return &f->base;
}

void gc_filter_free(struct lsm_filter *base)
{
    struct gc_filter *f = CONTAINER_OF(base, struct gc_filter, base);
    PRE(f->view);
    visibility_close(&f->visibility);
    table_part_view_unref(f->view);
    mem_free(f);
}
