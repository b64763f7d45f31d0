/* The simulated disk keeps exactly what it promises: after a loss of power each
 * sector holds what it held at the last sync or something written since, each
 * name means what it meant at the last sync of its directory or since, and
 * nothing else.
 *
 * The model remembers, for every sector of every file and for every name, the
 * set of states it may be found in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

enum {
    FILES = 60,  /* Ever created; each with an own identity. */
    NAMES = 6,   /* Names they go by. */
    SECTORS = 8, /* Of each file. */
    STEPS = 120,
    RUNS = 150,
    STATES_MAX = STEPS + 2,
};

/* --- Model --------------------------------------------------------------- */

/* A thing's possible states: the one last synced and those since. The last is
 * the current one. */
struct states {
    int values[STATES_MAX];
    int count;
};

static void set_now(struct states *s, int value)
{
    s->values[s->count++] = value;
}

static int current(const struct states *s)
{
    return s->values[s->count - 1];
}

static void synced(struct states *s)
{
    s->values[0] = current(s);
    s->count = 1;
}

static bool possible(const struct states *s, int value)
{
    for (int i = 0; i < s->count; i++)
        if (s->values[i] == value)
            return true;
    return false;
}

/* After the loss: what was found is what is, and durable. */
static void found(struct states *s, int value)
{
    s->values[0] = value;
    s->count = 1;
}

static struct states sectors[FILES][SECTORS]; /* The byte they are full of. */
static struct states names[NAMES];            /* File number, or -1: none. */
static int file_count;
static struct world *world;
static struct rand_gen rand_;

static const char *name_of(int n)
{
    static char text[2][16];
    static int turn;
    turn ^= 1;
    snprintf(text[turn], sizeof(text[turn]), "n%d", n);
    return text[turn];
}

/* --- Steps --------------------------------------------------------------- */

/* The first sector holds the file's number for ever: it is written and synced
 * before the name exists for anybody else. */
static void create(int n)
{
    char block[SIM_SECTOR_BYTES];
    struct slice part = slice_make(block, sizeof(block));
    struct file *f;
    int number = file_count++;
    ck_assert_int_eq(file_open(world, name_of(n),
                               FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &f,
                               NULL),
                     0);
    memset(block, number + 1, sizeof(block));
    ck_assert_int_eq(file_write_at(f, 0, &part, 1, NULL), 0);
    memset(block, 0, sizeof(block));
    for (int i = 1; i < SECTORS; i++)
        ck_assert_int_eq(
            file_write_at(f, (uint64_t)i * sizeof(block), &part, 1, NULL), 0);
    ck_assert_int_eq(file_sync(f, NULL), 0);
    file_close(f);
    for (int i = 0; i < SECTORS; i++)
        found(&sectors[number][i], i ? 0 : number + 1);
    set_now(&names[n], number);
}

static void write_some(int n)
{
    static char bytes[SECTORS * SIM_SECTOR_BYTES];
    int number = current(&names[n]);
    int first = 1 + (int)rand_below(&rand_, SECTORS - 1);
    int count = 1 + (int)rand_below(&rand_, (uint64_t)(SECTORS - first));
    int value = 1 + (int)rand_below(&rand_, 255);
    struct slice part = slice_make(bytes, (size_t)count * SIM_SECTOR_BYTES);
    struct file *f;
    memset(bytes, value, part.len);
    ck_assert_int_eq(file_open(world, name_of(n), FILE_WRITE, &f, NULL), 0);
    ck_assert_int_eq(
        file_write_at(f, (uint64_t)first * SIM_SECTOR_BYTES, &part, 1, NULL),
        0);
    for (int i = first; i < first + count; i++)
        set_now(&sectors[number][i], value);
    if (rand_one_in(&rand_, 3)) {
        ck_assert_int_eq(file_sync(f, NULL), 0);
        for (int i = 0; i < SECTORS; i++)
            synced(&sectors[number][i]);
    }
    file_close(f);
}

static void step(void)
{
    int a = (int)rand_below(&rand_, NAMES);
    int b = (int)rand_below(&rand_, NAMES);
    bool exists = current(&names[a]) >= 0;
    switch (rand_below(&rand_, 8)) {
    case 0:
        ck_assert_int_eq(world_sync_dir(world, "/", NULL), 0);
        for (int i = 0; i < NAMES; i++)
            synced(&names[i]);
        break;
    case 1:
        if (exists) {
            ck_assert_int_eq(world_remove(world, name_of(a), NULL), 0);
            set_now(&names[a], -1);
        }
        break;
    case 2:
        if (exists && a != b) {
            ck_assert_int_eq(world_rename(world, name_of(a), name_of(b), NULL),
                             0);
            set_now(&names[b], current(&names[a]));
            set_now(&names[a], -1);
        }
        break;
    default:
        if (exists)
            write_some(a);
        else if (file_count < FILES)
            create(a);
    }
}

/* --- Expectations -------------------------------------------------------- */

/* The byte sector @i is full of; fails when it is a mixture. */
static int sector_value(const char *bytes, int i)
{
    const char *p = bytes + (size_t)i * SIM_SECTOR_BYTES;
    ck_assert(memcmp(p, p + 1, SIM_SECTOR_BYTES - 1) == 0);
    return (unsigned char)p[0];
}

static void check_name(int n)
{
    static char bytes[SECTORS * SIM_SECTOR_BYTES + 1];
    struct file *f;
    size_t got;
    int number;
    if (file_open(world, name_of(n), FILE_READ, &f, NULL)) {
        ck_assert_msg(possible(&names[n], -1), "%s is lost", name_of(n));
        found(&names[n], -1);
        return;
    }
    ck_assert_int_eq(file_read_at(f, 0, bytes, sizeof(bytes), &got, NULL), 0);
    file_close(f);
    ck_assert_uint_eq(got, SECTORS * SIM_SECTOR_BYTES);
    number = sector_value(bytes, 0) - 1;
    ck_assert_msg(number >= 0 && possible(&names[n], number),
                  "%s means file %d", name_of(n), number);
    for (int i = 1; i < SECTORS; i++) {
        int value = sector_value(bytes, i);
        ck_assert_msg(possible(&sectors[number][i], value),
                      "file %d sector %d holds %d", number, i, value);
        found(&sectors[number][i], value);
    }
    found(&names[n], number);
}

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_promises)
{
    uint64_t seed = test_seed();
    for (uint64_t run = 0; run < RUNS; run++) {
        rand_init(&rand_, seed + run);
        world = sim_world_new(&(struct sim_options){.seed = seed + run});
        file_count = 0;
        for (int n = 0; n < NAMES; n++)
            found(&names[n], -1);
        for (int life = 0; life < 4; life++) {
            uint64_t steps = 1 + rand_below(&rand_, STEPS);
            for (uint64_t i = 0; i < steps; i++)
                step();
            sim_power_on(world);
            for (int n = 0; n < NAMES; n++)
                check_name(n);
        }
        world_free(world);
    }
}

END_TEST

TEST_MAIN("disk_model", test_promises)
