/* Preparing batches for the leader, outside the write turn. */
#include "bigtable/tablet/writer.h"

#include "base/core/panic.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/table.h"

/* Operations from this size on are written from where they are. */
#define SCATTER_BYTES_MIN ((size_t)512)
/* A writer that held more than this gives it back. */
#define SPARE_BYTES_MAX ((size_t)1 << 20)

/* A large piece belongs behind the first `at` bytes of the payload. */
struct cut {
    size_t at;
    struct slice piece;
};

struct writer *writer_new(void)
{
    struct writer *w = mem_zalloc(1, sizeof(*w));
    cond_init(&w->woken);
    return w;
}

void writer_free(struct writer *w)
{
    buf_close(&w->resolved);
    buf_close(&w->payload);
    buf_close(&w->parts);
    buf_close(&w->cuts);
    cond_close(&w->woken);
    mem_free(w);
}

static void reset_buf(struct buf *b)
{
    if (b->cap > SPARE_BYTES_MAX)
        buf_close(b);
    buf_clear(b);
}

void writer_start(struct writer *w,
                  struct table *t,
                  const struct quarry_mutation *const *mutations,
                  size_t count,
                  enum write_durability durability,
                  int64_t now_us,
                  const struct write_condition *condition)
{
    w->table = t;
    w->view = table_get_view(t);
    w->mutations = mutations;
    w->count = count;
    w->durability = durability;
    w->now_us = now_us;
    w->condition = condition;
    w->op_count = 0;
    w->bytes = 0;
    reset_buf(&w->resolved);
    reset_buf(&w->payload);
    reset_buf(&w->parts);
    reset_buf(&w->cuts);
}

/* Look up the families of one mutation's operations. */
static int
resolve(struct writer *w, const struct quarry_mutation *m, struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    const struct family *f = NULL;
    struct resolved r = {0, 0};
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        if (op.kind == MUTATION_DELETE_ROW) {
            struct resolved none = {0, 0};
            buf_append(&w->resolved, &none, sizeof(none));
            continue;
        }
        if (!f || !slice_eq_str(op.family, f->name)) {
            f = schema_family(w->view->schema, op.family);
            if (!f)
                return schema_no_family(w->view->schema, op.family, err);
            r = (struct resolved){
                f->id, (uint16_t)table_view_group(w->view, f->group)};
        }
        buf_append(&w->resolved, &r, sizeof(r));
    }
    INVARIANT(!c.bad);
    return 0;
}

/* Append the form of @m in the log; its families are the last resolved. */
static void encode(struct writer *w, const struct quarry_mutation *m)
{
    const struct resolved *r =
        (const struct resolved *)(const void *)(w->resolved.data +
                                                w->resolved.len) -
        m->count;
    char *p = buf_reserve(&w->payload, 4 * VARINT64_BYTES_MAX + 8 + m->row.len +
                                           2 * m->count);
    char *start = p;
    p = put_varint(p, w->table->id);
    put_le64(p, (uint64_t)w->now_us);
    p = put_varint(p + 8, m->count);
    p = put_varint(p, m->row.len);
    memcpy(p, m->row.data, m->row.len);
    p += m->row.len;
    for (size_t i = 0; i < m->count; i++, p += 2)
        put_le16(p, r[i].family);
    p = put_varint(p, m->ops.len);
    w->payload.len += (size_t)(p - start);
    if (m->ops.len < SCATTER_BYTES_MIN) {
        buf_append_slice(&w->payload, buf_slice(&m->ops));
    } else {
        struct cut cut = {w->payload.len, buf_slice(&m->ops)};
        buf_append(&w->cuts, &cut, sizeof(cut));
    }
}

/* The payload does not move any more: cut it into the parts of the record. */
static void lay_out(struct writer *w)
{
    const struct cut *cuts = (const void *)w->cuts.data;
    size_t cut_count = w->cuts.len / sizeof(*cuts);
    size_t at = 0;
    for (size_t i = 0; i <= cut_count; i++) {
        size_t end = i < cut_count ? cuts[i].at : w->payload.len;
        struct slice part = slice_make(w->payload.data + at, end - at);
        if (part.len)
            buf_append(&w->parts, &part, sizeof(part));
        if (i < cut_count)
            buf_append(&w->parts, &cuts[i].piece, sizeof(part));
        at = end;
    }
}

static int
prepare_one(struct writer *w, const struct quarry_mutation *m, struct err *err)
{
    int rc = mutation_check(m, err);
    if (rc)
        return rc;
    if (w->bytes + m->ops.len > UINT32_MAX - MUTATION_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "a batch of more than 3 GB: apply it in pieces");
    rc = resolve(w, m, err);
    if (rc)
        return rc;
    w->op_count += m->count;
    w->bytes += m->row.len + m->ops.len + 2 * m->count + 32;
    if (w->durability != WRITE_DEFERRED)
        encode(w, m);
    return 0;
}

int writer_prepare(struct writer *w, struct err *err)
{
    size_t count = w->count;
    int rc = 0;
    for (w->count = 0; w->count < count; w->count++) {
        rc = prepare_one(w, w->mutations[w->count], err);
        if (rc)
            break;
    }
    lay_out(w);
    return rc;
}

bool logged_mutation_read(struct cursor *c, struct logged_mutation *m)
{
    if (c->bad || c->p == c->end)
        return false;
    m->table = cursor_varint(c);
    m->now_us = (int64_t)cursor_le64(c);
    m->count = cursor_count(c, 2);
    m->row = cursor_lslice(c);
    if (m->count == 0 || m->row.len == 0 || m->count > cursor_left(c) / 2)
        c->bad = true;
    m->families = cursor_bytes(c, c->bad ? 0 : 2 * m->count).data;
    m->ops = cursor_lslice(c);
    return !c->bad;
}
