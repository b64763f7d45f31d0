/* A Sawzall program over the lines of files, on all cores of this process.
 *
 * The input is cut into segments at lines. Threads run the program over
 * segments, each into tables of its own, which are added up in the order of the
 * input. Where segments are cut depends on the input alone and not on the
 * number of threads, and a segment is the unit of adding: so all results, also
 * those that are estimates or depend on the order of records, are the same with
 * any number of threads. Output of the program is held back until the segments
 * before have written theirs.
 *
 * A program runs in order, on the caller's thread and in one piece, where
 * records may depend on each other (saw_program_is_stateful()), where memory is
 * limited, and where it writes and an input is a pipe or terminal, whose reader
 * waits for each line.
 *
 * An error is that of the first record in the order of the input that fails;
 * what later ones wrote is dropped.
 */
#ifndef MAPREDUCE_LINES_LINE_SCAN_H
#define MAPREDUCE_LINES_LINE_SCAN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct saw_run;
struct world;

struct line_scan_options {
    struct world *world;       /* Borrowed: its threads. */
    unsigned thread_count;     /* At least 1; at most 64 are used. */
    const atomic_bool *cancel; /* Borrowed; NULL: none. */
    uint64_t segment_bytes;    /* Of the first segments; 0: 1 MiB. */
    /* Told how many bytes of how many (0: not known) were read, from any
     * thread, one call at a time. NULL: not wanted. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};

/* Run the program of @run over each line of the files at @paths ("-": standard
 * input); its tables get the results. The key of a record is its number, over
 * all files, its place where it begins in its file.
 *
 * Parks. Errors: those of saw_run_lines(), with file and line; ERR_IO and
 * others of opening and reading a file; ERR_TOOBIG a line of over 1 GiB;
 * ERR_CANCELLED, with the line reached. */
MUST_CHECK int line_scan_run(struct saw_run *run,
                             const char *const *paths,
                             size_t path_count,
                             const struct line_scan_options *opts,
                             struct err *err);

#endif /* MAPREDUCE_LINES_LINE_SCAN_H */
