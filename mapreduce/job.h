/* Running MapReduce jobs (OSDI 2004): options in, a report out.
 *
 *     struct mr_options o = {.program = {.job = &word_count},
 *                            .inputs = inputs, .input_count = 1,
 *                            .outputs = outputs, .output_count = 1};
 *     struct mr_report *report;
 *     if (mr_run(&o, &report, &err)) ...
 *     mr_report_free(report);
 *
 * Inputs and outputs are SPECs:
 *     file:GLOB        lines of text, decompressed if gzip or zstd
 *     records:GLOB     files of keys and values
 *     warc:GLOB        records of web archives                  (input only)
 *     table:NAME[?columns=F:Q,F:&prefix=P&start=R&end=R&versions=N
 *                 &since=US&until=US&as-of=TIME&live=yes&saw=FILE] (inputs)
 *     file:DIR, records:DIR, table:NAME[?bulk=yes]           (outputs)
 * A SPEC without a kind is a file. Bytes of table options are %-escaped.
 *
 * A table is read as it was when the job began, by all attempts and also after
 * a death of the job's process: in a directory by keeping its files, in a cell
 * by a clone ".job-ID-N", which is dropped with the job. With live=yes a cell's
 * table is read as it is at each moment; so it is by a job that does not run in
 * the cell.
 *
 * Output directories appear complete or not at all: parts are written beside
 * them and renamed when every task has succeeded; table changes are applied
 * then. An output directory that exists is refused unless options.overwrite is
 * set; to a table rows are added in any case. With bulk=yes they are written as
 * table files by the tasks and become part of the table at the end: cells
 * alone, no deletions, and rows in ascending order within a task. Reduces then
 * get ranges of keys, as with mr_job.total_order, unless the job has its own
 * partition().
 *
 * Threads: mr_run blocks its thread or parks its fiber. It starts processes:
 * call it before the program has threads of its own, or accept that the jobs'
 * functions run in forks of a threaded process.
 */
#ifndef MAPREDUCE_JOB_H
#define MAPREDUCE_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct attempt_host;
struct fs;
struct job_setup;
struct job_summary;
struct job_timeline;
struct mr_job;
struct keyring;
struct quarry;
struct quarry_options;
struct world;

/* --- SPECs --------------------------------------------------------------- */

/* Numbers travel in packages of jobs: only append. */
enum mr_spec_kind {
    MR_SPEC_FILE,
    MR_SPEC_RECORDS,
    MR_SPEC_WARC,
    MR_SPEC_TABLE,
    MR_SPEC_KINDS, /* How many there are. */
};

struct mr_spec {
    enum mr_spec_kind kind;
    char *name;   /* Of an output: "name=SPEC"; else NULL. */
    char *path;   /* Glob, directory or table. */
    bool view;    /* Of MR_SPEC_TABLE: a view is read, always `live`. */
    bool bulk;    /* Of a table that is written: as SSTables. */
    bool live;    /* Of a table that is read: as it is, not as it was. */
    bool scratch; /* Records between the jobs of a driver: encrypted. */
    /* Of a table that is read; NULL, 0: not given. */
    char **columns; /* "family:qualifier" or "family:". */
    size_t column_count;
    struct slice start;   /* Row range: what prefix=, start= and end= have in */
    struct slice end;     /* common. */
    unsigned row_options; /* Which of these were given, one bit each. */
    uint32_t versions;
    int64_t since_us;
    int64_t until_us;
    int64_t as_of_us; /* Implies `live`: the past does not change. */
    char *program;    /* Sawzall text of saw=. */
    size_t program_len;
};

/* Parse @text. ERR_INVALID says which part is wrong and what would be right;
 * ERR_NOTFOUND: the file of saw=. mr_spec_close() also after failure. */
MUST_CHECK int mr_spec_parse(struct mr_spec *s,
                             const char *text,
                             bool output,
                             struct world *world,
                             struct err *err);
void mr_spec_close(struct mr_spec *s);
/* The input @text with the program of saw=FILE in it, as program=TEXT, so that
 * it means the same elsewhere: appended to @out. Errors: as above. */
struct buf;
MUST_CHECK int mr_spec_inline(const char *text,
                              struct world *world,
                              struct buf *out,
                              struct err *err);

/* --- what to run --------------------------------------------------------- */

/* Exactly one of job, object, mapper and saw is set. */
struct mr_program {
    const struct mr_job *job; /* Built into this program. */
    const char *object;       /* Path of a shared object with MAPREDUCE_JOB. */
    const char *mapper;       /* Streaming: shell commands that read lines */
    const char *reducer;      /* and write "key\tvalue" lines; reducer NULL or
                                 "": map-only; mapper NULL: lines and records
                                 go to the reducer as they are. */
    const char *combiner;     /* Streaming; NULL: none. Runs as a reducer over
                                 what a map attempt emitted. */
    const char *saw;          /* Sawzall source text. */
    const char *saw_name;     /* Its name in messages. */
};

struct mr_setting {
    const char *name;
    const char *value;
};

enum mr_phase {
    MR_PHASE_PLAN,
    MR_PHASE_SAMPLE,
    MR_PHASE_MAP,
    MR_PHASE_REDUCE,
    MR_PHASE_COMMIT,
    MR_PHASE_DONE,
};

struct mr_progress {
    const char *job_id;
    enum mr_phase phase;
    unsigned tasks_total; /* Of the phase. */
    unsigned tasks_done;
    unsigned tasks_running;
    unsigned attempts_failed; /* So far, all phases. */
    unsigned records_skipped;
    uint64_t records; /* Of the phase: read by maps, groups by reduces. */
    uint64_t bytes;   /* Of the phase, of bytes_total; 0 of 0 if unknown. */
    uint64_t bytes_total;
    uint64_t elapsed_us;
};

/* The trace that a job's spans belong to, by its 128-bit id; 0, 0: none. */
struct mr_trace {
    uint64_t high;
    uint64_t low;
    bool sampled; /* Also what its attempts do is kept. */
};

struct mr_options {
    struct mr_program program;
    const char *label;     /* For the history; NULL: the job's name. */
    const char *target;    /* Store of table SPECs: "file:DIR"; NULL: none. */
    struct quarry *store;  /* The same, already open. Borrowed. */
    const char *principal; /* The submitter of a cell's job: tables and files of
                              SPECs are opened with its rights; NULL: with those
                              of the process. */
    /* How @target is opened, here and by attempts; NULL: as it is. Borrowed. */
    const struct quarry_options *store_options;
    /* How the job itself opens it, for a caller that waits until a directory
     * is free; NULL: quarry_open(). */
    int (*open_store)(void *ctx,
                      const char *target,
                      const struct quarry_options *opts,
                      struct quarry **out,
                      struct err *err);
    void *open_store_ctx;
    const char *const *inputs;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
    const struct mr_setting *params;
    size_t param_count;
    const struct mr_setting *files; /* Side files: name and path. */
    size_t file_count;

    struct mr_trace trace; /* Of a job that runs in a cell. */
    bool encrypts; /* Spills: with a key of this run of the job alone. */
    /* Journal, history and changes of tables are encrypted with it. Borrowed;
     * NULL: they are not. */
    struct keyring *keyring;
    /* Of a driver of several jobs: the files between them (see
     * mr_scratch_make()) are encrypted with this key, AEAD_KEY_BYTES, which is
     * written nowhere. Borrowed; NULL: they are not. */
    const unsigned char *scratch_key;
    unsigned workers;       /* Attempts at a time; 0: one a CPU. */
    unsigned reducers;      /* Partitions, at most 4,096; 0: by the input's
                               size. */
    uint64_t memory_bytes;  /* Of all attempts together; 0: 384 MiB. */
    uint64_t heap_bytes;    /* Most that a job's own code may allocate in an
                               attempt; 0: 1 GiB. */
    uint64_t file_bytes;    /* Of one file an attempt writes; 0: 256 GiB. */
    uint64_t cpu_us;        /* Processor time of an attempt; 0: any. */
    unsigned processes_max; /* That an attempt starts; 0: 256. */
    bool network;           /* Attempts may open sockets. */
    bool no_sandbox;        /* Attempts may do whatever the user may. */
    bool weak_sandbox;      /* User code may run where the kernel cannot confine
                               it: less protected. */
    uint64_t split_bytes;   /* Of file inputs; 0: 64 MiB, or up to 256 MiB where
                               the job combines. */
    uint64_t timeout_us;    /* Kill an attempt that finishes no record in this
                               time; 0: 10 minutes. */
    unsigned attempts_max;  /* Per task; 0: 4. */
    unsigned skips_max;     /* Most skips of the whole job: records on which its
                               code died, damaged places of record
                               files and compressed text; 0: 16. Archives may
                               have any number. */
    bool no_backups;        /* Never run a task twice at a time. */
    bool skip_none;         /* Skip nothing: fail instead. */
    bool in_process;        /* No processes: for debugging. Attempts run one
                               after the other in this one; no limits. */
    bool overwrite;         /* Replace existing outputs. */
    bool keep_work;         /* Leave the job's work directory in place. */

    const char *history_dir; /* Job directories; NULL: a temporary one that is
                                removed at the end. */
    const char *id;          /* Of the job; NULL: one is made. */
    struct fs *fs; /* Of a cell: files of SPECs and history_dir are in it.
                      Borrowed. NULL: they are the world's. */
    /* Where attempts run; NULL: processes of this machine. @setup outlives
     * *@out, which is owned. */
    int (*open_host)(void *ctx,
                     const struct job_setup *setup,
                     struct attempt_host **out,
                     struct err *err);
    void *host_ctx;
    /* Called before each step that cannot be undone: 0 if this process still
     * owns the job. NULL: it always does. */
    int (*check)(void *ctx, struct err *err);
    void *check_ctx;
    /* Receives the summary at each change, and keeps it, instead of job.json
     * being written. NULL: it is written. */
    void (*told)(void *ctx, const struct job_summary *s);
    void *told_ctx;
    /* Receives every attempt (master/job_timeline.h). Borrowed; NULL: the run
     * has its own, if it has a history. */
    struct job_timeline *timeline;
    void (*progress)(void *ctx, const struct mr_progress *p);
    void *progress_ctx;
    const atomic_bool *cancel; /* ERR_CANCELLED soon after it is set. */
    struct world *world;       /* Borrowed; NULL: the real one. */
    const char *const *hidden; /* Paths user code must not see: keys. */
    size_t hidden_count;

    /* For tests: called inside attempts at named steps. */
    void (*step)(void *ctx, const char *step, unsigned task, unsigned attempt);
    void *step_ctx;
};

/* --- what came of it ----------------------------------------------------- */

struct mr_counter_value {
    const char *name;
    int64_t value;
};

struct mr_report {
    char *job_id; /* NULL: it has not begun, and is in no history. */
    uint64_t elapsed_us;
    unsigned map_tasks;
    unsigned reduce_tasks;
    unsigned attempts_failed;
    struct mr_counter_value *counters; /* By name, ascending. */
    size_t counter_count;
    char **notes; /* Skipped records and failed attempts, a sentence each. */
    size_t note_count;
};

/* Run the job to its end. *@report (may be NULL) is owned and set in any case,
 * also when the job failed. Errors: ERR_INVALID (options, a SPEC, a parameter),
 * ERR_NOTFOUND (no input matches), ERR_EXISTS (an output), ERR_CANCELLED, and
 * what the job's tasks failed with: the text holds the last lines an attempt
 * wrote to its standard error. Parks. */
MUST_CHECK int mr_run(const struct mr_options *opts,
                      struct mr_report **report,
                      struct err *err);
void mr_report_free(struct mr_report *r); /* NULL is allowed. */

/* An id for a job: "20261121-030500-1a2b", the time to 1/256 of a second and 8
 * random bits. Sorts by time. Owned. */
char *mr_make_id(struct world *w);

/* Resume a job whose process has died, from its journal: tasks that were
 * done are not repeated, and outputs appear once. @base gives history_dir (not
 * NULL), and of the rest of the options only world, fs, store, progress, cancel
 * open_host, check and told with their contexts: the others are those the job
 * was begun with. @find finds the job of a name, as built into this program;
 * NULL: it knows none. Errors besides those of mr_run: ERR_NOTFOUND, ERR_BUSY
 * (it runs), ERR_INVALID (it has ended). Parks.
 */
MUST_CHECK int mr_resume(const struct mr_options *base,
                         const char *id,
                         const struct mr_job *(*find)(const char *name),
                         struct mr_report **report,
                         struct err *err);

/* --- chains of jobs ------------------------------------------------------ */

/* The prefix of its name below the history. */
#define MR_SCRATCH_PREFIX "/.chain-"

/* Make a directory for the files between the jobs of a chain, near the history
 * of @opts. *@dir is owned; remove it with mr_scratch_remove(). */
MUST_CHECK int mr_scratch_make(const struct mr_options *opts,
                               struct world *world,
                               char **dir,
                               struct err *err);
/* Remove @path, which is that directory or inside it; no error if it does not
 * exist. Parks. */
MUST_CHECK int mr_scratch_remove(const struct mr_options *opts,
                                 struct world *world,
                                 const char *path,
                                 struct err *err);
/* Check the outputs of @opts as mr_run() does: for a chain whose last job
 * writes them, and which should fail before its first. Parks. */
MUST_CHECK int mr_check_outputs(const struct mr_options *opts,
                                struct world *world,
                                struct err *err);

/* A counter of the report, 0 when there is none of the name. */
int64_t mr_report_counter(const struct mr_report *r, const char *name);

#endif /* MAPREDUCE_JOB_H */
