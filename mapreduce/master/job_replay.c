/* A journal read back: its records in the order in which they were written, up
 * to the last whole one.
 *
 * The order is checked: options first, then at most one plan and one list of
 * cuts. A journal that breaks it is corrupt, and the job has to be run again.
 */
#include "mapreduce/master/job_replay.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/master/journal.h"

static int add_end(struct replay *r, struct slice body, struct err *err)
{
    struct cursor in = cursor_make(body);
    struct replay_end e = {.kind = (enum task_kind)cursor_varint(&in)};
    e.task = (uint32_t)cursor_varint(&in);
    e.attempt = (uint32_t)cursor_varint(&in);
    if (in.bad || e.attempt == 0)
        return err_set(err, ERR_CORRUPT, "malformed end of a task");
    e.report = slice_sub(body, body.len - cursor_left(&in), body.len);
    if ((r->end_count & (r->end_count - 1)) == 0)
        r->ends = mem_realloc(r->ends, MAX_OF(r->end_count * 2, (size_t)1) *
                                           sizeof(*r->ends));
    r->ends[r->end_count++] = e;
    return 0;
}

static int
add_spec(struct task_spec *s, bool *have, struct slice body, struct err *err)
{
    if (*have)
        return err_set(err, ERR_CORRUPT, "a second plan");
    *have = true;
    return task_spec_decode(s, body, err);
}

static int replay_take(struct replay *r,
                       enum journal_type type,
                       struct slice body,
                       struct err *err)
{
    switch (type) {
    case JOURNAL_BEGIN: return err_set(err, ERR_CORRUPT, "a second beginning");
    case JOURNAL_PLAN: return add_spec(&r->plan, &r->planned, body, err);
    case JOURNAL_CUTS: return add_spec(&r->cuts, &r->cut, body, err);
    case JOURNAL_END: return add_end(r, body, err);
    case JOURNAL_COMMIT: r->committing = true; return 0;
    case JOURNAL_RESUME: r->resumes++; return 0;
    case JOURNAL_SEALED: break;
    }
    return err_set(err, ERR_CORRUPT, "a record of no known type");
}

int replay_read(struct replay *r, struct err *err)
{
    struct slice bytes = buf_slice(&r->bytes);
    enum journal_type type;
    struct slice body;
    int rc;
    if (!journal_next(bytes, &r->end, &type, &body) || type != JOURNAL_BEGIN)
        return err_set(err, ERR_CORRUPT, "no beginning of a journal");
    rc = saved_job_decode(&r->begin, body, err);
    while (rc == 0 && journal_next(bytes, &r->end, &type, &body))
        rc = replay_take(r, type, body, err);
    POST(r->end <= bytes.len); /* INV-1 */
    return rc;
}

void replay_close(struct replay *r)
{
    saved_job_close(&r->begin);
    if (r->planned)
        task_spec_close(&r->plan);
    if (r->cut)
        task_spec_close(&r->cuts);
    mem_free(r->ends);
    buf_close(&r->bytes);
    *r = (struct replay){.planned = false};
}
