/* A pulled piece is found under the attempt that made it and no other, where it
 * was put, and never more than the worker has room for. */
#include <string.h>

#include "base/core/rand.h"
#include "mapreduce/cluster/pulled.h"
#include "tests/lib/check_main.h"

enum {
    TASKS = 40,
    ATTEMPTS = 3,
    FILES = 4
};

/* By file, task and attempt, from 1. */
struct model {
    bool there;
    bool early;
    uint64_t offset;
    size_t count;
    uint64_t bytes[3];
};

static struct model model[FILES][TASKS][ATTEMPTS + 1];
static struct pulled *files[FILES];

static void check_file(int f)
{
    pulled_sort(files[f]);
    for (uint32_t t = 0; t < TASKS; t++)
        for (uint32_t a = 0; a <= ATTEMPTS; a++) {
            const struct model *m = &model[f][t][a];
            const struct pulled_spill *s = pulled_find(files[f], t, a);
            uint64_t at = m->offset;
            ck_assert_int_eq(s != NULL, m->there);
            if (!s)
                continue;
            ck_assert_int_eq(s->early, m->early);
            ck_assert_uint_eq(s->count, m->count);
            for (size_t i = 0; i < m->count; i++) {
                const struct task_segment *g =
                    &files[f]->segments[s->first + i];
                ck_assert_uint_eq(g->offset, at);
                ck_assert_uint_eq(g->bytes, m->bytes[i]);
                ck_assert_uint_eq(g->pairs, m->bytes[i] / 2);
                at += g->bytes;
            }
        }
}

static void add(struct rand_gen *r, struct pull_room *room, int f)
{
    struct task_spill s = {.task = (uint32_t)rand_below(r, TASKS),
                           .attempt = 1 + (uint32_t)rand_below(r, ATTEMPTS)};
    struct model *m = &model[f][s.task][s.attempt];
    struct model want = {.there = true,
                         .early = rand_below(r, 2) != 0,
                         .offset = files[f]->bytes,
                         .count = rand_below(r, 4)};
    struct task_segment at[3];
    uint64_t bytes = 0;
    if (m->there)
        return;
    for (size_t i = 0; i < want.count; i++) {
        at[i].bytes = want.bytes[i] = 1 + rand_below(r, 1000);
        at[i].pairs = want.bytes[i] / 2;
        bytes += want.bytes[i];
    }
    if (!pull_room_take(room, bytes, 1)) {
        ck_assert_uint_gt(room->bytes + bytes, room->bytes_max);
        return;
    }
    pulled_add(files[f], &s, want.early, at, want.count);
    *m = want;
}

START_TEST(test_model)
{
    struct rand_gen r;
    struct pull_room room = {.bytes_max = 60000};
    rand_init(&r, test_seed());
    for (int round = 0; round < 4000; round++) {
        int f = (int)rand_below(&r, FILES);
        if (!files[f])
            files[f] = pulled_new((uint32_t)f, "/x");
        add(&r, &room, f);
        ck_assert_uint_le(room.bytes, room.bytes_max);
        if (rand_below(&r, 50) == 0)
            check_file(f);
        if (rand_below(&r, 200) == 0) {
            pulled_free(files[f], &room);
            files[f] = NULL;
            memset(model[f], 0, sizeof(model[f]));
        }
    }
    for (int f = 0; f < FILES; f++)
        pulled_free(files[f], &room);
    ck_assert_uint_eq(room.bytes, 0);
    ck_assert_uint_eq(room.spills, 0);
}

END_TEST

/* Bytes and numbers of entries are bounded, each for itself. */
START_TEST(test_room)
{
    struct pull_room room = {.bytes_max = 100};
    ck_assert(!pull_room_take(&room, 101, 1));
    ck_assert(!pull_room_take(&room, UINT64_MAX, 1));
    ck_assert(pull_room_take(&room, 100, 1));
    ck_assert(!pull_room_take(&room, 1, 1));
    ck_assert(pull_room_take(&room, 0, PULL_SPILLS_MAX - 1));
    ck_assert(!pull_room_take(&room, 0, 1));
    pull_room_give(&room, 100, 1);
    ck_assert(pull_room_take(&room, 99, 1));
    ck_assert_uint_eq(room.bytes, 99);
}

END_TEST

TEST_MAIN("pulled", test_model, test_room)
