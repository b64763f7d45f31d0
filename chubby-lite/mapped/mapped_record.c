/* Records as words of one line, and what follows it. Others may write into the
 * service as well: every number is checked, and every list is bounded.
 */
#include "chubby-lite/mapped/mapped_record.h"

#include <inttypes.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

#define VERSION "q1"

/* --- words --------------------------------------------------------------- */

/* The rest of a line. */
struct words {
    struct slice rest;
    bool bad;
};

static struct slice words_next(struct words *w)
{
    size_t end = slice_find_byte(w->rest, ' ');
    struct slice word = slice_sub(w->rest, 0, end);

    w->bad |= word.len == 0;
    w->rest = slice_sub(w->rest, end + 1, w->rest.len);
    return word;
}

static uint64_t words_number(struct words *w)
{
    uint64_t n = 0;

    w->bad |= text_parse_u64(words_next(w), &n, NULL) != 0;
    return n;
}

/* Sessions are written in hexadecimal, as their services show them. */
static uint64_t words_session(struct words *w)
{
    struct slice word = words_next(w);
    uint64_t n = 0;

    w->bad |= word.len > 16;
    for (size_t i = 0; i < word.len && !w->bad; i++) {
        char c = word.data[i];
        w->bad |= !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
        n = n << 4 | (uint64_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
    }
    return n;
}

/* Take the first line off *@bytes, without its end; a record without one is
 * none. */
static struct words words_line(struct slice *bytes)
{
    size_t end = slice_find_byte(*bytes, '\n');
    struct words w = {slice_sub(*bytes, 0, end), end == bytes->len};

    *bytes = slice_sub(*bytes, end + 1, bytes->len);
    return w;
}

/* Begin with the first line. */
static struct words words_first(struct slice *bytes)
{
    struct words w = words_line(bytes);

    w.bad |= !slice_eq_str(words_next(&w), VERSION);
    return w;
}

static int words_end(const struct words *w, const char *what, struct err *err)
{
    return w->bad || w->rest.len > 0
               ? err_set(err, ERR_CORRUPT, "malformed %s", what)
               : 0;
}

/* --- nodes --------------------------------------------------------------- */

void mapped_record_put(const struct mapped_record *r, struct buf *out)
{
    PRE(!r->is_directory || r->contents.len == 0);
    buf_printf(out, VERSION " %c %" PRIu64 "\n", r->is_directory ? 'd' : 'f',
               r->content_generation);
    buf_append_slice(out, r->contents);
}

int mapped_record_get(struct slice bytes,
                      struct mapped_record *r,
                      struct err *err)
{
    struct words w = words_first(&bytes);
    struct slice kind = words_next(&w);

    w.bad |= !slice_eq_str(kind, "d") && !slice_eq_str(kind, "f");
    *r = (struct mapped_record){.is_directory = slice_eq_str(kind, "d"),
                                .content_generation = words_number(&w),
                                .contents = bytes};
    w.bad |= (r->is_directory && bytes.len > 0) ||
             bytes.len > CHUBBY_CONTENTS_BYTES_MAX;
    return words_end(&w, "record of a node", err);
}

/* --- locks --------------------------------------------------------------- */

static const char mode_letters[] = "fsx"; /* By enum chubby_lock. */

void lock_state_record_put(const struct lock_state_record *s, struct buf *out)
{
    PRE((s->count == 0) == (s->mode == CHUBBY_FREE));
    buf_printf(out,
               VERSION " %c %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIx64 "\n",
               mode_letters[s->mode], s->generation, s->closed_until_us,
               s->wanted, s->draining);
    for (size_t i = 0; i < s->count; i++)
        buf_printf(out, "%" PRIx64 " %" PRIu64 " %" PRIu32 " %c\n",
                   s->holders[i].session, s->holders[i].handle,
                   s->holders[i].delay_ms,
                   s->holders[i].hears_conflict ? 'c' : '-');
}

static enum chubby_lock words_mode(struct words *w)
{
    struct slice word = words_next(w);

    for (int i = CHUBBY_FREE; i <= CHUBBY_EXCLUSIVE; i++)
        if (word.len == 1 && word.data[0] == mode_letters[i])
            return (enum chubby_lock)i;
    w->bad = true;
    return CHUBBY_FREE;
}

static int
get_holder(struct slice *bytes, struct lock_holder *h, struct err *err)
{
    struct words w = words_line(bytes);
    uint64_t delay_ms;
    struct slice conflict;

    h->session = words_session(&w);
    h->handle = words_number(&w);
    delay_ms = words_number(&w);
    conflict = words_next(&w);
    h->hears_conflict = slice_eq_str(conflict, "c");
    w.bad |= (!h->hears_conflict && !slice_eq_str(conflict, "-")) ||
             delay_ms > CHUBBY_LOCK_DELAY_MS_MAX;
    h->delay_ms = (uint32_t)delay_ms;
    return words_end(&w, "holder of a lock", err);
}

static size_t count_lines(struct slice bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes.len; i++)
        count += bytes.data[i] == '\n';
    return count;
}

int lock_state_record_get(struct slice bytes,
                          struct arena *a,
                          struct lock_state_record *s,
                          struct err *err)
{
    struct words w = words_first(&bytes);
    size_t lines = count_lines(bytes);
    int rc;

    *s = (struct lock_state_record){.mode = words_mode(&w)};
    s->generation = words_number(&w);
    s->closed_until_us = words_number(&w);
    s->wanted = words_number(&w);
    s->draining = words_session(&w);
    w.bad |= lines > LOCK_HOLDERS_MAX || (lines == 0) != (bytes.len == 0) ||
             (lines == 0) != (s->mode == CHUBBY_FREE) ||
             (s->mode == CHUBBY_EXCLUSIVE && lines != 1);
    rc = words_end(&w, "state of a lock", err);
    if (rc)
        return rc;
    s->holders = arena_zalloc(a, (lines + 1) * sizeof(*s->holders));
    while (!rc && bytes.len > 0)
        rc = get_holder(&bytes, &s->holders[s->count++], err);
    POST(rc || s->count == lines);
    return rc;
}

/* --- sessions ------------------------------------------------------------ */

void mapped_session_record_put(const struct mapped_session_record *r,
                               struct buf *out)
{
    buf_printf(out, VERSION " %" PRIu64 "\n%.*s", r->lease_ms,
               SLICE_ARG(r->address));
}

int mapped_session_record_get(struct slice bytes,
                              struct mapped_session_record *r,
                              struct err *err)
{
    struct words w = words_first(&bytes);

    r->lease_ms = words_number(&w);
    r->address = bytes;
    return words_end(&w, "record of a session", err);
}
