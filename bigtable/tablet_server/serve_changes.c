/* Answers with changes: computed on a reader thread, from the place that came
 * with the call. A call that finds nothing waits, without the tablet, so that
 * it may leave meanwhile, and looks once more.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/reader_pool.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"

#define ANSWER_BYTES_DEFAULT ((size_t)1 << 20)
#define ANSWER_BYTES_MAX     ((size_t)16 << 20)
#define WAIT_US_MAX          UINT64_C(5000000)

struct changes_job {
    struct tablet_server *server;
    struct serving serving;
    struct changes_request request;
    uint8_t *visible; /* By the family's id: the caller may read it. Owned. */
    struct change_position at;
    struct change_result result;
    int rc;
    struct err err;
};

static bool may_see(void *ctx, const struct family *f)
{
    const struct changes_job *j = ctx;
    return j->visible[f->id] != 0;
}

static void run_changes(void *arg)
{
    struct changes_job *j = arg;
    const struct changes_request *r = &j->request;
    struct tablet *t = j->serving.view->tablets[0];
    const struct change_request request = {
        .start = r->start,
        .end = r->end,
        .schema = j->serving.view->schema,
        .batch_bytes = r->bytes_max ? MIN_OF(r->bytes_max, ANSWER_BYTES_MAX)
                                    : ANSWER_BYTES_DEFAULT,
        .may_see = may_see,
        .ctx = j};
    PRE(j->visible);
    j->rc = r->is_place ? change_place(t, (int64_t)r->since_us, &j->at, &j->err)
                        : change_read(t, &request, &j->at, &j->result, &j->err);
}

/* Are the rows all of this tablet? */
static int check_rows(const struct changes_job *j, struct err *err)
{
    const struct tablet *t = j->serving.view->tablets[0];
    const struct changes_request *r = &j->request;
    struct slice end = buf_slice(&t->end);
    INVARIANT(j->serving.view->tablet_count == 1);
    if (slice_cmp(r->start, buf_slice(&t->start)) >= 0 &&
        (end.len == 0 || (r->end.len && slice_cmp(r->end, end) <= 0)))
        return 0;
    return not_here(r->tablet, err);
}

/* Mark the families that @principal may read: one at least. */
static int
mark_visible(struct changes_job *j, struct slice principal, struct err *err)
{
    const struct schema *s = j->serving.view->schema;
    size_t seen = 0;
    mem_free(j->visible);
    j->visible = mem_zalloc((size_t)s->next_family + 1, 1);
    for (size_t i = 0; i < s->family_count; i++) {
        uint8_t *one = mem_zalloc((size_t)s->next_family + 1, 1);
        one[s->families[i].id] = 1;
        if (rules_may_read(j->server, j->serving.served, principal, s, one,
                           NULL, NULL) == 0)
            j->visible[s->families[i].id] = 1;
        seen += j->visible[s->families[i].id];
        mem_free(one);
    }
    return seen ? 0
                : rules_may_read(j->server, j->serving.served, principal, s,
                                 NULL, NULL, err);
}

/* Read once. */
static int
answer_once(struct changes_job *j, struct slice principal, struct err *err)
{
    PRE(!j->serving.served);
    int rc = serving_begin(j->server, &j->serving, j->request.tablet,
                           j->request.generation, err);
    if (rc == 0)
        rc = check_rows(j, err);
    if (rc == 0)
        rc = mark_visible(j, principal, err);
    if (rc == 0)
        rc = rules_may_go(j->server, j->serving.served, principal, RATE_READS,
                          err);
    if (rc == 0) {
        reader_pool_run(j->server->readers, run_changes, j);
        rc = j->rc ? err_copy(err, &j->err) : 0;
    }
    if (rc == 0)
        rules_pay(j->server, j->serving.served, principal, RATE_READS,
                  MAX_OF(j->result.change_count, 1), j->result.batch.len);
    serving_end(&j->serving);
    j->serving = (struct serving){.served = NULL};
    return rc;
}

static int
answer_changes(struct changes_job *j, struct slice principal, struct err *err)
{
    struct tablet_env *env = &j->server->store->env;
    uint64_t seen = atomic_load(&env->visible);
    int rc = answer_once(j, principal, err);
    if (rc || j->request.is_place || j->result.batch.len ||
        !j->result.caught_up || j->request.wait_us == 0)
        return rc;
    change_bell_wait(&env->bell, env->world, &env->visible, seen,
                     MIN_OF(j->request.wait_us, WAIT_US_MAX));
    return answer_once(j, principal, err);
}

static void put_reply(const struct changes_job *j, struct buf *body)
{
    const struct changes_reply r = {.low = j->at.low,
                                    .high = j->at.high,
                                    .row = buf_slice(&j->at.row),
                                    .row_sequence = j->at.row_sequence,
                                    .change_count = j->result.change_count,
                                    .watermark_us =
                                        (uint64_t)j->result.watermark_us,
                                    .caught_up = j->result.caught_up};
    changes_reply_put(&r, body);
}

int handle_changes(struct tablet_server *s,
                   struct rpc_call *call,
                   struct err *err)
{
    struct changes_job j = {.server = s};
    int rc = changes_request_get(call->body, &j.request, err);
    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    j.at.low = j.request.low;
    j.at.high = j.request.high > j.request.low ? j.request.high : 0;
    j.at.row_sequence = j.request.row_sequence;
    buf_append_slice(&j.at.row, j.request.row);
    rc = answer_changes(&j, call->principal, err);
    if (rc == 0)
        rc = check_answer(s, err);
    if (rc == 0) {
        put_reply(&j, call->reply_body);
        buf_append_slice(call->reply_attachment, buf_slice(&j.result.batch));
    }
    buf_close(&j.at.row);
    buf_close(&j.result.batch);
    mem_free(j.visible);
    return rc;
}
