/* For the files of subjects: parameters, JSON, the answers of all nodes, and
 * clients of the cluster's services.
 *
 * A subject is a line of monitor_subjects.def and a function that adds its
 * fields to a document which has `at_us`, `cluster` and an empty list of
 * `warnings`.
 *
 * Threads: one loop. Whatever is borrowed from a monitor stays valid while the
 * document is being made.
 */
#ifndef CLI_MONITOR_SUBJECT_H
#define CLI_MONITOR_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/slice.h"
#include "bigtable/wire/survey_calls.h"
#include "cli/monitor/monitor.h"
#include "cli/monitor/node_metrics.h"
#include "gfs-lite/gfs.h"

struct chubby;
struct finding_watch;
struct job_client;
struct quarry;

/* Add the fields of the subject to @doc. Parks. Errors: as monitor_make(). */
#define SUBJECT(name, list, function)                                          \
    int function(struct monitor *m, const struct monitor_param *params,        \
                 size_t count, json_t *doc, struct err *err);
#include "cli/monitor/monitor_subjects.def"
#undef SUBJECT

/* The memory of findings. Borrowed. */
struct finding_watch *monitor_watch(const struct monitor *m);
const struct monitor_source *monitor_source_of(const struct monitor *m);

/* --- parameters ---------------------------------------------------------- */

/* The value of parameter @name; NULL: not given. */
const char *monitor_param_value(const struct monitor_param *params,
                                size_t count,
                                const char *name);
/* The same; ERR_INVALID: it is missing or empty. */
MUST_CHECK int monitor_param_need(const struct monitor_param *params,
                                  size_t count,
                                  const char *name,
                                  const char **value,
                                  struct err *err);
/* The number @name within [@min, @max]; *@out stays when it is not given.
 * ERR_INVALID. */
MUST_CHECK int monitor_param_number(const struct monitor_param *params,
                                    size_t count,
                                    const char *name,
                                    uint64_t min,
                                    uint64_t max,
                                    uint64_t *out,
                                    struct err *err);
/* The time @name: microseconds since the epoch, or seconds before @now_us
 * ("-3600"); *@out stays when it is not given. ERR_INVALID. */
MUST_CHECK int monitor_param_time(const struct monitor_param *params,
                                  size_t count,
                                  const char *name,
                                  uint64_t now_us,
                                  uint64_t *out,
                                  struct err *err);
/* Parameter `limit`: rows of the document, at most. @otherwise: when it is not
 * given. */
#define MONITOR_ROWS_MAX 10000
MUST_CHECK int monitor_param_limit(const struct monitor_param *params,
                                   size_t count,
                                   size_t otherwise,
                                   size_t *limit,
                                   struct err *err);

/* --- JSON ---------------------------------------------------------------- */

/* Bytes that are no UTF-8 become '?'. */
void doc_put_text(json_t *object, const char *name, struct slice text);
void doc_put_str(json_t *object, const char *name, const char *text);
void doc_put_u64(json_t *object, const char *name, uint64_t value);
void doc_put_i64(json_t *object, const char *name, int64_t value);
/* Rounded to three digits after the point. Not a number: absent. */
void doc_put_double(json_t *object, const char *name, double value);
void doc_put_bool(json_t *object, const char *name, bool value);
/* A row key, escaped as `quarry get` takes and prints it. */
void doc_put_key(json_t *object, const char *name, struct slice key);
/* A new, empty array or object at @name. Borrowed from @object. */
json_t *doc_put_array(json_t *object, const char *name);
json_t *doc_put_object(json_t *object, const char *name);
/* A new object at the end of @array. Borrowed. */
json_t *doc_append_object(json_t *array);
/* A string at the end of @array, as doc_put_text() puts it. */
void doc_append_text(json_t *array, struct slice text);
void doc_append_str(json_t *array, const char *text);
/* Add a sentence to `warnings`, or each line of @lines. */
void doc_warn(json_t *doc, const char *fmt, ...) PRINTF_LIKE(2, 3);
void doc_warn_lines(json_t *doc, struct slice lines);

/* --- nodes --------------------------------------------------------------- */

/* Nodes that are asked at most. */
#define MONITOR_NODES_MAX 512

enum node_state {
    NODE_UP,
    NODE_SILENT, /* No answer in time, or none that can be read. */
    NODE_DOWN,   /* Nobody listens at its address. */
};

/* One answer of a node. Immutable, shared. */
struct node_answer {
    unsigned references;
    struct buf status; /* The text of SERVER_STATUS. */
    struct node_metrics metrics;
    uint64_t asked_us;   /* When, by the clock of who asks. */
    uint64_t waited_us;  /* For the answer of SERVER_STATUS. */
    uint64_t at_mono_ns; /* When the metrics came. */
    bool has_metrics;    /* They could be read. */
    size_t *charged;     /* The bytes that all answers' metrics hold. */
};

/* A node, as it is known. */
struct monitor_node {
    const char *address;
    const char *name; /* As it says itself; its address while unknown. */
    bool in_cell;
    enum node_state state;
    const char *why;                  /* It is not up; "" else. */
    const struct err *err;            /* The same; NULL: it is up. */
    const struct node_answer *answer; /* NULL: not up. */
    const struct node_answer *before; /* An earlier one; NULL: none. */
};

/* All nodes, sorted by name, and what the namenode knows. Immutable, shared. */
struct monitor_nodes {
    unsigned references;
    uint64_t at_us;
    uint64_t at_mono_ns;
    struct monitor_node *at;
    size_t count;
    bool has_files; /* The namenode answered. */
    struct gfs_status files;
    struct buf warnings; /* Lines: which other nodes may be missing. */
    struct arena arena;
};

/* The nodes, asked within the last second. *@out: release it with
 * monitor_nodes_unref(). Parks. Errors: ERR_CANCELLED, ERR_DEADLINE. */
MUST_CHECK int monitor_nodes_get(struct monitor *m,
                                 struct monitor_nodes **out,
                                 struct err *err);
/* The same, with a sample before the last one at nearly all nodes, so that
 * there are rates: the first time it takes a second longer. */
MUST_CHECK int monitor_nodes_get_rates(struct monitor *m,
                                       struct monitor_nodes **out,
                                       struct err *err);
void monitor_nodes_unref(struct monitor_nodes *n); /* NULL is allowed. */
/* Append to the `warnings` of @doc each node that is not up, and why, and those
 * of @n. */
void monitor_nodes_warn(const struct monitor_nodes *n, json_t *doc);
/* By name or address; NULL: there is none. */
const struct monitor_node *monitor_nodes_find(const struct monitor_nodes *n,
                                              struct slice name);

/* "up", "silent" or "down". */
const char *node_state_name(enum node_state s);
/* The value of @key in the line about the process, "" if there is none. */
struct slice node_about(const struct monitor_node *n, const char *key);
/* The pairs of @role of the node; false: it has not that role. */
bool node_role(const struct monitor_node *n,
               const char *role,
               struct slice *pairs);
/* The node that leads the others of @role (lock, namenode, master, jobs); NULL:
 * none does. */
const struct monitor_node *monitor_nodes_leader(const struct monitor_nodes *n,
                                                const char *role);
/* By how much the clock of @node is ahead of the median of all. False: unknown.
 */
bool node_clock_offset(const struct monitor_nodes *n,
                       const struct monitor_node *node,
                       int64_t *us);
/* The sum of the samples of metric @name ("quarry_rpc_calls_total") with
 * @labels ("table=t,reason=read"; NULL: any). False: there is none. */
bool node_metric(const struct monitor_node *n,
                 const char *name,
                 const char *labels,
                 double *out);
/* By how much a counter grew a second between the last two samples. False:
 * there are not two of one process. */
bool node_rate(const struct monitor_node *n,
               const char *name,
               const char *labels,
               double *per_s);
/* Add to @h what the histogram @name ("quarry_tablet_read_seconds") recorded
 * between the last two samples. */
void node_latency(const struct monitor_node *n,
                  const char *name,
                  const char *labels,
                  struct metric_spread *h);

/* --- calls to nodes ------------------------------------------------------ */

struct node_call {
    const struct monitor_node *node;
    struct slice body;
    struct slice attachment;
    int rc;
    struct err err;
    struct buf reply;
    struct buf reply_attachment;
};

struct node_calls {
    struct node_call *at; /* Owned. */
    size_t count;
};

/* Call @method of each node of @n that is up, at the same time; each may take
 * two seconds. Close @out in any case. Parks. */
void node_calls_make(struct monitor *m,
                     const struct monitor_nodes *n,
                     uint32_t method,
                     struct slice body,
                     struct slice attachment,
                     struct node_calls *out);
void node_calls_close(struct node_calls *c);

/* A call of one node. */
struct monitor_question {
    uint32_t method;
    struct slice body;
    struct slice attachment;
    uint64_t timeout_us;
};

/* Call a method of @node. @reply and @reply_attachment (NULL: none is wanted)
 * are appended to. Parks. Errors: those of rpc_call(). */
MUST_CHECK int monitor_call(struct monitor *m,
                            const struct monitor_node *node,
                            const struct monitor_question *q,
                            struct buf *reply,
                            struct buf *reply_attachment,
                            struct err *err);

/* --- tablets ------------------------------------------------------------- */

/* Tablets of all servers together, at most. */
#define MONITOR_TABLETS_MAX 100000

/* A tablet, as its server tells. */
struct monitor_tablet {
    struct surveyed_tablet t;
    const struct monitor_node *node; /* Of monitor_tablets.nodes. */
};

/* The tablets of all servers, sorted by table and row. Immutable, shared. */
struct monitor_tablets {
    unsigned references;
    uint64_t at_mono_ns;
    uint64_t took_ns;
    struct monitor_nodes *nodes; /* Referenced. */
    struct monitor_tablet *at;
    size_t count;
    bool is_complete;    /* All tablet servers that are known have told. */
    struct buf warnings; /* Lines. */
    struct arena arena;
};

/* The tablets, asked within the last second, or within ten times the time that
 * it took. *@out: monitor_tablets_unref(). Parks. Errors: ERR_CANCELLED,
 * ERR_DEADLINE. */
MUST_CHECK int monitor_tablets_get(struct monitor *m,
                                   struct monitor_tablets **out,
                                   struct err *err);
void monitor_tablets_unref(struct monitor_tablets *t); /* NULL is allowed. */
/* The tablets of @table: the first one and their number. */
size_t monitor_tablets_of(const struct monitor_tablets *t,
                          struct slice table,
                          const struct monitor_tablet **first);
/* Append to `warnings` of @doc which servers have not told, and the nodes'. */
void monitor_tablets_warn(const struct monitor_tablets *t, json_t *doc);

/* Sums over the tablets of a table. */
struct tablet_totals {
    size_t served;
    size_t gaps; /* Ranges of rows that no server has told of. */
    uint64_t bytes;
    double reads_per_s;
    double writes_per_s;
    double bytes_per_s;
    const struct monitor_tablet *hottest; /* NULL: none is read or written. */
};

/* Add up the @count tablets at @first, those of one table. */
struct tablet_totals tablet_totals_of(const struct monitor_tablet *first,
                                      size_t count);
/* A sentence about the state of a table with these totals: "well", or what
 * ails it. @complete: of monitor_tablets. */
const char *tablet_totals_state(const struct tablet_totals *t, bool complete);
/* The columns of a tablet, as in documents table and tablet. */
void doc_put_tablet(json_t *row, const struct monitor_tablet *t);

/* --- services ------------------------------------------------------------ */

/* Clients, opened by their first use and borrowed until the document is made.
 * Park. Errors: ERR_UNAVAILABLE and others of the service; one that could not
 * be opened is not tried again for some seconds. */
MUST_CHECK int
monitor_tables(struct monitor *m, struct quarry **out, struct err *err);
MUST_CHECK int
monitor_files(struct monitor *m, struct fs **out, struct err *err);
MUST_CHECK int
monitor_jobs(struct monitor *m, struct job_client **out, struct err *err);
MUST_CHECK int
monitor_locks(struct monitor *m, struct chubby **out, struct err *err);

#endif /* CLI_MONITOR_SUBJECT_H */
