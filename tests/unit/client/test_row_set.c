/* Sets of rows that scans work through, against sets of single keys. */
#include "base/core/rand.h"
#include "bigtable/client/cluster/row_set.h"
#include "tests/lib/check_main.h"

#define ROUNDS 5000
#define KEYS   40
#define ITEMS  6

/* Keys "A".."h": one letter, so that a key's next one is not among them. */
static char letters[KEYS];

static struct slice key(size_t i)
{
    return i < KEYS ? slice_make(&letters[i], 1) : SLICE_EMPTY;
}

struct sample {
    struct quarry_range ranges[ITEMS];
    struct slice keys[ITEMS];
    struct quarry_read_options o;
    bool in[KEYS];
};

static void make(struct rand_gen *r, struct sample *s)
{
    *s = (struct sample){.o = {.versions = 0}};
    s->o.ranges = s->ranges;
    s->o.keys = s->keys;
    s->o.range_count = rand_below(r, ITEMS);
    s->o.key_count = rand_below(r, ITEMS);
    for (size_t i = 0; i < s->o.range_count; i++) {
        size_t a = rand_below(r, KEYS);
        size_t b = rand_below(r, KEYS + 1);
        s->ranges[i] = (struct quarry_range){
            rand_one_in(r, 8) ? SLICE_EMPTY : key(a), key(b)};
        if (s->ranges[i].start.len == 0)
            a = 0;
        for (size_t k = a; k < (b < KEYS ? b : KEYS); k++)
            s->in[k] = true;
    }
    for (size_t i = 0; i < s->o.key_count; i++) {
        size_t k = rand_below(r, KEYS);
        s->keys[i] = key(k);
        s->in[k] = true;
    }
    if (s->o.range_count + s->o.key_count == 0)
        for (size_t k = 0; k < KEYS; k++)
            s->in[k] = true;
}

static bool holds(const struct quarry_range *r, size_t count, struct slice row)
{
    for (size_t i = 0; i < count; i++)
        if (slice_cmp(r[i].start, row) <= 0 &&
            (r[i].end.len == 0 || slice_cmp(row, r[i].end) < 0))
            return true;
    return false;
}

/* A set holds exactly the rows that were asked for; its ranges are in order,
 * and the next row is the first behind a key. */
START_TEST(test_rows_asked_for)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < KEYS; i++)
        letters[i] = (char)('A' + i);
    for (int round = 0; round < ROUNDS; round++) {
        struct sample s;
        struct row_set set;
        size_t from = rand_below(&r, KEYS);
        struct slice next;
        size_t want = from;
        bool any;
        make(&r, &s);
        row_set_init(&set, &s.o);
        for (size_t k = 0; k < KEYS; k++)
            ck_assert(holds(set.ranges, set.count, key(k)) == s.in[k]);
        for (size_t i = 1; i < set.count; i++)
            ck_assert_int_gt(
                slice_cmp(set.ranges[i].start, set.ranges[i - 1].end), 0);
        while (want < KEYS && !s.in[want])
            want++;
        any = row_set_next(&set, key(from), &next);
        if (want < KEYS)
            ck_assert(any && slice_cmp(next, key(want)) <= 0);
        for (size_t k = from; any && k < KEYS; k++)
            if (slice_cmp(key(k), next) < 0)
                ck_assert(!s.in[k]);
        row_set_close(&set);
    }
}

END_TEST

/* Parts, taken one after the other with little room, make up the set between
 * two keys, each row once. */
START_TEST(test_parts_make_up_the_whole)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < KEYS; i++)
        letters[i] = (char)('A' + i);
    for (int round = 0; round < ROUNDS; round++) {
        struct quarry_range part[3];
        struct sample s;
        struct row_set set;
        size_t a = rand_below(&r, KEYS);
        size_t b = a + 1 + rand_below(&r, KEYS - a);
        struct slice at = key(a);
        int seen[KEYS] = {0};
        make(&r, &s);
        row_set_init(&set, &s.o);
        for (;;) {
            struct slice stop;
            size_t n = row_set_part(&set, at, key(b), 1 + rand_below(&r, 8),
                                    part, 1 + rand_below(&r, 3), &stop);
            for (size_t k = 0; k < KEYS; k++)
                seen[k] += holds(part, n, key(k));
            if (slice_eq(stop, key(b)))
                break;
            ck_assert_int_gt(slice_cmp(stop, at), 0);
            at = stop;
        }
        for (size_t k = 0; k < KEYS; k++)
            ck_assert_int_eq(seen[k], s.in[k] && k >= a && k < b);
        row_set_close(&set);
    }
}

END_TEST

TEST_MAIN("row_set", test_rows_asked_for, test_parts_make_up_the_whole)
