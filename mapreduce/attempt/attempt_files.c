/* The paths an attempt may open, derived from its spec and the job's outputs,
 * never from what the attempt sends: an untrusted attempt can ask for its own
 * files and no others. */
#include "mapreduce/attempt/attempt_files.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/fs_proxy.h"
#include "mapreduce/attempt/row_relay.h"
#include "mapreduce/output/bulk_output.h"
#include "mapreduce/records/files.h"
#include "mapreduce/task/job_setup.h"
#include "mapreduce/task/task_spec.h"

struct paths {
    char **reads; /* Owned, as are the paths. */
    size_t read_count;
    struct fs_proxy_prefix *writes; /* Likewise. */
    size_t write_count;
};

static void add_read(struct paths *p, const char *path)
{
    p->reads[p->read_count++] = mem_strdup(files_fs_path(path));
}

static void add_write(struct paths *p, const char *path, struct fs *fs)
{
    p->writes[p->write_count++] =
        (struct fs_proxy_prefix){mem_strdup(files_fs_path(path)), fs};
}

static void add_splits(struct paths *p,
                       const struct job_setup *setup,
                       const struct task_spec *spec)
{
    for (size_t i = 0; i < spec->splits.count; i++) {
        const struct input_split *s = &spec->splits.at[i];
        if (setup->inputs[s->input].kind != MR_SPEC_TABLE)
            add_read(p, s->path);
    }
}

/* The files of a bulk output's load, and the ticket that says where they go. */
static int add_load(struct paths *p,
                    const struct job_setup *setup,
                    size_t index,
                    const char *prefix,
                    struct relay_store *store,
                    struct err *err)
{
    struct buf path = BUF_INIT;
    struct fs *fs = NULL;
    int rc = relay_store_files(store, &fs, err);
    bulk_output_ticket_path(setup->staging[index], &path);
    add_read(p, buf_cstr(&path));
    buf_clear(&path);
    if (rc == 0)
        rc = bulk_output_part_path(setup->job_id, (unsigned)index, prefix,
                                   &path, err);
    if (rc == 0)
        add_write(p, buf_cstr(&path), fs);
    buf_close(&path);
    return rc;
}

/* The part and its side files. */
static void add_output(struct paths *p,
                       const struct job_setup *setup,
                       size_t index,
                       const char *prefix)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/.%s.", setup->staging[index], prefix);
    add_write(p, buf_cstr(&path), NULL);
    buf_close(&path);
}

static void close_paths(struct paths *p)
{
    for (size_t i = 0; i < p->read_count; i++)
        mem_free(p->reads[i]);
    for (size_t i = 0; i < p->write_count; i++)
        mem_free((void *)(uintptr_t)p->writes[i].path);
    mem_free(p->reads);
    mem_free(p->writes);
}

int attempt_files_grant(const struct job_setup *setup,
                        const struct task_spec *spec,
                        struct relay_store *store,
                        struct fs_proxy_session *s,
                        struct err *err)
{
    struct paths p = {.reads = NULL};
    struct buf prefix = BUF_INIT;
    int rc = 0;
    p.reads = mem_alloc((spec->splits.count + setup->output_count + 1) *
                        sizeof(*p.reads));
    p.writes = mem_zalloc(2 * setup->output_count + 1, sizeof(*p.writes));
    task_spec_prefix(spec, &prefix);
    add_splits(&p, setup, spec);
    for (size_t i = 0; i < setup->output_count && rc == 0; i++) {
        add_output(&p, setup, i, buf_cstr(&prefix));
        if (setup->outputs[i].bulk)
            rc = add_load(&p, setup, i, buf_cstr(&prefix), store, err);
    }
    if (rc == 0)
        fs_proxy_session_limit(
            s, &(struct fs_proxy_rules){.reads = (const char *const *)p.reads,
                                        .read_count = p.read_count,
                                        .writes = p.writes,
                                        .write_count = p.write_count});
    close_paths(&p);
    buf_close(&prefix);
    return rc;
}
