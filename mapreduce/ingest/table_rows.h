/* Imports of plain rows: shared by csv, jsonl and access-log. Inside
 * mapreduce/ingest only. */
#ifndef MAPREDUCE_INGEST_TABLE_ROWS_H
#define MAPREDUCE_INGEST_TABLE_ROWS_H

#include "mapreduce/ingest/ingest_run.h"

/* Longest name of a column. */
#define COLUMN_BYTES_MAX ((size_t)4096)
/* Longest row key. */
#define ROW_KEY_BYTES_MAX ((size_t)64 << 10)

/* Parse ISO 8601, 14 digits, or a count of seconds, ms, µs or ns since 1970
 * told apart by its size. False: it is none of them. */
bool field_time(struct slice s, int64_t *us);

/* Read every path with @read_file into a table with one family, @family; NULL:
 * the one of the options. Parks. */
MUST_CHECK int import_rows(const struct ingest_job *job,
                           const char *family,
                           run_file_fn read_file,
                           struct ingest_report *report,
                           struct err *err);

/* The same of texts, or files of a job->source, into a table with any families,
 * which is made as
 * job->opts->schema says or without families: then *@adds_families is set
 * before a file is read. @kind is for @read_file, as run->kind. Parks. */
MUST_CHECK int import_into(const struct ingest_job *job,
                           run_file_fn read_file,
                           void *kind,
                           bool *adds_families,
                           struct ingest_report *report,
                           struct err *err);

/* Called for each line, which is borrowed for the call. */
typedef int (*line_fn)(void *ctx,
                       const struct run_line *line,
                       struct run_batch *batch,
                       struct err *err);

/* Call @fn with each line of file @index, counting; apply at the end. Parks. */
MUST_CHECK int import_lines(struct run *run,
                            size_t index,
                            line_fn fn,
                            void *ctx,
                            struct err *err);

#endif /* MAPREDUCE_INGEST_TABLE_ROWS_H */
