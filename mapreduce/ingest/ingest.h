/* Importing files into tables: the public header of mapreduce/ingest.
 *
 *     struct ingest_options o;
 *     struct ingest_report r;
 *     ingest_options_init(&o);
 *     struct ingest_job job = {q, "webtable", paths, path_count, &o};
 *     code = ingest_warc(&job, &r, &err);
 *     for (size_t i = 0; i < r.damage_kept; i++)
 *         print(r.damage[i].file, r.damage[i].offset, r.damage[i].reason);
 *     ingest_report_free(&r);
 *
 * Every import promises
 *     - It can be run again: keys, timestamps and values come from the input
 *       alone, so a second run writes the same cells.
 *     - Damage in the input never stops it: the unreadable part is skipped, up
 *       to the next readable record, and is in the report with file, offset and
 *       reason. So is a whole file of another kind, for which the import
 *       returns ERR_CORRUPT in the end. An error ends it only when continuing
 *       is pointless: a file that can't be opened, a table of another shape, a
 *       full disk.
 *     - When it returns 0, or ERR_CORRUPT for files of another kind, everything
 *       it wrote is in SSTables on the disk.
 *
 * The rows of each kind are described in docs/crawl.md. Tables that do not
 * exist are created with families and locality groups that suit the kind.
 *
 * Threads: each call starts its own tasks and ends them before it returns.
 * Parks.
 */
#ifndef MAPREDUCE_INGEST_INGEST_H
#define MAPREDUCE_INGEST_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct ingest_cell_source;
struct quarry;
struct quarry_bulk_cell;
struct world;

/* --- progress and report ------------------------------------------------- */

struct ingest_progress {
    uint64_t bytes_done; /* Of the input files, as they lie on the disk. */
    uint64_t bytes_total;
    uint64_t record_count; /* Records (lines) read so far. */
    uint64_t damage_count; /* Places of damage met so far. */
    size_t files_done;
    size_t files_total;
};

/* Called about ten times a second, by one task at a time; must not wait. */
typedef void (*ingest_progress_cb)(void *ctx, const struct ingest_progress *p);

/* One place where the input was malformed. */
struct ingest_damage {
    char *file;      /* Its name in the import. */
    uint64_t offset; /* Byte in the file as it lies on the disk (of the member
                        that holds the place, when it is compressed). */
    uint64_t line;   /* Of a text, from 1; 0: not told. */
    char *reason;    /* "gzip member: bad checksum; 1 record skipped". */
    bool lost;       /* A record, line or file could not be read. */
};

/* A line that was refused, or of which a part was (not @lost), with its bytes
 * as they are in the file, its end included. */
struct ingest_reject {
    const char *file; /* Its name in the import. Borrowed, as all is. */
    uint64_t offset;
    uint64_t line;
    const char *reason;
    bool lost;
    struct slice bytes; /* Empty: they are not at hand. */
};

/* Called for each that has bytes, by one task at a time; must not wait long. */
typedef void (*ingest_reject_cb)(void *ctx, const struct ingest_reject *r);

/* The list is cut here unless the options set another length; damage_count
 * counts all. */
#define INGEST_DAMAGE_KEPT_DEFAULT 1000
#define INGEST_DAMAGE_KEPT_MAX     100000

/* Different rows are counted up to here. */
#define INGEST_DISTINCT_MAX ((uint64_t)4 << 20)

struct ingest_report {
    uint64_t record_count;   /* Records, lines or objects read. */
    uint64_t page_count;     /* WARC: captures written to rows. */
    uint64_t revisit_count;  /* WARC: revisit records, */
    uint64_t revisit_filled; /* of which the original was at hand. */
    uint64_t link_count;     /* WARC: anchor cells written. */
    uint64_t skipped_count;  /* Records with nothing for a row (requests,
                                warcinfo), and lines that are comments. */
    uint64_t row_count;      /* Row mutations applied, */
    uint64_t distinct_count; /* of this many different rows, counted for csv,
                                jsonl and access-log; 0: not counted, they
                                are more than INGEST_DISTINCT_MAX. */
    uint64_t cell_count;
    uint64_t new_count;     /* Rows that were not in the table before, if */
    bool new_is_known;      /* they were counted. */
    uint64_t bytes_read;    /* From the files. */
    uint64_t bytes_decoded; /* After decompression of the container. */
    uint64_t elapsed_us;
    uint64_t damage_count;        /* Places of damage; of these */
    uint64_t lost_count;          /* where something could not be read. */
    size_t refused_count;         /* Files of another kind, skipped. */
    struct ingest_damage *damage; /* Sorted by file and offset. */
    size_t damage_kept;
};

/* Release the memory of a report; the struct itself is the caller's. */
void ingest_report_free(struct ingest_report *r);

/* --- options ------------------------------------------------------------- */

/* Where bytes of an input came from, which is put together of parts of other
 * archives: from @at on it is the file @name from @offset on. */
struct ingest_part {
    uint64_t at;
    const char *name; /* Borrowed. */
    uint64_t offset;
};

struct ingest_options {
    struct world *world;         /* For files and tasks; NULL: the real one. */
    ingest_progress_cb progress; /* May be NULL. */
    void *progress_ctx;
    ingest_reject_cb reject; /* May be NULL. */
    void *reject_ctx;
    unsigned tasks;         /* Files read at a time; 0: one per CPU. */
    size_t damage_kept_max; /* Places of damage listed in the report. */
    bool create_table;   /* Make the table if it is not there. Default true. */
    bool count_new;      /* Count the rows that were not there before; if the
                            table was, each is looked up. Default true. */
    struct slice schema; /* Of exports: the table is made as it says
                            (table_schema.h). Empty: families are made as they
                            are met. Borrowed. */
    bool must_create;    /* ERR_EXISTS if the table of @schema is there. */

    bool bad_limited; /* More places of damage than bad_max end the import, */
    uint64_t bad_max; /* with ERR_CORRUPT. */
    /* Stop with ERR_CANCELLED when it becomes true; records read before are
     * stored. NULL: never. Borrowed. */
    const _Atomic(bool) *cancel;

    /* WARC */
    bool links;              /* Write anchor cells. Default true. */
    bool text;               /* Write contents:main, the main text of pages, and
                                language:text, its language. Default false. */
    bool verify_digests;     /* Compare WARC-Block-Digest and -Payload-Digest; a
                                record that differs is lost: skipped, reported
                                and counted so. */
    uint64_t page_bytes_max; /* Longer bodies are cut, and marked so in
                                meta:truncated. Default 64 MiB. */
    uint64_t revisit_bytes_max; /* Memory for revisits that wait for their
                                   originals; more of them wait in a file in
                                   temp_dir. Default 64 MiB. */
    const char *temp_dir;       /* Of temporary files. Default "/tmp". */
    /* Of the one input, in order of `at`; meta:source names what they tell.
     * Borrowed. */
    const struct ingest_part *parts;
    size_t part_count;

    /* csv, jsonl */
    const char *family; /* Of the cells. Default "data". */
    const char *key;    /* The source of the row key. csv: a column's name or
                           number from 1, several with commas between (joined by
                           '/'), or "#", the line's number. jsonl: a field.
                           Default: the first column; jsonl: "id" or "key". */
    const char *time_field; /* Column with the timestamp: ISO 8601, or seconds,
                               ms or µs since 1970 told apart by their size.
                               NULL: every cell is written at time 0, so that a
                               rerun changes nothing. */
    char separator;         /* csv: 0, the default: the most frequent of
                               , ; tab | in the first line. */
    bool header;            /* csv: the first line names the columns. Default
                               true; otherwise they are "1", "2", … */

    /* access-log */
    const char *log_host; /* The host of the log, for the rows' keys. Default
                             "localhost". */
};

/* The defaults above. */
void ingest_options_init(struct ingest_options *o);

/* --- the imports --------------------------------------------------------- */

/* Inputs and target of an import. Everything is borrowed until the call
 * returns. */
struct ingest_job {
    struct quarry *q;
    const char *table;
    const char *const *paths;
    size_t path_count;
    const struct ingest_options *opts; /* NULL: the defaults. */
    /* Names of the files in reports and errors; NULL: their paths. */
    const char *const *names;
    const struct ingest_cell_source *source; /* Of ingest_cell_files(). */
};

/* Each fills @report on error too; free it with ingest_report_free(). A table
 * that the import made, and wrote nothing to, is removed after an error.
 *
 * Errors: ERR_CORRUPT (more damage than bad_max allows; csv, jsonl, access-log:
 * most of the input could not be read; the rest is stored), ERR_CANCELLED,
 * ERR_NOTFOUND (a file, or the table with create_table off), ERR_INVALID (the
 * table lacks a family; a path is a directory, or for csv, jsonl and access-log
 * not text), and those of quarry.h.
 */
typedef int (*ingest_fn)(const struct ingest_job *job,
                         struct ingest_report *report,
                         struct err *err);

/* Memtables that are enough for an import of archives: pages leave them
 * quickly, and in larger ones compress no better. An import then takes about
 * twice as much memory. */
#define INGEST_WARC_MEMTABLE_BYTES ((uint64_t)64 << 20)

/* WARC or ARC in any compression, told by content, not name, into a Webtable.
 * Also ERR_CORRUPT: some files are neither WARC nor ARC; the others have been
 * read.
 */
MUST_CHECK int ingest_warc(const struct ingest_job *job,
                           struct ingest_report *report,
                           struct err *err);

/* One row per line of comma-separated values (RFC 4180, with quotes). */
MUST_CHECK int ingest_csv(const struct ingest_job *job,
                          struct ingest_report *report,
                          struct err *err);

/* One row per JSON object, one object a line; nested fields become "a.b". */
MUST_CHECK int ingest_jsonl(const struct ingest_job *job,
                            struct ingest_report *report,
                            struct err *err);

/* Exports, as quarry export writes JSON lines, TSV and CSV: the same cells.
 * Also ERR_EXISTS (must_create). */
MUST_CHECK int ingest_cells(const struct ingest_job *job,
                            struct ingest_report *report,
                            struct err *err);

/* Cells that somebody else reads, for ingest_cell_files(). */
struct ingest_cell_source {
    void *ctx;
    /* Open @path; *@reader is given to the other two, and closed by the last.
     * Called by several tasks. */
    int (*open)(void *ctx, const char *path, void **reader, struct err *err);
    /* The next cell, borrowed until the next call. ERR_INVALID and
     * *@more: the cell is refused, and the next one can be read. */
    int (*next)(void *reader,
                struct quarry_bulk_cell *cell,
                bool *more,
                struct err *err);
    void (*close)(void *reader);
};

/* The cells of job->source, of files of any kind. Errors: those of
 * ingest_cells() and of the source. */
MUST_CHECK int ingest_cell_files(const struct ingest_job *job,
                                 struct ingest_report *report,
                                 struct err *err);

/* One row per request: Apache common and combined, nginx's default. */
MUST_CHECK int ingest_access_log(const struct ingest_job *job,
                                 struct ingest_report *report,
                                 struct err *err);

#endif /* MAPREDUCE_INGEST_INGEST_H */
