/* A coordination store in memory, for tests of what stands on one: it answers
 * as ZooKeeper does, with reads that may be old, answers that are lost before
 * or after a change was made, and sessions that end with their leases.
 *
 *     struct fake_coordination *f = fake_coordination_new();
 *     f->lose_one_in = 10;
 *     mapped_connect_store(w, &fake_coordination_ops, f, "/q", &o, &c, &err);
 *
 * For simulated machines. One thread.
 */
#ifndef TESTS_LIB_FAKE_COORDINATION_H
#define TESTS_LIB_FAKE_COORDINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "chubby-lite/mapped/coordination.h"

struct fake_value;
struct fake_session;

struct fake_coordination {
    struct fake_value *first; /* Every state that any path has had. Owned. */
    struct fake_session *sessions;
    uint64_t revision; /* Of the last change. */
    uint64_t session_count;
    uint64_t lose_one_in; /* Answers that are lost; 0: none. */
    bool old_reads;       /* Those that need not be fresh. */
    uint64_t cut;         /* The session that reaches nothing; 0: none. */
    uint64_t commit_count;
};

extern const struct coordination_ops fake_coordination_ops;

struct fake_coordination *fake_coordination_new(void); /* Owned. */
/* PRE: no session is open. */
void fake_coordination_free(struct fake_coordination *f);
/* Values that are there now. */
size_t fake_coordination_count(const struct fake_coordination *f,
                               const char *prefix);

#endif /* TESTS_LIB_FAKE_COORDINATION_H */
