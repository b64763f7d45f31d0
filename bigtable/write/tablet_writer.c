/* Preparing batches for the leader, outside the write turn: checks, families
 * and the bytes of the record. The stamp alone is filled in under the turn.
 */
#include "bigtable/write/tablet_writer.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/table_part.h"

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
    PRE(!w->view);
    buf_close(&w->resolved);
    buf_close(&w->payload);
    buf_close(&w->parts);
    buf_close(&w->cuts);
    buf_close(&w->stamped);
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
                  struct table_part *t,
                  const struct quarry_mutation *const *mutations,
                  size_t count,
                  enum write_durability durability,
                  int64_t now_us,
                  const struct write_condition *condition)
{
    PRE(!w->view);
    PRE(count > 0);
    w->table = t;
    w->view = table_part_get_view(t);
    w->mutations = mutations;
    w->count = count;
    w->durability = durability;
    /* Readers of changes are never told of commits that may be lost. */
    if (w->view && w->view->schema->changes_us && durability == WRITE_DEFERRED)
        w->durability = WRITE_LOGGED;
    w->now_us = now_us;
    w->condition = condition;
    w->op_count = 0;
    w->bytes = 0;
    reset_buf(&w->resolved);
    reset_buf(&w->payload);
    reset_buf(&w->parts);
    reset_buf(&w->cuts);
    reset_buf(&w->stamped);
    w->stamps = false;
}

/* Does the table choose the time of @op's cell? So it did where a row was read
 * to be changed, with what is the caller's time now. */
static bool is_stamped(const struct writer *w, const struct mutation_op *op)
{
    int64_t coarse_us = w->now_us / TABLE_COARSE_US * TABLE_COARSE_US;
    PRE(w->now_us >= 0);
    return mutation_kind_has_value(op->kind) &&
           (op->timestamp_us == MUTATION_NOW || op->timestamp_us == coarse_us);
}

/* Look up the families of one mutation's operations. *@stamps: some of its
 * cells get stamps. */
static int writer_resolve(struct writer *w,
                          const struct quarry_mutation *m,
                          bool *stamps,
                          struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    const struct family *f = NULL;
    struct resolved r = {0, 0};
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        *stamps |= is_stamped(w, &op);
        if (mutation_kind_is_of_row(op.kind)) {
            struct resolved none = {0, 0};
            buf_append(&w->resolved, &none, sizeof(none));
            continue;
        }
        if (!f || !slice_eq_str(op.family, f->name)) {
            f = schema_family(w->view->schema, op.family);
            if (!f)
                return schema_no_family(w->view->schema, op.family, err);
            r = (struct resolved){
                f->id, (uint16_t)table_part_view_group(w->view, f->group)};
        }
        if (UNLIKELY(f->aggregate != AGGREGATE_NONE ||
                     op.kind >= MUTATION_ADD)) {
            int rc = aggregate_check_op(f, &op, err);
            if (rc)
                return rc;
        }
        buf_append(&w->resolved, &r, sizeof(r));
    }
    INVARIANT(!c.bad);
    return 0;
}

/* Append the client's change that @m belongs to. */
static char *put_change(char *p, const struct quarry_mutation *m)
{
    put_le64(p, m->session);
    p = put_varint(p + 8, m->sequence);
    p = put_varint(p, m->answer.len);
    if (m->answer.len)
        memcpy(p, m->answer.data, m->answer.len);
    return p + m->answer.len;
}

/* Append the form of @m in the log; its families are the last resolved. */
static void
writer_encode(struct writer *w, const struct quarry_mutation *m, bool stamps)
{
    const struct resolved *r =
        (const struct resolved *)(const void *)(w->resolved.data +
                                                w->resolved.len) -
        m->count;
    char *p =
        buf_reserve(&w->payload, 6 * VARINT64_BYTES_MAX + 16 + m->row.len +
                                     2 * m->count + m->answer.len);
    char *start = p;
    PRE(w->resolved.len / sizeof(*r) >= m->count);
    PRE(m->row.len > 0);
    p = put_varint(p, w->table->id);
    if (stamps) {
        size_t at = (size_t)(p - w->payload.data);
        buf_append(&w->stamped, &at, sizeof(at));
    }
    put_le64(p, 0);
    p = put_varint(p + 8, m->count | (m->session ? LOGGED_WITH_CHANGE : 0));
    if (m->session)
        p = put_change(p, m);
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
        INVARIANT(end >= at);
        struct slice part = slice_make(w->payload.data + at, end - at);
        if (part.len)
            buf_append(&w->parts, &part, sizeof(part));
        if (i < cut_count)
            buf_append(&w->parts, &cuts[i].piece, sizeof(part));
        at = end;
    }
}

void writer_stamp(struct writer *w)
{
    const size_t *at = (const void *)w->stamped.data;
    PRE(w->stamped.len % sizeof(size_t) == 0);
    if (!w->stamps)
        return;
    w->now_us = table_part_stamp_us(w->table, w->now_us);
    table_part_note_stamp(w->table, w->now_us);
    for (size_t i = 0; i < w->stamped.len / sizeof(*at); i++)
        put_le64(w->payload.data + at[i], (uint64_t)w->now_us);
    POST(w->now_us > 0);
}

static int
prepare_one(struct writer *w, const struct quarry_mutation *m, struct err *err)
{
    bool stamps = w->view->schema->changes_us > 0; /* Commits have times. */
    int rc = mutation_check(m, err);
    PRE(w->view);
    if (rc)
        return rc;
    if (w->bytes + m->ops.len > UINT32_MAX - MUTATION_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "a batch of more than 3 GB: apply it in pieces");
    if (UNLIKELY(w->view->schema->indexes != NULL))
        rc = index_set_guard(w->view->schema->indexes, m, err);
    if (rc == 0)
        rc = writer_resolve(w, m, &stamps, err);
    if (rc)
        return rc;
    w->op_count += m->count;
    w->bytes += m->row.len + m->ops.len + m->answer.len + 2 * m->count + 32;
    w->stamps |= stamps;
    if (w->durability != WRITE_DEFERRED)
        writer_encode(w, m, stamps);
    POST(w->op_count >= m->count);
    return 0;
}

int writer_prepare(struct writer *w, struct err *err)
{
    size_t count = w->count;
    int rc = 0;
    PRE(w->view);
    for (w->count = 0; w->count < count; w->count++) {
        rc = prepare_one(w, w->mutations[w->count], err);
        if (rc)
            break;
    }
    lay_out(w);
    POST(rc == 0 ? w->count == count : w->count < count);
    POST(rc || w->resolved.len / sizeof(struct resolved) == w->op_count);
    return rc;
}
