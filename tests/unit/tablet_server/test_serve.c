/* Tablet servers load, serve, split and unload tablets as the master orders,
 * and what they acknowledged is found wherever a tablet goes. */
#include "tests/unit/tablet_server/fixture.h"

static void run(task_fn scenario)
{
    start_cluster(1);
    server_options.rows = fake_metadata();
    sim_cluster_run(cluster, scenario, NULL);
    forget_rows();
    free_cluster();
}

/* --- Tests ------------------------------------------------------------------
 */

/* The root tablet, whose record is a file of the lock service, is served, and
 * another server that loads it after it was unloaded finds all its rows. */
static void root_moves(void *arg)
{
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    (void)arg;
    begin();
    boot(a);
    boot(b);
    write_root(a, 1);
    OK(order(a, TABLET_LOAD, ROOT_TABLET, 1, SLICE_EMPTY, SLICE_EMPTY, err));
    OK(put(a, ROOT_TABLET, "x", "1", err));
    OK(put(a, ROOT_TABLET, "y", "2", err));
    expect_rows(a, ROOT_TABLET, "x=1 y=2 ");
    OK(order(a, TABLET_UNLOAD, ROOT_TABLET, 1, SLICE_EMPTY, SLICE_EMPTY, err));
    ck_assert_int_eq(put(a, ROOT_TABLET, "z", "3", NULL), ERR_NOTFOUND);
    move_root(b, 2);
    OK(order(b, TABLET_LOAD, ROOT_TABLET, 2, SLICE_EMPTY, SLICE_EMPTY, err));
    expect_rows(b, ROOT_TABLET, "x=1 y=2 ");
    OK(put(b, ROOT_TABLET, "x", "3", err));
    expect_rows(b, ROOT_TABLET, "x=3 y=2 ");
    end();
}

START_TEST(test_root_moves)
{
    run(root_moves);
}

END_TEST

TEST_MAIN("tablet_server serve", test_root_moves)
