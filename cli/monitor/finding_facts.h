/* Facts about a cluster from which findings are drawn: what its nodes said at
 * two moments, and what the services say of files, tables and jobs. A fact that
 * is not known is absent: its pointer is NULL, its count 0, or the flag beside
 * it false. Rules must tell "none" from "not known".
 *
 * Nodes speak in two texts: their status (cli/status_text.h) and their metrics.
 *
 * Pure: no clock, no I/O. Threads: any; facts do not change once they are made.
 * Texts are borrowed for the life of the facts.
 */
#ifndef CLI_MONITOR_FINDING_FACTS_H
#define CLI_MONITOR_FINDING_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct node_metrics;

/* The texts of a node at one moment. */
struct fact_look {
    uint64_t at_us; /* By a clock that is never set; 0: nothing was said. */
    struct slice status;
    const struct node_metrics *metrics; /* NULL: none. */
};

struct fact_point {
    uint64_t at_us;
    double value;
};

/* A metric over time, the oldest first. */
struct fact_series {
    const char *name; /* Of the metric, as it is scraped. */
    const struct fact_point *points;
    size_t count;
};

enum fact_node_state {
    FACT_UP,     /* It answered. */
    FACT_SILENT, /* It gave no answer in time. */
    FACT_DOWN,   /* Nobody listens there. */
};

struct fact_node {
    const char *name;    /* Its address, where the name is not known. */
    const char *address; /* "host:port" */
    enum fact_node_state state;
    const char *why;      /* It does not answer; NULL: it does. */
    const char *version;  /* NULL: not known. */
    uint64_t heard_at_us; /* When it last answered somebody; 0: not known. */
    bool has_clock;       /* The next two are known. */
    int64_t clock_us;     /* By how much its clock is ahead of the others'. */
    uint64_t clock_slack_us; /* That may be wrong by this. */
    struct fact_look now;
    struct fact_look before; /* Some seconds earlier. */
    const struct fact_series *series;
    size_t series_count;
};

/* A chunk server, as the namenode sees it. */
struct fact_chunk_server {
    const char *address;
    bool alive;
    bool leaves; /* Its operator takes it out of service. */
    uint64_t heard_us_ago;
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    uint64_t chunks;
};

struct fact_files {
    bool known;
    const char *why; /* It is not known; NULL: nobody was asked. */
    bool safe_mode;
    uint64_t chunks;
    uint64_t lost;
    uint64_t unreported;
    uint64_t under_replicated;
    uint64_t copying;
    const struct fact_chunk_server *servers;
    size_t server_count;
};

struct fact_tablet {
    const char *table;
    const char *id;
    const char *start; /* Printable; "": no bound. */
    const char *end;
    const char *address; /* Of its server; NULL: nobody has it, or it was not
                            asked for because another one is busier. */
    uint64_t bytes;
    double reads_per_s; /* Rows. */
    double writes_per_s;
    const char *hot_row; /* Of the table's busiest tablet, the row that is read
                            or written most, printable; NULL: not known. */
    double hot_row_per_s;
};

struct fact_tablets {
    bool known;
    const char *why;
    const struct fact_tablet *at; /* Of one table side by side. */
    size_t count;
};

struct fact_job {
    const char *id;
    const char *label;
    bool runs; /* Else it waits for its turn. */
    const char *phase;
    unsigned tasks_total;
    unsigned tasks_done;
    unsigned tasks_running;
    unsigned attempts_failed;
    unsigned stragglers;     /* Attempts that take much longer than others. */
    const char *slowest;     /* Of these: "map task 3 on worker w2". */
    uint64_t slowest_us;     /* It takes so long so far, */
    uint64_t median_us;      /* the others took that. */
    const char *waits_for;   /* "4 tasks wait: no worker …"; NULL: nothing. */
    uint64_t progress_at_us; /* When a task of it last ended or read something;
                                0: not known. */
};

struct fact_jobs {
    bool known;
    const char *why;
    const struct fact_job *at;
    size_t count;
};

struct finding_facts {
    uint64_t now_us; /* Since the epoch. */
    const struct fact_node *nodes;
    size_t node_count;
    struct fact_files files;
    struct fact_tablets tablets;
    struct fact_jobs jobs;
};

/* --- looks --------------------------------------------------------------- */

/* The sum of the samples of @name with @labels ("cell=lock"; NULL: any). False:
 * there is none, and *@value stays. */
bool fact_sum(const struct fact_look *l,
              const char *name,
              const char *labels,
              double *value);
/* The same, or @otherwise. */
double fact_sum_or(const struct fact_look *l,
                   const char *name,
                   const char *labels,
                   double otherwise);

/* Sample @i of the metric @name; false: it has fewer. */
struct fact_sample {
    struct slice first; /* Values of its first two labels; empty: none. */
    struct slice second;
    double value;
};

bool fact_sample(const struct fact_look *l,
                 const char *name,
                 size_t i,
                 struct fact_sample *out);
/* By how much such a sum of counters grew between both looks at @n. False: it
 * is not known, or the process is another one. */
bool fact_growth(const struct fact_node *n,
                 const char *name,
                 const char *labels,
                 double *by);
/* The same a second. */
bool fact_rate(const struct fact_node *n,
               const char *name,
               const char *labels,
               double *per_s);
/* NULL: there is none. */
const struct fact_series *fact_series(const struct fact_node *n,
                                      const char *name);

/* --- status -------------------------------------------------------------- */

/* The value of @key in the line of @role, or of the process (NULL). Empty:
 * there is none. */
struct slice
fact_status(const struct fact_look *l, const char *role, const char *key);
bool fact_has_role(const struct fact_node *n, const char *role);

/* The node at @address; NULL: there is none. */
const struct fact_node *fact_node_at(const struct finding_facts *f,
                                     const char *address);

#endif /* CLI_MONITOR_FINDING_FACTS_H */
