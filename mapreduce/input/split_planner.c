/* Planning splits of files: find the machines that have their bytes, so that
 * tasks run beside them (MapReduce, OSDI 2004, section 3.4), and join small
 * neighbours, so that a cheap map does not pay for a task each. */
#include "base/core/panic.h"
#include "mapreduce/input/input.h"

int input_splits_locate(struct input_splits *s,
                        size_t first,
                        const struct job_files *files,
                        const char *path,
                        struct err *err)
{
    PRE(first <= s->count);
    struct job_file *f = NULL;
    int rc;
    if (!files->fs || first == s->count)
        return 0;
    rc = job_file_open(files, path, &f, err);
    for (size_t i = first; i < s->count && rc == 0; i++) {
        const char *names[INPUT_MACHINES_MAX];
        size_t n =
            job_file_locality(f, s->at[i].begin, s->at[i].end - s->at[i].begin,
                              names, INPUT_MACHINES_MAX);
        for (size_t k = 0; k < n; k++)
            input_split_place(&s->at[i], names[k]);
    }
    job_file_close(f);
    return rc;
}

static bool has_machine(const struct input_split *s, const char *machine)
{
    for (size_t i = 0; i < INPUT_MACHINES_MAX && s->machines[i]; i++)
        if (strcmp(s->machines[i], machine) == 0)
            return true;
    return false;
}

/* Is @b the next piece of the file of @a, and does a machine have both? */
static bool can_join(const struct input_split *a, const struct input_split *b)
{
    bool anywhere = !a->machines[0] && !b->machines[0];
    for (size_t i = 0; i < INPUT_MACHINES_MAX && a->machines[i]; i++)
        anywhere = anywhere || has_machine(b, a->machines[i]);
    return anywhere && a->input == b->input && strcmp(a->path, b->path) == 0 &&
           a->compression == BYTES_PLAIN && b->compression == BYTES_PLAIN &&
           !a->unindexed && !b->unindexed && !a->snapshot && !b->snapshot &&
           a->end > a->begin && a->end == b->begin;
}

static void input_split_join(struct input_split *a, struct input_split *b)
{
    PRE(a->end == b->begin);
    size_t kept = 0;
    a->end = b->end;
    a->bytes += b->bytes;
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++) {
        char *m = a->machines[i];
        a->machines[i] = NULL;
        if (m && has_machine(b, m))
            a->machines[kept++] = m;
        else
            mem_free(m);
    }
    input_split_close(b);
}

void input_splits_join(struct input_splits *s, uint64_t bytes)
{
    size_t kept = 0;
    for (size_t i = 1; i < s->count; i++) {
        struct input_split *last = &s->at[kept];
        if (last->bytes + s->at[i].bytes <= bytes + bytes / 8 &&
            can_join(last, &s->at[i]))
            input_split_join(last, &s->at[i]);
        else
            s->at[++kept] = s->at[i];
    }
    INVARIANT(s->count == 0 || kept < s->count);
    s->count = s->count ? kept + 1 : 0;
}
