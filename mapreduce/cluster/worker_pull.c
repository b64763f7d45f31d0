/* Bringing pieces of partitions to this worker while maps still run, for reduce
 * attempts that are likely to start here (master/early_pull.h).
 *
 * A thread of the job's own serves its partitions, the one that lags most
 * first, and asks for its pieces of all spills that it was told of since: a
 * question and an answer of a few megabytes at a time, one at a time on the
 * whole worker, so that maps keep the network and the memory. Blocks are
 * verified before they count. A failure is not retried: a reduce attempt
 * fetches the piece itself, or reports it missing.
 *
 * A reduce attempt may take its partition's file while the thread adds to it;
 * what the thread then appends is ignored, since it comes after the bytes that
 * count.
 */
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/spill_peer.h"
#include "mapreduce/cluster/worker_state.h"
#include "mapreduce/records/pair_check.h"

/* Of the disk stays free: a tenth. */
#define FREE_SHARE 10

struct worker_pull {
    struct worker_job *job; /* Borrowed. */
    struct task *thread;
    struct cond wake;
    bool stop;
    bool over; /* No map runs any more. */
    bool full; /* There is no room, or no disk: nothing more is pulled. */
    unsigned serial;
    struct pulled_list parts;
    struct pulled_list doomed; /* To be removed by the thread. */
    struct pulled *busy;       /* The file being added to; NULL: none. */
    struct task_spill *known;  /* Spills, by `places`, as they came. Owned. */
    size_t known_count;
    size_t known_cap;
    char **places; /* Owned; never shrinks. */
    bool *bad;     /* Places that failed. Owned. */
    size_t place_count;
};

/* Pieces from one place that are pulled together. */
struct batch {
    struct worker_pull *pull;
    struct pulled *part; /* Only used under the lock. */
    struct spill_peer peer;
    struct task_spill *spills;
    struct spill_found *found;
    size_t count;   /* Of those that have room: */
    uint64_t bytes; /* so much. */
    struct file *file;
    uint64_t offset; /* Of the next bytes in it. */
    struct pair_check check;
    size_t spill; /* The segment at hand, */
    size_t segment;
    uint64_t passed; /* and how much of it has arrived. */
};

/* --- bytes as they come -------------------------------------------------- */

/* Bytes are those of the segments, one after the other, each of whole blocks.
 */
static int
worker_pull_verify(struct batch *b, struct slice bytes, struct err *err)
{
    int rc = 0;
    while (bytes.len > 0 && rc == 0) {
        const struct spill_found *f = &b->found[b->spill];
        uint64_t left;
        size_t n;
        if (b->segment == f->count) {
            b->spill++;
            b->segment = 0;
            continue;
        }
        left = f->at[b->segment].bytes - b->passed;
        n = (size_t)MIN_OF((uint64_t)bytes.len, left);
        rc = pair_check_feed(&b->check, slice_sub(bytes, 0, n), err);
        bytes = slice_sub(bytes, n, bytes.len);
        b->passed += n;
        if (n < left || rc)
            continue;
        rc = pair_check_end(&b->check, err);
        b->segment++;
        b->passed = 0;
    }
    return rc;
}

static int take_bytes(void *ctx, struct slice bytes, struct err *err)
{
    struct batch *b = ctx;
    struct worker *k = b->pull->job->worker;
    int rc = worker_pull_verify(b, bytes, err);
    if (rc == 0)
        rc = file_write_at(b->file, b->offset, &bytes, 1, err);
    if (rc)
        return rc;
    /* It is read bypassing the page cache. This waits for the disk, which paces
     * the pulling. */
    file_write_back(b->file, b->offset, bytes.len);
    b->offset += bytes.len;
    atomic_fetch_add(&k->fetched_bytes, bytes.len);
    return 0;
}

/* --- one place ----------------------------------------------------------- */

static bool is_dropped(const struct batch *b)
{
    return b->pull->stop || b->pull->busy != b->part;
}

static bool is_over(void *ctx)
{
    struct batch *b = ctx;
    struct worker *k = b->pull->job->worker;
    bool over;
    mutex_lock(&k->lock);
    over = is_dropped(b);
    mutex_unlock(&k->lock);
    return over;
}

static bool has_disk(const struct worker_job *j, uint64_t bytes)
{
    uint64_t all = 0;
    uint64_t left = 0;
    if (world_space(j->worker->world, j->package.setup.work_dir, &all, &left,
                    NULL))
        return false;
    return left > all / FREE_SHARE && left - all / FREE_SHARE >= bytes;
}

/* Reserve room for as many of the spills as possible, from the first on. */
static int worker_pull_reserve(struct batch *b, struct err *err)
{
    struct worker_job *j = b->pull->job;
    struct worker *k = j->worker;
    size_t asked = b->count;
    int rc = 0;
    b->bytes = 0;
    mutex_lock(&k->lock);
    for (b->count = 0; b->count < asked; b->count++) {
        const struct spill_found *f = &b->found[b->count];
        uint64_t bytes = 0;
        for (size_t i = 0; i < f->count; i++)
            bytes += MIN_OF(f->at[i].bytes, UINT64_MAX - bytes);
        if (!pull_room_take(&k->room, bytes, 1))
            break;
        b->bytes += bytes;
    }
    b->pull->full |= b->count < asked;
    if (is_dropped(b))
        rc = err_set(err, ERR_CANCELLED, "taken");
    mutex_unlock(&k->lock);
    if (rc == 0 && !has_disk(j, b->bytes))
        rc = err_set(err, ERR_FULL, "the disk is nearly full");
    return rc;
}

static int read_batch(struct batch *b, const char *path, struct err *err)
{
    struct spill_reader r = {.peer = &b->peer, .take = take_bytes, .ctx = b};
    int rc = file_open(b->pull->job->worker->world, path,
                       FILE_WRITE | FILE_CREATE, &b->file, err);
    for (size_t i = 0; i < b->count && rc == 0; i++)
        rc = spill_reader_add(&r, &b->found[i], err);
    if (rc == 0)
        rc = spill_reader_finish(&r, err);
    spill_reader_close(&r);
    file_close(b->file);
    return rc;
}

/* Under the lock. Let the spills' pieces count; a spill that no longer exists
 * is left out. */
static void worker_pull_enter(struct batch *b)
{
    struct worker_pull *p = b->pull;
    struct worker *k = p->job->worker;
    for (size_t i = 0; i < b->count; i++) {
        const struct spill_found *f = &b->found[i];
        if (f->missing)
            pull_room_give(&k->room, 0, 1);
        else
            pulled_add(b->part, &b->spills[i], !p->over, f->at, f->count);
    }
    if (!p->over)
        atomic_fetch_add(&k->early_bytes, b->bytes);
}

static void
worker_pull_fail(struct batch *b, uint32_t place, int code, struct err *err)
{
    struct worker_pull *p = b->pull;
    struct world *w = p->job->worker->world;
    if (code == ERR_CANCELLED)
        return;
    if (spill_peer_is_to_blame(code)) {
        p->bad[place] = true;
        log_info(w, "worker", "job %s: no more is pulled from %.*s: %s",
                 p->job->id, SLICE_ARG(b->peer.place.address), err->text);
    } else {
        p->full = true;
        log_info(w, "worker", "job %s: no more is pulled: %s", p->job->id,
                 err->text);
    }
}

/* Under the lock, which is released meanwhile. */
static void worker_pull_bring(struct batch *b, uint32_t place)
{
    struct worker_pull *p = b->pull;
    struct worker *k = p->job->worker;
    char *at = mem_strdup(p->places[place]);
    char *path = mem_strdup(b->part->path);
    struct err err = ERR_INIT;
    int rc;
    b->peer.partition = b->part->partition;
    b->offset = b->part->bytes;
    mutex_unlock(&k->lock);
    rc = worker_place_get(slice_str(at), &b->peer.place, &err);
    if (rc == 0)
        rc = spill_peer_ask(&b->peer, b->spills, b->found, b->count, &err);
    if (rc)
        b->count = 0;
    else
        rc = worker_pull_reserve(b, &err);
    if (rc == 0 && b->count > 0)
        rc = read_batch(b, path, &err);
    mutex_lock(&k->lock);
    if (rc == 0 && is_dropped(b))
        rc = ERR_CANCELLED;
    if (rc == 0) {
        worker_pull_enter(b);
    } else {
        pull_room_give(&k->room, b->bytes, b->count);
        worker_pull_fail(b, place, rc, &err);
    }
    mem_free(path);
    mem_free(at);
}

/* Wait until no other job pulls here. Followed by end_turn(). */
static void take_turn(struct worker *k)
{
    while (k->pulling)
        cond_wait(&k->turn, &k->lock);
    INVARIANT(!k->pulling);
    k->pulling = true;
}

static void end_turn(struct worker *k)
{
    PRE(k->pulling);
    k->pulling = false;
    cond_signal(&k->turn);
}

/* Pull, of @count @spills, those at @place. Under the lock, which is released
 * meanwhile. */
static void pull_place(struct worker_pull *p,
                       struct pulled *part,
                       const struct task_spill *spills,
                       size_t count,
                       uint32_t place)
{
    struct worker *k = p->job->worker;
    struct batch b = {.pull = p, .part = part};
    size_t most;
    b.peer = (struct spill_peer){.world = k->world,
                                 .channels = k->peers,
                                 .job = p->job->id,
                                 .tries = 1,
                                 .is_over = is_over,
                                 .ctx = &b};
    b.spills = mem_alloc((count + 1) * sizeof(*b.spills));
    for (size_t i = 0; i < count; i++)
        if (spills[i].place == place)
            b.spills[b.count++] = spills[i];
    most = b.count;
    b.found = mem_zalloc(most + 1, sizeof(*b.found));
    if (most > 0) {
        take_turn(k);
        if (!is_dropped(&b))
            worker_pull_bring(&b, place);
        end_turn(k);
    }
    for (size_t i = 0; i < most; i++)
        spill_found_close(&b.found[i]);
    mem_free(b.found);
    mem_free(b.spills);
}

/* --- the thread ---------------------------------------------------------- */

/* Pull some of what is known and not tried for @part. Under the lock, which is
 * released meanwhile. */
static void pull_some(struct worker_pull *p, struct pulled *part)
{
    size_t count = MIN_OF(p->known_count - part->next, (size_t)SPILL_ASK_MAX);
    struct task_spill *spills = mem_alloc((count + 1) * sizeof(*spills));
    size_t places = p->place_count;
    memcpy(spills, p->known + part->next, count * sizeof(*spills));
    part->next += count;
    INVARIANT(p->busy == NULL);
    p->busy = part;
    for (size_t i = 0; i < places; i++)
        if (p->busy == part && !p->bad[i] && !p->full && !p->stop)
            pull_place(p, part, spills, count, (uint32_t)i);
    if (p->busy == part)
        p->busy = NULL;
    mem_free(spills);
}

/* The partition that lags most. */
static struct pulled *next_part(const struct worker_pull *p)
{
    struct pulled *found = NULL;
    struct pulled *one;
    LIST_FOREACH(one, &p->parts, link)
        if (!p->full && one->next < p->known_count &&
            (!found || one->next < found->next ||
             (one->next == found->next && one->partition < found->partition)))
            found = one;
    return found;
}

/* Remove one file that is no longer wanted; false: there is none. */
static bool remove_doomed(struct worker_pull *p)
{
    struct worker *k = p->job->worker;
    struct pulled *one = LIST_FIRST(&p->doomed);
    if (!one)
        return false;
    LIST_REMOVE(one, link);
    mutex_unlock(&k->lock);
    /* Nothing was pulled; or it is removed with the job. */
    IGNORE_RESULT(world_remove(k->world, one->path, NULL));
    mutex_lock(&k->lock);
    pulled_free(one, &k->room);
    return true;
}

static void run_pull(void *arg)
{
    struct worker_pull *p = arg;
    struct worker *k = p->job->worker;
    mutex_lock(&k->lock);
    while (!p->stop) {
        struct pulled *part;
        if (remove_doomed(p))
            continue;
        part = next_part(p);
        if (part)
            pull_some(p, part);
        else
            cond_wait(&p->wake, &k->lock);
    }
    mutex_unlock(&k->lock);
}

/* --- orders -------------------------------------------------------------- */

static void worker_pull_begin(struct worker_job *j)
{
    struct worker_pull *p = mem_zalloc(1, sizeof(*p));
    p->job = j;
    LIST_INIT(&p->parts);
    LIST_INIT(&p->doomed);
    cond_init(&p->wake);
    j->pull = p;
    p->thread = task_start(j->worker->world, "worker-pull", run_pull, p);
}

static uint32_t number_of_place(struct worker_pull *p, const char *place)
{
    for (size_t i = 0; i < p->place_count; i++)
        if (strcmp(p->places[i], place) == 0)
            return (uint32_t)i;
    p->places = mem_realloc(p->places, (p->place_count + 1) * sizeof(char *));
    p->bad = mem_realloc(p->bad, (p->place_count + 1) * sizeof(*p->bad));
    p->places[p->place_count] = mem_strdup(place);
    p->bad[p->place_count] = false;
    return (uint32_t)p->place_count++;
}

static void add_partition(struct worker_pull *p, uint32_t partition)
{
    struct buf path = BUF_INIT;
    struct pulled *one;
    LIST_FOREACH(one, &p->parts, link)
        if (one->partition == partition)
            return;
    buf_printf(&path, "%s/p%05u.%u.pull", p->job->package.setup.work_dir,
               partition, p->serial++);
    one = pulled_new(partition, buf_cstr(&path));
    LIST_INSERT_HEAD(&p->parts, one, link);
    buf_close(&path);
}

static void add_spills(struct worker_pull *p, const struct task_pull *o)
{
    uint32_t *places = mem_alloc((o->place_count + 1) * sizeof(*places));
    size_t want = p->known_count + o->spill_count;
    for (size_t i = 0; i < o->place_count; i++)
        places[i] = number_of_place(p, o->places[i]);
    if (want > p->known_cap) {
        p->known_cap = MAX_OF(p->known_cap * 2, want);
        p->known = mem_realloc(p->known, p->known_cap * sizeof(*p->known));
    }
    for (size_t i = 0; i < o->spill_count; i++) {
        struct task_spill s = o->spills[i];
        s.place = places[s.place];
        p->known[p->known_count++] = s;
    }
    mem_free(places);
}

int worker_pull_order(struct worker_job *j,
                      uint64_t ticket,
                      struct slice order,
                      struct err *err)
{
    struct task_pull o;
    int rc;
    if (ticket <= j->pull_ticket || j->worker->options.no_early)
        return 0;
    rc = task_pull_decode(&o, order, err);
    if (rc == 0) {
        j->pull_ticket = ticket;
        if (!j->pull)
            worker_pull_begin(j);
        for (size_t i = 0; i < o.partition_count; i++)
            add_partition(j->pull, o.partitions[i]);
        add_spills(j->pull, &o);
        j->pull->over |= o.over;
        cond_signal(&j->pull->wake);
    }
    task_pull_close(&o);
    return rc;
}

/* --- the end of it ------------------------------------------------------- */

struct pulled *worker_pull_take(struct worker_job *j, uint32_t partition)
{
    struct worker_pull *p = j->pull;
    struct pulled *one;
    if (!p)
        return NULL;
    LIST_FOREACH(one, &p->parts, link)
        if (one->partition == partition)
            break;
    if (!one)
        return NULL;
    LIST_REMOVE(one, link);
    if (p->busy == one)
        p->busy = NULL;
    pulled_sort(one);
    return one;
}

void worker_pull_return(struct worker_job *j, struct pulled *one)
{
    LIST_INSERT_HEAD(&j->pull->parts, one, link);
    cond_signal(&j->pull->wake);
}

void worker_pull_reset(struct worker_job *j)
{
    struct worker_pull *p = j->pull;
    struct pulled *one;
    j->pull_ticket = 0;
    if (!p)
        return;
    while ((one = LIST_FIRST(&p->parts)) != NULL) {
        LIST_REMOVE(one, link);
        LIST_INSERT_HEAD(&p->doomed, one, link);
    }
    p->busy = NULL;
    p->known_count = 0;
    p->over = false;
    p->full = false;
    for (size_t i = 0; i < p->place_count; i++)
        p->bad[i] = false;
    cond_signal(&p->wake);
}

static void free_parts(struct pulled_list *list, struct pull_room *room)
{
    struct pulled *one;
    while ((one = LIST_FIRST(list)) != NULL) {
        LIST_REMOVE(one, link);
        pulled_free(one, room);
    }
}

void worker_pull_stop(struct worker_job *j)
{
    struct worker_pull *p = j->pull;
    struct worker *k = j->worker;
    if (!p)
        return;
    p->stop = true;
    cond_signal(&p->wake);
    mutex_unlock(&k->lock);
    task_join(p->thread);
    mutex_lock(&k->lock);
    /* Their files are removed with the job's directory. */
    free_parts(&p->parts, &k->room);
    free_parts(&p->doomed, &k->room);
    for (size_t i = 0; i < p->place_count; i++)
        mem_free(p->places[i]);
    mem_free(p->places);
    mem_free(p->bad);
    mem_free(p->known);
    cond_close(&p->wake);
    mem_free(p);
    j->pull = NULL;
}
