/* Taking in segments that others made, as streams of bytes
 * (segment_writer_to()): they become files of the index, with its pages,
 * checksums and key.
 *
 * A segment is opened when it is complete, which checks it, and tells how many
 * rows and documents it has.
 *
 * Threads: one.
 */
#ifndef WEB_SEARCH_BUILD_SEGMENT_INTAKE_H
#define WEB_SEARCH_BUILD_SEGMENT_INTAKE_H

#include "base/core/macros.h"

struct index_build;

/* Have @b's options make segments, and take them in. Parks. Errors: those of
 * making and of writing; ERR_CORRUPT: what came is no segment. */
MUST_CHECK int segment_intake_run(struct index_build *b);

#endif /* WEB_SEARCH_BUILD_SEGMENT_INTAKE_H */
