/* How files are cut into segments: decided from their sizes alone.
 *
 * The first segments have a megabyte, so that small inputs are shared out too;
 * later ones an eighth of what is before them, up to 32 MiB, so that adding up
 * their tables costs little beside filling them.
 *
 * Threads: one at a time.
 */
#ifndef MAPREDUCE_LINES_LINE_PLAN_H
#define MAPREDUCE_LINES_LINE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/lines/line_stream.h"

/* Files of one segment at most. */
#define LINE_PARTS_MAX 64

/* The lines of a file that begin in [begin, end). */
struct line_part {
    size_t file; /* Among the paths. */
    uint64_t begin;
    uint64_t end; /* UINT64_MAX: of the file. */
};

struct line_segment {
    struct line_part parts[LINE_PARTS_MAX];
    size_t part_count; /* 0: the end of the input. */
    /* Of a stream: the lines, which only their one part tells. */
    bool is_text;
    struct buf text; /* Owned; kept for the next use. */
    uint64_t offset; /* Where it begins in its file. */
    uint64_t number; /* Of its first line, over all files. */
};

struct world;

struct line_plan {
    struct world *world;      /* Borrowed. */
    const char *const *paths; /* Borrowed. */
    size_t path_count;
    uint64_t segment_bytes; /* Of the first segments. */
    bool numbered;          /* Numbers of lines are wanted: all are streams. */

    /* Where the next segment begins. */
    size_t file;
    bool is_open;
    bool is_stream;
    uint64_t size;   /* Of the open file. */
    uint64_t offset; /* In the open file. */
    uint64_t before; /* Bytes of all segments so far. */
    uint64_t number; /* Lines of all streams so far, if numbered. */
    struct line_stream stream;
};

void line_plan_init(struct line_plan *p,
                    struct world *world,
                    const char *const *paths,
                    size_t path_count,
                    uint64_t segment_bytes,
                    bool numbered);
void line_plan_close(struct line_plan *p);

/* The next segment; empty at the end of the input. Reads the text of streams.
 * Errors: ERR_IO, ERR_TOOBIG; then s->parts[0].file is the file at fault. */
MUST_CHECK int
line_plan_next(struct line_plan *p, struct line_segment *s, struct err *err);

/* How large the next segment is. */
uint64_t line_plan_segment_bytes(const struct line_plan *p);

/* The size of a regular file with contents, else 0: those of /proc have none.
 */
uint64_t line_plan_size(struct world *world, const char *path);

/* Whether the file is read from its beginning to its end only: a pipe, a
 * terminal. */
bool line_plan_is_stream(struct world *world, const char *path);

#endif /* MAPREDUCE_LINES_LINE_PLAN_H */
