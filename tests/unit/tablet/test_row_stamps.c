/* Stamps of rows: a slot never says less than the last write to its row. */
#include <stdio.h>

#include "bigtable/tablet/row_stamps.h"
#include "tests/lib/check_main.h"

static struct slice row_number(char room[16], unsigned i)
{
    snprintf(room, 16, "row%u", i);
    return slice_str(room);
}

/* Rows of one slot share its stamp: the newest write to any of them. */
START_TEST(test_slot_is_no_lower_than_the_last_write)
{
    struct row_stamps s;
    uint64_t last[1000];
    char room[16];
    row_stamps_init(&s);
    ck_assert_uint_eq(
        atomic_load(row_stamps_slot(&s, SLICE_LIT("never written"))), 0);
    for (unsigned n = 1; n <= 5000; n++) {
        unsigned i = n * 7919 % 1000;
        atomic_store(row_stamps_slot(&s, row_number(room, i)), n);
        last[i] = n;
    }
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_uint_ge(atomic_load(row_stamps_slot(&s, row_number(room, i))),
                          last[i]);
    row_stamps_close(&s);
}

END_TEST

/* After a change of whole tables every row counts as written, also those that
 * never were. */
START_TEST(test_set_all_stamps_every_row)
{
    struct row_stamps s;
    char room[16];
    row_stamps_init(&s);
    row_stamps_set_all(&s, 42);
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_uint_eq(atomic_load(row_stamps_slot(&s, row_number(room, i))),
                          42);
    row_stamps_close(&s);
}

END_TEST

TEST_MAIN("row stamps",
          test_slot_is_no_lower_than_the_last_write,
          test_set_all_stamps_every_row)
