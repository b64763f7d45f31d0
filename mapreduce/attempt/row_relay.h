/* Rows of tables for attempts that are not trusted with connections: their
 * worker reads them, on behalf of the job's submitter.
 *
 * Questions come through the socket of proxied files (gfs-lite/fs_proxy.h). An
 * attempt names the number of one of its splits; table, range, columns and
 * filter are those that the job master gave the worker, and so there is nothing
 * else that it could ask for.
 *
 *     RELAY_OPEN   split:varint. Answer: nothing. One split at a time.
 *     RELAY_NEXT   Answer: the next bytes of its rows; none: it has ended.
 *
 * Rows as bytes, each: length:le32 of what follows, key:lslice count:varint,
 * and each cell as family:lslice qualifier:lslice timestamp:zigzag value:lslice
 * label:lslice. A row may be cut anywhere between two answers.
 *
 * Invariants
 *     INV-1. Every read is made with the rights of job_setup.opts->principal.
 *
 * Threads: any; a relay's questions one at a time.
 */
#ifndef MAPREDUCE_ATTEMPT_ROW_RELAY_H
#define MAPREDUCE_ATTEMPT_ROW_RELAY_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "gfs-lite/fs_proxy.h"

struct fs;
struct job_setup;
struct relay_store;
struct row_relay;
struct task_spec;

enum relay_op {
    RELAY_OPEN = FS_PROXY_OTHER,
    RELAY_NEXT,
};

/* --- in the worker ------------------------------------------------------- */

/* The state that the relays of a job share: its tables, opened when the first
 * row is requested. @setup is borrowed. Owned. */
struct relay_store *relay_store_new(const struct job_setup *setup);
void relay_store_free(struct relay_store *s); /* NULL is allowed. Parks. */
/* The file system that bulk loads of the job write to. The files are the
 * servers' own, and so the worker opens them as itself. Borrowed, as long as
 * @s. Parks. */
MUST_CHECK int
relay_store_files(struct relay_store *s, struct fs **out, struct err *err);

/* A relay for the attempts in one slot. @store is borrowed. Owned. */
struct row_relay *row_relay_new(struct relay_store *store);
/* PRE: no question is being answered. NULL is allowed. */
void row_relay_free(struct row_relay *r);
/* From now on answer for the splits of @spec, which are copied. */
void row_relay_aim(struct row_relay *r, const struct task_spec *spec);
/* The handler of the relay's questions, for the proxy server. Borrows @r. */
struct fs_proxy_other row_relay_answers(struct row_relay *r);

#endif /* MAPREDUCE_ATTEMPT_ROW_RELAY_H */
