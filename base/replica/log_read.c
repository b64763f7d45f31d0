/* Reads a log: its entries, where it ends, and whether it is whole.
 *
 * All that comes from the disk is judged here and becomes ERR_CORRUPT: order of
 * segments, checksums, terms and indexes. Code after this relies on it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/replica/log_segment.h"
#include "base/replica/log_synced.h"
#include "base/runtime/world.h"

struct reader {
    const struct replica_log_options *opts;
    struct replica_log_state *state;
    struct log_tail *tail;
    struct buf path;
    char *bytes; /* Of the segment being read; owned. */
    size_t len;
    struct log_header header;
    bool started;               /* A segment was read before. */
    struct unit_opener *opener; /* Of sealed payloads; owned. */
    struct buf plain;           /* One of them, opened. */
};

void replica_log_path(const char *directory, uint64_t number, struct buf *out)
{
    PRE(number > 0);
    buf_clear(out);
    buf_printf(out, "%s/%010" PRIu64 LOG_NAME_SUFFIX, directory, number);
}

/* --- files --------------------------------------------------------------- */

static bool number_of(const char *name, uint64_t *number)
{
    struct slice s = slice_str(name);
    struct slice suffix = SLICE_LIT(LOG_NAME_SUFFIX);
    return slice_ends_with(s, suffix) &&
           text_parse_u64(slice_sub(s, 0, s.len - suffix.len), number, NULL) ==
               0 &&
           *number > 0;
}

/* Segments before a gap were released. If others are missing too, the log
 * begins after the snapshot's end, which replica_open.c finds. */
static void drop_leftovers(struct log_tail *t)
{
    size_t first = t->count;
    while (first > 1 &&
           t->segments[first - 2].number + 1 == t->segments[first - 1].number)
        first--;
    first = first ? first - 1 : 0;
    t->leftovers = mem_zalloc(first + 1, sizeof(*t->leftovers));
    t->leftover_count = first;
    for (size_t i = 0; i < first; i++)
        t->leftovers[i] = t->segments[i].number;
    t->count -= first;
    INVARIANT(first == 0 || t->count > 0);
    memmove(t->segments, t->segments + first, t->count * sizeof(*t->segments));
}

static int list_segments(struct reader *r, struct err *err)
{
    char **names;
    size_t count;
    int rc =
        world_list(r->opts->world, r->opts->directory, &names, &count, err);
    PRE(r->tail->count == 0);
    if (rc)
        return rc;
    r->tail->segments = mem_zalloc(count + 1, sizeof(*r->tail->segments));
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        if (number_of(names[i], &number))
            r->tail->segments[r->tail->count++].number = number;
    }
    world_names_free(names, count);
    drop_leftovers(r->tail);
    return 0;
}

static int load_file(struct reader *r, struct file *f, struct err *err)
{
    uint64_t size;
    size_t got;
    int rc = file_size(f, &size, err);
    if (rc)
        return rc;
    if (size > LOG_SEGMENT_MAX)
        return err_set(err, ERR_CORRUPT, "%" PRIu64 " bytes, too many", size);
    mem_free(r->bytes);
    r->bytes = mem_try_alloc((size_t)size + 1);
    if (!r->bytes)
        return err_set(err, ERR_NOMEM, "no memory for %" PRIu64 " bytes", size);
    rc = file_read_at(f, 0, r->bytes, (size_t)size, &got, err);
    r->len = rc ? 0 : got;
    INVARIANT(rc || got <= size);
    return rc;
}

static int log_read_segment(struct reader *r, uint64_t number, struct err *err)
{
    struct file *f;
    int rc;
    PRE(number > 0);
    replica_log_path(r->opts->directory, number, &r->path);
    rc = file_open(r->opts->world, buf_cstr(&r->path), FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = load_file(r, f, err);
    file_close(f);
    return rc;
}

/* --- records ------------------------------------------------------------- */

static int log_read_corrupt(struct reader *r,
                            size_t offset,
                            const char *what,
                            struct err *err)
{
    PRE(offset <= r->len);
    return err_set(err, ERR_CORRUPT, "%s: offset %zu: %s", buf_cstr(&r->path),
                   offset, what);
}

static enum raft_entry_kind entry_kind(enum log_kind kind)
{
    PRE(kind == LOG_COMMAND || kind == LOG_NOOP || kind == LOG_CONFIG);
    return kind == LOG_COMMAND ? RAFT_ENTRY_COMMAND
           : kind == LOG_NOOP  ? RAFT_ENTRY_NOOP
                               : RAFT_ENTRY_CONFIG;
}

static int replay_entry(struct reader *r,
                        const struct log_record *rec,
                        size_t offset,
                        struct err *err)
{
    struct raft_log *entries = &r->state->entries;
    if (rec->index > raft_log_last(entries) + 1 || rec->index == 0 ||
        rec->term == 0)
        return log_read_corrupt(r, offset, "an entry out of order", err);
    /* It voids entries of segments that were released: the log begins here. */
    if (rec->index <= entries->base_index)
        raft_log_reset(entries, rec->index - 1, 0);
    else if (rec->index <= raft_log_last(entries))
        raft_log_truncate(entries, rec->index);
    if (raft_log_term(entries, rec->index - 1) > rec->term)
        return log_read_corrupt(r, offset, "an entry of an older term", err);
    raft_log_append(entries, rec->term, entry_kind(rec->kind),
                    raft_bytes_new(rec->payload));
    POST(raft_log_last(entries) == rec->index);
    return 0;
}

static int replay_commands(struct reader *r,
                           struct log_segment *s,
                           const struct log_record *rec,
                           size_t offset,
                           struct err *err)
{
    struct slice rest = rec->payload;
    struct log_record one = *rec;
    PRE(rec->kind == LOG_COMMANDS);
    one.kind = LOG_COMMAND;
    for (; rest.len; one.index++) {
        int rc;
        if (!log_commands_next(&rest, &one.payload))
            return log_read_corrupt(r, offset, "malformed commands", err);
        rc = replay_entry(r, &one, offset, err);
        if (rc)
            return rc;
        s->max_index = MAX_OF(s->max_index, one.index);
    }
    return 0;
}

static int log_read_replay(struct reader *r,
                           struct log_segment *s,
                           const struct log_record *rec,
                           size_t offset,
                           struct err *err)
{
    PRE(s < r->tail->segments + r->tail->count);
    switch (rec->kind) {
    case LOG_META:
        if (rec->term < r->state->term)
            return log_read_corrupt(r, offset, "a term that goes back", err);
        r->state->term = rec->term;
        r->state->vote = rec->index;
        return 0;
    case LOG_RESET:
        raft_log_reset(&r->state->entries, rec->index, rec->term);
        for (struct log_segment *k = r->tail->segments; k <= s; k++)
            k->max_index = 0;
        return 0;
    case LOG_MARK: return 0;
    case LOG_COMMAND:
    case LOG_NOOP:
    case LOG_CONFIG:
        s->max_index = MAX_OF(s->max_index, rec->index);
        return replay_entry(r, rec, offset, err);
    case LOG_COMMANDS: return replay_commands(r, s, rec, offset, err);
    }
    return 0;
}

/* Does any record behind @offset say that the bytes at @offset were safe? */
static bool
is_vouched(const struct reader *r, const struct log_segment *s, size_t offset)
{
    uint64_t bad = s->base + offset - LOG_HEADER_BYTES;
    struct log_record rec;
    PRE(offset >= LOG_HEADER_BYTES);
    for (size_t at = offset + LOG_ALIGN; at < r->len; at += LOG_ALIGN)
        if (log_record_get(slice_make(r->bytes + at, r->len - at), s->number,
                           s->base + at - LOG_HEADER_BYTES, &rec) &&
            rec.synced > bad)
            return true;
    return false;
}

static bool is_zero(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i])
            return false;
    return true;
}

/* Records of the segment that is loaded, up to position @limit; the last
 * segment has none. */
static int read_records(struct reader *r,
                        struct log_segment *s,
                        uint64_t limit,
                        struct err *err)
{
    size_t at = LOG_HEADER_BYTES;
    struct log_record rec;
    int rc = 0;
    PRE(r->len >= LOG_HEADER_BYTES);
    r->tail->position = s->base;
    while (rc == 0 && r->tail->position < limit &&
           log_record_get(slice_make(r->bytes + at, r->len - at), s->number,
                          r->tail->position, &rec)) {
        size_t bytes = log_record_bytes(rec.payload.len);
        if (r->header.is_sealed) {
            rc = log_record_open(r->opener, s->number, &rec, &r->plain, err);
            if (rc)
                err_wrap(err, "%s: offset %zu", buf_cstr(&r->path), at);
        }
        if (rc == 0)
            rc = log_read_replay(r, s, &rec, at, err);
        r->tail->synced = MAX_OF(r->tail->synced, rec.synced);
        at += bytes;
        r->tail->position = s->base + at - LOG_HEADER_BYTES;
    }
    if (rc)
        return rc;
    if (limit == UINT64_MAX ? is_vouched(r, s, at) : r->tail->position != limit)
        return log_read_corrupt(r, at, "a record that had been safe is damaged",
                                err);
    r->tail->clean = is_zero(r->bytes + at, r->len - at);
    return 0;
}

/* --- segments ------------------------------------------------------------ */

/* A header is on the disk before any record is written: without one and with
 * nothing else, the segment was being begun when the power went. */
static bool was_being_begun(const struct reader *r, size_t i)
{
    PRE(i < r->tail->count);
    return i > 0 && i + 1 == r->tail->count &&
           (r->len <= LOG_HEADER_BYTES ||
            is_zero(r->bytes + LOG_HEADER_BYTES, r->len - LOG_HEADER_BYTES));
}

static int take_header(struct reader *r, size_t i, struct err *err)
{
    struct log_segment *s = &r->tail->segments[i];
    int rc = log_header_get(slice_make(r->bytes, r->len), &r->header, err);
    PRE(i < r->tail->count);
    if (rc == 0 && r->header.number != s->number)
        rc = err_set(err, ERR_CORRUPT, "header of segment %" PRIu64,
                     r->header.number);
    if (rc == 0 && i > 0 && r->header.base < r->tail->segments[i - 1].base)
        rc = err_set(err, ERR_CORRUPT, "header: positions go back");
    if (rc) {
        err_wrap(err, "%s", buf_cstr(&r->path));
        return rc;
    }
    s->base = r->header.base;
    s->bytes = r->len;
    return 0;
}

/* The first segment says what was before it; the others agree with it. */
static int check_state(struct reader *r, struct err *err)
{
    struct replica_log_state *s = r->state;
    const struct log_header *h = &r->header;
    if (!r->started) {
        s->term = h->term;
        s->vote = h->vote;
        raft_log_reset(&s->entries, h->index, h->index_term);
        r->started = true;
        POST(raft_log_last(&s->entries) == h->index);
        return 0;
    }
    if (h->term == s->term && h->vote == s->vote &&
        h->index == raft_log_last(&s->entries) &&
        h->index_term == raft_log_term(&s->entries, h->index))
        return 0;
    return log_read_corrupt(
        r, 0, "the segment does not follow the one before it", err);
}

/* The base of segment @i + 1 ends segment @i. Its header alone is needed. */
static int
find_limit(struct reader *r, size_t i, uint64_t *limit, struct err *err)
{
    int rc = log_read_segment(r, r->tail->segments[i].number, err);
    PRE(i > 0 && i < r->tail->count);
    if (rc)
        return rc;
    rc = take_header(r, i, err);
    if (rc && was_being_begun(r, i)) {
        r->tail->torn = r->tail->segments[i].number;
        r->tail->count--;
        return 0;
    }
    *limit = r->tail->segments[i].base;
    return rc;
}

static int read_segment(struct reader *r, size_t i, struct err *err)
{
    uint64_t limit = UINT64_MAX;
    int rc = 0;
    PRE(i < r->tail->count);
    if (i + 1 < r->tail->count)
        rc = find_limit(r, i + 1, &limit, err);
    if (rc == 0)
        rc = log_read_segment(r, r->tail->segments[i].number, err);
    if (rc == 0)
        rc = take_header(r, i, err);
    if (rc == 0)
        rc = check_state(r, err);
    if (rc == 0)
        r->tail->old = r->header.version < LOG_VERSION;
    r->tail->is_sealed = rc == 0 && r->header.is_sealed;
    if (rc == 0)
        rc = read_records(r, &r->tail->segments[i], limit, err);
    return rc;
}

/* Bytes of the file of segment @number; 0: it is missing. */
static uint64_t file_bytes(const struct reader *r, uint64_t number)
{
    const struct log_tail *t = r->tail;
    PRE(number > 0);
    for (size_t i = 0; i < t->count; i++)
        if (t->segments[i].number == number)
            return t->segments[i].bytes;
    return 0;
}

/* Is all there that was on the disk before? INV-1 to INV-3 of log_synced.h. */
static int check_synced(struct reader *r, struct err *err)
{
    const struct log_tail *t = r->tail;
    struct log_reach reach;
    uint64_t has;
    int rc = log_synced_read(r->opts->world, r->opts->directory, &reach, err);
    PRE(t->segments || t->count == 0);
    if (rc || reach.segment == 0 || fault_hit("replica.accept_cut_log"))
        return rc;
    has = file_bytes(r, reach.segment);
    replica_log_path(r->opts->directory, reach.segment, &r->path);
    if (!has)
        return err_set(err, ERR_CORRUPT, "%s is missing", buf_cstr(&r->path));
    if (has < reach.bytes && !fault_hit("replica.forget_file_bytes"))
        return err_set(err, ERR_CORRUPT,
                       "%s: cut short: it has %" PRIu64
                       " bytes and had %" PRIu64 " or more",
                       buf_cstr(&r->path), has, reach.bytes);
    if (reach.position > t->position)
        return err_set(err, ERR_CORRUPT,
                       "%s: cut short: %" PRIu64 " bytes that were on the disk "
                       "are missing at its end",
                       buf_cstr(&r->path), reach.position - t->position);
    return 0;
}

int log_read_all(const struct replica_log_options *opts,
                 struct replica_log_state *state,
                 struct log_tail *tail,
                 struct err *err)
{
    struct reader r = {.opts = opts,
                       .state = state,
                       .tail = tail,
                       .opener = replica_log_opener_new(opts->keyring)};
    int rc;
    *state = (struct replica_log_state){0};
    *tail = (struct log_tail){0};
    raft_log_init(&state->entries, 0, 0);
    rc = list_segments(&r, err);
    if (rc == 0 && tail->count == 0)
        rc =
            err_set(err, ERR_CORRUPT, "log: no segment in %s", opts->directory);
    for (size_t i = 0; rc == 0 && i < tail->count; i++)
        rc = read_segment(&r, i, err);
    if (rc == 0)
        rc = check_synced(&r, err);
    unit_opener_free(r.opener);
    buf_close(&r.plain);
    mem_free(r.bytes);
    buf_close(&r.path);
    POST(rc || tail->count > 0);
    return rc;
}
