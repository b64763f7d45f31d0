/* Pieces of a table, handed to the threads of DuckDB one after the other, and
 * the loop that turns rows into batches.
 */
#include "bigtable/sql/sql_scan.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/sql_fill.h"
#include "bigtable/sql/sql_kept.h"
#include "bigtable/sql/sql_relation.h"
#include "bigtable/sql/sql_stores.h"

/* Pieces a thread, so that a large one at the end does not leave the others
 * without work. */
#define SQL_PIECES_PER_THREAD ((size_t)4)
#define SQL_THREADS_MAX       ((size_t)64)
/* Bytes of rows from which on a batch has enough of them: large rows must not
 * come two thousand at a time. */
#define SQL_BATCH_BYTES ((size_t)4 << 20)

/* A statement's scan of one relation. Not changed once it began but for `next`.
 */
struct sql_scan {
    const struct sql_relation *relation; /* Borrowed from the bind. */
    struct arena arena;
    const struct sql_column **columns; /* Of the result; NULL: none. */
    size_t column_count;
    struct quarry_read_options options;
    struct quarry_range *pieces;
    size_t piece_count;
    atomic_size_t next; /* The piece that no thread has taken. */
};

/* A thread's part of it. */
struct sql_scan_thread {
    struct sql_scan *scan; /* Borrowed. */
    struct quarry_scanner *scanner;
    const struct quarry_row *row; /* Of which cells are still to be put. */
    size_t cell_index;
    bool at_end;
    struct sql_output outputs[]; /* scan->column_count. */
};

void sql_scan_fail_text(const struct err *err,
                        struct arena *arena,
                        const char **out)
{
    *out = err->hint[0] ? arena_printf(arena, "%s (%s)", err->text, err->hint)
                        : arena_strdup(arena, err->text);
}

/* --- what is read -------------------------------------------------------- */

static void choose_columns(struct sql_scan *s, duckdb_init_info info)
{
    const struct sql_relation *r = s->relation;
    s->column_count = duckdb_init_get_column_count(info);
    s->columns =
        arena_zalloc(&s->arena, (s->column_count + 1) * sizeof(*s->columns));
    for (size_t i = 0; i < s->column_count; i++) {
        const idx_t at = duckdb_init_get_column_index(info, i);
        if (at < r->column_count) /* Else a row's number, which is not asked. */
            s->columns[i] = &r->columns[at];
    }
}

static bool reads_values(const struct sql_scan *s)
{
    for (size_t i = 0; i < s->column_count; i++)
        if (s->columns[i] && (s->columns[i]->source == SQL_FROM_FAMILY ||
                              s->columns[i]->source == SQL_FROM_COLUMN ||
                              s->columns[i]->source == SQL_FROM_CELL_VALUE))
            return true;
    return false;
}

static bool has_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* With missing := 'skip', only the families that are read. */
static void narrow_families(struct sql_scan *s)
{
    const struct sql_relation *r = s->relation;
    const char **names =
        arena_alloc(&s->arena, (s->column_count + 1) * sizeof(char *));
    size_t count = 0;
    for (size_t i = 0; i < s->column_count; i++) {
        const struct sql_column *c = s->columns[i];
        const char *name = c && c->family_index < r->family_count
                               ? r->families[c->family_index]
                               : NULL;
        if (name && !has_name(names, count, name) &&
            (r->options.family_count == 0 ||
             has_name(r->options.families, r->options.family_count, name)))
            names[count++] = name;
    }
    if (count == 0)
        return;
    s->options.families = names;
    s->options.family_count = count;
}

/* --- pieces -------------------------------------------------------------- */

static size_t thread_count(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : MIN_OF((size_t)n, SQL_THREADS_MAX);
}

static void one_piece(struct sql_scan *s)
{
    s->pieces = arena_alloc(&s->arena, sizeof(*s->pieces));
    s->pieces[0] = s->relation->range;
    s->piece_count = s->relation->nothing ? 0 : 1;
}

/* Cut the rows at those of the @count @points that lie within. */
static void
cut_pieces(struct sql_scan *s, const struct slice *points, size_t count)
{
    struct quarry_range *last;
    s->pieces = arena_alloc(&s->arena, (count + 1) * sizeof(*s->pieces));
    s->pieces[0] = s->relation->range;
    s->piece_count = 1;
    for (size_t i = 0; i < count; i++) {
        last = &s->pieces[s->piece_count - 1];
        if (slice_cmp(points[i], last->start) <= 0 ||
            (last->end.len && slice_cmp(points[i], last->end) >= 0))
            continue;
        s->pieces[s->piece_count++] = (struct quarry_range){
            .start = arena_dup(&s->arena, points[i]), .end = last->end};
        last->end = s->pieces[s->piece_count - 1].start;
    }
}

static int choose_pieces(struct sql_scan *s, struct err *err)
{
    const struct sql_relation *r = s->relation;
    struct slice *points;
    size_t count;
    int rc;
    if (r->nothing || r->has_keys || r->ordered) {
        one_piece(s);
        return 0;
    }
    rc = quarry_table_split_points(
        r->table, thread_count() * SQL_PIECES_PER_THREAD, &points, &count, err);
    if (rc)
        return rc;
    cut_pieces(s, points, count);
    mem_free(points);
    return 0;
}

/* --- begin --------------------------------------------------------------- */

static void free_scan(void *scan)
{
    struct sql_scan *s = scan;
    arena_close(&s->arena);
    mem_free(s);
}

void sql_scan_begin(duckdb_init_info info)
{
    const struct sql_relation *r = duckdb_init_get_bind_data(info);
    struct sql_scan *s;
    struct err err = ERR_INIT;
    if (r->kept) {
        sql_kept_begin(r->kept, info);
        return;
    }
    s = mem_zalloc(1, sizeof(*s));
    arena_init(&s->arena);
    s->relation = r;
    s->options = s->relation->options;
    choose_columns(s, info);
    s->options.keys_only = !s->options.program && !reads_values(s);
    if (s->relation->skip_missing)
        narrow_families(s);
    if (choose_pieces(s, &err)) {
        const char *text;
        sql_stores_note_failure(s->relation->stores, &err);
        sql_scan_fail_text(&err, &s->arena, &text);
        duckdb_init_set_error(info, text);
        free_scan(s);
        return;
    }
    duckdb_init_set_max_threads(
        info, MIN_OF(MAX_OF(s->piece_count, (size_t)1), thread_count()));
    duckdb_init_set_init_data(info, s, free_scan);
}

static void free_thread(void *thread)
{
    struct sql_scan_thread *t = thread;
    if (t->scanner)
        quarry_scanner_close(t->scanner);
    mem_free(t);
}

void sql_scan_begin_thread(duckdb_init_info info)
{
    /* The scan itself is given with each batch: here only its relation is. */
    struct sql_scan_thread *t =
        mem_zalloc(1, sizeof(*t) + duckdb_init_get_column_count(info) *
                                       sizeof(struct sql_output));
    duckdb_init_set_init_data(info, t, free_thread);
}

/* --- rows ---------------------------------------------------------------- */

static void join_scan(struct sql_scan_thread *t, struct sql_scan *s)
{
    if (t->scan)
        return;
    t->scan = s;
    for (size_t i = 0; i < s->column_count; i++)
        t->outputs[i].column = s->columns[i];
}

/* Open a scanner on the next piece, if there is one. */
static int next_piece(struct sql_scan_thread *t, struct err *err)
{
    struct sql_scan *s = t->scan;
    const struct sql_relation *r = s->relation;
    struct quarry_read_options options = s->options;
    const size_t at = atomic_fetch_add(&s->next, 1);
    t->at_end = at >= s->piece_count;
    if (t->at_end)
        return 0;
    if (r->has_keys) {
        options.keys = r->keys;
        options.key_count = r->key_count;
    } else {
        options.ranges = &s->pieces[at];
        options.range_count = 1;
    }
    return quarry_scan(r->table, &options, &t->scanner, err);
}

/* The next row of the piece at hand; at its end the scanner is closed. */
static int piece_row(struct sql_scan_thread *t, struct err *err)
{
    int rc = quarry_scanner_next(t->scanner, &t->row, err);
    if (rc == 0 && !t->row) {
        quarry_scanner_close(t->scanner);
        t->scanner = NULL;
    }
    return rc;
}

/* The next row of any piece; t->row is NULL at the end. */
static int next_row(struct sql_scan_thread *t, struct err *err)
{
    int rc = 0;
    t->cell_index = 0;
    t->row = NULL;
    while (rc == 0 && !t->row && !t->at_end)
        rc = t->scanner ? piece_row(t, err) : next_piece(t, err);
    return rc;
}

/* Cells of the row at hand, as many as there is room for. */
static int put_cells(struct sql_scan_thread *t,
                     uint64_t room,
                     uint64_t *length,
                     struct err *err)
{
    int rc = 0;
    while (rc == 0 && *length < room && t->cell_index < t->row->cell_count)
        rc = sql_fill_row(t->outputs, t->scan->column_count, t->row,
                          &t->row->cells[t->cell_index++], (*length)++, err);
    return rc;
}

static size_t row_bytes(const struct quarry_row *row)
{
    size_t bytes = row->key.len;
    for (size_t i = 0; i < row->cell_count; i++)
        bytes += row->cells[i].qualifier.len + row->cells[i].value.len;
    return bytes;
}

static int fill_batch(struct sql_scan_thread *t,
                      uint64_t room,
                      uint64_t *length,
                      struct err *err)
{
    const bool by_cells = t->scan->relation->by_cells;
    size_t bytes = 0;
    int rc = 0;
    while (rc == 0 && *length < room && bytes < SQL_BATCH_BYTES) {
        if (!by_cells || !t->row || t->cell_index == t->row->cell_count) {
            rc = next_row(t, err);
            bytes += rc == 0 && t->row ? row_bytes(t->row) : 0;
        }
        if (rc || !t->row)
            break;
        rc = by_cells ? put_cells(t, room, length, err)
                      : sql_fill_row(t->outputs, t->scan->column_count, t->row,
                                     NULL, (*length)++, err);
    }
    return rc;
}

void sql_scan_rows(duckdb_function_info info, duckdb_data_chunk out)
{
    const struct sql_relation *r = duckdb_function_get_bind_data(info);
    struct sql_scan_thread *t = duckdb_function_get_local_init_data(info);
    struct err err = ERR_INIT;
    uint64_t length = 0;
    if (r->kept) {
        sql_kept_rows(info, out);
        return;
    }
    join_scan(t, duckdb_function_get_init_data(info));
    sql_fill_begin(t->outputs, t->scan->column_count, out);
    if (fill_batch(t, duckdb_vector_size(), &length, &err)) {
        struct arena arena;
        const char *text;
        sql_stores_note_failure(t->scan->relation->stores, &err);
        arena_init(&arena);
        sql_scan_fail_text(&err, &arena, &text);
        duckdb_function_set_error(info, text);
        arena_close(&arena);
        return;
    }
    sql_fill_end(t->outputs, t->scan->column_count);
    duckdb_data_chunk_set_size(out, length);
}
