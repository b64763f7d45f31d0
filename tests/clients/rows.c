/* Calls on rows, and their answers. */
#include "tests/clients/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"

#define VALUES   "v"
#define NUMBERS  "c"
#define TIME_US  1000 /* Of all cells that are written: see history_rows.h. */
#define NAME_MAX 64

static const char *const columns[] = {"a", "b", "c", "n", "l"};

enum {
    COLUMN_COUNT = ROWS_VALUES + 2,
    ALL_VALUES = (1 << ROWS_VALUES) - 1
};

static const char *family_of(size_t column)
{
    return column < ROWS_VALUES ? VALUES : NUMBERS;
}

void row_key(uint32_t row, char out[ROW_KEY_BYTES])
{
    snprintf(out, ROW_KEY_BYTES, "%02x-%u", row * 37 % 256, row % 100000);
}

int row_table_create(struct quarry *q, const char *name, struct err *err)
{
    static const struct quarry_group_spec groups[] = {{"values", "block=4KiB"},
                                                      {"numbers", "memory=on"}};

    static const struct quarry_family_spec families[] = {
        {VALUES, "group=values,versions=1"},
        {NUMBERS, "group=numbers,versions=1"}};
    return quarry_table_create(q, name, families, ARRAY_LEN(families), groups,
                               ARRAY_LEN(groups), err);
}

int row_client_open(struct row_client *c, struct err *err)
{
    return quarry_table_open(c->quarry, c->table_name, &c->table, err);
}

void row_client_close(struct row_client *c)
{
    quarry_table_close(c->table);
    c->table = NULL;
}

/* --- calls --------------------------------------------------------------- */

/* One call under way. */
struct call {
    struct row_client *client;
    enum rows_kind kind;
    char key[ROW_KEY_BYTES];
    struct rows_input input;
    struct rows_answer answer;
    size_t op;
};

static void call_begin(struct call *c, uint32_t row)
{
    struct row_client *client = c->client;
    char name[NAME_MAX];
    row_key(row, c->key);
    snprintf(name, sizeof(name), "%s/%s", client->table_name, c->key);
    c->op = history_rows_call(client->history, client->clock(client->ctx),
                              client->number, c->kind, name, &c->input);
    if (client->note)
        client->note(client->ctx, c->op);
}

static int call_end(struct call *c, int rc)
{
    struct row_client *client = c->client;
    history_rows_return(client->history, c->op, client->clock(client->ctx), rc,
                        &c->answer);
    if (client->note)
        client->note(client->ctx, c->op);
    return rc;
}

static uint32_t new_value(struct row_client *c)
{
    return ++*c->last_value;
}

/* --- values -------------------------------------------------------------- */

/* The number, and letters behind it. */
static void put_value(struct row_client *c, uint32_t value, struct buf *out)
{
    uint64_t more = rand_below(c->rand, c->value_max + 1);
    if (rand_one_in(c->rand, 2))
        more /= 16;
    buf_printf(out, "%u:", value);
    for (uint64_t i = 0; i < more; i++)
        buf_append_byte(out, (uint8_t)('a' + (value + i * i) % 26));
}

static uint32_t parse_value(struct slice s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++)
        n = n * 10 + (uint32_t)(s.data[i] - '0');
    return n;
}

static uint64_t parse_log(struct slice s)
{
    uint64_t log = 0;
    uint64_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == ',') {
            log = rows_fold(log, n);
            n = 0;
        } else {
            n = n * 10 + (uint64_t)(s.data[i] - '0');
        }
    }
    return log;
}

static size_t column_of(const struct quarry_cell *cell)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (slice_eq_str(cell->qualifier, columns[i]) &&
            slice_eq_str(cell->family, family_of(i)))
            return i;
    return COLUMN_COUNT;
}

/* @row NULL: nothing is there. */
static struct rows_state parse_row(const struct quarry_row *row)
{
    struct rows_state s = {.log = 0};
    for (size_t i = 0; row && i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        size_t column = column_of(cell);
        if (column < ROWS_VALUES)
            s.values[column] = parse_value(cell->value);
        else if (column == ROWS_VALUES && cell->value.len == 8)
            s.counter = (uint32_t)get_be64(cell->value.data);
        else if (column == ROWS_VALUES + 1)
            s.log = parse_log(cell->value);
    }
    return s;
}

/* --- plain mutations ----------------------------------------------------- */

static int apply(struct call *c, uint32_t row, struct err *err)
{
    struct row_client *client = c->client;
    struct quarry_mutation *m;
    struct buf value = BUF_INIT;
    int rc;
    call_begin(c, row);
    m = quarry_mutation_new(slice_str(c->key));
    if (c->kind == ROWS_PUT)
        put_value(client, c->input.value, &value);
    if (c->kind == ROWS_DELETE_ROW)
        quarry_mutation_delete_row(m);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!(c->input.columns >> i & 1))
            continue;
        if (c->kind == ROWS_PUT)
            quarry_mutation_set(m, family_of(i), slice_str(columns[i]), TIME_US,
                                buf_slice(&value));
        else
            quarry_mutation_delete_cells(m, family_of(i), slice_str(columns[i]),
                                         0, 0);
    }
    rc = call_end(c, quarry_apply(client->table, m, NULL, err));
    quarry_mutation_free(m);
    buf_close(&value);
    return rc;
}

static int put(struct row_client *client, uint32_t row, struct err *err)
{
    bool one = rand_one_in(client->rand, 2);
    struct call c = {.client = client, .kind = ROWS_PUT};
    c.input.columns =
        one ? UINT32_C(1) << rand_below(client->rand, ROWS_VALUES) : ALL_VALUES;
    c.input.value = new_value(client);
    return apply(&c, row, err);
}

static int remove_some(struct row_client *client, uint32_t row, struct err *err)
{
    bool whole = rand_one_in(client->rand, 4);
    struct call c = {.client = client,
                     .kind = whole ? ROWS_DELETE_ROW : ROWS_DELETE};
    if (!whole)
        c.input.columns =
            1 + (uint32_t)rand_below(client->rand, (1 << COLUMN_COUNT) - 1);
    return apply(&c, row, err);
}

/* --- what must be done once ---------------------------------------------- */

static int modify(struct call *c,
                  uint32_t row,
                  const struct quarry_rmw_rule *rule,
                  struct err *err)
{
    struct quarry_row *out = NULL;
    int rc;
    call_begin(c, row);
    rc = quarry_read_modify_write(c->client->table, slice_str(c->key), rule, 1,
                                  NULL, &out, err);
    if (rc == 0)
        c->answer.row = parse_row(out);
    rc = call_end(c, rc);
    quarry_row_free(out);
    return rc;
}

static int add(struct row_client *client, uint32_t row, struct err *err)
{
    struct call c = {.client = client, .kind = ROWS_ADD};
    struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_INCREMENT,
                                   .family = NUMBERS,
                                   .qualifier = SLICE_LIT("n")};
    c.input.value = 1 + (uint32_t)rand_below(client->rand, 9);
    rule.increment = c.input.value;
    return modify(&c, row, &rule, err);
}

static int append(struct row_client *client, uint32_t row, struct err *err)
{
    struct call c = {.client = client, .kind = ROWS_APPEND};
    struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_APPEND,
                                   .family = NUMBERS,
                                   .qualifier = SLICE_LIT("l")};
    char text[24];
    c.input.value = new_value(client);
    snprintf(text, sizeof(text), "%u,", c.input.value);
    rule.append = slice_str(text);
    return modify(&c, row, &rule, err);
}

/* The newest cell of @column, if it begins with @value (0: any). */
static struct quarry_filter *predicate_of(size_t column, uint32_t value)
{
    char column_re[8];
    char value_re[24];
    struct quarry_filter *parts[3];
    snprintf(column_re, sizeof(column_re), "%s", columns[column]);
    snprintf(value_re, sizeof(value_re), "%u:.*", value);
    parts[0] = quarry_filter_qualifier_regex(slice_str(column_re));
    parts[1] = quarry_filter_cells_per_column_limit(1);
    parts[2] = quarry_filter_value_regex(slice_str(value_re));
    if (value == 0) {
        quarry_filter_free(parts[2]);
        return quarry_filter_chain(parts, 2);
    }
    return quarry_filter_chain(parts, 3);
}

static struct quarry_mutation *
set_of(struct call *c, size_t column, struct slice value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(c->key));
    quarry_mutation_set(m, VALUES, slice_str(columns[column % ROWS_VALUES]),
                        TIME_US, value);
    return m;
}

static int check(struct row_client *client, uint32_t row, struct err *err)
{
    struct call c = {.client = client, .kind = ROWS_CHECK};
    size_t column = rand_below(client->rand, ROWS_VALUES);
    struct quarry_filter *predicate;
    struct quarry_mutation *yes;
    struct quarry_mutation *no;
    struct buf value = BUF_INIT;
    int rc;
    c.input.columns = (uint32_t)column;
    /* A value that may be there: one of the last. */
    if (rand_one_in(client->rand, 3) && *client->last_value > 10)
        c.input.value =
            *client->last_value - (uint32_t)rand_below(client->rand, 10);
    c.input.then = new_value(client);
    call_begin(&c, row);
    put_value(client, c.input.then, &value);
    yes = set_of(&c, column + 1, buf_slice(&value));
    no = set_of(&c, column + 2, buf_slice(&value));
    predicate = predicate_of(column, c.input.value);
    rc = call_end(&c, quarry_check_and_mutate(client->table, slice_str(c.key),
                                              predicate, yes, no, NULL,
                                              &c.answer.matched, err));
    quarry_filter_free(predicate);
    quarry_mutation_free(yes);
    quarry_mutation_free(no);
    buf_close(&value);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

int row_client_read(struct row_client *client, uint32_t row, struct err *err)
{
    struct call c = {.client = client, .kind = ROWS_READ};
    struct quarry_read_options o = {.versions = 1};
    struct quarry_row *out = NULL;
    int rc;
    call_begin(&c, row);
    rc = quarry_read_row(client->table, slice_str(c.key), &o, &out, err);
    if (rc == 0)
        c.answer.row = parse_row(out);
    rc = call_end(&c, rc);
    quarry_row_free(out);
    return rc;
}

/* Reads of rows [begin, end), in the order of their keys. */
struct scan {
    struct call *calls; /* Owned. */
    uint32_t count;
    uint32_t passed; /* Calls that have returned. */
};

static int by_key(const void *a, const void *b)
{
    const struct call *x = a;
    const struct call *y = b;
    return strcmp(x->key, y->key);
}

static void scan_begin(struct scan *s,
                       struct row_client *client,
                       uint32_t begin,
                       uint32_t end)
{
    s->count = end - begin;
    s->calls = mem_zalloc(s->count + 1, sizeof(*s->calls));
    for (uint32_t i = 0; i < s->count; i++) {
        s->calls[i] = (struct call){.client = client, .kind = ROWS_READ};
        call_begin(&s->calls[i], begin + i);
    }
    qsort(s->calls, s->count, sizeof(*s->calls), by_key);
}

/* The scan is at @row (NULL: over): rows before it that did not come are
 * empty. */
static void scan_pass(struct scan *s, const struct quarry_row *row)
{
    for (; s->passed < s->count; s->passed++) {
        struct call *c = &s->calls[s->passed];
        int order = row ? slice_cmp(slice_str(c->key), row->key) : -1;
        if (order > 0)
            return;
        if (order == 0)
            c->answer.row = parse_row(row);
        (void)!call_end(c, 0);
        if (order == 0) {
            s->passed++;
            return;
        }
    }
}

int row_client_scan(struct row_client *client,
                    uint32_t begin,
                    uint32_t end,
                    struct err *err)
{
    struct scan s = {.passed = 0};
    struct quarry_range range;
    struct quarry_read_options o = {
        .versions = 1, .ranges = &range, .range_count = 1};
    struct quarry_scanner *scanner = NULL;
    const struct quarry_row *row = NULL;
    char last[ROW_KEY_BYTES + 1];
    int rc;
    scan_begin(&s, client, begin, end);
    snprintf(last, sizeof(last), "%s", s.calls[s.count - 1].key);
    range.start = slice_str(s.calls[0].key);
    range.end = slice_make(last, strlen(last) + 1); /* With its NUL. */
    rc = quarry_scan(client->table, &o, &scanner, err);
    while (rc == 0) {
        rc = quarry_scanner_next(scanner, &row, err);
        if (rc == 0)
            scan_pass(&s, row);
        if (!row)
            break;
    }
    for (; s.passed < s.count; s.passed++)
        (void)!call_end(&s.calls[s.passed], rc);
    quarry_scanner_close(scanner);
    mem_free(s.calls);
    return rc;
}

/* --- any of them --------------------------------------------------------- */

static int scan_some(struct row_client *c, struct err *err)
{
    uint32_t skip = (uint32_t)rand_below(c->rand, c->row_count);
    uint32_t most = c->row_count - skip;
    uint32_t begin = c->row_first + skip;
    return row_client_scan(
        c, begin, begin + 1 + (uint32_t)rand_below(c->rand, most), err);
}

int row_client_step(struct row_client *c, struct err *err)
{
    uint32_t row = c->row_first + (uint32_t)rand_below(c->rand, c->row_count);
    switch (rand_below(c->rand, 20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: return put(c, row, err);
    case 5: return remove_some(c, row, err);
    case 6:
    case 7:
    case 8: return add(c, row, err);
    case 9:
    case 10: return append(c, row, err);
    case 11:
    case 12: return check(c, row, err);
    case 13: return scan_some(c, err);
    default: return row_client_read(c, row, err);
    }
}
