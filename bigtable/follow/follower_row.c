/* The system table, its rows and heartbeats as bytes, and the transactions that
 * change them.
 */
#include "bigtable/follow/follower_row.h"

#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_access.h"

/* --- names --------------------------------------------------------------- */

static bool is_follower_name(const char *name)
{
    size_t n = strlen(name);
    bool good = n > 0 && n <= FOLLOWER_NAME_BYTES_MAX;
    for (size_t i = 0; i < n && good; i++)
        good = (name[i] >= 'a' && name[i] <= 'z') ||
               (name[i] >= '0' && name[i] <= '9') || name[i] == '_' ||
               name[i] == '.' || name[i] == '-';
    return good;
}

int follower_key(const char *kind,
                 const char *name,
                 char key[FOLLOWER_KEY_BYTES],
                 struct err *err)
{
    const char *bad = !is_follower_name(kind)   ? kind
                      : !is_follower_name(name) ? name
                                                : NULL;
    if (bad) {
        err_set(err, ERR_INVALID, "\"%.80s\" is not allowed as a name", bad);
        err_hint(err, "1 to %d of a to z, digits, '_', '-' or '.'",
                 FOLLOWER_NAME_BYTES_MAX);
        return ERR_INVALID;
    }
    snprintf(key, FOLLOWER_KEY_BYTES, "%s/%s", kind, name);
    return 0;
}

/* --- heartbeats ---------------------------------------------------------- */

void follower_beat_put(struct buf *out, const struct follower_beat *b)
{
    buf_put_varint(out, b->count);
    buf_put_varint(out, b->released);
    buf_put_zigzag(out, b->now_us);
    buf_put_varint(out, b->lag_us);
    buf_put_zigzag(out, b->caught_us);
    buf_put_varint(out, b->changes);
    buf_put_varint(out, b->bytes);
    buf_put_varint(out, b->failures);
    buf_put_zigzag(out, b->error_us);
    buf_put_lslice(out, b->error);
}

bool follower_beat_get(struct slice from, struct follower_beat *b)
{
    struct cursor c = cursor_make(from);
    b->count = cursor_varint(&c);
    b->released = cursor_varint(&c) != 0;
    b->now_us = cursor_zigzag(&c);
    b->lag_us = cursor_varint(&c);
    b->caught_us = cursor_zigzag(&c);
    b->changes = cursor_varint(&c);
    b->bytes = cursor_varint(&c);
    b->failures = cursor_varint(&c);
    b->error_us = cursor_zigzag(&c);
    b->error = cursor_lslice(&c);
    return !c.bad;
}

/* A filter that leaves a cell if the row's epoch is @epoch. */
static struct quarry_filter *epoch_filter(uint64_t epoch)
{
    char bytes[8];
    struct quarry_filter *parts[4];
    put_be64(bytes, epoch);
    parts[0] = quarry_filter_family_regex(SLICE_LIT(FOLLOWER_RECORD));
    parts[1] = quarry_filter_qualifier_regex(SLICE_LIT("epoch"));
    parts[2] = quarry_filter_cells_per_column_limit(1);
    parts[3] = quarry_filter_value_range(QUARRY_CLOSED, slice_make(bytes, 8),
                                         QUARRY_CLOSED, slice_make(bytes, 8));
    return quarry_filter_chain(parts, ARRAY_LEN(parts));
}

int follower_beat_write(struct quarry_table *t,
                        const char *key,
                        uint64_t epoch,
                        const struct follower_beat *b,
                        struct err *err)
{
    const struct quarry_write_options logged = {.durability = QUARRY_LOGGED};
    struct quarry_filter *held = epoch_filter(epoch);
    struct quarry_mutation *m = quarry_mutation_new(slice_str(key));
    struct buf bytes = BUF_INIT;
    bool matched = false;
    int rc;
    follower_beat_put(&bytes, b);
    quarry_mutation_set(m, FOLLOWER_BEAT, SLICE_LIT("beat"), QUARRY_NOW,
                        buf_slice(&bytes));
    rc = quarry_check_and_mutate(t, slice_str(key), held, m, NULL, &logged,
                                 &matched, err);
    if (rc == 0 && !matched)
        rc = err_set(err, ERR_CLOSED, "%s: another host runs it", key);
    buf_close(&bytes);
    quarry_mutation_free(m);
    quarry_filter_free(held);
    return rc;
}

/* --- the table ----------------------------------------------------------- */

int follower_table_open(struct quarry *q,
                        struct quarry_table **out,
                        struct err *err)
{
    int rc = quarry_table_open(q, FOLLOWERS_TABLE, out, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    *out = NULL;
    return 0;
}

static int create_table(struct quarry *q, struct err *err)
{
    struct quarry_family_spec families[3 + QUARRY_TXN_FAMILIES] = {
        {FOLLOWER_RECORD, "versions=1"},
        {FOLLOWER_STATE, "versions=1,group=state"},
        {FOLLOWER_BEAT, "versions=1,group=beat"},
    };
    struct quarry_group_spec groups[] = {
        {"default", ""}, {"state", ""}, {"beat", ""}, {NULL, NULL}};
    quarry_txn_specs(&families[3], &groups[3]);
    return quarry_table_create(q, FOLLOWERS_TABLE, families,
                               ARRAY_LEN(families), groups, ARRAY_LEN(groups),
                               err);
}

/* A writer of the table decides on whose behalf hosts act. So where the cluster
 * has administrators, one of them makes it, and it is theirs. */
static int protect_table(struct quarry *q, bool *closed, struct err *err)
{
    const char *me = quarry_principal(q);
    struct buf list = BUF_INIT;
    bool any = false;
    bool is = false;
    int rc = quarry_acl_get(q, "", &list, &any, NULL);
    *closed = rc == 0 && any;
    buf_close(&list);
    if (!*closed) /* A directory, or a cluster that all may change. */
        return 0;
    rc = quarry_acl_is_administrator(q, slice_str(me), &is, err);
    if (rc || is)
        return rc;
    err_set(err, ERR_DENIED,
            "the first follower of a cluster with administrators is made by "
            "one of them, and %s is none",
            me);
    err_hint(err,
             "let an administrator make one, and then: quarry acl grant %s "
             "'*' write %s",
             FOLLOWERS_TABLE, me);
    return ERR_DENIED;
}

int follower_table_make(struct quarry *q,
                        struct quarry_table **out,
                        struct err *err)
{
    bool closed = false;
    int rc = follower_table_open(q, out, err);
    if (rc || *out)
        return rc;
    rc = protect_table(q, &closed, err);
    if (rc == 0) {
        rc = create_table(q, err);
        if (rc == ERR_EXISTS) /* Another was faster. */
            rc = 0;
        else if (rc == 0 && closed)
            rc = quarry_acl_grant(q, FOLLOWERS_TABLE, "*", "own",
                                  quarry_principal(q), err);
    }
    return rc ? rc : quarry_table_open(q, FOLLOWERS_TABLE, out, err);
}

/* --- rows ---------------------------------------------------------------- */

static void decode_record(struct arena *a,
                          const struct quarry_cell *c,
                          struct follower_row *r)
{
    struct follower_record *to = &r->info.record;
    const struct slice v = arena_dup(a, c->value);
    const char *text = arena_printf(a, "%.*s", SLICE_ARG(c->value));
    if (slice_eq_str(c->qualifier, "table"))
        to->table = text;
    else if (slice_eq_str(c->qualifier, "settings"))
        to->settings = v;
    else if (slice_eq_str(c->qualifier, "principal"))
        to->principal = text;
    else if (slice_eq_str(c->qualifier, "runner"))
        r->info.runner = text;
    else if (slice_eq_str(c->qualifier, "start"))
        r->start = v;
    else if (slice_eq_str(c->qualifier, "paused"))
        to->paused = slice_eq_str(v, "1");
    else if (slice_eq_str(c->qualifier, "epoch") && v.len == 8)
        to->epoch = get_be64(v.data);
}

static void decode_state(struct arena *a,
                         const struct quarry_cell *c,
                         struct follower_row *r)
{
    const struct slice own = SLICE_LIT(FOLLOWER_OWN_STATE);
    struct follower_state *s;
    struct slice q = c->qualifier;
    if (slice_eq_str(q, FOLLOWER_TOKEN))
        r->token = arena_dup(a, c->value);
    if (!slice_starts_with(q, own))
        return;
    s = (struct follower_state *)(uintptr_t)&r->info
            .states[r->info.state_count++];
    s->key = arena_dup(a, slice_sub(q, own.len, q.len));
    s->value = arena_dup(a, c->value);
}

static void
decode_beat(struct arena *a, struct slice bytes, struct follower_row *r)
{
    struct follower_info *i = &r->info;
    r->beat_bytes = arena_dup(a, bytes);
    if (!follower_beat_get(r->beat_bytes, &r->beat))
        return;
    i->beat_us = r->beat.now_us;
    i->lag_us = r->beat.lag_us;
    i->caught_us = r->beat.caught_us;
    i->changes = r->beat.changes;
    i->bytes = r->beat.bytes;
    i->failures = r->beat.failures;
    i->error_us = r->beat.error_us;
    i->error = arena_printf(a, "%.*s", SLICE_ARG(r->beat.error));
}

bool follower_row_decode(const struct quarry_row *row, struct follower_row *out)
{
    struct arena *a = mem_zalloc(1, sizeof(*a));
    size_t slash = slice_find_byte(row->key, '/');
    struct slice name = slice_sub(row->key, slash + 1, row->key.len);
    arena_init(a);
    *out = (struct follower_row){
        .info = {.owner = a, .runner = "", .error = "", .lag_us = UINT64_MAX},
        .beat_bytes = SLICE_EMPTY,
        .start = SLICE_EMPTY,
        .token = SLICE_EMPTY};
    out->info.record = (struct follower_record){
        .kind =
            arena_printf(a, "%.*s", SLICE_ARG(slice_sub(row->key, 0, slash))),
        .name = arena_printf(a, "%.*s", SLICE_ARG(name)),
        .table = "",
        .settings = SLICE_EMPTY,
        .principal = ""};
    out->beat.lag_us = UINT64_MAX;
    out->beat.error = SLICE_EMPTY;
    out->info.states =
        arena_zalloc(a, (row->cell_count + 1) * sizeof(struct follower_state));
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (slice_eq_str(c->family, FOLLOWER_RECORD))
            decode_record(a, c, out);
        else if (slice_eq_str(c->family, FOLLOWER_STATE))
            decode_state(a, c, out);
        else if (slice_eq_str(c->family, FOLLOWER_BEAT))
            decode_beat(a, c->value, out);
    }
    if (out->info.record.epoch)
        return true;
    follower_row_close(out);
    return false;
}

void follower_row_close(struct follower_row *r)
{
    if (r->info.owner) {
        arena_close(r->info.owner);
        mem_free(r->info.owner);
    }
    r->info.owner = NULL;
}

void follower_infos_free(struct follower_info *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arena_close(list[i].owner);
        mem_free(list[i].owner);
    }
    mem_free(list);
}

int follower_row_read(struct quarry_table *t,
                      const char *key,
                      struct follower_row *out,
                      struct err *err)
{
    const struct quarry_read_options newest = {.versions = 1};
    struct quarry_row *row = NULL;
    bool is;
    int rc = t ? quarry_read_row(t, slice_str(key), &newest, &row, err) : 0;
    if (rc)
        return rc;
    is = row && follower_row_decode(row, out);
    quarry_row_free(row);
    return is ? 0 : err_set(err, ERR_NOTFOUND, "there is no %s", key);
}

int follower_rows_read(struct quarry_table *t,
                       const char *prefix,
                       struct follower_row **out,
                       size_t *count,
                       struct err *err)
{
    static const char *const families[] = {FOLLOWER_RECORD, FOLLOWER_BEAT};
    const struct quarry_read_options o = {.versions = 1,
                                          .families = families,
                                          .family_count = ARRAY_LEN(families)};
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row;
    int rc = quarry_scan(t, &o, &rows, err);
    *out = NULL;
    *count = 0;
    while (rc == 0 && !(rc = quarry_scanner_next(rows, &row, err)) && row) {
        struct follower_row r;
        if (!slice_starts_with(row->key, slice_str(prefix)) ||
            slice_find_byte(row->key, '/') == row->key.len ||
            !follower_row_decode(row, &r))
            continue;
        *out = mem_realloc(*out, (*count + 1) * sizeof(**out));
        (*out)[(*count)++] = r;
    }
    if (rows)
        quarry_scanner_close(rows);
    for (size_t i = 0; rc && i < *count; i++)
        follower_row_close(&(*out)[i]);
    if (rc) {
        mem_free(*out);
        *out = NULL;
        *count = 0;
    }
    return rc;
}

/* --- epochs -------------------------------------------------------------- */

int follower_check_epoch(struct quarry_txn *txn,
                         struct quarry_table *t,
                         const char *key,
                         uint64_t epoch,
                         struct err *err)
{
    struct buf now = BUF_INIT;
    bool found = false;
    int rc = quarry_txn_get(txn, t, slice_str(key), FOLLOWER_RECORD,
                            SLICE_LIT("epoch"), &now, &found, err);
    if (rc == 0 && !(found && now.len == 8 && get_be64(now.data) == epoch))
        rc = err_set(err, ERR_CLOSED, "%s: %s", key,
                     found ? "another host runs it" : "it was dropped");
    buf_close(&now);
    return rc;
}

struct taking {
    struct quarry_table *table; /* Borrowed, as all. */
    const char *key;
    const char *runner;
    uint64_t epoch;
};

static int take_in_txn(struct quarry_txn *txn, void *ctx, struct err *err)
{
    const struct taking *k = ctx;
    const struct slice row = slice_str(k->key);
    char epoch[8];
    int rc = follower_check_epoch(txn, k->table, k->key, k->epoch, err);
    put_be64(epoch, k->epoch + 1);
    if (rc == 0)
        rc = quarry_txn_put(txn, k->table, row, FOLLOWER_RECORD,
                            SLICE_LIT("epoch"), slice_make(epoch, 8), err);
    if (rc == 0)
        rc = quarry_txn_put(txn, k->table, row, FOLLOWER_RECORD,
                            SLICE_LIT("runner"), slice_str(k->runner), err);
    return rc;
}

int follower_take(struct quarry *q,
                  struct quarry_table *t,
                  const char *key,
                  uint64_t epoch,
                  const char *runner,
                  uint64_t *taken,
                  struct err *err)
{
    struct taking k = {t, key, runner, epoch};
    *taken = epoch + 1;
    return quarry_txn_run(q, NULL, take_in_txn, &k, err);
}
