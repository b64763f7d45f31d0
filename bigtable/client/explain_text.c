/* The record of an explained scan as text for people: the totals first, then
 * the stages of the filter, then a line or some for each tablet. Figures that
 * are zero and say nothing by it are left out.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "bigtable/row/explain.h"

/* Tablets that are printed; JSON has all. */
#define TABLETS_SHOWN 40

struct quarry_explain *quarry_explain_new(void)
{
    return explain_new();
}

void quarry_explain_free(struct quarry_explain *e)
{
    explain_free(e);
}

void quarry_explain_total(const struct quarry_explain *e,
                          struct quarry_explain_counts *out)
{
    explain_total(e, out);
}

/* --- lists --------------------------------------------------------------- */

/* "a, b, c" of what is not zero. */
struct list {
    struct buf *out;
    bool begun;
};

static void list_item(struct list *l, const char *before)
{
    buf_append_str(l->out, l->begun ? ", " : before);
    l->begun = true;
}

static void
list_count(struct list *l, const char *before, uint64_t n, const char *what)
{
    if (!n)
        return;
    list_item(l, before);
    text_put_count(l->out, n);
    buf_printf(l->out, " %s", what);
}

static void list_time(struct list *l, uint64_t ns, const char *what)
{
    if (ns < 1000)
        return;
    list_item(l, "");
    text_put_duration(l->out, ns / 1000);
    buf_printf(l->out, " %s", what);
}

static void list_read(struct list *l,
                      const char *before,
                      uint64_t n,
                      const char *what,
                      uint64_t bytes)
{
    if (!n)
        return;
    list_count(l, before, n, what);
    buf_append_str(l->out, " (");
    text_put_bytes(l->out, bytes);
    buf_append_byte(l->out, ')');
}

static void
put_line(struct buf *out, unsigned indent, const char *name, uint64_t n)
{
    buf_append_fill(out, ' ', indent);
    buf_printf(out, "%s: ", name);
    text_put_count(out, n);
}

/* --- counters ------------------------------------------------------------ */

static void put_times(struct buf *out,
                      unsigned indent,
                      const struct quarry_explain_counts *c)
{
    struct list l = {.out = out};
    size_t begin = out->len;
    buf_append_fill(out, ' ', indent);
    buf_append_str(out, "time: ");
    list_time(&l, c->time_queue, "in the queue");
    list_time(&l, c->time_reading, "reading");
    list_time(&l, c->time_decompressing, "decompressing");
    list_time(&l, c->time_merging, "merging");
    list_time(&l, c->time_filter, "in the filter");
    list_time(&l, c->time_program, "in the program");
    list_time(&l, c->time_answering, "answering");
    list_time(&l, c->time_network, "network");
    if (l.begun)
        buf_append_byte(out, '\n');
    else
        buf_truncate(out, begin);
}

static void put_files(struct buf *out,
                      unsigned indent,
                      const struct quarry_explain_counts *c)
{
    struct list l = {.out = out};
    put_line(out, indent, "files", c->files_considered);
    list_count(&l, ": ", c->files_opened, "opened");
    list_count(&l, ": ", c->files_by_key_range, "skipped by key range");
    list_count(&l, ": ", c->files_by_bloom_filter, "skipped by Bloom filter");
    list_count(&l, ": ", c->files_by_time, "skipped by time range");
    list_count(&l, ": ", c->files_by_family, "skipped by family");
    list_count(&l, ": ", c->files_by_sequence,
               "skipped as newer than the scan");
    list_count(&l, ": ", c->files_not_needed, "not needed");
    buf_append_byte(out, '\n');
}

static void put_blocks(struct buf *out,
                       unsigned indent,
                       const struct quarry_explain_counts *c)
{
    struct list l = {.out = out};
    if (!c->blocks_read)
        return;
    put_line(out, indent, "blocks", c->blocks_read);
    list_count(&l, ": ", c->blocks_from_block_cache, "from the block cache");
    list_count(&l, ": ", c->blocks_from_memory, "from memory");
    list_count(&l, ": ", c->blocks_from_page_cache, "from the page cache");
    list_count(&l, ": ", c->blocks_from_disk, "from disk");
    list_count(&l, ": ", c->blocks_from_remote, "from other chunk servers");
    buf_append_str(out, "; ");
    text_put_bytes(out, c->blocks_stored_bytes);
    buf_append_str(out, " stored, ");
    text_put_bytes(out, c->blocks_decoded_bytes);
    buf_append_str(out, " decoded\n");
}

static void put_reads(struct buf *out,
                      unsigned indent,
                      const struct quarry_explain_counts *c)
{
    struct list l = {.out = out};
    if (!c->reads_made)
        return;
    put_line(out, indent, "reads", c->reads_made);
    list_read(&l, ": ", c->reads_from_page_cache, "from the page cache",
              c->reads_page_cache_bytes);
    list_read(&l, ": ", c->reads_from_disk, "from disk", c->reads_disk_bytes);
    list_read(&l, ": ", c->reads_from_remote, "from other chunk servers",
              c->reads_remote_bytes);
    if (c->read_ahead_windows)
        buf_printf(out, "; read-ahead: %llu window%s, %.0f %% used",
                   (unsigned long long)c->read_ahead_windows,
                   c->read_ahead_windows == 1 ? "" : "s",
                   100.0 * (double)c->read_ahead_used_bytes /
                       (double)MAX_OF(c->read_ahead_bytes, UINT64_C(1)));
    buf_append_byte(out, '\n');
}

static void put_index(struct buf *out,
                      unsigned indent,
                      const struct quarry_explain_counts *c)
{
    if (!c->index_filters_asked)
        return;
    put_line(out, indent, "Bloom filters", c->index_filters_asked);
    buf_append_str(out, " asked, ");
    text_put_count(out, c->index_filters_negative);
    buf_append_str(out, " said no\n");
}

static void put_entries(struct buf *out,
                        unsigned indent,
                        const struct quarry_explain_counts *c)
{
    struct list from = {.out = out};
    struct list fate = {.out = out};
    put_line(out, indent, "entries", c->entries_read);
    list_count(&from, " (", c->entries_from_memtables, "from memtables");
    list_count(&from, " (", c->entries_from_files, "from files");
    list_count(&from, " (", c->entries_from_scan_cache, "from the scan cache");
    buf_append_str(out, from.begun ? ")" : "");
    list_count(&fate, ": ", c->entries_shown, "cells");
    list_count(&fate, ": ", c->entries_hidden, "deleted or overwritten");
    list_count(&fate, ": ", c->entries_deletions, "deletions");
    list_count(&fate, ": ", c->entries_expired, "expired");
    list_count(&fate, ": ", c->entries_foreign, "of dropped families");
    list_count(&fate, ": ", c->entries_stepped_over, "stepped over");
    buf_append_byte(out, '\n');
}

static void put_rows(struct buf *out,
                     unsigned indent,
                     const struct quarry_explain_counts *c)
{
    put_line(out, indent, "rows", c->rows_examined);
    buf_append_str(out, " examined, ");
    text_put_count(out, c->rows_returned);
    buf_append_str(out, " returned, with ");
    text_put_count(out, c->cells_returned);
    buf_append_str(out, " cells and ");
    text_put_bytes(out, c->bytes_returned);
    buf_append_byte(out, '\n');
}

static void put_counters(struct buf *out,
                         unsigned indent,
                         const struct quarry_explain_counts *c)
{
    put_times(out, indent, c);
    put_files(out, indent, c);
    put_index(out, indent, c);
    put_blocks(out, indent, c);
    put_reads(out, indent, c);
    put_line(out, indent, "memtables", c->memtables_read);
    buf_append_byte(out, '\n');
    put_entries(out, indent, c);
    put_rows(out, indent, c);
}

/* --- the tree ------------------------------------------------------------ */

static void put_stages(struct buf *out, const struct quarry_explain *e)
{
    if (e->stage_count)
        buf_append_str(out, "  filter\n");
    for (size_t i = 0; i < e->stage_count; i++) {
        const struct explain_stage *s = &e->stages[i];
        buf_append_fill(out, ' ', 4 + 2 * s->depth);
        buf_append_str(out, "-> ");
        buf_append_slice(out, buf_slice(&s->text));
        buf_append_str(out, ": cells ");
        text_put_count(out, s->cells_in);
        buf_append_str(out, " in, ");
        text_put_count(out, s->cells_out);
        buf_append_str(out, " out; rows ");
        text_put_count(out, s->rows_in);
        buf_append_str(out, " in, ");
        text_put_count(out, s->rows_out);
        buf_append_str(out, " out\n");
    }
}

static void put_bound(struct buf *out, struct slice key)
{
    buf_append_byte(out, '"');
    text_put_escaped(out, slice_sub(key, 0, 128), '"');
    buf_append_byte(out, '"');
}

static void put_tablet(struct buf *out, const struct explain_tablet *t)
{
    buf_printf(out, "    -> tablet %llu [", (unsigned long long)t->id);
    put_bound(out, buf_slice(&t->start));
    buf_append_str(out, ", ");
    put_bound(out, buf_slice(&t->end));
    buf_append_byte(out, ')');
    if (t->server.len)
        buf_printf(out, " on %.*s", SLICE_ARG(buf_slice(&t->server)));
    if (t->counts.calls_made)
        buf_printf(out, ", %llu calls",
                   (unsigned long long)t->counts.calls_made);
    buf_append_byte(out, '\n');
    if (t->explain->tablet_count > 1) /* Else they are the totals. */
        put_counters(out, 7, &t->counts);
}

static void put_head(struct buf *out,
                     const struct quarry_explain *e,
                     const struct quarry_explain_counts *c)
{
    buf_append_str(out, "scan of ");
    text_put_count(out, e->tablet_count);
    buf_append_str(out, e->tablet_count == 1 ? " tablet: " : " tablets: ");
    text_put_duration(out, e->elapsed_ns / 1000);
    buf_append_str(out, ", of it ");
    text_put_duration(out, e->client_ns / 1000);
    buf_append_str(out, " waiting for the client");
    if (c->calls_made)
        buf_printf(out, "; %llu calls", (unsigned long long)c->calls_made);
    if (c->calls_retried)
        buf_printf(out, ", and %llu tried again",
                   (unsigned long long)c->calls_retried);
    if (c->program_fuel) {
        buf_append_str(out, "; program: fuel ");
        text_put_count(out, c->program_fuel);
    }
    buf_append_byte(out, '\n');
}

void quarry_explain_text(const struct quarry_explain *e, struct buf *out)
{
    struct quarry_explain_counts total;
    PRE(e);
    explain_total(e, &total);
    put_head(out, e, &total);
    put_counters(out, 2, &total);
    put_stages(out, e);
    buf_append_str(out, e->tablet_count ? "  tablets\n" : "");
    for (size_t i = 0; i < MIN_OF(e->tablet_count, (size_t)TABLETS_SHOWN); i++)
        put_tablet(out, e->tablets[i]);
    if (e->tablet_count > TABLETS_SHOWN)
        buf_printf(out, "    -> %zu more\n", e->tablet_count - TABLETS_SHOWN);
}
