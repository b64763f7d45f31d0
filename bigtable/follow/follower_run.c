/* Runs of followers: the task that does the work, the token up to which it
 * has been done, the state that goes with the token, and the reports of both.
 * Token and state are saved in one transaction: a run that begins again
 * continues where the last save was. */
#include "bigtable/follow/follower_run.h"

#include <stdio.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_access.h"

/* Of a call for changes: a run that shall stop looks at it in between. */
#define WAIT_US ((uint64_t)200000)
/* A token that has not moved is saved as often, so that it does not age. */
#define IDLE_SAVE_NS ((uint64_t)60 * 1000000000)

#define BACK_OFF_NS     ((uint64_t)1000000000)
#define BACK_OFF_NS_MAX ((uint64_t)60 * 1000000000)
/* A run that lasted as long begins with short delays again. */
#define LASTED_NS ((uint64_t)120 * 1000000000)

#define ERROR_BYTES_MAX ((size_t)1000)

/* --- the task ------------------------------------------------------------ */

/* On whose behalf? Of a directory, and of a cluster where nobody proves who he
 * is, all are one. */
static int open_view(struct follower_run *r, struct err *err)
{
    const char *who = r->row.info.record.principal;
    if (r->quarry)
        return 0;
    if (!*who || strcmp(who, quarry_principal(r->store)) == 0) {
        r->quarry = r->store;
        return 0;
    }
    return quarry_as(r->store, who, &r->quarry, err);
}

static void note_end(struct follower_run *r, int rc, const struct err *err)
{
    bool early = rc || !r->stop;
    const char *why = rc ? err->text : "it ended by itself";
    mutex_lock(&r->mutex);
    if (!early || r->lost || rc == ERR_CLOSED) {
        r->failed = 0;
        r->retry_ns = 0;
    } else {
        uint64_t back_off = BACK_OFF_NS << MIN_OF(r->failed, 6U);
        r->retry_ns =
            world_mono_ns(r->world) + MIN_OF(back_off, BACK_OFF_NS_MAX);
        r->failed++;
        r->beat.failures++;
        r->beat.error_us = (int64_t)world_now_us(r->world);
        buf_clear(&r->error);
        buf_append(&r->error, why, MIN_OF(strlen(why), ERROR_BYTES_MAX));
        log_warn(r->world, "follow", "run failed follower=%s why=\"%s\"",
                 r->key, why);
    }
    mutex_unlock(&r->mutex);
}

static void run_task(void *arg)
{
    struct follower_run *r = arg;
    struct err err = ERR_INIT;
    uint64_t begun = world_mono_ns(r->world);
    int rc = open_view(r, &err);
    if (rc == 0)
        rc = r->kind->run(r, &err);
    if (rc == ERR_CLOSED)
        r->lost = true;
    mutex_lock(&r->mutex);
    if (world_mono_ns(r->world) - begun > LASTED_NS)
        r->failed = 0;
    mutex_unlock(&r->mutex);
    note_end(r, rc, &err);
    r->ended = true;
}

struct follower_run *follower_run_new(struct quarry *q,
                                      const struct follower_kind *kind,
                                      const struct follower_row *row,
                                      uint64_t epoch)
{
    struct follower_run *r = mem_zalloc(1, sizeof(*r));
    const struct follower_record *record = &row->info.record;
    r->world = quarry_world(q);
    r->store = q;
    r->kind = kind;
    r->row = *row;
    r->row.info.record.epoch = epoch;
    r->epoch = epoch;
    r->beat = row->beat;
    snprintf(r->key, sizeof(r->key), "%s/%s", record->kind, record->name);
    mutex_init(&r->mutex);
    buf_append_slice(&r->error, row->beat.error);
    r->beat.error = SLICE_EMPTY;
    return r;
}

void follower_run_start(struct follower_run *r)
{
    PRE(!r->task);
    r->ended = false;
    r->task = task_start(r->world, "follower", run_task, r);
}

bool follower_run_reap(struct follower_run *r)
{
    if (!r->task || !r->ended)
        return !r->task;
    task_join(r->task);
    r->task = NULL;
    return true;
}

void follower_run_beat(struct follower_run *r, bool released)
{
    struct follower_beat b;
    struct buf error = BUF_INIT;
    struct err err = ERR_INIT;
    int rc;
    mutex_lock(&r->mutex);
    r->beat.count++;
    r->beat.now_us = (int64_t)world_now_us(r->world);
    r->beat.released = released;
    b = r->beat;
    buf_append_slice(&error, buf_slice(&r->error));
    mutex_unlock(&r->mutex);
    b.error = buf_slice(&error);
    rc = follower_beat_write(r->table, r->key, r->epoch, &b, &err);
    if (rc == ERR_CLOSED) {
        r->lost = true;
        r->stop = true;
    }
    buf_close(&error);
}

void follower_run_free(struct follower_run *r)
{
    PRE(!r->task);
    if (r->quarry != r->store)
        quarry_close(r->quarry);
    quarry_table_close(r->table);
    follower_row_close(&r->row);
    buf_close(&r->token);
    buf_close(&r->pending);
    buf_close(&r->error);
    mutex_close(&r->mutex);
    mem_free(r);
}

/* --- what it is given ---------------------------------------------------- */

struct quarry *follower_quarry(struct follower_run *r)
{
    return r->quarry;
}

const struct follower_record *follower_record(const struct follower_run *r)
{
    return &r->row.info.record;
}

const struct follower_kind *follower_kind_of(const struct follower_run *r)
{
    return r->kind;
}

bool follower_stopped(const struct follower_run *r)
{
    return r->stop || r->lost;
}

const quarry_flag *follower_stop_flag(const struct follower_run *r)
{
    return &r->stop;
}

static int check_held(const struct follower_run *r, struct err *err)
{
    return r->lost
               ? err_set(err, ERR_CLOSED, "%s: another host runs it", r->key)
               : 0;
}

void follower_report(struct follower_run *r,
                     uint64_t lag_us,
                     uint64_t changes,
                     uint64_t bytes)
{
    int64_t now = (int64_t)world_now_us(r->world);
    mutex_lock(&r->mutex);
    r->beat.lag_us = lag_us;
    if (lag_us != UINT64_MAX)
        r->beat.caught_us = now - (int64_t)lag_us;
    r->beat.changes += changes;
    r->beat.bytes += bytes;
    mutex_unlock(&r->mutex);
}

/* --- the token ----------------------------------------------------------- */

static int read_cell(struct follower_run *r,
                     const char *family,
                     const char *name,
                     struct buf *value,
                     bool *found,
                     struct err *err)
{
    return quarry_get(r->table, slice_str(r->key), family, slice_str(name),
                      value, found, err);
}

int follower_changes_open(struct follower_run *r,
                          struct quarry_table *table,
                          const struct quarry_changes_options *options,
                          struct quarry_changes **out,
                          struct err *err)
{
    struct quarry_changes_options o = {.since_us = 0};
    struct buf start = BUF_INIT;
    bool found = false;
    int rc = check_held(r, err);
    *out = NULL;
    if (options)
        o = *options;
    buf_clear(&r->pending);
    if (rc == 0)
        rc = read_cell(r, FOLLOWER_STATE, FOLLOWER_TOKEN, &r->token, &found,
                       err);
    if (rc == 0 && !found && !o.token.len && !o.since_us) {
        rc = read_cell(r, FOLLOWER_RECORD, "start", &start, &found, err);
        o.token = buf_slice(&start);
    } else if (found) {
        o.token = buf_slice(&r->token);
    }
    if (rc == 0)
        rc = quarry_changes_open(table, &o, out, err);
    r->saved_ns = world_mono_ns(r->world);
    buf_close(&start);
    return rc;
}

/* The store's clock may be ahead of this one's. */
static void report_watermark(struct follower_run *r,
                             const struct quarry_changes *c)
{
    int64_t mark = quarry_changes_watermark(c);
    int64_t now = (int64_t)world_now_us(r->world);
    if (!mark)
        return;
    mutex_lock(&r->mutex);
    r->beat.caught_us = mark;
    r->beat.lag_us = mark < now ? (uint64_t)(now - mark) : 0;
    mutex_unlock(&r->mutex);
}

static void report_changes(struct follower_run *r,
                           const struct quarry_change *list,
                           size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < list[i].entry_count; k++) {
            const struct quarry_change_entry *e = &list[i].entries[k];
            bytes += e->qualifier.len + e->value.len;
        }
    mutex_lock(&r->mutex);
    r->beat.changes += count;
    r->beat.bytes += bytes;
    mutex_unlock(&r->mutex);
}

static int
save_idle(struct follower_run *r, struct quarry_changes *c, struct err *err)
{
    struct buf token = BUF_INIT;
    int rc = 0;
    quarry_changes_token(c, &token);
    if (slice_cmp(buf_slice(&token), buf_slice(&r->token)) != 0)
        rc = follower_save(r, c, err);
    r->saved_ns = world_mono_ns(r->world);
    buf_close(&token);
    return rc;
}

int follower_next(struct follower_run *r,
                  struct quarry_changes *c,
                  const struct quarry_change **list,
                  size_t *count,
                  struct err *err)
{
    int rc = check_held(r, err);
    *count = 0;
    if (rc == 0)
        rc = quarry_changes_next(c, WAIT_US, list, count, err);
    if (rc)
        return rc;
    report_changes(r, *list, *count);
    if (*count)
        return 0;
    report_watermark(r, c);
    return world_mono_ns(r->world) - r->saved_ns > IDLE_SAVE_NS
               ? save_idle(r, c, err)
               : 0;
}

static int
check_token(struct follower_run *r, struct quarry_txn *txn, struct err *err)
{
    struct buf now = BUF_INIT;
    bool found = false;
    int rc = quarry_txn_get(txn, r->table, slice_str(r->key), FOLLOWER_STATE,
                            SLICE_LIT(FOLLOWER_TOKEN), &now, &found, err);
    struct slice is = buf_slice(&now);
    if (rc == 0 && slice_cmp(is, buf_slice(&r->token)) != 0 &&
        !(r->pending.len && slice_cmp(is, buf_slice(&r->pending)) == 0))
        rc = err_set(err, ERR_CLOSED, "%s: another host has saved since",
                     r->key);
    if (rc == 0) {
        buf_clear(&r->token);
        buf_append_slice(&r->token, is);
    }
    buf_close(&now);
    return rc;
}

static int put_token_in_txn(struct follower_run *r,
                            struct quarry_txn *txn,
                            struct slice token,
                            struct err *err)
{
    int rc = check_held(r, err);
    if (rc == 0)
        rc = follower_check_epoch(txn, r->table, r->key, r->epoch, err);
    if (rc == 0)
        rc = check_token(r, txn, err);
    buf_clear(&r->pending);
    buf_append_slice(&r->pending, token);
    if (rc == 0)
        rc = quarry_txn_put(txn, r->table, slice_str(r->key), FOLLOWER_STATE,
                            SLICE_LIT(FOLLOWER_TOKEN), buf_slice(&r->pending),
                            err);
    if (rc == 0)
        r->saved_ns = world_mono_ns(r->world);
    return rc;
}

int follower_save_in_txn(struct follower_run *r,
                         struct quarry_txn *txn,
                         struct quarry_changes *c,
                         struct err *err)
{
    struct buf token = BUF_INIT;
    int rc;
    quarry_changes_token(c, &token);
    rc = put_token_in_txn(r, txn, buf_slice(&token), err);
    buf_close(&token);
    return rc;
}

struct saving {
    struct follower_run *run; /* Borrowed, as all. */
    const char *key;
    struct slice value; /* Of the state, or the token. */
};

static int save_alone(struct quarry_txn *txn, void *ctx, struct err *err)
{
    const struct saving *s = ctx;
    return put_token_in_txn(s->run, txn, s->value, err);
}

int follower_save_token(struct follower_run *r,
                        struct slice token,
                        struct err *err)
{
    struct saving s = {.run = r, .value = token};
    if (fault_hit("follow.save"))
        return err_set(err, ERR_IO, "%s: injected before it was saved", r->key);
    return quarry_txn_run(r->store, NULL, save_alone, &s, err);
}

int follower_save(struct follower_run *r,
                  struct quarry_changes *c,
                  struct err *err)
{
    struct buf token = BUF_INIT;
    int rc;
    quarry_changes_token(c, &token);
    rc = follower_save_token(r, buf_slice(&token), err);
    if (rc == 0)
        report_watermark(r, c);
    buf_close(&token);
    return rc;
}

/* --- its other state ----------------------------------------------------- */

static void put_state_name(struct buf *name, const char *key)
{
    buf_append_str(name, FOLLOWER_OWN_STATE);
    buf_append_str(name, key);
}

int follower_state_get(struct follower_run *r,
                       const char *key,
                       struct buf *value,
                       bool *found,
                       struct err *err)
{
    struct buf name = BUF_INIT;
    int rc = check_held(r, err);
    put_state_name(&name, key);
    if (rc == 0)
        rc = read_cell(r, FOLLOWER_STATE, buf_cstr(&name), value, found, err);
    buf_close(&name);
    return rc;
}

int follower_state_put_in_txn(struct follower_run *r,
                              struct quarry_txn *txn,
                              const char *key,
                              struct slice value,
                              struct err *err)
{
    struct buf name = BUF_INIT;
    struct slice row = slice_str(r->key);
    int rc = check_held(r, err);
    put_state_name(&name, key);
    if (rc == 0)
        rc = follower_check_epoch(txn, r->table, r->key, r->epoch, err);
    if (rc == 0 && value.len)
        rc = quarry_txn_put(txn, r->table, row, FOLLOWER_STATE,
                            buf_slice(&name), value, err);
    else if (rc == 0)
        rc = quarry_txn_delete(txn, r->table, row, FOLLOWER_STATE,
                               buf_slice(&name), err);
    buf_close(&name);
    return rc;
}

static int put_state_alone(struct quarry_txn *txn, void *ctx, struct err *err)
{
    const struct saving *s = ctx;
    return follower_state_put_in_txn(s->run, txn, s->key, s->value, err);
}

int follower_state_put(struct follower_run *r,
                       const char *key,
                       struct slice value,
                       struct err *err)
{
    struct saving s = {.run = r, .key = key, .value = value};
    return quarry_txn_run(r->store, NULL, put_state_alone, &s, err);
}
