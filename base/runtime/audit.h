/* The audit log: who did what, from where, on what, and whether it was allowed.
 *
 * One JSON object a line, in a file of its own:
 *
 *     {"time":"2026-02-03T04:05:06.000007Z","node":"n1","who":"eve",
 *      "from":"10.0.0.9:4711","what":"master.drop_table","on":"webtable",
 *      "allowed":false,"outcome":"permission denied","why":"…"}
 *
 * Whoever notes something does not wait for the disk: lines go to a bounded
 * queue that a thread empties. When it is full, or the disk is, lines are
 * dropped, and the next one written says how many ("what":"audit.dropped").
 *
 * The log belongs to a world, as the logger does, so that every component has
 * it; without one nothing is noted.
 *
 * Threads: any, but where said.
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

/* What happened. All is borrowed; empty fields are left out. */
struct audit_event {
    struct slice who;  /* Principal. */
    struct slice by;   /* Who acted for it, if another. */
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
/* Write what waits, and close. PRE: no world has it. NULL is allowed. */
void audit_close(struct audit *a);
/* The file was renamed: go on in a new one. Where that cannot be opened the old
 * one is kept. NULL is allowed. */
MUST_CHECK int audit_reopen(struct audit *a, struct err *err);
/* Lines that were dropped, ever. */
uint64_t audit_dropped(const struct audit *a);

/* Let @w note to @a (borrowed), or nowhere when it is NULL. Before other
 * threads use @w. */
void world_set_audit(struct world *w, struct audit *a);
/* Has @w an audit log? */
bool world_is_audited(const struct world *w);
/* Note @e. Does not park. */
void audit_note(struct world *w, const struct audit_event *e);

#endif /* BASE_RUNTIME_AUDIT_H */
