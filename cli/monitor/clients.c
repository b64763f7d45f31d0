/* Clients of the cluster's services, opened by their first use. A service that
 * cannot be reached fails at once for some seconds, so that a page with
 * several parts waits for it once.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "chubby-lite/chubby.h"
#include "cli/monitor/monitor_private.h"
#include "mapreduce/cluster/job_client.h"

#define OPEN_US  UINT64_C(3000000)
#define RETRY_NS UINT64_C(5000000000)
#define CALL_US  UINT64_C(5000000)

static void join_cell(const struct monitor *m, struct buf *out)
{
    for (size_t i = 0; i < m->source.cell_count; i++)
        buf_printf(out, "%s%s", i ? "," : "", m->source.cell[i]);
}

/* --- how each is opened -------------------------------------------------- */

static int open_tables(struct monitor *m, void **out, struct err *err)
{
    const struct quarry_options o = {.world = m->source.world,
                                     .security = m->source.security,
                                     .cluster = m->source.cluster,
                                     .must_exist = true,
                                     .timeout_us = CALL_US};
    struct quarry *q = NULL;
    struct buf cell = BUF_INIT;
    int rc;
    join_cell(m, &cell);
    rc = quarry_open(buf_cstr(&cell), &o, &q, err);
    buf_close(&cell);
    *out = q;
    return rc;
}

static int open_files(struct monitor *m, void **out, struct err *err)
{
    struct gfs_options o = {.name = "monitor",
                            .security = m->source.security,
                            .timeout_us = CALL_US};
    struct fs *fs = NULL;
    struct buf cell = BUF_INIT;
    int rc;
    join_cell(m, &cell);
    o.namenodes = buf_cstr(&cell);
    rc = fs_gfs_open(m->source.world, &o, &fs, err);
    buf_close(&cell);
    *out = fs;
    return rc;
}

static int open_jobs(struct monitor *m, void **out, struct err *err)
{
    const struct job_client_options o = {.cell = m->source.cell,
                                         .cell_count = m->source.cell_count,
                                         .security = m->source.security,
                                         .timeout_us = CALL_US};
    struct job_client *c = NULL;
    int rc = job_client_open(m->source.world, &o, &c, err);
    *out = c;
    return rc;
}

static void
note_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct monitor *m = ctx;
    (void)h;
    if (event == CHUBBY_EVENT_EXPIRED)
        m->locks_lost = true;
}

static int open_locks(struct monitor *m, void **out, struct err *err)
{
    const struct chubby_options o = {.servers = m->source.cell,
                                     .server_count = m->source.cell_count,
                                     .security = m->source.security,
                                     .on_event = note_event,
                                     .ctx = m};
    struct chubby *c = NULL;
    int rc;
    rc = chubby_connect(m->source.world, &o, &c, err);
    *out = c;
    return rc;
}

/* --- opening once -------------------------------------------------------- */

/* With a deadline for the attempt, and its failure kept for a while. */
static int
open_client(struct monitor *m,
            struct monitor_client *c,
            int (*open)(struct monitor *m, void **out, struct err *err),
            struct err *err)
{
    uint64_t now = world_mono_ns(m->source.world);
    uint64_t end = now + OPEN_US * 1000;
    uint64_t own;
    int rc = 0;
    mutex_lock(&m->opening);
    if (!c->open && c->err.code && now < c->retry_ns)
        rc = err_copy(err, &c->err);
    if (!c->open && rc == 0) {
        own = fiber_deadline();
        fiber_set_deadline(own && own < end ? own : end);
        c->err = ERR_INIT;
        rc = open(m, &c->open, &c->err);
        fiber_set_deadline(own);
        if (rc) {
            c->open = NULL;
            c->retry_ns = world_mono_ns(m->source.world) + RETRY_NS;
            err_copy(err, &c->err);
        }
    }
    mutex_unlock(&m->opening);
    return rc;
}

int monitor_tables(struct monitor *m, struct quarry **out, struct err *err)
{
    int rc = open_client(m, &m->tables, open_tables, err);
    *out = m->tables.open;
    return rc;
}

int monitor_files(struct monitor *m, struct fs **out, struct err *err)
{
    int rc = open_client(m, &m->file_system, open_files, err);
    *out = m->file_system.open;
    return rc;
}

int monitor_jobs(struct monitor *m, struct job_client **out, struct err *err)
{
    int rc = open_client(m, &m->jobs, open_jobs, err);
    *out = m->jobs.open;
    return rc;
}

int monitor_locks(struct monitor *m, struct chubby **out, struct err *err)
{
    int rc = open_client(m, &m->locks, open_locks, err);
    *out = m->locks.open;
    return rc;
}

void monitor__drop_lost_client(struct monitor *m)
{
    struct chubby *lost = m->locks.open;
    if (!m->locks_lost || m->making || m->locks_search.running)
        return;
    m->locks.open = NULL;
    m->locks_lost = false;
    chubby_disconnect(lost);
}

void monitor__close_clients(struct monitor *m)
{
    job_client_close(m->jobs.open);
    quarry_close(m->tables.open);
    chubby_disconnect(m->locks.open);
    fs_close(m->file_system.open);
}
