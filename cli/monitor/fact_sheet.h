/* The facts of one moment while they are gathered, and what is remembered from
 * one moment to the next. For the files that gather: finding_watch.c,
 * fact_tables.c and fact_jobs.c.
 *
 * Threads: one loop; any number of fibers. Whatever parks reads the memory
 * again.
 */
#ifndef CLI_MONITOR_FACT_SHEET_H
#define CLI_MONITOR_FACT_SHEET_H

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/hash_map.h"
#include "base/runtime/sync.h"
#include "cli/monitor/finding_facts.h"
#include "cli/monitor/finding_trends.h"
#include "cli/monitor/subject.h"

struct finding_memory;

/* The loads of the tablets of tables that are busy. */
struct tablet_loads {
    uint64_t at_ns; /* 0: never asked. */
    struct err err; /* Of the last time. */
    struct arena arena;
    struct fact_tablet *at;
    size_t count;
};

struct finding_watch {
    struct finding_memory *memory; /* Owned, */
    struct finding_trends *trends; /* both. */
    struct hash_map heard; /* Address to when it last answered, in µs. */
    struct hash_map jobs;  /* Of fact_jobs.c. */
    struct mutex asking;   /* Of loads. */
    struct tablet_loads loads;
};

struct fact_sheet {
    struct monitor *monitor;
    struct finding_watch *watch;
    struct monitor_nodes *nodes;
    struct arena arena; /* Of what the facts borrow. */
    struct finding_facts facts;
    struct fact_node *own_nodes; /* Those of the facts. */
};

/* Give the running fiber a deadline for questions to one service. Returns the
 * one before, for fiber_set_deadline(). */
uint64_t fact_sheet_begin_asking(const struct fact_sheet *s);

/* Fill facts.tablets. Parks. */
void fact_sheet_take_tablets(struct fact_sheet *s);
/* Fill facts.jobs. Parks. */
void fact_sheet_take_jobs(struct fact_sheet *s);
/* Forget what was remembered of jobs. */
void fact_sheet_forget_jobs(struct finding_watch *w);

#endif /* CLI_MONITOR_FACT_SHEET_H */
