/* Each of the rows that go to a cluster in one call has its right outcome,
 * while tablets move, are split, refuse, and answers are lost. */
#include "tests/unit/client/fake_table.h"

/* A batch goes to all servers; what one refuses because tablets moved or split,
 * or whose answer is lost, is made again, and every row is there once. */
START_TEST(test_batch_over_moving_tablets)
{
    begin(3);
    fill(10);
    fake_split(fake, "t", SLICE_LIT("r050"));
    fake_split(fake, "t", SLICE_LIT("r100"));
    fake_move(fake, "t", SLICE_LIT("r100"));
    fill(200);
    expect_rows(NULL, 0, 200);
    fake_move(fake, "t", SLICE_LIT("r000"));
    fake_split(fake, "t", SLICE_LIT("r020"));
    atomic_store(&fake->faults.lose_answers, 2);
    atomic_store(&fake->faults.refuse, 2);
    fill(200);
    expect_rows(NULL, 0, 200);
    ck_assert_uint_ge(counter(quarry, "server_retries"), 1);
    end();
}

END_TEST

/* Each row of a batch has its outcome; one that is refused for what it says
 * does not keep the others from being written. */
START_TEST(test_each_has_its_outcome)
{
    struct quarry_mutation *m[3];
    int codes[3];
    begin(2);
    for (int i = 0; i < 3; i++) {
        m[i] = quarry_mutation_new(slice_make(&"xyz"[i], 1));
        quarry_mutation_set(m[i], i == 1 ? "none" : "a", SLICE_LIT("q"), 1,
                            SLICE_LIT("v"));
    }
    ck_assert_int_eq(quarry_apply_each(table, m, 3, NULL, codes, &err),
                     ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "none"));
    ck_assert_int_eq(codes[0], 0);
    ck_assert_int_eq(codes[1], ERR_NOTFOUND);
    ck_assert_int_eq(codes[2], 0);
    expect_value("x", "v");
    expect_value("z", "v");
    for (int i = 0; i < 3; i++)
        quarry_mutation_free(m[i]);
    end();
}

END_TEST

/* Of a call's rows one is refused for a moment and another one's tablet is
 * elsewhere: one text cannot describe both, and both are written. */
START_TEST(test_rows_fail_for_different_reasons)
{
    begin(2);
    fake_split(fake, "t", SLICE_LIT("m"));
    fake_move(fake, "t", SLICE_LIT("z")); /* Both are where they were. */
    for (int round = 0; round < 2; round++) {
        struct quarry_mutation *m[2];
        int codes[2];
        for (int i = 0; i < 2; i++) {
            m[i] = quarry_mutation_new(slice_make(&"az"[i], 1));
            quarry_mutation_set(m[i], "a", SLICE_LIT("q"), 1,
                                slice_make(&"01"[round], 1));
        }
        OK(quarry_apply_each(table, m, 2, NULL, codes, &err));
        quarry_mutation_free(m[0]);
        quarry_mutation_free(m[1]);
        if (round == 0)
            fake_move(fake, "t", SLICE_LIT("z"));
        atomic_store(&fake->faults.refuse_rows, round == 0);
    }
    expect_value("a", "1");
    expect_value("z", "1");
    end();
}

END_TEST

static void on_outcome(void *arg, int code, const struct err *e)
{
    (void)e;
    *(int *)arg = code;
}

/* Changes of many that are under way at once go together: while answers are
 * lost and tablets move, each has its own outcome, those of families that do
 * not exist among them, and what succeeded is there. */
START_TEST(test_writes_share_calls)
{
    enum {
        COUNT = 600
    };

    static int codes[COUNT];
    char row[16];
    begin(3);
    atomic_store(&fake->faults.lose_answers, 5);
    atomic_store(&fake->faults.refuse, 5);
    for (int i = 0; i < COUNT; i++) {
        struct quarry_mutation *m;
        bool bad = i % 50 == 7;
        snprintf(row, sizeof(row), "r%03d", i);
        if (i == COUNT / 3 || i == COUNT / 2)
            fake_move(fake, "t", SLICE_LIT("r000"));
        m = quarry_mutation_new(slice_str(row));
        quarry_mutation_set(m, bad ? "none" : "a", SLICE_LIT("q"), 1000,
                            slice_str(row + 1));
        codes[i] = 1;
        quarry_apply_async(table, m, NULL, on_outcome, &codes[i]);
        quarry_mutation_free(m);
    }
    quarry_drain(quarry);
    ck_assert_uint_gt(counter(quarry, "writes_shared"), 0);
    for (int i = 0; i < COUNT; i++) {
        bool bad = i % 50 == 7;
        snprintf(row, sizeof(row), "r%03d", i);
        ck_assert_int_eq(codes[i], bad ? ERR_NOTFOUND : 0);
        expect_value(row, bad ? NULL : row + 1);
    }
    end();
}

END_TEST

TEST_MAIN("rows_of_a_call",
          test_batch_over_moving_tablets,
          test_each_has_its_outcome,
          test_rows_fail_for_different_reasons,
          test_writes_share_calls)
