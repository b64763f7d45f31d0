/* The properties of a job's code, copied out of its struct mr_job and encoded:
 * the job master of a cell learns them from a worker that has loaded the code.
 */
#include "mapreduce/task/job_traits.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

static char *traits_copy(const char *s)
{
    return s ? mem_strdup(s) : NULL;
}

void job_traits_of(struct job_traits *t, const struct mr_job *job)
{
    *t = (struct job_traits){
        .name = traits_copy(job->name ? job->name : "job"),
        .has_reduce = job->reduce != NULL,
        .combines = job->reduce != NULL && job->combine != NULL,
        .total_order = job->total_order,
        .partitions = job->partition != NULL,
        .single_reducer = job->single_reducer,
        .descending = job->sort == MR_SORT_DESCENDING,
        .no_table_output = job->no_table_output,
        .any_params = job->any_params,
    };
    t->params = mem_zalloc(job->param_count + 1, sizeof(*t->params));
    for (size_t i = 0; i < job->param_count; i++)
        t->params[t->param_count++] =
            (struct mr_param){traits_copy(job->params[i].name),
                              traits_copy(job->params[i].fallback),
                              traits_copy(job->params[i].help)};
    while (job->output_families && job->output_families[t->family_count])
        t->family_count++;
    t->families = mem_zalloc(t->family_count + 1, sizeof(char *));
    for (size_t i = 0; i < t->family_count; i++)
        t->families[i] = mem_strdup(job->output_families[i]);
}

/* The strings of the list are owned though their type says const. */
static void free_text(const char *s)
{
    mem_free((void *)(uintptr_t)s);
}

void job_traits_close(struct job_traits *t)
{
    for (size_t i = 0; i < t->param_count; i++) {
        free_text(t->params[i].name);
        free_text(t->params[i].fallback);
        free_text(t->params[i].help);
    }
    for (size_t i = 0; i < t->family_count; i++)
        mem_free(t->families[i]);
    mem_free(t->families);
    mem_free(t->params);
    mem_free(t->name);
    *t = (struct job_traits){.name = NULL};
}

void job_traits_encode(const struct job_traits *t, struct buf *out)
{
    PRE(t->name != NULL);
    buf_put_text(out, t->name);
    buf_put_u8(out, t->has_reduce);
    buf_put_u8(out, t->combines);
    buf_put_u8(out, t->total_order);
    buf_put_u8(out, t->partitions);
    buf_put_u8(out, t->single_reducer);
    buf_put_u8(out, t->descending);
    buf_put_u8(out, t->any_params);
    buf_put_u8(out, t->no_table_output);
    buf_put_varint(out, t->param_count);
    for (size_t i = 0; i < t->param_count; i++) {
        buf_put_text(out, t->params[i].name);
        buf_put_text(out, t->params[i].fallback);
        buf_put_text(out, t->params[i].help);
    }
    buf_put_varint(out, t->family_count);
    for (size_t i = 0; i < t->family_count; i++)
        buf_put_text(out, t->families[i]);
}

int job_traits_decode(struct job_traits *t, struct slice bytes, struct err *err)
{
    struct cursor in = cursor_make(bytes);
    size_t count;
    *t = (struct job_traits){.name = cursor_text(&in)};
    t->has_reduce = cursor_u8(&in) != 0;
    t->combines = cursor_u8(&in) != 0;
    t->total_order = cursor_u8(&in) != 0;
    t->partitions = cursor_u8(&in) != 0;
    t->single_reducer = cursor_u8(&in) != 0;
    t->descending = cursor_u8(&in) != 0;
    t->any_params = cursor_u8(&in) != 0;
    t->no_table_output = cursor_u8(&in) != 0;
    count = cursor_count(&in, 3);
    t->params = mem_zalloc(count + 1, sizeof(*t->params));
    for (; t->param_count < count; t->param_count++) {
        struct mr_param *p = &t->params[t->param_count];
        p->name = cursor_text(&in);
        p->fallback = cursor_text(&in);
        p->help = cursor_text(&in);
        in.bad = in.bad || !p->name;
    }
    count = cursor_count(&in, 1);
    t->families = mem_zalloc(count + 1, sizeof(char *));
    for (; t->family_count < count; t->family_count++) {
        t->families[t->family_count] = cursor_text(&in);
        in.bad = in.bad || !t->families[t->family_count];
    }
    if (in.bad || !t->name)
        return err_set(err, ERR_CORRUPT, "malformed description of a job");
    return 0;
}
