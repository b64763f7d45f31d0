/* The client's questions about the whole cell: its sessions, and the entries
 * of its tree. They need no handle, and their answers are not cached. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "chubby-lite/chubby_client.h"
#include "chubby-lite/lock_survey.h"
#include "chubby-lite/lock_wire.h"

/* Ask, and keep the answer in @a. Parks. */
static int client_ask(struct lock_client *c,
                      enum chubby_method method,
                      const struct chubby_survey *q,
                      struct arena *a,
                      struct slice *answer,
                      struct err *err)
{
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;

    PRE(q->limit <= CHUBBY_SURVEY_MAX);
    chubby_survey_put(q, &body);
    rc = client__call(c, method, 0, buf_slice(&body), &reply, err);
    *answer = arena_dup(a, buf_slice(&reply));
    buf_close(&reply);
    buf_close(&body);
    return rc;
}

int client__list_sessions(struct chubby *base,
                          uint64_t after,
                          uint32_t limit,
                          struct arena *a,
                          struct chubby_session_list *out,
                          struct err *err)
{
    struct lock_client *c = client__session(base);
    const struct chubby_survey q = {
        .session = after, .limit = MIN_OF(limit, (uint32_t)CHUBBY_SURVEY_MAX)};
    struct slice answer;
    int rc = client_ask(c, CHUBBY_METHOD_SESSIONS, &q, a, &answer, err);

    return rc ? rc : chubby_session_list_get(answer, a, out, err);
}

int client__list_entries(struct chubby *base,
                         const char *path,
                         const char *after,
                         uint32_t limit,
                         struct arena *a,
                         struct chubby_entry_list *out,
                         struct err *err)
{
    struct lock_client *c = client__session(base);
    const struct chubby_survey q = {
        .path = slice_str(path),
        .after = slice_str(after ? after : ""),
        .limit = MIN_OF(limit, (uint32_t)CHUBBY_SURVEY_MAX)};
    struct slice answer;
    int rc = client_ask(c, CHUBBY_METHOD_ENTRIES, &q, a, &answer, err);

    return rc ? rc : chubby_entry_list_get(answer, a, out, err);
}
