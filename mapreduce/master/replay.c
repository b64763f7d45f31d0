/* Options and records of a journal, there and back. */
#include "mapreduce/master/replay.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/master/journal.h"

/* --- options ------------------------------------------------------------- */

static void put_texts(struct buf *out, const char *const *list, size_t count)
{
    buf_put_varint(out, count);
    for (size_t i = 0; i < count; i++)
        buf_put_text(out, list[i]);
}

static void
put_settings(struct buf *out, const struct mr_setting *list, size_t count)
{
    buf_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        buf_put_text(out, list[i].name);
        buf_put_text(out, list[i].value);
    }
}

/* The numbers of options, in the order they are written. */
#define NUMBERS(X)                                                             \
    X(workers)                                                                 \
    X(reducers)                                                                \
    X(memory_bytes)                                                            \
    X(heap_bytes)                                                              \
    X(file_bytes)                                                              \
    X(cpu_us)                                                                  \
    X(processes_max)                                                           \
    X(split_bytes)                                                             \
    X(timeout_us)                                                              \
    X(attempts_max)                                                            \
    X(skips_max)

/* The same of what is on or off. */
#define FLAGS(X)                                                               \
    X(network)                                                                 \
    X(no_sandbox)                                                              \
    X(no_backups)                                                              \
    X(skip_none)                                                               \
    X(in_process)                                                              \
    X(overwrite)                                                               \
    X(keep_work)

void replay_encode_begin(const struct mr_options *o,
                         const char *job_id,
                         int64_t job_time_us,
                         struct buf *out)
{
    const struct mr_program *p = &o->program;
    buf_put_text(out, job_id);
    buf_put_zigzag(out, job_time_us);
    buf_put_text(out, p->job ? p->job->name : NULL);
    buf_put_text(out, p->object);
    buf_put_text(out, p->mapper);
    buf_put_text(out, p->reducer);
    buf_put_text(out, p->combiner);
    buf_put_text(out, p->saw);
    buf_put_text(out, p->saw_name);
    buf_put_text(out, o->label);
    buf_put_text(out, o->target);
    put_texts(out, o->inputs, o->input_count);
    put_texts(out, o->outputs, o->output_count);
    put_settings(out, o->params, o->param_count);
    put_settings(out, o->files, o->file_count);
#define PUT(name) buf_put_varint(out, o->name);
    NUMBERS(PUT)
#undef PUT
#define PUT(name) buf_put_u8(out, o->name);
    FLAGS(PUT)
#undef PUT
    buf_put_text(out, o->principal);
    buf_put_u8(out, o->weak_sandbox);
}

static char *get_some_text(struct cursor *in)
{
    char *s = cursor_text(in);
    if (!s)
        in->bad = true;
    return s ? s : mem_strdup("");
}

static const char *const *get_texts(struct cursor *in, size_t *count)
{
    size_t n = cursor_count(in, 1);
    const char **list = mem_zalloc(n + 1, sizeof(*list));
    for (*count = 0; *count < n; ++*count)
        list[*count] = get_some_text(in);
    return list;
}

static const struct mr_setting *get_settings(struct cursor *in, size_t *count)
{
    size_t n = cursor_count(in, 2);
    struct mr_setting *list = mem_zalloc(n + 1, sizeof(*list));
    for (*count = 0; *count < n; ++*count) {
        list[*count].name = get_some_text(in);
        list[*count].value = get_some_text(in);
    }
    return list;
}

int replay_decode_begin(struct replay *r, struct slice body, struct err *err)
{
    struct mr_options *o = &r->options;
    struct mr_program *p = &o->program;
    struct cursor in = cursor_make(body);
    r->job_id = get_some_text(&in);
    r->job_time_us = cursor_zigzag(&in);
    r->job_name = cursor_text(&in);
    p->object = cursor_text(&in);
    p->mapper = cursor_text(&in);
    p->reducer = cursor_text(&in);
    p->combiner = cursor_text(&in);
    p->saw = cursor_text(&in);
    p->saw_name = cursor_text(&in);
    o->label = cursor_text(&in);
    o->target = cursor_text(&in);
    o->inputs = get_texts(&in, &o->input_count);
    o->outputs = get_texts(&in, &o->output_count);
    o->params = get_settings(&in, &o->param_count);
    o->files = get_settings(&in, &o->file_count);
#define GET(name) o->name = (__typeof__(o->name))cursor_varint(&in);
    NUMBERS(GET)
#undef GET
#define GET(name) o->name = cursor_u8(&in) != 0;
    FLAGS(GET)
#undef GET
    if (cursor_left(&in) > 0) /* Before there were principals it ended here. */
        o->principal = cursor_text(&in);
    if (cursor_left(&in) > 0) /* Later additions likewise. */
        o->weak_sandbox = cursor_u8(&in) != 0;
    if (in.bad || cursor_left(&in) > 0)
        return err_set(err, ERR_CORRUPT, "malformed beginning of a journal");
    return 0;
}

/* --- records ------------------------------------------------------------- */

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
    int code;
    if (!journal_next(bytes, &r->end, &type, &body) || type != JOURNAL_BEGIN)
        return err_set(err, ERR_CORRUPT, "no beginning of a journal");
    code = replay_decode_begin(r, body, err);
    while (code == 0 && journal_next(bytes, &r->end, &type, &body))
        code = replay_take(r, type, body, err);
    return code;
}

static void free_text(const char *s)
{
    mem_free((void *)(uintptr_t)s);
}

static void free_settings(const struct mr_setting *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free_text(list[i].name);
        free_text(list[i].value);
    }
    mem_free((void *)(uintptr_t)list);
}

static void free_texts(const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free_text(list[i]);
    mem_free((void *)(uintptr_t)list);
}

void replay_close(struct replay *r)
{
    struct mr_options *o = &r->options;
    free_text(o->program.object);
    free_text(o->program.mapper);
    free_text(o->program.reducer);
    free_text(o->program.combiner);
    free_text(o->program.saw);
    free_text(o->program.saw_name);
    free_text(o->label);
    free_text(o->principal);
    free_text(o->target);
    free_texts(o->inputs, o->input_count);
    free_texts(o->outputs, o->output_count);
    free_settings(o->params, o->param_count);
    free_settings(o->files, o->file_count);
    if (r->planned)
        task_spec_close(&r->plan);
    if (r->cut)
        task_spec_close(&r->cuts);
    mem_free(r->ends);
    mem_free(r->job_id);
    mem_free(r->job_name);
    buf_close(&r->bytes);
    *r = (struct replay){.job_id = NULL};
}
