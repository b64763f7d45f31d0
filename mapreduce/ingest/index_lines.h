/* Lines of an index, gathered and then in order. Inside mapreduce/ingest only.
 * Threads: one. Nothing waits. */
#ifndef MAPREDUCE_INGEST_INDEX_LINES_H
#define MAPREDUCE_INGEST_INDEX_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct index_lines {
    struct buf text;
    size_t *at; /* Where each begins; owned. */
    size_t count;
    size_t cap;
    size_t begun; /* Where the next line begins. */
};

void index_lines_close(struct index_lines *l); /* Also of a zeroed one. */
/* The bytes appended to l->text since the last line, with their end, are one.
 * Errors: ERR_FULL. */
MUST_CHECK int index_lines_end(struct index_lines *l, struct err *err);
/* Bytewise, equal lines once. */
void index_lines_sort(struct index_lines *l);
/* With its end; borrowed. */
struct slice index_lines_get(const struct index_lines *l, size_t i);

/* The number of http:status; 0: it is none. */
unsigned export_status(struct slice text);
/* The parts of meta:source, "FILE:OFFSET"; false: it is not of that form. */
bool export_source(struct slice source, struct slice *file, uint64_t *offset);

#endif /* MAPREDUCE_INGEST_INDEX_LINES_H */
