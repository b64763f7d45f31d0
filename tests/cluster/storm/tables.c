/* Clients of tables: users of rows that all processes share.
 *
 * Every so often they continue with other rows, so that the history of each is
 * short enough to be judged; all are read at the end.
 */
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "tests/clients/rows.h"
#include "tests/cluster/storm/storm.h"

#define TABLE "rows"
/* A call takes at most so long, or is given up. */
#define CALL_US      (20 * SECOND_US)
#define PAUSE_US_MAX (SECOND_US / 20)

enum {
    ROWS = 16,       /* That are used at a time, */
    ERA_SECONDS = 15 /* for this time. */
};

static uint32_t first_row(const struct storm *s)
{
    uint64_t age = storm_now_us(s) - s->origin_us;
    return (uint32_t)(age / (ERA_SECONDS * SECOND_US)) * ROWS;
}

static uint64_t clock_of(void *ctx)
{
    return storm_now_us(ctx);
}

static void note(void *ctx, size_t op)
{
    storm_note_rows(ctx, op);
}

static struct row_client
client_of(struct storm *s, struct quarry *q, struct rand_gen *rand)
{
    return (struct row_client){.quarry = q,
                               .table_name = TABLE,
                               .history = s->rows,
                               .rand = rand,
                               .row_count = ROWS,
                               .value_max = 4000,
                               .last_value = &s->last_value,
                               .clock = clock_of,
                               .note = note,
                               .ctx = s};
}

static struct quarry *open_tables(struct storm *s, struct err *err)
{
    const struct quarry_options o = {
        .world = s->world, .security = s->security, .timeout_us = CALL_US};
    struct quarry *q;
    return quarry_open(s->all_servers, &o, &q, err) ? NULL : q;
}

static void use_table(struct storm_client *c, struct quarry *q)
{
    struct storm *s = c->storm;
    struct row_client r = client_of(s, q, &c->rand);
    struct err err = ERR_INIT;
    r.number = c->number;
    if (row_client_open(&r, &err))
        return;
    for (uint64_t left = 200; left && storm_goes_on(); left--) {
        int rc;
        r.row_first = first_row(s);
        rc = row_client_step(&r, &err);
        s->call_count += rc == 0;
        storm_sleep_us(s, rand_below(&c->rand, PAUSE_US_MAX));
    }
    row_client_close(&r);
}

void storm_work_tables(struct storm_client *c)
{
    struct storm *s = c->storm;
    while (storm_goes_on()) {
        struct quarry *q = open_tables(s, NULL);
        int rc = q ? row_table_create(q, TABLE, NULL) : ERR_UNAVAILABLE;
        if (rc == 0 || rc == ERR_EXISTS)
            use_table(c, q);
        quarry_close(q);
        storm_sleep_us(s, rand_below(&c->rand, SECOND_US / 2));
    }
}

/* --- afterwards ---------------------------------------------------------- */

/* Every row that may have been used; a call that fails is made again. */
static int read_all(struct storm *s, struct quarry *q, struct err *err)
{
    struct rand_gen rand;
    struct row_client r;
    uint32_t end = first_row(s) + ROWS;
    int rc;
    rand_init(&rand, 1);
    r = client_of(s, q, &rand);
    r.number = storm_number(s);
    rc = row_client_open(&r, err);
    if (rc)
        return rc;
    for (uint32_t row = 0; row < end && rc == 0; row += ROWS)
        rc = row_client_scan(&r, row, row + ROWS, err);
    for (uint32_t row = 0; row < end && rc == 0; row++)
        rc = row_client_read(&r, row, err);
    row_client_close(&r);
    return rc;
}

void storm_finish_tables(struct storm *s, uint64_t until_us)
{
    for (;;) {
        struct err err = ERR_INIT;
        struct quarry *q = open_tables(s, &err);
        int rc = q ? read_all(s, q, &err) : ERR_UNAVAILABLE;
        quarry_close(q);
        if (rc == 0)
            return;
        STORM_CHECK(storm_now_us(s) < until_us, "tables: %s", err.text);
        storm_sleep_us(s, SECOND_US / 4);
    }
}
