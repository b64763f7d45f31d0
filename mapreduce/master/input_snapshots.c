/* Clones of tables for the time of a job. A clone is made once, under a name of
 * the job's: a resumed job finds it, and a forgotten one is found by its name
 * and dropped. */
#include "mapreduce/master/input_snapshots.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/master/job_run.h"

#define PREFIX ".job-"

/* Only the job master of a cell is sure to return and clean up. */
static bool is_wanted(const struct job_run *r, size_t input)
{
    const struct mr_spec *s = &r->setup.inputs[input];
    return s->kind == MR_SPEC_TABLE && !s->live && r->setup.remote &&
           r->opts->fs && r->opts->open_host;
}

/* Inputs of one table read it as of one moment: they share the clone of the
 * first. */
static void name_of(const struct job_run *r, size_t input, struct buf *out)
{
    size_t first = 0;
    while (!is_wanted(r, first) || strcmp(r->setup.inputs[first].path,
                                          r->setup.inputs[input].path) != 0)
        first++;
    buf_clear(out);
    buf_printf(out, PREFIX "%s-%zu", r->setup.job_id, first);
}

int input_snapshots_make(struct job_run *r, struct err *err)
{
    struct buf name = BUF_INIT;
    int rc = 0;
    r->snapshots = mem_zalloc(r->opts->input_count + 1, sizeof(char *));
    for (size_t i = 0; i < r->opts->input_count && rc == 0; i++) {
        const char *table = r->setup.inputs[i].path;
        struct err why = ERR_INIT;
        if (!is_wanted(r, i))
            continue;
        name_of(r, i, &name);
        rc = quarry_table_clone(r->store, table, buf_cstr(&name), &why);
        if (rc == 0 || rc == ERR_EXISTS)
            r->snapshots[i] = mem_strdup(buf_cstr(&name));
        else if (rc == ERR_DENIED)
            job_note(r, "table %s is read as it changes: %s", table, why.text);
        else
            err_copy(err, &why);
        if (rc == ERR_EXISTS || rc == ERR_DENIED)
            rc = 0;
        else if (rc)
            err_wrap(err, "input table %s", table);
    }
    buf_close(&name);
    return rc;
}

void input_snapshots_drop(struct job_run *r)
{
    struct buf name = BUF_INIT;
    for (size_t i = 0; i < r->opts->input_count && r->store; i++) {
        struct err err = ERR_INIT;
        int rc = 0;
        if (is_wanted(r, i)) {
            name_of(r, i, &name);
            rc = quarry_table_drop(r->store, buf_cstr(&name), &err);
        }
        if (rc && rc != ERR_NOTFOUND)
            job_note(r, "left behind: table %s: %s", buf_cstr(&name), err.text);
    }
    buf_close(&name);
}

static bool is_of(const char *table, const char *job_id)
{
    size_t n = strlen(job_id);
    return strncmp(table, PREFIX, sizeof(PREFIX) - 1) == 0 &&
           strncmp(table + sizeof(PREFIX) - 1, job_id, n) == 0 &&
           table[sizeof(PREFIX) - 1 + n] == '-';
}

static void
input_snapshots_drop_of(struct quarry *store, char *const *ids, size_t id_count)
{
    char **names = NULL;
    size_t count = 0;
    if (quarry_table_list_all(store, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < id_count; k++)
            if (is_of(names[i], ids[k]) &&
                quarry_table_drop(store, names[i], NULL))
                break; /* Left to an administrator who looks at the tables. */
    quarry_names_free(names, count);
}

void input_snapshots_forget(const struct mr_options *o,
                            char *const *job_ids,
                            size_t count)
{
    struct quarry_options opts = {.must_exist = true};
    struct quarry *store = NULL;
    bool reads = false;
    for (size_t i = 0; i < o->input_count; i++)
        reads = reads || strncmp(o->inputs[i], "table:", 6) == 0;
    if (!reads || count == 0)
        return;
    if (o->store_options)
        opts = *o->store_options;
    opts.act_as = o->principal;
    opts.world = o->world;
    if (quarry_open(o->target, &opts, &store, NULL) == 0)
        input_snapshots_drop_of(store, job_ids, count);
    quarry_close(store);
}
