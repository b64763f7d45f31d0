/* The encoding of SPECs in a job's package; mr_spec_close() is in job.h.
 *
 * Any thread. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_SPEC_H
#define MAPREDUCE_TASK_SPEC_H

struct buf;
struct cursor;
struct mr_spec;

/* Append the bytes of @s to @out. */
void spec_encode(const struct mr_spec *s, struct buf *out);
/* Fill a zeroed @s; sets in->bad when malformed. mr_spec_close() in any case.
 */
void spec_decode(struct mr_spec *s, struct cursor *in);

#endif /* MAPREDUCE_TASK_SPEC_H */
