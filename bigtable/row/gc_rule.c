/* Rules as trees: building, judging, and the binary form. The form comes from a
 * disk or a client, so its depth and its width are bounded while it is read.
 */
#include "bigtable/row/gc_rule.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

static struct gc_rule *rule_new(enum gc_rule_kind kind)
{
    struct gc_rule *r = mem_zalloc(1, sizeof(*r));
    r->kind = kind;
    return r;
}

struct gc_rule *gc_rule_versions(uint32_t versions)
{
    struct gc_rule *r = rule_new(GC_RULE_VERSIONS);
    PRE(versions > 0);
    r->versions = versions;
    return r;
}

struct gc_rule *gc_rule_age(uint64_t age_us)
{
    struct gc_rule *r = rule_new(GC_RULE_AGE);
    r->age_us = age_us;
    return r;
}

struct gc_rule *gc_rule_combine(enum gc_rule_kind kind,
                                struct gc_rule *const *parts,
                                size_t count)
{
    struct gc_rule *r = rule_new(kind);
    PRE(count > 0);
    r->parts = mem_zalloc(count, sizeof(struct gc_rule *));
    memcpy(r->parts, parts, count * sizeof(struct gc_rule *));
    r->part_count = count;
    return r;
}

struct gc_rule *gc_rule_copy(const struct gc_rule *r)
{
    struct gc_rule *c;
    if (!r)
        return NULL;
    c = rule_new(r->kind);
    c->versions = r->versions;
    c->age_us = r->age_us;
    c->part_count = r->part_count;
    INVARIANT((c->part_count == 0) == (r->parts == NULL));
    if (r->part_count)
        c->parts = mem_zalloc(r->part_count, sizeof(struct gc_rule *));
    for (size_t i = 0; i < r->part_count; i++)
        c->parts[i] = gc_rule_copy(r->parts[i]);
    return c;
}

void gc_rule_free(struct gc_rule *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->part_count; i++)
        gc_rule_free(r->parts[i]);
    mem_free(r->parts);
    mem_free(r);
}

static bool is_older(int64_t timestamp_us, int64_t now_us, uint64_t age_us)
{
    /* Unsigned, so that no pair of times overflows. */
    return timestamp_us < now_us &&
           (uint64_t)now_us - (uint64_t)timestamp_us > age_us;
}

bool gc_rule_collects(const struct gc_rule *r,
                      uint64_t newer,
                      int64_t timestamp_us,
                      int64_t now_us)
{
    bool any;
    if (!r)
        return false;
    if (r->kind == GC_RULE_VERSIONS)
        return newer >= r->versions;
    if (r->kind == GC_RULE_AGE)
        return is_older(timestamp_us, now_us, r->age_us);
    PRE(r->part_count > 0);
    any = r->kind == GC_RULE_UNION;
    for (size_t i = 0; i < r->part_count; i++)
        if (gc_rule_collects(r->parts[i], newer, timestamp_us, now_us) == any)
            return any;
    return !any;
}

void gc_rule_encode(const struct gc_rule *r, struct buf *out)
{
    if (!r) {
        buf_put_u8(out, 0);
        return;
    }
    buf_put_u8(out, (uint8_t)r->kind);
    switch (r->kind) {
    case GC_RULE_VERSIONS: buf_put_varint(out, r->versions); break;
    case GC_RULE_AGE: buf_put_varint(out, r->age_us); break;
    case GC_RULE_UNION:
    case GC_RULE_INTERSECTION:
        buf_put_varint(out, r->part_count);
        for (size_t i = 0; i < r->part_count; i++)
            gc_rule_encode(r->parts[i], out);
        break;
    }
}

static struct gc_rule *decode_rule(struct cursor *c, unsigned depth);

static void decode_parts(struct cursor *c, struct gc_rule *r, unsigned depth)
{
    size_t count = cursor_count(c, 2);
    PRE(r->part_count == 0);
    if (count == 0 || count > GC_RULE_PARTS_MAX || depth >= GC_RULE_DEPTH_MAX) {
        c->bad = true;
        return;
    }
    r->parts = mem_zalloc(count, sizeof(struct gc_rule *));
    while (r->part_count < count && !c->bad) {
        struct gc_rule *part = decode_rule(c, depth + 1);
        if (part)
            r->parts[r->part_count++] = part;
        else
            c->bad = true;
    }
}

static void decode_body(struct cursor *c, struct gc_rule *r, unsigned depth)
{
    uint64_t v;
    switch (r->kind) {
    case GC_RULE_VERSIONS:
        v = cursor_varint(c);
        if (v == 0 || v > UINT32_MAX)
            c->bad = true;
        r->versions = (uint32_t)v;
        break;
    case GC_RULE_AGE: r->age_us = cursor_varint(c); break;
    case GC_RULE_UNION:
    case GC_RULE_INTERSECTION: decode_parts(c, r, depth); break;
    }
}

/* NULL for the byte that stands for no rule, and when the input is bad. */
static struct gc_rule *decode_rule(struct cursor *c, unsigned depth)
{
    struct gc_rule *r;
    uint8_t kind = cursor_u8(c);
    if (kind > GC_RULE_INTERSECTION)
        c->bad = true;
    if (c->bad || kind == 0)
        return NULL;
    r = rule_new((enum gc_rule_kind)kind);
    decode_body(c, r, depth);
    if (c->bad) {
        gc_rule_free(r);
        return NULL;
    }
    return r;
}

void gc_rule_decode(struct cursor *c, struct gc_rule **out)
{
    *out = decode_rule(c, 0);
}
