/* The options of a job, encoded and decoded.
 *
 * Fields are written in a fixed order without tags; new ones go to the end, and
 * a reader takes what is there, so that a journal of an older version can be
 * resumed. */
#include "mapreduce/task/saved_job.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/mapreduce.h"

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

/* The options that are numbers, in the order they are written. */
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

/* The options that are on or off, likewise. */
#define FLAGS(X)                                                               \
    X(network)                                                                 \
    X(no_sandbox)                                                              \
    X(no_backups)                                                              \
    X(skip_none)                                                               \
    X(in_process)                                                              \
    X(overwrite)                                                               \
    X(keep_work)

void saved_job_encode(const struct mr_options *o,
                      const char *job_id,
                      int64_t job_time_us,
                      struct buf *out)
{
    PRE(job_id != NULL);
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

int saved_job_decode(struct saved_job *j, struct slice body, struct err *err)
{
    struct mr_options *o = &j->options;
    struct mr_program *p = &o->program;
    struct cursor in = cursor_make(body);
    j->job_id = get_some_text(&in);
    j->job_time_us = cursor_zigzag(&in);
    j->job_name = cursor_text(&in);
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
    if (cursor_left(&in) >
        0) /* Older journals end here: they have no principal. */
        o->principal = cursor_text(&in);
    if (cursor_left(&in) > 0) /* Later additions likewise. */
        o->weak_sandbox = cursor_u8(&in) != 0;
    if (in.bad || cursor_left(&in) > 0)
        return err_set(err, ERR_CORRUPT, "malformed beginning of a journal");
    return 0;
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

void saved_job_close(struct saved_job *j)
{
    struct mr_options *o = &j->options;
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
    mem_free(j->job_id);
    mem_free(j->job_name);
    *j = (struct saved_job){.job_id = NULL};
}
