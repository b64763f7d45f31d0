/* Changes that were made, as bits: a client numbers its changes one after the
 * other, so a word of 64 bits stands for as many of them, and runs of them are
 * a few bytes when they are encoded. Of each change there is a bit for "made"
 * and one for "begun", by which two tries of one change wait for each other.
 *
 * A client that leaves says nothing, so records are given up by age: when many
 * new clients came, when memory is short, and when the records are encoded.
 */
#include "bigtable/tablet/done_changes.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/row/mutation.h"

#define WORD_BITS UINT64_C(64)
/* How long a change that is being made is waited for before the deadline is
 * looked at. */
#define WAIT_US UINT64_C(100000)
/* Clients that come between two looks for those that are gone. */
#define NEW_CLIENTS_MAX 1024

struct answer {
    uint64_t sequence;
    struct buf bytes;
};

/* Of 64 changes: bits. */
struct word {
    uint64_t done;
    uint64_t begun;
};

struct client {
    uint64_t session; /* First: the key of the map. */
    uint64_t floor;
    uint64_t used_ns; /* Heard of last. */
    uint64_t first;   /* Change of the first bit: a multiple of 64. */
    struct word *words;
    size_t word_count;
    struct answer *answers; /* In no order. */
    size_t answer_count;
};

struct done_changes {
    struct world *world;
    struct mutex lock;
    struct cond ended;
    struct hash_map clients;
    unsigned new_clients;
    size_t bytes;
};

struct done_changes *done_changes_new(struct world *world)
{
    struct done_changes *d = mem_zalloc(1, sizeof(*d));
    d->world = world;
    mutex_init(&d->lock);
    cond_init(&d->ended);
    hash_map_init(&d->clients, HASH_KEYS_BORROWED);
    return d;
}

static size_t client_bytes(const struct client *c)
{
    PRE(c->words || c->word_count == 0);
    PRE(c->answers || c->answer_count == 0);
    size_t bytes = sizeof(*c) + c->word_count * sizeof(*c->words);
    for (size_t i = 0; i < c->answer_count; i++)
        bytes += sizeof(*c->answers) + c->answers[i].bytes.len;
    return bytes;
}

static void client_free(struct client *c)
{
    for (size_t i = 0; i < c->answer_count; i++)
        buf_close(&c->answers[i].bytes);
    mem_free(c->answers);
    mem_free(c->words);
    mem_free(c);
}

void done_changes_free(struct done_changes *d)
{
    struct hash_slot *slot;
    size_t at = 0;
    if (!d)
        return;
    while ((slot = hash_map_next(&d->clients, &at)) != NULL)
        client_free(slot->value.pointer);
    hash_map_close(&d->clients);
    cond_close(&d->ended);
    mutex_close(&d->lock);
    mem_free(d);
}

/* --- clients ------------------------------------------------------------- */

static bool is_idle(const struct client *c)
{
    for (size_t i = 0; i < c->word_count; i++)
        if (c->words[i].begun)
            return false;
    return true;
}

/* Forget those that were not heard of for DONE_KEPT_US. */
static void forget_old(struct done_changes *d)
{
    uint64_t now = world_mono_ns(d->world);
    struct hash_slot *slot;
    size_t at = 0;
    struct buf old = BUF_INIT;
    d->new_clients = 0;
    while ((slot = hash_map_next(&d->clients, &at)) != NULL) {
        struct client *c = slot->value.pointer;
        if (now - c->used_ns > DONE_KEPT_US * 1000 && is_idle(c))
            buf_append(&old, &c, sizeof(struct client *));
    }
    for (size_t i = 0; i < old.len / sizeof(struct client *); i++) {
        struct client *c = ((struct client **)(void *)old.data)[i];
        size_t bytes = client_bytes(c);
        (void)hash_map_remove(&d->clients, hash_key_u64(&c->session), NULL);
        INVARIANT(d->bytes >= bytes); /* INV-4 */
        d->bytes -= bytes;
        client_free(c);
    }
    buf_close(&old);
}

static struct client *find_client(struct done_changes *d, uint64_t session)
{
    PRE(mutex_is_held(&d->lock));
    union hash_value *v = hash_map_get(&d->clients, hash_key_u64(&session));
    return v ? v->pointer : NULL;
}

static struct client *need_client(struct done_changes *d, uint64_t session)
{
    struct client *c = find_client(d, session);
    if (!c) {
        if (++d->new_clients > NEW_CLIENTS_MAX)
            forget_old(d);
        c = mem_zalloc(1, sizeof(*c));
        c->session = session;
        hash_map_put(&d->clients, hash_key_u64(&c->session), NULL)->pointer = c;
        d->bytes += client_bytes(c);
    }
    INVARIANT(c->session == session);
    c->used_ns = world_mono_ns(d->world);
    return c;
}

static void
drop_answers(struct done_changes *d, struct client *c, uint64_t floor)
{
    size_t i = 0;
    while (i < c->answer_count) {
        if (c->answers[i].sequence >= floor) {
            i++;
            continue;
        }
        INVARIANT(d->bytes >= sizeof(*c->answers) + c->answers[i].bytes.len);
        d->bytes -= sizeof(*c->answers) + c->answers[i].bytes.len;
        buf_close(&c->answers[i].bytes);
        c->answers[i] = c->answers[--c->answer_count];
    }
}

/* Give up what is below @floor; words go by the half, so that moving them costs
 * little. */
static void
raise_floor(struct done_changes *d, struct client *c, uint64_t floor)
{
    size_t words;
    if (floor <= c->floor)
        return;
    c->floor = floor;
    drop_answers(d, c, floor);
    if (floor < c->first + WORD_BITS)
        return;
    words =
        (size_t)MIN_OF((floor - c->first) / WORD_BITS, (uint64_t)c->word_count);
    if (words == 0 || words < c->word_count / 2)
        return;
    INVARIANT(d->bytes >= words * sizeof(*c->words)); /* INV-4 */
    memmove(c->words, c->words + words,
            (c->word_count - words) * sizeof(*c->words));
    c->first += words * WORD_BITS;
    c->word_count -= words;
    INVARIANT(c->first % WORD_BITS == 0);
    d->bytes -= words * sizeof(*c->words);
}

/* Is @sequence so far below those that are known that its client must have
 * given it up? A log and an encoding say nothing of some floors, so a client
 * that skips numbers would else have words for all between. */
static bool is_below_window(const struct client *c, uint64_t sequence)
{
    uint64_t end = c->first + c->word_count * WORD_BITS;
    return c->word_count && sequence < c->first &&
           end - sequence > DONE_WINDOW + WORD_BITS;
}

/* The word of @sequence, which is at or above the floor, and not beyond the
 * window. */
static struct word *
need_word(struct done_changes *d, struct client *c, uint64_t sequence)
{
    uint64_t first = sequence / WORD_BITS * WORD_BITS;
    size_t before = 0;
    size_t count;
    PRE(sequence >= c->floor); /* INV-1 */
    PRE(!is_below_window(c, sequence));
    if (c->word_count == 0)
        c->first = first;
    if (first < c->first)
        before = (size_t)((c->first - first) / WORD_BITS);
    count = before ? before + c->word_count
                   : (size_t)((first - c->first) / WORD_BITS) + 1;
    INVARIANT(count <= 2 * DONE_WINDOW / WORD_BITS + 2);
    if (count > c->word_count) {
        size_t more = count - c->word_count;
        c->words = mem_realloc(c->words, count * sizeof(*c->words));
        if (before)
            memmove(c->words + before, c->words,
                    c->word_count * sizeof(*c->words));
        memset(c->words + (before ? 0 : c->word_count), 0,
               more * sizeof(*c->words));
        c->first = before ? first : c->first;
        c->word_count = count;
        d->bytes += more * sizeof(*c->words);
    }
    POST((first - c->first) / WORD_BITS < c->word_count);
    return &c->words[(first - c->first) / WORD_BITS];
}

/* NULL: nothing is known of it. */
static struct word *find_word(const struct client *c, uint64_t sequence)
{
    uint64_t i;
    if (!c || sequence < c->first)
        return NULL;
    i = (sequence - c->first) / WORD_BITS;
    return i < c->word_count ? &c->words[i] : NULL;
}

static uint64_t bit_of(uint64_t sequence)
{
    return UINT64_C(1) << sequence % WORD_BITS;
}

/* --- beginning and ending ------------------------------------------------ */

static bool
is_any_begun(const struct client *c, const uint64_t *sequences, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct word *w = find_word(c, sequences[i]);
        if (w && w->begun & bit_of(sequences[i]))
            return true;
    }
    return false;
}

static int check_room(struct done_changes *d,
                      uint64_t floor,
                      const uint64_t *sequences,
                      size_t count,
                      struct err *err)
{
    PRE(mutex_is_held(&d->lock));
    if (d->bytes > DONE_BYTES_MAX)
        forget_old(d);
    if (d->bytes > DONE_BYTES_MAX)
        return err_set(err, ERR_UNAVAILABLE,
                       "clients have not said of too many changes that they "
                       "know what became of them");
    for (size_t i = 0; i < count; i++)
        if (sequences[i] >= floor && sequences[i] - floor >= DONE_WINDOW)
            return err_set(err, ERR_UNAVAILABLE,
                           "the client has more than %llu changes under way",
                           (unsigned long long)DONE_WINDOW);
    return 0;
}

static enum change_state
begin_one(struct done_changes *d, struct client *c, uint64_t sequence)
{
    struct word *w;
    if (fault_hit("tablet.forget_done"))
        return CHANGE_BEGUN;
    if (sequence < c->floor || is_below_window(c, sequence))
        return CHANGE_OVER;
    w = need_word(d, c, sequence);
    if (w->done & bit_of(sequence))
        return CHANGE_DONE;
    INVARIANT(!(w->begun & bit_of(sequence))); /* INV-2 */
    w->begun |= bit_of(sequence);
    return CHANGE_BEGUN;
}

int done_changes_begin(struct done_changes *d,
                       uint64_t session,
                       uint64_t floor,
                       const uint64_t *sequences,
                       size_t count,
                       enum change_state *states,
                       struct err *err)
{
    struct client *c;
    int rc;
    mutex_lock(&d->lock);
    rc = check_room(d, floor, sequences, count, err);
    while (rc == 0 && is_any_begun(find_client(d, session), sequences, count) &&
           !fault_hit("tablet.forget_done")) {
        (void)cond_wait_us(&d->ended, &d->lock, d->world, WAIT_US);
        rc = fiber_check(err);
    }
    if (rc == 0) {
        c = need_client(d, session);
        raise_floor(d, c, floor);
        INVARIANT(c->floor >= floor); /* INV-3 */
        for (size_t i = 0; i < count; i++)
            states[i] = begin_one(d, c, sequences[i]);
    }
    mutex_unlock(&d->lock);
    return rc;
}

void done_changes_end(struct done_changes *d,
                      uint64_t session,
                      const uint64_t *sequences,
                      size_t count)
{
    struct client *c;
    mutex_lock(&d->lock);
    c = find_client(d, session);
    INVARIANT(!c || c->session == session);
    for (size_t i = 0; i < count; i++) {
        struct word *w = find_word(c, sequences[i]);
        if (w)
            w->begun &= ~bit_of(sequences[i]);
    }
    cond_broadcast(&d->ended);
    mutex_unlock(&d->lock);
}

static struct answer *find_answer(const struct client *c, uint64_t sequence)
{
    for (size_t i = 0; c && i < c->answer_count; i++)
        if (c->answers[i].sequence == sequence)
            return &c->answers[i];
    return NULL;
}

bool done_changes_answer(struct done_changes *d,
                         uint64_t session,
                         uint64_t sequence,
                         struct buf *out)
{
    const struct answer *a;
    bool found;
    mutex_lock(&d->lock);
    a = find_answer(find_client(d, session), sequence);
    INVARIANT(!a || a->sequence == sequence);
    found = a != NULL;
    if (found)
        buf_append_slice(out, buf_slice(&a->bytes));
    mutex_unlock(&d->lock);
    return found;
}

static bool is_done(const struct client *c, uint64_t sequence)
{
    const struct word *w = find_word(c, sequence);
    return w && w->done & bit_of(sequence);
}

/* --- noting -------------------------------------------------------------- */

static void keep_answer(struct done_changes *d,
                        struct client *c,
                        uint64_t sequence,
                        struct slice bytes)
{
    struct answer *a;
    PRE(sequence >= c->floor); /* INV-3 */
    PRE(is_done(c, sequence));
    if (bytes.len == 0 || bytes.len > DONE_ANSWER_BYTES_MAX ||
        find_answer(c, sequence))
        return;
    c->answers =
        mem_realloc(c->answers, (c->answer_count + 1) * sizeof(*c->answers));
    a = &c->answers[c->answer_count++];
    *a = (struct answer){.sequence = sequence, .bytes = BUF_INIT};
    buf_append_slice(&a->bytes, bytes);
    d->bytes += sizeof(*a) + bytes.len;
}

static void done_changes_note_client(struct done_changes *d,
                                     struct client *c,
                                     uint64_t sequence,
                                     struct slice answer)
{
    PRE(mutex_is_held(&d->lock));
    /* One so far above all others says that their client knows of these. */
    if (sequence >= c->first + DONE_WINDOW && c->word_count)
        raise_floor(d, c, sequence - DONE_WINDOW + 1);
    if (sequence < c->floor || is_below_window(c, sequence))
        return;
    need_word(d, c, sequence)->done |= bit_of(sequence);
    POST(is_done(c, sequence));
    keep_answer(d, c, sequence, answer);
}

void done_changes_note_one(struct done_changes *d,
                           uint64_t session,
                           uint64_t sequence,
                           struct slice answer)
{
    mutex_lock(&d->lock);
    done_changes_note_client(d, need_client(d, session), sequence, answer);
    mutex_unlock(&d->lock);
}

void done_changes_note(struct done_changes *d,
                       const struct quarry_mutation *const *mutations,
                       size_t count)
{
    struct client *c = NULL;
    mutex_lock(&d->lock);
    for (size_t i = 0; i < count; i++) {
        const struct quarry_mutation *m = mutations[i];
        if (m->session == 0)
            continue;
        if (!c || c->session != m->session)
            c = need_client(d, m->session);
        done_changes_note_client(d, c, m->sequence, m->answer);
    }
    mutex_unlock(&d->lock);
}

/* --- encoding ------------------------------------------------------------ */

/* The first change at or behind @at that was made, or was not; @end if none. */
static uint64_t
find_change(const struct client *c, uint64_t at, uint64_t end, bool done)
{
    while (at < end && is_done(c, at) != done) {
        const struct word *w = find_word(c, at);
        INVARIANT(w);
        bool whole = at % WORD_BITS == 0 && w->done == (done ? 0 : UINT64_MAX);
        at += whole ? WORD_BITS : 1;
    }
    return MIN_OF(at, end);
}

static void encode_runs(const struct client *c, struct buf *out)
{
    uint64_t end = c->first + c->word_count * WORD_BITS;
    uint64_t at = MAX_OF(c->first, c->floor);
    struct buf runs = BUF_INIT;
    size_t count = 0;
    buf_put_varint(out, at);
    while (at < end) {
        uint64_t begin = find_change(c, at, end, true);
        uint64_t stop = find_change(c, begin, end, false);
        INVARIANT(stop >= begin);
        if (stop > begin) {
            buf_put_varint(&runs, begin - at);
            buf_put_varint(&runs, stop - begin);
            count++;
        }
        at = stop;
    }
    buf_put_varint(out, count);
    buf_append_slice(out, buf_slice(&runs));
    buf_close(&runs);
}

static void encode_client(const struct client *c, struct buf *out)
{
    PRE(c->session != 0);
    buf_put_le64(out, c->session);
    buf_put_varint(out, c->floor);
    encode_runs(c, out);
    buf_put_varint(out, c->answer_count);
    for (size_t i = 0; i < c->answer_count; i++) {
        buf_put_varint(out, c->answers[i].sequence);
        buf_put_lslice(out, buf_slice(&c->answers[i].bytes));
    }
}

void done_changes_encode(struct done_changes *d, struct buf *out)
{
    struct hash_slot *slot;
    size_t at = 0;
    mutex_lock(&d->lock);
    forget_old(d);
    while ((slot = hash_map_next(&d->clients, &at)) != NULL)
        encode_client(slot->value.pointer, out);
    mutex_unlock(&d->lock);
}

static void
decode_runs(struct done_changes *d, struct client *c, struct cursor *in)
{
    uint64_t at = cursor_varint(in);
    uint64_t limit = at + DONE_WINDOW + WORD_BITS;
    size_t count = cursor_count(in, 2);
    for (size_t i = 0; i < count && !in->bad; i++) {
        uint64_t gap = cursor_varint(in);
        uint64_t length = cursor_varint(in);
        in->bad |= gap > DONE_WINDOW || length > DONE_WINDOW ||
                   at + gap + length > limit || limit < at;
        at += gap;
        for (; length > 0 && !in->bad; length--)
            done_changes_note_client(d, c, at++, SLICE_EMPTY);
    }
}

static void decode_client(struct done_changes *d, struct cursor *in)
{
    uint64_t session = cursor_le64(in);
    uint64_t floor = cursor_varint(in);
    struct client *c;
    size_t count;
    PRE(mutex_is_held(&d->lock));
    in->bad |= session == 0;
    if (in->bad)
        return;
    c = need_client(d, session);
    raise_floor(d, c, floor);
    decode_runs(d, c, in);
    count = cursor_count(in, 2);
    for (size_t i = 0; i < count && !in->bad; i++) {
        uint64_t sequence = cursor_varint(in);
        struct slice bytes = cursor_lslice(in);
        if (!in->bad && sequence >= c->floor && is_done(c, sequence))
            keep_answer(d, c, sequence, bytes);
    }
}

int done_changes_decode(struct done_changes *d,
                        struct slice encoded,
                        struct err *err)
{
    struct cursor in = cursor_make(encoded);
    mutex_lock(&d->lock);
    while (!in.bad && cursor_left(&in) > 0)
        decode_client(d, &in);
    mutex_unlock(&d->lock);
    return in.bad
               ? err_set(err, ERR_CORRUPT, "malformed changes that were made")
               : 0;
}

void done_changes_copy(struct done_changes *to, struct done_changes *from)
{
    struct buf all = BUF_INIT;
    PRE(to != from);
    done_changes_encode(from, &all);
    if (done_changes_decode(to, buf_slice(&all), NULL) != 0)
        PANIC("changes of our own cannot be read");
    buf_close(&all);
}
