/* Logs of dead servers (section 6 of the Bigtable paper, "Commit-log
 * implementation"): the survivors sort them, segment by segment, so that a
 * server that loads a tablet reads its entries in one sweep.
 *
 * Each survivor keeps its sorted segments in memory while tablets are loaded,
 * and each order to load a tablet names the holders. When a holder dies, or
 * another master comes, segments are sorted again: they stay in the file system
 * for as long as a tablet needs them.
 *
 * Invariants of a recovery
 *     INV-1. A segment with a holder is done.
 *     INV-2. At most one fiber runs for a recovery; segments are added by it
 *            alone, and freed only when no sort is in progress.
 *     INV-3. A log that is sorted has only segments that are done. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/master/log_schedule.h"
#include "bigtable/master/master_term.h"
#include "bigtable/wire/log_calls.h"
#include "gfs-lite/fs.h"

#define LOG_PATH_BYTES (sizeof(BIGTABLE_FS_LOGS) + 64)
/* Between looks at what is sorted. */
#define LOOK_US  UINT64_C(100000)
#define RETRY_US UINT64_C(500000)

struct segment {
    char *name;
    uint64_t holder; /* Number of the server that has it in memory; 0: none.
                      * INV-1. */
    struct sort_segment state;
};

struct recovery {
    uint64_t log; /* The dead server's number. */
    bool sorted;
    bool running; /* A fiber runs for it: INV-2. */
    struct segment *segments;
    size_t segment_count;
    struct recovery *next;
};

/* A sort that a fiber waits for. */
struct sorting {
    struct recovery *recovery;
    size_t segment;
    struct known_server *server;
};

static void log_path(uint64_t log, const char *name, char out[LOG_PATH_BYTES])
{
    snprintf(out, LOG_PATH_BYTES, BIGTABLE_FS_LOGS "/%08llu%s%s",
             (unsigned long long)log, *name ? "/" : "", name);
}

static void forget_segments(struct recovery *v)
{
    PRE(v->segments || v->segment_count == 0);
    for (size_t i = 0; i < v->segment_count; i++)
        mem_free(v->segments[i].name);
    mem_free(v->segments);
    v->segments = NULL;
    v->segment_count = 0;
}

/* --- segments ------------------------------------------------------------ */

/* Names of segments are numbers; the directory of sorted segments has another
 * name. */
static bool is_segment(const char *name)
{
    return name[0] >= '0' && name[0] <= '9';
}

/* List the segments; a log that is not there is sorted. */
static int
list_segments(struct master_term *r, struct recovery *v, struct err *err)
{
    char path[LOG_PATH_BYTES];
    char **names;
    size_t count;
    int rc;

    PRE(!v->segments);
    log_path(v->log, "", path);
    rc = fs_list(r->options->fs, path, &names, &count, err);
    if (rc == ERR_NOTFOUND) {
        v->sorted = true;
        return 0;
    }
    if (rc)
        return rc;
    v->segments = mem_zalloc(count + 1, sizeof(*v->segments));
    for (size_t i = 0; i < count; i++) {
        if (is_segment(names[i]))
            v->segments[v->segment_count++].name = mem_strdup(names[i]);
    }
    fs_names_free(names, count);
    return 0;
}

/* *@held: its server has it in memory. */
static int sort_segment_call(struct master_term *r,
                             const struct sorting *s,
                             bool *held,
                             struct err *err)
{
    struct log_sorted sorted = {.held = false};
    struct buf reply = BUF_INIT;
    struct log_order o = {
        .sequencer = slice_str(r->sequencer),
        .server = s->server->number,
        .log = s->recovery->log,
        .segment = slice_str(s->recovery->segments[s->segment].name),
    };
    struct buf body = BUF_INIT;
    int rc;

    PRE(s->segment < s->recovery->segment_count);
    log_order_put(&o, &body);
    rc = server_call(r, s->server, TABLET_LOG_SORT, buf_slice(&body), &reply,
                     r->options->order_us, err);
    if (rc == 0 && reply.len > 0)
        rc = log_sorted_get(buf_slice(&reply), &sorted, err);
    *held = sorted.held;
    buf_close(&reply);
    buf_close(&body);
    return rc;
}

static void note_sorted(struct segment *g, uint64_t server, bool held)
{
    PRE(server != 0);
    /* If two servers have sorted it, the first one is its holder. */
    if (!g->state.done)
        g->holder = held ? server : 0;
    g->state.done = true;
}

static void
note_failed(struct master_term *r, const struct sorting *s, int code)
{
    struct sort_segment *g = &s->recovery->segments[s->segment].state;

    PRE(code != 0);
    g->failed = s->server->number;
    g->not_before_us = master_term_now_ns(r) / 1000 + LOOK_US;
    if (code == ERR_CLOSED)
        server_suspect(r, s->server);
}

/* Did the dead server itself remove the segment? It had all of it in files, and
 * the removal took effect after the segments were listed. */
static bool has_gone(struct master_term *r, const struct sorting *s)
{
    char path[LOG_PATH_BYTES];
    struct fs_info info;
    PRE(s->segment < s->recovery->segment_count);
    log_path(s->recovery->log, s->recovery->segments[s->segment].name, path);
    return fs_stat(r->options->fs, path, &info, NULL) == ERR_NOTFOUND;
}

static void run_sorting(struct master_term *r, void *arg)
{
    struct sorting *s = arg;
    struct segment *g;
    struct err err = ERR_INIT;
    bool held;
    int rc = sort_segment_call(r, s, &held, &err);
    if (rc == ERR_NOTFOUND && has_gone(r, s)) {
        held = false;
        rc = 0;
    }

    /* The array may have grown meanwhile. */
    INVARIANT(s->segment < s->recovery->segment_count);
    g = &s->recovery->segments[s->segment];
    INVARIANT(s->server->sorts > 0);
    s->server->sorts--;
    for (int i = 0; i < LOG_SORTS_PER_SEGMENT; i++)
        if (g->state.at[i] == s->server->number)
            g->state.at[i] = 0;
    if (rc == 0)
        note_sorted(g, s->server->number, held);
    else
        note_failed(r, s, rc);
    if (rc)
        log_warn(r->world, "master", "sort %s of log %llu: %s", g->name,
                 (unsigned long long)s->recovery->log, err.text);
    master_term_changed(r);
    mem_free(s);
}

static void start_sorting(struct master_term *r,
                          struct recovery *v,
                          size_t segment,
                          struct known_server *server)
{
    struct sorting *s = mem_alloc(sizeof(*s));
    struct sort_segment *g = &v->segments[segment].state;
    PRE(segment < v->segment_count);
    PRE(!g->done);
    PRE(g->at[0] == 0 || g->at[1] == 0);
    PRE(server->alive);
    *s = (struct sorting){v, segment, server};
    g->at[g->at[0] != 0] = server->number;
    g->since_us = master_term_now_ns(r) / 1000;
    server->sorts++;
    master_term_spawn(r, "sort log", run_sorting, s);
}

/* --- a log --------------------------------------------------------------- */

static size_t view_sorters(const struct cluster_view *p,
                           struct sort_server *out)
{
    size_t n = 0;
    for (size_t i = 0; i < p->server_count; i++) {
        const struct known_server *s = p->servers[i];
        if (s->alive && !s->suspect)
            out[n++] = (struct sort_server){s->number, s->sorts};
    }
    return n;
}

static void order_sorts(struct master_term *r, struct recovery *v)
{
    struct cluster_view *p = &r->view;
    struct sort_server *servers =
        mem_alloc((p->server_count + 1) * sizeof(*servers));
    struct sort_segment *view =
        mem_alloc((v->segment_count + 1) * sizeof(*view));
    struct sort_order *out = mem_alloc((v->segment_count + 1) * sizeof(*out));
    size_t count = view_sorters(p, servers);

    for (size_t i = 0; i < v->segment_count; i++)
        view[i] = v->segments[i].state;
    count = log_schedule_choose(servers, count, view, v->segment_count,
                                master_term_now_ns(r) / 1000, out);
    INVARIANT(count <= v->segment_count);
    for (size_t i = 0; i < count; i++)
        start_sorting(r, v, out[i].segment,
                      cluster_view_server(p, servers[out[i].server].number));
    mem_free(servers);
    mem_free(view);
    mem_free(out);
}

/* Are all segments sorted? */
static bool all_done(const struct recovery *v)
{
    for (size_t i = 0; i < v->segment_count; i++)
        if (!v->segments[i].state.done)
            return false;
    return true;
}

static bool anybody_at_it(const struct recovery *v)
{
    for (size_t i = 0; i < v->segment_count; i++)
        for (int j = 0; j < LOG_SORTS_PER_SEGMENT; j++)
            if (v->segments[i].state.at[j])
                return true;
    return false;
}

static bool is_known(const struct recovery *v, const char *name)
{
    for (size_t i = 0; i < v->segment_count; i++)
        if (strcmp(v->segments[i].name, name) == 0)
            return true;
    return false;
}

/* The dead server may have begun segments until those listed were taken from
 * it, but none after that: list again. *@more: there are new ones. */
static int add_segments(struct master_term *r,
                        struct recovery *v,
                        bool *more,
                        struct err *err)
{
    struct recovery now = {.log = v->log};
    int rc = list_segments(r, &now, err);
    *more = false;
    PRE(v->running); /* INV-2 */
    for (size_t i = 0; i < now.segment_count; i++) {
        struct segment *s = &now.segments[i];
        if (is_known(v, s->name))
            continue;
        v->segments = mem_realloc(v->segments, (v->segment_count + 1) *
                                                   sizeof(*v->segments));
        v->segments[v->segment_count++] = *s;
        *more = true;
        s->name = NULL;
    }
    forget_segments(&now);
    return rc;
}

/* Sort all segments, including those found later. False: the term ends. */
static bool sort_all(struct master_term *r, struct recovery *v)
{
    struct err err = ERR_INIT;

    PRE(v->running);
    for (;;) {
        bool more = false;
        while (!all_done(v)) {
            order_sorts(r, v);
            if (!master_term_wait(r, LOOK_US))
                return false;
        }
        if (add_segments(r, v, &more, &err) == 0 && !more)
            return true;
        if (!more && !master_term_wait(r, RETRY_US))
            return false;
    }
}

/* Sort the segments again whose holders have died since. */
static bool forget_dead_holders(const struct master_term *r, struct recovery *v)
{
    bool any = false;
    for (size_t i = 0; i < v->segment_count; i++) {
        struct segment *g = &v->segments[i];
        if (g->holder == 0 || cluster_view_is_alive(&r->view, g->holder))
            continue;
        INVARIANT(g->state.done); /* INV-1 */
        g->holder = 0;
        g->state.done = false;
        any = true;
    }
    return any;
}

/* False: the term ends. */
static bool list_until_done(struct master_term *r, struct recovery *v)
{
    struct err err = ERR_INIT;

    PRE(v->running);
    while (!v->segments && !v->sorted && list_segments(r, v, &err)) {
        log_warn(r->world, "master", "list log %llu: %s",
                 (unsigned long long)v->log, err.text);
        if (!master_term_wait(r, RETRY_US))
            return false;
    }
    return true;
}

static void recover_server(struct master_term *r, void *arg)
{
    struct recovery *v = arg;
    uint64_t begun_ns = master_term_now_ns(r);

    PRE(v->running);
    if (list_until_done(r, v) && !v->sorted && sort_all(r, v)) {
        INVARIANT(all_done(v)); /* INV-3 */
        v->sorted = true;
        master_note(
            r, EVENT_RECOVERY, "log=%llu segments=%zu us=%llu",
            (unsigned long long)v->log, v->segment_count,
            (unsigned long long)((master_term_now_ns(r) - begun_ns) / 1000));
        master_term_changed(r);
    }
    /* Straggling sorts still point to the segments: INV-2. */
    while (anybody_at_it(v) && master_term_wait(r, RETRY_US))
        ;
    INVARIANT(v->running);
    v->running = false;
    if (!v->sorted)
        master_term_changed(r); /* A placing that needs it starts it again. */
}

static struct recovery *find_recovery(const struct master_term *r, uint64_t log)
{
    struct recovery *v = r->recoveries;
    while (v && v->log != log)
        v = v->next;
    return v;
}

static void start_recovery(struct master_term *r, struct recovery *v)
{
    PRE(!v->running); /* INV-2 */
    v->running = true;
    master_term_spawn(r, "recover log", recover_server, v);
}

bool recover_is_sorted(struct master_term *r, uint64_t number)
{
    PRE(number > 0);
    struct recovery *v = find_recovery(r, number);
    if (v && v->sorted && forget_dead_holders(r, v))
        v->sorted = false;
    if (v && !v->sorted && !v->running)
        start_recovery(r, v);
    if (v)
        return v->sorted;
    v = mem_zalloc(1, sizeof(*v));
    v->log = number;
    v->next = r->recoveries;
    r->recoveries = v;
    start_recovery(r, v);
    return false;
}

static void put_holders_of(const struct master_term *r,
                           const struct recovery *v,
                           struct buf *out)
{
    for (size_t i = 0; i < v->segment_count; i++) {
        const struct segment *g = &v->segments[i];
        const struct known_server *s =
            g->state.done && g->holder
                ? cluster_view_server(&r->view, g->holder)
                : NULL;
        struct log_holder h = {.log = v->log, .segment = slice_str(g->name)};
        if (!s || !s->alive)
            continue;
        h.server = s->number;
        h.address = slice_str(s->address);
        log_holder_put(&h, out);
    }
}

void recover_put_holders(struct master_term *r,
                         const struct known_tablet *t,
                         struct buf *out)
{
    PRE(out->len == 0);
    for (size_t i = 0; i < t->log_count; i++) {
        const struct recovery *v = find_recovery(r, t->logs[i]);
        size_t before = out->len;
        if (v)
            put_holders_of(r, v, out);
        if (out->len > LOG_HOLDERS_BYTES_MAX)
            buf_truncate(out, before);
    }
    POST(out->len <= LOG_HOLDERS_BYTES_MAX);
}

uint64_t recover_count(const struct master_term *r)
{
    uint64_t n = 0;
    for (const struct recovery *v = r->recoveries; v; v = v->next)
        n += !v->sorted;
    return n;
}

void recover_close(struct master_term *r)
{
    PRE(r->ending);
    PRE(!r->tasks);
    while (r->recoveries) {
        struct recovery *v = r->recoveries;
        r->recoveries = v->next;
        forget_segments(v);
        mem_free(v);
    }
}
