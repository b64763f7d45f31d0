/* Transactions on lists, and what they saw. */
#include "tests/clients/txns.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry_txn.h"
#include "tests/lib/append_history.h"

#define OPS_MAX      4
#define LIST_APPENDS 30 /* A list with about that many is left. */

static const char *const table_names[TXN_TABLES] = {"a", "b"};

int txn_tables_create(struct quarry *q, struct err *err)
{
    static const struct quarry_family_spec families[1] = {{"f", "versions=1"}};
    int rc = 0;
    for (size_t i = 0; i < TXN_TABLES && rc == 0; i++) {
        rc = quarry_table_create(q, table_names[i], families, 1, NULL, 0, err);
        if (rc == 0)
            rc = quarry_table_enable_transactions(q, table_names[i], err);
    }
    return rc;
}

int txn_client_open(struct txn_client *c, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < TXN_TABLES && rc == 0; i++)
        rc = quarry_table_open(c->quarry, table_names[i], &c->tables[i], err);
    return rc;
}

void txn_client_close(struct txn_client *c)
{
    for (size_t i = 0; i < TXN_TABLES; i++) {
        quarry_table_close(c->tables[i]);
        c->tables[i] = NULL;
    }
}

/* --- lists --------------------------------------------------------------- */

struct list {
    uint64_t key;
    bool read;
    struct buf text;
};

/* One of the transaction. */
struct step {
    struct txn_client *client;
    struct quarry_txn *txn;
    size_t record;
    struct list lists[OPS_MAX];
    size_t list_count;
};

static struct quarry_table *table_of(const struct step *s, uint64_t key)
{
    return s->client->tables[key % TXN_TABLES];
}

static struct slice row_of(uint64_t key, char text[32])
{
    snprintf(text, 32, "%02llx-%llu", (unsigned long long)(key * 37 % 256),
             (unsigned long long)key);
    return slice_str(text);
}

/* Lines of the log: a letter, the transaction, the list or the time, values. */
static void log_event(const struct txn_client *c,
                      char kind,
                      size_t txn,
                      uint64_t key,
                      const uint64_t *value)
{
    if (!c->log)
        return;
    fprintf(c->log, "%c%zu %llu", kind, txn, (unsigned long long)key);
    if (value)
        fprintf(c->log, " %llu", (unsigned long long)*value);
    fputc('\n', c->log);
    fflush(c->log);
}

static void log_read(const struct txn_client *c,
                     size_t txn,
                     uint64_t key,
                     const uint64_t *values,
                     size_t count)
{
    if (!c->log)
        return;
    fprintf(c->log, "R%zu %llu", txn, (unsigned long long)key);
    for (size_t i = 0; i < count; i++)
        fprintf(c->log, " %llu", (unsigned long long)values[i]);
    fputc('\n', c->log);
}

/* Note in the history what was read. */
static void note_read(struct step *s, const struct list *l)
{
    struct txn_client *c = s->client;
    /* A value has a digit and, but for the last, a blank. */
    uint64_t *values = mem_alloc((l->text.len / 2 + 1) * sizeof(*values));
    size_t count = 0;
    char *p = l->text.len ? l->text.data : NULL;
    while (p && *p) {
        char *end;
        values[count++] = strtoull(p, &end, 10);
        p = *end ? end + 1 : end;
    }
    c->lock(c->ctx);
    append_read(c->history, s->record, l->key, values, count);
    c->unlock(c->ctx);
    log_read(c, s->record, l->key, values, count);
    mem_free(values);
}

static int read_list(struct step *s, struct list *l, struct err *err)
{
    char row[32];
    bool found;
    int rc;
    if (l->read)
        return 0;
    rc = quarry_txn_get(s->txn, table_of(s, l->key), row_of(l->key, row), "f",
                        SLICE_LIT("l"), &l->text, &found, err);
    if (rc)
        return rc;
    (void)buf_cstr(&l->text);
    l->read = true;
    note_read(s, l);
    return 0;
}

static int append_to(struct step *s, struct list *l, struct err *err)
{
    struct txn_client *c = s->client;
    uint64_t value;
    char row[32];
    int rc = read_list(s, l, err);
    if (rc)
        return rc;
    c->lock(c->ctx);
    value = ++*c->appends * MAX_OF(c->value_step, 1) + c->value_first;
    append_write(c->history, s->record, l->key, value);
    c->unlock(c->ctx);
    log_event(c, 'W', s->record, l->key, &value);
    buf_printf(&l->text, "%s%llu", l->text.len ? " " : "",
               (unsigned long long)value);
    return quarry_txn_put(s->txn, table_of(s, l->key), row_of(l->key, row), "f",
                          SLICE_LIT("l"), buf_slice(&l->text), err);
}

static struct list *choose_list(struct step *s)
{
    struct txn_client *c = s->client;
    uint64_t age;
    uint64_t key;
    c->lock(c->ctx);
    age = c->fixed_lists ? 0 : *c->appends / (c->lists * LIST_APPENDS);
    c->unlock(c->ctx);
    key = age * c->lists + rand_below(c->rand, c->lists);
    for (size_t i = 0; i < s->list_count; i++)
        if (s->lists[i].key == key)
            return &s->lists[i];
    POST(s->list_count < OPS_MAX);
    s->lists[s->list_count] = (struct list){key, false, BUF_INIT};
    return &s->lists[s->list_count++];
}

static int run_step(struct step *s, struct err *err)
{
    uint64_t ops = 1 + rand_below(s->client->rand, OPS_MAX);
    int rc = 0;
    for (uint64_t i = 0; i < ops && rc == 0; i++) {
        struct list *l = choose_list(s);
        rc = rand_one_in(s->client->rand, 2) ? append_to(s, l, err)
                                             : read_list(s, l, err);
    }
    return rc ? rc : quarry_txn_commit(s->txn, NULL, err);
}

/* Begin, @run, note the end. */
static int in_transaction(struct txn_client *c,
                          struct step *s,
                          int (*run)(struct step *s, struct err *err),
                          struct err *err)
{
    const struct quarry_txn_options opts = {.serializable = c->serializable,
                                            .lease_us = c->lease_us,
                                            .timeout_us = c->timeout_us};
    enum append_outcome outcome = APPEND_ABORTED;
    int64_t at;
    int rc;
    c->lock(c->ctx);
    at = c->clock(c->ctx);
    s->record = append_begin(c->history, at);
    c->unlock(c->ctx);
    log_event(c, 'B', s->record, (uint64_t)at, NULL);
    rc = quarry_txn_begin(c->quarry, &opts, &s->txn, err);
    if (rc == 0)
        rc = run(s, err);
    if (rc == 0)
        outcome = APPEND_COMMITTED;
    else if (rc == ERR_UNKNOWN_OUTCOME || (c->dies && rc == ERR_UNAVAILABLE))
        outcome = APPEND_UNKNOWN;
    c->commits += rc == 0;
    c->conflicts += rc == ERR_CONFLICT;
    c->lock(c->ctx);
    at = c->clock(c->ctx);
    append_end(c->history, s->record, outcome, at);
    c->unlock(c->ctx);
    log_event(c, 'E', s->record, (uint64_t)at, &(uint64_t){outcome});
    quarry_txn_close(s->txn);
    for (size_t i = 0; i < s->list_count; i++)
        buf_close(&s->lists[i].text);
    return rc;
}

int txn_client_step(struct txn_client *c, struct err *err)
{
    struct step s = {.client = c};
    return in_transaction(c, &s, run_step, err);
}

static int read_first(struct step *s, struct err *err)
{
    int rc = read_list(s, &s->lists[0], err);
    return rc ? rc : quarry_txn_commit(s->txn, NULL, err);
}

int txn_client_read_all(struct txn_client *c, struct err *err)
{
    int rc = 0;
    PRE(c->fixed_lists);
    for (uint64_t key = 0; key < c->lists && rc == 0; key++) {
        struct step s = {.client = c, .list_count = 1};
        s.lists[0].key = key;
        rc = in_transaction(c, &s, read_first, err);
    }
    return rc;
}
