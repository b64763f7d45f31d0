/* Coding of answers about the whole cell. A client believes a server no more
 * than a server a client: counts are bounded before memory is taken.
 */
#include "chubby-lite/lock_survey.h"

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/rpc/rpc_message.h"
#include "chubby-lite/lock_command.h"

#define LIST_FIELDS     3
#define SESSION_FIELDS  8
#define ENTRY_FIELDS    6
#define HOLDER_FIELDS   3
#define TEXT_BYTES_MAX  1024
#define PATHS_BYTES_MAX CHUBBY_PATH_BYTES_MAX

/* The count of an array of at most @max; 0 where it is malformed. */
static size_t survey_count(struct codec_reader *r, size_t max)
{
    uint32_t count = codec_get_array(r);
    r->bad |= count > max;
    return r->bad ? 0 : count;
}

/* Both lists begin with the total, whether there is more, and the count of the
 * entries that follow. */
static void put_list_head(struct buf *out, uint64_t total, bool more, size_t n)
{
    PRE(n <= CHUBBY_SURVEY_MAX);
    codec_put_array(out, LIST_FIELDS);
    codec_put_u64(out, total);
    codec_put_bool(out, more);
    codec_put_array(out, (uint32_t)n);
}

static size_t get_list_head(struct codec_reader *r, uint64_t *total, bool *more)
{
    *total = codec_get_u64(r);
    *more = codec_get_bool(r);
    return survey_count(r, CHUBBY_SURVEY_MAX);
}

/* --- sessions ------------------------------------------------------------ */

static void put_session(const struct chubby_session_view *s, struct buf *out)
{
    PRE(s->lock_count <= CHUBBY_SURVEY_NAMED_MAX);
    codec_put_array(out, SESSION_FIELDS);
    codec_put_u64(out, s->id);
    codec_put_bin(out, s->principal);
    codec_put_bin(out, s->address);
    codec_put_u64(out, s->lease_ms);
    codec_put_u64(out, s->lease_left_us);
    codec_put_u64(out, s->handle_count);
    codec_put_u64(out, s->held_count);
    codec_put_array(out, (uint32_t)s->lock_count);
    for (size_t i = 0; i < s->lock_count; i++)
        codec_put_bin(out, s->locks[i]);
}

static void get_session(struct codec_reader *r,
                        struct arena *a,
                        struct chubby_session_view *s)
{
    message_part(r, SESSION_FIELDS);
    s->id = codec_get_u64(r);
    s->principal = message_bytes(r, TEXT_BYTES_MAX);
    s->address = message_bytes(r, TEXT_BYTES_MAX);
    s->lease_ms = codec_get_u64(r);
    s->lease_left_us = codec_get_u64(r);
    s->handle_count = codec_get_u64(r);
    s->held_count = codec_get_u64(r);
    s->lock_count = survey_count(r, CHUBBY_SURVEY_NAMED_MAX);
    s->locks = arena_zalloc(a, (s->lock_count + 1) * sizeof(*s->locks));
    for (size_t i = 0; i < s->lock_count; i++)
        s->locks[i] = message_bytes(r, PATHS_BYTES_MAX);
}

void chubby_session_list_put(const struct chubby_session_list *l,
                             struct buf *out)
{
    put_list_head(out, l->total, l->more, l->count);
    for (size_t i = 0; i < l->count; i++)
        put_session(&l->at[i], out);
}

int chubby_session_list_get(struct slice in,
                            struct arena *a,
                            struct chubby_session_list *l,
                            struct err *err)
{
    struct message_reader m = message_begin(in, LIST_FIELDS);
    l->count = get_list_head(&m.r, &l->total, &l->more);
    l->at = arena_zalloc(a, (l->count + 1) * sizeof(*l->at));
    for (size_t i = 0; i < l->count && !m.r.bad; i++)
        get_session(&m.r, a, &l->at[i]);
    return message_end(&m, "list of sessions", err);
}

/* --- entries ------------------------------------------------------------- */

static void put_entry(const struct chubby_entry_view *e, struct buf *out)
{
    const struct chubby_answer state = {.stat = e->stat};
    PRE(e->named_count <= CHUBBY_SURVEY_NAMED_MAX);
    codec_put_array(out, ENTRY_FIELDS);
    codec_put_bin(out, e->name);
    chubby_answer_put(&state, out);
    codec_put_u64(out, (uint64_t)e->mode);
    codec_put_u64(out, e->handle_count);
    codec_put_u64(out, e->holder_count);
    codec_put_array(out, (uint32_t)e->named_count);
    for (size_t i = 0; i < e->named_count; i++) {
        codec_put_array(out, HOLDER_FIELDS);
        codec_put_u64(out, e->holders[i].session);
        codec_put_bin(out, e->holders[i].principal);
        codec_put_bin(out, e->holders[i].address);
    }
}

/* The state inside of an entry is a whole message of its own. */
static void get_state(struct codec_reader *r, struct chubby_stat *stat)
{
    const char *begin = r->p;
    struct chubby_answer state;

    codec_skip(r);
    if (r->bad || chubby_answer_get(slice_make(begin, (size_t)(r->p - begin)),
                                    &state, NULL))
        r->bad = true;
    else
        *stat = state.stat;
}

static void
get_entry(struct codec_reader *r, struct arena *a, struct chubby_entry_view *e)
{
    message_part(r, ENTRY_FIELDS);
    e->name = message_bytes(r, TEXT_BYTES_MAX);
    get_state(r, &e->stat);
    uint64_t mode = codec_get_u64(r);
    r->bad |= mode > CHUBBY_EXCLUSIVE;
    e->mode = r->bad ? CHUBBY_FREE : (enum chubby_lock)mode;
    e->handle_count = codec_get_u64(r);
    e->holder_count = codec_get_u64(r);
    e->named_count = survey_count(r, CHUBBY_SURVEY_NAMED_MAX);
    e->holders = arena_zalloc(a, (e->named_count + 1) * sizeof(*e->holders));
    for (size_t i = 0; i < e->named_count; i++) {
        message_part(r, HOLDER_FIELDS);
        e->holders[i].session = codec_get_u64(r);
        e->holders[i].principal = message_bytes(r, TEXT_BYTES_MAX);
        e->holders[i].address = message_bytes(r, TEXT_BYTES_MAX);
    }
}

void chubby_entry_list_put(const struct chubby_entry_list *l, struct buf *out)
{
    put_list_head(out, l->total, l->more, l->count);
    for (size_t i = 0; i < l->count; i++)
        put_entry(&l->at[i], out);
}

int chubby_entry_list_get(struct slice in,
                          struct arena *a,
                          struct chubby_entry_list *l,
                          struct err *err)
{
    struct message_reader m = message_begin(in, LIST_FIELDS);
    l->count = get_list_head(&m.r, &l->total, &l->more);
    l->at = arena_zalloc(a, (l->count + 1) * sizeof(*l->at));
    for (size_t i = 0; i < l->count && !m.r.bad; i++)
        get_entry(&m.r, a, &l->at[i]);
    return message_end(&m, "list of entries", err);
}
