/* A process that ends while it looks for the leader of the lock service is told
 * so: whenever connecting is cancelled, it fails, and the error says as what.
 */
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "chubby-lite/chubby.h"
#include "tests/lib/check_main.h"

enum {
    TRIES = 60
};

struct connecting {
    struct world *world;
    struct chubby *session;
    int rc;
    struct err err;
};

static void connect_to_nobody(void *arg)
{
    static const char *const servers[] = {"a:1", "b:1", "c:1"};
    struct connecting *c = arg;
    const struct chubby_options o = {.servers = servers, .server_count = 3};
    c->rc = chubby_connect(c->world, &o, &c->session, &c->err);
}

static void cancel_them(void *arg)
{
    struct world *w = arg;
    struct rand_gen rand;
    rand_init(&rand, test_seed());
    for (size_t i = 0; i < TRIES; i++) {
        struct connecting c = {.world = w};
        struct fiber *f =
            fiber_start(loop_self(), "connecting", connect_to_nobody, &c);
        world_sleep_us(w, rand_below(&rand, 2000000));
        fiber_cancel(f);
        fiber_join(f);
        ck_assert_int_ne(c.rc, 0);
        ck_assert_int_eq(c.rc, c.err.code);
        ck_assert_ptr_null(c.session);
    }
}

START_TEST(test_cancelled_at_any_time)
{
    struct world *w = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(w, cancel_them, w);
    world_free(w);
}

END_TEST

TEST_MAIN("connect", test_cancelled_at_any_time)
