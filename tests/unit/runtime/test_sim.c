/* The simulated world repeats itself exactly, loses what was not synced and
 * nothing else, and fails where it is told to. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;

static struct world *new_world(uint64_t seed)
{
    return sim_world_new(&(struct sim_options){.seed = seed});
}

static struct file *must_open(const char *path, unsigned flags)
{
    struct err err = ERR_INIT;
    struct file *f;
    ck_assert_msg(file_open(world, path, flags, &f, &err) == 0, "%s", err.text);
    return f;
}

static int write_text(struct file *f, uint64_t at, const char *text)
{
    struct slice s = slice_str(text);
    return file_write_at(f, at, &s, 1, NULL);
}

/* Contents of @path, a dot for each zero byte, or NULL if there is none; the
 * caller frees. */
static char *contents(const char *path)
{
    static char bytes[1 << 16];
    struct err err = ERR_INIT;
    struct file *f;
    size_t got;
    if (file_open(world, path, FILE_READ, &f, &err))
        return NULL;
    ck_assert_int_eq(file_read_at(f, 0, bytes, sizeof(bytes), &got, &err), 0);
    file_close(f);
    for (size_t i = 0; i < got; i++)
        if (!bytes[i])
            bytes[i] = '.';
    return strndup(bytes, got);
}

static void expect(const char *path, const char *want)
{
    char *got = contents(path);
    if (!want)
        ck_assert_msg(!got, "%s should be lost", path);
    else
        ck_assert_str_eq(got ? got : "(none)", want);
    free(got);
}

/* --- Scheduler ----------------------------------------------------------- */

struct counters {
    struct mutex mutex;
    struct cond changed;
    int entered; /* Guarded by mutex. */
    int order[64];
    int count;
};

static void count_up(void *arg)
{
    struct counters *c = arg;
    int me;
    mutex_lock(&c->mutex);
    me = c->entered++;
    mutex_unlock(&c->mutex);
    for (int i = 0; i < 4; i++) {
        mutex_lock(&c->mutex);
        world_sleep_us(world, 10); /* Held over a parking call. */
        c->order[c->count++] = me;
        mutex_unlock(&c->mutex);
        world_sleep_us(world, world_random(world) % 30);
    }
    mutex_lock(&c->mutex);
    cond_broadcast(&c->changed);
    mutex_unlock(&c->mutex);
}

static void run_tasks(void *arg)
{
    struct counters *c = arg;
    struct task *tasks[8];
    for (int i = 0; i < 8; i++)
        tasks[i] = task_start(world, "counter", count_up, c);
    mutex_lock(&c->mutex);
    while (c->count < 32)
        cond_wait(&c->changed, &c->mutex);
    mutex_unlock(&c->mutex);
    for (int i = 0; i < 8; i++)
        task_join(tasks[i]);
}

static void run_counters(uint64_t seed, struct counters *c)
{
    *c = (struct counters){.count = 0};
    mutex_init(&c->mutex);
    cond_init(&c->changed);
    world = new_world(seed);
    sim_run(world, run_tasks, c);
    world_free(world);
    cond_close(&c->changed);
    mutex_close(&c->mutex);
}

/* Equal seeds give equal interleavings, other seeds other ones. */
START_TEST(test_seed_decides_order)
{
    struct counters a;
    struct counters b;
    int different = 0;
    run_counters(1, &a);
    run_counters(1, &b);
    ck_assert_mem_eq(a.order, b.order, sizeof(a.order));
    for (uint64_t seed = 2; seed < 12; seed++) {
        run_counters(seed, &b);
        different += memcmp(a.order, b.order, sizeof(a.order)) != 0;
    }
    ck_assert_int_ge(different, 9);
}

END_TEST

static void sleep_long(void *arg)
{
    uint64_t *slept = arg;
    uint64_t before = world_now_us(world);
    world_sleep_us(world, UINT64_C(86400000000));
    *slept = world_now_us(world) - before;
}

/* A day passes in no time. */
START_TEST(test_time_is_virtual)
{
    uint64_t slept = 0;
    world = new_world(1);
    sim_run(world, sleep_long, &slept);
    ck_assert(slept >= UINT64_C(86400000000) && slept < UINT64_C(86400000100));
    world_free(world);
}

END_TEST

static void time_out(void *arg)
{
    struct counters *c = arg;
    mutex_lock(&c->mutex);
    c->count = cond_wait_us(&c->changed, &c->mutex, world, 5000) ? 1 : 2;
    mutex_unlock(&c->mutex);
}

/* A timed wait ends by the virtual clock. */
START_TEST(test_timed_wait)
{
    struct counters c = {.count = 0};
    mutex_init(&c.mutex);
    cond_init(&c.changed);
    world = new_world(1);
    sim_run(world, time_out, &c);
    ck_assert_int_eq(c.count, 2);
    world_free(world);
}

END_TEST

static void wait_for_ever(void *arg)
{
    struct counters *c = arg;
    mutex_lock(&c->mutex);
    cond_wait(&c->changed, &c->mutex);
}

/* When no fiber can continue, the world reports it and ends. */
START_TEST(test_deadlock_panics)
{
    struct counters c = {.count = 0};
    mutex_init(&c.mutex);
    cond_init(&c.changed);
    world = new_world(1);
    sim_run(world, wait_for_ever, &c);
}

END_TEST

/* --- Disk ---------------------------------------------------------------- */

/* The bytes of a file survive its sync, its name that of its directory. */
START_TEST(test_what_is_durable)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct err err = ERR_INIT;
        struct file *f;
        world = new_world(seed);
        ck_assert_int_eq(world_mkdir(world, "d", &err), 0);
        ck_assert_int_eq(world_sync_dir(world, "/", &err), 0);
        f = must_open("d/a", FILE_WRITE | FILE_CREATE);
        ck_assert_int_eq(write_text(f, 0, "synced"), 0);
        ck_assert_int_eq(file_sync(f, &err), 0);
        ck_assert_int_eq(world_sync_dir(world, "d", &err), 0);
        ck_assert_int_eq(write_text(f, 0, "SYNCED, not this"), 0);
        sim_power_on(world);
        ck_assert_int_eq(write_text(f, 0, "stale"), ERR_IO);
        file_close(f);
        {
            char *got = contents("d/a");
            ck_assert(got && strncasecmp(got, "synced", 6) == 0);
            free(got);
        }
        world_free(world);
    }
}

END_TEST

/* Everything that is not synced is lost in some run and kept in another. */
START_TEST(test_unsynced_is_drawn)
{
    int name_lost = 0;
    int bytes_lost = 0;
    int torn = 0;
    int kept = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct err err = ERR_INIT;
        static char block[4 * SIM_SECTOR_BYTES + 1];
        struct file *f;
        char *got;
        world = new_world(seed);
        memset(block, 'x', sizeof(block) - 1);
        f = must_open("a", FILE_WRITE | FILE_CREATE);
        ck_assert_int_eq(write_text(f, 0, block), 0);
        file_close(f);
        sim_power_on(world);
        got = contents("a");
        name_lost += !got;
        if (got && strcmp(got, block) == 0)
            kept++;
        else if (got && strlen(got) == 0)
            bytes_lost++;
        else if (got)
            torn++;
        free(got);
        world_free(world);
        (void)err;
    }
    printf("of 200: %d nameless, %d empty, %d torn, %d kept\n", name_lost,
           bytes_lost, torn, kept);
    ck_assert(name_lost > 20 && bytes_lost > 10 && torn > 10 && kept > 20);
}

END_TEST

/* A rename within a directory happens or not; it never loses the file. */
START_TEST(test_rename_is_atomic)
{
    int renamed = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct err err = ERR_INIT;
        struct file *f;
        char *a;
        char *b;
        world = new_world(seed);
        f = must_open("a", FILE_WRITE | FILE_CREATE);
        ck_assert_int_eq(write_text(f, 0, "new"), 0);
        ck_assert_int_eq(file_sync(f, &err), 0);
        file_close(f);
        f = must_open("b", FILE_WRITE | FILE_CREATE);
        ck_assert_int_eq(write_text(f, 0, "old"), 0);
        ck_assert_int_eq(file_sync(f, &err), 0);
        file_close(f);
        ck_assert_int_eq(world_sync_dir(world, "/", &err), 0);
        ck_assert_int_eq(world_rename(world, "a", "b", &err), 0);
        expect("b", "new");
        expect("a", NULL);
        sim_power_on(world);
        a = contents("a");
        b = contents("b");
        ck_assert_ptr_nonnull(b);
        ck_assert((a && strcmp(b, "old") == 0) ||
                  (!a && strcmp(b, "new") == 0));
        renamed += !a;
        free(a);
        free(b);
        world_free(world);
    }
    ck_assert(renamed > 20 && renamed < 80);
}

END_TEST

/* From the sync at which the power goes every call fails, until it is back. */
START_TEST(test_power_goes_at_sync)
{
    struct err err = ERR_INIT;
    struct file *f;
    char **names;
    size_t count;
    world = new_world(3);
    f = must_open("a", FILE_WRITE | FILE_CREATE);
    ck_assert_int_eq(world_sync_dir(world, "/", &err), 0);
    sim_power_off_at_sync(world, 2);
    ck_assert_int_eq(write_text(f, 0, "one"), 0);
    ck_assert_int_eq(file_sync(f, &err), 0);
    ck_assert_int_eq(write_text(f, 0, "two"), 0);
    ck_assert_int_eq(file_sync(f, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "power lost"));
    ck_assert_int_eq(write_text(f, 0, "three"), ERR_IO);
    ck_assert_int_eq(world_list(world, "/", &names, &count, &err), ERR_IO);
    ck_assert(sim_is_off(world));
    file_close(f);
    sim_power_on(world);
    {
        char *got = contents("a");
        ck_assert(strcmp(got, "one") == 0 || strcmp(got, "two") == 0);
        free(got);
    }
    world_free(world);
}

END_TEST

/* After a failed sync a later good one does not save the earlier bytes. */
START_TEST(test_failed_sync_leaves_doubt)
{
    int lost = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct err err = ERR_INIT;
        struct file *f;
        char *got;
        world = new_world(seed);
        f = must_open("a", FILE_WRITE | FILE_CREATE);
        ck_assert_int_eq(world_sync_dir(world, "/", &err), 0);
        ck_assert_int_eq(write_text(f, 0, "bytes"), 0);
        sim_fail_at_op(world, 1);
        ck_assert_int_eq(file_sync(f, &err), ERR_IO);
        ck_assert_int_eq(file_sync(f, &err), 0);
        expect("a", "bytes");
        file_close(f);
        sim_power_on(world);
        got = contents("a");
        lost += strcmp(got, "bytes") != 0;
        free(got);
        world_free(world);
    }
    ck_assert(lost > 10 && lost < 50);
}

END_TEST

/* A full disk takes what fits and says so; space freed is space again. */
START_TEST(test_full_disk)
{
    struct err err = ERR_INIT;
    struct file *f;
    world = sim_world_new(&(struct sim_options){.seed = 1, .disk_bytes = 10});
    f = must_open("a", FILE_WRITE | FILE_CREATE);
    ck_assert_int_eq(write_text(f, 0, "12345678"), 0);
    ck_assert_int_eq(write_text(f, 8, "abcd"), ERR_FULL);
    expect("a", "12345678ab");
    ck_assert_int_eq(write_text(f, 0, "over"), 0);
    ck_assert_int_eq(file_truncate(f, 0, &err), 0);
    ck_assert_int_eq(write_text(f, 0, "again"), 0);
    ck_assert_uint_eq(sim_disk_bytes(world), 5);
    file_close(f);
    world_free(world);
}

END_TEST

/* A flipped bit stays flipped; a flip while reading is gone the next time. */
START_TEST(test_bit_flips)
{
    struct err err = ERR_INIT;
    struct file *f;
    int flips = 0;
    world = new_world(5);
    f = must_open("a", FILE_WRITE | FILE_CREATE);
    ck_assert_int_eq(write_text(f, 0, "abc"), 0);
    file_close(f);
    ck_assert_int_eq(sim_flip_bit(world, "a", 1, 0, &err), 0);
    expect("a", "acc");
    ck_assert_int_eq(sim_flip_bit(world, "a", 3, 0, &err), ERR_INVALID);
    ck_assert_int_eq(sim_flip_bit(world, "b", 0, 0, &err), ERR_NOTFOUND);
    sim_set_options(world, &(struct sim_options){.read_flip_rate = 500000});
    for (int i = 0; i < 100; i++) {
        char *got = contents("a");
        flips += strcmp(got, "acc") != 0;
        free(got);
    }
    ck_assert(flips > 25 && flips < 75);
    world_free(world);
}

END_TEST

/* A lock excludes until it is given back or the power goes. */
START_TEST(test_locks)
{
    struct err err = ERR_INIT;
    struct file_lock *l;
    struct file_lock *second;
    world = new_world(5);
    ck_assert_int_eq(file_lock(world, "LOCK", &l, &err), 0);
    ck_assert_int_eq(file_lock(world, "LOCK", &second, &err), ERR_BUSY);
    sim_power_on(world);
    ck_assert_int_eq(file_lock(world, "LOCK", &second, &err), 0);
    file_unlock(l);
    file_unlock(second);
    world_free(world);
}

END_TEST

/* --- Everything together ------------------------------------------------- */

static void churn(void *arg)
{
    struct rand_gen r;
    char path[32];
    char to[32];
    rand_init(&r, *(uint64_t *)arg);
    for (int i = 0; i < 200; i++) {
        struct file *f;
        snprintf(path, sizeof(path), "f%d", (int)rand_below(&r, 10));
        snprintf(to, sizeof(to), "f%d", (int)rand_below(&r, 10));
        switch (rand_below(&r, 4)) {
        case 0:
            if (world_rename(world, path, to, NULL))
                continue;
            break;
        case 1:
            if (world_remove(world, path, NULL))
                continue;
            break;
        case 2:
            if (world_sync_dir(world, "/", NULL))
                continue;
            break;
        default:
            if (file_open(world, path, FILE_WRITE | FILE_CREATE, &f, NULL))
                continue;
            if (write_text(f, rand_below(&r, 2000), path) ||
                (rand_one_in(&r, 2) && file_sync(f, NULL)))
                i++;
            file_close(f);
        }
    }
}

static void churn_many(void *arg)
{
    uint64_t seeds[4] = {1, 2, 3, 4};
    struct task *tasks[4];
    (void)arg;
    for (int i = 0; i < 4; i++)
        tasks[i] = task_start(world, "churn", churn, &seeds[i]);
    for (int i = 0; i < 4; i++)
        task_join(tasks[i]);
}

static uint64_t churn_hash(uint64_t seed)
{
    uint64_t hash;
    world = sim_world_new(&(struct sim_options){.seed = seed,
                                                .write_us = 30,
                                                .sync_us = 3000,
                                                .write_error_rate = 20000,
                                                .sync_error_rate = 20000,
                                                .read_flip_rate = 1000});
    for (int life = 0; life < 3; life++) {
        sim_power_off_at_op(world, 150 + (uint64_t)life * 77);
        sim_run(world, churn_many, NULL);
        sim_power_on(world);
    }
    hash = sim_trace_hash(world);
    world_free(world);
    return hash;
}

/* A run with every kind of fault repeats to the last operation. */
START_TEST(test_runs_repeat)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        ck_assert_uint_eq(churn_hash(seed), churn_hash(seed));
    ck_assert_uint_ne(churn_hash(1), churn_hash(2));
}

END_TEST

int main(void)
{
    Suite *suite = suite_create("sim");
    TCase *tc = tcase_create("deadlock");
    SRunner *runner;
    int failed;
    tcase_add_test_raise_signal(tc, test_deadlock_panics, SIGABRT);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    {
        const TTest *const tests[] = {test_seed_decides_order,
                                      test_time_is_virtual,
                                      test_timed_wait,
                                      test_what_is_durable,
                                      test_unsynced_is_drawn,
                                      test_rename_is_atomic,
                                      test_power_goes_at_sync,
                                      test_failed_sync_leaves_doubt,
                                      test_full_disk,
                                      test_bit_flips,
                                      test_locks,
                                      test_runs_repeat};
        return check_main("sim", tests, sizeof(tests) / sizeof(tests[0])) ||
               failed;
    }
}
