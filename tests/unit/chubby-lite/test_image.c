/* The machine gives the same answers and the same state wherever the same
 * commands are executed, through images and without; locks are never held by
 * two; a damaged image changes nothing. */
#include <stdio.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"
#include "tests/unit/chubby-lite/driver.h"

enum {
    STEPS = 6000,
    SESSIONS = 5,
    HANDLES = 400
};

static struct slice random_path(struct rand_gen *r, char *text)
{
    int len = sprintf(text, "/%c", (char)('a' + rand_below(r, 4)));

    if (rand_one_in(r, 2))
        len += sprintf(text + len, "/%c", (char)('a' + rand_below(r, 3)));
    return slice_make(text, (size_t)len);
}

static void random_command(struct rand_gen *r,
                           uint64_t step,
                           char *path,
                           struct chubby_command *c)
{
    *c = (struct chubby_command){
        .operation = (enum chubby_operation)(1 + rand_below(r, 10)),
        .session = 1 + rand_below(r, SESSIONS),
        .sequence = rand_one_in(r, 2) ? 1 + step - rand_below(r, 3) : 0,
        .acknowledged = step > 50 ? step - 50 : 0,
        .now_us = step * 1000,
        .handle = 1 + rand_below(r, HANDLES),
        .path = random_path(r, path),
        .flags = (unsigned)rand_below(r, 128),
        .events = (unsigned)rand_below(r, 32),
        .lock_delay_ms = (uint32_t)rand_below(r, 20),
        .contents = slice_make("some contents", rand_below(r, 13)),
        .principal = SLICE_LIT("ann"),
    };
    /* Sessions end rarely, and acquire means a mode. */
    if ((c->operation == CHUBBY_OP_SESSION_CLOSE ||
         c->operation == CHUBBY_OP_SESSION_EXPIRE) &&
        !rand_one_in(r, 8))
        c->operation = CHUBBY_OP_OPEN;
    if (c->operation == CHUBBY_OP_ACQUIRE)
        c->flags = 1 + (unsigned)rand_below(r, 2);
}

/* Handle numbers grow: keep them within what random_command() draws by looking
 * up a live one instead. */
static uint64_t
live_handle(const struct cell *c, struct rand_gen *r, uint64_t session)
{
    const struct session *s = session_find(cell_sessions(c), session);
    struct handle **all;
    uint64_t id = 0;

    if (!s || s->handle_count == 0)
        return 0;
    all = handle_sorted(s);
    id = all[rand_below(r, s->handle_count)]->id;
    mem_free(all);
    return id;
}

static void check_locks(const struct node *n)
{
    unsigned shared = 0;
    unsigned exclusive = 0;
    const struct handle *h;
    size_t i;

    LIST_FOREACH(h, &n->handles, of_node) {
        shared += h->holding == CHUBBY_SHARED;
        exclusive += h->holding == CHUBBY_EXCLUSIVE;
    }
    ck_assert_uint_le(exclusive, 1);
    ck_assert(exclusive == 0 || shared == 0);
    ck_assert_uint_eq(n->holder_count, shared + exclusive);
    ck_assert_int_eq(n->mode == CHUBBY_FREE, n->holder_count == 0);
    for (i = 0; i < n->child_count; i++)
        check_locks(n->children[i]);
}

static void same_state(const struct cell *a, const struct cell *b)
{
    struct buf x = BUF_INIT;
    struct buf y = BUF_INIT;

    cell_save(a, &x);
    cell_save(b, &y);
    ck_assert(slice_eq(buf_slice(&x), buf_slice(&y)));
    buf_close(&x);
    buf_close(&y);
}

static void reload(struct cell *c)
{
    struct buf image = BUF_INIT;

    cell_save(c, &image);
    ck_assert_int_eq(cell_load(c, buf_slice(&image), NULL), 0);
    buf_close(&image);
}

/* One machine that runs on, and one that lives on through images. */
START_TEST(test_replicas)
{
    struct cell *a = cell_new(NULL, NULL);
    struct cell *b = cell_new(NULL, NULL);
    struct buf command = BUF_INIT;
    struct buf x = BUF_INIT;
    struct buf y = BUF_INIT;
    struct chubby_command c;
    struct rand_gen r;
    unsigned done = 0;
    char path[32];
    uint64_t step;

    rand_init(&r, test_seed());
    for (step = 1; step <= STEPS; step++) {
        random_command(&r, step, path, &c);
        if (!rand_one_in(&r, 20))
            c.handle = live_handle(a, &r, c.session);
        buf_clear(&command);
        buf_clear(&x);
        buf_clear(&y);
        chubby_command_put(&c, &command);
        cell_apply(a, buf_slice(&command), &x);
        if (rand_one_in(&r, 40))
            reload(b);
        cell_apply(b, buf_slice(&command), &y);
        ck_assert(slice_eq(buf_slice(&x), buf_slice(&y)));
        done += x.data[1] == 0;
        if (step % 100 == 0) {
            check_locks(cell_root(a));
            same_state(a, b);
        }
    }
    ck_assert_uint_gt(done, STEPS / 5);
    buf_close(&command);
    buf_close(&x);
    buf_close(&y);
    cell_free(a);
    cell_free(b);
}

END_TEST

/* Every prefix of an image is refused, every flipped byte refused or loaded,
 * and what is refused leaves the state as it was. */
START_TEST(test_damage)
{
    struct cell *c = cell_new(NULL, NULL);
    struct cell *other = cell_new(NULL, NULL);
    struct buf image = BUF_INIT;
    struct err err = ERR_INIT;
    size_t i;
    uint64_t h;

    begin(c, 1, "ann");
    h = open_node(c, 1, "/f", CHUBBY_WRITE | CHUBBY_CREATE, 3).handle;
    put(c, 1, h, "contents");
    acquire(c, 1, h, CHUBBY_EXCLUSIVE, 0);
    cell_save(c, &image);
    for (i = 1; i < image.len; i++)
        ck_assert_int_eq(
            cell_load(other, slice_sub(buf_slice(&image), 0, i), &err),
            ERR_CORRUPT);
    for (i = 0; i < image.len; i++) {
        int bit;
        for (bit = 0; bit < 8; bit++) {
            image.data[i] = (char)(image.data[i] ^ (1 << bit));
            if (cell_load(other, buf_slice(&image), NULL) == 0)
                check_locks(cell_root(other));
            image.data[i] = (char)(image.data[i] ^ (1 << bit));
        }
    }
    ck_assert_int_eq(cell_load(other, buf_slice(&image), NULL), 0);
    same_state(c, other);
    ck_assert_int_eq(cell_load(other, SLICE_LIT("\xff"), NULL), ERR_CORRUPT);
    same_state(c, other);
    buf_close(&image);
    cell_free(c);
    cell_free(other);
}

END_TEST

TEST_MAIN("image", test_replicas, test_damage)
