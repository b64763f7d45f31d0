/* The machine's state as bytes and back; docs/formats.md has the grammar.
 *
 *     image    = version now_us instance_count handle_count node sessions
 *     node     = name flags instance content lock acl lock_free_us contents
 *                acl_read acl_write acl_change child_count node…
 *     sessions = count (id principal lease_ms [address] acknowledged
 *                answer_count (sequence bytes)… handle_count (handle)…)…
 *     handle   = id path-or-nil flags events lock_delay_ms holding
 *
 * Children and sessions, handles and answers come in order, so that equal
 * states give equal bytes.
 */
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "chubby-lite/cell_state.h"
#include "chubby-lite/lock_path.h"

enum {
    IMAGE_VERSION = 2,
    VERSION_WITH_ADDRESS = 2,
    NODE_DIRECTORY = 1,
    NODE_EPHEMERAL = 2
};

/* --- saving -------------------------------------------------------------- */

static void put_node(const struct node *n, struct buf *out)
{
    size_t i;

    codec_put_str(out, slice_str(n->name));
    codec_put_u64(out, (n->is_directory ? NODE_DIRECTORY : 0u) |
                           (n->is_ephemeral ? NODE_EPHEMERAL : 0u));
    codec_put_u64(out, n->instance);
    codec_put_u64(out, n->content_generation);
    codec_put_u64(out, n->lock_generation);
    codec_put_u64(out, n->acl_generation);
    codec_put_u64(out, n->lock_free_us);
    codec_put_bin(out, buf_slice(&n->contents));
    for (i = 0; i < ACL_KINDS; i++)
        codec_put_str(out, slice_str(n->acl[i]));
    codec_put_u64(out, n->child_count);
    for (i = 0; i < n->child_count; i++)
        put_node(n->children[i], out);
}

static void put_handle(const struct handle *h, struct buf *out)
{
    struct buf path = BUF_INIT;

    codec_put_u64(out, h->id);
    if (h->node) {
        node_put_path(h->node, &path);
        codec_put_str(out, buf_slice(&path));
    } else {
        codec_put_nil(out);
    }
    codec_put_u64(out, h->flags);
    codec_put_u64(out, h->events);
    codec_put_u64(out, h->lock_delay_ms);
    codec_put_u64(out, (uint64_t)h->holding);
    buf_close(&path);
}

static void put_session(const struct session *s, struct buf *out)
{
    struct handle **handles = handle_sorted(s);
    const struct session_answers *a = &s->answers;
    size_t i;
    PRE(s->answers.count <= SESSION_ANSWERS_MAX);

    codec_put_u64(out, s->id);
    codec_put_str(out, slice_str(s->principal));
    codec_put_u64(out, s->lease_ms);
    codec_put_str(out, slice_str(s->address));
    codec_put_u64(out, a->acknowledged);
    codec_put_u64(out, a->count);
    for (i = 0; i < a->count; i++) {
        codec_put_u64(out, a->kept[i].sequence);
        codec_put_bin(out, slice_make(a->kept[i].bytes, a->kept[i].len));
    }
    codec_put_u64(out, s->handle_count);
    for (i = 0; i < s->handle_count; i++)
        put_handle(handles[i], out);
    mem_free(handles);
}

void cell_save(const struct cell *c, struct buf *out)
{
    size_t count;
    struct session **sessions = session_sorted(&c->table, &count);
    size_t i;

    codec_put_u64(out, IMAGE_VERSION);
    codec_put_u64(out, c->now_us);
    codec_put_u64(out, c->instance_count);
    codec_put_u64(out, c->handle_count);
    INVARIANT(c->node_count > 0); /* INV-2 */
    put_node(c->root, out);
    codec_put_u64(out, count);
    for (i = 0; i < count; i++)
        put_session(sessions[i], out);
    mem_free(sessions);
}

/* --- loading ------------------------------------------------------------- */

/* An image being read into a cell of its own, which replaces the present one
 * when all of it was good. Anything that breaks an invariant makes it bad. */
struct loading {
    struct codec_reader r;
    uint64_t version;
    struct cell *cell;
};

static uint64_t get_below(struct loading *l, uint64_t bound)
{
    uint64_t v = codec_get_u64(&l->r);

    if (v >= bound)
        l->r.bad = true;
    return l->r.bad ? 0 : v;
}

/* Read the fields of @n after its name and kind, and its children. */
static void get_node_body(struct loading *l, struct node *n, size_t depth)
{
    uint64_t count;
    size_t i;

    PRE(depth <= CHUBBY_DEPTH_MAX); /* Bounds the recursion. */
    n->instance = get_below(l, l->cell->instance_count + 1);
    n->content_generation = codec_get_u64(&l->r);
    n->lock_generation = codec_get_u64(&l->r);
    n->acl_generation = codec_get_u64(&l->r);
    n->lock_free_us = codec_get_u64(&l->r);
    buf_append_slice(&n->contents, codec_get_bytes(&l->r));
    l->cell->node_count++;
    l->cell->contents_bytes += n->contents.len;
    for (i = 0; i < ACL_KINDS; i++)
        node_set_acl(n, (enum acl_kind)i, codec_get_bytes(&l->r));
    count = codec_get_u64(&l->r);
    if (count > 0 && (!n->is_directory || depth == CHUBBY_DEPTH_MAX))
        l->r.bad = true;
    for (; count > 0 && !l->r.bad; count--) {
        struct slice name = codec_get_bytes(&l->r);
        uint64_t flags = get_below(l, 4);
        struct node *child;
        if (l->r.bad || name.len == 0 ||
            slice_find_byte(name, '/') < name.len ||
            name.len > CHUBBY_NAME_BYTES_MAX || node_child(n, name)) {
            l->r.bad = true;
            return;
        }
        child = node_add(n, name, flags & NODE_DIRECTORY);
        child->is_ephemeral = flags & NODE_EPHEMERAL;
        get_node_body(l, child, depth + 1);
    }
}

/* The handle just made holds its node's lock in @mode, if it may. */
static void
cell_image_hold(struct loading *l, struct handle *h, enum chubby_lock mode)
{
    struct node *n = h->node;

    if (mode == CHUBBY_FREE)
        return;
    if (!n || n->mode == CHUBBY_EXCLUSIVE ||
        (n->mode == CHUBBY_SHARED && mode == CHUBBY_EXCLUSIVE)) {
        l->r.bad = true;
        return;
    }
    n->mode = mode;
    n->holder_count++;
    h->holding = mode;
    POST(n->holder_count > 0);
    node_check(n);
}

static void get_handle(struct loading *l, struct session *s)
{
    uint64_t id = get_below(l, l->cell->handle_count + 1);
    bool has_node = codec_peek(&l->r) != CODEC_NIL;
    struct node *n = NULL;
    struct handle *h;
    struct slice path;

    if (has_node) {
        path = codec_get_bytes(&l->r);
        if (!l->r.bad && path_check(path, NULL) == 0)
            n = node_find(l->cell->root, path);
        if (!n)
            l->r.bad = true;
    } else {
        codec_skip(&l->r);
    }
    if (l->r.bad || handle_find(&l->cell->table, id)) {
        l->r.bad = true;
        return;
    }
    h = handle_add(&l->cell->table, id, s, n);
    h->flags = (unsigned)get_below(l, 2 * CHUBBY_UNCACHED);
    h->events = (unsigned)get_below(l, UINT32_MAX);
    h->lock_delay_ms = (uint32_t)get_below(l, CHUBBY_LOCK_DELAY_MS_MAX + 1);
    cell_image_hold(l, h, (enum chubby_lock)get_below(l, 3));
    POST(h->node || h->holding == CHUBBY_FREE); /* INV-2 of lock_session.h */
}

static void get_session(struct loading *l)
{
    uint64_t id = codec_get_u64(&l->r);
    struct slice principal = codec_get_bytes(&l->r);
    uint64_t lease_ms = get_below(l, (uint64_t)UINT32_MAX + 1);
    struct slice address = l->version >= VERSION_WITH_ADDRESS
                               ? codec_get_bytes(&l->r)
                               : SLICE_EMPTY;
    struct session *s;
    uint64_t acknowledged = codec_get_u64(&l->r);
    uint64_t count = get_below(l, SESSION_ANSWERS_MAX + 1);

    if (l->r.bad || address.len > SESSION_ADDRESS_BYTES_MAX ||
        session_find(&l->cell->table, id)) {
        l->r.bad = true;
        return;
    }
    s = session_add(&l->cell->table, id, principal, address,
                    (uint32_t)lease_ms);
    s->answers.acknowledged = acknowledged;
    for (; count > 0 && !l->r.bad; count--) {
        uint64_t sequence = codec_get_u64(&l->r);
        struct slice bytes = codec_get_bytes(&l->r);
        l->r.bad |= !session_answers_load(&s->answers, sequence, bytes);
    }
    count = get_below(l, SESSION_HANDLES_MAX + 1);
    for (; count > 0 && !l->r.bad; count--)
        get_handle(l, s);
}

static void get_cell(struct loading *l)
{
    struct cell *c = l->cell;
    uint64_t count;
    struct slice name;
    uint64_t flags;

    l->version = codec_get_u64(&l->r);
    if (l->version < 1 || l->version > IMAGE_VERSION)
        l->r.bad = true;
    c->now_us = codec_get_u64(&l->r);
    c->instance_count = codec_get_u64(&l->r);
    c->handle_count = codec_get_u64(&l->r);
    name = codec_get_bytes(&l->r);
    flags = codec_get_u64(&l->r);
    if (name.len > 0 || flags != NODE_DIRECTORY)
        l->r.bad = true;
    get_node_body(l, c->root, 0);
    count = get_below(l, CELL_SESSIONS_MAX + 1);
    for (; count > 0 && !l->r.bad; count--)
        get_session(l);
    if (!codec_done(&l->r))
        l->r.bad = true;
}

/* A cell with nothing but its root. */
static struct cell *bare_cell(const struct cell *like)
{
    struct cell *c = mem_zalloc(1, sizeof(*c));

    c->on_event = like->on_event;
    c->ctx = like->ctx;
    c->root = node_root_new();
    session_table_init(&c->table);
    return c;
}

static void add_first_nodes(struct cell *c)
{
    struct node *acl = node_add(c->root, SLICE_LIT("acl"), true);

    c->root->instance = ++c->instance_count;
    acl->instance = ++c->instance_count;
    c->node_count = 2;
    POST(c->root->child_count == 1);
}

int cell_load(struct cell *c, struct slice image, struct err *err)
{
    struct loading l = {.r = codec_reader_make(image), .cell = bare_cell(c)};
    struct cell old;
    int rc = 0;

    if (image.len == 0)
        add_first_nodes(l.cell);
    else
        get_cell(&l);
    if (l.r.bad) {
        rc = err_set(err, ERR_CORRUPT,
                     "the image of the lock service's "
                     "state is damaged");
    } else {
        /* The caller's cell stays where it is; the husk takes the old state. */
        old = *c;
        *c = *l.cell;
        *l.cell = old;
    }
    POST(rc || c->root->is_directory);
    POST(rc || c->node_count > 0); /* INV-2 */
    cell_free(l.cell);
    return rc;
}
