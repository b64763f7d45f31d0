/* The promises of chubby.h, for any service behind it: checks that need nothing
 * but a way to open sessions.
 *
 *     struct lock_suite s = {.world = w, .connect = …, .ctx = …};
 *     lock_suite_all(&s);
 *     lock_suite_storm(&s, 6, 5000000);
 *
 * Sessions are opened on the loop of the caller, a fiber. Paths are below
 * `root`, a directory that is made.
 */
#ifndef TESTS_LIB_LOCK_SUITE_H
#define TESTS_LIB_LOCK_SUITE_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "tests/lib/check_main.h"
#include "tests/lib/history_lock.h"

struct lock_suite {
    struct world *world;
    int (*connect)(void *ctx,
                   const struct chubby_options *o,
                   struct chubby **out,
                   struct err *err);
    void *ctx;
    const char *root; /* "/suite" */
    bool has_lists;   /* The service knows the lists in /acl. */
};

enum {
    LOCK_RW = CHUBBY_READ | CHUBBY_WRITE,
    LOCK_MAKE = LOCK_RW | CHUBBY_CREATE
};

#define LOCK_SUITE_SECOND UINT64_C(1000000)

/* --- sessions ------------------------------------------------------------ */

struct suite_client {
    struct lock_suite *suite;
    struct chubby *chubby;
    unsigned events;             /* All that were told, */
    struct chubby_handle *about; /* and whom the last was about. */
};

static UNUSED void
suite_on_event(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    struct suite_client *c = ctx;
    c->events |= (unsigned)e;
    if (h)
        c->about = h;
}

static UNUSED void suite_join(struct suite_client *c, struct lock_suite *s)
{
    struct chubby_options o = {
        .lease_ms = 4000, .on_event = suite_on_event, .ctx = c};
    struct err err = ERR_INIT;
    *c = (struct suite_client){.suite = s};
    ck_assert_msg(s->connect(s->ctx, &o, &c->chubby, &err) == 0, "%s",
                  err.text);
    ck_assert(chubby_is_safe(c->chubby));
}

static UNUSED const char *suite_path(const struct lock_suite *s,
                                     const char *name)
{
    static char paths[8][300];
    static size_t next;
    char *p = paths[next++ % 8];
    snprintf(p, sizeof(paths[0]), "%s%s%s", s->root, *name ? "/" : "", name);
    return p;
}

static UNUSED struct chubby_handle *suite_open(struct suite_client *c,
                                               const char *name,
                                               unsigned flags,
                                               unsigned events)
{
    struct chubby_open_options o = {.events = events};
    struct chubby_handle *h = NULL;
    struct err err = ERR_INIT;
    ck_assert_msg(chubby_open(c->chubby, suite_path(c->suite, name), flags, &o,
                              &h, &err) == 0,
                  "%s", err.text);
    return h;
}

/* The outcome of opening; nothing stays open. */
static UNUSED int
suite_try_open(struct suite_client *c, const char *name, unsigned flags)
{
    struct chubby_handle *h = NULL;
    int rc = chubby_open(c->chubby, suite_path(c->suite, name), flags, NULL, &h,
                         NULL);
    if (rc == 0)
        chubby_close(h);
    return rc;
}

static UNUSED void suite_write(struct chubby_handle *h, const char *text)
{
    struct err err = ERR_INIT;
    ck_assert_msg(chubby_write(h, slice_str(text), 0, &err) == 0, "%s",
                  err.text);
}

static UNUSED void suite_read(struct chubby_handle *h, const char *text)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    ck_assert_msg(chubby_read(h, &b, NULL, &err) == 0, "%s", err.text);
    ck_assert_str_eq(buf_cstr(&b), text);
    buf_close(&b);
}

static UNUSED struct chubby_stat suite_stat(struct chubby_handle *h)
{
    struct chubby_stat stat;
    struct err err = ERR_INIT;
    ck_assert_msg(chubby_get_stat(h, &stat, &err) == 0, "%s", err.text);
    return stat;
}

/* Wait for an event, for at most ten seconds. */
static UNUSED void suite_await(struct suite_client *c, unsigned event)
{
    for (int i = 0; i < 1000 && !(c->events & event); i++)
        world_sleep_us(c->suite->world, 10000);
    ck_assert_msg(c->events & event, "event %u did not come", event);
}

static UNUSED void suite_list(struct suite_client *c, const char *expected)
{
    struct chubby_handle *h = suite_open(c, "", CHUBBY_READ, 0);
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    char **names;
    size_t count;
    ck_assert_msg(chubby_list(h, &names, &count, &err) == 0, "%s", err.text);
    for (size_t i = 0; i < count; i++)
        buf_printf(&b, "%s%s", i ? " " : "", names[i]);
    ck_assert_str_eq(buf_cstr(&b), expected);
    chubby_names_free(names, count);
    buf_close(&b);
    chubby_close(h);
}

static UNUSED void suite_remove(struct suite_client *c, const char *name)
{
    struct chubby_handle *h = suite_open(c, name, LOCK_RW, 0);
    struct err err = ERR_INIT;
    ck_assert_msg(chubby_delete(h, &err) == 0, "%s", err.text);
    chubby_close(h);
}

/* --- files and directories ----------------------------------------------- */

/* Files have contents, generations and instances; names are unique, and may
 * have any character that a path may. */
static UNUSED void suite_files(struct lock_suite *s)
{
    struct suite_client a;
    struct suite_client b;
    struct chubby_handle *h;
    struct chubby_handle *g;
    struct chubby_stat first;
    suite_join(&a, s);
    suite_join(&b, s);
    ck_assert_int_eq(suite_try_open(&a, "f", LOCK_RW), ERR_NOTFOUND);
    ck_assert_int_eq(suite_try_open(&a, "no/f", LOCK_MAKE), ERR_NOTFOUND);
    ck_assert_int_eq(suite_try_open(&a, "a//b", LOCK_MAKE), ERR_INVALID);
    h = suite_open(&a, "f", LOCK_MAKE, 0);
    suite_read(h, "");
    ck_assert_uint_eq(suite_stat(h).content_generation, 0);
    ck_assert_int_eq(suite_try_open(&b, "f", LOCK_MAKE | CHUBBY_NEW),
                     ERR_EXISTS);
    ck_assert_int_eq(suite_try_open(&b, "f", CHUBBY_READ | CHUBBY_DIRECTORY),
                     ERR_INVALID);
    ck_assert_int_eq(suite_try_open(&b, "f/g", LOCK_MAKE), ERR_INVALID);
    g = suite_open(&b, "f", LOCK_RW, 0);
    suite_write(h, "one");
    suite_read(g, "one");
    first = suite_stat(g);
    ck_assert_uint_eq(first.content_generation, 1);
    ck_assert_uint_eq(first.contents_bytes, 3);
    ck_assert_int_eq(chubby_write(g, SLICE_LIT("two"), 7, NULL), ERR_ABORTED);
    ck_assert_int_eq(chubby_write(g, SLICE_LIT("two"), 1, NULL), 0);
    suite_read(h, "two");
    suite_list(&b, "f");
    ck_assert_int_eq(chubby_delete(g, NULL), 0);
    ck_assert_int_eq(chubby_write(h, SLICE_LIT("x"), 0, NULL), ERR_NOTFOUND);
    suite_await(&a, CHUBBY_EVENT_INVALID);
    chubby_close(g);
    chubby_close(h);
    h = suite_open(&a, "f", LOCK_MAKE | CHUBBY_NEW, 0);
    ck_assert_uint_gt(suite_stat(h).instance, first.instance);
    suite_read(h, "");
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    chubby_close(h);
    h = suite_open(&a, "50% \xc3\xa9 {\"x\"} \xf0\x9f\x90\x84", LOCK_MAKE, 0);
    suite_write(h, "odd");
    suite_list(&b, "50% \xc3\xa9 {\"x\"} \xf0\x9f\x90\x84");
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    chubby_close(h);
    suite_list(&b, "");
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* First contents count as a write, and the largest file fits. */
static UNUSED void suite_sizes(struct lock_suite *s)
{
    static char big[CHUBBY_CONTENTS_BYTES_MAX + 1];
    struct chubby_open_options o = {.contents = SLICE_LIT("hello")};
    struct suite_client a;
    struct chubby_handle *h;
    struct chubby_stat stat;
    struct buf b = BUF_INIT;
    memset(big, 'x', sizeof(big));
    suite_join(&a, s);
    ck_assert_int_eq(
        chubby_open(a.chubby, suite_path(s, "f"), LOCK_MAKE, &o, &h, NULL), 0);
    ck_assert_uint_eq(suite_stat(h).content_generation, 1);
    ck_assert_int_eq(chubby_write(h, slice_make(big, sizeof(big)), 0, NULL),
                     ERR_TOOBIG);
    ck_assert_int_eq(chubby_write(h, slice_make(big, sizeof(big) - 1), 0, NULL),
                     0);
    ck_assert_int_eq(chubby_read(h, &b, &stat, NULL), 0);
    ck_assert_uint_eq(b.len, sizeof(big) - 1);
    ck_assert_uint_eq(stat.contents_bytes, b.len);
    buf_close(&b);
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    chubby_close(h);
    chubby_disconnect(a.chubby);
}

/* A directory is removed when nothing is in it. */
static UNUSED void suite_directories(struct lock_suite *s)
{
    struct suite_client a;
    struct chubby_handle *d;
    struct chubby_handle *h;
    suite_join(&a, s);
    d = suite_open(&a, "d", LOCK_MAKE | CHUBBY_DIRECTORY, 0);
    h = suite_open(&a, "d/f", LOCK_MAKE, 0);
    ck_assert_uint_eq(suite_stat(d).child_count, 1);
    ck_assert(suite_stat(d).is_directory);
    ck_assert_int_eq(chubby_delete(d, NULL), ERR_BUSY);
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    chubby_close(h);
    ck_assert_int_eq(chubby_delete(d, NULL), 0);
    chubby_close(d);
    ck_assert_int_eq(suite_try_open(&a, "d/f", LOCK_MAKE), ERR_NOTFOUND);
    chubby_disconnect(a.chubby);
}

/* An ephemeral file is there while a session has it open. */
static UNUSED void suite_ephemeral(struct lock_suite *s)
{
    struct suite_client a;
    struct suite_client b;
    struct chubby_handle *h;
    struct chubby_handle *g;
    suite_join(&a, s);
    suite_join(&b, s);
    h = suite_open(&a, "e", LOCK_MAKE | CHUBBY_EPHEMERAL, 0);
    suite_write(h, "here");
    ck_assert(suite_stat(h).is_ephemeral);
    suite_list(&b, "e");
    g = suite_open(&b, "e", LOCK_RW, 0);
    suite_read(g, "here");
    chubby_close(h);
    suite_list(&b, "e");
    suite_read(g, "here");
    chubby_close(g);
    suite_list(&b, "");
    ck_assert_int_eq(suite_try_open(&b, "e", CHUBBY_READ), ERR_NOTFOUND);
    h = suite_open(&a, "e", LOCK_MAKE | CHUBBY_EPHEMERAL, 0);
    g = suite_open(&b, "e", LOCK_RW, 0);
    ck_assert_int_eq(chubby_delete(g, NULL), 0);
    suite_await(&a, CHUBBY_EVENT_INVALID);
    suite_list(&a, "");
    chubby_close(g);
    chubby_close(h);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* --- locks --------------------------------------------------------------- */

struct suite_waiter {
    struct chubby_handle *handle;
    enum chubby_lock mode;
    int rc;
    bool done;
};

static UNUSED void suite_acquire_fiber(void *arg)
{
    struct suite_waiter *w = arg;
    w->rc = chubby_acquire(w->handle, w->mode, NULL);
    w->done = true;
}

/* Locks exclude each other, who waits for one gets it, and a sequencer is good
 * for as long as its lock is held. */
static UNUSED void suite_locks(struct lock_suite *s)
{
    char text[CHUBBY_SEQUENCER_BYTES_MAX];
    char later[CHUBBY_SEQUENCER_BYTES_MAX];
    struct suite_client a;
    struct suite_client b;
    struct chubby_handle *h;
    struct chubby_handle *g;
    struct suite_waiter w;
    struct fiber *f;
    suite_join(&a, s);
    suite_join(&b, s);
    h = suite_open(&a, "l", LOCK_MAKE, 0);
    g = suite_open(&b, "l", LOCK_RW, CHUBBY_EVENT_LOCKED);
    ck_assert_int_eq(chubby_release(h, NULL), ERR_INVALID);
    ck_assert_int_eq(chubby_sequencer(h, text, NULL), ERR_INVALID);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_SHARED, NULL), ERR_INVALID);
    suite_await(&b, CHUBBY_EVENT_LOCKED);
    ck_assert_int_eq(chubby_sequencer(h, text, NULL), 0);
    ck_assert_int_eq(chubby_check_sequencer(b.chubby, slice_str(text), NULL),
                     0);
    ck_assert_int_eq(
        chubby_check_sequencer(b.chubby, SLICE_LIT("x:1:nonsense"), NULL),
        ERR_INVALID);
    ck_assert_int_eq(chubby_try_acquire(g, CHUBBY_EXCLUSIVE, NULL), ERR_BUSY);
    ck_assert_int_eq(chubby_try_acquire(g, CHUBBY_SHARED, NULL), ERR_BUSY);
    w = (struct suite_waiter){.handle = g, .mode = CHUBBY_EXCLUSIVE};
    f = fiber_start(loop_self(), "waiter", suite_acquire_fiber, &w);
    world_sleep_us(s->world, 300000);
    ck_assert(!w.done);
    ck_assert_int_eq(chubby_release(h, NULL), 0);
    fiber_join(f);
    ck_assert_int_eq(w.rc, 0);
    ck_assert_int_eq(chubby_check_sequencer(a.chubby, slice_str(text), NULL),
                     ERR_ABORTED);
    ck_assert_int_eq(chubby_sequencer(g, later, NULL), 0);
    ck_assert_str_ne(text, later);
    ck_assert_uint_eq(suite_stat(g).lock_generation, 2);
    chubby_close(g); /* Which frees it. */
    ck_assert_int_eq(chubby_check_sequencer(a.chubby, slice_str(later), NULL),
                     ERR_ABORTED);
    ck_assert_int_eq(chubby_try_acquire(h, CHUBBY_SHARED, NULL), 0);
    g = suite_open(&b, "l", LOCK_RW, 0);
    ck_assert_int_eq(chubby_acquire(g, CHUBBY_SHARED, NULL), 0);
    ck_assert_int_eq(chubby_release(h, NULL), 0);
    ck_assert_int_eq(chubby_try_acquire(h, CHUBBY_EXCLUSIVE, NULL), ERR_BUSY);
    ck_assert_int_eq(chubby_release(g, NULL), 0);
    ck_assert_int_eq(chubby_try_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    chubby_close(h);
    chubby_close(g);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* A waiter may give up, and the lock is not its. */
static UNUSED void suite_cancel(struct lock_suite *s)
{
    struct suite_client a;
    struct suite_client b;
    struct suite_waiter w;
    struct chubby_handle *h;
    struct chubby_handle *g;
    struct fiber *f;
    suite_join(&a, s);
    suite_join(&b, s);
    h = suite_open(&a, "l", LOCK_MAKE, 0);
    g = suite_open(&b, "l", LOCK_RW, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    w = (struct suite_waiter){.handle = g, .mode = CHUBBY_EXCLUSIVE};
    f = fiber_start(loop_self(), "waiter", suite_acquire_fiber, &w);
    world_sleep_us(s->world, 200000);
    fiber_cancel(f);
    fiber_join(f);
    ck_assert_int_eq(w.rc, ERR_CANCELLED);
    chubby_close(g);
    ck_assert_int_eq(chubby_release(h, NULL), 0);
    ck_assert_int_eq(chubby_try_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    chubby_close(h);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* --- events -------------------------------------------------------------- */

/* Handles receive the events that they asked for. */
static UNUSED void suite_events(struct lock_suite *s)
{
    struct suite_client a;
    struct suite_client b;
    struct chubby_handle *d;
    struct chubby_handle *h;
    struct chubby_handle *g;
    suite_join(&a, s);
    suite_join(&b, s);
    d = suite_open(&a, "", CHUBBY_READ, CHUBBY_EVENT_CHILDREN);
    h = suite_open(&b, "f", LOCK_MAKE, CHUBBY_EVENT_CONFLICT);
    suite_await(&a, CHUBBY_EVENT_CHILDREN);
    ck_assert_ptr_eq(a.about, d);
    g = suite_open(&a, "f", LOCK_RW, CHUBBY_EVENT_CONTENT);
    a.events = 0;
    suite_write(h, "x");
    suite_await(&a, CHUBBY_EVENT_CONTENT | CHUBBY_EVENT_CHILDREN);
    suite_await(&a, CHUBBY_EVENT_CONTENT);
    a.events = 0;
    suite_write(h, "y");
    suite_await(&a, CHUBBY_EVENT_CONTENT);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_try_acquire(g, CHUBBY_EXCLUSIVE, NULL), ERR_BUSY);
    suite_await(&b, CHUBBY_EVENT_CONFLICT);
    ck_assert_ptr_eq(b.about, h);
    a.events = 0;
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    suite_await(&a, CHUBBY_EVENT_INVALID);
    chubby_close(d);
    chubby_close(h);
    chubby_close(g);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* --- caches -------------------------------------------------------------- */

static UNUSED void suite_fill_cache(struct chubby_handle *h, const char *text)
{
    for (int i = 0; i < 50 && !chubby_is_cached(h); i++)
        suite_read(h, text);
    ck_assert(chubby_is_cached(h));
    suite_read(h, text);
}

/* Once a write has been acknowledged, no cache has what was before it. */
static UNUSED void suite_caches(struct lock_suite *s)
{
    struct suite_client readers[3];
    struct suite_client w;
    struct chubby_handle *r[3];
    struct chubby_handle *h;
    char text[16];
    suite_join(&w, s);
    h = suite_open(&w, "c", LOCK_MAKE, 0);
    suite_write(h, "0");
    for (int i = 0; i < 3; i++) {
        suite_join(&readers[i], s);
        r[i] = suite_open(&readers[i], "c", CHUBBY_READ, 0);
        suite_fill_cache(r[i], "0");
    }
    for (int k = 1; k < 6; k++) {
        snprintf(text, sizeof(text), "%d", k);
        suite_write(h, text);
        for (int i = 0; i < 3; i++) {
            ck_assert(!chubby_is_cached(r[i]));
            suite_fill_cache(r[i], text);
        }
    }
    suite_fill_cache(h, text);
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    for (int i = 0; i < 3; i++) {
        struct buf b = BUF_INIT;
        ck_assert(!chubby_is_cached(r[i]));
        ck_assert_int_eq(chubby_read(r[i], &b, NULL, NULL), ERR_NOTFOUND);
        buf_close(&b);
        chubby_close(r[i]);
        chubby_disconnect(readers[i].chubby);
    }
    chubby_close(h);
    chubby_disconnect(w.chubby);
}

/* --- the whole service --------------------------------------------------- */

/* Sessions and holders are found by who asks. */
static UNUSED void suite_surveys(struct lock_suite *s)
{
    struct chubby_session_list sessions;
    struct chubby_entry_list entries;
    struct suite_client a;
    struct chubby_handle *h;
    struct chubby_handle *g;
    struct arena arena;
    bool found = false;
    suite_join(&a, s);
    h = suite_open(&a, "l", LOCK_MAKE, 0);
    g = suite_open(&a, "m", LOCK_MAKE, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    arena_init(&arena);
    ck_assert_int_eq(
        chubby_list_sessions(a.chubby, 0, 0, &arena, &sessions, NULL), 0);
    for (size_t i = 0; i < sessions.count; i++)
        for (size_t j = 0; j < sessions.at[i].lock_count; j++)
            found |= slice_eq_str(sessions.at[i].locks[j], suite_path(s, "l"));
    ck_assert(found);
    ck_assert_int_eq(
        chubby_list_entries(a.chubby, s->root, "", 0, &arena, &entries, NULL),
        0);
    ck_assert_uint_eq(entries.count, 2);
    ck_assert(slice_eq_str(entries.at[0].name, "l"));
    ck_assert_int_eq(entries.at[0].mode, CHUBBY_EXCLUSIVE);
    ck_assert_uint_eq(entries.at[0].holder_count, 1);
    ck_assert_int_eq(entries.at[1].mode, CHUBBY_FREE);
    ck_assert_int_eq(
        chubby_list_entries(a.chubby, s->root, "l", 1, &arena, &entries, NULL),
        0);
    ck_assert_uint_eq(entries.count, 1);
    ck_assert(slice_eq_str(entries.at[0].name, "m"));
    arena_close(&arena);
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    ck_assert_int_eq(chubby_delete(g, NULL), 0);
    chubby_close(h);
    chubby_close(g);
    chubby_disconnect(a.chubby);
}

/* A service that others run refuses, with a reason, what it cannot do. */
static UNUSED void suite_lists(struct lock_suite *s)
{
    const struct chubby_open_options o = {.acl_read = "staff"};
    struct suite_client a;
    struct chubby_handle *h;
    int expected = s->has_lists ? 0 : ERR_UNSUPPORTED;
    suite_join(&a, s);
    h = suite_open(&a, "f", LOCK_MAKE | CHUBBY_CHANGE_ACL, 0);
    ck_assert_int_eq(chubby_set_acl(h, "", "", "", NULL), expected);
    if (!s->has_lists) {
        struct chubby_handle *g;
        ck_assert_int_eq(
            chubby_open(a.chubby, suite_path(s, "g"), LOCK_MAKE, &o, &g, NULL),
            ERR_UNSUPPORTED);
        ck_assert_int_eq(
            suite_try_open(&a, "d",
                           LOCK_MAKE | CHUBBY_DIRECTORY | CHUBBY_EPHEMERAL),
            ERR_UNSUPPORTED);
    }
    ck_assert_int_eq(chubby_delete(h, NULL), 0);
    chubby_close(h);
    chubby_disconnect(a.chubby);
}

static UNUSED void lock_suite_begin(struct lock_suite *s)
{
    struct suite_client a;
    suite_join(&a, s);
    chubby_close(suite_open(&a, "", LOCK_MAKE | CHUBBY_DIRECTORY, 0));
    chubby_disconnect(a.chubby);
}

static UNUSED void lock_suite_all(struct lock_suite *s)
{
    lock_suite_begin(s);
    suite_files(s);
    suite_sizes(s);
    suite_directories(s);
    suite_ephemeral(s);
    suite_locks(s);
    suite_cancel(s);
    suite_events(s);
    suite_caches(s);
    suite_surveys(s);
    suite_lists(s);
}

/* --- a storm ------------------------------------------------------------- */

enum {
    STORM_FILES = 2,
    STORM_LOCKS = 2,
    STORM_DOUBTS_MAX = 64,
    STORM_PATH_BYTES = 120
};

/* Files and locks are others after this time: their histories stay short enough
 * to be judged. */
#define STORM_AGE_NS UINT64_C(1000000000)

struct suite_storm {
    struct lock_suite *suite;
    struct history_lock *history;
    uint64_t begun_ns;
    uint64_t until_ns;
    uint64_t numbers;  /* Of sessions in the history. */
    uint64_t contents; /* The last that was written. */
    uint64_t calls;
    uint64_t held;
    uint64_t expired;
};

/* One session of a client of the storm. */
struct storm_session {
    struct suite_storm *storm;
    struct rand_gen *rand;
    struct chubby *chubby;
    uint64_t number;
    uint64_t holder[STORM_LOCKS];
    uint64_t safe_us; /* When it surely held what it held. */
    bool expired;

    struct {
        uint64_t holder;
        char path[STORM_PATH_BYTES];
    } doubts[STORM_DOUBTS_MAX];

    size_t doubt_count;
};

static UNUSED uint64_t storm_us(const struct suite_storm *s)
{
    return world_mono_ns(s->suite->world) / 1000;
}

/* The path of a file ('f') or a lock ('l') now. */
static UNUSED void
storm_path(const struct suite_storm *s, char kind, size_t number, char *path)
{
    uint64_t age_ns = world_mono_ns(s->suite->world) - s->begun_ns;
    int len = snprintf(path, STORM_PATH_BYTES, "%s/%c%zu-%" PRIu64,
                       s->suite->root, kind, number, age_ns / STORM_AGE_NS);
    PRE(len > 0 && len < STORM_PATH_BYTES);
}

static UNUSED bool storm_lives(struct storm_session *x)
{
    struct suite_storm *s = x->storm;
    if (x->expired || world_mono_ns(s->suite->world) >= s->until_ns)
        return false;
    if (chubby_is_safe(x->chubby))
        x->safe_us = storm_us(s);
    return true;
}

static UNUSED size_t storm_call(struct storm_session *x,
                                uint64_t number,
                                enum lock_kind kind,
                                const char *path,
                                const struct lock_input *input)
{
    struct suite_storm *s = x->storm;
    (void)fiber_set_deadline(world_mono_ns(s->suite->world) +
                             8 * LOCK_SUITE_SECOND * 1000);
    s->calls++;
    return history_lock_call(s->history, storm_us(s), number, kind, path,
                             input);
}

static UNUSED int storm_return(struct storm_session *x,
                               size_t op,
                               int rc,
                               const struct lock_answer *answer)
{
    struct suite_storm *s = x->storm;
    (void)fiber_set_deadline(0);
    history_lock_return(s->history, op, storm_us(s), rc, answer);
    return rc;
}

static UNUSED uint64_t storm_number(const struct buf *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->len; i++)
        n = n * 10 + (uint64_t)(b->data[i] - '0');
    return n;
}

/* One call on a file that is open; *@instance and *@generation: as last seen.
 */
static UNUSED int storm_step(struct storm_session *x,
                             struct chubby_handle *h,
                             uint64_t *instance,
                             uint64_t *generation,
                             bool look)
{
    struct suite_storm *s = x->storm;
    uint64_t draw = look ? 0 : rand_below(x->rand, 10);
    struct lock_input input = {.instance = *instance};
    struct chubby_stat st = {.instance = 0};
    struct buf b = BUF_INIT;
    char text[24];
    size_t op;
    int rc;
    if (draw < 1) {
        op = storm_call(x, x->number, LOCK_STAT, chubby_path(h), &input);
        rc = chubby_get_stat(h, &st, NULL);
        storm_return(
            x, op, rc,
            &(struct lock_answer){.instance = st.instance,
                                  .generation = st.content_generation});
    } else if (draw < 6) {
        /* With its state, or from the cache. */
        bool cached = rand_one_in(x->rand, 2);
        op = storm_call(x, x->number, LOCK_READ, chubby_path(h), &input);
        rc = chubby_read(h, &b, cached ? NULL : &st, NULL);
        if (cached)
            st.content_generation = LOCK_GENERATION_UNKNOWN;
        storm_return(x, op, rc,
                     &(struct lock_answer){.instance = st.instance,
                                           .generation = st.content_generation,
                                           .contents = storm_number(&b)});
    } else if (draw < 9) {
        input.contents = ++s->contents;
        input.generation = rand_one_in(x->rand, 3) ? *generation : 0;
        snprintf(text, sizeof(text), "%" PRIu64, input.contents);
        op = storm_call(x, x->number, LOCK_WRITE, chubby_path(h), &input);
        rc = storm_return(
            x, op, chubby_write(h, slice_str(text), input.generation, NULL),
            NULL);
    } else {
        op = storm_call(x, x->number, LOCK_DELETE, chubby_path(h), &input);
        rc = storm_return(x, op, chubby_delete(h, NULL), NULL);
    }
    if (rc == 0 && st.instance) {
        *instance = st.instance;
        *generation = st.content_generation;
    }
    buf_close(&b);
    return rc == ERR_ABORTED ? 0 : rc;
}

static UNUSED void storm_file(struct storm_session *x)
{
    static const enum lock_kind kinds[] = {LOCK_OPEN, LOCK_CREATE,
                                           LOCK_CREATE_NEW};

    static const unsigned flags[] = {LOCK_RW, LOCK_MAKE,
                                     LOCK_MAKE | CHUBBY_NEW};
    struct suite_storm *s = x->storm;
    size_t how = rand_below(x->rand, 3);
    uint64_t steps = 2 + rand_below(x->rand, 8);
    uint64_t instance = 0;
    uint64_t generation = 0;
    struct chubby_handle *h = NULL;
    struct lock_input input = {.contents = how ? ++s->contents : 0};
    struct chubby_open_options o = {.events = 0};
    char text[24];
    char path[STORM_PATH_BYTES];
    size_t op;
    int rc;
    snprintf(text, sizeof(text), "%" PRIu64, input.contents);
    if (how)
        o.contents = slice_str(text);
    storm_path(s, 'f', rand_below(x->rand, STORM_FILES), path);
    op = storm_call(x, x->number, kinds[how], path, &input);
    rc = storm_return(
        x, op, chubby_open(x->chubby, path, flags[how], &o, &h, NULL), NULL);
    if (rc)
        return;
    rc = storm_step(x, h, &instance, &generation, true);
    while (rc == 0 && steps-- && storm_lives(x))
        rc = storm_step(x, h, &instance, &generation, false);
    chubby_close(h);
}

/* Closing frees the lock, perhaps; nobody says when. */
static UNUSED void
storm_doubt(struct storm_session *x, size_t lock, const char *path)
{
    struct suite_storm *s = x->storm;
    (void)storm_call(x, x->holder[lock], LOCK_RELEASE, path, NULL);
    (void)fiber_set_deadline(0);
    if (x->doubt_count == STORM_DOUBTS_MAX) {
        x->expired = true;
        return;
    }
    x->doubts[x->doubt_count].holder = x->holder[lock];
    snprintf(x->doubts[x->doubt_count++].path, STORM_PATH_BYTES, "%s", path);
    x->holder[lock] = ++s->numbers;
}

static UNUSED void storm_check_sequencer(struct storm_session *x,
                                         const char *sequencer,
                                         bool shared,
                                         uint64_t generation,
                                         const char *path)
{
    struct suite_storm *s = x->storm;
    struct lock_input input = {.generation = generation, .shared = shared};
    size_t op = storm_call(x, ++s->numbers, LOCK_CHECK, path, &input);
    storm_return(x, op,
                 chubby_check_sequencer(x->chubby, slice_str(sequencer), NULL),
                 NULL);
}

static UNUSED void storm_lock(struct storm_session *x)
{
    struct suite_storm *s = x->storm;
    size_t lock = rand_below(x->rand, STORM_LOCKS);
    bool shared = rand_one_in(x->rand, 4);
    enum chubby_lock mode = shared ? CHUBBY_SHARED : CHUBBY_EXCLUSIVE;
    struct chubby_open_options o = {.lock_delay_ms = 200};
    struct lock_answer answer = {.generation = 0};
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX] = "";
    struct chubby_handle *h = NULL;
    char path[STORM_PATH_BYTES];
    bool in_doubt = true;
    size_t op;
    int rc;
    storm_path(s, 'l', lock, path);
    (void)fiber_set_deadline(world_mono_ns(s->suite->world) +
                             8 * LOCK_SUITE_SECOND * 1000);
    rc = chubby_open(x->chubby, path, LOCK_MAKE, &o, &h, NULL);
    (void)fiber_set_deadline(0);
    if (rc)
        return;
    op = storm_call(x, x->holder[lock],
                    shared ? LOCK_ACQUIRE_SHARED : LOCK_ACQUIRE, path, NULL);
    rc = rand_one_in(x->rand, 2) ? chubby_acquire(h, mode, NULL)
                                 : chubby_try_acquire(h, mode, NULL);
    storm_return(x, op, rc, NULL);
    if (rc == ERR_BUSY)
        in_doubt = false;
    if (rc == 0) {
        s->held++;
        op = storm_call(x, x->holder[lock], LOCK_SEQUENCER, path, NULL);
        rc = chubby_sequencer(h, sequencer, NULL);
        if (rc == 0)
            sscanf(sequencer + 2, "%" SCNu64, &answer.generation);
        storm_return(x, op, rc, &answer);
        world_sleep_us(s->suite->world, rand_below(x->rand, 60000));
        if (rc == 0 && storm_lives(x))
            storm_check_sequencer(x, sequencer, shared, answer.generation,
                                  path);
        if (storm_lives(x)) {
            op = storm_call(x, x->holder[lock], LOCK_RELEASE, path, NULL);
            if (storm_return(x, op, chubby_release(h, NULL), NULL) == 0)
                in_doubt = false;
        }
        if (rc == 0 && storm_lives(x)) /* Too late. */
            storm_check_sequencer(x, sequencer, shared, answer.generation,
                                  path);
    }
    if (in_doubt)
        storm_doubt(x, lock, path);
    chubby_close(h);
}

static UNUSED void
storm_event(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    struct storm_session *x = ctx;
    (void)h;
    x->expired |= e == CHUBBY_EVENT_EXPIRED;
}

static UNUSED void storm_session_run(struct suite_storm *s, struct rand_gen *r)
{
    struct storm_session x = {
        .storm = s, .rand = r, .number = ++s->numbers, .safe_us = storm_us(s)};
    struct chubby_options o = {.lease_ms = 2000,
                               .grace_ms = 10000,
                               .on_event = storm_event,
                               .ctx = &x};
    for (size_t i = 0; i < STORM_LOCKS; i++)
        x.holder[i] = x.number;
    if (s->suite->connect(s->suite->ctx, &o, &x.chubby, NULL)) {
        world_sleep_us(s->suite->world, 100000);
        return;
    }
    while (storm_lives(&x)) {
        if (rand_one_in(r, 2))
            storm_file(&x);
        else
            storm_lock(&x);
        world_sleep_us(s->suite->world, rand_below(r, 20000));
    }
    s->expired += x.expired;
    for (size_t i = 0; i < x.doubt_count; i++)
        (void)history_lock_call(s->history, x.safe_us, x.doubts[i].holder,
                                LOCK_EXPIRE, x.doubts[i].path, NULL);
    chubby_disconnect(x.chubby);
}

struct storm_client_arg {
    struct suite_storm *storm;
    uint64_t seed;
};

static UNUSED void storm_client_run(void *arg)
{
    const struct storm_client_arg *a = arg;
    struct suite_storm *s = a->storm;
    struct rand_gen r;
    rand_init(&r, a->seed);
    while (world_mono_ns(s->suite->world) < s->until_ns)
        storm_session_run(s, &r);
}

/* The calls of @clients on files and locks for @us have an order, whatever
 * befalls the service meanwhile. Returns how many sessions expired. */
static UNUSED uint64_t lock_suite_storm(struct lock_suite *s,
                                        size_t clients,
                                        uint64_t us,
                                        uint64_t seed)
{
    struct suite_storm storm = {.suite = s,
                                .history = history_lock_new(),
                                .begun_ns = world_mono_ns(s->world),
                                .until_ns =
                                    world_mono_ns(s->world) + us * 1000};
    struct storm_client_arg args[32];
    struct fiber *fibers[32];
    struct buf why = BUF_INIT;
    enum history_verdict v;
    PRE(clients <= 32);
    lock_suite_begin(s);
    for (size_t i = 0; i < clients; i++) {
        args[i] = (struct storm_client_arg){&storm, seed * 100 + i};
        fibers[i] =
            fiber_start(loop_self(), "storm", storm_client_run, &args[i]);
    }
    for (size_t i = 0; i < clients; i++)
        fiber_join(fibers[i]);
    v = history_lock_check(storm.history, 0, &why);
    if (v == HISTORY_WRONG)
        fprintf(stderr, "%s\n", buf_cstr(&why));
    ck_assert_msg(v != HISTORY_WRONG, "seed %" PRIu64, seed);
    printf("storm: %" PRIu64 " calls, %" PRIu64 " locks held, %" PRIu64
           " sessions expired%s\n",
           storm.calls, storm.held, storm.expired,
           v == HISTORY_TOO_HARD ? " (too hard to judge)" : "");
    ck_assert_uint_gt(storm.held, 0);
    buf_close(&why);
    history_lock_free(storm.history);
    return storm.expired;
}

#endif /* TESTS_LIB_LOCK_SUITE_H */
