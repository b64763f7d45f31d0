/* Rights to a small tree. */
#include "tests/sim/rights_model.h"

#include <string.h>

#include "gfs-lite/namenode_command.h"

enum {
    PASS = 1,
    WRITE = 2,
    READ = 4
};

const char *const rights_names[RIGHTS_PRINCIPALS] = {"ann", "bob", "eve",
                                                     "chief"};
const char *const rights_grantee_names[RIGHTS_GRANTEES] = {
    "bob", "role:" RIGHTS_ROLE, "*"};

void rights_state_init(struct rights_state *s)
{
    memset(s, 0, sizeof(*s));
    for (unsigned n = 0; n < RIGHTS_NODES; n++) {
        s->nodes[n].owner = RIGHTS_ANN;
        s->nodes[n].mode =
            n < RIGHTS_FIRST_FILE ? GFS_MODE_DIRECTORY : GFS_MODE_FILE;
    }
    for (unsigned d = 0; d < RIGHTS_DIRECTORIES; d++)
        s->directory_name[d] = (char)('a' + d);
    for (unsigned f = 0; f < RIGHTS_FILES; f++)
        s->directory_of[f] = (uint8_t)(f % RIGHTS_DIRECTORIES);
}

unsigned rights_parent(const struct rights_state *s, unsigned n)
{
    if (n < RIGHTS_FIRST_FILE)
        return RIGHTS_TOP;
    return RIGHTS_FIRST_DIRECTORY + s->directory_of[n - RIGHTS_FIRST_FILE];
}

/* --- bits ---------------------------------------------------------------- */

static bool is_meant(enum rights_grantee to, enum rights_principal who)
{
    return to == RIGHTS_TO_ALL || who == RIGHTS_BOB;
}

/* The rights of @who to @n by grants on it and on its parents. */
static unsigned
granted(const struct rights_state *s, enum rights_principal who, unsigned n)
{
    unsigned rights = 0;
    unsigned bits = 0;
    for (unsigned up = n;; up = rights_parent(s, up)) {
        const struct rights_node *u = &s->nodes[up];
        for (unsigned to = 0; to < RIGHTS_GRANTEES; to++) {
            if (!is_meant((enum rights_grantee)to, who))
                continue;
            rights |= u->grants[to][RIGHTS_BY_ADMINISTRATOR];
            if (u->owner == s->nodes[n].owner)
                rights |= u->grants[to][RIGHTS_BY_OWNER];
        }
        if (up == RIGHTS_TOP)
            break;
    }
    if (rights & GFS_GRANT_READ)
        bits |= READ;
    if (rights & GFS_GRANT_WRITE)
        bits |= WRITE;
    return rights && n < RIGHTS_FIRST_FILE ? bits | PASS : bits;
}

static unsigned
bits_of(const struct rights_state *s, enum rights_principal who, unsigned n)
{
    const struct rights_node *node = &s->nodes[n];
    unsigned mode = node->owner == who ? node->mode >> 3 : node->mode;
    return (mode & (READ | WRITE | PASS)) | granted(s, who, n);
}

/* Does he reach @n, passing through all that is above it? */
static bool
reaches(const struct rights_state *s, enum rights_principal who, unsigned n)
{
    while (n != RIGHTS_TOP) {
        n = rights_parent(s, n);
        if (granted(s, who, n))
            return true;
        if (!(bits_of(s, who, n) & PASS))
            return false;
    }
    return true;
}

static bool may(const struct rights_state *s,
                enum rights_principal who,
                unsigned n,
                unsigned bits)
{
    unsigned by_grant = granted(s, who, n);
    if (who == RIGHTS_ADMINISTRATOR)
        return true;
    if (bits & ~bits_of(s, who, n))
        return false;
    return (by_grant && !(bits & ~by_grant)) || reaches(s, who, n);
}

/* --- questions ----------------------------------------------------------- */

bool rights_may_read(const struct rights_state *s,
                     enum rights_principal who,
                     unsigned n)
{
    return may(s, who, n, READ);
}

bool rights_may_set(const struct rights_state *s,
                    enum rights_principal who,
                    unsigned n)
{
    return who == RIGHTS_ADMINISTRATOR ||
           (s->nodes[n].owner == who && reaches(s, who, n));
}

/* The node that is called so; of one that is not there, the last one above. */
static bool
find(const struct rights_state *s, char directory, int file, unsigned *node)
{
    *node = RIGHTS_TOP;
    for (unsigned d = 0; d < RIGHTS_DIRECTORIES; d++)
        if (s->directory_name[d] == directory)
            *node = RIGHTS_FIRST_DIRECTORY + d;
    if (*node == RIGHTS_TOP)
        return false;
    if (file < 0)
        return true;
    if (RIGHTS_FIRST_DIRECTORY + (unsigned)s->directory_of[file] != *node)
        return false;
    *node = RIGHTS_FIRST_FILE + (unsigned)file;
    return true;
}

enum rights_answer rights_ask(const struct rights_state *s,
                              enum rights_principal who,
                              enum rights_question q,
                              char directory,
                              int file,
                              unsigned *node)
{
    bool there = find(s, directory, file, node);
    unsigned bits = 0;
    if (!there)
        return may(s, who, *node, PASS) ? RIGHTS_ABSENT : RIGHTS_DENIED;
    if (q == RIGHTS_ASK_READ)
        bits = READ;
    else if (q == RIGHTS_ASK_LIST)
        bits = READ | PASS;
    return may(s, who, *node, bits) ? RIGHTS_YES : RIGHTS_DENIED;
}

void rights_set_owner(struct rights_state *s,
                      unsigned n,
                      enum rights_principal owner)
{
    if (s->nodes[n].owner == owner)
        return;
    s->nodes[n].owner = (uint8_t)owner;
    for (unsigned to = 0; to < RIGHTS_GRANTEES; to++)
        s->nodes[n].grants[to][RIGHTS_BY_OWNER] = 0;
}
