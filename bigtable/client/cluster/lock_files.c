/* Files of the lock service: one session for all, renewed when it is lost.
 *
 * Calls of the session go one at a time: most are answered from what is kept
 * here, so none waits long, and a session that has expired can be ended, for
 * which nobody may be using it.
 */
#include "bigtable/client/cluster/lock_files.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/wire/metadata.h"
#include "bigtable/wire/snapshot_calls.h"
#include "chubby-lite/chubby.h"

#define SERVERS_MAX 64
/* How long a turn is waited for before the deadline is looked at. */
#define TURN_US UINT64_C(100000)

struct lock_file {
    struct lock_files *files;
    struct lock_file *next;
    struct lock_file *before;
    char *path;                   /* Owned. */
    struct chubby_handle *handle; /* Of the session; NULL: not open. */
    bool fresh;                   /* Nothing speaks against `contents`. */
    bool is_hint;                 /* They may have been so a moment ago. */
    uint64_t version;
    struct buf contents;
};

struct lock_files {
    struct world *world;
    const struct rpc_security *security;
    char *servers[SERVERS_MAX]; /* Owned. */
    size_t server_count;
    char *memo;              /* Owned; NULL: none. */
    char *address;           /* Owned; NULL: not told. */
    struct chubby *session;  /* NULL: none, or lost. */
    struct lock_file *first; /* All files. */
    struct mutex mutex;
    struct cond turn;
    bool busy; /* Somebody uses the session. */
    uint64_t calls;
};

/* --- turns --------------------------------------------------------------- */

/* Wait for the session. */
static int lock_files_begin(struct lock_files *l, struct err *err)
{
    int rc = 0;
    mutex_lock(&l->mutex);
    while (l->busy && rc == 0) {
        (void)cond_wait_us(&l->turn, &l->mutex, l->world, TURN_US);
        rc = fiber_check(err);
    }
    if (rc == 0)
        l->busy = true;
    mutex_unlock(&l->mutex);
    return rc;
}

/* The same for what must be done in any case. */
static void take_turn(struct lock_files *l)
{
    mutex_lock(&l->mutex);
    while (l->busy)
        cond_wait(&l->turn, &l->mutex);
    l->busy = true;
    mutex_unlock(&l->mutex);
}

static void lock_files_end(struct lock_files *l)
{
    mutex_lock(&l->mutex);
    l->busy = false;
    cond_signal(&l->turn);
    mutex_unlock(&l->mutex);
}

/* --- the session --------------------------------------------------------- */

/* Does not park. */
static void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct lock_files *l = ctx;
    (void)event;
    for (struct lock_file *f = l->first; f; f = f->next)
        if (!h || f->handle == h)
            f->fresh = false;
}

/* End a session that has expired, with its handles. PRE: begun. */
static void drop_session(struct lock_files *l)
{
    for (struct lock_file *f = l->first; f; f = f->next) {
        chubby_close(f->handle);
        f->handle = NULL;
        f->fresh = false;
    }
    chubby_disconnect(l->session);
    l->session = NULL;
}

static int connect_cell(struct lock_files *l, struct err *err)
{
    struct chubby_options o = {.servers = (const char *const *)l->servers,
                               .server_count = l->server_count,
                               .security = l->security,
                               .memo = l->memo,
                               .address = l->address,
                               .on_event = on_event,
                               .ctx = l};
    int rc;
    if (l->session)
        return 0;
    rc = chubby_connect(l->world, &o, &l->session, err);
    if (rc)
        l->session = NULL;
    return rc;
}

/* --- files --------------------------------------------------------------- */

/* Is `contents` what the cell has? An event comes after who changed the file
 * has been answered: too late for all but a hint. */
static bool is_current(const struct lock_file *f)
{
    return f->fresh && (f->is_hint || chubby_is_cached(f->handle));
}

static int open_handle(struct lock_file *f, struct err *err)
{
    const struct chubby_open_options o = {
        .events = f->is_hint ? CHUBBY_EVENT_CONTENT : 0};
    unsigned flags = CHUBBY_READ | (f->is_hint ? CHUBBY_UNCACHED : 0);
    if (f->handle)
        return 0;
    f->files->calls++;
    return chubby_open(f->files->session, f->path, flags, &o, &f->handle, err);
}

/* PRE: begun. ERR_CLOSED: the session was lost. */
static int read_again(struct lock_file *f, struct err *err)
{
    struct buf contents = BUF_INIT;
    int rc = connect_cell(f->files, err);
    if (rc == 0)
        rc = open_handle(f, err);
    if (rc == 0) {
        /* An event that comes meanwhile makes it stale again. */
        f->fresh = true;
        f->files->calls++;
        rc = chubby_read(f->handle, &contents, NULL, err);
    }
    if (rc == 0 && !slice_eq(buf_slice(&contents), buf_slice(&f->contents))) {
        buf_close(&f->contents);
        f->contents = contents;
        f->version++;
        return 0;
    }
    if (rc == ERR_NOTFOUND) { /* Of the file, or of the node it was. */
        chubby_close(f->handle);
        f->handle = NULL;
    }
    if (rc)
        f->fresh = false;
    buf_close(&contents);
    return rc;
}

int lock_file_read(struct lock_file *f,
                   struct slice *contents,
                   uint64_t *version,
                   struct err *err)
{
    int rc = 0;
    if (!is_current(f)) {
        rc = lock_files_begin(f->files, err);
        if (rc)
            return rc;
        for (int tries = 0; !is_current(f) && tries < 3; tries++) {
            bool had = f->handle != NULL;
            rc = read_again(f, err);
            if (rc == ERR_CLOSED)
                drop_session(f->files);
            else if (rc != ERR_NOTFOUND || !had)
                break;
        }
        lock_files_end(f->files);
    }
    if (rc == ERR_CLOSED)
        rc = err_set(err, ERR_UNAVAILABLE,
                     "the session with the lock service was lost");
    if (rc == 0) {
        *contents = buf_slice(&f->contents);
        if (version)
            *version = f->version;
    }
    return rc;
}

void lock_file_forget(struct lock_file *f)
{
    if (f)
        f->fresh = false;
}

/* Is @path the file that names the master, the one that locates the root
 * tablet, or the record of a table that a job made for itself? Slightly old
 * contents will do: they are written when servers have died, or removed when
 * attempts of the job were killed, and the writer must not wait for the lease
 * of a client that died with them. */
static bool is_hint(const char *path)
{
    static const char own[] = BIGTABLE_LOCK_TABLES "/" TABLE_OF_JOB_PREFIX;
    return strcmp(path, BIGTABLE_LOCK_MASTER) == 0 ||
           strcmp(path, BIGTABLE_LOCK_ROOT_TAB) == 0 ||
           strncmp(path, own, sizeof(own) - 1) == 0;
}

struct lock_file *lock_file_new(struct lock_files *l, const char *path)
{
    struct lock_file *f = mem_zalloc(1, sizeof(*f));
    f->files = l;
    f->path = mem_strdup(path);
    f->is_hint = is_hint(path);
    f->next = l->first;
    if (l->first)
        l->first->before = f;
    l->first = f;
    return f;
}

void lock_file_free(struct lock_file *f)
{
    if (!f)
        return;
    take_turn(f->files);
    chubby_close(f->handle);
    lock_files_end(f->files);
    if (f->next)
        f->next->before = f->before;
    if (f->before)
        f->before->next = f->next;
    else
        f->files->first = f->next;
    buf_close(&f->contents);
    mem_free(f->path);
    mem_free(f);
}

int lock_files_list(struct lock_files *l,
                    const char *path,
                    char ***names,
                    size_t *count,
                    struct err *err)
{
    struct chubby_handle *h = NULL;
    int rc = lock_files_begin(l, err);
    if (rc)
        return rc;
    for (int tries = 0; tries < 2; tries++) {
        rc = connect_cell(l, err);
        l->calls += 2;
        if (rc == 0)
            rc = chubby_open(l->session, path, CHUBBY_READ, NULL, &h, err);
        if (rc == 0)
            rc = chubby_list(h, names, count, err);
        chubby_close(h);
        h = NULL;
        if (rc != ERR_CLOSED)
            break;
        drop_session(l);
    }
    lock_files_end(l);
    return rc;
}

uint64_t lock_files_calls(const struct lock_files *l)
{
    return l->calls;
}

/* --- opening ------------------------------------------------------------- */

static int
take_servers(struct lock_files *l, struct slice list, struct err *err)
{
    while (list.len > 0) {
        size_t end = slice_find_byte(list, ',');
        struct slice one = slice_trim(slice_sub(list, 0, end));
        list = slice_sub(list, end + 1, list.len);
        if (one.len == 0)
            continue;
        if (l->server_count == SERVERS_MAX)
            return err_set(err, ERR_INVALID, "more than %d addresses",
                           SERVERS_MAX);
        l->servers[l->server_count++] = mem_strndup(one.data, one.len);
    }
    return l->server_count ? 0 : err_set(err, ERR_INVALID, "no address");
}

int lock_files_open(struct world *w,
                    const struct lock_files_options *opts,
                    struct lock_files **out,
                    struct err *err)
{
    struct lock_files *l = mem_zalloc(1, sizeof(*l));
    int rc;
    l->world = w;
    l->security = opts->security;
    l->memo = opts->memo ? mem_strdup(opts->memo) : NULL;
    l->address = opts->address ? mem_strdup(opts->address) : NULL;
    mutex_init(&l->mutex);
    cond_init(&l->turn);
    rc = take_servers(l, slice_str(opts->servers), err);
    if (rc == 0)
        rc = connect_cell(l, err);
    if (rc) {
        lock_files_close(l);
        l = NULL;
    }
    *out = l;
    return rc;
}

void lock_files_close(struct lock_files *l)
{
    if (!l)
        return;
    PRE(!l->first);
    chubby_disconnect(l->session);
    for (size_t i = 0; i < l->server_count; i++)
        mem_free(l->servers[i]);
    mutex_close(&l->mutex);
    cond_close(&l->turn);
    mem_free(l->memo);
    mem_free(l->address);
    mem_free(l);
}
