/* Changing records until it is known whether the change was made. Pauses
 * between tries double, because METADATA may be away for as long as its own
 * tablets are being recovered. */
#include "bigtable/tablet_server/tablet_record_writer.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/wire/metadata.h"

/* Between tries: it doubles. */
#define PAUSE_MIN_US UINT64_C(10000)
#define PAUSE_MAX_US UINT64_C(1000000)

void record_place_init(struct record_place *p,
                       struct slice key,
                       const struct tablet_row *row)
{
    PRE(row->location.len > 0);
    *p = (struct record_place){.version = row->version};
    buf_append_slice(&p->key, key);
    buf_append_slice(&p->location, buf_slice(&row->location));
    buf_append_slice(&p->state, buf_slice(&row->state));
}

void record_place_close(struct record_place *p)
{
    buf_close(&p->key);
    buf_close(&p->location);
    buf_close(&p->state);
}

static void record_writer_set(struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_append_slice(b, s);
}

/* A fiber is cancelled when its server, or its simulated machine, ends. */
static bool is_over(const struct record_writer *w)
{
    return w->is_over(w->ctx) || fiber_check(NULL) == ERR_CANCELLED;
}

/* Update @p: @c was made, and the record has version @v. */
static void record_writer_follow(struct record_place *p,
                                 const struct tablet_row_change *c,
                                 uint64_t v)
{
    PRE(slice_eq(c->key, buf_slice(&p->key))); /* INV-1 */
    if (c->state.len)
        record_writer_set(&p->state, c->state);
    if (c->location.len)
        record_writer_set(&p->location, c->location);
    p->version = v;
}

static int record_writer_lost(struct err *err)
{
    return err_set(err, ERR_CANCELLED, "it is another server's now");
}

enum outcome {
    OUTCOME_MADE,
    OUTCOME_OPEN, /* Not made, and can be tried again. */
    OUTCOME_LOST,
};

/* Compare the row with a change whose answer is not known. */
static enum outcome record_writer_judge(struct record_place *p,
                                        const struct tablet_row_change *c,
                                        const struct tablet_row *row)
{
    PRE(c->key.len == 0 || slice_eq(c->key, buf_slice(&p->key))); /* INV-1 */
    struct slice location = buf_slice(&row->location);
    struct slice state = buf_slice(&row->state);
    bool moved = c->location.len > 0;
    bool has_location =
        slice_eq(location, moved ? c->location : buf_slice(&p->location));
    /* The new state may be like the old one, but it has a version. */
    bool has_state = c->state.len == 0 ||
                     (row->version != p->version && slice_eq(state, c->state));
    bool has_bounds =
        c->bounds.len == 0 || slice_eq(buf_slice(&row->bounds), c->bounds);
    bool has_split =
        c->drop_split
            ? row->split.len == 0
            : c->split.len == 0 || slice_eq(buf_slice(&row->split), c->split);
    if (has_location && has_state && has_bounds && has_split)
        return OUTCOME_MADE;
    if (slice_eq(location, buf_slice(&p->location)) &&
        slice_eq(state, buf_slice(&p->state)))
        return OUTCOME_OPEN;
    return OUTCOME_LOST;
}

/* One try. *@decided: the outcome is known. */
static int try_write(const struct record_writer *w,
                     struct record_place *p,
                     struct tablet_row_change *c,
                     bool *decided,
                     struct err *err)
{
    struct tablet_row row = {.version = 0};
    struct tablet_rows *rows;
    uint64_t version = 0;
    bool done = false;
    PRE(!*decided);
    int rc = w->rows(w->ctx, c->key, &rows, err);
    if (rc)
        return rc;
    rc = tablet_rows_change(rows, c, &done, &version, err);
    *decided = true;
    if (rc == 0 && done) {
        record_writer_follow(p, c, version);
        return 0;
    }
    rc = tablet_rows_read(rows, c->key, &row, err);
    if (rc == ERR_NOTFOUND) {
        rc = record_writer_lost(err);
    } else if (rc) {
        *decided = false;
    } else {
        switch (record_writer_judge(p, c, &row)) {
        case OUTCOME_MADE: record_writer_follow(p, c, row.version); break;
        case OUTCOME_LOST: rc = record_writer_lost(err); break;
        case OUTCOME_OPEN:
            *decided = false;
            p->version = row.version;
            break;
        }
    }
    tablet_row_close(&row);
    return rc;
}

int record_write(const struct record_writer *w,
                 struct record_place *p,
                 const struct tablet_row_change *change,
                 struct err *err)
{
    struct tablet_row_change c = *change;
    uint64_t pause_us = PAUSE_MIN_US;
    bool decided = false;
    int rc = 0;
    PRE(w->rows);
    PRE(w->is_over);
    PRE(!(c.drop_split && c.split.len));
    c.key = buf_slice(&p->key);
    for (;;) {
        if (is_over(w))
            return err_set(err, ERR_CLOSED, "the server is ending");
        c.if_location = buf_slice(&p->location);
        c.if_version = p->version;
        rc = try_write(w, p, &c, &decided, err);
        if (decided)
            return rc;
        world_sleep_us(w->world, pause_us);
        pause_us = MIN_OF(2 * pause_us, PAUSE_MAX_US);
    }
}

/* --- lower halves -------------------------------------------------------- */

/* One try to make the row of the lower half. *@decided as above. */
static int try_create(const struct record_writer *w,
                      const struct tablet_row_change *c,
                      struct record_place *lower,
                      bool *decided,
                      struct err *err)
{
    struct tablet_row row = {.version = 0};
    struct tablet_rows *rows;
    bool done;
    int rc = w->rows(w->ctx, c->key, &rows, err);

    PRE(c->key.len > 0);
    if (rc == 0)
        rc = tablet_rows_create(rows, c, &done, err);
    if (rc == 0)
        rc = tablet_rows_read(rows, c->key, &row, err);
    *decided = rc == 0;
    if (rc == 0) {
        lower->version = row.version;
        record_writer_set(&lower->location, buf_slice(&row.location));
        record_writer_set(&lower->state, buf_slice(&row.state));
    }
    tablet_row_close(&row);
    return rc;
}

static int record_writer_create(const struct record_writer *w,
                                const struct tablet_row_change *c,
                                struct record_place *lower,
                                struct err *err)
{
    uint64_t pause_us = PAUSE_MIN_US;
    bool decided = false;

    PRE(c->bounds.len);
    PRE(c->location.len);
    PRE(c->state.len);
    for (;;) {
        int rc;
        if (is_over(w))
            return err_set(err, ERR_CLOSED, "the server is ending");
        rc = try_create(w, c, lower, &decided, err);
        if (decided)
            return rc;
        world_sleep_us(w->world, pause_us);
        pause_us = MIN_OF(2 * pause_us, PAUSE_MAX_US);
    }
}

int record_put_half(const struct record_writer *w,
                    struct record_place *upper,
                    struct slice split,
                    struct record_place *lower,
                    struct err *err)
{
    const struct tablet_row_change drop = {.drop_split = true};
    struct tablet_record *r = mem_alloc(sizeof(*r));
    struct buf bounds = BUF_INIT;
    struct buf location = BUF_INIT;
    struct buf state = BUF_INIT;
    struct tablet_row_change c = {.key = buf_slice(&lower->key),
                                  .event = "split"};
    int rc = tablet_record_get(split, r, err);

    PRE(lower->key.len > 0);
    PRE(split.len > 0);
    if (rc == 0) {
        tablet_bounds_put(&r->bounds, &bounds);
        tablet_location_put(&r->location, &location);
        tablet_state_put(&r->state, &state);
        c.bounds = buf_slice(&bounds);
        c.location = buf_slice(&location);
        c.state = buf_slice(&state);
        rc = record_writer_create(w, &c, lower, err);
    }
    if (rc == 0)
        rc = record_write(w, upper, &drop, err);
    buf_close(&bounds);
    buf_close(&location);
    buf_close(&state);
    mem_free(r);
    return rc;
}
