/* A row as an object: three numbers that hold its columns. */
#include "tests/lib/history_rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "tests/lib/name_list.h"

#define UNKNOWN UINT64_MAX /* When a call returned. */

struct rows_op {
    uint64_t client;
    uint64_t called;
    uint64_t returned;
    enum rows_kind kind;
    size_t row;
    struct rows_input input;
    uint64_t answer[3];
    bool failed;
};

struct history_rows {
    struct name_list rows;
    struct rows_op *ops;
    size_t count;
    size_t cap;
};

static const char *const kind_names[] = {

#define X(name, text) text,
    HISTORY_ROWS_KINDS(X)
#undef X
};

struct history_rows *history_rows_new(void)
{
    return mem_zalloc(1, sizeof(struct history_rows));
}

void history_rows_free(struct history_rows *h)
{
    name_list_close(&h->rows);
    mem_free(h->ops);
    mem_free(h);
}

size_t history_rows_count(const struct history_rows *h)
{
    return h->count;
}

uint64_t rows_fold(uint64_t log, uint64_t number)
{
    return (log + number + 1) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* --- recording ----------------------------------------------------------- */

size_t history_rows_call(struct history_rows *h,
                         uint64_t now,
                         uint64_t client,
                         enum rows_kind kind,
                         const char *row,
                         const struct rows_input *input)
{
    struct rows_op op = {.client = client,
                         .called = now,
                         .returned = UNKNOWN,
                         .kind = kind,
                         .row = name_list_find(&h->rows, row)};
    if (input)
        op.input = *input;
    if (h->count == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 256;
        h->ops = mem_realloc(h->ops, h->cap * sizeof(*h->ops));
    }
    h->ops[h->count] = op;
    return h->count++;
}

static void pack(const struct rows_state *r, uint64_t out[3])
{
    out[0] = r->values[0] | (uint64_t)r->values[1] << 32;
    out[1] = r->values[2] | (uint64_t)r->counter << 32;
    out[2] = r->log;
}

static struct rows_state unpack(const uint64_t in[3])
{
    struct rows_state r = {
        {(uint32_t)in[0], (uint32_t)(in[0] >> 32), (uint32_t)in[1]},
        (uint32_t)(in[1] >> 32),
        in[2]};
    return r;
}

void history_rows_return(struct history_rows *h,
                         size_t op,
                         uint64_t now,
                         int rc,
                         const struct rows_answer *answer)
{
    struct rows_op *o = &h->ops[op];
    PRE(o->returned == UNKNOWN && !o->failed);
    if (rc) {
        o->failed = o->kind == ROWS_READ;
        return;
    }
    o->returned = now;
    if (o->kind == ROWS_READ)
        pack(&answer->row, o->answer);
    else if (o->kind == ROWS_ADD)
        o->answer[0] = answer->row.counter;
    else if (o->kind == ROWS_APPEND)
        o->answer[0] = answer->row.log;
    else if (o->kind == ROWS_CHECK)
        o->answer[0] = answer->matched;
}

/* --- the model ----------------------------------------------------------- */

static void set_columns(struct rows_state *r, uint32_t columns, uint32_t value)
{
    for (size_t i = 0; i < ROWS_VALUES; i++)
        if (columns >> i & 1)
            r->values[i] = value;
    if (columns & ROWS_COUNTER)
        r->counter = value;
    if (columns & ROWS_LOG)
        r->log = value;
}

/* Returns whether it matched. */
static bool
check(struct rows_state *r, uint64_t column, uint64_t value, uint64_t then)
{
    uint32_t is = r->values[column % ROWS_VALUES];
    bool matched = value ? is == value : is != 0;
    r->values[(column + (matched ? 1 : 2)) % ROWS_VALUES] = (uint32_t)then;
    return matched;
}

/* Returns the answer of all but READ. */
static uint64_t execute(struct rows_state *r, const struct history_value *in)
{
    switch ((enum rows_kind)in->kind) {
    case ROWS_PUT: set_columns(r, (uint32_t)in->a, (uint32_t)in->b); break;
    case ROWS_DELETE: set_columns(r, (uint32_t)in->a, 0); break;
    case ROWS_DELETE_ROW: *r = (struct rows_state){.log = 0}; break;
    case ROWS_ADD: return r->counter += (uint32_t)in->b;
    case ROWS_APPEND: return r->log = rows_fold(r->log, in->b);
    case ROWS_CHECK: return check(r, in->a, in->b, in->c);
    case ROWS_READ:
    case ROWS_KIND_COUNT: break;
    }
    return 0;
}

static bool rows_step(struct history_state *s,
                      const struct history_value *input,
                      const struct history_value *output)
{
    struct rows_state r = unpack(s->v);
    uint64_t answer = execute(&r, input);
    pack(&r, s->v);
    if (!output)
        return true;
    if (input->kind == ROWS_READ)
        return output->a == s->v[0] && output->b == s->v[1] &&
               output->c == s->v[2];
    return output->a == answer;
}

static void print_row(const struct rows_state *r, struct buf *out)
{
    buf_printf(out, "%u %u %u counter %u log %04" PRIx64, r->values[0],
               r->values[1], r->values[2], r->counter, r->log & 0xffff);
}

static void rows_print(const struct history_value *input,
                       const struct history_value *output,
                       struct buf *out)
{
    buf_append_str(out, kind_names[input->kind]);
    if (input->kind == ROWS_PUT || input->kind == ROWS_DELETE)
        buf_printf(out, " columns %" PRIx64, input->a);
    else if (input->kind == ROWS_CHECK)
        buf_printf(out, " column %" PRIu64 " then %" PRIu64, input->a,
                   input->c);
    if (input->b)
        buf_printf(out, " %" PRIu64, input->b);
    if (!output)
        return;
    buf_append_str(out, " -> ");
    if (input->kind == ROWS_READ) {
        const uint64_t words[] = {output->a, output->b, output->c};
        struct rows_state r = unpack(words);
        print_row(&r, out);
    } else if (input->kind == ROWS_APPEND) {
        buf_printf(out, "%04" PRIx64, output->a & 0xffff);
    } else {
        buf_printf(out, "%" PRIu64, output->a);
    }
}

/* --- judging ------------------------------------------------------------- */

static const struct history_model rows_model = {.step = rows_step,
                                                .print = rows_print};

static void add_call(struct history *all, const struct rows_op *o)
{
    const struct history_value input = {(uint32_t)o->kind, o->input.columns,
                                        o->input.value, o->input.then};
    const struct history_value output = {0, o->answer[0], o->answer[1],
                                         o->answer[2]};
    size_t op = history_call(all, o->called, o->client, o->row, &input);
    if (o->returned != UNKNOWN)
        history_return(all, op, o->returned, &output);
}

enum history_verdict
history_rows_check(const struct history_rows *h, size_t budget, struct buf *why)
{
    struct history *all = history_new();
    enum history_verdict v;
    for (size_t i = 0; i < h->count; i++)
        if (!h->ops[i].failed)
            add_call(all, &h->ops[i]);
    v = history_check(all, &rows_model, budget, why);
    if (v == HISTORY_WRONG)
        for (size_t i = 0; i < h->rows.count; i++)
            buf_printf(why, "%skey %zu is %s", i ? ", " : "", i,
                       h->rows.names[i]);
    if (v == HISTORY_WRONG)
        buf_append_byte(why, '\n');
    history_free(all);
    return v;
}

/* --- as text ------------------------------------------------------------- */

void history_rows_print(const struct history_rows *h,
                        size_t op,
                        struct buf *out)
{
    const struct rows_op *o = &h->ops[op];
    if (o->failed)
        return;
    buf_printf(out, "rows\t%" PRIu64 "\t", o->called);
    if (o->returned == UNKNOWN)
        buf_append_byte(out, '?');
    else
        buf_printf(out, "%" PRIu64, o->returned);
    buf_printf(out, "\t%" PRIu64 "\t%s\t%s\t%u\t%u\t%u", o->client,
               kind_names[o->kind], h->rows.names[o->row], o->input.columns,
               o->input.value, o->input.then);
    for (size_t i = 0; i < ARRAY_LEN(o->answer); i++)
        buf_printf(out, "\t%" PRIu64, o->answer[i]);
    buf_append_byte(out, '\n');
}

enum {
    FIELDS = 12
};

static bool parse_kind(const char *s, enum rows_kind *out)
{
    for (size_t i = 0; i < ROWS_KIND_COUNT; i++)
        if (strcmp(s, kind_names[i]) == 0) {
            *out = (enum rows_kind)i;
            return true;
        }
    return false;
}

/* @field: the parts of a line, each a text of its own. */
static bool read_fields(struct history_rows *h, char *field[FIELDS])
{
    static const size_t numbers[] = {1, 3, 6, 7, 8, 9, 10, 11};
    uint64_t n[FIELDS] = {0};
    struct rows_input input;
    enum rows_kind kind;
    struct rows_op *o;
    size_t op;
    uint64_t returned = UNKNOWN;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (text_parse_u64(slice_str(field[numbers[i]]), &n[numbers[i]], NULL))
            return false;
    if (strcmp(field[0], "rows") != 0 || !parse_kind(field[4], &kind))
        return false;
    if (strcmp(field[2], "?") != 0 &&
        text_parse_u64(slice_str(field[2]), &returned, NULL))
        return false;
    input = (struct rows_input){(uint32_t)n[6], (uint32_t)n[7], (uint32_t)n[8]};
    op = history_rows_call(h, n[1], n[3], kind, field[5], &input);
    o = &h->ops[op];
    o->returned = returned;
    memcpy(o->answer, &n[9], sizeof(o->answer));
    return true;
}

int history_rows_read(struct history_rows *h,
                      struct slice line,
                      struct err *err)
{
    char *copy = mem_strndup(line.data, line.len);
    char *field[FIELDS] = {copy};
    size_t count = 1;
    bool good;
    for (char *p = copy; *p && count < FIELDS; p++)
        if (*p == '\t') {
            *p = '\0';
            field[count++] = p + 1;
        }
    good = count == FIELDS && read_fields(h, field);
    mem_free(copy);
    return good ? 0
                : err_set(err, ERR_INVALID, "\"%.*s\" is no call of a row",
                          SLICE_ARG(line));
}
