/* The lock service tells who may look which sessions there are, how long their
 * leases last, and who holds which lock; also after another server leads.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "chubby-lite/chubby.h"
#include "tests/lib/sim_lock_cell.h"

/* --- helpers ------------------------------------------------------------- */

static const struct chubby_entry_view *
find_entry(const struct chubby_entry_list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (slice_eq_str(l->at[i].name, name))
            return &l->at[i];
    ck_abort_msg("no entry %s", name);
}

/* The holder of the exclusive lock /d/@name, which is held. */
static uint64_t holder_of(struct client *c, const char *name, struct arena *a)
{
    struct chubby_entry_list l;
    const struct chubby_entry_view *e;

    ck_assert_int_eq(chubby_list_entries(c->chubby, "/d", "", 0, a, &l, NULL),
                     0);
    e = find_entry(&l, name);
    ck_assert_int_eq(e->mode, CHUBBY_EXCLUSIVE);
    ck_assert_uint_eq(e->holder_count, 1);
    ck_assert_uint_eq(e->named_count, 1);
    ck_assert(slice_eq_str(e->holders[0].principal, "ann"));
    return e->holders[0].session;
}

/* --- holders and sessions ------------------------------------------------ */

static void look_around(struct client *a, struct client *b, struct arena *arena)
{
    struct chubby_entry_list l;
    struct chubby_session_list s;
    const struct chubby_entry_view *e;
    uint64_t first;

    ck_assert_int_eq(
        chubby_list_entries(b->chubby, "/d", "", 0, arena, &l, NULL), 0);
    ck_assert_uint_eq(l.total, 3);
    ck_assert_uint_eq(l.count, 3);
    ck_assert(!l.more);
    e = find_entry(&l, "free");
    ck_assert_int_eq(e->mode, CHUBBY_FREE);
    ck_assert_uint_eq(e->holder_count, 0);
    ck_assert_uint_eq(e->handle_count, 1);
    ck_assert_uint_eq(e->stat.contents_bytes, 5);
    e = find_entry(&l, "shared");
    ck_assert_int_eq(e->mode, CHUBBY_SHARED);
    ck_assert_uint_eq(e->holder_count, 2);
    ck_assert_uint_ne(e->holders[0].session, e->holders[1].session);
    first = holder_of(b, "mine", arena);
    ck_assert_int_eq(chubby_list_sessions(a->chubby, 0, 0, arena, &s, NULL), 0);
    ck_assert_uint_eq(s.total, 2);
    ck_assert_uint_eq(s.count, 2);
    for (size_t i = 0; i < s.count; i++) {
        const struct chubby_session_view *v = &s.at[i];
        ck_assert(slice_eq_str(v->principal, "ann"));
        ck_assert_uint_eq(v->lease_ms, 4000);
        ck_assert_uint_gt(v->lease_left_us, SECOND);
        ck_assert_uint_le(v->lease_left_us, 4 * SECOND);
        ck_assert_uint_eq(v->held_count, v->id == first ? 2 : 1);
        ck_assert_uint_eq(v->lock_count, v->held_count);
        ck_assert_uint_eq(v->handle_count, v->id == first ? 3 : 1);
    }
}

/* One row at a time gives all of them. */
static void look_in_pages(struct client *c, struct arena *arena)
{
    static const char *const names[] = {"free", "mine", "shared"};
    struct chubby_entry_list l;
    struct chubby_session_list s;
    uint64_t last = 0;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ck_assert_int_eq(chubby_list_entries(c->chubby, "/d",
                                             i ? names[i - 1] : "", 1, arena,
                                             &l, NULL),
                         0);
        ck_assert_uint_eq(l.count, 1);
        ck_assert(slice_eq_str(l.at[0].name, names[i]));
        ck_assert_int_eq(l.more, i < 2);
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            chubby_list_sessions(c->chubby, last, 1, arena, &s, NULL), 0);
        ck_assert_uint_eq(s.count, 1);
        ck_assert_uint_gt(s.at[0].id, last);
        ck_assert_int_eq(s.more, i < 1);
        last = s.at[0].id;
    }
}

static void survey(void *arg)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct chubby_handle *h[5];
    struct chubby_entry_list l;
    struct arena arena;
    struct member *old;
    uint64_t before;

    (void)arg;
    boot_all();
    arena_init(&arena);
    join_cell(&a, w, 4000);
    join_cell(&b, w, 4000);
    h[0] =
        must_open(&a, "/d", CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, 0);
    chubby_close(h[0]);
    h[1] = must_open(&a, "/d/free", MAKE, 0);
    must_write(h[1], "hello");
    h[2] = must_open(&a, "/d/mine", MAKE, 0);
    h[3] = must_open(&a, "/d/shared", MAKE, 0);
    h[4] = must_open(&b, "/d/shared", MAKE, 0);
    ck_assert_int_eq(chubby_acquire(h[2], CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_acquire(h[3], CHUBBY_SHARED, NULL), 0);
    ck_assert_int_eq(chubby_acquire(h[4], CHUBBY_SHARED, NULL), 0);
    look_around(&a, &b, &arena);
    look_in_pages(&b, &arena);
    ck_assert_int_eq(
        chubby_list_entries(b.chubby, "/none", "", 0, &arena, &l, NULL),
        ERR_NOTFOUND);
    ck_assert_int_eq(
        chubby_list_entries(b.chubby, "/d/free", "", 0, &arena, &l, NULL),
        ERR_INVALID);
    ck_assert_int_eq(
        chubby_list_entries(b.chubby, "d", "", 0, &arena, &l, NULL),
        ERR_INVALID);
    /* Another leader knows the same. */
    before = holder_of(&b, "mine", &arena);
    old = leader();
    sim_crash(old->world, SIM_CRASH_KILL);
    sim_await_end(old->world);
    ck_assert_uint_eq(holder_of(&b, "mine", &arena), before);
    sim_boot_again(old->world);
    for (size_t i = 1; i < ARRAY_LEN(h); i++)
        chubby_close(h[i]);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    arena_close(&arena);
    stop_all();
}

START_TEST(test_survey)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, survey, NULL);
    finish();
}

END_TEST

/* --- rights -------------------------------------------------------------- */

static bool looks_allowed;

static bool ask_permission(void *ctx, struct slice principal)
{
    (void)ctx;
    ck_assert(slice_eq_str(principal, "ann"));
    return looks_allowed;
}

static void ask_without_right(void *arg)
{
    struct client c;
    struct chubby_entry_list l;
    struct chubby_session_list s;
    struct arena arena;
    struct err err = ERR_INIT;

    (void)arg;
    boot_all();
    arena_init(&arena);
    join_cell(&c, sim_director(cluster), 4000);
    ck_assert_int_eq(
        chubby_list_entries(c.chubby, "/", "", 0, &arena, &l, NULL),
        ERR_DENIED);
    ck_assert_int_eq(chubby_list_sessions(c.chubby, 0, 0, &arena, &s, &err),
                     ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.text, "ann may not see the sessions"));
    looks_allowed = true;
    ck_assert_int_eq(chubby_list_sessions(c.chubby, 0, 0, &arena, &s, NULL), 0);
    ck_assert_uint_eq(s.count, 1);
    chubby_disconnect(c.chubby);
    arena_close(&arena);
    stop_all();
}

/* Those who may not look are told so. */
START_TEST(test_rights)
{
    looks_allowed = false;
    may_look = ask_permission;
    start(test_seed(), 1);
    sim_cluster_run(cluster, ask_without_right, NULL);
    finish();
}

END_TEST

TEST_MAIN("lock_survey", test_survey, test_rights)
