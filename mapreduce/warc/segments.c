/* Segments kept by origin until all are there (ISO 28500, section 7). Few
 * records are segmented, so chains are a plain list. */
#include "mapreduce/warc/segments.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"

struct part {
    uint64_t number;
    struct slice block; /* Owned by the chain's arena. */
    struct part *next;  /* Ascending numbers. */
};

struct chain {
    struct slice id;
    struct warc_record first; /* Its slices and headers are in the arena. */
    bool has_first;
    uint64_t last; /* Number of the last segment; 0: not seen. */
    uint64_t total;
    struct part *parts;
    size_t bytes;
    struct arena arena;
    struct chain *next;
};

struct segments {
    struct chain *chains;
    size_t bytes;
    size_t bytes_max;
    struct chain *given; /* Given out: freed with the next call. */
    struct buf joined;
};

struct segments *segments_new(size_t bytes_max)
{
    struct segments *s = mem_zalloc(1, sizeof(*s));
    PRE(bytes_max > 0);
    s->bytes_max = bytes_max;
    return s;
}

static void free_chain(struct chain *c)
{
    if (!c)
        return;
    arena_close(&c->arena);
    mem_free(c);
}

void segments_free(struct segments *s)
{
    if (!s)
        return;
    free_chain(s->given);
    while (s->chains) {
        struct chain *next = s->chains->next;
        free_chain(s->chains);
        s->chains = next;
    }
    buf_close(&s->joined);
    mem_free(s);
}

bool segments_is_one(const struct warc_record *rec)
{
    return rec->type == WARC_CONTINUATION || rec->segment_number > 0;
}

/* --- chains -------------------------------------------------------------- */

static struct chain *find_chain(struct segments *s, struct slice id)
{
    struct chain *c = s->chains;
    PRE(id.len > 0);
    while (c && !slice_eq(c->id, id))
        c = c->next;
    if (c)
        return c;
    c = mem_zalloc(1, sizeof(*c));
    arena_init(&c->arena);
    c->id = arena_dup(&c->arena, id);
    c->next = s->chains;
    s->chains = c;
    return c;
}

static void unlink_chain(struct segments *s, struct chain *c)
{
    PRE(s->bytes >= c->bytes); /* INV-1 */
    struct chain **at = &s->chains;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    s->bytes -= c->bytes;
    free_chain(s->given);
    s->given = c;
}

static void keep_first(struct chain *c, const struct warc_record *rec)
{
    warc_record_copy(rec, &c->arena, &c->first);
    c->has_first = true;
}

static bool put_part(struct chain *c, uint64_t number, struct slice block)
{
    struct part **at = &c->parts;
    struct part *p;
    PRE(number > 0);
    while (*at && (*at)->number < number)
        at = &(*at)->next;
    if (*at && (*at)->number == number)
        return false;
    p = arena_alloc(&c->arena, sizeof(*p));
    p->number = number;
    p->block = arena_dup(&c->arena, block);
    p->next = *at;
    *at = p;
    c->bytes += block.len;
    return true;
}

static bool is_complete(const struct chain *c)
{
    uint64_t want = 1;
    if (!c->has_first || c->last == 0)
        return false;
    for (const struct part *p = c->parts; p; p = p->next)
        if (p->number != want++)
            return false;
    return want == c->last + 1;
}

/* The blocks from the first on, as far as they are consecutive. */
static const struct warc_record *segments_join(struct segments *s,
                                               struct chain *c)
{
    uint64_t want = 1;
    PRE(s->given != c);
    buf_clear(&s->joined);
    for (const struct part *p = c->parts; p && p->number == want; p = p->next) {
        buf_append_slice(&s->joined, p->block);
        want++;
    }
    c->first.block = buf_slice(&s->joined);
    c->first.content_length = s->joined.len;
    c->first.segment_number = 0;
    c->first.whole = true;
    c->first.cut = !is_complete(c) || s->joined.len != c->total;
    /* The first segment's digest covers its own block alone. */
    c->first.block_digest = SLICE_EMPTY;
    return &c->first;
}

enum segments_answer segments_add(struct segments *s,
                                  const struct warc_record *rec,
                                  const struct warc_record **whole)
{
    bool is_first = rec->type != WARC_CONTINUATION;
    struct slice id = is_first ? rec->id : rec->segment_origin;
    struct chain *c;
    *whole = NULL;
    if (id.len == 0 || (is_first != (rec->segment_number == 1)) ||
        rec->segment_number == 0)
        return SEGMENTS_BAD;
    if (!rec->whole || rec->block.len > s->bytes_max - s->bytes)
        return SEGMENTS_FULL;
    c = find_chain(s, id);
    if (!put_part(c, rec->segment_number, rec->block))
        return SEGMENTS_BAD;
    s->bytes += rec->block.len;
    if (is_first)
        keep_first(c, rec);
    INVARIANT(s->bytes <= s->bytes_max); /* INV-1 */
    if (rec->segment_total) {
        c->last = rec->segment_number;
        c->total = rec->segment_total;
    }
    if (!is_complete(c))
        return SEGMENTS_KEPT;
    *whole = segments_join(s, c);
    unlink_chain(s, c);
    return SEGMENTS_COMPLETE;
}

bool segments_take_incomplete(struct segments *s,
                              struct slice *id,
                              const struct warc_record **first)
{
    struct chain *c = s->chains;
    if (!c)
        return false;
    *id = c->id;
    *first = c->has_first ? segments_join(s, c) : NULL;
    unlink_chain(s, c);
    return true;
}
