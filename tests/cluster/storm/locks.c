/* Sessions of the lock service, one after the other: files that are made, read,
 * written and deleted, locks that are held, and sequencers that are shown long
 * after. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "tests/cluster/storm/storm.h"

#define CALL_US       (8 * SECOND_US)
#define LOCK_DELAY_MS 500
/* Short, so that a killed holder's lock comes free within a run. */
#define LEASE_MS 3000
#define GRACE_MS 15000
#define MAKE     (CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE)
/* Holders whose fate one session does not know; then it begins another. */
#define DOUBTS_MAX 16

static const char *const file_paths[STORM_FILES] = {"/f0", "/f1", "/f2"};
static const char *const lock_paths[STORM_LOCKS] = {"/l0", "/l1"};

struct doubt {
    uint64_t holder;
    size_t lock;
};

struct session {
    struct storm *storm;
    struct rand_gen *rand;
    struct chubby *chubby;
    uint64_t number;
    bool expired;
    uint64_t holder[STORM_LOCKS]; /* As which it takes locks: see doubt(). */
    struct doubt doubts[DOUBTS_MAX];
    size_t doubt_count;
    uint64_t safe_us; /* When it surely held whatever it held. */
};

static bool lives(struct session *s)
{
    if (chubby_is_safe(s->chubby))
        s->safe_us = storm_now_us(s->storm);
    return storm_goes_on() && !s->expired;
}

static void begin_call(struct session *s, uint64_t us)
{
    fiber_set_deadline(world_mono_ns(s->storm->world) + us * 1000);
}

static size_t note_call(struct session *s,
                        uint64_t who,
                        enum lock_kind kind,
                        const char *path,
                        const struct lock_input *input)
{
    size_t op = history_lock_call(s->storm->locks, storm_now_us(s->storm), who,
                                  kind, path, input);
    storm_note_lock(s->storm, op);
    begin_call(s, CALL_US);
    return op;
}

static int note_return(struct session *s,
                       size_t op,
                       int rc,
                       const struct lock_answer *answer)
{
    fiber_set_deadline(0);
    history_lock_return(s->storm->locks, op, storm_now_us(s->storm), rc,
                        answer);
    storm_note_lock(s->storm, op);
    s->storm->call_count++;
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
    uint64_t n = storm_number(s->storm);
    snprintf(text, 24, "%" PRIu64, n);
    return n;
}

static int open_file(struct session *s, struct open_file *f)
{
    static const enum lock_kind kinds[] = {LOCK_OPEN, LOCK_CREATE,
                                           LOCK_CREATE_NEW};

    static const unsigned flags[] = {CHUBBY_READ | CHUBBY_WRITE, MAKE,
                                     MAKE | CHUBBY_NEW};
    size_t how = rand_below(s->rand, 3);
    char text[24] = "";
    struct lock_input input = {.contents = how ? new_contents(s, text) : 0};
    struct chubby_open_options o = {.contents = slice_str(text)};
    size_t op = note_call(s, s->number, kinds[how], f->path, &input);
    return note_return(
        s, op,
        chubby_open(s->chubby, f->path, flags[how], &o, &f->handle, NULL),
        NULL);
}

static int stat_file(struct open_file *f)
{
    struct session *s = f->session;
    struct chubby_stat st = {.instance = 0};
    size_t op = note_call(s, s->number, LOCK_STAT, f->path,
                          &(struct lock_input){.instance = f->instance});
    int rc = chubby_get_stat(f->handle, &st, NULL);
    note_return(s, op, rc,
                &(struct lock_answer){.instance = st.instance,
                                      .generation = st.content_generation});
    if (rc == 0) {
        f->instance = st.instance;
        f->generation = st.content_generation;
    }
    return rc;
}

static int read_file(struct open_file *f)
{
    struct session *s = f->session;
    struct chubby_stat st = {.instance = 0};
    struct lock_answer answer = {.instance = 0};
    struct buf b = BUF_INIT;
    size_t op = note_call(s, s->number, LOCK_READ, f->path,
                          &(struct lock_input){.instance = f->instance});
    int rc = chubby_read(f->handle, &b, &st, NULL);
    if (rc == 0) {
        answer.instance = st.instance;
        answer.generation = st.content_generation;
        if (text_parse_u64(buf_slice(&b), &answer.contents, NULL))
            storm_fail("%s contains \"%s\"", f->path, buf_cstr(&b));
        f->generation = st.content_generation;
    }
    note_return(s, op, rc, &answer);
    buf_close(&b);
    return rc;
}

static int write_file(struct open_file *f)
{
    struct session *s = f->session;
    char text[24];
    struct lock_input input = {.instance = f->instance};
    size_t op;
    input.contents = new_contents(s, text);
    if (rand_one_in(s->rand, 3))
        input.generation = f->generation;
    op = note_call(s, s->number, LOCK_WRITE, f->path, &input);
    return note_return(
        s, op, chubby_write(f->handle, slice_str(text), input.generation, NULL),
        NULL);
}

static int delete_file(struct open_file *f)
{
    struct session *s = f->session;
    size_t op = note_call(s, s->number, LOCK_DELETE, f->path,
                          &(struct lock_input){.instance = f->instance});
    return note_return(s, op, chubby_delete(f->handle, NULL), NULL);
}

static void use_file(struct session *s)
{
    struct open_file f = {.session = s,
                          .path = file_paths[rand_below(s->rand, STORM_FILES)]};
    uint64_t steps = 1 + rand_below(s->rand, 8);
    int rc;
    if (open_file(s, &f))
        return;
    rc = stat_file(&f);
    while (rc == 0 && steps-- && lives(s)) {
        uint64_t draw = rand_below(s->rand, 10);
        if (draw < 5)
            rc = read_file(&f);
        else if (draw < 8)
            rc = write_file(&f);
        else if (draw < 9)
            rc = stat_file(&f);
        else
            rc = delete_file(&f);
        rc = rc == ERR_ABORTED ? 0 : rc;
        storm_sleep_us(s->storm, rand_below(s->rand, SECOND_US / 10));
    }
    begin_call(s, CALL_US);
    chubby_close(f.handle);
    fiber_set_deadline(0);
}

/* --- locks --------------------------------------------------------------- */

struct held {
    struct session *session;
    struct chubby_handle *handle;
    size_t lock;
    bool shared;
    bool in_doubt; /* Whether it is held. */
};

static void note_doubt(struct held *h, bool in_doubt)
{
    struct session *s = h->session;
    if (h->in_doubt != in_doubt)
        storm_note(s->storm, "%s\t%" PRIu64 "\t%s", in_doubt ? "doubt" : "sure",
                   s->holder[h->lock], lock_paths[h->lock]);
    h->in_doubt = in_doubt;
}

static int acquire(struct held *h)
{
    struct session *s = h->session;
    enum chubby_lock mode = h->shared ? CHUBBY_SHARED : CHUBBY_EXCLUSIVE;
    bool wait = rand_one_in(s->rand, 2);
    size_t op;
    int rc;
    note_doubt(h, true);
    op = note_call(s, s->holder[h->lock],
                   h->shared ? LOCK_ACQUIRE_SHARED : LOCK_ACQUIRE,
                   lock_paths[h->lock], NULL);
    rc = wait ? chubby_acquire(h->handle, mode, NULL)
              : chubby_try_acquire(h->handle, mode, NULL);
    note_return(s, op, rc, NULL);
    if (rc == ERR_BUSY)
        note_doubt(h, false);
    return rc;
}

/* "x:GENERATION:INSTANCE:PATH", or with an s. */
static bool read_sequencer(const char *text, struct lock_input *out)
{
    struct slice rest = slice_str(text);
    struct slice number;
    if (rest.len < 3 || rest.data[1] != ':')
        return false;
    out->shared = rest.data[0] == 's';
    rest = slice_sub(rest, 2, rest.len);
    number = slice_sub(rest, 0, slice_find_byte(rest, ':'));
    return text_parse_u64(number, &out->generation, NULL) == 0;
}

static void ask_sequencer(struct held *h)
{
    struct session *s = h->session;
    struct lock_input said = {.generation = 0};
    char text[CHUBBY_SEQUENCER_BYTES_MAX];
    size_t op = note_call(s, s->holder[h->lock], LOCK_SEQUENCER,
                          lock_paths[h->lock], NULL);
    int rc = chubby_sequencer(h->handle, text, NULL);
    if (rc == 0 && !read_sequencer(text, &said))
        storm_fail("\"%s\" is no sequencer", text);
    note_return(s, op, rc,
                &(struct lock_answer){.generation = said.generation});
    if (rc)
        return;
    mem_free(s->storm->sequencer[h->lock]);
    s->storm->sequencer[h->lock] = mem_strdup(text);
}

/* As a server does that was sent the newest sequencer of this process, by any
 * holder and at any time. */
static void check_sequencer(struct session *s, size_t lock)
{
    struct lock_input said;
    char *text;
    size_t op;
    if (!s->storm->sequencer[lock])
        return;
    text = mem_strdup(s->storm->sequencer[lock]);
    if (read_sequencer(text, &said)) {
        op = note_call(s, 0, LOCK_CHECK, lock_paths[lock], &said);
        note_return(s, op,
                    chubby_check_sequencer(s->chubby, slice_str(text), NULL),
                    NULL);
    }
    mem_free(text);
}

static void hold(struct held *h)
{
    struct session *s = h->session;
    uint64_t steps = rand_below(s->rand, 5);
    ask_sequencer(h);
    while (steps-- && lives(s)) {
        storm_sleep_us(s->storm, rand_below(s->rand, SECOND_US / 5));
        check_sequencer(s, h->lock);
    }
}

static void release(struct held *h)
{
    struct session *s = h->session;
    size_t op = note_call(s, s->holder[h->lock], LOCK_RELEASE,
                          lock_paths[h->lock], NULL);
    if (note_return(s, op, chubby_release(h->handle, NULL), NULL) == 0)
        note_doubt(h, false);
}

/* The handle is about to be closed, which frees a lock that is still held; but
 * nobody reports whether it did. From now on the session uses the lock as
 * another holder, because the servers may still know the old one. */
static void doubt(struct held *h)
{
    struct session *s = h->session;
    struct doubt d = {s->holder[h->lock], h->lock};
    note_call(s, s->holder[h->lock], LOCK_RELEASE, lock_paths[h->lock], NULL);
    s->holder[h->lock] = storm_number(s->storm);
    if (s->doubt_count == DOUBTS_MAX - 1)
        s->expired = true;
    s->doubts[s->doubt_count++] = d;
}

static void use_lock(struct session *s)
{
    struct held h = {.session = s,
                     .lock = rand_below(s->rand, STORM_LOCKS),
                     .shared = rand_one_in(s->rand, 4)};
    struct chubby_open_options o = {.lock_delay_ms = LOCK_DELAY_MS};
    int rc;
    begin_call(s, CALL_US);
    rc = chubby_open(s->chubby, lock_paths[h.lock], MAKE, &o, &h.handle, NULL);
    fiber_set_deadline(0);
    if (rc)
        return;
    if (acquire(&h) == 0) {
        hold(&h);
        if (lives(s))
            release(&h);
    }
    if (rand_one_in(s->rand, 3))
        check_sequencer(s, h.lock); /* Too late. */
    if (h.in_doubt)
        doubt(&h);
    begin_call(s, CALL_US);
    chubby_close(h.handle);
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

static int begin_session(struct session *s, uint64_t call_us, struct err *err)
{
    struct chubby_options o = {.servers = s->storm->servers,
                               .server_count = s->storm->server_count,
                               .security = s->storm->security,
                               .lease_ms = LEASE_MS,
                               .grace_ms = GRACE_MS,
                               .on_event = on_event,
                               .ctx = s};
    int rc;
    s->number = storm_number(s->storm);
    for (size_t i = 0; i < STORM_LOCKS; i++)
        s->holder[i] = storm_number(s->storm);
    begin_call(s, call_us);
    rc = chubby_connect(s->storm->world, &o, &s->chubby, err);
    fiber_set_deadline(0);
    s->safe_us = storm_now_us(s->storm);
    return rc;
}

/* Locks that it may still hold become free when the servers find it gone. */
static void note_expiry(struct session *s)
{
    for (size_t i = 0; i < s->doubt_count; i++) {
        const struct doubt *d = &s->doubts[i];
        size_t op = history_lock_call(s->storm->locks, s->safe_us, d->holder,
                                      LOCK_EXPIRE, lock_paths[d->lock], NULL);
        storm_note_lock(s->storm, op);
        storm_note(s->storm, "sure\t%" PRIu64 "\t%s", d->holder,
                   lock_paths[d->lock]);
    }
}

static void run_session(struct storm_client *c)
{
    struct session s = {.storm = c->storm, .rand = &c->rand};
    if (begin_session(&s, CALL_US, NULL))
        return;
    while (lives(&s)) {
        if (rand_one_in(&c->rand, 2))
            use_file(&s);
        else
            use_lock(&s);
        storm_sleep_us(s.storm, rand_below(&c->rand, SECOND_US / 5));
    }
    note_expiry(&s);
    begin_call(&s, CALL_US);
    chubby_disconnect(s.chubby);
    fiber_set_deadline(0);
}

void storm_work_locks(struct storm_client *c)
{
    while (storm_goes_on()) {
        run_session(c);
        storm_sleep_us(c->storm, rand_below(&c->rand, SECOND_US / 2));
    }
}

/* --- afterwards ---------------------------------------------------------- */

void storm_finish_locks(struct storm *s, uint64_t until_us)
{
    struct session me = {.storm = s};
    struct err err = ERR_INIT;
    uint64_t now = storm_now_us(s);
    int rc = begin_session(&me, until_us > now ? until_us - now : 1, &err);
    STORM_CHECK(rc == 0, "the lock service, long after the faults: %s",
                err.text);
    for (size_t i = 0; i < STORM_FILES; i++) {
        struct open_file f = {.session = &me, .path = file_paths[i]};
        size_t op = note_call(&me, me.number, LOCK_OPEN, f.path, NULL);
        rc = chubby_open(me.chubby, f.path, CHUBBY_READ, NULL, &f.handle, &err);
        note_return(&me, op, rc, NULL);
        STORM_CHECK(rc == 0 || rc == ERR_NOTFOUND, "%s", err.text);
        if (rc == 0) {
            rc = read_file(&f);
            STORM_CHECK(rc == 0, "%s: %s", f.path, err_name(rc));
            chubby_close(f.handle);
        }
    }
    chubby_disconnect(me.chubby);
}
