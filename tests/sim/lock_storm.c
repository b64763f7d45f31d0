/* Sessions after sessions, and what they do. */
#include "tests/sim/lock_storm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "tests/lib/history_lock.h"
#include "tests/sim/fenced_store.h"
#include "tests/sim/listing_storm.h"

enum {
    FILES = 3,
    LOCKS = 2,
    LISTERS = 3,
    LOCK_DELAY_MS = 500,
    MAKE = CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE
};

/* A call of the lock service takes at most so long, or is given up. */
#define CALL_US (8 * SECOND_US)
/* So long after the faults it must answer. */
#define SERVICE_US (60 * SECOND_US)

static const char *const file_paths[FILES] = {"/f0", "/f1", "/f2"};
static const char *const lock_paths[LOCKS] = {"/l0", "/l1"};

struct lock_storm {
    struct storm *storm;
    struct sim_cell *cell;
    struct history_lock *history;
    struct fenced_store *store;
    struct listing_storm *listings;
    uint64_t session_count; /* Numbers for the history; 0 is the store's. */
    uint64_t contents;      /* The last that was written: all are different. */
    uint64_t newest[LOCKS]; /* Generations that exclusive holders saw. */
    uint64_t held_count;
};

/* Holders whose fate one session does not know. */
#define DOUBTS_MAX 32

/* The sessions that may still hold a lock. */
struct doubt {
    uint64_t holder;
    size_t lock;
};

/* One session of one client. */
struct session {
    struct lock_storm *l;
    struct storm_client *client;
    struct chubby *chubby;
    uint64_t number;
    bool expired;
    uint64_t holder[LOCKS]; /* As which it takes locks: see use_lock(). */
    struct doubt doubts[DOUBTS_MAX];
    size_t doubt_count;
    uint64_t safe_us; /* When it surely held whatever it held. */
    struct listing_session listing;
};

static bool lives(struct session *s)
{
    bool on = storm_goes_on(s->client) && !s->expired;
    if (on && chubby_is_safe(s->chubby))
        s->safe_us = storm_now_us();
    return on;
}

static void begin_call(struct session *s)
{
    fiber_set_deadline(world_mono_ns(s->client->world) + CALL_US * 1000);
}

static size_t note_call(struct session *s,
                        enum lock_kind kind,
                        const char *path,
                        const struct lock_input *input)
{
    begin_call(s);
    return history_lock_call(s->l->history, storm_now_us(), s->number, kind,
                             path, input);
}

static size_t
note_lock_call(struct session *s, enum lock_kind kind, size_t lock)
{
    begin_call(s);
    return history_lock_call(s->l->history, storm_now_us(), s->holder[lock],
                             kind, lock_paths[lock], NULL);
}

static int note_return(struct session *s,
                       size_t op,
                       int rc,
                       const struct lock_answer *answer)
{
    fiber_set_deadline(0);
    history_lock_return(s->l->history, op, storm_now_us(), rc, answer);
    s->l->storm->call_count++;
    return rc;
}

/* --- files --------------------------------------------------------------- */

struct open_file {
    struct session *session;
    struct chubby_handle *handle;
    const char *path;
    uint64_t instance;
    uint64_t generation; /* Last seen. */
};

static uint64_t new_contents(struct session *s, char text[24])
{
    uint64_t n = ++s->l->contents;
    snprintf(text, 24, "%" PRIu64, n);
    return n;
}

static uint64_t parse_contents(const struct buf *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->len; i++)
        n = n * 10 + (uint64_t)(b->data[i] - '0');
    return n;
}

static int open_file(struct session *s, struct open_file *f)
{
    static const enum lock_kind kinds[] = {LOCK_OPEN, LOCK_CREATE,
                                           LOCK_CREATE_NEW};

    static const unsigned flags[] = {CHUBBY_READ | CHUBBY_WRITE, MAKE,
                                     MAKE | CHUBBY_NEW};
    size_t how = rand_below(&s->client->rand, 3);
    char text[24];
    struct lock_input input = {.contents = how ? new_contents(s, text) : 0};
    struct chubby_open_options o = {.contents =
                                        how ? slice_str(text) : SLICE_EMPTY};
    size_t op = note_call(s, kinds[how], f->path, &input);
    return note_return(
        s, op,
        chubby_open(s->chubby, f->path, flags[how], &o, &f->handle, NULL),
        NULL);
}

static int do_stat(struct open_file *f)
{
    struct chubby_stat st = {.instance = 0};
    size_t op = note_call(f->session, LOCK_STAT, f->path,
                          &(struct lock_input){.instance = f->instance});
    int rc = chubby_get_stat(f->handle, &st, NULL);
    note_return(f->session, op, rc,
                &(struct lock_answer){.instance = st.instance,
                                      .generation = st.content_generation});
    if (rc == 0) {
        f->instance = st.instance;
        f->generation = st.content_generation;
    }
    return rc;
}

static int do_read(struct open_file *f)
{
    struct chubby_stat st = {.instance = 0};
    struct buf b = BUF_INIT;
    size_t op = note_call(f->session, LOCK_READ, f->path,
                          &(struct lock_input){.instance = f->instance});
    int rc = chubby_read(f->handle, &b, &st, NULL);
    note_return(f->session, op, rc,
                &(struct lock_answer){.instance = st.instance,
                                      .generation = st.content_generation,
                                      .contents = parse_contents(&b)});
    if (rc == 0)
        f->generation = st.content_generation;
    buf_close(&b);
    return rc;
}

static int do_write(struct open_file *f)
{
    struct session *s = f->session;
    char text[24];
    struct lock_input input = {.instance = f->instance};
    size_t op;
    input.contents = new_contents(s, text);
    if (rand_one_in(&s->client->rand, 3))
        input.generation = f->generation;
    op = note_call(s, LOCK_WRITE, f->path, &input);
    return note_return(
        s, op, chubby_write(f->handle, slice_str(text), input.generation, NULL),
        NULL);
}

static int do_delete(struct open_file *f)
{
    size_t op = note_call(f->session, LOCK_DELETE, f->path,
                          &(struct lock_input){.instance = f->instance});
    return note_return(f->session, op, chubby_delete(f->handle, NULL), NULL);
}

static void use_file(struct session *s)
{
    struct rand_gen *r = &s->client->rand;
    struct open_file f = {.session = s,
                          .path = file_paths[rand_below(r, FILES)]};
    uint64_t steps = 1 + rand_below(r, 8);
    int rc = 0;
    if (open_file(s, &f))
        return;
    rc = do_stat(&f);
    while (rc == 0 && steps-- && lives(s)) {
        uint64_t draw = rand_below(r, 10);
        if (draw < 5)
            rc = do_read(&f);
        else if (draw < 8)
            rc = do_write(&f);
        else if (draw < 9)
            rc = do_stat(&f);
        else
            rc = do_delete(&f);
        rc = rc == ERR_ABORTED ? 0 : rc;
        storm_sleep_us(rand_below(r, SECOND_US / 20));
    }
    chubby_close(f.handle);
}

/* --- locks --------------------------------------------------------------- */

struct held {
    struct session *session;
    struct chubby_handle *handle;
    size_t lock;
    bool shared;
    bool in_doubt;                              /* Whether it is held. */
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX]; /* "": not known. */
};

static int acquire(struct held *h)
{
    struct session *s = h->session;
    enum chubby_lock mode = h->shared ? CHUBBY_SHARED : CHUBBY_EXCLUSIVE;
    size_t op = note_lock_call(
        s, h->shared ? LOCK_ACQUIRE_SHARED : LOCK_ACQUIRE, h->lock);
    bool wait = rand_one_in(&s->client->rand, 2);
    int rc;
    h->in_doubt = true;
    rc = wait ? chubby_acquire(h->handle, mode, NULL)
              : chubby_try_acquire(h->handle, mode, NULL);
    if (rc == ERR_BUSY)
        h->in_doubt = false;
    return note_return(s, op, rc, NULL);
}

/* Somebody who holds the lock exclusively and is sure of it: nobody may have
 * held it later. */
static void assert_mine(const struct held *h)
{
    struct lock_storm *l = h->session->l;
    uint64_t generation;
    if (!h->sequencer[0] || h->shared || !chubby_is_safe(h->session->chubby))
        return;
    generation = sequencer_parse(h->sequencer).generation;
    STORM_CHECK(generation >= l->newest[h->lock],
                "session %" PRIu64 " holds generation %" PRIu64
                " of lock %s, but %" PRIu64 " was held",
                h->session->number, generation, lock_paths[h->lock],
                l->newest[h->lock]);
    l->newest[h->lock] = generation;
}

static void ask_sequencer(struct held *h)
{
    struct session *s = h->session;
    struct lock_answer answer = {.generation = 0};
    size_t op = note_lock_call(s, LOCK_SEQUENCER, h->lock);
    int rc = chubby_sequencer(h->handle, h->sequencer, NULL);
    if (rc == 0)
        answer.generation = sequencer_parse(h->sequencer).generation;
    else
        h->sequencer[0] = '\0';
    note_return(s, op, rc, &answer);
}

/* Write, sometimes whatever has become of the lock meanwhile: the store is to
 * find out. */
static void use_store(struct held *h)
{
    struct session *s = h->session;
    bool careless = rand_one_in(&s->client->rand, 3);
    if (!h->sequencer[0])
        return;
    if (careless)
        storm_sleep_us(rand_below(&s->client->rand, 3 * SECOND_US));
    if (careless || chubby_is_safe(s->chubby))
        (void)!fenced_store_write(s->l->store, h->sequencer, NULL);
}

static void release(struct held *h)
{
    struct session *s = h->session;
    size_t op = note_lock_call(s, LOCK_RELEASE, h->lock);
    int rc = note_return(s, op, chubby_release(h->handle, NULL), NULL);
    if (rc == 0)
        h->in_doubt = false;
}

static void hold(struct held *h)
{
    struct session *s = h->session;
    uint64_t steps = rand_below(&s->client->rand, 6);
    ask_sequencer(h);
    s->l->held_count++;
    while (steps-- && lives(s)) {
        assert_mine(h);
        storm_sleep_us(rand_below(&s->client->rand, SECOND_US / 5));
        assert_mine(h);
        use_store(h);
    }
}

/* The handle is about to be closed, which frees a lock that is still held; but
 * nobody says whether that was done. From now on the session uses the lock
 * as another holder, for the servers may still know the old one. */
static void doubt(struct held *h)
{
    struct session *s = h->session;
    struct doubt d = {s->holder[h->lock], h->lock};
    note_lock_call(s, LOCK_RELEASE, h->lock);
    fiber_set_deadline(0);
    s->holder[h->lock] = ++s->l->session_count;
    if (s->doubt_count == DOUBTS_MAX)
        s->expired = true; /* Enough: begin another. */
    else
        s->doubts[s->doubt_count++] = d;
}

static void use_lock(struct session *s)
{
    struct rand_gen *r = &s->client->rand;
    struct held h = {.session = s,
                     .lock = rand_below(r, LOCKS),
                     .shared = rand_one_in(r, 4)};
    struct chubby_open_options o = {.lock_delay_ms = LOCK_DELAY_MS};
    int rc;
    begin_call(s);
    rc = chubby_open(s->chubby, lock_paths[h.lock], MAKE, &o, &h.handle, NULL);
    fiber_set_deadline(0);
    if (rc)
        return;
    if (acquire(&h) == 0) {
        hold(&h);
        if (lives(s))
            release(&h);
        if (rand_one_in(r, 8))
            use_store(&h); /* Too late. */
    }
    if (h.in_doubt)
        doubt(&h);
    chubby_close(h.handle);
}

/* --- names --------------------------------------------------------------- */

static void use_names(struct session *s)
{
    begin_call(s);
    listing_session_step(&s->listing);
    fiber_set_deadline(0);
}

/* --- sessions ------------------------------------------------------------ */

static void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct session *s = ctx;
    (void)h;
    s->expired |= event == CHUBBY_EVENT_EXPIRED;
}

/* Locks that it may still hold are free once the servers find that it is
 * gone. */
static void note_expiry(struct session *s)
{
    for (size_t i = 0; i < s->doubt_count; i++)
        history_lock_call(s->l->history, s->safe_us, s->doubts[i].holder,
                          LOCK_EXPIRE, lock_paths[s->doubts[i].lock], NULL);
}

static void run_session(struct lock_storm *l,
                        struct storm_client *c,
                        void (*use)(struct session *s))
{
    struct session s = {.l = l,
                        .client = c,
                        .number = ++l->session_count,
                        .safe_us = storm_now_us()};
    for (size_t i = 0; i < LOCKS; i++)
        s.holder[i] = s.number;
    if (sim_cell_chubby(l->cell, c->world, on_event, &s, &s.chubby, NULL))
        return;
    s.listing = (struct listing_session){.storm = l->listings,
                                         .chubby = s.chubby,
                                         .number = s.number,
                                         .rand = &c->rand};
    while (lives(&s)) {
        use(&s);
        if (use != use_names)
            storm_sleep_us(rand_below(&c->rand, SECOND_US / 10));
    }
    note_expiry(&s);
    listing_session_close(&s.listing);
    chubby_disconnect(s.chubby);
}

static void use_files_and_locks(struct session *s)
{
    if (rand_one_in(&s->client->rand, 2))
        use_file(s);
    else
        use_lock(s);
}

static void work_with(struct storm_client *c, void (*use)(struct session *s))
{
    while (storm_goes_on(c)) {
        run_session(c->ctx, c, use);
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 2));
    }
}

static void work(struct storm_client *c)
{
    work_with(c, use_files_and_locks);
}

static void work_on_names(struct storm_client *c)
{
    work_with(c, use_names);
}

/* --- the whole ----------------------------------------------------------- */

struct lock_storm *
lock_storm_new(struct storm *s, struct sim_cell *cell, unsigned clients)
{
    struct lock_storm *l = mem_zalloc(1, sizeof(*l));
    l->storm = s;
    l->cell = cell;
    l->history = history_lock_new();
    l->store = fenced_store_new(cell, l->history);
    l->listings = listing_storm_new();
    for (unsigned i = 0; i < clients; i++) {
        char name[16];
        snprintf(name, sizeof(name), "locker%u", i % 100);
        storm_add_client(s, name, work, l);
    }
    for (unsigned i = 0; i < LISTERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "lister%u", i % 100);
        storm_add_client(s, name, work_on_names, l);
    }
    return l;
}

/* The last word: what every file is, by a client that nothing befalls. */
void lock_storm_finish(struct lock_storm *l)
{
    struct storm_client me = {.storm = l->storm,
                              .world = sim_director(l->cell->sim)};
    struct session s = {.l = l, .client = &me, .number = ++l->session_count};
    struct err err = ERR_INIT;
    uint64_t from = storm_now_us();
    int rc = 0;
    fiber_set_deadline(world_mono_ns(me.world) + SERVICE_US * 1000);
    rc = sim_cell_chubby(l->cell, me.world, NULL, NULL, &s.chubby, &err);
    STORM_CHECK(rc == 0, "after %" PRIu64 " us the lock service: %s",
                storm_now_us() - from, err.text);
    for (size_t i = 0; i < FILES; i++) {
        struct open_file f = {.session = &s, .path = file_paths[i]};
        size_t op = note_call(&s, LOCK_OPEN, f.path, NULL);
        rc = chubby_open(s.chubby, f.path, CHUBBY_READ, NULL, &f.handle, &err);
        note_return(&s, op, rc, NULL);
        STORM_CHECK(rc == 0 || rc == ERR_NOTFOUND, "%s", err.text);
        if (rc == 0) {
            rc = do_read(&f);
            STORM_CHECK(rc == 0, "%s: %s", f.path, err_name(rc));
            chubby_close(f.handle);
        }
    }
    s.listing = (struct listing_session){.storm = l->listings,
                                         .chubby = s.chubby,
                                         .number = s.number,
                                         .rand = &me.rand};
    listing_session_finish(&s.listing);
    listing_session_close(&s.listing);
    chubby_disconnect(s.chubby);
    sim_stop(fenced_store_machine(l->store));
    STORM_CHECK(l->held_count > 5, "only %" PRIu64 " locks were held",
                l->held_count);
}

void lock_storm_check(const struct lock_storm *l)
{
    struct buf why = BUF_INIT;
    enum history_verdict v = history_lock_check(l->history, 0, &why);
    STORM_CHECK(v != HISTORY_WRONG,
                "%sthe lock service's answers have no order", buf_cstr(&why));
    STORM_CHECK(v != HISTORY_TOO_HARD, "the lock service's history is too hard "
                                       "to judge");
    buf_close(&why);
    listing_storm_check(l->listings);
}

void lock_storm_free(struct lock_storm *l)
{
    fenced_store_free(l->store);
    listing_storm_free(l->listings);
    history_lock_free(l->history);
    mem_free(l);
}
