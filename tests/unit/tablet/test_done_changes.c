/* Tests of the changes that a tablet remembers, because clients may ask for
 * them again. */
#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/tablet/done_changes.h"
#include "tests/lib/check_main.h"

enum {
    SESSION = 77,
    CHANGES = 2000
};

static struct world *world;

static void begin(void)
{
    world = world_real_new();
}

static void end(void)
{
    world_free(world);
}

static enum change_state
begin_one(struct done_changes *d, uint64_t floor, uint64_t sequence)
{
    enum change_state state;
    ck_assert_int_eq(
        done_changes_begin(d, SESSION, floor, &sequence, 1, &state, NULL), 0);
    return state;
}

static void make(struct done_changes *d, uint64_t floor, uint64_t sequence)
{
    ck_assert_int_eq(begin_one(d, floor, sequence), CHANGE_BEGUN);
    done_changes_note_one(d, SESSION, sequence, SLICE_LIT("answer"));
    done_changes_end(d, SESSION, &sequence, 1);
}

/* A change that was made is known until the floor is above it; one that was
 * begun and not made may be begun again. */
START_TEST(test_a_change_is_known_up_to_the_floor)
{
    struct done_changes *d;
    struct buf answer = BUF_INIT;
    uint64_t failed = 5;
    begin();
    d = done_changes_new(world);
    make(d, 1, 200);
    make(d, 1, 4);
    ck_assert_int_eq(begin_one(d, 1, failed), CHANGE_BEGUN);
    done_changes_end(d, SESSION, &failed, 1);
    ck_assert_int_eq(begin_one(d, 1, failed), CHANGE_BEGUN);
    done_changes_end(d, SESSION, &failed, 1);
    ck_assert_int_eq(begin_one(d, 1, 4), CHANGE_DONE);
    ck_assert(done_changes_answer(d, SESSION, 4, &answer));
    ck_assert_str_eq(buf_cstr(&answer), "answer");
    ck_assert_int_eq(begin_one(d, 5, 4), CHANGE_OVER);
    ck_assert(!done_changes_answer(d, SESSION, 4, &answer));
    ck_assert_int_eq(begin_one(d, 5, 200), CHANGE_DONE);
    ck_assert_int_eq(begin_one(d, 1, 3), CHANGE_OVER);
    done_changes_free(d);
    buf_close(&answer);
    end();
}

END_TEST

/* A client that has too many changes under way waits. */
START_TEST(test_the_window_is_bounded)
{
    struct done_changes *d;
    uint64_t far = 10 + DONE_WINDOW;
    enum change_state state;
    begin();
    d = done_changes_new(world);
    make(d, 10, 10);
    ck_assert_int_eq(done_changes_begin(d, SESSION, 10, &far, 1, &state, NULL),
                     ERR_UNAVAILABLE);
    make(d, 11, far);
    done_changes_free(d);
    end();
}

END_TEST

static void expect_same(struct done_changes *d, const bool made[CHANGES])
{
    for (uint64_t i = 1; i < CHANGES; i++) {
        enum change_state s = begin_one(d, 1, i);
        ck_assert_int_eq(s, made[i] ? CHANGE_DONE : CHANGE_BEGUN);
        if (s == CHANGE_BEGUN)
            done_changes_end(d, SESSION, &i, 1);
    }
}

/* Whatever was made in whatever order is there after encoding and decoding;
 * what two tablets made is what the tablet that is merged of them made. */
START_TEST(test_what_was_made_is_kept)
{
    bool made[CHANGES] = {false};
    struct done_changes *part[2];
    struct done_changes *all;
    struct buf bytes = BUF_INIT;
    struct rand_gen r;
    begin();
    rand_init(&r, test_seed());
    part[0] = done_changes_new(world);
    part[1] = done_changes_new(world);
    for (int i = 0; i < CHANGES; i++) {
        uint64_t sequence = 1 + rand_below(&r, CHANGES - 1);
        if (!made[sequence])
            make(part[rand_below(&r, 2)], 1, sequence);
        made[sequence] = true;
    }
    done_changes_encode(part[0], &bytes);
    done_changes_encode(part[1], &bytes);
    all = done_changes_new(world);
    ck_assert_int_eq(done_changes_decode(all, buf_slice(&bytes), NULL), 0);
    expect_same(all, made);
    ck_assert_int_eq(
        done_changes_decode(all, slice_make(bytes.data, bytes.len - 1), NULL),
        ERR_CORRUPT);
    for (int i = 0; i < 2; i++)
        done_changes_free(part[i]);
    done_changes_free(all);
    buf_close(&bytes);
    end();
}

END_TEST

/* A client that skips numbers costs memory for none of them: the floor that it
 * said is not in the log, so after a recovery a change far below is taken as
 * one that it knows of. */
START_TEST(test_numbers_that_are_skipped_cost_nothing)
{
    struct done_changes *d;
    uint64_t far = UINT64_C(1) << 50;
    begin();
    d = done_changes_new(world);
    done_changes_note_one(d, SESSION, far, SLICE_LIT("answer"));
    done_changes_note_one(d, SESSION, 1, SLICE_LIT("answer"));
    ck_assert_int_eq(begin_one(d, 0, 2), CHANGE_OVER);
    ck_assert_int_eq(begin_one(d, 0, 1), CHANGE_OVER);
    ck_assert_int_eq(begin_one(d, far - DONE_WINDOW / 2, far), CHANGE_DONE);
    make(d, far - DONE_WINDOW / 2, far - DONE_WINDOW / 2);
    done_changes_free(d);
    end();
}

END_TEST

TEST_MAIN("done changes",
          test_a_change_is_known_up_to_the_floor,
          test_numbers_that_are_skipped_cost_nothing,
          test_the_window_is_bounded,
          test_what_was_made_is_kept)
