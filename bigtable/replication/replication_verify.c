/* Ranges of rows are compared by digests, and those that differ row by row, by
 * two scans side by side. A row that differs is read again at both ends before
 * it counts, since changes may be on their way.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/replication/digest_compare.h"
#include "bigtable/replication/replication_stream.h"

/* Looks at a row that differs, and the time between them. */
#define LOOKS   3
#define LOOK_US ((uint64_t)300000)

/* One end of the comparison. */
struct verify_end {
    struct quarry_table *table;
    const char **families; /* Names here, borrowed; owned array. */
    struct quarry_read_options read;
    struct quarry_range range;
    struct quarry_scanner *scan;
    const struct quarry_row *row; /* Borrowed; NULL: the end. */
};

struct verification {
    struct quarry_replication *r;
    struct quarry_replication_verify *v;
    struct quarry_table_info *info; /* Of this end's table. */
    struct verify_end here;
    struct verify_end there;
    struct buf columns;   /* A pattern; empty: all. */
    struct buf differing; /* Rows to be looked at again. */
};

/* --- what is read -------------------------------------------------------- */

static void end_close(struct verify_end *e)
{
    quarry_scanner_close(e->scan);
    mem_free(e->families);
}

static void end_init(struct verification *s, struct verify_end *e)
{
    e->range =
        (struct quarry_range){buf_slice(&s->r->start), buf_slice(&s->r->end)};
    e->read = (struct quarry_read_options){
        .ranges = &e->range,
        .range_count = 1,
        .families = e->families,
        .family_count = s->r->rules.family_count,
        .column_regex = s->columns.len ? buf_cstr(&s->columns) : NULL};
}

/* The families that are sent: all of this end's, where none are named. */
static void name_families(struct verification *s)
{
    const struct replication_rules *rules = &s->r->rules;
    size_t count = MAX_OF(rules->family_count, s->info->family_count);
    size_t n = 0;
    s->here.families = mem_zalloc(count + 1, sizeof(char *));
    s->there.families = mem_zalloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < rules->family_count; i++) {
        s->here.families[n] = rules->families[i].from;
        s->there.families[n++] = rules->families[i].to;
    }
    for (size_t i = 0; i < s->info->family_count && !rules->family_count; i++)
        if (s->info->families[i].name[0] != '.') {
            s->here.families[n] = s->info->families[i].name;
            s->there.families[n++] = s->info->families[i].name;
        }
    if (rules->qualifiers)
        buf_printf(&s->columns, "(?s)[^:]*:(?:%s)", rules->qualifiers);
    end_init(s, &s->here);
    end_init(s, &s->there);
    s->here.read.family_count = s->there.read.family_count = n;
}

/* --- rows ---------------------------------------------------------------- */

struct verify_cell {
    const char *family; /* Its name at the other end. */
    const struct quarry_cell *cell;
};

static int by_name(const void *a, const void *b)
{
    const struct verify_cell *x = a;
    const struct verify_cell *y = b;
    int c = strcmp(x->family, y->family);
    if (c == 0)
        c = slice_cmp(x->cell->qualifier, y->cell->qualifier);
    if (c == 0)
        c = (x->cell->timestamp_us < y->cell->timestamp_us) -
            (x->cell->timestamp_us > y->cell->timestamp_us);
    return c;
}

/* The cells of @row as they are called at the other end, sorted. Owned. */
static struct verify_cell *name_cells(const struct verification *s,
                                      const struct verify_end *e,
                                      const struct quarry_row *row)
{
    size_t count = row ? row->cell_count : 0;
    struct verify_cell *list = mem_zalloc(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (!slice_eq_str(row->cells[i].family, e->families[k]))
            k++;
        list[i] = (struct verify_cell){s->there.families[k], &row->cells[i]};
    }
    if (count)
        qsort(list, count, sizeof(*list), by_name);
    return list;
}

/* Count how the rows differ, and add to @mend what makes the other end's as
 * this one's. */
static void compare_cells(const struct verify_cell *here,
                          size_t here_count,
                          const struct verify_cell *there,
                          size_t there_count,
                          struct quarry_replication_difference *d,
                          struct quarry_mutation *mend)
{
    size_t i = 0;
    size_t k = 0;
    while (i < here_count || k < there_count) {
        int c = i == here_count    ? 1
                : k == there_count ? -1
                                   : by_name(&here[i], &there[k]);
        bool unequal =
            c == 0 && !slice_eq(here[i].cell->value, there[k].cell->value);
        d->missing += c < 0;
        d->extra += c > 0;
        d->unequal += unequal;
        if (c < 0 || unequal)
            quarry_mutation_set(mend, here[i].family, here[i].cell->qualifier,
                                here[i].cell->timestamp_us,
                                here[i].cell->value);
        else if (c > 0)
            quarry_mutation_delete_cells(
                mend, there[k].family, there[k].cell->qualifier,
                there[k].cell->timestamp_us, there[k].cell->timestamp_us + 1);
        i += c <= 0;
        k += c >= 0;
    }
}

/* Does @row differ? Then how is in *@d. */
static bool compare_rows(const struct verification *s,
                         const struct quarry_row *here,
                         const struct quarry_row *there,
                         struct quarry_replication_difference *d,
                         struct quarry_mutation *mend)
{
    struct verify_cell *a = name_cells(s, &s->here, here);
    struct verify_cell *b = name_cells(s, &s->there, there);
    struct slice row = here ? here->key : there->key;
    *d = (struct quarry_replication_difference){.row = row};
    compare_cells(a, here ? here->cell_count : 0, b,
                  there ? there->cell_count : 0, d, mend);
    mem_free(a);
    mem_free(b);
    return d->missing + d->extra + d->unequal > 0;
}

/* --- differences --------------------------------------------------------- */

static int read_end(const struct verify_end *e,
                    struct slice row,
                    struct quarry_row **out,
                    struct err *err)
{
    struct quarry_read_options o = e->read;
    o.ranges = NULL;
    o.range_count = 0;
    return quarry_read_row(e->table, row, &o, out, err);
}

/* Look at @row again, at both ends, and mend it if it still differs. */
static int settle_row(struct verification *s,
                      struct slice row,
                      bool *differs,
                      struct err *err)
{
    struct quarry_row *here = NULL;
    struct quarry_row *there = NULL;
    struct quarry_mutation *mend = quarry_mutation_new(row);
    struct quarry_replication_difference d;
    int rc = read_end(&s->there, row, &there, err);
    if (rc == 0)
        rc = read_end(&s->here, row, &here, err);
    *differs =
        rc == 0 && (here || there) && compare_rows(s, here, there, &d, mend);
    if (*differs && s->v->repair) {
        rc = quarry_apply(s->r->target, mend, NULL, err);
        s->v->repaired += rc == 0;
    }
    if (*differs && s->v->found) {
        d.row = row;
        s->v->found(s->v->arg, &d);
    }
    quarry_row_free(here);
    quarry_row_free(there);
    quarry_mutation_free(mend);
    return rc;
}

static bool is_cancelled(const struct quarry_replication_verify *v)
{
    return v->cancel && atomic_load(v->cancel);
}

/* Rows that differed when they were scanned, one length-prefixed name after the
 * other: after a while, do they still? */
static int
settle_rows(struct verification *s, struct buf *rows, struct err *err)
{
    int rc = 0;
    for (int look = 1; look <= LOOKS && rows->len && rc == 0; look++) {
        struct cursor c = cursor_make(buf_slice(rows));
        struct buf left = BUF_INIT;
        bool repair = s->v->repair;
        void (*found)(void *, const struct quarry_replication_difference *) =
            s->v->found;
        world_sleep_us(quarry_world(s->r->from), LOOK_US);
        if (look < LOOKS) { /* It counts the last time. */
            s->v->repair = false;
            s->v->found = NULL;
        }
        while (rc == 0 && cursor_left(&c)) {
            struct slice row = cursor_lslice(&c);
            bool differs;
            rc = settle_row(s, row, &differs, err);
            if (differs)
                buf_put_lslice(&left, row);
            s->v->different += differs && look == LOOKS;
        }
        s->v->repair = repair;
        s->v->found = found;
        buf_close(rows);
        *rows = left;
    }
    return rc;
}

/* --- the scan ------------------------------------------------------------ */

/* Rows that differ are looked at again when their names take this much. */
#define DIFFERING_BYTES_MAX ((size_t)256 << 10)

static int next_row(struct verify_end *e, struct err *err)
{
    return quarry_scanner_next(e->scan, &e->row, err);
}

/* Compare the rows that both ends are at, and go behind the lower one. */
static int
compare_next(struct verification *s, struct buf *differing, struct err *err)
{
    const struct quarry_row *here = s->here.row;
    const struct quarry_row *there = s->there.row;
    int order = !here ? 1 : !there ? -1 : slice_cmp(here->key, there->key);
    struct quarry_mutation *unused;
    struct quarry_replication_difference d;
    int rc = 0;
    if (order < 0)
        there = NULL;
    else if (order > 0)
        here = NULL;
    unused = quarry_mutation_new(here ? here->key : there->key);
    s->v->rows++;
    if (compare_rows(s, here, there, &d, unused))
        buf_put_lslice(differing, d.row);
    quarry_mutation_free(unused);
    if (here)
        rc = next_row(&s->here, err);
    if (rc == 0 && there)
        rc = next_row(&s->there, err);
    return rc;
}

static int compare_scanned(struct verification *s, struct err *err)
{
    int rc = next_row(&s->here, err);
    if (rc == 0)
        rc = next_row(&s->there, err);
    while (rc == 0 && (s->here.row || s->there.row)) {
        rc = compare_next(s, &s->differing, err);
        if (rc == 0 && is_cancelled(s->v))
            rc = err_set(err, ERR_CANCELLED, "the comparison was stopped");
        if (rc == 0 && s->differing.len > DIFFERING_BYTES_MAX) {
            rc = settle_rows(s, &s->differing, err);
            buf_clear(&s->differing);
        }
    }
    return rc;
}

/* Of digest_compare_run(): read the rows at both ends. */
static int
compare_range(void *arg, struct slice start, struct slice end, struct err *err)
{
    struct verification *s = arg;
    uint64_t before = s->v->rows;
    int rc;
    s->here.range = s->there.range = (struct quarry_range){start, end};
    rc = quarry_scan(s->here.table, &s->here.read, &s->here.scan, err);
    if (rc == 0)
        rc = quarry_scan(s->there.table, &s->there.read, &s->there.scan, err);
    if (rc == 0)
        rc = compare_scanned(s, err);
    quarry_scanner_close(s->here.scan);
    quarry_scanner_close(s->there.scan);
    s->here.scan = s->there.scan = NULL;
    s->v->read += s->v->rows - before;
    return rc;
}

static int compare_tables(struct verification *s, struct err *err)
{
    struct digest_compare d = {
        .tables = {s->here.table, s->there.table},
        .reads = {&s->here.read, &s->there.read},
        .cancel = s->v->cancel,
        .found = compare_range,
        .arg = s,
    };
    struct slice start = buf_slice(&s->r->start);
    struct slice end = buf_slice(&s->r->end);
    struct err why = ERR_INIT;
    int rc = digest_compare_run(&d, start, end, &why);
    s->v->rows += d.rows;
    s->v->pieces = d.pieces;
    if (rc == ERR_UNSUPPORTED) { /* A server is of an older version. */
        s->v->rows = s->v->read = 0;
        buf_clear(&s->differing);
        rc = compare_range(s, start, end, err);
    } else if (rc) {
        err_copy(err, &why);
    }
    return rc ? rc : settle_rows(s, &s->differing, err);
}

int quarry_replication_verify(struct quarry_replication *r,
                              struct quarry_replication_verify *v,
                              struct err *err)
{
    struct verification s = {.r = r, .v = v};
    int rc = quarry_table_describe(r->from, quarry_table_name(r->source),
                                   &s.info, err);
    v->rows = v->different = v->repaired = v->read = v->pieces = 0;
    if (rc == 0) {
        s.here.table = r->source;
        s.there.table = r->target;
        name_families(&s);
        rc = compare_tables(&s, err);
    }
    end_close(&s.here);
    end_close(&s.there);
    buf_close(&s.columns);
    buf_close(&s.differing);
    quarry_table_info_free(s.info);
    return rc;
}
