/* How the program of an observer is run: an engine for each kind. The engine of
 * Sawzall is in this room; those that start processes are not the library's.
 *
 * Threads: a state belongs to one run of an observer, and to one thread.
 */
#ifndef BIGTABLE_OBSERVER_OBSERVER_CODE_H
#define BIGTABLE_OBSERVER_OBSERVER_CODE_H

#include "bigtable/follow/follow.h"
#include "bigtable/observer/observer_settings.h"
#include "bigtable/quarry_observer.h"

struct world;

/* Given to an engine; all is borrowed, and lives as long as its state. */
struct observer_setup {
    const char *name;  /* Of the observer. */
    const char *table; /* It observes. */
    const struct observer_settings *settings;
    const quarry_flag *stop; /* The run shall end. */
    struct world *world;
    const void *host; /* observer_kind.host. */
};

struct observer_engine {
    const char *kind;
    /* *@state is owned: close(). Errors are the run's. */
    int (*open)(const struct observer_setup *setup,
                void **state,
                struct err *err);
    /* Run it over @rows; writes by quarry_observer_write(). *@done of the
     * first succeeded. A failure is that of the next with *@exact, and of one
     * of the rest without. ERR_UNSUPPORTED, ERR_CANCELLED: of none; the run
     * ends. */
    int (*rows)(void *state,
                struct quarry_observation *rows,
                size_t count,
                size_t *done,
                bool *exact,
                struct err *err);
    void (*close)(void *state);
};

/* The kind of follower that runs observers that keep a program. */
struct observer_kind {
    struct follower_kind kind; /* First: the run knows it alone. */
    const struct observer_engine *const *engines; /* Ends with NULL. */
    const void *host; /* Of the engines: what this process allows. */
};

/* A kind with @engines, all borrowed. */
struct observer_kind
observer_kind_make(const struct observer_engine *const *engines,
                   const void *host);

extern const struct observer_engine observer_saw;

#endif /* BIGTABLE_OBSERVER_OBSERVER_CODE_H */
