/* The public calls: each goes to the service that the session is of. A
 * cluster's own nodes name a service that others run to clients that ask them
 * for locks.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby_ops.h"
#include "chubby-lite/lock_service.h"
#include "chubby-lite/mapped/mapped.h"

/* --- notes --------------------------------------------------------------- */

bool chubby__read_memo(struct world *w,
                       const char *memo,
                       char note[CHUBBY_NOTE_BYTES_MAX])
{
    struct file *f;
    size_t got = 0;

    note[0] = '\0';
    if (file_open(w, memo, FILE_READ, &f, NULL))
        return false;
    if (file_read_at(f, 0, note, CHUBBY_NOTE_BYTES_MAX - 1, &got, NULL))
        got = 0;
    file_close(f);
    note[got] = '\0';
    note[strcspn(note, "\n")] = '\0';
    return note[0] != '\0';
}

/* Not synced: a session whose note is lost with the power ends with its lease.
 */
void chubby__write_memo(struct world *w, const char *memo, const char *note)
{
    struct slice part = slice_str(note);
    struct file *f;

    PRE(part.len > 0);
    PRE(part.len < CHUBBY_NOTE_BYTES_MAX);
    if (file_open(w, memo, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &f, NULL))
        return;
    (void)!file_write_at(f, 0, &part, 1, NULL);
    file_close(f);
}

bool chubby_noted_session(struct world *w,
                          const char *memo,
                          char note[CHUBBY_NOTE_BYTES_MAX])
{
    return chubby__read_memo(w, memo, note);
}

/* --- sessions ------------------------------------------------------------ */

/* The addresses may be parts of one text that was cut at its commas. Owned. */
static char *join_servers(const struct chubby_options *opts)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < opts->server_count; i++)
        buf_printf(&b, "%s%s", i ? "," : "", opts->servers[i]);
    return buf_take(&b);
}

static bool is_of_others(const struct chubby_options *opts)
{
    return lock_service_is_named(slice_str(opts->servers[0]));
}

void chubby_end_session(struct world *w,
                        const struct chubby_options *opts,
                        const char *note)
{
    char *service;

    PRE(opts->server_count > 0);
    if (!is_of_others(opts)) {
        lock_client_end_session(w, opts, note);
        return;
    }
    service = join_servers(opts);
    mapped_end_session(w, service, note);
    mem_free(service);
}

/* A node of the cluster has said where its locks are. */
static int connect_named(struct world *w,
                         const struct chubby_options *opts,
                         const struct err *why,
                         struct chubby **out,
                         struct err *err)
{
    const char *own = lock_service_of_environment();

    return mapped_connect(w, own ? own : why->subject, opts, out, err);
}

int chubby_connect(struct world *w,
                   const struct chubby_options *opts,
                   struct chubby **out,
                   struct err *err)
{
    struct err why = ERR_INIT;
    char *service;
    int rc;

    PRE(opts->server_count > 0);
    if (is_of_others(opts)) {
        service = join_servers(opts);
        rc = mapped_connect(w, service, opts, out, err);
        mem_free(service);
        return rc;
    }
    rc = lock_client_connect(w, opts, out, &why);
    if (rc && why.detail == ERR_DETAIL_LOCK_SERVICE)
        return connect_named(w, opts, &why, out, err);
    POST(rc == 0 || why.code == rc);
    return rc ? err_copy(err, &why) : 0;
}

void chubby_disconnect(struct chubby *c)
{
    if (c)
        c->ops->disconnect(c);
}

bool chubby_is_safe(const struct chubby *c)
{
    PRE(c->ops);
    return c->ops->is_safe(c);
}

/* --- handles ------------------------------------------------------------- */

int chubby_open(struct chubby *c,
                const char *path,
                unsigned flags,
                const struct chubby_open_options *opts,
                struct chubby_handle **out,
                struct err *err)
{
    static const struct chubby_open_options none = {.events = 0};

    PRE(c->ops);
    return c->ops->open(c, path, flags, opts ? opts : &none, out, err);
}

void chubby_close(struct chubby_handle *h)
{
    if (h)
        h->session->ops->close(h);
}

const char *chubby_path(const struct chubby_handle *h)
{
    PRE(h->session->ops);
    return h->path;
}

int chubby_read(struct chubby_handle *h,
                struct buf *out,
                struct chubby_stat *stat,
                struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->read(h, out, stat, err);
}

bool chubby_is_cached(const struct chubby_handle *h)
{
    PRE(h->session->ops);
    return h->session->ops->is_cached(h);
}

int chubby_get_stat(struct chubby_handle *h,
                    struct chubby_stat *stat,
                    struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->get_stat(h, stat, err);
}

int chubby_list(struct chubby_handle *h,
                char ***names,
                size_t *count,
                struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->list(h, names, count, err);
}

void chubby_names_free(char **names, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        mem_free(names[i]);
    mem_free(names);
}

int chubby_write(struct chubby_handle *h,
                 struct slice contents,
                 uint64_t if_generation,
                 struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->write(h, contents, if_generation, err);
}

int chubby_set_acl(struct chubby_handle *h,
                   const char *read,
                   const char *write,
                   const char *change,
                   struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->set_acl(h, read, write, change, err);
}

int chubby_delete(struct chubby_handle *h, struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->remove(h, err);
}

/* --- locks --------------------------------------------------------------- */

int chubby_acquire(struct chubby_handle *h,
                   enum chubby_lock mode,
                   struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->acquire(h, mode, err);
}

int chubby_try_acquire(struct chubby_handle *h,
                       enum chubby_lock mode,
                       struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->try_acquire(h, mode, err);
}

int chubby_release(struct chubby_handle *h, struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->release(h, err);
}

int chubby_sequencer(struct chubby_handle *h,
                     char text[CHUBBY_SEQUENCER_BYTES_MAX],
                     struct err *err)
{
    PRE(h->session->ops);
    return h->session->ops->sequencer(h, text, err);
}

int chubby_check_sequencer(struct chubby *c,
                           struct slice sequencer,
                           struct err *err)
{
    PRE(c->ops);
    return c->ops->check_sequencer(c, sequencer, err);
}

/* --- the whole cell ------------------------------------------------------ */

int chubby_list_sessions(struct chubby *c,
                         uint64_t after,
                         uint32_t limit,
                         struct arena *a,
                         struct chubby_session_list *out,
                         struct err *err)
{
    PRE(c->ops);
    return c->ops->list_sessions(c, after, limit, a, out, err);
}

int chubby_list_entries(struct chubby *c,
                        const char *path,
                        const char *after,
                        uint32_t limit,
                        struct arena *a,
                        struct chubby_entry_list *out,
                        struct err *err)
{
    PRE(c->ops);
    return c->ops->list_entries(c, path, after, limit, a, out, err);
}
