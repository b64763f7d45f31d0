/* Fault points: a small table that is empty outside tests. A spin lock
 * guards it, because a hit may come from any thread and from below the
 * allocator, where nothing may sleep. */
#include "base/core/fault.h"

#include <string.h>

#include "base/core/panic.h"

struct point {
    char name[FAULT_NAME_BYTES]; /* "": the slot is free. */
    uint64_t hits;
    uint64_t nth;    /* The first hit that fails. */
    uint64_t count;  /* Hits that are to fail. */
    uint64_t failed; /* Hits that did. */
};

atomic_uint fault__armed_count;

static struct point points[FAULT_POINTS_MAX];
static atomic_flag guard = ATOMIC_FLAG_INIT; /* Of `points`. */

static void take_guard(void)
{
    while (atomic_flag_test_and_set(&guard))
        ;
}

static void give_guard(void)
{
    atomic_flag_clear(&guard);
}

/* PRE: the guard is held. @name "" finds a free slot. */
static struct point *fault_find_point(const char *name)
{
    for (size_t i = 0; i < FAULT_POINTS_MAX; i++)
        if (strcmp(points[i].name, name) == 0)
            return &points[i];
    return NULL;
}

void fault_arm(const char *name, uint64_t nth, uint64_t count)
{
    struct point *p;
    PRE(name[0] && strlen(name) < FAULT_NAME_BYTES);
    PRE(nth > 0);
    take_guard();
    p = fault_find_point(name);
    if (!p) {
        p = fault_find_point("");
        if (p)
            atomic_fetch_add(&fault__armed_count, 1);
    }
    if (p) {
        *p = (struct point){.nth = nth, .count = count};
        memcpy(p->name, name, strlen(name));
    }
    give_guard();
    PRE(p); /* FAULT_POINTS_MAX at once. */
}

uint64_t fault_disarm(const char *name)
{
    struct point *p;
    uint64_t failed = 0;
    take_guard();
    p = fault_find_point(name);
    if (p) {
        failed = p->failed;
        INVARIANT(atomic_load(&fault__armed_count) > 0);
        p->name[0] = '\0';
        atomic_fetch_sub(&fault__armed_count, 1);
    }
    give_guard();
    return failed;
}

void fault_disarm_all(void)
{
    take_guard();
    for (size_t i = 0; i < FAULT_POINTS_MAX; i++)
        points[i].name[0] = '\0';
    atomic_store(&fault__armed_count, 0);
    give_guard();
}

uint64_t fault_hit_count(const char *name)
{
    struct point *p;
    uint64_t hits;
    take_guard();
    p = fault_find_point(name);
    hits = p ? p->hits : 0;
    give_guard();
    return hits;
}

bool fault__hit_slow(const char *name)
{
    struct point *p;
    bool fails = false;
    take_guard();
    p = fault_find_point(name);
    if (p) {
        p->hits++;
        fails = p->hits >= p->nth && p->failed < p->count;
        p->failed += fails;
    }
    give_guard();
    return fails;
}
