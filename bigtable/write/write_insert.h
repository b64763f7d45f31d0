/* Putting operations into the memtables of a tablet, for those who write and
 * for recovery.
 *
 * Threads: who may insert into the tablet (tablet.h).
 */
#ifndef BIGTABLE_WRITE_WRITE_INSERT_H
#define BIGTABLE_WRITE_WRITE_INSERT_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct mutation_op;
struct resolved;
struct skip_batch;
struct tablet_env;
struct tablet;

/* Put @op into the groups it concerns, but for those that have it in tables:
 * only a replay meets such. @batch: as of tablet_group_insert(). @bytes holds
 * the row part, @row_length bytes of it. Returns by how many bytes of memory
 * the memtables grew; sums of that wrap. */
uint64_t write_insert_op(struct skip_batch *batch,
                         struct buf *bytes,
                         const struct tablet *t,
                         size_t row_length,
                         const struct mutation_op *op,
                         const struct resolved *r,
                         int64_t now_us,
                         uint64_t sequence);

/* Freeze what has grown over its size. */
void write_freeze_full(struct tablet_env *env, const struct tablet *t);

#endif /* BIGTABLE_WRITE_WRITE_INSERT_H */
