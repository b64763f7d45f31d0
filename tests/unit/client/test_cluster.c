/* The C library against a cluster: what it does when tablets move, are split,
 * and answers are lost, and how many calls it takes. */
#include "tests/unit/client/fake_table.h"

/* --- Tests --------------------------------------------------------------- */

/* Written cells are read one by one, row by row and in a scan. */
START_TEST(test_write_and_read)
{
    struct quarry_row *row;
    begin(3);
    OK(set("r", "one"));
    expect_value("r", "one");
    expect_value("s", NULL);
    OK(quarry_read_row(table, SLICE_LIT("r"), NULL, &row, &err));
    ck_assert_uint_eq(row->cell_count, 1);
    ck_assert(slice_eq_str(row->cells[0].value, "one"));
    quarry_row_free(row);
    OK(quarry_read_row(table, SLICE_LIT("none"), NULL, &row, &err));
    ck_assert_ptr_null(row);
    fill(100);
    expect_value("r042", "042");
    end();
}

END_TEST

/* A client that knows nothing finds a tablet with three calls: of the lock
 * service, the root tablet, and one tablet of METADATA; neighbours come with
 * it, so that the next tablets cost none. */
START_TEST(test_cold_look_up_takes_three_calls)
{
    struct quarry_table *t;
    struct quarry *cold;
    struct buf value = BUF_INIT;
    uint64_t before;
    bool found;
    begin(3);
    fill(30);
    for (int i = 1; i < 30; i += 3) {
        char row[16];
        snprintf(row, sizeof(row), "r%03d", i);
        fake_split(fake, "t", slice_str(row));
    }
    OK(quarry_open(fake_target(fake), NULL, &cold, &err));
    OK(quarry_table_open(cold, "t", &t, &err));
    before = counter(cold, "lock_calls");
    OK(quarry_get(t, SLICE_LIT("r000"), "a", SLICE_LIT("q"), &value, &found,
                  &err));
    ck_assert(found);
    /* Opening the root's file and reading it: the first is once for ever. */
    ck_assert_uint_eq(counter(cold, "lock_calls") - before, 2);
    ck_assert_uint_eq(counter(cold, "location_calls"), 2);
    ck_assert_uint_eq(counter(cold, "server_calls"), 3);
    for (int i = 0; i < 30; i++) {
        char row[16];
        snprintf(row, sizeof(row), "r%03d", i);
        OK(quarry_get(t, slice_str(row), "a", SLICE_LIT("q"), &value, &found,
                      &err));
        ck_assert(found);
    }
    ck_assert_uint_eq(counter(cold, "location_calls"), 2);
    ck_assert_uint_eq(counter(cold, "server_calls"), 3 + 30);
    buf_close(&value);
    quarry_table_close(t);
    quarry_close(cold);
    end();
}

END_TEST

/* With every level stale, the row is found with at most six calls more: the
 * user's tablet, METADATA's and the root refuse, and the three are read. */
START_TEST(test_stale_look_up_takes_six_calls)
{
    struct buf end_key = BUF_INIT;
    uint64_t servers, locks;
    begin(3);
    fill(3);
    expect_value("r000", "000");
    metadata_root_end(&end_key);
    fake_move(fake, "t", SLICE_LIT("r000"));
    fake_move(fake, METADATA_TABLE, buf_slice(&end_key));
    fake_move(fake, METADATA_TABLE, SLICE_LIT("\1"));
    servers = counter(quarry, "server_calls");
    locks = counter(quarry, "lock_calls");
    expect_value("r000", "000");
    servers = counter(quarry, "server_calls") - servers;
    locks = counter(quarry, "lock_calls") - locks;
    ck_assert_msg(servers - 1 + locks <= 6,
                  "%llu calls of servers, %llu of "
                  "the lock service",
                  (unsigned long long)servers, (unsigned long long)locks);
    ck_assert_uint_ge(counter(quarry, "location_stale"), 2);
    buf_close(&end_key);
    end();
}

END_TEST

/* A scan over tablets that move and are split between its answers gives every
 * row once, in order; so do one of ranges, one with a limit, and one of keys.
 */
START_TEST(test_scan_goes_on_where_it_was)
{
    const struct quarry_range range = {SLICE_LIT("r100"), SLICE_LIT("r190")};
    const struct quarry_read_options ranged = {.ranges = &range,
                                               .range_count = 1};
    const struct quarry_read_options limited = {.row_limit = 77};
    const struct quarry_read_options one_by_one = {.read_ahead_off = true};
    begin(3);
    fill(200);
    fake_split(fake, "t", SLICE_LIT("r050"));
    fake_split(fake, "t", SLICE_LIT("r150"));
    expect_rows(NULL, 0, 200);
    expect_rows(&ranged, 100, 190);
    expect_rows(&limited, 0, 77);
    fake->answer_bytes = 100;
    atomic_store(&fake->faults.move_on_read, 20);
    expect_rows(NULL, 0, 200);
    atomic_store(&fake->faults.split_on_read, 30);
    expect_rows(NULL, 0, 200);
    atomic_store(&fake->faults.split_on_read, 10);
    atomic_store(&fake->faults.move_on_read, 10);
    expect_rows(&ranged, 100, 190);
    expect_rows(&limited, 0, 77);
    atomic_store(&fake->faults.refuse, 3);
    expect_rows(&one_by_one, 0, 200);
    end();
}

END_TEST

/* A scanner that is closed early, or never read, leaves nothing behind. */
START_TEST(test_scan_closed_early)
{
    const struct quarry_read_options lazy = {.read_ahead_off = true};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    begin(2);
    fill(200);
    fake->answer_bytes = 100;
    for (int i = 0; i < 4; i++) {
        OK(quarry_scan(table, i & 1 ? &lazy : NULL, &s, &err));
        for (int k = 0; k < i * 5; k++)
            OK(quarry_scanner_next(s, &row, &err));
        quarry_scanner_close(s);
    }
    end();
}

END_TEST

static void scan_cancelled(void *arg)
{
    const struct quarry_row *row;
    struct quarry_scanner *s;
    (void)arg;
    OK(quarry_scan(table, NULL, &s, &err));
    fiber_cancel(fiber_self());
    ck_assert_int_eq(quarry_scanner_next(s, &row, &err), ERR_CANCELLED);
    quarry_scanner_close(s);
}

/* A fiber that is cancelled does not wait for rows that do not come. */
START_TEST(test_scan_cancelled)
{
    struct loop *loop;
    begin(2);
    fill(10);
    OK(loop_new(fake->world, "scanning", &loop, &err));
    loop_start(loop);
    atomic_store(&fake->faults.refuse, 1000000);
    loop_call(loop, "scan", scan_cancelled, NULL);
    loop_stop(loop);
    loop_join(loop);
    loop_free(loop);
    end();
}

END_TEST

/* A cell set "now" whose answer was lost has one version: it is made once. */
START_TEST(test_now_is_chosen_once)
{
    struct quarry_mutation *m;
    struct quarry_row *row;
    begin(2);
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_set(m, "a", SLICE_LIT("p"), QUARRY_NOW, SLICE_LIT("1"));
    quarry_mutation_set(m, "b", SLICE_LIT("q"), QUARRY_NOW, SLICE_LIT("2"));
    quarry_mutation_set(m, "b", SLICE_LIT("r"), 5, SLICE_LIT("3"));
    atomic_store(&fake->faults.lose_answers, 2);
    OK(quarry_apply(table, m, NULL, &err));
    OK(quarry_read_row(table, SLICE_LIT("r"), NULL, &row, &err));
    ck_assert_uint_eq(row->cell_count, 3);
    ck_assert_int_gt(row->cells[0].timestamp_us, 1000000);
    ck_assert_int_eq(row->cells[0].timestamp_us, row->cells[1].timestamp_us);
    ck_assert_int_eq(row->cells[2].timestamp_us, 5);
    quarry_row_free(row);
    quarry_mutation_free(m);
    end();
}

END_TEST

static int increment(int64_t by, int64_t *now)
{
    const struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_INCREMENT,
                                         .family = "a",
                                         .qualifier = SLICE_LIT("n"),
                                         .increment = by};
    struct quarry_row *row;
    int rc = quarry_read_modify_write(table, SLICE_LIT("c"), &rule, 1, NULL,
                                      &row, &err);
    if (rc == 0) {
        *now = 0;
        for (int i = 0; i < 8; i++)
            *now = *now << 8 | (unsigned char)row->cells[0].value.data[i];
        quarry_row_free(row);
    }
    return rc;
}

/* An increment whose answer is lost is not made twice; one whose server is
 * another by then may have been made, and says so. */
START_TEST(test_increments_are_made_once)
{
    int64_t now = 0;
    begin(2);
    OK(increment(5, &now));
    atomic_store(&fake->faults.lose_answers, 3);
    OK(increment(5, &now));
    ck_assert_int_eq(now, 10);
    OK(increment(0, &now));
    ck_assert_int_eq(now, 10);
    end();
}

END_TEST

/* A check that is made again after a lost answer says what the first one did,
 * though the row has changed since. */
START_TEST(test_checks_are_made_once)
{
    struct quarry_mutation *m;
    bool matched;
    begin(2);
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_set(m, "a", SLICE_LIT("q"), 1, SLICE_LIT("first"));
    atomic_store(&fake->faults.lose_answers, 1);
    OK(quarry_check_and_mutate(table, SLICE_LIT("r"), NULL, NULL, m, NULL,
                               &matched, &err));
    ck_assert(!matched);
    expect_value("r", "first");
    OK(quarry_check_and_mutate(table, SLICE_LIT("r"), NULL, m, NULL, NULL,
                               &matched, &err));
    ck_assert(matched);
    quarry_mutation_free(m);
    end();
}

END_TEST

/* Tables are made, listed, changed and dropped by the master; a lost answer is
 * not taken for a failure. */
START_TEST(test_tables)
{
    static const struct quarry_family_spec family = {"f", "versions=2"};
    const struct quarry_alter add = {QUARRY_ADD_FAMILY, "g", ""};
    struct quarry_table_info *info;
    struct quarry_table *none;
    char **names;
    size_t count;
    begin(2);
    atomic_store(&fake->faults.lose_answers, 1);
    OK(quarry_table_create(quarry, "u", &family, 1, NULL, 0, &err));
    ck_assert_int_eq(
        quarry_table_create(quarry, "u", &family, 1, NULL, 0, &err),
        ERR_EXISTS);
    OK(quarry_table_list(quarry, &names, &count, &err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(names[0], "t");
    ck_assert_str_eq(names[1], "u");
    quarry_names_free(names, count);
    OK(quarry_table_split(quarry, "u", SLICE_LIT("m"), &err));
    OK(quarry_table_alter(quarry, "u", &add, 1, &err));
    OK(quarry_table_describe(quarry, "u", &info, &err));
    ck_assert_uint_eq(info->family_count, 2);
    ck_assert_str_eq(info->families[0].gc, "versions=2");
    ck_assert_uint_eq(info->tablet_count, 2);
    ck_assert(slice_eq_str(info->tablets[0].end, "m"));
    ck_assert_uint_eq(info->groups[0].entry_count, 2);
    quarry_table_info_free(info);
    atomic_store(&fake->faults.lose_answers, 1);
    OK(quarry_table_drop(quarry, "u", &err));
    ck_assert_int_eq(quarry_table_open(quarry, "u", &none, &err), ERR_NOTFOUND);
    ck_assert_str_eq(err.text, "no table u; there are: t");
    OK(quarry_flush(quarry, &err));
    OK(quarry_table_compact(quarry, "t", &err));
    ck_assert_int_eq(quarry_pin(quarry, &err), ERR_UNSUPPORTED);
    end();
}

END_TEST

/* A family that another client has added can be written and read at once; a
 * table that was dropped says so. */
START_TEST(test_changes_by_others_are_seen)
{
    const struct quarry_alter add = {QUARRY_ADD_FAMILY, "new", ""};
    struct quarry_mutation *m;
    struct quarry *other;
    begin(2);
    OK(set("r", "v"));
    OK(quarry_open(fake_target(fake), NULL, &other, &err));
    OK(quarry_table_alter(other, "t", &add, 1, &err));
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_set(m, "new", SLICE_LIT("q"), 1, SLICE_LIT("v"));
    OK(quarry_apply(table, m, NULL, &err));
    OK(quarry_table_drop(other, "t", &err));
    ck_assert_int_eq(quarry_apply(table, m, NULL, &err), ERR_NOTFOUND);
    ck_assert_str_eq(err.text, "table t was dropped");
    quarry_mutation_free(m);
    quarry_close(other);
    end();
}

END_TEST

/* Opening a table again asks nobody, whether or not it is open meanwhile; one
 * that was dropped is gone, and one made under its name is another. */
START_TEST(test_opening_again_asks_nobody)
{
    static const struct quarry_family_spec family = {"a", ""};
    struct quarry_table *t;
    struct quarry *other;
    uint64_t before;
    begin(2);
    OK(set("r", "v"));
    before = counter(quarry, "lock_calls");
    for (int i = 0; i < 3; i++) {
        OK(quarry_table_open(quarry, "t", &t, &err));
        quarry_table_close(table);
        table = t;
        expect_value("r", "v");
    }
    quarry_table_close(table);
    OK(quarry_table_open(quarry, "t", &table, &err));
    ck_assert_uint_eq(counter(quarry, "lock_calls"), before);
    OK(quarry_open(fake_target(fake), NULL, &other, &err));
    OK(quarry_table_drop(other, "t", &err));
    ck_assert_int_eq(quarry_table_open(quarry, "t", &t, &err), ERR_NOTFOUND);
    OK(quarry_table_create(other, "t", &family, 1, NULL, 0, &err));
    OK(quarry_table_open(quarry, "t", &t, &err));
    ck_assert_int_eq(set("r", "v"), ERR_NOTFOUND);
    quarry_table_close(table);
    table = t;
    expect_value("r", NULL);
    quarry_close(other);
    end();
}

END_TEST

/* Of more tables than are kept without users all can be opened, again and
 * again. */
START_TEST(test_many_tables)
{
    static const struct quarry_family_spec family = {"a", ""};
    struct quarry_table *t;
    char name[16];
    begin(1);
    for (int i = 0; i < FAKE_TABLES_MAX - 1; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        OK(quarry_table_create(quarry, name, &family, 1, NULL, 0, &err));
    }
    for (int i = 0; i < 2 * FAKE_TABLES_MAX; i++) {
        snprintf(name, sizeof(name), "m%d", i % (FAKE_TABLES_MAX - 1));
        OK(quarry_table_open(quarry, name, &t, &err));
        quarry_table_close(t);
    }
    end();
}

END_TEST

struct looker {
    struct quarry_table *table;
    char row[16];
    struct task *task;
    int rc;
};

static void look(void *arg)
{
    struct looker *l = arg;
    struct buf value = BUF_INIT;
    bool found;
    l->rc = quarry_get(l->table, slice_str(l->row), "a", SLICE_LIT("q"), &value,
                       &found, NULL);
    buf_close(&value);
}

/* Many who look for rows of one tablet at once share a look-up. */
START_TEST(test_look_ups_are_shared)
{
    enum {
        LOOKERS = 32
    };
    struct looker lookers[LOOKERS];
    struct quarry *cold;
    struct quarry_table *t;
    begin(2);
    fill(LOOKERS);
    OK(quarry_open(fake_target(fake), NULL, &cold, &err));
    OK(quarry_table_open(cold, "t", &t, &err));
    for (int i = 0; i < LOOKERS; i++) {
        lookers[i].table = t;
        snprintf(lookers[i].row, sizeof(lookers[i].row), "r%03d", i);
        lookers[i].task = task_start(fake->world, "look", look, &lookers[i]);
    }
    for (int i = 0; i < LOOKERS; i++) {
        task_join(lookers[i].task);
        ck_assert_int_eq(lookers[i].rc, 0);
    }
    ck_assert_uint_eq(counter(cold, "location_calls"), 2);
    quarry_table_close(t);
    quarry_close(cold);
    end();
}

END_TEST

/* Aggregate @source over the table, on the servers or here. */
static char *aggregate(const char *source, uint64_t *rows)
{
    struct saw_compile_options compile = {.read_include = NULL};
    struct saw_run_options o = {.fuel_per_record = 0};
    struct buf out = BUF_INIT;
    struct saw_program *p;
    struct saw_run *run;
    ck_assert_int_eq(saw_compile(&compile, slice_str(source), "test", &p, &out),
                     0);
    buf_clear(&out);
    OK(saw_run_new(p, &o, &run, &err));
    OK(quarry_run_program(table, NULL, run, rows, &err));
    saw_run_print(run, &out);
    saw_run_free(run);
    saw_program_free(p);
    return buf_take(&out);
}

/* A program over many tablets, some of which move meanwhile, counts every row
 * once; one that writes runs here, in order. */
START_TEST(test_programs_run_in_the_servers)
{
    uint64_t rows;
    char *text;
    begin(3);
    fill(200);
    fake_split(fake, "t", SLICE_LIT("r050"));
    fake_split(fake, "t", SLICE_LIT("r120"));
    atomic_store(&fake->faults.move_on_read, 2);
    text =
        aggregate("n: table sum of int; r: Row = input; emit n <- 1;", &rows);
    ck_assert_str_eq(text, "n[] = 200\n");
    ck_assert_uint_eq(rows, 200);
    free(text);
    ck_assert_uint_eq(atomic_load(&fake->reads), 0);
    text = aggregate("r: Row = input; emit stdout <- string(r.key);", &rows);
    ck_assert_msg(strncmp(text, "r000\nr001\n", 10) == 0, "%s", text);
    ck_assert_uint_eq(rows, 200);
    free(text);
    end();
}

END_TEST

/* Cuts lie inside of the table, in order, about as many as were asked for. */
START_TEST(test_cuts)
{
    struct slice *keys;
    size_t count;
    begin(2);
    fill(200);
    for (int i = 10; i < 200; i += 10) {
        char row[16];
        snprintf(row, sizeof(row), "r%03d", i);
        fake_split(fake, "t", slice_str(row));
    }
    OK(quarry_table_split_points(table, 4, &keys, &count, &err));
    ck_assert_uint_eq(count, 3);
    for (size_t i = 1; i < count; i++)
        ck_assert_int_lt(slice_cmp(keys[i - 1], keys[i]), 0);
    free(keys);
    end();
}

END_TEST

static atomic_int called;

static void on_apply(void *arg, int code, const struct err *e)
{
    (void)arg;
    ck_assert_msg(code == 0, "%s", e->text);
    atomic_fetch_add(&called, 1);
}

static void
on_read(void *arg, int code, struct quarry_row *row, const struct err *e)
{
    (void)arg;
    ck_assert_msg(code == 0, "%s", e->text);
    ck_assert_uint_eq(row->cell_count, 1);
    quarry_row_free(row);
    atomic_fetch_add(&called, 1);
}

/* Asynchronous calls all call back, and a table may be closed meanwhile. */
START_TEST(test_asynchronous_calls)
{
    const struct quarry_read_options o = {.versions = 1};
    struct quarry_table *t;
    begin(3);
    OK(quarry_table_open(quarry, "t", &t, &err));
    for (int i = 0; i < 300; i++) {
        struct quarry_mutation *m;
        char row[16];
        snprintf(row, sizeof(row), "r%03d", i);
        m = quarry_mutation_new(slice_str(row));
        quarry_mutation_set(m, "a", SLICE_LIT("q"), 1, slice_str(row + 1));
        quarry_apply_async(t, m, NULL, on_apply, NULL);
        quarry_mutation_free(m);
    }
    quarry_drain(quarry);
    ck_assert_int_eq(atomic_load(&called), 300);
    for (int i = 0; i < 300; i++) {
        char row[16];
        snprintf(row, sizeof(row), "r%03d", i);
        quarry_read_row_async(t, slice_str(row), &o, on_read, NULL);
    }
    quarry_table_close(t);
    quarry_drain(quarry);
    ck_assert_int_eq(atomic_load(&called), 600);
    end();
}

END_TEST

/* An unreachable cluster is reported in time, with a hint. */
START_TEST(test_failures_say_what_to_do)
{
    const struct quarry_options soon = {.timeout_us = 3000000};
    static const struct quarry_family_spec family = {"f", ""};
    struct quarry *q;
    struct quarry_table *t;
    int rc;
    begin(1);
    ck_assert_int_ne(quarry_open("127.0.0.1:1", &soon, &q, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "cluster 127.0.0.1:1"));
    ck_assert_ptr_nonnull(strstr(err.hint, "role lock"));
    OK(quarry_open(fake_target(fake), &soon, &q, &err));
    fake->no_master = true;
    rc = quarry_table_create(q, "x", &family, 1, NULL, 0, &err);
    ck_assert(rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE);
    ck_assert(rc == ERR_DEADLINE || strstr(err.text, "given up"));
    OK(quarry_table_open(q, "t", &t, &err));
    atomic_store(&fake->faults.refuse, 1000000);
    rc = quarry_get(t, SLICE_LIT("r"), "a", SLICE_EMPTY,
                    &(struct buf){NULL, 0, 0}, &(bool){false}, &err);
    ck_assert(rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE);
    ck_assert_ptr_nonnull(strstr(err.text, "refused"));
    quarry_table_close(t);
    quarry_close(q);
    end();
}

END_TEST

/* A try that has no answer in time tells what was wrong before it. */
START_TEST(test_late_says_what_was_before)
{
    const struct quarry_options soon = {.timeout_us = 3000000};
    struct quarry *q;
    struct quarry_table *t;
    begin(1);
    fake->late_us = 6000000;
    OK(quarry_open(fake_target(fake), &soon, &q, &err));
    OK(quarry_table_open(q, "t", &t, &err));
    OK(quarry_get(t, SLICE_LIT("r"), "a", SLICE_EMPTY,
                  &(struct buf){NULL, 0, 0}, &(bool){false}, &err));
    atomic_store(&fake->faults.refuse, 2);
    atomic_store(&fake->faults.late, 1);
    ck_assert_int_eq(quarry_get(t, SLICE_LIT("r"), "a", SLICE_EMPTY,
                                &(struct buf){NULL, 0, 0}, &(bool){false},
                                &err),
                     ERR_DEADLINE);
    ck_assert_msg(strstr(err.text, "refused") != NULL, "%s", err.text);
    quarry_table_close(t);
    quarry_close(q);
    end();
}

END_TEST

TEST_MAIN("cluster",
          test_write_and_read,
          test_cold_look_up_takes_three_calls,
          test_stale_look_up_takes_six_calls,
          test_scan_goes_on_where_it_was,
          test_scan_closed_early,
          test_scan_cancelled,
          test_now_is_chosen_once,
          test_increments_are_made_once,
          test_checks_are_made_once,
          test_tables,
          test_changes_by_others_are_seen,
          test_opening_again_asks_nobody,
          test_many_tables,
          test_look_ups_are_shared,
          test_programs_run_in_the_servers,
          test_cuts,
          test_asynchronous_calls,
          test_failures_say_what_to_do,
          test_late_says_what_was_before)
