/* Findings: each rule fires where it should, not below its bound, and says
 * nothing of what is not known; the memory knows since when, and holds back
 * what may only be a moment's noise.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/monitor/finding.h"
#include "cli/monitor/node_metrics.h"
#include "cli/monitor/trend.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

#define NODES     4
#define SECONDS   UINT64_C(1000000)
#define NOW_US    (UINT64_C(1700000000) * SECONDS)
#define GIB       "1073741824"
#define STARTED   "process_start_time_seconds 1690000000\n"
#define LEADING   "n: \nlock: health=well state=leader\n"
#define FOLLOWING "n: \nlock: health=well state=follower\n"

struct node_case {
    const char *address; /* NULL: no such node. */
    const char *status;
    const char *metrics; /* Now, */
    const char *before;  /* and ten seconds ago. NULL: nothing. */
    const char *why;     /* Not NULL: it is down. */
    const char *version;
    int64_t clock_us;
    const struct fact_series *series;
};

struct finding_case {
    const char *name;
    const char *rule;
    struct node_case nodes[NODES];
    struct fact_files files;
    struct fact_tablet tablets[NODES];
    struct fact_job jobs[2];
    const char *unasked; /* Why tables and jobs are not known. */
    /* Expected: */
    size_t count;
    enum finding_severity severity;
    const char *sentence; /* A part of it. */
};

/* Facts of a case, and what they borrow. */
struct scene {
    struct finding_facts facts;
    struct fact_node nodes[NODES];
    struct node_metrics now[NODES];
    struct node_metrics before[NODES];
    struct finding_memory *memory;
};

static void parse(const char *text, struct node_metrics *out)
{
    struct err err = ERR_INIT;
    ck_assert_msg(node_metrics_parse(slice_str(text ? text : ""), out, &err) ==
                      0,
                  "%s", err.text);
}

static void set_node(struct scene *s, size_t i, const struct node_case *c)
{
    parse(c->metrics, &s->now[i]);
    parse(c->before, &s->before[i]);
    s->nodes[i] = (struct fact_node){
        .name = c->address,
        .address = c->address,
        .state = c->why ? FACT_DOWN : FACT_UP,
        .why = c->why,
        .version = c->version,
        .has_clock = true,
        .clock_us = c->clock_us,
        .clock_slack_us = 1000,
        .now = {.at_us = NOW_US,
                .status = slice_str(c->status ? c->status : ""),
                .metrics = c->metrics ? &s->now[i] : NULL},
        .before = {.at_us = c->before ? NOW_US - 10 * SECONDS : 0,
                   .metrics = c->before ? &s->before[i] : NULL},
        .series = c->series,
        .series_count = c->series ? 1 : 0,
    };
}

static void scene_open(struct scene *s, const struct finding_case *c)
{
    size_t nodes = 0, tablets = 0, jobs = 0;
    memset(s, 0, sizeof(*s));
    while (nodes < NODES && c->nodes[nodes].address) {
        set_node(s, nodes, &c->nodes[nodes]);
        nodes++;
    }
    while (tablets < NODES && c->tablets[tablets].table)
        tablets++;
    while (jobs < 2 && c->jobs[jobs].id)
        jobs++;
    s->memory = finding_memory_new();
    s->facts = (struct finding_facts){
        .now_us = NOW_US,
        .nodes = s->nodes,
        .node_count = nodes,
        .files = c->files,
        .tablets = {!c->unasked, c->unasked, c->tablets, tablets},
        .jobs = {!c->unasked, c->unasked, c->jobs, jobs},
    };
}

static void scene_close(struct scene *s)
{
    finding_memory_free(s->memory);
    for (size_t i = 0; i < NODES; i++) {
        node_metrics_close(&s->now[i]);
        node_metrics_close(&s->before[i]);
    }
}

/* --- Cases --------------------------------------------------------------- */

/* A gibibyte is lost each hour, for two hours, with noise. */
static const struct fact_point falling[] = {{NOW_US - 7200 * SECONDS, 3e9},
                                            {NOW_US - 6300 * SECONDS, 2.7e9},
                                            {NOW_US - 5400 * SECONDS, 2.45e9},
                                            {NOW_US - 4500 * SECONDS, 9e9},
                                            {NOW_US - 3600 * SECONDS, 2e9},
                                            {NOW_US - 2700 * SECONDS, 1.75e9},
                                            {NOW_US - 1800 * SECONDS, 1.5e9},
                                            {NOW_US - 900 * SECONDS, 1.3e9},
                                            {NOW_US, 1e9}};
static const struct fact_point waving[] = {{NOW_US - 7200 * SECONDS, 1e9},
                                           {NOW_US - 6300 * SECONDS, 2e9},
                                           {NOW_US - 5400 * SECONDS, 1e9},
                                           {NOW_US - 4500 * SECONDS, 2e9},
                                           {NOW_US - 3600 * SECONDS, 1e9},
                                           {NOW_US - 2700 * SECONDS, 2e9},
                                           {NOW_US - 1800 * SECONDS, 1e9},
                                           {NOW_US - 900 * SECONDS, 2e9},
                                           {NOW_US, 1e9}};
static const struct fact_series free_falls = {"disk_free_bytes", falling,
                                              ARRAY_LEN(falling)};
static const struct fact_series free_waves = {"disk_free_bytes", waving,
                                              ARRAY_LEN(waving)};
static const struct fact_series free_short = {"disk_free_bytes", falling, 4};
static const struct fact_series debt_waves = {"compaction_debt_bytes", waving,
                                              ARRAY_LEN(waving)};
static const struct fact_point rising[] = {
    {NOW_US - 3500 * SECONDS, 1e9}, {NOW_US - 3000 * SECONDS, 2e9},
    {NOW_US - 2500 * SECONDS, 3e9}, {NOW_US - 2000 * SECONDS, 4e9},
    {NOW_US - 1500 * SECONDS, 5e9}, {NOW_US - 1000 * SECONDS, 6e9},
    {NOW_US - 500 * SECONDS, 7e9},  {NOW_US, 8e9}};
static const struct fact_series debt_rises = {"compaction_debt_bytes", rising,
                                              ARRAY_LEN(rising)};
static const struct fact_point six_terms[] = {{NOW_US - 900 * SECONDS, 9},
                                              {NOW_US - 300 * SECONDS, 0.01},
                                              {NOW_US - 200 * SECONDS, 0.05},
                                              {NOW_US - 100 * SECONDS, 0.01},
                                              {NOW_US, 0}};
static const struct fact_point five_terms[] = {{NOW_US - 900 * SECONDS, 9},
                                               {NOW_US - 800 * SECONDS, 9},
                                               {NOW_US - 100 * SECONDS, 0},
                                               {NOW_US, 0.05}};
static const struct fact_series many_terms = {"elections_per_s", six_terms,
                                              ARRAY_LEN(six_terms)};
static const struct fact_series few_terms = {"elections_per_s", five_terms,
                                             ARRAY_LEN(five_terms)};

static const struct fact_chunk_server one_dead[] = {
    {.address = "a:1", .alive = true},
    {.address = "b:1", .heard_us_ago = 60 * SECONDS}};
static const struct fact_chunk_server one_leaves[] = {
    {.address = "a:1", .alive = true},
    {.address = "b:1", .leaves = true, .heard_us_ago = 60 * SECONDS}};
static const struct fact_chunk_server three_alive[] = {
    {.address = "a:1", .alive = true},
    {.address = "b:1", .alive = true},
    {.address = "c:1", .alive = true}};
static const struct fact_chunk_server two_of_three[] = {
    {.address = "a:1", .alive = true},
    {.address = "b:1", .alive = true},
    {.address = "c:1"}};

#define DISK(size, left)                                                       \
    "quarry_chunk_capacity_bytes " size "\nquarry_chunk_free_bytes " left "\n"
#define CPU(seconds) STARTED "process_cpu_seconds_total " seconds "\n"
#define END_IN(text)                                                           \
    "quarry_certificate_end_seconds{use=\"cluster\"} " text "\n"

static const struct finding_case cases[] = {
    {"nothing is known", "node_down", .count = 0},
    {"all answer",
     "node_down",
     {{.address = "a:1"}, {.address = "b:1"}},
     .count = 0},
    {"one does not",
     "node_down",
     {{.address = "a:1"}, {.address = "b:1", .why = "connection refused"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "Node b:1 does not answer: connection refused."},
    {"the namenode knows since when",
     "node_down",
     {{.address = "a:1"}, {.address = "b:1", .why = "no answer"}},
     .files = {.known = true, .servers = one_dead, .server_count = 2},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "since 22:12:20Z: no answer."},
    {"it is out of service",
     "node_down",
     {{.address = "a:1"}, {.address = "b:1", .why = "no answer"}},
     .files = {.known = true, .servers = one_leaves, .server_count = 2},
     .count = 0},

    {"all roles are well",
     "role_unwell",
     {{.address = "a:1",
       .status = "node=a\nlock: health=well\nchunk: health=well x=1"}},
     .count = 0},
    {"one is not",
     "role_unwell",
     {{.address = "a:1",
       .status =
           "node=a time=1\nlock: health=well\nchunk: health=\"disk failed: "
           "EIO\" chunks=2\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "Role chunk of node a:1 is not well: disk failed: EIO."},
    {"a full disk is another rule's",
     "role_unwell",
     {{.address = "a:1",
       .status = "node=a\nchunk: health=\"no space left in d\"\n"}},
     .count = 0},
    {"a full disk",
     "disk_full",
     {{.address = "a:1",
       .status = "node=a\nchunk: health=\"no space left in d\"\nlock: "
                 "health=well\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "Role chunk of node a:1 waits for space: no space left in d."},
    {"no full disk",
     "disk_full",
     {{.address = "a:1", .status = "node=a\nchunk: health=well\n"}},
     .count = 0},
    {"a role that does not tell",
     "disk_full",
     {{.address = "a:1", .status = "node=a\nchunk: chunks=1\n"}},
     .count = 0},

    {"two restarts",
     "restarts",
     {{.address = "a:1", .metrics = "quarry_process_restarts 2\n"}},
     .count = 0},
    {"three restarts",
     "restarts",
     {{.address = "a:1", .metrics = "quarry_process_restarts 3\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "restarted itself 3 times"},
    {"restarts are not known", "restarts", {{.address = "a:1"}}, .count = 0},

    {"90 % of memory",
     "memory_short",
     {{.address = "a:1",
       .metrics = "process_resident_memory_bytes 900\n"
                  "quarry_process_memory_limit_bytes 1000\n"}},
     .count = 0},
    {"91 % of memory",
     "memory_short",
     {{.address = "a:1",
       .metrics = "process_resident_memory_bytes 931135488\n"
                  "quarry_process_memory_limit_bytes 1023410176\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "uses 888 MiB of the 976 MiB that it may have (91 %)"},
    {"no limit",
     "memory_short",
     {{.address = "a:1", .metrics = "process_resident_memory_bytes 900\n"}},
     .count = 0},

    {"64 MiB of swap",
     "swap_used",
     {{.address = "a:1", .metrics = "quarry_process_swap_bytes 67108864\n"}},
     .count = 0},
    {"more swap",
     "swap_used",
     {{.address = "a:1", .metrics = "quarry_process_swap_bytes 134217728\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "128 MiB of the process of node a:1 are in swap"},

    {"80 % of descriptors",
     "descriptors_short",
     {{.address = "a:1",
       .metrics = "process_open_fds 80\nprocess_max_fds 100\n"}},
     .count = 0},
    {"81 % of descriptors",
     "descriptors_short",
     {{.address = "a:1",
       .metrics = "process_open_fds 81\nprocess_max_fds 100\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "81 % of its descriptors: 81 of 100."},
    {"96 % of descriptors",
     "descriptors_short",
     {{.address = "a:1",
       .metrics = "process_open_fds 96\nprocess_max_fds 100\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "96 %"},
    {"half of the connections",
     "connections_short",
     {{.address = "a:1",
       .metrics =
           "quarry_rpc_connections 5\nquarry_rpc_connections_limit 10\n"}},
     .count = 0},
    {"nearly all connections",
     "connections_short",
     {{.address = "a:1",
       .metrics =
           "quarry_rpc_connections 99\nquarry_rpc_connections_limit 100\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "99 of 100"},
    {"a limit of nothing",
     "connections_short",
     {{.address = "a:1",
       .metrics =
           "quarry_rpc_connections 9\nquarry_rpc_connections_limit 0\n"}},
     .count = 0},

    {"one refused in ten seconds",
     "peers_refused",
     {{.address = "a:1",
       .metrics =
           STARTED "quarry_rpc_refused_connections_total{reason=\"proof\"} 8\n",
       .before = STARTED
       "quarry_rpc_refused_connections_total{reason=\"proof\"} 7\n"}},
     .count = 0},
    {"many refused",
     "peers_refused",
     {{.address = "a:1",
       .metrics = STARTED
       "quarry_rpc_refused_connections_total{reason=\"proof\"} 57\n",
       .before = STARTED
       "quarry_rpc_refused_connections_total{reason=\"proof\"} 7\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "refuses 5.0 connections a second"},
    {"silent ones are nobody's",
     "peers_refused",
     {{.address = "a:1",
       .metrics = STARTED
       "quarry_rpc_refused_connections_total{reason=\"silent\"} 57\n",
       .before = STARTED
       "quarry_rpc_refused_connections_total{reason=\"silent\"} 7\n"}},
     .count = 0},
    {"another process",
     "peers_refused",
     {{.address = "a:1",
       .metrics = "process_start_time_seconds 5\n"
                  "quarry_rpc_refused_connections_total{reason=\"proof\"} 57\n",
       .before = STARTED
       "quarry_rpc_refused_connections_total{reason=\"proof\"} 7\n"}},
     .count = 0},

    {"clocks agree about",
     "clocks_apart",
     {{.address = "a:1", .clock_us = 250000},
      {.address = "b:1", .clock_us = -251000}},
     .count = 0},
    {"a clock is ahead",
     "clocks_apart",
     {{.address = "a:1", .clock_us = 800000}, {.address = "b:1"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "The clock of node a:1 is 800ms ahead of the others'."},
    {"a clock is behind",
     "clocks_apart",
     {{.address = "a:1", .clock_us = -3000000}, {.address = "b:1"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "3s behind the others'."},
    {"alone no clock matters",
     "clock_unsynchronized",
     {{.address = "a:1", .metrics = "quarry_clock_synchronized 0\n"}},
     .count = 0},
    {"nobody keeps it",
     "clock_unsynchronized",
     {{.address = "a:1", .metrics = "quarry_clock_synchronized 0\n"},
      {.address = "b:1", .metrics = "quarry_clock_synchronized 1\n"},
      {.address = "c:1"}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "clock of node a:1"},

    {"one version",
     "versions_mixed",
     {{.address = "a:1", .version = "1"},
      {.address = "b:1", .version = "1"},
      {.address = "c:1"}},
     .count = 0},
    {"two versions",
     "versions_mixed",
     {{.address = "a:1", .version = "1", .metrics = STARTED},
      {.address = "b:1", .version = "2", .metrics = STARTED}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "a:1 has 1, b:1 has 2."},
    {"an update is under way",
     "versions_mixed",
     {{.address = "a:1", .version = "1", .metrics = STARTED},
      {.address = "b:1",
       .version = "2",
       .metrics = "process_start_time_seconds 1699999000\n"}},
     .count = 0},

    {"no certificate",
     "certificate_ends",
     {{.address = "a:1", .metrics = STARTED}},
     .count = 0},
    {"15 days",
     "certificate_ends",
     {{.address = "a:1", .metrics = END_IN("1701296000")}},
     .count = 0},
    {"9 days",
     "certificate_ends",
     {{.address = "a:1", .metrics = END_IN("1700800000")}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "(of the cluster) ends in 9 days."},
    {"a day",
     "certificate_ends",
     {{.address = "a:1", .metrics = END_IN("1700090000")}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "ends in 1d01h"},
    {"it has ended",
     "certificate_ends",
     {{.address = "a:1", .metrics = END_IN("1699996400")}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "ended 1h00m ago"},

    {"a leader",
     "no_leader",
     {{.address = "a:1", .status = "n=a\nlock: state=follower\n"},
      {.address = "b:1", .status = "n=b\nlock: state=leader\n"}},
     .count = 0},
    {"no leader",
     "no_leader",
     {{.address = "a:1", .status = "n=a\nlock: state=follower\n"},
      {.address = "b:1", .why = "x"},
      {.address = "c:1", .why = "x"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence =
         "Of 1 node with the role lock that answers none leads (2 others "
         "are silent)"},
    {"nobody is asked",
     "no_leader",
     {{.address = "a:1", .why = "x"}},
     .count = 0},
    {"a master that is not ready",
     "no_leader",
     {{.address = "a:1", .status = "n=a\nmaster: master=yes ready=no\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "role master"},

    {"three members",
     "members_few",
     {{.address = "a:1", .metrics = "quarry_cell_members{cell=\"lock\"} 3\n"}},
     .count = 0},
    {"one member",
     "members_few",
     {{.address = "a:1", .metrics = "quarry_cell_members{cell=\"lock\"} 1\n"}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "has one member"},
    {"four members",
     "members_few",
     {{.address = "a:1",
       .metrics = "quarry_cell_members{cell=\"namenode\"} 4\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence =
         "has 4 members: it survives the loss of 1, as one of 3 would."},

    {"all are heard",
     "member_unheard",
     {{.address = "a:1",
       .status = "n=a\nlock: \n",
       .metrics = "quarry_cell_members{cell=\"lock\"} 1\n"
                  "quarry_cell_unreachable_members{cell=\"lock\"} 0\n"}},
     .count = 0},
    {"one is not heard",
     "member_unheard",
     {{.address = "a:1",
       .status = "n=a\nlock: state=leader\n",
       .metrics = "quarry_cell_members{cell=\"lock\"} 2\n"
                  "quarry_cell_unreachable_members{cell=\"lock\"} 1\n"},
      {.address = "b:1", .status = "n=b\nlock: state=follower\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "does not hear 1 of its 2 members"},
    {"a dead one is another rule's",
     "member_unheard",
     {{.address = "a:1",
       .status = "n=a\nlock: state=leader\n",
       .metrics = "quarry_cell_members{cell=\"lock\"} 2\n"
                  "quarry_cell_unreachable_members{cell=\"lock\"} 1\n"},
      {.address = "b:1", .why = "x"}},
     .count = 0},

    {"a little behind",
     "apply_lag",
     {{.address = "a:1",
       .metrics = "quarry_cell_apply_lag{cell=\"lock\"} 1000\n"}},
     .count = 0},
    {"far behind",
     "apply_lag",
     {{.address = "a:1",
       .metrics = "quarry_cell_apply_lag{cell=\"lock\"} 1001\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "1,001 committed entries"},
    {"few terms",
     "elections",
     {{.address = "a:1", .series = &few_terms}},
     .count = 0},
    {"many terms",
     "elections",
     {{.address = "a:1", .series = &many_terms}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "began 12 terms"},
    {"no history", "elections", {{.address = "a:1"}}, .count = 0},
    {"few sessions",
     "sessions_many",
     {{.address = "a:1",
       .metrics = "quarry_lock_sessions 80\nquarry_lock_sessions_limit 100\n"}},
     .count = 0},
    {"many sessions",
     "sessions_many",
     {{.address = "a:1",
       .metrics = "quarry_lock_sessions 81\nquarry_lock_sessions_limit 100\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "81 of the 100 sessions"},

    {"10 % free",
     "disk_short",
     {{.address = "a:1", .metrics = DISK("1000", "100")}},
     .count = 0},
    {"5 % free",
     "disk_short",
     {{.address = "a:1", .metrics = DISK(GIB, "53687091")}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "(5.0 %)"},
    {"nothing free is another rule's",
     "disk_short",
     {{.address = "a:1", .metrics = DISK(GIB, "0")}},
     .count = 0},
    {"no disk", "disk_short", {{.address = "a:1"}}, .count = 0},
    {"it fills",
     "disk_filling",
     {{.address = "a:1",
       .metrics = DISK("9000000000", "1000000000"),
       .series = &free_falls}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "full in 1 hour at this rate"},
    {"it fills in days",
     "disk_filling",
     {{.address = "a:1",
       .metrics = DISK("90000000000", "52000000000"),
       .series = &free_falls}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "full in 2 days at this rate"},
    {"it fills in a week",
     "disk_filling",
     {{.address = "a:1",
       .metrics = DISK("900000000000", "170000000000"),
       .series = &free_falls}},
     .count = 0},
    {"it goes up and down",
     "disk_filling",
     {{.address = "a:1",
       .metrics = DISK("9000000000", "1000000000"),
       .series = &free_waves}},
     .count = 0},
    {"too short a time",
     "disk_filling",
     {{.address = "a:1",
       .metrics = DISK("9000000000", "1000000000"),
       .series = &free_short}},
     .count = 0},

    {"all disks are slow",
     "disk_slow",
     {{.address = "a:1", .metrics = "quarry_chunk_probe_seconds 0.4\n"},
      {.address = "b:1", .metrics = "quarry_chunk_probe_seconds 0.3\n"},
      {.address = "c:1", .metrics = "quarry_chunk_probe_seconds 0.3\n"}},
     .count = 0},
    {"one disk is slow",
     "disk_slow",
     {{.address = "a:1", .metrics = "quarry_chunk_probe_seconds 0.4\n"},
      {.address = "b:1", .metrics = "quarry_chunk_probe_seconds 0.02\n"},
      {.address = "c:1", .metrics = "quarry_chunk_probe_seconds 0.001\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "takes it 400ms, the others' 1ms."},
    {"a slow disk alone",
     "disk_slow",
     {{.address = "a:1", .metrics = "quarry_chunk_probe_seconds 0.4\n"}},
     .count = 0},
    {"fast enough",
     "disk_slow",
     {{.address = "a:1", .metrics = "quarry_chunk_probe_seconds 0.09\n"},
      {.address = "b:1", .metrics = "quarry_chunk_probe_seconds 0.001\n"}},
     .count = 0},

    {"no chunk lost", "chunks_lost", .files = {.known = true, .chunks = 9},
     .count = 0},
    {"chunks lost", "chunks_lost",
     .files = {.known = true, .chunks = 1000, .lost = 3}, .count = 1,
     .severity = FINDING_FAILURE, .sentence = "3 of 1,000 chunks have no copy"},
    {"nobody knows", "chunks_lost", .files = {.known = false, .lost = 3},
     .count = 0},
    {"too few copies", "chunks_few_copies",
     .files =
         {.known = true, .chunks = 100, .under_replicated = 12, .copying = 2},
     .count = 1, .severity = FINDING_WARNING,
     .sentence =
         "12 of 100 chunks (12 %) have too few copies; 2 are being copied."},
    {"a cluster of two servers, which live", "chunks_few_copies",
     .files = {.known = true,
               .chunks = 100,
               .under_replicated = 100,
               .servers = three_alive,
               .server_count = 2},
     .count = 1, .severity = FINDING_NOTE, .sentence = "100 of 100"},
    {"a cluster of two servers, of which one is dead", "chunks_few_copies",
     .files = {.known = true,
               .chunks = 100,
               .under_replicated = 100,
               .servers = one_dead,
               .server_count = 2},
     .count = 1, .severity = FINDING_WARNING, .sentence = "100 of 100"},
    {"copies enough", "chunks_few_copies",
     .files = {.known = true, .chunks = 100}, .count = 0},
    {"1 % too many",
     "chunks_many_copies",
     {{.address = "a:1",
       .metrics =
           "quarry_fs_chunks 100\nquarry_fs_over_replicated_chunks 1\n"}},
     .count = 0},
    {"many too many",
     "chunks_many_copies",
     {{.address = "a:1",
       .metrics =
           "quarry_fs_chunks 100\nquarry_fs_over_replicated_chunks 5\n"}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "5 of 100 chunks"},
    {"no damage",
     "chunks_damaged",
     {{.address = "a:1", .metrics = "quarry_chunk_damaged_chunks_total 0\n"}},
     .count = 0},
    {"damage",
     "chunks_damaged",
     {{.address = "a:1", .metrics = "quarry_chunk_damaged_chunks_total 2\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "found 2 damaged chunks"},
    {"not in safe mode", "files_safe_mode", .files = {.known = true},
     .count = 0},
    {"in safe mode", "files_safe_mode",
     .files = {.known = true, .safe_mode = true}, .count = 1,
     .severity = FINDING_WARNING, .sentence = "waits for reports"},
    {"three servers", "chunk_servers_few",
     .files = {.known = true, .servers = three_alive, .server_count = 3},
     .count = 0},
    {"two of three", "chunk_servers_few",
     .files = {.known = true, .servers = two_of_three, .server_count = 3},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "2 chunk servers live"},
    {"a small cluster", "chunk_servers_few",
     .files = {.known = true, .servers = one_leaves, .server_count = 2},
     .count = 1, .severity = FINDING_NOTE, .sentence = "1 chunk server lives"},
    {"connected",
     "chunk_server_unheard",
     {{.address = "a:1", .metrics = "quarry_chunk_connected 1\n"},
      {.address = "b:1"}},
     .count = 0},
    {"unheard",
     "chunk_server_unheard",
     {{.address = "a:1", .metrics = "quarry_chunk_connected 0\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "No namenode answers"},
    {"even disks",
     "disks_uneven",
     {{.address = "a:1", .metrics = DISK("100", "50")},
      {.address = "b:1", .metrics = DISK("100", "75")}},
     .count = 0},
    {"uneven disks",
     "disks_uneven",
     {{.address = "a:1", .metrics = DISK("100", "50")},
      {.address = "b:1", .metrics = DISK("100", "90")}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "node a:1 is 50 % full, that of node b:1 10 %."},

    {"all served",
     "tablets_unserved",
     {{.address = "a:1",
       .metrics =
           "quarry_master_active 1\nquarry_master_unassigned_tablets 0\n"}},
     .count = 0},
    {"unserved",
     "tablets_unserved",
     {{.address = "a:1",
       .metrics =
           "quarry_master_active 1\nquarry_master_unassigned_tablets 2\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "2 tablets have no server"},
    {"a master that is none",
     "tablets_unserved",
     {{.address = "a:1",
       .metrics =
           "quarry_master_active 0\nquarry_master_unassigned_tablets 2\n"}},
     .count = 0},
    {"recovery",
     "recovery_long",
     {{.address = "a:1",
       .metrics = "quarry_master_active 1\nquarry_master_recovering_logs 1\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "The log of 1 dead server is still being read"},
    {"no recovery",
     "recovery_long",
     {{.address = "a:1",
       .metrics = "quarry_master_active 1\nquarry_master_recovering_logs 0\n"}},
     .count = 0},
    {"over quota",
     "quota_over",
     {{.address = "a:1",
       .metrics =
           "quarry_master_active 1\nquarry_master_over_quota_tables 1\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "1 table is over a quota of size and takes no writes."},
    {"within quota",
     "quota_over",
     {{.address = "a:1",
       .metrics =
           "quarry_master_active 1\nquarry_master_over_quota_tables 0\n"}},
     .count = 0},
    {"one large row",
     "tablet_unsplittable",
     {{.address = "a:1",
       .metrics =
           "quarry_tablet_unsplittable_bytes{table=\"t\"} 3221225472\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "3 GiB"},
    {"no large row",
     "tablet_unsplittable",
     {{.address = "a:1", .metrics = STARTED}},
     .count = 0},

    {"even load",
     "tablet_hot",
     {{.address = "a:1", .metrics = CPU("20"), .before = CPU("10")}},
     .tablets = {{"t", "1", "", "m", "a:1", 0, 500, 0},
                 {"t", "2", "m", "", "a:1", 0, 500, 0}},
     .count = 0},
    {"one is hot",
     "tablet_hot",
     {{.address = "a:1", .metrics = CPU("20"), .before = CPU("10")}},
     .tablets = {{"s", "9", "", "", "a:1", 0, 9000, 0},
                 {"t", "1", "", "m", "a:1", 0, 500, 100},
                 {"t", "2", "m", "", "b:1", 0, 50, 0}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "the rows from the first to \"m\", on a:1, takes 92 % of the "
                 "table's load (600 rows a second)."},
    {"hot, but idle",
     "tablet_hot",
     {{.address = "a:1", .metrics = CPU("11"), .before = CPU("10")}},
     .tablets = {{"t", "1", "", "m", "a:1", 0, 600, 0},
                 {"t", "2", "m", "", "b:1", 0, 50, 0}},
     .count = 0},
    {"hot by its rows",
     "tablet_hot",
     {{.address = "a:1"}},
     .tablets = {{"t", "1", "", "m", "a:1", 0, 1600, 0},
                 {"t", "2", "m", "", "b:1", 0, 50, 0}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "97 %"},
    {"little load",
     "tablet_hot",
     {{.address = "a:1", .metrics = CPU("20"), .before = CPU("10")}},
     .tablets = {{"t", "1", "", "m", "a:1", 0, 40, 0},
                 {"t", "2", "m", "", "b:1", 0, 0, 0}},
     .count = 0},
    {"nobody has it",
     "tablet_hot",
     {{.address = "a:1"}},
     .tablets = {{"t", "1", "", "m", NULL, 0, 1600, 0},
                 {"t", "2", "m", "", "b:1", 0, 50, 0}},
     .count = 0},

    {"small debt",
     "compaction_debt",
     {{.address = "a:1",
       .metrics = "quarry_engine_compaction_debt_bytes " GIB "\n",
       .series = &debt_rises}},
     .count = 0},
    {"debt grows",
     "compaction_debt",
     {{.address = "a:1",
       .metrics = "quarry_engine_compaction_debt_bytes 8589934592\n",
       .series = &debt_rises}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "behind by 8 GiB, and it grows by "},
    {"debt comes and goes",
     "compaction_debt",
     {{.address = "a:1",
       .metrics = "quarry_engine_compaction_debt_bytes 2147483648\n",
       .series = &debt_waves}},
     .count = 0},
    {"much debt",
     "compaction_debt",
     {{.address = "a:1",
       .metrics = "quarry_engine_compaction_debt_bytes 32212254720\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "behind by 30 GiB."},

    {"no stalls",
     "writes_stall",
     {{.address = "a:1",
       .metrics = STARTED
       "quarry_engine_stalled_seconds_total{cause=\"memory\"} 5.5\n",
       .before = STARTED
       "quarry_engine_stalled_seconds_total{cause=\"memory\"} 5\n"}},
     .count = 0},
    {"stalls",
     "writes_stall",
     {{.address = "a:1",
       .metrics =
           STARTED "quarry_engine_stalled_seconds_total{cause=\"memory\"} 7\n",
       .before = STARTED
       "quarry_engine_stalled_seconds_total{cause=\"memory\"} 5\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "wait 200 ms of each second"},
    {"one look",
     "writes_stall",
     {{.address = "a:1",
       .metrics = STARTED
       "quarry_engine_stalled_seconds_total{cause=\"memory\"} 7\n"}},
     .count = 0},
    {"old failures",
     "flushes_fail",
     {{.address = "a:1",
       .metrics = STARTED "quarry_engine_flush_failures_total 2\n",
       .before = STARTED "quarry_engine_flush_failures_total 2\n"}},
     .count = 0},
    {"a flush failed",
     "flushes_fail",
     {{.address = "a:1",
       .metrics = STARTED "quarry_engine_flush_failures_total 3\n",
       .before = STARTED "quarry_engine_flush_failures_total 2\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "1 flush failed within 10s"},
    {"a log of twice its size",
     "log_long",
     {{.address = "a:1",
       .metrics =
           "quarry_engine_log_bytes 200\nquarry_engine_log_limit_bytes 100\n"}},
     .count = 0},
    {"a long log",
     "log_long",
     {{.address = "a:1",
       .metrics = "quarry_engine_log_bytes 3221225472\n"
                  "quarry_engine_log_limit_bytes " GIB "\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "has 3 GiB, where 1 GiB are wanted"},

    {"calls succeed",
     "api_errors",
     {{.address = "a:1",
       .metrics = STARTED
       "quarry_gateway_calls_total{method=\"m\",status=\"OK\"} 1000\n",
       .before = STARTED
       "quarry_gateway_calls_total{method=\"m\",status=\"OK\"} 500\n"}},
     .count = 0},
    {"calls fail",
     "api_errors",
     {{.address = "a:1",
       .metrics = STARTED
       "quarry_gateway_calls_total{method=\"m\",status=\"OK\"} 990\n"
       "quarry_gateway_calls_total{method=\"m\",status=\"INTERNAL\"} 10\n",
       .before = STARTED
       "quarry_gateway_calls_total{method=\"m\",status=\"OK\"} 500\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "2.0 % of the calls"},
    {"a user's mistakes",
     "api_errors",
     {{.address = "a:1",
       .metrics = STARTED
       "quarry_gateway_calls_total{method=\"m\",status=\"NOT_FOUND\"} 990\n",
       .before = STARTED
       "quarry_gateway_calls_total{method=\"m\",status=\"NOT_FOUND\"} 500\n"}},
     .count = 0},

    {"even servers",
     "load_uneven",
     {{.address = "a:1",
       .status = "n=a\ntablet: x=1\n",
       .metrics = STARTED "quarry_tablet_read_rows_total{table=\"t\"} 20000\n",
       .before = STARTED "quarry_tablet_read_rows_total{table=\"t\"} 0\n"},
      {.address = "b:1",
       .status = "n=b\ntablet: x=1\n",
       .metrics = STARTED "quarry_tablet_read_rows_total{table=\"t\"} 20000\n",
       .before = STARTED "quarry_tablet_read_rows_total{table=\"t\"} 0\n"},
      {.address = "c:1", .status = "n=c\ntablet: x=1\n"},
      {.address = "d:1", .status = "n=d\ntablet: x=1\n"}},
     .count = 0},
    {"uneven servers",
     "load_uneven",
     {{.address = "a:1",
       .status = "n=a\ntablet: x=1\n",
       .metrics = STARTED "quarry_tablet_read_rows_total{table=\"t\"} 20000\n",
       .before = STARTED "quarry_tablet_read_rows_total{table=\"t\"} 0\n"},
      {.address = "b:1", .status = "n=b\ntablet: x=1\n"},
      {.address = "c:1", .status = "n=c\ntablet: x=1\n"},
      {.address = "d:1", .status = "n=d\ntablet: x=1\n"}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "serves 2,000 rows a second, the mean of 4 servers is 500."},

    {"a job that works", "job_stuck",
     .jobs = {{.id = "j1",
               .runs = true,
               .tasks_running = 1,
               .progress_at_us = NOW_US - 299 * SECONDS}},
     .count = 0},
    {"a job that stands still", "job_stuck",
     .jobs = {{.id = "j1",
               .label = "words",
               .runs = true,
               .phase = "map",
               .tasks_total = 9,
               .tasks_done = 4,
               .tasks_running = 1,
               .progress_at_us = NOW_US - 300 * SECONDS}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "Job j1 (words) has made no progress since 22:08:20Z: 4 of 9 "
                 "tasks of its phase map are done, 1 run."},
    {"a job that waits for memory", "job_stuck",
     .jobs = {{.id = "j1",
               .runs = true,
               .tasks_total = 9,
               .waits_for = "9 tasks wait: no worker has 512 MiB"}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "does not get on: 9 tasks wait: no worker has 512 MiB; 0 of 9 "
                 "tasks are done."},
    {"a job without workers", "job_stuck",
     .jobs = {{.id = "j1", .runs = true, .waits_for = "no worker is up"}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "Job j1 (j1) does not begin: no worker is up."},
    {"a job in the queue", "job_stuck",
     .jobs = {{.id = "j1", .waits_for = "slots"}}, .count = 0},
    {"nobody knows of jobs", "job_stuck",
     .jobs = {{.id = "j1", .runs = true, .waits_for = "slots"}}, .unasked = "x",
     .count = 0},
    {"four failures", "job_fails_often",
     .jobs = {{.id = "j1", .runs = true, .attempts_failed = 4}}, .count = 0},
    {"five of many", "job_fails_often",
     .jobs =
         {{.id = "j1", .runs = true, .attempts_failed = 5, .tasks_done = 45}},
     .count = 0},
    {"five of few", "job_fails_often",
     .jobs =
         {{.id = "j1", .runs = true, .attempts_failed = 5, .tasks_done = 44}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "5 attempts failed; 44 tasks are done."},
    {"no stragglers", "job_stragglers", .jobs = {{.id = "j1", .runs = true}},
     .count = 0},
    {"stragglers", "job_stragglers",
     .jobs = {{.id = "j1", .runs = true, .stragglers = 2}}, .count = 1,
     .severity = FINDING_NOTE, .sentence = "2 attempts that take"},
    {"workers",
     "workers_none",
     {{.address = "a:1",
       .metrics = "quarry_jobs_active 1\nquarry_jobs_running 1\n"
                  "quarry_jobs_workers 1\n"}},
     .count = 0},
    {"no workers",
     "workers_none",
     {{.address = "a:1",
       .metrics = "quarry_jobs_active 1\nquarry_jobs_running 1\n"
                  "quarry_jobs_workers 0\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "1 job waits, and there is no worker."},
    {"no jobs",
     "workers_none",
     {{.address = "a:1",
       .metrics = "quarry_jobs_active 1\nquarry_jobs_running 0\n"
                  "quarry_jobs_workers 0\n"}},
     .count = 0},

    {"nobody from outside",
     "unauthenticated",
     {{.address = "127.0.0.1:1", .status = "node=a security=none\n"},
      {.address = "[::1]:1", .status = "node=a security=none\n"}},
     .count = 0},
    {"anybody",
     "unauthenticated",
     {{.address = "10.0.0.1:1", .status = "node=a security=none\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "Anybody who reaches 10.0.0.1:1"},
    {"a key at home",
     "unencrypted",
     {{.address = "127.0.0.1:1", .status = "node=a security=key\n"},
      {.address = "127.0.0.1:2", .status = "node=a security=key\n"}},
     .count = 0},
    {"a key abroad",
     "unencrypted",
     {{.address = "10.0.0.1:1", .status = "node=a security=key\n"},
      {.address = "10.0.0.2:1", .status = "node=a security=key\n"}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "2 nodes"},
    {"certificates abroad",
     "unencrypted",
     {{.address = "10.0.0.1:1", .status = "node=a security=tls\n"},
      {.address = "10.0.0.2:1", .status = "node=a security=tls\n"}},
     .count = 0},

    {"all could be asked", "ask_failed", .files = {.known = true}, .count = 0},
    {"files could not", "ask_failed", .files = {.why = "no answer"}, .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "Nothing is known about files: no answer."},
    {"tables and jobs could not", "ask_failed", .files = {.known = true},
     .unasked = "no master", .count = 2, .severity = FINDING_WARNING,
     .sentence = "no master."},
};

/* --- Helpers ------------------------------------------------------------- */

/* Findings of @rule in @l, and the first of them. */
static size_t count_of(const struct finding_list *l,
                       const char *rule,
                       const struct finding **first)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->at[i].rule->id, rule) == 0 && count++ == 0)
            *first = &l->at[i];
    return count;
}

static void check_case(const struct finding_case *c)
{
    struct scene s;
    struct finding_list l;
    const struct finding *x = NULL;
    size_t count;
    scene_open(&s, c);
    findings_draw(&s.facts, s.memory, &l);
    count = count_of(&l, c->rule, &x);
    ck_assert_msg(count == c->count, "%s: %s: %zu findings, not %zu (%s)",
                  c->rule, c->name, count, c->count, x ? x->sentence : "");
    if (x) {
        ck_assert_msg(x->severity == c->severity, "%s: %s", c->rule, c->name);
        ck_assert_msg(strstr(x->sentence, c->sentence), "%s: %s: %s", c->rule,
                      c->name, x->sentence);
        ck_assert(*x->remedy && *x->link == '/' && *x->subject);
    }
    finding_list_close(&l);
    scene_close(&s);
}

static const struct finding_case lag = {
    "lag", "apply_lag",
    .nodes = {{.address = "a:1",
               .metrics = "quarry_cell_apply_lag{cell=\"lock\"} 2000\n"}}};
static const struct finding_case nothing = {"nothing", "apply_lag",
                                            .nodes = {{.address = "a:1"}}};

/* Since when the rule of @c finds something, at @at_s seconds; 0: it does not.
 */
static uint64_t
look(const struct finding_case *c, struct finding_memory *m, uint64_t at_s)
{
    struct scene s;
    struct finding_list l;
    const struct finding *x = NULL;
    uint64_t since = 0;
    scene_open(&s, c);
    s.facts.now_us = NOW_US + at_s * SECONDS;
    findings_draw(&s.facts, m, &l);
    if (count_of(&l, c->rule, &x))
        since = x->since_at_us;
    finding_list_close(&l);
    scene_close(&s);
    return since;
}

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_cases)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_case(&cases[i]);
}

END_TEST

/* Every rule has a case in which it fires and one in which it does not. */
START_TEST(test_all_rules_have_cases)
{
    size_t count;
    const struct finding_rule *rules = finding_rules(&count);
    for (size_t r = 0; r < count; r++) {
        bool fires = false, is_silent = false;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
            if (strcmp(cases[i].rule, rules[r].id) == 0) {
                fires |= cases[i].count > 0;
                is_silent |= cases[i].count == 0;
            }
        ck_assert_msg(fires && is_silent, "%s", rules[r].id);
    }
}

END_TEST

/* A finding with a hold is told when its condition has lasted so long, and says
 * since when; a short gap does not end it, a long one does. */
START_TEST(test_hold)
{
    struct finding_memory *m = finding_memory_new();
    ck_assert_uint_eq(look(&nothing, m, 0), 0);
    ck_assert_uint_eq(look(&lag, m, 1), 0);
    ck_assert_uint_eq(look(&lag, m, 10), 0);
    ck_assert_uint_eq(look(&lag, m, 11), NOW_US + SECONDS);
    ck_assert_uint_eq(look(&nothing, m, 12), 0);
    ck_assert_uint_eq(look(&lag, m, 60), NOW_US + SECONDS);
    ck_assert_uint_eq(look(&nothing, m, 121), 0);
    ck_assert_uint_eq(look(&lag, m, 122), 0);
    ck_assert_uint_eq(look(&lag, m, 132), NOW_US + 122 * SECONDS);
    finding_memory_free(m);
}

END_TEST

/* A condition that is there when somebody begins to look is told at once: it
 * may have been so for long. The same after nobody looked for a while. */
START_TEST(test_first_look)
{
    struct finding_memory *m = finding_memory_new();
    ck_assert_uint_eq(look(&lag, m, 0), NOW_US);
    ck_assert_uint_eq(look(&lag, m, 2), NOW_US);
    ck_assert_uint_eq(look(&nothing, m, 3), 0);
    ck_assert_uint_eq(look(&lag, m, 100), NOW_US + 100 * SECONDS);
    finding_memory_free(m);
}

END_TEST

/* The sentence over all says how it is, and the worst first. */
START_TEST(test_sentence)
{
    static const struct finding_case well = {
        "well",
        "",
        {{.address = "a:1"}, {.address = "b:1"}},
        .files = {.known = true, .chunks = 1}};
    static const struct finding_case bad = {
        "bad",
        "",
        {{.address = "a:1", .clock_us = 900000},
         {.address = "b:1", .why = "connection refused"}},
        .files = {.known = true, .chunks = 4, .under_replicated = 1}};
    const struct finding_case *all[] = {&well, &bad};
    const char *states[] = {"well", "failing"};
    const char *sentences[] = {
        "The cluster is well: 2 nodes answer, every chunk has its copies.",
        "The cluster is failing: 1 failure and 2 warnings. First: Node b:1 "
        "does not answer: connection refused."};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        struct finding_list l;
        struct buf text = BUF_INIT;
        scene_open(&s, all[i]);
        findings_draw(&s.facts, s.memory, &l);
        findings_put_sentence(&l, &s.facts, &text);
        ck_assert_str_eq(findings_state(&l), states[i]);
        ck_assert_str_eq(buf_cstr(&text), sentences[i]);
        for (size_t n = 1; n < l.count; n++)
            ck_assert(l.at[n - 1].severity >= l.at[n].severity);
        buf_close(&text);
        finding_list_close(&l);
        scene_close(&s);
    }
}

END_TEST

/* A trend is that of most points, whatever a few say. */
START_TEST(test_trend)
{
    struct fact_point points[100];
    double per_s = 0;
    for (size_t i = 0; i < 100; i++) {
        points[i] = (struct fact_point){NOW_US + i * 60 * SECONDS,
                                        1e9 - (double)i * 6e6};
        if (i % 9 == 4)
            points[i].value += 5e9;
    }
    ck_assert(trend_slope(points, 100, &per_s));
    ck_assert_double_eq_tol(per_s, -1e5, 1e4);
    ck_assert(!trend_slope(points, TREND_POINTS_MIN - 1, &per_s));
    ck_assert(!trend_slope(points, 0, &per_s));
    /* All at one moment. */
    for (size_t i = 0; i < 100; i++)
        points[i].at_us = NOW_US;
    ck_assert(!trend_slope(points, 100, &per_s));
}

END_TEST

TEST_MAIN("finding",
          test_cases,
          test_all_rules_have_cases,
          test_hold,
          test_first_look,
          test_sentence,
          test_trend)
