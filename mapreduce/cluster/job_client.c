/* Calls that follow the job master: its address is the content of the lock's
 * file, read before each try. A call is tried again where the master is not
 * available, because another one may be by then.
 */
#include "mapreduce/cluster/job_client.h"

#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/fs.h"
#include "mapreduce/input/glob.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/files.h"
#include "mapreduce/task/saved_job.h"

#define TIMEOUT_US UINT64_C(30000000)
/* Between tries, while there is no master. */
#define AGAIN_US     UINT64_C(50000)
#define CONNECT_US   UINT64_C(2000000)
#define UPLOAD_BYTES ((size_t)1 << 20)

struct job_client {
    struct world *world;
    uint64_t timeout_us;
    struct chubby *chubby;
    struct chubby_handle *master; /* The lock's file; NULL: not opened yet. */
    struct channel_set *channels;
};

int job_client_open(struct world *w,
                    const struct job_client_options *opts,
                    struct job_client **out,
                    struct err *err)
{
    const struct chubby_options o = {.servers = opts->cell,
                                     .server_count = opts->cell_count,
                                     .security = opts->security};
    const struct rpc_channel_options channel = {
        .security = opts->security, .connect_timeout_us = CONNECT_US};
    struct job_client *c = mem_zalloc(1, sizeof(*c));
    int rc;
    c->world = w;
    c->timeout_us = opts->timeout_us ? opts->timeout_us : TIMEOUT_US;
    c->channels = channel_set_new(&channel);
    rc = chubby_connect(w, &o, &c->chubby, err);
    if (rc)
        job_client_close(c);
    *out = rc ? NULL : c;
    return rc;
}

void job_client_close(struct job_client *c)
{
    if (!c)
        return;
    chubby_close(c->master);
    chubby_disconnect(c->chubby);
    channel_set_close(c->channels);
    mem_free(c);
}

/* The address of the master now, or of the last one. The lock's file is made by
 * the first master of a cell. */
static int
find_master(struct job_client *c, struct buf *address, struct err *err)
{
    int rc = 0;
    if (!c->master)
        rc = chubby_open(c->chubby, JOBS_LOCK_MASTER, CHUBBY_READ, NULL,
                         &c->master, err);
    if (rc == 0)
        rc = chubby_read(c->master, address, NULL, err);
    if (rc == ERR_NOTFOUND || (rc == 0 && address->len == 0)) {
        rc = err_set(err, ERR_UNAVAILABLE, "the cluster has no job master yet");
        err_hint(err, "does a server run with the role jobs? see: "
                      "quarry cluster status --roles");
    }
    return rc;
}

static int try_call(struct job_client *c,
                    enum job_method method,
                    struct slice body,
                    uint64_t wait_us,
                    struct buf *reply,
                    struct err *err)
{
    const struct rpc_call_options o = {.timeout_us = wait_us + c->timeout_us};
    struct buf address = BUF_INIT;
    int rc = find_master(c, &address, err);
    if (reply)
        buf_clear(reply);
    if (rc == 0)
        rc = channel_set_call(c->channels, buf_slice(&address), method, &o,
                              body, SLICE_EMPTY, reply, NULL, err);
    buf_close(&address);
    return rc;
}

int job_client_call(struct job_client *c,
                    enum job_method method,
                    struct slice body,
                    uint64_t wait_us,
                    struct buf *reply,
                    struct err *err)
{
    uint64_t until = world_mono_ns(c->world) + c->timeout_us * 1000;
    for (;;) {
        int rc = try_call(c, method, body, wait_us, reply, err);
        if (rc != ERR_UNAVAILABLE || world_mono_ns(c->world) > until ||
            fiber_check(NULL) != 0)
            return rc;
        world_sleep_us(c->world, AGAIN_US);
    }
}

int job_client_submit(struct job_client *c,
                      const struct mr_options *o,
                      const char *id,
                      const char *name,
                      const struct job_submission *share,
                      struct err *err)
{
    PRE(id != NULL);
    struct mr_job named = {.name = name};
    struct mr_options all = *o;
    struct job_submission s = *share;
    struct buf options = BUF_INIT;
    struct buf body = BUF_INIT;
    int rc;
    if (name)
        all.program.job = &named;
    /* Where tables are, and how many tasks run at a time, is for the cell to
     * say. */
    all.workers = 0;
    all.target = NULL;
    saved_job_encode(&all, id, (int64_t)world_now_us(c->world), &options);
    s.id = slice_str(id);
    s.options = buf_slice(&options);
    job_submission_put(&s, &body);
    rc = job_client_call(c, JOB_SUBMIT, buf_slice(&body), 0, NULL, err);
    buf_close(&options);
    buf_close(&body);
    return rc;
}

char *job_client_local_file(struct world *w, const char *spec, char **path)
{
    const struct job_files here = {.world = w};
    struct mr_spec s;
    char **names = NULL;
    size_t count = 0;
    char *found = NULL;
    *path = NULL;
    if (mr_spec_parse(&s, spec, false, w, NULL) == 0 &&
        s.kind != MR_SPEC_TABLE) {
        *path = mem_strdup(s.path);
        if (glob_files(&here, s.path, &names, &count, NULL) == 0 && count > 0)
            found = mem_strdup(names[0]);
    }
    files_names_free(names, count);
    mr_spec_close(&s);
    return found;
}

static int job_client_copy(struct file *from,
                           struct fs_writer *to,
                           char *bytes,
                           struct err *err)
{
    uint64_t at = 0;
    size_t got = UPLOAD_BYTES;
    int rc = 0;
    while (rc == 0 && got == UPLOAD_BYTES) {
        rc = file_read_at(from, at, bytes, UPLOAD_BYTES, &got, err);
        if (rc == 0 && got > 0)
            rc = fs_writer_append(to, bytes, got, err);
        at += got;
    }
    return rc ? rc : fs_writer_sync(to, err);
}

int job_client_upload(struct world *w,
                      struct fs *fs,
                      const char *from,
                      const char *to,
                      struct err *err)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct file *f = NULL;
    struct fs_writer *out = NULL;
    char *bytes;
    int rc = file_open(w, from, FILE_READ, &f, err);
    if (rc)
        return rc;
    bytes = mem_alloc(UPLOAD_BYTES);
    rc = fs_create(fs, to, &o, &out, err);
    if (rc == 0)
        rc = job_client_copy(f, out, bytes, err);
    fs_writer_close(out);
    file_close(f);
    mem_free(bytes);
    if (rc)
        err_wrap(err, "upload %s", from);
    return rc;
}
