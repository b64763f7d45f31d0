/* Scans over the tablets of a table part. Inside a tablet, the entries of all
 * groups are merged into rows by a row_reader.
 */
#include "bigtable/read/scan.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_as_of.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/row_source.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/explain.h"
#include "bigtable/row/filter_run.h"
#include "bigtable/row/read_row.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_env.h"

/* --- scans --------------------------------------------------------------- */

struct scan {
    const struct read_spec *spec;
    struct table_part_view *view; /* Referenced. */
    struct filter_run *filter;
    struct row_reader reader;
    struct tablet_snapshot *snapshots; /* Of the tablets of some span. */
    size_t snapshot_count;
    size_t tablet;   /* Index of the one in hand, */
    size_t span;     /* and of the span. */
    bool opened;     /* The sources are over the tablet in hand, for ranges. */
    bool positioned; /* The reader is inside the span in hand. */
    size_t source_count;
    struct buf scratch;
    uint64_t rows;
    /* Rows found in the tablet in hand, and bytes, that its meter does not have
     * yet. */
    uint64_t unmetered_rows;
    uint64_t unmetered_bytes;
    bool metered; /* Some meter has something of this scan. */
    bool is_past; /* The snapshot of the tablet in hand is of spec->as_of_us. */
    /* The same for the heat of the tablet in hand; they began at heat_key. */
    uint64_t heat_rows;
    uint64_t heat_bytes;
    size_t heat_key_length;
    struct explain_tablet *explain; /* Of the tablet opened last; NULL: none. */
    size_t explained;               /* Its index. */
    /* From here on not zeroed by scan_new(): most scans need one of each. */
    struct row_source opened_sources[GROUP_COUNT_MAX];
    struct entry_source sources[GROUP_COUNT_MAX];
    char heat_key[HEAT_KEY_BYTES_MAX];
};

/* Rows after which a long scan is told to the meter. */
#define METER_ROWS 1024
/* Rows that count for the place where they begin. */
#define HEAT_ROWS 64

static const struct row_span everything = {.single = false};

static size_t span_count(const struct scan *s)
{
    return s->spec->span_count ? s->spec->span_count : 1;
}

static const struct row_span *span_at(const struct scan *s, size_t i)
{
    PRE(i < span_count(s));
    return s->spec->span_count ? &s->spec->spans[i] : &everything;
}

static void scan_check(const struct scan *s)
{
    INVARIANT(s->tablet <= s->snapshot_count);
    INVARIANT(!s->positioned || s->tablet < s->snapshot_count); /* INV-2 */
    INVARIANT(!s->positioned || s->span < span_count(s));
    INVARIANT(s->source_count <= GROUP_COUNT_MAX); /* INV-3 */
}

/* Does @span end at or before the tablet's first row? */
static bool is_before(const struct row_span *span, const struct tablet *t)
{
    return span->upper.len &&
           slice_cmp(buf_slice(&span->upper), buf_slice(&t->start_key)) <= 0;
}

static bool is_behind(const struct row_span *span, const struct tablet *t)
{
    return t->end_key.len &&
           slice_cmp(buf_slice(&span->lower), buf_slice(&t->end_key)) >= 0;
}

/* Pin every tablet that holds rows of some span. */
static void take_snapshots(struct scan *s)
{
    size_t spans = span_count(s);
    size_t k = 0;
    s->snapshots =
        mem_alloc((s->view->tablet_count + 1) * sizeof(*s->snapshots));
    for (size_t i = 0; i < s->view->tablet_count && k < spans; i++) {
        struct tablet *t = s->view->tablets[i];
        while (k < spans && is_before(span_at(s, k), t))
            k++;
        if (k < spans && !is_behind(span_at(s, k), t))
            tablet_snapshot_take(t, &s->snapshots[s->snapshot_count++]);
    }
    POST(s->snapshot_count <= s->view->tablet_count);
}

static bool group_is_wanted(const struct scan *s, uint32_t id)
{
    const struct schema *schema = s->view->schema;
    if (!s->spec->families)
        return true;
    for (size_t i = 0; i < schema->family_count; i++)
        if (schema->families[i].group == id &&
            s->spec->families[schema->families[i].id])
            return true;
    return false;
}

/* --- meters -------------------------------------------------------------- */

/* The rows that the heat of the tablet in hand does not have yet. */
static struct heat_operation scan_take_heat(struct scan *s)
{
    PRE(s->heat_key_length > 0 || s->heat_rows == 0);
    const struct heat_operation op = {
        LOAD_READS, slice_make(s->heat_key, s->heat_key_length), s->heat_rows,
        s->heat_bytes};
    s->heat_rows = s->heat_bytes = 0;
    return op;
}

/* Tell the tablet in hand what was read of it. */
static void scan_meter_rows(struct scan *s)
{
    struct tablet *t;
    uint64_t metered;
    if (s->unmetered_rows == 0 || s->tablet >= s->snapshot_count)
        return;
    t = s->snapshots[s->tablet].tablet;
    metered = load_meter_add(&t->load, LOAD_READS, s->unmetered_rows,
                             s->unmetered_bytes, world_mono_ns(t->env->world));
    s->unmetered_rows = s->unmetered_bytes = 0;
    s->metered = true;
    if (s->heat_rows) {
        const struct heat_operation op = scan_take_heat(s);
        tablet_note_heat(t, &op, metered);
    }
}

static void scan_keep_heat_key(struct scan *s, struct slice row)
{
    row = heat_key(row);
    PRE(row.len <= sizeof(s->heat_key));
    memcpy(s->heat_key, row.data, row.len);
    s->heat_key_length = row.len;
}

static void scan_heat_row(struct scan *s, const struct quarry_row *row)
{
    PRE(s->tablet < s->snapshot_count);
    struct tablet *t = s->snapshots[s->tablet].tablet;
    if (!t->env->heat || row->cell_count == 0)
        return;
    if (s->heat_rows++ == 0)
        scan_keep_heat_key(s, row->key);
    s->heat_bytes += row->key.len + s->reader.cells_bytes;
    if (s->heat_rows >= HEAT_ROWS) {
        const struct heat_operation op = scan_take_heat(s);
        tablet_add_heat(t, &op, 1);
    }
}

/* Nothing was found of the single row that was asked for. */
static void scan_heat_nothing(struct scan *s)
{
    const struct row_span *span = span_at(s, 0);
    struct buf plain = BUF_INIT;
    if (s->snapshot_count != 1 || !span->single ||
        !s->snapshots[0].tablet->env->heat)
        return;
    scan_keep_heat_key(s, cell_key_plain_row(buf_slice(&span->lower), &plain));
    s->heat_rows = 1;
    buf_close(&plain);
}

static void meter_row(struct scan *s, const struct quarry_row *row)
{
    scan_heat_row(s, row);
    s->unmetered_rows += row->cell_count > 0;
    s->unmetered_bytes += row->key.len + s->reader.cells_bytes;
    if (s->unmetered_rows >= METER_ROWS)
        scan_meter_rows(s);
    POST(s->unmetered_rows < METER_ROWS);
}

static void close_sources(struct scan *s)
{
    PRE(s->source_count <= GROUP_COUNT_MAX); /* INV-3 */
    for (size_t i = 0; i < s->source_count; i++)
        row_source_close(&s->opened_sources[i]);
    s->source_count = 0;
    s->opened = false;
}

/* Group @i of the tablet in hand, for the one row @probe or for ranges. */
static int open_source(struct scan *s,
                       size_t i,
                       const struct lsm_read_options *opts,
                       struct err *err)
{
    const struct tablet_snapshot *snapshot = &s->snapshots[s->tablet];
    struct row_source *source = &s->opened_sources[s->source_count];
    const struct row_place place = {
        .env = snapshot->tablet->env,
        .tablet = snapshot->tablet,
        .group = i,
        .generation = s->view->generation,
        .encoded = opts->probe_row,
        .row = opts->probe_row.len
                   ? cell_key_plain_row(opts->probe_row, &s->scratch)
                   : SLICE_EMPTY,
        .snapshot = snapshot->groups[i],
        .complete = snapshot->sequence,
    };
    int rc = s->is_past
                 ? row_source_open_past(source, place.snapshot, opts, err)
             : opts->probe_row.len
                 ? row_source_open_row(source, &place, opts, err)
                 : row_source_open(source, place.snapshot, opts, err);
    PRE(i < snapshot->group_count);
    PRE(s->source_count < GROUP_COUNT_MAX);
    if (rc == 0)
        s->sources[s->source_count++] = row_source_entries(source);
    return rc;
}

/* --- explained scans ----------------------------------------------------- */

/* Is some row of the scan within the keys [first, last]? */
static bool scan_wants_keys(void *ctx, struct slice first, struct slice last)
{
    const struct scan *s = ctx;
    const struct tablet *t = s->snapshots[s->tablet].tablet;
    size_t low = 0;
    size_t high = span_count(s);
    if (slice_cmp(last, buf_slice(&t->start_key)) < 0 ||
        (t->end_key.len && slice_cmp(first, buf_slice(&t->end_key)) >= 0))
        return false;
    while (low < high) { /* The first span that ends behind @first. */
        size_t middle = low + (high - low) / 2;
        const struct row_span *span = span_at(s, middle);
        if (span->upper.len && slice_cmp(buf_slice(&span->upper), first) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < span_count(s) &&
           slice_cmp(buf_slice(&span_at(s, low)->lower), last) <= 0;
}

/* The tablet in hand is about to be read: what follows is counted as its. */
static void scan_explain_tablet(struct scan *s)
{
    PRE(s->tablet < s->snapshot_count);
    PRE(s->spec->explain);
    const struct tablet_snapshot *snapshot = &s->snapshots[s->tablet];
    const struct tablet *t = snapshot->tablet;
    if (s->explain && s->explained == s->tablet)
        return;
    s->explain = explain_tablet(s->spec->explain, t->id, SLICE_EMPTY,
                                buf_slice(&t->start), buf_slice(&t->end));
    s->explained = s->tablet;
    INVARIANT(snapshot->group_count <= GROUP_COUNT_MAX); /* INV-3 */
    for (size_t i = 0; i < snapshot->group_count; i++)
        lsm_explain_files(snapshot->groups[i], s->explain, (uint32_t)i,
                          group_is_wanted(s, t->groups[i]->id), scan_wants_keys,
                          s);
    row_reader_set_explain(&s->reader, s->explain);
}

struct explain_tablet *scan_explained(const struct scan *s)
{
    return s->explain;
}

/* --- opening tablets ----------------------------------------------------- */

/* Put the tablet in hand back to the time that the scan asks for. */
static int go_back(struct scan *s, struct err *err)
{
    struct tablet_snapshot *snapshot = &s->snapshots[s->tablet];
    struct tablet_snapshot then;
    PRE(s->tablet < s->snapshot_count);
    PRE(s->spec->as_of_us > 0 && !s->is_past);
    int rc = change_as_of(snapshot->tablet, s->spec->as_of_us, &then, err);
    if (rc)
        return rc;
    tablet_snapshot_drop(snapshot);
    *snapshot = then;
    s->is_past = true;
    return 0;
}

/* Sources for the wanted groups of the tablet in hand: for the one row @probe,
 * or for ranges. */
static int open_sources(struct scan *s, struct slice probe, struct err *err)
{
    const struct tablet_snapshot *snapshot = &s->snapshots[s->tablet];
    struct lsm_read_options opts = {
        .probe_row = probe,
        .time_min_us = s->spec->time_min_us,
        .time_max_us = s->spec->time_max_us,
        .scan = probe.len == 0 && s->spec->read_ahead,
    };
    int rc = 0;
    PRE(s->tablet < s->snapshot_count);
    close_sources(s);
    if (UNLIKELY(s->spec->as_of_us) && !s->is_past)
        rc = go_back(s, err);
    if (rc)
        return rc;
    opts.sequence_max = snapshot->sequence;
    if (UNLIKELY(s->spec->explain)) {
        scan_explain_tablet(s);
        opts.explain = s->explain;
    }
    for (size_t i = 0; i < snapshot->group_count && rc == 0; i++)
        if (group_is_wanted(s, snapshot->tablet->groups[i]->id))
            rc = open_source(s, i, &opts, err);
    row_reader_set_sources(&s->reader, s->sources, s->source_count);
    s->opened = rc == 0 && probe.len == 0;
    return rc;
}

/* Put the reader at the beginning of the span in hand. */
static int enter_span(struct scan *s, struct err *err)
{
    const struct row_span *span = span_at(s, s->span);
    struct slice lower = buf_slice(&span->lower);
    int rc = 0;
    PRE(!s->positioned);
    PRE(s->tablet < s->snapshot_count);
    if (span->single)
        rc = open_sources(s, lower, err);
    else if (!s->opened)
        rc = open_sources(s, SLICE_EMPTY, err);
    if (rc == 0)
        rc = row_reader_seek(&s->reader, lower, buf_slice(&span->upper), err);
    s->positioned = rc == 0;
    scan_check(s);
    return rc;
}

static void leave_tablet(struct scan *s)
{
    PRE(s->tablet < s->snapshot_count);
    scan_meter_rows(s);
    s->tablet++;
    s->is_past = false;
    close_sources(s);
}

/* Find the next span with rows in a tablet; false at the end. */
static bool scan_advance(struct scan *s)
{
    const struct row_span *span;
    PRE(s->tablet <= s->snapshot_count);
    if (s->positioned) {
        /* The span may continue in the next tablet. */
        span = span_at(s, s->span);
        const struct tablet *t = s->snapshots[s->tablet].tablet;
        bool more = t->end_key.len && (span->upper.len == 0 ||
                                       slice_cmp(buf_slice(&span->upper),
                                                 buf_slice(&t->end_key)) > 0);
        s->positioned = false;
        if (more) {
            leave_tablet(s);
        } else {
            s->span++;
        }
    }
    while (s->tablet < s->snapshot_count && s->span < span_count(s)) {
        const struct tablet *t = s->snapshots[s->tablet].tablet;
        span = span_at(s, s->span);
        if (is_before(span, t)) {
            s->span++;
        } else if (is_behind(span, t)) {
            leave_tablet(s);
        } else {
            return true;
        }
    }
    return false;
}

static int
next_row(struct scan *s, const struct quarry_row **row, struct err *err)
{
    *row = NULL;
    if (s->spec->none || (s->spec->row_limit && s->rows >= s->spec->row_limit))
        return 0;
    for (;;) {
        int rc;
        if (s->positioned) {
            rc = row_reader_next(&s->reader, row, err);
            if (rc)
                return rc;
            if (*row) {
                s->rows += (*row)->cell_count > 0;
                POST(!s->spec->row_limit ||
                     s->rows <= s->spec->row_limit); /* INV-4 */
                meter_row(s, *row);
                return 0;
            }
        }
        if (!scan_advance(s))
            return 0;
        scan_check(s);
        rc = enter_span(s, err);
        if (rc)
            return rc;
    }
}

/* Out of line, so that scan_next() is a jump where nothing is explained. */
NOINLINE static int
next_explained(struct scan *s, const struct quarry_row **row, struct err *err)
{
    struct quarry_explain *e = s->spec->explain;
    PRE(e);
    uint64_t begin_ns = explain_now(e);
    int rc = next_row(s, row, err);
    if (s->explain)
        s->explain->scan_ns += explain_now(e) - begin_ns;
    return rc;
}

int scan_next(struct scan *s, const struct quarry_row **row, struct err *err)
{
    return LIKELY(!s->spec->explain) ? next_row(s, row, err)
                                     : next_explained(s, row, err);
}

uint64_t scan_sequence(const struct scan *s)
{
    uint64_t sequence = 0;
    PRE(s->snapshots || s->snapshot_count == 0);
    for (size_t i = 0; i < s->snapshot_count; i++)
        sequence = MAX_OF(sequence, s->snapshots[i].sequence);
    return sequence;
}

int scan_new(struct table_part_view *view,
             const struct read_spec *spec,
             int64_t now_us,
             struct scan **out,
             struct err *err)
{
    struct scan *s = mem_alloc(sizeof(*s));
    struct row_reader_options opts = {
        .schema = view->schema,
        .now_us = spec->as_of_us ? spec->as_of_us : now_us,
        .families = spec->families,
        .versions = spec->versions,
        .time_min_us = spec->time_min_us,
        .time_max_us = spec->time_max_us,
        .keys_only = spec->keys_only,
        .valued = spec->valued,
        .column_regex = spec->column_regex,
        .progress_rows = spec->progress_rows,
        .cell_limit = spec->filter ? 0 : spec->cell_limit,
    };
    int rc = 0;
    PRE(view->tablet_count > 0);
    memset(s, 0, offsetof(struct scan, opened_sources));
    atomic_fetch_add(&view->references, 1);
    s->view = view;
    s->spec = spec;
    if (spec->filter)
        rc = filter_run_new(spec->filter, &s->filter, err);
    opts.filter = s->filter;
    row_reader_init(&s->reader, &opts);
    *out = NULL;
    if (rc) {
        scan_free(s);
        return rc;
    }
    take_snapshots(s);
    *out = s;
    return 0;
}

void scan_free(struct scan *s)
{
    if (!s)
        return;
    /* To find nothing is a read as well. */
    if (!s->metered && s->unmetered_rows == 0) {
        s->unmetered_rows = 1;
        scan_heat_nothing(s);
    }
    s->tablet = s->tablet < s->snapshot_count ? s->tablet : 0;
    INVARIANT(!s->spec->row_limit || s->rows <= s->spec->row_limit);
    scan_meter_rows(s);
    close_sources(s);
    for (size_t i = 0; i < s->snapshot_count; i++)
        tablet_snapshot_drop(&s->snapshots[i]);
    mem_free(s->snapshots);
    buf_close(&s->scratch);
    row_reader_close(&s->reader);
    filter_run_free(s->filter);
    table_part_view_unref(s->view);
    mem_free(s);
}
