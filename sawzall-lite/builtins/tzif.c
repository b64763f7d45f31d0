/* TZif, the format of compiled time zones (RFC 8536), read with every bound
 * checked. */
#include "sawzall-lite/builtins/tzif.h"

#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/zone.h"

/* Changes in one zone; real files have a few hundred. */
#define COUNT_MAX 10000

struct header {
    uint8_t version;
    uint32_t ut_count;
    uint32_t std_count;
    uint32_t leap_count;
    uint32_t time_count;
    uint32_t type_count;
    uint32_t char_count;
};

static uint32_t tzif_be32(struct cursor *c)
{
    return __builtin_bswap32(cursor_le32(c));
}

static bool read_header(struct cursor *c, struct header *h)
{
    struct slice magic = cursor_bytes(c, 4);
    h->version = cursor_u8(c);
    cursor_bytes(c, 15);
    h->ut_count = tzif_be32(c);
    h->std_count = tzif_be32(c);
    h->leap_count = tzif_be32(c);
    h->time_count = tzif_be32(c);
    h->type_count = tzif_be32(c);
    h->char_count = tzif_be32(c);
    return !c->bad && slice_eq_str(magic, "TZif") &&
           h->time_count < COUNT_MAX && h->type_count > 0 &&
           h->type_count <= 256 && h->char_count > 0 && h->char_count <= 512 &&
           h->leap_count < COUNT_MAX && h->ut_count <= 256 &&
           h->std_count <= 256;
}

static void skip_block(struct cursor *c, const struct header *h, size_t time)
{
    cursor_bytes(c, h->time_count * (time + 1) + h->type_count * 6 +
                        h->char_count + h->leap_count * (time + 4) +
                        h->std_count + h->ut_count);
}

static void read_changes(struct cursor *c,
                         const struct header *h,
                         size_t time,
                         struct saw_zone *z)
{
    z->changes = mem_zalloc(h->time_count + 1, sizeof(*z->changes));
    z->change_types = mem_zalloc(h->time_count + 1, 1);
    z->change_count = h->time_count;
    for (size_t i = 0; i < h->time_count; i++) {
        z->changes[i] =
            time == 8 ? (int64_t)cursor_be64(c) : (int32_t)tzif_be32(c);
        c->bad |= i > 0 && z->changes[i] <= z->changes[i - 1];
    }
    for (size_t i = 0; i < h->time_count; i++) {
        z->change_types[i] = cursor_u8(c);
        c->bad |= z->change_types[i] >= h->type_count;
    }
}

static void
read_types(struct cursor *c, const struct header *h, struct saw_zone *z)
{
    struct slice names;
    z->types = mem_zalloc(h->type_count, sizeof(*z->types));
    z->type_count = h->type_count;
    for (size_t i = 0; i < h->type_count; i++) {
        z->types[i].seconds = (int32_t)tzif_be32(c);
        z->types[i].dst = cursor_u8(c) == 1;
        z->types[i].name = cursor_u8(c);
        c->bad |= z->types[i].name >= h->char_count ||
                  z->types[i].seconds < -93600 || z->types[i].seconds > 93600;
    }
    names = cursor_bytes(c, h->char_count);
    z->names = mem_strndup(names.data, names.len);
}

/* "\nPST8PDT,M3.2.0,M11.1.0\n" after the second block. */
static void read_footer(struct cursor *c, struct saw_zone *z)
{
    struct slice rest = slice_make(c->p, cursor_left(c));
    size_t end;
    if (rest.len == 0 || rest.data[0] != '\n')
        return;
    rest = slice_sub(rest, 1, rest.len);
    end = slice_find_byte(rest, '\n');
    z->has_rule = saw_zone_rule_parse(slice_sub(rest, 0, end), &z->rule);
}

static void zone_free(struct saw_zone *z)
{
    mem_free(z->name);
    mem_free(z->changes);
    mem_free(z->change_types);
    mem_free(z->types);
    mem_free(z->names);
    mem_free(z);
}

void saw_zones_free(struct saw_zone *z)
{
    while (z) {
        struct saw_zone *next = z->next;
        zone_free(z);
        z = next;
    }
}

struct saw_zone *saw_zone_parse(struct slice name, struct slice tzif)
{
    struct cursor c = cursor_make(tzif);
    struct header h;
    struct saw_zone *z;
    size_t time = 4;

    if (!read_header(&c, &h))
        return NULL;
    if (h.version >= '2') { /* The first block is for old readers. */
        skip_block(&c, &h, 4);
        if (!read_header(&c, &h))
            return NULL;
        time = 8;
    }
    z = mem_zalloc(1, sizeof(*z));
    z->name = mem_strndup(name.data, name.len);
    z->known = true;
    read_changes(&c, &h, time, z);
    read_types(&c, &h, z);
    cursor_bytes(&c, h.leap_count * (time + 4) + h.std_count + h.ut_count);
    if (c.bad) {
        zone_free(z);
        return NULL;
    }
    if (time == 8)
        read_footer(&c, z);
    return z;
}

static struct saw_zone_offset of_type(const struct saw_zone *z, size_t type)
{
    const struct saw_zone_type *t = &z->types[type];

    PRE(type < z->type_count);
    struct saw_zone_offset at = {.seconds = t->seconds, .dst = t->dst};
    snprintf(at.name, sizeof(at.name), "%s", z->names + t->name);
    return at;
}

/* The type before the first change is the first that is not summer time. */
static size_t first_type(const struct saw_zone *z)
{
    for (size_t i = 0; i < z->type_count; i++) {
        if (!z->types[i].dst)
            return i;
    }
    return 0;
}

struct saw_zone_offset saw_tzif_at(const struct saw_zone *z, int64_t utc)
{
    size_t low = 0;
    size_t high = z->change_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (z->changes[mid] <= utc)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == z->change_count && z->has_rule)
        return saw_zone_rule_at(&z->rule, utc);
    return of_type(z, low ? z->change_types[low - 1] : first_type(z));
}
