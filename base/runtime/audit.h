/* The audit log: who did what, from where, to which object, and whether it was
 * allowed.
 *
 * One JSON object a line, in a file of its own:
 *
 *     {"time":"2026-02-03T04:05:06.000007Z","node":"n1","who":"eve",
 *      "from":"10.0.0.9:4711","what":"master.drop_table","on":"webtable",
 *      "allowed":false,"outcome":"permission denied","why":"…"}
 *
 * audit_note() does not wait for the disk: lines enter a bounded queue, which a
 * thread writes out. When the queue or the disk is full, lines are dropped, and
 * the next line that is written counts them ("what":"audit.dropped").
 *
 * The log belongs to a world, as the logger does, so that every component
 * reaches it; without one nothing is noted.
 *
 * Invariants
 *     INV-1. The queue holds at most AUDIT_QUEUE_BYTES_MAX (audit_note()).
 *     INV-2. Lines reach the file whole and in the order of the notes; a
 *            dropped line is counted (the writer's thread).
 *
 * Threads: any, unless a function says otherwise.
 */
#ifndef BASE_RUNTIME_AUDIT_H
#define BASE_RUNTIME_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct audit;
struct world;

/* Bytes of lines that wait to be written. */
#define AUDIT_QUEUE_BYTES_MAX ((size_t)4 << 20)
/* Longest text of one field; the rest is cut. */
#define AUDIT_TEXT_BYTES_MAX ((size_t)512)

/* One event. Everything is borrowed; empty fields are left out. */
struct audit_event {
    struct slice who;  /* Principal. */
    struct slice by;   /* The principal that acted for it, or empty. */
    struct slice from; /* Address. */
    struct slice what; /* "master.drop_table". */
    struct slice on;   /* Table, path, job, member. */
    struct slice args; /* JSON, or empty. */
    int code;          /* 0 or ERR_*; ERR_DENIED: not allowed. */
    struct slice why;  /* The error's text. */
};

/* Append to the file @path, which is made for its owner alone. @node is copied.
 * @w is borrowed: its clock is used. *@out is owned. Errors: those of opening
 * it. */
MUST_CHECK int audit_open(struct world *w,
                          const char *path,
                          const char *node,
                          struct audit **out,
                          struct err *err);
/* Write the queue and close. PRE: no world uses it. NULL is allowed. */
void audit_close(struct audit *a);
/* Continue in a new file after the old one was renamed. If it cannot be
 * opened, the old one stays in use. NULL is allowed. */
MUST_CHECK int audit_reopen(struct audit *a, struct err *err);
/* Lines dropped since it was opened. */
uint64_t audit_dropped(const struct audit *a);

/* Make @w note to @a (borrowed), or nowhere when it is NULL. Call it before
 * other threads use @w. */
void world_set_audit(struct world *w, struct audit *a);
/* True if @w has an audit log. */
bool world_is_audited(const struct world *w);
/* Note @e. Does not park. */
void audit_note(struct world *w, const struct audit_event *e);

#endif /* BASE_RUNTIME_AUDIT_H */
