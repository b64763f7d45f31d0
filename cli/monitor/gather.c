/* Asking all nodes at once, and finding those that the cell does not have.
 *
 * Each question runs in a fiber of its own and ends within ASK_US. A gathering
 * waits for nodes that answered the last time and for new ones; a node that did
 * not answer gets a moment, and its question continues by itself. So a node
 * that is dead or hangs delays one document, and no later ones.
 *
 * Chunk servers are known to the namenode, tablet servers and the masters to
 * the lock service, workers to the job master. A node that they no longer name
 * is still asked for an hour: a server that died is to be seen.
 */
#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/wire/metadata.h"
#include "chubby-lite/chubby.h"
#include "cli/monitor/monitor_private.h"
#include "cli/status_text.h"
#include "mapreduce/cluster/job_client.h"

#define ASK_US           UINT64_C(1000000)
#define SEARCH_US        UINT64_C(2000000)
#define MOMENT_NS        UINT64_C(50000000)
#define FRESH_NS         UINT64_C(1000000000)
#define SEARCH_EVERY_NS  UINT64_C(5000000000)
#define RATES_NS         UINT64_C(5000000000) /* Between samples, at least. */
#define RATES_MIN_NS     UINT64_C(500000000)
#define RATES_MAX_NS     UINT64_C(60000000000)
#define FORGET_NS        UINT64_C(3600000000000)
#define STATUS_BYTES_MAX ((size_t)1 << 20)
/* Of the metrics of all nodes. */
#define METRICS_BYTES_MAX ((size_t)256 << 20)

/* --- answers ------------------------------------------------------------- */

static size_t answer_bytes(const struct node_answer *a)
{
    return a->metrics.text.cap + a->metrics.count * sizeof(*a->metrics.at);
}

static struct node_answer *answer_ref(struct node_answer *a)
{
    INVARIANT(!a || a->references > 0);
    if (a)
        a->references++;
    return a;
}

static void answer_unref(struct node_answer *a)
{
    if (!a || --a->references)
        return;
    INVARIANT(*a->charged >= answer_bytes(a));
    *a->charged -= answer_bytes(a);
    node_metrics_close(&a->metrics);
    buf_close(&a->status);
    mem_free(a);
}

/* The snapshot's own, which are shared. */
static void answer_release(const struct node_answer *a)
{
    union {
        const struct node_answer *shared;
        struct node_answer *own;
    } u = {.shared = a};

    answer_unref(u.own);
}

/* --- questions ----------------------------------------------------------- */

static int take_text(struct slice body, struct buf *out, struct err *err)
{
    struct codec_reader r = codec_reader_make(body);
    uint32_t count = codec_get_array(&r);
    struct slice text = codec_get_bytes(&r);
    if (count < 1 || r.bad)
        return err_set(err, ERR_CORRUPT, "it answers with something else");
    buf_append_slice(out, text);
    return 0;
}

static int ask_text(struct known_node *k,
                    enum server_method what,
                    struct buf *out,
                    struct err *err)
{
    const struct monitor_source *s = &k->monitor->source;
    const struct rpc_call_options call = {.timeout_us = ASK_US};
    struct buf body = BUF_INIT;
    int rc;
    if (k->is_own) {
        s->own_text(s->ctx, what, out);
        return 0;
    }
    rc = rpc_call(k->channel, what, &call, SLICE_EMPTY, SLICE_EMPTY, &body,
                  NULL, err);
    if (rc == 0)
        rc = take_text(buf_slice(&body), out, err);
    buf_close(&body);
    return rc;
}

/* A node without metrics that can be read is up all the same. */
static void ask_metrics(struct known_node *k, struct node_answer *a)
{
    struct buf text = BUF_INIT;
    struct err why = ERR_INIT;
    if (ask_text(k, SERVER_METRICS, &text, &why) == 0 &&
        *a->charged + text.len <= METRICS_BYTES_MAX &&
        node_metrics_parse(buf_slice(&text), &a->metrics, &why) == 0)
        a->has_metrics = true;
    else
        node_metrics_close(&a->metrics);
    *a->charged += answer_bytes(a);
    buf_close(&text);
}

static int
ask_status(struct known_node *k, struct node_answer *a, struct err *err)
{
    struct world *w = k->monitor->source.world;
    struct slice about;
    int rc;
    a->asked_us = world_now_us(w);
    rc = ask_text(k, SERVER_STATUS, &a->status, err);
    a->waited_us = world_now_us(w) - a->asked_us;
    if (rc)
        return rc;
    about = status_about(buf_slice(&a->status));
    if (a->status.len > STATUS_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "its status has %zu bytes",
                       a->status.len);
    if (status_value(about, "pid").len == 0)
        return err_set(err, ERR_CORRUPT,
                       "its answer is not the status of a server");
    return 0;
}

static enum node_state state_of(const struct err *why)
{
    return why->code == ERR_UNAVAILABLE && why->detail == ERR_DETAIL_REFUSED
               ? NODE_DOWN
               : NODE_SILENT;
}

/* Keep @a as the newest sample; an earlier one stays for rates. */
static void keep_answer(struct known_node *k, struct node_answer *a)
{
    struct slice name =
        status_value(status_about(buf_slice(&a->status)), "node");
    if (!k->base || a->at_mono_ns - k->base->at_mono_ns > RATES_NS) {
        answer_unref(k->base);
        k->base = k->answer;
    } else {
        answer_unref(k->answer);
    }
    k->answer = a;
    k->state = NODE_UP;
    if (name.len) {
        mem_free(k->name);
        k->name = mem_strndup(name.data, name.len);
    }
}

static void note_end(struct monitor *m)
{
    mutex_lock(&m->ended_lock);
    cond_broadcast(&m->ended);
    mutex_unlock(&m->ended_lock);
}

static void monitor_ask(void *arg)
{
    struct known_node *k = arg;
    struct world *w = k->monitor->source.world;
    struct node_answer *a = mem_zalloc(1, sizeof(*a));
    struct err err = ERR_INIT;
    a->references = 1;
    a->charged = &k->monitor->metrics_bytes;
    fiber_set_deadline(world_mono_ns(w) + ASK_US * 1000);
    if (ask_status(k, a, &err) == 0) {
        ask_metrics(k, a);
        a->at_mono_ns = world_mono_ns(w);
        keep_answer(k, a);
    } else {
        err_copy(&k->err, &err);
        k->state = state_of(&err);
        answer_unref(k->answer);
        answer_unref(k->base);
        k->answer = NULL;
        k->base = NULL;
        answer_unref(a);
    }
    k->asked = true;
    k->running = false;
    note_end(k->monitor);
}

static void start_question(struct known_node *k)
{
    if (k->running)
        return;
    if (k->fiber)
        fiber_join(k->fiber);
    k->running = true;
    k->fiber = fiber_start(loop_self(), "monitor", monitor_ask, k);
}

/* --- the nodes that are known -------------------------------------------- */

static bool is_address(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] <= 0x20 || s.data[i] >= 0x7f)
            return false;
    return s.len && s.len <= ADDRESS_BYTES_MAX &&
           slice_find_byte(s, ':') < s.len;
}

/* Does not park. */
static struct known_node *note_address(struct monitor *m, struct slice address)
{
    const struct rpc_channel_options o = {.security = m->source.security};
    const char *own = m->source.own_address;
    struct known_node *k;
    if (!is_address(address))
        return NULL;
    for (size_t i = 0; i < m->node_count; i++)
        if (slice_eq_str(address, m->nodes[i]->address)) {
            m->nodes[i]->listed_ns = world_mono_ns(m->source.world);
            return m->nodes[i];
        }
    INVARIANT(m->node_count <= MONITOR_NODES_MAX); /* INV-1 */
    m->too_many = m->node_count == MONITOR_NODES_MAX;
    if (m->too_many)
        return NULL;
    k = mem_zalloc(1, sizeof(*k));
    k->monitor = m;
    k->address = mem_strndup(address.data, address.len);
    k->listed_ns = world_mono_ns(m->source.world);
    k->is_own = own && slice_eq_str(address, own);
    k->channel = rpc_channel_new(k->address, &o);
    m->nodes[m->node_count++] = k;
    return k;
}

/* PRE: its question has ended, and its fiber was joined. Parks. */
static void free_node(struct known_node *k)
{
    PRE(!k->running);
    PRE(k->call_count == 0);
    rpc_channel_free(k->channel);
    answer_unref(k->answer);
    answer_unref(k->base);
    mem_free(k->address);
    mem_free(k->name);
    mem_free(k);
}

/* Those that do not answer and that nobody has named for an hour. */
static void forget_nodes(struct monitor *m)
{
    uint64_t now = world_mono_ns(m->source.world);
    for (size_t i = m->node_count; i-- > 0;) {
        struct known_node *k = m->nodes[i];
        if (k->in_cell || k->running || k->call_count || !k->asked ||
            k->state == NODE_UP || now - k->listed_ns < FORGET_NS)
            continue;
        m->nodes[i] = m->nodes[--m->node_count];
        if (k->fiber)
            fiber_join(k->fiber);
        free_node(k);
    }
}

static void note_cell(struct monitor *m)
{
    const struct monitor_source *s = &m->source;
    for (size_t i = 0; i < s->cell_count; i++) {
        struct known_node *k = note_address(m, slice_str(s->cell[i]));
        if (k)
            k->in_cell = true;
    }
    if (s->own_address)
        (void)!note_address(m, slice_str(s->own_address));
}

/* --- searches ------------------------------------------------------------ */

static void end_search(struct monitor *m, struct monitor_search *s, int rc)
{
    PRE(s->running);
    s->failed = rc != 0;
    s->running = false;
    s->ended_ns = world_mono_ns(m->source.world);
    note_end(m);
}

static void set_deadline(const struct monitor *m)
{
    fiber_set_deadline(world_mono_ns(m->source.world) + SEARCH_US * 1000);
}

static void search_files(void *arg)
{
    struct monitor *m = arg;
    struct arena arena;
    struct gfs_status status;
    struct err err = ERR_INIT;
    struct fs *fs;
    int rc;
    arena_init(&arena);
    set_deadline(m);
    rc = monitor_files(m, &fs, &err);
    if (rc == 0)
        rc = gfs_get_status(fs, &arena, &status, &err);
    err_copy(&m->files_search.err, &err);
    arena_close(&m->files_arena);
    m->files_arena = arena;
    if (rc == 0)
        m->files = status;
    for (size_t i = 0; rc == 0 && i < status.server_count; i++)
        if (status.servers[i].state != GFS_SERVER_GONE)
            (void)!note_address(m, status.servers[i].server.address);
    end_search(m, &m->files_search, rc);
}

/* Append the contents of file @path. */
static int
read_lock(struct chubby *c, const char *path, struct buf *out, struct err *err)
{
    struct chubby_handle *h = NULL;
    int rc = chubby_open(c, path, CHUBBY_READ, NULL, &h, err);
    buf_clear(out);
    if (rc == 0)
        rc = chubby_read(h, out, NULL, err);
    chubby_close(h);
    return rc;
}

/* A file whose contents is an address; without it there is no master yet. */
static int search_master(struct monitor *m,
                         struct chubby *c,
                         const char *path,
                         struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = read_lock(c, path, &text, err);
    if (rc == 0)
        (void)!note_address(m, buf_slice(&text));
    buf_close(&text);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static void search_server(struct monitor *m, struct chubby *c, const char *name)
{
    struct buf path = BUF_INIT;
    struct buf text = BUF_INIT;
    struct server_record record;
    buf_printf(&path, "%s/%s", BIGTABLE_LOCK_SERVERS, name);
    if (read_lock(c, buf_cstr(&path), &text, NULL) == 0 &&
        server_record_get(buf_slice(&text), &record, NULL) == 0)
        (void)!note_address(m, record.address);
    buf_close(&path);
    buf_close(&text);
}

static int search_servers(struct monitor *m, struct chubby *c, struct err *err)
{
    struct chubby_handle *h = NULL;
    char **names = NULL;
    size_t count = 0;
    int rc = chubby_open(c, BIGTABLE_LOCK_SERVERS, CHUBBY_READ, NULL, &h, err);
    if (rc == 0)
        rc = chubby_list(h, &names, &count, err);
    for (size_t i = 0; rc == 0 && i < MIN_OF(count, MONITOR_NODES_MAX); i++)
        search_server(m, c, names[i]);
    chubby_names_free(names, count);
    chubby_close(h);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static void search_locks(void *arg)
{
    struct monitor *m = arg;
    struct err err = ERR_INIT;
    struct chubby *c;
    int rc;
    set_deadline(m);
    rc = monitor_locks(m, &c, &err);
    if (rc == 0)
        rc = search_master(m, c, BIGTABLE_LOCK_MASTER, &err);
    if (rc == 0)
        rc = search_master(m, c, JOBS_LOCK_MASTER, &err);
    if (rc == 0)
        rc = search_servers(m, c, &err);
    err_copy(&m->locks_search.err, &err);
    end_search(m, &m->locks_search, rc);
}

/* The node that leads the jobs; NULL: none does. */
static const struct known_node *find_job_master(const struct monitor *m)
{
    struct slice pairs;
    for (size_t i = 0; i < m->node_count; i++) {
        const struct known_node *k = m->nodes[i];
        if (k->answer &&
            status_role(buf_slice(&k->answer->status), "jobs", &pairs) &&
            status_leads(pairs))
            return k;
    }
    return NULL;
}

static void search_workers(void *arg)
{
    struct monitor *m = arg;
    struct job_workers workers = {NULL, 0};
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    struct job_client *jobs;
    int rc;
    set_deadline(m);
    rc = monitor_jobs(m, &jobs, &err);
    if (rc == 0)
        rc = job_client_call(jobs, JOB_WORKERS, SLICE_EMPTY, 0, &reply, &err);
    if (rc == 0)
        rc = job_workers_get(buf_slice(&reply), &workers, &err);
    for (size_t i = 0; rc == 0 && i < workers.count; i++)
        (void)!note_address(m, workers.at[i].address);
    mem_free(workers.at);
    buf_close(&reply);
    err_copy(&m->workers_search.err, &err);
    end_search(m, &m->workers_search, rc);
}

static void start_search(struct monitor *m,
                         struct monitor_search *s,
                         uint64_t every_ns,
                         fiber_fn fn)
{
    uint64_t now = world_mono_ns(m->source.world);
    if (s->running || (s->ended_ns && now - s->ended_ns < every_ns))
        return;
    if (s->fiber)
        fiber_join(s->fiber);
    s->running = true;
    s->fiber = fiber_start(loop_self(), "monitor", fn, m);
}

/* --- gathering ----------------------------------------------------------- */

static bool is_waited_for(const struct known_node *k)
{
    return k->running && (!k->asked || k->state == NODE_UP);
}

static bool is_search_waited_for(const struct monitor_search *s)
{
    return s->running && !s->failed;
}

static bool gather_waits(const struct monitor *m, bool patient)
{
    for (size_t i = 0; i < m->node_count; i++)
        if (is_waited_for(m->nodes[i]) || (!patient && m->nodes[i]->running))
            return true;
    return is_search_waited_for(&m->files_search) ||
           is_search_waited_for(&m->locks_search) ||
           is_search_waited_for(&m->workers_search);
}

/* Until all have ended that are waited for; a moment for the others. */
static int wait_for_answers(struct monitor *m, struct err *err)
{
    struct world *w = m->source.world;
    uint64_t from = world_mono_ns(w);
    int rc = 0;
    mutex_lock(&m->ended_lock);
    while (rc == 0 && gather_waits(m, world_mono_ns(w) - from > MOMENT_NS)) {
        (void)!cond_wait_us(&m->ended, &m->ended_lock, w, MOMENT_NS / 1000);
        rc = fiber_check(err);
    }
    mutex_unlock(&m->ended_lock);
    return rc;
}

/* Nodes that a search has found were not asked yet. */
static int ask_nodes(struct monitor *m, bool all, struct err *err)
{
    for (size_t i = 0; i < m->node_count; i++)
        if (all || !m->nodes[i]->asked)
            start_question(m->nodes[i]);
    return wait_for_answers(m, err);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct monitor_node *x = a;
    const struct monitor_node *y = b;
    int c = strverscmp(x->name, y->name);
    return c ? c : strverscmp(x->address, y->address);
}

static void copy_files(struct monitor_nodes *n, const struct gfs_status *from)
{
    n->files = *from;
    n->files.servers = arena_alloc(&n->arena, (from->server_count + 1) *
                                                  sizeof(*from->servers));
    for (size_t i = 0; i < from->server_count; i++) {
        struct gfs_server_status *to = &n->files.servers[i];
        *to = from->servers[i];
        to->server.address = arena_dup(&n->arena, to->server.address);
        to->server.machine = arena_dup(&n->arena, to->server.machine);
        to->server.rack = arena_dup(&n->arena, to->server.rack);
    }
}

static void
warn_of(struct monitor_nodes *n, const struct monitor_search *s, const char *of)
{
    if (s->failed)
        buf_printf(&n->warnings, "%s may be missing: %s\n", of, s->err.text);
}

static void copy_node(struct monitor_nodes *n, struct known_node *k)
{
    struct err *why = NULL;
    PRE(k->asked);
    INVARIANT((k->state == NODE_UP) == (k->answer != NULL));
    if (k->state != NODE_UP) {
        why = arena_alloc(&n->arena, sizeof(*why));
        *why = k->err;
    }
    n->at[n->count++] = (struct monitor_node){
        .address = arena_strdup(&n->arena, k->address),
        .name = arena_strdup(&n->arena, k->name ? k->name : k->address),
        .in_cell = k->in_cell,
        .state = k->state,
        .why = why ? why->text : "",
        .err = why,
        .answer = answer_ref(k->answer),
        .before = answer_ref(k->base)};
}

/* The present state of all that is known, as a snapshot. */
static struct monitor_nodes *copy_nodes(struct monitor *m)
{
    struct monitor_nodes *n = mem_zalloc(1, sizeof(*n));
    n->references = 1;
    n->at_us = world_now_us(m->source.world);
    n->at_mono_ns = world_mono_ns(m->source.world);
    arena_init(&n->arena);
    n->at = mem_zalloc(m->node_count + 1, sizeof(*n->at));
    for (size_t i = 0; i < m->node_count; i++)
        if (m->nodes[i]->asked)
            copy_node(n, m->nodes[i]);
    if (n->count)
        qsort(n->at, n->count, sizeof(*n->at), compare_nodes);
    n->has_files = m->files_search.ended_ns && !m->files_search.failed;
    if (n->has_files)
        copy_files(n, &m->files);
    warn_of(n, &m->files_search, "chunk servers");
    warn_of(n, &m->locks_search, "tablet servers");
    warn_of(n, &m->workers_search, "workers");
    if (m->too_many)
        buf_printf(&n->warnings,
                   "there are more than %d nodes: not all were "
                   "asked\n",
                   MONITOR_NODES_MAX);
    return n;
}

static int gather_gather(struct monitor *m, struct err *err)
{
    int rc;
    m->too_many = false;
    forget_nodes(m);
    note_cell(m);
    start_search(m, &m->files_search, 0, search_files);
    start_search(m, &m->locks_search, SEARCH_EVERY_NS, search_locks);
    rc = ask_nodes(m, true, err);
    if (rc == 0)
        rc = ask_nodes(m, false, err);
    if (rc == 0 && find_job_master(m)) {
        start_search(m, &m->workers_search, SEARCH_EVERY_NS, search_workers);
        rc = wait_for_answers(m, err);
        if (rc == 0)
            rc = ask_nodes(m, false, err);
    }
    if (rc)
        return rc;
    monitor_nodes_unref(m->last);
    m->last = copy_nodes(m);
    return 0;
}

int monitor_nodes_get(struct monitor *m,
                      struct monitor_nodes **out,
                      struct err *err)
{
    int rc = 0;
    *out = NULL;
    mutex_lock(&m->gathering);
    if (!m->last ||
        world_mono_ns(m->source.world) - m->last->at_mono_ns >= FRESH_NS)
        rc = gather_gather(m, err);
    if (rc == 0) {
        m->last->references++;
        *out = m->last;
    }
    mutex_unlock(&m->gathering);
    return rc;
}

/* Has each node that is up a second sample, and not one from long ago? */
static bool has_rates(const struct monitor_nodes *n)
{
    for (size_t i = 0; i < n->count; i++) {
        const struct monitor_node *k = &n->at[i];
        uint64_t ns = k->answer && k->before
                          ? k->answer->at_mono_ns - k->before->at_mono_ns
                          : 0;
        if (k->answer && (ns < RATES_MIN_NS || ns > RATES_MAX_NS))
            return false;
    }
    return true;
}

int monitor_nodes_get_rates(struct monitor *m,
                            struct monitor_nodes **out,
                            struct err *err)
{
    int rc = monitor_nodes_get(m, out, err);
    for (int tries = 0; rc == 0 && tries < 2 && !has_rates(*out); tries++) {
        monitor_nodes_unref(*out);
        *out = NULL;
        world_sleep_us(m->source.world, FRESH_NS / 1000 + 1000);
        rc = fiber_check(err);
        if (rc == 0)
            rc = monitor_nodes_get(m, out, err);
    }
    return rc;
}

void monitor_nodes_unref(struct monitor_nodes *n)
{
    if (!n || --n->references)
        return;
    for (size_t i = 0; i < n->count; i++) {
        answer_release(n->at[i].answer);
        answer_release(n->at[i].before);
    }
    mem_free(n->at);
    buf_close(&n->warnings);
    arena_close(&n->arena);
    mem_free(n);
}

void monitor__stop_asking(struct monitor *m)
{
    struct monitor_search *searches[] = {&m->files_search, &m->locks_search,
                                         &m->workers_search};
    for (size_t i = 0; i < ARRAY_LEN(searches); i++)
        if (searches[i]->fiber) {
            if (searches[i]->running)
                fiber_cancel(searches[i]->fiber);
            fiber_join(searches[i]->fiber);
        }
    for (size_t i = 0; i < m->node_count; i++)
        if (m->nodes[i]->running)
            fiber_cancel(m->nodes[i]->fiber);
    while (m->node_count) {
        struct known_node *k = m->nodes[--m->node_count];
        if (k->fiber)
            fiber_join(k->fiber);
        free_node(k);
    }
}
