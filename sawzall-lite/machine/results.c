/* States and results of the tables of a run; see sawzall.h.
 *
 * A state is: magic "SAWT", version, fingerprint of the program's tables, count
 * of the tables that have a state; then for each its index and its own encoding
 * (tables/). */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "sawzall-lite/machine/run.h"

#define STATE_MAGIC   UINT32_C(0x54574153)
#define STATE_VERSION 1

void saw_run_encode_tables(struct saw_run *r, struct buf *out)
{
    uint32_t n = r->program->pool.table_count;
    uint32_t i;
    uint64_t count = 0;

    for (i = 0; i < n; i++)
        count += r->tables[i].table != NULL;
    buf_put_le32(out, STATE_MAGIC);
    buf_append_byte(out, STATE_VERSION);
    buf_put_le64(out, r->program->fingerprint);
    buf_put_varint(out, count);
    for (i = 0; i < n; i++) {
        if (!r->tables[i].table)
            continue;
        buf_put_varint(out, i);
        saw_table_encode(r->tables[i].table, out);
    }
}

int saw_run_merge_tables(struct saw_run *r, struct slice state, struct err *err)
{
    struct cursor c = cursor_make(state);
    uint64_t count;
    uint64_t i;
    int rc;

    if (cursor_le32(&c) != STATE_MAGIC || cursor_u8(&c) != STATE_VERSION)
        return err_set(err, ERR_CORRUPT, "state of tables: bad header");
    if (cursor_le64(&c) != r->program->fingerprint)
        return err_set(err, c.bad ? ERR_CORRUPT : ERR_INVALID,
                       "state of tables: of another program");
    count = cursor_varint(&c);
    for (i = 0; i < count && !c.bad; i++) {
        uint64_t index = cursor_varint(&c);
        struct saw_table *t = NULL;
        if (index < r->program->pool.table_count)
            t = saw_run_table(r, (uint32_t)index);
        if (!t)
            return err_set(err, ERR_CORRUPT, "state of tables: no table %llu",
                           (unsigned long long)index);
        rc = saw_table_merge(t, &c, err);
        if (rc != 0) {
            err_wrap(err, "state of table %s", r->tables[index].name);
            return rc;
        }
    }
    if (c.bad || cursor_left(&c) != 0)
        return err_set(err, ERR_CORRUPT, "state of tables: cut or damaged");
    return 0;
}

int saw_run_absorb(struct saw_run *to, struct saw_run *from, struct err *err)
{
    uint32_t i;
    int rc = 0;

    PRE(to != from && to->program == from->program);
    buf_append_slice(&to->output, buf_slice(&from->output));
    for (i = 0; i < to->program->pool.table_count && rc == 0; i++) {
        if (from->tables[i].table)
            rc = saw_table_absorb(saw_run_table(to, i), from->tables[i].table,
                                  err);
    }
    saw_run_clear(from);
    return rc;
}

void saw_run_clear(struct saw_run *r)
{
    uint32_t i;

    buf_clear(&r->output);
    for (i = 0; i < r->program->pool.table_count; i++) {
        if (r->tables[i].table)
            saw_table_clear(r->tables[i].table);
    }
}

void saw_run_print(struct saw_run *r, struct buf *out)
{
    uint32_t i;

    buf_append_slice(out, buf_slice(&r->output));
    for (i = 0; i < r->program->pool.table_count; i++) {
        if (r->tables[i].table)
            saw_table_print(r->tables[i].table, out);
    }
}

bool saw_run_print_to(struct saw_run *r, const struct saw_text_sink *sink)
{
    struct buf pending = BUF_INIT;
    bool more = true;
    uint32_t i;

    if (r->output.len)
        more = sink->write(sink->ctx, buf_slice(&r->output));
    for (i = 0; i < r->program->pool.table_count && more; i++) {
        if (r->tables[i].table)
            more = saw_table_write(r->tables[i].table, sink, &pending);
    }
    if (more && pending.len)
        more = sink->write(sink->ctx, buf_slice(&pending));
    buf_close(&pending);
    return more;
}

bool saw_run_results(struct saw_run *r, const struct saw_result_sink *sink)
{
    bool more = true;
    uint32_t i;

    for (i = 0; i < r->program->pool.table_count && more; i++) {
        if (r->tables[i].table)
            more = saw_table_results(r->tables[i].table, sink);
    }
    return more;
}
