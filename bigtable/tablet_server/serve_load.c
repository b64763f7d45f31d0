/* Bulk loads into a tablet: the files are checked on a thread, given names
 * beside the other SSTables without copying their bytes, and added in one
 * change of the tablet's state. A tablet that knows the load's id does nothing.
 * Where tables are encrypted, writers of a load first borrow a key here. */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/add_files.h"
#include "bigtable/store/manifest.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/wire/load_calls.h"
#include "gfs-lite/gfs.h"

#define PATH_BYTES 64

struct load_job {
    struct tablet_server *server;
    struct serving *serving;
    struct slice id;
    struct new_file *files;
    size_t count;
    struct add_counts counts;
    struct err err;
    int rc;
};

/* --- files --------------------------------------------------------------- */

static void number_path(uint64_t number, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, STORE_TABLES_DIR "/%06" PRIu64 ".sst", number);
}

/* In the cluster's file system the new name shares the chunks of the old one;
 * in a local one the file is renamed. */
static int
serve_load_place(void *ctx, const struct new_file *f, struct err *err)
{
    struct tablet_server *s = ctx;
    char path[PATH_BYTES];
    int rc = fs_mkdirs(s->fs, STORE_TABLES_DIR, err);
    PRE(f->number != 0);
    number_path(f->number, path);
    if (rc)
        return rc;
    return fs_is_gfs(s->fs) ? gfs_snapshot(s->fs, f->path, path, err)
                            : fs_rename(s->fs, f->path, path, err);
}

static void take_back(void *ctx, const struct new_file *f)
{
    struct tablet_server *s = ctx;
    char path[PATH_BYTES];
    int rc;

    PRE(f->number != 0);
    number_path(f->number, path);
    rc = fs_is_gfs(s->fs) ? fs_remove(s->fs, path, NULL)
                          : fs_rename(s->fs, path, f->path, NULL);
    if (rc)
        log_debug(s->world, "tablet", "load file %s stays", path);
}

static struct new_file *
take_list(struct slice id, const struct load_list *l, struct arena *a)
{
    struct new_file *files = arena_zalloc(a, (l->count + 1) * sizeof(*files));
    char path[LOAD_PATH_BYTES];
    for (size_t i = 0; i < l->count; i++) {
        const struct load_file *f = &l->files[i];
        load_path(id, f->name, path);
        files[i] = (struct new_file){.path = arena_strdup(a, path),
                                     .group = f->group,
                                     .bytes = f->bytes,
                                     .entries = f->entries,
                                     .first_key = f->first_key,
                                     .last_key = f->last_key};
    }
    return files;
}

/* --- the job ------------------------------------------------------------- */

static int check_all(struct load_job *j, struct err *err)
{
    int rc = 0;

    PRE(j->serving->view);
    for (size_t i = 0; i < j->count && rc == 0; i++)
        rc = check_new_file(j->server->fs, &j->files[i],
                            j->serving->view->schema, err);
    return rc;
}

static void run_load(void *arg)
{
    struct load_job *j = arg;
    struct tablet_server *s = j->server;
    const struct file_mover mover = {serve_load_place, take_back, s};
    struct table_part *t = j->serving->served->table;
    uint64_t load = load_number(j->id);

    PRE(j->serving->served);
    PRE(j->serving->view);
    /* Ask first whether the tablet has the load: then its files need not be
     * there. */
    j->rc =
        add_files(s->store, t, load, j->files, 0, &mover, &j->counts, &j->err);
    if (j->rc == 0 && j->counts.before == 0)
        j->rc = check_all(j, &j->err);
    if (j->rc == 0 && j->counts.before == 0)
        j->rc = add_files(s->store, t, load, j->files, j->count, &mover,
                          &j->counts, &j->err);
}

static int serve_load_files(struct tablet_server *s,
                            struct rpc_call *call,
                            const struct load_request *r,
                            struct serving *v,
                            struct err *err)
{
    struct load_job j = {.server = s, .serving = v, .id = r->id};
    struct load_list l;
    struct arena a;
    PRE(v->served);
    PRE(v->view);
    int rc = rules_may_all(s, v->served, call->principal, v->view->schema, NULL,
                           ACCESS_WRITE, err);
    if (rc)
        return rc;
    arena_init(&a);
    rc = load_list_get(call->attachment, &a, &l, err);
    if (rc == 0) {
        j.files = take_list(r->id, &l, &a);
        j.count = l.count;
        server_in_thread(s, run_load, &j);
        rc = j.rc ? err_copy(err, &j.err) : 0;
    }
    arena_close(&a);
    if (rc == 0)
        log_info(s->world, "tablet", "load tablet=%llu id=%.*s files=%llu%s",
                 (unsigned long long)r->tablet, SLICE_ARG(r->id),
                 (unsigned long long)j.counts.files,
                 j.counts.before ? " before=yes" : "");
    if (rc == 0)
        load_reply_put(&(struct load_reply){j.counts.before > 0},
                       call->reply_body);
    return rc;
}

/* A load that was begun is finished, although its call may be cancelled. */
struct load_call {
    struct tablet_server *server;
    struct rpc_call *call;
    const struct load_request *request;
    struct err *err;
    int rc;
};

static void run_call(void *arg)
{
    struct load_call *c = arg;
    struct serving v;
    c->rc = serving_begin(c->server, &v, c->request->tablet, 0, c->err);
    if (c->rc == 0)
        c->rc = serve_load_files(c->server, c->call, c->request, &v, c->err);
    serving_end(&v);
    if (c->rc == ERR_CANCELLED)
        c->rc = not_here(c->request->tablet, c->err);
}

int handle_load_files(struct tablet_server *s,
                      struct rpc_call *call,
                      struct err *err)
{
    struct load_request r;
    struct load_call c = {.server = s, .call = call, .request = &r, .err = err};
    int rc = load_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    loop_task_run(&s->loop_tasks, run_call, &c);
    return c.rc ? c.rc : check_answer(s, err);
}

/* --- keys ---------------------------------------------------------------- */

/* Deriving the key may read KEYS, which blocks: on a thread. */
struct lend_job {
    struct keyring *keys;
    unsigned char lent[KEYRING_SALT_BYTES];
    struct lend_reply reply;
    struct err err;
    int rc;
};

static void run_lend(void *arg)
{
    struct lend_job *j = arg;

    PRE(j->keys);
    j->rc = keyring_lend(j->keys, j->lent, &j->reply.loan, &j->err);
}

static int serve_load_lend(struct tablet_server *s,
                           struct rpc_call *call,
                           const struct load_request *r,
                           struct serving *v,
                           struct err *err)
{
    struct lend_job j = {.keys = keyring_ref(fs_keyring(s->fs))};
    int rc = rules_may_all(s, v->served, call->principal, v->view->schema, NULL,
                           ACCESS_WRITE, err);
    if (rc == 0 && j.keys) {
        load_loan_name(v->served->table->id, call->principal, r->id, j.lent);
        server_in_thread(s, run_lend, &j);
        rc = j.rc ? err_copy(err, &j.err) : check_answer(s, err);
    }
    if (rc == 0)
        lend_reply_put(&j.reply, call->reply_body);
    key_loan_close(&j.reply.loan);
    keyring_unref(j.keys);
    return rc;
}

int handle_lend(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct load_request r;
    struct serving v;
    int rc = load_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    rc = serving_begin(s, &v, r.tablet, 0, err);
    if (rc == 0)
        rc = serve_load_lend(s, call, &r, &v, err);
    serving_end(&v);
    return rc;
}
