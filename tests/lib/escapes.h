/* Ways out of the sandbox of jobs: what hostile code would try, one at a time.
 *
 * They run inside of a job, as a command or in its own process, and are told
 * what to aim at by the environment: QUARRY_PARAM_ and the name of an aim.
 */
#ifndef TESTS_LIB_ESCAPES_H
#define TESTS_LIB_ESCAPES_H

#include <stdbool.h>
#include <stddef.h>

/* Where it succeeds without a sandbox, which shows that the attempt is a real
 * one.
 */
enum escape_control {
    ESCAPE_ANYBODY,
    ESCAPE_ROOT,
    ESCAPE_NOBODY, /* It would harm the machine, or this one lacks it. */
};

struct escape {
    const char *name;
    enum escape_control control;
    /* Returns a negative number, with errno set, where it was refused. */
    long (*attempt)(void);
};

extern const struct escape escapes[];
extern const size_t escape_count;

/* All of them, a line "name<tab>done" or "name<tab>ENAME" each, to standard
 * output. */
void escapes_try_all(void);

#endif /* TESTS_LIB_ESCAPES_H */
