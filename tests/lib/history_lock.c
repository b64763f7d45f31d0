/* Files and locks as objects.
 *
 * A file: its instance (0: none, NEW: made, but no answer has named it yet),
 * the generation and the contents it has, the last instance the name had.
 * A lock: its generation, its mode, whether a delay may keep it closed, and the
 * set of sessions that hold it.
 */
#include "tests/lib/history_lock.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "tests/lib/name_list.h"

#define UNKNOWN UINT64_MAX /* When a call returned. */
#define NEW     UINT64_MAX /* An instance. */

/* Words of a state. */
enum {
    FILE_INSTANCE = 0,
    FILE_GENERATION,
    FILE_CONTENTS,
    FILE_LAST, /* Instance. */

    LOCK_GENERATION = 0,
    LOCK_MODE,
    LOCK_HOLDERS, /* And the words behind it. */
};

enum {
    MODE_FREE,
    MODE_SHARED,
    MODE_EXCLUSIVE,
    MODE_MASK = 3,
    DELAYED = 4, /* Flag beside the mode. */
    HOLDERS_MAX = (HISTORY_STATE_WORDS - LOCK_HOLDERS) * 64
};

struct lock_op {
    uint64_t session;
    uint64_t called;
    uint64_t returned;
    enum lock_kind kind;
    size_t path;
    struct lock_input input;
    struct lock_answer answer;
    int rc;
    bool failed;
};

struct history_lock {
    struct name_list paths;
    struct lock_op *ops;
    size_t count;
    size_t cap;
};

static const struct {
    const char *text;
    bool of_lock;
    bool changes;
} kinds[] = {

#define X(name, of_lock, changes, text) {text, of_lock, changes},
    HISTORY_LOCK_KINDS(X)
#undef X
};

struct history_lock *history_lock_new(void)
{
    return mem_zalloc(1, sizeof(struct history_lock));
}

void history_lock_free(struct history_lock *h)
{
    name_list_close(&h->paths);
    mem_free(h->ops);
    mem_free(h);
}

size_t history_lock_count(const struct history_lock *h)
{
    return h->count;
}

/* --- recording ----------------------------------------------------------- */

size_t history_lock_call(struct history_lock *h,
                         uint64_t now,
                         uint64_t session,
                         enum lock_kind kind,
                         const char *path,
                         const struct lock_input *input)
{
    if (h->count == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 256;
        h->ops = mem_realloc(h->ops, h->cap * sizeof(*h->ops));
    }
    h->ops[h->count] =
        (struct lock_op){.session = session,
                         .called = now,
                         .returned = UNKNOWN,
                         .kind = kind,
                         .path = name_list_find(&h->paths, path),
                         .input = input ? *input : (struct lock_input){0}};
    return h->count++;
}

static bool is_answer(const struct lock_op *o, int rc)
{
    bool of_lock = kinds[o->kind].of_lock;
    /* That the node is gone says nothing if it is not known which one. */
    if (!of_lock && rc == ERR_NOTFOUND && o->kind != LOCK_OPEN &&
        o->input.instance == 0)
        return false;
    return rc == 0 || rc == ERR_ABORTED ||
           (of_lock ? rc == ERR_BUSY || rc == ERR_INVALID
                    : rc == ERR_NOTFOUND || rc == ERR_EXISTS);
}

void history_lock_return(struct history_lock *h,
                         size_t op,
                         uint64_t now,
                         int rc,
                         const struct lock_answer *answer)
{
    struct lock_op *o = &h->ops[op];
    PRE(o->returned == UNKNOWN && !o->failed);
    if (!is_answer(o, rc)) {
        o->failed =
            !kinds[o->kind].changes || rc == ERR_DENIED || rc == ERR_EXHAUSTED;
        return;
    }
    o->returned = now;
    o->rc = rc;
    if (answer)
        o->answer = *answer;
}

/* --- a file -------------------------------------------------------------- */

/* kind, a: instance, b: contents, c: generation, both ways; of an output the
 * kind is the negative code. */

static int create(struct history_state *s, uint64_t contents, bool exclusive)
{
    if (s->v[FILE_INSTANCE])
        return exclusive ? ERR_EXISTS : 0;
    s->v[FILE_INSTANCE] = NEW;
    s->v[FILE_GENERATION] = contents != 0; /* It counts as a write. */
    s->v[FILE_CONTENTS] = contents;
    return 0;
}

/* Is the node of a handle still there? If the handle does not say which one it
 * is, the answer may. */
static bool is_there(struct history_state *s,
                     uint64_t instance,
                     const struct history_value *output)
{
    uint64_t seen = output && output->kind == 0 ? output->a : 0;
    instance = instance ? instance : seen;
    if (s->v[FILE_INSTANCE] == NEW && instance > s->v[FILE_LAST] &&
        seen == instance) {
        s->v[FILE_INSTANCE] = instance;
        s->v[FILE_LAST] = instance;
    }
    return s->v[FILE_INSTANCE] != 0 &&
           (instance == 0 || s->v[FILE_INSTANCE] == instance);
}

static int change(struct history_state *s, const struct history_value *input)
{
    if (input->kind == LOCK_DELETE) {
        s->v[FILE_INSTANCE] = 0;
        s->v[FILE_GENERATION] = 0;
        s->v[FILE_CONTENTS] = 0;
        return 0;
    }
    if (input->c && input->c != s->v[FILE_GENERATION])
        return ERR_ABORTED;
    s->v[FILE_GENERATION]++;
    s->v[FILE_CONTENTS] = input->b;
    return 0;
}

static bool use_node(struct history_state *s,
                     const struct history_value *input,
                     const struct history_value *output)
{
    int rc = ERR_NOTFOUND;
    if (is_there(s, input->a, output))
        rc = input->kind == LOCK_READ || input->kind == LOCK_STAT
                 ? 0
                 : change(s, input);
    if (!output)
        return true;
    if (rc != -(int)output->kind)
        return false;
    if (rc || input->kind == LOCK_DELETE || input->kind == LOCK_WRITE)
        return true;
    return (output->c == LOCK_GENERATION_UNKNOWN ||
            output->c == s->v[FILE_GENERATION]) &&
           (input->kind == LOCK_STAT || output->b == s->v[FILE_CONTENTS]);
}

static bool file_step(struct history_state *s,
                      const struct history_value *input,
                      const struct history_value *output)
{
    int rc = 0;
    switch ((enum lock_kind)input->kind) {
    case LOCK_OPEN: rc = s->v[FILE_INSTANCE] ? 0 : ERR_NOTFOUND; break;
    case LOCK_CREATE: rc = create(s, input->b, false); break;
    case LOCK_CREATE_NEW: rc = create(s, input->b, true); break;
    case LOCK_READ:
    case LOCK_STAT:
    case LOCK_WRITE:
    case LOCK_DELETE: return use_node(s, input, output);
    case LOCK_ACQUIRE:
    case LOCK_ACQUIRE_SHARED:
    case LOCK_RELEASE:
    case LOCK_SEQUENCER:
    case LOCK_CHECK:
    case LOCK_EXPIRE:
    case LOCK_KIND_COUNT: return false;
    }
    return !output || rc == -(int)output->kind;
}

static void put_outcome(const struct history_value *output, struct buf *out)
{
    buf_printf(out, " -> %s",
               output->kind ? err_name(-(int)output->kind) : "ok");
}

static void file_print(const struct history_value *input,
                       const struct history_value *output,
                       struct buf *out)
{
    buf_printf(out,
               "%s instance %" PRIu64 " contents %" PRIu64
               " if generation %" PRIu64,
               kinds[input->kind].text, input->a, input->b, input->c);
    if (!output)
        return;
    put_outcome(output, out);
    if (output->kind == 0 &&
        (input->kind == LOCK_READ || input->kind == LOCK_STAT))
        buf_printf(out,
                   " instance %" PRIu64 " contents %" PRIu64
                   " generation %" PRIu64,
                   output->a, output->b, output->c);
}

/* --- a lock -------------------------------------------------------------- */

/* a: number of the session, b: 1 for shared, c: generation. */

static bool holds(const struct history_state *s, uint64_t session)
{
    return s->v[LOCK_HOLDERS + session / 64] >> (session % 64) & 1;
}

static bool is_held(const struct history_state *s)
{
    for (size_t i = LOCK_HOLDERS; i < HISTORY_STATE_WORDS; i++)
        if (s->v[i])
            return true;
    return false;
}

static void let_go(struct history_state *s, uint64_t session)
{
    s->v[LOCK_HOLDERS + session / 64] &= ~(UINT64_C(1) << session % 64);
    if (!is_held(s))
        s->v[LOCK_MODE] &= ~(uint64_t)MODE_MASK;
}

/* @busy: that is what was answered, and the delay of one who failed may be why.
 */
static int
acquire(struct history_state *s, uint64_t session, uint64_t mode, bool busy)
{
    uint64_t held = s->v[LOCK_MODE] & MODE_MASK;
    if (holds(s, session))
        return held == mode ? 0 : ERR_INVALID;
    if (held == MODE_EXCLUSIVE ||
        (held == MODE_SHARED && mode == MODE_EXCLUSIVE) ||
        (busy && (s->v[LOCK_MODE] & DELAYED)))
        return ERR_BUSY;
    if (held == MODE_FREE)
        s->v[LOCK_GENERATION]++;
    s->v[LOCK_MODE] = mode; /* And no delay any more. */
    s->v[LOCK_HOLDERS + session / 64] |= UINT64_C(1) << session % 64;
    return 0;
}

static int release(struct history_state *s, uint64_t session)
{
    if (!holds(s, session))
        return ERR_INVALID;
    let_go(s, session);
    return 0;
}

static int expire(struct history_state *s, uint64_t session)
{
    if (holds(s, session)) {
        let_go(s, session);
        s->v[LOCK_MODE] |= DELAYED;
    }
    return 0;
}

static int check(const struct history_state *s,
                 const struct history_value *input)
{
    uint64_t mode = input->b ? MODE_SHARED : MODE_EXCLUSIVE;
    return (s->v[LOCK_MODE] & MODE_MASK) == mode &&
                   s->v[LOCK_GENERATION] == input->c
               ? 0
               : ERR_ABORTED;
}

static bool lock_step(struct history_state *s,
                      const struct history_value *input,
                      const struct history_value *output)
{
    bool busy = output && -(int)output->kind == ERR_BUSY;
    int rc = 0;
    switch ((enum lock_kind)input->kind) {
    case LOCK_ACQUIRE: rc = acquire(s, input->a, MODE_EXCLUSIVE, busy); break;
    case LOCK_ACQUIRE_SHARED:
        rc = acquire(s, input->a, MODE_SHARED, busy);
        break;
    case LOCK_RELEASE: rc = release(s, input->a); break;
    case LOCK_EXPIRE: rc = expire(s, input->a); break;
    case LOCK_CHECK: rc = check(s, input); break;
    case LOCK_SEQUENCER: rc = holds(s, input->a) ? 0 : ERR_INVALID; break;
    case LOCK_OPEN:
    case LOCK_CREATE:
    case LOCK_CREATE_NEW:
    case LOCK_READ:
    case LOCK_STAT:
    case LOCK_WRITE:
    case LOCK_DELETE:
    case LOCK_KIND_COUNT: return false;
    }
    if (output && rc == 0 && input->kind == LOCK_SEQUENCER &&
        output->kind == 0 && output->c != s->v[LOCK_GENERATION])
        return false;
    return !output || rc == -(int)output->kind;
}

static void lock_print(const struct history_value *input,
                       const struct history_value *output,
                       struct buf *out)
{
    buf_append_str(out, kinds[input->kind].text);
    if (input->kind == LOCK_CHECK)
        buf_printf(out, " %s of generation %" PRIu64,
                   input->b ? "shared" : "exclusive", input->c);
    if (!output)
        return;
    put_outcome(output, out);
    if (output->kind == 0 && input->kind == LOCK_SEQUENCER)
        buf_printf(out, " generation %" PRIu64, output->c);
}

/* --- judging ------------------------------------------------------------- */

static const struct history_model file_model = {.step = file_step,
                                                .print = file_print};
static const struct history_model lock_model = {.step = lock_step,
                                                .print = lock_print};

/* The sessions of one path, numbered from 0. */
struct sessions {
    uint64_t ids[HOLDERS_MAX];
    size_t count;
};

static uint64_t number_session(struct sessions *all, uint64_t id)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->ids[i] == id)
            return i;
    if (all->count == HOLDERS_MAX)
        return HOLDERS_MAX;
    all->ids[all->count] = id;
    return all->count++;
}

static void
add_op(struct history *all, const struct lock_op *o, uint64_t session)
{
    bool of_lock = kinds[o->kind].of_lock;
    struct history_value input = {.kind = (uint32_t)o->kind,
                                  .a = o->input.instance,
                                  .b = o->input.contents,
                                  .c = o->input.generation};
    struct history_value output = {.kind = (uint32_t)-o->rc,
                                   .a = o->answer.instance,
                                   .b = o->answer.contents,
                                   .c = o->answer.generation};
    size_t op;
    if (of_lock) {
        input.a = session;
        input.b = o->input.shared;
    }
    op = history_call(all, o->called, o->session, o->path, &input);
    if (o->returned != UNKNOWN)
        history_return(all, op, o->returned, &output);
}

static enum history_verdict check_path(const struct history_lock *h,
                                       size_t path,
                                       bool of_lock,
                                       size_t budget,
                                       struct buf *why)
{
    struct history *all = history_new();
    struct sessions sessions = {.count = 0};
    enum history_verdict v = HISTORY_LINEARIZABLE;
    for (size_t i = 0; i < h->count; i++) {
        const struct lock_op *o = &h->ops[i];
        uint64_t session;
        if (o->failed || o->path != path || kinds[o->kind].of_lock != of_lock)
            continue;
        session = number_session(&sessions, o->session);
        if (of_lock && session == HOLDERS_MAX)
            v = HISTORY_TOO_HARD;
        else
            add_op(all, o, session);
    }
    if (v == HISTORY_LINEARIZABLE)
        v = history_check(all, of_lock ? &lock_model : &file_model, budget,
                          why);
    if (v == HISTORY_WRONG)
        buf_printf(why, "%s \"%s\"\n", of_lock ? "lock" : "file",
                   h->paths.names[path]);
    history_free(all);
    return v;
}

enum history_verdict
history_lock_check(const struct history_lock *h, size_t budget, struct buf *why)
{
    enum history_verdict verdict = HISTORY_LINEARIZABLE;
    for (size_t i = 0; i < 2 * h->paths.count; i++) {
        enum history_verdict v = check_path(h, i / 2, i % 2, budget, why);
        if (v == HISTORY_WRONG)
            return v;
        if (v != HISTORY_LINEARIZABLE)
            verdict = v;
    }
    return verdict;
}

/* --- as text ------------------------------------------------------------- */

void history_lock_print(const struct history_lock *h,
                        size_t op,
                        struct buf *out)
{
    const struct lock_op *o = &h->ops[op];
    if (o->failed)
        return;
    buf_printf(out, "lock\t%" PRIu64 "\t", o->called);
    if (o->returned == UNKNOWN)
        buf_append_byte(out, '?');
    else
        buf_printf(out, "%" PRIu64, o->returned);
    buf_printf(out,
               "\t%" PRIu64 "\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
               "\t%c\t",
               o->session, kinds[o->kind].text, h->paths.names[o->path],
               o->input.instance, o->input.contents, o->input.generation,
               o->input.shared ? 's' : 'x');
    if (o->returned == UNKNOWN)
        buf_append_byte(out, '?');
    else
        buf_printf(out, "%d", o->rc);
    buf_printf(out, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
               o->answer.instance, o->answer.generation, o->answer.contents);
}

enum {
    FIELDS = 14
};

static bool number(const char *field, uint64_t *out)
{
    return text_parse_u64(slice_str(field), out, NULL) == 0;
}

static bool parse_kind(const char *s, enum lock_kind *out)
{
    for (size_t i = 0; i < LOCK_KIND_COUNT; i++)
        if (strcmp(s, kinds[i].text) == 0) {
            *out = (enum lock_kind)i;
            return true;
        }
    return false;
}

static bool read_fields(struct history_lock *h, char *const field[FIELDS])
{
    struct lock_input input = {.shared = field[9][0] == 's'};
    struct lock_answer answer;
    uint64_t called;
    uint64_t returned = UNKNOWN;
    uint64_t session;
    int64_t rc = 0;
    enum lock_kind kind;
    bool answered = strcmp(field[2], "?") != 0;
    size_t op;
    if (strcmp(field[0], "lock") != 0 || !number(field[1], &called) ||
        !number(field[3], &session) || !parse_kind(field[4], &kind) ||
        !number(field[6], &input.instance) ||
        !number(field[7], &input.contents) ||
        !number(field[8], &input.generation) ||
        !number(field[11], &answer.instance) ||
        !number(field[12], &answer.generation) ||
        !number(field[13], &answer.contents) ||
        (answered && (!number(field[2], &returned) ||
                      text_parse_i64(slice_str(field[10]), &rc, NULL))))
        return false;
    op = history_lock_call(h, called, session, kind, field[5], &input);
    if (answered)
        history_lock_return(h, op, returned, (int)rc, &answer);
    return true;
}

int history_lock_read(struct history_lock *h,
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
                : err_set(err, ERR_INVALID,
                          "\"%.*s\" is no call of the lock "
                          "service",
                          SLICE_ARG(line));
}
