/* Rows by the batch. */
#include "tests/sim/tables_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"

#define TABLE   "bulk"
#define FAMILY  "f"
#define CALL_US (15 * SECOND_US)

enum {
    BATCH_MAX = 12,
    ROWS_MAX = 4000,
    VALUE_BYTES_MAX = 6000,
    KEY_BYTES = 16
};

enum fate {
    NOT_WRITTEN,
    IN_DOUBT,
    WRITTEN
};

struct tables_load {
    struct tables_cell *tables;
    uint8_t fate[ROWS_MAX];
    bool seen[ROWS_MAX];
    uint32_t next;
    uint64_t written;
};

/* --- rows ---------------------------------------------------------------- */

/* Spread over the table, so that each batch goes to several tablets. */
static void make_key(uint32_t row, char out[KEY_BYTES])
{
    snprintf(out, KEY_BYTES, "%02x%05u", row * 97 % 256, row % 100000);
}

static void make_value(uint32_t row, struct buf *out)
{
    uint64_t x = hash_mix(row);
    size_t len = 20 + x % VALUE_BYTES_MAX;
    buf_clear(out);
    for (size_t i = 0; i < len; i++) {
        if (i % 8 == 0)
            x = hash_mix(x);
        buf_append_byte(out, (uint8_t)(x >> (i % 8 * 8)));
    }
}

static void note(struct tables_load *l, uint32_t row, int code)
{
    if (code == 0)
        l->fate[row] = WRITTEN;
    else if (l->fate[row] == NOT_WRITTEN)
        l->fate[row] = IN_DOUBT;
    l->written += code == 0;
}

static void load_batch(struct tables_load *l,
                       struct storm_client *c,
                       struct quarry_table *t)
{
    struct quarry_mutation *m[BATCH_MAX];
    int codes[BATCH_MAX] = {0};
    uint32_t count = 1 + (uint32_t)rand_below(&c->rand, BATCH_MAX);
    uint32_t first = l->next;
    struct buf value = BUF_INIT;
    struct err err = ERR_INIT;
    int rc;
    count = MIN_OF(count, ROWS_MAX - first);
    for (uint32_t i = 0; i < count; i++) {
        char key[KEY_BYTES];
        make_key(first + i, key);
        make_value(first + i, &value);
        m[i] = quarry_mutation_new(slice_str(key));
        quarry_mutation_set(m[i], FAMILY, SLICE_LIT("q"), QUARRY_NOW,
                            buf_slice(&value));
        l->fate[first + i] = IN_DOUBT;
    }
    l->next += count;
    rc = quarry_apply_each(t, m, count, NULL, codes, &err);
    STORM_CHECK(rc != ERR_NOTFOUND && rc != ERR_INVALID, "load: %s", err.text);
    for (uint32_t i = 0; i < count; i++) {
        note(l, first + i, codes[i] ? codes[i] : 0);
        quarry_mutation_free(m[i]);
    }
    c->storm->call_count++;
    buf_close(&value);
}

void tables_load_work(struct storm_client *c)
{
    struct tables_load *l = c->ctx;
    struct quarry *q;
    struct quarry_table *t;
    if (tables_cell_open(l->tables, c->world, CALL_US, &q, NULL))
        return;
    if (quarry_table_open(q, TABLE, &t, NULL) == 0) {
        while (storm_goes_on(c) && l->next < ROWS_MAX) {
            load_batch(l, c, t);
            storm_sleep_us(rand_below(&c->rand, SECOND_US / 4));
        }
        quarry_table_close(t);
    }
    quarry_close(q);
}

/* --- before and after ---------------------------------------------------- */

struct tables_load *tables_load_new(struct tables_cell *t)
{
    struct tables_load *l = mem_zalloc(1, sizeof(*l));
    l->tables = t;
    return l;
}

void tables_load_prepare(struct tables_load *l, struct quarry *q)
{
    static const struct quarry_family_spec family = {FAMILY, "versions=1"};
    struct err err = ERR_INIT;
    int rc = quarry_table_create(q, TABLE, &family, 1, NULL, 0, &err);
    (void)l;
    STORM_CHECK(rc == 0, "%s", err.text);
}

static void take_row(struct tables_load *l, const struct quarry_row *row)
{
    struct slice digits = slice_sub(row->key, 2, row->key.len);
    struct buf value = BUF_INIT;
    char key[KEY_BYTES];
    uint32_t n = 0;
    for (size_t i = 0; i < digits.len; i++)
        n = n * 10 + (uint32_t)(digits.data[i] - '0');
    make_key(n, key);
    STORM_CHECK(slice_eq_str(row->key, key) && n < l->next && !l->seen[n],
                "load: %.*s was never written, or came twice",
                SLICE_ARG(row->key));
    make_value(n, &value);
    STORM_CHECK(row->cell_count == 1 &&
                    slice_eq(row->cells[0].value, buf_slice(&value)),
                "load: %s has another value than was written", key);
    l->seen[n] = true;
    buf_close(&value);
}

static int
scan_all(struct tables_load *l, struct quarry_table *t, struct err *err)
{
    const struct quarry_read_options o = {.versions = 1};
    struct quarry_scanner *s;
    const struct quarry_row *row;
    int rc = quarry_scan(t, &o, &s, err);
    while (rc == 0) {
        rc = quarry_scanner_next(s, &row, err);
        if (rc || !row)
            break;
        take_row(l, row);
    }
    quarry_scanner_close(s);
    return rc;
}

void tables_load_finish(struct tables_load *l, struct quarry *q)
{
    struct quarry_table *t;
    struct err err = ERR_INIT;
    int rc = quarry_table_open(q, TABLE, &t, &err);
    STORM_CHECK(rc == 0, "load: %s", err.text);
    memset(l->seen, 0, sizeof(l->seen));
    rc = scan_all(l, t, &err);
    STORM_CHECK(rc == 0, "load: %s", err.text);
    for (uint32_t i = 0; i < l->next; i++) {
        char key[KEY_BYTES];
        make_key(i, key);
        STORM_CHECK(l->seen[i] || l->fate[i] != WRITTEN,
                    "load: row %s was acknowledged and is lost", key);
    }
    quarry_table_close(t);
}

uint64_t tables_load_count(const struct tables_load *l)
{
    return l->written;
}

void tables_load_free(struct tables_load *l)
{
    mem_free(l);
}
