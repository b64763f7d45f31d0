/* Calls that read and write rows: from clients to tablet servers.
 *
 * Every call names tablets by their ids; a server that does not serve one
 * answers for it with ERR_NOTFOUND and ERR_DETAIL_ELSEWHERE: the client forgets
 * the location, looks it up again and tries again, as it does with
 * ERR_UNAVAILABLE (loading, or no memory right now). A row outside of the
 * tablet named is answered in the same way.
 *
 * Bodies are MessagePack arrays of few fields; rows and changes travel in the
 * attachment, in the forms below. put appends; get borrows from the bytes and
 * fails with ERR_CORRUPT, having believed no length.
 *
 * The server keeps no state of a scan: an answer has as many rows as fit into
 * its bytes, and the key to continue at. A row is always whole, and of one
 * moment; different answers of a scan are of different moments.
 *
 * The connection tells who calls (rpc_call.principal).
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_DATA_CALLS_H
#define BIGTABLE_WIRE_DATA_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/rpc/call_tables.h"
#include "bigtable/row/cells.h"
#include "bigtable/wire/field_kinds.h"

#define TABLET_DATA_METHODS(METHOD)                                            \
    /* struct read_request; struct read_reply with rows attached. */           \
    METHOD(TABLET_READ, 0x511, "tablet.read", handle_read, READY)              \
    /* struct apply_request with changes attached; struct apply_reply. */      \
    METHOD(TABLET_APPLY, 0x512, "tablet.apply", handle_apply, READY)           \
    /* struct check_request with changes attached; struct check_reply. */      \
    METHOD(TABLET_CHECK, 0x513, "tablet.check", handle_check, READY)           \
    /* struct modify_request; one row attached. */                             \
    METHOD(TABLET_MODIFY, 0x514, "tablet.modify", handle_modify, READY)        \
    /* struct run_request; struct run_reply with partial tables attached. */   \
    METHOD(TABLET_RUN, 0x515, "tablet.run", handle_run, READY)                 \
    /* struct cuts_request; row keys that cut the tablet into pieces,          \
     * attached (keys_put()). */                                               \
    METHOD(TABLET_CUTS, 0x516, "tablet.cuts", handle_cuts, READY)              \
    /* struct cuts_request (parts 0); struct describe_reply. */                \
    METHOD(TABLET_DESCRIBE, 0x517, "tablet.describe", handle_describe, READY)  \
    /* struct each_request with look-ups attached; struct apply_reply          \
     * with an answer to each attached. */                                     \
    METHOD(TABLET_READ_EACH, 0x51a, "tablet.read_each", handle_read_each, READY)

enum tablet_data_method {
    TABLET_DATA_METHODS(METHOD_NUMBER)
};

/* --- what to read -------------------------------------------------------- */

/* struct quarry_read_options, on the wire: families by name, the filter in its
 * binary form. Ranges and keys are clipped to the tablet by the server. */
struct read_request {
    uint64_t tablet;
    uint64_t generation;  /* Of the schema the client knows; 0: any. A server
                             with an older one answers ERR_UNAVAILABLE. */
    struct slice options; /* read_options_put() */
    struct slice from;    /* Continue at this row; empty: at the start. */
    uint64_t row_limit;   /* Rows still wanted; 0: all. */
    uint32_t bytes_max;   /* About, of an answer; 0: the server's default. */
    bool explain;         /* Say in the answer what was read for it. */
};

struct read_reply {
    bool done;         /* The tablet has no more. */
    struct slice next; /* Otherwise continue at this row. */
    uint64_t row_count;
    struct slice explain; /* explain_put(), if that was asked for. */
};

struct quarry_read_options;
struct arena;
struct explain_tablet;

/* The record of the scan of one answer, about its tablet: counters in the order
 * of EXPLAIN_COUNTS, files, and stages of the filter. explain_get() adds it to
 * @t, whose record has begun with the same filter and program; counters that
 * an older server does not know stay as they are. Errors: ERR_CORRUPT, also
 * when the stages are others; then part of it may have been added. */
void explain_put(const struct explain_tablet *t, struct buf *out);
MUST_CHECK int
explain_get(struct slice in, struct explain_tablet *t, struct err *err);

/* Options with all they point to, apart from `cancel`. get bounds everything:
 * at most READ_RANGES_MAX ranges and keys together; a filter with a mistake in
 * it is ERR_INVALID, ERR_TOOBIG or ERR_UNSUPPORTED. All that get makes is in
 * @a, apart from the filter, which is an owned reference: quarry_filter_free().
 */
#define READ_RANGES_MAX ((size_t)1 << 20)
void read_options_put(const struct quarry_read_options *o, struct buf *out);
MUST_CHECK int read_options_get(struct slice in,
                                struct arena *a,
                                struct quarry_read_options *out,
                                struct err *err);

/* A row in an attachment: key, then cells, each with the family's and the
 * qualifier's name only where they differ from the cell's before. */
void row_put(const struct quarry_row *row, struct buf *out);

/* Rows one after another. */
struct row_decoder {
    struct slice rest;
    struct quarry_row row; /* The one read last; in memory of the reader, its
                              bytes borrowed from the attachment. */
    struct buf cells;
};

/* @attachment stays where it is until the reader is closed. */
void row_decoder_init(struct row_decoder *r, struct slice attachment);
/* *@row is NULL at the end. */
MUST_CHECK int row_decoder_next(struct row_decoder *r,
                                const struct quarry_row **row,
                                struct err *err);
/* Frees the cells. */
void row_decoder_close(struct row_decoder *r);

/* --- single rows --------------------------------------------------------- */

/* One row, or the newest cell of one column of it, which is the cheapest read.
 * The attachment of TABLET_READ_EACH is a sequence of them. Each has an outcome
 * of its own, as the changes of TABLET_APPLY have; an answer that grows long
 * has ERR_TOOBIG for those it left out: they are to be asked for again. */
struct row_lookup {
    uint64_t tablet;
    uint64_t generation; /* As of reads. */
    struct slice row;
    bool is_cell;
    struct slice family; /* Of a cell. */
    struct slice qualifier;
    struct slice options; /* Of a row: read_options_put(), without rows. */
};

#define EACH_LOOKUPS_MAX 4096U

struct each_request {
    uint32_t count; /* Of look-ups in the attachment. */
};

/* The answers, attached, in the order of the look-ups: nothing where there is
 * nothing, or it failed; row_put(); or the cell. */
struct cell_answer {
    int64_t timestamp_us;
    struct slice value;
};

void row_lookup_put(const struct row_lookup *l, struct buf *out);
/* Take the first one off @rest. *@more is false at its end. */
MUST_CHECK int row_lookup_next(struct slice *rest,
                               struct row_lookup *l,
                               bool *more,
                               struct err *err);
/* An answer to a cell's look-up; get borrows the value. */
void cell_answer_put(const struct cell_answer *c, struct buf *out);
MUST_CHECK int
cell_answer_get(struct slice in, struct cell_answer *c, struct err *err);

/* --- what to write ------------------------------------------------------- */

/* The identity of a change, the same in each of its tries: so it is made once
 * (tablet/done_changes.h). A client tries for CHANGE_RETRY_US at most; servers
 * remember a change for twice that time after the last call of its session. */
#define CHANGE_RETRY_US (UINT64_C(300) * 1000000)

struct change_origin {
    uint64_t session; /* A random number; 0: changes are not tried again. */
    uint64_t floor;   /* No change below it is tried again. */
};

/* Changes of one row, for one tablet. The attachment of TABLET_APPLY is a
 * sequence of them; those of one tablet are applied in their order. */
struct row_change {
    uint64_t tablet;
    uint64_t sequence; /* Its number in the session. */
    struct slice row;
    struct slice ops; /* As struct quarry_mutation holds them. */
    uint32_t count;
};

struct apply_request {
    uint8_t durability;          /* enum write_durability */
    uint32_t count;              /* Of row changes in the attachment. */
    struct change_origin origin; /* Of all of them. */
};

/* The outcome of each change: 0 or an error code, and the first failure. */
#define APPLY_CHANGES_MAX ((uint32_t)1 << 20)

struct apply_reply {
    uint32_t count;       /* At most APPLY_CHANGES_MAX. */
    const int32_t *codes; /* In the arena. */
    struct err first;     /* Failure; its code is not sent. */
};

void row_change_put(const struct row_change *c, struct buf *out);
/* Take the first one off @rest. *@more is false at its end. */
MUST_CHECK int row_change_next(struct slice *rest,
                               struct row_change *c,
                               bool *more,
                               struct err *err);

/* The attachment: row_change_put() of the change made if the filter leaves a
 * cell, then of the change made otherwise, as far as there are any. */
struct check_request {
    uint64_t tablet;
    uint8_t durability;
    struct slice row;
    struct slice filter; /* filter_encode(); */
    bool has_filter;     /* false: does the row exist? */
    bool has_true;
    bool has_false;
    struct change_origin origin;
    uint64_t sequence;
};

struct check_reply {
    bool matched;
};

#define MODIFY_RULES_MAX 100000
/* Of what the rules append, and their qualifiers. */
#define MODIFY_BYTES_MAX ((size_t)8 << 20)

struct quarry_rmw_rule;

struct modify_request {
    uint64_t tablet;
    uint8_t durability;
    struct slice row;
    size_t rule_count;
    const struct quarry_rmw_rule *rules; /* In the arena; families
                                            0-terminated. */
    struct change_origin origin;
    uint64_t sequence;
};

/* A check or a modification that was made before is answered as it was then;
 * ERR_ABORTED when that answer was too long to be kept. */

/* --- programs ------------------------------------------------------------ */

/* Of struct saw_compile_options and struct saw_run_options. */
struct run_settings {
    bool ignore_undefs;
    bool defer_tables;
    uint32_t depth_max;
    uint64_t seed;
    bool has_table_output;
    struct slice table_output; /* Without a NUL in it. */
};

struct run_request {
    uint64_t tablet;
    uint64_t generation;  /* As of reads. */
    struct slice options; /* read_options_put(), without program. */
    struct slice source;  /* Of the Sawzall program. */
    struct slice from;    /* As of reads. */
    uint64_t fuel;        /* Instructions a row; 0: the default. */
    uint64_t memory_max;  /* 0: the default. */
    uint32_t limit_us;    /* Answer after about this time, with `next`. */
    struct run_settings settings;
};

/* A program that emits to outputs is not for tablet servers: ERR_ABORTED with
 * ERR_DETAIL_PROGRAM_WRITES, and the client runs it over a scan. */

/* The attachment: partial tables, as sawzall.h encodes them for merging. */
struct run_reply {
    bool done;
    struct slice next;
    uint64_t row_count;
    uint64_t undefined_count; /* Records that were left out. */
};

/* --- about a tablet ------------------------------------------------------ */

struct cuts_request {
    uint64_t tablet;
    uint32_t parts;
};

struct group_load {
    struct slice name;
    uint64_t file_count;
    uint64_t file_bytes;
    uint64_t memory_bytes;
    uint64_t entry_count;
};

struct family_load {
    struct slice name;
    uint64_t stored_bytes; /* Its part of the files, about. */
    uint64_t memory_bytes; /* Of memtables, and files that are in memory. */
};

struct describe_reply {
    uint64_t bytes;
    size_t group_count;
    struct group_load *groups; /* In the arena, as the next one. */
    size_t family_count;
    struct family_load *families;
    /* Thousandths, over the last minute; 0 of a server that does not know. */
    uint64_t milli_reads_per_s; /* Rows. */
    uint64_t milli_writes_per_s;
    uint64_t milli_bytes_per_s; /* Of both. */
};

#define CUTS_MAX 65536

/* --- changes of a schema ------------------------------------------------- */

struct quarry_alter;
struct schema;

#define ALTER_CHANGES_MAX 4096

/* Of MASTER_ALTER_TABLE. */
void alter_put(const struct quarry_alter *changes,
               size_t count,
               struct buf *out);
/* Apply the changes in @in to @schema: all or, on error, the schema is to be
 * thrown away. */
MUST_CHECK int
alter_apply(struct slice in, struct schema *schema, struct err *err);
/* The same with decoded changes. */
MUST_CHECK int alter_schema(struct schema *schema,
                            const struct quarry_alter *changes,
                            size_t count,
                            struct err *err);

/* --- on the wire --------------------------------------------------------- */

static const struct message_field read_request_fields[] = {
    FIELD(read_request, tablet, field_u64),
    FIELD(read_request, generation, field_u64),
    FIELD(read_request, options, field_bytes),
    FIELD(read_request, from, field_bytes),
    FIELD(read_request, row_limit, field_u64),
    FIELD(read_request, bytes_max, field_u32),
    LATER_FIELD(read_request, explain, field_flag),
};

static const struct message_field read_reply_fields[] = {
    FIELD(read_reply, done, field_flag),
    FIELD(read_reply, next, field_bytes),
    FIELD(read_reply, row_count, field_u64),
    LATER_FIELD(read_reply, explain, field_bytes),
};

static const struct message_field each_request_fields[] = {
    FIELD(each_request, count, field_u32),
};

static const struct message_field apply_request_fields[] = {
    FIELD(apply_request, durability, field_u8),
    FIELD(apply_request, count, field_u32),
    FIELD(apply_request, origin.session, field_u64),
    FIELD(apply_request, origin.floor, field_u64),
};

static const struct message_field check_request_fields[] = {
    FIELD(check_request, tablet, field_u64),
    FIELD(check_request, durability, field_u8),
    FIELD(check_request, row, field_bytes),
    MAYBE_FIELD(check_request, filter, has_filter, field_maybe),
    FIELD(check_request, has_true, field_flag),
    FIELD(check_request, has_false, field_flag),
    FIELD(check_request, origin.session, field_u64),
    FIELD(check_request, origin.floor, field_u64),
    FIELD(check_request, sequence, field_u64),
};

static const struct message_field check_reply_fields[] = {
    FIELD(check_reply, matched, field_flag),
};

static const struct message_field run_request_fields[] = {
    FIELD(run_request, tablet, field_u64),
    FIELD(run_request, generation, field_u64),
    FIELD(run_request, options, field_bytes),
    FIELD(run_request, source, field_bytes),
    FIELD(run_request, from, field_bytes),
    FIELD(run_request, fuel, field_u64),
    FIELD(run_request, memory_max, field_u64),
    FIELD(run_request, limit_us, field_u32),
    FIELD(run_request, settings.ignore_undefs, field_flag),
    FIELD(run_request, settings.defer_tables, field_flag),
    FIELD(run_request, settings.depth_max, field_u32),
    FIELD(run_request, settings.seed, field_u64),
    MAYBE_FIELD(run_request,
                settings.table_output,
                settings.has_table_output,
                field_output),
};

static const struct message_field run_reply_fields[] = {
    FIELD(run_reply, done, field_flag),
    FIELD(run_reply, next, field_bytes),
    FIELD(run_reply, row_count, field_u64),
    FIELD(run_reply, undefined_count, field_u64),
};

static const struct message_field cuts_request_fields[] = {
    FIELD(cuts_request, tablet, field_u64),
    FIELD(cuts_request, parts, field_u32),
};

#define DATA_MESSAGES(MESSAGE)                                                 \
    MESSAGE(read_request, "request to read rows")                              \
    MESSAGE(read_reply, "answer with rows")                                    \
    MESSAGE(each_request, "request to read single rows")                       \
    MESSAGE(apply_request, "request to change rows")                           \
    MESSAGE(check_request, "request to check a row")                           \
    MESSAGE(check_reply, "answer to a check")                                  \
    MESSAGE(run_request, "request to run a program")                           \
    MESSAGE(run_reply, "answer of a program")                                  \
    MESSAGE(cuts_request, "request for cuts")

/* Codes, and the first failure with its detail. */
void apply_reply_put(const struct apply_reply *r, struct buf *out);
/* Borrows from @in; its lists are in @a. ERR_CORRUPT. */
MUST_CHECK int apply_reply_get(struct slice in,
                               struct arena *a,
                               struct apply_reply *r,
                               struct err *err);
/* The rules of a read-modify-write. */
void modify_request_put(const struct modify_request *r, struct buf *out);
/* Borrows from @in; its lists are in @a. ERR_CORRUPT. */
MUST_CHECK int modify_request_get(struct slice in,
                                  struct arena *a,
                                  struct modify_request *r,
                                  struct err *err);
/* A list of row keys. */
void keys_put(const struct slice *keys, size_t count, struct buf *out);
/* Borrows from @in; the list is in @a. At most CUTS_MAX. ERR_CORRUPT. */
MUST_CHECK int keys_get(struct slice in,
                        struct arena *a,
                        struct slice **keys,
                        size_t *count,
                        struct err *err);
/* Groups, families and rates. */
void describe_reply_put(const struct describe_reply *r, struct buf *out);
/* Borrows from @in; its lists are in @a. ERR_CORRUPT. */
MUST_CHECK int describe_reply_get(struct slice in,
                                  struct arena *a,
                                  struct describe_reply *r,
                                  struct err *err);

DATA_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_DATA_CALLS_H */
