/* The machine of the lock service does what chubby.h promises of nodes, locks,
 * sessions, events and lists, one command at a time. */
#include "tests/lib/check_main.h"
#include "tests/unit/chubby-lite/driver.h"

enum {
    WRITE = CHUBBY_READ | CHUBBY_WRITE,
    MAKE = WRITE | CHUBBY_CREATE
};

/* Events of handle number i % 64, as bits. */
static unsigned seen_events[64];

static void note(void *ctx, const struct handle *h, enum chubby_event event)
{
    (void)ctx;
    seen_events[h->id % 64] |= (unsigned)event;
}

static unsigned taken(uint64_t handle)
{
    unsigned events = seen_events[handle % 64];

    seen_events[handle % 64] = 0;
    return events;
}

static struct cell *fresh(void)
{
    struct cell *c = cell_new(note, NULL);

    memset(seen_events, 0, sizeof(seen_events));
    ck_assert_int_eq(begin(c, 1, "ann"), 0);
    ck_assert_int_eq(begin(c, 2, "bob"), 0);
    return c;
}

/* A path that is none is refused, and says why. */
START_TEST(test_paths)
{
    static const char *const bad[] = {"",   "a",     "/a/",  "//",    "/a//b",
                                      "/.", "/a/..", "/a\n", "/\xff", "/a\x7f"};
    char deep[3 * CHUBBY_DEPTH_MAX];
    struct cell *c = fresh();
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(open_node(c, 1, bad[i], MAKE, 0).code, ERR_INVALID);
    for (i = 0; i <= CHUBBY_DEPTH_MAX; i++)
        memcpy(deep + 2 * i, "/d", 3);
    ck_assert_int_eq(open_node(c, 1, deep, MAKE, 0).code, ERR_INVALID);
    deep[2 * CHUBBY_DEPTH_MAX] = '\0';
    ck_assert_int_eq(open_node(c, 1, deep, MAKE, 0).code, ERR_NOTFOUND);
    cell_free(c);
}

END_TEST

/* Nodes are made, opened, written and deleted; instances only grow. */
START_TEST(test_nodes)
{
    struct cell *c = fresh();
    struct chubby_answer a;
    uint64_t instance;
    uint64_t h;

    ck_assert_int_eq(open_node(c, 1, "/f", WRITE, 0).code, ERR_NOTFOUND);
    a = open_node(c, 1, "/f", MAKE, 0);
    ck_assert(a.code == 0 && a.created && !a.stat.is_directory);
    instance = a.stat.instance;
    h = a.handle;
    ck_assert_int_eq(open_node(c, 1, "/f", MAKE | CHUBBY_NEW, 0).code,
                     ERR_EXISTS);
    ck_assert_int_eq(open_node(c, 1, "/f", WRITE | CHUBBY_DIRECTORY, 0).code,
                     ERR_INVALID);
    ck_assert_int_eq(open_node(c, 1, "/f/g", MAKE, 0).code, ERR_INVALID);
    a = put(c, 1, h, "words");
    ck_assert(a.code == 0 && a.stat.content_generation == 1 &&
              a.stat.contents_bytes == 5);
    a = run(c, (struct chubby_command){.operation = CHUBBY_OP_WRITE,
                                       .session = 1,
                                       .handle = h,
                                       .has_generation = true,
                                       .generation = 7});
    ck_assert_int_eq(a.code, ERR_ABORTED);
    ck_assert_int_eq(put(c, 2, h, "").code, ERR_INVALID); /* Another's. */
    ck_assert_int_eq(on(c, CHUBBY_OP_DELETE, 1, h).code, 0);
    ck_assert_int_eq(put(c, 1, h, "").code, ERR_NOTFOUND);
    ck_assert_int_eq(on(c, CHUBBY_OP_CLOSE, 1, h).code, 0);
    a = open_node(c, 1, "/f", MAKE, 0);
    ck_assert_uint_gt(a.stat.instance, instance);
    cell_free(c);
}

END_TEST

/* A directory with children stays, and so do "/" and "/acl". */
START_TEST(test_delete)
{
    struct cell *c = fresh();
    uint64_t d = open_node(c, 1, "/d", MAKE | CHUBBY_DIRECTORY, 0).handle;
    uint64_t f = open_node(c, 1, "/d/f", MAKE, 0).handle;
    uint64_t root = open_node(c, 1, "/", WRITE, 0).handle;
    uint64_t acl = open_node(c, 1, "/acl", WRITE, 0).handle;

    ck_assert_int_eq(on(c, CHUBBY_OP_DELETE, 1, d).code, ERR_BUSY);
    ck_assert_int_eq(on(c, CHUBBY_OP_DELETE, 1, f).code, 0);
    ck_assert_int_eq(on(c, CHUBBY_OP_DELETE, 1, d).code, 0);
    ck_assert_int_eq(on(c, CHUBBY_OP_DELETE, 1, acl).code, ERR_INVALID);
    ck_assert_int_eq(on(c, CHUBBY_OP_DELETE, 1, root).code, ERR_INVALID);
    cell_free(c);
}

END_TEST

/* One exclusive holder or several shared ones; a new holder, a new generation.
 */
START_TEST(test_locks)
{
    struct cell *c = fresh();
    uint64_t a = open_node(c, 1, "/l", MAKE, 0).handle;
    uint64_t b = open_node(c, 2, "/l", WRITE, 0).handle;
    uint64_t r = open_node(c, 2, "/l", CHUBBY_READ, 0).handle;

    ck_assert_int_eq(acquire(c, 2, r, CHUBBY_SHARED, 0).code, ERR_DENIED);
    ck_assert_int_eq(acquire(c, 1, a, (enum chubby_lock)9, 0).code,
                     ERR_INVALID);
    ck_assert_uint_eq(
        acquire(c, 1, a, CHUBBY_EXCLUSIVE, 0).stat.lock_generation, 1);
    ck_assert_int_eq(acquire(c, 1, a, CHUBBY_EXCLUSIVE, 0).code, 0);
    ck_assert_int_eq(acquire(c, 1, a, CHUBBY_SHARED, 0).code, ERR_INVALID);
    ck_assert_int_eq(acquire(c, 2, b, CHUBBY_SHARED, 0).code, ERR_BUSY);
    ck_assert_int_eq(on(c, CHUBBY_OP_RELEASE, 2, b).code, ERR_INVALID);
    ck_assert_int_eq(on(c, CHUBBY_OP_RELEASE, 1, a).code, 0);
    ck_assert_uint_eq(acquire(c, 2, b, CHUBBY_SHARED, 0).stat.lock_generation,
                      2);
    ck_assert_uint_eq(acquire(c, 1, a, CHUBBY_SHARED, 0).stat.lock_generation,
                      2);
    ck_assert_int_eq(on(c, CHUBBY_OP_CLOSE, 1, a).code, 0);
    a = open_node(c, 1, "/l", WRITE, 0).handle;
    ck_assert_int_eq(acquire(c, 1, a, CHUBBY_EXCLUSIVE, 0).code, ERR_BUSY);
    ck_assert_int_eq(on(c, CHUBBY_OP_CLOSE, 2, b).code, 0);
    ck_assert_int_eq(acquire(c, 1, a, CHUBBY_EXCLUSIVE, 0).code, 0);
    cell_free(c);
}

END_TEST

/* A lock whose holder failed stays closed for its delay, and opens then; one
 * that was given back does not wait. */
START_TEST(test_lock_delay)
{
    struct cell *c = fresh();
    uint64_t a = open_node(c, 1, "/l", MAKE, 0).handle;
    uint64_t b = open_node(c, 2, "/l", WRITE, 0).handle;
    struct chubby_answer answer;

    ck_assert_int_eq(acquire(c, 1, a, CHUBBY_EXCLUSIVE, 500).code, 0);
    ck_assert_int_eq(expire(c, 1, 1000), 0);
    answer = acquire(c, 2, b, CHUBBY_SHARED, 2000);
    ck_assert_int_eq(answer.code, ERR_BUSY);
    ck_assert_uint_eq(answer.retry_us, 1001000);
    /* An older time does not turn the cell's back, nor a smaller one matter. */
    ck_assert_int_eq(acquire(c, 2, b, CHUBBY_SHARED, 10).code, ERR_BUSY);
    ck_assert_int_eq(acquire(c, 2, b, CHUBBY_SHARED, 1000999).code, ERR_BUSY);
    ck_assert_int_eq(acquire(c, 2, b, CHUBBY_SHARED, 1001000).code, 0);
    ck_assert_int_eq(on(c, CHUBBY_OP_RELEASE, 2, b).code, 0);
    ck_assert_int_eq(acquire(c, 2, b, CHUBBY_EXCLUSIVE, 0).code, 0);
    cell_free(c);
}

END_TEST

/* A sequencer holds as long as its lock, and for no other. */
START_TEST(test_sequencers)
{
    static const char *const none[] = {"",        "x",        "x:1",
                                       "x:1:1",   "y:1:3:/l", "x:a:3:/l",
                                       "x:1:3:l", "x:-1:3:/l"};
    struct cell *c = fresh();
    uint64_t a = open_node(c, 1, "/l", MAKE, 0).handle;
    struct buf text = BUF_INIT;
    struct handle *h;
    size_t i;

    ck_assert_int_eq(cell_handle(c, 1, a, CHUBBY_WRITE, &h, NULL), 0);
    ck_assert_int_eq(cell_sequencer(h, &text, NULL), ERR_INVALID);
    ck_assert_int_eq(acquire(c, 1, a, CHUBBY_EXCLUSIVE, 0).code, 0);
    ck_assert_int_eq(cell_sequencer(h, &text, NULL), 0);
    ck_assert_str_eq(buf_cstr(&text), "x:1:3:/l");
    ck_assert_int_eq(cell_check_sequencer(c, buf_slice(&text), NULL), 0);
    ck_assert_int_eq(cell_check_sequencer(c, SLICE_LIT("s:1:3:/l"), NULL),
                     ERR_ABORTED);
    ck_assert_int_eq(cell_check_sequencer(c, SLICE_LIT("x:1:2:/l"), NULL),
                     ERR_ABORTED);
    for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        ck_assert_int_eq(cell_check_sequencer(c, slice_str(none[i]), NULL),
                         ERR_INVALID);
    ck_assert_int_eq(on(c, CHUBBY_OP_RELEASE, 1, a).code, 0);
    ck_assert_int_eq(cell_check_sequencer(c, buf_slice(&text), NULL),
                     ERR_ABORTED);
    ck_assert_int_eq(acquire(c, 1, a, CHUBBY_EXCLUSIVE, 0).code, 0);
    ck_assert_int_eq(cell_check_sequencer(c, buf_slice(&text), NULL),
                     ERR_ABORTED); /* The next generation. */
    buf_close(&text);
    cell_free(c);
}

END_TEST

/* An ephemeral file goes with its last handle, an ephemeral directory when it
 * is empty too. */
START_TEST(test_ephemeral)
{
    struct cell *c = fresh();
    unsigned dir = MAKE | CHUBBY_EPHEMERAL | CHUBBY_DIRECTORY;
    uint64_t d = open_node(c, 1, "/d", dir, 0).handle;
    uint64_t f = open_node(c, 1, "/d/f", MAKE | CHUBBY_EPHEMERAL, 0).handle;
    uint64_t g = open_node(c, 2, "/d/f", WRITE, 0).handle;

    ck_assert_int_eq(on(c, CHUBBY_OP_CLOSE, 1, d).code, 0);
    ck_assert_int_eq(on(c, CHUBBY_OP_CLOSE, 1, f).code, 0);
    ck_assert_int_eq(open_node(c, 1, "/d", WRITE, 0).code, 0);
    ck_assert_int_eq(expire(c, 1, 0), 0);
    ck_assert_ptr_nonnull(node_find(cell_root(c), SLICE_LIT("/d/f")));
    ck_assert_int_eq(on(c, CHUBBY_OP_CLOSE, 2, g).code, 0);
    ck_assert_ptr_null(node_find(cell_root(c), SLICE_LIT("/d")));
    cell_free(c);
}

END_TEST

/* A handle gets the events that it subscribed to, and no others. */
START_TEST(test_events)
{
    struct cell *c = fresh();
    unsigned all = 15;
    uint64_t d = open_node(c, 2, "/", CHUBBY_READ, all).handle;
    uint64_t a = open_node(c, 1, "/f", MAKE, all).handle;
    uint64_t b = open_node(c, 2, "/f", WRITE, 0).handle;

    ck_assert_uint_eq(taken(d), CHUBBY_EVENT_CHILDREN);
    put(c, 2, b, "x");
    ck_assert_uint_eq(taken(a), CHUBBY_EVENT_CONTENT);
    ck_assert_uint_eq(taken(b), 0);
    ck_assert_uint_eq(taken(d), CHUBBY_EVENT_CHILDREN);
    acquire(c, 1, a, CHUBBY_EXCLUSIVE, 0);
    ck_assert_uint_eq(taken(a), CHUBBY_EVENT_LOCKED);
    acquire(c, 2, b, CHUBBY_EXCLUSIVE, 0);
    ck_assert_uint_eq(taken(a), CHUBBY_EVENT_CONFLICT);
    on(c, CHUBBY_OP_DELETE, 2, b);
    ck_assert_uint_eq(taken(a), CHUBBY_EVENT_INVALID);
    ck_assert_uint_eq(taken(b), CHUBBY_EVENT_INVALID);
    ck_assert_uint_eq(taken(d), CHUBBY_EVENT_CHILDREN);
    cell_free(c);
}

END_TEST

/* A list lets in whom it names, a missing one nobody; handles keep their
 * rights. */
START_TEST(test_acl)
{
    struct cell *c = fresh();
    uint64_t list = open_node(c, 1, "/acl/team", MAKE, 0).handle;
    struct chubby_command make = {
        .operation = CHUBBY_OP_OPEN,
        .session = 1,
        .path = SLICE_LIT("/f"),
        .flags = MAKE,
        .has_acl = {false, true, true},
        .acl = {SLICE_EMPTY, SLICE_LIT("team"), SLICE_LIT("none")}};
    struct chubby_answer a = run(c, make);
    uint64_t h;

    ck_assert_int_eq(a.code, ERR_DENIED); /* Not in it herself. */
    ck_assert_ptr_null(node_find(cell_root(c), SLICE_LIT("/f")));
    ck_assert_int_eq(put(c, 1, list, "eve\n ann \n").code, 0);
    h = run(c, make).handle;
    ck_assert_int_eq(open_node(c, 2, "/f", CHUBBY_READ, 0).code, 0);
    a = open_node(c, 2, "/f", WRITE, 0);
    ck_assert_int_eq(a.code, ERR_DENIED);
    ck_assert(slice_eq_str(a.text, "\"bob\" is not in /acl/team"));
    ck_assert_int_eq(open_node(c, 1, "/f", CHUBBY_CHANGE_ACL, 0).code,
                     ERR_DENIED);
    ck_assert_int_eq(put(c, 1, list, "*").code, 0);
    ck_assert_int_eq(open_node(c, 2, "/f", WRITE, 0).code, 0);
    ck_assert_int_eq(put(c, 1, list, "").code, 0);
    ck_assert_int_eq(put(c, 1, h, "still").code, 0);
    cell_free(c);
}

END_TEST

/* A command that comes twice is executed once, and answered alike. */
START_TEST(test_twice)
{
    struct cell *c = fresh();
    struct chubby_command make = {.operation = CHUBBY_OP_OPEN,
                                  .session = 1,
                                  .sequence = 5,
                                  .path = SLICE_LIT("/f"),
                                  .flags = MAKE | CHUBBY_NEW};
    uint64_t h = run(c, make).handle;
    struct chubby_answer a = run(c, make);

    ck_assert(a.code == 0 && a.handle == h && a.created);
    make.session = 2;
    ck_assert_int_eq(run(c, make).code, ERR_EXISTS);
    make.session = 1;
    make.sequence = 6;
    make.acknowledged = 6;
    ck_assert_int_eq(run(c, make).code, ERR_EXISTS);
    make.sequence = 5;
    ck_assert_int_eq(run(c, make).code, ERR_INVALID);
    for (make.sequence = 7; make.sequence < 6 + SESSION_ANSWERS_MAX;
         make.sequence++)
        ck_assert_int_eq(run(c, make).code, ERR_EXISTS);
    ck_assert_int_eq(run(c, make).code, ERR_EXHAUSTED);
    make.acknowledged = make.sequence;
    ck_assert_int_eq(run(c, make).code, ERR_EXISTS);
    cell_free(c);
}

END_TEST

/* A session is its principal's; without one nothing goes. */
START_TEST(test_sessions)
{
    struct cell *c = fresh();

    ck_assert_int_eq(begin(c, 1, "ann"), 0);
    ck_assert_int_eq(begin(c, 1, "bob"), ERR_EXISTS);
    ck_assert_int_eq(open_node(c, 3, "/f", MAKE, 0).code, ERR_CLOSED);
    ck_assert_int_eq(expire(c, 2, 0), 0);
    ck_assert_int_eq(expire(c, 2, 0), ERR_CLOSED);
    cell_free(c);
}

END_TEST

TEST_MAIN("cell",
          test_paths,
          test_nodes,
          test_delete,
          test_locks,
          test_lock_delay,
          test_sequencers,
          test_ephemeral,
          test_events,
          test_acl,
          test_twice,
          test_sessions)
