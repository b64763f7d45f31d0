/* The table that a view is of. Cells disappear from it by age as well as by
 * writes, and no change reports that: so the time at which a row will lose
 * its next cell is computed from the rules of garbage collection, and the row
 * is then due. */
#include "bigtable/view/view_source.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/row/hidden.h"

#define LOOK_AGAIN_US ((int64_t)1000000)

/* --- the table ----------------------------------------------------------- */

static int take_family(struct view_source *s,
                       const struct quarry_family_info *f,
                       struct err *err)
{
    struct view_source_family *to = &s->families[s->family_count];
    to->rule = NULL;
    if (f->gc && *f->gc && gc_rule_parse(slice_str(f->gc), &to->rule, err)) {
        err_wrap(err, "family %s", f->name);
        return err->code;
    }
    to->name = mem_strdup(f->name);
    s->family_count++;
    buf_printf(&s->rules, "%s: %s\n", f->name, f->gc ? f->gc : "");
    return 0;
}

static int read_schema(struct quarry *q,
                       const char *table,
                       struct view_source *s,
                       struct err *err)
{
    struct quarry_table_info *info = NULL;
    int rc = quarry_table_describe(q, table, &info, err);

    if (rc)
        return rc;
    s->transactions = info->transactions;
    if (s->transactions)
        buf_append_str(&s->rules, "transactions\n");
    s->families = mem_zalloc(info->family_count + 1, sizeof(*s->families));
    for (size_t i = 0; i < info->family_count && rc == 0; i++)
        rc = take_family(s, &info->families[i], err);
    quarry_table_info_free(info);
    return rc;
}

int view_source_open(struct quarry *q,
                     const char *table,
                     struct view_source *out,
                     struct err *err)
{
    int rc;

    *out = (struct view_source){.table = NULL};
    rc = quarry_table_open(q, table, &out->table, err);
    if (rc == 0)
        rc = read_schema(q, table, out, err);
    if (rc)
        view_source_close(out);
    return rc;
}

void view_source_close(struct view_source *s)
{
    for (size_t i = 0; i < s->family_count; i++) {
        mem_free(s->families[i].name);
        gc_rule_free(s->families[i].rule);
    }
    mem_free(s->families);
    buf_close(&s->rules);
    if (s->table)
        quarry_table_close(s->table);
    *s = (struct view_source){.table = NULL};
}

/* --- expiry -------------------------------------------------------------- */

static const struct gc_rule *rule_of(const struct view_source *s,
                                     struct slice family)
{
    for (size_t i = 0; i < s->family_count; i++)
        if (slice_eq_str(family, s->families[i].name))
            return s->families[i].rule;
    return NULL;
}

/* A column's cells, newest first; that at hand has `newer` above it. */
struct column_cell {
    int64_t timestamp_us;
    uint64_t newer;
    int64_t newer_us; /* Of the one above it. */
};

static void view_source_earliest(int64_t *due, int64_t time)
{
    if (*due == 0 || time < *due)
        *due = time;
}

/* Is the cell gone at @at by @rule? In a table with transactions one that was
 * overwritten a short while ago counts as the newest (row/visibility.h). */
static bool is_gone(const struct view_source *s,
                    const struct gc_rule *rule,
                    const struct column_cell *c,
                    int64_t at)
{
    bool kept =
        s->transactions && c->newer && c->newer_us > at - HIDDEN_KEEP_US;
    return gc_rule_collects(rule, kept ? 0 : c->newer, c->timestamp_us, at);
}

static void try_time(const struct view_source *s,
                     const struct gc_rule *rule,
                     const struct column_cell *c,
                     int64_t at,
                     int64_t now_us,
                     int64_t *due)
{
    if (at > now_us && is_gone(s, rule, c, at))
        view_source_earliest(due, at);
}

/* All times at which a part of @rule begins to collect the cell. */
static void try_ages(const struct view_source *s,
                     const struct gc_rule *rule,
                     const struct gc_rule *part,
                     const struct column_cell *c,
                     int64_t now_us,
                     int64_t *due)
{
    for (size_t i = 0; i < part->part_count; i++)
        try_ages(s, rule, part->parts[i], c, now_us, due);
    if (part->kind == GC_RULE_AGE &&
        part->age_us < (uint64_t)(INT64_MAX - MAX_OF(c->timestamp_us, 0)))
        try_time(s, rule, c, c->timestamp_us + (int64_t)part->age_us + 1,
                 now_us, due);
}

static void cell_due(const struct view_source *s,
                     const struct gc_rule *rule,
                     const struct column_cell *c,
                     int64_t now_us,
                     int64_t *due)
{
    if (!rule)
        return;
    if (is_gone(s, rule, c, now_us)) {
        view_source_earliest(due, now_us + LOOK_AGAIN_US);
        return;
    }
    try_ages(s, rule, rule, c, now_us, due);
    if (s->transactions && c->newer && c->newer_us < INT64_MAX - HIDDEN_KEEP_US)
        try_time(s, rule, c, c->newer_us + HIDDEN_KEEP_US, now_us, due);
}

static bool same_column(const struct quarry_cell *a,
                        const struct quarry_cell *b)
{
    return slice_eq(a->family, b->family) &&
           slice_eq(a->qualifier, b->qualifier);
}

int64_t view_source_due(const struct view_source *s,
                        const struct quarry_row *row,
                        int64_t now_us)
{
    struct column_cell c = {.newer = 0};
    int64_t due = 0;

    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        bool first = i == 0 || !same_column(cell, cell - 1);
        c.newer = first ? 0 : c.newer + 1;
        c.newer_us = first ? 0 : c.timestamp_us;
        c.timestamp_us = cell->timestamp_us;
        cell_due(s, rule_of(s, cell->family), &c, now_us, &due);
    }
    return due;
}
