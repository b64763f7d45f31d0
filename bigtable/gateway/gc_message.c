/* The message GcRule to the store's rule and back. Depth and number of parts
 * are bounded while the message is read, before memory is taken for them.
 */
#include "bigtable/gateway/gc_message.h"

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/row/gc_rule.h"

#define US_PER_SECOND UINT64_C(1000000)
/* The bound of the message Duration: 10,000 years. */
#define SECONDS_MAX UINT64_C(315576000000)

/* --- from the message ---------------------------------------------------- */

static struct gc_rule *read_rule(struct slice bytes, unsigned depth, int *rc);

STATIC_ASSERT((int)PB_Intersection_rules == (int)PB_Union_rules,
              "read_parts() and put_parts() serve both");

static struct gc_rule *
read_parts(enum gc_rule_kind kind, struct slice bytes, unsigned depth, int *rc)
{
    struct gc_rule *parts[GC_RULE_PARTS_MAX];
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    size_t count = 0;
    while (*rc == 0 && pb_next(&c, &f)) {
        if (!pb_is_bytes(&f, PB_Intersection_rules))
            continue;
        if (count == GC_RULE_PARTS_MAX) {
            *rc = ERR_TOOBIG;
            break;
        }
        parts[count] = read_rule(f.bytes, depth + 1, rc);
        if (parts[count])
            count++;
        else if (*rc == 0)
            *rc = ERR_INVALID; /* An empty part. */
    }
    if (*rc == 0 && (c.bad || count == 0))
        *rc = ERR_INVALID;
    if (*rc == 0)
        return gc_rule_combine(kind, parts, count);
    while (count)
        gc_rule_free(parts[--count]);
    return NULL;
}

static struct gc_rule *read_age(struct slice bytes, int *rc)
{
    uint64_t seconds = pb_find_integer(bytes, PB_Duration_seconds);
    uint64_t nanos = pb_find_integer(bytes, PB_Duration_nanos);
    if (seconds > SECONDS_MAX || nanos >= 1000000000) {
        *rc = ERR_INVALID;
        return NULL;
    }
    return gc_rule_age(seconds * US_PER_SECOND + nanos / 1000);
}

static struct gc_rule *
read_field(const struct pb_field *f, unsigned depth, int *rc)
{
    if (pb_is_integer(f, PB_GcRule_max_num_versions) && f->integer >= 1 &&
        f->integer <= INT32_MAX)
        return gc_rule_versions((uint32_t)f->integer);
    if (pb_is_bytes(f, PB_GcRule_max_age))
        return read_age(f->bytes, rc);
    if (pb_is_bytes(f, PB_GcRule_intersection))
        return read_parts(GC_RULE_INTERSECTION, f->bytes, depth, rc);
    if (pb_is_bytes(f, PB_GcRule_union))
        return read_parts(GC_RULE_UNION, f->bytes, depth, rc);
    if (f->number >= PB_GcRule_max_num_versions && f->number <= PB_GcRule_union)
        *rc = ERR_INVALID;
    return NULL;
}

/* NULL with *rc 0: an empty rule. The last field of the oneof counts. */
static struct gc_rule *read_rule(struct slice bytes, unsigned depth, int *rc)
{
    struct cursor c = cursor_make(bytes);
    struct gc_rule *rule = NULL;
    struct pb_field f;
    if (depth > GC_RULE_DEPTH_MAX) {
        *rc = ERR_TOOBIG;
        return NULL;
    }
    while (*rc == 0 && pb_next(&c, &f)) {
        gc_rule_free(rule);
        rule = read_field(&f, depth, rc);
    }
    if (*rc == 0 && c.bad)
        *rc = ERR_INVALID;
    if (*rc == 0)
        return rule;
    gc_rule_free(rule);
    return NULL;
}

int gc_message_to_text(struct slice bytes, struct buf *out, struct err *err)
{
    int rc = 0;
    struct gc_rule *rule = read_rule(bytes, 1, &rc);
    if (rc == ERR_TOOBIG)
        return err_set(err, ERR_INVALID,
                       "GC rule: more than %d levels or %d parts",
                       GC_RULE_DEPTH_MAX, GC_RULE_PARTS_MAX);
    if (rc)
        return err_set(err, ERR_INVALID, "not a GC rule");
    if (rule)
        gc_rule_format(rule, out);
    gc_rule_free(rule);
    return 0;
}

/* --- to the message ------------------------------------------------------ */

static void put_rule(struct buf *out, const struct gc_rule *rule);

static void put_parts(struct buf *out, const struct gc_rule *rule)
{
    for (size_t i = 0; i < rule->part_count; i++) {
        size_t opened = pb_open(out, PB_Intersection_rules);
        put_rule(out, rule->parts[i]);
        pb_close(out, opened);
    }
}

static void put_age(struct buf *out, uint64_t us)
{
    if (us / US_PER_SECOND)
        pb_put_integer(out, PB_Duration_seconds, (int64_t)(us / US_PER_SECOND));
    if (us % US_PER_SECOND)
        pb_put_integer(out, PB_Duration_nanos,
                       (int64_t)(us % US_PER_SECOND * 1000));
}

/* Recursive: a parsed rule has at most GC_RULE_DEPTH_MAX levels. */
static void put_rule(struct buf *out, const struct gc_rule *rule)
{
    size_t opened;
    switch (rule->kind) {
    case GC_RULE_VERSIONS:
        pb_put_integer(out, PB_GcRule_max_num_versions, rule->versions);
        return;
    case GC_RULE_AGE:
        opened = pb_open(out, PB_GcRule_max_age);
        put_age(out, rule->age_us);
        break;
    case GC_RULE_INTERSECTION:
        opened = pb_open(out, PB_GcRule_intersection);
        put_parts(out, rule);
        break;
    case GC_RULE_UNION:
        opened = pb_open(out, PB_GcRule_union);
        put_parts(out, rule);
        break;
    default: PANIC("rule of kind %d", (int)rule->kind);
    }
    pb_close(out, opened);
}

int gc_message_from_text(struct slice text, struct buf *out, struct err *err)
{
    struct gc_rule *rule;
    int rc;
    if (text.len == 0)
        return 0;
    rc = gc_rule_parse(text, &rule, err);
    if (rc)
        return rc;
    put_rule(out, rule);
    gc_rule_free(rule);
    return 0;
}
