/* A writer of a file of the lock service waits for the lease of a client that
 * died with the file in its cache, and for none that reads it without one:
 * users of tables look up the master and the root tablet so, which others write
 * when servers have died.
 */
#include "tests/unit/tablet_server/fixture.h"

#define PATH     "/bigtable/master-of-a-test"
#define LEASE_MS 12000

static bool uncached;
static bool has_read;

/* A client on a machine of its own. */
static void read_and_stay(void *arg)
{
    struct node *n = arg;
    const struct chubby_options o = {.servers = lock_addresses,
                                     .server_count = 1,
                                     .security = security,
                                     .lease_ms = LEASE_MS};
    const struct chubby_open_options opts = {.events = CHUBBY_EVENT_CONTENT};
    unsigned flags = CHUBBY_READ | (uncached ? CHUBBY_UNCACHED : 0);
    struct chubby *session;
    struct chubby_handle *h;
    struct buf got = BUF_INIT;
    OK(chubby_connect(n->world, &o, &session, err));
    OK(chubby_open(session, PATH, flags, &opts, &h, err));
    OK(chubby_read(h, &got, NULL, err));
    buf_close(&got);
    has_read = true;
    while (fiber_check(NULL) == 0)
        world_sleep_us(n->world, SECOND);
    chubby_close(h);
    chubby_disconnect(session);
}

/* For how long a write waits when such a client was killed. */
static uint64_t write_after_death(struct node *n, bool off)
{
    struct chubby_handle *h;
    uint64_t from;
    uncached = off;
    has_read = false;
    sim_boot(n->world, read_and_stay, n);
    while (!has_read)
        world_sleep_us(director, 1000);
    sim_crash(n->world, SIM_CRASH_KILL);
    OK(chubby_open(master_session, PATH, CHUBBY_READ | CHUBBY_WRITE, NULL, &h,
                   err));
    from = world_mono_ns(director);
    OK(chubby_write(h, SLICE_LIT("another"), 0, err));
    chubby_close(h);
    return (world_mono_ns(director) - from) / 1000;
}

static void deaths(void *arg)
{
    struct chubby_handle *h;
    (void)arg;
    begin();
    OK(chubby_open(master_session, PATH,
                   CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, NULL, &h, err));
    chubby_close(h);
    ck_assert_uint_ge(write_after_death(&nodes[0], false), 5 * SECOND);
    ck_assert_uint_le(write_after_death(&nodes[1], true), SECOND);
    end();
}

START_TEST(test_deaths)
{
    start_cluster(test_seed());
    sim_cluster_run(cluster, deaths, NULL);
    free_cluster();
}

END_TEST

TEST_MAIN("tablet_server lock_waits", test_deaths)
