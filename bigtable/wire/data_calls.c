/* Messages of the calls of rows that have lists in them, written by hand; the
 * others are lists of fields in data_calls.h. A reader believes no count: it is
 * bounded by the message's length or by the call's maximum before memory is
 * taken. */
#include "bigtable/wire/data_calls.h"

#include "base/core/arena.h"
#include "base/rpc/error_reply.h"
#include "bigtable/row/row_request.h"
#include "bigtable/wire/message.h"

#define APPLY_REPLY_FIELDS    3 /* And more where the error has a detail. */
#define MODIFY_FIELDS         7
#define RULE_FIELDS           5
#define DESCRIBE_FIELDS       6
#define DESCRIBE_FIELDS_MIN   3 /* Without rates. */
#define GROUP_FIELDS          5
#define DESCRIBE_GROUPS_MAX   65536
#define DESCRIBE_FAMILIES_MAX 4096
#define FAMILY_LOAD_FIELDS    3

/* --- writing rows -------------------------------------------------------- */

static void put_origin(const struct change_origin *o, struct buf *out)
{
    codec_put_u64(out, o->session);
    codec_put_u64(out, o->floor);
}

static void get_origin(struct codec_reader *r, struct change_origin *o)
{
    o->session = codec_get_u64(r);
    o->floor = codec_get_u64(r);
}

void apply_reply_put(const struct apply_reply *r, struct buf *out)
{
    codec_put_array(out, 1 + error_fields_count(&r->first));
    codec_put_array(out, r->count);
    for (uint32_t i = 0; i < r->count; i++)
        codec_put_i64(out, r->codes[i]);
    error_fields_put(&r->first, out);
}

int apply_reply_get(struct slice in,
                    struct arena *a,
                    struct apply_reply *r,
                    struct err *err)
{
    struct message_reader b = message_begin(in, APPLY_REPLY_FIELDS);
    int32_t *codes;
    int first = 0;
    r->count = message_count(&b.r, APPLY_CHANGES_MAX);
    codes = arena_alloc(a, (r->count + 1) * sizeof(*codes));
    for (uint32_t i = 0; i < r->count; i++) {
        int64_t code = codec_get_i64(&b.r);
        b.r.bad |= code > 0 || code < INT32_MIN;
        codes[i] = (int32_t)code;
        first = first ? first : codes[i];
    }
    r->codes = codes;
    b.known =
        1 + error_fields_get(&b.r, b.count ? b.count - 1 : 0, first, &r->first);
    return message_end(&b, "answer about changes", err);
}

/* --- checking and modifying ---------------------------------------------- */

void modify_request_put(const struct modify_request *r, struct buf *out)
{
    codec_put_array(out, MODIFY_FIELDS);
    codec_put_u64(out, r->tablet);
    codec_put_u64(out, r->durability);
    codec_put_bin(out, r->row);
    codec_put_array(out, (uint32_t)r->rule_count);
    for (size_t i = 0; i < r->rule_count; i++) {
        const struct quarry_rmw_rule *rule = &r->rules[i];
        codec_put_array(out, RULE_FIELDS);
        codec_put_u64(out, (uint64_t)rule->kind);
        codec_put_bin(out, slice_str(rule->family));
        codec_put_bin(out, rule->qualifier);
        codec_put_bin(out, rule->append);
        codec_put_i64(out, rule->increment);
    }
    put_origin(&r->origin, out);
    codec_put_u64(out, r->sequence);
}

static void
get_rule(struct codec_reader *r, struct arena *a, struct quarry_rmw_rule *rule)
{
    uint8_t kind;
    message_part(r, RULE_FIELDS);
    kind = message_u8(r);
    r->bad |= kind > QUARRY_RMW_INCREMENT;
    rule->kind = (enum quarry_rmw_kind)kind;
    rule->family = arena_dup(a, message_text(r)).data;
    rule->qualifier = codec_get_bytes(r);
    rule->append = codec_get_bytes(r);
    rule->increment = codec_get_i64(r);
}

int modify_request_get(struct slice in,
                       struct arena *a,
                       struct modify_request *r,
                       struct err *err)
{
    struct message_reader b = message_begin(in, MODIFY_FIELDS);
    struct quarry_rmw_rule *rules;
    r->tablet = codec_get_u64(&b.r);
    r->durability = message_u8(&b.r);
    r->row = codec_get_bytes(&b.r);
    r->rule_count = message_count(&b.r, MODIFY_RULES_MAX);
    rules = arena_zalloc(a, (r->rule_count + 1) * sizeof(*rules));
    for (size_t i = 0; i < r->rule_count && !b.r.bad; i++)
        get_rule(&b.r, a, &rules[i]);
    r->rules = rules;
    get_origin(&b.r, &r->origin);
    r->sequence = codec_get_u64(&b.r);
    return message_end(&b, "request to modify a row", err);
}

/* --- about a tablet ------------------------------------------------------ */

void keys_put(const struct slice *keys, size_t count, struct buf *out)
{
    codec_put_array(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        codec_put_bin(out, keys[i]);
}

int keys_get(struct slice in,
             struct arena *a,
             struct slice **keys,
             size_t *count,
             struct err *err)
{
    struct codec_reader r = codec_reader_make(in);
    *count = message_count(&r, CUTS_MAX);
    *keys = arena_zalloc(a, (*count + 1) * sizeof(**keys));
    for (size_t i = 0; i < *count; i++)
        (*keys)[i] = codec_get_bytes(&r);
    return codec_done(&r) ? 0
                          : err_set(err, ERR_CORRUPT, "malformed list of keys");
}

void describe_reply_put(const struct describe_reply *r, struct buf *out)
{
    codec_put_array(out, DESCRIBE_FIELDS);
    codec_put_u64(out, r->bytes);
    codec_put_array(out, (uint32_t)r->group_count);
    for (size_t i = 0; i < r->group_count; i++) {
        const struct group_load *g = &r->groups[i];
        codec_put_array(out, GROUP_FIELDS);
        codec_put_bin(out, g->name);
        codec_put_u64(out, g->file_count);
        codec_put_u64(out, g->file_bytes);
        codec_put_u64(out, g->memory_bytes);
        codec_put_u64(out, g->entry_count);
    }
    codec_put_array(out, (uint32_t)r->family_count);
    for (size_t i = 0; i < r->family_count; i++) {
        const struct family_load *f = &r->families[i];
        codec_put_array(out, FAMILY_LOAD_FIELDS);
        codec_put_bin(out, f->name);
        codec_put_u64(out, f->stored_bytes);
        codec_put_u64(out, f->memory_bytes);
    }
    codec_put_u64(out, r->milli_reads_per_s);
    codec_put_u64(out, r->milli_writes_per_s);
    codec_put_u64(out, r->milli_bytes_per_s);
}

static void get_rates(struct message_reader *m, struct describe_reply *r)
{
    r->milli_reads_per_s = r->milli_writes_per_s = r->milli_bytes_per_s = 0;
    if (m->count < DESCRIBE_FIELDS)
        return;
    r->milli_reads_per_s = codec_get_u64(&m->r);
    r->milli_writes_per_s = codec_get_u64(&m->r);
    r->milli_bytes_per_s = codec_get_u64(&m->r);
    m->known = DESCRIBE_FIELDS;
}

int describe_reply_get(struct slice in,
                       struct arena *a,
                       struct describe_reply *r,
                       struct err *err)
{
    struct message_reader b = message_begin(in, DESCRIBE_FIELDS_MIN);
    r->bytes = codec_get_u64(&b.r);
    r->group_count = message_count(&b.r, DESCRIBE_GROUPS_MAX);
    r->groups = arena_zalloc(a, (r->group_count + 1) * sizeof(*r->groups));
    for (size_t i = 0; i < r->group_count; i++) {
        struct group_load *g = &r->groups[i];
        message_part(&b.r, GROUP_FIELDS);
        g->name = codec_get_bytes(&b.r);
        g->file_count = codec_get_u64(&b.r);
        g->file_bytes = codec_get_u64(&b.r);
        g->memory_bytes = codec_get_u64(&b.r);
        g->entry_count = codec_get_u64(&b.r);
    }
    r->family_count = message_count(&b.r, DESCRIBE_FAMILIES_MAX);
    r->families = arena_zalloc(a, (r->family_count + 1) * sizeof(*r->families));
    for (size_t i = 0; i < r->family_count; i++) {
        struct family_load *f = &r->families[i];
        message_part(&b.r, FAMILY_LOAD_FIELDS);
        f->name = codec_get_bytes(&b.r);
        f->stored_bytes = codec_get_u64(&b.r);
        f->memory_bytes = codec_get_u64(&b.r);
    }
    get_rates(&b, r);
    return message_end(&b, "description of a tablet", err);
}
