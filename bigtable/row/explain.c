/* The record of an explained scan. All of this runs in explained scans only, so
 * it is written for clearness: what follows from other counters is worked out
 * by explain_settle(), and kept when a scan ends, when an answer is sent, and
 * when the record is printed.
 */
#include "bigtable/row/explain.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/row/cells.h"
#include "bigtable/row/filter.h"

/* --- life ---------------------------------------------------------------- */

struct quarry_explain *explain_new(void)
{
    return mem_zalloc(1, sizeof(struct quarry_explain));
}

static void explain_tablet_free(struct explain_tablet *t)
{
    for (size_t i = 0; i < t->file_count; i++)
        mem_free(t->files[i]);
    mem_free(t->files);
    hash_map_close(&t->by_number);
    buf_close(&t->server);
    buf_close(&t->start);
    buf_close(&t->end);
    mem_free(t);
}

static void drop_stages(struct quarry_explain *e)
{
    for (size_t i = 0; i < e->stage_count; i++)
        buf_close(&e->stages[i].text);
    e->stage_count = 0;
}

void explain_free(struct quarry_explain *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->tablet_count; i++)
        explain_tablet_free(e->tablets[i]);
    drop_stages(e);
    mem_free(e->tablets);
    mem_free(e->stages);
    mem_free(e);
}

/* --- stages -------------------------------------------------------------- */

static struct explain_stage *add_stage(struct quarry_explain *e, unsigned depth)
{
    struct explain_stage *s;
    e->stages =
        mem_realloc(e->stages, (e->stage_count + 1) * sizeof(*e->stages));
    s = &e->stages[e->stage_count++];
    *s = (struct explain_stage){.depth = depth};
    return s;
}

/* Recursion is bounded by FILTER_DEPTH_MAX. */
static void add_filter_stages(struct quarry_explain *e,
                              const struct quarry_filter *f,
                              const char *as,
                              unsigned depth)
{
    static const char *const branches[] = {"if ", "then ", "else "};
    struct explain_stage *s = add_stage(e, depth);
    buf_append_str(&s->text, as);
    filter_describe(f, &s->text);
    s->is_chain = f->kind == FILTER_CHAIN;
    for (size_t i = 0; i < f->part_count; i++)
        if (f->parts[i])
            add_filter_stages(e, f->parts[i],
                              f->kind == FILTER_CONDITION ? branches[i] : "",
                              depth + 1);
}

/* Keep the stages of a scan before if they can be this one's. */
static void add_stages(struct quarry_explain *e,
                       const struct quarry_filter *filter,
                       bool has_program)
{
    size_t count = (filter ? filter->node_count : 0) + has_program;
    if (e->stage_count == count)
        return;
    drop_stages(e);
    if (filter)
        add_filter_stages(e, filter, "", 0);
    if (has_program)
        buf_append_str(&add_stage(e, 0)->text, "program");
    e->has_program = has_program;
}

void explain_begin(struct quarry_explain *e,
                   const struct quarry_filter *filter,
                   bool has_program,
                   uint64_t (*now)(void *clock),
                   void *clock)
{
    e->now = now;
    e->clock = clock;
    add_stages(e, filter, has_program);
    e->fuel = 0;
    e->begin_ns = e->left_ns = explain_now(e);
}

void explain_end(struct quarry_explain *e)
{
    if (!e->begin_ns)
        return;
    explain_enter(e);
    e->elapsed_ns += explain_now(e) - e->begin_ns;
    e->begin_ns = 0;
    for (size_t i = 0; i < e->tablet_count; i++)
        explain_settle(e->tablets[i]);
    explain_settle_stages(e);
}

void explain_enter(struct quarry_explain *e)
{
    if (e->left_ns)
        e->client_ns += explain_now(e) - e->left_ns;
    e->left_ns = 0;
}

void explain_leave(struct quarry_explain *e)
{
    e->left_ns = explain_now(e);
}

static void stage_in(struct quarry_explain *e, struct explain_stage *s)
{
    s->rows_in += s->last_in != e->row;
    s->last_in = e->row;
}

static void stage_out(struct quarry_explain *e, struct explain_stage *s)
{
    s->rows_out += s->last_out != e->row;
    s->last_out = e->row;
}

void explain_stage_in(struct quarry_explain *e, size_t i, size_t cells)
{
    PRE(i < e->stage_count);
    e->stages[i].cells_in += cells;
    if (cells)
        stage_in(e, &e->stages[i]);
}

void explain_stage_out(struct quarry_explain *e, size_t i, size_t cells)
{
    PRE(i < e->stage_count);
    e->stages[i].cells_out += cells;
    if (cells)
        stage_out(e, &e->stages[i]);
}

void explain_stage_row(struct quarry_explain *e, size_t i, bool passed)
{
    PRE(i < e->stage_count);
    stage_in(e, &e->stages[i]);
    if (passed)
        stage_out(e, &e->stages[i]);
}

/* The chain @i ends at its last link; chains inside of it were settled before,
 * because they come later. */
static void settle_chain(struct quarry_explain *e, size_t i)
{
    struct explain_stage *chain = &e->stages[i];
    const struct explain_stage *first = chain + 1;
    const struct explain_stage *last = first;
    for (size_t k = i + 1;
         k < e->stage_count && e->stages[k].depth > chain->depth; k++)
        if (e->stages[k].depth == chain->depth + 1)
            last = &e->stages[k];
    chain->cells_in = first->cells_in;
    chain->rows_in = first->rows_in;
    chain->cells_out = last->cells_out;
    chain->rows_out = last->rows_out;
}

void explain_settle_stages(struct quarry_explain *e)
{
    for (size_t i = e->stage_count; i-- > 0;)
        if (e->stages[i].is_chain && e->stages[i].streams)
            settle_chain(e, i);
}

/* --- tablets and files --------------------------------------------------- */

static struct explain_tablet *
find_tablet(struct quarry_explain *e, uint64_t id, struct slice server)
{
    for (size_t i = e->tablet_count; i-- > 0;)
        if (e->tablets[i]->id == id &&
            slice_eq(buf_slice(&e->tablets[i]->server), server))
            return e->tablets[i];
    return NULL;
}

struct explain_tablet *explain_tablet(struct quarry_explain *e,
                                      uint64_t id,
                                      struct slice server,
                                      struct slice start,
                                      struct slice end)
{
    struct explain_tablet *t = find_tablet(e, id, server);
    if (t)
        return t;
    t = mem_zalloc(1, sizeof(*t));
    t->explain = e;
    t->id = id;
    hash_map_init(&t->by_number, HASH_KEYS_COPIED);
    buf_append_slice(&t->server, server);
    buf_append_slice(&t->start, start);
    buf_append_slice(&t->end, end);
    e->tablets =
        mem_realloc(e->tablets, (e->tablet_count + 1) * sizeof(*e->tablets));
    e->tablets[e->tablet_count++] = t;
    return t;
}

struct explain_file *explain_file(struct explain_tablet *t,
                                  uint64_t number,
                                  uint32_t group,
                                  uint64_t bytes,
                                  enum explain_fate fate)
{
    bool added;
    union hash_value *v =
        hash_map_put(&t->by_number, hash_key_u64(&number), &added);
    struct explain_file *f = v->pointer;
    if (added) {
        f = mem_zalloc(1, sizeof(*f));
        v->pointer = f;
        *f = (struct explain_file){
            .tablet = t, .number = number, .group = group, .bytes = bytes};
        t->files =
            mem_realloc(t->files, (t->file_count + 1) * sizeof(*t->files));
        t->files[t->file_count++] = f;
    }
    f->fate = MAX_OF(f->fate, fate);
    return f;
}

struct explain_file *explain_file_met(struct explain_tablet *t,
                                      uint64_t number,
                                      enum explain_fate fate)
{
    return explain_file(t, number, 0, 0, fate);
}

void explain_block(struct explain_file *f,
                   enum explain_place place,
                   bool window,
                   uint64_t stored_bytes,
                   uint64_t decoded_bytes)
{
    struct quarry_explain_counts *c = &f->tablet->counts;
    f->blocks++;
    c->blocks_read++;
    c->blocks_stored_bytes += stored_bytes;
    c->blocks_decoded_bytes += decoded_bytes;
    c->read_ahead_used_bytes += window ? stored_bytes : 0;
    switch (place) {
    case EXPLAIN_BLOCK_CACHE: c->blocks_from_block_cache++; break;
    case EXPLAIN_MEMORY: c->blocks_from_memory++; break;
    case EXPLAIN_PAGE_CACHE: c->blocks_from_page_cache++; break;
    case EXPLAIN_DISK: c->blocks_from_disk++; break;
    case EXPLAIN_REMOTE: c->blocks_from_remote++; break;
    case EXPLAIN_PLACES: PANIC("place");
    }
}

void explain_read(struct explain_file *f,
                  enum explain_place place,
                  uint64_t bytes,
                  uint64_t took_ns)
{
    struct quarry_explain_counts *c = &f->tablet->counts;
    bool cached = place == EXPLAIN_PAGE_CACHE;
    bool remote = place == EXPLAIN_REMOTE;
    PRE(cached || remote || place == EXPLAIN_DISK);
    f->place = place;
    c->reads_made++;
    c->reads_from_page_cache += cached;
    c->reads_from_remote += remote;
    c->reads_from_disk += !cached && !remote;
    c->reads_page_cache_bytes += cached ? bytes : 0;
    c->reads_remote_bytes += remote ? bytes : 0;
    c->reads_disk_bytes += cached || remote ? 0 : bytes;
    c->time_reading += took_ns;
}

static struct explain_stage *program_stage(struct quarry_explain *e)
{
    PRE(e->has_program);
    return &e->stages[e->stage_count - 1];
}

void explain_row_out(struct explain_tablet *t,
                     const struct quarry_row *row,
                     bool by_program)
{
    uint64_t bytes = row->key.len;
    if (by_program) {
        struct explain_stage *s = program_stage(t->explain);
        s->rows_out++;
        s->cells_out += row->cell_count;
    }
    for (size_t i = 0; i < row->cell_count; i++)
        bytes += row->cells[i].family.len + row->cells[i].qualifier.len +
                 row->cells[i].value.len;
    t->counts.rows_returned++;
    t->counts.cells_returned += row->cell_count;
    t->counts.bytes_returned += bytes;
}

void explain_program(struct explain_tablet *t,
                     uint64_t took_ns,
                     size_t cells,
                     uint64_t fuel)
{
    struct quarry_explain *e = t->explain;
    struct explain_stage *s = program_stage(e);
    t->counts.time_program += took_ns;
    t->counts.program_fuel += fuel - e->fuel;
    e->fuel = fuel;
    s->rows_in++;
    s->cells_in += cells;
}

static void count_fates(struct explain_tablet *t)
{
    struct quarry_explain_counts *c = &t->counts;
    uint64_t by_fate[EXPLAIN_FATES] = {0};
    for (size_t i = 0; i < t->file_count; i++)
        by_fate[t->files[i]->fate]++;
    c->files_considered = t->file_count;
    c->files_opened = by_fate[EXPLAIN_FILE_OPENED];
    c->files_by_family = by_fate[EXPLAIN_FILE_FAMILY];
    c->files_by_key_range = by_fate[EXPLAIN_FILE_KEY_RANGE];
    c->files_by_bloom_filter = by_fate[EXPLAIN_FILE_BLOOM_FILTER];
    c->files_by_time = by_fate[EXPLAIN_FILE_TIME];
    c->files_by_sequence = by_fate[EXPLAIN_FILE_SEQUENCE];
    c->files_not_needed = by_fate[EXPLAIN_FILE_NOT_NEEDED];
}

/* The time of the filter follows from the rows that were timed; merging is what
 * is left of the time inside of the scan. */
static void settle_times(struct explain_tablet *t)
{
    struct quarry_explain_counts *c = &t->counts;
    uint64_t known = c->time_reading + c->time_decompressing;
    uint64_t left = t->scan_ns > known ? t->scan_ns - known : 0;
    uint64_t filter = t->filter_timed_rows
                          ? (uint64_t)((double)t->filter_timed_ns *
                                       ((double)t->filter_rows /
                                        (double)t->filter_timed_rows))
                          : 0;
    c->time_filter = MIN_OF(filter, left);
    c->time_merging = left - c->time_filter;
}

void explain_settle(struct explain_tablet *t)
{
    struct quarry_explain_counts *c = &t->counts;
    count_fates(t);
    if (t->server.len > 0)
        return; /* The server has settled the rest, and is not trusted. */
    uint64_t judged = c->entries_shown + c->entries_hidden +
                      c->entries_deletions + c->entries_expired +
                      c->entries_foreign;
    c->entries_read = c->entries_from_memtables + c->entries_from_files +
                      c->entries_from_scan_cache;
    INVARIANT(judged <= c->entries_read); /* INV-3 of the counts. */
    c->entries_stepped_over = c->entries_read - judged;
    settle_times(t);
}

void explain_total(const struct quarry_explain *e,
                   struct quarry_explain_counts *out)
{
    *out = (struct quarry_explain_counts){0};
    for (size_t i = 0; i < e->tablet_count; i++) {
        const struct quarry_explain_counts *c = &e->tablets[i]->counts;
#define EXPLAIN_ADD(part, name) out->part##_##name += c->part##_##name;
        EXPLAIN_COUNTS(EXPLAIN_ADD)
#undef EXPLAIN_ADD
    }
}
