/* Records that a crawler cut into segments (ISO 28500, section 7), joined
 * again, across files too.
 *
 * The first segment keeps its type and has number 1; continuations name it by
 * WARC-Segment-Origin-ID; the last has the total length. Segments may come in
 * any order. Memory is bounded: beyond bytes_max the store refuses.
 *
 * Invariant INV-1: the bytes of all chains are at most bytes_max
 * (segments_add()).
 *
 * Threads: one at a time; the caller locks. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_SEGMENTS_H
#define MAPREDUCE_WARC_SEGMENTS_H

#include "mapreduce/warc/archive_reader.h"

struct segments;

/* A store of at most @bytes_max bytes of segments. Owned: segments_free(). */
struct segments *segments_new(size_t bytes_max);
void segments_free(struct segments *s); /* NULL is allowed. */

/* Is @rec a segment at all? */
bool segments_is_one(const struct warc_record *rec);

enum segments_answer {
    SEGMENTS_KEPT,     /* Copied; others are missing. */
    SEGMENTS_COMPLETE, /* *@whole is the joined record. */
    SEGMENTS_FULL,     /* The store has no room: not kept. */
    SEGMENTS_BAD,      /* No origin, a number twice: not kept. */
};

/* Add a segment. *@whole is borrowed until the next call. */
enum segments_answer segments_add(struct segments *s,
                                  const struct warc_record *rec,
                                  const struct warc_record **whole);

/* Take a record that never became complete: its first segment (its block as far
 * as it joins), or NULL when even that is missing; *@id is the origin's. False:
 * there are no more. Borrowed until the next call. */
bool segments_take_incomplete(struct segments *s,
                              struct slice *id,
                              const struct warc_record **first);

#endif /* MAPREDUCE_WARC_SEGMENTS_H */
