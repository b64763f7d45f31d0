/* The scheduler's rules, one table each; and jobs on simulated workers that are
 * slow, stop and die. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "mapreduce/master/schedule.h"
#include "mapreduce/master/straggler.h"
#include "tests/lib/check_main.h"

#define MS ((uint64_t)1000)
#define S  ((uint64_t)1000000)

/* --- Fixture ------------------------------------------------------------- */

static unsigned skips;

/* @workers of @slots each, every one a host of its own, four to a rack. */
static void
make_sched(struct sched *s, uint32_t workers, uint32_t slots, uint64_t memory)
{
    sched_init(s, workers);
    for (uint32_t w = 0; w < workers; w++)
        sched_set_worker(s, w,
                         &(struct sched_worker){.up = true,
                                                .host = w,
                                                .rack = w / 4,
                                                .slots = slots,
                                                .memory_bytes = memory});
}

static void add_job(struct sched *s,
                    struct task_table *t,
                    uint32_t tasks,
                    struct sched_job job)
{
    task_table_init(t, tasks, 4, &skips);
    if (job.weight == 0)
        job.weight = 1;
    sched_set_tasks(s, sched_add_job(s, &job), t, 0);
}

/* Everything the scheduler has to say at @now; returns how often it spoke. */
static unsigned
run_all(struct sched *s, uint64_t now, struct sched_action *last)
{
    struct sched_action a;
    unsigned n = 0;
    for (; sched_next(s, now, &a); n++) {
        sched_done(s, &a, now);
        *last = a;
    }
    return n;
}

/* --- Rules --------------------------------------------------------------- */

/* Slots go to the higher priority first, and among equals by weight. */
START_TEST(test_shares)
{
    static const struct {
        struct sched_job jobs[3];
        uint32_t want[3]; /* Of 12 slots. */
    } table[] = {
        {{{.weight = 1}, {.weight = 1}, {.weight = 1}}, {4, 4, 4}},
        {{{.weight = 1}, {.weight = 2}, {.weight = 3}}, {2, 4, 6}},
        {{{.weight = 1}, {.weight = 1, .priority = 5}, {.weight = 9}},
         {0, 12, 0}},
        {{{.weight = 1},
          {.weight = 1, .priority = 5, .quota = 4},
          {.weight = 3}},
         {2, 4, 6}},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct sched s;
        struct task_table t[3];
        struct sched_action last;
        make_sched(&s, 4, 3, 0);
        for (int k = 0; k < 3; k++)
            add_job(&s, &t[k], 100, table[i].jobs[k]);
        ck_assert_uint_eq(run_all(&s, 1, &last), 12);
        for (int k = 0; k < 3; k++) {
            ck_assert_uint_eq(s.jobs[k].busy, table[i].want[k]);
            task_table_close(&t[k]);
        }
        for (int w = 0; w < 4; w++)
            ck_assert_uint_eq(s.workers[w].busy, 3);
        sched_close(&s);
    }
}

END_TEST

/* A task goes to the host of its input; a job waits for that a moment, then for
 * the rack, then takes any slot. */
START_TEST(test_places)
{
    struct sched s;
    struct task_table t;
    struct sched_action a;
    make_sched(&s, 12, 1, 0);
    add_job(&s, &t, 2, (struct sched_job){.weight = 1});
    task_table_place(&t, 0, 7);
    task_table_place(&t, 1, 7);
    ck_assert(sched_next(&s, 0, &a));
    ck_assert_uint_eq(a.worker, 7);
    ck_assert(sched_is_local(&s, 0, 0, 7));
    ck_assert(!sched_is_local(&s, 0, 0, 6));
    sched_done(&s, &a, 0);
    ck_assert(!sched_next(&s, 100 * MS, &a));
    ck_assert_int_eq(sched_why(&s, 0, 100 * MS), SCHED_WAIT_PLACE);
    ck_assert(sched_next(&s, SCHED_LOCAL_US, &a));
    ck_assert_uint_eq(a.worker / 4, 1);
    for (uint32_t w = 4; w < 8; w++)
        s.workers[w].up = false;
    ck_assert(!sched_next(&s, SCHED_LOCAL_US, &a));
    ck_assert(sched_next(&s, 2 * SCHED_LOCAL_US, &a));
    task_table_close(&t);
    sched_close(&s);
}

END_TEST

/* A task goes to the worker that has brought its input together if that has a
 * slot, and else to any at once; so do tasks of workers that are gone, and no
 * slot stays free for one that may not have it. */
START_TEST(test_homes)
{
    static const struct sched_worker away = {.host = 2, .disk = 2};
    struct sched s;
    struct task_table t;
    struct sched_action a;
    uint32_t at[8];
    make_sched(&s, 4, 2, 0);
    add_job(&s, &t, 8, (struct sched_job){.weight = 1});
    for (uint32_t i = 0; i < 8; i++)
        task_table_set_home(&t, i, 3 - i / 2);
    sched_set_worker(&s, 2, &away);
    s.workers[0].busy = 1;
    while (sched_next(&s, 0, &a)) {
        sched_done(&s, &a, 0);
        at[a.task] = a.worker;
    }
    ck_assert_uint_eq(t.waiting, 3);
    /* 0 and 1 are 3's, 2 and 3 of one that is gone, 4 and 5 of 1, 6 and 7 of 0,
     * which has one slot. */
    ck_assert(at[0] == 3 && at[1] == 3 && at[4] == 1 && at[5] == 1);
    ck_assert_uint_eq(at[6], 0);
    ck_assert_int_eq(t.tasks[7].state, TASK_WAITING);
    s.workers[1].slots = 4;
    while (sched_next(&s, 0, &a)) {
        sched_done(&s, &a, 0);
        ck_assert_uint_eq(a.worker, 1);
    }
    ck_assert_uint_eq(t.waiting, 1);
    /* Of a worker on which the job fails. */
    s.jobs[0].banned[0] = true;
    s.workers[0].busy = 0;
    ck_assert(!sched_next(&s, 0, &a));
    s.workers[3].slots = 3;
    ck_assert(sched_next(&s, 0, &a));
    ck_assert_uint_eq(a.worker, 3);
    task_table_close(&t);
    sched_close(&s);
}

END_TEST

/* The sentence that people are told. */
static void assert_said(const struct sched *s, uint32_t job, const char *want)
{
    struct buf said = BUF_INIT;
    sched_describe_wait(s, job, "map", 0, &said);
    ck_assert_str_eq(buf_cstr(&said), want);
    buf_close(&said);
}

/* Whatever a job waits for is said in a sentence, with figures. */
START_TEST(test_reasons)
{
    struct sched s;
    struct task_table t[2];
    struct sched_action last;
    make_sched(&s, 2, 2, 100);
    s.workers[0].all_slots = s.workers[1].all_slots = 2;
    add_job(&s, &t[0], 3, (struct sched_job){.attempt_bytes = 60});
    ck_assert_int_eq(sched_why(&s, 0, 0), SCHED_WAIT_NOTHING);
    assert_said(&s, 0, "");
    ck_assert_uint_eq(run_all(&s, 0, &last), 2);
    ck_assert_int_eq(sched_why(&s, 0, 0), SCHED_WAIT_MEMORY);
    assert_said(&s, 0,
                "1 map attempt waits: no worker has the memory an attempt "
                "needs (60 B; at most 40 B are free)");
    add_job(&s, &t[1], 5, (struct sched_job){.quota = 1});
    ck_assert_uint_eq(run_all(&s, 0, &last), 1);
    ck_assert_int_eq(sched_why(&s, 1, 0), SCHED_WAIT_QUOTA);
    assert_said(&s, 1,
                "4 map attempts wait: the job has all the slots it may have "
                "(1)");
    s.jobs[1].quota = 0;
    ck_assert_uint_eq(run_all(&s, 0, &last), 1);
    ck_assert_int_eq(sched_why(&s, 1, 0), SCHED_WAIT_SLOT);
    assert_said(&s, 1,
                "3 map attempts wait for a free slot: 2 workers with 2 slots "
                "each are busy");
    s.workers[0].all_slots = 4;
    s.workers[0].silent = true;
    assert_said(&s, 1,
                "3 map attempts wait for a free slot: 2 workers with 6 slots "
                "are busy, or silent (1)");
    s.workers[0].all_slots = s.workers[1].all_slots = 0;
    assert_said(&s, 1,
                "3 map attempts wait for a free slot: all slots are taken (2), "
                "or silent (1)");
    s.workers[0].up = s.workers[1].up = false;
    ck_assert_int_eq(sched_why(&s, 1, 0), SCHED_WAIT_WORKER);
    assert_said(&s, 1, "3 map attempts wait: no worker is up");
    s.jobs[1].held = true;
    ck_assert_int_eq(sched_why(&s, 1, 0), SCHED_WAIT_MAPS);
    assert_said(&s, 1,
                "3 map attempts wait: maps whose output is gone run again");
    task_table_close(&t[0]);
    task_table_close(&t[1]);
    sched_close(&s);
}

END_TEST

/* A task that failed goes to a worker it has not failed on; a worker on which a
 * job fails again and again is used no more, unless all are like it. */
START_TEST(test_elsewhere)
{
    static const struct task_outcome failed = {.ok = false};
    static const struct task_outcome ok = {.ok = true};
    struct sched s;
    struct task_table t;
    struct sched_action a;
    make_sched(&s, 4, 1, 0);
    add_job(&s, &t, 60, (struct sched_job){.weight = 1});
    for (int i = 0; i < 40; i++) {
        bool bad;
        /* All get their turn. */
        if (!sched_next(&s, 0, &a)) {
            for (int w = 0; w < 4; w++)
                s.workers[w].busy = 0;
            ck_assert(sched_next(&s, 0, &a));
        }
        bad = a.worker == 2;
        for (uint32_t k = 0; k < t.tasks[a.task].avoid_count; k++)
            ck_assert_uint_ne(t.tasks[a.task].avoid[k], a.worker);
        sched_done(&s, &a, 0);
        (void)sched_ended(&s, 0, a.task, a.attempt, bad ? &failed : &ok, 0);
        s.workers[a.worker].busy = 1;
    }
    ck_assert(s.jobs[0].banned[2]);
    ck_assert_uint_eq(s.jobs[0].failures[2], SCHED_BAN_FAILURES);
    task_table_close(&t);
    sched_close(&s);
}

END_TEST

/* A silent attempt is stopped, once. */
START_TEST(test_silence)
{
    static const struct task_outcome failed = {.ok = false};
    struct sched s;
    struct task_table t;
    struct sched_action a;
    make_sched(&s, 2, 1, 0);
    add_job(&s, &t, 1, (struct sched_job){.silence_us = 10 * S});
    ck_assert_uint_eq(run_all(&s, 0, &a), 1);
    task_attempt_progress(task_table_attempt(&t, 0, 1), 1000, true, 5 * S);
    ck_assert_uint_eq(run_all(&s, 15 * S, &a), 0);
    ck_assert_uint_eq(run_all(&s, 15 * S + 1, &a), 1);
    ck_assert_int_eq(a.kind, SCHED_STOP);
    ck_assert_uint_eq(run_all(&s, 16 * S, &a), 0);
    ck_assert_int_eq(sched_ended(&s, 0, 0, 1, &failed, 16 * S), TASK_RETRY);
    ck_assert_uint_eq(run_all(&s, 16 * S, &a), 1);
    ck_assert_uint_eq(a.worker, 1);
    task_table_close(&t);
    sched_close(&s);
}

END_TEST

/* Attempts that are slow by the rule, and others. Nine tasks are done, after 10
 * s each; the tenth runs for @age and has done @ppm. */
START_TEST(test_stragglers)
{
    static const struct {
        uint64_t age;
        uint32_t ppm;
        bool slow;
    } table[] = {
        {1 * S, 0, false},       {4 * S, 100000, false},
        {5 * S, 500000, false},  {5 * S, 300000, false},
        {5 * S, 200000, true},   {9 * S, 0, false},
        {14 * S, 0, false},      {15 * S, 0, true},
        {20 * S, 900000, false}, {30 * S, 600000, true},
        {60 * S, 990000, false}, {60 * S, 0, true},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        static const struct task_outcome ok = {.ok = true};
        uint64_t begin = 10 * S;
        uint64_t now = begin + table[i].age;
        uint32_t found;
        struct task_table t;
        task_table_init(&t, 10, 4, &skips);
        for (uint32_t k = 0; k < 9; k++) {
            (void)task_table_start(&t, k, k, 0);
            (void)task_table_end(&t, k, 1, &ok, 10 * S);
        }
        ck_assert(!straggler_find(&t, now, &found));
        (void)task_table_start(&t, 9, 9, begin);
        task_attempt_progress(&t.tasks[9].live[0], table[i].ppm, true, now);
        ck_assert_msg(straggler_find(&t, now, &found) == table[i].slow,
                      "row %zu", i);
        if (table[i].slow) {
            ck_assert_uint_eq(found, 9);
            (void)task_table_start(&t, 9, 3, now);
            ck_assert(!straggler_find(&t, now + 100 * S, &found));
        }
        task_table_close(&t);
    }
}

END_TEST

/* --- Simulated jobs ------------------------------------------------------ */

#define SIM_WORKERS 8
#define TICK        (10 * MS)
/* After this a silent worker counts as dead. */
#define LEASE (2 * S)

struct sim_attempt {
    bool live;
    uint32_t task;
    uint32_t number;
    double left; /* Seconds of a usual worker. */
    double all;
};

struct sim {
    struct rand_gen rand;
    struct sched sched;
    struct task_table tables[2];
    struct sim_attempt at[SIM_WORKERS][2];
    double speed[SIM_WORKERS];
    uint64_t dies_at[SIM_WORKERS]; /* 0: never. */
    bool lost[SIM_WORKERS];
    uint64_t now;
    unsigned backups;
    unsigned accepted;
};

static void sim_obey(struct sim *m)
{
    struct sched_action a;
    while (sched_next(&m->sched, m->now, &a)) {
        struct sim_attempt *slot = m->at[a.worker];
        sched_done(&m->sched, &a, m->now);
        if (a.kind == SCHED_STOP) {
            static const struct task_outcome failed = {.ok = false};
            /* A worker that is stopped or dead does not answer. */
            if (m->speed[a.worker] <= 0)
                continue;
            if (!slot->live || slot->number != a.attempt ||
                slot->task != a.task)
                slot++;
            slot->live = false;
            (void)sched_ended(&m->sched, 0, a.task, a.attempt, &failed, m->now);
            continue;
        }
        m->backups += a.kind == SCHED_BACKUP;
        if (slot->live)
            slot++;
        slot->live = true;
        slot->task = a.task;
        slot->number = a.attempt;
        slot->all = slot->left = 0.8 + 0.4 * rand_double(&m->rand);
    }
}

static void sim_worker(struct sim *m, uint32_t w, struct task_table *t)
{
    static const struct task_outcome ok = {.ok = true};
    if (m->dies_at[w] && m->now >= m->dies_at[w])
        m->speed[w] = 0;
    if (m->dies_at[w] && m->now >= m->dies_at[w] + LEASE && !m->lost[w]) {
        m->lost[w] = true;
        sched_lose_worker(&m->sched, w, true);
        m->at[w][0].live = m->at[w][1].live = false;
    }
    for (int k = 0; k < 2; k++) {
        struct sim_attempt *at = &m->at[w][k];
        struct task_attempt *a;
        if (!at->live || m->speed[w] <= 0)
            continue;
        at->left -= m->speed[w] * (double)TICK / 1e6;
        if (at->left <= 0) {
            at->live = false;
            m->accepted += sched_ended(&m->sched, 0, at->task, at->number, &ok,
                                       m->now) == TASK_ACCEPT;
            continue;
        }
        a = task_table_attempt(t, at->task, at->number);
        task_attempt_progress(a, (uint32_t)(1e6 * (1 - at->left / at->all)),
                              true, m->now);
    }
}

/* Run a job of @maps and @reduces; returns its time in seconds. Reduces are not
 * begun before all maps are done, and a dead worker's maps are lost. */
static double sim_run(struct sim *m, uint32_t maps, uint32_t reduces)
{
    make_sched(&m->sched, SIM_WORKERS, 2, 0);
    add_job(&m->sched, &m->tables[0], maps,
            (struct sched_job){.backups = true});
    task_table_init(&m->tables[1], reduces, 4, &skips);
    for (int phase = 0; phase < 2; phase++) {
        struct task_table *t = &m->tables[phase];
        sched_set_tasks(&m->sched, 0, t, m->now);
        for (uint32_t w = 0; w < SIM_WORKERS; w++)
            for (int k = 0; k < 2; k++)
                if (m->speed[w] > 0)
                    m->at[w][k].live = false;
        while (t->done < t->count) {
            sim_obey(m);
            m->now += TICK;
            for (uint32_t w = 0; w < SIM_WORKERS; w++)
                sim_worker(m, w, t);
            ck_assert_uint_lt(m->now, 1000 * S);
        }
        /* Losers of the phase are stopped before the next. */
        sim_obey(m);
    }
    sched_close(&m->sched);
    task_table_close(&m->tables[0]);
    task_table_close(&m->tables[1]);
    return (double)m->now / 1e6;
}

static void sim_init(struct sim *m, uint64_t seed)
{
    memset(m, 0, sizeof(*m));
    rand_init(&m->rand, seed);
    for (int w = 0; w < SIM_WORKERS; w++)
        m->speed[w] = 1;
}

/* With one of eight workers stopped for the whole job, backup tasks keep its
 * time within 1.4 of the undisturbed one; with a slow one, too. */
START_TEST(test_stopped_worker)
{
    double worst = 0;
    for (uint64_t seed = test_seed(), i = 0; i < 40; i++) {
        static const double speeds[] = {0, 0.1, 0.25, 0.5};
        struct sim m;
        double plain;
        double disturbed;
        sim_init(&m, seed + i);
        plain = sim_run(&m, 160, 32);
        ck_assert_uint_eq(m.accepted, 192);
        sim_init(&m, seed + i);
        m.speed[i % SIM_WORKERS] = speeds[i / SIM_WORKERS % 4];
        disturbed = sim_run(&m, 160, 32);
        ck_assert_uint_eq(m.accepted, 192);
        ck_assert(speeds[i / SIM_WORKERS % 4] > 0 || m.backups > 0);
        ck_assert_msg(disturbed <= 1.4 * plain, "seed %llu: %.1f s of %.1f s",
                      (unsigned long long)(seed + i), disturbed, plain);
        worst = disturbed / plain > worst ? disturbed / plain : worst;
    }
    printf("one of 8 workers stopped or slow: at worst %.2f of the time\n",
           worst);
}

END_TEST

/* With two of eight workers killed midway, and what maps left there lost, the
 * job takes a quarter longer at most, besides the share that was lost. */
START_TEST(test_killed_workers)
{
    double worst = 0;
    for (uint64_t seed = test_seed(), i = 0; i < 40; i++) {
        struct sim m;
        double plain;
        double disturbed;
        sim_init(&m, seed + i);
        plain = sim_run(&m, 320, 64);
        sim_init(&m, seed + i);
        m.dies_at[i % 8] = m.dies_at[(i + 3) % 8] = (uint64_t)(plain * 5e5);
        disturbed = sim_run(&m, 320, 64);
        ck_assert_uint_ge(m.accepted, 384);
        ck_assert_msg(disturbed <= (1.25 + 2.0 / 8) * plain,
                      "seed %llu: %.1f s of %.1f s",
                      (unsigned long long)(seed + i), disturbed, plain);
        worst = disturbed / plain > worst ? disturbed / plain : worst;
    }
    printf("2 of 8 workers killed midway: at worst %.2f of the time\n", worst);
}

END_TEST

/* Deciding costs microseconds a task, also with many of everything. */
START_TEST(test_overhead)
{
    static const struct task_outcome ok = {.ok = true};

    enum {
        TASKS = 10000,
        WORKERS = 200
    };
    struct sched s;
    struct task_table t;
    struct sched_action a;
    struct sched_action *running = mem_zalloc(TASKS + 1, sizeof(*running));
    uint64_t now = 0;
    unsigned n = 0;
    unsigned next = 0;
    clock_t begin = clock();
    double ms;
    make_sched(&s, WORKERS, 2, 0);
    add_job(&s, &t, TASKS, (struct sched_job){.backups = true});
    for (uint32_t i = 0; i < TASKS; i++)
        task_table_place(&t, i, i % WORKERS);
    while (t.done < TASKS) {
        while (n < TASKS && sched_next(&s, now, &a)) {
            sched_done(&s, &a, now);
            running[n++] = a;
        }
        now += 100;
        (void)sched_ended(&s, 0, running[next].task, running[next].attempt, &ok,
                          now);
        next++;
    }
    ms = 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("%.4f ms a task of %d on %d workers\n", ms / TASKS, TASKS, WORKERS);
    ck_assert(ms / TASKS < 3);
    mem_free(running);
    task_table_close(&t);
    sched_close(&s);
}

END_TEST

TEST_MAIN("schedule",
          test_shares,
          test_places,
          test_homes,
          test_reasons,
          test_elsewhere,
          test_silence,
          test_stragglers,
          test_stopped_worker,
          test_killed_workers,
          test_overhead)
