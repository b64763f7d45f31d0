/* `quarry attempts`: what a worker starts for each job, and nobody else. */
#ifndef CLI_ATTEMPTS_H
#define CLI_ATTEMPTS_H

#include <stdbool.h>

/* The words of the command behind its name, "" where there is none of it. */
enum attempts_word {
    ATTEMPTS_CELL, /* Addresses. */
    ATTEMPTS_CLUSTER,
    ATTEMPTS_NAME, /* Of the node. */
    ATTEMPTS_KEY,  /* Paths. */
    ATTEMPTS_CERTIFICATE,
    ATTEMPTS_CERTIFICATE_KEY,
    ATTEMPTS_AUTHORITY,
    ATTEMPTS_WEAK,  /* "weak": user code runs where it cannot be confined. */
    ATTEMPTS_SLOTS, /* Put behind the others by exec_zygote(). */
    ATTEMPTS_WORDS
};

#define ATTEMPTS_COMMAND "attempts"

/* If @argv is that command, or the launcher of an observer's, be it, and do not
 * return. */
void attempts_command(int argc, char *const *argv);

#endif /* CLI_ATTEMPTS_H */
