/* The rights of principals to the files of a small tree, as docs/files.md
 * defines them: a second opinion on gfs-lite/namenode/permission.h.
 *
 *     top            a directory
 *     top/a, top/b   two more, each with a name of one letter
 *     top/a/0 …      files, each in one of the two
 *
 * A state is a value. A change is made in a copy of it, and both are kept for
 * as long as either may be what the namenodes hold.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_RIGHTS_MODEL_H
#define TESTS_SIM_RIGHTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RIGHTS_DIRECTORIES = 2,
    RIGHTS_FILES = 3,
    RIGHTS_TOP = 0,
    RIGHTS_FIRST_DIRECTORY = 1,
    RIGHTS_FIRST_FILE = RIGHTS_FIRST_DIRECTORY + RIGHTS_DIRECTORIES,
    RIGHTS_NODES = RIGHTS_FIRST_FILE + RIGHTS_FILES
};

/* The caller. */
enum rights_principal {
    RIGHTS_ANN,
    RIGHTS_BOB, /* Has the role. */
    RIGHTS_EVE,
    RIGHTS_ADMINISTRATOR,
    RIGHTS_PRINCIPALS
};

/* To whom rights are given. */
enum rights_grantee {
    RIGHTS_TO_BOB,
    RIGHTS_TO_ROLE,
    RIGHTS_TO_ALL,
    RIGHTS_GRANTEES
};

/* The giver of rights. */
enum rights_giver {
    RIGHTS_BY_ADMINISTRATOR,
    RIGHTS_BY_OWNER,
    RIGHTS_GIVERS
};

struct rights_node {
    uint8_t owner;                                  /* enum rights_principal. */
    uint8_t mode;                                   /* enum gfs_mode. */
    uint8_t grants[RIGHTS_GRANTEES][RIGHTS_GIVERS]; /* enum gfs_grant. */
};

struct rights_state {
    struct rights_node nodes[RIGHTS_NODES];
    char directory_name[RIGHTS_DIRECTORIES];
    uint8_t directory_of[RIGHTS_FILES];
};

/* The answer to a question. */
enum rights_answer {
    RIGHTS_YES = 1,
    RIGHTS_ABSENT = 2,
    RIGHTS_DENIED = 4,
};

enum rights_question {
    RIGHTS_ASK_STAT, /* Of a path, */
    RIGHTS_ASK_READ,
    RIGHTS_ASK_LIST, /* of a directory. */
};

extern const char *const rights_names[RIGHTS_PRINCIPALS];
extern const char *const rights_grantee_names[RIGHTS_GRANTEES];
#define RIGHTS_ROLE "team"

/* All is Ann's and open to everybody. */
void rights_state_init(struct rights_state *s);

/* The parent of node @n, which is not the top. */
unsigned rights_parent(const struct rights_state *s, unsigned n);
/* May @who read the bytes of file @n, wherever it is? */
bool rights_may_read(const struct rights_state *s,
                     enum rights_principal who,
                     unsigned n);
/* May he set its mode, owner and grants? */
bool rights_may_set(const struct rights_state *s,
                    enum rights_principal who,
                    unsigned n);
/* Look up @directory, a letter, or with @file >= 0 that file's name in it.
 * *@node is the node if the answer is RIGHTS_YES. */
enum rights_answer rights_ask(const struct rights_state *s,
                              enum rights_principal who,
                              enum rights_question q,
                              char directory,
                              int file,
                              unsigned *node);

/* Node @n gets the owner @owner: what the old one gave is gone. */
void rights_set_owner(struct rights_state *s,
                      unsigned n,
                      enum rights_principal owner);

#endif /* TESTS_SIM_RIGHTS_MODEL_H */
