/* Calls that show tablets to people: all of a server at a glance, and one in
 * detail. Nothing is read or walked for the first, so that it can be asked for
 * every second.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_SURVEY_CALLS_H
#define BIGTABLE_WIRE_SURVEY_CALLS_H

#include "base/rpc/call_tables.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/field_kinds.h"

#define TABLET_SURVEY_METHODS(METHOD)                                          \
    /* struct survey_request; struct survey. Leaves out tablets of tables that \
     * the caller has no right to. */                                          \
    METHOD(TABLET_SURVEY, 0x51e, "tablet.survey", handle_survey, READY)        \
    /* struct examine_request; struct examination. ERR_NOTFOUND: the tablet is \
     * not here. */                                                            \
    METHOD(TABLET_EXAMINE, 0x51f, "tablet.examine", handle_examine, READY)

enum tablet_survey_method {
    TABLET_SURVEY_METHODS(METHOD_NUMBER)
};

struct survey_request {
    uint64_t after; /* Tablets with greater ids only. */
    uint32_t max;   /* 0: SURVEY_TABLETS_MAX. */
};

#define SURVEY_TABLETS_MAX 4096
/* An answer ends with the tablet that reaches it. */
#define SURVEY_BYTES_MAX ((size_t)4 << 20)

/* A tablet at a glance. */
struct surveyed_tablet {
    uint64_t id;
    struct slice table; /* Its name; "" while the tablet is being loaded. */
    struct slice start;
    struct slice end;
    enum tablet_phase phase;
    uint64_t bytes;        /* Of its SSTables. */
    uint64_t memory_bytes; /* As in struct tablet_load. */
    uint64_t file_count;
    uint64_t debt_bytes;        /* That compactions which are due would read. */
    uint64_t milli_reads_per_s; /* As in struct describe_reply. */
    uint64_t milli_writes_per_s;
    uint64_t milli_bytes_per_s;
    uint64_t loaded_at_us; /* Since the epoch; 0: it is being loaded. */
    bool is_busy;          /* A flush or a compaction of it runs. */
};

struct survey {
    uint64_t server; /* Number of the tablet server. */
    bool more;       /* There are tablets after the last one here. */
    size_t tablet_count;
    struct surveyed_tablet *tablets; /* In the arena given. */
};

struct examine_request {
    uint64_t tablet;
};

/* An SSTable of a tablet. */
struct examined_file {
    uint64_t number;
    uint32_t run; /* Newer runs have higher numbers. */
    uint64_t bytes;
    uint64_t entry_count;
    uint64_t sequence_max; /* Of its newest entry. */
    struct slice smallest; /* Rows, both inclusive. */
    struct slice largest;
};

#define EXAMINE_GROUPS_MAX 32
/* Files of a group in an answer. */
#define EXAMINE_FILES_MAX 10000

/* A locality group of a tablet. */
struct examined_group {
    struct slice name;
    uint64_t memtable_count; /* The active one and those to be written. */
    uint64_t memtable_bytes;
    uint64_t debt_bytes;
    bool is_flushing;
    bool is_compacting;
    uint64_t file_total; /* Of which here are */
    size_t file_count;   /* these, the newest runs first. */
    struct examined_file *files;
};

struct examination {
    struct surveyed_tablet tablet;
    uint64_t table; /* Id of its table. */
    uint64_t epoch; /* Of its location. */
    size_t group_count;
    struct examined_group *groups; /* In the arena given, as their files. */
};

struct arena;

/* Append the message. */
void survey_put(const struct survey *s, struct buf *out);
/* Borrows from @in; the tablets are in @a. ERR_CORRUPT. */
MUST_CHECK int
survey_get(struct slice in, struct arena *a, struct survey *s, struct err *err);
void examination_put(const struct examination *e, struct buf *out);
/* Borrows from @in; the lists are in @a. ERR_CORRUPT. */
MUST_CHECK int examination_get(struct slice in,
                               struct arena *a,
                               struct examination *e,
                               struct err *err);

static const struct message_field survey_request_fields[] = {
    FIELD(survey_request, after, field_u64),
    FIELD(survey_request, max, field_u32),
};

static const struct message_field examine_request_fields[] = {
    FIELD(examine_request, tablet, field_u64),
};

#define SURVEY_MESSAGES(MESSAGE)                                               \
    MESSAGE(survey_request, "question for tablets")                            \
    MESSAGE(examine_request, "question for a tablet")

SURVEY_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_SURVEY_CALLS_H */
