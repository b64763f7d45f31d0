/* Rules about disks, chunk servers and chunks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "cli/monitor/finding.h"
#include "cli/monitor/trend.h"

#define DISK_SHORT_SHARE 0.1
#define HOUR_SECONDS     3600.0
#define FULL_WARN_HOURS  72.0
#define FULL_FAIL_HOURS  12.0
/* A probe on a machine that is busy takes some tens of milliseconds. */
#define SLOW_SECONDS 0.1
#define SLOW_TIMES   5.0
/* Of copies that new files want. */
#define REPLICATION  3
#define MANY_SHARE   0.01
#define UNEVEN_SHARE 0.3

/* The chunk server's disk: size and what may still be stored. */
static bool disk_of(const struct fact_node *n, double *size, double *left)
{
    return fact_sum(&n->now, "quarry_chunk_capacity_bytes", NULL, size) &&
           fact_sum(&n->now, "quarry_chunk_free_bytes", NULL, left) &&
           *size > 0;
}

void rule_disk_short(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double size;
        double left;
        /* None at all is rule_disk_full()'s. */
        if (!disk_of(n, &size, &left) || left <= 0 ||
            left >= DISK_SHORT_SHARE * size)
            continue;
        finding_add(out, FINDING_WARNING, "node %s disk", n->name);
        finding_say(out, "Of the disk of node %s %s of %s are free (%.1f %%).",
                    n->name, finding_bytes(out, left), finding_bytes(out, size),
                    100 * left / size);
    }
}

void rule_disk_filling(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        const struct fact_series *s = fact_series(n, "disk_free_bytes");
        double size;
        double left;
        double per_s;
        double hours;
        if (!disk_of(n, &size, &left) || !s ||
            !trend_slope(s->points, s->count, &per_s) || per_s >= 0)
            continue;
        hours = left / -per_s / HOUR_SECONDS;
        if (left <= 0 || hours >= FULL_WARN_HOURS)
            continue;
        finding_add(out,
                    hours < FULL_FAIL_HOURS ? FINDING_FAILURE : FINDING_WARNING,
                    "node %s disk", n->name);
        if (hours < 48)
            finding_say(out,
                        "The disk of node %s will be full in %.0f hour%s "
                        "at this rate (%s an hour; %s are free).",
                        n->name, hours < 1 ? 1 : hours, hours < 1.5 ? "" : "s",
                        finding_bytes(out, -per_s * HOUR_SECONDS),
                        finding_bytes(out, left));
        else
            finding_say(out,
                        "The disk of node %s will be full in %.0f days at "
                        "this rate (%s a day; %s are free).",
                        n->name, hours / 24,
                        finding_bytes(out, -per_s * HOUR_SECONDS * 24),
                        finding_bytes(out, left));
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the other nodes' metric; false: no other node has it. */
static bool others_median(const struct finding_facts *f,
                          size_t without,
                          const char *name,
                          double *out)
{
    double *values = mem_alloc((f->node_count + 1) * sizeof(*values));
    size_t count = 0;
    PRE(without < f->node_count);
    for (size_t i = 0; i < f->node_count; i++)
        if (i != without)
            count += fact_sum(&f->nodes[i].now, name, NULL, &values[count]);
    if (count) {
        qsort(values, count, sizeof(*values), compare_doubles);
        *out = values[(count - 1) / 2];
    }
    mem_free(values);
    return count > 0;
}

void rule_disk_slow(const struct finding_facts *f, struct finding_list *out)
{
    const char *name = "quarry_chunk_probe_seconds";
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double own;
        double others;
        if (!fact_sum(&n->now, name, NULL, &own) || own <= SLOW_SECONDS ||
            !others_median(f, i, name, &others) || own < SLOW_TIMES * others)
            continue;
        finding_add(out, FINDING_WARNING, "node %s disk", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "The disk of node %s is slow: to write and sync a few "
                    "bytes takes it %s, the others' %s.",
                    n->name, finding_duration(out, own),
                    finding_duration(out, others));
    }
}

/* --- chunks -------------------------------------------------------------- */

void rule_chunks_lost(const struct finding_facts *f, struct finding_list *out)
{
    if (!f->files.known || f->files.lost == 0)
        return;
    finding_add(out, FINDING_FAILURE, "files");
    finding_say(out,
                "%s of %s chunks have no copy on any server that reports: "
                "their files cannot be read.",
                finding_number(out, (double)f->files.lost),
                finding_number(out, (double)f->files.chunks));
}

/* Those in service, and how many of them live. */
static size_t count_servers(const struct fact_files *x, size_t *alive)
{
    size_t all = 0;
    *alive = 0;
    for (size_t i = 0; i < x->server_count; i++) {
        *alive += x->servers[i].alive && !x->servers[i].leaves;
        all += !x->servers[i].leaves;
    }
    INVARIANT(*alive <= all);
    return all;
}

/* A cluster that was never larger is meant so. */
static bool is_small(const struct fact_files *x)
{
    size_t alive;
    size_t all = count_servers(x, &alive);
    return all > 0 && all < REPLICATION && alive == all;
}

/* Since when the namenode that leads has seen some, in µs; 0: not known. */
static uint64_t few_copies_since(const struct finding_facts *f)
{
    double since = 0;
    for (size_t i = 0; i < f->node_count; i++)
        since = MAX_OF(since,
                       fact_sum_or(&f->nodes[i].now,
                                   "quarry_fs_under_replicated_since_seconds",
                                   NULL, 0));
    return since > 0 && since < (double)f->now_us / 1e6
               ? (uint64_t)(since * 1e6)
               : 0;
}

void rule_chunks_few_copies(const struct finding_facts *f,
                            struct finding_list *out)
{
    const struct fact_files *x = &f->files;
    uint64_t since = few_copies_since(f);
    if (!x->known || x->under_replicated == 0 || x->chunks == 0)
        return;
    finding_add(out, is_small(x) ? FINDING_NOTE : FINDING_WARNING, "files")
        ->since_at_us = since;
    finding_say(out,
                "%s of %s chunks (%.0f %%) have too few copies%s%s; %s %s "
                "being copied.",
                finding_number(out, (double)x->under_replicated),
                finding_number(out, (double)x->chunks),
                100.0 * (double)x->under_replicated / (double)x->chunks,
                since ? " since " : "",
                since ? finding_time(out, f, since) : "",
                x->copying ? finding_number(out, (double)x->copying) : "none",
                x->copying > 1 ? "are" : "is");
}

/* The sum over the nodes that say so. */
static double sum_over_nodes(const struct finding_facts *f, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < f->node_count; i++)
        sum += fact_sum_or(&f->nodes[i].now, name, NULL, 0);
    return sum;
}

void rule_chunks_many_copies(const struct finding_facts *f,
                             struct finding_list *out)
{
    double chunks = sum_over_nodes(f, "quarry_fs_chunks");
    double many = sum_over_nodes(f, "quarry_fs_over_replicated_chunks");
    if (chunks < 1 || many <= MANY_SHARE * chunks)
        return;
    finding_add(out, FINDING_NOTE, "files");
    finding_say(out, "%s of %s chunks have more copies than they should have.",
                finding_number(out, many), finding_number(out, chunks));
}

void rule_chunks_damaged(const struct finding_facts *f,
                         struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double count =
            fact_sum_or(&n->now, "quarry_chunk_damaged_chunks_total", NULL, 0);
        if (count < 1)
            continue;
        finding_add(out, FINDING_WARNING, "node %s disk", n->name);
        finding_say(out, "Node %s found %s damaged chunk%s since its start.",
                    n->name, finding_number(out, count), count < 2 ? "" : "s");
    }
}

/* --- chunk servers ------------------------------------------------------- */

void rule_files_safe_mode(const struct finding_facts *f,
                          struct finding_list *out)
{
    if (!f->files.known || !f->files.safe_mode)
        return;
    finding_add(out, FINDING_WARNING, "files");
    finding_say(out, "The namenode waits for reports of chunk servers; until "
                     "then no chunk is copied.");
}

void rule_chunk_servers_few(const struct finding_facts *f,
                            struct finding_list *out)
{
    size_t alive;
    size_t all = count_servers(&f->files, &alive);
    if (!f->files.known || f->files.server_count == 0)
        return;
    if (alive >= REPLICATION)
        return;
    /* A cluster that was never larger is meant so. */
    finding_add(out, all < REPLICATION ? FINDING_NOTE : FINDING_WARNING,
                "files");
    finding_say(out,
                "%zu chunk server%s: files whose chunks should be on %d "
                "have fewer copies.",
                alive, alive == 1 ? " lives" : "s live", REPLICATION);
}

void rule_chunk_server_unheard(const struct finding_facts *f,
                               struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        if (fact_sum_or(&n->now, "quarry_chunk_connected", NULL, 1) > 0)
            continue;
        finding_add(out, FINDING_WARNING, "node %s role chunk", n->name);
        finding_say(out,
                    "No namenode answers the chunk server of node %s: its "
                    "chunks count as missing soon.",
                    n->name);
    }
}

void rule_disks_uneven(const struct finding_facts *f, struct finding_list *out)
{
    const struct fact_node *fullest = NULL;
    const struct fact_node *emptiest = NULL;
    double most = 0;
    double least = 1;
    for (size_t i = 0; i < f->node_count; i++) {
        double size;
        double left;
        double used;
        if (!disk_of(&f->nodes[i], &size, &left))
            continue;
        used = 1 - left / size;
        if (!fullest || used > most) {
            fullest = &f->nodes[i];
            most = used;
        }
        if (!emptiest || used < least) {
            emptiest = &f->nodes[i];
            least = used;
        }
    }
    if (!fullest || most - least <= UNEVEN_SHARE)
        return;
    finding_add(out, FINDING_NOTE, "files");
    finding_say(out,
                "The disk of node %s is %.0f %% full, that of node %s "
                "%.0f %%.",
                fullest->name, 100 * most, emptiest->name, 100 * least);
}
