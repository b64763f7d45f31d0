/* Partitions get homes by the rules, and workers are told what they need to
 * pull, once, whatever comes and goes. */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "mapreduce/master/early_pull.h"
#include "tests/lib/check_main.h"

enum {
    MAPS = 60,
    PARTITIONS = 24,
    WORKERS = 8
};

/* --- Fixture ------------------------------------------------------------- */

static unsigned skips;
static struct sched sched;
static struct task_table maps;
static struct task_table reduces;
static struct task_spill spills[MAPS];
static struct early_pull pull;

/* Everything that each worker was told. */
static bool told_partition[WORKERS][PARTITIONS];
static uint32_t told_attempt[WORKERS][MAPS]; /* The last; 0: none. */
static bool told_over[WORKERS];

static struct sched_worker worker_of(uint32_t disk, uint32_t slots)
{
    return (struct sched_worker){
        .up = true, .disk = disk, .all_slots = slots, .pulls = true};
}

static void begin(uint32_t map_count)
{
    static const struct sched_job job = {.weight = 1};
    sched_init(&sched, 0);
    (void)sched_add_job(&sched, &job);
    task_table_init(&maps, map_count, 4, &skips);
    task_table_init(&reduces, PARTITIONS, 4, &skips);
    memset(spills, 0, sizeof(spills));
    memset(told_partition, 0, sizeof(told_partition));
    memset(told_attempt, 0, sizeof(told_attempt));
    memset(told_over, 0, sizeof(told_over));
    early_pull_init(&pull, &maps, &reduces, spills);
}

static void end(void)
{
    early_pull_close(&pull);
    task_table_close(&maps);
    task_table_close(&reduces);
    sched_close(&sched);
}

/* --- Helpers ------------------------------------------------------------- */

static void run_map(uint32_t map, uint32_t worker, bool leaves)
{
    static const struct task_outcome ok = {.ok = true};
    uint32_t attempt = task_table_start(&maps, map, worker, 0);
    ck_assert_int_eq(task_table_end(&maps, map, attempt, &ok, 0), TASK_ACCEPT);
    spills[map] =
        (struct task_spill){.task = map, .attempt = leaves ? attempt : 0};
}

static void lose(uint32_t worker)
{
    sched.workers[worker].up = false;
    (void)task_table_lose_worker(&maps, worker, true);
    early_pull_lose(&pull, worker);
    memset(told_partition[worker], 0, sizeof(told_partition[worker]));
    memset(told_attempt[worker], 0, sizeof(told_attempt[worker]));
    told_over[worker] = false;
}

static bool is_far(uint32_t a, uint32_t b)
{
    return sched.workers[a].disk != sched.workers[b].disk;
}

/* Take in all that is to be told: nothing twice, nothing near, nothing old. */
static unsigned hear(void)
{
    struct early_notice t;
    unsigned n = 0;
    early_pull_look(&pull, &sched);
    for (; early_pull_next(&pull, &sched, &t); n++) {
        ck_assert(sched.workers[t.worker].up);
        ck_assert(!sched.workers[t.worker].silent);
        for (size_t i = 0; i < t.partition_count; i++) {
            uint32_t p = t.partitions[i];
            ck_assert_uint_eq(reduces.tasks[p].home, t.worker);
            told_partition[t.worker][p] = true;
        }
        for (size_t i = 0; i < t.spill_count; i++) {
            const struct task_spill *s = &t.spills[i];
            const struct task_entry *e = &maps.tasks[s->task];
            ck_assert_uint_eq(s->attempt, e->winner);
            ck_assert_uint_eq(s->place, e->winner_worker);
            ck_assert(is_far(t.worker, s->place));
            ck_assert_uint_ne(told_attempt[t.worker][s->task], s->attempt);
            told_attempt[t.worker][s->task] = s->attempt;
        }
        ck_assert(!told_over[t.worker]);
        told_over[t.worker] = t.over;
        early_notice_close(&t);
    }
    return n;
}

/* Workers with partitions know of them and of all spills that these need. */
static void check_told(bool over)
{
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        uint32_t w = reduces.tasks[p].home;
        if (w == TASK_NONE || sched.workers[w].silent)
            continue;
        ck_assert(told_partition[w][p]);
        ck_assert_int_eq(told_over[w], over);
        for (uint32_t m = 0; m < maps.count; m++) {
            const struct task_entry *e = &maps.tasks[m];
            if (e->state == TASK_DONE && spills[m].attempt > 0 &&
                is_far(w, e->winner_worker))
                ck_assert_uint_eq(told_attempt[w][m], e->winner);
        }
    }
}

/* --- Tests --------------------------------------------------------------- */

/* Nothing happens before a twentieth of the maps has ended, nor where nobody is
 * far from anybody. */
START_TEST(test_begins)
{
    begin(MAPS);
    for (uint32_t w = 0; w < 3; w++) {
        struct sched_worker k = worker_of(w == 2, 2);
        sched_set_worker(&sched, w, &k);
    }
    for (uint32_t m = 0; m < MAPS / EARLY_PULL_SHARE - 1; m++) {
        run_map(m, 0, true);
        ck_assert_uint_eq(hear(), 0);
        ck_assert_uint_eq(reduces.tasks[0].home, TASK_NONE);
    }
    run_map(10, 0, true);
    /* 0 and 1 read what 0 has left, and know of their partitions. */
    ck_assert_uint_eq(hear(), 3);
    ck_assert_uint_eq(told_attempt[2][10], 1);
    ck_assert_uint_eq(told_attempt[1][10], 0);
    check_told(false);
    end();
    begin(1);
    for (uint32_t w = 0; w < 3; w++) {
        struct sched_worker k = worker_of(7, 2);
        sched_set_worker(&sched, w, &k);
    }
    run_map(0, 0, true);
    ck_assert_uint_eq(hear(), 0);
    ck_assert(!reduces.has_homes);
    end();
}

END_TEST

/* Partitions are shared by slots, among those that may pull. */
START_TEST(test_homes)
{
    uint32_t load[6] = {0};
    begin(1);
    for (uint32_t w = 0; w < 6; w++) {
        struct sched_worker k = worker_of(w, w == 0 ? 4 : 2);
        sched_set_worker(&sched, w, &k);
    }
    sched.workers[3].pulls = false;
    sched.workers[4].silent = true;
    sched.jobs[0].banned[5] = true;
    run_map(0, 3, true);
    ck_assert_uint_eq(hear(), 3);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        load[reduces.tasks[p].home]++;
    ck_assert(load[0] == 12 && load[1] == 6 && load[2] == 6);
    /* Partitions of another worker are told again with all spills before. */
    lose(1);
    ck_assert_uint_eq(hear(), 2);
    check_told(false);
    sched.workers[2].silent = true;
    (void)hear();
    for (uint32_t p = 0; p < PARTITIONS; p++)
        ck_assert_uint_eq(reduces.tasks[p].home, 0);
    check_told(false);
    early_pull_finish(&pull);
    ck_assert_uint_eq(hear(), 1);
    ck_assert_uint_eq(hear(), 0);
    check_told(true);
    end();
}

END_TEST

/* More spills than are told at once are told one after the other. */
START_TEST(test_many)
{
    enum {
        MANY = 2 * EARLY_NOTICE_SPILLS_MAX + 5
    };

    struct task_spill *all = mem_zalloc(MANY, sizeof(*all));
    struct early_notice t;
    size_t seen = 0;
    bool over = false;
    begin(1);
    task_table_close(&maps);
    task_table_init(&maps, MANY, 4, &skips);
    early_pull_close(&pull);
    early_pull_init(&pull, &maps, &reduces, all);
    for (uint32_t w = 0; w < 2; w++) {
        struct sched_worker k = worker_of(w, 1);
        k.pulls = w == 1;
        sched_set_worker(&sched, w, &k);
    }
    for (uint32_t m = 0; m < MANY; m++) {
        task_table_restore(&maps, m, 3, 0);
        all[m] = (struct task_spill){.task = m, .attempt = 3};
    }
    early_pull_finish(&pull);
    early_pull_look(&pull, &sched);
    while (early_pull_next(&pull, &sched, &t)) {
        ck_assert(!over);
        ck_assert_uint_le(t.spill_count, EARLY_NOTICE_SPILLS_MAX);
        seen += t.spill_count;
        over = t.over;
        early_notice_close(&t);
    }
    ck_assert_uint_eq(seen, MANY);
    ck_assert(over);
    end();
    mem_free(all);
}

END_TEST

static void disturb(struct rand_gen *r)
{
    uint32_t w = (uint32_t)rand_below(r, WORKERS);
    switch (rand_below(r, 12)) {
    case 0:
        if (sched.workers[w].up) {
            lose(w);
        } else {
            struct sched_worker k = worker_of((uint32_t)rand_below(r, 5),
                                              1 + (uint32_t)rand_below(r, 4));
            k.pulls = rand_below(r, 5) > 0;
            sched_set_worker(&sched, w, &k);
        }
        break;
    case 1: sched.workers[w].silent = rand_below(r, 3) == 0; break;
    case 2: {
        uint32_t m = (uint32_t)rand_below(r, MAPS);
        task_table_lose_output(&maps, m, maps.tasks[m].winner);
        break;
    }
    default: break;
    }
}

/* Whatever workers do and maps are repeated: in the end those that have
 * partitions know what they need, and were told nothing twice in a life. */
START_TEST(test_random_histories)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 200; round++) {
        begin(MAPS);
        for (uint32_t w = 0; w < WORKERS; w++) {
            struct sched_worker k = worker_of((uint32_t)rand_below(&r, 5), 2);
            sched_set_worker(&sched, w, &k);
        }
        while (maps.done < MAPS) {
            uint32_t m = maps.first;
            uint32_t w = (uint32_t)rand_below(&r, WORKERS);
            if (m != TASK_NONE && sched.workers[w].up)
                run_map(m, w, rand_below(&r, 10) > 0);
            if (maps.done < MAPS)
                disturb(&r);
            if (rand_below(&r, 4) == 0)
                (void)hear();
        }
        early_pull_finish(&pull);
        (void)hear();
        check_told(true);
        end();
    }
}

END_TEST

TEST_MAIN("early_pull",
          test_begins,
          test_homes,
          test_many,
          test_random_histories)
