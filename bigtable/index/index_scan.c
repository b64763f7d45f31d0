/* Look-ups: the entries of a range give keys of rows, and each row is read on
 * condition that it has the values, so that what is returned has them (INV-1
 * of index.h: none is missing; there may be entries of rows that have not).
 *
 * A row may have several entries in a range while its values change, or after a
 * writer died: then what was returned is remembered.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/schema.h"

/* Rows that are read together: few at first, since many scans stop soon. */
#define BATCH_ROWS_FIRST ((size_t)16)
#define BATCH_ROWS_MAX   ((size_t)256)

struct index_scanner {
    struct quarry_scanner base;
    struct quarry_table *table; /* Borrowed. */
    struct index_set *set;      /* Reference. */
    const struct index_def *def;
    struct arena arena;            /* Of the options. */
    struct quarry_filter *matches; /* Owned: the condition, and the caller's. */
    bool twice; /* The caller's options are for a read of their own. */
    struct quarry_read_options options;
    uint64_t left;                  /* Rows to return; UINT64_MAX: all. */
    struct quarry_scanner *entries; /* Owned. */
    struct quarry_row *entry;       /* Owned: of a unique one, at once. */
    bool entries_end;
    bool remembers;
    struct hash_map returned; /* Keys of rows. */
    size_t batch_rows;
    struct slice keys[BATCH_ROWS_MAX];
    struct quarry_row *rows[BATCH_ROWS_MAX];
    struct arena batch; /* Of the keys. */
    size_t count;
    size_t next;
};

/* --- what is asked for --------------------------------------------------- */

static bool has_bounds(const struct quarry_index_query *q)
{
    return q->lower_kind != QUARRY_UNBOUNDED ||
           q->upper_kind != QUARRY_UNBOUNDED || q->prefix.len > 0;
}

static int find_index(struct index_scanner *s,
                      const struct quarry_index_query *q,
                      struct err *err)
{
    for (size_t i = 0; s->set && !q->index && i < s->set->count; i++) {
        const struct index_def *d = &s->set->defs[i];
        const struct index_column first = {q->column->family,
                                           q->column->qualifier};
        if (index_column_eq(&d->columns[0], &first) &&
            (!s->def || s->def->state != INDEX_READY))
            s->def = d;
    }
    if (q->index)
        s->def = index_set_find(s->set, q->index);
    if (!s->def && q->index)
        return schema_no_index(&(struct schema){.indexes = s->set}, q->index,
                               err);
    if (!s->def)
        return err_set(err, ERR_NOTFOUND, "no index of table %s is on %s:%.*s",
                       quarry_table_name(s->table), q->column->family,
                       SLICE_ARG(q->column->qualifier));
    if (s->def->state != INDEX_READY) {
        err_set(err, ERR_UNSUPPORTED, "index %s is being built", s->def->name);
        err_hint(err, "wait until `quarry index list` says ready; if nobody "
                      "builds it, create it again");
        return ERR_UNSUPPORTED;
    }
    if (q->equal_count + has_bounds(q) > s->def->column_count)
        return err_set(err, ERR_INVALID, "index %s has %zu column%s",
                       s->def->name, s->def->column_count,
                       s->def->column_count == 1 ? "" : "s");
    POST(s->def->state == INDEX_READY);
    POST(q->equal_count <= s->def->column_count);
    return 0;
}

/* The first key behind all that begin with @b; empty: none. */
static void make_successor(struct buf *b)
{
    while (b->len > 0 && (unsigned char)b->data[b->len - 1] == 255)
        b->len--;
    if (b->len > 0)
        b->data[b->len - 1]++;
}

static void put_bound(struct buf *out, struct slice value)
{
    index_key_put(out, (struct index_value){true, value});
}

/* Keys of the entries: [@start, @end). */
static void
range_of(const struct quarry_index_query *q, struct buf *start, struct buf *end)
{
    PRE(start->len == 0 && end->len == 0);
    for (size_t i = 0; i < q->equal_count; i++)
        put_bound(start, q->equal[i]);
    buf_append_slice(end, buf_slice(start));
    if (q->prefix.len) {
        index_key_put_prefix(start, q->prefix);
        index_key_put_prefix(end, q->prefix);
        make_successor(end);
        return;
    }
    if (q->lower_kind != QUARRY_UNBOUNDED)
        put_bound(start, q->lower);
    else if (q->upper_kind != QUARRY_UNBOUNDED)
        index_key_put_prefix(start, SLICE_EMPTY);
    if (q->lower_kind == QUARRY_OPEN)
        make_successor(start);
    if (q->upper_kind != QUARRY_UNBOUNDED)
        put_bound(end, q->upper);
    else if (q->lower_kind != QUARRY_UNBOUNDED)
        index_key_put_prefix(end, SLICE_EMPTY);
    if (q->upper_kind != QUARRY_OPEN)
        make_successor(end);
}

static struct quarry_filter *column_between(const struct index_column *c,
                                            const struct quarry_index_query *q)
{
    struct quarry_filter *parts[3];
    struct buf upto = BUF_INIT;
    PRE(q->equal_count < INDEX_COLUMNS_MAX);
    parts[0] = quarry_filter_column_range(
        c->family, QUARRY_CLOSED, c->qualifier, QUARRY_CLOSED, c->qualifier);
    parts[1] = quarry_filter_cells_per_column_limit(1);
    if (q->prefix.len) {
        buf_append_slice(&upto, q->prefix);
        make_successor(&upto);
        parts[2] = quarry_filter_value_range(
            QUARRY_CLOSED, q->prefix, upto.len ? QUARRY_OPEN : QUARRY_UNBOUNDED,
            buf_slice(&upto));
    } else {
        parts[2] = quarry_filter_value_range(q->lower_kind, q->lower,
                                             q->upper_kind, q->upper);
    }
    buf_close(&upto);
    return quarry_filter_chain(parts, 3);
}

static void make_condition(struct index_scanner *s,
                           const struct quarry_index_query *q,
                           const struct quarry_filter *user)
{
    struct index_expected *list = mem_zalloc(q->equal_count + 1, sizeof(*list));
    struct quarry_filter *f =
        user ? filter_ref(user) : quarry_filter_pass_all();
    PRE(s->def);
    PRE(!s->matches);
    if (has_bounds(q) || q->equal_count == 0) /* At least it is there. */
        f = quarry_filter_condition(
            column_between(&s->def->columns[q->equal_count], q), f, NULL);
    for (size_t i = 0; i < q->equal_count; i++)
        list[i] =
            (struct index_expected){.family = s->def->columns[i].family,
                                    .qualifier = s->def->columns[i].qualifier,
                                    .present = true,
                                    .value = q->equal[i]};
    s->matches = index_filter_if(list, q->equal_count, f);
    mem_free(list);
}

/* The caller's options are kept; those that would hide an indexed column from
 * the condition are applied by a second read. */
static int take_options(struct index_scanner *s,
                        const struct quarry_read_options *o,
                        struct err *err)
{
    const char **families;
    PRE(!s->options.filter);
    s->left = UINT64_MAX;
    if (!o)
        return 0;
    if (o->program)
        return err_set(err, ERR_UNSUPPORTED,
                       "a look-up by an index runs no program");
    if (o->reversed)
        return err_set(err, ERR_UNSUPPORTED,
                       "a look-up by an index gives rows in ascending order "
                       "alone");
    if (o->row_limit)
        s->left = o->row_limit;
    s->twice = o->family_count || o->column_regex || o->time_min_us ||
               o->time_max_us || o->keys_only;
    s->options = (struct quarry_read_options){.versions = o->versions,
                                              .time_min_us = o->time_min_us,
                                              .time_max_us = o->time_max_us,
                                              .keys_only = o->keys_only,
                                              .family_count = o->family_count};
    if (o->filter)
        s->options.filter = filter_ref(o->filter);
    if (o->column_regex)
        s->options.column_regex = arena_strdup(&s->arena, o->column_regex);
    families = arena_alloc(&s->arena, (o->family_count + 1) * sizeof(char *));
    for (size_t i = 0; i < o->family_count; i++)
        families[i] = arena_strdup(&s->arena, o->families[i]);
    s->options.families = families;
    return 0;
}

/* --- reading ------------------------------------------------------------- */

static bool is_returned(struct index_scanner *s, struct slice key)
{
    return s->remembers && hash_map_get(&s->returned, key);
}

static int
take_entry(struct index_scanner *s, const struct quarry_row *e, struct err *err)
{
    struct slice row;
    PRE(s->count <= s->batch_rows);
    PRE(s->batch_rows <= BATCH_ROWS_MAX);
    for (size_t i = 0; i < e->cell_count && s->count < s->batch_rows; i++) {
        char *copy;
        if (!index_place_row(s->def, e->key, e->cells[i].qualifier, &row))
            return err_set(err, ERR_CORRUPT,
                           "index %s has an entry without a row: rebuild it",
                           s->def->name);
        if (is_returned(s, row))
            continue;
        copy = arena_alloc(&s->batch, row.len);
        memcpy(copy, row.data, row.len);
        s->keys[s->count++] = slice_make(copy, row.len);
    }
    return 0;
}

static int read_keys(struct index_scanner *s, struct err *err)
{
    const struct quarry_row *e = NULL;
    int rc = 0;
    PRE(s->count == 0);
    if (s->entry)
        rc = take_entry(s, s->entry, err);
    s->entries_end |= s->entry != NULL || !s->entries;
    while (rc == 0 && !s->entries_end && s->count < s->batch_rows) {
        rc = quarry_scanner_next(s->entries, &e, err);
        if (rc == 0 && e)
            rc = take_entry(s, e, err);
        s->entries_end = rc == 0 && !e;
    }
    POST(s->count <= s->batch_rows);
    return rc;
}

/* Of the keys, leave those whose rows are there. */
static void keep_found(struct index_scanner *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!s->rows[i])
            continue;
        s->keys[kept] = s->keys[i];
        s->rows[kept++] = s->rows[i];
    }
    s->count = kept;
}

static void free_rows(struct index_scanner *s)
{
    PRE(s->next <= s->count);
    for (size_t i = s->next; i < s->count; i++)
        quarry_row_free(s->rows[i]);
    s->next = s->count = 0;
}

static int read_batch(struct index_scanner *s, struct err *err)
{
    struct quarry_read_options check = {.filter = s->matches,
                                        .versions = s->options.versions};
    int rc;
    PRE(s->next == s->count);
    PRE(s->batch_rows > 0);
    arena_reset(&s->batch);
    s->next = s->count = 0;
    rc = read_keys(s, err);
    if (rc || s->count == 0)
        return rc;
    s->batch_rows = MIN_OF(s->batch_rows * 4, BATCH_ROWS_MAX);
    rc = quarry_read_rows(s->table, s->keys, s->count, &check, s->rows, err);
    if (rc) {
        s->count = 0;
        return rc;
    }
    keep_found(s);
    if (!s->twice || s->count == 0)
        return 0;
    for (size_t i = 0; i < s->count; i++)
        quarry_row_free(s->rows[i]);
    rc = quarry_read_rows(s->table, s->keys, s->count, &s->options, s->rows,
                          err);
    if (rc)
        s->count = 0;
    else
        keep_found(s);
    return rc;
}

static int index_scanner_next(struct quarry_scanner *base,
                              const struct quarry_row **row,
                              struct err *err)
{
    struct index_scanner *s = CONTAINER_OF(base, struct index_scanner, base);
    int rc = 0;
    PRE(s->next <= s->count);
    PRE(s->def);
    *row = NULL;
    if (s->left == 0)
        return 0;
    while (rc == 0 && !*row) {
        if (s->next > 0) {
            quarry_row_free(s->rows[s->next - 1]);
            s->rows[s->next - 1] = NULL;
        }
        if (s->next == s->count) {
            s->next = s->count = 0;
            if (s->entries_end)
                return 0;
            rc = read_batch(s, err);
            continue;
        }
        *row = s->rows[s->next++];
        if (is_returned(s, (*row)->key)) /* Twice in one batch. */
            *row = NULL;
        else if (s->remembers)
            (void)hash_map_put(&s->returned, (*row)->key, NULL);
    }
    s->left -= rc == 0;
    return rc;
}

static void index_scanner_close(struct quarry_scanner *base)
{
    struct index_scanner *s = CONTAINER_OF(base, struct index_scanner, base);
    if (s->next > 0)
        s->next--; /* The row that was handed out. */
    free_rows(s);
    quarry_scanner_close(s->entries);
    quarry_row_free(s->entry);
    quarry_filter_free(s->matches);
    filter_unref((struct quarry_filter *)(uintptr_t)s->options.filter);
    index_set_unref(s->set);
    hash_map_close(&s->returned);
    arena_close(&s->arena);
    arena_close(&s->batch);
    mem_free(s);
}

static const struct target_ops index_scanner_ops = {
    .scanner_next = index_scanner_next,
    .scanner_close = index_scanner_close,
};

/* --- opening ------------------------------------------------------------- */

/* A unique entry has a row of its own: no scan is needed. */
static int open_entries(struct index_scanner *s,
                        const struct quarry_index_query *q,
                        struct err *err)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    struct quarry_range range;
    struct quarry_read_options read = {
        .ranges = &range, .range_count = 1, .versions = 1};
    struct quarry_table *entries;
    int rc = index_table(s->table->quarry, s->def, &entries, err);
    PRE(s->def);
    PRE(!s->entries && !s->entry);
    if (rc)
        return rc;
    range_of(q, &start, &end);
    range = (struct quarry_range){buf_slice(&start), buf_slice(&end)};
    /* Of one value there are few entries, mostly: their scan costs less than a
     * task that reads ahead of it. */
    read.read_ahead_off =
        s->left < UINT64_MAX || q->equal_count == s->def->column_count;
    if (s->def->unique && q->equal_count == s->def->column_count)
        rc = quarry_read_row(entries, range.start,
                             &(struct quarry_read_options){.versions = 1},
                             &s->entry, err);
    else if (range.end.len == 0 || slice_cmp(range.start, range.end) < 0)
        rc = quarry_scan(entries, &read, &s->entries, err);
    s->remembers = q->equal_count < s->def->column_count;
    buf_close(&start);
    buf_close(&end);
    return rc;
}

int quarry_index_scan(struct quarry_table *t,
                      const struct quarry_index_query *query,
                      const struct quarry_read_options *options,
                      struct quarry_scanner **out,
                      struct err *err)
{
    struct index_scanner *s = mem_zalloc(1, sizeof(*s));
    int rc;
    PRE(query->index || query->column);
    s->base.ops = &index_scanner_ops;
    s->table = t;
    s->batch_rows = BATCH_ROWS_FIRST;
    hash_map_init(&s->returned, HASH_KEYS_COPIED);
    arena_init(&s->arena);
    arena_init(&s->batch);
    *out = NULL;
    rc = t->ops->table_indexes(t, &s->set, err);
    if (rc == 0)
        rc = find_index(s, query, err);
    if (rc == 0)
        rc = take_options(s, options, err);
    if (rc == 0) {
        make_condition(s, query, s->twice ? NULL : s->options.filter);
        rc = open_entries(s, query, err);
    }
    if (rc)
        index_scanner_close(&s->base);
    else
        *out = &s->base;
    return rc;
}
