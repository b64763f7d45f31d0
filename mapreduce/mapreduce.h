/* MapReduce jobs in C: what a job is, and what its functions may call.
 *
 *     static int map(struct mr_task *t, const struct mr_record *r,
 *                    struct err *err)
 *     {
 *         (void)err;
 *         mr_emit_count(t, first_word(r->value), 1);
 *         return 0;
 *     }
 *     static int reduce(struct mr_task *t, struct slice key,
 *                       struct mr_values *values, struct err *err)
 *     {
 *         (void)err;
 *         mr_write_count(mr_output(t, NULL), key, mr_values_sum(values));
 *         return 0;
 *     }
 *     static const struct mr_job first_words = {
 *         .abi_version = MR_ABI_VERSION, .name = "first_words",
 *         .map = map, .reduce = reduce, .combine = mr_combine_sum,
 *     };
 *     MAPREDUCE_JOB(first_words);
 *
 * Such a file becomes a job by
 *     cc -shared -fPIC $(pkg-config --cflags quarry) first_words.c -o f.so
 * and is run with `quarry job run ./f.so --input … --output …`. The functions
 * declared here are found in the program that loads the object.
 *
 * A task attempt runs in a process of its own, on one thread: no function of a
 * job needs a lock, and a crash costs one attempt. State of a job lives in what
 * setup() allocates, not in globals: with --local all attempts share a process.
 *
 * Errors: a function returns 0, or a negative ERR_* after err_set(); the
 * attempt then fails and is tried again elsewhere. Emitting and writing never
 * return an error: the task remembers the first one (a full disk, an oversized
 * value) and fails when the function returns.
 *
 * Slices handed to a job are borrowed until its function returns; those of
 * mr_values_next() until the next call of it.
 */
#ifndef MAPREDUCE_MAPREDUCE_H
#define MAPREDUCE_MAPREDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mr_output;
struct mr_task;
struct mr_values;
struct quarry_row;
struct warc_record;

/* Grows whenever a struct below changes; a shared object built for another
 * number is refused with both numbers in the message. */
#define MR_ABI_VERSION 3

/* Longest key, as a row name of a table. */
#define MR_KEY_BYTES_MAX ((size_t)64 << 10)

/* One record of an input. The fields depend on the kind:
 *     file:     value is the line without its line break
 *     records:  key and value as they were written
 *     warc:     key is the target URI, value the payload, warc the rest
 *     table:    key is the row's name, row its cells */
struct mr_record {
    struct slice key;
    struct slice value;
    const struct quarry_row *row;   /* NULL for other inputs. */
    const struct warc_record *warc; /* NULL for other inputs. */
    uint64_t offset;                /* Where in its file it begins. */
    uint64_t number;                /* Of the record in its split, from 0. */
    unsigned input;                 /* Of the --input it came by, from 0. */
};

enum mr_sort {
    MR_SORT_ASCENDING, /* memcmp order, a proper prefix first. */
    MR_SORT_DESCENDING,
};

/* A parameter a job takes by --param name=value. */
struct mr_param {
    const char *name;
    const char *fallback; /* Its value when not given; NULL: required. */
    const char *help;     /* One sentence. */
};

struct mr_job {
    uint32_t abi_version; /* MR_ABI_VERSION */
    const char *name;
    const char *help; /* One sentence. */
    const struct mr_param *params;
    size_t param_count;

    /* Called before the first record and after the last of a map or reduce
     * task; both may be NULL. teardown runs also when the attempt failed. A job
     * so small that one attempt does both calls them for each. */
    int (*setup)(struct mr_task *t, struct err *err);
    void (*teardown)(struct mr_task *t);

    /* Called once a record. NULL: key and value of a record are emitted as they
     * are, for a job that only reduces what others have written. */
    int (*map)(struct mr_task *t,
               const struct mr_record *record,
               struct err *err);
    /* After the last record of a split; may emit. NULL allowed. */
    int (*map_end)(struct mr_task *t, struct err *err);

    /* Called once a group of equal keys, keys in order of @sort. NULL makes the
     * job map-only: what is emitted goes to the output as it comes. */
    int (*reduce)(struct mr_task *t,
                  struct slice key,
                  struct mr_values *values,
                  struct err *err);
    /* After the last group of a partition; may write. NULL allowed. */
    int (*reduce_end)(struct mr_task *t, struct err *err);

    /* Fold @value into @acc, the value emitted for @key so far. Must be
     * associative and commutative; called any number of times, at any stage,
     * and may neither emit nor write. NULL allowed. mr_combine_sum is the one
     * the runtime knows and does without a call. */
    void (*combine)(struct mr_task *t,
                    struct slice key,
                    struct buf *acc,
                    struct slice value);

    /* The partition of @key, below @partition_count. NULL: by hash. */
    unsigned (*partition)(struct mr_task *t,
                          struct slice key,
                          unsigned partition_count);

    /* Secondary sort: the number of leading bytes of @key that name its group.
     * One reduce call sees all keys of a group, its values in order of the
     * whole keys (mr_values_key). Partitioning is by the group. NULL: all. */
    size_t (*group)(struct mr_task *t, struct slice key);

    enum mr_sort sort;
    /* Keys of partition i all sort before those of i + 1: borders are found by
     * running map over a sample of the input. Excludes @partition. */
    bool total_order;
    /* The result is one partition, whatever the user asks. */
    bool single_reducer;
    /* Separates key and value in a text output; NULL: a tab. */
    const char *text_separator;
    /* Families a table output needs, NULL at the end: a table that does not
     * exist is created with them. NULL: it must exist. */
    const char *const *output_families;
    /* It writes lines or records alone: an output that is a table is refused
     * when the job is submitted. */
    bool no_table_output;
    /* For the engines of the runtime; NULL and false in a job of your own. */
    const void *engine;
    bool any_params;
};

/* The symbol by which the runtime finds the job of a shared object. */
#ifdef __cplusplus
#define MR_C_SYMBOL extern "C"
#else
#define MR_C_SYMBOL extern
#endif
#define MAPREDUCE_JOB(job)                                                     \
    MR_C_SYMBOL QUARRY_EXPORT const struct mr_job *const quarry_mapreduce_job; \
    const struct mr_job *const quarry_mapreduce_job = &(job)

#define MR_JOB_SYMBOL "quarry_mapreduce_job"

/* --- about the task ------------------------------------------------------ */

/* Value of a parameter: as given, its fallback, or NULL if the job declares
 * none of this name. Lives as long as the task. */
QUARRY_EXPORT const char *mr_param(const struct mr_task *t, const char *name);
/* The same as a number in [min, max]; ERR_INVALID names the parameter. */
QUARRY_EXPORT MUST_CHECK int mr_param_i64(const struct mr_task *t,
                                          const char *name,
                                          int64_t min,
                                          int64_t max,
                                          int64_t *out,
                                          struct err *err);

/* Path of the file given as --file @name=PATH, on the machine of the attempt;
 * NULL: none was. Lives as long as the task. */
QUARRY_EXPORT const char *mr_file(const struct mr_task *t, const char *name);

/* A pointer the job keeps between its functions; NULL at first. */
QUARRY_EXPORT void *mr_state(const struct mr_task *t);
QUARRY_EXPORT void mr_set_state(struct mr_task *t, void *state);

/* Start of the job, µs since 1970: the same in every attempt, so that what a
 * job writes does not depend on when it ran. */
QUARRY_EXPORT int64_t mr_job_time_us(const struct mr_task *t);
/* The number of this map task's split or this reduce task's partition. */
QUARRY_EXPORT unsigned mr_task_index(const struct mr_task *t);
QUARRY_EXPORT unsigned mr_partition_count(const struct mr_task *t);
/* The file or table the record at hand is from; "" in a reducer. */
QUARRY_EXPORT const char *mr_input_path(const struct mr_task *t);
/* True inside map, map_end and the setup of a map task. */
QUARRY_EXPORT bool mr_is_map(const struct mr_task *t);

/* Add to the counter @name, made on first use. Counters of an attempt count
 * once, when it is the one that is committed. Names: letters, digits, '_', '.';
 * those of the runtime begin with "map." "reduce." "shuffle." "output."
 * "sandbox.". */
QUARRY_EXPORT void mr_count(struct mr_task *t, const char *name, int64_t by);
/* The counter itself, for hot paths; valid as long as the task. */
QUARRY_EXPORT int64_t *mr_counter(struct mr_task *t, const char *name);

/* Say where in the record the job is; shown if it dies there. Copied, cut. */
QUARRY_EXPORT void mr_note(struct mr_task *t, struct slice where);

/* --- emitting (map) ------------------------------------------------------ */

/* Hand a pair to the reducers. Copied. */
QUARRY_EXPORT void
mr_emit(struct mr_task *t, struct slice key, struct slice value);
/* The same with a number as value (mr_values_sum reads it): the fast path of
 * counting jobs, with mr_combine_sum. */
QUARRY_EXPORT void
mr_emit_count(struct mr_task *t, struct slice key, int64_t count);

/* --- values (reduce) ----------------------------------------------------- */

/* The next value of the group, false at its end. Values of equal keys come in
 * order of map task, and in a task as they were emitted; combined ones in one.
 */
QUARRY_EXPORT bool mr_values_next(struct mr_values *v, struct slice *value);
/* The whole key of the value last given: differs inside a group only with
 * mr_job.group. Borrowed until the next mr_values_next(). */
QUARRY_EXPORT struct slice mr_values_key(const struct mr_values *v);
/* Consume the rest of the group and add it up; wraps on overflow. */
QUARRY_EXPORT int64_t mr_values_sum(struct mr_values *v);

/* Numbers as values: what mr_emit_count and mr_combine_sum work on. 0 for a
 * value that is none. */
QUARRY_EXPORT int64_t mr_value_count(struct slice value);
QUARRY_EXPORT void mr_combine_sum(struct mr_task *t,
                                  struct slice key,
                                  struct buf *acc,
                                  struct slice value);

/* --- writing (reduce, and map of map-only jobs) -------------------------- */

/* The output called @name ("name=SPEC" on the command line), or the first one
 * for NULL. NULL, and the task fails, if there is none. */
QUARRY_EXPORT struct mr_output *mr_output(struct mr_task *t, const char *name);
/* True if the job was given an output of that name. */
QUARRY_EXPORT bool mr_has_output(const struct mr_task *t, const char *name);

/* One record: a line "key<separator>value" (only value if @key is empty), or a
 * record with key and value. PRE, else the task fails: not a table. */
QUARRY_EXPORT void
mr_write(struct mr_output *out, struct slice key, struct slice value);
/* The same with a number in decimal. */
QUARRY_EXPORT void
mr_write_count(struct mr_output *out, struct slice key, int64_t count);
/* The same into a file of its own beside the parts: NAME-00000 for task 0. At
 * most MR_SIDE_FILES_MAX names an attempt; letters, digits, '_', '-', '.'. */
#define MR_SIDE_FILES_MAX 64
QUARRY_EXPORT void mr_write_side(struct mr_output *out,
                                 const char *name,
                                 struct slice key,
                                 struct slice value);

/* Changes of a row of a table, applied when the whole job has succeeded.
 * MR_JOB_TIME as @timestamp_us is mr_job_time_us(): running an attempt twice
 * changes nothing. The task fails if the output is not a table. */
#define MR_JOB_TIME INT64_MIN
QUARRY_EXPORT void mr_put(struct mr_output *out,
                          struct slice row,
                          const char *family,
                          struct slice qualifier,
                          int64_t timestamp_us,
                          struct slice value);
QUARRY_EXPORT void mr_delete_column(struct mr_output *out,
                                    struct slice row,
                                    const char *family,
                                    struct slice qualifier);
QUARRY_EXPORT void
mr_delete_family(struct mr_output *out, struct slice row, const char *family);
QUARRY_EXPORT void mr_delete_row(struct mr_output *out, struct slice row);
/* Is the output a table, record files, or (neither) text? */
QUARRY_EXPORT bool mr_output_is_table(const struct mr_output *out);
QUARRY_EXPORT bool mr_output_is_records(const struct mr_output *out);

#ifdef __cplusplus
}
#endif

#endif /* MAPREDUCE_MAPREDUCE_H */
